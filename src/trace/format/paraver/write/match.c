#include "trace/format/paraver/write/match.h"

#include <stdlib.h>

static size_t hash(const struct lull_prv_waiting *half, size_t n_buckets)
{
    uint64_t key = ((uint64_t)half->comm << 32 | half->source) * UINT64_C(0x9e3779b97f4a7c15);
    key ^= ((uint64_t)half->destination << 32 | (uint32_t)half->tag) * UINT64_C(0xc2b2ae3d27d4eb4f);
    key += half->bytes * UINT64_C(0x165667b19e3779f9);
    return (size_t)((key ^ key >> 29) & (n_buckets - 1));
}

static bool same_channel(const struct lull_prv_waiting *a, const struct lull_prv_waiting *b)
{
    return a->comm == b->comm && a->source == b->source && a->destination == b->destination &&
           a->tag == b->tag && a->bytes == b->bytes;
}

static void append_half(struct lull_prv_bucket *bucket, struct lull_prv_waiting *half)
{
    half->next = NULL;
    if (bucket->last)
        bucket->last->next = half;
    else
        bucket->first = half;
    bucket->last = half;
}

/* All of a channel come from one bucket, so their order is kept. */
static bool grow(struct lull_prv_matcher *matcher)
{
    size_t n_buckets = matcher->n_buckets ? matcher->n_buckets * 4 : 256;
    struct lull_prv_bucket *buckets = calloc(n_buckets, sizeof *buckets);
    if (!buckets)
        return false;
    for (size_t b = 0; b < matcher->n_buckets; b++) {
        for (struct lull_prv_waiting *half = matcher->buckets[b].first, *next; half; half = next) {
            next = half->next;
            append_half(&buckets[hash(half, n_buckets)], half);
        }
    }
    free(matcher->buckets);
    matcher->buckets = buckets;
    matcher->n_buckets = n_buckets;
    return true;
}

static void take_out(struct lull_prv_bucket *bucket, struct lull_prv_waiting *before,
                     struct lull_prv_waiting *half)
{
    if (before)
        before->next = half->next;
    else
        bucket->first = half->next;
    if (bucket->last == half)
        bucket->last = before;
}

bool lull_prv_match(struct lull_prv_matcher *matcher, const struct lull_prv_waiting *half,
                    struct lull_prv_waiting **ret_other)
{
    if (matcher->n_waiting >= matcher->n_buckets && !grow(matcher))
        return false;
    struct lull_prv_bucket *bucket = &matcher->buckets[hash(half, matcher->n_buckets)];
    struct lull_prv_waiting *before = NULL, *found = bucket->first;
    for (; found && !same_channel(found, half); found = found->next)
        before = found;
    /* Those that wait in a channel are all sends or all receives: the first tells. */
    if (found && found->send != half->send) {
        take_out(bucket, before, found);
        matcher->n_waiting--;
        *ret_other = found;
        return true;
    }
    struct lull_prv_waiting *copy = malloc(sizeof *copy);
    if (!copy)
        return false;
    *copy = *half;
    append_half(bucket, copy);
    matcher->n_waiting++;
    *ret_other = NULL;
    return true;
}

void lull_prv_matcher_free(struct lull_prv_matcher *matcher)
{
    for (size_t b = 0; b < matcher->n_buckets; b++) {
        for (struct lull_prv_waiting *half = matcher->buckets[b].first, *next; half; half = next) {
            next = half->next;
            free(half);
        }
    }
    free(matcher->buckets);
}
