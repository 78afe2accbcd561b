/* SPDX-License-Identifier: BSD-3-Clause */
/* Long bursts now and then, on one process and then on another: something took the core away.
 * Evidence: the distribution of bursts by place (diagnose/work.h), charges of waits. Formula: what
 * others waited in regions of which nobody in particular is to blame, if it is at most twice what
 * the long bursts can cause. Silent: below 30 repeats, where more than a tenth of the bursts are
 * long, and where few processes have them. */
#include "diagnose/rule/imbalance.h"
#include "diagnose/rules.h"

enum { REPEATS_LEAST = 30 }; /* fewer do not tell a rare burst from a usual one */

/* The largest share of bursts that may be long: with more, that is how the program works. */
#define LONG_MOST 0.1

/* The share of the waits that must follow from the long bursts, for each of which all others may
 * wait. */
#define BURSTS_EXPLAIN_LEAST 0.5

/* A process with more long time than so many times the mean has more of it than the others. */
#define LIKE_ALL_MOST 2

struct noise {
    uint64_t bursts, long_bursts;
    double long_ns;
    uint32_t processes; /* processes that have long bursts */
    int64_t charged_ns;
    const struct lull_suspicion *first; /* with most charges */
    const struct lull_work_bursts *longest;
    double *long_of; /* by process of the trace: what its long bursts take beyond the median */
    bool apart;      /* `first` is a region that noise has for itself, which has a part in few
                        bursts */
};

/* Finds the long bursts, where there are enough repeats. */
static struct noise find_long_bursts(struct lull_case *c)
{
    const struct lull_work *work = c->evidence->work;
    struct noise noise = {.long_of =
                              lull_arena_zero(c->arena, c->evidence->trace->n_processes + (size_t)1,
                                              sizeof *noise.long_of)};
    uint32_t last = LULL_NONE;
    for (uint32_t i = 0; i < work->n_bursts; i++) {
        const struct lull_work_bursts *at = &work->bursts[i];
        if (at->bursts < REPEATS_LEAST)
            continue;
        noise.bursts += at->bursts;
        noise.long_bursts += at->long_bursts;
        noise.long_ns += (double)at->long_ns;
        noise.long_of[at->process] += (double)at->long_ns;
        if (at->long_bursts > 0) {
            noise.processes += at->process != last;
            last = at->process;
        }
        if (!noise.longest || at->longest_ns > noise.longest->longest_ns)
            noise.longest = at;
    }
    return noise;
}

static void add_burst_facts(struct lull_finding *finding, const struct noise *noise)
{
    lull_finding_add_fact(finding, "bursts", "computations", LULL_FACT_COUNT,
                          (double)noise->bursts);
    lull_finding_add_fact(finding, "long_bursts", "much longer than their median", LULL_FACT_COUNT,
                          (double)noise->long_bursts);
    lull_finding_add_fact(finding, "long_time", "what they take beyond it", LULL_FACT_TIME,
                          noise->long_ns);
    lull_finding_add_fact(finding, "processes", "processes that have some", LULL_FACT_COUNT,
                          noise->processes);
}

/* Gives the finding its fix: bursts are as long as at the same place at other times. Where the
 * noise has a region of its own, that takes no time. */
static void set_fix(struct lull_case *c, struct lull_finding *finding, const struct noise *noise)
{
    struct lull_what_if_options *fix = lull_finding_fix(c, finding);
    fix->no_noise = true;
    if (!noise->apart || !finding->place.region)
        return;
    fix->n_regions = 1;
    fix->regions[0] = finding->place.region;
    fix->factors[0] = LULL_CASE_NOTHING;
}

static void tell_noise(struct lull_case *c, const struct noise *noise)
{
    struct lull_finding *finding = lull_case_add(c, noise->charged_ns);
    lull_finding_set_region(c, finding, noise->first->region,
                            c->suspects[noise->first->first].most->place.call);
    finding->place.instance = noise->longest->process;
    finding->place.begin = noise->longest->longest_begin;
    finding->place.end = finding->place.begin + noise->longest->longest_ns;
    if (noise->long_ns < (double)finding->bound_ns)
        finding->bound_ns = (int64_t)noise->long_ns;
    add_burst_facts(finding, noise);
    finding->sentence = lull_arena_printf(
        c->arena,
        "Now and then a computation takes much longer than usual, on changing "
        "processes: %.0f of %.0f, %s in all; others wait %s for them.",
        (double)noise->long_bursts, (double)noise->bursts,
        lull_case_time(c, (int64_t)noise->long_ns), lull_case_time(c, noise->charged_ns));
    finding->cause = "What takes a core away (noise of the system); the program itself would be as "
                     "long each time.";
    set_fix(c, finding, noise);
}

/* Whether the region is the noise's own, because it has a part in few bursts: some tracers tell
 * what takes the core away. */
static bool is_apart(const struct lull_uneven *uneven, const struct noise *noise)
{
    return (double)uneven->bursts <= LONG_MOST * (double)noise->bursts;
}

/* Whether few processes are to blame, because of long bursts, of which they have no more than the
 * others do: for the root of a broadcast alone all others wait, whoever else is hit. */
static bool is_of_one_hit_like_all(const struct lull_case *c,
                                   const struct lull_suspicion *suspicion,
                                   const struct noise *noise)
{
    for (uint32_t i = 0; i < suspicion->principal; i++) {
        const struct lull_suspect *suspect = &c->suspects[suspicion->first + i];
        const double own = noise->long_of[suspect->process];
        if (own > LIKE_ALL_MOST * noise->long_ns / c->processes ||
            own * (c->processes - 1) < BURSTS_EXPLAIN_LEAST * (double)suspect->ns)
            return false;
    }
    return true;
}

/* Whether neither a process in particular nor uneven work explains the suspicion. */
static bool is_unexplained(const struct lull_case *c, const struct lull_suspicion *suspicion,
                           struct noise *noise)
{
    if (suspicion->ns < c->least_ns || suspicion->at_end ||
        (suspicion->few && !is_of_one_hit_like_all(c, suspicion, noise)))
        return false;
    const struct lull_uneven uneven = lull_uneven_of(c, suspicion, LULL_NONE);
    if (!is_apart(&uneven, noise) && lull_uneven_explains(c, &uneven, suspicion))
        return false;
    noise->apart = noise->first ? noise->apart : is_apart(&uneven, noise);
    return true;
}

static void find_noise(struct lull_case *c)
{
    const struct lull_work *work = c->evidence->work;
    if (!work || !work->bursts || c->n_suspicions == 0)
        return;
    struct noise noise = find_long_bursts(c);
    if (noise.long_bursts == 0 || noise.processes < 2 || 4 * noise.processes < c->processes ||
        (double)noise.long_bursts > LONG_MOST * (double)noise.bursts)
        return;
    const double most = noise.long_ns * (c->processes - 1) / BURSTS_EXPLAIN_LEAST;
    for (uint32_t s = 0; s < c->n_suspicions; s++) {
        struct lull_suspicion *suspicion = &c->suspicions[s];
        if (!is_unexplained(c, suspicion, &noise) ||
            (double)(noise.charged_ns + suspicion->ns) > most)
            continue;
        noise.charged_ns += suspicion->ns;
        noise.first = noise.first ? noise.first : suspicion;
        suspicion->ns = 0;
    }
    c->noisy = noise.first != NULL;
    if (c->noisy)
        tell_noise(c, &noise);
}

const struct lull_rule lull_rule_noise = {
    "noise", "noise", "rare long computations on changing processes", find_noise};
