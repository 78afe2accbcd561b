/* Six lines read for each that is written, none of them only because it is written to. */
double a[N], b[N], c[N], d[N], e[N], f[N];
for (int i = 0; i < N; i++)
    a[i] += b[i] + c[i] + d[i] + e[i] + f[i];
