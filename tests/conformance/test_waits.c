/* Identities of waits on real traces: waits, transfer and what is not matched are the time in MPI
 * that the breakdown counts, charges are waits, and the number of workers changes nothing. */
#include "lull_features.h"
#include "metrics/breakdown.h"
#include "metrics/windows.h"
#include "support/seed.h"
#include "support/test.h"
#include "wait/wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_WORKERS = 3 };

static void find_waits_of(const struct lull_trace *trace, const struct lull_windows *windows,
                          unsigned workers, bool each_thread, struct lull_arena *arena,
                          struct lull_wait_result *ret_result)
{
    const struct lull_wait_options options = {.reading =
                                                  &(const struct lull_reading){.windows = windows},
                                              .each_thread = each_thread,
                                              .threads = true};
    const struct lull_pass_options pass = {
        .reading = &(const struct lull_reading){.windows = windows, .workers = workers}};
    struct lull_error err = {""};
    struct lull_waits *waits;
    assert_int_equal(lull_waits_create(trace, &options, &waits, &err), LULL_OK);
    const struct lull_consumer consumer = lull_waits_consumer(waits);
    fail_if(lull_pass_run(trace, &pass, &consumer, 1, &err) != LULL_OK ||
                lull_waits_conclude(waits, arena, ret_result, &err) != LULL_OK,
            "%s", err.text);
    lull_waits_destroy(waits);
    assert_null(ret_result->absent);
}

static void find_waits(const struct lull_trace *trace, const struct lull_windows *windows,
                       unsigned workers, struct lull_arena *arena,
                       struct lull_wait_result *ret_result)
{
    find_waits_of(trace, windows, workers, false, arena, ret_result);
}

static void compare_results(const struct lull_trace *trace, const struct lull_wait_result *a,
                            const struct lull_wait_result *b)
{
    assert_int_equal(a->waited_ns, b->waited_ns);
    assert_int_equal(a->n_charges, b->n_charges);
    for (uint32_t i = 0; i < a->n_charges; i++) {
        const struct lull_wait_charge *x = &a->charges[i], *y = &b->charges[i];
        assert_memory_equal(&x->place, &y->place, sizeof x->place);
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->ns, y->ns);
        assert_int_equal(x->passed_ns, y->passed_ns);
        assert_int_equal(x->waits, y->waits);
        assert_int_equal(x->longest.location, y->longest.location);
        assert_int_equal(x->longest.begin, y->longest.begin);
        assert_int_equal(x->longest.ns, y->longest.ns);
    }
    assert_memory_equal(a->locations, b->locations, trace->n_locations * sizeof *a->locations);
    assert_int_equal(a->messages, b->messages);
    assert_int_equal(a->collectives, b->collectives);
}

static int64_t mpi_time_of(const struct lull_thread_breakdown *thread)
{
    int64_t sum = 0;
    for (unsigned activity = LULL_MPI_P2P; activity <= LULL_MPI_OTHER; activity++)
        sum += thread->times.ns[activity][0] + thread->times.ns[activity][1];
    return sum;
}

static const struct lull_wait_location *sums_of(const struct lull_trace *trace,
                                                const struct lull_thread_breakdown *thread,
                                                const struct lull_wait_result *result)
{
    const struct lull_process *process = &trace->processes[thread->process];
    for (uint32_t l = process->first_location; l < process->first_location + process->n_locations;
         l++)
        if (trace->locations[l].number == thread->number &&
            trace->locations[l].kind == thread->kind)
            return &result->locations[l];
    fail();
    return NULL;
}

/* What threads wait for each other is what they spend in barriers and for locks. */
static int64_t check_thread(const struct lull_trace *trace,
                            const struct lull_thread_breakdown *thread,
                            const struct lull_wait_result *result)
{
    const struct lull_process *process = &trace->processes[thread->process];
    const struct lull_wait_location *sums = sums_of(trace, thread, result);
    int64_t spent = 0, waited = 0;
    for (unsigned k = LULL_WAIT_MPI_KINDS; k < LULL_WAIT_KINDS; k++)
        waited += sums->waited_ns[k];
    assert_int_equal(waited + sums->threads_rest_ns, sums->threads_ns);
    for (int parallel = 0; parallel < 2; parallel++)
        spent +=
            thread->times.ns[LULL_OMP_SYNC][parallel] + thread->times.ns[LULL_OMP_LOCK][parallel];
    if (process->n_threads > 1 && thread->kind == LULL_LOCATION_THREAD)
        assert_int_equal(sums->threads_ns - sums->threads_ends_ns, spent);
    return waited;
}

/* Where each thread is followed, the calls of all are counted. */
static void check_sums(const struct lull_trace *trace, const struct lull_windows *windows,
                       bool each_thread, const struct lull_wait_result *result,
                       struct lull_arena *arena)
{
    const struct lull_breakdown_options wanted = {
        .reading = &(const struct lull_reading){.windows = windows, .workers = 1}};
    struct lull_breakdown *breakdown;
    struct lull_error err = {""};
    int64_t charged = 0, waited = 0;
    fail_if(lull_breakdown_compute(trace, &wanted, arena, &breakdown, &err) != LULL_OK, "%s",
            err.text);
    for (uint32_t t = 0; t < breakdown->n_threads; t++) {
        const struct lull_thread_breakdown *thread = &breakdown->threads[t];
        waited += check_thread(trace, thread, result);
        if (thread->kind != LULL_LOCATION_THREAD || (!thread->master && !each_thread))
            continue;
        const struct lull_wait_location *sums = sums_of(trace, thread, result);
        int64_t sum = sums->transfer_ns + sums->unmatched_ns;
        for (unsigned k = 0; k < LULL_WAIT_MPI_KINDS; k++) {
            sum += sums->waited_ns[k];
            waited += sums->waited_ns[k];
        }
        assert_int_equal(sum, sums->mpi_ns);
        assert_int_equal(sums->mpi_ns, mpi_time_of(thread));
    }
    for (uint32_t i = 0; i < result->n_charges; i++)
        charged += result->charges[i].ns;
    assert_int_equal(charged, waited);
    assert_int_equal(charged, result->waited_ns);
}

