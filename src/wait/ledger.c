/* SPDX-License-Identifier: BSD-3-Clause */
#include "wait/ledger.h"

#include "base/array.h"
#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

/* ==== ledger ================================================================================== */

enum { LEFT_FREE = 2 }; /* entries that are left free for the two places "elsewhere" */

/* The entry that stands behind the last one. */
static const struct wait_entry no_entry = {.key = UINT64_MAX};

/* The index, from `low` to `high`, at which the entry of a place is, or at which it is to be
 * inserted. */
static uint32_t wait_find_entry(const struct wait_entry *entries, uint32_t low, uint32_t high,
                                uint64_t key)
{
    return low + (uint32_t)lull_sorted_first_u64(entries + low, high - low, sizeof *entries,
                                                 offsetof(struct wait_entry, key), key);
}

/* ---- ledgers ------------------------------------------------------------------------------- */

/* The key that stands for places for which there was no room. There are two such keys: one for own
 * places, one for those of others. */
static uint64_t elsewhere_of(uint64_t key)
{
    const bool own = lull_wait_key_process(key) == LULL_WAIT_OWN;
    return lull_wait_key(own ? LULL_WAIT_OWN : LULL_WAIT_ELSEWHERE, LULL_WAIT_ELSEWHERE);
}

static bool is_elsewhere(uint64_t key)
{
    return key == elsewhere_of(key);
}

/* The entry with the least time among `least` and those of `places`, without the places
 * "elsewhere"; of several the first. NULL: there is none. */
static struct wait_entry *find_least(const struct wait_places *places, struct wait_entry *least)
{
    for (uint32_t i = 0; i < places->count; i++)
        if (!is_elsewhere(places->entries[i].key) && (!least || places->entries[i].ns < least->ns))
            least = &places->entries[i];
    return least;
}

/* Takes the entry with the least time out of a ledger; the caller adds it to "elsewhere". */
static struct wait_entry remove_least(struct wait_ledger *ledger)
{
    struct wait_entry *of_others = find_least(&ledger->others, NULL);
    struct wait_entry *least = find_least(&ledger->own, of_others);
    struct wait_places *places = least == of_others ? &ledger->others : &ledger->own;
    const struct wait_entry removed = *least;
    memmove(least, least + 1, (places->count - (size_t)(least - places->entries)) * sizeof removed);
    places->count--;
    return removed;
}

static bool insert_entry(struct wait_places *places, uint32_t at, const struct wait_entry *entry)
{
    size_t capacity = places->capacity;
    if (!lull_array_reserve(&places->entries, &capacity, places->count + (size_t)2,
                            sizeof *places->entries))
        return false;
    if (places->capacity == 0)
        places->entries[0] = no_entry;
    places->capacity = (uint32_t)capacity;
    memmove(&places->entries[at + 1], &places->entries[at],
            (places->count - at + 1) * sizeof *places->entries);
    places->entries[at] = *entry;
    places->count++;
    return true;
}

static void drop_shared(struct wait_shared *shared)
{
    if (shared && --shared->references == 0)
        free(shared);
}

static void drop_snapshot(struct wait_snapshot *snapshot)
{
    if (!snapshot || --snapshot->references > 0)
        return;
    drop_shared(snapshot->others);
    free(snapshot);
}

/* A ledger changes: its snapshot is not the present one any more; with `others`, nor are its places
 * of others. */
static void forget_snapshot(struct wait_ledger *ledger, bool others)
{
    drop_snapshot(ledger->current);
    ledger->current = NULL;
    if (!others)
        return;
    drop_shared(ledger->current_others);
    ledger->current_others = NULL;
}

/* The index at which the entry of a place is, or at which it is to be inserted. The parts of a wait
 * come in the order of keys, so the search begins at the entry that was added to last. */
static uint32_t place_of_key(const struct wait_places *places, uint64_t key)
{
    const uint32_t count = places->count, last = places->last;
    if (last >= count || places->entries[last].key > key)
        return wait_find_entry(places->entries, 0, count, key);
    for (uint32_t at = last; at < count && at < last + 3; at++)
        if (places->entries[at].key >= key)
            return at;
    return wait_find_entry(places->entries, last, count, key);
}

