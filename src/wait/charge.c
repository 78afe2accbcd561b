/* SPDX-License-Identifier: BSD-3-Clause */
/* Charges: waits are divided, and their parts charged to the places that caused them. */
#include "base/array.h"
#include "wait/stream.h"

#include <stdlib.h>
#include <string.h>

const char *lull_wait_kind_name(unsigned kind)
{
    static const char *const names[LULL_WAIT_KINDS] = {
        [LULL_WAIT_LATE_SENDER] = "late sender",
        [LULL_WAIT_WRONG_ORDER] = "wrong order",
        [LULL_WAIT_LATE_RECEIVER] = "late receiver",
        [LULL_WAIT_BARRIER] = "barrier",
        [LULL_WAIT_N_TO_N] = "n to n",
        [LULL_WAIT_EARLY_REDUCE] = "early reduce",
        [LULL_WAIT_LATE_BROADCAST] = "late broadcast",
        [LULL_WAIT_EARLY_SCAN] = "early scan",
        [LULL_WAIT_FINALIZE] = "finalize",
        [LULL_WAIT_THREAD_BARRIER] = "thread barrier",
        [LULL_WAIT_LOCK] = "lock",
        [LULL_WAIT_THREAD_JOIN] = "thread join",
    };
    return kind < LULL_WAIT_KINDS ? names[kind] : "unknown";
}

/* ==== charges ================================================================================= */

/* Keys of hash tables, without padding. */
struct charge_key {
    struct lull_wait_place place;
    uint32_t kind;
};

struct pair_key {
    uint32_t late, other;
};

/* The element of `recent` for a charge. The same few charges are needed again and again, and to
 * look one up here takes a fifth of the time of a look in the hash table. */
static struct wait_recent *recent_charge(struct lull_waits *waits, uint64_t key, uint32_t call,
                                         uint8_t kind)
{
    const uint32_t mixed = lull_wait_key_process(key) * 31 + lull_wait_key_region(key);
    return &waits->recent[((mixed * 31 + call) * 7 + kind) % WAIT_RECENT];
}

/* Where the time of a part went. The process of `key` must not be LULL_WAIT_OWN. */
static struct lull_wait_place place_of(const struct lull_waits *waits, uint64_t key, uint32_t call,
                                       uint8_t kind)
{
    uint32_t process = lull_wait_key_process(key), thread = LULL_NONE;
    const uint32_t region = lull_wait_key_region(key);
    const bool in_mpi = region == WAIT_IN_MPI;
    if ((kind >= LULL_WAIT_MPI_KINDS || waits->lanes) && process != LULL_WAIT_ELSEWHERE) {
        thread = process;
        process = waits->trace->locations[thread].process;
    }
    return (struct lull_wait_place){.process = process,
                                    .region = in_mpi ? LULL_NONE : region,
                                    .call = call,
                                    .in_mpi = in_mpi,
                                    .thread = thread};
}

/* The index of the charge of a place, which is made if it does not exist. LULL_NONE: no memory. */
static uint32_t add_charge(struct lull_waits *waits, const struct lull_wait_place *place,
                           uint8_t kind)
{
    const struct charge_key key = {*place, kind};
    const size_t count = waits->charges_by_place.count;
    bool is_new;
    uint64_t *index = NULL;
    if (lull_array_reserve(&waits->charges, &waits->charge_capacity, count + 1,
                           sizeof *waits->charges))
        index = lull_hash_add(&waits->charges_by_place, &key, sizeof key, count, &is_new);
    if (!index)
        return LULL_NONE;
    if (is_new)
        waits->charges[count] =
            (struct lull_wait_charge){.place = *place, .kind = kind, .longest.ns = -1};
    return (uint32_t)*index;
}

static uint32_t remember_charge(struct lull_waits *waits, struct wait_recent *recent, uint64_t key,
                                uint32_t call, uint8_t kind)
{
    const struct lull_wait_place place = place_of(waits, key, call, kind);
    const uint32_t index = add_charge(waits, &place, kind);
    if (index != LULL_NONE)
        *recent = (struct wait_recent){key, call, index + 1, kind};
    return index;
}

