/* Charts: what can be shown is, where it belongs; the rest is left out, and texts are escaped. */
#include "report/asset.h"
#include "report/chart.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static char *draw(const struct lull_chart *chart)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    lull_chart_write(chart, out);
    fclose(out);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    assert_true(strncmp(text, "<svg ", 5) == 0);
    assert_string_equal(text + size - 7, "</svg>\n");
    return text;
}

static size_t count(const char *text, const char *word)
{
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        found++;
    return found;
}

#define MARKER "transform=\"translate("

static void test_points(void **state)
{
    (void)state;
    static const struct lull_chart_point points[] = {
        {1, 10, NAN, NAN}, {0, 10, NAN, NAN},        {10, -1, NAN, NAN}, {100, 1000, 900, 1100},
        {NAN, 1, 1, 1},    {1000, INFINITY, NAN, 1}, {1000, 10, 20, NAN}};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_chart *chart = lull_chart_create(arena, "a < b & c");
    lull_chart_x_axis(chart, "x", "s", LULL_CHART_LOG);
    lull_chart_y_axis(chart, "y", "B/s", LULL_CHART_LOG);
    lull_chart_series(chart, "", LULL_CHART_POINTS, points, sizeof points / sizeof *points);
    lull_chart_mark(chart, 10, "inside");
    lull_chart_mark(chart, 1e6, "outside");
    char *text = draw(chart);
    assert_int_equal(count(text, MARKER), 3); /* those with positive, finite coordinates */
    assert_int_equal(count(text, "span\" d="), 1);
    assert_non_null(strstr(text, "a &lt; b &amp; c"));
    assert_non_null(strstr(text, ">inside<"));
    assert_null(strstr(text, "outside"));
    /* Decades 0, 2 and 3 between the edges of the plot. */
    assert_non_null(strstr(text, MARKER "84.0 "));
    assert_non_null(strstr(text, MARKER "492.0 ")); /* 84 + 612 * 2 / 3 */
    assert_non_null(strstr(text, MARKER "696.0 "));
    free(text);
    lull_arena_destroy(arena);
}

/* Several charts in a page: rules touch nothing but charts, and none has rules of its own. */
static void test_inline(void **state)
{
    (void)state;
    static const struct lull_chart_point points[] = {{1, 10, 0, 10}, {2, 20, 5, 20}};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_chart *chart = lull_chart_create(arena, "\"><script>\xff");
    lull_chart_series(chart, "stack", LULL_CHART_AREA, points, 2);
    lull_chart_series(chart, "line", LULL_CHART_LINE, points, 2);
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    lull_chart_write_inline(chart, out);
    fclose(out);
    assert_null(strstr(text, "style"));
    assert_null(strstr(text, "<script"));
    assert_null(strchr(text, '\xff'));
    assert_non_null(strstr(text, "class=\"lull-chart\""));
    assert_int_equal(count(text, "class=\"s0 stack\" d="), 1);
    assert_int_equal(count(text, "class=\"s1 line\" d="), 2); /* and in the legend */
    free(text);
    char *rules = lull_arena_strdup(arena, lull_asset_chart_style.text);
    for (char *rule = strtok(rules, "\n"); rule; rule = strtok(NULL, "\n"))
        assert_true(strncmp(rule, ".lull-chart ", 12) == 0 || strncmp(rule, "@media ", 7) == 0 ||
                    strcmp(rule, "}") == 0);
    lull_arena_destroy(arena);
}

static void test_empty(void **state)
{
    (void)state;
    static const struct lull_chart_point nothing[] = {{NAN, NAN, NAN, NAN}};
    struct lull_arena *arena = lull_arena_create(NULL);
    for (int scale = LULL_CHART_LINEAR; scale <= LULL_CHART_SIZES; scale++) {
        struct lull_chart *chart = lull_chart_create(arena, "");
        lull_chart_x_axis(chart, "x", "B", (enum lull_chart_scale)scale);
        lull_chart_y_axis(chart, "y", "", (enum lull_chart_scale)scale);
        lull_chart_series(chart, "none", LULL_CHART_LINE, nothing, scale % 2);
        char *text = draw(chart);
        assert_non_null(strstr(text, "nothing to show"));
        free(text);
    }
    lull_arena_destroy(arena);
}

