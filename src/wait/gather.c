/* Collective operations: who came when. Operation k of a communicator is the k-th of each member,
 * those that block and each kind of those that do not for themselves. The two groups of an
 * inter-communicator are one series, whose first ranks are those of the group with the lower index.
 */
#include "activity/channel.h"
#include "base/array.h"
#include "base/collective.h"
#include "wait/share.h"

#include <stdlib.h>

/* As keys without padding. */
struct series_key {
    uint32_t comm, kind; /* 0: operations that block; else the operation plus 1 */
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

static uint32_t find_series(struct lull_waits *waits, const struct wait_note *note)
{
    const struct lull_trace *trace = waits->trace;
    const bool blocks = note->value == LULL_NO_REQUEST;
    const uint32_t comm = lull_comm_canonical(trace, note->comm);
    const struct series_key key = {comm, blocks ? 0 : note->op + 1u};
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
        waits->series[count] = (struct wait_series){
            .comm = comm, .sizes = {size, others}, .size = size + others, .blocks = blocks};
    }
    return (uint32_t)*index;
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
        !waits->series[pending->what].blocks)
        return NULL;
    return &waits->members[pending->member];
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

/* ---- gatherings ---------------------------------------------------------------------------- */

static struct wait_gathering *gathering_at(const struct wait_series *series, uint32_t place)
{
    return lull_ring_at(&series->open, sizeof(struct wait_gathering), place);
}

/* NULL: no memory. One that is closed is never asked for. */
static struct wait_gathering *find_gathering(struct wait_series *series, uint32_t number)
{
    while (number - series->first >= series->open.count) {
        struct wait_gathering *opened = lull_ring_push(&series->open, sizeof *opened);
        if (!opened)
            return NULL;
        *opened = (struct wait_gathering){
            .last.time = -1, .root.time = -1, .groups = {{.last.time = -1}, {.last.time = -1}}};
    }
    return gathering_at(series, number - series->first);
}

static void empty_gathering(struct wait_gathering *gathering, uint32_t size)
{
    lull_wait_cause_drop(&gathering->last);
    lull_wait_cause_drop(&gathering->root);
    for (unsigned g = 0; g < 2; g++)
        lull_wait_cause_drop(&gathering->groups[g].last);
    for (uint32_t r = 0; gathering->ranks && r < size; r++)
        lull_wait_cause_drop(&gathering->ranks[r]);
    free(gathering->ranks);
    gathering->ranks = NULL;
}

static void close_gatherings(struct wait_series *series)
{
    while (series->open.count > 0 && gathering_at(series, 0)->left == series->size) {
        empty_gathering(gathering_at(series, 0), series->size);
        lull_ring_pop(&series->open);
        series->first++;
    }
}

/* Keeps the later one; of two at the same time that of the lower agent. */
static void keep_later(struct wait_cause *kept, const struct wait_cause *cause)
{
    if (cause->time < kept->time || (cause->time == kept->time && cause->agent >= kept->agent))
        return;
    lull_wait_cause_drop(kept);
    *kept = lull_wait_cause_keep(cause);
}

