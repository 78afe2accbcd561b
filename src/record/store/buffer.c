#include "record/store/buffer.h"

#include "record/aside.h"
#include "record/store/file.h"
#include "record/thread/cores.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What a thread has of its chunk until it needs more: many threads make a few records only. */
enum { FIRST_TAIL = 4096, SLOTS = LULL_TAPE_CHUNK / sizeof(union lull_tape_slot) };

/* Paths and copies are too large for the stacks of some threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char path[REC_PATH];
static union lull_tape_slot copy[SLOTS + 1];

/* With the lock held: the path of one of the thread's files. */
static const char *path_of(const struct rec_thread *self, const char *what)
{
    return rec_file_path(path, self, what);
}

/* Maps a part of a file with all pages present. Its blocks are asked for, so that a full disk fails
 * here and not with SIGBUS in the middle of the program. */
static bool map_part(const struct rec_file *file, void *at, size_t from, size_t to)
{
    return rec_file_extend(file, to) &&
           mmap((char *)at + from, to - from, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_POPULATE | MAP_FIXED, file->fd, (off_t)from) != MAP_FAILED;
}

/* With the lock held: creates one of the thread's files in `whole` bytes of address space, of which
 * `size` are there. */
static void *create_mapped(const struct rec_thread *self, const char *what, size_t size,
                           size_t whole, struct rec_file *file)
{
    if (!rec_file_create(file, path_of(self, what)))
        return NULL;
    void *space = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED || !map_part(file, space, 0, size)) {
        int reason = errno;
        if (space != MAP_FAILED)
            munmap(space, whole);
        rec_file_close(file);
        unlink(path);
        errno = reason;
        return NULL;
    }
    return space;
}

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

static void fill_header(struct rec_thread *self)
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
    header->source_id = self->number;
    rec_buffer_name(self);
    memcpy(header->magic, LULL_TAPE_MAGIC, sizeof header->magic);
}

static bool begin_tail(struct rec_thread *self)
{
    self->storing = !rec_process.profile;
    if (!self->storing)
        return use_private_chunk(self);
    void *tail = create_mapped(self, "tail", FIRST_TAIL, LULL_TAPE_CHUNK, &self->tail_file);
    if (!tail)
        return false;
    rec_file_close(&self->tail_file);
    use_chunk(self, tail, FIRST_TAIL);
    return true;
}

/* With the lock held; sets errno. */
static bool begin_files(struct rec_thread *self)
{
    const size_t size = LULL_TAPE_HEADER_SIZE;
    if (!begin_tail(self))
        return false;
    self->header = create_mapped(self, "tape", size, size, &self->file);
    if (self->header && rec_sums_begin(self))
        return true;
    int reason = errno;
    munmap(self->tail, LULL_TAPE_CHUNK);
    if (self->storing)
        unlink(path_of(self, "tail"));
    if (self->header) {
        munmap(self->header, size);
        rec_file_close(&self->file);
        unlink(path_of(self, "tape"));
    }
    errno = reason;
    return false;
}

bool rec_buffer_begin(struct rec_thread *self)
{
    pthread_mutex_lock(&lock);
    bool good = begin_files(self);
    pthread_mutex_unlock(&lock);
    if (!good)
        return false;
    if (self->storing)
        self->committed = &self->header->committed;
    fill_header(self);
    return true;
}

void rec_buffer_stop(struct rec_thread *self, unsigned flag)
{
    __atomic_fetch_or(&self->header->flags, (uint16_t)flag, __ATOMIC_RELAXED);
    if (use_private_chunk(self))
        return;
    self->at = self->tail; /* no memory: nothing more to be had, not even sums */
    self->committed = &self->nowhere;
    self->gate |= REC_GATE_CLOSED;
}

static bool write_chunk(struct rec_thread *self)
{
    const off_t end = (off_t)(LULL_TAPE_HEADER_SIZE + self->flushed);
    if (rec_file_write(&self->file, self->tail, LULL_TAPE_CHUNK, end))
        return true;
    if (errno != EBADF)
        return false;
    pthread_mutex_lock(&lock); /* the program may have closed it */
    bool good = rec_file_open(&self->file, path_of(self, "tape"));
    pthread_mutex_unlock(&lock);
    return good && rec_file_write(&self->file, self->tail, LULL_TAPE_CHUNK, end);
}

/* The chunk goes into the file before its place is given free, so that it is always in one of
 * the two; see struct lull_tape_header. */
