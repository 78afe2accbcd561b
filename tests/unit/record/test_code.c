/* Places in code of addresses, while libraries come and go. */
#include "record/site/code.h"

#include "base/clock.h"
#include "record/core.h"
#include "record/site/site.h"
#include "support/folder.h"
#include "support/record/recorded.h"
#include "support/test.h"
#include "tape/layout.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const uint64_t unknown = (uint64_t)LULL_TAPE_NO_OBJECT << 40;

static int64_t moment(void)
{
    return lull_clock_read(CLOCK_MONOTONIC);
}

static uint64_t place_of(const void *address, int64_t ns)
{
    rec_code_look();
    const uint64_t place = rec_code_place((uintptr_t)address, ns);
    rec_code_done();
    return place;
}

/* By the loader's own words. */
static uint64_t offset_of(const void *address)
{
    Dl_info info;
    struct link_map *map;
    assert_int_not_equal(dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP), 0);
    return (uintptr_t)address - map->l_addr;
}

static void check_known(const void *address, uint64_t place)
{
    assert_int_not_equal(place >> 40, LULL_TAPE_NO_OBJECT);
    assert_int_not_equal(place >> 40, 0);
    assert_int_equal(place & LULL_TAPE_OFFSET_MASK, offset_of(address));
}

/* A pointer to a function as one to its code. */
static const void *code_of(void (*function)(void))
{
    const void *code;
    memcpy(&code, &function, sizeof code);
    return code;
}

static void own_function(void)
{
}

static void test_files_and_others(void **state)
{
    (void)state;
    const void *own = code_of(own_function), *foreign = dlsym(RTLD_DEFAULT, "qsort");
    void *made = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check_known(own, place_of(own, moment()));
    check_known(foreign, place_of(foreign, moment()));
    assert_int_not_equal(place_of(own, 0) >> 40, place_of(foreign, 0) >> 40);
    assert_int_equal(place_of(own, 0), place_of(own, moment()));
    assert_int_equal(place_of(made, moment()), unknown);
    assert_int_equal(place_of(NULL, moment()), unknown);
    assert_int_equal(place_of(&unknown, moment()), unknown); /* data of a file */
    munmap(made, 4096);
}

/* Two files with the same library, so that one fits into the place of the other. */
static const char *copy_of_library(const char *name)
{
    Dl_info info;
    size_t size;
    void *library = dlopen("libz.so.1", RTLD_NOW);
    if (!library)
        return NULL;
    const void *function = dlsym(library, "zlibVersion");
    assert_int_not_equal(dladdr(function, &info), 0);
    unsigned char *bytes = folder_read(info.dli_fname, &size);
    folder_write(folder_path(name), bytes, size);
    free(bytes);
    dlclose(library);
    return folder_path(name);
}

static const void *load(const char *name, void **ret_library)
{
    *ret_library = dlopen(folder_path(name), RTLD_NOW | RTLD_LOCAL);
    fail_if(!*ret_library, "%s", dlerror());
    return dlsym(*ret_library, "zlibVersion");
}

static void test_unloaded(void **state)
{
    (void)state;
    void *library;
    folder_make();
    if (!copy_of_library("one.so") || !copy_of_library("other.so")) {
        print_message("skipped: no libz.so.1\n");
        assert_true(true);
        folder_remove();
        return;
    }
    place_of(code_of(own_function), 0); /* what was loaded for the copies has gone */
    unsigned same = 0, taken = 0;
    enum { ROUNDS = 20 };
    for (unsigned round = 0; round < ROUNDS; round++) {
        const void *one = load("one.so", &library);
        const int64_t early = moment();
        const uint64_t place = place_of(one, early);
        check_known(one, place);

        /* away and there again, between two looks: it is the same file, if it has the same place */
        dlclose(library);
        const void *again = load("one.so", &library);
        assert_int_equal(place_of(one, early), again == one ? place : unknown);
        check_known(again, place_of(again, moment()));
        same += again == one;

        /* away, and another in its place: what ran there before is not known any more */
        const int64_t late = moment();
        dlclose(library);
        const void *other = load("other.so", &library);
        assert_int_equal(place_of(again, late), unknown);
        const uint64_t other_place = place_of(other, moment());
        check_known(other, other_place);
        assert_int_not_equal(other_place >> 40, place >> 40);
        assert_int_equal(other_place & LULL_TAPE_OFFSET_MASK, place & LULL_TAPE_OFFSET_MASK);
        taken += other == again;

        /* away */
        dlclose(library);
        assert_int_equal(place_of(other, late), unknown);
    }
    assert_reached("a file comes back to its place", same, 1, ROUNDS);
    assert_reached("a file takes the place of another", taken, 1, ROUNDS);

    /* a file that stays is known all the time */
    const void *own = code_of(own_function);
    check_known(own, place_of(own, 0));
    folder_remove();
}

static int tests(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_files_and_others),
        cmocka_unit_test(test_unloaded),
    };
    return run_cases(all, NULL, NULL);
}

TEST_GROUP(test_code)
{
    return recorded_main(tests);
}
