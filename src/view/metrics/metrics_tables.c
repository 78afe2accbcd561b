/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/metrics/metrics_tables.h"

#include "study/replay/replayed_run.h"

#include <math.h>
#include <string.h>

/* ==== what tables of several kinds use ======================================================= */

struct lull_table *lull_table_of_parts(struct lull_document *document, const char *what,
                                       const char *title, const char *corner,
                                       const struct lull_run *run, struct lull_arena *arena)
{
    struct lull_table *table =
        lull_document_table(document, lull_arena_printf(arena, "%s:%s", what, run->name),
                            lull_arena_printf(arena, "%s of %s", title, run->name), LULL_BY_COLUMN);
    lull_table_corner(table, corner);
    return table;
}

double lull_time_of_threads(const struct lull_breakdown *breakdown)
{
    double sum = 0;
    for (uint32_t i = 0; i < breakdown->n_processes; i++)
        sum += (double)breakdown->processes[i].window_ns * breakdown->processes[i].n_cpu_threads;
    return sum > 0 ? sum : 1;
}

struct lull_memory_sum lull_memory_of_breakdown(const struct lull_breakdown *breakdown,
                                                struct lull_arena *arena)
{
    struct lull_memory_of *of = lull_arena_zero(arena, breakdown->n_processes, sizeof *of);
    for (uint32_t p = 0; p < breakdown->n_processes; p++)
        of[p] = (struct lull_memory_of){breakdown->processes[p].memory,
                                        breakdown->processes[p].node, p};
    return lull_memory_sum(of, breakdown->n_processes);
}

/* ==== runs side by side ======================================================================= */

bool lull_choice_is_additive(enum lull_scheme_choice choice, bool hybrid)
{
    return choice == LULL_CHOICE_ADDITIVE || (choice != LULL_CHOICE_MULTIPLICATIVE && hybrid);
}

enum lull_scheme lull_scheme_of(bool additive, bool hybrid)
{
    if (additive)
        return hybrid ? LULL_SCHEME_ADDITIVE : LULL_SCHEME_MPI_ADDITIVE;
    return hybrid ? LULL_SCHEME_MULTIPLICATIVE : LULL_SCHEME_MPI_MULTIPLICATIVE;
}

bool lull_runs_are_hybrid(const struct lull_runs *runs)
{
    bool any = false;
    for (uint32_t i = 0; i < runs->count; i++)
        any |= lull_pop_is_hybrid(runs->runs[i].input);
    return any;
}

bool lull_runs_have_devices(const struct lull_runs *runs)
{
    bool any = false;
    for (uint32_t i = 0; i < runs->count; i++)
        any |= runs->runs[i].input->n_devices > 0 || runs->runs[i].input->no_devices;
    return any;
}

static const char *nodes_of(uint32_t nodes, struct lull_arena *arena)
{
    if (!nodes)
        return "nodes unknown";
    return lull_arena_printf(arena, nodes == 1 ? "%u node" : "%u nodes", nodes);
}

struct lull_table *lull_table_of_runs(struct lull_document *document, const char *id,
                                      const char *title, const char *corner,
                                      const struct lull_runs *runs, struct lull_arena *arena)
{
    struct lull_table *table = lull_document_table(document, id, title, LULL_BY_ROW);
    lull_table_corner(table, corner);
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_run *run = &runs->runs[i];
        lull_table_column(table, run->name,
                          lull_arena_printf(arena, "%s\n%s\n%s", run->name,
                                            nodes_of(run->breakdown->n_nodes, arena),
                                            lull_run_shape(run, arena)));
    }
    return table;
}

static const struct scheme_text {
    const char *id, *title;
} scheme_texts[LULL_SCHEMES] = {
    [LULL_SCHEME_COMMON] = {"common", "Common part"},
    [LULL_SCHEME_ADDITIVE] = {"additive", "POP efficiencies, hybrid (MPI and OpenMP), additive"},
    [LULL_SCHEME_MULTIPLICATIVE] = {"multiplicative",
                                    "POP efficiencies, hybrid (MPI and OpenMP), multiplicative"},
    [LULL_SCHEME_MULTIPLICATIVE_NAG] =
        {"multiplicative_nag",
         "POP efficiencies, hybrid (MPI and OpenMP), multiplicative (nag variant)"},
    [LULL_SCHEME_MPI_ADDITIVE] = {"mpi_additive", "POP efficiencies, MPI, additive"},
    [LULL_SCHEME_MPI_MULTIPLICATIVE] = {"mpi_multiplicative",
                                        "POP efficiencies, MPI, multiplicative"},
    [LULL_SCHEME_DEVICE] = {"device", "POP efficiencies of MPI and devices, multiplicative"},
};

/* Whether a metric is in the tree of a scheme: devices have a tree of their own, and the other
 * schemes begin with the common metrics. */
