/* Kinds of what-ifs: one constant struct each, in a file of its own; what_if.c has them in the
 * order in which they apply. Internal to the room. */
#ifndef LULL_REPLAY_WHAT_IF_KIND_H
#define LULL_REPLAY_WHAT_IF_KIND_H

#include "replay/what_if/treatments.h"

#include <math.h>

/* What all kinds of one what-if know. */
struct lull_what_if_scene {
    const struct lull_trace *trace;
    const struct lull_what_if_options *wanted;
    const struct lull_treatments *treatments;
    uint32_t n_streams;            /* at most */
    struct lull_what_if_part part; /* whose bursts are told */
};

/* Streams are told side by side, the bursts of each in order; fixed ones are not. A state is kept
 * for each stream, so that nothing is locked. */
struct lull_what_if_kind {
    bool (*is_wanted)(const struct lull_what_if_options *wanted);
    void *(*create)(const struct lull_what_if_scene *scene); /* NULL: no memory */
    void (*destroy)(void *state);

    /* What it has to learn first is in the bursts, as long as the kinds before it make them; false:
     * no memory. Or in the steps of all threads, for a consumer. Both NULL: nothing. */
    bool (*learn)(void *state, const struct lull_replay_burst *burst, int64_t ns);
    struct lull_consumer (*consumer)(void *state);
    /* Behind all of that, by all members of a team together: where one of them fails, the others
     * are told. May be NULL. */
    lull_status (*conclude)(void *state, struct lull_error *err);
    void (*forget)(void *state); /* what was learned of bursts, which were others */

    int64_t (*apply)(void *state, const struct lull_replay_burst *burst, int64_t ns);
    void (*rewind)(void *state); /* the first bursts come next; NULL: it does not matter */
};

lull_status lull_what_if_no_memory(const struct lull_trace *trace, struct lull_error *err);

extern const struct lull_what_if_kind lull_kind_threads, lull_kind_serial, lull_kind_noise,
    lull_kind_factors, lull_kind_cuts, lull_kind_balance;

/* Bursts that are stretched together: their sum is rounded, not each of them, so that it is what it
 * should be. */
struct lull_stretched {
    int64_t before, after;
};

/* The next burst, all of which take top / bottom of their time. */
static inline int64_t lull_stretch_on(struct lull_stretched *stretched, int64_t ns, double top,
                                      double bottom)
{
    stretched->before += ns;
    const int64_t after = llround((double)stretched->before * top / bottom);
    const int64_t length = after - stretched->after;
    stretched->after = after;
    return length > 0 ? length : 0;
}

#endif