static bool store_chunk(struct rec_thread *self, uint64_t now)
{
    if (self->at < self->end) {
        self->at->record.time = now;
        self->at->record.head = lull_tape_head(LULL_TAPE_PAD, 0, 0);
        self->at->record.value = 0;
        rec_commit(self, (unsigned)(self->end - self->at));
    }
    uint64_t used = __atomic_add_fetch(&rec_process.used, LULL_TAPE_CHUNK, __ATOMIC_RELAXED);
    if (used > rec_process.budget) {
        rec_buffer_stop(self, LULL_TAPE_BUDGET_REACHED);
        return false;
    }
    if (!write_chunk(self)) {
        rec_buffer_stop(self, LULL_TAPE_WRITE_FAILED);
        return false;
    }
    self->flushed += LULL_TAPE_CHUNK;
    __atomic_store_n(&self->header->flushed, self->flushed, __ATOMIC_RELEASE);
    use_chunk(self, self->tail, LULL_TAPE_CHUNK);
    return true;
}

/* The first time, when only a part of the chunk is there. */
static void complete_chunk(struct rec_thread *self)
{
    pthread_mutex_lock(&lock);
    bool good = rec_file_open(&self->tail_file, path_of(self, "tail")) &&
                map_part(&self->tail_file, self->tail, self->tail_size, LULL_TAPE_CHUNK);
    rec_file_close(&self->tail_file);
    pthread_mutex_unlock(&lock);
    self->tail_size = LULL_TAPE_CHUNK;
    self->end = end_of_tail(self);
    if (!good)
        rec_buffer_stop(self, LULL_TAPE_WRITE_FAILED);
}

/* Finds place behind what is there, and notes how long that took where a chunk was full. */
static void make_place(struct rec_thread *self)
{
    uint64_t begin = rec_now(), counts[REC_MOST_COUNTERS];
    if (self->storing && self->tail_size < LULL_TAPE_CHUNK) {
        complete_chunk(self);
        return;
    }
    rec_sums_until(self, begin);
    if (!self->storing) {
        self->at = self->tail;
        return;
    }
    if (self->n_counters > 0)
        rec_counters_hide(self, begin, counts);
    if (!store_chunk(self, begin))
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

/* With the lock held: what stands in the tail comes to the end of the tape file, with the call
 * behind it that is open. */
static bool move_tail(const struct rec_thread *self, const struct lull_tape_header *header)
{
    size_t slots = (size_t)(header->committed - header->flushed) / sizeof *copy;
    int tail = open(path_of(self, "tail"), O_RDONLY | O_CLOEXEC);
    memset(copy, 0, sizeof copy);
    bool good = tail >= 0 && slots <= SLOTS &&
                pread(tail, copy, LULL_TAPE_CHUNK, 0) >= (ssize_t)(slots * sizeof *copy);
    const struct lull_tape_record *behind = &copy[good ? slots : 0].record;
    slots += lull_tape_kind_of(behind->head) == LULL_TAPE_CALL && behind->value == LULL_TAPE_OPEN;
    good = good && rec_file_write(&self->file, copy, slots * sizeof *copy,
                                  (off_t)(LULL_TAPE_HEADER_SIZE + header->flushed));
    if (tail >= 0)
        close(tail);
    return good;
}

/* With the lock held. When the disk is full, the records stay in the tail, where a reader finds
 * them too. */
static void close_file(struct rec_thread *self)
{
    struct lull_tape_header header;
    if (!rec_file_open(&self->file, path_of(self, "tape")))
        return;
    if (pread(self->file.fd, &header, sizeof header, 0) == (ssize_t)sizeof header) {
        bool tailed = header.flags & LULL_TAPE_TAILED, moved = tailed && move_tail(self, &header);
        header.flags |= LULL_TAPE_CLOSED;
        if (moved)
            header.flags &= (uint16_t)~LULL_TAPE_TAILED;
        if (rec_file_write(&self->file, &header, sizeof header, 0) && moved)
            unlink(path_of(self, "tail"));
    }
    rec_file_close(&self->file);
}

/* The mappings become private memory in one step each: a thread that still runs (of a pool, at the
 * end of the process) may write on into it. */
void rec_buffer_detach(struct rec_thread *self)
{
    self->storing = false;
    rec_file_freeze(self->tail, LULL_TAPE_CHUNK);
    rec_file_freeze(self->header, LULL_TAPE_HEADER_SIZE);
    rec_sums_detach(self);
}

/* The files are frozen before they are looked at. */
void rec_buffer_end(struct rec_thread *self, bool running)
{
    if (self->closed)
        return;
    self->closed = true;
    if (running) {
        rec_buffer_detach(self);
    } else {
        munmap(self->tail, LULL_TAPE_CHUNK);
        munmap(self->header, LULL_TAPE_HEADER_SIZE);
    }
    rec_sums_end(self, running);
    pthread_mutex_lock(&lock);
    close_file(self);
    pthread_mutex_unlock(&lock);
}
