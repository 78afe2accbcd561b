/* Where useful time was spent in random traces with samples: against a slow sum over all samples of a
 * thread, whatever the windows and the number of workers; and the tables add up. */
#include "metrics/code_table.h"
#include "support/branches.h"
#include "support/memory_trace.h"
#include "support/random_windows.h"
#include "support/seed.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 7 };
enum { CUT, SEVERAL, UNSAMPLED, SHARED, BRANCHES };
static struct branch branches[BRANCHES] = {
    [CUT] = {.what = "samples lie outside of the windows", .least = 200},
    [SEVERAL] = {.what = "a thread has several places", .least = 500},
    [UNSAMPLED] = {.what = "a thread that computes has no sample", .least = 100},
    [SHARED] = {.what = "a place has several samples", .least = 300},
};

static void assert_near(double a, double b, double tolerance)
{
    fail_if(!(fabs(a - b) <= tolerance), "%.17g is not %.17g", a, b);
}

/* From one pass, with the breakdown. */
static struct lull_code_times collect_code(const struct lull_trace *trace,
                                           const struct lull_reading *reading,
                                           struct lull_arena *arena,
                                           struct lull_breakdown **ret_breakdown)
{
    const struct lull_breakdown_options options = {.reading = reading, .regions = true};
    struct lull_pass_options pass = {.reading = reading};
    const unsigned workers = lull_pass_workers(trace, &pass);
    struct lull_collector *times;
    struct lull_code_collector *collector;
    struct lull_code_times code;
    struct lull_error err = {""};
    assert_int_equal(lull_code_create(trace, reading, workers, BINS, &collector, &err), LULL_OK);
    assert_int_equal(lull_collector_create(trace, &options, workers, &times, &err), LULL_OK);
    lull_collector_prepare(times, &pass);
    const struct lull_consumer consumers[] = {lull_code_consumer(collector),
                                              lull_collector_consumer(times)};
    assert_int_equal(lull_pass_run(trace, &pass, consumers, 2, &err), LULL_OK);
    assert_int_equal(lull_collector_result(times, arena, ret_breakdown, &err), LULL_OK);
    lull_collector_destroy(times);
    assert_int_equal(lull_code_conclude(collector, false, 2, arena, &code, &err), LULL_OK);
    lull_code_destroy(collector);
    return code;
}

/* All samples of a thread that count, one by one. */
struct heap {
    struct lull_step *samples;
    size_t count, capacity;
    int64_t useful;
    bool cut;
};

static struct heap heap_up(const struct lull_trace *trace, uint32_t location,
                           const struct lull_reading *reading)
{
    const struct lull_pass_options options = {.reading = reading};
    struct lull_step_cursor *cursor;
    struct lull_steps steps;
    struct lull_error err;
    struct heap heap = {0};
    assert_int_equal(
        lull_step_cursor_open(trace, location,
                              LULL_STEP_MASK(LULL_STEP_SAMPLE) | LULL_STEP_MASK(LULL_STEP_SPAN),
                              &options, &cursor, &err),
        LULL_OK);
    do {
        assert_int_equal(lull_step_cursor_next(cursor, &steps, &err), LULL_OK);
        for (uint32_t i = 0; i < steps.count; i++) {
            const struct lull_step *step = &steps.steps[i];
            if (step->kind == LULL_STEP_SPAN && step->activity == LULL_USEFUL)
                heap.useful += step->span.end - step->time;
            if (step->kind != LULL_STEP_SAMPLE)
                continue;
            heap.cut |= step->activity == LULL_ACTIVITY_OUTSIDE;
            if (step->activity != LULL_USEFUL || step->sample.weight == 0)
                continue;
            if (heap.count == heap.capacity) {
                heap.capacity = 2 * heap.capacity + 16;
                heap.samples = realloc(heap.samples, heap.capacity * sizeof *heap.samples);
                assert_non_null(heap.samples);
            }
            heap.samples[heap.count++] = *step;
        }
    } while (steps.count > 0);
    lull_step_cursor_close(cursor);
    return heap;
}

