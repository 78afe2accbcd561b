/* SPDX-License-Identifier: BSD-3-Clause */
/* Making windows. Those of a region come from the visits that a pass over the masters tells. */
#include "metrics/windows.h"

#include "activity/pass.h"
#include "base/array.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static struct lull_windows *make_windows(uint32_t n_processes, struct lull_arena *arena)
{
    struct lull_windows *windows = lull_arena_zero(arena, 1, sizeof *windows);
    windows->n_processes = n_processes;
    windows->intervals = lull_arena_zero(arena, n_processes, sizeof(struct lull_interval *));
    windows->counts = lull_arena_zero(arena, n_processes, sizeof *windows->counts);
    return windows;
}

/* No such time: the message calls an end that was left open by its name. */
static lull_status no_such_time(const struct lull_trace *trace, int64_t from, int64_t to,
                                struct lull_error *err)
{
    char begin[48] = "the begin", end[48] = "the end";
    if (from > 0)
        snprintf(begin, sizeof begin, "%.9g s", 1e-9 * (double)from);
    if (to < INT64_MAX)
        snprintf(end, sizeof end, "%.9g s", 1e-9 * (double)to);
    return lull_fail(err, LULL_ERR_RANGE,
                     "%s: the window from %s to %s holds nothing of the run, which lasts %.9g s",
                     trace->path, begin, end, 1e-9 * (double)trace->duration);
}

lull_status lull_windows_of_time(const struct lull_trace *trace, int64_t from, int64_t to,
                                 struct lull_arena *arena, struct lull_windows **ret_windows,
                                 struct lull_error *err)
{
    struct lull_interval whole = {from > 0 ? from : 0, to < trace->duration ? to : trace->duration};
    if (whole.begin >= whole.end)
        return no_such_time(trace, from, to, err);
    struct lull_windows *windows = make_windows(trace->n_processes, arena);
    struct lull_interval *interval = lull_arena_alloc(arena, sizeof *interval);
    *interval = whole;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        windows->intervals[p] = interval;
        windows->counts[p] = 1;
    }
    *ret_windows = windows;
    return LULL_OK;
}

/* ---- windows of a region --------------------------------------------------------------------- */

/* The visits of a process, in order and apart from each other. */
struct visits {
    struct lull_interval *intervals;
    size_t count, capacity;
};

struct search {
    const struct lull_trace *trace;
    bool *wanted;          /* [n_regions] */
    struct visits *visits; /* [n_processes]; each is touched for its master alone */
};

/* Adds a visit, which is told when it ends. So the visits inside of it (of the same region, or of
 * another one with the same name) have come before, and become part of it. Visits that follow each
 * other without a gap become one interval. */
static bool add_visit(struct visits *visits, int64_t begin, int64_t end)
{
    if (begin >= end)
        return true;
    while (visits->count > 0 && visits->intervals[visits->count - 1].begin >= begin)
        visits->count--;
    if (visits->count > 0 && visits->intervals[visits->count - 1].end >= begin) {
        struct lull_interval *last = &visits->intervals[visits->count - 1];
        last->end = end > last->end ? end : last->end;
        return true;
    }
    if (!lull_array_reserve(&visits->intervals, &visits->capacity, visits->count + 1,
                            sizeof *visits->intervals))
        return false;
    visits->intervals[visits->count++] = (struct lull_interval){begin, end};
    return true;
}

static lull_status search_steps(void *context, unsigned worker, const struct lull_steps *steps,
                                struct lull_error *err)
{
    (void)worker;
    const struct search *search = context;
    struct visits *visits = &search->visits[search->trace->locations[steps->location].process];
    for (uint32_t i = 0; i < steps->count; i++) {
        const struct lull_step *step = &steps->steps[i];
        if (step->kind == LULL_STEP_VISIT && search->wanted[step->region] &&
            !add_visit(visits, step->time, step->visit.end))
            return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for the visits of a region");
    }
    return LULL_OK;
}

