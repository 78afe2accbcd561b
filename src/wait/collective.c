/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations: who comes to which operation, and for whom each process waits there.
 * Operation k of a series (match/circle.h) is the k-th one of each rank. */
#include "activity/channel.h"
#include "base/array.h"
#include "wait/letters.h"
#include "wait/stream.h"

#include <stdlib.h>

/* ==== gathering =============================================================================== */

/* Who has come to a collective operation.
 *
 * Where several members of a team have ranks of a communicator, each of these members puts together
 * what its own ranks did, and tells the keeper of the series: of operations of all, the last of its
 * ranks when all of these have come; a root at once; of a scan, each rank at once. The keeper puts
 * that together, and tells the members what is known then. So for an operation without a root, each
 * member sends the keeper one letter and gets one. */

static struct wait_gathering *gathering_at(const struct wait_series *series, uint32_t place)
{
    return lull_match_open_at(&series->open, sizeof(struct wait_gathering), place);
}

struct wait_gathering *lull_wait_gathering(struct wait_series *series, uint32_t number)
{
    static const struct wait_gathering fresh = {.last.time = -1,
                                                .groups = {{.last.time = -1}, {.last.time = -1}}};
    return lull_match_open(&series->open, sizeof fresh, number, &fresh);
}

static void empty_gathering(struct wait_gathering *gathering, uint32_t size)
{
    lull_wait_cause_drop(&gathering->last);
    for (unsigned g = 0; g < 2; g++)
        lull_wait_cause_drop(&gathering->groups[g].last);
    for (uint32_t r = 0; gathering->ranks && r < size; r++)
        lull_wait_cause_drop(&gathering->ranks[r]);
    for (uint32_t r = 0; r < gathering->n_roots; r++)
        lull_wait_cause_drop(&gathering->roots[r]);
    free(gathering->ranks);
    free(gathering->roots);
    gathering->ranks = gathering->roots = NULL;
    gathering->n_roots = 0;
}

/* Whether all ranks have come, and those of this member have left. */
static bool is_over(const struct wait_series *series, const struct wait_gathering *gathering)
{
    return gathering->left == series->here && gathering->arrived == series->size;
}

void lull_wait_close_gatherings(struct wait_series *series)
{
    while (series->open.operations.count > 0 && is_over(series, gathering_at(series, 0))) {
        empty_gathering(gathering_at(series, 0), series->size);
        lull_match_close(&series->open);
    }
}

void lull_wait_gatherings_free(struct wait_series *series)
{
    for (uint32_t i = 0; i < series->open.operations.count; i++)
        empty_gathering(gathering_at(series, i), series->size);
    lull_ring_free(&series->open.operations);
    free(series->others);
}

/* ---- who has come -------------------------------------------------------------------------- */

/* Keeps the later one of two causes; of two at the same time, that of the lower agent. */
static void keep_later(struct wait_cause *kept, const struct wait_cause *cause)
{
    if (cause->time < kept->time || (cause->time == kept->time && cause->agent >= kept->agent))
        return;
    lull_wait_cause_drop(kept);
    *kept = lull_wait_cause_keep(cause);
}

/* Makes room for what is known of each rank. False: no memory. */
static bool has_ranks(struct wait_gathering *gathering, uint32_t size)
{
    if (gathering->ranks)
        return true;
    gathering->ranks = malloc(size * sizeof *gathering->ranks);
    for (uint32_t r = 0; gathering->ranks && r < size; r++)
        gathering->ranks[r] = (struct wait_cause){.time = -1};
    return gathering->ranks;
}

/* Notes a rank of a scan. Each rank whose lower ranks have all come then has the latest cause among
 * itself and these. False: no memory. */
static bool add_rank(struct wait_gathering *gathering, uint32_t size, const struct wait_news *news)
{
    if (!has_ranks(gathering, size))
        return false;
    struct wait_cause *ranks = gathering->ranks;
    keep_later(&ranks[news->which], news->cause);
    for (; gathering->known < size && ranks[gathering->known].time >= 0; gathering->known++)
        if (gathering->known > 0)
            keep_later(&ranks[gathering->known], &ranks[gathering->known - 1]);
    return true;
}

/* There is one root, unless the records of the ranks contradict each other: no room is kept for more. */
static bool add_root(struct wait_gathering *gathering, const struct wait_cause *cause)
{
    struct wait_cause *roots =
        realloc(gathering->roots, (gathering->n_roots + (size_t)1) * sizeof *roots);
    if (!roots)
        return false;
    roots[gathering->n_roots++] = lull_wait_cause_keep(cause);
    gathering->roots = roots;
    return true;
}

