/* Steps of random traces: they are what step.h says, whichever way they are read. */
#include "activity/pass.h"
#include "support/branches.h"
#include "support/brief.h"
#include "support/memory_trace.h"
#include "support/random_windows.h"
#include "support/seed.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_USERS = 64 }; /* regions of the user that are open at once */

/* Steps of each kind are compared. */
static struct branch branches[LULL_STEP_KINDS];

/* ---- gathering ----------------------------------------------------------------------------- */

struct gathered {
    struct lull_step *steps;
    size_t count, capacity;
    struct lull_ledger ledger; /* of the end; `counters` is not kept */
    struct lull_channel *channels;
    uint32_t n_counters; /* of the trace */
    bool ended;
    int64_t forked;                            /* when the parallel region that is open began */
    int64_t parallel_ns[LULL_SLOT_ACTIVITIES]; /* of the SPANs so far */
};

/* Readings add up to what the ledger has counted. */
static void check_readings(const struct gathered *all, const struct lull_steps *last)
{
    const size_t n = (size_t)all->n_counters * LULL_ACTIVITIES;
    uint64_t *sums = calloc(n + 1, sizeof *sums);
    assert_non_null(sums);
    for (size_t i = 0; i < all->count; i++)
        if (all->steps[i].kind == LULL_STEP_READING)
            sums[(size_t)all->steps[i].counter * LULL_ACTIVITIES + all->steps[i].activity] +=
                all->steps[i].reading.value;
    if (last->ledger->counters)
        assert_memory_equal(sums, last->ledger->counters, n * sizeof *sums);
    free(sums);
}

/* What steps tell of parallel regions agrees with the FORKs and SPANs before. */
static void check_parallel(struct gathered *to, const struct lull_steps *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        const struct lull_step *step = &from->steps[i];
        if (step->kind == LULL_STEP_SPAN && step->parallel)
            to->parallel_ns[step->activity] += step->span.end - step->time;
        else if (step->kind == LULL_STEP_FORK)
            to->forked = step->time;
        if (step->kind == LULL_STEP_FORK || step->kind == LULL_STEP_JOIN)
            assert_int_equal(step->forked.time, to->forked);
        if (step->kind == LULL_STEP_JOIN && step->parallel_ns)
            assert_memory_equal(step->parallel_ns, to->parallel_ns, sizeof to->parallel_ns);
    }
}

static void gather(struct gathered *to, const struct lull_steps *from)
{
    assert_false(to->ended && from->count > 0);
    check_parallel(to, from);
    if (to->count + from->count > to->capacity) {
        to->capacity = 2 * (to->count + from->count);
        to->steps = realloc(to->steps, to->capacity * sizeof *to->steps);
        assert_non_null(to->steps);
    }
    if (from->count)
        memcpy(to->steps + to->count, from->steps, from->count * sizeof *from->steps);
    to->count += from->count;
    if (to->count == 0 || to->steps[to->count - 1].kind != LULL_STEP_END || to->ended)
        return;
    to->ended = true;
    to->ledger = *from->ledger;
    check_readings(to, from);
    uint32_t n = lull_channels_count(from->channels);
    to->channels = calloc(n + (size_t)1, sizeof *to->channels);
    assert_non_null(to->channels);
    for (uint32_t i = 0; i < n; i++)
        to->channels[i] = *lull_channels_at(from->channels, i);
}

static lull_status gather_steps(void *context, unsigned worker, const struct lull_steps *steps,
                                struct lull_error *err)
{
    (void)worker, (void)err;
    struct gathered *all = context;
    gather(&all[steps->location], steps);
    return LULL_OK;
}

static struct gathered *make_gathered(const struct lull_trace *trace)
{
    struct gathered *all = calloc(trace->n_locations + (size_t)1, sizeof *all);
    assert_non_null(all);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        all[l].n_counters = trace->n_counters;
    return all;
}

static void free_gathered(struct gathered *all, uint32_t n)
{
    for (uint32_t l = 0; l < n; l++) {
        free(all[l].steps);
        free(all[l].channels);
    }
    free(all);
}

