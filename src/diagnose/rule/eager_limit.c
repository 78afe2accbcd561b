/* SPDX-License-Identifier: BSD-3-Clause */
/* Senders of large messages wait for receives that are posted a little later, though nobody is late
 * over the run: only a message beyond the eager limit has to wait for its receive.
 *
 * Evidence: waits for late receivers that do not follow from how long processes work over the run
 * (if each worked as long every time, less than half as much would be waited); blocking sends
 * (MPI_Send) by size. Formula: the sum of these charges, with what others wait because senders
 * waited. The senders' waits must be half of the time of sends beyond the limit. The limit is where
 * sends of all larger sizes take on average several times as long as any smaller ones. Silent:
 * where receivers work longer than others (those are late receivers), without smaller messages to
 * compare with, where it is not known when receives were posted, and below 1 % of the core time. */
#include "diagnose/rule/imbalance.h"
#include "diagnose/rules.h"

enum { SENDS_LEAST = 8 }; /* on either side of the limit */

#define TIMES_LONGER 4.0

/* The share of the time of large sends that senders must have waited. */
#define WAITED_LEAST 0.5

/* ---- sends by size --------------------------------------------------------------------------- */

struct sides {
    struct lull_work_sends small, large;
};

static double mean_ns(const struct lull_work_sends *sends)
{
    return (double)sends->ns / (double)sends->count;
}

static void add_side(struct lull_work_sends *to, const struct lull_work_sends *from)
{
    to->count += from->count;
    to->bytes += from->bytes;
    to->ns += from->ns;
}

/* The smallest size from which on all take several times as long as any smaller ones. */
static bool find_sides(const struct lull_work *work, struct sides *ret_sides)
{
    for (unsigned limit = 1; limit < LULL_MESSAGES_CLASSES; limit++) {
        struct sides sides = {0};
        double longest = 0, shortest = INFINITY;
        for (unsigned c = 0; c < LULL_MESSAGES_CLASSES; c++) {
            const struct lull_work_sends *sends = &work->sends[c];
            if (sends->count == 0)
                continue;
            add_side(c < limit ? &sides.small : &sides.large, sends);
            if (c < limit)
                longest = fmax(longest, mean_ns(sends));
            else
                shortest = fmin(shortest, mean_ns(sends));
        }
        if (sides.small.count >= SENDS_LEAST && sides.large.count >= SENDS_LEAST &&
            shortest >= TIMES_LONGER * longest) {
            *ret_sides = sides;
            return true;
        }
    }
    return false;
}

/* ---- who is charged -------------------------------------------------------------------------- */

/* What senders waited for receives in the region of the suspicion. It counts only where that, with
 * what others waited for the senders, is most of what the region is suspected of, and does not
 * follow from how long its processes work; else 0. */
static int64_t waited_of(const struct lull_case *c, const struct lull_suspicion *suspicion)
{
    const struct lull_uneven uneven = lull_uneven_of(c, suspicion, LULL_NONE);
    int64_t waited = 0, passed = 0;
    if (suspicion->ns < c->least_ns || suspicion->at_end ||
        lull_uneven_explains(c, &uneven, suspicion))
        return 0;
    for (uint32_t i = 0; i < suspicion->count; i++) {
        const struct lull_suspect *suspect = &c->suspects[suspicion->first + i];
        if (suspect->ns == 0)
            continue;
        waited += suspect->kinds[LULL_WAIT_LATE_RECEIVER];
        passed += suspect->passed_ns;
    }
    return waited > 0 && 2 * (waited + passed) > suspicion->ns ? waited : 0;
}

static void tell_eager_limit(struct lull_case *c, const struct lull_suspicion *first, int64_t lost,
                             const struct sides *sides)
{
    const struct lull_suspect *suspect = &c->suspects[first->first];
    const double small = (double)sides->small.bytes / (double)sides->small.count;
    const double large = (double)sides->large.bytes / (double)sides->large.count;
    struct lull_finding *finding = lull_case_add(c, lost);
    lull_finding_set_region(c, finding, first->region, suspect->most->place.call);
    finding->place.instance = suspect->process;
    finding->place.begin = suspect->longest->longest.begin;
    finding->place.end = finding->place.begin + suspect->longest->longest.ns;
    lull_finding_add_fact(finding, "large", "mean size of sends that wait", LULL_FACT_BYTES, large);
    lull_finding_add_fact(finding, "large_time", "mean time of one", LULL_FACT_TIME,
                          mean_ns(&sides->large));
    lull_finding_add_fact(finding, "small", "mean size of smaller sends", LULL_FACT_BYTES, small);
    lull_finding_add_fact(finding, "small_time", "mean time of one", LULL_FACT_TIME,
                          mean_ns(&sides->small));
    finding->sentence = lull_arena_printf(
        c->arena,
        "Sends of %.0f bytes on average wait for receives that are posted a little later, those of "
        "%.0f bytes on average do not: that costs %s.",
        large, small, lull_case_time(c, lost));
    finding->cause =
        "They are beyond the eager limit of MPI; receivers work no longer than others.";
    lull_finding_fix(c, finding)->eager = true;
}

static void find_eager_limit(struct lull_case *c)
{
    const struct lull_work *work = c->evidence->work;
    const struct lull_suspicion *first = NULL;
    struct sides sides;
    int64_t waited = 0, lost = 0;
    if (!work || c->n_suspicions == 0 || !find_sides(work, &sides))
        return;
    bool *explained = lull_arena_zero(c->arena, c->n_suspicions, sizeof *explained);
    for (uint32_t s = 0; s < c->n_suspicions; s++) {
        const int64_t here = waited_of(c, &c->suspicions[s]);
        if (here == 0)
            continue;
        first = first ? first : &c->suspicions[s];
        explained[s] = true;
        waited += here;
        lost += c->suspicions[s].ns;
    }
    if (!first || (double)waited < WAITED_LEAST * (double)sides.large.ns)
        return;
    tell_eager_limit(c, first, lost, &sides);
    for (uint32_t s = 0; s < c->n_suspicions; s++)
        c->suspicions[s].ns = explained[s] ? 0 : c->suspicions[s].ns;
}

const struct lull_rule lull_rule_eager_limit = {
    "eager_limit", "eager limit",
    "sends of large messages wait for receives, though nobody is late", find_eager_limit};
