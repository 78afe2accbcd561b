/* Internal to sim: the text of a GOAL file as a window that slides, and its tokens.
 *
 * A statement is scanned as a whole: where the window ends inside it (`starved`), the caller slides
 * the window on and scans the statement again from its start. */
#ifndef LULL_SIM_GOAL_TOKENS_H
#define LULL_SIM_GOAL_TOKENS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct goal_text {
    const char *at;   /* next byte */
    const char *end;  /* of the window; a NUL byte stands there */
    uint64_t line;    /* of `at`, from 1 */
    uint64_t begin;   /* the line where the statement begins */
    uint64_t passed;  /* bytes before the window */
    bool last;        /* nothing follows the window */
    bool starved;     /* a token met the end of a window that is not the last */
    bool unclosed;    /* ... inside a comment */
    const char *name; /* for messages, borrowed */
    char *window;
    size_t capacity;
    void *file; /* gzFile, or NULL: */
    const char *memory;
    size_t left; /* of memory */
};

/* A label: its name in the window, and its number if it is "l<number>". */
struct goal_label {
    const char *name;
    uint32_t length;
    uint32_t number; /* GOAL_NOT_NUMBERED: it is not */
};

#define GOAL_NOT_NUMBERED UINT32_MAX

enum { GOAL_LONGEST_LABEL = 255 };

/* Opens a file (plain or gzip), or text in memory if path is NULL. */
lull_status lull_goal_text_open(struct goal_text *text, const char *name, const char *path,
                                const char *memory, size_t size, struct lull_error *err);
void lull_goal_text_close(struct goal_text *text);

/* Slides the window on so that it begins at `keep` and holds more; fails where the file is damaged
 * or one statement is longer than 16 MiB. text->at is `keep` then. */
lull_status lull_goal_text_more(struct goal_text *text, const char *keep, struct lull_error *err);

/* "NAME: line N: ..." with the line where the statement begins. */
lull_status lull_goal_fail(const struct goal_text *text, struct lull_error *err, const char *format,
                           ...) __attribute__((format(printf, 3, 4)));
/* "NAME: line N: expected WHAT, found ..." with the line of text->at. */
lull_status lull_goal_expected(const struct goal_text *text, const char *what,
                               struct lull_error *err);

extern const unsigned char lull_goal_ident[256]; /* 1 letters and '_', 2 digits, 0 others */

void lull_goal_skip_slow(struct goal_text *text); /* white space and comments */

static inline void goal_skip(struct goal_text *text)
{
    if (*text->at == ' ')
        text->at++;
    if ((unsigned char)*text->at <= ' ' || *text->at == '/')
        lull_goal_skip_slow(text);
}

/* A label or word; false: there is none here. */
static inline bool goal_word(struct goal_text *text, struct goal_label *ret_word)
{
    const char *at = text->at, *begin = at;
    uint32_t number = 0;
    if (lull_goal_ident[(unsigned char)*at] != 1)
        return false;
    bool numbered = *at == 'l';
    for (at++; lull_goal_ident[(unsigned char)*at] == 2 && at - begin < 10; at++)
        number = number * 10 + (uint32_t)(*at - '0');
    if (at - begin < 2 || (begin[1] == '0' && at - begin > 2) ||
        lull_goal_ident[(unsigned char)*at])
        numbered = false;
    while (lull_goal_ident[(unsigned char)*at])
        at++;
    ret_word->name = begin;
    ret_word->length = (uint32_t)(at - begin);
    ret_word->number = numbered ? number : GOAL_NOT_NUMBERED;
    text->at = at;
    return true;
}

/* Digits; false: there are none or the number is above `most`, and text->at stays. */
static inline bool goal_number(struct goal_text *text, uint64_t most, uint64_t *ret_value)
{
    const char *at = text->at;
    uint64_t value = 0;
    if (lull_goal_ident[(unsigned char)*at] != 2)
        return false;
    for (; lull_goal_ident[(unsigned char)*at] == 2; at++) {
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

#endif
