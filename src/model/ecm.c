/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/ecm.h"

#include "machine/machine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== the model =============================================================================== */

static double longest_overlapping(const struct lull_ecm *ecm, size_t level)
{
    double longest = ecm->t_ol;
    for (size_t i = 0; i < level; i++)
        if (ecm->links[i].overlaps)
            longest = fmax(longest, ecm->links[i].cycles);
    return longest;
}

/* `sum` and the cycles of the links behind level `first`, up to `level`, but of those that overlap
 * wholly. */
static double add_links(const struct lull_ecm *ecm, double sum, size_t first, size_t level)
{
    for (size_t i = first; i < level; i++)
        sum += ecm->links[i].overlaps ? 0 : ecm->links[i].cycles;
    return sum;
}

/* Cycles for the lines that come from a level and no farther: the time of all lines that pass this
 * level if they came from it, less the time that those of them would take that come from beyond. */
static double taken_from(const struct lull_ecm *ecm, size_t from, size_t level)
{
    double all = from ? ecm->links[from - 1].whole : ecm->t_nol;
    double beyond = from < level ? ecm->links[from].whole - ecm->links[from].cycles : 0;
    return fmax(0, all - beyond);
}

/* The measured share of lines from a level beside lines from beyond it: the mean over the farther
 * levels, weighted with the time that the lines of each take. */
static double share_of(const struct lull_ecm *ecm, size_t from, size_t level)
{
    double sum = 0, weights = 0;
    for (size_t far = from + 1; far <= level; far++) {
        double weight = taken_from(ecm, far, level);
        sum += weight * ecm->links[far - 1].shares[from];
        weights += weight;
    }
    return weights > 0 ? sum / weights : 0;
}

double lull_ecm_time(const struct lull_ecm *ecm, size_t level)
{
    level = level < ecm->n_links ? level : ecm->n_links;
    double time = add_links(ecm, ecm->t_nol, 0, level), gained = 0;
    for (size_t from = 0; from < level; from++) {
        double shorter = fmin(taken_from(ecm, from, level), add_links(ecm, 0, from, level));
        gained += share_of(ecm, from, level) * shorter;
    }
    return fmax(longest_overlapping(ecm, level), time - gained);
}

double lull_ecm_transfer(double loads, double stores, double line_bytes, double bytes_per_cycle,
                         bool full_duplex)
{
    double lines = full_duplex ? fmax(loads, stores) : loads + stores;
    return lines * line_bytes / bytes_per_cycle;
}

double lull_ecm_scale(double t, double shared, unsigned cores)
{
    return fmax(t / cores, shared);
}

unsigned lull_ecm_saturation(double t, double shared)
{
    return shared > 0 ? (unsigned)ceil(t / shared) : 0;
}

double lull_ecm_scale_latency(double t, double shared, unsigned cores)
{
    if (!(shared > 0))
        return t / cores;
    double utilisation = shared / t;
    for (unsigned n = 2; n <= cores; n++)
        utilisation = fmin(1, n * shared / (t + (n - 1) * utilisation * shared / 2));
    return shared / fmin(1, utilisation);
}

/* ==== what a machine file says ================================================================ */

enum { BENCHMARK_NAME_BYTES = 128, SHORT_BYTES = 24, LINE_BYTES = 64 };
static const double SAME_SHARE = 0.01;

/* Benchmarks of bandwidth: streams that the code touches, and lines that travel for each line of
 * elements. Of two mixes that are equally near the first one counts. */
static const struct benchmark_stream {
    const char *kernel;
    double explicit;
    struct lull_ecm_lines lines;
    bool is_mix; /* it is measured in order to interpolate */
} streams[] = {
    {"load", 1, {1, 0, 0}, false},   {"copy", 2, {2, 1, 1}, false},  {"triad", 4, {4, 1, 1}, false},
    {"update", 2, {1, 1, 0}, false}, {"daxpy", 3, {2, 1, 0}, false}, {"store", 1, {1, 1, 1}, false},
    {"add3", 5, {4, 1, 0}, true},    {"add8", 10, {9, 1, 0}, true},  {"sum8", 9, {9, 1, 1}, true}};

