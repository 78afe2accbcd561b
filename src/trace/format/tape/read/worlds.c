/* Worlds of MPI: which process of a recorded run is which rank. A process begins before it knows
 * its rank and has the first number that is free then; what its communicators call it follows from
 * its rank. */
#include "trace/format/tape/read/merge.h"

#include <stdlib.h>

void lull_tape_define_world(struct lull_tape_scope *scope, struct lull_tape_fields *fields)
{
    uint32_t first = lull_tape_field_u32(fields);
    scope->world_size = lull_tape_field_u32(fields);
    scope->member = first + lull_tape_field_u32(fields);
}

static int compare_members(const void *a, const void *b)
{
    const struct lull_tape_member *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->process > y->process) - (x->process < y->process);
}

uint32_t lull_tape_member_number(const struct lull_trace *trace, uint32_t process)
{
    const struct lull_tape_data *data = trace->format_data;
    const struct lull_tape_scope *scope = &data->scopes[process];
    return scope->world_size > 0 ? scope->member : data->process_numbers[process];
}

lull_status lull_tape_find_members(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    uint32_t n = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        n += data->scopes[p].world_size > 0;
    if (n == 0)
        return LULL_OK;
    data->members = lull_arena_zero(trace->arena, n, sizeof *data->members);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (data->scopes[p].world_size > 0)
            data->members[data->n_members++] = (struct lull_tape_member){data->scopes[p].member, p};
    qsort(data->members, n, sizeof *data->members, compare_members);
    for (uint32_t i = 1; i < n; i++)
        if (data->members[i].number == data->members[i - 1].number)
            return lull_fail(err, LULL_ERR_UNSUPPORTED,
                             "%s: holds several jobs of MPI ('%s' is in it twice), which cannot be "
                             "told apart: record each by itself",
                             trace->path, trace->processes[data->members[i].process].name);
    return LULL_OK;
}

void lull_tape_divide_worlds(struct lull_trace *trace)
{
    const struct lull_tape_data *data = trace->format_data;
    uint32_t last = 0;
    bool taken = false;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct lull_process *process = &trace->processes[p];
        last = process->application > last ? process->application : last;
        taken |= process->application == 0 && process->rank == 0 && data->scopes[p].world_size > 1;
    }
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        struct lull_process *process = &trace->processes[p];
        if (process->application != 0 || data->scopes[p].world_size != 1)
            continue;
        if (taken)
            process->application = ++last;
        taken = true;
    }
}

uint32_t lull_tape_member_index(const struct lull_trace *trace, uint32_t number)
{
    const struct lull_tape_data *data = trace->format_data;
    if (data->n_members == 0)
        return lull_tape_process_index(trace, number);
    if (number < data->n_members && data->members[number].number == number)
        return data->members[number].process; /* as nearly always */
    const struct lull_tape_member key = {number, 0};
    uint32_t low = 0, high = data->n_members;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_members(&data->members[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < data->n_members && data->members[low].number == number ? data->members[low].process
                                                                        : LULL_NONE;
}
