/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/profile.h"

#include "base/file.h"
#include "base/json.h"
#include "base/sorted.h"
#include "base/text.h"
#include "metrics/breakdown.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== reading values ========================================================================== */

#define PROFILE_MOST_NS (INT64_C(1) << 60) /* 36 years */

/* A field of a struct, for tables of fields: times in ns. */
struct profile_time {
    const char *key;
    size_t offset;
};

/* Fails: says what is wrong where. */
static lull_status profile_wrong(const struct lull_profile_reader *reader,
                                 const struct lull_json_step *step, const char *what)
{
    return lull_json_wrong(reader->err, reader->path, step, what);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The member `key` of an object, whose place is `up`. */
static lull_status profile_int(const struct lull_profile_reader *reader, const json_t *object,
                               const struct lull_json_step *up, const char *key, int64_t most,
                               int64_t *ret)
{
    const struct lull_json_step step = {up, key, 0};
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value))
        return profile_wrong(reader, &step, "expected an integer");
    int64_t number = json_integer_value(value);
    if (number < 0 || number > most)
        return profile_wrong(reader, &step, "the number is out of range");
    *ret = number;
    return LULL_OK;
}

static lull_status profile_u32(const struct lull_profile_reader *reader, const json_t *object,
                               const struct lull_json_step *up, const char *key, uint32_t *ret)
{
    int64_t number;
    lull_status status = profile_int(reader, object, up, key, LULL_NONE - INT64_C(1), &number);
    if (status == LULL_OK)
        *ret = (uint32_t)number;
    return status;
}

/* A count is an integer, or a string of digits where it is large. */
static lull_status profile_count_of(const struct lull_profile_reader *reader, const json_t *value,
                                    const struct lull_json_step *step, uint64_t *ret)
{
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        *ret = (uint64_t)json_integer_value(value);
        return LULL_OK;
    }
    if (json_is_string(value) &&
        lull_parse_u64(json_string_value(value), json_string_length(value), ret) == LULL_OK)
        return LULL_OK;
    return profile_wrong(reader, step, "expected a count: an integer, or a string of digits");
}

static lull_status profile_count(const struct lull_profile_reader *reader, const json_t *object,
                                 const struct lull_json_step *up, const char *key, uint64_t *ret)
{
    const struct lull_json_step step = {up, key, 0};
    return profile_count_of(reader, json_object_get(object, key), &step, ret);
}

static lull_status profile_text(const struct lull_profile_reader *reader, const json_t *object,
                                const struct lull_json_step *up, const char *key, const char **ret)
{
    const struct lull_json_step step = {up, key, 0};
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return profile_wrong(reader, &step, "expected a string");
    *ret = lull_arena_strdup(reader->arena, json_string_value(value));
    return LULL_OK;
}

/* One of `count` names. */
static lull_status profile_name(const struct lull_profile_reader *reader, const json_t *object,
                                const struct lull_json_step *up, const char *key,
                                const char *(*name_of)(unsigned), unsigned count, uint8_t *ret)
{
    const struct lull_json_step step = {up, key, 0};
    const char *text = json_string_value(json_object_get(object, key));
    for (unsigned i = 0; text && i < count; i++) {
        if (strcmp(text, name_of(i)) == 0) {
            *ret = (uint8_t)i;
            return LULL_OK;
        }
    }
    return profile_wrong(reader, &step, text ? "the name is not known" : "expected a string");
}

