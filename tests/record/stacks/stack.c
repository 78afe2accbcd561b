/* A known call graph, for stacks of samples: main -> outer -> middle -> recursive (N times) -> leaf, and main -> other
 * -> leaf; `large` has more on its stack than is copied, `aligned` an aligned one. Each path computes for MS ms of the
 * thread's processor time. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif
/* What follows a call keeps the compiler from making a jump of it. */
#define STAY __asm__ volatile("" ::: "memory")

static double end;
static volatile double sink;

static double spent(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

APART static void leaf(int n)
{
    double sum = 0;
    for (int i = 0; i < 20000; i++)
        sum += 1.0 / (i + n + 1);
    sink = sum;
}

APART static void recursive(int n)
{
    if (n > 0)
        recursive(n - 1);
    else
        leaf(n);
    STAY;
}

APART static void middle(int n)
{
    char text[64];
    memset(text, n, sizeof text);
    sink = text[n % 64];
    recursive(n);
    STAY;
}

APART static void outer(int n)
{
    middle(n);
    STAY;
}

APART static void other(int n)
{
    leaf(n);
    STAY;
}

APART static void aligned(int n)
{
    double values[8] __attribute__((aligned(64)));
    memset(values, 0, sizeof values);
    sink = values[n % 8];
    leaf(n);
    __asm__ volatile("" ::"r"(values) : "memory");
}

APART static void large(int n)
{
    char bytes[16384];
    memset(bytes, n, sizeof bytes);
    sink = bytes[(n * 7) % 16384];
    leaf(n);
    __asm__ volatile("" ::"r"(bytes) : "memory");
}

int main(int argc, char **argv)
{
    void (*const ways[])(int) = {outer, other, aligned, large};
    const double ms = argc > 1 ? atof(argv[1]) : 100;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (end = spent() + ms; spent() < end;)
            ways[i](3);
    return 0;
}
