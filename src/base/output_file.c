/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/output_file.h"

#include "base/error.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== output file ============================================================================= */

struct lull_output {
    struct lull_output *next; /* in the list of those in progress */
    bool directory;
    bool replace;
    char *target; /* no link */
    char *temporary;
    struct stat before; /* of the target at the begin; st_nlink 0: there was none */
    /* What the commit has done so far: nothing; or put the new one in the target's place; or
     * exchanged the two, so that the old one has the temporary's name. */
    enum { NOT_PLACED, PLACED, EXCHANGED } placed;
};

/* ---- outputs in progress --------------------------------------------------------------------- */

static pthread_mutex_t pending_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lull_output *pending;

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

/* Other threads may be writing: under its own name a file of theirs would appear again behind the
 * removal. Under another one they do not find the folder, and fail. */
static void take_away(const char *path)
{
    char aside[PATH_MAX];
    const bool fits = snprintf(aside, sizeof aside, "%s.ended", path) < (int)sizeof aside;
    lull_remove_tree(fits && rename(path, aside) == 0 ? aside : path, NULL);
}

void lull_output_discard_pending(void)
{
    pthread_mutex_lock(&pending_lock); /* never given back: nothing more is to be committed */
    for (const struct lull_output *output = pending; output; output = output->next)
        take_away(output->temporary);
}

void lull_output_discard(struct lull_output *output)
{
    if (!output)
        return;
    lull_remove_tree(output->temporary, NULL);
    free_output(output);
}

/* ---- the target ------------------------------------------------------------------------------ */

/* A trailing slash would put the temporary inside the target. */
static char *without_trailing_slash(const char *path)
{
    char *copy = strdup(path);
    for (size_t n = copy ? strlen(copy) : 0; n > 1 && copy[n - 1] == '/'; n--)
        copy[n - 1] = '\0';
    return copy;
}

/* What the link `path` says, seen from where we are; NULL: see errno. */
static char *follow_link(const char *path)
{
    char link[PATH_MAX];
    ssize_t length = readlink(path, link, sizeof link - 1);
    if (length < 0)
        return NULL;
    link[length] = '\0';
    const char *slash = strrchr(path, '/');
    char *target = NULL;
    int folder = slash && link[0] != '/' ? (int)(slash + 1 - path) : 0;
    return asprintf(&target, "%.*s%s", folder, path, link) < 0 ? NULL : target;
}

/* Where the links of a path end, be there something or not. */
static lull_status resolve(const char *path, char **ret_target, struct lull_error *err)
{
    enum { MOST_LINKS = 40 }; /* as the kernel's */
    struct stat info;
    char *target = without_trailing_slash(path);
    for (int i = 0; target && lstat(target, &info) == 0 && S_ISLNK(info.st_mode); i++) {
        errno = ELOOP;
        char *next = i < MOST_LINKS ? follow_link(target) : NULL;
        free(target);
        target = next;
    }
    if (!target)
        return lull_fail_errno(err, "%s: cannot create", path);
    *ret_target = target;
    return LULL_OK;
}

static lull_status check_unread(const char *path, const char *shown, struct lull_error *err);

static lull_status check_entries_unread(const char *path, const char *shown, struct lull_error *err)
{
    lull_status status = LULL_OK;
    DIR *folder = opendir(path);
    for (struct dirent *entry; status == LULL_OK && folder && (entry = readdir(folder));) {
        char below[PATH_MAX];
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            snprintf(below, sizeof below, "%s/%s", path, entry->d_name) < (int)sizeof below)
            status = check_unread(below, shown, err);
    }
    if (folder)
        closedir(folder);
    return status;
}

static lull_status check_unread(const char *path, const char *shown, struct lull_error *err)
{
    struct stat info;
    if (lstat(path, &info) != 0)
        return LULL_OK;
    if (S_ISDIR(info.st_mode))
        return check_entries_unread(path, shown, err);
    return lull_was_read(&info)
               ? lull_fail(err, LULL_ERR_IO, "%s: was read for this result, and is not replaced",
                           shown)
               : LULL_OK;
}

