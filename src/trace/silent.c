#include "trace/silent.h"

#include "trace/shared.h"

#include <stdlib.h>

struct lull_trace *lull_trace_silent_create(const struct lull_trace *trace)
{
    struct lull_trace *silent = calloc(1, sizeof *silent);
    struct lull_trace_shared *shared = calloc(1, sizeof *shared);
    if (!silent || !shared) {
        free(silent);
        free(shared);
        return NULL;
    }
    pthread_mutex_init(&shared->lock, NULL);
    pthread_mutex_init(&shared->copy_lock, NULL);
    *silent = *trace;
    silent->shared = shared;
    silent->tally = NULL;
    return silent;
}

void lull_trace_silent_destroy(struct lull_trace *silent)
{
    if (!silent)
        return;
    free(silent->shared->left_out);
    pthread_mutex_destroy(&silent->shared->copy_lock);
    pthread_mutex_destroy(&silent->shared->lock);
    free(silent->shared);
    free(silent);
}