static lull_status profile_times(const struct lull_profile_reader *reader, const json_t *object,
                                 const struct lull_json_step *up, const struct profile_time *fields,
                                 size_t count, void *to)
{
    for (size_t i = 0; i < count; i++) {
        int64_t *field = (int64_t *)((char *)to + fields[i].offset);
        lull_status status = profile_int(reader, object, up, fields[i].key, PROFILE_MOST_NS, field);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Calls `read` for each object of an array; `*ret_items` is made large enough before. */
static lull_status profile_array(struct lull_profile_reader *reader, const json_t *root,
                                 const char *key, bool required, size_t item_size, void **ret_items,
                                 uint32_t *ret_count, lull_profile_item *read)
{
    const struct lull_json_step step = {NULL, key, 0};
    const json_t *array = json_object_get(root, key);
    if (!array && !required)
        return LULL_OK;
    if (!json_is_array(array))
        return profile_wrong(reader, &step, "expected an array");
    size_t count = json_array_size(array);
    *ret_items = lull_arena_try(reader->arena, count + 1, item_size);
    if (!*ret_items || count >= LULL_NONE)
        return lull_fail(reader->err, LULL_ERR_MEMORY, "%s: not enough memory", reader->path);
    for (size_t i = 0; i < count; i++) {
        const struct lull_json_step item = {&step, NULL, i};
        const json_t *object = json_array_get(array, i);
        if (!json_is_object(object))
            return profile_wrong(reader, &item, "expected an object");
        lull_status status = read(reader, object, &item, i);
        if (status != LULL_OK)
            return status;
        *ret_count = (uint32_t)(i + 1);
    }
    return LULL_OK;
}

/* ==== reading ================================================================================= */

/* Reading a profile with jansson. Everything is checked: types, ranges, the sizes of arrays, and
 * that ranks and threads are named once. A step (struct lull_json_step) becomes the place in the
 * message. */

enum { MAX_COUNTERS = 1024 };

/* ---- definitions ----------------------------------------------------------------------------- */

static const char *kind_name(unsigned kind)
{
    return kind == LULL_LOCATION_DEVICE ? "device" : "thread";
}

static lull_status read_counter(struct lull_profile_reader *reader, const json_t *object,
                                const struct lull_json_step *step, size_t index)
{
    struct lull_breakdown_counter *counter = &reader->to->counters[index];
    if (index >= MAX_COUNTERS)
        return profile_wrong(reader, step, "there are more than 1024 counters");
    lull_status status = profile_text(reader, object, step, "name", &counter->name);
    for (size_t i = 0; status == LULL_OK && i < index; i++) {
        if (strcmp(reader->to->counters[i].name, counter->name) == 0)
            return profile_wrong(reader, step, "the counter is named twice");
    }
    if (status == LULL_OK)
        status = profile_name(reader, object, step, "role", lull_counter_role_name,
                              LULL_COUNTER_ROLES, &counter->role);
    return status;
}

/* Members of struct lull_process_memory, as keys. */
static const struct {
    const char *key;
    size_t offset;
} memory_fields[] = {{"peak", offsetof(struct lull_process_memory, peak)},
                     {"resident", offsetof(struct lull_process_memory, resident)},
                     {"swapped", offsetof(struct lull_process_memory, swapped)},
                     {"node", offsetof(struct lull_process_memory, node)},
                     {"limit", offsetof(struct lull_process_memory, limit)},
                     {"group", offsetof(struct lull_process_memory, group)}};
enum { MEMORY_FIELDS = sizeof memory_fields / sizeof *memory_fields };

static lull_status read_memory(const struct lull_profile_reader *reader, const json_t *process,
                               const struct lull_json_step *up, struct lull_process_memory *memory)
{
    const struct lull_json_step step = {up, "memory", 0};
    const json_t *object = json_object_get(process, "memory");
    if (!json_is_object(object))
        return profile_wrong(reader, &step, "expected an object");
    for (size_t i = 0; i < MEMORY_FIELDS; i++) {
        int64_t value = 0;
        if (!json_object_get(object, memory_fields[i].key))
            continue;
        lull_status status =
            profile_int(reader, object, &step, memory_fields[i].key, INT64_MAX, &value);
        if (status != LULL_OK)
            return status;
        *(uint64_t *)(void *)((char *)memory + memory_fields[i].offset) = (uint64_t)value;
    }
    return LULL_OK;
}

static lull_status read_process(struct lull_profile_reader *reader, const json_t *object,
                                const struct lull_json_step *step, size_t index)
{
    struct lull_process_breakdown *process = &reader->to->processes[index];
    process->node = LULL_NONE;
    lull_status status = profile_u32(reader, object, step, "rank", &process->rank);
    if (status == LULL_OK)
        status = profile_text(reader, object, step, "name", &process->name);
    if (status == LULL_OK && json_object_get(object, "node"))
        status = profile_u32(reader, object, step, "node", &process->node);
    if (status == LULL_OK && json_object_get(object, "memory"))
        status = read_memory(reader, object, step, &process->memory);
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
            return profile_wrong(reader, &step, "the rank is there twice");
    }
    return LULL_OK;
}

static lull_status read_rank(const struct lull_profile_reader *reader, const json_t *object,
                             const struct lull_json_step *up, uint32_t *ret_process)
{
    uint32_t rank;
    lull_status status = profile_u32(reader, object, up, "rank", &rank);
    if (status != LULL_OK)
        return status;
    const size_t at =
        lull_sorted_first_u32(reader->ranks, reader->to->n_processes, sizeof *reader->ranks,
                              offsetof(struct lull_profile_rank, rank), rank);
    const struct lull_json_step step = {up, "rank", 0};
    if (at == reader->to->n_processes || reader->ranks[at].rank != rank)
        return profile_wrong(reader, &step, "there is no process of this rank");
    *ret_process = reader->ranks[at].index;
    return LULL_OK;
}

/* ---- threads --------------------------------------------------------------------------------- */

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
    return profile_wrong(reader, step, "the activity is not known");
}

