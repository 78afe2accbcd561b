/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/derive/derived.h"

#include "base/collective.h"
#include "base/output_file.h"
#include "model/program/closed_form.h"
#include "model/program/primitives.h"
#include "model/program/program_model.h"
#include "stats/regression.h"
#include "stats/special.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Crowding: how much longer computations take, in processor time, if threads share cores, because
 * the other threads of a core use its caches, too. They take 1 + per_other * others times as long.
 * This is found from the runs that had at least one thread for each core; with fewer threads each
 * has more of what cores share. */
struct crowding {
    bool is_known;               /* it was found, and is above 0 */
    double per_other, low, high; /* with Student's interval of 95 %, infinite for two runs */
    double most;                 /* the largest 1 + per_other * others of any run */
};

struct deriving {
    const struct lull_measured_runs *runs;
    struct lull_arena *arena;
    FILE *out;
    struct lull_pattern patterns[LULL_SHAPE_TAGS];
    size_t n_patterns;
    /* The pattern at hand, by default the first, which has most messages. */
    size_t pattern;
    struct lull_graph_shape shape;
    const struct lull_fitted_graph *fitted;   /* [n_runs] */
    double iterations;                        /* see find_iterations */
    double (*by_processes)[LULL_LAW_FACTORS]; /* [n_runs]: processes, size */
    double (*by_extents)[LULL_LAW_FACTORS];   /* [n_runs]: extents, size */
    double *computation;                      /* [n_runs]: seconds of all terms of computation, and
                                                 of waiting for a core */
    double *latencies, *content; /* [n_runs]: messages and bytes on the path of a process */
    struct crowding crowding;
};

/* How long a message takes, in seconds. */
struct message_times {
    double alone;   /* if each process has its core; contains waiting */
    bool is_shared; /* the two that follow are known, from runs with shared cores */
    double of_core; /* for each process that the core has */
    double turn;    /* added once: meanwhile the other processes of the core compute */
};

/* ==== laws ==================================================================================== */

static const double powers_of_size[] = {1, 2, 3, 0, 0.5, 1.5};

/* The powers of the number of processes that are tried for times: of work that is divided (-1),
 * that is the same on all (0), on the edge of a divided plane (-0.5), and on the surface of a
 * divided space (-2/3). */
static const double powers_of_times[] = {-1, 0, -0.5, -2.0 / 3};

static const double powers_of_numbers[] = {0, -1, 1, -0.5, -2.0 / 3};

/* The powers that are tried for the bytes along a dimension: of its own extent and of the other
 * extents. What is swapped is usually divided by the others. */
static const double powers_of_own_extent[] = {0, -1}, powers_of_other_extents[] = {-1, 0};

static const double power_none[] = {0};

static void set_powers(const double *powers, size_t count, struct lull_law_candidates *candidates)
{
    candidates->exponents[candidates->n_factors] = powers;
    candidates->n_exponents[candidates->n_factors++] = count;
}

static void set_powers_of_size(const struct deriving *deriving,
                               struct lull_law_candidates *candidates)
{
    bool differ = false;
    for (size_t i = 1; i < deriving->runs->n_runs; i++)
        differ = differ || deriving->runs->size[i] != deriving->runs->size[0];
    if (differ)
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

static double derive_crowding_at(const struct deriving *deriving, size_t run);
static double derive_largest_share(const struct deriving *deriving, const double *seconds);
static void derive_write_computation(const struct deriving *deriving, const char *name,
                                     const char *region, const double *seconds, bool alone);

/* The law of the times y[n_runs] of computations, without their crowding. Its power of the number
 * of processes is not above 0; the law of numbers may have any power that is tried. */
static struct lull_derived_law derive_law_of_times(const struct deriving *deriving, const double *y)
{
    size_t n_runs = deriving->runs->n_runs;
    double *alone = lull_arena_zero(deriving->arena, n_runs, sizeof *alone);
    for (size_t i = 0; i < n_runs; i++)
        alone[i] = y[i] / derive_crowding_at(deriving, i);
    return law_of(deriving, powers_of_times, sizeof powers_of_times / sizeof *powers_of_times,
                  alone);
}

static struct lull_derived_law derive_law_of_numbers(const struct deriving *deriving,
                                                     const double *y)
{
    return law_of(deriving, powers_of_numbers, sizeof powers_of_numbers / sizeof *powers_of_numbers,
                  y);
}

/* The law of the bytes along a dimension, by the extents of the grid. */
static struct lull_derived_law derive_law_of_bytes(const struct deriving *deriving, int dimension,
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

/* Writes a law as an expression of Lua: of p.P and the size, or in derive_write_law_of_bytes of the
 * extents g[1], g[2], g[3] and the size. */
static void derive_write_law(const struct deriving *deriving, const struct lull_derived_law *law)
{
    fprintf(deriving->out, "%.17g", law->coefficient);
    write_power(deriving, "p.P", law->exponents[0]);
    write_power(deriving, size_text(deriving), law->exponents[1]);
}

static void derive_write_law_of_bytes(const struct deriving *deriving,
                                      const struct lull_derived_law *law)
{
    static const char *const extents[] = {"g[1]", "g[2]", "g[3]"};
    fprintf(deriving->out, "%.17g", law->coefficient);
    for (int d = 0; d < LULL_SHAPE_DIMENSIONS; d++)
        write_power(deriving, extents[d], law->exponents[d]);
    write_power(deriving, size_text(deriving), law->exponents[LULL_SHAPE_DIMENSIONS]);
}

/* How well a law repeats what was measured: "exactly", "within 3 %". */
static const char *derive_exactness(double residual, struct lull_arena *arena)
{
    return residual < 1e-9 ? "exactly" : lull_arena_printf(arena, "within %.2g %%", 100 * residual);
}

/* ==== cores that processes share ============================================================== */

static bool derive_has_cores(const struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    for (size_t i = 0; i < runs->n_runs; i++)
        if (!runs->cores || !(runs->cores[i] > 0))
            return false;
    return true;
}

/* The threads of the core that has most of them in a run, at least 1. */
static double derive_share(const struct deriving *deriving, size_t run)
{
    const struct lull_measured_runs *runs = deriving->runs;
    if (!derive_has_cores(deriving))
        return 1;
    double threads = runs->links[run].processes * runs->threads[run];
    return lull_processes_of_core(threads, runs->cores[run]);
}

/* How many things are disturbed independently of each other: processes, or the cores that they
 * share. */
static double derive_disturbed(const struct deriving *deriving, size_t run)
{
    double processes = deriving->runs->links[run].processes;
    return derive_has_cores(deriving) ? fmin(processes, deriving->runs->cores[run]) : processes;
}

/* How many other threads a thread's core has on average; below 0 if some cores have none. */
static double others_of(const struct deriving *deriving, size_t run)
{
    const struct lull_measured_runs *runs = deriving->runs;
    return runs->links[run].processes * runs->threads[run] / runs->cores[run] - 1;
}

/* Whether a run had as many cores as the run with most of them (a run may be kept to some of the
 * machine's cores), and no core without a thread. */
static bool has_all_cores(const struct deriving *deriving, size_t run)
{
    const struct lull_measured_runs *runs = deriving->runs;
    for (size_t i = 0; i < runs->n_runs; i++)
        if (runs->cores[i] > runs->cores[run])
            return false;
    return others_of(deriving, run) >= 0;
}

/* Finds the law of the useful time from the runs with a core for each thread. In other runs a
 * longer time on more processes may come from crowding instead of the law. Returns false if all
 * these runs had the same number of processes. */
static bool find_law_alone(const struct deriving *deriving, struct lull_derived_law *ret_law)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double *useful = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *useful);
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < runs->n_runs; i++) {
        if (derive_share(deriving, i) > 1)
            continue; /* the time stays 0, which does not count */
        useful[i] = runs->useful[i];
        least = fmin(least, runs->links[i].processes);
        most = fmax(most, runs->links[i].processes);
    }
    *ret_law = derive_law_of_times(deriving, useful);
    return least < most;
}

