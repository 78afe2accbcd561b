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

/* Called when a function of the runtime is not known yet, because it was loaded late. */
void rec_gomp_resolve(void);

/* The calling thread if the construct is to be recorded, else NULL. In either case the runtime's
 * functions are known behind this. */
static inline struct rec_thread *rec_gomp_self(void)
{
    if (REC_UNLIKELY(!rec_gomp.GOMP_barrier))
        rec_gomp_resolve();
    return REC_LIKELY(rec_gomp_is_ours) ? rec_omp_self() : NULL;
}

#endif
