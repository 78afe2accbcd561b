double a[M][N], b[M][N];
for (int j = 0; j < M; j++) {
    // clang-format off
    for (int i = 0; i < N; i++) a[j][i] = 1; for (int i = 0; i < N; i++) b[j][i] = 2;
    // clang-format on
}
