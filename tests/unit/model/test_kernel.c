/* Reading kernels: what is found in C source, and what is refused, with its line. Expected values
 * are read off the source by hand. */
#include "model/kernel/kernel.h"

#include "support/folder.h"
#include "support/loops.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct fixture {
    struct lull_arena *arena;
};

static const struct lull_kernel_size sizes[] = {{"N", 1000}, {"M", 50}};

static lull_status read_text(struct fixture *fixture, const char *text, const char *place,
                             size_t n_sizes, struct lull_kernel **ret_kernel,
                             struct lull_error *err)
{
    static const struct lull_kernel_cost costs[] = {{"exp", 20}};
    const struct lull_kernel_source source = {.path = folder_path("k.c"),
                                              .place = place,
                                              .sizes = sizes,
                                              .n_sizes = n_sizes,
                                              .costs = costs,
                                              .n_costs = 1};
    folder_write(source.path, text, strlen(text));
    return lull_kernel_read(&source, fixture->arena, ret_kernel, err);
}

static struct lull_kernel *good(struct fixture *fixture, const char *text, const char *place,
                                size_t n_sizes)
{
    struct lull_kernel *kernel = NULL;
    struct lull_error err = {""};
    fail_if(read_text(fixture, text, place, n_sizes, &kernel, &err) != LULL_OK, "%s: %s", text,
            err.text);
    return kernel;
}

static const char *offset(struct fixture *fixture, const struct lull_kernel *kernel, size_t access)
{
    return lull_poly_text(&kernel->accesses[access].offset,
                          lull_kernel_names(kernel, fixture->arena), fixture->arena);
}

static void nest_of_two_loops(void **state)
{
    struct fixture *fixture = *state;
    const struct lull_kernel *kernel =
        good(fixture,
             "double in[M][N], out[M][N], s;\n"
             "for (int j = 1; j < M - 1; ++j)\n"
             "    for (int i = 1; i < N - 1; ++i)\n"
             "        out[j][i] = s * (in[j][i - 1] + in[j + 1][i]) / 3.0;\n",
             NULL, 2);
    assert_int_equal(kernel->n_loops, 2);
    assert_int_equal(kernel->body, 1);
    assert_int_equal(kernel->loops[1].parent, 0);
    assert_int_equal(kernel->loops[1].line, 3);
    assert_int_equal(kernel->n_accesses, 3);
    assert_true(kernel->accesses[2].write);
    assert_string_equal(offset(fixture, kernel, 0), "j N + i - 1");
    assert_string_equal(offset(fixture, kernel, 1), "j N + i + N");
    assert_true(lull_kernel_trips(kernel, 1) == 998);
    assert_true(lull_kernel_iterations(kernel, 1) == 998 * 48);
    assert_true(lull_kernel_stride(kernel, &kernel->accesses[0], 0) == 1000);
    assert_true(lull_kernel_unit(kernel, 64) == 8);
    assert_true(lull_kernel_flops_per_iteration(kernel) == 3);
    assert_true(lull_kernel_footprint(kernel) == 2 * 8 * 1000 * 50);
    assert_false(kernel->reduces);
}

static void statements_at_several_depths(void **state)
{
    struct fixture *fixture = *state;
    const struct lull_kernel *kernel = good(fixture,
                                            "double a[M][N], x[N], y[M];\n"
                                            "for (int i = 0; i < M; i++) {\n"
                                            "    double sum = 0;\n"
                                            "    for (int k = 0; k < N; k++)\n"
                                            "        sum += a[i][k] * x[k];\n"
                                            "    y[i] = 2 * sum;\n"
                                            "}\n",
                                            NULL, 2);
    assert_true(kernel->reduces);
    assert_int_equal(kernel->n_accesses, 3);
    assert_int_equal(kernel->accesses[2].loop, 0);
    assert_int_equal(kernel->accesses[0].loop, 1);
    assert_int_equal(kernel->loops[1].first_access, 0);
    assert_true(kernel->flops[1].add == 1 && kernel->flops[1].multiply == 1);
    assert_true(fabs(lull_kernel_flops_per_iteration(kernel) - (2 + 1.0 / 1000)) < 1e-12);
    assert_true(lull_kernel_stride(kernel, &kernel->accesses[1], 0) == 0);
}

