/* SPDX-License-Identifier: BSD-3-Clause */
/* Life of a trace: creation, recognition and opening, quirks, release. */
#include "trace/open_trace.h"

#include "base/file.h"
#include "base/output_file.h"
#include "trace/format.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* ==== trace =================================================================================== */

void lull_copy_discard(struct lull_copy *copy)
{
    lull_trace_close(copy->trace);
    lull_output_discard(copy->output);
    *copy = (struct lull_copy){0};
}

struct lull_trace *lull_trace_create(void)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_trace *trace = lull_arena_zero(arena, 1, sizeof *trace);
    trace->arena = arena;
    trace->path = "";
    trace->producer = "";
    trace->clock_resolution = 1;
    trace->clock_error = -1;
    trace->n_applications = 1;
    trace->shared = lull_arena_zero(arena, 1, sizeof *trace->shared);
    pthread_mutex_init(&trace->shared->lock, NULL);
    pthread_mutex_init(&trace->shared->copy_lock, NULL);
    return trace;
}

void lull_trace_close(struct lull_trace *trace)
{
    if (!trace)
        return;
    struct lull_trace_shared *shared = trace->shared;
    lull_copy_discard(&shared->part);
    lull_copy_discard(&shared->whole);
    const struct lull_reader *reader = trace->format ? trace->format->reader : NULL;
    if (reader && reader->close)
        reader->close(trace);
    free(shared->left_out);
    pthread_mutex_destroy(&shared->copy_lock);
    pthread_mutex_destroy(&shared->lock);
    lull_arena_destroy(trace->arena);
}

static size_t inflate_head(const uint8_t *packed, size_t size, uint8_t *head)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)packed,
                       .avail_in = (uInt)size,
                       .next_out = head,
                       .avail_out = LULL_HEAD_SIZE};
    if (inflateInit2(&stream, 15 + 16) != Z_OK)
        return 0;
    /* Members may be empty: the next one is looked at then. */
    while (inflate(&stream, Z_SYNC_FLUSH) == Z_STREAM_END && stream.avail_out > 0 &&
           stream.avail_in > 0 && inflateReset(&stream) == Z_OK)
        continue;
    inflateEnd(&stream);
    return LULL_HEAD_SIZE - stream.avail_out;
}

static const struct lull_format *recognise_format(const struct lull_candidate *candidate)
{
    for (int i = 0; lull_formats[i]; i++) {
        const struct lull_reader *reader = lull_formats[i]->reader;
        if (reader && reader->recognise(candidate))
            return lull_formats[i];
    }
    return NULL;
}

/* "a lull tape, an OTF2 archive or a Paraver trace" */
static void list_expected(char *text, size_t size)
{
    size_t count = 0, length = 0, left;
    for (int i = 0; lull_formats[i]; i++)
        count += lull_formats[i]->reader != NULL;
    left = count;
    for (int i = 0; lull_formats[i] && length < size; i++) {
        if (!lull_formats[i]->reader)
            continue;
        const char *before = left == count ? "" : left > 1 ? ", " : " or ";
        length += (size_t)snprintf(text + length, size - length, "%s%s", before,
                                   lull_formats[i]->reader->expected);
        left--;
    }
}

lull_status lull_candidate_read(const char *path, struct lull_head *head,
                                struct lull_candidate *ret_candidate, struct lull_error *err)
{
    struct lull_candidate candidate = {
        .path = path, .directory = lull_is_directory(path), .head = head->raw};
    if (!candidate.directory) {
        lull_status status =
            lull_read_head(path, head->raw, sizeof head->raw, &candidate.head_size, err);
        if (status != LULL_OK)
            return status;
        if (candidate.head_size == 0)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: file is empty, expected a trace", path);
        candidate.gzip = candidate.head_size > 2 && head->raw[0] == 0x1f && head->raw[1] == 0x8b;
        if (candidate.gzip) {
            candidate.head_size = inflate_head(head->raw, candidate.head_size, head->inflated);
            candidate.head = head->inflated;
        }
    }
    *ret_candidate = candidate;
    return LULL_OK;
}

lull_status lull_trace_recognise(const char *path, const struct lull_format **ret_format,
                                 struct lull_error *err)
{
    struct lull_head head;
    struct lull_candidate candidate;
    lull_status status = lull_candidate_read(path, &head, &candidate, err);
    if (status != LULL_OK)
        return status;
    const struct lull_format *format = recognise_format(&candidate);
    if (!format) {
        char expected[256];
        list_expected(expected, sizeof expected);
        return lull_fail(err, LULL_ERR_FORMAT, "%s: not recognised, expected %s", path, expected);
    }
    *ret_format = format;
    return LULL_OK;
}

