/* Timelines of random traces: cells are what the spans say, at every level and for every row; they
 * sum to the breakdown; and the number of workers does not matter. */
#include "metrics/breakdown.h"
#include "support/branches.h"
#include "support/memory_trace.h"
#include "support/random_windows.h"
#include "support/seed.h"
#include "support/test.h"
#include "support/timeline_case.h"
#include "timeline/timeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 1 << LULL_TIMELINE_FINEST, VIEWPORTS = 200 };

enum { USEFUL, COUNTED, MESSAGES, ALL_MESSAGES, SOME_STEPS, ALL_STEPS, LEFT_OUT, BRANCHES };
static struct branch branches[BRANCHES] = {
    [USEFUL] = {.what = "cells that are looked at hold useful time", .least = 800},
    [COUNTED] = {.what = "instructions or cycles are counted", .least = 200},
    [MESSAGES] = {.what = "there are messages", .least = 400},
    [ALL_MESSAGES] = {.what = "all messages of one application are kept", .least = 100},
    [SOME_STEPS] = {.what = "some steps are not kept", .least = 10},
    [ALL_STEPS] = {.what = "all steps are kept", .least = 400},
    [LEFT_OUT] = {.what = "some time is outside of windows", .least = 200},
};

static int64_t *cells_of(const struct lull_timeline *timeline, uint32_t row, unsigned level,
                         uint32_t first, uint32_t count)
{
    static int64_t ns[BINS * LULL_STEP_ACTIVITIES];
    memset(ns, 0xa5, sizeof ns);
    lull_timeline_cells(timeline, row, level, first, count, ns);
    return ns;
}

/* As the header says, in other words. */
static int64_t edge_of(const struct lull_timeline *timeline, unsigned level, uint32_t bin)
{
    return timeline->begin + (int64_t)((__int128)(timeline->end - timeline->begin) * bin >> level);
}

static void check_cell(const struct timeline_case *made, uint32_t row, unsigned level, uint32_t bin,
                       const int64_t *ns)
{
    const struct lull_timeline *timeline = made->timeline;
    const struct lull_timeline_row *at = &timeline->rows[row];
    int64_t wanted[LULL_STEP_ACTIVITIES] = {0};
    for (uint32_t l = 0; l < at->n_leaves; l++)
        timeline_case_raster(made, timeline->leaves[at->first_leaf + l].location,
                             edge_of(timeline, level, bin), edge_of(timeline, level, bin + 1),
                             wanted);
    assert_memory_equal(ns, wanted, sizeof wanted);
    branch_reach(&branches[USEFUL], wanted[LULL_USEFUL] > 0);
    branch_reach(&branches[LEFT_OUT], wanted[LULL_ACTIVITY_OUTSIDE] > 0);
}

static void check_viewports(struct lull_random *random, const struct timeline_case *made)
{
    const struct lull_timeline *timeline = made->timeline;
    for (unsigned i = 0; i < VIEWPORTS; i++) {
        uint32_t row = (uint32_t)lull_random_below(random, timeline->n_rows);
        unsigned level = (unsigned)lull_random_below(random, timeline->rows[row].level + 1u);
        uint32_t first = (uint32_t)lull_random_below(random, UINT64_C(1) << level);
        uint32_t count = 1 + (uint32_t)lull_random_below(random, (UINT64_C(1) << level) - first);
        const int64_t *ns = cells_of(timeline, row, level, first, count);
        for (unsigned probe = 0; probe < 8; probe++) {
            uint32_t bin = (uint32_t)lull_random_below(random, count);
            check_cell(made, row, level, first + bin, ns + (size_t)bin * LULL_STEP_ACTIVITIES);
        }
    }
}

