/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/metrics/metrics_tables.h"

#include "study/critical_path.h"
#include "study/replay/replayed_run.h"
#include "study/run_code.h"
#include "trace/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== parts of a run ========================================================================== */

/* Tables of the parts of a run: regions, processes, threads. */

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

static int by_exclusive_time(const void *left, const void *right)
{
    const struct lull_region_breakdown *a = left, *b = right;
    if (a->exclusive_ns != b->exclusive_ns)
        return a->exclusive_ns < b->exclusive_ns ? 1 : -1;
    int order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->site, b->site);
}

/* The length of the windows of all threads together, to which shares refer. */
static double time_of_threads(const struct lull_breakdown *breakdown)
{
    double sum = 0;
    for (uint32_t i = 0; i < breakdown->n_processes; i++)
        sum += (double)breakdown->processes[i].window_ns * breakdown->processes[i].n_cpu_threads;
    return sum > 0 ? sum : 1;
}

/* The regions, with the calls from all sites together, and room for two more. Regions that differ by
 * their site have the same name, and are neighbours in the breakdown. */
static uint32_t whole_regions(const struct lull_breakdown *breakdown, struct lull_arena *arena,
                              struct lull_region_breakdown **ret_regions)
{
    struct lull_region_breakdown *regions =
        lull_arena_zero(arena, breakdown->n_regions + (size_t)2, sizeof(*regions));
    uint32_t count = 0;
    for (uint32_t i = 0; i < breakdown->n_regions; i++) {
        const struct lull_region_breakdown *from = &breakdown->regions[i];
        struct lull_region_breakdown *to = count ? &regions[count - 1] : NULL;
        if (!to || strcmp(to->name, from->name) != 0) {
            regions[count++] = *from;
            continue;
        }
        to->visits += from->visits;
        to->inclusive_ns += from->inclusive_ns;
        to->exclusive_ns += from->exclusive_ns;
        to->useful_ns += from->useful_ns;
    }
    *ret_regions = regions;
    return count;
}

static uint32_t sites_of(const struct lull_breakdown *breakdown, struct lull_arena *arena,
                         struct lull_region_breakdown **ret_regions)
{
    struct lull_region_breakdown *regions =
        lull_arena_zero(arena, breakdown->n_regions + 1, sizeof(*regions));
    uint32_t count = 0;
    for (uint32_t i = 0; i < breakdown->n_regions; i++)
        if (*breakdown->regions[i].site)
            regions[count++] = breakdown->regions[i];
    *ret_regions = regions;
    return count;
}

/* Text has room for so many regions; of more, it leaves out those whose share is printed as 0.0 %. */
enum { MANY_REGIONS = 20 };

static void leave_out_region(struct lull_table *table, uint32_t row, uint32_t count,
                             const struct lull_region_breakdown *region,
                             const struct lull_breakdown *breakdown)
{
    if (count > MANY_REGIONS && (double)region->exclusive_ns / time_of_threads(breakdown) < 0.0005)
        lull_table_row_minor(table, row, "below 0.05 % of the time");
}

/* Sets the columns that all tables of regions have, behind `first` columns of the caller's. */
static void set_region(struct lull_table *table, uint32_t row, uint32_t first,
                       const struct lull_region_breakdown *region,
                       const struct lull_breakdown *breakdown)
{
    double share = (double)region->exclusive_ns / time_of_threads(breakdown);
    lull_table_set(table, row, first, lull_cell_text(lull_activity_name(region->activity)));
    if (region->visits)
        lull_table_set(table, row, first + 1, lull_cell_count(region->visits));
    lull_table_set(table, row, first + 2,
                   breakdown->from_sums ? lull_cell_absent("needs events; there are sums only")
                                        : lull_cell_time(region->inclusive_ns));
    lull_table_set(table, row, first + 3, lull_cell_time(region->exclusive_ns));
    lull_table_set(table, row, first + 4, lull_cell_share(share));
}

