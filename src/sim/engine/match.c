/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/engine/match.h"

#include "base/mix.h"

#include <stdlib.h>

enum { NO_PARTNER = LULL_NO_TRANSFER };
enum { HASHED_POSTED = 1, HASHED_UNEXPECTED = 2 }; /* bits of lull_rank_state.hashed */
enum { MOST_STEPS = 16, FIRST_CHAINS = 1024 };

void lull_matcher_open(struct lull_matcher *matcher, struct lull_fabric *fabric)
{
    *matcher = (struct lull_matcher){.fabric = fabric};
}

void lull_matcher_close(struct lull_matcher *matcher)
{
    free(matcher->chains);
    matcher->chains = NULL;
}

static bool accepts(const struct lull_transfer *receive, const struct lull_transfer *message)
{
    return (receive->source == message->source || receive->source == LULL_OP_ANY) &&
           (receive->tag == message->tag || receive->tag == LULL_OP_ANY) &&
           receive->comm == message->comm;
}

/* --- hash table ---------------------------------------------------------------------------- */

/* What chains are keyed by; of a receive the wildcards are part of it. */
struct key {
    uint32_t rank, comm, source, tag;
    bool receive;
};

static struct key key_of(const struct lull_transfer *transfer)
{
    return (struct key){transfer->target, transfer->comm, transfer->source, transfer->tag,
                        transfer->flags & LULL_TRANSFER_RECEIVE};
}

static bool same_key(const struct lull_transfer *transfer, const struct key *key)
{
    return transfer->target == key->rank && transfer->source == key->source &&
           transfer->tag == key->tag && transfer->comm == key->comm &&
           !(transfer->flags & LULL_TRANSFER_RECEIVE) == !key->receive;
}

static struct lull_chain *chain_of(const struct lull_matcher *matcher, const struct key *key)
{
    uint64_t hash = lull_mix(0, (uint64_t)key->rank << 32 | key->source);
    hash = lull_mix(hash,
                    (uint64_t)key->comm << 33 ^ (uint64_t)key->tag << 1 ^ (uint64_t)key->receive);
    return &matcher->chains[(hash >> 32) & (matcher->n_chains - 1)];
}

static void chain_append(struct lull_matcher *matcher, uint32_t id)
{
    struct lull_transfer *transfers = matcher->fabric->transfers;
    struct key key = key_of(&transfers[id]);
    struct lull_chain *chain = chain_of(matcher, &key);
    transfers[id].child = NO_PARTNER;
    if (chain->first == NO_PARTNER)
        chain->first = id;
    else
        transfers[chain->last].child = id;
    chain->last = id;
}

static bool rehash(struct lull_matcher *matcher)
{
    uint32_t n_old = matcher->n_chains, n_new = n_old ? 4 * n_old : FIRST_CHAINS;
    struct lull_chain *old = matcher->chains, *chains = malloc(n_new * sizeof *chains);
    if (!chains)
        return false;
    for (uint32_t i = 0; i < n_new; i++)
        chains[i] = (struct lull_chain){NO_PARTNER, NO_PARTNER};
    matcher->chains = chains;
    matcher->n_chains = n_new;
    /* Entries of one key stay in order: they were all in one chain. */
    for (uint32_t i = 0; i < n_old; i++)
        for (uint32_t id = old[i].first, next; id != NO_PARTNER; id = next) {
            next = matcher->fabric->transfers[id].child;
            chain_append(matcher, id);
        }
    free(old);
    return true;
}

static void hash_add(struct lull_matcher *matcher, uint32_t id)
{
    if (matcher->n_entries >= matcher->n_chains && matcher->n_chains < UINT32_C(1) << 30 &&
        !rehash(matcher) && !matcher->n_chains) {
        matcher->out_of_memory = true;
        return;
    }
    matcher->n_entries++;
    chain_append(matcher, id);
}

/* The first entry of a key; *ret_before: what links to it, or NONE. */
static uint32_t hash_find(const struct lull_matcher *matcher, const struct key *key,
                          uint32_t *ret_before)
{
    uint32_t before = NO_PARTNER, id = chain_of(matcher, key)->first;
    for (; id != NO_PARTNER; before = id, id = matcher->fabric->transfers[id].child)
        if (same_key(&matcher->fabric->transfers[id], key))
            break;
    *ret_before = before;
    return id;
}

