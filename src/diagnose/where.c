/* SPDX-License-Identifier: BSD-3-Clause */
#include "diagnose/where.h"

#include "base/hash.h"
#include "base/parallel.h"
#include "metrics/code.h"
#include "stats/quantile.h"

#include <stdlib.h>
#include <string.h>

/* A function is told if it certainly has so much of what is asked about, */
#define TOLD_LEAST 0.5
/* stands for another one if it has so much of that one's part, */
#define STANDS_LEAST 0.9
/* and is one of several if it certainly has so much. */
#define LISTED_LEAST 0.05
/* A loop is told that has so much of its function. */
#define LOOP_LEAST 0.8
/* Functions of a thread that are compared with those of its peers: those with most time. */
enum { COMPARED_MOST = 64 };

/* ==== names =================================================================================== */

/* A function that code belongs to: the one that was compiled, or one that was inlined there. */
struct code_frame {
    uint32_t function; /* its number */
    const char *file;  /* "": not known */
    uint32_t line;
    const char *plain; /* its name without name spaces, as loops have it */
};

struct named_place {
    const struct code_frame *frames; /* the innermost first */
    uint32_t n_frames;               /* 0: nothing is known of the code */
    const struct lull_loop *loop;    /* the innermost; NULL: none */
};

struct code_function {
    const char *name;
    bool named;     /* else `name` is that of a file whose functions are not known */
    bool outermost; /* some code of it is not inlined */
};

/* What is known of one run's code. */
struct named_code {
    const struct lull_sampled *sampled;
    const struct lull_work *work;
    const struct lull_breakdown *breakdown;
    const struct named_place *places; /* NULL: not enough memory for names */
    uint32_t **place_of;              /* [n_locations][n_items]: index into the places */
    const char *absent;
};

struct lull_where_names {
    struct lull_hash numbers; /* of functions, by name and file */
    struct code_function *functions;
    uint32_t n_functions;
    size_t capacity;
    struct named_code own, reference;
    uint32_t *seen; /* [n_functions]: for sums */
    double *sums;   /* [n_functions] */
    uint32_t turn;
};

/* The number of a function. Those with one name and one file are the same in all runs. */
static uint32_t number_of_function(struct lull_case *c, const char *whole, const char *name,
                                   const char *file, bool named)
{
    struct lull_where_names *names = c->names;
    const char *key = lull_arena_printf(c->arena, "%s\n%s", whole, lull_code_base_name(file));
    const uint64_t *number =
        lull_hash_add(&names->numbers, key, strlen(key), names->n_functions, NULL);
    if (!number)
        return LULL_NONE;
    if (*number == names->n_functions) {
        names->functions =
            lull_arena_grow(c->arena, names->functions, &names->capacity,
                            names->n_functions + (size_t)1, sizeof *names->functions);
        names->functions[names->n_functions++] = (struct code_function){name, named, false};
    }
    return (uint32_t)*number;
}

/* All functions of the interpreter together, where it is not known which functions of Python it executed. */
static const char interpreter[] = "Python's interpreter";

/* [n_objects]: the files that hold Python's interpreter, if no sample is in a function of Python; else
 * none. */
static const bool *find_interpreters(struct lull_case *c, const struct lull_trace *trace,
                                     const struct lull_code_place *places, uint32_t n)
{
    bool *found = lull_arena_zero(c->arena, trace->n_objects + (size_t)1, sizeof *found);
    const bool known = lull_code_has_python(trace, places, n);
    for (uint32_t i = 0; i < n && !known; i++)
        for (const struct lull_symbol *at = &places[i].symbol; at; at = at->caller)
            if (places[i].object < trace->n_objects)
                found[places[i].object] |= lull_code_is_interpreter(at->function);
    return found;
}

/* The frames of a place. Those of the compiler's and the system's headers, as of operators of
 * std::vector, belong to who called them. `interprets`: the file holds Python's interpreter. */
