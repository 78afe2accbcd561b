/* The POP metrics: faults of the input, what is absent and why, a published table, guesses. */
#include "base/file.h"
#include "metrics/breakdown.h"
#include "metrics/pop.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METRICS = 128 };

/* Two ranks, one of them with two threads; no OpenMP on the other. */
static const struct lull_pop_process two[] = {
    {.threads = 1, .serial_useful = 6, .other = 1, .useful = 6, .max_useful = 6},
    {.threads = 2,
     .serial_useful = 2,
     .parallel = 5,
     .useful = 10,
     .max_useful = 6,
     .parallel_useful = 8},
};

static struct lull_pop_input good(void)
{
    return (struct lull_pop_input){
        .runtime = 10,
        .ideal_runtime = NAN,
        .n_processes = 2,
        .processes = two,
        .instructions = NAN,
        .cycles = NAN,
    };
}

static void check_fault(const struct lull_pop_input *input, const char *words)
{
    struct lull_metric_value values[METRICS];
    struct lull_error err = {""};
    assert_int_equal(lull_pop_compute(input, NULL, LULL_SCALING_STRONG, values, &err),
                     LULL_ERR_RANGE);
    fail_if(!strstr(err.text, words), "'%s' is not in '%s'", words, err.text);
}

static void test_faults(void **state)
{
    (void)state;
    struct lull_pop_input input = good();
    struct lull_pop_process process = two[0];
    input.runtime = 0;
    check_fault(&input, "the runtime is 0 s");
    input.runtime = NAN;
    check_fault(&input, "the runtime is");
    input = good();
    input.ideal_runtime = 6.9; /* a process is outside MPI for 7 s */
    check_fault(&input, "is below the 7 s that a process spends outside MPI");
    input.ideal_runtime = 10.1;
    check_fault(&input, "is above the measured 10 s");
    input = good();
    input.n_processes = 0;
    check_fault(&input, "no process");
    input.n_processes = 1;
    input.processes = &process;
    process.other = -1;
    check_fault(&input, "a time of -1 s");
    process = two[0];
    process.serial_useful = 9.5;
    check_fault(&input, "exceed the runtime");
    process = two[0];
    process.threads = 0;
    check_fault(&input, "has no threads");
    process = two[0];
    process.useful = 7;
    check_fault(&input, "no thread has more than 6 s");
    input = good();
    input.n_devices = 1;
    input.device_useful = 5;
    input.device_max_useful = 4;
    check_fault(&input, "devices contradict each other");
}

static void check_absent(const struct lull_metric_value *values, const char *id, const char *why)
{
    const struct lull_metric_value *value = &values[lull_metric_find(id)];
    assert_non_null(value->absent);
    assert_string_equal(value->absent, why);
}

static void test_absent(void **state)
{
    (void)state;
    struct lull_pop_input input = good(), reference = good();
    struct lull_metric_value values[METRICS];
    assert_int_equal(lull_pop_compute(&input, NULL, LULL_SCALING_STRONG, values, NULL), LULL_OK);
    check_absent(values, "speedup", "single run: nothing to compare with");
    check_absent(values, "global_efficiency", "single run: nothing to compare with");
    check_absent(values, "frequency_scaling", "single run: nothing to compare with");
    check_absent(values, "process_transfer", "needs a replay on an ideal network");
    check_absent(values, "mpi_serialisation", "needs a replay on an ideal network");
    check_absent(values, "mpi_only_load_balance", "the run uses threads, OpenMP or devices");
    check_absent(values, "device_parallel_efficiency", "no devices");
    input.instructions = 1e9;
    assert_int_equal(lull_pop_compute(&input, &reference, LULL_SCALING_STRONG, values, NULL),
                     LULL_OK);
    check_absent(values, "instruction_scaling", "the reference has no instruction counter");
    check_absent(values, "frequency_scaling", "no cycle counter");
    assert_null(values[lull_metric_find("computation_scaling")].absent);
}

