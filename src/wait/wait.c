/* SPDX-License-Identifier: BSD-3-Clause */
#include "wait/wait.h"

#include "team/team.h"
#include "wait/crew.h"
#include "wait/device_wait.h"
#include "wait/letters.h"
#include "wait/stream.h"

#include <stdlib.h>

/* ==== result ================================================================================== */

/* The members of a team send what they have found to the first member. */

struct findings {
    struct lull_waits *waits;
    struct lull_wait_result *result;
    struct lull_wait_location *locations; /* [n_locations] of the trace */
};

struct counts {
    uint64_t messages, collectives, unmatched_sends, unmatched_operations;
};

/* Puts or gets (`go`) each location of the processes that a member has read. */
static bool go_over_locations(const struct findings *findings, uint32_t member,
                              struct lull_flow *flow,
                              bool (*go)(struct lull_waits *waits, uint32_t location,
                                         struct lull_wait_location *sums, struct lull_flow *flow))
{
    const struct lull_waits *waits = findings->waits;
    const uint32_t *cuts = waits->reading->division->cuts + member;
    bool good = true;
    for (uint32_t p = cuts[0]; p < cuts[1]; p++) {
        const struct lull_process *process = &waits->trace->processes[p];
        for (uint32_t i = 0; good && i < process->n_locations; i++) {
            const uint32_t location = process->first_location + i;
            good = go(findings->waits, location, &findings->locations[location], flow);
        }
    }
    return good;
}

static bool put_location(struct lull_waits *waits, uint32_t location,
                         struct lull_wait_location *sums, struct lull_flow *flow)
{
    return lull_flow_put(flow, sums, sizeof *sums) &&
           lull_wait_devices_put(waits->devices, location, flow);
}

static bool get_location(struct lull_waits *waits, uint32_t location,
                         struct lull_wait_location *sums, struct lull_flow *flow)
{
    return lull_flow_get(flow, sums, sizeof *sums) &&
           lull_wait_devices_get(waits->devices, location, flow);
}

static bool put_findings(void *context, struct lull_flow *flow)
{
    const struct findings *findings = context;
    const struct lull_waits *waits = findings->waits;
    const struct lull_wait_result *result = findings->result;
    const struct counts counts = {result->messages, result->collectives, result->unmatched_sends,
                                  result->unmatched_operations};
    const uint32_t own = lull_team_index(lull_wait_team(waits));
    return lull_flow_put(flow, &counts, sizeof counts) &&
           go_over_locations(findings, own, flow, put_location) &&
           lull_flow_put(flow, waits->calls, waits->trace->n_regions * sizeof *waits->calls) &&
           lull_flow_put_items(flow, waits->charges, waits->charges_by_place.count,
                               sizeof *waits->charges);
}

static bool get_calls(struct lull_waits *waits, struct lull_flow *flow)
{
    bool good = true;
    for (uint32_t r = 0; good && r < waits->trace->n_regions; r++) {
        struct lull_wait_call call, *to = &waits->calls[r];
        good = lull_flow_get(flow, &call, sizeof call);
        if (!good)
            break;
        to->calls += call.calls;
        to->bytes += call.bytes;
        to->transfer_ns += call.transfer_ns;
        to->waited_ns += call.waited_ns;
    }
    return good;
}

static bool get(void *context, uint32_t member, struct lull_flow *flow)
{
    struct findings *findings = context;
    struct lull_waits *waits = findings->waits;
    struct lull_wait_result *result = findings->result;
    struct counts counts;
    size_t n_charges;
    if (!lull_flow_get(flow, &counts, sizeof counts) ||
        !go_over_locations(findings, member, flow, get_location))
        return false;
    result->messages += counts.messages;
    result->collectives += counts.collectives;
    result->unmatched_sends += counts.unmatched_sends;
    result->unmatched_operations += counts.unmatched_operations;
    if (!get_calls(waits, flow))
        return false;
    struct lull_wait_charge *charges = lull_flow_get_items(flow, sizeof *charges, &n_charges);
    bool good = charges;
    for (size_t i = 0; i < n_charges && good; i++)
        good = lull_wait_add_charge(waits, &charges[i]);
    free(charges);
    return good;
}

