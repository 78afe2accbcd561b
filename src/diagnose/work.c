#include "diagnose/work.h"

#include "base/array.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { BINS = 160, BINS_OF_OCTAVE = 4, FIRST_OCTAVE = 8, PLACES_OF_PROCESS = 64 };

struct place {
    struct lull_work_place known;
    uint32_t bins[BINS];
};

/* One process. */
struct reading {
    struct place *places;
    size_t count, capacity;
    size_t last; /* that was found */
    uint32_t region;
    int64_t begin, ns; /* of the burst that is open; 0: none is */
};

struct lull_work_collector {
    const struct lull_trace *trace;
    uint32_t application;
    struct reading *readings; /* [n_processes] */
    atomic_uint places;       /* in all */
    atomic_bool no_memory;
};

/* ---- bins ---------------------------------------------------------------------------------- */

static unsigned bin_of(int64_t ns)
{
    const unsigned octave = 63 - (unsigned)__builtin_clzll((unsigned long long)ns | 1);
    if (octave < FIRST_OCTAVE)
        return 0;
    const unsigned quarter = (unsigned)(ns >> (octave - 2)) & (BINS_OF_OCTAVE - 1);
    const unsigned bin = (octave - FIRST_OCTAVE) * BINS_OF_OCTAVE + quarter;
    return bin < BINS ? bin : BINS - 1;
}

/* The middle of a bin. */
static int64_t length_of(unsigned bin)
{
    const int64_t quarter = INT64_C(1) << (FIRST_OCTAVE + bin / BINS_OF_OCTAVE - 2);
    return quarter * (BINS_OF_OCTAVE + bin % BINS_OF_OCTAVE) + quarter / 2;
}

/* ---- reading ------------------------------------------------------------------------------- */

static struct place *find_place(struct lull_work_collector *collector, struct reading *reading,
                                uint32_t process, uint32_t call)
{
    const struct place *last = reading->count ? &reading->places[reading->last] : NULL;
    if (last && last->known.region == reading->region && last->known.call == call)
        return &reading->places[reading->last];
    for (size_t i = 0; i < reading->count; i++)
        if (reading->places[i].known.region == reading->region &&
            reading->places[i].known.call == call) {
            reading->last = i;
            return &reading->places[i];
        }
    if (reading->count == PLACES_OF_PROCESS) /* of many functions: without the call */
        return call == LULL_NONE ? NULL : find_place(collector, reading, process, LULL_NONE);
    if (atomic_fetch_add(&collector->places, 1) >= LULL_WORK_PLACES_MOST)
        return NULL;
    if (!lull_array_reserve(&reading->places, &reading->capacity, reading->count + 1,
                            sizeof *reading->places)) {
        atomic_store(&collector->no_memory, true);
        return NULL;
    }
    struct place *place = &reading->places[reading->count];
    *place = (struct place){
        .known = {.process = process, .region = reading->region, .call = call}};
    reading->last = reading->count++;
    return place;
}

static void end_burst(struct lull_work_collector *collector, struct reading *reading,
                      uint32_t process, uint32_t call)
{
    if (reading->ns <= 0)
        return;
    struct place *place = find_place(collector, reading, process, call);
    if (place) {
        place->known.bursts++;
        place->known.ns += reading->ns;
        place->bins[bin_of(reading->ns)]++;
        if (reading->ns > place->known.longest_ns) {
            place->known.longest_ns = reading->ns;
            place->known.longest_begin = reading->begin;
        }
    }
    reading->ns = 0;
}

static void take_span(struct lull_work_collector *collector, struct reading *reading,
                      uint32_t process, const struct lull_step *step)
{
    const int64_t ns = step->span.end - step->time;
    if (step->activity == LULL_USEFUL) {
        if (ns <= 0)
            return;
        if (reading->ns > 0 && reading->region != step->span.user)
            end_burst(collector, reading, process, LULL_NONE);
        if (reading->ns == 0)
            reading->begin = step->time;
        reading->region = step->span.user;
        reading->ns += ns;
    } else if (step->activity >= LULL_MPI_P2P && step->activity <= LULL_MPI_OTHER) {
        end_burst(collector, reading, process, step->region);
    }
}

