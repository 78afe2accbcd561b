/* Real traces against the numbers that their own tools published for them. */
#include "metrics/breakdown.h"
#include "metrics/pop.h"
#include "replay/ideal/ideal.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { METRICS = 128, SKIPPED = 77 };

static const char *folder;

static int set_up(void **state)
{
    *state = lull_arena_create(NULL);
    return 0;
}

static int tear_down(void **state)
{
    lull_arena_destroy(*state);
    return 0;
}

static struct lull_breakdown *analyse(const char *name, struct lull_arena *arena)
{
    struct lull_trace *trace = NULL;
    struct lull_breakdown *breakdown = NULL;
    struct lull_error err = {""};
    const struct lull_breakdown_options options = {.regions = true};
    char *path = lull_arena_printf(arena, "%s/%s", folder, name);
    lull_status status = lull_trace_open(path, &trace, &err);
    if (status == LULL_OK)
        status = lull_breakdown_compute(trace, &options, arena, &breakdown, &err);
    lull_trace_close(trace);
    fail_if(status != LULL_OK, "%s", err.text);
    return breakdown;
}

static struct lull_pop_input *input_of(const struct lull_breakdown *breakdown,
                                       struct lull_arena *arena)
{
    struct lull_pop_input *input = NULL;
    struct lull_error err = {""};
    fail_if(lull_pop_from_breakdown(breakdown, false, arena, &input, &err) != LULL_OK, "%s",
            err.text);
    return input;
}

static void compute(const struct lull_pop_input *input, const struct lull_pop_input *reference,
                    struct lull_metric_value *values)
{
    struct lull_error err = {""};
    fail_if(lull_pop_compute(input, reference, LULL_SCALING_STRONG, values, &err) != LULL_OK, "%s",
            err.text);
}

static void check_near(const char *what, double got, double want, double tolerance)
{
    fail_if(!(fabs(got - want) <= tolerance), "%s: %.9f, published %.9f", what, got, want);
}

static void check_metric(const struct lull_metric_value *values, const char *id, double want)
{
    int index = lull_metric_find(id);
    assert_true(index >= 0);
    fail_if(values[index].absent, "%s: %s", id, values[index].absent);
    check_near(id, values[index].value, want, 1e-6);
}

/* All time of a thread is accounted for. */
static void check_sums(const struct lull_breakdown *breakdown)
{
    for (uint32_t i = 0; i < breakdown->n_threads; i++) {
        const struct lull_thread_breakdown *thread = &breakdown->threads[i];
        int64_t sum = thread->disabled_ns;
        for (int activity = 0; activity < LULL_ACTIVITIES; activity++)
            sum += thread->times.ns[activity][0] + thread->times.ns[activity][1];
        assert_int_equal(sum, breakdown->duration_ns);
    }
}

/* ---- EPOCH --------------------------------------------------------------------------------- */

struct epoch {
    const char *file;
    double runtime_us, ideal_us, useful_avg_us, useful_max_us, useful_total_us;
    uint64_t instructions, cycles;
    /* per cent, but the last three */
    double parallel, balance, communication, computation, global, ipc, instruction, frequency;
    double speedup, ipc_value, ghz;
};

static const struct epoch epochs[] = {
    {"epoch-mpi/epoch_1proc.prv.gz", 21898659.14, 21884758.97, 21882362.82, 21882362.82,
     21882362.82, 84790848422, 45294421893, 99.925583, 100, 99.925583, 100, 99.925583, 100, 100,
     100, 1, 1.871993, 2.069905},
    {"epoch-mpi/epoch_4proc.prv.gz", 6082352.21, 6051059.08, 5921167.02, 5999910.80, 23684668.07,
     88518412143, 47406198069, 97.349953, 98.687584, 98.644580, 92.390414, 89.942024, 99.745711,
     95.788940, 96.697961, 3.600360, 1.867233, 2.001556},
    {"epoch-mpi/epoch_8proc.prv.gz", 3513565.33, 3486349.43, 3362753.84, 3421581.67, 26902030.73,
     90063308642, 51191361663, 95.707736, 98.280683, 97.382042, 81.340933, 77.849566, 93.982492,
     94.145829, 91.930815, 6.232603, 1.759346, 1.902881},
};

