/* Reading loops of C++ files by their lines: what is the same as in C, containers, members, and what is refused. Expected
 * values are read off the source by hand. */
#include "model/kernel/kernel.h"

#include "support/arena_case.h"
#include "support/folder.h"
#include "support/loops.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char program[] =
    "#include <array>\n"                                                                 /* 1 */
    "#include <vector>\n"                                                                /* 2 */
    "constexpr int columns = 40;\n"                                                      /* 3 */
    "struct grid {\n"                                                                    /* 4 */
    "    std::vector<double> now, next;\n"                                               /* 5 */
    "    int rows;\n"                                                                    /* 6 */
    "    void step()\n"                                                                  /* 7 */
    "    {\n"                                                                            /* 8 */
    "        for (int r = 1; r < rows - 1; ++r)\n"                                       /* 9 */
    "            for (int i = 1; i < columns - 1; ++i)\n"                                /* 10 */
    "                next[r * columns + i] = 0.5 * (now[r * columns + i - 1] +\n"        /* 11 */
    "                                              this->now[(r + 1) * columns + i]);\n" /* 12 */
    "    }\n"                                                                            /* 13 */
    "};\n"                                                                               /* 14 */
    "template <class T> void twice(T *a, const T *b, int n)\n"                           /* 15 */
    "{\n"                                                                                /* 16 */
    "    for (int i = 0; i < n; ++i)\n"                                                  /* 17 */
    "        a[i] = b[i] * 2;\n"                                                         /* 18 */
    "}\n"                                                                                /* 19 */
    "static void triad(std::vector<double> &a, const std::vector<double> &b,\n"          /* 20 */
    "                  const std::vector<double> &c, const double &s)\n"                 /* 21 */
    "{\n"                                                                                /* 22 */
    "    for (std::size_t i = 0; i < a.size(); ++i)\n"                                   /* 23 */
    "        a[i] = b[i] + 3.0 * c[i];\n"                                                /* 24 */
    "    for (auto &x : a)\n"                                                            /* 25 */
    "        x += s;\n"                                                                  /* 26 */
    "}\n"                                                                                /* 27 */
    "static void gather(std::vector<float> &y, const std::vector<float> &x,\n"           /* 28 */
    "                   const std::vector<int> &at, int n)\n"                            /* 29 */
    "{\n"                                                                                /* 30 */
    "    auto all = [&](float *to) {\n"                                                  /* 31 */
    "        for (int i = 0; i < n; i++)\n"                                              /* 32 */
    "            to[i] += x[at[static_cast<std::size_t>(i)]];\n"                         /* 33 */
    "    };\n"                                                                           /* 34 */
    "    all(y.data());\n"                                                               /* 35 */
    "}\n"                                                                                /* 36 */
    "static double rows(const std::vector<std::vector<double>> &m, int n)\n"             /* 37 */
    "{\n"                                                                                /* 38 */
    "    double sum = 0;\n"                                                              /* 39 */
    "    for (int i = 0; i < n; i++)\n"                                                  /* 40 */
    "        sum += m[i][i];\n"                                                          /* 41 */
    "    return sum;\n"                                                                  /* 42 */
    "}\n"                                                                                /* 43 */
    "static void flags(std::vector<bool> &f, int n)\n"                                   /* 44 */
    "{\n"                                                                                /* 45 */
    "    for (int i = 0; i < n; i++)\n"                                                  /* 46 */
    "        f[i] = true;\n"                                                             /* 47 */
    "}\n"                                                                                /* 48 */
    "int main(int argc, char **argv)\n"                                                  /* 49 */
    "{\n"                                                                                /* 50 */
    "    std::vector<double> a(argc), b(argc), c(argc);\n"                               /* 51 */
    "    std::vector<float> x(argc), y(argc);\n"                                         /* 52 */
    "    std::vector<int> at(argc);\n"                                                   /* 53 */
    "    std::vector<bool> f(argc);\n"                                                   /* 54 */
    "    grid g{a, b, argc};\n"                                                          /* 55 */
    "    g.step();\n"                                                                    /* 56 */
    "    twice(a.data(), b.data(), argc);\n"                                             /* 57 */
    "    triad(a, b, c, a[0]);\n"                                                        /* 58 */
    "    gather(y, x, at, argc);\n"                                                      /* 59 */
    "    flags(f, argc);\n"                                                              /* 60 */
    "    return rows({a, b}, 2) > 0;\n"                                                  /* 61 */
    "}\n";

static lull_status read_cpp(unsigned line, const struct lull_kernel_size *sizes, size_t n_sizes,
                            struct lull_kernel **ret_kernel, struct lull_error *err)
{
    const struct lull_kernel_source source = {.path = folder_path("program.cpp"),
                                              .first_line = line,
                                              .last_line = line,
                                              .suppose_bytes = 1e6,
                                              .sizes = sizes,
                                              .n_sizes = n_sizes};
    folder_write(source.path, program, sizeof program - 1);
    return lull_kernel_read(&source, arena, ret_kernel, err);
}

