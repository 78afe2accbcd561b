/* Histories: what is kept of a run adds up, is read as it was written, also by several writers at
 * once; conditions; which part is named as the cause. */
#include "study/history/gate.h"
#include "support/arena_case.h"
#include "support/folder.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- parts ----------------------------------------------------------------------------------- */

static struct lull_region_breakdown regions[] = {
    {.name = "MPI_Recv",
     .site = "exchange (heat.f90:41) < main (main.f90:7)",
     .activity = LULL_MPI_P2P,
     .exclusive_ns = 30},
    {.name = "solve", .site = "", .activity = LULL_USEFUL, .exclusive_ns = 100, .useful_ns = 90},
};

/* Two threads of 100 ns: 160 computed (90 in solve), 30 in MPI_Recv, 5 of I/O, 5 not recorded. */
static struct lull_breakdown *make_breakdown(void)
{
    static struct lull_thread_breakdown threads[2];
    static struct lull_breakdown breakdown = {
        .threads = threads, .n_threads = 2, .regions = regions, .n_regions = 2};
    threads[0].times.ns[LULL_USEFUL][0] = 60;
    threads[0].times.ns[LULL_USEFUL][1] = 10;
    threads[0].times.ns[LULL_MPI_P2P][0] = 30;
    threads[1].times.ns[LULL_USEFUL][1] = 90;
    threads[1].times.ns[LULL_IO][0] = 5;
    threads[1].disabled_ns = 5;
    return &breakdown;
}

static int64_t time_in(const struct lull_parts *parts, const char *region, const char *site,
                       unsigned activity)
{
    const struct lull_part like = {.region = region, .site = site, .activity = (uint8_t)activity};
    const struct lull_part *part = lull_parts_find(parts, &like);
    return part ? part->ns : -1;
}

static void test_parts(void **state)
{
    (void)state;
    const struct lull_run run = {.breakdown = make_breakdown()};
    struct lull_parts parts;
    int64_t sum = 0;
    lull_parts_of_run(&run, arena, &parts);
    for (uint32_t i = 0; i < parts.count; i++)
        sum += parts.parts[i].ns;
    assert_int_equal(sum, 200);
    assert_int_equal(parts.total_ns, 200);
    assert_int_equal(time_in(&parts, "solve", "", LULL_USEFUL), 90);
    assert_int_equal(time_in(&parts, "", "", LULL_USEFUL), 70);
    assert_int_equal(time_in(&parts, "MPI_Recv", regions[0].site, LULL_MPI_P2P), 30);
    assert_int_equal(time_in(&parts, "", "", LULL_MPI_P2P), -1);
    assert_int_equal(time_in(&parts, "", "", LULL_IO), 5);
    assert_int_equal(time_in(&parts, "", "", LULL_ACTIVITIES), 5);
}

/* The place of a call is that of the innermost caller. */
static void test_place(void **state)
{
    (void)state;
    const struct lull_run run = {.breakdown = make_breakdown()};
    struct lull_parts parts;
    lull_parts_of_run(&run, arena, &parts);
    for (uint32_t i = 0; i < parts.count; i++) {
        const bool call = strcmp(parts.parts[i].region, "MPI_Recv") == 0;
        assert_string_equal(parts.parts[i].file, call ? "heat.f90" : "");
        assert_int_equal(parts.parts[i].line, call ? 41 : 0);
    }
}

/* ---- edits ----------------------------------------------------------------------------------- */

static struct lull_parts parts_of(const struct lull_part *parts, uint32_t count)
{
    struct lull_parts made = {.parts = lull_arena_zero(arena, count, sizeof *parts),
                              .count = count};
    for (uint32_t i = 0; i < count; i++) {
        made.parts[i] = parts[i];
        made.total_ns += parts[i].ns;
    }
    return made; /* they are written in their order */
}

/* Four lines were inserted above two regions and one call, none above a third region, and a
 * user's numbers are no lines. What is new in one of the runs stays what it is. */
