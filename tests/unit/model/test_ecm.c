/* The arithmetic of the ECM model against published numbers and hand calculations. */
#include "machine/machine.h"
#include "model/ecm.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int set_up(void **state)
{
    *state = lull_arena_create(NULL);
    return 0;
}

static int tear_down(void **state)
{
    lull_arena_destroy(*state);
    return 0;
}

static void check_near(const char *what, double got, double want, double within)
{
    fail_if(!(fabs(got - want) <= within), "%s: %.10g, expected %.10g", what, got, want);
}

/* G. Hager, Making Sense of Performance Numbers (2018): {7 || 2 | 4 | 8 | 18.4}. */
static struct lull_ecm walk_through(void)
{
    return (struct lull_ecm){.t_ol = 7,
                             .t_nol = 2,
                             .n_links = 3,
                             .links = {{.name = "L1-L2", .cycles = 4},
                                       {.name = "L2-L3", .cycles = 8},
                                       {.name = "L3-Mem", .cycles = 18.4}},
                             .shared = 18.4};
}

static void test_walk_through(void **state)
{
    (void)state;
    static const double want[] = {7, 7, 14, 32.4};
    struct lull_ecm ecm = walk_through();
    for (size_t level = 0; level < 4; level++)
        check_near("time", lull_ecm_time(&ecm, level), want[level], 1e-12);
    assert_int_equal(lull_ecm_saturation(32.4, ecm.shared), 2);
    assert_int_equal(lull_ecm_saturation(7, 0), 0);
}

/* Links that overlap: max(7, 4, 8, 2 + 18.4). */
static void test_overlap(void **state)
{
    (void)state;
    struct lull_ecm ecm = walk_through();
    ecm.links[0].overlaps = ecm.links[1].overlaps = true;
    check_near("L2", lull_ecm_time(&ecm, 1), 7, 1e-12);
    check_near("L3", lull_ecm_time(&ecm, 2), 8, 1e-12);
    check_near("memory", lull_ecm_time(&ecm, 3), 20.4, 1e-12);
}

/* By hand for T = 32.4 and 18.4 shared: u1 = 0.56790123, u2 = 36.8 / (32.4 + 0.56790123 x 9.2) =
 * 0.978081, u3 = 1; 18.4 / u2 = 37.6246914 / 2. */
static void test_cores(void **state)
{
    (void)state;
    check_near("one core", lull_ecm_scale_latency(32.4, 18.4, 1), 32.4, 1e-9);
    check_near("two cores", lull_ecm_scale_latency(32.4, 18.4, 2), 18.8123457, 1e-6);
    check_near("three cores", lull_ecm_scale_latency(32.4, 18.4, 3), 18.4, 1e-9);
    check_near("without a bottleneck", lull_ecm_scale_latency(32.4, 0, 3), 10.8, 1e-9);
    check_near("naive, two cores", lull_ecm_scale(32.4, 18.4, 2), 18.4, 1e-12);
    check_near("naive, one core", lull_ecm_scale(32.4, 18.4, 1), 32.4, 1e-12);
}

static void test_transfer(void **state)
{
    (void)state;
    check_near("half duplex", lull_ecm_transfer(2, 1, 64, 32, false), 6, 1e-12);
    check_near("full duplex", lull_ecm_transfer(2, 1, 64, 32, true), 4, 1e-12);
}

static void set_number(struct lull_machine *machine, struct lull_arena *arena, const char *name,
                       double value, double with_write_allocate)
{
    struct lull_number number = lull_number_plain(value, "B/s", "published");
    number.name = name;
    number.with_write_allocate = with_write_allocate;
    lull_machine_set(machine, arena, &number);
}

/* At 1 GHz B/s are B/cycle times 1e9. A load takes 64/64 = 1 cycle a line in L1, 2 in L2, 8 in
 * memory; a copy 128/64 = 2 cycles in L1 and 128/16 = 8 in L2 for three lines that travel. */