/* Fits a line over the number of other threads on a core to the times of the runs with all cores in
 * use. The powers of processes and size in their law are divided out before; errors are relative.
 */
static bool fit_crowding(const struct deriving *deriving, const struct lull_derived_law *law,
                         struct lull_line *ret_line)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double *others = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *others);
    double *longer = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *longer);
    double *weights = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *weights);
    size_t count = 0;
    for (size_t i = 0; i < runs->n_runs; i++) {
        if (!has_all_cores(deriving, i) || !(runs->useful[i] > 0))
            continue;
        others[count] = others_of(deriving, i);
        longer[count] = runs->useful[i] / lull_law_at(law, deriving->by_processes[i]);
        weights[count] = 1 / (longer[count] * longer[count]);
        count++;
    }
    struct lull_error err;
    return lull_fit_line(others, longer, weights, count, 0.95, ret_line, &err) == LULL_OK;
}

/* Finds `crowding`. */
static void derive_find_crowding(struct deriving *deriving)
{
    static const double nothing = 1e-6; /* no measurement tells this from rounding */
    const struct lull_measured_runs *runs = deriving->runs;
    struct crowding *crowding = &deriving->crowding;
    struct lull_derived_law law;
    struct lull_line line;
    if (!runs->had_cores || !derive_has_cores(deriving) || !find_law_alone(deriving, &law) ||
        !fit_crowding(deriving, &law, &line) ||
        !(line.intercept > 0 && line.slope > nothing * line.intercept))
        return;
    *crowding = (struct crowding){
        .is_known = true,
        .per_other = line.slope / line.intercept, /* which is known much better than the slope */
        .low = (line.slope - line.slope_error) / line.intercept,
        .high = (line.slope + line.slope_error) / line.intercept};
    for (size_t i = 0; i < runs->n_runs; i++)
        crowding->most = fmax(crowding->most, derive_crowding_at(deriving, i));
}

/* By which factor the computations of a run took longer; 1 without shared cores. */
static double derive_crowding_at(const struct deriving *deriving, size_t run)
{
    const struct crowding *crowding = &deriving->crowding;
    return crowding->is_known ? 1 + crowding->per_other * fmax(0, others_of(deriving, run)) : 1;
}

/* Multiplies by that factor, in Lua: " * crowding(p)", or nothing if it is not known. */
static const char *derive_times_crowding(const struct deriving *deriving)
{
    return deriving->crowding.is_known ? " * crowding(p)" : "";
}

static void write_threads(const struct deriving *deriving)
{
    double threads = deriving->runs->threads[deriving->runs->n_runs - 1];
    fprintf(deriving->out, "p.P");
    if (threads != 1)
        fprintf(deriving->out, " * %.17g", threads);
}

static void write_crowding(const struct deriving *deriving)
{
    const struct crowding *crowding = &deriving->crowding;
    if (!crowding->is_known)
        return;
    fprintf(
        deriving->out,
        "-- How much longer computations take where cores are shared, since the others of a core\n"
        "-- use its caches, too: %.2g %% for each other",
        100 * crowding->per_other);
    if (isfinite(crowding->low))
        fprintf(deriving->out, " (%.2g to %.2g %%)", 100 * crowding->low, 100 * crowding->high);
    else
        fprintf(deriving->out, " (of two runs: no interval)");
    fprintf(deriving->out,
            ",\n-- by the runs with all cores in use. That it is as much for each of more others\n"
            "-- than these had is presumed.\n"
            "local function crowding(p)\n"
            "  return p.cores > 0 and 1 + %.6g * math.max(0, ",
            crowding->per_other);
    write_threads(deriving);
    fprintf(deriving->out, " / p.cores - 1) or 1\nend\n\n");
}

/* Writes the function of_core(), if the runs tell of cores, and crowding(), if that is known. */
static void derive_write_sharing(const struct deriving *deriving)
{
    if (!derive_has_cores(deriving))
        return;
    fprintf(deriving->out, "-- Processes of the core that has most.\nlocal function of_core(p)\n"
                           "  return p.cores > 0 and math.max(1, math.ceil(");
    write_threads(deriving);
    fprintf(deriving->out, " / p.cores)) or 1\nend\n\n");
    write_crowding(deriving);
}

/* Writes what messages cost, of the parameters T, T_core, T_turn and B. */
static void derive_write_network(const struct deriving *deriving, const struct message_times *times)
{
    if (times->is_shared)
        fprintf(deriving->out,
                "  network = {bandwidth = \"B\", latency = function(p) -- of which a core with n "
                "processes makes n times as much\n"
                "    return of_core(p) > 1 and p.T_core + p.T_turn / of_core(p) or p.T\n  end},\n");
    else
        fprintf(deriving->out, "  network = {latency = \"T\", bandwidth = \"B\"},\n");
}

/* Writes which parameter counts cores, if the runs tell of cores, and adds the waiting for a core
 * to `computation`. */
static void derive_write_cores(struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    if (!derive_has_cores(deriving))
        return;
    double threads = runs->threads[runs->n_runs - 1];
    if (threads == 1)
        fprintf(deriving->out, "  cores = \"cores\",\n");
    else
        fprintf(deriving->out,
                "  cores = function(p) return p.cores / %.17g end, -- threads of a process\n",
                threads);
    for (size_t i = 0; i < runs->n_runs; i++)
        deriving->computation[i] += (derive_share(deriving, i) - 1) * runs->useful[i];
}

static void derive_write_cores_parameter(const struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double cores = 0;
    if (!derive_has_cores(deriving))
        return;
    for (size_t i = 0; i < runs->n_runs; i++)
        if (derive_share(deriving, i) > 1)
            cores = runs->cores[i];
    fprintf(deriving->out, "    -- %s\n",
            cores > 0 ? "the runs had no more; on a larger machine each process has its own: 0"
                      : "the runs had one for each thread");
    fprintf(deriving->out,
            "    {name = \"cores\", unit = \"1\", default = %.17g, run = \"cores\", about = "
            "\"cores of all processes together; 0: enough\"},\n",
            cores);
}

/* ==== unequal work ============================================================================ */

/* Unequal work is what the process that computes longest does beyond the mean. */

