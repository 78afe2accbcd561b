/* In-core times by the compiler and llvm-mca, against published ones: loads of vector triad, scalar
 * product and five-point stencil on three processors, and their arithmetic on Haswell (cycles per
 * cache line of results with AVX2). */
#include "model/kernel/incore.h"
#include "model/kernel/predict.h"
#include "support/seed.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *kernel;
    double t_nol, t_ol_haswell;
} published[] = {{"triad", 3, 2}, {"dot", 2, 1}, {"jacobi2d", 4, 6}};

static lull_status find(const char *kernel_name, const char *cpu, const char *compiler,
                        struct lull_arena *arena, struct lull_incore *ret_incore)
{
    struct lull_error err;
    struct lull_kernel *kernel;
    struct lull_machine *machine = lull_machine_create(arena);
    const struct lull_kernel_size sizes[] = {{"N", 10000}, {"M", 1000}};
    const struct lull_incore_options options = {.compiler = compiler};
    struct lull_incore_code code = {.arena = arena};
    const struct lull_kernel_source source = {
        .path = lull_arena_printf(arena, "%s/../examples/kernels/%s.c", getenv("LULL_TESTS_DIR"),
                                  kernel_name),
        .sizes = sizes,
        .n_sizes = strcmp(kernel_name, "jacobi2d") == 0 ? 2 : 1};
    machine->core.llvm_cpu = cpu;
    lull_status status = lull_kernel_read(&source, arena, &kernel, &err);
    if (status == LULL_OK)
        status = lull_incore_find(kernel, machine, &options, 64, &code, arena, ret_incore, &err);
    if (status != LULL_OK)
        printf("skipped: %s\n", err.text);
    return status;
}

static struct lull_kernel *nest(const char *name, struct lull_arena *arena)
{
    static const struct lull_kernel_size sizes[] = {{"N", 10000}, {"M", 1000}};
    const struct lull_kernel_source source = {
        .path = lull_arena_printf(arena, "%s/data/kernel/%s", getenv("LULL_TESTS_DIR"), name),
        .sizes = sizes,
        .n_sizes = 2};
    struct lull_kernel *kernel;
    struct lull_error err;
    fail_if(lull_kernel_read(&source, arena, &kernel, &err) != LULL_OK, "%s", err.text);
    return kernel;
}

static void times_are_the_published_ones(void **state)
{
    static const char *const cpus[] = {"haswell", "skylake-avx512", "znver3"};
    static const char *const compilers[] = {"gcc", "clang"};
    unsigned found = 0;
    (void)state;
    for (size_t k = 0; k < 3; k++)
        for (size_t c = 0; c < 3; c++)
            for (size_t i = 0; i < 2; i++) {
                if (!lull_test_picks(k + c + i, 3))
                    continue;
                struct lull_arena *arena = lull_arena_create(NULL);
                struct lull_incore incore;
                if (find(published[k].kernel, cpus[c], compilers[i], arena, &incore) != LULL_OK) {
                    lull_arena_destroy(arena);
                    continue;
                }
                found++;
                assert_int_equal(incore.source, LULL_INCORE_MCA);
                fail_if(!(fabs(incore.t_nol - published[k].t_nol) < 0.05),
                        "%s on %s by %s: T_nOL %g, expected %g", published[k].kernel, cpus[c],
                        compilers[i], incore.t_nol, published[k].t_nol);
                fail_if(c == 0 && !(fabs(incore.t_ol - published[k].t_ol_haswell) < 0.05),
                        "%s on haswell by %s: T_OL %g, expected %g", published[k].kernel,
                        compilers[i], incore.t_ol, published[k].t_ol_haswell);
                lull_arena_destroy(arena);
            }
    if (found == 0)
        skip();
}

/* The triad and the scalar product in one nest: each is found, with its own published times. */
static void loops_of_a_nest_are_told_apart(void **state)
{
    static const char *const compilers[] = {"gcc", "clang"};
    unsigned found = 0;
    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (size_t loop = 0; loop < 2; loop++) {
            struct lull_arena *arena = lull_arena_create(NULL);
            struct lull_incore incore;
            struct lull_kernel *kernel = nest("triad-dot.c", arena);
            struct lull_kernel body = lull_kernel_look_at(kernel, (int)loop + 1);
            struct lull_machine *machine = lull_machine_create(arena);
            const struct lull_incore_options options = {.compiler = compilers[i]};
            struct lull_incore_code code = {.arena = arena};
            machine->core.llvm_cpu = "haswell";
            struct lull_error err;
            lull_status status =
                lull_incore_find(&body, machine, &options, 64, &code, arena, &incore, &err);
            if (status == LULL_ERR_IO)
                printf("skipped: %s\n", err.text);
            else if (status != LULL_OK)
                fail_msg("%s", err.text);
            else if (!(fabs(incore.t_nol - published[loop].t_nol) < 0.05) ||
                     !(fabs(incore.t_ol - published[loop].t_ol_haswell) < 0.05))
                fail_msg("%s by %s: {%g || %g}", published[loop].kernel, compilers[i], incore.t_ol,
                         incore.t_nol);
            found += status == LULL_OK;
            lull_arena_destroy(arena);
        }
    if (found == 0)
        skip();
}

