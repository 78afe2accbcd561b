/* The result, and why there is none. */
#include "activity/pass.h"
#include "base/text.h"
#include "replay/ideal/channels.h"
#include "replay/ideal/epochs.h"
#include "replay/ideal/facts.h"
#include "replay/ideal/share.h"

struct conclusion {
    const struct lull_ideal *ideal;
    struct lull_arena *arena;
    struct lull_facts facts;
    struct lull_ideal_result result;
};

static void leave_without_result(struct conclusion *conclusion, const char *absent,
                                 const char *detail)
{
    conclusion->result.absent = absent;
    conclusion->result.detail = detail;
}

/* "rank 3 at 1.5 s" */
static const char *place_of(const struct conclusion *conclusion, uint32_t process, int64_t time)
{
    return lull_arena_printf(conclusion->arena, "rank %u at %.9g s",
                             conclusion->ideal->trace->processes[process].rank,
                             1e-9 * (double)time);
}

/* ---- who waits ----------------------------------------------------------------------------- */

/* Who waits for a message says more than who waits for somebody who waits for a message. */
static bool comes_before(const struct stream *a, const struct stream *b)
{
    if (a->blocked != b->blocked)
        return a->blocked < b->blocked;
    return a->stopped_at < b->stopped_at;
}

struct stream *lull_ideal_first_blocked(const struct lull_ideal *ideal)
{
    struct stream *first = NULL;
    for (uint32_t l = 0; l < ideal->trace->n_locations; l++) {
        struct stream *stream = ideal->streams[l];
        if (stream && stream->calls && stream->blocked != ENDED &&
            (!first || comes_before(stream, first)))
            first = stream;
    }
    return first;
}

static void explain_message(struct conclusion *conclusion, const struct lull_blocked *blocked,
                            const char *place)
{
    const struct lull_ideal *ideal = conclusion->ideal;
    const struct lull_process *source = &ideal->trace->processes[blocked->source];
    if (source->application != ideal->options->application)
        leave_without_result(conclusion, "messages come from another application",
                             lull_arena_printf(conclusion->arena,
                                               "%s waits for a message of '%s', which "
                                               "belongs to another application",
                                               place, source->name));
    else
        leave_without_result(
            conclusion, "messages were not recorded",
            lull_arena_printf(conclusion->arena,
                              "%s waits for a message of rank %u with tag %d that is "
                              "not sent in this trace",
                              place, source->rank, blocked->tag));
}

/* What a stream waits for. */
static struct lull_blocked describe_blocked(const struct lull_ideal *ideal,
                                            const struct stream *stream)
{
    struct lull_blocked blocked = {.any = stream != NULL};
    if (!stream)
        return blocked;
    blocked.blocked = stream->blocked;
    blocked.process = stream->process->index;
    blocked.stopped_at = stream->stopped_at;
    if (stream->blocked != ON_MESSAGE && stream->blocked != ON_GATHERING)
        return blocked;
    const struct pending *pending = &stream->pending[stream->pending_at];
    blocked.op = pending->op;
    blocked.comm = pending->comm;
    if (stream->blocked == ON_GATHERING)
        return blocked;
    const struct share *share = ideal->shares[ideal->share_of[blocked.process]];
    const struct lull_channel channel = lull_channel_of_queue(share, pending->what);
    blocked.source = channel.source;
    blocked.tag = channel.tag;
    return blocked;
}

/* Nobody can go on: what the first of them waits for is not in the trace. */
static void explain_blocked(struct conclusion *conclusion, const struct lull_blocked *blocked)
{
    const struct lull_trace *trace = conclusion->ideal->trace;
    const char *place = place_of(conclusion, blocked->process, blocked->stopped_at);
    if (blocked->blocked == ON_MESSAGE)
        explain_message(conclusion, blocked, place);
    else if (blocked->blocked == ON_GATHERING)
        leave_without_result(
            conclusion, "collectives were not recorded",
            lull_arena_printf(conclusion->arena,
                              "%s waits in %s on '%s' for processes that do not come in "
                              "this trace",
                              place, lull_collective_name(blocked->op),
                              trace->comms[blocked->comm].name));
    else
        leave_without_result(
            conclusion, "the threads do not meet",
            lull_arena_printf(conclusion->arena, "%s waits for threads of its process", place));
}

/* ---- collective operations that contradict each other -------------------------------------- */

static const struct complaint *find_complaint(const struct lull_ideal *ideal)
{
    const struct complaint *first = NULL;
    for (unsigned s = ideal->first_share; s < ideal->end_share; s++) {
        struct share *share = ideal->shares[s];
        lull_gather_complain(share);
        const struct complaint *complaint = &share->complaint;
        if (complaint->kind == NO_COMPLAINT)
            continue;
        if (!first || complaint->measured < first->measured ||
            (complaint->measured == first->measured && complaint->process < first->process))
            first = complaint;
    }
    return first;
}

static void explain_complaint(struct conclusion *conclusion, const struct complaint *complaint)
{
    const char *place = place_of(conclusion, complaint->process, complaint->measured);
    const char *comm = conclusion->ideal->trace->comms[complaint->comm].name;
    const char *detail =
        complaint->kind == NO_MEMBER
            ? lull_arena_printf(conclusion->arena,
                                "%s: collective operation on '%.60s', of which it is no member",
                                place, comm)
            : lull_arena_printf(conclusion->arena, "%s: %s on '%.60s', where others call %s", place,
                                lull_collective_name(complaint->op), comm,
                                lull_collective_name(complaint->other_op));
    leave_without_result(conclusion, "collectives do not match", detail);
}

