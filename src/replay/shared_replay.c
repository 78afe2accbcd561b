/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/shared_replay.h"

#include "replay/replay.h"
#include "sim/engine/engine.h"
#include "team/ending.h"
#include "team/team.h"

#include <stdlib.h>

/* ==== letters ================================================================================= */

enum {
    LETTERS_OF_PARCEL = 84,   /* 4 KiB */
    ON_THEIR_WAY = 16384,     /* most batches to a member, from all others, that it has not taken */
    FEWEST_ON_THEIR_WAY = 16, /* so many batches another member may always send of these */
    MOST_KEPT = 1 << 20       /* messages that a member keeps: 64 MiB of records */
};

enum { LETTERS_LOOKS = 1000 };

enum letters_kind { LETTERS_BATCH, TAKEN, LETTERS_NOTE };

struct letters_head {
    uint32_t kind;
    uint32_t count;               /* BATCH: of letters; TAKEN: of batches */
    struct lull_ending_note note; /* NOTE */
};

struct parcel {
    struct letters_head head;
    struct lull_sim_letter letters[LETTERS_OF_PARCEL];
};

/* Another member. */
struct other {
    struct parcel *next; /* letters to it that wait for company; NULL: there were none yet */
    uint32_t untaken;    /* batches to it that it has not taken, as far as it has told */
    uint32_t owed;       /* batches of it that were taken here, but it has not been told so */
};

struct lull_letters {
    struct lull_team *team;
    struct other *others; /* [members] */
    struct lull_ending ending;
    uint32_t most_untaken, n_full; /* most batches that may be untaken at one member; how many
                                      members have so many */
    uint32_t n_owing;              /* members of which half as many were taken, to be told */
    bool lost;                     /* a member has gone, or there is no memory for its mail */
    struct lull_team_parcel held;  /* the batch that is being read */
    bool flushes;                  /* letters that wait for company go at the next look for mail */
    struct lull_patience patience;
};

/* ---- posting ------------------------------------------------------------------------------- */

static lull_status post_batch(struct lull_letters *letters, uint32_t to, struct lull_error *err)
{
    struct other *other = &letters->others[to];
    struct parcel *parcel = other->next;
    const size_t size = sizeof parcel->head + parcel->head.count * sizeof parcel->letters[0];
    if (parcel->head.count == 0)
        return LULL_OK;
    lull_status status = lull_team_post(letters->team, LULL_TEAM_REPLAY, to, parcel, size, err);
    parcel->head.count = 0;
    letters->ending.sent++;
    letters->n_full += ++other->untaken == letters->most_untaken;
    return status;
}

static lull_status post(void *context, uint32_t to, const struct lull_sim_letter *letter,
                        struct lull_error *err)
{
    struct lull_letters *letters = context;
    struct other *other = &letters->others[to];
    if (!other->next && !(other->next = calloc(1, sizeof *other->next)))
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for a replay");
    struct parcel *parcel = other->next;
    parcel->letters[parcel->head.count++] = *letter;
    return parcel->head.count == LETTERS_OF_PARCEL ? post_batch(letters, to, err) : LULL_OK;
}

static lull_status flush(struct lull_letters *letters, struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (uint32_t m = 0; m < lull_team_size(letters->team) && status == LULL_OK; m++)
        if (letters->others[m].next)
            status = post_batch(letters, m, err);
    return status;
}

static lull_status tell_taken(struct lull_letters *letters, struct lull_error *err)
{
    lull_status status = LULL_OK;
    if (letters->n_owing == 0)
        return LULL_OK;
    letters->n_owing = 0;
    for (uint32_t m = 0; m < lull_team_size(letters->team) && status == LULL_OK; m++) {
        struct other *other = &letters->others[m];
        const struct letters_head head = {.kind = TAKEN, .count = other->owed};
        if (other->owed < letters->most_untaken / 2)
            continue;
        other->owed = 0;
        status = lull_team_post(letters->team, LULL_TEAM_REPLAY, m, &head, sizeof head, err);
    }
    return status;
}

static lull_status tell_letters_note(void *context, uint32_t to,
                                     const struct lull_ending_note *note, struct lull_error *err)
{
    const struct lull_letters *letters = context;
    const struct letters_head head = {.kind = LETTERS_NOTE, .note = *note};
    return lull_team_post(letters->team, LULL_TEAM_REPLAY, to, &head, sizeof head, err);
}

/* ---- taking -------------------------------------------------------------------------------- */

static void give_back(struct lull_letters *letters)
{
    if (letters->held.bytes)
        lull_team_give_back(&letters->held);
    letters->held.bytes = NULL;
}