static bool add_news(const struct wait_series *series, struct wait_gathering *gathering,
                     const struct wait_news *news)
{
    switch ((enum wait_news_kind)news->kind) {
    case NEWS_ALL:
        keep_later(&gathering->last, news->cause);
        gathering->arrived += news->count;
        return true;
    case NEWS_GROUP:
        keep_later(&gathering->groups[news->which].last, news->cause);
        gathering->groups[news->which].arrived += news->count;
        return true;
    case NEWS_ROOT:
        return add_root(gathering, news->cause);
    case NEWS_RANK:
        return add_rank(gathering, series->size, news);
    case NEWS_FEWEST:
        break; /* these news are of the series, not of an operation */
    }
    return true;
}

static void wake_waiting(struct lull_waits *waits, struct wait_gathering *gathering)
{
    struct wait_stream *waiting = gathering->waiting;
    gathering->waiting = NULL;
    for (struct wait_stream *next; waiting; waiting = next) {
        next = waiting->next_waiting;
        lull_wait_ready(waits, waiting);
    }
}

/* ---- the members of a team ----------------------------------------------------------------- */

/* Whether this member has all ranks of a series. */
static bool is_here(const struct wait_series *series)
{
    return series->here == series->size;
}

/* Whether this member puts together who has come. */
static bool is_keeper(const struct lull_waits *waits, const struct wait_series *series)
{
    return is_here(series) || series->keeper == lull_team_index(waits->reading->division->team);
}

/* The member that has the process of a rank. */
static uint32_t member_of(const struct lull_waits *waits, const struct wait_series *series,
                          uint32_t rank)
{
    return lull_division_owner(waits->reading->division,
                               lull_circle_process(waits->trace, series->comm, rank));
}

/* Finds the other members that have ranks of a series, each once. False: no memory. */
static bool find_others(const struct lull_waits *waits, struct wait_series *series)
{
    const struct lull_division *division = waits->reading->division;
    const uint32_t members = lull_team_size(division->team);
    if (series->others)
        return true;
    bool *has = calloc(members, sizeof *has);
    series->others = malloc(members * sizeof *series->others);
    for (uint32_t r = 0; has && r < series->size; r++)
        has[member_of(waits, series, r)] = true;
    for (uint32_t m = 0; has && series->others && m < members; m++)
        if (has[m] && m != lull_team_index(division->team))
            series->others[series->n_others++] = m;
    free(has);
    return has && series->others;
}

static bool tell_others(struct lull_waits *waits, struct wait_series *series, uint32_t number,
                        const struct wait_news *news)
{
    if (!find_others(waits, series))
        return false;
    for (uint32_t i = 0; i < series->n_others; i++)
        lull_wait_post_news(waits, series->others[i], series, number, news);
    return true;
}

/* Tells the members of the ranks from `known` on that now all ranks up to theirs have come. */
static void tell_ranks(struct lull_waits *waits, struct wait_series *series, uint32_t number,
                       const struct wait_gathering *gathering, uint32_t known)
{
    const uint32_t own = lull_team_index(waits->reading->division->team);
    for (uint32_t r = known; r < gathering->known; r++) {
        const struct wait_news news = {NEWS_RANK, r, 1, &gathering->ranks[r]};
        const uint32_t member = member_of(waits, series, r);
        if (member != own)
            lull_wait_post_news(waits, member, series, number, &news);
    }
}

/* Tells the other members what the keeper knows beyond what it knew before `news`. */
static bool spread_news(struct lull_waits *waits, struct wait_series *series, uint32_t number,
                        const struct wait_gathering *gathering, const struct wait_news *news,
                        uint32_t known)
{
    struct wait_news sum = *news;
    if (news->kind == NEWS_RANK) {
        tell_ranks(waits, series, number, gathering, known);
        return true;
    }
    if (news->kind == NEWS_GROUP)
        sum.cause = &gathering->groups[news->which].last;
    if (news->kind == NEWS_ALL)
        sum.cause = &gathering->last;
    return tell_others(waits, series, number, &sum);
}

/* Whether a stream that waits for the operation may go on after these news. */
static bool matters(const struct wait_series *series, const struct wait_gathering *gathering,
                    const struct wait_news *news)
{
    if (news->kind == NEWS_GROUP)
        return gathering->groups[news->which].arrived == series->sizes[news->which];
    return news->kind != NEWS_ALL || gathering->arrived == series->size;
}

