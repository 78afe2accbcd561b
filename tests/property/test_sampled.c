/* Samples of random traces by place and circumstance, against a slow reference that goes over all steps
 * of a location for each sample: by any number of workers, with and without windows, and in teams. */
#include "diagnose/work.h"
#include "support/branches.h"
#include "support/drawn_team.h"
#include "support/memory_trace.h"
#include "support/random_windows.h"
#include "support/seed.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRACES = 300, DEEPEST = 24 };

enum { USEFUL, IN_REGION, DEEP, AT_END, BEFORE_CALL, PARALLEL, LOCKED, OTHER_THREAD, BRANCHES };
static struct branch branches[BRANCHES] = {
    [USEFUL] = {.what = "samples are useful", .least = 500},
    [IN_REGION] = {.what = "a region of the user is open", .least = 300},
    [DEEP] = {.what = "three regions of the user are open", .least = 100},
    [AT_END] = {.what = "no call ends the burst", .least = 100},
    [BEFORE_CALL] = {.what = "a call ends the burst", .least = 100},
    [PARALLEL] = {.what = "samples are in parallel regions", .least = 100},
    [LOCKED] = {.what = "samples are in critical or ordered sections", .least = 50},
    [OTHER_THREAD] = {.what = "samples are of other threads than the first", .least = 100},
};

/* Samples that are alike, with all open regions of the user written out. */
struct row {
    uint32_t location, depth, call, parallel, locked, object;
    uint32_t regions[DEEPEST]; /* the outermost first; of deeper stacks the first ones */
    uint64_t offset, count, weight;
};

struct rows {
    struct row *items;
    size_t count, capacity;
};

static int compare_rows(const void *a, const void *b)
{
    return memcmp(a, b, offsetof(struct row, count));
}

static void add_row(struct rows *rows, const struct row *row)
{
    if (rows->count == rows->capacity) {
        rows->capacity = 2 * rows->capacity + 16;
        rows->items = realloc(rows->items, rows->capacity * sizeof *rows->items);
        assert_non_null(rows->items);
    }
    rows->items[rows->count++] = *row;
}

/* Sorts rows, and makes one of those that are alike. */
static void join_rows(struct rows *rows)
{
    size_t n = 0;
    if (rows->count > 0)
        qsort(rows->items, rows->count, sizeof *rows->items, compare_rows);
    for (size_t i = 0; i < rows->count; i++)
        if (n > 0 && compare_rows(&rows->items[n - 1], &rows->items[i]) == 0) {
            rows->items[n - 1].count += rows->items[i].count;
            rows->items[n - 1].weight += rows->items[i].weight;
        } else {
            rows->items[n++] = rows->items[i];
        }
    rows->count = n;
}

/* ---- slowly ---------------------------------------------------------------------------------- */

struct history {
    struct lull_step *steps;
    size_t count, capacity;
};

static lull_status keep_steps(void *context, unsigned worker, const struct lull_steps *steps,
                              struct lull_error *err)
{
    struct history *history = (struct history *)context + steps->location;
    (void)worker, (void)err;
    for (uint32_t i = 0; i < steps->count; i++) {
        if (history->count == history->capacity) {
            history->capacity = 2 * history->capacity + 16;
            history->steps = realloc(history->steps, history->capacity * sizeof *history->steps);
            assert_non_null(history->steps);
        }
        history->steps[history->count++] = steps->steps[i];
    }
    return LULL_OK;
}

/* The call that ends the burst in which a step is: the first time in MPI behind it, or the first
 * message or operation. */
static uint32_t call_behind(const struct history *history, size_t at)
{
    for (; at < history->count; at++) {
        const struct lull_step *step = &history->steps[at];
        const bool in_mpi = step->kind == LULL_STEP_SPAN && step->activity >= LULL_MPI_P2P &&
                            step->activity <= LULL_MPI_OTHER;
        if (in_mpi || step->kind == LULL_STEP_SEND || step->kind == LULL_STEP_RECV ||
            step->kind == LULL_STEP_COLLECTIVE_END)
            return step->region;
    }
    return LULL_NONE;
}

static void set_regions(const struct history *history, size_t at, struct row *row)
{
    uint32_t open[1024], depth = 0;
    for (size_t i = 0; i < at; i++) {
        const struct lull_step *step = &history->steps[i];
        if (step->kind != LULL_STEP_USER)
            continue;
        if (step->op == LULL_USER_ENTERED) {
            assert_true(depth < 1024);
            open[depth++] = step->region;
        } else if (depth > 0) {
            depth--;
        }
    }
    row->depth = depth;
    memcpy(row->regions, open, (depth < DEEPEST ? depth : DEEPEST) * sizeof *open);
}

