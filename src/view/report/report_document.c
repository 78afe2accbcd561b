/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/report/report_document.h"

#include "base/text.h"
#include "metrics/pop.h"
#include "study/replay/replayed_run.h"
#include "study/run_code.h"
#include "trace/resources.h"
#include "view/document_parts.h"
#include "view/hot_loops_document.h"
#include "view/report/report_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== how far the numbers may be believed ===================================================== */

/* The trust box: what the reader of a report should know of how it was measured, as numbers. */

static const char no_trace[] = "a saved profile does not tell";

/* Whether a run is simulated: no tracer recorded it. */
static bool is_simulated(const struct lull_run *run)
{
    return run->trace && lull_trace_is_simulated(run->trace);
}

static struct lull_cell clock_cell(const struct lull_run *run, struct lull_arena *arena)
{
    (void)arena;
    if (run->processes == 1 || is_simulated(run))
        return lull_cell_text("one clock");
    if (!run->trace)
        return lull_cell_absent(no_trace);
    if (run->trace->clock_error < 0)
        return lull_cell_absent("the tracer does not tell how far the clocks are apart");
    return lull_cell_time(llround(run->trace->clock_error));
}

/* By how much the replay missed the runtime, or why there is no replay: one is made only if it
 * could change what is said of the run. */
static struct lull_cell replay_cell(const struct lull_run *run, struct lull_arena *arena)
{
    const struct lull_breakdown *breakdown = run->breakdown;
    const double difference = lull_replay_difference(breakdown);
    const double saved = (double)(breakdown->runtime_ns - breakdown->ideal_runtime_ns);
    if (isfinite(difference))
        return lull_cell_share(difference);
    if (breakdown->ideal_absent)
        return lull_cell_absent(breakdown->ideal_absent);
    if (run->processes == 1)
        return lull_cell_absent("one process waits for no other");
    if (breakdown->ideal_runtime_ns > 0 &&
        saved <= LULL_REPLAY_MISSES_MOST * (double)breakdown->runtime_ns)
        return lull_cell_absent(
            lull_arena_printf(arena,
                              "not replayed, because even an ideal network would save less than "
                              "%g %% of the runtime",
                              100 * LULL_REPLAY_MISSES_MOST));
    return lull_cell_absent("not replayed here; lull replay does it");
}

static struct lull_cell tracer_cell(const struct lull_run *run, struct lull_arena *arena)
{
    (void)arena;
    return lull_cell_share(run->input->flush_share);
}

/* How many calls the tracer left out because they were too short. */
static struct lull_cell left_out_cell(const struct lull_run *run, struct lull_arena *arena)
{
    (void)arena;
    uint64_t calls = 0;
    if (!run->trace)
        return lull_cell_absent(no_trace);
    for (uint32_t i = 0; i < run->trace->n_left_out; i++)
        calls += run->trace->left_out[i].calls;
    return lull_cell_count(calls);
}

/* How many locations lack some of their events. */
static struct lull_cell lost_cell(const struct lull_run *run, struct lull_arena *arena)
{
    (void)arena;
    uint64_t lost = 0;
    if (!run->trace)
        return lull_cell_absent(no_trace);
    for (uint32_t l = 0; l < run->trace->n_locations; l++)
        lost +=
            run->trace->locations[l].cut != LULL_CUT_NOT || lull_trace_is_left_out(run->trace, l);
    return lull_cell_count(lost);
}

static struct lull_cell oddities_cell(const struct lull_run *run, struct lull_arena *arena)
{
    struct lull_quirk *quirks;
    return run->trace ? lull_cell_count(lull_trace_quirks(run->trace, arena, &quirks))
                      : lull_cell_absent(no_trace);
}

static struct lull_cell cores_cell(const struct lull_run *run, struct lull_arena *arena)
{
    struct lull_core_shortage shortage = {0};
    if (is_simulated(run))
        return lull_cell_absent("a simulated rank has a core of its own");
    if (run->trace)
        shortage = lull_core_shortage_of(run->trace, run->reading->application, arena);
    return shortage.known > 0
               ? lull_cell_share(shortage.share)
               : lull_cell_absent("the tracer does not tell whether threads had cores");
}

