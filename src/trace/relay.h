/* Several processes read a run whose events are one sequence (Paraver): the first walks the file,
 * and each gets the events of its processes, as if it had read them itself. How they reach each
 * other, the trace room does not know. */
#ifndef LULL_TRACE_RELAY_H
#define LULL_TRACE_RELAY_H

#include "trace/trace.h"

#include <stddef.h>

struct lull_relay {
    uint32_t index, size; /* of this process, of all; 0 is the first */
    void *context;
    /* Who has a process of the run. */
    uint32_t (*owner)(void *context, uint32_t process);
    /* A scan begins, or has ended, well or not: on all. */
    void (*begin)(void *context);
    void (*end)(void *context);
    /* By the first: bytes for another, which are copied, in their order. Waits where the other has
     * not taken what it has got before. */
    lull_status (*put)(void *context, uint32_t to, const void *bytes, size_t size,
                       struct lull_error *err);
    /* By the others: waits for what the first puts next. The bytes are aligned to 8 and live until
     * the next call. Both fail where another process has failed. */
    lull_status (*get)(void *context, const void **ret_bytes, size_t *ret_size,
                       struct lull_error *err);
};

/* From now on, a scan of a range of processes is one of all who share the relay, in the same order;
 * one of the whole run is still one's own. `relay` outlives the trace's scans. Nothing happens
 * where locations can be read one by one. */
void lull_trace_relay(const struct lull_trace *trace, const struct lull_relay *relay);
/* Whether the events of a trace are one sequence. */
bool lull_trace_is_sequence(const struct lull_trace *trace);

#endif
