/* Members of communicators that nobody lists: each says which rank it is. */
#include "support/folder.h"
#include "support/tape_run.h"
#include "support/test.h"
#include "support/together.h"

#include <stddef.h>
#include <string.h>

static bool run_has_quirk(const char *kind)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_quirk *quirks;
    bool found = false;
    const uint32_t n = lull_trace_quirks(run.trace, arena, &quirks);
    for (uint32_t q = 0; q < n; q++)
        found |= strcmp(quirks[q].kind, kind) == 0;
    lull_arena_destroy(arena);
    return found;
}

/* A member that knows no other ones: process p is `rank` of those with that key. */
static void define_claim(struct definitions_maker *maker, uint32_t id, uint64_t key, uint32_t size,
                         uint64_t rank)
{
    const uint32_t none = UINT32_MAX;
    definitions_add(maker, LULL_TAPE_DEFINE_COMM, id, "UuuuuuusU", key, 2U, size, none, none, none,
                    0U, "told", rank);
}

static void write_claims(const uint32_t *ranks, uint32_t n, uint32_t lists)
{
    static const uint32_t order[] = {2, 0, 3, 1};
    for (uint32_t p = 0; p < n; p++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        define_process(&definitions, p, n);
        if (p == lists)
            define_comm(&definitions, 5, 77, 4, order, UINT32_MAX, "told");
        else
            define_claim(&definitions, 5, 77, 4, ranks[p]);
        definitions_write(&definitions, run.path);
        tape_begin(&tape, p, 0);
        tape_message_call(&tape, LULL_TAPE_CALL_SEND, 10, 1, 5, 1, 42, 5, 1000);
        tape_write(&tape, run.path, 0);
    }
    run_open(run.path);
}

static void check_claims(uint32_t size, const uint32_t *members, int32_t peer)
{
    const struct same_sequence events = run_events(0);
    const struct lull_comm *comm = &run.trace->comms[events.events[1].id];
    assert_int_equal(comm->size, size);
    for (uint32_t r = 0; r < size; r++)
        assert_int_equal(lull_comm_member(comm, r), members[r]);
    assert_int_equal(events.events[1].message.peer, peer);
}

/* Nobody lists the members: they are those that say so. */
static void test_members_by_claims(void **state)
{
    (void)state;
    write_claims((const uint32_t[]){1, 3, 0, 2}, 4, UINT32_MAX);
    check_claims(4, (const uint32_t[]){2, 0, 3, 1}, 0);
}

/* One does, in the middle of the others. */
static void test_list_among_claims(void **state)
{
    (void)state;
    write_claims((const uint32_t[]){1, 3, 0, 2}, 4, 2);
    check_claims(4, (const uint32_t[]){2, 0, 3, 1}, 0);
}

static void test_claims_in_a_row(void **state)
{
    (void)state;
    write_claims((const uint32_t[]){0, 1, 2, 3}, 4, UINT32_MAX);
    check_claims(4, (const uint32_t[]){0, 1, 2, 3}, 1);
}

/* Rank 1 died before it could say so: which one of the others a message is for is not known. */
static void test_claim_missing(void **state)
{
    (void)state;
    write_claims((const uint32_t[]){3, 2, 0}, 3, UINT32_MAX);
    check_claims(3, (const uint32_t[]){2, 1, 0}, LULL_PROC_NULL);
    assert_true(run_has_quirk("a communicator has members that were not recorded"));
}

static void test_claims_contradict(void **state)
{
    (void)state;
    write_claims((const uint32_t[]){0, 1, 1, 3}, 4, UINT32_MAX);
    check_claims(3, (const uint32_t[]){0, 1, 3}, LULL_PROC_NULL);
    assert_true(run_has_quirk("two processes say that they are the same rank of a communicator"));
}

/* Not a rank that it has. */
static void test_claim_too_high(void **state)
{
    (void)state;
    struct definitions_maker definitions;
    struct tape_maker tape;
    struct lull_error err;
    struct lull_trace *trace;
    define_process(&definitions, 0, 1);
    define_claim(&definitions, 5, 77, 4, 4);
    definitions_write(&definitions, run.path);
    tape_begin(&tape, 0, 0);
    tape_write(&tape, run.path, 0);
    together_check(run.path);
    assert_int_not_equal(lull_trace_open(run.path, &trace, &err), LULL_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_set_up, run_tear_down)

TEST_GROUP(test_tape_claims)
{
    const struct CMUnitTest tests[] = {
        TEST(test_members_by_claims), TEST(test_list_among_claims), TEST(test_claims_in_a_row),
        TEST(test_claim_missing),     TEST(test_claims_contradict), TEST(test_claim_too_high),
    };
    return run_cases(tests, NULL, NULL);
}
