double a[N], b[N], sum, c, product, y, t;

for (int i = 0; i < N; i++) {
    product = a[i] * b[i];
    y = product - c;
    t = sum + y;
    c = (t - sum) - y;
    sum = t;
}