/* ---- lost time ----------------------------------------------------------------------------- */

static void add_losses(struct lull_facts *facts, const struct losses *losses, const bool *recorded)
{
    int64_t lost = 0;
    uint32_t region = LULL_NONE;
    for (int call = 0; call < FORMS_OF_CALLS; call++) {
        bool to_nobody = call >= LULL_CALL_SEND && call <= LULL_CALL_SENDRECV;
        if (losses->ns[call] == 0 || (to_nobody && recorded[call]))
            continue;
        lost += losses->ns[call];
        region = losses->region[call];
    }
    if (lost > facts->lost_ns) {
        facts->lost_ns = lost;
        facts->lost = region;
    }
}

static void judge_losses(struct conclusion *conclusion)
{
    const struct lull_ideal *ideal = conclusion->ideal;
    struct lull_ideal_result *result = &conclusion->result;
    char lost[32];
    if (ideal->n_ranks < 2 || /* there is nobody to wait for */
        (double)result->lost_ns <= LULL_IDEAL_LOST_MOST * (double)(ideal->to - ideal->from))
        return;
    result->incomplete = true;
    leave_without_result(
        conclusion, "records of MPI calls are missing",
        lull_arena_printf(conclusion->arena,
                          "it is not recorded what calls such as %s waited for, in which a "
                          "thread spent %s",
                          result->lost, lull_format_time(result->lost_ns, lost, sizeof lost)));
}

/* ---- the sum ------------------------------------------------------------------------------- */

static void add_shares(const struct lull_ideal *ideal, struct lull_facts *facts)
{
    for (unsigned s = ideal->first_share; s < ideal->end_share; s++) {
        const struct share *share = ideal->shares[s];
        facts->messages += share->n_received;
        facts->collectives += share->n_collectives;
        facts->unmatched_sends += lull_channel_left(share) + share->n_nobody;
    }
    for (unsigned r = 0; r < ideal->n_readers; r++)
        facts->steps += ideal->readers[r]->n_steps;
}

/* Of the streams and shares here; the runtime is that behind all epochs. */
static struct lull_facts find_facts(const struct lull_ideal *ideal, const bool *recorded)
{
    struct lull_facts facts = {0};
    add_shares(ideal, &facts);
    for (uint32_t l = 0; l < ideal->trace->n_locations; l++) {
        const struct stream *stream = ideal->streams[l];
        if (!stream || !stream->calls)
            continue;
        const int64_t time = stream->time - ((int64_t)stream->epochs << ideal->epoch_bits);
        if (time > facts.runtime)
            facts.runtime = time;
        if (stream->losses)
            add_losses(&facts, stream->losses, recorded);
    }
    const struct complaint *complaint = find_complaint(ideal);
    if (complaint)
        facts.complaint = *complaint;
    facts.blocked = describe_blocked(ideal, ideal->first_blocked ? ideal->first_blocked
                                                                 : lull_ideal_first_blocked(ideal));
    return facts;
}

static void judge_facts(struct conclusion *conclusion)
{
    const struct lull_facts *facts = &conclusion->facts;
    struct lull_ideal_result *result = &conclusion->result;
    result->messages = facts->messages;
    result->collectives = facts->collectives;
    result->unmatched_sends = facts->unmatched_sends;
    result->steps = facts->steps;
    result->runtime = facts->runtime;
    result->lost_ns = facts->lost_ns;
    if (facts->lost_ns > 0)
        result->lost = conclusion->ideal->trace->regions[facts->lost].name;
    if (facts->complaint.kind != NO_COMPLAINT)
        explain_complaint(conclusion, &facts->complaint);
    else if (facts->blocked.any)
        explain_blocked(conclusion, &facts->blocked);
    else
        judge_losses(conclusion);
}

static lull_status failure_of_shares(const struct lull_ideal *ideal, struct lull_error *err)
{
    for (unsigned s = ideal->first_share; s < ideal->end_share; s++)
        if (ideal->shares[s]->status != LULL_OK)
            return lull_fail(err, ideal->shares[s]->status, "%s", ideal->shares[s]->error.text);
    return LULL_OK;
}

lull_status lull_ideal_conclude(struct lull_ideal *ideal, struct lull_arena *arena,
                                struct lull_ideal_result *ret_result, struct lull_error *err)
{
    struct lull_team *team = ideal->options->division ? ideal->options->division->team : NULL;
    struct conclusion conclusion = {.ideal = ideal, .arena = arena};
    bool recorded[FORMS_OF_CALLS] = {false};
    lull_status status = lull_team_agree(team, failure_of_shares(ideal, err), err);
    if (status == LULL_OK)
        status = lull_facts_recorded(ideal, recorded, err);
    if (status != LULL_OK)
        return status;
    conclusion.facts = find_facts(ideal, recorded);
    int64_t epochs = 0;
    status = lull_facts_gather(ideal, &conclusion.facts, err);
    if (status == LULL_OK)
        status = lull_epochs_sum(ideal, &epochs, err);
    if (status != LULL_OK)
        return status;
    conclusion.facts.runtime += epochs;
    conclusion.facts.collectives += ideal->n_epochs;
    judge_facts(&conclusion);
    *ret_result = conclusion.result;
    return LULL_OK;
}
