/* The file of a history: reading it, and adding lines while nobody else does. */
#include "study/history/line.h"

#include "base/file.h"
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* ---- reading -------------------------------------------------------------------------------- */

static bool is_blank(const char *text, size_t size)
{
    while (size && strchr(" \t\r", *text)) {
        text++;
        size--;
    }
    return size == 0;
}

static lull_status read_line(const char *text, size_t size, uint32_t number,
                             struct lull_history *history, struct lull_arena *arena,
                             struct lull_error *err)
{
    if (is_blank(text, size))
        return LULL_OK;
    history->entries = lull_arena_grow(arena, history->entries, &history->capacity,
                                       history->count + 1, sizeof(*history->entries));
    struct lull_history_entry *entry = &history->entries[history->count];
    lull_status status = lull_history_line_read(text, size, arena, entry, err);
    if (status != LULL_OK)
        return lull_fail_prefix(err, status, "%s: line %u", history->path, number);
    entry->line = number;
    history->count++;
    return LULL_OK;
}

static int by_time_and_line(const void *left, const void *right)
{
    const struct lull_history_entry *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Branches that were merged may both have brought the same line, which counts once. `lines` holds
 * those that were met. */
static lull_status read_lines(const struct lull_mapping *mapping, struct lull_hash *lines,
                              struct lull_history *history, struct lull_arena *arena,
                              struct lull_error *err)
{
    const char *at = (const char *)mapping->data, *end = at + mapping->size;
    for (uint32_t number = 1; at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: line %u: is torn: it has no end, as if its writer was stopped; "
                             "remove it",
                             history->path, number);
        const size_t size = (size_t)(newline - at);
        lull_status status = LULL_OK;
        bool is_new;
        if (!lull_hash_add(lines, at, size, number, &is_new))
            status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", history->path);
        else if (is_new)
            status = read_line(at, size, number, history, arena, err);
        if (status != LULL_OK)
            return status;
        at = newline + 1;
    }
    if (history->count > 1)
        qsort(history->entries, history->count, sizeof(*history->entries), by_time_and_line);
    return LULL_OK;
}

lull_status lull_history_read(const char *path, struct lull_arena *arena,
                              struct lull_history *ret_history, struct lull_error *err)
{
    struct lull_history history = {.path = lull_arena_strdup(arena, path)};
    struct lull_mapping mapping;
    struct lull_hash lines = {0};
    lull_status status = lull_map_file(path, &mapping, err);
    if (status != LULL_OK)
        return status;
    if (mapping.size)
        status = read_lines(&mapping, &lines, &history, arena, err);
    lull_hash_free(&lines);
    lull_unmap(&mapping);
    if (status == LULL_OK)
        *ret_history = history;
    return status;
}

/* ---- adding --------------------------------------------------------------------------------- */

/* The lock goes when the file is closed, also where its holder dies. */
static lull_status lock_file(int fd, const char *path, double patience, struct lull_error *err)
{
    static const double pause = 0.02;
    for (double waited = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; waited += pause) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return lull_fail_errno(err, "%s: cannot lock", path);
        if (waited >= patience)
            return lull_fail(err, LULL_ERR_IO, "%s: is locked: another program writes into it",
                             path);
        nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * pause)}, NULL);
    }
    return LULL_OK;
}

/* The lines of the runs that are not there yet, one behind the other. */
static lull_status make_text(const struct lull_history_entry *entries, uint32_t count,
                             const struct lull_history *there, struct lull_arena *arena,
                             const char **ret_text, uint32_t *ret_added, struct lull_error *err)
{
    const char *text = "";
    *ret_added = 0;
    for (uint32_t i = 0; i < count; i++) {
        char *line = lull_history_line_write(&entries[i]);
        if (!line)
            return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", there->path);
        bool repeated = strstr(text, line) != NULL;
        for (uint32_t k = 0; k < there->count && !repeated; k++) {
            if (there->entries[k].time != entries[i].time)
                continue;
            char *other = lull_history_line_write(&there->entries[k]);
            repeated = other && strcmp(line, other) == 0;
            free(other);
        }
        if (!repeated) {
            text = lull_arena_printf(arena, "%s%s", text, line);
            ++*ret_added;
        }
        free(line);
    }
    *ret_text = text;
    return LULL_OK;
}

/* All of it or nothing. */
static lull_status append_text(int fd, const char *path, const char *text, struct lull_error *err)
{
    const size_t size = strlen(text);
    const off_t before = lseek(fd, 0, SEEK_END);
    size_t done = 0;
    while (done < size) {
        const ssize_t written = write(fd, text + done, size - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            lull_fail_errno(err, "%s: cannot write", path);
            if (before >= 0 && ftruncate(fd, before) != 0)
                return lull_fail_prefix(err, LULL_ERR_IO, "a torn line is left at the end");
            return LULL_ERR_IO;
        }
        done += (size_t)written;
    }
    return fsync(fd) == 0 || errno == EINVAL ? LULL_OK
                                             : lull_fail_errno(err, "%s: cannot write", path);
}

static lull_status append_locked(int fd, const char *path, const struct lull_history_entry *entries,
                                 uint32_t count, struct lull_arena *arena, uint32_t *ret_added,
                                 struct lull_error *err)
{
    struct lull_history there;
    const char *text;
    lull_status status = lull_history_read(path, arena, &there, err);
    if (status == LULL_OK)
        status = make_text(entries, count, &there, arena, &text, ret_added, err);
    return status == LULL_OK ? append_text(fd, path, text, err) : status;
}

lull_status lull_history_append(const char *path, const struct lull_history_entry *entries,
                                uint32_t count, double patience, struct lull_arena *arena,
                                uint32_t *ret_added, struct lull_error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0)
        return lull_fail_errno(err, "%s: cannot open", path);
    lull_status status = lock_file(fd, path, patience, err);
    if (status == LULL_OK)
        status = append_locked(fd, path, entries, count, arena, ret_added, err);
    close(fd);
    return status;
}
