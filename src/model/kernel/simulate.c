/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/kernel/simulate.h"

#include "model/cache.h"
#include "model/kernel/layers.h"
#include "stats/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DISAGREEMENT_PERCENT = 10 };

/* ==== differences from the layer conditions =================================================== */

struct lull_cache_spec lull_cache_spread(const struct lull_cache_spec *spec)
{
    struct lull_cache_spec spread = *spec;
    for (size_t i = 0; i < spread.n_levels; i++) {
        uint64_t lines = spread.levels[i].bytes / spread.line_bytes;
        spread.levels[i].ways = lines < LULL_CACHE_MAX_WAYS ? (uint32_t)lines : LULL_CACHE_MAX_WAYS;
    }
    return spread;
}

static double loads_and_stores(const struct lull_ecm_lines *lines)
{
    return lines->loads + lines->stores;
}

/* Whether two numbers of lines differ by more than DISAGREEMENT_PERCENT of the larger one. */
static bool differs(const struct lull_ecm_lines *of, const struct lull_ecm_lines *from)
{
    double a = loads_and_stores(of), b = loads_and_stores(from);
    /* Less than a hundredth of a line is no difference. */
    return fabs(a - b) > fmax(DISAGREEMENT_PERCENT / 100.0 * fmax(a, b), 0.01);
}

/* What needs about as much as the cache holds, within a third; NULL: nothing does. */
static const char *near_threshold(const struct lull_layers *layers, size_t level,
                                  struct lull_arena *arena)
{
    double capacity = layers->capacity[level];
    if (layers->footprint > capacity / 1.5 && layers->footprint < capacity * 1.5)
        return "all arrays together are about as large as the cache";
    for (size_t c = 0; c < layers->n_conditions; c++)
        if (layers->conditions[c].value > capacity / 1.5 &&
            layers->conditions[c].value < capacity * 1.5)
            return lull_arena_printf(
                arena, "the reuse of %s over %s is near its threshold, at %.2f of the cache",
                layers->conditions[c].array, layers->conditions[c].distance,
                layers->conditions[c].value / capacity);
    return NULL;
}

const char *lull_disagreement(const struct lull_layers *layers,
                              const struct lull_simulated *simulated,
                              const struct lull_simulated *spread, size_t level,
                              struct lull_arena *arena)
{
    struct lull_ecm_lines conditions = layers->lines[level], lines = simulated->lines[level];
    struct lull_ecm_lines without = spread->lines[level];
    /* A line that one loop has written may leave the cache in another one. */
    if (layers->has_others)
        conditions.stores = lines.stores = without.stores = 0;
    if (!differs(&lines, &conditions))
        return NULL;
    const char *threshold = near_threshold(layers, level, arena);
    if (loads_and_stores(&lines) > loads_and_stores(&conditions) && differs(&lines, &without) &&
        loads_and_stores(&without) < loads_and_stores(&lines))
        return "conflicts: lines compete for few sets of the cache, as with sizes that are powers "
               "of two; padding the arrays would help";
    if (layers->has_invariant && loads_and_stores(&lines) < loads_and_stores(&conditions))
        return "an operand stays the same over a loop, and is reused, which the layer conditions "
               "overcount";
    if (layers->indirect)
        return lull_arena_printf(arena,
                                 "'%s' is accessed through indices, for which the layer "
                                 "conditions have only a mean",
                                 layers->indirect);
    if (threshold)
        return threshold;
    if (layers->has_others)
        return "the loops of the nest share the caches: what one has loaded or written stays there "
               "for the next, of which the layer conditions know nothing";
    return "the layer conditions look at the innermost loop alone, and at whole arrays";
}

/* ==== the simulation ========================================================================== */

enum { BUFFER = 4096, MOST_AT_ONCE = 256, ITERATIONS_AT_ONCE = 4096 };
/* A level's contents do not depend any more on what was there before when it has taken in so many
 * times the lines that it holds: sets are not used evenly. */
enum { TIMES_REPLACED = 2 };
enum { MOST_LONGER = 4 }; /* see whole_periods */
/* Iterations of outer loops in which the body does not run: more of them are not simulated. */
enum { MOST_IDLE = 1 << 24 };

/* An access as the simulation makes it. `base` is where its array begins in memory, in bytes;
 * `offset` and `per_symbol` say which element is accessed. */
