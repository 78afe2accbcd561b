/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/code.h"

#include "base/array.h"
#include "base/hash.h"
#include "binary/python_source.h"
#include "metrics/callers.h"
#include "team/division.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== names =================================================================================== */

static uint8_t known_of_file(const struct lull_places_file *file)
{
    static const uint8_t known[] = {[LULL_SYMBOLS_FOUND] = LULL_CODE_NO_SYMBOLS,
                                    [LULL_SYMBOLS_NOT_BUILT] = LULL_CODE_NOT_BUILT,
                                    [LULL_SYMBOLS_ABSENT] = LULL_CODE_ABSENT,
                                    [LULL_SYMBOLS_CHANGED] = LULL_CODE_CHANGED};
    return known[file->found];
}

bool lull_code_is_of_system(const struct lull_trace *trace, const struct lull_code_place *place)
{
    return place->object < trace->n_objects && !trace->objects[place->object].function &&
           !strchr(trace->objects[place->object].path, '/');
}

/* A place in code that the system's kernel brings: "linux-vdso.so.1". */
static void name_of_system(struct lull_code_place *place, const struct lull_object *object)
{
    place->known = LULL_CODE_NAMED;
    place->symbol = (struct lull_symbol){.function = object->path,
                                         .short_name = object->path,
                                         .whole_name = object->path,
                                         .file = ""};
}

/* The line in which a function of Python is defined, if the source is as it was when the run began; 0: it is not
 * known. `names` has what sources define that were read before. False: no memory. */
static bool find_definition(const struct lull_trace *trace, const struct lull_object *object,
                            struct lull_hash *names, uint32_t *ret_line)
{
    char key[LULL_PYTHON_MOST_NAME];
    bool is_new;
    *ret_line = 0;
    if (*object->path != '/') /* in which folder is not known */
        return true;
    if (!lull_hash_add(names, object->path, strlen(object->path), 0, &is_new) ||
        (is_new && !lull_python_source_read(object->path, trace->start_realtime, names)))
        return false;
    const int length = snprintf(key, sizeof key, "%s\n%s", object->path, object->function);
    const uint64_t *line =
        length < (int)sizeof key ? lull_hash_find(names, key, (size_t)length) : NULL;
    *ret_line = line ? (uint32_t)*line : 0;
    return true;
}

/* A place in what an interpreter executes: its file is a source, its offset a line; where that is 0, it is anywhere in
 * the function. False: no memory. */
static bool name_interpreted(const struct lull_trace *trace, struct lull_code_place *place,
                             struct lull_hash *definitions)
{
    const struct lull_object *object = &trace->objects[place->object];
    uint32_t line = (uint32_t)place->offset;
    if (line == 0 && !find_definition(trace, object, definitions, &line))
        return false;
    place->known = LULL_CODE_NAMED;
    place->symbol = (struct lull_symbol){.function = object->function,
                                         .short_name = object->function,
                                         .whole_name = object->function,
                                         .file = object->path,
                                         .line = line};
    return true;
}

bool lull_code_is_interpreter(const char *function)
{
    static const char evaluate[] = "_PyEval_EvalFrameDefault"; /* of CPython, from 3.6 on */
    return strncmp(function, evaluate, strlen(evaluate)) == 0;
}

bool lull_code_has_python(const struct lull_trace *trace, const struct lull_code_place *places,
                          uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (places[i].object < trace->n_objects && trace->objects[places[i].object].function)
            return true;
    return false;
}

static void take_name(struct lull_code_place *place, const struct lull_place *found,
                      const struct lull_places_file *file)
{
    place->symbol = found->symbol;
    place->loop = found->loop;
    place->known = *place->symbol.function ? LULL_CODE_NAMED : known_of_file(file);
}

static bool is_in_a_file(const struct lull_trace *trace, const struct lull_code_place *place)
{
    return place->object < trace->n_objects && !trace->objects[place->object].function &&
           !lull_code_is_of_system(trace, place);
}

