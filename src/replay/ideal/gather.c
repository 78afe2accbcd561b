/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/ideal/gather.h"

#include "activity/channel.h"
#include "base/array.h"
#include "match/circle.h"
#include "replay/ideal/epochs.h"
#include "replay/ideal/mail.h"

#include <string.h>

/* ==== communicators as a share sees them ====================================================== */

/* A series of operations (match/circle.h). */
struct series {
    uint32_t comm;
    uint32_t next;                 /* index of another series of the communicator, or LULL_NONE */
    uint8_t kind;                  /* lull_circle_series */
    struct lull_match_series open; /* of struct gathering */
};

/* A communicator as a share sees it. */
struct circle {
    bool known;
    bool has_all;              /* its members are the processes that are analysed, each once; false
                                  also in a reading without epochs */
    uint32_t home, size, here; /* index of the home; members in all; members in this share */
    uint32_t series;           /* index of its first series */
    uint32_t *others;          /* [n_others]: other shares with members */
    uint32_t n_others;
};

/* A process in a series. */
struct member {
    uint32_t comm, series, rank;
    uint32_t count; /* its operations so far; the next one has this number */
    uint32_t next;  /* index of another membership of the same process, or LULL_NONE */
    uint8_t kind;   /* of the series */
};

static uint32_t add_series(struct share *share, uint32_t comm, uint8_t kind)
{
    if (!lull_array_reserve(&share->series, &share->series_capacity, share->n_series + 1,
                            sizeof *share->series))
        return LULL_NONE;
    share->series[share->n_series] =
        (struct series){.comm = comm, .kind = kind, .next = share->circles[comm].series};
    share->circles[comm].series = (uint32_t)share->n_series;
    return (uint32_t)share->n_series++;
}

static struct member *add_member(struct share *share, struct process *process,
                                 const struct member *like)
{
    if (!lull_array_reserve(&share->members, &share->member_capacity, share->n_members + 1,
                            sizeof *share->members))
        return NULL;
    struct member *member = &share->members[share->n_members];
    *member = *like;
    member->next = process->first_member;
    process->first_member = (uint32_t)share->n_members++;
    return member;
}

/* Finds the members of a communicator in this share, and the other shares with members. False: no
 * memory. */
static bool enrol(struct share *share, uint32_t comm)
{
    struct lull_ideal *ideal = share->ideal;
    struct circle *circle = &share->circles[comm];
    uint8_t *seen = calloc(ideal->n_shares, sizeof *seen);
    uint32_t *others = calloc(ideal->n_shares, sizeof *others);
    circle->others = others;
    uint32_t series = seen && others ? add_series(share, comm, 0) : LULL_NONE;
    bool fits = series != LULL_NONE;
    for (uint32_t rank = 0; fits && rank < circle->size; rank++) {
        uint32_t process = lull_circle_process(ideal->trace, comm, rank);
        uint16_t at = process == LULL_NONE ? NOBODY : ideal->share_of[process];
        if (at == share->index) {
            struct process *p = lull_share_process(share, process);
            const struct member member = {.comm = comm, .series = series, .rank = rank};
            fits = p && add_member(share, p, &member);
            circle->here++;
        } else if (at != NOBODY && !seen[at]) {
            seen[at] = 1;
            others[circle->n_others++] = at;
        }
    }
    free(seen);
    return fits;
}

/* NULL: no memory, which is noted. */
static struct circle *circle_open(struct share *share, uint32_t comm)
{
    const struct lull_trace *trace = share->ideal->trace;
    struct circle *circle = &share->circles[comm];
    if (circle->known)
        return circle;
    circle->known = true;
    circle->series = LULL_NONE;
    circle->size = lull_circle_size(trace, comm);
    circle->has_all = lull_epochs_have_all(share->ideal, comm, circle->size);
    circle->home = share->index;
    for (uint32_t rank = 0; rank < circle->size; rank++) { /* the first that is analysed */
        uint32_t process = lull_circle_process(trace, comm, rank);
        if (process == LULL_NONE || share->ideal->share_of[process] == NOBODY)
            continue;
        circle->home = share->ideal->share_of[process];
        break;
    }
    if (enrol(share, comm))
        return circle;
    lull_share_no_memory(share);
    return NULL;
}

/* The membership of a process in a series; NULL: there is none. The list of a process is short, and
 * the membership that was asked for last is moved to its front. */
