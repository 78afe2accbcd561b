/* Several processes open a run together: each reads a part of what opening a run reads, and they
 * tell each other what they have found. Who they are and how they reach each other, the trace room
 * does not know. */
#ifndef LULL_TRACE_EXCHANGE_H
#define LULL_TRACE_EXCHANGE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct lull_exchange {
    uint32_t index, size; /* of this process, of all */
    void *context;
    /* All processes call it, in the same order, each with its own bytes, or with what it has failed
     * with. `sight` stands for what they see and is the same for all, or they see different runs.
     * Where one has failed, or sees another run than the first, all fail and exchange nothing any
     * more; else `take` is called for each process, in their order, with bytes that are aligned to
     * 8 and live until `all` returns, and its status is that of `all`. */
    lull_status (*all)(void *context, lull_status status, uint64_t sight, const void *bytes,
                       size_t size,
                       lull_status (*take)(void *context, uint32_t index, const void *bytes,
                                           size_t size, struct lull_error *err),
                       void *take_context, struct lull_error *err);
};

#endif
