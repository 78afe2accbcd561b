/* What never comes, because the records of who would send it, or take part, have ended: of killed
 * programs, of recorders whose budget was spent, of damaged files.
 *
 * That is looked at when nothing goes on any more: so it is known of a process that has ended then
 * what it has sent and taken part in, by all members of a team. Who waits for more goes on without,
 * also later. What is known so is true whenever it is learned: so the order in which processes end
 * makes no difference, and only where nobody can go on, all go on without. */
#include "wait/shared/office.h"

#include <stdlib.h>

static bool has_ended(const struct lull_waits *waits, uint32_t process)
{
    const uint32_t n = waits->lanes ? waits->trace->processes[process].n_threads : 1;
    return waits->ends[process] >= n;
}

static bool is_follower(const struct lull_waits *waits, uint32_t process)
{
    return waits->trace->processes[process].application == waits->options.application &&
           !lull_wait_is_far(waits, process);
}

void lull_wait_end(struct lull_waits *waits, uint32_t process)
{
    waits->ends[process]++;
    if (!waits->knows_ends || !has_ended(waits, process))
        return;
    for (uint32_t q = waits->queues_of[process]; q != LULL_NONE;
         q = waits->queues[q].next_of_source)
        lull_wait_wake_queue(waits, q);
}

/* Each process is a bit of its member, and 0 of others. */
static lull_status learn_processes(struct lull_waits *waits, struct lull_error *err)
{
    const uint32_t n = waits->trace->n_processes;
    const size_t words = n / 63 + (size_t)1;
    struct lull_team *team = lull_wait_team(waits);
    int64_t *bits = calloc(words, sizeof *bits);
    if (!bits) {
        waits->no_memory = true;
        return LULL_OK;
    }
    for (uint32_t p = 0; p < n; p++)
        if (is_follower(waits, p) && has_ended(waits, p))
            bits[p / 63] |= INT64_C(1) << p % 63;
    lull_status status = lull_team_sum_to_all(team, bits, words, err);
    for (uint32_t p = 0; p < n && status == LULL_OK; p++)
        waits->ended[p] = waits->trace->processes[p].n_threads == 0 || bits[p / 63] >> p % 63 & 1;
    waits->knows_ends = true;
    free(bits);
    return status;
}

/* ---- collective operations ------------------------------------------------------------------ */

/* What the ranks that this member has, and that have ended, took part in. */
static void look_at_series(struct lull_waits *waits, uint32_t index)
{
    struct wait_series *series = &waits->series[index];
    for (uint32_t r = 0; r < series->size; r++) {
        const uint32_t process = lull_wait_process_of_rank(waits, series, r);
        if (lull_wait_is_far(waits, process) || !waits->ended[process])
            continue;
        const uint32_t count = lull_wait_count_operations(waits, index, process);
        uint32_t *fewest = &series->fewest[lull_wait_group_of(series, r)];
        *fewest = count < *fewest ? count : *fewest;
    }
}

static void tell_fewest(struct lull_waits *waits, uint32_t series, unsigned group)
{
    waits->no_memory |= !lull_wait_tell_fewest(waits, &waits->series[series], group);
}

/* Who has none of the ranks that came to a series, may have some that have ended. */
static void announce_series(struct lull_waits *waits)
{
    for (uint32_t s = 0; s < waits->series_by_comm.count; s++)
        if (!waits->series[s].announced)
            tell_fewest(waits, s, 0);
}

static void learn_series(struct lull_waits *waits)
{
    for (uint32_t s = 0; s < waits->series_by_comm.count; s++) {
        const uint32_t before[] = {waits->series[s].fewest[0], waits->series[s].fewest[1]};
        look_at_series(waits, s);
        for (unsigned g = 0; g < 2; g++)
            if (waits->series[s].fewest[g] < before[g])
                tell_fewest(waits, s, g);
    }
}

/* ---- both ---------------------------------------------------------------------------------- */

/* All that members have told each other has come. */
static lull_status settle_letters(struct lull_waits *waits, struct lull_error *err)
{
    return waits->office ? lull_wait_office_settle(waits, err) : LULL_OK;
}

/* By all members together. */
static lull_status learn_ends(struct lull_waits *waits, struct lull_error *err)
{
    lull_status status = learn_processes(waits, err);
    if (status != LULL_OK || waits->no_memory)
        return status;
    announce_series(waits);
    status = settle_letters(waits, err);
    if (status != LULL_OK || waits->no_memory)
        return status;
    learn_series(waits);
    return settle_letters(waits, err);
}

