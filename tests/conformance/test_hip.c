/* A public trace of HIP on two GPUs of one process (Score-P on an MI300A: sample-traces/simple-mi300-example-run of
 * github.com/hpc-ai-adv-dev/fastotf2) beside a calculation by hand, which docs/metrics.md shows: times are ticks that otf2-print prints. */
#include "metrics/breakdown.h"
#include "metrics/pop.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { METRICS = 128, SKIPPED = 77, GPUS = 2 };

static const double ticks_per_second = 3699958577;
static const double length = 26664065725; /* of the run */
/* Between ENTER and LEAVE of the kernels, which each have a GPU of their own. */
static const double kernels[GPUS] = {6127403889281692 - 6127386368557734,
                                     6127411447497340 - 6127405422733255};
/* In regions of the thread whose names begin with hip or __hip, none of which is inside another one. */
static const double in_runtime = 26600433347;

static const char *path;

static void check_row(const struct lull_metric_value *values, const char *id, double wanted)
{
    const struct lull_metric_value *value = &values[lull_metric_find(id)];
    fail_if(value->absent, "%s: %s", id, value->absent);
    fail_if(!(fabs(value->value - wanted) < 1e-8), "%s: %.9f, by hand %.9f", id, value->value,
            wanted);
}

static void test_rows_by_hand(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    const struct lull_breakdown_options options = {.regions = false};
    const double sum = kernels[0] + kernels[1];
    struct lull_metric_value values[METRICS];
    struct lull_pop_input *input = NULL;
    struct lull_breakdown *breakdown = NULL;
    struct lull_trace *trace = NULL;
    struct lull_error err = {""};
    fail_if(lull_trace_open(path, &trace, &err) != LULL_OK ||
                lull_breakdown_compute(trace, &options, arena, &breakdown, &err) != LULL_OK ||
                lull_pop_from_breakdown(breakdown, false, arena, &input, &err) != LULL_OK ||
                lull_pop_compute(input, NULL, LULL_SCALING_STRONG, values, &err) != LULL_OK,
            "%s", err.text);
    assert_int_equal(breakdown->n_processes, 1);
    assert_int_equal(breakdown->n_devices, GPUS);
    for (int d = 0; d < GPUS; d++) { /* each border is rounded to a nanosecond */
        const double ns = 1e9 * kernels[d] / ticks_per_second;
        assert_true(fabs((double)breakdown->devices[d].kernel_ns - ns) <= 1);
        assert_int_equal(breakdown->devices[d].busy_ns, breakdown->devices[d].kernel_ns);
    }
    check_row(values, "device_parallel_efficiency", sum / GPUS / length);
    check_row(values, "device_load_balance", sum / GPUS / kernels[0]);
    check_row(values, "device_transfer", 1);
    check_row(values, "device_orchestration", kernels[0] / length);
    check_row(values, "host_offload_efficiency", 1 - in_runtime / length);
    lull_trace_close(trace);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_hip)
{
    static char found[4096];
    struct stat info;
    const char *folder = getenv("LULL_CONFORMANCE_DIR");
    snprintf(found, sizeof found, "%s/simple-mi300-example-run/traces.otf2",
             folder && *folder ? folder : "../../shared/traces");
    if (stat(found, &info) != 0) {
        printf("skipped: there is no trace of HIP, '%s'\n", found);
        return SKIPPED;
    }
    path = found;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_by_hand)};
    return run_cases(tests, NULL, NULL);
}
