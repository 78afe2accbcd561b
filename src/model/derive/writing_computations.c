#include "model/derive/deriving.h"
#include "model/program/primitive/maximum.h"
#include "stats/special.h"

#include <math.h>
#include <string.h>

static double largest_share(const struct deriving *deriving, const double *seconds)
{
    double share = 0;
    for (size_t i = 0; i < deriving->runs->n_runs; i++)
        share = fmax(share, seconds[i] / deriving->runs->seconds[i]);
    return share;
}

/* `alone` false: one process has nothing of it. */
static void write_computation(const struct deriving *deriving, const char *name, const char *region,
                              const double *seconds, bool alone)
{
    struct lull_derived_law law = lull_derive_law_of_times(deriving, seconds);
    fprintf(deriving->out, "    -- up to %.1f %% of the time of a run; the law is within %.1f %%",
            100 * largest_share(deriving, seconds), 100 * law.residual);
    if (isfinite(law.low) && law.high > law.low + 1e-6 * law.high)
        fprintf(deriving->out, ", its coefficient between %.4g and %.4g s", law.low, law.high);
    fprintf(deriving->out, "\n    {name = \"%s\", ", name);
    if (region)
        fprintf(deriving->out, "regions = {\"%s\"}, ", region);
    fprintf(deriving->out, "%stime = function(p)\n      %sreturn compute{seconds = (",
            alone ? "" : "uneven = true, ", alone ? "" : "if p.P == 1 then return 0 end\n      ");
    lull_derive_write_law(deriving, &law);
    fprintf(deriving->out, ") / measured_iterations}\n    end},\n");
}

/* Names come from traces: quotes, backslashes and control characters would end a text. */
const char *lull_derive_quoted(const struct deriving *deriving, const char *name)
{
    char *copy = lull_arena_strdup(deriving->arena, name);
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c < ' ' || *c == '"' || *c == '\\' || *c == 127)
            *c = '_';
    return copy;
}

/* Terms have different names. */
static const char *term_name(const struct deriving *deriving, size_t index)
{
    const char *name = lull_derive_quoted(deriving, deriving->runs->regions[index].name);
    unsigned alike = 1;
    for (size_t i = 0; i < index; i++)
        alike += strcmp(lull_derive_quoted(deriving, deriving->runs->regions[i].name), name) == 0;
    if (!*name)
        return "computation";
    return alike == 1 ? lull_arena_printf(deriving->arena, "computation in %s", name)
                      : lull_arena_printf(deriving->arena, "computation in %s (%u)", name, alike);
}

/* ---- noise ---------------------------------------------------------------------------------- */

static void write_list(const struct deriving *deriving, const char *name, const double *values,
                       size_t count, int digits)
{
    fprintf(deriving->out, "        %s = {", name);
    for (size_t i = 0; i < count; i++)
        fprintf(deriving->out, "%s%.*g%s", i % 8 ? ", " : "", digits, values[i],
                i % 8 == 7 && i + 1 < count ? ",\n          " : "");
    fprintf(deriving->out, "}");
}

/* Adds to `computation` what all wait for where they wait for all. Where it is less than a
 * thousandth of every run there is no term, and false is returned. */
static bool write_noise(const struct deriving *deriving, struct lull_disturbance *noise)
{
    const struct lull_measured_runs *runs = deriving->runs;
    if (!lull_disturbance_find(runs->marks, runs->n_marks, deriving->iterations, noise))
        return false;
    const struct lull_quantiles quantiles = {noise->quantiles, noise->probabilities, noise->count};
    double *lost = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *lost);
    for (size_t i = 0; i < runs->n_runs; i++)
        lost[i] = deriving->iterations *
                  fmax(0, lull_expected_maximum_of_quantiles(&quantiles, runs->links[i].processes));
    double share = largest_share(deriving, lost);
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
    write_list(deriving, "quantiles", noise->quantiles, noise->count, 6);
    fprintf(deriving->out, ",\n");
    write_list(deriving, "probabilities", noise->probabilities, noise->count, 17);
    fprintf(deriving->out, "}\n    end},\n");
    return true;
}

/* ---- unequal work --------------------------------------------------------------------------- */

