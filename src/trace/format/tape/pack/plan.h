/* Which blocks a file is divided into. */
#ifndef LULL_TRACE_FORMAT_TAPE_PACK_PLAN_H
#define LULL_TRACE_FORMAT_TAPE_PACK_PLAN_H

#include "trace/format/tape/read/source.h"

struct pack_part {
    uint64_t origin;
    uint32_t length;
    uint16_t lead; /* slots of records that belong to a record that began in another block */
    bool records;
};

/* Of a file: parts that are no records, then chunks of records, either in the order of origins. */
struct pack_plan {
    struct pack_part *parts; /* malloc'd */
    size_t n, capacity;
    size_t n_plain;
};

/* Of a file on disk that is open in `source`. Chunks are those that the trace knows of; where these
 * make no sense the file is divided without them. */
lull_status lull_pack_plan(const struct lull_trace *trace, struct lull_tape_source *source,
                           const struct lull_tape_node_file *file, struct pack_plan *ret_plan,
                           struct lull_error *err);

#endif