/* By how much the largest share of `size` rows is larger than an equal share, relative to that:
 * rows are not divided. On a grid the shares are those along each of its dimensions. */
static double share_rounding(const struct deriving *deriving, size_t run)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double size = runs->size[run], share = 1;
    for (unsigned d = 0; d < (deriving->shape.dimensions ? deriving->shape.dimensions : 1); d++) {
        double parts = deriving->shape.kind == LULL_SHAPE_GRID ? deriving->fitted[run].extents[d]
                                                               : runs->links[run].processes;
        share *= ceil(size / parts) * parts / size;
    }
    return share - 1;
}

/* The sum of the squares of the relative differences between the predicted and the measured longest
 * computation. extra[i] is the measured time beyond the mean. */
static double squares_of(const struct deriving *deriving, const double *extra,
                         const double *predicted)
{
    double squares = 0;
    for (size_t i = 0; i < deriving->runs->n_runs; i++)
        squares += pow((predicted[i] - extra[i]) / (deriving->runs->useful[i] + extra[i]), 2);
    return squares;
}

/* Finds how much of the rounding of shares the longest computation shows, by least squares relative
 * to the mean, and 1 at most. Fills predicted[n_runs] with the time beyond the mean that this
 * gives. */
static double find_rounding(const struct deriving *deriving, const double *extra, double *predicted)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double product = 0, square = 0;
    for (size_t i = 0; i < runs->n_runs && runs->size_name; i++) {
        double x = share_rounding(deriving, i), y = extra[i] / runs->useful[i];
        product += x * y;
        square += x * x;
    }
    double factor = square > 0 ? fmin(1, product / square) : 0;
    for (size_t i = 0; i < runs->n_runs; i++)
        predicted[i] = factor > 0 ? factor * share_rounding(deriving, i) * runs->useful[i] : 0;
    return factor;
}

static void write_rounding(const struct deriving *deriving, double factor)
{
    const char *size = deriving->runs->size_name;
    struct lull_derived_law useful = derive_law_of_times(deriving, deriving->runs->useful);
    bool is_grid = deriving->shape.kind == LULL_SHAPE_GRID;
    unsigned dimensions = is_grid ? deriving->shape.dimensions : 1;
    fprintf(deriving->out,
            "    -- which is that %s is divided in whole parts: the largest share, rounded up;\n"
            "    -- %.3g of what that makes, 1 where all time goes with the share\n"
            "    {name = \"imbalance\", uneven = true, time = function(p)\n"
            "      local g = %s\n      local share = 1",
            size, factor, is_grid ? "extents(p)" : "{p.P}");
    for (unsigned d = 1; d <= dimensions; d++)
        fprintf(deriving->out, " * math.ceil(p.%s / g[%u]) * g[%u] / p.%s", size, d, d, size);
    fprintf(deriving->out, "\n      return compute{seconds = %.17g * (share - 1) * (", factor);
    derive_write_law(deriving, &useful);
    fprintf(deriving->out, ")%s / measured_iterations}\n    end},\n",
            derive_times_crowding(deriving));
}

/* Finds the longest computation as work of its own and a share of what is divided. Fills
 * predicted[n_runs] with its time beyond the mean. */
static bool find_serial(const struct deriving *deriving, const double *extra, double *predicted,
                        struct lull_serial_law *ret_law)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double *longest = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *longest);
    double *processes = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *processes);
    for (size_t i = 0; i < runs->n_runs; i++) {
        longest[i] = (runs->useful[i] + extra[i]) / derive_crowding_at(deriving, i);
        processes[i] = runs->links[i].processes;
    }
    if (!lull_serial_law_find(processes, runs->size, longest, runs->n_runs, ret_law))
        return false;
    for (size_t i = 0; i < runs->n_runs; i++)
        predicted[i] = fmax(0, lull_serial_law_at(ret_law, processes[i], runs->size[i]) *
                                       derive_crowding_at(deriving, i) -
                                   runs->useful[i]);
    return true;
}

static void write_serial(const struct deriving *deriving, const struct lull_serial_law *serial)
{
    const char *size = deriving->runs->size_name;
    struct lull_derived_law useful = derive_law_of_times(deriving, deriving->runs->useful);
    fprintf(
        deriving->out,
        "    -- which has work of its own beside its share of what is divided; the law of both\n"
        "    -- is within %.1f %% of the longest computation\n"
        "    {name = \"imbalance\", uneven = true, time = function(p)\n"
        "      local own, divided = %.17g",
        100 * serial->residual, serial->own);
    if (size && serial->own_exponent != 0)
        fprintf(deriving->out, " * p.%s^%.17g", size, serial->own_exponent);
    fprintf(deriving->out, ", %.17g", serial->divided);
    if (size && serial->divided_exponent != 0)
        fprintf(deriving->out, " * p.%s^%.17g", size, serial->divided_exponent);
    fprintf(deriving->out, "\n      return compute{seconds = math.max(0, own + divided / p.P - (");
    derive_write_law(deriving, &useful);
    fprintf(deriving->out, "))%s / measured_iterations}\n    end},\n",
            derive_times_crowding(deriving));
}

/* Whether noise alone, independent in every iteration, explains the longest computation: it would
 * make some rank so much slower than the mean in more than one of a hundred runs. */
static bool is_of_noise(const struct deriving *deriving,
                        const struct lull_derived_disturbance *noise, const double *extra)
{
    const struct lull_measured_runs *runs = deriving->runs;
    size_t last = runs->n_runs - 1;
    double of_one = pow(0.99, 1.0 / runs->links[last].processes), nearly_normal = 1e6;
    return extra[last] <=
           lull_student_quantile(of_one, nearly_normal) * noise->sd * sqrt(deriving->iterations);
}

/* Writes the best law of unequal work: a power of P, or the rounding of shares, whichever has the
 * smaller sum of squares; or that one process has work of its own beside its share, if this halves
 * the sum. */
static void write_best(const struct deriving *deriving, const double *extra)
{
    const struct lull_measured_runs *runs = deriving->runs;
    struct lull_derived_law law = derive_law_of_times(deriving, extra);
    double *predicted = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *predicted);
    for (size_t i = 0; i < runs->n_runs; i++)
        predicted[i] = runs->links[i].processes > 1 ? lull_law_at(&law, deriving->by_processes[i]) *
                                                          derive_crowding_at(deriving, i)
                                                    : 0;
    double least = squares_of(deriving, extra, predicted);
    double factor = find_rounding(deriving, extra, predicted), by_rounding = INFINITY;
    if (factor > 0)
        by_rounding = squares_of(deriving, extra, predicted);
    least = fmin(least, by_rounding);
    struct lull_serial_law serial;
    if (find_serial(deriving, extra, predicted, &serial) &&
        squares_of(deriving, extra, predicted) < 0.5 * least)
        write_serial(deriving, &serial);
    else if (by_rounding <= least)
        write_rounding(deriving, factor);
    else
        derive_write_computation(deriving, "imbalance", NULL, extra, false);
}

/* Writes the term of unequal work, unless there is next to none, or `noise` (NULL: there is none)
 * explains it. */