/* The middle of the run. */
static void check_window(const struct lull_trace *trace, struct lull_arena *arena)
{
    struct lull_windows *windows;
    struct lull_wait_result result;
    struct lull_error err = {""};
    fail_if(lull_windows_of_time(trace, trace->duration / 3, trace->duration / 2, arena, &windows,
                                 &err) != LULL_OK,
            "%s", err.text);
    find_waits(trace, windows, 1, arena, &result);
    check_sums(trace, windows, false, &result, arena);
}

static void check_each_thread(const struct lull_trace *trace, struct lull_arena *arena)
{
    struct lull_wait_result results[2];
    for (unsigned w = 0; w < 2; w++) {
        find_waits_of(trace, NULL, w + 1, true, arena, &results[w]);
        compare_results(trace, &results[0], &results[w]);
    }
    check_sums(trace, NULL, true, &results[0], arena);
}

/* `ends`: by thread, what is waited at ends of parallel regions whose barrier is not told; NULL: is
 * not looked at. */
static void check(const char *path, bool waits, const int64_t *ends)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_wait_result results[MOST_WORKERS];
    struct lull_trace *trace;
    struct lull_error err;
    fail_if(lull_trace_open(path, &trace, &err) != LULL_OK, "%s", err.text);
    for (unsigned w = 0; w < MOST_WORKERS; w++) {
        if (!lull_test_picks(w, 2)) /* one and three, where reading is dear */
            continue;
        find_waits(trace, NULL, w + 1, arena, &results[w]);
        compare_results(trace, &results[0], &results[w]);
    }
    check_sums(trace, NULL, false, &results[0], arena);
    check_each_thread(trace, arena);
    check_window(trace, arena);
    assert_true(waits == (results[0].waited_ns > 0));
    for (uint32_t l = 0; ends && l < trace->n_locations; l++)
        assert_int_equal(results[0].locations[l].threads_ends_ns, ends[l]);
    lull_trace_close(trace);
    lull_arena_destroy(arena);
}

static void our_own_runs(void **state)
{
    (void)state;
    check("data/tape/heat-2x1", true, NULL); /* seen from tests/, where ctest starts this */
}

/* Traces of others; the test is skipped where there are none. */
static void check_threads(const char *name, bool waits, const int64_t *ends)
{
    const char *folder = getenv("LULL_CONFORMANCE_DIR");
    struct stat info;
    char path[4096];
    if (strstr(name, ".otf2") && !LULL_HAVE_OTF2) {
        printf("skipped: this build does not read OTF2\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/%s", folder && *folder ? folder : "../../shared/traces", name);
    if (stat(path, &info) != 0) {
        printf("skipped: there is no '%s'; set LULL_CONFORMANCE_DIR\n", path);
        skip();
    }
    check(path, waits, ends);
}

static void check_shared(const char *name, bool waits)
{
    check_threads(name, waits, NULL);
}

static void epoch(void **state)
{
    (void)state;
    check_shared("epoch-mpi/epoch_1proc.prv.gz", false);
    check_shared("epoch-mpi/epoch_4proc.prv.gz", true);
    if (lull_test_picks(1, 2)) /* says what that of four says, with more */
        check_shared("epoch-mpi/epoch_8proc.prv.gz", true);
}

/* The records of the file say when each thread's part of the two parallel regions ends (events
 * 60000018): at 6996249269, 7058579468, 7051161789, 7052363301; at 7830988645, 7813670183,
 * 7811735687, 7829862065. Each waits for the last. */
static void image_magick(void **state)
{
    static const int64_t waited[] = {7058579468 - 6996249269, 7830988645 - 7813670183,
                                     7058579468 - 7051161789 + 7830988645 - 7811735687,
                                     7058579468 - 7052363301 + 7830988645 - 7829862065};
    (void)state;
    check_threads("imagemagick-omp/omp4.prv.gz", true, waited);
}

static void lulesh(void **state)
{
    (void)state;
    check_shared("lulesh-prv/lulesh_4+4_with_uncores_sockets1+2.chop_5it.prv", true);
}

static void archives(void **state)
{
    (void)state;
    check_shared("eztrace-hybrid2x2-pomp-jacobi/eztrace_log.otf2", true);
    check_shared("eztrace-mpi4-jacobi/eztrace_log.otf2", true);
    check_shared("pipit-pingpong-otf2-papi/traces.otf2", true);
    check_shared("sstmacro-scorep-mpi10-otf2/traces.otf2", true);
}

TEST_GROUP(test_waits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_own_runs), cmocka_unit_test(epoch),    cmocka_unit_test(image_magick),
        cmocka_unit_test(lulesh),       cmocka_unit_test(archives),
    };
    return run_cases(tests, NULL, NULL);
}