lull_status lull_code_name(const struct lull_trace *trace, struct lull_code_place *places, size_t n,
                           bool loops, unsigned workers, struct lull_arena *arena,
                           struct lull_places_file **ret_files, struct lull_error *err)
{
    static const struct lull_symbol nothing = {
        .function = "", .short_name = "", .whole_name = "", .file = ""};
    struct lull_places_file *files;
    struct lull_place *found = calloc(n + 1, sizeof *found);
    struct lull_hash definitions = {0};
    size_t count = 0;
    bool good = found != NULL;
    *ret_files = NULL;
    files = lull_arena_zero(arena, trace->n_objects + (size_t)1, sizeof *files);
    for (uint32_t o = 0; o < trace->n_objects; o++)
        files[o] = (struct lull_places_file){.path = trace->objects[o].path,
                                             .build_id = trace->objects[o].build_id};
    for (size_t i = 0; i < n && good; i++) {
        places[i].known = LULL_CODE_NO_FILE;
        places[i].symbol = nothing;
        places[i].loop = NULL;
        if (is_in_a_file(trace, &places[i]))
            found[count++] =
                (struct lull_place){.file = places[i].object, .offset = places[i].offset};
        else if (lull_code_is_of_system(trace, &places[i]))
            name_of_system(&places[i], &trace->objects[places[i].object]);
        else if (places[i].object < trace->n_objects)
            good = name_interpreted(trace, &places[i], &definitions);
    }
    lull_hash_free(&definitions);
    const lull_status status =
        good ? lull_places_find(files, trace->n_objects, found, count, loops, workers, arena, err)
             : lull_fail(err, LULL_ERR_MEMORY, "names of code: out of memory");
    count = 0;
    for (size_t i = 0; status == LULL_OK && i < n; i++)
        if (is_in_a_file(trace, &places[i])) {
            take_name(&places[i], &found[count], &files[places[i].object]);
            count++;
        }
    free(found);
    if (status == LULL_OK && n > 0)
        *ret_files = files;
    return status;
}

const char *lull_code_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *lull_code_name_of(const struct lull_trace *trace, const struct lull_code_place *place,
                              struct lull_arena *arena)
{
    static const char *const why[] = {[LULL_CODE_NO_SYMBOLS] = "no symbols",
                                      [LULL_CODE_CHANGED] = "changed since",
                                      [LULL_CODE_ABSENT] = "not found",
                                      [LULL_CODE_NOT_BUILT] = "not looked up"};
    if (place->known == LULL_CODE_NAMED)
        return place->symbol.short_name;
    if (place->known == LULL_CODE_NO_FILE)
        return "(unknown code)";
    return lull_arena_printf(arena, "%s (%s)",
                             lull_code_base_name(trace->objects[place->object].path),
                             why[place->known]);
}

/* ==== the collector =========================================================================== */

/* Beside its samples. */
struct sampled_thread {
    int64_t useful_ns;
    uint64_t samples; /* of all activities */
};

/* Weights by place and bin of time. */
struct binned {
    struct lull_hash places; /* by struct lull_caller: their index */
    uint64_t *weights;       /* [places][bins] */
    size_t capacity;         /* in weights */
};

struct lull_code_collector {
    const struct lull_trace *trace;
    const struct lull_reading *reading;
    struct sampled_thread *threads; /* [n_locations] */
    struct lull_samples *samples;   /* [n_locations]; sorted, once the thread has ended */
    unsigned workers;
    uint32_t bins;
    int64_t begin, end;           /* of the bins */
    struct binned *binned;        /* [workers]; NULL: without bins */
    struct lull_callers *callers; /* NULL: there are no functions of Python */
};

uint32_t lull_code_team_size(const struct lull_trace *trace, uint32_t process)
{
    const struct lull_process *of = &trace->processes[process];
    uint32_t n = 0;
    for (uint32_t l = of->first_location; l < of->first_location + of->n_locations; l++)
        n += trace->locations[l].kind == LULL_LOCATION_THREAD &&
             trace->locations[l].role != LULL_THREAD_FREE;
    return n;
}

