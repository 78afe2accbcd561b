#include "replay/ideal/ideal.h"

#include "activity/pass.h"
#include "base/text.h"
#include "replay/ideal/crew.h"
#include "replay/ideal/epochs.h"
#include "replay/ideal/mail.h"
#include "replay/ideal/share.h"
#include "replay/ideal/stream.h"
#include "replay/program/lost.h"
#include "team/division.h"
#include "trace/scan.h"
#include "trace/trace.h"

#include <stddef.h>
#include <string.h>

/* ==== the consumer ============================================================================ */

/* If more of the analysed time than this fraction is lost, the ideal runtime is not given. */
#define IDEAL_LOST_MOST 0.01

enum {
    /* Notes of a share that wait before its blocked streams are not welcome any more: 1.3 MB. More
     * of them do not stay in the caches where several members share a core. */
    FIRST_BOUND = 1 << 15,
    READERS_OF_SHARE = 4
};

/* ---- life ---------------------------------------------------------------------------------- */

static lull_status no_memory_for_ideal(const struct lull_trace *trace, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
}

static unsigned readers_of_share(const struct lull_ideal *ideal)
{
    return ideal->options->readers ? ideal->options->readers : READERS_OF_SHARE;
}

/* How many shares so many workers have. */
static unsigned shares_of(const struct lull_ideal *ideal, unsigned workers)
{
    const unsigned per_share = readers_of_share(ideal);
    return (workers + per_share - 1) / per_share;
}

/* The shares of a team are numbered member by member. */
static bool number_members(struct lull_ideal *ideal, const int64_t *workers, unsigned n_members)
{
    const unsigned own = lull_team_index(ideal->reading->division->team);
    unsigned total = 0;
    for (unsigned m = 0; m < n_members; m++) {
        ideal->workers_of[m] = (unsigned)workers[m];
        if (m == own)
            ideal->first_share = total;
        total += shares_of(ideal, (unsigned)workers[m]);
        if (m == own)
            ideal->end_share = total;
    }
    ideal->n_shares = total;
    if (!(ideal->member_of = calloc(total, sizeof *ideal->member_of)))
        return false;
    for (unsigned m = 0, share = 0; m < n_members; m++)
        for (unsigned i = shares_of(ideal, (unsigned)workers[m]); i > 0; i--)
            ideal->member_of[share++] = m;
    ideal->leads = lull_leads_create(ideal);
    ideal->mail = lull_mail_create(ideal);
    return ideal->leads && ideal->mail;
}

/* Counts the shares of all members, which call this together. */
static lull_status number_shares(struct lull_ideal *ideal, struct lull_error *err)
{
    const struct lull_division *division = ideal->reading->division;
    ideal->n_shares = ideal->end_share = shares_of(ideal, ideal->n_readers);
    if (!division)
        return LULL_OK;
    const unsigned n_members = lull_team_size(division->team);
    int64_t *workers = calloc(n_members, sizeof *workers);
    ideal->workers_of = calloc(n_members, sizeof *ideal->workers_of);
    lull_team_begin(division->team, LULL_TEAM_REPLAY);
    if (!workers || !ideal->workers_of) {
        free(workers);
        return no_memory_for_ideal(ideal->trace, err);
    }
    workers[lull_team_index(division->team)] = ideal->n_readers;
    lull_status status = lull_team_sum_to_all(division->team, workers, n_members, err);
    if (status == LULL_OK && !number_members(ideal, workers, n_members))
        status = no_memory_for_ideal(ideal->trace, err);
    free(workers);
    return status;
}

/* The share of a process. */
static unsigned find_share(const struct lull_ideal *ideal, uint32_t process)
{
    const struct lull_division *division = ideal->reading->division;
    const struct lull_trace *trace = ideal->trace;
    const unsigned per_share = readers_of_share(ideal);
    struct lull_process_range range = ideal->reading->range;
    unsigned member = 0, before = 0, workers = ideal->n_readers;
    while (division && process >= division->cuts[member + 1])
        before += shares_of(ideal, ideal->workers_of[member++]);
    if (division) {
        range = (struct lull_process_range){division->cuts[member], division->cuts[member + 1]};
        workers = ideal->workers_of[member];
    }
    return before + lull_pass_worker_of(trace, range, workers, process) / per_share;
}

