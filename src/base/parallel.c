#include "base/parallel.h"

#include "base/text.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORKERS = 1024 };

unsigned lull_worker_count(void)
{
    const char *wish = getenv("LULL_THREADS");
    uint64_t count;
    if (wish && lull_parse_u64(wish, strlen(wish), &count) == LULL_OK && count >= 1 &&
        count <= MOST_WORKERS)
        return (unsigned)count;
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        return 1;
    int allowed = CPU_COUNT(&cpus);
    return allowed < 1 ? 1 : allowed > MOST_WORKERS ? MOST_WORKERS : (unsigned)allowed;
}

struct worker {
    pthread_t thread;
    void (*body)(void *context, unsigned worker);
    void *context;
    unsigned number;
};

static void *start(void *argument)
{
    struct worker *worker = argument;
    worker->body(worker->context, worker->number);
    return NULL;
}

void lull_parallel_run(unsigned workers, void (*body)(void *context, unsigned worker),
                       void *context)
{
    if (workers > MOST_WORKERS)
        workers = MOST_WORKERS;
    struct worker *others = workers > 1 ? calloc(workers, sizeof *others) : NULL;
    unsigned running = 1;
    for (; others && running < workers; running++) {
        others[running] = (struct worker){.body = body, .context = context, .number = running};
        if (pthread_create(&others[running].thread, NULL, start, &others[running]) != 0)
            break;
    }
    body(context, 0);
    for (unsigned i = 1; i < running; i++)
        pthread_join(others[i].thread, NULL);
    free(others);
}