struct walker {
    uint64_t base;
    int64_t offset, per_symbol[LULL_POLY_SYMBOLS]; /* elements */
    unsigned bytes, line;
    bool write;
    int index_access; /* LULL_KERNEL_NONE: none */
    int64_t index_factor;
    /* Of the array that the index is read from. */
    const struct lull_kernel_index *index;
    int64_t extent; /* elements of the array */
};

/* A part of a simulation: the warm-up, or what is counted. It ends when the body has made so many
 * iterations and each level has taken in so many lines, or after so many accesses. */
struct stretch {
    uint64_t iterations, lines[LULL_CACHE_LEVELS], accesses;
    uint64_t first_iteration, first_access; /* that belong to it, among all */
};

struct nest_simulation {
    const struct lull_kernel *kernel;
    struct walker *walkers;
    uint64_t *bases; /* [n_arrays] where arrays begin in memory, in bytes */
    uint64_t beyond; /* where nothing of them is any more */
    struct lull_cache *cache;
    struct lull_random random;
    double values[LULL_POLY_SYMBOLS];
    lull_cache_access buffer[BUFFER];
    size_t filled;
    uint64_t accesses, body_iterations; /* so far */
    uint64_t idle;    /* iterations of outer loops in which the body did not run */
    bool whole;       /* the nest runs from its begin to its end, and no stretch ends it */
    bool from_middle; /* the next run of the nest begins in the middle of its outermost loop */
    struct stretch now, counted; /* the stretch that runs, and the one that is counted */
    bool counting;
    bool apart; /* several innermost loops, whose lines are told apart */
    struct lull_cache_traffic before[LULL_LAYER_LEVELS]; /* when an innermost loop last ended */
    struct lull_cache_traffic body[LULL_LAYER_LEVELS];   /* the traffic that belongs to the body */
    size_t n_levels;
    uint64_t line; /* bytes */
    struct lull_error *err;
    lull_status status;
};

static void flush(struct nest_simulation *simulation)
{
    lull_cache_run(simulation->cache, 0, simulation->buffer, simulation->filled);
    simulation->accesses += simulation->filled;
    simulation->filled = 0;
}

static void put(struct nest_simulation *simulation, uint64_t address, bool write)
{
    if (simulation->filled == BUFFER)
        flush(simulation);
    simulation->buffer[simulation->filled++] =
        write ? lull_cache_write(address) : lull_cache_read(address);
}

static int64_t position(const struct nest_simulation *simulation, const struct walker *walker)
{
    int64_t at = walker->offset;
    for (size_t s = 0; s < simulation->kernel->n_symbols; s++)
        if (walker->per_symbol[s])
            at += walker->per_symbol[s] * (int64_t)simulation->values[s];
    return at;
}

/* What an index array holds at a place, by the distribution that the user stated. */
static int64_t index_at(const struct lull_kernel_index *index, struct lull_random *random,
                        int64_t place, int64_t extent)
{
    int64_t width = (int64_t)index->width;
    switch (index->kind) {
    case LULL_INDEX_UNIFORM:
        return (int64_t)lull_random_below(random, (uint64_t)extent);
    case LULL_INDEX_BAND:
        place += (int64_t)lull_random_below(random, (uint64_t)(2 * width + 1)) - width;
        return place < 0 ? 0 : place >= extent ? extent - 1 : place;
    case LULL_INDEX_SEQUENTIAL:
        return place < extent ? place : extent - 1;
    case LULL_INDEX_FILE:
        return index->sample[(uint64_t)place % index->n_sample];
    }
    return 0;
}

void lull_kernel_draw_indices(const struct lull_kernel_index *index, uint64_t seed, int64_t extent,
                              int64_t *values, uint64_t count)
{
    struct lull_random random;
    lull_random_seed(&random, seed);
    for (uint64_t i = 0; i < count; i++)
        values[i] = index_at(index, &random, (int64_t)i, extent);
}

static void touch(struct nest_simulation *simulation, const struct walker *walker)
{
    int64_t at = position(simulation, walker);
    if (walker->index_access != LULL_KERNEL_NONE) {
        const struct walker *reads = &simulation->walkers[walker->index_access];
        at += walker->index_factor * index_at(reads->index, &simulation->random,
                                              position(simulation, reads), walker->extent);
        if ((at < 0 || at >= walker->extent) && simulation->status == LULL_OK)
            simulation->status = lull_fail(simulation->err, LULL_ERR_RANGE,
                                           "%s: line %u: index %lld lies outside of its array of "
                                           "%lld elements",
                                           simulation->kernel->path, walker->line, (long long)at,
                                           (long long)walker->extent);
    }
    if (simulation->status == LULL_OK)
        put(simulation, walker->base + (uint64_t)(at * walker->bytes), walker->write);
}

