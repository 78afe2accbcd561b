/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples of locations. The recorder changes them in place: while the run is being recorded, a reader
 * may see a state that is older than the samples. */
#include "trace/format/tape/read/tape_samples.h"

#include "trace/format/tape/tape_share.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* SAMPLES_IN_SIGHT: samples that are read at once, or as many as fit into SAMPLES_PART bytes.
 * MOST_SAMPLE_SIZE: newer tapes may hold more of each than this lull knows. */
enum { SAMPLES_IN_SIGHT = 64, SAMPLES_PART = 16384, MOST_SAMPLE_SIZE = 1024 };
/* Headers of older tapes end in front of `fields`. */
enum { LEAST_HEADER = offsetof(struct lull_tape_samples_header, fields) };

struct tape_samples {
    const struct lull_trace *trace;
    const struct lull_tape_file *file;
    struct lull_tape_source *source; /* NULL: the file is opened for each part */
    struct lull_tape_samples_header header;
    uint64_t kept, n, next; /* as in the state of the header; index of the next one to be read */
    struct lull_event events[SAMPLES_IN_SIGHT];
    size_t at, in_sight;
    size_t segment; /* of the clock */
    int64_t last;   /* ns, of the last event */
};

/* ---- the header ------------------------------------------------------------------------------ */

/* What is wrong with a header; NULL: nothing. */
static const char *wrong_in_header(const struct lull_tape_samples_header *header,
                                   const struct lull_tape_file *file)
{
    const uint64_t size = file->samples.size;
    const uint64_t n = header->state & UINT32_MAX, kept = header->state >> 32;
    if (memcmp(header->magic, LULL_TAPE_SAMPLES_MAGIC, sizeof header->magic) != 0 ||
        header->byte_order != LULL_TAPE_BYTE_ORDER)
        return "no header of samples";
    if (header->process != file->process || header->number != file->number)
        return "the samples are those of another location";
    if (header->header_size < LEAST_HEADER || header->header_size > size ||
        header->header_size % sizeof(uint64_t) != 0 ||
        header->sample_size < sizeof(struct lull_tape_sample) ||
        header->sample_size > MOST_SAMPLE_SIZE || header->sample_size % sizeof(uint64_t) != 0)
        return "sizes of a header or of samples that cannot be";
    if (n > (size - header->header_size) / header->sample_size || 2 * kept > n + 1)
        return "more samples than there is room for";
    if (header->source >= LULL_TAPE_SAMPLE_SOURCES || header->interval == 0 ||
        header->last_interval < header->interval || header->last_interval > INT64_MAX)
        return "an interval or a source that cannot be";
    if (header->fields & LULL_TAPE_SAMPLE_COUNTS &&
        header->sample_size <
            sizeof(struct lull_tape_sample) + sizeof(struct lull_tape_sample_counts))
        return "samples that are too small for what they hold";
    return NULL;
}

static bool is_empty(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    while (size > 0 && *at == 0)
        at++, size--;
    return size == 0;
}

static void note_bad_samples(const struct lull_trace *trace, const struct lull_tape_file *file,
                             const char *what)
{
    char path[LULL_TAPE_PATH];
    lull_trace_add_quirk(trace, "the samples of a location are damaged, and left out",
                         "%s: offset %llu: %s", lull_tape_file_path(trace, file, path, sizeof path),
                         (unsigned long long)lull_tape_place_in(&file->samples, 0), what);
}

