/* Tasks and taskloops with more pieces of code than the recorder keeps functions for, each with
 * arguments that must reach it. */
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>

struct block {
    char text[300];
    long number;
};

static long sum, n_tasks, loop_sum;

static void add(const struct block *block, long number)
{
    const bool good = block->number == number && block->text[299] == 'z';
#pragma omp atomic
    sum += good ? number : 1000000;
}

/* clang-format off */
#define TASK(n)                                                     \
    {                                                               \
        struct block block = {.number = n_tasks};                   \
        const long number = n_tasks++;                              \
        block.text[299] = 'z';                                      \
        _Pragma("omp task firstprivate(block, number)")             \
        add(&block, number);                                        \
        block.text[299] = 'y';                                      \
    }
#define LOOP(n)                                                     \
    {                                                               \
        long part = 0;                                              \
        _Pragma("omp taskloop num_tasks(2) reduction(+ : part)")    \
        for (long i = 10; i < 20; i++)                              \
            part += i;                                              \
        loop_sum += part;                                           \
    }
#define EIGHT(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define SIX(n)   TASK(0) TASK(1) TASK(2) TASK(3) TASK(4) TASK(5)
#define MANY(n)  SIX(0) SIX(1) SIX(2) SIX(3) SIX(4) SIX(5) SIX(6) SIX(7)
/* clang-format on */

int main(void)
{
#pragma omp parallel num_threads(3)
#pragma omp single
    for (int round = 0; round < 2; round++) {
        EIGHT(LOOP)
        EIGHT(MANY)
        EIGHT(LOOP)
    }
    const long right = n_tasks * (n_tasks - 1) / 2;
    if (n_tasks != 768 || sum != right || loop_sum != 32 * 145) {
        printf("%ld tasks, sum %ld, not %ld, of loops %ld\n", n_tasks, sum, right, loop_sum);
        return 3;
    }
    printf("expect %ld !$omp task\n", n_tasks + 64);
    return 0;
}
