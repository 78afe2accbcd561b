#include "view/history/history_document.h"

#include "report/pictures.h"
#include "study/history/gate.h"
#include "view/history/check_text.h"

#include <math.h>

static const char *time_of_entry(const struct lull_history_entry *entry, struct lull_arena *arena)
{
    char text[32];
    return lull_arena_strdup(arena, lull_history_time_text(entry->time, text));
}

static void add_key(struct lull_document *document, const struct lull_history *series)
{
    const struct lull_history_key *key = &series->entries[0].key;
    const struct {
        const char *id, *label, *value;
    } facts[] = {{"program", "Program", key->program},
                 {"input", "Input", key->input},
                 {"machine", "Machine", key->machine},
                 {"layout", "Processes x threads", key->layout}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (*facts[i].value)
            lull_document_fact(document, facts[i].id, facts[i].label,
                               lull_cell_text(facts[i].value));
    lull_document_fact(document, "runs", "Runs", lull_cell_count(series->count));
}

static struct lull_cell level_change_cell(const struct lull_history_level *level)
{
    if (level[-1].median == 0)
        return lull_cell_absent("the level before is 0");
    return lull_cell_share(level->median / level[-1].median - 1);
}

static void add_history_levels(struct lull_document *document, const struct lull_history *series,
                               const char *metric, struct lull_arena *arena)
{
    static const char *const columns[][2] = {
        {"commit", "commit"}, {"runs", "runs"}, {"median", "median"}, {"change", "change"}};
    struct lull_history_level *levels;
    const uint32_t count = lull_history_levels(series, metric, arena, &levels);
    struct lull_table *table =
        lull_document_table(document, lull_arena_printf(arena, "levels:%s", metric),
                            lull_arena_printf(arena, "Levels of %s", metric), LULL_BY_COLUMN);
    lull_table_corner(table, "From");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        lull_table_column(table, columns[i][0], columns[i][1]);
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_history_entry *first = &series->entries[levels[i].first];
        const char *time = time_of_entry(first, arena);
        const uint32_t row = lull_table_row(table, time, time, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_text(first->commit));
        lull_table_set(table, row, 1, lull_cell_count(levels[i].runs));
        lull_table_set(table, row, 2, lull_metric_cell(metric, levels[i].median));
        if (i)
            lull_table_set(table, row, 3, level_change_cell(&levels[i]));
    }
}

static void add_runs(struct lull_document *document, const struct lull_history *series,
                     const char *const *metrics, size_t n_metrics, struct lull_arena *arena)
{
    struct lull_table *table = lull_document_table(document, "runs", "Runs", LULL_BY_COLUMN);
    lull_table_corner(table, "Time");
    lull_table_column(table, "commit", "commit");
    lull_table_column(table, "run", "run");
    for (size_t m = 0; m < n_metrics; m++)
        lull_table_column(table, metrics[m], metrics[m]);
    for (uint32_t i = 0; i < series->count; i++) {
        const struct lull_history_entry *entry = &series->entries[i];
        const char *time = time_of_entry(entry, arena);
        const uint32_t row = lull_table_row(table, time, time, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_text(entry->commit));
        lull_table_set(table, row, 1, lull_cell_text(entry->run));
        for (size_t m = 0; m < n_metrics; m++)
            lull_table_set(table, row, 2 + (uint32_t)m,
                           lull_metric_cell(metrics[m], lull_history_value_of(entry, metrics[m])));
    }
}

struct lull_document *lull_history_document(const struct lull_history *series,
                                            const char *const *metrics, size_t n_metrics,
                                            struct lull_arena *arena)
{
    struct lull_document *document = lull_document_create(arena, "lull-series/1", "");
    add_key(document, series);
    for (size_t m = 0; m < n_metrics; m++)
        add_history_levels(document, series, metrics[m], arena);
    add_runs(document, series, metrics, n_metrics, arena);
    for (size_t m = 0; m < n_metrics; m++)
        lull_document_chart(document, lull_arena_printf(arena, "chart:%s", metrics[m]),
                            lull_history_chart(series, metrics[m], arena));
    lull_document_note(document, LULL_NOTE_INFO,
                       "A level ends where the runs after it differ more than noise explains, "
                       "wrongly in 1 %% of the histories without a change.");
    return document;
}

const struct lull_chart *lull_history_chart(const struct lull_history *series, const char *metric,
                                            struct lull_arena *arena)
{
    struct lull_history_level *levels;
    const uint32_t n_levels = lull_history_levels(series, metric, arena, &levels);
    struct lull_chart_point *points = lull_arena_zero(arena, series->count + 1, sizeof *points);
    for (uint32_t i = 0; i < series->count; i++)
        points[i] = (struct lull_chart_point){
            i + 1, lull_history_value_of(&series->entries[i], metric), NAN, NAN};
    struct lull_chart *chart =
        lull_chart_create(arena, lull_arena_printf(arena, "%s over the runs", metric));
    lull_chart_x_axis(chart, "run", "", LULL_CHART_NUMBERS);
    lull_chart_y_axis(chart, metric, lull_metric_is_time(metric) ? "s" : "", LULL_CHART_LINEAR);
    lull_chart_series(chart, "run", LULL_CHART_POINTS, points, series->count);
    for (uint32_t i = 0; i < n_levels; i++) {
        const struct lull_chart_point ends[] = {{levels[i].first + 1, levels[i].median, NAN, NAN},
                                                {levels[i].last + 1, levels[i].median, NAN, NAN}};
        const struct lull_history_entry *first = &series->entries[levels[i].first];
        lull_chart_series(chart, i ? "" : "level (median)", LULL_CHART_CURVE, ends, 2);
        if (i)
            lull_chart_mark(chart, levels[i].first + 1,
                            *first->commit ? lull_arena_strndup(arena, first->commit, 10)
                                           : time_of_entry(first, arena));
    }
    return chart;
}
