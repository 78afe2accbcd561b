/* GCC's libgomp has no tools interface: its entry points are interposed. */
#ifndef LULL_RECORD_OMP_GOMP_H
#define LULL_RECORD_OMP_GOMP_H

#include "record/omp/gomp_functions.h"
#include "record/omp/kmpc_functions.h"
#include "record/omp/team.h"

/* The functions of a runtime. */
struct rec_gomp {
    bool is_ours; /* libgomp. LLVM's libomp offers the same names, and tells us through its tools
                   * interface what happens: then the functions below pass through. */
#define REC_X(result, name, parameters) result(*name) parameters;
    REC_GOMP_FUNCTIONS
    REC_KMPC_FUNCTIONS /* NULL in libgomp */
#undef REC_X
};

#define REC_X(result, name, parameters) REC_EXPORT result name parameters;
REC_GOMP_FUNCTIONS
REC_KMPC_FUNCTIONS
#undef REC_X

/* The runtime of the whole process; NULL (atomic): it is not known yet, or modules have brought
 * along runtimes for themselves alone. */
extern const struct rec_gomp *rec_gomp_only;
const struct rec_gomp *rec_gomp_find(const void *place);

/* The runtime that is meant by code at `place`: by the place that an entry point returns to, or
 * that of a region's or task's code. */
static inline const struct rec_gomp *rec_gomp_at(const void *place)
{
    const struct rec_gomp *only = __atomic_load_n(&rec_gomp_only, __ATOMIC_ACQUIRE);
    return REC_LIKELY(only != NULL) ? only : rec_gomp_find(place);
}

/* Runs a region's or task's code. What it calls may return to us, because the last call of a
 * function can be a jump: so it is kept in mind which runtime the code belongs to. */
void rec_gomp_run_apart(rec_body *body, void *data);
REC_INLINE void rec_gomp_run(rec_body *body, void *data)
{
    if (REC_LIKELY(__atomic_load_n(&rec_gomp_only, __ATOMIC_RELAXED) != NULL))
        body(data);
    else
        rec_gomp_run_apart(body, data);
}

/* The address of code as that of data. */
static inline const void *rec_gomp_place(rec_body *body)
{
    const void *code;
    __builtin_memcpy(&code, &body, sizeof code);
    return code;
}

/* The calling thread if constructs of that runtime are to be recorded, else NULL. */
static inline struct rec_thread *rec_gomp_self(const struct rec_gomp *gomp)
{
    return REC_LIKELY(gomp->is_ours) ? rec_omp_self() : NULL;
}

/* A call of the runtime that is recorded as a region; `self` is NULL where it is not. */
struct rec_call {
    struct rec_thread *self;
    uint32_t region;
};

/* `from`: where the call returns to. */
static inline struct rec_call rec_gomp_open_for(struct rec_thread *self,
                                                enum rec_omp_region construct, const void *from)
{
    struct rec_call call = {self, 0};
    if (REC_UNLIKELY(!self))
        return call;
    call.region = rec_omp_at(construct, from);
    rec_omp_open(self, call.region);
    return call;
}

static inline struct rec_call rec_gomp_open(const struct rec_gomp *gomp,
                                            enum rec_omp_region construct, const void *from)
{
    return rec_gomp_open_for(rec_gomp_self(gomp), construct, from);
}

/* The same of a request for a part of the innermost construct. */
static inline struct rec_call rec_gomp_open_request(struct rec_thread *self,
                                                    enum rec_omp_region request)
{
    struct rec_call call = {self, 0};
    if (REC_UNLIKELY(!self))
        return call;
    call.region = rec_omp_request_in(self->omp, request);
    rec_omp_open(self, call.region);
    return call;
}

/* The present; 0: it is not recorded. */
REC_INLINE uint64_t rec_gomp_close(const struct rec_call *call)
{
    return REC_LIKELY(call->self != NULL) ? rec_omp_close(call->self, call->region) : 0;
}

/* In an entry point: the runtime that is meant. */
#define REC_GOMP const struct rec_gomp *gomp = rec_gomp_at(REC_CALLER)

/* The body of an entry point whose whole call is one region. */
#define REC_GOMP_CALL(construct, call)                                 \
    REC_GOMP;                                                          \
    struct rec_call made = rec_gomp_open(gomp, construct, REC_CALLER); \
    call;                                                              \
    rec_gomp_close(&made)

#endif
