/* What a replay supposes to be different. */
#ifndef LULL_STUDY_REPLAY_SUPPOSITION_H
#define LULL_STUDY_REPLAY_SUPPOSITION_H

#include "machine/machine.h"
#include "replay/what_if/what_if.h"
#include "sim/disturbance.h"
#include "sim/spec.h"
#include "team/team.h"

/* What is supposed to be different; what is NULL or 0 stays as measured. */
struct lull_supposition {
    uint32_t application;   /* index: which program of the trace is replayed */
    bool force;             /* go on where the tracer disturbed the run too much */
    bool whole;             /* with MPI_Init and MPI_Finalize */
    bool raw_names;         /* names of functions as the run has them */
    struct lull_team *team; /* whose members read the run together; NULL: alone */
    bool whole_run; /* the first wants all of the simulated run, to write it: it replays alone */
    const struct lull_sweep *networks;  /* of one spec: the network */
    const struct lull_machine *machine; /* the network of a machine; not with `networks` */
    double cpu_speed;                   /* times as fast as measured */
    struct lull_what_if_options what_if;
    const char *const *words; /* all of that as it is typed, "--median", "rank=7"; NULL at the end,
                                 or NULL: not known */
    const struct lull_disturbance *disturbance; /* as if lull record had injected it; its network
                                                   not beside `networks` or `machine` */
    const char *against; /* a run to which the prediction is compared: where nothing is supposed, it
                            is what that run was disturbed with. Not with a sweep. */
};

/* What users type for it; what is NULL was not said. */
struct lull_supposition_texts {
    const char *network, *machine;         /* a spec, a file; one of them */
    const char *cpu_speed;                 /* a factor */
    char *const *regions, *const *medians; /* as lull_what_if_regions_read and
                                              lull_what_if_cuts_read take them */
    char *const *inject;                   /* of a disturbance that the caller has read ... */
    const char *seed;                      /* ... with this */
};

/* Sets what the texts say, and `words`, beside what the caller has set before: disturbance and
 * `against` are checked with it. Fails with LULL_ERR_RANGE, or as the machine file is read. */
lull_status lull_supposition_read(const struct lull_supposition_texts *texts,
                                  struct lull_arena *arena, struct lull_supposition *supposition,
                                  struct lull_error *err);

/* Networks that the user typed: each point of the sweep is checked, before a trace is read. */
lull_status lull_replay_networks_read(const char *text, struct lull_arena *arena,
                                      const struct lull_sweep **ret_networks,
                                      struct lull_error *err);

#endif
