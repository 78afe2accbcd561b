/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/parallel.h"

#include "base/text.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
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

void *lull_alloc_apart(size_t size)
{
    if (size > SIZE_MAX - LULL_APART)
        return NULL;
    size = (size + LULL_APART - 1) / LULL_APART * LULL_APART;
    void *memory = aligned_alloc(LULL_APART, size);
    return memory ? memset(memory, 0, size) : NULL;
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

/* ---- all or none ----------------------------------------------------------------------------- */

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool open, go;
    void (*body)(void *context, unsigned worker);
    void *context;
};

static void run_behind_gate(void *context, unsigned worker)
{
    struct gate *gate = context;
    pthread_mutex_lock(&gate->lock);
    while (!gate->open)
        pthread_cond_wait(&gate->opened, &gate->lock);
    bool go = gate->go;
    pthread_mutex_unlock(&gate->lock);
    if (go)
        gate->body(gate->context, worker);
}

static void open_gate(struct gate *gate, bool go)
{
    pthread_mutex_lock(&gate->lock);
    gate->open = true;
    gate->go = go;
    pthread_cond_broadcast(&gate->opened);
    pthread_mutex_unlock(&gate->lock);
}

lull_status lull_parallel_run_all(unsigned workers, void (*body)(void *context, unsigned worker),
                                  void *context, struct lull_error *err)
{
    struct gate gate = {.body = body, .context = context};
    pthread_mutex_init(&gate.lock, NULL);
    pthread_cond_init(&gate.opened, NULL);
    struct worker *others = calloc(workers, sizeof *others);
    unsigned running = 1;
    for (; others && running < workers; running++) {
        others[running] =
            (struct worker){.body = run_behind_gate, .context = &gate, .number = running};
        if (pthread_create(&others[running].thread, NULL, start, &others[running]) != 0)
            break;
    }
    bool all = others && running == workers;
    open_gate(&gate, all);
    if (all)
        body(context, 0);
    for (unsigned i = 1; others && i < running; i++)
        pthread_join(others[i].thread, NULL);
    free(others);
    pthread_cond_destroy(&gate.opened);
    pthread_mutex_destroy(&gate.lock);
    return all ? LULL_OK
               : lull_fail(err, LULL_ERR_MEMORY,
                           "only %u of %u threads could be started; LULL_THREADS=1 does with one",
                           running, workers);
}
