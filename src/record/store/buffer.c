/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/store/buffer.h"

#include "record/counters/counters.h"
#include "record/keep.h"
#include "record/report.h"
#include "record/store/container.h"
#include "record/store/definitions.h"
#include "record/store/file.h"
#include "record/store/sums.h"
#include "record/thread/cores.h"
#include "tape/records.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* ==== begin and end of a location's records =================================================== */

/* From when to when the records of a location go. Both times are kept in the file, so that whoever
 * opens the run need not read the records. They are those that a reader would find
 * (trace/format/tape/read/tape_times.c): the begin of the first chunk, and the end from what the
 * last two chunks hold. The records are read from the file, which nobody changes any more. */

/* Extends the span by the records of a chunk. */
static bool see(const union lull_tape_slot *slots, uint64_t size, struct lull_tape_span *span)
{
    return lull_tape_span_chunk(slots, (size_t)size / sizeof *slots, span);
}

/* Reads `wanted` bytes of the tail, or as many as there are. Returns their number. */
static size_t read_tail(const struct rec_thread *self, unsigned char *bytes, size_t wanted)
{
    const struct rec_extent *parts[] = {&self->tail_first, &self->tail_rest};
    size_t got = 0;
    for (size_t i = 0; i < 2 && got < wanted; i++) {
        const size_t left = wanted - got, part = left < parts[i]->size ? left : parts[i]->size;
        if (part == 0 || !rec_container_read(bytes + got, part, parts[i]->offset))
            break;
        got += part;
    }
    return got;
}

/* Extends the span by the full chunks among the last two; the first chunk of all began at
 * `self->first`. */
static bool see_chunks(const struct rec_thread *self, const struct lull_tape_header *header,
                       void *bytes, struct lull_tape_span *span)
{
    const uint64_t full = header->flushed / LULL_TAPE_CHUNK;
    const uint64_t wanted = header->committed > header->flushed ? 1 : 2;
    bool good = true;
    if (full > 0)
        span->first = self->first;
    for (uint64_t i = wanted < full ? wanted : full; good && i-- > 0;)
        good = rec_container_read(bytes, LULL_TAPE_CHUNK, self->newest[i]) &&
               see(bytes, LULL_TAPE_CHUNK, span);
    return good;
}

static void find_record_ends(const struct rec_thread *self, const struct lull_tape_header *header,
                             void *bytes, struct lull_tape_ends *ends)
{
    const uint64_t used = header->committed - header->flushed;
    const size_t slot = sizeof(union lull_tape_slot);
    struct lull_tape_span span = LULL_TAPE_SPAN_EMPTY;
    if (used > LULL_TAPE_CHUNK || !see_chunks(self, header, bytes, &span))
        return;
    const size_t got = read_tail(self, bytes, (size_t)used + slot);
    if (got < used || !see(bytes, used, &span))
        return;
    *ends = (struct lull_tape_ends){.first = span.first,
                                    .last = span.last,
                                    .known = LULL_TAPE_KNOWN_SPAN | LULL_TAPE_KNOWN_SOUND};
    if (got < used + slot)
        return;
    ends->known |= LULL_TAPE_KNOWN_BEHIND;
    memcpy(ends->behind, (unsigned char *)bytes + used, slot);
}

/* Finds begin and end for a location whose mappings are gone, and whose header says what its file
 * holds. Where that cannot be told, as in a ring, nothing is known. */
static void ends_find(const struct rec_thread *self, const struct lull_tape_header *header,
                      struct lull_tape_ends *ret_ends)
{
    /* The two lengths differ where the tape was taken from a thread that had written a chunk and
     * not yet said so in the header. */
    if (header->flags & LULL_TAPE_RING || self->written != header->flushed)
        return;
    const size_t size = LULL_TAPE_CHUNK + sizeof(union lull_tape_slot);
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return;
    find_record_ends(self, header, bytes, ret_ends);
    munmap(bytes, size);
}

/* ==== ring ==================================================================================== */

struct ring_place {
    struct rec_extent extent; /* with a size of 0 the place has no extent yet */
    bool written;             /* once at least: the disk has room for it */
    bool taken;               /* atomic: a thread writes there */
};

static struct ring_place *ring_places;
static uint64_t n_places; /* atomic: fewer than the budget has, once the disk is full */
static uint64_t turn;     /* atomic: how often a place was taken */

