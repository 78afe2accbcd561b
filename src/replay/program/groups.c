#include "replay/program/groups.h"

#include "activity/channel.h"
#include "base/array.h"

#include <stdlib.h>

struct rooted {
    uint32_t comm, root; /* canonical; a process */
};

struct rooted_list {
    struct rooted *items; /* malloc'd until they are kept */
    size_t count, capacity;
};

static uint32_t add_ranks(const struct lull_replay *replay, uint32_t comm, uint32_t *ranks,
                          uint32_t n)
{
    const struct lull_trace *trace = replay->trace;
    const struct lull_comm *members = &trace->comms[comm];
    for (uint32_t i = 0; i < members->size; i++) {
        uint32_t process = lull_comm_member(members, i);
        uint32_t rank = process < trace->n_processes ? replay->ranks[process] : LULL_NONE;
        if (rank != LULL_NONE)
            ranks[n++] = rank;
    }
    return n;
}

static struct lull_group group_of_ranks(const uint32_t *ranks, uint32_t n)
{
    bool contiguous = true;
    for (uint32_t i = 1; i < n; i++)
        contiguous &= ranks[i] == ranks[0] + i;
    return (struct lull_group){
        .size = n, .ranks = contiguous ? NULL : ranks, .first = n ? ranks[0] : 0};
}

/* Both sides of an intercommunicator, where the other one is known. They wait for each other, but
 * in the group of the communicator that is not the canonical one, where all wait for all. */
static bool make_group(const struct lull_replay *replay, struct lull_arena *arena, uint32_t comm,
                       struct lull_group *ret_group)
{
    const struct lull_trace *trace = replay->trace;
    const struct lull_comm *local = &trace->comms[comm];
    if (local->paradigm != LULL_PARADIGM_MPI)
        return true;
    size_t size = local->size + (size_t)1;
    size += local->remote == LULL_NONE ? 0 : trace->comms[local->remote].size;
    uint32_t *ranks = lull_arena_try(arena, size, sizeof *ranks);
    if (!ranks)
        return false;
    uint32_t n = add_ranks(replay, comm, ranks, 0);
    uint32_t own = n;
    if (local->remote != LULL_NONE)
        n = add_ranks(replay, local->remote, ranks, n);
    *ret_group = group_of_ranks(ranks, n);
    if (local->remote != LULL_NONE && lull_comm_canonical(trace, comm) == comm)
        ret_group->split = own;
    return true;
}

static bool has_member(const struct lull_comm *comm, uint32_t process)
{
    uint32_t i = 0;
    while (i < comm->size && lull_comm_member(comm, i) != process)
        i++;
    return i < comm->size;
}

static bool make_rooted_group(const struct lull_replay *replay, struct lull_arena *arena,
                              const struct rooted *rooted, struct lull_group *ret_group)
{
    const struct lull_trace *trace = replay->trace;
    uint32_t other = rooted->comm, remote = trace->comms[rooted->comm].remote;
    if (has_member(&trace->comms[other], rooted->root))
        other = remote;
    uint32_t *ranks = lull_arena_try(arena, trace->comms[other].size + (size_t)1, sizeof *ranks);
    if (!ranks)
        return false;
    ranks[0] = replay->ranks[rooted->root];
    *ret_group = group_of_ranks(ranks, add_ranks(replay, other, ranks, ranks[0] != LULL_NONE));
    return true;
}

static uint32_t find_rooted(const struct rooted *items, size_t count, uint32_t comm, uint32_t root)
{
    for (uint32_t i = 0; i < count; i++)
        if (items[i].comm == comm && items[i].root == root)
            return i;
    return LULL_NONE;
}

static bool list_roots(const struct lull_replay *replay, uint32_t comm, struct rooted_list *list)
{
    uint32_t count = lull_survey_operations(replay->survey, comm);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t root = lull_survey_root(replay->survey, comm, i);
        if (root >= replay->trace->n_processes ||
            find_rooted(list->items, list->count, comm, root) != LULL_NONE)
            continue;
        if (!lull_array_reserve(&list->items, &list->capacity, list->count + 1,
                                sizeof *list->items))
            return false;
        list->items[list->count++] = (struct rooted){comm, root};
    }
    return true;
}

static bool list_all_roots(const struct lull_replay *replay, struct rooted_list *list)
{
    const struct lull_trace *trace = replay->trace;
    bool fits = true;
    for (uint32_t c = 0; fits && c < trace->n_comms; c++)
        if (trace->comms[c].remote != LULL_NONE && lull_comm_canonical(trace, c) == c)
            fits = list_roots(replay, c, list);
    return fits;
}

static bool fill_groups(struct lull_program *program, struct lull_replay *replay,
                        const struct rooted_list *list)
{
    const uint32_t n_comms = replay->trace->n_comms;
    struct lull_group *groups =
        lull_arena_try(program->arena, 1 + n_comms + list->count, sizeof *groups);
    struct rooted *rooted = lull_arena_try(program->arena, 1 + list->count, sizeof *rooted);
    bool fits = groups && rooted;
    if (fits)
        groups[0].size = replay->n_ranks;
    for (uint32_t c = 0; fits && c < n_comms; c++)
        fits = make_group(replay, program->arena, c, &groups[1 + c]);
    for (uint32_t i = 0; fits && i < list->count; i++) {
        rooted[i] = list->items[i];
        fits = make_rooted_group(replay, program->arena, &rooted[i], &groups[1 + n_comms + i]);
    }
    program->groups = groups;
    program->n_groups = 1 + n_comms + (uint32_t)list->count;
    replay->rooted = rooted;
    replay->n_rooted = (uint32_t)list->count;
    return fits;
}

lull_status lull_replay_make_groups(struct lull_program *program, struct lull_replay *replay,
                                    struct lull_error *err)
{
    struct rooted_list list = {0};
    bool fits = list_all_roots(replay, &list) && fill_groups(program, replay, &list);
    free(list.items);
    return fits ? LULL_OK
                : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                            replay->trace->path);
}

uint32_t lull_replay_rooted_group(const struct lull_replay *replay, uint32_t comm, uint32_t root)
{
    uint32_t at = find_rooted(replay->rooted, replay->n_rooted, comm, root);
    return at == LULL_NONE ? LULL_NONE : 1 + replay->trace->n_comms + at;
}
