/* Rules on sums: breakdowns and messages made by hand, and published numbers of two programs. */
#include "diagnose/diagnose.h"
#include "support/arena_case.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { SECOND = 1000000000 };

/* One process of so many threads; T is a second. */
struct run {
    struct lull_process_breakdown process;
    struct lull_thread_breakdown threads[4];
    struct lull_parallel_breakdown parallel;
    struct lull_region_breakdown regions[2];
    struct lull_breakdown breakdown;
};

static struct run *make_run(uint32_t threads)
{
    struct run *run = lull_arena_zero(arena, 1, sizeof *run);
    run->process = (struct lull_process_breakdown){
        .name = "rank 0", .n_threads = threads, .n_cpu_threads = threads, .window_ns = SECOND};
    for (uint32_t t = 0; t < threads; t++)
        run->threads[t].number = t;
    run->threads[0].master = true;
    run->parallel = (struct lull_parallel_breakdown){.name = "loop", .executions = 10};
    run->breakdown = (struct lull_breakdown){.runtime_ns = SECOND,
                                             .duration_ns = SECOND,
                                             .processes = &run->process,
                                             .n_processes = 1,
                                             .threads = run->threads,
                                             .n_threads = threads,
                                             .parallels = &run->parallel,
                                             .n_parallels = 1};
    return run;
}

static uint32_t ask(const struct lull_breakdown *breakdown, struct lull_finding **ret_findings)
{
    const struct lull_evidence evidence = {.path = "run", .breakdown = breakdown};
    return lull_diagnose(&evidence, arena, ret_findings);
}

static double fact(const struct lull_finding *finding, const char *id)
{
    for (uint32_t i = 0; i < finding->n_facts; i++)
        if (strcmp(finding->facts[i].id, id) == 0)
            return finding->facts[i].value;
    return NAN;
}

static void is(const struct lull_finding *finding, const char *rule, int64_t ns)
{
    assert_string_equal(lull_finding_rule_id(finding), rule);
    assert_int_equal(finding->lost_ns, ns);
}

/* ---- threads ------------------------------------------------------------------------------- */

/* ImageMagick on 4 threads (docs/report.md): 5.74 of 8.58 s are serial, so that more threads make
 * it at most 1.50 x as fast. */
static void serial_part(void **state)
{
    (void)state;
    struct run *run = make_run(4);
    struct lull_finding *finding;
    run->breakdown.runtime_ns = INT64_C(8581000000);
    run->threads[0].times.ns[LULL_USEFUL][0] = INT64_C(5739000000);
    assert_int_equal(ask(&run->breakdown, &finding), 1);
    is(finding, "serial", 3 * INT64_C(5739000000));
    assert_true(fabs(fact(finding, "limit") - 1.50) < 0.01);
    assert_int_equal(finding->bound_ns, INT64_C(5739000000) - INT64_C(5739000000) / 4);
    assert_int_equal(finding->fix->threads[0].change, LULL_THREADS_NO_SERIAL);
}

/* The longest thread computes 300 ms, all of them 600 ms: three lose 600 ms, or what they wait at
 * barriers, where that is less, because they were kept by something else. */
static void uneven_threads(void **state)
{
    (void)state;
    struct run *run = make_run(4);
    struct lull_finding *finding;
    run->parallel.max_useful_ns = 300000000;
    run->parallel.useful_ns = 600000000;
    run->parallel.sync_ns = 650000000;
    assert_int_equal(ask(&run->breakdown, &finding), 1);
    is(finding, "imbalance", 600000000);
    assert_string_equal(finding->place.region, "loop");
    assert_string_equal(finding->next, "lull replay run --balance-threads=loop");
    run->parallel.sync_ns = 500000000;
    assert_int_equal(ask(&run->breakdown, &finding), 1);
    is(finding, "imbalance", 500000000);
}

/* The same with events: three threads wait 600 ms at the barrier of the loop, of which thread 2 is
 * charged with all but `others`. */
