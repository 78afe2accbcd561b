/* GCC's libgomp has no tools interface: its entry points are interposed. */
#ifndef LULL_RECORD_OMP_GOMP_H
#define LULL_RECORD_OMP_GOMP_H

#include "record/omp/gomp_functions.h"
#include "record/omp/team.h"

/* The functions of the runtime. */
struct rec_gomp {
#define REC_X(result, name, parameters) result(*name) parameters;
    REC_GOMP_FUNCTIONS
#undef REC_X
};
extern struct rec_gomp rec_gomp;

#define REC_X(result, name, parameters) REC_EXPORT result name parameters;
REC_GOMP_FUNCTIONS
#undef REC_X

/* Where the runtime is libgomp. LLVM's libomp offers the same names, and tells us through its
 * tools interface what happens: then these functions pass through. */
extern bool rec_gomp_is_ours;

/* Called when the functions of the runtime are not known yet, because it was loaded late. */
extern bool rec_gomp_is_known; /* atomic */
void rec_gomp_resolve(void);

/* The calling thread if the construct is to be recorded, else NULL. In either case the runtime's
 * functions are known behind this. */
static inline struct rec_thread *rec_gomp_self(void)
{
    if (REC_UNLIKELY(!__atomic_load_n(&rec_gomp_is_known, __ATOMIC_ACQUIRE)))
        rec_gomp_resolve();
    return REC_LIKELY(rec_gomp_is_ours) ? rec_omp_self() : NULL;
}

/* A call of the runtime that is recorded as a region; `self` is NULL where it is not. */
struct rec_call {
    struct rec_thread *self;
    uint32_t region;
};

/* `from`: where the call returns to, NULL for what has no site of its own. */
static inline struct rec_call rec_gomp_open_for(struct rec_thread *self,
                                                enum rec_omp_region construct, const void *from)
{
    struct rec_call call = {self, 0};
    if (REC_UNLIKELY(!self))
        return call;
    call.region = from ? rec_omp_at(construct, from) : rec_omp_ids[construct];
    rec_omp_open(self, call.region);
    return call;
}

static inline struct rec_call rec_gomp_open(enum rec_omp_region construct, const void *from)
{
    return rec_gomp_open_for(rec_gomp_self(), construct, from);
}

/* The present; 0: it is not recorded. */
REC_INLINE uint64_t rec_gomp_close(const struct rec_call *call)
{
    return REC_LIKELY(call->self != NULL) ? rec_omp_close(call->self, call->region) : 0;
}

/* The body of an entry point whose whole call is one region. */
#define REC_GOMP_CALL(construct, call)                           \
    struct rec_call made = rec_gomp_open(construct, REC_CALLER); \
    call;                                                        \
    rec_gomp_close(&made)

#endif