static struct lull_cell counters_cell(const struct lull_run *run, struct lull_arena *arena)
{
    (void)arena;
    const bool instructions = isfinite(run->input->instructions);
    const bool cycles = isfinite(run->input->cycles);
    if (!instructions && !cycles && is_simulated(run))
        return lull_cell_absent("a simulation counts no instructions and cycles");
    if (!instructions && !cycles)
        return lull_cell_absent("no counters of instructions and cycles were recorded");
    return lull_cell_text(instructions && cycles ? "instructions, cycles"
                          : instructions         ? "instructions, no cycles"
                                                 : "cycles, no instructions");
}

static struct lull_cell disturbed_cell(const struct lull_run *run, struct lull_arena *arena)
{
    (void)arena;
    return run->trace ? lull_cell_text(run->trace->disturbed ? "yes" : "no")
                      : lull_cell_absent(no_trace);
}

static const struct item {
    const char *id, *label, *about;
    struct lull_cell (*cell)(const struct lull_run *run, struct lull_arena *arena);
} items[] = {
    {"clock_error", "Clocks apart by up to", "bound of the error between the clocks of locations",
     clock_cell},
    {"replay_difference", "Replay against measured",
     "T_replayed / T - 1, on the network that the messages show; how uncertain Transfer and "
     "Serialisation are",
     replay_cell},
    {"tracer", "Tracer's writing",
     "largest share of the runtime in which the tracer wrote the buffer of a thread", tracer_cell},
    {"lost", "Locations with lost events", "killed, damaged, or beyond a size budget", lost_cell},
    {"left_out", "Calls left out as too short", "their time counts as that of what is around them",
     left_out_cell},
    {"oddities", "Oddities of the trace", "kinds of what was put right, see lull info",
     oddities_cell},
    {"without_core", "Time without a core",
     "of the threads' time: they could have run; more than a few percent: too few cores",
     cores_cell},
    {"counters", "Hardware counters", "without them work and speed cannot be told apart",
     counters_cell},
    {"disturbed", "Disturbed on purpose", "lull record --inject", disturbed_cell},
};

static void add_trust(struct lull_document *document, const struct lull_runs *runs,
                      struct lull_arena *arena)
{
    struct lull_table *table = lull_table_of_runs(document, "trust", "How far to trust this",
                                                  "Quality of the data", runs, arena);
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        uint32_t row = lull_table_row(table, items[i].id, items[i].label, LULL_NO_ROW);
        lull_table_row_about(table, row, items[i].about);
        for (uint32_t r = 0; r < runs->count; r++)
            lull_table_set(table, row, r, items[i].cell(&runs->runs[r], arena));
    }
}

/* ==== charts of scaling ======================================================================= */

/* A chart with the runs along the x axis, at the number of threads of each. */
static struct lull_chart *chart_of_runs(struct lull_arena *arena, const char *title,
                                        const char *what, const char *unit)
{
    struct lull_chart *chart = lull_chart_create(arena, title);
    lull_chart_x_axis(chart, "threads of all processes", "", LULL_CHART_WHOLE);
    lull_chart_y_axis(chart, what, unit, LULL_CHART_LINEAR);
    return chart;
}

/* Runs that one line joins: those of a kind of layout, where several runs have the same number of threads in
 * different layouts (1 x 2 and 2 x 1); else all of them. */
struct line_of_runs {
    const char *kind; /* "one thread per process"; "": all runs */
    uint32_t *runs;   /* [count]: their indices, in the order of the runs */
    uint32_t count;
};

struct lines_of_runs {
    struct line_of_runs *items;
    uint32_t count;
};

/* Threads of a process; 0: not the same for all. */
static uint32_t threads_of_each(const struct lull_run *run)
{
    return run->min_threads == run->max_threads ? run->max_threads : 0;
}

static bool layouts_meet(const struct lull_runs *runs)
{
    for (uint32_t i = 0; i < runs->count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (runs->runs[i].threads == runs->runs[j].threads &&
                runs->runs[i].processes != runs->runs[j].processes)
                return true;
    return false;
}

static void add_to_line(struct lines_of_runs *lines, const char *kind, uint32_t run, uint32_t most,
                        struct lull_arena *arena)
{
    uint32_t at = 0;
    while (at < lines->count && strcmp(lines->items[at].kind, kind) != 0)
        at++;
    struct line_of_runs *line = &lines->items[at];
    if (at == lines->count) {
        line->kind = kind;
        line->runs = lull_arena_zero(arena, most, sizeof *line->runs);
        lines->count++;
    }
    line->runs[line->count++] = run;
}

/* A run of one thread begins both the line of one process and that of one thread per process. */
static struct lines_of_runs find_lines(const struct lull_runs *runs, struct lull_arena *arena)
{
    struct lines_of_runs lines = {
        .items = lull_arena_zero(arena, runs->count + (size_t)2, sizeof *lines.items)};
    const bool meet = layouts_meet(runs);
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_run *run = &runs->runs[i];
        const uint32_t threads = threads_of_each(run);
        if (!meet)
            add_to_line(&lines, "", i, runs->count, arena);
        if (meet && threads == 1)
            add_to_line(&lines, "one thread per process", i, runs->count, arena);
        if (meet && run->processes == 1)
            add_to_line(&lines, "one process", i, runs->count, arena);
        if (meet && threads != 1 && run->processes > 1)
            add_to_line(&lines,
                        threads ? lull_arena_printf(arena, "%u threads per process", threads)
                                : "uneven",
                        i, runs->count, arena);
    }
    return lines;
}

