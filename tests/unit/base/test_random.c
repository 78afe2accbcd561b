/* Random numbers, against the published algorithms in another formulation. */
#include "stats/random.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The first outputs of splitmix64 for seed 1234567 and of xoshiro256** for state {1, 2, 3, 4}:
 * test vectors that circulate with the algorithms (Rosetta Code "Pseudo-random numbers/Splitmix64";
 * the rand_xoshiro crate, made with the authors' C code). */
static const uint64_t splitmix_1234567[] = {
    UINT64_C(6457827717110365317), UINT64_C(3203168211198807973), UINT64_C(9817491932198370423),
    UINT64_C(4593380528125082431)};
static const uint64_t xoshiro_1234[] = {UINT64_C(11520),
                                        UINT64_C(0),
                                        UINT64_C(1509978240),
                                        UINT64_C(1215971899390074240),
                                        UINT64_C(1216172134540287360),
                                        UINT64_C(607988272756665600),
                                        UINT64_C(16172922978634559625),
                                        UINT64_C(8476171486693032832),
                                        UINT64_C(10595114339597558777),
                                        UINT64_C(2904607092377533576)};

static void test_seed_is_splitmix64(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, 1234567);
    for (int i = 0; i < 4; i++)
        assert_true(random.state[i] == splitmix_1234567[i]);
}

static void test_xoshiro_vectors(void **state)
{
    (void)state;
    struct lull_random random = {{1, 2, 3, 4}};
    for (size_t i = 0; i < sizeof xoshiro_1234 / sizeof *xoshiro_1234; i++)
        assert_true(lull_random_u64(&random) == xoshiro_1234[i]);
}

/* xoshiro as what it is: a linear map over GF(2), new state = M * state, as formulas for each word,
 * without in-place updates; the scrambler by long multiplication in 128 bits. */
static uint64_t next_by_definition(uint64_t s[4])
{
    unsigned __int128 five = (unsigned __int128)s[1] * 5;
    uint64_t low = (uint64_t)five;
    uint64_t rotated = 0;
    for (int bit = 0; bit < 64; bit++)
        rotated |= (low >> bit & 1) << (bit + 7) % 64;
    uint64_t result = (uint64_t)((unsigned __int128)rotated * 9);
    uint64_t a = s[0], b = s[1], c = s[2], d = s[3], e = b ^ d;
    s[0] = a ^ e;
    s[1] = a ^ b ^ c;
    s[2] = a ^ c ^ b * 131072;
    s[3] = e * (UINT64_C(1) << 45) + e / (UINT64_C(1) << 19);
    return result;
}

static void test_against_definition(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct lull_random random;
        lull_random_seed(&random, seed * UINT64_C(0x123456789abcdef));
        uint64_t reference[4];
        memcpy(reference, random.state, sizeof reference);
        for (int i = 0; i < 1000; i++)
            assert_true(lull_random_u64(&random) == next_by_definition(reference));
    }
}

static void test_uniform(void **state)
{
    (void)state;
    struct lull_random random, copy;
    lull_random_seed(&random, 5);
    enum { DRAWS = 1 << 20 };
    double sum = 0, squares = 0;
    for (int i = 0; i < DRAWS; i++) {
        copy = random;
        double value = lull_random_uniform(&random);
        assert_true(value >= 0 && value < 1);
        assert_true(value == (double)(lull_random_u64(&copy) >> 11) / 9007199254740992.0);
        sum += value;
        squares += value * value;
    }
    /* five standard deviations of the means of x and x^2 */
    assert_true(fabs(sum / DRAWS - 0.5) < 5 * sqrt(1.0 / 12 / DRAWS));
    assert_true(fabs(squares / DRAWS - 1.0 / 3) < 5 * sqrt(4.0 / 45 / DRAWS));
}

/* Chi-square of the counts; 99.9999 % quantile by Wilson and Hilferty. */
static void check_uniform_below(uint64_t bound, unsigned cells)
{
    enum { DRAWS = 1 << 20 };
    struct lull_random random;
    lull_random_seed(&random, bound);
    double counts[64] = {0};
    for (int i = 0; i < DRAWS; i++) {
        uint64_t value = lull_random_below(&random, bound);
        assert_true(value < bound);
        counts[(unsigned __int128)value * cells / bound]++;
    }
    double chi = 0, expected = (double)DRAWS / cells, degrees = cells - 1;
    for (unsigned c = 0; c < cells; c++)
        chi += (counts[c] - expected) * (counts[c] - expected) / expected;
    double h = 2 / (9 * degrees), limit = degrees * pow(1 - h + 4.75 * sqrt(h), 3);
    fail_if(degrees > 0 && chi > limit, "below(%llu): chi-square %g of %g degrees",
            (unsigned long long)bound, chi, degrees);
}

static void test_below(void **state)
{
    (void)state;
    check_uniform_below(1, 1);
    check_uniform_below(2, 2);
    check_uniform_below(3, 3);
    check_uniform_below(10, 10);
    check_uniform_below(64, 64);
    /* two thirds of 2^64: without rejection every other value would come twice as often, and the
     * thirds of the range would differ */
    check_uniform_below(UINT64_C(0xaaaaaaaaaaaaaaab), 48);
    check_uniform_below(UINT64_C(3) << 62, 48);
    check_uniform_below(UINT64_MAX, 16);
}

/* In a range of 3/4 of 2^64, multiplying alone maps two inputs to every third value. */
static void test_below_rejects(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, 9);
    uint64_t bound = UINT64_C(3) << 62;
    double residues[3] = {0};
    enum { DRAWS = 300000 };
    for (int i = 0; i < DRAWS; i++)
        residues[lull_random_below(&random, bound) % 3]++;
    for (int r = 0; r < 3; r++)
        assert_true(fabs(residues[r] - DRAWS / 3.0) < 5 * sqrt(DRAWS * 2.0 / 9));
}

TEST_GROUP(test_random)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seed_is_splitmix64),
        cmocka_unit_test(test_xoshiro_vectors),
        cmocka_unit_test(test_against_definition),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_below),
        cmocka_unit_test(test_below_rejects),
    };
    return run_cases(tests, NULL, NULL);
}