static struct member *find_member(struct share *share, struct process *process, uint32_t comm,
                                  uint8_t kind)
{
    struct member *members = share->members;
    for (uint32_t *link = &process->first_member; *link != LULL_NONE; link = &members[*link].next) {
        struct member *found = &members[*link];
        if (found->comm != comm || found->kind != kind)
            continue;
        if (link != &process->first_member) {
            uint32_t index = *link;
            *link = found->next;
            found->next = process->first_member;
            process->first_member = index;
        }
        return found;
    }
    return NULL;
}

/* The index of the series of that kind, made if needed; LULL_NONE: no memory. */
static uint32_t circle_series(struct share *share, uint32_t comm, uint8_t kind)
{
    for (uint32_t at = share->circles[comm].series; at != LULL_NONE; at = share->series[at].next)
        if (share->series[at].kind == kind)
            return at;
    return add_series(share, comm, kind);
}

/* The membership of a process in a series, made if needed. NULL: the process is no member of the
 * communicator (*ret_stranger), or there is no memory. */
static struct member *circle_member(struct share *share, struct process *process, uint32_t comm,
                                    uint8_t kind, bool *ret_stranger)
{
    struct member *member = find_member(share, process, comm, kind);
    *ret_stranger = false;
    if (member)
        return member;
    const struct member *blocking = kind ? find_member(share, process, comm, 0) : NULL;
    *ret_stranger = !blocking;
    if (!blocking)
        return NULL;
    struct member like = {.comm = comm, .rank = blocking->rank, .kind = kind};
    like.series = circle_series(share, comm, kind);
    return like.series == LULL_NONE ? NULL : add_member(share, process, &like);
}

/* ==== gatherings ============================================================================== */

/* One operation as a share sees it, until its members have left it. All times are ideal, except
 * those called measured. */
struct gathering {
    int64_t latest;  /* the latest arrival so far; in other shares than the home only once all have
                        arrived */
    int64_t root_at; /* arrival of the root that others wait for, or -1 */
    int64_t
        *below; /* [size], scans: the latest arrival of the ranks up to this one, or -1. At home,
                        from first_missing on, the arrival of the rank itself, or -1 */
    uint32_t latest_path, root_path;            /* of `latest` and `root_at` (path.h) */
    uint32_t *below_path;                       /* [size]: of `below`; NULL: no paths are wanted */
    uint32_t n_below;                           /* the size of both */
    uint32_t latest_of_path[2], all_of_path[2]; /* of `latest_of` and `all_of` */
    struct stream *waiting;                     /* list of the streams that wait */
    uint32_t arrived;                           /* at home: members that have arrived */
    uint32_t left;                              /* members of this share that have left */
    uint32_t first_missing;   /* scans, at home: the first rank that has not arrived */
    uint32_t root_share;      /* share of the root that waits for all, or LULL_NONE */
    bool all;                 /* all have arrived */
    uint32_t arrived_of[2];   /* between two groups, at home: how many of each have arrived ... */
    int64_t latest_of[2];     /* ... and the latest arrival of each */
    int64_t all_of[2];        /* latest_of of a group all of which have arrived; else -1 */
    uint8_t low_op, other_op; /* operations of the next two, which differ */
    uint32_t low_rank, other_rank; /* of those that have arrived at home, the lowest rank, and the
                                      lowest rank with another operation; LULL_NONE: none */
    int64_t low_measured, other_measured; /* their arrivals */
};

static struct gathering *gathering_at(const struct series *series, uint32_t place)
{
    return lull_match_open_at(&series->open, sizeof(struct gathering), place);
}

/* The gathering of that number, opened if needed; valid until the next is opened. NULL: it is over,
 * or there is no memory, which is noted. */
static struct gathering *find_gathering(struct share *share, uint32_t index, uint32_t number)
{
    static const struct gathering fresh = {.root_at = -1,
                                           .root_share = LULL_NONE,
                                           .all_of = {-1, -1},
                                           .low_rank = LULL_NONE,
                                           .other_rank = LULL_NONE};
    struct lull_match_series *series = &share->series[index].open;
    if (lull_match_is_closed(series, number))
        return NULL;
    struct gathering *found = lull_match_open(series, sizeof fresh, number, &fresh);
    if (!found)
        lull_share_no_memory(share);
    return found;
}