void rec_ring_start(void)
{
    if (!rec_process.keeps_last)
        return;
    const uint64_t wanted = rec_process.budget / LULL_TAPE_CHUNK;
    n_places = wanted > 0 ? wanted : 1;
    rec_process.budget = n_places * LULL_TAPE_CHUNK;
    ring_places = rec_keep(n_places * sizeof *ring_places);
    rec_process.keeps_last = ring_places != NULL;
    if (!ring_places)
        rec_report_say("no memory for a ring: the first events are kept, not the last ones");
}

/* Takes the place whose turn it is. Where another thread is still writing there, because the turn
 * has gone once around the ring meanwhile, the next place is taken. NULL: all places are being
 * written. */
static struct ring_place *take_ring_place(void)
{
    const uint64_t n = __atomic_load_n(&n_places, __ATOMIC_RELAXED);
    for (uint64_t i = 0; i < n; i++) {
        struct ring_place *place = &ring_places[__atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED) % n];
        if (!__atomic_test_and_set(&place->taken, __ATOMIC_ACQUIRE))
            return place;
    }
    return NULL;
}

static bool write_ring_chunk(struct ring_place *place, const void *chunk, uint32_t location,
                             uint32_t number)
{
    if (place->extent.size == 0 && !rec_container_reserve(LULL_TAPE_CHUNK, &place->extent))
        return false;
    rec_container_vacate(&place->extent);
    if (!rec_container_write(chunk, LULL_TAPE_CHUNK, place->extent.offset))
        return false;
    rec_container_enter_chunk(&place->extent, location, number);
    place->written = true;
    return true;
}

/* Stores a full chunk, number `number` of its location. Until the location's header says that the
 * chunk is stored, the thread's own copy must stay. Where all places are being written, the chunk
 * is dropped, and with it, for a reader, everything that the location had before it. False: nothing
 * can be written. */
static bool ring_store(const void *chunk, uint32_t location, uint32_t number)
{
    for (;;) {
        struct ring_place *place = take_ring_place();
        if (!place)
            return true;
        const bool good = write_ring_chunk(place, chunk, location, number),
                   written = place->written;
        __atomic_clear(&place->taken, __ATOMIC_RELEASE);
        if (good || written || place == ring_places)
            return good;
        /* The disk is full: the places before this one are all that there are. */
        __atomic_store_n(&n_places, (uint64_t)(place - ring_places), __ATOMIC_RELAXED);
    }
}

/* ==== a thread's tape ========================================================================= */

/* Offsets of the tail and the sums in the address space of a thread (begin_space). */
enum { SPACE_TAIL = LULL_TAPE_HEADER_SIZE, SPACE_SUMS = SPACE_TAIL + LULL_TAPE_CHUNK };

/* FIRST_TAIL is the part of a chunk that a thread has until it needs more: many threads make only a
 * few records. MOST_RESERVED is the most that reserve_chunks takes at once. */
enum { FIRST_TAIL = LULL_TAPE_PAGE, MOST_RESERVED = 1 << 20 };

static union lull_tape_slot *end_of_tail(const struct rec_thread *self)
{
    return self->tail + self->tail_size / sizeof *self->tail;
}

static void use_chunk(struct rec_thread *self, union lull_tape_slot *chunk, size_t size)
{
    self->tail = chunk;
    self->tail_size = size;
    self->at = chunk;
    self->end = end_of_tail(self);
    self->bias = self->flushed - (uint64_t)(uintptr_t)chunk;
}

static bool use_private_chunk(struct rec_thread *self)
{
    void *chunk =
        mmap(NULL, LULL_TAPE_CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk == MAP_FAILED)
        return false;
    self->storing = false;
    self->committed = &self->nowhere;
    use_chunk(self, chunk, LULL_TAPE_CHUNK);
    return true;
}

void rec_buffer_name(struct rec_thread *self)
{
    char name[64];
    rec_process_name(name, sizeof name);
    if (self->stream)
        snprintf(self->header->name, sizeof self->header->name, "%.40s %s", name,
                 self->stream->name);
    else if (self->number == 0)
        snprintf(self->header->name, sizeof self->header->name, "%s", name);
    else
        snprintf(self->header->name, sizeof self->header->name, "%s thread %u", name, self->number);
}

