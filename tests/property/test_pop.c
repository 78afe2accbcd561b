/* The identities of the POP metrics, on random runs. */
#include "metrics/breakdown.h"
#include "metrics/pop.h"
#include "stats/random.h"
#include "support/seed.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT 1e-12
enum { PROCESSES = 12, METRICS = 128 };

struct run {
    struct lull_pop_input input;
    struct lull_pop_process processes[PROCESSES];
};

struct style {
    bool openmp, other, ideal, counters, devices;
};

static double uniform(struct lull_random *random)
{
    return lull_random_uniform(random);
}

static void draw_process(struct lull_random *random, struct style style, double runtime,
                         struct lull_pop_process *process)
{
    memset(process, 0, sizeof *process);
    process->threads = style.openmp ? 1 + (uint32_t)lull_random_below(random, 8) : 1;
    double left = runtime * (0.2 + 0.8 * uniform(random));
    process->parallel = style.openmp ? left * uniform(random) : 0.0;
    left -= process->parallel;
    process->other = style.other ? left * 0.3 * uniform(random) : 0.0;
    process->device = style.devices ? process->other * uniform(random) : 0.0;
    process->serial_useful = left - process->other;
    for (uint32_t t = 0; t < process->threads; t++) {
        double inside = process->parallel * uniform(random);
        double useful = inside + (t == 0 ? process->serial_useful : 0.0);
        process->useful += useful;
        process->parallel_useful += inside;
        process->max_useful = fmax(process->max_useful, useful);
    }
}

static double time_outside_mpi(const struct lull_pop_process *process)
{
    return process->serial_useful + process->parallel + process->other;
}

static void draw_run(struct lull_random *random, struct style style, struct run *run)
{
    struct lull_pop_input *input = &run->input;
    memset(run, 0, sizeof *run);
    input->runtime = exp(6.0 * uniform(random) - 3.0);
    input->n_processes = 1 + (uint32_t)lull_random_below(random, PROCESSES);
    input->processes = run->processes;
    double longest = 0.0;
    for (uint32_t p = 0; p < input->n_processes; p++) {
        draw_process(random, style, input->runtime, &run->processes[p]);
        longest = fmax(longest, time_outside_mpi(&run->processes[p]));
    }
    input->ideal_runtime =
        style.ideal ? longest + (input->runtime - longest) * uniform(random) : NAN;
    input->instructions = style.counters ? 1e9 * (1.0 + uniform(random)) : NAN;
    input->cycles = style.counters ? 1e9 * (1.0 + uniform(random)) : NAN;
    input->causes.imbalance = 0.1 * input->runtime * uniform(random);
    input->causes.lock = 0.1 * input->runtime * uniform(random);
    if (!style.devices)
        return;
    input->n_devices = 1 + (uint32_t)lull_random_below(random, 4);
    input->device_max_useful = 0.7 * input->runtime * uniform(random);
    input->device_max_busy = input->device_max_useful * (1.0 + 0.3 * uniform(random));
    input->device_useful = input->n_devices * input->device_max_useful * uniform(random);
    input->device_copies = input->runtime * uniform(random);
    input->device_copies_beside = input->device_copies * uniform(random);
    input->device_exchanges = input->runtime * uniform(random);
    input->device_exchanges_beside = input->device_exchanges * uniform(random);
    input->host_busy = input->runtime;
    input->host_runtime = input->runtime * uniform(random);
    const double lost = input->n_devices * input->runtime - input->device_useful;
    input->device_lost[lull_random_below(random, LULL_DEVICE_LOSSES)] += 0.3 * lost;
    input->device_lost[lull_random_below(random, LULL_DEVICE_LOSSES)] += 0.7 * lost;
}

static struct style draw_style(struct lull_random *random)
{
    uint64_t bits = lull_random_u64(random);
    return (struct style){bits & 1, bits & 2, bits & 4, bits & 8, bits & 16};
}

