/* Loops whose chunks the runtime hands out, and sections. A construct is entered by its start and
 * left by its end; each request for a chunk is a call. Loops with a static schedule that is known
 * to the compiler never ask: of these only the barrier is seen. */
#include "record/omp/gomp.h"

#include <stdarg.h>

/* The first request for a chunk is made with the construct. */
static struct rec_call begin_loop(const struct rec_gomp *gomp, enum rec_omp_region construct,
                                  enum rec_omp_region request, const void *from)
{
    struct rec_thread *self = rec_gomp_self(gomp);
    if (self)
        rec_omp_enter_shared(self, construct, from);
    else
        rec_omp_skip();
    return rec_gomp_open_request(self, request);
}

#define START(construct, region, type, name, ...)                               \
    {                                                                           \
        REC_GOMP;                                                               \
        struct rec_call made = begin_loop(gomp, construct, region, REC_CALLER); \
        type result = gomp->name(__VA_ARGS__);                                  \
        rec_gomp_close(&made);                                                  \
        return result;                                                          \
    }
#define LOOP_START(name, ...) START(REC_OMP_FOR, REC_OMP_NEXT_CHUNK, bool, name, __VA_ARGS__)
#define LOOP_NEXT(name)                                                                        \
    {                                                                                          \
        REC_GOMP;                                                                              \
        struct rec_call made = rec_gomp_open_request(rec_gomp_self(gomp), REC_OMP_NEXT_CHUNK); \
        bool result = gomp->name(from, to);                                                    \
        rec_gomp_close(&made);                                                                 \
        return result;                                                                         \
    }

