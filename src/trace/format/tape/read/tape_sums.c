/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of locations. The recorder updates them in place, so that a reader may see one sum that is
 * newer than another. The header, which bounds all of them, is therefore read once more at the
 * end. */
#include "trace/format/tape/read/tape_sums.h"

#include "trace/format/tape/read/tape_source.h"
#include "trace/format/tape/tape_share.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static size_t size_of_sums(const struct lull_tape_sums_header *header)
{
    return 2 * (size_t)header->regions * header->sum_size;
}

/* Checks a header before anything is allocated by what it says: the file must hold as many sums. */
static lull_status check_sums_header(const char *path, const struct lull_tape_file *file,
                                     const struct lull_tape_sums_header *header, uint64_t file_size,
                                     struct lull_error *err)
{
    if (memcmp(header->magic, LULL_TAPE_SUMS_MAGIC, sizeof header->magic) != 0 ||
        header->byte_order != LULL_TAPE_BYTE_ORDER)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: offset 0: no header of sums", path);
    const lull_status status = lull_tape_check_version(path, header->version, err);
    if (status != LULL_OK)
        return status;
    if (header->process != file->process || header->number != file->number)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: belongs to thread %u of process %u", path,
                         header->number, header->process);
    if (header->header_size != sizeof *header || header->n_counters > LULL_TAPE_MOST_COUNTERS ||
        header->has_bytes > 1 ||
        header->sum_size != sizeof(struct lull_tape_sum) +
                                (header->n_counters + header->has_bytes) * sizeof(uint64_t))
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: offset %zu: sums of %u bytes behind a header of %u, with %u counters",
                         path, offsetof(struct lull_tape_sums_header, header_size),
                         header->sum_size, header->header_size, header->n_counters);
    if (header->regions > (file_size - sizeof *header) / (2 * (uint64_t)header->sum_size))
        return lull_fail(err, LULL_ERR_FORMAT, "%s: truncated: sums of %llu regions in %llu bytes",
                         path, (unsigned long long)header->regions, (unsigned long long)file_size);
    if (header->end < header->begin)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: offset %zu: ends before it begins", path,
                         offsetof(struct lull_tape_sums_header, end));
    return LULL_OK;
}

/* Reads and checks the header of the sums. `file` is the caller's own copy, to which more parts of
 * the sums are added where these have grown. */
static lull_status read_sums_header(const struct lull_trace *trace, struct lull_tape_source *source,
                                    const char *path, struct lull_tape_file *file,
                                    struct lull_tape_sums_header *header, struct lull_error *err)
{
    struct stat info;
    ssize_t got = lull_tape_read_pieces(source, &file->sums, header, sizeof *header, 0);
    if (got < 0)
        return lull_tape_source_fail(source, path, err);
    if (!source->packed && fstat(source->fd, &info) == 0) /* it may have grown */
        source->size = (uint64_t)info.st_size;
    if (got < (ssize_t)sizeof *header)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: truncated: %lld bytes, expected a header of %zu", path,
                         (long long)got, sizeof *header);
    lull_status status = LULL_OK;
    if (size_of_sums(header) > file->sums.size - sizeof *header)
        status = lull_tape_refresh(trace, file, err);
    if (status != LULL_OK)
        return status;
    return check_sums_header(path, file, header, file->sums.size, err);
}

lull_status lull_tape_sums_life(const struct lull_trace *trace, const struct lull_tape_file *file,
                                uint64_t *ret_begin, uint64_t *ret_end, struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    struct lull_tape_sums_header header;
    struct lull_tape_file now = *file;
    struct lull_tape_source source;
    lull_status status = lull_tape_open_records(trace, file, &source, err);
    if (status != LULL_OK)
        return status;
    lull_tape_source_sparse(&source);
    lull_tape_file_path(trace, file, path, sizeof path);
    status = read_sums_header(trace, &source, path, &now, &header, err);
    lull_tape_source_close(&source);
    if (status != LULL_OK)
        return status;
    *ret_begin = header.begin;
    *ret_end = header.end;
    return LULL_OK;
}

/* ---- what is in a file ----------------------------------------------------------------------- */

struct reader {
    const struct lull_trace *trace;
    struct lull_tape_file *file; /* a copy */
    const char *path;
    struct lull_tape_sums_header header;
    unsigned char *bytes;                       /* of the sums, malloc'd */
    uint32_t counters[LULL_TAPE_MOST_COUNTERS]; /* indices of the trace */
    struct lull_arena *arena;
    struct lull_error *err;
};

static struct lull_tape_sum sum_at(const struct reader *reader, uint64_t region, unsigned parallel)
{
    struct lull_tape_sum sum;
    memcpy(&sum, reader->bytes + (region * 2 + parallel) * reader->header.sum_size, sizeof sum);
    return sum;
}