static void derive_write_imbalance(struct deriving *deriving,
                                   const struct lull_derived_disturbance *noise)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double *extra = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *extra), most = 0;
    for (size_t i = 0; i < runs->n_runs; i++) {
        extra[i] = runs->most_useful[i] - runs->useful[i];
        most = fmax(most, extra[i] / runs->useful[i]);
    }
    if (!(derive_largest_share(deriving, extra) > 0.001) ||
        (noise && is_of_noise(deriving, noise, extra)))
        return;
    for (size_t i = 0; i < runs->n_runs; i++) {
        /* The other processes, which have less. */
        double others = fmax(1, runs->links[i].processes - 1.0);
        deriving->computation[i] += extra[i] * (1 - (derive_share(deriving, i) - 1) / others);
    }
    fprintf(
        deriving->out,
        "    -- what the process that computes longest does beyond the mean, up to %.1f %% more\n",
        100 * most);
    write_best(deriving, extra);
}

/* ==== terms of computation ==================================================================== */

/* The share of a time in the time of its run, in the run where it is largest. */
static double derive_largest_share(const struct deriving *deriving, const double *seconds)
{
    double share = 0;
    for (size_t i = 0; i < deriving->runs->n_runs; i++)
        share = fmax(share, seconds[i] / deriving->runs->seconds[i]);
    return share;
}

/* Writes a term of one law. `region` NULL: the time is of no region. `alone` false: the term is 0
 * for one process, and with more only the process that has most has it. */
static void derive_write_computation(const struct deriving *deriving, const char *name,
                                     const char *region, const double *seconds, bool alone)
{
    struct lull_derived_law law = derive_law_of_times(deriving, seconds);
    fprintf(deriving->out, "    -- up to %.1f %% of the time of a run; the law is within %.1f %%",
            100 * derive_largest_share(deriving, seconds), 100 * law.residual);
    if (isfinite(law.low) && law.high > law.low + 1e-6 * law.high)
        fprintf(deriving->out, ", its coefficient between %.4g and %.4g s", law.low, law.high);
    fprintf(deriving->out, "\n    {name = \"%s\", ", name);
    if (region)
        fprintf(deriving->out, "regions = {\"%s\"}, ", region);
    fprintf(deriving->out, "%stime = function(p)\n      %sreturn compute{seconds = (",
            alone ? "" : "uneven = true, ", alone ? "" : "if p.P == 1 then return 0 end\n      ");
    derive_write_law(deriving, &law);
    fprintf(deriving->out, ")%s / measured_iterations}\n    end},\n",
            derive_times_crowding(deriving));
}

/* Replaces quotes, backslashes and control characters in a name from a trace: they would end a text
 * of Lua. */
static const char *derive_quoted(const struct deriving *deriving, const char *name)
{
    char *copy = lull_arena_strdup(deriving->arena, name);
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c < ' ' || *c == '"' || *c == '\\' || *c == 127)
            *c = '_';
    return copy;
}

/* The name of a region's term. Regions whose names are alike get different numbers. */
static const char *term_name(const struct deriving *deriving, size_t index)
{
    const char *name = derive_quoted(deriving, deriving->runs->regions[index].name);
    unsigned alike = 1;
    for (size_t i = 0; i < index; i++)
        alike += strcmp(derive_quoted(deriving, deriving->runs->regions[i].name), name) == 0;
    if (!*name)
        return "computation";
    return alike == 1 ? lull_arena_printf(deriving->arena, "computation in %s", name)
                      : lull_arena_printf(deriving->arena, "computation in %s (%u)", name, alike);
}

/* ---- noise ----------------------------------------------------------------------------------- */

static void write_list(const struct deriving *deriving, const char *name, const double *values,
                       size_t count, int digits)
{
    fprintf(deriving->out, "        %s = {", name);
    for (size_t i = 0; i < count; i++)
        fprintf(deriving->out, "%s%.*g%s", i % 8 ? ", " : "", digits, values[i],
                i % 8 == 7 && i + 1 < count ? ",\n          " : "");
    fprintf(deriving->out, "}");
}

/* Writes the quantiles. One that differs from 0 by rounding only, as the median may, is written as
 * 0. */
static void write_quantiles(const struct deriving *deriving,
                            const struct lull_derived_disturbance *noise)
{
    static const double rounding = 1e-9;
    double quantiles[LULL_DISTURBANCE_MOST];
    for (size_t i = 0; i < noise->count; i++)
        quantiles[i] = fabs(noise->quantiles[i]) < rounding * noise->sd ? 0 : noise->quantiles[i];
    write_list(deriving, "quantiles", quantiles, noise->count, 6);
}

/* Writes the term of noise, and adds to `computation` how long ranks that wait for all others wait
 * for the most disturbed one. Returns false, and writes no term, if this is less than a thousandth
 * of every run. */
static bool write_noise(const struct deriving *deriving, struct lull_derived_disturbance *noise)
{
    const struct lull_measured_runs *runs = deriving->runs;
    if (!lull_disturbance_find(runs->marks, runs->n_marks, deriving->iterations, noise))
        return false;
    const struct lull_quantiles quantiles = {noise->quantiles, noise->probabilities, noise->count};
    double *lost = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *lost);
    for (size_t i = 0; i < runs->n_runs; i++)
        lost[i] =
            deriving->iterations *
            fmax(0, lull_expected_maximum_of_quantiles(&quantiles, derive_disturbed(deriving, i)));
    double share = derive_largest_share(deriving, lost);
    if (share < 0.001)
        return false;
    for (size_t i = 0; i < runs->n_runs; i++)
        deriving->computation[i] += lost[i];
    fprintf(
        deriving->out,
        "    -- noise: by how much %zu computations of the run with most processes were longer\n"
        "    -- or shorter than their rank's and their iteration's mean (standard deviation %.3g "
        "s).\n"
        "    -- Waiting for the slowest takes up to %.1f %% of the time of a run, if all wait for\n"
        "    -- all in every iteration; less if they wait for neighbours, as --simulate shows.\n"
        "    {name = \"noise\", time = function(p)\n      return noise{\n",
        noise->n_samples, noise->sd, 100 * share);
    write_quantiles(deriving, noise);
    fprintf(deriving->out, ",\n");
    write_list(deriving, "probabilities", noise->probabilities, noise->count, 17);
    if (derive_has_cores(deriving)) /* processes that share a core share what disturbs it */
        fprintf(deriving->out, ",\n        draws = p.cores > 0 and math.min(p.P, p.cores) or p.P");
    fprintf(deriving->out, "}\n    end},\n");
    return true;
}

/* ---- all computation ------------------------------------------------------------------------- */

/* Writes the terms of computation, noise and unequal work, and adds their times to
 * `computation`. */
