/* Ledgers and how waits are divided, by hand. */
#include "support/test.h"
#include "wait/ledger.h"

#include <stddef.h>

enum { A, B, C };            /* processes; A waits for B */
enum { ALPHA, BETA, GAMMA }; /* regions */

static const struct wait_moment none;
static const uint64_t rest = (uint64_t)LULL_WAIT_OWN << 32 | WAIT_IN_MPI;

static void add(struct wait_ledger *ledger, uint32_t process, uint32_t region, int64_t ns)
{
    assert_true(lull_wait_ledger_add(ledger, lull_wait_key(process, region), LULL_NONE, ns));
}

/* What of a wait is charged to a region of a process, LULL_WAIT_OWN: of B itself. */
static int64_t charged(struct wait_ledger *late, struct wait_moment late_since,
                       const struct wait_ledger *other, struct wait_moment other_since,
                       int64_t wait, uint32_t process, uint32_t region)
{
    struct wait_part parts[LULL_WAIT_LEDGER + 2];
    struct wait_moment at = lull_wait_moment_take(late);
    const struct wait_between between = {.late = B,
                                         .other = A,
                                         .at = at,
                                         .late_since = late_since,
                                         .ledger = other,
                                         .other_since = other_since};
    const uint32_t n = lull_wait_divide(&between, wait, rest, parts);
    int64_t found = 0, sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += parts[i].ns;
        if (parts[i].key == lull_wait_key(process, region))
            found += parts[i].ns;
    }
    assert_int_equal(sum, wait);
    lull_wait_moment_drop(&at);
    return found;
}

static void what_one_did_more_of(void **state)
{
    struct wait_ledger late = {0}, other = {0};
    (void)state;
    add(&late, LULL_WAIT_OWN, ALPHA, 10);
    add(&late, LULL_WAIT_OWN, BETA, 4);
    add(&other, LULL_WAIT_OWN, ALPHA, 4);
    add(&other, LULL_WAIT_OWN, BETA, 6);
    /* 6 more of alpha, 2 less of beta: it comes 4 later */
    assert_int_equal(charged(&late, none, &other, none, 4, LULL_WAIT_OWN, ALPHA), 4);
    /* gamma is 2 more: 6 to 2 of 6 */
    add(&late, LULL_WAIT_OWN, GAMMA, 2);
    assert_int_equal(charged(&late, none, &other, none, 6, LULL_WAIT_OWN, ALPHA), 5);
    assert_int_equal(charged(&late, none, &other, none, 6, LULL_WAIT_OWN, GAMMA), 1);
    lull_wait_ledger_free(&late);
    lull_wait_ledger_free(&other);
}

static void since_they_met(void **state)
{
    struct wait_ledger late = {0}, other = {0};
    (void)state;
    add(&late, LULL_WAIT_OWN, ALPHA, 100);
    add(&other, LULL_WAIT_OWN, BETA, 100);
    struct wait_moment late_since = lull_wait_moment_take(&late);
    struct wait_moment other_since = lull_wait_moment_take(&other);
    add(&late, LULL_WAIT_OWN, BETA, 9);
    add(&other, LULL_WAIT_OWN, BETA, 4);
    assert_int_equal(charged(&late, late_since, &other, other_since, 5, LULL_WAIT_OWN, BETA), 5);
    /* who has begun anew has done nothing before */
    lull_wait_ledger_begin_anew(&late);
    lull_wait_ledger_begin_anew(&other);
    add(&late, LULL_WAIT_OWN, ALPHA, 3);
    assert_int_equal(charged(&late, late_since, &other, other_since, 3, LULL_WAIT_OWN, ALPHA), 3);
    lull_wait_moment_drop(&late_since);
    lull_wait_moment_drop(&other_since);
    lull_wait_ledger_free(&late);
    lull_wait_ledger_free(&other);
}

