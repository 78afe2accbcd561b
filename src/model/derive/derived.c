#include "base/collective.h"
#include "base/output_file.h"
#include "model/derive/deriving.h"
#include "model/program/primitive/collective_form.h"

#include <math.h>
#include <string.h>

/* What messages cost where the runs cannot say it: their content, and all where there are none. */
static const double assumed_bandwidth = 1e10, assumed_latency = 1e-6;

/* ---- collective operations ------------------------------------------------------------------ */

/* Operations whose parts may differ in size, and their like, are those of equal parts. */
static const struct kin {
    uint8_t operation, primitive;
    const char *algorithm;
} kin[] = {
    {LULL_COLLECTIVE_GATHERV, LULL_COLLECTIVE_GATHER, "linear"},
    {LULL_COLLECTIVE_SCATTERV, LULL_COLLECTIVE_SCATTER, "linear"},
    {LULL_COLLECTIVE_ALLGATHERV, LULL_COLLECTIVE_ALLGATHER, LULL_COLLECTIVE_PRESUMED},
    {LULL_COLLECTIVE_ALLTOALLV, LULL_COLLECTIVE_ALLTOALL, "linear"},
    {LULL_COLLECTIVE_ALLTOALLW, LULL_COLLECTIVE_ALLTOALL, "linear"},
    {LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK, LULL_COLLECTIVE_REDUCE_SCATTER,
     LULL_COLLECTIVE_PRESUMED},
    {LULL_COLLECTIVE_EXSCAN, LULL_COLLECTIVE_SCAN, LULL_COLLECTIVE_PRESUMED},
};

/* The primitive for an operation, NULL: there is none, and the algorithm that it is presumed to
 * take. */
static const char *primitive_of(uint8_t operation, const char **ret_algorithm)
{
    const struct lull_collective_form *form = lull_collective_forms;
    *ret_algorithm = LULL_COLLECTIVE_PRESUMED;
    for (size_t i = 0; i < sizeof kin / sizeof *kin; i++)
        if (kin[i].operation == operation) {
            operation = kin[i].primitive;
            *ret_algorithm = kin[i].algorithm;
            break;
        }
    while (form->primitive && form->operation != operation)
        form++;
    return form->primitive;
}

static const struct lull_collective_form *form_at(const char *primitive, const char *algorithm,
                                                  double processes, double bytes)
{
    return strcmp(algorithm, LULL_COLLECTIVE_PRESUMED) == 0
               ? lull_collective_form_presume(primitive, processes, bytes)
               : lull_collective_form_find(primitive, algorithm);
}

/* What the primitive calls bytes, from what a process sends on average. */
static double bytes_of(const struct lull_measured_collective *collective, size_t run,
                       double processes)
{
    switch (collective->operation) {
    case LULL_COLLECTIVE_BCAST: /* the root alone sends */
        return collective->bytes[run] * processes;
    case LULL_COLLECTIVE_ALLTOALL:
    case LULL_COLLECTIVE_ALLTOALLV:
    case LULL_COLLECTIVE_ALLTOALLW:
        return collective->bytes[run] / processes;
    default: /* of a scatter, the root sends the parts of all: on average one each */
        return collective->bytes[run];
    }
}

