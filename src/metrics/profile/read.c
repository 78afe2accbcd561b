/* Reading a profile with jansson. Everything is checked: types, ranges, the sizes of arrays, and
 * that ranks and threads are named once. A step (what is read now, linked to what surrounds it)
 * becomes the place in the message. */
#include "metrics/profile/profile.h"

#include "base/file.h"
#include "metrics/breakdown/merge.h"
#include "metrics/profile/values.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_COUNTERS = 1024 };

/* ---- definitions --------------------------------------------------------------------------- */

static const char *kind_name(unsigned kind)
{
    return kind == LULL_LOCATION_DEVICE ? "device" : "thread";
}

static lull_status read_counter(struct lull_profile_reader *reader, const json_t *object,
                                const struct lull_json_step *step, size_t index)
{
    struct lull_breakdown_counter *counter = &reader->to->counters[index];
    if (index >= MAX_COUNTERS)
        return lull_profile_wrong(reader, step, "there are more than 1024 counters");
    lull_status status = lull_profile_text(reader, object, step, "name", &counter->name);
    for (size_t i = 0; status == LULL_OK && i < index; i++) {
        if (strcmp(reader->to->counters[i].name, counter->name) == 0)
            return lull_profile_wrong(reader, step, "the counter is named twice");
    }
    if (status == LULL_OK)
        status = lull_profile_name(reader, object, step, "role", lull_counter_role_name,
                                   LULL_COUNTER_ROLES, &counter->role);
    return status;
}

static lull_status read_process(struct lull_profile_reader *reader, const json_t *object,
                                const struct lull_json_step *step, size_t index)
{
    struct lull_process_breakdown *process = &reader->to->processes[index];
    process->node = LULL_NONE;
    lull_status status = lull_profile_u32(reader, object, step, "rank", &process->rank);
    if (status == LULL_OK)
        status = lull_profile_text(reader, object, step, "name", &process->name);
    if (status == LULL_OK && json_object_get(object, "node"))
        status = lull_profile_u32(reader, object, step, "node", &process->node);
    return status;
}

