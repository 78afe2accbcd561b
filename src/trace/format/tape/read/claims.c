/* Members of communicators that nobody lists: each of them says which rank it is. */
#include "trace/format/tape/read/merge.h"

#include <stdlib.h>

lull_status lull_tape_add_claim(struct lull_tape_merge *merge, uint32_t comm, uint64_t rank,
                                const struct lull_tape_scope *scope)
{
    if (rank == LULL_TAPE_NO_RANK)
        return LULL_OK;
    if (rank >= merge->trace->comms[comm].size)
        return LULL_ERR_FORMAT;
    merge->claims = lull_arena_grow(merge->trace->arena, merge->claims, &merge->claims_capacity,
                                    merge->n_claims + 1, sizeof *merge->claims);
    merge->claims[merge->n_claims++] = (struct comm_claim){comm, (uint32_t)rank, scope};
    return LULL_OK;
}

static int compare_comm_claims(const void *a, const void *b)
{
    const struct comm_claim *x = a, *y = b;
    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->scope > y->scope) - (x->scope < y->scope);
}

void lull_tape_sort_claims(struct lull_tape_merge *merge)
{
    if (merge->n_claims > 1)
        qsort(merge->claims, merge->n_claims, sizeof *merge->claims, compare_comm_claims);
}

static size_t first_claim(const struct lull_tape_merge *merge, uint32_t comm)
{
    size_t low = 0, high = merge->n_claims;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (merge->claims[middle].comm < comm)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool are_consecutive(const uint32_t *members, uint32_t n)
{
    for (uint32_t r = 1; r < n; r++)
        if (members[r] != members[0] + r)
            return false;
    return true;
}

bool lull_tape_take_claims(struct lull_tape_merge *merge, uint32_t c)
{
    struct lull_trace *trace = merge->trace;
    const struct lull_tape_data *data = trace->format_data;
    struct lull_comm *comm = &trace->comms[c];
    const size_t begin = first_claim(merge, c);
    size_t end = begin;
    while (end < merge->n_claims && merge->claims[end].comm == c)
        end++;
    uint32_t *members = lull_arena_zero(trace->arena, end - begin + 1, sizeof *members), n = 0;
    bool agree = true;
    for (size_t i = begin; i < end; i++) {
        const struct comm_claim *claim = &merge->claims[i];
        const bool again = i > begin && claim[-1].rank == claim->rank;
        agree &= !again || claim[-1].scope == claim->scope;
        if (!again)
            members[n++] = (uint32_t)(claim->scope - data->scopes);
    }
    if (!agree)
        lull_trace_add_quirk(trace,
                             "two processes say that they are the same rank of a communicator",
                             "'%s'", comm->name);
    const bool all = agree && n == comm->size;
    if (n < comm->size)
        lull_tape_tell_outsiders(trace, comm, n);
    comm->size = n;
    comm->members = members;
    if (all && n > 0 && are_consecutive(members, n)) {
        comm->members = NULL;
        comm->first = members[0];
    }
    return all;
}