/* The index of the charge of a key of a ledger whose process is not LULL_WAIT_OWN; LULL_NONE: no
 * memory. */
static inline uint32_t find_charge(struct lull_waits *waits, uint64_t key, uint32_t call,
                                   uint8_t kind)
{
    struct wait_recent *recent = recent_charge(waits, key, call, kind);
    if (recent->key == key && recent->call == call && recent->kind == kind && recent->number > 0)
        return recent->number - 1;
    return remember_charge(waits, recent, key, call, kind);
}

/* Notes the wait as the longest one of a charge, if it is; of several, the one that began first,
 * then that of the lowest location. */
static void note_longest(struct lull_wait_charge *charge, int64_t ns, int64_t begin,
                         uint32_t location, uint32_t parallel)
{
    bool longer = location < charge->longest.location;
    if (ns != charge->longest.ns)
        longer = ns > charge->longest.ns;
    else if (begin != charge->longest.begin)
        longer = begin < charge->longest.begin;
    if (!longer)
        return;
    charge->longest.location = location;
    charge->longest.begin = begin;
    charge->longest.ns = ns;
    charge->parallel = parallel;
}

/* The pair of the stream's agent and `late`; NULL: no memory. An agent waits for the same few
 * others again and again, so each stream keeps their pairs at hand. */
static struct wait_pair *find_pair(struct lull_waits *waits, struct wait_stream *stream,
                                   uint32_t late)
{
    const struct pair_key key = {late, stream->agent};
    struct wait_known_pair *known = &stream->pairs[late % WAIT_KNOWN_PAIRS];
    if (known->number > 0 && known->late == late)
        return &waits->pairs[known->number - 1];
    const size_t count = waits->pairs_by_processes.count;
    uint64_t *index = NULL;
    bool is_new;
    if (lull_array_reserve(&waits->pairs, &waits->pair_capacity, count + 1, sizeof *waits->pairs))
        index = lull_hash_add(&waits->pairs_by_processes, &key, sizeof key, count, &is_new);
    if (!index)
        return NULL;
    if (is_new)
        waits->pairs[count] = (struct wait_pair){0};
    *known = (struct wait_known_pair){late, (uint32_t)*index + 1};
    return &waits->pairs[*index];
}

/* Adds the parts of a wait to the stream's ledger. In it the own places of the late agent are
 * places of that agent. */
static bool keep_in_ledger(struct wait_stream *stream, const struct wait_part *parts, uint32_t n)
{
    const struct wait_cause *cause = &stream->cause;
    bool good = true;
    for (uint32_t i = 0; i < n && good; i++)
        if (lull_wait_key_process(parts[i].key) == LULL_WAIT_OWN)
            good = lull_wait_ledger_add(
                &stream->ledger, lull_wait_key(cause->agent, lull_wait_key_region(parts[i].key)),
                cause->call, parts[i].ns);
        else
            good = lull_wait_ledger_add_part(&stream->ledger, &parts[i]);
    return good;
}

/* Whether the late agent itself had waited in the place of a part. */
static bool is_passed(const struct wait_part *part)
{
    return lull_wait_key_process(part->key) != LULL_WAIT_OWN;
}

static uint32_t charge_of_part(struct lull_waits *waits, const struct wait_charged *charged,
                               const struct wait_part *part)
{
    if (is_passed(part))
        return find_charge(waits, part->key, part->call, charged->kind);
    const uint64_t key = lull_wait_key(charged->late, lull_wait_key_region(part->key));
    return find_charge(waits, key, charged->call, charged->kind);
}

static void charge_ns(struct lull_wait_charge *charge, const struct wait_charged *charged,
                      int64_t ns, bool passed)
{
    charge->ns += ns;
    charge->passed_ns += passed ? ns : 0;
    charge->waits++;
    note_longest(charge, charged->wait, charged->begin, charged->location, charged->parallel);
}

