/* Noise: how much longer computations take than they should.
 *
 * A noise is a class with numbers. *Random* classes (constant, exponential, uniform, gamma,
 * bernoulli, normal) draw an amount for each computation. *Detour* classes (periodic, recorded)
 * have spans in which the processor does not belong to the program: a computation that meets one is
 * lengthened by what it loses, and by what it loses while it is longer.
 *
 * The generator of a rank depends on the seed and the rank alone, and the n-th draw of a rank on n
 * alone, so the order in which ranks are simulated does not matter. All times in ns. */
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
    bool has_per;                            /* draws an amount: `per` means something */
    bool has_phase;                          /* has detours: `synchronised` means something */
    bool has_file;                           /* needs a recording */
    lull_status (*init)(struct lull_noise *noise, const double *values, struct lull_error *err);
};

extern const struct lull_noise_class *const lull_noise_classes[];
extern const unsigned lull_n_noise_classes;

/* NULL: there is none of that name. */
const struct lull_noise_class *lull_noise_find(const char *name);

struct lull_rank_range {
    uint32_t first, last; /* both belong to it */
};

struct lull_noise_spec {
    const struct lull_noise_class *class;
    double values[LULL_NOISE_VALUES]; /* by position in class->parameters; NAN: not said */
    double per;        /* an amount is drawn for each computation and scaled by duration / per, so
                          that it is noise per time; 0: for each computation, whatever its length */
    bool synchronised; /* detours of all ranks at the same times; else each rank is shifted by a
                          random part of the period (of the recording) */
    const struct lull_rank_range *ranges; /* ranks with noise, in any order; n_ranges == 0: all */
    uint32_t n_ranges;
    const char *file;                             /* recorded: path of the recording */
    const struct lull_noise_recording *recording; /* recorded: or the recording itself, whose
                                               detours are borrowed */
};

/* A spec of the class with nothing said. */
struct lull_noise_spec lull_noise_spec_empty(const struct lull_noise_class *class);

/* Checks a spec and makes a noise that lives in `arena`; it may be used by any number of threads.
 * Fails with LULL_ERR_RANGE on values that are absurd or do not fit each other, and as
 * lull_noise_recording_read does. */
lull_status lull_noise_create(const struct lull_noise_spec *spec, struct lull_arena *arena,
                              const struct lull_noise **ret_noise, struct lull_error *err);

struct lull_spec; /* sim/spec.h */

/* A noise from a spec for a program of n_ranks: the parameters of its class by name, and
 *     ranks=0+5+10-20           the ranks that have it
 *     per=operation|TIME        `per`: for each computation, or for each TIME of computation
 *     phase=random|synchronised
 *     file=PATH                 the recording
 * each where it means something. */
lull_status lull_noise_read(struct lull_spec *spec, uint32_t n_ranks, struct lull_arena *arena,
                            const struct lull_noise **ret_noise, struct lull_error *err);

/* What a rank must remember: 4 bytes, 0 at the start. */
struct lull_noise_rank {
    uint32_t draws;
};

/* What is added to a computation of `rank` that begins at `begin` and would take `duration` (both
 * >= 0): >= 0, at most 2^62. */
int64_t lull_noise_extend(const struct lull_noise *noise, uint64_t seed, uint32_t rank,
                          struct lull_noise_rank *state, int64_t begin, int64_t duration);

/* Whether the rank has any. */
bool lull_noise_has(const struct lull_noise *noise, uint32_t rank);
/* Whether it is meant for all ranks, or for one of the first `n_ranks` at least. */
bool lull_noise_is_for(const struct lull_noise *noise, uint32_t n_ranks);
/* ns of computation that a draw is for; 0: any. */
double lull_noise_per(const struct lull_noise *noise);
/* The detours, and where in them the rank is at the start; false: the noise draws amounts. */
bool lull_noise_detours(const struct lull_noise *noise, uint64_t seed, uint32_t rank,
                        struct lull_arena *arena, struct lull_noise_recording *ret_detours,
                        int64_t *ret_phase);

/* Mean of what is added, for people: ns per computation, or per `per` ns of computation; of detours
 * (share true) ns per ns of computation. */
double lull_noise_mean(const struct lull_noise *noise, bool *ret_share);

/* ==== recording =============================================================================== */

/* Recording of noise: when a processor did not belong to the program, as measured on a machine.
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
    int64_t before;        /* sum of the lengths of those before it */
};

struct lull_noise_recording {
    int64_t duration; /* ns, > lost */
    int64_t lost;     /* sum of the lengths */
    uint64_t count;
    const struct lull_recorded_detour *detours;
};

/* Fails with LULL_ERR_IO or LULL_ERR_FORMAT and "FILE: line N: cause" or "FILE: detour N: cause".
 */
lull_status lull_noise_recording_read(const char *path, struct lull_arena *arena,
                                      struct lull_noise_recording *ret_recording,
                                      struct lull_error *err);

/* What detours add to a computation that begins at `at` in [0, duration) of the recording, with
 * those that hit what was added; `work` >= 0, at most 2^61. The sum is cut at 2^62. */
int64_t lull_noise_recording_extend(const struct lull_noise_recording *recording, int64_t at,
                                    int64_t work);

#endif
