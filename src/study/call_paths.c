/* SPDX-License-Identifier: BSD-3-Clause */
/* For other programs the run is read by one worker, so that paths get their numbers in an order that does
 * not depend on anything else. The tree is read beside other analyses, by several: it is sorted in the end. */
#include "study/call_paths.h"

#include "activity/pass.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/output_file.h"
#include "base/parallel.h"
#include "metrics/callers.h"
#include "metrics/code.h"
#include "team/division.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ==== reading ================================================================================= */

enum { MOST_CALLERS = 256 }; /* of a path */

/* What a path is told apart by: behind it the user's regions that are open, the outermost first, and the
 * places of the callers, the innermost first. */
struct path_key {
    uint32_t place; /* number */
    uint32_t call;  /* the innermost region, where it is none of the user; else LULL_NONE */
    uint32_t n;     /* regions of the user */
    uint32_t n_callers;
    uint32_t cut; /* 1: there are more callers, which are not known */
    uint32_t more[];
};

/* Neighbouring samples of a location with the same path. */
struct path_run {
    uint32_t path;
    uint64_t weight;
};

struct path_thread {
    uint32_t *users; /* the user's regions that are open */
    size_t n_users, users_capacity;
    struct path_run *runs; /* in order of time */
    size_t n_runs, runs_capacity;
};

/* All but what belongs to a thread or worker is guarded by `lock`. */
struct path_reader {
    const struct lull_trace *trace;
    bool is_tree; /* useful samples are wanted, by path; else all, in order of time, too */
    struct lull_hash paths;      /* by struct path_key: their numbers, in order of arrival */
    struct path_thread *threads; /* [n_locations] */
    struct path_key *key;        /* the one that is looked up */
    size_t key_capacity;         /* bytes */
    struct lull_hash places;     /* by struct lull_caller: their numbers, in order of arrival */
    struct lull_callers *callers;
    uint64_t *weights; /* of the tree, by path */
    size_t weights_capacity;
    pthread_mutex_t lock;
};

static bool change_user(struct path_thread *thread, const struct lull_step *step)
{
    if (step->op == LULL_USER_LEFT) {
        thread->n_users -= thread->n_users > 0;
        return true;
    }
    if (!lull_array_reserve(&thread->users, &thread->users_capacity, thread->n_users + 1,
                            sizeof *thread->users))
        return false;
    thread->users[thread->n_users++] = step->region;
    return true;
}

/* The number of a place; LULL_NONE: no memory. */
static uint32_t number_place(struct path_reader *reader, uint32_t object, uint64_t offset)
{
    const struct lull_caller key = {offset, object};
    const uint64_t *number =
        lull_hash_add(&reader->places, &key, sizeof key, reader->places.count, NULL);
    return number ? (uint32_t)*number : LULL_NONE;
}

/* Writes the numbers of the callers' places; *ret_whole as for lull_callers_find. Returns how many there
 * are: none, where the sample has no stack. */
static uint32_t add_callers_of(struct path_reader *reader, unsigned worker, uint32_t location,
                               const struct lull_step *step, uint32_t *ret_places, bool *ret_whole,
                               bool *ret_good)
{
    struct lull_caller callers[MOST_CALLERS];
    const uint32_t n = lull_callers_find(reader->callers, worker, location, step, callers,
                                         MOST_CALLERS, ret_whole);
    for (uint32_t i = 0; i < n; i++) {
        ret_places[i] = number_place(reader, (uint32_t)callers[i].object, callers[i].offset);
        *ret_good &= ret_places[i] != LULL_NONE;
    }
    return n;
}

/* The number of the path of a sample; NULL: no memory. */
static const uint64_t *number_of_path(struct path_reader *reader, unsigned worker,
                                      uint32_t location, const struct lull_step *step)
{
    const struct path_thread *thread = &reader->threads[location];
    uint32_t callers[MOST_CALLERS];
    bool good = true, whole;
    const uint32_t n_callers =
        add_callers_of(reader, worker, location, step, callers, &whole, &good);
    const uint32_t place = number_place(reader, step->object, step->sample.offset);
    const size_t size =
        sizeof *reader->key + (thread->n_users + n_callers) * sizeof *reader->key->more;
    if (!good || place == LULL_NONE ||
        !lull_array_reserve(&reader->key, &reader->key_capacity, size, 1))
        return NULL;
    struct path_key *key = reader->key;
    *key = (struct path_key){.place = place,
                             .call = step->region == step->sample.user ? LULL_NONE : step->region,
                             .n = (uint32_t)thread->n_users,
                             .n_callers = n_callers,
                             .cut = !whole};
    if (thread->n_users > 0)
        memcpy(key->more, thread->users, thread->n_users * sizeof *thread->users);
    memcpy(key->more + thread->n_users, callers, n_callers * sizeof *callers);
    return lull_hash_add(&reader->paths, key, size, reader->paths.count, NULL);
}

