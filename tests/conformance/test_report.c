/* Reports of real traces: cells of all levels sum to the breakdown, messages are those of the
 * census, and the number of workers does not matter. */
#include "lull_features.h"
#include "study/census.h"
#include "study/report_study.h"
#include "support/seed.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SKIPPED = 77, BINS = 1 << LULL_TIMELINE_FINEST };

static const char *folder;

static const char *const traces[] = {
    "epoch-mpi/epoch_1proc.prv.gz",
    "epoch-mpi/epoch_4proc.prv.gz",
    "epoch-mpi/epoch_8proc.prv.gz",
    "imagemagick-omp/omp1.prv.gz",
    "imagemagick-omp/omp4.prv.gz",
    "lulesh-prv/lulesh_4+4_with_uncores_sockets1+2.chop_5it.prv",
    "eztrace-hybrid2x2-pomp-jacobi/eztrace_log.otf2",
    "eztrace-mpi4-jacobi/eztrace_log.otf2",
    "pipit-pingpong-otf2-papi/traces.otf2",
    "sstmacro-scorep-mpi10-otf2/traces.otf2",
};

static void load(const char *path, unsigned workers, struct lull_arena *arena,
                 struct lull_report *report)
{
    struct lull_notices notices = {.arena = arena};
    struct lull_error err = {""};
    struct lull_report_options options = {.runs = {.workers = workers, .force = true}};
    lull_report_budget(16000000, &options);
    fail_if(lull_report_load(&path, 1, &options, &notices, arena, report, &err) != LULL_OK, "%s",
            err.text);
}

static const int64_t *cells_of(const struct lull_timeline *timeline, uint32_t row, unsigned level)
{
    static int64_t ns[BINS * LULL_STEP_ACTIVITIES];
    lull_timeline_cells(timeline, row, level, 0, UINT32_C(1) << level, ns);
    return ns;
}

/* Threads of a breakdown are in the order of the trace's locations. */
static void check_leaf(const struct lull_timeline *timeline, uint32_t row,
                       const struct lull_thread_breakdown *thread)
{
    for (unsigned level = 0; level <= timeline->rows[row].level; level++) {
        int64_t sums[LULL_STEP_ACTIVITIES] = {0};
        const int64_t *ns = cells_of(timeline, row, level);
        for (size_t i = 0; i < (size_t)LULL_STEP_ACTIVITIES << level; i++)
            sums[i % LULL_STEP_ACTIVITIES] += ns[i];
        for (unsigned a = 0; a < LULL_ACTIVITIES; a++)
            assert_int_equal(sums[a], thread->times.ns[a][0] + thread->times.ns[a][1]);
        assert_int_equal(sums[LULL_ACTIVITY_DISABLED], thread->disabled_ns);
    }
}

static void check_messages(const struct lull_run *run, const struct lull_timeline *timeline,
                           struct lull_arena *arena)
{
    const struct lull_reading whole = {.application = LULL_NONE};
    struct lull_census *census;
    struct lull_error err = {""};
    assert_int_equal(lull_census_take(run->trace, &whole, arena, &census, &err), LULL_OK);
    assert_int_equal(timeline->sent, census->sent);
    assert_int_equal(timeline->sent_bytes, census->sent_bytes);
    assert_int_equal(timeline->received, census->received);
    assert_int_equal(timeline->received_bytes, census->received_bytes);
    uint64_t sent = 0, received = 0, bytes = 0, sized = 0;
    for (size_t i = 0; i < timeline->n_traffic; i++) {
        sent += timeline->traffic[i].sent;
        received += timeline->traffic[i].received;
        bytes += timeline->traffic[i].sent_bytes;
    }
    for (unsigned i = 0; i < LULL_TIMELINE_SIZES; i++)
        sized += timeline->sizes[i];
    assert_int_equal(sent, census->sent);
    assert_int_equal(received, census->received);
    assert_int_equal(bytes, census->sent_bytes);
    assert_int_equal(sized, census->sent);
    printf("%s: %zu messages, %llu kept, %llu of one side only\n", run->name,
           (size_t)timeline->sent, (unsigned long long)timeline->n_kept_messages,
           (unsigned long long)timeline->unmatched);
}

/* What the receiver waited for is time that it spent in MPI. */
static void check_waits(const struct lull_run *run, const struct lull_timeline *timeline)
{
    int64_t waits = 0, mpi = 0;
    for (size_t i = 0; i < timeline->n_traffic; i++)
        waits += timeline->traffic[i].wait_ns;
    for (uint32_t t = 0; t < run->breakdown->n_threads; t++)
        for (unsigned a = LULL_MPI_P2P; a <= LULL_MPI_OTHER; a++)
            mpi += run->breakdown->threads[t].times.ns[a][0] +
                   run->breakdown->threads[t].times.ns[a][1];
    assert_true(waits <= mpi);
}

static void check_same(const struct lull_timeline *a, const struct lull_timeline *b)
{
    static int64_t kept[BINS * LULL_STEP_ACTIVITIES];
    assert_int_equal(a->n_rows, b->n_rows);
    for (uint32_t row = 0; row < a->n_rows; row++) {
        const unsigned level = a->rows[row].level;
        const size_t size = ((size_t)LULL_STEP_ACTIVITIES << level) * sizeof *kept;
        memcpy(kept, cells_of(a, row, level), size);
        assert_memory_equal(kept, cells_of(b, row, level), size);
    }
    assert_int_equal(a->n_steps, b->n_steps);
    assert_int_equal(a->n_kept_messages, b->n_kept_messages);
    for (size_t i = 0; i < a->n_kept_messages; i++)
        assert_int_equal(a->messages[i].received, b->messages[i].received);
}

/* Where reading is dear, by one worker and, in turn, two or five. */
static void check_trace(const char *name, size_t number)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    static const unsigned workers[] = {2, 5};
    struct lull_report one, other;
    const char *path = lull_arena_printf(arena, "%s/%s", folder, name);
    load(path, 1, arena, &one);
    const struct lull_run *run = &one.runs.runs[0];
    const struct lull_timeline *timeline = one.of[0].timeline;
    assert_int_equal(timeline->n_leaves, run->breakdown->n_threads);
    for (uint32_t l = 0; l < timeline->n_leaves; l++)
        check_leaf(timeline, timeline->leaves[l].row,
                   &run->breakdown->threads[timeline->leaves[l].location]);
    check_messages(run, timeline, arena);
    check_waits(run, timeline);
    for (size_t i = 0; i < 2; i++) {
        if (!lull_test_picks(i + number, 2))
            continue;
        load(path, workers[i], arena, &other);
        check_same(timeline, other.of[0].timeline);
        lull_report_close(&other);
    }
    lull_report_close(&one);
    lull_arena_destroy(arena);
}

static void test_traces(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        if (strstr(traces[i], "epoch_8proc") && !lull_test_picks(1, 2))
            continue; /* says what that of four says, with more */
        if (LULL_HAVE_OTF2 || !strstr(traces[i], ".otf2"))
            check_trace(traces[i], i);
        else
            printf("skipped: %s: built without OTF2\n", traces[i]);
    }
}

TEST_GROUP(test_report)
{
    struct stat info;
    folder = getenv("LULL_CONFORMANCE_DIR");
    if (!folder || !*folder)
        folder = "../../shared/traces"; /* seen from tests/, where ctest starts this */
    if (stat(folder, &info) != 0) {
        printf("skipped: there is no folder '%s'; set LULL_CONFORMANCE_DIR\n", folder);
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_traces)};
    return run_cases(tests, NULL, NULL);
}
