/* SPDX-License-Identifier: BSD-3-Clause */
#include "diagnose/rule.h"

#include "base/hash.h"
#include "base/sorted.h"
#include "base/text.h"
#include "diagnose/diagnose.h"
#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== suspects ================================================================================ */

/* Who made others wait, by process and region of the user, and by region over all processes.
 * Charges to MPI itself, and charges for which a ledger had no room, are nobody's. Rules of their
 * own look at threads that wait for each other. */

static int compare_suspects(const void *a, const void *b)
{
    const struct lull_suspect *x = a, *y = b;
    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    if (x->at_end != y->at_end)
        return x->at_end ? 1 : -1;
    if (x->inside != y->inside)
        return x->inside ? 1 : -1;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return x->process < y->process ? -1 : x->process > y->process;
}

static int compare_suspicions(const void *a, const void *b)
{
    const struct lull_suspicion *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    return x->at_end != y->at_end ? x->at_end - y->at_end : x->inside - y->inside;
}

static void charge_suspect(struct lull_suspect *suspect, const struct lull_wait_charge *charge)
{
    suspect->ns += charge->ns;
    suspect->kinds[charge->kind] += charge->ns;
    suspect->passed_ns += charge->passed_ns;
    suspect->waits += charge->waits;
    if (!suspect->longest || charge->longest.ns > suspect->longest->longest.ns)
        suspect->longest = charge;
    if (!suspect->most || charge->ns > suspect->most->ns)
        suspect->most = charge;
}

static void add_suspect(struct lull_suspect *suspect, const struct lull_suspect *other)
{
    suspect->ns += other->ns;
    suspect->passed_ns += other->passed_ns;
    suspect->waits += other->waits;
    for (unsigned k = 0; k < LULL_WAIT_KINDS; k++)
        suspect->kinds[k] += other->kinds[k];
    if (other->longest->longest.ns > suspect->longest->longest.ns)
        suspect->longest = other->longest;
    if (other->most->ns > suspect->most->ns)
        suspect->most = other->most;
}

static bool names_suspect(const struct lull_case *c, const struct lull_wait_charge *charge)
{
    return charge->kind < LULL_WAIT_MPI_KINDS && !charge->place.in_mpi &&
           charge->place.region != LULL_WAIT_ELSEWHERE &&
           charge->place.process < c->evidence->trace->n_processes;
}

/* Whether the others waited in MPI_Finalize for what a process did after its last operation of MPI.
 * Else it was late before, and the waits there are of the same cause as those before. */
static bool is_at_end(const struct lull_case *c, const struct lull_wait_charge *charge)
{
    const struct lull_wait_place *place = &charge->place;
    const uint32_t location = place->thread != LULL_NONE
                                  ? place->thread
                                  : c->evidence->trace->processes[place->process].first_location;
    return charge->kind == LULL_WAIT_FINALIZE &&
           2 * c->evidence->waits->locations[location].tail_ns >= charge->longest.ns;
}

/* Gathers the charges of each suspect. Charges come with most ns first, so that the first charge of
 * a suspect is its largest. */
static uint32_t gather(struct lull_case *c)
{
    const struct lull_wait_result *waits = c->evidence->waits;
    struct lull_hash numbers = {0};
    uint32_t count = 0;
    c->suspects = lull_arena_zero(c->arena, waits->n_charges + (size_t)1, sizeof *c->suspects);
    for (uint32_t i = 0; i < waits->n_charges; i++) {
        const struct lull_wait_charge *charge = &waits->charges[i];
        bool is_new = false;
        if (!names_suspect(c, charge))
            continue;
        const bool at_end = is_at_end(c, charge);
        const uint32_t key[] = {charge->place.process, charge->place.region, at_end};
        const uint64_t *number = lull_hash_add(&numbers, key, sizeof key, count, &is_new);
        if (!number)
            break; /* without memory: those with less time are not told */
        if (is_new)
            c->suspects[count++] =
                (struct lull_suspect){.process = key[0], .region = key[1], .at_end = at_end};
        charge_suspect(&c->suspects[*number], charge);
    }
    lull_hash_free(&numbers);
    return count;
}

/* ---- how long processes work where a suspicion is -------------------------------------------- */

