/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/goal/goal.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/fnv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* The text of a GOAL file, of which a window that slides is in memory (section tokens). */
struct goal_text {
    const char *at;   /* next byte */
    const char *end;  /* end of the window, where a NUL byte is */
    uint64_t line;    /* line of `at`, counted from 1 */
    uint64_t begin;   /* line where the statement begins */
    uint64_t passed;  /* bytes before the window */
    bool last;        /* nothing follows the window */
    bool starved;     /* a token met the end of the window, and more text follows */
    bool unclosed;    /* the window ends inside a comment */
    const char *name; /* for messages, borrowed */
    char *window;
    size_t capacity;
    void *file;         /* gzFile; NULL: the text is in memory */
    const char *memory; /* the rest of such a text, of `left` bytes */
    size_t left;
};

/* A label: its name in the window, and its number if it is "l<number>". */
struct goal_label {
    const char *name;
    uint32_t length;
    uint32_t number; /* GOAL_NOT_NUMBERED: it is not */
};

#define GOAL_NOT_NUMBERED UINT32_MAX

enum { GOAL_LONGEST_LABEL = 255 };

static lull_status goal_fail(const struct goal_text *text, struct lull_error *err,
                             const char *format, ...) __attribute__((format(printf, 3, 4)));
static void goal_text_close(struct goal_text *text);
static lull_status goal_text_more(struct goal_text *text, const char *keep, struct lull_error *err);
static void goal_skip_slow(struct goal_text *text);

static inline void goal_skip(struct goal_text *text)
{
    if (*text->at == ' ')
        text->at++;
    if ((unsigned char)*text->at <= ' ' || *text->at == '/')
        goal_skip_slow(text);
}

static const unsigned char goal_ident[256];

/* Reads a label or word; false: there is none here. */
static inline bool goal_word(struct goal_text *text, struct goal_label *ret_word)
{
    const char *at = text->at, *begin = at;
    uint32_t number = 0;
    if (goal_ident[(unsigned char)*at] != 1)
        return false;
    bool numbered = *at == 'l';
    for (at++; goal_ident[(unsigned char)*at] == 2 && at - begin < 10; at++)
        number = number * 10 + (uint32_t)(*at - '0');
    if (at - begin < 2 || (begin[1] == '0' && at - begin > 2) || goal_ident[(unsigned char)*at])
        numbered = false;
    while (goal_ident[(unsigned char)*at])
        at++;
    ret_word->name = begin;
    ret_word->length = (uint32_t)(at - begin);
    ret_word->number = numbered ? number : GOAL_NOT_NUMBERED;
    text->at = at;
    return true;
}