static struct lull_finding *uneven_with_waits(int64_t others, uint32_t line)
{
    static struct lull_location locations[4];
    static struct lull_process process = {.name = "rank 0", .n_locations = 4, .n_threads = 4};
    static struct lull_region regions[] = {
        {.name = "loop", .file = "a.c", .line = 12, .site = "", .parallel = true},
        {.name = "barrier", .file = "a.c", .site = ""},
        {.name = "solve", .file = "a.c", .line = 3, .site = ""}};
    const struct lull_wait_charge charges[] = {
        {.place = {.process = 0, .region = 2, .call = 1, .thread = 2},
         .kind = LULL_WAIT_THREAD_BARRIER,
         .ns = 600000000 - others,
         .parallel = LULL_NONE},
        {.place = {.process = 0, .region = 2, .call = 1, .thread = 1},
         .kind = LULL_WAIT_THREAD_BARRIER,
         .ns = others,
         .parallel = LULL_NONE}};
    const struct lull_wait_result waits = {.charges = charges, .n_charges = 2};
    const struct lull_trace trace = {.processes = &process,
                                     .n_processes = 1,
                                     .locations = locations,
                                     .n_locations = 4,
                                     .regions = regions,
                                     .n_regions = 3};
    struct run *run = make_run(4);
    struct lull_finding *finding;
    regions[1].line = line;
    for (uint32_t l = 0; l < 4; l++)
        locations[l].number = l;
    run->parallel.max_useful_ns = 300000000;
    run->parallel.useful_ns = 600000000;
    run->parallel.sync_ns = 600000000;
    const struct lull_evidence evidence = {
        .path = "run", .breakdown = &run->breakdown, .trace = &trace, .waits = &waits};
    assert_int_equal(lull_diagnose(&evidence, arena, &finding), 1);
    is(finding, "imbalance", 600000000);
    return finding;
}

static void late_thread(void **state)
{
    (void)state;
    const struct lull_finding *finding = uneven_with_waits(100000000, 12);
    assert_int_equal(finding->place.location, 2);
    assert_non_null(strstr(finding->cause, "500.0 ms for thread 2 of rank 0, which is in solve"));
    finding = uneven_with_waits(200000000, 12); /* it has two thirds only */
    assert_int_equal(finding->place.location, LULL_NONE);
    finding = uneven_with_waits(100000000, 13); /* the barrier of another loop */
    assert_int_equal(finding->place.location, LULL_NONE);
}

static void locks(void **state)
{
    (void)state;
    struct run *run = make_run(2);
    struct lull_finding *finding;
    run->threads[0].times.ns[LULL_OMP_LOCK][1] = 10000000;
    run->threads[1].times.ns[LULL_OMP_LOCK][1] = 20000000;
    run->parallel.lock_ns = 30000000;
    assert_int_equal(ask(&run->breakdown, &finding), 1);
    is(finding, "lock", 30000000);
    run->threads[1].times.ns[LULL_OMP_LOCK][1] = 9000000; /* 0.95 % of two seconds */
    assert_int_equal(ask(&run->breakdown, &finding), 0);
}

/* 1,000 chunks are asked for in 100 ms, and 20 times a thread begins a region, in 50 ms. */
static void scheduling(void **state)
{
    (void)state;
    struct run *run = make_run(2);
    struct lull_finding *findings;
    run->threads[0].times.ns[LULL_OMP_SCHEDULE][1] = 150000000;
    run->parallel.schedule_ns = 150000000;
    run->regions[0] = (struct lull_region_breakdown){.name = "chunk",
                                                     .site = "",
                                                     .activity = LULL_OMP_SCHEDULE,
                                                     .visits = 1000,
                                                     .exclusive_ns = 100000000};
    run->regions[1] = (struct lull_region_breakdown){.name = "fork",
                                                     .site = "",
                                                     .activity = LULL_OMP_SCHEDULE,
                                                     .visits = 20,
                                                     .exclusive_ns = 50000000};
    run->breakdown.regions = run->regions;
    run->breakdown.n_regions = 2;
    assert_int_equal(ask(&run->breakdown, &findings), 2);
    is(&findings[0], "chunk", 100000000);
    is(&findings[1], "fork_join", 50000000);
    assert_true(fact(&findings[0], "chunks") == 1000);
}

/* 8,244 executions that compute for 10 us each take 100 ms to begin, in two regions of 60 and 40;
 * 2 executions of 384 ms take 80 ms, because a thread had no core: the finding names the first. */
