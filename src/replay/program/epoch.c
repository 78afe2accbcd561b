#include "replay/program/epoch.h"

bool lull_is_epoch(const struct lull_trace *trace, const struct lull_step *step,
                   uint32_t n_processes)
{
    static const bool waits_for_all[LULL_COLLECTIVES] = {
        [LULL_COLLECTIVE_BARRIER] = true,        [LULL_COLLECTIVE_ALLGATHER] = true,
        [LULL_COLLECTIVE_ALLTOALL] = true,       [LULL_COLLECTIVE_ALLREDUCE] = true,
        [LULL_COLLECTIVE_REDUCE_SCATTER] = true, [LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK] = true,
    };
    if (step->kind != LULL_STEP_COLLECTIVE_END || step->comm >= trace->n_comms ||
        step->op >= LULL_COLLECTIVES || !waits_for_all[step->op] ||
        step->collective.request != LULL_NO_REQUEST)
        return false;
    return trace->comms[step->comm].size == n_processes;
}

uint32_t lull_count_processes(const struct lull_trace *trace, uint32_t application)
{
    uint32_t n = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        n += trace->processes[p].application == application && trace->processes[p].n_threads > 0;
    return n;
}