/* Reads a number. False: there are no digits, or it is above `most`; text->at stays then. */
static inline bool goal_number(struct goal_text *text, uint64_t most, uint64_t *ret_value)
{
    const char *at = text->at;
    uint64_t value = 0;
    if (goal_ident[(unsigned char)*at] != 2)
        return false;
    for (; goal_ident[(unsigned char)*at] == 2; at++) {
        if (value > most / 10)
            return false;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    if (value > most)
        return false;
    text->at = at;
    *ret_value = value;
    return true;
}

static inline bool goal_is(const struct goal_label *word, const char *text, uint32_t length)
{
    return word->length == length && __builtin_memcmp(word->name, text, length) == 0;
}

/* ==== labels ================================================================================== */

/* The labels of one rank. Most files have labels "l<number>" whose numbers are dense: these are
 * kept in an array. All others are kept in a hash table with copies of their names. */

#define GOAL_NO_OP UINT32_MAX

struct goal_dense {
    uint32_t rank_mark; /* an entry with another mark than the labels' is empty */
    uint32_t op;
};

struct goal_named {
    uint32_t rank_mark; /* as in struct goal_dense */
    uint32_t op;
    uint32_t hash;
    uint32_t length; /* of the name */
    size_t name;     /* its offset in `names` */
};

struct goal_labels {
    uint32_t mark; /* another one for each rank, so that nothing need be cleared between ranks */
    struct goal_dense *dense;
    size_t n_dense;
    struct goal_named *named; /* open addressing, a power of two */
    size_t n_named, used;
    char *names;
    size_t names_used, names_capacity;
};

static uint32_t goal_labels_find_slow(const struct goal_labels *labels,
                                      const struct goal_label *label);

static inline uint32_t goal_labels_find(const struct goal_labels *labels,
                                        const struct goal_label *label)
{
    if (label->number < labels->n_dense && labels->dense[label->number].rank_mark == labels->mark)
        return labels->dense[label->number].op;
    return goal_labels_find_slow(labels, label);
}

static lull_status goal_labels_add_slow(struct goal_labels *labels, const struct goal_label *label,
                                        uint32_t op);

static inline lull_status goal_labels_add(struct goal_labels *labels,
                                          const struct goal_label *label, uint32_t op)
{
    if (label->number < labels->n_dense && labels->dense[label->number].rank_mark != labels->mark &&
        labels->used == 0) {
        labels->dense[label->number] = (struct goal_dense){labels->mark, op};
        return LULL_OK;
    }
    return goal_labels_add_slow(labels, label, op);
}

/* The numbers below this are dense for a rank that has `op` operations so far. */
static uint64_t dense_limit(uint32_t op)
{
    return 4 * (uint64_t)op + 1024;
}

static void goal_labels_free(struct goal_labels *labels)
{
    free(labels->dense);
    free(labels->named);
    free(labels->names);
}

static void goal_labels_next_rank(struct goal_labels *labels)
{
    labels->used = 0;
    labels->names_used = 0;
    if (++labels->mark != 0)
        return;
    if (labels->n_dense)
        memset(labels->dense, 0, labels->n_dense * sizeof *labels->dense);
    if (labels->n_named)
        memset(labels->named, 0, labels->n_named * sizeof *labels->named);
    labels->mark = 1;
}

static uint32_t hash_of(const struct goal_label *label)
{
    const uint64_t hash = lull_fnv(LULL_FNV_BEGIN, label->name, label->length);
    return (uint32_t)(hash ^ hash >> 29);
}

/* The entry of the label, or the empty one where it belongs. */
static struct goal_named *slot_of(const struct goal_labels *labels, const struct goal_label *label,
                                  uint32_t hash)
{
    for (size_t i = hash & (labels->n_named - 1);; i = (i + 1) & (labels->n_named - 1)) {
        struct goal_named *slot = &labels->named[i];
        if (slot->rank_mark != labels->mark)
            return slot;
        if (slot->hash == hash && slot->length == label->length &&
            memcmp(labels->names + slot->name, label->name, label->length) == 0)
            return slot;
    }
}

/* The operation with a label; GOAL_NO_OP: there is none so far. */
static uint32_t goal_labels_find_slow(const struct goal_labels *labels,
                                      const struct goal_label *label)
{
    if (label->number < labels->n_dense && labels->dense[label->number].rank_mark == labels->mark)
        return labels->dense[label->number].op;
    if (labels->used == 0)
        return GOAL_NO_OP;
    const struct goal_named *slot = slot_of(labels, label, hash_of(label));
    return slot->rank_mark == labels->mark ? slot->op : GOAL_NO_OP;
}

static bool grow_dense(struct goal_labels *labels, uint32_t number)
{
    size_t before = labels->n_dense;
    if (!lull_array_reserve(&labels->dense, &labels->n_dense, number + (size_t)1,
                            sizeof *labels->dense))
        return false;
    memset(labels->dense + before, 0, (labels->n_dense - before) * sizeof *labels->dense);
    return true;
}

static bool grow_named(struct goal_labels *labels)
{
    struct goal_labels old = *labels;
    labels->n_named = old.n_named ? 2 * old.n_named : 1024;
    labels->named = calloc(labels->n_named, sizeof *labels->named);
    if (!labels->named) {
        *labels = old;
        return false;
    }
    for (size_t i = 0; i < old.n_named; i++) {
        if (old.named[i].rank_mark != labels->mark)
            continue;
        size_t to = old.named[i].hash & (labels->n_named - 1);
        while (labels->named[to].rank_mark == labels->mark)
            to = (to + 1) & (labels->n_named - 1);
        labels->named[to] = old.named[i];
    }
    free(old.named);
    return true;
}

static bool keep_name(struct goal_labels *labels, const struct goal_label *label, size_t *ret_name)
{
    size_t need = labels->names_used + label->length;
    if (!lull_array_reserve(&labels->names, &labels->names_capacity, need, 1))
        return false;
    memcpy(labels->names + labels->names_used, label->name, label->length);
    *ret_name = labels->names_used;
    labels->names_used = need;
    return true;
}

static lull_status add_named_label(struct goal_labels *labels, const struct goal_label *label,
                                   uint32_t op)
{
    size_t name;
    if (2 * (labels->used + 1) > labels->n_named && !grow_named(labels))
        return LULL_ERR_MEMORY;
    if (!keep_name(labels, label, &name))
        return LULL_ERR_MEMORY;
    uint32_t hash = hash_of(label);
    *slot_of(labels, label, hash) =
        (struct goal_named){labels->mark, op, hash, label->length, name};
    labels->used++;
    return LULL_OK;
}

/* Adds the label of the operation with index `op`. LULL_ERR_RANGE: the label is there already. */
static lull_status goal_labels_add_slow(struct goal_labels *labels, const struct goal_label *label,
                                        uint32_t op)
{
    if (goal_labels_find_slow(labels, label) != GOAL_NO_OP)
        return LULL_ERR_RANGE;
    if (label->number == GOAL_NOT_NUMBERED ||
        (label->number >= labels->n_dense && label->number >= dense_limit(op)))
        return add_named_label(labels, label, op);
    if (label->number >= labels->n_dense && !grow_dense(labels, label->number))
        return LULL_ERR_MEMORY;
    labels->dense[label->number] = (struct goal_dense){labels->mark, op};
    return LULL_OK;
}

/* The label of an operation, or "(no label)"; written into `buffer` of GOAL_LONGEST_LABEL + 1. */
static const char *goal_labels_name(const struct goal_labels *labels, uint32_t op, char *buffer)
{
    for (size_t i = 0; i < labels->n_dense; i++)
        if (labels->dense[i].rank_mark == labels->mark && labels->dense[i].op == op) {
            snprintf(buffer, GOAL_LONGEST_LABEL + 1, "l%zu", i);
            return buffer;
        }
    for (size_t i = 0; i < labels->n_named && labels->used; i++)
        if (labels->named[i].rank_mark == labels->mark && labels->named[i].op == op) {
            snprintf(buffer, GOAL_LONGEST_LABEL + 1, "%.*s", (int)labels->named[i].length,
                     labels->names + labels->named[i].name);
            return buffer;
        }
    snprintf(buffer, GOAL_LONGEST_LABEL + 1, "(no label)");
    return buffer;
}

/* ==== tokens ================================================================================== */

/* The text of a GOAL file as a window that slides, and its tokens.
 *
 * A statement is scanned as a whole. If the window ends inside the statement (`starved`), the
 * caller slides the window on and scans the statement again from its start. */

enum { WINDOW = 256 << 10, LONGEST_STATEMENT = 16 << 20 };

/* 1: letters and '_'; 2: digits; 0: all others. */
static const unsigned char goal_ident[256] = {
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

/* Fails with "NAME: line N: ..." and the line where the statement begins. */
static lull_status goal_fail(const struct goal_text *text, struct lull_error *err,
                             const char *format, ...)
{
    char cause[512];
    va_list args;
    va_start(args, format);
    vsnprintf(cause, sizeof cause, format, args);
    va_end(args);
    return fail_at(text, text->begin, cause, err);
}

/* Fails with "NAME: line N: expected WHAT, found ..." and the line of text->at. */
static lull_status goal_expected(const struct goal_text *text, const char *what,
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

/* Opens a pipe, such as a shell makes for <(COMMAND), without waiting for a writer. */
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

/* Opens a file (plain or gzip), or text in memory if path is NULL. */
static lull_status goal_text_open(struct goal_text *text, const char *name, const char *path,
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
        goal_text_close(text);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory to read it", name);
    }
    text->at = text->end = text->window;
    text->window[0] = '\0';
    lull_status status = goal_text_more(text, text->at, err);
    if (status != LULL_OK)
        goal_text_close(text);
    return status;
}

static void goal_text_close(struct goal_text *text)
{
    if (text->file)
        gzclose_r(text->file);
    free(text->window);
    text->file = NULL;
    text->window = NULL;
}

/* Reads up to `room` bytes. *ret_got is less than that only at the end of the text. */
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
        return goal_fail(text, err, "a statement or comment of more than 16 MiB");
    size_t offset = (size_t)(text->at - text->window);
    size_t bytes = text->capacity + 1; /* with the NUL */
    if (!lull_array_reserve(&text->window, &bytes, 2 * text->capacity + 1, 1))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory to read it", text->name);
    text->capacity = bytes - 1;
    text->at = text->window + offset;
    text->end = text->window + kept;
    return LULL_OK;
}

/* Slides the window on so that it begins at `keep` and holds more text; text->at is there then.
 * Fails if the file is damaged, or a statement is longer than 16 MiB (LONGEST_STATEMENT). */
static lull_status goal_text_more(struct goal_text *text, const char *keep, struct lull_error *err)
{
    size_t kept = (size_t)(text->end - keep), got;
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

/* Goes behind a comment. If the window ends inside the comment, goes to the end of the window and
 * sets `unclosed`; the line stays that where the comment begins. */
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

/* Skips white space and comments. */
static void goal_skip_slow(struct goal_text *text)
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

/* ==== rank ==================================================================================== */

/* One rank of a GOAL file: its statements become its part of the graph. */

struct goal_edge {
    uint32_t before, after; /* operations; `after` also holds LULL_GRAPH_FROM_START for irequires */
};

/* A `requires` with a label that had not come yet. */
struct goal_pending {
    uint32_t edge;  /* its index */
    bool is_before; /* the label is that of the operation before; else of the operation after */
    uint64_t line;
    uint32_t number, length; /* of the label */
    size_t name;             /* its offset in `names` */
};

/* The rank that is read. Its arrays are used for one rank after the other; zero it before the
 * first. */
struct goal_rank {
    uint32_t rank;
    struct goal_labels labels;
    struct lull_graph_op *ops;
    size_t n_ops, ops_capacity;
    struct goal_edge *edges;
    size_t n_edges, edges_capacity;
    struct goal_pending *pending;
    size_t n_pending, pending_capacity;
    char *names;
    size_t names_used, names_capacity;
    uint32_t *scratch; /* for the search for circles */
    size_t scratch_capacity;
};

#define MOST_OPS (LULL_GRAPH_FROM_START - 1)

static void goal_rank_begin(struct goal_rank *rank, uint32_t number)
{
    rank->rank = number;
    rank->n_ops = rank->n_edges = rank->n_pending = rank->names_used = 0;
    goal_labels_next_rank(&rank->labels);
}

static void goal_rank_free(struct goal_rank *rank)
{
    goal_labels_free(&rank->labels);
    free(rank->ops);
    free(rank->edges);
    free(rank->pending);
    free(rank->names);
    free(rank->scratch);
}

static lull_status no_memory(const struct goal_text *text, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: line %llu: not enough memory for the operations",
                     text->name, (unsigned long long)text->begin);
}

static bool grow_ops(struct goal_rank *rank)
{
    return lull_array_reserve(&rank->ops, &rank->ops_capacity, rank->n_ops + 1, sizeof *rank->ops);
}

static bool grow_edges(struct goal_rank *rank)
{
    return lull_array_reserve(&rank->edges, &rank->edges_capacity, rank->n_edges + 1,
                              sizeof *rank->edges);
}

static bool grow_pending(struct goal_rank *rank, size_t length)
{
    return lull_array_reserve(&rank->pending, &rank->pending_capacity, rank->n_pending + 1,
                              sizeof *rank->pending) &&
           lull_array_reserve(&rank->names, &rank->names_capacity, rank->names_used + length, 1);
}

static bool grow_scratch(struct goal_rank *rank)
{
    return lull_array_reserve(&rank->scratch, &rank->scratch_capacity, 2 * rank->n_ops,
                              sizeof *rank->scratch);
}

/* Adds an operation, whose `requires` and `first_edge` do not matter. `label` may be NULL. */
static lull_status goal_rank_op(struct goal_rank *rank, const struct goal_text *text,
                                const struct goal_label *label, const struct lull_graph_op *op,
                                struct lull_error *err)
{
    if (rank->n_ops >= MOST_OPS)
        return goal_fail(text, err, "more than 2^31 - 1 operations of rank %u", rank->rank);
    if (rank->n_ops == rank->ops_capacity && !grow_ops(rank))
        return no_memory(text, err);
    if (label) {
        lull_status status = goal_labels_add(&rank->labels, label, (uint32_t)rank->n_ops);
        if (status == LULL_ERR_RANGE)
            return goal_fail(text, err, "label '%.*s' stands twice in rank %u", (int)label->length,
                             label->name, rank->rank);
        if (status != LULL_OK)
            return no_memory(text, err);
    }
    rank->ops[rank->n_ops++] = *op;
    return LULL_OK;
}

/* Remembers that the next edge needs the operation of a label that has not come yet; false: no
 * memory. */
static bool remember(struct goal_rank *rank, const struct goal_text *text,
                     const struct goal_label *label, bool is_before)
{
    if (!grow_pending(rank, label->length))
        return false;
    memcpy(rank->names + rank->names_used, label->name, label->length);
    rank->pending[rank->n_pending++] =
        (struct goal_pending){(uint32_t)rank->n_edges, is_before,     text->begin,
                              label->number,           label->length, rank->names_used};
    rank->names_used += label->length;
    return true;
}

static lull_status goal_rank_edge(struct goal_rank *rank, const struct goal_text *text,
                                  const struct goal_label *after, const struct goal_label *before,
                                  bool from_start, struct lull_error *err)
{
    uint32_t b = goal_labels_find(&rank->labels, before);
    uint32_t a = goal_labels_find(&rank->labels, after);
    if (rank->n_edges >= UINT32_MAX - 1)
        return goal_fail(text, err, "more than 2^32 - 2 requirements of rank %u", rank->rank);
    if ((rank->n_edges == rank->edges_capacity && !grow_edges(rank)) ||
        (b == GOAL_NO_OP && !remember(rank, text, before, true)) ||
        (a == GOAL_NO_OP && !remember(rank, text, after, false)))
        return no_memory(text, err);
    rank->edges[rank->n_edges++] =
        (struct goal_edge){b, (a & MOST_OPS) | (from_start ? LULL_GRAPH_FROM_START : 0)};
    return LULL_OK;
}

/* Finds the operations of labels that had not come when they were used. */
static lull_status resolve(struct goal_rank *rank, const struct goal_text *text,
                           struct lull_error *err)
{
    for (size_t i = 0; i < rank->n_pending; i++) {
        const struct goal_pending *pending = &rank->pending[i];
        struct goal_label label = {rank->names + pending->name, pending->length, pending->number};
        struct goal_edge *edge = &rank->edges[pending->edge];
        uint32_t op = goal_labels_find(&rank->labels, &label);
        if (op == GOAL_NO_OP)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: line %llu: rank %u has no operation with label '%.*s'",
                             text->name, (unsigned long long)pending->line, rank->rank,
                             (int)label.length, label.name);
        if (pending->is_before)
            edge->before = op;
        else
            edge->after = op | (edge->after & LULL_GRAPH_FROM_START);
    }
    return LULL_OK;
}

