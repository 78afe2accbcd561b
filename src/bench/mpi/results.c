#include "bench/mpi/mpi.h"

#include "bench/mpi/network.h"
#include "bench/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rounds ---------------------------------------------------------------------------------- */

/* What becomes of a measurement. */
static const struct kind {
    const char *what;
    const char *unit;
    bool raw;       /* only what is derived from it is a number */
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

void lull_mpi_add_rounds(struct lull_bench *bench, const struct lull_task *task,
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

/* The one that most points have. */
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

/* Its number of bytes is that of the exchange. */
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
        verdict = of_part > verdict ? of_part : verdict; /* what is derived is no surer */
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

void lull_mpi_finish(struct lull_bench *bench, const struct lull_benchmark *self,
                     const struct lull_helper_output *output, const uint64_t *eager)
{
    const struct context context = {bench, self};
    for (size_t i = 0; i < output->n_levels; i++)
        finish_level(&context, &output->levels[i], eager[i]);
    bench->machine->provenance.mpi = output->library;
}
