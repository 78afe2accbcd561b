/* Barriers of LLVM's runtime that are hard to tell apart: one in which tasks run that wait for
 * tasks of their own, and those of a league whose team runs a loop. Each that is begun must end,
 * and no other. Prints what must be found. */
#include <stdio.h>

enum { ROUNDS = 10, DEPTH = 8 };

static int numbers;

static int tree(int n)
{
    int left, right;
    if (n < 2)
        return n;
#pragma omp task shared(left)
    left = tree(n - 1);
#pragma omp task shared(right)
    right = tree(n - 2);
#pragma omp taskwait
    return left + right;
}

/* Calls of tree that make tasks. */
static int branches(int n)
{
    return n < 2 ? 0 : 1 + branches(n - 1) + branches(n - 2);
}

int main(void)
{
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel num_threads(2)
#pragma omp single nowait
        numbers += tree(DEPTH);
    }
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp teams distribute parallel for num_teams(1) num_threads(2) reduction(+ : numbers)
        for (int i = 0; i < 100; i++)
            numbers += i;
    }
    printf("expect %d !$omp task\n", ROUNDS * 2 * branches(DEPTH));
    printf("expect %d !$omp taskwait\n", ROUNDS * branches(DEPTH));
    printf("threads 2\n");
    return numbers < 0;
}
