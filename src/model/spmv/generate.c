/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/spmv/generate.h"

#include "stats/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- grids ---------------------------------------------------------------------------------- */

struct grid {
    uint32_t size[3];
    int reach;      /* neighbours are up to so many points away in each direction */
    bool axes_only; /* only points along an axis are neighbours */
};

/* Adds the row of a point. A neighbour has the value -1 and the point itself the number of
 * neighbours, so that the sum of a row is 0 unless the point is at the edge of the grid. */
static void add_grid_points(const struct grid *grid, const int64_t at[3], int neighbours,
                            struct lull_matrix_rows *rows)
{
    for (int dz = -grid->reach; dz <= grid->reach; dz++)
        for (int dy = -grid->reach; dy <= grid->reach; dy++)
            for (int dx = -grid->reach; dx <= grid->reach; dx++) {
                int64_t x = at[0] + dx, y = at[1] + dy, z = at[2] + dz;
                bool inside = x >= 0 && x < grid->size[0] && y >= 0 && y < grid->size[1] &&
                              z >= 0 && z < grid->size[2];
                bool axis = (dx != 0) + (dy != 0) + (dz != 0) <= 1;
                if (!inside || (grid->axes_only && !axis))
                    continue;
                bool centre = !dx && !dy && !dz;
                lull_matrix_add(rows, (uint32_t)((z * grid->size[1] + y) * grid->size[0] + x),
                                centre ? neighbours : -1);
            }
}

static lull_status make_grid(const struct grid *grid, int neighbours,
                             struct lull_matrix *ret_matrix, struct lull_error *err)
{
    double points = (double)grid->size[0] * grid->size[1] * grid->size[2];
    if (points * (neighbours + 1) > UINT32_MAX)
        return lull_fail(err, LULL_ERR_RANGE, "a grid of %.0f points has too many nonzeros",
                         points);
    struct lull_matrix_rows rows;
    lull_matrix_begin(&rows, (uint32_t)points, (uint32_t)points);
    int64_t at[3];
    for (at[2] = 0; at[2] < grid->size[2]; at[2]++)
        for (at[1] = 0; at[1] < grid->size[1]; at[1]++)
            for (at[0] = 0; at[0] < grid->size[0]; at[0]++) {
                add_grid_points(grid, at, neighbours, &rows);
                lull_matrix_end_row(&rows);
            }
    return lull_matrix_finish(&rows, ret_matrix, err);
}

static lull_status make_stencil5(const double *values, struct lull_matrix *ret_matrix,
                                 struct lull_error *err)
{
    const struct grid grid = {{(uint32_t)values[0], (uint32_t)values[1], 1}, 1, true};
    return make_grid(&grid, 4, ret_matrix, err);
}

static lull_status make_stencil7(const double *values, struct lull_matrix *ret_matrix,
                                 struct lull_error *err)
{
    const struct grid grid = {
        {(uint32_t)values[0], (uint32_t)values[1], (uint32_t)values[2]}, 1, true};
    return make_grid(&grid, 6, ret_matrix, err);
}

static lull_status make_stencil27(const double *values, struct lull_matrix *ret_matrix,
                                  struct lull_error *err)
{
    const struct grid grid = {
        {(uint32_t)values[0], (uint32_t)values[1], (uint32_t)values[2]}, 1, false};
    return make_grid(&grid, 26, ret_matrix, err);
}

/* ---- bands ---------------------------------------------------------------------------------- */

static lull_status make_banded(const double *values, struct lull_matrix *ret_matrix,
                               struct lull_error *err)
{
    int64_t n = (int64_t)values[0], half = (int64_t)values[1];
    struct lull_matrix_rows rows;
    lull_matrix_begin(&rows, (uint32_t)n, (uint32_t)n);
    for (int64_t row = 0; row < n && !rows.failed; row++) {
        int64_t first = row > half ? row - half : 0, last = row + half < n ? row + half : n - 1;
        for (int64_t column = first; column <= last; column++)
            lull_matrix_add(&rows, (uint32_t)column, column == row ? (double)(2 * half) : -1);
        lull_matrix_end_row(&rows);
    }
    return lull_matrix_finish(&rows, ret_matrix, err);
}

static lull_status make_dense(const double *values, struct lull_matrix *ret_matrix,
                              struct lull_error *err)
{
    uint32_t n = (uint32_t)values[0], columns = (uint32_t)values[1];
    struct lull_matrix_rows rows;
    lull_matrix_begin(&rows, n, columns ? columns : n);
    for (uint32_t row = 0; row < n && !rows.failed; row++) {
        for (uint32_t column = 0; column < rows.matrix.columns; column++)
            lull_matrix_add(&rows, column, 1.0 / (1.0 + row + column));
        lull_matrix_end_row(&rows);
    }
    return lull_matrix_finish(&rows, ret_matrix, err);
}

