/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules about threads and OpenMP parallel regions: locks, serial parts, uneven threads,
 * scheduling. */
#include "diagnose/rule.h"
#include "diagnose/rules.h"
#include "diagnose/where.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ==== the late thread ========================================================================= */

/* The one thread for which the other threads of its process wait, or threads of several processes that
 * have one number: of each process thread 1. */

struct late_thread {
    uint32_t
        location; /* of several the one that others waited for longest. LULL_NONE: no one thread and
                           no one number has LULL_SUSPECTS_MOST of the waits, or there are none */
    uint32_t processes; /* that have one */
    uint32_t region;    /* the region of the user in which most of these ns are */
    uint32_t call;      /* the call that ended the others' waits */
    int64_t ns;         /* that others waited for it, or for all of them */
};

/* The parallel region of that name, or NULL. */
static const struct lull_region *find_parallel(const struct lull_trace *trace, const char *name)
{
    for (uint32_t r = 0; r < trace->n_regions; r++)
        if (trace->regions[r].parallel && strcmp(trace->regions[r].name, name) == 0)
            return &trace->regions[r];
    return NULL;
}

/* Which charges are meant. */
struct question {
    const struct lull_trace *trace;
    unsigned kind;
    const struct lull_region *at; /* the parallel region that the barrier is in; NULL: any */
    uint32_t call;                /* the call that the waits end with; LULL_NONE: any */
};

static bool is_asked_for(const struct question *question, const struct lull_wait_charge *charge)
{
    const struct lull_trace *trace = question->trace;
    const struct lull_region *at = question->at;
    if (charge->kind != question->kind || charge->place.thread >= trace->n_locations ||
        (question->call != LULL_NONE && charge->place.call != question->call))
        return false;
    if (!at)
        return true;
    if (charge->parallel < trace->n_regions)
        return strcmp(trace->regions[charge->parallel].name, at->name) == 0;
    if (charge->place.call >= trace->n_regions || !*at->file || at->line == 0)
        return false;
    const struct lull_region *barrier = &trace->regions[charge->place.call];
    return barrier->line == at->line && strcmp(barrier->file, at->file) == 0;
}

static uint32_t number_in_process(const struct lull_trace *trace, uint32_t location)
{
    return location - trace->processes[trace->locations[location].process].first_location;
}

/* The location with most of the charges that are meant; LULL_NONE: none has most of them. *ret_ns:
 * its share. */
static uint32_t find_most(const struct lull_wait_result *waits, const struct question *question,
                          int64_t *ret_ns)
{
    struct lull_arena *scratch = lull_arena_create(NULL);
    int64_t *sums =
        lull_arena_zero(scratch, question->trace->n_locations + (size_t)1, sizeof *sums);
    int64_t total = 0;
    uint32_t most = LULL_NONE;
    *ret_ns = 0;
    for (uint32_t i = 0; i < waits->n_charges; i++) {
        const struct lull_wait_charge *charge = &waits->charges[i];
        if (!is_asked_for(question, charge))
            continue;
        total += charge->ns;
        sums[charge->place.thread] += charge->ns;
        if (sums[charge->place.thread] > *ret_ns) {
            most = charge->place.thread;
            *ret_ns = sums[most];
        }
    }
    lull_arena_destroy(scratch);
    return (double)*ret_ns >= LULL_SUSPECTS_MOST * (double)total ? most : LULL_NONE;
}

/* As find_most, of the threads with one number in their processes: the one of them with most charges.
 * *ret_processes: how many of them have a tenth of its charges or more. */
static uint32_t find_number_with_most(const struct lull_wait_result *waits,
                                      const struct question *question, int64_t *ret_ns,
                                      uint32_t *ret_processes)
{
    const struct lull_trace *trace = question->trace;
    struct lull_arena *scratch = lull_arena_create(NULL);
    int64_t *sums = lull_arena_zero(scratch, trace->n_locations + (size_t)1, sizeof *sums);
    int64_t *by_number = lull_arena_zero(scratch, trace->n_locations + (size_t)1, sizeof *sums);
    int64_t total = 0;
    uint32_t number = 0, most = LULL_NONE;
    for (uint32_t i = 0; i < waits->n_charges; i++) {
        const uint32_t thread = waits->charges[i].place.thread;
        if (!is_asked_for(question, &waits->charges[i]))
            continue;
        sums[thread] += waits->charges[i].ns;
        by_number[number_in_process(trace, thread)] += waits->charges[i].ns;
        total += waits->charges[i].ns;
    }
    for (uint32_t i = 1; i < trace->n_locations; i++)
        number = by_number[i] > by_number[number] ? i : number;
    *ret_ns = trace->n_locations > 0 ? by_number[number] : 0;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        if (number_in_process(trace, l) == number && sums[l] > (most == LULL_NONE ? 0 : sums[most]))
            most = l;
    *ret_processes = 0;
    for (uint32_t l = 0; l < trace->n_locations && most != LULL_NONE; l++)
        *ret_processes += number_in_process(trace, l) == number && 10 * sums[l] >= sums[most];
    lull_arena_destroy(scratch);
    return (double)*ret_ns >= LULL_SUSPECTS_MOST * (double)total ? most : LULL_NONE;
}