/* Whether a loop is plain: innermost, without indirect accesses, and with no more accesses than are
 * kept at once. */
static bool is_plain(const struct nest_simulation *simulation, size_t loop)
{
    const struct lull_kernel *kernel = simulation->kernel;
    size_t count = 0;
    if (!lull_kernel_is_innermost(kernel, (int)loop))
        return false;
    for (size_t i = 0; i < kernel->n_accesses; i++) {
        bool here = kernel->accesses[i].loop == (int)loop;
        if (here && kernel->accesses[i].index_access != LULL_KERNEL_NONE)
            return false;
        count += here;
    }
    return count <= MOST_AT_ONCE;
}

/* The accesses of a plain loop, whose addresses advance by a stride. */
struct plain_loop {
    size_t count;
    lull_cache_access at[MOST_AT_ONCE], step[MOST_AT_ONCE];
    int64_t bytes[MOST_AT_ONCE]; /* from one iteration to the next */
};

static void find_plain(const struct nest_simulation *simulation, size_t loop,
                       struct plain_loop *plain)
{
    const struct lull_kernel *kernel = simulation->kernel;
    size_t symbol = kernel->loops[loop].symbol, count = 0;
    for (size_t i = 0; i < kernel->n_accesses; i++) {
        const struct walker *walker = &simulation->walkers[i];
        if (kernel->accesses[i].loop != (int)loop)
            continue;
        uint64_t address = walker->base + (uint64_t)(position(simulation, walker) * walker->bytes);
        plain->at[count] = walker->write ? lull_cache_write(address) : lull_cache_read(address);
        plain->bytes[count] =
            walker->per_symbol[symbol] * kernel->loops[loop].step * (int64_t)walker->bytes;
        plain->step[count] = (uint64_t)plain->bytes[count] << 1;
        count++;
    }
    plain->count = count;
}

/* In how many iterations, with this one, an access stays in its line. */
static uint64_t stay_in_line(lull_cache_access at, int64_t bytes, uint64_t line)
{
    uint64_t place = (at >> 1) & (line - 1);
    if (bytes == 0)
        return UINT64_MAX;
    return bytes > 0 ? (line - place + (uint64_t)bytes - 1) / (uint64_t)bytes
                     : place / (uint64_t)-bytes + 1;
}

/* Runs a plain loop line by line: as long as all accesses stay in their lines, iterations are the
 * same to caches. */
static void run_by_lines(struct nest_simulation *simulation, struct plain_loop *plain,
                         uint64_t trips)
{
    uint64_t stay[MOST_AT_ONCE];
    for (size_t k = 0; k < plain->count; k++)
        stay[k] = stay_in_line(plain->at[k], plain->bytes[k], simulation->line);
    flush(simulation);
    while (trips > 0) {
        uint64_t same = trips;
        for (size_t k = 0; k < plain->count; k++)
            same = stay[k] < same ? stay[k] : same;
        lull_cache_repeat(simulation->cache, 0, plain->at, plain->count, same);
        for (size_t k = 0; k < plain->count; k++) {
            plain->at[k] += same * plain->step[k];
            stay[k] -= same;
            if (stay[k] == 0)
                stay[k] = stay_in_line(plain->at[k], plain->bytes[k], simulation->line);
        }
        simulation->accesses += same * plain->count;
        trips -= same;
    }
}

static void run_one_by_one(struct nest_simulation *simulation, struct plain_loop *plain,
                           uint64_t trips)
{
    for (uint64_t t = 0; t < trips; t++) {
        if (simulation->filled + plain->count > BUFFER)
            flush(simulation);
        lull_cache_access *out = simulation->buffer + simulation->filled;
        for (size_t k = 0; k < plain->count; k++) {
            out[k] = plain->at[k];
            plain->at[k] += plain->step[k];
        }
        simulation->filled += plain->count;
    }
}