static void write_collective(struct deriving *deriving,
                             const struct lull_measured_collective *collective)
{
    const struct lull_measured_runs *runs = deriving->runs;
    const char *name = lull_collective_name(collective->operation), *algorithm;
    const char *primitive = primitive_of(collective->operation, &algorithm), *said = "";
    if (!primitive) {
        fprintf(deriving->out, "    -- %s: no term explains it\n", name);
        return;
    }
    double *bytes = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *bytes);
    for (size_t i = 0; i < runs->n_runs; i++) {
        double processes = runs->links[i].processes;
        bytes[i] = bytes_of(collective, i, processes);
        if (processes < 2)
            continue;
        const struct lull_collective_form *form =
            form_at(primitive, algorithm, processes, bytes[i]);
        deriving->latencies[i] += collective->calls[i] * form->steps(processes);
        deriving->content[i] += collective->calls[i] * form->volume(processes, bytes[i]);
        said = form->algorithm;
    }
    struct lull_derived_law calls = lull_derive_law_of_numbers(deriving, collective->calls);
    struct lull_derived_law size = lull_derive_law_of_numbers(deriving, bytes);
    fprintf(deriving->out,
            "    -- %s: its calls %s, its bytes %s. A run does not show the algorithm:\n"
            "    -- presumed as MPICH chooses by size, %s at the largest run\n"
            "    {name = \"%s\", every = function(p) return measured_iterations / (",
            name, lull_derive_exactness(calls.residual, deriving->arena),
            lull_derive_exactness(size.residual, deriving->arena), *said ? said : algorithm, name);
    lull_derive_write_law(deriving, &calls);
    fprintf(deriving->out, ") end, time = function(p)\n      return %s{", primitive);
    fprintf(deriving->out, "algorithm = \"%s\"", algorithm);
    if (size.coefficient > 0) {
        fprintf(deriving->out, ", bytes = ");
        lull_derive_write_law(deriving, &size);
    }
    fprintf(deriving->out, "}\n    end},\n");
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Messages to a neighbour where that is one number, else calls of the operation that is called
 * most. */
static double find_iterations(const struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double most = 1;
    for (size_t i = 0; i < runs->n_runs; i++)
        if (deriving->shape.kind != LULL_SHAPE_NONE && deriving->shape.kind != LULL_SHAPE_IRREGULAR)
            most = fmax(most, deriving->fitted[i].messages);
    if (most > 1)
        return most;
    for (size_t c = 0; c < runs->n_collectives; c++)
        most = fmax(most, runs->collectives[c].calls[runs->n_runs - 1]);
    return floor(most);
}

static double seconds_of_content(const struct deriving *deriving, size_t run)
{
    return deriving->content[run] * lull_derive_share(deriving, run) / assumed_bandwidth;
}

/* Seconds for each message on the path of a process that are left of a run when computation,
 * content and `message` seconds of each message are taken away, by least squares over the runs
 * whose processes share cores or over the others. `scaled`: a message takes as many times as long
 * as a core has processes. NAN: there is no message in these runs. */
static double find_left(const struct deriving *deriving, bool shares, double message, bool scaled)
{
    double first = 0, second = 0;
    for (size_t i = 0; i < deriving->runs->n_runs; i++) {
        double share = lull_derive_share(deriving, i);
        if ((share > 1) != shares)
            continue;
        double messages = deriving->latencies[i] * (scaled ? share : 1);
        double left = deriving->runs->seconds[i] - deriving->computation[i] -
                      seconds_of_content(deriving, i) - deriving->latencies[i] * share * message;
        first += fmax(0, left) * messages;
        second += messages * messages;
    }
    return second > 0 ? first / second : NAN;
}

/* What a message takes of a core: from the run whose marks are known, the last one without shared
 * cores; no more than what is left of runs. */
static double find_message_of_core(const struct deriving *deriving, double most)
{
    const struct lull_measured_runs *runs = deriving->runs;
    size_t last = runs->n_runs;
    while (last > 0 && lull_derive_share(deriving, last - 1) > 1)
        last--;
    double messages = last > 0 ? deriving->latencies[last - 1] / deriving->iterations : 0;
    double least =
        lull_time_in_mpi_least(runs->marks, runs->n_marks, deriving->iterations, deriving->arena);
    return messages > 0 ? fmin(most, least / messages) : most; /* fmin leaves NAN out */
}

static struct lull_message_times find_message_times(const struct deriving *deriving)
{
    double alone = find_left(deriving, false, 0, true), shared = find_left(deriving, true, 0, true);
    struct lull_message_times times = {.alone = isnan(alone) ? shared : alone};
    if (isnan(times.alone))
        times.alone = assumed_latency;
    if (isnan(shared))
        return times;
    times.is_shared = true;
    times.of_core = find_message_of_core(deriving, fmin(alone, shared));
    times.turn = find_left(deriving, true, times.of_core, false);
    return times;
}

