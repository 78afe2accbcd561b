/* Functions whose loops have pitfalls: an array of unknown size behind indices, a function of a
 * vector library, a loop of which the compiler leaves none. */
#include <math.h>

static double gather(int n, const double *values, const int *order)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += values[order[i]];
    return sum;
}

static void grow(int n, double *restrict a)
{
    for (int i = 0; i < n; i++)
        a[i] = exp(a[i]);
}

int main(void)
{
    enum { n = 32 };
    static double a[n], b[n];
    static int order[n];
    grow(n, a);
#pragma lull kernel short
    for (int i = 0; i < n; i++)
        a[i] = 3 * b[i];
    return gather(n, a, order) > n;
}