/* As find_most, for each call that waits end with by itself: the thread that others wait for
 * longest where it has most of a call's charges. The call goes to question->call. */
static uint32_t find_most_at_a_call(const struct lull_wait_result *waits, struct question *question,
                                    int64_t *ret_ns)
{
    struct lull_arena *scratch = lull_arena_create(NULL);
    const uint32_t n = question->trace->n_regions;
    bool *seen = lull_arena_zero(scratch, n + (size_t)1, sizeof *seen);
    uint32_t most = LULL_NONE, call = LULL_NONE;
    *ret_ns = 0;
    for (uint32_t i = 0; i < waits->n_charges; i++) {
        const uint32_t at = waits->charges[i].place.call;
        question->call = at;
        if (at >= n || seen[at] || !is_asked_for(question, &waits->charges[i]))
            continue;
        seen[at] = true;
        int64_t ns;
        const uint32_t late = find_most(waits, question, &ns);
        if (late == LULL_NONE || ns <= *ret_ns)
            continue;
        most = late;
        call = at;
        *ret_ns = ns;
    }
    lull_arena_destroy(scratch);
    question->call = call;
    return most;
}

/* The late thread among waits of a kind (enum lull_wait_kind). `parallel`: only waits at barriers
 * inside the OpenMP parallel region of that name, and where it is not known which one they are in
 * those that stand where it stands, by file and line; NULL: all. Where threads wait for each other
 * in turns, as those do that lose their cores now and then, a thread may still be the late one at
 * one of the barriers: it is named where its charges there are half of the loss, `lost_ns`. */
static struct late_thread late_thread_of(const struct lull_case *c, unsigned kind,
                                         const char *parallel, int64_t lost_ns)
{
    const struct late_thread nobody = {.location = LULL_NONE};
    const struct lull_wait_result *waits = c->evidence->waits;
    const struct lull_trace *trace = c->evidence->trace;
    struct late_thread late = nobody;
    if (!waits || waits->absent || !trace)
        return nobody;
    struct question question = {trace, kind, parallel ? find_parallel(trace, parallel) : NULL,
                                LULL_NONE};
    if (parallel && !question.at)
        return nobody;
    late.processes = 1;
    late.location = find_most(waits, &question, &late.ns);
    if (late.location == LULL_NONE)
        late.location = find_number_with_most(waits, &question, &late.ns, &late.processes);
    if (late.location == LULL_NONE) {
        late.processes = 1;
        late.location = find_most_at_a_call(waits, &question, &late.ns);
        if (late.location == LULL_NONE || 2 * late.ns < lost_ns)
            return nobody;
    }
    for (uint32_t i = 0; i < waits->n_charges; i++) { /* those with most ns come first */
        const struct lull_wait_charge *charge = &waits->charges[i];
        if (charge->place.thread != late.location || !is_asked_for(&question, charge))
            continue;
        late.region = charge->place.region;
        late.call = charge->place.call;
        return late;
    }
    return nobody;
}

/* " until it comes to !$omp barrier in solve (solve.c:20)", where that is another place than the
 * region. */
static const char *until_barrier(const struct lull_case *c, const struct late_thread *late)
{
    const struct lull_trace *trace = c->evidence->trace;
    if (late->call >= trace->n_regions || late->region >= trace->n_regions ||
        late->call == late->region || trace->regions[late->call].activity != LULL_OMP_SYNC)
        return "";
    return lull_arena_printf(c->arena, " until it comes to %s", lull_case_name(c, late->call));
}

/* The function in which the late thread computes longer in the parallel regions of that name than the other
 * threads of its process. False: samples do not say so. */
static bool where_late(struct lull_case *c, const struct late_thread *late, const char *parallel,
                       struct lull_where *ret_where)
{
    const struct lull_trace *trace = c->evidence->trace;
    const struct lull_process *process =
        &trace->processes[trace->locations[late->location].process];
    const struct lull_where_samples samples = {.parallel = parallel};
    uint32_t *peers = lull_arena_zero(c->arena, process->n_threads + (size_t)1, sizeof *peers);
    uint32_t n = 0;
    for (uint32_t t = 0; t < process->n_threads; t++)
        if (process->first_location + t != late->location &&
            trace->locations[process->first_location + t].kind == LULL_LOCATION_THREAD)
            peers[n++] = process->first_location + t;
    return lull_where_longer(c, &samples, late->location, peers, n, 0, ret_where);
}

/* Puts the thread into the place of a finding, and ends `cause` with who it is: "One ...; the others wait
 * 1.5 s for thread 2 of rank 0, which is in solve (solve.c:12)." Without a late thread `cause` ends with a
 * full stop. `what`: ", and what else is to be said of it", or "". */
