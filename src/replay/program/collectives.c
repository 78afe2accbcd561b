/* Collective operations, blocking and not. */
#include "replay/program/queue.h"

#include "replay/program/epoch.h"

static bool known_comm(const stream_t *s, uint32_t comm)
{
    const struct lull_trace *trace = s->replay->trace;
    return comm < trace->n_comms && trace->comms[comm].paradigm == LULL_PARADIGM_MPI &&
           !(trace->comms[comm].size == 1 && trace->comms[comm].remote == LULL_NONE);
}

static bool has_root(uint8_t op)
{
    return op == LULL_COLLECTIVE_BCAST || op == LULL_COLLECTIVE_SCATTER ||
           op == LULL_COLLECTIVE_SCATTERV || op == LULL_COLLECTIVE_REDUCE ||
           op == LULL_COLLECTIVE_GATHER || op == LULL_COLLECTIVE_GATHERV;
}

/* The root of the operation that this process has come to, as a rank. */
static uint32_t find_root(const stream_t *s, const struct lull_step *step, uint32_t number)
{
    const struct lull_replay *replay = s->replay;
    uint32_t process = (uint32_t)step->collective.root;
    if (!has_root(step->op))
        return LULL_OP_ANY;
    if (step->collective.root < 0)
        process = lull_survey_root(replay->survey, step->comm, number);
    uint32_t rank = process < replay->trace->n_processes ? replay->ranks[process] : LULL_NONE;
    if (rank != LULL_NONE)
        return rank;
    return replay->ranks[lull_comm_member(&replay->trace->comms[step->comm], 0)]; /* nobody says */
}

static uint8_t as_simulated(uint8_t op)
{
    return op == LULL_COLLECTIVE_CREATE || op >= LULL_COLLECTIVE_UNKNOWN ? LULL_COLLECTIVE_BARRIER
                                                                         : op;
}

static bool waits_for_nobody(uint8_t op)
{
    return op == LULL_COLLECTIVE_FREE || op == LULL_COLLECTIVE_NEIGHBOUR;
}

static void describe_collective(struct entry *entry, const struct lull_step *step, uint32_t root)
{
    entry->op.collective = as_simulated(step->op);
    entry->op.comm = step->comm + 1;
    entry->op.peer = root;
    entry->op.bytes = step->collective.sent;
    entry->op.received = step->collective.received;
    entry->pending = false;
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
    describe_collective(entry, step, find_root(s, step, LULL_NONE));
    return lull_request_wait(s, number) ? LULL_OK : lull_replay_no_memory(s, err);
}

lull_status lull_replay_end_collective(stream_t *s, const struct lull_step *step,
                                       struct lull_error *err)
{
    if (step->collective.request != LULL_NO_REQUEST)
        return end_non_blocking(s, step, err);
    if (step->comm >= s->replay->trace->n_comms)
        return LULL_OK;
    uint64_t *next = lull_hash_add(&s->collectives, &step->comm, sizeof step->comm, 0, NULL);
    if (!next)
        return lull_replay_no_memory(s, err);
    uint32_t number = (uint32_t)(*next)++;
    if (lull_is_epoch(s->replay->trace, step, s->replay->n_ranks)) {
        s->phase++;
        s->ordinal = 0;
    }
    if (!known_comm(s, step->comm) || waits_for_nobody(step->op))
        return LULL_OK;
    struct entry *entry = lull_replay_push(s, LULL_OP_COLLECTIVE, s->call_region, 0);
    if (!entry)
        return lull_replay_no_memory(s, err);
    describe_collective(entry, step, find_root(s, step, number));
    return LULL_OK;
}
