/* SPDX-License-Identifier: BSD-3-Clause */
/* The entry points of OpenMP runtimes that the recorder interposes: of GCC's libgomp, which has no
 * tools interface, and a few of LLVM's. */
#ifndef LULL_RECORD_OMP_GOMP_H
#define LULL_RECORD_OMP_GOMP_H

#include "record/omp/team.h"

#include <stdbool.h>
#include <stdint.h>

/* ==== functions of libgomp ==================================================================== */

/* The entry points of GCC's libgomp that synchronise, fork, schedule or run tasks, as of its
 * version 12: X(result, name, parameters). */

typedef unsigned long long rec_ull;
typedef void rec_body(void *);
typedef void rec_copy(void *, void *);

/* ---- loops: X(name, ordered) of those that begin with the parameters in the macro's name ----- */

#define REC_GOMP_CHUNKED(X) \
    X(static)               \
    X(dynamic)              \
    X(guided)               \
    X(nonmonotonic_dynamic) \
    X(nonmonotonic_guided) X(ordered_static) X(ordered_dynamic) X(ordered_guided)
#define REC_GOMP_BY_RUNTIME(X) \
    X(runtime) X(nonmonotonic_runtime) X(maybe_nonmonotonic_runtime) X(ordered_runtime)
#define REC_GOMP_DOACROSS(X) X(static) X(dynamic) X(guided)
#define REC_GOMP_PARALLEL_CHUNKED(X) \
    X(static) X(dynamic) X(guided) X(nonmonotonic_dynamic) X(nonmonotonic_guided)
#define REC_GOMP_PARALLEL_BY_RUNTIME(X) \
    X(runtime) X(nonmonotonic_runtime) X(maybe_nonmonotonic_runtime)
#define REC_GOMP_OLD_PARALLEL_CHUNKED(X) X(static) X(dynamic) X(guided)

#define REC_CHUNKED_ARGS (long begin_, long end, long step, long chunk, long *from, long *to)
#define REC_RUNTIME_ARGS (long begin_, long end, long step, long *from, long *to)
#define REC_NEXT_ARGS    (long *from, long *to)
#define REC_ULL_CHUNKED_ARGS \
    (bool up, rec_ull begin_, rec_ull end, rec_ull step, rec_ull chunk, rec_ull *from, rec_ull *to)
#define REC_ULL_RUNTIME_ARGS \
    (bool up, rec_ull begin_, rec_ull end, rec_ull step, rec_ull *from, rec_ull *to)
#define REC_ULL_NEXT_ARGS (rec_ull * from, rec_ull * to)
#define REC_GENERAL_ARGS                                                                \
    (long begin_, long end, long step, long schedule, long chunk, long *from, long *to, \
     uintptr_t *reductions, void **memory)
#define REC_ULL_GENERAL_ARGS                                                           \
    (bool up, rec_ull begin_, rec_ull end, rec_ull step, long schedule, rec_ull chunk, \
     rec_ull *from, rec_ull *to, uintptr_t *reductions, void **memory)
#define REC_DOACROSS_ARGS         (unsigned n, long *counts, long chunk, long *from, long *to)
#define REC_DOACROSS_RUNTIME_ARGS (unsigned n, long *counts, long *from, long *to)
#define REC_DOACROSS_GENERAL_ARGS                                               \
    (unsigned n, long *counts, long schedule, long chunk, long *from, long *to, \
     uintptr_t *reductions, void **memory)
#define REC_ULL_DOACROSS_ARGS \
    (unsigned n, rec_ull *counts, rec_ull chunk, rec_ull *from, rec_ull *to)
#define REC_ULL_DOACROSS_RUNTIME_ARGS (unsigned n, rec_ull *counts, rec_ull *from, rec_ull *to)
#define REC_ULL_DOACROSS_GENERAL_ARGS                                                       \
    (unsigned n, rec_ull *counts, long schedule, rec_ull chunk, rec_ull *from, rec_ull *to, \
     uintptr_t *reductions, void **memory)
#define REC_PARALLEL_CHUNKED_ARGS                                                                 \
    (rec_body * body, void *data, unsigned threads, long begin_, long end, long step, long chunk, \
     unsigned flags)