static void late_thread_tell(struct lull_case *c, struct lull_finding *finding,
                             const struct late_thread *late, const char *cause, const char *what)
{
    const struct lull_trace *trace = c->evidence->trace;
    finding->cause = lull_arena_printf(c->arena, "%s.", cause);
    if (late->location == LULL_NONE)
        return;
    const struct lull_location *location = &trace->locations[late->location];
    const uint32_t rank = trace->processes[location->process].rank;
    if (late->processes == 1) {
        lull_finding_set_process(c, finding, location->process);
        finding->place.location = late->location;
    } else {
        finding->place.instance = location->process;
    }
    lull_finding_add_fact(finding, "late_thread", "waits for that thread", LULL_FACT_TIME,
                          (double)late->ns);
    finding->cause = lull_arena_printf(
        c->arena, "%s; the others wait %s for thread %u of %s, which is %s%s%s.", cause,
        lull_case_time(c, late->ns), location->number,
        late->processes == 1 ? lull_arena_printf(c->arena, "rank %u", rank)
                             : lull_arena_printf(c->arena, "%u ranks", late->processes),
        lull_case_where(c, late->region, late->call), until_barrier(c, late), what);
}

/* ==== parallel regions by name ================================================================ */

/* All parallel regions of one name. Sums over executions, threads and processes, ns. */
struct lull_parallels {
    const char *name;
    uint64_t executions;
    uint32_t threads; /* of the process with most */
    uint32_t rank;    /* the only process that has it; LULL_NONE: several have it */
    int64_t useful_ns, schedule_ns, lock_ns;
    int64_t imbalance_ns; /* what threads have less than the longest of their execution, if they
                             wait for it at barriers: who waited for a lock comes no earlier */
};

static int compare_names(const void *a, const void *b)
{
    const struct lull_parallel_breakdown *const *x = a, *const *y = b;
    const int order = strcmp((*x)->name, (*y)->name);
    return order ? order : (*x)->process < (*y)->process ? -1 : (*x)->process > (*y)->process;
}

static void add_parallel(struct lull_parallels *to, const struct lull_breakdown *breakdown,
                         const struct lull_parallel_breakdown *from)
{
    const struct lull_process_breakdown *process = &breakdown->processes[from->process];
    const int64_t threads = process->n_cpu_threads;
    to->executions += from->executions;
    to->threads = process->n_cpu_threads > to->threads ? process->n_cpu_threads : to->threads;
    to->useful_ns += from->useful_ns;
    to->schedule_ns += from->schedule_ns;
    to->lock_ns += from->lock_ns;
    const int64_t shorter = threads * from->max_useful_ns - from->useful_ns;
    to->imbalance_ns += shorter < from->sync_ns ? shorter : from->sync_ns;
}

/* In the order of their names. */
static uint32_t parallels_of(struct lull_case *c, struct lull_parallels **ret_parallels)
{
    const struct lull_breakdown *breakdown = c->evidence->breakdown;
    const uint32_t n = breakdown->n_parallels;
    const struct lull_parallel_breakdown **sorted =
        lull_arena_zero(c->arena, n + (size_t)1, sizeof *sorted);
    struct lull_parallels *all = lull_arena_zero(c->arena, n + (size_t)1, sizeof *all);
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = &breakdown->parallels[i];
    qsort(sorted, n, sizeof *sorted, compare_names);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t rank = breakdown->processes[sorted[i]->process].rank;
        if (count == 0 || strcmp(all[count - 1].name, sorted[i]->name) != 0)
            all[count++] = (struct lull_parallels){.name = sorted[i]->name, .rank = rank};
        add_parallel(&all[count - 1], breakdown, sorted[i]);
        if (all[count - 1].rank != rank)
            all[count - 1].rank = LULL_NONE;
    }
    *ret_parallels = all;
    return count;
}

static void parallels_set_process(struct lull_case *c, struct lull_finding *finding,
                                  const struct lull_parallels *parallels)
{
    const uint32_t process = parallels->rank == LULL_NONE
                                 ? LULL_NONE
                                 : lull_evidence_process_of_rank(c->evidence, parallels->rank);
    if (process != LULL_NONE)
        lull_finding_set_process(c, finding, process);
}

/* What a replay is to suppose of the threads: that a share of what they lose is gone. `region` may be
 * NULL. With nothing of it there is no fix. */
static void threads_fix(struct lull_case *c, struct lull_finding *finding,
                        enum lull_threads_change change, const char *region, double share)
{
    share = lull_fix_share(share);
    if (share <= 0) {
        finding->gain.absent = "All of it is time in which there was no core.";
        return;
    }
    struct lull_what_if_options *fix = lull_finding_fix(c, finding);
    fix->n_threads = 1;
    fix->threads[0] = (struct lull_what_if_threads){(uint8_t)change, region, share};
}

/* " It had no core for 200.0 ms of that time: this is not counted.", where a thread had one for `part` of
 * `useful` ns. */
