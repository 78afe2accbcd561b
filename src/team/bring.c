/* A part is sent when the next one begins, or at the end; the last one is the first that is not
 * full. The first part of each member is small, and comes before it is asked for, so that little is
 * brought at once; each other one the first asks for. */
#include "team/bring.h"

#include "base/arena.h"
#include "team/team_state.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_PART = 64 << 10, PART = 4 << 20 }; /* bytes */

struct lull_flow {
    struct lull_team *team;
    bool spreads;    /* from the first to all; else */
    uint32_t other;  /* who is at the other end */
    uint32_t number; /* of the agreement at the end */
    uint32_t parts;  /* that were sent, or have come */
    unsigned char *part;
    size_t size, at;          /* bytes of it, and how many of these were got ... */
    const unsigned char *got; /* ... from here */
    struct lull_mail *mail;
    lull_status status;
    struct lull_error *err;
};

static size_t full_size(uint32_t part)
{
    return part == 0 ? FIRST_PART : PART;
}

static struct lull_mail_head head_of(const struct lull_flow *flow, uint32_t kind)
{
    return (struct lull_mail_head){kind, flow->number};
}

/* ---- a member ------------------------------------------------------------------------------ */

/* The length of a part, and the part, to all. */
static bool spread_part(struct lull_flow *flow)
{
    uint64_t size = flow->size;
    flow->status = lull_team_broadcast(flow->team, &size, sizeof size, flow->err);
    flow->size = size;
    if (flow->status == LULL_OK && size > 0)
        flow->status = lull_team_broadcast(flow->team, flow->part, size, flow->err);
    return flow->status == LULL_OK;
}

static bool send_part(struct lull_flow *flow)
{
    struct lull_mail *asked = NULL;
    if (flow->spreads) {
        const bool good = spread_part(flow);
        flow->parts++;
        flow->size = 0;
        return good;
    }
    if (flow->parts > 0)
        flow->status = lull_team_expect(flow->team, flow->other, head_of(flow, LULL_MAIL_ASKED),
                                        &asked, flow->err);
    free(asked);
    if (flow->status == LULL_OK)
        flow->status = lull_team_send(flow->team, flow->other, head_of(flow, LULL_MAIL_BROUGHT),
                                      flow->part, flow->size, flow->err);
    flow->parts++;
    flow->size = 0;
    return flow->status == LULL_OK;
}

static bool make_room(struct lull_flow *flow)
{
    if (flow->part && flow->size < full_size(flow->parts))
        return true;
    if (flow->part && !send_part(flow))
        return false;
    if (flow->part && flow->parts > 1)
        return true; /* as large as those to come */
    unsigned char *room = realloc(flow->part, full_size(flow->parts));
    if (!room)
        return false;
    flow->part = room;
    return true;
}

bool lull_flow_put(struct lull_flow *flow, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    while (size > 0) {
        if (!make_room(flow))
            return false;
        const size_t left = full_size(flow->parts) - flow->size, some = size < left ? size : left;
        memcpy(flow->part + flow->size, from, some);
        flow->size += some;
        from += some;
        size -= some;
    }
    return true;
}

bool lull_flow_put_items(struct lull_flow *flow, const void *items, size_t count, size_t size)
{
    const uint64_t n = count;
    return lull_flow_put(flow, &n, sizeof n) && lull_flow_put(flow, items, count * size);
}

bool lull_flow_put_text(struct lull_flow *flow, const char *text)
{
    return lull_flow_put_items(flow, text ? text : "", text ? strlen(text) + 1 : 0, 1);
}

static bool end_put(struct lull_flow *flow)
{
    const bool full = flow->size == full_size(flow->parts);
    return send_part(flow) && (!full || send_part(flow));
}

/* ---- the first ----------------------------------------------------------------------------- */

static bool is_last_part(const struct lull_flow *flow)
{
    return flow->parts > 0 && flow->size < full_size(flow->parts - 1);
}

static bool other_run(struct lull_flow *flow)
{
    flow->status = lull_fail(flow->err, LULL_ERR_FORMAT,
                             "rank %u speaks of another run than the others", flow->other);
    return false;
}