bool lull_wait_never_comes(const struct lull_waits *waits, const struct wait_pending *pending)
{
    if (pending->is_post)
        return false; /* who has ended has come as far as need be */
    if (pending->is_message) {
        const uint32_t source = waits->queues[pending->what].source;
        return waits->ended[source] ||
               (waits->knows_ends && !lull_wait_is_far(waits, source) && has_ended(waits, source));
    }
    const struct wait_series *series = &waits->series[pending->what];
    const uint32_t rank = waits->members[pending->member].rank;
    const uint32_t *fewest = series->fewest;
    switch ((enum wait_meeting)pending->meeting) {
    case MEETS_ROOT: /* where nobody says that it is the root, all are waited for */
        if (pending->root >= 0 && !waits->ended[pending->root])
            return false;
        break;
    case MEETS_OTHERS:
    case ROOT_MEETS_OTHERS:
        return pending->number >= fewest[!lull_wait_group_of(series, rank)];
    case MEETS_LOWER: /* perhaps it was one above that has ended */
        return false;
    default:
        break;
    }
    return pending->number >= fewest[0] || pending->number >= fewest[1];
}

/* ---- what is left ---------------------------------------------------------------------------- */

/* Those who wait for a message or an operation look once more whether it is there. */
static void recheck_stream(struct lull_waits *waits, struct wait_stream *stream)
{
    const struct wait_pending *pending = &stream->pending[stream->pending_at];
    if (pending->is_post)
        return;
    if (pending->is_message)
        waits->queues[pending->what].waiting = NULL;
    else
        lull_wait_leave_line(waits, pending);
    lull_wait_ready(waits, stream);
}

/* Nobody comes any more whom the stream waits for. */
static void release(struct lull_waits *waits, struct wait_stream *stream)
{
    const struct wait_pending *pending = &stream->pending[stream->pending_at];
    if (pending->is_post) {
        lull_wait_give_up(waits, stream);
        return;
    }
    recheck_stream(waits, stream);
    stream->pending_at++;
    lull_wait_go_without(waits, stream);
}

static void go_on_all(struct lull_waits *waits,
                      void (*how)(struct lull_waits *waits, struct wait_stream *stream))
{
    for (uint32_t l = 0; l < waits->trace->n_locations; l++)
        if (waits->streams[l] && waits->streams[l]->blocked)
            how(waits, waits->streams[l]);
    if (how == release)
        lull_wait_unwatch_all(waits);
    lull_wait_run_ready(waits);
}

/* What members of a team know together when all that they have told each other has come. */
struct standstill {
    int64_t blocked;  /* streams */
    int64_t released; /* since `before` */
    uint64_t before;
};

static lull_status stand_still(struct lull_waits *waits, struct standstill *still,
                               struct lull_error *err)
{
    struct lull_team *team = lull_wait_team(waits);
    lull_status status = settle_letters(waits, err);
    int64_t counts[] = {0, (int64_t)(waits->unmatched_operations - still->before)};
    for (uint32_t l = 0; l < waits->trace->n_locations; l++)
        counts[0] += waits->streams[l] && waits->streams[l]->blocked;
    if (status == LULL_OK && !waits->no_memory)
        status = lull_team_sum(team, counts, 2, err);
    if (status == LULL_OK && !waits->no_memory)
        status = lull_team_broadcast(team, counts, sizeof counts, err);
    still->blocked = counts[0];
    still->released = counts[1];
    still->before = waits->unmatched_operations;
    return status;
}

/* Those whose partners have ended go on first, as others may wait for them alone. */
static lull_status go_on_without(struct lull_waits *waits, struct lull_error *err)
{
    struct standstill still = {0};
    bool learned = false;
    lull_status status = stand_still(waits, &still, err);
    while (status == LULL_OK && !waits->no_memory && still.blocked > 0) {
        learned = !learned || still.released > 0;
        if (learned)
            status = learn_ends(waits, err);
        if (status == LULL_OK && !waits->no_memory)
            go_on_all(waits, learned ? recheck_stream : release);
        if (status == LULL_OK)
            status = stand_still(waits, &still, err);
    }
    return status;
}

lull_status lull_wait_release(struct lull_waits *waits, struct lull_error *err)
{
    lull_status status = go_on_without(waits, err);
    for (uint32_t l = 0; l < waits->trace->n_locations && status == LULL_OK; l++)
        if (waits->streams[l])
            waits->no_memory |= !lull_wait_settle(waits, waits->streams[l]);
    return status;
}
