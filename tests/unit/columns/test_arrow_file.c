/* Arrow files, read by a reader that shares nothing with their writer: every type, rows without value, indices of every
 * width, batches, names that are no UTF-8, and files that cannot be written. */
#include "columns/arrow_file.h"
#include "columns/tables.h"
#include "support/arrow_reader.h"
#include "support/folder.h"
#include "support/test.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static struct lull_error err;

static int set_up(void **state)
{
    (void)state;
    folder_make();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove();
    return 0;
}

static void open_file(const struct lull_arrow_column *columns, uint32_t n_columns,
                      struct lull_arrow_file *ret_file)
{
    const struct lull_arrow_note notes[] = {{"lull.schema", "test"}, {"other", ""}};
    fail_if(lull_arrow_open(folder_path("t.arrow"), "shown", columns, n_columns, notes, 2, ret_file,
                            &err) != LULL_OK,
            "%s", err.text);
}

static struct arrow_table close_and_read(struct lull_arrow_file *file)
{
    fail_if(lull_arrow_close(file, true, &err) != LULL_OK, "%s", err.text);
    assert_null(file->out);
    return arrow_read(folder_path("t.arrow"));
}

/* What the row of a number holds, in every column. */
static int64_t int_of(uint64_t row)
{
    return (int64_t)(row * UINT64_C(0x9e3779b97f4a7c15));
}

static bool lacks(uint64_t row, unsigned column)
{
    return (row >> column) % 5 == 0;
}

static void test_rows(void **state)
{
    (void)state;
    enum { COLUMNS = 5, NAMES = 3 };
    static const uint64_t counts[] = {0,
                                      1,
                                      7,
                                      8,
                                      9,
                                      63,
                                      64,
                                      LULL_ARROW_ROWS - 1,
                                      LULL_ARROW_ROWS,
                                      LULL_ARROW_ROWS + 1,
                                      3 * LULL_ARROW_ROWS};
    struct lull_column_words words = {0};
    for (unsigned i = 0; i < NAMES; i++)
        assert_true(lull_column_words_add(&words, i == 1 ? "" : i ? "b\xc3\xa9" : "a"));
    const struct lull_arrow_column columns[COLUMNS] = {
        {"i64", LULL_ARROW_INT64, true, NULL},
        {"u64", LULL_ARROW_UINT64, true, NULL},
        {"i32", LULL_ARROW_INT32, true, NULL},
        {"bool", LULL_ARROW_BOOL, true, NULL},
        {"name", LULL_ARROW_NAME, true, &words.texts}};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        struct lull_arrow_file file;
        open_file(columns, COLUMNS, &file);
        for (uint64_t row = 0; row < counts[c]; row++) {
            for (unsigned i = 0; i < COLUMNS; i++)
                if (lacks(row, i))
                    lull_set_null(&file, i);
            if (!lacks(row, 0))
                lull_set_int64(&file, 0, int_of(row));
            if (!lacks(row, 1))
                lull_set_uint64(&file, 1, (uint64_t)int_of(row));
            if (!lacks(row, 2))
                lull_set_int32(&file, 2, (uint32_t)int_of(row));
            if (!lacks(row, 3))
                lull_set_bool(&file, 3, int_of(row) & 64);
            if (!lacks(row, 4))
                lull_set_name(&file, 4, words.of[row % NAMES]);
            assert_int_equal(lull_arrow_row(&file, &err), LULL_OK);
        }
        struct arrow_table table = close_and_read(&file);
        assert_int_equal(table.n_rows, counts[c]);
        assert_int_equal(table.n_batches, (counts[c] + LULL_ARROW_ROWS - 1) / LULL_ARROW_ROWS);
        for (uint64_t row = 0; row < counts[c]; row++) {
            for (unsigned i = 0; i < COLUMNS; i++)
                fail_if(lacks(row, i) == table.columns[i].there[row], "%s, row %" PRIu64,
                        columns[i].name, row);
            const int64_t value = int_of(row);
            fail_if((!lacks(row, 0) && table.columns[0].values[row] != value) ||
                        (!lacks(row, 1) && table.columns[1].values[row] != value) ||
                        (!lacks(row, 2) && table.columns[2].values[row] != (int32_t)value) ||
                        (!lacks(row, 3) && table.columns[3].values[row] != !!(value & 64)) ||
                        (!lacks(row, 4) && table.columns[4].values[row] != (int64_t)(row % NAMES)),
                    "row %" PRIu64 " of %" PRIu64, row, counts[c]);
        }
        const struct arrow_text note = arrow_note(&table, "lull.schema");
        assert_int_equal(note.length, 4);
        assert_memory_equal(note.bytes, "test", 4);
        assert_int_equal(arrow_note(&table, "other").length, 0);
        arrow_free(&table);
        remove(folder_path("t.arrow"));
    }
    lull_column_words_free(&words);
}