/* Adds to the weight of a path. False: no memory. */
static bool weigh_path(struct path_reader *reader, uint64_t path, uint64_t weight)
{
    const size_t known = reader->weights_capacity;
    if (!lull_array_reserve(&reader->weights, &reader->weights_capacity, path + 1,
                            sizeof *reader->weights))
        return false;
    if (reader->weights_capacity > known)
        memset(reader->weights + known, 0,
               (reader->weights_capacity - known) * sizeof *reader->weights);
    reader->weights[path] += weight;
    return true;
}

/* Adds a path behind those of the samples before. False: no memory. */
static bool append_path(struct path_thread *thread, uint64_t path, uint64_t weight)
{
    struct path_run *last = thread->n_runs > 0 ? &thread->runs[thread->n_runs - 1] : NULL;
    if (last && last->path == path) {
        last->weight += weight;
        return true;
    }
    if (!lull_array_reserve(&thread->runs, &thread->runs_capacity, thread->n_runs + 1,
                            sizeof *thread->runs))
        return false;
    thread->runs[thread->n_runs++] = (struct path_run){(uint32_t)path, weight};
    return true;
}

static bool add_path(struct path_reader *reader, unsigned worker, uint32_t location,
                     const struct lull_step *step)
{
    const uint64_t weight = step->sample.weight;
    pthread_mutex_lock(&reader->lock);
    const uint64_t *path = number_of_path(reader, worker, location, step);
    const bool good =
        path && (reader->is_tree ? weigh_path(reader, *path, weight)
                                 : append_path(&reader->threads[location], *path, weight));
    pthread_mutex_unlock(&reader->lock);
    return good;
}

static lull_status fail_paths(const struct lull_trace *trace, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for call paths", trace->path);
}

static lull_status take_path_steps(void *context, unsigned worker, const struct lull_steps *steps,
                                   struct lull_error *err)
{
    struct path_reader *reader = context;
    struct path_thread *thread = &reader->threads[steps->location];
    bool good = true;
    for (uint32_t i = 0; good && i < steps->count; i++) {
        const struct lull_step *step = &steps->steps[i];
        if (step->kind == LULL_STEP_USER)
            good = change_user(thread, step);
        else if (step->kind == LULL_STEP_SAMPLE &&
                 (!reader->is_tree || step->activity == LULL_USEFUL))
            good = add_path(reader, worker, steps->location, step);
    }
    return good ? LULL_OK : fail_paths(reader->trace, err);
}

static struct lull_consumer path_consumer(struct path_reader *reader)
{
    return (struct lull_consumer){.context = reader,
                                  .wants = LULL_STEP_MASK(LULL_STEP_SAMPLE) |
                                           LULL_STEP_MASK(LULL_STEP_USER),
                                  .steps = take_path_steps};
}

/* What there is is released by free_reader, also where this fails. */
static lull_status begin_reader(struct path_reader *reader, const struct lull_trace *trace,
                                unsigned workers, struct lull_error *err)
{
    reader->trace = trace;
    pthread_mutex_init(&reader->lock, NULL);
    reader->threads = calloc(trace->n_locations + (size_t)1, sizeof *reader->threads);
    return reader->threads ? lull_callers_create(trace, workers, &reader->callers, err)
                           : fail_paths(trace, err);
}

static void free_reader(struct path_reader *reader)
{
    for (uint32_t l = 0; reader->threads && l < reader->trace->n_locations; l++) {
        free(reader->threads[l].users);
        free(reader->threads[l].runs);
    }
    free(reader->threads);
    free(reader->weights);
    free(reader->key);
    lull_callers_destroy(reader->callers);
    pthread_mutex_destroy(&reader->lock);
    lull_hash_free(&reader->places);
    lull_hash_free(&reader->paths);
}

/* ==== frames ================================================================================== */

struct path_frame {
    const char *name, *file; /* file "": not known */
};

