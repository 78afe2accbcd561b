/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/spmv/market.h"

#include "base/array.h"
#include "base/file.h"
#include "base/parallel.h"

#include <ctype.h>
#include <float.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* ==== numbers and words in the text =========================================================== */

/* The functions of this section take a place in the text and its end, and move the place behind
 * what they have read. */

/* Skips blanks, but not the end of a line. */
static void market_skip_blanks(const char **place, const char *end)
{
    while (*place < end && (**place == ' ' || **place == '\t' || **place == '\r'))
        ++*place;
}

static bool market_at_line_end(const char *place, const char *end)
{
    return place == end || *place == '\n';
}

/* Goes to the begin of the next line, or to the end. */
static void market_next_line(const char **place, const char *end)
{
    const char *found = *place < end ? memchr(*place, '\n', (size_t)(end - *place)) : NULL;
    *place = found ? found + 1 : end;
}

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* Reads decimal digits behind blanks; false if there are none, or the number is above `most`. */
static bool market_whole(const char **place, const char *end, uint64_t most, uint64_t *ret_value)
{
    market_skip_blanks(place, end);
    const char *c = *place;
    uint64_t value = 0;
    for (; c < end && is_digit(*c); c++) {
        value = value * 10 + (uint64_t)(*c - '0');
        if (value > most)
            return false;
    }
    bool found = c > *place;
    *place = c;
    *ret_value = value;
    return found;
}

/* Reads a number by the C library, for numbers that the faster ways cannot read exactly. */
static bool read_slowly(const char **place, const char *end, double *ret_value)
{
    char copy[512];
    size_t length = 0;
    while (*place + length < end && length + 1 < sizeof copy &&
           !strchr(" \t\r\n", (*place)[length]) && (*place)[length])
        length++;
    memcpy(copy, *place, length);
    copy[length] = '\0';
    char *stop;
    *ret_value = strtod(copy, &stop);
    *place += stop - copy;
    return stop > copy;
}

/* Makes digits * 10^exponent a double by a type with 64 bits of mantissa. Up to 19 digits and a
 * power of 10 up to 27 are both exact in it, so that their product or quotient is wrong by half a
 * unit of its last place at most. It then rounds to the right double unless it lies next to the
 * middle between two doubles: false in this case, and where there is no such type. */
static bool read_extended(uint64_t digits, int exponent, double *ret_value)
{
#if LDBL_MANT_DIG == 64
    enum { MOST_TENS = 27, BELOW_DOUBLE = 0x7ff, MIDDLE = 0x400 };
    static const long double tens[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                       1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                       1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                       1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
    if (exponent > MOST_TENS || exponent < -MOST_TENS)
        return false;
    long double value = (long double)digits;
    value = exponent < 0 ? value / tens[-exponent] : value * tens[exponent];
    uint64_t mantissa;
    memcpy(&mantissa, &value, sizeof mantissa);
    int rest = (int)(mantissa & BELOW_DOUBLE);
    if (rest >= MIDDLE - 1 && rest <= MIDDLE + 1)
        return false;
    *ret_value = (double)value;
    return true;
#else
    (void)digits, (void)exponent, (void)ret_value;
    return false;
#endif
}

/* The fast way: digits up to 2^53 and a power of 10 up to 22 are both exact as doubles, so that
 * their product or quotient is rounded once only, and correctly. */
bool lull_market_real(const char **place, const char *end, double *ret_value)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    enum { MOST_TENS = 22, MOST_DIGITS = 19 };
    market_skip_blanks(place, end);
    const char *c = *place;
    bool negative = c < end && *c == '-';
    if (c < end && (*c == '-' || *c == '+'))
        c++;
    uint64_t digits = 0;
    int n_digits = 0, exponent = 0;
    for (; c < end && is_digit(*c); c++, n_digits++)
        digits = digits * 10 + (uint64_t)(*c - '0');
    if (c < end && *c == '.')
        for (c++; c < end && is_digit(*c); c++, n_digits++, exponent--)
            digits = digits * 10 + (uint64_t)(*c - '0');
    if (!n_digits)
        return read_slowly(place, end, ret_value); /* inf, nan */
    if (c + 1 < end && (*c == 'e' || *c == 'E' || *c == 'd' || *c == 'D')) {
        const char *e = c + 1;
        bool below = *e == '-';
        int power = 0;
        if (*e == '-' || *e == '+')
            e++;
        if (*c == 'd' || *c == 'D' || e == end || !is_digit(*e))
            return read_slowly(place, end, ret_value);
        for (; e < end && is_digit(*e) && power < 10000; e++)
            power = power * 10 + (*e - '0');
        exponent += below ? -power : power;
        c = e;
    }
    double value;
    bool exact = digits <= UINT64_C(1) << 53 && exponent <= MOST_TENS && exponent >= -MOST_TENS;
    if (n_digits > MOST_DIGITS || (!exact && !read_extended(digits, exponent, &value)))
        return read_slowly(place, end, ret_value);
    if (exact) {
        value = (double)digits;
        value = exponent < 0 ? value / tens[-exponent] : value * tens[exponent];
    }
    *ret_value = negative ? -value : value;
    *place = c;
    return true;
}