/* Counts for all counters of the trace, of which the location has some. */
static uint64_t *spread_counts(const struct reader *reader, const void *counts)
{
    const struct lull_trace *trace = reader->trace;
    uint64_t *all = lull_arena_zero(reader->arena, trace->n_counters, sizeof *all);
    for (uint32_t i = 0; i < reader->header.n_counters; i++)
        memcpy(&all[reader->counters[i]], (const unsigned char *)counts + i * sizeof *all,
               sizeof *all);
    return all;
}

static const uint64_t *counts_at(const struct reader *reader, uint64_t region, unsigned parallel)
{
    return spread_counts(reader, reader->bytes + (region * 2 + parallel) * reader->header.sum_size +
                                     sizeof(struct lull_tape_sum));
}

static lull_status match_sum_counters(struct reader *reader)
{
    const struct lull_tape_ids *ids = &reader->file->ids->maps[LULL_TAPE_MAP_COUNTER];
    for (uint32_t i = 0; i < reader->header.n_counters; i++) {
        uint32_t id = reader->header.counters[i];
        reader->counters[i] = id < ids->count ? ids->index[id] : LULL_NONE;
        if (reader->counters[i] == LULL_NONE)
            return lull_fail(reader->err, LULL_ERR_FORMAT, "%s: offset %zu: unknown counter %u",
                             reader->path, offsetof(struct lull_tape_sums_header, counters) + 4 * i,
                             id);
    }
    return LULL_OK;
}

static uint64_t bytes_at(const struct reader *reader, uint64_t region, unsigned parallel)
{
    const struct lull_tape_sums_header *header = &reader->header;
    uint64_t bytes = 0;
    if (header->has_bytes)
        memcpy(&bytes,
               reader->bytes + (region * 2 + parallel + 1) * header->sum_size - sizeof bytes,
               sizeof bytes);
    return bytes;
}

/* The rate of the clock over the whole life of a location: so many ticks are so many ns. */
struct rate {
    uint64_t ticks;
    int64_t ns;
};

static int64_t ns_by_rate(const struct rate *rate, uint64_t ticks)
{
    if (rate->ticks == 0)
        return 0;
    return (int64_t)((unsigned __int128)ticks * (uint64_t)rate->ns / rate->ticks);
}

static lull_status take_life(const struct reader *reader, struct lull_sums *sums,
                             struct rate *ret_rate)
{
    const struct lull_tape_data *data = reader->trace->format_data;
    const struct lull_tape_scope *clock = reader->file->clock;
    const struct lull_tape_sums_header *header = &reader->header;
    uint64_t begin = header->begin, end = header->end;
    if (clock->n_segments > 0) {
        size_t segment = 0;
        begin = (uint64_t)lull_tape_ns(clock, begin, &segment);
        end = (uint64_t)lull_tape_ns(clock, end, &segment);
    }
    sums->begin = (int64_t)(begin - (uint64_t)data->origin);
    sums->end = (int64_t)(end - (uint64_t)data->origin);
    if (header->begin == 0 && header->end == 0) /* the process died before the thread began */
        sums->begin = sums->end = 0;
    const bool in_order = sums->begin >= 0 && sums->begin <= sums->end;
    /* The sums of a killed program end a little later than its events, and a thread may have begun
     * behind them. The length of the run is measured by sums only where these go on after the
     * events. */
    const int64_t duration = reader->trace->duration;
    if ((reader->trace->events == LULL_EVENTS_ALL || !lull_tape_sums_go_on(reader->file)) &&
        in_order && sums->end > duration) {
        sums->end = duration;
        sums->begin = sums->begin < duration ? sums->begin : duration;
    }
    if (!in_order || sums->end > duration)
        return lull_fail(reader->err, LULL_ERR_FORMAT,
                         "%s: a life from %lld to %lld ns does not lie in the run of %lld ns",
                         reader->path, (long long)sums->begin, (long long)sums->end,
                         (long long)duration);
    *ret_rate = (struct rate){header->end - header->begin, sums->end - sums->begin};
    return LULL_OK;
}

/* The sum of all times in ticks; UINT64_MAX where it does not fit into 64 bits. */
static uint64_t total_ticks(const struct reader *reader)
{
    const struct lull_tape_sums_header *header = &reader->header;
    uint64_t total = header->paused;
    bool over = __builtin_add_overflow(total, header->absent, &total);
    for (unsigned parallel = 0; parallel < 2; parallel++) {
        over |= __builtin_add_overflow(total, header->flushing[parallel], &total);
        for (uint64_t r = 0; r < header->regions; r++)
            over |= __builtin_add_overflow(total, sum_at(reader, r, parallel).ticks, &total);
    }
    return over ? UINT64_MAX : total;
}

static uint32_t count_regions(const struct reader *reader)
{
    uint32_t n = 0;
    for (uint64_t r = 0; r < reader->header.regions; r++) {
        struct lull_tape_sum out = sum_at(reader, r, 0), in = sum_at(reader, r, 1);
        n += (out.visits | out.ticks | in.visits | in.ticks) != 0;
    }
    return n;
}

