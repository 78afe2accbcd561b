/* Shapes of communication graphs, planted and spoilt, and laws, planted. */
#include "model/derive/graph.h"
#include "model/derive/law.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINKS = 4096, MOST_RUNS = 3 };

struct planted {
    struct lull_links runs[MOST_RUNS];
    struct lull_link links[MOST_RUNS][MOST_LINKS];
    size_t count;
};

/* Adds messages to a link of the last run. */
static void add(struct planted *planted, uint32_t source, uint32_t target, uint64_t messages,
                uint64_t bytes)
{
    size_t run = planted->count - 1;
    struct lull_links *links = &planted->runs[run];
    struct lull_link *link = planted->links[run];
    while (link < planted->links[run] + links->count &&
           (link->source != source || link->target != target))
        link++;
    if (link == planted->links[run] + links->count) {
        assert_true(links->count < MOST_LINKS);
        *link = (struct lull_link){source, target, 0, 0};
        links->count++;
    }
    link->messages += messages;
    link->bytes += messages * bytes;
}

static void add_run(struct planted *planted, uint32_t processes)
{
    size_t run = planted->count++;
    planted->runs[run] = (struct lull_links){.processes = processes, .items = planted->links[run]};
}

/* A grid whose dimension d sends `messages` of 100 (d + 1) bytes in both directions. */
static void add_grid(struct planted *planted, const uint32_t extents[3], bool periodic,
                     uint64_t messages)
{
    uint32_t processes = extents[0] * extents[1] * extents[2];
    add_run(planted, processes);
    for (uint32_t rank = 0; rank < processes; rank++) {
        const uint32_t at[] = {rank % extents[0], rank / extents[0] % extents[1],
                               rank / extents[0] / extents[1]};
        for (unsigned d = 0; d < 3; d++)
            for (int step = -1; step <= 1; step += 2) {
                uint32_t to[3], extent = extents[d];
                bool is_beyond = step < 0 ? at[d] == 0 : at[d] + 1 == extent;
                if (extent == 1 || (is_beyond && !periodic))
                    continue;
                memcpy(to, at, sizeof to);
                to[d] = (at[d] + extent + (uint32_t)step) % extent;
                add(planted, rank, to[0] + extents[0] * (to[1] + extents[1] * to[2]), messages,
                    100 * (d + 1));
            }
    }
}

static struct lull_graph_shape find(const struct planted *planted, struct lull_fitted_graph *fitted)
{
    return lull_shape_find(planted->runs, planted->count, fitted);
}

