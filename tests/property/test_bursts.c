/* Bursts of random traces: those that a pass tells are those of the program, and together they are
 * the time that is kept. */
#include "replay/program/bursts.h"
#include "replay/program/items.h"
#include "replay/survey.h"
#include "support/branches.h"
#include "support/memory_trace.h"
#include "support/seed.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

enum { USABLE, BURSTS, PIECES, MARKED, FIXED, BRANCHES };
static struct branch branches[BRANCHES] = {
    [USABLE] = {.what = "clocks agree", .least = 300},
    [BURSTS] = {.what = "there are bursts", .least = 300},
    [PIECES] = {.what = "a burst is in several pieces", .least = 300},
    [MARKED] = {.what = "a burst is in a marked region", .least = 300},
    [FIXED] = {.what = "the length of a burst is fixed", .least = 300},
};

struct list {
    struct lull_replay_burst *bursts;
    size_t count, capacity;
};

struct lists {
    struct list *streams;
    uint32_t n_streams;
};

static void append(struct list *list, const struct lull_replay_burst *burst)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        list->bursts = realloc(list->bursts, list->capacity * sizeof *list->bursts);
        assert_non_null(list->bursts);
    }
    list->bursts[list->count++] = *burst;
}

static bool take_burst(void *context, const struct lull_replay_burst *burst)
{
    struct lists *lists = context;
    assert_true(burst->stream < lists->n_streams);
    append(&lists->streams[burst->stream], burst);
    return true;
}

static int64_t take_length(void *context, const struct lull_replay_burst *burst)
{
    take_burst(context, burst);
    return burst->ns;
}

static struct lists make_lists(const struct lull_trace *trace)
{
    struct lists lists = {calloc(trace->n_locations + (size_t)1, sizeof(struct list)),
                          trace->n_locations};
    assert_non_null(lists.streams);
    return lists;
}

static void free_lists(struct lists *lists)
{
    for (uint32_t s = 0; s < lists->n_streams; s++)
        free(lists->streams[s].bursts);
    free(lists->streams);
}

static struct lists by_pass(const struct lull_trace *trace, bool pieces, const uint8_t *marks,
                            unsigned workers)
{
    struct lists lists = make_lists(trace);
    struct lull_bursts *bursts;
    struct lull_error err;
    const struct lull_bursts_options options = {
        .pieces = pieces, .take = take_burst, .context = &lists};
    const struct lull_pass_options pass = {
        .reading = &(const struct lull_reading){.application = LULL_NONE, .workers = workers},
        .marks = marks};
    fail_if(lull_bursts_create(trace, &options, &bursts, &err) != LULL_OK, "%s", err.text);
    const struct lull_consumer consumer = lull_bursts_consumer(bursts);
    fail_if(lull_pass_run(trace, &pass, &consumer, 1, &err) != LULL_OK, "%s", err.text);
    lull_bursts_destroy(bursts);
    return lists;
}

static struct lists by_program(const struct lull_trace *trace, bool pieces, const uint8_t *marks)
{
    struct lists lists = make_lists(trace);
    struct lull_program *program;
    struct lull_error err;
    struct lull_op ops[32];
    const struct lull_replay_options options = {
        .pieces = pieces, .marks = marks, .length = take_length, .context = &lists};
    fail_if(lull_replay_open(trace, &options, &program, &err) != LULL_OK, "%s", err.text);
    for (uint32_t s = 0; s < program->n_streams; s++)
        for (uint32_t count = 1; count > 0;)
            fail_if(program->class->next(program, s, ops, 32, &count, &err) != LULL_OK, "%s",
                    err.text);
    lull_program_close(program);
    return lists;
}

static void check_same(const struct lists *a, const struct lists *b)
{
    for (uint32_t s = 0; s < a->n_streams; s++) {
        assert_int_equal(a->streams[s].count, b->streams[s].count);
        for (size_t i = 0; i < a->streams[s].count; i++) {
            const struct lull_replay_burst *x = &a->streams[s].bursts[i];
            const struct lull_replay_burst *y = &b->streams[s].bursts[i];
            assert_true(x->region == y->region && x->mark == y->mark && x->fixed == y->fixed &&
                        x->phase == y->phase && x->ordinal == y->ordinal &&
                        x->location == y->location && x->execution == y->execution &&
                        x->begin == y->begin && x->end == y->end && x->ns == y->ns);
            branch_reach(&branches[BURSTS], x->ns > 0);
            branch_reach(&branches[MARKED], x->mark > 0);
            branch_reach(&branches[FIXED], x->fixed);
        }
    }
}

