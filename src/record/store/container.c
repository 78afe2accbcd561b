/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/store/container.h"

#include "record/core.h"
#include "record/store/file.h"
#include "tape/container.h"
#include "tape/definition.h"
#include "tape/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== extents ================================================================================= */

static struct {
    pthread_mutex_t lock;
    struct rec_file file;
    struct lull_tape_process_header *header; /* NULL: there is no file */
    struct lull_tape_extent *tables[LULL_TAPE_TABLES];
    struct lull_tape_container_header
        *node; /* header of the file of the node; NULL: the file is this process's own */
    struct lull_tape_container_entry *entry; /* of this process in the file of the node */
    char path[REC_PATH];                     /* too large for the stacks of some threads */
} own_container = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = {.fd = -1}};

/* ---- the file, with the lock held ------------------------------------------------------------ */

/* Opens the file again where the program has closed its descriptor. */
static bool open_again(void)
{
    return rec_file_open(&own_container.file, own_container.path);
}

static void *map_part(void *at, size_t size, uint64_t offset)
{
    if (!open_again() || !rec_file_extend(&own_container.file, offset, size))
        return MAP_FAILED;
    return mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE | (at ? MAP_FIXED : 0),
                own_container.file.fd, (off_t)offset);
}

/* Where the used part of the file ends; other processes change this in the file of a node. */
static uint64_t *end_of_file(void)
{
    return own_container.node ? &own_container.node->end : &own_container.header->end;
}

/* Takes `size` bytes at the end of the file. A process that dies or fails before it enters them in
 * a table leaves a gap in the file. */
static bool take_space(size_t size, uint64_t *ret_offset)
{
    /* The most that the entries can address, less what other processes may take between the load
     * and the addition below. */
    static const uint64_t most = (uint64_t)(UINT32_MAX - (1 << 20)) * LULL_TAPE_PAGE;
    errno = EFBIG;
    if (__atomic_load_n(end_of_file(), __ATOMIC_RELAXED) > most - size)
        return false;
    *ret_offset = __atomic_fetch_add(end_of_file(), size, __ATOMIC_RELAXED);
    return true;
}