static void free_gathering(struct share *share, struct gathering *gathering)
{
    lull_ideal_path_drop(share->paths, gathering->latest_path);
    lull_ideal_path_drop(share->paths, gathering->root_path);
    for (unsigned group = 0; group < 2; group++) {
        lull_ideal_path_drop(share->paths, gathering->latest_of_path[group]);
        lull_ideal_path_drop(share->paths, gathering->all_of_path[group]);
    }
    for (uint32_t r = 0; gathering->below_path && r < gathering->n_below; r++)
        lull_ideal_path_drop(share->paths, gathering->below_path[r]);
    free(gathering->below);
    free(gathering->below_path);
}

/* Closes the oldest gatherings, up to the first in which a member is yet to arrive or leave. */
static void close_gatherings(struct share *share, struct series *series)
{
    const struct circle *circle = &share->circles[series->comm];
    while (series->open.operations.count > 0) {
        struct gathering *oldest = gathering_at(series, 0);
        if (oldest->left < circle->here ||
            (circle->home == share->index && oldest->arrived < circle->size))
            return;
        free_gathering(share, oldest);
        lull_match_close(&series->open);
    }
}

static void wake_gathering(struct share *share, struct gathering *gathering)
{
    struct stream *waiting = gathering->waiting;
    gathering->waiting = NULL;
    for (struct stream *next; waiting; waiting = next) {
        next = waiting->next_waiting;
        lull_share_ready(share, waiting);
    }
}

static bool needs_below(struct share *share, struct gathering *gathering, uint32_t size)
{
    if (gathering->below)
        return true;
    gathering->below = malloc(size * sizeof *gathering->below);
    if (!gathering->below) {
        lull_share_no_memory(share);
        return false;
    }
    memset(gathering->below, 0xff, size * sizeof *gathering->below);
    gathering->n_below = size;
    if (share->paths && !(gathering->below_path = calloc(size, sizeof *gathering->below_path))) {
        lull_share_no_memory(share);
        return false;
    }
    return true;
}

/* The caller goes on to hold `path`, which is that of the time of the news. */
static void tell_share(struct share *share, uint32_t to, const struct letter *news, uint32_t path)
{
    lull_post_path(share, to, path);
    struct letter *letter = lull_post(share, to, news->kind);
    if (letter)
        *letter = *news;
}

static void tell_others(struct share *share, const struct letter *news, uint32_t path)
{
    const struct circle *circle = &share->circles[news->a];
    for (uint32_t i = 0; i < circle->n_others; i++)
        tell_share(share, circle->others[i], news, path);
}

/* ---- at home ------------------------------------------------------------------------------- */

static void complain(struct share *share, const struct complaint *complaint)
{
    struct complaint *known = &share->complaint;
    if (known->kind == NO_COMPLAINT || complaint->measured < known->measured ||
        (complaint->measured == known->measured && complaint->process < known->process))
        *known = *complaint;
}

static void complain_of_operations(struct share *share, uint32_t comm,
                                   const struct gathering *gathering)
{
    const struct complaint complaint = {
        .kind = DIFFERENT_OPERATIONS,
        .measured = gathering->other_measured,
        .process = lull_circle_process(share->ideal->trace, comm, gathering->other_rank),
        .comm = comm,
        .op = gathering->other_op,
        .other_op = gathering->low_op};
    complain(share, &complaint);
}

/* Keeps the lowest rank, and the lowest rank with another operation, whatever the order of
 * arrivals. */
static void compare_operations(struct gathering *gathering, const struct letter *arrival)
{
    if (gathering->low_rank == LULL_NONE) {
        gathering->low_op = arrival->op;
        gathering->low_rank = arrival->c;
        gathering->low_measured = arrival->measured;
    } else if (arrival->c < gathering->low_rank) {
        if (arrival->op != gathering->low_op) {
            gathering->other_op = gathering->low_op;
            gathering->other_rank = gathering->low_rank;
            gathering->other_measured = gathering->low_measured;
        }
        gathering->low_op = arrival->op;
        gathering->low_rank = arrival->c;
        gathering->low_measured = arrival->measured;
    } else if (arrival->op != gathering->low_op && arrival->c < gathering->other_rank) {
        gathering->other_op = arrival->op;
        gathering->other_rank = arrival->c;
        gathering->other_measured = arrival->measured;
    }
}

