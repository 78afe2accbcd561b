#include "support/uneven_trace.h"
#include "support/test.h"

#include "support/memory_trace.h"

#include <stddef.h>

struct lull_trace *uneven_trace(void)
{
    struct lull_error err;
    struct lull_trace *made = memory_trace_simple(PROCESSES, THREADS, (int64_t)EVENTS * 40,
                                                  (const char *const[]){"a", "b", NULL});
    for (uint32_t p = 3; p < PROCESSES; p++)
        made->processes[p].application = 1;
    assert_int_equal(lull_trace_complete(made, &err), LULL_OK);
    for (uint32_t l = 0; l < LOCATIONS; l++)
        for (int64_t i = 0; i < EVENTS / (1 + l % 3); i++) {
            struct lull_event event = memory_event(i * (10 + l), LULL_EVENT_TASK_SWITCH, 0);
            event.number = (uint64_t)i;
            memory_trace_add(made, l, &event);
        }
    return made;
}

void see_progress(void *context, double share)
{
    struct progress_seen *seen = context;
    seen->backwards |= share < seen->last;
    seen->outside |= !(share >= 0 && share <= 1);
    seen->last = share;
    seen->calls++;
}
