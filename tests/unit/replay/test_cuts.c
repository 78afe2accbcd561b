/* What a process computes, cut to the median of its peers: worked out by hand, in ns. */
#include "replay/what_if/what_if.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <stddef.h>
#include <string.h>

enum { ALLREDUCE, CALL, SOLVE, PROCESSES = 4, MOST = 16, DURATION = 10000 };
static const char *const names[] = {"MPI_Allreduce", "MPI_Comm_rank", "solve", NULL};
enum { TOGETHER = -1, APART = -2, ENTER = -3, LEAVE = -4 };

/* What a process does: positive numbers compute for so long; TOGETHER is an allreduce, APART a call
 * that is nothing to others, ENTER and LEAVE solve. Calls take 10, the end is at DURATION. */
static void add_process(struct lull_trace *trace, uint32_t process, const int *parts)
{
    int64_t now = 0;
    for (; *parts; parts++) {
        if (*parts > 0) {
            now += *parts;
            continue;
        }
        if (*parts == ENTER || *parts == LEAVE) {
            const struct lull_event event =
                memory_event(now, *parts == ENTER ? LULL_EVENT_ENTER : LULL_EVENT_LEAVE, SOLVE);
            memory_trace_add(trace, process, &event);
            continue;
        }
        const uint32_t region = *parts == TOGETHER ? ALLREDUCE : CALL;
        struct lull_event events[] = {memory_event(now, LULL_EVENT_ENTER, region),
                                      memory_event(now + 10, LULL_EVENT_COLLECTIVE_END, 0),
                                      memory_event(now + 10, LULL_EVENT_LEAVE, region)};
        events[1].op = LULL_COLLECTIVE_ALLREDUCE;
        events[1].collective.request = LULL_NO_REQUEST;
        events[1].collective.root = LULL_ANY;
        for (int i = 0; i < 3; i++)
            if (i != 1 || region == ALLREDUCE)
                memory_trace_add(trace, process, &events[i]);
        now += 10;
    }
    const struct lull_event enter = memory_event(now, LULL_EVENT_ENTER, CALL);
    const struct lull_event leave = memory_event(DURATION, LULL_EVENT_LEAVE, CALL);
    memory_trace_add(trace, process, &enter);
    memory_trace_add(trace, process, &leave);
}

static struct lull_trace *make(const int parts[PROCESSES][MOST])
{
    static struct lull_node nodes[] = {{.name = "n0", .parent = LULL_NONE},
                                       {.name = "n1", .parent = LULL_NONE}};
    struct lull_trace *trace = memory_trace_simple(PROCESSES, 1, DURATION, names);
    memory_trace_world(trace, PROCESSES);
    trace->nodes = nodes;
    trace->n_nodes = 2;
    for (uint32_t p = 0; p < PROCESSES; p++) {
        trace->processes[p].node = p / 2;
        add_process(trace, p, parts[p]);
    }
    return trace;
}

/* The computations of a process, which must be these, ended by 0. */
static void check_process(struct lull_program *program, uint32_t process, const int *expected)
{
    struct lull_op ops[32];
    struct lull_error err;
    for (uint32_t count = 1; count > 0;) {
        fail_if(program->class->next(program, process, ops, 32, &count, &err) != LULL_OK, "%s",
                err.text);
        for (uint32_t i = 0; i < count; i++) {
            if (ops[i].kind != LULL_OP_COMPUTE || ops[i].duration == 0)
                continue;
            fail_if(ops[i].duration != *expected, "process %u: %lld, expected %d", process,
                    (long long)ops[i].duration, *expected);
            expected++;
        }
    }
    assert_int_equal(*expected, 0);
}

static void check(const int parts[PROCESSES][MOST], const struct lull_what_if_cut *cuts, uint32_t n,
                  const int expected[PROCESSES][MOST])
{
    struct lull_trace *trace = make(parts);
    struct lull_what_if_options wanted = {.n_cuts = n};
    struct lull_replay_options options = {0};
    struct lull_what_if *what_if = NULL;
    struct lull_program *program = NULL;
    struct lull_error err;
    memcpy(wanted.cuts, cuts, n * sizeof *cuts);
    fail_if(lull_what_if_create(trace, &wanted, NULL, &what_if, &err) != LULL_OK ||
                lull_what_if_conclude(what_if, &options, &err) != LULL_OK ||
                lull_replay_open(trace, &options, &program, &err) != LULL_OK,
            "%s", err.text);
    for (uint32_t p = 0; p < PROCESSES; p++)
        check_process(program, p, expected[p]);
    lull_program_close(program);
    lull_what_if_destroy(what_if);
    lull_trace_close(trace);
}
#define CHECK(parts, expected, ...)                                \
    check(parts, (const struct lull_what_if_cut[]){__VA_ARGS__},   \
          sizeof((const struct lull_what_if_cut[]){__VA_ARGS__}) / \
              sizeof(struct lull_what_if_cut),                     \
          expected)

