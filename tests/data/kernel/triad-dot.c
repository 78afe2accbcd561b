double a[M][N], b[M][N], c[M][N], d[M][N], r[M];
for (int row = 0; row < M; row++) {
    for (int i = 0; i < N; i++)
        a[row][i] = b[row][i] + c[row][i] * d[row][i];
    double sum = 0;
    for (int k = 0; k < N; k++)
        sum += c[row][k] * d[row][k];
    r[row] = sum;
}
