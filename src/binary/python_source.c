/* SPDX-License-Identifier: BSD-3-Clause */
#include "binary/python_source.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the text -------------------------------------------------------------------------------- */

/* All of a file; NULL where it defines nothing. *ret_size gets its bytes. */
static char *read_python_source(const char *file, int64_t latest, size_t *ret_size)
{
    struct stat info;
    struct lull_error ignored;
    int fd;
    if (lull_open_read(file, &fd, &info, &ignored) != LULL_OK)
        return NULL;
    const int64_t changed = info.st_mtim.tv_sec * INT64_C(1000000000) + info.st_mtim.tv_nsec;
    char *text = NULL;
    ssize_t got = 0;
    *ret_size = 0;
    if (changed <= latest && info.st_size <= LULL_PYTHON_MOST_BYTES)
        text = malloc((size_t)info.st_size + 1);
    while (text && *ret_size < (size_t)info.st_size &&
           (got = read(fd, text + *ret_size, (size_t)info.st_size - *ret_size)) > 0)
        *ret_size += (size_t)got;
    close(fd);
    return text;
}

/* ---- statements ------------------------------------------------------------------------------ */

enum { PYTHON_DEEPEST = 100 /* blocks in each other, as in the interpreter */ };

/* A function or class whose block has not ended. */
struct python_scope {
    unsigned indent;
    size_t end; /* bytes of the key that has its name */
    bool is_class;
};

struct python_reader {
    const char *at, *end;
    uint32_t line;
    /* What goes on in the next line of the text. */
    char quote;  /* of a text in three quotes; 0: none */
    bool joined; /* by a backslash */
    unsigned brackets;
    struct python_scope scopes[PYTHON_DEEPEST];
    unsigned n_scopes;
    char key[LULL_PYTHON_MOST_NAME]; /* the file, an end of line, and names of scopes */
    size_t file_end;                 /* bytes of the key in front of names */
};

static bool next_is(const struct python_reader *reader, const char *bytes)
{
    const size_t n = strlen(bytes);
    return (size_t)(reader->end - reader->at) >= n && memcmp(reader->at, bytes, n) == 0;
}

/* Goes behind a backslash and what it takes the meaning of. Returns whether that is the end of the line. */
static bool pass_backslash(struct python_reader *reader)
{
    reader->at++;
    if (next_is(reader, "\r\n"))
        reader->at++;
    if (reader->at == reader->end || *reader->at == '\n')
        return true;
    reader->at++;
    return false;
}

/* Goes behind the end of a text, or to the end of the line. */
static void pass_python_text(struct python_reader *reader, char quote, bool triple)
{
    const char ends[] = {quote, triple ? quote : '\0', triple ? quote : '\0', '\0'};
    reader->quote = triple ? quote : '\0';
    while (reader->at < reader->end && *reader->at != '\n') {
        if (next_is(reader, ends)) {
            reader->at += strlen(ends);
            reader->quote = '\0';
            return;
        }
        if (*reader->at != '\\')
            reader->at++;
        else if (pass_backslash(reader)) {
            reader->joined = !triple;
            reader->quote = quote;
            return;
        }
    }
}