/* The keeper, also where no other member has ranks, takes news in. False: no memory. */
static bool take_in(struct lull_waits *waits, struct wait_series *series, uint32_t number,
                    const struct wait_news *news)
{
    struct wait_gathering *gathering = lull_wait_gathering(series, number);
    const uint32_t known = gathering ? gathering->known : 0;
    if (!gathering || !add_news(series, gathering, news))
        return false;
    if (!matters(series, gathering, news))
        return true;
    wake_waiting(waits, gathering);
    return is_here(series) || spread_news(waits, series, number, gathering, news, known);
}

/* A member that is not the keeper takes in that one of its own ranks has come, and tells the keeper
 * what it needs. False: no memory. */
static bool pass_on(struct lull_waits *waits, struct wait_series *series, uint32_t number,
                    const struct wait_news *news)
{
    struct wait_gathering *gathering = lull_wait_gathering(series, number);
    struct wait_news sum = *news;
    if (!gathering)
        return false;
    if (news->kind == NEWS_ALL || news->kind == NEWS_GROUP) {
        const bool group = news->kind == NEWS_GROUP;
        add_news(series, gathering, news);
        sum.count = group ? gathering->groups[news->which].arrived : gathering->arrived;
        sum.cause = group ? &gathering->groups[news->which].last : &gathering->last;
        if (sum.count < (group ? series->here_of[news->which] : series->here))
            return true;
    }
    lull_wait_post_news(waits, series->keeper, series, number, &sum);
    return true;
}

/* The keeper has told news, which replace what this member knew. False: no memory. */
static bool set_news(struct lull_waits *waits, struct wait_series *series,
                     struct wait_gathering *gathering, const struct wait_news *news)
{
    struct wait_cause *cause = &gathering->last;
    wake_waiting(waits, gathering);
    if (news->kind == NEWS_ROOT)
        return add_root(gathering, news->cause);
    if (news->kind == NEWS_RANK && !has_ranks(gathering, series->size))
        return false;
    if (news->kind == NEWS_RANK)
        cause = &gathering->ranks[news->which];
    else if (news->kind == NEWS_GROUP)
        cause = &gathering->groups[news->which].last;
    if (news->kind == NEWS_GROUP)
        gathering->groups[news->which].arrived = series->sizes[news->which];
    else if (news->kind == NEWS_ALL)
        gathering->arrived = series->size;
    lull_wait_cause_drop(cause);
    *cause = lull_wait_cause_keep(news->cause);
    return true;
}

/* The keeper tells all other members; these tell the keeper. */
bool lull_wait_tell_fewest(struct lull_waits *waits, struct wait_series *series, unsigned group)
{
    const struct wait_news news = {NEWS_FEWEST, group, series->fewest[group], NULL};
    series->announced = true;
    if (is_here(series))
        return true;
    if (is_keeper(waits, series))
        return tell_others(waits, series, 0, &news);
    lull_wait_post_news(waits, series->keeper, series, 0, &news);
    return true;
}

static bool hear_fewest(struct lull_waits *waits, struct wait_series *series,
                        const struct wait_news *news)
{
    const bool fewer = news->count < series->fewest[news->which];
    if (fewer)
        series->fewest[news->which] = news->count;
    if (!is_keeper(waits, series)) {
        series->announced = true;
        return true;
    }
    return (!fewer && series->announced) || lull_wait_tell_fewest(waits, series, news->which);
}

bool lull_wait_hear_news(struct lull_waits *waits, struct wait_series *series, uint32_t number,
                         const struct wait_news *news)
{
    if (news->kind == NEWS_FEWEST)
        return hear_fewest(waits, series, news);
    if (lull_match_is_closed(&series->open, number))
        return true;
    struct wait_gathering *gathering = lull_wait_gathering(series, number);
    const bool good =
        gathering && (is_keeper(waits, series) ? take_in(waits, series, number, news)
                                               : set_news(waits, series, gathering, news));
    lull_wait_close_gatherings(series);
    return good;
}

/* ---- arrivals ------------------------------------------------------------------------------ */

