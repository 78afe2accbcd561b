/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/top_document.h"

#include "base/text.h"
#include "trace/trace.h"
#include "view/metrics/metrics_tables.h"

#include <stdlib.h>
#include <string.h>

static const char in_no_call[] = "code of the program";

enum { LOOKED_PROCESSES = 5, LOOKED_REGIONS = 10, LOOKED_CALLS = 30 };

static const struct lull_trace *looked_trace(const struct lull_look *look)
{
    return look->all.runs[0].trace;
}

/* ---- how far it is --------------------------------------------------------------------------- */

static void add_looked_facts(struct lull_document *document, const struct lull_look *look)
{
    static const struct {
        const char *id, *label;
    } states[] = {[LULL_LIVING_UNKNOWN] = {"processes_elsewhere", "Processes of other nodes"},
                  [LULL_LIVING_RUNS] = {"processes_running", "Processes that run"},
                  [LULL_LIVING_STOPPED] = {"processes_stopped", "Processes that are stopped"},
                  [LULL_LIVING_OVER] = {"processes_ended", "Processes that have ended"}};
    lull_document_fact(document, "recorded", "Recorded", lull_cell_time(look->until));
    if (look->has_now && !look->is_over)
        lull_document_fact(document, "lag", "Since the last record",
                           lull_cell_time(look->now > look->until ? look->now - look->until : 0));
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (look->n_processes[i] > 0)
            lull_document_fact(document, states[i].id, states[i].label,
                               lull_cell_count(look->n_processes[i]));
    lull_document_fact(document, "reading", "Read and evaluated in",
                       lull_cell_time((int64_t)(1e9 * look->seconds)));
}

/* ---- trees ----------------------------------------------------------------------------------- */

/* The tree of the whole run, and that of the time since the last look as a second column. */
static void add_looked_trees(struct lull_document *document, const struct lull_look *look,
                             struct lull_arena *arena)
{
    struct lull_runs both = {.runs = lull_arena_zero(arena, 2, sizeof *both.runs), .count = 1};
    both.runs[0] = look->all.runs[0];
    if (look->lately.count > 0)
        both.runs[both.count++] = look->lately.runs[0];
    const bool hybrid = lull_runs_are_hybrid(&both);
    const bool additive = lull_choice_is_additive(LULL_CHOICE_USUAL, hybrid);
    lull_table_of_scheme(document, &both, lull_scheme_of(additive, hybrid), arena);
    if (lull_runs_have_devices(&both))
        lull_table_of_scheme(document, &both, LULL_SCHEME_DEVICE, arena);
}

/* ---- the largest ----------------------------------------------------------------------------- */

/* What is told of the time since the last look, where there was one. */
static const struct lull_run *latest_run(const struct lull_look *look)
{
    return look->lately.count > 0 ? &look->lately.runs[0] : &look->all.runs[0];
}

struct busy_process {
    uint32_t process;
    int64_t useful;
};

static int compare_busy(const void *a, const void *b)
{
    const struct busy_process *x = a, *y = b;
    if (x->useful != y->useful)
        return x->useful < y->useful ? 1 : -1;
    return (x->process > y->process) - (x->process < y->process);
}

/* The processes that compute longest: those for which others wait, as a rule. */
static void add_busy_processes(struct lull_document *document, const struct lull_look *look,
                               struct lull_arena *arena)
{
    const struct lull_breakdown *breakdown = latest_run(look)->breakdown;
    const uint32_t n = breakdown->n_processes;
    struct busy_process *busy = lull_arena_zero(arena, n + (size_t)1, sizeof *busy);
    for (uint32_t p = 0; p < n; p++) {
        const struct lull_process_breakdown *process = &breakdown->processes[p];
        busy[p].process = p;
        for (uint32_t t = 0; t < process->n_cpu_threads; t++) {
            const int64_t *ns = breakdown->threads[process->first_thread + t].times.ns[LULL_USEFUL];
            busy[p].useful += ns[0] + ns[1];
        }
    }
    if (n > 0)
        qsort(busy, n, sizeof *busy, compare_busy);
    struct lull_table *table = lull_document_table(
        document, "processes",
        look->lately.count > 0 ? "Processes that computed most since the last look"
                               : "Processes that have computed most",
        LULL_BY_COLUMN);
    lull_table_corner(table, "Process");
    const uint32_t useful = lull_table_column(table, "useful", "useful"),
                   share = lull_table_column(table, "share", "of its time");
    for (uint32_t i = 0; i < n && i < LOOKED_PROCESSES; i++) {
        const struct lull_process_breakdown *process = &breakdown->processes[busy[i].process];
        const double all = (double)process->window_ns * process->n_cpu_threads;
        const uint32_t row = lull_table_row(table, lull_arena_printf(arena, "%u", process->rank),
                                            process->name, LULL_NO_ROW);
        lull_table_set(table, row, useful, lull_cell_time(busy[i].useful));
        if (all > 0)
            lull_table_set(table, row, share, lull_cell_share((double)busy[i].useful / all));
    }
}

