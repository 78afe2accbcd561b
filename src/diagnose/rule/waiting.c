/* SPDX-License-Identifier: BSD-3-Clause */
/* What the rules about kinds of waits share: who made others wait.
 *
 * Evidence: the charges of waits (wait/wait.h) by process and region, and how long each process
 * computed there. Where few processes have most of the charges of a region, each process is told by
 * the rule of the kind with which it was charged most. Where many have them, and not because of
 * uneven work, the region is told, by the rule of the first process's kind. Formula: the sum of the
 * charges, which are the delay costs of D. Boehme et al., 10.1145/2934661. Silent: below 1 % of the
 * core time, and where waits are shorter than clocks are apart. */
#include "binary/demangle.h"
#include "diagnose/rule.h"
#include "diagnose/rule/imbalance.h"
#include "diagnose/rules.h"
#include "diagnose/where.h"

#include <string.h>

/* ==== what the rules share ==================================================================== */

/* Where few processes are to blame, those are told that have at least this share of the waits for
 * all of them: less follows from the others. */
#define SUSPECT_LEAST 0.1

/* The kind of wait that a suspect is told by. That others wait for it also in MPI_Finalize, as it
 * never made up for it, says nothing of where it was late; only where they wait nowhere else it is
 * all that there is. */
static unsigned kind_of(const struct lull_suspect *suspect)
{
    unsigned most = 0;
    for (unsigned kind = 1; kind < LULL_WAIT_MPI_KINDS; kind++)
        if (kind != LULL_WAIT_FINALIZE && suspect->kinds[kind] > suspect->kinds[most])
            most = kind;
    return suspect->kinds[most] > 0 ? most : LULL_WAIT_FINALIZE;
}

/* Shorter waits than clocks are apart are no waits. */
static bool is_above_clocks(const struct lull_case *c, const struct lull_suspect *suspect)
{
    const double error = c->evidence->trace->clock_error;
    return !(error > 0) || (double)suspect->ns > error * (double)suspect->waits;
}

static const char *rank_of(const struct lull_case *c, uint32_t process)
{
    return lull_arena_printf(c->arena, "%u", c->evidence->trace->processes[process].rank);
}

/* "38 % longer than the median of its peers" */
static const char *how_long(struct lull_case *c, struct lull_finding *finding,
                            const struct lull_lateness *late)
{
    if (!c->evidence->work)
        return "late";
    lull_finding_add_fact(finding, "useful", "its useful time there", LULL_FACT_TIME, late->own);
    lull_finding_add_fact(finding, "median", "median of its peers there", LULL_FACT_TIME,
                          late->median);
    if (late->corrected)
        lull_finding_add_fact(finding, "without_core", "of its useful time there without a core",
                              LULL_FACT_TIME, late->own - late->own_core);
    finding->bound_ns =
        late->own_core < (double)finding->bound_ns ? (int64_t)late->own_core : finding->bound_ns;
    if (late->median <= 0)
        return lull_arena_printf(c->arena, "late by %s of work that most others do not have",
                                 lull_case_time(c, (int64_t)late->own_core));
    const double ratio = late->own_core / late->median_core;
    if (ratio >= 10)
        return lull_arena_printf(c->arena, "%.0f times as long as the median of its peers", ratio);
    if (ratio > 1.005)
        return lull_arena_printf(c->arena, "%.0f %% longer than the median of its peers",
                                 100 * (ratio - 1));
    return late->corrected ? "late, though not longer than its peers while it had a core"
                           : "late, though not longer than its peers over the run";
}

/* " It had no core for 700.0 ms of its useful time there, its peers for 20.0 ms: that is not counted." */
static const char *without_core(const struct lull_case *c, const struct lull_lateness *late)
{
    if (!late->corrected)
        return "";
    return lull_arena_printf(
        c->arena,
        " It had no core for %s of its useful time there, its peers for %s (median): that is not "
        "counted.",
        lull_case_time(c, (int64_t)(late->own - late->own_core)),
        lull_case_time(c, (int64_t)(late->median - late->median_core)));
}

static void set_instance(struct lull_finding *finding, const struct lull_suspect *suspect)
{
    finding->place.begin = suspect->longest->longest.begin;
    finding->place.end = finding->place.begin + suspect->longest->longest.ns;
}