bool lull_wait_ledger_add(struct wait_ledger *ledger, uint64_t key, uint32_t call, int64_t ns)
{
    const bool own = lull_wait_key_process(key) == LULL_WAIT_OWN;
    struct wait_places *places = own ? &ledger->own : &ledger->others;
    if (ns <= 0)
        return true;
    forget_snapshot(ledger, !own);
    uint32_t at = place_of_key(places, key);
    if (at < places->count && places->entries[at].key == key) {
        places->entries[at].ns += ns;
        places->entries[at].call = call;
        places->entries[at].clock = (uint32_t)ledger->clock;
        places->last = at;
        return true;
    }
    while (!is_elsewhere(key) &&
           ledger->own.count + ledger->others.count >= LULL_WAIT_LEDGER - LEFT_FREE) {
        const struct wait_entry removed = remove_least(ledger);
        forget_snapshot(ledger, true);
        if (!lull_wait_ledger_add(ledger, elsewhere_of(removed.key), LULL_NONE, removed.ns))
            return false;
    }
    at = wait_find_entry(places->entries, 0, places->count, key);
    const struct wait_entry entry = {
        .key = key, .ns = ns, .call = call, .clock = (uint32_t)ledger->clock};
    places->last = at;
    return insert_entry(places, at, &entry);
}

/* The entries, with their end; never NULL. */
static const struct wait_entry *wait_entries(const struct wait_places *places)
{
    return places->entries ? places->entries : &no_entry;
}

bool lull_wait_ledger_add_part(struct wait_ledger *ledger, const struct wait_part *part)
{
    struct wait_places *others = &ledger->others;
    const uint32_t at = part->at;
    if (at >= others->count || others->entries[at].key != part->key || part->ns <= 0)
        return lull_wait_ledger_add(ledger, part->key, part->call, part->ns);
    if (ledger->current_others)
        forget_snapshot(ledger, true);
    others->entries[at].ns += part->ns;
    others->entries[at].call = part->call;
    others->entries[at].clock = (uint32_t)ledger->clock;
    return true;
}

static void empty_places(struct wait_places *places)
{
    places->count = 0;
    if (places->entries)
        places->entries[0] = no_entry;
}

void lull_wait_ledger_begin_anew(struct wait_ledger *ledger)
{
    forget_snapshot(ledger, true);
    empty_places(&ledger->own);
    empty_places(&ledger->others);
    ledger->in_mpi = 0;
    ledger->epoch++;
}

void lull_wait_ledger_free(struct wait_ledger *ledger)
{
    forget_snapshot(ledger, true);
    free(ledger->own.entries);
    free(ledger->others.entries);
    *ledger = (struct wait_ledger){0};
}

/* ---- moments ------------------------------------------------------------------------------- */

static size_t bytes_of(const struct wait_places *places)
{
    return (places->count + (size_t)1) * sizeof(struct wait_entry);
}

/* NULL: no memory. */
static struct wait_shared *share_others(struct wait_ledger *ledger)
{
    struct wait_shared *shared = ledger->current_others;
    if (!shared) {
        const size_t bytes = bytes_of(&ledger->others);
        if (!(shared = malloc(sizeof *shared + bytes)))
            return NULL;
        *shared = (struct wait_shared){1, ledger->others.count};
        memcpy(shared->entries, wait_entries(&ledger->others), bytes);
        ledger->current_others = shared;
    }
    shared->references++;
    return shared;
}

static struct wait_snapshot *make_snapshot(struct wait_ledger *ledger)
{
    const size_t bytes = bytes_of(&ledger->own);
    struct wait_snapshot *snapshot = malloc(sizeof *snapshot + bytes);
    struct wait_shared *others = snapshot ? share_others(ledger) : NULL;
    if (!others) {
        free(snapshot);
        return NULL;
    }
    *snapshot =
        (struct wait_snapshot){others, 1, ledger->epoch, ledger->clock++, ledger->own.count};
    memcpy(snapshot->own, wait_entries(&ledger->own), bytes);
    return snapshot;
}

