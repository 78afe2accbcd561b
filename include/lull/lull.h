/* SPDX-License-Identifier: BSD-3-Clause */
/* lull.h: mark regions and iterations of a program that `lull record` measures.
 *
 * Header only: no library is linked. Without the recorder each function finds out once that nobody
 * listens, and does nothing. C99 and C++; Fortran programs use lull.f90 beside this file.
 *
 *     #include <lull/lull.h>
 *
 *     for (int step = 0; step < steps; step++) {
 *         lull_iteration(step);
 *         lull_begin("halo exchange");
 *         ...
 *         lull_end("halo exchange");
 *     }
 *
 * Regions nest, and each thread has its own. Names are compared by content. Time in a region that
 * is marked here stays what it is: useful, or waiting inside of MPI and OpenMP. */
#ifndef LULL_LULL_H
#define LULL_LULL_H

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* What several threads find out at the same time; NULL: nobody has asked yet. Languages older than
 * C11 and C++11 cannot say that it is shared. */
struct lull_marker_functions;
#if defined(__cplusplus) && __cplusplus >= 201103L
#include <atomic>
typedef std::atomic<const struct lull_marker_functions *> lull_answer;
#elif !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && \
    !defined(__STDC_NO_ATOMICS__)
#include <stdatomic.h>
typedef _Atomic(const struct lull_marker_functions *) lull_answer;
#else
typedef const struct lull_marker_functions *lull_answer;
#endif

/* With -finstrument-functions these are not taken for functions of the program. */
#ifdef __GNUC__
#define LULL_MARK static inline __attribute__((no_instrument_function))
#else
#define LULL_MARK static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What the recorder offers to marked programs. */
struct lull_marker_functions {
    unsigned size; /* of this struct, as the recorder knows it */
    void (*begin)(const char *name);
    void (*end)(const char *name);
    void (*iteration)(long number);
    void (*pause)(void);
    void (*resume)(void);
};

/* The recorder's functions, or NULL. */
LULL_MARK const struct lull_marker_functions *lull_recorder(void)
{
    static const struct lull_marker_functions nobody = {0, NULL, NULL, NULL, NULL, NULL};
    static lull_answer answer;
    const struct lull_marker_functions *found = answer;
    if (!found) {
        const struct lull_marker_functions *(*get)(void) = NULL;
        void *symbol = dlsym(NULL, "lull_marker_functions");
        memcpy(&get, &symbol, sizeof get);
        found = get ? get() : NULL;
        if (!found)
            found = &nobody;
        answer = found;
    }
    return found == &nobody ? NULL : found;
}

LULL_MARK void lull_begin(const char *name)
{
    const struct lull_marker_functions *recorder = lull_recorder();
    if (recorder)
        recorder->begin(name);
}

/* Ends the region that was begun last; `name` is for the reader of the program. */
LULL_MARK void lull_end(const char *name)
{
    const struct lull_marker_functions *recorder = lull_recorder();
    if (recorder)
        recorder->end(name);
}

/* The iteration with that number begins. */
LULL_MARK void lull_iteration(long number)
{
    const struct lull_marker_functions *recorder = lull_recorder();
    if (recorder)
        recorder->iteration(number);
}

/* Nothing that begins on any thread of the process is recorded, until one of them resumes. */
LULL_MARK void lull_pause(void)
{
    const struct lull_marker_functions *recorder = lull_recorder();
    if (recorder)
        recorder->pause();
}

LULL_MARK void lull_resume(void)
{
    const struct lull_marker_functions *recorder = lull_recorder();
    if (recorder)
        recorder->resume();
}

#ifdef __cplusplus
}
#endif
#undef LULL_MARK

#endif
