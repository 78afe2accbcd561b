#include "replay/ideal/match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages ------------------------------------------------------------------------------ */

struct message {
    struct lull_message_key key;
    int64_t time, measured;
    uint32_t next;
};

static uint32_t hash_of(const struct lull_message_key *key)
{
    uint64_t h = ((uint64_t)key->source << 32 | key->target) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= ((uint64_t)key->comm << 32 | (uint32_t)key->tag) * UINT64_C(0xc2b2ae3d27d4eb4f);
    h *= UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 32);
}

static bool same_key(const struct lull_message_key *a, const struct lull_message_key *b)
{
    return a->source == b->source && a->target == b->target && a->comm == b->comm &&
           a->tag == b->tag;
}

void lull_messages_free(struct lull_messages *messages)
{
    free(messages->pool);
    free(messages->buckets);
    free(messages->tails);
    *messages = (struct lull_messages){0};
}

static void append(struct lull_messages *m, uint32_t index)
{
    uint32_t bucket = hash_of(&m->pool[index].key) & (m->n_buckets - 1);
    m->pool[index].next = LULL_NONE;
    if (m->buckets[bucket] == LULL_NONE)
        m->buckets[bucket] = index;
    else
        m->pool[m->tails[bucket]].next = index;
    m->tails[bucket] = index;
}

/* Twice as many buckets. Chains are taken apart from their heads, so that each key keeps its order.
 */
static bool grow_buckets(struct lull_messages *m)
{
    uint32_t n = m->n_buckets ? 2 * m->n_buckets : 1024, old = m->n_buckets;
    uint32_t *buckets = malloc(n * sizeof *buckets), *tails = malloc(n * sizeof *tails);
    if (!buckets || !tails) {
        free(buckets);
        free(tails);
        return false;
    }
    memset(buckets, 0xff, n * sizeof *buckets);
    uint32_t *heads = m->buckets;
    free(m->tails);
    m->buckets = buckets;
    m->tails = tails;
    m->n_buckets = n;
    for (uint32_t i = 0; i < old; i++)
        for (uint32_t at = heads[i], next; at != LULL_NONE; at = next) {
            next = m->pool[at].next;
            append(m, at);
        }
    free(heads);
    return true;
}

static bool grow_pool(struct lull_messages *m)
{
    uint32_t capacity = m->capacity ? 2 * m->capacity : 1024;
    struct message *pool =
        capacity > m->capacity ? realloc(m->pool, capacity * sizeof *pool) : NULL;
    if (!pool)
        return false;
    m->pool = pool;
    m->capacity = capacity;
    return true;
}

bool lull_messages_put(struct lull_messages *m, const struct lull_message_key *key, int64_t time,
                       int64_t measured)
{
    if (m->count >= m->n_buckets && !grow_buckets(m))
        return false;
    uint32_t index = m->free_list;
    if (m->n_pool == 0)
        m->free_list = index = LULL_NONE;
    if (index != LULL_NONE) {
        m->free_list = m->pool[index].next;
    } else {
        if (m->n_pool == m->capacity && !grow_pool(m))
            return false;
        index = m->n_pool++;
    }
    m->pool[index].key = *key;
    m->pool[index].time = time;
    m->pool[index].measured = measured;
    append(m, index);
    m->count++;
    return true;
}

bool lull_messages_take(struct lull_messages *m, const struct lull_message_key *key,
                        int64_t *ret_time, int64_t *ret_measured)
{
    if (m->count == 0)
        return false;
    uint32_t bucket = hash_of(key) & (m->n_buckets - 1), before = LULL_NONE;
    for (uint32_t at = m->buckets[bucket]; at != LULL_NONE; before = at, at = m->pool[at].next) {
        struct message *message = &m->pool[at];
        if (!same_key(&message->key, key))
            continue;
        if (before == LULL_NONE)
            m->buckets[bucket] = message->next;
        else
            m->pool[before].next = message->next;
        if (m->tails[bucket] == at)
            m->tails[bucket] = before;
        *ret_time = message->time;
        *ret_measured = message->measured;
        message->next = m->free_list;
        m->free_list = at;
        m->count--;
        return true;
    }
    return false;
}

/* ---- collectives --------------------------------------------------------------------------- */

enum { SERIES = 1 + LULL_COLLECTIVES }; /* blocking, then non-blocking by operation */

/* What a process knows of a communicator. */
struct membership {
    uint32_t comm, rank; /* rank LULL_NONE: no member */
    uint32_t next;       /* of the same process */
    uint32_t counts[SERIES];
};

struct lull_gatherings {
    const struct lull_trace *trace;
    struct lull_gathering **open; /* [n_comms] */
    uint32_t *first;              /* [n_processes]: of its memberships, or LULL_NONE */
    struct membership *memberships;
    uint32_t n_memberships, capacity;
};