/* The work of a process in the region at the end of the run, for which others wait in MPI_Finalize: a
 * rule of its own reports that work, which says nothing of how the work before is divided. */
static double work_at_end(const struct lull_case *c, uint32_t process, uint32_t region)
{
    const struct lull_trace *trace = c->evidence->trace;
    for (uint32_t s = 0; s < c->n_suspicions; s++) {
        const struct lull_suspicion *suspicion = &c->suspicions[s];
        if (!suspicion->at_end || suspicion->region != region)
            continue;
        for (uint32_t i = suspicion->first; i < suspicion->first + suspicion->count; i++)
            if (c->suspects[i].process == process)
                return (double)c->evidence->waits
                    ->locations[trace->processes[process].first_location]
                    .tail_ns;
    }
    return 0;
}

/* The useful time of each process but `except`, where the suspicion is, ns; `values` has room for all
 * processes. Returns how many times there are. */
static uint32_t work_of_all(const struct lull_case *c, const struct lull_suspicion *suspicion,
                            uint32_t except, double *values, uint64_t *ret_bursts)
{
    const struct lull_trace *trace = c->evidence->trace;
    uint32_t n = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (lull_evidence_has(c->evidence, p) && p != except) {
            const struct lull_work_place *place =
                lull_work_at(c->evidence->work, p, suspicion->region);
            const int64_t ns = !place ? 0 : suspicion->inside ? place->inside_ns : place->ns;
            values[n++] = place ? fmax(0, (double)ns - work_at_end(c, p, suspicion->region)) : 0;
            if (ret_bursts)
                *ret_bursts += place ? place->bursts : 0;
        }
    return n;
}

double lull_case_core_part(const struct lull_case *c, uint32_t location)
{
    const struct lull_evidence *evidence = c->evidence;
    if (!evidence->trace || location >= evidence->trace->n_locations)
        return 1;
    return lull_evidence_core_part(evidence->trace, evidence->breakdown,
                                   evidence->work ? evidence->work->sampled : NULL, location);
}

/* Takes the time without a core out of what work_of_all has found. */
static void take_core_parts(const struct lull_case *c, uint32_t except, double *values)
{
    const struct lull_trace *trace = c->evidence->trace;
    for (uint32_t p = 0, at = 0; p < trace->n_processes; p++)
        if (lull_evidence_has(c->evidence, p) && p != except)
            values[at++] *= lull_case_core_part(c, trace->processes[p].first_location);
}

static struct lull_uneven find_uneven(const struct lull_case *c,
                                      const struct lull_suspicion *suspicion, uint32_t except,
                                      bool with_core)
{
    struct lull_uneven uneven = {0};
    struct lull_arena *scratch = lull_arena_create(NULL);
    double *values =
        lull_arena_zero(scratch, c->evidence->trace->n_processes + (size_t)1, sizeof *values);
    const uint32_t n = work_of_all(c, suspicion, except, values, &uneven.bursts);
    if (with_core)
        take_core_parts(c, except, values);
    for (uint32_t i = 0; i < n; i++)
        uneven.mean += values[i];
    if (n > 0) {
        lull_sort(values, n);
        uneven.mean /= n;
        uneven.median = lull_median(values, n);
        uneven.most = values[n - 1];
    }
    lull_arena_destroy(scratch);
    return uneven;
}

struct lull_uneven lull_uneven_of(const struct lull_case *c, const struct lull_suspicion *suspicion,
                                  uint32_t except)
{
    return find_uneven(c, suspicion, except, false);
}

struct lull_uneven lull_uneven_with_core(const struct lull_case *c,
                                         const struct lull_suspicion *suspicion, uint32_t except)
{
    return find_uneven(c, suspicion, except, true);
}

struct lull_uneven lull_peers_of(const struct lull_case *c, const struct lull_suspect *suspect)
{
    const struct lull_suspicion there = {.region = suspect->region, .inside = suspect->inside};
    return lull_uneven_of(c, &there, suspect->process);
}

double lull_suspect_work(const struct lull_case *c, const struct lull_suspect *suspect)
{
    return (double)lull_work_of(c->evidence->work, suspect->process, suspect->region,
                                suspect->inside);
}