/* All bins of each level of a leaf. */
static void check_sums(const struct lull_timeline *timeline, const struct lull_breakdown *breakdown)
{
    const uint32_t first = timeline->leaves[0].location; /* threads are in the trace's order */
    uint32_t least = first;
    for (uint32_t l = 0; l < timeline->n_leaves; l++)
        least = timeline->leaves[l].location < least ? timeline->leaves[l].location : least;
    for (uint32_t l = 0; l < timeline->n_leaves; l++) {
        const struct lull_timeline_leaf *leaf = &timeline->leaves[l];
        const struct lull_thread_breakdown *thread = &breakdown->threads[leaf->location - least];
        for (unsigned level = 0; level <= timeline->rows[leaf->row].level; level++) {
            int64_t sums[LULL_STEP_ACTIVITIES] = {0};
            const int64_t *ns = cells_of(timeline, leaf->row, level, 0, UINT32_C(1) << level);
            for (uint32_t bin = 0; bin < UINT32_C(1) << level; bin++)
                for (unsigned a = 0; a < LULL_STEP_ACTIVITIES; a++)
                    sums[a] += ns[(size_t)bin * LULL_STEP_ACTIVITIES + a];
            for (unsigned a = 0; a < LULL_ACTIVITIES; a++)
                assert_int_equal(sums[a], thread->times.ns[a][0] + thread->times.ns[a][1]);
            assert_int_equal(sums[LULL_ACTIVITY_DISABLED], thread->disabled_ns);
        }
    }
}

/* Useful instructions and cycles of a leaf, as the breakdown has them; the counter is the first of
 * its role by name, which is the order of the breakdown. */
static void check_counts(const struct lull_timeline *timeline,
                         const struct lull_breakdown *breakdown)
{
    static const uint8_t roles[] = {LULL_COUNTER_INSTRUCTIONS, LULL_COUNTER_CYCLES};
    uint32_t least = timeline->leaves[0].location;
    for (uint32_t l = 0; l < timeline->n_leaves; l++)
        least = timeline->leaves[l].location < least ? timeline->leaves[l].location : least;
    for (int which = 0; which < LULL_TIMELINE_COUNTS; which++) {
        uint32_t counter = 0;
        while (counter < breakdown->n_counters && breakdown->counters[counter].role != roles[which])
            counter++;
        assert_int_equal(timeline->has_counts[which], counter < breakdown->n_counters);
        for (uint32_t l = 0; l < timeline->n_leaves && counter < breakdown->n_counters; l++) {
            const struct lull_timeline_leaf *leaf = &timeline->leaves[l];
            const struct lull_thread_breakdown *thread =
                &breakdown->threads[leaf->location - least];
            uint64_t counts[1 << LULL_TIMELINE_COARSE] = {0}, sum = 0;
            lull_timeline_counts(timeline, leaf->row, which, counts);
            for (unsigned bin = 0; bin < 1 << LULL_TIMELINE_COARSE; bin++)
                sum += counts[bin];
            assert_int_equal(sum, thread->counters[counter * LULL_ACTIVITIES + LULL_USEFUL]);
            branch_reach(&branches[COUNTED], sum > 0);
        }
    }
}

/* What was counted up to a moment and behind it is what the bins hold. */
static void check_between(const struct lull_timeline *timeline)
{
    const int64_t length = timeline->end - timeline->begin;
    const int64_t edges[] = {timeline->begin, timeline->begin + length / 3, timeline->end};
    for (uint32_t l = 0; l < timeline->n_leaves; l++) {
        struct lull_timeline_counted counted = {0};
        bool kept = true;
        for (int i = 0; i < 2; i++)
            kept &= lull_timeline_counted_between(timeline, l, edges[i], edges[i + 1], &counted);
        assert_int_equal(kept, timeline->has_counts[0] || timeline->has_counts[1]);
        int64_t ns[LULL_STEP_ACTIVITIES];
        lull_timeline_cells(timeline, timeline->leaves[l].row, 0, 0, 1, ns);
        assert_true(!kept || fabs(counted.useful_ns - (double)ns[LULL_USEFUL]) <= 1e-3);
        for (int which = 0; which < LULL_TIMELINE_COUNTS; which++) {
            uint64_t counts[1 << LULL_TIMELINE_COARSE] = {0};
            double sum = 0;
            lull_timeline_counts(timeline, timeline->leaves[l].row, which, counts);
            for (unsigned bin = 0; bin < 1 << LULL_TIMELINE_COARSE; bin++)
                sum += (double)(int64_t)counts[bin];
            assert_true(fabs(counted.counts[which] - sum) <= 1e-9 * fabs(sum) + 1e-6);
        }
    }
}

