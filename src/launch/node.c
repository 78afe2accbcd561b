#include "launch/node.h"

#include "base/clock.h"
#include "base/fnv.h"
#include "launch/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC    "LULLNODE"
#define LIMIT_NS INT64_C(10000000000)

enum { VERSION = 1, WORDS = 64, MOST_RANKS = WORDS * 64, PATH_SIZE = PATH_MAX + 256 };
enum state { MAKING, TOLD, FAILED };

/* Written as a whole before it has its name, so that all of it has memory. */
struct lull_node_shared {
    char magic[8];
    uint32_t version, state; /* state: atomic, stored behind `path` */
    uint32_t joined, first;  /* joined: atomic, how many have come; first: process of who tells */
    char start[32];          /* of that one */
    uint64_t ranks[WORDS];   /* atomic; bit by bit, who has come */
    char path[PATH_MAX];
};

/* ---- the file ---------------------------------------------------------------------------------
 */

static uint64_t hash_of(const char *text)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return lull_fnv(lull_fnv(LULL_FNV_BEGIN, host, strlen(host)), text, strlen(text));
}

static void prefix_of(char *prefix, size_t size)
{
    snprintf(prefix, size, "lull-%u-", (unsigned)geteuid());
}

/* NULL: it is none of ours. */
static struct lull_node_shared *map(int fd)
{
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
        (info.st_mode & 077) != 0 || info.st_size != (off_t)sizeof(struct lull_node_shared))
        return NULL;
    struct lull_node_shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED)
        return NULL;
    if (memcmp(shared->magic, MAGIC, sizeof shared->magic) == 0 && shared->version == VERSION &&
        memchr(shared->start, '\0', sizeof shared->start))
        return shared;
    munmap(shared, sizeof *shared);
    return NULL;
}

static struct lull_node_shared *open_shared(const char *path)
{
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct lull_node_shared *shared = map(fd);
    close(fd);
    return shared;
}

static bool first_lives(const struct lull_node_shared *shared)
{
    return lull_proc_lives((int)shared->first, shared->start);
}

/* What is left of jobs whose other processes never came. */
static void clean(const char *folder)
{
    char prefix[64], path[PATH_SIZE];
    prefix_of(prefix, sizeof prefix);
    DIR *entries = opendir(folder);
    if (!entries)
        return;
    for (const struct dirent *entry; (entry = readdir(entries));) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        struct lull_node_shared *shared = open_shared(path);
        if (shared && !first_lives(shared))
            unlink(path);
        if (shared)
            munmap(shared, sizeof *shared);
    }
    closedir(entries);
}

/* A file that is complete when it has its name; NULL: somebody has made it, or it cannot be. */
static struct lull_node_shared *create_shared(const char *folder, const char *path, uint32_t rank)
{
    struct lull_proc own;
    struct lull_node_shared fresh = {
        .version = VERSION, .state = MAKING, .joined = 1, .first = (uint32_t)getpid()};
    char temporary[PATH_SIZE], prefix[64];
    prefix_of(prefix, sizeof prefix);
    snprintf(temporary, sizeof temporary, "%s/%sXXXXXX", folder, prefix);
    if (!lull_proc_look((int)getpid(), &own))
        return NULL;
    memcpy(fresh.magic, MAGIC, sizeof fresh.magic);
    memcpy(fresh.start, own.start, sizeof fresh.start);
    fresh.ranks[rank / 64] = UINT64_C(1) << rank % 64;
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct lull_node_shared *shared = NULL;
    if (write(fd, &fresh, sizeof fresh) == (ssize_t)sizeof fresh && link(temporary, path) == 0)
        shared = map(fd);
    unlink(temporary);
    close(fd);
    return shared;
}

/* ---- waiting ----------------------------------------------------------------------------------
 */

static const char *wait_for_first(const struct lull_node_shared *shared, struct lull_arena *arena)
{
    const int64_t begin = lull_clock_read(CLOCK_MONOTONIC);
    for (;;) {
        const uint32_t state = __atomic_load_n(&shared->state, __ATOMIC_ACQUIRE);
        if (state != MAKING && state != TOLD)
            return NULL;
        if (!first_lives(shared)) /* also where it has told: then the job may be another one */
            return NULL;
        if (state == TOLD)
            return memchr(shared->path, '\0', sizeof shared->path)
                       ? lull_arena_strdup(arena, shared->path)
                       : NULL;
        if (lull_clock_read(CLOCK_MONOTONIC) - begin > LIMIT_NS)
            return NULL;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* Who has been here before asks for another program of the same job. */
static const char *ask(struct lull_node_shared *shared, const char *path, uint32_t rank,
                       uint32_t size, struct lull_arena *arena)
{
    const uint64_t bit = UINT64_C(1) << rank % 64;
    if (__atomic_fetch_or(&shared->ranks[rank / 64], bit, __ATOMIC_ACQ_REL) & bit)
        return NULL;
    const bool last = __atomic_add_fetch(&shared->joined, 1, __ATOMIC_ACQ_REL) == size;
    const char *told = wait_for_first(shared, arena);
    if (last || !first_lives(shared))
        unlink(path);
    return told;
}

const char *lull_node_join(const char *folder, const char *what, uint32_t rank, uint32_t size,
                           struct lull_arena *arena, struct lull_launch_node *ret_node)
{
    char path[PATH_SIZE], prefix[64];
    ret_node->shared = NULL;
    if (size < 2 || rank >= size || size > MOST_RANKS || strlen(folder) >= PATH_MAX)
        return NULL;
    prefix_of(prefix, sizeof prefix);
    snprintf(path, sizeof path, "%s/%s%016llx", folder, prefix, (unsigned long long)hash_of(what));
    struct lull_node_shared *shared = open_shared(path);
    if (!shared) {
        clean(folder);
        ret_node->shared = create_shared(folder, path, rank);
        shared = ret_node->shared ? NULL : open_shared(path);
    }
    if (!shared)
        return NULL;
    const char *told = ask(shared, path, rank, size, arena);
    munmap(shared, sizeof *shared);
    return told;
}

void lull_node_tell(struct lull_launch_node *node, const char *path)
{
    struct lull_node_shared *shared = node->shared;
    if (!shared)
        return;
    const bool fits = path && strlen(path) < sizeof shared->path;
    if (fits)
        memcpy(shared->path, path, strlen(path) + 1);
    __atomic_store_n(&shared->state, fits ? TOLD : FAILED, __ATOMIC_RELEASE);
    munmap(shared, sizeof *shared);
    node->shared = NULL;
}