/* A run in which nothing useful happens has efficiencies of 0, but no ratios of zeros. */
static void test_nothing_useful(void **state)
{
    (void)state;
    const struct lull_pop_process idle[] = {{.threads = 1}, {.threads = 2}};
    struct lull_pop_input input = good();
    struct lull_metric_value values[METRICS];
    input.processes = idle;
    assert_int_equal(lull_pop_compute(&input, &input, LULL_SCALING_STRONG, values, NULL), LULL_OK);
    for (int i = 0; i < lull_metric_count; i++)
        assert_true(values[i].absent || isfinite(values[i].value));
    assert_true(values[lull_metric_find("parallel_efficiency")].value == 0.0);
    check_absent(values, "load_balance", "no useful time");
    check_absent(values, "mpi_load_balance", "no time outside MPI");
    check_absent(values, "computation_scaling", "no useful time");
}

/* Worked by hand: T = 10, N = 3; W = 7 and 7, O = 6 and 7. */
static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        double value;
    } wanted[] = {
        {"parallel_efficiency", 16.0 / 30},
        {"process_efficiency", 0.7},
        {"process_load_balance", 1.0},
        {"process_communication", 0.7},
        {"outside_runtimes", 1 - 1.0 / 30},
        {"thread_efficiency", 1 - 4.0 / 30},        /* avg O = 20/3, avg U = 16/3 */
        {"openmp_region_efficiency", 1 - 2.0 / 30}, /* 2 (5 - 4) / 3 */
        {"serial_region_efficiency", 1 - 2.0 / 30}, /* 2 x 2 (1 - 1/2) / 3 */
        {"load_balance", 16.0 / 18},
        {"communication_efficiency", 0.6},
        {"mpi_parallel_efficiency", 0.7},
        {"outside_runtimes_ratio", 20.0 / 21},
        {"openmp_parallel_efficiency", 16.0 / 20},
        {"nag_region_efficiency", 18.0 / 20}, /* (8 + 6 + 2 x 2) / 20 */
        {"nag_serial_efficiency", 16.0 / 18},
    };
    struct lull_pop_input input = good();
    struct lull_metric_value values[METRICS];
    assert_int_equal(lull_pop_compute(&input, NULL, LULL_SCALING_STRONG, values, NULL), LULL_OK);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        double got = values[lull_metric_find(wanted[i].id)].value;
        fail_if(fabs(got - wanted[i].value) > 1e-15, "%s: %.17g, expected %.17g", wanted[i].id, got,
                wanted[i].value);
    }
}

/* ---- the table of nine runs published with the additive scheme, rounded to two digits -------- */

enum { RUNS = 9 };
static const struct {
    const char *id;
    double values[RUNS];
} published[] = {
    {"speedup", {1.00, 0.77, 0.60, 0.84, 0.80, 0.74, 0.73, 0.94, 0.94}},
    {"global_efficiency", {0.50, 0.39, 0.30, 0.21, 0.20, 0.19, 0.09, 0.12, 0.12}},
    {"parallel_efficiency", {0.50, 0.32, 0.22, 0.24, 0.18, 0.13, 0.13, 0.12, 0.09}},
    {"process_efficiency", {0.51, 0.42, 0.57, 0.24, 0.24, 0.33, 0.13, 0.17, 0.22}},
    {"process_load_balance", {0.97, 0.98, 0.99, 0.98, 0.99, 0.99, 0.99, 0.99, 0.99}},
    {"process_communication", {0.54, 0.44, 0.58, 0.26, 0.26, 0.35, 0.13, 0.18, 0.24}},
    {"process_transfer", {0.55, 0.45, 0.59, 0.29, 0.27, 0.36, 0.16, 0.20, 0.25}},
    {"process_serialisation", {0.98, 0.99, 0.99, 0.97, 0.98, 0.99, 0.97, 0.98, 0.99}},
    {"thread_efficiency", {1.00, 0.90, 0.65, 1.00, 0.93, 0.80, 1.00, 0.95, 0.86}},
    {"openmp_region_efficiency", {1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00}},
    {"serial_region_efficiency", {1.00, 0.90, 0.65, 1.00, 0.94, 0.80, 1.00, 0.95, 0.86}},
    {"computation_scaling", {1.00, 1.22, 1.37, 0.88, 1.12, 1.39, 0.73, 0.98, 1.36}},
    {"instruction_scaling", {1.00, 1.04, 1.05, 0.91, 1.00, 1.04, 0.75, 0.91, 1.02}},
    {"ipc_scaling", {1.00, 1.16, 1.29, 0.98, 1.11, 1.32, 0.99, 1.07, 1.33}},
    {"frequency_scaling", {1.00, 1.02, 1.01, 0.99, 1.02, 1.01, 0.98, 1.00, 1.01}},
};

