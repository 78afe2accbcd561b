/* SPDX-License-Identifier: BSD-3-Clause */
#include "activity/pass.h"
#include "replay/ideal/crew.h"
#include "replay/ideal/epochs.h"
#include "replay/ideal/gather.h"
#include "replay/ideal/mail.h"
#include "replay/ideal/reader.h"
#include "replay/program/lost.h"

#include <stddef.h>

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
    const struct lull_mailbox_options options = {.team = ideal->reading->division->team,
                                                 .workers = ideal->n_readers,
                                                 .workers_of_share = readers_of_share(ideal),
                                                 .ahead =
                                                     ideal->options->ahead * sizeof(struct letter)};
    ideal->mailbox = lull_mailbox_open(&lull_reader_mail, ideal, &options);
    return ideal->mailbox;
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
    ideal->last_times = calloc(trace->n_locations + (size_t)1, sizeof *ideal->last_times);
    ideal->shares = calloc(ideal->n_shares, sizeof(struct share *));
    ideal->readers = calloc(ideal->n_readers, sizeof(struct reader *));
    if (!ideal->share_of || !ideal->processes || !ideal->streams || !ideal->last_times ||
        !ideal->shares || !ideal->readers)
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
        if (!(ideal->shares[s] = lull_share_create(ideal, s)) ||
            !lull_gather_create(ideal->shares[s]))
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
    ideal->n_parts = options->n_parts;
    ideal->size_of_paths = options->n_parts ? options->n_parts + options->n_sites : 0;
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
    for (unsigned s = 0; ideal->shares && s < ideal->n_shares; s++) {
        lull_gather_free(ideal->shares[s]);
        lull_share_destroy(ideal->shares[s]);
    }
    for (unsigned r = 0; ideal->readers && r < ideal->n_readers; r++)
        lull_reader_destroy(ideal->readers[r]);
    for (uint32_t l = 0; ideal->streams && l < ideal->trace->n_locations; l++)
        lull_share_free_stream(ideal->streams[l]);
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
    lull_mailbox_close(ideal->mailbox);
    free(ideal->processes);
    free(ideal->streams);
    free(ideal->last_times);
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
    const uint64_t calls = LULL_STEP_MASK(LULL_STEP_CALL_BEGIN) |
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
    if (steps->count > 0) {
        const struct lull_step *last = &steps->steps[steps->count - 1];
        lull_mailbox_reads(ideal->mailbox, worker, steps->steps[0].time);
        if (last->kind == LULL_STEP_END)
            ideal->last_times[steps->location] = last->last_time;
    }
    if (!is_evaluating(ideal) || location->kind != LULL_LOCATION_THREAD ||
        ideal->share_of[location->process] != reader->share->index)
        return LULL_OK;
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
    if (lull_share_is_ahead(share) && is_evaluating(ideal))
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
    return status;
}

static lull_status rest_worker(void *context, unsigned worker, struct lull_error *err)
{
    struct lull_ideal *ideal = context;
    struct reader *reader = ideal->readers[worker];
    if (is_evaluating(ideal))
        lull_reader_sleep(reader, RESTING);
    atomic_store(&reader->hungry, false);
    return failure_of(reader->share, err);
}

static lull_status finish_worker(void *context, unsigned worker, struct lull_error *err)
{
    struct lull_ideal *ideal = context;
    struct reader *reader = ideal->readers[worker];
    lull_status status = LULL_OK;
    lull_mailbox_reads(ideal->mailbox, worker, INT64_MAX);
    while (is_evaluating(ideal) && status == LULL_OK && !atomic_load(&ideal->stopped)) {
        lull_reader_sleep(reader, SERVING);
        status = failure_of(reader->share, err);
    }
    return status;
}

static void stop(void *context)
{
    struct lull_ideal *ideal = context;
    if (ideal->mailbox)
        lull_team_stop(ideal->reading->division->team);
    lull_reader_stop(ideal);
}

static uint64_t wants_of(const struct lull_ideal *ideal)
{
    const uint64_t told_in_short =
        LULL_STEP_MASK(LULL_STEP_CALL_BEGIN) | LULL_STEP_MASK(LULL_STEP_CALL_END) |
        LULL_STEP_MASK(LULL_STEP_RECV_POST) | LULL_STEP_MASK(LULL_STEP_SEND_DONE);
    uint64_t wants = LULL_STEPS_OF_MPI & ~LULL_STEP_MASK(LULL_STEP_TEST);
    wants |= LULL_STEP_MASK(LULL_STEP_END);
    if (ideal->brief)
        wants = (wants & ~told_in_short) | LULL_STEP_MASK(LULL_STEP_CALL);
    if (ideal->n_parts > 0)
        wants |= LULL_STEP_MASK(LULL_STEP_USER);
    if (ideal->has_crews || ideal->n_parts > 0)
        wants |= LULL_STEP_MASK(LULL_STEP_FORK) | LULL_STEP_MASK(LULL_STEP_JOIN);
    if (ideal->has_crews && ideal->makes_threads)
        wants |= LULL_STEPS_OF_THREADS;
    return wants;
}

void lull_ideal_consumer(struct lull_ideal *ideal, struct lull_consumer *ret_consumer)
{
    const uint64_t wants = wants_of(ideal);
    ideal->takes = wants | LULL_STEP_MASK(LULL_STEP_RECV_POST); /* comes with many posts, unasked */
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
