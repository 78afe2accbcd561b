/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run did with each file: a consumer of steps. */
#ifndef LULL_METRICS_BY_FILE_H
#define LULL_METRICS_BY_FILE_H

#include "activity/pass.h"
#include "team/division.h"

/* What all threads of an application did with one file, in its windows. A call counts where it
 * begins inside of a window; only the part of its time that lies inside counts. */
struct lull_file_use {
    const char *name; /* of the file, as the trace has it; "" where the trace does not say which
                         file it was */
    uint8_t kind;     /* enum lull_file_kind */
    uint64_t opens, reads, writes, others; /* calls; closing is one of the others */
    uint64_t bytes_read, bytes_written;
    int64_t ns;
};

struct lull_file_uses {
    struct lull_file_use *uses; /* the longest time first, then by name */
    uint32_t count;
};

/* Rides on a pass beside other consumers: create, put consumer and visits into the pass, run it,
 * conclude. `windows` (NULL: the whole run) and `workers` are those of the pass. All of it lives in
 * `arena`. */
struct lull_file_reader;
struct lull_file_reader *lull_file_reader_create(const struct lull_trace *trace,
                                                 const struct lull_windows *windows,
                                                 unsigned workers, struct lull_arena *arena);
struct lull_consumer lull_file_reader_consumer(struct lull_file_reader *reader);
const bool *lull_file_reader_visits(const struct lull_file_reader *reader); /* of the pass */
/* Behind a pass that a team has shared; called by all of its members: the first gets what the
 * others have. */
lull_status lull_file_reader_gather(struct lull_file_reader *reader, struct lull_team *team,
                                    struct lull_error *err);
void lull_file_reader_conclude(const struct lull_file_reader *reader, struct lull_arena *arena,
                               struct lull_file_uses *ret_uses);

/* Makes a pass of its own. In a team all members call it together, and the first has the result. It
 * lives in `arena`. Fails as lull_pass_run does. */
lull_status lull_file_uses_read(const struct lull_trace *trace, const struct lull_reading *reading,
                                struct lull_arena *arena, struct lull_file_uses *ret_uses,
                                struct lull_error *err);

#endif