static const char *label_of_line(const char *what, const struct line_of_runs *line,
                                 struct lull_arena *arena)
{
    return *line->kind ? lull_arena_printf(arena, "%s, %s", what, line->kind) : what;
}

static void add_lines_of_metric(struct lull_chart *chart, const char *what,
                                const struct lull_runs *runs, int metric,
                                const struct lines_of_runs *lines, struct lull_arena *arena)
{
    for (uint32_t l = 0; l < lines->count; l++) {
        const struct line_of_runs *line = &lines->items[l];
        struct lull_chart_point *points = lull_arena_zero(arena, line->count, sizeof *points);
        for (uint32_t i = 0; i < line->count; i++) {
            const struct lull_run *run = &runs->runs[line->runs[i]];
            const struct lull_metric_value *value = &run->values[metric];
            points[i] = (struct lull_chart_point){run->threads, value->absent ? NAN : value->value,
                                                  NAN, NAN};
        }
        lull_chart_series(chart, label_of_line(what, line, arena), LULL_CHART_LINE, points,
                          line->count);
    }
}

static void add_speedup(struct lull_document *document, const struct lull_runs *runs,
                        const struct lines_of_runs *lines, struct lull_arena *arena)
{
    const int metric = lull_metric_find("speedup");
    const uint32_t least = runs->runs[runs->reference].threads;
    struct lull_chart *chart = chart_of_runs(arena, "Speedup", "speedup", "");
    struct lull_chart_point *ideal = lull_arena_zero(arena, runs->count, sizeof *ideal);
    add_lines_of_metric(chart, "measured", runs, metric, lines, arena);
    for (uint32_t i = 0; i < runs->count; i++)
        ideal[i] = (struct lull_chart_point){runs->runs[i].threads,
                                             (double)runs->runs[i].threads / least, NAN, NAN};
    lull_chart_series(chart, "ideal", LULL_CHART_CURVE, ideal, runs->count);
    lull_document_chart(document, "speedup", chart);
}

static void add_efficiencies(struct lull_document *document, const struct lull_runs *runs,
                             const struct lines_of_runs *lines, struct lull_arena *arena)
{
    static const char *const ids[] = {"global_efficiency", "parallel_efficiency",
                                      "computation_scaling"};
    struct lull_chart *chart = chart_of_runs(arena, "Efficiencies", "1 is ideal", "");
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        const int metric = lull_metric_find(ids[i]);
        if (metric >= 0)
            add_lines_of_metric(chart, lull_metric_defs[metric].label, runs, metric, lines, arena);
    }
    lull_document_chart(document, "efficiencies", chart);
}

/* ---- lost core time -------------------------------------------------------------------------- */

enum loss { LOSS_MESSAGES, LOSS_MPI, LOSS_OPENMP, LOSS_IDLE, LOSS_REST, LOSS_LONGER, LOSSES };

static const char *const loss_labels[LOSSES] = {
    [LOSS_MESSAGES] = "MPI messages",   [LOSS_MPI] = "other MPI",
    [LOSS_OPENMP] = "OpenMP",           [LOSS_IDLE] = "idle",
    [LOSS_REST] = "I/O, tracer, other", [LOSS_LONGER] = "longer computation",
};

static enum loss loss_of(unsigned activity)
{
    switch (activity) {
    case LULL_MPI_P2P:
        return LOSS_MESSAGES;
    case LULL_MPI_COLLECTIVE:
    case LULL_MPI_ONE_SIDED:
    case LULL_MPI_IO:
    case LULL_MPI_OTHER:
        return LOSS_MPI;
    case LULL_OMP_SYNC:
    case LULL_OMP_SCHEDULE:
    case LULL_OMP_LOCK:
        return LOSS_OPENMP;
    case LULL_IDLE:
        return LOSS_IDLE;
    default:
        return LOSS_REST;
    }
}