static void derive_write_computations(struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    struct lull_derived_disturbance noise;
    for (size_t i = 0; i < runs->n_runs; i++)
        deriving->computation[i] += runs->useful[i];
    bool has_noise = write_noise(deriving, &noise);
    for (size_t i = 0; i < runs->n_regions; i++) {
        const struct lull_measured_region *region = &runs->regions[i];
        const char *name = derive_quoted(deriving, region->name);
        bool is_alone = runs->n_regions == 1 && !*name;
        if (!is_alone && derive_largest_share(deriving, region->useful) < 0.001)
            continue;
        derive_write_computation(deriving, term_name(deriving, i),
                                 is_alone           ? "useful"
                                 : region->is_whole ? name
                                                    : NULL,
                                 region->useful, true);
    }
    derive_write_imbalance(deriving, has_noise ? &noise : NULL);
}

/* ==== terms of messages ======================================================================= */

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

/* What names of further patterns end in: "", "2", "3"... */
static const char *numbered(const struct deriving *deriving)
{
    return deriving->pattern == 0
               ? ""
               : lull_arena_printf(deriving->arena, "%zu", deriving->pattern + 1);
}

/* Writes the function extents() of a grid. */
static void derive_write_extents(const struct deriving *deriving)
{
    unsigned n = deriving->shape.dimensions;
    static const char *const reversed[] = {"{g[1]}", "{g[2], g[1]}", "{g[3], g[2], g[1]}"};
    fprintf(deriving->out,
            "-- Extents of the grid; processes along the first follow each other.\n"
            "local function extents%s(p)\n",
            numbered(deriving));
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

/* Adds what one process sends: messages and bytes to all its neighbours. */
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

/* Whether the messages of a further pattern come in some iterations only, as at the end. */
static bool is_rare(const struct deriving *deriving, const struct lull_derived_law *law)
{
    for (size_t i = 0; i < deriving->runs->n_runs; i++)
        if (lull_law_at(law, deriving->by_processes[i]) >= deriving->iterations)
            return false;
    return deriving->pattern > 0;
}

/* Writes the begin of a term of messages, up to its first line. */
static void write_message_term(const struct deriving *deriving, const char *name,
                               const struct lull_derived_law *count)
{
    fprintf(deriving->out, "    {name = \"%s%s%s\", ", name, deriving->pattern ? " " : "",
            numbered(deriving));
    if (is_rare(deriving, count)) {
        fprintf(deriving->out, "every = function(p) return measured_iterations / (");
        derive_write_law(deriving, count);
        fprintf(deriving->out, ") end, ");
    }
    fprintf(deriving->out, "time = function(p)\n");
}

/* Writes which messages a pattern has: "all of them", "those of tags 0, 3". */
static const char *messages_text(const struct deriving *deriving)
{
    const struct lull_tagged *tagged = &deriving->runs->tagged;
    const uint32_t tags = deriving->patterns[deriving->pattern].tags;
    const char *text = NULL;
    size_t n = 0;
    for (size_t t = 0; t < tagged->n_tags; t++)
        if (tags >> t & 1) {
            text = lull_arena_printf(deriving->arena, "%s%s%d", text ? text : "", text ? ", " : "",
                                     tagged->tags[t]);
            n++;
        }
    return text ? lull_arena_printf(deriving->arena, "those of tag%s %s", n > 1 ? "s" : "", text)
                : "all of them";
}

static void write_count(const struct deriving *deriving, const struct lull_derived_law *law)
{
    if (is_rare(deriving, law))
        return;
    if (law->exponents[0] == 0 && law->exponents[1] == 0 &&
        law->coefficient == deriving->iterations)
        return;
    fprintf(deriving->out, "count = (");
    derive_write_law(deriving, law);
    fprintf(deriving->out, ") / measured_iterations, ");
}

/* Writes, for people, which ranks are neighbours; the primitives know that. */
static void write_ranks(const struct deriving *deriving)
{
    const struct lull_graph_shape *shape = &deriving->shape;
    if (shape->kind == LULL_SHAPE_TREE)
        fprintf(deriving->out, "    -- rank 0 is the root; above rank r > 0 is rank %s\n",
                lull_tree_parents[shape->tree]);
    else if (shape->kind == LULL_SHAPE_SHIFT)
        fprintf(deriving->out, "    -- rank r sends to rank (r + 1) %% P\n");
    else
        fprintf(deriving->out, "    -- rank r sends to ranks r - s and r + s, s = 1%s%s%s\n",
                shape->dimensions > 1 ? ", g[1]" : "", shape->dimensions > 2 ? ", g[1] * g[2]" : "",
                shape->periodic ? ", around each line of the grid" : ", inside of the grid");
}

static void write_halo(struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    struct lull_derived_law count = derive_law_of_numbers(deriving, messages_of_runs(deriving));
    struct lull_derived_law bytes[LULL_SHAPE_DIMENSIONS];
    double *y = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *y), worst = 0;
    for (unsigned d = 0; d < deriving->shape.dimensions; d++) {
        for (size_t i = 0; i < runs->n_runs; i++)
            y[i] = deriving->fitted[i].bytes[d];
        bytes[d] = derive_law_of_bytes(deriving, (int)d, y);
        worst = fmax(worst, bytes[d].residual);
    }
    fprintf(deriving->out,
            "    -- messages to the neighbours of a %s: %s; their number %s,\n"
            "    -- their bytes %s\n",
            lull_shape_name(&deriving->shape), messages_text(deriving),
            derive_exactness(count.residual, deriving->arena),
            derive_exactness(worst, deriving->arena));
    write_ranks(deriving);
    if (deriving->shape.is_ambiguous)
        fprintf(deriving->out,
                "    -- (the runs do not tell an open boundary from a periodic one)\n");
    write_message_term(deriving, "neighbours", &count);
    fprintf(deriving->out,
            "      local g = extents%s(p)\n      return halo{grid = g, periodic = %s, ",
            numbered(deriving), deriving->shape.periodic ? "true" : "false");
    write_count(deriving, &count);
    fprintf(deriving->out, "bytes = {");
    for (unsigned d = 0; d < deriving->shape.dimensions; d++) {
        fprintf(deriving->out, "%s", d ? ", " : "");
        derive_write_law_of_bytes(deriving, &bytes[d]);
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
    struct lull_derived_law bytes = derive_law_of_numbers(deriving, y);
    struct lull_derived_law count = derive_law_of_numbers(deriving, messages_of_runs(deriving));
    fprintf(deriving->out,
            "    -- messages from everyone to everyone: %s; their number %s, their bytes %s\n",
            messages_text(deriving), derive_exactness(count.residual, deriving->arena),
            derive_exactness(bytes.residual, deriving->arena));
    write_message_term(deriving, "everyone", &count);
    fprintf(deriving->out, "      return message{count = (p.P - 1)");
    if (!is_rare(deriving, &count)) {
        fprintf(deriving->out, " * (");
        derive_write_law(deriving, &count);
        fprintf(deriving->out, ") / measured_iterations");
    }
    fprintf(deriving->out, ", bytes = ");
    derive_write_law(deriving, &bytes);
    fprintf(deriving->out, "}\n    end},\n");
}

/* Writes a call of tree{}: of both directions if their messages are alike, or of one direction. */
static void write_tree_call(struct deriving *deriving, const struct lull_derived_law *count,
                            enum lull_tree_direction direction, bool is_up)
{
    static const char *const directions[] = {"down", "up", "both"};
    const struct lull_measured_runs *runs = deriving->runs;
    double *y = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *y);
    for (size_t i = 0; i < runs->n_runs; i++)
        y[i] = deriving->fitted[i].bytes[is_up];
    struct lull_derived_law bytes = derive_law_of_numbers(deriving, y);
    fprintf(deriving->out, "tree{kind = \"%s\", direction = \"%s\", ",
            lull_tree_names[deriving->shape.tree], directions[direction]);
    write_count(deriving, count);
    fprintf(deriving->out, "bytes = ");
    derive_write_law(deriving, &bytes);
    fprintf(deriving->out, "} -- bytes %s\n", derive_exactness(bytes.residual, deriving->arena));
}

