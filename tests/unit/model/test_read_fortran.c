/* Reading loops of Fortran: the same kernels in C with exchanged indices have the same form and the same prediction; loops
 * by their lines; what is refused, with its reason. Expected values are those of C, or read off the source by hand. */
#include "model/kernel/predict.h"

#include "model/kernel/fortran.h"
#include "support/arena_case.h"
#include "support/folder.h"
#include "support/loops.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct lull_kernel *read_text(const char *file, const char *text,
                                     const struct lull_kernel_size *sizes, size_t n_sizes)
{
    struct lull_kernel *kernel = NULL;
    struct lull_error err = {""};
    const struct lull_kernel_source source = {
        .path = folder_path(file), .sizes = sizes, .n_sizes = n_sizes};
    folder_write(source.path, text, strlen(text));
    fail_if(lull_kernel_read(&source, arena, &kernel, &err) != LULL_OK, "%s%s", text, err.text);
    return kernel;
}

/* ==== the same kernels in C =================================================================== */

static const struct pair {
    const char *fortran, *c;
} pairs[] = {
    {"real(8) :: a(n), b(n), c(n), s\ndo i = 1, n\n  a(i) = b(i) + s * c(i)\nend do\n",
     "double a[n], b[n], c[n], s;\nfor (long i = 1; i <= n; i++)\n    a[i - 1] = b[i - 1] + s * "
     "c[i - 1];\n"},
    {"real :: a(0:n), b(0:n)\ninteger i\ndo i = 0, n\n  a(i) = b(i)\nenddo\n",
     "float a[n + 1], b[n + 1];\nfor (long i = 0; i <= n; i++)\n    a[i] = b[i];\n"},
    {"double precision, dimension(n, m) :: a, b\ndouble precision w\nDO J = 2, M - 1\n  DO I = 2, "
     "N - 1\n"
     "    B(I, J) = W * (A(I - 1, J) + A(I + 1, J) & ! neighbours\n\n"
     "      & + A(I, J - 1) + A(I, J + 1))\n  END DO\nEND DO\n",
     "double a[m][n], b[m][n], w;\nfor (long j = 2; j <= m - 1; j++)\n  for (long i = 2; i <= n - "
     "1; i++)\n"
     "    b[j - 1][i - 1] = w * (a[j - 1][i - 2] + a[j - 1][i] + a[j - 2][i - 1] + a[j][i - "
     "1]);\n"},
    /* by columns, as Fortran stores them */
    {"real*8 a(m,n), x(n), y(m)\ndo j = 1, n; do i = 1, m\n  y(i) = y(i) + a(i,j) * x(j)\nend do; "
     "end do\n",
     "double a[n][m], x[n], y[m];\nfor (long j = 1; j <= n; j++)\n  for (long i = 1; i <= m; i++)\n"
     "    y[i - 1] = y[i - 1] + a[j - 1][i - 1] * x[j - 1];\n"},
    /* by rows, each element in another line */
    {"integer, parameter :: r = kind(1.0d0)\nreal(kind=r) a(m,n), x(n), y(m)\ndo i = 1, m\n  do j "
     "= 1, n\n"
     "    y(i) = y(i) + a(i,j) * x(j)\n  end do\nend do\n",
     "double a[n][m], x[n], y[m];\nfor (long i = 1; i <= m; i++)\n  for (long j = 1; j <= n; j++)\n"
     "    y[i - 1] = y[i - 1] + a[j - 1][i - 1] * x[j - 1];\n"},
    {"real(8) x(n), y(n), s\ndo i = 1, n\n  s = s + x(i) * y(i)\nend do\n",
     "double x[n], y[n], s;\nfor (long i = 1; i <= n; i++)\n    s = s + x[i - 1] * y[i - 1];\n"},
    /* the long-range stencil of the fourth order, and downwards in steps */
    {"real(8) u(-3:n + 4, -3:m + 4), v(-3:n + 4, -3:m + 4), c0, c1, c2\ndo j = m, 1, -2\n  do i = "
     "1, n\n"
     "    v(i, j) = c0 * u(i, j) + c1 * (u(i, j - 4) + u(i, j + 4)) + c2 * (u(i - 4, j) + u(i + 4, "
     "j)) &\n"
     "      - u(i, j)**2 / 3.0d0\n  end do\nend do\n",
     "double u[m + 8][n + 8], v[m + 8][n + 8], c0, c1, c2;\nfor (long j = m; j >= 1; j -= 2)\n"
     "  for (long i = 1; i <= n; i++)\n"
     "    v[j + 3][i + 3] = c0 * u[j + 3][i + 3] + c1 * (u[j - 1][i + 3] + u[j + 7][i + 3]) +\n"
     "      c2 * (u[j + 3][i - 1] + u[j + 3][i + 7]) - u[j + 3][i + 3] * u[j + 3][i + 3] / 3.0;\n"},
    /* constants that are negative */
    {"integer, parameter :: k = 6 / (-1), l = -((-2)**2 + 1)\nreal(8) :: a(k:n), b(l:n)\ndo i = l, "
     "n\n  a(i) = b(i)\nend do\n",
     "double a[n + 7], b[n + 6];\nfor (long i = -5; i <= n; i++)\n    a[i + 6] = b[i + 5];\n"},
    /* types by the first letter */
    {"implicit real*8 (a-h, o-z)\ndimension a(n), b(n)\nreal c(n)\ndo i = 1, n\n  a(i) = b(i) + t "
     "* c(i)\n"
     "end do\n",
     "double a[n], b[n];\nfloat c[n];\ndouble t;\nfor (long i = 1; i <= n; i++)\n"
     "    a[i - 1] = b[i - 1] + t * c[i - 1];\n"},
    /* indices in an array */
    {"integer idx(n)\nreal(8) x(m), y(n)\ndo i = 1, n\n  y(i) = y(i) + abs(x(idx(i)))\nend do\n",
     "int idx[n];\ndouble x[m], y[n];\nfor (long i = 1; i <= n; i++)\n"
     "    y[i - 1] = y[i - 1] + fabs(x[idx[i - 1] - 1]);\n"}};

