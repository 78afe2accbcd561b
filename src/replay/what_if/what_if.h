/* What if: other lengths for the computations of a replay.
 *
 * An epoch is what lies between two collective operations in which all processes wait for all. An
 * execution is what the threads of a process do in an OpenMP parallel region, the outermost of its
 * master, from fork to join.
 *
 * - Threads: each execution (of one parallel region, where it is named) becomes as much shorter as
 * its threads would come earlier to its barriers, never longer. Balanced: from barrier to barrier
 * each thread computes for the mean time of all of them. No locks: nobody waits for a lock, a
 * critical section, or for his turn where it is ordered. No scheduling: to begin and to get
 * iterations takes no time.
 * - No serial part: what the master computes outside parallel regions (in the region, where one is
 * named) takes 1/t of its time, where the process has t threads for computing.
 * - Without noise: no burst is longer than the median of the bursts at its place, that is of the
 * same thread and region with the same number since the last collective operation in which all
 * processes wait for all (the same burst of another iteration).
 * - A factor for regions: time inside (of the innermost of those named) is multiplied by it.
 * - Cut: what a process computes in an epoch (in the region, where one is named) takes no longer
 * than the median of its peers: the processes that compute there and are not meant themselves, or,
 * where all are meant, all of them. Where peers have as many bursts in that epoch, each burst loses
 * in proportion to how much longer than the median of theirs it is; else the longest lose, down to
 * one length. Where several cuts mean a burst, the shortest result counts.
 * - Balanced: in each epoch each process that computes (in the region, where one is named) computes
 * as long as they all do on average. The total stays the same, but for rounding to ns.
 * - Eager: every send goes on at once, as if it were buffered, also a synchronous one. That is no
 * length of a computation, but a property of the program's operations.
 *
 * They apply in this order. All but factors, serial parts and eager sends learn of the whole run
 * first: in a pass in which other analyses may take part (lull_what_if_consumer), or else in one of
 * their own; where several are wanted, each but the first needs a pass more. If threads beside the
 * masters communicate, or the clocks of processes contradict each other, the streams of the replay
 * are known behind the first pass only, and the program is read instead. Memory: with balancing 8
 * bytes for each epoch of each process; with each cut 24 bytes, and up to 1 MiB for each process;
 * without noise up to 600 bytes for each place of each process; with threads 8 bytes for each
 * execution of a parallel region. */
#ifndef LULL_REPLAY_WHAT_IF_WHAT_IF_H
#define LULL_REPLAY_WHAT_IF_WHAT_IF_H

#include "replay/replay.h"
#include "team/team.h"

#include <math.h>

/* ==== what if ================================================================================= */

#define LULL_WHAT_IF_REGIONS 254
#define LULL_WHAT_IF_CUTS    64
#define LULL_WHAT_IF_THREADS 64

/* Whose computations are cut to the median of their peers; what is LULL_NONE or NULL is no limit.
 */
struct lull_what_if_cut {
    uint32_t rank;      /* struct lull_process; not with a node */
    const char *node;   /* all processes of it */
    const char *region; /* of the user */
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
};

struct lull_what_if_options {
    uint32_t application;
    bool eager; /* no send waits for its receive, synchronous ones neither */
    bool no_noise;
    bool balance;
    const char *balanced; /* region; NULL: all of the time */
    uint32_t n_regions;
    const char *regions[LULL_WHAT_IF_REGIONS];
    double factors[LULL_WHAT_IF_REGIONS]; /* > 0 */
    uint32_t n_cuts;
    struct lull_what_if_cut cuts[LULL_WHAT_IF_CUTS];
    uint32_t n_threads;
    struct lull_what_if_threads threads[LULL_WHAT_IF_THREADS];
};

/* Whether anything is supposed. */
bool lull_what_if_supposes(const struct lull_what_if_options *options);

/* The options of lull replay that suppose the same, as words of a command line: "--median",
 * "rank=7,region=solve". *ret_words and the words live in `arena`; returns how many there are. */
uint32_t lull_what_if_spell(const struct lull_what_if_options *options, struct lull_arena *arena,
                            const char ***ret_words);

/* A number above 0 and at most 10^6. */
bool lull_factor_read(const char *text, double *ret_factor);
/* "NAME=FACTOR" each, NULL at the end, or NULL: sets regions and factors. Fails with
 * LULL_ERR_RANGE and a text that begins with --region. */
lull_status lull_what_if_regions_read(char *const *texts, struct lull_arena *arena,
                                      struct lull_what_if_options *options, struct lull_error *err);

/* "rank=N", "node=NAME", "region=NAME", both separated by a comma with the region last, or "all"
 * each, NULL at the end, or NULL: sets cuts. Fails with LULL_ERR_RANGE and a text that begins
 * with --median. */
lull_status lull_what_if_cuts_read(char *const *texts, struct lull_arena *arena,
                                   struct lull_what_if_options *options, struct lull_error *err);