static void name_frames(struct lull_case *c, const struct lull_object *object,
                        const struct lull_symbol *symbol, bool interprets,
                        struct named_place *place)
{
    uint32_t n = 1;
    for (const struct lull_symbol *at = symbol; at; at = at->caller)
        n++;
    struct code_frame *frames = lull_arena_zero(c->arena, n, sizeof *frames);
    place->frames = frames;
    for (const struct lull_symbol *at = symbol; at; at = at->caller) {
        const char *name = *at->short_name ? at->short_name : at->function;
        const bool named = *name != '\0';
        if (at->caller && lull_is_system_header(at->file))
            continue;
        if (!named)
            name = lull_code_base_name(object->path);
        const uint32_t number = number_of_function(c, named ? at->whole_name : "", name,
                                                   named ? at->file : name, named);
        if (number != LULL_NONE)
            frames[place->n_frames++] =
                (struct code_frame){number, at->file, at->line, at->function};
    }
    if (interprets) {
        const uint32_t number = number_of_function(c, interpreter, interpreter, "", true);
        if (number != LULL_NONE)
            frames[place->n_frames++] =
                (struct code_frame){.function = number, .file = "", .plain = ""};
    }
    if (place->n_frames > 0)
        c->names->functions[frames[place->n_frames - 1].function].outermost = true;
}

/* The object that most samples are in of those whose files were not found; NULL: no sample is. */
static const struct lull_places_file *worst_file(const struct named_code *named,
                                                 const struct lull_places_file *files,
                                                 struct lull_arena *scratch)
{
    const struct lull_trace *trace = named->sampled->trace;
    uint64_t *weights = lull_arena_zero(scratch, trace->n_objects + (size_t)1, sizeof *weights);
    const struct lull_places_file *worst = NULL;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        for (uint32_t i = 0; i < named->sampled->threads[l].n_items; i++) {
            const struct lull_samples_item *item = &named->sampled->threads[l].items[i];
            if (item->object >= trace->n_objects || files[item->object].found == LULL_SYMBOLS_FOUND)
                continue;
            weights[item->object] += item->weight;
            if (!worst || weights[item->object] > weights[worst - files])
                worst = &files[item->object];
        }
    return worst;
}

static void tell_absent(struct lull_case *c, struct named_code *named,
                        const struct lull_places_file *file)
{
    if (!file)
        return;
    if (file->found == LULL_SYMBOLS_CHANGED)
        named->absent =
            lull_arena_printf(c->arena,
                              "Samples in %s have no names: it has changed since it was "
                              "recorded.",
                              file->path);
    else
        named->absent = lull_arena_printf(c->arena, "Samples in %s have no names: %s.", file->path,
                                          file->found == LULL_SYMBOLS_NOT_BUILT
                                              ? "lull was built without libdw"
                                              : "it cannot be read on this machine");
}

/* Names the places of a run. */
static void name_code(struct lull_case *c, struct named_code *named)
{
    const struct lull_trace *trace = named->sampled->trace;
    struct lull_code_place *places;
    struct lull_places_file *files;
    uint32_t n;
    if (lull_code_list_places(trace, named->sampled->threads, c->arena, &places, &n, NULL) !=
            LULL_OK ||
        lull_code_name(trace, places, n, true, lull_worker_count(), c->arena, &files, NULL) !=
            LULL_OK)
        return;
    struct named_place *names = lull_arena_zero(c->arena, n + (size_t)1, sizeof *names);
    const bool *interprets = find_interpreters(c, trace, places, n);
    for (uint32_t i = 0; i < n; i++) {
        if (places[i].object < trace->n_objects)
            name_frames(c, &trace->objects[places[i].object], &places[i].symbol,
                        interprets[places[i].object], &names[i]);
        names[i].loop = places[i].loop;
    }
    named->places = names;
    named->place_of =
        lull_arena_zero(c->arena, trace->n_locations + (size_t)1, sizeof *named->place_of);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct lull_samples *thread = &named->sampled->threads[l];
        named->place_of[l] =
            lull_arena_zero(c->arena, thread->n_items + (size_t)1, sizeof **named->place_of);
        for (size_t i = 0; i < thread->n_items; i++)
            named->place_of[l][i] =
                lull_code_find_place(places, n, thread->items[i].object, thread->items[i].offset);
    }
    if (n > 0)
        tell_absent(c, named, worst_file(named, files, c->arena));
}