/* What may be replaced: a file, and a folder by a folder. */
static lull_status check_target(struct lull_output *output, struct lull_error *err)
{
    struct stat *info = &output->before;
    if (lstat(output->target, info) != 0) {
        *info = (struct stat){0};
        return LULL_OK;
    }
    if (!output->replace)
        return lull_fail(err, LULL_ERR_IO, "%s: exists already", output->target);
    if (!S_ISREG(info->st_mode) && !(S_ISDIR(info->st_mode) && output->directory))
        return lull_fail(err, LULL_ERR_IO, "%s: is a %s, which is not replaced", output->target,
                         S_ISDIR(info->st_mode) ? "folder" : "special file");
    return check_unread(output->target, output->target, err);
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

/* In one step, so that nothing is there that a signal would leave. */
static lull_status make_pending(struct lull_output *output, struct lull_error *err)
{
    pthread_mutex_lock(&pending_lock);
    const lull_status status = make_temporary(output, err);
    if (status == LULL_OK) {
        output->next = pending;
        pending = output;
    }
    pthread_mutex_unlock(&pending_lock);
    return status;
}

lull_status lull_output_begin(const char *path, bool directory, bool replace,
                              struct lull_output **ret_output, struct lull_error *err)
{
    struct lull_output *output = calloc(1, sizeof *output);
    if (!output)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    output->directory = directory;
    output->replace = replace;
    lull_status status = resolve(path, &output->target, err);
    if (status == LULL_OK && asprintf(&output->temporary, "%s.XXXXXX", output->target) < 0) {
        output->temporary = NULL;
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    }
    if (status == LULL_OK)
        status = check_target(output, err);
    if (status == LULL_OK)
        status = make_pending(output, err);
    if (status != LULL_OK) {
        free_output(output);
        return status;
    }
    *ret_output = output;
    return LULL_OK;
}

const char *lull_output_path(const struct lull_output *output)
{
    return output->temporary;
}

/* ---- into place ------------------------------------------------------------------------------ */

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

static bool is_unable(int reason)
{
    return reason == EINVAL || reason == ENOSYS || reason == ENOTSUP;
}

static bool exchange(const struct lull_output *output)
{
    return renameat2(AT_FDCWD, output->temporary, AT_FDCWD, output->target, RENAME_EXCHANGE) == 0;
}

static lull_status intruder(const struct lull_output *output, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_IO,
                     "%s: something has come to this name meanwhile, which is not replaced",
                     output->target);
}

/* Whether `path` is what the target was at the begin. */
static bool is_as_before(const struct lull_output *output, const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && output->before.st_nlink > 0 &&
           info.st_dev == output->before.st_dev && info.st_ino == output->before.st_ino;
}

/* Puts an output where nothing is. File systems that cannot check and rename in one step are asked
 * before. */
static lull_status place_new(struct lull_output *output, struct lull_error *err)
{
    struct stat info;
    int result = renameat2(AT_FDCWD, output->temporary, AT_FDCWD, output->target, RENAME_NOREPLACE);
    if (result != 0 && is_unable(errno)) {
        if (lstat(output->target, &info) == 0)
            return intruder(output, err);
        result = rename(output->temporary, output->target);
    }
    if (result != 0)
        return errno == EEXIST ? intruder(output, err)
                               : lull_fail_errno(err, "%s: cannot create", output->target);
    output->placed = PLACED;
    return LULL_OK;
}

/* Puts an output in the place of an old one. rename() replaces neither a folder that holds
 * something nor a file by a folder. Exchanging the two does, with one of them there at every
 * moment, and shows what has been replaced. On file systems that cannot exchange, the old one is
 * removed first. */
static lull_status place_over(struct lull_output *output, struct lull_error *err)
{
    if (!is_as_before(output, output->target))
        return intruder(output, err);
    if (lull_is_directory(output->target) && !is_alike(output->target, output->temporary))
        return lull_fail(err, LULL_ERR_IO,
                         "%s: is a folder with other things in it than what would replace it",
                         output->target);
    lull_status status = check_unread(output->target, output->target, err);
    if (status != LULL_OK)
        return status;
    if (exchange(output)) {
        output->placed = EXCHANGED;
        return is_as_before(output, output->temporary) ? LULL_OK : intruder(output, err);
    }
    if (is_unable(errno) && access(output->temporary, F_OK) == 0) {
        status = lull_remove_tree(output->target, err);
        return status == LULL_OK ? place_new(output, err) : status;
    }
    return lull_fail_errno(err, "%s: cannot create", output->target);
}

static lull_status place(struct lull_output *output, struct lull_error *err)
{
    struct stat info;
    bool there = lstat(output->target, &info) == 0;
    if (there && output->before.st_nlink == 0)
        return intruder(output, err);
    return there ? place_over(output, err) : place_new(output, err);
}

/* Undoes what was done: the output has its temporary name again. */
static void take_back(struct lull_output *output)
{
    if (output->placed == EXCHANGED)
        exchange(output);
    else if (output->placed == PLACED)
        rename(output->target, output->temporary);
    output->placed = NOT_PLACED;
}

lull_status lull_output_commit_all(struct lull_output *const *outputs, size_t count,
                                   struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (size_t i = 0; status == LULL_OK && i < count; i++)
        status = place(outputs[i], err);
    for (size_t i = 0; i < count; i++) {
        if (status != LULL_OK)
            take_back(outputs[i]);
        if (outputs[i]->placed != PLACED)
            lull_remove_tree(outputs[i]->temporary, NULL);
        free_output(outputs[i]);
    }
    return status;
}

lull_status lull_output_commit(struct lull_output *output, struct lull_error *err)
{
    return lull_output_commit_all(&output, 1, err);
}

