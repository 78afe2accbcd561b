/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/program/items.h"

#include <stdlib.h>

/* ==== items =================================================================================== */

/* BURST and FIXED are gathered. */
enum { BURST = LULL_STRETCH_BURST, FIXED = LULL_STRETCH_FIXED, NOT_KEPT = LULL_STRETCH_WAIT };

static struct lull_item *add_item_out(struct lull_items *m, uint8_t kind, int64_t time)
{
    struct lull_item *item = &m->out[m->count++];
    *item = (struct lull_item){.kind = kind, .begin = time, .end = time};
    return item;
}

static void hand_out(struct lull_items *m, unsigned kind, int64_t now, bool always)
{
    if (m->ns[kind] == 0 && !always)
        return;
    struct lull_item *item =
        add_item_out(m, kind == BURST ? LULL_ITEM_BURST : LULL_ITEM_FIXED, now);
    item->begin = m->began[kind];
    item->ns = m->ns[kind];
    item->mark = m->mark;
    item->region = m->user;
    m->ns[kind] = 0;
}

static void hand_out_all(struct lull_items *m, int64_t now)
{
    hand_out(m, BURST, now, false);
    hand_out(m, FIXED, now, false);
}

/* ---- steps --------------------------------------------------------------------------------- */

static void take_stretch(struct lull_items *m, const struct lull_step *stretch)
{
    const uint8_t kind = stretch->op;
    if (stretch->span.mark != m->mark) {
        hand_out_all(m, stretch->time);
        m->mark = stretch->span.mark;
    }
    if (kind != m->kind && m->kind <= FIXED && (m->options.pieces || !m->options.master))
        hand_out(m, m->kind, stretch->time, false);
    m->kind = kind;
    m->user = stretch->span.user;
    if (kind == NOT_KEPT)
        return;
    if (kind == LULL_STRETCH_DEVICE) {
        struct lull_item *item = add_item_out(m, LULL_ITEM_AWAIT, stretch->time);
        item->end = stretch->span.end;
        item->ns = item->end - item->begin;
        item->mark = m->mark;
        item->region = m->user;
        return;
    }
    if (m->ns[kind] == 0)
        m->began[kind] = stretch->time;
    m->ns[kind] += stretch->span.end - stretch->time;
}