/* The weights of a place in all bins; NULL: no memory. */
static uint64_t *weights_of(struct binned *binned, uint32_t bins, const struct lull_caller *key)
{
    bool is_new;
    const size_t n = binned->places.count;
    if (!lull_array_reserve(&binned->weights, &binned->capacity, (n + 1) * bins,
                            sizeof *binned->weights))
        return NULL;
    const uint64_t *index = lull_hash_add(&binned->places, key, sizeof *key, n, &is_new);
    if (!index)
        return NULL;
    uint64_t *weights = binned->weights + *index * bins;
    if (is_new)
        memset(weights, 0, bins * sizeof *weights);
    return weights;
}

/* The bin of a time: the last one that does not begin behind it. */
static uint32_t bin_of(const struct lull_code_collector *collector, int64_t time)
{
    const int64_t length = collector->end - collector->begin, at = time - collector->begin;
    if (at <= 0 || length <= 0)
        return 0;
    if (at >= length)
        return collector->bins - 1;
    return (uint32_t)(((__int128)(at + 1) * collector->bins + length - 1) / length - 1);
}

static bool take_sample(const struct lull_code_collector *collector, unsigned worker,
                        uint32_t location, const struct lull_step *step)
{
    struct lull_samples *samples = &collector->samples[location];
    struct binned *binned = collector->binned ? &collector->binned[worker] : NULL;
    if (step->activity != LULL_USEFUL || step->sample.weight == 0)
        return true;
    const struct lull_caller place = lull_callers_place(collector->callers, worker, location, step);
    const struct lull_samples_item item = {.context.parallel =
                                               step->parallel ? LULL_SAMPLES_UNNAMED : LULL_NONE,
                                           .offset = place.offset,
                                           .object = (uint32_t)place.object,
                                           .count = 1,
                                           .weight = step->sample.weight};
    lull_samples_count(samples, item.weight);
    if (!lull_samples_add(samples, &item, SIZE_MAX))
        return false;
    if (!binned)
        return true;
    uint64_t *weights =
        weights_of(binned, collector->bins, &(const struct lull_caller){item.offset, item.object});
    if (weights)
        weights[bin_of(collector, step->time)] =
            lull_samples_weights(weights[bin_of(collector, step->time)], item.weight);
    return weights != NULL;
}

static lull_status take_code_steps(void *context, unsigned worker, const struct lull_steps *steps,
                                   struct lull_error *err)
{
    const struct lull_code_collector *collector = context;
    const struct lull_trace *trace = collector->trace;
    struct sampled_thread *thread = &collector->threads[steps->location];
    struct lull_samples *samples = &collector->samples[steps->location];
    bool good = true;
    if (trace->locations[steps->location].kind != LULL_LOCATION_THREAD)
        return LULL_OK;
    for (uint32_t i = 0; good && i < steps->count; i++) {
        if (steps->steps[i].kind == LULL_STEP_SAMPLE) {
            thread->samples++;
            good = take_sample(collector, worker, steps->location, &steps->steps[i]);
        } else if (steps->steps[i].kind == LULL_STEP_END) {
            thread->useful_ns = steps->ledger->ns[LULL_SLOT(LULL_USEFUL, 0)] +
                                steps->ledger->ns[LULL_SLOT(LULL_USEFUL, 1)];
            lull_samples_sort(samples);
        }
    }
    return good ? LULL_OK
                : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for samples", trace->path);
}

struct lull_consumer lull_code_consumer(struct lull_code_collector *collector)
{
    return (struct lull_consumer){.context = collector,
                                  .wants = LULL_STEP_MASK(LULL_STEP_SAMPLE) |
                                           LULL_STEP_MASK(LULL_STEP_END),
                                  .steps = take_code_steps};
}

/* From the first window to the last one, or the whole run. */
static void choose_axis(struct lull_code_collector *collector)
{
    const struct lull_windows *windows = collector->reading->windows;
    int64_t begin = INT64_MAX, end = 0;
    for (uint32_t p = 0; windows && p < windows->n_processes; p++) {
        const uint32_t n = windows->counts[p];
        if (n > 0 && windows->intervals[p][0].begin < begin)
            begin = windows->intervals[p][0].begin;
        if (n > 0 && windows->intervals[p][n - 1].end > end)
            end = windows->intervals[p][n - 1].end;
    }
    collector->begin = begin < end ? begin : 0;
    collector->end = begin < end ? end : collector->trace->duration;
}