/* From one process to others (team/team.h); what is got lives in `arena`. */
bool lull_what_if_put(const struct lull_what_if_options *options, struct lull_flow *flow);
bool lull_what_if_get(struct lull_what_if_options *options, struct lull_arena *arena,
                      struct lull_flow *flow);

struct lull_what_if;

/* Of a team that learns together: each member has the bursts of some processes, and can say the
 * lengths of these. */
struct lull_what_if_part {
    struct lull_team *team;
    struct lull_process_range range; /* trace/scan.h */
};

/* LULL_ERR_RANGE: a region, rank or node that does not exist, a cut of one that has no peers, or
 * threads of a run in which no OpenMP was recorded. Trace and *wanted must live as long, until
 * lull_what_if_destroy. `part` NULL: this process knows of all. */
lull_status lull_what_if_create(const struct lull_trace *trace,
                                const struct lull_what_if_options *wanted,
                                const struct lull_what_if_part *part,
                                struct lull_what_if **ret_what_if, struct lull_error *err);

/* Whether there is something to learn; if so, a pass over the whole run may hold this consumer. It
 * needs these marks (activity/reading.h). */
bool lull_what_if_learns(const struct lull_what_if *what_if);
bool lull_what_if_needs_all(const struct lull_what_if *what_if); /* threads, not masters alone */
const uint8_t *lull_what_if_marks(const struct lull_what_if *what_if);
lull_status lull_what_if_consumer(struct lull_what_if *what_if, struct lull_consumer *ret_consumer,
                                  struct lull_error *err);

/* Sets pieces, marks, length and context of *options, whose other members are those of the replay
 * to come, its range that of the part; learns what is not known yet. All members of a team call it
 * together, with a survey of the whole run, and where one of them fails, it fails on all. */
lull_status lull_what_if_conclude(struct lull_what_if *what_if, struct lull_replay_options *options,
                                  struct lull_error *err);

/* A replay may be rewound only after this. */
void lull_what_if_rewind(struct lull_what_if *what_if);
/* How many threads its own passes have; before that, as many as there are processors. */
void lull_what_if_limit(struct lull_what_if *what_if, unsigned workers);
void lull_what_if_destroy(struct lull_what_if *what_if); /* NULL is allowed */

/* ==== treatments ============================================================================== */

/* Treatments: what is supposed of the time in a region. Regions of one treatment have the same mark
 * (replay/replay.h); time counts to the innermost region that has one. */

struct lull_treatment {
    double factor;
    uint64_t cuts; /* bit i: of the cut i */
    bool balanced, serial;
};
static_assert(LULL_WHAT_IF_CUTS <= 64, "a cut is a bit of a treatment");

struct lull_treatments {
    uint8_t *marks;                        /* [n_regions] */
    struct lull_treatment treatments[256]; /* by mark; [0]: of what is in no region that is named */
    uint32_t count;
};

/* Whether a name means a region: its own, or with its place, "exchange (heat.c:120)". */
bool lull_region_is_named(const char *name, const struct lull_region *region);

/* ==== kind ==================================================================================== */

/* Kinds of what-ifs: one constant struct each, in a file of its own; what_if.c has them in the
 * order in which they apply. */

/* What all kinds of one what-if know. */
struct lull_what_if_scene {
    const struct lull_trace *trace;
    const struct lull_what_if_options *wanted;
    const struct lull_treatments *treatments;
    uint32_t n_streams;            /* at most */
    struct lull_what_if_part part; /* whose bursts are told */
};

/* Streams are told side by side, the bursts of each in order; fixed ones are not. A state is kept
 * for each stream, so that nothing is locked. */
struct lull_what_if_kind {
    bool (*is_wanted)(const struct lull_what_if_options *wanted);
    void *(*create)(const struct lull_what_if_scene *scene); /* NULL: no memory */
    void (*destroy)(void *state);

    /* What it has to learn first is in the bursts, as long as the kinds before it make them; false:
     * no memory. Or in the steps of all threads, for a consumer. Both NULL: nothing. */
    bool (*learn)(void *state, const struct lull_replay_burst *burst, int64_t ns);
    struct lull_consumer (*consumer)(void *state);
    /* Behind all of that, by all members of a team together: where one of them fails, the others
     * are told. May be NULL. */
    lull_status (*conclude)(void *state, struct lull_error *err);
    void (*forget)(void *state); /* what was learned of bursts, which were others */

    int64_t (*apply)(void *state, const struct lull_replay_burst *burst, int64_t ns);
    void (*rewind)(void *state); /* the first bursts come next; NULL: it does not matter */
};

lull_status lull_what_if_no_memory(const struct lull_trace *trace, struct lull_error *err);

extern const struct lull_what_if_kind lull_kind_threads, lull_kind_serial, lull_kind_noise,
    lull_kind_factors, lull_kind_cuts, lull_kind_balance;

/* Bursts that are stretched together: their sum is rounded, not each of them, so that it is what it
 * should be. */
struct lull_stretched {
    int64_t before, after;
};

/* The next burst, all of which take top / bottom of their time. */
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