static struct gathered *by_pass(const struct lull_trace *trace, uint64_t wants, bool abreast,
                                unsigned workers, const struct lull_windows *windows)
{
    struct gathered *all = make_gathered(trace);
    const struct lull_consumer consumer = {
        .context = all,
        .wants = wants,
        .wants_ledger = (wants | LULL_STEP_MASK(LULL_STEP_SAMPLE)) == LULL_STEPS_ALL,
        .steps = gather_steps,
        .abreast = abreast};
    const struct lull_pass_options options = {
        .reading = &(const struct lull_reading){
            .workers = workers, .application = LULL_NONE, .windows = windows}};
    struct lull_error err = {""};
    lull_status status = lull_pass_run(trace, &options, &consumer, 1, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, LULL_OK);
    return all;
}

static struct gathered *by_cursors(const struct lull_trace *trace, uint64_t wants,
                                   const struct lull_windows *windows)
{
    struct gathered *all = make_gathered(trace);
    const struct lull_pass_options options = {
        .reading = &(const struct lull_reading){.application = LULL_NONE, .windows = windows}};
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        struct lull_step_cursor *cursor;
        struct lull_steps steps;
        struct lull_error err;
        assert_int_equal(lull_step_cursor_open(trace, l, wants, &options, &cursor, &err), LULL_OK);
        do {
            assert_int_equal(lull_step_cursor_next(cursor, &steps, &err), LULL_OK);
            gather(&all[l], &steps);
        } while (steps.count > 0);
        lull_step_cursor_close(cursor);
    }
    return all;
}

static const struct {
    uint8_t event, step;
} pairs[] = {
    {LULL_EVENT_SEND, LULL_STEP_SEND},
    {LULL_EVENT_SEND_DONE, LULL_STEP_SEND_DONE},
    {LULL_EVENT_RECV_POST, LULL_STEP_RECV_POST},
    {LULL_EVENT_RECV, LULL_STEP_RECV},
    {LULL_EVENT_REQUEST_TEST, LULL_STEP_TEST},
    {LULL_EVENT_REQUEST_CANCELLED, LULL_STEP_CANCEL},
    {LULL_EVENT_REQUEST_FREED, LULL_STEP_FREE},
    {LULL_EVENT_COLLECTIVE_BEGIN, LULL_STEP_COLLECTIVE_BEGIN},
    {LULL_EVENT_COLLECTIVE_END, LULL_STEP_COLLECTIVE_END},
    {LULL_EVENT_RMA, LULL_STEP_ONE_SIDED},
    {LULL_EVENT_IO, LULL_STEP_IO},
    {LULL_EVENT_LOCK_ACQUIRE, LULL_STEP_LOCK_ACQUIRE},
    {LULL_EVENT_LOCK_RELEASE, LULL_STEP_LOCK_RELEASE},
    {LULL_EVENT_MARKER, LULL_STEP_MARKER},
    {LULL_EVENT_SAMPLE, LULL_STEP_SAMPLE},
    {LULL_EVENT_THREAD_CREATE, LULL_STEP_THREAD_CREATE},
    {LULL_EVENT_THREAD_WAIT_BEGIN, LULL_STEP_THREAD_WAIT_BEGIN},
    {LULL_EVENT_THREAD_WAIT_END, LULL_STEP_THREAD_WAIT_END},
};

/* Event by event: nothing is taken in one go. */
static struct gathered *by_events(const struct lull_trace *trace, uint64_t wants,
                                  const struct lull_windows *windows)
{
    struct gathered *all = make_gathered(trace);
    const struct lull_consumer consumer = {
        .context = all, .wants = wants, .wants_ledger = true, .steps = gather_steps};
    const struct lull_pass_options options = {
        .reading = &(const struct lull_reading){.application = LULL_NONE, .windows = windows}};
    struct lull_error err;
    struct lull_pass *pass;
    struct lull_cursor *cursor;
    struct lull_block block;
    uint64_t mask = LULL_MASK_TIME;
    if (!trace->n_counters)
        mask &= ~LULL_MASK(LULL_EVENT_COUNTERS);
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
        mask |= LULL_MASK(pairs[p].event);
    assert_int_equal(lull_pass_create(trace, &options, 1, &consumer, 1, &pass, &err), LULL_OK);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        assert_int_equal(lull_pass_begin(pass, 0, l, &err), LULL_OK);
        assert_int_equal(lull_cursor_open(trace, l, mask, &cursor, &err), LULL_OK);
        do {
            assert_int_equal(lull_cursor_next(cursor, &block, &err), LULL_OK);
            for (uint32_t i = 0; i < block.count; i++) {
                const struct lull_block one = {l, 1, &block.events[i]};
                assert_int_equal(lull_pass_block(pass, 0, &one, &err), LULL_OK);
            }
        } while (block.count > 0);
        lull_cursor_close(cursor);
        assert_int_equal(lull_pass_end(pass, 0, l, &err), LULL_OK);
    }
    lull_pass_destroy(pass);
    return all;
}