/* Called by all members together, when all waits are charged. `result` has what this member has
 * found, with its own locations; afterwards, that of the first member has what all have found.
 * Charges are added up in `waits`; they are listed later. */
static lull_status wait_gather_result(struct lull_waits *waits, struct lull_wait_result *result,
                                      struct lull_wait_location *locations, struct lull_error *err)
{
    struct findings findings = {waits, result, locations};
    const struct lull_freight freight = {put_findings, get, &findings, "waits"};
    return lull_team_bring(waits->reading->division->team, &freight, err);
}

/* Lets all members know whether any of them has seen threads communicate that are not followed. */
static lull_status wait_gather_others(struct lull_waits *waits, bool *others,
                                      struct lull_error *err)
{
    struct lull_team *team = waits->reading->division->team;
    int64_t any = *others;
    lull_status status = lull_team_max_to_all(team, &any, 1, err);
    *others = any;
    return status;
}

/* ==== what never comes ======================================================================== */

/* Some messages and arrivals never come, because the records of the process that would send, or
 * take part, have ended: the program was killed, the budget of the recorder was spent, or a file is
 * damaged.
 *
 * This is looked at when no stream can go on any more. Then all members of a team learn which
 * processes have ended, which messages these have sent, and in how many operations they have taken
 * part. A stream that waits for more than that goes on without it, then and later. These facts are
 * true whenever they are learned, so the order in which processes end makes no difference. If even
 * then no stream can go on, all streams go on without what they wait for. */

/* Whether this member reads the process, and it belongs to the application. */
static bool is_follower(const struct lull_waits *waits, uint32_t process)
{
    return waits->trace->processes[process].application == waits->reading->application &&
           !lull_wait_is_far(waits, process);
}

/* Learns from all members which processes have ended: each member sets the bits of its own
 * processes. */
static lull_status learn_processes(struct lull_waits *waits, struct lull_error *err)
{
    const uint32_t n = waits->trace->n_processes;
    const size_t words = n / 63 + (size_t)1;
    struct lull_team *team = lull_wait_team(waits);
    int64_t *bits = calloc(words, sizeof *bits);
    if (!bits) {
        waits->no_memory = true;
        return LULL_OK;
    }
    for (uint32_t p = 0; p < n; p++)
        if (is_follower(waits, p) && lull_wait_has_ended(waits, p))
            bits[p / 63] |= INT64_C(1) << p % 63;
    lull_status status = lull_team_sum_to_all(team, bits, words, err);
    for (uint32_t p = 0; p < n && status == LULL_OK; p++)
        waits->ended[p] = waits->trace->processes[p].n_threads == 0 || bits[p / 63] >> p % 63 & 1;
    waits->knows_ends = true;
    free(bits);
    return status;
}

/* ---- collective operations ------------------------------------------------------------------ */

/* Looks at the ranks that this member has and that have ended: in how many operations of the series
 * each took part. */
static void look_at_series(struct lull_waits *waits, uint32_t index)
{
    struct wait_series *series = &waits->series[index];
    for (uint32_t r = 0; r < series->size; r++) {
        const uint32_t process = lull_circle_process(waits->trace, series->comm, r);
        if (lull_wait_is_far(waits, process) || !waits->ended[process])
            continue;
        const uint32_t count = lull_wait_count_operations(waits, index, process);
        uint32_t *fewest = &series->fewest[lull_circle_side(waits->trace, series->comm, r)];
        *fewest = count < *fewest ? count : *fewest;
    }
}

static void tell_fewest(struct lull_waits *waits, uint32_t series, unsigned group)
{
    waits->no_memory |= !lull_wait_tell_fewest(waits, &waits->series[series], group);
}

/* Tells other members of the series that they may not know: a member may have ranks that have ended
 * without coming to any operation of the series. */