/* Sorts the edges by `before` with a counting sort, which keeps edges of one operation in the order
 * of the text. Sets first_edge and requires of the operations. */
static void sort_edges(const struct goal_rank *rank, struct lull_graph_op *ops, uint32_t *edges)
{
    for (size_t i = 0; i < rank->n_edges; i++) {
        ops[rank->edges[i].before + 1].first_edge++;
        ops[rank->edges[i].after & MOST_OPS].requires ++;
    }
    /* The first_edge of an operation counts up while its edges are filled in; at the end it is the
     * first_edge of the next operation, and is moved there. */
    uint32_t sum = 0;
    for (size_t i = 0; i <= rank->n_ops; i++) {
        sum += ops[i].first_edge;
        ops[i].first_edge = sum;
    }
    for (size_t i = 0; i < rank->n_edges; i++)
        edges[ops[rank->edges[i].before].first_edge++] = rank->edges[i].after;
    for (size_t i = rank->n_ops; i > 0; i--)
        ops[i].first_edge = ops[i - 1].first_edge;
    ops[0].first_edge = 0;
}

/* Whether each operation only requires operations that are before it in the text: then there is no
 * circle. */
static bool points_forward(const struct goal_rank *rank)
{
    for (size_t i = 0; i < rank->n_edges; i++)
        if (rank->edges[i].before >= (rank->edges[i].after & MOST_OPS))
            return false;
    return true;
}

