/* SPDX-License-Identifier: BSD-3-Clause */
/* The interpreter: events of one location in, its ledger and steps out. Internal to the activity
 * room.
 *
 * It is the only place in lull that knows what entering and leaving a region, a state, a team, a
 * pause or the tracer's flush does to a thread. Each location has a clock that only goes forward,
 * and a slot (an activity, inside or outside of parallel regions) that gets the time up to the next
 * event. An event first moves the clock, then changes what decides the slot. Some things end
 * without an event: states, calls, flushes and windows. Their ends are deadlines. The earliest
 * deadline is `limit`, and the clock stops there on its way.
 *
 * interpreter.c turns events into times and steps, crew.c makes CREWs of some steps, emit.c hands
 * the steps to the consumers. Memory per location: a stack of its open regions, its channels, and,
 * where a consumer wants the ledger, LULL_ACTIVITIES + 1 words per counter. */
#ifndef LULL_ACTIVITY_INTERPRETER_H
#define LULL_ACTIVITY_INTERPRETER_H

#include "activity/reading.h"

enum { INHERIT = LULL_STEP_ACTIVITIES, NO_STATE = 0xff };
#define ACTIVITY_OF(slot) ((slot) % LULL_SLOT_ACTIVITIES)

/* What a region does to its thread. */
struct region_code {
    uint8_t activity; /* enum lull_activity or INHERIT */
    uint8_t call;     /* enum lull_call */
    uint16_t special; /* enum special */
};

/* Bits: how a region differs from one that is only entered and left. */
enum special {
    CALL_OF_MPI = 1, /* a call of MPI; set only where consumers want to know */
    VISITED = 2,     /* its visits are counted, for sums by region or for VISITs */
    PARALLEL = 4,    /* an OpenMP parallel region */
    TOLD = 8,        /* its VISITs are wanted */
    OF_CREW = 16,    /* threads wait for each other in it, or for it, and CREWs are wanted */
    TAKES = 64, /* locks are set or given back in it, and SAMPLEs are wanted; it is VISITED, too */
    COMPLETES = 32 /* requests complete in it, and the trace has those of collective operations */
};

/* An open region. */
struct frame {
    uint32_t region;
    struct region_code code; /* its activity is INHERIT only if that of all frames below is, too */
    /* The next four are kept for VISITED regions only. */
    bool outermost;  /* the same region is not open below */
    bool counted;    /* entered inside a window */
    int64_t entered; /* ns of analysed time (lull_analysed) when it was entered */
    int64_t time;    /* ns: when it was entered */
    /* The next three are kept for SPANs, STRETCHes, USERs and SAMPLEs only. */
    uint32_t user; /* innermost region of the user */
    uint8_t mark;  /* innermost mark */
    bool locked;   /* it is a critical or ordered section, or inside of one */
};

/* Where the steps of one worker gather until the consumers get them. Without consumers they stay
 * there, and the array grows. */
struct lull_emitter {
    const struct lull_consumer *consumers;
    uint32_t n_consumers;
    unsigned worker;
    lull_status status; /* of the first failure; nothing is handed over after it */
    struct lull_error *err;
    struct lull_step *steps; /* malloc'd; the owner of the emitter frees it */
    size_t count, capacity;
    uint64_t kinds; /* LULL_STEP_MASK of the kinds of the steps that wait to be handed over */
    /* [capacity], malloc'd, freed likewise: the parallel_ns of the steps; NULL: not wanted */
    int64_t (*parallel_ns)[LULL_SLOT_ACTIVITIES];
};
enum { LULL_EMITTER_STEPS = 512 };

/* What the interpreters of a pass share. */
struct lull_interpretation {
    const struct lull_trace *trace;
    const struct lull_pass_options *options;
    uint64_t wants; /* kinds of steps that somebody wants */
    bool wants_ledger;
    bool counts_locks;   /* of locks that are set by calls it is known when they are given back */
    bool decides_waits;  /* what completes in MPI_Wait and its like decides where its time goes */
    uint64_t event_mask; /* kinds of events to be read for that */
    unsigned workers;
    struct lull_interval whole;   /* the whole run, as the only window where none were given */
    struct region_code *codes[2]; /* [enum lull_location_kind][n_regions] */
    bool *user;                   /* [n_regions]: the region is code of the user's */
    bool *locks;                  /* [n_regions]: it is inside a critical or ordered section */
    /* Per slot an enum lull_stretch: [0] for threads, [1] for masters. */
    uint8_t stretches[2][LULL_SLOT_ACTIVITIES * 2];
};

/* A copy of the events of a call of which the next block will tell what it waits for. */
struct held {
    struct lull_event *events; /* malloc'd, as the values of their readings are */
    size_t count, capacity;
    bool has_readings;
};

struct lull_interpreter {
    struct lull_ledger ledger; /* its `now` is the clock */
    const struct lull_interpretation *shared;
    uint32_t location, process;
    uint32_t thread; /* index in the process */
    bool master, cpu;
    int64_t limit; /* the earliest deadline: window_at, state_end, call_end, flush_end, tick_at */
    uint8_t slot;  /* where time goes now */
    uint8_t activity; /* what the location does now; outside of windows the slot differs from it */
    uint8_t last;     /* activity of the time that passed last, for readings of counters */
    bool plain;       /* the slot depends on the stack and the base alone */
    bool detail;      /* more than the ledger's ns[] is kept */
    bool quick;       /* plain and alive: runs of events may be taken in one go */
    uint8_t base;     /* activity below all regions */

