/* Machine files compared by the visits of their numbers. */
#include "support/test.h"
#include "view/machine_document.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VISITS = 12 };

/* Twelve visits from `first` in steps of 1; their interval is from the first to the last. */
static void add_number(struct lull_machine *machine, struct lull_arena *arena, const char *name,
                       double first)
{
    struct lull_number number = lull_number_empty();
    number.name = name;
    number.unit = "B/s";
    number.statistic = "p10";
    number.visits = lull_arena_zero(arena, VISITS, sizeof *number.visits);
    number.n_visits = VISITS;
    for (int i = 0; i < VISITS; i++)
        number.visits[i] = first + i;
    number.value = first + (VISITS - 1) / 2.0;
    number.low = number.visits[0];
    number.high = number.visits[VISITS - 1];
    number.confidence = 11.0 / 13;
    lull_machine_set(machine, arena, &number);
}

static char *compare(const struct lull_machine *a, const struct lull_machine *b,
                     struct lull_arena *arena)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    lull_renderer_find("text")->render(lull_bench_comparison(a, "a", b, "b", arena),
                                       &(struct lull_render_options){0}, out);
    fclose(out);
    return text;
}

/* Intervals that meet do not hide that nearly all visits of one are above those of the other: with
 * 3 of 144 pairs the other way round, the test's probability is 7 / C(24, 12) x 2 = 5.2e-6. */
static void test_by_rank(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_machine *a = lull_machine_create(arena), *b = lull_machine_create(arena);
    add_number(a, arena, "shifted.1", 100);
    add_number(b, arena, "shifted.1", 109.5);
    add_number(a, arena, "same.1", 100);
    add_number(b, arena, "same.1", 100.5);
    add_number(a, arena, "little.1", 100000); /* clearly apart, by a tenth of a per mille */
    add_number(b, arena, "little.1", 100012);
    char *text = compare(a, b, arena);
    assert_non_null(strstr(text, "Different           1"));
    assert_non_null(strstr(text, "Not told apart      2"));
    assert_non_null(strstr(text, "shifted.1"));
    assert_null(strstr(text, "same.1"));
    assert_non_null(strstr(text, "3 numbers were compared by their visits"));
    /* Two of shifted, eleven of same and none of little lie inside. */
    assert_non_null(strstr(text, "36.1 % of the second's visits"));
    assert_non_null(strstr(text, "state 84.6 %"));
    free(text);
    lull_arena_destroy(arena);
}

/* What is unlikely once is not among a thousand tests. */
static void test_multiplicity(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    for (int many = 0; many < 2; many++) {
        struct lull_machine *a = lull_machine_create(arena), *b = lull_machine_create(arena);
        add_number(a, arena, "shifted.1", 100);
        add_number(b, arena, "shifted.1", 105.5); /* probability 0.0023 */
        for (int i = 0; i < 100 * many; i++) {
            const char *name = lull_arena_printf(arena, "same%d.1", i);
            add_number(a, arena, name, 100);
            add_number(b, arena, name, 100.5);
        }
        char *text = compare(a, b, arena);
        assert_non_null(strstr(text, many ? "Different           0" : "Different           1"));
        free(text);
    }
    lull_arena_destroy(arena);
}

TEST_GROUP(test_machine_comparison)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_rank),
        cmocka_unit_test(test_multiplicity),
    };
    return run_cases(tests, NULL, NULL);
}
