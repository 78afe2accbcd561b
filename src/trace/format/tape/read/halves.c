/* Intercommunicators whose two groups have no key in common: each group's members call it by a key
 * of their own, and the leaders of both know a link. Where the leader of one was not recorded,
 * groups that describe each other belong together, which is wrong only where threads of the same
 * processes have made several at once. */
#include "trace/format/tape/read/merge.h"

#include <stdlib.h>

/* What a member says. */
struct comm_half {
    uint64_t link, own, theirs;
    uint32_t comm; /* index */
    struct lull_comm far;
    struct comm_draft draft;
};

lull_status lull_tape_define_far(struct lull_tape_merge *merge, const struct lull_tape_scope *scope,
                                 uint32_t id, struct lull_tape_fields *fields)
{
    struct comm_half half = {.comm = lull_tape_index_of(&scope->maps[LULL_TAPE_MAP_COMM], id)};
    if (half.comm == LULL_NONE)
        return LULL_ERR_FORMAT;
    half.link = lull_tape_field_u64(fields);
    half.own = lull_tape_field_u64(fields);
    half.theirs = lull_tape_field_u64(fields);
    half.far = merge->trace->comms[half.comm];
    half.far.size = lull_tape_field_u32(fields);
    half.far.first = lull_tape_field_u32(fields);
    const uint32_t listed = lull_tape_field_u32(fields);
    if (listed != 0 && listed != half.far.size)
        return LULL_ERR_FORMAT;
    half.far.members = listed ? lull_tape_read_members(merge, listed, fields) : NULL;
    half.draft = merge->drafts[half.comm];
    half.draft.remote = LULL_NONE;
    half.draft.known = true;
    half.draft.scope = scope;
    merge->halves = lull_arena_grow(merge->trace->arena, merge->halves, &merge->halves_capacity,
                                    merge->n_halves + 1, sizeof *merge->halves);
    merge->halves[merge->n_halves++] = half;
    return LULL_OK;
}

static bool is_single(const struct lull_tape_merge *merge, const struct comm_half *half)
{
    return merge->drafts[half->comm].partner == LULL_NONE;
}

static void pair(struct lull_tape_merge *merge, uint32_t a, uint32_t b)
{
    merge->drafts[a].partner = b;
    merge->drafts[b].partner = a;
}

static int compare_keys(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By link, and within one by communicator. */
static int compare_links(const void *a, const void *b)
{
    const struct comm_half *x = a, *y = b;
    return x->link != y->link ? compare_keys(x->link, y->link) : compare_keys(x->comm, y->comm);
}

static int compare_own(const void *a, const void *b)
{
    const struct comm_half *x = a, *y = b;
    return x->own != y->own ? compare_keys(x->own, y->own) : compare_keys(x->comm, y->comm);
}

static void pair_by_links(struct lull_tape_merge *merge)
{
    struct comm_half *halves = merge->halves;
    qsort(halves, merge->n_halves, sizeof *halves, compare_links);
    for (size_t i = 1; i < merge->n_halves; i++)
        if (halves[i].link != 0 && halves[i].link == halves[i - 1].link &&
            halves[i].comm != halves[i - 1].comm && is_single(merge, &halves[i]) &&
            is_single(merge, &halves[i - 1]))
            pair(merge, halves[i - 1].comm, halves[i].comm);
}

/* The first of those that call themselves so. */
static size_t first_of(const struct lull_tape_merge *merge, uint64_t own)
{
    size_t low = 0, high = merge->n_halves;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (merge->halves[middle].own < own)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void pair_by_groups(struct lull_tape_merge *merge)
{
    struct comm_half *halves = merge->halves;
    qsort(halves, merge->n_halves, sizeof *halves, compare_own);
    for (size_t i = 0; i < merge->n_halves; i++) {
        const uint64_t theirs = halves[i].theirs;
        for (size_t j = first_of(merge, theirs);
             theirs != 0 && j < merge->n_halves && halves[j].own == theirs; j++)
            if (is_single(merge, &halves[i]) && is_single(merge, &halves[j]) &&
                halves[i].comm != halves[j].comm && halves[j].theirs == halves[i].own)
                pair(merge, halves[i].comm, halves[j].comm);
    }
}

/* Of those that describe the same group, which stand behind each other from `at` on, one that knows
 * its members. */
static const struct comm_half *best_of(const struct lull_tape_merge *merge, size_t at)
{
    const struct comm_half *half = &merge->halves[at];
    for (size_t i = at; i < merge->n_halves && merge->halves[i].comm == half->comm; i++)
        if (merge->halves[i].far.members || merge->halves[i].far.first != UINT32_MAX)
            return &merge->halves[i];
    return half;
}

void lull_tape_join_halves(struct lull_tape_merge *merge)
{
    if (merge->n_halves == 0)
        return;
    pair_by_links(merge);
    pair_by_groups(merge);
    for (size_t i = 0; i < merge->n_halves; i++) {
        const struct comm_half *half = best_of(merge, i);
        if (!is_single(merge, half))
            continue;
        const uint32_t far = lull_tape_new_comm(merge);
        merge->trace->comms[far] = half->far;
        merge->drafts[far] = half->draft;
        pair(merge, half->comm, far);
    }
}