static uint32_t parallel_around(const struct history *history, size_t at)
{
    while (at-- > 0)
        if (history->steps[at].kind == LULL_STEP_FORK)
            return history->steps[at].region == LULL_NONE ? LULL_SAMPLES_UNNAMED
                                                          : history->steps[at].region;
    return LULL_SAMPLES_UNNAMED;
}

static void reach_row(const struct row *row, bool first)
{
    branch_reach(&branches[USEFUL], true);
    branch_reach(&branches[IN_REGION], row->depth > 0);
    branch_reach(&branches[DEEP], row->depth > 2);
    branch_reach(&branches[AT_END], first && row->call == LULL_NONE);
    branch_reach(&branches[BEFORE_CALL], row->call != LULL_NONE);
    branch_reach(&branches[PARALLEL], row->parallel != LULL_NONE);
    branch_reach(&branches[LOCKED], row->locked);
    branch_reach(&branches[OTHER_THREAD], !first);
}

static struct rows rows_slowly(const struct lull_trace *trace, const struct lull_windows *windows)
{
    const struct lull_reading reading = {
        .application = LULL_NONE, .windows = windows, .workers = 1};
    const struct lull_pass_options options = {.reading = &reading};
    struct history *histories = calloc(trace->n_locations + (size_t)1, sizeof *histories);
    struct lull_work_collector *collector;
    struct rows rows = {0};
    assert_non_null(histories);
    /* Steps of one moment come in an order that depends on which kinds are wanted. */
    assert_int_equal(lull_work_create(trace, 1, &collector, NULL), LULL_OK);
    const struct lull_consumer consumer = {
        .context = histories, .wants = lull_work_consumer(collector).wants, .steps = keep_steps};
    lull_work_destroy(collector);
    assert_int_equal(lull_pass_run(trace, &options, &consumer, 1, NULL), LULL_OK);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct history *history = &histories[l];
        const bool first = trace->processes[trace->locations[l].process].first_location == l;
        for (size_t i = 0; i < history->count; i++) {
            const struct lull_step *step = &history->steps[i];
            if (step->kind != LULL_STEP_SAMPLE || step->activity != LULL_USEFUL ||
                step->sample.weight == 0)
                continue;
            struct row row = {.location = l,
                              .call = first ? call_behind(history, i) : LULL_NONE,
                              .parallel = step->parallel ? parallel_around(history, i) : LULL_NONE,
                              .locked = step->sample.locked,
                              .object = step->object,
                              .offset = step->sample.offset,
                              .count = 1,
                              .weight = step->sample.weight};
            if (first)
                set_regions(history, i, &row);
            reach_row(&row, first);
            add_row(&rows, &row);
        }
        free(histories[l].steps);
    }
    free(histories);
    join_rows(&rows);
    return rows;
}

/* ---- by the collector ------------------------------------------------------------------------ */

static void set_path(const struct lull_work *work, uint32_t process, uint32_t path, struct row *row)
{
    uint32_t stack[1024], depth = 0;
    uint32_t at = lull_work_first_path(work, process) + path;
    if (at >= work->n_paths || work->paths[at].process != process)
        return;
    for (; work->paths[at].region != LULL_NONE; at = work->paths[at].outer) {
        assert_true(depth < 1024);
        stack[depth++] = work->paths[at].region;
    }
    row->depth = depth;
    for (uint32_t i = 0; i < depth && i < DEEPEST; i++)
        row->regions[i] = stack[depth - 1 - i];
}

static struct rows rows_of_work(const struct lull_trace *trace, const struct lull_work *work)
{
    struct rows rows = {0};
    for (uint32_t l = 0; l < trace->n_locations && work->sampled; l++) {
        const struct lull_samples *thread = &work->sampled->threads[l];
        const uint32_t process = trace->locations[l].process;
        uint64_t weight = 0;
        for (uint32_t i = 0; i < thread->n_items; i++) {
            const struct lull_samples_item *item = &thread->items[i];
            struct row row = {.location = l,
                              .call = item->context.call,
                              .parallel = item->context.parallel,
                              .locked = item->context.locked,
                              .object = item->object,
                              .offset = item->offset,
                              .count = item->count,
                              .weight = item->weight};
            if (trace->processes[process].first_location == l)
                set_path(work, process, item->context.path, &row);
            weight += item->weight;
            add_row(&rows, &row);
        }
        assert_int_equal(weight, thread->weight);
    }
    join_rows(&rows);
    return rows;
}

