/* The k-th message of a channel belongs to its k-th receive: in order, out of order, and against a
 * slow reference. */
#include "match/queue.h"
#include "stats/random.h"
#include "support/seed.h"
#include "support/test.h"

#include <stdlib.h>

/* What a message of the tests carries. */
struct load {
    uint64_t value, twice;
};

static const struct lull_channel channel = {.source = 1, .target = 2, .comm = 3, .tag = 4};

static uint32_t queue_of(struct lull_match_queues *queues, struct lull_channel of)
{
    bool is_new;
    const uint32_t queue = lull_match_queue_of(queues, &of, &is_new);
    assert_int_not_equal(queue, LULL_NONE);
    return queue;
}

static void put(struct lull_match_queues *queues, uint32_t queue, uint32_t number, uint64_t value)
{
    struct load *load = lull_match_put(queues, sizeof *load, queue, number);
    assert_non_null(load);
    *load = (struct load){value, 2 * value};
}

/* Takes a message, which carries this. */
static void take(struct lull_match_queues *queues, uint32_t queue, uint32_t number, uint64_t value)
{
    struct load load;
    assert_true(lull_match_take(queues, sizeof load, queue, number, &load));
    assert_int_equal(load.value, value);
    assert_int_equal(load.twice, 2 * value);
}

static void assert_absent(struct lull_match_queues *queues, uint32_t queue, uint32_t number)
{
    struct load load;
    assert_false(lull_match_take(queues, sizeof load, queue, number, &load));
}

/* ==== messages ================================================================================ */

static void messages_are_found_by_number(void **state)
{
    (void)state;
    struct lull_match_queues queues = {0};
    const uint32_t queue = queue_of(&queues, channel);
    assert_absent(&queues, queue, 0);
    put(&queues, queue, 0, 10);
    put(&queues, queue, 1, 11);
    assert_absent(&queues, queue, 2);
    take(&queues, queue, 0, 10);
    take(&queues, queue, 1, 11);
    put(&queues, queue, 4, 14); /* in the end, in front, between */
    put(&queues, queue, 2, 12);
    put(&queues, queue, 3, 13);
    assert_int_equal(lull_match_left(&queues, sizeof(struct load)), 3);
    take(&queues, queue, 3, 13);
    assert_absent(&queues, queue, 3);
    take(&queues, queue, 4, 14); /* the last: the next is put behind 2 */
    put(&queues, queue, 5, 15);
    take(&queues, queue, 2, 12);
    take(&queues, queue, 5, 15);
    assert_int_equal(lull_match_left(&queues, sizeof(struct load)), 0);
    assert_int_equal(queues.all[queue].first, LULL_NONE);
    lull_match_queues_free(&queues);
    assert_null(queues.items);
}

static void numbers_wrap_around(void **state)
{
    (void)state;
    struct lull_match_queues queues = {0};
    const uint32_t queue = queue_of(&queues, channel), order[] = {1, UINT32_MAX, 0, UINT32_MAX - 1};
    for (uint32_t i = 0; i < 4; i++)
        put(&queues, queue, order[i], 7 + order[i]);
    uint32_t expected = UINT32_MAX - 1; /* by number */
    for (uint32_t at = queues.all[queue].first; at != LULL_NONE; expected++) {
        const struct lull_match_item *item = lull_match_item_at(&queues, sizeof(struct load), at);
        assert_int_equal(item->number, expected);
        at = item->next;
    }
    assert_int_equal(expected, 2);
    for (uint32_t i = 0; i < 4; i++)
        take(&queues, queue, order[i], 7 + order[i]);
    lull_match_queues_free(&queues);
}

static void messages_of_one_number_keep_their_order(void **state)
{
    (void)state;
    struct lull_match_queues queues = {0};
    const uint32_t queue = queue_of(&queues, channel);
    put(&queues, queue, 0, 1);
    put(&queues, queue, 0, 2);
    put(&queues, queue, 0, 3);
    take(&queues, queue, 0, 1);
    take(&queues, queue, 0, 2);
    put(&queues, queue, 0, 4);
    take(&queues, queue, 0, 3);
    take(&queues, queue, 0, 4);
    lull_match_queues_free(&queues);
}

static void items_are_used_again(void **state)
{
    (void)state;
    struct lull_match_queues queues = {0};
    const uint32_t queue = queue_of(&queues, channel);
    for (uint32_t i = 0; i < 100; i++) {
        put(&queues, queue, 2 * i, i);
        put(&queues, queue, 2 * i + 1, i);
        take(&queues, queue, 2 * i + 1, i);
        take(&queues, queue, 2 * i, i);
    }
    assert_int_equal(queues.n_items, 2);
    lull_match_queues_free(&queues);
}

/* ==== channels ================================================================================ */

