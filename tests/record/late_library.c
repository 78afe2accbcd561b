/* See late.c. */
#include <sched.h>

extern int late_ending, late_marked;
int late_ending, late_marked;

__attribute__((destructor)) static void end(void)
{
    __atomic_store_n(&late_ending, 1, __ATOMIC_RELAXED);
    while (!__atomic_load_n(&late_marked, __ATOMIC_RELAXED))
        sched_yield();
}