static lull_status open_run(const char *path, bool live, const struct lull_exchange *exchange,
                            struct lull_trace **ret_trace, struct lull_error *err)
{
    const struct lull_format *format;
    lull_status status = lull_trace_recognise(path, &format, err);
    if (status != LULL_OK)
        return status;
    if (live && !format->reader->stream_state)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: is %s, expected a run that lull record writes", path,
                         format->reader->expected);
    struct lull_trace *trace = lull_trace_create();
    trace->path = lull_arena_strdup(trace->arena, path);
    trace->format = format;
    trace->live = live;
    trace->shared->opening = true;
    trace->shared->exchange = exchange;
    status = format->reader->open(trace, err);
    trace->shared->exchange = NULL;
    trace->shared->opening = false;
    if (status != LULL_OK) {
        lull_trace_close(trace);
        return status;
    }
    trace->shared->n_at_opening = trace->shared->n_quirks;
    *ret_trace = trace;
    return LULL_OK;
}

lull_status lull_trace_open(const char *path, struct lull_trace **ret_trace, struct lull_error *err)
{
    return open_run(path, false, NULL, ret_trace, err);
}

lull_status lull_trace_open_together(const char *path, const struct lull_exchange *exchange,
                                     struct lull_trace **ret_trace, struct lull_error *err)
{
    return open_run(path, false, exchange, ret_trace, err);
}

lull_status lull_trace_open_live(const char *path, struct lull_trace **ret_trace,
                                 struct lull_error *err)
{
    return open_run(path, true, NULL, ret_trace, err);
}

enum lull_living lull_trace_living(const struct lull_trace *trace, uint32_t process)
{
    const struct lull_reader *reader = trace->format ? trace->format->reader : NULL;
    return reader && reader->living ? reader->living(trace, process) : LULL_LIVING_UNKNOWN;
}

bool lull_trace_now(const struct lull_trace *trace, int64_t *ret_now)
{
    const struct lull_reader *reader = trace->format ? trace->format->reader : NULL;
    return reader && reader->now && reader->now(trace, ret_now);
}

lull_status lull_trace_read_sums(const struct lull_trace *trace, uint32_t location,
                                 struct lull_arena *arena, struct lull_sums *ret_sums,
                                 struct lull_error *err)
{
    if (!trace->has_sums)
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: holds no sums of all threads",
                         trace->path);
    return trace->format->reader->read_sums(trace, location, arena, ret_sums, err);
}

lull_status lull_trace_read_sampling(const struct lull_trace *trace, uint32_t location,
                                     struct lull_sampling *ret_sampling, struct lull_error *err)
{
    *ret_sampling = (struct lull_sampling){.way = LULL_SAMPLES_NONE};
    const struct lull_reader *reader = trace->format ? trace->format->reader : NULL;
    return reader && reader->read_sampling
               ? reader->read_sampling(trace, location, ret_sampling, err)
               : LULL_OK;
}

lull_status lull_trace_details_open(const struct lull_trace *trace, uint32_t location,
                                    struct lull_sample_details **ret_details,
                                    struct lull_error *err)
{
    const struct lull_reader *reader = trace->format ? trace->format->reader : NULL;
    *ret_details = NULL;
    return reader && reader->details_open ? reader->details_open(trace, location, ret_details, err)
                                          : LULL_OK;
}

lull_status lull_trace_read_detail(const struct lull_trace *trace,
                                   struct lull_sample_details *details, uint64_t number,
                                   struct lull_sample_detail *ret_detail, struct lull_error *err)
{
    return trace->format->reader->detail_read(details, number, ret_detail, err);
}

void lull_trace_details_close(const struct lull_trace *trace, struct lull_sample_details *details)
{
    if (details)
        trace->format->reader->details_close(details);
}

void lull_quirk_tally_begin(struct lull_quirk_tally *tally, const struct lull_trace *trace)
{
    *tally = (struct lull_quirk_tally){.trace = *trace};
    tally->trace.tally = tally->found;
}

/* One more of a kind of oddity that is known. */
static void count_quirk(const struct lull_trace *trace, uint32_t i)
{
    struct lull_quirk_counts *counts = &trace->shared->counts[i];
    if (trace->tally) {
        uint64_t found = ++trace->tally[i];
        counts->by_tally = found > counts->by_tally ? found : counts->by_tally;
    } else if (trace->shared->opening) {
        counts->at_opening++;
    } else {
        counts->elsewhere++;
    }
}

