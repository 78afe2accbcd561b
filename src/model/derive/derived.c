#include "model/derive/derived.h"

#include "base/collective.h"
#include "model/program/collective_form.h"
#include "model/program/primitives.h"

#include <math.h>
#include <string.h>

/* What messages cost where the runs cannot say it: their content, and all where there are none. */
static const double assumed_bandwidth = 1e10, assumed_latency = 1e-6;

static const double powers_of_size[] = {1, 2, 3, 0, 0.5, 1.5};
/* Of times: divided, the same on all, on the edge or the surface of what is divided. */
static const double powers_of_times[] = {-1, 0, -0.5, -2.0 / 3};
static const double powers_of_numbers[] = {0, -1, 1, -0.5, -2.0 / 3};
/* Of the extent along a dimension and of the others: what is swapped is usually divided by these.
 */
static const double powers_of_own_extent[] = {0, -1}, powers_of_other_extents[] = {-1, 0};
static const double power_none[] = {0};

struct deriving {
    const struct lull_measured_runs *runs;
    struct lull_arena *arena;
    FILE *out;
    struct lull_shape shape;
    struct lull_fitted_graph *fitted;         /* [n_runs] */
    double iterations;                        /* of the first run */
    double (*by_processes)[LULL_LAW_FACTORS]; /* [n_runs]: processes, size */
    double (*by_extents)[LULL_LAW_FACTORS];   /* [n_runs]: extents, size */
    double *latencies, *content; /* [n_runs]: messages and bytes on the path of a process */
};

/* ---- laws ----------------------------------------------------------------------------------- */

static void set_powers(const double *powers, size_t count, struct lull_law_candidates *candidates)
{
    candidates->exponents[candidates->n_factors] = powers;
    candidates->n_exponents[candidates->n_factors++] = count;
}

static void set_powers_of_size(const struct deriving *deriving,
                               struct lull_law_candidates *candidates)
{
    if (deriving->runs->size_name)
        set_powers(powers_of_size, sizeof powers_of_size / sizeof *powers_of_size, candidates);
    else
        set_powers(power_none, 1, candidates);
}

static struct lull_derived_law law_of(const struct deriving *deriving, const double *powers,
                                      size_t n_powers, const double *y)
{
    struct lull_law_candidates candidates = {.n_factors = 0};
    set_powers(powers, n_powers, &candidates);
    set_powers_of_size(deriving, &candidates);
    return lull_law_find((const double(*)[LULL_LAW_FACTORS])deriving->by_processes, y,
                         deriving->runs->n_runs, &candidates);
}

static struct lull_derived_law law_of_times(const struct deriving *deriving, const double *y)
{
    return law_of(deriving, powers_of_times, sizeof powers_of_times / sizeof *powers_of_times, y);
}

static struct lull_derived_law law_of_numbers(const struct deriving *deriving, const double *y)
{
    return law_of(deriving, powers_of_numbers, sizeof powers_of_numbers / sizeof *powers_of_numbers,
                  y);
}

/* Bytes along a dimension by the extents of the grid. */
static struct lull_derived_law law_of_bytes(const struct deriving *deriving, int dimension,
                                            const double *y)
{
    struct lull_law_candidates candidates = {.n_factors = 0};
    for (int d = 0; d < LULL_SHAPE_DIMENSIONS; d++)
        if (d >= (int)deriving->shape.dimensions)
            set_powers(power_none, 1, &candidates);
        else
            set_powers(d == dimension ? powers_of_own_extent : powers_of_other_extents, 2,
                       &candidates);
    set_powers_of_size(deriving, &candidates);
    return lull_law_find((const double(*)[LULL_LAW_FACTORS])deriving->by_extents, y,
                         deriving->runs->n_runs, &candidates);
}

static void write_power(const struct deriving *deriving, const char *factor, double exponent)
{
    if (exponent == -1)
        fprintf(deriving->out, " / %s", factor);
    else if (exponent == 1)
        fprintf(deriving->out, " * %s", factor);
    else if (exponent != 0)
        fprintf(deriving->out, " * %s^%.17g", factor, exponent);
}

static const char *size_text(const struct deriving *deriving)
{
    return deriving->runs->size_name
               ? lull_arena_printf(deriving->arena, "p.%s", deriving->runs->size_name)
               : "1";
}

static void write_law(const struct deriving *deriving, const struct lull_derived_law *law,
                      double scale)
{
    fprintf(deriving->out, "%.17g", law->coefficient * scale);
    write_power(deriving, "p.P", law->exponents[0]);
    write_power(deriving, size_text(deriving), law->exponents[1]);
}

