/* Where the recorder has to take a lock, open a file or ask the loader, its thread steps aside:
 * what it calls from there is not recorded, and neither is a signal's handler of the program that
 * comes meanwhile and could wait for ever for what it has interrupted. The thread cannot be
 * cancelled there, as the program does not expect that, and errno is what it was before. May be
 * nested. */
#ifndef LULL_RECORD_ASIDE_H
#define LULL_RECORD_ASIDE_H

#include "record/core.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

struct rec_aside {
    struct rec_thread *self;
    int reason, cancel; /* errno; whether the thread can be cancelled */
};

static inline struct rec_aside rec_step_aside(void)
{
    struct rec_aside aside = {.self = rec_self_or_null, .reason = errno};
    rec_self_or_null = &rec_nobody;
    atomic_signal_fence(memory_order_seq_cst);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &aside.cancel);
    return aside;
}

static inline void rec_step_back(const struct rec_aside *aside)
{
    pthread_setcancelstate(aside->cancel, NULL);
    atomic_signal_fence(memory_order_seq_cst);
    rec_self_or_null = aside->self;
    errno = aside->reason;
}

#endif
