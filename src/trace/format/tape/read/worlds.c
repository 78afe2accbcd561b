/* Worlds of MPI: which process of a recorded run is which rank. A process begins before it knows
 * its rank and has the first number that is free then; what its communicators call it follows from
 * its rank. And programs without MPI, each of which says that it is rank 0, or has the rank of whom
 * it was started by. */
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

/* Who takes a rank of the first application before others. */
struct claim {
    uint32_t rank, world_size, process;
};

static int compare_rank_claims(const void *a, const void *b)
{
    const struct claim *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->world_size != y->world_size)
        return x->world_size > y->world_size ? -1 : 1;
    return (x->process > y->process) - (x->process < y->process);
}

void lull_tape_divide_programs(struct lull_trace *trace)
{
    const struct lull_tape_data *data = trace->format_data;
    struct claim *claims = lull_arena_zero(trace->arena, trace->n_processes, sizeof *claims);
    uint32_t n = 0, last = 0, others = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct lull_process *process = &trace->processes[p];
        last = process->application > last ? process->application : last;
        if (process->application == 0)
            claims[n++] = (struct claim){process->rank, data->scopes[p].world_size, p};
    }
    qsort(claims, n, sizeof *claims, compare_rank_claims);
    for (uint32_t i = 1; i < n; i++) {
        others = claims[i].rank == claims[i - 1].rank ? others + 1 : 0;
        if (others > 0)
            trace->processes[claims[i].process].application = last + others;
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
