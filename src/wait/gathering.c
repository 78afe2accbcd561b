/* What has come to a collective operation.
 *
 * Where the ranks of a communicator are those of several members of a team, each member adds up
 * what its own did, and tells the keeper of the series: the last of its ranks when all of them have
 * come, a root at once, each rank of a scan. The keeper adds that up, and tells the members what
 * then is known: so of an operation without root a letter goes to and fro. */
#include "wait/shared/letters.h"

#include <stdlib.h>

static struct wait_gathering *gathering_at(const struct wait_series *series, uint32_t place)
{
    return lull_ring_at(&series->open, sizeof(struct wait_gathering), place);
}

struct wait_gathering *lull_wait_gathering(struct wait_series *series, uint32_t number)
{
    while (number - series->first >= series->open.count) {
        struct wait_gathering *opened = lull_ring_push(&series->open, sizeof *opened);
        if (!opened)
            return NULL;
        *opened = (struct wait_gathering){.last.time = -1,
                                          .groups = {{.last.time = -1}, {.last.time = -1}}};
    }
    return gathering_at(series, number - series->first);
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

/* All have come, and those who are here have left. */
static bool is_over(const struct wait_series *series, const struct wait_gathering *gathering)
{
    return gathering->left == series->here && gathering->arrived == series->size;
}

void lull_wait_close_gatherings(struct wait_series *series)
{
    while (series->open.count > 0 && is_over(series, gathering_at(series, 0))) {
        empty_gathering(gathering_at(series, 0), series->size);
        lull_ring_pop(&series->open);
        series->first++;
    }
}

void lull_wait_gatherings_free(struct wait_series *series)
{
    for (uint32_t i = 0; i < series->open.count; i++)
        empty_gathering(gathering_at(series, i), series->size);
    lull_ring_free(&series->open);
    free(series->others);
}

unsigned lull_wait_group_of(const struct wait_series *series, uint32_t rank)
{
    return rank >= series->sizes[0];
}

uint32_t lull_wait_process_of_rank(const struct lull_waits *waits, const struct wait_series *series,
                                   uint32_t rank)
{
    const struct lull_comm *comms = waits->trace->comms, *group = &comms[series->comm];
    return lull_wait_group_of(series, rank) == 0
               ? lull_comm_member(group, rank)
               : lull_comm_member(&comms[group->remote], rank - series->sizes[0]);
}

/* ---- who has come -------------------------------------------------------------------------- */

/* Keeps the later one; of two at the same time that of the lower agent. */
static void keep_later(struct wait_cause *kept, const struct wait_cause *cause)
{
    if (cause->time < kept->time || (cause->time == kept->time && cause->agent >= kept->agent))
        return;
    lull_wait_cause_drop(kept);
    *kept = lull_wait_cause_keep(cause);
}

/* Room for what is known of each rank. */
static bool has_ranks(struct wait_gathering *gathering, uint32_t size)
{
    if (gathering->ranks)
        return true;
    gathering->ranks = malloc(size * sizeof *gathering->ranks);
    for (uint32_t r = 0; gathering->ranks && r < size; r++)
        gathering->ranks[r] = (struct wait_cause){.time = -1};
    return gathering->ranks;
}

/* Each rank knows the latest up to it, once all of them have come. */
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
        break; /* of no operation */
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

/* Nobody else has ranks of it. */
static bool is_here(const struct wait_series *series)
{
    return series->here == series->size;
}

static bool is_keeper(const struct lull_waits *waits, const struct wait_series *series)
{
    return is_here(series) || series->keeper == lull_team_index(waits->options.division->team);
}

/* Who has the process of a rank. */
static uint32_t member_of(const struct lull_waits *waits, const struct wait_series *series,
                          uint32_t rank)
{
    return lull_division_owner(waits->options.division,
                               lull_wait_process_of_rank(waits, series, rank));
}

/* The other members that have ranks of it, each once: those of neighbouring ranks are mostly the
 * same. False: no memory. */
static bool find_others(const struct lull_waits *waits, struct wait_series *series)
{
    const struct lull_division *division = waits->options.division;
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

/* The ranks from `known` on of which all below have come now. */
static void tell_ranks(struct lull_waits *waits, struct wait_series *series, uint32_t number,
                       const struct wait_gathering *gathering, uint32_t known)
{
    const uint32_t own = lull_team_index(waits->options.division->team);
    for (uint32_t r = known; r < gathering->known; r++) {
        const struct wait_news news = {NEWS_RANK, r, 1, &gathering->ranks[r]};
        const uint32_t member = member_of(waits, series, r);
        if (member != own)
            lull_wait_post_news(waits, member, series, number, &news);
    }
}

/* What the keeper knows more now. */
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

/* Whether the streams that wait may see more now. */
static bool matters(const struct wait_series *series, const struct wait_gathering *gathering,
                    const struct wait_news *news)
{
    if (news->kind == NEWS_GROUP)
        return gathering->groups[news->which].arrived == series->sizes[news->which];
    return news->kind != NEWS_ALL || gathering->arrived == series->size;
}

/* Of the keeper, or of who is alone. */
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

/* Of another member: one of its own ranks has come. */
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

/* The keeper has told: this is how it is. */
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

/* The keeper tells all, others the keeper. */
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
    if (number - series->first > INT32_MAX)
        return true; /* it is closed */
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
    if (pending->meeting == MEETS_LOWER)
        news[n++] = (struct wait_news){NEWS_RANK, rank, 1, arrival};
    if (pending->meeting == MEETS_OTHERS || pending->meeting == ROOT_MEETS_OTHERS)
        news[n++] = (struct wait_news){NEWS_GROUP, lull_wait_group_of(series, rank), 1, arrival};
    if (pending->is_root)
        news[n++] = (struct wait_news){NEWS_ROOT, 0, 1, arrival};
    news[n++] = (struct wait_news){NEWS_ALL, 0, 1, arrival}; /* the last of its letters */
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