/* Gives an extent back, unless another process has taken space behind it. */
static void give_extent_back(size_t size, uint64_t offset)
{
    uint64_t end = offset + size;
    __atomic_compare_exchange_n(end_of_file(), &end, offset, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
}

/* Takes space and maps it. */
static void *map_space(void *at, size_t size, uint64_t *ret_offset)
{
    if (!take_space(size, ret_offset))
        return MAP_FAILED;
    void *mapping = map_part(at, size, *ret_offset);
    const int reason = errno;
    if (mapping == MAP_FAILED)
        give_extent_back(size, *ret_offset);
    errno = reason;
    return mapping;
}

static struct lull_tape_extent *first_table(void)
{
    return (struct lull_tape_extent *)(own_container.header + 1);
}

/* The entry with that number in the tables, to which a table is added where needed; NULL: there is
 * no space for another table. */
static struct lull_tape_extent *extent_at(uint32_t number)
{
    uint32_t place;
    const int t = lull_tape_table_of(number, &place);
    if (t < 0)
        return first_table() + place;
    if (t >= LULL_TAPE_TABLES)
        return NULL;
    if (!own_container.tables[t]) {
        uint64_t offset;
        void *table = map_space(NULL, ((size_t)256 << t) * sizeof **own_container.tables, &offset);
        if (table == MAP_FAILED)
            return NULL;
        own_container.tables[t] = table;
        __atomic_store_n(&own_container.header->tables[t], offset, __ATOMIC_RELEASE);
    }
    return own_container.tables[t] + place;
}

/* Gives space that was taken the next number of an entry. */
static void number_extent(uint64_t offset, size_t size, struct rec_extent *ret_extent)
{
    struct lull_tape_process_header *header = own_container.header;
    *ret_extent = (struct rec_extent){offset, size, header->n_extents};
    __atomic_store_n(&header->n_extents, header->n_extents + 1, __ATOMIC_RELEASE);
}

static void fill_process_header(struct lull_tape_process_header *header)
{
    header->version = LULL_TAPE_VERSION;
    header->byte_order = LULL_TAPE_BYTE_ORDER;
    header->header_size = sizeof *header;
    header->process = rec_process.number;
    memcpy(header->magic, LULL_TAPE_PROCESS_MAGIC, sizeof header->magic);
}

static bool begin_file(void)
{
    own_container.header = map_part(NULL, LULL_TAPE_PAGE, 0);
    if (own_container.header == MAP_FAILED)
        return false;
    own_container.header->end = LULL_TAPE_PAGE;
    fill_process_header(own_container.header);
    return true;
}

/* ---- the file of the node, with the lock held ------------------------------------------------ */

static struct lull_tape_container_entry *map_entries(unsigned table)
{
    const size_t size = ((size_t)256 << table) * sizeof(struct lull_tape_container_entry);
    uint64_t offset = __atomic_load_n(&own_container.node->tables[table], __ATOMIC_ACQUIRE);
    void *entries = MAP_FAILED;
    if (offset == 0) {
        uint64_t fresh;
        entries = map_space(NULL, size, &fresh);
        if (entries == MAP_FAILED ||
            __atomic_compare_exchange_n(&own_container.node->tables[table], &offset, fresh, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return entries != MAP_FAILED ? entries : NULL;
        munmap(entries, size); /* another process was faster */
        give_extent_back(size, fresh);
    }
    /* The table has its blocks already. rec_file_extend must not ask for them again: where the file
     * system cannot do that by itself, the C library writes zeros, perhaps over what other
     * processes have written. */
    entries =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, own_container.file.fd, (off_t)offset);
    return entries != MAP_FAILED ? entries : NULL;
}

/* Takes the first free entry. A process that takes an entry has seen the owners of all entries
 * before it, and owners never change: so no process number has two entries. */
static enum rec_joined take_among(struct lull_tape_container_entry *entries, uint32_t count,
                                  uint32_t process)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t taken = 0;
        if (__atomic_compare_exchange_n(&entries[i].taken, &taken, process + 1, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            own_container.entry = &entries[i];
            return REC_JOINED;
        }
        if (taken == process + 1)
            return REC_JOINED_TAKEN;
    }
    return REC_JOINED_NOT;
}

static enum rec_joined take_entry(uint32_t process)
{
    struct lull_tape_container_entry *entries = (void *)(own_container.node + 1);
    enum rec_joined joined = take_among(entries, LULL_TAPE_FIRST_ENTRIES, process);
    for (unsigned t = 0; joined == REC_JOINED_NOT && t < LULL_TAPE_TABLES; t++) {
        entries = map_entries(t);
        if (!entries)
            return REC_JOINED_NOT;
        const uint32_t count = UINT32_C(256) << t;
        joined = take_among(entries, count, process);
        if (joined != REC_JOINED)
            munmap(entries, count * sizeof *entries);
    }
    return joined;
}

static bool begin_in_node(void)
{
    uint64_t offset;
    own_container.header = map_space(NULL, LULL_TAPE_PAGE, &offset);
    if (own_container.header == MAP_FAILED) {
        own_container.header = NULL;
        return false;
    }
    fill_process_header(own_container.header);
    __atomic_store_n(&own_container.entry->place, offset, __ATOMIC_RELEASE);
    return true;
}

/* The entry stays taken, with place 0: the process has recorded nothing. */
static void leave_node(void)
{
    if (own_container.entry)
        __atomic_store_n(&own_container.entry->place, 0, __ATOMIC_RELEASE);
    munmap(own_container.node, LULL_TAPE_PAGE);
    rec_file_close(&own_container.file);
    own_container.entry = NULL;
    own_container.node = NULL;
    own_container.header = NULL;
}

static enum rec_joined enter_node(void)
{
    own_container.node = mmap(NULL, LULL_TAPE_PAGE, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_POPULATE, own_container.file.fd, 0);
    if (own_container.node == MAP_FAILED) {
        own_container.node = NULL;
        rec_file_close(&own_container.file);
        return REC_JOINED_NOT;
    }
    enum rec_joined joined = take_entry(rec_process.number);
    if (joined == REC_JOINED && !begin_in_node())
        joined = REC_JOINED_NOT;
    if (joined != REC_JOINED)
        leave_node();
    return joined;
}

static void drop_file(void)
{
    const int reason = errno;
    if (own_container.node) {
        leave_node();
    } else {
        rec_file_close(&own_container.file);
        unlink(own_container.path);
        own_container.header = NULL;
    }
    errno = reason;
}

/* ---- what others see ------------------------------------------------------------------------- */

/* Creates RUN/<p / 1000>/<p>.tape; false, with EEXIST, where there is one. */
static bool container_create(void)
{
    rec_lock(&own_container.lock);
    rec_file_path(own_container.path, "tape");
    bool good = rec_file_create(&own_container.file, own_container.path);
    if (good && !begin_file()) {
        drop_file();
        good = false;
    }
    rec_unlock(&own_container.lock);
    return good;
}

enum rec_joined rec_container_join(const char *run)
{
    rec_lock(&own_container.lock);
    const int fd = lull_tape_container_open(run, own_container.path, sizeof own_container.path);
    const enum rec_joined joined =
        rec_file_take(&own_container.file, fd) ? enter_node() : REC_JOINED_NOT;
    rec_unlock(&own_container.lock);
    return joined;
}

void rec_container_drop(void)
{
    rec_lock(&own_container.lock);
    if (own_container.header)
        drop_file();
    rec_unlock(&own_container.lock);
}

void *rec_container_map(size_t size, void *at, struct rec_extent *ret_extent)
{
    void *mapping = MAP_FAILED;
    rec_lock(&own_container.lock);
    uint64_t offset;
    if (own_container.header && extent_at(own_container.header->n_extents))
        mapping = map_space(at, size, &offset);
    if (mapping != MAP_FAILED)
        number_extent(offset, size, ret_extent);
    rec_unlock(&own_container.lock);
    return mapping;
}

bool rec_container_reserve(size_t size, struct rec_extent *ret_extent)
{
    rec_lock(&own_container.lock);
    uint64_t offset;
    const bool good = own_container.header && extent_at(own_container.header->n_extents) &&
                      take_space(size, &offset);
    if (good)
        number_extent(offset, size, ret_extent);
    rec_unlock(&own_container.lock);
    return good;
}

static void set_entry(const struct rec_extent *extent, uint32_t pages, enum lull_tape_part part,
                      uint32_t location)
{
    rec_lock(&own_container.lock);
    struct lull_tape_extent *entry = extent_at(extent->number); /* its table is there */
    if (entry) {
        entry->page = (uint32_t)(extent->offset / LULL_TAPE_PAGE);
        entry->pages = pages;
        entry->location = location;
        __atomic_store_n(&entry->part, (uint32_t)part, __ATOMIC_RELEASE);
    }
    rec_unlock(&own_container.lock);
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
    rec_lock(&own_container.lock);
    struct lull_tape_extent *entry = extent_at(extent->number);
    if (entry)
        __atomic_store_n(&entry->part, (uint32_t)LULL_TAPE_PART_NONE, __ATOMIC_SEQ_CST);
    rec_unlock(&own_container.lock);
}

/* A copy of `file` for one call, because other threads may open the file again meanwhile. */
static struct rec_file file_now(void)
{
    rec_lock(&own_container.lock);
    open_again();
    const struct rec_file file = own_container.file;
    rec_unlock(&own_container.lock);
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
        /* the part keeps its blocks */
    }
}