static const char *form_of(const struct lull_kernel *kernel)
{
    const char *const *names = lull_kernel_names(kernel, arena);
    const char *text = "";
    for (size_t l = 0; l < kernel->n_loops; l++) {
        const struct lull_kernel_loop *loop = &kernel->loops[l];
        const struct lull_kernel_flops *flops = &kernel->flops[l];
        text = lull_arena_printf(arena, "%s%s from %s to %s by %lld in %d: %g + %g * %g /\n", text,
                                 names[loop->symbol], lull_poly_text(&loop->first, names, arena),
                                 lull_poly_text(&loop->end, names, arena), (long long)loop->step,
                                 loop->parent, flops->add, flops->multiply, flops->divide);
    }
    for (size_t i = 0; i < kernel->n_accesses; i++) {
        const struct lull_kernel_access *access = &kernel->accesses[i];
        const struct lull_kernel_array *array = &kernel->arrays[access->array];
        /* The square of an element is one access in Fortran, and two in C. */
        if (i > 0 && !access->write && !access[-1].write && access->array == access[-1].array &&
            lull_poly_equal(&access->offset, &access[-1].offset))
            continue;
        text = lull_arena_printf(arena, "%s%s %s[%s] of %u bytes, %g in all, in %d, by %d\n", text,
                                 access->write ? "writes" : "reads", array->name,
                                 lull_poly_text(&access->offset, names, arena), array->bytes,
                                 lull_kernel_array_bytes(kernel, access->array), access->loop,
                                 access->index_access == LULL_KERNEL_NONE ? 0 : 1);
    }
    return lull_arena_printf(arena, "%sreduces %d, %u bytes\n", text, kernel->reduces,
                             kernel->precision);
}

static void same_form_as_c(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct lull_kernel_size large[] = {{"N", 300}, {"m", 200}};
        const struct lull_kernel_size small[] = {{"n", 300}, {"m", 200}};
        const size_t n_sizes = strchr(pairs[i].c, 'm') ? 2 : 1;
        const struct lull_kernel *fortran =
            read_text("kernel.f90", pairs[i].fortran, large, n_sizes);
        const struct lull_kernel *c = read_text("kernel.c", pairs[i].c, small, n_sizes);
        assert_string_equal(form_of(fortran), form_of(c));
    }
}

