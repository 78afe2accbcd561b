/* SPDX-License-Identifier: BSD-3-Clause */
#include "activity/pass.h"
#include "base/text.h"
#include "replay/ideal/epochs.h"
#include "replay/ideal/gather.h"
#include "replay/ideal/share.h"

#include <string.h>

/* If more of the analysed time than this fraction is lost, the ideal runtime is not given. */
#define IDEAL_LOST_MOST 0.01

/* ==== what is known at the end ================================================================ */

/* A stream that waits, without pointers, so that another member can tell the user of it. */
struct lull_blocked {
    bool any;                       /* false: no stream waits */
    uint8_t blocked;                /* enum blocked */
    uint8_t op;                     /* enum lull_collective */
    int32_t tag;                    /* of the message */
    uint32_t process, source, comm; /* `source`: of the message; `comm`: of the operation */
    int64_t stopped_at;             /* measured */
};

/* What a member of a team knows, or several together. Members as in struct lull_ideal_result. */
struct facts {
    uint64_t messages, collectives, unmatched_sends, arrivals;
    int64_t runtime, lost_ns; /* `runtime`: behind the last epoch */
    uint32_t lost;            /* region */
    struct complaint complaint;
    struct lull_blocked blocked;
};

static bool complaint_is_earlier(const struct complaint *a, const struct complaint *b)
{
    return a->measured != b->measured ? a->measured < b->measured : a->process < b->process;
}

/* Whether `a` tells the user more than `b`: enum blocked has streams that wait for a message first,
 * before those that wait for somebody who may wait for a message. */
static bool tells_better(const struct lull_blocked *a, const struct lull_blocked *b)
{
    return a->blocked != b->blocked ? a->blocked < b->blocked : a->stopped_at < b->stopped_at;
}

/* `more` is of later processes than `to`; where both tell equally well, the earlier ones count. */
static void facts_add(struct facts *to, const struct facts *more)
{
    to->messages += more->messages;
    to->collectives += more->collectives;
    to->unmatched_sends += more->unmatched_sends;
    to->arrivals += more->arrivals;
    if (more->runtime > to->runtime)
        to->runtime = more->runtime;
    if (more->lost_ns > to->lost_ns) {
        to->lost_ns = more->lost_ns;
        to->lost = more->lost;
    }
    if (more->complaint.kind != NO_COMPLAINT &&
        (to->complaint.kind == NO_COMPLAINT ||
         complaint_is_earlier(&more->complaint, &to->complaint)))
        to->complaint = more->complaint;
    if (more->blocked.any && (!to->blocked.any || tells_better(&more->blocked, &to->blocked)))
        to->blocked = more->blocked;
}

static struct lull_team *team_of(const struct lull_ideal *ideal)
{
    return lull_division_team(ideal->reading->division);
}

/* By all members together: which forms of calls have records, in any thread of any member. */
static lull_status facts_recorded(const struct lull_ideal *ideal, bool ret_recorded[FORMS_OF_CALLS],
                                  struct lull_error *err)
{
    int64_t recorded[FORMS_OF_CALLS] = {0};
    for (uint32_t l = 0; l < ideal->trace->n_locations; l++)
        for (int call = 0; ideal->streams[l] && call < FORMS_OF_CALLS; call++)
            recorded[call] |= ideal->streams[l]->reading.recorded[call];
    lull_status status = lull_team_max_to_all(team_of(ideal), recorded, FORMS_OF_CALLS, err);
    for (int call = 0; call < FORMS_OF_CALLS; call++)
        ret_recorded[call] = recorded[call] != 0;
    return status;
}