static void write_law_of_bytes(const struct deriving *deriving, const struct lull_derived_law *law)
{
    static const char *const extents[] = {"g[1]", "g[2]", "g[3]"};
    fprintf(deriving->out, "%.17g", law->coefficient);
    for (int d = 0; d < LULL_SHAPE_DIMENSIONS; d++)
        write_power(deriving, extents[d], law->exponents[d]);
    write_power(deriving, size_text(deriving), law->exponents[LULL_SHAPE_DIMENSIONS]);
}

/* ---- computation ---------------------------------------------------------------------------- */

static double largest_share(const struct deriving *deriving, const double *seconds)
{
    double share = 0;
    for (size_t i = 0; i < deriving->runs->n_runs; i++)
        share = fmax(share, seconds[i] / deriving->runs->seconds[i]);
    return share;
}

static void write_computation(const struct deriving *deriving, const char *name, const char *region,
                              const double *seconds)
{
    struct lull_derived_law law = law_of_times(deriving, seconds);
    fprintf(deriving->out, "    -- up to %.1f %% of the time of a run; the law is within %.1f %%",
            100 * largest_share(deriving, seconds), 100 * law.residual);
    if (isfinite(law.low) && law.high > law.low + 1e-6 * law.high)
        fprintf(deriving->out, ", its coefficient between %.4g and %.4g s", law.low, law.high);
    fprintf(deriving->out, "\n    {name = \"%s\", ", name);
    if (region)
        fprintf(deriving->out, "regions = {\"%s\"}, ", region);
    fprintf(deriving->out, "time = function(p)\n      return compute{seconds = (");
    write_law(deriving, &law, 1);
    fprintf(deriving->out, ") / measured_iterations}\n    end},\n");
}

/* Names come from traces: quotes, backslashes and control characters would end a text. */
static const char *quoted(const struct deriving *deriving, const char *name)
{
    char *copy = lull_arena_strdup(deriving->arena, name);
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c < ' ' || *c == '"' || *c == '\\' || *c == 127)
            *c = '_';
    return copy;
}

static void write_computations(const struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double *extra = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *extra);
    for (size_t i = 0; i < runs->n_regions; i++) {
        const struct lull_measured_region *region = &runs->regions[i];
        const char *name = quoted(deriving, region->name);
        bool is_alone = runs->n_regions == 1 && !*name;
        if (!is_alone && largest_share(deriving, region->useful) < 0.001)
            continue;
        write_computation(deriving,
                          *name ? lull_arena_printf(deriving->arena, "computation in %s", name)
                                : "computation",
                          is_alone           ? "useful"
                          : region->is_whole ? name
                                             : NULL,
                          region->useful);
    }
    for (size_t i = 0; i < runs->n_runs; i++)
        extra[i] = runs->most_useful[i] - runs->useful[i];
    if (largest_share(deriving, extra) > 0.001) {
        fprintf(deriving->out,
                "    -- what the process that computes longest does beyond the mean\n");
        write_computation(deriving, "imbalance", NULL, extra);
    }
}

/* ---- messages ------------------------------------------------------------------------------- */

static bool is_square(const struct deriving *deriving, bool is_reversed)
{
    unsigned n = deriving->shape.dimensions;
    for (size_t i = 0; i < deriving->runs->n_runs; i++) {
        uint32_t square[LULL_SHAPE_DIMENSIONS] = {1, 1, 1};
        lull_grid_divide(deriving->runs->links[i].processes, n, square);
        for (unsigned d = 0; d < n; d++)
            if (deriving->fitted[i].extents[d] != square[is_reversed ? n - 1 - d : d])
                return false;
    }
    return true;
}

static void write_extents(const struct deriving *deriving)
{
    unsigned n = deriving->shape.dimensions;
    static const char *const reversed[] = {"{g[1]}", "{g[2], g[1]}", "{g[3], g[2], g[1]}"};
    fprintf(deriving->out, "-- Extents of the grid; processes along the first follow each other.\n"
                           "local function extents(p)\n");
    if (is_square(deriving, false)) {
        fprintf(deriving->out, "  return grid(p.P, %u)\nend\n\n", n);
        return;
    }
    if (is_square(deriving, true)) {
        fprintf(deriving->out, "  local g = grid(p.P, %u)\n  return %s\nend\n\n", n,
                reversed[n - 1]);
        return;
    }
    fprintf(deriving->out, "  local measured = {");
    for (size_t i = 0; i < deriving->runs->n_runs; i++) {
        const uint32_t *extents = deriving->fitted[i].extents;
        fprintf(deriving->out, "%s[%u] = {", i ? ", " : "", deriving->runs->links[i].processes);
        for (unsigned d = 0; d < n; d++)
            fprintf(deriving->out, "%s%u", d ? ", " : "", extents[d]);
        fprintf(deriving->out, "}");
    }
    fprintf(deriving->out, "}\n  return measured[p.P] or grid(p.P, %u) -- assumed beyond\nend\n\n",
            n);
}