static uint64_t useful_count(const struct lull_breakdown *breakdown, uint8_t role)
{
    uint64_t sum = 0;
    for (uint32_t c = 0; c < breakdown->n_counters; c++) {
        for (uint32_t t = 0; t < breakdown->n_threads && breakdown->counters[c].role == role; t++)
            sum += breakdown->threads[t].counters[(size_t)c * LULL_ACTIVITIES + LULL_USEFUL];
    }
    return sum;
}

static void check_epoch_times(const struct epoch *want, const struct lull_breakdown *breakdown)
{
    int64_t total = 0, max = 0;
    for (uint32_t i = 0; i < breakdown->n_threads; i++) {
        const struct lull_times *times = &breakdown->threads[i].times;
        int64_t useful = times->ns[LULL_USEFUL][0] + times->ns[LULL_USEFUL][1];
        total += useful;
        max = useful > max ? useful : max;
    }
    double mean = (double)total / breakdown->n_threads;
    check_near("runtime", 1e-3 * (double)breakdown->runtime_ns, want->runtime_us, 0.01);
    check_near("useful total", 1e-3 * (double)total, want->useful_total_us, 0.01);
    check_near("useful max", 1e-3 * (double)max, want->useful_max_us, 0.01);
    check_near("useful avg", 1e-3 * mean, want->useful_avg_us, 0.01);
    assert_true(useful_count(breakdown, LULL_COUNTER_INSTRUCTIONS) == want->instructions);
    assert_true(useful_count(breakdown, LULL_COUNTER_CYCLES) == want->cycles);
}

static void check_epoch_metrics(const struct epoch *want, const struct lull_pop_input *input,
                                const struct lull_metric_value *values)
{
    check_metric(values, "parallel_efficiency", want->parallel / 100);
    check_metric(values, "load_balance", want->balance / 100);
    check_metric(values, "communication_efficiency", want->communication / 100);
    check_metric(values, "mpi_only_load_balance", want->balance / 100);
    check_metric(values, "mpi_only_communication", want->communication / 100);
    check_metric(values, "computation_scaling", want->computation / 100);
    check_metric(values, "global_efficiency", want->global / 100);
    check_metric(values, "ipc_scaling", want->ipc / 100);
    check_metric(values, "instruction_scaling", want->instruction / 100);
    check_metric(values, "frequency_scaling", want->frequency / 100);
    check_metric(values, "speedup", want->speedup);
    double useful = 0.0;
    for (uint32_t i = 0; i < input->n_processes; i++)
        useful += input->processes[i].useful;
    check_near("IPC", input->instructions / input->cycles, want->ipc_value, 1e-6);
    check_near("GHz", 1e-9 * input->cycles / useful, want->ghz, 1e-6);
}

/* Dimemas on an ideal network, to 0.1 %: there all ranks leave a collective operation when the last
 * has come; here each as soon as it can. */
static int64_t check_epoch_ideal(const struct epoch *want, struct lull_arena *arena)
{
    char *path = lull_arena_printf(arena, "%s/%s", folder, want->file);
    struct lull_trace *trace;
    struct lull_ideal_result ideal;
    struct lull_ideal_options options = {0};
    struct lull_error err = {""};
    fail_if(lull_trace_open(path, &trace, &err) != LULL_OK ||
                lull_ideal_runtime(trace, &options, arena, &ideal, &err) != LULL_OK,
            "%s", err.text);
    lull_trace_close(trace);
    assert_null(ideal.absent);
    check_near("T_ideal", 1e-3 * (double)ideal.runtime, want->ideal_us, 1e-3 * want->ideal_us);
    return ideal.runtime;
}

