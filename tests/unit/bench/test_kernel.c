/* The arithmetic of the kernels, element by element, at every width that this processor has. */
#include "bench/kernel.h"

#include "bench/memory/latency.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 3 * LULL_KERNEL_STEP, MARGIN = 8, ARRAYS = 9 };

struct arrays {
    double *of[ARRAYS], *a, *b, *c, *d; /* one behind the other */
    double before[COUNT];               /* a */
    double out[LULL_KERNEL_OUT];
};

static double value(int array, size_t i)
{
    return (double)(array + 1) + 0.125 * (double)((i * 7 + (size_t)array * 5) % 31);
}

static void make(struct arrays *x)
{
    double *values = aligned_alloc(64, ARRAYS * (COUNT + MARGIN) * sizeof *values);
    assert_non_null(values);
    *x = (struct arrays){.a = values};
    for (int array = 0; array < ARRAYS; array++) {
        x->of[array] = values + array * (COUNT + MARGIN);
        for (size_t i = 0; i < COUNT + MARGIN; i++)
            x->of[array][i] = i < COUNT ? value(array, i) : -77;
    }
    x->b = x->of[1], x->c = x->of[2], x->d = x->of[3];
    memcpy(x->before, x->a, sizeof x->before);
}

/* a + b + c + ..., `count` arrays from the `first` one on. */
static double sum_of(const struct arrays *x, int first, int count, size_t i)
{
    double sum = first ? x->of[first][i] : x->before[i];
    for (int array = first + 1; array < first + count; array++)
        sum += x->of[array][i];
    return sum;
}

/* What the array a holds behind the kernel, and the result of those that have one, `last` being the
 * elements that one pass of the loop works on. */
static double expect(const char *name, const struct arrays *x, size_t i)
{
    const double s = LULL_KERNEL_FACTOR;
    if (strcmp(name, "store") == 0 || strcmp(name, "ntstore") == 0)
        return s;
    if (strcmp(name, "copy") == 0)
        return x->b[i];
    if (strcmp(name, "update") == 0)
        return s * x->before[i];
    if (strcmp(name, "daxpy") == 0)
        return x->before[i] + s * x->b[i];
    if (strcmp(name, "triad") == 0)
        return x->b[i] + x->c[i] * x->d[i];
    if (strcmp(name, "add3") == 0)
        return sum_of(x, 0, 4, i);
    if (strcmp(name, "add8") == 0)
        return sum_of(x, 0, 9, i);
    if (strcmp(name, "sum8") == 0)
        return sum_of(x, 1, 8, i);
    return x->before[i]; /* load, dot */
}

static double expect_result(const char *name, const struct arrays *x, size_t last)
{
    double sum = 0;
    if (strcmp(name, "dot") == 0)
        for (size_t i = 0; i < COUNT; i++)
            sum += x->before[i] * x->b[i];
    if (strcmp(name, "load") == 0)
        for (size_t i = COUNT - last; i < COUNT; i++)
            sum += x->before[i];
    return sum;
}

static void check_stream(const struct lull_bench_kernel *kernel, enum lull_simd simd)
{
    struct arrays x;
    make(&x);
    kernel->stream[simd](x.a, x.b, x.c, x.d, COUNT, x.out);
    for (size_t i = 0; i < COUNT; i++) {
        double want = expect(kernel->name, &x, i);
        fail_if(fabs(x.a[i] - want) > 4e-16 * fabs(want),
                "%s %s: element %zu is %.17g, expected %.17g", kernel->name, lull_simd_name(simd),
                i, x.a[i], want);
    }
    for (int array = 0; array < ARRAYS; array++)
        for (size_t i = 0; i < COUNT + MARGIN; i++)
            assert_true((i < COUNT && array == 0) ||
                        x.of[array][i] == (i < COUNT ? value(array, i) : -77));
    double sum = 0;
    for (size_t i = 0; i < LULL_KERNEL_OUT; i++)
        sum += x.out[i];
    double want = expect_result(kernel->name, &x, 8 * lull_simd_bytes(simd) / sizeof(double));
    fail_if(fabs(sum - want) > 1e-12 * fabs(want), "%s %s: the result is %.17g, expected %.17g",
            kernel->name, lull_simd_name(simd), sum, want);
    free(x.a);
}

