/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/ideal/epochs.h"

#include "activity/pass.h"
#include "base/array.h"
#include "base/mix.h"
#include "match/circle.h"

#include <stdlib.h>
#include <string.h>

/* ==== epochs ================================================================================== */

/* An ideal time has 62 bits. Its low bits hold the time in the epoch: as many bits as the duration
 * of the run needs, but 38 to 44 (2^44 ns are five hours). An epoch that does not fit, in a longer
 * run or where clocks contradict each other, makes the result void. The other bits number the
 * epochs: 2^18, a quarter of a million, in the longest runs, and more in shorter ones. Operations
 * behind the last epoch are ordinary ones. */
enum { BITS = 62, LEAST_BITS = 38, MOST_BITS = 44 };

enum { EPOCHS_AT_ONCE = 4096 }; /* whose lengths are compared with those of other members */

static bool are_epochs_wanted(const struct lull_ideal *ideal)
{
    const char *wish = getenv("LULL_IDEAL_EPOCHS"); /* for tests: "0": never; else: always */
    if (ideal->options->without_epochs || ideal->has_crews || ideal->has_span ||
        ideal->options->message || ideal->n_parts > 0)
        return false;
    return wish ? strcmp(wish, "0") != 0 : ideal->n_shares > 1;
}

void lull_epochs_begin(struct lull_ideal *ideal)
{
    unsigned bits = LEAST_BITS;
    ideal->epoch_bits = BITS;
    if (!are_epochs_wanted(ideal))
        return;
    while (bits < MOST_BITS && ideal->trace->duration >> bits)
        bits++;
    ideal->epoch_bits = bits;
    ideal->most_epochs = (UINT32_C(1) << (BITS - bits)) - 1;
}

bool lull_epochs_have_all(const struct lull_ideal *ideal, uint32_t comm, uint32_t size)
{
    const struct lull_trace *trace = ideal->trace;
    if (ideal->most_epochs == 0 || size != ideal->n_ranks || lull_circle_is_between(trace, comm))
        return false;
    bool *seen = calloc(trace->n_processes + (size_t)1, sizeof *seen);
    /* without memory it is ordinary here, and void if another share sees an epoch end there */
    bool all = seen != NULL;
    for (uint32_t rank = 0; all && rank < size; rank++) {
        const uint32_t process = lull_circle_process(trace, comm, rank);
        all = process != LULL_NONE && ideal->share_of[process] != NOBODY &&
              trace->processes[process].n_threads > 0 && !seen[process];
        if (all)
            seen[process] = true;
    }
    free(seen);
    return all;
}

/* ---- streams ------------------------------------------------------------------------------- */

bool lull_epoch_ends(const struct share *share, const struct stream *stream,
                     const struct arrival *arrival)
{
    return !arrival->non_blocking && arrival->op < LULL_COLLECTIVE_CREATE &&
           stream->epochs < share->ideal->most_epochs &&
           lull_collective_needs(arrival->op) == LULL_NEEDS_ALL;
}

void lull_epoch_pass(struct share *share, struct stream *stream, const struct arrival *arrival,
                     uint32_t before)
{
    const int64_t lasted = stream->time - lull_epoch_begin(share, stream);
    if (lasted < 0 || lasted >> share->ideal->epoch_bits)
        lull_epochs_spoil(share->ideal);
    if (!lull_array_reserve(&share->epochs, &share->epoch_capacity, stream->epochs + (size_t)1,
                            sizeof *share->epochs)) {
        lull_share_no_memory(share);
        return;
    }
    while (share->n_epochs <= stream->epochs)
        share->epochs[share->n_epochs++] = 0;
    if (lasted > share->epochs[stream->epochs])
        share->epochs[stream->epochs] = lasted;
    lull_epoch_move(share, stream, arrival, before);
}

void lull_epoch_move(struct share *share, struct stream *stream, const struct arrival *arrival,
                     uint32_t before)
{
    const uint32_t comm = lull_comm_canonical(share->ideal->trace, arrival->comm);
    stream->signature =
        lull_mix(lull_mix(stream->signature, (uint64_t)comm << 8 | arrival->op), before);
    stream->epochs++;
    stream->time = lull_epoch_begin(share, stream);
    stream->done = 0; /* what the call received was sent before */
    stream->passes = arrival->in_call;
}

