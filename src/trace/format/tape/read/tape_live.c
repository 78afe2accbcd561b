/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the records of a location while its program writes them. How recorder and reader keep out
 * of each other's way is in docs/formats/tape.md, "Reading while it is being written". */
#include "trace/format/tape/read/tape_live.h"

#include "base/array.h"
#include "tape/life.h"
#include "trace/format/tape/read/tape_source.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ==== processes =============================================================================== */

/* Whether the processes of the run are still there. */

struct lull_tape_lives {
    pthread_mutex_t lock;
    uint32_t n;
    struct lull_tape_watch watches[];
};

bool lull_tape_lives_begin(struct lull_trace *trace)
{
    struct lull_tape_data *data = trace->format_data;
    struct lull_tape_lives *lives =
        calloc(1, sizeof *lives + trace->n_processes * sizeof lives->watches[0]);
    if (!lives)
        return false;
    pthread_mutex_init(&lives->lock, NULL);
    for (lives->n = 0; lives->n < trace->n_processes; lives->n++)
        lull_tape_watch_begin(&lives->watches[lives->n], &data->scopes[lives->n].life);
    data->lives = lives;
    return true;
}

void lull_tape_lives_end(const struct lull_trace *trace)
{
    struct lull_tape_data *data = trace->format_data;
    struct lull_tape_lives *lives = data->lives;
    for (uint32_t p = 0; lives && p < lives->n; p++)
        lull_tape_watch_end(&lives->watches[p]);
    if (lives)
        pthread_mutex_destroy(&lives->lock);
    free(lives);
    data->lives = NULL;
}

static bool is_over(struct lull_tape_lives *lives, uint32_t process)
{
    pthread_mutex_lock(&lives->lock);
    const bool over = lull_tape_watch_look(&lives->watches[process]) == LULL_TAPE_OVER;
    pthread_mutex_unlock(&lives->lock);
    return over;
}

/* ==== a location ============================================================================== */

enum { MOST_TAIL = 2 /* extents of a tail */, AT_ONCE = 64 };

struct tape_live {
    const struct lull_trace *trace;
    struct lull_tape_file file;             /* as the run was opened; for its names */
    uint32_t process;                       /* index */
    const struct lull_tape_header *head;    /* mapped */
    size_t mapped;                          /* bytes of the mapping that `head` is in */
    struct lull_tape_piece tail[MOST_TAIL]; /* where the tail stands in the file */
    uint32_t n_tail;
    struct lull_tape_piece *chunks; /* where the chunks stand that were not read yet; malloc'd */
    size_t n_chunks, capacity;
    uint64_t base;   /* the byte of the location's records that stands first in `chunks` */
    uint32_t looked; /* extents of the process with smaller numbers have been looked at */
    uint32_t taken;  /* all parts of the location in extents with smaller numbers are known */
    bool ended;      /* its process writes no more: all that is committed stays as it is */
};

/* ---- the counters ---------------------------------------------------------------------------- */

/* How far the records go. `committed` is loaded first: it is never beyond the chunk behind `flushed`,
 * whenever that is loaded. */
struct live_counters {
    uint64_t flushed, end;
    unsigned flags;
};

static struct live_counters load_counters(const struct tape_live *live)
{
    struct live_counters now;
    now.flags = __atomic_load_n(&live->head->flags, __ATOMIC_ACQUIRE);
    now.end = __atomic_load_n(&live->head->committed, __ATOMIC_ACQUIRE);
    now.flushed = __atomic_load_n(&live->head->flushed, __ATOMIC_ACQUIRE);
    now.end = now.end > now.flushed ? now.end : now.flushed;
    return now;
}

/* Maps the page of the header, so that its counters are read as the recorder stores them. The
 * descriptor is not needed any more then. */
