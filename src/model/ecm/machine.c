#include "machine/machine.h"
#include "model/ecm/ecm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64, LINE_BYTES = 64 };

/* Benchmarks of bandwidth: streams that the code touches, and lines that travel for each line of
 * elements, those included that are read because they are written to. Of two mixes that are equally
 * near the first one counts. */
static const struct stream {
    const char *kernel;
    double explicit, loads, stores;
} streams[] = {{"load", 1, 1, 0},   {"copy", 2, 2, 1},  {"triad", 4, 4, 1},
               {"update", 2, 1, 1}, {"daxpy", 3, 2, 1}, {"store", 1, 1, 1}};
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

/* ---- bandwidth of memory -------------------------------------------------------------------- */

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

static double bandwidth_of(const struct lull_number *number)
{
    return number->with_write_allocate > 0 ? number->with_write_allocate : number->value;
}

/* Of all streams that `measured` knows, the one whose share of lines written is the nearest. */
static const struct stream *nearest_stream(double loads, double stores,
                                           bool (*measured)(const void *context,
                                                            const struct stream *stream),
                                           const void *context)
{
    const struct stream *best = NULL;
    double share = loads + stores > 0 ? stores / (loads + stores) : 0, distance = INFINITY;
    for (size_t i = 0; i < N_STREAMS; i++) {
        double off = fabs(streams[i].stores / (streams[i].loads + streams[i].stores) - share);
        if (off < distance - 1e-9 && measured(context, &streams[i])) {
            best = &streams[i];
            distance = off;
        }
    }
    return best;
}

struct memory_question {
    const struct lull_machine *machine;
    unsigned threads;
};

static const struct lull_number *memory_number(const struct memory_question *question,
                                               const char *kernel, unsigned *ret_threads)
{
    char base[NAME_BYTES];
    snprintf(base, sizeof base, "memory.%s", kernel);
    return question->threads
               ? lull_machine_find_threads(question->machine, base, question->threads, ret_threads)
               : fastest(question->machine, base, ret_threads);
}

static bool memory_measured(const void *context, const struct stream *stream)
{
    unsigned threads;
    return memory_number(context, stream->kernel, &threads) != NULL;
}

lull_status lull_ecm_memory_bandwidth(const struct lull_machine *machine, double loads,
                                      double stores, unsigned threads,
                                      struct lull_ecm_bandwidth *ret_bandwidth,
                                      struct lull_error *err)
{
    const struct memory_question question = {.machine = machine, .threads = threads};
    const struct stream *stream = nearest_stream(loads, stores, memory_measured, &question);
    if (!stream)
        return lull_fail(err, LULL_ERR_RANGE,
                         "the machine file knows no bandwidth of memory: `lull bench bandwidth` "
                         "measures it");
    const struct lull_number *number =
        memory_number(&question, stream->kernel, &ret_bandwidth->threads);
    ret_bandwidth->value = bandwidth_of(number);
    ret_bandwidth->kernel = stream->kernel;
    return LULL_OK;
}

/* ---- links ---------------------------------------------------------------------------------- */

bool lull_ecm_caches_overlap(const struct lull_machine *machine)
{
    if (machine->core.overlap)
        return strcmp(machine->core.overlap, "caches") == 0;
    return machine->cpu.vendor && strcmp(machine->cpu.vendor, "AuthenticAMD") == 0;
}

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
                              const struct stream *stream)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s.%s.1", level, stream->kernel);
    const struct lull_number *number = lull_machine_find(question->machine, name);
    if (!number || !(number->value > 0))
        return NAN;
    double per_cycle = number->in_cycles > 0 ? number->in_cycles : number->value / question->clock;
    return stream->explicit * LINE_BYTES / per_cycle;
}

double lull_ecm_first_cache(const struct lull_machine *machine, double loads, double stores)
{
    struct link_question question = {.machine = machine};
    double share = stores / (loads + stores), distance = INFINITY, cycles = NAN;
    if (!(loads + stores > 0) || lull_ecm_clock(machine, &question.clock, NULL) != LULL_OK)
        return NAN;
    for (size_t i = 0; i < N_STREAMS; i++) {
        double taken = measured_cycles(&question, "L1", &streams[i]);
        double off = fabs(streams[i].stores / streams[i].explicit - share);
        if (isnan(taken) || off >= distance - 1e-9)
            continue;
        distance = off;
        cycles = taken / streams[i].explicit * (loads + stores);
    }
    return cycles;
}