/* Names the code of both runs, once. False: there are no samples. */
static bool case_names(struct lull_case *c)
{
    const struct lull_evidence *evidence = c->evidence;
    if (!evidence->trace || !evidence->work || !evidence->work->sampled)
        return false;
    if (c->names)
        return c->names->own.places;
    struct lull_where_names *names = c->names = lull_arena_zero(c->arena, 1, sizeof *names);
    names->own = (struct named_code){.sampled = evidence->work->sampled,
                                     .work = evidence->work,
                                     .breakdown = evidence->breakdown};
    name_code(c, &names->own);
    if (evidence->reference_work && evidence->reference_work->sampled) {
        names->reference = (struct named_code){.sampled = evidence->reference_work->sampled,
                                               .work = evidence->reference_work,
                                               .breakdown = evidence->reference};
        name_code(c, &names->reference);
    }
    names->seen = lull_arena_zero(c->arena, names->n_functions + (size_t)1, sizeof *names->seen);
    names->sums = lull_arena_zero(c->arena, names->n_functions + (size_t)1, sizeof *names->sums);
    lull_hash_free(&names->numbers);
    return names->own.places;
}

/* ==== sums ==================================================================================== */

/* ---- what is meant --------------------------------------------------------------------------- */

static bool is_in_region(const struct named_code *named, uint32_t process,
                         const struct lull_where_samples *samples, uint32_t path)
{
    const struct lull_work *work = named->work;
    const uint32_t first = lull_work_first_path(work, process);
    uint32_t at = first + path;
    if (at >= work->n_paths || work->paths[at].process != process)
        return samples->region == LULL_NONE; /* no region was entered */
    if (!samples->inside)
        return work->paths[at].region == samples->region;
    for (; work->paths[at].region != LULL_NONE; at = work->paths[at].outer)
        if (work->paths[at].region == samples->region)
            return true;
    return samples->region == LULL_NONE;
}

static bool is_meant_sample(const struct named_code *named, uint32_t location,
                            const struct lull_where_samples *samples,
                            const struct lull_samples_item *item)
{
    const struct lull_trace *trace = named->sampled->trace;
    const struct lull_samples_context *context = &item->context;
    if ((samples->before_call && context->call != samples->call) ||
        (samples->serial && context->parallel != LULL_NONE) ||
        (samples->locked && !context->locked))
        return false;
    if (samples->parallel && (context->parallel >= trace->n_regions ||
                              strcmp(trace->regions[context->parallel].name, samples->parallel)))
        return false;
    return !samples->in_region ||
           is_in_region(named, trace->locations[location].process, samples, context->path);
}

/* ---- of one thread --------------------------------------------------------------------------- */

/* Beside the sums by function, which are in names->sums. */
struct thread_sums {
    double useful;   /* ns, with a core */
    double weight;   /* of all useful samples of the thread, meant or not */
    double heaviest; /* of one of them */
    double meant;    /* of those that are meant */
};

/* Functions with samples, each once. */
struct function_list {
    uint32_t *items;
    uint32_t count;
    size_t capacity;
};

/* Adds the samples of a location to the sums of this turn, each weight multiplied by what `scale_of`
 * returns (NULL: 1). `list` gets the functions that have none before. */
static struct thread_sums sum_thread(struct lull_case *c, const struct named_code *named,
                                     const struct lull_where_samples *samples, uint32_t location,
                                     double (*scale_of)(const struct thread_sums *),
                                     struct function_list *list)
{
    struct lull_where_names *names = c->names;
    const struct lull_samples *thread = &named->sampled->threads[location];
    const struct lull_trace *trace = named->sampled->trace;
    const double part = lull_evidence_core_part(trace, named->breakdown, named->sampled, location);
    struct thread_sums sums = {.useful = part *
                                         lull_evidence_useful_ns(trace, named->breakdown, location),
                               .weight = (double)thread->weight,
                               .heaviest = (double)thread->heaviest};
    const double scale = scale_of ? scale_of(&sums) : 1;
    for (uint32_t i = 0; i < thread->n_items; i++) {
        const struct lull_samples_item *item = &thread->items[i];
        if (!is_meant_sample(named, location, samples, item))
            continue;
        const struct named_place *place = &named->places[named->place_of[location][i]];
        sums.meant += (double)item->weight;
        for (uint32_t f = 0; f < place->n_frames; f++) {
            const uint32_t function = place->frames[f].function;
            bool again = false; /* a function that was inlined into itself counts once */
            for (uint32_t g = 0; g < f; g++)
                again |= place->frames[g].function == function;
            if (again)
                continue;
            if (names->seen[function] != names->turn) {
                names->seen[function] = names->turn;
                names->sums[function] = 0;
                list->items = lull_arena_grow(c->arena, list->items, &list->capacity,
                                              list->count + (size_t)1, sizeof *list->items);
                list->items[list->count++] = function;
            }
            names->sums[function] += scale * (double)item->weight;
        }
    }
    return sums;
}