/* ---- one location by itself ---------------------------------------------------------------- */

/* By the words of step.h, not by the interpreter's sums. */
static bool is_kept(const struct lull_trace *trace, uint32_t location, const struct lull_step *span)
{
    bool master = trace->processes[trace->locations[location].process].first_location == location;
    switch (span->activity) {
    case LULL_MPI_P2P:
    case LULL_MPI_COLLECTIVE:
    case LULL_MPI_OTHER:
        return span->parallel;
    case LULL_IDLE:
    case LULL_OTHER:
        return master || span->parallel;
    case LULL_ACTIVITY_DISABLED:
    case LULL_ACTIVITY_OUTSIDE:
        return false;
    default:
        return true;
    }
}

static int64_t known_at(const struct lull_step *step)
{
    return step->kind == LULL_STEP_SPAN || step->kind == LULL_STEP_STRETCH ? step->span.end
           : step->kind == LULL_STEP_VISIT                                 ? step->visit.end
                                                                           : step->time;
}

static unsigned stretch_of(const struct lull_trace *trace, uint32_t location,
                           const struct lull_step *span)
{
    if (!is_kept(trace, location, span))
        return LULL_STRETCH_WAIT;
    bool fixed = span->activity == LULL_MPI_ONE_SIDED || span->activity == LULL_MPI_IO ||
                 span->activity == LULL_IO || span->activity == LULL_FLUSH;
    return fixed ? LULL_STRETCH_FIXED : LULL_STRETCH_BURST;
}

/* Stretches tile the run, are made of spans that are alike, and are as long as they can be. */
static void check_stretches(const struct lull_trace *trace, uint32_t location,
                            const struct gathered *all)
{
    const uint64_t breaks = LULL_STEP_MASK(LULL_STEP_CALL_BEGIN) |
                            LULL_STEP_MASK(LULL_STEP_CALL_END) | LULL_STEP_MASK(LULL_STEP_FORK) |
                            LULL_STEP_MASK(LULL_STEP_JOIN) | LULL_STEPS_OF_THREADS;
    const struct lull_step *before = NULL;
    int64_t to = 0;
    bool broken = true;
    for (size_t i = 0, s = 0; i < all->count; i++) {
        const struct lull_step *step = &all->steps[i];
        if (breaks >> step->kind & 1)
            broken = true;
        if (step->kind != LULL_STEP_STRETCH)
            continue;
        assert_int_equal(step->time, to);
        to = step->span.end;
        assert_true(broken || before->op != step->op || before->span.mark != step->span.mark);
        const struct lull_step *span = NULL;
        for (; s < all->count && !(span && span->span.end == to); s++) {
            if (all->steps[s].kind != LULL_STEP_SPAN)
                continue;
            span = &all->steps[s];
            assert_true(span->time >= step->time && span->span.end <= to);
            assert_int_equal(stretch_of(trace, location, span), step->op);
            assert_int_equal(span->span.mark, step->span.mark);
        }
        assert_non_null(span);
        assert_int_equal(span->span.user, step->span.user);
        assert_int_equal(span->kept_ns, step->kept_ns);
        before = step;
        broken = false;
    }
    assert_int_equal(to, trace->duration);
}

/* Order, spans that tile the run and add up to the ledger, kept times, calls and parallel regions
 * that begin and end. */