#define REC_PARALLEL_RUNTIME_ARGS                                                     \
    (rec_body * body, void *data, unsigned threads, long begin_, long end, long step, \
     unsigned flags)
#define REC_OLD_PARALLEL_CHUNKED_ARGS \
    (rec_body * body, void *data, unsigned threads, long begin_, long end, long step, long chunk)
#define REC_OLD_PARALLEL_RUNTIME_ARGS \
    (rec_body * body, void *data, unsigned threads, long begin_, long end, long step)

/* ---- all of them ----------------------------------------------------------------------------- */

#define REC_LOOP_CHUNKED(s)                                      \
    REC_X(bool, GOMP_loop_##s##_start, REC_CHUNKED_ARGS)         \
    REC_X(bool, GOMP_loop_##s##_next, REC_NEXT_ARGS)             \
    REC_X(bool, GOMP_loop_ull_##s##_start, REC_ULL_CHUNKED_ARGS) \
    REC_X(bool, GOMP_loop_ull_##s##_next, REC_ULL_NEXT_ARGS)
#define REC_LOOP_BY_RUNTIME(s)                                   \
    REC_X(bool, GOMP_loop_##s##_start, REC_RUNTIME_ARGS)         \
    REC_X(bool, GOMP_loop_##s##_next, REC_NEXT_ARGS)             \
    REC_X(bool, GOMP_loop_ull_##s##_start, REC_ULL_RUNTIME_ARGS) \
    REC_X(bool, GOMP_loop_ull_##s##_next, REC_ULL_NEXT_ARGS)
#define REC_LOOP_DOACROSS(s)                                       \
    REC_X(bool, GOMP_loop_doacross_##s##_start, REC_DOACROSS_ARGS) \
    REC_X(bool, GOMP_loop_ull_doacross_##s##_start, REC_ULL_DOACROSS_ARGS)
#define REC_PARALLEL_CHUNKED(s)    REC_X(void, GOMP_parallel_loop_##s, REC_PARALLEL_CHUNKED_ARGS)
#define REC_PARALLEL_BY_RUNTIME(s) REC_X(void, GOMP_parallel_loop_##s, REC_PARALLEL_RUNTIME_ARGS)
#define REC_OLD_PARALLEL_CHUNKED(s) \
    REC_X(void, GOMP_parallel_loop_##s##_start, REC_OLD_PARALLEL_CHUNKED_ARGS)

/* Define REC_X before, undefine it behind. */
#define REC_GOMP_LOOPS                                                                            \
    REC_GOMP_CHUNKED(REC_LOOP_CHUNKED)                                                            \
    REC_GOMP_BY_RUNTIME(REC_LOOP_BY_RUNTIME)                                                      \
    REC_GOMP_DOACROSS(REC_LOOP_DOACROSS)                                                          \
    REC_X(bool, GOMP_loop_start, REC_GENERAL_ARGS)                                                \
    REC_X(bool, GOMP_loop_ordered_start, REC_GENERAL_ARGS)                                        \
    REC_X(bool, GOMP_loop_ull_start, REC_ULL_GENERAL_ARGS)                                        \
    REC_X(bool, GOMP_loop_ull_ordered_start, REC_ULL_GENERAL_ARGS)                                \
    REC_X(bool, GOMP_loop_doacross_start, REC_DOACROSS_GENERAL_ARGS)                              \
    REC_X(bool, GOMP_loop_doacross_runtime_start, REC_DOACROSS_RUNTIME_ARGS)                      \
    REC_X(bool, GOMP_loop_ull_doacross_start, REC_ULL_DOACROSS_GENERAL_ARGS)                      \
    REC_X(bool, GOMP_loop_ull_doacross_runtime_start, REC_ULL_DOACROSS_RUNTIME_ARGS)              \
    REC_X(void, GOMP_loop_end, (void))                                                            \
    REC_X(void, GOMP_loop_end_nowait, (void))                                                     \
    REC_X(bool, GOMP_loop_end_cancel, (void))                                                     \
    REC_X(void, GOMP_doacross_wait, (long first, ...))                                            \
    REC_X(void, GOMP_doacross_ull_wait, (rec_ull first, ...))                                     \
    REC_X(unsigned, GOMP_sections_start, (unsigned count))                                        \
    REC_X(unsigned, GOMP_sections2_start, (unsigned count, uintptr_t *reductions, void **memory)) \
    REC_X(unsigned, GOMP_sections_next, (void))                                                   \
    REC_X(void, GOMP_sections_end, (void))                                                        \
    REC_X(void, GOMP_sections_end_nowait, (void))                                                 \
    REC_X(bool, GOMP_sections_end_cancel, (void))

#define REC_GOMP_PARALLELS                                                                      \
    REC_X(void, GOMP_parallel, (rec_body * body, void *data, unsigned threads, unsigned flags)) \
    REC_X(unsigned, GOMP_parallel_reductions,                                                   \
          (rec_body * body, void *data, unsigned threads, unsigned flags))                      \
    REC_X(void, GOMP_parallel_sections,                                                         \
          (rec_body * body, void *data, unsigned threads, unsigned count, unsigned flags))      \
    REC_GOMP_PARALLEL_CHUNKED(REC_PARALLEL_CHUNKED)                                             \
    REC_GOMP_PARALLEL_BY_RUNTIME(REC_PARALLEL_BY_RUNTIME)                                       \
    REC_X(void, GOMP_parallel_start, (rec_body * body, void *data, unsigned threads))           \
    REC_X(void, GOMP_parallel_sections_start,                                                   \
          (rec_body * body, void *data, unsigned threads, unsigned count))                      \
    REC_GOMP_OLD_PARALLEL_CHUNKED(REC_OLD_PARALLEL_CHUNKED)                                     \
    REC_X(void, GOMP_parallel_loop_runtime_start, REC_OLD_PARALLEL_RUNTIME_ARGS)                \
    REC_X(void, GOMP_parallel_end, (void))                                                      \
    REC_X(void, GOMP_teams_reg,                                                                 \
          (rec_body * body, void *data, unsigned teams, unsigned limit, unsigned flags))

#define REC_GOMP_SYNCS                                                      \
    REC_X(void, GOMP_barrier, (void))                                       \
    REC_X(bool, GOMP_barrier_cancel, (void))                                \
    REC_X(void, GOMP_critical_start, (void))                                \
    REC_X(void, GOMP_critical_end, (void))                                  \
    REC_X(void, GOMP_critical_name_start, (void **name))                    \
    REC_X(void, GOMP_critical_name_end, (void **name))                      \
    REC_X(void, GOMP_atomic_start, (void))                                  \
    REC_X(void, GOMP_atomic_end, (void))                                    \
    REC_X(void, GOMP_ordered_start, (void))                                 \
    REC_X(void, GOMP_ordered_end, (void))                                   \
    REC_X(bool, GOMP_single_start, (void))                                  \
    REC_X(void *, GOMP_single_copy_start, (void))                           \
    REC_X(void, GOMP_single_copy_end, (void *data))                         \
    REC_X(void, GOMP_scope_start, (uintptr_t * reductions))                 \
    REC_X(void, GOMP_workshare_task_reduction_unregister, (bool cancelled)) \
    REC_X(void, omp_set_lock, (void *lock))                                 \
    REC_X(void, omp_unset_lock, (void *lock))                               \
    REC_X(int, omp_test_lock, (void *lock))                                 \
    REC_X(void, omp_set_nest_lock, (void *lock))                            \
    REC_X(void, omp_unset_nest_lock, (void *lock))                          \
    REC_X(int, omp_test_nest_lock, (void *lock))                            \
    REC_X(void, omp_set_lock_, (void *lock))                                \
    REC_X(void, omp_unset_lock_, (void *lock))                              \
    REC_X(int, omp_test_lock_, (void *lock))                                \
    REC_X(void, omp_set_nest_lock_, (void *lock))                           \
    REC_X(void, omp_unset_nest_lock_, (void *lock))                         \
    REC_X(int, omp_test_nest_lock_, (void *lock))

#define REC_GOMP_TASKS                                                                         \
    REC_X(void, GOMP_task,                                                                     \
          (rec_body * body, void *data, rec_copy *copy, long size, long align, bool deferred,  \
           unsigned flags, void **depend, int priority, void *detach))                         \
    REC_X(void, GOMP_taskloop,                                                                 \
          (rec_body * body, void *data, rec_copy *copy, long size, long align, unsigned flags, \
           unsigned long tasks, int priority, long begin_, long end, long step))               \
    REC_X(void, GOMP_taskloop_ull,                                                             \
          (rec_body * body, void *data, rec_copy *copy, long size, long align, unsigned flags, \
           unsigned long tasks, int priority, rec_ull begin_, rec_ull end, rec_ull step))      \
    REC_X(void, GOMP_taskwait, (void))                                                         \
    REC_X(void, GOMP_taskwait_depend, (void **depend))                                         \
    REC_X(void, GOMP_taskyield, (void))                                                        \
    REC_X(void, GOMP_taskgroup_end, (void))

#define REC_GOMP_FUNCTIONS REC_GOMP_LOOPS REC_GOMP_PARALLELS REC_GOMP_SYNCS REC_GOMP_TASKS

/* ==== functions of LLVM's runtime ============================================================= */

/* The entry points of LLVM's runtime that are interposed, where its tools interface does not tell
 * enough: X(result, name, parameters). They are those of barriers, and of loops that ask for their
 * chunks, for each type of counter. */

/* X(suffix, type of the counter, type of its step) */
#define REC_KMPC_COUNTERS(X) \
    X(4, int32_t, int32_t) X(4u, uint32_t, int32_t) X(8, int64_t, int64_t) X(8u, uint64_t, int64_t)

#define REC_KMPC_INIT_ARGS(type, step_type)                                                \
    (void *place, int32_t thread, int32_t schedule, type begin_, type end, step_type step, \
     step_type chunk)
#define REC_KMPC_NEXT_ARGS(type, step_type) \
    (void *place, int32_t thread, int32_t *last, type *from, type *to, step_type *step)

#define REC_KMPC_LOOP(s, type, step_type)                                      \
    REC_X(void, __kmpc_dispatch_init_##s, REC_KMPC_INIT_ARGS(type, step_type)) \
    REC_X(int, __kmpc_dispatch_next_##s, REC_KMPC_NEXT_ARGS(type, step_type))

/* Define REC_X before, undefine it behind. */
#define REC_KMPC_FUNCTIONS           \
    REC_KMPC_COUNTERS(REC_KMPC_LOOP) \
    REC_X(void, __kmpc_barrier, (void *place, int32_t thread))

/* ==== runtimes ================================================================================ */

/* The functions of one runtime. A process may have several runtimes, which modules have brought
 * along. */
struct rec_gomp {
    bool is_ours; /* it is libgomp. LLVM's libomp offers the same names, and tells through its tools
                     interface what happens: its functions are only called */
#define REC_X(result, name, parameters) result(*name) parameters;
    REC_GOMP_FUNCTIONS
    REC_KMPC_FUNCTIONS /* NULL in libgomp */
#undef REC_X
};

#define REC_X(result, name, parameters) REC_EXPORT result name parameters;
REC_GOMP_FUNCTIONS
REC_KMPC_FUNCTIONS
#undef REC_X

/* The runtime of the whole process (atomic); NULL: it is not known yet, or modules have brought
 * along runtimes for themselves alone. */
extern const struct rec_gomp *rec_gomp_only;
const struct rec_gomp *rec_gomp_find(const void *place);

/* The runtime that the code at `place` uses. `place` is where an entry point returns to, or the
 * code of a region or task. */
static inline const struct rec_gomp *rec_gomp_at(const void *place)
{
    const struct rec_gomp *only = __atomic_load_n(&rec_gomp_only, __ATOMIC_ACQUIRE);
    return REC_LIKELY(only != NULL) ? only : rec_gomp_find(place);
}

/* A call of the runtime that is recorded as a region; `self` is NULL where it is not. */
struct rec_call {
    struct rec_thread *self;
    uint32_t region;
};

/* Opens a request for a part of the innermost construct. */
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

/* In an entry point: sets `gomp` to the runtime that the caller uses. */
#define REC_GOMP const struct rec_gomp *gomp = rec_gomp_at(REC_CALLER)

#endif