static bool put_work(void *context, struct lull_flow *flow)
{
    return lull_work_put(context, flow);
}

static bool get_work(void *context, uint32_t member, struct lull_flow *flow)
{
    (void)member;
    return lull_work_get(context, flow);
}

/* In a team the result is that of the first member. */
static struct rows rows_by_pass(const struct lull_trace *trace, const struct lull_reading *reading,
                                unsigned workers)
{
    const struct lull_pass_options options = {.reading = reading};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_work_collector *collector;
    struct lull_work work;
    assert_int_equal(lull_work_create(trace, workers, &collector, NULL), LULL_OK);
    const struct lull_consumer consumer = lull_work_consumer(collector);
    assert_int_equal(lull_pass_run(trace, &options, &consumer, 1, NULL), LULL_OK);
    const struct lull_freight freight = {put_work, get_work, collector, "work"};
    if (reading->division)
        assert_int_equal(lull_team_bring(reading->division->team, &freight, NULL), LULL_OK);
    lull_work_conclude(collector, arena, &work);
    lull_work_destroy(collector);
    struct rows rows = rows_of_work(trace, &work);
    lull_arena_destroy(arena);
    return rows;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool are_same(const struct rows *a, const struct rows *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++)
        same = memcmp(&a->items[i], &b->items[i], sizeof a->items[i]) == 0;
    return same;
}

static struct lull_trace *draw_trace(struct lull_random *random, uint64_t number)
{
    const struct memory_trace_options options = {
        .without_states = number & 1, .without_extremes = true, .samples = true};
    return memory_trace_draw(random, &options);
}

static void adds_up_by_hand(void **state)
{
    struct lull_random random;
    (void)state;
    lull_random_seed(&random, lull_test_seed());
    const unsigned rounds = lull_test_rounds(TRACES);
    for (unsigned i = 0; i < rounds; i++) {
        struct lull_trace *trace = draw_trace(&random, i);
        const struct lull_windows *windows = i & 2 ? random_windows_draw(&random, trace) : NULL;
        const struct lull_reading reading = {
            .application = LULL_NONE, .windows = windows, .workers = 1 + i % 4};
        struct rows slow = rows_slowly(trace, windows);
        struct rows rows = rows_by_pass(trace, &reading, 1 + i % 4);
        fail_if(!are_same(&slow, &rows), "trace %u: %zu kinds of samples, by hand %zu", i,
                rows.count, slow.count);
        free(slow.items);
        free(rows.items);
        lull_trace_close(trace);
        branches_next(branches, BRANCHES);
    }
    branches_assert(branches, BRANCHES, rounds);
}

/* 0 where the first of a team finds what one does. */
static int drawn_trace_differs(uint64_t seed)
{
    struct lull_random random;
    lull_random_seed(&random, seed);
    struct lull_trace *trace = draw_trace(&random, seed);
    struct lull_reading reading = {.application = LULL_NONE, .workers = 1};
    struct rows alone = rows_by_pass(trace, &reading, 1);
    struct lull_team *team = drawn_team_open(&random, seed, 2);
    const struct lull_division *division =
        drawn_team_divide(team, trace->n_processes, &random, trace->arena);
    const uint32_t member = lull_team_index(team);
    int wrong = 0;
    reading.division = division;
    reading.range = (struct lull_process_range){division->cuts[member], division->cuts[member + 1]};
    if (reading.range.first == reading.range.end) {
        /* nothing to read: as a member whose share is empty */
        reading.range = (struct lull_process_range){trace->n_processes, trace->n_processes};
    }
    struct rows rows = rows_by_pass(trace, &reading, 1);
    if (lull_team_is_first(team)) {
        if (alone.count > 0)
            drawn_team_reach(0);
        wrong = !are_same(&alone, &rows);
        if (wrong)
            fprintf(stderr, "seed %lu: %zu kinds of samples, alone %zu\n", seed, rows.count,
                    alone.count);
    }
    free(alone.items);
    free(rows.items);
    lull_trace_close(trace);
    return lull_team_end(team) ? wrong : 3;
}

static void teams_find_what_one_finds(void **state)
{
    (void)state;
    const unsigned count = drawn_teams_run(drawn_trace_differs);
    assert_reached("there are samples", drawn_teams_reached(0), count / 4, count);
}

TEST_GROUP(test_sampled)
{
    /* Teams while there is little to fork. */
    const struct CMUnitTest tests[] = {cmocka_unit_test(teams_find_what_one_finds),
                                       cmocka_unit_test(adds_up_by_hand)};
    return run_cases(tests, NULL, NULL);
}
