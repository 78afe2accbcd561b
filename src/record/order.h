/* For the thread sanitizer alone, and nothing without it: that one thread goes on after another has
 * come to some place, where a runtime sees to that which is not under the sanitizer itself.
 * `object` is what both know; NULL: nothing. */
#ifndef LULL_RECORD_ORDER_H
#define LULL_RECORD_ORDER_H

#include <stdint.h>

#if defined(__SANITIZE_THREAD__)
void __tsan_acquire(void *address);
void __tsan_release(void *address);

static inline void REC_COMES_BEFORE(const void *object)
{
    if (object)
        __tsan_release((void *)(uintptr_t)object);
}

static inline void REC_COMES_AFTER(const void *object)
{
    if (object)
        __tsan_acquire((void *)(uintptr_t)object);
}
#else
#define REC_COMES_BEFORE(object) ((void)(object))
#define REC_COMES_AFTER(object)  ((void)(object))
#endif

#endif