static void test_epoch(void **state)
{
    struct lull_pop_input *reference = NULL;
    for (size_t i = 0; i < sizeof epochs / sizeof epochs[0]; i++) {
        struct lull_metric_value values[METRICS];
        struct lull_breakdown *breakdown = analyse(epochs[i].file, *state);
        struct lull_pop_input *input = input_of(breakdown, *state);
        reference = reference ? reference : input;
        check_sums(breakdown);
        check_epoch_times(&epochs[i], breakdown);
        compute(input, reference, values);
        check_epoch_metrics(&epochs[i], input, values);
        assert_string_equal(values[lull_metric_find("mpi_transfer")].absent,
                            "needs a replay on an ideal network");
        /* With the published ideal runtime the rest can be had: Dimemas removes exactly MPI, so
         * that one rank alone waits for nobody and moves nothing. */
        breakdown->ideal_runtime_ns = check_epoch_ideal(&epochs[i], *state);
        compute(input_of(breakdown, *state), reference, values);
        check_metric(values, "mpi_transfer",
                     1e-9 * (double)breakdown->ideal_runtime_ns / input->runtime);
        input->ideal_runtime = 1e-6 * epochs[i].ideal_us;
        compute(input, reference, values);
        check_metric(values, "mpi_transfer", epochs[i].ideal_us / epochs[i].runtime_us);
        check_metric(values, "mpi_only_serialisation",
                     epochs[i].useful_max_us / epochs[i].ideal_us);
        if (i == 0)
            check_metric(values, "mpi_serialisation", 1.0);
    }
}

/* ---- ImageMagick --------------------------------------------------------------------------- */

static void test_imagemagick(void **state)
{
    static const struct {
        const char *file;
        double region, serial, parallel, ipc, instruction, frequency, computation, global, speedup;
        int64_t runtime_ns;
    } wanted[] = {
        {"imagemagick-omp/omp1.prv.gz", 0.998414, 1, 0.995348, 1, 1, 1, 1, 0.995348, 1,
         14746566243},
        {"imagemagick-omp/omp4.prv.gz", 0.995565, 0.498454, 0.488539, 0.937427, 0.999995, 0.933718,
         0.875288, 0.427612, 1.718442, 8581358106},
    };
    struct lull_pop_input *reference = NULL;
    for (size_t i = 0; i < 2; i++) {
        struct lull_metric_value values[METRICS];
        struct lull_breakdown *breakdown = analyse(wanted[i].file, *state);
        struct lull_pop_input *input = input_of(breakdown, *state);
        reference = reference ? reference : input;
        check_sums(breakdown);
        assert_int_equal(breakdown->runtime_ns, wanted[i].runtime_ns);
        compute(input, reference, values);
        check_metric(values, "openmp_region_efficiency", wanted[i].region);
        check_metric(values, "serial_region_efficiency", wanted[i].serial);
        check_metric(values, "parallel_efficiency", wanted[i].parallel);
        check_metric(values, "ipc_scaling", wanted[i].ipc);
        check_metric(values, "instruction_scaling", wanted[i].instruction);
        check_metric(values, "frequency_scaling", wanted[i].frequency);
        check_metric(values, "computation_scaling", wanted[i].computation);
        check_metric(values, "global_efficiency", wanted[i].global);
        check_metric(values, "speedup", wanted[i].speedup);
        check_metric(values, "process_efficiency", 1.0); /* there is no MPI */
        /* the losses of the parallel regions add up to that of all */
        struct lull_pop_parallel *parallels = NULL;
        uint32_t n = lull_pop_parallels(breakdown, *state, &parallels);
        double loss = 0.0;
        for (uint32_t p = 0; p < n; p++)
            loss += parallels[p].loss;
        assert_true(n > 0);
        check_near("loss of the parallel regions", 1.0 - loss, wanted[i].region, 1e-6);
    }
}

/* ---- the others ---------------------------------------------------------------------------- */

/* Every group of every tree closes on real input, too. */
static void check_closed(const struct lull_metric_value *values)
{
    unsigned closed = 0;
    for (int first = 0; first < lull_metric_count; first++) {
        const struct lull_metric_def *def = &lull_metric_defs[first];
        if (def->combine == LULL_COMBINE_NONE || values[def->parent].absent)
            continue;
        double product = 1.0, sum = 0.0;
        bool complete = true;
        for (int i = 0; i < lull_metric_count; i++) {
            const struct lull_metric_def *other = &lull_metric_defs[i];
            if (other->parent != def->parent || other->scheme != def->scheme ||
                other->split != def->split)
                continue;
            complete &= !values[i].absent;
            product *= values[i].value;
            sum += 1.0 - values[i].value;
        }
        double joined = def->combine == LULL_COMBINE_PRODUCT ? product : 1.0 - sum;
        if (!complete)
            continue;
        check_near(lull_metric_defs[def->parent].id, joined, values[def->parent].value, 1e-9);
        closed++;
    }
    assert_true(closed > 10);
}