static void announce_series(struct lull_waits *waits)
{
    for (uint32_t s = 0; s < waits->series_by_comm.count; s++)
        if (!waits->series[s].announced)
            tell_fewest(waits, s, 0);
}

static void learn_series(struct lull_waits *waits)
{
    for (uint32_t s = 0; s < waits->series_by_comm.count; s++) {
        const uint32_t before[] = {waits->series[s].fewest[0], waits->series[s].fewest[1]};
        look_at_series(waits, s);
        for (unsigned g = 0; g < 2; g++)
            if (waits->series[s].fewest[g] < before[g])
                tell_fewest(waits, s, g);
    }
}

/* ---- both ---------------------------------------------------------------------------------- */

/* Returns when all letters that members have sent each other have come. */
static lull_status settle_letters(struct lull_waits *waits, struct lull_error *err)
{
    return waits->office ? lull_wait_office_settle(waits, err) : LULL_OK;
}

/* Called by all members together. */
static lull_status learn_ends(struct lull_waits *waits, struct lull_error *err)
{
    lull_status status = learn_processes(waits, err);
    if (status != LULL_OK || waits->no_memory)
        return status;
    announce_series(waits);
    status = settle_letters(waits, err);
    if (status != LULL_OK || waits->no_memory)
        return status;
    learn_series(waits);
    return settle_letters(waits, err);
}

/* ---- what is left ---------------------------------------------------------------------------- */

/* A stream that waits for a message or an operation looks once more whether it is there. The list
 * of streams that wait for it is emptied, because all of them do this. */
static void recheck_stream(struct lull_waits *waits, struct wait_stream *stream)
{
    const struct wait_pending *pending = &stream->pending[stream->pending_at];
    if (pending->is_post)
        return;
    if (pending->is_message)
        waits->queues.all[pending->what].waiting = NULL;
    else
        lull_wait_leave_line(waits, pending);
    lull_wait_ready(waits, stream);
}

/* The stream goes on without what it waits for, which does not come any more. */
static void release(struct lull_waits *waits, struct wait_stream *stream)
{
    const struct wait_pending *pending = &stream->pending[stream->pending_at];
    if (pending->is_post) {
        lull_wait_give_up(waits, stream);
        return;
    }
    recheck_stream(waits, stream);
    stream->pending_at++;
    lull_wait_go_without(waits, stream, pending);
}

static void go_on_all(struct lull_waits *waits,
                      void (*how)(struct lull_waits *waits, struct wait_stream *stream))
{
    for (uint32_t l = 0; l < waits->trace->n_locations; l++)
        if (waits->streams[l] && waits->streams[l]->blocked)
            how(waits, waits->streams[l]);
    if (how == release)
        lull_wait_unwatch_all(waits);
    lull_wait_run_ready(waits);
}

/* What the members of a team know together when all letters have come. */
struct standstill {
    int64_t blocked;  /* how many streams are blocked */
    int64_t released; /* things that streams went on without, since the standstill before */
    uint64_t before;
};

static lull_status stand_still(struct lull_waits *waits, struct standstill *still,
                               struct lull_error *err)
{
    struct lull_team *team = lull_wait_team(waits);
    lull_status status = settle_letters(waits, err);
    int64_t counts[] = {0, (int64_t)(waits->unmatched_operations - still->before)};
    for (uint32_t l = 0; l < waits->trace->n_locations; l++)
        counts[0] += waits->streams[l] && waits->streams[l]->blocked;
    if (status == LULL_OK && !waits->no_memory)
        status = lull_team_sum(team, counts, 2, err);
    if (status == LULL_OK && !waits->no_memory)
        status = lull_team_broadcast(team, counts, sizeof counts, err);
    still->blocked = counts[0];
    still->released = counts[1];
    still->before = waits->unmatched_operations;
    return status;
}

/* Lets blocked streams go on. Those whose partners have ended go first, because others may wait
 * only for them. */