bool lull_wait_note_arrival(struct lull_waits *waits, const struct wait_pending *pending,
                            const struct wait_cause *arrival)
{
    struct wait_series *series = &waits->series[pending->what];
    const uint32_t rank = waits->members[pending->member].rank;
    struct wait_news news[4];
    unsigned n = 0;
    if (pending->part.needs == LULL_NEEDS_LOWER)
        news[n++] = (struct wait_news){NEWS_RANK, rank, 1, arrival};
    if (pending->part.needs == LULL_NEEDS_OTHERS || pending->part.needs == LULL_ROOT_NEEDS_OTHERS)
        news[n++] = (struct wait_news){
            NEWS_GROUP, lull_circle_side(waits->trace, series->comm, rank), 1, arrival};
    if (pending->part.is_root)
        news[n++] = (struct wait_news){NEWS_ROOT, 0, 1, arrival};
    /* These news come last, because with them the gathering may be over. */
    news[n++] = (struct wait_news){NEWS_ALL, 0, 1, arrival};
    bool good = true;
    for (unsigned i = 0; i < n && good; i++)
        good = is_keeper(waits, series) ? take_in(waits, series, pending->number, &news[i])
                                        : pass_on(waits, series, pending->number, &news[i]);
    return good;
}

const struct wait_cause *lull_wait_of_root(const struct lull_waits *waits,
                                           const struct wait_gathering *gathering, int32_t root)
{
    for (uint32_t i = 0; i < gathering->n_roots; i++) {
        const struct wait_cause *cause = &gathering->roots[i];
        if (root < 0 || lull_wait_process_of(waits, cause->agent) == (uint32_t)root)
            return cause;
    }
    return NULL;
}

const struct wait_cause *lull_wait_of_lower(const struct lull_waits *waits,
                                            const struct wait_series *series,
                                            const struct wait_gathering *gathering, uint32_t rank)
{
    const bool is_known = is_keeper(waits, series)
                              ? rank < gathering->known
                              : gathering->ranks && gathering->ranks[rank].time >= 0;
    return is_known ? &gathering->ranks[rank] : NULL;
}

/* ==== gather ================================================================================== */

/* Keys of hash tables, without padding. */
struct series_key {
    uint32_t comm, kind;
};

struct member_key {
    uint32_t series, agent;
};

/* The kind of wait in an operation (enum lull_wait_kind). */
static uint8_t kind_of(uint8_t op, uint8_t needs)
{
    static const uint8_t kinds[] = {[LULL_NEEDS_ALL] = LULL_WAIT_N_TO_N,
                                    [LULL_NEEDS_ROOT] = LULL_WAIT_LATE_BROADCAST,
                                    [LULL_ROOT_NEEDS_ALL] = LULL_WAIT_EARLY_REDUCE,
                                    [LULL_NEEDS_LOWER] = LULL_WAIT_EARLY_SCAN,
                                    [LULL_NEEDS_OTHERS] = LULL_WAIT_N_TO_N,
                                    [LULL_ROOT_NEEDS_OTHERS] = LULL_WAIT_EARLY_REDUCE,
                                    [LULL_NEEDS_NOBODY] = LULL_WAIT_N_TO_N};
    return op == LULL_COLLECTIVE_BARRIER ? LULL_WAIT_BARRIER : kinds[needs];
}

/* The kind of the series of MPI_Finalize. It is a series of its own, so that it is matched also
 * where operations before it were not recorded. The other kinds are those of lull_circle_series. */
enum { SERIES_OF_END = UINT8_MAX };

/* ---- series and members ------------------------------------------------------------------- */

/* Finds how many ranks of a series this member of the team has, and which member is its keeper. */
static void divide_series(const struct lull_waits *waits, struct wait_series *series)
{
    series->here_of[0] = series->here_of[1] = 0;
    for (uint32_t r = 0; r < series->size; r++)
        series->here_of[lull_circle_side(waits->trace, series->comm, r)] +=
            !lull_wait_is_far(waits, lull_circle_process(waits->trace, series->comm, r));
    series->here = series->here_of[0] + series->here_of[1];
    if (series->size > 0)
        series->keeper = lull_division_owner(waits->reading->division,
                                             lull_circle_process(waits->trace, series->comm, 0));
}

