/* In the file of a process, and in that of a node: extents that many threads take at the same time,
 * more than fit into the first two tables; a disk that is full; a descriptor that the program
 * closes. */
#include "record/core.h"
#include "record/store/container.h"

#include "support/record/recorded.h"
#include "support/test.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 4, EACH = 150, FIRST = 1000 /* locations that the recorder does not have */ };

static unsigned failed; /* atomic */

static unsigned pages_of(unsigned thread, unsigned i)
{
    return 1 + (thread + i) % 3;
}

static unsigned char content_of(unsigned thread, unsigned i)
{
    return (unsigned char)(1 + (thread * EACH + i) % 255);
}

static void take_one(unsigned thread, unsigned i)
{
    const size_t size = pages_of(thread, i) * (size_t)LULL_TAPE_PAGE;
    struct rec_extent extent;
    if (i % 2 == 0) {
        void *mapped = rec_container_map(size, NULL, &extent);
        if (mapped != MAP_FAILED) {
            rec_container_enter(&extent, LULL_TAPE_PART_RECORDS, FIRST + thread);
            memset(mapped, content_of(thread, i), size);
            munmap(mapped, size);
            return;
        }
    } else if (rec_container_reserve(size, &extent)) {
        unsigned char *bytes = malloc(size);
        rec_container_enter(&extent, LULL_TAPE_PART_RECORDS, FIRST + thread);
        memset(bytes, content_of(thread, i), size);
        const bool good = rec_container_write(bytes, size, extent.offset);
        free(bytes);
        if (good)
            return;
    }
    __atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
}

static void take(unsigned thread)
{
    for (unsigned i = 0; i < EACH; i++)
        take_one(thread, i);
}

/* Each has what it has written, in the order in which it was taken: no two lie upon each other. */
static void check_contents(unsigned thread)
{
    size_t size, at = 0;
    unsigned char *all = recorded_part(LULL_TAPE_PART_RECORDS, FIRST + thread, &size);
    for (unsigned i = 0; i < EACH; i++)
        for (size_t n = pages_of(thread, i) * (size_t)LULL_TAPE_PAGE; n > 0; n--, at++) {
            assert_in_range(at, 0, size - 1);
            assert_int_equal(all[at], content_of(thread, i));
        }
    assert_int_equal(at, size);
    free(all);
}

/* Of this process, how many lead into the run. */
static unsigned count_descriptors(void)
{
    unsigned n = 0;
    const char *file = recorded_file();
    for (int fd = 0; fd < 1024; fd++) {
        char name[64], path[4200] = "";
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        n += readlink(name, path, sizeof path - 1) > 0 && strcmp(path, file) == 0;
    }
    return n;
}

static void test_threads(void **state)
{
    (void)state;
    recorded_threads(THREADS, take);
    assert_int_equal(failed, 0);
    assert_int_equal(count_descriptors(), 1);
    for (unsigned thread = 0; thread < THREADS; thread++)
        check_contents(thread);
}

/* What could not be had is not entered, and there is place again when there is room. */
static void test_full_disk(void **state)
{
    (void)state;
    struct rec_extent extent;
    recorded_refuse_space(true);
    assert_ptr_equal(rec_container_map(LULL_TAPE_PAGE, NULL, &extent), MAP_FAILED);
    recorded_refuse_space(false);
    void *mapped = rec_container_map(LULL_TAPE_PAGE, NULL, &extent);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    rec_container_enter(&extent, LULL_TAPE_PART_SUMS, FIRST);
    memset(mapped, 7, LULL_TAPE_PAGE);
    munmap(mapped, LULL_TAPE_PAGE);
    size_t size;
    unsigned char *sums = recorded_part(LULL_TAPE_PART_SUMS, FIRST, &size);
    assert_int_equal(size, LULL_TAPE_PAGE);
    assert_int_equal(sums[0] + sums[size - 1], 14);
    free(sums);
}

/* The program's own file comes to have the recorder's descriptor, and stays as it is. */
static void test_closed(void **state)
{
    (void)state;
    struct rec_extent extent;
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    char path[] = "/tmp/lull-mine-XXXXXX";
    int mine[8];
    mine[0] = mkstemp(path);
    unlink(path);
    for (unsigned i = 1; i < 8; i++)
        mine[i] = dup(mine[0]);
    assert_true(rec_container_reserve(LULL_TAPE_PAGE, &extent));
    assert_true(rec_container_write("ours", 4, extent.offset));
    char ours[4] = "";
    assert_true(rec_container_read(ours, 4, extent.offset));
    assert_memory_equal(ours, "ours", 4);
    assert_int_equal(lseek(mine[0], 0, SEEK_END), 0);
    for (unsigned i = 0; i < 8; i++)
        close(mine[i]);
}

static int tests(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_closed),
    };
    return run_cases(all, NULL, NULL);
}

TEST_GROUP(test_container)
{
    return recorded_main_both(tests);
}