/* The parts of a thread are the sums of weights of the heap, in proportion, to a ns, and add up. */
static void check_thread(const struct lull_code_times *code, const struct lull_code_thread *thread,
                         const struct heap *heap)
{
    unsigned __int128 all = 0, found = 0;
    int64_t sum = 0;
    double squares = 0;
    assert_int_equal(thread->useful_ns, heap->useful);
    for (size_t i = 0; i < heap->count; i++) {
        all += heap->samples[i].sample.weight;
        squares += (double)heap->samples[i].sample.weight * (double)heap->samples[i].sample.weight;
    }
    branch_reach(&branches[UNSAMPLED], heap->count == 0 && heap->useful > 0);
    branch_reach(&branches[SEVERAL], thread->n_parts > 1);
    branch_reach(&branches[SHARED], thread->n_parts < heap->count);
    assert_int_equal(thread->n_parts == 0, heap->count == 0);
    if (heap->count == 0)
        return;
    assert_near(thread->effective, (double)all * (double)all / squares, 1e-9 * (double)heap->count);
    for (uint32_t i = 0; i < thread->n_parts; i++) {
        const struct lull_code_place *place = &code->places[thread->parts[i].place];
        uint64_t weight = 0;
        for (size_t k = 0; k < heap->count; k++)
            if (heap->samples[k].object == place->object &&
                heap->samples[k].sample.offset == place->offset)
                weight += heap->samples[k].sample.weight;
        assert_true(weight > 0);
        assert_true(i == 0 || thread->parts[i - 1].place < thread->parts[i].place);
        found += weight;
        sum += thread->parts[i].ns;
        const int64_t exact = (int64_t)((unsigned __int128)heap->useful * weight / all);
        assert_in_range(thread->parts[i].ns + 2 - exact, 0, 4);
    }
    assert_true(found == all);
    assert_int_equal(sum, heap->useful);
}

/* The weights of each place and bin are those of the samples of all threads whose time lies in the bin. */
static void check_bins(const struct lull_code_times *code, const struct heap *heaps, uint32_t n)
{
    const int64_t length = code->end - code->begin;
    assert_int_equal(code->bins, BINS);
    for (uint32_t i = 0; i < code->n_places; i++)
        for (uint32_t b = 0; b < BINS; b++) {
            const int64_t begin = code->begin + (int64_t)((__int128)length * b / BINS);
            const int64_t end = code->begin + (int64_t)((__int128)length * (b + 1) / BINS);
            uint64_t sum = 0;
            for (uint32_t l = 0; l < n; l++)
                for (size_t k = 0; k < heaps[l].count; k++) {
                    const struct lull_step *step = &heaps[l].samples[k];
                    const bool inside =
                        (step->time >= begin || b == 0) && (step->time < end || b == BINS - 1);
                    if (inside && step->object == code->places[i].object &&
                        step->sample.offset == code->places[i].offset)
                        sum += step->sample.weight;
                }
            assert_int_equal(code->weights[(size_t)i * BINS + b], sum);
        }
}

static void check_level(const struct lull_trace *trace, const struct lull_reading *reading,
                        const struct lull_code_times *code, const struct lull_breakdown *breakdown,
                        enum lull_code_level level, struct lull_arena *arena)
{
    struct lull_code_table table;
    struct lull_error err = {""};
    int64_t sum = 0, useful = 0;
    assert_int_equal(
        lull_code_table_make(code, trace, reading, breakdown, NULL, level, arena, &table, &err),
        LULL_OK);
    for (uint32_t i = 0; i < breakdown->n_threads; i++)
        if (breakdown->threads[i].kind == LULL_LOCATION_THREAD)
            useful += breakdown->threads[i].times.ns[LULL_USEFUL][0] +
                      breakdown->threads[i].times.ns[LULL_USEFUL][1];
    for (uint32_t i = 0; i < table.n_rows; i++) {
        const struct lull_code_row *row = &table.rows[i];
        sum += row->useful_ns;
        assert_true(i == 0 || table.rows[i - 1].useful_ns >= row->useful_ns);
        assert_true(row->min_ns <= row->median_ns && row->median_ns <= row->max_ns);
        assert_true(row->max_ns <= row->useful_ns);
        assert_true(0 <= row->low && row->low <= row->share && row->share <= row->high &&
                    row->high <= 1);
    }
    assert_int_equal(table.useful_ns, useful);
    assert_int_equal(sum + table.unsampled_ns, useful);
}