static int compare_heavy(const void *a, const void *b)
{
    const struct lull_region_breakdown *x = *(const struct lull_region_breakdown *const *)a,
                                       *y = *(const struct lull_region_breakdown *const *)b;
    if (x->exclusive_ns != y->exclusive_ns)
        return x->exclusive_ns < y->exclusive_ns ? 1 : -1;
    return (x > y) - (x < y);
}

static void add_heavy_regions(struct lull_document *document, const struct lull_look *look,
                              struct lull_arena *arena)
{
    const struct lull_breakdown *breakdown = latest_run(look)->breakdown;
    const uint32_t n = breakdown->regions ? breakdown->n_regions : 0;
    const struct lull_region_breakdown **heavy =
        lull_arena_zero(arena, n + (size_t)1, sizeof *heavy);
    const double all = lull_time_of_threads(breakdown);
    for (uint32_t r = 0; r < n; r++)
        heavy[r] = &breakdown->regions[r];
    if (n == 0)
        return;
    qsort(heavy, n, sizeof *heavy, compare_heavy);
    struct lull_table *table =
        lull_document_table(document, "regions",
                            look->lately.count > 0 ? "Regions with most time since the last look"
                                                   : "Regions with most time",
                            LULL_BY_COLUMN);
    lull_table_corner(table, "Region");
    const uint32_t from = lull_table_column(table, "site", "called from"),
                   visits = lull_table_column(table, "visits", "visits"),
                   time = lull_table_column(table, "time", "time"),
                   share = lull_table_column(table, "share", "of all");
    for (uint32_t r = 0; r < n && r < LOOKED_REGIONS && heavy[r]->exclusive_ns > 0; r++) {
        const uint32_t row =
            lull_table_row(table, lull_arena_printf(arena, "%u", r), heavy[r]->name, LULL_NO_ROW);
        if (*heavy[r]->site)
            lull_table_set(table, row, from, lull_cell_text(heavy[r]->site));
        lull_table_set(table, row, visits, lull_cell_count(heavy[r]->visits));
        lull_table_set(table, row, time, lull_cell_time(heavy[r]->exclusive_ns));
        lull_table_set(table, row, share, lull_cell_share((double)heavy[r]->exclusive_ns / all));
    }
}

/* ---- where threads are now ------------------------------------------------------------------- */

/* Threads that are in one call, or in none (region LULL_NONE). */
struct gathered {
    uint32_t region, threads;
    uint32_t *ranks; /* of their processes, ascending, [n_ranks] */
    uint32_t n_ranks;
    int64_t since; /* when the first of them came */
    bool stopped;  /* one of these processes is stopped */
};

static int compare_locations_by_call(const void *a, const void *b)
{
    const struct lull_looked_call *x = a, *y = b;
    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    return (x->location > y->location) - (x->location < y->location);
}

static int compare_gathered(const void *a, const void *b)
{
    const struct gathered *x = a, *y = b;
    const bool in_none = x->region == LULL_NONE, others = y->region == LULL_NONE;
    if (in_none != others)
        return in_none ? 1 : -1;
    if (x->since != y->since)
        return x->since < y->since ? -1 : 1;
    return (x->region > y->region) - (x->region < y->region);
}