static void compute(const struct run *run, const struct run *reference, enum lull_scaling scaling,
                    struct lull_metric_value *values)
{
    struct lull_error err = {""};
    assert_true(lull_metric_count <= METRICS);
    for (int i = 0; i < METRICS; i++) /* each is to be set */
        values[i] = (struct lull_metric_value){.value = NAN};
    lull_status status =
        lull_pop_compute(&run->input, reference ? &reference->input : NULL, scaling, values, &err);
    if (status != LULL_OK)
        fprintf(stderr, "%s\n", err.text);
    assert_int_equal(status, LULL_OK);
}

/* ---- the trees close ----------------------------------------------------------------------- */

/* Joins the group that `member` belongs to; false where one of it has no value. */
static bool join_group(const struct lull_metric_value *values, int member, double *ret_parent)
{
    const struct lull_metric_def *def = &lull_metric_defs[member];
    bool product = def->combine == LULL_COMBINE_PRODUCT;
    double joined = product ? 1.0 : 0.0;
    for (int i = 0; i < lull_metric_count; i++) {
        const struct lull_metric_def *other = &lull_metric_defs[i];
        if (other->parent != def->parent || other->scheme != def->scheme ||
            other->split != def->split || other->combine == LULL_COMBINE_NONE)
            continue;
        assert_int_equal(other->combine, def->combine);
        if (values[i].absent)
            return false;
        joined = product ? joined * values[i].value : joined + (1.0 - values[i].value);
    }
    *ret_parent = product ? joined : 1.0 - joined;
    return true;
}

/* How often a metric had a value, and how often its group made its parent. */
struct tally {
    unsigned long values[METRICS], closed[METRICS];
};

/* Every group makes its parent, and what has no reason to exceed 1 lies in [0, 1]. */
static void check_trees(const struct lull_metric_value *values, struct tally *tally)
{
    for (int i = 0; i < lull_metric_count; i++) {
        const struct lull_metric_def *def = &lull_metric_defs[i];
        assert_true(def->parent < i);
        assert_true(values[i].absent || isfinite(values[i].value));
        tally->values[i] += !values[i].absent;
        if (!values[i].absent && !def->above_one)
            assert_true(values[i].value >= -EXACT && values[i].value <= 1.0 + EXACT);
        double joined;
        if (def->combine == LULL_COMBINE_NONE || !join_group(values, i, &joined))
            continue;
        const struct lull_metric_value *parent = &values[def->parent];
        if (parent->absent)
            continue;
        fail_if(fabs(joined - parent->value) > EXACT * fmax(1.0, fabs(parent->value)),
                "%s: %.17g, its children make %.17g", lull_metric_defs[def->parent].id,
                parent->value, joined);
        tally->closed[i]++;
    }
}

static bool is_among(const char *const *list, int metric)
{
    while (*list && strcmp(*list, lull_metric_defs[metric].id) != 0)
        list++;
    return *list != NULL;
}

/* Each metric had a value in so many trees, and each group was closed in so many. Devices' metrics
 * need devices, others an ideal network, counters or a reference: the draws have each of these in
 * half of the runs. `without`: what the runs cannot have, ended by NULL. */
static void assert_tally(const struct tally *tally, unsigned long least, unsigned long trees,
                         const char *const *without)
{
    char text[100];
    for (int i = 0; i < lull_metric_count; i++) {
        const struct lull_metric_def *def = &lull_metric_defs[i];
        if (is_among(without, i)) {
            assert_int_equal(tally->values[i], 0);
            continue;
        }
        snprintf(text, sizeof text, "%s has a value", def->id);
        assert_reached(text, tally->values[i], least, trees);
        if (def->combine == LULL_COMBINE_NONE || is_among(without, def->parent))
            continue;
        snprintf(text, sizeof text, "the group of %s makes its parent", def->id);
        assert_reached(text, tally->closed[i], least, trees);
    }
}