static bool link_measured(const void *context, const struct stream *stream)
{
    const struct link_question *question = context;
    return isfinite(measured_cycles(question, question->near, stream)) &&
           isfinite(measured_cycles(question, question->far, stream));
}

/* What a line costs on a link that only measurements of both of its ends tell about. */
static lull_status derive_link(const struct link_question *question,
                               const struct lull_ecm_lines *lines, bool overlaps,
                               double *ret_cycles, struct lull_error *err)
{
    const struct stream *stream =
        nearest_stream(lines->loads, lines->stores, link_measured, question);
    if (!stream)
        return lull_fail(err, LULL_ERR_RANGE,
                         "the machine file knows neither a link between %s and %s nor bandwidths "
                         "of both on one core: `lull bench bandwidth` measures these",
                         question->near, question->far);
    double longer = measured_cycles(question, question->far, stream);
    if (!overlaps)
        longer -= measured_cycles(question, question->near, stream);
    *ret_cycles =
        fmax(0, longer) / (stream->loads + stream->stores) * (lines->loads + lines->stores);
    return LULL_OK;
}

static lull_status fill_link(const struct lull_machine *machine, size_t number,
                             const struct lull_ecm_lines *lines, double clock,
                             struct lull_arena *arena, struct lull_ecm *ecm, struct lull_error *err)
{
    const char *near = lull_arena_printf(arena, "L%zu", number + 1);
    const char *far = lull_arena_printf(arena, "L%zu", number + 2);
    const struct lull_machine_link *link = link_between(machine, near, far);
    bool overlaps = lull_ecm_caches_overlap(machine);
    ecm->links[number].name = lull_arena_printf(arena, "%s-%s", near, far);
    ecm->links[number].overlaps = overlaps;
    if (link) {
        ecm->links[number].cycles = lull_ecm_transfer(lines->loads, lines->stores, LINE_BYTES,
                                                      link->bytes_per_cycle, link->full_duplex);
        return LULL_OK;
    }
    const struct link_question question = {machine, near, far, clock};
    return derive_link(&question, lines, overlaps, &ecm->links[number].cycles, err);
}

lull_status lull_ecm_links(const struct lull_machine *machine, const struct lull_ecm_lines *lines,
                           size_t n_lines, struct lull_arena *arena, struct lull_ecm *ecm,
                           struct lull_ecm_bandwidth *ret_memory, struct lull_error *err)
{
    double clock;
    if (!n_lines || n_lines > LULL_ECM_LINKS)
        return lull_fail(err, LULL_ERR_RANGE, "lines over %zu links, expected 1 to %d", n_lines,
                         LULL_ECM_LINKS);
    lull_status status = lull_ecm_clock(machine, &clock, err);
    for (size_t i = 0; status == LULL_OK && i + 1 < n_lines; i++)
        status = fill_link(machine, i, &lines[i], clock, arena, ecm, err);
    const struct lull_ecm_lines *memory = &lines[n_lines - 1];
    if (status == LULL_OK)
        status =
            lull_ecm_memory_bandwidth(machine, memory->loads, memory->stores, 0, ret_memory, err);
    if (status != LULL_OK)
        return status;
    const char *near = lull_arena_printf(arena, "L%zu", n_lines);
    ecm->n_links = n_lines;
    ecm->links[n_lines - 1].name = lull_arena_printf(arena, "%s-Mem", near);
    ecm->links[n_lines - 1].overlaps = false;
    ecm->shared = (memory->loads + memory->stores) * LINE_BYTES * clock / ret_memory->value;
    /* Where the caches' transfers overlap, that of memory adds to nothing but the core's loads and
     * stores. */
    const struct link_question question = {machine, lull_ecm_caches_overlap(machine) ? "L1" : near,
                                           "memory", clock};
    if (machine->core.n_links ||
        derive_link(&question, memory, false, &ecm->links[n_lines - 1].cycles, NULL) != LULL_OK)
        ecm->links[n_lines - 1].cycles = ecm->shared;
    return LULL_OK;
}
