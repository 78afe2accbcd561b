#include "replay/program/clocks.h"

#include "stats/quantile.h"

#include <math.h>
#include <stdbool.h>

static uint32_t common_count(const struct lull_passages *a, const struct lull_passages *b)
{
    return a->count < b->count ? a->count : b->count;
}

static bool contradict(const struct lull_passages *a, const struct lull_passages *b)
{
    for (uint32_t i = 0; i < common_count(a, b); i++)
        if (a->items[i].exit < b->items[i].enter || b->items[i].exit < a->items[i].enter)
            return true;
    return false;
}

static int64_t find_offset(const struct lull_passages *a, const struct lull_passages *b)
{
    double differences[LULL_CLOCKS_OPERATIONS];
    uint32_t count = common_count(a, b);
    for (uint32_t i = 0; i < count; i++)
        differences[i] = (double)(a->items[i].exit - b->items[i].exit);
    lull_sort(differences, count);
    return llround(lull_median(differences, count));
}

void lull_clocks_compare(const struct lull_passages *processes, uint32_t n, int64_t *ret_shifts)
{
    const struct lull_passages *first = processes;
    bool wrong = false;
    int64_t least = 0;
    while (first < processes + n && first->count == 0)
        first++;
    for (uint32_t p = 0; p < n; p++) { /* all against the first */
        ret_shifts[p] = processes[p].count ? find_offset(first, &processes[p]) : 0;
        wrong |= processes[p].count && contradict(first, &processes[p]);
        least = ret_shifts[p] < least ? ret_shifts[p] : least;
    }
    for (uint32_t p = 0; p < n; p++)
        ret_shifts[p] = wrong ? ret_shifts[p] - least : 0;
}
