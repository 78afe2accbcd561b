/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program is disturbed with on purpose: the words of `lull record --inject`, and of the runs
 * that were recorded so.
 *
 *   hockney:latency=1ms,bandwidth=1GB/s     each message takes latency + bytes / bandwidth at least
 *   exponential:mean=50us                   any noise (sim/noise/noise.h)
 *   RANK@WHEN:LENGTH                        a delay (sim/setup.h)
 *   iteration:call=MPI_Allreduce            the calls of that function begin iterations, to which
 *                                           delays refer, where the program does not mark them
 *
 * Of messages and noise there is one each, of delays any number. */
#ifndef LULL_SIM_DISTURBANCE_H
#define LULL_SIM_DISTURBANCE_H

#include "sim/engine/engine.h"
#include "sim/noise/noise.h"

struct lull_disturbance {
    struct lull_arena *arena; /* where all that follows lives */
    bool has_network;
    double latency, bandwidth;      /* ns; bytes/s */
    const struct lull_noise *noise; /* NULL: none */
    struct lull_delay *delays;
    uint32_t n_delays;
    size_t delays_capacity;
    const char *iterations; /* name of a function; NULL: marks of the program */
    uint64_t seed;          /* of the noise */
    const char *text;       /* what was added, in lines; "" at first */
};

/* Begins as this, with nothing. */
struct lull_disturbance lull_disturbance_none(struct lull_arena *arena, uint64_t seed);

/* Of several texts, NULL at the end, or NULL; *ret_disturbance is NULL where there is none. Fails
 * as lull_disturbance_add. */
lull_status lull_disturbance_read(char *const *texts, uint64_t seed, struct lull_arena *arena,
                                  const struct lull_disturbance **ret_disturbance,
                                  struct lull_error *err);
/* One more of the above; `text` must outlive it. Fails with LULL_ERR_RANGE, or as reading a
 * recording of noise does. */
lull_status lull_disturbance_add(struct lull_disturbance *disturbance, const char *text,
                                 struct lull_error *err);
/* All that lines of text say, as in `text` of another one. */
lull_status lull_disturbance_add_lines(struct lull_disturbance *disturbance, const char *lines,
                                       struct lull_error *err);

/* Whether a run of so many ranks can be disturbed so: fails with LULL_ERR_RANGE where there is no
 * such rank as a delay has, or where none of them has the noise. */
lull_status lull_disturbance_check(const struct lull_disturbance *disturbance, uint32_t n_ranks,
                                   struct lull_error *err);

/* The noise of a rank as numbers: `n` amounts, the k-th for its k-th computation, or (`per` > 0)
 * for each `per` ns of it; or detours. False: neither. */
struct lull_noise_numbers {
    int64_t *draws;
    uint32_t n_draws;
    double per;
    struct lull_noise_recording detours; /* count 0: none */
    int64_t phase;                       /* where in them the rank is at the start */
};
bool lull_disturbance_noise(const struct lull_disturbance *disturbance, uint32_t rank, uint32_t n,
                            struct lull_noise_numbers *ret_numbers);

/* "hockney:latency=1ms,bandwidth=1GB/s,eager=inf": the network on which a simulation has the same
 * messages, as a spec in the arena; NULL: messages are left alone. */
const char *lull_disturbance_network(const struct lull_disturbance *disturbance);

#endif
