/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/omp/gomp.h"

#include "base/mix.h"
#include "record/libraries.h"
#include "record/omp/team.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static rec_body *gomp_trampoline(rec_body *body);
static void gomp_run_apart(rec_body *body, void *data);

REC_INLINE void gomp_run(rec_body *body, void *data)
{
    if (REC_LIKELY(__atomic_load_n(&rec_gomp_only, __ATOMIC_RELAXED) != NULL))
        body(data);
    else
        gomp_run_apart(body, data);
}

/* An address of code as a pointer to data. */
static inline const void *gomp_place(rec_body *body)
{
    const void *code;
    __builtin_memcpy(&code, &body, sizeof code);
    return code;
}

/* The calling thread if constructs of that runtime are to be recorded, else NULL. */
static inline struct rec_thread *gomp_self(const struct rec_gomp *gomp)
{
    return REC_LIKELY(gomp->is_ours) ? rec_omp_self() : NULL;
}

/* Opens a call of the runtime that returns to `from`. */
static inline struct rec_call gomp_open_for(struct rec_thread *self, enum rec_omp_region construct,
                                            const void *from)
{
    struct rec_call call = {self, 0};
    if (REC_UNLIKELY(!self))
        return call;
    call.region = rec_omp_at(construct, from);
    rec_omp_open(self, call.region);
    return call;
}

static inline struct rec_call gomp_open(const struct rec_gomp *gomp, enum rec_omp_region construct,
                                        const void *from)
{
    return gomp_open_for(gomp_self(gomp), construct, from);
}

/* Closes the call and returns the present; 0: the call is not recorded. */
REC_INLINE uint64_t gomp_close(const struct rec_call *call)
{
    return REC_LIKELY(call->self != NULL) ? rec_omp_close(call->self, call->region) : 0;
}

/* The body of an entry point whose whole call is one region. */
#define GOMP_CALL(construct, call)                                 \
    REC_GOMP;                                                      \
    struct rec_call made = gomp_open(gomp, construct, REC_CALLER); \
    call;                                                          \
    gomp_close(&made)

/* ==== tasks =================================================================================== */

/* Tasks: the runtime copies a block of arguments for each task and calls the task's code with it.
 * The recorder hands the runtime a function of its own in place of that code. As a rule this is a
 * trampoline, which stands for one code (see "trampolines" below). Where no trampoline is left, the
 * block is made larger, and a head in front of it says which code is meant. */

enum {
    NOGROUP = 1 << 11,
    REDUCES = 1 << 12,
    DETACHES = 1 << 13
}; /* bits of the flags of tasks and taskloops */

/* The recorder's head at the start of a larger block. The runtime writes the bounds of a taskloop
 * into the first two words. The program's own block begins `offset` bytes behind the head's begin,
 * aligned as the program asks. */
struct head {
    uint64_t bounds[2];
    rec_body *body;
    uint32_t region;
    uint32_t offset;
};

/* What the runtime is given in place of the program's block of arguments, to make a larger block of
 * it by `copy`; it lives while the task is made. Its first words are those that the runtime reads
 * or writes in the program's block: the handle of the event of a task that detaches, or the bounds
 * and reductions of a taskloop. */
struct source {
    uint64_t words[3];
    struct head head;
    void *data;
    rec_copy *copy;
    size_t size;
    bool detaches;
};

static void copy(void *to, void *from)
{
    const struct source *source = from;
    memcpy(to, &source->head, sizeof source->head);
    void *data = (char *)to + source->head.offset;
    if (source->detaches && source->data)
        memcpy(source->data, &source->words[0], sizeof(void *));
    if (source->copy)
        source->copy(data, source->data);
    else if (source->size > 0)
        memcpy(data, source->data, source->size);
    REC_COMES_BEFORE(to);
}

/* Runs a task's code with its arguments, as the region of that id; the region is left out where
 * nothing is recorded. */
static void gomp_run_task(rec_body *body, uint32_t region, void *data)
{
    struct rec_thread *self = rec_omp_self();
    if (self)
        rec_omp_task_begin(self, region);
    gomp_run(body, data);
    if (self)
        rec_omp_task_end(self, region);
    REC_COMES_BEFORE(&rec_omp_tasks_ended);
}

static void run_task(void *block)
{
    const struct head *head = block;
    REC_COMES_AFTER(block);
    gomp_run_task(head->body, head->region, (char *)block + head->offset);
}

static void run_taskloop(void *block)
{
    const struct head *head = block;
    REC_COMES_AFTER(block);
    char *data = (char *)block + head->offset;
    memcpy(data, head->bounds, sizeof head->bounds);
    gomp_run_task(head->body, head->region, data);
}

