#include "record/store/buffer.h"

#include "record/store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS = LULL_TAPE_CHUNK / sizeof(union lull_tape_slot) };

/* Where the committed length goes that nobody will read. */
static uint64_t nowhere;

static void path_of(const struct rec_thread *self, const char *what, char *path, size_t size)
{
    snprintf(path, size, "%s/%u.%u.%s", rec_process.folder, rec_process.number, self->number, what);
}

/* Creates a file of `size` bytes whose blocks exist, so that a full disk fails here and not with
 * SIGBUS in the middle of the program, and maps it with all pages present. */
static void *create_mapped(const char *path, size_t size, int *ret_fd)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return NULL;
    void *space = MAP_FAILED;
    if (rec_file_extend(fd, size))
        space = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (space == MAP_FAILED) {
        close(fd);
        unlink(path);
        return NULL;
    }
    *ret_fd = fd;
    return space;
}

static void use_chunk(struct rec_thread *self, union lull_tape_slot *chunk)
{
    self->tail = chunk;
    self->at = chunk;
    self->end = chunk + SLOTS;
    self->bias = self->flushed - (uint64_t)(uintptr_t)chunk;
}

static bool use_private_chunk(struct rec_thread *self)
{
    void *chunk = mmap(NULL, LULL_TAPE_CHUNK, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (chunk == MAP_FAILED)
        return false;
    self->storing = false;
    self->committed = &nowhere;
    use_chunk(self, chunk);
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

bool rec_buffer_begin(struct rec_thread *self)
{
    char path[4096];
    self->storing = !rec_process.profile;
    if (self->storing) {
        path_of(self, "tail", path, sizeof path);
        int fd;
        void *tail = create_mapped(path, LULL_TAPE_CHUNK, &fd);
        if (!tail)
            return false;
        close(fd);
        use_chunk(self, tail);
    } else if (!use_private_chunk(self)) {
        return false;
    }
    char tape_path[4096];
    path_of(self, "tape", tape_path, sizeof tape_path);
    self->header = create_mapped(tape_path, LULL_TAPE_HEADER_SIZE, &self->fd);
    if (!self->header || !rec_sums_begin(self)) {
        munmap(self->tail, LULL_TAPE_CHUNK);
        if (self->storing)
            unlink(path);
        if (self->header) {
            munmap(self->header, LULL_TAPE_HEADER_SIZE);
            close(self->fd);
            unlink(tape_path);
        }
        return false;
    }
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
    self->committed = &nowhere;
    self->depth = UINT32_MAX / 2;
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
    if (!rec_file_write(self->fd, self->tail, LULL_TAPE_CHUNK,
                        (off_t)(LULL_TAPE_HEADER_SIZE + self->flushed))) {
        rec_buffer_stop(self, LULL_TAPE_WRITE_FAILED);
        return false;
    }
    self->flushed += LULL_TAPE_CHUNK;
    __atomic_store_n(&self->header->flushed, self->flushed, __ATOMIC_RELEASE);
    use_chunk(self, self->tail);
    return true;
}

/* Goes on to a fresh chunk, and notes how long that took. */
static void change_chunk(struct rec_thread *self)
{
    uint64_t begin = rec_now(), counts[REC_MOST_COUNTERS];
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
    uint64_t end = rec_now();
    if (self->untold == 0)
        self->untold_from = begin;
    self->untold += end - begin;
    self->flushing += end - begin;
    if (self->n_counters > 0)
        rec_counters_unhide(self, end, counts);
}

static void tell_flush(struct rec_thread *self)
{
    uint64_t took = self->untold, last = rec_last_time(self);
    uint64_t from = self->untold_from > last ? self->untold_from : last;
    rec_sums_flush(self, took, from + took);
    self->at->record.time = from;
    self->at->record.head = lull_tape_head(LULL_TAPE_FLUSH, 0, LULL_TAPE_NO_ID);
    self->at->record.value = took < LULL_TAPE_OPEN ? (uint32_t)took : LULL_TAPE_OPEN - 1;
    rec_commit(self, 1);
    self->untold = 0;
}

void rec_flush(struct rec_thread *self)
{
    self->end = self->tail + SLOTS;
    if (self->end - self->at <= REC_MOST_SLOTS)
        change_chunk(self);
    if (self->untold > 0)
        tell_flush(self);
}

/* The place ends where the records do that are asked for: so that whoever comes next comes here or
 * to rec_flush. */
void rec_flush_behind(struct rec_thread *self, unsigned slots)
{
    self->end = self->tail + SLOTS;
    if (self->end - self->at < (ptrdiff_t)slots)
        change_chunk(self);
    if (self->untold > 0)
        self->end = self->at + slots;
}

/* What stands in the tail comes to the end of the tape file. */
static bool move_tail(int fd, const char *tail_path, const struct lull_tape_header *header)
{
    char chunk[LULL_TAPE_CHUNK];
    size_t size = (size_t)(header->committed - header->flushed);
    int tail = open(tail_path, O_RDONLY | O_CLOEXEC);
    bool good = tail >= 0 && size <= sizeof chunk && pread(tail, chunk, size, 0) == (ssize_t)size &&
                rec_file_write(fd, chunk, size, (off_t)(LULL_TAPE_HEADER_SIZE + header->flushed));
    if (tail >= 0)
        close(tail);
    return good;
}

/* When the disk is full, the records stay in the tail, where a reader finds them too. */
static void close_file(const struct rec_thread *self, int fd)
{
    char path[4096];
    struct lull_tape_header header;
    path_of(self, "tail", path, sizeof path);
    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return;
    bool tailed = header.flags & LULL_TAPE_TAILED, moved = tailed && move_tail(fd, path, &header);
    header.flags |= LULL_TAPE_CLOSED;
    if (moved)
        header.flags &= (uint16_t)~LULL_TAPE_TAILED;
    if (rec_file_write(fd, &header, sizeof header, 0) && moved)
        unlink(path);
}

/* The files are frozen before they are looked at: the mappings become private memory in one step
 * each, into which a thread that still runs (of a pool, at the end of the process) may write on. */
void rec_buffer_end(struct rec_thread *self, bool running)
{
    int fd = self->fd;
    self->fd = -1;
    if (fd < 0)
        return;
    if (running) {
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
        mmap(self->tail, LULL_TAPE_CHUNK, PROT_READ | PROT_WRITE, flags, -1, 0);
        mmap(self->header, LULL_TAPE_HEADER_SIZE, PROT_READ | PROT_WRITE, flags, -1, 0);
    } else {
        munmap(self->tail, LULL_TAPE_CHUNK);
        munmap(self->header, LULL_TAPE_HEADER_SIZE);
    }
    rec_sums_end(self, running);
    close_file(self, fd);
    close(fd);
}
