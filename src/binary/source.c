/* SPDX-License-Identifier: BSD-3-Clause */
#include "binary/source.h"

#include "base/file.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_regular(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* Looks for a file in the folders, by as much of its path as possible; NULL: it is not there. */
static const char *find_source(const char *file, const struct lull_source_search *search,
                               struct lull_arena *arena)
{
    for (size_t i = 0; i < search->n_folders; i++) {
        for (const char *rest = file; rest; rest = strchr(rest, '/')) {
            rest += strspn(rest, "/");
            const char *path = lull_arena_printf(arena, "%s/%s", search->folders[i], rest);
            if (*rest && is_regular(path))
                return path;
        }
    }
    return is_regular(file) ? file : NULL;
}

static bool is_newer(const char *path, const char *binary)
{
    struct stat of_source, of_binary;
    if (!binary || stat(path, &of_source) != 0 || stat(binary, &of_binary) != 0)
        return false;
    const struct timespec x = of_source.st_mtim, y = of_binary.st_mtim;
    return x.tv_sec != y.tv_sec ? x.tv_sec > y.tv_sec : x.tv_nsec > y.tv_nsec;
}

/* Reads one line of any length and keeps its first bytes; false: the file has ended. */
static bool read_source_line(FILE *in, char *buffer, size_t size)
{
    size_t length = 0;
    int byte = getc(in);
    if (byte == EOF)
        return false;
    for (; byte != EOF && byte != '\n'; byte = getc(in))
        if (length < size - 1)
            buffer[length++] = byte ? (char)byte : '\x01'; /* a NUL is as unreadable */
    length -= length > 0 && buffer[length - 1] == '\r';
    buffer[length] = '\0';
    return true;
}

static const char *clean_source_line(const char *line, struct lull_arena *arena)
{
    enum { TAB = 8 };
    char kept[LULL_SOURCE_MOST_BYTES + TAB + LULL_UTF8_PIECE + sizeof "..."];
    size_t length = 0, column = 0;
    while (*line && length < LULL_SOURCE_MOST_BYTES) {
        if (*line == '\t') {
            line++;
            do
                kept[length++] = ' ';
            while (++column % TAB != 0);
            continue;
        }
        length += lull_utf8_clean(&line, kept + length);
        column++;
    }
    kept[length] = '\0';
    return lull_arena_printf(arena, "%s%s", kept, *line ? "..." : "");
}

static lull_status read_source_lines(FILE *in, const char *path, uint32_t last,
                                     struct lull_arena *arena, struct lull_source_text *source,
                                     struct lull_error *err)
{
    char line[LULL_SOURCE_MOST_BYTES + 2];
    size_t capacity = 0;
    uint32_t number = 0;
    while (number < last && source->count < LULL_SOURCE_MOST_LINES &&
           read_source_line(in, line, sizeof line)) {
        if (++number < source->first)
            continue;
        source->lines = lull_arena_grow(arena, source->lines, &capacity, (size_t)source->count + 1,
                                        sizeof *source->lines);
        source->lines[source->count++] = clean_source_line(line, arena);
    }
    if (ferror(in))
        return lull_fail_errno(err, "%s", path);
    if (source->count == 0)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: it has %u lines, and line %u is asked for: it is not what was "
                         "compiled, or the debug information is wrong",
                         path, number, source->first);
    return LULL_OK;
}

lull_status lull_source_read(const char *file, uint32_t first, uint32_t last,
                             const struct lull_source_search *search, struct lull_arena *arena,
                             struct lull_source_text *ret_source, struct lull_error *err)
{
    struct lull_source_text source = {.first = first > 0 ? first : 1};
    struct stat info;
    int fd;
    source.path = find_source(file, search, arena);
    if (!source.path)
        return lull_fail(err, LULL_ERR_IO, "%s: source was not found", file);
    lull_status status = lull_open_read(source.path, &fd, &info, err);
    if (status != LULL_OK)
        return status;
    FILE *in = fdopen(fd, "r");
    if (!in) {
        close(fd);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", source.path);
    }
    status = read_source_lines(in, source.path, last > source.first ? last : source.first, arena,
                               &source, err);
    fclose(in);
    source.newer = is_newer(source.path, search->binary);
    if (status == LULL_OK)
        *ret_source = source;
    return status;
}
