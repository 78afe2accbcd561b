/* A matrix by columns, an element of each line at a time. */
double matrix[N][M], vector[N], result[M];
for (int column = 0; column < M; column++)
    for (int row = 0; row < N; row++)
        result[column] += matrix[row][column] * vector[row];