/* Finds the core-seconds of all CPU threads that were not useful, by cause. Returns the useful
 * ones. */
static double find_losses(const struct lull_breakdown *breakdown, double losses[LOSSES])
{
    double useful = 0;
    for (uint32_t t = 0; t < breakdown->n_threads; t++) {
        const struct lull_thread_breakdown *thread = &breakdown->threads[t];
        if (thread->kind == LULL_LOCATION_DEVICE)
            continue;
        for (unsigned activity = 0; activity < LULL_ACTIVITIES; activity++) {
            double s =
                1e-9 * (double)(thread->times.ns[activity][0] + thread->times.ns[activity][1]);
            if (activity == LULL_USEFUL)
                useful += s;
            else
                losses[loss_of(activity)] += s;
        }
    }
    return useful;
}

/* Adds a chart of the lost core time of the runs of a line, stacked by cause. */
static void add_losses_of_line(struct lull_document *document, const struct lull_runs *runs,
                               const struct line_of_runs *line, double (*losses)[LOSSES],
                               const char *id, struct lull_arena *arena)
{
    double *bottom = lull_arena_zero(arena, runs->count, sizeof *bottom);
    struct lull_chart *chart =
        chart_of_runs(arena, label_of_line("Lost time of all threads, by cause", line, arena),
                      "core-seconds", "");
    for (unsigned loss = 0; loss < LOSSES; loss++) {
        struct lull_chart_point *points = lull_arena_zero(arena, line->count, sizeof *points);
        double most = 0;
        for (uint32_t i = 0; i < line->count; i++) {
            const uint32_t run = line->runs[i];
            double top = bottom[run] + losses[run][loss];
            points[i] = (struct lull_chart_point){runs->runs[run].threads, top, bottom[run], top};
            bottom[run] = top;
            most = fmax(most, losses[run][loss]);
        }
        if (most > 0)
            lull_chart_series(chart, loss_labels[loss], LULL_CHART_AREA, points, line->count);
    }
    lull_document_chart(document, id, chart);
}

/* A chart for each line of two runs or more. If all runs have the same problem, useful time beyond that of the
 * reference is lost, too. */
static void add_losses(struct lull_document *document, const struct lull_runs *runs,
                       const struct lines_of_runs *lines, struct lull_arena *arena)
{
    double(*losses)[LOSSES] = lull_arena_zero(arena, runs->count, sizeof *losses);
    double *useful = lull_arena_zero(arena, runs->count, sizeof *useful);
    for (uint32_t i = 0; i < runs->count; i++)
        useful[i] = find_losses(runs->runs[i].breakdown, losses[i]);
    for (uint32_t i = 0; i < runs->count; i++)
        if (runs->scaling == LULL_SCALING_STRONG)
            losses[i][LOSS_LONGER] = fmax(0, useful[i] - useful[runs->reference]);
    for (uint32_t l = 0; l < lines->count; l++)
        if (lines->items[l].count > 1)
            add_losses_of_line(document, runs, &lines->items[l], losses,
                               l == 0 ? "losses" : lull_arena_printf(arena, "losses_%u", l + 1),
                               arena);
}

/* How several runs scale that have different numbers of threads: speedup, efficiencies, and the
 * core time that is lost. */
static void add_charts(struct lull_document *document, const struct lull_runs *runs,
                       struct lull_arena *arena)
{
    bool differ = false;
    for (uint32_t i = 1; i < runs->count; i++)
        differ |= runs->runs[i].threads != runs->runs[0].threads;
    if (!differ)
        return;
    const struct lines_of_runs lines = find_lines(runs, arena);
    add_speedup(document, runs, &lines, arena);
    add_efficiencies(document, runs, &lines, arena);
    add_losses(document, runs, &lines, arena);
}

/* The Rooflines of runs with their hot loops, and from what the predictions were made. */
static void add_hot_charts(struct lull_document *document, const struct lull_report *report,
                           struct lull_arena *arena)
{
    for (uint32_t i = 0; i < report->n_of; i++) {
        const struct lull_run *run = &report->runs.runs[i];
        const struct lull_hot_loops *hot = report->of[i].hot;
        const struct lull_chart *chart = hot ? lull_hot_loops_chart(run, hot, arena) : NULL;
        if (hot)
            lull_hot_loops_add_details(document, run, hot, arena);
        if (chart)
            lull_document_chart(document, lull_arena_printf(arena, "hot_loops:%s", run->name),
                                chart);
    }
}

