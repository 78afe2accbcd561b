/* Two names for one array: where it is certain that a name is a place in an array, accesses by both are of that array; where
 * two names may be of the same data, the nest is refused. Expected values are read off the source by hand. */
#include "model/kernel/kernel.h"

#include "support/arena_case.h"
#include "support/folder.h"
#include "support/loops.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

struct name_case {
    const char *file; /* whose ending says the language */
    const char *text; /* the wanted loop has the mark "LOOP" in its line */
    const char *
        arrays; /* in the order of the accesses, "a[20 i + j] a[20 i + j + 20]"; NULL: it is refused */
    const char *why;
};

static unsigned line_of_mark(const char *text)
{
    unsigned line = 1;
    const char *mark = strstr(text, "LOOP");
    assert_non_null(mark);
    for (const char *at = text; at < mark; at++)
        line += *at == '\n';
    return line;
}

static void check_name_case(const struct name_case *c)
{
    struct lull_kernel *kernel = NULL;
    struct lull_error err = {""};
    const char *found = "";
    const struct lull_kernel_source source = {.path = folder_path(c->file),
                                              .first_line = line_of_mark(c->text),
                                              .last_line = line_of_mark(c->text),
                                              .suppose_bytes = 1e6};
    folder_write(source.path, c->text, strlen(c->text));
    const lull_status status = lull_kernel_read(&source, arena, &kernel, &err);
    if (!c->arrays) {
        fail_if(status != LULL_ERR_FORMAT || !strstr(err.text, c->why), "%s: %d, %s", c->text,
                (int)status, err.text);
        return;
    }
    fail_if(status != LULL_OK, "%s: %s", c->text, err.text);
    for (size_t i = 0; i < kernel->n_accesses; i++)
        found = lull_arena_printf(
            arena, "%s%s%s[%s]", found, i ? " " : "",
            kernel->arrays[kernel->accesses[i].array].name,
            lull_poly_text(&kernel->accesses[i].offset, lull_kernel_names(kernel, arena), arena));
    fail_if(strcmp(found, c->arrays) != 0, "%s: %s, expected %s", c->text, found, c->arrays);
    if (c->why)
        fail_if(!kernel->around || !strstr(kernel->around, c->why), "%s: around: %s", c->text,
                kernel->around ? kernel->around : "(nothing)");
}

