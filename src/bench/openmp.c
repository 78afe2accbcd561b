/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/openmp.h"

#include "base/text.h"
#include "bench/benchmark.h"
#include "bench/helper_program.h"
#include "bench/number.h"
#include "stats/quantile.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* ==== overhead ================================================================================ */

static double resolution_of(const struct lull_round *test, const struct lull_round *reference,
                            size_t count, double *scratch)
{
    for (size_t i = 0; i < count; i++)
        scratch[i] = fmax(test[i].high - test[i].low, reference[i].high - reference[i].low);
    lull_sort(scratch, count);
    return lull_median(scratch, count);
}

static bool are_rounds_noisy(const struct lull_round *test, const struct lull_round *reference,
                             size_t count)
{
    double interrupted = 0, blocks = 0, steal = 0;
    for (size_t i = 0; i < count; i++) {
        interrupted += (double)(test[i].interrupted + reference[i].interrupted);
        blocks += (double)(test[i].blocks + reference[i].blocks);
        steal += isnan(test[i].steal) ? 0 : test[i].steal / (double)count;
    }
    return interrupted > LULL_NOISY_INTERRUPTED * blocks || steal > LULL_NOISY_STEAL;
}

/* Sets the number from the differences; returns whether it is known well enough. */
static bool set_overhead(struct lull_number *number, double *values, size_t count, double precision,
                         double resolution, const char *statistic, struct lull_arena *arena)
{
    char text[32];
    *number = lull_number_plain(NAN, "s", statistic);
    bool sure = lull_number_of_visits(number, values, count, precision, resolution);
    if (number->value <= resolution)
        number->note = lull_arena_printf(arena, "below resolution, %s",
                                         lull_format_quantity(resolution, "s", text, sizeof text));
    number->value = fmax(0, number->value);
    number->low = fmax(0, number->low);
    number->high = fmax(0, number->high);
    return sure;
}

void lull_overhead_of(const struct lull_round *test, const struct lull_round *reference,
                      size_t count, double precision, struct lull_arena *arena,
                      struct lull_number *ret_low, struct lull_number *ret_median)
{
    double *values = lull_arena_alloc(arena, 3 * count * sizeof *values);
    double *low = values, *median = values + count;
    double resolution = resolution_of(test, reference, count, values + 2 * count);
    uint64_t samples = 0;
    for (size_t i = 0; i < count; i++) {
        low[i] = test[i].value - reference[i].value;
        median[i] = test[i].median - reference[i].median;
        samples += test[i].blocks;
    }
    bool noisy = are_rounds_noisy(test, reference, count);
    struct lull_number *both[] = {ret_low, ret_median};
    double *values_of[] = {low, median};
    static const char *const statistics[] = {"p10", "median"};
    for (int i = 0; i < 2; i++) {
        bool sure =
            set_overhead(both[i], values_of[i], count, precision, resolution, statistics[i], arena);
        both[i]->samples = samples;
        both[i]->verdict = !sure   ? LULL_VERDICT_NOT_CONVERGED
                           : noisy ? LULL_VERDICT_NOISY
                                   : LULL_VERDICT_QUIET;
    }
}

/* ==== openmp ================================================================================== */

/* OpenMP: a helper program of each compiler measures; it is started several times. */

enum { CONSTRUCT_PASSES = 2, MOST_COUNTS = 4 };

static const unsigned construct_launches[LULL_EFFORTS] = {6, 6, 9};

#define CONSTRUCT_START_SECONDS 0.1 /* of a program */
#define LEAST_SECONDS           0.1 /* of measuring in it */
#define CONSTRUCT_PATIENCE      20  /* s beyond thrice the expected time */

static const char *const constructs[] = {"parallel",  "for-static", "for-dynamic", "for-guided",
                                         "barrier",   "single",     "critical",    "atomic",
                                         "reduction", "task"};

enum { CONSTRUCTS = sizeof constructs / sizeof *constructs };

struct construct_job {
    const char *compiler; /* "gcc" */
    const char *helper;   /* path */
    const char *places;   /* "OMP_PLACES={0},{1}" */
    unsigned counts[MOST_COUNTS];
    size_t n_counts;
    const char *library; /* what the helper says of itself */
};

/* ---- plan ------------------------------------------------------------------------------------ */

static const char *make_places(struct lull_bench *bench)
{
    const char *places = "OMP_PLACES=";
    for (size_t i = 0; i < bench->topology->n_cores; i++)
        places = lull_arena_printf(bench->arena, "%s%s{%u}", places, i ? "," : "",
                                   bench->topology->cores[i].cpu);
    return places;
}

