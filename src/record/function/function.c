#include "record/function/function.h"

#include "record/aside.h"
#include "record/omp/team.h"
#include "record/site/site.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_OPEN_FUNCTIONS = 1 << 20 }; /* on one thread; what is deeper is not recorded */

/* A function that is open. Where the compiler has inlined it, it shares the stack and what it
 * returns to with the one around it, and another instruction tells of it. */
struct open {
    uintptr_t function, caller; /* caller: what it returns to */
    uintptr_t place;            /* what has told of its beginning */
    uintptr_t stack;            /* where that of the function begins */
    uint64_t begin;             /* ticks */
    uint32_t region;            /* 0: it is not recorded */
    bool inlined;
};

/* Calls of one function on this thread. */
struct calls {
    uint64_t count, ticks; /* of those that were looked at together; with what they have called */
    uint64_t left_out;
    uint32_t open; /* that have records */
};

struct open_functions {
    struct open *open;
    size_t n_open, capacity, beyond; /* beyond: those that are open and not in the list */
    struct calls *calls;             /* by region */
    size_t n_calls;
    uintptr_t busy; /* stack of the call that is being recorded: a signal may come in between */
};

/* ---- memory -----------------------------------------------------------------------------------
 */

static void *get_memory(size_t size)
{
    void *got = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return got == MAP_FAILED ? NULL : got;
}

/* Twice as many; what is new is zeroed. NULL: there is no memory, and nothing changes.
 */
static void *get_more(void *old, size_t *count, size_t size)
{
    const size_t more = *count > 0 ? 2 * *count : REC_PAGE / size;
    void *got =
        old ? mremap(old, *count * size, more * size, MREMAP_MAYMOVE) : get_memory(more * size);
    if (!got || got == MAP_FAILED)
        return NULL;
    *count = more;
    return got;
}

/* At the first function of the thread. Where its stack is, and the unwinder, are asked for here
 * already, which takes memory from the program's heap: one that comes later may be a part of that
 * itself, and have its lock. */
static REC_COLD struct open_functions *make_functions(struct rec_thread *self)
{
    const struct rec_aside aside = rec_step_aside();
    self->functions = get_memory(sizeof(struct open_functions));
    rec_site_prepare(self);
    rec_step_back(&aside);
    return self->functions;
}

void rec_functions_free(struct rec_thread *self)
{
    struct open_functions *own = self->functions;
    if (!own)
        return;
    if (own->open)
        munmap(own->open, own->capacity * sizeof *own->open);
    if (own->calls)
        munmap(own->calls, own->n_calls * sizeof *own->calls);
    munmap(own, sizeof *own);
    self->functions = NULL;
}

void rec_functions_count(struct rec_thread *self)
{
    struct open_functions *own = self->functions;
    const size_t count = own ? __atomic_load_n(&own->n_calls, __ATOMIC_ACQUIRE) : 0;
    struct calls *calls = own ? __atomic_load_n(&own->calls, __ATOMIC_ACQUIRE) : NULL;
    for (size_t i = 0; i < count; i++) {
        const uint64_t left_out = __atomic_exchange_n(&calls[i].left_out, 0, __ATOMIC_RELAXED);
        if (left_out > 0)
            rec_function_left_out((uint32_t)i, left_out);
    }
}

void rec_functions_end(struct rec_thread *self)
{
    struct open_functions *own = self->functions;
    if (!own)
        return;
    rec_functions_count(self);
    own->n_open = own->beyond = 0;
    for (size_t i = 0; i < own->n_calls; i++)
        own->calls[i].open = 0;
}

/* The old ones stay where they are: at the end of the process another thread may be counting. All
 * of them together are as large as the new ones. */
static REC_COLD bool more_calls(struct open_functions *own, uint32_t region)
{
    size_t more = own->n_calls > 0 ? 2 * own->n_calls : REC_PAGE / sizeof(struct calls);
    while (more <= region)
        more *= 2;
    struct calls *calls = get_memory(more * sizeof *calls);
    if (!calls)
        return false;
    if (own->calls)
        memcpy(calls, own->calls, own->n_calls * sizeof *calls);
    __atomic_store_n(&own->calls, calls, __ATOMIC_RELEASE);
    __atomic_store_n(&own->n_calls, more, __ATOMIC_RELEASE);
    return true;
}

