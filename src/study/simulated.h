/* SPDX-License-Identifier: BSD-3-Clause */
/* A study of simulations, as `lull simulate` makes them: one point, or all points of a sweep. */
#ifndef LULL_STUDY_SIMULATED_H
#define LULL_STUDY_SIMULATED_H

#include "machine/machine.h"
#include "sim/memory.h"
#include "sim/noise/noise.h"
#include "sim/setup.h"

enum lull_simulate_spec {
    LULL_SIMULATE_PATTERN,   /* NULL: a GOAL file */
    LULL_SIMULATE_NETWORK,   /* NULL: the machine's */
    LULL_SIMULATE_NOISE,     /* NULL: the machine's, or none */
    LULL_SIMULATE_PLACEMENT, /* NULL: the machine's, or each rank on a node of its own */
    LULL_SIMULATE_MEMORY,    /* NULL: computations share nothing */
    LULL_SIMULATE_SPECS
};

/* Reads the texts of specs, each NULL where there is none. Fails with LULL_ERR_RANGE for a spec
 * that is not understood, with the name of its option in the message, and as reading its JSON file
 * fails. */
lull_status lull_simulate_specs_read(const char *const texts[LULL_SIMULATE_SPECS],
                                     struct lull_arena *arena, const struct lull_sweep **ret_sweep,
                                     struct lull_error *err);

struct lull_simulate_inputs {
    struct lull_program *goal;          /* shared by all points; NULL: a pattern */
    const struct lull_machine *machine; /* NULL: none */
    const char *machine_path;
    const struct lull_sweep *sweep;
    const struct lull_delay *delays;
    uint32_t n_delays;
    uint64_t seed;
    bool path;                   /* the critical path is wanted */
    const char *tape;            /* path of the run to write, only with one point; NULL: none */
    void (*out_of_memory)(void); /* as lull_arena_create takes it */
};

/* One point. In a sweep, a point that was simulated keeps only its numbers: `arena`, `program`,
 * `texts`, `note` and the pointers in `result` are NULL then. */
struct lull_simulate_point {
    struct lull_arena *arena;
    struct lull_program *program;
    const char *texts[LULL_SIMULATE_SPECS]; /* specs of this point, NULL where there is none */
    const char *note; /* what the machine file lacks for this point, a sentence; NULL: nothing */
    struct lull_sim_result result;
    int64_t *ends;  /* [result.n_ranks] when each rank ends, ns; from malloc */
    double seconds; /* wall-clock time of the simulation itself */
    lull_status status;
    bool usage; /* the failure lies in what the user typed */
    struct lull_error err;
    const char *const *problems; /* NULL, or as lull_simulate gives them */
};

/* What the engine needs besides the program of a point. */
struct lull_simulate_setup {
    struct lull_network network;
    const struct lull_noise *noise;   /* NULL: none */
    const struct lull_memory *memory; /* NULL: none */
};

/* Makes of what the user typed the program of point `number`, in point->program, and its setup.
 * Both live in point->arena, which the caller has made. Sets texts, note, usage and err of the
 * point. */
lull_status lull_simulate_prepare(const struct lull_simulate_inputs *inputs, uint64_t number,
                                  struct lull_simulate_point *point,
                                  struct lull_simulate_setup *setup);

/* Runs all points of the sweep on `workers` threads (0: as many as there are); the results do not
 * depend on their number. A point is complete when its status is LULL_OK. */
void lull_simulate_run(const struct lull_simulate_inputs *inputs,
                       struct lull_simulate_point *points, unsigned workers);
/* Releases what points hold, and the program of `goal`. */
void lull_simulate_release(const struct lull_simulate_inputs *inputs,
                           struct lull_simulate_point *points);

/* How many events were simulated: sends, receives, computations and messages. */
uint64_t lull_simulate_events(const struct lull_sim_result *result);

#endif