static bool belongs(int metric, enum lull_scheme scheme)
{
    uint8_t of = lull_metric_defs[metric].scheme;
    return of == scheme || (of == LULL_SCHEME_COMMON && scheme != LULL_SCHEME_DEVICE);
}

static struct lull_cell metric_cell(const struct lull_run *run, int metric)
{
    const struct lull_metric_value *value = &run->values[metric];
    if (value->absent)
        return lull_cell_absent(value->absent);
    return strcmp(lull_metric_defs[metric].id, "speedup") == 0 ? lull_cell_number(value->value, 2)
                                                               : lull_cell_efficiency(value->value);
}

static struct lull_cell ratio_cell(double above, double below, const char *why_not)
{
    if (!isfinite(above) || !isfinite(below) || below <= 0)
        return lull_cell_absent(why_not);
    return lull_cell_number(above / below, 2);
}

static double total_useful(const struct lull_pop_input *input)
{
    double sum = 0;
    for (uint32_t i = 0; i < input->n_processes; i++)
        sum += input->processes[i].useful;
    return sum;
}

static void add_rates(struct lull_table *table, const struct lull_runs *runs)
{
    static const char no_instructions[] = "no instruction counter";
    static const char no_cycles[] = "no cycle counter";
    lull_table_rule(table);
    uint32_t ipc = lull_table_row(table, "ipc", "Instructions per cycle", LULL_NO_ROW);
    uint32_t clock = lull_table_row(table, "frequency", "Frequency", LULL_NO_ROW);
    lull_table_row_unit(table, clock, "GHz");
    lull_table_row_about(table, ipc, "I / C");
    lull_table_row_about(table, clock, "C / sum U");
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_pop_input *input = runs->runs[i].input;
        lull_table_set(table, ipc, i,
                       ratio_cell(input->instructions, input->cycles,
                                  isfinite(input->instructions) ? no_cycles : no_instructions));
        lull_table_set(table, clock, i,
                       ratio_cell(input->cycles / 1e9, total_useful(input), no_cycles));
    }
}

/* What the processes had of memory, where that is known of all runs: so not beside simulated ones. */
static void add_memory_of_processes(struct lull_table *table, const struct lull_runs *runs,
                                    struct lull_arena *arena)
{
    static const char no_capacity[] = "it is not known how much memory its nodes have";
    struct lull_memory_sum *sums = lull_arena_zero(arena, runs->count, sizeof *sums);
    bool known = runs->count > 0;
    for (uint32_t i = 0; i < runs->count; i++) {
        sums[i] = lull_memory_of_breakdown(runs->runs[i].breakdown, arena);
        known = known && sums[i].known > 0;
    }
    if (!known)
        return;
    const uint32_t process = lull_table_row(table, "memory_process",
                                            "Memory of the largest process", LULL_NO_ROW),
                   share = lull_table_row(table, "memory_share", "Memory, share of what there is",
                                          LULL_NO_ROW);
    lull_table_row_about(table, process, "the most that was resident at a time");
    lull_table_row_about(table, share,
                         "sum of the most of each process / memory of their node, or limit of "
                         "their control group; where that is largest");
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_memory_sum *sum = &sums[i];
        lull_table_set(table, process, i, lull_cell_bytes(sum->largest));
        lull_table_set(table, share, i,
                       sum->capacity > 0
                           ? lull_cell_share((double)sum->together / (double)sum->capacity)
                           : lull_cell_absent(no_capacity));
    }
}

/* Adds by how much the replay misses the measured runtime, if it does for any run, because Transfer
 * and Serialisation follow from that replay. */
static void add_replay_difference(struct lull_table *table, const struct lull_runs *runs)
{
    bool misses = false, in_part = false;
    for (uint32_t i = 0; i < runs->count; i++) {
        misses |= fabs(lull_replay_difference(runs->runs[i].breakdown)) > LULL_REPLAY_MISSES_MOST;
        in_part |= runs->runs[i].breakdown->replayed_error_ns > 0;
    }
    if (!misses)
        return;
    uint32_t row =
        lull_table_row(table, "replay_difference", "Replay against measured", LULL_NO_ROW);
    lull_table_row_about(table, row, "T_replayed / T - 1, on the network that the messages show");
    for (uint32_t i = 0; i < runs->count; i++) {
        double difference = lull_replay_difference(runs->runs[i].breakdown);
        lull_table_set(table, row, i,
                       isfinite(difference)
                           ? lull_cell_share(difference)
                           : lull_cell_absent("no replay on the network that its messages show"));
    }
    if (!in_part)
        return;
    row = lull_table_row(table, "replay_uncertainty", "Known to +-", row);
    lull_table_row_about(table, row, "of an excerpt's replay, with 95 %");
    for (uint32_t i = 0; i < runs->count; i++)
        lull_table_set(table, row, i,
                       runs->runs[i].breakdown->replayed_error_ns > 0
                           ? lull_cell_share(lull_replay_uncertainty(runs->runs[i].breakdown))
                           : lull_cell_absent("the whole run was replayed"));
}

