/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of waits: who made others wait, and where the time of each process in MPI went. */
#include "view/metrics/metrics_tables.h"

#include <inttypes.h>
#include <string.h>

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