static const double *published_row(int metric)
{
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        if (strcmp(lull_metric_defs[metric].id, published[i].id) == 0)
            return published[i].values;
    }
    return NULL;
}

/* Our tree, taken as data, joins their children to their parents within the rounding of each. */
static void test_published_table(void **state)
{
    (void)state;
    static const double half = 0.005 + 1e-12;
    int checked = 0;
    for (int parent = 0; parent < lull_metric_count; parent++) {
        for (int run = 0; run < RUNS; run++) {
            double sum = 0, low = 1, high = 1;
            int n = 0, combine = LULL_COMBINE_NONE;
            for (int i = 0; i < lull_metric_count; i++) {
                const struct lull_metric_def *def = &lull_metric_defs[i];
                if (def->parent != parent || !published_row(i) || !published_row(parent))
                    continue;
                double value = published_row(i)[run];
                combine = def->combine;
                sum += 1 - value;
                low *= value - half;
                high *= value + half;
                n++;
            }
            if (n < 2)
                continue;
            double want = published_row(parent)[run];
            checked++;
            if (combine == LULL_COMBINE_SUM)
                assert_true(fabs(1 - sum - want) <= (n + 1) * half);
            else
                assert_true(low - half <= want && want <= high + half);
        }
    }
    /* global, parallel, process, communication, thread, computation */
    assert_int_equal(checked, 6 * RUNS);
}

/* The values are computed from times that make the table's leaves, and come out as its parents. */
static void test_recomputed_table(void **state)
{
    (void)state;
    static const uint32_t threads[RUNS] = {1, 2, 8, 1, 2, 8, 1, 2, 8};
    for (int run = 0; run < RUNS; run++) {
        double max = published_row(lull_metric_find("process_communication"))[run];
        double balance = published_row(lull_metric_find("process_load_balance"))[run];
        double serial = published_row(lull_metric_find("serial_region_efficiency"))[run];
        double transfer = published_row(lull_metric_find("process_transfer"))[run];
        double t = threads[run], mean = max - (1 - balance);
        /* Two processes around the mean; the serial part loses (1 - 1/t) of its time. */
        double su = t > 1 ? (1 - serial) / (1 - 1 / t) : 0.5 * mean;
        double outside[] = {max, 2 * mean - max};
        struct lull_pop_process processes[2];
        for (int p = 0; p < 2; p++) {
            double omp = t > 1 ? outside[p] - su : 0, alone = outside[p] - omp;
            processes[p] = (struct lull_pop_process){
                .threads = threads[run],
                .serial_useful = alone,
                .parallel = omp,
                .useful = alone + t * omp,
                .max_useful = alone + omp,
                .parallel_useful = t * omp,
            };
        }
        const struct lull_pop_input input = {
            .runtime = 1,
            .ideal_runtime = transfer,
            .n_processes = 2,
            .processes = processes,
            .instructions = NAN,
            .cycles = NAN,
        };
        struct lull_metric_value values[METRICS];
        struct lull_error err = {""};
        lull_status status = lull_pop_compute(&input, NULL, LULL_SCALING_STRONG, values, &err);
        assert_string_equal(err.text, "");
        assert_int_equal(status, LULL_OK);
        static const char *const parents[] = {"process_efficiency", "process_serialisation",
                                              "thread_efficiency", "parallel_efficiency"};
        for (int i = 0; i < 4; i++) {
            int metric = lull_metric_find(parents[i]);
            assert_true(fabs(values[metric].value - published_row(metric)[run]) <= 0.0201);
        }
    }
}