static const int epochs[PROCESSES][MOST] = {{100, TOGETHER, 50, TOGETHER},
                                            {104, TOGETHER, 60, TOGETHER},
                                            {200, TOGETHER, 70, TOGETHER},
                                            {90, TOGETHER, 40, TOGETHER}};

/* The others' medians are 100 of {90, 100, 104} and 50 of {40, 50, 60}. */
static void test_rank(void **state)
{
    (void)state;
    static const int cut[PROCESSES][MOST] = {{100, 50}, {104, 60}, {100, 50}, {90, 40}};
    CHECK(epochs, cut, {.rank = 2});
    CHECK(epochs, ((const int[PROCESSES][MOST]){{100, 50}, {104, 60}, {200, 70}, {90, 40}}),
          {.rank = 3});
}

/* Half of the 100 and of the 20 beyond these medians. */
static void test_share(void **state)
{
    (void)state;
    static const int cut[PROCESSES][MOST] = {{100, 50}, {104, 60}, {150, 60}, {90, 40}};
    CHECK(epochs, cut, {.rank = 2, .share = 0.5});
}

/* Of the other node: 102 of {100, 104} and 55 of {50, 60}; the other way round, 145 and 55. */
static void test_node(void **state)
{
    (void)state;
    static const int second[PROCESSES][MOST] = {{100, 50}, {104, 60}, {102, 55}, {90, 40}};
    static const int first[PROCESSES][MOST] = {{100, 50}, {104, 55}, {200, 70}, {90, 40}};
    CHECK(epochs, second, {.rank = LULL_NONE, .node = "n1"});
    CHECK(epochs, first, {.rank = LULL_NONE, .node = "n0"});
}

/* Of all: 102 of {90, 100, 104, 200} and 55 of {40, 50, 60, 70}. */
static void test_all(void **state)
{
    (void)state;
    static const int cut[PROCESSES][MOST] = {{100, 50}, {102, 55}, {102, 55}, {90, 40}};
    CHECK(epochs, cut, {.rank = LULL_NONE});
    /* several cuts: the shortest counts */
    static const int both[PROCESSES][MOST] = {{100, 50}, {102, 55}, {100, 50}, {90, 40}};
    CHECK(epochs, both, {.rank = LULL_NONE}, {.rank = 2});
}

/* Only what is in the region, of those that have something there: 20 of {10, 30}. */
static void test_region(void **state)
{
    (void)state;
    static const int parts[PROCESSES][MOST] = {{500, ENTER, 10, LEAVE, 7, TOGETHER},
                                               {100, ENTER, 30, LEAVE, 7, TOGETHER},
                                               {900, ENTER, 80, LEAVE, 7, TOGETHER},
                                               {100, TOGETHER}};
    static const int cut[PROCESSES][MOST] = {{500, 10, 7}, {100, 30, 7}, {900, 20, 7}, {100}};
    CHECK(parts, cut, {.rank = 2, .region = "solve"});
}

/* Computations of as many calls are compared one by one: the second of rank 2 is 100 longer than
 * the median of the others', the others of rank 2 are shorter. The sum of 240 is cut to the median
 * 150, 90 of what is 100 longer. */
static void test_late_once(void **state)
{
    (void)state;
    static const int parts[PROCESSES][MOST] = {{50, APART, 50, APART, 50, TOGETHER},
                                               {50, APART, 50, APART, 50, TOGETHER},
                                               {45, APART, 150, APART, 45, TOGETHER},
                                               {55, APART, 52, APART, 50, TOGETHER}};
    static const int cut[PROCESSES][MOST] = {
        {50, 50, 50}, {50, 50, 50}, {45, 60, 45}, {55, 52, 50}};
    CHECK(parts, cut, {.rank = 2});
}

/* Nobody calls as often: the longest are cut to one length, 70 of {30, 90, 100} for a sum of 170.
 */
static void test_other_calls(void **state)
{
    (void)state;
    static const int parts[PROCESSES][MOST] = {{170, TOGETHER},
                                               {160, TOGETHER},
                                               {30, APART, 90, APART, 100, TOGETHER},
                                               {85, APART, 85, TOGETHER}};
    static const int cut[PROCESSES][MOST] = {{170}, {160}, {30, 70, 70}, {85, 85}};
    CHECK(parts, cut, {.rank = 2});
}

TEST_GROUP(test_cuts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rank),        cmocka_unit_test(test_share),
        cmocka_unit_test(test_node),        cmocka_unit_test(test_all),
        cmocka_unit_test(test_region),      cmocka_unit_test(test_late_once),
        cmocka_unit_test(test_other_calls),
    };
    return run_cases(tests, NULL, NULL);
}
