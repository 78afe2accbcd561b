/* Functions of other libraries that we stand in front of, by their place in a list that the file
 * writes down once:
 *
 *     #define FUNCTIONS(X) X(read) X(write)
 *     enum { FUNCTIONS(REC_NEXT_INDEX) N_NEXT };
 *     static const char *const next_names[N_NEXT] = {FUNCTIONS(REC_NEXT_NAME)};
 *     static rec_function next[N_NEXT];
 *
 * REC_NEXT(read)(fd, ...) is then the real one. It is looked for when it is first needed, as other
 * libraries' constructors call before ours does, and all of them by rec_next_find in ours: asking
 * for the first time inside a call of the program may have to wait for whoever loads a library. */
#ifndef LULL_RECORD_NEXT_H
#define LULL_RECORD_NEXT_H

#include "record/core.h"

#include <dlfcn.h>
#include <string.h>

typedef void (*rec_function)(void);

#define REC_NEXT_INDEX(name) NEXT_##name,
#define REC_NEXT_NAME(name)  #name,
#define REC_NEXT(name)       ((__typeof__(&name))rec_next(&next[NEXT_##name], #name))

static inline rec_function rec_next(rec_function *found, const char *name)
{
    rec_function function = __atomic_load_n(found, __ATOMIC_RELAXED);
    if (REC_UNLIKELY(!function)) {
        void *symbol = dlsym(RTLD_NEXT, name);
        memcpy(&function, &symbol, sizeof function);
        __atomic_store_n(found, function, __ATOMIC_RELAXED);
    }
    return function;
}

static inline void rec_next_find(rec_function *found, const char *const *names, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        rec_next(&found[i], names[i]);
}

#endif