/* ---- from a breakdown ---------------------------------------------------------------------- */

static struct lull_breakdown *hybrid(struct lull_arena *arena)
{
    struct lull_breakdown *made = lull_arena_zero(arena, 1, sizeof *made);
    made->run = "run";
    made->runtime_ns = made->duration_ns = 100;
    made->n_processes = 1;
    made->processes = lull_arena_zero(arena, 1, sizeof *made->processes);
    made->processes[0] =
        (struct lull_process_breakdown){.n_threads = 3, .n_cpu_threads = 2, .window_ns = 100};
    made->n_threads = 3;
    made->threads = lull_arena_zero(arena, 3, sizeof *made->threads);
    made->threads[0].master = true;
    made->threads[0].times.ns[LULL_USEFUL][0] = 30;
    made->threads[0].times.ns[LULL_DEVICE][0] = 5;
    made->threads[0].times.ns[LULL_IO][0] = 4;
    made->threads[0].times.ns[LULL_FLUSH][0] = 1;
    made->threads[0].times.ns[LULL_MPI_COLLECTIVE][0] = 10;
    made->threads[0].times.ns[LULL_USEFUL][1] = 40;
    made->threads[0].times.ns[LULL_MPI_P2P][1] = 10;
    made->threads[1].number = 1;
    made->threads[1].times.ns[LULL_USEFUL][1] = 20;
    made->threads[1].times.ns[LULL_IDLE][0] = 80;
    made->threads[2].kind = LULL_LOCATION_DEVICE;
    made->threads[2].times.ns[LULL_USEFUL][0] = 60;
    made->threads[2].times.ns[LULL_DEVICE][0] = 10;
    made->threads[2].times.ns[LULL_IDLE][0] = 30;
    made->n_devices = 1;
    made->devices = lull_arena_zero(arena, 1, sizeof *made->devices);
    made->devices[0] = (struct lull_device_breakdown){.id = "rank 0 stream 0",
                                                      .name = "",
                                                      .n_streams = 1,
                                                      .n_processes = 1,
                                                      .kernel_ns = 60,
                                                      .busy_ns = 70};
    made->n_parallels = 1;
    made->parallels = lull_arena_zero(arena, 1, sizeof *made->parallels);
    made->parallels[0] = (struct lull_parallel_breakdown){.name = "loop",
                                                          .executions = 1,
                                                          .duration_ns = 50,
                                                          .useful_ns = 60,
                                                          .max_useful_ns = 40,
                                                          .mpi_ns = 10};
    return made;
}

static void check_ns(double seconds, double ns)
{
    assert_true(fabs(seconds - 1e-9 * ns) < 1e-18);
}

static void test_from_breakdown(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_breakdown *breakdown = hybrid(arena);
    struct lull_pop_input *input = NULL;
    assert_int_equal(lull_pop_from_breakdown(breakdown, false, arena, &input, NULL), LULL_OK);
    const struct lull_pop_process *process = input->processes;
    check_ns(process->serial_useful, 30);
    check_ns(process->parallel, 50);
    check_ns(process->other, 10);
    check_ns(process->device, 5);
    check_ns(process->useful, 90);
    check_ns(process->max_useful, 70);
    check_ns(process->parallel_useful, 60);
    check_ns(input->device_useful, 60);
    check_ns(input->device_max_busy, 70);
    check_ns(input->causes.imbalance, 10); /* 40 - 60/2 */
    check_ns(input->causes.mpi, 5);
    assert_true(fabs(input->flush_share - 0.01) < 1e-12);
    assert_true(isnan(input->instructions) && isnan(input->ideal_runtime));

    struct lull_pop_parallel *parallels = NULL;
    assert_int_equal(lull_pop_parallels(breakdown, arena, &parallels), 1);
    assert_true(fabs(parallels[0].loss - 0.20) < 1e-12); /* 50 - 60/2 of 100 */
    assert_true(fabs(parallels[0].rest - 0.05) < 1e-12);
    lull_arena_destroy(arena);
}

