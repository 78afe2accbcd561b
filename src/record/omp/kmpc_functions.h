/* The entry points of LLVM's runtime that are interposed, where its tools interface does not tell
 * enough: X(result, name, parameters). They are those of barriers, and of loops that ask for their
 * chunks, for each type of counter. */
#ifndef LULL_RECORD_OMP_KMPC_FUNCTIONS_H
#define LULL_RECORD_OMP_KMPC_FUNCTIONS_H

#include <stdint.h>

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

#endif
