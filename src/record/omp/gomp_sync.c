/* Barriers, single, critical, ordered, atomic, locks: the wait is a call, what is inside of the
 * construct is the program's. */
#include "record/omp/gomp.h"

/* A wait that begins a body. */
#define BEGIN_BODY(region, body, call)                               \
    REC_GOMP;                                                        \
    struct rec_call made = rec_gomp_open(gomp, region, REC_CALLER);  \
    call;                                                            \
    uint64_t now = rec_gomp_close(&made);                            \
    if (made.self)                                                   \
        rec_omp_enter(made.self, rec_omp_at(body, REC_CALLER), now); \
    else                                                             \
        rec_omp_skip()

/* The body ends before the runtime is told, which has little to do then. */
#define END_BODY(body, call) \
    REC_GOMP;                \
    rec_omp_leave(body, 0);  \
    call

void GOMP_barrier(void)
{
    REC_GOMP_CALL(REC_OMP_BARRIER, gomp->GOMP_barrier());
}

bool GOMP_barrier_cancel(void)
{
    bool result;
    REC_GOMP_CALL(REC_OMP_BARRIER, result = gomp->GOMP_barrier_cancel());
    return result;
}

void GOMP_workshare_task_reduction_unregister(bool cancelled)
{
    REC_GOMP_CALL(REC_OMP_IMPLICIT_BARRIER,
                  gomp->GOMP_workshare_task_reduction_unregister(cancelled));
}

void GOMP_scope_start(uintptr_t *reductions)
{
    REC_GOMP_CALL(REC_OMP_WORKSHARE, gomp->GOMP_scope_start(reductions));
}

/* ---- single: there is no call at its end ------------------------------------------------------
 */

bool GOMP_single_start(void)
{
    bool result;
    REC_GOMP_CALL(REC_OMP_SINGLE, result = gomp->GOMP_single_start());
    return result;
}

void *GOMP_single_copy_start(void)
{
    void *result;
    REC_GOMP_CALL(REC_OMP_SINGLE_WAIT, result = gomp->GOMP_single_copy_start());
    return result;
}

void GOMP_single_copy_end(void *data)
{
    REC_GOMP_CALL(REC_OMP_SINGLE_WAIT, gomp->GOMP_single_copy_end(data));
}

/* ---- critical, atomic, ordered ----------------------------------------------------------------
 */

void GOMP_critical_start(void)
{
    BEGIN_BODY(REC_OMP_CRITICAL, REC_OMP_CRITICAL_BODY, gomp->GOMP_critical_start());
}

void GOMP_critical_end(void)
{
    END_BODY(REC_OMP_CRITICAL_BODY, gomp->GOMP_critical_end());
}

void GOMP_critical_name_start(void **name)
{
    BEGIN_BODY(REC_OMP_CRITICAL, REC_OMP_CRITICAL_BODY, gomp->GOMP_critical_name_start(name));
}

void GOMP_critical_name_end(void **name)
{
    END_BODY(REC_OMP_CRITICAL_BODY, gomp->GOMP_critical_name_end(name));
}

/* The body of an atomic is a few instructions. */
void GOMP_atomic_start(void)
{
    REC_GOMP_CALL(REC_OMP_ATOMIC, gomp->GOMP_atomic_start());
}

void GOMP_atomic_end(void)
{
    REC_GOMP;
    gomp->GOMP_atomic_end();
}

void GOMP_ordered_start(void)
{
    BEGIN_BODY(REC_OMP_ORDERED, REC_OMP_ORDERED_BODY, gomp->GOMP_ordered_start());
}

void GOMP_ordered_end(void)
{
    END_BODY(REC_OMP_ORDERED_BODY, gomp->GOMP_ordered_end());
}

/* ---- locks: from C, and with an underscore from Fortran ---------------------------------------
 */

/* libomp calls itself here, and does not always know who called it. */
static void tell_caller(void (*function)(void *), void *lock, const void *from)
{
    struct rec_thread *self = rec_omp_self();
    if (self)
        rec_omp_of(self)->called_from = from;
    function(lock);
    if (self)
        rec_omp_of(self)->called_from = NULL;
}

#define LOCK_ENTRY(name, region)                                        \
    void name(void *lock)                                               \
    {                                                                   \
        REC_GOMP;                                                       \
        if (!gomp->is_ours) {                                           \
            tell_caller(gomp->name, lock, REC_CALLER);                  \
            return;                                                     \
        }                                                               \
        struct rec_call made = rec_gomp_open(gomp, region, REC_CALLER); \
        gomp->name(lock);                                               \
        rec_gomp_close(&made);                                          \
    }
/* Under the tools interface these are recorded here, too: it does not tell the end of a test. */
static struct rec_call begin_test(enum rec_omp_region construct, const void *from)
{
    struct rec_thread *self = rec_omp_self();
    struct rec_call made = rec_gomp_open_for(self, construct, from);
    if (self)
        rec_omp_of(self)->tests_lock = true;
    return made;
}

static void end_test(const struct rec_call *made)
{
    if (made->self)
        rec_omp_of(made->self)->tests_lock = false;
    rec_gomp_close(made);
}

#define TEST(name, region)                                     \
    int name(void *lock)                                       \
    {                                                          \
        REC_GOMP;                                              \
        struct rec_call made = begin_test(region, REC_CALLER); \
        int result = gomp->name(lock);                         \
        end_test(&made);                                       \
        return result;                                         \
    }

LOCK_ENTRY(omp_set_lock, REC_OMP_SET_LOCK)
LOCK_ENTRY(omp_set_lock_, REC_OMP_SET_LOCK)
LOCK_ENTRY(omp_unset_lock, REC_OMP_UNSET_LOCK)
LOCK_ENTRY(omp_unset_lock_, REC_OMP_UNSET_LOCK)
TEST(omp_test_lock, REC_OMP_TEST_LOCK)
TEST(omp_test_lock_, REC_OMP_TEST_LOCK)
LOCK_ENTRY(omp_set_nest_lock, REC_OMP_SET_NEST_LOCK)
LOCK_ENTRY(omp_set_nest_lock_, REC_OMP_SET_NEST_LOCK)
LOCK_ENTRY(omp_unset_nest_lock, REC_OMP_UNSET_NEST_LOCK)
LOCK_ENTRY(omp_unset_nest_lock_, REC_OMP_UNSET_NEST_LOCK)
TEST(omp_test_nest_lock, REC_OMP_TEST_NEST_LOCK)
TEST(omp_test_nest_lock_, REC_OMP_TEST_NEST_LOCK)
