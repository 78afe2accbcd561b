#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static lull_status open_regular(const char *path, int *ret_fd, size_t *ret_size,
                                struct lull_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return lull_fail_errno(err, "%s: cannot open", path);
    struct stat info;
    if (fstat(fd, &info) != 0) {
        lull_status status = lull_fail_errno(err, "%s: cannot look up", path);
        close(fd);
        return status;
    }
    if (!S_ISREG(info.st_mode)) {
        close(fd);
        return lull_fail(err, LULL_ERR_IO, "%s: is %s, expected a regular file", path,
                         S_ISDIR(info.st_mode) ? "a directory" : "a special file");
    }
    *ret_fd = fd;
    *ret_size = (size_t)info.st_size;
    return LULL_OK;
}

lull_status lull_map_file(const char *path, struct lull_mapping *ret_mapping,
                          struct lull_error *err)
{
    int fd;
    size_t size;
    lull_status status = open_regular(path, &fd, &size, err);
    if (status != LULL_OK)
        return status;
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
    size_t length;
    lull_status status = open_regular(path, &fd, &length, err);
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

struct lull_output {
    struct lull_output *next; /* in the list of those in progress */
    bool directory;
    bool replace;
    char *target;
    char *temporary;
};

static pthread_mutex_t pending_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lull_output *pending;

static void add_pending(struct lull_output *output)
{
    pthread_mutex_lock(&pending_lock);
    output->next = pending;
    pending = output;
    pthread_mutex_unlock(&pending_lock);
}

static void free_output(struct lull_output *output)
{
    pthread_mutex_lock(&pending_lock);
    struct lull_output **at = &pending;
    while (*at && *at != output)
        at = &(*at)->next;
    if (*at)
        *at = output->next;
    pthread_mutex_unlock(&pending_lock);
    free(output->target);
    free(output->temporary);
    free(output);
}

/* A trailing slash would put the temporary inside the target. */
static char *without_trailing_slash(const char *path)
{
    char *copy = strdup(path);
    for (size_t n = copy ? strlen(copy) : 0; n > 1 && copy[n - 1] == '/'; n--)
        copy[n - 1] = '\0';
    return copy;
}

static lull_status make_temporary(struct lull_output *output, struct lull_error *err)
{
    mode_t mask = umask(0);
    umask(mask);
    if (output->directory) {
        if (!mkdtemp(output->temporary))
            return lull_fail_errno(err, "%s: cannot create", output->target);
        chmod(output->temporary, 0777 & ~mask);
        return LULL_OK;
    }
    int fd = mkostemp(output->temporary, O_CLOEXEC);
    if (fd < 0)
        return lull_fail_errno(err, "%s: cannot create", output->target);
    fchmod(fd, 0666 & ~mask);
    close(fd);
    return LULL_OK;
}

/* What may be replaced: a file, and a folder by a folder. */
static lull_status check_replaced(const struct lull_output *output, struct lull_error *err)
{
    struct stat info;
    if (lstat(output->target, &info) != 0 || S_ISLNK(info.st_mode))
        return LULL_OK;
    if (!output->replace)
        return lull_fail(err, LULL_ERR_IO, "%s: exists already", output->target);
    if (S_ISREG(info.st_mode) || (S_ISDIR(info.st_mode) && output->directory))
        return LULL_OK;
    return lull_fail(err, LULL_ERR_IO, "%s: is a %s, which is not replaced", output->target,
                     S_ISDIR(info.st_mode) ? "folder" : "special file");
}

lull_status lull_output_begin(const char *path, bool directory, bool replace,
                              struct lull_output **ret_output, struct lull_error *err)
{
    struct lull_output *output = calloc(1, sizeof *output);
    if (!output)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    output->directory = directory;
    output->replace = replace;
    output->target = without_trailing_slash(path);
    lull_status status = LULL_OK;
    if (!output->target || asprintf(&output->temporary, "%s.XXXXXX", output->target) < 0) {
        output->temporary = NULL;
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    } else {
        status = check_replaced(output, err);
        if (status == LULL_OK)
            status = make_temporary(output, err);
    }
    if (status != LULL_OK) {
        free_output(output);
        return status;
    }
    add_pending(output);
    *ret_output = output;
    return LULL_OK;
}

const char *lull_output_path(const struct lull_output *output)
{
    return output->temporary;
}

/* A folder is replaced only by its like: both have a file of the same name in them. So `--force`
 * with the wrong name does not cost the user's home. */
static bool is_alike(const char *old, const char *new)
{
    DIR *folder = opendir(new);
    bool alike = !folder, empty = true; /* a missing new one is for rename() to report */
    for (struct dirent *entry; !alike && (entry = readdir(folder));) {
        char path[PATH_MAX];
        struct stat info;
        snprintf(path, sizeof path, "%s/%s", old, entry->d_name);
        alike = stat(path, &info) == 0 && S_ISREG(info.st_mode);
    }
    if (folder)
        closedir(folder);
    folder = opendir(old);
    for (struct dirent *entry; folder && empty && (entry = readdir(folder));)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (folder)
        closedir(folder);
    return alike || empty;
}

/* rename() replaces neither a folder that holds something nor a file by a folder. Exchanging the
 * two does, at no moment without the one or the other; then what was there is under the temporary
 * name. File systems that cannot exchange get the old one removed first. */
static lull_status replace_target(struct lull_output *output, struct lull_error *err)
{
    if (lull_is_directory(output->target) && !is_alike(output->target, output->temporary))
        return lull_fail(err, LULL_ERR_IO,
                         "%s: is a folder with other things in it than what would replace it",
                         output->target);
    if (renameat2(AT_FDCWD, output->temporary, AT_FDCWD, output->target, RENAME_EXCHANGE) == 0) {
        lull_remove_tree(output->temporary, NULL);
        return LULL_OK;
    }
    bool unable = errno == EINVAL || errno == ENOSYS;
    if (unable && access(output->temporary, F_OK) == 0) {
        lull_status status = lull_remove_tree(output->target, err);
        if (status != LULL_OK)
            return status;
    }
    if (rename(output->temporary, output->target) != 0)
        return lull_fail_errno(err, "%s: cannot create", output->target);
    return LULL_OK;
}

lull_status lull_output_commit(struct lull_output *output, struct lull_error *err)
{
    lull_status status = LULL_OK;
    if (output->replace)
        status = replace_target(output, err);
    else if (rename(output->temporary, output->target) != 0)
        status = lull_fail_errno(err, "%s: cannot create", output->target);
    if (status != LULL_OK)
        lull_remove_tree(output->temporary, NULL);
    free_output(output);
    return status;
}

void lull_output_discard_pending(void)
{
    pthread_mutex_lock(&pending_lock); /* never given back: nothing more is to be committed */
    for (const struct lull_output *output = pending; output; output = output->next)
        lull_remove_tree(output->temporary, NULL);
}

void lull_output_discard(struct lull_output *output)
{
    if (!output)
        return;
    lull_remove_tree(output->temporary, NULL);
    free_output(output);
}