static void fork_of_short_regions(void **state)
{
    (void)state;
    struct run *run = make_run(2);
    struct lull_parallel_breakdown parallels[] = {
        {.name = "long", .executions = 2, .useful_ns = 768000000, .schedule_ns = 80000000},
        {.name = "other", .executions = 2244, .useful_ns = 22440000, .schedule_ns = 40000000},
        {.name = "short", .executions = 6000, .useful_ns = 60000000, .schedule_ns = 60000000}};
    struct lull_finding *finding;
    run->threads[0].times.ns[LULL_OMP_SCHEDULE][1] = 180000000;
    run->breakdown.parallels = parallels;
    run->breakdown.n_parallels = 3;
    assert_int_equal(ask(&run->breakdown, &finding), 1);
    is(finding, "fork_join", 180000000);
    assert_string_equal(finding->place.region, "short");
    assert_non_null(
        strstr(finding->sentence, "6000 executions, of which each computes for 10.00 us"));
    assert_non_null(strstr(finding->cause, "short"));
    parallels[0].schedule_ns = 120000000; /* now most of it is there */
    run->threads[0].times.ns[LULL_OMP_SCHEDULE][1] = 220000000;
    assert_int_equal(ask(&run->breakdown, &finding), 1);
    assert_string_equal(finding->place.region, "long");
    assert_non_null(strstr(finding->cause, "Not that it is short"));
}

/* In a parallel region thread 0 works 400 ms alone, as in a master block, before an explicit barrier
 * on another line; thread 1 is late there by 1 ms, once, and by 500 ms in another region. */
static void one_thread_alone(void **state)
{
    static const char *const regions[] = {"loop", "barrier", "other", NULL};
    (void)state;
    struct run *run = make_run(2);
    struct lull_trace *trace = memory_trace_simple(1, 2, SECOND, regions);
    struct lull_region *places = (struct lull_region *)trace->regions;
    for (int r = 0; r < 3; r++) {
        places[r].parallel = r != 1;
        places[r].file = "loop.c";
        places[r].site = r == 1 ? "loop.c:9" : "";
        places[r].line = (uint32_t)(5 + 4 * r);
    }
    places[1].activity = LULL_OMP_SYNC;
    const struct lull_wait_charge charges[] = {
        {.place = {.process = 0, .region = 2, .call = 1, .thread = 1},
         .kind = LULL_WAIT_THREAD_BARRIER,
         .ns = 500000000,
         .parallel = 2},
        {.place = {.process = 0, .region = 0, .call = 1, .thread = 0},
         .kind = LULL_WAIT_THREAD_BARRIER,
         .ns = 400000000,
         .parallel = 0},
        {.place = {.process = 0, .region = 0, .call = 1, .thread = 1},
         .kind = LULL_WAIT_THREAD_BARRIER,
         .ns = 1000000,
         .parallel = 0}};
    const struct lull_wait_result waits = {.charges = charges, .n_charges = 3};
    run->parallel.executions = 1;
    run->parallel.useful_ns = 600000000;
    run->parallel.max_useful_ns = 500000000;
    run->parallel.sync_ns = 500000000;
    const struct lull_evidence evidence = {
        .path = "run", .breakdown = &run->breakdown, .trace = trace, .waits = &waits};
    struct lull_finding *finding;
    assert_int_equal(lull_diagnose(&evidence, arena, &finding), 1);
    is(finding, "imbalance", 400000000);
    assert_int_equal(finding->place.location, 0);
    assert_non_null(strstr(finding->cause, "400.0 ms for thread 0 of rank 0"));
    assert_non_null(strstr(finding->cause, "until it comes to barrier (loop.c:9)"));
    assert_non_null(strstr(finding->cause, "master"));
    lull_trace_close(trace);
}

/* The same beside other programs: at a barrier behind it both threads are late in turns, thread 0 for
 * 640 ms and thread 1 for 610 ms. Of all waits thread 0 has two thirds (1040 of 1650 ms), of those at
 * the first barrier all: 400 ms, of a loss of 410. With 190 ms there it is not known who is late. */