static void fill_tape_header(struct rec_thread *self)
{
    struct lull_tape_header *header = self->header;
    header->version = LULL_TAPE_VERSION;
    header->byte_order = LULL_TAPE_BYTE_ORDER;
    header->header_size = LULL_TAPE_HEADER_SIZE;
    header->record_size = sizeof(struct lull_tape_record);
    header->process = rec_process.number;
    header->number = self->number;
    header->kind = self->stream != NULL;
    header->role = self->role;
    header->flags = rec_process.profile ? LULL_TAPE_PROFILE : LULL_TAPE_TAILED;
    if (rec_process.keeps_last)
        header->flags |= LULL_TAPE_RING;
    header->source_id = self->number;
    if (self->stream)
        header->stream = self->stream->what;
    rec_buffer_name(self);
    memcpy(header->magic, LULL_TAPE_MAGIC, sizeof header->magic);
}

/* Reserves addresses for the header, the tail and the sums, one behind the other. */
static bool begin_space(struct rec_thread *self)
{
    const size_t size = SPACE_SUMS + rec_sums_space();
    void *space = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED)
        return false;
    self->space = space;
    self->space_size = size;
    return true;
}

static union lull_tape_slot *mapped_tail(const struct rec_thread *self)
{
    return (union lull_tape_slot *)(void *)(self->space + SPACE_TAIL);
}

static void unmap_space(struct rec_thread *self)
{
    if (self->tail && self->tail != mapped_tail(self))
        munmap(self->tail, LULL_TAPE_CHUNK);
    munmap(self->space, self->space_size);
}

/* Maps the first page of the chunk. */
static bool begin_tail(struct rec_thread *self)
{
    self->storing = !rec_process.profile;
    if (!self->storing)
        return use_private_chunk(self);
    if (rec_container_map(FIRST_TAIL, mapped_tail(self), &self->tail_first) == MAP_FAILED)
        return false;
    use_chunk(self, mapped_tail(self), FIRST_TAIL);
    return true;
}

static bool begin_head(struct rec_thread *self, struct rec_extent *ret_extent)
{
    void *head = rec_container_map(LULL_TAPE_HEADER_SIZE, self->space, ret_extent);
    if (head == MAP_FAILED)
        return false;
    self->header = head;
    self->head = ret_extent->offset;
    return true;
}

/* The header is entered last: when it is there, the location has all that it needs. */
bool rec_buffer_begin(struct rec_thread *self)
{
    struct rec_extent head;
    if (!begin_space(self))
        return false;
    if (!begin_tail(self) || !begin_head(self, &head) ||
        !rec_sums_begin(self, self->space + SPACE_SUMS, self->space_size - SPACE_SUMS)) {
        int reason = errno;
        unmap_space(self);
        errno = reason;
        return false;
    }
    if (self->storing)
        self->committed = &self->header->committed;
    fill_tape_header(self);
    if (self->storing)
        rec_container_enter(&self->tail_first, LULL_TAPE_PART_TAIL, self->number);
    rec_container_enter(&head, LULL_TAPE_PART_HEAD, self->number);
    return true;
}