/* A breakdown of one process whose threads have the times given, over 100 ns. */
static struct lull_pop_input *input_of(struct lull_breakdown *breakdown, struct lull_arena *arena)
{
    struct lull_pop_input *input = NULL;
    struct lull_error err = {""};
    for (uint32_t t = 0; t < breakdown->n_threads; t++) {
        int64_t left = 100 - lull_thread_window(&breakdown->threads[t]);
        breakdown->threads[t].times.ns[LULL_IDLE][0] += left;
    }
    assert_int_equal(lull_breakdown_join(breakdown, NULL, arena, breakdown, &err), LULL_OK);
    assert_int_equal(lull_pop_from_breakdown(breakdown, false, arena, &input, &err), LULL_OK);
    return input;
}

static struct lull_breakdown *one_process(uint32_t threads, struct lull_arena *arena)
{
    struct lull_breakdown *made = lull_arena_zero(arena, 1, sizeof *made);
    made->run = "run";
    made->duration_ns = 100;
    made->n_processes = 1;
    made->processes = lull_arena_zero(arena, 1, sizeof *made->processes);
    made->processes[0].name = "";
    made->processes[0].node = LULL_NONE;
    made->n_threads = threads;
    made->threads = lull_arena_zero(arena, threads, sizeof *made->threads);
    for (uint32_t t = 0; t < threads; t++)
        made->threads[t].number = t;
    made->threads[0].master = true;
    return made;
}

static double metric(const struct lull_pop_input *input, const char *id)
{
    struct lull_metric_value values[METRICS];
    struct lull_error err = {""};
    lull_status status = lull_pop_compute(input, NULL, LULL_SCALING_STRONG, values, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, LULL_OK);
    assert_null(values[lull_metric_find(id)].absent);
    return values[lull_metric_find(id)].value;
}

static void check_metric(const struct lull_pop_input *input, const char *id, double wanted)
{
    fail_if(fabs(metric(input, id) - wanted) > 1e-12, "%s: %g, expected %g", id, metric(input, id),
            wanted);
}

/* The first thread waits all the time, as in runtimes of tasks; the others compute for 80 and 40
 * of 100. The busiest leads: nothing is lost outside of the threads but the 20 that it waits. */
static void test_first_thread_does_nothing(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_breakdown *breakdown = one_process(3, arena);
    breakdown->threads[1].times.ns[LULL_USEFUL][0] = 80;
    breakdown->threads[2].times.ns[LULL_USEFUL][0] = 40;
    const struct lull_pop_input *input = input_of(breakdown, arena);
    check_metric(input, "parallel_efficiency", 0.4);
    check_metric(input, "thread_efficiency", 0.6);
    check_metric(input, "serial_region_efficiency", 0.6);
    check_metric(input, "openmp_region_efficiency", 1.0);
    check_metric(input, "outside_runtimes", 0.8);
    check_metric(input, "process_efficiency", 1.0);
    check_metric(input, "openmp_communication", 1.0);
    lull_arena_destroy(arena);
}

/* The master communicates for 90 of 100 while a thread of the program computes for 60. */
static void test_first_thread_communicates(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_breakdown *breakdown = one_process(2, arena);
    breakdown->threads[0].times.ns[LULL_USEFUL][0] = 10;
    breakdown->threads[0].times.ns[LULL_MPI_P2P][0] = 90;
    breakdown->threads[1].times.ns[LULL_USEFUL][0] = 60;
    const struct lull_pop_input *input = input_of(breakdown, arena);
    check_metric(input, "parallel_efficiency", 0.35);
    check_metric(input, "process_efficiency", 0.6);
    check_metric(input, "thread_efficiency", 0.75);
    lull_arena_destroy(arena);
}

