/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of other libraries in front of which the recorder has functions of the same name. A
 * file writes down once which they are, and each has an index in that list:
 *
 *     #define FUNCTIONS(X) X(read) X(write)
 *     enum { FUNCTIONS(REC_NEXT_INDEX) N_NEXT };
 *     static const char *const next_names[N_NEXT] = {FUNCTIONS(REC_NEXT_NAME)};
 *     static rec_function next[N_NEXT];
 *
 * REC_NEXT(read)(fd, ...) then calls the library's own function. That is looked up when it is first
 * needed, because constructors of other libraries run before ours. Our constructor looks up all of
 * them by rec_next_find: a first look-up inside a call of the program may have to wait for a thread
 * that is loading a library. */
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