static void same_prediction_as_c(void **state)
{
    struct lull_machine *machine;
    struct lull_error err = {""};
    const char *path =
        lull_arena_printf(arena, "%s/../data/haswell-e5-2695v3-cod.json", getenv("LULL_TESTS_DIR"));
    (void)state;
    fail_if(lull_machine_read(path, arena, &machine, &err) != LULL_OK, "%s", err.text);
    static const size_t some[] = {0, 2, 4}; /* compilations take time */
    for (size_t n = 0; n < sizeof some / sizeof *some; n++) {
        const size_t i = some[n];
        struct lull_kernel_prediction made[2];
        for (size_t k = 0; k < 2; k++) {
            const struct lull_kernel_size sizes[] = {{k ? "n" : "N", 3000}, {"m", 2000}};
            const struct lull_kernel *kernel =
                read_text(k ? "kernel.c" : "kernel.f90", k ? pairs[i].c : pairs[i].fortran, sizes,
                          strchr(pairs[i].c, 'm') ? 2 : 1);
            const struct lull_kernel_source source = {.path = kernel->path};
            const struct lull_kernel_options options = {.cores = 1, .seed = 1};
            fail_if(lull_kernel_predict(kernel, machine, &source, &options, NULL, arena, &made[k],
                                        &err) != LULL_OK,
                    "%s", err.text);
        }
        assert_true(made[0].unit == made[1].unit && made[0].flops == made[1].flops);
        for (size_t l = 0; l < made[0].layers.n_levels; l++) {
            assert_true(made[0].lines[l].loads == made[1].lines[l].loads);
            assert_true(made[0].lines[l].stores == made[1].lines[l].stores);
        }
        assert_true(made[0].ecm.t_ol == made[1].ecm.t_ol);
        assert_true(made[0].ecm.t_nol == made[1].ecm.t_nol);
        assert_true(made[0].cycles == made[1].cycles);
        assert_true(made[0].saturation == made[1].saturation);
    }
}

/* ==== by lines ================================================================================ */

static const char program[] =
    "module grids\n"                                                           /* 1 */
    "  use, intrinsic :: iso_fortran_env, only: dp => real64\n"                /* 2 */
    "  implicit none\n"                                                        /* 3 */
    "  integer, parameter :: rows = 40, columns = 3 * rows\n"                  /* 4 */
    "  real(dp), allocatable :: u(:, :), v(:, :), open(:)\n"                   /* 5 */
    "  integer :: steps = 7\n"                                                 /* 6 */
    "contains\n"                                                               /* 7 */
    "  subroutine smooth(a, b, n, m)\n"                                        /* 8 */
    "    integer, intent(in) :: n, m\n"                                        /* 9 */
    "    real(dp), intent(in) :: a(0:n + 1, 0:m + 1)\n"                        /* 10 */
    "    real(dp), intent(out) :: b(0:n + 1, 0:m + 1)\n"                       /* 11 */
    "    integer :: i, j\n"                                                    /* 12 */
    "    !$omp parallel do private(i)\n"                                       /* 13 */
    "    do j = 1, m\n"                                                        /* 14 */
    "      do i = 1, n\n"                                                      /* 15 */
    "        b(i, j) = 0.25_dp * (a(i - 1, j) + a(i + 1, j))\n"                /* 16 */
    "      end do\n"                                                           /* 17 */
    "    end do\n"                                                             /* 18 */
    "  end subroutine smooth\n"                                                /* 19 */
    "  pure real(dp) function dot(x, y) result(s)\n"                           /* 20 */
    "    real(dp), intent(in) :: x(:), y(:)\n"                                 /* 21 */
    "    integer :: i\n"                                                       /* 22 */
    "    s = 0\n"                                                              /* 23 */
    "    do i = 1, size(x)\n"                                                  /* 24 */
    "      s = s + x(i) * y(i)\n"                                              /* 25 */
    "    end do\n"                                                             /* 26 */
    "  end function dot\n"                                                     /* 27 */
    "  subroutine change()\n"                                                  /* 28 */
    "    steps = 9\n"                                                          /* 29 */
    "  end subroutine\n"                                                       /* 30 */
    "end module grids\n"                                                       /* 31 */
    "program heat\n"                                                           /* 32 */
    "  use grids\n"                                                            /* 33 */
    "  implicit none\n"                                                        /* 34 */
    "  integer :: t, k, given = 5, other = 6\n"                                /* 35 */
    "  allocate(u(0:rows + 1, 0:columns + 1), v(0:rows + 1, 0:columns + 1))\n" /* 36 */
    "  allocate(open(given))\n"                                                /* 37 */
    "  read *, other\n"                                                        /* 38 */
    "  do t = 1, 10\n"                                                         /* 39 */
    "    call smooth(u, v, rows, columns); call smooth(v, u, rows, columns)\n" /* 40 */
    "  end do\n"                                                               /* 41 */
    "  outer: do k = 1, columns\n"                                             /* 42 */
    "    do t = 1, rows, 2\n"                                                  /* 43 */
    "      u(t, k) = v(t, k + 1)\n"                                            /* 44 */
    "    end do\n"                                                             /* 45 */
    "  end do outer\n"                                                         /* 46 */
    "  do t = 1, given\n"                                                      /* 47 */
    "    open(t) = 0\n"                                                        /* 48 */
    "  end do\n"                                                               /* 49 */
    "  do t = 1, other\n"                                                      /* 50 */
    "    open(t) = open(t + steps)\n"                                          /* 51 */
    "  end do\n"                                                               /* 52 */
    "  print *, dot(u(:, 1), v(:, 1))\n"                                       /* 53 */
    "end program heat\n";

