#include "view/report/report_parts.h"

#include "view/notices_document.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_REGIONS = 300,   /* with most time; the rest of a run becomes one row */
    MOST_FILES = 20,      /* likewise, because text has them, too */
    MOST_PROCESSES = 1024 /* of a run whose processes have a table */
};

/* ---- the trees ----------------------------------------------------------------------------- */

static bool shows_additive(const struct lull_report *report, const struct lull_report_wish *wish)
{
    return lull_choice_is_additive(wish->scheme, lull_runs_are_hybrid(&report->runs));
}

static void add_tree(struct lull_document *document, const struct lull_report *report,
                     bool additive, struct lull_arena *arena)
{
    const bool hybrid = lull_runs_are_hybrid(&report->runs);
    lull_table_of_scheme(document, &report->runs, lull_scheme_of(additive, hybrid), arena);
}

/* ---- regions ------------------------------------------------------------------------------- */

static int compare_exclusive(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x > y ? -1 : x < y;
}

/* A run whose regions beyond those with most time are one, in the order that a breakdown has. */
static struct lull_breakdown *with_few_regions(const struct lull_breakdown *breakdown,
                                               struct lull_arena *arena)
{
    struct lull_breakdown *few = lull_arena_zero(arena, 1, sizeof *few);
    const uint32_t n = breakdown->n_regions;
    *few = *breakdown;
    if (n <= MOST_REGIONS)
        return few;
    int64_t *times = lull_arena_zero(arena, n, sizeof *times);
    for (uint32_t r = 0; r < n; r++)
        times[r] = breakdown->regions[r].exclusive_ns;
    qsort(times, n, sizeof *times, compare_exclusive);
    const int64_t least = times[MOST_REGIONS - 1];
    few->regions = lull_arena_zero(arena, MOST_REGIONS + 1, sizeof *few->regions);
    few->n_regions = 1;
    struct lull_region_breakdown *rest = &few->regions[0];
    rest->site = "";
    for (uint32_t r = 0; r < n; r++) {
        const struct lull_region_breakdown *region = &breakdown->regions[r];
        if (region->exclusive_ns >= least && few->n_regions <= MOST_REGIONS) {
            few->regions[few->n_regions++] = *region;
            continue;
        }
        rest->visits += region->visits;
        rest->exclusive_ns += region->exclusive_ns;
        rest->inclusive_ns += region->exclusive_ns; /* of regions in each other nothing twice */
        rest->useful_ns += region->useful_ns;
    }
    rest->name = lull_arena_printf(arena, "(%u others)", n - (few->n_regions - 1));
    rest->activity = 2 * rest->useful_ns > rest->exclusive_ns ? LULL_USEFUL : LULL_OTHER;
    return few;
}

static void add_run_parts(struct lull_document *document, const struct lull_report *report,
                          struct lull_arena *arena)
{
    struct lull_runs few = report->runs;
    bool sites = false, processes = true;
    few.runs = lull_arena_zero(arena, few.count + (size_t)1, sizeof *few.runs);
    for (uint32_t i = 0; i < few.count; i++) {
        few.runs[i] = report->runs.runs[i];
        few.runs[i].breakdown = with_few_regions(report->runs.runs[i].breakdown, arena);
        for (uint32_t r = 0; r < few.runs[i].breakdown->n_regions && !sites; r++)
            sites = *few.runs[i].breakdown->regions[r].site != '\0';
        processes &= few.runs[i].breakdown->n_processes <= MOST_PROCESSES;
    }
    lull_tables_by_region(document, &few, arena);
    if (sites)
        lull_tables_by_callsite(document, &few, arena);
    if (processes)
        lull_tables_by_process(document, &few, arena);
    else
        lull_document_note(document, LULL_NOTE_INFO,
                           "Runs with more than %d processes have no table of them here: lull "
                           "metrics --by process prints it.",
                           MOST_PROCESSES);
}

/* ---- files --------------------------------------------------------------------------------- */