static struct lull_machine *measured_machine(struct lull_arena *arena)
{
    struct lull_machine *machine = lull_machine_create(arena);
    set_number(machine, arena, "clock.effective", 1e9, NAN);
    set_number(machine, arena, "L1.load.1", 64e9, NAN);
    set_number(machine, arena, "L2.load.1", 32e9, NAN);
    set_number(machine, arena, "L1.copy.1", 64e9, NAN);
    set_number(machine, arena, "L2.copy.1", 16e9, NAN);
    set_number(machine, arena, "memory.load.1", 8e9, NAN);
    set_number(machine, arena, "memory.load.4", 20e9, NAN);
    set_number(machine, arena, "memory.load.8", 16e9, NAN);
    return machine;
}

static void test_measured_links(void **state)
{
    struct lull_machine *machine = measured_machine(*state);
    static const struct lull_ecm_lines reads[] = {{4, 0, 0}, {2, 0, 0}};
    static const struct lull_ecm_lines writes[] = {{2, 1, 1}, {2, 1, 1}};
    struct lull_ecm ecm = {.t_ol = 0};
    struct lull_ecm_bandwidth memory;
    assert_int_equal(lull_ecm_links(machine, reads, 2, *state, &ecm, &memory, NULL), LULL_OK);
    assert_int_equal(ecm.n_links, 2);
    check_near("L1-L2", ecm.links[0].cycles, 4 * (2 - 1), 1e-9);
    check_near("L2-Mem", ecm.links[1].cycles, 2 * (8 - 2), 1e-9);
    assert_string_equal(ecm.links[1].name, "L2-Mem");
    check_near("shared", ecm.shared, 2 * 64 / 20.0, 1e-9);
    assert_int_equal(memory.threads, 4);
    assert_int_equal(lull_ecm_links(machine, writes, 2, *state, &ecm, &memory, NULL), LULL_OK);
    check_near("L1-L2 of a copy", ecm.links[0].cycles, 8 - 2, 1e-9);
}

/* Loads from memory took 8 cycles a line by the quantile that is quoted, 10 by the mean of the
 * blocks: what is in memory meets the mean, on one core and where it is saturated. Means of caches
 * do not count: what is there may be as short as a block. */
static void test_means(void **state)
{
    struct lull_machine *machine = measured_machine(*state);
    static const struct lull_ecm_lines lines[] = {{4, 0, 0}, {2, 0, 0}};
    static const struct {
        const char *name;
        double value, mean;
    } numbers[] = {
        {"memory.load.1", 8e9, 6.4e9}, {"memory.load.4", 20e9, 16e9}, {"L2.load.1", 32e9, 16e9}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct lull_number number = lull_number_plain(numbers[i].value, "B/s", "p10");
        number.name = numbers[i].name;
        number.mean = numbers[i].mean;
        lull_machine_set(machine, *state, &number);
    }
    struct lull_ecm ecm = {.t_ol = 0};
    struct lull_ecm_bandwidth memory;
    assert_int_equal(lull_ecm_links(machine, lines, 2, *state, &ecm, &memory, NULL), LULL_OK);
    check_near("L1-L2", ecm.links[0].cycles, 4 * (2 - 1), 1e-9);
    check_near("L2-Mem", ecm.links[1].cycles, 2 * (10 - 2), 1e-9);
    check_near("shared", ecm.shared, 2 * 64 / 16.0, 1e-9);
    assert_true(memory.mean);
    assert_int_equal(
        lull_ecm_links(measured_machine(*state), lines, 2, *state, &ecm, &memory, NULL), LULL_OK);
    assert_false(memory.mean);
}

/* Where the machine file does not say, the vendor does; then a link takes the whole time of a copy
 * with its data behind it, 8 cycles a line, and not 8 - 2. */
