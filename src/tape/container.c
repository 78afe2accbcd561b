/* SPDX-License-Identifier: BSD-3-Clause */
#include "tape/container.h"

#include "tape/life.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum { MOST_NAMES = 100, MOST_NAME = 100, NAME_SIZE = MOST_NAME + 100 };

void lull_tape_clean_name(char *name)
{
    for (char *at = name; *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *at) ||
            (at == name && *at == '.'))
            *at = '_';
}

/* Btrfs takes new blocks for every change. Where it has none left, a process that writes into a
 * mapping dies of SIGBUS. A file that is still empty can be made an exception. */
void lull_tape_write_in_place(int fd)
{
    struct statfs system;
    int flags;
    if (fstatfs(fd, &system) != 0 || system.f_type != BTRFS_SUPER_MAGIC ||
        ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0)
        return;
    flags |= FS_NOCOW_FL;
    ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

/* ---- which node ------------------------------------------------------------------------------ */

/* <node>.tapes, then <node>-2.tapes ... */
static bool name_file(unsigned number, char name[NAME_SIZE])
{
    struct utsname system;
    char count[16] = "";
    if (uname(&system) != 0)
        return false;
    system
        .nodename[sizeof system.nodename - 1 < MOST_NAME ? sizeof system.nodename - 1 : MOST_NAME] =
        '\0';
    lull_tape_clean_name(system.nodename);
    if (number > 1)
        snprintf(count, sizeof count, "-%u", number);
    snprintf(name, NAME_SIZE, "%s%s" LULL_TAPE_NODE_ENDING,
             *system.nodename ? system.nodename : "node", count);
    return true;
}

/* ---- making the file ------------------------------------------------------------------------- */

/* Reserves the blocks of the whole first page, so that writing into a mapping of it cannot fail. */
static bool write_first_page(int fd, uint64_t node)
{
    struct lull_tape_container_header header = {
        .version = LULL_TAPE_VERSION,
        .byte_order = LULL_TAPE_BYTE_ORDER,
        .header_size = offsetof(struct lull_tape_container_header, tables),
        .flags = LULL_TAPE_NODE_RECORDED,
        .node = node,
        .end = LULL_TAPE_PAGE};
    memcpy(header.magic, LULL_TAPE_NODE_MAGIC, sizeof header.magic);
    errno = posix_fallocate(fd, 0, LULL_TAPE_PAGE);
    return errno == 0 && pwrite(fd, &header, sizeof header, 0) == (ssize_t)sizeof header;
}

/* The file gets its name once its header is written. So no process waits for the one that makes it,
 * and one that is killed meanwhile leaves a file with another ending, which nobody reads. Returns
 * whether the file is there, made by this process or by a faster one. */
static bool make_file(int folder, const char *name, uint64_t node)
{
    char making[NAME_SIZE + 64];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(making, sizeof making, "%s.%ld-%lld%09ld", name, (long)getpid(), (long long)now.tv_sec,
             now.tv_nsec);
    const int fd = openat(folder, making, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    lull_tape_write_in_place(fd);
    const bool made = write_first_page(fd, node) &&
                      (linkat(folder, making, folder, name, 0) == 0 || errno == EEXIST);
    const int reason = errno;
    unlinkat(folder, making, 0);
    close(fd);
    errno = reason;
    return made;
}

/* ---- opening the file ------------------------------------------------------------------------ */

/* False: the file is none of a node. */
static bool read_header(int fd, struct lull_tape_container_header *header)
{
    return pread(fd, header, sizeof *header, 0) == (ssize_t)sizeof *header &&
           memcmp(header->magic, LULL_TAPE_NODE_MAGIC, sizeof header->magic) == 0 &&
           header->version == LULL_TAPE_VERSION && header->byte_order == LULL_TAPE_BYTE_ORDER &&
           header->header_size == offsetof(struct lull_tape_container_header, tables) &&
           header->flags == LULL_TAPE_NODE_RECORDED;
}

static int open_or_make(int folder, const char *name, uint64_t node)
{
    static const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
    const int fd = openat(folder, name, flags);
    return fd < 0 && errno == ENOENT && make_file(folder, name, node) ? openat(folder, name, flags)
                                                                      : fd;
}

static bool may_be_large(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

/* The file of the node: the first one of its names that no other node has. */
static int open_in(int folder, uint64_t node, char name[NAME_SIZE])
{
    for (unsigned number = 1; number <= MOST_NAMES; number++) {
        struct lull_tape_container_header header;
        const int fd = name_file(number, name) ? open_or_make(folder, name, node) : -1;
        if (fd < 0 || (read_header(fd, &header) && header.node == node))
            return fd;
        close(fd);
    }
    errno = EEXIST;
    return -1;
}

int lull_tape_container_open(const char *run, char *path, size_t size)
{
    char name[NAME_SIZE];
    const uint64_t node = lull_tape_node_key();
    if (node == 0 || !may_be_large()) {
        errno = node == 0 ? ENOSYS : EFBIG;
        return -1;
    }
    const int folder = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -1;
    const int fd = open_in(folder, node, name);
    const int reason = errno;
    close(folder);
    const int length = fd >= 0 ? snprintf(path, size, "%s/%s", run, name) : 0;
    if (fd >= 0 && (length < 0 || (size_t)length >= size)) {
        close(fd);
        errno = ENAMETOOLONG;
        return -1;
    }
    errno = reason;
    return fd;
}

/* ---- which processes are in it --------------------------------------------------------------- */

/* Looks for a process in `count` entries from `offset` on. 1: it is there; 0: it is in none; -1: it
 * may be in the next table. */
static int look_through(int fd, uint64_t offset, uint32_t count, uint32_t process)
{
    enum { SOME = 32 };
    struct lull_tape_container_entry entries[SOME];
    for (uint32_t i = 0, n; i < count; i += n, offset += n * sizeof *entries) {
        n = count - i < SOME ? count - i : SOME;
        if (pread(fd, entries, n * sizeof *entries, (off_t)offset) !=
            (ssize_t)(n * sizeof *entries))
            return 0;
        for (uint32_t e = 0; e < n; e++)
            if (entries[e].taken == 0 || entries[e].taken == process + 1)
                return entries[e].taken != 0;
    }
    return -1;
}

static bool has(int fd, uint32_t process)
{
    struct lull_tape_container_header header;
    if (!read_header(fd, &header))
        return false;
    int found = look_through(fd, sizeof header, LULL_TAPE_FIRST_ENTRIES, process);
    for (unsigned t = 0; found < 0 && t < LULL_TAPE_TABLES && header.tables[t] != 0; t++)
        found = look_through(fd, header.tables[t], UINT32_C(256) << t, process);
    return found > 0;
}

static bool has_by_name(int folder, const char *name, uint32_t process)
{
    const size_t length = strlen(name), ending = strlen(LULL_TAPE_NODE_ENDING);
    if (length <= ending || strcmp(name + length - ending, LULL_TAPE_NODE_ENDING) != 0)
        return false;
    const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const bool found = fd >= 0 && has(fd, process);
    if (fd >= 0)
        close(fd);
    return found;
}

/* Reads the folder without opendir, which allocates. */
bool lull_tape_containers_have(const char *run, uint32_t process)
{
    _Alignas(struct dirent64) char bytes[1024];
    const int folder = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool found = false;
    if (folder < 0)
        return false;
    for (ssize_t got; !found && (got = getdents64(folder, bytes, sizeof bytes)) > 0;)
        for (ssize_t at = 0; !found && at < got;) {
            const struct dirent64 *entry = (const void *)(bytes + at);
            found = has_by_name(folder, entry->d_name, process);
            at += entry->d_reclen;
        }
    close(folder);
    return found;
}
