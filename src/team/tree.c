/* What all members do together: up the tree to the first, and down again. */
#include "base/array.h"
#include "team/team_state.h"

#include <stdlib.h>
#include <string.h>

enum { SPREAD_PART = 16 << 20 };

static uint32_t parent_of(uint32_t member)
{
    return member & (member - 1);
}

/* The children of a member are its number with one of these bits, the lowest first. */
static uint32_t lowest_bit(uint32_t member, uint32_t size)
{
    uint32_t bit = 1;
    while (bit < size && !(member & bit))
        bit *= 2;
    return bit;
}

static bool is_alone(const struct lull_team *team)
{
    return !team || team->size == 1;
}

/* ---- vectors --------------------------------------------------------------------------------- */

static void add(int64_t *to, const int64_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (int64_t)((uint64_t)to[i] + (uint64_t)from[i]);
}

static void keep_larger(int64_t *to, const int64_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[i] > to[i] ? from[i] : to[i];
}

static lull_status reduce(struct lull_team *team, int64_t *values, size_t count,
                          void (*join)(int64_t *to, const int64_t *from, size_t count),
                          struct lull_error *err)
{
    const size_t size = count * sizeof *values;
    if (is_alone(team))
        return LULL_OK;
    const uint32_t end = lowest_bit(team->index, team->size);
    const struct lull_mail_head head = {LULL_MAIL_UP, ++team->operation};
    lull_status status = LULL_OK;
    for (uint32_t bit = 1; status == LULL_OK && bit < end && (team->index | bit) < team->size;
         bit *= 2) {
        struct lull_mail *mail;
        status = lull_team_expect(team, team->index | bit, head, &mail, err);
        if (status != LULL_OK)
            return status;
        if (mail->size == size)
            join(values, (const int64_t *)(const void *)mail->bytes, count);
        else
            status = lull_fail(err, LULL_ERR_FORMAT,
                               "rank %u speaks of another run than the others", mail->from);
        free(mail);
    }
    if (status == LULL_OK && team->index != 0)
        status = lull_team_send(team, parent_of(team->index), head, values, size, err);
    return status;
}

lull_status lull_team_sum(struct lull_team *team, int64_t *values, size_t count,
                          struct lull_error *err)
{
    return reduce(team, values, count, add, err);
}

lull_status lull_team_max(struct lull_team *team, int64_t *values, size_t count,
                          struct lull_error *err)
{
    return reduce(team, values, count, keep_larger, err);
}

/* ---- blobs ----------------------------------------------------------------------------------- */

/* In front of the bytes of each member, which are filled up to a multiple of 8. */
struct frame {
    uint64_t member, size;
};

struct heap {
    unsigned char *bytes;
    size_t size, capacity;
};

static bool lay_down(struct heap *heap, const void *bytes, size_t size)
{
    const size_t room = (size + 7) / 8 * 8;
    if (!lull_array_reserve(&heap->bytes, &heap->capacity, heap->size + room, 1))
        return false;
    if (size)
        memcpy(heap->bytes + heap->size, bytes, size);
    memset(heap->bytes + heap->size + size, 0, room - size);
    heap->size += room;
    return true;
}

/* Its own bytes, and those of the subtrees of its children behind them, in the order of members. */
static lull_status gather(struct lull_team *team, struct lull_mail_head head, const void *bytes,
                          size_t size, struct heap *heap, struct lull_error *err)
{
    const uint32_t end = lowest_bit(team->index, team->size);
    const struct frame frame = {team->index, size};
    bool fits = lay_down(heap, &frame, sizeof frame) && lay_down(heap, bytes, size);
    lull_status status = LULL_OK;
    for (uint32_t bit = 1;
         fits && status == LULL_OK && bit < end && (team->index | bit) < team->size; bit *= 2) {
        struct lull_mail *mail;
        status = lull_team_expect(team, team->index | bit, head, &mail, err);
        if (status != LULL_OK)
            break;
        fits = lay_down(heap, mail->bytes, mail->size);
        free(mail);
    }
    if (!fits)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for what the members say");
    if (status == LULL_OK && team->index != 0)
        status = lull_team_send(team, parent_of(team->index), head, heap->bytes, heap->size, err);
    return status;
}

