/* SPDX-License-Identifier: BSD-3-Clause */
/* What if: a replay in which computations take another time than they took in the run.
 *
 * A burst is a stretch of computation of a thread (struct lull_replay_burst). An epoch is
 * the part of a run between two collective operations in which all processes wait for all. An
 * execution is what the threads of a process do in an outermost OpenMP parallel region of its
 * master, from fork to join.
 *
 * The kinds of what-ifs, in the order in which they apply:
 * - Threads: an execution (of one parallel region, where one is named) becomes shorter by the time
 *   by which the last of its threads would come earlier to its barriers; it never becomes longer.
 *   Balanced: from barrier to barrier each thread computes for the mean time of all of them. No
 *   locks: no thread waits for a lock, for a critical section, or for its turn in an ordered one.
 *   No scheduling: to begin an execution, and to get iterations of a loop, takes no time.
 * - No serial part: what the master computes outside parallel regions (in the region, where one is
 *   named) takes 1/t of its time, where the process has t threads for computing.
 * - Without noise: no burst is longer than the median of the bursts at its place. Bursts have the
 *   same place if they have the same thread, the same region and the same number in their epoch;
 *   as a rule they are the same computation in different iterations.
 * - A factor for regions: time inside a named region is multiplied by its factor; where named
 *   regions are nested, the innermost counts.
 * - Cut: what a process computes in an epoch (in the region, where one is named) takes no longer
 *   than the median of its peers. Peers are the processes that compute there and that the cut does
 *   not mean; where the cut means all processes, they are peers of each other. Where peers have as
 *   many bursts in that epoch, each burst loses in proportion to how much longer it is than the
 *   median of theirs; else the longest bursts lose, until they all have one length. With a share
 *   below 1 it loses that share of what it takes longer than the median: so does a function of which
 *   samples tell that it has this share. Where several cuts mean a burst, the shortest result counts.
 * - Balanced: in each epoch each process that computes (in the region, where one is named) computes
 *   as long as these processes do on average. The total stays the same, but for rounding to ns.
 * - A share S of balance, or of what threads or a serial part lose, goes so much of the way: of a serial
 *   part of t threads it leaves 1 - S (1 - 1/t), of a wait for a lock 1 - S; a process or thread that
 *   takes x where the mean is m takes x + S (m - x).
 * - Devices: their kernels are multiplied by a factor, copies take no time, launches have no latency
 *   (what_if/devices.h). This changes no computation of a thread, but the operations of device streams.
 * - Eager: every send goes on at once, as if it were buffered, also a synchronous one. This changes
 *   no length of a computation, but the operations of the program.
 *
 * Threads, noise, cuts and balance must learn from the whole run before they can apply. The first
 * of those that are wanted learns in a pass that other analyses may share (lull_what_if_consumer),
 * or in a pass of its own; each further one needs a pass more. If threads beside the masters
 * communicate, or if the clocks of processes contradict each other, the streams of the replay are
 * known only after the first pass. Then noise, cuts and balance forget what they learned in it, and
 * learn from the operations of the program instead.
 *
 * Memory: for balance 8 bytes for each epoch of each process; for each cut 24 bytes for each epoch
 * of each process, and up to 1 MiB for each process; without noise up to 600 bytes for each place
 * of each process; for threads 8 bytes for each execution. */
#ifndef LULL_REPLAY_WHAT_IF_WHAT_IF_H
#define LULL_REPLAY_WHAT_IF_WHAT_IF_H

#include "replay/replay.h"
#include "replay/what_if/devices.h"
#include "team/team.h"

#include <math.h>

/* ==== what if ================================================================================= */

#define LULL_WHAT_IF_REGIONS 254
#define LULL_WHAT_IF_CUTS    64
#define LULL_WHAT_IF_THREADS 64

/* Shares are what is gone of what is lost, above 0 and at most 1; 0 stands for all of it. */

/* Whose computations are cut to the median of their peers. A rank of LULL_NONE, a node of NULL or a
 * region of NULL is no limit; with all three the cut means every computation. */
struct lull_what_if_cut {
    uint32_t rank;      /* as in struct lull_process; not together with a node */
    const char *node;   /* means all processes on this node */
    const char *region; /* a region of the user */
    double share;       /* of what they take longer than the median */
};