/* ==== findings ================================================================================ */

struct ranked {
    const struct lull_finding *finding;
    uint32_t run, place; /* index of the run, and of the finding among those of the run */
    double worth;        /* core time, ns */
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->worth != y->worth)
        return x->worth > y->worth ? -1 : 1;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* ---- where it is on the timeline ------------------------------------------------------------- */

static bool is_row_of(const struct lull_timeline *timeline, const struct lull_timeline_row *row,
                      uint32_t location, uint32_t node, uint32_t process)
{
    if (location != LULL_NONE)
        return timeline->leaves[row->first_leaf].location == location && row->n_leaves == 1;
    if (node != LULL_NONE)
        return row->kind == LULL_TIMELINE_NODE && row->node == node;
    return row->kind == LULL_TIMELINE_PROCESS && row->process == process;
}

uint32_t lull_report_row_of(const struct lull_timeline *timeline, uint32_t location, uint32_t node,
                            uint32_t process)
{
    for (uint32_t row = 0; row < timeline->n_rows; row++)
        if (is_row_of(timeline, &timeline->rows[row], location, node, process))
            return row;
    /* A process with one thread has no row of its own. */
    for (uint32_t row = 0; row < timeline->n_rows; row++) {
        const uint32_t leaf = timeline->rows[row].first_leaf;
        if (timeline->trace->locations[timeline->leaves[leaf].location].process == process &&
            timeline->rows[row].n_leaves == 1)
            return row;
    }
    return 0;
}

/* ---- one finding ----------------------------------------------------------------------------- */

static struct lull_cell cell_of_fact(const struct lull_finding_fact *fact)
{
    switch (fact->kind) {
    case LULL_FACT_COUNT:
        return lull_cell_count((uint64_t)fact->value);
    case LULL_FACT_TIME:
        return lull_cell_time((int64_t)fact->value);
    case LULL_FACT_SHARE:
        return lull_cell_share(fact->value);
    case LULL_FACT_BYTES:
        return lull_cell_bytes((uint64_t)fact->value);
    default:
        return lull_cell_number(fact->value, 2);
    }
}

static struct lull_shown_gain gain_of(const struct lull_finding_gain *gain, const char *fixed)
{
    return (struct lull_shown_gain){.fixed = fixed,
                                    .absent = gain->absent,
                                    .ns = gain->ns,
                                    .low_ns = gain->low_ns,
                                    .high_ns = gain->high_ns,
                                    .factor = gain->factor,
                                    .too_small = gain->too_small};
}

static int64_t index_of(uint32_t index)
{
    return index == LULL_NONE ? -1 : (int64_t)index;
}

static int64_t thread_of_finding(const struct lull_run *run, const struct lull_finding_place *place)
{
    return place->location == LULL_NONE ||
                   run->trace->locations[place->location].kind != LULL_LOCATION_THREAD
               ? -1
               : (int64_t)run->trace->locations[place->location].number;
}

static void show(struct lull_shown_finding *shown, const struct lull_report *report,
                 const struct ranked *ranked, struct lull_arena *arena)
{
    const struct lull_finding *finding = ranked->finding;
    const struct lull_finding_place *place = &finding->place;
    const struct lull_run *run = &report->runs.runs[ranked->run];
    const struct lull_timeline *timeline = report->of[ranked->run].timeline;
    struct lull_shown_fact *facts = lull_arena_zero(arena, LULL_FINDING_FACTS, sizeof *facts);
    for (uint32_t f = 0; f < finding->n_facts; f++)
        facts[f] = (struct lull_shown_fact){finding->facts[f].id, finding->facts[f].label,
                                            cell_of_fact(&finding->facts[f])};
    *shown = (struct lull_shown_finding){.run = run->name,
                                         .rule = lull_finding_rule_id(finding),
                                         .sentence = finding->sentence,
                                         .cause = finding->cause,
                                         .next = finding->next,
                                         .lost_ns = finding->lost_ns,
                                         .gain = gain_of(&finding->gain, finding->fixed),
                                         .rank = index_of(place->rank),
                                         .thread = thread_of_finding(run, place),
                                         .node = place->node_name,
                                         .region = place->region,
                                         .site = place->site,
                                         .begin = place->begin,
                                         .end = place->end,
                                         .facts = facts,
                                         .n_facts = finding->n_facts,
                                         .timeline = SIZE_MAX};
    if (!timeline || timeline->begin >= timeline->end)
        return;
    shown->timeline = ranked->run;
    shown->row = lull_report_row_of(timeline, place->location, place->node,
                                    place->process == LULL_NONE ? place->instance : place->process);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static struct ranked *rank_all(const struct lull_report *report, struct lull_arena *arena,
                               uint32_t *ret_count)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < report->runs.count; i++)
        count += report->of[i].diagnosis.count;
    struct ranked *ranked = lull_arena_zero(arena, count + (size_t)1, sizeof *ranked);
    *ret_count = count;
    count = 0;
    for (uint32_t i = 0; i < report->runs.count; i++) {
        const struct lull_diagnosis *diagnosis = &report->of[i].diagnosis;
        for (uint32_t f = 0; f < diagnosis->count; f++) {
            const struct lull_finding *finding = &diagnosis->findings[f];
            const double worth = lull_finding_worth(finding, diagnosis->cores) * diagnosis->cores;
            ranked[count++] = (struct ranked){finding, i, f, worth};
        }
    }
    qsort(ranked, count, sizeof *ranked, compare_ranked);
    return ranked;
}