static void types_strides_and_directions(void **state)
{
    struct fixture *fixture = *state;
    const struct lull_kernel *kernel = good(fixture,
                                            "float a[2 * N]; double b[N]; short c[N];\n"
                                            "for (long i = N - 1; i >= 0; i -= 3)\n"
                                            "    a[2 * i + 1] = b[i] + c[N - 1 - i];\n",
                                            NULL, 1);
    assert_true(lull_kernel_trips(kernel, 0) == 334);
    assert_true(lull_kernel_unit(kernel, 64) == 16); /* the result is in float */
    assert_true(lull_kernel_stride(kernel, &kernel->accesses[2], 0) == -6);
    assert_true(lull_kernel_stride(kernel, &kernel->accesses[1], 0) == 3);
    assert_int_equal(kernel->arrays[kernel->accesses[1].array].bytes, 2);
    assert_int_equal(kernel->precision, 8);
}

static void indirect_access(void **state)
{
    struct fixture *fixture = *state;
    const struct lull_kernel *kernel = good(fixture,
                                            "double x[M], y[N]; int idx[N];\n"
                                            "for (int i = 0; i < N; i++) {\n"
                                            "    int c = idx[i];\n"
                                            "    y[i] += x[2 * c + 1];\n"
                                            "}\n",
                                            NULL, 2);
    assert_int_equal(kernel->accesses[0].index_access, LULL_KERNEL_NONE);
    assert_string_equal(kernel->arrays[kernel->accesses[1].array].name, "x");
    assert_int_equal(kernel->accesses[1].index_access, 0);
    assert_true(lull_poly_is_constant(&kernel->accesses[1].index_factor, NULL));
    assert_string_equal(offset(fixture, kernel, 1), "1");
}

static const char program[] = "#include <math.h>\n"
                              "#define AT(i, j) ((i) * M + (j))\n"
                              "enum { K = 7 };\n"
                              "static double table[K][N];\n"
                              "void first(int M, double *restrict a, const double *b)\n"
                              "{\n"
                              "    int stride = M + 2;\n"
                              "    for (int i = 1; i < M; i++)\n"
                              "        *(a + i * stride) = b[i] + fabs(table[3][i]);\n"
                              "}\n"
                              "void second(int M, double *a)\n"
                              "{\n"
                              "    for (int i = 0; i < M; i++)\n"
                              "        a[i] = 0;\n"
                              "#pragma lull kernel inner\n"
                              "    for (int i = 0; i < M; i++)\n"
                              "        a[i] += 1;\n"
                              "}\n"
                              "void third(int M, double *a)\n"
                              "{\n"
                              "    for (int i = 0; i < M; i++)\n"
                              "        for (int j = 0; j < M / 2; j++)\n"
                              "            a[AT(i, j)] = 1;\n"
                              "}\n";

static void source_files(void **state)
{
    struct fixture *fixture = *state;
    /* N is no variable there, but what a build would define. */
    const struct lull_kernel *kernel = good(fixture, program, "first", 2);
    assert_string_equal(kernel->name, "first");
    assert_string_equal(offset(fixture, kernel, 2), "M i + 2 i");
    assert_string_equal(offset(fixture, kernel, 1), "i + 3000");
    assert_true(lull_kernel_array_bytes(kernel, 0) == 49 * 8); /* b: what is touched */
    kernel = good(fixture, program, "inner", 2);
    assert_int_equal(kernel->loops[0].line, 16);
    assert_true(kernel->flops[0].add == 1);
    kernel = good(fixture, program, "third", 2);
    assert_string_equal(offset(fixture, kernel, 0), "i M + j");
    assert_true(lull_kernel_iterations(kernel, 1) == 50 * 25);
}

