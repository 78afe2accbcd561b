/* The innermost loop has no iteration before the one around it is nearly in its middle. */
double sum[1], value[1];
for (int k = 0; k < N; k++)
    for (int j = 0; j < N; j++)
        for (int i = 0; i < j - 400000000; i++)
            sum[0] += value[0];
