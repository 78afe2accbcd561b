/* Paraver traces (.prv, .prv.gz, with .pcf and .row): Extrae's and others'. */
#include "trace/format/paraver/paraver.h"

#include <stdlib.h>
#include <string.h>

static bool recognise_paraver(const struct lull_candidate *candidate)
{
    return !candidate->directory && candidate->head_size >= 8 &&
           memcmp(candidate->head, "#Paraver", 8) == 0;
}

static lull_status open_trace(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_paraver *paraver = lull_arena_zero(trace->arena, 1, sizeof *paraver);
    struct lull_prv_sample sample = {0};
    struct lull_prv_labels labels = {0};
    trace->format_data = paraver;
    lull_status status = lull_prv_read_header(trace, paraver, &sample, err);
    if (status == LULL_OK) {
        lull_prv_read_pcf(trace, &labels);
        lull_prv_read_row(trace);
        status = lull_prv_build_types(trace, paraver, &labels, &sample)
                     ? lull_trace_complete(trace, err)
                     : lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    }
    free(sample.types);
    return status;
}

static void close_trace(struct lull_trace *trace)
{
    struct lull_paraver *paraver = trace->format_data;
    if (paraver)
        lull_hash_free(&paraver->types.by_number);
}

static const struct lull_reader reader_paraver = {
    .expected = "a Paraver trace",
    .recognise = recognise_paraver,
    .open = open_trace,
    .close = close_trace,
    .drive = lull_prv_drive,
};

const struct lull_format lull_format_paraver = {
    .name = "paraver",
    .summary = "Paraver trace (.prv, .prv.gz, with .pcf and .row)",
    .reader = &reader_paraver,
    .writer_open = lull_prv_writer_open,
};
