/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/function.h"

#include "record/keep.h"
#include "record/omp/team.h"
#include "record/report.h"
#include "record/site/site.h"
#include "record/store/definitions.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- what is known of a function ------------------------------------------------------------- */

enum { FUNCTION_EXCLUDED = 1, FUNCTION_RECORDED = 2, FUNCTION_THROTTLED = 4 };

enum { FUNCTION_SHIFT = 3 };

/* What is known of an instruction that tells of a function's begin: how many bytes above the stack
 * pointer at that instruction the function's stack begins, and these bits. */
enum { PLACE_INLINED = 1, PLACE_KNOWN = 2 };

/* When a function is left out: after `calls` calls on one thread, where their mean is too short. */
struct throttle {
    uint64_t calls; /* 0: no function is left out */
    double ns;      /* the mean must be below this */
};

/* ==== which functions are recorded ============================================================ */

/* All functions are recorded but those that the user's filter leaves out, and those that turn out
 * to be too short. */

/* The filter is applied to at most MOST_CODE_FILES files before the program runs, and to others
 * when their first function is called. */
enum { MOST_CODE_FILES = 1024, MOST_THROTTLED = 4096 };

static pthread_mutex_t choice_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_map function_map; /* address -> region and bits */
static uint32_t parent;             /* the region of which all functions are parts */
static struct throttle throttle = {.calls = 100000, .ns = 1000};

static uintptr_t function_known(uintptr_t address)
{
    return rec_map_get(&function_map, address);
}

static void set(uintptr_t address, uintptr_t what)
{
    rec_lock(&choice_lock);
    rec_map_put(&function_map, address, what);
    rec_unlock(&choice_lock);
}

/* ---- settings -------------------------------------------------------------------------------- */

static char filter[REC_MOST_PATH]; /* path; "": there is none */

void rec_functions_prepare(void)
{
    const char *path = getenv("LULL_RECORD_FILTER"), *limit = getenv("LULL_RECORD_THROTTLE");
    if (path)
        snprintf(filter, sizeof filter, "%s", path);
    unsigned long long calls, ns;
    if (limit && strcmp(limit, "none") == 0)
        throttle.calls = 0;
    else if (limit && sscanf(limit, "%llu:%llu", &calls, &ns) == 2)
        throttle = (struct throttle){calls, (double)ns};
}

/* ---- filter ---------------------------------------------------------------------------------- */

/* lull_filter_apply of filter/filter.h. The function is in a library of its own, which needs libdw
 * and is loaded only where there is a filter. */
typedef bool apply_filter(const char *filter_path, const char *object_path, const char *build_id,
                          void (*exclude)(void *context, uint64_t offset), void *context);

static apply_filter *apply; /* NULL: there is no filter, or it cannot be applied */

/* The biases of files that were looked at, with the lowest bit set: a program that is not
 * position-independent has the bias 0, which a map cannot have as a key. */
static struct rec_map filtered;

static bool is_filtered(uintptr_t bias)
{
    return rec_map_get(&filtered, bias | 1) != 0;
}

static void add_filtered(uintptr_t bias)
{
    rec_lock(&choice_lock);
    rec_map_put(&filtered, bias | 1, true);
    rec_unlock(&choice_lock);
}

static void exclude(void *context, uint64_t offset)
{
    const struct rec_loaded *file = context;
    set(file->bias + offset, FUNCTION_EXCLUDED);
}

/* Applies the filter to the file that holds an address. No lock is held, because the filter's
 * library may load others; two threads that come at the same time do the same work twice. */
static void filter_file_of(uintptr_t address)
{
    uintptr_t bias;
    if (!rec_site_bias(address, &bias) || is_filtered(bias))
        return;
    struct rec_loaded *file = rec_keep(sizeof *file);
    if (!file || !rec_site_loaded(address, file))
        return;
    apply(filter, file->path, file->build_id, exclude, file);
    add_filtered(file->bias);
}

static void load_filter(void)
{
    Dl_info info;
    const void *here = &rec_process;
    char path[REC_MOST_PATH + 32];
    if (dladdr(here, &info) == 0 || !info.dli_fname)
        return;
    const char *slash = strrchr(info.dli_fname, '/');
    int length = slash ? (int)(slash + 1 - info.dli_fname) : 0;
    snprintf(path, sizeof path, "%.*sliblull-filter.so", length, info.dli_fname);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, "lull_filter_apply") : NULL;
    memcpy(&apply, &found, sizeof apply);
}

struct code_files {
    uintptr_t codes[MOST_CODE_FILES]; /* an address in each */
    unsigned count;
};

static int add_file(struct dl_phdr_info *info, size_t size, void *context)
{
    struct code_files *files = context;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum && files->count < MOST_CODE_FILES; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            files->codes[files->count++] = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            break;
        }
    return 0;
}