static void what_is_not_understood_is_told(void **state)
{
    static const struct {
        const char *text, *place, *message;
    } cases[] = {
        {"double a[N];\nfor (int i = 0; i < N; i++)\n    a[i * i] = 1;", NULL,
         "line 3: index of 'a' is not affine"},
        {"double a[N];\nfor (int i = 0; i < N; i++)\n    a[i % 4] = 1;", NULL,
         "line 3: 'i % 4' is not affine"},
        {"double a[N], b[Q];\nfor (int i = 0; i < N; i++)\n    a[i] = b[i];", NULL,
         "line 1: 'Q' has no value: give it with -D Q=VALUE"},
        {"double a[N]; int n[1];\nfor (int i = 0; i < n[0]; i++)\n    a[i] = 1;", NULL,
         "line 2: bound of the loop is unknown: 'n[0]' is read from an array"},
        {"double a[N];\nfor (int i = 0; a[i] > 0; i++)\n    a[i] = 1;", NULL,
         "line 2: unknown bound: 'a[i] > 0'"},
        {"double a[N];\nfor (int i = 0; i < N; i++)\n    while (a[i] > 0)\n        a[i] -= 1;",
         NULL, "line 3: unknown bound: a while loop is not understood"},
        {"double a[N];\nfor (int i = 0; i < N; i *= 2)\n    a[i] = 1;", NULL,
         "line 2: step of the loop is not a constant: 'i *= 2'"},
        {"double a[N];\nfor (int i = 0; i < N; i++)\n    a[i] = sin(a[i]);", NULL,
         "line 3: call of 'sin' has no cost: give its cycles with --call sin=CYCLES"},
        {"double a[N];\nfor (int i = 0; i < N; i++)\n    if (a[i] > 0)\n        a[i] = 1;", NULL,
         "line 3: a branch, whose cost depends on data, is not understood"},
        {"double a[N];\nfor (int i = 0; i <= N; i++)\n    a[i] = 1;", NULL,
         "line 3: 'a' is accessed outside of its extents: element 1000 of 1000"},
        {"double a[N];\nfor (int i = N; i < N; i++)\n    a[i] = 1;", NULL,
         "line 2: the loops have no iterations with these sizes"},
        {"double **a;\nfor (int i = 0; i < N; i++)\n    a[i][i] = 1;", NULL,
         "line 1: 'a' is an array of pointers, which may point anywhere"},
        {"double a[N];\nfor (int i = 0; i < N; i++)\n    a[i] = ;", NULL,
         "line 3: expected expression"},
        {"double a[N];\n", NULL, "k.c: has no for loop"},
        {program, "second",
         "line 16: a second loop nest: mark the one that is meant with "
         "#pragma lull kernel NAME"},
        {program, "nothing",
         "k.c: has neither a function 'nothing' nor a mark #pragma lull kernel "
         "nothing"},
        {"void f(void)\n{\n}\n", NULL, "line 2: has functions: name the one with the loops as"},
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lull_kernel *kernel = NULL;
        struct lull_error err = {""};
        size_t n_sizes = cases[i].place ? 2 : 1;
        assert_int_not_equal(
            read_text(fixture, cases[i].text, cases[i].place, n_sizes, &kernel, &err), LULL_OK);
        fail_if(!strstr(err.text, cases[i].message), "'%s', expected '%s'", err.text,
                cases[i].message);
        assert_null(kernel);
    }
}

/* A variable that is part of its own new value. */
static void reductions(void **state)
{
    static const struct {
        const char *statement;
        bool reduces;
    } cases[] = {{"s = s + a[i]", true},           {"s = a[i] + s", true},
                 {"s = a[i] * (2.0 - s)", true},   {"s += a[i]", true},
                 {"s = a[i] + t", false},          {"s = a[i]", false},
                 {"t = a[i]; a[i] = t + s", false}};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "double a[N], s, t;\nfor (int i = 0; i < N; i++) {\n    %s;\n}\n",
                 cases[i].statement);
        fail_if(good(fixture, text, NULL, 1)->reduces != cases[i].reduces, "%s",
                cases[i].statement);
    }
}

/* Sizes are below 10^15. */
static void sizes_that_are_too_large(void **state)
{
    static const char text[] = "double a[10];\nfor (int i = 0; i < N - M; i++)\n    a[i] = 1;\n";
    struct fixture *fixture = *state;
    for (int too_large = 0; too_large < 2; too_large++) {
        const struct lull_kernel_size large[] = {{"N", too_large ? 1e15 : 1e15 - 1},
                                                 {"M", 1e15 - 9}};
        const struct lull_kernel_source source = {
            .path = folder_path("k.c"), .sizes = large, .n_sizes = 2};
        struct lull_kernel *kernel = NULL;
        struct lull_error err = {""};
        folder_write(source.path, text, strlen(text));
        const lull_status status = lull_kernel_read(&source, fixture->arena, &kernel, &err);
        fail_if(status != (too_large ? LULL_ERR_RANGE : LULL_OK), "%s", err.text);
        assert_true(!too_large || strstr(err.text, "k.c: N=1e+15 is too large"));
    }
}

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture.arena = lull_arena_create(NULL);
    folder_make();
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    folder_remove();
    lull_arena_destroy(fixture->arena);
    return 0;
}

TEST_GROUP(test_kernel)
{
    if (!reads_loops())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nest_of_two_loops, set_up, tear_down),
        cmocka_unit_test_setup_teardown(statements_at_several_depths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(types_strides_and_directions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(indirect_access, set_up, tear_down),
        cmocka_unit_test_setup_teardown(source_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_understood_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reductions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sizes_that_are_too_large, set_up, tear_down)};
    return run_cases(tests, NULL, NULL);
}