static void check_location(const struct lull_trace *trace, uint32_t location,
                           const struct gathered *all)
{
    int64_t now = 0, spans_to = 0, kept = 0, ns[LULL_SLOT_ACTIVITIES * 2] = {0};
    bool in_call = false, forked = false;
    uint32_t call_region = LULL_NONE, users[MOST_USERS], n_users = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct lull_step *step = &all->steps[i];
        assert_true(known_at(step) >= now);
        now = known_at(step);
        switch (step->kind) {
        case LULL_STEP_SPAN:
            assert_int_equal(step->time, spans_to);
            assert_true(step->span.end > step->time);
            assert_int_equal(step->span.user, n_users ? users[n_users - 1] : LULL_NONE);
            spans_to = step->span.end;
            ns[LULL_SLOT(step->activity, step->parallel)] += spans_to - step->time;
            kept += is_kept(trace, location, step) ? spans_to - step->time : 0;
            assert_int_equal(step->kept_ns, kept);
            break;
        case LULL_STEP_CALL_BEGIN:
        case LULL_STEP_CALL_END:
            assert_int_equal(spans_to, step->time);
            assert_int_equal(step->kept_ns, kept);
            assert_true(in_call == (step->kind == LULL_STEP_CALL_END));
            assert_int_equal(trace->regions[step->region].paradigm, LULL_PARADIGM_MPI);
            assert_true(!in_call || call_region == step->region);
            call_region = step->region;
            in_call = !in_call;
            break;
        case LULL_STEP_FORK:
        case LULL_STEP_JOIN:
            assert_int_equal(step->kept_ns, kept);
            assert_true(forked == (step->kind == LULL_STEP_JOIN));
            forked = !forked;
            break;
        case LULL_STEP_USER:
            assert_int_equal(spans_to, step->time);
            assert_int_equal(step->kept_ns, kept);
            assert_true(trace->regions[step->region].user);
            if (step->op == LULL_USER_ENTERED) {
                assert_in_range(n_users, 0, MOST_USERS - 1);
                assert_true(n_users == 0 || users[n_users - 1] != step->region);
                users[n_users++] = step->region;
            } else {
                assert_int_not_equal(n_users, 0);
                assert_int_equal(users[--n_users], step->region);
            }
            break;
        case LULL_STEP_END:
            assert_int_equal(i, all->count - 1);
            assert_int_equal(step->time, trace->duration);
            assert_int_equal(step->kept_ns, kept);
            assert_true(step->last_time <= trace->duration);
            break;
        case LULL_STEP_STRETCH: /* below */
        case LULL_STEP_READING: /* above */
        case LULL_STEP_SAMPLE:  /* below */
            break;
        case LULL_STEP_VISIT:
            assert_true(step->visit.inclusive_ns <= step->visit.end - step->time);
            break;
        default:
            assert_int_equal(step->region, in_call ? call_region : LULL_NONE);
            break;
        }
    }
    assert_true(all->ended && !in_call && !forked);
    assert_int_equal(spans_to, trace->duration);
    assert_memory_equal(ns, all->ledger.ns, sizeof ns);
    check_stretches(trace, location, all);
}

/* ---- samples ------------------------------------------------------------------------------- */

/* Samples of which something can be said, and those of them in useful time, in MPI, in neither. */
enum {
    SAMPLES_WITHIN,
    SAMPLES_USEFUL,
    SAMPLES_MPI,
    SAMPLES_OTHER,
    SAMPLES_LOCKED,
    SAMPLE_BRANCHES
};
static struct branch sample_branches[SAMPLE_BRANCHES] = {
    {.what = "samples lie within spans", .least = 500},
    {.what = "samples are useful", .least = 200},
    {.what = "samples are in MPI", .least = 200},
    {.what = "samples are in other activities", .least = 200},
    {.what = "samples are in critical or ordered sections", .least = 100},
};

static void reach_sample(const struct lull_step *sample)
{
    const bool mpi = sample->activity >= LULL_MPI_P2P && sample->activity <= LULL_MPI_OTHER;
    branch_reach(&sample_branches[SAMPLES_WITHIN], true);
    branch_reach(&sample_branches[SAMPLES_USEFUL], sample->activity == LULL_USEFUL);
    branch_reach(&sample_branches[SAMPLES_MPI], mpi);
    branch_reach(&sample_branches[SAMPLES_OTHER], !mpi && sample->activity != LULL_USEFUL);
    branch_reach(&sample_branches[SAMPLES_LOCKED], sample->sample.locked);
}

/* Whether something else happens at that time: a region may be entered and left in no time. */
static bool is_busy_moment(const struct lull_event *events, uint32_t n, uint32_t *at, int64_t time)
{
    while (*at < n && events[*at].time < time)
        ++*at;
    for (uint32_t e = *at; e < n && events[e].time == time; e++)
        if (events[e].kind != LULL_EVENT_SAMPLE)
            return true;
    return false;
}

