/* Samples added up by place and context, against a list that is searched from its begin for each sample. */
#include "metrics/samples.h"

#include "stats/random.h"
#include "support/seed.h"
#include "support/test.h"
#include "trace/trace.h"

#include <string.h>

enum { SAMPLES = 4000, MANY = 1 << 20 };

/* The list: items in the order of their first samples. What comes when `most` are there is the last one, without a
 * place. */
struct list {
    struct lull_samples_item items[SAMPLES + 1];
    size_t n;
};

static bool is_same(const struct lull_samples_item *a, const struct lull_samples_item *b)
{
    return lull_samples_order(a, b) == 0;
}

static void add_slowly(struct list *list, struct lull_samples_item item, size_t most)
{
    const struct lull_samples_context nothing = {0, LULL_NONE, LULL_NONE, 0};
    size_t at = 0;
    while (at < list->n && !is_same(&list->items[at], &item))
        at++;
    if (at == list->n && list->n >= most) {
        item.context = nothing;
        item.offset = 0;
        item.object = LULL_NONE;
        for (at = 0; at < list->n && !is_same(&list->items[at], &item);)
            at++;
    }
    if (at == list->n) {
        list->items[list->n] = item;
        list->items[list->n].count = 0;
        list->items[list->n++].weight = 0;
    }
    list->items[at].count += item.count;
    list->items[at].weight += item.weight;
}

/* One of so many places and contexts. */
static struct lull_samples_item draw_item(struct lull_random *random, uint64_t kinds)
{
    const uint64_t kind = lull_random_below(random, kinds);
    return (struct lull_samples_item){
        .context = {.path = (uint32_t)(kind % 3),
                    .call = kind % 2 ? LULL_NONE : 4,
                    .parallel = kind % 5 ? LULL_NONE : LULL_SAMPLES_UNNAMED,
                    .locked = kind % 7 == 0},
        .offset = kind / 4 << 32,
        .object = (uint32_t)(kind % 4),
        .count = 1 + (uint32_t)lull_random_below(random, 2),
        .weight = 1 + lull_random_below(random, 1000)};
}

static void test_items(void **state)
{
    static struct list list;
    struct lull_random random;
    (void)state;
    lull_random_seed(&random, lull_test_seed());
    for (unsigned round = 0; round < 24; round++) {
        struct lull_samples samples = {0};
        const uint64_t kinds = 1 + lull_random_below(&random, round % 2 ? 20 : MANY);
        const size_t most = round % 3 ? SIZE_MAX : 1 + lull_random_below(&random, 300);
        list.n = 0;
        for (unsigned i = 0; i < SAMPLES / (round % 2 ? 1 : 4); i++) {
            const struct lull_samples_item item = draw_item(&random, kinds);
            assert_true(lull_samples_add(&samples, &item, most));
            add_slowly(&list, item, most);
        }
        assert_int_equal(samples.n_items, list.n);
        for (size_t i = 0; i < list.n; i++) {
            assert_true(is_same(&samples.items[i], &list.items[i]));
            assert_int_equal(samples.items[i].count, list.items[i].count);
            assert_int_equal(samples.items[i].weight, list.items[i].weight);
        }
        lull_samples_sort(&samples);
        for (size_t i = 1; i < samples.n_items; i++)
            assert_true(lull_samples_order(&samples.items[i - 1], &samples.items[i]) < 0);
        lull_samples_free(&samples);
    }
}

TEST_GROUP(test_samples)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_items)};
    return run_cases(tests, NULL, NULL);
}