static void test_trees_close(void **state)
{
    struct lull_random *random = *state;
    struct tally tally = {{0}, {0}};
    const unsigned rounds = lull_test_rounds(4000);
    for (unsigned i = 0; i < rounds; i++) {
        struct run run, reference;
        struct lull_metric_value values[METRICS];
        draw_run(random, draw_style(random), &run);
        draw_run(random, draw_style(random), &reference);
        compute(&run, &reference, i & 1 ? LULL_SCALING_WEAK : LULL_SCALING_STRONG, values);
        check_trees(values, &tally);
        compute(&run, NULL, LULL_SCALING_STRONG, values);
        check_trees(values, &tally);
    }
    static const char *const without[] = {NULL};
    assert_tally(&tally, rounds / 20, 2 * rounds, without);
}

/* ---- from breakdowns ----------------------------------------------------------------------- */

/* A thread that does anything at any time: no rule says which thread opens parallel regions,
 * computes, communicates or is paused. */
static void draw_thread(struct lull_random *random, int64_t length, bool mpi_alone,
                        struct lull_thread_breakdown *thread)
{
    thread->disabled_ns =
        lull_random_below(random, 3) ? 0 : (int64_t)lull_random_below(random, 400);
    for (int64_t left = length - thread->disabled_ns; left > 0;) {
        int64_t part = 1 + (int64_t)lull_random_below(random, (uint64_t)left);
        unsigned activity = lull_random_below(random, 2)
                                ? LULL_USEFUL
                                : (unsigned)lull_random_below(random, LULL_ACTIVITIES);
        if (thread->kind == LULL_LOCATION_DEVICE)
            activity = activity == LULL_USEFUL || activity == LULL_DEVICE ? activity : LULL_IDLE;
        unsigned inside = (unsigned)lull_random_below(random, 2);
        if (mpi_alone) {
            activity = activity == LULL_USEFUL ? LULL_USEFUL : LULL_MPI_P2P;
            inside = 0;
        }
        thread->times.ns[activity][inside] += part;
        left -= part;
    }
}

/* The device of a stream: one more stream may have been busy beside it. */
static void draw_device(struct lull_random *random, const struct lull_thread_breakdown *stream,
                        uint32_t rank, struct lull_arena *arena,
                        struct lull_device_breakdown *device)
{
    const int64_t useful = stream->times.ns[LULL_USEFUL][0] + stream->times.ns[LULL_USEFUL][1];
    const int64_t moving = stream->times.ns[LULL_DEVICE][0] + stream->times.ns[LULL_DEVICE][1];
    const int64_t idle = lull_thread_window(stream) - stream->disabled_ns - useful - moving;
    *device =
        (struct lull_device_breakdown){.id = lull_arena_printf(arena, "rank %u device 0", rank),
                                       .name = "",
                                       .n_streams = 2,
                                       .n_processes = 1};
    device->kernel_ns = useful + (int64_t)lull_random_below(random, (uint64_t)idle + 1);
    device->lost_ns[lull_random_below(random, LULL_DEVICE_LOSSES)] = 1000 - device->kernel_ns;
    device->copy_ns = (int64_t)lull_random_below(random, (uint64_t)device->kernel_ns + 1);
    device->copy_beside_ns = (int64_t)lull_random_below(random, (uint64_t)device->copy_ns + 1);
    device->exchange_ns = (int64_t)lull_random_below(random, (uint64_t)device->kernel_ns + 1);
    device->busy_ns =
        device->kernel_ns + (int64_t)lull_random_below(
                                random, (uint64_t)(useful + moving + idle - device->kernel_ns) + 1);
}

