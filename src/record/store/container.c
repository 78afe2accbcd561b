#include "record/store/container.h"

#include "record/core.h"
#include "record/store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    struct rec_file file;
    struct lull_tape_process_header *header; /* NULL: there is no file */
    struct lull_tape_extent *tables[LULL_TAPE_TABLES];
    char path[REC_PATH]; /* too large for the stacks of some threads */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = {.fd = -1}};

/* ---- the file, with the lock held --------------------------------------------------------------
 */

/* The program may have closed it. */
static bool open_again(void)
{
    return rec_file_open(&all.file, all.path);
}

static void *map_part(void *at, size_t size, uint64_t offset)
{
    if (!open_again() || !rec_file_extend(&all.file, offset, size))
        return MAP_FAILED;
    return mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE | (at ? MAP_FIXED : 0),
                all.file.fd, (off_t)offset);
}

static struct lull_tape_extent *first_table(void)
{
    return (struct lull_tape_extent *)(all.header + 1);
}

/* With a new table where it needs one; NULL: there is no place for that. */
static struct lull_tape_extent *extent_at(uint32_t number)
{
    uint32_t place;
    const int t = lull_tape_table_of(number, &place);
    if (t < 0)
        return first_table() + place;
    if (t >= LULL_TAPE_TABLES)
        return NULL;
    if (!all.tables[t]) {
        const size_t size = ((size_t)256 << t) * sizeof **all.tables;
        const uint64_t offset = all.header->end;
        void *table = map_part(NULL, size, offset);
        if (table == MAP_FAILED)
            return NULL;
        all.tables[t] = table;
        __atomic_store_n(&all.header->end, offset + size, __ATOMIC_RELAXED);
        __atomic_store_n(&all.header->tables[t], offset, __ATOMIC_RELEASE);
    }
    return all.tables[t] + place;
}

/* What is given out is so for ever: who dies or fails before it is entered leaves a gap. */
static void give_out(size_t size, struct rec_extent *ret_extent)
{
    struct lull_tape_process_header *header = all.header;
    *ret_extent = (struct rec_extent){header->end, size, header->n_extents};
    __atomic_store_n(&header->end, header->end + size, __ATOMIC_RELAXED);
    __atomic_store_n(&header->n_extents, header->n_extents + 1, __ATOMIC_RELEASE);
}

static bool begin_file(void)
{
    all.header = map_part(NULL, LULL_TAPE_PAGE, 0);
    if (all.header == MAP_FAILED)
        return false;
    all.header->version = LULL_TAPE_VERSION;
    all.header->byte_order = LULL_TAPE_BYTE_ORDER;
    all.header->header_size = sizeof *all.header;
    all.header->process = rec_process.number;
    all.header->end = LULL_TAPE_PAGE;
    memcpy(all.header->magic, LULL_TAPE_PROCESS_MAGIC, sizeof all.header->magic);
    return true;
}

static void drop_file(void)
{
    const int reason = errno;
    rec_file_close(&all.file);
    unlink(all.path);
    all.header = NULL;
    errno = reason;
}

/* ---- what others see --------------------------------------------------------------------------
 */

bool rec_container_create(void)
{
    pthread_mutex_lock(&all.lock);
    rec_file_path(all.path, "tape");
    bool good = rec_file_create(&all.file, all.path);
    if (good && !begin_file()) {
        drop_file();
        good = false;
    }
    pthread_mutex_unlock(&all.lock);
    return good;
}

void rec_container_drop(void)
{
    pthread_mutex_lock(&all.lock);
    if (all.header)
        drop_file();
    pthread_mutex_unlock(&all.lock);
}

void *rec_container_map(size_t size, void *at, struct rec_extent *ret_extent)
{
    void *mapping = MAP_FAILED;
    pthread_mutex_lock(&all.lock);
    if (all.header && extent_at(all.header->n_extents))
        mapping = map_part(at, size, all.header->end);
    if (mapping != MAP_FAILED)
        give_out(size, ret_extent);
    pthread_mutex_unlock(&all.lock);
    return mapping;
}

bool rec_container_reserve(size_t size, struct rec_extent *ret_extent)
{
    pthread_mutex_lock(&all.lock);
    const bool good = all.header && extent_at(all.header->n_extents);
    if (good)
        give_out(size, ret_extent);
    pthread_mutex_unlock(&all.lock);
    return good;
}

static void set_entry(const struct rec_extent *extent, uint32_t pages, enum lull_tape_part part,
                      uint32_t location)
{
    pthread_mutex_lock(&all.lock);
    struct lull_tape_extent *entry = extent_at(extent->number); /* its table is there */
    if (entry) {
        entry->page = (uint32_t)(extent->offset / LULL_TAPE_PAGE);
        entry->pages = pages;
        entry->location = location;
        __atomic_store_n(&entry->part, (uint32_t)part, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&all.lock);
}

void rec_container_enter(const struct rec_extent *extent, enum lull_tape_part part,
                         uint32_t location)
{
    set_entry(extent, (uint32_t)(extent->size / LULL_TAPE_PAGE), part, location);
}

void rec_container_enter_chunk(const struct rec_extent *extent, uint32_t location, uint32_t number)
{
    set_entry(extent, number, LULL_TAPE_PART_RING, location);
}

void rec_container_vacate(const struct rec_extent *extent)
{
    pthread_mutex_lock(&all.lock);
    struct lull_tape_extent *entry = extent_at(extent->number);
    if (entry)
        __atomic_store_n(&entry->part, (uint32_t)LULL_TAPE_PART_NONE, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&all.lock);
}

/* For one call: others may open it again meanwhile. */
static struct rec_file file_now(void)
{
    pthread_mutex_lock(&all.lock);
    open_again();
    const struct rec_file file = all.file;
    pthread_mutex_unlock(&all.lock);
    return file;
}

bool rec_container_write(const void *bytes, size_t size, uint64_t offset)
{
    const struct rec_file file = file_now();
    return rec_file_write(&file, bytes, size, (off_t)offset);
}

bool rec_container_read(void *bytes, size_t size, uint64_t offset)
{
    const struct rec_file file = file_now();
    return file.fd >= 0 && pread(file.fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

void rec_container_free(uint64_t offset, size_t size)
{
    const struct rec_file file = file_now();
    if (file.fd >= 0 && size > 0 &&
        fallocate(file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                  (off_t)size) != 0) {
        /* it keeps its blocks */
    }
}