/* Another thread than the first opens the parallel regions, while the first computes alone. */
static void test_another_opens_regions(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_breakdown *breakdown = one_process(4, arena);
    breakdown->threads[0].times.ns[LULL_USEFUL][0] = 100;
    for (int t = 1; t < 4; t++)
        breakdown->threads[t].times.ns[LULL_USEFUL][1] = 80;
    const struct lull_pop_input *input = input_of(breakdown, arena);
    check_metric(input, "openmp_region_efficiency", 1.0);
    check_metric(input, "serial_region_efficiency", 0.85);
    check_metric(input, "thread_efficiency", 0.85);
    lull_arena_destroy(arena);
}

/* One thread per process, and one process reads a file meanwhile: nothing of that is OpenMP. */
static void test_no_openmp(void **state)
{
    (void)state;
    struct lull_pop_process processes[] = {
        {.threads = 1, .serial_useful = 8, .useful = 8, .max_useful = 8},
        {.threads = 1, .serial_useful = 4, .other = 6, .useful = 4, .max_useful = 4},
    };
    struct lull_pop_input input = good();
    input.processes = processes;
    check_metric(&input, "openmp_parallel_efficiency", 1.0);
    check_metric(&input, "openmp_load_balance", 1.0);
    check_metric(&input, "openmp_communication", 1.0);
    check_metric(&input, "outside_runtimes_ratio", 12.0 / 18.0);
}

/* The master is paused for 70 of 100 while a thread computes for 90: the run lasts 90. */
static void test_a_thread_goes_on_in_a_pause(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_breakdown *breakdown = one_process(2, arena);
    breakdown->threads[0].disabled_ns = 70;
    breakdown->threads[0].times.ns[LULL_USEFUL][0] = 30;
    breakdown->threads[1].times.ns[LULL_USEFUL][0] = 90;
    const struct lull_pop_input *input = input_of(breakdown, arena);
    assert_int_equal(breakdown->runtime_ns, 90);
    check_metric(input, "parallel_efficiency", 120.0 / 180.0);
    breakdown = one_process(2, arena); /* a worker that waits is no reason to count the pause */
    breakdown->threads[0].disabled_ns = 70;
    breakdown->threads[0].times.ns[LULL_USEFUL][0] = 30;
    input_of(breakdown, arena);
    assert_int_equal(breakdown->runtime_ns, 30);
    breakdown = one_process(1, arena); /* one of two processes is paused */
    breakdown->n_processes = breakdown->n_threads = 2;
    breakdown->processes = lull_arena_zero(arena, 2, sizeof *breakdown->processes);
    breakdown->threads = lull_arena_zero(arena, 2, sizeof *breakdown->threads);
    for (uint32_t p = 0; p < 2; p++) {
        breakdown->processes[p] =
            (struct lull_process_breakdown){.name = "", .rank = p, .node = LULL_NONE};
        breakdown->threads[p] = (struct lull_thread_breakdown){.process = p, .master = true};
    }
    breakdown->threads[0].disabled_ns = 70;
    breakdown->threads[0].times.ns[LULL_USEFUL][0] = 30;
    breakdown->threads[1].times.ns[LULL_USEFUL][0] = 100;
    input_of(breakdown, arena);
    assert_int_equal(breakdown->runtime_ns, 100);
    lull_arena_destroy(arena);
}