/* Whether a critical or ordered section is open: more were entered than left before. */
static bool is_in_section(const struct lull_trace *trace, const struct lull_event *events,
                          uint32_t n, int64_t time)
{
    int open = 0;
    for (uint32_t e = 0; e < n && events[e].time < time; e++) {
        if (events[e].kind != LULL_EVENT_ENTER && events[e].kind != LULL_EVENT_LEAVE)
            continue;
        const uint8_t role = trace->regions[events[e].id].role;
        if (role == LULL_ROLE_CRITICAL_BODY || role == LULL_ROLE_ORDERED_BODY)
            open += events[e].kind == LULL_EVENT_ENTER ? 1 : -1;
    }
    return open > 0;
}

/* A sample within a SPAN has what the SPAN has. */
static void check_samples(const struct lull_trace *trace, uint32_t location,
                          const struct gathered *all)
{
    uint32_t n, event = 0;
    const struct lull_event *events = memory_trace_events(trace, location, &n);
    size_t at = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct lull_step *sample = &all->steps[i], *span;
        if (sample->kind != LULL_STEP_SAMPLE)
            continue;
        while (all->steps[at].kind != LULL_STEP_SPAN || all->steps[at].span.end <= sample->time)
            if (++at == all->count)
                return; /* at the end of the run */
        span = &all->steps[at];
        assert_true(span->time <= sample->time);
        if (span->time == sample->time || is_busy_moment(events, n, &event, sample->time))
            continue;
        assert_int_equal(sample->activity, span->activity);
        assert_int_equal(sample->parallel, span->parallel);
        assert_int_equal(sample->region, span->region);
        assert_int_equal(sample->sample.user, span->span.user);
        assert_int_equal(sample->sample.locked, is_in_section(trace, events, n, sample->time));
        reach_sample(sample);
    }
}

/* ---- against the events -------------------------------------------------------------------- */

static void check_operation(const struct lull_trace *trace, uint32_t location,
                            const struct lull_event *event, const struct lull_step *step,
                            const struct lull_channel *channels)
{
    uint32_t process = trace->locations[location].process;
    assert_int_equal(step->time, event->time);
    assert_int_equal(step->comm, event->id);
    if (step->kind == LULL_STEP_SAMPLE) {
        assert_int_equal(step->object, event->id);
        assert_int_equal(step->sample.offset, event->sample.offset);
        assert_int_equal(step->sample.weight, event->sample.weight);
    }
    if (step->kind == LULL_STEP_COLLECTIVE_END) {
        assert_int_equal(step->op, event->op);
        assert_int_equal(step->collective.sent, event->collective.sent);
        assert_int_equal(step->collective.received, event->collective.received);
        assert_int_equal(step->collective.request, event->collective.request);
        assert_int_equal(step->collective.root, event->collective.root);
        return;
    }
    if (step->kind != LULL_STEP_SEND && step->kind != LULL_STEP_RECV)
        return;
    assert_int_equal(step->message.bytes, event->message.bytes);
    assert_int_equal(step->message.request, event->message.request);
    assert_int_equal(step->message.peer, event->message.peer);
    assert_true((step->channel == LULL_NONE) == (event->message.peer < 0));
    if (step->channel == LULL_NONE)
        return;
    const struct lull_channel *channel = &channels[step->channel];
    bool sends = step->kind == LULL_STEP_SEND;
    assert_int_equal(sends ? channel->source : channel->target, process);
    assert_int_equal(sends ? channel->target : channel->source, event->message.peer);
    assert_int_equal(channel->tag, event->message.tag);
}

static void check_operations(const struct lull_trace *trace, uint32_t location,
                             const struct gathered *all)
{
    uint32_t n;
    const struct lull_event *events = memory_trace_events(trace, location, &n);
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        size_t at = 0;
        for (uint32_t e = 0; e < n; e++) {
            if (events[e].kind != pairs[p].event)
                continue;
            while (at < all->count && all->steps[at].kind != pairs[p].step)
                at++;
            assert_true(at < all->count);
            check_operation(trace, location, &events[e], &all->steps[at++], all->channels);
        }
        while (at < all->count)
            assert_int_not_equal(all->steps[at++].kind, pairs[p].step);
    }
}

/* ---- one way against the other ------------------------------------------------------------- */

static const struct lull_step *next_wanted(const struct gathered *all, size_t *at, uint64_t wants)
{
    while (*at < all->count && !(wants >> all->steps[*at].kind & 1))
        ++*at;
    return *at < all->count ? &all->steps[(*at)++] : NULL;
}

