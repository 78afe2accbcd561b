/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples: the useful samples of a thread (activity/step.h), added up by their place in the code and by
 * what the thread was in the middle of. Samples that are alike in both are one item.
 *
 *     struct lull_samples samples = {0};
 *     lull_samples_count(&samples, weight);              // for each sample
 *     good = lull_samples_add(&samples, &item, SIZE_MAX);
 *     ...
 *     lull_samples_sort(&samples);                       // or lull_samples_copy
 *     lull_samples_free(&samples);
 *
 * Memory: 50 to 100 bytes for each item while samples are added, 40 afterwards. */
#ifndef LULL_METRICS_SAMPLES_H
#define LULL_METRICS_SAMPLES_H

#include "base/arena.h"
#include "team/team.h"

/* What a thread was in the middle of when a sample was taken; who adds samples says which of these it
 * tells apart, and leaves the others 0. */
struct lull_samples_context {
    uint32_t path; /* of the user's regions that were open: a number */
    uint32_t
        call; /* region of the call at the end of the burst, or LULL_NONE: at the end of the run */
    uint32_t parallel; /* the outermost OpenMP parallel region, LULL_NONE: outside of all, or
                          LULL_SAMPLES_UNNAMED */
    uint32_t locked;   /* 1: in a critical or ordered section */
};
#define LULL_SAMPLES_UNNAMED (LULL_NONE - 1) /* in a parallel region that is not known */

/* All samples of a thread at one place of the code, with one context. */
struct lull_samples_item {
    struct lull_samples_context context;
    uint64_t offset; /* in the object */
    uint32_t object; /* of trace->objects; LULL_NONE: no file holds the code, or the thread had more
                        items than are told apart */
    uint32_t count;  /* samples */
    uint64_t weight; /* ns of processor time that they stand for; UINT64_MAX: so much or more */
};

struct lull_samples {
    struct lull_samples_item
        *items; /* in the order of their first samples, until they are sorted */
    size_t n_items, capacity;
    uint64_t count;            /* of samples */
    uint64_t weight, heaviest; /* of all samples together, and of the heaviest one; 0: none */
    double squares;            /* sum over the samples of weight^2 */
    uint32_t
        *slots; /* while items are added: 1 + the index of each by its hash; 0 is free. Private */
    size_t n_slots; /* a power of two */
};

/* a + b, or UINT64_MAX where that is more. */
uint64_t lull_samples_weights(uint64_t a, uint64_t b);
/* Counts one sample in count, weight, heaviest and squares. Its item is added now or later. */
void lull_samples_count(struct lull_samples *samples, uint64_t weight);
/* Adds samples that are all alike. Where there are `most` items further ones count as one, with the
 * context {0, LULL_NONE, LULL_NONE, 0} and without a place. False: no memory. */
bool lull_samples_add(struct lull_samples *samples, const struct lull_samples_item *item,
                      size_t most);
/* The order of items by object, offset and context; for qsort. */
int lull_samples_order(const void *a, const void *b);
/* Puts the items into that order. No more are added then. */
void lull_samples_sort(struct lull_samples *samples);
/* A copy whose items live in `arena`, and which is not to be freed. */
struct lull_samples lull_samples_copy(const struct lull_samples *samples, struct lull_arena *arena);
void lull_samples_free(struct lull_samples *samples);

/* From one member of a team to another one. What is got is as sorted as it was. False: the flow has failed. */
bool lull_samples_put(const struct lull_samples *samples, struct lull_flow *flow);
bool lull_samples_get(struct lull_samples *samples, struct lull_flow *flow);

#endif