/* All threads that are in calls, and the first threads of processes that are in none. */
static uint32_t list_threads(const struct lull_look *look, struct lull_looked_call *threads)
{
    const struct lull_trace *trace = looked_trace(look);
    uint32_t n = look->n_calls;
    if (n > 0)
        memcpy(threads, look->calls, n * sizeof *threads);
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const uint32_t first = trace->processes[p].first_location;
        if (trace->processes[p].n_locations > 0 && look->living[p] != LULL_LIVING_OVER &&
            trace->locations[first].is_recorded && trace->locations[first].open_region == LULL_NONE)
            threads[n++] = (struct lull_looked_call){first, LULL_NONE, 0};
    }
    if (n > 0)
        qsort(threads, n, sizeof *threads, compare_locations_by_call);
    return n;
}

static const struct gathered *gather_threads(const struct lull_look *look, uint32_t *ret_count,
                                             struct lull_arena *arena)
{
    const struct lull_trace *trace = looked_trace(look);
    struct gathered *all =
        lull_arena_zero(arena, look->n_calls + trace->n_processes + (size_t)1, sizeof *all);
    struct lull_looked_call *threads =
        lull_arena_zero(arena, look->n_calls + trace->n_processes + (size_t)1, sizeof *threads);
    const uint32_t n = list_threads(look, threads);
    uint32_t count = 0;
    for (uint32_t t = 0; t < n; t++) {
        const uint32_t process = trace->locations[threads[t].location].process;
        const uint32_t rank = trace->processes[process].rank;
        struct gathered *last = count > 0 ? &all[count - 1] : NULL;
        if (!last || last->region != threads[t].region) {
            last = &all[count++];
            *last = (struct gathered){.region = threads[t].region, .since = threads[t].since};
            last->ranks = lull_arena_zero(arena, n - t, sizeof *last->ranks);
        }
        last->threads++;
        last->since = threads[t].since < last->since ? threads[t].since : last->since;
        last->stopped |= look->living[process] == LULL_LIVING_STOPPED;
        if (last->n_ranks == 0 || last->ranks[last->n_ranks - 1] != rank)
            last->ranks[last->n_ranks++] = rank;
    }
    if (count > 0)
        qsort(all, count, sizeof *all, compare_gathered);
    *ret_count = count;
    return all;
}

/* "0-3, 7"; many are cut short. */
static const char *list_ranks(const struct gathered *group, struct lull_arena *arena)
{
    enum { MOST_SPANS = 6 };
    const char *text = "";
    uint32_t spans = 0;
    for (uint32_t i = 0, last; i < group->n_ranks; i = last + 1) {
        for (last = i;
             last + 1 < group->n_ranks && group->ranks[last + 1] == group->ranks[last] + 1;)
            last++;
        const char *between = spans > 0 ? ", " : "";
        if (spans++ == MOST_SPANS)
            return lull_arena_printf(arena, "%s, ...", text);
        text = last == i ? lull_arena_printf(arena, "%s%s%u", text, between, group->ranks[i])
                         : lull_arena_printf(arena, "%s%s%u-%u", text, between, group->ranks[i],
                                             group->ranks[last]);
    }
    return text;
}

static void set_age(struct lull_table *table, uint32_t row, uint32_t since, uint32_t lasts,
                    const struct lull_look *look, int64_t begin)
{
    lull_table_set(table, row, since, lull_cell_time(begin));
    if (look->has_now && look->now >= begin)
        lull_table_set(table, row, lasts, lull_cell_time(look->now - begin));
}

