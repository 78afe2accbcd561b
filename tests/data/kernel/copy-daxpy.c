double a[M][N], b[M][N], x[M][2 * N], y[M][2 * N], s;
for (int row = 0; row < M; row++) {
    for (int i = 0; i < N; i++)
        a[row][i] = b[row][i];
    for (int k = 0; k < 2 * N; k++)
        y[row][k] = y[row][k] + s * x[row][k];
}