/* ---- streams --------------------------------------------------------------------------------- */

struct stream {
    int fd;
    int *failure;
};

static ssize_t write_all(void *cookie, const char *bytes, size_t size)
{
    const struct stream *stream = cookie;
    for (size_t left = size; left > 0;) {
        ssize_t done = write(stream->fd, bytes + (size - left), left);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            if (!*stream->failure)
                *stream->failure = errno;
            return 0; /* which means failure */
        }
        left -= (size_t)done;
    }
    return (ssize_t)size;
}

static int close_stream(void *cookie)
{
    struct stream *stream = cookie;
    int result = close(stream->fd);
    if (result != 0 && !*stream->failure)
        *stream->failure = errno;
    free(stream);
    return result;
}

/* Opens a stream into an open descriptor, or into a file that exists and is emptied. *ret_failure
 * is 0, or becomes the errno of the first write that failed, which stdio does not keep; it must
 * outlive the stream. fclose() closes the descriptor. NULL: see errno. */
static FILE *output_stream(int fd, int *ret_failure)
{
    struct stream *stream = malloc(sizeof *stream);
    if (!stream)
        return NULL;
    *stream = (struct stream){fd, ret_failure};
    *ret_failure = 0;
    FILE *file = fopencookie(stream, "w",
                             (cookie_io_functions_t){.write = write_all, .close = close_stream});
    if (!file)
        free(stream);
    return file;
}

FILE *lull_output_stream_open(const char *path, int *ret_failure)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : output_stream(fd, ret_failure);
    if (fd >= 0 && !file)
        close(fd);
    return file;
}

lull_status lull_output_stream_close(FILE *stream, const int *failure, const char *path,
                                     struct lull_error *err)
{
    bool failed = ferror(stream);
    failed |= fclose(stream) != 0;
    if (!failed && !*failure)
        return LULL_OK;
    errno = *failure ? *failure : ENOMEM; /* stdio itself fails for want of memory alone */
    return lull_fail_errno(err, "%s: cannot write", path);
}

/* ---- whole files ----------------------------------------------------------------------------- */

int lull_file_direct(const char *path)
{
    struct stat info, own;
    bool there = stat(path, &info) == 0;
    for (int fd = STDOUT_FILENO; there && fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &own) == 0 && own.st_dev == info.st_dev && own.st_ino == info.st_ino)
            return fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (there && !S_ISREG(info.st_mode))
        return open(path, O_WRONLY | O_CLOEXEC);
    errno = 0;
    return -1;
}

lull_status lull_file_write_to(int fd, const char *path,
                               void (*write)(const void *content, FILE *out), const void *content,
                               struct lull_error *err)
{
    int failure;
    FILE *out = fd >= 0 ? output_stream(fd, &failure) : NULL;
    if (!out)
        return lull_fail(err, LULL_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
    write(content, out);
    return lull_output_stream_close(out, &failure, path, err);
}

lull_status lull_file_write(const char *path, void (*write)(const void *content, FILE *out),
                            const void *content, struct lull_error *err)
{
    struct lull_output *output;
    int fd = lull_file_direct(path);
    if (fd >= 0 || errno != 0)
        return lull_file_write_to(fd, path, write, content, err);
    lull_status status = lull_output_begin(path, false, true, &output, err);
    if (status != LULL_OK)
        return status;
    fd = open(lull_output_path(output), O_WRONLY | O_CLOEXEC);
    status = lull_file_write_to(fd, path, write, content, err);
    if (status == LULL_OK)
        return lull_output_commit(output, err);
    lull_output_discard(output);
    return status;
}

lull_status lull_file_probe(const char *path, struct lull_error *err)
{
    struct stat info;
    struct lull_output *output;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
        return LULL_OK;
    lull_status status = lull_output_begin(path, false, true, &output, err);
    if (status == LULL_OK)
        lull_output_discard(output);
    return status;
}

/* ==== the process: limits and signals ========================================================= */

void lull_limits_raise_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

/* A thread of its own waits for the signals, because it may call any function, which a handler may
 * not. */
static void *wait_for_signal(void *argument)
{
    const sigset_t *signals = argument;
    int number;
    if (sigwait(signals, &number) != 0)
        return NULL;
    lull_output_discard_pending();
    signal(number, SIG_DFL);
    sigset_t this_one;
    sigemptyset(&this_one);
    sigaddset(&this_one, number);
    raise(number); /* is delivered when it is no longer blocked */
    pthread_sigmask(SIG_UNBLOCK, &this_one, NULL);
    return NULL;
}

void lull_interrupt_clean_up(void)
{
    static sigset_t signals;
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction old;
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaddset(&signals, numbers[i]);
    }
    pthread_t waiter;
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    if (pthread_create(&waiter, NULL, wait_for_signal, &signals) == 0)
        pthread_detach(waiter);
    else
        pthread_sigmask(SIG_SETMASK, &before, NULL);
}
