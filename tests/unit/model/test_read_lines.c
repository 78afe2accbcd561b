/* Reading the loop nest around some lines of a program: how far out it goes, what is known of sizes and of how often it is
 * executed, and why others are refused. Expected values are read off the source by hand. */
#include "model/kernel/kernel.h"

#include "support/arena_case.h"
#include "support/folder.h"
#include "support/loops.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char program[] =
    "struct plate { int rows, columns; double *now, *next; };\n"                        /* 1 */
    "static double *cell(const struct plate *p, double *grid, int row, int i)\n"        /* 2 */
    "{\n"                                                                               /* 3 */
    "    return grid + row * (p->columns + 2) + i;\n"                                   /* 4 */
    "}\n"                                                                               /* 5 */
    "static double half(double x)\n"                                                    /* 6 */
    "{\n"                                                                               /* 7 */
    "    return 0.5 * x;\n"                                                             /* 8 */
    "}\n"                                                                               /* 9 */
    "static void smooth(struct plate *p)\n"                                             /* 10 */
    "{\n"                                                                               /* 11 */
    "#pragma omp parallel for\n"                                                        /* 12 */
    "    for (int row = 1; row <= p->rows; row++) {\n"                                  /* 13 */
    "        int sweeps = 1 + 3 * row / (p->rows + 1);\n"                               /* 14 */
    "        for (int sweep = 0; sweep < sweeps; sweep++)\n"                            /* 15 */
    "            for (int i = 1; i <= p->columns; i++)\n"                               /* 16 */
    "                *cell(p, p->next, row, i) = half(*cell(p, p->now, row, i - 1) +\n" /* 17 */
    "                                                 *cell(p, p->now, row + 1, i));\n" /* 18 */
    "    }\n"                                                                           /* 19 */
    "}\n"                                                                               /* 20 */
    "static double add(const double *x, int n, int stride)\n"                           /* 21 */
    "{\n"                                                                               /* 22 */
    "    double sum = 0;\n"                                                             /* 23 */
    "    for (int i = 0; i < n; i++)\n"                                                 /* 24 */
    "        sum += x[stride * i];\n"                                                   /* 25 */
    "    return sum;\n"                                                                 /* 26 */
    "}\n"                                                                               /* 27 */
    "static void product(const int *begin, const int *column, const double *value, const double "
    "*x, double *y, int n)\n"
    "{\n"                                                         /* 29 */
    "    for (int row = 0; row < n; row++)\n"                     /* 30 */
    "        for (int k = begin[row]; k < begin[row + 1]; k++)\n" /* 31 */
    "            y[row] += value[k] * x[column[k]];\n"            /* 32 */
    "}\n"                                                         /* 33 */
    "static void wild(double *x, int n)\n"                        /* 34 */
    "{\n"                                                         /* 35 */
    "    for (int i = 0; i < n; i++) {\n"                         /* 36 */
    "        int at = i * i % n;\n"                               /* 37 */
    "        x[at] = 1;\n"                                        /* 38 */
    "    }\n"                                                     /* 39 */
    "    while (n-- > 0)\n"                                       /* 40 */
    "        x[n] = 2;\n"                                         /* 41 */
    "}\n"                                                         /* 42 */
    "int main(int argc, char **argv)\n"                           /* 43 */
    "{\n"                                                         /* 44 */
    "    static double w[3000], x[3000], y[3000], z[3000];\n"     /* 45 */
    "    int n = 1000, twice = 2 * n;\n"                          /* 46 */
    "    struct plate p = {argc, argc, x, x};\n"                  /* 47 */
    "    double s = 0;\n"                                         /* 48 */
    "    for (int t = 0; t < 10; t++) {\n"                        /* 49 */
    "        smooth(&p);\n"                                       /* 50 */
    "        for (int u = 1; u <= 4; u += 2)\n"                   /* 51 */
    "            s += add(x, n, 3);\n"                            /* 52 */
    "    }\n"                                                     /* 53 */
    "    if (argc > 1)\n"                                         /* 54 */
    "        wild(x, twice);\n"                                   /* 55 */
    "    product((int *)w, (int *)argv, y, x, z, argc);\n"        /* 56 */
    "    return s > 0;\n"                                         /* 57 */
    "}\n";

static lull_status read_lines(unsigned first, unsigned last, const struct lull_kernel_size *sizes,
                              size_t n_sizes, struct lull_kernel **ret_kernel,
                              struct lull_error *err)
{
    const struct lull_kernel_source source = {.path = folder_path("program.c"),
                                              .first_line = first,
                                              .last_line = last,
                                              .suppose_bytes = 1e6,
                                              .sizes = sizes,
                                              .n_sizes = n_sizes};
    folder_write(source.path, program, sizeof program - 1);
    return lull_kernel_read(&source, arena, ret_kernel, err);
}

static struct lull_kernel *good_lines(unsigned first, unsigned last,
                                      const struct lull_kernel_size *sizes, size_t n_sizes)
{
    struct lull_kernel *kernel = NULL;
    struct lull_error err = {""};
    fail_if(read_lines(first, last, sizes, n_sizes, &kernel, &err) != LULL_OK, "%s", err.text);
    return kernel;
}

static const char *offset_of(const struct lull_kernel *kernel, size_t access)
{
    return lull_poly_text(&kernel->accesses[access].offset, lull_kernel_names(kernel, arena),
                          arena);
}