/* The time that a master has kept: the sum of its spans in which the kept time grows. */
static int64_t kept_of(const struct lull_trace *trace, uint32_t location)
{
    struct lull_step_cursor *cursor;
    struct lull_steps steps;
    struct lull_error err;
    int64_t kept = 0, before = 0;
    const struct lull_pass_options options = {
        .reading = &(const struct lull_reading){.application = LULL_NONE}};
    fail_if(lull_step_cursor_open(trace, location, LULL_STEP_MASK(LULL_STEP_SPAN), &options,
                                  &cursor, &err) != LULL_OK,
            "%s", err.text);
    do {
        fail_if(lull_step_cursor_next(cursor, &steps, &err) != LULL_OK, "%s", err.text);
        for (uint32_t i = 0; i < steps.count; i++) {
            const struct lull_step *step = &steps.steps[i];
            kept += step->kept_ns > before ? step->span.end - step->time : 0;
            before = step->kept_ns;
        }
    } while (steps.count > 0);
    lull_step_cursor_close(cursor);
    return kept;
}

/* Pieces and merged bursts are the same time. */
static void check_sums(const struct lull_trace *trace, const struct lists *lists)
{
    uint32_t stream = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct lull_process *process = &trace->processes[p];
        int64_t sum = 0;
        if (process->application != 0 || process->n_threads == 0)
            continue;
        for (size_t i = 0; i < lists->streams[stream].count; i++)
            sum += lists->streams[stream].bursts[i].ns;
        assert_int_equal(sum, kept_of(trace, process->first_location));
        stream++;
    }
}

/* A trace whose clocks contradict each other is for lull_what_if_conclude to notice. */
static bool has_shifts(const struct lull_trace *trace)
{
    struct lull_survey *survey;
    struct lull_error err;
    bool any = false;
    fail_if(lull_survey_take(trace, 0, false, &survey, &err) != LULL_OK, "%s", err.text);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        any |= lull_survey_shift(survey, p) != 0;
    lull_survey_destroy(survey);
    return any;
}

static void check_trace(struct lull_random *random, unsigned round)
{
    struct lull_trace *trace = memory_trace_draw(random, NULL);
    uint8_t *marks = calloc(trace->n_regions + (size_t)1, 1);
    assert_non_null(marks);
    for (uint32_t r = 0; r < trace->n_regions; r++)
        marks[r] = lull_random_below(random, 8) ? 0 : (uint8_t)(1 + lull_random_below(random, 3));
    bool usable = !has_shifts(trace);
    size_t counts[2] = {0};
    branch_reach(&branches[USABLE], usable);
    for (int pieces = 0; pieces < 2 && usable; pieces++) {
        struct lists ridden = by_pass(trace, pieces, marks, 1 + round % 3);
        struct lists pulled = by_program(trace, pieces, marks);
        check_same(&ridden, &pulled);
        check_sums(trace, &ridden);
        for (uint32_t s = 0; s < ridden.n_streams; s++)
            counts[pieces] += ridden.streams[s].count;
        free_lists(&ridden);
        free_lists(&pulled);
    }
    branch_reach(&branches[PIECES], counts[1] > counts[0]);
    free(marks);
    lull_trace_close(trace);
}

static void test_random_traces(void **state)
{
    (void)state;
    struct lull_random random;
    const unsigned rounds = lull_test_rounds(100);
    lull_random_seed(&random, lull_test_seed());
    for (unsigned i = 0; i < rounds; i++) {
        check_trace(&random, i);
        branches_next(branches, BRANCHES);
    }
    branches_assert(branches, BRANCHES, rounds);
}

TEST_GROUP(test_bursts)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_traces)};
    return run_cases(tests, NULL, NULL);
}