static void what_rounding_leaves(void **state)
{
    struct wait_ledger late = {0}, other = {0};
    (void)state;
    for (uint32_t region = ALPHA; region <= GAMMA; region++)
        add(&late, LULL_WAIT_OWN, region, 1);
    /* two thirds each: the first two get them */
    assert_int_equal(charged(&late, none, &other, none, 2, LULL_WAIT_OWN, ALPHA), 1);
    assert_int_equal(charged(&late, none, &other, none, 2, LULL_WAIT_OWN, BETA), 1);
    assert_int_equal(charged(&late, none, &other, none, 2, LULL_WAIT_OWN, GAMMA), 0);
    /* what nothing explains is time in MPI */
    assert_int_equal(charged(&late, none, &other, none, 10, LULL_WAIT_OWN, WAIT_IN_MPI), 7);
    lull_wait_ledger_free(&late);
    lull_wait_ledger_free(&other);
}

static void who_kept_the_late_one(void **state)
{
    struct wait_ledger late = {0}, other = {0};
    (void)state;
    add(&late, C, ALPHA, 8);
    add(&other, LULL_WAIT_OWN, BETA, 2);
    assert_int_equal(charged(&late, none, &other, none, 6, C, ALPHA), 6);
    /* C kept both of them */
    add(&other, C, ALPHA, 8);
    add(&late, LULL_WAIT_OWN, GAMMA, 5);
    assert_int_equal(charged(&late, none, &other, none, 3, C, ALPHA), 0);
    assert_int_equal(charged(&late, none, &other, none, 3, LULL_WAIT_OWN, GAMMA), 3);
    lull_wait_ledger_free(&late);
    lull_wait_ledger_free(&other);
}

static void what_both_paid_for(void **state)
{
    struct wait_ledger late = {0}, other = {0};
    (void)state;
    /* A has waited for B's alpha before; only gamma is new. */
    add(&late, LULL_WAIT_OWN, ALPHA, 50);
    add(&late, LULL_WAIT_OWN, GAMMA, 3);
    add(&other, B, ALPHA, 50);
    assert_int_equal(charged(&late, none, &other, none, 3, LULL_WAIT_OWN, GAMMA), 3);
    /* B has waited for A's beta, in which A was itself. */
    add(&late, A, BETA, 20);
    add(&other, LULL_WAIT_OWN, BETA, 20);
    assert_int_equal(charged(&late, none, &other, none, 3, LULL_WAIT_OWN, GAMMA), 3);
    assert_int_equal(charged(&late, none, &other, none, 3, A, BETA), 0);
    lull_wait_ledger_free(&late);
    lull_wait_ledger_free(&other);
}

static void more_places_than_room(void **state)
{
    enum { MANY = 1000 };
    struct wait_ledger ledger = {0};
    int64_t sum = 0, most = 0, elsewhere = 0;
    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        const int64_t ns = i == 3 ? MANY * MANY : 1 + i % 7;
        add(&ledger, i % 2 ? LULL_WAIT_OWN : i, i, ns);
        sum += ns;
        assert_in_range(ledger.own.count + ledger.others.count, 1, LULL_WAIT_LEDGER);
    }
    for (uint32_t i = 0; i < ledger.own.count + ledger.others.count; i++) {
        const struct wait_entry *entry = i < ledger.own.count
                                             ? &ledger.own.entries[i]
                                             : &ledger.others.entries[i - ledger.own.count];
        sum -= entry->ns;
        most = entry->ns > most ? entry->ns : most;
        elsewhere += lull_wait_key_region(entry->key) == LULL_WAIT_ELSEWHERE;
    }
    assert_int_equal(sum, 0);
    assert_int_equal(most, MANY * MANY);
    assert_int_equal(elsewhere, 2);
    lull_wait_ledger_free(&ledger);
}

TEST_GROUP(test_ledger)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_did_more_of), cmocka_unit_test(since_they_met),
        cmocka_unit_test(what_rounding_leaves), cmocka_unit_test(who_kept_the_late_one),
        cmocka_unit_test(what_both_paid_for),   cmocka_unit_test(more_places_than_room),
    };
    return run_cases(tests, NULL, NULL);
}