typedef lull_status (*take_fn)(void *context, uint32_t member, const void *bytes, size_t size,
                               struct lull_error *err);

static lull_status take_all(const struct heap *heap, take_fn take, void *context,
                            struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (size_t at = 0; status == LULL_OK && at < heap->size;) {
        struct frame frame;
        memcpy(&frame, heap->bytes + at, sizeof frame);
        at += sizeof frame;
        status = take(context, (uint32_t)frame.member, heap->bytes + at, frame.size, err);
        at += (frame.size + 7) / 8 * 8;
    }
    return status;
}

static lull_status collect(struct lull_team *team, struct lull_mail_head head, const void *bytes,
                           size_t size, take_fn take, void *context, struct lull_error *err)
{
    struct heap heap = {0};
    lull_status status = gather(team, head, bytes, size, &heap, err);
    if (team->index == 0 && status == LULL_OK)
        status = take_all(&heap, take, context, err);
    free(heap.bytes);
    return status;
}

lull_status lull_team_collect(struct lull_team *team, const void *bytes, size_t size, take_fn take,
                              void *context, struct lull_error *err)
{
    if (is_alone(team))
        return take(context, 0, bytes, size, err);
    return collect(team, (struct lull_mail_head){LULL_MAIL_UP, ++team->operation}, bytes, size,
                   take, context, err);
}

/* ---- down ------------------------------------------------------------------------------------ */

static lull_status send_down(struct lull_team *team, struct lull_mail_head head, const void *bytes,
                             size_t size, struct lull_error *err)
{
    const uint32_t end = lowest_bit(team->index, team->size);
    lull_status status = LULL_OK;
    for (uint32_t bit = 1; status == LULL_OK && bit < end && (team->index | bit) < team->size;
         bit *= 2)
        status = lull_team_send(team, team->index | bit, head, bytes, size, err);
    return status;
}

static lull_status pass_down(struct lull_team *team, struct lull_mail_head head, void *bytes,
                             size_t size, struct lull_error *err)
{
    lull_status status = LULL_OK;
    if (team->index != 0) {
        struct lull_mail *mail;
        status = lull_team_expect(team, parent_of(team->index), head, &mail, err);
        if (status != LULL_OK)
            return status;
        if (mail->size == size)
            memcpy(bytes, mail->bytes, size);
        else
            status = lull_fail(err, LULL_ERR_FORMAT, "the members speak of different runs");
        free(mail);
    }
    return status == LULL_OK ? send_down(team, head, bytes, size, err) : status;
}

lull_status lull_team_broadcast(struct lull_team *team, void *bytes, size_t size,
                                struct lull_error *err)
{
    if (is_alone(team))
        return LULL_OK;
    return pass_down(team, (struct lull_mail_head){LULL_MAIL_DOWN, ++team->operation}, bytes, size,
                     err);
}

lull_status lull_team_sum_to_all(struct lull_team *team, int64_t *values, size_t count,
                                 struct lull_error *err)
{
    lull_status status = lull_team_sum(team, values, count, err);
    return status == LULL_OK ? lull_team_broadcast(team, values, count * sizeof *values, err)
                             : status;
}

lull_status lull_team_max_to_all(struct lull_team *team, int64_t *values, size_t count,
                                 struct lull_error *err)
{
    lull_status status = lull_team_max(team, values, count, err);
    return status == LULL_OK ? lull_team_broadcast(team, values, count * sizeof *values, err)
                             : status;
}

/* What the first has collected goes down in parts, so that what is on its way is bounded. */
static lull_status spread(struct lull_team *team, struct heap *heap, struct lull_error *err)
{
    uint64_t size = heap->size;
    lull_status status = lull_team_broadcast(team, &size, sizeof size, err);
    if (status != LULL_OK)
        return status;
    if (!lull_array_reserve(&heap->bytes, &heap->capacity, (size_t)size, 1))
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for what the members say");
    heap->size = (size_t)size;
    for (size_t at = 0; status == LULL_OK && at < heap->size; at += SPREAD_PART) {
        const size_t left = heap->size - at;
        status = lull_team_broadcast(team, heap->bytes + at,
                                     left < SPREAD_PART ? left : SPREAD_PART, err);
    }
    return status;
}

