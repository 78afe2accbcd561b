/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/circumstances.h"

#include "base/text.h"
#include "sim/disturbance.h"
#include "trace/resources.h"
#include "trace/scan.h"

#include <string.h>

/* ==== disturbed on purpose ==================================================================== */

/* Whether delays were asked for and none came: the recorder defines their region with the first. */
static bool has_missed_delays(const struct lull_trace *trace, struct lull_arena *arena)
{
    struct lull_disturbance asked = lull_disturbance_none(arena, trace->disturbed_seed);
    if (lull_disturbance_add_lines(&asked, trace->disturbed, NULL) != LULL_OK ||
        asked.n_delays == 0)
        return false;
    for (uint32_t r = 0; r < trace->n_regions; r++)
        if (strcmp(trace->regions[r].name, "delay") == 0)
            return false;
    return true;
}

const char *lull_disturbed_describe(const struct lull_trace *trace, struct lull_arena *arena)
{
    if (!trace->disturbed)
        return NULL;
    char *specs = lull_arena_strdup(arena, trace->disturbed);
    for (char *end; (end = strchr(specs, '\n'));)
        *end = ' ';
    const char *text = lull_arena_printf(arena, "disturbed on purpose: %s (seed %llu)", specs,
                                         (unsigned long long)trace->disturbed_seed);
    if (has_missed_delays(trace, arena))
        text = lull_arena_printf(
            arena, "%s; no delay came, because no such moment or iteration did", text);
    if (trace->not_held > 0)
        text = lull_arena_printf(
            arena,
            "%s; %llu of %llu messages could not be held back, because it is not known when "
            "they were sent",
            text, (unsigned long long)trace->not_held,
            (unsigned long long)(trace->held + trace->not_held));
    return text;
}

/* ==== cores ================================================================================= */

const char *lull_cores_excuse(const struct lull_trace *trace, bool shorter,
                              struct lull_arena *arena)
{
    if (!shorter)
        return "";
    const struct lull_core_shortage shortage = lull_core_shortage_of(trace, LULL_NONE, arena);
    return shortage.threads > 0
               ? lull_arena_printf(arena,
                                   " Threads had no core for up to %.0f %% of the time: who waited "
                                   "for them waited for that, and no network explains it.",
                                   100 * shortage.worst_share)
               : "";
}

const char *lull_cores_describe(const struct lull_trace *trace, struct lull_arena *arena)
{
    const struct lull_core_shortage shortage = lull_core_shortage_of(trace, LULL_NONE, arena);
    const struct lull_location *worst = shortage.worst;
    uint32_t n_threads = 0;
    if (!worst)
        return NULL;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        n_threads += trace->processes[p].n_threads;
    const char *why =
        shortage.own > 0.5
            ? "the run has more threads than cores: waiting is not the program's alone"
        : shortage.others > 0.5
            ? "other programs had the cores: times tell of the machine rather than of the program"
            : "other programs had the cores, or the run has more threads than cores at times: "
              "times "
              "tell of the machine, too";
    return lull_arena_printf(
        arena,
        "%u of %u threads had no core for more than 5 %% of the time although they could have run,"
        " '%s' for %.0f %% (preempted %llu times, moved to another core %llu times), because %s",
        shortage.threads, n_threads, worst->name, 100 * shortage.worst_share,
        (unsigned long long)worst->cores.preempted, (unsigned long long)worst->cores.migrated, why);
}

/* ==== memory ================================================================================== */

static const char *size_text(uint64_t bytes, struct lull_arena *arena)
{
    char text[32];
    return lull_arena_strdup(arena, lull_format_size(bytes, text, sizeof text));
}

/* "4.40 GiB of 24.00 GiB on node n1 (18 %)". */
static const char *together_text(const struct lull_memory_sum *sum, const struct lull_trace *trace,
                                 struct lull_arena *arena)
{
    const double share = (double)sum->together / (double)sum->capacity;
    return lull_arena_printf(arena, "%s of %s %s%s (%.0f %%)", size_text(sum->together, arena),
                             size_text(sum->capacity, arena),
                             sum->is_limit ? "that their control group may have on " : "on ",
                             sum->node < trace->n_nodes ? trace->nodes[sum->node].name : "a node",
                             100 * share);
}

