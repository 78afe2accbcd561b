/* Waits are divided and charged. */
#include "base/array.h"
#include "wait/share.h"

#include <stdlib.h>
#include <string.h>

/* As keys without padding. */
struct charge_key {
    struct lull_wait_place place;
    uint32_t kind;
};

struct pair_key {
    uint32_t late, other;
};

static bool is_charge_of(const struct lull_wait_charge *charge, const struct lull_wait_place *place,
                         uint8_t kind)
{
    return charge->kind == kind && memcmp(&charge->place, place, sizeof *place) == 0;
}

/* Where charges that were needed lately are remembered: the same few come again and again, and a
 * look there is a third of one in the table. */
static uint32_t *recent_charge(struct lull_waits *waits, const struct lull_wait_place *place,
                               uint8_t kind)
{
    const uint32_t mixed = (place->process * 31 + place->region) * 31 + place->call + kind;
    return &waits->recent_charges[(mixed ^ place->thread ^ place->in_mpi << 6) % WAIT_RECENT];
}

static struct lull_wait_charge *find_charge(struct lull_waits *waits,
                                            const struct lull_wait_place *place, uint8_t kind)
{
    const struct charge_key key = {*place, kind};
    const size_t count = waits->charges_by_place.count;
    uint32_t *recent = recent_charge(waits, place, kind);
    bool is_new;
    if (*recent < count && is_charge_of(&waits->charges[*recent], place, kind))
        return &waits->charges[*recent];
    uint64_t *index = NULL;
    if (lull_array_reserve(&waits->charges, &waits->charge_capacity, count + 1,
                           sizeof *waits->charges))
        index = lull_hash_add(&waits->charges_by_place, &key, sizeof key, count, &is_new);
    if (!index)
        return NULL;
    if (is_new)
        waits->charges[count] =
            (struct lull_wait_charge){.place = *place, .kind = kind, .longest.ns = -1};
    *recent = (uint32_t)*index;
    return &waits->charges[*index];
}

static bool is_longer(const struct lull_wait_charge *charge, const struct wait_charged *charged)
{
    if (charged->wait != charge->longest.ns)
        return charged->wait > charge->longest.ns;
    if (charged->begin != charge->longest.begin)
        return charged->begin < charge->longest.begin;
    return charged->location < charge->longest.location;
}

static struct wait_pair *find_pair(struct lull_waits *waits, uint32_t late, uint32_t other)
{
    const struct pair_key key = {late, other};
    const size_t count = waits->pairs_by_processes.count;
    uint64_t *index = NULL;
    bool is_new;
    if (lull_array_reserve(&waits->pairs, &waits->pair_capacity, count + 1, sizeof *waits->pairs))
        index = lull_hash_add(&waits->pairs_by_processes, &key, sizeof key, count, &is_new);
    if (!index)
        return NULL;
    if (is_new)
        waits->pairs[count] = (struct wait_pair){0};
    return &waits->pairs[*index];
}

/* Where the time of a part went. */
static struct lull_wait_place place_of(const struct lull_waits *waits,
                                       const struct wait_charged *charged,
                                       const struct wait_excess *part)
{
    uint32_t process = lull_wait_key_process(part->key), thread = LULL_NONE;
    const uint32_t region = lull_wait_key_region(part->key);
    const bool own = process == LULL_WAIT_OWN, in_mpi = region == WAIT_IN_MPI;
    process = own ? charged->late : process;
    if ((charged->kind >= LULL_WAIT_MPI_KINDS || waits->lanes) && process != LULL_WAIT_ELSEWHERE) {
        thread = process;
        process = waits->trace->locations[thread].process;
    }
    return (struct lull_wait_place){.process = process,
                                    .region = in_mpi ? LULL_NONE : region,
                                    .call = own ? charged->call : part->call,
                                    .in_mpi = in_mpi,
                                    .thread = thread};
}

/* In the order of keys, as the ledger likes it: the own places of the late one belong among those
 * that it waited for. */