static void test_overlap_of_vendors(void **state)
{
    static const struct {
        const char *vendor, *said;
        bool overlaps;
    } cases[] = {{NULL, NULL, false},
                 {"GenuineIntel", NULL, false},
                 {"AuthenticAMD", NULL, true},
                 {"AuthenticAMD", "none", false},
                 {"GenuineIntel", "caches", true}};
    static const struct lull_ecm_lines lines[] = {{2, 1, 1}, {2, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lull_machine *machine = measured_machine(*state);
        struct lull_ecm ecm = {.t_ol = 0};
        struct lull_ecm_bandwidth memory;
        machine->cpu.vendor = cases[i].vendor;
        machine->core.overlap = cases[i].said;
        assert_int_equal(lull_ecm_links(machine, lines, 2, *state, &ecm, &memory, NULL), LULL_OK);
        assert_int_equal(ecm.links[0].overlaps, cases[i].overlaps);
        check_near("L1-L2 of a copy", ecm.links[0].cycles, cases[i].overlaps ? 8 : 6, 1e-9);
        assert_false(ecm.links[1].overlaps);
    }
}

/* A scalar product takes 2 cycles for its two lines in L1, 4 in L2, 12 in L3, 28 in memory. */
static struct lull_machine *machine_with_dot(struct lull_arena *arena)
{
    struct lull_machine *machine = measured_machine(arena);
    machine->cpu.vendor = "AuthenticAMD";
    set_number(machine, arena, "L3.load.1", 16e9, NAN);
    set_number(machine, arena, "L1.dot.1", 128 / 2.0 * 1e9, NAN);
    set_number(machine, arena, "L2.dot.1", 128 / 4.0 * 1e9, NAN);
    set_number(machine, arena, "L3.dot.1", 128 / 12.0 * 1e9, NAN);
    set_number(machine, arena, "memory.dot.1", 128 / 28.0 * 1e9, NAN);
    return machine;
}

/* With one array in L2 and one in L3, 8 cycles are both halves one after the other and 6 the longer
 * one: 7 is half way. L1 and L2 in 2.9 of 3 and 2 are one tenth. L2 and memory in 17 of 16 and 14
 * are half of what could overlap too long. L3 and L1 were not measured. */
static void test_measured_overlap(void **state)
{
    struct lull_machine *machine = machine_with_dot(*state);
    static const struct lull_ecm_lines lines[] = {{4, 0, 0}, {2, 0, 0}, {1, 0, 0}};
    struct lull_ecm ecm = {.t_ol = 1, .t_nol = 5};
    struct lull_ecm_bandwidth memory;
    assert_int_equal(lull_ecm_overlap(machine).source, LULL_ECM_ASSUMED);
    set_number(machine, *state, "L2+L1.dot.1", 128 / 2.9 * 1e9, NAN);
    set_number(machine, *state, "L3+L2.dot.1", 128 / 7.0 * 1e9, NAN);
    set_number(machine, *state, "memory+L2.dot.1", 128 / 17.0 * 1e9, NAN);
    struct lull_ecm_overlap overlap = lull_ecm_overlap(machine);
    assert_int_equal(overlap.source, LULL_ECM_MEASURED);
    assert_false(overlap.caches);
    check_near("L2 beside L1", overlap.shares[0][0], 0.1, 1e-9);
    check_near("L3 beside L1", overlap.shares[1][0], 0.1, 1e-9);
    check_near("L3 beside L2", overlap.shares[1][1], 0.5, 1e-9);
    check_near("memory beside L1", overlap.memory[0], 0, 1e-9);
    check_near("memory beside L2", overlap.memory[1], -0.5, 1e-9);
    assert_int_equal(lull_ecm_links(machine, lines, 3, *state, &ecm, &memory, NULL), LULL_OK);
    /* Loads take 1, 2, 4 and 8 cycles a line: links take 4 x 1, 2 x 2, 1 x 4 and 1 x 4, and
     * together with the 5 in the core 9, 13 and 17. Of the four lines that leave L2 two come from
     * there, for 2 x 2 cycles, and 1 x 4 is for the one from L3. In the core 1 cycle is for what is
     * in the first cache. */
    check_near("in L1", lull_ecm_time(&ecm, 0), 5, 1e-9);
    check_near("in L2", lull_ecm_time(&ecm, 1), 9 - 0.1 * 1, 1e-9);
    /* The first cache's cycle beside lines from L2 and L3; 4 cycles of L2 and 4 behind it. */
    check_near("in L3", lull_ecm_time(&ecm, 2), 13 - 0.1 * 1 - 0.5 * 4, 1e-9);
    /* Lines from L2 take 4 cycles, from L3 4, from memory 8. */
    double first = (4 * 0.1 + 4 * 0.1 + 8 * 0.0) / 16, second = (4 * 0.5 - 8 * 0.5) / 12;
    check_near("in memory", lull_ecm_time(&ecm, 3), 17 - first * 1 - second * 4, 1e-9);
}

/* What was measured comes out again: a scalar product with one array in a level and one in another
 * takes what it took there, whatever that is within what a share can say. */
static void test_overlap_reproduced(void **state)
{
    static const double alone[] = {2, 4, 12, 28}; /* L1, L2, L3, memory */
    static const char *const names[] = {"L1", "L2", "L3", "memory"};
    for (size_t far = 1; far < 4; far++)
        for (size_t near = 0; near < far; near++)
            for (double off = near ? -1 : 0; off <= 1; off += 0.25) {
                struct lull_machine *machine = machine_with_dot(*state);
                double added = (alone[near] + alone[far]) / 2;
                double longer = fmax(alone[near], alone[far] / 2);
                double took = added - off * (added - longer);
                struct lull_ecm_lines lines[3] = {{0}};
                struct lull_ecm ecm = {.t_nol = alone[0]};
                struct lull_ecm_bandwidth memory;
                set_number(machine, *state, "L1.load.1", 64e9, NAN);
                set_number(machine, *state, "memory.load.1", 64 / 14.0 * 1e9, NAN);
                set_number(machine, *state, "L3.load.1", 64 / 6.0 * 1e9, NAN);
                set_number(machine, *state,
                           lull_arena_printf(*state, "%s+%s.dot.1", names[far], names[near]),
                           128 / took * 1e9, NAN);
                for (size_t link = 0; link < far; link++)
                    lines[link].loads = link < near ? 2 : 1;
                assert_int_equal(lull_ecm_links(machine, lines, 3, *state, &ecm, &memory, NULL),
                                 LULL_OK);
                check_near("in both", lull_ecm_time(&ecm, 3), took, 1e-9);
            }
}

/* Of the machine above a line costs 1 cycle by loads alone, and 2 / 2 in a copy; with a triad of 6
 * cycles for four lines, four loads and a store are nearer to that (1 of 4) than to a copy (1 of 2)
 * or to loads. */
static void test_first_cache(void **state)
{
    struct lull_machine *machine = measured_machine(*state);
    check_near("loads", lull_ecm_first_cache(machine, 3, 0), 3, 1e-12);
    check_near("copy", lull_ecm_first_cache(machine, 2, 2), 4, 1e-12);
    set_number(machine, *state, "L1.triad.1", 4 * 64e9 / 6, NAN);
    check_near("stencil", lull_ecm_first_cache(machine, 4, 1), 5 * 6.0 / 4, 1e-12);
    assert_true(isnan(lull_ecm_first_cache(machine, 0, 0)));
    assert_true(isnan(lull_ecm_first_cache(lull_machine_create(*state), 1, 0)));
}

static void test_memory_bandwidth(void **state)
{
    struct lull_machine *machine = measured_machine(*state);
    struct lull_ecm_bandwidth got;
    struct lull_error err = {""};
    static const struct lull_ecm_lines copy = {2, 1, 1}, loads = {3, 0, 0};
    set_number(machine, *state, "memory.copy.8", 10e9, 15e9);
    assert_int_equal(lull_ecm_memory_bandwidth(machine, &copy, 0, &got, NULL), LULL_OK);
    assert_string_equal(got.kernel, "copy");
    check_near("copy", got.value, 15e9, 1);
    assert_int_equal(lull_ecm_memory_bandwidth(machine, &loads, 5, &got, NULL), LULL_OK);
    assert_string_equal(got.kernel, "load");
    check_near("load on at most 5 threads", got.value, 20e9, 1);
    struct lull_machine *nothing = lull_machine_create(*state);
    assert_int_equal(lull_ecm_memory_bandwidth(nothing, &loads, 0, &got, &err), LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "lull bench bandwidth"));
}