/* Gives each process a share, and makes the shares and readers of this member. False: no memory. */
static bool deal_out(struct lull_ideal *ideal)
{
    const struct lull_trace *trace = ideal->trace;
    const unsigned per_share = readers_of_share(ideal);
    ideal->share_of = calloc(trace->n_processes + (size_t)1, sizeof *ideal->share_of);
    ideal->processes = calloc(trace->n_processes + (size_t)1, sizeof(struct process *));
    ideal->streams = calloc(trace->n_locations + (size_t)1, sizeof(struct stream *));
    ideal->shares = calloc(ideal->n_shares, sizeof(struct share *));
    ideal->readers = calloc(ideal->n_readers, sizeof(struct reader *));
    if (!ideal->share_of || !ideal->processes || !ideal->streams || !ideal->shares ||
        !ideal->readers)
        return false;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct lull_process *process = &trace->processes[p];
        bool is_mine = process->application == ideal->reading->application;
        ideal->share_of[p] = is_mine ? (uint16_t)find_share(ideal, p) : (uint16_t)NOBODY;
        ideal->n_ranks += is_mine && process->n_threads > 0;
        ideal->has_crews |= is_mine && lull_share_is_crew(ideal, p);
    }
    lull_epochs_begin(ideal);
    for (unsigned s = ideal->first_share; s < ideal->end_share; s++)
        if (!(ideal->shares[s] = lull_share_create(ideal, s)))
            return false;
    for (unsigned r = 0; r < ideal->n_readers; r++) {
        struct share *share = ideal->shares[ideal->first_share + r / per_share];
        if (!(ideal->readers[r] = lull_reader_create()))
            return false;
        ideal->readers[r]->share = share;
        share->readers = share->n_readers ? share->readers : &ideal->readers[r];
        share->n_readers++;
    }
    return true;
}

lull_status lull_ideal_create(const struct lull_trace *trace,
                              const struct lull_ideal_options *options, unsigned workers,
                              struct lull_ideal **ret_ideal, struct lull_error *err)
{
    struct lull_ideal *ideal = calloc(1, sizeof *ideal);
    if (!ideal)
        return no_memory_for_ideal(trace, err);
    ideal->trace = trace;
    lull_quirk_tally_begin(&ideal->tally, trace);
    ideal->options = options;
    ideal->reading = lull_reading_of(options->reading);
    ideal->to = trace->duration;
    ideal->has_span = options->has_span;
    if (options->has_span) {
        ideal->from = options->from > 0 ? options->from : 0;
        ideal->to = options->to < trace->duration ? options->to : trace->duration;
    }
    ideal->synchronous = lull_call_sends_synchronously(trace);
    ideal->makes_threads = !options->masters_only && lull_makes_threads(trace);
    ideal->presumes_masters = options->presumes_masters && !ideal->makes_threads;
    ideal->brief = ideal->presumes_masters && !options->calls_in_full && !options->has_span &&
                   !options->message && !ideal->synchronous;
    ideal->n_readers = workers;
    pthread_mutex_init(&ideal->lost_lock, NULL);
    atomic_init(&ideal->bound, options->waiting ? options->waiting : FIRST_BOUND);
    atomic_init(&ideal->unsettled, workers);
    lull_status status = number_shares(ideal, err);
    if (status == LULL_OK)
        status = deal_out(ideal) ? LULL_OK : no_memory_for_ideal(trace, err);
    if (ideal->reading->division)
        status = lull_team_agree(ideal->reading->division->team, status, err);
    if (status == LULL_OK)
        *ret_ideal = ideal;
    else
        lull_ideal_destroy(ideal);
    return status;
}

