/* One element, over and over. */
double sum[1], value[1];
for (int j = 0; j < N; j++)
    for (int i = 0; i < 1; i++)
        sum[0] += value[0];
