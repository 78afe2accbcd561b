/* Cuts: what a process computes in an epoch takes no longer than the median of its peers.
 *
 * Streams are compared with those of the same thread of other processes. By how much an epoch is
 * shortened follows from its sums; which of its units lose how much, from the peers that have as
 * many bursts in it. */
#include "base/array.h"
#include "replay/what_if/kind.h"
#include "replay/what_if/units.h"
#include "stats/quantile.h"

#include <stdlib.h>
#include <string.h>

/* One stream in one cut. Once it is concluded, the values of its units are what is left of them, as
 * a share. */
struct member {
    struct lull_units units;
    uint32_t location; /* LULL_NONE: it has no bursts */
    bool meant;
    uint32_t epoch, bursts;      /* of the burst that is applied next */
    struct lull_stretched burst; /* those of its unit */
};

struct cuts {
    const struct lull_trace *trace;
    const struct lull_what_if_options *wanted;
    const struct lull_treatments *treatments;
    uint32_t n_streams, n;
    struct member members[]; /* [n][n_streams] */
};

/* A member in an epoch. */
struct row {
    struct member *member;
    uint32_t bursts;
    double sum;   /* ns */
    double least; /* without what its units have more than the medians of their peers, which have as
                     many bursts; 0: there are none ... */
    double level; /* ... and its longest units become as long as that */
};

/* Members that are compared: of one thread number. */
struct comparison {
    struct row *rows;
    uint32_t count;
    size_t epoch;
    bool all_meant;
    double *scratch; /* [count] */
};

/* ---- a state ------------------------------------------------------------------------------- */

static bool is_wanted(const struct lull_what_if_options *wanted)
{
    return wanted->n_cuts > 0;
}

static void *create(const struct lull_what_if_scene *scene)
{
    const size_t n = (size_t)scene->wanted->n_cuts * scene->n_streams;
    struct cuts *cuts = calloc(1, sizeof *cuts + n * sizeof *cuts->members);
    if (!cuts)
        return NULL;
    cuts->trace = scene->trace;
    cuts->wanted = scene->wanted;
    cuts->treatments = scene->treatments;
    cuts->n_streams = scene->n_streams;
    cuts->n = scene->wanted->n_cuts;
    for (size_t i = 0; i < n; i++)
        cuts->members[i].location = LULL_NONE;
    return cuts;
}

static void forget(void *state)
{
    struct cuts *cuts = state;
    for (size_t i = 0; i < (size_t)cuts->n * cuts->n_streams; i++) {
        lull_units_free(&cuts->members[i].units);
        cuts->members[i].location = LULL_NONE;
    }
}

static void destroy(void *state)
{
    forget(state);
    free(state);
}

static void rewind_members(void *state)
{
    struct cuts *cuts = state;
    for (size_t i = 0; i < (size_t)cuts->n * cuts->n_streams; i++) {
        cuts->members[i].epoch = cuts->members[i].bursts = 0;
        cuts->members[i].burst = (struct lull_stretched){0};
    }
}

static bool learn(void *state, const struct lull_replay_burst *burst, int64_t ns)
{
    struct cuts *cuts = state;
    const uint64_t which = cuts->treatments->treatments[burst->mark].cuts;
    for (uint32_t i = 0; i < cuts->n; i++) {
        struct member *member = &cuts->members[(size_t)i * cuts->n_streams + burst->stream];
        member->location = burst->location;
        if (which >> i & 1 && !lull_units_add(&member->units, burst->phase, ns))
            return false;
    }
    return true;
}

/* ---- what is left -------------------------------------------------------------------------- */

static bool is_peer(const struct comparison *c, uint32_t i)
{
    return c->rows[i].sum > 0 && (c->all_meant || !c->rows[i].member->meant);
}

/* Of the sums of peers; 0: there are none. */
static double median_sum(const struct comparison *c)
{
    size_t n = 0;
    for (uint32_t i = 0; i < c->count; i++)
        if (is_peer(c, i))
            c->scratch[n++] = c->rows[i].sum;
    lull_sort(c->scratch, n);
    return n > 0 ? lull_median(c->scratch, n) : 0;
}

static double *units_of(const struct comparison *c, uint32_t i)
{
    const struct lull_units *units = &c->rows[i].member->units;
    return &units->values[units->epochs[c->epoch].first];
}

/* The values of a unit of the peers among [from, to), sorted; how many. */
static size_t sort_unit(const struct comparison *c, uint32_t from, uint32_t to, size_t unit)
{
    size_t n = 0;
    for (uint32_t i = from; i < to; i++)
        if (is_peer(c, i))
            c->scratch[n++] = units_of(c, i)[unit];
    lull_sort(c->scratch, n);
    return n;
}

