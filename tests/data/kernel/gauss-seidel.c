/* Each point waits for the one before it. */
double w[M][N], r[M][N];
for (int j = 1; j < M; j++)
    for (int i = 1; i < N; i++)
        w[j][i] = r[j][i] + 0.25 * w[j - 1][i] + 0.25 * w[j][i - 1];