/* They are in order: the longest time first. */
static struct lull_file_uses *with_few_files(const struct lull_file_uses *uses,
                                             struct lull_arena *arena)
{
    struct lull_file_uses *few = lull_arena_zero(arena, 1, sizeof *few);
    *few = *uses;
    if (uses->count <= MOST_FILES)
        return few;
    few->uses = lull_arena_zero(arena, MOST_FILES + 1, sizeof *few->uses);
    memcpy(few->uses, uses->uses, MOST_FILES * sizeof *few->uses);
    few->count = MOST_FILES + 1;
    struct lull_file_use *rest = &few->uses[MOST_FILES];
    rest->name = lull_arena_printf(arena, "(%u others)", uses->count - MOST_FILES);
    rest->kind = LULL_FILE_OTHER;
    for (uint32_t i = MOST_FILES; i < uses->count; i++) {
        const struct lull_file_use *use = &uses->uses[i];
        rest->opens += use->opens;
        rest->reads += use->reads;
        rest->writes += use->writes;
        rest->others += use->others;
        rest->bytes_read += use->bytes_read;
        rest->bytes_written += use->bytes_written;
        rest->ns += use->ns;
    }
    return few;
}

/* Of the runs that have any: most programs are recorded without. */
static void add_file_tables(struct lull_document *document, const struct lull_runs *runs,
                            struct lull_arena *arena)
{
    struct lull_runs some = *runs;
    bool left_out = false;
    some.runs = lull_arena_zero(arena, runs->count + (size_t)1, sizeof *some.runs);
    some.count = 0;
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_file_uses *uses = runs->runs[i].files;
        if (!uses || uses->count == 0)
            continue;
        some.runs[some.count] = runs->runs[i];
        some.runs[some.count++].files = with_few_files(uses, arena);
        left_out |= uses->count > MOST_FILES;
    }
    lull_tables_by_file(document, &some, arena);
    if (left_out)
        lull_document_note(document, LULL_NOTE_INFO,
                           "Files: those with most time; lull metrics --by file has all of them.");
}

/* ---- the document -------------------------------------------------------------------------- */

static void add_report_facts(struct lull_document *document, const struct lull_report_wish *wish)
{
    if (wish->region)
        lull_document_fact(document, "region", "Only inside of", lull_cell_text(wish->region));
    if (wish->window)
        lull_document_fact(document, "window", "Only the time", lull_cell_text(wish->window));
}

struct lull_document *lull_report_document(const struct lull_report *report,
                                           const struct lull_report_wish *wish,
                                           const struct lull_notices *notices,
                                           struct lull_arena *arena)
{
    const struct lull_runs *runs = &report->runs;
    struct lull_document *document = lull_document_create(arena, "lull-report/1", "");
    const bool additive = shows_additive(report, wish);
    add_report_facts(document, wish);
    lull_report_add_trust(document, runs, arena);
    add_tree(document, report, additive, arena);
    if (lull_runs_have_devices(runs))
        lull_table_of_scheme(document, runs, LULL_SCHEME_DEVICE, arena);
    lull_note_of_loss(document, runs, lull_scheme_of(additive, lull_runs_are_hybrid(runs)), arena);
    add_file_tables(document, runs, arena);
    lull_document_details(document);
    add_tree(document, report, !additive, arena);
    lull_table_of_times(document, runs, arena);
    lull_table_of_activities(document, runs, arena);
    add_run_parts(document, report, arena);
    lull_tables_of_charges(document, runs, arena);
    for (uint32_t i = 0; i < runs->count; i++) {
        lull_report_add_timeline(document, &runs->runs[i], &report->of[i], wish, arena);
        lull_report_add_load(document, &runs->runs[i], &report->of[i], arena);
        lull_report_add_traffic(document, &runs->runs[i], &report->of[i], arena);
        lull_report_add_iterations(document, &runs->runs[i], &report->of[i], arena);
    }
    lull_report_add_findings(document, report, arena);
    lull_report_add_charts(document, runs, arena);
    lull_report_add_remarks(document, report, wish, arena);
    lull_document_add_notices(document, notices);
    return document;
}
