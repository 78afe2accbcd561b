/* The table of files. */
#include "view/metrics/metrics_tables.h"

static void add_file(struct lull_table *table, const struct lull_file_use *use)
{
    const bool known = *use->name != '\0';
    const uint32_t row =
        lull_table_row(table, use->name, known ? use->name : "(not known)", LULL_NO_ROW);
    lull_table_set(table, row, 0,
                   known ? lull_cell_text(lull_file_kind_name(use->kind))
                         : lull_cell_absent("the trace does not say which file it was"));
    lull_table_set(table, row, 1, lull_cell_count(use->opens));
    lull_table_set(table, row, 2, lull_cell_count(use->reads));
    lull_table_set(table, row, 3, lull_cell_bytes(use->bytes_read));
    lull_table_set(table, row, 4, lull_cell_count(use->writes));
    lull_table_set(table, row, 5, lull_cell_bytes(use->bytes_written));
    lull_table_set(table, row, 6, lull_cell_count(use->others));
    lull_table_set(table, row, 7, lull_cell_time(use->ns));
}

static void add_file_table(struct lull_document *document, const struct lull_run *run,
                           struct lull_arena *arena)
{
    static const char *const columns[][2] = {
        {"kind", "kind"},           {"opens", "opens"},   {"reads", "reads"},
        {"bytes_read", "read"},     {"writes", "writes"}, {"bytes_written", "written"},
        {"others", "other\ncalls"}, {"time", "time"}};
    struct lull_table *table = lull_document_table(
        document, lull_arena_printf(arena, "files:%s", run->name),
        lull_arena_printf(arena, "Files of %s (sums over all threads)", run->name), LULL_BY_COLUMN);
    lull_table_corner(table, "File");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        lull_table_column(table, columns[i][0], columns[i][1]);
    for (uint32_t i = 0; i < run->files->count; i++)
        add_file(table, &run->files->uses[i]);
}

void lull_tables_by_file(struct lull_document *document, const struct lull_runs *runs,
                         struct lull_arena *arena)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_run *run = &runs->runs[i];
        if (!run->files)
            lull_document_note(document, LULL_NOTE_INFO,
                               "%s has no files: they need events, and there are sums only.",
                               run->name);
        else if (run->files->count == 0)
            lull_document_note(document, LULL_NOTE_INFO,
                               "%s has no files: lull record --files records what the C library "
                               "does with them, and MPI's files always.",
                               run->name);
        else
            add_file_table(document, run, arena);
        if (run->files && run->trace && lull_has_part(run->trace->events))
            lull_document_note(document, LULL_NOTE_INFO,
                               "%s: its files are those of the events that there are.", run->name);
    }
}
