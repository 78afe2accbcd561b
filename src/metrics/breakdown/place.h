/* What the core keeps, shared by its hot part (breakdown_core.c) and by its making and taking
 * apart (breakdown_result.c). Internal to the room. */
#ifndef LULL_METRICS_BREAKDOWN_PLACE_H
#define LULL_METRICS_BREAKDOWN_PLACE_H

#include "metrics/breakdown/core.h"
#include "metrics/breakdown/executions.h"

#include <assert.h>

/* Activities of our own behind those of enum lull_activity. */
enum { DISABLED = LULL_ACTIVITIES, OUTSIDE, INHERIT, SLOT_ACTIVITIES = 16 };
static_assert(OUTSIDE < SLOT_ACTIVITIES, "slots hold an activity in 4 bits");
#define SLOT(activity, parallel) ((uint8_t)((parallel)*SLOT_ACTIVITIES + (activity)))
#define ACTIVITY_OF(slot)        ((slot) % SLOT_ACTIVITIES)

#define NEVER INT64_MAX

enum { NO_STATE = 0xff };

/* What a region does to its thread: the activity (or INHERIT) and whether it is parallel. */
struct region_code {
    uint8_t activity;
    uint8_t parallel;
};

struct frame {
    uint32_t region;
    struct region_code code;
    bool outermost;  /* no visit of the same region below; kept only for region sums */
    int64_t entered; /* `analysed` at entering */
};

struct region_sum {
    uint64_t visits;
    int64_t inclusive_ns, exclusive_ns, useful_ns;
};

struct place {
    int64_t now;
    int64_t limit; /* the earliest deadline: window_at, state_end, call_end, flush_end, cut_at */
    int64_t ns[SLOT_ACTIVITIES * 2];
    uint8_t slot;     /* where time goes now */
    uint8_t activity; /* that of the slot, inside or outside of windows */
    uint8_t last;     /* activity of the last length of time, for counters */
    bool plain;       /* the slot depends on the stack and the base alone */
    bool detail;      /* more than ns[] is kept: counters or region sums */
    bool quick;       /* plain, no detail: runs of regions may be taken in one go */
    uint8_t base;     /* activity below all regions */

    bool began, alive; /* has had an event; lives now */
    bool off, inside;  /* measurement off; inside a window */
    bool failed;       /* no memory for parallel regions */
    uint8_t state;     /* activity of the STATE, NO_STATE in gaps */
    uint8_t kind, role;
    int64_t window_at, state_end, call_end, flush_end;
    int64_t cut_at;  /* when a worker's span is cut into pieces next */
    uint32_t window; /* index of the current or next one */
    uint32_t parallel_depth, team_depth;
    uint32_t depth, capacity;
    struct frame *stack;
    const struct region_code *codes; /* [n_regions] */
    int64_t analysed;                /* clock of the time inside windows, for inclusive times */
    struct region_sum *sums;         /* of the worker that reads this location now; NULL: none */

    struct lull_executions *executions; /* of its process; NULL for a device stream */
    uint32_t process, thread;           /* thread: index in the process; 0: master */
    uint32_t execution; /* the region that names the master's execution, or LULL_NONE */
    int64_t span_begin;
    int64_t handed_over[LULL_ACTIVITIES]; /* what spans held so far of the parallel slots */
    uint64_t *counters;                   /* [n_counters][LULL_ACTIVITIES] */
    int64_t *read_at; /* [n_counters]: the last reading, or the first event of the thread */
};

struct lull_core {
    const struct lull_trace *trace;
    const struct lull_windows *windows; /* NULL: the whole run */
    uint32_t application;
    struct region_code *codes[2];        /* [enum lull_location_kind][n_regions] */
    struct place **places;               /* [n_locations]; NULL: of another application */
    struct lull_executions **executions; /* [n_processes] */
    struct region_sum *sums;             /* [workers][n_regions] or NULL */
    unsigned workers;
    struct lull_interval whole;
    int64_t piece; /* most time in one piece of a worker's span */
};

/* After a change of anything but the stack of regions: deadline, base and slot. */
void lull_place_refresh(const struct lull_core *core, struct place *place);

#endif