static bool is_time(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= PROFILE_MOST_NS;
}

static lull_status read_times(const struct lull_profile_reader *reader, const json_t *thread,
                              const struct lull_json_step *up, struct lull_times *times)
{
    const struct lull_json_step step = {up, "times", 0};
    json_t *object = json_object_get(thread, "times");
    if (!json_is_object(object))
        return profile_wrong(reader, &step, "expected an object");
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
            return profile_wrong(reader, &item,
                                 "expected two times in ns: outside and inside parallel regions");
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
        return profile_wrong(reader, &step, "expected an object");
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
            return profile_wrong(reader, &item, "expected an array with one count per counter");
        for (uint32_t c = 0; c < n; c++) {
            const struct lull_json_step count = {&item, NULL, c};
            uint64_t *to = &counters[(size_t)c * LULL_ACTIVITIES + activity];
            status = profile_count_of(reader, json_array_get(array, c), &count, to);
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
        status = profile_u32(reader, object, step, "number", &thread->number);
    if (status == LULL_OK)
        status = profile_name(reader, object, step, "kind", kind_name, 2, &thread->kind);
    if (status == LULL_OK)
        status = read_times(reader, object, step, &thread->times);
    if (status == LULL_OK)
        status =
            profile_int(reader, object, step, "disabled_ns", PROFILE_MOST_NS, &thread->disabled_ns);
    if (status != LULL_OK)
        return status;
    if (!json_is_boolean(master))
        return profile_wrong(reader, step, "expected 'master' to be true or false");
    thread->master = json_is_true(master);
    if (thread->master && thread->kind == LULL_LOCATION_DEVICE)
        return profile_wrong(reader, step, "a device is no master");
    size_t counts = (size_t)reader->to->n_counters * LULL_ACTIVITIES;
    if (counts * sizeof(uint64_t) > reader->allowance)
        return profile_wrong(reader, step, "too many threads and counters for a file of this size");
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
            return profile_wrong(reader, &step, "the thread is there twice");
        if (keys[i].master && has_master[keys[i].process])
            return profile_wrong(reader, &step, "the process has two masters");
        has_master[keys[i].process] |= keys[i].master;
    }
    return LULL_OK;
}

/* ---- devices --------------------------------------------------------------------------------- */

