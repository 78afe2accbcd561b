/* Random traces written as Paraver and read back: every thread spends its time as before, inside
 * and outside parallel regions, counts the same, and sends, receives and gathers the same. */
#include "metrics/breakdown.h"
#include "support/branches.h"
#include "support/folder.h"
#include "support/memory_trace.h"
#include "support/same_trace.h"
#include "support/seed.h"
#include "support/test.h"
#include "trace/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 80 };

static struct lull_error err;

/* Events of each kind that must survive, and of times. */
enum { PARALLEL = LULL_EVENT_KINDS, COUNTED, BRANCHES };
static struct branch branches[BRANCHES] = {
    [PARALLEL] = {.what = "there is time in parallel regions", .least = 200},
    [COUNTED] = {.what = "a counter is written", .least = 200},
};

/* ---- what must survive ----------------------------------------------------------------------- */

struct tally {
    uint64_t events, bytes;
};

/* Per location and kind: messages, one-sided transfers, collectives and markers. */
struct tallies {
    const struct lull_trace *trace;
    struct tally *of;  /* [location * LULL_EVENT_KINDS + kind] */
    int64_t *switched; /* [location]: when measurement was switched on last; -1: it is off */
};

/* Measurement that is on for no time is not told where a state says that it is off before and
 * after. */
static void tally_switch(struct tallies *tallies, uint32_t location, const struct lull_event *event)
{
    struct tally *of = &tallies->of[(size_t)location * LULL_EVENT_KINDS];
    if (event->kind == LULL_EVENT_MEASURE_ON) {
        of[LULL_EVENT_MEASURE_ON].events++;
        tallies->switched[location] = event->time;
    } else if (tallies->switched[location] == event->time) {
        of[LULL_EVENT_MEASURE_ON].events--;
    } else {
        of[LULL_EVENT_MEASURE_OFF].events++;
        tallies->switched[location] = -1;
    }
}

static lull_status tally_block(void *context, unsigned worker, const struct lull_block *block,
                               struct lull_error *unused)
{
    struct tallies *tallies = context;
    (void)worker;
    (void)unused;
    for (uint32_t i = 0; i < block->count; i++) {
        const struct lull_event *event = &block->events[i];
        struct tally *tally =
            &tallies->of[(size_t)block->location * LULL_EVENT_KINDS + event->kind];
        if (event->kind == LULL_EVENT_MEASURE_ON || event->kind == LULL_EVENT_MEASURE_OFF) {
            tally_switch(tallies, block->location, event);
            continue;
        }
        tally->events++;
        if (event->kind == LULL_EVENT_SEND || event->kind == LULL_EVENT_RECV)
            tally->bytes += event->message.bytes;
        else if (event->kind == LULL_EVENT_COLLECTIVE_END)
            tally->bytes += event->collective.sent + 3 * event->collective.received;
        else if (event->kind == LULL_EVENT_RMA || event->kind == LULL_EVENT_IO)
            tally->bytes += event->transfer.bytes;
        else if (event->kind == LULL_EVENT_MARKER)
            tally->bytes += event->number;
    }
    return LULL_OK;
}

static struct tally *tally_all(const struct lull_trace *trace, struct lull_arena *arena)
{
    struct tallies tallies = {
        trace,
        lull_arena_zero(arena, (size_t)trace->n_locations * LULL_EVENT_KINDS, sizeof *tallies.of),
        lull_arena_zero(arena, trace->n_locations, sizeof *tallies.switched)};
    memset(tallies.switched, -1, trace->n_locations * sizeof *tallies.switched);
    struct lull_visitor visitor = {.context = &tallies, .block = tally_block};
    struct lull_scan_options options = {.application = LULL_NONE, .workers = 1};
    fail_if(lull_scan(trace, &options, &visitor, &err) != LULL_OK, "scan: %s", err.text);
    return tallies.of;
}