static void add_region_columns(struct lull_table *table)
{
    static const char *const columns[][2] = {{"activity", "counts as"},
                                             {"visits", "visits"},
                                             {"inclusive", "inclusive"},
                                             {"exclusive", "exclusive"},
                                             {"share", "share"}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        lull_table_column(table, columns[i][0], columns[i][1]);
}

static int64_t time_in(const struct lull_thread_breakdown *thread, unsigned activity)
{
    return thread->times.ns[activity][0] + thread->times.ns[activity][1];
}

static const char outside_name[] = "(no region)";

/* What the threads spent outside of all regions, as one region more or two: useful time, and the rest.
 * Returns how many. */
static uint32_t outside_of_regions(const struct lull_breakdown *breakdown,
                                   struct lull_region_breakdown outside[2])
{
    int64_t useful = 0, idle = 0, left = 0;
    for (uint32_t t = 0; t < breakdown->n_threads; t++)
        for (unsigned activity = 0; activity < LULL_ACTIVITIES; activity++) {
            const int64_t ns = time_in(&breakdown->threads[t], activity);
            useful += activity == LULL_USEFUL ? ns : 0;
            idle += activity == LULL_IDLE ? ns : 0;
            left += ns;
        }
    for (uint32_t r = 0; r < breakdown->n_regions; r++) {
        useful -= breakdown->regions[r].useful_ns;
        left -= breakdown->regions[r].exclusive_ns;
    }
    uint32_t n = 0;
    if (useful > 0)
        outside[n++] = (struct lull_region_breakdown){.name = outside_name,
                                                      .site = "",
                                                      .activity = LULL_USEFUL,
                                                      .inclusive_ns = useful,
                                                      .exclusive_ns = useful};
    if (left > useful)
        outside[n++] = (struct lull_region_breakdown){
            .name = outside_name,
            .site = "",
            .activity = 2 * idle >= left - useful ? LULL_IDLE : LULL_OTHER,
            .inclusive_ns = left - useful,
            .exclusive_ns = left - useful};
    return n;
}

static bool has_path(const struct lull_run *run)
{
    return run->path_parts && run->ideal && run->ideal->path && !run->breakdown->ideal_absent;
}

/* How long a region is on the critical path, and how its share of that compares with its share of what all
 * processes do outside MPI. */
static void set_on_path(struct lull_table *table, uint32_t row, uint32_t first,
                        const struct lull_region_breakdown *region, const struct lull_run *run)
{
    const bool is_outside = region->name == outside_name;
    const unsigned part = is_outside ? 0 : lull_critical_part_of(run->path_parts, region->name);
    if (part == run->path_parts->n_parts || (is_outside && region->activity != LULL_USEFUL))
        return;
    const struct lull_ideal_result *ideal = run->ideal;
    int64_t spent = 0;
    for (unsigned p = 0; p < run->path_parts->n_parts; p++)
        spent += ideal->spent[p];
    lull_table_set(table, row, first, lull_cell_time(ideal->path[part]));
    if (ideal->spent[part] > 0 && ideal->runtime > 0)
        lull_table_set(table, row, first + 1,
                       lull_cell_number((double)ideal->path[part] / (double)ideal->runtime *
                                            (double)spent / (double)ideal->spent[part],
                                        2));
}

/* What the columns of the critical path leave unsaid. */
static void note_of_path(struct lull_document *document, const struct lull_run *run)
{
    const struct lull_critical_parts *parts = run->path_parts;
    if (parts->left_out > 0)
        lull_document_note(
            document, LULL_NOTE_INFO,
            "%s: the critical path is told for the %u regions that the run defines first; %u "
            "others have %.1f %% of it together.",
            run->name, parts->n_parts - 2, parts->left_out,
            100 * (double)run->ideal->path[parts->n_parts - 1] / (double)run->ideal->runtime);
}

static void add_region_table(struct lull_document *document, const struct lull_run *run,
                             struct lull_arena *arena)
{
    struct lull_region_breakdown *regions;
    uint32_t count = whole_regions(run->breakdown, arena, &regions);
    count += outside_of_regions(run->breakdown, &regions[count]);
    if (count > 1)
        qsort(regions, count, sizeof(*regions), by_exclusive_time);
    struct lull_table *table =
        lull_table_of_parts(document, "regions", "Regions", "Region", run, arena);
    const bool with_path = has_path(run);
    add_region_columns(table);
    if (with_path) {
        lull_table_column(table, "on_path", "on the\ncritical path");
        lull_table_column(table, "path_ratio", "share of path /\nshare of time");
        note_of_path(document, run);
    }
    for (uint32_t i = 0; i < count; i++) {
        const bool is_outside = regions[i].name == outside_name;
        if (!regions[i].visits && !is_outside)
            continue;
        const char *id = !is_outside                          ? regions[i].name
                         : regions[i].activity == LULL_USEFUL ? "(no region)"
                                                              : "(no region), not useful";
        uint32_t row = lull_table_row(table, id, regions[i].name, LULL_NO_ROW);
        set_region(table, row, 0, &regions[i], run->breakdown);
        if (with_path)
            set_on_path(table, row, 5, &regions[i], run);
        leave_out_region(table, row, count, &regions[i], run->breakdown);
    }
}

static void add_call_sites(struct lull_document *document, const struct lull_run *run,
                           struct lull_arena *arena)
{
    struct lull_region_breakdown *regions;
    uint32_t count = sites_of(run->breakdown, arena, &regions);
    if (count == 0) {
        lull_document_note(document, LULL_NOTE_INFO,
                           "%s has no call sites: lull record writes them, other tracers may not.",
                           run->name);
        return;
    }
    qsort(regions, count, sizeof(*regions), by_exclusive_time);
    struct lull_table *table =
        lull_table_of_parts(document, "call_sites", "Call sites", "Call", run, arena);
    const bool with_path = has_path(run);
    lull_table_column(table, "site", "called from");
    add_region_columns(table);
    if (with_path)
        lull_table_column(table, "path_changes", "critical path comes\nfrom another rank");
    for (uint32_t i = 0; i < count; i++) {
        const char *id = lull_arena_printf(arena, "%s @ %s", regions[i].name, regions[i].site);
        uint32_t row = lull_table_row(table, id, regions[i].name, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_text(regions[i].site));
        set_region(table, row, 1, &regions[i], run->breakdown);
        const unsigned site =
            with_path ? lull_critical_site_of(run->path_parts, regions[i].name, regions[i].site)
                      : 0;
        if (with_path && site < run->path_parts->n_sites)
            lull_table_set(table, row, 6, lull_cell_count((uint64_t)run->ideal->changes[site]));
        leave_out_region(table, row, count, &regions[i], run->breakdown);
    }
}

static bool has_parallel_time(const struct lull_breakdown *breakdown)
{
    for (uint32_t t = 0; t < breakdown->n_threads; t++)
        for (unsigned activity = 0; activity < LULL_ACTIVITIES; activity++)
            if (breakdown->threads[t].times.ns[activity][1] > 0)
                return true;
    return false;
}

static void add_parallel_regions(struct lull_document *document, const struct lull_run *run,
                                 struct lull_arena *arena)
{
    static const char *const columns[][2] = {{"executions", "executions"},
                                             {"loss", "loss"},
                                             {"imbalance", "imbalance"},
                                             {"schedule", "fork, join,\nschedule"},
                                             {"lock", "locks"},
                                             {"mpi", "MPI"},
                                             {"rest", "other"}};
    struct lull_pop_parallel *parallels;
    uint32_t count = lull_pop_parallels(run->breakdown, arena, &parallels);
    if (run->breakdown->from_sums && has_parallel_time(run->breakdown))
        lull_document_note(document, LULL_NOTE_INFO,
                           "%s: the OpenMP parallel regions are not told apart by cause, which "
                           "needs events.",
                           run->name);
    if (!count)
        return;
    struct lull_table *table =
        lull_table_of_parts(document, "parallel_regions",
                            "OpenMP parallel regions (loss as share of the time of all threads)",
                            "Parallel region", run, arena);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        lull_table_column(table, columns[i][0], columns[i][1]);
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_pop_parallel *parallel = &parallels[i];
        const double shares[] = {parallel->loss, parallel->imbalance, parallel->schedule,
                                 parallel->lock, parallel->mpi,       parallel->rest};
        uint32_t row = lull_table_row(table, parallel->name, parallel->name, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_count(parallel->executions));
        for (uint32_t k = 0; k < sizeof shares / sizeof *shares; k++)
            lull_table_set(table, row, k + 1, lull_cell_share(shares[k]));
    }
}

