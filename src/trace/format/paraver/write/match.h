/* Sends and receives that wait for their other half; internal to the Paraver format.
 *
 * First in, first out per communicator, source, destination and tag, as MPI matches them; halves of
 * different size are no message, whatever the trace says, for a record has one size. It is a hash
 * table of its own, not that of base, because halves leave it: memory follows those that wait. */
#ifndef LULL_TRACE_FORMAT_PARAVER_WRITE_MATCH_H
#define LULL_TRACE_FORMAT_PARAVER_WRITE_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lull_prv_waiting {
    uint32_t comm, source, destination;
    int32_t tag;
    bool send; /* a send that waits for its receive, or the other way round */
    uint32_t location;
    int64_t time;
    uint64_t bytes;
    struct lull_prv_waiting *next;
};

struct lull_prv_bucket { /* in order of arrival */
    struct lull_prv_waiting *first, *last;
};

struct lull_prv_matcher {
    struct lull_prv_bucket *buckets; /* malloc'd */
    size_t n_buckets, n_waiting;
};

/* Finds the first that waits for `half` and takes it out: *ret_other, to be freed by the caller;
 * NULL if none does: then a copy of `half` waits. False when memory runs out. */
bool lull_prv_match(struct lull_prv_matcher *matcher, const struct lull_prv_waiting *half,
                    struct lull_prv_waiting **ret_other);
void lull_prv_matcher_free(struct lull_prv_matcher *matcher);

#endif