void lull_ideal_destroy(struct lull_ideal *ideal)
{
    if (!ideal)
        return;
    for (unsigned s = 0; ideal->shares && s < ideal->n_shares; s++)
        lull_share_destroy(ideal->shares[s]);
    for (unsigned r = 0; ideal->readers && r < ideal->n_readers; r++)
        lull_reader_destroy(ideal->readers[r]);
    for (uint32_t l = 0; ideal->streams && l < ideal->trace->n_locations; l++)
        lull_ideal_stream_free(ideal->streams[l]);
    for (uint32_t p = 0; ideal->processes && p < ideal->trace->n_processes; p++) {
        if (ideal->processes[p])
            lull_crew_destroy(ideal->processes[p]->crew);
        free(ideal->processes[p]);
    }
    lull_lost_destroy(ideal->lost);
    lull_trace_silent_destroy(ideal->silent);
    pthread_mutex_destroy(&ideal->lost_lock);
    free(ideal->shares);
    free(ideal->readers);
    free(ideal->share_of);
    free(ideal->member_of);
    free(ideal->workers_of);
    lull_mail_destroy(ideal->mail);
    lull_leads_destroy(ideal->leads);
    free(ideal->processes);
    free(ideal->streams);
    free(ideal);
}

/* ---- the consumer -------------------------------------------------------------------------- */

static bool is_evaluating(struct lull_ideal *ideal)
{
    return atomic_load_explicit(&ideal->state, memory_order_acquire) == EVALUATING;
}

/* Looks whether a thread that is taken not to communicate does so after all. */
static void watch(struct lull_ideal *ideal, const struct lull_steps *steps)
{
    const uint32_t calls = LULL_STEP_MASK(LULL_STEP_CALL_BEGIN) |
                           LULL_STEP_MASK(LULL_STEP_CALL_END) | LULL_STEP_MASK(LULL_STEP_CALL);
    bool any = false;
    for (uint32_t i = 0; i < steps->count && !any; i++) {
        const struct lull_step *step = &steps->steps[i];
        if (calls >> step->kind & 1) {
            const struct lull_region *region = &ideal->trace->regions[step->region];
            uint8_t activity = lull_activity_on(region, LULL_LOCATION_THREAD);
            any = activity == LULL_MPI_P2P || activity == LULL_MPI_COLLECTIVE;
        } else {
            any = LULL_STEPS_OF_MPI >> step->kind & 1;
        }
    }
    if (any)
        atomic_store_explicit(&ideal->others_call, true, memory_order_relaxed);
}

bool lull_ideal_others_call(const struct lull_ideal *ideal)
{
    return atomic_load(&ideal->others_call);
}

static bool is_master(const struct lull_trace *trace, uint32_t location)
{
    return trace->processes[trace->locations[location].process].first_location == location;
}

static lull_status take_steps_for_ideal(void *context, unsigned worker,
                                        const struct lull_steps *steps, struct lull_error *err)
{
    struct lull_ideal *ideal = context;
    struct reader *reader = ideal->readers[worker];
    const struct lull_location *location = &ideal->trace->locations[steps->location];
    if (steps->count > 0)
        lull_lead_reads(reader, steps->steps[0].time);
    if (!is_evaluating(ideal) || location->kind != LULL_LOCATION_THREAD ||
        ideal->share_of[location->process] != reader->share->index)
        return LULL_OK;
    reader->n_steps += steps->count;
    if (ideal->presumes_masters && !is_master(ideal->trace, steps->location)) {
        watch(ideal, steps);
        return LULL_OK;
    }
    return lull_reader_steps(reader, steps, err);
}

/* Whether more steps of a stream would have to wait. The share is not held: if another reader lets
 * the stream go on after this, that reader sets `hungry`. */
static bool is_blocked(struct share *share, const struct stream *stream)
{
    const struct crew *crew = stream->process->crew;
    if (!crew)
        return (stream->blocked != RUNNABLE && stream->blocked != ENDED) ||
               atomic_load_explicit(&stream->tails, memory_order_relaxed) > 0;
    pthread_mutex_lock(&share->evaluation);
    bool blocked = lull_crew_is_blocked(crew);
    pthread_mutex_unlock(&share->evaluation);
    return blocked;
}

/* The stream of a location, or of its master if the location has none: then what others keep until
 * the two meet is bounded, too. */
static const struct stream *stream_of(const struct lull_ideal *ideal, uint32_t location)
{
    const struct lull_trace *trace = ideal->trace;
    const uint32_t process = trace->locations[location].process;
    const struct stream *own = ideal->streams[location];
    return own ? own : ideal->streams[trace->processes[process].first_location];
}

