#include "model/derive/deriving.h"
#include "model/program/primitive/maximum.h"

#include <math.h>
#include <string.h>

double lull_derive_largest_share(const struct deriving *deriving, const double *seconds)
{
    double share = 0;
    for (size_t i = 0; i < deriving->runs->n_runs; i++)
        share = fmax(share, seconds[i] / deriving->runs->seconds[i]);
    return share;
}

void lull_derive_write_computation(const struct deriving *deriving, const char *name,
                                   const char *region, const double *seconds, bool alone)
{
    struct lull_derived_law law = lull_derive_law_of_times(deriving, seconds);
    fprintf(deriving->out, "    -- up to %.1f %% of the time of a run; the law is within %.1f %%",
            100 * lull_derive_largest_share(deriving, seconds), 100 * law.residual);
    if (isfinite(law.low) && law.high > law.low + 1e-6 * law.high)
        fprintf(deriving->out, ", its coefficient between %.4g and %.4g s", law.low, law.high);
    fprintf(deriving->out, "\n    {name = \"%s\", ", name);
    if (region)
        fprintf(deriving->out, "regions = {\"%s\"}, ", region);
    fprintf(deriving->out, "%stime = function(p)\n      %sreturn compute{seconds = (",
            alone ? "" : "uneven = true, ", alone ? "" : "if p.P == 1 then return 0 end\n      ");
    lull_derive_write_law(deriving, &law);
    fprintf(deriving->out, ")%s / measured_iterations}\n    end},\n",
            lull_derive_times_crowding(deriving));
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

/* A median of 0 is that to rounding. */
static void write_quantiles(const struct deriving *deriving,
                            const struct lull_derived_disturbance *noise)
{
    static const double rounding = 1e-9;
    double quantiles[LULL_DISTURBANCE_MOST];
    for (size_t i = 0; i < noise->count; i++)
        quantiles[i] = fabs(noise->quantiles[i]) < rounding * noise->sd ? 0 : noise->quantiles[i];
    write_list(deriving, "quantiles", quantiles, noise->count, 6);
}

/* Adds to `computation` what all wait for where they wait for all. Where it is less than a
 * thousandth of every run there is no term, and false is returned. */
static bool write_noise(const struct deriving *deriving, struct lull_derived_disturbance *noise)
{
    const struct lull_measured_runs *runs = deriving->runs;
    if (!lull_disturbance_find(runs->marks, runs->n_marks, deriving->iterations, noise))
        return false;
    const struct lull_quantiles quantiles = {noise->quantiles, noise->probabilities, noise->count};
    double *lost = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *lost);
    for (size_t i = 0; i < runs->n_runs; i++)
        lost[i] = deriving->iterations *
                  fmax(0, lull_expected_maximum_of_quantiles(&quantiles,
                                                             lull_derive_disturbed(deriving, i)));
    double share = lull_derive_largest_share(deriving, lost);
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
    if (lull_derive_has_cores(deriving)) /* who shares a core shares what disturbs it */
        fprintf(deriving->out, ",\n        draws = p.cores > 0 and math.min(p.P, p.cores) or p.P");
    fprintf(deriving->out, "}\n    end},\n");
    return true;
}

/* ---- all computation ------------------------------------------------------------------------ */

void lull_derive_write_computations(struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    struct lull_derived_disturbance noise;
    for (size_t i = 0; i < runs->n_runs; i++)
        deriving->computation[i] += runs->useful[i];
    bool has_noise = write_noise(deriving, &noise);
    for (size_t i = 0; i < runs->n_regions; i++) {
        const struct lull_measured_region *region = &runs->regions[i];
        const char *name = lull_derive_quoted(deriving, region->name);
        bool is_alone = runs->n_regions == 1 && !*name;
        if (!is_alone && lull_derive_largest_share(deriving, region->useful) < 0.001)
            continue;
        lull_derive_write_computation(deriving, term_name(deriving, i),
                                      is_alone           ? "useful"
                                      : region->is_whole ? name
                                                         : NULL,
                                      region->useful, true);
    }
    lull_derive_write_imbalance(deriving, has_noise ? &noise : NULL);
}