static struct lull_breakdown *draw_breakdown(struct lull_random *random, struct lull_arena *arena)
{
    struct lull_breakdown *made = lull_arena_zero(arena, 1, sizeof *made);
    /* One run in four has a thread for each process and no OpenMP: some metrics are for these alone. */
    const bool mpi_alone = lull_random_below(random, 4) == 0;
    made->run = "drawn";
    made->duration_ns = 1000;
    made->n_processes = 1 + (uint32_t)lull_random_below(random, 3);
    made->processes = lull_arena_zero(arena, made->n_processes, sizeof *made->processes);
    made->threads = lull_arena_zero(arena, (size_t)made->n_processes * 5, sizeof *made->threads);
    made->devices = lull_arena_zero(arena, made->n_processes, sizeof *made->devices);
    for (uint32_t p = 0; p < made->n_processes; p++) {
        uint32_t threads = mpi_alone ? 1 : 1 + (uint32_t)lull_random_below(random, 4);
        uint32_t streams = mpi_alone ? 0 : (uint32_t)lull_random_below(random, 2);
        made->processes[p] = (struct lull_process_breakdown){
            .name = "", .rank = p, .node = LULL_NONE, .n_cpu_threads = threads};
        for (uint32_t t = 0; t < threads + streams; t++) {
            struct lull_thread_breakdown *thread = &made->threads[made->n_threads++];
            thread->process = p;
            thread->number = t;
            thread->kind = t < threads ? LULL_LOCATION_THREAD : LULL_LOCATION_DEVICE;
            thread->master = t == 0;
            draw_thread(random, made->duration_ns, mpi_alone, thread);
        }
        if (streams > 0)
            draw_device(random, &made->threads[made->n_threads - 1], p, arena,
                        &made->devices[made->n_devices++]);
    }
    struct lull_error err;
    assert_int_equal(lull_breakdown_join(made, NULL, arena, made, &err), LULL_OK);
    return made;
}

/* Whatever threads do and whenever they are paused, the trees close, and no efficiency exceeds 1
 * but those that say why. */
static void test_any_breakdown(void **state)
{
    struct lull_random *random = *state;
    struct tally tally = {{0}, {0}};
    const unsigned rounds = lull_test_rounds(4000);
    for (unsigned i = 0; i < rounds; i++) {
        struct lull_arena *arena = lull_arena_create(NULL);
        struct lull_breakdown *breakdown = draw_breakdown(random, arena);
        struct lull_pop_input *input;
        struct lull_metric_value values[METRICS];
        struct lull_error err = {""};
        if (breakdown->runtime_ns > 0) {
            breakdown->ideal_runtime_ns = breakdown->runtime_ns;
            lull_status status = lull_pop_from_breakdown(breakdown, true, arena, &input, &err);
            if (status == LULL_OK)
                status = lull_pop_compute(input, NULL, LULL_SCALING_STRONG, values, &err);
            assert_string_equal(err.text, "");
            assert_int_equal(status, LULL_OK);
            check_trees(values, &tally);
        }
        lull_arena_destroy(arena);
    }
    /* There is neither a run to compare with nor a counter, and there is OpenMP. */
    static const char *const without[] = {"speedup",
                                          "global_efficiency",
                                          "computation_scaling",
                                          "instruction_scaling",
                                          "ipc_scaling",
                                          "frequency_scaling",
                                          NULL};
    assert_tally(&tally, rounds / 50, rounds, without);
}

/* ---- the published formulas, written out here a second time -------------------------------- */

static double value_of(const struct lull_metric_value *values, const char *id)
{
    int index = lull_metric_find(id);
    assert_true(index >= 0);
    assert_null(values[index].absent);
    return values[index].value;
}

static void check_value(const struct lull_metric_value *values, const char *id, double want)
{
    double got = value_of(values, id);
    fail_if(!(fabs(got - want) <= EXACT * fmax(1.0, fabs(want))), "%s: %.17g, expected %.17g", id,
            got, want);
}

struct means {
    double n, u, su, omp, ou, o, max_o, max_u, serial_loss, region_loss;
};