/* Removes operations that wait for no other, until there are no more of them. Returns how many
 * operations are left; open[i] says for how many others operation i still waits. */
static size_t unravel(const struct lull_graph_op *ops, const uint32_t *edges, size_t n_ops,
                      uint32_t *open, uint32_t *queue)
{
    size_t head = 0, tail = 0;
    for (size_t i = 0; i < n_ops; i++) {
        open[i] = ops[i].requires;
        if (open[i] == 0)
            queue[tail++] = (uint32_t)i;
    }
    while (head < tail) {
        uint32_t op = queue[head++];
        for (uint32_t e = ops[op].first_edge; e < ops[op + 1].first_edge; e++)
            if (--open[edges[e] & MOST_OPS] == 0)
                queue[tail++] = edges[e] & MOST_OPS;
    }
    return n_ops - tail;
}

/* An operation of a circle. Each operation that is left waits for one that is left, so that going
 * back n_ops times from any of them leads into a circle. */
static uint32_t find_circle_of_ops(const struct goal_rank *rank, const uint32_t *open,
                                   uint32_t *previous)
{
    uint32_t op = 0;
    for (size_t i = 0; i < rank->n_edges; i++) {
        uint32_t after = rank->edges[i].after & MOST_OPS;
        if (open[after] && open[rank->edges[i].before])
            previous[op = after] = rank->edges[i].before;
    }
    for (size_t i = 0; i < rank->n_ops; i++)
        op = previous[op];
    return op;
}