void lull_tables_by_region(struct lull_document *document, const struct lull_runs *runs,
                           struct lull_arena *arena)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        add_region_table(document, &runs->runs[i], arena);
        add_parallel_regions(document, &runs->runs[i], arena);
    }
}

/* The activities that any thread of the run spent time in, useful first. */
struct activities {
    unsigned list[LULL_ACTIVITIES];
    uint32_t count;
};

static struct activities activities_of(const struct lull_breakdown *breakdown)
{
    struct activities activities = {.count = 0};
    for (unsigned activity = 0; activity < LULL_ACTIVITIES; activity++) {
        bool any = activity == LULL_USEFUL;
        for (uint32_t i = 0; i < breakdown->n_threads && !any; i++)
            any = time_in(&breakdown->threads[i], activity) != 0;
        if (any)
            activities.list[activities.count++] = activity;
    }
    return activities;
}

static void add_activity_columns(struct lull_table *table, const struct activities *activities)
{
    lull_table_column(table, "share", "useful\nshare");
    for (uint32_t i = 0; i < activities->count; i++)
        lull_table_column(table, lull_activity_id(activities->list[i]),
                          lull_activity_name(activities->list[i]));
}

/* Sets a row to the sums of `count` threads. */
static void set_thread_times(struct lull_table *table, uint32_t row,
                             const struct activities *activities,
                             const struct lull_thread_breakdown *threads, uint32_t count,
                             int64_t window_ns)
{
    int64_t useful = 0;
    for (uint32_t i = 0; i < activities->count; i++) {
        int64_t sum = 0;
        for (uint32_t k = 0; k < count; k++)
            sum += time_in(&threads[k], activities->list[i]);
        lull_table_set(table, row, i + 1, lull_cell_time(sum));
        useful += activities->list[i] == LULL_USEFUL ? sum : 0;
    }
    double all = (double)window_ns * count;
    if (all > 0)
        lull_table_set(table, row, 0, lull_cell_share((double)useful / all));
}

void lull_tables_by_callsite(struct lull_document *document, const struct lull_runs *runs,
                             struct lull_arena *arena)
{
    for (uint32_t i = 0; i < runs->count; i++)
        if (runs->runs[i].breakdown->regions)
            add_call_sites(document, &runs->runs[i], arena);
}

static struct lull_memory_sum memory_of(const struct lull_breakdown *breakdown,
                                        struct lull_arena *arena)
{
    struct lull_memory_of *of = lull_arena_zero(arena, breakdown->n_processes, sizeof *of);
    for (uint32_t p = 0; p < breakdown->n_processes; p++)
        of[p] = (struct lull_memory_of){breakdown->processes[p].memory,
                                        breakdown->processes[p].node, p};
    return lull_memory_sum(of, breakdown->n_processes);
}