static void check_same_step(const struct lull_step *a, const struct lull_step *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->time, b->time);
    assert_int_equal(a->kept_ns, b->kept_ns);
    assert_int_equal(a->op, b->op);
    assert_int_equal(a->parallel, b->parallel);
    assert_int_equal(a->region, b->region);
    assert_int_equal(a->comm, b->comm);
    assert_int_equal(a->channel, b->channel);
    if (a->kind == LULL_STEP_CALL_END)
        assert_int_equal(a->call_began, b->call_began);
    if (a->kind == LULL_STEP_SAMPLE) {
        assert_int_equal(a->activity, b->activity);
        assert_int_equal(a->sample.user, b->sample.user);
        assert_int_equal(a->sample.locked, b->sample.locked);
    }
    if (a->kind == LULL_STEP_END)
        assert_int_equal(a->last_time, b->last_time);
    if (a->kind == LULL_STEP_SPAN || a->kind == LULL_STEP_STRETCH) {
        assert_int_equal(a->span.end, b->span.end);
        assert_int_equal(a->span.user, b->span.user);
        assert_int_equal(a->span.mark, b->span.mark);
    }
    if (a->kind == LULL_STEP_VISIT) {
        assert_int_equal(a->visit.end, b->visit.end);
        assert_int_equal(a->visit.inclusive_ns, b->visit.inclusive_ns);
        assert_int_equal(a->visit.flags, b->visit.flags);
    }
}

static void check_same(const struct lull_trace *trace, const struct gathered *a,
                       const struct gathered *b, uint64_t wants)
{
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        size_t i = 0, j = 0;
        const struct lull_step *left, *right;
        do {
            left = next_wanted(&a[l], &i, wants);
            right = next_wanted(&b[l], &j, wants);
            assert_true(!left == !right);
            if (left)
                check_same_step(left, right);
            if (left)
                branch_reach(&branches[left->kind], true);
        } while (left);
    }
}

/* What is told in short, against what the whole steps say. */
static void check_brief(const struct lull_trace *trace, const struct gathered *all,
                        const struct gathered *brief)
{
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        bool master = trace->processes[trace->locations[l].process].first_location == l;
        struct lull_step *wanted = malloc((all[l].count + 1) * sizeof *wanted);
        assert_non_null(wanted);
        size_t count = brief_steps(all[l].steps, all[l].count, master, wanted);
        assert_int_equal(brief[l].count, count);
        for (size_t i = 0; i < count; i++) {
            const struct lull_step *step = &brief[l].steps[i];
            check_same_step(&wanted[i], step);
            if (step->kind != LULL_STEP_END)
                assert_int_equal(wanted[i].posts, step->posts);
            if (step->kind != LULL_STEP_CALL)
                continue;
            assert_int_equal(wanted[i].call_began, step->call_began);
            assert_int_equal(wanted[i].sends, step->sends);
        }
        free(wanted);
    }
}

/* A pass that wants no spans, in which events are taken fast, says the same of samples. Both read the same
 * events, because the first one of a location is the begin of its life. */
static void check_samples_alone(struct lull_random *random, unsigned round)
{
    const uint64_t only = LULL_STEP_MASK(LULL_STEP_SAMPLE);
    const uint64_t detailed = LULL_STEP_MASK(LULL_STEP_SPAN) | LULL_STEP_MASK(LULL_STEP_STRETCH) |
                              LULL_STEP_MASK(LULL_STEP_VISIT) | LULL_STEP_MASK(LULL_STEP_USER);
    const struct memory_trace_options options = {.without = LULL_MASK(LULL_EVENT_COUNTERS),
                                                 .without_states = round & 1,
                                                 .without_extremes = round % 3,
                                                 .samples = true};
    struct lull_trace *trace = memory_trace_draw(random, &options);
    const struct lull_windows *windows = round & 4 ? random_windows_draw(random, trace) : NULL;
    struct gathered *all = by_pass(trace, LULL_STEPS_ALL, false, 1, windows);
    struct gathered *alone = by_pass(trace, LULL_STEPS_ALL & ~detailed, false, 1, windows);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        size_t i = 0, j = 0;
        const struct lull_step *left, *right;
        while ((left = next_wanted(&all[l], &i, only)) != NULL) {
            right = next_wanted(&alone[l], &j, only);
            assert_non_null(right);
            check_same_step(left, right);
            assert_int_equal(left->activity, right->activity);
            assert_int_equal(left->object, right->object);
            assert_int_equal(left->sample.offset, right->sample.offset);
            assert_int_equal(left->sample.weight, right->sample.weight);
            assert_int_equal(left->sample.user, right->sample.user);
        }
        assert_null(next_wanted(&alone[l], &j, only));
    }
    free_gathered(all, trace->n_locations);
    free_gathered(alone, trace->n_locations);
    lull_trace_close(trace);
}

