/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran of free form as statements: continued lines joined, comments left out but for directives, and words told apart. Internal
 * to fortran_lines.c and fortran.c. */
#ifndef LULL_MODEL_KERNEL_FORTRAN_LINES_H
#define LULL_MODEL_KERNEL_FORTRAN_LINES_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct lull_fortran_token {
    enum lull_token_kind {
        LULL_TOKEN_END,
        LULL_TOKEN_NAME,
        LULL_TOKEN_INTEGER,
        LULL_TOKEN_REAL,
        LULL_TOKEN_STRING,
        LULL_TOKEN_SIGN
    } kind;
    const char *text; /* in small letters */
};

struct lull_fortran_tokens {
    const struct lull_fortran_token *from, *to; /* from == to: none */
};

enum lull_fortran_role {
    LULL_FORTRAN_OTHER,
    LULL_FORTRAN_UNIT,
    LULL_FORTRAN_CONTAINS,
    LULL_FORTRAN_UNIT_END,
    LULL_FORTRAN_DECLARATION,
    LULL_FORTRAN_SKIPPED
};

struct lull_fortran_statement {
    const struct lull_fortran_token *tokens; /* [count], and a LULL_TOKEN_END behind them */
    size_t count;
    unsigned line;
    unsigned label;    /* 0: it has none */
    bool is_directive; /* of the preprocessor */
    const char
        *comment; /* text of C that stands for a comment, "#pragma ..."; NULL: it is a statement */
    enum lull_fortran_role role;
    size_t unit;     /* in which it stands */
    const char *out; /* C; NULL: nothing */
};

struct lull_fortran_lines {
    struct lull_fortran_statement *statements; /* in order of their lines */
    size_t n_statements, capacity;
    unsigned n_lines;
};

/* Splits a text. Fails with LULL_ERR_FORMAT where a statement is too long. */
lull_status lull_fortran_split(const char *path, const char *text, size_t size,
                               struct lull_arena *arena, struct lull_fortran_lines *ret_lines,
                               struct lull_error *err);

#endif