void lull_tables_by_process(struct lull_document *document, const struct lull_runs *runs,
                            struct lull_arena *arena)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_breakdown *breakdown = runs->runs[i].breakdown;
        struct activities activities = activities_of(breakdown);
        struct lull_table *table =
            lull_table_of_parts(document, "processes", "Processes (sums over their threads)",
                                "Process", &runs->runs[i], arena);
        add_activity_columns(table, &activities);
        const bool has_memory = memory_of(breakdown, arena).known > 0;
        if (has_memory)
            lull_table_column(table, "memory", "most\nmemory");
        for (uint32_t p = 0; p < breakdown->n_processes; p++) {
            const struct lull_process_breakdown *process = &breakdown->processes[p];
            uint32_t row =
                lull_table_row(table, lull_arena_printf(arena, "%u", process->rank),
                               lull_arena_printf(arena, "rank %u", process->rank), LULL_NO_ROW);
            set_thread_times(table, row, &activities, &breakdown->threads[process->first_thread],
                             process->n_cpu_threads, process->window_ns);
            if (has_memory && process->memory.peak > 0)
                lull_table_set(table, row, activities.count + 1,
                               lull_cell_bytes(process->memory.peak));
        }
    }
}

void lull_tables_by_thread(struct lull_document *document, const struct lull_runs *runs,
                           struct lull_arena *arena)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_breakdown *breakdown = runs->runs[i].breakdown;
        struct activities activities = activities_of(breakdown);
        struct lull_table *table =
            lull_table_of_parts(document, "threads", "Threads", "Thread", &runs->runs[i], arena);
        add_activity_columns(table, &activities);
        for (uint32_t t = 0; t < breakdown->n_threads; t++) {
            const struct lull_thread_breakdown *thread = &breakdown->threads[t];
            const struct lull_process_breakdown *process = &breakdown->processes[thread->process];
            bool device = thread->kind == LULL_LOCATION_DEVICE;
            uint32_t row =
                lull_table_row(table,
                               lull_arena_printf(arena, "%u.%s%u", process->rank, device ? "d" : "",
                                                 thread->number),
                               lull_arena_printf(arena, "rank %u %s %u", process->rank,
                                                 device ? "stream" : "thread", thread->number),
                               LULL_NO_ROW);
            set_thread_times(table, row, &activities, thread, 1, process->window_ns);
        }
    }
}

/* ==== waits =================================================================================== */

/* The tables of waits: who made others wait, and where the time of each process in MPI went. */

enum { MOST_CHARGES = 20 }; /* rows of text; the others become one row */

static const char *rank_of(const struct lull_trace *trace, uint32_t process,
                           struct lull_arena *arena)
{
    return process < trace->n_processes
               ? lull_arena_printf(arena, "%u", trace->processes[process].rank)
               : "several";
}

static const char *region_of_place(const struct lull_trace *trace,
                                   const struct lull_wait_place *place)
{
    if (place->in_mpi)
        return "(MPI itself)";
    if (place->region < trace->n_regions)
        return trace->regions[place->region].name;
    return place->region == LULL_WAIT_ELSEWHERE ? "(elsewhere)" : "(no region)";
}

static const char *call_of(const struct lull_trace *trace, uint32_t call, struct lull_arena *arena)
{
    if (call >= trace->n_regions)
        return "";
    const struct lull_region *region = &trace->regions[call];
    return *region->site ? lull_arena_printf(arena, "%s, %s", region->name, region->site)
                         : region->name;
}