enum { N_STREAMS = sizeof streams / sizeof *streams };

lull_status lull_ecm_clock(const struct lull_machine *machine, double *ret_clock,
                           struct lull_error *err)
{
    const struct lull_number *number = lull_machine_find(machine, "clock.effective");
    if (!number)
        number = lull_machine_find(machine, "clock.nominal");
    if (!number || !(number->value > 0))
        return lull_fail(err, LULL_ERR_RANGE,
                         "the machine file knows no clock: `lull bench clock` measures it");
    *ret_clock = number->value;
    return LULL_OK;
}

/* ---- bandwidth of memory --------------------------------------------------------------------- */

static const struct lull_number *fastest(const struct lull_machine *machine, const char *base,
                                         unsigned *ret_threads)
{
    const struct lull_number *best = NULL;
    size_t length = strlen(base);
    for (size_t i = 0; i < machine->numbers.count; i++) {
        const struct lull_number *number = &machine->numbers.items[i];
        if (strncmp(number->name, base, length) != 0 || number->name[length] != '.' ||
            !(number->value > 0) || (best && number->value <= best->value))
            continue;
        best = number;
        *ret_threads = (unsigned)strtoul(number->name + length + 1, NULL, 10);
    }
    return best;
}

/* What is in memory takes far longer than a block to go through: it meets the mean of the blocks,
 * not the quantile that is quoted. 1 where the mean is not known. */
static double mean_over_value(const struct lull_number *number)
{
    return number->mean > 0 ? number->mean / number->value : 1;
}

static double bandwidth_of(const struct lull_number *number)
{
    double value = number->with_write_allocate > 0 ? number->with_write_allocate : number->value;
    return value * mean_over_value(number);
}

static double all_lines(const struct lull_ecm_lines *lines)
{
    return lines->loads + lines->stores;
}

/* How far a mix is from another one in the share of lines written, and, far behind that, of those
 * that are read because of it. */
static double mix_distance(const struct lull_ecm_lines *a, const struct lull_ecm_lines *b)
{
    const double little = 1e-6;
    double stores = a->stores / all_lines(a) - b->stores / all_lines(b);
    double allocates = a->allocates / all_lines(a) - b->allocates / all_lines(b);
    return fabs(stores) + little * fabs(allocates);
}

static double share_written(const struct lull_ecm_lines *lines)
{
    return lines->stores / all_lines(lines);
}

/* Streams that stand for the mix of some lines: a line takes the sum of their times for a line,
 * each times its weight. */
struct stream_blend {
    struct {
        const struct benchmark_stream *stream;
        double weight; /* above 0; 1 in all */
    } parts[2 * 2];    /* the largest weight first */
    size_t count;
};

static void add_to_blend(const struct benchmark_stream *stream, double weight,
                         struct stream_blend *blend)
{
    size_t at = 0;
    while (at < blend->count && blend->parts[at].stream != stream)
        at++;
    if (at == blend->count) {
        blend->parts[at].weight = 0;
        blend->count++;
    }
    weight += blend->parts[at].weight;
    for (; at > 0 && blend->parts[at - 1].weight < weight; at--)
        blend->parts[at] = blend->parts[at - 1];
    blend->parts[at].stream = stream;
    blend->parts[at].weight = weight;
}

/* Whether a machine file has measured a stream. */
typedef bool measured_function(const void *context, const struct benchmark_stream *stream);

static bool is_allocating(const struct benchmark_stream *stream)
{
    return stream->lines.allocates > 0;
}

/* Whether a stream was measured that writes, and does or does not allocate. */
static bool writing_measured(bool allocating, measured_function *measured, const void *context)
{
    bool any = false;
    for (size_t i = 0; i < N_STREAMS; i++)
        any |= streams[i].lines.stores > 0 && is_allocating(&streams[i]) == allocating &&
               measured(context, &streams[i]);
    return any;
}

