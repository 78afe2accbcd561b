#include "sim/goal/tokens.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { WINDOW = 256 << 10, LONGEST_STATEMENT = 16 << 20 };

const unsigned char lull_goal_ident[256] = {
    ['0'] = 2, ['1'] = 2, ['2'] = 2, ['3'] = 2, ['4'] = 2, ['5'] = 2, ['6'] = 2, ['7'] = 2,
    ['8'] = 2, ['9'] = 2, ['A'] = 1, ['B'] = 1, ['C'] = 1, ['D'] = 1, ['E'] = 1, ['F'] = 1,
    ['G'] = 1, ['H'] = 1, ['I'] = 1, ['J'] = 1, ['K'] = 1, ['L'] = 1, ['M'] = 1, ['N'] = 1,
    ['O'] = 1, ['P'] = 1, ['Q'] = 1, ['R'] = 1, ['S'] = 1, ['T'] = 1, ['U'] = 1, ['V'] = 1,
    ['W'] = 1, ['X'] = 1, ['Y'] = 1, ['Z'] = 1, ['_'] = 1, ['a'] = 1, ['b'] = 1, ['c'] = 1,
    ['d'] = 1, ['e'] = 1, ['f'] = 1, ['g'] = 1, ['h'] = 1, ['i'] = 1, ['j'] = 1, ['k'] = 1,
    ['l'] = 1, ['m'] = 1, ['n'] = 1, ['o'] = 1, ['p'] = 1, ['q'] = 1, ['r'] = 1, ['s'] = 1,
    ['t'] = 1, ['u'] = 1, ['v'] = 1, ['w'] = 1, ['x'] = 1, ['y'] = 1, ['z'] = 1,
};

static lull_status fail_at(const struct goal_text *text, uint64_t line, const char *cause,
                           struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_FORMAT, "%s: line %llu: %s", text->name,
                     (unsigned long long)line, cause);
}

lull_status lull_goal_fail(const struct goal_text *text, struct lull_error *err, const char *format,
                           ...)
{
    char cause[512];
    va_list args;
    va_start(args, format);
    vsnprintf(cause, sizeof cause, format, args);
    va_end(args);
    return fail_at(text, text->begin, cause, err);
}

lull_status lull_goal_expected(const struct goal_text *text, const char *what,
                               struct lull_error *err)
{
    char cause[256];
    const char *at = text->at;
    int length = 0;
    while (at + length < text->end && length < 24 && at[length] > ' ' && at[length] < 0x7f)
        length++;
    if (at == text->end)
        snprintf(cause, sizeof cause, "expected %s, found the end of the file", what);
    else if (length == 0)
        snprintf(cause, sizeof cause, "expected %s, found the byte 0x%02x", what,
                 (unsigned)(unsigned char)*at);
    else
        snprintf(cause, sizeof cause, "expected %s, found '%.*s'", what, length, at);
    return fail_at(text, text->line, cause, err);
}

/* What a shell writes as <(COMMAND). Nobody waits for a writer that is not there. */
static lull_status open_pipe(const char *path, int *ret_fd, struct lull_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return lull_fail_errno(err, "%s: cannot open", path);
    fcntl(fd, F_SETFL, 0);
    *ret_fd = fd;
    return LULL_OK;
}

static lull_status open_file(struct goal_text *text, const char *path, struct lull_error *err)
{
    struct stat info;
    bool pipe = stat(path, &info) == 0 && S_ISFIFO(info.st_mode);
    int fd = -1;
    lull_status status = pipe ? open_pipe(path, &fd, err) : lull_open_read(path, &fd, &info, err);
    if (status != LULL_OK)
        return status;
    text->file = gzdopen(fd, "rb");
    if (!text->file) {
        close(fd);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    }
    gzbuffer(text->file, WINDOW);
    return LULL_OK;
}

