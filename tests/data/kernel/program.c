/* A program whose loops are named by function and by mark. */
#include <stdio.h>

#define AT(i, j) ((i) * ny + (j))

static void smooth(int nx, int ny, double *restrict out, const double *restrict in)
{
    for (int i = 1; i < nx - 1; i++)
        for (int j = 1; j < ny - 1; j++)
            out[AT(i, j)] = 0.25 * (in[AT(i - 1, j)] + in[AT(i + 1, j)] + in[AT(i, j - 1)] +
                                    in[AT(i, j + 1)]);
}

static double norm(int n, const double *x)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        if (x[i] > 1)
            sum += 1;
#pragma lull kernel squares
    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum;
}

int main(void)
{
    static double a[64], b[64];
    smooth(8, 8, a, b);
    printf("%g\n", norm(64, a));
    return 0;
}