const char *lull_memory_describe(const struct lull_trace *trace, struct lull_arena *arena)
{
    const struct lull_memory_sum sum = lull_memory_sum_of(trace);
    if (sum.known == 0)
        return NULL;
    const char *text =
        lull_arena_printf(arena, "up to %s in a process", size_text(sum.largest, arena));
    if (trace->n_processes > 1)
        text = lull_arena_printf(arena, "%s (%s)", text, trace->processes[sum.of].name);
    if (sum.capacity > 0)
        text = lull_arena_printf(arena, "%s, %s%s", text,
                                 trace->n_processes > 1 ? "all together " : "",
                                 together_text(&sum, trace, arena));
    return sum.swapped > 0 ? lull_arena_printf(arena, "%s; %s were swapped out", text,
                                               size_text(sum.swapped, arena))
                           : text;
}

const char *lull_memory_warning(const struct lull_trace *trace, struct lull_arena *arena)
{
    const struct lull_memory_sum sum = lull_memory_sum_of(trace);
    const bool is_full = lull_memory_is_full(&sum);
    if (sum.known == 0 || (!is_full && sum.swapped == 0))
        return NULL;
    const char *text = sum.swapped > 0
                           ? lull_arena_printf(arena, "%s of its memory were swapped out",
                                               size_text(sum.swapped, arena))
                           : "";
    return is_full ? lull_arena_printf(arena, "%s%sthe peaks of its processes add up to %s", text,
                                       *text ? "; " : "", together_text(&sum, trace, arena))
                   : text;
}

/* ==== start-up ================================================================================ */

/* Where more processes are looked at, these are evenly spread over them. */
enum { MOST_LOOKED_AT = 256 };

/* A process that has not left MPI_Init by then begins with something else. */
enum { MOST_EVENTS = 1 << 16 };

#define LEAST_TOLD 0.1 /* of the runtime, to be told */

static bool is_init(const struct lull_region *region)
{
    return strcmp(region->name, "MPI_Init") == 0 || strcmp(region->name, "MPI_Init_thread") == 0;
}

bool lull_has_init(const struct lull_trace *trace)
{
    for (uint32_t r = 0; r < trace->n_regions; r++)
        if (is_init(&trace->regions[r]))
            return true;
    return false;
}

/* ---- the first events ------------------------------------------------------------------------ */

/* MPI_Init of one process. */
struct init {
    int64_t began, ended; /* ns; ended 0: not so far */
    uint32_t events;      /* that were looked at */
    bool wanted, open;
};

struct looking {
    const struct lull_trace *trace;
    struct init *inits; /* [n_processes] */
    uint32_t open;      /* processes that are wanted and neither left MPI_Init nor did much else */
};

/* Whether more events of the process are wanted. */
static bool look_at_event(const struct lull_trace *trace, struct init *init,
                          const struct lull_event *event)
{
    const bool is_region = event->kind == LULL_EVENT_ENTER || event->kind == LULL_EVENT_LEAVE ||
                           event->kind == LULL_EVENT_CALL;
    if (is_region && is_init(&trace->regions[event->id])) {
        if (event->kind != LULL_EVENT_LEAVE)
            init->began = event->time;
        if (event->kind != LULL_EVENT_ENTER)
            init->ended = event->time + (event->kind == LULL_EVENT_CALL ? event->duration : 0);
    }
    return init->ended == 0 && ++init->events < MOST_EVENTS;
}

static lull_status look_at_block(void *context, unsigned worker, const struct lull_block *block,
                                 struct lull_error *err)
{
    struct looking *looking = context;
    const uint32_t process = looking->trace->locations[block->location].process;
    struct init *init = &looking->inits[process];
    (void)worker;
    if (looking->trace->processes[process].first_location != block->location || !init->wanted ||
        !init->open)
        return LULL_OK;
    for (uint32_t i = 0; i < block->count && init->open; i++)
        init->open = look_at_event(looking->trace, init, &block->events[i]);
    looking->open -= !init->open;
    /* Nobody reports this: the scan has seen enough. */
    return looking->open > 0 ? LULL_OK : lull_fail(err, LULL_ERR_RANGE, "seen enough");
}