static const char *append(const char *text, const char *more, struct lull_arena *arena)
{
    return text ? lull_arena_printf(arena, "%s %s", text, more) : more;
}

/* Tells what all fixes of a run together would save, if several have a price. */
static const char *tell_together(const struct lull_diagnosis *diagnosis, const char *of,
                                 struct lull_arena *arena)
{
    const struct lull_shown_gain gain = gain_of(&diagnosis->together, NULL);
    return lull_arena_printf(arena, "%sAll that have a price at once (they do not add): %s", of,
                             lull_gain_text(&gain, arena));
}

/* Why findings on waits may be missing; NULL: none are. */
static const char *tell_missing(const struct lull_run *run, const struct lull_report_run *of,
                                struct lull_arena *arena)
{
    if (run->waits && !run->waits->absent)
        return NULL;
    const char *why = run->waits     ? run->waits->absent
                      : of->timeline ? "it was not followed (--no-waits)"
                                     : "that needs events, and there are sums only";
    return lull_arena_printf(arena, "%s: who made others wait is not known: %s.", run->name, why);
}

/* What holds for all findings together; NULL: nothing does. */
static const char *about(const struct lull_report *report, struct lull_arena *arena)
{
    const char *text = NULL;
    for (uint32_t i = 0; i < report->runs.count; i++) {
        const struct lull_run *run = &report->runs.runs[i];
        const struct lull_diagnosis *diagnosis = &report->of[i].diagnosis;
        const char *of = report->runs.count > 1 ? lull_arena_printf(arena, "%s: ", run->name) : "";
        const char *missing = tell_missing(run, &report->of[i], arena);
        if (!diagnosis->together.absent)
            text = append(text, tell_together(diagnosis, of, arena), arena);
        if (missing)
            text = append(text, missing, arena);
    }
    return text;
}

/* What the runs lose their time by. The timelines are in the document already, in the order of the
 * runs. */
static void add_findings(struct lull_document *document, const struct lull_report *report,
                         struct lull_arena *arena)
{
    uint32_t count;
    bool any = false, complete = true;
    for (uint32_t i = 0; i < report->runs.count; i++) {
        any |= report->of[i].diagnosis.cores > 0;
        complete = complete && !tell_missing(&report->runs.runs[i], &report->of[i], arena);
    }
    if (!any) /* if only a region was analysed there are none */
        return;
    const struct ranked *ranked = rank_all(report, arena, &count);
    struct lull_shown_finding *shown = lull_arena_zero(arena, count + (size_t)1, sizeof *shown);
    for (uint32_t i = 0; i < count; i++)
        show(&shown[i], report, &ranked[i], arena);
    lull_document_findings(
        document, shown, count, about(report, arena),
        lull_arena_printf(arena,
                          "No findings%s: nothing%s costs more than %.0f %% of the core time.",
                          complete ? "" : " but for waits, which are not known",
                          complete ? "" : " else", 100 * LULL_FINDING_LEAST));
}

/* ==== remarks ================================================================================= */

/* What stands below the pictures: who differs, who waited longest, and what to do next. */

