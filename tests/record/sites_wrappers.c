/* Calls MPI through wrappers of its own, for sites.py. Prints for each path how often it was taken, how many
 * of its places tell it from all other paths to the same function, counted by hand, that function, and
 * the places, the innermost one first. */
#include <mpi.h>
#include <stdio.h>
#include <ucontext.h>

#define NEVER_INLINED __attribute__((noinline, noclone))

/* Lines of calls. */
static int line_sum, line_barrier, line_barrier_alone, line_norm, line_dot, line_direct;

NEVER_INLINED static double wrapped_sum(double value)
{
    double sum;
    line_sum = __LINE__, MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    return sum + 1;
}

NEVER_INLINED static void wrapped_barrier(void)
{
    line_barrier = __LINE__, MPI_Barrier(MPI_COMM_SELF);
    line_barrier_alone = __LINE__, MPI_Barrier(MPI_COMM_SELF);
    __asm__ volatile(""); /* the call before is no jump */
}

NEVER_INLINED static double norm(void)
{
    double result;
    line_norm = __LINE__, result = wrapped_sum(2);
    return result + 1;
}

NEVER_INLINED static double dot(void)
{
    double result;
    line_dot = __LINE__, result = wrapped_sum(3);
    return result + 2;
}

/* A coroutine: of its stack the recorder knows no callers. */
static ucontext_t thread_context, coroutine_context;

static void run_coroutine(void)
{
    for (;;) {
        wrapped_barrier();
        swapcontext(&coroutine_context, &thread_context);
    }
}

struct place {
    const char *function;
    int line;
};

static void tell(int calls, const char *function, int kept, const struct place *places, int n)
{
    printf("%d %d %s ", calls, kept, function);
    for (int i = 0; i < n; i++)
        printf("%s%s (sites_wrappers.c:%d)", i > 0 ? " < " : "", places[i].function,
               places[i].line);
    printf("\n");
}

int main(int argc, char **argv)
{
    enum { FIRST, SECOND, THIRD, FOURTH, PLACES };
    int line[PLACES];
    static char stack[1 << 18];
    double sum = 0, total;
    MPI_Init(&argc, &argv);
    getcontext(&coroutine_context);
    coroutine_context.uc_stack.ss_sp = stack;
    coroutine_context.uc_stack.ss_size = sizeof stack;
    makecontext(&coroutine_context, run_coroutine, 0);
    swapcontext(&thread_context, &coroutine_context);
    for (int i = 0; i < 5; i++) {
        line[FIRST] = __LINE__, sum += norm();
        line[SECOND] = __LINE__, sum += dot();
    }
    for (int i = 0; i < 3; i++)
        line[THIRD] = __LINE__, sum += dot();
    for (int i = 0; i < 7; i++)
        line[FOURTH] = __LINE__, wrapped_barrier();
    swapcontext(&thread_context, &coroutine_context);
    line_direct = __LINE__, MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    MPI_Finalize();
    tell(5, "MPI_Allreduce", 2,
         (struct place[]){{"wrapped_sum", line_sum}, {"norm", line_norm}, {"main", line[FIRST]}},
         3);
    tell(5, "MPI_Allreduce", 3,
         (struct place[]){{"wrapped_sum", line_sum}, {"dot", line_dot}, {"main", line[SECOND]}}, 3);
    tell(3, "MPI_Allreduce", 3,
         (struct place[]){{"wrapped_sum", line_sum}, {"dot", line_dot}, {"main", line[THIRD]}}, 3);
    tell(1, "MPI_Allreduce", 1, (struct place[]){{"main", line_direct}}, 1);
    tell(7, "MPI_Barrier", 2,
         (struct place[]){{"wrapped_barrier", line_barrier}, {"main", line[FOURTH]}}, 2);
    tell(7, "MPI_Barrier", 2,
         (struct place[]){{"wrapped_barrier", line_barrier_alone}, {"main", line[FOURTH]}}, 2);
    tell(2, "MPI_Barrier", 1, (struct place[]){{"wrapped_barrier", line_barrier}}, 1);
    tell(2, "MPI_Barrier", 1, (struct place[]){{"wrapped_barrier", line_barrier_alone}}, 1);
    return sum < 0;
}
