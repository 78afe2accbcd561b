/* The interpreter: events of one location in, its ledger and steps out. Internal to the room.
 *
 * It is the only place in lull that knows what entering and leaving a region, a state, a team, a
 * pause or the tracer's flush does to a thread. Per location there is a clock that only goes
 * forward, and the slot (activity, inside or outside parallel regions) into which the time up to
 * the next event goes. An event moves the clock, then changes what decides the slot. Things that
 * end by themselves (states, calls, flushes, windows) are deadlines: the earliest is `limit`, and
 * the clock stops there on its way.
 *
 *   interpreter.c  what decides the slot, the clock, and the events one by one
 *   regions.c      the stack of regions, calls of MPI, parallel regions
 *   run.c          runs of events in one go: nearly all events of a trace
 *   detail.c       what is kept beside the ledger's times, and runs where somebody wants that
 *   emit.c         steps on their way to the consumers */
#ifndef LULL_ACTIVITY_INTERPRETER_H
#define LULL_ACTIVITY_INTERPRETER_H

#include "activity/pass.h"
#include "trace/scan.h"

enum { INHERIT = LULL_STEP_ACTIVITIES, NO_STATE = 0xff };
#define ACTIVITY_OF(slot) ((slot) % LULL_SLOT_ACTIVITIES)

/* What a region does to its thread. */
struct region_code {
    uint8_t activity; /* enum lull_activity or INHERIT */
    uint8_t call;     /* enum lull_call */
    uint16_t special; /* enum special */
};

enum special {
    CALL_OF_MPI = 1, /* if the consumers want to know */
    VISITED = 2,     /* its visits are counted, for sums by region or for VISITs */
    PARALLEL = 4,    /* an OpenMP parallel region */
    TOLD = 8         /* its VISITs are wanted */
};

struct frame {
    uint32_t region;
    struct region_code code; /* activity: never INHERIT unless all below are */
    bool outermost;          /* no visit of the same region below ... */
    bool counted;            /* entered inside a window ... */
    int64_t entered;         /* lull_analysed at entering, and ... */
    int64_t time;            /* when; the last four are kept of VISITED regions only */
    uint32_t user;           /* innermost region of the user, and ... */
    uint8_t mark;            /* innermost mark: for SPANs and STRETCHes only */
};

/* Where the steps of one worker gather. Without consumers they stay there, and the array grows. */
struct lull_emitter {
    const struct lull_consumer *consumers;
    uint32_t n_consumers;
    unsigned worker;
    lull_status status; /* of the first failure; nothing is handed over after it */
    struct lull_error *err;
    struct lull_step *steps; /* malloc'd, of the owner */
    size_t count, capacity;
    /* [capacity], malloc'd, of the owner: the parallel_ns of the steps; NULL: nobody wants them */
    int64_t (*parallel_ns)[LULL_SLOT_ACTIVITIES];
};
enum { LULL_EMITTER_STEPS = 512 };

/* What the interpreters of a pass share. */
struct lull_interpretation {
    const struct lull_trace *trace;
    const struct lull_pass_options *options;
    uint32_t wants; /* kinds of steps that somebody wants */
    bool wants_ledger;
    uint64_t event_mask; /* kinds of events to be read for that */
    unsigned workers;
    struct lull_interval whole;
    struct region_code *codes[2]; /* [enum lull_location_kind][n_regions] */
    bool *user;                   /* [n_regions]: code of the user's */
    /* [thread, master][slot]: enum lull_stretch */
    uint8_t stretches[2][LULL_SLOT_ACTIVITIES * 2];
};

struct lull_interpreter {
    struct lull_ledger ledger; /* its `now` is the clock */
    const struct lull_interpretation *shared;
    uint32_t location, process;
    uint32_t thread; /* index in the process */
    bool master, cpu;
    int64_t limit; /* the earliest deadline: window_at, state_end, call_end, flush_end, tick_at */
    uint8_t slot;  /* where time goes now */
    uint8_t activity; /* that of the slot, inside or outside of windows */
    uint8_t last;     /* activity of the last length of time, for counters */
    bool plain;       /* the slot depends on the stack and the base alone */
    bool detail;      /* more than the ledger's ns[] is kept */
    bool quick;       /* plain and alive: runs of events may be taken in one go */
    uint8_t base;     /* activity below all regions */

