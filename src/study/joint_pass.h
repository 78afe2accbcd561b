/* SPDX-License-Identifier: BSD-3-Clause */
/* A joint pass: one reading of a run for all analyses that a command asks for. And its division:
 * how the members of a team open the run together, and which processes each of them reads. */
#ifndef LULL_STUDY_JOINT_PASS_H
#define LULL_STUDY_JOINT_PASS_H

#include "activity/pass.h"
#include "metrics/breakdown.h"
#include "replay/ideal/ideal.h"
#include "team/division.h"
#include "trace/trace.h"

/* ==== analyses ================================================================================ */

/* Who gets the messages that the ideal runtime matches (struct lull_ideal_options). */
struct lull_message_taker {
    void (*message)(void *context, unsigned worker, const struct lull_ideal_message *message);
    /* All that was told is void, and the messages are told again, from another reading. NULL: they
     * must be told once. */
    void (*again)(void *context);
    void *context;
};

/* The reading as it is set up. Analyses add their consumers and takers of messages, and may set of
 * the pass and of the ideal runtime what nobody else needs: marks, visits. */
struct lull_joint_pass {
    const struct lull_trace *trace;
    const struct lull_reading *reading;
    unsigned workers; /* that the pass has */
    struct lull_pass_options pass;
    struct lull_ideal_options ideal;
    bool
        has_messages; /* somebody matches messages and tells them: the ideal runtime is asked for */
    bool is_first;    /* this process is the first member of its team, or reads alone */
    struct lull_arena *arena;
    struct lull_consumer *consumers; /* [n_consumers] */
    uint32_t n_consumers;
    size_t capacity;
    struct lull_message_taker *takers; /* [n_takers] */
    uint32_t n_takers;
    size_t takers_capacity;
};

void lull_joint_pass_add(struct lull_joint_pass *joint, struct lull_consumer consumer);
void lull_joint_pass_add_messages(struct lull_joint_pass *joint, struct lull_message_taker taker);

/* An analysis: one result that a reading can be asked for, as a constant. All members of a team
 * call its functions, in this order: each function of all analyses, before the next function of any.
 * Those that are NULL have nothing to do. */
struct lull_analysis {
    size_t size; /* of its state, which begins as zeros */
    /* The ideal runtime must be asked for, too: the analysis lives on its messages. */
    bool needs_ideal;
    /* Before the run is read. `options` are those of the analysis. `announce` sets what other analyses
     * may want to know when they are created. `join` comes when all have been created, and may rest on
     * what they have asked of the joint pass. */
    void (*announce)(const void *options, struct lull_joint_pass *joint);
    lull_status (*create)(void *state, const void *options, struct lull_joint_pass *joint,
                          struct lull_error *err);
    lull_status (*join)(void *state, struct lull_joint_pass *joint, struct lull_error *err);
    /* After a reading that went well: the first member gets what the others have. */
    lull_status (*gather)(void *state, const struct lull_joint_pass *joint, struct lull_error *err);
    /* Makes the result, which is part of the state, and frees what it came from. */
    lull_status (*conclude)(void *state, const struct lull_joint_pass *joint,
                            struct lull_error *err);
    /* At the end, whatever happened before: frees what the state still has. */
    void (*release)(void *state);
};

/* An analysis that is asked for. */
struct lull_asked {
    const struct lull_analysis *analysis;
    const void *options; /* lives until the reading is over */
    void *state;         /* NULL: the run was not read */
};

/* The state of an analysis that was asked for; NULL: it was not, or the run was not read. */
void *lull_asked_find(const struct lull_asked *asked, uint32_t n,
                      const struct lull_analysis *analysis);
void lull_asked_release(struct lull_asked *asked, uint32_t n);

/* Reads a trace that has events, in one pass, for all that is asked. The states live in `arena`; they
 * end with lull_asked_release, whether the reading fails or not. */
lull_status lull_joint_pass_run(const struct lull_trace *trace, const struct lull_reading *reading,
                                struct lull_asked *asked, uint32_t n, struct lull_arena *arena,
                                struct lull_error *err);

/* ---- analyses that several commands use ------------------------------------------------------ */

/* The analysis of a breakdown. Its options are lull_breakdown_options, without reading. The
 * breakdown lives in the arena of the pass; it is NULL on members other than the first. */
extern const struct lull_analysis lull_breakdown_analysis;
struct lull_breakdown_state {
    struct lull_breakdown_options options;
    struct lull_collector *collector;
    struct lull_breakdown *breakdown;
};

/* The analysis of the ideal runtime. Its options are lull_ideal_options, without reading. The pass
 * presumes that only the masters of processes communicate; if other threads do, too, a second pass
 * follows. Nothing is presumed if another analysis wants messages that are told once. */
extern const struct lull_analysis lull_ideal_analysis;
/* The options for a reading whose windows are the same for all processes. */
struct lull_ideal_options lull_ideal_options_of(const struct lull_reading *reading);
struct lull_ideal_state {
    struct lull_ideal_options options;
    struct lull_ideal *ideal;
    struct lull_ideal_result *result; /* in the arena of the pass */
};

/* ==== a run that a team reads ================================================================= */

/* Opens a run on all members of a team (NULL: in this process alone). Fails on all where one of
 * them does not see the run or sees another one. */
lull_status lull_division_open(struct lull_team *team, const char *path,
                               struct lull_trace **ret_trace, struct lull_error *err);
/* Divides the processes of an application (LULL_NONE: of all) among the members of a team. Each
 * member gets neighbouring processes, and whole nodes where there are at least as many nodes as
 * members, so that members have about the same number of threads. Where the events of the run are
 * one sequence (trace/scan.h), the first member reads them and passes them on to all others, as
 * long as `arena` lives. *ret_division is NULL for a team of one. */
lull_status lull_division_of_run(struct lull_team *team, const struct lull_trace *trace,
                                 uint32_t application, struct lull_arena *arena,
                                 struct lull_division **ret_division, struct lull_error *err);
/* After the members have read a run: gives the quirks that they met to the first. Fails where no
 * member has read any location without damage. */
lull_status lull_division_gather_quirks(const struct lull_division *division,
                                        const struct lull_trace *trace, struct lull_error *err);

#endif