static const char *thread_without_core(struct lull_case *c, struct lull_finding *finding,
                                       double part, double useful)
{
    if (1 - part < LULL_CORRECTED_LEAST)
        return "";
    lull_finding_add_fact(finding, "without_core",
                          "of the thread's useful time there without a core", LULL_FACT_TIME,
                          (1 - part) * useful);
    return lull_arena_printf(
        c->arena, " It had no core for %s of that time: what that costs is not in the price.",
        lull_case_time(c, (int64_t)((1 - part) * useful)));
}

/* ==== lock ==================================================================================== */

/* Threads wait for locks, critical sections and ordered.
 * Evidence: time of all threads in them. Formula: its sum; no more can be gained. Silent: below
 * 1 % of the core time, also where there are very many. Sums suffice; with
 * events the thread is named that has them four fifths of the time that others wait. */

enum { FUNCTIONS_LOCKED = 3, FUNCTIONS_SERIAL = 3 }; /* functions that are told */

/* ", and is 80 % of that time in update (a.c:30)": what threads do while they have a lock, where samples
 * say so. `location`: the one that has locks most of the time, or LULL_NONE: all. *ret_share: the share of
 * the function, where one is told; else 1. */
static const char *what_is_done_locked(struct lull_case *c, struct lull_finding *finding,
                                       uint32_t location, double *ret_share)
{
    const struct lull_trace *trace = c->evidence->trace;
    const struct lull_where_samples samples = {.locked = true};
    struct lull_where where[FUNCTIONS_LOCKED];
    *ret_share = 1;
    if (!trace)
        return "";
    uint32_t *locations =
        lull_arena_zero(c->arena, trace->n_locations + (size_t)1, sizeof *locations);
    uint32_t n = 0;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        if ((location == LULL_NONE || l == location) &&
            lull_evidence_has(c->evidence, trace->locations[l].process))
            locations[n++] = l;
    const uint32_t n_where = lull_where_spent(c, &samples, locations, n, FUNCTIONS_LOCKED, where);
    if (n_where == 0)
        return "";
    lull_where_set(c, finding, &where[0]);
    *ret_share = n_where == 1 ? where[0].share : 1;
    return lull_arena_printf(c->arena, ", and is %s",
                             lull_where_text(c, where, n_where, " of that time"));
}

static void find_lock(struct lull_case *c)
{
    const int64_t lost = lull_evidence_activity_ns(c->evidence, LULL_OMP_LOCK);
    struct lull_parallels *all;
    if (lost < c->least_ns)
        return;
    const uint32_t n = parallels_of(c, &all);
    const struct lull_parallels *most = NULL;
    for (uint32_t i = 0; i < n; i++)
        if (all[i].lock_ns > 0 && (!most || all[i].lock_ns > most->lock_ns))
            most = &all[i];
    const struct lull_region_breakdown *region =
        lull_evidence_region_of(c->evidence, LULL_OMP_LOCK);
    struct lull_finding *finding = lull_case_add(c, lost);
    if (most) {
        finding->place.region = most->name;
        parallels_set_process(c, finding, most);
    }
    if (region) {
        finding->place.site = *region->site ? region->site : region->name;
        lull_finding_add_fact(finding, "waits", "times that a lock was asked for", LULL_FACT_COUNT,
                              (double)region->visits);
    }
    finding->sentence = lull_arena_printf(
        c->arena, "Threads wait %s for locks, critical sections or their turn%s%s%s.",
        lull_case_time(c, lost), most ? ", most in " : "", most ? most->name : "",
        region ? lull_arena_printf(c->arena, " (%s)", region->name) : "");
    const struct late_thread late = late_thread_of(c, LULL_WAIT_LOCK, NULL, finding->lost_ns);
    double share;
    const char *done =
        what_is_done_locked(c, finding, late.processes == 1 ? late.location : LULL_NONE, &share);
    late_thread_tell(c, finding, &late,
                     lull_arena_printf(c->arena, "One thread at a time goes on there%s", done), "");
    threads_fix(c, finding, LULL_THREADS_NO_LOCKS, NULL, share);
}

const struct lull_rule lull_rule_lock = {
    "lock", "locks", "threads wait for locks, critical sections and ordered", find_lock};

/* ==== serial ================================================================================== */

/* One thread computes outside of parallel regions.
 * Evidence: useful time of the first thread outside parallel regions. Formula: (threads - 1) x that
 * of core time; the runtime divided by the serial time limits the speedup: G. Amdahl, Validity of
 * the single processor approach, AFIPS 1967. Silent: below 1 % of the core time, and for processes
 * of one thread. Sums suffice. */

/* The process whose serial part is longest, and what all lose by theirs. */
static int64_t find_serial(const struct lull_breakdown *breakdown, uint32_t *ret_process,
                           int64_t *ret_longest)
{
    int64_t lost = 0;
    *ret_longest = 0;
    *ret_process = 0;
    for (uint32_t p = 0; p < breakdown->n_processes; p++) {
        const struct lull_process_breakdown *process = &breakdown->processes[p];
        if (process->n_cpu_threads < 2)
            continue;
        const int64_t ns = breakdown->threads[process->first_thread].times.ns[LULL_USEFUL][0];
        lost += ns * (process->n_cpu_threads - 1);
        if (ns > *ret_longest) {
            *ret_longest = ns;
            *ret_process = p;
        }
    }
    return lost;
}