static void write_tree(struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    const struct lull_graph_shape *shape = &deriving->shape;
    bool is_alike = true, is_both = shape->direction == LULL_TREE_BOTH;
    for (size_t i = 0; i < runs->n_runs; i++) {
        const struct lull_fitted_graph *fitted = &deriving->fitted[i];
        double depth = lull_tree_depth(shape->tree, runs->links[i].processes) * fitted->messages;
        is_alike = is_alike && fitted->bytes[0] == fitted->bytes[1];
        deriving->latencies[i] += (is_both ? 2 : 1) * depth;
        deriving->content[i] += depth * (fitted->bytes[0] + fitted->bytes[1]);
    }
    struct lull_derived_law count = derive_law_of_numbers(deriving, messages_of_runs(deriving));
    fprintf(deriving->out, "    -- messages of a %s: %s; their number %s\n", lull_shape_name(shape),
            messages_text(deriving), derive_exactness(count.residual, deriving->arena));
    write_ranks(deriving);
    if (shape->is_ambiguous)
        fprintf(deriving->out, "    -- (the runs do not tell it from another tree)\n");
    write_message_term(deriving, "tree", &count);
    fprintf(deriving->out, "      return ");
    if (is_both && !is_alike) {
        fprintf(deriving->out, "0");
        for (int up = 0; up < 2; up++) {
            fprintf(deriving->out, "\n        + ");
            write_tree_call(deriving, &count, up ? LULL_TREE_UP : LULL_TREE_DOWN, up);
        }
    } else {
        write_tree_call(deriving, &count, shape->direction, shape->direction == LULL_TREE_UP);
    }
    fprintf(deriving->out, "    end},\n");
}

static void write_shift(struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double *y = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *y);
    for (size_t i = 0; i < runs->n_runs; i++) {
        y[i] = deriving->fitted[i].bytes[0];
        deriving->latencies[i] += deriving->fitted[i].messages;
        deriving->content[i] += deriving->fitted[i].messages * y[i];
    }
    struct lull_derived_law bytes = derive_law_of_numbers(deriving, y);
    struct lull_derived_law count = derive_law_of_numbers(deriving, messages_of_runs(deriving));
    fprintf(deriving->out,
            "    -- messages to the next rank: %s; their number %s, their bytes %s\n",
            messages_text(deriving), derive_exactness(count.residual, deriving->arena),
            derive_exactness(bytes.residual, deriving->arena));
    write_ranks(deriving);
    write_message_term(deriving, "next", &count);
    fprintf(deriving->out, "      return message{");
    write_count(deriving, &count);
    fprintf(deriving->out, "bytes = ");
    derive_write_law(deriving, &bytes);
    fprintf(deriving->out, "}\n    end},\n");
}

/* Writes what a process of a run sends on average. The model finds the run again by the number of
 * processes, and by the size of the problem if runs differ in that. */
static void write_irregular_run(struct deriving *deriving, size_t run)
{
    const struct lull_measured_runs *runs = deriving->runs;
    const struct lull_links *links = &deriving->patterns[deriving->pattern].links[run];
    double messages = 0, bytes = 0, processes = links->processes;
    for (size_t l = 0; l < links->count; l++) {
        messages += (double)links->items[l].messages;
        bytes += (double)links->items[l].bytes;
    }
    deriving->latencies[run] += messages / processes;
    deriving->content[run] += bytes / processes;
    if (runs->size_name)
        fprintf(deriving->out, "        {%.0f, %.17g, {%.17g, %.17g}},\n", processes,
                runs->size[run], messages / processes, messages > 0 ? bytes / messages : 0);
    else
        fprintf(deriving->out, "        [%.0f] = {%.17g, %.17g},\n", processes,
                messages / processes, messages > 0 ? bytes / messages : 0);
}

static void write_irregular(struct deriving *deriving)
{
    const char *size = deriving->runs->size_name;
    fprintf(
        deriving->out,
        "    -- messages: %s; the graph is irregular, no chain, ring, grid, tree, or everyone to "
        "everyone.\n"
        "    -- For each number of processes%s that was measured: messages of a process, bytes "
        "of one.\n"
        "    {name = \"irregular messages\", time = function(p)\n"
        "      if p.P == 1 then return 0 end\n      local measured = {\n",
        messages_text(deriving), size ? " and size" : "");
    for (size_t i = 0; i < deriving->runs->n_runs; i++)
        write_irregular_run(deriving, i);
    if (size)
        fprintf(deriving->out,
                "      }\n      local here\n      for i = 1, #measured do\n"
                "        local run = measured[i]\n"
                "        if run[1] == p.P and run[2] == p.%s then here = run[3] end\n      end\n"
                "      if not here then\n"
                "        error(\"the messages are irregular: known for the measured numbers of "
                "processes and sizes alone\")\n      end\n",
                size);
    else
        fprintf(deriving->out,
                "      }\n      local here = measured[p.P] or\n"
                "        error(\"the messages are irregular: known for the measured numbers of "
                "processes alone\")\n");
    fprintf(deriving->out,
            "      return message{count = here[1] / measured_iterations, bytes = here[2]}\n"
            "    end},\n");
}

/* Says how many messages processes send to themselves: they cross no network, and no term has
 * them. */
