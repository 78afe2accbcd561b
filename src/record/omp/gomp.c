#include "record/omp/gomp.h"

#include "record/private.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct rec_gomp rec_gomp;
bool rec_gomp_is_ours, rec_gomp_is_known;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define REC_X(result, name, parameters) {#name, offsetof(struct rec_gomp, name)},
    REC_GOMP_FUNCTIONS
#undef REC_X
};

/* A runtime that a plug-in brought with it is behind us in no search order. */
static void *find(const char *name, void *library)
{
    void *function = dlsym(RTLD_NEXT, name);
    return function || !library ? function : dlsym(library, name);
}

static bool is_libgomp(void *function)
{
    Dl_info info;
    if (!function || dladdr(function, &info) == 0 || !info.dli_fname)
        return false;
    void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    bool is_llvm = library && dlsym(library, "__kmpc_fork_call");
    if (library)
        dlclose(library);
    return !is_llvm;
}

/* With the lock held. */
static void find_all(void)
{
    void *library =
        dlsym(RTLD_NEXT, "GOMP_barrier") ? NULL : rec_private_library("libgomp", "GOMP_barrier");
    rec_gomp_is_ours = is_libgomp(find("GOMP_barrier", library));
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = find(functions[i].name, library);
        if (function)
            memcpy((char *)&rec_gomp + functions[i].offset, &function, sizeof function);
    }
}

/* Who sees that they are known, sees all of them: several threads may come here at the same time. */
void rec_gomp_resolve(void)
{
    pthread_mutex_lock(&lock);
    if (!rec_gomp_is_known)
        find_all();
    __atomic_store_n(&rec_gomp_is_known, rec_gomp.GOMP_barrier != NULL, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

/* When the recorder is loaded; nothing is found in programs without OpenMP. */
__attribute__((constructor)) static void start(void)
{
    rec_gomp_resolve();
}