/* Runs a plain loop: line by line if all accesses move by half a line at most, else one by one. */
static void run_plain(struct nest_simulation *simulation, size_t loop, uint64_t trips)
{
    struct plain_loop plain;
    find_plain(simulation, loop, &plain);
    bool lines = true;
    for (size_t k = 0; k < plain.count; k++)
        lines &= llabs(plain.bytes[k]) <= (int64_t)simulation->line / 2;
    if (lines)
        run_by_lines(simulation, &plain, trips);
    else
        run_one_by_one(simulation, &plain, trips);
}

static void run_loop(struct nest_simulation *simulation, size_t loop);

/* Makes the accesses and runs the inner loops of an iteration, in the order of the source. */
static void run_iteration(struct nest_simulation *simulation, size_t loop)
{
    const struct lull_kernel *kernel = simulation->kernel;
    size_t next = loop + 1;
    for (size_t i = kernel->loops[loop].first_access; i <= kernel->n_accesses; i++) {
        for (; next < kernel->n_loops && kernel->loops[next].first_access <= i; next++)
            if (kernel->loops[next].parent == (int)loop)
                run_loop(simulation, next);
        if (i < kernel->n_accesses && kernel->accesses[i].loop == (int)loop)
            touch(simulation, &simulation->walkers[i]);
    }
}

static void begin_stretch(struct nest_simulation *simulation, const struct stretch *stretch)
{
    simulation->now = *stretch;
    simulation->now.first_iteration = simulation->body_iterations;
    simulation->now.first_access = simulation->accesses;
}

static void begin_counting(struct nest_simulation *simulation)
{
    flush(simulation);
    lull_cache_reset(simulation->cache);
    memset(simulation->before, 0, sizeof simulation->before);
    memset(simulation->body, 0, sizeof simulation->body);
    simulation->counting = true;
    begin_stretch(simulation, &simulation->counted);
}

static uint64_t iterations_made(const struct nest_simulation *simulation)
{
    return simulation->body_iterations - simulation->now.first_iteration;
}

static bool stretch_ends(const struct nest_simulation *simulation)
{
    const struct stretch *now = &simulation->now;
    if (simulation->accesses + simulation->filled - now->first_access >= now->accesses)
        return true;
    if (iterations_made(simulation) < now->iterations)
        return false;
    for (size_t level = 0; level < simulation->n_levels; level++)
        if (lull_cache_traffic(simulation->cache, level).misses < now->lines[level])
            return false;
    return true;
}

/* Whether loops go on. After the warm-up counting begins; after what is counted all loops end. */
static bool go_on(struct nest_simulation *simulation)
{
    if (!simulation->whole && stretch_ends(simulation)) {
        if (simulation->counting)
            return false;
        begin_counting(simulation);
    }
    return simulation->status == LULL_OK;
}

/* How many iterations of an innermost loop are run before go_on is asked again. */
static double iterations_at_once(const struct nest_simulation *simulation, bool is_body)
{
    uint64_t made = iterations_made(simulation), wanted = simulation->now.iterations;
    if (simulation->whole)
        return INFINITY;
    return is_body && made < wanted ? fmin(ITERATIONS_AT_ONCE, (double)(wanted - made))
                                    : ITERATIONS_AT_ONCE;
}

/* Counts what has travelled since the last innermost loop ended as traffic of this one. */
static void end_innermost(struct nest_simulation *simulation, bool is_body)
{
    flush(simulation);
    for (size_t level = 0; level < simulation->n_levels; level++) {
        struct lull_cache_traffic now = lull_cache_traffic(simulation->cache, level);
        struct lull_cache_traffic *before = &simulation->before[level];
        if (is_body) {
            simulation->body[level].misses += now.misses - before->misses;
            simulation->body[level].writes += now.writes - before->writes;
        }
        *before = now;
    }
}

/* False: the simulation ends, because the body has not run too often. */
static bool run_outer_iteration(struct nest_simulation *simulation, size_t loop)
{
    const uint64_t before = simulation->body_iterations;
    run_iteration(simulation, loop);
    if ((int)loop == simulation->kernel->body || simulation->body_iterations > before ||
        ++simulation->idle <= MOST_IDLE)
        return true;
    simulation->status = lull_fail(
        simulation->err, LULL_ERR_RANGE,
        "%s: line %u: the loops around this one run more than %d times without it, which is not "
        "simulated (--no-simulation leaves it out)",
        simulation->kernel->path, simulation->kernel->loops[simulation->kernel->body].line,
        MOST_IDLE);
    return false;
}

