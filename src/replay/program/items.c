#include "replay/program/items.h"

#include <string.h>

enum { BURST = LULL_STRETCH_BURST, FIXED = LULL_STRETCH_FIXED, NOT_KEPT = LULL_STRETCH_WAIT };

static struct lull_item *add_item(struct lull_items *m, uint8_t kind, int64_t time)
{
    struct lull_item *item = &m->out[m->count++];
    *item = (struct lull_item){.kind = kind, .begin = time, .end = time};
    return item;
}

static void hand_out(struct lull_items *m, unsigned kind, int64_t now, bool always)
{
    if (m->ns[kind] == 0 && !always)
        return;
    struct lull_item *item = add_item(m, kind == BURST ? LULL_ITEM_BURST : LULL_ITEM_FIXED, now);
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

/* ---- stretches ----------------------------------------------------------------------------- */

/* Accounts for a stretch that was held, up to `limit`. */
static void account(struct lull_items *m, uint32_t i, int64_t limit)
{
    const int64_t begin = m->held[i].begin;
    const int64_t end = m->held[i].end < limit ? m->held[i].end : limit;
    const uint8_t kind = m->held[i].kind;
    if (begin >= end)
        return;
    if (m->held[i].mark != m->mark) {
        hand_out_all(m, begin);
        m->mark = m->held[i].mark;
    }
    if (kind != m->kind && m->kind != NOT_KEPT && (m->options.pieces || !m->options.master))
        hand_out(m, m->kind, begin, false);
    m->kind = kind;
    m->user = m->held[i].user;
    if (kind == NOT_KEPT)
        return;
    if (m->ns[kind] == 0)
        m->began[kind] = begin;
    m->ns[kind] += end - begin;
}

static void account_all(struct lull_items *m, int64_t limit)
{
    for (uint32_t i = 0; i < m->n_held; i++)
        account(m, i, limit);
    m->n_held = 0;
}

/* A stretch like the one before is part of it. */
static void take_stretch(struct lull_items *m, const struct lull_step *stretch)
{
    if (m->n_held > 0 && m->held[m->n_held - 1].kind == stretch->op &&
        m->held[m->n_held - 1].mark == stretch->span.mark) {
        m->held[m->n_held - 1].end = stretch->span.end;
        m->held[m->n_held - 1].user = stretch->span.user;
        return;
    }
    if (m->n_held == LULL_ITEMS_HELD) {
        account(m, 0, INT64_MAX);
        m->n_held--;
        memmove(m->held, m->held + 1, m->n_held * sizeof *m->held);
    }
    uint32_t i = m->n_held++;
    m->held[i].begin = stretch->time;
    m->held[i].end = stretch->span.end;
    m->held[i].user = stretch->span.user;
    m->held[i].mark = stretch->span.mark;
    m->held[i].kind = stretch->op;
}

/* ---- steps --------------------------------------------------------------------------------- */

static void begin_call(struct lull_items *m, int64_t now)
{
    hand_out(m, FIXED, now, false);
    if (m->ns[BURST] == 0)
        m->began[BURST] = now;
    hand_out(m, BURST, now, m->options.pieces);
}

static void finish(struct lull_items *m, const struct lull_step *end)
{
    int64_t now = m->tail ? end->time : end->last_time;
    account_all(m, now);
    hand_out_all(m, now);
}

static void take_other(struct lull_items *m, const struct lull_step *step)
{
    switch (step->kind) {
    case LULL_STEP_CALL_BEGIN:
        account_all(m, INT64_MAX);
        begin_call(m, step->time);
        break;
    case LULL_STEP_FORK:
    case LULL_STEP_JOIN:
        if (m->options.master) {
            account_all(m, INT64_MAX);
            hand_out_all(m, step->time);
            add_item(m, LULL_ITEM_MEET, step->time);
        }
        return;
    case LULL_STEP_CALL_END:
        account_all(m, INT64_MAX);
        hand_out_all(m, step->time);
        break;
    case LULL_STEP_END:
        finish(m, step);
        return;
    default:
        break;
    }
    add_item(m, LULL_ITEM_STEP, step->time)->step = step;
}

uint32_t lull_items_take(struct lull_items *m, const struct lull_step *step,
                         struct lull_item *ret_items)
{
    m->out = ret_items;
    m->count = 0;
    if (step->kind == LULL_STEP_STRETCH)
        take_stretch(m, step);
    else if (LULL_ITEMS_WANT >> step->kind & 1)
        take_other(m, step);
    return m->count;
}

void lull_items_init(struct lull_items *items, const struct lull_trace *trace,
                     const struct lull_items_options *options)
{
    *items = (struct lull_items){.options = *options,
                                 .tail = trace->has_states,
                                 .kind = NOT_KEPT,
                                 .user = LULL_NONE,
                                 .ns[FIXED] = options->shift};
}