static double sum_of_function(const struct lull_where_names *names, uint32_t function)
{
    return names->seen[function] == names->turn ? names->sums[function] : 0;
}

/* ---- intervals ------------------------------------------------------------------------------- */

struct timed {
    double ns, low, high;
};

/* The part `weight` of `total`, of `ns`, where `samples` samples were taken of the total. */
static struct timed part_of(double weight, double total, double samples, double ns)
{
    if (!(total > 0) || !(samples > 0))
        return (struct timed){0, 0, ns};
    const double p = fmin(1, weight / total);
    double low, high;
    lull_proportion_interval(p, samples, &low, &high);
    return (struct timed){ns * p, ns * low, ns * high};
}

static struct timed part_of_thread(const struct thread_sums *sums, double weight)
{
    return part_of(weight, sums->weight, sums->heaviest > 0 ? sums->weight / sums->heaviest : 0,
                   sums->useful);
}

static struct timed less(const struct timed *a, const struct timed *b)
{
    return (struct timed){a->ns - b->ns, a->ns - b->ns - hypot(a->ns - a->low, b->high - b->ns),
                          a->ns - b->ns + hypot(a->high - a->ns, b->ns - b->low)};
}

/* ==== candidates ============================================================================== */

/* A function that may be told. */
struct candidate {
    uint32_t function;
    uint32_t order; /* when its first sample was met: what is inlined is before what is around it */
    double weight;  /* of its samples in what is asked about */
    struct timed own;   /* its time there */
    double elsewhere;   /* its time in peers, or in the reference */
    struct timed share; /* of what is asked about; ns is no time */
};