/* Shares of lines written, by hand: a stencil from one array to another moves 2 + 1 lines, 1/3, as
 * a copy and as a += b, of which it has the line that is read because it is written to in common
 * with the copy. Scaling in place writes 1/2, as an update and as a store. 4 lines read and 1
 * written are 1/5, a triad, whatever they are read for; 20 and 1 are 1/21, nearer to 0 than to 1/5.
 */
static void test_nearest_mix(void **state)
{
    static const struct {
        struct lull_ecm_lines lines;
        const char *kernel;
    } cases[] = {{{1, 0, 0}, "load"},   {{2, 1, 1}, "copy"},  {{2, 1, 0}, "daxpy"},
                 {{3, 3, 0}, "update"}, {{2, 2, 2}, "store"}, {{4, 1, 1}, "triad"},
                 {{4, 1, 0}, "triad"},  {{20, 1, 1}, "load"}, {{0, 0, 0}, "load"}};
    static const char *const streams[] = {"load", "copy", "triad", "update", "daxpy", "store"};
    struct lull_machine *machine = lull_machine_create(*state);
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        set_number(machine, *state, lull_arena_printf(*state, "memory.%s.1", streams[i]), 1e9, NAN);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lull_ecm_bandwidth got;
        assert_int_equal(lull_ecm_memory_bandwidth(machine, &cases[i].lines, 1, &got, NULL),
                         LULL_OK);
        assert_string_equal(got.kernel, cases[i].kernel);
    }
}

