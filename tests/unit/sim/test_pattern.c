/* Patterns: what operations they give, and the reference schedules that they stand for. */
#include "sim/engine/engine.h"
#include "sim/pattern/pattern.h"
#include "support/arena_case.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct lull_error err;

static struct lull_program *opened(const char *text)
{
    struct lull_spec *spec;
    struct lull_program *program = NULL;
    fail_if(lull_spec_parse(text, arena, &spec, &err) != LULL_OK ||
                lull_pattern_open(spec, &program, &err) != LULL_OK,
            "%s: %s", text, err.text);
    return program;
}

/* All operations of a rank as letters: "c" compute, "s3" send to 3, "r3" receive from 3, "w" wait,
 * "A" collective; an iteration begins with ".". */
static const char *told(struct lull_program *program, uint32_t rank, uint32_t room)
{
    static char text[4000];
    struct lull_op ops[64];
    uint32_t count;
    size_t used = 0;
    static const char letters[LULL_OP_KINDS] = {
        [LULL_OP_SEND] = 's', [LULL_OP_RECV] = 'r', [LULL_OP_COMPUTE] = 'c',
        [LULL_OP_WAIT] = 'w', [LULL_OP_MARK] = '.', [LULL_OP_COLLECTIVE] = 'A',
        [LULL_OP_SYNC] = '?'};
    *text = '\0';
    for (;;) {
        assert_int_equal(program->class->next(program, rank, ops, room, &count, &err), LULL_OK);
        if (count == 0)
            return text;
        assert_true(count <= room);
        for (uint32_t i = 0; i < count; i++) {
            bool message = ops[i].kind == LULL_OP_SEND || ops[i].kind == LULL_OP_RECV;
            used += (size_t)(message ? snprintf(text + used, sizeof text - used, "%c%u ",
                                                letters[ops[i].kind], ops[i].peer)
                                     : snprintf(text + used, sizeof text - used, "%c ",
                                                letters[ops[i].kind]));
        }
    }
}

static void expect(const char *spec, uint32_t rank, const char *want)
{
    struct lull_program *program = opened(spec);
    for (uint32_t room = 16; room <= 64; room *= 2) {
        const char *got = told(program, rank, room);
        fail_if(strcmp(got, want) != 0, "%s: rank %u does '%s', expected '%s'", spec, rank, got,
                want);
        assert_int_equal(program->class->rewind(program, &err), LULL_OK);
    }
    lull_program_close(program);
}

static void test_chain(void **state)
{
    (void)state;
    expect("chain:ranks=4,iterations=2", 0, ". c r1 s1 w . c r1 s1 w ");
    expect("chain:ranks=4,iterations=1", 2, ". c r1 r3 s3 s1 w ");
    expect("chain:ranks=4,iterations=1,direction=up", 2, ". c r1 s3 w ");
    expect("chain:ranks=4,iterations=1,direction=down", 2, ". c r3 s1 w ");
    expect("chain:ranks=4,iterations=1,direction=up", 3, ". c r2 w ");
    expect("chain:ranks=4,iterations=1,boundary=periodic", 3, ". c r2 r0 s0 s2 w ");
    expect("chain:ranks=1,iterations=1", 0, ". c w ");
    expect("chain:ranks=9,iterations=1,distances=1+3", 4, ". c r3 r5 r1 r7 s5 s3 s7 s1 w ");
    expect("chain:ranks=9,iterations=1,distances=1+3,wait=distance", 4,
           ". c r3 r5 s5 s3 w r1 r7 s7 s1 w ");
    expect("chain:ranks=9,iterations=1,distances=1+3,wait=direction", 4,
           ". c r3 r1 s5 s7 w r5 r7 s3 s1 w ");
    expect("chain:ranks=9,iterations=1,distances=1+3,wait=each", 4,
           ". c r3 s5 w r5 s3 w r1 s7 w r7 s1 w ");
    expect("chain:ranks=4,iterations=3,collective=allreduce,every=2,direction=up", 0,
           ". c s1 w . c s1 w A . c s1 w ");
}

static void test_grid(void **state)
{
    (void)state;
    expect("grid:ranks=3x3,iterations=1", 4, ". c r3 r5 r1 r7 s3 s5 s1 s7 w ");
    expect("grid:ranks=3x3,iterations=1", 0, ". c r1 r3 s1 s3 w ");
    expect("grid:ranks=3x3,iterations=1,boundary=periodic", 0, ". c r2 r1 r6 r3 s2 s1 s6 s3 w ");
    expect("grid:ranks=3x3,iterations=1,wait=direction", 4, ". c r3 s5 w r5 s3 w r1 s7 w r7 s1 w ");
    expect("grid:ranks=2x2x2,iterations=1", 5, ". c r4 r7 r1 s4 s7 s1 w ");
}

static void test_collective(void **state)
{
    (void)state;
    expect("collective:op=bcast,ranks=4,iterations=2,exec=0", 3, ". c A . c A ");
}

