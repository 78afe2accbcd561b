/* Loops with one planted fault each, for hot_loops.py, which knows what limits them. */
#include <math.h>
#include <stdio.h>

enum { WIDE = 40000, LONG = 20, SWEEPS = 20, ROWS = 256, COLUMNS = 1024, SUMS = 12 };
enum { N = 2000, TIMES = 15000, CALLS = 5000 };

static double x[N], y[N], z[N];
static double old[LONG][WIDE], next[LONG][WIDE], m[ROWS][COLUMNS], sums[ROWS];

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

/* Three rows are 960 kB: no small cache keeps them, and blocks of a row would. */
static void unblocked(void)
{
    for (int j = 1; j < LONG - 1; j++)
        for (int i = 1; i < WIDE - 1; i++) /* unblocked */
            next[j][i] = 0.25 * (old[j][i - 1] + old[j][i + 1] + old[j - 1][i] + old[j + 1][i]);
}

/* Down the columns: 8192 bytes from element to element. */
static void stride(void)
{
    for (int i = 0; i < COLUMNS; i++)
        for (int j = 0; j < ROWS; j++) /* stride */
            sums[j] += m[j][i];
}

int main(void)
{
    for (int i = 0; i < N; i++) {
        y[i] = 1e-3 * i;
        old[i % LONG][i] = y[i];
        m[i % ROWS][i % COLUMNS] = y[i];
    }
    for (int t = 0; t < TIMES; t++)
        chain();
    for (int t = 0; t < CALLS; t++)
        call();
    for (int t = 0; t < SWEEPS; t++)
        unblocked();
    for (int t = 0; t < SUMS; t++)
        stride();
    printf("%g\n", x[N - 1] + z[N / 2] + next[3][5] + sums[7]);
    return 0;
}