struct lull_gatherings *lull_gatherings_create(const struct lull_trace *trace)
{
    struct lull_gatherings *all = calloc(1, sizeof *all);
    if (!all)
        return NULL;
    all->trace = trace;
    all->open = calloc(trace->n_comms + (size_t)1, sizeof(struct lull_gathering *));
    all->first = malloc((trace->n_processes + (size_t)1) * sizeof *all->first);
    if (!all->open || !all->first) {
        lull_gatherings_destroy(all);
        return NULL;
    }
    memset(all->first, 0xff, trace->n_processes * sizeof *all->first);
    return all;
}

static void release(struct lull_gathering *gathering)
{
    free(gathering->times);
    free(gathering->latest_below);
    free(gathering);
}

void lull_gatherings_destroy(struct lull_gatherings *all)
{
    if (!all)
        return;
    for (uint32_t c = 0; all->open && c < all->trace->n_comms; c++)
        for (struct lull_gathering *at = all->open[c], *next; at; at = next) {
            next = at->next;
            release(at);
        }
    free(all->open);
    free(all->first);
    free(all->memberships);
    free(all);
}

/* Both sides of an inter-communicator in one sequence. */
static uint32_t rank_in(const struct lull_trace *trace, uint32_t comm, uint32_t process)
{
    const struct lull_comm *local = &trace->comms[comm];
    uint32_t rank = lull_comm_rank(local, process);
    if (rank != LULL_NONE || local->remote == LULL_NONE)
        return rank;
    rank = lull_comm_rank(&trace->comms[local->remote], process);
    return rank == LULL_NONE ? LULL_NONE : local->size + rank;
}

static uint32_t size_of(const struct lull_trace *trace, uint32_t comm)
{
    const struct lull_comm *local = &trace->comms[comm];
    return local->size + (local->remote == LULL_NONE ? 0 : trace->comms[local->remote].size);
}

/* NULL: no memory. The list of a process is short, and the last one asked for is its first. */
static struct membership *find_membership(struct lull_gatherings *all, uint32_t comm,
                                          uint32_t process)
{
    uint32_t *head = &all->first[process];
    for (uint32_t *link = head; *link != LULL_NONE; link = &all->memberships[*link].next) {
        struct membership *found = &all->memberships[*link];
        if (found->comm != comm)
            continue;
        if (link != head) {
            uint32_t index = *link;
            *link = found->next;
            found->next = *head;
            *head = index;
        }
        return found;
    }
    if (all->n_memberships == all->capacity) {
        uint32_t capacity = all->capacity ? 2 * all->capacity : 64;
        struct membership *larger = realloc(all->memberships, capacity * sizeof *larger);
        if (!larger)
            return NULL;
        all->memberships = larger;
        all->capacity = capacity;
    }
    struct membership *fresh = &all->memberships[all->n_memberships];
    *fresh = (struct membership){
        .comm = comm, .rank = rank_in(all->trace, comm, process), .next = *head};
    *head = all->n_memberships++;
    return fresh;
}

uint32_t lull_gatherings_rank(const struct lull_gatherings *all, uint32_t comm, uint32_t process)
{
    comm = lull_comm_canonical(all->trace, comm);
    for (uint32_t at = all->first[process]; at != LULL_NONE; at = all->memberships[at].next)
        if (all->memberships[at].comm == comm)
            return all->memberships[at].rank;
    return LULL_NONE;
}

static bool is_scan(uint8_t op)
{
    return op == LULL_COLLECTIVE_SCAN || op == LULL_COLLECTIVE_EXSCAN;
}

static struct lull_gathering *create(struct lull_gatherings *all, uint32_t comm, uint8_t series,
                                     uint32_t number, uint8_t op)
{
    struct lull_gathering *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return NULL;
    fresh->number = number;
    fresh->series = series;
    fresh->op = op;
    fresh->size = size_of(all->trace, comm);
    fresh->root_at = -1;
    fresh->waiting = LULL_NONE;
    if (is_scan(op)) {
        fresh->times = malloc(fresh->size * sizeof *fresh->times);
        fresh->latest_below = calloc(fresh->size + (size_t)1, sizeof *fresh->latest_below);
        if (!fresh->times || !fresh->latest_below) {
            release(fresh);
            return NULL;
        }
        memset(fresh->times, 0xff, fresh->size * sizeof *fresh->times);
    }
    struct lull_gathering **link = &all->open[comm]; /* the oldest first */
    while (*link)
        link = &(*link)->next;
    return *link = fresh;
}

static struct lull_gathering *find(struct lull_gatherings *all, uint32_t comm, uint8_t series,
                                   uint32_t number, uint8_t op)
{
    for (struct lull_gathering *at = all->open[comm]; at; at = at->next)
        if (at->number == number && at->series == series)
            return at;
    return create(all, comm, series, number, op);
}