/* Goes behind the end of the line. */
static void pass_python_line(struct python_reader *reader)
{
    const bool single = reader->joined && reader->quote;
    reader->joined = false;
    if (reader->quote)
        pass_python_text(reader, reader->quote, !single);
    while (!reader->joined && reader->at < reader->end && *reader->at != '\n') {
        const char byte = *reader->at;
        if (byte == '#') {
            const char *end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
            reader->at = end ? end : reader->end;
        } else if (byte == '"' || byte == '\'') {
            const char triple[] = {byte, byte, byte, '\0'};
            const bool is_triple = next_is(reader, triple);
            reader->at += is_triple ? 3 : 1;
            pass_python_text(reader, byte, is_triple);
        } else if (byte == '\\') {
            reader->joined = pass_backslash(reader);
        } else {
            reader->brackets += byte == '(' || byte == '[' || byte == '{';
            reader->brackets -= (byte == ')' || byte == ']' || byte == '}') && reader->brackets > 0;
            reader->at++;
        }
    }
    reader->at += reader->at < reader->end;
    reader->line++;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The length of the name there; 0: there is none. */
static size_t name_length(const char *at, const char *end)
{
    size_t n = 0;
    while (at + n < end && (at[n] == '_' || (at[n] >= '0' && at[n] <= '9') ||
                            ((at[n] | 0x20) >= 'a' && (at[n] | 0x20) <= 'z') || at[n] & 0x80))
        n++;
    return n;
}

/* Whether the word stands there; goes behind it, and the blanks that follow. */
static bool take_word(const char **at, const char *end, const char *word)
{
    const size_t n = strlen(word);
    if (name_length(*at, end) != n || memcmp(*at, word, n) != 0)
        return false;
    for (*at += n; *at < end && (**at == ' ' || **at == '\t'); (*at)++)
        continue;
    return true;
}

/* Adds a name, and begins its block. */
static bool add_python_name(struct python_reader *reader, unsigned indent, const char *name,
                            size_t length, bool is_class, struct lull_hash *names)
{
    const struct python_scope *outer =
        reader->n_scopes > 0 ? &reader->scopes[reader->n_scopes - 1] : NULL;
    const char *join = !outer ? "" : outer->is_class ? "." : ".<locals>.";
    const size_t begin = outer ? outer->end : reader->file_end;
    const size_t end = begin + strlen(join) + length;
    bool is_new;
    if (length == 0 || end >= sizeof reader->key || reader->n_scopes == PYTHON_DEEPEST)
        return true;
    memcpy(reader->key + begin, join, strlen(join));
    memcpy(reader->key + begin + strlen(join), name, length);
    reader->scopes[reader->n_scopes++] = (struct python_scope){indent, end, is_class};
    uint64_t *line = lull_hash_add(names, reader->key, end, reader->line, &is_new);
    if (line && !is_new)
        *line = 0;
    return line != NULL;
}

/* Looks at the begin of a statement. */
static bool begin_statement(struct python_reader *reader, struct lull_hash *names)
{
    enum { TAB = 8 };
    const char *at = reader->at;
    unsigned indent = 0;
    for (; at < reader->end && (*at == ' ' || *at == '\t' || *at == '\f'); at++)
        indent = *at == ' ' ? indent + 1 : *at == '\t' ? (indent / TAB + 1) * TAB : 0;
    if (at == reader->end || *at == '#' || *at == '\n' || *at == '\r')
        return true;
    while (reader->n_scopes > 0 && reader->scopes[reader->n_scopes - 1].indent >= indent)
        reader->n_scopes--;
    take_word(&at, reader->end, "async");
    const bool is_class = take_word(&at, reader->end, "class");
    if (!is_class && !take_word(&at, reader->end, "def"))
        return true;
    return add_python_name(reader, indent, at, name_length(at, reader->end), is_class, names);
}

bool lull_python_source_read(const char *file, int64_t latest, struct lull_hash *names)
{
    static const char mark[] = "\xef\xbb\xbf", module[] = "<module>"; /* mark: of UTF-8 */
    struct python_reader reader = {.line = 1, .file_end = strlen(file) + 1};
    size_t size;
    if (reader.file_end + sizeof module > sizeof reader.key)
        return true;
    char *text = read_python_source(file, latest, &size);
    if (!text)
        return true;
    reader.at = text;
    reader.end = text + size;
    snprintf(reader.key, sizeof reader.key, "%s\n%s", file, module);
    bool good = lull_hash_add(names, reader.key, reader.file_end + strlen(module), 1, NULL) != NULL;
    reader.at += next_is(&reader, mark) ? strlen(mark) : 0;
    while (good && reader.at < reader.end) {
        if (!reader.quote && !reader.joined && reader.brackets == 0)
            good = begin_statement(&reader, names);
        pass_python_line(&reader);
    }
    free(text);
    return good;
}