/* One register takes all products, two vectors of four for a cache line: twice the latency of a
 * multiply-add, which is 5 on Haswell (Intel's manual). gcc keeps one. */
static void one_sum_is_a_chain(void **state)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_incore incore;
    (void)state;
    const bool found = find("dot", "haswell", "gcc", arena, &incore) == LULL_OK;
    const double chain = found ? incore.chain : NAN;
    lull_arena_destroy(arena);
    if (!found)
        skip();
    assert_true(fabs(chain - 10) < 0.05);
}

/* Of a Gauss-Seidel sweep each point waits for a multiply-add of the one before it: eight times 5
 * cycles on Haswell. Values are scalars, which are moved by other instructions than vectors. */
static void points_wait_for_each_other(void **state)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_incore incore;
    struct lull_kernel *kernel = nest("gauss-seidel.c", arena);
    struct lull_machine *machine = lull_machine_create(arena);
    const struct lull_incore_options options = {.compiler = "gcc"};
    struct lull_incore_code code = {.arena = arena};
    struct lull_error err;
    (void)state;
    machine->core.llvm_cpu = "haswell";
    if (lull_incore_find(kernel, machine, &options, 64, &code, arena, &incore, &err) != LULL_OK)
        printf("skipped: %s\n", err.text);
    else if (!(fabs(incore.chain - 40) < 0.05))
        fail_msg("chain of %g cycles", incore.chain);
    lull_arena_destroy(arena);
}

/* Kahan's summation of a scalar product: of the additions in an iteration four wait for each
 * other, 3 cycles each on Haswell (Intel's manual), 96 for a cache line, which is the published
 * time (J. Hammer et al., Automatic loop kernel analysis and performance modeling with Kerncraft,
 * PMBS 2015). No port and no transfer takes that long, so that it is the prediction with the data
 * in any level. */
static void the_chain_bounds_the_prediction(void **state)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    static const struct lull_kernel_size size = {"N", 1000000};
    const struct lull_kernel_source source = {
        .path =
            lull_arena_printf(arena, "%s/golden/kernel/chain/kahan.c", getenv("LULL_TESTS_DIR")),
        .sizes = &size,
        .n_sizes = 1};
    const char *machine_path =
        lull_arena_printf(arena, "%s/../data/haswell-e5-2695v3-cod.json", getenv("LULL_TESTS_DIR"));
    const struct lull_kernel_options options = {.incore = {.compiler = "gcc"}, .cores = 1};
    struct lull_kernel_prediction prediction;
    struct lull_kernel *kernel;
    struct lull_machine *machine;
    struct lull_error err;
    (void)state;
    lull_status status = lull_machine_read(machine_path, arena, &machine, &err);
    if (status == LULL_OK)
        status = lull_kernel_read(&source, arena, &kernel, &err);
    if (status == LULL_OK)
        status =
            lull_kernel_predict(kernel, machine, &source, &options, NULL, arena, &prediction, &err);
    fail_if(status != LULL_OK, "%s", err.text);
    assert_true(prediction.ecm.t_ol < 96);
    assert_int_equal(prediction.ecm.n_links, 3);
    for (size_t level = 0; level <= 3; level++) {
        double cycles = lull_prediction_cycles(&prediction, level);
        fail_if(!(fabs(cycles - 96) < 0.5), "%g cycles at level %zu, expected 96", cycles, level);
    }
    lull_arena_destroy(arena);
}

/* A triad that is repeated is still a triad for each repetition: its loops are not exchanged. */
static void loops_stay_in_order(void **state)
{
    static const char *const compilers[] = {"gcc", "clang"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct lull_arena *arena = lull_arena_create(NULL);
        struct lull_incore incore;
        struct lull_kernel *kernel = nest("repeated-triad.c", arena);
        struct lull_machine *machine = lull_machine_create(arena);
        const struct lull_incore_options options = {.compiler = compilers[i]};
        struct lull_incore_code code = {.arena = arena};
        struct lull_error err;
        machine->core.llvm_cpu = "haswell";
        if (lull_incore_find(kernel, machine, &options, 64, &code, arena, &incore, &err) != LULL_OK)
            printf("skipped: %s\n", err.text);
        else
            fail_if(!(fabs(incore.t_nol - 2) < 0.05), "%s: T_nOL %g", compilers[i], incore.t_nol);
        lull_arena_destroy(arena);
    }
}

/* Machine code as GNU as makes it. Ports of Haswell and its latencies: A. Fog, Instruction tables: two loads and
 * one store a cycle; an addition of floating-point numbers takes 3 cycles; a load of an address from the first
 * cache 4, and 5 by Intel's manual, which llvm-mca has. */
static const uint8_t dot_code[] = {0xf2, 0x0f, 0x10, 0x04, 0xc6,   /* movsd (%rsi,%rax,8), %xmm0 */
                                   0xf2, 0x0f, 0x59, 0x04, 0xc2,   /* mulsd (%rdx,%rax,8), %xmm0 */
                                   0xf2, 0x0f, 0x58, 0xc8,         /* addsd %xmm0, %xmm1 */
                                   0x48, 0x83, 0xc0, 0x01,         /* add $1, %rax */
                                   0x48, 0x39, 0xc8,               /* cmp %rcx, %rax */
                                   0x75, 0xe9};                    /* jne to the begin */