uint32_t lull_wait_series(struct lull_waits *waits, uint32_t comm, uint32_t kind)
{
    const struct lull_trace *trace = waits->trace;
    const struct series_key key = {comm, kind};
    const size_t count = waits->series_by_comm.count;
    bool is_new;
    uint64_t *index = NULL;
    if (lull_array_reserve(&waits->series, &waits->series_capacity, count + 1,
                           sizeof *waits->series))
        index = lull_hash_add(&waits->series_by_comm, &key, sizeof key, count, &is_new);
    if (!index)
        return LULL_NONE;
    if (is_new) {
        const uint32_t size = lull_circle_side_size(trace, comm, 0);
        const uint32_t others = lull_circle_side_size(trace, comm, 1);
        waits->series[count] = (struct wait_series){.comm = comm,
                                                    .sizes = {size, others},
                                                    .size = size + others,
                                                    .here_of = {size, others},
                                                    .here = size + others,
                                                    .kind = kind,
                                                    .fewest = {UINT32_MAX, UINT32_MAX}};
        if (waits->office)
            divide_series(waits, &waits->series[count]);
    }
    return (uint32_t)*index;
}

static uint32_t find_series(struct lull_waits *waits, const struct wait_note *note)
{
    const uint32_t comm = lull_comm_canonical(waits->trace, note->comm);
    const bool blocks = note->value == LULL_NO_REQUEST;
    return lull_wait_series(waits, comm, lull_circle_series(note->op, blocks));
}

static uint32_t find_member(struct lull_waits *waits, uint32_t series, uint32_t agent)
{
    const struct member_key key = {series, agent};
    const size_t count = waits->members_by_process.count;
    bool is_new;
    uint64_t *index = NULL;
    if (lull_array_reserve(&waits->members, &waits->member_capacity, count + 1,
                           sizeof *waits->members))
        index = lull_hash_add(&waits->members_by_process, &key, sizeof key, count, &is_new);
    if (!index)
        return LULL_NONE;
    if (is_new)
        waits->members[count] =
            (struct wait_member){.rank = lull_circle_rank(waits->trace, waits->series[series].comm,
                                                          lull_wait_process_of(waits, agent))};
    return (uint32_t)*index;
}

struct wait_member *lull_wait_meets_all(const struct lull_waits *waits,
                                        const struct wait_pending *pending)
{
    if (pending->is_message || pending->is_post || pending->part.needs != LULL_NEEDS_ALL ||
        waits->series[pending->what].kind != 0)
        return NULL;
    return &waits->members[pending->member];
}

uint32_t lull_wait_count_operations(const struct lull_waits *waits, uint32_t series,
                                    uint32_t process)
{
    const uint32_t first = waits->trace->processes[process].first_location;
    const struct member_key key = {series, waits->lanes ? first : process};
    const uint64_t *index = lull_hash_find(&waits->members_by_process, &key, sizeof key);
    const struct wait_member *member = index ? &waits->members[*index] : NULL;
    if (!member)
        return 0;
    return member->n_begun > member->count ? member->n_begun : member->count;
}

uint32_t lull_wait_number_operation(struct lull_waits *waits, const struct wait_note *note,
                                    uint32_t process)
{
    const uint32_t first = waits->trace->processes[process].first_location;
    const uint32_t series = find_series(waits, note);
    const uint32_t index = series == LULL_NONE ? LULL_NONE : find_member(waits, series, first);
    if (index == LULL_NONE) {
        waits->no_memory = true;
        return 0;
    }
    struct wait_member *member = &waits->members[index];
    return note->kind == NOTE_BEGIN ? member->n_begun++ : member->count++;
}

/* An agent comes to the operation of a note in a series; as lull_wait_arrive. */
static bool arrive_in(struct lull_waits *waits, uint32_t series, const struct wait_note *note,
                      const struct wait_cause *arrival, struct wait_pending *ret_pending)
{
    struct wait_cause here = *arrival;
    const uint32_t process = lull_wait_process_of(waits, arrival->agent);
    const uint32_t index =
        series == LULL_NONE ? LULL_NONE : find_member(waits, series, arrival->agent);
    struct wait_member *member = index == LULL_NONE ? NULL : &waits->members[index];
    bool good = member && member->rank != LULL_NONE;
    if (good) {
        const struct lull_circle_part part = lull_circle_part_of(
            waits->trace, waits->series[series].comm, note->op, process, note->root, note->moves);
        *ret_pending =
            (struct wait_pending){.what = series,
                                  .member = index,
                                  .number = waits->lanes ? note->number : member->count++,
                                  .kind = kind_of(note->op, part.needs),
                                  .root = note->root,
                                  .part = part};
        if (lull_wait_meets_all(waits, ret_pending)) {
            here.late_since = lull_wait_moment_keep(&member->base);
            here.met = member->met;
        }
        good = lull_wait_note_arrival(waits, ret_pending, &here);
        waits->no_memory |= !good;
    }
    waits->no_memory |= !member;
    lull_wait_cause_drop(&here);
    return good;
}