static void write_own_messages(const struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    bool has_own = false;
    for (size_t i = 0; i < runs->n_runs; i++)
        has_own = has_own || runs->links[i].own > 0;
    for (size_t i = 0; has_own && i < runs->n_runs; i++)
        fprintf(deriving->out, "%s %" PRIu64 " of %s%s",
                i == 0
                    ? "    -- (and messages of processes to themselves, which no term has:\n    --"
                    : "",
                runs->links[i].own, derive_quoted(deriving, runs->names[i]),
                i + 1 < runs->n_runs ? "," : ")\n");
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

static void choose_pattern(struct deriving *deriving, size_t number)
{
    deriving->pattern = number;
    deriving->shape = deriving->patterns[number].shape;
    deriving->fitted = deriving->patterns[number].fitted;
    fill_factors(deriving);
}

/* Writes the terms of messages, and adds to `latencies` and `content`. */
static void derive_write_messages(struct deriving *deriving)
{
    static void (*const writers[])(struct deriving *) = {[LULL_SHAPE_NONE] = NULL,
                                                         [LULL_SHAPE_GRID] = write_halo,
                                                         [LULL_SHAPE_ALL] = write_all_to_all,
                                                         [LULL_SHAPE_SHIFT] = write_shift,
                                                         [LULL_SHAPE_TREE] = write_tree,
                                                         [LULL_SHAPE_IRREGULAR] = write_irregular};
    for (size_t k = 0; k < deriving->n_patterns; k++) {
        choose_pattern(deriving, k);
        if (writers[deriving->shape.kind])
            writers[deriving->shape.kind](deriving);
    }
    choose_pattern(deriving, 0);
    write_own_messages(deriving);
}

/* ==== how far runs lie from the model ========================================================= */

/* How runs scatter about the model. There is a scatter for runs whose processes share cores, which
 * also vary by which processes share, and another one for all other runs. */
struct scatter {
    size_t n_runs, n_found; /* `n_found`: numbers of the model that were found from these runs */
    double squares;         /* of the logarithms of measured over predicted time */
    double unsure;          /* the largest part of a predicted time of which the law is not known */
};

/* The scatter of the runs with shared cores or of those without. From the runs without, the law of
 * the useful time and the time of a message were found; from the others, the time of a turn and how
 * much longer computations take. */
static struct scatter scatter_of(const struct deriving *deriving, const double *predicted,
                                 const double *unsure, bool shares)
{
    struct scatter scatter = {.n_found = 1};
    bool has_messages = false;
    for (size_t i = 0; i < deriving->runs->n_runs; i++) {
        if ((derive_share(deriving, i) > 1) != shares || !(predicted[i] > 0))
            continue;
        scatter.n_runs++;
        scatter.squares += pow(log(deriving->runs->seconds[i] / predicted[i]), 2);
        scatter.unsure = fmax(scatter.unsure, unsure[i] / predicted[i]);
        has_messages = has_messages || deriving->latencies[i] > 0;
    }
    scatter.n_found += shares ? deriving->crowding.is_known : has_messages;
    return scatter;
}

/* The factor, less 1, by which a further run is longer or shorter at most in 95 of 100 cases
 * (Student). What has an unknown law adds to it like an independent error. INFINITY: it is not
 * known, because the runs are too few, or so different that the factor is above ten, or met by the
 * terms to rounding. The last may be so for simulated runs, and does not tell how far other runs
 * lie. */
static double uncertainty_of(const struct scatter *scatter)
{
    if (scatter->n_runs <= scatter->n_found)
        return INFINITY;
    double freedom = (double)(scatter->n_runs - scatter->n_found);
    double deviation = sqrt(scatter->squares / freedom * (1 + 1 / (double)scatter->n_runs));
    double uncertainty =
        expm1(hypot(lull_student_quantile(0.975, freedom) * deviation, log1p(scatter->unsure)));
    return uncertainty > 9 || uncertainty < 1e-9 ? INFINITY : uncertainty;
}

static void write_value(const struct deriving *deriving, const struct scatter *scatter, bool shares)
{
    double uncertainty = uncertainty_of(scatter);
    if (isfinite(uncertainty) && shares && deriving->crowding.is_known)
        fprintf(deriving->out,
                "return %.4g + math.max(0, crowding(p) / %.6g - 1) -- of %zu runs, and what more "
                "others\n      -- of a core than these had are presumed to make longer\n",
                uncertainty, deriving->crowding.most, scatter->n_runs);
    else if (isfinite(uncertainty))
        fprintf(deriving->out, "return %.4g -- of %zu runs\n", uncertainty, scatter->n_runs);
    else
        fprintf(deriving->out, "return math.huge -- %zu run%s: not known\n", scatter->n_runs,
                scatter->n_runs == 1 ? "" : "s");
}

/* Writes the uncertainty. predicted[n_runs] are the seconds of all terms; unsure[n_runs] is that
 * part of them which may be nothing, or twice as much, in runs with other numbers of processes. */
static void derive_write_uncertainty(const struct deriving *deriving, const double *predicted,
                                     const double *unsure)
{
    const struct scatter alone = scatter_of(deriving, predicted, unsure, false);
    fprintf(deriving->out,
            "  -- By which factor, less 1, 95 of 100 runs are longer or shorter at most, if they\n"
            "  -- scatter about the terms as the measured ones do. Whether the laws of the terms\n"
            "  -- hold at other numbers of processes it does not say.\n"
            "  uncertainty = function(p)\n");
    if (derive_has_cores(deriving)) {
        const struct scatter shared = scatter_of(deriving, predicted, unsure, true);
        fprintf(deriving->out, "    if of_core(p) > 1 then\n      ");
        write_value(deriving, &shared, true);
        fprintf(deriving->out, "    end\n");
    }
    fprintf(deriving->out, "    ");
    write_value(deriving, &alone, false);
    fprintf(deriving->out, "  end,\n");
}

/* ==== the whole model ========================================================================= */

/* What messages cost if the runs cannot tell: the bandwidth in any case, and the latency if they
 * have no messages. */
static const double assumed_bandwidth = 1e10, assumed_latency = 1e-6;

/* ---- collective operations ------------------------------------------------------------------- */

/* Operations that are predicted as another one: those whose parts may differ in size are taken as
 * operations of equal parts. */
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

/* The primitive for an operation; NULL: there is none. *ret_algorithm is the algorithm that the
 * operation is presumed to take. */
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

/* The `bytes` of a primitive, from what a process sends on average. */
static double bytes_of(const struct lull_measured_collective *collective, size_t run,
                       double processes)
{
    switch (collective->operation) {
    case LULL_COLLECTIVE_BCAST: /* only the root sends */
        return collective->bytes[run] * processes;
    case LULL_COLLECTIVE_ALLTOALL:
    case LULL_COLLECTIVE_ALLTOALLV:
    case LULL_COLLECTIVE_ALLTOALLW:
        return collective->bytes[run] / processes;
    default: /* in a scatter the root sends the parts of all, which is one part each on average */
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
    struct lull_derived_law calls = derive_law_of_numbers(deriving, collective->calls);
    struct lull_derived_law size = derive_law_of_numbers(deriving, bytes);
    fprintf(deriving->out,
            "    -- %s: its calls %s, its bytes %s. A run does not show the algorithm:\n"
            "    -- presumed as MPICH chooses by size, %s at the largest run\n"
            "    {name = \"%s\", every = function(p) return measured_iterations / (",
            name, derive_exactness(calls.residual, deriving->arena),
            derive_exactness(size.residual, deriving->arena), *said ? said : algorithm, name);
    derive_write_law(deriving, &calls);
    fprintf(deriving->out, ") end, time = function(p)\n      return %s{", primitive);
    fprintf(deriving->out, "algorithm = \"%s\"", algorithm);
    if (size.coefficient > 0) {
        fprintf(deriving->out, ", bytes = ");
        derive_write_law(deriving, &size);
    }
    fprintf(deriving->out, "}\n    end},\n");
}

/* ---- the file -------------------------------------------------------------------------------- */

/* The number of iterations: that of the messages to a neighbour, if it is the same for all, or else
 * that of the calls of the operation that is called most. */
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
    return deriving->content[run] * derive_share(deriving, run) / assumed_bandwidth;
}

/* The seconds that are left for each message on the path of a process when computation, content and
 * `message` seconds of each message are taken from a run. By least squares, over the runs whose
 * processes share cores (`shares`) or over the others. `scaled`: a message takes as many times as
 * long as a core has processes. NAN: these runs have no message. */
static double find_left(const struct deriving *deriving, bool shares, double message, bool scaled)
{
    double first = 0, second = 0;
    for (size_t i = 0; i < deriving->runs->n_runs; i++) {
        double share = derive_share(deriving, i);
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

/* How long a message keeps a core busy, from the run whose marks are known, the last one without
 * shared cores; `most`, what is left of runs, at most. */
static double find_message_of_core(const struct deriving *deriving, double most)
{
    const struct lull_measured_runs *runs = deriving->runs;
    size_t last = runs->n_runs;
    while (last > 0 && derive_share(deriving, last - 1) > 1)
        last--;
    double messages = last > 0 ? deriving->latencies[last - 1] / deriving->iterations : 0;
    double least =
        lull_time_in_mpi_least(runs->marks, runs->n_marks, deriving->iterations, deriving->arena);
    return messages > 0 ? fmin(most, least / messages) : most; /* fmin ignores NAN */
}

static struct message_times find_message_times(const struct deriving *deriving)
{
    double alone = find_left(deriving, false, 0, true), shared = find_left(deriving, true, 0, true);
    struct message_times times = {.alone = isnan(alone) ? shared : alone};
    if (isnan(times.alone))
        times.alone = assumed_latency;
    if (isnan(shared))
        return times;
    times.is_shared = true;
    times.of_core = find_message_of_core(deriving, fmin(alone, shared));
    times.turn = find_left(deriving, true, times.of_core, false);
    return times;
}

static double seconds_of_turns(const struct deriving *deriving, const struct message_times *times,
                               size_t run)
{
    return derive_share(deriving, run) > 1 ? deriving->latencies[run] * times->turn : 0;
}

static double seconds_of_messages(const struct deriving *deriving,
                                  const struct message_times *times, size_t run)
{
    double share = derive_share(deriving, run);
    return deriving->latencies[run] * share * (share > 1 ? times->of_core : times->alone) +
           seconds_of_turns(deriving, times, run);
}

static void write_message_times(const struct deriving *deriving, const struct message_times *times)
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

static void write_head(struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    fprintf(deriving->out, "-- Derived by lull from %zu runs:\n", runs->n_runs);
    for (size_t i = 0; i < runs->n_runs; i++) {
        fprintf(deriving->out, "--   %s: %u processes, ", derive_quoted(deriving, runs->names[i]),
                runs->links[i].processes);
        if (runs->size_name)
            fprintf(deriving->out, "%s = %.10g, ", runs->size_name, runs->size[i]);
        fprintf(deriving->out, "%.6g s\n", runs->seconds[i]);
    }
    for (size_t k = 0; k < deriving->n_patterns; k++) {
        choose_pattern(deriving, k);
        fprintf(deriving->out, "-- Messages: %s%s%s.\n", lull_shape_name(&deriving->shape),
                deriving->n_patterns > 1 ? ", " : "",
                deriving->n_patterns > 1 ? messages_text(deriving) : "");
    }
    fprintf(deriving->out, "\n");
    fprintf(deriving->out, "local measured_iterations = %.17g\n\n", deriving->iterations);
    derive_write_sharing(deriving);
    for (size_t k = 0; k < deriving->n_patterns; k++) {
        choose_pattern(deriving, k);
        if (deriving->shape.kind == LULL_SHAPE_GRID)
            derive_write_extents(deriving);
    }
    choose_pattern(deriving, 0);
}

/* Writes that the scaling is weak, if a process has as much to do on any number of processes. */
static void write_work(const struct deriving *deriving)
{
    struct lull_derived_law law = derive_law_of_times(deriving, deriving->runs->useful);
    if (law.exponents[0] == 0)
        fprintf(deriving->out,
                "  work = function(p) return p.P end, -- weak scaling: a process has "
                "as much to do on any number\n");
}

/* Writes how well the terms meet the runs: with the useful time that was measured, and, for further
 * runs, with its law. */
static void write_quality(const struct deriving *deriving, const struct message_times *times)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double *predicted = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *predicted);
    struct lull_derived_law useful = derive_law_of_times(deriving, runs->useful);
    double *by_law = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *by_law);
    double *unsure = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *unsure);
    for (size_t i = 0; i < runs->n_runs; i++) {
        predicted[i] = deriving->computation[i] + seconds_of_content(deriving, i) +
                       seconds_of_messages(deriving, times, i);
        double of_law =
            lull_law_at(&useful, deriving->by_processes[i]) * derive_crowding_at(deriving, i);
        by_law[i] = predicted[i] + derive_share(deriving, i) * (of_law - runs->useful[i]);
        unsure[i] = seconds_of_turns(deriving, times, i);
    }
    derive_write_uncertainty(deriving, by_law, unsure);
    fprintf(deriving->out, "}\n");
    for (size_t i = 0; i < runs->n_runs; i++)
        fprintf(deriving->out, "-- %s: the terms explain %.1f %% of the time\n",
                derive_quoted(deriving, runs->names[i]), 100 * predicted[i] / runs->seconds[i]);
}

