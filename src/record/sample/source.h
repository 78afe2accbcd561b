/* SPDX-License-Identifier: BSD-3-Clause */
/* A source of samples: what puts addresses into a place from which they are taken later.
 *
 * To add one: write a file of its own in this folder with a `const struct rec_sample_source`, and
 * add its address to the array in sample.c. */
#ifndef LULL_RECORD_SAMPLE_SOURCE_H
#define LULL_RECORD_SAMPLE_SOURCE_H

#include "record/core.h"

#include <sys/types.h>

/* What a source has for one thread. The members are the source's own. */
struct rec_sample_ring {
    void *memory; /* NULL: there is none */
    size_t size;
    int64_t interval; /* ns of processor time that each sample of it stands for */
    int64_t began;    /* ns */
    uint64_t count;
};

/* A sample as a source has it: where a thread was at `ns` of CLOCK_MONOTONIC. */
struct rec_raw_sample {
    uintptr_t address;
    int64_t ns;
};

/* Takes one sample. */
typedef void rec_sample_taker(void *context, const struct rec_raw_sample *sample);

struct rec_sample_source {
    const char *name;
    uint32_t id; /* enum lull_tape_sample_source */
    /* Begins to sample a thread of this process, by its number in the system, about every
     * `interval` ns of its processor time. With `alone` nobody but the thread itself empties the
     * ring, which should be large then. 0: it does; else an errno. May be called by another
     * thread. */
    int (*begin)(struct rec_sample_ring *ret_ring, pid_t thread, int64_t interval, bool alone);
    /* Hands over what is there, in the order of time. Returns how many samples the source has lost
     * since the last time, as it knows. One thread at a time calls this. */
    uint64_t (*take)(struct rec_sample_ring *ring, rec_sample_taker *taker, void *context);
    void (*end)(struct rec_sample_ring *ring);
    /* For how many ns of processor time a ring has room that samples every `interval` ns, and is not
     * large. */
    int64_t (*lasts)(int64_t interval);
};

extern const struct rec_sample_source rec_samples_perf, rec_samples_fake;

#endif
