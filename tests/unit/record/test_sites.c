/* Call sites: places of the program's code become regions, once, whoever asks and however often. */
#include "record/site/site.h"
#include "record/store/definitions.h"

#include "support/record/recorded.h"
#include "support/test.h"

#include <search.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

enum { PLACES = 300, THREADS = 4, MOST = (1 << 16) + 1000 };

/* Code of two libraries, where any address will do: this program is the recorder itself. */
static const char *place(unsigned number)
{
    const void *code =
        number % 2 ? (const void *)(uintptr_t)hcreate : (const void *)(uintptr_t)_test_malloc;
    return (const char *)code + 16 + number;
}

static uint32_t parent_region(const char *name)
{
    const struct rec_region region = {.paradigm = LULL_TAPE_PARADIGM_USER, .name = name};
    return rec_define_region(&region);
}

static uint32_t parent, found[THREADS][PLACES];

static void ask(unsigned number)
{
    rec_thread_begin(REC_ROLE_FREE);
    for (unsigned i = 0; i < PLACES; i++) {
        unsigned at = (i * 7 + number * 31) % PLACES; /* each in an order of its own */
        found[number][at] = rec_site_of_place(parent, 1, place(at));
    }
}

/* The threads agree, and no two places are one. */
static void test_threads(void **state)
{
    (void)state;
    parent = parent_region("parent");
    assert_int_not_equal(parent, 0);
    recorded_threads(THREADS, ask);
    for (unsigned i = 0; i < PLACES; i++) {
        assert_int_not_equal(found[0][i], parent);
        for (unsigned number = 1; number < THREADS; number++)
            assert_int_equal(found[number][i], found[0][i]);
        for (unsigned other = 0; other < i; other++)
            assert_int_not_equal(found[0][other], found[0][i]);
        uintptr_t kept = rec_map_get(&rec_sites, rec_site_key(place(i), 1));
        assert_int_equal(kept, found[0][i]);
    }
}

static void test_of_whom(void **state)
{
    (void)state;
    uint32_t other = parent_region("other");
    assert_int_not_equal(rec_site_of_place(other, 2, place(0)), found[0][0]);
    assert_int_equal(rec_site_of_place(parent, 1, place(0)), found[0][0]);
}

/* Code that is in no file, as a compiler at run time makes it, has no site; nor has a place that is
 * none. */
static void test_nowhere(void **state)
{
    (void)state;
    char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(code, MAP_FAILED);
    assert_int_equal(rec_site_of_place(parent, 3, code + 8), parent);
    assert_int_equal(rec_site_of_code(parent, code + 8), parent);
    assert_int_equal(rec_site_of_place(parent, 3, (const void *)1), parent);
    munmap(code, 4096);
}

/* The stack of a thread, small as it may be, and what is none. Variables may lie elsewhere: the
 * address sanitizer of clang 19 has a stack of its own for those. */
static void look_at_stack(unsigned number)
{
    static bool good[THREADS];
    struct rec_thread *self = rec_thread_begin(REC_ROLE_FREE);
    good[number] = rec_site_is_stack(self, (uintptr_t)__builtin_frame_address(0)) &&
                   !rec_site_is_stack(self, (uintptr_t)&good) && !rec_site_is_stack(self, 0);
    assert_true(good[number]);
}

static void test_stack(void **state)
{
    (void)state;
    look_at_stack(0);
    recorded_threads(1, look_at_stack);
}

/* When there are too many, the rest counts as the parent, and what was known stays. */
static void test_too_many(void **state)
{
    (void)state;
    unsigned n = 0;
    uint32_t region = 0;
    for (unsigned i = 0; i < MOST && region != parent; i++, n++)
        region = rec_site_of_place(parent, 4 + i / 4096, place(i % 4096));
    assert_in_range(n, (1 << 16) - PLACES - 100, (1 << 16) + 1);
    assert_int_equal(rec_site_of_place(parent, 1, place(1)), found[0][1]);
    assert_int_equal(rec_site_of_place(parent, 4, place(9)),
                     rec_site_of_place(parent, 4, place(9)));
}

static int tests(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_threads),  cmocka_unit_test(test_of_whom),
        cmocka_unit_test(test_nowhere),  cmocka_unit_test(test_stack),
        cmocka_unit_test(test_too_many),
    };
    return run_cases(all, NULL, NULL);
}

TEST_GROUP(test_sites)
{
    return recorded_main(tests);
}
