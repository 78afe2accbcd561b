/* Random traces written as tape and read back: nothing is lost, whatever the mask, the number of
 * workers or the size of the reads. */
#include "support/branches.h"
#include "support/folder.h"
#include "support/memory_trace.h"
#include "support/same_trace.h"
#include "support/seed.h"
#include "support/test.h"
#include "trace/convert.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 40 };

static struct lull_error err;

/* Events of each kind are written and read. */
static struct branch branches[LULL_EVENT_KINDS];

static void require(bool good, uint64_t seed, const char *what)
{
    fail_if(!good, "seed %llu: %s: %s", (unsigned long long)seed, what, err.text);
}

/* All events of a location read with the smallest buffer that a format must accept. */
static struct same_sequence read_in_small_pieces(const struct lull_trace *trace, uint32_t location,
                                                 uint64_t mask, struct lull_arena *arena)
{
    enum { PIECE = 64 };
    struct lull_event *all = NULL;
    size_t count = 0, capacity = 0, got;
    void *stream;
    assert_int_equal(trace->format->reader->stream_open(trace, location, mask, &stream, &err),
                     LULL_OK);
    for (;;) {
        struct lull_event piece[PIECE];
        assert_int_equal(trace->format->reader->stream_read(stream, piece, PIECE, &got, &err),
                         LULL_OK);
        assert_in_range(got, 0, PIECE);
        if (got == 0)
            break;
        all = lull_arena_grow(arena, all, &capacity, count + got, sizeof *all);
        for (size_t i = 0; i < got; i++) {
            all[count] = piece[i];
            if (piece[i].kind == LULL_EVENT_COUNTERS) {
                struct lull_counter_reading *values =
                    lull_arena_zero(arena, piece[i].readings.count, sizeof *values);
                for (uint32_t r = 0; r < piece[i].readings.count; r++)
                    values[r] = piece[i].readings.values[r];
                all[count].readings.values = values;
            }
            count++;
        }
    }
    trace->format->reader->stream_close(stream);
    return (struct same_sequence){trace, all, count};
}

/* Exactly the events of `whole` whose kind is in the mask, in order. */
static void check_mask(const struct same_sequence *whole, const struct same_sequence *part,
                       uint64_t mask, uint64_t seed)
{
    size_t at = 0;
    for (size_t i = 0; i < whole->count; i++) {
        if (!(mask >> whole->events[i].kind & 1))
            continue;
        require(at < part->count && part->events[at].kind == whole->events[i].kind &&
                    part->events[at].time == whole->events[i].time &&
                    part->events[at].id == whole->events[i].id,
                seed, "masked scan is not the filtered one");
        at++;
    }
    require(at == part->count, seed, "masked scan has more than the filtered one");
}

static void check_ways_to_read(const struct lull_trace *tape, struct lull_random *random,
                               uint64_t seed)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct same_sequence *scan, *masked, *threaded, by_cursor, small;
    uint64_t mask = lull_random_u64(random) & LULL_MASK_ALL;
    mask |= LULL_MASK(LULL_EVENT_CALL);
    assert_int_equal(collect_by_scan(tape, 0, 1, arena, &scan, &err), LULL_OK);
    assert_int_equal(collect_by_scan(tape, mask, 1, arena, &masked, &err), LULL_OK);
    assert_int_equal(collect_by_scan(tape, 0, 4, arena, &threaded, &err), LULL_OK);
    for (uint32_t l = 0; l < tape->n_locations; l++) {
        assert_int_equal(collect_by_cursor(tape, l, 0, arena, &by_cursor, &err), LULL_OK);
        require(scan[l].count == by_cursor.count, seed, "cursor and scan differ in number");
        require(same_sequences(&scan[l], &by_cursor, NULL, &err), seed, "cursor and scan");
        require(same_sequences(&scan[l], &threaded[l], NULL, &err), seed, "workers");
        small = read_in_small_pieces(tape, l, LULL_MASK_ALL, arena);
        require(same_sequences(&scan[l], &small, NULL, &err), seed, "small reads");
        check_mask(&scan[l], &masked[l], mask, seed);
        for (size_t i = 0; i < scan[l].count; i++)
            branch_reach(&branches[scan[l].events[i].kind], true);
    }
    lull_arena_destroy(arena);
}