static void places_are_resolved(void **state)
{
    static const struct name_case cases[] = {
        {"row.c",
         "void f(double *a, int n)\n{\n    for (int i = 0; i < n; i++) {\n"
         "        double *row = &a[i * 20];\n        for (int j = 0; j < 20; j++)\n"
         "            row[j] = a[i * 20 + j + 20]; /* LOOP */\n    }\n}\n",
         "a[20 i + j + 20] a[20 i + j]", NULL},
        {"sum.c",
         "void f(double *a, int n)\n{\n    for (int i = 1; i < n; i++) {\n"
         "        const double *up = a + (i - 1) * 20, *const down = up + 40;\n"
         "        for (int j = 0; j < 20; j++)\n"
         "            a[i * 20 + j] = up[j] + *(down + j); /* LOOP */\n    }\n}\n",
         "a[20 i + j - 20] a[20 i + j + 20] a[20 i + j]", NULL},
        {"two.c",
         "void f(double a[][20], int n)\n{\n    for (int i = 0; i < n; i++) {\n"
         "        double *row = a[i], *next = &a[i + 1][0];\n        for (int j = 0; j < 20; j++)\n"
         "            row[j] = next[j] + a[i][j + 1]; /* LOOP */\n    }\n}\n",
         "a[20 i + j + 20] a[20 i + j + 1] a[20 i + j]", NULL},
        {"before.c", /* a name that is declared before the nest */
         "void f(double *a, int n)\n{\n    double *b = a + 5;\n    double *c = b;\n"
         "    for (int i = 0; i < n; i++)\n        c[i] = a[i]; /* LOOP */\n}\n",
         "a[i] a[i + 5]", NULL},
        {"member.c",
         "struct g { double *data; int n; };\nvoid f(struct g *g)\n{\n"
         "    const struct g *h = g;\n    double *d = h->data;\n"
         "    for (int i = 0; i < g->n; i++)\n        d[i] = g->data[i + 1] + h->data[i]; /* LOOP "
         "*/\n}\n",
         "g.data[i + 1] g.data[i] g.data[i]", NULL},
        {"reference.cpp",
         "#include <vector>\nstruct grid { std::vector<double> data; };\n"
         "void f(grid &g, int n)\n{\n    auto &v = g.data;\n    double *p = g.data.data();\n"
         "    grid &h = g;\n    for (int i = 0; i < n; i++)\n"
         "        v[i] = g.data[i + 1] + p[i + 2] + h.data[i + 3]; /* LOOP */\n}\n",
         "g.data[i + 1] g.data[i + 2] g.data[i + 3] g.data[i]", NULL},
        /* What a row of pointers leads to is not known, and the loops around it are none of the nest. */
        {"rows.c",
         "void f(double **m, int n)\n{\n    for (int i = 0; i < n; i++) {\n"
         "        double *row = m[i], *next = m[i + 1];\n        for (int j = 0; j < 20; j++)\n"
         "            row[j] = next[j]; /* LOOP */\n    }\n}\n",
         "next[j] row[j]", "where 'row' points to is not understood: 'm[i]'"},
        /* Rows that are exchanged are two arrays at any time. */
        {"exchange.c",
         "static void step(double *to, const double *from, int n)\n{\n"
         "    for (int i = 1; i < n; i++)\n        to[i] = from[i - 1]; /* LOOP */\n}\n"
         "void f(double *a, double *b, int n)\n{\n    double *u = a, *v = b;\n"
         "    for (int t = 0; t < 10; t++) {\n        step(u, v, n);\n"
         "        double *s = u;\n        u = v;\n        v = s;\n    }\n    step(a, b, n);\n"
         "    step(b, a, n);\n}\n",
         "from[i - 1] to[i]", NULL},
        {"apart.c",
         "#include <stdlib.h>\nvoid f(int n)\n{\n    double *a = malloc(8 * n), *b = malloc(8 * "
         "n);\n"
         "    for (int i = 0; i < n; i++)\n        a[i] = b[i]; /* LOOP */\n}\n",
         "b[i] a[i]", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_name_case(&cases[i]);
}

static void what_may_be_the_same_is_refused(void **state)
{
    static const struct name_case cases[] = {
        {"changed.c", /* it is set twice: where it points to in the loop is not certain */
         "void f(double *a, int n)\n{\n    double *b = a;\n    b = a + n;\n"
         "    for (int i = 0; i < n; i++)\n        b[i] = a[i]; /* LOOP */\n}\n",
         NULL, "'a' and 'b' may be the same data"},
        {"call.c",
         "static void f(double *x, const double *y, int n)\n{\n    for (int i = 0; i < n; i++)\n"
         "        x[i] = y[i]; /* LOOP */\n}\nvoid g(double *u, int n)\n{\n    f(u, u + n, "
         "n);\n}\n",
         NULL, "line 8: 'y' and 'x' may be the same data"},
        {"deep.c", /* by a variable in between */
         "static void f(double *x, const double *y, int n)\n{\n    for (int i = 0; i < n; i++)\n"
         "        x[i] = y[i]; /* LOOP */\n}\nvoid g(double *u, int n)\n{\n    double *v = &u[n];\n"
         "    f(u, v, n);\n}\n",
         NULL, "'y' and 'x' may be the same data"},
        {"global.c",
         "static double a[100], *p;\nvoid set(int n)\n{\n    p = a + n;\n}\nvoid f(int n)\n{\n"
         "    for (int i = 0; i < n; i++)\n        p[i] = a[i]; /* LOOP */\n}\n",
         NULL, "'a' and 'p' may be the same data"},
        {"halves.c",
         "struct g { double *now, *next; };\nvoid set(struct g *g, double *buffer, int n)\n{\n"
         "    g->now = buffer;\n    g->next = buffer + n;\n}\nvoid f(struct g *g, int n)\n{\n"
         "    for (int i = 0; i < n; i++)\n        g->next[i] = g->now[i]; /* LOOP */\n}\n",
         NULL, "'g.now' and 'g.next' may be the same data"},
        {"choice.c",
         "void f(double *a, double *b, int n)\n{\n    double *from = n > 9 ? a : b;\n"
         "    for (int i = 0; i < n; i++)\n        a[i] = from[i]; /* LOOP */\n}\n",
         NULL, "'from' and 'a' may be the same data"},
        {"objects.c",
         "struct g { double *data; };\nstatic void f(struct g *to, struct g *from, int n)\n{\n"
         "    for (int i = 0; i < n; i++)\n        to->data[i] = from->data[i]; /* LOOP */\n}\n"
         "void h(int n)\n{\n    struct g g;\n    f(&g, &g, n);\n}\n",
         NULL, "'from.data' and 'to.data' may be the same data"},
        {"vectors.cpp",
         "#include <vector>\nvoid f(std::vector<double> &x, const std::vector<double> &y, int "
         "n)\n{\n"
         "    for (int i = 0; i < n; i++)\n        x[i] = y[i]; /* LOOP */\n}\n"
         "void g(std::vector<double> &v, int n)\n{\n    f(v, v, n);\n}\n",
         NULL, "'y' and 'x' may be the same data"},
        {"same_row.c",
         "void f(double **m, int n)\n{\n    double *x = m[3], *y = m[3];\n"
         "    for (int i = 0; i < n; i++)\n        x[i] = y[i]; /* LOOP */\n}\n",
         NULL, "'y' and 'x' may be the same data"},
        {"type.c", /* a row of numbers of another type */
         "void f(double *a, int n)\n{\n    for (int i = 0; i < n; i++) {\n"
         "        float *row = (float *)&a[i * n];\n        row[i] = a[i];\n"
         "        while (n > i) /* LOOP */\n            n--;\n    }\n}\n",
         NULL, "not understood"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_name_case(&cases[i]);
}

/* An integer that is declared with a value, and may be changed before the loop, does not stand for that value. */
static void a_changed_integer_is_not_known(void **state)
{
    static const char text[] =
        "int scan(int *n);\nvoid f(double *a)\n{\n    int m = 6;\n    int n = 7;\n"
        "    scan(&n);\n    for (int i = 0; i < n; i++)\n        a[i] = m; /* LOOP */\n}\n";
    struct lull_kernel *kernel = NULL;
    struct lull_error err = {""};
    const struct lull_kernel_source source = {
        .path = folder_path("n.c"), .first_line = 8, .last_line = 8, .suppose_bytes = 1e6};
    (void)state;
    folder_write(source.path, text, sizeof text - 1);
    fail_if(lull_kernel_read(&source, arena, &kernel, &err) != LULL_OK, "%s", err.text);
    assert_false(lull_kernel_knows_iterations(kernel, 0));
}

static int make_folder_of_names(void **state)
{
    (void)state;
    folder_make();
    return 0;
}

static int remove_folder_of_names(void **state)
{
    (void)state;
    folder_remove();
    return 0;
}

TEST_GROUP(test_read_names)
{
    if (!reads_loops())
        return 77;
    const struct CMUnitTest tests[] = {
        ARENA_TEST(places_are_resolved),
        ARENA_TEST(what_may_be_the_same_is_refused),
        ARENA_TEST(a_changed_integer_is_not_known),
    };
    return run_cases(tests, make_folder_of_names, remove_folder_of_names);
}