/* A line takes 1 ns where lines are only read, 2 ns where one of two is written: by hand 64 B / 1
 * ns and so on. Of streams that allocate a copy (1 of 3) takes 1.8 ns, sum8 (1 of 10) 1.1 ns.
 * Explicit bytes are 2 of 3 and 9 of 10 of the lines then. */
static struct lull_machine *machine_with_mixes(struct lull_arena *arena)
{
    struct lull_machine *machine = lull_machine_create(arena);
    set_number(machine, arena, "clock.effective", 1e9, NAN);
    set_number(machine, arena, "memory.load.2", 64e9, NAN);
    set_number(machine, arena, "memory.update.2", 64e9 / 2, NAN);
    set_number(machine, arena, "memory.daxpy.2", 64e9 / 1.6, NAN);
    set_number(machine, arena, "memory.copy.2", 64e9 / 1.8 * 2 / 3, 64e9 / 1.8);
    return machine;
}

/* Between their two neighbours, lines take the mean of what these take, as near as they are in
 * their share of lines written. Each case is worked out by hand. */
static void test_interpolated_mix(void **state)
{
    static const struct {
        struct lull_ecm_lines lines;
        double nanoseconds;
        const char *kernel;
        enum lull_ecm_mix mix;
    } cases[] = {
        {{9, 1, 0}, 1.2, "add8", LULL_ECM_SAME},
        {{29, 1, 0}, 1 + 0.2 / 3, "load and add8", LULL_ECM_INTERPOLATED}, /* 1 of 30 */
        {{4, 1, 0}, 1.3, "add3", LULL_ECM_SAME},
        {{3, 1, 0}, 1.3 + 0.3 * 0.05 / (1.0 / 3 - 0.2), "add3 and daxpy", LULL_ECM_INTERPOLATED},
        {{8, 5, 0}, 1.6 + 0.4 * 4 / 13, "daxpy and update", LULL_ECM_INTERPOLATED},
        {{1, 3, 0}, 2, "update", LULL_ECM_NEAREST},
        {{9, 1, 1}, 1.1, "sum8", LULL_ECM_SAME},
        {{9, 1, 0.25}, 1.175, "add8 and sum8", LULL_ECM_INTERPOLATED},
        {{2, 1, 1}, 1.8, "copy", LULL_ECM_SAME},
        {{1, 0, 0}, 1, "load", LULL_ECM_SAME},
        {{0, 0, 0}, 1, "load", LULL_ECM_SAME},
    };
    struct lull_machine *machine = machine_with_mixes(*state);
    struct lull_ecm_bandwidth got;
    /* Without mixes the nearest one counts: 1 of 10 is nearer to 0 than to 1 of 3. */
    assert_int_equal(lull_ecm_memory_bandwidth(machine, &cases[0].lines, 2, &got, NULL), LULL_OK);
    assert_string_equal(got.kernel, "load");
    assert_int_equal(got.mix, LULL_ECM_NEAREST);
    set_number(machine, *state, "memory.add8.2", 64e9 / 1.2, NAN);
    set_number(machine, *state, "memory.add3.2", 64e9 / 1.3, NAN);
    set_number(machine, *state, "memory.sum8.2", 64e9 / 1.1 * 9 / 10, 64e9 / 1.1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned threads = 0; threads <= 2; threads += 2) {
            assert_int_equal(
                lull_ecm_memory_bandwidth(machine, &cases[i].lines, threads, &got, NULL), LULL_OK);
            check_near("ns", 64e9 / got.value, cases[i].nanoseconds, 1e-9);
            assert_string_equal(got.kernel, cases[i].kernel);
            assert_int_equal(got.mix, cases[i].mix);
            assert_int_equal(got.threads, 2);
        }
}