/* ==== the file ================================================================================ */

static const char banner[] = "%%MatrixMarket";

enum { PIECE = 4 << 20 }; /* bytes of text that a thread takes at a time */

#define MOST_ROWS (UINT32_MAX - 1) /* and columns */

enum form { COORDINATE, ARRAY };

enum field { REAL, INTEGER, COMPLEX, PATTERN };

enum symmetry { GENERAL, SYMMETRIC, SKEW, HERMITIAN };

struct market {
    const char *path;
    const char *text, *end, *body; /* the body begins behind the line with the sizes */
    enum form form;
    enum field field;
    enum symmetry symmetry;
    uint64_t rows, columns, entries; /* as the line with the sizes says */
};

/* ---- the text -------------------------------------------------------------------------------- */

struct file_text {
    struct lull_mapping mapping;
    char *inflated; /* NULL: the mapping is the text */
    size_t size, capacity;
};

static void close_text(struct file_text *text)
{
    free(text->inflated);
    if (text->mapping.data)
        lull_unmap(&text->mapping);
}

static lull_status inflate_file(const char *path, struct file_text *text, struct lull_error *err)
{
    int fd, code;
    struct stat info;
    lull_status status = lull_open_read(path, &fd, &info, err);
    if (status != LULL_OK)
        return status;
    gzFile file = gzdopen(fd, "rb");
    if (!file) {
        close(fd);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory to read it", path);
    }
    gzbuffer(file, 1 << 18);
    for (int got = 1; got > 0; text->size += (size_t)got) {
        if (!lull_array_reserve(&text->inflated, &text->capacity, text->size + (1 << 20), 1)) {
            gzclose_r(file);
            return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory to read it", path);
        }
        got = gzread(file, text->inflated + text->size, 1 << 20);
        if (got < 0) {
            status = lull_fail(err, LULL_ERR_FORMAT, "%s: damaged: %s", path, gzerror(file, &code));
            break;
        }
    }
    if (status == LULL_OK && gzclose_r(file) != Z_OK)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: ends within compressed data", path);
    if (status != LULL_OK)
        gzclose_r(file);
    return status;
}

static lull_status open_text(const char *path, struct file_text *text, struct lull_error *err)
{
    lull_status status = lull_map_file(path, &text->mapping, err);
    if (status != LULL_OK)
        return status;
    text->size = text->mapping.size;
    if (text->size < 2 || text->mapping.data[0] != 0x1f || text->mapping.data[1] != 0x8b)
        return LULL_OK;
    text->size = 0;
    return inflate_file(path, text, err);
}

bool lull_market_recognise(const char *path)
{
    char head[sizeof banner] = "";
    int fd;
    struct stat info;
    if (lull_open_read(path, &fd, &info, NULL) != LULL_OK)
        return false;
    gzFile file = gzdopen(fd, "rb"); /* reads what is not compressed as it is */
    if (!file) {
        close(fd);
        return false;
    }
    int got = gzread(file, head, sizeof banner - 1);
    gzclose_r(file);
    return got == sizeof banner - 1 && memcmp(head, banner, sizeof banner - 1) == 0;
}

/* ---- the head -------------------------------------------------------------------------------- */

static unsigned long line_of(const struct market *market, const char *place)
{
    unsigned long line = 1;
    for (const char *c = market->text; (c = memchr(c, '\n', (size_t)(place - c))); c++)
        line++;
    return line;
}

static bool read_word(const char **place, const char *end, const char *const *words, int *ret_word)
{
    market_skip_blanks(place, end);
    for (int w = 0; words[w]; w++) {
        size_t length = strlen(words[w]);
        if ((size_t)(end - *place) < length || strncasecmp(*place, words[w], length) != 0 ||
            (*place + length < end && !isspace((unsigned char)(*place)[length])))
            continue;
        *place += length;
        *ret_word = w;
        return true;
    }
    return false;
}