/* What is supposed of the threads of a process. */
enum lull_threads_change {
    LULL_THREADS_BALANCED,
    LULL_THREADS_NO_LOCKS,
    LULL_THREADS_NO_SCHEDULING,
    LULL_THREADS_NO_SERIAL,
    LULL_THREADS_CHANGES
};

struct lull_what_if_threads {
    uint8_t change;     /* enum lull_threads_change */
    const char *region; /* a parallel region; with NO_SERIAL one of the user; NULL: all */
    double share;
};

struct lull_what_if_options {
    uint32_t application;
    bool eager; /* no send waits for its receive, synchronous ones neither */
    bool no_noise;
    bool balance;
    const char *balanced; /* region; NULL: all of the time */
    double balance_share;
    uint32_t n_regions;
    const char *regions[LULL_WHAT_IF_REGIONS];
    double factors[LULL_WHAT_IF_REGIONS]; /* > 0 */
    uint32_t n_cuts;
    struct lull_what_if_cut cuts[LULL_WHAT_IF_CUTS];
    uint32_t n_threads;
    struct lull_what_if_threads threads[LULL_WHAT_IF_THREADS];
    struct lull_what_if_devices devices;
};

/* Whether anything is supposed. */
bool lull_what_if_supposes(const struct lull_what_if_options *options);

/* The options of lull replay that suppose the same, as words of a command line: "--median",
 * "rank=7,region=solve". *ret_words and the words live in `arena`; returns how many there are. */
uint32_t lull_what_if_spell(const struct lull_what_if_options *options, struct lull_arena *arena,
                            const char ***ret_words);

/* Reads a factor; false: the text is not a number above 0 and at most 10^6. */
bool lull_factor_read(const char *text, double *ret_factor);
/* Adds regions and factors from texts "NAME=FACTOR". `texts` ends with NULL, or is NULL. Fails with
 * LULL_ERR_RANGE and a text that begins with --region. */
lull_status lull_what_if_regions_read(char *const *texts, struct lull_arena *arena,
                                      struct lull_what_if_options *options, struct lull_error *err);

/* Adds cuts from texts "rank=N", "node=NAME", "region=NAME", one of the first two with a region
 * behind it and a comma between them, or "all"; behind a rank or node, before a region, there may be
 * "share=S" with 0 < S <= 1. `texts` ends with NULL, or is NULL. Fails with
 * LULL_ERR_RANGE and a text that begins with --median. */
lull_status lull_what_if_cuts_read(char *const *texts, struct lull_arena *arena,
                                   struct lull_what_if_options *options, struct lull_error *err);

/* Reads how far something is supposed: "NAME" (a region, or what else the option names), "share=S", or
 * "share=S,region=NAME"; NULL: everywhere, all of it. *ret_region is NULL where none is named, *ret_share
 * 0 where none is. `option` is "--balance". Fails with LULL_ERR_RANGE and a text that begins with it. */
lull_status lull_what_if_extent_read(const char *text, const char *option, struct lull_arena *arena,
                                     const char **ret_region, double *ret_share,
                                     struct lull_error *err);

/* Puts options into a flow to other members of a team, and gets them there (team/team.h). What is
 * got lives in `arena`. False: the flow has failed. */
bool lull_what_if_put(const struct lull_what_if_options *options, struct lull_flow *flow);
bool lull_what_if_get(struct lull_what_if_options *options, struct lull_arena *arena,
                      struct lull_flow *flow);

struct lull_what_if;

/* What one member of a team has of the run, where the team learns together: the bursts of some
 * processes. The member can tell the new lengths of these bursts only. */
struct lull_what_if_part {
    struct lull_team *team;
    struct lull_process_range range; /* trace/scan.h */
};

/* Fails with LULL_ERR_RANGE on a region, rank or node that does not exist, on a cut that leaves no
 * peers, on threads of a run without OpenMP, and on more different treatments than marks. The trace
 * and *wanted must live until lull_what_if_destroy. `part` NULL: this process has all bursts. */
lull_status lull_what_if_create(const struct lull_trace *trace,
                                const struct lull_what_if_options *wanted,
                                const struct lull_what_if_part *part,
                                struct lull_what_if **ret_what_if, struct lull_error *err);

/* Whether there is something to learn. If so, lull_what_if_consumer may take part in a pass over
 * the whole run; the pass must have these marks (activity/reading.h), and must read all threads if
 * lull_what_if_needs_all says so. */