/* From now on no events are kept; the flag says why. Sums go on. */
static void buffer_stop(struct rec_thread *self, unsigned flag)
{
    int none = 0;
    __atomic_fetch_or(&self->header->flags, (uint16_t)flag, __ATOMIC_RELEASE);
    if (flag & LULL_TAPE_WRITE_FAILED)
        __atomic_compare_exchange_n(&rec_process.full, &none, errno ? errno : EIO, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (use_private_chunk(self))
        return;
    self->at = self->tail; /* no memory: this thread is not recorded any more, not even in sums */
    self->committed = &self->nowhere;
    rec_gate_set(self, rec_gate_of(self) | REC_GATE_CLOSED);
}

/* Reserves places for several chunks at once where a location has many chunks already, so that its
 * chunks stand beside each other in the file. */
static bool reserve_chunks(struct rec_thread *self)
{
    size_t size = LULL_TAPE_CHUNK;
    while (size < MOST_RESERVED && size * 4 <= self->flushed)
        size *= 2;
    struct rec_extent extent;
    if (!rec_container_reserve(size, &extent))
        return false;
    rec_container_enter(&extent, LULL_TAPE_PART_RECORDS, self->number);
    self->chunks = extent;
    return true;
}

/* Writes a full chunk to the file. Returns 0, or the flag that says why that failed. */
static unsigned write_full_chunk(struct rec_thread *self)
{
    if (rec_process.keeps_last)
        return ring_store(self->tail, self->number, (uint32_t)(self->flushed / LULL_TAPE_CHUNK))
                   ? 0
                   : LULL_TAPE_WRITE_FAILED;
    uint64_t used = __atomic_add_fetch(&rec_process.used, LULL_TAPE_CHUNK, __ATOMIC_RELAXED);
    if (used > rec_process.budget)
        return LULL_TAPE_BUDGET_REACHED;
    if (self->chunks.size == 0 && !reserve_chunks(self))
        return LULL_TAPE_WRITE_FAILED;
    if (!rec_container_write(self->tail, LULL_TAPE_CHUNK, self->chunks.offset))
        return LULL_TAPE_WRITE_FAILED;
    self->newest[1] = self->newest[0];
    self->newest[0] = self->chunks.offset;
    self->written += LULL_TAPE_CHUNK;
    self->chunks.offset += LULL_TAPE_CHUNK;
    self->chunks.size -= LULL_TAPE_CHUNK;
    return 0;
}

/* Writes the state of the thread at the begin of a chunk of a ring, because the chunks before it
 * may be written over; from here on all calls have new shapes for the same reason. `last`: no later
 * record has an earlier time. */
static void tell_state(struct rec_thread *self, uint64_t last)
{
    const uint32_t n = self->n_frames < REC_MOST_FRAMES ? self->n_frames : REC_MOST_FRAMES;
    union lull_tape_slot *slot = self->at;
    for (uint32_t i = 0; i < n; i++, slot += 2) {
        slot[0].record.time = last;
        slot[0].record.head = lull_tape_head(LULL_TAPE_OPENED, 1, self->frames[i].region);
        slot[0].record.value = 0;
        slot[1].u64[0] = self->frames[i].begin;
        slot[1].u64[1] = 0;
    }
    slot[0].record.time = last;
    slot[0].record.head = lull_tape_head(LULL_TAPE_RESUME, 1, LULL_TAPE_NO_ID);
    slot[0].record.value = self->paused;
    slot[1].u64[0] = self->next_request;
    slot[1].u64[1] = 0;
    rec_commit(self, 2 * n + 2);
    memset(self->shapes, 0, sizeof self->shapes);
}

/* Fills a chunk up with a record that says nothing, writes it to the file, and then makes the tail
 * free for new records. In this order, so that a reader always finds the records in one of the two;
 * see struct lull_tape_header. */
static bool store_chunk(struct rec_thread *self, uint64_t now, uint64_t last)
{
    if (self->at < self->end) {
        self->at->record.time = now;
        self->at->record.head = lull_tape_head(LULL_TAPE_PAD, 0, 0);
        self->at->record.value = 0;
        rec_commit(self, (unsigned)(self->end - self->at));
    }
    const unsigned failed = write_full_chunk(self);
    if (failed) {
        buffer_stop(self, failed);
        return false;
    }
    if (self->flushed == 0)
        self->first = self->tail->record.time;
    self->flushed += LULL_TAPE_CHUNK;
    __atomic_store_n(&self->header->flushed, self->flushed, __ATOMIC_RELEASE);
    LULL_TAPE_FENCE(__ATOMIC_RELEASE); /* who sees new records in the tail sees `flushed`, too */
    use_chunk(self, self->tail, LULL_TAPE_CHUNK);
    if (rec_process.keeps_last)
        tell_state(self, last);
    return true;
}

/* Maps the rest of the chunk, when so far only its first page is there. */
static void complete_chunk(struct rec_thread *self)
{
    void *rest = (char *)self->tail + self->tail_size;
    const bool good =
        rec_container_map(LULL_TAPE_CHUNK - self->tail_size, rest, &self->tail_rest) != MAP_FAILED;
    if (good)
        rec_container_enter(&self->tail_rest, LULL_TAPE_PART_TAIL, self->number);
    self->tail_size = LULL_TAPE_CHUNK;
    self->end = end_of_tail(self);
    if (!good)
        buffer_stop(self, LULL_TAPE_WRITE_FAILED);
}

/* Stores a full chunk and notes how long that took, without the time in which others had the core.
 * On a machine with more threads than cores a thread may lose its core in here, and would else be
 * said to have written for many milliseconds. */
static void change_chunk(struct rec_thread *self)
{
    if (self->stream) { /* its present is that of its last record */
        store_chunk(self, rec_last_time(self), rec_last_time(self));
        return;
    }
    const struct rec_core_use before = rec_core_use_now();
    const uint64_t begin = rec_now(), last = rec_last_time(self);
    uint64_t counts[REC_MOST_COUNTERS];
    rec_sums_until(self, begin);
    if (self->n_counters > 0)
        rec_counters_hide(self, begin, counts);
    if (!store_chunk(self, begin, last))
        return;
    rec_define_clock(1000000000);
    const uint64_t end = rec_now(), took = rec_core_ticks_since(&before, end - begin);
    if (self->untold == 0)
        self->untold_from = begin;
    self->untold += took;
    self->flushing += took;
    if (self->n_counters > 0)
        rec_counters_unhide(self, end, counts);
}

/* Makes room where the tail is full. */
static void make_place(struct rec_thread *self)
{
    if (!__atomic_load_n(&self->storing, __ATOMIC_RELAXED)) {
        if (!self->stream)
            rec_sums_until(self, rec_now());
        self->at = self->tail;
    } else if (self->tail_size < LULL_TAPE_CHUNK) {
        complete_chunk(self);
    } else {
        change_chunk(self);
    }
}

/* Writes the record of how long writing a chunk took. Where records with later times have been
 * written since, they hold a part of that time, and only the rest goes into this record. */
static void tell_flush(struct rec_thread *self)
{
    uint64_t took = self->untold, from = self->untold_from, last = rec_last_time(self);
    self->untold = 0;
    if (last > from) {
        const uint64_t now = rec_now(), left = now > last ? now - last : 0;
        from = last;
        took = took < left ? took : left;
    }
    if (took == 0)
        return;
    const bool extra = took >= LULL_TAPE_OPEN;
    rec_sums_flush(self, took, from + took);
    self->at->record.time = from;
    self->at->record.head = lull_tape_head(LULL_TAPE_FLUSH, extra, LULL_TAPE_NO_ID);
    self->at->record.value = extra ? 0 : (uint32_t)took;
    if (extra) {
        self->at[1].u64[0] = took;
        self->at[1].u64[1] = 0;
    }
    rec_commit(self, 1 + extra);
}

void rec_flush(struct rec_thread *self)
{
    const struct rec_aside aside = rec_step_aside();
    self->end = end_of_tail(self);
    if (self->end - self->at <= REC_MOST_SLOTS)
        make_place(self);
    if (self->untold > 0)
        tell_flush(self);
    rec_step_back(&aside);
}

/* Where the time of writing a chunk is still to be told, `end` is set right behind the records that
 * are asked for, so that the next record comes through here or rec_flush, which tells it. */
void rec_flush_behind(struct rec_thread *self, unsigned slots)
{
    const struct rec_aside aside = rec_step_aside();
    self->end = end_of_tail(self);
    if (self->end - self->at < (ptrdiff_t)slots)
        make_place(self);
    if (self->untold > 0)
        self->end = self->at + slots;
    rec_step_back(&aside);
}

/* Gives back the pages of the tail behind the records and the call that may be open behind them. */
static void free_rest(const struct rec_thread *self, const struct lull_tape_header *header)
{
    const uint64_t used = header->committed - header->flushed + sizeof(union lull_tape_slot);
    const uint64_t pages = (used + LULL_TAPE_PAGE - 1) / LULL_TAPE_PAGE * LULL_TAPE_PAGE;
    const uint64_t first = pages > FIRST_TAIL ? pages - FIRST_TAIL : 0;
    if (first < self->tail_rest.size)
        rec_container_free(self->tail_rest.offset + first, self->tail_rest.size - (size_t)first);
}

/* Completes the header in the file. The newest records stay in the tail: they are not made a
 * chunk. */
static void close_head(const struct rec_thread *self)
{
    struct lull_tape_header header;
    if (!rec_container_read(&header, sizeof header, self->head))
        return;
    header.flags |= LULL_TAPE_CLOSED;
    ends_find(self, &header, &header.ends);
    rec_container_write(&header, sizeof header, self->head);
    free_rest(self, &header);
}

static size_t used_space(const struct rec_thread *self)
{
    return SPACE_SUMS + __atomic_load_n(&self->sums_file.size, __ATOMIC_RELAXED);
}

/* All of the thread's space becomes private memory in one step; a thread that is writing is held up
 * by the system until that is done. So the file has what the thread has written up to some moment
 * and nothing after it, as where the program is killed. Where the sums have grown meanwhile, the
 * step is repeated. */
void rec_buffer_detach(struct rec_thread *self)
{
    for (size_t size = 0; size != used_space(self);) {
        size = used_space(self);
        rec_file_freeze(self->space, size);
    }
    __atomic_store_n(&self->storing, false, __ATOMIC_RELAXED);
    rec_sums_stop(self);
}

/* The mappings are given up before the header is read: nothing changes it any more. */
void rec_buffer_end(struct rec_thread *self)
{
    if (self->closed)
        return;
    self->closed = true;
    rec_sums_end(self);
    unmap_space(self);
    close_head(self);
}

/* ==== tapes of threads that run on ============================================================ */

/* ---- what a thread has written --------------------------------------------------------------- */

/* A thread and the end of its tape, as they were read at one moment. */
struct taken_look {
    struct rec_thread thread; /* all but the shapes, which are the last */
    uint64_t until, committed;
    union lull_tape_slot next; /* behind what is committed: a call that is open */
};

/* Reads a word that another thread may be changing. Whether several such words belong together is
 * found out afterwards (stood_still), which the thread sanitizer cannot know. */
__attribute__((no_sanitize("thread"))) static uint64_t word_of(const void *words, size_t i)
{
    return ((const volatile uint64_t *)words)[i];
}

static void copy_words(void *to, const void *from, size_t size)
{
    for (size_t i = 0; i < size / sizeof(uint64_t); i++)
        ((uint64_t *)to)[i] = word_of(from, i);
}

static size_t used_bytes(const struct rec_thread *thread)
{
    return (uintptr_t)thread->at - (uintptr_t)thread->tail;
}

/* Whether `at` points into the tail with room for a slot. A pointer that was copied while the
 * thread was changing it may point anywhere. */
static bool has_next(const struct rec_thread *thread)
{
    return thread->at >= thread->tail && thread->tail_size <= LULL_TAPE_CHUNK &&
           used_bytes(thread) + sizeof *thread->at <= thread->tail_size;
}

static void look_at_thread(const struct rec_thread *thread, struct taken_look *ret_look)
{
    static_assert(offsetof(struct rec_thread, shapes) % sizeof(uint64_t) == 0, "whole words");
    struct rec_thread *copy = &ret_look->thread;
    copy_words(copy, thread, offsetof(struct rec_thread, shapes));
    ret_look->until = word_of(copy->until, 0);
    ret_look->committed = word_of(&copy->header->committed, 0);
    ret_look->next = (union lull_tape_slot){.u64 = {0, 0}};
    if (has_next(copy))
        copy_words(&ret_look->next, copy->at, sizeof ret_look->next);
}

uint64_t rec_taken_until(const struct rec_thread *thread)
{
    return word_of(thread->until, 0);
}

/* ---- mappings of the same pages -------------------------------------------------------------- */

/* Maps one extent of the file, at `offset` of the thread's space, a second time: mremap(2) with a
 * length of 0 does that for a shared mapping. */
static bool map_extent(const struct rec_thread *seen, unsigned char *space, size_t offset,
                       size_t size)
{
    return size == 0 || rec_file_remap(seen->space + offset, 0, space + offset, size);
}

/* Maps the tail a second time; where the thread keeps no events, a private chunk for the records
 * that are appended at the end. */
static bool map_tail(const struct rec_thread *seen, unsigned char *space)
{
    const size_t rest = SPACE_TAIL + LULL_TAPE_PAGE;
    if (!seen->storing)
        return mmap(space + SPACE_TAIL, LULL_TAPE_CHUNK, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
    return map_extent(seen, space, SPACE_TAIL, LULL_TAPE_PAGE) &&
           map_extent(seen, space, rest, seen->tail_size - LULL_TAPE_PAGE);
}

static bool map_sums(const struct rec_thread *seen, unsigned char *space)
{
    const struct rec_sums *sums = &seen->sums_file;
    size_t offset = SPACE_SUMS;
    for (uint32_t i = 0; i < sums->n_parts; offset += sums->parts[i++])
        if (sums->parts[i] == 0 || !map_extent(seen, space, offset, sums->parts[i]))
            return false;
    return true;
}

/* Maps the whole of the thread's space a second time; NULL: no memory. */
static unsigned char *map_beside(const struct rec_thread *seen)
{
    unsigned char *space =
        mmap(NULL, seen->space_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED)
        return NULL;
    if (map_extent(seen, space, 0, LULL_TAPE_HEADER_SIZE) && map_tail(seen, space) &&
        map_sums(seen, space))
        return space;
    munmap(space, seen->space_size);
    return NULL;
}

/* ---- taking ---------------------------------------------------------------------------------- */

static void move_to(struct rec_thread *taken, unsigned char *space)
{
    const size_t used = used_bytes(taken) / sizeof *taken->at;
    union lull_tape_slot *tail = (union lull_tape_slot *)(void *)(space + SPACE_TAIL);
    taken->space = space;
    taken->header = (struct lull_tape_header *)(void *)space;
    taken->sums_file.header = (struct lull_tape_sums_header *)(void *)(space + SPACE_SUMS);
    taken->sums = (unsigned char *)(taken->sums_file.header + 1);
    taken->until = &taken->sums_file.header->end;
    if (taken->storing) {
        taken->bias += (uint64_t)(uintptr_t)taken->tail - (uint64_t)(uintptr_t)tail;
        taken->committed = &taken->header->committed;
        taken->at = tail + used;
    } else {
        taken->tail_size = LULL_TAPE_CHUNK;
        taken->committed = &taken->nowhere;
        taken->at = tail;
    }
    taken->tail = tail;
    taken->end = tail + taken->tail_size / sizeof *tail;
}

/* Whether the thread has written nothing since `before`, and all that it has written is in the
 * file. A commit changes `at` before the committed length in the file, so that half a commit is
 * seen. */
static bool stood_still(const struct taken_look *before, const struct taken_look *after)
{
    const struct rec_thread *one = &before->thread, *other = &after->thread;
    return one->begun && one->at == other->at && one->gate == other->gate &&
           one->tail == other->tail && one->tail_size == other->tail_size &&
           one->flushed == other->flushed && one->inside == other->inside &&
           one->n_frames == other->n_frames && one->sums_file.n_parts == other->sums_file.n_parts &&
           before->until == after->until && before->next.u64[0] == after->next.u64[0] &&
           before->next.u64[1] == after->next.u64[1] &&
           (!one->storing || (uint64_t)(uintptr_t)other->at + other->bias == after->committed);
}

/* Reads the thread as it is now, and what its file holds, now that the thread no longer writes
 * there. */
static void look_beside(const struct rec_thread *thread, const struct taken_look *before,
                        unsigned char *space, struct taken_look *ret_look)
{
    struct rec_thread *now = &ret_look->thread;
    look_at_thread(thread, ret_look);
    now->storing = before->thread.storing; /* rec_buffer_detach has changed both in the thread */
    now->sums_file.full = before->thread.sums_file.full;
    if (now->storing && before->thread.tail == now->tail && has_next(now))
        copy_words(&ret_look->next, space + SPACE_TAIL + used_bytes(now), sizeof ret_look->next);
    ret_look->committed = word_of(&((struct lull_tape_header *)(void *)space)->committed, 0);
    ret_look->until =
        word_of(&((struct lull_tape_sums_header *)(void *)(space + SPACE_SUMS))->end, 0);
}

bool rec_taken_from(struct rec_thread *thread, struct rec_thread *ret_taken)
{
    static struct taken_look before, after; /* too large for a stack */
    look_at_thread(thread, &before);
    unsigned char *space = map_beside(&before.thread);
    rec_buffer_detach(thread);
    thread->closed = true;
    if (space)
        look_beside(thread, &before, space, &after);
    if (space && stood_still(&before, &after)) {
        *ret_taken = after.thread;
        move_to(ret_taken, space);
        if (!ret_taken->storing)
            *ret_taken->at = after.next;
        return true;
    }
    if (space)
        munmap(space, before.thread.space_size);
    return false;
}
