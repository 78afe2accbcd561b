/* Vectors that cross cache lines: by hand, and against a walk over all addresses. */
#include "model/kernel/predict.h"

#include "support/folder.h"
#include "support/loops.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct lull_kernel *read_kernel(const char *path, const struct lull_kernel_size *sizes,
                                       size_t n_sizes, struct lull_arena *arena)
{
    struct lull_kernel *kernel = NULL;
    struct lull_error err;
    const struct lull_kernel_source source = {.path = path, .sizes = sizes, .n_sizes = n_sizes};
    fail_if(lull_kernel_read(&source, arena, &kernel, &err) != LULL_OK, "%s", err.text);
    return kernel;
}

static struct lull_kernel *jacobi2d(double columns, double rows, struct lull_arena *arena)
{
    const struct lull_kernel_size sizes[] = {{"N", columns}, {"M", rows}};
    const char *path =
        lull_arena_printf(arena, "%s/../examples/kernels/jacobi2d.c", getenv("LULL_TESTS_DIR"));
    return read_kernel(path, sizes, 2, arena);
}

/* Rows of 21 lines. The row above, the row below and the element to the right begin at places 1, 1
 * and 2 of a vector of 8, the element to the left at 0; the result at 1. So three loads and one
 * store cross once in a line, which is a unit of work, whatever the width. */
static void rows_of_whole_lines(void **state)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_kernel *kernel = jacobi2d(168, 10, arena);
    struct lull_machine *machine = lull_machine_create(arena);
    (void)state;
    for (unsigned bits = 128; bits <= 512; bits *= 2) {
        struct lull_crossing crossing = lull_crossing_find(kernel, machine, bits, 64);
        /* Vectors of two: the element to the right begins one, too. */
        assert_true(crossing.loads == (bits == 128 ? 2 : 3));
        assert_true(crossing.stores == 1);
        assert_true(crossing.lines_loaded == 4 && crossing.lines_stored == 1);
        assert_false(crossing.known);
        assert_true(crossing.load_cycles == 0 && crossing.store_cycles == 0);
    }
    struct lull_crossing none = lull_crossing_find(kernel, machine, 64, 64);
    assert_true(none.loads == 0 && none.stores == 0);
    lull_arena_destroy(arena);
}

static void set_rate(struct lull_machine *machine, struct lull_arena *arena, const char *name,
                     double bytes_per_cycle)
{
    struct lull_number number = lull_number_plain(bytes_per_cycle, "B/s", "p10");
    number.name = name;
    number.in_cycles = bytes_per_cycle;
    lull_machine_set(machine, arena, &number);
}

/* Two loads of 64 bytes per cycle, one where they cross: half a cycle more for each of three. A
 * store per cycle, 48 bytes per cycle where they cross: 64 / 48 cycles for the one of a unit. */
static void cost_from_the_machine_file(void **state)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_machine *machine = lull_machine_create(arena);
    (void)state;
    set_rate(machine, arena, "within.load.avx512.1", 128);
    set_rate(machine, arena, "crossing.load.avx512.1", 64);
    set_rate(machine, arena, "within.store.avx512.1", 64);
    set_rate(machine, arena, "crossing.store.avx512.1", 48);
    struct lull_crossing crossing = lull_crossing_find(jacobi2d(168, 10, arena), machine, 512, 64);
    assert_true(crossing.known);
    assert_true(fabs(crossing.load_cycles - 1.5) < 1e-12);
    assert_true(fabs(crossing.store_cycles - 64.0 / 48) < 1e-12);
    assert_false(lull_crossing_find(jacobi2d(168, 10, arena), machine, 256, 64).known);
    lull_arena_destroy(arena);
}

/* ---- a walk over all addresses --------------------------------------------------------------- */

struct walk { /* of a nest over planes, rows and columns */
    long planes, rows, columns;
};

static double cross(const struct walk *walk, long offset, long lanes)
{
    double crossing = 0, lines = 0;
    for (long p = 1; p < walk->planes - 1; p++)
        for (long r = 1; r < walk->rows - 1; r++) {
            for (long i = 1; i + lanes <= 1 + 1000 * lanes; i += lanes) {
                long first = 8 * ((p * walk->rows + r) * walk->columns + i + offset);
                crossing += first / 64 != (first + 8 * lanes - 1) / 64;
            }
            lines += 1000.0 * (double)lanes / 8;
        }
    return crossing / lines;
}

/* Rows of any length, in two arrays of 3 x 12 x N; long rows of vectors stand for all. */
static void rows_of_any_length(void **state)
{
    static const char nest[] = "double a[L][M][N], b[L][M][N];\n"
                               "for (int p = 1; p < L - 1; p++)\n"
                               "    for (int r = 1; r < M - 1; r++)\n"
                               "        for (int i = 1; i < N - 3; i++)\n"
                               "            b[p][r][i + 1] = a[p][r][i] + a[p][r][i + 2];\n";
    (void)state;
    folder_make();
    const char *path = folder_path("predict.c");
    folder_write(path, nest, sizeof nest - 1);
    for (long columns = 64; columns < 81; columns++) {
        struct lull_arena *arena = lull_arena_create(NULL);
        const struct lull_kernel_size sizes[] = {{"L", 6}, {"M", 12}, {"N", (double)columns}};
        const struct lull_kernel *kernel = read_kernel(path, sizes, 3, arena);
        const struct walk walk = {6, 12, columns};
        for (long lanes = 2; lanes <= 8; lanes *= 2) {
            struct lull_crossing crossing =
                lull_crossing_find(kernel, lull_machine_create(arena), (unsigned)(64 * lanes), 64);
            assert_true(fabs(crossing.loads - cross(&walk, 0, lanes) - cross(&walk, 2, lanes)) <
                        1e-9);
            assert_true(fabs(crossing.stores - cross(&walk, 1, lanes)) < 1e-9);
        }
        lull_arena_destroy(arena);
    }
    folder_remove();
}

/* Counting down, the first vector ends with the first element. b[160] begins a line, so the vectors
 * of b cross once per line; those of a end with a[159], the last element of a line, and do not. */
static void counting_down(void **state)
{
    static const char nest[] = "double a[N], b[N];\n"
                               "for (int i = N - 1; i > 0; i--)\n"
                               "    b[i] = a[i - 1];\n";
    struct lull_arena *arena = lull_arena_create(NULL);
    const struct lull_kernel_size size = {"N", 161};
    (void)state;
    folder_make();
    const char *path = folder_path("down.c");
    folder_write(path, nest, sizeof nest - 1);
    const struct lull_kernel *kernel = read_kernel(path, &size, 1, arena);
    for (unsigned bits = 128; bits <= 512; bits *= 2) {
        struct lull_crossing crossing =
            lull_crossing_find(kernel, lull_machine_create(arena), bits, 64);
        assert_true(crossing.loads == 0 && crossing.stores == 1);
    }
    lull_arena_destroy(arena);
    folder_remove();
}

TEST_GROUP(test_crossing)
{
    if (!reads_loops())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_whole_lines), cmocka_unit_test(cost_from_the_machine_file),
        cmocka_unit_test(rows_of_any_length), cmocka_unit_test(counting_down)};
    return run_cases(tests, NULL, NULL);
}