static double share_of(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static const char *thread_of_location(const struct lull_trace *trace, uint32_t location,
                                      struct lull_arena *arena)
{
    return location < trace->n_locations
               ? lull_arena_printf(arena, "%u", trace->locations[location].number)
               : "";
}

/* Whether the threads that were late are known. */
static bool has_threads(const struct lull_wait_result *waits)
{
    for (uint32_t i = 0; i < waits->n_charges; i++)
        if (waits->charges[i].place.thread != LULL_NONE)
            return true;
    return false;
}

/* Whether threads wait for others of their process. */
static bool threads_wait(const struct lull_wait_result *waits)
{
    for (uint32_t i = 0; i < waits->n_charges; i++)
        if (waits->charges[i].kind >= LULL_WAIT_MPI_KINDS)
            return true;
    return false;
}

static const char *id_of(const char *rank, const char *thread, const char *region, const char *call,
                         const char *kind, struct lull_arena *arena)
{
    return *thread ? lull_arena_printf(arena, "%s.%s/%s/%s/%s", rank, thread, region, call, kind)
                   : lull_arena_printf(arena, "%s/%s/%s/%s", rank, region, call, kind);
}

/* Adds a row for a charge; `threads` says whether there is a column for threads. */
static void add_charge(struct lull_table *table, const struct lull_run *run,
                       const struct lull_wait_charge *charge, bool threads,
                       struct lull_arena *arena)
{
    const struct lull_trace *trace = run->trace;
    const struct lull_wait_place *place = &charge->place;
    const struct lull_location *waited = &trace->locations[charge->longest.location];
    const char *rank = rank_of(trace, place->process, arena);
    const char *region = region_of_place(trace, place), *call = call_of(trace, place->call, arena);
    const char *kind = lull_wait_kind_name(charge->kind);
    const char *thread = thread_of_location(trace, place->thread, arena);
    const char *waiter = rank_of(trace, waited->process, arena);
    const uint32_t row =
        lull_table_row(table, id_of(rank, thread, region, call, kind, arena), rank, LULL_NO_ROW);
    uint32_t column = 0;
    if (threads)
        lull_table_set(table, row, column++, lull_cell_text(thread));
    if (place->thread != LULL_NONE)
        waiter = lull_arena_printf(arena, "%s.%u", waiter, waited->number);
    lull_table_set(table, row, column++, lull_cell_text(region));
    lull_table_set(table, row, column++, lull_cell_text(call));
    lull_table_set(table, row, column++, lull_cell_text(kind));
    lull_table_set(table, row, column++, lull_cell_time(charge->ns));
    lull_table_set(table, row, column++,
                   lull_cell_share(share_of(charge->ns, run->waits->waited_ns)));
    lull_table_set(table, row, column++, lull_cell_time(charge->passed_ns));
    lull_table_set(table, row, column++, lull_cell_count(charge->waits));
    lull_table_set(table, row, column++, lull_cell_time(charge->longest.ns));
    lull_table_set(table, row, column++, lull_cell_text(waiter));
    lull_table_set(table, row, column++, lull_cell_time(charge->longest.begin));
}

static void add_rest(struct lull_table *table, const struct lull_wait_result *waits, uint32_t from,
                     bool threads, struct lull_arena *arena)
{
    struct lull_wait_charge rest = {0};
    for (uint32_t i = from; i < waits->n_charges; i++) {
        rest.ns += waits->charges[i].ns;
        rest.passed_ns += waits->charges[i].passed_ns;
        rest.waits += waits->charges[i].waits;
    }
    const char *label = lull_arena_printf(arena, "(%u others)", waits->n_charges - from);
    const uint32_t row = lull_table_row(table, "others", label, LULL_NO_ROW);
    lull_table_set(table, row, threads + 3u, lull_cell_time(rest.ns));
    lull_table_set(table, row, threads + 4u, lull_cell_share(share_of(rest.ns, waits->waited_ns)));
    lull_table_set(table, row, threads + 5u, lull_cell_time(rest.passed_ns));
    lull_table_set(table, row, threads + 6u, lull_cell_count(rest.waits));
}

/* Adds the first `shown` charges, and the others as one row. */
static void add_charges(struct lull_document *document, const char *what, const char *title,
                        const struct lull_run *run, uint32_t shown, struct lull_arena *arena)
{
    static const char *const columns[][2] = {
        {"region", "was long in"},  {"call", "until its call"},   {"kind", "kind of wait"},
        {"time", "others\nwaited"}, {"share", "share"},           {"passed", "of that\npassed on"},
        {"waits", "waits"},         {"longest", "longest\nwait"}, {"longest_rank", "of\nrank"},
        {"longest_begin", "from"}};
    struct lull_table *table =
        lull_document_table(document, lull_arena_printf(arena, "%s:%s", what, run->name),
                            lull_arena_printf(arena, "%s %s", title, run->name), LULL_BY_COLUMN);
    const bool threads = has_threads(run->waits);
    lull_table_corner(table, "Rank");
    if (threads)
        lull_table_column(table, "thread", "thread");
    lull_table_names(table);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        lull_table_column(table, columns[i][0], columns[i][1]);
    for (uint32_t i = 0; i < shown; i++)
        add_charge(table, run, &run->waits->charges[i], threads, arena);
    if (shown < run->waits->n_charges)
        add_rest(table, run->waits, shown, threads, arena);
}

static bool has_more(const struct lull_run *run)
{
    return run->waits && run->waits->n_charges > MOST_CHARGES + 1;
}

/* ---- where the time in MPI went -------------------------------------------------------------- */

static void set_location(struct lull_table *table, uint32_t row,
                         const struct lull_wait_location *sums)
{
    lull_table_set(table, row, 0, lull_cell_time(sums->mpi_ns));
    for (unsigned k = 0; k < LULL_WAIT_MPI_KINDS; k++)
        lull_table_set(table, row, 1 + k, lull_cell_time(sums->waited_ns[k]));
    lull_table_set(table, row, 1 + LULL_WAIT_MPI_KINDS, lull_cell_time(sums->transfer_ns));
    lull_table_set(table, row, 2 + LULL_WAIT_MPI_KINDS, lull_cell_time(sums->unmatched_ns));
}

static void add_location(struct lull_wait_location *sums, const struct lull_wait_location *more)
{
    sums->mpi_ns += more->mpi_ns;
    for (unsigned k = 0; k < LULL_WAIT_MPI_KINDS; k++)
        sums->waited_ns[k] += more->waited_ns[k];
    sums->transfer_ns += more->transfer_ns;
    sums->unmatched_ns += more->unmatched_ns;
}

static void add_processes(struct lull_document *document, const struct lull_run *run,
                          struct lull_arena *arena)
{
    const struct lull_trace *trace = run->trace;
    struct lull_wait_location all = {0};
    struct lull_table *table = lull_document_table(
        document, lull_arena_printf(arena, "mpi_time:%s", run->name),
        lull_arena_printf(arena, "Time of %s in MPI: waits for others, transfer, and the rest",
                          run->name),
        LULL_BY_COLUMN);
    lull_table_corner(table, "Rank");
    lull_table_column(table, "mpi", "in MPI");
    for (unsigned k = 0; k < LULL_WAIT_MPI_KINDS; k++) {
        const char *name = lull_wait_kind_name(k);
        char *heading = lull_arena_strdup(arena, name), *blank = strchr(heading, ' ');
        if (blank)
            *blank = '\n';
        lull_table_column(table, name, heading);
    }
    lull_table_column(table, "transfer", "transfer");
    lull_table_column(table, "unmatched", "not\nmatched");
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        if (trace->processes[p].n_locations == 0)
            continue;
        struct lull_wait_location sums = {0};
        const char *rank = rank_of(trace, p, arena);
        for (uint32_t t = 0; t < trace->processes[p].n_threads; t++)
            add_location(&sums, &run->waits->locations[trace->processes[p].first_location + t]);
        if (sums.mpi_ns == 0)
            continue;
        set_location(table, lull_table_row(table, rank, rank, LULL_NO_ROW), &sums);
        add_location(&all, &sums);
    }
    lull_table_rule(table);
    set_location(table, lull_table_row(table, "all", "all", LULL_NO_ROW), &all);
}