static void one_thread_alone_without_free_cores(void **state)
{
    static const char *const regions[] = {"loop", "barrier", "another barrier", NULL};
    (void)state;
    struct lull_trace *trace = memory_trace_simple(1, 2, SECOND, regions);
    struct lull_region *places = (struct lull_region *)trace->regions;
    places[0].parallel = true;
    for (int r = 0; r < 3; r++)
        places[r].file = places[r].site = "loop.c";
    for (int short_block = 0; short_block < 2; short_block++) {
        struct run *run = make_run(2);
        struct lull_finding *finding;
        struct lull_wait_charge charges[] = {
            {.place = {.region = 0, .call = 1, .thread = 0},
             .ns = short_block ? 190000000 : 400000000},
            {.place = {.region = 1, .call = 2, .thread = 0}, .ns = 640000000},
            {.place = {.region = 1, .call = 2, .thread = 1}, .ns = 610000000}};
        const struct lull_wait_result waits = {.charges = charges, .n_charges = 3};
        for (int i = 0; i < 3; i++)
            charges[i].kind = LULL_WAIT_THREAD_BARRIER; /* in parallel region 0, "loop" */
        run->parallel.executions = 1;
        run->parallel.useful_ns = 590000000;
        run->parallel.max_useful_ns = 500000000;
        run->parallel.sync_ns = 1650000000;
        const struct lull_evidence evidence = {
            .path = "run", .breakdown = &run->breakdown, .trace = trace, .waits = &waits};
        assert_int_equal(lull_diagnose(&evidence, arena, &finding), 1);
        is(finding, "imbalance", 410000000);
        assert_int_equal(finding->place.location, short_block ? LULL_NONE : 0);
        assert_int_equal(strstr(finding->cause, "400.0 ms for thread 0 of rank 0") != NULL,
                         !short_block);
    }
    lull_trace_close(trace);
}

/* ---- the network --------------------------------------------------------------------------- */

/* The run would take 0.9 s on an ideal network. */
static void of_network(const struct lull_messages *messages, const char *rule)
{
    struct run *run = make_run(1);
    struct lull_finding *finding;
    run->breakdown.ideal_runtime_ns = 900000000;
    const struct lull_evidence evidence = {
        .path = "run", .breakdown = &run->breakdown, .messages = messages};
    assert_int_equal(lull_diagnose(&evidence, arena, &finding), 1);
    is(finding, rule, 100000000);
    assert_null(finding->gain.absent);
    assert_int_equal(finding->gain.ns, 100000000);
    assert_true(fabs(finding->gain.factor - 1 / 0.9) < 1e-9);
}

/* Of 1 s 0.1 s go to the network: the reduction of a CG loop has 90 of 100 ms of the transfer in
 * 31,600 calls of 8 bytes. Then it has as much in operations of 1 MiB, and at last little of it. */
static void network_costs_at_a_place(void **state)
{
    static const char *const regions[] = {"main", "MPI_Allreduce", "MPI_Waitall", NULL};
    struct lull_trace *trace = memory_trace_simple(1, 1, SECOND, regions);
    struct lull_region *reduce = (struct lull_region *)&trace->regions[1];
    struct lull_wait_call calls[] = {{1, 31600, 8 * 31600, 90000000, 0},
                                     {2, 100, 800000, 10000000, 0}};
    const struct lull_wait_result waits = {.calls = calls, .n_calls = 2};
    const struct lull_wave_field field = {.n_iterations = 316};
    struct run *run = make_run(1);
    struct lull_finding *finding;
    (void)state;
    run->breakdown.ideal_runtime_ns = 900000000;
    reduce->collective = LULL_COLLECTIVE_ALLREDUCE;
    reduce->site = "cg.c:41";
    const struct lull_evidence evidence = {.path = "run",
                                           .breakdown = &run->breakdown,
                                           .trace = trace,
                                           .waits = &waits,
                                           .field = &field};
    assert_int_equal(lull_diagnose(&evidence, arena, &finding), 1);
    is(finding, "small_messages", 100000000);
    assert_string_equal(finding->place.site, "cg.c:41");
    assert_non_null(
        strstr(finding->sentence, "90 % of it in MPI_Allreduce (cg.c:41): 31600 calls"));
    assert_non_null(strstr(finding->sentence, "8 bytes on average, 100 in each of 316 iterations"));
    assert_true(fact(finding, "call_bytes") == 8);
    calls[0].bytes = UINT64_C(31600) << 20;
    assert_int_equal(lull_diagnose(&evidence, arena, &finding), 1);
    is(finding, "transfer", 100000000);
    assert_non_null(strstr(finding->sentence, "of 1048576 bytes on average"));
    calls[0] = (struct lull_wait_call){1, 31600, 8 * 31600, 5000000, 0};
    assert_int_equal(lull_diagnose(&evidence, arena, &finding), 1);
    is(finding, "transfer", 100000000);
    assert_non_null(strstr(finding->sentence, "67 % of it in MPI_Waitall: 100 calls"));
    lull_trace_close(trace);
}