static lull_status go_on_without(struct lull_waits *waits, struct lull_error *err)
{
    struct standstill still = {0};
    bool learned = false;
    lull_status status = stand_still(waits, &still, err);
    while (status == LULL_OK && !waits->no_memory && still.blocked > 0) {
        learned = !learned || still.released > 0;
        if (learned)
            status = learn_ends(waits, err);
        if (status == LULL_OK && !waits->no_memory)
            go_on_all(waits, learned ? recheck_stream : release);
        if (status == LULL_OK)
            status = stand_still(waits, &still, err);
    }
    return status;
}

/* Called by all members of a team together, after the pass. Blocked streams go on without what they
 * wait for, until none is blocked; then all waits are charged that were kept. Missing memory is
 * noted. */
static lull_status release_all(struct lull_waits *waits, struct lull_error *err)
{
    lull_status status = go_on_without(waits, err);
    for (uint32_t l = 0; l < waits->trace->n_locations && status == LULL_OK; l++)
        if (waits->streams[l])
            waits->no_memory |= !lull_wait_settle(waits, waits->streams[l]);
    return status;
}

/* ==== wait ==================================================================================== */

/* Whether a run has sends that may wait for their receives. */
static bool may_wait_for_receives(const struct lull_trace *trace)
{
    bool may = false;
    for (uint32_t r = 0; r < trace->n_regions; r++) {
        const uint8_t call = trace->regions[r].paradigm == LULL_PARADIGM_MPI
                                 ? (uint8_t)lull_call_of_region(&trace->regions[r])
                                 : (uint8_t)LULL_CALL_OTHER;
        may |= call == LULL_CALL_SEND || call == LULL_CALL_SSEND || call == LULL_CALL_ISSEND ||
               call == LULL_CALL_START;
    }
    return may;
}

/* Whether a process is one of the ranks of the application. */
static bool is_member(const struct lull_waits *waits, uint32_t process)
{
    const struct lull_trace *trace = waits->trace;
    return process < trace->n_processes &&
           trace->processes[process].application == waits->reading->application &&
           trace->processes[process].n_threads > 0;
}

/* A communicator of all ranks of the application; LULL_NONE: there is none. */
static uint32_t find_world(const struct lull_waits *waits)
{
    const struct lull_trace *trace = waits->trace;
    for (uint32_t c = 0; c < trace->n_comms; c++) {
        if (!lull_circle_knows(trace, c, LULL_COLLECTIVE_BARRIER) ||
            lull_circle_is_between(trace, c) || lull_circle_size(trace, c) != waits->n_ranks)
            continue;
        uint32_t members = 0;
        while (members < waits->n_ranks && is_member(waits, lull_circle_process(trace, c, members)))
            members++;
        if (members == waits->n_ranks)
            return lull_comm_canonical(trace, c);
    }
    return LULL_NONE;
}

/* False: no memory. */
static bool make_crews(struct lull_waits *waits)
{
    const struct lull_trace *trace = waits->trace;
    bool good = true;
    waits->crews = calloc(trace->n_processes + (size_t)1, sizeof(struct wait_crew *));
    for (uint32_t p = 0; waits->crews && good && p < trace->n_processes; p++)
        if (trace->processes[p].n_threads > 1 &&
            trace->processes[p].application == waits->reading->application) {
            waits->crews[p] = lull_wait_crew_create(trace, p);
            good = waits->crews[p] != NULL;
        }
    return waits->crews && good;
}

static lull_status no_memory(const struct lull_waits *waits, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for its waits",
                     waits->trace->path);
}

