/* Collective operations, blocking and not. */
#include "replay/program/groups.h"
#include "replay/program/queue.h"

#include "activity/channel.h"
#include "base/collective.h"
#include "replay/program/epoch.h"

static bool known_comm(const stream_t *s, uint32_t comm)
{
    const struct lull_trace *trace = s->replay->trace;
    return comm < trace->n_comms && trace->comms[comm].paradigm == LULL_PARADIGM_MPI &&
           !(trace->comms[comm].size == 1 && trace->comms[comm].remote == LULL_NONE);
}

static bool has_root(uint8_t op)
{
    enum lull_collective_needs needs = lull_collective_needs(op);
    return needs == LULL_NEEDS_ROOT || needs == LULL_ROOT_NEEDS_ALL;
}

static bool is_between_groups(const stream_t *s, uint32_t comm)
{
    return s->replay->trace->comms[comm].remote != LULL_NONE;
}

/* The root of the operation that this process has come to, as a process; LULL_NONE: nobody says. */
static uint32_t find_root(const stream_t *s, const struct lull_step *step, uint32_t number)
{
    if (!has_root(step->op))
        return LULL_NONE;
    if (step->collective.root >= 0)
        return (uint32_t)step->collective.root;
    return lull_survey_root(s->replay->survey, step->comm, number);
}

static uint32_t rank_of_root(const stream_t *s, uint32_t process)
{
    return process < s->replay->trace->n_processes ? s->replay->ranks[process] : LULL_NONE;
}

/* Between two groups those of the root's side give MPI_PROC_NULL as root; the root may be a process
 * that is not replayed. */
static bool takes_no_part(const stream_t *s, const struct lull_step *step, uint32_t root)
{
    return is_between_groups(s, step->comm) && root != LULL_NONE &&
           (rank_of_root(s, root) == LULL_NONE ||
            (step->collective.root < 0 && root != s->process));
}

static uint8_t as_simulated(uint8_t op)
{
    return op == LULL_COLLECTIVE_CREATE || op >= LULL_COLLECTIVE_UNKNOWN ? LULL_COLLECTIVE_BARRIER
                                                                         : op;
}

static bool waits_for_nobody(uint8_t op)
{
    return lull_collective_needs(op) == LULL_NEEDS_NOBODY;
}

static void set_root(const stream_t *s, struct lull_op *op, const struct lull_step *step,
                     uint32_t root)
{
    const struct lull_replay *replay = s->replay;
    uint32_t comm = lull_comm_canonical(replay->trace, step->comm);
    uint32_t rank = rank_of_root(s, root);
    op->peer = LULL_OP_ANY;
    if (!has_root(step->op))
        return;
    if (!is_between_groups(s, step->comm)) {
        op->peer = rank != LULL_NONE
                       ? rank
                       : replay->ranks[lull_comm_member(&replay->trace->comms[comm], 0)];
        return;
    }
    uint32_t group = rank != LULL_NONE ? lull_replay_rooted_group(replay, comm, root) : LULL_NONE;
    if (group == LULL_NONE) { /* all wait for all */
        op->collective = LULL_COLLECTIVE_BARRIER;
        op->comm = replay->trace->comms[comm].remote + 1;
        return;
    }
    op->comm = group;
    op->peer = rank;
}

static void describe_collective(const stream_t *s, struct entry *entry,
                                const struct lull_step *step, uint32_t root)
{
    uint32_t comm = lull_comm_canonical(s->replay->trace, step->comm);
    if (is_between_groups(s, comm) && lull_collective_needs_between(step->op) == LULL_NEEDS_ALL)
        comm = s->replay->trace->comms[comm].remote; /* the same members: see groups.c */
    entry->op.collective = as_simulated(step->op);
    entry->op.comm = comm + 1;
    entry->op.bytes = step->collective.sent;
    entry->op.received = step->collective.received;
    entry->pending = false;
    set_root(s, &entry->op, step, root);
}

lull_status lull_replay_begin_collective(stream_t *s, const struct lull_step *step,
                                         struct lull_error *err)
{
    if (step->collective.request == LULL_NO_REQUEST)
        return LULL_OK;
    bool known = step->op != LULL_COLLECTIVE_UNKNOWN && step->comm < s->replay->trace->n_comms;
    bool nothing = known && (waits_for_nobody(step->op) || !known_comm(s, step->comm));
    struct open *open =
        lull_request_add(s, step->collective.request, nothing ? OPEN_NOTHING : OPEN_COLLECTIVE);
    if (!open)
        return lull_replay_no_memory(s, err);
    if (nothing)
        return LULL_OK;
    struct entry *entry = lull_replay_push(s, LULL_OP_COLLECTIVE, s->call_region, 0);
    if (!entry)
        return lull_replay_no_memory(s, err);
    entry->op.request = open->number = lull_request_number(s);
    entry->pending = true;
    open->position = lull_entry_position(s, entry);
    return LULL_OK;
}

static lull_status end_non_blocking(stream_t *s, const struct lull_step *step,
                                    struct lull_error *err)
{
    struct open *open = lull_request_find(s, step->collective.request);
    if (!open)
        return LULL_OK;
    struct entry *entry = lull_entry_at(s, open->position);
    if (open->kind != OPEN_COLLECTIVE || !known_comm(s, step->comm) || waits_for_nobody(step->op))
        return lull_request_drop(s, open, err);
    uint32_t number = open->number;
    lull_request_remove(s, open);
    if (!entry) { /* it could not wait so long: takes part now */
        entry = lull_replay_push(s, LULL_OP_COLLECTIVE, s->call_region, 0);
        if (!entry)
            return lull_replay_no_memory(s, err);
        entry->op.request = number;
    }
    describe_collective(s, entry, step, find_root(s, step, LULL_NONE));
    return lull_request_wait(s, number) ? LULL_OK : lull_replay_no_memory(s, err);
}

lull_status lull_replay_end_collective(stream_t *s, const struct lull_step *step,
                                       struct lull_error *err)
{
    if (step->collective.request != LULL_NO_REQUEST)
        return end_non_blocking(s, step, err);
    if (step->comm >= s->replay->trace->n_comms)
        return LULL_OK;
    uint32_t comm = lull_comm_canonical(s->replay->trace, step->comm);
    uint64_t *next = lull_hash_add(&s->collectives, &comm, sizeof comm, 0, NULL);
    if (!next)
        return lull_replay_no_memory(s, err);
    uint32_t number = (uint32_t)(*next)++;
    if (lull_is_epoch(s->replay->trace, step, s->replay->n_ranks)) {
        s->phase++;
        s->ordinal = 0;
    }
    if (!known_comm(s, step->comm) || waits_for_nobody(step->op))
        return LULL_OK;
    uint32_t root = find_root(s, step, number);
    if (takes_no_part(s, step, root))
        return LULL_OK;
    struct entry *entry = lull_replay_push(s, LULL_OP_COLLECTIVE, s->call_region, 0);
    if (!entry)
        return lull_replay_no_memory(s, err);
    describe_collective(s, entry, step, root);
    return LULL_OK;
}