/* ---- where the time of threads that wait for each other went --------------------------------- */

static void set_thread(struct lull_table *table, uint32_t row,
                       const struct lull_wait_location *sums)
{
    uint32_t column = 0;
    lull_table_set(table, row, column++, lull_cell_time(sums->threads_ns));
    for (unsigned k = LULL_WAIT_MPI_KINDS; k < LULL_WAIT_KINDS; k++)
        lull_table_set(table, row, column++, lull_cell_time(sums->waited_ns[k]));
    lull_table_set(table, row, column, lull_cell_time(sums->threads_rest_ns));
}

static void add_threads(struct lull_document *document, const struct lull_run *run,
                        struct lull_arena *arena)
{
    const struct lull_trace *trace = run->trace;
    struct lull_wait_location all = {0};
    struct lull_table *table = lull_document_table(
        document, lull_arena_printf(arena, "thread_time:%s", run->name),
        lull_arena_printf(arena, "Time of threads of %s in barriers, joins and for locks",
                          run->name),
        LULL_BY_COLUMN);
    lull_table_corner(table, "Thread");
    lull_table_column(table, "all", "in all");
    lull_table_column(table, lull_wait_kind_name(LULL_WAIT_THREAD_BARRIER),
                      "for the last\nat a "
                      "barrier");
    lull_table_column(table, lull_wait_kind_name(LULL_WAIT_LOCK), "for who\nhas a lock");
    lull_table_column(table, lull_wait_kind_name(LULL_WAIT_THREAD_JOIN),
                      "for the end\nof a thread");
    lull_table_column(table, "rest", "for nobody,\nor not told");
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct lull_wait_location *sums = &run->waits->locations[l];
        const struct lull_location *location = &trace->locations[l];
        if (sums->threads_ns == 0)
            continue;
        const char *name = lull_arena_printf(
            arena, "%s.%u", rank_of(trace, location->process, arena), location->number);
        set_thread(table, lull_table_row(table, name, name, LULL_NO_ROW), sums);
        all.threads_ns += sums->threads_ns;
        all.threads_rest_ns += sums->threads_rest_ns;
        for (unsigned k = LULL_WAIT_MPI_KINDS; k < LULL_WAIT_KINDS; k++)
            all.waited_ns[k] += sums->waited_ns[k];
    }
    lull_table_rule(table);
    set_thread(table, lull_table_row(table, "all", "all", LULL_NO_ROW), &all);
}

static bool uses_mpi(const struct lull_run *run)
{
    for (uint32_t l = 0; l < run->trace->n_locations; l++)
        if (run->waits->locations[l].mpi_ns > 0)
            return true;
    return false;
}

/* ---- calls that wait for devices, and devices that wait -------------------------------------- */

static const struct device_waits_of {
    uint32_t of_device; /* as in struct lull_device_charge */
    const char *id, *all_id, *title, *all_title, *corner;
    const char *sums_id, *sums_corner;
} device_waits[] = {
    {0, "device_waits", "all_device_waits", "What kept calls that wait for devices",
     "All that kept calls that wait for devices", "Call", "device_wait_time", "Thread"},
    {1, "device_gaps", "all_device_gaps", "What kept devices that ran nothing",
     "All that kept devices that ran nothing", "Next operation", "device_gap_time", "Stream"}};
enum { DEVICE_WAITS = sizeof device_waits / sizeof *device_waits };

static uint32_t count_device_charges(const struct lull_run *run, const struct device_waits_of *of)
{
    uint32_t n = 0;
    for (uint32_t i = 0; run->waits && i < run->waits->n_device_charges; i++)
        n += run->waits->device_charges[i].of_device == of->of_device;
    return n;
}

static const char *name_of_region(const struct lull_trace *trace, uint32_t region)
{
    return region < trace->n_regions ? trace->regions[region].name : "";
}