struct wait_moment lull_wait_moment_take(struct wait_ledger *ledger)
{
    if (!ledger->current)
        ledger->current = make_snapshot(ledger);
    if (!ledger->current)
        return (struct wait_moment){0};
    ledger->current->references++;
    return (struct wait_moment){ledger->current, ledger->in_mpi};
}

struct wait_moment lull_wait_moment_keep(const struct wait_moment *moment)
{
    if (moment->snapshot)
        moment->snapshot->references++;
    return *moment;
}

void lull_wait_moment_drop(struct wait_moment *moment)
{
    drop_snapshot(moment->snapshot);
    moment->snapshot = NULL;
}

void lull_wait_moment_move(struct wait_moment *place, struct wait_moment moment)
{
    lull_wait_moment_drop(place);
    *place = moment;
}

/* ==== divide ================================================================================== */

/* How a wait is divided among what the late process did more of. Most entries of ledgers have not
 * changed since the two processes met, so those that have changed are listed first, and only these
 * are compared. */

/* The entries of a ledger at two moments. */
struct change {
    const struct wait_entry *entries, *before; /* now, and at the meeting; behind each stands an
                                                  end, as in a ledger */
    uint32_t count, n_before;
    uint32_t since; /* entries with a later clock have changed */
    bool anew;      /* ... or all may have */
};

/* What a process did between the two moments. */
struct span {
    struct change own, others;
    int64_t in_mpi;
};

static const struct wait_entry nothing = {.key = UINT64_MAX};

/* The span begins at `since` or, if that moment was in another epoch, at the begin of the present
 * epoch. */
static void begin_at(struct span *span, uint64_t clock, uint32_t epoch,
                     const struct wait_moment *since)
{
    const struct wait_snapshot *before = since->snapshot;
    span->own.before = span->others.before = &nothing;
    span->own.anew = span->others.anew = true;
    if (!before || before->epoch != epoch)
        return;
    span->own.before = before->own;
    span->own.n_before = before->count;
    span->others.before = before->others->entries;
    span->others.n_before = before->others->count;
    span->own.since = span->others.since = (uint32_t)before->clock;
    span->own.anew = span->others.anew = clock - before->clock > INT32_MAX;
    span->in_mpi -= since->in_mpi;
}

static struct span span_until(const struct wait_moment *moment, const struct wait_moment *since)
{
    const struct wait_snapshot *at = moment->snapshot;
    struct span span = {.own = {.entries = at->own, .count = at->count},
                        .others = {.entries = at->others->entries, .count = at->others->count},
                        .in_mpi = moment->in_mpi};
    begin_at(&span, at->clock, at->epoch, since);
    return span;
}

static struct span span_until_now(const struct wait_ledger *ledger, const struct wait_moment *since)
{
    struct span span = {
        .own = {.entries = wait_entries(&ledger->own), .count = ledger->own.count},
        .others = {.entries = wait_entries(&ledger->others), .count = ledger->others.count},
        .in_mpi = ledger->in_mpi};
    begin_at(&span, ledger->clock, ledger->epoch, since);
    return span;
}

/* The time of a place in a list of entries. */
static int64_t time_until(const struct wait_entry *entries, uint32_t count, uint64_t key)
{
    const uint32_t at = wait_find_entry(entries, 0, count, key);
    return entries[at].key == key ? entries[at].ns : 0;
}

/* How long the process of a span was in one of its own places (`process` is LULL_WAIT_OWN), or
 * waited because of a place of `process`. */
static int64_t time_in(const struct span *span, uint32_t process, uint32_t region)
{
    const uint64_t key = lull_wait_key(process, region);
    if (key == lull_wait_key(LULL_WAIT_OWN, WAIT_IN_MPI))
        return span->in_mpi;
    const struct change *change = process == LULL_WAIT_OWN ? &span->own : &span->others;
    const int64_t until = time_until(change->entries, change->count, key);
    return until > 0 ? until - time_until(change->before, change->n_before, key) : 0;
}

/* What an entry had at the meeting. Callers ask in the order of keys, and *place is where the
 * search goes on. If no entry has come or gone in front of the entry, it is at the index `at`,
 * where it is now. */