static void prepare(struct source *source, rec_body *body, void *data, rec_copy *copier, long size,
                    long *align)
{
    if (*align < (long)_Alignof(struct head))
        *align = _Alignof(struct head);
    size_t head = (sizeof(struct head) + (size_t)*align - 1) / (size_t)*align * (size_t)*align;
    *source = (struct source){
        .head = {.body = body,
                 .region = rec_omp_outlined(REC_OMP_TASK, gomp_place(body)),
                 .offset = (uint32_t)head},
        .data = data,
        .copy = copier,
        .size = size > 0 ? (size_t)size : 0,
    };
}

void GOMP_task(rec_body *body, void *data, rec_copy *copier, long size, long align, bool deferred,
               unsigned flags, void **depend, int priority, void *detach)
{
    const struct rec_gomp *gomp = rec_gomp_at(gomp_place(body));
    struct rec_thread *self = gomp_self(gomp);
    if (!self) {
        gomp->GOMP_task(body, data, copier, size, align, deferred, flags, depend, priority, detach);
        return;
    }
    rec_body *trampoline = gomp_trampoline(body);
    struct source source;
    if (REC_UNLIKELY(!trampoline)) {
        prepare(&source, body, data, copier, size, &align);
        source.detaches = flags & DETACHES;
        trampoline = run_task;
        data = &source;
        copier = copy;
        size = (long)(source.head.offset + source.size);
    }
    /* The place is that of the task's code: gcc gives the call of GOMP_task no line. */
    const void *place = rec_omp_place_of(gomp_place(body));
    const struct rec_call made = gomp_open_for(self, REC_OMP_TASK_CREATE, place);
    gomp->GOMP_task(trampoline, data, copier, size, align, deferred, flags, depend, priority,
                    detach);
    gomp_close(&made);
}

#define TASKLOOP(name)                                                                           \
    const struct rec_gomp *gomp = rec_gomp_at(gomp_place(body));                                 \
    struct rec_thread *self = gomp_self(gomp);                                                   \
    if (!self) {                                                                                 \
        gomp->name(body, data, copier, size, align, flags, tasks, priority, begin, end, step);   \
        return;                                                                                  \
    }                                                                                            \
    rec_body *trampoline = gomp_trampoline(body);                                                \
    struct source source;                                                                        \
    if (REC_UNLIKELY(!trampoline)) {                                                             \
        prepare(&source, body, data, copier, size, &align);                                      \
        if (flags & REDUCES)                                                                     \
            memcpy(source.words, data, sizeof source.words);                                     \
        trampoline = run_taskloop;                                                               \
        data = &source;                                                                          \
        copier = copy;                                                                           \
        size = (long)(source.head.offset + source.size);                                         \
    }                                                                                            \
    struct rec_call made = gomp_open_for(                                                        \
        self, flags & NOGROUP ? REC_OMP_TASKLOOP_NOGROUP : REC_OMP_TASKLOOP, REC_CALLER);        \
    gomp->name(trampoline, data, copier, size, align, flags, tasks, priority, begin, end, step); \
    gomp_close(&made)

void GOMP_taskloop(rec_body *body, void *data, rec_copy *copier, long size, long align,
                   unsigned flags, unsigned long tasks, int priority, long begin, long end,
                   long step)
{
    TASKLOOP(GOMP_taskloop);
}

void GOMP_taskloop_ull(rec_body *body, void *data, rec_copy *copier, long size, long align,
                       unsigned flags, unsigned long tasks, int priority, rec_ull begin,
                       rec_ull end, rec_ull step)
{
    TASKLOOP(GOMP_taskloop_ull);
}

/* ---- waiting for tasks ----------------------------------------------------------------------- */

void GOMP_taskwait(void)
{
    GOMP_CALL(REC_OMP_TASK_WAIT, gomp->GOMP_taskwait());
}

void GOMP_taskwait_depend(void **depend)
{
    GOMP_CALL(REC_OMP_TASK_WAIT, gomp->GOMP_taskwait_depend(depend));
}

void GOMP_taskyield(void)
{
    GOMP_CALL(REC_OMP_TASK_YIELD, gomp->GOMP_taskyield());
}

void GOMP_taskgroup_end(void)
{
    GOMP_CALL(REC_OMP_TASKGROUP, gomp->GOMP_taskgroup_end());
}

/* ==== trampolines ============================================================================= */

