/* Arena: alignment, cleared memory, no overlap, and sizes that a file dictates. */
#include "base/arena.h"
#include "stats/random.h"
#include "support/test.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool is_clear(const unsigned char *memory, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (memory[i])
            return false;
    return true;
}

/* Many blocks of all sizes, each filled with a value of its own: nothing overlaps. */
static void test_blocks_do_not_overlap(void **state)
{
    (void)state;
    enum { BLOCKS = 3000 };
    static struct {
        unsigned char *memory;
        size_t size;
    } blocks[BLOCKS];
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_random random;
    lull_random_seed(&random, 1);
    size_t total = 0;
    for (size_t b = 0; b < BLOCKS; b++) {
        bool large = lull_random_below(&random, 100) == 0;
        blocks[b].size = lull_random_below(&random, large ? 3000000 : 300);
        blocks[b].memory = b % 2 ? lull_arena_zero(arena, 1, blocks[b].size)
                                 : lull_arena_alloc(arena, blocks[b].size);
        assert_int_equal((uintptr_t)blocks[b].memory % 16, 0);
        if (b % 2)
            assert_true(is_clear(blocks[b].memory, blocks[b].size));
        memset(blocks[b].memory, (int)(b % 255) + 1, blocks[b].size);
        total += blocks[b].size;
    }
    for (size_t b = 0; b < BLOCKS; b++)
        for (size_t i = 0; i < blocks[b].size; i++)
            fail_if(blocks[b].memory[i] != (unsigned char)(b % 255 + 1),
                    "block %zu is overwritten at %zu", b, i);
    assert_true(lull_arena_used(arena) >= total);
    assert_true(lull_arena_used(arena) <= total + 16 * BLOCKS);
    lull_arena_destroy(arena);
}

static void test_text(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    const char *text = lull_arena_strdup(arena, "hello");
    const char *part = lull_arena_strndup(arena, "hello", 4);
    const char *empty = lull_arena_strdup(arena, "");
    const char *made = lull_arena_printf(arena, "%s %d %5.2f", part, 12, 3.14159);
    assert_string_equal(text, "hello");
    assert_string_equal(part, "hell");
    assert_string_equal(empty, "");
    assert_string_equal(made, "hell 12  3.14");
    char longer[10000];
    memset(longer, 'y', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_string_equal(lull_arena_printf(arena, "%s", longer), longer);
    lull_arena_destroy(arena);
}

static void test_try_refuses_what_cannot_be(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    assert_null(lull_arena_try(arena, SIZE_MAX, 2));
    assert_null(lull_arena_try(arena, SIZE_MAX / 4 + 1, 4));
    assert_null(lull_arena_try(arena, SIZE_MAX, 1));
    assert_null(lull_arena_try(arena, SIZE_MAX - 15, 1));
    assert_null(lull_arena_try(arena, SIZE_MAX / 2 + 1, 1));
    assert_non_null(lull_arena_try(arena, 0, 8));
    assert_non_null(lull_arena_try(arena, 8, 0));
    unsigned char *memory = lull_arena_try(arena, 1000, 7);
    assert_true(is_clear(memory, 7000));
    lull_arena_destroy(arena);
}

static void test_grow_keeps_content(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    uint32_t *array = NULL;
    size_t capacity = 0;
    for (uint32_t n = 0; n < 20000; n++) {
        size_t before = capacity;
        array = lull_arena_grow(arena, array, &capacity, n + 1, sizeof *array);
        assert_true(capacity > n);
        if (capacity != before)
            assert_true(
                is_clear((unsigned char *)(array + before), (capacity - before) * sizeof *array));
        array[n] = n * 7;
    }
    for (uint32_t n = 0; n < 20000; n++)
        assert_int_equal(array[n], n * 7);
    uint32_t *same = lull_arena_grow(arena, array, &capacity, 5, sizeof *array);
    assert_ptr_equal(same, array);
    lull_arena_destroy(arena);
}

static jmp_buf out_of_memory_came;

static void out_of_memory(void)
{
    longjmp(out_of_memory_came, 1);
}

static void test_out_of_memory_is_called(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(out_of_memory);
    static unsigned called; /* static: what longjmp() leaves of it is defined */
    called = 0;
    if (setjmp(out_of_memory_came) == 0) {
        lull_arena_zero(arena, SIZE_MAX / 2, 3);
        fail_msg("overflow came back");
    }
    called++;
    if (setjmp(out_of_memory_came) == 0) {
        lull_arena_alloc(arena, SIZE_MAX);
        fail_msg("too much came back");
    }
    called++;
    assert_int_equal(called, 2);
    lull_arena_destroy(arena);
    lull_arena_destroy(NULL);
}

/* Each of the two may be empty, have one chunk or several; what is in them stays, and both go on. */
static void test_join(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 5000, 100000};
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 4; k++) {
            struct lull_arena *a = lull_arena_create(NULL), *b = lull_arena_create(NULL);
            char *in_a = NULL, *in_b = NULL;
            for (size_t n = 0; n < sizes[i]; n += 100)
                in_a = lull_arena_strdup(a, "of a, which has some text of its own");
            for (size_t n = 0; n < sizes[k]; n += 100)
                in_b = lull_arena_strdup(b, "of b, which has some text of its own");
            const size_t used = lull_arena_used(a) + lull_arena_used(b);
            lull_arena_join(a, b);
            assert_int_equal(lull_arena_used(a), used);
            for (size_t n = 0; n < 10000; n += 100)
                memset(lull_arena_zero(a, 1, 100), 'x', 100);
            assert_true(!in_a || strcmp(in_a, "of a, which has some text of its own") == 0);
            assert_true(!in_b || strcmp(in_b, "of b, which has some text of its own") == 0);
            lull_arena_destroy(a);
        }
}

TEST_GROUP(test_arena)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_do_not_overlap),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_try_refuses_what_cannot_be),
        cmocka_unit_test(test_grow_keeps_content),
        cmocka_unit_test(test_out_of_memory_is_called),
        cmocka_unit_test(test_join),
    };
    return run_cases(tests, NULL, NULL);
}