static void run_loop(struct nest_simulation *simulation, size_t loop)
{
    const struct lull_kernel_loop *of = &simulation->kernel->loops[loop];
    double begin = lull_poly_value(&of->first, simulation->values);
    double end = lull_poly_value(&of->end, simulation->values);
    double trips = fmax(0, ceil((end - begin) / (double)of->step));
    bool is_body = (int)loop == simulation->kernel->body, plain = is_plain(simulation, loop);
    if (loop == 0 && simulation->from_middle) {
        begin += floor(trips / 2) * (double)of->step;
        trips -= floor(trips / 2);
        simulation->from_middle = false;
    }
    simulation->values[of->symbol] = begin;
    while (trips > 0 && go_on(simulation)) {
        double some = plain ? fmin(trips, iterations_at_once(simulation, is_body)) : 1;
        if (plain)
            run_plain(simulation, loop, (uint64_t)some);
        else if (!run_outer_iteration(simulation, loop))
            return;
        simulation->values[of->symbol] += some * (double)of->step;
        simulation->body_iterations += is_body ? (uint64_t)some : 0;
        trips -= some;
    }
    if (simulation->apart && lull_kernel_is_innermost(simulation->kernel, (int)loop))
        end_innermost(simulation, is_body);
}

/* ---- preparation ----------------------------------------------------------------------------- */

static const struct lull_kernel_index *
index_of(const char *array, const struct lull_kernel_index *indices, size_t n_indices)
{
    for (size_t i = 0; i < n_indices; i++)
        if (strcmp(indices[i].array, array) == 0)
            return &indices[i];
    return NULL;
}

static void make_walker(const struct lull_kernel *kernel, size_t number, const uint64_t *bases,
                        const double *values, struct walker *walker)
{
    const struct lull_kernel_access *access = &kernel->accesses[number];
    const struct lull_kernel_array *array = &kernel->arrays[access->array];
    struct lull_poly rest = access->offset, factor;
    *walker = (struct walker){.base = bases[access->array],
                              .bytes = array->bytes,
                              .line = access->line,
                              .write = access->write,
                              .index_access = access->index_access};
    for (size_t s = 0; s < kernel->n_symbols; s++)
        if (!kernel->symbols[s].is_size && lull_poly_split(&rest, s, &factor, &rest))
            walker->per_symbol[s] = (int64_t)lull_poly_value(&factor, values);
    walker->offset = (int64_t)lull_poly_value(&rest, values);
    walker->index_factor = (int64_t)lull_poly_value(&access->index_factor, values);
    walker->extent = (int64_t)(lull_kernel_array_bytes(kernel, access->array) / array->bytes);
}

lull_status lull_kernel_check_indices(const struct lull_kernel *kernel,
                                      const struct lull_kernel_index *indices, size_t n_indices,
                                      struct lull_error *err)
{
    for (size_t i = 0; i < kernel->n_accesses; i++) {
        int reads = kernel->accesses[i].index_access;
        if (reads == LULL_KERNEL_NONE)
            continue;
        const char *name = kernel->arrays[kernel->accesses[reads].array].name;
        if (!index_of(name, indices, n_indices))
            return lull_fail(err, LULL_ERR_RANGE,
                             "%s: line %u: what '%s' holds is not known: say it with --index "
                             "%s=uniform, band:WIDTH, sequential or a FILE",
                             kernel->path, kernel->accesses[i].line, name, name);
    }
    return LULL_OK;
}

static lull_status make_walkers(struct nest_simulation *simulation,
                                const struct lull_kernel_index *indices, size_t n_indices)
{
    const struct lull_kernel *kernel = simulation->kernel;
    uint64_t line = simulation->line, next = 1 << 20;
    simulation->bases = calloc(kernel->n_arrays + 1, sizeof *simulation->bases);
    simulation->walkers = calloc(kernel->n_accesses + 1, sizeof *simulation->walkers);
    if (!simulation->bases || !simulation->walkers)
        return lull_fail(simulation->err, LULL_ERR_MEMORY, "not enough memory");
    for (size_t a = 0; a < kernel->n_arrays; a++) {
        simulation->bases[a] = next;
        next += ((uint64_t)lull_kernel_array_bytes(kernel, a) + line - 1) / line * line;
    }
    simulation->beyond = next;
    for (size_t i = 0; i < kernel->n_accesses; i++)
        make_walker(kernel, i, simulation->bases, simulation->values, &simulation->walkers[i]);
    for (size_t i = 0; i < kernel->n_accesses; i++) {
        int reads = kernel->accesses[i].index_access;
        if (reads == LULL_KERNEL_NONE)
            continue;
        const char *name = kernel->arrays[kernel->accesses[reads].array].name;
        simulation->walkers[reads].index = index_of(name, indices, n_indices);
    }
    return lull_kernel_check_indices(kernel, indices, n_indices, simulation->err);
}