/* The frames of a path by their numbers, the outermost first. */
struct named_path {
    uint32_t *frames;
    size_t n, capacity;
};

struct named_paths {
    const struct lull_trace *trace;
    const struct path_reader *reader;
    struct lull_arena *arena;
    struct path_frame *frames;
    size_t n_frames, frames_capacity;
    struct lull_hash by_name;
    struct named_path *paths; /* [n] as in the reader */
    uint32_t *same;           /* [n]: the first path with the same frames */
    bool joins_same;          /* neighbouring frames of the same name are one */
    bool no_memory;
};

/* A function that was recorded as a region, too, is one frame; in a stack it has called itself. */
static void add_frame(struct named_paths *named, struct named_path *path, const char *name,
                      const char *file)
{
    const char *key = lull_arena_printf(named->arena, "%s\n%s", name, file);
    bool is_new;
    if (named->joins_same && path->n > 0 &&
        strcmp(named->frames[path->frames[path->n - 1]].name, name) == 0)
        return;
    const uint64_t *index =
        lull_hash_add(&named->by_name, key, strlen(key), named->n_frames, &is_new);
    if (!index) {
        named->no_memory = true;
        return;
    }
    if (is_new) {
        named->frames = lull_arena_grow(named->arena, named->frames, &named->frames_capacity,
                                        named->n_frames + 1, sizeof *named->frames);
        named->frames[named->n_frames++] = (struct path_frame){name, file};
    }
    path->frames = lull_arena_grow(named->arena, path->frames, &path->capacity, path->n + 1,
                                   sizeof *path->frames);
    path->frames[path->n++] = (uint32_t)*index;
}

/* The functions of a call site, "exchange (heat.c:120) < main (heat.c:40)", the outermost first. */
static void add_callers(struct named_paths *named, struct named_path *path, const char *site)
{
    static const char between[] = LULL_SITE_CALLER;
    const char *rest = strstr(site, between);
    if (rest)
        add_callers(named, path, rest + strlen(between));
    const size_t length = rest ? (size_t)(rest - site) : strlen(site);
    const char *place = lull_arena_strndup(named->arena, site, length);
    const char *at = strstr(place, " (");
    if (*place)
        add_frame(named, path,
                  at ? lull_arena_strndup(named->arena, place, (size_t)(at - place)) : place, "");
}

static void add_inlined(struct named_paths *named, struct named_path *path,
                        const struct lull_symbol *symbol)
{
    if (symbol->caller)
        add_inlined(named, path, symbol->caller);
    add_frame(named, path, symbol->short_name, symbol->file);
}

static void add_place(struct named_paths *named, struct named_path *path,
                      const struct lull_code_place *place)
{
    if (place->known == LULL_CODE_NAMED)
        add_inlined(named, path, &place->symbol);
    else
        add_frame(named, path, lull_code_name_of(named->trace, place, named->arena), "");
}

static uint32_t nth_number(const unsigned char *bytes, size_t i)
{
    uint32_t number;
    memcpy(&number, bytes + i * sizeof number, sizeof number);
    return number;
}

/* The regions that are open, and the call. */
static void add_regions(struct named_paths *named, struct named_path *path,
                        const struct path_key *key, const unsigned char *more)
{
    const struct lull_region *regions = named->trace->regions;
    for (uint32_t i = 0; i < key->n; i++) {
        const struct lull_region *region = &regions[nth_number(more, i)];
        add_frame(named, path, region->name, region->file);
    }
    if (key->call != LULL_NONE) {
        if (key->n == 0)
            add_callers(named, path, regions[key->call].site);
        add_frame(named, path, regions[key->call].name, "");
    }
}

/* `bytes` is a struct path_key, anywhere in memory. A stack that is known takes the place of regions, of
 * which it has the functions. */
static void name_path(struct named_paths *named, struct named_path *path,
                      const unsigned char *bytes, const struct lull_code_place *places)
{
    struct path_key key;
    const unsigned char *more = bytes + sizeof key;
    memcpy(&key, bytes, sizeof key);
    named->joins_same = key.n_callers == 0;
    if (key.n_callers == 0)
        add_regions(named, path, &key, more);
    if (key.n_callers > 0 && key.cut)
        add_frame(named, path, "(callers not known)", "");
    for (uint32_t i = key.n_callers; i > 0; i--)
        add_place(named, path, &places[nth_number(more, key.n + i - 1)]);
    add_place(named, path, &places[key.place]);
}

