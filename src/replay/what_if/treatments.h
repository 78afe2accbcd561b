/* Treatments: what is supposed of the time in a region. Regions of one treatment have the same mark
 * (replay/replay.h); time counts to the innermost region that has one. Internal to the room. */
#ifndef LULL_REPLAY_WHAT_IF_TREATMENTS_H
#define LULL_REPLAY_WHAT_IF_TREATMENTS_H

#include "replay/what_if/what_if.h"

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

/* The result lives in `arena`. LULL_ERR_RANGE: a region that does not exist, or too many of these.
 */
lull_status lull_treatments_find(const struct lull_trace *trace,
                                 const struct lull_what_if_options *wanted,
                                 struct lull_arena *arena, struct lull_treatments **ret_treatments,
                                 struct lull_error *err);

/* Whether all that is named in regions, ranks, nodes and threads is there. */
lull_status lull_what_if_check(const struct lull_trace *trace,
                               const struct lull_what_if_options *wanted, struct lull_error *err);

#endif