static double seconds_of_turns(const struct deriving *deriving,
                               const struct lull_message_times *times, size_t run)
{
    return lull_derive_share(deriving, run) > 1 ? deriving->latencies[run] * times->turn : 0;
}

static double seconds_of_messages(const struct deriving *deriving,
                                  const struct lull_message_times *times, size_t run)
{
    double share = lull_derive_share(deriving, run);
    return deriving->latencies[run] * share * (share > 1 ? times->of_core : times->alone) +
           seconds_of_turns(deriving, times, run);
}

static void write_message_times(const struct deriving *deriving,
                                const struct lull_message_times *times)
{
    fprintf(deriving->out,
            "    -- what computation leaves of the runs, for each message on the way of a process\n"
            "    {name = \"T\", unit = \"s\", default = %.6g, fit = true, machine = "
            "\"network.latency\", about = \"time of a message\"},\n",
            times->alone);
    if (times->is_shared)
        fprintf(
            deriving->out,
            "    -- where processes share cores: what it takes of a core, as of the process that "
            "waits\n    -- least, and what is left of the runs then, however many share one\n"
            "    {name = \"T_core\", unit = \"s\", default = %.6g, about = \"time of a message on "
            "a shared core, for each of its processes\"},\n"
            "    {name = \"T_turn\", unit = \"s\", default = %.6g, about = \"further time of a "
            "message until its process has its turn on a shared core\"},\n",
            times->of_core, times->turn);
}

static void write_head(const struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    fprintf(deriving->out, "-- Derived by lull from %zu runs:\n", runs->n_runs);
    for (size_t i = 0; i < runs->n_runs; i++) {
        fprintf(deriving->out, "--   %s: %u processes, ",
                lull_derive_quoted(deriving, runs->names[i]), runs->links[i].processes);
        if (runs->size_name)
            fprintf(deriving->out, "%s = %.10g, ", runs->size_name, runs->size[i]);
        fprintf(deriving->out, "%.6g s\n", runs->seconds[i]);
    }
    fprintf(deriving->out, "-- Messages: %s.\n\n", lull_shape_name(&deriving->shape));
    fprintf(deriving->out, "local measured_iterations = %.17g\n\n", deriving->iterations);
    lull_derive_write_sharing(deriving);
    if (deriving->shape.kind == LULL_SHAPE_GRID)
        lull_derive_write_extents(deriving);
}

/* A process that has as much to do on any number of them is one of weak scaling. */
static void write_work(const struct deriving *deriving)
{
    struct lull_derived_law law = lull_derive_law_of_times(deriving, deriving->runs->useful);
    if (law.exponents[0] == 0)
        fprintf(deriving->out,
                "  work = function(p) return p.P end, -- weak scaling: a process has "
                "as much to do on any number\n");
}

/* How well the terms meet the runs: with the useful time that was measured, and for further runs by
 * its law. */
static void write_quality(const struct deriving *deriving, const struct lull_message_times *times)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double *predicted = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *predicted);
    struct lull_derived_law useful = lull_derive_law_of_times(deriving, runs->useful);
    double *by_law = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *by_law);
    double *unsure = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *unsure);
    for (size_t i = 0; i < runs->n_runs; i++) {
        predicted[i] = deriving->computation[i] + seconds_of_content(deriving, i) +
                       seconds_of_messages(deriving, times, i);
        double of_law =
            lull_law_at(&useful, deriving->by_processes[i]) * lull_derive_crowding_at(deriving, i);
        by_law[i] = predicted[i] + lull_derive_share(deriving, i) * (of_law - runs->useful[i]);
        unsure[i] = seconds_of_turns(deriving, times, i);
    }
    lull_derive_write_uncertainty(deriving, by_law, unsure);
    fprintf(deriving->out, "}\n");
    for (size_t i = 0; i < runs->n_runs; i++)
        fprintf(deriving->out, "-- %s: the terms explain %.1f %% of the time\n",
                lull_derive_quoted(deriving, runs->names[i]),
                100 * predicted[i] / runs->seconds[i]);
}