lull_status lull_code_create(const struct lull_trace *trace, const struct lull_reading *reading,
                             unsigned workers, uint32_t bins,
                             struct lull_code_collector **ret_collector, struct lull_error *err)
{
    struct lull_code_collector *collector = calloc(1, sizeof *collector);
    if (collector) {
        collector->threads = calloc(trace->n_locations + (size_t)1, sizeof *collector->threads);
        collector->samples = calloc(trace->n_locations + (size_t)1, sizeof *collector->samples);
        collector->binned = bins > 0 ? calloc(workers, sizeof *collector->binned) : NULL;
    }
    if (!collector || !collector->threads || !collector->samples ||
        (bins > 0 && !collector->binned)) {
        if (collector) {
            free(collector->threads);
            free(collector->samples);
            free(collector->binned);
        }
        free(collector);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for samples of %u locations",
                         trace->path, trace->n_locations);
    }
    collector->trace = trace;
    collector->reading = lull_reading_of(reading);
    collector->workers = workers;
    collector->bins = bins;
    choose_axis(collector);
    if (lull_callers_has_python(trace) &&
        lull_callers_create(trace, workers, &collector->callers, err) != LULL_OK) {
        lull_code_destroy(collector);
        return LULL_ERR_MEMORY;
    }
    *ret_collector = collector;
    return LULL_OK;
}

void lull_code_destroy(struct lull_code_collector *collector)
{
    if (!collector)
        return;
    for (uint32_t l = 0; l < collector->trace->n_locations; l++)
        lull_samples_free(&collector->samples[l]);
    for (unsigned w = 0; collector->binned && w < collector->workers; w++) {
        lull_hash_free(&collector->binned[w].places);
        free(collector->binned[w].weights);
    }
    lull_callers_destroy(collector->callers);
    free(collector->binned);
    free(collector->samples);
    free(collector->threads);
    free(collector);
}

/* ---- a team ---------------------------------------------------------------------------------- */

/* Puts what is known of the locations of a member into the flow, or gets it. */
static bool pass_threads(const struct lull_code_collector *collector, uint32_t member,
                         struct lull_flow *flow, bool put)
{
    const uint32_t *cuts = collector->reading->division->cuts;
    bool good = true;
    for (uint32_t p = cuts[member]; p < cuts[member + 1]; p++)
        for (uint32_t i = 0; good && i < collector->trace->processes[p].n_locations; i++) {
            const uint32_t l = collector->trace->processes[p].first_location + i;
            struct sampled_thread *thread = &collector->threads[l];
            good = put ? lull_flow_put(flow, thread, sizeof *thread) &&
                             lull_samples_put(&collector->samples[l], flow)
                       : lull_flow_get(flow, thread, sizeof *thread) &&
                             lull_samples_get(&collector->samples[l], flow);
        }
    return good;
}

/* All places of all workers, each with its weights. */
static bool put_bins(const struct lull_code_collector *collector, struct lull_flow *flow)
{
    uint64_t n = 0;
    bool good = true;
    for (unsigned w = 0; w < collector->workers; w++)
        n += collector->binned[w].places.count;
    good = lull_flow_put(flow, &n, sizeof n);
    for (unsigned w = 0; good && w < collector->workers; w++) {
        const struct binned *binned = &collector->binned[w];
        for (size_t i = 0; good && i < binned->places.count; i++)
            good = lull_flow_put(flow, lull_hash_key(&binned->places, i),
                                 sizeof(struct lull_caller)) &&
                   lull_flow_put(flow, binned->weights + i * collector->bins,
                                 collector->bins * sizeof *binned->weights);
    }
    return good;
}