static inline int64_t time_before(const struct change *change, uint32_t *place, uint32_t at,
                                  uint64_t key)
{
    const struct wait_entry *before = change->before;
    uint32_t i = *place;
    if (at <= change->n_before && before[at].key == key)
        i = at;
    while (before[i].key < key)
        i++;
    *place = i;
    return before[i].key == key ? before[i].ns : 0;
}

/* Lists the indices of the entries that have changed, in their order. */
static uint32_t list_changed(const struct change *change, uint8_t *ret)
{
    const struct wait_entry *entries = change->entries;
    const uint32_t count = change->count, since = change->since;
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        ret[n] = (uint8_t)i;
        n += (int32_t)(entries[i].clock - since) > 0;
    }
    return n;
}

static uint32_t list_all(const struct change *change, uint8_t *ret)
{
    for (uint32_t i = 0; i < change->count; i++)
        ret[i] = (uint8_t)i;
    return change->count;
}

/* Lists the places in which the late process has spent time since the meeting, and how much. */
static uint32_t list_gains(const struct change *late, struct wait_part *ret, int64_t *ret_gains)
{
    uint8_t changed[LULL_WAIT_LEDGER];
    const uint32_t count = late->anew ? list_all(late, changed) : list_changed(late, changed);
    uint32_t n = 0, place = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct wait_entry *entry = &late->entries[changed[i]];
        const int64_t gain = entry->ns - time_before(late, &place, changed[i], entry->key);
        ret[n].key = entry->key;
        ret[n].call = entry->call;
        ret_gains[n] = gain;
        n += gain > 0;
    }
    return n;
}

/* Finds how long the other process was in the same places, which becomes the ns of the parts, and
 * where its ledger has these places. */
static void list_kept(const struct change *other, struct wait_part *parts, uint32_t count)
{
    const struct wait_entry *entry = other->entries;
    uint32_t place = 0;
    for (struct wait_part *part = parts; part < parts + count; part++) {
        const uint64_t key = part->key;
        while (entry->key < key)
            entry++;
        part->ns = 0;
        part->at = LULL_NONE;
        if (entry->key != key || entry->ns == 0)
            continue;
        part->at = (uint32_t)(entry - other->entries);
        if (other->anew || (int32_t)(entry->clock - other->since) > 0)
            part->ns = entry->ns - time_before(other, &place, part->at, key);
    }
}

static int64_t above_zero(int64_t ns)
{
    return ns > 0 ? ns : 0;
}

/* How much longer the late process was in a region itself than the other one. */
static int64_t own_excess(const struct span *late, const struct span *other, uint32_t region)
{
    return time_in(late, LULL_WAIT_OWN, region) - time_in(other, LULL_WAIT_OWN, region);
}

/* By how much the late process exceeds the other one in a place, where they were for `ns` and
 * `kept`. Three things kept both of them, so they do not count: what both waited for, what the
 * other one did as well, and what the other one waited for because of the late one. */
static int64_t excess_of(const struct wait_between *between, const struct span *late,
                         const struct span *other, uint64_t key, int64_t ns, int64_t kept)
{
    const uint32_t process = lull_wait_key_process(key), region = lull_wait_key_region(key);
    if (process == LULL_WAIT_OWN)
        return ns > kept ? ns - kept - time_in(other, between->late, region) : 0;
    if (process == between->late && kept > 0)
        kept = above_zero(kept - above_zero(own_excess(late, other, region)));
    if (process == between->other)
        kept += above_zero(-own_excess(late, other, region));
    return ns - kept;
}

/* Computes wait * excess / sum, and its remainder. The product of two times below 2^31 ns, about 2
 * s, fits into 64 bits; others take a slower division. */
static void divide_part(int64_t wait, int64_t sum, int64_t excess, int64_t *ret_ns,
                        int64_t *ret_fraction)
{
    if (((uint64_t)wait | (uint64_t)excess) >> 31 == 0) {
        const uint64_t product = (uint64_t)wait * (uint64_t)excess;
        *ret_ns = (int64_t)(product / (uint64_t)sum);
        *ret_fraction = (int64_t)(product % (uint64_t)sum);
        return;
    }
    const __int128 product = (__int128)wait * excess;
    *ret_ns = (int64_t)(product / sum);
    *ret_fraction = (int64_t)(product % sum);
}

