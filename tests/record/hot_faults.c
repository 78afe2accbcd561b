/* Loops with one planted fault each, for hot_loops.py, which knows what limits them. */
#include <math.h>
#include <stdio.h>

enum { N = 2000, TIMES = 15000, CALLS = 5000 };

static double x[N], y[N], z[N];

/* Each element waits for the one before it. */
static void chain(void)
{
    for (int i = 1; i < N; i++) /* chain */
        x[i] = 0.5 * x[i - 1] + y[i];
}

static void call(void)
{
    for (int i = 0; i < N; i++) /* call */
        z[i] = exp(y[i]);
}

int main(void)
{
    for (int i = 0; i < N; i++)
        y[i] = 1e-3 * i;
    for (int t = 0; t < TIMES; t++)
        chain();
    for (int t = 0; t < CALLS; t++)
        call();
    printf("%g\n", x[N - 1] + z[N / 2]);
    return 0;
}
