/* Archives that several processes open together (trace/exchange.h): the first reads the global
 * definitions and tells them to all, and each looks at the files of some locations, neighbours by
 * number. Alone, a process does all of that. Internal to the OTF2 format. */
#ifndef LULL_TRACE_FORMAT_OTF2_READ_SHARE_H
#define LULL_TRACE_FORMAT_OTF2_READ_SHARE_H

#include "trace/format/otf2/read/definitions.h"

/* lull_otf2_collect by the first, for all. `reader` is not used on others. */
lull_status lull_otf2_share_definitions(const struct lull_trace *trace,
                                        struct lull_otf2_definitions *definitions,
                                        OTF2_Reader *reader, struct lull_error *err);

/* The locations whose files this process looks at: [*ret_first, *ret_end). */
void lull_otf2_share_range(const struct lull_trace *trace, uint32_t *ret_first, uint32_t *ret_end);

/* What processes have found in the files of locations. */
struct lull_otf2_found {
    bool local_definitions; /* some have definitions of their own */
    bool any;               /* first and last are times of events, in ticks */
    uint64_t first, last;
    uint32_t failed; /* the lowest location that failed, UINT32_MAX: none; as `status`, with ... */
    lull_status status;
    struct lull_error error; /* ... these words */
};

/* Adds what another one has found. */
void lull_otf2_found_add(struct lull_otf2_found *all, const struct lull_otf2_found *found);
/* From what this process has found to what all have. Fails where a location has. */
lull_status lull_otf2_share_found(const struct lull_trace *trace, struct lull_otf2_found *found,
                                  struct lull_error *err);

#endif