/* A program on a GPU without MPI: what is low is not its communication. */
static void test_device_without_mpi(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_breakdown *breakdown = one_process(2, arena);
    breakdown->threads[0].times.ns[LULL_DEVICE][0] = 99;
    breakdown->threads[0].times.ns[LULL_USEFUL][0] = 1;
    breakdown->threads[1].kind = LULL_LOCATION_DEVICE;
    breakdown->threads[1].times.ns[LULL_USEFUL][0] = 70;
    breakdown->threads[1].times.ns[LULL_DEVICE][0] = 20;
    struct lull_device_breakdown device = {.id = "rank 0 stream 0",
                                           .name = "",
                                           .n_streams = 1,
                                           .n_processes = 1,
                                           .kernel_ns = 70,
                                           .busy_ns = 90,
                                           .copy_ns = 30,
                                           .copy_beside_ns = 10};
    breakdown->devices = &device;
    breakdown->n_devices = 1;
    const struct lull_pop_input *input = input_of(breakdown, arena);
    struct lull_metric_value values[METRICS];
    assert_true(lull_pop_is_hybrid(input));
    assert_int_equal(lull_pop_compute(input, NULL, LULL_SCALING_STRONG, values, NULL), LULL_OK);
    check_absent(values, "mpi_only_serialisation", "the run uses threads, OpenMP or devices");
    check_metric(input, "mpi_serialisation", 1.0);
    check_metric(input, "device_parallel_efficiency", 0.7);
    check_metric(input, "device_orchestration", 0.9);
    check_metric(input, "device_copy_overlap", 1.0 / 3);
    check_absent(values, "device_exchange_overlap", "no exchanges of NCCL");
    check_metric(input, "host_offload_efficiency", 0.01);
    lull_arena_destroy(arena);
}

/* Without MPI the run on an ideal network is the run itself. */
static void test_no_mpi(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_breakdown *breakdown = hybrid(arena);
    struct lull_times *times = &breakdown->threads[0].times;
    times->ns[LULL_USEFUL][0] += times->ns[LULL_MPI_COLLECTIVE][0];
    times->ns[LULL_MPI_COLLECTIVE][0] = 0;
    struct lull_pop_input *input = NULL;
    struct lull_metric_value values[METRICS];
    assert_int_equal(lull_pop_from_breakdown(breakdown, false, arena, &input, NULL), LULL_OK);
    assert_true(isnan(input->ideal_runtime)); /* there is some in a parallel region */
    times->ns[LULL_USEFUL][1] += times->ns[LULL_MPI_P2P][1];
    times->ns[LULL_MPI_P2P][1] = 0;
    assert_int_equal(lull_pop_from_breakdown(breakdown, false, arena, &input, NULL), LULL_OK);
    assert_int_equal(lull_pop_compute(input, NULL, LULL_SCALING_STRONG, values, NULL), LULL_OK);
    static const char *const ones[] = {"process_transfer", "process_serialisation", "mpi_transfer",
                                       "mpi_serialisation", "nag_mpi_serialisation"};
    for (size_t i = 0; i < sizeof ones / sizeof ones[0]; i++) {
        const struct lull_metric_value *value = &values[lull_metric_find(ones[i])];
        assert_null(value->absent);
        assert_true(fabs(value->value - 1.0) < 1e-12);
    }
    lull_arena_destroy(arena);
}

/* A run of that many ns, with a share of it in which a thread's buffer was written. */
static lull_status flush_for(struct lull_breakdown *breakdown, int64_t runtime, int64_t percent,
                             struct lull_arena *arena, struct lull_pop_input **input,
                             struct lull_error *err)
{
    breakdown->runtime_ns = runtime;
    breakdown->threads[1].times.ns[LULL_FLUSH][0] = runtime / 100 * percent;
    return lull_pop_from_breakdown(breakdown, false, arena, input, err);
}