static lull_status map_head(struct tape_live *live, struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    struct lull_tape_source source;
    lull_tape_file_path(live->trace, &live->file, path, sizeof path);
    lull_status status = lull_tape_open_records(live->trace, &live->file, &source, err);
    if (status != LULL_OK)
        return status;
    const uint64_t page =
        live->file.head / (uint64_t)sysconf(_SC_PAGESIZE) * (uint64_t)sysconf(_SC_PAGESIZE);
    const size_t size = (size_t)(live->file.head - page) + LULL_TAPE_HEADER_SIZE;
    void *mapping = live->file.head + LULL_TAPE_HEADER_SIZE <= source.size
                        ? mmap(NULL, size, PROT_READ, MAP_SHARED, source.fd, (off_t)page)
                        : MAP_FAILED;
    if (mapping == MAP_FAILED)
        status = lull_fail_errno(err, "%s: cannot map the header of a location", path);
    lull_tape_source_close(&source);
    if (status != LULL_OK)
        return status;
    live->head = (const void *)((const char *)mapping + (live->file.head - page));
    live->mapped = size;
    return LULL_OK;
}

/* ---- the parts in the file ------------------------------------------------------------------- */

static bool note_chunks(struct tape_live *live, const struct lull_tape_piece *piece)
{
    struct lull_tape_piece *last = live->n_chunks > 0 ? &live->chunks[live->n_chunks - 1] : NULL;
    if (last && last->offset + last->size == piece->offset) {
        last->size += piece->size;
        return true;
    }
    if (!lull_array_reserve(&live->chunks, &live->capacity, live->n_chunks + 1,
                            sizeof *live->chunks))
        return false;
    live->chunks[live->n_chunks++] = *piece;
    return true;
}

static lull_status take_live_part(struct tape_live *live, const struct lull_tape_extent *extent,
                                  struct lull_error *err)
{
    const struct lull_tape_piece piece = {.offset = (uint64_t)extent->page * LULL_TAPE_PAGE,
                                          .size = (uint64_t)extent->pages * LULL_TAPE_PAGE};
    if (extent->part == LULL_TAPE_PART_TAIL && live->n_tail < MOST_TAIL)
        live->tail[live->n_tail++] = piece;
    else if (extent->part == LULL_TAPE_PART_RECORDS && !note_chunks(live, &piece))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", live->trace->path);
    return LULL_OK;
}

/* Looks at extents that were not there when they were looked at last. A location's own parts are
 * entered in the order of their numbers, so that none is taken twice. */