/* Writes what comes behind the terms, because it needs to know what they send. */
static void write_rest(const struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    const struct message_times times = find_message_times(deriving);
    fprintf(deriving->out, "  },\n");
    derive_write_network(deriving, &times);
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
    derive_write_cores_parameter(deriving);
    write_message_times(deriving, &times);
    fprintf(deriving->out,
            "    -- assumed: the runs were not asked\n"
            "    {name = \"B\", unit = \"B/s\", default = %.6g, machine = \"network.bandwidth\", "
            "about = \"bandwidth\"},\n  },\n",
            assumed_bandwidth);
    write_quality(deriving, &times);
}

void lull_derived_write(const struct lull_measured_runs *runs, struct lull_arena *arena, FILE *out)
{
    size_t n = runs->n_runs;
    struct deriving deriving = {
        .runs = runs,
        .arena = arena,
        .out = out,
        .by_processes = lull_arena_zero(arena, n, sizeof *deriving.by_processes),
        .by_extents = lull_arena_zero(arena, n, sizeof *deriving.by_extents),
        .computation = lull_arena_zero(arena, n, sizeof *deriving.computation),
        .latencies = lull_arena_zero(arena, n, sizeof *deriving.latencies),
        .content = lull_arena_zero(arena, n, sizeof *deriving.content)};
    deriving.n_patterns =
        lull_patterns_find(runs->links, n, &runs->tagged, arena, deriving.patterns);
    choose_pattern(&deriving, 0);
    deriving.iterations = find_iterations(&deriving);
    derive_find_crowding(&deriving);
    write_head(&deriving);
    fprintf(out,
            "return {\n  title = \"%s\",\n  processes = \"P\",\n  iterations = \"iterations\",\n",
            derive_quoted(&deriving, runs->title));
    write_work(&deriving);
    derive_write_cores(&deriving);
    fprintf(out, "  terms = {\n");
    derive_write_computations(&deriving);
    derive_write_messages(&deriving);
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
