/* Functions that are too short to be recorded. */
#include <pthread.h>

#define APART __attribute__((noinline))
static volatile long sum;
static __thread long own;

APART static void tiny(void)
{
    own++;
}

/* Its calls end inside of each other. */
APART static long deep(long n)
{
    return n > 0 ? deep(n - 1) + own : own;
}

APART static void busy(void)
{
    for (int i = 0; i < 20000; i++)
        sum++;
}

APART static void work(void)
{
    for (int i = 0; i < 1000; i++)
        tiny();
    for (int i = 0; i < 7; i++)
        busy();
}

APART static void *in_thread(void *argument)
{
    work();
    return argument;
}

int main(void)
{
    pthread_t threads[2];
    work();
    for (int i = 0; i < 2; i++)
        deep(249);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, in_thread, NULL) != 0)
            return 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