static void test_grids(void **state)
{
    static const struct {
        uint32_t extents[MOST_RUNS][3];
        bool periodic;
        const char *name;
    } cases[] = {
        {{{2, 1, 1}, {4, 1, 1}, {8, 1, 1}}, false, "chain"},
        {{{2, 1, 1}, {4, 1, 1}, {8, 1, 1}}, true, "ring"},
        {{{1, 1, 1}, {2, 1, 1}, {4, 1, 1}}, true, "ring"},
        {{{2, 1, 1}, {3, 3, 1}, {5, 4, 1}}, false, "2-D grid, open"},
        {{{2, 2, 1}, {4, 3, 1}, {6, 5, 1}}, true, "2-D grid, periodic"},
        {{{1, 1, 1}, {2, 1, 1}, {3, 4, 1}}, false, "2-D grid, open"},
        {{{2, 2, 2}, {3, 3, 3}, {4, 3, 2}}, false, "3-D grid, open"},
        {{{4, 2, 2}, {3, 3, 3}, {4, 3, 5}}, true, "3-D grid, periodic"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct planted *planted = calloc(1, sizeof *planted);
        struct lull_fitted_graph fitted[MOST_RUNS];
        assert_non_null(planted);
        for (size_t run = 0; run < MOST_RUNS; run++)
            add_grid(planted, cases[i].extents[run], cases[i].periodic, 7);
        struct lull_graph_shape shape = find(planted, fitted);
        fail_if(strcmp(lull_shape_name(&shape), cases[i].name) != 0, "%s is found as %s",
                cases[i].name, lull_shape_name(&shape));
        for (size_t run = 0; run < MOST_RUNS; run++)
            if (planted->runs[run].processes > 1) {
                assert_memory_equal(fitted[run].extents, cases[i].extents[run],
                                    sizeof fitted[run].extents);
                assert_true(fitted[run].messages == 7);
                for (unsigned d = 0; d < 3; d++)
                    assert_true(fitted[run].extents[d] == 1 ||
                                fitted[run].bytes[d] == 100.0 * (d + 1));
            }
        free(planted);
    }
}

/* Two by two processes look alike with both boundaries; who sends in pairs is periodic. */
static void test_boundary(void **state)
{
    static const uint32_t square[] = {2, 2, 1}, pair[] = {2, 1, 1};
    struct planted *planted = calloc(1, sizeof *planted);
    struct lull_fitted_graph fitted[MOST_RUNS];
    (void)state;
    assert_non_null(planted);
    add_grid(planted, pair, true, 5);
    add_grid(planted, square, true, 5);
    struct lull_graph_shape shape = find(planted, fitted);
    assert_true(shape.is_ambiguous && !shape.periodic && fitted[1].messages == 10);
    planted->runs[0].in_pairs = planted->runs[1].in_pairs = true;
    shape = find(planted, fitted);
    assert_true(shape.is_ambiguous && shape.periodic && fitted[1].messages == 5);
    free(planted);
}

static void add_everyone(struct planted *planted, uint32_t processes)
{
    add_run(planted, processes);
    for (uint32_t a = 0; a < processes; a++)
        for (uint32_t b = 0; b < processes; b++)
            if (a != b)
                add(planted, a, b, 3, 50);
}

static void test_others(void **state)
{
    struct planted *planted = calloc(1, sizeof *planted);
    struct lull_fitted_graph fitted[MOST_RUNS];
    (void)state;
    assert_non_null(planted);
    add_run(planted, 4);
    struct lull_graph_shape shape = find(planted, fitted);
    assert_string_equal(lull_shape_name(&shape), "no messages");
    planted->count = 0;
    add_everyone(planted, 5);
    add_everyone(planted, 8);
    shape = find(planted, fitted);
    assert_string_equal(lull_shape_name(&shape), "everyone to everyone");
    assert_true(fitted[1].messages == 3 && fitted[1].bytes[0] == 50);
    add(planted, 0, 1, 1, 50); /* one message more than the others */
    shape = find(planted, fitted);
    assert_string_equal(lull_shape_name(&shape), "irregular");
    free(planted);
}

/* Edges of a tree, by rank expressions of its own: 0; (r - 1) / 2; r without its lowest bit. */
static uint32_t parent_of(const char *name, uint32_t rank)
{
    uint32_t bit = 1;
    while (!(rank & bit))
        bit *= 2;
    return strncmp(name, "star", 4) == 0     ? 0
           : strncmp(name, "binary", 6) == 0 ? (rank - 1) / 2
                                             : rank - bit;
}

static void add_tree(struct planted *planted, const char *name, uint32_t processes)
{
    add_run(planted, processes);
    for (uint32_t rank = 1; rank < processes; rank++) {
        if (strstr(name, "down"))
            add(planted, parent_of(name, rank), rank, 5, 64);
        if (strstr(name, "up"))
            add(planted, rank, parent_of(name, rank), 5, 32);
    }
}

static void test_trees(void **state)
{
    static const char *const names[] = {"star, down",        "star, up",
                                        "star, down and up", "binary tree, down",
                                        "binary tree, up",   "binary tree, down and up",
                                        "binomial tree, up", "binomial tree, down and up"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct planted *planted = calloc(1, sizeof *planted);
        struct lull_fitted_graph fitted[MOST_RUNS];
        assert_non_null(planted);
        add_tree(planted, names[i], 4);
        add_tree(planted, names[i], 7);
        add_tree(planted, names[i], 16);
        struct lull_graph_shape shape = find(planted, fitted);
        fail_if(strcmp(lull_shape_name(&shape), names[i]) != 0, "%s is found as %s", names[i],
                lull_shape_name(&shape));
        assert_true(fitted[2].messages == 5 && !shape.is_ambiguous);
        assert_true(fitted[2].bytes[0] == (strstr(names[i], "down") ? 64 : 0));
        assert_true(fitted[2].bytes[1] == (strstr(names[i], "up") ? 32 : 0));
        add(planted, 1, 9, 5, 64); /* no edge of any */
        shape = find(planted, fitted);
        assert_string_equal(lull_shape_name(&shape), "irregular");
        free(planted);
    }
}

static void test_one_way(void **state)
{
    struct planted *planted = calloc(1, sizeof *planted);
    struct lull_fitted_graph fitted[MOST_RUNS];
    (void)state;
    assert_non_null(planted);
    for (uint32_t processes = 4; processes <= 8; processes += 4) {
        add_run(planted, processes);
        for (uint32_t rank = 0; rank < processes; rank++)
            add(planted, rank, (rank + 1) % processes, 3, 10);
    }
    struct lull_graph_shape shape = find(planted, fitted);
    assert_string_equal(lull_shape_name(&shape), "ring, one way");
    assert_true(fitted[1].messages == 3 && fitted[1].bytes[0] == 10);
    planted->runs[0].count--; /* without what closes the rings: chains */
    planted->runs[1].count--;
    shape = find(planted, fitted);
    assert_string_equal(lull_shape_name(&shape), "chain, up the ranks");
    free(planted);
}

/* Three processes do not tell a star from the two other trees. */
static void test_ambiguous_tree(void **state)
{
    struct planted *planted = calloc(1, sizeof *planted);
    struct lull_fitted_graph fitted[MOST_RUNS];
    (void)state;
    assert_non_null(planted);
    add_tree(planted, "star, up", 3);
    struct lull_graph_shape shape = find(planted, fitted);
    assert_string_equal(lull_shape_name(&shape), "star, up");
    assert_true(shape.is_ambiguous);
    free(planted);
}

/* A grid that lacks a link, has one too many, or one message more, is none. */
static void test_spoilt(void **state)
{
    static const uint32_t extents[] = {4, 4, 1};
    (void)state;
    for (int spoilt = 0; spoilt < 3; spoilt++) {
        struct planted *planted = calloc(1, sizeof *planted);
        struct lull_fitted_graph fitted[MOST_RUNS];
        assert_non_null(planted);
        add_grid(planted, extents, false, 2);
        if (spoilt == 0)
            planted->runs[0].count--;
        else
            add(planted, 0, spoilt == 1 ? 5 : 1, 2, 100);
        struct lull_graph_shape shape = find(planted, fitted);
        assert_string_equal(lull_shape_name(&shape), "irregular");
        free(planted);
    }
}

static void test_laws(void **state)
{
    static const double powers[] = {-1, 0, -0.5}, sizes[] = {1, 2, 0};
    const struct lull_law_candidates candidates = {2, {powers, sizes}, {3, 3}};
    const double factors[4][LULL_LAW_FACTORS] = {{1, 10}, {4, 10}, {4, 30}, {16, 20}};
    double y[4];
    (void)state;
    for (size_t p = 0; p < 3; p++)
        for (size_t s = 0; s < 3; s++) {
            for (size_t i = 0; i < 4; i++)
                y[i] = 0.37 * pow(factors[i][0], powers[p]) * pow(factors[i][1], sizes[s]);
            struct lull_derived_law law = lull_law_find(factors, y, 4, &candidates);
            assert_true(law.exponents[0] == powers[p] && law.exponents[1] == sizes[s]);
            assert_true(fabs(law.coefficient - 0.37) < 1e-12 && law.residual < 1e-12);
        }
    /* by hand: y = c / P with ratios 1 and 1.1: c = (1/1 + 1/1.1) / (1 + 1/1.21) */
    const double noisy[] = {1, 0.275, 0, 0};
    struct lull_derived_law law = lull_law_find(
        factors, noisy, 2, &(struct lull_law_candidates){2, {powers, sizes + 2}, {1, 1}});
    assert_true(fabs(law.coefficient - (1 + 1 / 1.1) / (1 + 1 / 1.21)) < 1e-12);
    assert_true(law.low < law.coefficient && law.coefficient < law.high);
}

/* Own work that does not depend on the size, and a share of its square; two numbers of processes
 * cannot tell them apart from a power. */
static void test_serial_law(void **state)
{
    const double processes[] = {1, 2, 4, 8, 4}, sizes[] = {10, 10, 10, 30, 30};
    double y[5];
    struct lull_serial_law law;
    (void)state;
    for (size_t i = 0; i < 5; i++)
        y[i] = 0.25 + 0.03 * sizes[i] * sizes[i] / processes[i];
    assert_true(lull_serial_law_find(processes, sizes, y, 5, &law));
    assert_true(law.own_exponent == 0 && law.divided_exponent == 2 && law.residual < 1e-12);
    assert_true(fabs(law.own - 0.25) < 1e-12 && fabs(law.divided - 0.03) < 1e-12);
    assert_true(fabs(lull_serial_law_at(&law, 100, 40) - 0.73) < 1e-12);
    assert_false(lull_serial_law_find(processes, sizes, y, 2, &law));
    for (size_t i = 0; i < 3; i++)
        y[i] = 1 + processes[i]; /* more on more processes: no share */
    assert_false(lull_serial_law_find(processes, sizes, y, 3, &law));
}

TEST_GROUP(test_derive)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grids),          cmocka_unit_test(test_boundary),
        cmocka_unit_test(test_others),         cmocka_unit_test(test_spoilt),
        cmocka_unit_test(test_trees),          cmocka_unit_test(test_one_way),
        cmocka_unit_test(test_ambiguous_tree), cmocka_unit_test(test_laws),
        cmocka_unit_test(test_serial_law),
    };
    return run_cases(tests, NULL, NULL);
}