static bool get_bins(const struct lull_code_collector *collector, struct lull_flow *flow)
{
    uint64_t n = 0, *part = calloc(collector->bins, sizeof *part);
    bool good = part && lull_flow_get(flow, &n, sizeof n);
    for (; good && n > 0; n--) {
        struct lull_caller key;
        good = lull_flow_get(flow, &key, sizeof key) &&
               lull_flow_get(flow, part, collector->bins * sizeof *part);
        uint64_t *weights = good ? weights_of(&collector->binned[0], collector->bins, &key) : NULL;
        for (uint32_t b = 0; weights && b < collector->bins; b++)
            weights[b] = lull_samples_weights(weights[b], part[b]);
        good = weights != NULL;
    }
    free(part);
    return good;
}

static bool put_code(void *context, struct lull_flow *flow)
{
    const struct lull_code_collector *collector = context;
    return pass_threads(collector, lull_team_index(collector->reading->division->team), flow,
                        true) &&
           (!collector->binned || put_bins(collector, flow));
}

static bool get_code(void *context, uint32_t member, struct lull_flow *flow)
{
    const struct lull_code_collector *collector = context;
    return pass_threads(collector, member, flow, false) &&
           (!collector->binned || get_bins(collector, flow));
}

lull_status lull_code_gather(struct lull_code_collector *collector, struct lull_error *err)
{
    const struct lull_division *division = collector->reading->division;
    const struct lull_freight freight = {put_code, get_code, collector, "samples"};
    return division ? lull_team_bring(division->team, &freight, err) : LULL_OK;
}

/* ---- the result ------------------------------------------------------------------------------ */

