/* Matrix Market files: random matrices of every kind, written plainly and read back, against a
 * slow construction of the matrix that the file describes; and numbers against the C library's. */
#include "model/spmv/market.h"
#include "stats/random.h"
#include "support/branches.h"
#include "support/seed.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { MOST = 40 };

static const char *const fields[] = {"real", "integer", "complex", "pattern"};
static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric", "hermitian"};

enum { FIELDS = 4, SYMMETRIES = 4, ARRAY = FIELDS + SYMMETRIES, EMPTY_ROW, MIRRORED, BRANCHES };
static struct branch branches[BRANCHES] = {
    {.what = "numbers are real", .least = 20},
    {.what = "numbers are integers", .least = 20},
    {.what = "numbers are complex", .least = 20},
    {.what = "there are no numbers", .least = 20},
    {.what = "the matrix is general", .least = 20},
    {.what = "the matrix is symmetric", .least = 20},
    {.what = "the matrix is skew-symmetric", .least = 20},
    {.what = "the matrix is hermitian", .least = 20},
    {.what = "all elements are written", .least = 20},
    {.what = "a row is empty", .least = 20},
    {.what = "an element stands for two", .least = 20},
};

struct drawn {
    unsigned field, symmetry;
    bool array;
    unsigned rows, columns;
    double value[MOST][MOST]; /* what the file means; 0: none */
    unsigned entries;         /* in the file */
};

static double draw_value(struct lull_random *random, const struct drawn *drawn)
{
    if (drawn->field == 3)
        return 1;
    double whole = (double)(1 + lull_random_below(random, 1000000));
    if (lull_random_below(random, 2))
        whole = -whole;
    return drawn->field == 1 ? whole : whole * lull_random_uniform(random) * 1e-3 + 1e-9;
}

static struct drawn draw(struct lull_random *random)
{
    struct drawn drawn = {.field = (unsigned)lull_random_below(random, 4),
                          .symmetry = (unsigned)lull_random_below(random, 4),
                          .rows = 1 + (unsigned)lull_random_below(random, MOST)};
    branch_reach(&branches[drawn.field], true);
    branch_reach(&branches[FIELDS + drawn.symmetry], true);
    drawn.array = drawn.field != 3 && lull_random_below(random, 4) == 0;
    branch_reach(&branches[ARRAY], drawn.array);
    drawn.columns = drawn.symmetry ? drawn.rows : 1 + (unsigned)lull_random_below(random, MOST);
    for (unsigned c = 0; c < drawn.columns; c++)
        for (unsigned r = drawn.symmetry ? c + (drawn.symmetry == 2) : 0; r < drawn.rows; r++) {
            if (!drawn.array && lull_random_below(random, 3))
                continue;
            drawn.value[r][c] = draw_value(random, &drawn);
            drawn.entries++;
            branch_reach(&branches[MIRRORED], drawn.symmetry && r != c);
            if (drawn.symmetry && r != c)
                drawn.value[c][r] = drawn.symmetry == 2 ? -drawn.value[r][c] : drawn.value[r][c];
        }
    return drawn;
}

static void write_value(FILE *out, const struct drawn *drawn, double value)
{
    if (drawn->field == 1)
        fprintf(out, " %.0f", value);
    else if (drawn->field != 3)
        fprintf(out, " %.17g", value);
    if (drawn->field == 2)
        fprintf(out, " %.17g", value / 3);
}

static void write_file(FILE *out, const struct drawn *drawn)
{
    fprintf(out, "%%%%MatrixMarket matrix %s %s %s\n%% a comment\n\n%u %u",
            drawn->array ? "array" : "coordinate", fields[drawn->field],
            symmetries[drawn->symmetry], drawn->rows, drawn->columns);
    if (!drawn->array)
        fprintf(out, "  %u", drawn->entries);
    fputs(" \n", out);
    for (unsigned c = 0; c < drawn->columns; c++)
        for (unsigned r = drawn->symmetry ? c + (drawn->symmetry == 2) : 0; r < drawn->rows; r++) {
            if (!drawn->array && drawn->value[r][c] == 0)
                continue;
            if (!drawn->array)
                fprintf(out, "%u %u", r + 1, c + 1);
            write_value(out, drawn, drawn->value[r][c]);
            fputs(c % 3 ? "\n" : " \r\n", out);
        }
}

