/* Random calls with messages and operations, written in full and written as like the last one of
 * their shape wherever they are: both tapes say the same, whatever is asked for. So does what lull
 * writes of them. */
#include "support/branches.h"
#include "support/folder.h"
#include "support/seed.h"
#include "support/tape_run.h"
#include "support/test.h"
#include "trace/convert.h"
#include "trace/format.h"

#include "stats/random.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 20, POOL = 300, CALLS = 6000, PROCESSES = 3 };

/* Calls of each kind that has shapes are written in short and in full. */
static struct branch in_short_form[LULL_TAPE_KINDS], in_full[LULL_TAPE_KINDS];

struct call {
    union lull_tape_slot slots[4]; /* two for what it does, and one for a long duration */
    unsigned count;
};

static int32_t some_peer(struct lull_random *random)
{
    return (int32_t)lull_random_below(random, PROCESSES);
}

static uint64_t some_bytes(struct lull_random *random)
{
    const uint64_t few = lull_random_below(random, 4);
    return few > 0 ? few << 10 : lull_random_u64(random) & LULL_TAPE_BYTES_MASK;
}

static struct call draw(struct lull_random *random)
{
    static const unsigned kinds[] = {
        LULL_TAPE_CALL_SEND,     LULL_TAPE_CALL_RECV,       LULL_TAPE_CALL_ISEND,
        LULL_TAPE_CALL_IRECV,    LULL_TAPE_CALL_COLLECTIVE, LULL_TAPE_CALL_ICOLLECTIVE,
        LULL_TAPE_CALL_SENDRECV, LULL_TAPE_CALL_WAIT,       LULL_TAPE_CALL};
    static const uint32_t regions[] = {1, 2, 3, 4, 6, 7, 1, 5, 0};
    const size_t which = (size_t)lull_random_below(random, 9);
    const unsigned kind = kinds[which];
    const bool shaped = lull_tape_is_shaped(kind);
    const unsigned extra = shaped ? lull_tape_shaped_slots(kind) : 0;
    struct call call = {.count = 1 + extra};
    call.slots[0].record.head = lull_tape_head(kind, extra, regions[which]);
    for (unsigned i = 1; i <= extra; i++) {
        call.slots[i].i32[0] = some_peer(random);
        call.slots[i].i32[1] = (int32_t)lull_random_below(random, 6);
        call.slots[i].u64[1] = some_bytes(random);
    }
    if (kind == LULL_TAPE_CALL_COLLECTIVE || kind == LULL_TAPE_CALL_ICOLLECTIVE) {
        call.slots[1].u64[0] = some_bytes(random);
        call.slots[1].u64[1] = some_bytes(random) | (uint64_t)some_peer(random) << 40;
    }
    return call;
}

/* What a reader has seen last of each shape, here by the words themselves. */
struct last {
    struct call of[LULL_TAPE_SHAPES];
};

/* In the short form where it is like the last one; returns whether it was. */
static bool shorten(struct last *last, struct call *call)
{
    if (!lull_tape_is_shaped(lull_tape_kind_of(call->slots[0].record.head)))
        return false;
    const uint32_t shape = lull_tape_shape_of_record(call->slots);
    struct call bare = *call;
    bare.slots[0].record.time = 0;
    bare.slots[0].record.value = 0;
    const bool same = memcmp(&last->of[shape], &bare, sizeof bare) == 0;
    last->of[shape] = bare;
    branch_reach(same ? &in_short_form[lull_tape_kind_of(call->slots[0].record.head)]
                      : &in_full[lull_tape_kind_of(call->slots[0].record.head)],
                 true);
    if (!same)
        return false;
    call->slots[0].record.head = lull_tape_head(LULL_TAPE_CALL_LIKE, 0, shape);
    call->count = 1;
    return true;
}

/* One in fifty is so long that its duration needs a slot; it stays as it is. */
static void set_times(struct lull_random *random, struct call *call, uint64_t *now)
{
    const unsigned kind = lull_tape_kind_of(call->slots[0].record.head);
    const bool is_long = lull_tape_is_shaped(kind) && lull_random_below(random, 50) == 0;
    const uint64_t length = is_long ? LULL_TAPE_OPEN + lull_random_below(random, 1000)
                                    : lull_random_below(random, 1000);
    call->slots[0].record.time = *now;
    call->slots[0].record.value = (uint32_t)length;
    if (is_long) {
        call->slots[0].record.head += 1 << 6;
        call->slots[0].record.value = LULL_TAPE_OPEN;
        call->slots[call->count++].u64[0] = length;
    }
    *now += length + 1;
}

