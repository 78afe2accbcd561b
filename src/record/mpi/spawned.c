/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/mpi/spawned.h"

#include "record/core.h"
#include "record/store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_PROCESSES (UINT32_C(1) << 30)

static pthread_mutex_t spawned_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_spawned last; /* the last claim that was read */

static void folder_path(char *path, size_t size)
{
    const char *end = strrchr(rec_process.folder, '/');
    snprintf(path, size, "%.*s/" LULL_TAPE_SPAWNED_NAME, (int)(end ? end - rec_process.folder : 0),
             rec_process.folder);
}

static void number_path(char *path, size_t size, uint32_t application)
{
    char folder[3100];
    folder_path(folder, sizeof folder);
    snprintf(path, size, "%s/%u", folder, application);
}

static void key_path(char *path, size_t size, uint64_t key)
{
    char folder[3100];
    folder_path(folder, sizeof folder);
    snprintf(path, size, "%s/key-%016llx", folder, (unsigned long long)key);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool read_all(int fd, void *bytes, size_t size)
{
    for (unsigned char *at = bytes; size > 0;) {
        ssize_t got = read(fd, at, size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static bool read_parents(int fd, struct rec_spawned *spawned)
{
    struct stat info;
    size_t size = spawned->n_parents * sizeof *spawned->parents;
    if (fstat(fd, &info) != 0 || (uint64_t)info.st_size != sizeof(struct lull_tape_spawned) + size)
        return false;
    spawned->parents = malloc(size + 1);
    if (spawned->parents && read_all(fd, spawned->parents, size))
        return true;
    free(spawned->parents);
    spawned->parents = NULL;
    return false;
}

static bool read_file(const char *path, bool with_parents, struct rec_spawned *ret_spawned)
{
    struct lull_tape_spawned file;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool good = read_all(fd, &file, sizeof file) &&
                memcmp(file.magic, LULL_TAPE_SPAWNED_MAGIC, sizeof file.magic) == 0 &&
                file.version == LULL_TAPE_VERSION && file.byte_order == LULL_TAPE_BYTE_ORDER &&
                file.first < MOST_PROCESSES && file.count < MOST_PROCESSES &&
                file.n_parents < MOST_PROCESSES;
    struct rec_spawned spawned = {.application = file.application,
                                  .first = file.first,
                                  .count = file.count,
                                  .n_parents = file.n_parents};
    good = good && (!with_parents || read_parents(fd, &spawned));
    close(fd);
    if (good)
        *ret_spawned = spawned;
    return good;
}

bool rec_spawned_find(uint64_t key, struct rec_spawned *ret_spawned)
{
    char path[4096];
    key_path(path, sizeof path, key);
    return read_file(path, false, ret_spawned);
}

bool rec_spawned_read(uint32_t application, struct rec_spawned *ret_spawned)
{
    char path[4096];
    number_path(path, sizeof path, application);
    return read_file(path, true, ret_spawned);
}

/* ---- claiming -------------------------------------------------------------------------------- */

static bool write_file(const struct rec_file *own, const struct rec_spawned *spawned)
{
    struct lull_tape_spawned file = {.magic = LULL_TAPE_SPAWNED_MAGIC,
                                     .version = LULL_TAPE_VERSION,
                                     .byte_order = LULL_TAPE_BYTE_ORDER,
                                     .application = spawned->application,
                                     .first = spawned->first,
                                     .count = spawned->count,
                                     .n_parents = spawned->n_parents};
    return rec_file_write(own, &file, sizeof file, 0) &&
           rec_file_write(own, spawned->parents, spawned->n_parents * sizeof *spawned->parents,
                          (off_t)sizeof file);
}

/* Claims the next application behind all that have a file. The file gets its name when its content
 * is complete, so that the next process that claims an application can read which numbers are
 * taken. */
static bool claim_process_numbers(const char *own, uint32_t above, struct rec_spawned *spawned)
{
    char path[4096];
    struct rec_file file;
    if (!rec_file_create(&file, own))
        return false;
    bool good = false;
    for (;;) {
        spawned->application = last.application + 1;
        spawned->first = last.first + last.count;
        if (spawned->application == 1) /* numbers before it belong to programs that are followed */
            spawned->first = (above / LULL_TAPE_GROUP + 1) * LULL_TAPE_GROUP;
        number_path(path, sizeof path, spawned->application);
        if (read_file(path, false, &last))
            continue;
        if (spawned->count >= MOST_PROCESSES - spawned->first || !write_file(&file, spawned))
            break;
        good = link(own, path) == 0;
        if (good || errno != EEXIST || !read_file(path, false, &last))
            break;
    }
    rec_file_close(&file);
    return good;
}

bool rec_spawned_claim(uint64_t key, uint32_t above, const struct rec_spawned *wanted,
                       struct rec_spawned *ret_claimed)
{
    char folder[3100], own[4096], path[4096];
    folder_path(folder, sizeof folder);
    if (above >= MOST_PROCESSES || wanted->count >= MOST_PROCESSES ||
        (mkdir(folder, 0777) != 0 && errno != EEXIST))
        return false;
    snprintf(own, sizeof own, "%s/of-%u", folder, rec_process.number);
    struct rec_spawned claimed = *wanted;
    pthread_mutex_lock(&spawned_lock);
    bool good = claim_process_numbers(own, above, &claimed);
    key_path(path, sizeof path, key);
    if (good && key != 0)
        good = rename(own, path) == 0;
    else
        unlink(own);
    pthread_mutex_unlock(&spawned_lock);
    if (good)
        *ret_claimed = claimed;
    return good;
}