/* ---- without a core -------------------------------------------------------------------------- */

struct lull_lateness lull_lateness_of(const struct lull_case *c, const struct lull_suspect *suspect)
{
    const struct lull_trace *trace = c->evidence->trace;
    const struct lull_suspicion there = {.region = suspect->region, .inside = suspect->inside};
    struct lull_lateness late = {.own = lull_suspect_work(c, suspect),
                                 .median = lull_peers_of(c, suspect).median,
                                 .share = 1};
    late.own_core =
        late.own * lull_case_core_part(c, trace->processes[suspect->process].first_location);
    late.median_core = lull_uneven_with_core(c, &there, suspect->process).median;
    late.corrected = fmax(late.own - late.own_core, late.median - late.median_core) >=
                     LULL_CORRECTED_LEAST * late.own;
    if (!late.corrected) {
        late.own_core = late.own;
        late.median_core = late.median;
    }
    if (late.own > late.median)
        late.share =
            fmax(0, fmin(1, (late.own_core - late.median_core) / (late.own - late.median)));
    return late;
}

/* ---- which region holds an excess ------------------------------------------------------------ */

/* Waits are charged to the innermost regions in which who is late was late. Where a helper that many
 * functions call is the innermost one, the function that took longer is further out. Example: step
 * calls advance and assemble, which both call nap; advance of rank 1 naps for 400 ms longer than
 * that of its peers. The excess is in nap, of which 600 ms are as in the peers, in advance, of which
 * 200 ms are so, and in step. It is told of advance, where the peers have least: the smallest region
 * that holds the excess.
 *
 * Where a process is longer in several regions that one function calls, that function is told if it
 * is longer by about as large a share as they are. If they are few of many that it calls, they are
 * told one by one. Where one of the regions has most of the excess, it is told: others are a little
 * longer in any run, by noise. */

/* A region holds an excess if it has so much of it, */
#define HOLDS_LEAST 0.9
/* and holds it better than another region if its peers have so much less in it. */
#define BETTER_MOST 0.9
/* A region stands for several others if it is longer by at least so much of the share by which they
 * are longer. */
#define SHARE_LEAST 0.5
/* One region is told for itself if so much of what is charged to its process is charged to it. The planted
 * runs of tests/diagnose/test_measured.py, where a single region is longer, have up to 18 % elsewhere. */
#define ALONE_LEAST 0.75
/* Only suspects with most charges are looked at. */
enum { HELD_MOST = 64 };

/* How long all processes computed in a region, shortest first. */
struct everyone {
    uint32_t region;
    bool inside;
    uint32_t count;
    double *values;
};

/* The sorted times that hold() has needed so far, and where they live. */
struct holding {
    const struct lull_case *c;
    struct lull_arena *scratch;
    struct everyone *known;
    uint32_t n_known;
    size_t capacity;
};

static const struct everyone *find_everyone(struct holding *holding, uint32_t region, bool inside)
{
    for (uint32_t i = 0; i < holding->n_known; i++)
        if (holding->known[i].region == region && holding->known[i].inside == inside)
            return &holding->known[i];
    holding->known = lull_arena_grow(holding->scratch, holding->known, &holding->capacity,
                                     holding->n_known + (size_t)1, sizeof *holding->known);
    struct everyone *everyone = &holding->known[holding->n_known++];
    const struct lull_suspicion there = {.region = region, .inside = inside};
    *everyone = (struct everyone){.region = region, .inside = inside};
    everyone->values =
        lull_arena_zero(holding->scratch, holding->c->evidence->trace->n_processes + (size_t)1,
                        sizeof *everyone->values);
    everyone->count = work_of_all(holding->c, &there, LULL_NONE, everyone->values, NULL);
    lull_sort(everyone->values, everyone->count);
    return everyone;
}

/* How much longer a process computed in a region than the median of its peers, and that median. */
struct excess {
    double ns, median;
};