static const char *name_of_call(const struct lull_case *c, uint32_t call)
{
    return call < c->evidence->trace->n_regions ? c->evidence->trace->regions[call].name : "MPI";
}

static void add_wait_facts(struct lull_finding *finding, const struct lull_suspect *suspect)
{
    lull_finding_add_fact(finding, "waits", "waits", LULL_FACT_COUNT, (double)suspect->waits);
    lull_finding_add_fact(finding, "longest", "the longest of them", LULL_FACT_TIME,
                          (double)suspect->longest->longest.ns);
    if (suspect->passed_ns > 0)
        lull_finding_add_fact(finding, "passed", "reached those who wait through others",
                              LULL_FACT_TIME, (double)suspect->passed_ns);
}

/* Whether senders would gain by not waiting for the receiver. A receiver that works longer over the
 * run is late also for senders that do not wait. */
static bool could_send_ahead(const struct lull_case *c, const struct lull_suspect *suspect)
{
    return kind_of(suspect) == LULL_WAIT_LATE_RECEIVER &&
           !(c->evidence->work && lull_uneven_is_late(c, suspect));
}

static void tell_suspect(struct lull_case *c, const struct lull_suspect *suspect)
{
    const uint32_t call = suspect->most->place.call;
    struct lull_finding *finding = lull_case_add(c, suspect->ns);
    lull_finding_set_process(c, finding, suspect->process);
    lull_finding_set_region(c, finding, suspect->region, call);
    set_instance(finding, suspect);
    const struct lull_lateness late =
        c->evidence->work ? lull_lateness_of(c, suspect) : (struct lull_lateness){.share = 1};
    const char *longer = how_long(c, finding, &late);
    struct lull_where where;
    const bool known = lull_where_late(c, suspect, &where);
    const char *in = known ? lull_where_text(c, &where, 1, " of it") : "";
    if (known && finding->place.region && where.site &&
        strcmp(lull_short_name(c->arena, finding->place.region), where.function) == 0)
        in = lull_arena_printf(c->arena, "%.0f %% of it at %s", 100 * where.share, where.site);
    add_wait_facts(finding, suspect);
    if (known)
        lull_where_set(c, finding, &where);
    finding->sentence = lull_arena_printf(
        c->arena, "Rank %s is %s %s%s%s: others wait %s for its %s.", rank_of(c, suspect->process),
        longer, lull_case_where(c, suspect->region, call), known ? ", " : "", in,
        lull_case_time(c, suspect->ns), name_of_call(c, call));
    const struct lull_evidence_speed speed =
        lull_evidence_speed(c->evidence, suspect->process, LULL_NONE);
    finding->cause = lull_arena_printf(c->arena, "%s%s", lull_evidence_cause(&speed, c->arena),
                                       without_core(c, &late));
    lull_where_explain(c, finding, known ? &where : NULL, known ? 1 : 0);
    /* what it had a core for, and of that the function's share */
    const double share = lull_fix_share(late.share * (known ? where.share : 1));
    if (could_send_ahead(c, suspect))
        lull_finding_fix(c, finding)->eager = true;
    else if (share > 0)
        lull_finding_cut(c, finding, suspect, share);
    else
        finding->gain.absent = "All that it computes longer is time in which it had no core.";
}

/* Many are late, each at another time. */
static void tell_turns(struct lull_case *c, const struct lull_suspicion *suspicion)
{
    const struct lull_suspect *first = &c->suspects[suspicion->first];
    const uint32_t call = first->most->place.call;
    struct lull_finding *finding = lull_case_add(c, suspicion->ns);
    lull_finding_set_region(c, finding, suspicion->region, call);
    set_instance(finding, first);
    finding->place.instance = first->process;
    add_wait_facts(finding, first);
    finding->sentence = lull_arena_printf(
        c->arena, "%u processes are late by turns %s: others wait %s for their %s.",
        suspicion->principal, lull_case_where(c, suspicion->region, call),
        lull_case_time(c, suspicion->ns), name_of_call(c, call));
    finding->cause =
        "Over the run they work about as long as each other; which one is late changes.";
    if (kind_of(first) == LULL_WAIT_LATE_RECEIVER)
        lull_finding_fix(c, finding)->eager = true;
}