/* The median of what is sorted; of the others, where the value itself is one of them. */
static double median_of_peers(const struct comparison *c, size_t n, double value)
{
    size_t own = 0;
    if (!c->all_meant)
        return lull_median(c->scratch, n);
    while (own + 1 < n && c->scratch[own] < value)
        own++;
    const size_t middle = (n - 1) / 2, before = n % 2 == 1 && middle > 0 ? middle - 1 : middle;
    return (c->scratch[before + (before >= own)] + c->scratch[middle + (middle >= own)]) / 2;
}

/* What is left of a unit, in ns, where a row is to take `sum` in all. With `least`, what it would
 * take without all that its units have more than the medians of their peers, units lose that. */
static double left_of(const struct row *row, double value, double median, double sum)
{
    const double more = row->sum - row->least;
    const double lost = more > 0 ? (row->sum - sum) / more : 2; /* as a share of that */
    if (lost <= 1)
        return value - (value - fmin(value, median)) * lost;
    return fmin(value, median) * (sum / row->least);
}

/* The length that no unit of a row exceeds where all together take `sum`: found between bounds that
 * are halved until they are neighbours. */
static double find_level(const double *values, size_t units, double sum)
{
    double low = 0, high = 0;
    for (size_t u = 0; u < units; u++)
        high = fmax(high, values[u]);
    for (double level = high / 2; level > low && level < high; level = low + (high - low) / 2) {
        double capped = 0;
        for (size_t u = 0; u < units; u++)
            capped += fmin(values[u], level);
        *(capped < sum ? &low : &high) = level;
    }
    return high;
}

static bool is_cut(const struct row *row, double sum)
{
    return row->member->meant && sum > 0 && row->sum > sum;
}

/* Rows [from, to) have as many bursts. What is left of their units replaces them, as a share. */
static void cut_alike(struct comparison *c, uint32_t from, uint32_t to, double sum)
{
    const size_t units = lull_units_in(&c->rows[from].member->units, c->epoch);
    size_t n = 0;
    for (size_t u = 0; u < units; u++) {
        n = sort_unit(c, from, to, u);
        for (uint32_t i = from; i < to && n > c->all_meant; i++)
            c->rows[i].least += fmin(units_of(c, i)[u], median_of_peers(c, n, units_of(c, i)[u]));
    }
    for (uint32_t i = from; i < to; i++)
        if (is_cut(&c->rows[i], sum) && c->rows[i].least <= 0)
            c->rows[i].level = find_level(units_of(c, i), units, sum);
    for (size_t u = 0; u < units; u++) {
        n = sort_unit(c, from, to, u);
        for (uint32_t i = from; i < to; i++) {
            const struct row *row = &c->rows[i];
            double *value = &units_of(c, i)[u];
            double left = *value;
            if (is_cut(row, sum) && row->least > 0)
                left = left_of(row, *value, median_of_peers(c, n, *value), sum);
            else if (is_cut(row, sum))
                left = fmin(*value, row->level);
            if (row->member->meant)
                *value = *value > 0 ? left / *value : 1;
        }
    }
}

static int compare_bursts(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return (x->bursts > y->bursts) - (x->bursts < y->bursts);
}

static void cut_epoch(struct comparison *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        const struct lull_units *units = &c->rows[i].member->units;
        c->rows[i].bursts = c->epoch < units->n_epochs ? units->epochs[c->epoch].bursts : 0;
        c->rows[i].sum = lull_units_sum(units, c->epoch);
        c->rows[i].least = 0;
    }
    qsort(c->rows, c->count, sizeof *c->rows, compare_bursts);
    const double sum = median_sum(c);
    for (uint32_t from = 0, to; from < c->count; from = to) {
        for (to = from; to < c->count && c->rows[to].bursts == c->rows[from].bursts;)
            to++;
        cut_alike(c, from, to, sum);
    }
}

/* ---- who is compared ----------------------------------------------------------------------- */

static bool is_meant(const struct lull_trace *trace, const struct lull_what_if_cut *cut,
                     uint32_t location)
{
    const struct lull_process *process = &trace->processes[trace->locations[location].process];
    if (cut->node)
        return process->node < trace->n_nodes &&
               strcmp(trace->nodes[process->node].name, cut->node) == 0;
    return cut->rank == LULL_NONE || cut->rank == process->rank;
}