static int compare_profile_ranks(const void *a, const void *b)
{
    const struct lull_profile_rank *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static lull_status sort_ranks(struct lull_profile_reader *reader)
{
    const struct lull_breakdown *to = reader->to;
    reader->ranks = lull_arena_zero(reader->arena, to->n_processes, sizeof *reader->ranks);
    for (uint32_t i = 0; i < to->n_processes; i++)
        reader->ranks[i] = (struct lull_profile_rank){to->processes[i].rank, i};
    if (to->n_processes)
        qsort(reader->ranks, to->n_processes, sizeof *reader->ranks, compare_profile_ranks);
    for (uint32_t i = 1; i < to->n_processes; i++) {
        const struct lull_json_step array = {NULL, "processes", 0};
        const struct lull_json_step step = {&array, NULL, reader->ranks[i].index};
        if (reader->ranks[i].rank == reader->ranks[i - 1].rank)
            return lull_profile_wrong(reader, &step, "the rank is there twice");
    }
    return LULL_OK;
}

static lull_status read_rank(const struct lull_profile_reader *reader, const json_t *object,
                             const struct lull_json_step *up, uint32_t *ret_process)
{
    uint32_t rank;
    lull_status status = lull_profile_u32(reader, object, up, "rank", &rank);
    if (status != LULL_OK)
        return status;
    uint32_t low = 0, high = reader->to->n_processes;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (reader->ranks[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    const struct lull_json_step step = {up, "rank", 0};
    if (low == reader->to->n_processes || reader->ranks[low].rank != rank)
        return lull_profile_wrong(reader, &step, "there is no process of this rank");
    *ret_process = reader->ranks[low].index;
    return LULL_OK;
}

/* ---- threads ------------------------------------------------------------------------------- */

static lull_status find_activity(const struct lull_profile_reader *reader,
                                 const struct lull_json_step *step, const char *id,
                                 unsigned *ret_activity)
{
    for (unsigned activity = 0; activity < LULL_ACTIVITIES; activity++) {
        if (strcmp(id, lull_activity_id(activity)) == 0) {
            *ret_activity = activity;
            return LULL_OK;
        }
    }
    return lull_profile_wrong(reader, step, "the activity is not known");
}

static bool is_time(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= LULL_PROFILE_MOST_NS;
}

static lull_status read_times(const struct lull_profile_reader *reader, const json_t *thread,
                              const struct lull_json_step *up, struct lull_times *times)
{
    const struct lull_json_step step = {up, "times", 0};
    json_t *object = json_object_get(thread, "times");
    if (!json_is_object(object))
        return lull_profile_wrong(reader, &step, "expected an object");
    const char *id;
    json_t *pair;
    json_object_foreach(object, id, pair)
    {
        const struct lull_json_step item = {&step, id, 0};
        unsigned activity = 0;
        lull_status status = find_activity(reader, &item, id, &activity);
        if (status != LULL_OK)
            return status;
        if (json_array_size(pair) != 2 || !is_time(json_array_get(pair, 0)) ||
            !is_time(json_array_get(pair, 1)))
            return lull_profile_wrong(
                reader, &item, "expected two times in ns: outside and inside parallel regions");
        times->ns[activity][0] = json_integer_value(json_array_get(pair, 0));
        times->ns[activity][1] = json_integer_value(json_array_get(pair, 1));
    }
    return LULL_OK;
}

static lull_status read_counts(const struct lull_profile_reader *reader, const json_t *thread,
                               const struct lull_json_step *up, uint64_t *counters)
{
    const struct lull_json_step step = {up, "counts", 0};
    json_t *object = json_object_get(thread, "counts");
    uint32_t n = reader->to->n_counters;
    if (!object)
        return LULL_OK;
    if (!json_is_object(object))
        return lull_profile_wrong(reader, &step, "expected an object");
    const char *id;
    json_t *array;
    json_object_foreach(object, id, array)
    {
        const struct lull_json_step item = {&step, id, 0};
        unsigned activity = 0;
        lull_status status = find_activity(reader, &item, id, &activity);
        if (status != LULL_OK)
            return status;
        if (!json_is_array(array) || json_array_size(array) != n)
            return lull_profile_wrong(reader, &item,
                                      "expected an array with one count per counter");
        for (uint32_t c = 0; c < n; c++) {
            const struct lull_json_step count = {&item, NULL, c};
            uint64_t *to = &counters[(size_t)c * LULL_ACTIVITIES + activity];
            status = lull_profile_count_of(reader, json_array_get(array, c), &count, to);
            if (status != LULL_OK)
                return status;
        }
    }
    return LULL_OK;
}

static lull_status read_thread(struct lull_profile_reader *reader, const json_t *object,
                               const struct lull_json_step *step, size_t index)
{
    struct lull_thread_breakdown *thread = &reader->to->threads[index];
    const json_t *master = json_object_get(object, "master");
    lull_status status = read_rank(reader, object, step, &thread->process);
    if (status == LULL_OK)
        status = lull_profile_u32(reader, object, step, "number", &thread->number);
    if (status == LULL_OK)
        status = lull_profile_name(reader, object, step, "kind", kind_name, 2, &thread->kind);
    if (status == LULL_OK)
        status = read_times(reader, object, step, &thread->times);
    if (status == LULL_OK)
        status = lull_profile_int(reader, object, step, "disabled_ns", LULL_PROFILE_MOST_NS,
                                  &thread->disabled_ns);
    if (status != LULL_OK)
        return status;
    if (!json_is_boolean(master))
        return lull_profile_wrong(reader, step, "expected 'master' to be true or false");
    thread->master = json_is_true(master);
    if (thread->master && thread->kind == LULL_LOCATION_DEVICE)
        return lull_profile_wrong(reader, step, "a device is no master");
    size_t counts = (size_t)reader->to->n_counters * LULL_ACTIVITIES;
    if (counts * sizeof(uint64_t) > reader->allowance)
        return lull_profile_wrong(reader, step,
                                  "too many threads and counters for a file of this size");
    reader->allowance -= counts * sizeof(uint64_t);
    thread->counters = lull_arena_zero(reader->arena, counts, sizeof(uint64_t));
    return read_counts(reader, object, step, thread->counters);
}

struct thread_key {
    uint32_t process, number, index;
    uint8_t kind;
    bool master;
};

static int compare_thread_keys(const void *a, const void *b)
{
    const struct thread_key *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Each thread once, and at most one master in a process. */
static lull_status check_threads(const struct lull_profile_reader *reader)
{
    const struct lull_breakdown *to = reader->to;
    struct thread_key *keys = lull_arena_zero(reader->arena, to->n_threads, sizeof *keys);
    bool *has_master = lull_arena_zero(reader->arena, to->n_processes, sizeof *has_master);
    for (uint32_t i = 0; i < to->n_threads; i++) {
        const struct lull_thread_breakdown *thread = &to->threads[i];
        keys[i] =
            (struct thread_key){thread->process, thread->number, i, thread->kind, thread->master};
    }
    if (to->n_threads)
        qsort(keys, to->n_threads, sizeof *keys, compare_thread_keys);
    for (uint32_t i = 0; i < to->n_threads; i++) {
        const struct lull_json_step array = {NULL, "threads", 0};
        const struct lull_json_step step = {&array, NULL, keys[i].index};
        if (i > 0 && keys[i].process == keys[i - 1].process && keys[i].kind == keys[i - 1].kind &&
            keys[i].number == keys[i - 1].number)
            return lull_profile_wrong(reader, &step, "the thread is there twice");
        if (keys[i].master && has_master[keys[i].process])
            return lull_profile_wrong(reader, &step, "the process has two masters");
        has_master[keys[i].process] |= keys[i].master;
    }
    return LULL_OK;
}

/* ---- regions ------------------------------------------------------------------------------- */

static lull_status read_region(struct lull_profile_reader *reader, const json_t *object,
                               const struct lull_json_step *step, size_t index)
{
    static const struct lull_profile_time fields[] = {
        {"inclusive_ns", offsetof(struct lull_region_breakdown, inclusive_ns)},
        {"exclusive_ns", offsetof(struct lull_region_breakdown, exclusive_ns)},
        {"useful_ns", offsetof(struct lull_region_breakdown, useful_ns)},
    };
    struct lull_region_breakdown *region = &reader->to->regions[index];
    lull_status status = lull_profile_text(reader, object, step, "name", &region->name);
    region->site = "";
    if (status == LULL_OK && json_object_get(object, "site"))
        status = lull_profile_text(reader, object, step, "site", &region->site);
    if (status == LULL_OK)
        status = lull_profile_name(reader, object, step, "paradigm", lull_paradigm_name,
                                   LULL_PARADIGMS, &region->paradigm);
    if (status == LULL_OK)
        status = lull_profile_name(reader, object, step, "role", lull_role_name, LULL_ROLES,
                                   &region->role);
    if (status == LULL_OK)
        status = lull_profile_name(reader, object, step, "activity", lull_activity_id,
                                   LULL_ACTIVITIES, &region->activity);
    if (status == LULL_OK)
        status = lull_profile_count(reader, object, step, "visits", &region->visits);
    if (status == LULL_OK)
        status = lull_profile_times(reader, object, step, fields, sizeof fields / sizeof fields[0],
                                    region);
    return status;
}

static lull_status read_parallel(struct lull_profile_reader *reader, const json_t *object,
                                 const struct lull_json_step *step, size_t index)
{
    static const struct lull_profile_time fields[] = {
        {"duration_ns", offsetof(struct lull_parallel_breakdown, duration_ns)},
        {"useful_ns", offsetof(struct lull_parallel_breakdown, useful_ns)},
        {"max_useful_ns", offsetof(struct lull_parallel_breakdown, max_useful_ns)},
        {"schedule_ns", offsetof(struct lull_parallel_breakdown, schedule_ns)},
        {"lock_ns", offsetof(struct lull_parallel_breakdown, lock_ns)},
        {"sync_ns", offsetof(struct lull_parallel_breakdown, sync_ns)},
        {"mpi_ns", offsetof(struct lull_parallel_breakdown, mpi_ns)},
        {"other_ns", offsetof(struct lull_parallel_breakdown, other_ns)},
    };
    struct lull_parallel_breakdown *parallel = &reader->to->parallels[index];
    lull_status status = read_rank(reader, object, step, &parallel->process);
    if (status == LULL_OK)
        status = lull_profile_text(reader, object, step, "name", &parallel->name);
    if (status == LULL_OK)
        status = lull_profile_count(reader, object, step, "executions", &parallel->executions);
    if (status == LULL_OK)
        status = lull_profile_times(reader, object, step, fields, sizeof fields / sizeof fields[0],
                                    parallel);
    if (status == LULL_OK && parallel->max_useful_ns > parallel->useful_ns)
        return lull_profile_wrong(reader, step, "the largest useful time exceeds the sum");
    return status;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static lull_status read_root(struct lull_profile_reader *reader, const json_t *root)
{
    struct lull_breakdown *to = reader->to;
    const struct lull_json_step step = {NULL, "schema", 0};
    const char *schema = json_string_value(json_object_get(root, "schema"));
    if (!schema || strcmp(schema, LULL_PROFILE_SCHEMA) != 0)
        return lull_profile_wrong(reader, &step, "expected \"" LULL_PROFILE_SCHEMA "\"");
    lull_status status = lull_profile_text(reader, root, NULL, "run", &to->run);
    if (status == LULL_OK)
        status = lull_profile_int(reader, root, NULL, "duration_ns", LULL_PROFILE_MOST_NS,
                                  &to->duration_ns);
    if (status == LULL_OK && json_object_get(root, "ideal_runtime_ns"))
        status = lull_profile_int(reader, root, NULL, "ideal_runtime_ns", LULL_PROFILE_MOST_NS,
                                  &to->ideal_runtime_ns);
    if (status == LULL_OK && json_object_get(root, "replayed_runtime_ns"))
        status = lull_profile_int(reader, root, NULL, "replayed_runtime_ns", LULL_PROFILE_MOST_NS,
                                  &to->replayed_runtime_ns);
    if (status == LULL_OK && json_object_get(root, "ideal_absent"))
        status = lull_profile_text(reader, root, NULL, "ideal_absent", &to->ideal_absent);
    to->from_sums = json_is_true(json_object_get(root, "from_sums"));
    if (status == LULL_OK)
        status = lull_profile_array(reader, root, "counters", false, sizeof *to->counters,
                                    (void **)&to->counters, &to->n_counters, read_counter);
    if (status == LULL_OK)
        status = lull_profile_array(reader, root, "processes", true, sizeof *to->processes,
                                    (void **)&to->processes, &to->n_processes, read_process);
    if (status == LULL_OK)
        status = sort_ranks(reader);
    if (status == LULL_OK)
        status = lull_profile_array(reader, root, "threads", true, sizeof *to->threads,
                                    (void **)&to->threads, &to->n_threads, read_thread);
    if (status == LULL_OK)
        status = check_threads(reader);
    if (status == LULL_OK)
        status = lull_profile_array(reader, root, "regions", false, sizeof *to->regions,
                                    (void **)&to->regions, &to->n_regions, read_region);
    if (status == LULL_OK)
        status = lull_profile_array(reader, root, "parallels", false, sizeof *to->parallels,
                                    (void **)&to->parallels, &to->n_parallels, read_parallel);
    return status;
}

lull_status lull_profile_parse(const char *text, size_t size, const char *path,
                               struct lull_arena *arena, struct lull_breakdown **ret_breakdown,
                               struct lull_error *err)
{
    json_error_t where;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    if (!root)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: line %d, column %d: %s", path, where.line,
                         where.column, where.text);
    struct lull_breakdown *breakdown = lull_arena_zero(arena, 1, sizeof *breakdown);
    struct lull_profile_reader reader = {
        .path = path,
        .arena = arena,
        .err = err,
        .to = breakdown,
        .allowance = ((size_t)64 << 20) + 256 * size,
    };
    lull_status status = read_root(&reader, root);
    json_decref(root);
    if (status != LULL_OK)
        return status;
    status = lull_breakdown_join(breakdown, NULL, arena, breakdown, err);
    if (status != LULL_OK)
        return lull_fail_prefix(err, status, "%s", path);
    *ret_breakdown = breakdown;
    return LULL_OK;
}

bool lull_profile_recognise(const char *path)
{
    char head[257];
    size_t got = 0;
    if (lull_read_head(path, head, sizeof head - 1, &got, NULL) != LULL_OK)
        return false;
    head[got] = '\0';
    return head[strspn(head, " \t\r\n")] == '{' && strstr(head, "\"lull-profile/");
}

lull_status lull_profile_read(const char *path, struct lull_arena *arena,
                              struct lull_breakdown **ret_breakdown, struct lull_error *err)
{
    struct lull_mapping file;
    lull_status status = lull_map_file(path, &file, err);
    if (status != LULL_OK)
        return status;
    status =
        lull_profile_parse((const char *)file.data, file.size, path, arena, ret_breakdown, err);
    lull_unmap(&file);
    return status;
}