static void note_scan(struct share *share, struct gathering *gathering,
                      const struct letter *arrival, uint32_t path)
{
    const struct circle *circle = &share->circles[arrival->a];
    if (!needs_below(share, gathering, circle->size))
        return;
    int64_t *below = gathering->below;
    uint32_t none = 0, *paths = gathering->below_path;
    below[arrival->c] = arrival->time;
    if (paths)
        lull_ideal_path_set(share->paths, &paths[arrival->c],
                            lull_ideal_path_hold(share->paths, path));
    while (gathering->first_missing < circle->size && below[gathering->first_missing] >= 0) {
        uint32_t at = gathering->first_missing++;
        uint32_t *own = paths ? &paths[at] : &none;
        if (at > 0)
            lull_ideal_path_later(share->paths, &below[at], own, below[at - 1],
                                  paths ? lull_ideal_path_hold(share->paths, paths[at - 1]) : 0);
        uint32_t process = lull_circle_process(share->ideal->trace, arrival->a, at);
        uint16_t to = share->ideal->share_of[process];
        const struct letter news = {.kind = LETTER_BELOW,
                                    .series = arrival->series,
                                    .a = arrival->a,
                                    .b = arrival->b,
                                    .c = at,
                                    .time = below[at]};
        if (to != share->index)
            tell_share(share, to, &news, *own);
    }
    wake_gathering(share, gathering);
}

/* A member arrives in an operation between two groups, each of which waits for the other one. */
static void note_group(struct share *share, struct gathering *gathering,
                       const struct letter *arrival, uint32_t path)
{
    const struct lull_trace *trace = share->ideal->trace;
    const unsigned group = lull_circle_side(trace, arrival->a, arrival->c);
    const uint32_t size = lull_circle_side_size(trace, arrival->a, group);
    lull_ideal_path_later(share->paths, &gathering->latest_of[group],
                          &gathering->latest_of_path[group], arrival->time,
                          lull_ideal_path_hold(share->paths, path));
    if (++gathering->arrived_of[group] < size)
        return;
    gathering->all_of[group] = gathering->latest_of[group];
    gathering->all_of_path[group] =
        lull_ideal_path_hold(share->paths, gathering->latest_of_path[group]);
    const struct letter news = {.kind = LETTER_GROUP,
                                .series = arrival->series,
                                .a = arrival->a,
                                .b = arrival->b,
                                .c = group,
                                .time = gathering->all_of[group]};
    tell_others(share, &news, gathering->all_of_path[group]);
    wake_gathering(share, gathering);
}

/* All have arrived. */
static void complete(struct share *share, struct gathering *gathering, const struct letter *arrival)
{
    const struct letter news = {.kind = LETTER_ALL,
                                .series = arrival->series,
                                .a = arrival->a,
                                .b = arrival->b,
                                .time = gathering->latest};
    gathering->all = true;
    share->n_collectives++;
    enum lull_collective_needs needs =
        lull_circle_needs(share->ideal->trace, arrival->a, gathering->low_op);
    if (gathering->other_rank != LULL_NONE) {
        complain_of_operations(share, arrival->a, gathering);
        tell_others(share, &news, gathering->latest_path);
    } else if (needs == LULL_NEEDS_ALL || (needs == LULL_NEEDS_ROOT && gathering->root_at < 0)) {
        tell_others(share, &news, gathering->latest_path);
    } else if (gathering->root_share != LULL_NONE && gathering->root_share != share->index) {
        tell_share(share, gathering->root_share, &news, gathering->latest_path);
    }
    wake_gathering(share, gathering);
}

/* `path`: of the time of the arrival; the caller goes on to hold it. */
static void arrive_at_home(struct share *share, uint32_t from, uint32_t index,
                           const struct letter *arrival, uint32_t path)
{
    struct gathering *gathering = find_gathering(share, index, arrival->b);
    if (!gathering)
        return;
    enum lull_collective_needs needs =
        lull_circle_needs(share->ideal->trace, arrival->a, arrival->op);
    gathering->arrived++;
    lull_ideal_path_later(share->paths, &gathering->latest, &gathering->latest_path, arrival->time,
                          lull_ideal_path_hold(share->paths, path));
    compare_operations(gathering, arrival);
    if (needs == LULL_NEEDS_OTHERS || needs == LULL_ROOT_NEEDS_OTHERS)
        note_group(share, gathering, arrival, path);
    if (arrival->is_root && needs == LULL_ROOT_NEEDS_ALL)
        gathering->root_share = from;
    if (arrival->is_root && needs == LULL_NEEDS_ROOT) {
        gathering->root_at = arrival->time;
        lull_ideal_path_set(share->paths, &gathering->root_path,
                            lull_ideal_path_hold(share->paths, path));
        const struct letter news = {.kind = LETTER_ROOT,
                                    .series = arrival->series,
                                    .a = arrival->a,
                                    .b = arrival->b,
                                    .time = arrival->time};
        tell_others(share, &news, path);
        wake_gathering(share, gathering);
    }
    if (needs == LULL_NEEDS_LOWER)
        note_scan(share, gathering, arrival, path);
    if (gathering->arrived == share->circles[arrival->a].size)
        complete(share, gathering, arrival);
    close_gatherings(share, &share->series[index]);
}

