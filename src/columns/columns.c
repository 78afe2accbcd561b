/* SPDX-License-Identifier: BSD-3-Clause */
/* The run is read twice: its events as they are, and its steps. One worker reads all locations
 * abreast each time, so that rows stand in about the order of time, and in the same order always. */
#include "columns/columns.h"

#include "activity/pass.h"
#include "base/array.h"
#include "base/file.h"
#include "base/output_file.h"
#include "base/text.h"
#include "columns/tables.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== words =================================================================================== */

/* What may be shown of a text, in memory of malloc; NULL: no memory. */
static char *clean_text(const char *text, size_t *ret_length)
{
    char *clean = NULL;
    size_t length = 0, capacity = 0;
    do {
        if (!lull_array_reserve(&clean, &capacity, length + LULL_UTF8_PIECE, 1)) {
            free(clean);
            return NULL;
        }
        if (*text)
            length += lull_utf8_clean(&text, clean + length);
    } while (*text);
    *ret_length = length;
    return clean;
}

bool lull_column_words_add(struct lull_column_words *words, const char *name)
{
    size_t length;
    char *clean = clean_text(name, &length);
    uint64_t *place =
        clean ? lull_hash_add(&words->texts, clean, length, words->texts.count, NULL) : NULL;
    free(clean);
    if (!place ||
        !lull_array_reserve(&words->of, &words->capacity, words->count + 1, sizeof *words->of))
        return false;
    words->of[words->count++] = (uint32_t)*place;
    return true;
}

bool lull_column_words_add_all(struct lull_column_words *words, unsigned count,
                               const char *(*name)(unsigned))
{
    for (unsigned i = 0; i < count; i++)
        if (!lull_column_words_add(words, name(i)))
            return false;
    return true;
}

void lull_column_words_free(struct lull_column_words *words)
{
    lull_hash_free(&words->texts);
    free(words->of);
    *words = (struct lull_column_words){0};
}

/* ==== definitions ============================================================================= */

bool lull_column_words_of_regions(struct lull_column_words *words, const struct lull_trace *trace)
{
    for (uint32_t i = 0; i < trace->n_regions; i++)
        if (!lull_column_words_add(words, trace->regions[i].name))
            return false;
    return true;
}

bool lull_column_words_of_comms(struct lull_column_words *words, const struct lull_trace *trace)
{
    for (uint32_t i = 0; i < trace->n_comms; i++)
        if (!lull_column_words_add(words, trace->comms[i].name))
            return false;
    return true;
}

bool lull_column_words_of_objects(struct lull_column_words *words, const struct lull_trace *trace)
{
    for (uint32_t i = 0; i < trace->n_objects; i++) {
        const struct lull_object *object = &trace->objects[i];
        if (!lull_column_words_add(words, object->function ? object->function : object->path))
            return false;
    }
    return true;
}

/* ==== what tables share ======================================================================= */

static const char *const file_names[] = {"events",      "steps",      "messages",
                                         "collectives", "samples",    "locations",
                                         "regions",     "call_sites", NULL};

lull_status lull_table_open(const struct lull_tables *tables, const char *name,
                            const struct lull_arrow_column *columns, uint32_t n_columns,
                            struct lull_arrow_file *ret_file, struct lull_error *err)
{
    char *path = NULL, *shown = NULL;
    if (asprintf(&path, "%s/%s.arrow", tables->folder, name) < 0)
        path = NULL;
    if (asprintf(&shown, "%s/%s.arrow", tables->shown, name) < 0)
        shown = NULL;
    const lull_status status = path && shown
                                   ? lull_arrow_open(path, shown, columns, n_columns, tables->notes,
                                                     LULL_TABLE_NOTES, ret_file, err)
                                   : lull_tables_no_memory(tables, err);
    free(path);
    free(shown);
    return status;
}

lull_status lull_tables_no_memory(const struct lull_tables *tables, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", tables->shown);
}

/* "useful", "mpi_p2p", "disabled": of a step. */
static const char *activity_of_step(unsigned activity)
{
    if (activity == LULL_ACTIVITY_DISABLED)
        return "disabled";
    return activity == LULL_ACTIVITY_OUTSIDE ? "outside" : lull_activity_id(activity);
}

static bool make_tables(struct lull_tables *tables)
{
    const struct lull_trace *trace = tables->trace;
    snprintf(tables->numbers[0], sizeof tables->numbers[0], "%" PRId64, trace->duration);
    snprintf(tables->numbers[1], sizeof tables->numbers[1], "%" PRId64, trace->start_realtime);
    const struct lull_arrow_note notes[LULL_TABLE_NOTES] = {
        {"lull.schema", "lull-arrow/1"},
        {"lull.version", LULL_VERSION},
        {"lull.duration", tables->numbers[0]},
        {"lull.start", tables->numbers[1]},
        {"lull.simulated", lull_trace_is_simulated(trace) ? "yes" : "no"},
    };
    memcpy(tables->notes, notes, sizeof notes);
    return lull_column_words_of_regions(&tables->regions, trace) &&
           lull_column_words_of_comms(&tables->comms, trace) &&
           lull_column_words_of_objects(&tables->objects, trace) &&
           lull_column_words_add_all(&tables->activities, LULL_STEP_ACTIVITIES, activity_of_step);
}

static void free_tables(struct lull_tables *tables)
{
    lull_column_words_free(&tables->regions);
    lull_column_words_free(&tables->comms);
    lull_column_words_free(&tables->objects);
    lull_column_words_free(&tables->activities);
}

