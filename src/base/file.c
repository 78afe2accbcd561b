/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/file.h"

#include "base/hash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what was read --------------------------------------------------------------------------- */

struct identity {
    uint64_t device, inode;
};

static bool inputs_are_protected; /* set before there are threads */
static pthread_mutex_t read_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lull_hash files_read; /* device and inode of each; without memory one is missing */

void lull_protect_inputs(void)
{
    inputs_are_protected = true;
}

static void note_read(const struct stat *info)
{
    const struct identity file = {info->st_dev, info->st_ino};
    if (!inputs_are_protected)
        return;
    pthread_mutex_lock(&read_lock);
    lull_hash_add(&files_read, &file, sizeof file, 0, NULL);
    pthread_mutex_unlock(&read_lock);
}

bool lull_was_read(const struct stat *info)
{
    const struct identity file = {info->st_dev, info->st_ino};
    pthread_mutex_lock(&read_lock);
    bool found = lull_hash_find(&files_read, &file, sizeof file) != NULL;
    pthread_mutex_unlock(&read_lock);
    return found;
}

/* ---- reading --------------------------------------------------------------------------------- */

static lull_status open_regular(const char *path, int *ret_fd, struct stat *ret_info,
                                struct lull_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return lull_fail_errno(err, "%s: cannot open", path);
    if (fstat(fd, ret_info) != 0) {
        lull_status status = lull_fail_errno(err, "%s: cannot look up", path);
        close(fd);
        return status;
    }
    if (!S_ISREG(ret_info->st_mode)) {
        close(fd);
        return lull_fail(err, LULL_ERR_IO, "%s: is %s, expected a regular file", path,
                         S_ISDIR(ret_info->st_mode) ? "a directory" : "a special file");
    }
    *ret_fd = fd;
    return LULL_OK;
}

lull_status lull_open_read(const char *path, int *ret_fd, struct stat *ret_info,
                           struct lull_error *err)
{
    lull_status status = open_regular(path, ret_fd, ret_info, err);
    if (status == LULL_OK)
        note_read(ret_info);
    return status;
}

lull_status lull_check_read(const char *path, struct lull_error *err)
{
    int fd;
    struct stat info;
    lull_status status = lull_open_read(path, &fd, &info, err);
    if (status == LULL_OK)
        close(fd);
    return status;
}

lull_status lull_map_file(const char *path, struct lull_mapping *ret_mapping,
                          struct lull_error *err)
{
    int fd;
    struct stat info;
    lull_status status = lull_open_read(path, &fd, &info, err);
    if (status != LULL_OK)
        return status;
    const size_t size = (size_t)info.st_size;
    if (size == 0) {
        close(fd);
        *ret_mapping = (struct lull_mapping){NULL, 0};
        return LULL_OK;
    }
    void *data = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED)
        status = lull_fail_errno(err, "%s: cannot map", path);
    close(fd);
    if (status == LULL_OK)
        *ret_mapping = (struct lull_mapping){data, size};
    return status;
}

void lull_unmap(struct lull_mapping *mapping)
{
    if (mapping->data)
        munmap((void *)(uintptr_t)mapping->data, mapping->size);
    *mapping = (struct lull_mapping){NULL, 0};
}

lull_status lull_read_head(const char *path, void *buffer, size_t size, size_t *ret_got,
                           struct lull_error *err)
{
    int fd;
    struct stat info;
    lull_status status = open_regular(path, &fd, &info, err);
    if (status != LULL_OK)
        return status;
    size_t got = 0;
    while (got < size) {
        ssize_t n = read(fd, (char *)buffer + got, size - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            status = lull_fail_errno(err, "%s: cannot read", path);
            break;
        }
        if (n == 0)
            break;
        got += (size_t)n;
    }
    close(fd);
    if (status == LULL_OK)
        *ret_got = got;
    return status;
}

const char *lull_temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

lull_status lull_make_temporary_folder(struct lull_arena *arena, const char **ret_folder,
                                       struct lull_error *err)
{
    char *folder = lull_arena_printf(arena, "%s/lull-XXXXXX", lull_temporary_folder());
    if (!mkdtemp(folder))
        return lull_fail_errno(err, "%s: cannot make a folder for temporary files",
                               lull_temporary_folder());
    *ret_folder = folder;
    return LULL_OK;
}

bool lull_is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static lull_status remove_entries(const char *path, DIR *folder, struct lull_error *err)
{
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char below[PATH_MAX];
        if (snprintf(below, sizeof below, "%s/%s", path, entry->d_name) >= (int)sizeof below)
            return lull_fail(err, LULL_ERR_IO, "%s: path too long", path);
        lull_status status = lull_remove_tree(below, err);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

lull_status lull_remove_tree(const char *path, struct lull_error *err)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return LULL_OK;
    if (errno != EISDIR && errno != EPERM)
        return lull_fail_errno(err, "%s: cannot remove", path);
    DIR *folder = opendir(path);
    if (!folder)
        return lull_fail_errno(err, "%s: cannot remove", path);
    lull_status status = remove_entries(path, folder, err);
    closedir(folder);
    if (status != LULL_OK)
        return status;
    if (rmdir(path) != 0)
        return lull_fail_errno(err, "%s: cannot remove", path);
    return LULL_OK;
}
