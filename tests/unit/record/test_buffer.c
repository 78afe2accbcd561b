/* The tape of a thread across many chunks, on a full disk, on one that takes seconds to write, while
 * others have the core, and at the budget; the files are read here record by record. */
#include "record/core.h"
#include "record/life_cycle.h"

#include "support/folder.h"
#include "support/record/recorded.h"
#include "support/test.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What befalls a thread. The records of a call are one slot or two. */
enum { NOTHING, FULL_AT_FIRST, SLOW_DISK, NO_CORE, WAITS, BUDGET, CASES };
enum {
    CALLS = 20000,
    FIRST = 1000,
    REGIONS = 50
}; /* ids that the recorder does not give out itself */

#define SLOW (UINT64_C(1) << 34) /* ticks; seconds on any machine */

static pthread_barrier_t all;
static uint32_t numbers[CASES];

static uint32_t region_at(unsigned i)
{
    return FIRST + i % REGIONS;
}

/* Where it matters how long a chunk took, no call goes on to after it. */
static bool has_short_calls(unsigned number)
{
    return number == NO_CORE || number == WAITS;
}

static uint64_t duration_at(unsigned number, unsigned i)
{
    if (has_short_calls(number))
        return 0;
    return i % 7 == 0 ? (UINT64_C(1) << 33) + i : i;
}

/* One after the other, each on a location of its own. */
static void write_calls(unsigned number)
{
    struct rec_thread *self = rec_current();
    numbers[number] = self->number;
    for (unsigned turn = 0; turn < number; turn++)
        pthread_barrier_wait(&all);
    recorded_refuse_space(number == FULL_AT_FIRST);
    recorded_set_core(number == NO_CORE ? RECORDED_CORE_TAKEN
                      : number == WAITS ? RECORDED_CORE_WAITS
                                        : RECORDED_CORE_REAL);
    if (number == BUDGET)
        rec_process.budget = rec_process.used + LULL_TAPE_CHUNK;
    if (number == SLOW_DISK) { /* as if a chunk had just been written */
        self->untold_from = rec_now();
        self->untold = SLOW;
        rec_flush(self);
    }
    for (unsigned i = 0; i < CALLS; i++) {
        if (has_short_calls(number))
            rec_reserve(self, REC_MOST_SLOTS);
        rec_put_call(self, region_at(i), rec_now(), duration_at(number, i));
    }
    recorded_refuse_space(false);
    recorded_set_core(RECORDED_CORE_REAL);
    for (unsigned turn = number; turn < CASES; turn++)
        pthread_barrier_wait(&all);
}

/* Header and records of a location, one behind the other. */
static unsigned char *read_location(uint32_t number, struct lull_tape_header *ret_header)
{
    size_t head_size, chunks_size, tail_size;
    unsigned char *head = recorded_part(LULL_TAPE_PART_HEAD, number, &head_size);
    unsigned char *chunks = recorded_part(LULL_TAPE_PART_RECORDS, number, &chunks_size);
    unsigned char *tail = recorded_part(LULL_TAPE_PART_TAIL, number, &tail_size);
    memcpy(ret_header, head, sizeof *ret_header);
    const size_t flushed = ret_header->flushed, left = ret_header->committed - flushed;
    assert_in_range(flushed, 0, chunks_size);
    assert_in_range(left, 0, tail_size);
    unsigned char *records = malloc(flushed + left + 1);
    memcpy(records, chunks, flushed);
    memcpy(records + flushed, tail, left);
    free(head);
    free(chunks);
    free(tail);
    return records;
}

/* Checks that the test's own calls on the tape of a case are the first ones, and returns how many,
 * with the time spent in writing. */
static unsigned read_calls(unsigned number, unsigned *ret_flags, uint64_t *ret_flushing)
{
    unsigned n = 0;
    struct lull_tape_header header;
    unsigned char *records = read_location(numbers[number], &header);
    *ret_flushing = 0;
    for (size_t at = 0; at < header.committed;) {
        union lull_tape_slot slots[2];
        memcpy(slots, records + at, sizeof slots[0]);
        unsigned kind = lull_tape_kind_of(slots[0].record.head),
                 extra = lull_tape_extra_of(slots[0].record.head);
        at += (1 + extra) * sizeof slots[0];
        if (kind == LULL_TAPE_PAD)
            at = (at + LULL_TAPE_CHUNK - 1) / LULL_TAPE_CHUNK * LULL_TAPE_CHUNK;
        if (extra > 0)
            memcpy(&slots[1], records + at - sizeof slots[1], sizeof slots[1]);
        if (kind == LULL_TAPE_FLUSH)
            *ret_flushing += extra > 0 ? slots[1].u64[0] : slots[0].record.value;
        if (kind != LULL_TAPE_CALL || lull_tape_id_of(slots[0].record.head) < FIRST)
            continue;
        assert_int_equal(lull_tape_id_of(slots[0].record.head), region_at(n));
        assert_int_equal(extra > 0 ? slots[1].u64[0] : slots[0].record.value,
                         duration_at(number, n));
        n++;
    }
    *ret_flags = header.flags;
    free(records);
    return n;
}

static void test_chunks(void **state)
{
    (void)state;
    unsigned n[CASES], flags[CASES];
    uint64_t flushing[CASES];
    pthread_barrier_init(&all, NULL, CASES);
    recorded_threads(CASES, write_calls);
    rec_stop();
    for (unsigned i = 0; i < CASES; i++) {
        n[i] = read_calls(i, &flags[i], &flushing[i]);
        assert_true(flags[i] & LULL_TAPE_CLOSED);
    }
    assert_int_equal(n[NOTHING], CALLS);
    assert_false(flags[NOTHING] & (LULL_TAPE_WRITE_FAILED | LULL_TAPE_BUDGET_REACHED));
    /* A page is there from the beginning, and of the budget the chunk that was full. */
    assert_in_range(n[FULL_AT_FIRST], 1, 4096 / 16);
    assert_true(flags[FULL_AT_FIRST] & LULL_TAPE_WRITE_FAILED);
    assert_in_range(n[BUDGET], LULL_TAPE_CHUNK / 32, 2 * LULL_TAPE_CHUNK / 16);
    assert_true(flags[BUDGET] & LULL_TAPE_BUDGET_REACHED);
    assert_int_equal(n[SLOW_DISK], CALLS);
    assert_in_range(flushing[NOTHING], 0, SLOW - 1);
    assert_in_range(flushing[SLOW_DISK], SLOW, 2 * SLOW);
    /* Time in which others had the core is not the recorder's; time in which it waited is. */
    assert_int_equal(n[NO_CORE], CALLS);
    assert_int_equal(flushing[NO_CORE], 0);
    assert_int_equal(n[WAITS], CALLS);
    assert_true(flushing[WAITS] > 0);
}

static int tests(void)
{
    const struct CMUnitTest only[] = {cmocka_unit_test(test_chunks)};
    return run_cases(only, NULL, NULL);
}

TEST_GROUP(test_buffer)
{
    return recorded_main(tests);
}