static void check_one(struct lull_random *random, unsigned round)
{
    const struct memory_trace_options options = {
        .without_states = round & 1, .without_extremes = round % 3, .samples = round % 5 < 3};
    struct lull_trace *trace = memory_trace_draw(random, &options);
    const struct lull_windows *windows = round & 4 ? random_windows_draw(random, trace) : NULL;
    const uint64_t few = LULL_STEPS_OF_MPI | LULL_STEP_MASK(LULL_STEP_FORK) |
                         LULL_STEP_MASK(LULL_STEP_JOIN) | LULL_STEP_MASK(LULL_STEP_END);
    struct gathered *all = by_pass(trace, LULL_STEPS_ALL, false, 1, windows);
    struct gathered *quick = by_pass(trace, few, true, 1 + round % 3, windows);
    struct gathered *pulled = by_cursors(trace, few, windows);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        check_location(trace, l, &all[l]);
        check_operations(trace, l, &all[l]);
        check_samples(trace, l, &all[l]);
    }
    /* Samples change no other step. */
    const uint64_t others = LULL_STEPS_ALL & ~LULL_STEP_MASK(LULL_STEP_SAMPLE);
    struct gathered *unsampled = by_pass(trace, others, false, 1, windows);
    check_same(trace, all, unsampled, others);
    free_gathered(unsampled, trace->n_locations);
    struct gathered *slow = by_events(trace, LULL_STEPS_ALL, windows);
    check_same(trace, slow, all, LULL_STEPS_ALL);
    free_gathered(slow, trace->n_locations);
    struct gathered *brief = by_pass(trace, BRIEF_STEPS, false, 1, windows);
    check_brief(trace, all, brief);
    free_gathered(brief, trace->n_locations);
    check_same(trace, all, quick, few);
    check_same(trace, quick, pulled, few);
    free_gathered(all, trace->n_locations);
    free_gathered(quick, trace->n_locations);
    free_gathered(pulled, trace->n_locations);
    lull_trace_close(trace);
}

static void test_random_traces(void **state)
{
    (void)state;
    struct lull_random random, other;
    lull_random_seed(&random, lull_test_seed());
    lull_random_seed(&other, ~lull_test_seed());
    const unsigned rounds = lull_test_rounds(200);
    char names[LULL_STEP_KINDS][40];
    /* What random traces do not have: unit/activity/test_steps.c does, and test_devices.c has PHASE, SUBMIT and DEPEND,
     * test_device_replay.c DEVICE_WAIT.
     * CALL is in brief steps alone, CREW, PHASE and DEVICE_WAIT not in LULL_STEPS_ALL. */
    static const unsigned not_drawn[] = {LULL_STEP_CALL,
                                         LULL_STEP_CREW,
                                         LULL_STEP_PHASE,
                                         LULL_STEP_SUBMIT,
                                         LULL_STEP_DEPEND,
                                         LULL_STEP_DEVICE_WAIT,
                                         LULL_STEP_FREE,
                                         LULL_STEP_THREAD_CREATE,
                                         LULL_STEP_THREAD_WAIT_BEGIN,
                                         LULL_STEP_THREAD_WAIT_END,
                                         LULL_STEP_TICK};
    for (unsigned k = 0; k < LULL_STEP_KINDS; k++) {
        snprintf(names[k], sizeof names[k], "there are steps of kind %u", k);
        branches[k] = (struct branch){.what = names[k], .least = 300};
    }
    for (unsigned i = 0; i < rounds; i++) {
        check_one(&random, i);
        check_samples_alone(&other, i);
        branches_next(branches, LULL_STEP_KINDS);
        branches_next(sample_branches, SAMPLE_BRANCHES);
    }
    for (size_t i = 0; i < sizeof not_drawn / sizeof not_drawn[0]; i++)
        branches[not_drawn[i]].what = NULL;
    branches_assert(branches, LULL_STEP_KINDS, rounds);
    branches_assert(sample_branches, SAMPLE_BRANCHES, rounds);
}

TEST_GROUP(test_steps)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_traces)};
    return run_cases(tests, NULL, NULL);
}