/* Behind the terms, when it is known what they send. */
static void write_rest(const struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    const struct lull_message_times times = find_message_times(deriving);
    fprintf(deriving->out, "  },\n");
    lull_derive_write_network(deriving, &times);
    fprintf(deriving->out,
            "  parameters = {\n"
            "    {name = \"P\", unit = \"1\", default = %u, run = \"processes\", about = "
            "\"processes\"},\n"
            "    {name = \"iterations\", unit = \"1\", default = measured_iterations, about = "
            "\"messages to a neighbour, or calls\"},\n",
            runs->links[runs->n_runs - 1].processes);
    if (runs->size_name)
        fprintf(deriving->out, "    {name = \"%s\", unit = \"1\", default = %.17g},\n",
                runs->size_name, runs->size[runs->n_runs - 1]);
    lull_derive_write_cores_parameter(deriving);
    write_message_times(deriving, &times);
    fprintf(deriving->out,
            "    -- assumed: the runs were not asked\n"
            "    {name = \"B\", unit = \"B/s\", default = %.6g, machine = \"network.bandwidth\", "
            "about = \"bandwidth\"},\n  },\n",
            assumed_bandwidth);
    write_quality(deriving, &times);
}

static void fill_factors(struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    for (size_t i = 0; i < runs->n_runs; i++) {
        deriving->by_processes[i][0] = runs->links[i].processes;
        deriving->by_processes[i][1] = runs->size[i];
        for (unsigned d = 0; d < LULL_SHAPE_DIMENSIONS; d++) {
            uint32_t extent = deriving->fitted[i].extents[d];
            deriving->by_extents[i][d] = extent > 0 ? extent : 1;
        }
        deriving->by_extents[i][LULL_SHAPE_DIMENSIONS] = runs->size[i];
    }
}

void lull_derived_write(const struct lull_measured_runs *runs, struct lull_arena *arena, FILE *out)
{
    size_t n = runs->n_runs;
    struct deriving deriving = {
        .runs = runs,
        .arena = arena,
        .out = out,
        .fitted = lull_arena_zero(arena, n, sizeof *deriving.fitted),
        .by_processes = lull_arena_zero(arena, n, sizeof *deriving.by_processes),
        .by_extents = lull_arena_zero(arena, n, sizeof *deriving.by_extents),
        .computation = lull_arena_zero(arena, n, sizeof *deriving.computation),
        .latencies = lull_arena_zero(arena, n, sizeof *deriving.latencies),
        .content = lull_arena_zero(arena, n, sizeof *deriving.content)};
    deriving.shape = lull_shape_find(runs->links, n, deriving.fitted);
    deriving.iterations = find_iterations(&deriving);
    fill_factors(&deriving);
    lull_derive_find_crowding(&deriving);
    write_head(&deriving);
    fprintf(out,
            "return {\n  title = \"%s\",\n  processes = \"P\",\n  iterations = \"iterations\",\n",
            lull_derive_quoted(&deriving, runs->title));
    write_work(&deriving);
    lull_derive_write_cores(&deriving);
    fprintf(out, "  terms = {\n");
    lull_derive_write_computations(&deriving);
    lull_derive_write_messages(&deriving);
    for (size_t c = 0; c < runs->n_collectives; c++)
        write_collective(&deriving, &runs->collectives[c]);
    write_rest(&deriving);
}

struct saved {
    const struct lull_measured_runs *runs;
    struct lull_arena *arena;
};

static void write_saved(const void *content, FILE *out)
{
    const struct saved *saved = content;
    lull_derived_write(saved->runs, saved->arena, out);
}

lull_status lull_derived_save(const char *path, const struct lull_measured_runs *runs,
                              struct lull_arena *arena, struct lull_error *err)
{
    return lull_file_write(path, write_saved, &(struct saved){runs, arena}, err);
}
