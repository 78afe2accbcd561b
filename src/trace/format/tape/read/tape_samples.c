/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples of locations. The recorder changes them in place: while the run is being recorded, a reader
 * may see a state that is older than the samples. */
#include "trace/format/tape/read/tape_samples.h"

#include "trace/format/tape/read/tape_source.h"
#include "trace/format/tape/tape_share.h"

#include <stdlib.h>
#include <string.h>

/* SAMPLES_IN_SIGHT: samples that are read at once. MOST_SAMPLE_SIZE: newer tapes may hold more of
 * each than this lull knows. */
enum { SAMPLES_IN_SIGHT = 64, MOST_SAMPLE_SIZE = 256 };

struct tape_samples {
    const struct lull_trace *trace;
    const struct lull_tape_file *file;
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
    if (header->header_size < sizeof *header || header->header_size > size ||
        header->sample_size < sizeof(struct lull_tape_sample) ||
        header->sample_size > MOST_SAMPLE_SIZE || header->sample_size % sizeof(uint64_t) != 0)
        return "sizes of a header or of samples that cannot be";
    if (n > (size - header->header_size) / header->sample_size || 2 * kept > n + 1)
        return "more samples than there is room for";
    if (header->source >= LULL_TAPE_SAMPLE_SOURCES || header->interval == 0 ||
        header->last_interval < header->interval || header->last_interval > INT64_MAX)
        return "an interval or a source that cannot be";
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
    const char *wrong = got < (ssize_t)sizeof *ret_header ? "the header of samples is cut short"
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
                              struct lull_event *event)
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
    const ssize_t got =
        count == 0
            ? 0
            : lull_tape_read_pieces(source, &samples->file->samples, bytes, (size_t)count * size,
                                    samples->header.header_size + samples->next * size);
    return got < 0 ? 0 : (size_t)got / size;
}

static void see_more_samples(struct tape_samples *samples)
{
    unsigned char bytes[SAMPLES_IN_SIGHT * MOST_SAMPLE_SIZE];
    struct lull_tape_source source;
    struct lull_error ignored;
    samples->at = samples->in_sight = 0;
    if (lull_tape_open_records(samples->trace, samples->file, &source, &ignored) != LULL_OK)
        return;
    for (size_t n = 1; samples->in_sight == 0 && n > 0;) {
        n = read_neighbours(samples, &source, bytes);
        samples->next += n;
        for (size_t i = 0; i < n; i++) {
            struct lull_tape_sample sample;
            memcpy(&sample, bytes + i * samples->header.sample_size, sizeof sample);
            samples->in_sight +=
                make_sample_event(samples, &sample, &samples->events[samples->in_sight]);
        }
    }
    lull_tape_source_close(&source);
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
