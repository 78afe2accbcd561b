/* Copy of an array. */
double to[N], from[N];
for (int i = 0; i < N; i++)
    to[i] = from[i];