static lull_status read_banner(struct market *market, struct lull_error *err)
{
    static const char *const objects[] = {"matrix", NULL};
    static const char *const forms[] = {"coordinate", "array", NULL};
    static const char *const fields[] = {"real", "integer", "complex", "pattern", "double", NULL};
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric", "hermitian",
                                             NULL};
    const char *place = market->text, *end = market->end;
    int object, form, field, symmetry;
    if ((size_t)(end - place) < sizeof banner - 1 || memcmp(place, banner, sizeof banner - 1) != 0)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: line 1: expected '%s'", market->path, banner);
    place += sizeof banner - 1;
    if (!read_word(&place, end, objects, &object))
        return lull_fail(err, LULL_ERR_FORMAT, "%s: line 1: not a matrix", market->path);
    if (!read_word(&place, end, forms, &form))
        return lull_fail(err, LULL_ERR_FORMAT, "%s: line 1: expected coordinate or array",
                         market->path);
    if (!read_word(&place, end, fields, &field) || (form == ARRAY && field == PATTERN))
        return lull_fail(err, LULL_ERR_FORMAT, "%s: line 1: expected real, integer, complex%s",
                         market->path, form == ARRAY ? "" : " or pattern");
    if (!read_word(&place, end, symmetries, &symmetry))
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: line 1: expected general, symmetric, skew-symmetric or hermitian",
                         market->path);
    market->form = (enum form)form;
    market->field = field > PATTERN ? REAL : (enum field)field;
    market->symmetry = (enum symmetry)symmetry;
    return LULL_OK;
}

/* Skips comments and empty lines. */
static void skip_comments(const char **place, const char *end)
{
    while (*place < end) {
        const char *start = *place;
        market_skip_blanks(place, end);
        if (*place < end && **place != '%' && **place != '\n') {
            *place = start;
            return;
        }
        market_next_line(place, end);
    }
}

/* Whether the sizes that a file says fit its length: each entry takes two bytes at least, and of a
 * large matrix not nearly all rows or columns are empty. So a small damaged file cannot ask for
 * much memory. */
static lull_status check_market_sizes(const struct market *market, struct lull_error *err)
{
    enum { SURELY_ALLOWED = 10000000, EMPTY_ROWS = 100 };
    uint64_t longest = market->rows > market->columns ? market->rows : market->columns;
    uint64_t bytes = (uint64_t)(market->end - market->body) + 1;
    unsigned long line = line_of(market, market->body) - 1;
    if (market->symmetry != GENERAL && market->rows != market->columns)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: line %lu: %llu x %llu, expected a square for its symmetry",
                         market->path, line, (unsigned long long)market->rows,
                         (unsigned long long)market->columns);
    if (market->entries > bytes / 2)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: line %lu: announces %llu entries, more than the file can hold",
                         market->path, line, (unsigned long long)market->entries);
    if (longest > SURELY_ALLOWED && longest / EMPTY_ROWS > market->entries)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: line %lu: %llu rows or columns for %llu entries: nearly all would be "
                         "empty",
                         market->path, line, (unsigned long long)longest,
                         (unsigned long long)market->entries);
    return LULL_OK;
}

static uint64_t array_entries(const struct market *market)
{
    uint64_t n = market->rows;
    switch (market->symmetry) {
    case GENERAL:
        return n * market->columns;
    case SKEW:
        return n * (n - 1) / 2;
    default:
        return n * (n + 1) / 2;
    }
}

static lull_status read_market_head(struct market *market, struct lull_error *err)
{
    lull_status status = read_banner(market, err);
    if (status != LULL_OK)
        return status;
    const char *place = market->text;
    market_next_line(&place, market->end);
    skip_comments(&place, market->end);
    const char *line = place;
    bool good = market_whole(&place, market->end, MOST_ROWS, &market->rows) &&
                market_whole(&place, market->end, MOST_ROWS, &market->columns) && market->rows &&
                market->columns;
    if (good && market->form == COORDINATE)
        good = market_whole(&place, market->end, UINT64_MAX / 16, &market->entries);
    market_skip_blanks(&place, market->end);
    if (!good || !market_at_line_end(place, market->end))
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: line %lu: expected rows and columns, 1 to %lu%s", market->path,
                         line_of(market, line), (unsigned long)MOST_ROWS,
                         market->form == COORDINATE ? ", and number of nonzeros" : "");
    if (market->form == ARRAY)
        market->entries = array_entries(market);
    market_next_line(&place, market->end);
    market->body = place;
    return check_market_sizes(market, err);
}

