/* SPDX-License-Identifier: BSD-3-Clause */
/* One replay of a measured run, and the run that it makes. What a replay has to know of the
 * measured run is found while that is read; a replay on the network that the run's messages show
 * tells how far replays can be believed. The members of a team can make a replay together. */
#ifndef LULL_STUDY_REPLAY_REPLAYED_RUN_H
#define LULL_STUDY_REPLAY_REPLAYED_RUN_H

#include "replay/warp.h"
#include "replay/what_if/what_if.h"
#include "sim/network/network.h"
#include "study/notices.h"
#include "study/run.h"
#include "team/division.h"

/* ==== the replay ============================================================================== */

/* A replay and the run that it makes. */
struct lull_replayed {
    int64_t runtime; /* ns */
    uint64_t messages;
    struct lull_program *program;
    struct lull_warp *warp;   /* NULL: only the runtime was asked for */
    struct lull_trace *trace; /* the simulated run, as the measured one seen through the warp; NULL:
                                 only the runtime was asked for */
    bool shared;              /* each member of the division has the run of its processes */
};

struct lull_replay_wish {
    const struct lull_reading *reading; /* whose application and windows are replayed */
    bool devices;                       /* they take part (replay/replay.h) */
    const bool *callers;                /* replay/replay.h */
    const struct lull_network *network;
    const struct lull_survey *survey;
    uint8_t keep_calls; /* enum lull_replay_keep */
    uint8_t exchanges;  /* enum lull_exchange_cost */
    /* What changes computations; NULL: they stay as measured. It has been created with `pieces` as
     * `run` is here and, where there is a division, for the processes of this member. */
    struct lull_what_if *what_if;
    const struct lull_disturbance *disturbance; /* replay/replay.h */
    bool run;                                   /* the run is wanted, not only its length */
    /* Called when the program is open, to make a sink that follows the simulation and lives as long
     * as the program; it is called once more where one process has to simulate alone. Not with
     * `run`. If `follow` or *ret_sink is NULL, nothing follows the simulation. */
    lull_status (*follow)(void *follower, const struct lull_program *program,
                          const struct lull_sim_sink **ret_sink, struct lull_error *err);
    void *follower;
    /* It is replayed instead of the run (replay/replay.h). Not with `run`, what-ifs or a division.
     * NULL: the run. */
    const struct lull_excerpt *excerpt;
    unsigned workers; /* threads of the simulation; 0: as many as pay */
    /* All members of its team simulate together, each its processes. NULL: this process alone. */
    const struct lull_division *division;
    /* As in replay/replay.h, called for all threads alike. Not with what_if. */
    int64_t (*length)(void *context, const struct lull_replay_burst *burst);
    void *context;
};

/* Makes a replay, which lull_replayed_close ends after success only. With a division all members
 * call it together; it fails where one of them has gone. Where the division cannot simulate it and
 * one process would have to, it succeeds on all members, but `shared` is false and everything else
 * is empty. */
lull_status lull_replayed_make(const struct lull_trace *trace, const struct lull_replay_wish *wish,
                               struct lull_arena *arena, struct lull_replayed *ret_replayed,
                               struct lull_error *err);
void lull_replayed_close(struct lull_replayed *replayed);

/* Which calls that wait for nobody keep their measured length on a network (enum lull_replay_keep).
 * On the ideal network no call takes time; and where the network says what a message costs the
 * processor, that is not counted twice. */
uint8_t lull_replay_kept_on(const struct lull_network *network);
/* What exchanges between devices cost (enum lull_exchange_cost) where that network is supposed. */
uint8_t lull_replay_exchanges_on(const struct lull_network *network);

/* Makes a network of what the user typed, with the nodes of the trace (trace NULL: the spec is only
 * checked). On the ideal network collective operations with a root wait for the root alone, unless
 * the spec says otherwise. */
struct lull_spec;
lull_status lull_replay_read_network(struct lull_spec *spec, const struct lull_trace *trace,
                                     uint32_t application, struct lull_arena *arena,
                                     struct lull_network *ret_network, struct lull_error *err);

/* ==== the measured run ======================================================================== */

struct lull_measured_pass;

/* What a replay of a measured run has to know of it, found while the run is read. */
struct lull_measured {
    struct lull_survey *survey;
    struct lull_network_samples *samples;
    struct lull_eager_evidence *evidence;
    struct lull_collective_costs *collectives;
    struct lull_excerpt *excerpt;    /* NULL: none was wanted */
    struct lull_measured_pass *pass; /* how far it has come; in the arena of the pass */
    bool incomplete; /* on the first member, after the pass: it had too many steps */
};

/* The analysis that finds it. Its options are lull_measured_options, or NULL; its state is a
 * lull_measured. */