static const uint8_t triad_code[] = {0xc5, 0xfd, 0x10, 0x04, 0x06, /* vmovupd (%rsi,%rax), %ymm0 */
                                     0xc4, 0xe2, 0xf5, 0xa8, 0x04,
                                     0x02, /* vfmadd213pd (%rdx,%rax), %ymm1, %ymm0 */
                                     0xc5, 0xfd, 0x11, 0x04, 0x07, /* vmovupd %ymm0, (%rdi,%rax) */
                                     0x48, 0x83, 0xc0, 0x20,       /* add $32, %rax */
                                     0x48, 0x39, 0xc8,             /* cmp %rcx, %rax */
                                     0x75, 0xe7};                  /* jne to the begin */
static const uint8_t list_code[] = {0x48, 0x8b, 0x00,              /* mov (%rax), %rax */
                                    0x48, 0x85, 0xc0,              /* test %rax, %rax */
                                    0x75, 0xf8};                   /* jne to the begin */

static struct lull_incore_binary look_at_code(const uint8_t *code, size_t size, bool whole,
                                              struct lull_arena *arena)
{
    const struct lull_incore_options options = {0};
    struct lull_machine *machine = lull_machine_create(arena);
    struct lull_incore_binary binary;
    struct lull_error err;
    machine->core.llvm_cpu = "haswell";
    const lull_status status =
        lull_incore_of_code(code, size, whole, machine, &options, arena, &binary, &err);
    fail_if(status != LULL_OK, "%s", err.text);
    assert_int_equal(binary.incore.source, LULL_INCORE_MCA);
    return binary;
}

static void machine_code_has_its_time(void **state)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    (void)state;
    struct lull_incore_binary binary = look_at_code(dot_code, sizeof dot_code, true, arena);
    assert_int_equal(binary.n_instructions, 6);
    assert_int_equal(binary.scalar, 2);
    assert_int_equal(binary.packed, 0);
    assert_int_equal(binary.lanes, 1);
    assert_int_equal(binary.element_bytes, 8);
    fail_if(binary.incore.t_nol != 1 || binary.incore.chain != 3 || binary.cycles != 3,
            "dot: T_nOL %g, chain %g, %g cycles", binary.incore.t_nol, binary.incore.chain,
            binary.cycles);
    assert_string_equal(binary.limit, "dependency chain");
    binary = look_at_code(dot_code, sizeof dot_code, false, arena); /* others may lie between */
    assert_true(isnan(binary.incore.chain) && binary.cycles < 3);

    binary = look_at_code(triad_code, sizeof triad_code, true, arena);
    assert_int_equal(binary.scalar, 0);
    assert_int_equal(binary.packed, 1);
    assert_int_equal(binary.lanes, 4);
    fail_if(binary.incore.t_nol != 1 || binary.incore.chain != 1, "triad: T_nOL %g, chain %g",
            binary.incore.t_nol, binary.incore.chain);

    binary = look_at_code(list_code, sizeof list_code, true, arena);
    fail_if(!(binary.incore.chain >= 4 && binary.incore.chain <= 5), "list: chain %g",
            binary.incore.chain);
    assert_string_equal(binary.limit, "dependency chain");
    assert_int_equal(binary.element_bytes, 0);
    lull_arena_destroy(arena);
}

static void code_that_is_none_is_refused(void **state)
{
    static const uint8_t bad[] = {0x48, 0x83, 0xc0, 0x01, 0x06, 0xff, 0xff};
    struct lull_arena *arena = lull_arena_create(NULL);
    const struct lull_incore_options options = {0};
    struct lull_incore_binary binary;
    struct lull_error err;
    (void)state;
    assert_int_equal(lull_incore_of_code(bad, sizeof bad, true, lull_machine_create(arena),
                                         &options, arena, &binary, &err),
                     LULL_ERR_FORMAT);
    assert_non_null(strstr(err.text, "llvm-mc"));
    lull_arena_destroy(arena);
}

TEST_GROUP(test_mca)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_incore incore;
    bool works = find("triad", "haswell", "cc", arena, &incore) == LULL_OK;
    if (works && incore.source != LULL_INCORE_MCA)
        printf("skipped: llvm-mca is not there\n");
    works = works && incore.source == LULL_INCORE_MCA;
    lull_arena_destroy(arena);
    if (!works)
        return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(times_are_the_published_ones),
                                       cmocka_unit_test(loops_of_a_nest_are_told_apart),
                                       cmocka_unit_test(one_sum_is_a_chain),
                                       cmocka_unit_test(points_wait_for_each_other),
                                       cmocka_unit_test(loops_stay_in_order),
                                       cmocka_unit_test(machine_code_has_its_time),
                                       cmocka_unit_test(code_that_is_none_is_refused),
                                       cmocka_unit_test(the_chain_bounds_the_prediction)};
    return run_cases(tests, NULL, NULL);
}