/* Scans read locations in no fixed order: what is found first depends on chance, what is first by
 * its name does not. */
void lull_trace_add_quirk(const struct lull_trace *trace, const char *kind, const char *where, ...)
{
    struct lull_trace_shared *shared = trace->shared;
    char text[sizeof shared->quirks[0].first];
    va_list args;
    va_start(args, where);
    vsnprintf(text, sizeof text, where, args);
    va_end(args);
    pthread_mutex_lock(&shared->lock);
    uint32_t i = 0;
    while (i < shared->n_quirks && strcmp(shared->quirks[i].kind, kind) != 0)
        i++;
    bool fits = i < LULL_MOST_QUIRKS;
    if (fits && i == shared->n_quirks) {
        shared->quirks[shared->n_quirks++].kind = kind;
        strcpy(shared->quirks[i].first, text);
    } else if (fits && !shared->opening && strverscmp(text, shared->quirks[i].first) < 0) {
        strcpy(shared->quirks[i].first, text);
    }
    if (fits)
        count_quirk(trace, i);
    pthread_mutex_unlock(&shared->lock);
}

/* Under the lock. False: no memory, or as many are left out as may be. */
static bool note_left_out(const struct lull_trace *trace, uint32_t location, uint32_t most,
                          bool *ret_known)
{
    struct lull_trace_shared *shared = trace->shared;
    if (!shared->left_out)
        shared->left_out = calloc(trace->n_locations, sizeof *shared->left_out);
    *ret_known = shared->left_out && shared->left_out[location];
    if (*ret_known)
        return true;
    if (!shared->left_out || shared->n_left_out >= most)
        return false;
    shared->left_out[location] = true;
    shared->n_left_out++;
    return true;
}

lull_status lull_trace_add_left_out(const struct lull_trace *trace, uint32_t location,
                                    struct lull_error *err)
{
    bool known;
    pthread_mutex_lock(&trace->shared->lock);
    const bool good = note_left_out(trace, location, trace->n_locations, &known);
    pthread_mutex_unlock(&trace->shared->lock);
    return good ? LULL_OK : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory", trace->path);
}

lull_status lull_trace_leave_out(const struct lull_trace *trace, uint32_t location,
                                 lull_status status, const struct lull_error *err)
{
    const struct lull_reader *reader = trace->format ? trace->format->reader : NULL;
    if (status != LULL_ERR_FORMAT || !reader || !reader->leaves_out_damage || !err)
        return status;
    struct lull_trace_shared *shared = trace->shared;
    bool known;
    pthread_mutex_lock(&shared->lock);
    const bool good = note_left_out(trace, location, trace->n_locations - 1, &known);
    pthread_mutex_unlock(&shared->lock);
    if (good && !known)
        lull_trace_add_quirk(trace, "damaged records are left out, from the damage on", "%s",
                             err->text);
    return good ? LULL_OK : status;
}

bool lull_trace_is_left_out(const struct lull_trace *trace, uint32_t location)
{
    pthread_mutex_lock(&trace->shared->lock);
    bool left_out = trace->shared->left_out && trace->shared->left_out[location];
    pthread_mutex_unlock(&trace->shared->lock);
    return left_out;
}

static int compare_quirks(const void *left, const void *right)
{
    const struct lull_quirk *a = left, *b = right;
    return strcmp(a->kind, b->kind);
}

uint32_t lull_trace_quirks(const struct lull_trace *trace, struct lull_arena *arena,
                           struct lull_quirk **ret_quirks)
{
    struct lull_trace_shared *shared = trace->shared;
    pthread_mutex_lock(&shared->lock);
    uint32_t count = shared->n_quirks;
    struct lull_quirk *copy = lull_arena_zero(arena, count, sizeof *copy);
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_quirk_counts *counts = &shared->counts[i];
        copy[i] = shared->quirks[i];
        copy[i].count =
            counts->at_opening + (counts->by_tally ? counts->by_tally : counts->elsewhere);
    }
    if (count > shared->n_at_opening)
        qsort(copy + shared->n_at_opening, count - shared->n_at_opening, sizeof *copy,
              compare_quirks);
    for (uint32_t i = 0; i < count; i++)
        copy[i].kind = lull_arena_strdup(arena, copy[i].kind);
    pthread_mutex_unlock(&shared->lock);
    *ret_quirks = copy;
    return count;
}

/* ==== quirks ================================================================================== */