lull_status lull_waits_create(const struct lull_trace *trace,
                              const struct lull_wait_options *options,
                              struct lull_waits **ret_waits, struct lull_error *err)
{
    struct lull_waits *waits = calloc(1, sizeof *waits);
    if (!waits)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for its waits", trace->path);
    waits->trace = trace;
    waits->reading = lull_reading_of(options->reading);
    pthread_mutex_init(&waits->lock, NULL);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        waits->n_ranks += is_member(waits, p);
    waits->world = find_world(waits);
    waits->follows_posts = !options->each_thread && may_wait_for_receives(trace);
    waits->streams = calloc(trace->n_locations + (size_t)1, sizeof(struct wait_stream *));
    waits->watchers = calloc(trace->n_processes + (size_t)1, sizeof(struct wait_watcher *));
    waits->reached = calloc(trace->n_processes + (size_t)1, sizeof *waits->reached);
    waits->ends = calloc(trace->n_processes + (size_t)1, sizeof *waits->ends);
    waits->queues_of = malloc((trace->n_processes + (size_t)1) * sizeof *waits->queues_of);
    waits->ended = calloc(trace->n_processes + (size_t)1, sizeof *waits->ended);
    waits->calls = calloc(trace->n_regions + (size_t)1, sizeof *waits->calls);
    const bool crews = !options->threads || make_crews(waits);
    const bool lanes = !options->each_thread || lull_wait_lanes_create(waits);
    if (!waits->streams || !waits->watchers || !waits->reached || !waits->ends || !waits->ended ||
        !waits->calls || !waits->queues_of || !crews || !lanes) {
        const lull_status status = no_memory(waits, err);
        lull_waits_destroy(waits);
        return status;
    }
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        waits->queues_of[p] = LULL_NONE;
        if (trace->processes[p].n_threads == 0)
            waits->reached[p] = INT64_MAX; /* nothing will be read of this process */
    }
    lull_status status = options->devices
                             ? lull_wait_devices_create(trace, waits->reading, &waits->devices, err)
                             : LULL_OK;
    if (status == LULL_OK && waits->reading->division)
        status = lull_wait_office_open(waits, options->workers, err);
    if (status != LULL_OK)
        lull_waits_destroy(waits);
    else
        *ret_waits = waits;
    return status;
}

void lull_waits_destroy(struct lull_waits *waits)
{
    if (!waits)
        return;
    lull_wait_office_close(waits);
    if (waits->watchers)
        lull_wait_unwatch_all(waits);
    for (uint32_t l = 0; waits->streams && l < waits->trace->n_locations; l++)
        lull_wait_stream_free(waits->streams[l]);
    for (uint32_t p = 0; waits->crews && p < waits->trace->n_processes; p++)
        lull_wait_crew_destroy(waits->crews[p]);
    lull_wait_mail_free(waits);
    lull_wait_gather_free(waits);
    lull_wait_charge_free(waits);
    lull_wait_lanes_free(waits);
    lull_wait_devices_destroy(waits->devices);
    pthread_mutex_destroy(&waits->lock);
    free(waits->streams);
    free(waits->watchers);
    free(waits->crews);
    free(waits->reached);
    free(waits->ends);
    free(waits->ended);
    free(waits->queues_of);
    free(waits->calls);
    free(waits);
}

/* ---- the consumer -------------------------------------------------------------------------- */

enum { STEPS_AT_ONCE = 256 };

static bool communicates(const struct lull_steps *steps)
{
    const uint64_t operations = LULL_STEP_MASK(LULL_STEP_SEND) | LULL_STEP_MASK(LULL_STEP_RECV) |
                                LULL_STEP_MASK(LULL_STEP_COLLECTIVE_BEGIN) |
                                LULL_STEP_MASK(LULL_STEP_COLLECTIVE_END);
    for (uint32_t i = 0; i < steps->count; i++)
        if (operations >> steps->steps[i].kind & 1)
            return true;
    return false;
}

/* The stream of a location, which is made if it does not exist. NULL: no memory. Each location has
 * one worker at a time. */
static struct wait_stream *find_stream(struct lull_waits *waits, uint32_t location)
{
    struct wait_stream *stream = waits->streams[location];
    if (stream)
        return stream;
    stream = calloc(1, sizeof *stream);
    if (stream) {
        stream->location = location;
        stream->process = waits->trace->locations[location].process;
        stream->agent = waits->lanes ? location : stream->process;
        stream->reading.posts = waits->follows_posts;
        pthread_mutex_lock(&waits->lock); /* other workers look at the streams of processes that are
                                             waited for */
        waits->streams[location] = stream;
        pthread_mutex_unlock(&waits->lock);
    }
    return stream;
}

