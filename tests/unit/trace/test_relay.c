/* Several processes read a trace whose events are one sequence: each gets the events of its
 * processes as one that reads alone. All of them are this one: what the first puts waits in a queue
 * for each of the others. */
#include "support/memory_trace.h"
#include "support/same_trace.h"
#include "support/seed.h"
#include "support/test.h"
#include "trace/scan.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 5 };

struct parcel {
    void *bytes;
    size_t size;
};

static struct {
    uint32_t size, cuts[MOST + 1];
    struct parcel *parcels[MOST];
    size_t count[MOST], taken[MOST];
    uint32_t index; /* who reads now */
    unsigned begun, ended;
    size_t fails_at; /* parcels that can be put; SIZE_MAX: all */
} team;

static uint32_t owner(void *context, uint32_t process)
{
    uint32_t member = 0;
    (void)context;
    while (process >= team.cuts[member + 1])
        member++;
    return member;
}

static void begin(void *context)
{
    (void)context;
    team.begun++;
}

static void end(void *context)
{
    (void)context;
    team.ended++;
}

static lull_status put(void *context, uint32_t to, const void *bytes, size_t size,
                       struct lull_error *err)
{
    (void)context;
    assert_true(to > 0 && to < team.size);
    if (team.fails_at == 0)
        return lull_fail(err, LULL_ERR_CANCELLED, "another has failed");
    team.fails_at--;
    team.parcels[to] = realloc(team.parcels[to], (team.count[to] + 1) * sizeof *team.parcels[to]);
    struct parcel *parcel = &team.parcels[to][team.count[to]++];
    parcel->bytes = malloc(size + 1);
    parcel->size = size;
    if (size)
        memcpy(parcel->bytes, bytes, size);
    return LULL_OK;
}

static lull_status get(void *context, const void **ret_bytes, size_t *ret_size,
                       struct lull_error *err)
{
    const uint32_t own = team.index;
    (void)context;
    (void)err;
    assert_true(team.taken[own] < team.count[own]);
    *ret_bytes = team.parcels[own][team.taken[own]].bytes;
    *ret_size = team.parcels[own][team.taken[own]++].size;
    return LULL_OK;
}

static struct lull_relay relays[MOST];

static void begin_team(struct lull_random *random, uint32_t processes)
{
    memset(&team, 0, sizeof team);
    team.size = 2 + (uint32_t)lull_random_below(random, MOST - 1);
    team.fails_at = SIZE_MAX;
    for (uint32_t m = 1; m < team.size; m++) { /* some may have nothing */
        uint32_t cut = (uint32_t)lull_random_below(random, processes + 1);
        team.cuts[m] = cut > team.cuts[m - 1] ? cut : team.cuts[m - 1];
    }
    team.cuts[team.size] = processes;
    for (uint32_t m = 0; m < team.size; m++)
        relays[m] = (struct lull_relay){.index = m,
                                        .size = team.size,
                                        .owner = owner,
                                        .begin = begin,
                                        .end = end,
                                        .put = put,
                                        .get = get};
}

static void end_team(void)
{
    for (uint32_t m = 0; m < MOST; m++) {
        for (size_t i = 0; i < team.count[m]; i++)
            free(team.parcels[m][i].bytes);
        free(team.parcels[m]);
    }
}

/* As metrics/windows.h tells it. */
static struct lull_process_range range_of(uint32_t member)
{
    const uint32_t first = team.cuts[member], end = team.cuts[member + 1];
    return first < end ? (struct lull_process_range){first, end}
                       : (struct lull_process_range){UINT32_MAX, UINT32_MAX};
}

static struct lull_scan_options random_options(struct lull_random *random,
                                               const struct lull_trace *trace)
{
    static const uint64_t masks[] = {0, LULL_MASK_TIME, LULL_MASK_MESSAGES};
    const bool one = lull_random_below(random, 3) == 0;
    return (struct lull_scan_options){
        .mask = masks[lull_random_below(random, 3)],
        .application = one ? (uint32_t)lull_random_below(random, trace->n_applications) : LULL_NONE,
        .masters_only = lull_random_below(random, 4) == 0};
}

/* The scan of a member, against what one process reads of all. */
static void check_member(const struct lull_trace *trace, uint32_t member,
                         struct lull_scan_options options, const struct same_sequence *alone,
                         uint64_t seed)
{
    struct lull_error err;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct same_sequence *part;
    team.index = member;
    options.range = range_of(member);
    lull_trace_relay(trace, &relays[member]);
    assert_int_equal(collect_as(trace, &options, arena, &part, &err), LULL_OK);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct same_sequence none = {.trace = trace};
        const bool own = lull_in_range(options.range, trace->locations[l].process);
        fail_if(!same_sequences(own ? &alone[l] : &none, &part[l], NULL, &err),
                "seed %llu, member %u, location %u: %s", (unsigned long long)seed, member, l,
                err.text);
    }
    lull_arena_destroy(arena);
}

