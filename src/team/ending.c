/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/ending.h"

#include "base/clock.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

/* ==== patience ================================================================================ */

enum { FIRST_NAP_NS = 10000, LONGEST_NAP_NS = 500000, WORTH_A_WORD_NS = 200000 };

void lull_patience_renew(struct lull_patience *patience)
{
    patience->looks = 0;
    patience->nap = 0;
    patience->since = 0;
}

bool lull_patience_is_worth_a_word(struct lull_patience *patience, bool settled)
{
    const int64_t now = lull_clock_read(CLOCK_MONOTONIC);
    if (!settled)
        patience->since = 0;
    else if (patience->since == 0)
        patience->since = now;
    return settled && now - patience->since >= WORTH_A_WORD_NS;
}

int64_t lull_patience_lose(struct lull_patience *patience)
{
    if (patience->looks < patience->at_once) {
        patience->looks++;
        return 0;
    }
    const int64_t nap = patience->nap;
    patience->nap = nap == 0 ? FIRST_NAP_NS : nap < LONGEST_NAP_NS ? nap + nap / 4 : nap;
    return patience->nap;
}

void lull_patience_wait(int64_t ns)
{
    const struct timespec span = {.tv_nsec = ns};
    if (ns > 0)
        nanosleep(&span, NULL);
    else
        sched_yield();
}

/* ==== ending ================================================================================== */

enum kind { REPORT, PROBE, ANSWER, OVER };

/* What the first knows of a member. */
struct lull_ending_known {
    bool settled, answered;
    uint64_t sent, received, findings;
};

bool lull_ending_open(struct lull_ending *ending)
{
    ending->known = calloc(lull_team_size(ending->team), sizeof *ending->known);
    return ending->known;
}

void lull_ending_close(struct lull_ending *ending)
{
    free(ending->known);
    ending->known = NULL;
}

void lull_ending_again(struct lull_ending *ending)
{
    ending->over = ending->told = false;
}

static struct lull_ending_note own_note(const struct lull_ending *ending, enum kind kind)
{
    return (struct lull_ending_note){.kind = kind,
                                     .probe = ending->probe,
                                     .settled = ending->settled,
                                     .sent = ending->sent,
                                     .received = ending->received};
}

/* The answer of this member, with its findings. */
static struct lull_ending_note own_answer(const struct lull_ending *ending)
{
    struct lull_ending_note note = own_note(ending, ANSWER);
    if (note.settled && ending->look)
        note.findings = ending->look(ending->context);
    return note;
}

static void know(struct lull_ending *ending, uint32_t member, const struct lull_ending_note *note)
{
    struct lull_ending_known *known = &ending->known[member];
    known->settled = note->settled;
    known->sent = note->sent;
    known->received = note->received;
}

static void know_answer(struct lull_ending *ending, uint32_t member,
                        const struct lull_ending_note *note)
{
    know(ending, member, note);
    ending->known[member].answered = true;
    ending->known[member].findings = note->findings;
    ending->spoilt |= !note->settled;
}

static lull_status tell_others(struct lull_ending *ending, enum kind kind, struct lull_error *err)
{
    struct lull_ending_note note = own_note(ending, kind);
    note.findings = ending->findings;
    lull_status status = LULL_OK;
    for (uint32_t m = 1; m < lull_team_size(ending->team) && status == LULL_OK; m++)
        status = ending->tell(ending->context, m, &note, err);
    return status;
}

/* Whether all have settled and as many parcels have come as were sent; *ret_count: how many. */
static bool adds_up(const struct lull_ending *ending, uint64_t *ret_count)
{
    uint64_t sent = 0, received = 0;
    for (uint32_t m = 0; m < lull_team_size(ending->team); m++) {
        if (!ending->known[m].settled)
            return false;
        sent += ending->known[m].sent;
        received += ending->known[m].received;
    }
    *ret_count = sent;
    return sent == received;
}

/* On the first, when it has heard a report or has settled itself: asks all once more, if the
 * numbers add up. */
static lull_status consider(struct lull_ending *ending, struct lull_error *err)
{
    const struct lull_ending_note own = own_note(ending, REPORT);
    uint64_t count;
    know(ending, 0, &own);
    if (ending->asked || !adds_up(ending, &count))
        return LULL_OK;
    ending->asked = true;
    ending->spoilt = false;
    ending->counted = count;
    ending->probe++;
    for (uint32_t m = 1; m < lull_team_size(ending->team); m++)
        ending->known[m].answered = false;
    return tell_others(ending, PROBE, err);
}

/* On the first, when an answer has come: decides once all have answered. If this was not the end,
 * what was reported meanwhile may already add up. */
static lull_status count_again(struct lull_ending *ending, struct lull_error *err)
{
    uint64_t count;
    for (uint32_t m = 1; m < lull_team_size(ending->team); m++)
        if (!ending->known[m].answered)
            return LULL_OK;
    const struct lull_ending_note own = own_answer(ending);
    ending->asked = false;
    know_answer(ending, 0, &own);
    if (ending->spoilt || !adds_up(ending, &count) || count != ending->counted)
        return consider(ending, err);
    ending->over = true;
    ending->findings = 0;
    for (uint32_t m = 0; m < lull_team_size(ending->team); m++) {
        ending->findings |= ending->known[m].findings;
        ending->known[m].settled = false; /* what is reported from now on is of the next ending */
    }
    return tell_others(ending, OVER, err);
}

/* Answers the question of the first. A member that has not settled after all reports later, when it
 * has. */
static lull_status answer(struct lull_ending *ending, uint32_t probe, struct lull_error *err)
{
    struct lull_ending_note note = own_answer(ending);
    note.probe = probe;
    ending->told = ending->settled;
    ending->told_sent = ending->sent;
    ending->told_received = ending->received;
    return ending->tell(ending->context, 0, &note, err);
}

lull_status lull_ending_hear(struct lull_ending *ending, uint32_t from,
                             const struct lull_ending_note *note, struct lull_error *err)
{
    switch (note->kind) {
    case REPORT:
        know(ending, from, note);
        return consider(ending, err);
    case PROBE:
        return answer(ending, note->probe, err);
    case ANSWER:
        know_answer(ending, from, note);
        return count_again(ending, err);
    default:
        ending->over = true;
        ending->findings = note->findings;
        return LULL_OK;
    }
}

lull_status lull_ending_report(struct lull_ending *ending, struct lull_error *err)
{
    const struct lull_ending_note note = own_note(ending, REPORT);
    if (lull_team_is_first(ending->team))
        return consider(ending, err);
    if (ending->told && ending->told_sent == ending->sent &&
        ending->told_received == ending->received)
        return LULL_OK;
    ending->told = true;
    ending->told_sent = ending->sent;
    ending->told_received = ending->received;
    return ending->tell(ending->context, 0, &note, err);
}
