/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of functions, lines and loops by samples. */
#include "view/metrics/metrics_tables.h"

#include "study/run_code.h"

static const struct level {
    const char *id, *title, *corner;
    const char *second, *heading; /* the column behind the names */
} levels[] = {
    [LULL_CODE_BY_FUNCTION] = {"functions", "Functions", "Function", "line", "hottest line"},
    [LULL_CODE_BY_LINE] = {"lines", "Lines of the source", "Line", "function", "function"},
    [LULL_CODE_BY_LOOP] = {"loops", "Loops", "Loop", "function", "function"},
};

/* The column behind the name of a row. */
static struct lull_cell second_cell(const struct lull_code_row *row, enum lull_code_level level,
                                    struct lull_arena *arena)
{
    const char *file = lull_code_base_name(row->file);
    if (level != LULL_CODE_BY_FUNCTION)
        return lull_cell_text(row->function);
    return *file && row->line > 0
               ? lull_cell_text(lull_arena_printf(arena, "%s:%u", file, row->line))
               : lull_cell_text("");
}

enum { MANY_CODE_ROWS = 20 };

/* What text leaves out of a long table. */
static void leave_out_code(struct lull_table *table, uint32_t row,
                           const struct lull_code_table *code, const struct lull_code_row *of,
                           const struct lull_breakdown *breakdown)
{
    const double calls = (double)(of->mpi_ns + of->openmp_ns) / lull_time_of_threads(breakdown);
    if (code->n_rows > MANY_CODE_ROWS && of->share < 0.0005 && calls < 0.0005)
        lull_table_row_minor(table, row,
                             "below 0.05 % of the useful time, and of all time in calls");
}

static struct lull_cell calls_cell(const char *absent, int64_t ns)
{
    return absent ? lull_cell_absent(absent) : lull_cell_time(ns);
}

static void set_code_row(struct lull_table *table, uint32_t row, const struct lull_run *run,
                         const struct lull_code_table *code, const struct lull_code_row *of,
                         enum lull_code_level level, struct lull_arena *arena)
{
    const char *no_calls = code->has_calls ? NULL : "the run does not tell where calls come from";
    const char *no_waits = no_calls      ? no_calls
                           : !run->waits ? "waits need events"
                                         : run->waits->absent;
    const struct lull_process *processes = run->trace->processes;
    uint32_t column = 0;
    lull_table_set(table, row, column++, second_cell(of, level, arena));
    lull_table_set(table, row, column++, lull_cell_time(of->useful_ns));
    lull_table_set(table, row, column++, lull_cell_share(of->share));
    lull_table_set(table, row, column++, lull_cell_share(of->low));
    lull_table_set(table, row, column++, lull_cell_share(of->high));
    lull_table_set(table, row, column++, calls_cell(no_calls, of->mpi_ns));
    lull_table_set(table, row, column++, calls_cell(no_calls, of->openmp_ns));
    lull_table_set(table, row, column++, calls_cell(no_waits, of->waited_ns));
    lull_table_set(table, row, column++, calls_cell(no_calls, of->openmp_waited_ns));
    lull_table_set(table, row, column++, lull_cell_time(of->idle_ns));
    lull_table_set(table, row, column++, lull_cell_time(of->min_ns));
    if (of->max_ns > 0)
        lull_table_set(table, row, column, lull_cell_count(processes[of->min_process].rank));
    lull_table_set(table, row, ++column, lull_cell_time(of->median_ns));
    lull_table_set(table, row, ++column, lull_cell_time(of->max_ns));
    if (of->max_ns > 0)
        lull_table_set(table, row, ++column, lull_cell_count(processes[of->max_process].rank));
}