static void put(struct tape_maker *tape, const struct call *call)
{
    memcpy(tape_room(tape, call->count), call->slots, call->count * sizeof *call->slots);
}

static void write_run(const char *path, uint64_t seed, bool in_short, size_t *ret_short)
{
    struct lull_random random;
    struct call pool[POOL];
    struct last *last = lull_arena_zero(run.arena, 1, sizeof *last);
    struct tape_maker tape;
    uint64_t now = 0;
    lull_random_seed(&random, seed);
    for (unsigned i = 0; i < POOL; i++)
        pool[i] = draw(&random);
    run.path = path;
    run_begin(path);
    begin_process(&tape, 0, PROCESSES);
    *ret_short = 0;
    for (unsigned i = 0; i < CALLS; i++) {
        struct call call = pool[lull_random_below(&random, POOL)];
        set_times(&random, &call, &now);
        const bool is_long = call.slots[0].record.value == LULL_TAPE_OPEN;
        if (in_short && is_long)
            last->of[lull_tape_shape_of_record(call.slots)] = (struct call){.count = 0};
        else if (in_short)
            *ret_short += shorten(last, &call);
        put(&tape, &call);
    }
    tape_write(&tape, path, 0);
    run_empty_processes(1, PROCESSES, PROCESSES);
}

static void check_same(const struct lull_trace *full, const struct lull_trace *in_short,
                       uint64_t seed)
{
    static const uint64_t masks[] = {
        LULL_MASK_ALL, LULL_MASK_TIME, LULL_MASK_MESSAGES, LULL_MASK(LULL_EVENT_CALL),
        LULL_MASK(LULL_EVENT_ENTER) | LULL_MASK(LULL_EVENT_LEAVE) | LULL_MASK(LULL_EVENT_CALL)};
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        struct same_sequence a, b;
        assert_int_equal(collect_by_cursor(full, 0, masks[m], run.arena, &a, &run.err), LULL_OK);
        assert_int_equal(collect_by_cursor(in_short, 0, masks[m], run.arena, &b, &run.err),
                         LULL_OK);
        fail_if(a.count == 0 || !same_sequences(&a, &b, NULL, &run.err), "seed %llu, mask %zu: %s",
                (unsigned long long)seed, m, run.err.text);
    }
}

static void check_written(const struct lull_trace *full, uint64_t seed)
{
    struct lull_trace *written;
    char path[4096];
    snprintf(path, sizeof path, "%s", folder_path("written"));
    assert_int_equal(lull_convert(full, path, &lull_format_tape, true, NULL, NULL, &run.err),
                     LULL_OK);
    assert_int_equal(lull_trace_open(path, &written, &run.err), LULL_OK);
    check_same(full, written, seed);
    lull_trace_close(written);
}

static void test_full_and_short(void **state)
{
    (void)state;
    const uint64_t first = lull_test_seed();
    const unsigned rounds = lull_test_rounds(ROUNDS);
    for (unsigned k = 0; k < LULL_TAPE_KINDS; k++)
        if (lull_tape_is_shaped(k)) {
            in_short_form[k] = (struct branch){.what = "a kind is written in short", .least = 900};
            in_full[k] = (struct branch){.what = "a kind is written in full", .least = 900};
        }
    for (uint64_t seed = first; seed - first < rounds; seed++) {
        struct lull_trace *full, *in_short;
        size_t none, some;
        char full_path[4096], short_path[4096];
        snprintf(full_path, sizeof full_path, "%s", folder_path("full"));
        snprintf(short_path, sizeof short_path, "%s", folder_path("short"));
        write_run(full_path, seed, false, &none);
        write_run(short_path, seed, true, &some);
        assert_int_equal(lull_trace_open(full_path, &full, &run.err), LULL_OK);
        assert_int_equal(lull_trace_open(short_path, &in_short, &run.err), LULL_OK);
        check_same(full, in_short, seed);
        assert_in_range(some, CALLS / 10, CALLS);
        check_written(full, seed);
        lull_trace_close(full);
        lull_trace_close(in_short);
        branches_next(in_short_form, LULL_TAPE_KINDS);
        branches_next(in_full, LULL_TAPE_KINDS);
    }
    branches_assert(in_short_form, LULL_TAPE_KINDS, rounds);
    branches_assert(in_full, LULL_TAPE_KINDS, rounds);
}

TEST_GROUP(test_tape_shapes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_full_and_short, run_set_up, run_tear_down)};
    return run_cases(tests, NULL, NULL);
}
