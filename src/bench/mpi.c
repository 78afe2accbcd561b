/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages: a helper program of each family of MPI libraries measures; it is started several
 * times. */
#include "bench/benchmark.h"
#include "bench/helper_program.h"
#include "bench/network_fit.h"
#include "bench/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== results ================================================================================= */

/* ---- rounds ---------------------------------------------------------------------------------- */

/* What becomes of a kind of measurement. */
static const struct kind {
    const char *what;
    const char *unit;
    bool raw;       /* it becomes no number itself, only what is derived from it */
    bool sized;     /* the size is part of the name */
    bool bandwidth; /* bytes per time */
} kinds[] = {{"pingpong", "s", true, true, false}, {"loggp", "s", true, false, false},
             {"overlap", "s", true, true, false},  {"halo", "s", false, true, false},
             {"pairs", "B/s", false, true, true},  {"barrier", "s", false, false, false},
             {"bcast", "s", false, true, false},   {"allreduce", "s", false, true, false},
             {"alltoall", "s", false, true, false}};

enum { KINDS = sizeof kinds / sizeof *kinds };

static const struct kind *kind_of(const char *what)
{
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].what, what) == 0)
            return &kinds[i];
    return NULL;
}

/* "mpi.pingpong.socket.1024.2", "mpi.loggp.burst.socket.2", "mpi.allreduce.4.2" */
static const char *name_measurement(struct lull_bench *bench,
                                    const struct lull_helper_record *record,
                                    const struct kind *kind)
{
    char size[32] = "";
    if (kind->sized)
        snprintf(size, sizeof size, ".%llu", (unsigned long long)record->bytes);
    return lull_bench_text(bench, "mpi.%s%s%s%s%s%s.%u", record->what, record->detail ? "." : "",
                           record->detail ? record->detail : "", record->level ? "." : "",
                           record->level ? record->level : "", size, record->ranks);
}

/* One round for each measurement of a launch: "mpi.barrier.2" and others as numbers, the raw times
 * of ping-pong, LogGP and overlap as points. `steal`: share of the time that the hypervisor took,
 * or NAN. */
static void mpi_add_rounds(struct lull_bench *bench, const struct lull_task *task,
                           const struct lull_helper_output *output, double steal)
{
    for (size_t i = 0; i < output->n_records; i++) {
        const struct lull_helper_record *record = &output->records[i];
        const struct kind *kind = kind_of(record->what);
        if (!kind || record->n_samples == 0)
            continue;
        struct lull_probe probe = {.name = name_measurement(bench, record, kind),
                                   .unit = kind->unit,
                                   .amount = kind->bandwidth ? (double)record->bytes : 0,
                                   .point = kind->raw};
        struct lull_round round =
            lull_round_of_samples(record->samples, record->n_samples, LULL_BENCH_QUANTILE);
        round.repetitions = record->repetitions;
        round.interrupted = record->interrupted;
        round.steal = steal;
        if (round.value > 0)
            lull_bench_add_round(bench, lull_bench_probe_for(bench, task, &probe), &round);
        /* The delay is a measurement of its own. */
        if (record->detail && strcmp(record->detail, "delayed") == 0 && !isnan(record->value)) {
            struct lull_round delay = {.value = record->value,
                                       .low = record->value,
                                       .high = record->value,
                                       .median = record->value,
                                       .cycle = NAN,
                                       .lost = NAN,
                                       .blocks = 1,
                                       .repetitions = 1,
                                       .steal = steal};
            probe.name = lull_bench_text(bench, "mpi.loggp.delay.%s.2", record->level);
            lull_bench_add_round(bench, lull_bench_probe_for(bench, task, &probe), &delay);
        }
    }
}

/* ---- levels ---------------------------------------------------------------------------------- */

struct context {
    struct lull_bench *bench;
    const struct lull_benchmark *self;
};

static const struct lull_probe *find_message_probe(const struct context *context, const char *name)
{
    for (size_t i = 0; i < context->bench->n_probes; i++) {
        const struct lull_probe *probe = &context->bench->probes[i];
        if (probe->of == context->self && strcmp(probe->name, name) == 0 && probe->n_rounds)
            return probe;
    }
    return NULL;
}