lull_status lull_ideal_look_back(struct lull_ideal *ideal, struct lull_ideal_options *options,
                                 bool *ret_again, struct lull_error *err)
{
    int64_t others = lull_ideal_others_call(ideal);
    bool no_epochs = false;
    for (unsigned s = ideal->first_share; s < ideal->end_share; s++)
        lull_gather_complain(ideal->shares[s]);
    lull_status status = lull_team_max_to_all(team_of(ideal), &others, 1, err);
    if (status == LULL_OK && !others)
        status = lull_epochs_look_back(ideal, &no_epochs, err);
    *ret_again = others || no_epochs;
    options->presumes_masters &= !others;
    options->without_epochs |= no_epochs;
    return status;
}

static lull_status take_facts(void *context, uint32_t member, const void *bytes, size_t size,
                              struct lull_error *err)
{
    struct facts facts;
    if (size != sizeof facts)
        return lull_fail(err, LULL_ERR_FORMAT, "rank %u is another lull", member);
    memcpy(&facts, bytes, sizeof facts);
    if (member > 0)
        facts_add(context, &facts);
    return LULL_OK;
}

/* By all members together: on the first, *facts become those of all members. */
static lull_status facts_gather(const struct lull_ideal *ideal, struct facts *facts,
                                struct lull_error *err)
{
    const struct facts own = *facts;
    return lull_team_collect(team_of(ideal), &own, sizeof own, take_facts, facts, err);
}

/* ==== the result, or why there is none ======================================================== */

struct conclusion {
    const struct lull_ideal *ideal;
    struct lull_arena *arena;
    struct facts facts;
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

static void explain_message(struct conclusion *conclusion, const struct lull_blocked *blocked,
                            const char *place)
{
    const struct lull_ideal *ideal = conclusion->ideal;
    const struct lull_process *source = &ideal->trace->processes[blocked->source];
    if (source->application != ideal->reading->application)
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
    const struct lull_channel channel = lull_match_channel(&share->queues, pending->what);
    blocked.source = channel.source;
    blocked.tag = channel.tag;
    return blocked;
}

/* No stream can go on: what this one waits for is not in the trace. */
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

/* Until when the operations of a thread of this member are complete; INT64_MAX: to its end. */
static int64_t end_of_operations(const struct lull_ideal *ideal, uint32_t location)
{
    const struct lull_trace *trace = ideal->trace;
    const struct lull_process *process = &trace->processes[trace->locations[location].process];
    const struct stream *stream = ideal->streams[location];
    const bool finalizes = !trace->has_main || process->main_end < trace->duration;
    if (!stream)
        return INT64_MAX;
    int64_t end =
        finalizes || process->first_location != location ? INT64_MAX : ideal->last_times[location];
    if (stream->calls && stream->blocked != ENDED && stream->stopped_at < end)
        end = stream->stopped_at;
    for (const struct stream *tail = stream->first_tail; tail; tail = tail->next_tail)
        end = tail->stopped_at < end ? tail->stopped_at : end;
    return end;
}

/* By all members together: where each thread waits, if that is why there is no result. */
static lull_status gather_ends(struct conclusion *conclusion, struct lull_error *err)
{
    const struct lull_ideal *ideal = conclusion->ideal;
    const uint32_t n = ideal->trace->n_locations;
    const bool first = lull_team_is_first(team_of(ideal));
    const struct facts *facts = &conclusion->facts;
    int64_t wait = first && facts->complaint.kind == NO_COMPLAINT && facts->blocked.any;
    lull_status status = lull_team_max_to_all(team_of(ideal), &wait, 1, err);
    if (status != LULL_OK || !wait)
        return status;
    int64_t *ends = lull_arena_alloc(conclusion->arena, (n + (size_t)1) * sizeof *ends);
    for (uint32_t l = 0; l < n; l++)
        ends[l] = -end_of_operations(ideal, l);
    status = lull_team_max_to_all(team_of(ideal), ends, n, err);
    for (uint32_t l = 0; l < n; l++)
        ends[l] = -ends[l];
    conclusion->result.ends = ends;
    return status;
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

static void add_losses(struct facts *facts, const struct losses *losses, const bool *recorded)
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
        (double)result->lost_ns <= IDEAL_LOST_MOST * (double)(ideal->to - ideal->from))
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

static void add_shares(const struct lull_ideal *ideal, struct facts *facts)
{
    for (unsigned s = ideal->first_share; s < ideal->end_share; s++) {
        const struct share *share = ideal->shares[s];
        facts->messages += share->n_received;
        facts->collectives += share->n_collectives;
        facts->arrivals += share->n_arrivals;
        facts->unmatched_sends +=
            lull_match_left(&share->queues, sizeof(struct message)) + share->n_nobody;
    }
}

/* Of the streams and shares of this member. */
static struct facts find_facts(const struct lull_ideal *ideal, const bool *recorded)
{
    struct facts facts = {0};
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
                                                                 : lull_share_first_blocked(ideal));
    return facts;
}

