/* Ledger: where the time of a location went, as sums that grow while it is read.
 *
 * A ledger is the sum of the SPANs of a location, kept where they arise: most analyses need no
 * single span, and handing over one per event would cost more than reading the events does. */
#ifndef LULL_ACTIVITY_LEDGER_H
#define LULL_ACTIVITY_LEDGER_H

#include "activity/step.h"

enum { LULL_SLOT_ACTIVITIES = 16 };
static_assert((int)LULL_STEP_ACTIVITIES <= (int)LULL_SLOT_ACTIVITIES,
              "slots hold an activity in 4 bits");
/* A slot: an activity (enum lull_activity, or one of those of step.h), outside (0) or inside (1)
 * OpenMP parallel regions. */
#define LULL_SLOT(activity, parallel) ((uint8_t)((parallel)*LULL_SLOT_ACTIVITIES + (activity)))

struct lull_ledger {
    int64_t now; /* the time up to which it is exact */
    int64_t ns[LULL_SLOT_ACTIVITIES * 2];
    struct lull_forked forked; /* the parallel region that is open now */
    /* [n_counters][LULL_ACTIVITIES]: what was counted inside the windows, by the activity of the
     * time that ends with the reading, modulo 2^64; NULL: the trace has no counters. */
    uint64_t *counters;
};

/* What belongs to one region, over locations. Times are inside the windows and not paused. */
struct lull_region_ledger {
    uint64_t visits;      /* entered inside a window */
    int64_t inclusive_ns; /* outermost visits only, so that recursion counts once */
    int64_t exclusive_ns; /* not in a region inside */
    int64_t useful_ns;    /* useful time directly inside */
};

#endif