/* One point, equal points, bars: ranges are never empty. */
static void test_degenerate(void **state)
{
    (void)state;
    static const struct lull_chart_point same[] = {{5, 5, 5, 5}, {5, 5, NAN, NAN}};
    struct lull_arena *arena = lull_arena_create(NULL);
    for (int scale = LULL_CHART_LINEAR; scale <= LULL_CHART_SIZES; scale++)
        for (int style = LULL_CHART_LINE; style <= LULL_CHART_BARS; style++) {
            struct lull_chart *chart = lull_chart_create(arena, "t");
            lull_chart_x_axis(chart, "x", "B", (enum lull_chart_scale)scale);
            lull_chart_y_axis(chart, "y", "s", (enum lull_chart_scale)scale);
            lull_chart_series(chart, "s", (enum lull_chart_style)style, same, 2);
            char *text = draw(chart);
            assert_null(strstr(text, "nothing to show"));
            free(text);
        }
    lull_arena_destroy(arena);
}

static void test_labels(void **state)
{
    (void)state;
    static const struct lull_chart_point points[] = {{4096, 0, NAN, NAN},
                                                     {1 << 30, 4e11, NAN, NAN}};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_chart *chart = lull_chart_create(arena, "t");
    lull_chart_x_axis(chart, "working set", "B", LULL_CHART_SIZES);
    lull_chart_y_axis(chart, "bandwidth", "B/s", LULL_CHART_LINEAR);
    lull_chart_series(chart, "load", LULL_CHART_LINE, points, 2);
    char *text = draw(chart);
    static const char *const expected[] = {">4 KiB<", ">1 GiB<", ">0 B/s<", ">400 GB/s<", ">load<"};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_non_null(strstr(text, expected[i]));
    free(text);
    lull_arena_destroy(arena);
}

/* Between low and high over the whole width: along the top, back along the bottom, in the colour of
 * the series before. */
/* Numbers of ranks far from 0 fill the height; what is counted begins at 0. */
static void test_numbers(void **state)
{
    (void)state;
    static const struct lull_chart_point points[] = {{0, 49900, NAN, NAN}, {1, 50100, NAN, NAN}};
    for (unsigned whole = 0; whole < 2; whole++) {
        struct lull_arena *arena = lull_arena_create(NULL);
        struct lull_chart *chart = lull_chart_create(arena, "ranks");
        lull_chart_x_axis(chart, "time", "s", LULL_CHART_LINEAR);
        lull_chart_y_axis(chart, "rank", "", whole ? LULL_CHART_WHOLE : LULL_CHART_NUMBERS);
        lull_chart_series(chart, "", LULL_CHART_POINTS, points, 2);
        char *text = draw(chart);
        assert_int_equal(count(text, ">50000<"), 1);
        assert_int_equal(count(text, ">49900<"), !whole);
        assert_int_equal(count(text, ">20000<"), whole);
        free(text);
        lull_arena_destroy(arena);
    }
}

static void test_band(void **state)
{
    (void)state;
    static const struct lull_chart_point points[] = {{0, 5, 0, 10}, {10, 5, 0, 10}};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_chart *chart = lull_chart_create(arena, "t");
    lull_chart_x_axis(chart, "x", "", LULL_CHART_LINEAR);
    lull_chart_y_axis(chart, "y", "", LULL_CHART_LINEAR);
    lull_chart_series(chart, "measured", LULL_CHART_POINTS, points, 2);
    lull_chart_series(chart, "interval", LULL_CHART_BAND, points, 2);
    char *text = draw(chart);
    const char *band = strstr(text, "<path class=\"s0 band\" d=\"M");
    double x[4], y[4];
    assert_non_null(band);
    assert_int_equal(sscanf(strchr(band, 'M'), "M%lf %lfL%lf %lfL%lf %lfL%lf %lf", &x[0], &y[0],
                            &x[1], &y[1], &x[2], &y[2], &x[3], &y[3]),
                     8);
    assert_true(x[0] < x[1] && x[1] == x[2] && x[3] == x[0]);
    assert_true(y[0] == y[1] && y[2] == y[3] && y[2] - y[0] == 320); /* the height of the plot */
    assert_non_null(strstr(text, ">interval<"));
    free(text);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_chart)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points), cmocka_unit_test(test_inline),
        cmocka_unit_test(test_empty),  cmocka_unit_test(test_degenerate),
        cmocka_unit_test(test_labels), cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_band),
    };
    return run_cases(tests, NULL, NULL);
}
