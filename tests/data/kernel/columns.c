/* Down the columns of a matrix, which is 64 bytes wide: eight results for each line. */
double matrix[M][N], sums[8];
for (int column = 0; column < 8; column++)
    for (int row = 0; row < M; row++)
        sums[column] += matrix[row][column];
