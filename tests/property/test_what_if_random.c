/* What-ifs of random traces, whatever their threads do: no computation becomes longer where none
 * may, nothing depends on how many threads of lull learn, nor on how many processes, and nothing
 * happens where nothing is supposed. */
#include "metrics/windows.h"
#include "replay/what_if/what_if.h"
#include "support/branches.h"
#include "support/drawn_team.h"
#include "support/memory_trace.h"
#include "support/seed.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct lull_process_range whole_run = {0, 0};

enum { USABLE, CUT, THREADS, NO_NOISE, SHORTER, BRANCHES };
static struct branch branches[BRANCHES] = {
    [USABLE] = {.what = "it can be replayed", .least = 500},
    [CUT] = {.what = "ranks are cut to their peers", .least = 100},
    [THREADS] = {.what = "something is supposed of threads", .least = 100},
    [NO_NOISE] = {.what = "noise is taken away", .least = 100},
    [SHORTER] = {.what = "a computation becomes shorter", .least = 200},
};

struct lengths {
    int64_t *ns;
    size_t count, capacity;
};

static void append(struct lengths *lengths, int64_t ns)
{
    if (lengths->count == lengths->capacity) {
        lengths->capacity = lengths->capacity ? 2 * lengths->capacity : 256;
        lengths->ns = realloc(lengths->ns, lengths->capacity * sizeof *lengths->ns);
        assert_non_null(lengths->ns);
    }
    lengths->ns[lengths->count++] = ns;
}

/* The computations of the streams in a range of the replay, stream by stream, as a part of a team
 * finds them (NULL: one alone); false: it cannot be replayed. */
static bool find_lengths(const struct lull_trace *trace, const struct lull_what_if_options *wanted,
                         const struct lull_what_if_part *part, struct lull_process_range range,
                         unsigned workers, struct lengths *ret_lengths)
{
    const struct lull_reading reading = {.range = part ? range : (struct lull_process_range){0, 0}};
    struct lull_replay_options options = {.reading = &reading, .pieces = true};
    struct lull_what_if *what_if = NULL;
    struct lull_program *program = NULL;
    struct lull_error err;
    struct lull_op ops[32];
    fail_if(lull_what_if_create(trace, wanted, part, &what_if, &err) != LULL_OK, "%s", err.text);
    lull_what_if_limit(what_if, workers);
    lull_status status = lull_what_if_conclude(what_if, &options, &err);
    if (status == LULL_OK)
        status = lull_replay_open(trace, &options, &program, &err);
    if (status != LULL_OK) {
        lull_what_if_destroy(what_if);
        return false;
    }
    for (uint32_t s = 0; s < program->n_streams && status == LULL_OK; s++)
        for (uint32_t count = lull_in_range(range, lull_replay_process(program, s));
             count > 0 && status == LULL_OK;) {
            status = program->class->next(program, s, ops, 32, &count, &err);
            for (uint32_t i = 0; i < count && status == LULL_OK; i++)
                if (ops[i].kind == LULL_OP_COMPUTE)
                    append(ret_lengths, ops[i].duration);
        }
    lull_program_close(program);
    lull_what_if_destroy(what_if);
    return status == LULL_OK;
}

static bool has_openmp(const struct lull_trace *trace)
{
    bool parallel = false, workers = false;
    for (uint32_t i = 0; i < trace->n_regions; i++)
        parallel |= trace->regions[i].parallel;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        workers |= trace->processes[trace->locations[l].process].application == 0 &&
                   trace->locations[l].kind == LULL_LOCATION_THREAD &&
                   trace->locations[l].role == LULL_THREAD_WORKER;
    return parallel && workers;
}

static uint32_t count_processes(const struct lull_trace *trace)
{
    uint32_t n = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        n += trace->processes[p].application == 0 && trace->processes[p].n_threads > 0;
    return n;
}

/* A change of threads each time, and cuts where there are peers. */
static struct lull_what_if_options draw_wanted(const struct lull_trace *trace,
                                               struct lull_random *random, bool openmp)
{
    struct lull_what_if_options wanted = {.no_noise = lull_random_below(random, 4) == 0};
    for (uint8_t change = 0; openmp && change < LULL_THREADS_CHANGES; change++)
        if (lull_random_below(random, 2))
            wanted.threads[wanted.n_threads++].change = change;
    if (count_processes(trace) > 1 && lull_random_below(random, 2))
        wanted.cuts[wanted.n_cuts++].rank = LULL_NONE;
    return wanted;
}

