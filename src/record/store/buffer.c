#include "record/store/buffer.h"

#include "record/aside.h"
#include "record/store/ends.h"
#include "record/store/file.h"
#include "record/store/ring.h"
#include "record/thread/cores.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* What a thread has of its chunk until it needs more: many threads make a few records only. */
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
    if (self->number == 0)
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
    header->role = self->role;
    header->flags = rec_process.profile ? LULL_TAPE_PROFILE : LULL_TAPE_TAILED;
    if (rec_process.keeps_last)
        header->flags |= LULL_TAPE_RING;
    header->source_id = self->number;
    rec_buffer_name(self);
    memcpy(header->magic, LULL_TAPE_MAGIC, sizeof header->magic);
}

/* Addresses for the header, the tail and the sums, one behind the other. */
static bool begin_space(struct rec_thread *self)
{
    const size_t size = REC_SPACE_SUMS + rec_sums_space();
    void *space = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED)
        return false;
    self->space = space;
    self->space_size = size;
    return true;
}

static union lull_tape_slot *mapped_tail(const struct rec_thread *self)
{
    return (union lull_tape_slot *)(void *)(self->space + REC_SPACE_TAIL);
}

static void unmap_space(struct rec_thread *self)
{
    if (self->tail && self->tail != mapped_tail(self))
        munmap(self->tail, LULL_TAPE_CHUNK);
    munmap(self->space, self->space_size);
}

/* Of the chunk the first page is there. */
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

/* The head is entered last: with it the location is there, and all that it needs. */
bool rec_buffer_begin(struct rec_thread *self)
{
    struct rec_extent head;
    if (!begin_space(self))
        return false;
    if (!begin_tail(self) || !begin_head(self, &head) ||
        !rec_sums_begin(self, self->space + REC_SPACE_SUMS, self->space_size - REC_SPACE_SUMS)) {
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

void rec_buffer_stop(struct rec_thread *self, unsigned flag)
{
    __atomic_fetch_or(&self->header->flags, (uint16_t)flag, __ATOMIC_RELAXED);
    if (use_private_chunk(self))
        return;
    self->at = self->tail; /* no memory: nothing more to be had, not even sums */
    self->committed = &self->nowhere;
    rec_gate_set(self, rec_gate_of(self) | REC_GATE_CLOSED);
}

/* Several at once where there are many, so that those of a location stand beside each other. */
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

/* Returns the flag that says why it could not, 0 if it could. */
static unsigned write_full_chunk(struct rec_thread *self)
{
    if (rec_process.keeps_last)
        return rec_ring_store(self->tail, self->number, (uint32_t)(self->flushed / LULL_TAPE_CHUNK))
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

/* The state of the thread, at the begin of a chunk of a ring. All calls have new shapes. `last`: no
 * record has an earlier time that is yet to come. */
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

/* The chunk goes into the file before its place is given free, so that it is always in one of
 * the two; see struct lull_tape_header. */
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
        rec_buffer_stop(self, failed);
        return false;
    }
    if (self->flushed == 0)
        self->first = self->tail->record.time;
    self->flushed += LULL_TAPE_CHUNK;
    __atomic_store_n(&self->header->flushed, self->flushed, __ATOMIC_RELEASE);
    use_chunk(self, self->tail, LULL_TAPE_CHUNK);
    if (rec_process.keeps_last)
        tell_state(self, last);
    return true;
}

/* The first time, when only a part of the chunk is there. */
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
        rec_buffer_stop(self, LULL_TAPE_WRITE_FAILED);
}

/* Finds place behind what is there, and notes how long that took where a chunk was full. */
static void make_place(struct rec_thread *self)
{
    uint64_t begin = rec_now(), last = rec_last_time(self), counts[REC_MOST_COUNTERS];
    const bool storing = __atomic_load_n(&self->storing, __ATOMIC_RELAXED);
    if (storing && self->tail_size < LULL_TAPE_CHUNK) {
        complete_chunk(self);
        return;
    }
    rec_sums_until(self, begin);
    if (!storing) {
        self->at = self->tail;
        return;
    }
    if (self->n_counters > 0)
        rec_counters_hide(self, begin, counts);
    if (!store_chunk(self, begin, last))
        return;
    rec_define_clock(1000000000);
    rec_cores_read(self);
    uint64_t end = rec_now();
    if (self->untold == 0)
        self->untold_from = begin;
    self->untold += end - begin;
    self->flushing += end - begin;
    if (self->n_counters > 0)
        rec_counters_unhide(self, end, counts);
}

/* Where records lie behind the writing already, they hold a part of its time, and the rest is
 * told. */
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

/* The place ends where the records do that are asked for: so that whoever comes next comes here or
 * to rec_flush. */
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

/* Pages of the tail behind the records, and behind the call that may be open there. */
static void free_rest(const struct rec_thread *self, const struct lull_tape_header *header)
{
    const uint64_t used = header->committed - header->flushed + sizeof(union lull_tape_slot);
    const uint64_t pages = (used + LULL_TAPE_PAGE - 1) / LULL_TAPE_PAGE * LULL_TAPE_PAGE;
    const uint64_t first = pages > FIRST_TAIL ? pages - FIRST_TAIL : 0;
    if (first < self->tail_rest.size)
        rec_container_free(self->tail_rest.offset + first, self->tail_rest.size - (size_t)first);
}

/* The newest records stay where they are, behind the chunks. */
static void close_head(const struct rec_thread *self)
{
    struct lull_tape_header header;
    if (!rec_container_read(&header, sizeof header, self->head))
        return;
    header.flags |= LULL_TAPE_CLOSED;
    rec_ends_find(self, &header, &header.ends);
    rec_container_write(&header, sizeof header, self->head);
    free_rest(self, &header);
}

static size_t used_space(const struct rec_thread *self)
{
    return REC_SPACE_SUMS + __atomic_load_n(&self->sums_file.size, __ATOMIC_RELAXED);
}

/* All of it becomes private memory in one step, and a thread that is writing stops at the next word
 * until that is done: so the file has what it has written up to some moment, and nothing behind it,
 * as where the program is killed. Sums that grow meanwhile are taken with a second step. */
void rec_buffer_detach(struct rec_thread *self)
{
    for (size_t size = 0; size != used_space(self);) {
        size = used_space(self);
        rec_file_freeze(self->space, size);
    }
    __atomic_store_n(&self->storing, false, __ATOMIC_RELAXED);
    rec_sums_stop(self);
}

/* The mappings are gone before the header is looked at. */
void rec_buffer_end(struct rec_thread *self)
{
    if (self->closed)
        return;
    self->closed = true;
    rec_sums_end(self);
    unmap_space(self);
    close_head(self);
}