/* Tells the suspects of that kind (enum lull_wait_kind). */
static void waiting_find(struct lull_case *c, unsigned kind)
{
    for (uint32_t s = 0; s < c->n_suspicions; s++) {
        struct lull_suspicion *suspicion = &c->suspicions[s];
        if (suspicion->ns < c->least_ns || suspicion->at_end)
            continue;
        if (!suspicion->few) {
            if (kind_of(&c->suspects[suspicion->first]) == kind) {
                tell_turns(c, suspicion);
                suspicion->ns = 0;
            }
            continue;
        }
        for (uint32_t i = suspicion->first; i < suspicion->first + suspicion->count; i++) {
            const struct lull_suspect *suspect = &c->suspects[i];
            if (suspect->ns >= c->least_ns &&
                (double)suspect->ns >= SUSPECT_LEAST * (double)suspicion->ns &&
                kind_of(suspect) == kind && is_above_clocks(c, suspect))
                tell_suspect(c, suspect);
        }
    }
}

/* ==== at the end ============================================================================== */

/* A process works on after its last operation of MPI, and the others wait in MPI_Finalize for it.
 * Evidence: when each process came to MPI_Finalize, and what it did since its last operation. The
 * bound is the shortest of the waits there: without the work the run ends when the others are
 * there. Silent: where no communicator of all is known, and where who comes last was late before,
 * which is told by the rule of the waits before. */

/* The shortest wait in MPI_Finalize of those that waited there; they came before the last. */
static int64_t shortest_wait_at_end(const struct lull_case *c, uint32_t except)
{
    const struct lull_trace *trace = c->evidence->trace;
    int64_t shortest = INT64_MAX;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        int64_t waited = 0;
        for (uint32_t t = 0; t < trace->processes[p].n_threads; t++)
            waited += c->evidence->waits->locations[trace->processes[p].first_location + t]
                          .waited_ns[LULL_WAIT_FINALIZE];
        if (p != except && lull_evidence_has(c->evidence, p) && waited < shortest)
            shortest = waited;
    }
    return shortest;
}

enum { WHERES_AT_END = 3 }; /* functions that are told */

static void tell_at_end(struct lull_case *c, const struct lull_suspect *suspect)
{
    const uint32_t call = suspect->most->place.call;
    const int64_t bound = shortest_wait_at_end(c, suspect->process);
    struct lull_finding *finding = lull_case_add(c, suspect->ns);
    lull_finding_set_process(c, finding, suspect->process);
    lull_finding_set_region(c, finding, suspect->region, call);
    set_instance(finding, suspect);
    finding->bound_ns = bound < finding->bound_ns ? bound : finding->bound_ns;
    add_wait_facts(finding, suspect);
    const struct lull_where_samples samples = {.before_call = true, .call = call};
    const uint32_t location = c->evidence->trace->processes[suspect->process].first_location;
    struct lull_where where[WHERES_AT_END];
    const uint32_t n = lull_where_spent(c, &samples, &location, 1, WHERES_AT_END, where);
    if (n > 0)
        lull_where_set(c, finding, &where[0]);
    finding->sentence = lull_arena_printf(
        c->arena,
        "Rank %s works on at the end, %s%s%s, after its last operation with others: they wait %s "
        "for it in %s.",
        rank_of(c, suspect->process), lull_case_where(c, suspect->region, call), n > 0 ? ", " : "",
        lull_where_text(c, where, n, " of the time"), lull_case_time(c, suspect->ns),
        name_of_call(c, call));
    finding->cause = "The other ranks have nothing to do at the end: who writes results, or cleans "
                     "up, alone?";
    lull_where_explain(c, finding, where, n);
    lull_finding_cut(c, finding, suspect, 1);
}

static void find_at_end(struct lull_case *c)
{
    for (uint32_t s = 0; s < c->n_suspicions; s++) {
        const struct lull_suspicion *suspicion = &c->suspicions[s];
        for (uint32_t i = suspicion->first;
             suspicion->at_end && i < suspicion->first + suspicion->count; i++)
            if (c->suspects[i].ns >= c->least_ns && is_above_clocks(c, &c->suspects[i]))
                tell_at_end(c, &c->suspects[i]);
    }
    waiting_find(c, LULL_WAIT_FINALIZE);
}