static void begin_call_of_items(struct lull_items *m, int64_t now)
{
    hand_out(m, FIXED, now, false);
    if (m->ns[BURST] == 0)
        m->began[BURST] = now;
    hand_out(m, BURST, now, m->options.pieces);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Where the clock was put forward by `shift`, as much less time is left behind the last event. */
static void finish_items(struct lull_items *m, const struct lull_step *end)
{
    const int64_t tail = least(end->time - end->last_time, m->ns[BURST]);
    m->ns[BURST] -= least(tail, m->options.shift);
    hand_out_all(m, end->time);
}

/* Gathers the time outside of STRETCHes. */
static void take_kept_time(struct lull_items *m, const struct lull_step *step)
{
    const int64_t ns = step->kept_ns - m->kept;
    if (m->ns[BURST] == 0)
        m->began[BURST] = step->time - ns;
    m->ns[BURST] += ns;
    m->kept = step->kept_ns;
}

static void take_other(struct lull_items *m, const struct lull_step *step)
{
    if (m->options.by_kept_time &&
        (step->kind == LULL_STEP_CALL_BEGIN || step->kind == LULL_STEP_CALL_END ||
         step->kind == LULL_STEP_END))
        take_kept_time(m, step);
    switch (step->kind) {
    case LULL_STEP_CALL_BEGIN:
        begin_call_of_items(m, step->time);
        break;
    case LULL_STEP_FORK:
    case LULL_STEP_JOIN:
        if (m->options.master) {
            hand_out_all(m, step->time);
            add_item_out(m, LULL_ITEM_MEET, step->time);
        }
        return;
    case LULL_STEP_CALL_END:
    case LULL_STEP_MARKER:
    case LULL_STEP_SUBMIT:
    case LULL_STEP_DEVICE_WAIT:
    case LULL_STEP_THREAD_CREATE:
    case LULL_STEP_THREAD_BEGIN:
    case LULL_STEP_THREAD_END:
    case LULL_STEP_THREAD_WAIT_BEGIN:
    case LULL_STEP_THREAD_WAIT_END:
        hand_out_all(m, step->time);
        break;
    case LULL_STEP_END:
        finish_items(m, step);
        return;
    default:
        break;
    }
    add_item_out(m, LULL_ITEM_STEP, step->time)->step = step;
}

uint32_t lull_items_take(struct lull_items *m, const struct lull_step *step,
                         struct lull_item *ret_items)
{
    m->out = ret_items;
    m->count = 0;
    if (step->kind == LULL_STEP_STRETCH)
        take_stretch(m, step);
    else if (LULL_ITEMS_WANT >> step->kind & 1 ||
             (m->options.marks && step->kind == LULL_STEP_MARKER))
        take_other(m, step);
    return m->count;
}

void lull_items_init(struct lull_items *items, const struct lull_items_options *options)
{
    *items = (struct lull_items){
        .options = *options, .kind = NOT_KEPT, .user = LULL_NONE, .ns[FIXED] = options->shift};
}

/* ==== item cursor ============================================================================= */

/* The items of a thread that follows its master come from two sequences of steps, its own steps and
 * the forks and joins of the master, which are merged by time. */

enum { ROOM = 16 }; /* how many items are handed out at once, at most */

/* The forks and joins of a master. */
struct leader {
    struct lull_step_cursor *cursor;
    struct lull_steps steps; /* of which those from `at` on come next */
    uint32_t at;
    bool over;
    struct lull_item merged[ROOM]; /* what is handed out: items of the thread and of its master */
};

struct lull_item_cursor {
    const struct lull_trace *trace;
    struct lull_step_cursor *cursor; /* NULL: `steps` are all */
    struct lull_items maker;
    struct lull_steps steps; /* of which those from `at` on come next */
    uint32_t at;
    bool over;
    struct lull_item own[ROOM]; /* made from its own steps; [own_at, n_own) come next */
    uint32_t n_own, own_at;
    struct leader *leader; /* of a thread that follows its master; else NULL */
};

/* ---- a location's own items ---------------------------------------------------------------- */

static lull_status next_steps(struct lull_item_cursor *c, struct lull_error *err)
{
    if (c->cursor)
        return lull_step_cursor_next(c->cursor, &c->steps, err);
    c->steps.count = 0; /* all were in memory */
    return LULL_OK;
}

/* Reads items from one batch of steps only, because they point into it. n_own is 0 at the end. */
static lull_status read_own(struct lull_item_cursor *c, struct lull_error *err)
{
    c->n_own = c->own_at = 0;
    while (c->n_own == 0 && !c->over) {
        if (c->at == c->steps.count) {
            lull_status status = next_steps(c, err);
            if (status != LULL_OK)
                return status;
            c->at = 0;
            c->over = c->steps.count == 0;
        }
        while (c->at < c->steps.count && c->n_own + LULL_ITEMS_OF_A_STEP <= ROOM)
            c->n_own += lull_items_take(&c->maker, &c->steps.steps[c->at++], &c->own[c->n_own]);
    }
    return LULL_OK;
}

/* ---- the master's -------------------------------------------------------------------------- */

static bool is_lead(const struct lull_step *step)
{
    return step->kind == LULL_STEP_FORK || step->kind == LULL_STEP_JOIN;
}

/* The next fork or join of the master; NULL: there are no more. */
static lull_status find_lead(struct leader *leader, const struct lull_step **ret_lead,
                             struct lull_error *err)
{
    while (!leader->over) {
        for (; leader->at < leader->steps.count; leader->at++) {
            *ret_lead = &leader->steps.steps[leader->at];
            if (is_lead(*ret_lead))
                return LULL_OK;
        }
        lull_status status = lull_step_cursor_next(leader->cursor, &leader->steps, err);
        if (status != LULL_OK)
            return status;
        leader->at = 0;
        leader->over = leader->steps.count == 0;
    }
    *ret_lead = NULL;
    return LULL_OK;
}

/* The part of a stretch of time before a fork or join; the rest stays. */
static struct lull_item split_stretch(struct lull_item *item, int64_t at)
{
    struct lull_item part = *item;
    part.end = at;
    part.ns = item->ns < at - item->begin ? item->ns : at - item->begin;
    item->begin = at;
    item->ns -= part.ns;
    return part;
}

/* The next item: the master's next fork or join (`lead`, or NULL), the thread's own next item, or
 * the part of the own item that lies before the lead. */
static struct lull_item merge(struct lull_item_cursor *c, const struct lull_step *lead)
{
    struct lull_item *own = c->own_at < c->n_own ? &c->own[c->own_at] : NULL;
    if (lead && (!own || own->begin >= lead->time)) {
        c->leader->at++;
        return (struct lull_item){.kind = LULL_ITEM_MEET, .begin = lead->time, .end = lead->time};
    }
    if (lead && own->end > lead->time && own->kind != LULL_ITEM_STEP)
        return split_stretch(own, lead->time);
    c->own_at++;
    return *own;
}

static lull_status read_merged(struct lull_item_cursor *c, uint32_t *ret_count,
                               struct lull_error *err)
{
    const struct lull_step *lead;
    uint32_t count = 0;
    while (count < ROOM) {
        if (c->own_at == c->n_own && !c->over) {
            if (count > 0) /* items point into the thread's own steps: hand out before reading on */
                break;
            lull_status status = read_own(c, err);
            if (status != LULL_OK)
                return status;
        }
        lull_status status = find_lead(c->leader, &lead, err);
        if (status != LULL_OK)
            return status;
        if (!lead && c->own_at == c->n_own)
            break;
        c->leader->merged[count++] = merge(c, lead);
    }
    *ret_count = count;
    return LULL_OK;
}

/* ---- the cursor ---------------------------------------------------------------------------- */

static lull_status open_leader(struct lull_item_cursor *c, uint32_t location,
                               struct lull_error *err)
{
    const uint64_t wants = LULL_STEP_MASK(LULL_STEP_FORK) | LULL_STEP_MASK(LULL_STEP_JOIN);
    static const struct lull_reading whole = {.application = LULL_NONE};
    static const struct lull_pass_options options = {.reading = &whole};
    c->leader = calloc(1, sizeof *c->leader);
    if (!c->leader)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                         c->trace->path);
    return lull_step_cursor_open(c->trace, location, wants, &options, &c->leader->cursor, err);
}