/* Quirks that several processes found, each in locations of its own, as if one had found them all.
 */

/* One kind; the text of the kind follows, with its 0, filled up to a multiple of 8. */
struct packed {
    uint64_t length; /* of the text, filled up */
    uint64_t by_tally, elsewhere;
    char first[sizeof((struct lull_quirk *)0)->first];
};

const void *lull_trace_quirks_pack(const struct lull_trace *trace, struct lull_arena *arena,
                                   size_t *ret_size)
{
    struct lull_trace_shared *shared = trace->shared;
    char *bytes = NULL;
    size_t capacity = 0, size = 0;
    pthread_mutex_lock(&shared->lock);
    for (uint32_t i = 0; i < shared->n_quirks; i++) {
        struct lull_quirk_counts *counts = &shared->counts[i];
        struct packed packed = {.length = (strlen(shared->quirks[i].kind) + 8) / 8 * 8,
                                .by_tally = counts->by_tally - counts->told_by_tally,
                                .elsewhere = counts->elsewhere - counts->told_elsewhere};
        if (packed.by_tally + packed.elsewhere == 0)
            continue;
        counts->told_by_tally = counts->by_tally;
        counts->told_elsewhere = counts->elsewhere;
        memcpy(packed.first, shared->quirks[i].first, sizeof packed.first);
        bytes = lull_arena_grow(arena, bytes, &capacity, size + sizeof packed + packed.length, 1);
        memcpy(bytes + size, &packed, sizeof packed);
        memset(bytes + size + sizeof packed, 0, packed.length);
        strcpy(bytes + size + sizeof packed, shared->quirks[i].kind);
        size += sizeof packed + packed.length;
    }
    pthread_mutex_unlock(&shared->lock);
    *ret_size = size;
    return bytes;
}

static void add_kind(const struct lull_trace *trace, const struct packed *packed, const char *kind)
{
    struct lull_trace_shared *shared = trace->shared;
    uint32_t i = 0;
    while (i < shared->n_quirks && strcmp(shared->quirks[i].kind, kind) != 0)
        i++;
    if (i >= LULL_MOST_QUIRKS)
        return;
    struct lull_quirk *quirk = &shared->quirks[i];
    if (i == shared->n_quirks) {
        shared->n_quirks++;
        quirk->kind = lull_arena_strdup(trace->arena, kind);
        strcpy(quirk->first, packed->first);
    } else if (strverscmp(packed->first, quirk->first) < 0) {
        strcpy(quirk->first, packed->first);
    }
    shared->counts[i].by_tally += packed->by_tally;
    shared->counts[i].elsewhere += packed->elsewhere;
}

lull_status lull_trace_quirks_add(const struct lull_trace *trace, const void *bytes, size_t size,
                                  struct lull_error *err)
{
    const char *at = bytes;
    lull_status status = LULL_OK;
    pthread_mutex_lock(&trace->shared->lock);
    while (size > 0 && status == LULL_OK) {
        struct packed packed = {.length = 0};
        if (size >= sizeof packed)
            memcpy(&packed, at, sizeof packed);
        if (packed.length == 0 || packed.length > size - sizeof packed ||
            at[sizeof packed + packed.length - 1] != '\0') {
            status = lull_fail(err, LULL_ERR_FORMAT, "%s: quirks of another process are cut short",
                               trace->path);
            break;
        }
        packed.first[sizeof packed.first - 1] = '\0';
        add_kind(trace, &packed, at + sizeof packed);
        at += sizeof packed + packed.length;
        size -= sizeof packed + packed.length;
    }
    pthread_mutex_unlock(&trace->shared->lock);
    return status;
}

/* ==== silent ================================================================================== */

struct lull_trace *lull_trace_silent_create(const struct lull_trace *trace)
{
    struct lull_trace *silent = calloc(1, sizeof *silent);
    struct lull_trace_shared *shared = calloc(1, sizeof *shared);
    if (!silent || !shared) {
        free(silent);
        free(shared);
        return NULL;
    }
    pthread_mutex_init(&shared->lock, NULL);
    pthread_mutex_init(&shared->copy_lock, NULL);
    *silent = *trace;
    silent->shared = shared;
    silent->tally = NULL;
    return silent;
}

void lull_trace_silent_destroy(struct lull_trace *silent)
{
    if (!silent)
        return;
    free(silent->shared->left_out);
    pthread_mutex_destroy(&silent->shared->copy_lock);
    pthread_mutex_destroy(&silent->shared->lock);
    free(silent->shared);
    free(silent);
}
