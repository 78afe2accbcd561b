double a[M][N], b[M][N], c[M][N];
for (int row = 0; row < M; row++) {
    for (int i = 0; i < N; i++)
        a[row][i] = b[row][i];
    for (int i = 0; i < N; i++)
        c[row][i] = a[row][i];
}
