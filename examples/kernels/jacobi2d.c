/* Four neighbours in two dimensions: a step of Jacobi's method. */
double old[M][N], new[M][N], weight;
for (int row = 1; row < M - 1; row++)
    for (int i = 1; i < N - 1; i++)
        new[row][i] = weight * (old[row][i - 1] + old[row][i + 1] + old[row - 1][i] + old[row + 1][i]);