static void test_streams(void **state)
{
    (void)state;
    size_t checked = 0;
    for (size_t i = 0; lull_kernels[i]; i++)
        for (int simd = 0; simd < LULL_SIMD_WIDTHS; simd++) {
            const struct lull_bench_kernel *kernel = lull_kernels[i];
            if (!kernel->stream[simd] ||
                !lull_simd_usable((enum lull_simd)simd, kernel->needs_fma[simd]))
                continue;
            check_stream(kernel, (enum lull_simd)simd);
            checked++;
        }
    assert_true(checked >= 11);
}

/* Every lane of every chain after n repetitions, in closed form: 2 n steps of each of 14 chains
 * that start at 1, with a = 1/4 and b = 1 + 2^-20. */
static double closed_form(const struct lull_bench_kernel *kernel, double n, double lanes)
{
    const double a = 0.25, b = 1 + 0x1p-20, steps = 2 * n;
    if (strncmp(kernel->name, "divide", 6) == 0)
        return 14 * lanes * pow(b, -steps);
    if (kernel->fma)
        return 14 * lanes * (1 + steps * a * b);
    return 7 * lanes * (1 + steps * a) + 7 * lanes * pow(b, steps);
}

static void test_compute(void **state)
{
    (void)state;
    size_t checked = 0;
    for (size_t i = 0; lull_kernels[i]; i++) {
        const struct lull_bench_kernel *kernel = lull_kernels[i];
        if (!kernel->compute[0] || strcmp(kernel->name, "clock") == 0)
            continue;
        for (int simd = 0; simd < LULL_SIMD_WIDTHS; simd++) {
            if (!kernel->compute[simd] || !lull_simd_usable((enum lull_simd)simd, kernel->fma))
                continue;
            double lanes = simd == LULL_SIMD_SCALAR ? 1
                                                    : lull_simd_bytes((enum lull_simd)simd) /
                                                          (kernel->single ? 4.0 : 8.0);
            for (uint64_t n = 0; n < 100; n = 3 * n + 1) {
                double got = kernel->compute[simd](n);
                double want = closed_form(kernel, (double)n, lanes);
                fail_if(fabs(got - want) > (kernel->single ? 2e-5 : 1e-13) * fabs(want),
                        "%s %s: %lu repetitions give %.17g, expected %.17g", kernel->name,
                        lull_simd_name((enum lull_simd)simd), (unsigned long)n, got, want);
            }
            checked++;
        }
    }
    assert_true(checked >= 2);
}

static const struct lull_bench_kernel *find(const char *name)
{
    size_t i = 0;
    while (strcmp(lull_kernels[i]->name, name) != 0)
        i++;
    return lull_kernels[i];
}

/* The cycle visits every line once, and a chase comes back to where it was after all of them. */
static void test_latency(void **state)
{
    (void)state;
    const struct lull_bench_kernel *kernel = find("latency");
    for (size_t lines = 64; lines <= 1 << 15; lines *= 8) {
        char *memory = aligned_alloc(64, lines * 64);
        bool *seen = calloc(lines, sizeof *seen);
        lull_latency_make_cycle(memory, lines);
        void *at = memory;
        size_t strides = 0;
        for (size_t i = 0; i < lines; i++) {
            size_t line = (size_t)((char *)at - memory) / 64;
            assert_false(seen[line]);
            seen[line] = true;
            at = *(void **)at;
            strides += (char *)at == memory + 64 * ((line + 1) % lines);
        }
        assert_ptr_equal(at, memory);
        assert_true(strides < lines / 8); /* no walk from line to line */
        assert_ptr_equal(kernel->chase(memory, lines / kernel->chase_loads), memory);
        assert_ptr_not_equal(kernel->chase(memory, 1), memory);
        free(memory);
        free(seen);
    }
}

static void test_clock(void **state)
{
    (void)state;
    const struct lull_bench_kernel *kernel = find("clock");
    assert_true(kernel->compute[0](1000) == 1000 * kernel->operations[0]);
}

TEST_GROUP(test_kernel)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_compute),
        cmocka_unit_test(test_latency),
        cmocka_unit_test(test_clock),
    };
    return run_cases(tests, NULL, NULL);
}