bool lull_wait_arrive(struct lull_waits *waits, const struct wait_note *note,
                      const struct wait_cause *arrival, struct wait_pending *ret_pending)
{
    return arrive_in(waits, find_series(waits, note), note, arrival, ret_pending);
}

bool lull_wait_arrive_at_end(struct lull_waits *waits, const struct wait_cause *arrival,
                             struct wait_pending *ret_pending)
{
    const struct wait_note note = {.op = LULL_COLLECTIVE_BARRIER, .root = LULL_ANY};
    struct wait_cause here = *arrival;
    if (waits->world == LULL_NONE || lull_circle_is_alone(waits->trace, waits->world)) {
        lull_wait_cause_drop(&here);
        return false;
    }
    const uint32_t series = lull_wait_series(waits, waits->world, SERIES_OF_END);
    const bool good = arrive_in(waits, series, &note, arrival, ret_pending);
    if (good)
        ret_pending->kind = LULL_WAIT_FINALIZE;
    if (good && waits->lanes) { /* lull_wait_count_operations reads the count of the first thread of
                                   a process */
        const uint32_t process = lull_wait_process_of(waits, arrival->agent);
        const uint32_t first =
            find_member(waits, series, waits->trace->processes[process].first_location);
        if (first == LULL_NONE)
            waits->no_memory = true;
        else
            waits->members[first].count = 1;
    }
    return good;
}

/* For whom a member waits in an operation. NULL: it is not known yet; with time -1: for nobody. */
static const struct wait_cause *cause_of(const struct lull_waits *waits,
                                         const struct wait_gathering *gathering,
                                         const struct wait_pending *pending)
{
    static const struct wait_cause nobody = {.time = -1};
    const struct wait_series *series = &waits->series[pending->what];
    const struct wait_member *member = &waits->members[pending->member];
    const struct wait_cause *cause;
    switch ((enum lull_awaited)pending->part.awaits) {
    case LULL_AWAITS_NOBODY:
        return &nobody;
    case LULL_AWAITS_ROOT:
        cause = lull_wait_of_root(waits, gathering, pending->root);
        if (cause)
            return cause;
        break;
    case LULL_AWAITS_OTHERS: {
        const unsigned others = !lull_circle_side(waits->trace, series->comm, member->rank);
        return gathering->groups[others].arrived == series->sizes[others]
                   ? &gathering->groups[others].last
                   : NULL;
    }
    case LULL_AWAITS_LOWER:
        return lull_wait_of_lower(waits, series, gathering, member->rank);
    case LULL_AWAITS_ALL:
        break;
    }
    return gathering->arrived == series->size ? &gathering->last : NULL;
}

bool lull_wait_leave(struct lull_waits *waits, const struct wait_pending *pending,
                     struct wait_cause *ret_cause, bool *ret_anew)
{
    struct wait_series *series = &waits->series[pending->what];
    struct wait_gathering *gathering = lull_wait_gathering(series, pending->number);
    const struct wait_cause *cause = gathering ? cause_of(waits, gathering, pending) : NULL;
    if (!cause)
        return false;
    *ret_cause = lull_wait_cause_keep(cause);
    *ret_anew |= pending->part.needs == LULL_NEEDS_ALL && series->kind == 0 &&
                 series->size == waits->n_ranks && !waits->lanes;
    gathering->left++;
    lull_wait_close_gatherings(series);
    return true;
}

void lull_wait_in_line(struct lull_waits *waits, struct wait_stream *stream,
                       const struct wait_pending *pending)
{
    struct wait_gathering *gathering =
        lull_wait_gathering(&waits->series[pending->what], pending->number);
    if (!gathering)
        return;
    stream->next_waiting = gathering->waiting;
    gathering->waiting = stream;
}

void lull_wait_leave_line(struct lull_waits *waits, const struct wait_pending *pending)
{
    struct wait_gathering *gathering =
        lull_wait_gathering(&waits->series[pending->what], pending->number);
    if (gathering)
        gathering->waiting = NULL;
}

void lull_wait_gather_free(struct lull_waits *waits)
{
    for (size_t s = 0; s < waits->series_by_comm.count; s++)
        lull_wait_gatherings_free(&waits->series[s]);
    for (size_t m = 0; m < waits->members_by_process.count; m++)
        lull_wait_moment_drop(&waits->members[m].base);
    lull_hash_free(&waits->series_by_comm);
    lull_hash_free(&waits->members_by_process);
    free(waits->series);
    free(waits->members);
}