bool lull_wait_add_charge(struct lull_waits *waits, const struct lull_wait_charge *charge)
{
    const uint32_t index = add_charge(waits, &charge->place, charge->kind);
    if (index == LULL_NONE)
        return false;
    struct lull_wait_charge *sum = &waits->charges[index];
    sum->ns += charge->ns;
    sum->passed_ns += charge->passed_ns;
    sum->waits += charge->waits;
    note_longest(sum, charge->longest.ns, charge->longest.begin, charge->longest.location,
                 charge->parallel);
    return true;
}

bool lull_wait_charge_parts(struct lull_waits *waits, const struct wait_charged *charged,
                            const struct wait_part *parts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i].ns <= 0)
            continue;
        const uint32_t index = charge_of_part(waits, charged, &parts[i]);
        if (index == LULL_NONE)
            return false;
        charge_ns(&waits->charges[index], charged, parts[i].ns, is_passed(&parts[i]));
    }
    return true;
}

uint32_t lull_wait_dues_of_parts(struct lull_waits *waits, const struct wait_charged *charged,
                                 const struct wait_part *parts, uint32_t count,
                                 struct wait_due *ret_dues)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t ns = (uint64_t)parts[i].ns;
        if (parts[i].ns <= 0)
            continue;
        const uint32_t index = charge_of_part(waits, charged, &parts[i]);
        if (index == LULL_NONE)
            return LULL_NONE;
        ret_dues[n++] = (struct wait_due){.charge = index,
                                          .low = (uint32_t)ns,
                                          .high = (uint32_t)(ns >> 32) & INT32_MAX,
                                          .passed = is_passed(&parts[i])};
    }
    return n;
}

/* The charge of the same place for waits of a kind. */
static uint32_t charge_of_kind(struct lull_waits *waits, uint32_t index, uint8_t kind)
{
    if (waits->charges[index].kind == kind)
        return index;
    const struct lull_wait_place place = waits->charges[index].place;
    return add_charge(waits, &place, kind);
}

bool lull_wait_charge_dues(struct lull_waits *waits, const struct wait_charged *charged,
                           const struct wait_due *dues, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t index = charge_of_kind(waits, dues[i].charge, charged->kind);
        if (index == LULL_NONE)
            return false;
        const int64_t ns = (int64_t)((uint64_t)dues[i].high << 32 | dues[i].low);
        charge_ns(&waits->charges[index], charged, ns, dues[i].passed);
    }
    return true;
}

/* Charges a wait at once; a wait for a sender is kept until its kind is known. */
static bool charge_or_hold(struct lull_waits *waits, struct wait_stream *stream, int64_t begin,
                           int64_t wait, int64_t inside, struct wait_part *parts, uint32_t n)
{
    const struct wait_charged charged = {.location = stream->location,
                                         .begin = begin,
                                         .wait = wait,
                                         .late = stream->cause.agent,
                                         .call = stream->cause.call,
                                         .parallel = LULL_NONE,
                                         .kind = stream->cause_kind};
    if (inside < wait)
        lull_wait_share_out(inside, wait, parts, n);
    return charged.kind == LULL_WAIT_LATE_SENDER
               ? lull_wait_hold(waits, stream, &charged, inside, parts, n)
               : lull_wait_charge_parts(waits, &charged, parts, n);
}

/* Prefetches the dues of the wait that is charged when the present one is kept. They were written
 * some calls ago, and other processes have gone on since, so they are not in the cache. With 1,000
 * processes, reading them took 4 % of all time; with the prefetch it takes 1 %. */
static void fetch_oldest(const struct wait_stream *stream)
{
    enum { DUES_OF_LINE = 64 / sizeof(struct wait_due) };
    const struct wait_held *oldest = &stream->held[stream->n_held % LULL_WAIT_HELD];
    for (uint32_t i = 0; i < oldest->count; i += DUES_OF_LINE)
        __builtin_prefetch(&oldest->dues[i]);
}

