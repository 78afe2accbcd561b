/* What other forms of a loop would reach, by hand with the published numbers of the Haswell file: links of 64 and 32 bytes per
 * cycle, and memory as its benchmarks have it. */
#include "model/kernel/next_step.h"

#include "support/arena_case.h"
#include "support/folder.h"
#include "support/loops.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double line_bytes = 64, clock_hz = 2.3e9;

static struct lull_kernel *read_sized(const char *text, const struct lull_kernel_size *sizes,
                                      size_t n_sizes)
{
    struct lull_kernel *kernel = NULL;
    struct lull_error err = {""};
    const struct lull_kernel_source source = {
        .path = folder_path("kernel.c"), .sizes = sizes, .n_sizes = n_sizes};
    folder_write(source.path, text, strlen(text));
    fail_if(lull_kernel_read(&source, arena, &kernel, &err) != LULL_OK, "%s", err.text);
    return kernel;
}

static struct lull_kernel *read_step(const char *text, double n, double m)
{
    const struct lull_kernel_size sizes[] = {{"N", n}, {"M", m}};
    return read_sized(text, sizes, strchr(text, 'M') ? 2 : 1);
}

static struct lull_kernel_prediction predict_step(const struct lull_kernel *kernel, double t_ol,
                                                  double t_nol, struct lull_next_steps *ret_step,
                                                  unsigned cores)
{
    struct lull_machine *machine;
    struct lull_error err = {""};
    struct lull_kernel_prediction prediction;
    const struct lull_incore_times times = {t_ol, t_nol};
    const struct lull_kernel_source source = {.path = kernel->path};
    const struct lull_kernel_options options = {
        .incore = {.given = &times, .n_given = 1}, .cores = cores, .seed = 1};
    const char *path =
        lull_arena_printf(arena, "%s/../data/haswell-e5-2695v3-cod.json", getenv("LULL_TESTS_DIR"));
    fail_if(lull_machine_read(path, arena, &machine, &err) != LULL_OK, "%s", err.text);
    fail_if(lull_kernel_predict(kernel, machine, &source, &options, NULL, arena, &prediction,
                                &err) != LULL_OK ||
                lull_next_steps_find(&prediction, cores, arena, ret_step, &err) != LULL_OK,
            "%s", err.text);
    return prediction;
}

static const char jacobi[] =
    "double a[M][N], b[M][N];\nfor (int j = 1; j < M - 1; j++)\n    for (int i = 1; i < N - 1; "
    "i++)\n"
    "        b[j][i] = a[j][i - 1] + a[j][i + 1] + a[j - 1][i] + a[j + 1][i];\n";

/* Rows of 20000 points are 160 kB: neither L1 nor L2 holds three of them, L3 does. Four lines loaded and one stored pass
 * the first two links, three the link to memory. In blocks that L1 holds it is three everywhere: the published 29.5 cycles. */
static void a_stencil_in_blocks(void **state)
{
    struct lull_next_steps step;
    (void)state;
    const struct lull_kernel_prediction made =
        predict_step(read_step(jacobi, 20000, 1000), 6, 4, &step, 1);
    assert_true(made.lines[0].loads == 4 && made.lines[1].loads == 4 && made.lines[2].loads == 2);
    const double memory = made.ecm.links[2].cycles;
    assert_true(fabs(made.cycles - (4 + 5 * line_bytes / 64 + 5 * line_bytes / 32 + memory)) <
                1e-9);
    assert_int_equal(step.blocked.level, 0);
    assert_true(fabs(step.blocked.cycles -
                     (4 + 3 * line_bytes / 64 + 3 * line_bytes / 32 + memory)) < 1e-9);
    assert_true(fabs(step.blocked.cycles - 29.5) < 0.1);
    /* 32 bytes of the four rows for each point of a block, which 32 KiB hold */
    assert_true(step.blocked.block <= 1024 && step.blocked.block >= 1008);
    /* The same with rows of a constant length, and a reuse within the row, for which blocks do nothing. */
    static const char constant[] =
        "double a[M][20000], b[M][20000];\nfor (int j = 1; j < M - 1; j++)\n"
        "    for (int i = 1; i < 19999; i++)\n"
        "        b[j][i] = a[j][i - 1] + a[j][i + 1] + a[j - 1][i] + a[j + 1][i];\n";
    const struct lull_kernel_size m = {"M", 1000};
    predict_step(read_sized(constant, &m, 1), 6, 4, &step, 1);
    assert_true(fabs(step.blocked.cycles - 29.5) < 0.1 && step.blocked.block <= 1024 &&
                step.blocked.block >= 1008);
    static const char far[] = "double a[9000000], b[9000000];\nfor (int i = 0; i < M; i++)\n"
                              "    b[i] = a[i] + a[i + 20000];\n";
    const struct lull_kernel_size few = {"M", 8000000};
    predict_step(read_sized(far, &few, 1), 2, 2, &step, 1);
    assert_true(isnan(step.blocked.cycles));
    /* Rows that are short enough already: nothing is gained by blocks. */
    predict_step(read_step(jacobi, 500, 40000), 6, 4, &step, 1);
    assert_true(isnan(step.blocked.cycles) && step.non_temporal.cycles < step.now);
}