void rec_functions_start(void)
{
    if (!*filter)
        return;
    load_filter();
    if (!apply) {
        rec_report_say("%s: cannot be used without liblull-filter.so; all functions are recorded",
                       filter);
        return;
    }
    static struct code_files files;
    dl_iterate_phdr(add_file, &files);
    for (unsigned i = 0; i < files.count; i++)
        filter_file_of(files.codes[i]);
}

/* ---- first calls ----------------------------------------------------------------------------- */

static uintptr_t define_function(uintptr_t address)
{
    const struct rec_region whole = {.paradigm = LULL_TAPE_PARADIGM_COMPILER,
                                     .role = LULL_TAPE_ROLE_FUNCTION,
                                     .name = "function"};
    const uint32_t any = rec_define_region_once(&parent, &whole);
    const uint32_t region = any != 0 ? rec_site_of_function(any, (const void *)address) : 0;
    return region != 0 ? (uintptr_t)region << FUNCTION_SHIFT | FUNCTION_RECORDED
                       : (uintptr_t)FUNCTION_EXCLUDED;
}

/* Finds out what is known of a function, at its first call; never 0. */
static uintptr_t function_learn(uintptr_t address)
{
    const struct rec_aside aside = rec_step_aside();
    if (apply)
        filter_file_of(address);
    rec_lock(&choice_lock);
    uintptr_t known = rec_map_get(&function_map, address);
    if (known == 0) {
        known = define_function(address);
        if (!rec_map_put(&function_map, address, known))
            known = FUNCTION_EXCLUDED;
    }
    rec_unlock(&choice_lock);
    rec_step_back(&aside);
    return known;
}

/* ---- places ---------------------------------------------------------------------------------- */

static struct rec_map function_places;

/* What is known of a place of code; 0: nothing yet. */
static uintptr_t function_place(uintptr_t place)
{
    return rec_map_get(&function_places, place);
}

static uintptr_t function_learn_place(uintptr_t function, uintptr_t place, uintptr_t stack)
{
    const struct rec_aside aside = rec_step_aside();
    const struct rec_enclosing found = rec_site_enclosing((const void *)place, (const void *)stack);
    uintptr_t what = PLACE_KNOWN;
    if (found.start != 0 && found.frame >= stack)
        what |= (found.frame - stack) & ~(uintptr_t)7;
    if (found.start != function)
        what |= PLACE_INLINED;
    rec_lock(&choice_lock);
    rec_map_put(&function_places, place, what);
    rec_unlock(&choice_lock);
    rec_step_back(&aside);
    return what;
}

/* ---- short ones ------------------------------------------------------------------------------ */

static struct throttled_function {
    uint32_t region;
    uint64_t ns;       /* mean of the calls by which the function was judged */
    uint64_t left_out; /* calls that were left out, as far as threads have added theirs */
} throttled_function[MOST_THROTTLED];

static unsigned n_throttled;

static void function_throttle(uintptr_t address, uint32_t region, uint64_t ticks)
{
    const double mean = (double)ticks * rec_process.ns_per_tick / (double)throttle.calls;
    if (mean >= throttle.ns)
        return;
    const struct rec_aside aside = rec_step_aside();
    rec_lock(&choice_lock);
    const uintptr_t known = rec_map_get(&function_map, address);
    const bool decided = known & FUNCTION_THROTTLED || n_throttled == MOST_THROTTLED;
    if (!decided) {
        throttled_function[n_throttled++] = (struct throttled_function){region, (uint64_t)mean, 0};
        rec_map_put(&function_map, address, known | FUNCTION_THROTTLED);
    }
    rec_unlock(&choice_lock);
    if (!decided)
        rec_define_throttled(region, (uint64_t)mean, LULL_TAPE_NOT_COUNTED);
    rec_step_back(&aside);
}

/* Adds to the calls of a function that were left out. */
static void function_left_out(uint32_t region, uint64_t calls)
{
    rec_lock(&choice_lock);
    for (unsigned i = 0; i < n_throttled; i++)
        if (throttled_function[i].region == region)
            throttled_function[i].left_out += calls;
    rec_unlock(&choice_lock);
}

void rec_functions_stop(void)
{
    for (unsigned i = 0; i < n_throttled; i++)
        rec_define_throttled(throttled_function[i].region, throttled_function[i].ns,
                             throttled_function[i].left_out);
}

/* ==== functions on a thread =================================================================== */

enum { MOST_OPEN_FUNCTIONS = 1 << 20 }; /* on one thread; what is deeper is not recorded */

/* A function that is open. Where the compiler has inlined a function, it shares `stack` and
 * `caller` with the function around it, and differs from that one in `place`. */
