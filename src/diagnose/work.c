/* SPDX-License-Identifier: BSD-3-Clause */
#include "diagnose/work.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/sorted.h"
#include "metrics/callers.h"

#include <stdatomic.h>
#include <stdlib.h>

/* ==== samples ================================================================================= */

/* They are collected by the consumer of work below, which knows bursts and paths. */

/* Places and contexts of a thread that are told apart; what is beyond counts as one place. */
enum { SAMPLED_PLACES_MOST = 4096 };
/* Those of all threads together: up to 200 MB. Where a run has more nothing is told. */
enum { SAMPLED_ITEMS_MOST = 2000000 };

/* The kinds of steps that sampled_take wants. */
#define SAMPLED_STEPS (LULL_STEP_MASK(LULL_STEP_SAMPLE) | LULL_STEP_MASK(LULL_STEP_FORK))

/* What is read of one location. */
struct sampled_reading {
    struct lull_samples samples;
    /* Samples of the burst that is open, of first threads: the call at its end is not known yet.
     * Where there is no room for more of them, those of one place and context become one. */
    struct lull_samples_item *open;
    size_t n_open, open_capacity;
    uint32_t parallel; /* 1 + the parallel region that was entered last; 0: that is not known */
};

struct sampled_collector {
    const struct lull_trace *trace;
    struct sampled_reading *readings; /* [n_locations] */
    atomic_uint items;                /* of all readings */
    struct lull_callers *callers;     /* NULL: there are no functions of Python */
};

/* Adds samples that are all alike. False: no memory. */
static bool add_item(struct sampled_collector *collector, struct sampled_reading *reading,
                     const struct lull_samples_item *item)
{
    const size_t before = reading->samples.n_items;
    const bool good = lull_samples_add(&reading->samples, item, SAMPLED_PLACES_MOST);
    if (reading->samples.n_items > before)
        atomic_fetch_add_explicit(&collector->items, 1, memory_order_relaxed);
    return good;
}

/* ---- the burst that is open ------------------------------------------------------------------ */

/* Makes one of all open items that are alike. Of more places than are told apart, those with higher
 * addresses become one. */
static void join_open_items(struct sampled_reading *reading)
{
    static const struct lull_samples_context anything = {0, LULL_NONE, LULL_NONE, 0};
    struct lull_samples_item *open = reading->open;
    const size_t most = SAMPLED_PLACES_MOST;
    size_t n = 0;
    qsort(open, reading->n_open, sizeof *open, lull_samples_order);
    for (size_t i = 0; i < reading->n_open; i++)
        if (n > 0 && (n > most || lull_samples_order(&open[n - 1], &open[i]) == 0)) {
            open[n - 1].count += open[i].count;
            open[n - 1].weight = lull_samples_weights(open[n - 1].weight, open[i].weight);
        } else {
            open[n++] = open[i];
        }
    if (n > most)
        open[most] =
            (struct lull_samples_item){anything, 0, LULL_NONE, open[most].count, open[most].weight};
    reading->n_open = n;
}

/* Keeps a sample until its burst ends. False: no memory. */
static bool keep_open(struct sampled_reading *reading, const struct lull_samples_item *item)
{
    if (reading->n_open == 2 * (size_t)SAMPLED_PLACES_MOST)
        join_open_items(reading);
    if (!lull_array_reserve(&reading->open, &reading->open_capacity, reading->n_open + 1,
                            sizeof *reading->open))
        return false;
    reading->open[reading->n_open++] = *item;
    return true;
}

