/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/file/file.h"

#include "base/fnv.h"
#include "record/site/map.h"
#include "record/store/definitions.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DESCRIPTORS = 65536, MOST_KNOWN_FILES = 65536 };

bool rec_files_on;
static bool files_wanted;

static uint32_t descriptors[DESCRIPTORS]; /* atomic: ids; 0: not yet known */
static struct rec_map file_ids;           /* hash of a path -> id */
static uint32_t n_files;
static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;

void rec_files_prepare(void)
{
    const char *text = getenv("LULL_RECORD_FILES");
    files_wanted = text && strcmp(text, "1") == 0;
}

void rec_files_start(void)
{
    __atomic_store_n(&rec_files_on, files_wanted, __ATOMIC_RELAXED);
}

/* The id of a file by its name or path. The thread has stepped aside. */
static uint32_t find_file(const char *name, unsigned kind)
{
    const uintptr_t hash = (uintptr_t)lull_fnv(LULL_FNV_BEGIN, name, strlen(name)) | 1;
    pthread_mutex_lock(&files_lock);
    uint32_t id = (uint32_t)rec_map_get(&file_ids, hash);
    if (id == 0 && n_files < MOST_KNOWN_FILES) {
        id = rec_define_file(name, kind);
        rec_map_put(&file_ids, hash, id);
        n_files += id != 0;
    }
    pthread_mutex_unlock(&files_lock);
    return id;
}

static unsigned kind_of(mode_t mode, int descriptor)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
    case S_IFDIR:
    case S_IFBLK:
        return LULL_TAPE_FILE_REGULAR;
    case S_IFIFO:
        return LULL_TAPE_FILE_PIPE;
    case S_IFSOCK:
        return LULL_TAPE_FILE_SOCKET;
    case S_IFCHR:
        return isatty(descriptor) ? LULL_TAPE_FILE_TERMINAL : LULL_TAPE_FILE_DEVICE;
    default:
        return LULL_TAPE_FILE_OTHER;
    }
}

/* Asks the system what a descriptor stands for. Regular files and devices are named by their paths;
 * others by their kind, or as stdin, stdout and stderr if they are the descriptors 0, 1 and 2. */
static uint32_t ask_descriptor(int descriptor)
{
    static const char *const standard[] = {"stdin", "stdout", "stderr"};
    static const char *const names[] = {[LULL_TAPE_FILE_PIPE] = "pipe",
                                        [LULL_TAPE_FILE_SOCKET] = "socket",
                                        [LULL_TAPE_FILE_OTHER] = "other"};
    char link[64], path[PATH_MAX + 1];
    struct stat info;
    if (fstat(descriptor, &info) != 0)
        return 0;
    const unsigned kind = kind_of(info.st_mode, descriptor);
    const bool has_path = kind == LULL_TAPE_FILE_REGULAR || kind == LULL_TAPE_FILE_DEVICE;
    if (!has_path && descriptor < 3)
        return find_file(standard[descriptor], kind);
    if (names[kind])
        return find_file(names[kind], kind);
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t length = readlink(link, path, PATH_MAX);
    if (length <= 0)
        return find_file(names[LULL_TAPE_FILE_OTHER], LULL_TAPE_FILE_OTHER);
    path[length] = '\0';
    return find_file(path, kind);
}

uint32_t rec_file_of(int descriptor)
{
    const bool kept = descriptor >= 0 && descriptor < DESCRIPTORS;
    uint32_t id = kept ? __atomic_load_n(&descriptors[descriptor], __ATOMIC_RELAXED) : 0;
    if (REC_LIKELY(id != 0) || descriptor < 0)
        return id;
    const struct rec_aside aside = rec_step_aside();
    id = ask_descriptor(descriptor);
    if (kept)
        __atomic_store_n(&descriptors[descriptor], id, __ATOMIC_RELAXED);
    rec_step_back(&aside);
    return id;
}

void rec_file_forget(int descriptor)
{
    if (descriptor >= 0 && descriptor < DESCRIPTORS)
        __atomic_store_n(&descriptors[descriptor], 0, __ATOMIC_RELAXED);
}

uint32_t rec_file_of_path(const char *path)
{
    char whole[PATH_MAX];
    const struct rec_aside aside = rec_step_aside();
    const uint32_t id = find_file(realpath(path, whole) ? whole : path, LULL_TAPE_FILE_REGULAR);
    rec_step_back(&aside);
    return id;
}