#define PRINTED_ABOVE_ONE 1.005 /* from here on two digits show more than 1 */

/* Explains an efficiency above 1. */
static void explain_above_one(struct lull_document *document, const struct lull_runs *runs,
                              int metric)
{
    const struct lull_metric_def *def = &lull_metric_defs[metric];
    bool above = false;
    for (uint32_t i = 0; i < runs->count; i++)
        above |= !runs->runs[i].values[metric].absent &&
                 runs->runs[i].values[metric].value >= PRINTED_ABOVE_ONE;
    if (above && def->above_one && *def->above_one)
        lull_document_note(document, LULL_NOTE_INFO, "%s is above 1 where %s.", def->label,
                           def->above_one);
}

void lull_table_of_scheme(struct lull_document *document, const struct lull_runs *runs,
                          enum lull_scheme scheme, struct lull_arena *arena)
{
    struct lull_table *table = lull_table_of_runs(
        document, scheme_texts[scheme].id, scheme_texts[scheme].title, "Metric", runs, arena);
    uint32_t *rows = lull_arena_zero(arena, (size_t)lull_metric_count, sizeof(*rows));
    for (int metric = 0; metric < lull_metric_count; metric++) {
        const struct lull_metric_def *def = &lull_metric_defs[metric];
        if (!belongs(metric, scheme))
            continue;
        rows[metric] = lull_table_row(table, def->id, def->label,
                                      def->parent < 0 ? LULL_NO_ROW : rows[def->parent]);
        lull_table_row_about(table, rows[metric], def->formula);
        for (uint32_t i = 0; i < runs->count; i++)
            lull_table_set(table, rows[metric], i, metric_cell(&runs->runs[i], metric));
        explain_above_one(document, runs, metric);
    }
    if (scheme == LULL_SCHEME_DEVICE)
        return;
    add_rates(table, runs);
    add_memory_of_processes(table, runs, arena);
    add_replay_difference(table, runs);
}

static struct lull_cell seconds_cell(double seconds)
{
    return lull_cell_time(llround(seconds * 1e9));
}

static struct lull_cell ideal_cell(const struct lull_pop_input *input)
{
    if (isfinite(input->ideal_runtime))
        return seconds_cell(input->ideal_runtime);
    return lull_cell_absent(input->ideal_absent ? input->ideal_absent
                                                : "needs a replay on an ideal network");
}

static struct lull_cell count_cell(double count, const char *why_not)
{
    return isfinite(count) ? lull_cell_count((uint64_t)count) : lull_cell_absent(why_not);
}

static double average_useful(const struct lull_run *run)
{
    return total_useful(run->input) / run->threads;
}

static double maximum_useful(const struct lull_run *run)
{
    double max = 0;
    for (uint32_t i = 0; i < run->input->n_processes; i++)
        max = fmax(max, run->input->processes[i].max_useful);
    return max;
}

void lull_table_of_times(struct lull_document *document, const struct lull_runs *runs,
                         struct lull_arena *arena)
{
    static const char *const rows[][2] = {
        {"runtime", "Runtime"},
        {"ideal_runtime", "Runtime on an ideal network"},
        {"useful_average", "Useful time per thread, average"},
        {"useful_maximum", "Useful time per thread, maximum"},
        {"useful_total", "Useful time, all threads"},
        {"useful_instructions", "Instructions in useful time"},
        {"useful_cycles", "Cycles in useful time"},
    };
    struct lull_table *table =
        lull_table_of_runs(document, "raw", "Times and counters", "Quantity", runs, arena);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        lull_table_row(table, rows[i][0], rows[i][1], LULL_NO_ROW);
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_run *run = &runs->runs[i];
        const struct lull_cell cells[] = {
            seconds_cell(run->input->runtime),
            ideal_cell(run->input),
            seconds_cell(average_useful(run)),
            seconds_cell(maximum_useful(run)),
            seconds_cell(total_useful(run->input)),
            count_cell(run->input->instructions, "no instruction counter"),
            count_cell(run->input->cycles, "no cycle counter"),
        };
        for (uint32_t row = 0; row < sizeof cells / sizeof *cells; row++)
            lull_table_set(table, row, i, cells[row]);
    }
}

/* Time of all CPU threads in an activity, in ns; LULL_ACTIVITIES: while measurement was switched
 * off. */