static void channels_differ_by_each_member(void **state)
{
    (void)state;
    const struct lull_channel channels[] = {
        channel, {9, 2, 3, 4}, {1, 9, 3, 4}, {1, 2, LULL_NONE, 4}, {1, 2, 3, -1}};
    struct lull_match_queues queues = {0};
    for (uint32_t i = 0; i < 5; i++) {
        bool is_new;
        assert_int_equal(lull_match_queue_of(&queues, &channels[i], &is_new), i);
        assert_true(is_new);
        assert_int_equal(queues.all[i].sent, 0);
        queues.all[i].sent = 1;
    }
    for (uint32_t i = 0; i < 5; i++) {
        bool is_new;
        assert_int_equal(lull_match_queue_of(&queues, &channels[i], &is_new), i);
        assert_false(is_new);
        assert_int_equal(queues.all[i].sent, 1);
        const struct lull_channel back = lull_match_channel(&queues, i);
        assert_memory_equal(&back, &channels[i], sizeof back);
    }
    put(&queues, 0, 0, 5);
    assert_absent(&queues, 1, 0);
    lull_match_queues_free(&queues);
}

/* ==== lists, routes and ports ================================================================= */

static void lists_give_the_last_added_first(void **state)
{
    (void)state;
    struct lull_match_queues queues = {0};
    struct load load;
    uint32_t list = LULL_NONE;
    assert_false(lull_match_list_remove(&queues, sizeof load, &list, 0, &load));
    const uint32_t numbers[] = {5, 6, 5};
    for (uint64_t i = 0; i < 3; i++) {
        struct load *added = lull_match_list_add(&queues, sizeof load, &list, numbers[i]);
        assert_non_null(added);
        *added = (struct load){.value = i};
    }
    assert_false(lull_match_list_remove(&queues, sizeof load, &list, 7, &load));
    assert_true(lull_match_list_remove(&queues, sizeof load, &list, 5, &load));
    assert_int_equal(load.value, 2);
    assert_true(lull_match_list_remove(&queues, sizeof load, &list, 5, &load));
    assert_int_equal(load.value, 0);
    assert_true(lull_match_list_remove(&queues, sizeof load, &list, 6, &load));
    assert_int_equal(load.value, 1);
    assert_int_equal(list, LULL_NONE);
    lull_match_queues_free(&queues);
}

static void routes_and_ports_are_none_until_set(void **state)
{
    (void)state;
    struct lull_match_routes routes = {0};
    assert_int_equal(lull_match_route_of(&routes, 0), LULL_NONE);
    assert_int_equal(lull_match_route_of(&routes, LULL_NONE), LULL_NONE);
    *lull_match_route(&routes, 3) = 8;
    assert_int_equal(lull_match_route_of(&routes, 2), LULL_NONE);
    assert_int_equal(lull_match_route_of(&routes, 3), 8);
    assert_int_equal(lull_match_route_of(&routes, 4), LULL_NONE);
    *lull_match_route(&routes, 0) = 9;
    assert_int_equal(lull_match_route_of(&routes, 0), 9);
    assert_int_equal(routes.count, 4);
    free(routes.queues);

    struct lull_match_ports ports = {0};
    assert_true(lull_match_port_set(&ports, 1, 6));
    assert_true(lull_match_port_set(&ports, 0, 5));
    assert_int_equal(ports.count, 2);
    assert_int_equal(ports.queues[0], 5);
    assert_int_equal(ports.queues[1], 6);
    free(ports.queues);
}

/* ==== against a reference ===================================================================== */

enum { CHANNELS = 4, MESSAGES = 40 };

/* Messages in the order in which they were put; of one queue and number the first is next. */
struct put_message {
    uint32_t queue, number;
    uint64_t value;
};

static void any_order_is_that_of_a_slow_search(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    for (int round = 0; round < 2000; round++) {
        struct lull_match_queues queues = {0};
        struct put_message there[MESSAGES];
        uint32_t n = 0;
        const uint32_t base = lull_random_below(&random, 2) ? 0 : UINT32_MAX - 3;
        for (uint32_t q = 0; q < CHANNELS; q++)
            queue_of(&queues, (struct lull_channel){.source = q});
        for (uint64_t step = 0; step < 100; step++) {
            const uint32_t queue = (uint32_t)lull_random_below(&random, CHANNELS);
            const uint32_t number = base + (uint32_t)lull_random_below(&random, 8);
            if (n < MESSAGES && lull_random_below(&random, 2)) {
                put(&queues, queue, number, step);
                there[n++] = (struct put_message){queue, number, step};
                continue;
            }
            uint32_t at = 0;
            while (at < n && (there[at].queue != queue || there[at].number != number))
                at++;
            if (at == n) {
                assert_absent(&queues, queue, number);
                continue;
            }
            take(&queues, queue, number, there[at].value);
            memmove(&there[at], &there[at + 1], (--n - at) * sizeof *there);
        }
        assert_int_equal(lull_match_left(&queues, sizeof(struct load)), n);
        lull_match_queues_free(&queues);
    }
}

TEST_GROUP(test_queue)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(messages_are_found_by_number),
                                       cmocka_unit_test(numbers_wrap_around),
                                       cmocka_unit_test(messages_of_one_number_keep_their_order),
                                       cmocka_unit_test(items_are_used_again),
                                       cmocka_unit_test(channels_differ_by_each_member),
                                       cmocka_unit_test(lists_give_the_last_added_first),
                                       cmocka_unit_test(routes_and_ports_are_none_until_set),
                                       cmocka_unit_test(any_order_is_that_of_a_slow_search)};
    return run_cases(tests, NULL, NULL);
}