/* Indices are signed, so that 128 names do not fit a byte: index 127 does. */
static void test_widths(void **state)
{
    (void)state;
    static const struct {
        unsigned names, bits;
    } cases[] = {{0, 8}, {1, 8}, {127, 8}, {128, 16}, {32767, 16}, {32768, 32}, {100000, 32}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct lull_column_words words = {0};
        struct lull_arrow_file file;
        char name[32];
        for (unsigned i = 0; i < cases[c].names; i++) {
            snprintf(name, sizeof name, "name %u", i);
            assert_true(lull_column_words_add(&words, name));
        }
        const struct lull_arrow_column column = {"name", LULL_ARROW_NAME, false, &words.texts};
        open_file(&column, 1, &file);
        for (unsigned i = 0; i < cases[c].names; i++) {
            lull_set_name(&file, 0, words.of[cases[c].names - 1 - i]);
            assert_int_equal(lull_arrow_row(&file, &err), LULL_OK);
        }
        struct arrow_table table = close_and_read(&file);
        assert_int_equal(table.columns[0].bits, cases[c].bits);
        assert_int_equal(table.n_rows, cases[c].names);
        for (unsigned i = 0; i < cases[c].names; i++) {
            snprintf(name, sizeof name, "name %u", cases[c].names - 1 - i);
            fail_if(!arrow_says(&table, "name", i, name), "row %u", i);
        }
        arrow_free(&table);
        lull_column_words_free(&words);
        remove(folder_path("t.arrow"));
    }
}

/* Things with the same name have the same text; names of any bytes become UTF-8 without controls. */
static void test_words(void **state)
{
    (void)state;
    struct lull_column_words words = {0};
    static const char *const names[] = {"solve", "\xff", "solve",       "a\x1b[1m",
                                        "\\xff", "",     "\xed\xa0\x80"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(lull_column_words_add(&words, names[i]));
    assert_int_equal(words.count, 7);
    assert_int_equal(words.of[0], words.of[2]);
    assert_int_equal(words.of[1], words.of[4]); /* shown alike */
    assert_string_equal(lull_hash_key(&words.texts, words.of[3]), "a\\x1b[1m");
    assert_string_equal(lull_hash_key(&words.texts, words.of[5]), "");
    assert_string_equal(lull_hash_key(&words.texts, words.of[6]), "\\xed\\xa0\\x80");
    assert_int_equal(words.texts.count, 5);
    lull_column_words_free(&words);
}

static void test_cannot_write(void **state)
{
    (void)state;
    const struct lull_arrow_column column = {"i64", LULL_ARROW_INT64, false, NULL};
    struct lull_arrow_file file;
    assert_int_equal(
        lull_arrow_open(folder_path("missing/t.arrow"), "shown", &column, 1, NULL, 0, &file, &err),
        LULL_ERR_IO);
    assert_string_equal(err.text, "shown: cannot write: No such file or directory");
    open_file(&column, 1, &file);
    const struct lull_arrow_file open = file;
    assert_int_equal(
        lull_arrow_open(folder_path("t.arrow"), "shown", &column, 1, NULL, 0, &file, &err),
        LULL_ERR_IO);
    assert_string_equal(err.text, "shown: cannot write: File exists");
    file = open;
    assert_int_equal(lull_arrow_close(&file, false, &err), LULL_OK);
    file = (struct lull_arrow_file){0};
    assert_int_equal(lull_arrow_close(&file, true, &err), LULL_OK);
    remove(folder_path("t.arrow"));
}

/* The file may not grow beyond 64 KiB: the first batch, which does not fit, says so. */
static void test_full(void **state)
{
    (void)state;
    const struct lull_arrow_column column = {"i64", LULL_ARROW_INT64, false, NULL};
    struct lull_arrow_file file;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit few = {1 << 16, before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    open_file(&column, 1, &file);
    setrlimit(RLIMIT_FSIZE, &few);
    lull_status status = LULL_OK;
    uint32_t rows = 0;
    for (; status == LULL_OK && rows < 2 * LULL_ARROW_ROWS; rows++) {
        lull_set_int64(&file, 0, rows);
        status = lull_arrow_row(&file, &err);
    }
    const lull_status closed = lull_arrow_close(&file, true, NULL);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, LULL_ERR_IO);
    assert_int_equal(rows, LULL_ARROW_ROWS);
    assert_string_equal(err.text, "shown: cannot write: File too large");
    assert_int_equal(closed, LULL_ERR_IO);
    remove(folder_path("t.arrow"));
}

TEST_GROUP(test_arrow_file)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows), cmocka_unit_test(test_widths), cmocka_unit_test(test_words),
        cmocka_unit_test(test_cannot_write), cmocka_unit_test(test_full)};
    return run_cases(tests, set_up, tear_down);
}
