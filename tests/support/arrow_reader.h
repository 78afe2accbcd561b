/* A reader of Arrow files for tests, which shares nothing with what writes them: flatbuffers are read byte by byte, as
 * their format and Arrow's schema (Schema.fbs, Message.fbs, File.fbs) have it. It starts from the footer, as readers do
 * that map a file, and ends the test at whatever the format does not allow. */
#ifndef LULL_TESTS_SUPPORT_ARROW_READER_H
#define LULL_TESTS_SUPPORT_ARROW_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arrow_text {
    const char *bytes; /* in the file, without an end */
    size_t length;
};

enum arrow_type { ARROW_INT, ARROW_BOOL, ARROW_TEXT };

struct arrow_column {
    char name[64];
    enum arrow_type type;
    unsigned bits; /* of INT, and of the indices of TEXT */
    bool is_signed, may_lack;
    struct arrow_text *texts; /* the dictionary of TEXT */
    size_t n_texts;
    int64_t dictionary;
    bool *there;     /* [n_rows] */
    int64_t *values; /* [n_rows]: numbers, 0 or 1, indices of texts */
};

struct arrow_table {
    unsigned char *file;
    size_t size;
    struct arrow_column *columns;
    size_t n_columns, n_rows, n_batches;
};

/* Reads a whole file. */
struct arrow_table arrow_read(const char *path);
void arrow_free(struct arrow_table *table);

/* The column of that name; ends the test if there is none. */
const struct arrow_column *arrow_column(const struct arrow_table *table, const char *name);
bool arrow_lacks(const struct arrow_table *table, const char *column, size_t row);
/* Ends the test where the row has no value. */
int64_t arrow_number(const struct arrow_table *table, const char *column, size_t row);
/* Whether a row has this text; `text` NULL: whether it has none. */
bool arrow_says(const struct arrow_table *table, const char *column, size_t row, const char *text);
/* What the schema notes under a key, as it stands in the file; ends the test if it notes nothing. */
struct arrow_text arrow_note(const struct arrow_table *table, const char *key);

#endif
