/* One replay of a measured run, and the run that it makes. */
#ifndef LULL_STUDY_REPLAY_REPLAYED_RUN_H
#define LULL_STUDY_REPLAY_REPLAYED_RUN_H

#include "replay/warp.h"
#include "replay/what_if/what_if.h"
#include "sim/network/network.h"
#include "study/notices.h"
#include "study/runs.h"
#include "team/division.h"

/* ==== replayed ================================================================================ */

/* A replay and the run that it makes. */
struct lull_replayed {
    int64_t runtime; /* ns */
    uint64_t messages;
    struct lull_program *program;
    struct lull_warp *warp;   /* NULL: only the runtime was asked for */
    struct lull_trace *trace; /* the run through the warp; likewise */
    bool shared;              /* each member of the division has the run of its processes */
};

struct lull_replay_wish {
    uint32_t application;
    const bool *callers; /* replay/replay.h */
    const struct lull_network *network;
    const struct lull_survey *survey;
    uint8_t keep_calls; /* enum lull_replay_keep */
    /* Made with `run` as its pieces, of the part of this member where there is a division; NULL: as
     * measured. */
    struct lull_what_if *what_if;
    const struct lull_windows *windows;         /* replay/replay.h */
    const struct lull_disturbance *disturbance; /* replay/replay.h */
    bool run;                                   /* the run is wanted, not only its length */
    /* Makes a sink that follows the simulation, when the program is open; it lives as long as that.
     * Called again where one process has to simulate it alone. Not with `run`. NULL, or *ret_sink
     * is: nobody follows. */
    lull_status (*follow)(void *follower, const struct lull_program *program,
                          const struct lull_sim_sink **ret_sink, struct lull_error *err);
    void *follower;
    unsigned workers; /* threads of the simulation; 0: as many as pay */
    /* Of a team all of whose members simulate it, each its processes. NULL: this process does it
     * alone. */
    const struct lull_division *division;
    int64_t (*length)(void *context,
                      const struct lull_replay_burst *burst); /* replay/replay.h ... */
    void *context; /* ... of a thread as of any other; without what_if */
};

/* Ends with lull_replayed_close, after success only. With a division, by all members together:
 * fails where one of them has gone, and where only one process can simulate it, on all, it is not
 * `shared`, and nothing is there. */
lull_status lull_replayed_make(const struct lull_trace *trace, const struct lull_replay_wish *wish,
                               struct lull_arena *arena, struct lull_replayed *ret_replayed,
                               struct lull_error *err);
void lull_replayed_close(struct lull_replayed *replayed);

/* What of the calls that wait for nobody keeps its length on a network (enum lull_replay_keep): on
 * the ideal one no call takes time, and where the network says what a message costs the processor,
 * it is not counted twice. */
uint8_t lull_replay_kept_on(const struct lull_network *network);

/* A network from what the user typed, with the nodes of the trace (NULL: only to check it). On the
 * ideal network collectives with a root wait for it alone, unless the spec says otherwise. */
struct lull_spec;
lull_status lull_replay_read_network(struct lull_spec *spec, const struct lull_trace *trace,
                                     uint32_t application, struct lull_arena *arena,
                                     struct lull_network *ret_network, struct lull_error *err);

/* ==== measured ================================================================================ */

/* What a replay of a measured run has to know of it, found while the run is read, and how well the
 * network that its messages show explains its runtime. */

struct lull_measured {
    struct lull_survey *survey;
    struct lull_network_samples *samples;
    struct lull_eager_evidence *evidence;
    struct lull_collective_costs *collectives;
};

/* Takes part in a pass over a run, with its ideal runtime. Ends with lull_measured_release in
 * either case. */
lull_status lull_measured_join(struct lull_measured *measured, uint32_t application,
                               struct lull_joint_pass *joint, struct lull_error *err);
void lull_measured_release(struct lull_measured *measured);

/* Behind a pass that a team has shared, by all of its members: the first has all then. What is NULL
 * nobody has. */
lull_status lull_measured_gather(struct lull_measured *measured, struct lull_team *team,
                                 struct lull_error *err);

/* Behind the pass, once: the network that the messages of the run show, in `arena`. */
lull_status lull_measured_conclude(struct lull_measured *measured, uint32_t application,
                                   struct lull_arena *arena, struct lull_network *ret_network,
                                   struct lull_error *err);

/* All of that for a run that is open, by reading it once more: the part of it that was analysed, by
 * `division` together (NULL: by one), whose members all know then what is found. Of the options,
 * application and workers matter. *ret_callers: as lull_run_callers has them, in `arena`. Ends with
 * lull_measured_release in either case. */
lull_status lull_measured_read(const struct lull_run *run, const struct lull_runs_options *options,
                               const struct lull_division *division, struct lull_arena *arena,
                               struct lull_measured *ret_measured, struct lull_network *ret_network,
                               const bool **ret_callers, struct lull_error *err);

/* The replay of all on the measured network, as a wish. `callers`: as lull_run_callers has them. */
struct lull_replay_wish lull_measured_wish(const struct lull_measured *measured,
                                           const struct lull_run *run, uint32_t application,
                                           const struct lull_network *network, const bool *callers);

/* How much longer the replay takes than the run, as a share of the run; NaN: not known. */
double lull_replay_difference(const struct lull_breakdown *breakdown);

/* Up to which share of the runtime a replay may miss it without a word, and up to how many steps of
 * the ideal runtime a run is usually replayed to know that, which takes seconds. */
#define LULL_REPLAY_MISSES_MOST 0.05
#define LULL_REPLAY_CHECK_MOST  2000000

/* Replays a run that has an ideal runtime on the network that its messages show, and notes in its
 * breakdown how long it takes then, or why no replay can be had; both are told by notices, where
 * the replay misses the runtime by more than LULL_REPLAY_MISSES_MOST. Reads the run once more, but
 * not where the ideal network would save less than that share: a replay on a real one lies between
 * them. By all members of a team together, of which the first has the breakdown. Fails only where
 * the run cannot be read, or a member has gone. */
lull_status lull_measured_check(struct lull_run *run, const struct lull_runs_options *options,
                                struct lull_notices *notices, struct lull_arena *arena,
                                struct lull_error *err);

/* ==== to all ================================================================================== */

/* What the members of a team need to know for replays that they simulate together, from the first
 * to all. */

/* Behind lull_measured_gather and before lull_measured_conclude, by all together: others than the
 * first have the survey of the whole run then, concluded. */
lull_status lull_measured_survey_to_all(struct lull_measured *measured,
                                        const struct lull_trace *trace, uint32_t application,
                                        struct lull_team *team, struct lull_error *err);

/* Behind lull_measured_conclude: the network that the run shows, with the nodes of the trace, and
 * its threads that communicate (study/runs.h). Both are the first's, and are set on others. */
lull_status lull_measured_network_to_all(const struct lull_trace *trace, uint32_t application,
                                         struct lull_team *team, struct lull_arena *arena,
                                         struct lull_network *network, const bool **callers,
                                         struct lull_error *err);

#endif
