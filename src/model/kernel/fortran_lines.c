/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/kernel/fortran_lines.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHARACTERS = 16384 }; /* of a statement */

struct splitting {
    struct lull_arena *arena;
    struct lull_fortran_lines lines;
};

/* ---- tokens ---------------------------------------------------------------------------------- */

static size_t length_of_number(const char *text, bool *ret_is_real)
{
    size_t i = strspn(text, "0123456789");
    *ret_is_real = false;
    if (text[i] == '.') { /* 1.5, 1., but not the one of 1.eq.n */
        size_t letters = i + 1;
        while (isalpha((unsigned char)text[letters]))
            letters++;
        const bool is_operator = letters > i + 1 && text[letters] == '.';
        if (!is_operator) {
            *ret_is_real = true;
            i++;
            i += strspn(text + i, "0123456789");
        }
    }
    if ((text[i] == 'e' || text[i] == 'd') && i > 0) {
        const size_t sign = i + 1 + (text[i + 1] == '+' || text[i + 1] == '-');
        if (isdigit((unsigned char)text[sign])) {
            *ret_is_real = true;
            i = sign + strspn(text + sign, "0123456789");
        }
    }
    if (text[i] == '_')
        while (isalnum((unsigned char)text[i]) || text[i] == '_')
            i++;
    return i;
}

static size_t length_of_token(const char *text, struct lull_fortran_token *token)
{
    static const char *const signs[] = {"**", "==", "/=", "<=", ">=", "=>", "::", "//"};
    size_t length = 0;
    bool is_real;
    if (isalpha((unsigned char)*text) || *text == '_') {
        token->kind = LULL_TOKEN_NAME;
        while (isalnum((unsigned char)text[length]) || text[length] == '_')
            length++;
        return length;
    }
    if (isdigit((unsigned char)*text) || (*text == '.' && isdigit((unsigned char)text[1]))) {
        length = length_of_number(text, &is_real);
        token->kind = is_real ? LULL_TOKEN_REAL : LULL_TOKEN_INTEGER;
        return length;
    }
    if (*text == '\'' || *text == '"') {
        token->kind = LULL_TOKEN_STRING;
        const char *end = strchr(text + 1, *text);
        return end ? (size_t)(end - text) + 1 : strlen(text);
    }
    token->kind = LULL_TOKEN_SIGN;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strncmp(text, signs[i], 2) == 0)
            return 2;
    return 1;
}