lull_status lull_item_cursor_open(const struct lull_trace *trace, uint32_t location,
                                  const uint8_t *marks, const struct lull_items_options *options,
                                  struct lull_item_cursor **ret_cursor, struct lull_error *err)
{
    const struct lull_location *l = &trace->locations[location];
    const uint32_t master = trace->processes[l->process].first_location;
    const struct lull_reading reading = {.application = LULL_NONE, .windows = options->windows};
    const struct lull_pass_options pass = {.reading = &reading, .marks = marks};
    struct lull_item_cursor *c = calloc(1, sizeof *c);
    if (!c)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    c->trace = trace;
    lull_items_init(&c->maker, options);
    c->maker.options.master = location == master;
    const uint64_t wants =
        LULL_ITEMS_WANT | (options->marks ? LULL_STEP_MASK(LULL_STEP_MARKER) : 0);
    lull_status status = lull_step_cursor_open(trace, location, wants, &pass, &c->cursor, err);
    if (status == LULL_OK && location != master && l->role != LULL_THREAD_FREE)
        status = open_leader(c, master, err);
    if (status != LULL_OK) {
        lull_item_cursor_close(c);
        return status;
    }
    *ret_cursor = c;
    return LULL_OK;
}

lull_status lull_item_cursor_of_steps(const struct lull_trace *trace, uint32_t location,
                                      const struct lull_step *steps, size_t count,
                                      const struct lull_items_options *options,
                                      struct lull_item_cursor **ret_cursor, struct lull_error *err)
{
    struct lull_item_cursor *c = calloc(1, sizeof *c);
    if (!c)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    c->trace = trace;
    lull_items_init(&c->maker, options);
    c->maker.options.master = c->maker.options.by_kept_time = true;
    c->steps = (struct lull_steps){.location = location, .count = (uint32_t)count, .steps = steps};
    *ret_cursor = c;
    return LULL_OK;
}

lull_status lull_item_cursor_next(struct lull_item_cursor *c, const struct lull_item **ret_items,
                                  uint32_t *ret_count, struct lull_error *err)
{
    if (c->leader) {
        *ret_items = c->leader->merged;
        return read_merged(c, ret_count, err);
    }
    lull_status status = read_own(c, err);
    *ret_items = c->own;
    *ret_count = c->n_own;
    return status;
}

void lull_item_cursor_close(struct lull_item_cursor *c)
{
    if (!c)
        return;
    if (c->leader)
        lull_step_cursor_close(c->leader->cursor);
    free(c->leader);
    lull_step_cursor_close(c->cursor);
    free(c);
}

/* ==== epoch =================================================================================== */

bool lull_is_epoch(const struct lull_trace *trace, const struct lull_step *step,
                   uint32_t n_processes)
{
    /* In an allgatherv, an alltoallv or an alltoallw no data may go between two processes, and then
     * one of them need not wait for the other: clocks cannot be compared by these. */
    static const bool waits_for_all[LULL_COLLECTIVES] = {
        [LULL_COLLECTIVE_BARRIER] = true,        [LULL_COLLECTIVE_ALLGATHER] = true,
        [LULL_COLLECTIVE_ALLTOALL] = true,       [LULL_COLLECTIVE_ALLREDUCE] = true,
        [LULL_COLLECTIVE_REDUCE_SCATTER] = true, [LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK] = true,
    };
    if (step->kind != LULL_STEP_COLLECTIVE_END || step->comm >= trace->n_comms ||
        step->op >= LULL_COLLECTIVES || !waits_for_all[step->op] ||
        step->collective.request != LULL_NO_REQUEST)
        return false;
    return trace->comms[step->comm].size == n_processes;
}

uint32_t lull_count_processes(const struct lull_trace *trace, uint32_t application)
{
    uint32_t n = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        n += trace->processes[p].application == application && trace->processes[p].n_threads > 0;
    return n;
}
