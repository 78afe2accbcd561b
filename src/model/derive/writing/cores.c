#include "model/derive/deriving.h"
#include "model/program/program_model.h"
#include "stats/regression.h"

#include <math.h>

bool lull_derive_has_cores(const struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    for (size_t i = 0; i < runs->n_runs; i++)
        if (!runs->cores || !(runs->cores[i] > 0))
            return false;
    return true;
}

double lull_derive_share(const struct deriving *deriving, size_t run)
{
    const struct lull_measured_runs *runs = deriving->runs;
    if (!lull_derive_has_cores(deriving))
        return 1;
    double threads = runs->links[run].processes * runs->threads[run];
    return lull_processes_of_core(threads, runs->cores[run]);
}

double lull_derive_disturbed(const struct deriving *deriving, size_t run)
{
    double processes = deriving->runs->links[run].processes;
    return lull_derive_has_cores(deriving) ? fmin(processes, deriving->runs->cores[run])
                                           : processes;
}

/* How many other threads a thread's core has on average; below 0 where not all cores have one. */
static double others_of(const struct deriving *deriving, size_t run)
{
    const struct lull_measured_runs *runs = deriving->runs;
    return runs->links[run].processes * runs->threads[run] / runs->cores[run] - 1;
}

/* Whether a run had as many cores as any, for it may have been kept to some of them, and no core
 * without a thread. */
static bool has_all_cores(const struct deriving *deriving, size_t run)
{
    const struct lull_measured_runs *runs = deriving->runs;
    for (size_t i = 0; i < runs->n_runs; i++)
        if (runs->cores[i] > runs->cores[run])
            return false;
    return others_of(deriving, run) >= 0;
}

/* The law of the useful time by the runs with a core for each thread: by others, longer times on
 * more processes might as well be a law of their number. False: these runs had one number of
 * processes. */
static bool find_law_alone(const struct deriving *deriving, struct lull_derived_law *ret_law)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double *useful = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *useful);
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < runs->n_runs; i++) {
        if (lull_derive_share(deriving, i) > 1)
            continue; /* a time of 0 does not count */
        useful[i] = runs->useful[i];
        least = fmin(least, runs->links[i].processes);
        most = fmax(most, runs->links[i].processes);
    }
    *ret_law = lull_derive_law_of_times(deriving, useful);
    return least < most;
}

/* The line through the times of the runs with all cores in use, without the powers of processes and
 * size that are in their law, over the number of others; relative errors. */
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

void lull_derive_find_crowding(struct deriving *deriving)
{
    static const double nothing = 1e-6; /* no measurement tells it from rounding */
    const struct lull_measured_runs *runs = deriving->runs;
    struct lull_crowding *crowding = &deriving->crowding;
    struct lull_derived_law law;
    struct lull_line line;
    if (!runs->had_cores || !lull_derive_has_cores(deriving) || !find_law_alone(deriving, &law) ||
        !fit_crowding(deriving, &law, &line) ||
        !(line.intercept > 0 && line.slope > nothing * line.intercept))
        return;
    *crowding = (struct lull_crowding){
        .is_known = true,
        .per_other = line.slope / line.intercept, /* which is known much better than the slope */
        .low = (line.slope - line.slope_error) / line.intercept,
        .high = (line.slope + line.slope_error) / line.intercept};
    for (size_t i = 0; i < runs->n_runs; i++)
        crowding->most = fmax(crowding->most, lull_derive_crowding_at(deriving, i));
}

double lull_derive_crowding_at(const struct deriving *deriving, size_t run)
{
    const struct lull_crowding *crowding = &deriving->crowding;
    return crowding->is_known ? 1 + crowding->per_other * fmax(0, others_of(deriving, run)) : 1;
}

const char *lull_derive_times_crowding(const struct deriving *deriving)
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
    const struct lull_crowding *crowding = &deriving->crowding;
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

void lull_derive_write_sharing(const struct deriving *deriving)
{
    if (!lull_derive_has_cores(deriving))
        return;
    fprintf(deriving->out, "-- Processes of the core that has most.\nlocal function of_core(p)\n"
                           "  return p.cores > 0 and math.max(1, math.ceil(");
    write_threads(deriving);
    fprintf(deriving->out, " / p.cores)) or 1\nend\n\n");
    write_crowding(deriving);
}

void lull_derive_write_network(const struct deriving *deriving,
                               const struct lull_message_times *times)
{
    if (times->is_shared)
        fprintf(deriving->out,
                "  network = {bandwidth = \"B\", latency = function(p) -- of which a core with n "
                "processes makes n times as much\n"
                "    return of_core(p) > 1 and p.T_core + p.T_turn / of_core(p) or p.T\n  end},\n");
    else
        fprintf(deriving->out, "  network = {latency = \"T\", bandwidth = \"B\"},\n");
}

void lull_derive_write_cores(struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    if (!lull_derive_has_cores(deriving))
        return;
    double threads = runs->threads[runs->n_runs - 1];
    if (threads == 1)
        fprintf(deriving->out, "  cores = \"cores\",\n");
    else
        fprintf(deriving->out,
                "  cores = function(p) return p.cores / %.17g end, -- threads of a process\n",
                threads);
    for (size_t i = 0; i < runs->n_runs; i++)
        deriving->computation[i] += (lull_derive_share(deriving, i) - 1) * runs->useful[i];
}

void lull_derive_write_cores_parameter(const struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double cores = 0;
    if (!lull_derive_has_cores(deriving))
        return;
    for (size_t i = 0; i < runs->n_runs; i++)
        if (lull_derive_share(deriving, i) > 1)
            cores = runs->cores[i];
    fprintf(deriving->out, "    -- %s\n",
            cores > 0 ? "the runs had no more; on a larger machine each process has its own: 0"
                      : "the runs had one for each thread");
    fprintf(deriving->out,
            "    {name = \"cores\", unit = \"1\", default = %.17g, run = \"cores\", about = "
            "\"cores of all processes together; 0: enough\"},\n",
            cores);
}