static lull_status check_circles(struct goal_rank *rank, const struct goal_text *text,
                                 const struct lull_graph_op *ops, const uint32_t *edges,
                                 struct lull_error *err)
{
    char label[GOAL_LONGEST_LABEL + 1];
    if (points_forward(rank))
        return LULL_OK;
    if (!grow_scratch(rank))
        return no_memory(text, err);
    uint32_t *open = rank->scratch, *queue = rank->scratch + rank->n_ops;
    if (unravel(ops, edges, rank->n_ops, open, queue) == 0)
        return LULL_OK;
    uint32_t op = find_circle_of_ops(rank, open, queue);
    return lull_fail(err, LULL_ERR_FORMAT,
                     "%s: line %u: rank %u: operation '%s' requires itself, directly or through "
                     "others",
                     text->name, ops[op].line, rank->rank,
                     goal_labels_name(&rank->labels, op, label));
}

static void count_units(struct lull_graph_rank *rank)
{
    unsigned cpus = 0, nics = 0;
    for (uint32_t i = 0; i < rank->n_ops; i++) {
        cpus = rank->ops[i].cpu > cpus ? rank->ops[i].cpu : cpus;
        nics = rank->ops[i].nic > nics ? rank->ops[i].nic : nics;
    }
    rank->n_cpus = (uint16_t)(cpus + 1);
    rank->n_nics = (uint16_t)(nics + 1);
}

/* Checks the rank and copies it to the arena. */
static lull_status goal_rank_end(struct goal_rank *rank, const struct goal_text *text,
                                 struct lull_arena *arena, struct lull_graph_rank *ret_rank,
                                 struct lull_error *err)
{
    lull_status status = resolve(rank, text, err);
    if (status != LULL_OK)
        return status;
    struct lull_graph_op *ops = lull_arena_try(arena, rank->n_ops + 1, sizeof *ops);
    uint32_t *edges = lull_arena_try(arena, rank->n_edges, sizeof *edges);
    if (!ops || !edges)
        return no_memory(text, err);
    if (rank->n_ops)
        memcpy(ops, rank->ops, rank->n_ops * sizeof *ops);
    sort_edges(rank, ops, edges);
    status = check_circles(rank, text, ops, edges, err);
    if (status != LULL_OK)
        return status;
    *ret_rank =
        (struct lull_graph_rank){.ops = ops, .edges = edges, .n_ops = (uint32_t)rank->n_ops};
    count_units(ret_rank);
    return LULL_OK;
}

/* ==== goal ==================================================================================== */

#define MOST_GOAL_NUMBER (UINT64_C(1) << 62)

enum { MOST_UNIT = 255, RANKS_FOR_FREE = 4096 };

/* A rank of the text, which may have them in any order. */
struct found_rank {
    uint32_t number;
    uint64_t line;
    struct lull_graph_rank graph;
};

struct reader {
    struct goal_text text;
    struct goal_rank rank;
    struct lull_arena *arena;
    uint64_t n_ranks;
    struct found_rank *found;
    size_t n_found, found_capacity;
};

static lull_status get_word(struct goal_text *text, struct goal_label *ret_word, const char *what,
                            struct lull_error *err)
{
    if (!goal_word(text, ret_word))
        return goal_expected(text, what, err);
    if (text->at == text->end && !text->last)
        text->starved = true;
    if (ret_word->length > GOAL_LONGEST_LABEL)
        return goal_fail(text, err, "a name of more than %d characters", GOAL_LONGEST_LABEL);
    goal_skip(text);
    return LULL_OK;
}

/* Skips the word that must be here. */
static lull_status expect(struct goal_text *text, const char *word, struct lull_error *err)
{
    const char *begin = text->at;
    struct goal_label found;
    if (goal_word(text, &found) && goal_is(&found, word, (uint32_t)strlen(word))) {
        goal_skip(text);
        return LULL_OK;
    }
    if (text->at == text->end && !text->last)
        text->starved = true;
    text->at = begin;
    return goal_expected(text, word, err);
}

static lull_status expect_byte(struct goal_text *text, char byte, struct lull_error *err)
{
    char what[] = {'\'', byte, '\'', '\0'};
    if (*text->at != byte)
        return goal_expected(text, what, err);
    text->at++;
    return LULL_OK;
}

static lull_status get_number(struct goal_text *text, const char *what, uint64_t most,
                              uint64_t *ret_value, struct lull_error *err)
{
    if (!goal_number(text, most, ret_value)) {
        char wanted[96];
        if (goal_ident[(unsigned char)*text->at] != 2)
            return goal_expected(text, what, err);
        snprintf(wanted, sizeof wanted, "%s up to %llu", what, (unsigned long long)most);
        return goal_expected(text, wanted, err);
    }
    goal_skip(text);
    return LULL_OK;
}

