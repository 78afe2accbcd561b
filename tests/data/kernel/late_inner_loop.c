/* The inner loop has no iteration before the outer one is nearly in its middle. */
double sum[1], value[1];
for (int j = 0; j < N; j++)
    for (int i = 0; i < j - 400000000; i++)
        sum[0] += value[0];