static int by_share(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->share.ns != y->share.ns)
        return x->share.ns > y->share.ns ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int by_weight(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Of the candidates that certainly have most of what is asked about: among those with about as large
 * a share as any the one that others have least of, and of these the smallest. Where all samples are
 * in a function that is inlined, it is as large as the one around it: the inlined one is taken. NULL:
 * none is certain. */
static const struct candidate *choose_candidate(const struct candidate *candidates, uint32_t n)
{
    const struct candidate *best = NULL;
    double most = 0, least = INFINITY;
    for (uint32_t i = 0; i < n; i++)
        if (candidates[i].share.low >= TOLD_LEAST)
            most = fmax(most, candidates[i].share.ns);
    for (uint32_t i = 0; i < n; i++)
        if (candidates[i].share.low >= TOLD_LEAST && candidates[i].share.ns >= STANDS_LEAST * most)
            least = fmin(least, candidates[i].elsewhere);
    for (uint32_t i = 0; i < n; i++) {
        const struct candidate *candidate = &candidates[i];
        if (candidate->share.low < TOLD_LEAST || candidate->share.ns < STANDS_LEAST * most ||
            STANDS_LEAST * candidate->elsewhere > least)
            continue;
        if (!best || candidate->own.ns < best->own.ns ||
            (candidate->own.ns == best->own.ns && candidate->order < best->order))
            best = candidate;
    }
    return best;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Lines of a function, or of a loop in it. */
struct lines {
    const char *file;
    uint32_t first, last;
    bool is_loop;
    uint32_t depth;
    double weight;
};

struct line_list {
    struct lines *items;
    uint32_t count;
    size_t capacity;
};

static void add_lines(struct lull_case *c, struct line_list *list, const struct lines *lines)
{
    for (uint32_t i = 0; i < list->count; i++) {
        struct lines *known = &list->items[i];
        if (known->first == lines->first && known->last == lines->last &&
            known->is_loop == lines->is_loop && strcmp(known->file, lines->file) == 0) {
            known->weight += lines->weight;
            return;
        }
    }
    list->items = lull_arena_grow(c->arena, list->items, &list->capacity, list->count + (size_t)1,
                                  sizeof *list->items);
    list->items[list->count++] = *lines;
}

/* Adds the lines of a place that belong to a function. Returns whether the place does. */
static bool add_place(struct lull_case *c, const struct named_place *place, uint32_t function,
                      double weight, struct line_list *list)
{
    const struct code_frame *frame = NULL;
    for (uint32_t f = 0; f < place->n_frames && !frame; f++)
        if (place->frames[f].function == function)
            frame = &place->frames[f];
    if (!frame)
        return false;
    if (*frame->file && frame->line > 0)
        add_lines(
            c, list,
            &(struct lines){
                .file = frame->file, .first = frame->line, .last = frame->line, .weight = weight});
    const struct lull_loop *before = NULL;
    for (const struct lull_loop *loop = place->loop; loop; before = loop, loop = loop->outer) {
        const bool same = before && before->first == loop->first && before->last == loop->last &&
                          strcmp(before->file, loop->file) == 0;
        if (!same && *loop->file && loop->first > 0 && strcmp(loop->function, frame->plain) == 0)
            add_lines(c, list,
                      &(struct lines){.file = loop->file,
                                      .first = loop->first,
                                      .last = loop->last,
                                      .is_loop = true,
                                      .depth = loop->depth,
                                      .weight = weight});
    }
    return true;
}

/* The innermost loop that has most of a function's samples, or the line with most of them. */
static const struct lines *choose_lines(const struct line_list *list, double weight)
{
    const struct lines *best = NULL;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct lines *lines = &list->items[i];
        if (!lines->is_loop || lines->weight < LOOP_LEAST * weight)
            continue;
        if (!best || lines->last - lines->first < best->last - best->first ||
            (lines->last - lines->first == best->last - best->first && lines->depth > best->depth))
            best = lines;
    }
    for (uint32_t i = 0; i < list->count && (!best || !best->is_loop); i++)
        if (!best || list->items[i].weight > best->weight)
            best = list->items[i].is_loop ? best : &list->items[i];
    return best;
}

/* Tells a candidate of some locations. */
static struct lull_where tell_candidate(struct lull_case *c, const struct named_code *named,
                                        const struct lull_where_samples *samples,
                                        const uint32_t *locations, uint32_t n_locations,
                                        const struct candidate *candidate)
{
    struct line_list list = {0};
    double weight = 0;
    struct lull_where where = {.function = c->names->functions[candidate->function].name,
                               .named = c->names->functions[candidate->function].named,
                               .share = fmin(1, candidate->share.ns),
                               .low = fmax(0, candidate->share.low),
                               .high = fmin(1, candidate->share.high),
                               .ns = candidate->own.ns};
    for (uint32_t k = 0; k < n_locations; k++) {
        const struct lull_samples *thread = &named->sampled->threads[locations[k]];
        for (uint32_t i = 0; i < thread->n_items; i++) {
            const struct lull_samples_item *item = &thread->items[i];
            if (!is_meant_sample(named, locations[k], samples, item) ||
                !add_place(c, &named->places[named->place_of[locations[k]][i]], candidate->function,
                           (double)item->weight, &list))
                continue;
            weight += (double)item->weight;
            where.samples += item->count;
        }
    }
    const struct lines *lines = choose_lines(&list, weight);
    if (lines)
        where.site = lines->last > lines->first
                         ? lull_arena_printf(c->arena, "%s:%u-%u", lull_code_base_name(lines->file),
                                             lines->first, lines->last)
                         : lull_arena_printf(c->arena, "%s:%u", lull_code_base_name(lines->file),
                                             lines->first);
    return where;
}

/* ==== questions =============================================================================== */

/* ---- longer than peers ----------------------------------------------------------------------- */

/* The functions of a thread, those with most samples first, without those that are not known. */
static uint32_t list_candidates(struct lull_case *c, const struct function_list *list,
                                struct candidate **ret_candidates)
{
    struct candidate *candidates =
        lull_arena_zero(c->arena, list->count + (size_t)1, sizeof *candidates);
    for (uint32_t i = 0; i < list->count; i++)
        candidates[i] = (struct candidate){.function = list->items[i],
                                           .order = i,
                                           .weight = sum_of_function(c->names, list->items[i])};
    qsort(candidates, list->count, sizeof *candidates, by_weight);
    *ret_candidates = candidates;
    return list->count < COMPARED_MOST ? list->count : COMPARED_MOST;
}

/* The times of the peers in each candidate, and in all that is meant behind them:
 * [n + 1][n_peers]. */
struct peer_times {
    double *ns, *low, *high;
    uint32_t count; /* peers with samples */
};

static struct timed median_of_times(const struct peer_times *times, uint32_t n_peers, uint32_t at)
{
    double *const rows[] = {times->ns + (size_t)at * n_peers, times->low + (size_t)at * n_peers,
                            times->high + (size_t)at * n_peers};
    for (int i = 0; i < 3; i++)
        lull_sort(rows[i], times->count);
    return (struct timed){lull_median(rows[0], times->count), lull_median(rows[1], times->count),
                          lull_median(rows[2], times->count)};
}

static struct peer_times time_peers(struct lull_case *c, const struct lull_where_samples *samples,
                                    const struct candidate *candidates, uint32_t n,
                                    const uint32_t *peers, uint32_t n_peers,
                                    struct lull_arena *scratch)
{
    const struct named_code *own = &c->names->own;
    const size_t room = (n + (size_t)1) * (n_peers + (size_t)1);
    struct peer_times times = {.ns = lull_arena_zero(scratch, room, sizeof(double)),
                               .low = lull_arena_zero(scratch, room, sizeof(double)),
                               .high = lull_arena_zero(scratch, room, sizeof(double))};
    struct function_list list = {0};
    for (uint32_t p = 0; p < n_peers; p++) {
        list.count = 0;
        c->names->turn++;
        const struct thread_sums sums = sum_thread(c, own, samples, peers[p], NULL, &list);
        if (sums.useful > 0 && !(sums.weight > 0))
            continue; /* nobody knows where it computed */
        for (uint32_t i = 0; i <= n; i++) {
            const double weight =
                i < n ? sum_of_function(c->names, candidates[i].function) : sums.meant;
            const struct timed time = part_of_thread(&sums, weight);
            const size_t at = (size_t)i * n_peers + times.count;
            times.ns[at] = time.ns;
            times.low[at] = time.low;
            times.high[at] = time.high;
        }
        times.count++;
    }
    return times;
}

bool lull_where_longer(struct lull_case *c, const struct lull_where_samples *samples,
                       uint32_t location, const uint32_t *peers, uint32_t n_peers, double excess_ns,
                       struct lull_where *ret_where)
{
    struct candidate *candidates;
    struct function_list list = {0};
    if (!case_names(c) || n_peers == 0)
        return false;
    const struct named_code *own = &c->names->own;
    c->names->turn++;
    const struct thread_sums sums = sum_thread(c, own, samples, location, NULL, &list);
    const uint32_t n = list_candidates(c, &list, &candidates);
    if (n == 0)
        return false;
    struct lull_arena *scratch = lull_arena_create(NULL);
    const struct peer_times times = time_peers(c, samples, candidates, n, peers, n_peers, scratch);
    const bool enough = times.count > 0 && 2 * times.count >= n_peers;
    if (enough && excess_ns <= 0)
        excess_ns = part_of_thread(&sums, sums.meant).ns - median_of_times(&times, n_peers, n).ns;
    for (uint32_t i = 0; i < n && enough && excess_ns > 0; i++) {
        struct candidate *candidate = &candidates[i];
        const struct timed median = median_of_times(&times, n_peers, i);
        candidate->own = part_of_thread(&sums, candidate->weight);
        const struct timed more = less(&candidate->own, &median);
        candidate->elsewhere = median.ns;
        candidate->share =
            (struct timed){more.ns / excess_ns, more.low / excess_ns, more.high / excess_ns};
    }
    lull_arena_destroy(scratch);
    const struct candidate *best = choose_candidate(candidates, n);
    if (best)
        *ret_where = tell_candidate(c, own, samples, &location, 1, best);
    return best != NULL;
}

bool lull_where_late(struct lull_case *c, const struct lull_suspect *suspect,
                     struct lull_where *ret_where)
{
    struct lull_where_samples samples = {.in_region = true,
                                         .inside = suspect->inside,
                                         .region = suspect->region,
                                         .before_call = true,
                                         .call = suspect->most->place.call};
    const struct lull_trace *trace = c->evidence->trace;
    if (!case_names(c))
        return false;
    const struct lull_lateness lateness = lull_lateness_of(c, suspect);
    const double excess = lateness.own_core - lateness.median_core;
    const uint32_t location = trace->processes[suspect->process].first_location;
    uint32_t n = 0;
    uint32_t *peers = lull_arena_zero(c->arena, trace->n_processes + (size_t)1, sizeof *peers);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (p != suspect->process && lull_evidence_has(c->evidence, p))
            peers[n++] = trace->processes[p].first_location;
    if (excess <= 0)
        return false;
    if (lull_where_longer(c, &samples, location, peers, n, excess, ret_where))
        return true;
    samples.before_call = false;
    return lull_where_longer(c, &samples, location, peers, n, excess, ret_where);
}

/* ---- several functions ----------------------------------------------------------------------- */

/* Tells the candidate that has most, or those that have some, of the outermost functions only: what
 * was inlined is within them. */
static uint32_t tell_candidates(struct lull_case *c, const struct named_code *named,
                                const struct lull_where_samples *samples, const uint32_t *locations,
                                uint32_t n_locations, struct candidate *candidates, uint32_t n,
                                uint32_t most, struct lull_where *ret_wheres)
{
    const struct candidate *best = choose_candidate(candidates, n);
    uint32_t count = 0;
    if (best) {
        ret_wheres[0] = tell_candidate(c, named, samples, locations, n_locations, best);
        return 1;
    }
    qsort(candidates, n, sizeof *candidates, by_share);
    for (uint32_t i = 0; i < n && count < most; i++)
        if (candidates[i].share.low >= LISTED_LEAST &&
            c->names->functions[candidates[i].function].outermost)
            ret_wheres[count++] =
                tell_candidate(c, named, samples, locations, n_locations, &candidates[i]);
    return count;
}

/* Weights become times, so that those of several threads add up. */
static double to_time(const struct thread_sums *sums)
{
    return sums->weight > 0 ? sums->useful / sums->weight : 0;
}

/* What several threads spent in all that is meant. */
struct pooled {
    double ns;      /* of what is meant */
    double all_ns;  /* of the useful time of all of the threads that have samples */
    double samples; /* effective ones, of all of that time */
    double meant_samples;
};

static struct pooled pool_threads(struct lull_case *c, const struct named_code *named,
                                  const struct lull_where_samples *samples,
                                  const uint32_t *locations, uint32_t n, struct function_list *list)
{
    struct pooled pooled = {0};
    c->names->turn++;
    for (uint32_t i = 0; i < n; i++) {
        const struct thread_sums sums = sum_thread(c, named, samples, locations[i], to_time, list);
        if (!(sums.weight > 0))
            continue;
        pooled.ns += sums.meant * to_time(&sums);
        pooled.all_ns += sums.useful;
        pooled.samples += sums.weight / sums.heaviest;
        pooled.meant_samples += sums.meant / sums.heaviest;
    }
    return pooled;
}

uint32_t lull_where_spent(struct lull_case *c, const struct lull_where_samples *samples,
                          const uint32_t *locations, uint32_t n_locations, uint32_t most,
                          struct lull_where *ret_wheres)
{
    struct candidate *candidates;
    struct function_list list = {0};
    if (!case_names(c))
        return 0;
    const struct pooled pooled =
        pool_threads(c, &c->names->own, samples, locations, n_locations, &list);
    const uint32_t n = list_candidates(c, &list, &candidates);
    for (uint32_t i = 0; i < n; i++) {
        candidates[i].share = part_of(candidates[i].weight, pooled.ns, pooled.meant_samples, 1);
        candidates[i].own.ns = candidates[i].weight;
    }
    return tell_candidates(c, &c->names->own, samples, locations, n_locations, candidates, n, most,
                           ret_wheres);
}

/* ---- longer than in the reference ------------------------------------------------------------ */

/* All threads of the application that the breakdown is of. */
static uint32_t list_locations(struct lull_case *c, const struct lull_trace *trace,
                               uint32_t application, uint32_t **ret_locations)
{
    uint32_t n = 0;
    uint32_t *locations =
        lull_arena_zero(c->arena, trace->n_locations + (size_t)1, sizeof *locations);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        if (trace->processes[trace->locations[l].process].application == application)
            locations[n++] = l;
    *ret_locations = locations;
    return n;
}

uint32_t lull_where_grown(struct lull_case *c, double scale, uint32_t most,
                          struct lull_where *ret_wheres)
{
    static const struct lull_where_samples all = {0};
    struct function_list list = {0}, before_list = {0};
    struct candidate *candidates;
    uint32_t *locations, *before;
    if (!case_names(c) || !c->names->reference.places)
        return 0;
    const struct named_code *own = &c->names->own, *reference = &c->names->reference;
    const uint32_t n_locations =
        list_locations(c, own->sampled->trace, lull_evidence_application(c->evidence), &locations);
    const uint32_t n_before = list_locations(c, reference->sampled->trace,
                                             lull_evidence_application(c->evidence), &before);
    const struct pooled now = pool_threads(c, own, &all, locations, n_locations, &list);
    const uint32_t n = list_candidates(c, &list, &candidates);
    const struct pooled then = pool_threads(c, reference, &all, before, n_before, &before_list);
    const double excess_ns = now.all_ns - scale * then.all_ns;
    if (excess_ns <= 0)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        struct candidate *candidate = &candidates[i];
        const struct timed was = part_of(sum_of_function(c->names, candidate->function),
                                         then.all_ns, then.samples, scale * then.all_ns);
        candidate->own = part_of(candidate->weight, now.all_ns, now.samples, now.all_ns);
        candidate->elsewhere = was.ns;
        const struct timed more = less(&candidate->own, &was);
        candidate->share =
            (struct timed){more.ns / excess_ns, more.low / excess_ns, more.high / excess_ns};
    }
    return tell_candidates(c, own, &all, locations, n_locations, candidates, n, most, ret_wheres);
}

