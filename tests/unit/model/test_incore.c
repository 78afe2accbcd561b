/* The loop in assembler code, and its chain; counts and latencies by hand. */
#include "model/kernel/incore.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

/* As compilers lay functions out: a remainder in front, the vector loop, an outer loop around, and
 * another function that does not count. */
static const char code[] = "\t.text\n"
                           "other:\n"
                           ".L1:\n"
                           "\tvmovupd\t(%rdi), %zmm0\n"
                           "\tvmovupd\t%zmm0, (%rsi)\n"
                           "\tjne\t.L1\n"
                           "\t.size\tother, .-other\n"
                           "lull_loop:\n"
                           "\t.cfi_startproc\n"
                           "\txorl\t%ecx, %ecx\n"
                           ".L2:\n"
                           "\txorl\t%eax, %eax\n"
                           ".L3:\n"
                           "\tvmovsd\t(%rdi,%rax), %xmm1\n"
                           "\tvmovsd\t%xmm1, (%rsi,%rax)\n"
                           "\taddq\t$8, %rax\n"
                           "\tjne\t.L3\n"
                           "\t.p2align 4\n"
                           ".L4:\t\t\t\t# the loop\n"
                           "\tvmovupd\t(%rdi,%rax), %ymm0\n"
                           "\tvfmadd231pd\t32(%rdx,%rax), %ymm0, %ymm2\n"
                           "\tvaddpd\t%ymm2, %ymm0, %ymm3\n"
                           "\tvmovupd\t%ymm3, (%rsi,%rax)\n"
                           "\tvextractf128\t$1, %ymm3, 16(%rsi,%rax)\n"
                           "\taddq\t$32, %rax\n"
                           "\tcmpq\t%r8, %rax\n"
                           "\tjne\t.L4\n"
                           "\taddl\t$1, %ecx\n"
                           "\tjne\t.L2\n"
                           "\tret\n"
                           "\t.size\tlull_loop, .-lull_loop\n";

static void loop_that_moves_most_is_found(void **state)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_assembly_loop loop;
    (void)state;
    assert_true(lull_assembly_find(code, "lull_loop", (struct lull_source_lines){0}, arena, &loop));
    assert_int_equal(loop.count, 8);
    assert_true(loop.loaded == 64);
    assert_true(loop.stored == 32 + 16);
    assert_true(loop.items[1].load && !loop.items[1].store && loop.items[1].arithmetic);
    assert_true(loop.items[3].store && !loop.items[3].load);
    assert_false(loop.items[6].load || loop.items[6].store);
    assert_string_equal(lull_assembly_without_load(&loop.items[1], arena),
                        "vfmadd231pd\t%ymm15, %ymm0, %ymm2");
    assert_string_equal(lull_assembly_without_load(&loop.items[3], arena), loop.items[3].text);
    assert_false(lull_assembly_find(code, "nothing", (struct lull_source_lines){0}, arena, &loop));
    lull_arena_destroy(arena);
}

/* Two loops of kernel.c, the second of which the compiler left no jump: two loads and a store of 8
 * bytes at lines 7 and 8. Line 7 of another file does not count, nor does line 9. */
static const char lines[] = "\t.text\n"
                            "lull_loop:\n"
                            "\t.file 1 \"/tmp/other.c\"\n"
                            "\t.loc 1 7 1\n"
                            "\tmovq\t(%rdi), %rax\n"
                            "\t.file 2 \"src/kernel.c\"\n"
                            "\t.loc 2 4 10\n"
                            ".L3:\n"
                            "\tvmovupd\t(%rdi,%rax), %ymm0\n"
                            "\t.loc 2 5 12 is_stmt 0\n"
                            "\tvmovupd\t%ymm0, (%rsi,%rax)\n"
                            "\taddq\t$32, %rax\n"
                            "\tjne\t.L3\n"
                            "\t.loc 2 7 3\n"
                            "\tvmovsd\t(%rdi), %xmm1\n"
                            "\tvaddsd\t8(%rdi), %xmm1, %xmm1\n"
                            "\t.loc 2 8 3\n"
                            "\tvmovsd\t%xmm1, (%rsi)\n"
                            "\t.loc 2 9 1\n"
                            "\tvmovsd\t%xmm1, 8(%rsi)\n"
                            "\tret\n"
                            "\t.size\tlull_loop, .-lull_loop\n";

static void loops_are_told_apart_by_their_lines(void **state)
{
    const struct lull_source_lines first = {"/home/src/kernel.c", 4, 5},
                                   second = {"kernel.c", 7, 8};
    const struct lull_source_lines nowhere = {"kernel.c", 6, 6}, other = {"nel.c", 4, 5};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_assembly_loop loop;
    (void)state;
    assert_true(lull_assembly_find(lines, "lull_loop", first, arena, &loop));
    assert_int_equal(loop.count, 4);
    assert_false(lull_assembly_find(lines, "lull_loop", second, arena, &loop));
    assert_false(lull_assembly_find(lines, "lull_loop", other, arena, &loop));
    assert_true(lull_assembly_find_unrolled(lines, "lull_loop", second, arena, &loop));
    assert_int_equal(loop.count, 3);
    assert_true(loop.loaded == 16 && loop.stored == 8);
    assert_false(lull_assembly_find_unrolled(lines, "lull_loop", nowhere, arena, &loop));
    lull_arena_destroy(arena);
}