/* "heat-2: ", the name of a run, if there are several runs; else "". */
static const char *prefix_of(const struct lull_report *report, uint32_t run,
                             struct lull_arena *arena)
{
    return report->runs.count > 1 ? lull_arena_printf(arena, "%s: ", report->runs.runs[run].name)
                                  : "";
}

static void tell_difference(struct lull_document *document, const struct lull_report *report,
                            uint32_t run, const struct lull_report_difference *difference,
                            struct lull_arena *arena)
{
    const struct lull_report_run *of = &report->of[run];
    char useful[32], median[32];
    lull_format_time(difference->useful_ns, useful, sizeof useful);
    lull_format_time(difference->median_ns, median, sizeof median);
    const char *name = lull_report_row_name(of->timeline, difference->row, arena);
    const char *times =
        difference->median_ns > 0
            ? lull_arena_printf(arena, "%.2f x the median of all %ss",
                                (double)difference->useful_ns / (double)difference->median_ns,
                                of->peers)
            : "where the median does not";
    lull_document_note(document, LULL_NOTE_INFO, "%s%s computes %s: %s, median %s.",
                       prefix_of(report, run, arena), name, times, useful, median);
}

static void tell_differences(struct lull_document *document, const struct lull_report *report,
                             uint32_t run, struct lull_arena *arena)
{
    const struct lull_report_run *of = &report->of[run];
    for (uint32_t d = 0; d < of->n_differences; d++)
        tell_difference(document, report, run, &of->differences[d], arena);
    if (of->peers && of->n_differences == 0)
        lull_document_note(document, LULL_NOTE_INFO,
                           "%sNo %s's useful time is more than %.0f %% of the run away from the "
                           "median.",
                           prefix_of(report, run, arena), of->peers,
                           100 * LULL_REPORT_DIFFERS_LEAST);
}

/* Names what a wait is in: the MPI or OpenMP call, or, if the region is the user's (as for a
 * barrier without a region of its own), the activity and the region. */
static const char *what_waits(const struct lull_timeline *timeline,
                              const struct lull_timeline_place *wait, struct lull_arena *arena)
{
    const char *activity = lull_activity_name(wait->activity);
    if (wait->region == LULL_NONE)
        return activity;
    const struct lull_region *region = &timeline->trace->regions[wait->region];
    return region->activity == wait->activity
               ? region->name
               : lull_arena_printf(arena, "%s (%s)", activity, region->name);
}

/* Tells of the longest wait, and shows a command for it with as much time again before and behind
 * it, as far as the run goes. */
static void tell_wait(struct lull_document *document, const struct lull_report *report,
                      uint32_t run, const struct lull_report_wish *wish, struct lull_arena *arena)
{
    const struct lull_timeline *timeline = report->of[run].timeline;
    if (timeline->n_places == 0)
        return;
    const struct lull_timeline_place *wait = &timeline->places[0];
    const int64_t length = wait->end - wait->begin;
    const int64_t from = wait->begin - length > 0 ? wait->begin - length : 0;
    const int64_t duration = timeline->trace->duration;
    const int64_t to = length < duration - wait->end ? wait->end + length : duration;
    char took[32], when[32];
    lull_format_time(length, took, sizeof took);
    lull_format_time(wait->begin, when, sizeof when);
    lull_document_note(document, LULL_NOTE_INFO,
                       "%sThe longest wait: %s in %s of %s, from %s on. Closer: %s %.9gs:%.9gs",
                       prefix_of(report, run, arena), took, what_waits(timeline, wait, arena),
                       lull_report_row_name(timeline, timeline->leaves[wait->leaf].row, arena),
                       when, lull_report_command(&report->runs.runs[run], wish, arena),
                       1e-9 * (double)from, 1e-9 * (double)to);
}

static void tell_kept(struct lull_document *document, const struct lull_report *report,
                      uint32_t run, struct lull_arena *arena)
{
    const struct lull_timeline *timeline = report->of[run].timeline;
    if (!timeline->all_steps)
        lull_document_note(document, LULL_NOTE_INFO,
                           "%sOf %llu steps those around the longest waits are kept one by one; a "
                           "report of a --window keeps more.",
                           prefix_of(report, run, arena), (unsigned long long)timeline->n_steps);
    if (!timeline->all_messages)
        lull_document_note(document, LULL_NOTE_INFO,
                           "%s%llu messages are counted, not kept one by one; a report of a "
                           "--window keeps them.",
                           prefix_of(report, run, arena), (unsigned long long)timeline->n_messages);
}