/* "openmp-gcc": gcc */
static const char *compiler_of(const struct lull_benchmark *self)
{
    return strchr(self->name, '-') + 1;
}

/* Chooses the thread counts: with little time one core and all. */
static void choose_counts(struct construct_job *job, const struct lull_bench *bench)
{
    job->counts[0] = 1;
    job->counts[1] = (unsigned)bench->topology->n_cores;
    job->n_counts = job->counts[1] > 1 ? 2 : 1;
    if (bench->settings.effort != LULL_EFFORT_QUICK)
        job->n_counts = lull_bench_thread_counts(bench->topology, job->counts, MOST_COUNTS);
}

static lull_status visit_constructs(struct lull_bench *bench, const struct lull_task *task,
                                    double seconds, struct lull_error *err);

static lull_status plan_constructs(const struct lull_benchmark *self, struct lull_bench *bench,
                                   struct lull_error *err)
{
    (void)err;
    const char *compiler = compiler_of(self);
    const char *helper =
        lull_bench_helper(bench, lull_bench_text(bench, "lull-bench-openmp-%s", compiler));
    if (!helper) {
        lull_bench_skip(bench, "OpenMP (%s): lull was built without it", compiler);
        return LULL_OK;
    }
    struct construct_job *job = lull_arena_zero(bench->arena, 1, sizeof *job);
    job->compiler = compiler;
    job->helper = helper;
    job->places = make_places(bench);
    choose_counts(job, bench);
    const struct lull_task task = {.name = self->name,
                                   .visit = visit_constructs,
                                   .data = job,
                                   .visits = construct_launches[bench->settings.effort]};
    lull_bench_task(bench, &task);
    return LULL_OK;
}

/* ---- launches -------------------------------------------------------------------------------- */

static const char *name_construct(struct lull_bench *bench, const struct construct_job *job,
                                  const char *construct, const char *detail, unsigned threads)
{
    return lull_bench_text(bench, "openmp.%s.%s.%s.%u", job->compiler, construct, detail, threads);
}

static void add_rounds(struct lull_bench *bench, const struct lull_task *task,
                       const struct lull_helper_output *output, double steal)
{
    const struct construct_job *job = task->data;
    for (size_t i = 0; i < output->n_records; i++) {
        const struct lull_helper_record *record = &output->records[i];
        if (!record->detail || record->n_samples == 0)
            continue;
        const struct lull_probe probe = {
            .name = name_construct(bench, job, record->what, record->detail, record->ranks),
            .unit = "s",
            .point = true};
        struct lull_round round =
            lull_round_of_samples(record->samples, record->n_samples, LULL_BENCH_QUANTILE);
        round.repetitions = record->repetitions;
        round.interrupted = record->interrupted;
        round.steal = steal;
        lull_bench_add_round(bench, lull_bench_probe_for(bench, task, &probe), &round);
    }
}

static const char *list_counts(struct lull_bench *bench, const struct construct_job *job)
{
    const char *list = "";
    for (size_t i = 0; i < job->n_counts; i++)
        list = lull_arena_printf(bench->arena, "%s%s%u", list, i ? "," : "", job->counts[i]);
    return list;
}

static lull_status visit_constructs(struct lull_bench *bench, const struct lull_task *task,
                                    double seconds, struct lull_error *err)
{
    struct construct_job *job = task->data;
    seconds = fmax(LEAST_SECONDS, seconds - CONSTRUCT_START_SECONDS);
    const char *const environment[] = {"OMP_PROC_BIND=close", "OMP_DYNAMIC=false", job->places,
                                       NULL};
    const char *const command[] = {job->helper,
                                   "--seconds",
                                   lull_bench_text(bench, "%.3f", seconds),
                                   "--passes",
                                   lull_bench_text(bench, "%d", CONSTRUCT_PASSES),
                                   "--threads",
                                   list_counts(bench, job),
                                   NULL};
    const struct lull_launch launch = {command, environment, 3 * seconds + CONSTRUCT_PATIENCE,
                                       LULL_HELPER_LAST};
    struct lull_steal before = {0}, after = {0};
    struct lull_helper_output output;
    const char *text;
    bool knows = lull_steal_read(&before);
    lull_status status = lull_launch_run(&launch, bench->arena, &text, err);
    knows = knows && lull_steal_read(&after);
    if (status == LULL_OK)
        status = lull_helper_read(text, "openmp", bench->arena, &output, err);
    if (status != LULL_OK)
        return status;
    job->library = output.library;
    add_rounds(bench, task, &output, knows ? lull_steal_share(&before, &after) : NAN);
    return LULL_OK;
}

