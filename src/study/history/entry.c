/* What is kept of a run. */
#include "study/history/history.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const lull_history_quantities[] = {"runtime",      "core_time", "useful_time",
                                               "instructions", "cycles",    NULL};
enum { QUANTITIES = sizeof lull_history_quantities / sizeof *lull_history_quantities - 1 };

static struct lull_history_value value_of(const char *id, double value, const char *absent)
{
    return (struct lull_history_value){id, absent ? NAN : value, absent};
}

static void add_values(struct lull_history_entry *entry, const struct lull_run *run,
                       struct lull_arena *arena)
{
    const struct lull_pop_input *input = run->input;
    const struct lull_metric_value quantities[QUANTITIES] = {
        {1e-9 * (double)run->breakdown->runtime_ns, NULL},
        {1e-9 * (double)entry->parts.total_ns, NULL},
        {1e-9 * (double)lull_parts_useful(&entry->parts), NULL},
        {input->instructions, isnan(input->instructions) ? "no instruction counter" : NULL},
        {input->cycles, isnan(input->cycles) ? "no cycle counter" : NULL},
    };
    entry->values =
        lull_arena_zero(arena, QUANTITIES + (size_t)lull_metric_count, sizeof(*entry->values));
    struct lull_history_value *values = entry->values;
    for (size_t i = 0; i < QUANTITIES; i++)
        *values++ = value_of(lull_history_quantities[i], quantities[i].value, quantities[i].absent);
    for (int m = 0; m < lull_metric_count; m++)
        *values++ = value_of(lull_metric_defs[m].id, run->values[m].value, run->values[m].absent);
    entry->n_values = (uint32_t)(values - entry->values);
}

static const char *machine_of(const struct lull_run *run, struct lull_arena *arena)
{
    const struct lull_trace *trace = run->trace;
    if (!trace || !trace->n_processes || trace->processes[0].node >= trace->n_nodes)
        return "";
    return lull_arena_strdup(arena, trace->nodes[trace->processes[0].node].name);
}

const char *lull_history_commit_of_job(void)
{
    const char *github = getenv("GITHUB_SHA"), *gitlab = getenv("CI_COMMIT_SHA");
    return github ? github : gitlab ? gitlab : "";
}

void lull_history_entry_of(const struct lull_run *run, const struct lull_history_about *about,
                           struct lull_arena *arena, struct lull_history_entry *ret_entry)
{
    *ret_entry = (struct lull_history_entry){
        .key = about->key,
        .commit = about->commit,
        .run = lull_arena_strdup(arena, run->name),
        .time = about->now,
    };
    ret_entry->key.layout = lull_run_shape(run, arena);
    if (!ret_entry->key.machine)
        ret_entry->key.machine = machine_of(run, arena);
    if (about->has_time)
        ret_entry->time = about->time;
    else if (run->trace && run->trace->start_realtime > 0)
        ret_entry->time = run->trace->start_realtime / 1000000000;
    lull_parts_of_run(run, arena, &ret_entry->parts);
    add_values(ret_entry, run, arena);
}

static double region_time(const struct lull_history_entry *entry, const char *name)
{
    double ns = NAN;
    for (uint32_t i = 0; i < entry->parts.count; i++)
        if (strcmp(entry->parts.parts[i].region, name) == 0)
            ns = (isnan(ns) ? 0 : ns) + (double)entry->parts.parts[i].ns;
    return 1e-9 * ns;
}

double lull_history_value_of(const struct lull_history_entry *entry, const char *id)
{
    static const char region[] = "region:";
    if (strncmp(id, region, sizeof region - 1) == 0)
        return region_time(entry, id + sizeof region - 1);
    for (uint32_t i = 0; i < entry->n_values; i++)
        if (strcmp(entry->values[i].id, id) == 0)
            return entry->values[i].value;
    return NAN;
}

const char *lull_history_absent(const struct lull_history_entry *entry, const char *id)
{
    for (uint32_t i = 0; i < entry->n_values; i++)
        if (strcmp(entry->values[i].id, id) == 0 && entry->values[i].absent)
            return entry->values[i].absent;
    return "the runs do not have it";
}

/* ---- times ---------------------------------------------------------------------------------- */

const char *lull_history_time_text(int64_t time, char *buffer)
{
    const time_t seconds = (time_t)time;
    struct tm parts;
    if (!gmtime_r(&seconds, &parts) || strftime(buffer, 32, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        strcpy(buffer, "?");
    return buffer;
}

lull_status lull_history_time_read(const char *text, int64_t *ret_time, struct lull_error *err)
{
    struct tm parts = {0};
    uint64_t seconds; /* up to the end of the year 9999 */
    if (lull_parse_u64(text, strlen(text), &seconds) == LULL_OK &&
        seconds <= UINT64_C(253402300799)) {
        *ret_time = (int64_t)seconds;
        return LULL_OK;
    }
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    if (!end || *end)
        return lull_fail(err, LULL_ERR_RANGE,
                         "time is '%s', expected one as 2026-11-23T02:51:09Z, or seconds since "
                         "1970",
                         text);
    *ret_time = (int64_t)timegm(&parts);
    return LULL_OK;
}
