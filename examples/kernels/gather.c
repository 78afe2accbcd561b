/* Elements of an array in the order of an index array. */
double out[N], values[M];
int order[N];
for (int i = 0; i < N; i++)
    out[i] = values[order[i]];