/* The columns; `awaited` is the first name of the row of a device. */
enum { DEVICE_NAMES = 8, DEVICE_TIMES = 6 };
static const char *const device_wait_columns[DEVICE_NAMES + DEVICE_TIMES][2] = {
    {"awaited", "for"},
    {"cause", "kept by"},
    {"operation", "of operation"},
    {"stream", "on rank,\nstream"},
    {"submit", "submitted by"},
    {"thread", "in\nthread"},
    {"region", "which was in"},
    {"other", "for\nrank"},
    {"time", "waited"},
    {"share", "share"},
    {"waits", "waits"},
    {"longest", "longest\nwait"},
    {"longest_of", "of"},
    {"longest_begin", "from"}};

/* "1.0", by rank and number within it; "" for LULL_NONE. */
static const char *name_of_location(const struct lull_trace *trace, uint32_t location,
                                    struct lull_arena *arena)
{
    if (location >= trace->n_locations)
        return "";
    const struct lull_location *of = &trace->locations[location];
    return lull_arena_printf(arena, "%s.%u", rank_of(trace, of->process, arena), of->number);
}

static void set_device_times(struct lull_table *table, uint32_t row, uint32_t column,
                             const struct lull_device_charge *charge, int64_t all)
{
    lull_table_set(table, row, column, lull_cell_time(charge->ns));
    lull_table_set(table, row, column + 1, lull_cell_share(share_of(charge->ns, all)));
    lull_table_set(table, row, column + 2, lull_cell_count(charge->waits));
}

static void add_device_charge(struct lull_table *table, const struct lull_run *run,
                              const struct lull_device_charge *charge, int64_t all,
                              struct lull_arena *arena)
{
    const struct lull_trace *trace = run->trace;
    const char *call = call_of(trace, charge->call, arena);
    const char *const names[DEVICE_NAMES] = {
        name_of_region(trace, charge->awaited),
        lull_device_cause_name(charge->cause),
        name_of_region(trace, charge->operation),
        name_of_location(trace, charge->stream, arena),
        call_of(trace, charge->submit, arena),
        name_of_location(trace, charge->thread, arena),
        call_of(trace, charge->region, arena),
        charge->other == LULL_NONE ? "" : rank_of(trace, charge->other, arena)};
    const char *id =
        lull_arena_printf(arena, "%s/%s/%s/%s/%s/%s/%s/%s/%s", call, names[0], names[1], names[2],
                          names[3], names[4], names[5], names[6], names[7]);
    const char *label = charge->of_device ? names[0] : call;
    const uint32_t row = lull_table_row(table, id, *label ? label : "(not known)", LULL_NO_ROW);
    uint32_t column = 0;
    for (uint32_t name = charge->of_device; name < DEVICE_NAMES; name++)
        lull_table_set(table, row, column++, lull_cell_text(names[name]));
    set_device_times(table, row, column, charge, all);
    lull_table_set(table, row, column + 3, lull_cell_time(charge->longest.ns));
    lull_table_set(table, row, column + 4,
                   lull_cell_text(name_of_location(trace, charge->longest.location, arena)));
    lull_table_set(table, row, column + 5, lull_cell_time(charge->longest.begin));
}

/* Adds the first `shown` charges, and the others as one row. */
static void add_device_charges(struct lull_document *document, const struct device_waits_of *of,
                               const struct lull_run *run, bool is_whole, struct lull_arena *arena)
{
    const struct lull_wait_result *waits = run->waits;
    const uint32_t n = count_device_charges(run, of);
    const uint32_t most = is_whole || n <= MOST_CHARGES + 1 ? n : MOST_CHARGES;
    struct lull_device_charge rest = {0};
    int64_t all = 0;
    uint32_t shown = 0;
    struct lull_table *table =
        lull_table_of_parts(document, is_whole ? of->all_id : of->id,
                            is_whole ? of->all_title : of->title, of->corner, run, arena);
    lull_table_names(table);
    for (size_t i = of->of_device; i < DEVICE_NAMES + DEVICE_TIMES; i++)
        lull_table_column(table, device_wait_columns[i][0], device_wait_columns[i][1]);
    for (uint32_t i = 0; i < waits->n_device_charges; i++)
        all +=
            waits->device_charges[i].of_device == of->of_device ? waits->device_charges[i].ns : 0;
    for (uint32_t i = 0; i < waits->n_device_charges; i++) {
        const struct lull_device_charge *charge = &waits->device_charges[i];
        if (charge->of_device != of->of_device)
            continue;
        if (shown++ < most) {
            add_device_charge(table, run, charge, all, arena);
            continue;
        }
        rest.ns += charge->ns;
        rest.waits += charge->waits;
    }
    if (most < n) {
        const char *label = lull_arena_printf(arena, "(%u others)", n - most);
        set_device_times(table, lull_table_row(table, "others", label, LULL_NO_ROW),
                         DEVICE_NAMES - of->of_device, &rest, all);
    }
}