/* A region is of the serial part if so much of its time, with all that it calls, is serial. */
#define MOSTLY_SERIAL 0.9

/* The region whose time, with all that it calls, is serial and half of the serial part at least: the
 * one with most, or of those with about as much the smallest. A helper that parallel regions call,
 * too, is none, but where there is no other one: then it is told by its own time. LULL_NONE: there is
 * none. *ret_ns: the serial time there. */
static uint32_t region_of_serial(const struct lull_case *c, uint32_t process, int64_t serial,
                                 int64_t *ret_ns)
{
    const struct lull_work *work = c->evidence->work;
    const struct lull_work_place *holder = NULL, *most = NULL;
    if (!work || !c->evidence->trace || process == LULL_NONE)
        return LULL_NONE;
    const uint32_t first = lull_work_first(work, process), end = lull_work_first(work, process + 1);
    for (uint32_t i = first; i < end; i++) {
        const struct lull_work_place *place = &work->places[i];
        const double ns = (double)place->serial_inside_ns;
        if (!most || place->serial_ns > most->serial_ns)
            most = place;
        if (place->region == LULL_NONE || 2 * ns < (double)serial ||
            ns < MOSTLY_SERIAL * (double)place->inside_ns)
            continue;
        /* Of two, the smaller one, unless the larger one has clearly more. */
        const double known = holder ? (double)holder->serial_inside_ns : 0;
        if (!holder || (place->inside_ns < holder->inside_ns ? ns >= MOSTLY_SERIAL * known
                                                             : MOSTLY_SERIAL * ns > known))
            holder = place;
    }
    *ret_ns = holder ? holder->serial_inside_ns : most ? most->serial_ns : 0;
    return holder ? holder->region : most && 2 * *ret_ns >= serial ? most->region : LULL_NONE;
}

/* "300 ms, in 20 pieces, between !$omp parallel (a.c:20) and MPI_Allreduce (a.c:30)", if half of it
 * is between the same two, which become the place of a finding without one; else NULL. */
static const char *between_what(struct lull_case *c, struct lull_finding *finding, uint32_t process,
                                int64_t serial)
{
    const struct lull_work *work = c->evidence->work;
    const struct lull_work_serial *longest = work && c->evidence->trace && process != LULL_NONE
                                                 ? lull_work_longest_serial(work, process)
                                                 : NULL;
    if (!longest || 2 * longest->ns < serial)
        return NULL;
    const char *after = lull_case_name(c, longest->after);
    const char *before = lull_case_name(c, longest->before);
    if (!after && !before)
        return NULL;
    if (!finding->place.region)
        lull_finding_set_region(c, finding, LULL_NONE, before ? longest->before : longest->after);
    const char *where = !before  ? lull_arena_printf(c->arena, "behind %s", after)
                        : !after ? lull_arena_printf(c->arena, "before %s", before)
                                 : lull_arena_printf(c->arena, "between %s and %s", after, before);
    return lull_arena_printf(c->arena, "%s, in %" PRIu64 " %s, %s", lull_case_time(c, longest->ns),
                             longest->count, longest->count == 1 ? "piece" : "pieces", where);
}

/* "62 % in solve (a.c:25), 20 % in fill (a.c:7)": the functions of the serial part, where samples say
 * so; else NULL. *ret_share: that of the function, where one is told; else 1. */
static const char *serial_functions(struct lull_case *c, struct lull_finding *finding,
                                    uint32_t process, double *ret_share)
{
    const struct lull_where_samples samples = {.serial = true};
    struct lull_where where[FUNCTIONS_SERIAL];
    *ret_share = 1;
    if (!c->evidence->trace || process == LULL_NONE)
        return NULL;
    const uint32_t location = c->evidence->trace->processes[process].first_location;
    const uint32_t n = lull_where_spent(c, &samples, &location, 1, FUNCTIONS_SERIAL, where);
    if (n == 0)
        return NULL;
    lull_where_set(c, finding, &where[0]);
    *ret_share = n == 1 ? where[0].share : 1;
    return lull_where_text(c, where, n, "");
}

/* " Of it 300 ms in solve (a.c:25); 300 ms, in 20 pieces, between ...; 90 % in solve (a.c:27-29)", and
 * the place of the finding. *ret_share as above. */
