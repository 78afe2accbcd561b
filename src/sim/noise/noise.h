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

#include "sim/network/network.h"

enum { LULL_NOISE_VALUES = 4 };

struct lull_noise;
struct lull_noise_recording; /* sim/noise/recording.h */

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

#endif