/* Samples that are drawn lie anywhere in 40 bits; now several are at one place. */
static void meet_at_few_places(struct lull_trace *trace)
{
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        uint32_t n;
        struct lull_event *events =
            (struct lull_event *)(uintptr_t)memory_trace_events(trace, l, &n);
        for (uint32_t i = 0; i < n; i++)
            if (events[i].kind == LULL_EVENT_SAMPLE)
                events[i].sample.offset &= 3;
    }
}

static void check_one(struct lull_random *random, unsigned round)
{
    /* The first event of a location is the begin of its life, and counters are not always read. */
    const struct memory_trace_options options = {.without = LULL_MASK(LULL_EVENT_COUNTERS),
                                                 .without_states = round & 1,
                                                 .without_extremes = true,
                                                 .samples = true};
    struct lull_trace *trace = memory_trace_draw(random, &options);
    meet_at_few_places(trace);
    struct lull_arena *arena = lull_arena_create(NULL);
    const struct lull_windows *windows = round & 2 ? random_windows_draw(random, trace) : NULL;
    const struct lull_reading alone = {.windows = windows, .workers = 1};
    const struct lull_reading shared = {.windows = windows, .workers = 2 + round % 3};
    struct lull_breakdown *breakdown, *other;
    const struct lull_code_times code = collect_code(trace, &alone, arena, &breakdown);
    const struct lull_code_times again = collect_code(trace, &shared, arena, &other);
    struct heap *heaps = calloc(trace->n_locations + (size_t)1, sizeof *heaps);
    assert_non_null(heaps);
    assert_int_equal(code.n_places, again.n_places);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct lull_process *process = &trace->processes[trace->locations[l].process];
        if (process->application != 0 || trace->locations[l].kind != LULL_LOCATION_THREAD) {
            assert_int_equal(code.threads[l].n_parts, 0);
            continue;
        }
        heaps[l] = heap_up(trace, l, &alone);
        branch_reach(&branches[CUT], heaps[l].cut);
        check_thread(&code, &code.threads[l], &heaps[l]);
        assert_int_equal(code.threads[l].n_parts, again.threads[l].n_parts);
        for (uint32_t i = 0; i < code.threads[l].n_parts; i++) {
            assert_int_equal(code.threads[l].parts[i].place, again.threads[l].parts[i].place);
            assert_int_equal(code.threads[l].parts[i].ns, again.threads[l].parts[i].ns);
        }
        assert_memory_equal(&code.threads[l].effective, &again.threads[l].effective,
                            sizeof code.threads[l].effective);
    }
    check_bins(&code, heaps, trace->n_locations);
    for (size_t i = 0; i < (size_t)code.n_places * BINS; i++)
        assert_int_equal(code.weights[i], again.weights[i]);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        free(heaps[l].samples);
    free(heaps);
    for (unsigned level = LULL_CODE_BY_FUNCTION; level <= LULL_CODE_BY_LOOP; level++)
        check_level(trace, &alone, &code, breakdown, level, arena);
    lull_arena_destroy(arena);
    lull_trace_close(trace);
}

static void test_random_samples(void **state)
{
    struct lull_random random;
    const unsigned rounds = lull_test_rounds(200);
    (void)state;
    lull_random_seed(&random, lull_test_seed());
    for (unsigned i = 0; i < rounds; i++) {
        check_one(&random, i);
        branches_next(branches, BRANCHES);
    }
    branches_assert(branches, BRANCHES, rounds);
}

TEST_GROUP(test_code)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_samples)};
    return run_cases(tests, NULL, NULL);
}
