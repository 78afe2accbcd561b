/* short_threads [few]: thousands of threads that live for a moment, on the smallest stacks that
 * there are, some of which end inside of a region; and what they have left when all is over. Prints
 * what must be found; the status is 1 when they leave memory behind. A few of them are not asked
 * about that. */
#include <limits.h>
#include <lull/lull.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { BATCHES = 625, AT_ONCE = 8, FEW = 125, LARGEST_GROWTH = 1 << 20 };

/* Batches whose threads live long enough for the recorder to ask the system about them. */
enum { LONGER = 2, LONGER_US = 60000 };

static pthread_barrier_t all;
static bool lives_longer; /* while no thread is there but main */

static void *visit(void *argument)
{
    lull_begin("visit");
    lull_iteration(1);
    pthread_barrier_wait(&all);
    if (lives_longer)
        usleep(LONGER_US);
    if (argument)
        lull_end("visit");
    return NULL;
}

static long resident(void)
{
    long pages = 0, whole;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &whole, &pages) != 2)
        pages = 0;
    if (file)
        fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
    (void)argv;
    const int batches = argc > 1 ? FEW / 2 : BATCHES;
    pthread_attr_t attributes;
    pthread_t threads[AT_ONCE];
    long before = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
    pthread_barrier_init(&all, NULL, AT_ONCE);
    for (int batch = 0; batch < batches; batch++) {
        if (batch == FEW)
            before = resident();
        lives_longer = batch < LONGER;
        for (int i = 0; i < AT_ONCE; i++)
            if (pthread_create(&threads[i], &attributes, visit, i % 4 ? &all : NULL) != 0)
                return 2;
        for (int i = 0; i < AT_ONCE; i++)
            pthread_join(threads[i], NULL);
    }
    long grown = batches > FEW ? resident() - before : 0;
    printf("expect %d visit\nexpect %d pthread_create\n", batches * AT_ONCE, batches * AT_ONCE);
    printf("threads %d\n", AT_ONCE + 1);
    if (grown > LARGEST_GROWTH)
        printf("%ld bytes more\n", grown);
    return grown > LARGEST_GROWTH;
}