/* ---- the critical path ---------------------------------------------------------------------- */

/* The latest end of a thread, and its path. */
struct last_end {
    int64_t time;
    int64_t path[LULL_IDEAL_PARTS + LULL_IDEAL_SITES]; /* the numbers of path.h */
};

static void take_later_end(struct last_end *last, int64_t time, const int64_t *path, unsigned size)
{
    bool is_later = time > last->time;
    for (unsigned p = 0; time == last->time && !is_later && p < size; p++)
        if (path[p] != last->path[p]) {
            is_later = path[p] > last->path[p];
            break;
        }
    if (!is_later)
        return;
    last->time = time;
    memcpy(last->path, path, size * sizeof *path);
}

static lull_status take_last_end(void *context, uint32_t member, const void *bytes, size_t size,
                                 struct lull_error *err)
{
    struct last_end more;
    if (size != sizeof more)
        return lull_fail(err, LULL_ERR_FORMAT, "rank %u is another lull", member);
    memcpy(&more, bytes, sizeof more);
    if (member > 0)
        take_later_end(context, more.time, more.path, LULL_IDEAL_PARTS + LULL_IDEAL_SITES);
    return LULL_OK;
}

/* By all members together: the critical path, on the first. */
static lull_status gather_path(struct conclusion *conclusion, struct lull_error *err)
{
    static const int64_t none[LULL_IDEAL_PARTS + LULL_IDEAL_SITES];
    const struct lull_ideal *ideal = conclusion->ideal;
    struct last_end own = {.time = -1}, last;
    if (ideal->n_parts == 0)
        return LULL_OK;
    int64_t *spent = lull_arena_zero(conclusion->arena, ideal->n_parts, sizeof *spent);
    for (uint32_t l = 0; l < ideal->trace->n_locations; l++) {
        const struct stream *stream = ideal->streams[l];
        if (!stream || !stream->calls)
            continue;
        const struct share *share = ideal->shares[ideal->share_of[stream->process->index]];
        const int64_t *path = lull_ideal_path_numbers(share->paths, stream->path);
        take_later_end(&own, stream->time, path ? path : none, ideal->size_of_paths);
        for (unsigned p = 0; p < ideal->n_parts; p++)
            spent[p] += stream->reading.path->all[p];
    }
    last = own;
    lull_status status =
        lull_team_collect(team_of(ideal), &own, sizeof own, take_last_end, &last, err);
    int64_t *path = lull_arena_zero(conclusion->arena, ideal->size_of_paths, sizeof *path);
    memcpy(path, last.path, ideal->size_of_paths * sizeof *path);
    conclusion->result.path = path;
    conclusion->result.changes = path + ideal->n_parts;
    conclusion->result.spent = spent;
    return status == LULL_OK ? lull_team_sum_to_all(team_of(ideal), spent, ideal->n_parts, err)
                             : status;
}