bool lull_wait_charge(struct lull_waits *waits, struct wait_stream *stream, int64_t begin,
                      int64_t wait, int64_t inside)
{
    fetch_oldest(stream);
    const struct wait_cause *cause = &stream->cause;
    struct wait_pair *pair = stream->met_all ? NULL : find_pair(waits, stream, cause->agent);
    if (!pair && !stream->met_all)
        return false;
    const struct wait_between between = {.late = cause->agent,
                                         .other = stream->agent,
                                         .at = cause->late,
                                         .late_since = pair ? pair->late : cause->late_since,
                                         .ledger = &stream->ledger,
                                         .other_since = pair ? pair->other : stream->since};
    struct wait_part parts[LULL_WAIT_LEDGER + 2];
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

/* ==== messages in the wrong order ============================================================= */

/* A wait for a sender was one of the wrong order if the process received, in a later call, a
 * message from any source that had been sent when the wait began. That is the definition of
 * Scalasca ("Messages in Wrong Order"). It is known only when that message is received, so the last
 * LULL_WAIT_HELD waits of each process are kept until then. */

static bool charge_held(struct lull_waits *waits, struct wait_stream *stream,
                        struct wait_held *held)
{
    const uint8_t kind = held->wrong_order ? LULL_WAIT_WRONG_ORDER : LULL_WAIT_LATE_SENDER;
    const struct wait_charged charged = {.location = stream->location,
                                         .begin = held->begin,
                                         .wait = held->wait,
                                         .parallel = LULL_NONE,
                                         .kind = kind};
    stream->sums.waited_ns[kind] += held->inside;
    const uint32_t count = held->count;
    held->count = 0;
    held->inside = 0;
    return lull_wait_charge_dues(waits, &charged, held->dues, count);
}

/* Makes room for `count` dues. Allocates no more than is needed, because each process has
 * LULL_WAIT_HELD of these arrays. */
static bool make_room(struct wait_held *held, uint32_t count)
{
    if (count <= held->capacity)
        return true;
    struct wait_due *dues = realloc(held->dues, count * sizeof *dues);
    if (!dues)
        return false;
    held->dues = dues;
    held->capacity = count;
    return true;
}

bool lull_wait_hold(struct lull_waits *waits, struct wait_stream *stream,
                    const struct wait_charged *charged, int64_t inside,
                    const struct wait_part *parts, uint32_t count)
{
    struct wait_held *held = &stream->held[stream->n_held % LULL_WAIT_HELD];
    struct wait_due dues[LULL_WAIT_LEDGER + 2];
    if (stream->n_held >= LULL_WAIT_HELD && !charge_held(waits, stream, held))
        return false;
    const uint32_t n = lull_wait_dues_of_parts(waits, charged, parts, count, dues);
    if (n == LULL_NONE || !make_room(held, n))
        return false;
    if (n > 0)
        memcpy(held->dues, dues, n * sizeof *dues);
    held->count = n;
    held->begin = charged->begin;
    held->wait = charged->wait;
    held->inside = inside;
    held->wrong_order = false;
    stream->n_held++;
    return true;
}

/* The waits that are kept are in the order of their begins. */
void lull_wait_came_first(struct wait_stream *stream, int64_t sent)
{
    const uint32_t kept = stream->n_held < LULL_WAIT_HELD ? stream->n_held : LULL_WAIT_HELD;
    for (uint32_t i = 1; i <= kept; i++) {
        struct wait_held *held = &stream->held[(stream->n_held - i) % LULL_WAIT_HELD];
        if (held->begin < sent)
            return;
        held->wrong_order = true;
    }
}

bool lull_wait_settle(struct lull_waits *waits, struct wait_stream *stream)
{
    const uint32_t kept = stream->n_held < LULL_WAIT_HELD ? stream->n_held : LULL_WAIT_HELD;
    bool good = true;
    for (uint32_t i = kept; i > 0 && good; i--)
        good = charge_held(waits, stream, &stream->held[(stream->n_held - i) % LULL_WAIT_HELD]);
    stream->n_held = 0;
    return good;
}