static void check_same(const struct lull_timeline *a, const struct lull_timeline *b)
{
    assert_int_equal(a->n_rows, b->n_rows);
    for (uint32_t row = 0; row < a->n_rows; row++) {
        static int64_t copy[BINS * LULL_STEP_ACTIVITIES];
        const unsigned level = a->rows[row].level;
        const size_t size = ((size_t)LULL_STEP_ACTIVITIES << level) * sizeof(int64_t);
        memcpy(copy, cells_of(a, row, level, 0, UINT32_C(1) << level), size);
        assert_memory_equal(copy, cells_of(b, row, level, 0, UINT32_C(1) << level), size);
    }
    assert_int_equal(a->activities, b->activities);
    assert_int_equal(a->n_steps, b->n_steps);
    assert_int_equal(a->n_kept_messages, b->n_kept_messages);
    for (size_t i = 0; i < a->n_kept_messages; i++)
        assert_memory_equal(&a->messages[i], &b->messages[i], sizeof a->messages[i]);
    assert_int_equal(a->n_traffic, b->n_traffic);
    for (size_t i = 0; i < a->n_traffic; i++)
        assert_memory_equal(&a->traffic[i], &b->traffic[i], sizeof a->traffic[i]);
    assert_memory_equal(a->sizes, b->sizes, sizeof a->sizes);
    assert_int_equal(a->n_places, b->n_places);
    for (uint32_t l = 0; l < a->n_leaves; l++) {
        assert_int_equal(a->leaves[l].n_pieces, b->leaves[l].n_pieces);
        for (uint32_t p = 0; p < a->leaves[l].n_pieces; p++) {
            assert_int_equal(a->leaves[l].pieces[p].count, b->leaves[l].pieces[p].count);
            assert_int_equal(a->leaves[l].pieces[p].begin, b->leaves[l].pieces[p].begin);
        }
    }
}

/* Steps that are kept are those of the spans, and all of them where all are kept. */
static void check_steps(const struct timeline_case *made)
{
    const struct lull_timeline *timeline = made->timeline;
    for (uint32_t l = 0; l < timeline->n_leaves; l++) {
        const struct lull_timeline_leaf *leaf = &timeline->leaves[l];
        int64_t kept = 0;
        for (uint32_t p = 0; p < leaf->n_pieces; p++) {
            int64_t begin = leaf->pieces[p].begin;
            for (size_t s = 0; s < leaf->pieces[p].count; s++) {
                const struct lull_timeline_step *step = &leaf->pieces[p].steps[s];
                int64_t ns[LULL_STEP_ACTIVITIES] = {0};
                timeline_case_raster(made, leaf->location, begin, step->end, ns);
                assert_true(step->end > begin);
                assert_int_equal(ns[step->activity], step->end - begin);
                kept += step->end - begin;
                begin = step->end;
            }
        }
        branch_reach(&branches[timeline->all_steps ? ALL_STEPS : SOME_STEPS], kept > 0);
        if (timeline->all_steps)
            assert_int_equal(kept, timeline->end - timeline->begin);
    }
}

/* ---- messages ------------------------------------------------------------------------------ */

struct counted {
    const struct lull_windows *windows;
    const struct lull_trace *trace;
    uint64_t sent, sent_bytes, received, received_bytes, sizes[LULL_TIMELINE_SIZES];
    uint64_t largest_sent, largest_received; /* of the whole run */
};

static bool is_inside(const struct counted *counted, uint32_t location, int64_t time)
{
    if (!counted->windows)
        return true;
    uint32_t process = counted->trace->locations[location].process;
    for (uint32_t i = 0; i < counted->windows->counts[process]; i++) {
        const struct lull_interval *window = &counted->windows->intervals[process][i];
        if (window->begin <= time &&
            (time < window->end || window->end == counted->trace->duration))
            return true;
    }
    return false;
}

static lull_status count_messages(void *context, unsigned worker, const struct lull_steps *steps,
                                  struct lull_error *err)
{
    (void)worker, (void)err;
    struct counted *counted = context;
    for (uint32_t i = 0; i < steps->count; i++) {
        const struct lull_step *step = &steps->steps[i];
        if ((step->kind != LULL_STEP_SEND && step->kind != LULL_STEP_RECV) ||
            step->message.peer == LULL_PROC_NULL)
            continue;
        uint64_t *largest =
            step->kind == LULL_STEP_RECV ? &counted->largest_received : &counted->largest_sent;
        if (step->message.bytes > *largest)
            *largest = step->message.bytes;
        if (!is_inside(counted, steps->location, step->time))
            continue;
        if (step->kind == LULL_STEP_RECV) {
            counted->received++;
            counted->received_bytes += step->message.bytes;
            continue;
        }
        unsigned size = 0;
        for (uint64_t bytes = step->message.bytes; bytes > 0; bytes /= 2)
            size++;
        counted->sizes[size]++;
        counted->sent++;
        counted->sent_bytes += step->message.bytes;
    }
    return LULL_OK;
}

