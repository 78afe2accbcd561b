#include "support/random_windows.h"

struct lull_windows *random_windows_draw(struct lull_random *random, const struct lull_trace *trace)
{
    struct lull_arena *arena = trace->arena;
    struct lull_windows *windows = lull_arena_zero(arena, 1, sizeof *windows);
    windows->n_processes = trace->n_processes;
    windows->counts = lull_arena_zero(arena, trace->n_processes, sizeof *windows->counts);
    windows->intervals = lull_arena_zero(arena, trace->n_processes, sizeof(struct lull_interval *));
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        int64_t at = 0;
        windows->intervals[p] = lull_arena_zero(arena, 4, sizeof(struct lull_interval));
        for (uint32_t i = lull_random_below(random, 4) ? 0 : 4; i < 4; i++) {
            uint64_t left = (uint64_t)(trace->duration - at);
            struct lull_interval *interval = &windows->intervals[p][windows->counts[p]];
            interval->begin = at + (int64_t)lull_random_below(random, left / 4 + 1);
            interval->end = interval->begin + (int64_t)lull_random_below(random, left / 4 + 1);
            at = interval->end;
            windows->counts[p] += interval->end > interval->begin;
        }
    }
    return windows;
}