static void check_tallies(const struct lull_trace *made, const struct lull_trace *read,
                          struct lull_arena *arena, uint64_t seed)
{
    static const uint8_t kinds[] = {
        LULL_EVENT_SEND,         LULL_EVENT_RECV,         LULL_EVENT_COLLECTIVE_END,
        LULL_EVENT_RMA,          LULL_EVENT_IO,           LULL_EVENT_MARKER,
        LULL_EVENT_MEASURE_ON,   LULL_EVENT_MEASURE_OFF,  LULL_EVENT_TEAM_BEGIN,
        LULL_EVENT_TEAM_END,     LULL_EVENT_FORK,         LULL_EVENT_JOIN,
        LULL_EVENT_TASK_SWITCH,  LULL_EVENT_TASK_CREATE,  LULL_EVENT_TASK_COMPLETE,
        LULL_EVENT_LOCK_ACQUIRE, LULL_EVENT_LOCK_RELEASE, LULL_EVENT_THREAD_BEGIN,
        LULL_EVENT_THREAD_END,   LULL_EVENT_SUBMIT,       LULL_EVENT_DEPEND,
        LULL_EVENT_DEVICE_WAIT,  LULL_EVENT_OPERATION};
    const struct tally *a = tally_all(made, arena), *b = tally_all(read, arena);
    for (uint32_t l = 0; l < made->n_locations; l++) {
        for (size_t k = 0; k < sizeof kinds; k++) {
            size_t at = (size_t)l * LULL_EVENT_KINDS + kinds[k];
            fail_if(a[at].events != b[at].events || a[at].bytes != b[at].bytes,
                    "seed %llu: location %u: %s: %llu events of %llu written, %llu of %llu "
                    "read",
                    (unsigned long long)seed, l, lull_event_kind_name(kinds[k]),
                    (unsigned long long)a[at].events, (unsigned long long)a[at].bytes,
                    (unsigned long long)b[at].events, (unsigned long long)b[at].bytes);
            branches[kinds[k]].what = lull_event_kind_name(kinds[k]);
            branches[kinds[k]].least = 200;
            branch_reach(&branches[kinds[k]], a[at].events > 0);
        }
    }
}

/* What threads submitted to devices, and what these ran, with every field and in their order. */
static void check_devices(const struct lull_trace *made, const struct lull_trace *read,
                          struct lull_arena *arena, uint64_t seed)
{
    struct same_sequence *a, *b;
    fail_if(collect_by_scan(made, LULL_MASK_DEVICES, 1, arena, &a, &err) != LULL_OK ||
                collect_by_scan(read, LULL_MASK_DEVICES, 1, arena, &b, &err) != LULL_OK,
            "seed %llu: %s", (unsigned long long)seed, err.text);
    for (uint32_t l = 0; l < made->n_locations; l++)
        fail_if(!same_sequences(&a[l], &b[l], NULL, &err), "seed %llu: location %u: %s",
                (unsigned long long)seed, l, err.text);
}

/* ---- how the time is spent ------------------------------------------------------------------- */

static struct lull_breakdown *break_down(const struct lull_trace *trace, uint32_t application,
                                         struct lull_arena *arena)
{
    const struct lull_breakdown_options options = {
        .reading = &(const struct lull_reading){.application = application, .workers = 1}};
    struct lull_breakdown *breakdown;
    fail_if(lull_breakdown_compute(trace, &options, arena, &breakdown, &err) != LULL_OK,
            "breakdown: %s", err.text);
    return breakdown;
}

static void check_thread(const struct lull_breakdown *a, const struct lull_breakdown *b, uint32_t t,
                         uint64_t seed)
{
    const struct lull_thread_breakdown *left = &a->threads[t], *right = &b->threads[t];
    assert_int_equal(left->kind, right->kind);
    fail_if(left->disabled_ns != right->disabled_ns, "seed %llu: thread %u: disabled",
            (unsigned long long)seed, t);
    for (unsigned activity = 0; activity < LULL_ACTIVITIES; activity++) {
        branch_reach(&branches[PARALLEL], left->times.ns[activity][1] > 0);
        for (int inside = 0; inside < 2; inside++)
            fail_if(left->times.ns[activity][inside] != right->times.ns[activity][inside],
                    "seed %llu: thread %u: %s %s parallel regions: %lld ns written, %lld read",
                    (unsigned long long)seed, t, lull_activity_name(activity),
                    inside ? "inside" : "outside", (long long)left->times.ns[activity][inside],
                    (long long)right->times.ns[activity][inside]);
        for (uint32_t c = 0; c < a->n_counters; c++)
            for (uint32_t d = 0; d < b->n_counters; d++) {
                const bool same = strcmp(a->counters[c].name, b->counters[d].name) == 0;
                branch_reach(&branches[COUNTED],
                             same && left->counters[c * LULL_ACTIVITIES + activity] > 0);
                fail_if(same && left->counters[c * LULL_ACTIVITIES + activity] !=
                                    right->counters[d * LULL_ACTIVITIES + activity],
                        "seed %llu: thread %u: %s while %s: differs", (unsigned long long)seed, t,
                        a->counters[c].name, lull_activity_name(activity));
            }
    }
}