/* ---- random --------------------------------------------------------------------------------- */

static int compare_columns(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Adds up to `count` different columns from `draw`, in order. If the draws hit the same columns
 * again and again, it gives up after MOST_TRIES rounds with fewer columns. `columns` is scratch. */
static void add_drawn(struct lull_matrix_rows *rows, struct lull_random *random, uint32_t count,
                      uint32_t (*draw)(const void *context, struct lull_random *random),
                      const void *context, uint32_t *columns)
{
    enum { MOST_TRIES = 40 };
    uint32_t have = 0;
    for (int tries = 0; have < count && tries < MOST_TRIES; tries++) {
        for (uint32_t i = have; i < count; i++)
            columns[i] = draw(context, random);
        qsort(columns, count, sizeof *columns, compare_columns);
        have = 1;
        for (uint32_t i = 1; i < count; i++)
            if (columns[i] != columns[have - 1])
                columns[have++] = columns[i];
    }
    for (uint32_t i = 0; i < have; i++)
        lull_matrix_add(rows, columns[i], 1.0 / count);
}

static uint32_t draw_any(const void *context, struct lull_random *random)
{
    const uint32_t *n = context;
    return (uint32_t)lull_random_below(random, *n);
}

static lull_status make_random(const double *values, struct lull_matrix *ret_matrix,
                               struct lull_error *err)
{
    uint32_t n = (uint32_t)values[0], per_row = (uint32_t)values[1];
    if (per_row > n)
        return lull_fail(err, LULL_ERR_RANGE, "%u nonzeros in rows of %u columns", per_row, n);
    uint32_t *columns = malloc((per_row + 1) * sizeof *columns);
    struct lull_random random;
    struct lull_matrix_rows rows;
    lull_random_seed(&random, (uint64_t)values[2]);
    lull_matrix_begin(&rows, n, n);
    rows.failed = rows.failed || !columns;
    for (uint32_t row = 0; row < n && !rows.failed; row++) {
        add_drawn(&rows, &random, per_row, draw_any, &n, columns);
        lull_matrix_end_row(&rows);
    }
    free(columns);
    return lull_matrix_finish(&rows, ret_matrix, err);
}

/* Columns drawn by a power law: the column of rank r (1 to n) is drawn with a probability in
 * proportion to r^-s. A rank is drawn by the inverse of the integral of this density; which column
 * has which rank is random. */
struct ranks {
    uint32_t n;
    double s;               /* not 1 */
    const uint32_t *column; /* [n]: by rank */
};

static double power(double x, double exponent)
{
    return lull_exp(exponent * lull_log(x));
}

static uint32_t draw_rank(const void *context, struct lull_random *random)
{
    const struct ranks *ranks = context;
    double u = lull_random_uniform(random);
    double rank = power((power(ranks->n + 1.0, 1 - ranks->s) - 1) * u + 1, 1 / (1 - ranks->s));
    uint32_t at = rank < 1 ? 0 : (uint32_t)(rank - 1);
    return ranks->column[at < ranks->n ? at : ranks->n - 1];
}

/* Fills items[count] with the numbers below count in random order. */
static void shuffle(uint32_t *items, uint32_t count, struct lull_random *random)
{
    for (uint32_t i = 0; i < count; i++)
        items[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = (uint32_t)lull_random_below(random, i), item = items[i - 1];
        items[i - 1] = items[other];
        items[other] = item;
    }
}

/* Draws the length of a row, between 1 and `most`, from a Pareto distribution with this mean and
 * this exponent of its density. */
static uint32_t draw_length(double mean, double exponent, uint32_t most, struct lull_random *random)
{
    double least = mean * (exponent - 2) / (exponent - 1);
    double length = least * power(1 - lull_random_uniform(random), -1 / (exponent - 1));
    return length >= most ? most : length < 1 ? 1 : (uint32_t)(length + 0.5);
}

static lull_status make_power_law(const double *values, struct lull_matrix *ret_matrix,
                                  struct lull_error *err)
{
    uint32_t n = (uint32_t)values[0];
    double mean = values[1], exponent = values[2];
    uint32_t most = n / 4 ? n / 4 : 1;
    uint32_t *column = malloc(((size_t)n + 1) * sizeof *column);
    uint32_t *drawn = malloc(((size_t)most + 1) * sizeof *drawn);
    const struct ranks ranks = {n, 1 / (exponent - 1), column};
    struct lull_random random;
    struct lull_matrix_rows rows;
    lull_random_seed(&random, (uint64_t)values[3]);
    lull_matrix_begin(&rows, n, n);
    rows.failed = rows.failed || !column || !drawn;
    if (!rows.failed)
        shuffle(column, n, &random);
    for (uint32_t row = 0; row < n && !rows.failed; row++) {
        add_drawn(&rows, &random, draw_length(mean, exponent, most, &random), draw_rank, &ranks,
                  drawn);
        lull_matrix_end_row(&rows);
    }
    free(column);
    free(drawn);
    return lull_matrix_finish(&rows, ret_matrix, err);
}

/* ---- the table ------------------------------------------------------------------------------ */

#define SIZE(name, usual)         \
    {                             \
        name, usual, 1, 4e9, true \
    }
#define SEED                                   \
    {                                          \
        "seed", 1, 0, 9007199254740992.0, true \
    }

static const struct lull_generator
    stencil5 = {"stencil5",
                "five points on a grid nx x ny",
                {SIZE("nx", 1000), SIZE("ny", 1000)},
                make_stencil5},
    stencil7 = {"stencil7",
                "seven points on a grid nx x ny x nz",
                {SIZE("nx", 100), SIZE("ny", 100), SIZE("nz", 100)},
                make_stencil7},
    stencil27 = {"stencil27",
                 "27 points on a grid nx x ny x nz",
                 {SIZE("nx", 60), SIZE("ny", 60), SIZE("nz", 60)},
                 make_stencil27},
    banded = {"banded",
              "n rows, all within `half` of the diagonal",
              {SIZE("n", 100000), {"half", 10, 0, 4e9, true}},
              make_banded},
    random_columns = {"random",
                      "n rows with `row` nonzeros anywhere",
                      {SIZE("n", 100000), SIZE("row", 10), SEED},
                      make_random},
    power_law = {"powerlaw",
                 "n rows; lengths with a mean of about `row`, and columns, by a power law",
                 {SIZE("n", 100000), SIZE("row", 10), {"exponent", 2.5, 2.05, 10, false}, SEED},
                 make_power_law},
    dense = {"dense",
             "a full matrix of n rows and m columns (0: n)",
             {SIZE("n", 2000), {"m", 0, 0, 4e9, true}},
             make_dense};

const struct lull_generator *const lull_generators[] = {
    &stencil5, &stencil7, &stencil27, &banded, &random_columns, &power_law, &dense, NULL};

const struct lull_generator *lull_generator_find(const char *spec)
{
    size_t length = strcspn(spec, ":");
    for (size_t i = 0; lull_generators[i]; i++)
        if (strlen(lull_generators[i]->name) == length &&
            memcmp(lull_generators[i]->name, spec, length) == 0)
            return lull_generators[i];
    return NULL;
}

/* ---- specs ---------------------------------------------------------------------------------- */

/* Reads one "name=value", which ends at a comma or at the end of the spec. */
static lull_status read_setting(const struct lull_generator *generator, const char *pair,
                                double *values, struct lull_error *err)
{
    size_t name = strcspn(pair, "=,"), length = strcspn(pair, ",");
    for (size_t i = 0; i < LULL_GENERATOR_PARAMETERS && generator->parameters[i].name; i++) {
        if (strlen(generator->parameters[i].name) != name ||
            memcmp(generator->parameters[i].name, pair, name) != 0 || pair[name] != '=')
            continue;
        char *stop;
        double value = strtod(pair + name + 1, &stop);
        bool good = stop == pair + length && length > name + 1 &&
                    value >= generator->parameters[i].least &&
                    value <= generator->parameters[i].most &&
                    (!generator->parameters[i].whole || value == floor(value));
        if (!good)
            return lull_fail(err, LULL_ERR_RANGE,
                             "%s: '%.*s', expected a%s number from %.10g to "
                             "%.10g",
                             generator->name, (int)length, pair,
                             generator->parameters[i].whole ? " whole" : "",
                             generator->parameters[i].least, generator->parameters[i].most);
        values[i] = value;
        return LULL_OK;
    }
    return lull_fail(err, LULL_ERR_RANGE, "%s: '%.*s' is none of its parameters (%s)",
                     generator->name, (int)length, pair, generator->summary);
}

lull_status lull_generate(const char *spec, struct lull_matrix *ret_matrix, struct lull_error *err)
{
    const struct lull_generator *generator = lull_generator_find(spec);
    if (!generator)
        return lull_fail(err, LULL_ERR_RANGE, "no matrix is called '%s'", spec);
    double values[LULL_GENERATOR_PARAMETERS];
    for (size_t i = 0; i < LULL_GENERATOR_PARAMETERS; i++)
        values[i] = generator->parameters[i].usual;
    const char *pair = spec + strcspn(spec, ":");
    while (*pair) {
        pair++;
        lull_status status = read_setting(generator, pair, values, err);
        if (status != LULL_OK)
            return status;
        pair += strcspn(pair, ",");
    }
    lull_status status = generator->make(values, ret_matrix, err);
    return status == LULL_OK ? status : lull_fail_prefix(err, status, "%s", generator->name);
}