/* Edit distance without regard to case, of names cut at 63 characters. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[64];
    size_t n = strnlen(a, 63), m = strnlen(b, 63);
    for (size_t j = 0; j <= m; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            unsigned best = diagonal + !same;
            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            row[j] = best;
        }
    }
    return row[m];
}

enum { SUGGESTIONS = 3 };

/* Names that hold the wanted one come first, then those that are spelled alike. */
static unsigned unlikeness(const char *wanted, const char *name)
{
    unsigned edits = distance(wanted, name);
    if (strcasestr(name, wanted))
        return 0;
    return edits <= 2 + strlen(wanted) / 3 ? edits : UINT32_MAX;
}

static lull_status no_such_region(const struct lull_trace *trace, const char *name,
                                  struct lull_error *err)
{
    const char *best[SUGGESTIONS] = {0};
    unsigned scores[SUGGESTIONS] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    for (uint32_t i = 0; i < trace->n_regions; i++) {
        const char *candidate = trace->regions[i].name;
        unsigned score = unlikeness(name, candidate);
        bool known = strcmp(candidate, name) == 0;
        for (int k = 0; k < SUGGESTIONS && best[k]; k++)
            known |= strcmp(best[k], candidate) == 0;
        for (int k = 0; k < SUGGESTIONS && !known; k++) {
            if (score >= scores[k])
                continue;
            memmove(&best[k + 1], &best[k], (size_t)(SUGGESTIONS - 1 - k) * sizeof best[0]);
            memmove(&scores[k + 1], &scores[k], (size_t)(SUGGESTIONS - 1 - k) * sizeof scores[0]);
            best[k] = candidate;
            scores[k] = score;
            break;
        }
    }
    char similar[SUGGESTIONS * 80] = "";
    size_t used = 0;
    for (int k = 0; k < SUGGESTIONS && best[k]; k++)
        used += (size_t)snprintf(similar + used, sizeof similar - used, "%s'%.60s'",
                                 k ? ", " : "; similar names: ", best[k]);
    return lull_fail(err, LULL_ERR_RANGE, "%s: no master thread ever enters a region '%s'%s",
                     trace->path, name, similar);
}

static bool mark_wanted(const struct lull_trace *trace, const char *name, bool *wanted)
{
    bool any = false;
    for (uint32_t i = 0; i < trace->n_regions; i++) {
        wanted[i] = strcmp(trace->regions[i].name, name) == 0;
        any |= wanted[i];
    }
    return any;
}

static bool keep_visits(const struct search *search, struct lull_arena *arena,
                        struct lull_windows *windows)
{
    bool any = false;
    for (uint32_t p = 0; p < windows->n_processes; p++) {
        const struct visits *visits = &search->visits[p];
        size_t size = visits->count * sizeof *visits->intervals;
        windows->counts[p] = (uint32_t)visits->count;
        windows->intervals[p] = lull_arena_alloc(arena, size);
        if (size)
            memcpy(windows->intervals[p], visits->intervals, size);
        any |= visits->count > 0;
    }
    return any;
}

struct lull_process_range lull_pass_range(const struct lull_division *division)
{
    if (!division)
        return (struct lull_process_range){0, 0};
    const uint32_t own = lull_team_index(division->team);
    const uint32_t first = division->cuts[own], end = division->cuts[own + 1];
    if (first == end) /* none, not all */
        return (struct lull_process_range){UINT32_MAX, UINT32_MAX};
    return (struct lull_process_range){first, end};
}

/* Whether any member of the team has found something; told to all. */
static lull_status look_at_all(const struct lull_division *division, bool found, lull_status status,
                               bool *ret_any, struct lull_error *err)
{
    struct lull_team *team = lull_division_team(division);
    int64_t any = found;
    status = lull_team_agree(team, status, err);
    if (status == LULL_OK)
        status = lull_team_max_to_all(team, &any, 1, err);
    *ret_any = any;
    return status;
}