static void test_lulesh_without_the_second_application(void **state)
{
    struct lull_metric_value values[METRICS];
    struct lull_breakdown *breakdown =
        analyse("lulesh-prv/lulesh_4+4_with_uncores_sockets1+2.chop_5it.prv", *state);
    assert_int_equal(breakdown->n_processes, 8);
    assert_int_equal(breakdown->n_threads, 8);
    check_sums(breakdown);
    compute(input_of(breakdown, *state), NULL, values);
    check_closed(values);
    double efficiency = values[lull_metric_find("parallel_efficiency")].value;
    assert_true(efficiency > 0.5 && efficiency < 1.0);
}

static void check_sensible(const char *file, uint32_t processes, uint32_t threads,
                           struct lull_arena *arena)
{
    struct lull_metric_value values[METRICS];
    struct lull_breakdown *breakdown = analyse(file, arena);
    assert_int_equal(breakdown->n_processes, processes);
    assert_int_equal(breakdown->n_threads, threads);
    check_sums(breakdown);
    compute(input_of(breakdown, arena), NULL, values);
    check_closed(values);
    double efficiency = values[lull_metric_find("parallel_efficiency")].value;
    assert_true(efficiency > 0.0 && efficiency < 1.0);
}

static void test_sstmacro(void **state)
{
    check_sensible("sstmacro-scorep-mpi10-otf2/traces.otf2", 10, 10, *state);
}

static void test_eztrace_mpi(void **state)
{
    check_sensible("eztrace-mpi4-jacobi/eztrace_log.otf2", 4, 4, *state);
}

static void test_eztrace_hybrid(void **state)
{
    check_sensible("eztrace-hybrid2x2-pomp-jacobi/eztrace_log.otf2", 2, 4, *state);
}

/* ---- device streams -------------------------------------------------------------------------- */

/* Time of a stream in kernels, and in copies while no kernel ran: unions of intervals, added up from
 * what otf2-print prints. */
struct device_stream {
    int64_t kernels_ns, copies_ns;
};

static void check_streams(const struct lull_breakdown *breakdown,
                          const struct device_stream *streams, uint32_t n_streams)
{
    uint32_t found = 0;
    check_sums(breakdown);
    for (uint32_t i = 0; i < breakdown->n_threads; i++) {
        const struct lull_thread_breakdown *thread = &breakdown->threads[i];
        if (thread->kind != LULL_LOCATION_DEVICE)
            continue;
        assert_true(found < n_streams);
        /* Each border of an interval is rounded to a nanosecond. */
        check_near("kernels", (double)thread->times.ns[LULL_USEFUL][0],
                   (double)streams[found].kernels_ns, 1);
        check_near("copies", (double)thread->times.ns[LULL_DEVICE][0],
                   (double)streams[found].copies_ns, 1);
        found++;
    }
    assert_int_equal(found, n_streams);
}

static void test_copies(void **state)
{
    static const struct device_stream cuda[] = {{14053418, 72142256}, {14084740, 71325812}};
    static const struct device_stream opencl[] = {{11895, 3172}};
    struct lull_metric_value values[METRICS];
    struct lull_breakdown *breakdown = analyse("casita-cuda-simple/traces.otf2", *state);
    check_streams(breakdown, cuda, 2);
    compute(input_of(breakdown, *state), NULL, values);
    check_near("transfer", values[lull_metric_find("device_transfer")].value, 0.1634, 5e-5);
    check_near("orchestration", values[lull_metric_find("device_orchestration")].value, 0.1214,
               5e-5);
    check_streams(analyse("casita-ocl-deps/traces.otf2", *state), opencl, 1);
}

TEST_GROUP(test_published)
{
    struct stat info;
    folder = getenv("LULL_CONFORMANCE_DIR");
    if (!folder || !*folder)
        folder = "../../shared/traces"; /* seen from tests/, where ctest starts this */
    if (stat(folder, &info) != 0) {
        printf("skipped: there is no folder '%s'; set LULL_CONFORMANCE_DIR\n", folder);
        return SKIPPED;
    }
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_epoch),
        TEST(test_imagemagick),
        TEST(test_lulesh_without_the_second_application),
        TEST(test_sstmacro),
        TEST(test_eztrace_mpi),
        TEST(test_eztrace_hybrid),
        TEST(test_copies),
    };
    return run_cases(tests, NULL, NULL);
}