/* Useful time of threads that have no useful sample. */
static void add_unsampled(struct lull_table *table, const struct lull_code_table *code,
                          struct lull_arena *arena)
{
    if (code->unsampled_ns == 0)
        return;
    const char *label =
        lull_arena_printf(arena,
                          code->unsampled_threads == 1 ? "(%u thread without samples)"
                                                       : "(%u threads without samples)",
                          code->unsampled_threads);
    const uint32_t row = lull_table_row(table, "(no samples)", label, LULL_NO_ROW);
    const double share =
        code->useful_ns > 0 ? (double)code->unsampled_ns / (double)code->useful_ns : 0;
    lull_table_set(table, row, 1, lull_cell_time(code->unsampled_ns));
    for (uint32_t column = 2; column < 5; column++)
        lull_table_set(table, row, column, lull_cell_share(share));
}

static void add_code_rows(struct lull_document *document, const struct lull_run *run,
                          const struct lull_code_table *code, enum lull_code_level level,
                          struct lull_arena *arena)
{
    static const char *const columns[][2] = {{"useful", "useful"},
                                             {"share", "share"},
                                             {"low", "95 %\nfrom"},
                                             {"high", "\nto"},
                                             {"mpi", "in MPI"},
                                             {"openmp", "in\nOpenMP"},
                                             {"waiting", "waiting\nin MPI"},
                                             {"waiting_openmp", "waiting\nin OpenMP"},
                                             {"idle", "others\nidle"},
                                             {"min", "rank\nleast"},
                                             {"min_rank", "of\nrank"},
                                             {"median", "rank\nmedian"},
                                             {"max", "rank\nmost"},
                                             {"max_rank", "of\nrank"}};
    struct lull_table *table = lull_table_of_parts(document, levels[level].id, levels[level].title,
                                                   levels[level].corner, run, arena);
    lull_table_column(table, levels[level].second, levels[level].heading);
    lull_table_names(table);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        lull_table_column(table, columns[i][0], columns[i][1]);
    for (uint32_t i = 0; i < code->n_rows; i++) {
        const struct lull_code_row *of = &code->rows[i];
        const uint32_t row = lull_table_row(table, of->id, of->label, LULL_NO_ROW);
        set_code_row(table, row, run, code, of, level, arena);
        leave_out_code(table, row, code, of, run->breakdown);
    }
    add_unsampled(table, code, arena);
}

/* Says of which files names are missing, and what to do. */
static void note_of_gaps(struct lull_document *document, const struct lull_run *run,
                         const struct lull_code_table *code, struct lull_arena *arena)
{
    for (uint32_t i = 0; i < code->n_gaps; i++)
        lull_document_note(document, LULL_NOTE_INFO, "%s: %s.", run->name,
                           lull_code_tell_gap(&code->gaps[i], run->trace, arena));
}

static void add_code_table(struct lull_document *document, const struct lull_run *run,
                           enum lull_code_level level, struct lull_arena *arena)
{
    const char *absent;
    struct lull_code_table table;
    struct lull_error err;
    if (!lull_run_code(run, arena, &absent)) {
        lull_document_note(document, LULL_NOTE_INFO, "%s has no samples of useful time: %s.",
                           run->name, absent);
        return;
    }
    if (lull_run_code_table(run, level, arena, &table, &err) != LULL_OK) {
        lull_document_note(document, LULL_NOTE_INFO, "%s.", err.text);
        return;
    }
    add_code_rows(document, run, &table, level, arena);
    note_of_gaps(document, run, &table, arena);
}

void lull_tables_by_function(struct lull_document *document, const struct lull_runs *runs,
                             struct lull_arena *arena)
{
    for (uint32_t i = 0; i < runs->count; i++)
        add_code_table(document, &runs->runs[i], LULL_CODE_BY_FUNCTION, arena);
}

void lull_tables_by_line(struct lull_document *document, const struct lull_runs *runs,
                         struct lull_arena *arena)
{
    for (uint32_t i = 0; i < runs->count; i++)
        add_code_table(document, &runs->runs[i], LULL_CODE_BY_LINE, arena);
}

void lull_tables_by_loop(struct lull_document *document, const struct lull_runs *runs,
                         struct lull_arena *arena)
{
    for (uint32_t i = 0; i < runs->count; i++)
        add_code_table(document, &runs->runs[i], LULL_CODE_BY_LOOP, arena);
}
