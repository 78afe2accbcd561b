/* SPDX-License-Identifier: BSD-3-Clause */
/* What the wrappers of the C library's functions for files are made of. A file that includes this
 * header has a list of its functions (record/next.h) and these:
 *
 *     static struct rec_wait_function functions[N_NEXT] = {FUNCTIONS(REC_FILE_FUNCTION)};
 *     enum { FIRST_SITE = ... };
 *
 * FIRST_SITE is the number that stands for the first function of the list in call sites. */
#ifndef LULL_RECORD_FILE_CALL_H
#define LULL_RECORD_FILE_CALL_H

/* With _FORTIFY_SOURCE the C library's headers would define some of these functions themselves. */
#undef _FORTIFY_SOURCE

#include "record/file/file.h"
#include "record/next.h"
#include "record/site/site.h"
#include "record/thread/waits.h"

#include <sys/types.h>

#define REC_FILE_FUNCTION(which) \
    [NEXT_##which] = {           \
        .name = #which, .role = LULL_TAPE_ROLE_FILE_IO, .paradigm = LULL_TAPE_PARADIGM_IO},

static inline bool rec_file_begin(struct rec_wait *wait, struct rec_wait_function *function,
                                  unsigned site, const void *from, const void *frame)
{
    const struct rec_wait_place place = {site, from, frame};
    return REC_UNLIKELY(__atomic_load_n(&rec_files_on, __ATOMIC_RELAXED)) &&
           rec_wait_begin_at(wait, function, &place);
}

/* Ends a call. `bytes` < 0: the call has failed, and no record of a transfer follows it. */
static inline void rec_file_end(struct rec_wait *wait, unsigned op, uint32_t file, int64_t bytes)
{
    const uint64_t time = rec_wait_end_at(wait, rec_now());
    if (bytes >= 0)
        rec_file_put(wait->self, time, op, file, (uint64_t)bytes);
    rec_wait_leave(wait);
}

#define REC_FILE_BEGIN(wait, name) \
    rec_file_begin(wait, &functions[NEXT_##name], FIRST_SITE + NEXT_##name, REC_CALLER, REC_FRAME)

/* Defines a wrapper for a function that moves bytes. `fd` is the descriptor, and `moved` is how
 * many bytes were moved according to `result`, or less than 0. */
#define REC_FILE_CALL(type, name, declared, passed, op, fd, moved)                              \
    REC_EXPORT type name declared;                                                              \
    type name declared                                                                          \
    {                                                                                           \
        const rec_function known = __atomic_load_n(&next[NEXT_##name], __ATOMIC_RELAXED);       \
        if (REC_LIKELY(known && !__atomic_load_n(&rec_files_on, __ATOMIC_RELAXED)))             \
            return ((__typeof__(&name))known)passed; /* without the room that the rest needs */ \
        struct rec_wait wait;                                                                   \
        if (REC_LIKELY(!REC_FILE_BEGIN(&wait, name)))                                           \
            return REC_NEXT(name) passed;                                                       \
        type result = REC_NEXT(name) passed;                                                    \
        const int64_t bytes = (int64_t)(moved);                                                 \
        rec_file_end(&wait, op, bytes >= 0 ? rec_file_of(fd) : 0, bytes);                       \
        return result;                                                                          \
    }

#endif
