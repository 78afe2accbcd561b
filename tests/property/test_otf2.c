/* Random traces written as OTF2 archives and read back: nothing is lost but what OTF2 has no
 * fields for, whatever the mask, the number of workers or the size of the reads. */
#include "metrics/breakdown.h"
#include "support/branches.h"
#include "support/folder.h"
#include "support/memory_trace.h"
#include "support/same_trace.h"
#include "support/seed.h"
#include "support/test.h"
#include "support/together.h"
#include "trace/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 40 };

static struct lull_error err;

/* Events of each kind are written and read. */
static struct branch branches[LULL_EVENT_KINDS];

static void require(bool good, uint64_t seed, const char *what)
{
    fail_if(!good, "seed %llu: %s: %s", (unsigned long long)seed, what, err.text);
}

/* An event without what its OTF2 record does not hold. */
static void reduce(struct lull_event *event)
{
    switch (event->kind) {
    case LULL_EVENT_RECV_POST: /* the request alone */
        event->id = LULL_NONE;
        event->message.bytes = 0;
        event->message.peer = event->message.tag = LULL_ANY;
        break;
    case LULL_EVENT_COLLECTIVE_BEGIN: /* nothing, or the request */
        event->id = LULL_NONE;
        event->op = LULL_COLLECTIVE_UNKNOWN;
        event->collective.sent = event->collective.received = 0;
        event->collective.root = LULL_ANY;
        break;
    case LULL_EVENT_RMA: /* windows are numbered anew, files are not told apart */
    case LULL_EVENT_IO:
        event->id = LULL_NONE;
        if (event->kind == LULL_EVENT_IO &&
            (event->op == LULL_IO_OPEN || event->op == LULL_IO_CLOSE))
            event->transfer.bytes = 0;
        if (event->kind == LULL_EVENT_RMA && event->op == LULL_RMA_SYNC)
            event->transfer.bytes = 0;
        break;
    default:
        break;
    }
}

static struct same_sequence reduced(const struct same_sequence *from, struct lull_arena *arena)
{
    struct lull_event *events = lull_arena_alloc(arena, from->count * sizeof *events);
    if (from->count > 0)
        memcpy(events, from->events, from->count * sizeof *events);
    for (size_t i = 0; i < from->count; i++)
        reduce(&events[i]);
    return (struct same_sequence){from->trace, events, from->count};
}

static void check_names(const struct lull_trace *a, const struct lull_trace *b)
{
    for (uint32_t p = 0; p < a->n_processes; p++)
        assert_string_equal(a->processes[p].name, b->processes[p].name);
    for (uint32_t l = 0; l < a->n_locations; l++)
        assert_string_equal(a->locations[l].name, b->locations[l].name);
    for (uint32_t c = 0; c < a->n_counters; c++) {
        assert_string_equal(a->counters[c].name, b->counters[c].name);
        assert_string_equal(a->counters[c].unit, b->counters[c].unit);
    }
    for (uint32_t m = 0; m < a->n_markers; m++)
        assert_string_equal(a->markers[m].name, b->markers[m].name);
}

/* Some kinds only, with several workers: the same events as among all. */
static void check_masked(const struct lull_trace *archive, struct lull_random *random,
                         const struct same_sequence *whole, struct lull_arena *arena, uint64_t seed)
{
    const uint64_t regions = LULL_MASK(LULL_EVENT_ENTER) | LULL_MASK(LULL_EVENT_LEAVE) |
                             LULL_MASK(LULL_EVENT_CALL); /* wanted together or not at all */
    uint64_t mask = lull_random_u64(random) & LULL_MASK_ALL & ~regions;
    if (lull_random_below(random, 2))
        mask |= regions;
    mask |= LULL_MASK(LULL_EVENT_MARKER); /* 0 would mean all */
    const struct same_events_options options = {.mask = mask};
    struct same_sequence *masked;
    require(collect_by_scan(archive, mask, 3, arena, &masked, &err) == LULL_OK, seed, "mask");
    for (uint32_t l = 0; l < archive->n_locations; l++) {
        require(same_sequences(&whole[l], &masked[l], &options, &err), seed, "masked events");
        for (size_t i = 0; i < masked[l].count; i++)
            assert_true(mask >> masked[l].events[i].kind & 1);
    }
}