static void hash_remove(struct lull_matcher *matcher, const struct key *key, uint32_t id,
                        uint32_t before)
{
    struct lull_transfer *transfers = matcher->fabric->transfers;
    struct lull_chain *chain = chain_of(matcher, key);
    if (before == NO_PARTNER)
        chain->first = transfers[id].child;
    else
        transfers[before].child = transfers[id].child;
    if (chain->last == id)
        chain->last = before;
    matcher->n_entries--;
}

/* --- posted receives ----------------------------------------------------------------------- */

/* In the hash table `posted` counts; `wild` has a bit for each combination of wildcards in use. */
static void post_hashed(struct lull_matcher *matcher, uint32_t id)
{
    const struct lull_transfer *receive = &matcher->fabric->transfers[id];
    struct lull_rank_state *rank = &matcher->fabric->ranks[receive->target];
    unsigned kind = (receive->source == LULL_OP_ANY) + 2 * (receive->tag == LULL_OP_ANY);
    rank->wild |= (uint8_t)(1u << kind);
    rank->posted++;
    hash_add(matcher, id);
}

static void hash_posted(struct lull_matcher *matcher, struct lull_rank_state *rank)
{
    uint32_t id = rank->posted;
    rank->posted = 0;
    rank->posted_last = NO_PARTNER;
    rank->wild = 0;
    rank->hashed |= HASHED_POSTED;
    for (uint32_t next; id != NO_PARTNER && !matcher->out_of_memory; id = next) {
        next = matcher->fabric->transfers[id].link;
        post_hashed(matcher, id);
    }
}

static uint32_t find_posted_hashed(struct lull_matcher *matcher, struct lull_rank_state *rank,
                                   const struct lull_transfer *message)
{
    const struct lull_transfer *transfers = matcher->fabric->transfers;
    uint32_t found = NO_PARTNER, found_before = NO_PARTNER;
    struct key found_key = {0};
    for (unsigned kind = 0; kind < 4; kind++) {
        if (!(rank->wild & 1u << kind))
            continue;
        struct key key = {message->target, message->comm, kind & 1 ? LULL_OP_ANY : message->source,
                          kind & 2 ? LULL_OP_ANY : message->tag, true};
        uint32_t before, id = hash_find(matcher, &key, &before);
        if (id == NO_PARTNER ||
            (found != NO_PARTNER && transfers[id].bytes > transfers[found].bytes))
            continue;
        found = id;
        found_before = before;
        found_key = key;
    }
    if (found == NO_PARTNER)
        return NO_PARTNER;
    hash_remove(matcher, &found_key, found, found_before);
    if (--rank->posted == 0) {
        rank->hashed &= (uint8_t)~HASHED_POSTED;
        rank->posted = NO_PARTNER;
    }
    return found;
}

static uint32_t find_posted(struct lull_matcher *matcher, struct lull_rank_state *rank,
                            const struct lull_transfer *message)
{
    struct lull_transfer *transfers = matcher->fabric->transfers;
    if (rank->hashed & HASHED_POSTED)
        return find_posted_hashed(matcher, rank, message);
    unsigned steps = 0;
    for (uint32_t before = NO_PARTNER, id = rank->posted; id != NO_PARTNER;
         before = id, id = transfers[id].link, steps++) {
        if (steps == MOST_STEPS) {
            hash_posted(matcher, rank);
            return matcher->out_of_memory ? NO_PARTNER : find_posted_hashed(matcher, rank, message);
        }
        if (!accepts(&transfers[id], message))
            continue;
        if (before == NO_PARTNER)
            rank->posted = transfers[id].link;
        else
            transfers[before].link = transfers[id].link;
        if (rank->posted_last == id)
            rank->posted_last = before;
        return id;
    }
    return NO_PARTNER;
}

static void post(struct lull_matcher *matcher, struct lull_rank_state *rank, uint32_t id)
{
    struct lull_transfer *transfers = matcher->fabric->transfers;
    transfers[id].bytes = matcher->posts++;
    if (rank->hashed & HASHED_POSTED) {
        post_hashed(matcher, id);
        return;
    }
    transfers[id].link = NO_PARTNER;
    if (rank->posted == NO_PARTNER)
        rank->posted = id;
    else
        transfers[rank->posted_last].link = id;
    rank->posted_last = id;
}

/* --- unexpected messages: a list through `link`; hashed, also back through `partner` --------- */

static void hash_unexpected(struct lull_matcher *matcher, struct lull_rank_state *rank)
{
    struct lull_transfer *transfers = matcher->fabric->transfers;
    rank->hashed |= HASHED_UNEXPECTED;
    for (uint32_t before = NO_PARTNER, id = rank->unexpected;
         id != NO_PARTNER && !matcher->out_of_memory; before = id, id = transfers[id].link) {
        transfers[id].partner = before;
        hash_add(matcher, id);
    }
}