/* One thread on one core, with so much time without it, in a run of a second. */
static struct lull_trace *make_trace(uint64_t without_ns)
{
    static const char *const regions[] = {"main", NULL};
    struct lull_trace *trace = memory_trace_simple(1, 1, SECOND, regions);
    trace->locations[0].cores = (struct lull_cores){
        .on = SECOND - without_ns, .off = without_ns, .allowed = 1, .preempted = 7};
    return trace;
}

/* The ideal network would save 100 ms. Threads without a core are told by themselves, and the network has
 * the rest, if that is more than the error of the replay; else what it costs is not known, which that
 * finding says. */
static void network_beside_threads_without_a_core(void **state)
{
    (void)state;
    static const struct {
        uint64_t without_ns;
        int64_t replayed_ns; /* 0: no replay */
        int64_t network_ns;  /* 0: no finding */
        int64_t low_ns, high_ns;
        bool hidden;
    } runs[] = {
        {0, 0, 100000000, 100000000, 100000000, false},
        {5000000, 0, 100000000, 100000000, 100000000, false}, /* below 1 % */
        {60000000, 0, 40000000, 40000000, 100000000, false},
        {60000000, 970000000, 40000000, 10000000, 130000000, false},
        {60000000, 1050000000, 0, 0, 0, true},
        {95000000, 0, 0, 0, 0, true},
        {400000000, 0, 0, 0, 0, true},
        {0, 890000000, 0, 0, 0, false}, /* less than the replay's error */
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct run *run = make_run(1);
        struct lull_trace *trace = make_trace(runs[i].without_ns);
        struct lull_finding *findings, *network = NULL, *cores = NULL;
        run->breakdown.ideal_runtime_ns = 900000000;
        run->breakdown.replayed_runtime_ns = runs[i].replayed_ns;
        const struct lull_evidence evidence = {
            .path = "run", .breakdown = &run->breakdown, .trace = trace};
        const uint32_t n = lull_diagnose(&evidence, arena, &findings);
        for (uint32_t f = 0; f < n; f++)
            *(strcmp(lull_finding_rule_id(&findings[f]), "transfer") == 0 ? &network : &cores) =
                &findings[f];
        assert_int_equal(network ? network->lost_ns : 0, runs[i].network_ns);
        if (network) {
            assert_int_equal(network->gain.ns, runs[i].network_ns);
            assert_int_equal(network->gain.low_ns, runs[i].low_ns);
            assert_int_equal(network->gain.high_ns, runs[i].high_ns);
        }
        assert_int_equal(cores != NULL, runs[i].without_ns >= SECOND / 100);
        if (cores) {
            is(cores, "oversubscription", (int64_t)runs[i].without_ns);
            assert_int_equal(strstr(cores->cause, "what the network costs is not known") != NULL,
                             runs[i].hidden);
            assert_non_null(strstr(cores->cause, "Other programs had the cores."));
        }
        lull_trace_close(trace);
    }
}

/* In every second window large messages have so many bytes together, and the flights of ten of
 * them, which are 100 us in the others, take so long together. */
static void crowd(struct lull_messages *messages, uint64_t bytes, int64_t flight_ns)
{
    for (unsigned w = 0; w < LULL_MESSAGES_WINDOWS; w++) {
        const bool crowded = w % 2 == 0;
        messages->sums[w][20] =
            (struct lull_messages_sum){.count = 10,
                                       .bytes = crowded ? bytes : 10000000,
                                       .transit_ns = 1000000,
                                       .flights = 10,
                                       .flight_ns = crowded ? flight_ns : 1000000};
    }
}