static struct lull_kernel *good_cpp(unsigned line, const struct lull_kernel_size *sizes,
                                    size_t n_sizes)
{
    struct lull_kernel *kernel = NULL;
    struct lull_error err = {""};
    fail_if(read_cpp(line, sizes, n_sizes, &kernel, &err) != LULL_OK, "%s", err.text);
    assert_true(kernel->is_cpp);
    return kernel;
}

static const char *offset_in_cpp(const struct lull_kernel *kernel, size_t access)
{
    return lull_poly_text(&kernel->accesses[access].offset, lull_kernel_names(kernel, arena),
                          arena);
}

static const char *array_in_cpp(const struct lull_kernel *kernel, size_t access)
{
    return kernel->arrays[kernel->accesses[access].array].name;
}

static void a_vector_is_an_array(void **state)
{
    static const struct lull_kernel_size said[] = {{"a.size", 1000}};
    const struct lull_kernel *kernel = good_cpp(24, said, 1);
    (void)state;
    assert_string_equal(kernel->function, "triad");
    assert_int_equal(kernel->n_loops, 1);
    assert_true(lull_kernel_iterations(kernel, 0) == 1000);
    assert_int_equal(kernel->n_arrays, 3);
    assert_int_equal(kernel->n_accesses, 3);
    assert_string_equal(array_in_cpp(kernel, 0), "b");
    assert_string_equal(array_in_cpp(kernel, 1), "c");
    assert_string_equal(array_in_cpp(kernel, 2), "a");
    assert_true(kernel->accesses[2].write && !kernel->accesses[1].write);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(offset_in_cpp(kernel, i), "i");
        assert_int_equal(kernel->arrays[i].bytes, 8);
        assert_true(kernel->arrays[i].floating);
    }
    assert_true(kernel->flops[0].add == 1 && kernel->flops[0].multiply == 1);
    assert_true(isnan(kernel->executions)); /* the file has methods, which may call anything */
}

/* The members of the object whose method it is. */
static void members_of_this(void **state)
{
    static const struct lull_kernel_size said[] = {{"rows", 30}};
    const struct lull_kernel *kernel = good_cpp(11, said, 1);
    (void)state;
    assert_string_equal(kernel->function, "step");
    assert_int_equal(kernel->n_loops, 2);
    assert_true(lull_kernel_iterations(kernel, 1) == 28 * 38);
    assert_int_equal(kernel->n_arrays, 2);
    assert_int_equal(kernel->n_accesses, 3);
    assert_string_equal(array_in_cpp(kernel, 0), "now");
    assert_string_equal(array_in_cpp(kernel, 1), "now");
    assert_string_equal(array_in_cpp(kernel, 2), "next");
    assert_string_equal(offset_in_cpp(kernel, 0), "40 r + i - 1");
    assert_string_equal(offset_in_cpp(kernel, 1), "40 r + i + 40");
}

/* A lambda's loop, and an index that is read from a vector. */
static void indices_in_vectors(void **state)
{
    const struct lull_kernel *kernel = good_cpp(33, NULL, 0);
    (void)state;
    assert_int_equal(kernel->n_loops, 1);
    assert_int_equal(kernel->n_accesses, 4);
    assert_string_equal(array_in_cpp(kernel, 0), "at");
    assert_string_equal(array_in_cpp(kernel, 1), "x");
    assert_int_equal(kernel->accesses[1].index_access, 0);
    assert_int_equal(kernel->arrays[kernel->accesses[1].array].bytes, 4);
    assert_true(kernel->accesses[3].write);
}

static void others_are_refused(void **state)
{
    static const struct {
        unsigned line;
        const char *why;
    } bad[] = {{18, "it is a template"},
               {26, "a loop over a range"},
               {41, "where 'm[i][i]' lies is not known"},
               {47, "f[i]"}};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct lull_kernel *kernel;
        struct lull_error err = {""};
        assert_int_equal(read_cpp(bad[i].line, NULL, 0, &kernel, &err), LULL_ERR_FORMAT);
        fail_if(!strstr(err.text, bad[i].why), "line %u: %s", bad[i].line, err.text);
    }
}

static int make_folder_of_cpp(void **state)
{
    (void)state;
    folder_make();
    return 0;
}

static int remove_folder_of_cpp(void **state)
{
    (void)state;
    folder_remove();
    return 0;
}

TEST_GROUP(test_read_cpp)
{
    if (!reads_loops())
        return 77;
    const struct CMUnitTest tests[] = {
        ARENA_TEST(a_vector_is_an_array),
        ARENA_TEST(members_of_this),
        ARENA_TEST(indices_in_vectors),
        ARENA_TEST(others_are_refused),
    };
    return run_cases(tests, make_folder_of_cpp, remove_folder_of_cpp);
}
