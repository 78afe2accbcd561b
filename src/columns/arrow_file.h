/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrow files: a table of typed columns in Arrow's IPC file format, which pandas, polars, duckdb and
 * others map into memory ("Feather, version 2"). Source: "Arrow Columnar Format", section
 * "Serialization and Interprocess Communication", https://arrow.apache.org/docs/format/Columnar.html.
 *
 * Rows are written in batches of LULL_ARROW_ROWS. Memory: a batch, and 24 bytes for each batch that
 * was written. Nothing is compressed, so that readers can map the columns. */
#ifndef LULL_COLUMNS_ARROW_FILE_H
#define LULL_COLUMNS_ARROW_FILE_H

#include "base/error.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LULL_ARROW_ROWS = 1 << 16 };

enum lull_arrow_type {
    LULL_ARROW_INT64,
    LULL_ARROW_UINT64,
    LULL_ARROW_INT32,
    LULL_ARROW_BOOL,
    LULL_ARROW_NAME, /* a text: one of the `names` of the column, by its index */
    LULL_ARROW_TYPES
};

/* A column, as its file describes it. Texts and `names` are borrowed until the file is closed. */
struct lull_arrow_column {
    const char *name;
    enum lull_arrow_type type;
    bool may_lack;                 /* rows may have no value (null) */
    const struct lull_hash *names; /* of NAME: at most 2^31 - 1 different texts of UTF-8 */
};

/* What is said of a table as a whole; borrowed likewise. */
struct lull_arrow_note {
    const char *key, *value;
};

/* The values of the open batch. For the functions below. */
struct lull_arrow_values {
    unsigned char *bytes; /* [LULL_ARROW_ROWS] elements; bits of BOOLs */
    unsigned char *there; /* a bit per row: it has a value; NULL: every row has */
    uint32_t width;       /* bytes of an element; 0: a bit */
    uint32_t lacking;     /* rows without value */
};

struct lull_arrow_file {
    struct lull_arrow_values *values; /* by column */
    uint32_t rows;                    /* of the open batch */
    struct lull_arrow_out *out;
};

/* Creates the file `path`, which messages call `shown`, with the description of its columns.
 * The arrays themselves are needed during the call only. On failure nothing has to be closed, and
 * what was written stays. */
lull_status lull_arrow_open(const char *path, const char *shown,
                            const struct lull_arrow_column *columns, uint32_t n_columns,
                            const struct lull_arrow_note *notes, uint32_t n_notes,
                            struct lull_arrow_file *ret_file, struct lull_error *err);

/* Writes the open batch; part of lull_arrow_row. */
lull_status lull_arrow_write_batch(struct lull_arrow_file *file, struct lull_error *err);

/* Writes what is left and the index of the batches, and closes the file, in success and failure.
 * `complete` false: it is closed as it is. A file of zeros is allowed. */
lull_status lull_arrow_close(struct lull_arrow_file *file, bool complete, struct lull_error *err);

/* ---- rows ------------------------------------------------------------------------------------ */

/* Every row sets every column once, in any order, and ends with lull_arrow_row. */

static inline void lull_set_int64(struct lull_arrow_file *file, unsigned column, int64_t value)
{
    ((int64_t *)(void *)file->values[column].bytes)[file->rows] = value;
}

static inline void lull_set_uint64(struct lull_arrow_file *file, unsigned column, uint64_t value)
{
    ((uint64_t *)(void *)file->values[column].bytes)[file->rows] = value;
}

static inline void lull_set_int32(struct lull_arrow_file *file, unsigned column, uint32_t value)
{
    ((uint32_t *)(void *)file->values[column].bytes)[file->rows] = value;
}

static inline void lull_set_bool(struct lull_arrow_file *file, unsigned column, bool value)
{
    unsigned char *byte = &file->values[column].bytes[file->rows / 8];
    *byte = (unsigned char)((*byte & ~(1U << file->rows % 8)) | (unsigned)value << file->rows % 8);
}

/* `name` is an index into the names of the column. */
static inline void lull_set_name(struct lull_arrow_file *file, unsigned column, uint32_t name)
{
    const struct lull_arrow_values *values = &file->values[column];
    if (values->width == 1)
        values->bytes[file->rows] = (unsigned char)name;
    else if (values->width == 2)
        ((uint16_t *)(void *)values->bytes)[file->rows] = (uint16_t)name;
    else
        ((uint32_t *)(void *)values->bytes)[file->rows] = name;
}

/* The row has no value in this column, which may lack values. */
static inline void lull_set_null(struct lull_arrow_file *file, unsigned column)
{
    struct lull_arrow_values *values = &file->values[column];
    values->there[file->rows / 8] &= (unsigned char)~(1U << file->rows % 8);
    values->lacking++;
    if (values->width == 8)
        lull_set_int64(file, column, 0);
    else if (values->width == 0)
        lull_set_bool(file, column, false);
    else
        lull_set_name(file, column, 0);
}

static inline lull_status lull_arrow_row(struct lull_arrow_file *file, struct lull_error *err)
{
    return ++file->rows < LULL_ARROW_ROWS ? LULL_OK : lull_arrow_write_batch(file, err);
}

#endif
