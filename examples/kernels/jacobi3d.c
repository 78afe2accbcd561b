/* Six neighbours in three dimensions. */
double old[L][M][N], new[L][M][N], weight;
for (int plane = 1; plane < L - 1; plane++)
    for (int row = 1; row < M - 1; row++)
        for (int i = 1; i < N - 1; i++)
            new[plane][row][i] =
                weight * (old[plane][row][i - 1] + old[plane][row][i + 1] + old[plane][row - 1][i] +
                          old[plane][row + 1][i] + old[plane - 1][row][i] + old[plane + 1][row][i]);
