/* Tapes that are read while they are written: what comes is, to the last event, what a reading
 * afterwards gives, whenever the reader looks, and whenever the writer ends or dies. */
#include "support/folder.h"
#include "support/live_tape.h"
#include "support/same_trace.h"
#include "support/seed.h"
#include "support/test.h"
#include "trace/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct lull_error err;

struct seen {
    struct lull_event *events; /* malloc'd */
    size_t count, capacity;
    struct lull_cursor *cursor;
    unsigned empty; /* looks at which there was nothing yet */
};

static void keep(struct seen *seen, const struct lull_block *block)
{
    if (seen->count + block->count > seen->capacity) {
        seen->capacity = 2 * (seen->count + block->count);
        seen->events = realloc(seen->events, seen->capacity * sizeof *seen->events);
        assert_non_null(seen->events);
    }
    if (block->count > 0)
        memcpy(seen->events + seen->count, block->events, block->count * sizeof *seen->events);
    seen->count += block->count;
}

/* Reads what is there of one location. */
static enum lull_stream_state look(struct seen *seen, const char *what)
{
    struct lull_block block;
    do {
        fail_if(lull_cursor_next(seen->cursor, &block, &err) != LULL_OK, "%s: %s", what, err.text);
        keep(seen, &block);
    } while (block.count > 0);
    seen->empty += lull_cursor_state(seen->cursor) == LULL_STREAM_WAITS;
    return lull_cursor_state(seen->cursor);
}

/* Regions that are open at the end are closed there, and nobody knew when that would be. */
static void set_end(struct seen *seen, int64_t duration)
{
    for (size_t i = seen->count; i-- > 0 && seen->events[i].time == LULL_LIVE_DURATION;)
        seen->events[i].time = duration;
}

static void compare(const char *run, const struct lull_trace *live, struct seen *seen,
                    const char *what)
{
    struct lull_trace *after;
    struct lull_arena *arena = lull_arena_create(NULL);
    fail_if(lull_trace_open(run, &after, &err) != LULL_OK, "%s: %s", what, err.text);
    for (uint32_t l = 0; l < live->n_locations; l++) {
        struct same_sequence all, got;
        set_end(&seen[l], after->duration);
        got = (struct same_sequence){live, seen[l].events, seen[l].count};
        fail_if(collect_by_cursor(after, l, 0, arena, &all, &err) != LULL_OK, "%s: %s", what,
                err.text);
        fail_if(all.count != got.count, "%s: location %u: %zu events, afterwards %zu", what, l,
                got.count, all.count);
        fail_if(!same_sequences(&got, &all, NULL, &err), "%s: location %u: %s", what, l, err.text);
    }
    lull_arena_destroy(arena);
    lull_trace_close(after);
}

/* How a schedule ends. */
enum { CLOSES, DIES, REACHES_BUDGET, ENDS };
static unsigned ends[ENDS], empty;

static void write_some(struct live_tape *tape, struct lull_random *random, struct seen *seen,
                       unsigned end, const char *what)
{
    const unsigned things = 1 + (unsigned)lull_random_below(random, 60),
                   often = 1 + (unsigned)lull_random_below(random, 40);
    for (unsigned i = 0; i < things; i++) {
        live_tape_go_on(tape);
        const unsigned dies =
            end == DIES && i + 1 == things ? (unsigned)lull_random_below(random, 30) : UINT32_MAX;
        for (unsigned step = 0; step < dies && live_tape_step(tape); step++)
            if (lull_random_below(random, often) == 0)
                look(&seen[lull_random_below(random, LIVE_LOCATIONS)], what);
    }
}

static void run_schedule(uint64_t seed)
{
    struct lull_random random;
    struct lull_trace *trace;
    struct seen seen[LIVE_LOCATIONS] = {0};
    char what[64];
    snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
    lull_random_seed(&random, seed);
    const unsigned end = (unsigned)lull_random_below(&random, ENDS);
    const char *run = folder_path("run");
    struct live_tape *tape = live_tape_begin(run, &random);
    fail_if(lull_trace_open_live(run, &trace, &err) != LULL_OK, "%s: %s", what, err.text);
    for (uint32_t l = 0; l < LIVE_LOCATIONS; l++)
        assert_int_equal(lull_cursor_open(trace, l, 0, &seen[l].cursor, &err), LULL_OK);
    write_some(tape, &random, seen, end, what);
    if (end == DIES)
        live_tape_kill(tape);
    else
        live_tape_end(tape, end == CLOSES ? LULL_TAPE_CLOSED : LULL_TAPE_BUDGET_REACHED);
    while (live_tape_step(tape))
        continue;
    for (uint32_t l = 0; l < LIVE_LOCATIONS; l++) {
        assert_int_equal(look(&seen[l], what), LULL_STREAM_ENDED);
        lull_cursor_close(seen[l].cursor);
        empty += seen[l].empty;
    }
    compare(run, trace, seen, what);
    for (uint32_t l = 0; l < LIVE_LOCATIONS; l++)
        free(seen[l].events);
    ends[end]++;
    lull_trace_close(trace);
    live_tape_free(tape);
}

static void test_schedules(void **state)
{
    (void)state;
    const uint64_t first = lull_test_seed(), rounds = lull_test_rounds(10000);
    folder_make();
    for (uint64_t seed = first; seed - first < rounds; seed++)
        run_schedule(seed);
    folder_remove();
    assert_reached("a look at which nothing was there", empty, rounds, rounds);
    assert_reached("a chunk is stored", live_tape_counts.chunks, rounds / 10, rounds);
    assert_reached("a committed record changes", live_tape_counts.changed, rounds, rounds);
    assert_reached("a call is open for a while", live_tape_counts.opened, rounds, rounds);
    assert_reached("closed", ends[CLOSES], rounds / 10, rounds);
    assert_reached("killed", ends[DIES], rounds / 10, rounds);
    assert_reached("budget", ends[REACHES_BUDGET], rounds / 10, rounds);
}

TEST_GROUP(test_tape_live)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_schedules)};
    return run_cases(tests, NULL, NULL);
}