/* Reads the header. *ret_has false: there are no samples, or they are damaged. */
static lull_status read_samples_header(const struct lull_trace *trace, uint32_t location,
                                       struct lull_tape_source *source,
                                       struct lull_tape_samples_header *ret_header, bool *ret_has,
                                       struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    const struct lull_tape_file *file = &data->files[location];
    char path[LULL_TAPE_PATH];
    *ret_has = false;
    const ssize_t got =
        lull_tape_read_pieces(source, &file->samples, ret_header, sizeof *ret_header, 0);
    if (got < 0)
        return lull_tape_source_fail(source, lull_tape_file_path(trace, file, path, sizeof path),
                                     err);
    if (is_empty(ret_header, (size_t)got))
        return LULL_OK; /* the process died before it had filled the header */
    if (got < (ssize_t)sizeof *ret_header || ret_header->header_size < sizeof *ret_header)
        ret_header->fields = 0;
    const char *wrong = got < LEAST_HEADER ? "the header of samples is cut short"
                                           : wrong_in_header(ret_header, file);
    *ret_has = !wrong;
    if (wrong)
        note_bad_samples(trace, file, wrong);
    return LULL_OK;
}

static bool has_samples_part(const struct lull_tape_file *file)
{
    return file->samples.n > 0 && !file->left_out && !file->damage;
}

/* The same of a location's file, which is opened for it. */
static lull_status find_samples_header(const struct lull_trace *trace, uint32_t location,
                                       struct lull_tape_samples_header *ret_header, bool *ret_has,
                                       struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    struct lull_tape_source source;
    *ret_has = false;
    if (!has_samples_part(&data->files[location]))
        return LULL_OK;
    lull_status status = lull_tape_open_records(trace, &data->files[location], &source, err);
    if (status != LULL_OK)
        return status;
    status = read_samples_header(trace, location, &source, ret_header, ret_has, err);
    lull_tape_source_close(&source);
    return status;
}

