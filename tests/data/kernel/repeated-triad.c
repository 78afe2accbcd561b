double a[N], b[N], c[N];
double s;

for (int t = 0; t < M; t++)
    for (int i = 0; i < N; i++)
        a[i] = b[i] + s * c[i];