static const char *where_serial(struct lull_case *c, struct lull_finding *finding, uint32_t process,
                                int64_t serial, double *ret_share)
{
    int64_t ns = 0;
    const uint32_t region = region_of_serial(c, process, serial, &ns);
    lull_finding_set_region(c, finding, region, LULL_NONE);
    const char *in = lull_case_name(c, region);
    const char *between = between_what(c, finding, process, serial);
    const char *functions = serial_functions(c, finding, process, ret_share);
    if (in)
        in = lull_arena_printf(c->arena, "%s in %s", lull_case_time(c, ns), in);
    if (!in && !between && !functions)
        return "";
    return lull_arena_printf(c->arena, " Of it %s%s%s%s%s.", in ? in : "",
                             in && between ? "; " : "", between ? between : "",
                             (in || between) && functions ? "; " : "", functions ? functions : "");
}

/* A run without parallel regions has no serial part: its other threads have work of their own. */
static bool has_parallel_regions(const struct lull_trace *trace)
{
    bool any = !trace; /* sums alone do not tell */
    for (uint32_t r = 0; !any && r < trace->n_regions; r++)
        any = trace->regions[r].parallel;
    return any;
}

static void find_serial_time(struct lull_case *c)
{
    const struct lull_breakdown *breakdown = c->evidence->breakdown;
    int64_t longest;
    uint32_t at;
    const int64_t lost = find_serial(breakdown, &at, &longest);
    if (lost < c->least_ns || longest <= 0 || !has_parallel_regions(c->evidence->trace))
        return;
    const struct lull_process_breakdown *process = &breakdown->processes[at];
    const uint32_t of = lull_evidence_process_of_rank(c->evidence, process->rank);
    struct lull_finding *finding = lull_case_add(c, lost);
    const double limit = (double)breakdown->runtime_ns / (double)longest;
    if (of != LULL_NONE && breakdown->n_processes == 1) {
        lull_finding_set_process(c, finding, of);
        finding->place.location = c->evidence->trace->processes[of].first_location;
    }
    finding->bound_ns = longest - longest / process->n_cpu_threads;
    lull_finding_add_fact(finding, "serial", "computation outside parallel regions", LULL_FACT_TIME,
                          (double)longest);
    lull_finding_add_fact(finding, "threads", "threads of the process", LULL_FACT_COUNT,
                          process->n_cpu_threads);
    lull_finding_add_fact(finding, "limit",
                          "limit of the speedup over this run with ever more "
                          "threads",
                          LULL_FACT_RATIO, limit);
    finding->sentence = lull_arena_printf(
        c->arena,
        "%s of %s are serial%s: the other threads are idle for %s, and more threads make it at "
        "most %.2fx as fast.",
        lull_case_time(c, longest), lull_case_time(c, breakdown->runtime_ns),
        breakdown->n_processes > 1 ? lull_arena_printf(c->arena, " on rank %u", process->rank) : "",
        lull_case_time(c, lost), limit);
    double share;
    const char *where = where_serial(c, finding, of, longest, &share);
    const double part =
        of == LULL_NONE ? 1
                        : lull_case_core_part(c, c->evidence->trace->processes[of].first_location);
    finding->cause = lull_arena_printf(
        c->arena, "One thread computes outside of parallel regions (Amdahl's law).%s%s", where,
        thread_without_core(c, finding, part, (double)longest));
    threads_fix(c, finding, LULL_THREADS_NO_SERIAL, NULL, share * part);
    finding->fixed = "Divided among its threads";
}

const struct lull_rule lull_rule_serial = {
    "serial", "serial part", "one thread computes outside of parallel regions", find_serial_time};

/* ==== uneven threads ========================================================================== */

/* Threads of a parallel region wait for the longest.
 * Evidence: useful time of each execution's threads, time at barriers and for locks. Formula: the
 * sum of what threads have less than the longest of their execution, no more than they wait at
 * barriers. The price is without what the late thread has more because it had no core, and that of the
 * function in which it is longer. Silent: below 1 % of the core time, and where threads wait longer for locks there: then
 * these are why they come at different times. Sums suffice; with events the thread is named for
 * which others wait four fifths of the time at barriers there, or at one barrier alone, where
 * these are half of the loss. */

/* How long the late thread computes in the parallel regions of that name, and how much of what it computes
 * longer than the mean of the others of its process it had a core for, 0 .. 1. Over the executions it is
 * taken for the longest thread of each. */
static double core_share_of(const struct lull_case *c, const struct late_thread *late,
                            const char *name, double *ret_useful)
{
    const struct lull_breakdown *breakdown = c->evidence->breakdown;
    const struct lull_trace *trace = c->evidence->trace;
    const struct lull_process *process =
        &trace->processes[trace->locations[late->location].process];
    double own = 0, others = 0, parts = 0;
    uint32_t n = 0;
    *ret_useful = 0;
    for (uint32_t i = 0; i < breakdown->n_parallels; i++) {
        const struct lull_parallel_breakdown *parallel = &breakdown->parallels[i];
        if (breakdown->processes[parallel->process].rank != process->rank ||
            strcmp(parallel->name, name) != 0)
            continue;
        own += (double)parallel->max_useful_ns;
        others += (double)(parallel->useful_ns - parallel->max_useful_ns);
    }
    for (uint32_t l = process->first_location; l < process->first_location + process->n_threads;
         l++)
        if (l != late->location && trace->locations[l].kind == LULL_LOCATION_THREAD) {
            parts += lull_case_core_part(c, l);
            n++;
        }
    *ret_useful = own;
    if (n == 0 || own <= others / n)
        return 1;
    const double part = lull_case_core_part(c, late->location);
    if (1 - part < LULL_CORRECTED_LEAST && n - parts < LULL_CORRECTED_LEAST * n)
        return 1;
    return fmax(0, fmin(1, (part * own - parts / n * others / n) / (own - others / n)));
}