lull_status lull_tape_read_sampling(const struct lull_trace *trace, uint32_t location,
                                    struct lull_sampling *ret_sampling, struct lull_error *err)
{
    static const uint8_t ways[LULL_TAPE_SAMPLE_SOURCES] = {
        [LULL_TAPE_SAMPLES_REFUSED] = LULL_SAMPLES_REFUSED,
        [LULL_TAPE_SAMPLES_PERF] = LULL_SAMPLES_PERF,
        [LULL_TAPE_SAMPLES_TIMER] = LULL_SAMPLES_TIMER,
        [LULL_TAPE_SAMPLES_FAKE] = LULL_SAMPLES_FAKE};
    struct lull_tape_samples_header header;
    bool has = false;
    *ret_sampling = (struct lull_sampling){.way = LULL_SAMPLES_NONE};
    lull_status status = lull_tape_need(trace, location, err);
    if (status == LULL_OK)
        status = find_samples_header(trace, location, &header, &has, err);
    if (status != LULL_OK || !has)
        return status;
    const uint64_t n = header.state & UINT32_MAX, kept = header.state >> 32;
    *ret_sampling = (struct lull_sampling){.way = ways[header.source],
                                           .refused = header.refused,
                                           .interval = (int64_t)header.interval,
                                           .last_interval = (int64_t)header.last_interval,
                                           .kept = n - kept,
                                           .taken = header.taken,
                                           .lost = header.lost};
    return LULL_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* An event of a sample; false: it does not lie in the run, or is older than the one before, as
 * where the recorder has thinned the samples meanwhile. */
static bool make_sample_event(struct tape_samples *samples, const struct lull_tape_sample *sample,
                              uint64_t number, struct lull_event *event)
{
    const struct lull_tape_data *data = samples->trace->format_data;
    const struct lull_tape_scope *clock = samples->file->clock;
    const struct lull_tape_ids *objects = &samples->file->ids->maps[LULL_TAPE_MAP_OBJECT];
    const uint64_t object = sample->place >> 40;
    const uint64_t ns = clock->n_segments > 0
                            ? (uint64_t)lull_tape_ns(clock, sample->time, &samples->segment)
                            : sample->time;
    *event =
        (struct lull_event){.time = (int64_t)(ns - (uint64_t)data->origin),
                            .kind = LULL_EVENT_SAMPLE,
                            .id = object < objects->count ? objects->index[object] : LULL_NONE};
    event->sample.offset = event->id == LULL_NONE ? 0 : sample->place & LULL_TAPE_OFFSET_MASK;
    event->sample.weight = sample->weight;
    event->sample.number = number;
    if (event->time < samples->last || event->time > samples->trace->duration ||
        sample->weight > INT64_MAX)
        return false;
    samples->last = event->time;
    return true;
}

/* Reads the next samples into `bytes`: those that stand beside each other. Returns how many. */
static size_t read_neighbours(struct tape_samples *samples, struct lull_tape_source *source,
                              unsigned char *bytes)
{
    const size_t size = samples->header.sample_size;
    if (samples->next == samples->kept && samples->kept > 0)
        samples->next *= 2;
    const uint64_t end = samples->next < samples->kept ? samples->kept : samples->n;
    uint64_t count = samples->next < end ? end - samples->next : 0;
    count = count < SAMPLES_IN_SIGHT ? count : SAMPLES_IN_SIGHT;
    count = count < SAMPLES_PART / size ? count : SAMPLES_PART / size;
    const ssize_t got =
        count == 0
            ? 0
            : lull_tape_read_pieces(source, &samples->file->samples, bytes, (size_t)count * size,
                                    samples->header.header_size + samples->next * size);
    return got < 0 ? 0 : (size_t)got / size;
}

static void see_more_samples(struct tape_samples *samples)
{
    unsigned char bytes[SAMPLES_PART];
    struct lull_tape_source opened = {.fd = -1},
                            *source = samples->source ? samples->source : &opened;
    struct lull_error ignored;
    samples->at = samples->in_sight = 0;
    if (!samples->source &&
        lull_tape_open_records(samples->trace, samples->file, &opened, &ignored) != LULL_OK)
        return;
    for (size_t n = 1; samples->in_sight == 0 && n > 0;) {
        n = read_neighbours(samples, source, bytes);
        for (size_t i = 0; i < n; i++) {
            struct lull_tape_sample sample;
            memcpy(&sample, bytes + i * samples->header.sample_size, sizeof sample);
            samples->in_sight += make_sample_event(samples, &sample, samples->next + i,
                                                   &samples->events[samples->in_sight]);
        }
        samples->next += n;
    }
    if (!samples->source)
        lull_tape_source_close(&opened);
}

const struct lull_event *lull_tape_samples_next(struct tape_samples *samples)
{
    if (samples->at == samples->in_sight)
        see_more_samples(samples);
    return samples->at < samples->in_sight ? &samples->events[samples->at] : NULL;
}

void lull_tape_samples_take(struct tape_samples *samples)
{
    samples->at++;
}

lull_status lull_tape_samples_open(const struct lull_trace *trace, uint32_t location,
                                   struct lull_tape_source *source,
                                   struct tape_samples **ret_samples, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    struct tape_samples *samples = NULL;
    struct lull_tape_samples_header header;
    bool has = false;
    *ret_samples = NULL;
    const lull_status status = find_samples_header(trace, location, &header, &has, err);
    if (status != LULL_OK || !has)
        return status;
    samples = calloc(1, sizeof *samples);
    if (!samples)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    samples->trace = trace;
    samples->file = &data->files[location];
    samples->source = source;
    samples->header = header;
    samples->n = header.state & UINT32_MAX;
    samples->kept = header.state >> 32;
    *ret_samples = samples;
    return LULL_OK;
}

void lull_tape_samples_close(struct tape_samples *samples)
{
    free(samples);
}

/* ---- what samples have more ------------------------------------------------------------------ */

/* A part of the samples is in memory. */
struct lull_sample_details {
    const struct lull_trace *trace;
    const struct lull_tape_file *file;
    struct lull_tape_samples_header header;
    struct lull_tape_source source;
    uint64_t first, n; /* numbers of those in memory */
    struct lull_stack_word words[MOST_SAMPLE_SIZE / sizeof(uint64_t)];
    unsigned char bytes[SAMPLES_PART];
};

lull_status lull_tape_details_open(const struct lull_trace *trace, uint32_t location,
                                   struct lull_sample_details **ret_details, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    struct lull_tape_samples_header header = {.fields = 0};
    bool has = false;
    *ret_details = NULL;
    lull_status status = lull_tape_need(trace, location, err);
    if (status == LULL_OK)
        status = find_samples_header(trace, location, &header, &has, err);
    if (status != LULL_OK || !has || header.fields == 0)
        return status;
    struct lull_sample_details *details = calloc(1, sizeof *details);
    if (!details)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    details->trace = trace;
    details->file = &data->files[location];
    details->header = header;
    status = lull_tape_open_records(trace, details->file, &details->source, err);
    if (status == LULL_OK)
        *ret_details = details;
    else
        free(details);
    return status;
}

/* The sample with that number, in memory; NULL: the file does not have it. */
static const unsigned char *see_sample(struct lull_sample_details *details, uint64_t number)
{
    const size_t size = details->header.sample_size;
    if (number < details->first || number >= details->first + details->n) {
        const uint64_t n = details->header.state & UINT32_MAX;
        uint64_t count = number < n ? n - number : 0;
        count = count < SAMPLES_PART / size ? count : SAMPLES_PART / size;
        const ssize_t got =
            count == 0 ? 0
                       : lull_tape_read_pieces(&details->source, &details->file->samples,
                                               details->bytes, (size_t)count * size,
                                               details->header.header_size + number * size);
        details->first = number;
        details->n = got < 0 ? 0 : (uint64_t)got / size;
    }
    return number < details->first + details->n ? details->bytes + (number - details->first) * size
                                                : NULL;
}

/* A word that names an object that is not defined is left out. */
static uint32_t read_stack_words(struct lull_sample_details *details, const unsigned char *bytes,
                                 size_t n)
{
    const struct lull_tape_ids *objects = &details->file->ids->maps[LULL_TAPE_MAP_OBJECT];
    uint32_t count = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t word;
        memcpy(&word, bytes + i * sizeof word, sizeof word);
        if (word == 0)
            break;
        const uint64_t object = word >> LULL_TAPE_STACK_OFFSET_BITS & LULL_TAPE_IN_STACK;
        struct lull_stack_word read = {
            .slot = (uint32_t)(word >> 52),
            .object = object < objects->count ? objects->index[object] : LULL_NONE,
            .offset = word & ((UINT64_C(1) << LULL_TAPE_STACK_OFFSET_BITS) - 1)};
        if (object == LULL_TAPE_IN_STACK || read.object != LULL_NONE)
            details->words[count++] = read;
    }
    return count;
}

