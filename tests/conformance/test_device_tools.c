/* The metrics of devices beside those of the tools that they come from: basicanalysis, whose own samples have raw values and
 * what they add up to, and TALP, whose formulas are written down here. Where TALP is wrong, lull says something else. */
#include "metrics/breakdown.h"
#include "metrics/pop.h"
#include "support/folder.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { METRICS = 128, MOST_TEXT = 4096 };

static struct lull_arena *arena;
static char text[MOST_TEXT];

static int set_up(void **state)
{
    (void)state;
    arena = lull_arena_create(NULL);
    folder_make();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove();
    lull_arena_destroy(arena);
    return 0;
}

static struct lull_breakdown *analyse_devices(const char *path)
{
    struct lull_trace *trace = NULL;
    struct lull_breakdown *breakdown = NULL;
    struct lull_error err = {""};
    const struct lull_breakdown_options options = {.regions = false};
    lull_status status = lull_trace_open(path, &trace, &err);
    if (status == LULL_OK)
        status = lull_breakdown_compute(trace, &options, arena, &breakdown, &err);
    lull_trace_close(trace);
    fail_if(status != LULL_OK, "%s", err.text);
    return breakdown;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The efficiencies of devices, as both tools call them. */
struct efficiencies {
    double parallel, balance, communication, orchestration;
};

static struct efficiencies rows_of(const struct lull_breakdown *breakdown)
{
    static const char *const ids[] = {"device_parallel_efficiency", "device_load_balance",
                                      "device_transfer", "device_orchestration"};
    struct lull_metric_value values[METRICS];
    struct lull_pop_input *input = NULL;
    struct lull_error err = {""};
    double found[4];
    fail_if(lull_pop_from_breakdown(breakdown, false, arena, &input, &err) != LULL_OK ||
                lull_pop_compute(input, NULL, LULL_SCALING_STRONG, values, &err) != LULL_OK,
            "%s", err.text);
    for (int i = 0; i < 4; i++) {
        const struct lull_metric_value *value = &values[lull_metric_find(ids[i])];
        fail_if(value->absent, "%s: %s", ids[i], value->absent);
        found[i] = value->value;
    }
    return (struct efficiencies){found[0], found[1], found[2], found[3]};
}

static void check_rows(struct efficiencies got, struct efficiencies want)
{
    const double pairs[][2] = {{got.parallel, want.parallel},
                               {got.balance, want.balance},
                               {got.communication, want.communication},
                               {got.orchestration, want.orchestration}};
    for (int i = 0; i < 4; i++)
        fail_if(!(fabs(pairs[i][0] - pairs[i][1]) < 1e-9), "efficiency %d: %.12f, expected %.12f",
                i, pairs[i][0], pairs[i][1]);
}

/* ---- basicanalysis --------------------------------------------------------------------------- */

/* Its formulas (modelfactors.py, 2026): U of a device is the union of its kernels, M that of its kernels and copies. */
static struct efficiencies basicanalysis(double sum_u, double max_u, double max_m, double n,
                                         double runtime)
{
    return (struct efficiencies){sum_u / (n * runtime), sum_u / n / max_u, max_u / max_m,
                                 max_m / runtime};
}

/* The sample of its tests/test_gpu_device_aggregation.py: kernels from 0 to 100 and from 50 to 150 on two streams of a device, and
 * a copy from 140 to 200. It finds 150 of kernels, and 200 with copies. */
static void test_device_of_two_streams(void **state)
{
    (void)state;
    static const char row[] = "LEVEL NODE SIZE 1\nnode1\n\nLEVEL THREAD SIZE 3\nTHREAD 1.1.1\n"
                              "CUDA-D1.S1-node1\nCUDA-D1.S2-node1\n";
    static const char prv[] = "#Paraver (1/2/26 at 9:5):500_ns:1(3):1:1(3:1)\n"
                              "1:1:1:1:1:0:300:1\n1:2:1:1:2:0:100:1\n1:3:1:1:3:50:150:1\n"
                              "1:2:1:1:2:140:200:17\n1:1:1:1:1:300:400:17\n1:1:1:1:1:400:500:1\n";
    folder_write(folder_path("run.row"), row, strlen(row));
    folder_write(folder_path("run.prv"), prv, strlen(prv));
    const struct lull_breakdown *breakdown = analyse_devices(folder_path("run.prv"));
    assert_int_equal(breakdown->n_devices, 1);
    assert_int_equal(breakdown->devices[0].kernel_ns, 150);
    assert_int_equal(breakdown->devices[0].busy_ns, 200);
    check_rows(rows_of(breakdown), basicanalysis(150, 150, 200, 1, 500));
}

/* The labels of its tests/test_gpu_streams.py: how many devices and streams they are. */
static void test_labels(void **state)
{
    (void)state;
    static const struct {
        const char *tasks, *row; /* of the header; lines of the .row */
        uint32_t devices, streams;
    } cases[] = {
        {"4(2:1,2:1,2:1,2:1)",
         "THREAD 1.1.1\nCUDA-D1.S1-as06r4b08\nTHREAD 1.2.1\nCUDA-D2.S1-as06r4b08\n"
         "THREAD 1.3.1\nCUDA-D3.S1-as06r4b08\nTHREAD 1.4.1\nCUDA-D4.S1-as06r4b08\n",
         4, 4},
        {"2(3:1,3:1)", "THREAD 1.1.1\nGPU-D1.S1\nGPU-D1.S2\nTHREAD 1.2.1\nGPU-D2.S1\nGPU-D2.S2\n",
         2, 4},
        {"2(3:1,2:1)",
         "THREAD 1.1.1\nGPU_a2f80454.1\nGPU_a2f80454.2\nTHREAD 1.2.1\nGPU_b3e91565.1\n", 2, 3},
        {"1(3:1)", "THREAD 1.1.1\nHIP-D1.S1-nid006767\nHIP-D2.S1-nid006767\n", 2, 2},
        /* both ranks use the device of that UUID */
        {"2(2:1,2:1)", "THREAD 1.1.1\nGPU_a2f80454.1\nTHREAD 1.2.1\nGPU_a2f80454.1\n", 1, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t streams = 0, lines = 0;
        for (const char *at = cases[i].row; *at; at++)
            lines += *at == '\n';
        snprintf(text, sizeof text, "LEVEL THREAD SIZE %u\n%s", lines, cases[i].row);
        folder_write(folder_path("run.row"), text, strlen(text));
        snprintf(text, sizeof text, "#Paraver (1/2/26 at 9:5):500_ns:1(%u):1:%s\n", lines,
                 cases[i].tasks);
        folder_write(folder_path("run.prv"), text, strlen(text));
        const struct lull_breakdown *breakdown = analyse_devices(folder_path("run.prv"));
        assert_int_equal(breakdown->n_devices, cases[i].devices);
        for (uint32_t d = 0; d < breakdown->n_devices; d++)
            streams += breakdown->devices[d].n_streams;
        assert_int_equal(streams, cases[i].streams);
    }
}

/* ---- schedules ------------------------------------------------------------------------------- */

/* What a device did, in us. */
struct device_span {
    unsigned device, stream;
    const char *category, *name;
    double begin, end;
};
#define SPAN_KERNEL  "kernel", "smooth"
#define SPAN_COPY    "gpu_memcpy", "Memcpy DtoH (Device -> Pinned)"
#define SPAN_FILL    "gpu_memset", "Memset (Device)"
#define SPAN_MESSAGE "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"

/* A rank whose host computes from 0 to `runtime`, as PyTorch's profiler writes it. */
static void write_rank(unsigned rank, unsigned ranks, double runtime,
                       const struct device_span *spans, size_t n)
{
    char name[32];
    int at = snprintf(text, sizeof text,
                      "{\"distributedInfo\":{\"rank\":%u,\"world_size\":%u},\"traceEvents\":["
                      "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"step\",\"pid\":9,\"tid\":9,"
                      "\"ts\":0,\"dur\":%.3f}",
                      rank, ranks, runtime);
    for (size_t i = 0; i < n; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       ",{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,"
                       "\"ts\":%.3f,\"dur\":%.3f,\"args\":{}}",
                       spans[i].category, spans[i].name, spans[i].device, spans[i].stream,
                       spans[i].begin, spans[i].end - spans[i].begin);
    at += snprintf(text + at, sizeof text - (size_t)at, "]}\n");
    assert_true((size_t)at < sizeof text);
    mkdir(folder_path("run"), 0777);
    snprintf(name, sizeof name, "run/rank%u.json", rank);
    folder_write(folder_path(name), text, (size_t)at);
}

/* The sample of basicanalysis' tests/test_nsys2prv.py: device 0 has two streams, device 1 has one with a kernel of NCCL, which
 * counts as communication. It finds 150 and 40 of kernels, and 210 and 90 with copies, fills and NCCL. */
static void test_two_devices_with_nccl(void **state)
{
    (void)state;
    static const struct device_span spans[] = {
        {0, 7, SPAN_KERNEL, 0, 100},    {0, 13, SPAN_KERNEL, 50, 150}, {1, 7, SPAN_KERNEL, 0, 40},
        {0, 7, SPAN_COPY, 140, 200},    {0, 13, SPAN_FILL, 300, 310},  {1, 7, SPAN_COPY, 100, 120},
        {1, 7, SPAN_MESSAGE, 200, 230},
    };
    static const int64_t kernels[] = {150, 40}, busy[] = {210, 90};
    write_rank(0, 1, 500, spans, sizeof spans / sizeof *spans);
    const struct lull_breakdown *breakdown = analyse_devices(folder_path("run"));
    assert_int_equal(breakdown->n_devices, 2);
    for (int d = 0; d < 2; d++) {
        assert_int_equal(breakdown->devices[d].kernel_ns, 1000 * kernels[d]);
        assert_int_equal(breakdown->devices[d].busy_ns, 1000 * busy[d]);
    }
    check_rows(rows_of(breakdown), basicanalysis(190, 150, 210, 2, 500));
}

/* ---- TALP ------------------------------------------------------------------------------------ */

/* Its formulas (DLB 3.7.0, src/talp/perf_metrics.c): of each process the sums over its GPUs, of kernels and of what copies ran
 * outside of them; maxima are over processes. */
static struct efficiencies talp(const double *kernels, const double *copies, int n_processes,
                                double n_gpus, double runtime)
{
    double sum = 0, most = 0, most_busy = 0;
    for (int p = 0; p < n_processes; p++) {
        sum += kernels[p];
        most = fmax(most, kernels[p]);
        most_busy = fmax(most_busy, kernels[p] + copies[p]);
    }
    return (struct efficiencies){sum / (runtime * n_gpus), sum / (n_gpus * most), most / most_busy,
                                 most_busy / runtime};
}

/* Where each process has a GPU of its own, both say the same. */
static void test_talp_of_a_gpu_each(void **state)
{
    (void)state;
    static const struct device_span spans[2][4] = {
        {{0, 7, SPAN_KERNEL, 0, 400},
         {0, 8, SPAN_KERNEL, 300, 600},
         {0, 9, SPAN_COPY, 500, 800},
         {0, 7, SPAN_FILL, 900, 910}},
        {{0, 7, SPAN_COPY, 0, 50}, {0, 7, SPAN_KERNEL, 50, 350}}};
    write_rank(0, 2, 1000, spans[0], 4);
    write_rank(1, 2, 1000, spans[1], 2);
    check_rows(rows_of(analyse_devices(folder_path("run"))),
               talp((double[]){600, 300}, (double[]){210, 50}, 2, 2, 1000));
}

/* The example of docs/metrics.md: a process keeps two GPUs busy for all of 10 s. */
static void test_talp_of_two_gpus(void **state)
{
    (void)state;
    static const struct device_span spans[] = {{0, 7, SPAN_KERNEL, 0, 1e7},
                                               {1, 7, SPAN_KERNEL, 0, 1e7}};
    write_rank(0, 1, 1e7, spans, 2);
    check_rows(rows_of(analyse_devices(folder_path("run"))), (struct efficiencies){1, 1, 1, 1});
    check_rows(talp((double[]){20}, (double[]){0}, 1, 2, 10),
               (struct efficiencies){1, 0.50, 1, 2.00});
}

/* ---- a public trace -------------------------------------------------------------------------- */

/* The kernels of the trace of docs/metrics.md ("By hand"), in ns: the first GPU is busy for 4.735 s of 7.207 s, and then the second one
 * for 1.628 s. The file itself is read by test_hip. */
static void test_kernels_of_the_public_trace(void **state)
{
    (void)state;
    enum { RUNTIME = 7206584, FIRST = 4735383, SECOND = 1628332 }; /* us */
    static const struct device_span spans[] = {{0, 7, SPAN_KERNEL, 100, 100 + FIRST},
                                               {1, 7, SPAN_KERNEL, 5e6, 5e6 + SECOND}};
    const double sum = (double)FIRST + SECOND;
    write_rank(0, 1, RUNTIME, spans, 2);
    const struct efficiencies rows = rows_of(analyse_devices(folder_path("run")));
    check_rows(rows, (struct efficiencies){sum / 2 / RUNTIME, sum / 2 / FIRST, 1,
                                           (double)FIRST / RUNTIME});
    /* as printed there */
    assert_int_equal(lround(1e3 * rows.parallel), 442);
    assert_int_equal(lround(1e3 * rows.balance), 672);
    assert_int_equal(lround(1e3 * rows.orchestration), 657);
    const struct efficiencies theirs = talp(&sum, (double[]){0}, 1, 2, RUNTIME);
    assert_int_equal(lround(1e3 * theirs.balance), 500);
    assert_int_equal(lround(1e3 * theirs.orchestration), 883);
}

TEST_GROUP(test_device_tools)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_device_of_two_streams), TEST(test_labels),
        TEST(test_two_devices_with_nccl), TEST(test_talp_of_a_gpu_each),
        TEST(test_talp_of_two_gpus),      TEST(test_kernels_of_the_public_trace)};
    return run_cases(tests, NULL, NULL);
}