/* Where the time of every thread went, to the ns, and its counters. */
static void check_breakdown(const struct lull_trace *drawn, const struct lull_trace *archive,
                            uint32_t application, struct lull_arena *arena, uint64_t seed)
{
    const struct lull_breakdown_options options = {
        .reading = &(const struct lull_reading){.application = application}};
    struct lull_breakdown *a, *b;
    require(lull_breakdown_compute(drawn, &options, arena, &a, &err) == LULL_OK, seed, "drawn");
    require(lull_breakdown_compute(archive, &options, arena, &b, &err) == LULL_OK, seed, "archive");
    assert_int_equal(a->runtime_ns, b->runtime_ns);
    assert_int_equal(a->n_threads, b->n_threads);
    assert_int_equal(a->n_counters, b->n_counters);
    assert_int_equal(a->n_parallels, b->n_parallels);
    size_t counters = sizeof(uint64_t) * a->n_counters * LULL_ACTIVITIES;
    for (uint32_t t = 0; t < a->n_threads; t++) {
        assert_memory_equal(&a->threads[t].times, &b->threads[t].times, sizeof a->threads[t].times);
        assert_int_equal(a->threads[t].disabled_ns, b->threads[t].disabled_ns);
        assert_memory_equal(a->threads[t].counters, b->threads[t].counters, counters);
    }
}

static void check_round(uint64_t seed)
{
    const struct memory_trace_options options = {
        .with_states = seed % 2 == 1, .without_intercomms = true, .operations = true};
    struct lull_random random;
    lull_random_seed(&random, seed);
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_trace *drawn = memory_trace_draw(&random, &options), *archive;
    const char *path = folder_path("drawn");
    require(lull_convert(drawn, path, lull_format_find("otf2"), true, NULL, NULL, &err) == LULL_OK,
            seed, "writing");
    require(lull_trace_open(path, &archive, &err) == LULL_OK, seed, "opening");
    together_check_some(path);
    require(same_definitions(drawn, archive,
                             SAME_BUT_NAMES | SAME_BUT_CLOCK | SAME_BUT_COUNTERS | SAME_BUT_MARKERS,
                             &err),
            seed, "definitions");
    check_names(drawn, archive);
    struct same_sequence *before, *after, by_cursor;
    require(collect_by_scan(drawn, 0, 1, arena, &before, &err) == LULL_OK, seed, "drawn");
    require(collect_by_scan(archive, 0, 1, arena, &after, &err) == LULL_OK, seed, "archive");
    for (uint32_t l = 0; l < drawn->n_locations; l++) {
        struct same_sequence a = reduced(&before[l], arena), b = reduced(&after[l], arena);
        require(same_sequences(&a, &b, NULL, &err), seed, "events");
        require(collect_by_cursor(archive, l, 0, arena, &by_cursor, &err) == LULL_OK, seed,
                "cursor");
        require(same_sequences(&after[l], &by_cursor, NULL, &err), seed, "cursor and scan");
        for (size_t i = 0; i < a.count; i++)
            branch_reach(&branches[a.events[i].kind], true);
    }
    for (uint32_t a = 0; a < drawn->n_applications; a++)
        check_breakdown(drawn, archive, a, arena, seed);
    check_masked(archive, &random, after, arena, seed);
    lull_trace_close(archive);
    lull_trace_close(drawn);
    lull_arena_destroy(arena);
}

static void test_round_trip(void **state)
{
    (void)state;
    uint64_t first = lull_test_seed();
    const unsigned rounds = lull_test_rounds(ROUNDS);
    for (unsigned k = 0; k < LULL_EVENT_KINDS; k++)
        branches[k] = (struct branch){.what = lull_event_kind_name(k), .least = 200};
    /* What random traces do not have. */
    branches[LULL_EVENT_SAMPLE].what = NULL;
    branches[LULL_EVENT_REQUEST_FREED].what = NULL;
    branches[LULL_EVENT_THREAD_CREATE].what = NULL;
    branches[LULL_EVENT_THREAD_WAIT_BEGIN].what = NULL;
    branches[LULL_EVENT_THREAD_WAIT_END].what = NULL;
    for (uint64_t seed = first; seed - first < rounds; seed++) {
        check_round(seed);
        branches_next(branches, LULL_EVENT_KINDS);
    }
    branches_assert(branches, LULL_EVENT_KINDS, rounds);
}

TEST_GROUP(test_otf2)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip)};
    folder_make();
    int failed = run_cases(tests, NULL, NULL);
    folder_remove();
    return failed;
}