/* Which thread of its process: those of all are numbered alike. */
static uint32_t number_of(const struct cuts *cuts, const struct member *member)
{
    const struct lull_location *location = &cuts->trace->locations[member->location];
    return member->location - cuts->trace->processes[location->process].first_location;
}

/* The members of one thread number, with units of the same length. */
static void cut_threads(const struct cuts *cuts, struct member *members, uint32_t number,
                        struct comparison *c)
{
    unsigned shift = 0;
    size_t epochs = 0;
    c->count = 0;
    for (uint32_t s = 0; s < cuts->n_streams; s++) {
        if (members[s].location == LULL_NONE || number_of(cuts, &members[s]) != number)
            continue;
        const struct lull_units *units = &members[s].units;
        c->rows[c->count++].member = &members[s];
        shift = units->shift > shift ? units->shift : shift;
        epochs = units->n_epochs > epochs ? units->n_epochs : epochs;
    }
    for (uint32_t i = 0; i < c->count; i++)
        lull_units_merge(&c->rows[i].member->units, shift);
    for (c->epoch = 0; c->epoch < epochs; c->epoch++)
        cut_epoch(c);
}

/* Each thread number once: with the first stream that has it. */
static bool is_first(const struct cuts *cuts, const struct member *members, uint32_t stream)
{
    if (members[stream].location == LULL_NONE)
        return false;
    for (uint32_t s = 0; s < stream; s++)
        if (members[s].location != LULL_NONE &&
            number_of(cuts, &members[s]) == number_of(cuts, &members[stream]))
            return false;
    return true;
}

static void conclude_cut(struct cuts *cuts, uint32_t number, struct comparison *c)
{
    const struct lull_what_if_cut *cut = &cuts->wanted->cuts[number];
    struct member *members = &cuts->members[(size_t)number * cuts->n_streams];
    c->all_meant = !cut->node && cut->rank == LULL_NONE;
    for (uint32_t s = 0; s < cuts->n_streams; s++)
        members[s].meant =
            members[s].location != LULL_NONE && is_meant(cuts->trace, cut, members[s].location);
    for (uint32_t s = 0; s < cuts->n_streams; s++)
        if (is_first(cuts, members, s))
            cut_threads(cuts, members, number_of(cuts, &members[s]), c);
    for (uint32_t s = 0; s < cuts->n_streams; s++)
        if (!members[s].meant)
            lull_units_free(&members[s].units);
}

static bool conclude(void *state)
{
    struct cuts *cuts = state;
    struct comparison c = {.rows = calloc(cuts->n_streams + (size_t)1, sizeof *c.rows),
                           .scratch = calloc(cuts->n_streams + (size_t)1, sizeof *c.scratch)};
    bool fits = c.rows && c.scratch;
    for (uint32_t i = 0; fits && i < cuts->n; i++)
        conclude_cut(cuts, i, &c);
    free(c.rows);
    free(c.scratch);
    return fits;
}

/* ---- a burst ------------------------------------------------------------------------------- */

static int64_t cut_burst(struct member *member, uint32_t epoch, int64_t ns)
{
    const struct lull_units *units = &member->units;
    if (member->epoch != epoch) {
        member->epoch = epoch;
        member->bursts = 0;
    }
    const uint32_t burst = member->bursts++;
    if (!member->meant || epoch >= units->n_epochs || burst >= units->epochs[epoch].bursts)
        return ns;
    if ((burst & ((UINT32_C(1) << units->shift) - 1)) == 0)
        member->burst = (struct lull_stretched){0};
    const double left = units->values[units->epochs[epoch].first + (burst >> units->shift)];
    return left < 1 ? lull_stretch_on(&member->burst, ns, left, 1) : ns;
}

static int64_t apply(void *state, const struct lull_replay_burst *burst, int64_t ns)
{
    struct cuts *cuts = state;
    const uint64_t which = cuts->treatments->treatments[burst->mark].cuts;
    int64_t shortest = ns;
    for (uint32_t i = 0; i < cuts->n; i++) {
        if (!(which >> i & 1))
            continue;
        struct member *member = &cuts->members[(size_t)i * cuts->n_streams + burst->stream];
        const int64_t length = cut_burst(member, burst->phase, ns);
        shortest = length < shortest ? length : shortest;
    }
    return shortest;
}

const struct lull_what_if_kind lull_kind_cuts = {.is_wanted = is_wanted,
                                                 .create = create,
                                                 .destroy = destroy,
                                                 .learn = learn,
                                                 .conclude = conclude,
                                                 .forget = forget,
                                                 .apply = apply,
                                                 .rewind = rewind_members};
