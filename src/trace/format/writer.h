/* Receives a trace event by event and writes it in some format: for conversion, and for runs that
 * lull makes itself. Opened by the `writer_open` of a format (trace/format.h). */
#ifndef LULL_TRACE_FORMAT_WRITER_H
#define LULL_TRACE_FORMAT_WRITER_H

#include "trace/scan.h"

struct lull_writer {
    void *state;
    /* It wants the blocks over all locations in time order. Otherwise those of one location are in
     * time order, and different locations in any interleaving. */
    bool global_order;
    lull_status (*block)(void *state, const struct lull_block *block, struct lull_error *err);
    /* Ends the writing and frees the state, in success and failure. `commit` false: the output is
     * dropped. Nothing appears under the final name before a successful commit. */
    lull_status (*close)(void *state, bool commit, struct lull_error *err);
};

#endif
