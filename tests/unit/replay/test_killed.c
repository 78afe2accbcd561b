/* Runs whose processes were killed at different times: cut where their operations are complete, they have the ideal
 * runtime that the whole run has up to there. What comes behind the end of the analysed time cannot change it: no
 * time passes there. */
#include "replay/ideal/ideal.h"
#include "stats/random.h"
#include "support/golden_data.h"
#include "support/seed.h"
#include "support/test.h"
#include "trace/scan.h"

#include <stdlib.h>

static struct lull_error err;

static struct lull_ideal_result ideal_until(const struct lull_trace *trace, int64_t last,
                                            struct lull_arena *arena)
{
    const struct lull_ideal_options options = {.has_span = true, .from = 0, .to = last};
    struct lull_ideal_result result;
    assert_int_equal(lull_ideal_runtime(trace, &options, arena, &result, &err), LULL_OK);
    return result;
}

static int64_t earliest(const int64_t *ends, uint32_t n)
{
    int64_t first = INT64_MAX;
    for (uint32_t l = 0; l < n; l++)
        first = ends[l] < first ? ends[l] : first;
    return first;
}

/* Returns when the first ends. */
static int64_t kill_processes(struct lull_random *random, struct lull_trace *trace)
{
    int64_t *ends = calloc(trace->n_locations, sizeof *ends);
    assert_non_null(ends);
    const int64_t about = (int64_t)lull_random_below(random, (uint64_t)trace->duration);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        ends[l] = about + (int64_t)lull_random_below(random, (uint64_t)trace->duration / 20);
    lull_trace_cut(trace, ends);
    const int64_t first = earliest(ends, trace->n_locations);
    free(ends);
    return first;
}

/* Cuts until all operations are complete. Returns up to when, at most `last`. *ret_cut: some were not. */
static int64_t cut_until_complete(struct lull_trace *trace, int64_t last, struct lull_arena *arena,
                                  bool *ret_cut)
{
    *ret_cut = false;
    for (uint32_t i = 0; i < 2 * trace->n_processes; i++) {
        const struct lull_ideal_result result = ideal_until(trace, trace->duration, arena);
        if (!result.ends)
            return last;
        const int64_t first = earliest(result.ends, trace->n_locations);
        last = first < last ? first : last;
        lull_trace_cut(trace, result.ends);
        *ret_cut = true;
    }
    fail_msg("%s: still incomplete", trace->path);
    return last;
}

static void test_killed(void **state)
{
    (void)state;
    static const char *const runs[] = {"../tape/heat-2x1", "../tape/heat-faults",
                                       "../tape/exchange-2x1"};
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    const unsigned rounds = lull_test_rounds(300);
    unsigned cut = 0;
    for (unsigned i = 0; i < rounds; i++) {
        struct lull_arena *arena = lull_arena_create(NULL);
        const char *path = golden_data(runs[i % 3], arena);
        struct lull_trace *whole, *killed;
        assert_int_equal(lull_trace_open(path, &whole, &err), LULL_OK);
        assert_int_equal(lull_trace_open(path, &killed, &err), LULL_OK);
        const int64_t killed_at = kill_processes(&random, killed);
        bool was_cut;
        const int64_t last = cut_until_complete(killed, killed_at, arena, &was_cut);
        cut += was_cut;
        const struct lull_ideal_result some = ideal_until(killed, last, arena);
        const struct lull_ideal_result all = ideal_until(whole, last, arena);
        assert_null(all.ends);
        assert_int_equal(some.runtime, all.runtime);
        lull_trace_close(killed);
        lull_trace_close(whole);
        lull_arena_destroy(arena);
    }
    assert_reached("operations are incomplete", cut, rounds / 10, rounds);
}

TEST_GROUP(test_killed)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_killed)};
    return run_cases(tests, NULL, NULL);
}