/* The traffic is what was counted, without that with other applications. */
static void check_messages(const struct lull_trace *trace, const struct lull_windows *windows,
                           const struct lull_timeline *timeline)
{
    struct counted counted = {.windows = windows, .trace = trace};
    const struct lull_consumer consumer = {.context = &counted,
                                           .wants = LULL_STEP_MASK(LULL_STEP_SEND) |
                                                    LULL_STEP_MASK(LULL_STEP_RECV),
                                           .steps = count_messages};
    const struct lull_pass_options pass = {
        .reading = &(const struct lull_reading){.workers = 1, .windows = windows}};
    struct lull_error err = {""};
    assert_int_equal(lull_pass_run(trace, &pass, &consumer, 1, &err), LULL_OK);
    assert_int_equal(timeline->sent, counted.sent);
    assert_int_equal(timeline->sent_bytes, counted.sent_bytes);
    assert_int_equal(timeline->received, counted.received);
    /* No message is larger than any that was sent (trace/trace.h). */
    const bool believed =
        counted.largest_received <= counted.largest_sent || counted.received > counted.sent;
    assert_int_equal(timeline->received_bytes, believed ? counted.received_bytes
                                               : counted.received == counted.sent
                                                   ? counted.sent_bytes
                                                   : LULL_UNKNOWN_BYTES);
    assert_memory_equal(timeline->sizes, counted.sizes, sizeof counted.sizes);
    branch_reach(&branches[MESSAGES], counted.sent > 0 && counted.received > 0);
    uint64_t sent = 0, received = 0;
    for (size_t i = 0; i < timeline->n_traffic; i++) {
        sent += timeline->traffic[i].sent;
        received += timeline->traffic[i].received;
    }
    if (trace->n_applications > 1) {
        assert_true(sent <= counted.sent && received <= counted.received);
        return;
    }
    assert_int_equal(sent, counted.sent);
    assert_int_equal(received, counted.received);
    branch_reach(&branches[ALL_MESSAGES], timeline->all_messages && sent > 0);
    if (timeline->all_messages)
        assert_int_equal(2 * timeline->n_kept_messages + timeline->unmatched, sent + received);
}

static void check_one(struct lull_random *random, unsigned round)
{
    const struct memory_trace_options drawn = {
        .without_states = round & 1, .without_extremes = round % 3, .without_wildcards = true};
    struct lull_trace *trace = memory_trace_draw(random, &drawn);
    if (round % 5 == 4)
        trace->format = &memory_format_push;
    const struct lull_windows *windows = round & 4 ? random_windows_draw(random, trace) : NULL;
    const struct lull_timeline_options options = {
        .reading = &(const struct lull_reading){.windows = windows},
        .fine = LULL_TIMELINE_COARSE + round % 6,
        .most_steps = round % 4 ? 1000000 : 60u << round % 5 * 2,
        .most_messages = round % 7 ? 1000000 : 5};
    struct timeline_case one, two, five;
    timeline_case_make(trace, &options, 1, &one);
    timeline_case_make(trace, &options, 2, &two);
    timeline_case_make(trace, &options, 5, &five);
    check_sums(one.timeline, one.breakdown);
    check_counts(one.timeline, one.breakdown);
    if (drawn.without_extremes) /* whose sums are modulo 2^64 */
        check_between(one.timeline);
    check_viewports(random, &one);
    check_steps(&one);
    check_messages(trace, windows, one.timeline);
    check_same(one.timeline, two.timeline);
    check_same(one.timeline, five.timeline);
    timeline_case_free(&one);
    timeline_case_free(&two);
    timeline_case_free(&five);
    lull_trace_close(trace);
}

static void test_random_traces(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    const unsigned rounds = lull_test_rounds(320);
    for (unsigned i = 0; i < rounds; i++) {
        check_one(&random, i);
        branches_next(branches, BRANCHES);
    }
    branches_assert(branches, BRANCHES, rounds);
}

TEST_GROUP(test_timeline)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_traces)};
    return run_cases(tests, NULL, NULL);
}