/* A trampoline is one of a fixed number of functions of the recorder, which belongs to the code of
 * one task for good. The runtime gets the trampoline in place of that code. So the program's block
 * of arguments stays as it is: no larger block has to be copied to say which code is meant. */

enum { TRAMPOLINE_PROBES = 8 };

/* A hash table with open addressing; a place, once taken, belongs to its code for good. Threads
 * that come to a new place at the same time write the same region. */
static struct trampoline_place {
    rec_body *body;  /* atomic */
    uint32_t region; /* atomic; 0: not known yet */
} trampoline_places[256];

static void run_at(const struct trampoline_place *place, void *data)
{
    REC_COMES_AFTER(place);
    gomp_run_task(__atomic_load_n(&place->body, __ATOMIC_RELAXED),
                  __atomic_load_n(&place->region, __ATOMIC_RELAXED), data);
}

/* One function for each place, 0x00 to 0xff. */
/* clang-format off */
#define ROW(X, high)                                                                       \
    X(high##0) X(high##1) X(high##2) X(high##3) X(high##4) X(high##5) X(high##6) X(high##7) \
    X(high##8) X(high##9) X(high##a) X(high##b) X(high##c) X(high##d) X(high##e) X(high##f)
#define ALL(X)                                                                             \
    ROW(X, 0x0) ROW(X, 0x1) ROW(X, 0x2) ROW(X, 0x3) ROW(X, 0x4) ROW(X, 0x5) ROW(X, 0x6)     \
    ROW(X, 0x7) ROW(X, 0x8) ROW(X, 0x9) ROW(X, 0xa) ROW(X, 0xb) ROW(X, 0xc) ROW(X, 0xd)     \
    ROW(X, 0xe) ROW(X, 0xf)

/* clang-format on */

#define DEFINE(n)                            \
    static void trampoline_##n(void *data)   \
    {                                        \
        run_at(&trampoline_places[n], data); \
    }

ALL(DEFINE)

#define ENTRY(n) trampoline_##n,
static rec_body *const trampolines[] = {ALL(ENTRY)};

_Static_assert(sizeof trampolines / sizeof *trampolines ==
                   sizeof trampoline_places / sizeof *trampoline_places,
               "one for each place");

/* The trampoline for a task's code. NULL: all places where it could stand belong to other codes. */
static rec_body *gomp_trampoline(rec_body *body)
{
    const void *code = gomp_place(body);
    const uint64_t hash = lull_spread((uintptr_t)code);
    for (unsigned i = 0; i < TRAMPOLINE_PROBES; i++) {
        const size_t at =
            ((hash >> 40) + i) % (sizeof trampoline_places / sizeof *trampoline_places);
        struct trampoline_place *place = &trampoline_places[at];
        rec_body *there = __atomic_load_n(&place->body, __ATOMIC_ACQUIRE);
        if (!there && __atomic_compare_exchange_n(&place->body, &there, body, false,
                                                  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            there = body;
        if (there != body)
            continue;
        if (REC_UNLIKELY(__atomic_load_n(&place->region, __ATOMIC_RELAXED) == 0))
            __atomic_store_n(&place->region, rec_omp_outlined(REC_OMP_TASK, code),
                             __ATOMIC_RELEASE);
        REC_COMES_BEFORE(place);
        return trampolines[at];
    }
    return NULL;
}

/* ==== loops and sections ====================================================================== */

/* Loops whose chunks the runtime hands out, and sections. The start of a loop enters a construct
 * and the end leaves it; each request for a chunk is a call. A loop whose schedule is static at
 * compile time never asks the runtime for a chunk: of such a loop only the barrier is seen. */

/* Enters the construct and opens the request for the first chunk, which the same call makes. */
static struct rec_call begin_loop(const struct rec_gomp *gomp, enum rec_omp_region construct,
                                  enum rec_omp_region request, const void *from)
{
    struct rec_thread *self = gomp_self(gomp);
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
        gomp_close(&made);                                                      \
        return result;                                                          \
    }
#define LOOP_START(name, ...) START(REC_OMP_FOR, REC_OMP_NEXT_CHUNK, bool, name, __VA_ARGS__)
#define LOOP_NEXT(name)                                                                    \
    {                                                                                      \
        REC_GOMP;                                                                          \
        struct rec_call made = rec_gomp_open_request(gomp_self(gomp), REC_OMP_NEXT_CHUNK); \
        bool result = gomp->name(from, to);                                                \
        gomp_close(&made);                                                                 \
        return result;                                                                     \
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

/* Records the barrier at the end of the construct, and leaves the construct. */
#define END(construct, call)                                                      \
    REC_GOMP;                                                                     \
    struct rec_call made = gomp_open(gomp, REC_OMP_IMPLICIT_BARRIER, REC_CALLER); \
    call;                                                                         \
    rec_omp_leave(construct, gomp_close(&made))

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
    struct rec_call made = rec_gomp_open_request(gomp_self(gomp), REC_OMP_NEXT_SECTION);
    unsigned result = gomp->GOMP_sections_next();
    gomp_close(&made);
    return result;
}

/* ---- loops with ordered(n) and depend -------------------------------------------------------- */

/* Dimensions of the loop in which this thread is: GOMP_doacross_wait has so many arguments. It is
 * enough to know the dimensions of the last loop, because such loops do not nest in one team, and a
 * task that runs while the loop waits cannot contain such a loop. */
static __thread unsigned dimensions;

#define DOACROSS_START(name, ...)                                                             \
    {                                                                                         \
        REC_GOMP;                                                                             \
        struct rec_call made = begin_loop(gomp, REC_OMP_FOR, REC_OMP_NEXT_CHUNK, REC_CALLER); \
        dimensions = n;                                                                       \
        bool result = gomp->name(__VA_ARGS__);                                                \
        gomp_close(&made);                                                                    \
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

    /* A wait is passed on with MOST_DIMENSIONS arguments; the runtime takes as many as the loop has
     * dimensions, so that more do no harm. Sixteen are more than any loop nest that a compiler
     * accepts in reasonable time. */
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
        struct rec_call made = gomp_open(gomp, REC_OMP_ORDERED, REC_CALLER);                 \
        gomp->name(c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9], c[10], c[11], \
                   c[12], c[13], c[14], c[15]);                                              \
        gomp_close(&made);                                                                   \
    }

void GOMP_doacross_wait(long first, ...)
    DOACROSS_WAIT(long, GOMP_doacross_wait) void GOMP_doacross_ull_wait(rec_ull first, ...)
        DOACROSS_WAIT(rec_ull, GOMP_doacross_ull_wait)

/* ==== parallel regions ======================================================================== */

/* The runtime is given a function of the recorder, in which each thread of the team calls the
 * function that the compiler has made of the region. */

#define NO_CONSTRUCT REC_OMP_REGIONS

    /* What the runtime gets in place of the program's block of arguments. It lives on the stack of
 * the master, who leaves only when all threads have run the code. */
    struct parallel {
    _Alignas(
        64) void *first_word; /* of the program's block: GOMP_parallel_reductions looks there */
    rec_body *body;
    void *data;
    struct rec_fork fork;
};

/* A region that is not recorded runs in a function of the recorder, too. So each of its threads
 * becomes a location there, and leaves out the end of the construct because it has left out the
 * begin. */
static REC_COLD void run_unseen(const struct parallel *parallel, enum rec_omp_region construct)
{
    if (construct != NO_CONSTRUCT)
        rec_omp_skip();
    gomp_run(parallel->body, parallel->data);
    const struct rec_fork *fork = &parallel->fork;
    if (fork->master == rec_self_or_null) /* paused since the fork */
        rec_omp_arrive(fork->master, fork, fork->barrier);
    REC_COMES_BEFORE(parallel);
}

/* Enters the construct with which a region is combined (parallel for); its place is that of the
 * code. */
REC_INLINE void enter_construct(struct rec_thread *self, const struct parallel *parallel,
                                enum rec_omp_region construct)
{
    const void *place = rec_omp_place_of(gomp_place(parallel->body));
    if (construct != NO_CONSTRUCT)
        rec_omp_enter_shared(self, construct, place);
}

/* Runs the region's code on one thread of the team. `construct`: what the region is combined with
 * (parallel for), or NO_CONSTRUCT. */
REC_INLINE void run_with(const struct parallel *parallel, enum rec_omp_region construct)
{
    REC_COMES_AFTER(parallel);
    if (REC_UNLIKELY(!rec_self_or_null))
        rec_omp_thread_begin();
    const struct rec_fork *fork = &parallel->fork;
    struct rec_thread *self = fork->region != 0 ? rec_omp_self() : NULL;
    if (REC_UNLIKELY(!self)) {
        run_unseen(parallel, construct);
        return;
    }
    rec_omp_begin(self, fork);
    enter_construct(self, parallel, construct);
    gomp_run(parallel->body, parallel->data);
    rec_omp_arrive(self, fork, fork->barrier);
    REC_COMES_BEFORE(parallel);
}

static void run(void *parallel)
{
    run_with(parallel, NO_CONSTRUCT);
}

static void run_loop(void *parallel)
{
    run_with(parallel, REC_OMP_FOR);
}

static void run_sections(void *parallel)
{
    run_with(parallel, REC_OMP_SECTIONS);
}

/* Begins a region on its master; `self` NULL: the region is not recorded. */
static void begin_region(struct parallel *parallel, struct rec_thread *self, rec_body *body,
                         void *data)
{
    parallel->body = body;
    parallel->data = data;
    parallel->fork.region = 0;
    parallel->fork.master = NULL;
    if (REC_LIKELY(self != NULL))
        rec_omp_fork(self, &parallel->fork, REC_OMP_PARALLEL, gomp_place(body));
    REC_COMES_BEFORE(parallel);
}

static void end_region(const struct parallel *parallel)
{
    REC_COMES_AFTER(parallel);
    REC_COMES_AFTER(&rec_omp_tasks_ended);
    if (REC_LIKELY(parallel->fork.master != NULL))
        rec_omp_join(parallel->fork.master, &parallel->fork);
}

/* Calls the runtime's function `name` with `runner` in place of the program's code; the arguments
 * after `data` are passed on as they are. */
#define PARALLEL(runner, name, ...)                                  \
    do {                                                             \
        const struct rec_gomp *gomp = rec_gomp_at(gomp_place(body)); \
        struct rec_thread *self = gomp_self(gomp);                   \
        struct parallel parallel;                                    \
        begin_region(&parallel, self, body, data);                   \
        gomp->name(runner, &parallel, __VA_ARGS__);                  \
        end_region(&parallel);                                       \
    } while (0)

void GOMP_parallel(rec_body *body, void *data, unsigned threads, unsigned flags)
{
    PARALLEL(run, GOMP_parallel, threads, flags);
}

void GOMP_parallel_sections(rec_body *body, void *data, unsigned threads, unsigned count,
                            unsigned flags)
{
    PARALLEL(run_sections, GOMP_parallel_sections, threads, count, flags);
}

#define PARALLEL_CHUNKED(s)                                                                   \
    void GOMP_parallel_loop_##s REC_PARALLEL_CHUNKED_ARGS                                     \
    {                                                                                         \
        PARALLEL(run_loop, GOMP_parallel_loop_##s, threads, begin_, end, step, chunk, flags); \
    }
#define PARALLEL_BY_RUNTIME(s)                                                         \
    void GOMP_parallel_loop_##s REC_PARALLEL_RUNTIME_ARGS                              \
    {                                                                                  \
        PARALLEL(run_loop, GOMP_parallel_loop_##s, threads, begin_, end, step, flags); \
    }

REC_GOMP_PARALLEL_CHUNKED(PARALLEL_CHUNKED)
REC_GOMP_PARALLEL_BY_RUNTIME(PARALLEL_BY_RUNTIME)

unsigned GOMP_parallel_reductions(rec_body *body, void *data, unsigned threads, unsigned flags)
{
    const struct rec_gomp *gomp = rec_gomp_at(gomp_place(body));
    struct rec_thread *self = gomp_self(gomp);
    struct parallel parallel = {.first_word = *(void **)data};
    begin_region(&parallel, self, body, data);
    unsigned result = gomp->GOMP_parallel_reductions(run, &parallel, threads, flags);
    end_region(&parallel);
    return result;
}

/* ---- begin and end in two calls, as gcc did before 4.9 --------------------------------------- */

/* The regions that the thread has begun and not ended, whose code it runs itself between the two
 * calls; those nested deeper than 8 are not recorded. */
static __thread struct {
    unsigned depth;
    struct parallel parallels[8];
    bool recorded[8];
} old;

static struct parallel *old_begin(const struct rec_gomp *gomp, rec_body *body, void *data)
{
    struct rec_thread *self = gomp_self(gomp);
    unsigned at = old.depth++;
    if (at >= 8)
        return NULL;
    old.recorded[at] = self != NULL;
    if (!self)
        return NULL;
    begin_region(&old.parallels[at], self, body, data);
    return &old.parallels[at];
}

static void old_begun(const struct parallel *parallel, enum rec_omp_region construct)
{
    struct rec_thread *self = parallel->fork.master;
    rec_omp_begin(self, &parallel->fork);
    enter_construct(self, parallel, construct);
}

#define OLD_PARALLEL(construct, runner, name, ...)                   \
    do {                                                             \
        const struct rec_gomp *gomp = rec_gomp_at(gomp_place(body)); \
        struct parallel *parallel = old_begin(gomp, body, data);     \
        if (!parallel) {                                             \
            if ((construct) != NO_CONSTRUCT)                         \
                rec_omp_skip();                                      \
            gomp->name(body, data, __VA_ARGS__);                     \
            return;                                                  \
        }                                                            \
        gomp->name(runner, parallel, __VA_ARGS__);                   \
        old_begun(parallel, construct);                              \
    } while (0)

void GOMP_parallel_start(rec_body *body, void *data, unsigned threads)
{
    OLD_PARALLEL(NO_CONSTRUCT, run, GOMP_parallel_start, threads);
}

void GOMP_parallel_sections_start(rec_body *body, void *data, unsigned threads, unsigned count)
{
    OLD_PARALLEL(REC_OMP_SECTIONS, run_sections, GOMP_parallel_sections_start, threads, count);
}

#define OLD_CHUNKED(s)                                                                            \
    void GOMP_parallel_loop_##s##_start REC_OLD_PARALLEL_CHUNKED_ARGS                             \
    {                                                                                             \
        OLD_PARALLEL(REC_OMP_FOR, run_loop, GOMP_parallel_loop_##s##_start, threads, begin_, end, \
                     step, chunk);                                                                \
    }

REC_GOMP_OLD_PARALLEL_CHUNKED(OLD_CHUNKED)

void GOMP_parallel_loop_runtime_start REC_OLD_PARALLEL_RUNTIME_ARGS
{
    OLD_PARALLEL(REC_OMP_FOR, run_loop, GOMP_parallel_loop_runtime_start, threads, begin_, end,
                 step);
}

void GOMP_parallel_end(void)
{
    REC_GOMP;
    unsigned at = old.depth > 0 ? --old.depth : 8;
    if (at >= 8 || !old.recorded[at]) {
        gomp->GOMP_parallel_end();
        return;
    }
    struct rec_fork *fork = &old.parallels[at].fork;
    rec_omp_arrive(fork->master, fork, fork->barrier);
    gomp->GOMP_parallel_end();
    REC_COMES_AFTER(&old.parallels[at]);
    REC_COMES_AFTER(&rec_omp_tasks_ended);
    rec_omp_join(fork->master, fork);
}

/* ---- teams on the host ----------------------------------------------------------------------- */

void GOMP_teams_reg(rec_body *body, void *data, unsigned teams, unsigned limit, unsigned flags)
{
    const struct rec_gomp *gomp = rec_gomp_at(gomp_place(body));
    struct rec_thread *self = gomp_self(gomp);
    if (self)
        rec_omp_enter(self, rec_omp_at(REC_OMP_TEAMS, REC_CALLER), rec_omp_now(self));
    else
        rec_omp_skip();
    gomp->GOMP_teams_reg(body, data, teams, limit, flags);
    rec_omp_leave(REC_OMP_TEAMS, 0);
}

/* ==== synchronisation ========================================================================= */

/* Barriers, single, critical, ordered, atomic, locks: the wait is recorded as a call; the time
 * inside of the construct is the program's. */

/* A wait that begins a body. */
#define BEGIN_BODY(region, body, call)                               \
    REC_GOMP;                                                        \
    struct rec_call made = gomp_open(gomp, region, REC_CALLER);      \
    call;                                                            \
    uint64_t now = gomp_close(&made);                                \
    if (made.self)                                                   \
        rec_omp_enter(made.self, rec_omp_at(body, REC_CALLER), now); \
    else                                                             \
        rec_omp_skip()

/* The body ends before the runtime's function is called, which has little to do. */
#define END_BODY(body, call) \
    REC_GOMP;                \
    rec_omp_leave(body, 0);  \
    call

void GOMP_barrier(void)
{
    GOMP_CALL(REC_OMP_BARRIER, gomp->GOMP_barrier());
}

bool GOMP_barrier_cancel(void)
{
    bool result;
    GOMP_CALL(REC_OMP_BARRIER, result = gomp->GOMP_barrier_cancel());
    return result;
}

void GOMP_workshare_task_reduction_unregister(bool cancelled)
{
    GOMP_CALL(REC_OMP_IMPLICIT_BARRIER, gomp->GOMP_workshare_task_reduction_unregister(cancelled));
}

void GOMP_scope_start(uintptr_t *reductions)
{
    GOMP_CALL(REC_OMP_WORKSHARE, gomp->GOMP_scope_start(reductions));
}

/* ---- single: there is no call at its end ----------------------------------------------------- */

bool GOMP_single_start(void)
{
    bool result;
    GOMP_CALL(REC_OMP_SINGLE, result = gomp->GOMP_single_start());
    return result;
}

void *GOMP_single_copy_start(void)
{
    void *result;
    GOMP_CALL(REC_OMP_SINGLE_WAIT, result = gomp->GOMP_single_copy_start());
    return result;
}

void GOMP_single_copy_end(void *data)
{
    GOMP_CALL(REC_OMP_SINGLE_WAIT, gomp->GOMP_single_copy_end(data));
}

/* ---- critical, atomic, ordered --------------------------------------------------------------- */

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

/* The body of an atomic is a few instructions long and has no region of its own. */
void GOMP_atomic_start(void)
{
    GOMP_CALL(REC_OMP_ATOMIC, gomp->GOMP_atomic_start());
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

/* ---- locks: from C, and with an underscore from Fortran -------------------------------------- */

/* Calls a lock's function of libomp and keeps the program's place meanwhile: libomp tells of the
 * wait through its tools interface, but does not always know where it was called from. */
static void tell_caller(void (*function)(void *), void *lock, const void *from)
{
    struct rec_thread *self = rec_omp_self();
    if (self)
        rec_omp_of(self)->called_from = from;
    function(lock);
    if (self)
        rec_omp_of(self)->called_from = NULL;
}

#define LOCK_ENTRY(name, region)                                    \
    void name(void *lock)                                           \
    {                                                               \
        REC_GOMP;                                                   \
        if (!gomp->is_ours) {                                       \
            tell_caller(gomp->name, lock, REC_CALLER);              \
            return;                                                 \
        }                                                           \
        struct rec_call made = gomp_open(gomp, region, REC_CALLER); \
        gomp->name(lock);                                           \
        gomp_close(&made);                                          \
    }

/* Tests of locks are recorded here also where libomp tells what happens: of a test it does not tell
 * the end. */
static struct rec_call begin_test(enum rec_omp_region construct, const void *from)
{
    struct rec_thread *self = rec_omp_self();
    struct rec_call made = gomp_open_for(self, construct, from);
    if (self)
        rec_omp_of(self)->tests_lock = true;
    return made;
}

static void end_test(const struct rec_call *made)
{
    if (made->self)
        rec_omp_of(made->self)->tests_lock = false;
    gomp_close(made);
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

/* ==== finding the runtime ===================================================================== */

const struct rec_gomp *rec_gomp_only;

struct function {
    const char *name;
    size_t offset;
};

#define REC_X(result, name, parameters) {#name, offsetof(struct rec_gomp, name)},

static const struct function gomp_symbols[] = {REC_GOMP_FUNCTIONS};
static const struct function llvm_functions[] = {REC_KMPC_FUNCTIONS};
#undef REC_X

/* ---- one runtime ----------------------------------------------------------------------------- */

/* Whether the library is libgomp, which has functions of OpenACC; LLVM's runtime has none. They are
 * looked for first, because a look-up that succeeds takes no memory from the program's heap. */
static bool is_libgomp(void *library, void *function)
{
    Dl_info info, other;
    if (!function || dladdr(function, &info) == 0 || !info.dli_fname)
        return false;
    void *acc = dlsym(library, "GOACC_parallel");
    if (acc && dladdr(acc, &other) != 0 && other.dli_fbase == info.dli_fbase)
        return true;
    void *file = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    bool is_llvm = file && dlsym(file, "__kmpc_fork_call");
    if (file)
        dlclose(file);
    return !is_llvm;
}

static void find_gomp_functions(struct rec_gomp *gomp, void *library, const struct function *wanted,
                                size_t n)
{
    for (size_t i = 0; i < n; i++) {
        void *function = dlsym(library, wanted[i].name);
        memcpy((char *)gomp + wanted[i].offset, &function, sizeof function);
    }
}

/* The functions that `library` has, or that come next in the order of search; NULL: no memory. */
static struct rec_gomp *make_runtime(void *library)
{
    struct rec_gomp *gomp =
        mmap(NULL, sizeof *gomp, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (gomp == MAP_FAILED)
        return NULL;
    gomp->is_ours = is_libgomp(library, dlsym(library, "GOMP_barrier"));
    find_gomp_functions(gomp, library, gomp_symbols, sizeof gomp_symbols / sizeof *gomp_symbols);
    if (!gomp->is_ours)
        find_gomp_functions(gomp, library, llvm_functions,
                            sizeof llvm_functions / sizeof *llvm_functions);
    return gomp;
}

/* Several threads may come here at the same time: the first one's result is kept, and the others
 * take it. The loader is never called with a lock held, because it may be waiting for a thread that
 * wants that lock. */
static const struct rec_gomp *find_only(void)
{
    if (!dlsym(RTLD_NEXT, "GOMP_barrier"))
        return NULL;
    const struct rec_gomp *known = NULL, *made = make_runtime(RTLD_NEXT);
    if (made && !__atomic_compare_exchange_n(&rec_gomp_only, &known, made, false, __ATOMIC_ACQ_REL,
                                             __ATOMIC_ACQUIRE))
        return known;
    return made;
}

/* Not NULL where an OpenMP runtime is there when the recorder is loaded: every runtime has this
 * function. dlsym is not asked, because a look-up that fails takes memory from the program's
 * heap. */
extern int omp_get_max_threads(void) __attribute__((weak));

__attribute__((constructor)) static void start_gomp(void)
{
    if (omp_get_max_threads)
        find_only();
}

/* ---- runtimes that modules have brought along ------------------------------------------------ */

enum { MOST_RUNTIMES = 64 };

static const char *const names[] = {"libgomp", "libomp", "libiomp", NULL};
static pthread_mutex_t runtimes_lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
    const char *file;
    const struct rec_gomp *gomp;
} known_runtimes[MOST_RUNTIMES];

static unsigned n_runtimes; /* atomic */

/* Places of code -> runtimes; &no_runtime where the code's file names none that it needs. */
static struct rec_map runtime_places;

static const struct rec_gomp no_runtime;

/* The runtime of the innermost region or task whose code the thread runs. */
static __thread const struct rec_gomp *current __attribute__((tls_model("initial-exec")));

static const struct rec_gomp *known_runtime(const char *file)
{
    unsigned n = __atomic_load_n(&n_runtimes, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < n; i++)
        if (strcmp(known_runtimes[i].file, file) == 0)
            return known_runtimes[i].gomp;
    return NULL;
}

/* Makes the entry of a runtime. Its library stays open, so that it is not unloaded from now on. */
static const struct rec_gomp *new_runtime(const char *file, void *library)
{
    const struct rec_gomp *gomp = library ? make_runtime(library) : NULL;
    pthread_mutex_lock(&runtimes_lock);
    const struct rec_gomp *known = known_runtime(file);
    if (!known && gomp && n_runtimes < MOST_RUNTIMES) {
        known_runtimes[n_runtimes].file = file;
        known_runtimes[n_runtimes].gomp = gomp;
        __atomic_store_n(&n_runtimes, n_runtimes + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&runtimes_lock);
    return known ? known : gomp;
}

static void keep_runtime(const void *place, const struct rec_gomp *gomp)
{
    pthread_mutex_lock(&runtimes_lock);
    rec_map_put(&runtime_places, (uintptr_t)place, (uintptr_t)gomp);
    pthread_mutex_unlock(&runtimes_lock);
}

/* A runtime for code whose file does not tell which it needs. */
static const struct rec_gomp *any_runtime(void)
{
    if (__atomic_load_n(&n_runtimes, __ATOMIC_ACQUIRE) > 0)
        return known_runtimes[0].gomp;
    for (const char *const *name = names; *name; name++) {
        void *library = rec_private_library(*name, "omp_set_lock");
        const struct rec_gomp *gomp = library ? new_runtime(*name, library) : NULL;
        if (gomp)
            return gomp;
    }
    return &no_runtime;
}

/* Once a module's own runtime is known, the loader is asked about new places alone. Each question
 * may have to wait: a thread may be in a region that the constructor of a library has begun, and
 * the loader is locked until the constructor ends. */
const struct rec_gomp *rec_gomp_find(const void *place)
{
    const struct rec_gomp *found = (const void *)rec_map_get(&runtime_places, (uintptr_t)place);
    if (!found && __atomic_load_n(&n_runtimes, __ATOMIC_ACQUIRE) == 0 && (found = find_only()))
        return found;
    if (!found) {
        const char *file = rec_needed_library(place, names);
        found = file ? known_runtime(file) : &no_runtime;
        if (!found)
            found = new_runtime(file, dlopen(file, RTLD_LAZY | RTLD_NOLOAD));
        if (found)
            keep_runtime(place, found);
    }
    if (found && found != &no_runtime)
        return found;
    return current ? current : any_runtime();
}

/* Runs the code of a region or task, and notes meanwhile to which runtime it belongs. The place
 * that an entry point returns to does not always tell: the last call of the code may be a jump, so
 * that it returns to the recorder and not to the code. */
static void gomp_run_apart(rec_body *body, void *data)
{
    const struct rec_gomp *before = current;
    current = rec_gomp_at(gomp_place(body));
    body(data);
    current = before;
}