/* Reads a process until it has left MPI_Init. */
static void look_at_process(struct looking *looking, uint32_t process, uint64_t mask)
{
    const uint32_t location = looking->trace->processes[process].first_location;
    struct lull_cursor *cursor = NULL;
    struct lull_block block = {.count = 0};
    struct lull_error err;
    if (lull_cursor_open(looking->trace, location, mask, &cursor, &err) != LULL_OK)
        return;
    do {
        if (lull_cursor_next(cursor, &block, &err) != LULL_OK)
            break;
        block.location = location;
        look_at_block(looking, 0, &block, &err);
    } while (block.count > 0 && looking->inits[process].open);
    lull_cursor_close(cursor);
}

static void look(struct looking *looking)
{
    const struct lull_trace *trace = looking->trace;
    const uint64_t mask =
        LULL_MASK(LULL_EVENT_ENTER) | LULL_MASK(LULL_EVENT_LEAVE) | LULL_MASK(LULL_EVENT_CALL);
    const struct lull_visitor visitor = {.context = looking, .block = look_at_block};
    const struct lull_scan_options options = {
        .mask = mask, .application = LULL_NONE, .masters_only = true, .workers = 1};
    struct lull_error err;
    if (lull_trace_is_sequence(trace)) {
        lull_scan(trace, &options, &visitor, &err);
        return;
    }
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (looking->inits[p].wanted)
            look_at_process(looking, p, mask);
}

/* ---- what is told ---------------------------------------------------------------------------- */

/* The share of the masters' time that MPI's start, end and queries took. */
static double share_of_other(const struct lull_breakdown *breakdown)
{
    double other = 0, all = 0;
    for (uint32_t p = 0; p < breakdown->n_processes; p++) {
        const struct lull_thread_breakdown *master =
            &breakdown->threads[breakdown->processes[p].first_thread];
        other +=
            (double)(master->times.ns[LULL_MPI_OTHER][0] + master->times.ns[LULL_MPI_OTHER][1]);
        all += (double)breakdown->runtime_ns;
    }
    return all > 0 ? other / all : 0;
}

/* Chooses the processes of the application that are looked at. */
static void choose_processes(struct looking *looking, uint32_t application)
{
    const struct lull_trace *trace = looking->trace;
    uint32_t n = 0, seen = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        n += trace->processes[p].application == application;
    const uint32_t most = n < MOST_LOOKED_AT ? n : MOST_LOOKED_AT;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        if (trace->processes[p].application != application)
            continue;
        if ((uint64_t)looking->open * n <= (uint64_t)seen * most) {
            looking->inits[p].wanted = looking->inits[p].open = true;
            looking->open++;
        }
        seen++;
    }
}

const char *lull_start_up_describe(const struct lull_run *run, uint32_t application,
                                   struct lull_arena *arena)
{
    const struct lull_trace *trace = run->trace;
    const double runtime = (double)run->breakdown->runtime_ns;
    if (run->main_part || run->life_ns || trace->events != LULL_EVENTS_ALL ||
        share_of_other(run->breakdown) < LEAST_TOLD || !lull_has_init(trace))
        return NULL;
    struct looking looking = {
        .trace = trace, .inits = lull_arena_zero(arena, trace->n_processes, sizeof *looking.inits)};
    choose_processes(&looking, application == LULL_NONE ? 0 : application);
    look(&looking);
    double sum = 0;
    int64_t end = INT64_MAX;
    uint32_t n = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct init *init = &looking.inits[p];
        if (init->ended == 0)
            continue;
        sum += (double)(init->ended - init->began);
        end = init->ended < end ? init->ended : end;
        n++;
    }
    if (n == 0 || sum / n < LEAST_TOLD * runtime || end >= trace->duration)
        return NULL;
    return lull_arena_printf(
        arena,
        "MPI_Init takes %.4g of %.4g s, which is start-up and counts as MPI here; runs that lull "
        "recorded are analysed without it: --window %.9g: leaves it out",
        1e-9 * sum / n, 1e-9 * runtime, 1e-9 * (double)end);
}