/* NULL: there is no memory. */
static inline struct calls *calls_of(struct open_functions *own, uint32_t region)
{
    if (REC_UNLIKELY(region >= own->n_calls) && !more_calls(own, region))
        return NULL;
    return &own->calls[region];
}

/* ---- ends -------------------------------------------------------------------------------------
 */

/* Whether a function is too short to be recorded is asked once for so many of its calls. */
static REC_COLD void judge(uintptr_t function, uint32_t region, struct calls *calls)
{
    rec_function_throttle(function, region, calls->ticks);
    calls->count = calls->ticks = 0;
}

static void close_top(struct rec_thread *self, struct open_functions *own)
{
    const struct open *top = &own->open[--own->n_open];
    if (top->region == 0 || !rec_goes_on(self))
        return;
    rec_reserve(self, REC_MOST_SLOTS);
    const uint64_t now = rec_now();
    rec_leave(self, top->region, now);
    struct calls *calls = &own->calls[top->region];
    calls->open--;
    calls->ticks += now - top->begin;
    if (REC_UNLIKELY(++calls->count == rec_throttle.calls))
        judge(top->function, top->region, calls);
}

/* Of a coroutine's stack nothing is known: neither whether it lies below another one. */
static REC_COLD bool is_left(struct rec_thread *self, const struct open *open, uintptr_t stack)
{
    return rec_site_is_stack(self, open->stack) && rec_site_is_stack(self, stack);
}

/* What was left without a word: its stack is free again, and has another function in it now. */
static inline void close_left(struct rec_thread *self, struct open_functions *own,
                              const struct open *fresh)
{
    while (own->n_open > 0) {
        const struct open *top = &own->open[own->n_open - 1];
        const bool around = fresh->inlined && top->stack == fresh->stack &&
                            top->caller == fresh->caller && top->place != fresh->place;
        if (REC_LIKELY(top->stack > fresh->stack) || around || !is_left(self, top, fresh->stack))
            return;
        own->beyond = 0;
        close_top(self, own);
    }
}

/* The one that ends: mostly the newest; those above it were left without a word. */
static void close_function(struct rec_thread *self, struct open_functions *own, uintptr_t function,
                           uintptr_t caller)
{
    size_t i = own->n_open;
    while (i > 0 && (own->open[i - 1].function != function || own->open[i - 1].caller != caller))
        i--;
    if (i == 0)
        return;
    while (own->n_open >= i)
        close_top(self, own);
}

/* ---- begins -----------------------------------------------------------------------------------
 */

static REC_COLD bool more_open(struct open_functions *own)
{
    struct open *more = own->capacity < MOST_OPEN_FUNCTIONS
                            ? get_more(own->open, &own->capacity, sizeof *more)
                            : NULL;
    if (more)
        own->open = more;
    return more != NULL;
}

static inline void open_function(struct rec_thread *self, struct open_functions *own,
                                 const struct open *fresh)
{
    if (REC_UNLIKELY(own->n_open == own->capacity) && !more_open(own)) {
        own->beyond++;
        return;
    }
    struct open *top = &own->open[own->n_open++];
    *top = *fresh;
    if (top->region == 0)
        return;
    struct calls *calls = calls_of(own, top->region);
    if (REC_UNLIKELY(!calls)) {
        top->region = 0;
        return;
    }
    calls->open++;
    if (self->omp)
        rec_omp_unfold(self);
    rec_reserve(self, REC_MOST_SLOTS);
    top->begin = rec_now();
    rec_enter(self, top->region, top->begin);
}

/* False: where the function's stack begins is not known. It should be right behind the address to
 * which it returns; where it is not, the function around it has arrays of variable size. */
