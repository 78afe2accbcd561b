/* SPDX-License-Identifier: BSD-3-Clause */
/* The records of a location that is being recorded while it is read; internal to the tape format. */
#ifndef LULL_TRACE_FORMAT_TAPE_READ_TAPE_LIVE_H
#define LULL_TRACE_FORMAT_TAPE_READ_TAPE_LIVE_H

#include "base/error.h"
#include "trace/format/tape/tape_data.h"

#include <stddef.h>
#include <stdint.h>

enum tape_live_state {
    TAPE_LIVE_MORE,    /* here are records */
    TAPE_LIVE_NOTHING, /* there are none yet */
    TAPE_LIVE_ENDED    /* there are none, and none will come */
};

/* Watches the processes of a trace that is opened live; false: no memory. */
bool lull_tape_lives_begin(struct lull_trace *trace);
void lull_tape_lives_end(const struct lull_trace *trace);

struct tape_live;
lull_status lull_tape_live_open(const struct lull_trace *trace, uint32_t location,
                                struct tape_live **ret_live, struct lull_error *err);
void lull_tape_live_close(struct tape_live *live); /* NULL is allowed */

/* Some records of one chunk, whole and as they will stay: from byte `begin` of the location's records
 * on, at most `room` bytes (at least 4096). Calls for one location go on where the last one ended.
 * With TAPE_LIVE_MORE *ret_count slots have been read, which may be none, and the next call begins at
 * byte *ret_next: behind the slots, or at the next chunk. */
lull_status lull_tape_live_read(struct tape_live *live, uint64_t begin, union lull_tape_slot *slots,
                                size_t room, size_t *ret_count, uint64_t *ret_next,
                                enum tape_live_state *ret_state, struct lull_error *err);
/* Of a location that has ended: the call in which its program died, as who opens the run afterwards
 * finds it. *ret_region LULL_NONE: there is none. */
lull_status lull_tape_live_open_call(const struct tape_live *live, uint32_t *ret_region,
                                     uint64_t *ret_time, struct lull_error *err);

#endif