/* The burst of a first thread ends with a call. False: no memory. */
static bool sampled_end_burst(struct sampled_collector *collector, uint32_t location, uint32_t call)
{
    struct sampled_reading *reading = &collector->readings[location];
    bool good = true;
    if (reading->n_open == 0)
        return true;
    for (size_t i = 0; i < reading->n_open && good; i++) {
        reading->open[i].context.call = call;
        good = add_item(collector, reading, &reading->open[i]);
    }
    reading->n_open = 0;
    return good;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool take_sample(struct sampled_collector *collector, unsigned worker, uint32_t location,
                        const struct lull_step *step, uint32_t path)
{
    const struct lull_trace *trace = collector->trace;
    struct sampled_reading *reading = &collector->readings[location];
    const struct lull_caller place = lull_callers_place(collector->callers, worker, location, step);
    const uint32_t process = trace->locations[location].process;
    const bool is_first = trace->processes[process].first_location == location;
    const struct lull_samples_item item = {.context = {.path = path,
                                                       .call = LULL_NONE,
                                                       .parallel = !step->parallel ? LULL_NONE
                                                                   : reading->parallel
                                                                       ? reading->parallel - 1
                                                                       : LULL_SAMPLES_UNNAMED,
                                                       .locked = step->sample.locked},
                                           .offset = place.offset,
                                           .object = (uint32_t)place.object,
                                           .count = 1,
                                           .weight = step->sample.weight};
    lull_samples_count(&reading->samples, item.weight);
    return is_first ? keep_open(reading, &item) : add_item(collector, reading, &item);
}

/* Takes the next step of a location; steps of other kinds are allowed. `path`: where a first thread
 * is. Calls for one location come in order and do not overlap; those for several may. False: no
 * memory. */
static bool sampled_take(struct sampled_collector *collector, unsigned worker, uint32_t location,
                         const struct lull_step *step, uint32_t path)
{
    struct sampled_reading *reading = &collector->readings[location];
    if (step->kind == LULL_STEP_FORK)
        reading->parallel = step->region + 1; /* 0: LULL_NONE */
    if (step->kind != LULL_STEP_SAMPLE || step->activity != LULL_USEFUL ||
        step->sample.weight == 0 ||
        atomic_load_explicit(&collector->items, memory_order_relaxed) > SAMPLED_ITEMS_MOST)
        return true;
    return take_sample(collector, worker, location, step, path);
}

/* ---- the collector --------------------------------------------------------------------------- */

/* `trace` is borrowed; `workers` of the pass. NULL: not enough memory. */
static struct sampled_collector *sampled_create(const struct lull_trace *trace, unsigned workers)
{
    struct sampled_collector *collector = calloc(1, sizeof *collector);
    if (!collector)
        return NULL;
    collector->trace = trace;
    collector->readings = calloc(trace->n_locations + (size_t)1, sizeof *collector->readings);
    if (!collector->readings ||
        (lull_callers_has_python(trace) &&
         lull_callers_create(trace, workers, &collector->callers, NULL) != LULL_OK)) {
        free(collector->readings);
        free(collector);
        return NULL;
    }
    return collector;
}

static void sampled_destroy(struct sampled_collector *collector)
{
    if (!collector)
        return;
    for (uint32_t l = 0; l < collector->trace->n_locations; l++) {
        lull_samples_free(&collector->readings[l].samples);
        free(collector->readings[l].open);
    }
    lull_callers_destroy(collector->callers);
    free(collector->readings);
    free(collector);
}

/* ---- from member to member ------------------------------------------------------------------- */

/* Behind a pass that a team has shared: each member puts what it has, and the first gets all. */
static bool sampled_put(const struct sampled_collector *collector, struct lull_flow *flow)
{
    const uint32_t last = LULL_NONE;
    bool good = true;
    for (uint32_t l = 0; good && l < collector->trace->n_locations; l++)
        if (collector->readings[l].samples.n_items > 0)
            good = lull_flow_put(flow, &l, sizeof l) &&
                   lull_samples_put(&collector->readings[l].samples, flow);
    return good && lull_flow_put(flow, &last, sizeof last);
}

static bool sampled_get(struct sampled_collector *collector, struct lull_flow *flow)
{
    uint32_t l = 0;
    while (lull_flow_get(flow, &l, sizeof l) && l < collector->trace->n_locations) {
        struct lull_samples *samples = &collector->readings[l].samples;
        if (!lull_samples_get(samples, flow))
            return false;
        atomic_fetch_add(&collector->items, (unsigned)samples->n_items);
        if (atomic_load(&collector->items) > SAMPLED_ITEMS_MOST) /* nothing will be told */
            lull_samples_free(samples);
    }
    return l == LULL_NONE;
}

/* ---- the result ------------------------------------------------------------------------------ */

/* After a pass that went well. NULL: there are no samples, or too many places. The result lives in
 * `arena`. */
static const struct lull_sampled *sampled_conclude(const struct sampled_collector *collector,
                                                   struct lull_arena *arena)
{
    const struct lull_trace *trace = collector->trace;
    const unsigned items = atomic_load(&collector->items);
    if (items == 0 || items > SAMPLED_ITEMS_MOST)
        return NULL;
    struct lull_sampled *sampled = lull_arena_zero(arena, 1, sizeof *sampled);
    struct lull_samples *threads =
        lull_arena_zero(arena, trace->n_locations + (size_t)1, sizeof *threads);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        threads[l] = lull_samples_copy(&collector->readings[l].samples, arena);
    *sampled = (struct lull_sampled){.trace = trace, .threads = threads};
    return sampled;
}

/* ==== work ==================================================================================== */

enum { BINS = 160, BINS_OF_OCTAVE = 4, FIRST_OCTAVE = 8, CALLS_OF_PROCESS = 64 };
/* A long burst is so many bins above the median: 1.7 times as long, 1.4 to 2 at their borders. */
enum { LONG_BINS = 3 };
/* Up to so many places of a process are found by going over them, more of them by their hash. */
enum { FEW_PLACES = 16 };

#define OPERATIONS                                                     \
    (LULL_STEP_MASK(LULL_STEP_SEND) | LULL_STEP_MASK(LULL_STEP_RECV) | \
     LULL_STEP_MASK(LULL_STEP_COLLECTIVE_END))

struct bursts {
    struct lull_work_bursts known;
    uint32_t bins[BINS];
};

struct place {
    struct lull_work_place known;
    uint64_t last_burst; /* the last burst in which it had a part */
};

/* A path as it is read. Path 0 is the one outside of all regions. */
struct path {
    uint32_t region, outer;
    uint32_t last; /* the longer path by one region that was entered last */
    int64_t ns, serial_ns;
};

/* What is read of one process. */
struct reading {
    struct path *paths; /* in the order of their first use; none before a region was entered */
    size_t n_paths, path_capacity;
    struct lull_hash longer; /* by outer path and region */
    uint32_t *open;          /* the path of each region that is open, the innermost last */
    size_t n_open, open_capacity;
    int64_t before_ns, before_serial_ns; /* before the first region was entered */
    struct place *places;                /* in the order of their first use */
    size_t n_places, place_capacity;
    size_t last_place;          /* place that was found last */
    struct lull_hash places_of; /* by region: those beyond the first FEW_PLACES */
    struct bursts *calls;
    size_t n_calls, call_capacity, last_call;
    struct lull_work_serial *serials; /* in the order of their first use */
    size_t n_serials, serial_capacity;
    size_t last_serial; /* pair of places that was found last */
    uint32_t after;     /* what ended before the serial stretch that is open */
    int64_t alone_ns;   /* of that stretch */
    uint64_t burst;     /* number of the burst that is open, from 1 on */
    int64_t begin, ns;  /* of the open burst; begin 0: it has not begun */
    uint32_t sends_in;  /* the call of a blocking send that goes on, or LULL_NONE */
    bool counted;       /* its send was counted already */
    uint64_t bytes;     /* bytes of that send */
};

/* What one worker adds up. */
struct sums {
    struct lull_work_sends sends[LULL_MESSAGES_CLASSES];
};

struct lull_work_collector {
    const struct lull_trace *trace;
    struct reading *readings; /* [n_processes] */
    struct sums *sums;        /* [n_workers] */
    unsigned n_workers;
    bool *is_send; /* [n_regions]: calls of blocking sends of the standard mode */
    struct sampled_collector *sampled;
    atomic_uint calls; /* places of calls, in all */
    atomic_bool no_memory;
};

/* ---- bins ------------------------------------------------------------------------------------ */

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

/* ---- reading --------------------------------------------------------------------------------- */

static struct bursts *find_bursts(struct lull_work_collector *collector, struct reading *reading,
                                  uint32_t process, uint32_t call)
{
    if (reading->n_calls > 0 && reading->calls[reading->last_call].known.call == call)
        return &reading->calls[reading->last_call];
    for (size_t i = 0; i < reading->n_calls; i++)
        if (reading->calls[i].known.call == call) {
            reading->last_call = i;
            return &reading->calls[i];
        }
    if (reading->n_calls == CALLS_OF_PROCESS ||
        atomic_fetch_add(&collector->calls, 1) >= LULL_WORK_BURSTS_MOST)
        return NULL;
    if (!lull_array_reserve(&reading->calls, &reading->call_capacity, reading->n_calls + 1,
                            sizeof *reading->calls)) {
        atomic_store(&collector->no_memory, true);
        return NULL;
    }
    struct bursts *bursts = &reading->calls[reading->n_calls];
    *bursts = (struct bursts){.known = {.process = process, .call = call}};
    reading->last_call = reading->n_calls++;
    return bursts;
}

static void end_burst(struct lull_work_collector *collector, struct reading *reading,
                      uint32_t process, uint32_t call)
{
    const uint32_t first = collector->trace->processes[process].first_location;
    if (!sampled_end_burst(collector->sampled, first, call))
        atomic_store(&collector->no_memory, true);
    if (reading->ns <= 0)
        return;
    struct bursts *bursts = find_bursts(collector, reading, process, call);
    if (bursts) {
        bursts->known.bursts++;
        bursts->bins[bin_of(reading->ns)]++;
        if (reading->ns > bursts->known.longest_ns) {
            bursts->known.longest_ns = reading->ns;
            bursts->known.longest_begin = reading->begin;
        }
    }
    reading->ns = 0;
}

/* Where the region is among the places; NULL: no memory. */
static struct place *find_place(struct reading *reading, uint32_t process, uint32_t region)
{
    size_t at = reading->last_place;
    if (at < reading->n_places && reading->places[at].known.region == region)
        return &reading->places[at];
    for (at = 0; at < reading->n_places && at < FEW_PLACES; at++)
        if (reading->places[at].known.region == region)
            break;
    if (at == FEW_PLACES) {
        const uint64_t *number =
            lull_hash_add(&reading->places_of, &region, sizeof region, reading->n_places, NULL);
        if (!number)
            return NULL;
        at = (size_t)*number;
    }
    if (at == reading->n_places) {
        if (!lull_array_reserve(&reading->places, &reading->place_capacity, at + 1,
                                sizeof *reading->places))
            return NULL;
        reading->places[reading->n_places++] =
            (struct place){.known = {.process = process, .region = region}};
    }
    reading->last_place = at;
    return &reading->places[at];
}

static void add_work(struct lull_work_collector *collector, struct reading *reading,
                     uint32_t process, const struct lull_step *step, int64_t ns)
{
    struct place *place = find_place(reading, process, step->span.user);
    if (!place) {
        atomic_store(&collector->no_memory, true);
        return;
    }
    place->known.ns += ns;
    if (!step->parallel)
        place->known.serial_ns += ns;
    if (place->last_burst != reading->burst) {
        place->last_burst = reading->burst;
        place->known.bursts++;
    }
}

/* ---- paths ----------------------------------------------------------------------------------- */

static uint32_t current_path(const struct reading *reading)
{
    return reading->n_open ? reading->open[reading->n_open - 1] : 0;
}

/* The path that is one region longer; the same one where too many are known. False: no memory. */
static bool find_longer(struct reading *reading, uint32_t outer, uint32_t region,
                        uint32_t *ret_path)
{
    const uint32_t last = reading->paths[outer].last;
    *ret_path = last;
    if (last != 0 && reading->paths[last].region == region)
        return true;
    const uint32_t key[] = {outer, region};
    const uint64_t *known = lull_hash_find(&reading->longer, key, sizeof key);
    if (!known && reading->n_paths == LULL_WORK_PATHS_MOST) {
        *ret_path = outer;
        return true;
    }
    known =
        known ? known : lull_hash_add(&reading->longer, key, sizeof key, reading->n_paths, NULL);
    if (!known || !lull_array_reserve(&reading->paths, &reading->path_capacity, (size_t)*known + 1,
                                      sizeof *reading->paths))
        return false;
    if (*known == reading->n_paths)
        reading->paths[reading->n_paths++] = (struct path){.region = region, .outer = outer};
    *ret_path = reading->paths[outer].last = (uint32_t)*known;
    return true;
}

static bool enter_region(struct reading *reading, uint32_t region)
{
    if (!lull_array_reserve(&reading->open, &reading->open_capacity, reading->n_open + 1,
                            sizeof *reading->open))
        return false;
    if (reading->n_paths == 0) {
        if (!lull_array_reserve(&reading->paths, &reading->path_capacity, 1,
                                sizeof *reading->paths))
            return false;
        reading->paths[reading->n_paths++] = (struct path){
            .region = LULL_NONE, .ns = reading->before_ns, .serial_ns = reading->before_serial_ns};
    }
    uint32_t path;
    if (!find_longer(reading, current_path(reading), region, &path))
        return false;
    reading->open[reading->n_open++] = path;
    return true;
}

static void change_region(struct lull_work_collector *collector, struct reading *reading,
                          const struct lull_step *step)
{
    if (step->op == LULL_USER_LEFT)
        reading->n_open -= reading->n_open > 0;
    else if (!enter_region(reading, step->region))
        atomic_store(&collector->no_memory, true);
}

static void add_to_path(struct reading *reading, int64_t ns, bool parallel)
{
    struct path *path = reading->n_paths ? &reading->paths[current_path(reading)] : NULL;
    *(path ? &path->ns : &reading->before_ns) += ns;
    if (!parallel)
        *(path ? &path->serial_ns : &reading->before_serial_ns) += ns;
}

/* ---- serial stretches ------------------------------------------------------------------------ */

/* The stretches between `reading->after` and `before`; NULL: too many are known, or no memory. An
 * iteration has them in the order of the one before: the next one is tried first. */
static struct lull_work_serial *serial_of_place(struct lull_work_collector *collector,
                                                struct reading *reading, uint32_t process,
                                                uint32_t before)
{
    for (size_t i = 1; i <= reading->n_serials; i++) {
        const size_t at = (reading->last_serial + i) % reading->n_serials;
        if (reading->serials[at].after == reading->after && reading->serials[at].before == before) {
            reading->last_serial = at;
            return &reading->serials[at];
        }
    }
    if (reading->n_serials == LULL_WORK_SERIALS_MOST)
        return NULL;
    if (!lull_array_reserve(&reading->serials, &reading->serial_capacity, reading->n_serials + 1,
                            sizeof *reading->serials)) {
        atomic_store(&collector->no_memory, true);
        return NULL;
    }
    reading->last_serial = reading->n_serials++;
    reading->serials[reading->last_serial] =
        (struct lull_work_serial){.process = process, .after = reading->after, .before = before};
    return &reading->serials[reading->last_serial];
}

/* A call of MPI outside of parallel regions begins or goes on, or a parallel region has ended. */
static void end_serial(struct lull_work_collector *collector, struct reading *reading,
                       uint32_t process, uint32_t before)
{
    struct lull_work_serial *serial =
        reading->alone_ns > 0 ? serial_of_place(collector, reading, process, before) : NULL;
    if (serial) {
        serial->count++;
        serial->ns += reading->alone_ns;
    }
    reading->alone_ns = 0;
    reading->after = before;
}

/* ---- sends ----------------------------------------------------------------------------------- */

static void begin_send(const struct lull_work_collector *collector, struct reading *reading,
                       const struct lull_step *step)
{
    if (step->region >= collector->trace->n_regions || !collector->is_send[step->region])
        return;
    reading->sends_in = step->region;
    reading->bytes = step->message.bytes;
    reading->counted = false;
}

/* Adds the time of a send's call that lies inside the windows. */
static void go_on_sending(struct sums *sums, struct reading *reading, const struct lull_step *step)
{
    struct lull_work_sends *sends = &sums->sends[lull_messages_class(reading->bytes)];
    if (step->region != reading->sends_in) {
        reading->sends_in = LULL_NONE;
    } else if (step->activity == LULL_MPI_P2P) {
        sends->ns += step->span.end - step->time;
        sends->count += !reading->counted;
        sends->bytes += reading->counted ? 0 : reading->bytes;
        reading->counted = true;
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void take_span(struct lull_work_collector *collector, struct reading *reading,
                      uint32_t process, const struct lull_step *step)
{
    const int64_t ns = step->span.end - step->time;
    if (step->activity == LULL_USEFUL && ns > 0) {
        if (reading->ns == 0) {
            reading->begin = step->time;
            reading->burst++;
        }
        add_work(collector, reading, process, step, ns);
        add_to_path(reading, ns, step->parallel);
        reading->ns += ns;
        if (!step->parallel && collector->trace->processes[process].n_threads > 1)
            reading->alone_ns += ns;
    } else if (step->activity >= LULL_MPI_P2P && step->activity <= LULL_MPI_OTHER) {
        end_burst(collector, reading, process, step->region);
        if (!step->parallel)
            end_serial(collector, reading, process, step->region);
    }
}

static void take_code(struct lull_work_collector *collector, unsigned worker, uint32_t location,
                      const struct lull_step *step, uint32_t path)
{
    if (!sampled_take(collector->sampled, worker, location, step, path))
        atomic_store(&collector->no_memory, true);
}

/* Takes the steps of the first thread of a process. */
static void take_first_thread(struct lull_work_collector *collector, uint32_t process,
                              unsigned worker, const struct lull_steps *steps)
{
    struct reading *reading = &collector->readings[process];
    struct sums *sums = &collector->sums[worker];
    for (uint32_t i = 0; i < steps->count; i++) {
        const struct lull_step *step = &steps->steps[i];
        if (LULL_STEP_MASK(step->kind) & SAMPLED_STEPS)
            take_code(collector, worker, steps->location, step, current_path(reading));
        if (step->kind == LULL_STEP_SEND)
            begin_send(collector, reading, step);
        if (step->kind == LULL_STEP_SPAN && reading->sends_in != LULL_NONE)
            go_on_sending(sums, reading, step);
        if (step->kind == LULL_STEP_SPAN)
            take_span(collector, reading, process, step);
        else if (step->kind == LULL_STEP_USER)
            change_region(collector, reading, step);
        else if (step->kind == LULL_STEP_JOIN)
            end_serial(collector, reading, process, step->region);
        else if (step->kind == LULL_STEP_END) {
            end_burst(collector, reading, process, LULL_NONE);
            end_serial(collector, reading, process, LULL_NONE);
        } else if (LULL_STEP_MASK(step->kind) & OPERATIONS) /* an operation of a call that takes no
                                                             time */
            end_burst(collector, reading, process, step->region);
    }
}

static lull_status take_steps(void *context, unsigned worker, const struct lull_steps *steps,
                              struct lull_error *err)
{
    struct lull_work_collector *collector = context;
    const struct lull_trace *trace = collector->trace;
    const uint32_t process = trace->locations[steps->location].process;
    if (trace->processes[process].first_location == steps->location)
        take_first_thread(collector, process, worker, steps);
    else
        for (uint32_t i = 0; i < steps->count; i++)
            if (LULL_STEP_MASK(steps->steps[i].kind) & SAMPLED_STEPS)
                take_code(collector, worker, steps->location, &steps->steps[i], 0);
    return atomic_load_explicit(&collector->no_memory, memory_order_relaxed)
               ? lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for its diagnosis",
                           trace->path)
               : LULL_OK;
}

/* ---- the collector --------------------------------------------------------------------------- */

static void find_sends(struct lull_work_collector *collector)
{
    const struct lull_trace *trace = collector->trace;
    for (uint32_t r = 0; r < trace->n_regions; r++)
        collector->is_send[r] = trace->regions[r].paradigm == LULL_PARADIGM_MPI &&
                                lull_call_of_region(&trace->regions[r]) == LULL_CALL_SEND;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        collector->readings[p].sends_in = collector->readings[p].after = LULL_NONE;
}

lull_status lull_work_create(const struct lull_trace *trace, unsigned workers,
                             struct lull_work_collector **ret_collector, struct lull_error *err)
{
    struct lull_work_collector *collector = calloc(1, sizeof *collector);
    if (collector) {
        collector->trace = trace;
        collector->n_workers = workers;
        collector->readings = calloc(trace->n_processes + (size_t)1, sizeof *collector->readings);
        collector->sums = calloc(workers + (size_t)1, sizeof *collector->sums);
        collector->is_send = calloc(trace->n_regions + (size_t)1, sizeof *collector->is_send);
        collector->sampled = sampled_create(trace, workers);
    }
    if (!collector || !collector->readings || !collector->sums || !collector->is_send ||
        !collector->sampled) {
        lull_work_destroy(collector);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for its diagnosis",
                         trace->path);
    }
    find_sends(collector);
    *ret_collector = collector;
    return LULL_OK;
}

struct lull_consumer lull_work_consumer(struct lull_work_collector *collector)
{
    return (struct lull_consumer){
        .context = collector,
        .wants = LULL_STEP_MASK(LULL_STEP_SPAN) | LULL_STEP_MASK(LULL_STEP_USER) |
                 LULL_STEP_MASK(LULL_STEP_JOIN) | LULL_STEP_MASK(LULL_STEP_END) | OPERATIONS |
                 SAMPLED_STEPS,
        .steps = take_steps};
}

static void add_send(struct lull_work_sends *sum, const struct lull_work_sends *part)
{
    sum->count += part->count;
    sum->bytes += part->bytes;
    sum->ns += part->ns;
}

static void add_sends(const struct lull_work_collector *collector, struct lull_work_sends *sends)
{
    for (unsigned w = 0; w < collector->n_workers; w++)
        for (unsigned c = 0; c < LULL_MESSAGES_CLASSES; c++)
            add_send(&sends[c], &collector->sums[w].sends[c]);
}

/* ---- from member to member ------------------------------------------------------------------- */

bool lull_work_put(const struct lull_work_collector *collector, struct lull_flow *flow)
{
    const uint32_t last = LULL_NONE;
    struct lull_work_sends sends[LULL_MESSAGES_CLASSES] = {{0}};
    bool good = true;
    for (uint32_t p = 0; good && p < collector->trace->n_processes; p++) {
        const struct reading *reading = &collector->readings[p];
        if (reading->n_places + reading->n_calls + reading->n_paths + reading->n_serials > 0)
            good = lull_flow_put(flow, &p, sizeof p) &&
                   lull_flow_put_items(flow, reading->places, reading->n_places,
                                       sizeof *reading->places) &&
                   lull_flow_put_items(flow, reading->calls, reading->n_calls,
                                       sizeof *reading->calls) &&
                   lull_flow_put_items(flow, reading->paths, reading->n_paths,
                                       sizeof *reading->paths) &&
                   lull_flow_put_items(flow, reading->serials, reading->n_serials,
                                       sizeof *reading->serials);
    }
    add_sends(collector, sends);
    return good && lull_flow_put(flow, &last, sizeof last) &&
           lull_flow_put(flow, sends, sizeof sends) && sampled_put(collector->sampled, flow);
}

static bool get_process(struct lull_work_collector *collector, uint32_t p, struct lull_flow *flow)
{
    struct reading *reading = &collector->readings[p];
    reading->places = lull_flow_get_items(flow, sizeof *reading->places, &reading->n_places);
    if (!reading->places)
        return false;
    reading->calls = lull_flow_get_items(flow, sizeof *reading->calls, &reading->n_calls);
    if (!reading->calls)
        return false;
    reading->paths = lull_flow_get_items(flow, sizeof *reading->paths, &reading->n_paths);
    if (!reading->paths)
        return false;
    reading->serials = lull_flow_get_items(flow, sizeof *reading->serials, &reading->n_serials);
    if (!reading->serials)
        return false;
    atomic_fetch_add(&collector->calls, (unsigned)reading->n_calls);
    if (atomic_load(&collector->calls) > LULL_WORK_BURSTS_MOST) { /* there are too many to follow:
                                                                     none are wanted */
        free(reading->calls);
        reading->calls = NULL;
        reading->n_calls = 0;
    }
    return true;
}

bool lull_work_get(struct lull_work_collector *collector, struct lull_flow *flow)
{
    struct lull_work_sends sends[LULL_MESSAGES_CLASSES];
    uint32_t p = 0;
    while (lull_flow_get(flow, &p, sizeof p) && p < collector->trace->n_processes)
        if (!get_process(collector, p, flow))
            return false;
    if (p != LULL_NONE || !lull_flow_get(flow, sends, sizeof sends))
        return false;
    for (unsigned c = 0; c < LULL_MESSAGES_CLASSES; c++)
        add_send(&collector->sums[0].sends[c], &sends[c]);
    return sampled_get(collector->sampled, flow);
}

/* ---- the result ------------------------------------------------------------------------------ */

static int compare_places(const void *a, const void *b)
{
    const struct lull_work_place *x = a, *y = b;
    return x->region < y->region ? -1 : x->region > y->region;
}

static int compare_bursts(const void *a, const void *b)
{
    const struct lull_work_bursts *x = a, *y = b;
    return x->call < y->call ? -1 : x->call > y->call;
}

static struct lull_work_bursts evaluate(const struct bursts *bursts)
{
    struct lull_work_bursts known = bursts->known;
    uint64_t before = 0;
    unsigned bin = 0;
    while (bin < BINS - 1 && 2 * (before + bursts->bins[bin]) < known.bursts)
        before += bursts->bins[bin++];
    known.median_ns = length_of(bin);
    for (bin += LONG_BINS; bin < BINS; bin++) {
        known.long_bursts += bursts->bins[bin];
        known.long_ns += (int64_t)bursts->bins[bin] * (length_of(bin) - known.median_ns);
    }
    return known;
}

/* Sums by region while the paths of one process are added up. */
struct insides {
    int64_t *ns, *serial_ns; /* [n_regions] */
    uint64_t *seen;    /* [n_regions]: the last path that was added to the region's sums, from 1 */
    uint32_t *regions; /* those that have sums */
    uint32_t n_regions;
    uint64_t paths; /* that were added, of all processes */
};

static struct insides make_insides(const struct lull_trace *trace, struct lull_arena *scratch)
{
    const size_t n = trace->n_regions + (size_t)1;
    return (struct insides){.ns = lull_arena_zero(scratch, n, sizeof(int64_t)),
                            .serial_ns = lull_arena_zero(scratch, n, sizeof(int64_t)),
                            .seen = lull_arena_zero(scratch, n, sizeof(uint64_t)),
                            .regions = lull_arena_zero(scratch, n, sizeof(uint32_t))};
}

/* The time of a path is inside each of its regions, once where one calls itself. */
static void add_inside(struct insides *insides, const struct path *paths, uint32_t at)
{
    const struct path *path = &paths[at];
    insides->paths++;
    for (; at != 0; at = paths[at].outer) {
        const uint32_t region = paths[at].region;
        if (insides->seen[region] == insides->paths)
            continue;
        if (insides->ns[region] == 0)
            insides->regions[insides->n_regions++] = region;
        insides->seen[region] = insides->paths;
        insides->ns[region] += path->ns;
        insides->serial_ns[region] += path->serial_ns;
    }
}

/* The places of a process, those of regions that only called others too. Returns how many. */
static uint32_t conclude_places(const struct reading *reading, uint32_t process,
                                struct insides *insides, struct lull_work_place *places)
{
    uint32_t n = 0;
    insides->n_regions = 0;
    for (uint32_t i = 1; i < reading->n_paths; i++)
        if (reading->paths[i].ns > 0)
            add_inside(insides, reading->paths, i);
    for (size_t i = 0; i < reading->n_places; i++) {
        struct lull_work_place *place = &places[n++];
        *place = reading->places[i].known;
        const int64_t *inside =
            place->region != LULL_NONE ? &insides->ns[place->region] : &place->ns;
        /* A path beyond the most that are told apart counts as a shorter one. */
        place->inside_ns = *inside > place->ns ? *inside : place->ns;
        place->serial_inside_ns = place->serial_ns;
        if (place->region == LULL_NONE)
            continue;
        if (insides->serial_ns[place->region] > place->serial_ns)
            place->serial_inside_ns = insides->serial_ns[place->region];
        insides->ns[place->region] = insides->serial_ns[place->region] = 0;
    }
    for (uint32_t i = 0; i < insides->n_regions; i++) {
        const uint32_t region = insides->regions[i];
        if (insides->ns[region] > 0)
            places[n++] = (struct lull_work_place){.process = process,
                                                   .region = region,
                                                   .inside_ns = insides->ns[region],
                                                   .serial_inside_ns = insides->serial_ns[region]};
        insides->ns[region] = insides->serial_ns[region] = 0;
    }
    qsort(places, n, sizeof *places, compare_places);
    return n;
}

static uint32_t conclude_paths(const struct reading *reading, uint32_t process, uint32_t first,
                               struct lull_work_path *paths)
{
    for (uint32_t i = 0; i < reading->n_paths; i++)
        paths[i] = (struct lull_work_path){.process = process,
                                           .region = reading->paths[i].region,
                                           .outer = first + reading->paths[i].outer,
                                           .ns = reading->paths[i].ns};
    return (uint32_t)reading->n_paths;
}

void lull_work_conclude(struct lull_work_collector *collector, struct lull_arena *arena,
                        struct lull_work *ret_work)
{
    const struct lull_trace *trace = collector->trace;
    struct lull_arena *scratch = lull_arena_create(NULL);
    struct insides insides = make_insides(trace, scratch);
    size_t n_places = 0, n_bursts = 0, n_paths = 0, n_serials = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        n_places += collector->readings[p].n_places + collector->readings[p].n_paths;
        n_bursts += collector->readings[p].n_calls;
        n_paths += collector->readings[p].n_paths;
        n_serials += collector->readings[p].n_serials;
    }
    struct lull_work_place *places = lull_arena_zero(arena, n_places + 1, sizeof *places);
    struct lull_work_bursts *bursts = lull_arena_zero(arena, n_bursts + 1, sizeof *bursts);
    struct lull_work_path *paths = lull_arena_zero(arena, n_paths + 1, sizeof *paths);
    struct lull_work_serial *serials = lull_arena_zero(arena, n_serials + 1, sizeof *serials);
    struct lull_work result = {
        .places = places, .bursts = bursts, .paths = paths, .serials = serials};
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct reading *reading = &collector->readings[p];
        result.n_places += conclude_places(reading, p, &insides, places + result.n_places);
        for (size_t i = 0; i < reading->n_calls; i++)
            bursts[result.n_bursts + i] = evaluate(&reading->calls[i]);
        qsort(bursts + result.n_bursts, reading->n_calls, sizeof *bursts, compare_bursts);
        result.n_bursts += (uint32_t)reading->n_calls;
        result.n_paths += conclude_paths(reading, p, result.n_paths, paths + result.n_paths);
        for (size_t i = 0; i < reading->n_serials; i++)
            serials[result.n_serials++] = reading->serials[i];
    }
    lull_arena_destroy(scratch);
    result.sampled = sampled_conclude(collector->sampled, arena);
    add_sends(collector, result.sends);
    if (atomic_load(&collector->calls) > LULL_WORK_BURSTS_MOST) {
        result.bursts = NULL;
        result.n_bursts = 0;
    }
    *ret_work = result;
}