static bool keep_in_ledger(struct wait_stream *stream, const struct wait_excess *parts, uint32_t n)
{
    const struct wait_cause *cause = &stream->cause;
    bool good = true;
    for (uint32_t i = 0; i < n && good; i++) {
        const bool own = lull_wait_key_process(parts[i].key) == LULL_WAIT_OWN;
        const uint64_t key =
            own ? lull_wait_key(cause->agent, lull_wait_key_region(parts[i].key)) : parts[i].key;
        good = lull_wait_ledger_add(&stream->ledger, key, own ? cause->call : parts[i].call,
                                    parts[i].ns);
    }
    return good;
}

static bool charge_part(struct lull_waits *waits, const struct wait_charged *charged,
                        const struct wait_excess *part)
{
    const struct lull_wait_place place = place_of(waits, charged, part);
    struct lull_wait_charge *charge = find_charge(waits, &place, charged->kind);
    if (!charge)
        return false;
    charge->ns += part->ns;
    charge->passed_ns += lull_wait_key_process(part->key) != LULL_WAIT_OWN ? part->ns : 0;
    charge->waits++;
    if (is_longer(charge, charged)) {
        charge->longest.location = charged->location;
        charge->longest.begin = charged->begin;
        charge->longest.ns = charged->wait;
    }
    return true;
}

bool lull_wait_charge_parts(struct lull_waits *waits, const struct wait_charged *charged,
                            const struct wait_excess *parts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (parts[i].ns > 0 && !charge_part(waits, charged, &parts[i]))
            return false;
    return true;
}

/* Now, or when it is known of which kind it is. */
static bool charge_or_hold(struct lull_waits *waits, struct wait_stream *stream, int64_t begin,
                           int64_t wait, int64_t inside, struct wait_excess *parts, uint32_t n)
{
    const struct wait_charged charged = {.location = stream->location,
                                         .begin = begin,
                                         .wait = wait,
                                         .late = stream->cause.agent,
                                         .call = stream->cause.call,
                                         .kind = stream->cause_kind};
    for (uint32_t i = 0; i < n && inside < wait; i++)
        parts[i].excess = parts[i].ns;
    if (inside < wait)
        lull_wait_share_out(inside, wait, parts, n);
    return charged.kind == LULL_WAIT_LATE_SENDER
               ? lull_wait_hold(waits, stream, begin, wait, inside, parts, n)
               : lull_wait_charge_parts(waits, &charged, parts, n);
}

bool lull_wait_charge(struct lull_waits *waits, struct wait_stream *stream, int64_t begin,
                      int64_t wait, int64_t inside)
{
    const struct wait_cause *cause = &stream->cause;
    struct wait_pair *pair = stream->met_all ? NULL : find_pair(waits, cause->agent, stream->agent);
    if (!pair && !stream->met_all)
        return false;
    const struct wait_between between = {.late = cause->agent,
                                         .other = stream->agent,
                                         .at = cause->late,
                                         .late_since = pair ? pair->late : cause->late_since,
                                         .ledger = &stream->ledger,
                                         .other_since = pair ? pair->other : stream->since};
    struct wait_excess parts[LULL_WAIT_LEDGER + 2];
    const uint32_t n =
        lull_wait_divide(&between, wait, lull_wait_key(LULL_WAIT_OWN, WAIT_IN_MPI), parts);
    if (!keep_in_ledger(stream, parts, n))
        return false;
    if (!charge_or_hold(waits, stream, begin, wait, inside, parts, n))
        return false;
    if (!pair)
        return true;
    lull_wait_moment_move(&pair->late, lull_wait_moment_keep(&cause->late));
    lull_wait_moment_move(&pair->other, lull_wait_moment_take(&stream->ledger));
    return pair->other.snapshot != NULL;
}

void lull_wait_charge_free(struct lull_waits *waits)
{
    for (size_t p = 0; p < waits->pairs_by_processes.count; p++) {
        lull_wait_moment_drop(&waits->pairs[p].late);
        lull_wait_moment_drop(&waits->pairs[p].other);
    }
    lull_hash_free(&waits->pairs_by_processes);
    lull_hash_free(&waits->charges_by_place);
    free(waits->pairs);
    free(waits->charges);
}
