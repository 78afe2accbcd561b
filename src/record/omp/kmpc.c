/* What LLVM's compilers call where the runtime's tools interface tells not enough: of barriers and
 * of loops whose chunks are handed out while they run it tells begin and end, not always with the
 * place, and requests for chunks not at all, which are calls here. */
#include "record/omp/gomp.h"
#include "record/omp/ompt.h"

/* The calling thread if the runtime tells us of its loops, else NULL. */
static inline struct rec_thread *self_in(const struct rec_gomp *gomp)
{
    const bool tells = __atomic_load_n(&rec_ompt_tells, __ATOMIC_RELAXED);
    return REC_LIKELY(!gomp->is_ours && tells) ? rec_omp_self() : NULL;
}

/* The next construct that the runtime tells of begins in that place; it may leave out its own idea
 * of it. In a barrier other constructs follow, in tasks: these have places of their own. */
static inline void tell_place(const struct rec_gomp *gomp, const void *from)
{
    struct rec_thread *self = self_in(gomp);
    if (REC_LIKELY(self != NULL))
        rec_omp_of(self)->called_from = from;
}

static struct rec_call begin_request(const struct rec_gomp *gomp)
{
    const struct rec_call made = rec_gomp_open_request(self_in(gomp), REC_OMP_NEXT_CHUNK);
    if (made.self)
        rec_omp_of(made.self)->request = made.region;
    return made;
}

uint64_t rec_ompt_end_request(struct rec_thread *self)
{
    struct rec_omp *omp = self->omp;
    const uint32_t region = omp ? omp->request : 0;
    if (region == 0)
        return 0;
    omp->request = 0;
    return rec_omp_close(self, region);
}

static void end_request(const struct rec_call *made)
{
    if (REC_LIKELY(made->self != NULL))
        rec_ompt_end_request(made->self);
}

#define LOOP(s, type, step_type)                                                                \
    void __kmpc_dispatch_init_##s REC_KMPC_INIT_ARGS(type, step_type)                           \
    {                                                                                           \
        REC_GOMP;                                                                               \
        tell_place(gomp, REC_CALLER);                                                           \
        gomp->__kmpc_dispatch_init_##s(place, thread, schedule, begin_, end, step, chunk);      \
        tell_place(gomp, NULL);                                                                 \
    }                                                                                           \
    int __kmpc_dispatch_next_##s REC_KMPC_NEXT_ARGS(type, step_type)                            \
    {                                                                                           \
        REC_GOMP;                                                                               \
        const struct rec_call made = begin_request(gomp);                                       \
        const int result = gomp->__kmpc_dispatch_next_##s(place, thread, last, from, to, step); \
        end_request(&made);                                                                     \
        return result;                                                                          \
    }
REC_KMPC_COUNTERS(LOOP)

void __kmpc_barrier(void *place, int32_t thread)
{
    REC_GOMP;
    tell_place(gomp, REC_CALLER);
    gomp->__kmpc_barrier(place, thread);
    tell_place(gomp, NULL);
}