static struct excess find_excess(struct holding *holding, uint32_t process, uint32_t region,
                                 bool inside)
{
    const struct everyone *all = find_everyone(holding, region, inside);
    const double own = (double)lull_work_of(holding->c->evidence->work, process, region, inside);
    /* where the process stands among all */
    const size_t at = lull_sorted_first_f64(all->values, all->count, sizeof *all->values, 0, own);
    const uint32_t peers = all->count - 1, low = (peers - 1) / 2, high = peers / 2;
    if (all->count < 2)
        return (struct excess){own, 0};
    const double median = (all->values[low + (low >= at)] + all->values[high + (high >= at)]) / 2;
    return (struct excess){own - median, median};
}

/* The regions around `region` on the paths of a process that end there, each once. Returns how many.
 */
static uint32_t regions_around(struct holding *holding, uint32_t process, uint32_t region,
                               uint32_t **ret_regions)
{
    const struct lull_work *work = holding->c->evidence->work;
    uint32_t n = 0;
    size_t capacity = 0;
    *ret_regions = NULL;
    for (uint32_t i = lull_work_first_path(work, process);
         i < work->n_paths && work->paths[i].process == process; i++) {
        if (work->paths[i].region != region || work->paths[i].ns == 0)
            continue;
        for (uint32_t at = work->paths[i].outer; work->paths[at].region != LULL_NONE;
             at = work->paths[at].outer) {
            uint32_t known = 0;
            while (known < n && (*ret_regions)[known] != work->paths[at].region)
                known++;
            if (known < n || work->paths[at].region == region)
                continue;
            *ret_regions = lull_arena_grow(holding->scratch, *ret_regions, &capacity, n + (size_t)1,
                                           sizeof **ret_regions);
            (*ret_regions)[n++] = work->paths[at].region;
        }
    }
    return n;
}

/* The best region so far. */
struct holder {
    uint32_t region;
    bool inside;
    double median_most; /* a better region has this median at most */
};

static void look_at_holder(struct holding *holding, uint32_t process, uint32_t region,
                           double excess_least, struct holder *holder)
{
    const struct excess excess = find_excess(holding, process, region, true);
    if (excess.ns >= excess_least && excess.median <= holder->median_most)
        *holder = (struct holder){region, true, BETTER_MOST * excess.median};
}

/* The smallest region around the suspect's that has HOLDS_LEAST of the excess; the suspect's own if
 * that is the smallest one. */
static struct holder find_holder(struct holding *holding, const struct lull_suspect *suspect)
{
    const struct excess own = find_excess(holding, suspect->process, suspect->region, false);
    struct holder holder = {suspect->region, false, BETTER_MOST * own.median};
    uint32_t *around;
    if (own.ns <= 0)
        return holder;
    const uint32_t n = regions_around(holding, suspect->process, suspect->region, &around);
    for (uint32_t i = 0; i < n; i++)
        look_at_holder(holding, suspect->process, around[i], HOLDS_LEAST * own.ns, &holder);
    return holder;
}

/* Adds up suspects that have become the same. Returns how many are left. */
static uint32_t join_suspects(struct lull_case *c, uint32_t count)
{
    struct lull_hash numbers = {0};
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_suspect *suspect = &c->suspects[i];
        const uint32_t key[] = {suspect->process, suspect->region, suspect->at_end,
                                suspect->inside};
        bool is_new = false;
        const uint64_t *number = lull_hash_add(&numbers, key, sizeof key, left, &is_new);
        if (!number)
            break;
        if (is_new)
            c->suspects[left++] = *suspect;
        else
            add_suspect(&c->suspects[*number], suspect);
    }
    lull_hash_free(&numbers);
    return left;
}

static int compare_charges(const void *a, const void *b)
{
    const struct lull_suspect *x = a, *y = b;
    return x->ns != y->ns ? (x->ns > y->ns ? -1 : 1) : compare_suspects(a, b);
}

static bool may_be_held(const struct lull_suspect *suspect)
{
    return !suspect->at_end && !suspect->inside && suspect->region != LULL_NONE;
}

static bool is_around(struct holding *holding, uint32_t outer, const struct lull_suspect *suspect)
{
    uint32_t *around, i = 0;
    const uint32_t n = regions_around(holding, suspect->process, suspect->region, &around);
    while (i < n && around[i] != outer)
        i++;
    return i < n;
}

/* Puts several suspects of the process of the first one, to which most is charged, down to the region
 * that stands for them, if there is one. */