/* ==== texts =================================================================================== */

/* "smooth (heat.c:84-87)" */
static const char *where_name(const struct lull_case *c, const struct lull_where *where)
{
    return where->site ? lull_arena_printf(c->arena, "%s (%s)", where->function, where->site)
                       : where->function;
}

const char *lull_where_text(const struct lull_case *c, const struct lull_where *wheres, uint32_t n,
                            const char *of)
{
    const char *text = "";
    for (uint32_t i = 0; i < n; i++)
        text = lull_arena_printf(c->arena, "%s%s%.0f %%%s in %s", text, i ? ", " : "",
                                 100 * wheres[i].share, i ? "" : of, where_name(c, &wheres[i]));
    return text;
}

void lull_where_set(struct lull_case *c, struct lull_finding *finding,
                    const struct lull_where *where)
{
    finding->place.site = where_name(c, where);
    lull_finding_add_fact(finding, "in_function", "its part in the function", LULL_FACT_SHARE,
                          where->share);
    lull_finding_add_fact(finding, "at_least", "that part is at least (95 %)", LULL_FACT_SHARE,
                          where->low);
    lull_finding_add_fact(finding, "at_most", "and at most", LULL_FACT_SHARE, where->high);
    lull_finding_add_fact(finding, "samples", "samples there", LULL_FACT_COUNT,
                          (double)where->samples);
}

void lull_where_explain(struct lull_case *c, struct lull_finding *finding,
                        const struct lull_where *wheres, uint32_t n)
{
    const char *absent = c->names ? c->names->own.absent : NULL;
    if (absent && (n == 0 || !wheres[0].named))
        finding->cause = lull_arena_printf(c->arena, "%s %s", finding->cause, absent);
    if (n > 0 && (lull_code_is_interpreter(wheres[0].function) ||
                  strcmp(wheres[0].function, interpreter) == 0))
        finding->cause = lull_arena_printf(c->arena,
                                           "%s Which function of Python that is, lull record "
                                           "--sample-stack of a python3 -X perf tells (3.12 or "
                                           "newer).",
                                           finding->cause);
}