/* Adds, with `weight` in all, those measured streams whose shares of lines written are next to
 * `written`, among streams that write and do or do not allocate, and those that only read. */
static void blend_next(double written, bool allocating, double weight, measured_function *measured,
                       const void *context, struct stream_blend *blend)
{
    const struct benchmark_stream *below = NULL, *above = NULL;
    for (size_t i = 0; i < N_STREAMS; i++) {
        const struct benchmark_stream *stream = &streams[i];
        double share = share_written(&stream->lines);
        if ((share > 0 && is_allocating(stream) != allocating) || !measured(context, stream))
            continue;
        if (share <= written && (!below || share > share_written(&below->lines)))
            below = stream;
        if (share >= written && (!above || share < share_written(&above->lines)))
            above = stream;
    }
    below = below ? below : above;
    above = above ? above : below;
    if (!below || !(weight > 0))
        return;
    double from = share_written(&below->lines), to = share_written(&above->lines);
    double part = to > from ? (written - from) / (to - from) : 0;
    if (part < 1)
        add_to_blend(below, weight * (1 - part), blend);
    if (part > 0)
        add_to_blend(above, weight * part, blend);
}

static const struct benchmark_stream *
nearest_stream(const struct lull_ecm_lines *lines, measured_function *measured, const void *context)
{
    const struct benchmark_stream *best = NULL;
    double distance = INFINITY;
    for (size_t i = 0; i < N_STREAMS; i++) {
        double off = mix_distance(&streams[i].lines, lines);
        if (off < distance - 1e-9 && measured(context, &streams[i])) {
            best = &streams[i];
            distance = off;
        }
    }
    return best;
}

/* Interpolates where mixes were measured, else takes the nearest stream. Returns false where no
 * stream was measured. */
static bool blend_streams(const struct lull_ecm_lines *lines, measured_function *measured,
                          const void *context, struct stream_blend *blend)
{
    const struct lull_ecm_lines reading = {1, 0, 0};
    bool mixes = false;
    if (!(all_lines(lines) > 0))
        lines = &reading;
    for (size_t i = 0; i < N_STREAMS; i++)
        mixes |= streams[i].is_mix && measured(context, &streams[i]);
    *blend = (struct stream_blend){0};
    if (mixes) {
        double allocating = lines->stores > 0 ? fmin(1, lines->allocates / lines->stores) : 0;
        if (!writing_measured(true, measured, context))
            allocating = 0;
        else if (!writing_measured(false, measured, context))
            allocating = 1;
        blend_next(share_written(lines), false, 1 - allocating, measured, context, blend);
        blend_next(share_written(lines), true, allocating, measured, context, blend);
        return true;
    }
    const struct benchmark_stream *nearest = nearest_stream(lines, measured, context);
    if (nearest)
        add_to_blend(nearest, 1, blend);
    return nearest != NULL;
}

struct memory_question {
    const struct lull_machine *machine;
    unsigned threads;
};

static const struct lull_number *memory_number(const struct memory_question *question,
                                               const char *kernel, unsigned *ret_threads)
{
    char base[BENCHMARK_NAME_BYTES];
    snprintf(base, sizeof base, "memory.%s", kernel);
    return question->threads
               ? lull_machine_find_threads(question->machine, base, question->threads, ret_threads)
               : fastest(question->machine, base, ret_threads);
}

static bool memory_measured(const void *context, const struct benchmark_stream *stream)
{
    unsigned threads;
    return memory_number(context, stream->kernel, &threads) != NULL;
}

