/* A multiple of one array added to another. */
double x[N], y[N], factor;
for (int i = 0; i < N; i++)
    y[i] += factor * x[i];