static int64_t set_device_sums(struct lull_table *table, const char *name, const int64_t *ns)
{
    int64_t all = 0;
    for (unsigned cause = 0; cause < LULL_DEVICE_CAUSES; cause++)
        all += ns[cause];
    if (all == 0)
        return 0;
    const uint32_t row = lull_table_row(table, name, name, LULL_NO_ROW);
    lull_table_set(table, row, 0, lull_cell_time(all));
    for (unsigned cause = 0; cause < LULL_DEVICE_CAUSES; cause++)
        lull_table_set(table, row, 1 + cause, lull_cell_time(ns[cause]));
    return all;
}

static void add_device_sums(struct lull_document *document, const struct device_waits_of *of,
                            const struct lull_run *run, struct lull_arena *arena)
{
    const struct lull_trace *trace = run->trace;
    int64_t all[LULL_DEVICE_CAUSES] = {0};
    struct lull_table *table = lull_document_table(
        document, lull_arena_printf(arena, "%s:%s", of->sums_id, run->name),
        of->of_device
            ? lull_arena_printf(arena,
                                "Time in which devices of %s ran nothing, by the stream of "
                                "their next operation",
                                run->name)
            : lull_arena_printf(arena, "Time of threads of %s in calls that wait for devices",
                                run->name),
        LULL_BY_COLUMN);
    lull_table_corner(table, of->sums_corner);
    lull_table_column(table, "all", "in all");
    for (unsigned cause = 0; cause < LULL_DEVICE_CAUSES; cause++)
        lull_table_column(table, lull_device_cause_name(cause), lull_device_cause_name(cause));
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const int64_t *ns = run->waits->locations[l].device_ns;
        if ((trace->locations[l].kind == LULL_LOCATION_DEVICE) != (of->of_device == 1) ||
            set_device_sums(table, name_of_location(trace, l, arena), ns) == 0)
            continue;
        for (unsigned cause = 0; cause < LULL_DEVICE_CAUSES; cause++)
            all[cause] += ns[cause];
    }
    lull_table_rule(table);
    set_device_sums(table, "all", all);
}

static void note_of_unmatched(struct lull_document *document, const struct lull_run *run)
{
    const struct lull_wait_result *waits = run->waits;
    if (waits->unmatched_operations > 0)
        lull_document_note(document, LULL_NOTE_INFO,
                           "%s: of %" PRIu64
                           " receives and collective operations the trace has no sender or not all "
                           "members; what they waited for is not known.",
                           run->name, waits->unmatched_operations);
    if (waits->unmatched_sends > 0)
        lull_document_note(document, LULL_NOTE_INFO,
                           "%s: %" PRIu64 " messages have no receive in the trace.", run->name,
                           waits->unmatched_sends);
}

void lull_tables_by_wait(struct lull_document *document, const struct lull_runs *runs,
                         struct lull_arena *arena)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_run *run = &runs->runs[i];
        const struct lull_wait_result *waits = run->waits;
        if (!waits) {
            lull_document_note(document, LULL_NOTE_INFO,
                               "%s has no waits: they need events, and there are sums only.",
                               run->name);
        } else if (waits->absent) {
            lull_document_note(document, LULL_NOTE_INFO, "%s has no waits: %s.", run->name,
                               waits->absent);
        } else if (waits->waited_ns == 0) {
            lull_document_note(document, LULL_NOTE_INFO,
                               waits->n_device_charges > 0
                                   ? "%s: no process or thread waits for another one."
                                   : "%s has no waits: no process or thread waits for another one.",
                               run->name);
        } else {
            add_charges(document, "waits", "Who made others wait in", run,
                        has_more(run) ? MOST_CHARGES : waits->n_charges, arena);
            if (uses_mpi(run))
                add_processes(document, run, arena);
            if (threads_wait(waits))
                add_threads(document, run, arena);
            note_of_unmatched(document, run);
        }
        for (size_t of = 0; of < DEVICE_WAITS; of++)
            if (count_device_charges(run, &device_waits[of]) > 0) {
                add_device_charges(document, &device_waits[of], run, false, arena);
                add_device_sums(document, &device_waits[of], run, arena);
            }
    }
    lull_document_details(document);
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_run *run = &runs->runs[i];
        if (has_more(run))
            add_charges(document, "all_waits", "All who made others wait in", run,
                        run->waits->n_charges, arena);
        for (size_t of = 0; of < DEVICE_WAITS; of++)
            if (count_device_charges(run, &device_waits[of]) > MOST_CHARGES + 1)
                add_device_charges(document, &device_waits[of], run, true, arena);
    }
}

void lull_tables_of_charges(struct lull_document *document, const struct lull_runs *runs,
                            struct lull_arena *arena)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_run *run = &runs->runs[i];
        if (run->waits && !run->waits->absent && run->waits->waited_ns > 0)
            add_charges(document, "waits", "Who made others wait in", run,
                        has_more(run) ? MOST_CHARGES : run->waits->n_charges, arena);
    }
}

/* ==== code ==================================================================================== */

/* Functions, lines and loops by samples. */

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
    const double calls = (double)(of->mpi_ns + of->openmp_ns) / time_of_threads(breakdown);
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
    const double share = share_of(code->unsampled_ns, code->useful_ns);
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

/* ==== files =================================================================================== */

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
        sums[i] = memory_of(runs->runs[i].breakdown, arena);
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