/* Reads a number, or -1 if `any` is allowed, which becomes LULL_OP_ANY. */
static lull_status get_matching(struct goal_text *text, const char *what, bool any, uint64_t most,
                                uint32_t *ret_value, struct lull_error *err)
{
    uint64_t value;
    if (any && text->at[0] == '-' && text->at[1] == '1' &&
        !goal_ident[(unsigned char)text->at[2]]) {
        text->at += 2;
        goal_skip(text);
        *ret_value = LULL_OP_ANY;
        return LULL_OK;
    }
    if (text->at[0] == '-' && text->end - text->at < 3 && !text->last)
        text->starved = true;
    lull_status status = get_number(text, what, most, &value, err);
    if (status == LULL_OK)
        *ret_value = (uint32_t)value;
    return status;
}

enum suffix { TAG, CPU, NIC, NO_SUFFIX };

static const char *const suffixes[] = {[TAG] = "tag", [CPU] = "cpu", [NIC] = "nic"};

/* Skips the suffix that is here, and returns it. A word with no number behind it is the label of
 * the next statement, and is not skipped. */
static enum suffix get_suffix(struct goal_text *text)
{
    const char *begin = text->at;
    uint64_t line = text->line;
    struct goal_label word;
    if ((*begin != 't' && *begin != 'c' && *begin != 'n') || !goal_word(text, &word)) {
        text->starved |= begin == text->end && !text->last;
        return NO_SUFFIX;
    }
    goal_skip(text);
    if (goal_ident[(unsigned char)*text->at] == 2 || *text->at == '-')
        for (enum suffix i = TAG; i < NO_SUFFIX; i++)
            if (goal_is(&word, suffixes[i], 3))
                return i;
    text->at = begin;
    text->line = line;
    return NO_SUFFIX;
}

/* ["tag" INT] ["cpu" INT] ["nic" INT] */
static lull_status get_suffixes(struct goal_text *text, struct lull_graph_op *op,
                                struct lull_error *err)
{
    lull_status status = LULL_OK;
    unsigned seen = op->kind == LULL_OP_COMPUTE ? 1U << TAG | 1U << NIC : 0;
    uint64_t value = 0;
    while (status == LULL_OK) {
        enum suffix suffix = get_suffix(text);
        if (suffix == NO_SUFFIX)
            return LULL_OK;
        if (seen & 1U << suffix)
            return goal_fail(text, err, "a %s is not expected here", suffixes[suffix]);
        seen |= 1U << suffix;
        if (suffix == TAG) {
            bool any = op->kind == LULL_OP_RECV;
            status = get_matching(text, any ? "a tag or -1" : "a tag", any, UINT32_MAX - 1,
                                  &op->tag, err);
            continue;
        }
        status = get_number(text, suffix == CPU ? "a cpu" : "a nic", MOST_UNIT, &value, err);
        *(suffix == CPU ? &op->cpu : &op->nic) = (uint8_t)value;
    }
    return status;
}

/* Behind "send" or "recv": INT "b" ("to" | "from") INT */
static lull_status get_message(struct reader *reader, struct lull_graph_op *op,
                               struct lull_error *err)
{
    struct goal_text *text = &reader->text;
    bool is_send = op->kind == LULL_OP_SEND;
    lull_status status = get_number(text, "a size in bytes", MOST_GOAL_NUMBER, &op->size, err);
    if (status == LULL_OK)
        status = expect(text, "b", err);
    if (status == LULL_OK)
        status = expect(text, is_send ? "to" : "from", err);
    if (status == LULL_OK)
        status = get_matching(text, is_send ? "a rank" : "a rank or -1", !is_send, UINT32_MAX - 1,
                              &op->peer, err);
    if (status == LULL_OK && op->peer != LULL_OP_ANY && op->peer >= reader->n_ranks)
        return goal_fail(text, err, "rank %u: peer %u, but num_ranks is %llu", reader->rank.rank,
                         op->peer, (unsigned long long)reader->n_ranks);
    return status;
}

static const struct {
    const char *name;
    uint8_t kind;
} goal_operations[] = {{"calc", LULL_OP_COMPUTE}, {"send", LULL_OP_SEND}, {"recv", LULL_OP_RECV}};

static lull_status get_operation(struct reader *reader, const struct goal_label *word,
                                 uint64_t line, struct lull_graph_op *ret_op,
                                 struct lull_error *err)
{
    struct goal_text *text = &reader->text;
    struct lull_graph_op op = {.kind = LULL_OP_KINDS, .line = (uint32_t)line};
    for (unsigned i = 0; i < 3 && word->length == 4; i++)
        if (memcmp(word->name, goal_operations[i].name, 4) == 0)
            op.kind = goal_operations[i].kind;
    if (op.kind == LULL_OP_KINDS) {
        text->at = word->name;
        return goal_expected(text, "calc, send or recv", err);
    }
    if (line > UINT32_MAX)
        return goal_fail(text, err, "a text of more than 2^32 - 1 lines");
    lull_status status = LULL_OK;
    if (op.kind == LULL_OP_COMPUTE)
        status = get_number(text, "a time in ns", MOST_GOAL_NUMBER, &op.size, err);
    else
        status = get_message(reader, &op, err);
    if (status == LULL_OK)
        status = get_suffixes(text, &op, err);
    *ret_op = op;
    return status;
}

