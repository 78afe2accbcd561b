/* Polynomials: arithmetic against numbers, and texts. */
#include "model/kernel/kernel.h"

#include "support/seed.h"
#include "support/test.h"

#include "stats/random.h"

#include <stdio.h>
#include <string.h>

enum { SYMBOLS = 4, ROUNDS = 2000 };

static struct lull_poly draw(struct lull_random *random)
{
    struct lull_poly poly = {0};
    for (uint64_t i = lull_random_below(random, 4); i > 0; i--) {
        struct lull_poly term = lull_poly_constant((int64_t)lull_random_below(random, 7) - 3);
        for (uint64_t k = lull_random_below(random, 3); k > 0; k--) {
            struct lull_poly symbol = lull_poly_symbol(lull_random_below(random, SYMBOLS));
            assert_true(lull_poly_multiply(&term, &symbol, &term));
        }
        assert_true(lull_poly_add(&poly, &term, 1, &poly));
    }
    return poly;
}

static void arithmetic_agrees_with_numbers(void **state)
{
    struct lull_random random;
    (void)state;
    lull_random_seed(&random, lull_test_seed());
    for (int round = 0; round < ROUNDS; round++) {
        struct lull_poly a = draw(&random), b = draw(&random), sum, product, factor, rest, again;
        double values[LULL_POLY_SYMBOLS] = {0};
        for (size_t s = 0; s < SYMBOLS; s++)
            values[s] = (double)lull_random_below(&random, 20) - 10;
        double x = lull_poly_value(&a, values), y = lull_poly_value(&b, values);
        assert_true(lull_poly_add(&a, &b, -2, &sum));
        assert_true(lull_poly_value(&sum, values) == x - 2 * y);
        assert_true(lull_poly_multiply(&a, &b, &product));
        assert_true(lull_poly_value(&product, values) == x * y);
        assert_true(lull_poly_add(&sum, &b, 2, &sum));
        assert_true(lull_poly_equal(&sum, &a));
        if (lull_poly_split(&a, 1, &factor, &rest)) {
            struct lull_poly symbol = lull_poly_symbol(1);
            assert_false(lull_poly_contains(&factor, 1) || lull_poly_contains(&rest, 1));
            assert_true(lull_poly_multiply(&factor, &symbol, &again));
            assert_true(lull_poly_add(&again, &rest, 1, &again));
            assert_true(lull_poly_equal(&again, &a));
        }
    }
}

static void texts_read_as_written_by_hand(void **state)
{
    static const char *const names[LULL_POLY_SYMBOLS] = {"N", "M"};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_poly n = lull_poly_symbol(0), m = lull_poly_symbol(1), poly, one;
    (void)state;
    one = lull_poly_constant(1);
    assert_true(lull_poly_multiply(&n, &m, &poly));
    assert_true(lull_poly_add(&poly, &n, -32, &poly));
    assert_true(lull_poly_add(&poly, &one, -16, &poly));
    assert_string_equal(lull_poly_text(&poly, names, arena), "N M - 32 N - 16");
    assert_true(lull_poly_multiply(&n, &n, &poly));
    assert_true(lull_poly_add(&poly, &one, 5, &poly));
    assert_string_equal(lull_poly_text(&poly, names, arena), "N^2 + 5");
    assert_true(lull_poly_add(&n, &n, -1, &poly));
    assert_string_equal(lull_poly_text(&poly, names, arena), "0");
    lull_arena_destroy(arena);
}

static void too_much_is_told(void **state)
{
    struct lull_poly sum = {0}, big = lull_poly_constant(INT64_MAX), n = lull_poly_symbol(0), poly;
    (void)state;
    assert_false(lull_poly_add(&big, &big, 1, &poly));
    assert_false(lull_poly_multiply(&big, &big, &poly));
    sum = n;
    for (int power = 2; power <= 8; power++)
        assert_true(lull_poly_multiply(&sum, &n, &sum));
    assert_false(lull_poly_multiply(&sum, &n, &sum));
    assert_false(lull_poly_divide(&n, 2, &poly));
    assert_false(lull_poly_divide(&n, 0, &poly));
}

static void constants_have_no_symbols(void **state)
{
    struct lull_poly zero = {0}, five = lull_poly_constant(5), n = lull_poly_symbol(0), sum;
    int64_t value = -1;
    (void)state;
    assert_true(lull_poly_is_constant(&five, &value));
    assert_int_equal(value, 5);
    assert_true(lull_poly_is_constant(&zero, &value));
    assert_int_equal(value, 0);
    assert_false(lull_poly_is_constant(&n, &value));
    assert_true(lull_poly_add(&n, &five, 1, &sum));
    assert_false(lull_poly_is_constant(&sum, &value));
    assert_int_equal(value, 0);
}

TEST_GROUP(test_poly)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_agrees_with_numbers),
        cmocka_unit_test(texts_read_as_written_by_hand),
        cmocka_unit_test(too_much_is_told),
        cmocka_unit_test(constants_have_no_symbols),
    };
    return run_cases(tests, NULL, NULL);
}