static void judge_facts(struct conclusion *conclusion)
{
    const struct facts *facts = &conclusion->facts;
    struct lull_ideal_result *result = &conclusion->result;
    result->messages = facts->messages;
    result->collectives = facts->collectives;
    result->unmatched_sends = facts->unmatched_sends;
    result->operations = 2 * facts->messages + facts->arrivals;
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
    struct lull_team *team = lull_division_team(ideal->reading->division);
    struct conclusion conclusion = {.ideal = ideal, .arena = arena};
    bool recorded[FORMS_OF_CALLS] = {false};
    lull_status status = lull_team_agree(team, failure_of_shares(ideal, err), err);
    if (status == LULL_OK)
        status = facts_recorded(ideal, recorded, err);
    if (status != LULL_OK)
        return status;
    conclusion.facts = find_facts(ideal, recorded);
    int64_t epochs = 0;
    status = facts_gather(ideal, &conclusion.facts, err);
    if (status == LULL_OK)
        status = lull_epochs_sum(ideal, &epochs, err);
    if (status == LULL_OK)
        status = gather_ends(&conclusion, err);
    if (status == LULL_OK)
        status = gather_path(&conclusion, err);
    if (status != LULL_OK)
        return status;
    conclusion.facts.runtime += epochs;
    conclusion.facts.collectives += ideal->n_epochs;
    conclusion.facts.arrivals += ideal->n_epochs * ideal->n_ranks;
    judge_facts(&conclusion);
    if (conclusion.result.absent)
        conclusion.result.path = NULL;
    *ret_result = conclusion.result;
    return LULL_OK;
}

/* ==== in a pass of its own ==================================================================== */

/* The same window for all processes. */
static struct lull_windows *one_window(const struct lull_ideal_options *options,
                                       const struct lull_trace *trace, struct lull_arena *arena)
{
    struct lull_windows *windows = lull_arena_zero(arena, 1, sizeof *windows);
    struct lull_interval *window = lull_arena_zero(arena, 1, sizeof *window);
    *window = (struct lull_interval){options->from, options->to};
    windows->n_processes = trace->n_processes;
    windows->counts = lull_arena_zero(arena, trace->n_processes, sizeof *windows->counts);
    windows->intervals = lull_arena_zero(arena, trace->n_processes, sizeof(struct lull_interval *));
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        windows->counts[p] = 1;
        windows->intervals[p] = window;
    }
    return windows;
}

static lull_status read_once(const struct lull_trace *trace, struct lull_ideal_options *options,
                             struct lull_arena *arena, struct lull_ideal_result *ret_result,
                             bool *ret_again, struct lull_error *err)
{
    struct lull_reading reading = *lull_reading_of(options->reading);
    const struct lull_pass_options pass = {.reading = &reading,
                                           .masters_only = options->masters_only};
    const struct lull_ideal_options now = *options;
    struct lull_ideal *ideal;
    struct lull_consumer consumer;
    reading.windows = options->has_span ? one_window(options, trace, arena) : NULL;
    lull_status status =
        lull_ideal_create(trace, &now, lull_pass_workers(trace, &pass), &ideal, err);
    if (status != LULL_OK)
        return status;
    lull_ideal_consumer(ideal, &consumer);
    status = lull_pass_run(trace, &pass, &consumer, 1, err);
    status = lull_team_agree(lull_division_team(reading.division), status, err);
    if (status == LULL_OK)
        status = lull_ideal_look_back(ideal, options, ret_again, err);
    if (status == LULL_OK && !*ret_again)
        status = lull_ideal_conclude(ideal, arena, ret_result, err);
    lull_ideal_destroy(ideal);
    return status;
}

lull_status lull_ideal_runtime(const struct lull_trace *trace,
                               const struct lull_ideal_options *options, struct lull_arena *arena,
                               struct lull_ideal_result *ret_result, struct lull_error *err)
{
    struct lull_ideal_options presumed = *options;
    bool again = true;
    lull_status status = LULL_OK;
    while (again && status == LULL_OK)
        status = read_once(trace, &presumed, arena, ret_result, &again, err);
    return status;
}