static bool is_welcome(void *context, unsigned worker, uint32_t location)
{
    struct lull_ideal *ideal = context;
    struct share *share = ideal->readers[worker]->share;
    const struct stream *stream = stream_of(ideal, location);
    if (lull_lead_is_too_large(share) && is_evaluating(ideal))
        return false;
    /* too much waits already, but only streams that cannot go on would add to it */
    if (!stream || !atomic_load_explicit(&share->full, memory_order_relaxed))
        return true;
    return !is_blocked(share, stream) || !is_evaluating(ideal);
}

static lull_status failure_of(struct share *share, struct lull_error *err)
{
    pthread_mutex_lock(&share->evaluation);
    lull_status status = lull_reader_failure(share, err);
    pthread_mutex_unlock(&share->evaluation);
    return status == LULL_OK ? lull_mail_failure(share->ideal->mail, err) : status;
}

static lull_status rest_worker(void *context, unsigned worker, struct lull_error *err)
{
    struct lull_ideal *ideal = context;
    struct reader *reader = ideal->readers[worker];
    if (is_evaluating(ideal))
        lull_post_sleep(reader, RESTING);
    atomic_store(&reader->hungry, false);
    return failure_of(reader->share, err);
}

static lull_status finish_worker(void *context, unsigned worker, struct lull_error *err)
{
    struct lull_ideal *ideal = context;
    struct reader *reader = ideal->readers[worker];
    lull_status status = LULL_OK;
    lull_lead_reads(reader, INT64_MAX);
    while (is_evaluating(ideal) && status == LULL_OK && !atomic_load(&ideal->stopped)) {
        lull_post_sleep(reader, SERVING);
        status = failure_of(reader->share, err);
    }
    return status;
}

static void stop(void *context)
{
    struct lull_ideal *ideal = context;
    if (ideal->mail)
        lull_team_stop(ideal->reading->division->team);
    atomic_store(&ideal->stopped, true);
    lull_post_rouse_all(ideal);
}

void lull_ideal_consumer(struct lull_ideal *ideal, struct lull_consumer *ret_consumer)
{
    const uint32_t told_in_short =
        LULL_STEP_MASK(LULL_STEP_CALL_BEGIN) | LULL_STEP_MASK(LULL_STEP_CALL_END) |
        LULL_STEP_MASK(LULL_STEP_RECV_POST) | LULL_STEP_MASK(LULL_STEP_SEND_DONE);
    uint32_t wants = LULL_STEPS_OF_MPI & ~LULL_STEP_MASK(LULL_STEP_TEST);
    wants |= LULL_STEP_MASK(LULL_STEP_END);
    if (ideal->brief)
        wants = (wants & ~told_in_short) | LULL_STEP_MASK(LULL_STEP_CALL);
    if (ideal->has_crews)
        wants |= LULL_STEP_MASK(LULL_STEP_FORK) | LULL_STEP_MASK(LULL_STEP_JOIN);
    if (ideal->has_crews && ideal->makes_threads)
        wants |= LULL_STEPS_OF_THREADS;
    *ret_consumer = (struct lull_consumer){.context = ideal,
                                           .wants = wants,
                                           .abreast = true,
                                           /* it tells how far threads without steps were read */
                                           .wants_ledger = ideal->has_crews,
                                           .steps = take_steps_for_ideal,
                                           .welcome = is_welcome,
                                           .rest = rest_worker,
                                           .finish = finish_worker,
                                           .stop = stop};
}

/* ---- in a pass of its own ------------------------------------------------------------------ */

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
    uint64_t messages, collectives, unmatched_sends, steps;
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
    to->steps += more->steps;
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

/* As tells_better, of streams of this member. */
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
        facts->unmatched_sends +=
            lull_match_left(&share->queues, sizeof(struct message)) + share->n_nobody;
    }
    for (unsigned r = 0; r < ideal->n_readers; r++)
        facts->steps += ideal->readers[r]->n_steps;
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
                                                                 : lull_ideal_first_blocked(ideal));
    return facts;
}

static void judge_facts(struct conclusion *conclusion)
{
    const struct facts *facts = &conclusion->facts;
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
    if (status != LULL_OK)
        return status;
    conclusion.facts.runtime += epochs;
    conclusion.facts.collectives += ideal->n_epochs;
    judge_facts(&conclusion);
    *ret_result = conclusion.result;
    return LULL_OK;
}