static lull_status get_labelled(struct reader *reader, const struct goal_label *label,
                                uint64_t line, struct lull_error *err)
{
    struct goal_text *text = &reader->text;
    struct goal_label word;
    struct lull_graph_op op;
    text->at++; /* the colon */
    goal_skip(text);
    lull_status status = get_word(text, &word, "calc, send or recv", err);
    if (status == LULL_OK)
        status = get_operation(reader, &word, line, &op, err);
    if (status == LULL_OK && !text->starved)
        status = goal_rank_op(&reader->rank, text, label, &op, err);
    return status;
}

/* IDENT ("requires" | "irequires") IDENT, or an operation without a label. */
static lull_status get_unlabelled(struct reader *reader, const struct goal_label *first,
                                  uint64_t line, struct lull_error *err)
{
    struct goal_text *text = &reader->text;
    struct goal_label word, before;
    struct lull_graph_op op;
    lull_status status;
    if (goal_ident[(unsigned char)*text->at] != 1) {
        status = get_operation(reader, first, line, &op, err);
        if (status == LULL_OK && !text->starved)
            status = goal_rank_op(&reader->rank, text, NULL, &op, err);
        return status;
    }
    status = get_word(text, &word, "requires", err);
    if (status != LULL_OK)
        return status;
    bool from_start = goal_is(&word, "irequires", 9);
    if (!from_start && !goal_is(&word, "requires", 8)) {
        text->at = word.name;
        return goal_expected(text, "':', requires or irequires", err);
    }
    status = get_word(text, &before, "a label", err);
    if (status == LULL_OK && !text->starved)
        status = goal_rank_edge(&reader->rank, text, first, &before, from_start, err);
    return status;
}

/* Reads one line of a rank. If text->starved is set then, the line has changed nothing. */
static lull_status get_statement(struct reader *reader, struct lull_error *err)
{
    struct goal_text *text = &reader->text;
    struct goal_label first;
    uint64_t line = text->line;
    lull_status status = get_word(text, &first, "an operation, a label or '}'", err);
    if (status != LULL_OK)
        return status;
    if (*text->at == ':')
        return get_labelled(reader, &first, line, err);
    return get_unlabelled(reader, &first, line, err);
}

static lull_status get_header(struct reader *reader, struct lull_error *err)
{
    lull_status status = expect(&reader->text, "num_ranks", err);
    if (status == LULL_OK)
        status =
            get_number(&reader->text, "a number of ranks", UINT32_MAX - 1, &reader->n_ranks, err);
    if (status == LULL_OK && reader->n_ranks == 0)
        return goal_fail(&reader->text, err, "num_ranks is 0, expected at least 1");
    return status;
}

/* "rank" INT "{" */
static lull_status get_rank(struct reader *reader, struct lull_error *err)
{
    uint64_t number = 0;
    lull_status status = expect(&reader->text, "rank", err);
    if (status == LULL_OK)
        status = get_number(&reader->text, "the number of a rank", UINT32_MAX - 1, &number, err);
    if (status == LULL_OK && number >= reader->n_ranks)
        return goal_fail(&reader->text, err, "rank %llu, but num_ranks is %llu",
                         (unsigned long long)number, (unsigned long long)reader->n_ranks);
    if (status == LULL_OK)
        status = expect_byte(&reader->text, '{', err);
    if (status == LULL_OK)
        goal_rank_begin(&reader->rank, (uint32_t)number);
    return status;
}

/* Reads one piece of the text by `get`. If the window ends inside the piece, slides it on and reads
 * the piece again from its start. */
static lull_status whole(struct reader *reader,
                         lull_status (*get)(struct reader *reader, struct lull_error *err),
                         struct lull_error *err)
{
    struct goal_text *text = &reader->text;
    for (;;) {
        const char *begin = text->at;
        uint64_t line = text->line;
        text->begin = line;
        lull_status status = get(reader, err);
        text->begin = text->line;
        if (text->unclosed && text->last)
            return goal_fail(text, err, "a comment that does not end");
        if (!text->starved && (status == LULL_OK || text->last || text->at != text->end))
            return status;
        text->line = line;
        status = goal_text_more(text, begin, err);
        if (status != LULL_OK)
            return status;
    }
}

static lull_status skip(struct reader *reader, struct lull_error *err)
{
    (void)err;
    goal_skip(&reader->text);
    return LULL_OK;
}

static lull_status end_rank(struct reader *reader, uint64_t line, struct lull_error *err)
{
    if (!lull_array_reserve(&reader->found, &reader->found_capacity, reader->n_found + (size_t)1,
                            sizeof *reader->found))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for the ranks",
                         reader->text.name);
    struct found_rank *found = &reader->found[reader->n_found];
    *found = (struct found_rank){.number = reader->rank.rank, .line = line};
    lull_status status =
        goal_rank_end(&reader->rank, &reader->text, reader->arena, &found->graph, err);
    reader->n_found += status == LULL_OK;
    return status;
}

static lull_status read_rank(struct reader *reader, struct lull_error *err)
{
    struct goal_text *text = &reader->text;
    uint64_t line = text->line;
    lull_status status = whole(reader, get_rank, err);
    while (status == LULL_OK) {
        status = whole(reader, skip, err);
        if (status == LULL_OK && *text->at == '}') {
            text->at++;
            return end_rank(reader, line, err);
        }
        if (status == LULL_OK)
            status = whole(reader, get_statement, err);
    }
    return status;
}

