/* Keeps each of its threads busy for some seconds of processor time, with a mark now and then:
 *
 *     busy THREADS MILLISECONDS */
#include <lull/lull.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static long wanted;

static void *work(void *nothing)
{
    struct timespec used;
    volatile double x = 1;
    do {
        lull_begin("work");
        for (int i = 0; i < 100000; i++)
            x = x * 0.999 + 1;
        lull_end("work");
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    } while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < wanted);
    return nothing;
}

int main(int argc, char **argv)
{
    pthread_t threads[16];
    int n = argc > 1 ? atoi(argv[1]) : 1;
    wanted = argc > 2 ? atol(argv[2]) : 100;
    for (int i = 1; i < n && i < 16; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    work(NULL);
    for (int i = 1; i < n && i < 16; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