static void check(const char *path, const struct drawn *drawn)
{
    struct lull_matrix matrix;
    struct lull_error err = {""};
    fail_if(lull_market_read(path, 2, &matrix, &err) != LULL_OK, "%s", err.text);
    assert_int_equal(matrix.rows, drawn->rows);
    assert_int_equal(matrix.columns, drawn->columns);
    assert_int_equal(matrix.complex, drawn->field == 2);
    for (unsigned r = 0; r < drawn->rows; r++) {
        uint32_t i = matrix.starts[r];
        for (unsigned c = 0; c < drawn->columns; c++) {
            if (drawn->value[r][c] == 0)
                continue;
            assert_true(i < matrix.starts[r + 1]);
            assert_int_equal(matrix.column[i], c);
            assert_true(matrix.values[i] == drawn->value[r][c]);
            i++;
        }
        assert_int_equal(i, matrix.starts[r + 1]);
        branch_reach(&branches[EMPTY_ROW], i == matrix.starts[r]);
    }
    lull_matrix_free(&matrix);
}

static void compress_file(const char *from, const char *to)
{
    char buffer[4096];
    FILE *in = fopen(from, "rb");
    gzFile out = gzopen(to, "wb");
    assert_true(in && out);
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, in)) > 0;)
        assert_int_equal(gzwrite(out, buffer, (unsigned)got), got);
    fclose(in);
    assert_int_equal(gzclose(out), Z_OK);
}

static void test_files(void **state)
{
    (void)state;
    struct lull_random random;
    char path[] = "/tmp/lull-market-XXXXXX", compressed[sizeof path + 3];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(compressed, sizeof compressed, "%s.gz", path);
    lull_random_seed(&random, lull_test_seed());
    const unsigned rounds = lull_test_rounds(200);
    for (unsigned round = 0; round < rounds; round++) {
        struct drawn drawn = draw(&random);
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        write_file(out, &drawn);
        fclose(out);
        check(path, &drawn);
        compress_file(path, compressed);
        check(compressed, &drawn);
        assert_true(lull_market_recognise(path) && lull_market_recognise(compressed));
        branches_next(branches, BRANCHES);
    }
    branches_assert(branches, BRANCHES, rounds);
    unlink(path);
    unlink(compressed);
}

static void check_number(const char *text)
{
    const char *place = text;
    double got;
    fail_if(!lull_market_real(&place, text + strlen(text), &got), "%s is not read", text);
    fail_if(got != strtod(text, NULL) || *place, "%s: %.17g, expected %.17g", text, got,
            strtod(text, NULL));
}

static void test_numbers(void **state)
{
    (void)state;
    static const char *const odd[] = {"0",
                                      "-0.0",
                                      "1e22",
                                      "1e23",
                                      "9007199254740993",
                                      "1e-22",
                                      "5.",
                                      ".5",
                                      "+7e+3",
                                      "123456789012345678901",
                                      "1e400",
                                      "1e-400",
                                      "4.9e-324",
                                      "1.7976931348623157e308"};
    struct lull_random random;
    char text[64];
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        check_number(odd[i]);
    lull_random_seed(&random, lull_test_seed());
    const unsigned rounds = lull_test_rounds(100000);
    unsigned precise = 0;
    for (unsigned round = 0; round < rounds; round++) {
        uint64_t bits = lull_random_u64(&random);
        unsigned digits = 1 + (unsigned)lull_random_below(&random, 19);
        int exponent = (int)lull_random_below(&random, 60) - 30;
        snprintf(text, sizeof text, "%s%.*ge%d", bits & 1 ? "-" : "", (int)digits,
                 (double)(bits >> 11) * 0x1p-53, exponent);
        if (!strstr(strchr(text, 'e') + 1, "e")) {
            check_number(text);
            precise += digits > 17;
        }
        snprintf(text, sizeof text, "%llu.%llue%d", (unsigned long long)(bits >> 40),
                 (unsigned long long)(bits & 0xffffffffff), exponent);
        check_number(text);
    }
    assert_reached("a number has more than 17 digits", precise, rounds / 20, rounds);
}

TEST_GROUP(test_market)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_files),
                                       cmocka_unit_test(test_numbers)};
    return run_cases(tests, NULL, NULL);
}