static lull_status read_line(const char *text, unsigned line, struct lull_kernel **ret_kernel,
                             struct lull_error *err)
{
    const struct lull_kernel_source source = {.path = folder_path("program.f90"),
                                              .first_line = line,
                                              .last_line = line,
                                              .suppose_bytes = 1e6};
    folder_write(source.path, text, strlen(text));
    return lull_kernel_read(&source, arena, ret_kernel, err);
}

static struct lull_kernel *good_line(unsigned line)
{
    struct lull_kernel *kernel = NULL;
    struct lull_error err = {""};
    fail_if(read_line(program, line, &kernel, &err) != LULL_OK, "line %u: %s", line, err.text);
    return kernel;
}

static const char *place_in_fortran(const struct lull_kernel *kernel, size_t access)
{
    const struct lull_kernel_access *of = &kernel->accesses[access];
    return lull_arena_printf(arena, "%s[%s]", kernel->arrays[of->array].name,
                             lull_poly_text(&of->offset, lull_kernel_names(kernel, arena), arena));
}

static void loops_by_lines(void **state)
{
    (void)state;
    const struct lull_kernel *smooth = good_line(16);
    assert_string_equal(smooth->function, "smooth");
    assert_int_equal(smooth->n_loops, 2);
    assert_int_equal(smooth->omp_line, 13);
    assert_int_equal(smooth->code_line, 14);
    assert_true(smooth->executions == 20); /* two calls in each of ten steps */
    assert_true(lull_kernel_iterations(smooth, 1) == 40 * 120);
    assert_string_equal(place_in_fortran(smooth, 0), "a[j n + 2 j + i - 1]");
    assert_string_equal(place_in_fortran(smooth, 2), "b[j n + 2 j + i]");
    const struct lull_kernel *dot = good_line(25);
    assert_string_equal(dot->function, "dot");
    assert_true(dot->reduces && isnan(dot->executions));
    assert_string_equal(place_in_fortran(dot, 0), "x[i - 1]");
    assert_string_equal(dot->symbols[dot->arrays[0].is_pointer ? dot->loops[0].symbol : 0].name,
                        "i");
    const struct lull_kernel *copy = good_line(44);
    assert_string_equal(copy->function, "main");
    assert_true(copy->executions == 1 && lull_kernel_iterations(copy, 1) == 120 * 20);
    assert_string_equal(place_in_fortran(copy, 0), "v[42 k + t + 42]"); /* u(0:41, ...) */
    assert_string_equal(place_in_fortran(copy, 1), "u[42 k + t]");
}

/* What nothing changes has the value that it is declared with, and what anything may change has none. */
static void values_of_fortran(void **state)
{
    (void)state;
    const struct lull_kernel *given = good_line(48);
    assert_true(lull_kernel_iterations(given, 0) == 5 && lull_kernel_knows_iterations(given, 0));
    const struct lull_kernel *other = good_line(51);
    assert_false(lull_kernel_knows_iterations(other, 0));
    for (size_t s = 0; s < other->n_symbols; s++) /* a variable of a module, which others set */
        if (strcmp(other->symbols[s].name, "steps") == 0)
            assert_true(other->symbols[s].supposed);
}

/* ==== what is refused ========================================================================= */