/* Two of three drawn traces say how much memory processes had, and leave out some of these processes. */
static void draw_memory(struct lull_trace *trace, uint64_t seed)
{
    struct lull_random random;
    lull_random_seed(&random, ~seed);
    for (uint32_t p = 0; seed % 3 > 0 && p < trace->n_processes; p++)
        if (lull_random_below(&random, 4) > 0)
            trace->processes[p].memory =
                (struct lull_process_memory){.peak = 1 + (lull_random_u64(&random) >> 2),
                                             .resident = lull_random_u64(&random) >> 1,
                                             .swapped = lull_random_u64(&random) >> 1,
                                             .node = lull_random_u64(&random) >> 1,
                                             .limit = lull_random_u64(&random) >> 1,
                                             .group = lull_random_u64(&random) >> 1};
}

/* So many of their readings, at times that ascend. */
static void draw_readings(struct lull_trace *trace, uint64_t seed)
{
    struct lull_random random;
    lull_random_seed(&random, ~seed + 1);
    for (uint32_t p = 0; seed % 3 > 0 && p < trace->n_processes; p++) {
        struct lull_process *process = &trace->processes[p];
        const uint32_t most = (uint32_t)lull_random_below(&random, 200);
        int64_t time = -1;
        process->readings = lull_arena_zero(trace->arena, most + 1, sizeof *process->readings);
        process->n_readings = 0;
        while (process->n_readings < most && time < trace->duration) {
            time += 1 + (int64_t)lull_random_below(&random, (uint64_t)(trace->duration - time));
            process->readings[process->n_readings++] =
                (struct lull_memory_reading){time, 1 + (lull_random_u64(&random) >> 2)};
        }
    }
}

static void test_write_then_read(void **state)
{
    (void)state;
    uint64_t first = lull_test_seed();
    const unsigned rounds = lull_test_rounds(ROUNDS);
    folder_make();
    for (unsigned k = 0; k < LULL_EVENT_KINDS; k++)
        branches[k] = (struct branch){.what = lull_event_kind_name(k), .least = 200};
    /* What random traces do not have; unit/trace/test_tape_samples.c has SAMPLEs. */
    branches[LULL_EVENT_SAMPLE].what = NULL;
    branches[LULL_EVENT_REQUEST_FREED].what = NULL;
    branches[LULL_EVENT_THREAD_CREATE].what = NULL;
    branches[LULL_EVENT_THREAD_WAIT_BEGIN].what = NULL;
    branches[LULL_EVENT_THREAD_WAIT_END].what = NULL;
    for (uint64_t seed = first; seed - first < rounds; seed++) {
        struct lull_random random;
        lull_random_seed(&random, seed);
        struct memory_trace_options options = {
            .events = seed % 10 == 0 ? 10000 : (uint32_t)lull_random_below(&random, 1500) + 1,
            .operations = true};
        struct lull_trace *made = memory_trace_draw(&random, &options), *tape;
        draw_memory(made, seed);
        draw_readings(made, seed);
        const char *path = folder_path("run");
        require(lull_convert(made, path, lull_format_find("tape"), true, NULL, NULL, &err) ==
                    LULL_OK,
                seed, "write");
        require(lull_trace_open(path, &tape, &err) == LULL_OK, seed, "open");
        require(same_definitions(made, tape, 0, &err), seed, "definitions");
        require(same_events(made, tape, NULL, &err), seed, "events");
        check_ways_to_read(tape, &random, seed);
        struct lull_quirk *quirks;
        require(lull_trace_quirks(tape, tape->arena, &quirks) == 0, seed, "quirks of a valid tape");
        lull_trace_close(tape);
        lull_trace_close(made);
        branches_next(branches, LULL_EVENT_KINDS);
    }
    folder_remove();
    branches_assert(branches, LULL_EVENT_KINDS, rounds);
}

TEST_GROUP(test_tape)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_write_then_read)};
    return run_cases(tests, NULL, NULL);
}
