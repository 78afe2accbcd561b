/* The metrics of runs with devices, worked out by hand. */
#include "metrics/pop.h"
#include "support/test.h"

#include <math.h>

enum { METRICS = 128 };

/* Two ranks of one thread each, 10 s. Rank 0 is in user code for 6 s and launches for 1 s, rank 1 for
 * 3 s and 2 s: outside MPI they are 7 s and 5 s, 6 s on average. Two streams compute for 5 s and 3 s
 * and are busy for 8 s at most. */
static void test_device_tree(void **state)
{
    (void)state;
    static const struct lull_pop_process processes[] = {
        {.threads = 1, .serial_useful = 6, .other = 1, .device = 1, .useful = 6, .max_useful = 6},
        {.threads = 1, .serial_useful = 3, .other = 2, .device = 2, .useful = 3, .max_useful = 3},
    };
    const struct lull_pop_input input = {
        .runtime = 10,
        .ideal_runtime = NAN,
        .n_processes = 2,
        .processes = processes,
        .instructions = NAN,
        .cycles = NAN,
        .n_devices = 2,
        .device_useful = 8,
        .device_max_useful = 5,
        .device_max_busy = 8,
    };
    static const struct {
        const char *id;
        double value;
    } wanted[] = {
        {"device_parallel_efficiency", 4.0 / 10},
        {"device_load_balance", 4.0 / 5},
        {"device_transfer", 5.0 / 8},
        {"device_orchestration", 8.0 / 10},
        {"device_mpi_parallel_efficiency", 6.0 / 10},
        /* all that is outside MPI here is user code or the device's runtime */
        {"device_outside_runtimes", 1},
        {"device_remaining_efficiency", 4.0 / 6},
        {"all_parallel_efficiency", (6 + 3 + 8) / 4.0 / 10},
        {"all_load_balance", 17 / 4.0 / 6},
    };
    struct lull_metric_value values[METRICS];
    struct lull_error err;
    fail_if(lull_pop_compute(&input, NULL, LULL_SCALING_STRONG, values, &err) != LULL_OK, "%s",
            err.text);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const struct lull_metric_value *value = &values[lull_metric_find(wanted[i].id)];
        assert_null(value->absent);
        fail_if(fabs(value->value - wanted[i].value) > 1e-12, "%s: %.17g, expected %.17g",
                wanted[i].id, value->value, wanted[i].value);
    }
}

TEST_GROUP(test_pop_devices)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_device_tree)};
    return run_cases(tests, NULL, NULL);
}