static void tell_uneven(struct lull_case *c, const struct lull_parallels *of)
{
    struct lull_finding *finding = lull_case_add(c, of->imbalance_ns);
    finding->place.region = of->name;
    parallels_set_process(c, finding, of);
    lull_finding_add_fact(finding, "executions", "executions", LULL_FACT_COUNT,
                          (double)of->executions);
    lull_finding_add_fact(finding, "useful", "computation of all threads there", LULL_FACT_TIME,
                          (double)of->useful_ns);
    finding->sentence = lull_arena_printf(
        c->arena,
        "Threads work unevenly in %s: while the longest still computes, the others lose %s in %.0f "
        "execution%s.",
        of->name, lull_case_time(c, of->imbalance_ns), (double)of->executions,
        of->executions == 1 ? "" : "s");
    const struct late_thread late =
        late_thread_of(c, LULL_WAIT_THREAD_BARRIER, of->name, of->imbalance_ns);
    if (late.location == LULL_NONE) {
        late_thread_tell(c, finding, &late,
                         "Iterations, tasks, or what one thread does alone (master, single) are "
                         "not divided evenly among the threads",
                         "");
        threads_fix(c, finding, LULL_THREADS_BALANCED, of->name, 1);
        return;
    }
    struct lull_where where = {.share = 1};
    const char *in = "";
    double useful;
    const double share = core_share_of(c, &late, of->name, &useful);
    if (where_late(c, &late, of->name, &where)) {
        lull_where_set(c, finding, &where);
        in = lull_arena_printf(c->arena, ", with %s",
                               lull_where_text(c, &where, 1, " of what it computes longer"));
    }
    late_thread_tell(c, finding, &late,
                     "One thread has more to do than the others: what it does alone (master, "
                     "single), or a larger part of iterations or tasks",
                     in);
    finding->cause = lull_arena_printf(
        c->arena, "%s%s", finding->cause,
        thread_without_core(c, finding, lull_case_core_part(c, late.location), useful));
    threads_fix(c, finding, LULL_THREADS_BALANCED, of->name, share * where.share);
}

static void find_uneven_threads(struct lull_case *c)
{
    struct lull_parallels *all;
    const uint32_t n = parallels_of(c, &all);
    for (uint32_t i = 0; i < n; i++)
        if (all[i].imbalance_ns >= c->least_ns && all[i].imbalance_ns > all[i].lock_ns)
            tell_uneven(c, &all[i]); /* who waits for a lock is late for the barrier, too */
}

const struct lull_rule lull_rule_thread_imbalance = {
    "imbalance", "uneven threads", "threads of a parallel region wait for the longest",
    find_uneven_threads};

/* ==== scheduling ============================================================================== */

/* What OpenMP's scheduling takes, divided into two. */

struct scheduling {
    int64_t fork_ns, chunk_ns;          /* ns of all threads to begin and end regions, and to get
                                           iterations */
    uint64_t executions, forks, chunks; /* executions of parallel regions, threads in these,
                                           requests for iterations */
    const struct lull_parallels *most;  /* the one with most time of both; NULL: there is none */
    const struct lull_parallels *brief; /* likewise, of those that are short; or NULL */
    int64_t of_brief_ns, of_all_ns;     /* that time in those that are short; and in all */
};

/* A parallel region is short where one execution computes for no more than ten times as long as one of
 * any region takes to begin and end on average. */
enum { SHORT_WORK = 10 };

/* A region of scheduling that is entered more than so many times as often as threads enter and
 * leave parallel regions divides iterations. */
enum { ENTERED_MORE = 4 };

static int64_t chunk_ns(const struct lull_case *c, uint64_t forks, uint64_t *ret_chunks)
{
    const struct lull_breakdown *breakdown = c->evidence->breakdown;
    int64_t ns = 0;
    *ret_chunks = 0;
    for (uint32_t r = 0; r < breakdown->n_regions; r++) {
        const struct lull_region_breakdown *region = &breakdown->regions[r];
        if (region->activity != LULL_OMP_SCHEDULE || region->visits <= ENTERED_MORE * forks)
            continue;
        ns += region->exclusive_ns;
        *ret_chunks += region->visits;
    }
    return ns;
}

