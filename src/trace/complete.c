/* lull_trace_complete: checks the definitions that a reader collected and derives the rest. */
#include "trace/classify/classify.h"
#include "trace/trace.h"

#include <string.h>

static lull_status assign_locations(struct lull_trace *trace, struct lull_error *err)
{
    for (uint32_t p = 0; p < trace->n_processes; p++)
        trace->processes[p].n_locations = trace->processes[p].n_threads = 0;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct lull_location *location = &trace->locations[l];
        if (location->process >= trace->n_processes)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: location '%s' belongs to no process",
                             trace->path, location->name);
        struct lull_process *process = &trace->processes[location->process];
        if (process->n_locations == 0)
            process->first_location = l;
        else if (process->first_location + process->n_locations != l)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: locations of process %u are not listed together", trace->path,
                             location->process);
        process->n_locations++;
        process->n_threads += location->kind == LULL_LOCATION_THREAD;
    }
    return LULL_OK;
}

static lull_status check_processes(struct lull_trace *trace, struct lull_error *err)
{
    uint32_t applications = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        struct lull_process *process = &trace->processes[p];
        if (process->node != LULL_NONE && process->node >= trace->n_nodes)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: process %u is on unknown node %u",
                             trace->path, p, process->node);
        if (process->application >= applications)
            applications = process->application + 1;
    }
    trace->n_applications = applications ? applications : 1;
    return LULL_OK;
}

static lull_status check_comms(const struct lull_trace *trace, struct lull_error *err)
{
    for (uint32_t c = 0; c < trace->n_comms; c++) {
        const struct lull_comm *comm = &trace->comms[c];
        bool team = comm->paradigm == LULL_PARADIGM_OPENMP;
        uint32_t bound = team ? trace->n_locations : trace->n_processes;
        bool good = comm->members || (comm->first <= bound && comm->size <= bound - comm->first);
        for (uint32_t r = 0; good && comm->members && r < comm->size; r++)
            good = comm->members[r] < bound;
        if (!good)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: communicator '%s' has an unknown member",
                             trace->path, comm->name);
        if (comm->remote != LULL_NONE && comm->remote >= trace->n_comms)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: communicator '%s' has no remote group",
                             trace->path, comm->name);
    }
    return LULL_OK;
}

/* A thread that is not the master is an OpenMP worker where there is OpenMP, else the program's
 * own. */
static void decide_unknown_roles(struct lull_trace *trace)
{
    bool openmp = false;
    for (uint32_t r = 0; r < trace->n_regions; r++)
        openmp |= trace->regions[r].paradigm == LULL_PARADIGM_OPENMP;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        struct lull_location *location = &trace->locations[l];
        if (location->role != LULL_THREAD_UNKNOWN)
            continue;
        if (trace->processes[location->process].first_location == l)
            location->role = LULL_THREAD_MASTER;
        else
            location->role = openmp ? LULL_THREAD_WORKER : LULL_THREAD_FREE;
    }
}

lull_status lull_trace_complete(struct lull_trace *trace, struct lull_error *err)
{
    if (trace->n_processes == 0 || trace->n_locations == 0)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: no process is defined", trace->path);
    if (trace->duration < 0)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: the run ends before it begins", trace->path);
    lull_status status = assign_locations(trace, err);
    if (status == LULL_OK)
        status = check_processes(trace, err);
    if (status == LULL_OK)
        status = check_comms(trace, err);
    if (status != LULL_OK)
        return status;
    for (uint32_t r = 0; r < trace->n_regions; r++) {
        struct lull_region *region = &trace->regions[r];
        lull_classify_region(region);
        if (!region->site)
            region->site = "";
        if (!*region->site || region->whole >= r ||
            strcmp(region->name, trace->regions[region->whole].name) != 0)
            region->whole = LULL_NONE;
    }
    for (uint32_t c = 0; c < trace->n_counters; c++)
        if (trace->counters[c].role == LULL_COUNTER_OTHER)
            trace->counters[c].role = lull_classify_counter(trace->counters[c].name);
    decide_unknown_roles(trace);
    return LULL_OK;
}