/* Each rank knows the latest up to it, once all of them have come. */
static bool note_rank(struct wait_gathering *gathering, uint32_t size, uint32_t rank,
                      const struct wait_cause *arrival)
{
    if (!gathering->ranks) {
        gathering->ranks = malloc(size * sizeof *gathering->ranks);
        if (!gathering->ranks)
            return false;
        for (uint32_t r = 0; r < size; r++)
            gathering->ranks[r] = (struct wait_cause){.time = -1};
    }
    struct wait_cause *ranks = gathering->ranks;
    keep_later(&ranks[rank], arrival);
    for (; gathering->known < size && ranks[gathering->known].time >= 0; gathering->known++)
        if (gathering->known > 0)
            keep_later(&ranks[gathering->known], &ranks[gathering->known - 1]);
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

/* Which of two groups a rank is in. */
static unsigned group_of(const struct wait_series *series, uint32_t rank)
{
    return rank >= series->sizes[0];
}

/* One has come for whom the other group waits. True: all of its group have. */
static bool note_group(struct wait_gathering *gathering, const struct wait_series *series,
                       uint32_t rank, const struct wait_cause *arrival)
{
    const unsigned group = group_of(series, rank);
    keep_later(&gathering->groups[group].last, arrival);
    return ++gathering->groups[group].arrived == series->sizes[group];
}

/* Puts an arrival where those who need it will look. */
static bool note_arrival(struct lull_waits *waits, const struct wait_pending *pending,
                         const struct wait_cause *arrival)
{
    struct wait_series *series = &waits->series[pending->what];
    struct wait_gathering *gathering = find_gathering(series, pending->number);
    const uint32_t rank = waits->members[pending->member].rank;
    bool good = gathering, is_group = false;
    if (good && pending->meeting == MEETS_LOWER)
        good = note_rank(gathering, series->size, rank, arrival);
    if (!good)
        return false;
    if (pending->meeting == MEETS_OTHERS || pending->meeting == ROOT_MEETS_OTHERS)
        is_group = note_group(gathering, series, rank, arrival);
    if (pending->is_root)
        keep_later(&gathering->root, arrival);
    keep_later(&gathering->last, arrival);
    gathering->arrived++;
    if (gathering->arrived == series->size || pending->is_root || is_group ||
        pending->meeting == MEETS_LOWER)
        wake_waiting(waits, gathering);
    return true;
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
            .meeting = meeting == MEETS_ROOT && passes ? MEETS_NOBODY : meeting,
            .is_root = is_root};
        if (lull_wait_meets_all(waits, ret_pending)) {
            here.late_since = lull_wait_moment_keep(&member->base);
            here.met = member->met;
        }
        good = note_arrival(waits, ret_pending, &here);
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
    switch ((enum wait_meeting)pending->meeting) {
    case MEETS_NOBODY:
        return &nobody;
    case MEETS_ROOT:
        if (pending->is_root)
            return &nobody;
        if (gathering->root.time >= 0)
            return &gathering->root;
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
        const unsigned others = !group_of(series, member->rank);
        return gathering->groups[others].arrived == series->sizes[others]
                   ? &gathering->groups[others].last
                   : NULL;
    }
    case MEETS_LOWER:
        return member->rank < gathering->known ? &gathering->ranks[member->rank] : NULL;
    case MEETS_ALL:
        break;
    }
    return gathering->arrived == series->size ? &gathering->last : NULL;
}

bool lull_wait_leave(struct lull_waits *waits, const struct wait_pending *pending,
                     struct wait_cause *ret_cause, bool *ret_anew)
{
    struct wait_series *series = &waits->series[pending->what];
    struct wait_gathering *gathering = find_gathering(series, pending->number);
    const struct wait_cause *cause = gathering ? cause_of(waits, gathering, pending) : NULL;
    if (!cause)
        return false;
    *ret_cause = lull_wait_cause_keep(cause);
    *ret_anew |= pending->meeting == MEETS_ALL && series->blocks &&
                 series->size == waits->n_ranks && !waits->lanes;
    gathering->left++;
    close_gatherings(series);
    return true;
}

void lull_wait_in_line(struct lull_waits *waits, struct wait_stream *stream,
                       const struct wait_pending *pending)
{
    struct wait_gathering *gathering =
        find_gathering(&waits->series[pending->what], pending->number);
    if (!gathering)
        return;
    stream->next_waiting = gathering->waiting;
    gathering->waiting = stream;
}

void lull_wait_leave_line(struct lull_waits *waits, const struct wait_pending *pending)
{
    struct wait_gathering *gathering =
        find_gathering(&waits->series[pending->what], pending->number);
    if (gathering)
        gathering->waiting = NULL;
}

void lull_wait_gather_free(struct lull_waits *waits)
{
    for (size_t s = 0; s < waits->series_by_comm.count; s++) {
        struct wait_series *series = &waits->series[s];
        for (uint32_t i = 0; i < series->open.count; i++)
            empty_gathering(gathering_at(series, i), series->size);
        lull_ring_free(&series->open);
    }
    for (size_t m = 0; m < waits->members_by_process.count; m++)
        lull_wait_moment_drop(&waits->members[m].base);
    lull_hash_free(&waits->series_by_comm);
    lull_hash_free(&waits->members_by_process);
    free(waits->series);
    free(waits->members);
}