static bool hold_together(struct holding *holding, struct lull_suspect *suspects, uint32_t count)
{
    const uint32_t process = suspects[0].process;
    struct excess sum = {0, 0};
    double charged = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (suspects[i].process != process || !may_be_held(&suspects[i]))
            continue;
        const struct excess own = find_excess(holding, process, suspects[i].region, false);
        charged += (double)suspects[i].ns;
        if (own.ns > 0)
            sum = (struct excess){sum.ns + own.ns, sum.median + own.median};
    }
    if ((double)suspects[0].ns >= ALONE_LEAST * charged)
        return false;
    uint32_t *around;
    struct holder holder = {LULL_NONE, false, INFINITY};
    const uint32_t n = regions_around(holding, process, suspects[0].region, &around);
    for (uint32_t i = 0; i < n; i++)
        look_at_holder(holding, process, around[i], HOLDS_LEAST * sum.ns, &holder);
    if (!holder.inside)
        return false;
    const struct excess whole = find_excess(holding, process, holder.region, true);
    if (whole.ns * sum.median < SHARE_LEAST * sum.ns * whole.median)
        return false;
    for (uint32_t i = count; i-- > 0;)
        if (suspects[i].process == process && may_be_held(&suspects[i]) &&
            is_around(holding, holder.region, &suspects[i])) {
            suspects[i].region = holder.region;
            suspects[i].inside = true;
        }
    return true;
}

/* Puts the suspects with most charges down to the regions that hold their excess. */
static uint32_t hold(struct lull_case *c, uint32_t count)
{
    if (!c->evidence->work || c->evidence->work->n_paths == 0)
        return count;
    struct holding holding = {.c = c, .scratch = lull_arena_create(NULL)};
    const uint32_t looked_at = count < HELD_MOST ? count : HELD_MOST;
    bool held = false;
    qsort(c->suspects, count, sizeof *c->suspects, compare_charges);
    for (uint32_t i = 0; i < looked_at; i++) {
        struct lull_suspect *suspect = &c->suspects[i];
        if (!may_be_held(suspect))
            continue;
        const struct holder holder = find_holder(&holding, suspect);
        if (holder.inside) {
            suspect->region = holder.region;
            suspect->inside = true;
        } else {
            hold_together(&holding, suspect, looked_at - i);
        }
        held |= suspect->inside;
    }
    lull_arena_destroy(holding.scratch);
    return held ? join_suspects(c, count) : count;
}

void lull_suspicion_divide(struct lull_case *c, struct lull_suspicion *suspicion)
{
    struct lull_suspect *suspects = &c->suspects[suspicion->first];
    double sum = 0;
    qsort(suspects, suspicion->count, sizeof *suspects, compare_suspects);
    suspicion->principal = 0;
    while (suspicion->principal < suspicion->count &&
           sum < LULL_SUSPECTS_MOST * (double)suspicion->ns)
        sum += (double)suspects[suspicion->principal++].ns;
    suspicion->few = suspicion->principal <= 1 || 4 * suspicion->principal <= c->processes;
}

void lull_suspect_explain(struct lull_suspicion *suspicion, struct lull_suspect *suspect)
{
    suspicion->ns -= suspect->ns;
    suspect->ns = 0;
}

static void case_find_suspects(struct lull_case *c)
{
    const struct lull_wait_result *waits = c->evidence->waits;
    if (!waits || waits->absent || !c->evidence->trace)
        return;
    const uint32_t count = hold(c, gather(c));
    qsort(c->suspects, count, sizeof *c->suspects, compare_suspects);
    c->suspicions = lull_arena_zero(c->arena, count + (size_t)1, sizeof *c->suspicions);
    for (uint32_t i = 0; i < count; i++) {
        struct lull_suspicion *last = c->n_suspicions ? &c->suspicions[c->n_suspicions - 1] : NULL;
        const struct lull_suspect *suspect = &c->suspects[i];
        if (!last || last->region != suspect->region || last->at_end != suspect->at_end ||
            last->inside != suspect->inside) {
            last = &c->suspicions[c->n_suspicions++];
            *last = (struct lull_suspicion){.region = suspect->region,
                                            .inside = suspect->inside,
                                            .at_end = suspect->at_end,
                                            .first = i};
        }
        last->count++;
        last->ns += c->suspects[i].ns;
    }
    for (uint32_t i = 0; i < c->n_suspicions; i++)
        lull_suspicion_divide(c, &c->suspicions[i]);
    qsort(c->suspicions, c->n_suspicions, sizeof *c->suspicions, compare_suspicions);
}