static bool next_spread(struct lull_flow *flow)
{
    if (flow->parts < 2) { /* the second is as large as those to come */
        unsigned char *room = realloc(flow->part, full_size(flow->parts));
        if (!room)
            return false;
        flow->part = room;
    }
    flow->got = flow->part;
    flow->at = 0;
    return spread_part(flow) && ++flow->parts > 0;
}

static bool next_part(struct lull_flow *flow)
{
    if (is_last_part(flow))
        return other_run(flow);
    if (flow->spreads)
        return next_spread(flow);
    if (flow->parts > 0)
        flow->status = lull_team_send(flow->team, flow->other, head_of(flow, LULL_MAIL_ASKED), NULL,
                                      0, flow->err);
    free(flow->mail);
    flow->mail = NULL;
    if (flow->status == LULL_OK)
        flow->status = lull_team_expect(flow->team, flow->other, head_of(flow, LULL_MAIL_BROUGHT),
                                        &flow->mail, flow->err);
    if (flow->status != LULL_OK)
        return false;
    flow->got = (const unsigned char *)flow->mail->bytes;
    flow->size = flow->mail->size;
    flow->at = 0;
    return ++flow->parts > 0;
}

bool lull_flow_get(struct lull_flow *flow, void *bytes, size_t size)
{
    unsigned char *to = bytes;
    while (size > 0) {
        if (flow->at == flow->size && !next_part(flow))
            return false;
        const size_t left = flow->size - flow->at, some = size < left ? size : left;
        if (some)
            memcpy(to, flow->got + flow->at, some);
        flow->at += some;
        to += some;
        size -= some;
    }
    return true;
}

void *lull_flow_get_items(struct lull_flow *flow, size_t size, size_t *ret_count)
{
    uint64_t n;
    *ret_count = 0;
    if (!lull_flow_get(flow, &n, sizeof n))
        return NULL;
    unsigned char *items = malloc((n + 1) * size);
    if (items && lull_flow_get(flow, items, n * size)) {
        *ret_count = n;
        return items;
    }
    free(items);
    return NULL;
}

bool lull_flow_get_text(struct lull_flow *flow, struct lull_arena *arena, const char **ret_text)
{
    size_t count;
    char *text = lull_flow_get_items(flow, 1, &count);
    *ret_text = text && count > 0 ? lull_arena_printf(arena, "%s", text) : NULL;
    free(text);
    return text != NULL;
}

static bool end_get(struct lull_flow *flow)
{
    while (!is_last_part(flow)) {
        if (flow->at < flow->size)
            return other_run(flow);
        if (!next_part(flow))
            return false;
    }
    return flow->at == flow->size || other_run(flow);
}

/* ---- both ways ------------------------------------------------------------------------------ */

static lull_status end(struct lull_flow *flow, bool good, const char *what)
{
    free(flow->part);
    free(flow->mail);
    if (good || flow->status != LULL_OK)
        return flow->status;
    return lull_fail(flow->err, LULL_ERR_MEMORY, "not enough memory for %s", what);
}

lull_status lull_team_bring(struct lull_team *team, const struct lull_freight *freight,
                            struct lull_error *err)
{
    const uint32_t members = lull_team_size(team), own = lull_team_index(team);
    lull_status status = LULL_OK;
    if (members == 1)
        return LULL_OK;
    struct lull_flow flow = {.team = team, .number = team->agreements + 1, .err = err};
    if (own > 0)
        status = end(&flow, freight->put(freight->context, &flow) && end_put(&flow), freight->what);
    for (uint32_t m = 1; own == 0 && m < members && status == LULL_OK; m++) {
        flow = (struct lull_flow){.team = team, .other = m, .number = flow.number, .err = err};
        status =
            end(&flow, freight->get(freight->context, m, &flow) && end_get(&flow), freight->what);
    }
    return lull_team_agree(team, status, err);
}

lull_status lull_team_spread(struct lull_team *team, const struct lull_freight *freight,
                             struct lull_error *err)
{
    struct lull_flow flow = {.team = team, .spreads = true, .err = err};
    if (lull_team_size(team) == 1)
        return LULL_OK;
    const bool good = lull_team_is_first(team)
                          ? freight->put(freight->context, &flow) && end_put(&flow)
                          : freight->get(freight->context, 0, &flow) && end_get(&flow);
    return lull_team_agree(team, end(&flow, good, freight->what), err);
}