static void take_unexpected(struct lull_matcher *matcher, struct lull_rank_state *rank,
                            uint32_t before, uint32_t id)
{
    struct lull_transfer *transfers = matcher->fabric->transfers;
    uint32_t next = transfers[id].link;
    if (before == NO_PARTNER)
        rank->unexpected = next;
    else
        transfers[before].link = next;
    if (next == NO_PARTNER)
        rank->unexpected_last = before;
    if (!(rank->hashed & HASHED_UNEXPECTED))
        return;
    if (next != NO_PARTNER)
        transfers[next].partner = before;
    if (rank->unexpected == NO_PARTNER)
        rank->hashed &= (uint8_t)~HASHED_UNEXPECTED;
}

static uint32_t find_unexpected_hashed(struct lull_matcher *matcher, struct lull_rank_state *rank,
                                       const struct lull_transfer *receive)
{
    struct lull_transfer *transfers = matcher->fabric->transfers;
    uint32_t id = NO_PARTNER;
    if (receive->source == LULL_OP_ANY || receive->tag == LULL_OP_ANY) {
        for (id = rank->unexpected; id != NO_PARTNER && !accepts(receive, &transfers[id]);)
            id = transfers[id].link;
        if (id == NO_PARTNER)
            return NO_PARTNER;
    }
    struct key key = key_of(id == NO_PARTNER ? receive : &transfers[id]);
    key.receive = false;
    uint32_t chain_before; /* the first of its key is the first that fits, too */
    id = hash_find(matcher, &key, &chain_before);
    if (id == NO_PARTNER)
        return NO_PARTNER;
    hash_remove(matcher, &key, id, chain_before);
    take_unexpected(matcher, rank, transfers[id].partner, id);
    return id;
}

static uint32_t find_unexpected(struct lull_matcher *matcher, struct lull_rank_state *rank,
                                const struct lull_transfer *receive)
{
    struct lull_transfer *transfers = matcher->fabric->transfers;
    if (rank->hashed & HASHED_UNEXPECTED)
        return find_unexpected_hashed(matcher, rank, receive);
    unsigned steps = 0;
    for (uint32_t before = NO_PARTNER, id = rank->unexpected; id != NO_PARTNER;
         before = id, id = transfers[id].link, steps++) {
        if (steps == MOST_STEPS) {
            hash_unexpected(matcher, rank);
            return matcher->out_of_memory ? NO_PARTNER
                                          : find_unexpected_hashed(matcher, rank, receive);
        }
        if (!accepts(receive, &transfers[id]))
            continue;
        take_unexpected(matcher, rank, before, id);
        return id;
    }
    return NO_PARTNER;
}

static void keep_unexpected(struct lull_matcher *matcher, struct lull_rank_state *rank, uint32_t id)
{
    struct lull_transfer *transfers = matcher->fabric->transfers;
    transfers[id].link = NO_PARTNER;
    transfers[id].partner = rank->unexpected == NO_PARTNER ? NO_PARTNER : rank->unexpected_last;
    if (rank->unexpected == NO_PARTNER)
        rank->unexpected = id;
    else
        transfers[rank->unexpected_last].link = id;
    rank->unexpected_last = id;
    if (rank->hashed & HASHED_UNEXPECTED)
        hash_add(matcher, id);
}

uint32_t lull_match_message(struct lull_matcher *matcher, uint32_t message)
{
    const struct lull_transfer *transfer = &matcher->fabric->transfers[message];
    struct lull_rank_state *rank = &matcher->fabric->ranks[transfer->target];
    uint32_t receive =
        rank->posted == NO_PARTNER ? NO_PARTNER : find_posted(matcher, rank, transfer);
    if (receive == NO_PARTNER)
        keep_unexpected(matcher, rank, message);
    return receive;
}

uint32_t lull_match_receive(struct lull_matcher *matcher, uint32_t receive)
{
    const struct lull_transfer *transfer = &matcher->fabric->transfers[receive];
    struct lull_rank_state *rank = &matcher->fabric->ranks[transfer->target];
    uint32_t message =
        rank->unexpected == NO_PARTNER ? NO_PARTNER : find_unexpected(matcher, rank, transfer);
    if (message == NO_PARTNER)
        post(matcher, rank, receive);
    return message;
}