/* Threads by the call that they are in, the one of which somebody has been in it longest first. */
static void add_gathered(struct lull_document *document, const struct lull_look *look,
                         struct lull_arena *arena)
{
    const struct lull_trace *trace = looked_trace(look);
    uint32_t n;
    const struct gathered *all = gather_threads(look, &n, arena);
    if (n == 0)
        return;
    struct lull_table *table =
        lull_document_table(document, "waiting", "Where threads are now", LULL_BY_COLUMN);
    lull_table_corner(table, "In");
    const uint32_t from = lull_table_column(table, "site", "called from"),
                   threads = lull_table_column(table, "threads", "threads"),
                   ranks = lull_table_column(table, "ranks", "ranks"),
                   since = lull_table_column(table, "since", "since"),
                   lasts = lull_table_column(table, "lasts", "for"),
                   stopped = lull_table_column(table, "process", "process");
    for (uint32_t g = 0; g < n && g < LOOKED_CALLS; g++) {
        const bool in_call = all[g].region != LULL_NONE;
        const struct lull_region *region = in_call ? &trace->regions[all[g].region] : NULL;
        const uint32_t row = lull_table_row(
            table, in_call ? lull_arena_printf(arena, "%u", all[g].region) : "program",
            in_call ? region->name : in_no_call, LULL_NO_ROW);
        if (in_call && *region->site)
            lull_table_set(table, row, from, lull_cell_text(region->site));
        lull_table_set(table, row, threads, lull_cell_count(all[g].threads));
        lull_table_set(table, row, ranks, lull_cell_text(list_ranks(&all[g], arena)));
        if (in_call)
            set_age(table, row, since, lasts, look, all[g].since);
        if (all[g].stopped)
            lull_table_set(table, row, stopped, lull_cell_text("stopped"));
    }
    if (n > LOOKED_CALLS)
        lull_document_note(document, LULL_NOTE_INFO, "Threads are in %u more calls.",
                           n - LOOKED_CALLS);
}

/* For programs: each thread by itself. */
static void add_open_calls(struct lull_document *document, const struct lull_look *look,
                           struct lull_arena *arena)
{
    const struct lull_trace *trace = looked_trace(look);
    if (look->n_calls == 0)
        return;
    lull_document_details(document);
    struct lull_table *table =
        lull_document_table(document, "calls", "Calls that have not returned", LULL_BY_COLUMN);
    lull_table_corner(table, "Thread");
    const uint32_t in = lull_table_column(table, "call", "in"),
                   from = lull_table_column(table, "site", "called from"),
                   state = lull_table_column(table, "process", "process"),
                   since = lull_table_column(table, "since", "since"),
                   lasts = lull_table_column(table, "lasts", "for");
    for (uint32_t c = 0; c < look->n_calls; c++) {
        const struct lull_looked_call *call = &look->calls[c];
        const struct lull_location *location = &trace->locations[call->location];
        const struct lull_region *region = &trace->regions[call->region];
        const uint32_t row = lull_table_row(
            table, lull_arena_printf(arena, "%u.%u", location->process, location->number),
            location->name, LULL_NO_ROW);
        lull_table_set(table, row, in, lull_cell_text(region->name));
        if (*region->site)
            lull_table_set(table, row, from, lull_cell_text(region->site));
        if (look->living[location->process] == LULL_LIVING_STOPPED)
            lull_table_set(table, row, state, lull_cell_text("stopped"));
        set_age(table, row, since, lasts, look, call->since);
    }
}

struct lull_document *lull_top_document(const struct lull_look *look, struct lull_arena *arena)
{
    struct lull_document *document = lull_document_create(arena, "lull-top/1", "");
    add_looked_facts(document, look);
    add_looked_trees(document, look, arena);
    add_busy_processes(document, look, arena);
    add_heavy_regions(document, look, arena);
    add_gathered(document, look, arena);
    if (look->n_processes[LULL_LIVING_STOPPED] > 0)
        lull_document_note(
            document, LULL_NOTE_INFO,
            "A stopped process goes on when it gets SIGCONT; others may wait for it.");
    add_open_calls(document, look, arena);
    return document;
}

/* ==== OpenMetrics ============================================================================= */

/* The lines that begin a family. Names end with their unit; "" is none. */
static void begin_family(FILE *out, const char *name, const char *unit, const char *help)
{
    fprintf(out, "# TYPE %s gauge\n", name);
    if (*unit)
        fprintf(out, "# UNIT %s %s\n", name, unit);
    fprintf(out, "# HELP %s %s\n", name, help);
}

