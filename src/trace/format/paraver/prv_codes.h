/* How the definitions of any trace are called in a .prv: which type and value is a region, which
 * type a counter, which number a state; internal to the Paraver format. */
#ifndef LULL_TRACE_FORMAT_PARAVER_PRV_CODES_H
#define LULL_TRACE_FORMAT_PARAVER_PRV_CODES_H

#include "trace/format/paraver/prv_types.h"

struct lull_prv_code {
    uint64_t type, value;
    bool nests;  /* as the reader takes it */
    bool used;   /* goes into the .pcf */
    bool called; /* its site does */
};

struct lull_prv_codes {
    /* Per region, and once more for its visits inside another of a type that does not stack. */
    struct lull_prv_code *regions;
    struct lull_prv_code *counters; /* value unused */
    struct lull_prv_code *markers;
    uint32_t *states;    /* number per state of the trace */
    uint64_t *comms;     /* id per communicator; 0: Paraver cannot express it */
    uint32_t *tasks;     /* per process, from 1, without gaps in its application */
    uint32_t *cpus;      /* per location, from 1 */
    uint32_t *nodes;     /* per process, from 1 */
    uint32_t n_nodes;    /* that have a process */
    uint32_t *node_of;   /* [n_nodes]: index into trace->nodes or LULL_NONE */
    uint32_t *node_cpus; /* [n_nodes]: threads there */
};

/* Lives in `arena`. */
struct lull_prv_codes *lull_prv_codes_make(const struct lull_trace *trace,
                                           struct lull_arena *arena);

/* The state that stands for an activity when a trace has none of its own. */
uint32_t lull_prv_state_of(uint8_t activity);

/* The first line and the communicators; the .pcf, as far as types were used; the .row. */
void lull_prv_write_header(const struct lull_trace *trace, const struct lull_prv_codes *codes,
                           int64_t duration, void (*put)(void *out, const char *text), void *out);
lull_status lull_prv_write_pcf(const struct lull_trace *trace, const struct lull_prv_codes *codes,
                               const char *path, struct lull_error *err);
lull_status lull_prv_write_row(const struct lull_trace *trace, const struct lull_prv_codes *codes,
                               const char *path, struct lull_error *err);

#endif