lull_status lull_tape_detail_read(struct lull_sample_details *details, uint64_t number,
                                  struct lull_sample_detail *ret_detail, struct lull_error *err)
{
    static_assert(LULL_STACK_FRAME == LULL_TAPE_STACK_FRAME &&
                      LULL_STACK_LINK == LULL_TAPE_STACK_LINK,
                  "numbers of registers");
    const struct lull_tape_samples_header *header = &details->header;
    const unsigned char *bytes = see_sample(details, number);
    char path[LULL_TAPE_PATH];
    if (!bytes)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: sample %llu cannot be read",
                         lull_tape_file_path(details->trace, details->file, path, sizeof path),
                         (unsigned long long)number);
    size_t at = sizeof(struct lull_tape_sample);
    struct lull_sample_detail detail = {.stack = details->words};
    if (header->fields & LULL_TAPE_SAMPLE_COUNTS) {
        struct lull_tape_sample_counts counts;
        memcpy(&counts, bytes + at, sizeof counts);
        at += sizeof counts;
        detail.counted = true;
        detail.instructions = counts.instructions;
        detail.cycles = counts.cycles;
    }
    if (header->fields & LULL_TAPE_SAMPLE_STACK)
        detail.n_stack =
            read_stack_words(details, bytes + at, (header->sample_size - at) / sizeof(uint64_t));
    *ret_detail = detail;
    return LULL_OK;
}

void lull_tape_details_close(struct lull_sample_details *details)
{
    lull_tape_source_close(&details->source);
    free(details);
}