const struct lull_rule lull_rule_at_end = {
    "at_end", "late at the end", "all wait in MPI_Finalize for who works on alone", find_at_end};

/* ==== barrier ================================================================================= */

/* All wait at barriers for the last.
 * Evidence: when each process came to each barrier. Silent: where its members are not known. */

static void find_barrier(struct lull_case *c)
{
    waiting_find(c, LULL_WAIT_BARRIER);
}

const struct lull_rule lull_rule_barrier = {"barrier", "late at a barrier",
                                            "all wait at barriers for the last", find_barrier};

/* ==== early reduce ============================================================================ */

/* The root of reductions and gathers waits for who comes late.
 * Evidence: when the root and the last of the others came. Silent: where the root is not known, and
 * for the others, which may leave before. */

static void find_early_reduce(struct lull_case *c)
{
    waiting_find(c, LULL_WAIT_EARLY_REDUCE);
}

const struct lull_rule lull_rule_early_reduce = {
    "early_reduce", "early reduce", "the root of reductions and gathers waits for who comes late",
    find_early_reduce};

/* ==== early scan ============================================================================== */

/* Ranks wait in scans for those before them.
 * Evidence: when each process came, beside the last of the ranks before it. Silent: where the
 * members are not known. */

static void find_early_scan(struct lull_case *c)
{
    waiting_find(c, LULL_WAIT_EARLY_SCAN);
}

const struct lull_rule lull_rule_early_scan = {
    "early_scan", "early scan", "ranks wait in scans for those before them", find_early_scan};

/* ==== late broadcast ========================================================================== */

/* All wait for the root of broadcasts and scatters.
 * Evidence: when the root and each of the others came. Silent: where the root is not known. */

static void find_late_broadcast(struct lull_case *c)
{
    waiting_find(c, LULL_WAIT_LATE_BROADCAST);
}

const struct lull_rule lull_rule_late_broadcast = {
    "late_broadcast", "late broadcast", "all wait for the root of broadcasts and scatters",
    find_late_broadcast};

/* ==== late receiver =========================================================================== */

/* Senders wait for receives that are posted late.
 * Evidence: synchronous sends, and blocking ones of more than what every MPI sends without waiting,
 * that began before the receive was posted and ended after it. Silent: where messages are buffered,
 * where sends do not block, and where it is not known when the receive was posted. */

static void find_late_receiver(struct lull_case *c)
{
    waiting_find(c, LULL_WAIT_LATE_RECEIVER);
}

const struct lull_rule lull_rule_late_receiver = {"late_receiver", "late receiver",
                                                  "senders wait for receives that are posted late",
                                                  find_late_receiver};

/* ==== late sender ============================================================================= */

/* Receivers wait for messages that are sent late.
 * Evidence: receives that began before the message was sent, also among several that one call
 * completes, of which the latest counts. Silent: where the receiver was not there yet either. */

static void find_late_sender(struct lull_case *c)
{
    waiting_find(c, LULL_WAIT_LATE_SENDER);
}

const struct lull_rule lull_rule_late_sender = {"late_sender", "late sender",
                                                "receivers wait for messages that are sent late",
                                                find_late_sender};

/* ==== n to n ================================================================================== */

/* All wait in operations of all for the last: allreduce, alltoall, allgather and their like.
 * Evidence: when each process came to each of them. Silent: where its members are not known. */

static void find_n_to_n(struct lull_case *c)
{
    waiting_find(c, LULL_WAIT_N_TO_N);
}

const struct lull_rule lull_rule_n_to_n = {
    "n_to_n", "late at an operation of all",
    "all wait in operations such as allreduce and alltoall for the last", find_n_to_n};

/* ==== wrong order ============================================================================= */

/* Receivers wait for one message while another one, which they take later, is there.
 * Evidence: a late sender where a later call received what had been sent before the wait began, as
 * Scalasca defines it. Silent: where the other message comes more than a few waits later. */

static void find_wrong_order(struct lull_case *c)
{
    waiting_find(c, LULL_WAIT_WRONG_ORDER);
}

const struct lull_rule lull_rule_wrong_order = {
    "wrong_order", "wrong order",
    "receivers wait for one message while another, sent earlier, is there", find_wrong_order};