static lull_status take_steps(void *context, unsigned worker, const struct lull_steps *steps,
                              struct lull_error *err)
{
    struct lull_waits *waits = context;
    const struct lull_location *location = &waits->trace->locations[steps->location];
    const struct lull_process *process = &waits->trace->processes[location->process];
    if (process->application != waits->reading->application)
        return LULL_OK;
    lull_status status = lull_wait_devices_take(waits->devices, steps, err);
    if (status != LULL_OK || location->kind != LULL_LOCATION_THREAD)
        return status;
    struct wait_crew *crew = waits->crews ? waits->crews[location->process] : NULL;
    if (waits->office && steps->count > 0)
        status = lull_wait_office_reads(waits, worker, steps->steps[0].time, err);
    if (status != LULL_OK)
        return status;
    if (crew && !lull_wait_crew_take(waits, crew, steps))
        return no_memory(waits, err);
    if (process->first_location != steps->location && !waits->lanes) {
        if (communicates(steps))
            atomic_store_explicit(&waits->others_communicate, true, memory_order_relaxed);
        return LULL_OK;
    }
    struct wait_stream *stream = find_stream(waits, steps->location);
    if (!stream)
        return no_memory(waits, err);
    for (uint32_t at = 0; at < steps->count; at += STEPS_AT_ONCE) {
        struct wait_note notes[STEPS_AT_ONCE];
        const uint32_t left = steps->count - at;
        const size_t n =
            lull_wait_notes_of_steps(&stream->reading, steps->steps + at,
                                     left < STEPS_AT_ONCE ? left : STEPS_AT_ONCE, notes);
        pthread_mutex_lock(&waits->lock);
        lull_wait_find_routes(waits, stream, steps->channels, notes, n);
        if (waits->lanes)
            lull_wait_lane_take(waits, stream, notes, n);
        else
            lull_wait_stream_take(waits, stream, notes, n);
        const bool failed = waits->no_memory;
        pthread_mutex_unlock(&waits->lock);
        if (failed)
            return no_memory(waits, err);
    }
    return LULL_OK;
}

static lull_status finish(void *context, unsigned worker, struct lull_error *err)
{
    struct lull_waits *waits = context;
    return waits->office ? lull_wait_office_reads(waits, worker, INT64_MAX, err) : LULL_OK;
}

struct lull_consumer lull_waits_consumer(struct lull_waits *waits)
{
    static const uint8_t wanted[] = {LULL_STEP_SPAN,           LULL_STEP_CALL_BEGIN,
                                     LULL_STEP_CALL_END,       LULL_STEP_SEND,
                                     LULL_STEP_SEND_DONE,      LULL_STEP_RECV_POST,
                                     LULL_STEP_RECV,           LULL_STEP_COLLECTIVE_BEGIN,
                                     LULL_STEP_COLLECTIVE_END, LULL_STEP_END};
    uint64_t wants = lull_wait_devices_wants(waits->devices);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        wants |= LULL_STEP_MASK(wanted[i]);
    if (waits->crews)
        wants |= LULL_STEP_MASK(LULL_STEP_CREW);
    return (struct lull_consumer){
        .context = waits, .wants = wants, .abreast = true, .steps = take_steps, .finish = finish};
}

/* ---- the result ---------------------------------------------------------------------------- */