/* Makes statements of a text without comments, that are separated by semicolons. */
static void add_statements(struct splitting *f, char *text, unsigned line)
{
    struct lull_fortran_token *tokens = NULL;
    size_t count = 0, capacity = 0;
    unsigned label = 0;
    for (bool more = true; more;) {
        text += strspn(text, " \t\r");
        more = *text != '\0';
        struct lull_fortran_token token = {0};
        const size_t length = more ? length_of_token(text, &token) : 0;
        if (more && !(token.kind == LULL_TOKEN_SIGN && *text == ';')) {
            if (token.kind != LULL_TOKEN_STRING)
                for (size_t i = 0; i < length; i++)
                    text[i] = (char)tolower((unsigned char)text[i]);
            token.text = lull_arena_strndup(f->arena, text, length);
            text += length;
            if (count == 0 && label == 0 && token.kind == LULL_TOKEN_INTEGER &&
                strlen(token.text) < 6 && strtoul(token.text, NULL, 10) > 0) {
                label = (unsigned)strtoul(token.text, NULL, 10);
                continue;
            }
            /* Behind the last token several may be looked at. */
            tokens = lull_arena_grow(f->arena, tokens, &capacity, count + 8, sizeof *tokens);
            tokens[count++] = token;
            tokens[count] = (struct lull_fortran_token){.kind = LULL_TOKEN_END, .text = ""};
            continue;
        }
        text += more;
        if (count > 0) {
            f->lines.statements =
                lull_arena_grow(f->arena, f->lines.statements, &f->lines.capacity,
                                f->lines.n_statements + 1, sizeof *f->lines.statements);
            f->lines.statements[f->lines.n_statements++] = (struct lull_fortran_statement){
                .tokens = tokens, .count = count, .line = line, .label = label};
        }
        tokens = NULL;
        count = capacity = label = 0;
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void add_comment(struct splitting *f, unsigned line, const char *text)
{
    f->lines.statements = lull_arena_grow(f->arena, f->lines.statements, &f->lines.capacity,
                                          f->lines.n_statements + 1, sizeof *f->lines.statements);
    static const struct lull_fortran_token none[8];
    f->lines.statements[f->lines.n_statements++] =
        (struct lull_fortran_statement){.tokens = none, .line = line, .comment = text};
}

/* A comment that says something: a directive of OpenMP, or a mark. */
static void read_comment(struct splitting *f, const char *text, size_t length, unsigned line)
{
    char copy[160], name[128];
    snprintf(copy, sizeof copy, "%.*s", (int)(length < sizeof copy ? length : sizeof copy - 1),
             text);
    for (char *at = copy; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    if (sscanf(copy, "!$lull kernel %127[a-z0-9_]", name) == 1) {
        add_comment(f, line, lull_arena_printf(f->arena, "#pragma lull kernel %s", name));
        return;
    }
    char words[4][16] = {"", "", "", ""};
    if (strncmp(copy, "!$omp ", 6) != 0 || sscanf(copy + 6, "%15[a-z] %15[a-z] %15[a-z] %15[a-z]",
                                                  words[0], words[1], words[2], words[3]) < 1)
        return;
    const bool is_loop = strcmp(words[0], "parallel") == 0 &&
                         (strcmp(words[1], "do") == 0 || strcmp(words[1], "dosimd") == 0);
    if (is_loop)
        add_comment(f, line, "#pragma omp parallel for");
    else if (strcmp(words[0], "end") != 0 && strcmp(words[0], "simd") != 0 &&
             strcmp(words[0], "atomic") != 0 && strcmp(words[0], "barrier") != 0 &&
             strcmp(words[0], "critical") != 0) /* each thread executes what stands there */
        add_comment(f, line, "#pragma omp parallel");
}

/* Finds where a line's statement ends: before its comment. *quote is the quotation mark that is open. */
static size_t end_of_code(const char *text, size_t length, char *quote)
{
    for (size_t i = 0; i < length; i++) {
        if (*quote) {
            *quote = text[i] == *quote ? '\0' : *quote;
        } else if (text[i] == '\'' || text[i] == '"') {
            *quote = text[i];
        } else if (text[i] == '!') {
            return i;
        }
    }
    return length;
}

lull_status lull_fortran_split(const char *path, const char *text, size_t size,
                               struct lull_arena *arena, struct lull_fortran_lines *ret_lines,
                               struct lull_error *err)
{
    struct splitting splitting = {.arena = arena}, *f = &splitting;
    text = size > 0 ? text : "";
    const char *const end = text + size;
    char *joined = lull_arena_alloc(f->arena, MOST_CHARACTERS + 2);
    size_t used = 0;
    unsigned first = 0;
    bool goes_on = false;
    char quote = '\0';
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((newline ? newline : end) - text);
        const char *line = text;
        f->lines.n_lines++;
        text += length + (newline != NULL);
        if (!goes_on && length > 0 && *line == '#') {
            add_comment(f, f->lines.n_lines, NULL);
            struct lull_fortran_statement *statement =
                &f->lines.statements[f->lines.n_statements - 1];
            statement->is_directive =
                memmem(line, length, "if", 2) || memmem(line, length, "el", 2);
            statement->comment = "";
            continue;
        }
        while (length > 0 && isspace((unsigned char)*line)) {
            line++;
            length--;
        }
        if (length == 0 || (*line == '!' && !quote)) {
            if (length > 2 && !goes_on)
                read_comment(f, line, length, f->lines.n_lines);
            continue;
        }
        if (goes_on && *line == '&') {
            line++;
            length--;
        }
        size_t code = end_of_code(line, length, &quote);
        while (code > 0 && isspace((unsigned char)line[code - 1]))
            code--;
        const bool was = goes_on;
        goes_on = code > 0 && line[code - 1] == '&';
        code -= goes_on;
        if (!goes_on)
            quote = '\0';
        if (!was) {
            used = 0;
            first = f->lines.n_lines;
        }
        if (used + code > MOST_CHARACTERS)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: line %u: a statement of more than %d characters", path, first,
                             MOST_CHARACTERS);
        memcpy(joined + used, line, code);
        used += code;
        if (!goes_on) {
            joined[used] = '\0';
            add_statements(f, joined, first);
        }
    }
    if (goes_on) {
        joined[used] = '\0';
        add_statements(f, joined, first);
    }
    *ret_lines = f->lines;
    return LULL_OK;
}