/* Paths that end at different addresses of a function are the same. */
static void join_paths(struct named_paths *named, size_t n)
{
    struct lull_hash table = {0};
    named->same = lull_arena_zero(named->arena, n + 1, sizeof *named->same);
    for (size_t i = 0; i < n; i++) {
        const uint64_t *first =
            lull_hash_add(&table, named->paths[i].frames,
                          named->paths[i].n * sizeof *named->paths[i].frames, i, NULL);
        named->no_memory |= !first;
        named->same[i] = first ? (uint32_t)*first : (uint32_t)i;
    }
    lull_hash_free(&table);
}

/* Neighbouring samples of a thread on one path, from `at` on, which is moved behind them. */
static struct path_run next_run(const struct named_paths *named, const struct path_thread *thread,
                                size_t *at)
{
    struct path_run run = {named->same[thread->runs[*at].path], 0};
    for (; *at < thread->n_runs && named->same[thread->runs[*at].path] == run.path; ++*at)
        run.weight += thread->runs[*at].weight;
    return run;
}

static lull_status name_paths(struct named_paths *named, struct lull_error *err)
{
    const struct path_reader *reader = named->reader;
    const size_t n = reader->paths.count, n_places = reader->places.count;
    struct lull_places_file *files;
    struct lull_code_place *places = calloc(n_places + 1, sizeof *places);
    if (!places)
        return lull_fail(err, LULL_ERR_MEMORY, "names of code: out of memory");
    for (size_t i = 0; i < n_places; i++) {
        struct lull_caller key;
        memcpy(&key, lull_hash_key(&reader->places, i), sizeof key);
        places[i] = (struct lull_code_place){.offset = key.offset, .object = (uint32_t)key.object};
    }
    lull_status status = lull_code_name(named->trace, places, n_places, false, lull_worker_count(),
                                        named->arena, &files, err);
    named->paths = lull_arena_zero(named->arena, n + 1, sizeof *named->paths);
    for (size_t i = 0; status == LULL_OK && i < n; i++)
        name_path(named, &named->paths[i], lull_hash_key(&reader->paths, i), places);
    free(places);
    if (status == LULL_OK)
        join_paths(named, n);
    if (status == LULL_OK && named->no_memory)
        status = lull_fail(err, LULL_ERR_MEMORY, "names of code: out of memory");
    return status;
}

/* ==== writing ================================================================================= */

/* "rank 3", "rank 3 thread 1". */
static const char *thread_name(const struct lull_trace *trace, uint32_t location,
                               struct lull_arena *arena)
{
    const struct lull_process *process = &trace->processes[trace->locations[location].process];
    if (process->n_threads == 1)
        return lull_arena_printf(arena, "rank %u", process->rank);
    return lull_arena_printf(arena, "rank %u thread %u", process->rank,
                             trace->locations[location].number);
}

/* ---- folded ---------------------------------------------------------------------------------- */

/* Frames are divided by semicolons, and the weight stands behind the last blank of a line. */
static void write_folded_name(FILE *out, const char *name)
{
    for (; *name; name++)
        putc(*name == ';' ? ':' : (unsigned char)*name < ' ' ? ' ' : *name, out);
}

static void write_folded(const void *content, FILE *out)
{
    const struct named_paths *named = content;
    const struct lull_trace *trace = named->trace;
    const size_t n = named->reader->paths.count;
    uint64_t *weights = lull_arena_zero(named->arena, n + 1, sizeof *weights);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct path_thread *thread = &named->reader->threads[l];
        for (size_t i = 0; i < thread->n_runs; i++)
            weights[named->same[thread->runs[i].path]] += thread->runs[i].weight;
        for (size_t i = 0; i < thread->n_runs; i++) {
            const uint32_t path = named->same[thread->runs[i].path];
            if (weights[path] == 0)
                continue;
            write_folded_name(out, thread_name(trace, l, named->arena));
            for (size_t f = 0; f < named->paths[path].n; f++) {
                putc(';', out);
                write_folded_name(out, named->frames[named->paths[path].frames[f]].name);
            }
            fprintf(out, " %llu\n", (unsigned long long)weights[path]);
            weights[path] = 0; /* is written */
        }
    }
}

/* ---- speedscope ------------------------------------------------------------------------------ */