/* ymm2 is added to in every pass: the multiply-add alone is on its way. The address takes one. */
static void chain_is_the_longest_way_back(void **state)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_assembly_loop loop;
    double latency[8] = {7, 4, 3, 0, 2, 1, 1, 1};
    (void)state;
    assert_true(lull_assembly_find(code, "lull_loop", (struct lull_source_lines){0}, arena, &loop));
    assert_true(lull_assembly_chain(&loop, latency, arena) == 4);
    latency[1] = 0.5;
    assert_true(lull_assembly_chain(&loop, latency, arena) == 1);
    lull_arena_destroy(arena);
}

/* A scalar product as gcc unrolls it: two multiply-adds wait for each other in zmm0, 4 cycles each
 * on all cores since Skylake and Zen 2. Two of them need one cycle where two units of 64 bytes do
 * them, and two where the core was measured to make 16 flop per cycle with such registers. */
static const char product[] = "\t.text\n"
                              "lull_loop:\n"
                              ".L2:\n"
                              "\tvmovupd\t(%rsi,%rax), %zmm3\n"
                              "\tvmovupd\t64(%rsi,%rax), %zmm4\n"
                              "\tvfmadd231pd\t(%rdi,%rax), %zmm3, %zmm0\n"
                              "\tvfmadd231pd\t64(%rdi,%rax), %zmm4, %zmm0\n"
                              "\tsubq\t$-128, %rax\n"
                              "\tjne\t.L2\n"
                              "\t.size\tlull_loop, .-lull_loop\n";

static void estimate_has_the_chain(void **state)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_machine *machine = lull_machine_create(arena);
    struct lull_incore incore = {.vector_bits = 512};
    struct lull_assembly_loop loop;
    (void)state;
    assert_true(
        lull_assembly_find(product, "lull_loop", (struct lull_source_lines){0}, arena, &loop));
    lull_incore_estimate(&loop, machine, arena, &incore);
    assert_true(incore.chain == 8);
    assert_true(incore.t_nol == 2);
    assert_true(incore.t_ol == 1.5); /* six instructions, four per cycle */
    struct lull_number peak = lull_number_plain(4e10, "flop/s", "p10");
    peak.in_cycles = 16;
    peak.name = "peak.dp.fma.avx512.1";
    lull_machine_set(machine, arena, &peak);
    lull_incore_estimate(&loop, machine, arena, &incore);
    assert_true(incore.t_ol == 2);
    lull_arena_destroy(arena);
}

/* A gather of eight doubles is eight loads, one of sixteen floats sixteen; with one for the indices
 * at two loads per cycle. */
static void gathers_load_each_element(void **state)
{
    static const char gathers[] = "\t.text\n"
                                  "lull_loop:\n"
                                  ".L2:\n"
                                  "\tvmovdqu32\t(%rcx,%rdx), %zmm1\n"
                                  "\tvgatherdpd\t(%rax,%ymm1,8), %zmm2{%k1}\n"
                                  "\tvgatherdps\t(%rax,%zmm1,4), %zmm3{%k2}\n"
                                  "\taddq\t$64, %rdx\n"
                                  "\tjne\t.L2\n"
                                  "\t.size\tlull_loop, .-lull_loop\n";
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_incore incore = {.vector_bits = 512};
    struct lull_assembly_loop loop;
    (void)state;
    assert_true(
        lull_assembly_find(gathers, "lull_loop", (struct lull_source_lines){0}, arena, &loop));
    lull_incore_estimate(&loop, lull_machine_create(arena), arena, &incore);
    assert_true(incore.t_nol == (1 + 8 + 16) / 2.0);
    lull_arena_destroy(arena);
}

/* Line 9 alone, which stores. */
static void what_only_stores_moves_data(void **state)
{
    const struct lull_source_lines last = {"kernel.c", 9, 9};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_assembly_loop loop;
    (void)state;
    assert_true(lull_assembly_find_unrolled(lines, "lull_loop", last, arena, &loop));
    assert_true(loop.loaded == 0 && loop.stored == 8);
    lull_arena_destroy(arena);
}

/* Divisions and roots take long, and are not counted with what is pipelined. */
static void divisions_are_no_arithmetic(void **state)
{
    static const char loop_of[] = "\t.text\n"
                                  "lull_loop:\n"
                                  ".L3:\n"
                                  "\tvmovupd\t(%%rdi,%%rax), %%ymm0\n"
                                  "\t%s\t%%xmm1, %%xmm2\n"
                                  "\tjne\t.L3\n"
                                  "\t.size\tlull_loop, .-lull_loop\n";
    static const struct {
        const char *name;
        bool divides;
    } cases[] = {{"vdivsd", true}, {"divsd", true},   {"vsqrtsd", true},
                 {"sqrtsd", true}, {"vmulsd", false}, {"addsd", false},
                 {"subsd", false}, {"vsubsd", false}, {"vdppd", false}};
    struct lull_arena *arena = lull_arena_create(NULL);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lull_assembly_loop loop;
        char text[400];
        snprintf(text, sizeof text, loop_of, cases[i].name);
        assert_true(
            lull_assembly_find(text, "lull_loop", (struct lull_source_lines){0}, arena, &loop));
        fail_if(loop.items[1].division != cases[i].divides, "%s", cases[i].name);
        fail_if(loop.items[1].arithmetic == cases[i].divides, "%s", cases[i].name);
    }
    lull_arena_destroy(arena);
}

TEST_GROUP(test_incore)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_are_told_apart_by_their_lines),
        cmocka_unit_test(loop_that_moves_most_is_found),
        cmocka_unit_test(chain_is_the_longest_way_back),
        cmocka_unit_test(estimate_has_the_chain),
        cmocka_unit_test(gathers_load_each_element),
        cmocka_unit_test(what_only_stores_moves_data),
        cmocka_unit_test(divisions_are_no_arithmetic),
    };
    return run_cases(tests, NULL, NULL);
}
