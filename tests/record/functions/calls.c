/* Functions that call each other so often that it can be counted by hand: also inlined ones, ones
 * that call themselves, that are left by longjmp, and that threads run. */
#include "helper.h"

#include <lull/lull.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

#define APART __attribute__((noinline))

static jmp_buf target;
volatile long sum;

APART static void inner(long n)
{
    sum += n;
}

static inline void twice(long n)
{
    inner(n);
    inner(n + 1);
    sum++;
}

APART static void outer(void)
{
    for (int i = 0; i < 4; i++)
        twice(i);
    helper(3);
}

APART static long down(long n)
{
    return n > 0 ? down(n - 1) + sum : sum;
}

/* Leaves all of itself when it has called itself n times. */
APART static void leap(long n)
{
    if (n == 0)
        longjmp(target, 1);
    leap(n - 1);
    sum++;
}

APART static void landed(void)
{
    inner(1);
}

APART static void leaps(void)
{
    for (volatile int i = 0; i < 3; i++) {
        if (setjmp(target) == 0)
            leap(2);
        else
            landed();
    }
    inner(2);
}

APART static void unmeasured(void)
{
    inner(3);
    lull_resume();
    inner(4);
}

APART static void *in_thread(void *argument)
{
    outer();
    return argument;
}

int main(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        outer();
    down(4);
    leaps();
    lull_pause();
    unmeasured();
    if (pthread_create(&thread, NULL, in_thread, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    landed();
    return 0;
}