lull_status lull_team_exchange(struct lull_team *team, const void *bytes, size_t size, take_fn take,
                               void *context, struct lull_error *err)
{
    if (is_alone(team))
        return take(context, 0, bytes, size, err);
    struct heap heap = {0};
    lull_status status = gather(team, (struct lull_mail_head){LULL_MAIL_UP, ++team->operation},
                                bytes, size, &heap, err);
    if (status == LULL_OK && team->index != 0)
        heap.size = 0;
    if (status == LULL_OK)
        status = spread(team, &heap, err);
    if (status == LULL_OK)
        status = take_all(&heap, take, context, err);
    free(heap.bytes);
    return status;
}

/* ---- agreement ------------------------------------------------------------------------------- */

/* Begins the next one. Who has failed may have left out what others still do together before it,
 * and tells them, so that they come, too. */
static uint32_t begin_agreement(struct lull_team *team, bool failed)
{
    pthread_mutex_lock(&team->lock);
    const uint32_t number = ++team->agreements;
    pthread_mutex_unlock(&team->lock);
    for (uint32_t i = 0; failed && i < team->size; i++)
        if (i != team->index)
            lull_team_send(team, i, (struct lull_mail_head){LULL_MAIL_FAILED, number}, NULL, 0,
                           NULL);
    return number;
}

/* All below in the tree wait for what is agreed upon: what they have sent of operations that others
 * left out, nobody takes any more. */
static void forget_operations(struct lull_team *team)
{
    pthread_mutex_lock(&team->lock);
    lull_team_drop(team, LULL_MAIL_UP);
    pthread_mutex_unlock(&team->lock);
}

/* What has gone wrong, at the first member that knows why. */
struct outcome {
    int64_t status;
    uint64_t member;
    struct lull_error error;
};

static lull_status take_outcome(void *context, uint32_t member, const void *bytes, size_t size,
                                struct lull_error *err)
{
    struct outcome *worst = context;
    (void)member;
    (void)err;
    if (size != sizeof *worst)
        return LULL_OK; /* all is well */
    struct outcome outcome;
    memcpy(&outcome, bytes, sizeof outcome);
    if (worst->status == LULL_OK ||
        (worst->status == LULL_ERR_CANCELLED && outcome.status != LULL_ERR_CANCELLED))
        *worst = outcome;
    return LULL_OK;
}

lull_status lull_team_agree(struct lull_team *team, lull_status status, struct lull_error *err)
{
    if (is_alone(team))
        return status;
    struct outcome own = {.status = status, .member = team->index}, worst = {0};
    struct lull_error why = {""};
    if (status != LULL_OK && err)
        own.error = *err;
    const uint32_t number = begin_agreement(team, status != LULL_OK);
    const struct lull_mail_head agreed = {LULL_MAIL_AGREED, number};
    lull_status reached = collect(team, (struct lull_mail_head){LULL_MAIL_AGREE, number}, &own,
                                  status == LULL_OK ? 0 : sizeof own, take_outcome, &worst, &why);
    int64_t all = worst.status;
    forget_operations(team);
    if (reached == LULL_OK)
        reached = pass_down(team, agreed, &all, sizeof all, &why);
    if (reached != LULL_OK) { /* those below wait for this member's word */
        all = LULL_ERR_CANCELLED;
        send_down(team, agreed, &all, sizeof all, NULL);
    }
    if (reached != LULL_OK) /* who was only stopped, knows less */
        return status == LULL_OK || status == LULL_ERR_CANCELLED
                   ? lull_fail(err, reached, "%s", why.text)
                   : status;
    if (all == LULL_OK)
        return LULL_OK;
    team->operation = 0; /* some may have done more than others */
    if (team->index != 0)
        return lull_fail(err, LULL_ERR_CANCELLED, "another process of lull has failed");
    if (worst.member == 0)
        return lull_fail(err, (lull_status)all, "%s", worst.error.text);
    return lull_fail(err, (lull_status)all, "rank %u on %s: %s", (unsigned)worst.member,
                     team->hosts[worst.member], worst.error.text);
}