static const struct lull_kernel_symbol *symbol_of(const struct lull_kernel *kernel,
                                                  const char *name)
{
    for (size_t s = 0; s < kernel->n_symbols; s++)
        if (strcmp(kernel->symbols[s].name, name) == 0)
            return &kernel->symbols[s];
    fail_if(true, "no symbol %s", name);
    return NULL;
}

/* Members, functions of the file, and an end that is not linear; nobody says the sizes. */
static void members_and_functions(void **state)
{
    const struct lull_kernel *kernel = good_lines(16, 18, NULL, 0);
    (void)state;
    assert_string_equal(kernel->function, "smooth");
    assert_null(kernel->around);
    assert_int_equal(kernel->code_line, 13);
    assert_int_equal(kernel->omp_line, 12);
    assert_int_equal(kernel->n_loops, 3);
    assert_int_equal(kernel->n_arrays, 2);
    assert_int_equal(kernel->n_accesses, 3);
    assert_string_equal(kernel->arrays[kernel->accesses[2].array].name, "p.next");
    assert_true(kernel->accesses[2].write);
    assert_string_equal(offset_of(kernel, 0), "row p.columns + 2 row + i - 1");
    assert_string_equal(offset_of(kernel, 1), "row p.columns + 2 row + i + p.columns + 2");
    assert_true(kernel->flops[2].add == 1 && kernel->flops[2].multiply == 1);
    assert_true(symbol_of(kernel, "sweeps")->varies && symbol_of(kernel, "sweeps")->value == 1);
    assert_true(symbol_of(kernel, "p.rows")->supposed);
    assert_false(lull_kernel_knows_iterations(kernel, 2));
    assert_true(lull_kernel_footprint(kernel) >= 1e6);
    assert_true(kernel->executions == 10 && kernel->whole_function);
    assert_int_equal(kernel->n_objects, 1);
    assert_string_equal(kernel->objects[0].type, "struct plate *");
}

/* The last part of a member's name, or all of it, gives its size. */
static void sizes_that_are_said(void **state)
{
    static const struct lull_kernel_size said[] = {
        {"p.rows", 30}, {"columns", 40}, {"sweeps", 2}, {"other", 7}};
    const struct lull_kernel *kernel = good_lines(16, 18, said, 4);
    (void)state;
    assert_true(lull_kernel_knows_iterations(kernel, 2));
    assert_true(lull_kernel_iterations(kernel, 2) == 30 * 2 * 40);
}

/* n is 1000 and the stride 3 in all calls; main() calls it in loops of 10 and 2 iterations. */
static void values_of_the_source(void **state)
{
    const struct lull_kernel *kernel = good_lines(25, 25, NULL, 0);
    (void)state;
    assert_int_equal(kernel->code_line, 24);
    assert_true(symbol_of(kernel, "n")->value == 1000 && symbol_of(kernel, "stride")->value == 3);
    assert_true(lull_kernel_iterations(kernel, 0) == 1000);
    assert_true(kernel->executions == 20);
    assert_true(kernel->reduces);
    assert_int_equal(kernel->omp_line, 0);
}

/* Rows of a matrix: k is row times their length, and from there on the number of the iteration. */
static void rows_of_a_matrix(void **state)
{
    static const struct lull_kernel_size said[] = {{"begin.length", 5}, {"n", 100}};
    const struct lull_kernel *kernel = good_lines(32, 32, said, 2);
    (void)state;
    assert_int_equal(kernel->n_loops, 2);
    assert_true(lull_kernel_iterations(kernel, 1) == 500);
    assert_string_equal(offset_of(kernel, 2), "row begin.length + k");
    assert_true(kernel->accesses[4].index_access == 3);
    assert_true(kernel->executions == 1);
}

static void refused(unsigned first, unsigned last, const char *expected)
{
    struct lull_kernel *kernel;
    struct lull_error err = {""};
    assert_int_equal(read_lines(first, last, NULL, 0, &kernel, &err), LULL_ERR_FORMAT);
    fail_if(!strstr(err.text, expected), "%s: expected %s", err.text, expected);
}

static void what_is_refused(void **state)
{
    (void)state;
    refused(38, 38, "line 38: 'at' is not affine");
    refused(41, 41, "line 40: unknown bound: a while loop");
    refused(4, 4, "line 4: no loop of this file is around it");
}

/* A loop that is called in a branch is executed nobody knows how often, and a loop of main()'s in which others are
 * called is not understood, but what is inside of it. */
static void branches_and_calls(void **state)
{
    struct lull_kernel *kernel;
    struct lull_error err = {""};
    (void)state;
    assert_int_equal(read_lines(50, 50, NULL, 0, &kernel, &err), LULL_ERR_FORMAT);
    fail_if(!strstr(err.text, "smooth"), "%s", err.text);
}

static int make_folder(void **state)
{
    (void)state;
    folder_make();
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    folder_remove();
    return 0;
}

TEST_GROUP(test_read_lines)
{
    if (!reads_loops())
        return 77;
    const struct CMUnitTest tests[] = {
        ARENA_TEST(members_and_functions), ARENA_TEST(sizes_that_are_said),
        ARENA_TEST(values_of_the_source),  ARENA_TEST(rows_of_a_matrix),
        ARENA_TEST(what_is_refused),       ARENA_TEST(branches_and_calls),
    };
    return run_cases(tests, make_folder, remove_folder);
}