static void network_costs(void **state)
{
    (void)state;
    struct lull_messages *messages = lull_arena_zero(arena, 1, sizeof *messages);
    of_network(NULL, "transfer");
    /* In each window 10 messages of 8 B take 1 us each, and 10 of 1 MB take 100 us each. */
    for (unsigned w = 0; w < LULL_MESSAGES_WINDOWS; w++) {
        messages->sums[w][4] =
            (struct lull_messages_sum){.count = 10, .bytes = 80, .transit_ns = 10000};
        messages->sums[w][20] =
            (struct lull_messages_sum){.count = 10, .bytes = 10000000, .transit_ns = 1000000};
    }
    of_network(messages, "transfer");
    crowd(messages, 20000000, 4000000);
    of_network(messages, "contention");
    /* As long as in quiet windows; with as much traffic there. */
    crowd(messages, 20000000, 1000000);
    of_network(messages, "transfer");
    crowd(messages, 10000000, 4000000);
    of_network(messages, "transfer");
    memset(messages, 0, sizeof *messages);
    for (unsigned w = 0; w < LULL_MESSAGES_WINDOWS; w++)
        messages->sums[w][4] =
            (struct lull_messages_sum){.count = 10, .bytes = 80, .transit_ns = 10000};
    of_network(messages, "small_messages");
    /* Of large ones of one size nobody knows what a small one takes; others of eight times the size
     * that take no longer tell that it is as much. */
    memset(messages, 0, sizeof *messages);
    for (unsigned w = 0; w < LULL_MESSAGES_WINDOWS; w++)
        messages->sums[w][20] =
            (struct lull_messages_sum){.count = 10, .bytes = 10000000, .transit_ns = 1000000};
    of_network(messages, "transfer");
    for (unsigned w = 0; w < LULL_MESSAGES_WINDOWS; w++)
        messages->sums[w][23] =
            (struct lull_messages_sum){.count = 10, .bytes = 80000000, .transit_ns = 1000000};
    of_network(messages, "small_messages");
}

/* EPOCH on 8 processes (docs/report.md): an ideal network makes it 1.008 x as fast. */
static void network_costs_too_little(void **state)
{
    (void)state;
    struct run *run = make_run(1);
    struct lull_finding *finding;
    run->breakdown.ideal_runtime_ns = (int64_t)(SECOND / 1.0078);
    assert_int_equal(ask(&run->breakdown, &finding), 0);
}

/* ---- the rest ------------------------------------------------------------------------------ */

static void files_and_tracer(void **state)
{
    (void)state;
    struct run *run = make_run(2);
    struct lull_finding *findings;
    run->threads[0].times.ns[LULL_IO][0] = 70000000;
    run->threads[1].times.ns[LULL_MPI_IO][0] = 30000000;
    run->threads[1].times.ns[LULL_FLUSH][0] = 40000000;
    assert_int_equal(ask(&run->breakdown, &findings), 2);
    is(&findings[0], "io", 100000000);
    assert_null(findings[0].next); /* which files these were is not known */
    is(&findings[1], "tracer", 40000000);
}

/* Two threads of a second. The kernel worked 300 and 500 ms for them, of which 200 ms or more were
 * outside of recorded calls: a tenth of the core time. Of a third thread nothing is known. */