/* ---- environment ----------------------------------------------------------------------------- */

const char *lull_openmp_settings(const char *const *environment, struct lull_arena *arena)
{
    static const char *const prefixes[] = {"OMP_", "GOMP_", "KMP_", "LIBOMP_"};
    static const char *const own[] = {"OMP_PROC_BIND=", "OMP_DYNAMIC=", "OMP_PLACES="};
    const char *list = "";
    for (size_t i = 0; environment[i]; i++) {
        bool shown = false;
        for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++)
            shown |= strncmp(environment[i], prefixes[k], strlen(prefixes[k])) == 0;
        for (size_t k = 0; k < sizeof own / sizeof *own; k++)
            shown &= strncmp(environment[i], own[k], strlen(own[k])) != 0;
        if (shown)
            list = lull_arena_printf(arena, "%s%s%s", list, *list ? " " : "", environment[i]);
    }
    return list;
}

/* ---- finish ---------------------------------------------------------------------------------- */

static const struct lull_probe *find_construct_probe(const struct lull_bench *bench,
                                                     const struct lull_benchmark *self,
                                                     const char *name)
{
    for (size_t i = 0; i < bench->n_probes; i++)
        if (bench->probes[i].of == self && strcmp(bench->probes[i].name, name) == 0)
            return &bench->probes[i];
    return NULL;
}

static void add_overhead(struct lull_bench *bench, const struct lull_benchmark *self,
                         const struct construct_job *job, const char *construct, unsigned threads)
{
    const struct lull_probe *test =
        find_construct_probe(bench, self, name_construct(bench, job, construct, "test", threads));
    const struct lull_probe *reference = find_construct_probe(
        bench, self, name_construct(bench, job, construct, "reference", threads));
    if (!test || !reference)
        return;
    size_t rounds = test->n_rounds < reference->n_rounds ? test->n_rounds : reference->n_rounds;
    struct lull_number low, median;
    lull_overhead_of(test->rounds, reference->rounds, rounds, bench->settings.precision,
                     bench->arena, &low, &median);
    low.name = lull_bench_text(bench, "openmp.%s.%s.%u", job->compiler, construct, threads);
    median.name = name_construct(bench, job, construct, "median", threads);
    lull_machine_set(bench->machine, bench->arena, &low);
    lull_machine_set(bench->machine, bench->arena, &median);
}

/* Only its own setting is known here; the others are the user's, or the runtime's defaults. */
static const char *describe_environment(struct lull_bench *bench, const struct construct_job *job)
{
    const char *set = lull_openmp_settings((const char *const *)environ, bench->arena);
    return lull_bench_text(bench, "%s; by lull: OMP_PROC_BIND=close OMP_DYNAMIC=false %s",
                           *set ? set : "nothing set", job->places);
}

static lull_status finish_constructs(const struct lull_benchmark *self, struct lull_bench *bench,
                                     struct lull_error *err)
{
    (void)err;
    for (size_t i = 0; i < bench->n_tasks; i++) {
        const struct construct_job *job = bench->tasks[i].data;
        if (bench->tasks[i].of != self || !job->library)
            continue;
        for (size_t k = 0; k < CONSTRUCTS; k++)
            for (size_t c = 0; c < job->n_counts; c++)
                add_overhead(bench, self, job, constructs[k], job->counts[c]);
        const char **openmp = &bench->machine->provenance.openmp;
        bench->machine->provenance.openmp_environment = describe_environment(bench, job);
        *openmp = *openmp ? lull_bench_text(bench, "%s; %s", *openmp, job->library) : job->library;
    }
    return LULL_OK;
}

const struct lull_benchmark lull_bench_openmp_gcc = {
    .name = "openmp-gcc",
    .group = "openmp",
    .summary = "what constructs of OpenMP cost, compiled with gcc",
    .plan = plan_constructs,
    .finish = finish_constructs,
};

const struct lull_benchmark lull_bench_openmp_clang = {
    .name = "openmp-clang",
    .group = "openmp",
    .summary = "what constructs of OpenMP cost, compiled with clang",
    .plan = plan_constructs,
    .finish = finish_constructs,
};
