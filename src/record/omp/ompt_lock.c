/* Waiting for locks, critical sections and the like, and what is inside. */
#include "record/omp/ompt.h"
#include "record/omp/team.h"

/* Those that are only tested are left to the functions in gomp_sync.c, because nothing is told when
 * the lock cannot be had. */
static const struct {
    enum rec_omp_region wait, body; /* REC_OMP_REGIONS: none */
} mutexes[] = {
    [OMPT_MUTEX_LOCK] = {REC_OMP_SET_LOCK, REC_OMP_REGIONS},
    [OMPT_MUTEX_TEST_LOCK] = {REC_OMP_REGIONS, REC_OMP_REGIONS},
    [OMPT_MUTEX_NEST_LOCK] = {REC_OMP_SET_NEST_LOCK, REC_OMP_REGIONS},
    [OMPT_MUTEX_TEST_NEST_LOCK] = {REC_OMP_REGIONS, REC_OMP_REGIONS},
    [OMPT_MUTEX_CRITICAL] = {REC_OMP_CRITICAL, REC_OMP_CRITICAL_BODY},
    [OMPT_MUTEX_ATOMIC] = {REC_OMP_ATOMIC, REC_OMP_REGIONS},
    [OMPT_MUTEX_ORDERED] = {REC_OMP_ORDERED, REC_OMP_ORDERED_BODY},
};

static bool is_known(int kind)
{
    struct rec_thread *self = rec_current();
    return kind > 0 && (size_t)kind < sizeof mutexes / sizeof *mutexes &&
           !(self->omp && rec_omp_of(self)->tests_lock);
}

void rec_ompt_mutex_acquire(int kind, unsigned hint, unsigned implementation, uint64_t lock,
                            const void *code)
{
    (void)hint, (void)implementation, (void)lock;
    if (!is_known(kind) || mutexes[kind].wait == REC_OMP_REGIONS)
        return;
    struct rec_thread *self = rec_omp_self();
    if (!self) {
        rec_omp_skip();
        return;
    }
    const void *from = rec_omp_called_from(rec_omp_of(self), code);
    uint32_t region = rec_omp_at(mutexes[kind].wait, from);
    rec_omp_push(self->omp, region);
    rec_omp_open(self, region);
    rec_omp_of(self)->sets_nest = kind == OMPT_MUTEX_NEST_LOCK ? region : 0;
}

void rec_ompt_mutex_acquired(int kind, uint64_t lock, const void *code)
{
    (void)lock;
    if (!is_known(kind) || mutexes[kind].wait == REC_OMP_REGIONS)
        return;
    uint32_t region;
    struct rec_thread *self = rec_omp_ending(rec_omp_ids[mutexes[kind].wait], &region);
    uint64_t now = self ? rec_omp_close(self, region) : 0;
    if (mutexes[kind].body == REC_OMP_REGIONS)
        return;
    if (self && !self->paused)
        rec_omp_enter(self, rec_omp_at(mutexes[kind].body, code), now);
    else
        rec_omp_skip();
}

void rec_ompt_mutex_released(int kind, uint64_t lock, const void *code)
{
    (void)lock, (void)code;
    if (is_known(kind) && mutexes[kind].body != REC_OMP_REGIONS)
        rec_omp_leave(mutexes[kind].body, 0);
}

/* A lock that this thread has already is had once more. It is not said whether it was set or
 * tested; only a set one is open. */
void rec_ompt_nest_lock(int endpoint, uint64_t lock, const void *code)
{
    (void)lock, (void)code;
    struct rec_thread *self = rec_current();
    const struct rec_omp *omp = self->omp;
    if (endpoint != OMPT_BEGIN || !omp || omp->open == 0 || omp->open != omp->sets_nest)
        return;
    uint32_t region;
    if (rec_omp_ending(omp->open, &region))
        rec_omp_close(self, region);
}