/* What the largest share of `size` rows is of an equal one, less 1: rows are not divided. On a grid
 * along each of its dimensions. */
static double rounding(const struct deriving *deriving, size_t run)
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

/* How much of the rounding the longest computation shows, by least squares of shares of the mean,
 * and no more than all of it; 0: another law meets it better. */
static double find_rounding(const struct deriving *deriving, const double *extra,
                            const struct lull_derived_law *law)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double product = 0, square = 0, left_by_rounding = 0, left_by_law = 0;
    for (size_t i = 0; i < runs->n_runs && runs->size_name; i++) {
        double x = rounding(deriving, i), y = extra[i] / runs->useful[i];
        product += x * y;
        square += x * x;
    }
    double factor = square > 0 ? fmin(1, product / square) : 0;
    for (size_t i = 0; i < runs->n_runs; i++) {
        double y = extra[i] / runs->useful[i], power = law->coefficient / runs->useful[i];
        for (size_t f = 0; f < LULL_LAW_FACTORS; f++)
            power *= pow(deriving->by_processes[i][f], law->exponents[f]);
        left_by_rounding += pow(y - factor * rounding(deriving, i), 2);
        left_by_law += pow(y - power, 2);
    }
    return factor > 0 && left_by_rounding < left_by_law ? factor : 0;
}

static void write_rounding(const struct deriving *deriving, double factor)
{
    const char *size = deriving->runs->size_name;
    struct lull_derived_law useful = lull_derive_law_of_times(deriving, deriving->runs->useful);
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
    lull_derive_write_law(deriving, &useful);
    fprintf(deriving->out, ") / measured_iterations}\n    end},\n");
}

/* Whether noise alone, independent in every iteration, would make some rank so much slower than the
 * mean in one of a hundred runs. */
static bool is_of_noise(const struct deriving *deriving, const struct lull_disturbance *noise,
                        const double *extra)
{
    const struct lull_measured_runs *runs = deriving->runs;
    size_t last = runs->n_runs - 1;
    double of_one = pow(0.99, 1.0 / runs->links[last].processes), nearly_normal = 1e6;
    return extra[last] <=
           lull_student_quantile(of_one, nearly_normal) * noise->sd * sqrt(deriving->iterations);
}

static void write_imbalance(const struct deriving *deriving, const struct lull_disturbance *noise)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double *extra = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *extra), most = 0;
    for (size_t i = 0; i < runs->n_runs; i++) {
        extra[i] = runs->most_useful[i] - runs->useful[i];
        most = fmax(most, extra[i] / runs->useful[i]);
    }
    if (!(largest_share(deriving, extra) > 0.001) || (noise && is_of_noise(deriving, noise, extra)))
        return;
    for (size_t i = 0; i < runs->n_runs; i++)
        deriving->computation[i] += extra[i];
    fprintf(
        deriving->out,
        "    -- what the process that computes longest does beyond the mean, up to %.1f %% more\n",
        100 * most);
    struct lull_derived_law law = lull_derive_law_of_times(deriving, extra);
    double factor = find_rounding(deriving, extra, &law);
    if (factor > 0)
        write_rounding(deriving, factor);
    else
        write_computation(deriving, "imbalance", NULL, extra, false);
}

/* ---- all computation ------------------------------------------------------------------------ */

void lull_derive_write_computations(struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    struct lull_disturbance noise;
    for (size_t i = 0; i < runs->n_runs; i++)
        deriving->computation[i] += runs->useful[i];
    bool has_noise = write_noise(deriving, &noise);
    for (size_t i = 0; i < runs->n_regions; i++) {
        const struct lull_measured_region *region = &runs->regions[i];
        const char *name = lull_derive_quoted(deriving, region->name);
        bool is_alone = runs->n_regions == 1 && !*name;
        if (!is_alone && largest_share(deriving, region->useful) < 0.001)
            continue;
        write_computation(deriving, term_name(deriving, i),
                          is_alone           ? "useful"
                          : region->is_whole ? name
                                             : NULL,
                          region->useful, true);
    }
    write_imbalance(deriving, has_noise ? &noise : NULL);
}