enum { CLASSES = 16 };

/* Adds one ns to each of the `left` largest fractions of a class, of equal ones to the first. */
static void round_up_in(uint8_t class, uint32_t left, const uint8_t *classes, int64_t *fractions,
                        struct wait_part *parts, uint32_t count)
{
    for (; left > 0; left--) {
        uint32_t most = 0;
        int64_t largest = -1;
        for (uint32_t i = 0; i < count; i++)
            if (classes[i] == class && fractions[i] > largest)
                largest = fractions[most = i];
        parts[most].ns++;
        fractions[most] = -1;
    }
}

/* Adds what rounding left, less than one ns for each part, to the parts with the largest fractions;
 * all fractions are less than `sum`. They are put into classes by size, which tells most of them
 * apart without sorting. */
static void round_up(int64_t left, int64_t sum, int64_t *fractions, struct wait_part *parts,
                     uint32_t count)
{
    const double scale = (double)CLASSES / (double)sum;
    uint8_t classes[LULL_WAIT_LEDGER + 2], sizes[CLASSES] = {0};
    for (uint32_t i = 0; i < count; i++) {
        const int class = (int)((double)fractions[i] * scale);
        classes[i] = (uint8_t)(class < CLASSES ? class : CLASSES - 1);
        sizes[classes[i]]++;
    }
    uint8_t last = CLASSES - 1;
    for (; left > sizes[last]; last--)
        left -= sizes[last];
    for (uint32_t i = 0; i < count; i++)
        parts[i].ns += classes[i] > last;
    if (left > 0)
        round_up_in(last, (uint32_t)left, classes, fractions, parts, count);
}

/* Divides a wait > 0 in proportion to excesses, whose sum is `sum` >= wait. */
static void share_out(int64_t wait, int64_t sum, const int64_t *excesses, struct wait_part *parts,
                      uint32_t count)
{
    int64_t fractions[LULL_WAIT_LEDGER + 2], left = wait;
    for (uint32_t i = 0; i < count; i++) {
        divide_part(wait, sum, excesses[i], &parts[i].ns, &fractions[i]);
        left -= parts[i].ns;
    }
    if (left > 0)
        round_up(left, sum, fractions, parts, count);
}

void lull_wait_share_out(int64_t inside, int64_t wait, struct wait_part *parts, uint32_t count)
{
    int64_t of_wait[LULL_WAIT_LEDGER + 2];
    for (uint32_t i = 0; i < count; i++)
        of_wait[i] = parts[i].ns;
    share_out(inside, wait, of_wait, parts, count);
}

uint32_t lull_wait_divide(const struct wait_between *between, int64_t wait, uint64_t rest,
                          struct wait_part *ret)
{
    static const uint64_t in_mpi = (uint64_t)LULL_WAIT_OWN << 32 | WAIT_IN_MPI;
    const struct span late = span_until(&between->at, &between->late_since);
    const struct span other = span_until_now(between->ledger, &between->other_since);
    int64_t excesses[LULL_WAIT_LEDGER + 2], sum = 0;
    const uint32_t n_others = list_gains(&late.others, ret, excesses);
    uint32_t n = n_others + list_gains(&late.own, ret + n_others, excesses + n_others), count = 0;
    list_kept(&other.others, ret, n_others);
    list_kept(&other.own, ret + n_others, n - n_others);
    if (late.in_mpi > 0) {
        ret[n] = (struct wait_part){in_mpi, LULL_NONE, LULL_NONE, other.in_mpi};
        excesses[n++] = late.in_mpi;
    }
    for (uint32_t i = 0; i < n; i++) {
        const int64_t excess =
            excess_of(between, &late, &other, ret[i].key, excesses[i], ret[i].ns);
        ret[count] = ret[i];
        excesses[count] = excess;
        count += excess > 0;
        sum += above_zero(excess);
    }
    if (sum < wait) {
        ret[count] = (struct wait_part){rest, LULL_NONE, LULL_NONE, 0};
        excesses[count++] = wait - sum;
        sum = wait;
    }
    share_out(wait, sum, excesses, ret, count);
    return count;
}