static struct scheduling scheduling_of(struct lull_case *c)
{
    struct scheduling of = {0};
    struct lull_parallels *all;
    const uint32_t n = parallels_of(c, &all);
    for (uint32_t i = 0; i < n; i++) {
        of.executions += all[i].executions;
        of.forks += all[i].executions * all[i].threads;
        if (!of.most || all[i].schedule_ns > of.most->schedule_ns)
            of.most = &all[i];
        of.of_all_ns += all[i].schedule_ns;
    }
    for (uint32_t i = 0; i < n; i++) {
        if ((double)all[i].useful_ns * (double)of.executions >
            (double)SHORT_WORK * (double)of.of_all_ns * (double)all[i].executions)
            continue;
        of.of_brief_ns += all[i].schedule_ns;
        if (!of.brief || all[i].schedule_ns > of.brief->schedule_ns)
            of.brief = &all[i];
    }
    of.chunk_ns = chunk_ns(c, of.forks, &of.chunks);
    of.fork_ns = lull_evidence_activity_ns(c->evidence, LULL_OMP_SCHEDULE) - of.chunk_ns;
    return of;
}

/* ==== chunk =================================================================================== */

/* Threads ask for iterations too often.
 * Evidence: regions of scheduling that are entered several times as often as threads enter parallel
 * regions, which are those that hand out iterations. Formula: their time, beside the computation of
 * one chunk. Silent: below 1 % of the core time, and where the compiler's runtime tells no chunks.
 */

static void find_chunk(struct lull_case *c)
{
    const struct scheduling of = scheduling_of(c);
    if (of.chunk_ns < c->least_ns || !of.most)
        return;
    struct lull_finding *finding = lull_case_add(c, of.chunk_ns);
    const int64_t work = of.most->useful_ns / (int64_t)of.chunks;
    finding->place.region = of.most->name;
    parallels_set_process(c, finding, of.most);
    lull_finding_add_fact(finding, "chunks", "chunks that were asked for", LULL_FACT_COUNT,
                          (double)of.chunks);
    lull_finding_add_fact(finding, "each", "to get one", LULL_FACT_TIME,
                          (double)of.chunk_ns / (double)of.chunks);
    lull_finding_add_fact(finding, "work", "computation of one", LULL_FACT_TIME, (double)work);
    finding->sentence =
        lull_arena_printf(c->arena, "To get %.0f chunks of iterations takes %s, most in %s.",
                          (double)of.chunks, lull_case_time(c, of.chunk_ns), of.most->name);
    finding->cause = "The chunks are small: larger ones are asked for less often.";
    threads_fix(c, finding, LULL_THREADS_NO_SCHEDULING, of.most->name, 1);
}

const struct lull_rule lull_rule_chunk = {"chunk", "small chunks",
                                          "threads ask for iterations too often", find_chunk};

/* ==== fork join =============================================================================== */

/* Parallel regions take long to begin and end.
 * Evidence: time in scheduling (from the fork until a thread computes, and its like at the end),
 * less what it takes to get chunks. Formula: the sum over threads, beside what one execution
 * computes; named is the region with most of it, among those that are short if these have half of
 * it. Silent: below 1 % of the core time, and where nothing says which regions there are. */

static void find_fork_join(struct lull_case *c)
{
    const struct scheduling of = scheduling_of(c);
    if (of.fork_ns < c->least_ns || !of.most || of.executions == 0)
        return;
    const bool brief = of.brief && 2 * of.of_brief_ns >= of.of_all_ns;
    const struct lull_parallels *told = brief ? of.brief : of.most;
    struct lull_finding *finding = lull_case_add(c, of.fork_ns);
    const int64_t each = of.fork_ns / (int64_t)of.executions;
    const int64_t work = told->useful_ns / (int64_t)(told->executions ? told->executions : 1);
    finding->place.region = told->name;
    parallels_set_process(c, finding, told);
    lull_finding_add_fact(finding, "executions", "executions of parallel regions", LULL_FACT_COUNT,
                          (double)of.executions);
    lull_finding_add_fact(finding, "each", "fork and join of one, over its threads", LULL_FACT_TIME,
                          (double)each);
    lull_finding_add_fact(finding, "of_region", "executions of the one that is named",
                          LULL_FACT_COUNT, (double)told->executions);
    lull_finding_add_fact(finding, "work", "computation of one of these, likewise", LULL_FACT_TIME,
                          (double)work);
    finding->sentence = lull_arena_printf(
        c->arena,
        "To begin and end %.0f executions of parallel regions takes %s of the threads' time, %s "
        "in %s: %.0f executions, of which each computes for %s.",
        (double)of.executions, lull_case_time(c, of.fork_ns),
        2 * told->schedule_ns >= of.fork_ns ? "most" : "more than anywhere else", told->name,
        (double)told->executions, lull_case_time(c, work));
    finding->cause = brief ? "Parallel regions that are short, or threads that have to be woken up."
                           : "Not that it is short: its threads have to be woken up, or wait for a "
                             "core as it begins.";
    threads_fix(c, finding, LULL_THREADS_NO_SCHEDULING, NULL, 1);
}

const struct lull_rule lull_rule_fork_join = {
    "fork_join", "fork and join", "parallel regions take long to begin and end", find_fork_join};