static void write_text(struct lull_json *json, const char *key, const char *value)
{
    lull_json_key(json, key);
    lull_json_string(json, value);
}

static void write_frames(struct lull_json *json, const struct named_paths *named)
{
    lull_json_key(json, "shared");
    lull_json_object_begin(json);
    lull_json_key(json, "frames");
    lull_json_array_begin(json);
    for (size_t f = 0; f < named->n_frames; f++) {
        lull_json_object_begin(json);
        write_text(json, "name", named->frames[f].name);
        if (*named->frames[f].file)
            write_text(json, "file", named->frames[f].file);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
    lull_json_object_end(json);
}

/* A profile of a thread: its samples in order of time, of which neighbours with the same path are one. */
static void write_profile(struct lull_json *json, const struct named_paths *named,
                          uint32_t location)
{
    const struct path_thread *thread = &named->reader->threads[location];
    uint64_t sum = 0;
    lull_json_object_begin(json);
    write_text(json, "type", "sampled");
    write_text(json, "name", thread_name(named->trace, location, named->arena));
    write_text(json, "unit", "nanoseconds");
    lull_json_key(json, "samples");
    lull_json_array_begin(json);
    for (size_t i = 0; i < thread->n_runs;) {
        const struct path_run run = next_run(named, thread, &i);
        const struct named_path *path = &named->paths[run.path];
        lull_json_array_begin(json);
        for (size_t f = 0; f < path->n; f++)
            lull_json_uint(json, path->frames[f]);
        lull_json_array_end(json);
        sum += run.weight;
    }
    lull_json_array_end(json);
    lull_json_key(json, "weights");
    lull_json_array_begin(json);
    for (size_t i = 0; i < thread->n_runs;)
        lull_json_uint(json, next_run(named, thread, &i).weight);
    lull_json_array_end(json);
    lull_json_key(json, "startValue");
    lull_json_uint(json, 0);
    lull_json_key(json, "endValue");
    lull_json_uint(json, sum);
    lull_json_object_end(json);
}

static void write_speedscope(const void *content, FILE *out)
{
    const struct named_paths *named = content;
    struct lull_json json;
    lull_json_begin(&json, out, true);
    lull_json_object_begin(&json);
    write_text(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    write_text(&json, "name", named->trace->path);
    write_text(&json, "exporter", "lull");
    write_frames(&json, named);
    lull_json_key(&json, "profiles");
    lull_json_array_begin(&json);
    for (uint32_t l = 0; l < named->trace->n_locations; l++)
        if (named->reader->threads[l].n_runs > 0)
            write_profile(&json, named, l);
    lull_json_array_end(&json);
    lull_json_object_end(&json);
    putc('\n', out);
}

/* ---- formats --------------------------------------------------------------------------------- */

typedef void write_paths(const void *content, FILE *out);

static lull_status write_named(const struct named_paths *named, write_paths *write,
                               const char *path, bool replace, struct lull_error *err)
{
    struct lull_output *output;
    int failure = 0;
    lull_status status = lull_output_begin(path, false, replace, &output, err);
    if (status != LULL_OK)
        return status;
    FILE *out = lull_output_stream_open(lull_output_path(output), &failure);
    if (!out) {
        status = lull_fail_errno(err, "%s: cannot write", path);
        lull_output_discard(output);
        return status;
    }
    write(named, out);
    status = lull_output_stream_close(out, &failure, path, err);
    if (status == LULL_OK)
        return lull_output_commit(output, err);
    lull_output_discard(output);
    return status;
}

static lull_status convert_paths(const struct lull_trace *trace, write_paths *write,
                                 const char *path, bool replace,
                                 void (*progress)(void *context, double share),
                                 void *progress_context, struct lull_error *err)
{
    const struct lull_reading reading = {.application = LULL_NONE,
                                         .workers = 1,
                                         .progress = progress,
                                         .progress_context = progress_context};
    const struct lull_pass_options options = {.reading = &reading};
    struct path_reader reader = {.is_tree = false};
    struct named_paths named = {
        .trace = trace, .reader = &reader, .arena = lull_arena_create(NULL)};
    const struct lull_consumer consumer = path_consumer(&reader);
    lull_status status = begin_reader(&reader, trace, 1, err);
    if (status == LULL_OK)
        status = lull_pass_run(trace, &options, &consumer, 1, err);
    if (status == LULL_OK && reader.paths.count == 0)
        status = lull_fail(err, LULL_ERR_RANGE, "%s: holds no samples; " LULL_HOW_TO_SAMPLE,
                           trace->path);
    if (status == LULL_OK)
        status = name_paths(&named, err);
    if (status == LULL_OK)
        status = write_named(&named, write, path, replace, err);
    lull_hash_free(&named.by_name);
    lull_arena_destroy(named.arena);
    free_reader(&reader);
    return status;
}

static lull_status convert_folded(const struct lull_trace *trace, const char *path, bool replace,
                                  void (*progress)(void *context, double share),
                                  void *progress_context, struct lull_error *err)
{
    return convert_paths(trace, write_folded, path, replace, progress, progress_context, err);
}

static lull_status convert_speedscope(const struct lull_trace *trace, const char *path,
                                      bool replace, void (*progress)(void *context, double share),
                                      void *progress_context, struct lull_error *err)
{
    return convert_paths(trace, write_speedscope, path, replace, progress, progress_context, err);
}

const struct lull_format lull_format_folded = {
    .name = "folded",
    .summary = "call paths of samples, a line each, for flamegraph.pl and its like",
    .write = convert_folded,
};

const struct lull_format lull_format_speedscope = {
    .name = "speedscope",
    .summary = "call paths of samples for speedscope.app",
    .write = convert_speedscope,
};

/* ==== the tree ================================================================================ */

static lull_status tree_create(void *state, const void *options, struct lull_joint_pass *joint,
                               struct lull_error *err)
{
    struct lull_path_state *of = state;
    struct path_reader *reader = calloc(1, sizeof *reader);
    (void)options;
    if (!reader)
        return fail_paths(joint->trace, err);
    of->reader = reader;
    reader->is_tree = true;
    const lull_status status = begin_reader(reader, joint->trace, joint->workers, err);
    if (status == LULL_OK)
        lull_joint_pass_add(joint, path_consumer(reader));
    return status;
}

static void tree_release(void *state)
{
    struct lull_path_state *of = state;
    if (!of->reader)
        return;
    free_reader(of->reader);
    free(of->reader);
    of->reader = NULL;
}

/* ---- a team ---------------------------------------------------------------------------------- */

/* A path is put with the places that it names, which have other numbers elsewhere. */
static bool put_tree(void *context, struct lull_flow *flow)
{
    const struct path_reader *reader = context;
    const uint64_t n = reader->paths.count;
    bool good = lull_flow_put(flow, &n, sizeof n);
    for (size_t i = 0; good && i < n; i++) {
        const unsigned char *bytes = lull_hash_key(&reader->paths, i);
        struct path_key key;
        memcpy(&key, bytes, sizeof key);
        good = lull_flow_put_items(flow, bytes, reader->paths.entries[i].size, 1) &&
               lull_flow_put(flow, &reader->weights[i], sizeof reader->weights[i]) &&
               lull_flow_put(flow, lull_hash_key(&reader->places, key.place),
                             sizeof(struct lull_caller));
        for (uint32_t c = 0; good && c < key.n_callers; c++)
            good = lull_flow_put(
                flow, lull_hash_key(&reader->places, nth_number(bytes + sizeof key, key.n + c)),
                sizeof(struct lull_caller));
    }
    return good;
}

/* The number of the place that comes next. False: the flow has failed, or no memory. */
static bool get_place(struct path_reader *reader, struct lull_flow *flow, uint32_t *ret_number)
{
    struct lull_caller place;
    if (!lull_flow_get(flow, &place, sizeof place))
        return false;
    *ret_number = number_place(reader, (uint32_t)place.object, place.offset);
    return *ret_number != LULL_NONE;
}

static bool get_tree(void *context, uint32_t member, struct lull_flow *flow)
{
    struct path_reader *reader = context;
    uint64_t n = 0;
    bool good = lull_flow_get(flow, &n, sizeof n);
    (void)member;
    for (; good && n > 0; n--) {
        size_t size;
        uint64_t weight = 0;
        struct path_key *key = lull_flow_get_items(flow, 1, &size);
        good = key && lull_flow_get(flow, &weight, sizeof weight) &&
               get_place(reader, flow, &key->place);
        for (uint32_t c = 0; good && c < key->n_callers; c++)
            good = get_place(reader, flow, &key->more[key->n + c]);
        const uint64_t *path =
            good ? lull_hash_add(&reader->paths, key, size, reader->paths.count, NULL) : NULL;
        good = path && weigh_path(reader, *path, weight);
        free(key);
    }
    return good;
}

static lull_status tree_gather(void *state, const struct lull_joint_pass *joint,
                               struct lull_error *err)
{
    const struct lull_path_state *of = state;
    const struct lull_freight freight = {put_tree, get_tree, of->reader, "call paths"};
    return joint->reading->division ? lull_team_bring(joint->reading->division->team, &freight, err)
                                    : LULL_OK;
}

/* ---- the result ------------------------------------------------------------------------------ */

struct tree_path {
    const struct path_frame *frames; /* of all paths */
    const struct named_path *path;
    uint64_t weight;
};

/* A path comes before those that go on from it, and callees in the order of their names. */
static int by_frames(const void *a, const void *b)
{
    const struct tree_path *x = a, *y = b;
    for (size_t i = 0; i < x->path->n && i < y->path->n; i++) {
        const struct path_frame *of_x = &x->frames[x->path->frames[i]];
        const struct path_frame *of_y = &y->frames[y->path->frames[i]];
        int order = of_x == of_y ? 0 : strcmp(of_x->name, of_y->name);
        order = order || of_x == of_y ? order : strcmp(of_x->file, of_y->file);
        if (order)
            return order;
    }
    return (x->path->n > y->path->n) - (x->path->n < y->path->n);
}

/* Adds the nodes of a path behind those that it has in common with the one before. `open` are the nodes
 * of that one, by depth. */
static void add_to_tree(struct lull_path_tree *tree, struct lull_path_node *nodes, uint32_t *open,
                        const struct tree_path *path, const struct tree_path *before)
{
    size_t same = 0;
    while (before && same < path->path->n && same < before->path->n &&
           path->path->frames[same] == before->path->frames[same])
        same++;
    for (size_t d = 0; d < path->path->n; d++) {
        const struct path_frame *frame = &path->frames[path->path->frames[d]];
        if (d >= same) {
            open[d] = tree->n_nodes;
            nodes[tree->n_nodes++] = (struct lull_path_node){.name = frame->name,
                                                             .file = frame->file,
                                                             .depth = (uint32_t)d,
                                                             .begin = tree->weight};
        }
        nodes[open[d]].weight += path->weight;
    }
    tree->weight += path->weight;
}

static const struct lull_path_tree *make_tree(const struct named_paths *named,
                                              const uint64_t *weights, struct lull_arena *arena)
{
    const size_t n = named->reader->paths.count;
    struct lull_path_tree *tree = lull_arena_zero(arena, 1, sizeof *tree);
    struct tree_path *paths = lull_arena_zero(arena, n + 1, sizeof *paths);
    size_t frames = 0, deepest = 0;
    for (size_t i = 0; i < n; i++) {
        paths[i] = (struct tree_path){named->frames, &named->paths[i], weights[i]};
        frames += named->paths[i].n;
        deepest = named->paths[i].n > deepest ? named->paths[i].n : deepest;
    }
    struct lull_path_node *nodes = lull_arena_zero(arena, frames + 1, sizeof *nodes);
    uint32_t *open = lull_arena_zero(arena, deepest + 1, sizeof *open);
    qsort(paths, n, sizeof *paths, by_frames);
    for (size_t i = 0; i < n; i++)
        add_to_tree(tree, nodes, open, &paths[i], i > 0 ? &paths[i - 1] : NULL);
    tree->nodes = nodes;
    return tree;
}

static lull_status tree_conclude(void *state, const struct lull_joint_pass *joint,
                                 struct lull_error *err)
{
    struct lull_path_state *of = state;
    struct named_paths named = {.trace = joint->trace, .reader = of->reader, .arena = joint->arena};
    lull_status status = LULL_OK;
    if (joint->is_first && of->reader->paths.count > 0) {
        status = name_paths(&named, err);
        if (status == LULL_OK)
            of->tree = make_tree(&named, of->reader->weights, joint->arena);
        lull_hash_free(&named.by_name);
    }
    tree_release(of);
    return lull_team_agree(lull_division_team(joint->reading->division), status, err);
}

const struct lull_analysis lull_path_analysis = {.size = sizeof(struct lull_path_state),
                                                 .create = tree_create,
                                                 .gather = tree_gather,
                                                 .conclude = tree_conclude,
                                                 .release = tree_release};
