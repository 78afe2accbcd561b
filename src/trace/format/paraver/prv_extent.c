/* SPDX-License-Identifier: BSD-3-Clause */
/* When the run ends. The header says it, and nearly always truly; where records go on behind that,
 * the records decide. The last lines of the file tell whether they do. Only then is the whole file
 * read for the latest of all times, because a state may begin early and end last. Internal to the
 * Paraver format. */
#include "base/parallel.h"
#include "trace/byte_source.h"
#include "trace/format/paraver/prv_records.h"

#include <inttypes.h>
#include <stdlib.h>

/* 1e9 s in ns, about 30 years. Times behind it do not come from a run: a record is damaged. */
#define LONGEST_RUN (INT64_C(1000000000) * 1000000000)

/* ---- the last lines -------------------------------------------------------------------------- */

/* Which fields of a line are times, by the kind of the line; bit f stands for field f. */
static uint32_t time_fields(uint8_t kind)
{
    switch (kind) {
    case '1':
        return 1u << 5 | 1u << 6;
    case '2':
        return 1u << 5;
    case '3':
        return 1u << 5 | 1u << 6 | 1u << 11 | 1u << 12;
    default:
        return 0;
    }
}

static void widen_to(int64_t *last, uint64_t ticks, uint64_t scale)
{
    if (ticks <= (uint64_t)LONGEST_RUN / scale && (int64_t)(ticks * scale) > *last)
        *last = (int64_t)(ticks * scale);
}

/* Looks at the times of a line, as far as it can be read. */
static void look_at_line(const uint8_t *at, uint64_t scale, int64_t *last)
{
    uint64_t value;
    const uint32_t times = time_fields(*at);
    for (unsigned field = 0; times >> field && lull_prv_number(&at, &value); field++, at++) {
        if (times >> field & 1)
            widen_to(last, value, scale);
        if (*at != ':')
            return;
    }
}

/* Looks at the lines of a chunk that begin behind a line end. */
static void look_at_chunk(const uint8_t *at, const uint8_t *end, uint64_t scale, int64_t *last)
{
    while ((at = memchr(at, '\n', (size_t)(end - at))) && ++at < end)
        look_at_line(at, scale, last);
}

/* Finds the latest time in the last one or two chunks of the file. Of a compressed file all is
 * inflated for that. */
static lull_status look_at_end(const struct lull_trace *trace, uint8_t *memory[2],
                               int64_t *ret_last, struct lull_error *err)
{
    const struct lull_paraver *paraver = trace->format_data;
    uint64_t offset = paraver->records_offset - 1; /* the line end before the first record */
    if (!paraver->gzip && paraver->file_size > offset + 2 * LULL_BYTE_SOURCE_CHUNK)
        offset = paraver->file_size - 2 * LULL_BYTE_SOURCE_CHUNK;
    struct lull_byte_source *source;
    size_t size[2] = {0, 0}, got = 1;
    unsigned turn = 0;
    lull_status status = lull_byte_source_open(trace, trace->path, offset, true, &source, err);
    if (status != LULL_OK)
        return status;
    while (status == LULL_OK && got > 0) {
        status = lull_byte_source_next(source, &memory[turn], &got, err);
        if (status == LULL_OK && got > 0) {
            size[turn] = got;
            turn ^= 1;
        }
    }
    lull_byte_source_close(source);
    for (int i = 0; status == LULL_OK && i < 2; i++) {
        uint8_t *begin = memory[i] + LULL_BYTE_SOURCE_HEAD;
        memset(begin + size[i], '\n', LULL_BYTE_SOURCE_PAD);
        look_at_chunk(begin, begin + size[i], paraver->ticks_to_ns, ret_last);
    }
    return status;
}

/* ---- all lines ------------------------------------------------------------------------------- */

struct latest {
    const struct lull_trace *trace;
    int64_t time;
};

static lull_status take_times(void *context, const struct lull_prv_batch *batch, double share,
                              struct lull_error *err)
{
    struct latest *latest = context;
    (void)share;
    for (size_t i = 0; i < batch->n_items; i++) {
        const struct lull_prv_item *item = &batch->items[i];
        int64_t time = item->kind == LULL_PRV_STATE_ITEM ? item->end : item->time;
        if (item->kind == LULL_PRV_BAD_ITEM)
            return lull_prv_bad_batch(latest->trace, batch, batch->line + item->line, err);
        if (item->location != LULL_NONE && time <= LONGEST_RUN && time > latest->time)
            latest->time = time;
    }
    for (size_t i = 0; i < batch->n_halves; i++)
        if (batch->halves[i].time <= LONGEST_RUN && batch->halves[i].time > latest->time)
            latest->time = batch->halves[i].time;
    return LULL_OK;
}

static lull_status find_latest(struct lull_trace *trace, int64_t *ret_latest,
                               struct lull_error *err)
{
    const struct lull_paraver *paraver = trace->format_data;
    const int64_t duration = trace->duration;
    struct latest latest = {.trace = trace, .time = duration};
    uint8_t *needs = calloc((size_t)paraver->types.n_types + 1, 1); /* LULL_PRV_NEED_NOTHING */
    if (!needs)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    const struct lull_prv_wish wish = {
        .types = &paraver->types, .needs = needs, .states = true, .events = true, .messages = true};
    trace->duration = INT64_MAX / 2; /* so that no time is cut */
    lull_status status =
        lull_prv_pipe_run(trace, true, lull_worker_count(), &wish, take_times, &latest, err);
    trace->duration = duration;
    free(needs);
    *ret_latest = latest.time;
    return status;
}

lull_status lull_prv_find_end(struct lull_trace *trace, struct lull_error *err)
{
    uint8_t *memory[2] = {lull_byte_source_memory(), lull_byte_source_memory()};
    int64_t last = 0;
    lull_status status = memory[0] && memory[1]
                             ? look_at_end(trace, memory, &last, err)
                             : lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    free(memory[0]);
    free(memory[1]);
    if (status != LULL_OK || last <= trace->duration)
        return status;
    status = find_latest(trace, &last, err);
    if (status != LULL_OK)
        return status;
    lull_trace_add_quirk(trace,
                         "records go on behind the end of the run by the header; the run ends with "
                         "the last of them",
                         "the header ends it at %" PRId64 " ns, the records at %" PRId64 " ns",
                         trace->duration, last);
    trace->duration = last;
    return LULL_OK;
}