static void check_trace(struct lull_random *random)
{
    static const struct lull_what_if_options nothing;
    const struct memory_trace_options drawn = {.without_extremes = true};
    struct lull_trace *trace = memory_trace_draw(random, &drawn);
    const bool openmp = has_openmp(trace);
    const struct lull_what_if_options wanted = draw_wanted(trace, random, openmp);
    struct lengths before = {0}, after = {0}, again = {0};
    const bool usable = find_lengths(trace, &nothing, NULL, whole_run, 1, &before);
    if (usable) {
        branch_reach(&branches[USABLE], true);
        branch_reach(&branches[CUT], wanted.n_cuts > 0);
        branch_reach(&branches[THREADS], wanted.n_threads > 0);
        branch_reach(&branches[NO_NOISE], wanted.no_noise);
        assert_true(find_lengths(trace, &wanted, NULL, whole_run, 1, &after));
        assert_true(find_lengths(trace, &wanted, NULL, whole_run, 3, &again));
        assert_int_equal(after.count, before.count);
        assert_int_equal(again.count, before.count);
        for (size_t i = 0; i < before.count; i++) {
            assert_int_equal(again.ns[i], after.ns[i]);
            assert_in_range(after.ns[i], 0, before.ns[i]);
            branch_reach(&branches[SHORTER], after.ns[i] < before.ns[i]);
        }
    }
    free(before.ns);
    free(after.ns);
    free(again.ns);
    lull_trace_close(trace);
}

static void test_random_traces(void **state)
{
    (void)state;
    struct lull_random random;
    const unsigned rounds = lull_test_rounds(100);
    lull_random_seed(&random, lull_test_seed());
    for (unsigned i = 0; i < rounds; i++) {
        check_trace(&random);
        branches_next(branches, BRANCHES);
    }
    branches_assert(branches, BRANCHES, rounds);
}

/* ---- teams ---------------------------------------------------------------------------------- */

enum { LENGTHS, BALANCED, OF_ONE };

/* What a cut or a balance is of: all, or one rank of the application. */
static struct lull_what_if_options draw_of_team(const struct lull_trace *trace,
                                                struct lull_random *random)
{
    struct lull_what_if_options wanted = draw_wanted(trace, random, has_openmp(trace));
    const uint32_t n = count_processes(trace);
    wanted.balance = lull_random_below(random, 2);
    if (n > 1 && lull_random_below(random, 2))
        wanted.cuts[wanted.n_cuts++].rank = (uint32_t)lull_random_below(random, n);
    return wanted;
}

/* 0 where each member finds of its processes what one alone does. */
static int differs(const struct lull_trace *trace, uint64_t seed, struct lull_random *random)
{
    const struct lull_what_if_options wanted = draw_of_team(trace, random);
    struct lull_team *team = drawn_team_open(random, seed, 2);
    const struct lull_division *division =
        drawn_team_divide(team, trace->n_processes, random, trace->arena);
    const struct lull_what_if_part part = {team, lull_pass_range(division)};
    struct lengths alone = {0}, own = {0};
    const bool usable = find_lengths(trace, &wanted, NULL, part.range, 1, &alone);
    const bool found = find_lengths(trace, &wanted, &part, part.range, 1, &own);
    int wrong = 0;
    int64_t lengths = usable ? (int64_t)own.count : 0;
    lull_team_sum(team, &lengths, 1, NULL);
    if (lull_team_is_first(team) && lengths > 0) {
        drawn_team_reach(LENGTHS);
        if (wanted.balance)
            drawn_team_reach(BALANCED);
        if (wanted.n_cuts > 0 && wanted.cuts[wanted.n_cuts - 1].rank != LULL_NONE)
            drawn_team_reach(OF_ONE);
    }
    if (usable && (!found || own.count != alone.count ||
                   (own.count > 0 && memcmp(own.ns, alone.ns, own.count * sizeof *own.ns) != 0))) {
        fprintf(stderr, "seed %lu, member %u of %u: other lengths\n", seed, lull_team_index(team),
                lull_team_size(team));
        wrong = 1;
    }
    free(alone.ns);
    free(own.ns);
    return lull_team_end(team) ? wrong : 3;
}

/* Without messages, as those of a drawn trace do not fit each other, so that what was received
 * would have to be found in what others sent. */
static int drawn_run_differs(uint64_t seed)
{
    const struct memory_trace_options drawn = {
        .without_extremes = true, .without = LULL_MASK_MESSAGES, .without_states = true};
    struct lull_random random;
    lull_random_seed(&random, seed);
    struct lull_trace *trace = memory_trace_draw(&random, &drawn);
    const int wrong = differs(trace, seed, &random);
    lull_trace_close(trace);
    return wrong;
}

static void teams_find_what_one_finds(void **state)
{
    (void)state;
    const unsigned count = drawn_teams_run(drawn_run_differs);
    assert_reached("there are computations", drawn_teams_reached(LENGTHS), count / 2, count);
    assert_reached("work is balanced", drawn_teams_reached(BALANCED), count / 5, count);
    assert_reached("one rank is cut to its peers", drawn_teams_reached(OF_ONE), count / 20, count);
}

TEST_GROUP(test_what_if_random)
{
    /* Teams while there is little to fork. */
    const struct CMUnitTest tests[] = {cmocka_unit_test(teams_find_what_one_finds),
                                       cmocka_unit_test(test_random_traces)};
    return run_cases(tests, NULL, NULL);
}
