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

static int compare_by_time(const void *a, const void *b)
{
    const struct side *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->leaf != y->leaf)
        return x->leaf < y->leaf ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
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

/* The numbers of a leaf's channels among those of all leaves, as they are needed. */
struct numbering {
    struct lull_hash *of_all;
    const struct lull_channel *channels;
    uint32_t *known; /* number + 1; 0: not yet */
};

/* LULL_NONE: no memory. */
static uint32_t number_of(const struct numbering *numbering, uint32_t channel)
{
    struct lull_hash *of_all = numbering->of_all;
    uint32_t *known = &numbering->known[channel];
    if (*known > 0)
        return *known - 1;
    const uint64_t *number = lull_hash_add(of_all, &numbering->channels[channel],
                                           sizeof *numbering->channels, of_all->count, NULL);
    if (!number)
        return LULL_NONE;
    *known = (uint32_t)*number + 1;
    return (uint32_t)*number;
}

static bool gather_leaf(const struct lull_timeline_post *post, uint32_t leaf, int which,
                        struct lull_hash *numbers, struct sides *sides)
{
    struct numbering numbering = {numbers, post->channels, NULL};
    const struct lull_timeline_notes *notes = &post->notes[which];
    bool good = true;
    if (notes->count == 0)
        return true;
    numbering.known = calloc(post->n_channels + (size_t)1, sizeof *numbering.known);
    for (size_t i = 0; numbering.known && good && i < notes->count; i++) {
        const struct lull_timeline_note *note = &notes->items[i];
        const uint32_t number = number_of(&numbering, note->channel);
        good = number != LULL_NONE && own_channel(sides, number, leaf);
        sides->items[sides->count++] = (struct side){
            number, leaf, note->number, note->bytes, note->time, post->channels[note->channel].tag};
    }
    good = good && numbering.known;
    free(numbering.known);
    return good;
}

static bool gather(const struct lull_timeline_mail *mail, int which, struct lull_hash *numbers,
                   struct sides *sides)
{
    size_t total = 0;
    const uint32_t n_leaves = mail->timeline->n_leaves;
    for (uint32_t l = 0; l < n_leaves; l++)
        total += mail->posts[l].notes[which].count;
    sides->items = malloc((total + 1) * sizeof *sides->items);
    bool good = sides->items != NULL;
    for (uint32_t l = 0; good && l < n_leaves; l++)
        good = gather_leaf(&mail->posts[l], l, which, numbers, sides);
    return good;
}

/* By channel, and otherwise as they were gathered. */
static bool group_by_channel(struct sides *sides)
{
    size_t *next = calloc(sides->n_only + (size_t)2, sizeof *next);
    struct side *grouped = malloc((sides->count + 1) * sizeof *grouped);
    for (size_t i = 0; next && grouped && i < sides->count; i++)
        next[sides->items[i].channel + 1]++;
    for (uint32_t c = 0; next && grouped && c < sides->n_only; c++)
        next[c + 1] += next[c];
    for (size_t i = 0; next && grouped && i < sides->count; i++)
        grouped[next[sides->items[i].channel]++] = sides->items[i];
    const bool good = next && grouped;
    if (good) {
        free(sides->items);
        sides->items = grouped;
    } else {
        free(grouped);
    }
    free(next);
    return good;
}

static bool is_in_order(const struct side *sides, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (sides[i - 1].number > sides[i].number)
            return false;
    return true;
}

/* By channel and number. Where several threads use a channel, its messages are numbered by time; a
 * thread alone has them in order already. */
static bool order_sides(struct sides *sides)
{
    if (!group_by_channel(sides))
        return false;
    size_t end;
    for (size_t begin = 0; begin < sides->count; begin = end) {
        struct side *first = &sides->items[begin];
        for (end = begin; end < sides->count && sides->items[end].channel == first->channel;)
            end++;
        if (sides->only[first->channel] == LULL_NONE) {
            qsort(first, end - begin, sizeof *first, compare_by_time);
            for (size_t i = 0; i < end - begin; i++)
                first[i].number = i;
        } else if (!is_in_order(first, end - begin)) {
            qsort(first, end - begin, sizeof *first, compare_by_number);
        }
    }
    return true;
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
    good = good && order_sides(&sides[0]) && order_sides(&sides[1]);
    if (good)
        join_sides(&sides[0], &sides[1], timeline, arena);
    for (int i = 0; i < 2; i++) {
        free(sides[i].items);
        free(sides[i].only);
    }
    lull_hash_free(&numbers);
    return good ? LULL_OK
                : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for its messages",
                            timeline->trace->path);
}