static int compare_charges(const void *a, const void *b)
{
    const struct lull_wait_charge *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    const uint32_t left[] = {x->place.process, x->place.region, x->place.call,
                             x->place.in_mpi,  x->place.thread, x->kind};
    const uint32_t right[] = {y->place.process, y->place.region, y->place.call,
                              y->place.in_mpi,  y->place.thread, y->kind};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

static void add_thread_sums(const struct lull_waits *waits, uint32_t location,
                            struct lull_wait_location *sums)
{
    const struct lull_location *of = &waits->trace->locations[location];
    const struct wait_crew *crew = waits->crews ? waits->crews[of->process] : NULL;
    if (!crew || location - crew->first_location >= crew->n_threads)
        return;
    const struct lull_wait_location *own = &crew->threads[location - crew->first_location].sums;
    for (unsigned k = LULL_WAIT_MPI_KINDS; k < LULL_WAIT_KINDS; k++)
        sums->waited_ns[k] = own->waited_ns[k];
    sums->threads_ns = own->threads_ns;
    sums->threads_ends_ns = own->threads_ends_ns;
    sums->threads_rest_ns = own->threads_rest_ns;
}

static void find_sums(const struct lull_waits *waits, struct lull_wait_location *locations)
{
    for (uint32_t l = 0; l < waits->trace->n_locations; l++) {
        if (waits->streams[l])
            locations[l] = waits->streams[l]->sums;
        add_thread_sums(waits, l, &locations[l]);
    }
}

static void list_charges(const struct lull_waits *waits, struct lull_arena *arena,
                         struct lull_wait_result *result)
{
    const size_t most = waits->charges_by_place.count;
    struct lull_wait_charge *charges = lull_arena_alloc(arena, (most + 1) * sizeof *charges);
    size_t n = 0;
    for (size_t i = 0; i < most; i++)
        if (waits->charges[i].waits > 0) /* else all its waits turned out to be of another kind */
            charges[n++] = waits->charges[i];
    qsort(charges, n, sizeof *charges, compare_charges);
    result->charges = charges;
    result->n_charges = (uint32_t)n;
}

static void list_calls(const struct lull_waits *waits, struct lull_arena *arena,
                       struct lull_wait_result *result)
{
    struct lull_wait_call *calls =
        lull_arena_alloc(arena, (waits->trace->n_regions + (size_t)1) * sizeof *calls);
    uint32_t n = 0;
    for (uint32_t r = 0; r < waits->trace->n_regions; r++)
        if (waits->calls[r].calls > 0) {
            calls[n] = waits->calls[r];
            calls[n++].region = r;
        }
    result->calls = calls;
    result->n_calls = n;
}

static lull_status put_together(struct lull_waits *waits, struct lull_arena *arena,
                                struct lull_wait_result *result, struct lull_error *err)
{
    struct lull_wait_location *locations =
        lull_arena_zero(arena, waits->trace->n_locations + (size_t)1, sizeof *locations);
    result->messages = waits->received;
    result->collectives = waits->gathered;
    result->unmatched_operations = waits->unmatched_operations - waits->unmatched_ends;
    result->unmatched_sends = lull_match_left(&waits->queues, sizeof(struct wait_cause));
    find_sums(waits, locations);
    lull_status status =
        waits->office ? wait_gather_result(waits, result, locations, err) : LULL_OK;
    if (status == LULL_OK && waits->devices && lull_team_is_first(lull_wait_team(waits)))
        status = lull_wait_devices_conclude(waits->devices, arena, result, locations, err);
    if (status != LULL_OK || !lull_team_is_first(lull_wait_team(waits)))
        return status;
    list_charges(waits, arena, result);
    list_calls(waits, arena, result);
    result->locations = locations;
    for (uint32_t l = 0; l < waits->trace->n_locations; l++)
        for (unsigned k = 0; k < LULL_WAIT_KINDS; k++)
            result->waited_ns += locations[l].waited_ns[k];
    return status;
}

lull_status lull_waits_conclude(struct lull_waits *waits, struct lull_arena *arena,
                                struct lull_wait_result *ret_result, struct lull_error *err)
{
    struct lull_team *team = lull_wait_team(waits);
    struct lull_wait_result result = {0};
    bool others = atomic_load(&waits->others_communicate);
    lull_status status = release_all(waits, err);
    if (waits->no_memory)
        status = no_memory(waits, err);
    status = lull_team_agree(team, status, err);
    if (status == LULL_OK && waits->office)
        status = wait_gather_others(waits, &others, err);
    if (status != LULL_OK)
        return status;
    if (others)
        result = (struct lull_wait_result){
            .absent = "threads other than the first of their process communicate",
            .needs_each_thread = true};
    else
        status = put_together(waits, arena, &result, err);
    *ret_result = result;
    return status;
}