static void kernel_time(void **state)
{
    (void)state;
    static const char *const regions[] = {"main", NULL};
    static const struct {
        uint64_t outside_ns[2];
        int64_t useful_ns, runtime_ns;
        uint64_t faults;
        int64_t expected_ns; /* 0: no finding */
        const char *cause;
    } runs[] = {
        {{50000000, 150000000},
         SECOND,
         SECOND,
         100000,
         200000000,
         "100003 page faults, 50002 a second and"},
        {{50000000, 150000000},
         SECOND,
         SECOND,
         97,
         200000000,
         "100 page faults are too few for it"},
        {{50000000, 49000000}, SECOND, SECOND, 100000, 0, NULL}, /* below 5 % */
        /* No more than there is useful time in all. */
        {{50000000, 150000000}, 60000000, SECOND, 100000, 120000000, "100003 page faults"},
        /* Half of the run is looked at. */
        {{50000000, 150000000}, SECOND, SECOND / 2, 100000, 100000000, "100003 page faults"},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct run *run = make_run(2);
        struct lull_trace *trace = memory_trace_simple(1, 3, SECOND, regions);
        struct lull_finding *finding;
        for (uint32_t t = 0; t < 2; t++) {
            run->threads[t].times.ns[LULL_USEFUL][1] = runs[i].useful_ns;
            trace->locations[t].usage = (struct lull_usage){.user = 500000000,
                                                            .system = 300000000 + 200000000 * t,
                                                            .outside = runs[i].outside_ns[t],
                                                            .minor = t * runs[i].faults,
                                                            .major = 3 * t};
        }
        run->breakdown.runtime_ns = runs[i].runtime_ns;
        run->breakdown.parallels = NULL;
        run->breakdown.n_parallels = 0;
        const struct lull_reading reading = {.application = LULL_NONE};
        const struct lull_evidence evidence = {
            .path = "run", .breakdown = &run->breakdown, .trace = trace, .reading = &reading};
        assert_int_equal(lull_diagnose(&evidence, arena, &finding), runs[i].expected_ns > 0);
        if (runs[i].expected_ns > 0) {
            is(finding, "kernel_time", runs[i].expected_ns);
            assert_true(fact(finding, "system") == 800e6 && fact(finding, "threads") == 2);
            assert_non_null(strstr(finding->cause, runs[i].cause));
            assert_non_null(strstr(finding->sentence, trace->locations[1].name));
        }
        lull_trace_close(trace);
    }
}

/* EPOCH's 26.902 s of user time on 8 processes were 21.882 s on one. */
static void computation_scaling(void **state)
{
    (void)state;
    struct run *now = make_run(2), *then = make_run(1);
    struct lull_finding *finding;
    now->breakdown.runtime_ns = then->breakdown.runtime_ns = INT64_C(30000000000);
    now->threads[0].times.ns[LULL_USEFUL][1] = INT64_C(26902000000);
    then->threads[0].times.ns[LULL_USEFUL][1] = INT64_C(21882000000);
    const struct lull_evidence evidence = {.path = "run",
                                           .breakdown = &now->breakdown,
                                           .reference = &then->breakdown,
                                           .reference_name = "one",
                                           .scaling = LULL_SCALING_STRONG};
    assert_int_equal(lull_diagnose(&evidence, arena, &finding), 1);
    is(finding, "computation_scaling", INT64_C(5020000000));
    struct lull_evidence weak = evidence;
    weak.scaling = LULL_SCALING_WEAK; /* twice the work may take twice the time */
    assert_int_equal(lull_diagnose(&weak, arena, &finding), 0);
}

/* ---- memory -------------------------------------------------------------------------------- */

/* Memory of 2 and of 8 cores: 20 and 32 GB/s; so of 4 on the line between them 24, and of 16 no
 * more than of 8. */
static void memory_of_a_core(void **state)
{
    static const struct lull_memory_point points[] = {{2, 20e9}, {8, 32e9}};
    const struct lull_memory_curve curve = {points, 2}, none = {points, 0};
    (void)state;
    assert_true(fabs(lull_memory_of_core(&curve, 2) - 10e9) < 1);
    assert_true(fabs(lull_memory_of_core(&curve, 4) - 6e9) < 1);
    assert_true(fabs(lull_memory_of_core(&curve, 8) - 4e9) < 1);
    assert_true(fabs(lull_memory_of_core(&curve, 16) - 2e9) < 1);
    assert_true(isnan(lull_memory_of_core(&curve, 1)));
    assert_true(isnan(lull_memory_of_core(&none, 2)));
}

/* Four cores of a node instead of one; the machine file says that each then has half the bandwidth
 * of one alone. */
static uint32_t of_memory(double ipc, const struct lull_memory_curve *curve, uint32_t node,
                          struct lull_finding **ret_findings)
{
    struct run *now = make_run(4), *then = make_run(1);
    struct lull_metric_value *values =
        lull_arena_zero(arena, (size_t)lull_metric_count, sizeof *values);
    for (int m = 0; m < (int)lull_metric_count; m++)
        values[m].absent = "not asked";
    values[lull_metric_find("ipc_scaling")] = (struct lull_metric_value){.value = ipc};
    now->process.node = then->process.node = node;
    now->threads[0].times.ns[LULL_USEFUL][1] = 4 * (int64_t)SECOND;
    then->threads[0].times.ns[LULL_USEFUL][1] = 4 * (int64_t)SECOND;
    now->breakdown.parallels = NULL;
    now->breakdown.n_parallels = 0;
    const struct lull_evidence evidence = {.path = "run",
                                           .breakdown = &now->breakdown,
                                           .reference = &then->breakdown,
                                           .reference_name = "one",
                                           .scaling = LULL_SCALING_STRONG,
                                           .memory = curve,
                                           .values = values};
    return lull_diagnose(&evidence, arena, ret_findings);
}

