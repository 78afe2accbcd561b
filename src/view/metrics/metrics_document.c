/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/metrics/metrics_document.h"

#include "metrics/profile.h"
#include "study/run_code.h"
#include "view/document_parts.h"

#include <string.h>

/* ==== JSON beside the tables ================================================================== */

static void write_string(struct lull_json *json, const char *key, const char *value)
{
    lull_json_key(json, key);
    lull_json_string(json, value);
}

static void write_count(struct lull_json *json, const char *key, uint64_t value)
{
    lull_json_key(json, key);
    lull_json_uint(json, value);
}

struct attached {
    const struct lull_runs *runs;
    const struct lull_metrics_wish *wish;
};

static void write_settings(struct lull_json *json, const void *data)
{
    const struct attached *attached = data;
    const struct lull_runs *runs = attached->runs;
    lull_json_object_begin(json);
    write_string(json, "reference", runs->count > 1 ? runs->runs[runs->reference].name : NULL);
    write_string(json, "scaling",
                 runs->count < 2                        ? NULL
                 : runs->scaling == LULL_SCALING_STRONG ? "strong"
                                                        : "weak");
    write_string(json, "region", attached->wish->region);
    write_string(json, "window", attached->wish->window);
    lull_json_object_end(json);
}

static void write_run(struct lull_json *json, const struct lull_run *run)
{
    lull_json_object_begin(json);
    write_string(json, "name", run->name);
    write_string(json, "path", run->path);
    write_count(json, "nodes", run->breakdown->n_nodes);
    write_count(json, "processes", run->processes);
    write_count(json, "threads", run->threads);
    lull_json_key(json, "profile");
    lull_profile_write(json, run->breakdown);
    lull_json_object_end(json);
}

static void write_runs(struct lull_json *json, const void *data)
{
    const struct lull_runs *runs = ((const struct attached *)data)->runs;
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < runs->count; i++)
        write_run(json, &runs->runs[i]);
    lull_json_array_end(json);
}

/* Attaches "settings" and "runs"; both arguments are borrowed until the document is rendered. */
static void metrics_attach(struct lull_document *document, const struct lull_runs *runs,
                           const struct lull_metrics_wish *wish, struct lull_arena *arena)
{
    struct attached *attached = lull_arena_zero(arena, 1, sizeof *attached);
    *attached = (struct attached){runs, wish};
    lull_document_attach(document, "settings", write_settings, attached);
    lull_document_attach(document, "runs", write_runs, attached);
}

/* ==== the document ============================================================================ */

static const struct lull_code_options without_loops = {.loops = false},
                                      with_loops = {.loops = true};

static const struct lull_metrics_part metrics_parts[] = {
    {.name = "region", .regions = true, .add = lull_tables_by_region},
    {.name = "callsite", .regions = true, .add = lull_tables_by_callsite},
    {.name = "process", .add = lull_tables_by_process},
    {.name = "thread", .add = lull_tables_by_thread},
    {.name = "device", .add = lull_tables_by_device},
    {.name = "stream", .operations = true, .add = lull_tables_by_stream},
    {.name = "kernel", .operations = true, .add = lull_tables_by_kernel},
    {.name = "copy", .operations = true, .add = lull_tables_by_copy},
    {.name = "file", .files = true, .add = lull_tables_by_file},
    {.name = "wait", .waits = true, .device_waits = true, .add = lull_tables_by_wait},
    {.name = "function",
     .regions = true,
     .waits = true,
     .code = &without_loops,
     .add = lull_tables_by_function},
    {.name = "line",
     .regions = true,
     .waits = true,
     .code = &without_loops,
     .add = lull_tables_by_line},
    {.name = "loop",
     .regions = true,
     .waits = true,
     .code = &with_loops,
     .add = lull_tables_by_loop},
};

const struct lull_metrics_part *lull_metrics_part_find(const char *name)
{
    for (size_t i = 0; i < sizeof metrics_parts / sizeof *metrics_parts; i++)
        if (strcmp(metrics_parts[i].name, name) == 0)
            return &metrics_parts[i];
    return NULL;
}

/* Adds the trees of efficiencies that the user wants. Devices have a tree of their own. */
static void add_schemes(struct lull_document *document, const struct lull_runs *runs,
                        const struct lull_metrics_wish *wish, struct lull_arena *arena)
{
    bool hybrid = lull_runs_are_hybrid(runs);
    bool additive =
        wish->scheme == LULL_CHOICE_ALL || lull_choice_is_additive(wish->scheme, hybrid);
    bool multiplicative = wish->scheme == LULL_CHOICE_ALL || !additive;
    enum lull_scheme sums = lull_scheme_of(true, hybrid);
    enum lull_scheme products =
        hybrid && wish->nag ? LULL_SCHEME_MULTIPLICATIVE_NAG : lull_scheme_of(false, hybrid);
    if (additive)
        lull_table_of_scheme(document, runs, sums, arena);
    if (multiplicative)
        lull_table_of_scheme(document, runs, products, arena);
    bool devices = lull_runs_have_devices(runs);
    if (devices)
        lull_table_of_scheme(document, runs, LULL_SCHEME_DEVICE, arena);
    lull_note_of_loss(document, runs,
                      devices    ? LULL_SCHEME_DEVICE
                      : additive ? sums
                                 : products,
                      arena);
    if (multiplicative && products == LULL_SCHEME_MULTIPLICATIVE)
        lull_document_note(document, LULL_NOTE_INFO,
                           "The parallel efficiency is split twice: it is load balance x "
                           "communication efficiency, and also MPI x outside x OpenMP.");
    if (wish->scheme == LULL_CHOICE_USUAL)
        lull_document_note(document, LULL_NOTE_INFO,
                           "Scheme: %s is usual for %s; --scheme %s or all shows the other.",
                           additive ? "additive" : "multiplicative",
                           devices  ? "runs with devices"
                           : hybrid ? "runs with OpenMP or several threads"
                                    : "runs with one thread per process",
                           additive ? "multiplicative" : "additive");
}

struct lull_document *lull_metrics_document(const struct lull_runs *runs,
                                            const struct lull_metrics_wish *wish,
                                            const struct lull_notices *notices,
                                            struct lull_arena *arena)
{
    struct lull_document *document = lull_document_create(arena, "lull-metrics/1", "");
    lull_document_add_notices(document, notices);
    if (runs->count > 1)
        lull_document_note(document, LULL_NOTE_INFO, "Reference: %s%s.",
                           runs->runs[runs->reference].name,
                           wish->reference_named ? "" : ", the run with the fewest threads");
    add_schemes(document, runs, wish, arena);
    if (wish->raw) {
        lull_table_of_times(document, runs, arena);
        lull_table_of_activities(document, runs, arena);
    }
    if (wish->counters)
        lull_table_of_counters(document, runs, arena);
    if (wish->part)
        wish->part->add(document, runs, arena);
    metrics_attach(document, runs, wish, arena);
    return document;
}