/* Adds what one process sends on its path. */
static void add_halo_path(struct deriving *deriving, size_t run)
{
    const struct lull_fitted_graph *fitted = &deriving->fitted[run];
    for (unsigned d = 0; d < deriving->shape.dimensions; d++) {
        double extent = fitted->extents[d];
        double neighbours = extent == 1 ? 0 : deriving->shape.periodic ? 2 : fmin(2, extent - 1);
        deriving->latencies[run] += neighbours * fitted->messages;
        deriving->content[run] += neighbours * fitted->messages * fitted->bytes[d];
    }
}

static const double *messages_of_runs(const struct deriving *deriving)
{
    double *messages = lull_arena_zero(deriving->arena, deriving->runs->n_runs, sizeof *messages);
    for (size_t i = 0; i < deriving->runs->n_runs; i++)
        messages[i] = deriving->fitted[i].messages;
    return messages;
}

/* Whether the law repeats what was measured, so that what it predicts is more than a guess. */
static const char *exactness(const struct lull_derived_law *law, struct lull_arena *arena)
{
    return law->residual < 1e-9 ? "exactly"
                                : lull_arena_printf(arena, "within %.2g %%", 100 * law->residual);
}

static void write_count(const struct deriving *deriving, const struct lull_derived_law *law)
{
    if (law->exponents[0] == 0 && law->exponents[1] == 0 &&
        law->coefficient == deriving->iterations)
        return;
    fprintf(deriving->out, "count = (");
    write_law(deriving, law, 1);
    fprintf(deriving->out, ") / measured_iterations, ");
}

static void write_halo(struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    struct lull_derived_law count = law_of_numbers(deriving, messages_of_runs(deriving));
    struct lull_derived_law bytes[LULL_SHAPE_DIMENSIONS];
    double *y = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *y), worst = 0;
    for (unsigned d = 0; d < deriving->shape.dimensions; d++) {
        for (size_t i = 0; i < runs->n_runs; i++)
            y[i] = deriving->fitted[i].bytes[d];
        bytes[d] = law_of_bytes(deriving, (int)d, y);
        worst = fmax(worst, bytes[d].residual);
    }
    fprintf(deriving->out,
            "    -- messages to the neighbours of a %s: all of them; their number %s,\n"
            "    -- their bytes %s\n",
            lull_shape_name(&deriving->shape), exactness(&count, deriving->arena),
            worst < 1e-9 ? "exactly"
                         : lull_arena_printf(deriving->arena, "within %.2g %%", 100 * worst));
    if (deriving->shape.is_ambiguous)
        fprintf(deriving->out,
                "    -- (the runs do not tell an open boundary from a periodic one)\n");
    fprintf(deriving->out,
            "    {name = \"neighbours\", time = function(p)\n      local g = extents(p)\n"
            "      return halo{grid = g, periodic = %s, ",
            deriving->shape.periodic ? "true" : "false");
    write_count(deriving, &count);
    fprintf(deriving->out, "bytes = {");
    for (unsigned d = 0; d < deriving->shape.dimensions; d++) {
        fprintf(deriving->out, "%s", d ? ", " : "");
        write_law_of_bytes(deriving, &bytes[d]);
    }
    fprintf(deriving->out, "}}\n    end},\n");
    for (size_t i = 0; i < runs->n_runs; i++)
        add_halo_path(deriving, i);
}

static void write_all_to_all(struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double *y = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *y);
    for (size_t i = 0; i < runs->n_runs; i++) {
        double others = runs->links[i].processes - 1.0;
        y[i] = deriving->fitted[i].bytes[0];
        deriving->latencies[i] += others * deriving->fitted[i].messages;
        deriving->content[i] += others * deriving->fitted[i].messages * y[i];
    }
    struct lull_derived_law bytes = law_of_numbers(deriving, y);
    struct lull_derived_law count = law_of_numbers(deriving, messages_of_runs(deriving));
    fprintf(
        deriving->out,
        "    -- messages from everyone to everyone: their number %s, their bytes %s\n"
        "    {name = \"everyone\", time = function(p)\n      return message{count = (p.P - 1) * (",
        exactness(&count, deriving->arena), exactness(&bytes, deriving->arena));
    write_law(deriving, &count, 1);
    fprintf(deriving->out, ") / measured_iterations, bytes = ");
    write_law(deriving, &bytes, 1);
    fprintf(deriving->out, "}\n    end},\n");
}

