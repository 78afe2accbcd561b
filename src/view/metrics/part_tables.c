/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of the parts of a run: regions, call sites, processes, threads, files. */
#include "view/metrics/metrics_tables.h"

#include "study/critical_path.h"

#include <stdlib.h>
#include <string.h>

/* ==== regions ================================================================================= */

static int by_exclusive_time(const void *left, const void *right)
{
    const struct lull_region_breakdown *a = left, *b = right;
    if (a->exclusive_ns != b->exclusive_ns)
        return a->exclusive_ns < b->exclusive_ns ? 1 : -1;
    int order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->site, b->site);
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
    if (count > MANY_REGIONS &&
        (double)region->exclusive_ns / lull_time_of_threads(breakdown) < 0.0005)
        lull_table_row_minor(table, row, "below 0.05 % of the time");
}

/* Sets the columns that all tables of regions have, behind `first` columns of the caller's. */
static void set_region(struct lull_table *table, uint32_t row, uint32_t first,
                       const struct lull_region_breakdown *region,
                       const struct lull_breakdown *breakdown)
{
    double share = (double)region->exclusive_ns / lull_time_of_threads(breakdown);
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

/* What all processes did outside MPI, in ns. */
static int64_t time_outside_mpi(const struct lull_run *run)
{
    int64_t spent = 0;
    for (unsigned p = 0; p < run->path_parts->n_parts; p++)
        spent += run->ideal->spent[p];
    return spent;
}

/* How long a region is on the critical path, and how its share of the path compares with its share of `spent`, what all
 * processes did outside MPI. */
static void set_on_path(struct lull_table *table, uint32_t row, uint32_t first,
                        const struct lull_region_breakdown *region, const struct lull_run *run,
                        int64_t spent)
{
    const bool is_outside = region->name == outside_name;
    const unsigned part = is_outside ? 0 : lull_critical_part_of(run->path_parts, region->name);
    if (part == run->path_parts->n_parts || (is_outside && region->activity != LULL_USEFUL))
        return;
    const struct lull_ideal_result *ideal = run->ideal;
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
    const int64_t spent = with_path ? time_outside_mpi(run) : 0;
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
            set_on_path(table, row, 5, &regions[i], run, spent);
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

void lull_tables_by_callsite(struct lull_document *document, const struct lull_runs *runs,
                             struct lull_arena *arena)
{
    for (uint32_t i = 0; i < runs->count; i++)
        if (runs->runs[i].breakdown->regions)
            add_call_sites(document, &runs->runs[i], arena);
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

/* The most that a process had in each marked region: of all processes the one with most. */
static void add_memory_of_regions(struct lull_document *document, const struct lull_run *run,
                                  struct lull_arena *arena)
{
    const struct lull_trace *trace = run->trace;
    if (!trace || trace->n_region_memory == 0)
        return;
    struct lull_region_memory *all = lull_arena_zero(arena, trace->n_regions, sizeof *all);
    for (uint32_t i = 0; i < trace->n_region_memory; i++) {
        const struct lull_region_memory *one = &trace->region_memory[i];
        struct lull_region_memory *sum = &all[one->region];
        if (one->peak > sum->peak) {
            sum->process = one->process;
            sum->peak = one->peak;
        }
        sum->measured += one->measured;
        sum->visits += one->visits;
    }
    struct lull_table *table = lull_table_of_parts(
        document, "region_memory", "Memory of the process in marked regions", "Region", run, arena);
    lull_table_column(table, "memory", "most\nmemory");
    lull_table_column(table, "rank", "of\nrank");
    lull_table_column(table, "measured", "visits\nmeasured");
    lull_table_column(table, "visits", "visits");
    for (uint32_t r = 0; r < trace->n_regions; r++) {
        if (all[r].visits == 0)
            continue;
        const char *name = trace->regions[r].name;
        const uint32_t row = lull_table_row(table, name, name, LULL_NO_ROW);
        if (all[r].peak > 0) {
            lull_table_set(table, row, 0, lull_cell_bytes(all[r].peak));
            lull_table_set(table, row, 1, lull_cell_count(trace->processes[all[r].process].rank));
        }
        lull_table_set(table, row, 2, lull_cell_count(all[r].measured));
        lull_table_set(table, row, 3, lull_cell_count(all[r].visits));
    }
}

void lull_tables_by_region(struct lull_document *document, const struct lull_runs *runs,
                           struct lull_arena *arena)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        add_region_table(document, &runs->runs[i], arena);
        add_parallel_regions(document, &runs->runs[i], arena);
        add_memory_of_regions(document, &runs->runs[i], arena);
    }
}

/* ==== processes and threads =================================================================== */

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
        const bool has_memory = lull_memory_of_breakdown(breakdown, arena).known > 0;
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

static int compare_rank_of_process(const void *rank, const void *process)
{
    const uint32_t x = *(const uint32_t *)rank,
                   y = ((const struct lull_process_breakdown *)process)->rank;
    return (x > y) - (x < y);
}

/* What the system did for each thread of the breakdown, in its whole life; NULL: it is not known of any. */
static const struct lull_usage **usage_of_threads(const struct lull_run *run,
                                                  struct lull_arena *arena)
{
    const struct lull_trace *trace = run->trace;
    const struct lull_breakdown *breakdown = run->breakdown;
    const uint32_t application = lull_reading_of(run->reading)->application;
    const struct lull_usage **usage = lull_arena_zero(arena, breakdown->n_threads, sizeof *usage);
    bool any = false;
    for (uint32_t p = 0; trace && p < trace->n_processes; p++) {
        const struct lull_process *process = &trace->processes[p];
        const struct lull_process_breakdown *of =
            process->application != application && application != LULL_NONE
                ? NULL
                : bsearch(&process->rank, breakdown->processes, breakdown->n_processes,
                          sizeof *breakdown->processes, compare_rank_of_process);
        for (uint32_t i = 0; of && i < of->n_cpu_threads && i < process->n_locations; i++) {
            const struct lull_location *location = &trace->locations[process->first_location + i];
            const uint32_t t = of->first_thread + i;
            if (location->kind != LULL_LOCATION_THREAD ||
                location->number != breakdown->threads[t].number ||
                location->usage.user + location->usage.system == 0)
                continue;
            usage[t] = &location->usage;
            any = true;
        }
    }
    return any ? usage : NULL;
}

void lull_tables_by_thread(struct lull_document *document, const struct lull_runs *runs,
                           struct lull_arena *arena)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_breakdown *breakdown = runs->runs[i].breakdown;
        struct activities activities = activities_of(breakdown);
        struct lull_table *table =
            lull_table_of_parts(document, "threads", "Threads", "Thread", &runs->runs[i], arena);
        const struct lull_usage **usage = usage_of_threads(&runs->runs[i], arena);
        add_activity_columns(table, &activities);
        if (usage)
            lull_table_column(table, "faults", "page\nfaults");
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
            if (usage && usage[t])
                lull_table_set(table, row, activities.count + 1,
                               lull_cell_count(usage[t]->minor + usage[t]->major));
        }
    }
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
