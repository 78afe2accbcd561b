/* Communicators as a share sees them: who of it is a member, and where the others are. */
#include "base/array.h"
#include "replay/ideal/epochs.h"

uint32_t lull_circle_process(const struct lull_trace *trace, uint32_t comm, uint32_t rank)
{
    const struct lull_comm *local = &trace->comms[comm];
    if (rank < local->size || local->remote == LULL_NONE)
        return lull_comm_member(local, rank);
    return lull_comm_member(&trace->comms[local->remote], rank - local->size);
}

static uint32_t add_series(struct share *share, uint32_t comm, uint8_t kind)
{
    if (!lull_array_reserve(&share->series, &share->series_capacity, share->n_series + 1,
                            sizeof *share->series))
        return LULL_NONE;
    share->series[share->n_series] =
        (struct series){.comm = comm, .kind = kind, .next = share->circles[comm].series};
    share->circles[comm].series = (uint32_t)share->n_series;
    return (uint32_t)share->n_series++;
}

static struct member *add_member(struct share *share, struct process *process,
                                 const struct member *like)
{
    if (!lull_array_reserve(&share->members, &share->member_capacity, share->n_members + 1,
                            sizeof *share->members))
        return NULL;
    struct member *member = &share->members[share->n_members];
    *member = *like;
    member->next = process->first_member;
    process->first_member = (uint32_t)share->n_members++;
    return member;
}

/* The members of a communicator in this share; at home also where the others are. */
static bool enrol(struct share *share, uint32_t comm)
{
    struct lull_ideal *ideal = share->ideal;
    struct circle *circle = &share->circles[comm];
    uint8_t *seen = calloc(ideal->n_shares, sizeof *seen);
    uint32_t *others = calloc(ideal->n_shares, sizeof *others);
    circle->others = others;
    uint32_t series = seen && others ? add_series(share, comm, 0) : LULL_NONE;
    bool fits = series != LULL_NONE;
    for (uint32_t rank = 0; fits && rank < circle->size; rank++) {
        uint32_t process = lull_circle_process(ideal->trace, comm, rank);
        uint16_t at = process == LULL_NONE ? NOBODY : ideal->share_of[process];
        if (at == share->index) {
            struct process *p = lull_share_process(share, process);
            const struct member member = {.comm = comm, .series = series, .rank = rank};
            fits = p && add_member(share, p, &member);
            circle->here++;
        } else if (at != NOBODY && !seen[at]) {
            seen[at] = 1;
            others[circle->n_others++] = at;
        }
    }
    free(seen);
    return fits;
}

struct circle *lull_circle_open(struct share *share, uint32_t comm)
{
    const struct lull_trace *trace = share->ideal->trace;
    const struct lull_comm *local = &trace->comms[comm];
    struct circle *circle = &share->circles[comm];
    if (circle->known)
        return circle;
    circle->known = true;
    circle->series = LULL_NONE;
    circle->size =
        local->size + (local->remote == LULL_NONE ? 0 : trace->comms[local->remote].size);
    circle->has_all = lull_epochs_have_all(share->ideal, comm, circle->size);
    circle->home = share->index;
    for (uint32_t rank = 0; rank < circle->size; rank++) { /* the first that is analysed */
        uint32_t process = lull_circle_process(trace, comm, rank);
        if (process == LULL_NONE || share->ideal->share_of[process] == NOBODY)
            continue;
        circle->home = share->ideal->share_of[process];
        break;
    }
    if (enrol(share, comm))
        return circle;
    lull_share_no_memory(share);
    return NULL;
}

/* NULL: it is no member. The list of a process is short, and the last one asked for is its first.
 */
static struct member *find_member(struct share *share, struct process *process, uint32_t comm,
                                  uint8_t kind)
{
    struct member *members = share->members;
    for (uint32_t *link = &process->first_member; *link != LULL_NONE; link = &members[*link].next) {
        struct member *found = &members[*link];
        if (found->comm != comm || found->kind != kind)
            continue;
        if (link != &process->first_member) {
            uint32_t index = *link;
            *link = found->next;
            found->next = process->first_member;
            process->first_member = index;
        }
        return found;
    }
    return NULL;
}

uint32_t lull_circle_series(struct share *share, uint32_t comm, uint8_t kind)
{
    for (uint32_t at = share->circles[comm].series; at != LULL_NONE; at = share->series[at].next)
        if (share->series[at].kind == kind)
            return at;
    return add_series(share, comm, kind);
}

struct member *lull_circle_member(struct share *share, struct process *process, uint32_t comm,
                                  uint8_t kind, bool *ret_stranger)
{
    struct member *member = find_member(share, process, comm, kind);
    *ret_stranger = false;
    if (member)
        return member;
    const struct member *blocking = kind ? find_member(share, process, comm, 0) : NULL;
    *ret_stranger = !blocking;
    if (!blocking)
        return NULL;
    struct member like = {.comm = comm, .rank = blocking->rank, .kind = kind};
    like.series = lull_circle_series(share, comm, kind);
    return like.series == LULL_NONE ? NULL : add_member(share, process, &like);
}
