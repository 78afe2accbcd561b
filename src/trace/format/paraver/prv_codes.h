/* SPDX-License-Identifier: BSD-3-Clause */
/* How the definitions of any trace are named in a .prv: a region is a type and a value, a counter a
 * type, a state a number. Internal to the Paraver format. */
#ifndef LULL_TRACE_FORMAT_PARAVER_PRV_CODES_H
#define LULL_TRACE_FORMAT_PARAVER_PRV_CODES_H

#include "trace/format/paraver/prv_types.h"

struct lull_prv_code {
    uint64_t type, value;
    bool nests;  /* a reader stacks the values of the type (lull_prv_type.nests) */
    bool used;   /* the .pcf must name it */
    bool called; /* the .pcf must name its call site */
};

struct lull_prv_codes {
    /* [2 * n_regions]: first each region's usual code; then the one for its visits inside another
     * region of a type that does not stack. */
    struct lull_prv_code *regions;
    struct lull_prv_code *counters; /* value unused */
    struct lull_prv_code *markers;
    uint32_t *states;    /* number per state of the trace */
    uint64_t *comms;     /* id per communicator; 0: Paraver cannot express it */
    uint32_t *tasks;     /* number per process, from 1, without gaps in its application */
    uint32_t *cpus;      /* number per location, from 1 */
    uint32_t *nodes;     /* number per process, from 1 */
    uint32_t n_nodes;    /* nodes that have a process */
    uint32_t *node_of;   /* [n_nodes]: index into trace->nodes or LULL_NONE */
    uint32_t *node_cpus; /* [n_nodes]: how many threads run there */
};

/* Makes the codes of a trace; they live in `arena`. */
struct lull_prv_codes *lull_prv_codes_make(const struct lull_trace *trace,
                                           struct lull_arena *arena);

/* The state that stands for an activity when a trace has none of its own. */
uint32_t lull_prv_state_of(uint8_t activity);

/* Write the first line and the communicators of the .prv, the .pcf with the types that were used,
 * and the .row. */
void lull_prv_write_header(const struct lull_trace *trace, const struct lull_prv_codes *codes,
                           int64_t duration, void (*put)(void *out, const char *text), void *out);
lull_status lull_prv_write_pcf(const struct lull_trace *trace, const struct lull_prv_codes *codes,
                               const char *path, struct lull_error *err);
lull_status lull_prv_write_row(const struct lull_trace *trace, const struct lull_prv_codes *codes,
                               const char *path, struct lull_error *err);

#endif