/* Of streams with and without lines that are read only because they are written to, those that the
 * machine file lacks are replaced by the others. */
static void test_mix_without_its_like(void **state)
{
    struct lull_machine *machine = lull_machine_create(*state);
    static const struct lull_ecm_lines lines = {9, 1, 1};
    struct lull_ecm_bandwidth got;
    set_number(machine, *state, "memory.add8.1", 50e9, NAN);
    assert_int_equal(lull_ecm_memory_bandwidth(machine, &lines, 1, &got, NULL), LULL_OK);
    assert_string_equal(got.kernel, "add8");
    check_near("add8", got.value, 50e9, 1);
}

/* A loop with the mix of a benchmark takes on each link what that benchmark takes longer behind
 * it; one half way between two, half of each. Lines take 1 and 3 cycles in L1 and memory by loads,
 * 1.5 and 4.5 by add8. */
static void test_interpolated_links(void **state)
{
    struct lull_machine *machine = lull_machine_create(*state);
    static const struct lull_ecm_lines mixes[] = {{9, 1, 0}, {19, 1, 0}};
    set_number(machine, *state, "clock.effective", 1e9, NAN);
    set_number(machine, *state, "L1.load.1", 64e9, NAN);
    set_number(machine, *state, "memory.load.1", 64e9 / 3, NAN);
    set_number(machine, *state, "L1.add8.1", 64e9 / 1.5, NAN);
    set_number(machine, *state, "memory.add8.1", 64e9 / 4.5, NAN);
    for (size_t i = 0; i < 2; i++) {
        struct lull_ecm ecm = {0};
        struct lull_ecm_bandwidth memory;
        assert_int_equal(lull_ecm_links(machine, &mixes[i], 1, *state, &ecm, &memory, NULL),
                         LULL_OK);
        check_near("link", ecm.links[0].cycles, i ? 20 * (2 + 3) / 2.0 : 10 * 3, 1e-9);
        check_near("shared", ecm.shared, i ? 20 * (3 + 4.5) / 2 : 10 * 4.5, 1e-9);
    }
}

TEST_GROUP(test_ecm)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walk_through),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_cores),
        cmocka_unit_test(test_transfer),
        cmocka_unit_test_setup_teardown(test_measured_links, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_means, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_overlap_of_vendors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_measured_overlap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_overlap_reproduced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_first_cache, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory_bandwidth, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nearest_mix, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_interpolated_mix, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mix_without_its_like, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_interpolated_links, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