/* Process by process, thread-weighted at the end: sum(t x) / sum(t). */
static struct means take_means(const struct run *run)
{
    struct means m = {0};
    for (uint32_t p = 0; p < run->input.n_processes; p++)
        m.n += run->processes[p].threads;
    for (uint32_t p = 0; p < run->input.n_processes; p++) {
        const struct lull_pop_process *process = &run->processes[p];
        double w = process->threads / m.n, t = process->threads;
        double o = process->serial_useful + process->parallel;
        m.u += w * process->useful / t;
        m.su += w * process->serial_useful;
        m.omp += w * process->parallel;
        m.ou += w * process->parallel_useful / t;
        m.o += w * o;
        m.max_o = fmax(m.max_o, o);
        m.max_u = fmax(m.max_u, process->max_useful);
        m.serial_loss += w * process->serial_useful * (1.0 - 1.0 / t);
        m.region_loss += w * (process->parallel - process->parallel_useful / t);
    }
    return m;
}

static void test_published_hybrid(void **state)
{
    struct lull_random *random = *state;
    for (unsigned i = 0; i < lull_test_rounds(2000); i++) {
        struct run run;
        struct lull_metric_value v[METRICS];
        draw_run(random, (struct style){.openmp = true, .ideal = true}, &run);
        compute(&run, NULL, LULL_SCALING_STRONG, v);
        struct means m = take_means(&run);
        double T = run.input.runtime, ideal = run.input.ideal_runtime;
        check_value(v, "parallel_efficiency", m.u / T);
        check_value(v, "process_efficiency", (m.omp + m.su) / T);
        check_value(v, "process_load_balance", 1 - (m.max_o - m.o) / T);
        check_value(v, "process_communication", m.max_o / T);
        check_value(v, "process_transfer", ideal / T);
        check_value(v, "process_serialisation", 1 - (ideal - m.max_o) / T);
        check_value(v, "thread_efficiency", 1 - (m.omp + m.su - m.u) / T);
        check_value(v, "openmp_region_efficiency", 1 - m.region_loss / T);
        check_value(v, "serial_region_efficiency", 1 - m.serial_loss / T);
        check_value(v, "outside_runtimes", 1.0);
        check_value(v, "load_balance", m.u / m.max_u);
        check_value(v, "communication_efficiency", m.max_u / T);
        check_value(v, "mpi_parallel_efficiency", m.o / T);
        check_value(v, "mpi_load_balance", m.o / m.max_o);
        check_value(v, "mpi_communication", m.max_o / T);
        check_value(v, "mpi_transfer", ideal / T);
        check_value(v, "mpi_serialisation", m.max_o / ideal);
        check_value(v, "outside_runtimes_ratio", 1.0);
        check_value(v, "openmp_parallel_efficiency", (m.u / T) / (m.o / T));
        check_value(v, "openmp_load_balance", (m.u / m.max_u) / (m.o / m.max_o));
        check_value(v, "openmp_communication", (m.max_u / T) / (m.max_o / T));
        check_value(v, "nag_thread_efficiency", m.u / (m.omp + m.su));
        check_value(v, "nag_region_efficiency", (m.ou + m.su) / (m.omp + m.su));
        check_value(v, "nag_serial_efficiency", m.u / (m.ou + m.su));
    }
}

/* Without OpenMP and without other time all schemes say what the original ones say. */
static void test_published_mpi(void **state)
{
    struct lull_random *random = *state;
    for (unsigned i = 0; i < lull_test_rounds(1000); i++) {
        struct run run;
        struct lull_metric_value v[METRICS];
        draw_run(random, (struct style){.ideal = true}, &run);
        compute(&run, NULL, LULL_SCALING_STRONG, v);
        struct means m = take_means(&run);
        double T = run.input.runtime, ideal = run.input.ideal_runtime;
        static const char *const products[][3] = {
            {"load_balance", "mpi_load_balance", "mpi_only_load_balance"},
            {"communication_efficiency", "mpi_communication", "mpi_only_communication"},
            {"mpi_transfer", "nag_mpi_transfer", "mpi_only_transfer"},
            {"mpi_serialisation", "nag_mpi_serialisation", "mpi_only_serialisation"},
        };
        const double wanted[] = {m.u / m.max_u, m.max_u / T, ideal / T, m.max_u / ideal};
        for (int row = 0; row < 4; row++) {
            for (int column = 0; column < 3; column++)
                check_value(v, products[row][column], wanted[row]);
        }
        check_value(v, "process_load_balance", 1 - (m.max_u - m.u) / T);
        check_value(v, "mpi_only_additive_load_balance", 1 - (m.max_u - m.u) / T);
        check_value(v, "mpi_only_additive_communication", m.max_u / T);
        check_value(v, "mpi_only_additive_transfer", ideal / T);
        check_value(v, "mpi_only_additive_serialisation", 1 - (ideal - m.max_u) / T);
        check_value(v, "thread_efficiency", 1.0);
        check_value(v, "openmp_parallel_efficiency", 1.0);
    }
}