/* ==== reading ================================================================================= */

/* Each reading is a half of the work. */
struct half_of_work {
    void (*report)(void *context, double share);
    void *context;
    double done;
};

static void report_half(void *context, double share)
{
    const struct half_of_work *half = context;
    half->report(half->context, half->done + share / 2);
}

/* A format may be unable to read so many locations abreast. */
static bool can_read_abreast(const struct lull_trace *trace)
{
    return trace->n_locations <= lull_scan_most_abreast(trace);
}

static lull_status write_events(const struct lull_tables *tables, struct half_of_work *half,
                                struct lull_error *err)
{
    struct lull_event_table *table;
    lull_status status = lull_event_table_open(tables, &table, err);
    if (status != LULL_OK)
        return status;
    const struct lull_scan_options options = {.workers = 1,
                                              .application = LULL_NONE,
                                              .progress = half->report ? report_half : NULL,
                                              .progress_context = half};
    const struct lull_abreast abreast = {.visitor = lull_event_table_visitor(table)};
    status = can_read_abreast(tables->trace)
                 ? lull_scan_abreast(tables->trace, &options, &abreast, err)
                 : lull_scan(tables->trace, &options, &abreast.visitor, err);
    const lull_status closed =
        lull_event_table_close(table, status == LULL_OK, status == LULL_OK ? err : NULL);
    return status != LULL_OK ? status : closed;
}

static lull_status read_steps(const struct lull_tables *tables, struct lull_step_tables *steps,
                              struct lull_operation_tables *operations, struct half_of_work *half,
                              struct lull_error *err)
{
    const struct lull_reading reading = {.application = LULL_NONE,
                                         .workers = 1,
                                         .progress = half->report ? report_half : NULL,
                                         .progress_context = half};
    const struct lull_pass_options options = {.reading = &reading};
    struct lull_consumer consumers[] = {lull_step_tables_consumer(steps),
                                        lull_operation_tables_consumer(operations)};
    enum { CONSUMERS = sizeof consumers / sizeof *consumers };
    for (unsigned i = 0; i < CONSUMERS; i++)
        consumers[i].abreast &= can_read_abreast(tables->trace);
    return lull_pass_run(tables->trace, &options, consumers, CONSUMERS, err);
}

static lull_status write_steps(const struct lull_tables *tables, struct half_of_work *half,
                               struct lull_error *err)
{
    struct lull_step_tables *steps;
    struct lull_operation_tables *operations;
    lull_status status = lull_step_tables_open(tables, &steps, err);
    if (status != LULL_OK)
        return status;
    status = lull_operation_tables_open(tables, &operations, err);
    if (status == LULL_OK) {
        status = read_steps(tables, steps, operations, half, err);
        const lull_status closed = lull_operation_tables_close(operations, status == LULL_OK,
                                                               status == LULL_OK ? err : NULL);
        status = status != LULL_OK ? status : closed;
    }
    const lull_status closed =
        lull_step_tables_close(steps, status == LULL_OK, status == LULL_OK ? err : NULL);
    return status != LULL_OK ? status : closed;
}

/* ==== folder ================================================================================== */

static bool is_table(const char *entry)
{
    const size_t length = strlen(entry);
    for (size_t i = 0; file_names[i]; i++)
        if (length == strlen(file_names[i]) + strlen(".arrow") &&
            strncmp(entry, file_names[i], strlen(file_names[i])) == 0 &&
            strcmp(entry + strlen(file_names[i]), ".arrow") == 0)
            return true;
    return strcmp(entry, ".") == 0 || strcmp(entry, "..") == 0;
}

/* A folder is replaced only if it holds nothing but tables. */
static lull_status check_replaced(const char *path, struct lull_error *err)
{
    DIR *folder = opendir(path);
    if (!folder) /* nothing is there, or a file, of which lull_output_begin takes care */
        return LULL_OK;
    lull_status status = LULL_OK;
    for (struct dirent *entry; status == LULL_OK && (entry = readdir(folder));)
        if (!is_table(entry->d_name))
            status = lull_fail(err, LULL_ERR_IO,
                               "%s: holds '%s', which is no table, so the folder is not replaced",
                               path, entry->d_name);
    closedir(folder);
    return status;
}

static lull_status write_tables(const struct lull_trace *trace, const char *path, bool replace,
                                void (*progress)(void *context, double share),
                                void *progress_context, struct lull_error *err)
{
    struct lull_output *output;
    lull_status status = replace ? check_replaced(path, err) : LULL_OK;
    if (status == LULL_OK)
        status = lull_output_begin(path, true, replace, &output, err);
    if (status != LULL_OK)
        return status;
    struct lull_tables tables = {.trace = trace, .folder = lull_output_path(output), .shown = path};
    struct half_of_work half = {.report = progress, .context = progress_context};
    status = make_tables(&tables) ? lull_write_definition_tables(&tables, err)
                                  : lull_tables_no_memory(&tables, err);
    if (status == LULL_OK)
        status = write_events(&tables, &half, err);
    half.done = 0.5;
    if (status == LULL_OK)
        status = write_steps(&tables, &half, err);
    free_tables(&tables);
    if (status == LULL_OK)
        return lull_output_commit(output, err);
    lull_output_discard(output);
    return status;
}

const struct lull_format lull_format_arrow = {
    .name = "arrow",
    .summary = "tables of columns, for pandas, polars, duckdb",
    .write = write_tables,
};