/* ==== the case ================================================================================ */

/* ---- what rules add -------------------------------------------------------------------------- */

struct lull_finding *lull_case_add(struct lull_case *c, int64_t lost_ns)
{
    c->findings = lull_arena_grow(c->arena, c->findings, &c->capacity, c->n_findings + (size_t)1,
                                  sizeof *c->findings);
    struct lull_finding *finding = &c->findings[c->n_findings++];
    *finding = (struct lull_finding){.rule = c->rule,
                                     .lost_ns = lost_ns,
                                     .bound_ns = c->evidence->breakdown->runtime_ns,
                                     .place = {.process = LULL_NONE,
                                               .rank = LULL_NONE,
                                               .node = LULL_NONE,
                                               .location = LULL_NONE,
                                               .instance = LULL_NONE},
                                     .gain = {.absent = "No replay tells what it would save."}};
    return finding;
}

void lull_finding_add_fact(struct lull_finding *finding, const char *id, const char *label,
                           uint8_t kind, double value)
{
    if (finding->n_facts < LULL_FINDING_FACTS && isfinite(value))
        finding->facts[finding->n_facts++] = (struct lull_finding_fact){id, label, kind, value};
}

void lull_finding_set_process(struct lull_case *c, struct lull_finding *finding, uint32_t process)
{
    finding->place.process = process;
    finding->place.rank = c->evidence->trace->processes[process].rank;
}

static const struct lull_region *region_at(const struct lull_case *c, uint32_t region)
{
    const struct lull_trace *trace = c->evidence->trace;
    return trace && region < trace->n_regions ? &trace->regions[region] : NULL;
}

/* "solve.f90:120" */
static const char *site_of(const struct lull_case *c, const struct lull_region *region)
{
    if (!region)
        return NULL;
    if (*region->site)
        return region->site;
    const char *slash = strrchr(region->file, '/'), *file = slash ? slash + 1 : region->file;
    if (!*file)
        return NULL;
    return region->line ? lull_arena_printf(c->arena, "%s:%u", file, region->line) : file;
}

void lull_finding_set_region(struct lull_case *c, struct lull_finding *finding, uint32_t region,
                             uint32_t call)
{
    const struct lull_region *of = region_at(c, region);
    finding->place.region = of ? of->name : NULL;
    finding->place.site = site_of(c, of);
    if (!finding->place.site)
        finding->place.site = site_of(c, region_at(c, call));
}

struct lull_what_if_options *lull_finding_fix(struct lull_case *c, struct lull_finding *finding)
{
    struct lull_what_if_options *fix = lull_arena_zero(c->arena, 1, sizeof *fix);
    fix->application = lull_evidence_application(c->evidence);
    finding->fix = fix;
    return fix;
}

double lull_fix_share(double share)
{
    return round(1000 * fmax(0, fmin(1, share))) / 1000;
}

/* ---- texts ----------------------------------------------------------------------------------- */

const char *lull_case_time(const struct lull_case *c, int64_t ns)
{
    char text[32];
    return lull_arena_strdup(c->arena, lull_format_time(ns, text, sizeof text));
}

const char *lull_case_size(const struct lull_case *c, double bytes)
{
    char text[32];
    return lull_arena_strdup(c->arena, lull_format_size((uint64_t)bytes, text, sizeof text));
}

const char *lull_case_name(const struct lull_case *c, uint32_t region)
{
    const struct lull_region *of = region_at(c, region);
    const char *site = site_of(c, of);
    if (!of || !site || strstr(of->name, site))
        return of ? of->name : NULL;
    return lull_arena_printf(c->arena, strchr(site, '(') ? "%s in %s" : "%s (%s)", of->name, site);
}