static inline bool find_function_stack(struct rec_thread *self, struct open *fresh)
{
    uintptr_t known = rec_function_place(fresh->place);
    if (REC_UNLIKELY(known == 0))
        known = rec_function_learn_place(fresh->function, fresh->place, fresh->stack);
    fresh->inlined = known & REC_PLACE_INLINED;
    fresh->stack += known & ~(uintptr_t)7;
#ifdef __x86_64__
    if (REC_UNLIKELY(fresh->inlined))
        return rec_site_is_stack(self, fresh->stack - sizeof(uintptr_t)) &&
               ((const uintptr_t *)fresh->stack)[-1] == fresh->caller;
#else
    (void)self;
#endif
    return true;
}

static void begin_function(struct rec_thread *self, struct open_functions *own, struct open *fresh)
{
    uintptr_t known = rec_function_known(fresh->function);
    if (REC_UNLIKELY(known == 0))
        known = rec_function_learn(fresh->function);
    if (known & REC_FUNCTION_EXCLUDED)
        return;
    const uint32_t region = (uint32_t)(known >> REC_FUNCTION_SHIFT);
    const bool admitted = rec_admits(self);
    if (known & REC_FUNCTION_THROTTLED) {
        struct calls *calls = calls_of(own, region);
        if (!calls)
            return;
        if (admitted) /* no other thread changes it but at the end of the process */
            __atomic_store_n(&calls->left_out, calls->left_out + 1, __ATOMIC_RELAXED);
        if (REC_LIKELY(calls->open == 0))
            return;
    } else if (REC_LIKELY(admitted)) {
        fresh->region = region;
    }
    if (REC_LIKELY(find_function_stack(self, fresh)))
        close_left(self, own, fresh);
    open_function(self, own, fresh);
}

static void end_function(struct rec_thread *self, struct open_functions *own, uintptr_t function,
                         uintptr_t caller)
{
    const uintptr_t known = rec_function_known(function);
    if (known == 0 || known & REC_FUNCTION_EXCLUDED)
        return;
    const uint32_t region = (uint32_t)(known >> REC_FUNCTION_SHIFT);
    if (known & REC_FUNCTION_THROTTLED && (region >= own->n_calls || own->calls[region].open == 0))
        return;
    if (REC_UNLIKELY(own->beyond > 0)) {
        own->beyond--;
        return;
    }
    close_function(self, own, function, caller);
}

/* ---- what compilers call ----------------------------------------------------------------------
 */

/* NULL: this call is not to be recorded: nothing is, or a signal's handler calls while the thread
 * is in here. One that was left by a jump lies deeper in the stack than who calls now. */
static inline struct open_functions *take_up(struct rec_thread *self, uintptr_t stack)
{
    if (self == &rec_nobody)
        return NULL;
    struct open_functions *own = self->functions;
    if (REC_UNLIKELY(!own) && !(own = make_functions(self)))
        return NULL;
    if (REC_UNLIKELY(own->busy > stack))
        return NULL;
    own->busy = stack;
    atomic_signal_fence(memory_order_seq_cst);
    return own;
}

bool rec_functions_are_busy(const struct rec_thread *self, uintptr_t stack)
{
    const struct open_functions *own = self->functions;
    return own && own->busy > stack;
}

static inline void put_down(struct open_functions *own)
{
    atomic_signal_fence(memory_order_seq_cst);
    own->busy = 0;
}

REC_EXPORT void __cyg_profile_func_enter(void *function, void *caller);
REC_EXPORT void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller)
{
    struct rec_thread *self = rec_current();
    struct open fresh = {.function = (uintptr_t)function,
                         .caller = (uintptr_t)caller,
                         .place = (uintptr_t)REC_CALLER,
                         .stack = (uintptr_t)REC_FRAME};
    struct open_functions *own = take_up(self, fresh.stack);
    if (!own)
        return;
    begin_function(self, own, &fresh);
    put_down(own);
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    struct rec_thread *self = rec_current();
    struct open_functions *own = take_up(self, (uintptr_t)REC_FRAME);
    if (!own)
        return;
    end_function(self, own, (uintptr_t)function, (uintptr_t)caller);
    put_down(own);
}