/* Paraver does not tell requests of collective operations, by which waits for them are known: there they count as
 * point-to-point. */
static void fold_waits(struct lull_breakdown *breakdown)
{
    for (uint32_t t = 0; t < breakdown->n_threads; t++) {
        struct lull_thread_breakdown *thread = &breakdown->threads[t];
        for (int inside = 0; inside < 2; inside++) {
            thread->times.ns[LULL_MPI_P2P][inside] += thread->times.ns[LULL_MPI_COLLECTIVE][inside];
            thread->times.ns[LULL_MPI_COLLECTIVE][inside] = 0;
        }
        for (uint32_t c = 0; c < breakdown->n_counters; c++) {
            uint64_t *counts = &thread->counters[c * LULL_ACTIVITIES];
            counts[LULL_MPI_P2P] += counts[LULL_MPI_COLLECTIVE];
            counts[LULL_MPI_COLLECTIVE] = 0;
        }
    }
}

static bool has_collective_requests(const struct lull_trace *trace)
{
    bool any = false;
    for (uint32_t r = 0; r < trace->n_regions; r++)
        any |= lull_makes_collective_requests(&trace->regions[r]);
    return any;
}

static void check_breakdowns(const struct lull_trace *made, const struct lull_trace *read,
                             struct lull_arena *arena, uint64_t seed)
{
    assert_int_equal(made->n_applications, read->n_applications);
    for (uint32_t application = 0; application < made->n_applications; application++) {
        struct lull_breakdown *a = break_down(made, application, arena);
        struct lull_breakdown *b = break_down(read, application, arena);
        assert_int_equal(a->n_threads, b->n_threads);
        assert_int_equal(a->runtime_ns, b->runtime_ns);
        if (has_collective_requests(made)) {
            fold_waits(a);
            fold_waits(b);
        }
        for (uint32_t t = 0; t < a->n_threads; t++)
            check_thread(a, b, t, seed);
    }
}

/* ---------------------------------------------------------------------------------------------- */

static void round_trip(uint64_t seed)
{
    struct lull_random random;
    lull_random_seed(&random, seed);
    struct memory_trace_options options = {.events = (uint32_t)lull_random_below(&random, 400) + 1,
                                           .without_states = seed % 2 == 0,
                                           .without_intercomms = true,
                                           .without_extremes = true,
                                           .operations = true};
    struct lull_trace *made = memory_trace_draw(&random, &options), *read = NULL;
    const char *path = folder_path(seed % 3 ? "run.prv" : "run.prv.gz");
    fail_if(lull_convert(made, path, lull_format_find("paraver"), true, NULL, NULL, &err) !=
                    LULL_OK ||
                lull_trace_open(path, &read, &err) != LULL_OK,
            "seed %llu: %s", (unsigned long long)seed, err.text);
    struct lull_arena *arena = lull_arena_create(NULL);
    assert_int_equal(made->n_locations, read->n_locations);
    assert_int_equal(made->n_processes, read->n_processes);
    check_tallies(made, read, arena, seed);
    check_devices(made, read, arena, seed);
    check_breakdowns(made, read, arena, seed);
    lull_arena_destroy(arena);
    lull_trace_close(read);
    lull_trace_close(made);
}

static void test_write_then_read(void **state)
{
    (void)state;
    uint64_t first = lull_test_seed();
    const unsigned rounds = lull_test_rounds(ROUNDS);
    folder_make();
    for (uint64_t seed = first; seed - first < rounds; seed++) {
        round_trip(seed);
        branches_next(branches, BRANCHES);
    }
    folder_remove();
    branches_assert(branches, BRANCHES, rounds);
}

TEST_GROUP(test_paraver)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_write_then_read)};
    return run_cases(tests, NULL, NULL);
}