static int by_x(const void *a, const void *b)
{
    const struct lull_series_point *p = a, *q = b;
    return (p->x > q->x) - (p->x < q->x);
}

/* The curve "pingpong.<level>"; NULL without points. Verdicts are counted by kind. */
static struct lull_series *add_curve(const struct context *context, const char *level,
                                     size_t verdicts[LULL_VERDICT_PUBLISHED + 1])
{
    struct lull_bench *bench = context->bench;
    const char *prefix = lull_bench_text(bench, "mpi.pingpong.%s.", level);
    struct lull_series_point *points =
        lull_arena_zero(bench->arena, bench->n_probes, sizeof *points);
    size_t count = 0, length = strlen(prefix);
    for (size_t i = 0; i < bench->n_probes; i++) {
        const struct lull_probe *probe = &bench->probes[i];
        if (probe->of != context->self || strncmp(probe->name, prefix, length) != 0 ||
            probe->n_rounds == 0)
            continue;
        struct lull_number number =
            lull_probe_number(probe, bench->settings.precision, bench->arena);
        points[count++] =
            (struct lull_series_point){(double)strtoull(probe->name + length, NULL, 10),
                                       number.value, number.low, number.high};
        verdicts[number.verdict]++;
    }
    if (count == 0)
        return NULL;
    qsort(points, count, sizeof *points, by_x);
    struct lull_series *series = lull_bench_series(bench);
    *series = (struct lull_series){
        .name = lull_bench_text(bench, "pingpong.%s", level),
        .title = lull_bench_text(bench, "Time of a message, one way, level %s", level),
        .x_label = "size",
        .x_unit = "B",
        .y_label = "time",
        .y_unit = "s",
        .points = points,
        .n_points = count};
    return series;
}

/* The verdict that most points have. */
static enum lull_verdict common(const size_t verdicts[LULL_VERDICT_PUBLISHED + 1])
{
    int best = LULL_VERDICT_NOT_CONVERGED;
    for (int i = LULL_VERDICT_QUIET; i <= LULL_VERDICT_NOT_CONVERGED; i++)
        if (verdicts[i] > verdicts[best])
            best = i;
    return (enum lull_verdict)best;
}