static void test_scans(void **state)
{
    (void)state;
    const uint64_t first = lull_test_seed();
    for (uint64_t seed = first; seed - first < lull_test_rounds(200); seed++) {
        struct lull_error err;
        struct lull_random random;
        lull_random_seed(&random, seed);
        struct lull_trace *trace = memory_trace_draw(&random, NULL);
        struct lull_arena *arena = lull_arena_create(NULL);
        const struct lull_scan_options options = random_options(&random, trace);
        struct same_sequence *alone;
        trace->format = &memory_format_push;
        begin_team(&random, trace->n_processes);
        assert_int_equal(collect_as(trace, &options, arena, &alone, &err), LULL_OK);
        for (uint32_t m = 0; m < team.size; m++)
            check_member(trace, m, options, alone, seed);
        assert_int_equal(team.begun, team.size);
        assert_int_equal(team.ended, team.size);
        for (uint32_t m = 1; m < team.size; m++)
            assert_int_equal(team.taken[m], team.count[m]);
        /* a scan of all is one's own */
        assert_int_equal(collect_by_scan(trace, 0, 1, arena, &alone, &err), LULL_OK);
        assert_int_equal(team.begun, team.size);
        end_team();
        lull_arena_destroy(arena);
        lull_trace_close(trace);
    }
}

/* Cursors read what has been prepared, and of others' processes a copy of all. */
static void test_cursors(void **state)
{
    (void)state;
    const uint64_t first = lull_test_seed();
    for (uint64_t seed = first; seed - first < lull_test_rounds(20); seed++) {
        struct lull_error err;
        struct lull_random random;
        lull_random_seed(&random, seed);
        struct lull_trace *traces[MOST] = {NULL};
        struct lull_arena *arena = lull_arena_create(NULL);
        for (uint32_t m = 0; m < MOST; m++) { /* each process has opened it */
            lull_random_seed(&random, seed);
            traces[m] = memory_trace_draw(&random, NULL);
            traces[m]->format = &memory_format_push;
        }
        begin_team(&random, traces[0]->n_processes);
        struct same_sequence *alone, pulled;
        assert_int_equal(collect_by_scan(traces[0], 0, 1, arena, &alone, &err), LULL_OK);
        for (uint32_t m = 0; m < team.size; m++) {
            team.index = m;
            lull_trace_relay(traces[m], &relays[m]);
            assert_int_equal(lull_cursors_prepare(traces[m], range_of(m), &err), LULL_OK);
            for (unsigned others = 0; others < 2; others++) {
                for (uint32_t l = 0; l < traces[m]->n_locations; l++) {
                    if (lull_in_range(range_of(m), traces[m]->locations[l].process) == others)
                        continue;
                    assert_int_equal(collect_by_cursor(traces[m], l, 0, arena, &pulled, &err),
                                     LULL_OK);
                    fail_if(!same_sequences(&alone[l], &pulled, NULL, &err),
                            "seed %llu, member %u, location %u: %s", (unsigned long long)seed, m, l,
                            err.text);
                }
            }
        }
        assert_int_equal(team.begun, team.size);
        end_team();
        for (uint32_t m = 0; m < MOST; m++)
            lull_trace_close(traces[m]);
        lull_arena_destroy(arena);
    }
}

/* Another has failed: at the latest the end cannot be told. */
static void test_failure(void **state)
{
    (void)state;
    struct lull_error err;
    struct lull_random random;
    struct same_sequence *part;
    lull_random_seed(&random, 3);
    struct lull_trace *trace = memory_trace_draw(&random, NULL);
    struct lull_arena *arena = lull_arena_create(NULL);
    trace->format = &memory_format_push;
    begin_team(&random, trace->n_processes);
    team.fails_at = 0;
    lull_trace_relay(trace, &relays[0]);
    const struct lull_scan_options options = {.application = LULL_NONE, .range = range_of(0)};
    assert_int_equal(collect_as(trace, &options, arena, &part, &err), LULL_ERR_CANCELLED);
    assert_int_equal(team.ended, 1);
    end_team();
    lull_arena_destroy(arena);
    lull_trace_close(trace);
}

TEST_GROUP(test_relay)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scans),
        cmocka_unit_test(test_cursors),
        cmocka_unit_test(test_failure),
    };
    return run_cases(tests, NULL, NULL);
}