void lull_work_destroy(struct lull_work_collector *collector)
{
    if (!collector)
        return;
    for (uint32_t p = 0; collector->readings && p < collector->trace->n_processes; p++) {
        free(collector->readings[p].places);
        free(collector->readings[p].calls);
        free(collector->readings[p].serials);
        free(collector->readings[p].paths);
        free(collector->readings[p].open);
        lull_hash_free(&collector->readings[p].longer);
        lull_hash_free(&collector->readings[p].places_of);
    }
    free(collector->readings);
    free(collector->sums);
    free(collector->is_send);
    sampled_destroy(collector->sampled);
    free(collector);
}

uint32_t lull_work_first(const struct lull_work *work, uint32_t process)
{
    return lull_sorted_first_u32(work->places, work->n_places, sizeof *work->places,
                                 offsetof(struct lull_work_place, process), process);
}

const struct lull_work_serial *lull_work_longest_serial(const struct lull_work *work,
                                                        uint32_t process)
{
    const struct lull_work_serial *longest = NULL;
    for (uint32_t i = lull_sorted_first_u32(work->serials, work->n_serials, sizeof *work->serials,
                                            offsetof(struct lull_work_serial, process), process);
         i < work->n_serials && work->serials[i].process == process; i++)
        if (!longest || work->serials[i].ns > longest->ns)
            longest = &work->serials[i];
    return longest;
}

const struct lull_work_place *lull_work_at(const struct lull_work *work, uint32_t process,
                                           uint32_t region)
{
    const uint32_t first = lull_work_first(work, process);
    const uint32_t end = lull_work_first(work, process + 1);
    const uint32_t at =
        first + lull_sorted_first_u32(work->places + first, end - first, sizeof *work->places,
                                      offsetof(struct lull_work_place, region), region);
    return at < end && work->places[at].region == region ? &work->places[at] : NULL;
}

int64_t lull_work_of(const struct lull_work *work, uint32_t process, uint32_t region, bool inside)
{
    const struct lull_work_place *place = lull_work_at(work, process, region);
    return !place ? 0 : inside ? place->inside_ns : place->ns;
}

uint32_t lull_work_first_path(const struct lull_work *work, uint32_t process)
{
    return lull_sorted_first_u32(work->paths, work->n_paths, sizeof *work->paths,
                                 offsetof(struct lull_work_path, process), process);
}