static void test_edit(void **state)
{
    (void)state;
    const struct lull_part before[] = {
        {"!$omp parallel @heat.c:20", "", LULL_USEFUL, 300, "heat.c", 20},
        {"!$omp parallel @heat.c:50", "", LULL_USEFUL, 100, "heat.c", 50},
        {"!$omp parallel @heat.c:50", "", LULL_OMP_SCHEDULE, 10, "heat.c", 50},
        {"!$omp parallel @heat.c:96", "", LULL_USEFUL, 200, "heat.c", 96},
        {"MPI_Recv", "edge (heat.c:70) < main (heat.c:98)", LULL_MPI_P2P, 40, "heat.c", 70},
        {"phase:1", "", LULL_USEFUL, 30, "", 0},
    };
    const struct lull_part after[] = {
        {"!$omp parallel @heat.c:100", "", LULL_USEFUL, 210, "heat.c", 100},
        {"!$omp parallel @heat.c:20", "", LULL_USEFUL, 310, "heat.c", 20},
        {"!$omp parallel @heat.c:54", "", LULL_USEFUL, 120, "heat.c", 54},
        {"MPI_Recv", "edge (heat.c:74) < main (heat.c:102)", LULL_MPI_P2P, 50, "heat.c", 74},
        {"MPI_Send", "edge (heat.c:75) < main (heat.c:102)", LULL_MPI_P2P, 50, "heat.c", 75},
        {"phase:2", "", LULL_USEFUL, 30, "", 0},
    };
    struct lull_parts parts = parts_of(before, 6), edited = parts_of(after, 6);
    assert_int_equal(lull_parts_follow_edit(&parts, &edited, arena), 3);
    assert_int_equal(time_in(&parts, "!$omp parallel @heat.c:20", "", LULL_USEFUL), 300);
    assert_int_equal(time_in(&parts, "!$omp parallel @heat.c:54", "", LULL_USEFUL), 100);
    assert_int_equal(time_in(&parts, "!$omp parallel @heat.c:54", "", LULL_OMP_SCHEDULE), 10);
    assert_int_equal(time_in(&parts, "!$omp parallel @heat.c:100", "", LULL_USEFUL), 200);
    assert_int_equal(
        time_in(&parts, "MPI_Recv", "edge (heat.c:74) < main (heat.c:102)", LULL_MPI_P2P), 40);
    assert_int_equal(time_in(&parts, "phase:1", "", LULL_USEFUL), 30);
    assert_int_equal(parts.count, 6);
    assert_int_equal(parts.total_ns, 680);
    assert_int_equal(lull_parts_follow_edit(&parts, &edited, arena), 0);
    /* a parallel region more: which one it is nobody knows */
    edited.count = 2;
    parts = parts_of(before, 6);
    assert_int_equal(lull_parts_follow_edit(&parts, &edited, arena), 0);
}

/* ---- files ----------------------------------------------------------------------------------- */

static struct lull_history_value value = {"runtime", 1.0 / 3, NULL};

static struct lull_history_entry make_entry(int64_t time)
{
    const struct lull_run run = {.breakdown = make_breakdown()};
    struct lull_history_entry entry = {.key = {"heat \"2\"\n", "", "node\t1", "2 x 1"},
                                       .commit = "abc",
                                       .run = "run",
                                       .time = time,
                                       .values = &value,
                                       .n_values = 1};
    lull_parts_of_run(&run, arena, &entry.parts);
    return entry;
}

static void test_round_trip(void **state)
{
    (void)state;
    folder_make();
    const char *path = lull_arena_strdup(arena, folder_path("h.jsonl"));
    const struct lull_history_entry entries[] = {make_entry(2000), make_entry(1000)};
    struct lull_history history;
    uint32_t added;
    assert_int_equal(lull_history_append(path, entries, 2, 0, arena, &added, NULL), LULL_OK);
    assert_int_equal(added, 2);
    assert_int_equal(lull_history_append(path, entries, 2, 0, arena, &added, NULL), LULL_OK);
    assert_int_equal(added, 0);
    assert_int_equal(lull_history_read(path, arena, &history, NULL), LULL_OK);
    assert_int_equal(history.count, 2);
    assert_int_equal(history.entries[0].time, 1000); /* by time */
    assert_int_equal(history.entries[0].line, 2);
    assert_string_equal(history.entries[0].key.program, entries[0].key.program);
    assert_string_equal(history.entries[0].key.machine, "node\t1");
    assert_true(lull_history_value_of(&history.entries[0], "runtime") == value.value);
    assert_true(isnan(lull_history_value_of(&history.entries[0], "core_time")));
    assert_true(fabs(lull_history_value_of(&history.entries[0], "region:solve") - 90e-9) < 1e-20);
    assert_int_equal(history.entries[0].parts.count, entries[0].parts.count);
    for (uint32_t i = 0; i < entries[0].parts.count; i++) {
        assert_int_equal(
            lull_part_compare(&history.entries[0].parts.parts[i], &entries[0].parts.parts[i]), 0);
        assert_int_equal(history.entries[0].parts.parts[i].ns, entries[0].parts.parts[i].ns);
    }
    folder_remove();
}