static void note_scan(struct lull_gathering *gathering, uint32_t rank, int64_t time)
{
    gathering->times[rank] = time;
    while (gathering->first_missing < gathering->size &&
           gathering->times[gathering->first_missing] >= 0) {
        uint32_t at = gathering->first_missing++;
        int64_t below = at ? gathering->latest_below[at - 1] : 0;
        gathering->latest_below[at] = gathering->times[at] > below ? gathering->times[at] : below;
    }
}

static bool fits(uint8_t a, uint8_t b)
{
    return a == b || a == LULL_COLLECTIVE_UNKNOWN || b == LULL_COLLECTIVE_UNKNOWN;
}

struct lull_gathering *lull_gatherings_arrive(struct lull_gatherings *all,
                                              const struct lull_arrival *arrival,
                                              char why[static 128])
{
    uint32_t comm = lull_comm_canonical(all->trace, arrival->comm);
    uint8_t series = arrival->non_blocking ? 1 + arrival->op : 0;
    *why = '\0';
    struct membership *member = find_membership(all, comm, arrival->process);
    if (!member)
        return NULL;
    if (member->rank == LULL_NONE) {
        snprintf(why, 128, "collective operation on '%.60s', of which it is no member",
                 all->trace->comms[comm].name);
        return NULL;
    }
    struct lull_gathering *at = find(all, comm, series, member->counts[series]++, arrival->op);
    if (!at)
        return NULL;
    if (!fits(at->op, arrival->op)) {
        snprintf(why, 128, "%s on '%.60s', where others call %s", lull_collective_name(arrival->op),
                 all->trace->comms[comm].name, lull_collective_name(at->op));
        return NULL;
    }
    at->arrived++;
    at->latest = arrival->time > at->latest ? arrival->time : at->latest;
    if (arrival->root == (int32_t)arrival->process)
        at->root_at = arrival->time;
    if (at->times)
        note_scan(at, member->rank, arrival->time);
    return at;
}

/* Who waits for whom. */
enum pattern { FOR_ALL, FOR_ROOT, ROOT_FOR_ALL, FOR_LOWER, FOR_NOBODY };

static enum pattern pattern_of(uint8_t op)
{
    static const uint8_t patterns[LULL_COLLECTIVES] = {
        [LULL_COLLECTIVE_BCAST] = FOR_ROOT,       [LULL_COLLECTIVE_SCATTER] = FOR_ROOT,
        [LULL_COLLECTIVE_SCATTERV] = FOR_ROOT,    [LULL_COLLECTIVE_REDUCE] = ROOT_FOR_ALL,
        [LULL_COLLECTIVE_GATHER] = ROOT_FOR_ALL,  [LULL_COLLECTIVE_GATHERV] = ROOT_FOR_ALL,
        [LULL_COLLECTIVE_SCAN] = FOR_LOWER,       [LULL_COLLECTIVE_EXSCAN] = FOR_LOWER,
        [LULL_COLLECTIVE_NEIGHBOUR] = FOR_NOBODY, [LULL_COLLECTIVE_FREE] = FOR_NOBODY,
    };
    return op < LULL_COLLECTIVES ? (enum pattern)patterns[op] : FOR_ALL;
}

static bool ready_at(bool ready, int64_t time, int64_t own, int64_t *ret_time)
{
    if (ready)
        *ret_time = time > own ? time : own;
    return ready;
}

bool lull_gathering_ready(const struct lull_gathering *at, const struct lull_arrival *arrival,
                          uint32_t rank, int64_t *ret_time)
{
    const int64_t own = arrival->time;
    bool all = at->arrived == at->size;
    bool root = arrival->root == (int32_t)arrival->process;
    switch (pattern_of(at->op)) {
    case FOR_ROOT:
        if (root)
            return ready_at(true, own, own, ret_time);
        if (at->root_at >= 0)
            return ready_at(true, at->root_at, own, ret_time);
        return ready_at(all, at->latest, own, ret_time); /* the trace does not say who it is */
    case ROOT_FOR_ALL:
        return ready_at(!root || all, root ? at->latest : own, own, ret_time);
    case FOR_LOWER:
        if (!at->times)
            return ready_at(all, at->latest, own, ret_time);
        return rank < at->first_missing && ready_at(true, at->latest_below[rank], own, ret_time);
    case FOR_NOBODY:
        return ready_at(true, own, own, ret_time);
    case FOR_ALL:
        break;
    }
    return ready_at(all, at->latest, own, ret_time);
}

bool lull_gathering_news(const struct lull_gathering *at)
{
    return at->arrived == at->size || at->root_at >= 0 || at->times;
}

void lull_gatherings_leave(struct lull_gatherings *all, uint32_t comm,
                           struct lull_gathering *gathering)
{
    if (++gathering->left < gathering->size)
        return;
    struct lull_gathering **link = &all->open[lull_comm_canonical(all->trace, comm)];
    while (*link != gathering)
        link = &(*link)->next;
    *link = gathering->next;
    release(gathering);
}
