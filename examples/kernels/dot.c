/* Scalar product. */
double x[N], y[N], sum;
for (int i = 0; i < N; i++)
    sum += x[i] * y[i];
