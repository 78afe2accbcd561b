/* The hash table against a list that is searched from its beginning. */
#include "base/hash.h"
#include "stats/random.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 60, OPERATIONS = 3000, MOST_KEYS = 1500, LONGEST = 40 };

/* The reference: pairs in order of arrival. */
struct pair {
    unsigned char key[LONGEST];
    size_t size;
    uint64_t value;
};
static struct pair pairs[OPERATIONS];
static size_t n_pairs;

static struct pair *search(const void *key, size_t size)
{
    for (size_t p = 0; p < n_pairs; p++)
        if (pairs[p].size == size && memcmp(pairs[p].key, key, size) == 0)
            return &pairs[p];
    return NULL;
}

/* What keys of a round look like. */
enum shape { INTEGERS, MULTIPLES, TUPLES, TEXTS, SHAPES };

/* Few different bytes and many sizes, so that keys repeat and are beginnings of one another. */
static size_t draw_text(struct lull_random *random, unsigned char *key)
{
    size_t size = lull_random_below(random, lull_random_below(random, 8) ? 7 : LONGEST + 1);
    for (size_t i = 0; i < size; i++)
        key[i] = (unsigned char)"ab\0"[lull_random_below(random, 3)];
    return size;
}

static size_t draw_key(struct lull_random *random, enum shape shape, unsigned char *key)
{
    uint64_t number = lull_random_below(random, MOST_KEYS);
    uint32_t tuple[3] = {(uint32_t)number % 9, (uint32_t)number / 9 % 9, (uint32_t)number / 81};
    switch (shape) {
    case MULTIPLES: /* all alike in their lower bits */
        number <<= 40;
        /* fallthrough */
    case INTEGERS:
        memcpy(key, &number, sizeof number);
        return sizeof number;
    case TUPLES:
        memcpy(key, tuple, sizeof tuple);
        return sizeof tuple;
    default:
        return draw_text(random, key);
    }
}

static void check_add(struct lull_hash *table, const unsigned char *key, size_t size,
                      uint64_t value)
{
    struct pair *known = search(key, size);
    bool is_new = known;
    uint64_t *found = lull_hash_add(table, key, size, value, &is_new);
    assert_non_null(found);
    assert_int_equal(is_new, !known);
    if (!known) {
        known = &pairs[n_pairs++];
        memcpy(known->key, key, size);
        known->size = size;
        known->value = value;
    }
    assert_true(*found == known->value);
}

static void check_find(struct lull_hash *table, const unsigned char *key, size_t size,
                       uint64_t value)
{
    struct pair *known = search(key, size);
    uint64_t *found = lull_hash_find(table, key, size);
    assert_int_equal(found != NULL, known != NULL);
    if (!known)
        return;
    assert_true(*found == known->value);
    *found = known->value = value; /* found values may be changed */
}

static void check_order(const struct lull_hash *table)
{
    assert_int_equal(table->count, n_pairs);
    for (size_t p = 0; p < n_pairs; p++) {
        assert_int_equal(table->entries[p].size, pairs[p].size);
        assert_memory_equal(lull_hash_key(table, p), pairs[p].key, pairs[p].size);
        assert_int_equal(((const char *)lull_hash_key(table, p))[pairs[p].size], 0);
        assert_true(table->entries[p].value == pairs[p].value);
    }
}

static void check_round(uint64_t seed)
{
    struct lull_random random;
    lull_random_seed(&random, seed);
    enum shape shape = (enum shape)(seed % SHAPES);
    uint64_t of_adds = lull_random_below(&random, 10) + 1; /* in 11 */
    struct lull_hash table = {0};
    n_pairs = 0;
    for (int i = 0; i < OPERATIONS; i++) {
        unsigned char key[LONGEST];
        size_t size = draw_key(&random, shape, key);
        uint64_t value = lull_random_u64(&random);
        if (lull_random_below(&random, 11) < of_adds)
            check_add(&table, key, size, value);
        else
            check_find(&table, key, size, value);
    }
    check_order(&table);
    lull_hash_free(&table);
    assert_int_equal(table.count, 0);
    assert_null(lull_hash_find(&table, "a", 1));
}

static void test_against_search(void **state)
{
    (void)state;
    const char *seed_text = getenv("LULL_TEST_SEED");
    uint64_t first = seed_text ? strtoull(seed_text, NULL, 10) : 1;
    for (uint64_t seed = first; seed < first + ROUNDS; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        check_round(seed);
    }
}

/* Numbers are given in order of arrival, as one interns names. */
static void test_interning(void **state)
{
    (void)state;
    static const char *const names[] = {"north", "south", "north", "", "east", "", "south"};
    static const uint64_t expected[] = {0, 1, 0, 2, 3, 2, 1};
    struct lull_hash table = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint64_t *index = lull_hash_add(&table, names[i], strlen(names[i]), table.count, NULL);
        assert_non_null(index);
        assert_true(*index == expected[i]);
    }
    assert_string_equal(lull_hash_key(&table, 3), "east");
    lull_hash_free(&table);
}

/* Slots that a search for an unknown key visits, on average over where it begins. */
static double slots_visited(const struct lull_hash *table)
{
    size_t sum = 0, run = 0;
    for (size_t at = 2 * table->n_slots; at-- > 0;) { /* twice: runs may go over the end */
        run = table->slots[at & (table->n_slots - 1)] ? run + 1 : 0;
        sum += at < table->n_slots ? run + 1 : 0;
    }
    return (double)sum / (double)table->n_slots;
}

/* Ids in steps of 2^k: no step may make the search long. At random places, three quarters of them
 * taken, it visits (1 + 1/(1 - 3/4)^2)/2 = 8.5 slots on average (Knuth, The Art of Computer
 * Programming 3, section 6.4, linear probing); a step that the hash cannot spread: thousands. */
static void test_steps_of_ids(void **state)
{
    (void)state;
    enum { IDS = 3 << 13 };
    for (unsigned shift = 0; shift < 49; shift++) {
        struct lull_hash table = {0};
        for (uint64_t i = 0; i < IDS; i++) {
            uint64_t id = i << shift;
            assert_non_null(lull_hash_add(&table, &id, sizeof id, i, NULL));
        }
        double visited = slots_visited(&table);
        fail_if(visited > 2 * 8.5, "ids in steps of 2^%u: %g slots per search", shift, visited);
        lull_hash_free(&table);
    }
}

TEST_GROUP(test_hash)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_search),
        cmocka_unit_test(test_interning),
        cmocka_unit_test(test_steps_of_ids),
    };
    return run_cases(tests, NULL, NULL);
}