static void test_bad(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"chian", "unknown pattern 'chian', did you mean 'chain'? known: chain, grid, collective"},
        {"chain:ranks=0", "chain: ranks is '0', expected one to three extents as in 8x8"},
        {"chain:ranks=4x4", "chain: ranks is 4x4, expected one number"},
        {"chain:ranks=99999999", "chain: ranks is 99999999, expected at most 16777216 in all"},
        {"chain:distances=0", "chain: distances holds 0, expected 1 to 16777216"},
        {"chain:bytes=-1", "chain: bytes is '-1', expected a size as in 4KiB"},
        {"chain:exec=-1ms", "chain: exec is '-1ms', expected times as in 1ms or 1ms+2ms"},
        {"chain:iterations=0", "chain: iterations is 0, expected 1 to 4294967294"},
        {"chain:wait=none", "chain: wait is 'none', expected all, direction, distance or each"},
        {"collective:op=none", "collective: op is 'none', expected an operation"},
        {"collective:root=16", "collective: root is 16, expected 0 to 15"},
        {"collective:wait=all",
         "collective: unknown key 'wait', known: ranks, exec, iterations, op, bytes, root"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct lull_spec *spec;
        struct lull_program *program;
        assert_int_equal(lull_spec_parse(bad[i].text, arena, &spec, &err), LULL_OK);
        assert_int_equal(lull_pattern_open(spec, &program, &err), LULL_ERR_RANGE);
        assert_string_equal(err.text, bad[i].message);
    }
}

/* ---- reference schedules --------------------------------------------------------------------- */

static void check_reference(const char *folder, const char *name, char set, const char *text,
                            struct lull_delay delay)
{
    static const double a[] = {2500, 1500, 1000, 6, 0, 65535}, d[] = {700, 0, 0, 0, 0, 1e9};
    static const char *const names[] = {"L", "o", "g", "G", "O", "S"};
    char path[4000];
    snprintf(path, sizeof path, "%s/%s.%c.expected", folder, name, set);
    FILE *in = fopen(path, "r");
    fail_if(!in, "cannot open %s", path);
    struct lull_program *program = opened(text);
    struct lull_network network;
    lull_network_init(&network, lull_network_find("loggops-compat"));
    for (unsigned i = 0; i < 6; i++)
        lull_network_set(&network, lull_network_parameter(network.class, names[i]), LULL_LEVELS,
                         set == 'A' ? a[i] : d[i]);
    struct lull_sim_options options = {
        .network = &network, .delays = &delay, .n_delays = delay.length > 0};
    struct lull_sim_result result;
    fail_if(lull_simulate(program, &options, arena, &result, NULL, &err) != LULL_OK, "%s: %s", text,
            err.text);
    uint32_t lines = 0;
    unsigned rank;
    long long end;
    for (; fscanf(in, "%u %lld", &rank, &end) == 2; lines++)
        fail_if(result.ranks[rank].end != end, "%s.%c: rank %u ends at %lld, expected %lld", name,
                set, rank, (long long)result.ranks[rank].end, end);
    fclose(in);
    assert_int_equal(lines, result.n_ranks);
    lull_program_close(program);
}

static void test_reference_schedules(void **state)
{
    (void)state;
    static const struct {
        const char *name, *pattern;
        struct lull_delay delay;
    } rows[] = {
        {"w07_wave_uni_d1",
         "chain:ranks=16,direction=up,exec=3000,bytes=1024,iterations=12",
         {4, true, 0, 30000}},
        {"w09_wave_bi_d1_rdv",
         "chain:ranks=24,exec=50us,bytes=100000,iterations=12",
         {5, true, 0, 500000}},
        {"w11_wave_bi_compact3_split",
         "chain:ranks=48,distances=1+2+3,wait=distance,exec=100us,bytes=1024,iterations=10",
         {5, true, 0, 2000000}},
        {"s13_stencil_8x8", "grid:ranks=8x8,exec=20us,bytes=2048,iterations=10", {0}},
        {"s15_stencil_8x4_rdv", "grid:ranks=8x4,exec=100us,bytes=80000,iterations=6", {0}},
    };
    const char *traces = getenv("LULL_CONFORMANCE_DIR");
    char folder[3000], probe[3200];
    snprintf(folder, sizeof folder, "%s/../golden/goal", traces ? traces : "../../shared/traces");
    snprintf(probe, sizeof probe, "%s/%s.A.expected", folder, rows[0].name);
    FILE *there = fopen(probe, "r");
    if (!there) {
        printf("skipped: no reference schedules in %s (LULL_CONFORMANCE_DIR)\n", folder);
        skip();
    }
    fclose(there);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (unsigned s = 0; s < 2; s++)
            check_reference(folder, rows[i].name, "AD"[s], rows[i].pattern, rows[i].delay);
}

TEST_GROUP(test_pattern)
{
    const struct CMUnitTest tests[] = {
        ARENA_TEST(test_chain),
        ARENA_TEST(test_grid),
        ARENA_TEST(test_collective),
        ARENA_TEST(test_bad),
        ARENA_TEST(test_reference_schedules),
    };
    return run_cases(tests, NULL, NULL);
}
