/* Memory that is kept: zeroed, of each caller alone, and none where the system has none. */
#include "record/keep.h"

#include "support/record/recorded.h"
#include "support/test.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { THREADS = 4, PIECES = 3000 };

static unsigned char *pieces[THREADS][PIECES];
static bool dirty; /* atomic */

static size_t size_of(unsigned i)
{
    return i % 500 == 0 ? 20000 : i % 130 + 1;
}

static void take(unsigned number)
{
    for (unsigned i = 0; i < PIECES; i++) {
        unsigned char *piece = rec_keep(size_of(i));
        for (size_t at = 0; at < size_of(i); at++)
            if (piece[at] != 0 || (uintptr_t)piece % sizeof(void *) != 0)
                __atomic_store_n(&dirty, true, __ATOMIC_RELAXED);
        memset(piece, (int)number + 1, size_of(i));
        pieces[number][i] = piece;
    }
}

static void test_threads(void **state)
{
    (void)state;
    recorded_threads(THREADS, take);
    assert_false(dirty);
    for (unsigned number = 0; number < THREADS; number++)
        for (unsigned i = 0; i < PIECES; i++)
            for (size_t at = 0; at < size_of(i); at++)
                assert_int_equal(pieces[number][i][at], number + 1);
}

static void test_no_memory(void **state)
{
    (void)state;
    unsigned n = 0;
    recorded_refuse_memory(0);
    assert_null(rec_keep(100000));
    while (rec_keep(1000))
        n++;
    assert_true(n < 1000);
    recorded_refuse_memory(SIZE_MAX);
    assert_non_null(rec_keep(1000));
    assert_null(rec_keep(SIZE_MAX - 4));
}

TEST_GROUP(test_keep)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_no_memory),
    };
    return run_cases(tests, NULL, NULL);
}