bool lull_what_if_learns(const struct lull_what_if *what_if);
bool lull_what_if_needs_all(const struct lull_what_if *what_if);
const uint8_t *lull_what_if_marks(const struct lull_what_if *what_if);
lull_status lull_what_if_consumer(struct lull_what_if *what_if, struct lull_consumer *ret_consumer,
                                  struct lull_error *err);

/* Learns what is not known yet, and sets pieces, marks, length, context and eager_sends of
 * *options. The other members of *options must be those of the replay to come, and its range that
 * of the part. All members of a team call this together, with a survey of the whole run in
 * *options; where it fails on one of them, it fails on all. */
lull_status lull_what_if_conclude(struct lull_what_if *what_if, struct lull_replay_options *options,
                                  struct lull_error *err);

/* To be called before a replay with these options is rewound. */
void lull_what_if_rewind(struct lull_what_if *what_if);
/* Sets how many threads its own passes have; without this call, as many as there are processors. */
void lull_what_if_limit(struct lull_what_if *what_if, unsigned workers);
void lull_what_if_destroy(struct lull_what_if *what_if); /* NULL is allowed */

/* ==== treatments ============================================================================== */

/* Treatments: what is supposed of the time in a region. Regions of one treatment have the same mark
 * (replay/replay.h); time counts to the innermost region that has one. */

struct lull_treatment {
    double factor;
    uint64_t cuts; /* bit i: of the cut i */
    double serial; /* the share that lull_kind_serial divides; 0: it does not apply */
    bool balanced; /* lull_kind_balance applies */
};
static_assert(LULL_WHAT_IF_CUTS <= 64, "a cut is a bit of a treatment");

struct lull_treatments {
    uint8_t *marks;                        /* [n_regions] */
    struct lull_treatment treatments[256]; /* by mark; [0]: of what is in no region that is named */
    uint32_t count;
};

/* A share that options have: 0 stands for 1. */
static inline double lull_share_of(double share)
{
    return share > 0 ? share : 1;
}

/* Whether a name means a region: its own, or with its place, "exchange (heat.c:120)". */
bool lull_region_is_named(const char *name, const struct lull_region *region);

/* ==== kind ==================================================================================== */

/* Kinds of what-ifs: one constant struct each; what_if.c lists them in the order in which they
 * apply. */

/* What all kinds of one what-if know. */
struct lull_what_if_scene {
    const struct lull_trace *trace;
    const struct lull_what_if_options *wanted;
    const struct lull_treatments *treatments;
    uint32_t n_streams;            /* lull_replay_most_streams */
    struct lull_what_if_part part; /* only bursts of these processes are told to kinds */
};

/* A kind is told the bursts of each stream in order; bursts of different streams may be told at the
 * same time, so that a kind keeps its state for each stream apart and locks nothing. Bursts that
 * are fixed are not told. */
struct lull_what_if_kind {
    bool (*is_wanted)(const struct lull_what_if_options *wanted);
    void *(*create)(const struct lull_what_if_scene *scene); /* NULL: no memory */
    void (*destroy)(void *state);

    /* A kind that must learn first has one of these two. `learn` takes each burst, with the length
     * `ns` that the kinds before it have given it; false: no memory. `consumer` reads the steps of
     * all threads. Both are NULL if there is nothing to learn. */
    bool (*learn)(void *state, const struct lull_replay_burst *burst, int64_t ns);
    struct lull_consumer (*consumer)(void *state);
    /* Ends the learning; called by all members of a team together. A member that fails need not
     * tell the others: the caller does. May be NULL. */
    lull_status (*conclude)(void *state, struct lull_error *err);
    void (*forget)(void *state); /* forgets all that `learn` took: the replay has other bursts */

    int64_t (*apply)(void *state, const struct lull_replay_burst *burst, int64_t ns);
    void (*rewind)(void *state); /* the first burst of each stream comes next; may be NULL */
};

lull_status lull_what_if_no_memory(const struct lull_trace *trace, struct lull_error *err);

extern const struct lull_what_if_kind lull_kind_threads, lull_kind_serial, lull_kind_noise,
    lull_kind_factors, lull_kind_cuts, lull_kind_balance;

/* Bursts that are stretched together. Not each length is rounded but their sum, so that rounding
 * errors do not add up. */
struct lull_stretched {
    int64_t before, after; /* ns: the sum of the bursts so far, as they were and stretched */
};

/* Returns the stretched length of the next burst, where the bursts together are to take top /
 * bottom of their time. */
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
