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

/* Libraries call some functions before the thread sanitizer is ready (libgomp asks for variables
 * when it is loaded). Functions with this attribute tell the sanitizer nothing; nor may they call
 * functions of the sanitizer, as strcmp is one. */
#define REC_BEFORE_SANITIZERS __attribute__((no_sanitize("thread")))

#define REC_NEXT_INDEX(name) NEXT_##name,
#define REC_NEXT_NAME(name)  #name,
#define REC_NEXT(name)       ((__typeof__(&name))rec_next(&next[NEXT_##name], #name))

/* Older versions of glibc (2.31, not 2.36) find the oldest version of a function behind RTLD_NEXT.
 * Of the functions here only those that wait for conditions have two, on x86-64: the old one waits for
 * an object of its own, of which the program's pthread_cond_signal knows nothing. The new one is
 * taken where it is of the same library; sanitizers have functions of their own before it. No other
 * version is looked for: the message that it is not there would take a block of the program's heap. */
REC_BEFORE_SANITIZERS static inline void *rec_next_symbol(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
#ifdef __x86_64__
    if (symbol && *name == 'p' &&
        (strcmp(name, "pthread_cond_wait") == 0 || strcmp(name, "pthread_cond_timedwait") == 0)) {
        void *newer = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
        Dl_info first, second;
        if (newer && dladdr(symbol, &first) && dladdr(newer, &second) &&
            first.dli_fbase == second.dli_fbase)
            return newer;
    }
#endif
    return symbol;
}

REC_BEFORE_SANITIZERS static inline rec_function rec_next(rec_function *found, const char *name)
{
    rec_function function = __atomic_load_n(found, __ATOMIC_RELAXED);
    if (REC_UNLIKELY(!function)) {
        void *symbol = rec_next_symbol(name);
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