/* ---- the end ------------------------------------------------------------------------------- */

/* What some streams have in common at the end. */
struct sight {
    uint64_t signature; /* of the first of them */
    uint32_t epochs;    /* how many epochs it has ended */
    bool any, differs;  /* there is a stream; another one has a different signature or number */
    bool is_void;       /* ideal->epochs_are_void */
    bool waits;         /* a stream still waits, or there is a complaint */
};

static void add_sight(struct sight *to, const struct sight *more)
{
    to->is_void |= more->is_void;
    to->waits |= more->waits;
    if (to->any && more->any)
        to->differs |= to->epochs != more->epochs || to->signature != more->signature;
    to->differs |= more->differs;
    if (!to->any && more->any) {
        to->any = true;
        to->signature = more->signature;
        to->epochs = more->epochs;
    }
}

static struct sight look_at_own(const struct lull_ideal *ideal)
{
    const struct lull_trace *trace = ideal->trace;
    struct sight own = {.is_void = atomic_load(&ideal->epochs_are_void)};
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const uint16_t at = ideal->share_of[p];
        if (at == NOBODY || trace->processes[p].n_threads == 0 || at < ideal->first_share ||
            at >= ideal->end_share)
            continue;
        const struct stream *stream = ideal->streams[trace->processes[p].first_location];
        struct sight sight = {.any = true};
        if (stream) {
            sight.signature = stream->signature;
            sight.epochs = stream->epochs;
            sight.waits = stream->blocked != ENDED || stream->first_tail;
        }
        add_sight(&own, &sight);
    }
    for (unsigned s = ideal->first_share; s < ideal->end_share; s++)
        own.waits |= ideal->shares[s]->complaint.kind != NO_COMPLAINT;
    return own;
}

static lull_status take_sight(void *context, uint32_t member, const void *bytes, size_t size,
                              struct lull_error *err)
{
    struct sight sight;
    if (size != sizeof sight)
        return lull_fail(err, LULL_ERR_FORMAT, "rank %u is another lull", member);
    memcpy(&sight, bytes, sizeof sight);
    if (member > 0)
        add_sight(context, &sight);
    return LULL_OK;
}

lull_status lull_epochs_look_back(struct lull_ideal *ideal, bool *ret_void, struct lull_error *err)
{
    struct lull_team *team = lull_division_team(ideal->reading->division);
    *ret_void = false;
    if (ideal->most_epochs == 0)
        return LULL_OK;
    const struct sight own = look_at_own(ideal);
    struct sight all = own;
    lull_status status = lull_team_collect(team, &own, sizeof own, take_sight, &all, err);
    if (status == LULL_OK)
        status = lull_team_broadcast(team, &all, sizeof all, err);
    ideal->n_epochs = all.epochs;
    *ret_void = all.is_void || all.differs || (all.waits && all.epochs > 0);
    return status;
}

/* Of each of `count` epochs from `from` on: how late the last process of this member came to its
 * end, ns. */
static void find_latest(const struct lull_ideal *ideal, size_t from, size_t count, int64_t *latest)
{
    memset(latest, 0, count * sizeof *latest);
    for (unsigned s = ideal->first_share; s < ideal->end_share; s++) {
        const struct share *share = ideal->shares[s];
        for (size_t e = 0; e < count && from + e < share->n_epochs; e++)
            if (share->epochs[from + e] > latest[e])
                latest[e] = share->epochs[from + e];
    }
}

lull_status lull_epochs_sum(const struct lull_ideal *ideal, int64_t *ret_sum,
                            struct lull_error *err)
{
    struct lull_team *team = lull_division_team(ideal->reading->division);
    const size_t n = ideal->n_epochs;
    int64_t latest[EPOCHS_AT_ONCE];
    lull_status status = LULL_OK;
    *ret_sum = 0;
    for (size_t from = 0; from < n && status == LULL_OK; from += EPOCHS_AT_ONCE) {
        const size_t count = n - from < EPOCHS_AT_ONCE ? n - from : EPOCHS_AT_ONCE;
        find_latest(ideal, from, count, latest);
        status = lull_team_max(team, latest, count, err);
        for (size_t e = 0; e < count; e++)
            *ret_sum += latest[e];
    }
    return status;
}
