double a[N];
for (int i = 0; i < N; i++)
    if (a[i] < 0)
        a[i] = 0;
