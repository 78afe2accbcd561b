/* Unequal work: what the process that computes longest does beyond the mean. */
#include "model/derive/deriving.h"
#include "stats/special.h"

#include <math.h>

/* What the largest share of `size` rows is of an equal one, less 1: rows are not divided. On a grid
 * along each of its dimensions. */
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

/* Squares of the differences between what two laws say of the longest computation and what was
 * measured, in parts of the latter. */
static double squares_of(const struct deriving *deriving, const double *extra,
                         const double *predicted)
{
    double squares = 0;
    for (size_t i = 0; i < deriving->runs->n_runs; i++)
        squares += pow((predicted[i] - extra[i]) / (deriving->runs->useful[i] + extra[i]), 2);
    return squares;
}

/* How much of the rounding the longest computation shows, by least squares of shares of the mean,
 * and no more than all of it; fills what that makes of each run. */
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
    fprintf(deriving->out, ")%s / measured_iterations}\n    end},\n",
            lull_derive_times_crowding(deriving));
}

/* The longest computation as work of its own and a share of what is divided; fills what that leaves
 * beyond the mean of each run. */
static bool find_serial(const struct deriving *deriving, const double *extra, double *predicted,
                        struct lull_serial_law *ret_law)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double *longest = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *longest);
    double *processes = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *processes);
    for (size_t i = 0; i < runs->n_runs; i++) {
        longest[i] = (runs->useful[i] + extra[i]) / lull_derive_crowding_at(deriving, i);
        processes[i] = runs->links[i].processes;
    }
    if (!lull_serial_law_find(processes, runs->size, longest, runs->n_runs, ret_law))
        return false;
    for (size_t i = 0; i < runs->n_runs; i++)
        predicted[i] = fmax(0, lull_serial_law_at(ret_law, processes[i], runs->size[i]) *
                                       lull_derive_crowding_at(deriving, i) -
                                   runs->useful[i]);
    return true;
}

static void write_serial(const struct deriving *deriving, const struct lull_serial_law *serial)
{
    const char *size = deriving->runs->size_name;
    struct lull_derived_law useful = lull_derive_law_of_times(deriving, deriving->runs->useful);
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
    lull_derive_write_law(deriving, &useful);
    fprintf(deriving->out, "))%s / measured_iterations}\n    end},\n",
            lull_derive_times_crowding(deriving));
}

/* Whether noise alone, independent in every iteration, would make some rank so much slower than the
 * mean in one of a hundred runs. */
static bool is_of_noise(const struct deriving *deriving,
                        const struct lull_derived_disturbance *noise, const double *extra)
{
    const struct lull_measured_runs *runs = deriving->runs;
    size_t last = runs->n_runs - 1;
    double of_one = pow(0.99, 1.0 / runs->links[last].processes), nearly_normal = 1e6;
    return extra[last] <=
           lull_student_quantile(of_one, nearly_normal) * noise->sd * sqrt(deriving->iterations);
}

/* The power of P that meets it best, unless the rounding of shares does, or that one process has
 * work of its own beside its share. */
static void write_best(const struct deriving *deriving, const double *extra)
{
    const struct lull_measured_runs *runs = deriving->runs;
    struct lull_derived_law law = lull_derive_law_of_times(deriving, extra);
    double *predicted = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *predicted);
    for (size_t i = 0; i < runs->n_runs; i++)
        predicted[i] = runs->links[i].processes > 1 ? lull_law_at(&law, deriving->by_processes[i]) *
                                                          lull_derive_crowding_at(deriving, i)
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
        lull_derive_write_computation(deriving, "imbalance", NULL, extra, false);
}

void lull_derive_write_imbalance(struct deriving *deriving,
                                 const struct lull_derived_disturbance *noise)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double *extra = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *extra), most = 0;
    for (size_t i = 0; i < runs->n_runs; i++) {
        extra[i] = runs->most_useful[i] - runs->useful[i];
        most = fmax(most, extra[i] / runs->useful[i]);
    }
    if (!(lull_derive_largest_share(deriving, extra) > 0.001) ||
        (noise && is_of_noise(deriving, noise, extra)))
        return;
    for (size_t i = 0; i < runs->n_runs; i++) {
        double others = fmax(1, runs->links[i].processes - 1.0); /* who have less */
        deriving->computation[i] += extra[i] * (1 - (lull_derive_share(deriving, i) - 1) / others);
    }
    fprintf(
        deriving->out,
        "    -- what the process that computes longest does beyond the mean, up to %.1f %% more\n",
        100 * most);
    write_best(deriving, extra);
}