/* Who differs, who waited longest, and what to do next. */
static void add_remarks(struct lull_document *document, const struct lull_report *report,
                        const struct lull_report_wish *wish, struct lull_arena *arena)
{
    for (uint32_t run = 0; run < report->runs.count; run++) {
        const struct lull_timeline *timeline = report->of[run].timeline;
        if (!timeline || timeline->begin == timeline->end)
            continue;
        tell_differences(document, report, run, arena);
        tell_wait(document, report, run, wish, arena);
        tell_kept(document, report, run, arena);
    }
    lull_document_note(document, LULL_NOTE_HINT,
                       "-o report.html makes a page of this, with all tables, in which one can "
                       "zoom.");
}

/* ==== the document ============================================================================ */

enum {
    MOST_REGIONS = 300,   /* regions with most time; the others of a run become one row */
    MOST_FILES = 20,      /* likewise; fewer, because the text has them, too */
    MOST_PROCESSES = 1024 /* processes up to which a run has a table of them */
};

/* ---- the trees ------------------------------------------------------------------------------- */

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

/* ---- regions --------------------------------------------------------------------------------- */

static int compare_exclusive(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x > y ? -1 : x < y;
}

/* The breakdown with the MOST_REGIONS regions that have most time, in its order, and all others as
 * one region. */
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
        /* Exclusive: nothing may count twice where regions are nested. */
        rest->inclusive_ns += region->exclusive_ns;
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

/* ---- code ------------------------------------------------------------------------------------ */

/* A table of functions of the runs that have samples. */
static void add_code(struct lull_document *document, const struct lull_runs *runs,
                     struct lull_arena *arena)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        struct lull_runs one = *runs;
        const char *absent;
        one.runs = &runs->runs[i];
        one.count = 1;
        if (lull_run_code(&runs->runs[i], arena, &absent))
            lull_tables_by_function(document, &one, arena);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The MOST_FILES files with the longest times, which come first in `uses`, and all others as
 * one. */
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

/* Adds a table of files for each run that has any; most programs are recorded without files. */
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

/* ---- what the runs say of themselves --------------------------------------------------------- */

static void add_properties(struct lull_document *document, const struct lull_runs *runs,
                           struct lull_arena *arena)
{
    struct lull_property_column *columns = lull_arena_zero(arena, runs->count, sizeof *columns);
    for (uint32_t i = 0; i < runs->count; i++)
        columns[i] = (struct lull_property_column){
            .id = runs->runs[i].name, .heading = runs->runs[i].name, .trace = runs->runs[i].trace};
    lull_table_of_properties(document, columns, runs->count, arena);
}

/* ---- the document ---------------------------------------------------------------------------- */

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
    add_trust(document, runs, arena);
    add_tree(document, report, additive, arena);
    if (lull_runs_have_devices(runs))
        lull_table_of_scheme(document, runs, LULL_SCHEME_DEVICE, arena);
    lull_note_of_loss(document, runs, lull_scheme_of(additive, lull_runs_are_hybrid(runs)), arena);
    add_file_tables(document, runs, arena);
    for (uint32_t i = 0; i < runs->count; i++)
        lull_report_add_memory_table(document, &runs->runs[i], &report->of[i], arena);
    for (uint32_t i = 0; i < runs->count; i++)
        if (report->of[i].hot)
            lull_hot_loops_add(document, &runs->runs[i], report->of[i].hot, arena);
    lull_document_details(document);
    add_tree(document, report, !additive, arena);
    lull_table_of_times(document, runs, arena);
    lull_table_of_activities(document, runs, arena);
    add_run_parts(document, report, arena);
    lull_tables_of_charges(document, runs, arena);
    add_code(document, runs, arena);
    for (uint32_t i = 0; i < runs->count; i++) {
        lull_report_add_timeline(document, &runs->runs[i], &report->of[i], wish, arena);
        lull_report_add_memory(document, &runs->runs[i], &report->of[i], arena);
        lull_report_add_code(document, report, i, wish, arena);
        lull_report_add_load(document, &runs->runs[i], &report->of[i], arena);
        lull_report_add_traffic(document, &runs->runs[i], &report->of[i], arena);
        lull_report_add_iterations(document, &runs->runs[i], &report->of[i], arena);
    }
    lull_report_attach_memory(document, report, arena);
    add_properties(document, runs, arena);
    add_findings(document, report, arena);
    add_charts(document, runs, arena);
    add_hot_charts(document, report, arena);
    add_remarks(document, report, wish, arena);
    lull_document_add_notices(document, notices);
    return document;
}