/* a[i] = b[i] + s * c[i]: three lines read, of which one is only read because it is written to, and one written. */
static void a_triad_without_reading(void **state)
{
    static const char triad[] = "double a[N], b[N], c[N], s;\nfor (int i = 0; i < N; i++)\n"
                                "    a[i] = b[i] + s * c[i];\n";
    struct lull_next_steps step;
    struct lull_ecm_bandwidth memory;
    const struct lull_ecm_lines lines = {.loads = 2, .stores = 1};
    (void)state;
    const struct lull_kernel_prediction made =
        predict_step(read_step(triad, 2e7, 0), 2, 2, &step, 1);
    assert_true(made.lines[2].loads == 3 && made.lines[2].stores == 1 &&
                made.lines[2].allocates == 1);
    assert_true(isnan(step.blocked.cycles));
    assert_int_equal(lull_ecm_memory_bandwidth(made.machine, &lines, 0, &memory, NULL), LULL_OK);
    const double transfer = 3 * line_bytes / memory.value * clock_hz;
    assert_true(fabs(step.non_temporal.cycles -
                     (2 + 3 * line_bytes / 64 + 3 * line_bytes / 32 + transfer)) < 1e-6);
    /* Seven cores wait for memory alone. */
    predict_step(read_step(triad, 2e7, 0), 2, 2, &step, 7);
    assert_true(fabs(step.non_temporal.cycles - 7 * transfer) < 1e-6);
    /* What is read is not read because it is written to; and what a cache holds has no way to memory. */
    static const char daxpy[] = "double a[N], b[N], s;\nfor (int i = 0; i < N; i++)\n"
                                "    a[i] = a[i] + s * b[i];\n";
    predict_step(read_step(daxpy, 2e7, 0), 2, 2, &step, 1);
    assert_true(isnan(step.blocked.cycles) && isnan(step.non_temporal.cycles));
    predict_step(read_step(triad, 1000, 0), 2, 2, &step, 1);
    assert_true(isnan(step.blocked.cycles) && isnan(step.non_temporal.cycles));
}

static void strides_that_conflict(void **state)
{
    static const char columns[] = "double a[M][N], s;\nfor (int i = 0; i < N; i++)\n"
                                  "    for (int j = 0; j < M; j++)\n        s = s + a[j][i];\n";
    double bytes;
    (void)state;
    assert_string_equal(lull_find_conflict(read_step(columns, 1024, 300), &bytes), "a");
    assert_true(bytes == 8192);
    assert_null(lull_find_conflict(read_step(columns, 1032, 300), &bytes));
    static const char rows[] = "double a[M][N], b[M][N];\nfor (int j = 2; j < M - 2; j++)\n    for "
                               "(int i = 0; i < N; i++)\n"
                               "        b[j][i] = a[j - 2][i] + a[j][i] + a[j + 2][i];\n";
    assert_string_equal(lull_find_conflict(read_step(rows, 512, 300), &bytes), "a");
    assert_true(bytes == 8192 || bytes == 16384);
    assert_null(lull_find_conflict(read_step(rows, 520, 300), &bytes));
    assert_null(lull_find_conflict(read_step(jacobi, 512, 300), &bytes)); /* two lines in a set */
    static const char row[] = "double a[N], b[N];\nfor (int i = 0; i < N; i++)\n    a[i] = b[i];\n";
    assert_null(lull_find_conflict(read_step(row, 4096, 0), &bytes));
}

static int make_folder_of_steps(void **state)
{
    (void)state;
    folder_make();
    return 0;
}

static int remove_folder_of_steps(void **state)
{
    (void)state;
    folder_remove();
    return 0;
}

TEST_GROUP(test_next_step)
{
    if (!reads_loops())
        return 77;
    const struct CMUnitTest tests[] = {
        ARENA_TEST(a_stencil_in_blocks),
        ARENA_TEST(a_triad_without_reading),
        ARENA_TEST(strides_that_conflict),
    };
    return run_cases(tests, make_folder_of_steps, remove_folder_of_steps);
}