static lull_status run_search(struct search *search, const char *name,
                              const struct lull_division *division, struct lull_arena *arena,
                              struct lull_windows **ret_windows, struct lull_error *err)
{
    const struct lull_trace *trace = search->trace;
    if (!mark_wanted(trace, name, search->wanted))
        return no_such_region(trace, name, err);
    const struct lull_reading reading = {
        .application = LULL_NONE, .division = division, .range = lull_pass_range(division)};
    const struct lull_pass_options options = {
        .reading = &reading, .masters_only = true, .visits = search->wanted};
    const struct lull_consumer consumer = {
        .context = search, .wants = LULL_STEP_MASK(LULL_STEP_VISIT), .steps = search_steps};
    lull_status status = lull_pass_run(trace, &options, &consumer, 1, err);
    struct lull_windows *windows = make_windows(trace->n_processes, arena);
    bool any = keep_visits(search, arena, windows);
    status = look_at_all(division, any, status, &any, err);
    if (status != LULL_OK)
        return status;
    if (!any)
        return no_such_region(trace, name, err);
    *ret_windows = windows;
    return LULL_OK;
}

lull_status lull_windows_of_region(const struct lull_trace *trace, const char *name,
                                   const struct lull_division *division, struct lull_arena *arena,
                                   struct lull_windows **ret_windows, struct lull_error *err)
{
    struct search search = {
        .trace = trace,
        .wanted = calloc(trace->n_regions + (size_t)1, sizeof(bool)),
        .visits = calloc(trace->n_processes + (size_t)1, sizeof(struct visits)),
    };
    lull_status status = LULL_ERR_MEMORY;
    if (search.wanted && search.visits)
        status = run_search(&search, name, division, arena, ret_windows, err);
    else
        lull_fail(err, status, "not enough memory for windows");
    for (uint32_t p = 0; search.visits && p < trace->n_processes; p++)
        free(search.visits[p].intervals);
    free(search.visits);
    free(search.wanted);
    return status;
}

/* ---- intersection ---------------------------------------------------------------------------- */

static uint32_t intersect(const struct lull_interval *a, uint32_t n_a,
                          const struct lull_interval *b, uint32_t n_b, struct lull_interval *to)
{
    uint32_t n = 0;
    for (uint32_t i = 0, j = 0; i < n_a && j < n_b;) {
        int64_t begin = a[i].begin > b[j].begin ? a[i].begin : b[j].begin;
        int64_t end = a[i].end < b[j].end ? a[i].end : b[j].end;
        if (begin < end)
            to[n++] = (struct lull_interval){begin, end};
        if (a[i].end < b[j].end)
            i++;
        else
            j++;
    }
    return n;
}

struct lull_windows *lull_windows_intersect(const struct lull_windows *a,
                                            const struct lull_windows *b, struct lull_arena *arena)
{
    struct lull_windows *windows = make_windows(a->n_processes, arena);
    for (uint32_t p = 0; p < a->n_processes; p++) {
        size_t most = (size_t)a->counts[p] + b->counts[p];
        windows->intervals[p] = lull_arena_zero(arena, most, sizeof(struct lull_interval));
        windows->counts[p] = intersect(a->intervals[p], a->counts[p], b->intervals[p], b->counts[p],
                                       windows->intervals[p]);
    }
    return windows;
}

/* ---- readings of memory ---------------------------------------------------------------------- */

const struct lull_memory_reading *lull_windows_readings(const struct lull_windows *windows,
                                                        const struct lull_trace *trace,
                                                        uint32_t process, struct lull_arena *arena,
                                                        uint32_t *ret_count)
{
    const struct lull_process *of = &trace->processes[process];
    *ret_count = of->n_readings;
    if (!windows || of->n_readings == 0)
        return of->readings;
    struct lull_memory_reading *in = lull_arena_zero(arena, of->n_readings, sizeof *in);
    uint32_t n = 0, window = 0;
    for (uint32_t i = 0; i < of->n_readings; i++) {
        const int64_t time = of->readings[i].time;
        while (window < windows->counts[process] && windows->intervals[process][window].end < time)
            window++;
        if (window < windows->counts[process] && windows->intervals[process][window].begin <= time)
            in[n++] = of->readings[i];
    }
    *ret_count = n;
    return in;
}
