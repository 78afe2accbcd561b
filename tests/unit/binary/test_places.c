/* Names of many places: of this program itself, whose lines the compiler says (__LINE__), in several
 * files, with one thread and with many, and what is said of files that are none. */
#include "binary/places.h"
#include "support/test.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

static struct lull_arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = lull_arena_create(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_arena_destroy(arena);
    return 0;
}

static int take_base(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(uint64_t *)context = info->dlpi_addr;
    return 1; /* the program comes first */
}

/* The offset of the call from which this returns. */
__attribute__((noinline)) static uint64_t offset_of_call(void)
{
    uint64_t base = 0;
    dl_iterate_phdr(take_base, &base);
    return (uint64_t)(uintptr_t)__builtin_return_address(0) - 1 - base;
}

static struct lull_places_file own_file(void)
{
    return (struct lull_places_file){.path = "/proc/self/exe"};
}

/* Whether lull can read names at all. */
static void need_names(void)
{
    struct lull_places_file file = own_file();
    struct lull_place place = {.offset = 0};
    assert_int_equal(lull_places_find(&file, 1, &place, 1, false, 1, arena, NULL), LULL_OK);
    if (file.found == LULL_SYMBOLS_NOT_BUILT) {
        print_message("skipped: lull was built without libdw\n");
        skip();
    }
}

static void test_lines(void **state)
{
    (void)state;
    need_names();
    struct lull_places_file file = own_file();
    struct lull_place places[12];
    uint32_t lines[12];
    for (size_t i = 0; i < 12; i++) {
        lines[i] = __LINE__ + 1;
        places[i] = (struct lull_place){.offset = offset_of_call()};
    }
    assert_int_equal(lull_places_find(&file, 1, places, 12, true, 2, arena, NULL), LULL_OK);
    assert_int_equal(file.found, LULL_SYMBOLS_FOUND);
    assert_string_equal(file.why, "");
    for (size_t i = 0; i < 12; i++) {
        assert_string_equal(places[i].symbol.function, "test_lines");
        assert_string_equal(places[i].symbol.short_name, "test_lines");
        assert_int_equal(places[i].symbol.line, lines[i]);
        assert_non_null(strstr(places[i].symbol.file, "test_places.c"));
        assert_non_null(places[i].loop);
        assert_int_equal(places[i].loop->first, lines[0] - 2);
        assert_int_equal(places[i].loop->last, lines[0]);
        assert_int_equal(places[i].loop->depth, 1);
    }
}

static bool same_symbol(const struct lull_symbol *a, const struct lull_symbol *b)
{
    for (; a && b; a = a->caller, b = b->caller)
        if (strcmp(a->whole_name, b->whole_name) != 0 || strcmp(a->file, b->file) != 0 ||
            a->line != b->line)
            return false;
    return !a && !b;
}

static bool same_loop(const struct lull_loop *a, const struct lull_loop *b)
{
    return a && b ? a->head == b->head && a->first == b->first && a->last == b->last &&
                        a->depth == b->depth && a->copies == b->copies
                  : !a && !b;
}

struct functions {
    uint64_t begin[2000];
    size_t count;
};

static void take_function(void *context, uint64_t offset, const char *name)
{
    struct functions *functions = context;
    (void)name;
    if (functions->count < sizeof functions->begin / sizeof *functions->begin)
        functions->begin[functions->count++] = offset;
}

/* Places in functions, function by function again and again, each place twice. */
static void test_threads(void **state)
{
    (void)state;
    enum { COUNT = 6000 };
    need_names();
    static struct lull_place one[COUNT], many[COUNT];
    static struct functions functions;
    struct lull_symbols *symbols;
    assert_int_equal(lull_symbols_open("/proc/self/exe", NULL, &symbols), LULL_SYMBOLS_FOUND);
    lull_symbols_visit(symbols, take_function, &functions);
    lull_symbols_close(symbols);
    assert_true(functions.count > 100);
    struct lull_places_file files[] = {own_file(), {.path = "/nowhere/heat"}};
    size_t named = 0, in_loops = 0;
    for (size_t i = 0; i < COUNT; i++)
        one[i] = many[i] = (struct lull_place){
            .file = i % 100 == 99, .offset = functions.begin[i / 2 % functions.count] + i / 2 % 61};
    assert_int_equal(lull_places_find(files, 2, one, COUNT, true, 1, arena, NULL), LULL_OK);
    assert_int_equal(lull_places_find(files, 2, many, COUNT, true, 7, arena, NULL), LULL_OK);
    assert_int_equal(files[1].found, LULL_SYMBOLS_ABSENT);
    assert_string_equal(files[1].why, "/nowhere/heat: cannot open: No such file or directory");
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(same_symbol(&one[i].symbol, &many[i].symbol));
        assert_true(same_loop(one[i].loop, many[i].loop));
        assert_true(one[i].file == 0 || !*one[i].symbol.function);
        named += *one[i].symbol.function != '\0';
        in_loops += one[i].loop != NULL;
    }
    print_message("%zu of %d places have a name, %zu are in a loop\n", named, (int)COUNT, in_loops);
    assert_true(named > COUNT / 2 && in_loops > 10);
}

static void test_none(void **state)
{
    (void)state;
    struct lull_places_file file = own_file();
    assert_int_equal(lull_places_find(&file, 1, NULL, 0, true, 4, arena, NULL), LULL_OK);
    assert_int_equal(lull_places_find(NULL, 0, NULL, 0, true, 0, arena, NULL), LULL_OK);
    assert_string_equal(file.why, "");
}

TEST_GROUP(test_places)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_none, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