static lull_status read_text(struct reader *reader, struct lull_error *err)
{
    lull_status status = whole(reader, skip, err);
    if (status == LULL_OK)
        status = whole(reader, get_header, err);
    while (status == LULL_OK) {
        status = whole(reader, skip, err);
        if (status == LULL_OK && reader->text.at == reader->text.end)
            return LULL_OK;
        if (status == LULL_OK)
            status = read_rank(reader, err);
    }
    return status;
}

/* Puts the ranks in order. Ranks that are missing have no operations but the closing one that ends
 * each rank. */
static lull_status make_graph(struct reader *reader, struct lull_graph *graph,
                              struct lull_error *err)
{
    static const struct lull_graph_op closing;
    const char *name = reader->text.name;
    uint64_t bytes = reader->text.passed + (uint64_t)(reader->text.end - reader->text.window);
    if (reader->n_ranks > RANKS_FOR_FREE + bytes)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: num_ranks is %llu, but %llu bytes of text cannot mean so many", name,
                         (unsigned long long)reader->n_ranks, (unsigned long long)bytes);
    struct lull_graph_rank *ranks =
        lull_arena_try(reader->arena, (size_t)reader->n_ranks, sizeof *ranks);
    if (!ranks)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for %llu ranks", name,
                         (unsigned long long)reader->n_ranks);
    for (size_t i = 0; i < reader->n_found; i++) {
        const struct found_rank *found = &reader->found[i];
        if (ranks[found->number].ops)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: line %llu: rank %u stands twice", name,
                             (unsigned long long)found->line, found->number);
        ranks[found->number] = found->graph;
        graph->n_ops += found->graph.n_ops;
        graph->n_edges += found->graph.ops[found->graph.n_ops].first_edge;
    }
    for (uint64_t i = 0; i < reader->n_ranks; i++)
        if (!ranks[i].ops)
            ranks[i] = (struct lull_graph_rank){.ops = &closing, .n_cpus = 1, .n_nics = 1};
    graph->ranks = ranks;
    return LULL_OK;
}

/* The label of the operation on a line of the file, such as "l4" of "l4: calc 5"; "" if there is
 * none or the file cannot be read. */
static void find_label(const char *path, int64_t wanted, char *label, size_t size)
{
    struct goal_text text;
    struct goal_label word = {0};
    label[0] = '\0';
    if (!path || goal_text_open(&text, path, path, NULL, 0, NULL) != LULL_OK)
        return;
    while (text.line < (uint64_t)wanted) {
        const char *next = memchr(text.at, '\n', (size_t)(text.end - text.at));
        text.at = next ? next + 1 : text.end;
        text.line += next != NULL;
        if (!next && (text.last || goal_text_more(&text, text.at, NULL) != LULL_OK))
            break;
    }
    if (text.line == (uint64_t)wanted && goal_text_more(&text, text.at, NULL) == LULL_OK) {
        goal_skip(&text);
        if (*text.at == '}' || *text.at == '{')
            text.at++;
        goal_skip(&text);
        if (goal_word(&text, &word) && (goal_skip(&text), *text.at == ':'))
            snprintf(label, size, "%.*s", (int)word.length, word.name);
    }
    goal_text_close(&text);
}

static const char *place_in_goal(const struct lull_program *program, uint32_t rank,
                                 const struct lull_op *op, char *text, unsigned size)
{
    char label[GOAL_LONGEST_LABEL + 1];
    find_label(program->data, op->measured, label, sizeof label);
    snprintf(text, size, "line %lld: rank %u%s%s", (long long)op->measured, rank,
             label[0] ? ", label " : "", label);
    return text;
}

const struct lull_program_class lull_program_goal = {.name = "goal", .place = place_in_goal};

static lull_status make_program(struct reader *reader, const char *path,
                                struct lull_program **ret_program, struct lull_error *err)
{
    struct lull_graph *graph = lull_arena_zero(reader->arena, 1, sizeof *graph);
    lull_status status = make_graph(reader, graph, err);
    if (status != LULL_OK)
        return status;
    struct lull_program *program = lull_arena_zero(reader->arena, 1, sizeof *program);
    program->class = &lull_program_goal;
    program->name = lull_arena_strdup(reader->arena, reader->text.name);
    program->arena = reader->arena;
    program->n_ranks = program->n_streams = (uint32_t)reader->n_ranks;
    program->graph = graph;
    program->data = path ? lull_arena_strdup(reader->arena, path) : NULL;
    *ret_program = program;
    return LULL_OK;
}

static lull_status read_program(const char *name, const char *path, const char *memory, size_t size,
                                struct lull_program **ret_program, struct lull_error *err)
{
    struct reader reader = {0};
    lull_status status = goal_text_open(&reader.text, name, path, memory, size, err);
    if (status != LULL_OK)
        return status;
    reader.arena = lull_arena_create(NULL);
    status = read_text(&reader, err);
    if (status == LULL_OK)
        status = make_program(&reader, path, ret_program, err);
    if (status != LULL_OK)
        lull_arena_destroy(reader.arena);
    goal_rank_free(&reader.rank);
    free(reader.found);
    goal_text_close(&reader.text);
    return status;
}

lull_status lull_goal_open(const char *path, struct lull_program **ret_program,
                           struct lull_error *err)
{
    return read_program(path, path, NULL, 0, ret_program, err);
}

lull_status lull_goal_parse(const char *name, const char *text, size_t size,
                            struct lull_program **ret_program, struct lull_error *err)
{
    return read_program(name, NULL, text, size, ret_program, err);
}
