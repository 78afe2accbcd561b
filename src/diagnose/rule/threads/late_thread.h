/* The one thread that others of its process wait for. Internal to the room. */
#ifndef LULL_DIAGNOSE_RULE_THREADS_LATE_THREAD_H
#define LULL_DIAGNOSE_RULE_THREADS_LATE_THREAD_H

#include "diagnose/rule.h"

struct lull_late_thread {
    uint32_t location; /* LULL_NONE: no one thread has LULL_SUSPECTS_MOST of the waits, or there are
                          none */
    uint32_t region;   /* of the user, that has most of its part */
    uint32_t call;     /* by which the others' waits end */
    int64_t ns;        /* that others waited for it */
};

/* Of the waits of threads of a kind (enum lull_wait_kind). `parallel`: only those at barriers that
 * stand where the OpenMP parallel region of that name stands, by file and line; NULL: all. */
struct lull_late_thread lull_late_thread_of(const struct lull_case *c, unsigned kind,
                                            const char *parallel);

/* Puts it into the place of a finding, and ends `cause` with who it is: "One ...; thread 2 of rank
 * 0 most of the time, in solve (solve.c:12)." Without one `cause` ends with a full stop. */
void lull_late_thread_tell(struct lull_case *c, struct lull_finding *finding,
                           const struct lull_late_thread *late, const char *cause);

#endif