lull_status lull_goal_text_open(struct goal_text *text, const char *name, const char *path,
                                const char *memory, size_t size, struct lull_error *err)
{
    *text = (struct goal_text){.name = name, .line = 1, .begin = 1, .memory = memory, .left = size};
    if (path) {
        lull_status status = open_file(text, path, err);
        if (status != LULL_OK)
            return status;
    }
    text->capacity = WINDOW;
    text->window = malloc(text->capacity + 1);
    if (!text->window) {
        lull_goal_text_close(text);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory to read it", name);
    }
    text->at = text->end = text->window;
    text->window[0] = '\0';
    lull_status status = lull_goal_text_more(text, text->at, err);
    if (status != LULL_OK)
        lull_goal_text_close(text);
    return status;
}

void lull_goal_text_close(struct goal_text *text)
{
    if (text->file)
        gzclose_r(text->file);
    free(text->window);
    text->file = NULL;
    text->window = NULL;
}

/* Fewer than `room` only at the end. */
static lull_status read_some(struct goal_text *text, char *to, size_t room, size_t *ret_got,
                             struct lull_error *err)
{
    if (!text->file) {
        *ret_got = text->left < room ? text->left : room;
        if (*ret_got)
            memcpy(to, text->memory, *ret_got);
        text->memory += *ret_got;
        text->left -= *ret_got;
        return LULL_OK;
    }
    errno = 0;
    int got = gzread(text->file, to, (unsigned)room);
    int code = Z_OK;
    const char *cause = gzerror(text->file, &code);
    if (got >= 0 && (code == Z_OK || code == Z_STREAM_END)) {
        *ret_got = (size_t)got;
        return LULL_OK;
    }
    if (code == Z_ERRNO)
        return lull_fail_errno(err, "%s: cannot read", text->name);
    if (code == Z_BUF_ERROR)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: the compressed text is cut off", text->name);
    return lull_fail(err, LULL_ERR_FORMAT, "%s: the compressed text is damaged (%s)", text->name,
                     cause);
}

static lull_status make_room(struct goal_text *text, size_t kept, struct lull_error *err)
{
    if (kept < text->capacity / 2)
        return LULL_OK;
    if (text->capacity >= 2 * (size_t)LONGEST_STATEMENT)
        return lull_goal_fail(text, err, "a statement or comment of more than 16 MiB");
    size_t offset = (size_t)(text->at - text->window);
    char *larger = realloc(text->window, 2 * text->capacity + 1);
    if (!larger)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory to read it", text->name);
    text->window = larger;
    text->capacity *= 2;
    text->at = larger + offset;
    text->end = larger + kept;
    return LULL_OK;
}

lull_status lull_goal_text_more(struct goal_text *text, const char *keep, struct lull_error *err)
{
    size_t kept = (size_t)(text->end - keep), got = 0;
    text->passed += (uint64_t)(keep - text->window);
    memmove(text->window, keep, kept);
    text->at = text->window;
    text->end = text->window + kept;
    lull_status status = make_room(text, kept, err);
    if (status == LULL_OK)
        status = read_some(text, text->window + kept, text->capacity - kept, &got, err);
    if (status != LULL_OK)
        return status;
    text->end = text->window + kept + got;
    text->window[kept + got] = '\0';
    text->last = got < text->capacity - kept;
    text->starved = text->unclosed = false;
    return LULL_OK;
}

/* Behind a comment, or at the end of the window inside of it; then the line is where it begins. */
static void skip_comment(struct goal_text *text)
{
    const char *at = text->at + 2;
    uint64_t begin = text->line;
    for (; at < text->end; at++) {
        if (*at == '\n')
            text->line++;
        else if (*at == '*' && at[1] == '/') {
            text->at = at + 2;
            return;
        }
    }
    text->at = text->end;
    text->line = begin;
    text->unclosed = true;
}

void lull_goal_skip_slow(struct goal_text *text)
{
    for (;;) {
        switch (*text->at) {
        case '\n':
            text->line++;
            text->at++;
            break;
        case ' ':
        case '\t':
        case '\r':
            text->at++;
            break;
        case '/':
            if (text->at[1] != '*') {
                text->starved |= text->at + 1 == text->end && !text->last;
                return;
            }
            skip_comment(text);
            break;
        default:
            text->starved |= text->at == text->end && !text->last;
            return;
        }
    }
}