static lull_status take_steps(void *context, unsigned worker, const struct lull_steps *steps,
                              struct lull_error *err)
{
    struct lull_work_collector *collector = context;
    const struct lull_trace *trace = collector->trace;
    const uint32_t process = trace->locations[steps->location].process;
    (void)worker;
    if (trace->processes[process].first_location != steps->location)
        return LULL_OK;
    struct reading *reading = &collector->readings[process];
    for (uint32_t i = 0; i < steps->count; i++) {
        const struct lull_step *step = &steps->steps[i];
        if (step->kind == LULL_STEP_SPAN)
            take_span(collector, reading, process, step);
        else if (step->kind == LULL_STEP_END)
            end_burst(collector, reading, process, LULL_NONE);
    }
    return atomic_load_explicit(&collector->no_memory, memory_order_relaxed)
               ? lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for its diagnosis",
                           trace->path)
               : LULL_OK;
}

/* ---- the collector ------------------------------------------------------------------------- */

lull_status lull_work_create(const struct lull_trace *trace, uint32_t application,
                             struct lull_work_collector **ret_collector, struct lull_error *err)
{
    struct lull_work_collector *collector = calloc(1, sizeof *collector);
    if (collector)
        collector->readings = calloc(trace->n_processes + (size_t)1, sizeof *collector->readings);
    if (!collector || !collector->readings) {
        free(collector);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for its diagnosis",
                         trace->path);
    }
    collector->trace = trace;
    collector->application = application;
    *ret_collector = collector;
    return LULL_OK;
}

struct lull_consumer lull_work_consumer(struct lull_work_collector *collector)
{
    return (struct lull_consumer){.context = collector,
                                  .wants = LULL_STEP_MASK(LULL_STEP_SPAN) |
                                           LULL_STEP_MASK(LULL_STEP_END),
                                  .steps = take_steps};
}

static int compare_places(const void *a, const void *b)
{
    const struct lull_work_place *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    return x->call < y->call ? -1 : x->call > y->call;
}

static void evaluate(const struct place *place, struct lull_work_place *ret_place)
{
    *ret_place = place->known;
    uint64_t before = 0;
    unsigned bin = 0;
    while (bin < BINS - 1 && 2 * (before + place->bins[bin]) < place->known.bursts)
        before += place->bins[bin++];
    ret_place->median_ns = length_of(bin);
    for (bin += BINS_OF_OCTAVE + 1; bin < BINS; bin++) {
        ret_place->long_bursts += place->bins[bin];
        ret_place->long_ns +=
            (int64_t)place->bins[bin] * (length_of(bin) - ret_place->median_ns);
    }
}

void lull_work_conclude(struct lull_work_collector *collector, struct lull_arena *arena,
                        struct lull_work *ret_work)
{
    const struct lull_trace *trace = collector->trace;
    size_t count = 0;
    *ret_work = (struct lull_work){0};
    if (atomic_load(&collector->places) > LULL_WORK_PLACES_MOST)
        ret_work->absent = "It has too many processes and regions to look at each computation.";
    for (uint32_t p = 0; p < trace->n_processes; p++)
        count += collector->readings[p].count;
    struct lull_work_place *places = lull_arena_zero(arena, count + 1, sizeof *places);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        for (size_t i = 0; i < collector->readings[p].count; i++)
            evaluate(&collector->readings[p].places[i], &places[ret_work->n_places++]);
    qsort(places, ret_work->n_places, sizeof *places, compare_places);
    ret_work->places = places;
}

void lull_work_destroy(struct lull_work_collector *collector)
{
    if (!collector)
        return;
    for (uint32_t p = 0; p < collector->trace->n_processes; p++)
        free(collector->readings[p].places);
    free(collector->readings);
    free(collector);
}

uint32_t lull_work_first(const struct lull_work *work, uint32_t process, uint32_t region)
{
    uint32_t low = 0, high = work->n_places;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const struct lull_work_place *at = &work->places[middle];
        if (at->process != process ? at->process < process : at->region < region)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t lull_work_of(const struct lull_work *work, uint32_t process, uint32_t region)
{
    int64_t ns = 0;
    for (uint32_t i = lull_work_first(work, process, region);
         i < work->n_places && work->places[i].process == process &&
         work->places[i].region == region;
         i++)
        ns += work->places[i].ns;
    return ns;
}