static lull_status take_regions(const struct reader *reader, const struct rate *rate,
                                struct lull_sums *sums)
{
    const struct lull_tape_ids *ids = &reader->file->ids->maps[LULL_TAPE_MAP_REGION];
    sums->regions = lull_arena_zero(reader->arena, count_regions(reader), sizeof *sums->regions);
    for (uint64_t r = 0; r < reader->header.regions; r++) {
        struct lull_tape_sum parts[2] = {sum_at(reader, r, 0), sum_at(reader, r, 1)};
        if (!(parts[0].visits | parts[0].ticks | parts[1].visits | parts[1].ticks))
            continue;
        if (r >= ids->count || ids->index[r] == LULL_NONE)
            return lull_fail(
                reader->err, LULL_ERR_FORMAT, "%s: offset %llu: unknown region %llu", reader->path,
                (unsigned long long)(sizeof reader->header + r * 2 * reader->header.sum_size),
                (unsigned long long)r);
        struct lull_region_sum *sum = &sums->regions[sums->n_regions++];
        sum->region = ids->index[r];
        for (unsigned parallel = 0; parallel < 2; parallel++) {
            sum->visits[parallel] = parts[parallel].visits;
            sum->ns[parallel] = ns_by_rate(rate, parts[parallel].ticks);
            sum->counts[parallel] = counts_at(reader, r, parallel);
            sum->bytes += bytes_at(reader, r, parallel);
            sums->outside -= sum->ns[parallel];
        }
    }
    return LULL_OK;
}

/* Takes all sums. Each time is rounded down, so that what is left for `outside` is never
 * negative. */
static lull_status take_all(struct reader *reader, struct lull_sums *sums)
{
    const struct lull_tape_sums_header *header = &reader->header;
    struct rate rate;
    lull_status status = match_sum_counters(reader);
    if (status == LULL_OK)
        status = take_life(reader, sums, &rate);
    if (status != LULL_OK)
        return status;
    if (total_ticks(reader) > rate.ticks)
        return lull_fail(reader->err, LULL_ERR_FORMAT,
                         "%s: its times add up to more than the %llu ticks of the thread's life",
                         reader->path, (unsigned long long)rate.ticks);
    sums->paused = ns_by_rate(&rate, header->paused);
    sums->absent = ns_by_rate(&rate, header->absent);
    sums->flush[0] = ns_by_rate(&rate, header->flushing[0]);
    sums->flush[1] = ns_by_rate(&rate, header->flushing[1]);
    sums->outside = rate.ns - sums->paused - sums->absent - sums->flush[0] - sums->flush[1];
    sums->counts_outside = spread_counts(reader, header->counted);
    return take_regions(reader, &rate, sums);
}

static lull_status read_sums(struct lull_tape_source *source, struct reader *reader)
{
    lull_status status = read_sums_header(reader->trace, source, reader->path, reader->file,
                                          &reader->header, reader->err);
    if (status != LULL_OK)
        return status;
    size_t size = size_of_sums(&reader->header);
    uint64_t regions = reader->header.regions;
    reader->bytes = malloc(size + 1);
    if (!reader->bytes)
        return lull_fail(reader->err, LULL_ERR_MEMORY, "%s: out of memory", reader->path);
    ssize_t got = lull_tape_read_pieces(source, &reader->file->sums, reader->bytes, size,
                                        sizeof reader->header);
    if (got < 0)
        return lull_tape_source_fail(source, reader->path, reader->err);
    if ((size_t)got < size)
        return lull_fail(reader->err, LULL_ERR_FORMAT, "%s: truncated since it was opened",
                         reader->path);
    status = read_sums_header(reader->trace, source, reader->path, reader->file, &reader->header,
                              reader->err);
    reader->header.regions = regions;
    return status;
}

lull_status lull_tape_read_sums(const struct lull_trace *trace, uint32_t location,
                                struct lull_arena *arena, struct lull_sums *ret_sums,
                                struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    lull_status status = lull_tape_need(trace, location, err);
    if (status != LULL_OK)
        return status;
    char path[LULL_TAPE_PATH];
    struct lull_tape_file now = data->files[location];
    struct reader reader = {.trace = trace, .file = &now, .arena = arena, .err = err};
    reader.path = lull_tape_file_path(trace, &now, path, sizeof path);
    struct lull_tape_source source;
    status = lull_tape_open_records(trace, &now, &source, err);
    if (status != LULL_OK)
        return status;
    status = read_sums(&source, &reader);
    lull_tape_source_close(&source);
    struct lull_sums sums = {0};
    if (status == LULL_OK)
        status = take_all(&reader, &sums);
    free(reader.bytes);
    if (status == LULL_OK)
        *ret_sums = sums;
    return status;
}
