/* SPDX-License-Identifier: BSD-3-Clause */
/* Noise: how much longer computations take than they should.
 *
 * A noise is a class with values for its parameters. *Random* classes (constant, exponential,
 * uniform, gamma, bernoulli, normal) draw an amount for each computation. *Detour* classes
 * (periodic, recorded) have spans in which the processor does not work for the program: a
 * computation is lengthened by the detours that it meets, also by those that it only meets because
 * it has become longer.
 *
 * The n-th draw of a rank depends on the seed, the rank and n alone, so that the order in which
 * ranks are simulated does not matter. All times are in ns. */
#ifndef LULL_SIM_NOISE_NOISE_H
#define LULL_SIM_NOISE_NOISE_H

#include "base/arena.h"
#include "base/error.h"
#include "sim/network/network.h"

#include <stdint.h>

/* ==== noise =================================================================================== */

enum { LULL_NOISE_VALUES = 4 };

struct lull_noise;
struct lull_noise_recording; /* see below */

/* One constant struct per class. */
struct lull_noise_class {
    const char *name; /* "exponential" */
    const char *summary;
    const struct lull_parameter *parameters; /* [n_parameters]; times in ns */
    unsigned n_parameters;                   /* at most LULL_NOISE_VALUES */
    bool has_per;                            /* it draws amounts, so that `per` matters */
    bool has_phase;                          /* it has detours, so that `synchronised` matters */
    bool has_file;                           /* needs a recording */
    lull_status (*init)(struct lull_noise *noise, const double *values, struct lull_error *err);
};

extern const struct lull_noise_class *const lull_noise_classes[];
extern const unsigned lull_n_noise_classes;

/* The class of that name; NULL: there is none. */
const struct lull_noise_class *lull_noise_find(const char *name);

struct lull_rank_range {
    uint32_t first, last; /* both are in the range */
};

struct lull_noise_spec {
    const struct lull_noise_class *class;
    double values[LULL_NOISE_VALUES]; /* of class->parameters, in their order; NAN: not said */
    double per;        /* ns of computation that an amount is for: what is drawn for a computation
                          is multiplied by its duration / per. 0: it is added as it is, whatever the
                          length of the computation */
    bool synchronised; /* detours are at the same times on all ranks; else each rank is shifted by a
                          random part of the period or of the recording */
    const struct lull_rank_range *ranges; /* ranks with noise, in any order; n_ranges == 0: all */
    uint32_t n_ranges;
    /* For a class that needs a recording: its path, or the recording itself, whose detours are
     * borrowed. */
    const char *file;
    const struct lull_noise_recording *recording;
};

/* A spec of the class in which nothing is said. */
struct lull_noise_spec lull_noise_spec_empty(const struct lull_noise_class *class);

/* Checks a spec and makes a noise that lives in `arena`; any number of threads may use it. Fails
 * with LULL_ERR_RANGE on values that are out of bounds or do not fit each other, and as
 * lull_noise_recording_read does. */
lull_status lull_noise_create(const struct lull_noise_spec *spec, struct lull_arena *arena,
                              const struct lull_noise **ret_noise, struct lull_error *err);

struct lull_spec; /* sim/spec.h */

/* Makes a noise from the text of a spec, for a program of n_ranks. The keys are the parameters of
 * the class by name, and those of the following that matter for the class:
 *     ranks=0+5+10-20             the ranks that have the noise
 *     per=operation|TIME          an amount is for a computation, or for TIME of computation
 *     phase=random|synchronised   `synchronised` of struct lull_noise_spec
 *     file=PATH                   the recording */
lull_status lull_noise_read(struct lull_spec *spec, uint32_t n_ranks, struct lull_arena *arena,
                            const struct lull_noise **ret_noise, struct lull_error *err);

/* What is remembered for a rank; zero at the start. */
struct lull_noise_rank {
    uint32_t draws; /* how many amounts were drawn */
};

/* How many ns are added to a computation of `rank` that begins at `begin` and would take
 * `duration`, both at least 0. The result is between 0 and 2^62. */
int64_t lull_noise_extend(const struct lull_noise *noise, uint64_t seed, uint32_t rank,
                          struct lull_noise_rank *state, int64_t begin, int64_t duration);

/* Whether a rank has noise. */
bool lull_noise_has(const struct lull_noise *noise, uint32_t rank);
/* Whether a noise is for all ranks, or for at least one of the first `n_ranks`. */
bool lull_noise_is_for(const struct lull_noise *noise, uint32_t n_ranks);
/* How many ns of computation an amount is for; 0: a computation of any length. */
double lull_noise_per(const struct lull_noise *noise);
/* The detours of a noise, in `arena`, and where in them a rank is at the start, in ns; false: the
 * noise has no detours. */
bool lull_noise_detours(const struct lull_noise *noise, uint64_t seed, uint32_t rank,
                        struct lull_arena *arena, struct lull_noise_recording *ret_detours,
                        int64_t *ret_phase);

/* The mean of what is added, for people. Where amounts are drawn (*ret_share is false), it is in ns
 * per computation, or per `per` ns of computation. Where there are detours (*ret_share is true), it
 * is in ns per ns of computation. */
double lull_noise_mean(const struct lull_noise *noise, bool *ret_share);

/* ==== recording =============================================================================== */

/* A recording of noise: when a processor did not work for the program, as measured on a machine.
 *
 * JSON, as `lull bench` exports it, in whole ns from the start of the recording:
 *     {"lull_noise": 1, "duration": 1000000000, "detours": [[begin, length], ...]}
 * or CSV: lines "begin,length" in ns, with or without a line of names before them; empty lines and
 * lines that begin with '#' are left out, but "# duration=NS" sets the duration. Without a duration
 * the recording ends where the last detour does.
 *
 * Detours are in order of time, do not overlap, and leave some time to the program. The recording
 * is repeated without end. */

struct lull_recorded_detour {
    int64_t begin, length; /* ns; length > 0 */
    int64_t before;        /* ns: sum of the lengths of the detours before it */
};

struct lull_noise_recording {
    int64_t duration; /* ns; more than `lost` */
    int64_t lost;     /* ns: sum of the lengths of all detours */
    uint64_t count;
    const struct lull_recorded_detour *detours;
};

/* Reads a recording; its detours live in `arena`. Fails with LULL_ERR_IO or LULL_ERR_FORMAT and
 * "FILE: line N: cause" or "FILE: detour N: cause". */
lull_status lull_noise_recording_read(const char *path, struct lull_arena *arena,
                                      struct lull_noise_recording *ret_recording,
                                      struct lull_error *err);

/* How many ns detours add to a computation of `work` ns that begins at `at` in [0, duration) of the
 * recording; detours that hit the added time count, too. `work` is at least 0 and at most 2^61. The
 * result is at most 2^62. */
int64_t lull_noise_recording_extend(const struct lull_noise_recording *recording, int64_t at,
                                    int64_t work);

#endif
