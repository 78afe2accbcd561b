#include "record/omp/gomp.h"

#include "record/private.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

const struct rec_gomp *rec_gomp_only;

struct function {
    const char *name;
    size_t offset;
};

#define REC_X(result, name, parameters) {#name, offsetof(struct rec_gomp, name)},
static const struct function gomp_symbols[] = {REC_GOMP_FUNCTIONS};
static const struct function llvm_functions[] = {REC_KMPC_FUNCTIONS};
#undef REC_X

/* ---- one runtime ------------------------------------------------------------------------------
 */

/* LLVM's has no OpenACC. The first look leaves the heap as it is. */
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

/* Several threads may come here at the same time: whoever is later takes what was there. The loader
 * is never called with a lock held, because it may be waiting for a thread that wants the lock. */
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

/* Of any runtime that is there when we are loaded. To ask dlsym for what is not there would take
 * memory from the program's heap. */
extern int omp_get_max_threads(void) __attribute__((weak));

__attribute__((constructor)) static void start_gomp(void)
{
    if (omp_get_max_threads)
        find_only();
}

/* ---- runtimes that modules have brought along -------------------------------------------------
 */

enum { MOST_RUNTIMES = 64 };

static const char *const names[] = {"libgomp", "libomp", "libiomp", NULL};
static pthread_mutex_t runtimes_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const char *file;
    const struct rec_gomp *gomp;
} known_runtimes[MOST_RUNTIMES];
static unsigned n_runtimes; /* atomic */
/* Places of code -> runtimes, or `nobody` where the code's file needs none. */
static struct rec_map runtime_places;
static const struct rec_gomp no_runtime;
/* That of the innermost region or task whose code the thread runs. */
static __thread const struct rec_gomp *current __attribute__((tls_model("initial-exec")));

static const struct rec_gomp *known_runtime(const char *file)
{
    unsigned n = __atomic_load_n(&n_runtimes, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < n; i++)
        if (strcmp(known_runtimes[i].file, file) == 0)
            return known_runtimes[i].gomp;
    return NULL;
}

/* The library stays open: nobody unloads it from now on. */
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

/* Where the code's file does not tell. */
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

/* Once the loader has told that there is no runtime for all, it is asked about new ones alone: a
 * thread may be in a region that a constructor of a library has begun, which the loader waits for.
 */
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

void rec_gomp_run_apart(rec_body *body, void *data)
{
    const struct rec_gomp *before = current;
    current = rec_gomp_at(rec_gomp_place(body));
    body(data);
    current = before;
}