lull_status lull_ecm_memory_bandwidth(const struct lull_machine *machine,
                                      const struct lull_ecm_lines *lines, unsigned threads,
                                      struct lull_ecm_bandwidth *ret_bandwidth,
                                      struct lull_error *err)
{
    const struct memory_question question = {.machine = machine, .threads = threads};
    struct lull_ecm_bandwidth bandwidth = {.mean = true};
    struct stream_blend blend;
    double time = 0; /* of a byte */
    if (!blend_streams(lines, memory_measured, &question, &blend))
        return lull_fail(err, LULL_ERR_RANGE,
                         "the machine file knows no bandwidth of memory: `lull bench bandwidth` "
                         "measures it");
    const struct lull_ecm_lines *first = &blend.parts[0].stream->lines;
    for (size_t i = blend.count; i-- > 0;) { /* the first one last, for its threads */
        const struct lull_number *number =
            memory_number(&question, blend.parts[i].stream->kernel, &bandwidth.threads);
        time += blend.parts[i].weight / bandwidth_of(number);
        bandwidth.mean &= number->mean > 0;
    }
    bandwidth.value = 1 / time;
    for (size_t i = 0, used = 0; i < blend.count && used < sizeof bandwidth.kernel; i++)
        used += (size_t)snprintf(bandwidth.kernel + used, sizeof bandwidth.kernel - used, "%s%s",
                                 i == 0                ? ""
                                 : i + 1 < blend.count ? ", "
                                                       : " and ",
                                 blend.parts[i].stream->kernel);
    bandwidth.written = share_written(first);
    bool same = !(all_lines(lines) > 0) ||
                fabs(bandwidth.written - share_written(lines)) <= SAME_SHARE * bandwidth.written;
    bandwidth.mix = blend.count > 1 ? LULL_ECM_INTERPOLATED
                    : same          ? LULL_ECM_SAME
                                    : LULL_ECM_NEAREST;
    *ret_bandwidth = bandwidth;
    return LULL_OK;
}

/* ---- links ----------------------------------------------------------------------------------- */

static const struct lull_machine_link *link_between(const struct lull_machine *machine,
                                                    const char *from, const char *to)
{
    for (size_t i = 0; i < machine->core.n_links; i++)
        if (strcmp(machine->core.links[i].from, from) == 0 &&
            strcmp(machine->core.links[i].to, to) == 0)
            return &machine->core.links[i];
    return NULL;
}

/* A link whose ends are named as the numbers of the machine file are: "L2", "memory". */
struct link_question {
    const struct lull_machine *machine;
    const char *near, *far;
    double clock;
};

/* Cycles that one core takes for a line of each stream with the data in that level; NAN: unknown.
 */
static double measured_cycles(const struct link_question *question, const char *level,
                              const struct benchmark_stream *stream)
{
    char name[BENCHMARK_NAME_BYTES];
    snprintf(name, sizeof name, "%s.%s.1", level, stream->kernel);
    const struct lull_number *number = lull_machine_find(question->machine, name);
    if (!number || !(number->value > 0))
        return NAN;
    double per_cycle = number->in_cycles > 0 ? number->in_cycles : number->value / question->clock;
    if (strncmp(level, "memory", strlen("memory")) == 0)
        per_cycle *= mean_over_value(number);
    return stream->explicit * LINE_BYTES / per_cycle;
}

/* ---- overlap --------------------------------------------------------------------------------- */

/* From a scalar product of an array in `far` with one in `near`, a level before it, at least
 * `least`. NAN: not measured, or nothing could overlap. */
static double measured_share(const struct link_question *question, const char *near,
                             const char *far, double least)
{
    static const struct benchmark_stream dot = {"dot", 2, {2, 0, 0}, false};
    char both[2 * SHORT_BYTES];
    snprintf(both, sizeof both, "%s+%s", far, near);
    double in_near = measured_cycles(question, near, &dot);
    double in_far = measured_cycles(question, far, &dot);
    double added = (in_near + in_far) / 2, longer = fmax(in_near, in_far / 2);
    double share = (added - measured_cycles(question, both, &dot)) / (added - longer);
    return !(added > longer) ? NAN : share < least ? least : share > 1 ? 1 : share;
}