static int64_t time_of_all(const struct lull_run *run, unsigned activity)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < run->breakdown->n_threads; i++) {
        const struct lull_thread_breakdown *thread = &run->breakdown->threads[i];
        if (thread->kind != LULL_LOCATION_THREAD)
            continue;
        sum += activity == LULL_ACTIVITIES
                   ? thread->disabled_ns
                   : thread->times.ns[activity][0] + thread->times.ns[activity][1];
    }
    return sum;
}

void lull_table_of_activities(struct lull_document *document, const struct lull_runs *runs,
                              struct lull_arena *arena)
{
    struct lull_table *table = lull_table_of_runs(document, "activities",
                                                  "Where the time of all threads "
                                                  "went",
                                                  "Activity", runs, arena);
    for (unsigned activity = 0; activity <= LULL_ACTIVITIES; activity++) {
        bool any = false;
        for (uint32_t i = 0; i < runs->count; i++)
            any |= time_of_all(&runs->runs[i], activity) != 0;
        if (!any)
            continue;
        bool disabled = activity == LULL_ACTIVITIES;
        uint32_t row = lull_table_row(
            table, disabled ? "disabled" : lull_activity_id(activity),
            disabled ? "Measurement switched off" : lull_activity_name(activity), LULL_NO_ROW);
        for (uint32_t i = 0; i < runs->count; i++)
            lull_table_set(table, row, i, lull_cell_time(time_of_all(&runs->runs[i], activity)));
    }
}

static const struct lull_breakdown_counter *find_counter(const struct lull_run *run,
                                                         const char *name, uint32_t *ret_index)
{
    for (uint32_t i = 0; i < run->breakdown->n_counters; i++) {
        if (strcmp(run->breakdown->counters[i].name, name) != 0)
            continue;
        *ret_index = i;
        return &run->breakdown->counters[i];
    }
    return NULL;
}

static struct lull_cell counter_cell(const struct lull_run *run, const char *name)
{
    uint32_t index;
    if (!find_counter(run, name, &index))
        return lull_cell_absent("no such counter in this run");
    uint64_t sum = 0; /* modulo 2^64, like the readings themselves */
    for (uint32_t i = 0; i < run->breakdown->n_threads; i++)
        if (run->breakdown->threads[i].kind == LULL_LOCATION_THREAD)
            sum += run->breakdown->threads[i].counters[index * LULL_ACTIVITIES + LULL_USEFUL];
    return lull_cell_count(sum);
}

void lull_table_of_counters(struct lull_document *document, const struct lull_runs *runs,
                            struct lull_arena *arena)
{
    struct lull_table *table = lull_table_of_runs(
        document, "counters", "Counters in useful time, all threads", "Counter", runs, arena);
    bool any = false;
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_breakdown *breakdown = runs->runs[i].breakdown;
        for (uint32_t k = 0; k < breakdown->n_counters; k++) {
            const char *name = breakdown->counters[k].name;
            bool known = false;
            uint32_t index;
            for (uint32_t before = 0; before < i; before++)
                known |= find_counter(&runs->runs[before], name, &index) != NULL;
            if (known)
                continue;
            any = true;
            uint32_t row = lull_table_row(table, name, name, LULL_NO_ROW);
            for (uint32_t column = 0; column < runs->count; column++)
                lull_table_set(table, row, column, counter_cell(&runs->runs[column], name));
        }
    }
    if (!any)
        lull_document_note(document, LULL_NOTE_INFO, "The runs hold no counters.");
}

#define NOTEWORTHY 0.95 /* efficiencies above this need no remark */

/* The lowest child of a metric in a scheme; -1: it has none with a value. */
static int lowest_child(const struct lull_run *run, int parent, enum lull_scheme scheme)
{
    int lowest = -1;
    for (int metric = 0; metric < lull_metric_count; metric++) {
        if (lull_metric_defs[metric].parent != parent || !belongs(metric, scheme) ||
            run->values[metric].absent)
            continue;
        if (lowest < 0 || run->values[metric].value < run->values[lowest].value)
            lowest = metric;
    }
    return lowest;
}

void lull_note_of_loss(struct lull_document *document, const struct lull_runs *runs,
                       enum lull_scheme scheme, struct lull_arena *arena)
{
    const struct lull_run *run = &runs->runs[runs->count - 1];
    const char *path = "";
    bool device = scheme == LULL_SCHEME_DEVICE;
    int metric = lull_metric_find(device ? "device_parallel_efficiency" : "global_efficiency");
    if (run->values[metric].absent)
        metric = lull_metric_find("parallel_efficiency");
    for (; metric >= 0 && run->values[metric].value < NOTEWORTHY;
         metric = lowest_child(run, metric, scheme))
        path = lull_arena_printf(arena, "%s%s%s %.2f", path, *path ? " > " : "",
                                 lull_metric_defs[metric].label, run->values[metric].value);
    if (*path)
        lull_document_note(document, LULL_NOTE_INFO, "Where %s loses most: %s.", run->name, path);
}