static void others_have_their_reason(void **state)
{
    static const struct {
        const char *declarations, *body, *why;
    } bad[] = {
        {"real x(n)", "if (x(i) > 0) x(i) = 1", "a branch"},
        {"real x(n)", "x(:) = 0", "a section of 'x'"},
        {"real x(n), y(n)", "x = y", "an operation on whole arrays"},
        {"real x(n), y(n)", "x(i) = sum(y)", "an operation on whole arrays"},
        {"real x(n)", "write (*, *) x(i)", "output"},
        {"real x(n)", "call fill(x(i))", "call of 'fill'"},
        {"real x(n)", "x(i) = exp(x(i))", "call of 'expf' has no cost"},
        {"complex x(n)", "x(i) = 1", "complex numbers"},
        {"real, pointer :: x(:)", "x(i) = 1", "'x' is a pointer"},
        {"type(grid) :: x", "x%data(i) = 1", "a derived type"},
        {"real(other_kind) x(n)", "x(i) = 1", "its kind is not known"},
        {"real(16) x(n)", "x(i) = 1", "another size than 4 and 8 bytes"},
        {"real x(n), y(n)\nequivalence (x, y)", "x(i) = y(i)", "the same data"},
        {"real x(n)", "x(i * i) = 1", "index of 'x' is not affine"},
        {"real x(n)", "x(mod(i, 3)) = 1", "'mod' is no array or function"},
        {"real x(n)", "x(i, 1) = 1", "the indices of 'x'"},
        {"real x(n)", "x(i) = y(i)", "'y' is no array"},
        {"use elsewhere\nreal x(n)", "x(i) = w", "'w' is not declared in this file"},
        {"implicit none\nreal x(n)", "x(i) = w", "'w' is not declared in this file"},
        {"real x(n)", "select case (i)\ncase (1)\nx(i) = 1\nend select", "a branch"},
        {"real x(n)", "n = n + 1", "changed in the loop"},
        {"implicit real(8) (a-z)\nreal x(n)", "x(i) = w", "that of an implicit statement"},
        {"real x(n)", "x(i) = 99999999999999999999", "a number is too large"},
        {"real x(n)", "do k = 1, n, i\nx(k) = 1\nend do", "step of the loop is not a constant"},
        {"real x(n)", "do concurrent (k = 1:n)\nx(k) = 1\nend do", "a do concurrent"},
        {"real x(n)", "do while (k < n)\nx(k) = 1\nend do", "a while loop"},
        {"real x(n)", "block\nreal w\nx(i) = 1\nend block", "a branch"},
        {"real x(n)", "exit", "a break"},
        {"real x(n)",
         "x(i) = ((((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))"
         "))))))))))))))))))))",
         "brackets are too deep"}};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct lull_kernel *kernel;
        struct lull_error err = {""};
        unsigned line = 4;
        const char *text = lull_arena_printf(
            arena,
            "subroutine s(n)\ninteger n, i, k\n%s\ndo i = 1, n\n%s\nend do\nend subroutine\n",
            bad[i].declarations, bad[i].body);
        for (const char *at = bad[i].declarations; *at; at++)
            line += *at == '\n';
        const lull_status status = read_line(text, line, &kernel, &err);
        fail_if(status != LULL_ERR_FORMAT || !strstr(err.text, bad[i].why),
                "%s: %d, %s, expected %s", text, (int)status, err.text, bad[i].why);
    }
}

static void text_that_is_no_fortran(void **state)
{
    static const struct {
        const char *begin, *each, *end;
        unsigned times;
        const char *why;
    } bad[] = {{"x = 1", " + 1", "\n", 8000, "line 1: a statement of more than 16384 characters"},
               {"x = 1 &\n", " + 1 &\n", "\n", 8000, "a statement of more than 16384 characters"},
               {"", "do i = 1, n\n", "", 100, "line 65: blocks are too deep"},
               {"", "end do\n", "", 1, "line 1: an end without what it ends"},
               {"do i = 1, n\n", "", "end if\n", 1, "line 2: an end without what it ends"},
               {"", "else\n", "", 1, "line 1: an else without its if"}};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const size_t each = strlen(bad[i].each), begin = strlen(bad[i].begin);
        char *text = lull_arena_alloc(arena, begin + each * bad[i].times + 100);
        struct lull_fortran_text read;
        struct lull_error err = {""};
        strcpy(text, bad[i].begin);
        for (unsigned k = 0; k < bad[i].times; k++)
            strcpy(text + begin + k * each, bad[i].each);
        strcat(text, bad[i].end);
        const struct lull_fortran_source source = {
            .path = "text.f90", .text = text, .size = strlen(text), .is_program = true};
        assert_int_equal(lull_fortran_read(&source, arena, &read, &err), LULL_ERR_FORMAT);
        fail_if(!strstr(err.text, bad[i].why), "%s, expected %s", err.text, bad[i].why);
    }
}

static int make_folder_of_fortran(void **state)
{
    (void)state;
    folder_make();
    return 0;
}

static int remove_folder_of_fortran(void **state)
{
    (void)state;
    folder_remove();
    return 0;
}

TEST_GROUP(test_read_fortran)
{
    if (!reads_loops())
        return 77;
    const struct CMUnitTest tests[] = {
        ARENA_TEST(same_form_as_c),           ARENA_TEST(same_prediction_as_c),
        ARENA_TEST(loops_by_lines),           ARENA_TEST(values_of_fortran),
        ARENA_TEST(others_have_their_reason), ARENA_TEST(text_that_is_no_fortran),
    };
    return run_cases(tests, make_folder_of_fortran, remove_folder_of_fortran);
}
