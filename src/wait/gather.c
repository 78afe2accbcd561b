/* Collective operations: who comes to which, and for whom they wait. Operation k of a communicator
 * is the k-th of each member, those that block and each kind of those that do not for themselves.
 * The two groups of an inter-communicator are one series, whose first ranks are those of the group
 * with the lower index.
 */
#include "activity/channel.h"
#include "base/array.h"
#include "base/collective.h"
#include "wait/share.h"

#include <stdlib.h>

/* As keys without padding. */
struct series_key {
    uint32_t comm, kind;
};

struct member_key {
    uint32_t series, agent;
};

bool lull_wait_is_known(const struct lull_waits *waits, uint32_t comm, uint8_t op, bool *ret_alone)
{
    const struct lull_trace *trace = waits->trace;
    if (comm >= trace->n_comms || op == LULL_COLLECTIVE_UNKNOWN)
        return false;
    *ret_alone = trace->comms[comm].size == 1 && trace->comms[comm].remote == LULL_NONE;
    return trace->comms[comm].paradigm == LULL_PARADIGM_MPI;
}

static enum wait_meeting meeting_of(uint8_t op, bool between)
{
    switch (between ? lull_collective_needs_between(op) : lull_collective_needs(op)) {
    case LULL_NEEDS_ALL:
        return MEETS_ALL;
    case LULL_NEEDS_ROOT:
        return MEETS_ROOT;
    case LULL_ROOT_NEEDS_ALL:
        return ROOT_MEETS_ALL;
    case LULL_NEEDS_LOWER:
        return MEETS_LOWER;
    case LULL_NEEDS_OTHERS:
        return MEETS_OTHERS;
    case LULL_ROOT_NEEDS_OTHERS:
        return ROOT_MEETS_OTHERS;
    default:
        return MEETS_NOBODY;
    }
}

static uint8_t kind_of(uint8_t op, enum wait_meeting meeting)
{
    static const uint8_t kinds[] = {[MEETS_ALL] = LULL_WAIT_N_TO_N,
                                    [MEETS_ROOT] = LULL_WAIT_LATE_BROADCAST,
                                    [ROOT_MEETS_ALL] = LULL_WAIT_EARLY_REDUCE,
                                    [MEETS_LOWER] = LULL_WAIT_EARLY_SCAN,
                                    [MEETS_OTHERS] = LULL_WAIT_N_TO_N,
                                    [ROOT_MEETS_OTHERS] = LULL_WAIT_EARLY_REDUCE,
                                    [MEETS_NOBODY] = LULL_WAIT_N_TO_N};
    return op == LULL_COLLECTIVE_BARRIER ? LULL_WAIT_BARRIER : kinds[meeting];
}

/* ---- series and members ------------------------------------------------------------------- */

/* Which of its ranks this member of the team has, and who keeps it. */
static void divide_series(const struct lull_waits *waits, struct wait_series *series)
{
    series->here_of[0] = series->here_of[1] = 0;
    for (uint32_t r = 0; r < series->size; r++)
        series->here_of[lull_wait_group_of(series, r)] +=
            !lull_wait_is_far(waits, lull_wait_process_of_rank(waits, series, r));
    series->here = series->here_of[0] + series->here_of[1];
    if (series->size > 0)
        series->keeper = lull_division_owner(waits->options.division,
                                             lull_wait_process_of_rank(waits, series, 0));
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
        const uint32_t size = trace->comms[comm].size, remote = trace->comms[comm].remote;
        const uint32_t others = remote == LULL_NONE ? 0 : trace->comms[remote].size;
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
    return lull_wait_series(waits, comm, note->value == LULL_NO_REQUEST ? 0 : note->op + 1u);
}

/* LULL_NONE: it is no member. */
static uint32_t rank_in(const struct lull_trace *trace, uint32_t comm, uint32_t process)
{
    const struct lull_comm *local = &trace->comms[comm];
    const uint32_t rank = lull_comm_rank(local, process);
    if (rank != LULL_NONE || local->remote == LULL_NONE)
        return rank;
    const uint32_t other = lull_comm_rank(&trace->comms[local->remote], process);
    return other == LULL_NONE ? LULL_NONE : local->size + other;
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
            (struct wait_member){.rank = rank_in(waits->trace, waits->series[series].comm,
                                                 lull_wait_process_of(waits, agent))};
    return (uint32_t)*index;
}

struct wait_member *lull_wait_meets_all(const struct lull_waits *waits,
                                        const struct wait_pending *pending)
{
    if (pending->is_message || pending->is_post || pending->meeting != MEETS_ALL ||
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

/* Between groups the root and those of its group name none, and it alone of them moves data. */
static bool is_root_between(const struct wait_note *note, enum wait_meeting meeting)
{
    const bool has_root = meeting == MEETS_ROOT || meeting == ROOT_MEETS_OTHERS;
    return has_root && note->root < 0 && note->moves;
}

bool lull_wait_arrive(struct lull_waits *waits, const struct wait_note *note,
                      const struct wait_cause *arrival, struct wait_pending *ret_pending)
{
    struct wait_cause here = *arrival;
    const uint32_t process = lull_wait_process_of(waits, arrival->agent);
    const uint32_t series = find_series(waits, note);
    const uint32_t index =
        series == LULL_NONE ? LULL_NONE : find_member(waits, series, arrival->agent);
    struct wait_member *member = index == LULL_NONE ? NULL : &waits->members[index];
    bool good = member && member->rank != LULL_NONE;
    if (good) {
        const bool between = waits->series[series].sizes[1] > 0;
        const enum wait_meeting meeting = meeting_of(note->op, between);
        const bool is_root =
            between ? is_root_between(note, meeting) : note->root == (int32_t)process;
        const bool passes = between && note->root < 0 && !is_root; /* it is of the root's group */
        *ret_pending = (struct wait_pending){
            .what = series,
            .member = index,
            .number = waits->lanes ? note->number : member->count++,
            .kind = kind_of(note->op, meeting),
            .root = note->root,
            .meeting = meeting == MEETS_ROOT && passes ? MEETS_NOBODY : meeting,
            .is_root = is_root};
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

/* Who a member waits for: NULL: not known yet; its time is -1: nobody. */
static const struct wait_cause *cause_of(const struct lull_waits *waits,
                                         const struct wait_gathering *gathering,
                                         const struct wait_pending *pending)
{
    static const struct wait_cause nobody = {.time = -1};
    const struct wait_series *series = &waits->series[pending->what];
    const struct wait_member *member = &waits->members[pending->member];
    const struct wait_cause *cause;
    switch ((enum wait_meeting)pending->meeting) {
    case MEETS_NOBODY:
        return &nobody;
    case MEETS_ROOT:
        if (pending->is_root)
            return &nobody;
        cause = lull_wait_of_root(waits, gathering, pending->root);
        if (cause)
            return cause;
        break; /* the trace does not tell which one it is: all */
    case ROOT_MEETS_ALL:
        if (!pending->is_root)
            return &nobody;
        break;
    case ROOT_MEETS_OTHERS:
        if (!pending->is_root)
            return &nobody;
        /* fall through */
    case MEETS_OTHERS: {
        const unsigned others = !lull_wait_group_of(series, member->rank);
        return gathering->groups[others].arrived == series->sizes[others]
                   ? &gathering->groups[others].last
                   : NULL;
    }
    case MEETS_LOWER:
        return lull_wait_of_lower(waits, series, gathering, member->rank);
    case MEETS_ALL:
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
    *ret_anew |= pending->meeting == MEETS_ALL && series->kind == 0 &&
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
