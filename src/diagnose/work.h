/* Work: how long the first thread of each process computed, burst by burst.
 *
 * A burst is the useful time in one region of the user up to the next call of MPI, or to where
 * another region of the user begins. Bursts of the same region that end with the same call have a
 * place; of each place the number, sum, longest burst and median are known, the latter from a
 * histogram with bins of 19 % (a quarter of an octave). A burst of more than twice the median of its
 * place is a long one: what noise makes.
 *
 * It rides on a pass (activity/pass.h). Memory: 700 bytes for each place of each process. */
#ifndef LULL_DIAGNOSE_WORK_H
#define LULL_DIAGNOSE_WORK_H

#include "activity/pass.h"

struct lull_work_place {
    uint32_t process;
    uint32_t region; /* innermost of the user, or LULL_NONE */
    uint32_t call;   /* region of the call at its end, or LULL_NONE */
    uint64_t bursts;
    int64_t ns;
    int64_t median_ns;
    uint64_t long_bursts;
    int64_t long_ns; /* of long bursts: what they take beyond the median, to 10 % */
    int64_t longest_begin, longest_ns;
};

/* Places up to which it goes on: 140 MB. */
enum { LULL_WORK_PLACES_MOST = 200000 };

struct lull_work {
    const char *absent;                   /* why there is none, a sentence; NULL: there is one */
    const struct lull_work_place *places; /* by process, region and call */
    uint32_t n_places;
};

struct lull_work_collector;

/* `trace` is borrowed. Fails with LULL_ERR_MEMORY. */
lull_status lull_work_create(const struct lull_trace *trace, uint32_t application,
                             struct lull_work_collector **ret_collector, struct lull_error *err);
/* Lives as long as the collector. */
struct lull_consumer lull_work_consumer(struct lull_work_collector *collector);
/* After a pass that went well; the result lives in `arena`. */
void lull_work_conclude(struct lull_work_collector *collector, struct lull_arena *arena,
                        struct lull_work *ret_work);
void lull_work_destroy(struct lull_work_collector *collector); /* NULL is allowed */

/* The first place of a process in a region, or where it would be. */
uint32_t lull_work_first(const struct lull_work *work, uint32_t process, uint32_t region);
/* What a process computed in a region, ns. */
int64_t lull_work_of(const struct lull_work *work, uint32_t process, uint32_t region);

#endif
