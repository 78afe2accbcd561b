/* Writing a profile. */
#include "metrics/profile/profile.h"

#include <inttypes.h>
#include <stdio.h>

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
    if (breakdown->ideal_absent)
        write_text(json, "ideal_absent", breakdown->ideal_absent);
    write_counters(json, breakdown);
    write_processes(json, breakdown);
    write_threads(json, breakdown);
    write_regions(json, breakdown);
    write_parallels(json, breakdown);
    lull_json_object_end(json);
}