static lull_status read_losses(const struct lull_profile_reader *reader, const json_t *device,
                               const struct lull_json_step *up, int64_t *lost)
{
    const struct lull_json_step step = {up, "lost_ns", 0};
    const json_t *object = json_object_get(device, "lost_ns");
    if (!json_is_object(object))
        return profile_wrong(reader, &step, "expected an object");
    for (unsigned loss = 0; loss < LULL_DEVICE_LOSSES; loss++) {
        const char *id = lull_device_loss_id(loss);
        if (!json_object_get(object, id))
            continue;
        const lull_status status =
            profile_int(reader, object, &step, id, PROFILE_MOST_NS, &lost[loss]);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

static lull_status read_device(struct lull_profile_reader *reader, const json_t *object,
                               const struct lull_json_step *step, size_t index)
{
    static const struct profile_time fields[] = {
        {"kernel_ns", offsetof(struct lull_device_breakdown, kernel_ns)},
        {"busy_ns", offsetof(struct lull_device_breakdown, busy_ns)},
        {"copy_ns", offsetof(struct lull_device_breakdown, copy_ns)},
        {"copy_beside_ns", offsetof(struct lull_device_breakdown, copy_beside_ns)},
        {"exchange_ns", offsetof(struct lull_device_breakdown, exchange_ns)},
        {"exchange_beside_ns", offsetof(struct lull_device_breakdown, exchange_beside_ns)},
    };
    struct lull_device_breakdown *device = &reader->to->devices[index];
    lull_status status = profile_text(reader, object, step, "id", &device->id);
    if (status == LULL_OK)
        status = profile_text(reader, object, step, "name", &device->name);
    if (status == LULL_OK)
        status = profile_u32(reader, object, step, "streams", &device->n_streams);
    if (status == LULL_OK)
        status = profile_u32(reader, object, step, "processes", &device->n_processes);
    if (status == LULL_OK && json_object_get(object, "absent"))
        return profile_text(reader, object, step, "absent", &device->absent);
    if (status == LULL_OK)
        status =
            profile_times(reader, object, step, fields, sizeof fields / sizeof fields[0], device);
    if (status == LULL_OK && device->busy_ns < device->kernel_ns)
        return profile_wrong(reader, step, "the device ran kernels for longer than it was busy");
    if (status == LULL_OK && (device->copy_ns < device->copy_beside_ns ||
                              device->exchange_ns < device->exchange_beside_ns))
        return profile_wrong(reader, step,
                             "the device moved data for less time than beside kernels");
    return status == LULL_OK ? read_losses(reader, object, step, device->lost_ns) : status;
}

/* ---- regions --------------------------------------------------------------------------------- */

static lull_status read_region(struct lull_profile_reader *reader, const json_t *object,
                               const struct lull_json_step *step, size_t index)
{
    static const struct profile_time fields[] = {
        {"inclusive_ns", offsetof(struct lull_region_breakdown, inclusive_ns)},
        {"exclusive_ns", offsetof(struct lull_region_breakdown, exclusive_ns)},
        {"useful_ns", offsetof(struct lull_region_breakdown, useful_ns)},
    };
    struct lull_region_breakdown *region = &reader->to->regions[index];
    lull_status status = profile_text(reader, object, step, "name", &region->name);
    region->site = "";
    if (status == LULL_OK && json_object_get(object, "site"))
        status = profile_text(reader, object, step, "site", &region->site);
    if (status == LULL_OK)
        status = profile_name(reader, object, step, "paradigm", lull_paradigm_name, LULL_PARADIGMS,
                              &region->paradigm);
    if (status == LULL_OK)
        status =
            profile_name(reader, object, step, "role", lull_role_name, LULL_ROLES, &region->role);
    if (status == LULL_OK)
        status = profile_name(reader, object, step, "activity", lull_activity_id, LULL_ACTIVITIES,
                              &region->activity);
    if (status == LULL_OK)
        status = profile_count(reader, object, step, "visits", &region->visits);
    if (status == LULL_OK)
        status =
            profile_times(reader, object, step, fields, sizeof fields / sizeof fields[0], region);
    return status;
}

static lull_status read_parallel(struct lull_profile_reader *reader, const json_t *object,
                                 const struct lull_json_step *step, size_t index)
{
    static const struct profile_time fields[] = {
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
        status = profile_text(reader, object, step, "name", &parallel->name);
    if (status == LULL_OK)
        status = profile_count(reader, object, step, "executions", &parallel->executions);
    if (status == LULL_OK)
        status =
            profile_times(reader, object, step, fields, sizeof fields / sizeof fields[0], parallel);
    if (status == LULL_OK && parallel->max_useful_ns > parallel->useful_ns)
        return profile_wrong(reader, step, "the largest useful time exceeds the sum");
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static lull_status read_root(struct lull_profile_reader *reader, const json_t *root)
{
    struct lull_breakdown *to = reader->to;
    const struct lull_json_step step = {NULL, "schema", 0};
    const char *schema = json_string_value(json_object_get(root, "schema"));
    if (!schema || strcmp(schema, LULL_PROFILE_SCHEMA) != 0)
        return profile_wrong(reader, &step, "expected \"" LULL_PROFILE_SCHEMA "\"");
    lull_status status = profile_text(reader, root, NULL, "run", &to->run);
    if (status == LULL_OK)
        status = profile_int(reader, root, NULL, "duration_ns", PROFILE_MOST_NS, &to->duration_ns);
    if (status == LULL_OK && json_object_get(root, "ideal_runtime_ns"))
        status = profile_int(reader, root, NULL, "ideal_runtime_ns", PROFILE_MOST_NS,
                             &to->ideal_runtime_ns);
    if (status == LULL_OK && json_object_get(root, "replayed_runtime_ns"))
        status = profile_int(reader, root, NULL, "replayed_runtime_ns", PROFILE_MOST_NS,
                             &to->replayed_runtime_ns);
    if (status == LULL_OK && json_object_get(root, "replayed_error_ns"))
        status = profile_int(reader, root, NULL, "replayed_error_ns", PROFILE_MOST_NS,
                             &to->replayed_error_ns);
    if (status == LULL_OK && json_object_get(root, "ideal_absent"))
        status = profile_text(reader, root, NULL, "ideal_absent", &to->ideal_absent);
    to->from_sums = json_is_true(json_object_get(root, "from_sums"));
    if (status == LULL_OK)
        status = profile_array(reader, root, "counters", false, sizeof *to->counters,
                               (void **)&to->counters, &to->n_counters, read_counter);
    if (status == LULL_OK)
        status = profile_array(reader, root, "processes", true, sizeof *to->processes,
                               (void **)&to->processes, &to->n_processes, read_process);
    if (status == LULL_OK)
        status = sort_ranks(reader);
    if (status == LULL_OK)
        status = profile_array(reader, root, "threads", true, sizeof *to->threads,
                               (void **)&to->threads, &to->n_threads, read_thread);
    if (status == LULL_OK)
        status = check_threads(reader);
    if (status == LULL_OK)
        status = profile_array(reader, root, "devices", false, sizeof *to->devices,
                               (void **)&to->devices, &to->n_devices, read_device);
    if (status == LULL_OK)
        status = profile_array(reader, root, "regions", false, sizeof *to->regions,
                               (void **)&to->regions, &to->n_regions, read_region);
    if (status == LULL_OK)
        status = profile_array(reader, root, "parallels", false, sizeof *to->parallels,
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

/* ==== writing ================================================================================= */

/* Other programs read JSON numbers as doubles: above 2^53 a string keeps all digits. */
#define EXACT_IN_DOUBLE (UINT64_C(1) << 53)

static void write_count(struct lull_json *json, uint64_t value)
{
    char text[24];
    if (value <= EXACT_IN_DOUBLE) {
        lull_json_uint(json, value);
        return;
    }
    snprintf(text, sizeof text, "%" PRIu64, value);
    lull_json_string(json, text);
}

static void write_field(struct lull_json *json, const char *key, int64_t value)
{
    lull_json_key(json, key);
    lull_json_int(json, value);
}

static void write_text(struct lull_json *json, const char *key, const char *value)
{
    lull_json_key(json, key);
    lull_json_string(json, value);
}

static void write_counters(struct lull_json *json, const struct lull_breakdown *breakdown)
{
    lull_json_key(json, "counters");
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < breakdown->n_counters; i++) {
        lull_json_object_begin(json);
        write_text(json, "name", breakdown->counters[i].name);
        write_text(json, "role", lull_counter_role_name(breakdown->counters[i].role));
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

static void write_memory(struct lull_json *json, const struct lull_process_memory *memory)
{
    lull_json_key(json, "memory");
    lull_json_object_begin(json);
    for (size_t i = 0; i < MEMORY_FIELDS; i++) {
        const uint64_t value =
            *(const uint64_t *)(const void *)((const char *)memory + memory_fields[i].offset);
        if (value > 0)
            write_field(json, memory_fields[i].key, (int64_t)value);
    }
    lull_json_object_end(json);
}

static void write_processes(struct lull_json *json, const struct lull_breakdown *breakdown)
{
    lull_json_key(json, "processes");
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < breakdown->n_processes; i++) {
        const struct lull_process_breakdown *process = &breakdown->processes[i];
        lull_json_object_begin(json);
        write_field(json, "rank", process->rank);
        write_text(json, "name", process->name);
        if (process->node != LULL_NONE)
            write_field(json, "node", process->node);
        if (process->memory.peak > 0)
            write_memory(json, &process->memory);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

/* Activities without time and without counts are left out. */
static void write_times(struct lull_json *json, const struct lull_times *times)
{
    lull_json_key(json, "times");
    lull_json_object_begin(json);
    for (int activity = 0; activity < LULL_ACTIVITIES; activity++) {
        if (!times->ns[activity][0] && !times->ns[activity][1])
            continue;
        lull_json_key(json, lull_activity_id((unsigned)activity));
        lull_json_array_begin(json);
        lull_json_int(json, times->ns[activity][0]);
        lull_json_int(json, times->ns[activity][1]);
        lull_json_array_end(json);
    }
    lull_json_object_end(json);
}

static void write_counts(struct lull_json *json, const struct lull_breakdown *breakdown,
                         const struct lull_thread_breakdown *thread)
{
    lull_json_key(json, "counts");
    lull_json_object_begin(json);
    for (uint32_t activity = 0; activity < LULL_ACTIVITIES; activity++) {
        bool any = false;
        for (uint32_t c = 0; c < breakdown->n_counters; c++)
            any |= thread->counters[(size_t)c * LULL_ACTIVITIES + activity] != 0;
        if (!any)
            continue;
        lull_json_key(json, lull_activity_id(activity));
        lull_json_array_begin(json);
        for (uint32_t c = 0; c < breakdown->n_counters; c++)
            write_count(json, thread->counters[(size_t)c * LULL_ACTIVITIES + activity]);
        lull_json_array_end(json);
    }
    lull_json_object_end(json);
}

static void write_threads(struct lull_json *json, const struct lull_breakdown *breakdown)
{
    lull_json_key(json, "threads");
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < breakdown->n_threads; i++) {
        const struct lull_thread_breakdown *thread = &breakdown->threads[i];
        lull_json_object_begin(json);
        write_field(json, "rank", breakdown->processes[thread->process].rank);
        write_field(json, "number", thread->number);
        write_text(json, "kind", thread->kind == LULL_LOCATION_DEVICE ? "device" : "thread");
        lull_json_key(json, "master");
        lull_json_bool(json, thread->master);
        write_times(json, &thread->times);
        write_field(json, "disabled_ns", thread->disabled_ns);
        if (breakdown->n_counters)
            write_counts(json, breakdown, thread);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

static void write_losses(struct lull_json *json, const int64_t *lost)
{
    lull_json_key(json, "lost_ns");
    lull_json_object_begin(json);
    for (unsigned loss = 0; loss < LULL_DEVICE_LOSSES; loss++)
        if (lost[loss] > 0)
            write_field(json, lull_device_loss_id(loss), lost[loss]);
    lull_json_object_end(json);
}

static void write_devices(struct lull_json *json, const struct lull_breakdown *breakdown)
{
    if (breakdown->n_devices == 0)
        return;
    lull_json_key(json, "devices");
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < breakdown->n_devices; i++) {
        const struct lull_device_breakdown *device = &breakdown->devices[i];
        lull_json_object_begin(json);
        write_text(json, "id", device->id);
        write_text(json, "name", device->name);
        write_field(json, "streams", device->n_streams);
        write_field(json, "processes", device->n_processes);
        if (device->absent) {
            write_text(json, "absent", device->absent);
        } else {
            write_field(json, "kernel_ns", device->kernel_ns);
            write_field(json, "busy_ns", device->busy_ns);
            write_field(json, "copy_ns", device->copy_ns);
            write_field(json, "copy_beside_ns", device->copy_beside_ns);
            write_field(json, "exchange_ns", device->exchange_ns);
            write_field(json, "exchange_beside_ns", device->exchange_beside_ns);
            write_losses(json, device->lost_ns);
        }
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

static void write_regions(struct lull_json *json, const struct lull_breakdown *breakdown)
{
    if (!breakdown->regions)
        return;
    lull_json_key(json, "regions");
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < breakdown->n_regions; i++) {
        const struct lull_region_breakdown *region = &breakdown->regions[i];
        lull_json_object_begin(json);
        write_text(json, "name", region->name);
        if (*region->site)
            write_text(json, "site", region->site);
        write_text(json, "paradigm", lull_paradigm_name(region->paradigm));
        write_text(json, "role", lull_role_name(region->role));
        write_text(json, "activity", lull_activity_id(region->activity));
        lull_json_key(json, "visits");
        write_count(json, region->visits);
        write_field(json, "inclusive_ns", region->inclusive_ns);
        write_field(json, "exclusive_ns", region->exclusive_ns);
        write_field(json, "useful_ns", region->useful_ns);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

static void write_parallels(struct lull_json *json, const struct lull_breakdown *breakdown)
{
    lull_json_key(json, "parallels");
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < breakdown->n_parallels; i++) {
        const struct lull_parallel_breakdown *parallel = &breakdown->parallels[i];
        lull_json_object_begin(json);
        write_field(json, "rank", breakdown->processes[parallel->process].rank);
        write_text(json, "name", parallel->name);
        lull_json_key(json, "executions");
        write_count(json, parallel->executions);
        write_field(json, "duration_ns", parallel->duration_ns);
        write_field(json, "useful_ns", parallel->useful_ns);
        write_field(json, "max_useful_ns", parallel->max_useful_ns);
        write_field(json, "schedule_ns", parallel->schedule_ns);
        write_field(json, "lock_ns", parallel->lock_ns);
        write_field(json, "sync_ns", parallel->sync_ns);
        write_field(json, "mpi_ns", parallel->mpi_ns);
        write_field(json, "other_ns", parallel->other_ns);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

void lull_profile_write(struct lull_json *json, const struct lull_breakdown *breakdown)
{
    lull_json_object_begin(json);
    write_text(json, "schema", LULL_PROFILE_SCHEMA);
    write_text(json, "run", breakdown->run);
    write_field(json, "duration_ns", breakdown->duration_ns);
    if (breakdown->from_sums) {
        lull_json_key(json, "from_sums");
        lull_json_bool(json, true);
    }
    if (breakdown->ideal_runtime_ns > 0)
        write_field(json, "ideal_runtime_ns", breakdown->ideal_runtime_ns);
    if (breakdown->replayed_runtime_ns > 0)
        write_field(json, "replayed_runtime_ns", breakdown->replayed_runtime_ns);
    if (breakdown->replayed_error_ns > 0)
        write_field(json, "replayed_error_ns", breakdown->replayed_error_ns);
    if (breakdown->ideal_absent)
        write_text(json, "ideal_absent", breakdown->ideal_absent);
    write_counters(json, breakdown);
    write_processes(json, breakdown);
    write_threads(json, breakdown);
    write_devices(json, breakdown);
    write_regions(json, breakdown);
    write_parallels(json, breakdown);
    lull_json_object_end(json);
}
