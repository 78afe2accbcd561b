/* SPDX-License-Identifier: BSD-3-Clause */
/* A source of samples: what puts addresses into a place from which they are taken later.
 *
 * To add one: write a file of its own in this folder with a `const struct rec_sample_source`, and
 * add its address to the array in sample.c. */
#ifndef LULL_RECORD_SAMPLE_SOURCE_H
#define LULL_RECORD_SAMPLE_SOURCE_H

#include "record/core.h"

#include <sys/types.h>

/* What a source has for one thread. The members are the source's own, but for `fields` and
 * `interval`. */
struct rec_sample_ring {
    void *memory; /* NULL: there is none */
    size_t size;
    uint32_t fields;  /* enum lull_tape_sample_field: what its samples have */
    int64_t interval; /* ns of processor time between two samples */
    int64_t began;    /* ns */
    uint64_t count;
    void *pages[2];                        /* of counters */
    uint64_t enabled, running, counted[2]; /* as the sample before had them */
};

/* The begin of a stack, in a ring of `mask` + 1 bytes. */
struct rec_raw_stack {
    uintptr_t pointer; /* the stack pointer: the words lie from there upwards */
    uintptr_t frame;   /* the register that may point to the frame */
    uintptr_t link; /* the register with the return address, where the processor has one; else 0 */
    uint32_t words; /* that were copied; 0: there is no stack */
    const unsigned char *ring;
    uint64_t at, mask;
};

static inline uint64_t rec_stack_word(const struct rec_raw_stack *stack, uint32_t i)
{
    uint64_t word;
    __builtin_memcpy(&word, stack->ring + ((stack->at + i * sizeof word) & stack->mask),
                     sizeof word);
    return word;
}

/* A sample as a source has it: where a thread was at `ns` of CLOCK_MONOTONIC. */
struct rec_raw_sample {
    uintptr_t address;
    int64_t ns;
    int64_t weight;                /* ns of processor time that it stands for */
    uint64_t instructions, cycles; /* of the same time, with LULL_TAPE_SAMPLE_COUNTS */
    struct rec_raw_stack stack;    /* with LULL_TAPE_SAMPLE_STACK */
};

/* Takes one sample. */
typedef void rec_sample_taker(void *context, const struct rec_raw_sample *sample);

/* How a thread is to be sampled. */
struct rec_sample_wish {
    pid_t thread;     /* of this process, by its number in the system */
    int64_t interval; /* ns of its processor time, about */
    bool alone; /* nobody but the thread itself empties the ring, which should be large then */
    bool stack; /* with the begin of its stack, where the source can */
};

struct rec_sample_source {
    const char *name;
    uint32_t id; /* enum lull_tape_sample_source */
    /* The shortest interval that it can do, in ns; NULL: any. */
    int64_t (*least)(void);
    /* 0: the thread is sampled from here on; else an errno. May be called by another thread. */
    int (*begin)(struct rec_sample_ring *ret_ring, const struct rec_sample_wish *wish);
    /* Hands over what is there, in the order of time. Returns how many samples the source has lost
     * since the last time, as it knows. One thread at a time calls this. */
    uint64_t (*take)(struct rec_sample_ring *ring, rec_sample_taker *taker, void *context);
    /* Another interval from here on. NULL: a ring keeps its own, and a new one takes its place. */
    void (*change)(struct rec_sample_ring *ring, int64_t interval);
    void (*end)(struct rec_sample_ring *ring);
    /* For how many ns of processor time a ring has room that samples as is wished, and is not
     * large. */
    int64_t (*lasts)(int64_t interval, bool stack);
    /* From `hold` to `release` no sample may disturb the calling thread. NULL: samples of this
     * source never do. */
    void (*hold)(void);
    void (*release)(void);
};

/* Threads with the same interval would be sampled in step with each other, and with loops of that
 * length. So each ring has an interval of its own, up to a tenth longer or shorter. */
int64_t rec_sample_vary(int64_t interval, pid_t thread);

extern const struct rec_sample_source rec_samples_perf, rec_samples_timer, rec_samples_fake;

#endif