struct open {
    uintptr_t function, caller; /* caller: what it returns to */
    uintptr_t place;            /* the instruction that told of its beginning */
    uintptr_t stack;            /* where the function's stack begins */
    uint64_t begin;             /* ticks */
    uint32_t region;            /* 0: it is not recorded */
    bool inlined;
};

/* Calls of one function on this thread. */
struct calls {
    uint64_t count, ticks; /* the calls that are judged together, and their ticks, in which those of
                              the functions that they call are contained */
    uint64_t left_out;
    uint32_t open; /* calls that are open and have records */
};

struct open_functions {
    struct open *open;
    size_t n_open, capacity, beyond; /* beyond: those that are open and not in the list */
    struct calls *calls;             /* by region */
    size_t n_calls;
    uintptr_t busy; /* stack of the call that is being recorded, which a signal handler may
                       interrupt; 0: none */
};

/* ---- memory ---------------------------------------------------------------------------------- */

static void *get_memory(size_t size)
{
    void *got = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return got == MAP_FAILED ? NULL : got;
}

/* Doubles an array of *count elements of `size` bytes; what is new is zeroed. NULL: there is no
 * memory, and nothing changes. */
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

/* At the first function of the thread. rec_site_prepare asks here already for the begin of the
 * thread's stack and for the unwinder, which takes memory from the program's heap: a later function
 * may belong to the heap itself and hold its lock. */
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
            function_left_out((uint32_t)i, left_out);
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

/* Enlarges the table. Old tables are not unmapped, because the thread that ends the process may be
 * reading them (rec_functions_count). All of them together are at most as large as the new one. */
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

/* The calls of a region's function; NULL: there is no memory. */
static inline struct calls *calls_of(struct open_functions *own, uint32_t region)
{
    if (REC_UNLIKELY(region >= own->n_calls) && !more_calls(own, region))
        return NULL;
    return &own->calls[region];
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* Asks whether a function is too short to be recorded; called once for each throttle.calls calls of
 * it. */
static REC_COLD void judge(uintptr_t function, uint32_t region, struct calls *calls)
{
    function_throttle(function, region, calls->ticks);
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
    if (REC_UNLIKELY(++calls->count == throttle.calls))
        judge(top->function, top->region, calls);
}

/* Whether an open function can be said to be left, given the stack of a function that begins. Of
 * the stack of a coroutine nothing is known, not even whether it lies below another stack. */
static REC_COLD bool is_left(struct rec_thread *self, const struct open *open, uintptr_t stack)
{
    return rec_site_is_stack(self, open->stack) && rec_site_is_stack(self, stack);
}

/* Closes functions that were left without being told: their stack is free again, and has another
 * function in it now. */
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

/* Closes the function that ends, mostly the newest one; those above it were left without being
 * told. */
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

/* ---- begins ---------------------------------------------------------------------------------- */

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

/* Finds where the function's stack begins; false: that is not known. Of an inlined function this is
 * checked: right below the place found there should be the return address. It is not where the
 * function around has arrays of variable size. */
static inline bool find_function_stack(struct rec_thread *self, struct open *fresh)
{
    uintptr_t known = function_place(fresh->place);
    if (REC_UNLIKELY(known == 0))
        known = function_learn_place(fresh->function, fresh->place, fresh->stack);
    fresh->inlined = known & PLACE_INLINED;
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
    uintptr_t known = function_known(fresh->function);
    if (REC_UNLIKELY(known == 0))
        known = function_learn(fresh->function);
    if (known & FUNCTION_EXCLUDED)
        return;
    const uint32_t region = (uint32_t)(known >> FUNCTION_SHIFT);
    const bool admitted = rec_admits(self);
    if (known & FUNCTION_THROTTLED) {
        struct calls *calls = calls_of(own, region);
        if (!calls)
            return;
        if (admitted) /* other threads change `left_out` only at the end of the process */
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
    const uintptr_t known = function_known(function);
    if (known == 0 || known & FUNCTION_EXCLUDED)
        return;
    const uint32_t region = (uint32_t)(known >> FUNCTION_SHIFT);
    if (known & FUNCTION_THROTTLED && (region >= own->n_calls || own->calls[region].open == 0))
        return;
    if (REC_UNLIKELY(own->beyond > 0)) {
        own->beyond--;
        return;
    }
    close_function(self, own, function, caller);
}

/* ---- what compilers call --------------------------------------------------------------------- */

/* Begins to record a call. NULL: the call is not to be recorded, because nothing is, or because a
 * signal handler makes it while the thread is recording another call here. `busy` of a call that
 * was left by a jump does not hold this up: that call lies deeper in the stack than the present
 * one. */
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