/* ---- the body, in pieces --------------------------------------------------------------------- */

struct piece {
    struct lull_matrix_part part; /* of an array only the values count until place_array */
    const char *wrong;            /* where the first mistake is; NULL: none */
    const char *cause;
    bool no_memory;
};

struct body {
    const struct market *market;
    struct piece *pieces;
    size_t n_pieces;
    atomic_size_t next;
};

/* Where a piece begins: at the first line that begins at or behind this multiple of PIECE. */
static const char *piece_start(const struct market *market, size_t number)
{
    size_t size = (size_t)(market->end - market->body), at = number * PIECE;
    if (!number)
        return market->body;
    if (at >= size)
        return market->end;
    const char *place = market->body + at - 1;
    market_next_line(&place, market->end);
    return place;
}

static const char *check_place(const struct market *market, uint64_t row, uint64_t column)
{
    if (!row || row > market->rows)
        return "the row is outside of the matrix";
    if (!column || column > market->columns)
        return "the column is outside of the matrix";
    if (market->symmetry == SKEW && row == column)
        return "a skew-symmetric matrix has no entries on its diagonal";
    return NULL;
}

/* Reads the entry of a line. Returns NULL, or what is wrong with the line. */
static const char *read_entry(const struct market *market, const char **place, const char *end,
                              struct lull_matrix_entry *entry)
{
    uint64_t row = 1, column = 1;
    double imaginary;
    *entry = (struct lull_matrix_entry){.value = 1};
    if (market->form == COORDINATE) {
        if (!market_whole(place, end, UINT32_MAX, &row) ||
            !market_whole(place, end, UINT32_MAX, &column))
            return "expected row and column";
        const char *cause = check_place(market, row, column);
        if (cause)
            return cause;
    }
    if (market->field != PATTERN && !lull_market_real(place, end, &entry->value))
        return "expected a value";
    if (market->field == COMPLEX && !lull_market_real(place, end, &imaginary))
        return "expected a real and an imaginary part";
    market_skip_blanks(place, end);
    entry->row = (uint32_t)row - 1;
    entry->column = (uint32_t)column - 1;
    return market_at_line_end(*place, end) ? NULL : "more than one entry on a line";
}

static void read_piece(const struct market *market, size_t number, struct piece *piece)
{
    enum { BYTES_OF_A_LINE = 16 };
    const char *place = piece_start(market, number), *end = piece_start(market, number + 1);
    struct lull_matrix_part *part = &piece->part;
    if (!lull_array_reserve(&part->entries, &part->capacity,
                            (size_t)(end - place) / BYTES_OF_A_LINE + 1, sizeof *part->entries)) {
        piece->no_memory = true;
        return;
    }
    while (place < end) {
        const char *line = place;
        market_skip_blanks(&place, end);
        if (market_at_line_end(place, end) || *place == '%') {
            market_next_line(&place, end);
            continue;
        }
        if (!lull_array_reserve(&part->entries, &part->capacity, part->count + 1,
                                sizeof *part->entries)) {
            piece->no_memory = true;
            return;
        }
        piece->cause = read_entry(market, &place, end, &part->entries[part->count]);
        if (piece->cause) {
            piece->wrong = line;
            return;
        }
        part->count++;
        market_next_line(&place, end);
    }
}

static void work_on_pieces(void *context, unsigned worker)
{
    struct body *body = context;
    (void)worker;
    for (size_t n; (n = atomic_fetch_add(&body->next, 1)) < body->n_pieces;)
        read_piece(body->market, n, &body->pieces[n]);
}

/* The first line with an entry more than the file announced, somewhere in the first n_pieces. */
static const char *line_beyond(const struct market *market, const struct body *body,
                               size_t n_pieces)
{
    uint64_t count = 0;
    size_t p = 0;
    while (p < n_pieces && count + body->pieces[p].part.count <= market->entries)
        count += body->pieces[p++].part.count;
    const char *place = piece_start(market, p);
    for (;; count++) {
        skip_comments(&place, market->end);
        if (count == market->entries)
            return place;
        market_next_line(&place, market->end);
    }
}