/* ---- members ------------------------------------------------------------------------------- */

uint32_t lull_gather_ticket(struct share *share, struct process *process, uint32_t comm, uint8_t op,
                            bool non_blocking)
{
    bool stranger;
    comm = lull_comm_canonical(share->ideal->trace, comm);
    struct member *member =
        circle_open(share, comm)
            ? circle_member(share, process, comm, lull_circle_series(op, !non_blocking), &stranger)
            : NULL;
    return member ? member->count++ : LULL_NONE;
}

bool lull_gather_arrive(struct share *share, struct stream *stream, const struct arrival *arrival,
                        struct pending *ret_pending)
{
    const struct lull_trace *trace = share->ideal->trace;
    uint32_t comm = lull_comm_canonical(trace, arrival->comm);
    const struct circle *circle = circle_open(share, comm);
    bool stranger;
    uint8_t kind = lull_circle_series(arrival->op, !arrival->non_blocking);
    struct member *member =
        circle ? circle_member(share, stream->process, comm, kind, &stranger) : NULL;
    if (!member) {
        const struct complaint complaint = {.kind = NO_MEMBER,
                                            .measured = arrival->measured,
                                            .process = stream->process->index,
                                            .comm = comm};
        if (circle && stranger)
            complain(share, &complaint);
        else
            lull_share_no_memory(share);
        return false;
    }
    if (circle->has_all && lull_epoch_ends(share, stream, arrival)) {
        lull_epoch_pass(share, stream, arrival, member->count);
        return false;
    }
    const struct lull_circle_part part = lull_circle_part_of(
        trace, comm, arrival->op, stream->process->index, arrival->root, arrival->moves);
    const struct letter letter = {.kind = LETTER_ARRIVAL,
                                  .op = arrival->op,
                                  .series = kind,
                                  .is_root = part.is_root,
                                  .a = comm,
                                  .b = arrival->ticket == LULL_NONE ? member->count++
                                                                    : arrival->ticket,
                                  .c = member->rank,
                                  .time = arrival->time,
                                  .measured = arrival->measured};
    *ret_pending = (struct pending){.what = member->series,
                                    .number = letter.b,
                                    .rank = letter.c,
                                    .comm = comm,
                                    .op = letter.op,
                                    .awaits = part.awaits,
                                    .time = letter.time};
    share->n_arrivals++;
    if (circle->home == share->index)
        arrive_at_home(share, share->index, member->series, &letter, arrival->path);
    else
        tell_share(share, circle->home, &letter, arrival->path);
    return true;
}

bool lull_gather_ends_epoch(struct share *share, const struct stream *stream,
                            const struct arrival *arrival)
{
    const uint32_t comm = lull_comm_canonical(share->ideal->trace, arrival->comm);
    const struct circle *circle = circle_open(share, comm);
    return circle && circle->has_all && lull_epoch_ends(share, stream, arrival);
}

void lull_gather_skip(struct share *share, struct stream *stream, const struct arrival *arrival)
{
    const uint32_t comm = lull_comm_canonical(share->ideal->trace, arrival->comm);
    bool stranger;
    const struct member *member = circle_member(share, stream->process, comm, 0, &stranger);
    if (member)
        lull_epoch_move(share, stream, arrival, member->count);
}

