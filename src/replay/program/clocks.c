#include "replay/clocks.h"

#include "replay/lost.h"
#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>

enum { MOST = LULL_CLOCKS_OPERATIONS };

struct passage {
    int64_t enter, exit;
};

/* The first operations of all processes that a master goes through. */
static lull_status read_passages(const struct lull_trace *trace, uint32_t process,
                                 uint32_t n_processes, struct passage *passages,
                                 uint32_t *ret_count, struct lull_error *err)
{
    struct lull_cursor *cursor;
    struct lull_block block;
    uint32_t count = 0;
    int64_t begin = 0;
    lull_status status = lull_cursor_open(trace, trace->processes[process].first_location,
                                          LULL_MASK(LULL_EVENT_COLLECTIVE_BEGIN) |
                                              LULL_MASK(LULL_EVENT_COLLECTIVE_END),
                                          &cursor, err);
    if (status != LULL_OK)
        return status;
    while (count < MOST && (status = lull_cursor_next(cursor, &block, err)) == LULL_OK &&
           block.count > 0)
        for (uint32_t i = 0; i < block.count && count < MOST; i++) {
            const struct lull_event *event = &block.events[i];
            if (event->kind == LULL_EVENT_COLLECTIVE_BEGIN)
                begin = event->time;
            else if (lull_lost_is_epoch(trace, event, n_processes))
                passages[count++] = (struct passage){begin, event->time};
        }
    lull_cursor_close(cursor);
    *ret_count = count;
    return status;
}

static bool contradict(const struct passage *a, const struct passage *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (a[i].exit < b[i].enter || b[i].exit < a[i].enter)
            return true;
    return false;
}

static int64_t offset(const struct passage *a, const struct passage *b, uint32_t count)
{
    double differences[MOST];
    for (uint32_t i = 0; i < count; i++)
        differences[i] = (double)(a[i].exit - b[i].exit);
    lull_sort(differences, count);
    return llround(lull_median(differences, count));
}

/* All against the first. */
static lull_status compare(const struct lull_trace *trace, uint32_t application, uint32_t n,
                           int64_t *shifts, bool *ret_wrong, struct lull_error *err)
{
    struct passage first[MOST], other[MOST];
    uint32_t n_first = 0, n_other;
    bool any = false;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        if (trace->processes[p].application != application || !trace->processes[p].n_threads)
            continue;
        lull_status status =
            read_passages(trace, p, n, any ? other : first, any ? &n_other : &n_first, err);
        if (status != LULL_OK)
            return status;
        if (any) {
            uint32_t common = n_other < n_first ? n_other : n_first;
            *ret_wrong |= contradict(first, other, common);
            shifts[p] = common ? offset(first, other, common) : 0;
        }
        any = true;
    }
    return LULL_OK;
}

lull_status lull_replay_clocks(const struct lull_trace *trace, uint32_t application,
                               int64_t *shifts, struct lull_error *err)
{
    uint32_t n = 0;
    bool wrong = false;
    int64_t least = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        shifts[p] = 0;
        n += trace->processes[p].application == application && trace->processes[p].n_threads;
    }
    lull_status status = n > 1 ? compare(trace, application, n, shifts, &wrong, err) : LULL_OK;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        least = shifts[p] < least ? shifts[p] : least;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        shifts[p] = wrong && trace->processes[p].application == application ? shifts[p] - least : 0;
    return status;
}
