#include "replay/warp.h"

#include "stats/random.h"
#include "support/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Sanitizers take most of the addresses for themselves. */
#if defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SHADOWED 1
#endif
#elif defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SHADOWED 1
#endif
#ifndef SHADOWED
#define SHADOWED 0
#endif
enum { PROCESSES = 5, KNOTS = 400000 };

/* What was added, in plain arrays. */
struct kept {
    struct lull_knot *knots;
    size_t count;
};

static void add_both(struct lull_knots *knots, struct kept *kept, uint32_t process,
                     struct lull_knot knot)
{
    struct lull_error err;
    assert_int_equal(lull_knots_add(knots, process, knot.measured, knot.simulated, &err), LULL_OK);
    kept[process].knots[kept[process].count++] = knot;
}

static void test_same_as_arrays(void **state)
{
    (void)state;
    struct lull_knots *knots = lull_knots_create(PROCESSES);
    struct kept kept[PROCESSES];
    struct lull_random random;
    lull_random_seed(&random, 5);
    for (uint32_t p = 0; p < PROCESSES; p++)
        kept[p] = (struct kept){calloc(KNOTS, sizeof(struct lull_knot)), 0};
    for (int i = 0; i < KNOTS; i++) { /* the last process gets none */
        uint32_t p = (uint32_t)lull_random_below(&random, PROCESSES - 1);
        add_both(knots, kept, p, (struct lull_knot){i, 3 * (int64_t)i + p});
    }
    for (uint32_t p = 0; p < PROCESSES; p++) {
        assert_int_equal(lull_knots_count(knots, p), kept[p].count);
        for (size_t i = 0; i < kept[p].count; i++)
            assert_memory_equal(lull_knots_at(knots, p, i), &kept[p].knots[i],
                                sizeof(struct lull_knot));
        free(kept[p].knots);
    }
    lull_knots_destroy(knots);
}

/* Whoever limits the addresses of a process can have the knots that fit. */
static void test_no_more_addresses_than_needed(void **state)
{
    (void)state;
    struct rlimit before, few = {(rlim_t)1 << 30, (rlim_t)1 << 30};
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    few.rlim_max = before.rlim_max;
    if (SHADOWED || setrlimit(RLIMIT_AS, &few) != 0) {
        printf("skipped: a sanitizer needs more addresses than the limit\n");
        skip();
    }
    struct lull_knots *knots = lull_knots_create(1);
    struct lull_error err = {""};
    lull_status status = LULL_OK;
    for (int i = 0; i < 3000000 && status == LULL_OK; i++) /* 48 MB, in three steps */
        status = lull_knots_add(knots, 0, i, 2 * (int64_t)i, &err);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    fail_if(status != LULL_OK, "%s", err.text);
    for (int i = 0; i < 3000000; i += 1000)
        assert_int_equal(lull_knots_at(knots, 0, (size_t)i)->simulated, 2 * (int64_t)i);
    lull_knots_destroy(knots);
}

static void test_the_same_again_is_left_out(void **state)
{
    (void)state;
    struct lull_knots *knots = lull_knots_create(1);
    struct lull_error err;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(lull_knots_add(knots, 0, i / 2, i / 2, &err), LULL_OK);
    assert_int_equal(lull_knots_count(knots, 0), 500);
    assert_int_equal(lull_knots_at(knots, 0, 499)->measured, 499);
    lull_knots_destroy(knots);
}

static void test_no_folder_for_the_file(void **state)
{
    (void)state;
    const char *before = getenv("TMPDIR");
    char *kept = before ? strdup(before) : NULL;
    setenv("TMPDIR", "/nowhere/at/all", 1);
    struct lull_knots *knots = lull_knots_create(1);
    struct lull_error err;
    lull_status status = LULL_OK;
    for (int i = 0; i < 1000 && status == LULL_OK; i++)
        status = lull_knots_add(knots, 0, i, i, &err);
    assert_int_not_equal(status, LULL_OK);
    assert_non_null(strstr(err.text, "/nowhere/at/all"));
    lull_knots_destroy(knots);
    if (kept)
        setenv("TMPDIR", kept, 1);
    else
        unsetenv("TMPDIR");
    free(kept);
}

/* Then the file gets the number of the standard input. */
static void test_no_standard_input(void **state)
{
    (void)state;
    const int kept = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    struct lull_knots *knots = lull_knots_create(1);
    struct lull_error err = {""};
    lull_status status = LULL_OK;
    for (int i = 0; i < 1000 && status == LULL_OK; i++)
        status = lull_knots_add(knots, 0, i, 2 * (int64_t)i, &err);
    fail_if(status != LULL_OK, "%s", err.text);
    assert_int_equal(lull_knots_at(knots, 0, 999)->simulated, 2 * 999);
    lull_knots_destroy(knots);
    if (kept >= 0) {
        assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
        close(kept);
    }
}

TEST_GROUP(test_warp_knots)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_arrays),
        cmocka_unit_test(test_no_more_addresses_than_needed),
        cmocka_unit_test(test_the_same_again_is_left_out),
        cmocka_unit_test(test_no_folder_for_the_file),
        cmocka_unit_test(test_no_standard_input),
    };
    return run_cases(tests, NULL, NULL);
}
