/* What packing and unpacking have in common: the folder of a run and what else is in it. */
#ifndef LULL_TRACE_FORMAT_TAPE_PACK_REST_H
#define LULL_TRACE_FORMAT_TAPE_PACK_REST_H

#include "base/output_file.h"
#include "trace/pack.h"
#include "trace/trace.h"

/* A tape that is opened, and the folder that is to be made of it. */
struct pack_run {
    struct lull_trace *trace;
    const char *target; /* in the arena of the trace */
    struct lull_output *output;
};

/* Opens the run, which must be a tape, and begins the output; `ending` is that of its name. */
lull_status lull_pack_begin(const struct lull_pack_wish *wish, const char *ending,
                            struct pack_run *ret_run, struct lull_error *err);
/* The output appears, in the place of the run if that is the wish, or is forgotten if `status` says
 * that it failed. */
lull_status lull_pack_end(const struct lull_pack_wish *wish, struct pack_run *run,
                          lull_status status, struct lull_error *err);

/* Copies all that is in the folder of the run to the one that is made, but for files that `takes`
 * says are its own; `path` is that below the run, "0/12.tape". */
lull_status lull_pack_copy_rest(const struct pack_run *run,
                                lull_status (*takes)(void *context, const char *path,
                                                     bool *ret_taken, struct lull_error *err),
                                void *context, struct lull_error *err);

#endif