/* A label of a sample. Control characters of its value are shown as in all outputs (base/text.h). */
static void put_sample_label(FILE *out, const char *before, const char *name, const char *value)
{
    char piece[LULL_UTF8_PIECE];
    fprintf(out, "%s%s=\"", before, name);
    while (*value) {
        const size_t length = lull_utf8_clean(&value, piece);
        for (size_t i = 0; i < length; i++) {
            if (piece[i] == '"' || piece[i] == '\\')
                fputc('\\', out);
            fputc(piece[i], out);
        }
    }
    fputc('"', out);
}

static void end_sample(FILE *out, double value)
{
    fprintf(out, "} %.12g\n", value);
}

static void write_time(const struct lull_top_metrics *metrics, const char *name, const char *help,
                       int64_t ns, FILE *out)
{
    begin_family(out, name, "seconds", help);
    fputs(name, out);
    put_sample_label(out, "{", "run", metrics->run);
    end_sample(out, 1e-9 * (double)ns);
}

static void write_states(const struct lull_top_metrics *metrics, FILE *out)
{
    static const char *const states[] = {[LULL_LIVING_UNKNOWN] = "elsewhere",
                                         [LULL_LIVING_RUNS] = "running",
                                         [LULL_LIVING_STOPPED] = "stopped",
                                         [LULL_LIVING_OVER] = "ended"};
    begin_family(out, "lull_processes", "", "Processes of the run by what they do.");
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        fputs("lull_processes", out);
        put_sample_label(out, "{", "run", metrics->run);
        put_sample_label(out, ",", "state", states[i]);
        end_sample(out, metrics->look->n_processes[i]);
    }
}

static void write_tree(const struct lull_top_metrics *metrics, const char *since,
                       const struct lull_run *run, FILE *out)
{
    for (int m = 0; m < lull_metric_count; m++) {
        if (run->values[m].absent)
            continue;
        fputs("lull_efficiency_ratio", out);
        put_sample_label(out, "{", "run", metrics->run);
        put_sample_label(out, ",", "metric", lull_metric_defs[m].id);
        put_sample_label(out, ",", "since", since);
        end_sample(out, run->values[m].value);
    }
}

static void write_threads(const struct lull_top_metrics *metrics, FILE *out)
{
    const struct lull_look *look = metrics->look;
    uint32_t n;
    const struct gathered *all = gather_threads(look, &n, metrics->arena);
    n = n < LOOKED_CALLS ? n : LOOKED_CALLS;
    for (int ages = 0; ages < 2; ages++) {
        const char *name = ages ? "lull_call_age_seconds" : "lull_threads";
        if (n == 0 || (ages && !look->has_now))
            continue;
        begin_family(out, name, ages ? "seconds" : "",
                     ages ? "For how long a thread has been in the call, of those that are in it."
                          : "Threads by the call that they are in.");
        for (uint32_t g = 0; g < n; g++) {
            const bool in_call = all[g].region != LULL_NONE;
            const struct lull_region *region =
                in_call ? &looked_trace(look)->regions[all[g].region] : NULL;
            if (ages && (!in_call || look->now < all[g].since))
                continue;
            fputs(name, out);
            put_sample_label(out, "{", "run", metrics->run);
            put_sample_label(out, ",", "call", in_call ? region->name : in_no_call);
            put_sample_label(out, ",", "site", in_call ? region->site : "");
            end_sample(out, ages ? 1e-9 * (double)(look->now - all[g].since) : all[g].threads);
        }
    }
}

void lull_top_write_metrics(const void *content, FILE *out)
{
    const struct lull_top_metrics *metrics = content;
    const struct lull_look *look = metrics->look;
    write_time(metrics, "lull_recorded_seconds", "How long the run is that has been recorded.",
               look->until, out);
    if (look->has_now && !look->is_over)
        write_time(metrics, "lull_lag_seconds", "The time since the last record.",
                   look->now > look->until ? look->now - look->until : 0, out);
    write_states(metrics, out);
    begin_family(out, "lull_efficiency_ratio", "ratio",
                 "POP efficiencies, as lull metrics has them.");
    write_tree(metrics, "start", &look->all.runs[0], out);
    if (look->lately.count > 0)
        write_tree(metrics, "last_look", &look->lately.runs[0], out);
    write_threads(metrics, out);
    fputs("# EOF\n", out);
}