static void write_irregular(struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    fprintf(
        deriving->out,
        "    -- messages: the graph is irregular, no chain, ring, grid, or everyone to everyone.\n"
        "    -- For each number of processes that was measured: messages of a process, bytes of "
        "one.\n"
        "    {name = \"irregular messages\", time = function(p)\n      if p.P == 1 then return 0 "
        "end\n      local measured = {\n");
    for (size_t i = 0; i < runs->n_runs; i++) {
        double messages = 0, bytes = 0, processes = runs->links[i].processes;
        for (size_t l = 0; l < runs->links[i].count; l++) {
            messages += (double)runs->links[i].items[l].messages;
            bytes += (double)runs->links[i].items[l].bytes;
        }
        deriving->latencies[i] += messages / processes;
        deriving->content[i] += bytes / processes;
        fprintf(deriving->out, "        [%.0f] = {%.17g, %.17g},\n", processes,
                messages / processes, messages > 0 ? bytes / messages : 0);
    }
    fprintf(
        deriving->out,
        "      }\n      local here = measured[p.P] or\n"
        "        error(\"the messages are irregular: known for the measured numbers of processes "
        "alone\")\n"
        "      return message{count = here[1] / measured_iterations, bytes = here[2]}\n    "
        "end},\n");
}

/* ---- collective operations ------------------------------------------------------------------ */

static const struct lull_collective_form *form_of(uint8_t operation)
{
    const struct lull_collective_form *form = lull_collective_forms;
    while (form->primitive && form->operation != operation)
        form++;
    return form->primitive ? form : NULL;
}

/* What the primitive calls bytes, from what a process sends on average. */
static double bytes_of(const struct lull_measured_collective *collective, size_t run,
                       double processes)
{
    switch (collective->operation) {
    case LULL_COLLECTIVE_BCAST: /* the root alone sends */
        return collective->bytes[run] * processes;
    case LULL_COLLECTIVE_ALLTOALL:
        return collective->bytes[run] / processes;
    default:
        return collective->bytes[run];
    }
}

static void write_collective(struct deriving *deriving,
                             const struct lull_measured_collective *collective)
{
    const struct lull_measured_runs *runs = deriving->runs;
    const struct lull_collective_form *form = form_of(collective->operation);
    const char *name = lull_collective_name(collective->operation);
    if (!form) {
        fprintf(deriving->out, "    -- %s: no term explains it\n", name);
        return;
    }
    double *bytes = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *bytes);
    for (size_t i = 0; i < runs->n_runs; i++) {
        double processes = runs->links[i].processes;
        bytes[i] = bytes_of(collective, i, processes);
        deriving->latencies[i] += collective->calls[i] * form->steps(processes);
        deriving->content[i] += collective->calls[i] * form->volume(processes, bytes[i]);
    }
    struct lull_derived_law calls = law_of_numbers(deriving, collective->calls);
    struct lull_derived_law size = law_of_numbers(deriving, bytes);
    fprintf(deriving->out,
            "    -- %s: its calls %s, its bytes %s; runs do not tell the algorithm\n"
            "    {name = \"%s\", every = function(p) return measured_iterations / (",
            name, exactness(&calls, deriving->arena), exactness(&size, deriving->arena), name);
    write_law(deriving, &calls, 1);
    fprintf(deriving->out, ") end, time = function(p)\n      return %s{", form->primitive);
    fprintf(deriving->out, "algorithm = \"%s\"", form->algorithm);
    if (size.coefficient > 0) {
        fprintf(deriving->out, ", bytes = ");
        write_law(deriving, &size, 1);
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
        if (deriving->shape.kind == LULL_SHAPE_GRID || deriving->shape.kind == LULL_SHAPE_ALL)
            most = fmax(most, deriving->fitted[i].messages);
    if (most > 1)
        return most;
    for (size_t c = 0; c < runs->n_collectives; c++)
        most = fmax(most, runs->collectives[c].calls[runs->n_runs - 1]);
    return floor(most);
}