static lull_status look_for_parts(struct tape_live *live, struct lull_tape_source *source,
                                  struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    struct lull_tape_extent extents[AT_ONCE];
    uint32_t count = 1;
    bool gap = false;
    lull_tape_file_path(live->trace, &live->file, path, sizeof path);
    for (uint32_t i = live->looked; count > 0; i += count) {
        lull_status status = lull_tape_read_extents(source, path, live->file.process, i, AT_ONCE,
                                                    extents, &count, err);
        for (uint32_t e = 0; status == LULL_OK && e < count; e++) {
            const bool there = extents[e].part != LULL_TAPE_PART_NONE;
            gap |= !there;
            if (!gap)
                live->looked = i + e + 1;
            if (!there || extents[e].location != live->file.number || i + e < live->taken)
                continue;
            live->taken = i + e + 1;
            status = take_live_part(live, &extents[e], err);
        }
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

/* Forgets chunks before `begin`, which have been read. */
static void forget_chunks(struct tape_live *live, uint64_t begin)
{
    size_t gone = 0;
    while (gone < live->n_chunks && live->base + live->chunks[gone].size <= begin)
        live->base += live->chunks[gone++].size;
    live->n_chunks -= gone;
    if (gone > 0)
        memmove(live->chunks, live->chunks + gone, live->n_chunks * sizeof *live->chunks);
}

/* Reads bytes that stand in pieces, the first of which has byte `base`. */
static lull_status read_live_pieces(const struct tape_live *live, struct lull_tape_source *source,
                                    const struct lull_tape_piece *pieces, size_t n, uint64_t base,
                                    uint64_t begin, void *bytes, size_t size,
                                    struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    const struct lull_tape_pieces all = {.list = (struct lull_tape_piece *)(uintptr_t)pieces,
                                         .n = n};
    const ssize_t got = lull_tape_read_pieces(source, &all, bytes, size, begin - base);
    lull_tape_file_path(live->trace, &live->file, path, sizeof path);
    if (got < 0)
        return lull_tape_source_fail(source, path, err);
    return (size_t)got == size ? LULL_OK
                               : lull_fail(err, LULL_ERR_FORMAT,
                                           "%s: truncated: %zd bytes of records of location %u, "
                                           "expected %zu",
                                           path, got, live->file.number, size);
}

static uint64_t size_of_pieces(const struct lull_tape_piece *pieces, size_t n)
{
    uint64_t size = 0;
    for (size_t i = 0; i < n; i++)
        size += pieces[i].size;
    return size;
}

/* ---- records that may still change ----------------------------------------------------------- */

/* Returns how many of the slots stand before records that may still change (LULL_TAPE_MOST_POLLED);
 * *ret_pad: what follows in the chunk is no record. Slots of a record that is not there as a whole do
 * not count. */
static size_t count_lasting(const union lull_tape_slot *slots, size_t n, bool all_last,
                            bool *ret_pad)
{
    size_t at = 0, since = 0, run = 0; /* `run` records from `since` on may still change */
    *ret_pad = false;
    while (at < n) {
        const uint32_t head = slots[at].record.head;
        const size_t next = at + 1 + lull_tape_extra_of(head);
        *ret_pad = lull_tape_kind_of(head) == LULL_TAPE_PAD;
        if (*ret_pad || next > n)
            break;
        const bool may_change =
            lull_tape_kind_of(head) == LULL_TAPE_CALL && lull_tape_extra_of(head) == 1;
        since = run == 0 || !may_change ? at : since;
        run = may_change ? run + 1 : 0;
        if (run > LULL_TAPE_MOST_POLLED) {
            since += 2;
            run--;
        }
        at = next;
    }
    return all_last || *ret_pad || run == 0 ? at : since;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads from a chunk that is in the file, where it does not change any more. */
static lull_status read_live_chunk(struct tape_live *live, struct lull_tape_source *source,
                                   uint64_t begin, void *bytes, size_t size, struct lull_error *err)
{
    forget_chunks(live, begin);
    lull_status status = LULL_OK;
    if (live->base + size_of_pieces(live->chunks, live->n_chunks) < begin + size)
        status = look_for_parts(live, source, err);
    forget_chunks(live, begin);
    return status == LULL_OK ? read_live_pieces(live, source, live->chunks, live->n_chunks,
                                                live->base, begin, bytes, size, err)
                             : status;
}

/* Reads from the tail. *ret_moved: the recorder has stored the chunk meanwhile, and writes a new one
 * over it, so that what was read means nothing. */
static lull_status read_live_tail(struct tape_live *live, struct lull_tape_source *source,
                                  const struct live_counters *now, uint64_t begin, void *bytes,
                                  size_t size, bool *ret_moved, struct lull_error *err)
{
    lull_status status = LULL_OK;
    if (size_of_pieces(live->tail, live->n_tail) < begin - now->flushed + size)
        status = look_for_parts(live, source, err);
    if (status == LULL_OK)
        status = read_live_pieces(live, source, live->tail, live->n_tail, now->flushed, begin,
                                  bytes, size, err);
    LULL_TAPE_FENCE(__ATOMIC_ACQUIRE);
    *ret_moved = __atomic_load_n(&live->head->flushed, __ATOMIC_RELAXED) != now->flushed;
    return *ret_moved ? LULL_OK : status;
}

/* Reads what is there from `begin` on; *ret_size 0: nothing, or what was read has moved. */
static lull_status read_live_bytes(struct tape_live *live, const struct live_counters *now,
                                   uint64_t begin, void *bytes, size_t room, size_t *ret_size,
                                   bool *ret_moved, struct lull_error *err)
{
    struct lull_tape_source source;
    const uint64_t in_chunk = LULL_TAPE_CHUNK - begin % LULL_TAPE_CHUNK;
    const uint64_t limit = begin < now->flushed ? now->flushed : now->end;
    uint64_t size = limit > begin ? limit - begin : 0;
    size = size < in_chunk ? size : in_chunk;
    size = size < room ? size : room;
    *ret_size = 0;
    *ret_moved = false;
    if (size == 0)
        return LULL_OK;
    lull_status status = lull_tape_open_records(live->trace, &live->file, &source, err);
    if (status != LULL_OK)
        return status;
    if (begin < now->flushed)
        status = read_live_chunk(live, &source, begin, bytes, (size_t)size, err);
    else
        status = read_live_tail(live, &source, now, begin, bytes, (size_t)size, ret_moved, err);
    lull_tape_source_close(&source);
    *ret_size = *ret_moved ? 0 : (size_t)size;
    return status;
}

static lull_status check_counters(const struct tape_live *live, const struct live_counters *now,
                                  uint64_t begin, struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    if (now->end % sizeof(union lull_tape_slot) == 0 && now->flushed % LULL_TAPE_CHUNK == 0 &&
        now->end - now->flushed <= LULL_TAPE_CHUNK && begin <= now->end)
        return LULL_OK;
    return lull_fail(
        err, LULL_ERR_FORMAT,
        "%s: location %u has %llu bytes of records, %llu of them in chunks, after %llu "
        "were read",
        lull_tape_file_path(live->trace, &live->file, path, sizeof path), live->file.number,
        (unsigned long long)now->end, (unsigned long long)now->flushed, (unsigned long long)begin);
}

/* Whether nothing more is written. Where the process is gone, that is known before the counters are
 * loaded; so the last ones count. */
static bool writes_no_more(struct tape_live *live)
{
    const unsigned ends =
        LULL_TAPE_CLOSED | LULL_TAPE_BUDGET_REACHED | LULL_TAPE_WRITE_FAILED | LULL_TAPE_PROFILE;
    const struct lull_tape_data *data = live->trace->format_data;
    live->ended =
        live->ended || load_counters(live).flags & ends || is_over(data->lives, live->process);
    return live->ended;
}

lull_status lull_tape_live_read(struct tape_live *live, uint64_t begin, union lull_tape_slot *slots,
                                size_t room, size_t *ret_count, uint64_t *ret_next,
                                enum tape_live_state *ret_state, struct lull_error *err)
{
    for (;;) {
        const bool last = live->ended; /* known before the counters are loaded */
        const struct live_counters now = load_counters(live);
        size_t size;
        bool moved, pad = false;
        lull_status status = check_counters(live, &now, begin, err);
        if (status == LULL_OK)
            status = read_live_bytes(live, &now, begin, slots, room, &size, &moved, err);
        if (status != LULL_OK)
            return status;
        if (moved)
            continue; /* now the chunk is in its last place */
        const bool lasts = last || begin < now.flushed;
        *ret_count = count_lasting(slots, size / sizeof *slots, lasts, &pad);
        *ret_next = pad ? (begin / LULL_TAPE_CHUNK + 1) * LULL_TAPE_CHUNK
                        : begin + *ret_count * sizeof *slots;
        *ret_state = *ret_next > begin ? TAPE_LIVE_MORE
                     : last            ? TAPE_LIVE_ENDED
                                       : TAPE_LIVE_NOTHING;
        if (*ret_state != TAPE_LIVE_NOTHING || !writes_no_more(live))
            return LULL_OK;
    }
}

/* ---- begin and end --------------------------------------------------------------------------- */

lull_status lull_tape_live_open(const struct lull_trace *trace, uint32_t location,
                                struct tape_live **ret_live, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    struct tape_live *live = calloc(1, sizeof *live);
    if (!live)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    live->trace = trace;
    live->file = data->files[location];
    live->process = trace->locations[location].process;
    const lull_status status = map_head(live, err);
    if (status == LULL_OK)
        *ret_live = live;
    else
        free(live);
    return status;
}

void lull_tape_live_close(struct tape_live *live)
{
    if (!live)
        return;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    munmap((void *)((uintptr_t)live->head / page * page), live->mapped);
    free(live->chunks);
    free(live);
}

lull_status lull_tape_live_open_call(const struct tape_live *live, uint32_t *ret_region,
                                     uint64_t *ret_time, struct lull_error *err)
{
    struct lull_trace view = *live->trace;
    struct lull_tape_file now = {.process = live->file.process,
                                 .number = live->file.number,
                                 .ids = live->file.ids,
                                 .clock = live->file.clock,
                                 .open_region = LULL_NONE};
    struct lull_tape_header header;
    view.arena = lull_arena_create(NULL); /* that of the trace is not for several threads */
    lull_status status = lull_tape_refresh(&view, &now, err);
    if (status == LULL_OK)
        status = lull_tape_read_header(&view, &now, &header, err);
    if (status == LULL_OK)
        status = lull_tape_find_open_call(&view, &now, err);
    *ret_region = now.open_region;
    *ret_time = now.open_time;
    lull_arena_destroy(view.arena);
    return status;
}
