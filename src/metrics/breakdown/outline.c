#include "metrics/breakdown/outline.h"

static void outline_process(const struct lull_trace *trace, const struct lull_process *from,
                            struct lull_arena *arena, struct lull_breakdown *breakdown)
{
    uint32_t index = breakdown->n_processes++;
    breakdown->processes[index] = (struct lull_process_breakdown){
        .name = lull_arena_strdup(arena, from->name),
        .rank = from->rank,
        .node = from->node,
        .first_thread = breakdown->n_threads,
        .n_threads = from->n_locations,
        .n_cpu_threads = from->n_threads,
    };
    for (uint32_t i = 0; i < from->n_locations; i++) {
        const struct lull_location *location = &trace->locations[from->first_location + i];
        breakdown->threads[breakdown->n_threads++] = (struct lull_thread_breakdown){
            .process = index,
            .number = location->number,
            .kind = location->kind,
            .master = i == 0 && from->n_threads > 0,
            .counters = lull_arena_zero(arena, (size_t)trace->n_counters * LULL_ACTIVITIES,
                                        sizeof(uint64_t)),
        };
    }
}

struct lull_breakdown *lull_breakdown_outline(const struct lull_trace *trace, uint32_t application,
                                              struct lull_arena *arena)
{
    struct lull_breakdown *breakdown = lull_arena_zero(arena, 1, sizeof *breakdown);
    breakdown->run = lull_arena_strdup(arena, trace->path ? trace->path : "");
    breakdown->duration_ns = trace->duration;
    breakdown->processes = lull_arena_zero(arena, trace->n_processes, sizeof *breakdown->processes);
    breakdown->threads = lull_arena_zero(arena, trace->n_locations, sizeof *breakdown->threads);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (trace->processes[p].application == application)
            outline_process(trace, &trace->processes[p], arena, breakdown);
    breakdown->counters = lull_arena_zero(arena, trace->n_counters, sizeof *breakdown->counters);
    breakdown->n_counters = trace->n_counters;
    for (uint32_t i = 0; i < trace->n_counters; i++) {
        breakdown->counters[i].name = lull_arena_strdup(arena, trace->counters[i].name);
        breakdown->counters[i].role = trace->counters[i].role;
    }
    return breakdown;
}