/* ---- what is simulated ----------------------------------------------------------------------- */

static double count_accesses(const struct lull_kernel *kernel)
{
    double sum = 0;
    for (size_t i = 0; i < kernel->n_accesses; i++)
        sum += lull_kernel_iterations(kernel, kernel->accesses[i].loop);
    return sum;
}

static double count_elements(const struct lull_kernel *kernel)
{
    double sum = 0;
    for (size_t a = 0; a < kernel->n_arrays; a++)
        sum += lull_kernel_array_bytes(kernel, a) / kernel->arrays[a].bytes;
    return sum;
}

/* After how many iterations a loop has come to new lines with every access that it moves: 8 where
 * it moves one by a double, 1 where all go to another line at once or stay. */
static double period_of(const struct nest_simulation *simulation, int loop)
{
    const struct lull_kernel *kernel = simulation->kernel;
    double period = 1;
    for (size_t i = 0; i < kernel->n_accesses; i++) {
        const struct lull_kernel_access *access = &kernel->accesses[i];
        double stride = fabs(lull_kernel_stride(kernel, access, (size_t)loop)) *
                        kernel->arrays[access->array].bytes;
        if (stride > 0)
            period = fmax(period, ceil((double)simulation->line / stride));
    }
    return period;
}

/* About so many iterations of the body: a whole number of runs of the nest, or of periods of the
 * outermost loop that has one in at most MOST_LONGER times as many. Lines come in by bursts, as
 * when an outer loop moves on to a row that inner loops pass over several times. */
static double whole_periods(const struct nest_simulation *simulation, double iterations)
{
    const struct lull_kernel *kernel = simulation->kernel;
    double all = lull_kernel_iterations(kernel, kernel->body), whole = iterations;
    for (int loop = kernel->body; loop != LULL_KERNEL_NONE; loop = kernel->loops[loop].parent) {
        double times = lull_kernel_iterations(kernel, loop);
        double period = all / times * fmin(times, period_of(simulation, loop));
        if (period <= MOST_LONGER * iterations)
            whole = fmax(1, floor(iterations / period)) * period;
    }
    return all <= iterations ? floor(iterations / all) * all : whole;
}

/* Whether the nest writes to an array. */
static bool is_written(const struct lull_kernel *kernel, size_t array)
{
    bool written = false;
    for (size_t i = 0; i < kernel->n_accesses; i++)
        written |= kernel->accesses[i].array == array && kernel->accesses[i].write;
    return written;
}

/* Touches so many bytes from `first` on, and writes to `share` of the lines. */
static void touch_lines(struct nest_simulation *simulation, uint64_t first, double bytes,
                        double share)
{
    double lines = ceil(bytes / (double)simulation->line);
    for (double k = 0; k < lines; k++)
        put(simulation, first + (uint64_t)k * simulation->line,
            floor((k + 1) * share) > floor(k * share));
}

/* Fills the caches as the run of the nest before this one may have left them: with the arrays if
 * these are at most `kept` bytes in all, which the last cache keeps from run to run; else with
 * `most` bytes that the nest does not access, of which as large a share is written as of the
 * arrays. */
static void fill_caches(struct nest_simulation *simulation, double kept, double most)
{
    const struct lull_kernel *kernel = simulation->kernel;
    double footprint = lull_kernel_footprint(kernel), written = 0;
    for (size_t a = 0; a < kernel->n_arrays; a++) {
        double bytes = lull_kernel_array_bytes(kernel, a);
        written += is_written(kernel, a) ? bytes : 0;
        if (footprint <= kept)
            touch_lines(simulation, simulation->bases[a], bytes, is_written(kernel, a));
    }
    if (footprint > kept)
        touch_lines(simulation, simulation->beyond, most, written / footprint);
    flush(simulation);
    lull_cache_reset(simulation->cache);
}