/* *ret_path: of the time; 0 where the stream itself has come so far already. */
static bool is_ready(const struct share *share, const struct gathering *gathering,
                     const struct pending *pending, int64_t *ret_time, uint32_t *ret_path)
{
    const struct lull_trace *trace = share->ideal->trace;
    *ret_time = pending->time;
    *ret_path = 0;
    switch ((enum lull_awaited)pending->awaits) {
    case LULL_AWAITS_NOBODY:
        return true;
    case LULL_AWAITS_ROOT:
        if (gathering->root_at < 0)
            break;
        *ret_time = gathering->root_at;
        *ret_path = gathering->root_path;
        return true;
    case LULL_AWAITS_OTHERS: {
        const unsigned other = !lull_circle_side(trace, pending->comm, pending->rank);
        const int64_t all = gathering->all_of[other];
        if (lull_circle_side_size(trace, pending->comm, other) == 0)
            return true; /* nobody of that group was recorded */
        if (all >= pending->time) {
            *ret_time = all;
            *ret_path = gathering->all_of_path[other];
        }
        return all >= 0;
    }
    case LULL_AWAITS_LOWER:
        if (!gathering->below)
            return false;
        *ret_time = gathering->below[pending->rank];
        *ret_path = gathering->below_path ? gathering->below_path[pending->rank] : 0;
        return share->circles[pending->comm].home == share->index
                   ? pending->rank < gathering->first_missing
                   : *ret_time >= 0;
    case LULL_AWAITS_ALL:
        break;
    }
    *ret_time = gathering->latest;
    *ret_path = gathering->latest_path;
    return gathering->all;
}

bool lull_gather_leave(struct share *share, const struct pending *pending, int64_t *ret_time,
                       uint32_t *ret_path)
{
    struct gathering *gathering = find_gathering(share, pending->what, pending->number);
    if (!gathering || !is_ready(share, gathering, pending, ret_time, ret_path))
        return false;
    *ret_path = lull_ideal_path_hold(share->paths, *ret_path);
    gathering->left++;
    close_gatherings(share, &share->series[pending->what]);
    return true;
}

void lull_gather_wait(struct share *share, struct stream *stream, const struct pending *pending)
{
    struct gathering *gathering = find_gathering(share, pending->what, pending->number);
    if (!gathering)
        return;
    stream->next_waiting = gathering->waiting;
    gathering->waiting = stream;
}

static void take_news(struct share *share, struct gathering *gathering, const struct letter *letter,
                      uint32_t path)
{
    uint32_t *kept = &gathering->root_path;
    switch (letter->kind) {
    case LETTER_ROOT:
        gathering->root_at = letter->time;
        break;
    case LETTER_GROUP:
        gathering->all_of[letter->c] = letter->time;
        kept = &gathering->all_of_path[letter->c];
        break;
    case LETTER_ALL:
        gathering->all = true;
        gathering->latest = letter->time;
        kept = &gathering->latest_path;
        break;
    default:
        gathering->below[letter->c] = letter->time;
        kept = gathering->below_path ? &gathering->below_path[letter->c] : &path;
    }
    if (kept != &path)
        lull_ideal_path_set(share->paths, kept, lull_ideal_path_hold(share->paths, path));
    wake_gathering(share, gathering);
}

void lull_gather_letter(struct share *share, uint32_t from, const struct letter *letter)
{
    const uint32_t path = lull_post_path_of(share, from);
    const struct circle *circle = circle_open(share, letter->a);
    uint32_t index = circle ? circle_series(share, letter->a, letter->series) : LULL_NONE;
    if (index == LULL_NONE) {
        lull_share_no_memory(share);
    } else if (letter->kind == LETTER_ARRIVAL) {
        arrive_at_home(share, from, index, letter, path);
    } else {
        struct gathering *gathering = find_gathering(share, index, letter->b);
        if (gathering &&
            (letter->kind != LETTER_BELOW || needs_below(share, gathering, circle->size)))
            take_news(share, gathering, letter, path);
    }
    lull_ideal_path_drop(share->paths, path);
}

/* ---- the end ------------------------------------------------------------------------------- */

void lull_gather_complain(struct share *share)
{
    for (size_t s = 0; s < share->n_series; s++) {
        const struct series *series = &share->series[s];
        for (uint32_t i = 0; i < series->open.operations.count; i++) {
            const struct gathering *open = gathering_at(series, i);
            if (open->other_rank != LULL_NONE)
                complain_of_operations(share, series->comm, open);
        }
    }
}

bool lull_gather_create(struct share *share)
{
    share->circles = calloc(share->ideal->trace->n_comms + (size_t)1, sizeof *share->circles);
    return share->circles;
}

void lull_gather_free(struct share *share)
{
    if (!share)
        return;
    for (size_t s = 0; s < share->n_series; s++) {
        struct series *series = &share->series[s];
        for (uint32_t i = 0; i < series->open.operations.count; i++)
            free_gathering(share, gathering_at(series, i));
        lull_ring_free(&series->open.operations);
    }
    for (uint32_t c = 0; share->circles && c < share->ideal->trace->n_comms; c++)
        free(share->circles[c].others);
    free(share->circles);
    free(share->series);
    free(share->members);
}