static void test_flushing_is_refused(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_breakdown *breakdown = hybrid(arena);
    struct lull_pop_input *input = NULL;
    struct lull_error err = {""};
    assert_int_equal(flush_for(breakdown, 100000000, 15, arena, &input, &err), LULL_OK);
    assert_true(input->flush_share > LULL_FLUSH_WARNING);
    /* 9 of 30 ms: too short a run for any other judgement than a warning; 12 of 40 are too much. */
    assert_int_equal(flush_for(breakdown, 30000000, 30, arena, &input, &err), LULL_OK);
    assert_true(input->flush_share > LULL_FLUSH_WARNING);
    assert_int_equal(flush_for(breakdown, 40000000, 30, arena, &input, &err), LULL_ERR_RANGE);
    assert_int_equal(flush_for(breakdown, 100000000, 16, arena, &input, &err), LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "run: a thread lost 16.0 %"));
    assert_int_equal(lull_pop_from_breakdown(breakdown, true, arena, &input, &err), LULL_OK);
    breakdown->runtime_ns = 0;
    assert_int_equal(lull_pop_from_breakdown(breakdown, true, arena, &input, &err), LULL_ERR_RANGE);
    lull_arena_destroy(arena);
}

/* ---- weak or strong ------------------------------------------------------------------------ */

static struct lull_scaling_evidence guess(uint32_t units, double useful, double instructions)
{
    const struct lull_pop_process one = {.threads = 1, .useful = 8, .max_useful = 8},
                                  many = {.threads = units, .useful = useful};
    const struct lull_pop_input
        reference = {.runtime = 10, .n_processes = 1, .processes = &one, .instructions = 1e9},
        run = {.runtime = 5, .n_processes = 1, .processes = &many, .instructions = instructions};
    struct lull_scaling_evidence evidence;
    lull_scaling_guess(&run, &reference, &evidence);
    return evidence;
}

static void test_guess(void **state)
{
    (void)state;
    assert_int_equal(guess(4, 9, 1.1e9).guess, LULL_SCALING_STRONG);
    assert_int_equal(guess(4, 33, 3.9e9).guess, LULL_SCALING_WEAK);
    assert_int_equal(guess(4, 9, NAN).guess, LULL_SCALING_STRONG);
    assert_int_equal(guess(4, 33, NAN).guess, LULL_SCALING_WEAK);
    assert_int_equal(guess(1, 8, 1e9).guess, LULL_SCALING_STRONG);
    /* slow memory inflates the useful time, but not the instructions */
    struct lull_scaling_evidence evidence = guess(4, 30, 1.0e9);
    assert_int_equal(evidence.guess, LULL_SCALING_STRONG);
    assert_true(evidence.units == 4 && evidence.runtime == 0.5 && evidence.instructions == 1);
    assert_true(fabs(evidence.mean_useful - 30.0 / 32) < 1e-12);
}

/* Nothing is printed that the manual does not explain. */
static void test_every_metric_is_documented(void **state)
{
    (void)state;
    const char *tests = getenv("LULL_TESTS_DIR");
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_mapping manual;
    struct lull_error err = {""};
    const char *path = lull_arena_printf(arena, "%s/../docs/metrics.md", tests ? tests : ".");
    fail_if(lull_map_file(path, &manual, &err) != LULL_OK, "%s", err.text);
    for (int i = 0; i < lull_metric_count; i++) {
        const char *id = lull_arena_printf(arena, "`%s`", lull_metric_defs[i].id);
        fail_if(!memmem(manual.data, manual.size, id, strlen(id)),
                "docs/metrics.md does not explain %s", id);
    }
    lull_unmap(&manual);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_pop)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_nothing_useful),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_published_table),
        cmocka_unit_test(test_recomputed_table),
        cmocka_unit_test(test_from_breakdown),
        cmocka_unit_test(test_first_thread_does_nothing),
        cmocka_unit_test(test_first_thread_communicates),
        cmocka_unit_test(test_another_opens_regions),
        cmocka_unit_test(test_no_openmp),
        cmocka_unit_test(test_a_thread_goes_on_in_a_pause),
        cmocka_unit_test(test_device_without_mpi),
        cmocka_unit_test(test_no_mpi),
        cmocka_unit_test(test_flushing_is_refused),
        cmocka_unit_test(test_guess),
        cmocka_unit_test(test_every_metric_is_documented),
    };
    return run_cases(tests, NULL, NULL);
}