static int by_place(const void *a, const void *b)
{
    const struct lull_code_place *x = a, *y = b;
    if (x->object != y->object)
        return x->object < y->object ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

lull_status lull_code_list_places(const struct lull_trace *trace,
                                  const struct lull_samples *threads, struct lull_arena *arena,
                                  struct lull_code_place **ret_places, uint32_t *ret_n,
                                  struct lull_error *err)
{
    struct lull_hash table = {0};
    bool good = true;
    for (uint32_t l = 0; good && l < trace->n_locations; l++)
        for (size_t i = 0; good && i < threads[l].n_items; i++) {
            const struct lull_caller key = {threads[l].items[i].offset, threads[l].items[i].object};
            good = lull_hash_add(&table, &key, sizeof key, 0, NULL);
        }
    struct lull_code_place *places =
        good ? lull_arena_try(arena, table.count + 1, sizeof *places) : NULL;
    for (size_t i = 0; places && i < table.count; i++) {
        struct lull_caller key;
        memcpy(&key, lull_hash_key(&table, i), sizeof key);
        places[i].offset = key.offset;
        places[i].object = (uint32_t)key.object;
    }
    if (places)
        qsort(places, table.count, sizeof *places, by_place);
    *ret_places = places;
    *ret_n = (uint32_t)table.count;
    lull_hash_free(&table);
    return places
               ? LULL_OK
               : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for samples", trace->path);
}

uint32_t lull_code_find_place(const struct lull_code_place *places, uint32_t n, uint32_t object,
                              uint64_t offset)
{
    const struct lull_code_place like = {.offset = offset, .object = object};
    const struct lull_code_place *place = bsearch(&like, places, n, sizeof *places, by_place);
    return (uint32_t)(place - places);
}

/* Divides the useful time of a thread in proportion to weights: the sum of the first parts is what their
 * weights have of it, rounded down, so that all of them add up to it. `has_others`: other threads of the
 * process are idle while this one is outside of parallel regions. Returns how many parts there are. */
static uint32_t divide_time(const struct lull_samples *from, int64_t useful_ns, bool has_others,
                            const struct lull_code_times *code, struct lull_place_time *parts)
{
    uint64_t so_far = 0;
    int64_t divided = 0;
    uint32_t n = 0;
    for (size_t i = 0, end; i < from->n_items; i = end) {
        const struct lull_samples_item *first = &from->items[i];
        uint64_t weight = 0, outside = 0;
        for (end = i; end < from->n_items && from->items[end].object == first->object &&
                      from->items[end].offset == first->offset;
             end++) {
            weight = lull_samples_weights(weight, from->items[end].weight);
            if (from->items[end].context.parallel == LULL_NONE)
                outside = lull_samples_weights(outside, from->items[end].weight);
        }
        so_far = lull_samples_weights(so_far, weight);
        const int64_t until =
            so_far == from->weight
                ? useful_ns
                : (int64_t)((double)useful_ns * ((double)so_far / (double)from->weight));
        const double alone = has_others ? (double)outside / (double)weight : 0;
        parts[n++] =
            (struct lull_place_time){.place = lull_code_find_place(code->places, code->n_places,
                                                                   first->object, first->offset),
                                     .ns = until - divided,
                                     .alone_ns = (int64_t)(alone * (double)(until - divided))};
        divided = until;
    }
    return n;
}

/* The parts of the threads of the application, and what there is of samples. */
static bool fill_code_threads(const struct lull_code_collector *collector, struct lull_arena *arena,
                              struct lull_code_times *code)
{
    const struct lull_trace *trace = collector->trace;
    struct lull_code_thread *threads =
        lull_arena_try(arena, trace->n_locations + (size_t)1, sizeof *threads);
    for (uint32_t l = 0; threads && l < trace->n_locations; l++) {
        const struct lull_samples *from = &collector->samples[l];
        const uint32_t process = trace->locations[l].process;
        const bool has_others = trace->processes[process].first_location == l &&
                                lull_code_team_size(trace, process) > 1;
        struct lull_code_thread *to = &threads[l];
        struct lull_place_time *parts = lull_arena_try(arena, from->n_items, sizeof *parts);
        if (from->n_items > 0 && !parts)
            return false;
        to->useful_ns = collector->threads[l].useful_ns;
        to->n_parts = divide_time(from, to->useful_ns, has_others, code, parts);
        to->parts = parts;
        to->effective =
            from->count > 0 ? (double)from->weight * (double)from->weight / from->squares : 0;
        code->samples += collector->threads[l].samples;
        code->useful_samples += from->count;
    }
    code->threads = threads;
    return threads != NULL;
}

/* The weights by place and bin, of all workers together. */
static bool fill_bins(const struct lull_code_collector *collector, struct lull_arena *arena,
                      struct lull_code_times *code)
{
    uint64_t *all =
        lull_arena_try(arena, code->n_places + (size_t)1, collector->bins * sizeof *all);
    for (unsigned w = 0; all && w < collector->workers; w++) {
        const struct binned *binned = &collector->binned[w];
        for (size_t i = 0; i < binned->places.count; i++) {
            struct lull_caller key;
            memcpy(&key, lull_hash_key(&binned->places, i), sizeof key);
            uint64_t *to = all + (size_t)collector->bins *
                                     lull_code_find_place(code->places, code->n_places,
                                                          (uint32_t)key.object, key.offset);
            for (uint32_t b = 0; b < collector->bins; b++)
                to[b] = lull_samples_weights(to[b], binned->weights[i * collector->bins + b]);
        }
    }
    code->weights = all;
    code->bins = collector->bins;
    code->begin = collector->begin;
    code->end = collector->end;
    return all != NULL;
}

lull_status lull_code_conclude(struct lull_code_collector *collector, bool loops, unsigned workers,
                               struct lull_arena *arena, struct lull_code_times *ret_code,
                               struct lull_error *err)
{
    const struct lull_trace *trace = collector->trace;
    struct lull_code_place *places = NULL;
    struct lull_places_file *files = NULL;
    *ret_code = (struct lull_code_times){0};
    lull_status status =
        lull_code_list_places(trace, collector->samples, arena, &places, &ret_code->n_places, err);
    ret_code->places = places;
    if (status == LULL_OK && (!fill_code_threads(collector, arena, ret_code) ||
                              (collector->binned && !fill_bins(collector, arena, ret_code))))
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for samples", trace->path);
    if (status == LULL_OK)
        status =
            lull_code_name(trace, places, ret_code->n_places, loops, workers, arena, &files, err);
    ret_code->files = files;
    return status;
}