    bool began, alive; /* has had an event; lives now */
    bool off, inside;  /* measurement off; inside a window */
    uint8_t state;     /* activity of the STATE, NO_STATE in gaps */
    uint8_t kind, role;
    int64_t window_at, state_end, call_end, flush_end;
    int64_t tick_at; /* the next TICK */
    uint32_t window; /* index of the current or next one */
    uint32_t parallel_depth, team_depth, mpi_depth;
    uint32_t call_region; /* of the outermost open call of MPI */
    int64_t call_began, call_kept;
    bool brief;    /* CALLs are wanted in place of CALL_BEGINs: of the call that is open ... */
    bool told;     /* ... an operation was a step ... */
    bool sends;    /* ... and there was a SEND or SEND_DONE */
    uint8_t posts; /* RECV_POSTs that were not told yet */
    uint32_t parallel_region; /* the first known since the FORK */
    uint32_t depth;
    size_t capacity;
    struct frame *stack;
    const struct region_code *codes; /* [n_regions] */
    int64_t *read_at; /* [n_counters]: the last reading, or the first event of the thread */
    struct lull_region_ledger *sums; /* of the worker that reads this location now; NULL: none */
    int64_t last_time;               /* of the last event */

    bool spans; /* SPANs are wanted */
    struct {
        int64_t begin;
        uint32_t region, user;
        uint8_t slot, mark;
    } span;                   /* the one that goes on */
    const uint8_t *stretches; /* [slot]: enum lull_stretch; NULL: STRETCHes are not wanted */
    struct {
        int64_t begin;
        uint32_t user;
        uint8_t kind, mark;
    } stretch; /* the one that goes on */
    struct lull_channels *channels;
    struct lull_emitter *out;
};

lull_status lull_interpretation_create(const struct lull_trace *trace,
                                       const struct lull_pass_options *options,
                                       const struct lull_consumer *consumers, uint32_t n_consumers,
                                       struct lull_interpretation **ret_shared,
                                       struct lull_error *err);
void lull_interpretation_destroy(struct lull_interpretation *shared); /* NULL is allowed */

lull_status lull_interpreter_create(const struct lull_interpretation *shared, uint32_t location,
                                    struct lull_interpreter **ret_interpreter,
                                    struct lull_error *err);
void lull_interpreter_destroy(struct lull_interpreter *it); /* NULL is allowed */

/* A block of the location's events; hands over what steps it makes to the emitter's consumers. */
lull_status lull_interpreter_block(struct lull_interpreter *it, const struct lull_event *events,
                                   uint32_t count, struct lull_emitter *out,
                                   struct lull_error *err);
/* The location has ended. */
lull_status lull_interpreter_end(struct lull_interpreter *it, struct lull_emitter *out,
                                 struct lull_error *err);

/* ---- emit.c -------------------------------------------------------------------------------- */

void lull_emit_make_room(struct lull_interpreter *it);

/* A new step, to be filled; valid until the next one. */
static inline struct lull_step *lull_emit(struct lull_interpreter *it, uint8_t kind, int64_t time,
                                          int64_t kept)
{
    struct lull_emitter *out = it->out;
    if (out->count == out->capacity)
        lull_emit_make_room(it);
    struct lull_step *step = &out->steps[out->count++];
    step->time = time;
    step->kept_ns = kept;
    step->kind = kind;
    step->op = step->activity = step->parallel = 0;
    step->region = step->comm = step->channel = LULL_NONE;
    return step;
}

void lull_emit_deliver(struct lull_interpreter *it); /* all steps so far */
/* An event of message passing as a step. */
void lull_emit_operation(struct lull_interpreter *it, const struct lull_event *event, int64_t kept);
void lull_emit_span(struct lull_interpreter *it); /* the one that goes on ends now */
void lull_emit_stretch(struct lull_interpreter *it);
void lull_emit_parallel(struct lull_interpreter *it, uint8_t kind);

/* The span and the stretch that go on end now. */
static inline void lull_emit_time(struct lull_interpreter *it)
{
    if (it->spans)
        lull_emit_span(it);
    if (it->stretches)
        lull_emit_stretch(it);
}

static inline bool lull_wants(const struct lull_interpreter *it, unsigned kind)
{
    return it->shared->wants >> kind & 1;
}

/* The kept time up to the clock; see step.h. */
static inline int64_t lull_kept(const struct lull_interpreter *it)
{
    const int64_t *ns = it->ledger.ns;
    int64_t waited = ns[LULL_SLOT(LULL_MPI_P2P, 0)] + ns[LULL_SLOT(LULL_MPI_COLLECTIVE, 0)] +
                     ns[LULL_SLOT(LULL_MPI_OTHER, 0)] + ns[LULL_SLOT(LULL_ACTIVITY_DISABLED, 0)] +
                     ns[LULL_SLOT(LULL_ACTIVITY_DISABLED, 1)] +
                     ns[LULL_SLOT(LULL_ACTIVITY_OUTSIDE, 0)] +
                     ns[LULL_SLOT(LULL_ACTIVITY_OUTSIDE, 1)];
    if (!it->master)
        waited += ns[LULL_SLOT(LULL_IDLE, 0)] + ns[LULL_SLOT(LULL_OTHER, 0)];
    return it->ledger.now - waited;
}

#endif