static double *values_of(const struct lull_probe *probe, size_t count, struct lull_arena *arena)
{
    double *values = lull_arena_alloc(arena, (count + 1) * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = probe->rounds[i].value;
    return values;
}

static void add_loggp(const struct context *context, struct lull_network_level *level)
{
    static const char *const parts[] = {"one", "burst", "delayed", "delay"};
    const struct lull_probe *probes[4];
    struct lull_arena *arena = context->bench->arena;
    size_t rounds = SIZE_MAX;
    for (int i = 0; i < 4; i++) {
        probes[i] = find_message_probe(
            context, lull_bench_text(context->bench, "mpi.loggp.%s.%s.2", parts[i], level->name));
        if (!probes[i])
            return;
        rounds = probes[i]->n_rounds < rounds ? probes[i]->n_rounds : rounds;
    }
    const struct lull_loggp_rounds trips = {.one = values_of(probes[0], rounds, arena),
                                            .burst = values_of(probes[1], rounds, arena),
                                            .delayed = values_of(probes[2], rounds, arena),
                                            .delay = values_of(probes[3], rounds, arena),
                                            .rounds = rounds,
                                            .messages = probes[1]->rounds[0].repetitions,
                                            .precision = context->bench->settings.precision};
    if (trips.messages >= 2)
        lull_loggp_of(&trips, arena, level);
}

/* 0 B, 1 KiB and 1 MiB are numbers too. */
static void add_numbers(const struct context *context, const char *level)
{
    static const unsigned long sizes[] = {0, 1024, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct lull_probe *probe = find_message_probe(
            context, lull_bench_text(context->bench, "mpi.pingpong.%s.%lu.2", level, sizes[i]));
        if (!probe)
            continue;
        struct lull_number number =
            lull_probe_number(probe, context->bench->settings.precision, context->bench->arena);
        lull_machine_set(context->bench->machine, context->bench->arena, &number);
    }
}

/* Adds the overlap of an exchange of so many bytes. */
static void add_overlap(const struct context *context, const char *level, unsigned long bytes)
{
    static const char *const parts[] = {"exchange", "compute", "both"};
    struct lull_bench *bench = context->bench;
    const struct lull_probe *probes[3];
    size_t rounds = SIZE_MAX, count = 0;
    enum lull_verdict verdict = LULL_VERDICT_QUIET;
    for (int i = 0; i < 3; i++) {
        probes[i] = find_message_probe(
            context, lull_bench_text(bench, "mpi.overlap.%s.%s.%lu.2", parts[i], level, bytes));
        if (!probes[i])
            return;
        rounds = probes[i]->n_rounds < rounds ? probes[i]->n_rounds : rounds;
        enum lull_verdict of_part =
            lull_probe_number(probes[i], bench->settings.precision, bench->arena).verdict;
        verdict = of_part > verdict ? of_part : verdict; /* a derived number is no surer than its
                                                            parts */
    }
    double *values = lull_arena_alloc(bench->arena, rounds * sizeof *values);
    for (size_t i = 0; i < rounds; i++) {
        double share = lull_overlap(probes[0]->rounds[i].value, probes[1]->rounds[i].value,
                                    probes[2]->rounds[i].value);
        if (!isnan(share))
            values[count++] = share;
    }
    struct lull_number overlap = lull_number_plain(NAN, "1", "p10");
    if (count == 0)
        return;
    bool sure = lull_number_of_visits(&overlap, values, count, 0, bench->settings.precision);
    overlap.verdict = sure ? verdict : LULL_VERDICT_NOT_CONVERGED;
    overlap.name = lull_bench_text(bench, "mpi.overlap.%s.%lu.2", level, bytes);
    lull_machine_set(bench->machine, bench->arena, &overlap);
}

static void finish_level(const struct context *context, const struct lull_helper_level *named,
                         uint64_t eager)
{
    struct lull_bench *bench = context->bench;
    size_t verdicts[LULL_VERDICT_PUBLISHED + 1] = {0};
    struct lull_network_level level = {.name = named->name,
                                       .about = named->about,
                                       .has_eager_limit = eager != UINT64_MAX,
                                       .eager_limit = eager != UINT64_MAX ? eager : 0,
                                       .latency = lull_number_empty(),
                                       .overhead = lull_number_empty(),
                                       .gap = lull_number_empty(),
                                       .gap_per_byte = lull_number_empty()};
    const struct lull_series *curve = add_curve(context, named->name, verdicts);
    struct lull_error problem;
    if (!curve)
        return;
    lull_status status =
        lull_network_fit(curve->points, curve->n_points, level.has_eager_limit, eager, bench->arena,
                         &level.ranges, &level.n_ranges, &problem);
    if (status != LULL_OK)
        lull_bench_skip(bench, "messages at level %s: %s", named->name, problem.text);
    for (size_t i = 0; i < level.n_ranges; i++) {
        level.ranges[i].bandwidth.verdict = common(verdicts);
        if (level.ranges[i].latency.verdict != LULL_VERDICT_BELOW_RESOLUTION)
            level.ranges[i].latency.verdict = common(verdicts);
    }
    add_loggp(context, &level);
    double per_byte = lull_gap_per_byte(curve->points, curve->n_points);
    if (!isnan(per_byte)) {
        level.gap_per_byte = lull_number_plain(per_byte, "s/B", "fit");
        level.gap_per_byte.verdict = common(verdicts);
    }
    struct lull_machine *machine = bench->machine;
    size_t capacity = machine->n_network;
    machine->network = lull_arena_grow(bench->arena, machine->network, &capacity,
                                       machine->n_network + 1, sizeof *machine->network);
    machine->network[machine->n_network++] = level;
    add_numbers(context, named->name);
    add_overlap(context, named->name, 8192);
    add_overlap(context, named->name, 1 << 20);
}

/* Fills in levels of the network, curves and derived numbers, from the rounds of all launches.
 * `output`: of the last launch, for the levels that it names; `eager`: the limit of each of these
 * levels, UINT64_MAX: none. */
static void mpi_finish(struct lull_bench *bench, const struct lull_benchmark *self,
                       const struct lull_helper_output *output, const uint64_t *eager)
{
    const struct context context = {bench, self};
    for (size_t i = 0; i < output->n_levels; i++)
        finish_level(&context, &output->levels[i], eager[i]);
    bench->machine->provenance.mpi = output->library;
}

/* ==== mpi ===================================================================================== */

enum { MESSAGE_PASSES = 2, MOST_RANKS = 64, MOST_WORDS = LULL_BENCH_LAUNCH_WORDS + 16 };

static const unsigned message_launches[LULL_EFFORTS] = {4, 6, 9};

#define MESSAGE_START_SECONDS 1.5 /* s that a start is expected to take, before one was seen */
#define MESSAGE_PATIENCE      20  /* s beyond thrice the expected time */

static const struct family {
    const char *name, *helper;
    const char *launchers[4];
    const char *arguments[3]; /* for its own launcher */
} families[] = {
    {"openmpi", "lull-bench-openmpi", {"mpirun.openmpi", "mpirun"}, {"--bind-to", "none"}},
    {"mpich", "lull-bench-mpich", {"mpirun.mpich", "mpiexec.hydra", "mpirun"}, {NULL}},
};

enum { FAMILIES = sizeof families / sizeof *families };

struct message_job {
    const struct family *family; /* the one that worked */
    bool given_up;
    double start_seconds;
    struct lull_helper_output output; /* of the last launch */
    uint64_t eager[8];                /* by its levels; UINT64_MAX: none found */
};

/* ---- the command line ------------------------------------------------------------------------ */

struct words {
    const char *items[MOST_WORDS];
    size_t count;
};

static void add_word(struct words *words, const char *word)
{
    if (words->count + 1 < MOST_WORDS)
        words->items[words->count++] = word;
}

static unsigned rank_count(const struct lull_bench *bench)
{
    size_t cores = bench->topology->n_cores;
    return cores > MOST_RANKS ? MOST_RANKS : (unsigned)cores;
}

/* The family's own launcher with one rank per core. False where it has none. */
static bool add_launcher(struct words *words, const struct lull_bench *bench,
                         const struct family *family)
{
    const char *launcher = NULL;
    for (int i = 0; i < 4 && family->launchers[i] && !launcher; i++)
        launcher = lull_launch_find(family->launchers[i], bench->arena);
    if (!launcher)
        return false;
    add_word(words, launcher);
    for (int i = 0; i < 3 && family->arguments[i]; i++)
        add_word(words, family->arguments[i]);
    add_word(words, "-n");
    add_word(words, lull_arena_printf(bench->arena, "%u", rank_count(bench)));
    return true;
}

/* "0,2,4": the cores' hardware threads, as many as there are ranks. */
static const char *cpu_list(const struct lull_bench *bench)
{
    const char *list = "";
    for (size_t i = 0; i < bench->topology->n_cores && i < MOST_RANKS; i++)
        list = lull_arena_printf(bench->arena, "%s%s%u", list, i ? "," : "",
                                 bench->topology->cores[i].cpu);
    return list;
}

static bool make_command(struct words *words, struct lull_bench *bench, const struct family *family,
                         double seconds)
{
    const char *helper = lull_bench_helper(bench, family->helper);
    for (const char *const *word = bench->settings.mpi_launch; word && *word; word++)
        add_word(words, *word);
    if (!bench->settings.mpi_launch && !add_launcher(words, bench, family))
        return false;
    add_word(words, helper);
    add_word(words, "--seconds");
    add_word(words, lull_bench_text(bench, "%.2f", seconds));
    add_word(words, "--passes");
    add_word(words, lull_bench_text(bench, "%d", MESSAGE_PASSES));
    if (!bench->settings.mpi_launch) {
        add_word(words, "--cpus");
        add_word(words, cpu_list(bench));
    }
    return true;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* The limits that the helper found, by level. */
static void keep_eager_limits(struct message_job *job)
{
    const struct lull_helper_output *output = &job->output;
    for (size_t i = 0; i < 8; i++)
        job->eager[i] = UINT64_MAX;
    for (size_t i = 0; i < output->n_records; i++)
        for (size_t k = 0; k < output->n_levels && k < 8; k++)
            if (strcmp(output->records[i].what, "eager") == 0 && output->records[i].level &&
                strcmp(output->records[i].level, output->levels[k].name) == 0)
                job->eager[k] = output->records[i].bytes;
}

static lull_status launch(struct lull_bench *bench, const struct lull_task *task,
                          const struct family *family, double seconds, struct lull_error *err)
{
    struct message_job *job = task->data;
    struct words words = {.count = 0};
    double wanted = fmax(1, seconds - job->start_seconds);
    if (!make_command(&words, bench, family, wanted))
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "no %s was found", family->launchers[0]);
    const struct lull_launch command = {
        .command = words.items, .seconds = 3 * wanted + MESSAGE_PATIENCE, .last = LULL_HELPER_LAST};
    struct lull_steal before = {0}, after = {0};
    const char *text;
    double begin = lull_bench_now();
    bool knows = lull_steal_read(&before);
    lull_status status = lull_launch_run(&command, bench->arena, &text, err);
    knows = knows && lull_steal_read(&after);
    if (status == LULL_OK)
        status = lull_helper_read(text, "mpi", bench->arena, &job->output, err);
    if (status != LULL_OK)
        return status;
    job->start_seconds = fmax(0, lull_bench_now() - begin - wanted);
    keep_eager_limits(job);
    mpi_add_rounds(bench, task, &job->output, knows ? lull_steal_share(&before, &after) : NAN);
    return LULL_OK;
}

/* The first family that works is measured; what the others say becomes a remark. */
static lull_status visit_messages(struct lull_bench *bench, const struct lull_task *task,
                                  double seconds, struct lull_error *err)
{
    struct message_job *job = task->data;
    if (job->family)
        return launch(bench, task, job->family, seconds, err);
    for (size_t i = 0; i < FAMILIES && !job->family && !job->given_up; i++) {
        const struct family *family = &families[i];
        struct lull_error problem;
        if ((bench->settings.mpi && strcmp(bench->settings.mpi, family->name) != 0) ||
            !lull_bench_helper(bench, family->helper))
            continue;
        lull_status status = launch(bench, task, family, seconds, &problem);
        if (status == LULL_ERR_CANCELLED)
            return status;
        if (status == LULL_OK)
            job->family = family;
        else
            lull_bench_skip(bench, "MPI (%s): %s", family->name, problem.text);
    }
    job->given_up = !job->family;
    return LULL_OK;
}

static lull_status plan_messages(const struct lull_benchmark *self, struct lull_bench *bench,
                                 struct lull_error *err)
{
    (void)err;
    bool any = false;
    if (bench->topology->n_cores < 2 && !bench->settings.mpi_launch) {
        lull_bench_skip(bench, "MPI: on one core ranks wait for the scheduler, not for messages");
        return LULL_OK;
    }
    for (size_t i = 0; i < FAMILIES; i++)
        any |= (!bench->settings.mpi || strcmp(bench->settings.mpi, families[i].name) == 0) &&
               lull_bench_helper(bench, families[i].helper);
    if (!any) {
        lull_bench_skip(bench, "MPI: lull was built without %s",
                        bench->settings.mpi ? bench->settings.mpi : "an MPI library");
        return LULL_OK;
    }
    struct message_job *job = lull_arena_zero(bench->arena, 1, sizeof *job);
    job->start_seconds = MESSAGE_START_SECONDS;
    const struct lull_task task = {.name = self->name,
                                   .visit = visit_messages,
                                   .data = job,
                                   .visits = message_launches[bench->settings.effort]};
    lull_bench_task(bench, &task);
    return LULL_OK;
}

static lull_status finish_messages(const struct lull_benchmark *self, struct lull_bench *bench,
                                   struct lull_error *err)
{
    (void)err;
    for (size_t i = 0; i < bench->n_tasks; i++) {
        const struct message_job *job = bench->tasks[i].data;
        if (bench->tasks[i].of == self && job->family)
            mpi_finish(bench, self, &job->output, job->eager);
    }
    return LULL_OK;
}

const struct lull_benchmark lull_bench_mpi = {
    .name = "mpi",
    .group = "mpi",
    .summary = "messages and collectives of an MPI library: ping-pong, LogGP, halo, overlap",
    .plan = plan_messages,
    .finish = finish_messages,
};