/* Shares beside lines from `far`; those that were not measured as in `instead`. Returns whether one
 * was measured. */
static bool measured_shares(const struct link_question *question, const char *far, size_t n_near,
                            const double *instead, double shares[LULL_ECM_LINKS])
{
    bool any = false;
    for (size_t i = 0; i < n_near; i++) {
        char near[SHORT_BYTES];
        snprintf(near, sizeof near, "L%zu", i + 1);
        /* What is in the first cache moves no lines, and hinders none. */
        double share = measured_share(question, near, far, i ? -1 : 0);
        any |= !isnan(share);
        shares[i] = !isnan(share) ? share : instead ? instead[i] : 0;
    }
    return any;
}

struct lull_ecm_overlap lull_ecm_overlap(const struct lull_machine *machine)
{
    struct lull_ecm_overlap overlap = {.source = LULL_ECM_STATED};
    struct link_question question = {.machine = machine};
    if (machine->core.overlap) {
        overlap.caches = strcmp(machine->core.overlap, "caches") == 0;
        return overlap;
    }
    bool measured = false;
    if (!machine->core.n_links && lull_ecm_clock(machine, &question.clock, NULL) == LULL_OK) {
        for (size_t i = 0; i < LULL_ECM_LINKS; i++) {
            char far[SHORT_BYTES];
            snprintf(far, sizeof far, "L%zu", i + 2);
            measured |= measured_shares(&question, far, i + 1, i ? overlap.shares[i - 1] : NULL,
                                        overlap.shares[i]);
        }
        measured |= measured_shares(&question, "memory", LULL_ECM_LINKS, NULL, overlap.memory);
    }
    overlap.source = measured ? LULL_ECM_MEASURED : LULL_ECM_ASSUMED;
    overlap.caches =
        !measured && machine->cpu.vendor && strcmp(machine->cpu.vendor, "AuthenticAMD") == 0;
    return overlap;
}

/* ---- what links take ------------------------------------------------------------------------- */

double lull_ecm_first_cache(const struct lull_machine *machine, double loads, double stores)
{
    struct link_question question = {.machine = machine};
    double share = stores / (loads + stores), distance = INFINITY, cycles = NAN;
    if (!(loads + stores > 0) || lull_ecm_clock(machine, &question.clock, NULL) != LULL_OK)
        return NAN;
    for (size_t i = 0; i < N_STREAMS; i++) {
        double taken = measured_cycles(&question, "L1", &streams[i]);
        double off = fabs(streams[i].lines.stores / streams[i].explicit - share);
        if (isnan(taken) || off >= distance - 1e-9)
            continue;
        distance = off;
        cycles = taken / streams[i].explicit * (loads + stores);
    }
    return cycles;
}

static bool link_measured(const void *context, const struct benchmark_stream *stream)
{
    const struct link_question *question = context;
    return isfinite(measured_cycles(question, question->near, stream)) &&
           isfinite(measured_cycles(question, question->far, stream));
}

/* What lines cost on a link that only measurements of both of its ends tell about: how much longer
 * streams of their mix take behind it, and all that they take there. */
static lull_status derive_link(const struct link_question *question,
                               const struct lull_ecm_lines *lines, double *ret_longer,
                               double *ret_whole, struct lull_error *err)
{
    struct stream_blend blend;
    double longer = 0, whole = 0; /* for a line */
    if (!blend_streams(lines, link_measured, question, &blend))
        return lull_fail(err, LULL_ERR_RANGE,
                         "the machine file knows neither a link between %s and %s nor bandwidths "
                         "of both on one core: `lull bench bandwidth` measures these",
                         question->near, question->far);
    for (size_t i = 0; i < blend.count; i++) {
        const struct benchmark_stream *stream = blend.parts[i].stream;
        double far = measured_cycles(question, question->far, stream);
        double near = measured_cycles(question, question->near, stream);
        double weight = blend.parts[i].weight / all_lines(&stream->lines);
        whole += weight * far;
        longer += weight * fmax(0, far - near);
    }
    *ret_whole = whole * all_lines(lines);
    *ret_longer = longer * all_lines(lines);
    return LULL_OK;
}