/* Runs a nest of few iterations twice, and counts the second time. */
static void run_twice(struct nest_simulation *simulation)
{
    simulation->whole = true;
    run_loop(simulation, 0);
    begin_counting(simulation);
    run_loop(simulation, 0);
}

/* Runs the nest from its middle on, again and again if it is short, until nothing shows any more
 * of what the caches held at first, and counts what a part of it does then. All caches together
 * hold `cached` bytes. */
static void run_part(struct nest_simulation *simulation, const struct lull_cache_spec *spec,
                     double cached)
{
    const struct lull_kernel *kernel = simulation->kernel;
    double body = lull_kernel_iterations(kernel, kernel->body);
    double busiest = lull_kernel_iterations(kernel, lull_kernel_busiest(kernel));
    double footprint = lull_kernel_footprint(kernel), elements = count_elements(kernel);
    double counted = whole_periods(simulation, fmin(cached / 8, 8 * elements) * body / busiest);
    counted = fmax(counted, fmin(lull_kernel_trips(kernel, (size_t)kernel->body), cached / 8));
    struct stretch warm = {.accesses = (uint64_t)(cached / 4 * count_accesses(kernel) / busiest)};
    if (footprint <= cached)
        warm.iterations = (uint64_t)(elements * body / busiest);
    for (size_t level = 0; level < spec->n_levels; level++)
        if (footprint > (double)spec->levels[level].bytes)
            warm.lines[level] = TIMES_REPLACED * spec->levels[level].bytes / spec->line_bytes;
    simulation->counted =
        (struct stretch){.iterations = (uint64_t)ceil(counted), .accesses = UINT64_MAX};
    fill_caches(simulation, (double)spec->levels[spec->n_levels - 1].bytes,
                TIMES_REPLACED * cached);
    begin_stretch(simulation, &warm);
    simulation->from_middle = true;
    while (go_on(simulation))
        run_loop(simulation, 0);
}

static void count_simulated_lines(const struct nest_simulation *simulation, double units,
                                  struct lull_simulated *simulated)
{
    for (size_t level = 0; level < simulated->n_levels; level++) {
        struct lull_cache_traffic traffic = simulation->apart
                                                ? simulation->body[level]
                                                : lull_cache_traffic(simulation->cache, level);
        simulated->lines[level].loads = (double)traffic.misses / units;
        simulated->lines[level].stores = (double)traffic.writes / units;
    }
}

static void run_all(struct nest_simulation *simulation, const struct lull_cache_spec *spec,
                    struct lull_simulated *simulated)
{
    const struct lull_kernel *kernel = simulation->kernel;
    double cached = 0, busiest = lull_kernel_iterations(kernel, lull_kernel_busiest(kernel));
    for (size_t level = 0; level < spec->n_levels; level++)
        cached += (double)spec->levels[level].bytes;
    if (busiest <= cached / 16)
        run_twice(simulation);
    else
        run_part(simulation, spec, cached);
    flush(simulation);
    count_simulated_lines(simulation,
                          (double)iterations_made(simulation) /
                              lull_kernel_unit(kernel, spec->line_bytes),
                          simulated);
}

lull_status lull_kernel_simulate(const struct lull_kernel *kernel,
                                 const struct lull_cache_spec *spec,
                                 const struct lull_kernel_index *indices, size_t n_indices,
                                 uint64_t seed, struct lull_simulated *ret_simulated,
                                 struct lull_error *err)
{
    struct lull_simulated simulated = {.n_levels = spec->n_levels};
    struct nest_simulation *simulation = calloc(1, sizeof *simulation);
    if (!simulation)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory");
    simulation->kernel = kernel;
    simulation->apart = lull_kernel_count_innermost(kernel) > 1;
    simulation->n_levels = spec->n_levels;
    simulation->line = spec->line_bytes;
    simulation->err = err;
    lull_random_seed(&simulation->random, seed);
    lull_kernel_values(kernel, simulation->values);
    lull_status status = make_walkers(simulation, indices, n_indices);
    if (status == LULL_OK)
        status = lull_cache_create(spec, &simulation->cache, err);
    if (status == LULL_OK) {
        run_all(simulation, spec, &simulated);
        status = simulation->status;
    }
    if (status == LULL_OK) {
        simulated.accesses = simulation->accesses;
        *ret_simulated = simulated;
    }
    lull_cache_free(simulation->cache);
    free(simulation->bases);
    free(simulation->walkers);
    free(simulation);
    return status;
}