static void memory_bandwidth(void **state)
{
    static const struct lull_memory_point saturated[] = {{1, 10e9}, {4, 20e9}};
    static const struct lull_memory_point enough[] = {{1, 10e9}, {4, 40e9}};
    const struct lull_memory_curve curve = {saturated, 2}, fast = {enough, 2};
    struct lull_finding *finding;
    (void)state;
    assert_int_equal(of_memory(0.75, &curve, 0, &finding), 1);
    is(finding, "memory_bandwidth", SECOND);
    assert_int_equal(finding->bound_ns, SECOND / 4);
    assert_true(fact(finding, "bandwidth") == 0.5 && fact(finding, "cores") == 4);
    assert_int_equal(of_memory(0.97, &curve, 0, &finding), 0); /* IPC is as before */
    assert_int_equal(of_memory(0.4, &curve, 0, &finding), 0);  /* it falls by more than memory */
    assert_int_equal(of_memory(0.75, &fast, 0, &finding), 0);  /* which has enough for four */
    assert_int_equal(of_memory(0.75, NULL, 0, &finding), 0);   /* or is not known */
    assert_int_equal(of_memory(NAN, &curve, 0, &finding), 0);  /* nor are instructions */
    assert_int_equal(of_memory(0.75, &curve, LULL_NONE, &finding), 0); /* nor nodes */
}

/* ---- speed --------------------------------------------------------------------------------- */

/* One process of four computes 120 ms, those elsewhere 90, 100 and 130 ms. */
static void useful_time_beside_others(void **state)
{
    enum { PROCESSES = 4 };
    static const int64_t useful[PROCESSES] = {120000000, 90000000, 100000000, 130000000};
    struct lull_process_breakdown processes[PROCESSES] = {{0}};
    struct lull_thread_breakdown threads[PROCESSES] = {{0}};
    const struct lull_breakdown breakdown = {.processes = processes,
                                             .n_processes = PROCESSES,
                                             .threads = threads,
                                             .n_threads = PROCESSES};
    const struct lull_evidence evidence = {.path = "run", .breakdown = &breakdown};
    (void)state;
    for (uint32_t p = 0; p < PROCESSES; p++) {
        processes[p] = (struct lull_process_breakdown){.rank = p, .node = p, .first_thread = p};
        threads[p].times.ns[LULL_USEFUL][0] = useful[p];
    }
    assert_true(fabs(lull_evidence_speed(&evidence, LULL_NONE, 0).useful - 1.2) < 1e-9);
    processes[3].node = 0; /* (120 + 130) / 2 beside (90 + 100) / 2 */
    assert_true(fabs(lull_evidence_speed(&evidence, LULL_NONE, 0).useful - 125 / 95.0) < 1e-9);
}

TEST_GROUP(test_sum_rules)
{
    const struct CMUnitTest tests[] = {
        ARENA_TEST(serial_part),
        ARENA_TEST(uneven_threads),
        ARENA_TEST(late_thread),
        ARENA_TEST(locks),
        ARENA_TEST(scheduling),
        ARENA_TEST(fork_of_short_regions),
        ARENA_TEST(one_thread_alone),
        ARENA_TEST(one_thread_alone_without_free_cores),
        ARENA_TEST(network_costs),
        ARENA_TEST(network_costs_at_a_place),
        ARENA_TEST(network_beside_threads_without_a_core),
        ARENA_TEST(network_costs_too_little),
        ARENA_TEST(files_and_tracer),
        ARENA_TEST(kernel_time),
        ARENA_TEST(computation_scaling),
        ARENA_TEST(memory_of_a_core),
        ARENA_TEST(memory_bandwidth),
        ARENA_TEST(useful_time_beside_others),
    };
    return run_cases(tests, NULL, NULL);
}