static void test_scaling(void **state)
{
    struct lull_random *random = *state;
    for (unsigned i = 0; i < lull_test_rounds(1000); i++) {
        struct style style = draw_style(random);
        style.counters = true;
        struct run run, reference;
        struct lull_metric_value strong[METRICS], weak[METRICS];
        draw_run(random, style, &run);
        draw_run(random, style, &reference);
        compute(&run, &reference, LULL_SCALING_STRONG, strong);
        compute(&run, &reference, LULL_SCALING_WEAK, weak);
        struct means m = take_means(&run), r = take_means(&reference);
        double growth = m.n / r.n;
        const struct lull_pop_input *a = &run.input, *b = &reference.input;
        check_value(strong, "computation_scaling", r.u * r.n / (m.u * m.n));
        check_value(weak, "computation_scaling", r.u / m.u);
        check_value(strong, "speedup", b->runtime / a->runtime);
        check_value(weak, "speedup", growth * b->runtime / a->runtime);
        check_value(strong, "instruction_scaling", b->instructions / a->instructions);
        check_value(weak, "instruction_scaling", growth * b->instructions / a->instructions);
        check_value(weak, "ipc_scaling",
                    a->instructions / a->cycles / (b->instructions / b->cycles));
        check_value(weak, "frequency_scaling", a->cycles / (m.u * m.n) / (b->cycles / (r.u * r.n)));
        /* the speed-up is the global efficiency without what the reference lacks itself */
        check_value(strong, "global_efficiency",
                    value_of(strong, "speedup") / growth * (r.u / b->runtime));
    }
}

static void test_permutation(void **state)
{
    struct lull_random *random = *state;
    for (unsigned i = 0; i < lull_test_rounds(1000); i++) {
        struct run run, shuffled;
        struct lull_metric_value before[METRICS], after[METRICS];
        draw_run(random, draw_style(random), &run);
        shuffled = run;
        shuffled.input.processes = shuffled.processes;
        for (uint32_t p = run.input.n_processes; p > 1; p--) {
            uint64_t other = lull_random_below(random, p);
            struct lull_pop_process swap = shuffled.processes[p - 1];
            shuffled.processes[p - 1] = shuffled.processes[other];
            shuffled.processes[other] = swap;
        }
        compute(&run, &run, LULL_SCALING_STRONG, before);
        compute(&shuffled, &run, LULL_SCALING_STRONG, after);
        for (int m = 0; m < lull_metric_count; m++) {
            assert_ptr_equal(before[m].absent, after[m].absent);
            if (!before[m].absent)
                check_value(after, lull_metric_defs[m].id, before[m].value);
        }
    }
}

static int set_up(void **state)
{
    static struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    *state = &random;
    return 0;
}

TEST_GROUP(test_pop)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees_close),   cmocka_unit_test(test_published_hybrid),
        cmocka_unit_test(test_published_mpi), cmocka_unit_test(test_scaling),
        cmocka_unit_test(test_permutation),   cmocka_unit_test(test_any_breakdown),
    };
    return run_cases(tests, set_up, NULL);
}
