/* Product of a dense matrix and a vector. */
double matrix[M][N], x[N], y[M];
for (int row = 0; row < M; row++) {
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += matrix[row][i] * x[i];
    y[row] = sum;
}
