#include "trace/format/tape/pack/rest.h"

#include "base/file.h"
#include "trace/format.h"
#include "trace/format/tape/pack/blocks.h"
#include "trace/format/tape/tape.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The run's name and an ending; NULL: it has none. */
static const char *make_target(const struct lull_trace *trace, const char *ending)
{
    const char *path = trace->path, *slash;
    size_t length = strlen(path);
    while (length > 0 && path[length - 1] == '/')
        length--;
    char *name = lull_arena_strndup(trace->arena, path, length);
    slash = strrchr(name, '/');
    const char *last = slash ? slash + 1 : name;
    if (*last == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
        return NULL;
    return lull_arena_printf(trace->arena, "%s%s", name, ending);
}

static lull_status begin_output(const struct lull_pack_wish *wish, const char *ending,
                                struct pack_run *run, struct lull_error *err)
{
    if (run->trace->format != &lull_format_tape)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: is no tape; lull convert --to tape makes one of it", wish->run);
    run->target = wish->out ? wish->out : make_target(run->trace, ending);
    if (!run->target)
        return lull_fail(err, LULL_ERR_RANGE, "%s: has no name for a folder beside it", wish->run);
    return lull_output_begin(run->target, true, false, &run->output, err);
}

lull_status lull_pack_begin(const struct lull_pack_wish *wish, const char *ending,
                            struct pack_run *ret_run, struct lull_error *err)
{
    struct pack_run run = {0};
    lull_status status = lull_pack_check_built(wish->run, err);
    if (status == LULL_OK)
        status = lull_trace_open(wish->run, &run.trace, err);
    if (status != LULL_OK)
        return status;
    status = begin_output(wish, ending, &run, err);
    if (status != LULL_OK) {
        lull_trace_close(run.trace);
        return status;
    }
    *ret_run = run;
    return LULL_OK;
}

/* The new run gets the name of the old one, which is removed when that has happened. */
static lull_status exchange(const char *old, const char *new, struct lull_error *err)
{
    if (renameat2(AT_FDCWD, new, AT_FDCWD, old, RENAME_EXCHANGE) != 0)
        return lull_fail_errno(err, "%s: cannot be replaced; what was made of it is %s", old, new);
    return lull_remove_tree(new, err);
}

lull_status lull_pack_end(const struct lull_pack_wish *wish, struct pack_run *run,
                          lull_status status, struct lull_error *err)
{
    if (status == LULL_OK)
        status = lull_output_commit(run->output, err);
    else
        lull_output_discard(run->output);
    if (status == LULL_OK && wish->replace)
        status = exchange(run->trace->path, run->target, err);
    lull_trace_close(run->trace);
    return status;
}

/* ---- other files ------------------------------------------------------------------------------
 */

struct rest_copy {
    const struct pack_run *run;
    lull_status (*takes)(void *context, const char *path, bool *ret_taken, struct lull_error *err);
    void *context;
};

static lull_status copy_bytes(int from, int to, const char *path, const char *target,
                              struct lull_error *err)
{
    char bytes[65536];
    for (;;) {
        const ssize_t got = read(from, bytes, sizeof bytes);
        if (got < 0)
            return lull_fail_errno(err, "%s: cannot read", path);
        if (got == 0)
            return LULL_OK;
        for (ssize_t done = 0, n; done < got; done += n)
            if ((n = write(to, bytes + done, (size_t)(got - done))) < 0)
                return lull_fail_errno(err, "%s: cannot write", target);
    }
}

static lull_status copy_file(const char *path, const char *target, struct lull_error *err)
{
    struct stat info;
    int from;
    lull_status status = lull_open_read(path, &from, &info, err);
    if (status != LULL_OK)
        return status;
    const int to = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, info.st_mode & 0777);
    if (to < 0)
        status = lull_fail_errno(err, "%s: cannot create", target);
    else
        status = copy_bytes(from, to, path, target, err);
    close(from);
    if (to >= 0 && close(to) != 0 && status == LULL_OK)
        status = lull_fail_errno(err, "%s: cannot write", target);
    return status;
}

static lull_status copy_folder(const struct rest_copy *copy, const char *below,
                               struct lull_error *err);

static lull_status copy_entry(const struct rest_copy *copy, const char *below,
                              struct lull_error *err)
{
    char path[LULL_TAPE_PATH], target[LULL_TAPE_PATH];
    struct stat info;
    bool taken = false;
    snprintf(path, sizeof path, "%s/%s", copy->run->trace->path, below);
    snprintf(target, sizeof target, "%s/%s", lull_output_path(copy->run->output), below);
    if (stat(path, &info) != 0)
        return lull_fail_errno(err, "%s: cannot read", path);
    if (S_ISDIR(info.st_mode))
        return copy_folder(copy, below, err);
    lull_status status = copy->takes(copy->context, below, &taken, err);
    return status != LULL_OK || taken ? status : copy_file(path, target, err);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In the order of names, so that what is made of them does not depend on the disk. */
static lull_status copy_entries(const struct rest_copy *copy, const char *below, DIR *folder,
                                struct lull_error *err)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    char **names = NULL;
    size_t n = 0, capacity = 0;
    lull_status status = LULL_OK;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        names = lull_arena_grow(arena, names, &capacity, n + 1, sizeof *names);
        names[n++] = *below ? lull_arena_printf(arena, "%s/%s", below, entry->d_name)
                            : lull_arena_strdup(arena, entry->d_name);
    }
    if (n > 0)
        qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 0; status == LULL_OK && i < n; i++)
        status = copy_entry(copy, names[i], err);
    lull_arena_destroy(arena);
    return status;
}

static lull_status copy_folder(const struct rest_copy *copy, const char *below,
                               struct lull_error *err)
{
    char path[LULL_TAPE_PATH], target[LULL_TAPE_PATH];
    snprintf(path, sizeof path, "%s/%s", copy->run->trace->path, below);
    snprintf(target, sizeof target, "%s/%s", lull_output_path(copy->run->output), below);
    DIR *folder = opendir(path);
    if (!folder)
        return lull_fail_errno(err, "%s: cannot open", path);
    lull_status status = LULL_OK;
    if (*below && mkdir(target, 0777) != 0 && errno != EEXIST)
        status = lull_fail_errno(err, "%s: cannot create", target);
    if (status == LULL_OK)
        status = copy_entries(copy, below, folder, err);
    closedir(folder);
    if (*below && strspn(below, "0123456789") == strlen(below))
        rmdir(target); /* of processes, if all that was in it has been taken */
    return status;
}

lull_status lull_pack_copy_rest(const struct pack_run *run,
                                lull_status (*takes)(void *context, const char *path,
                                                     bool *ret_taken, struct lull_error *err),
                                void *context, struct lull_error *err)
{
    const struct rest_copy copy = {run, takes, context};
    return copy_folder(&copy, "", err);
}
