/* A fixed amount of work on some threads, in marked regions of about a millisecond, for what samples cost a program
 * that enters the recorder now and then.
 *
 *     bench_record_sample THREADS REGIONS */
#include <lull/lull.h>
#include <pthread.h>
#include <stdlib.h>

static long regions;

static void *work(void *argument)
{
    volatile double sum = 0;
    for (long r = 0; r < regions; r++) {
        lull_begin("region");
        for (unsigned i = 0; i < 400000; i++)
            sum = sum * 0.5 + i;
        lull_end("region");
    }
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t threads[64];
    int n = argc > 1 ? atoi(argv[1]) : 1;
    n = n < 1 ? 1 : n > 64 ? 64 : n;
    regions = argc > 2 ? atol(argv[2]) : 1000;
    for (int t = 1; t < n; t++)
        pthread_create(&threads[t], NULL, work, NULL);
    work(NULL);
    for (int t = 1; t < n; t++)
        pthread_join(threads[t], NULL);
    return 0;
}