/* Several processes add runs at once: every line is whole. */
static void test_writers(void **state)
{
    (void)state;
    enum { WRITERS = 4, RUNS = 10 };
    folder_make();
    const char *path = lull_arena_strdup(arena, folder_path("h.jsonl"));
    for (int writer = 0; writer < WRITERS; writer++)
        if (fork() == 0) {
            int failed = 0;
            for (int i = 0; i < RUNS; i++) {
                uint32_t added;
                const struct lull_history_entry entry = make_entry(100 * writer + i);
                failed |= lull_history_append(path, &entry, 1, 600, arena, &added, NULL) != LULL_OK;
            }
            _exit(failed);
        }
    for (int writer = 0; writer < WRITERS; writer++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    struct lull_history history;
    assert_int_equal(lull_history_read(path, arena, &history, NULL), LULL_OK);
    assert_int_equal(history.count, WRITERS * RUNS);
    folder_remove();
}

static void test_times(void **state)
{
    (void)state;
    char text[32];
    int64_t time;
    assert_string_equal(lull_history_time_text(1000000000, text), "2001-09-09T01:46:40Z");
    assert_int_equal(lull_history_time_read("2001-09-09T01:46:40Z", &time, NULL), LULL_OK);
    assert_int_equal(time, 1000000000);
    assert_int_equal(lull_history_time_read("2001-09-09", &time, NULL), LULL_ERR_RANGE);
}

/* ---- conditions ------------------------------------------------------------------------------ */

static void test_conditions(void **state)
{
    (void)state;
    static const struct {
        const char *text, *metric;
        bool good, above, relative;
        double factor, offset;
    } table[] = {
        {"parallel_efficiency < 0.8", "parallel_efficiency", true, false, false, 0, 0.8},
        {"runtime>1.05*baseline", "runtime", true, true, true, 1.05, 0},
        {"runtime >= baseline * 1e-1 + 2.5", "runtime", true, true, true, 0.1, 2.5},
        {"region:f<a> > baseline - 1e-3", "region:f<a>", true, true, true, 1, -1e-3},
        {"core_time > baseline", "core_time", true, true, true, 1, 0},
        {"runtime > 2s", "runtime", true, true, false, 0, 2},
        {"region:f > baseline + 3ms", "region:f", true, true, true, 1, 3e-3},
        {"parallel_efficiency < 2s", "", false, false, false, 0, 0},
        {"runtime > 2s * baseline", "", false, false, false, 0, 0},
        {"runtime > -1 * baseline", "", false, false, false, 0, 0},
        {"runtime > 2 * base", "", false, false, false, 0, 0},
        {"runtime > baseline * baseline", "", false, false, false, 0, 0},
        {"runtime > baseline + ", "", false, false, false, 0, 0},
        {"runtime >", "", false, false, false, 0, 0},
        {"> 1", "", false, false, false, 0, 0},
        {"region: > 1", "", false, false, false, 0, 0},
        {"runtime > nan", "", false, false, false, 0, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct lull_condition got;
        const lull_status status = lull_condition_read(table[i].text, arena, &got, NULL);
        fail_if((status == LULL_OK) != table[i].good, "%s is %s", table[i].text,
                table[i].good ? "refused" : "taken");
        if (!table[i].good)
            continue;
        assert_string_equal(got.metric, table[i].metric);
        assert_int_equal(got.above, table[i].above);
        assert_int_equal(got.relative, table[i].relative);
        assert_true(got.factor == table[i].factor && got.offset == table[i].offset);
    }
}

/* ---- causes ---------------------------------------------------------------------------------- */

static struct lull_history_entry make_run(struct lull_history_value *runtime, int64_t solve,
                                          int64_t waits)
{
    struct lull_part *parts = lull_arena_zero(arena, 2, sizeof *parts);
    parts[0] = (struct lull_part){"MPI_Allreduce", "", LULL_MPI_COLLECTIVE, waits, "", 0};
    parts[1] = (struct lull_part){"solve", "", LULL_USEFUL, solve, "solve.f90", 120};
    return (struct lull_history_entry){
        .values = runtime, .n_values = 1, .parts = {parts, 2, solve + waits}};
}

/* One of four ranks computes 1 s longer, for which three wait: their 3 s are not the cause. Where
 * only the network is slower, the waits are. */
static void test_cause(void **state)
{
    (void)state;
    struct lull_history_value ten = {"runtime", 10, NULL}, eleven = {"runtime", 11, NULL};
    const int64_t s = 1000000000;
    struct lull_history_entry before = make_run(&ten, 36 * s, 4 * s);
    struct lull_history_entry late = make_run(&eleven, 37 * s, 7 * s);
    struct lull_history_entry slow = make_run(&eleven, 36 * s + s / 10, 8 * s - s / 10);
    struct lull_gate gate = {0};
    lull_gate_moves(&before, 1, &late, 1, arena, &gate);
    assert_string_equal(gate.moves[0].part->region, "solve");
    assert_int_equal(gate.moves[0].after_ns - gate.moves[0].before_ns, s);
    assert_int_equal(gate.moves[1].after_ns - gate.moves[1].before_ns, 3 * s);
    lull_gate_moves(&before, 1, &slow, 1, arena, &gate);
    assert_string_equal(gate.moves[0].part->region, "MPI_Allreduce");
}

TEST_GROUP(test_history)
{
    const struct CMUnitTest tests[] = {
        ARENA_TEST(test_parts),      ARENA_TEST(test_place),   ARENA_TEST(test_edit),
        ARENA_TEST(test_round_trip), ARENA_TEST(test_writers), ARENA_TEST(test_times),
        ARENA_TEST(test_conditions), ARENA_TEST(test_cause),
    };
    return run_cases(tests, NULL, NULL);
}