static lull_status check_body(const struct market *market, const struct body *body,
                              struct lull_error *err)
{
    uint64_t count = 0;
    for (size_t p = 0; p < body->n_pieces; p++) {
        const struct piece *piece = &body->pieces[p];
        count += piece->part.count;
        if (count > market->entries)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: line %lu: more than the %llu entries that "
                             "were announced",
                             market->path, line_of(market, line_beyond(market, body, p + 1)),
                             (unsigned long long)market->entries);
        if (piece->no_memory)
            return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for its entries",
                             market->path);
        if (piece->wrong)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: line %lu: %s", market->path,
                             line_of(market, piece->wrong), piece->cause);
    }
    if (count < market->entries)
        return lull_fail(
            err, LULL_ERR_FORMAT, "%s: ends after %llu of the %llu entries that were announced",
            market->path, (unsigned long long)count, (unsigned long long)market->entries);
    return LULL_OK;
}

/* Sets rows and columns of an array's values, which come column by column. In a symmetric array
 * each column begins at the diagonal, in a skew-symmetric one below it. */
static void place_array(const struct market *market, const struct body *body)
{
    uint32_t skip = market->symmetry == SKEW;
    uint32_t row = skip, column = 0;
    for (size_t p = 0; p < body->n_pieces; p++)
        for (size_t i = 0; i < body->pieces[p].part.count; i++) {
            struct lull_matrix_entry *entry = &body->pieces[p].part.entries[i];
            entry->row = row++;
            entry->column = column;
            if (row == market->rows) {
                column++;
                row = market->symmetry == GENERAL ? 0 : column + skip;
            }
        }
}

static lull_status build_matrix(const struct market *market, struct body *body,
                                struct lull_matrix *ret_matrix, struct lull_error *err)
{
    static const enum lull_matrix_symmetry kinds[] = {LULL_MATRIX_GENERAL, LULL_MATRIX_SYMMETRIC,
                                                      LULL_MATRIX_SKEW, LULL_MATRIX_SYMMETRIC};
    if (market->form == ARRAY)
        place_array(market, body);
    struct lull_matrix_part *parts = calloc(body->n_pieces + 1, sizeof *parts);
    if (!parts)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory", market->path);
    for (size_t p = 0; p < body->n_pieces; p++)
        parts[p] = body->pieces[p].part;
    lull_status status =
        lull_matrix_build((uint32_t)market->rows, (uint32_t)market->columns, parts, body->n_pieces,
                          kinds[market->symmetry], ret_matrix, err);
    free(parts);
    if (status != LULL_OK)
        return lull_fail_prefix(err, status, "%s", market->path);
    ret_matrix->complex = market->field == COMPLEX;
    return LULL_OK;
}

static lull_status read_body(const struct market *market, unsigned threads,
                             struct lull_matrix *ret_matrix, struct lull_error *err)
{
    struct body body = {.market = market,
                        .n_pieces = (size_t)(market->end - market->body) / PIECE + 1};
    body.pieces = calloc(body.n_pieces, sizeof *body.pieces);
    if (!body.pieces)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory", market->path);
    if (!threads)
        threads = lull_worker_count();
    lull_parallel_run(threads < body.n_pieces ? threads : (unsigned)body.n_pieces, work_on_pieces,
                      &body);
    lull_status status = check_body(market, &body, err);
    if (status == LULL_OK)
        status = build_matrix(market, &body, ret_matrix, err);
    for (size_t p = 0; p < body.n_pieces; p++)
        free(body.pieces[p].part.entries);
    free(body.pieces);
    return status;
}

lull_status lull_market_parse(const char *text, size_t size, const char *path, unsigned threads,
                              struct lull_matrix *ret_matrix, struct lull_error *err)
{
    struct market market = {.path = path, .text = text, .end = text + size};
    lull_status status = read_market_head(&market, err);
    return status == LULL_OK ? read_body(&market, threads, ret_matrix, err) : status;
}

lull_status lull_market_read(const char *path, unsigned threads, struct lull_matrix *ret_matrix,
                             struct lull_error *err)
{
    struct file_text text = {0};
    lull_status status = open_text(path, &text, err);
    if (status == LULL_OK) {
        const char *start = text.inflated ? text.inflated : (const char *)text.mapping.data;
        status = lull_market_parse(start ? start : "", text.size, path, threads, ret_matrix, err);
    }
    close_text(&text);
    return status;
}
