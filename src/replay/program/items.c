#include "replay/program/items.h"

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
    if (kind != m->kind && m->kind != NOT_KEPT && (m->options.pieces || !m->options.master))
        hand_out(m, m->kind, stretch->time, false);
    m->kind = kind;
    m->user = stretch->span.user;
    if (kind == NOT_KEPT)
        return;
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

/* A clock that was put forward has less time behind its last event. */
static void finish_items(struct lull_items *m, const struct lull_step *end)
{
    const int64_t tail = least(end->time - end->last_time, m->ns[BURST]);
    m->ns[BURST] -= least(tail, m->options.shift);
    hand_out_all(m, end->time);
}

static void take_other(struct lull_items *m, const struct lull_step *step)
{
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