    bool began, alive; /* a thread has lived in it; one lives in it now */
    bool off, inside;  /* measurement is off; the clock is inside a window */
    bool summary;      /* a device stream whose operations are in its sums alone */
    uint8_t state;     /* activity of the STATE, NO_STATE in gaps */
    uint8_t kind, role;
    int64_t window_at, state_end, call_end, flush_end;
    int64_t tick_at; /* the next TICK */
    uint32_t window; /* index of the current or next one */
    uint32_t parallel_depth, team_depth, mpi_depth;
    uint32_t call_region; /* of the outermost open call of MPI */
    int64_t call_began, call_kept;
    bool brief;    /* CALLs are wanted in place of CALL_BEGINs. Only then the next three count: */
    bool told;     /* an operation of the open call became a step */
    bool sends;    /* the open call had a SEND or SEND_DONE */
    uint8_t posts; /* RECV_POSTs that no step has told yet */
    uint32_t parallel_region; /* the first parallel region that was known since the FORK */
    uint32_t depth;
    size_t capacity;
    struct frame *stack;
    const struct region_code *codes; /* [n_regions] */
    int64_t *read_at; /* [n_counters], ns: the last reading, or when the thread began */
    struct lull_region_ledger *sums; /* [n_regions], of the worker that reads this location now;
                                        NULL: not wanted */
    int64_t last_time;               /* of the last event */

    bool spans;      /* SPANs are wanted */
    bool users;      /* USERs are wanted */
    bool notes_user; /* frames know what is kept for SPANs */
    uint32_t locks;  /* that were set by calls and not given back; 0 where nobody counts them */
    struct {
        int64_t begin;
        uint32_t region, user;
        uint8_t slot, mark;
    } span;      /* the SPAN that goes on */
    bool phases; /* PHASEs are wanted */
    /* What the open call of a thread waits for, or the operation of the device stream. */
    struct reference {
        uint64_t number, bytes;
        uint32_t stream, call; /* stream: of an operation its sequence, as in the PHASE */
        int32_t peer;          /* of an operation, as in the PHASE */
        uint32_t serial; /* device stream: of the call, so that two that are alike are told apart */
    } refers;            /* for the next PHASE */
    struct {
        int64_t begin;
        struct reference refers;
        uint32_t region;
        uint8_t activity;
    } phase;                  /* the PHASE that goes on */
    const uint8_t *stretches; /* [slot]: enum lull_stretch; NULL: STRETCHes are not wanted */
    bool device_stretches;    /* they end at SUBMITs and DEVICE_WAITs */
    struct {
        int64_t begin;
        uint32_t user;
        uint8_t kind, mark;
    } stretch; /* the STRETCH that goes on */
    struct lull_channels *channels;
    struct crew_reading *crew; /* what is known of the thread for CREWs; NULL: none are wanted */
    struct lull_emitter *out;
    const struct lull_event *block_end; /* behind the last of the events that are taken now */
    struct held held;
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

/* Takes a block of the location's events, and hands the steps that it makes to the consumers. */
lull_status lull_interpreter_block(struct lull_interpreter *it, const struct lull_event *events,
                                   uint32_t count, struct lull_emitter *out,
                                   struct lull_error *err);
/* The location has ended: closes what is open, and makes the last steps. */
lull_status lull_interpreter_end(struct lull_interpreter *it, struct lull_emitter *out,
                                 struct lull_error *err);

/* ---- steps on their way to the consumers (emit.c) -------------------------------------------- */

void lull_emit_make_room(struct lull_interpreter *it);

/* A new step, to be filled; valid until the next one. */
static inline struct lull_step *lull_emit(struct lull_interpreter *it, uint8_t kind, int64_t time,
                                          int64_t kept)
{
    struct lull_emitter *out = it->out;
    if (out->count == out->capacity)
        lull_emit_make_room(it);
    struct lull_step *step = &out->steps[out->count++];
    out->kinds |= LULL_STEP_MASK(kind);
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
void lull_emit_span(struct lull_interpreter *it); /* the SPAN that goes on ends now */
void lull_emit_stretch(struct lull_interpreter *it);
void lull_emit_phase(struct lull_interpreter *it);
void lull_emit_parallel(struct lull_interpreter *it, uint8_t kind);

/* The SPAN, the STRETCH and the PHASE that go on end now. */
static inline void lull_emit_time(struct lull_interpreter *it)
{
    if (it->phases)
        lull_emit_phase(it);
    if (it->spans)
        lull_emit_span(it);
    if (it->stretches)
        lull_emit_stretch(it);
}

/* ---- crews (crew.c) -------------------------------------------------------------------------- */

struct crew_reading *lull_crew_reading_create(void); /* to be freed; NULL: no memory */
/* Whether a region is the inside of a critical or ordered section. */
bool lull_crew_locks_in(const struct lull_region *region);
/* Whether threads wait for each other in a region, or for one that is in it. */
bool lull_crew_meets_in(const struct lull_region *region);
/* Makes CREWs of a step; of a region that is OF_CREW and is left now. */
void lull_crew_step(struct lull_interpreter *it, struct lull_step step);
void lull_crew_visit(struct lull_interpreter *it, const struct frame *frame);

static inline bool lull_wants(const struct lull_interpreter *it, unsigned kind)
{
    return it->shared->wants >> kind & 1;
}

/* The kept time up to the clock; see activity/step.h. */
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