#define LOOP_CHUNKED(s)                                                                 \
    bool GOMP_loop_##s##_start REC_CHUNKED_ARGS LOOP_START(                             \
        GOMP_loop_##s##_start, begin_, end, step, chunk, from,                          \
        to) bool GOMP_loop_##s##_next REC_NEXT_ARGS                                     \
    LOOP_NEXT(GOMP_loop_##s##_next) bool GOMP_loop_ull_##s##_start REC_ULL_CHUNKED_ARGS \
    LOOP_START(GOMP_loop_ull_##s##_start, up, begin_, end, step, chunk, from,           \
               to) bool GOMP_loop_ull_##s##_next REC_ULL_NEXT_ARGS                      \
    LOOP_NEXT(GOMP_loop_ull_##s##_next)
REC_GOMP_CHUNKED(LOOP_CHUNKED)

#define BY_RUNTIME(s)                                                                   \
    bool GOMP_loop_##s##_start REC_RUNTIME_ARGS LOOP_START(                             \
        GOMP_loop_##s##_start, begin_, end, step, from,                                 \
        to) bool GOMP_loop_##s##_next REC_NEXT_ARGS                                     \
    LOOP_NEXT(GOMP_loop_##s##_next) bool GOMP_loop_ull_##s##_start REC_ULL_RUNTIME_ARGS \
    LOOP_START(GOMP_loop_ull_##s##_start, up, begin_, end, step, from,                  \
               to) bool GOMP_loop_ull_##s##_next REC_ULL_NEXT_ARGS                      \
    LOOP_NEXT(GOMP_loop_ull_##s##_next)
REC_GOMP_BY_RUNTIME(BY_RUNTIME)

bool GOMP_loop_start REC_GENERAL_ARGS
LOOP_START(GOMP_loop_start, begin_, end, step, schedule, chunk, from, to, reductions,
           memory) bool GOMP_loop_ordered_start REC_GENERAL_ARGS
    LOOP_START(GOMP_loop_ordered_start, begin_, end, step, schedule, chunk, from, to, reductions,
               memory) bool GOMP_loop_ull_start REC_ULL_GENERAL_ARGS
    LOOP_START(GOMP_loop_ull_start, up, begin_, end, step, schedule, chunk, from, to, reductions,
               memory) bool GOMP_loop_ull_ordered_start REC_ULL_GENERAL_ARGS
    LOOP_START(GOMP_loop_ull_ordered_start, up, begin_, end, step, schedule, chunk, from, to,
               reductions, memory)

/* ---- ends ------------------------------------------------------------------------------------ */

/* The barrier at the end, then the construct. */
#define END(construct, call)                                                          \
    REC_GOMP;                                                                         \
    struct rec_call made = rec_gomp_open(gomp, REC_OMP_IMPLICIT_BARRIER, REC_CALLER); \
    call;                                                                             \
    rec_omp_leave(construct, rec_gomp_close(&made))

        void GOMP_loop_end(void)
{
    END(REC_OMP_FOR, gomp->GOMP_loop_end());
}

bool GOMP_loop_end_cancel(void)
{
    bool result;
    END(REC_OMP_FOR, result = gomp->GOMP_loop_end_cancel());
    return result;
}

void GOMP_loop_end_nowait(void)
{
    REC_GOMP;
    gomp->GOMP_loop_end_nowait();
    rec_omp_leave(REC_OMP_FOR, 0);
}

void GOMP_sections_end(void)
{
    END(REC_OMP_SECTIONS, gomp->GOMP_sections_end());
}

bool GOMP_sections_end_cancel(void)
{
    bool result;
    END(REC_OMP_SECTIONS, result = gomp->GOMP_sections_end_cancel());
    return result;
}

void GOMP_sections_end_nowait(void)
{
    REC_GOMP;
    gomp->GOMP_sections_end_nowait();
    rec_omp_leave(REC_OMP_SECTIONS, 0);
}

/* ---- sections -------------------------------------------------------------------------------- */

unsigned GOMP_sections_start(unsigned count)
    START(REC_OMP_SECTIONS, REC_OMP_NEXT_SECTION, unsigned, GOMP_sections_start, count)

        unsigned GOMP_sections2_start(unsigned count, uintptr_t *reductions, void **memory)
            START(REC_OMP_SECTIONS, REC_OMP_NEXT_SECTION, unsigned, GOMP_sections2_start, count,
                  reductions, memory)

                unsigned GOMP_sections_next(void)
{
    REC_GOMP;
    struct rec_call made = rec_gomp_open_request(rec_gomp_self(gomp), REC_OMP_NEXT_SECTION);
    unsigned result = gomp->GOMP_sections_next();
    rec_gomp_close(&made);
    return result;
}

/* ---- loops with ordered(n) and depend ---------------------------------------------------------
 */

/* Dimensions of the loop that this thread is in: how many arguments a wait has. It is a property
 * of the loop that comes last, because such loops do not nest in one team; a task that it waits in
 * cannot run another. */
static __thread unsigned dimensions;

#define DOACROSS_START(name, ...)                                                             \
    {                                                                                         \
        REC_GOMP;                                                                             \
        struct rec_call made = begin_loop(gomp, REC_OMP_FOR, REC_OMP_NEXT_CHUNK, REC_CALLER); \
        dimensions = n;                                                                       \
        bool result = gomp->name(__VA_ARGS__);                                                \
        rec_gomp_close(&made);                                                                \
        return result;                                                                        \
    }

#define DOACROSS(s)                                                       \
    bool GOMP_loop_doacross_##s##_start REC_DOACROSS_ARGS DOACROSS_START( \
        GOMP_loop_doacross_##s##_start, n, counts, chunk, from,           \
        to) bool GOMP_loop_ull_doacross_##s##_start REC_ULL_DOACROSS_ARGS \
    DOACROSS_START(GOMP_loop_ull_doacross_##s##_start, n, counts, chunk, from, to)
REC_GOMP_DOACROSS(DOACROSS)

bool GOMP_loop_doacross_start REC_DOACROSS_GENERAL_ARGS
    DOACROSS_START(GOMP_loop_doacross_start, n, counts, schedule, chunk, from, to, reductions,
                   memory) bool GOMP_loop_doacross_runtime_start REC_DOACROSS_RUNTIME_ARGS
    DOACROSS_START(GOMP_loop_doacross_runtime_start, n, counts, from,
                   to) bool GOMP_loop_ull_doacross_start REC_ULL_DOACROSS_GENERAL_ARGS
    DOACROSS_START(GOMP_loop_ull_doacross_start, n, counts, schedule, chunk, from, to, reductions,
                   memory) bool GOMP_loop_ull_doacross_runtime_start REC_ULL_DOACROSS_RUNTIME_ARGS
    DOACROSS_START(GOMP_loop_ull_doacross_runtime_start, n, counts, from, to)

    /* The runtime takes as many of the arguments as the loop has dimensions, so that more do no
     * harm. Sixteen are more than any loop nest that a compiler accepts in reasonable time. */
    enum {
        MOST_DIMENSIONS = 16
    };

#define DOACROSS_WAIT(type, name)                                                            \
    {                                                                                        \
        type c[MOST_DIMENSIONS] = {first};                                                   \
        va_list arguments;                                                                   \
        va_start(arguments, first);                                                          \
        for (unsigned i = 1; i < dimensions && i < MOST_DIMENSIONS; i++)                     \
            c[i] = va_arg(arguments, type);                                                  \
        va_end(arguments);                                                                   \
        REC_GOMP;                                                                            \
        struct rec_call made = rec_gomp_open(gomp, REC_OMP_ORDERED, REC_CALLER);             \
        gomp->name(c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9], c[10], c[11], \
                   c[12], c[13], c[14], c[15]);                                              \
        rec_gomp_close(&made);                                                               \
    }

void GOMP_doacross_wait(long first, ...)
    DOACROSS_WAIT(long, GOMP_doacross_wait) void GOMP_doacross_ull_wait(rec_ull first, ...)
        DOACROSS_WAIT(rec_ull, GOMP_doacross_ull_wait)
