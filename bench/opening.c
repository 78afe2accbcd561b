/* opening THREADS RECORDS: threads, the first among them, that live side by side and make so many
 * records each, for bench/team.py. */
#include <lull/lull.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_barrier_t all;
static long records;

static void *work(void *argument)
{
    pthread_barrier_wait(&all);
    for (long i = 0; i < records; i += 2) {
        lull_begin("part");
        lull_end("part");
    }
    return argument;
}

int main(int argc, char **argv)
{
    const long n = argc == 3 ? atol(argv[1]) : 0;
    pthread_t *threads = calloc((size_t)n + 1, sizeof *threads);
    if (n < 1 || !threads)
        return 2;
    records = atol(argv[2]);
    pthread_barrier_init(&all, NULL, (unsigned)n);
    for (long i = 1; i < n; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            return 1;
    work(NULL);
    for (long i = 1; i < n; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return 0;
}