static void hear_taken(struct lull_letters *letters, uint32_t from, uint32_t count)
{
    struct other *other = &letters->others[from];
    letters->n_full -=
        other->untaken >= letters->most_untaken && other->untaken - count < letters->most_untaken;
    other->untaken -= count;
}

/* Takes parcels up to the next batch of letters, which becomes letters->held; held.bytes is NULL if
 * there is none. */
static lull_status take_parcels(struct lull_letters *letters, struct lull_error *err)
{
    lull_status status = LULL_OK;
    while (status == LULL_OK && !letters->ending.over) {
        struct lull_team_parcel parcel;
        status = lull_team_take(letters->team, LULL_TEAM_REPLAY, &parcel, err);
        if (status != LULL_OK || !parcel.bytes)
            return status;
        const struct letters_head *head = parcel.bytes;
        if (head->kind == LETTERS_BATCH) {
            letters->held = parcel;
            letters->ending.received++;
            letters->n_owing += ++letters->others[parcel.from].owed == letters->most_untaken / 2;
            return LULL_OK;
        }
        if (head->kind == TAKEN)
            hear_taken(letters, parcel.from, head->count);
        else
            status = lull_ending_hear(&letters->ending, parcel.from, &head->note, err);
        lull_team_give_back(&parcel);
    }
    return status;
}

/* Nothing has come. */
static lull_status wait_a_little(struct lull_letters *letters, struct lull_error *err)
{
    lull_status status = LULL_OK;
    if (lull_patience_is_worth_a_word(&letters->patience, letters->ending.settled))
        status = lull_ending_report(&letters->ending, err);
    lull_patience_wait(lull_patience_lose(&letters->patience));
    return status;
}

static lull_status take(void *context, bool idle, uint32_t kept, struct lull_sim_news *ret_news,
                        struct lull_error *err)
{
    struct lull_letters *letters = context;
    const bool waits = idle || letters->n_full > 0;
    lull_status status = LULL_OK;
    *ret_news = (struct lull_sim_news){0};
    give_back(letters);
    if (waits || letters->flushes)
        status = flush(letters, err);
    if (status == LULL_OK && (waits || kept < MOST_KEPT))
        status = tell_taken(letters, err);
    letters->ending.settled = idle;
    if (status == LULL_OK)
        status = take_parcels(letters, err);
    letters->flushes = !letters->held.bytes;
    if (letters->held.bytes) {
        const struct parcel *parcel = letters->held.bytes;
        ret_news->letters = parcel->letters;
        ret_news->count = parcel->head.count;
    }
    if (letters->held.bytes || !waits) {
        lull_patience_renew(&letters->patience);
    } else if (status == LULL_OK && !letters->ending.over) {
        status = wait_a_little(letters, err);
    }
    letters->lost |= status != LULL_OK && status != LULL_ERR_CANCELLED;
    ret_news->full = letters->n_full > 0;
    ret_news->over = letters->ending.over;
    return status;
}

/* ---- life ---------------------------------------------------------------------------------- */

struct lull_letters *lull_letters_create(struct lull_team *team)
{
    const uint32_t n = lull_team_size(team);
    struct lull_letters *letters = calloc(1, sizeof *letters);
    if (!letters)
        return NULL;
    *letters = (struct lull_letters){
        .team = team,
        .others = calloc(n, sizeof *letters->others),
        .ending = {.team = team, .tell = tell_letters_note, .context = letters},
        .most_untaken =
            ON_THEIR_WAY / n > FEWEST_ON_THEIR_WAY ? ON_THEIR_WAY / n : FEWEST_ON_THEIR_WAY,
        .patience = {.at_once = LETTERS_LOOKS}};
    if (letters->others && lull_ending_open(&letters->ending))
        return letters;
    lull_letters_destroy(letters);
    return NULL;
}

void lull_letters_destroy(struct lull_letters *letters)
{
    if (!letters)
        return;
    give_back(letters);
    for (uint32_t m = 0; letters->others && m < lull_team_size(letters->team); m++)
        free(letters->others[m].next);
    lull_ending_close(&letters->ending);
    free(letters->others);
    free(letters);
}

bool lull_letters_ended(const struct lull_letters *letters)
{
    return letters->ending.over;
}

static bool letters_lost(const struct lull_letters *letters)
{
    return letters->lost;
}

struct lull_sim_part lull_letters_part(struct lull_letters *letters)
{
    return (struct lull_sim_part){.index = lull_team_index(letters->team),
                                  .n = lull_team_size(letters->team),
                                  .context = letters,
                                  .post = post,
                                  .take = take};
}

/* ==== shared replay =========================================================================== */

bool lull_shared_may_be(const struct lull_network *network)
{
    return network->class->any_order;
}