static void take_overlap(const struct lull_ecm_overlap *overlap,
                         const double shares[LULL_ECM_LINKS], double whole, struct lull_ecm *ecm,
                         size_t number)
{
    bool measured = overlap->source == LULL_ECM_MEASURED;
    ecm->links[number].whole = measured ? whole : 0;
    for (size_t i = 0; i < LULL_ECM_LINKS; i++)
        ecm->links[number].shares[i] = measured ? shares[i] : 0;
}

static lull_status fill_link(const struct link_question *question,
                             const struct lull_ecm_overlap *overlap, size_t number,
                             const struct lull_ecm_lines *lines, struct lull_arena *arena,
                             struct lull_ecm *ecm, struct lull_error *err)
{
    const struct lull_machine_link *link =
        link_between(question->machine, question->near, question->far);
    double longer, whole;
    ecm->links[number].name = lull_arena_printf(arena, "%s-%s", question->near, question->far);
    ecm->links[number].overlaps = overlap->caches;
    if (link) {
        ecm->links[number].cycles = lull_ecm_transfer(lines->loads, lines->stores, LINE_BYTES,
                                                      link->bytes_per_cycle, link->full_duplex);
        return LULL_OK;
    }
    lull_status status = derive_link(question, lines, &longer, &whole, err);
    if (status != LULL_OK)
        return status;
    ecm->links[number].cycles = overlap->caches ? whole : longer;
    take_overlap(overlap, overlap->shares[number], whole, ecm, number);
    return LULL_OK;
}

static const char *level_name(size_t level, struct lull_arena *arena)
{
    return lull_arena_printf(arena, "L%zu", level);
}

lull_status lull_ecm_links(const struct lull_machine *machine, const struct lull_ecm_lines *lines,
                           size_t n_lines, struct lull_arena *arena, struct lull_ecm *ecm,
                           struct lull_ecm_bandwidth *ret_memory, struct lull_error *err)
{
    const struct lull_ecm_overlap overlap = lull_ecm_overlap(machine);
    double clock, whole;
    if (!n_lines || n_lines > LULL_ECM_LINKS)
        return lull_fail(err, LULL_ERR_RANGE, "lines over %zu links, expected 1 to %d", n_lines,
                         LULL_ECM_LINKS);
    lull_status status = lull_ecm_clock(machine, &clock, err);
    for (size_t i = 0; status == LULL_OK && i + 1 < n_lines; i++) {
        const struct link_question question = {machine, level_name(i + 1, arena),
                                               level_name(i + 2, arena), clock};
        status = fill_link(&question, &overlap, i, &lines[i], arena, ecm, err);
    }
    const struct lull_ecm_lines *memory = &lines[n_lines - 1];
    if (status == LULL_OK)
        status = lull_ecm_memory_bandwidth(machine, memory, 0, ret_memory, err);
    if (status != LULL_OK)
        return status;
    const char *near = level_name(n_lines, arena);
    ecm->n_links = n_lines;
    ecm->links[n_lines - 1].name = lull_arena_printf(arena, "%s-Mem", near);
    ecm->links[n_lines - 1].overlaps = false;
    ecm->shared = all_lines(memory) * LINE_BYTES * clock / ret_memory->value;
    /* Where the caches' transfers overlap, that of memory adds to nothing but the core's loads and
     * stores. */
    const struct link_question question = {machine, overlap.caches ? "L1" : near, "memory", clock};
    if (machine->core.n_links ||
        derive_link(&question, memory, &ecm->links[n_lines - 1].cycles, &whole, NULL) != LULL_OK)
        whole = ecm->links[n_lines - 1].cycles = ecm->shared;
    take_overlap(&overlap, overlap.memory, whole, ecm, n_lines - 1);
    return LULL_OK;
}