extern const struct lull_analysis lull_measured_analysis;
struct lull_measured_options {
    /* Of a run with more operations than these (struct lull_ideal_result) no replay is wanted. Once
     * the pass has had as many, nothing is collected any more, and the state is incomplete. 0: no
     * limit. */
    uint64_t most_operations;
    uint64_t
        excerpt_steps; /* an excerpt of so many is wanted, too (replay/excerpt.h), but not for a
                               team; 0: none */
};

/* Gives the first member of a team what all members have found. All call it; a member of *measured
 * that is NULL is NULL in all of them. The analysis does it by itself. */
lull_status lull_measured_gather(struct lull_measured *measured, struct lull_team *team,
                                 struct lull_error *err);
void lull_measured_release(struct lull_measured *measured);

/* After the pass, once: finds the network that the messages of the run show, in `arena`. */
lull_status lull_measured_conclude(struct lull_measured *measured, uint32_t application,
                                   struct lull_arena *arena, struct lull_network *ret_network,
                                   struct lull_error *err);

/* The wish for a replay of the whole run on the measured network. `callers` is what
 * lull_run_callers returns. */
struct lull_replay_wish lull_measured_wish(const struct lull_measured *measured,
                                           const struct lull_run *run,
                                           const struct lull_network *network, const bool *callers);

/* ---- what the replays of a run share --------------------------------------------------------- */

struct lull_replay_base {
    bool is_read; /* the reading of the run finds `measured`, too */
    bool known;   /* else all that follows but the arena is empty */
    struct lull_measured measured;
    struct lull_network network; /* that the messages of the run show */
    const bool *callers;         /* lull_run_callers */
    int64_t
        runtime; /* of the replay on that network, ns, on the first member; 0: not made so far */
    struct lull_arena *arena;
};

/* An empty one in `arena`, which outlives it. */
struct lull_replay_base *lull_replay_base_create(struct lull_arena *arena);
void lull_replay_base_release(struct lull_replay_base *base); /* NULL is allowed */

/* Fills the base of an open run that was analysed, unless that was done before. What the reading of
 * the run has found is taken, if lull_measured_analysis was asked for; else the part of the run that
 * was analysed is read once more. All members of a team that has read the run call it together, and
 * all know then what was found. */
lull_status lull_replay_base_fill(const struct lull_run *run, struct lull_error *err);

/* ---- the check ------------------------------------------------------------------------------- */

/* How much longer the replay takes than the run, as a share of the run; NAN: not known. */
double lull_replay_difference(const struct lull_breakdown *breakdown);
/* By how much that may be wrong, since an excerpt was replayed; 0: the whole run was. */
double lull_replay_uncertainty(const struct lull_breakdown *breakdown);

/* The replay of an excerpt must be known to this share of the measured runtime, with 95 %; else the
 * whole run is replayed. */
#define LULL_REPLAY_EXCERPT_MOST 0.01

/* A replay may differ from the measured runtime by this share of it without a notice. */
#define LULL_REPLAY_MISSES_MOST 0.05
/* Runs with up to so many operations (struct lull_ideal_result) are usually replayed to find that
 * difference, which takes a second. */
#define LULL_REPLAY_CHECK_MOST 1000000
/* Checks how far replays of a run can be believed: replays it on the network that its messages
 * show, and notes the runtime in its breakdown. A notice tells where this differs from the measured
 * runtime by more than LULL_REPLAY_MISSES_MOST, or why no replay can be had. Reads the run once
 * more; but does nothing where the run has no ideal runtime or the ideal network would save less
 * than that share, since a replay on a real network lies between the two. Where the reading of the
 * run has taken an excerpt that suffices, it is replayed instead of the run, and the breakdown has
 * the error of the runtime, too. All members of a team
 * call it together, of which the first has the breakdown. Fails only where the run cannot be read,
 * or a member has gone. With more than `most_operations` the run is not replayed, and a notice
 * says so. */
lull_status lull_measured_check(struct lull_run *run, bool is_first, uint64_t most_operations,
                                struct lull_notices *notices, struct lull_arena *arena,
                                struct lull_error *err);

/* ==== from the first member to all ============================================================ */

/* These functions give all members of a team what they need for replays that they simulate
 * together. All members call them. */

/* After lull_measured_gather and before lull_measured_conclude: gives members other than the first
 * the survey of the whole run, concluded. */
lull_status lull_measured_survey_to_all(struct lull_measured *measured,
                                        const struct lull_trace *trace, uint32_t application,
                                        struct lull_team *team, struct lull_error *err);

/* After lull_measured_conclude: gives members other than the first the network that the run shows,
 * with the nodes of the trace, and the threads that communicate (lull_run_callers). The first
 * passes its own; on the others both are set. */
lull_status lull_measured_network_to_all(const struct lull_trace *trace, uint32_t application,
                                         struct lull_team *team, struct lull_arena *arena,
                                         struct lull_network *network, const bool **callers,
                                         struct lull_error *err);

#endif