/* The first rank of each member, and behind the last member the number of ranks. */
static const uint32_t *ranks_of(const struct lull_shared *shared, struct lull_arena *arena)
{
    const uint32_t members = lull_team_size(shared->division->team);
    uint32_t *cuts = lull_arena_zero(arena, members + (size_t)1, sizeof *cuts);
    for (uint32_t m = 0; m <= members; m++)
        cuts[m] = lull_replay_ranks_before(shared->program, shared->division->cuts[m]);
    return cuts;
}

/* ---- whether all have called the same collective operations -------------------------------- */

/* Numbers of all members are equal where the largest of them is minus the largest of their
 * negatives. */
static lull_status compare_signatures(struct lull_team *team, const uint64_t *signatures,
                                      uint32_t n, bool *ret_differ, struct lull_error *err)
{
    int64_t *values = malloc((2 * (size_t)n + 1) * sizeof *values);
    if (!values)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for a replay");
    for (uint32_t i = 0; i < n; i++) {
        const int64_t own = (int64_t)signatures[i];
        values[2 * (size_t)i] = own ? own : INT64_MIN;
        values[2 * (size_t)i + 1] = own ? -own : INT64_MIN;
    }
    lull_status status = lull_team_max(team, values, 2 * (size_t)n, err);
    *ret_differ = false;
    for (uint32_t i = 0; i < n && lull_team_is_first(team); i++)
        *ret_differ |= values[2 * (size_t)i] != INT64_MIN &&
                       values[2 * (size_t)i] != -values[2 * (size_t)i + 1];
    free(values);
    return status;
}

/* ---- the result ---------------------------------------------------------------------------- */

static lull_status put_together(const struct lull_shared *shared, bool alone,
                                const uint64_t *signatures, const struct lull_sim_result *own,
                                struct lull_shared_result *ret_result, struct lull_error *err)
{
    struct lull_team *team = shared->division->team;
    int64_t messages = (int64_t)own->n_messages, most[2] = {alone, own->runtime};
    struct lull_shared_result all = {0};
    bool differ = false;
    lull_status status = lull_team_sum(team, &messages, 1, err);
    if (status == LULL_OK)
        status = lull_team_max(team, most, 2, err);
    all.alone = most[0];
    all.runtime = most[1];
    all.n_messages = (uint64_t)messages;
    if (status == LULL_OK)
        status = lull_team_broadcast(team, &all, sizeof all, err);
    if (status == LULL_OK && !all.alone)
        status = compare_signatures(team, signatures, shared->program->n_groups, &differ, err);
    if (status == LULL_OK)
        status = lull_team_broadcast(team, &differ, sizeof differ, err);
    all.alone |= differ;
    *ret_result = all;
    return lull_team_agree(team, status, err);
}

/* ---- simulating ---------------------------------------------------------------------------- */

/* Simulates the part of this member. Sets *ret_lost where the others cannot be reached. */
static lull_status simulate(const struct lull_shared *shared, uint64_t *signatures,
                            struct lull_arena *arena, struct lull_sim_result *ret_own,
                            bool *ret_lost, struct lull_error *err)
{
    struct lull_letters *letters = lull_letters_create(shared->division->team);
    if (!letters || !signatures) {
        lull_letters_destroy(letters);
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for a replay");
    }
    struct lull_sim_options options = *shared->options;
    struct lull_sim_part part = lull_letters_part(letters);
    part.cuts = ranks_of(shared, arena);
    part.signatures = signatures;
    options.part = &part;
    lull_status status = lull_simulate(shared->program, &options, arena, ret_own, NULL, err);
    *ret_lost = letters_lost(letters);
    lull_letters_destroy(letters);
    return status;
}

lull_status lull_shared_simulate(const struct lull_shared *shared, lull_status status,
                                 struct lull_arena *arena, struct lull_shared_result *ret_result,
                                 struct lull_error *err)
{
    struct lull_team *team = shared->division->team;
    struct lull_sim_result own = {0};
    uint64_t *signatures = NULL;
    bool lost = false;
    lull_team_begin(team, LULL_TEAM_REPLAY);
    if (status == LULL_OK) {
        signatures = calloc(shared->program->n_groups + (size_t)1, sizeof *signatures);
        status = simulate(shared, signatures, arena, &own, &lost, err);
    }
    const bool alone = status != LULL_OK;
    if (alone) /* others may wait for its letters */
        lull_team_stop(team);
    status = lull_team_agree(team, lost ? status : LULL_OK, err);
    if (status == LULL_OK)
        status = put_together(shared, alone, signatures, &own, ret_result, err);
    free(signatures);
    return status;
}
