/* Loops whose number of iterations is known, for hot_loops.py. It says what each of them is. With OpenMP `smooth` is a
 * parallel region.
 *
 *     hot_loops ROWS
 */
#include <stdio.h>
#include <stdlib.h>

#define N 200000
enum { TRIADS = 250, SWEEPS = 30, PRODUCTS = 30, WIDTH = 1000, HEIGHT = 500, PER_ROW = 80 };
/* How often the loops that are not understood are executed: so that each of the eight loops has dozens of samples. The
 * loops around them have a few, and do not take their place among the ten hottest. */
enum { BRANCHES = 750, JUMPS = 60, WALKS = 100000 };

static double a[N], b[N], c[N];

struct matrix {
    int rows;
    int *begin, *column;
    double *value;
};

struct plate {
    int rows, columns;
    double *now, *next;
};

static double *cell(const struct plate *plate, double *grid, int row, int column)
{
    return grid + (size_t)row * (size_t)(plate->columns + 2) + column;
}

/* Columns and rows are constants of the callers. */
static void relax(double *restrict next, const double *restrict old, int width, int height)
{
    for (int row = 1; row < height - 1; row++)
        for (int i = 1; i < width - 1; i++) /* relax */
            next[row * width + i] =
                0.25 * (old[row * width + i - 1] + old[row * width + i + 1] +
                        old[(row - 1) * width + i] + old[(row + 1) * width + i]);
}

/* How long it is nobody knows but who calls it. */
static void smooth(struct plate *plate)
{
#pragma omp parallel for
    for (int row = 1; row <= plate->rows; row++)
        for (int column = 1; column <= plate->columns; column++) /* smooth */
            *cell(plate, plate->next, row, column) =
                0.5 * (*cell(plate, plate->now, row, column - 1) +
                       *cell(plate, plate->now, row, column + 1));
}

static void multiply(const struct matrix *matrix, const double *x, double *y)
{
    for (int row = 0; row < matrix->rows; row++) {
        double sum = 0;
        for (int k = matrix->begin[row]; k < matrix->begin[row + 1]; k++) /* multiply */
            sum += matrix->value[k] * x[matrix->column[k]];
        y[row] = sum;
    }
}

static void branch(double *x, int n)
{
    for (int i = 0; i < n; i++) /* branch */
        if (x[i] > 0.5)
            x[i] = x[i] / 3;
        else
            x[i] = x[i] / 5 + 0.4;
}

#define EACH(i, n) for (int i = 0; i < (n); i++)
static double macro(const double *x, int n)
{
    double sum = 0;
    EACH(i, n) sum += 1 / (x[i] + 2); /* macro */
    return sum;
}

/* The index is not linear. */
static double jump(const double *x)
{
    double sum = 0;
    for (int i = 0; i < N; i++) { /* jump */
        int at = (int)((long)i * i % N);
        sum += x[at];
    }
    return sum;
}

static double collatz(long n)
{
    double steps = 0;
    while (n != 1) { /* collatz */
        n = n % 2 ? 3 * n + 1 : n / 2;
        steps++;
    }
    return steps;
}

static double *zeros(int n)
{
    double *x = calloc((size_t)n, sizeof *x);
    if (!x)
        exit(2);
    return x;
}

int main(int argc, char **argv)
{
    const int rows = argc > 1 ? atoi(argv[1]) : 20000;
    double factor = 1.5, sum = 0;
    double *old = zeros(WIDTH * HEIGHT), *next = zeros(WIDTH * HEIGHT);
    struct matrix matrix = {.rows = rows, .value = zeros(PER_ROW * rows)};
    struct plate plate = {.rows = rows, .columns = 100};
    plate.now = zeros((rows + 2) * 102);
    plate.next = zeros((rows + 2) * 102);
    matrix.begin = calloc((size_t)rows + 1, sizeof *matrix.begin);
    matrix.column = calloc((size_t)rows * PER_ROW, sizeof *matrix.column);
    double *x = zeros(rows), *y = zeros(rows);
    if (!matrix.begin || !matrix.column)
        return 2;
    for (int i = 0; i <= rows; i++)
        matrix.begin[i] = PER_ROW * i;
    for (int k = 0; k < rows * PER_ROW; k++)
        matrix.column[k] = k / PER_ROW;
    for (int i = 0; i < N; i++) {
        b[i] = i * 1e-3;
        c[i] = rows - i;
    }
    for (int t = 0; t < TRIADS; t++)
        for (int i = 0; i < N; i++) /* triad */
            a[i] = b[i] + factor * c[i];
    for (int t = 0; t < SWEEPS; t++) {
        relax(next, old, WIDTH, HEIGHT);
        relax(old, next, WIDTH, HEIGHT);
    }
    for (int t = 0; t < PRODUCTS; t++) {
        multiply(&matrix, x, y);
        smooth(&plate);
    }
    for (int t = 0; t < BRANCHES; t++) {
        branch(y, rows);
        sum += macro(y, rows);
    }
    for (int t = 0; t < JUMPS; t++)
        sum += jump(a);
    for (long n = 1; n < WALKS; n++)
        sum += collatz(n);
    printf("%g\n", a[N / 2] + sum + old[WIDTH + 1] + plate.next[203]);
    return 0;
}
