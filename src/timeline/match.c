/* Notes of sending and of receiving become messages: the n-th one of a channel is the same. */
#include "timeline/builder.h"

#include "base/array.h"

#include <stdlib.h>

/* One side of a message. */
struct side {
    uint32_t channel; /* number of all leaves */
    uint32_t leaf;
    uint64_t number, bytes;
    int64_t time;
    int32_t tag;
};

/* One side of all channels. */
struct sides {
    struct side *items;
    size_t count;
    uint32_t *only; /* [channel]: the leaf that has it + 1; LULL_NONE: several */
    uint32_t n_only;
    size_t only_capacity;
};

static int compare_times(const struct side *x, const struct side *y)
{
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->leaf != y->leaf)
        return x->leaf < y->leaf ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_by_time(const void *a, const void *b)
{
    const struct side *x = a, *y = b;
    if (x->channel != y->channel)
        return x->channel < y->channel ? -1 : 1;
    return compare_times(x, y);
}

static int compare_by_number(const void *a, const void *b)
{
    const struct side *x = a, *y = b;
    if (x->channel != y->channel)
        return x->channel < y->channel ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_messages(const void *a, const void *b)
{
    const struct lull_timeline_message *x = a, *y = b;
    if (x->sent != y->sent)
        return x->sent < y->sent ? -1 : 1;
    if (x->sender != y->sender)
        return x->sender < y->sender ? -1 : 1;
    if (x->received != y->received)
        return x->received < y->received ? -1 : 1;
    if (x->receiver != y->receiver)
        return x->receiver < y->receiver ? -1 : 1;
    if (x->tag != y->tag)
        return x->tag < y->tag ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static bool own_channel(struct sides *sides, uint32_t channel, uint32_t leaf)
{
    if (!lull_array_reserve(&sides->only, &sides->only_capacity, channel + (size_t)1,
                            sizeof *sides->only))
        return false;
    for (; sides->n_only <= channel; sides->n_only++)
        sides->only[sides->n_only] = 0;
    uint32_t *only = &sides->only[channel];
    *only = *only == 0 || *only == leaf + 1 ? leaf + 1 : LULL_NONE;
    return true;
}

static bool gather(const struct lull_timeline_mail *mail, int which, struct lull_hash *numbers,
                   struct sides *sides)
{
    size_t total = 0;
    const uint32_t n_leaves = mail->timeline->n_leaves;
    for (uint32_t l = 0; l < n_leaves; l++)
        total += mail->posts[l].notes[which].count;
    sides->items = malloc((total + 1) * sizeof *sides->items);
    for (uint32_t l = 0; sides->items && l < n_leaves; l++) {
        const struct lull_timeline_post *post = &mail->posts[l];
        for (size_t i = 0; i < post->notes[which].count; i++) {
            const struct lull_timeline_note *note = &post->notes[which].items[i];
            const struct lull_channel *channel = &post->channels[note->channel];
            uint64_t *number =
                lull_hash_add(numbers, channel, sizeof *channel, numbers->count, NULL);
            if (!number || !own_channel(sides, (uint32_t)*number, l))
                return false;
            sides->items[sides->count++] = (struct side){
                (uint32_t)*number, l, note->number, note->bytes, note->time, channel->tag};
        }
    }
    return sides->items != NULL;
}

/* Where several threads use a channel, its messages are numbered by time. */
static void number_shared(struct sides *sides)
{
    qsort(sides->items, sides->count, sizeof *sides->items, compare_by_time);
    uint64_t number = 0;
    for (size_t i = 0; i < sides->count; i++) {
        struct side *side = &sides->items[i];
        number = i > 0 && sides->items[i - 1].channel == side->channel ? number + 1 : 0;
        if (sides->only[side->channel] == LULL_NONE)
            side->number = number;
    }
    qsort(sides->items, sides->count, sizeof *sides->items, compare_by_number);
}

static void join_sides(const struct sides *sent, const struct sides *received,
                       struct lull_timeline *timeline, struct lull_arena *arena)
{
    const size_t most = sent->count < received->count ? sent->count : received->count;
    timeline->messages = lull_arena_alloc(arena, (most + 1) * sizeof *timeline->messages);
    for (size_t s = 0, r = 0; s < sent->count && r < received->count;) {
        const struct side *from = &sent->items[s], *to = &received->items[r];
        int order = compare_by_number(from, to);
        if (order == 0)
            timeline->messages[timeline->n_kept_messages++] = (struct lull_timeline_message){
                from->time, to->time, from->leaf, to->leaf, from->bytes, from->tag};
        s += order <= 0;
        r += order >= 0;
    }
    timeline->unmatched = sent->count + received->count - 2 * timeline->n_kept_messages;
    qsort(timeline->messages, timeline->n_kept_messages, sizeof *timeline->messages,
          compare_messages);
}

lull_status lull_timeline_match(const struct lull_timeline_mail *mail,
                                struct lull_timeline *timeline, struct lull_arena *arena,
                                struct lull_error *err)
{
    struct lull_hash numbers = {0};
    struct sides sides[2] = {0};
    bool good = gather(mail, 0, &numbers, &sides[0]) && gather(mail, 1, &numbers, &sides[1]);
    if (good) {
        number_shared(&sides[0]);
        number_shared(&sides[1]);
        join_sides(&sides[0], &sides[1], timeline, arena);
    }
    for (int i = 0; i < 2; i++) {
        free(sides[i].items);
        free(sides[i].only);
    }
    lull_hash_free(&numbers);
    return good ? LULL_OK
                : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for its messages",
                            timeline->trace->path);
}
