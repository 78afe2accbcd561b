/* A mapping that is frozen where a library has its own mremap(), as UCX does, which loses where to
 * map at. */
#include "record/store/file.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 65536, PAGES = 16 };

/* In place of the C library's. */
void *mremap(void *from, size_t from_size, size_t size, int flags, ...)
{
    (void)from, (void)from_size, (void)size, (void)flags;
    fail_msg("mremap() was called");
    return MAP_FAILED;
}

static void test_writes_go_nowhere(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), SIZE), 0);
    volatile char *mapping = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    assert_true(mapping != MAP_FAILED);
    for (int page = 0; page < PAGES; page++)
        mapping[page * (SIZE / PAGES)] = 'a';
    rec_file_freeze((void *)(uintptr_t)mapping, SIZE);
    for (int page = 0; page < PAGES; page++) {
        char byte = 0;
        mapping[page * (SIZE / PAGES)] = 'b';
        assert_int_equal(pread(fileno(file), &byte, 1, page * (SIZE / PAGES)), 1);
        assert_int_equal(byte, 'a');
    }
    munmap((void *)(uintptr_t)mapping, SIZE);
    fclose(file);
}

static void test_second_mapping(void **state)
{
    (void)state;
    char *one = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *other = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(one != MAP_FAILED && other != MAP_FAILED);
    assert_true(rec_file_remap(one, 0, other, SIZE));
    one[SIZE - 1] = 'c';
    assert_int_equal(other[SIZE - 1], 'c');
    munmap(one, SIZE);
    munmap(other, SIZE);
}

TEST_GROUP(test_freeze)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_writes_go_nowhere),
                                       cmocka_unit_test(test_second_mapping)};
    return run_cases(tests, NULL, NULL);
}