const char *lull_case_where(const struct lull_case *c, uint32_t region, uint32_t call)
{
    const char *name = lull_case_name(c, region);
    const char *word = name ? "in" : "before";
    name = name ? name : lull_case_name(c, call);
    return name ? lull_arena_printf(c->arena, "%s %s", word, name) : "outside of any region";
}

const char *lull_case_word(const struct lull_case *c, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./+,:@%=-";
    const char *quoted = "'";
    if (*text && strspn(text, plain) == strlen(text))
        return text;
    for (const char *quote; (quote = strchr(text, '\'')); text = quote + 1)
        quoted = lull_arena_printf(c->arena, "%s%.*s'\\''", quoted, (int)(quote - text), text);
    return lull_arena_printf(c->arena, "%s%s'", quoted, text);
}

/* ---- order ----------------------------------------------------------------------------------- */

double lull_finding_worth(const struct lull_finding *finding, uint32_t cores)
{
    if (!finding->gain.absent)
        return (double)finding->gain.ns;
    const double lost = (double)finding->lost_ns / (cores ? cores : 1);
    return fmin(lost, (double)finding->bound_ns);
}

void lull_findings_sort(struct lull_finding *findings, uint32_t count, uint32_t cores)
{
    for (uint32_t i = 1; i < count; i++) { /* keeps the order of the rules; they are few */
        const struct lull_finding finding = findings[i];
        const double worth = lull_finding_worth(&finding, cores);
        uint32_t at = i;
        for (; at > 0 && lull_finding_worth(&findings[at - 1], cores) < worth; at--)
            findings[at] = findings[at - 1];
        findings[at] = finding;
    }
}

const char *lull_finding_rule_id(const struct lull_finding *finding)
{
    return finding->rule->id;
}

const char *lull_finding_rule_name(const struct lull_finding *finding)
{
    return finding->rule->name;
}

/* ---- how to go on ---------------------------------------------------------------------------- */

/* Writes the command that supposes the same as the finding's replay. */
static void spell_fix(const struct lull_case *c, struct lull_finding *finding)
{
    const char **words;
    const uint32_t n = lull_what_if_spell(finding->fix, c->arena, &words);
    finding->next =
        lull_arena_printf(c->arena, "lull replay %s%s", lull_case_word(c, c->evidence->path),
                          finding->ideal_network ? " --network ideal" : "");
    for (uint32_t i = 0; i < n; i++) {
        const char *sign = strncmp(words[i], "--", 2) == 0 ? strchr(words[i], '=') : NULL;
        const int option =
            sign ? (int)(sign + 1 - words[i]) : 0; /* bytes of "--balance=" in the word
                                                      "--balance=solve" */
        finding->next = lull_arena_printf(c->arena, "%s %.*s%s", finding->next, option, words[i],
                                          lull_case_word(c, words[i] + option));
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

uint32_t lull_diagnose(const struct lull_evidence *evidence, struct lull_arena *arena,
                       struct lull_finding **ret_findings)
{
    struct lull_case c = {.evidence = evidence,
                          .arena = arena,
                          .core_ns = lull_evidence_core_ns(evidence),
                          .processes = evidence->breakdown->n_processes};
    c.least_ns = (int64_t)ceil(LULL_FINDING_LEAST * (double)c.core_ns);
    c.least_ns = c.least_ns > 1 ? c.least_ns : 1;
    if (evidence->trace)
        c.shortage =
            lull_core_shortage_of(evidence->trace, lull_evidence_application(evidence), arena);
    c.without_core_ns =
        (int64_t)(c.shortage.share * c.shortage.known * (double)evidence->breakdown->runtime_ns);
    case_find_suspects(&c);
    for (uint32_t i = 0; lull_rules[i]; i++) {
        c.rule = lull_rules[i];
        c.rule->find(&c);
    }
    for (uint32_t i = 0; i < c.n_findings; i++)
        if (c.findings[i].fix)
            spell_fix(&c, &c.findings[i]);
    const int64_t runtime = evidence->breakdown->runtime_ns;
    lull_findings_sort(c.findings, c.n_findings, runtime > 0 ? (uint32_t)(c.core_ns / runtime) : 1);
    *ret_findings = c.findings;
    return c.n_findings;
}