/* Seconds that a message costs, from what computation leaves of each run. */
static double find_latency(const struct deriving *deriving)
{
    double first = 0, second = 0;
    for (size_t i = 0; i < deriving->runs->n_runs; i++) {
        double left = deriving->runs->seconds[i] - deriving->runs->most_useful[i] -
                      deriving->content[i] / assumed_bandwidth;
        first += fmax(0, left) * deriving->latencies[i];
        second += deriving->latencies[i] * deriving->latencies[i];
    }
    return second > 0 ? first / second : assumed_latency;
}

static void write_head(const struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    fprintf(deriving->out, "-- Derived by lull from %zu runs:\n", runs->n_runs);
    for (size_t i = 0; i < runs->n_runs; i++) {
        fprintf(deriving->out, "--   %s: %u processes, ", quoted(deriving, runs->names[i]),
                runs->links[i].processes);
        if (runs->size_name)
            fprintf(deriving->out, "%s = %.10g, ", runs->size_name, runs->size[i]);
        fprintf(deriving->out, "%.6g s\n", runs->seconds[i]);
    }
    fprintf(deriving->out, "-- Messages: %s.\n\n", lull_shape_name(&deriving->shape));
    fprintf(deriving->out, "local measured_iterations = %.17g\n\n", deriving->iterations);
    if (deriving->shape.kind == LULL_SHAPE_GRID)
        write_extents(deriving);
}

/* A process that has as much to do on any number of them is one of weak scaling. */
static void write_work(const struct deriving *deriving)
{
    struct lull_derived_law law = law_of_times(deriving, deriving->runs->useful);
    if (law.exponents[0] == 0)
        fprintf(deriving->out,
                "  work = function(p) return p.P end, -- weak scaling: a process has "
                "as much to do on any number\n");
}

/* Behind the terms, when it is known what they send. */
static void write_rest(const struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double latency = find_latency(deriving);
    fprintf(deriving->out,
            "  },\n  parameters = {\n"
            "    {name = \"P\", unit = \"1\", default = %u, run = \"processes\", about = "
            "\"processes\"},\n"
            "    {name = \"iterations\", unit = \"1\", default = measured_iterations, about = "
            "\"messages to a neighbour, or calls\"},\n",
            runs->links[runs->n_runs - 1].processes);
    if (runs->size_name)
        fprintf(deriving->out, "    {name = \"%s\", unit = \"1\", default = %.17g},\n",
                runs->size_name, runs->size[runs->n_runs - 1]);
    fprintf(deriving->out,
            "    -- what computation leaves of the runs, for each message on the way of a process\n"
            "    {name = \"T\", unit = \"s\", default = %.6g, fit = true, about = \"time of a "
            "message\"},\n"
            "    -- assumed: the runs were not asked\n"
            "    {name = \"B\", unit = \"B/s\", default = %.6g, machine = \"network.bandwidth\", "
            "about = "
            "\"bandwidth\"},\n  },\n}\n",
            latency, assumed_bandwidth);
    for (size_t i = 0; i < runs->n_runs; i++) {
        double predicted = runs->most_useful[i] + deriving->latencies[i] * latency +
                           deriving->content[i] / assumed_bandwidth;
        fprintf(deriving->out, "-- %s: the terms explain %.1f %% of the time\n",
                quoted(deriving, runs->names[i]), 100 * predicted / runs->seconds[i]);
    }
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
        .latencies = lull_arena_zero(arena, n, sizeof *deriving.latencies),
        .content = lull_arena_zero(arena, n, sizeof *deriving.content)};
    deriving.shape = lull_shape_find(runs->links, n, deriving.fitted);
    deriving.iterations = find_iterations(&deriving);
    fill_factors(&deriving);
    write_head(&deriving);
    fprintf(out,
            "return {\n  title = \"%s\",\n  processes = \"P\",\n  iterations = \"iterations\",\n"
            "  network = {latency = \"T\", bandwidth = \"B\"},\n",
            quoted(&deriving, runs->title));
    write_work(&deriving);
    fprintf(out, "  terms = {\n");
    write_computations(&deriving);
    if (deriving.shape.kind == LULL_SHAPE_GRID)
        write_halo(&deriving);
    else if (deriving.shape.kind == LULL_SHAPE_ALL)
        write_all_to_all(&deriving);
    else if (deriving.shape.kind == LULL_SHAPE_IRREGULAR)
        write_irregular(&deriving);
    for (size_t c = 0; c < runs->n_collectives; c++)
        write_collective(&deriving, &runs->collectives[c]);
    write_rest(&deriving);
}