/* ==== the place in a run ====================================================================== */

enum { MOST_PROBES = 1 << 20 };

static void make_anchor(const char *run)
{
    char path[4096];
    mkdir(run, 0777);
    snprintf(path, sizeof path, "%s/" LULL_TAPE_ANCHOR_NAME, run);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    if (write(fd, LULL_TAPE_ANCHOR, strlen(LULL_TAPE_ANCHOR)) < 0)
        unlink(path);
    close(fd);
}

static bool make_process_folder(const char *run)
{
    make_anchor(run);
    return mkdir(rec_process.folder, 0777) == 0 || errno == EEXIST;
}

/* Creates the file of the process. The anchor and the folder are made only where the folder is
 * missing, so that of a thousand processes only the first asks the file system for more than its
 * own file. */
static bool create(const char *run)
{
    if (container_create())
        return true;
    return errno == ENOENT && make_process_folder(run) && container_create();
}

static bool name_folder(const char *run)
{
    const int length = snprintf(rec_process.folder, sizeof rec_process.folder, "%s/%u", run,
                                rec_process.number / LULL_TAPE_GROUP);
    return length >= 0 && (size_t)length < sizeof rec_process.folder;
}

/* Whether there is a file of a process with this number. */
static bool has_file(void)
{
    static char path[REC_PATH]; /* too large for the stacks of some threads */
    return access(rec_file_path(path, "tape"), F_OK) == 0;
}

/* Takes a part of the file of the node. Of two processes with the same number at least one sees the
 * other: a process that has taken a part of the file of the node looks afterwards for a process's
 * file with its number, and a process that has made such a file looks afterwards for its number in
 * the files of nodes. */
static bool join_node_file(const char *run, bool *ret_taken)
{
    enum rec_joined joined = rec_container_join(run);
    if (joined == REC_JOINED_NOT && errno == ENOENT) {
        make_anchor(run);
        joined = rec_container_join(run);
    }
    *ret_taken = joined == REC_JOINED_TAKEN;
    if (joined == REC_JOINED && has_file()) {
        rec_container_drop();
        return false;
    }
    return joined == REC_JOINED;
}

/* Moves rec_process.number on to the first free number. `among_nodes`: numbers in the files of
 * nodes are taken, too. */
static bool open_own_file(const char *run, bool among_nodes)
{
    for (uint32_t probes = 0; probes < MOST_PROBES; probes++, rec_process.number++) {
        among_nodes |= probes > 0;
        if (!name_folder(run))
            return false;
        if (among_nodes && lull_tape_containers_have(run, rec_process.number))
            continue;
        if (!create(run)) {
            if (errno != EEXIST)
                return false;
            continue;
        }
        if (!among_nodes || !lull_tape_containers_have(run, rec_process.number))
            return true;
        rec_container_drop();
    }
    return false;
}

bool rec_place_take(const char *run, const char *store)
{
    bool taken = false;
    if (!name_folder(run))
        return false;
    if (store && strcmp(store, "node") == 0 && join_node_file(run, &taken))
        return true;
    rec_process.number += taken;
    return open_own_file(run, store != NULL);
}
