#include "wait/ledger.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { LEFT_FREE = 2 }; /* of a ledger's room, for what is elsewhere */

/* Where a place is, or belongs. */
static uint32_t find_entry(const struct wait_entry *entries, uint32_t low, uint32_t high,
                           uint64_t key)
{
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (entries[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- ledgers ------------------------------------------------------------------------------- */

/* What stands for places that there was no room for; there are two of these at most. */
static uint64_t elsewhere_of(uint64_t key)
{
    const bool own = lull_wait_key_process(key) == LULL_WAIT_OWN;
    return lull_wait_key(own ? LULL_WAIT_OWN : LULL_WAIT_ELSEWHERE, LULL_WAIT_ELSEWHERE);
}

static bool is_elsewhere(uint64_t key)
{
    return key == elsewhere_of(key);
}

/* Takes out the entry with least time, which is to become part of what is elsewhere. */
static struct wait_entry remove_least(struct wait_ledger *ledger)
{
    uint32_t least = LULL_NONE;
    for (uint32_t i = 0; i < ledger->count; i++)
        if (!is_elsewhere(ledger->entries[i].key) &&
            (least == LULL_NONE || ledger->entries[i].ns < ledger->entries[least].ns))
            least = i;
    const struct wait_entry removed = ledger->entries[least];
    memmove(&ledger->entries[least], &ledger->entries[least + 1],
            (ledger->count - least - 1) * sizeof removed);
    ledger->count--;
    return removed;
}

static bool insert_entry(struct wait_ledger *ledger, uint32_t at, const struct wait_entry *entry)
{
    size_t capacity = ledger->capacity;
    if (!lull_array_reserve(&ledger->entries, &capacity, ledger->count + (size_t)1,
                            sizeof *ledger->entries))
        return false;
    ledger->capacity = (uint32_t)capacity;
    memmove(&ledger->entries[at + 1], &ledger->entries[at],
            (ledger->count - at) * sizeof *ledger->entries);
    ledger->entries[at] = *entry;
    ledger->count++;
    return true;
}

static void forget_snapshot(struct wait_ledger *ledger)
{
    struct wait_snapshot *current = ledger->current;
    ledger->current = NULL;
    if (current && --current->references == 0)
        free(current);
}

/* Parts of a wait come in the order of keys: the next one is behind the last. */
static uint32_t place_of_key(const struct wait_ledger *ledger, uint64_t key)
{
    const uint32_t count = ledger->count, last = ledger->last;
    if (last >= count || ledger->entries[last].key > key)
        return find_entry(ledger->entries, 0, count, key);
    for (uint32_t at = last; at < count && at < last + 3; at++)
        if (ledger->entries[at].key >= key)
            return at;
    return find_entry(ledger->entries, last, count, key);
}

bool lull_wait_ledger_add(struct wait_ledger *ledger, uint64_t key, uint32_t call, int64_t ns)
{
    if (ns <= 0)
        return true;
    if (ledger->current)
        forget_snapshot(ledger);
    uint32_t at = place_of_key(ledger, key);
    if (at < ledger->count && ledger->entries[at].key == key) {
        ledger->entries[at].ns += ns;
        ledger->entries[at].call = call;
        ledger->last = at;
        return true;
    }
    while (!is_elsewhere(key) && ledger->count >= LULL_WAIT_LEDGER - LEFT_FREE) {
        const struct wait_entry removed = remove_least(ledger);
        if (!lull_wait_ledger_add(ledger, elsewhere_of(removed.key), LULL_NONE, removed.ns))
            return false;
    }
    at = find_entry(ledger->entries, 0, ledger->count, key);
    const struct wait_entry entry = {.key = key, .ns = ns, .call = call};
    ledger->last = at;
    return insert_entry(ledger, at, &entry);
}

void lull_wait_ledger_begin_anew(struct wait_ledger *ledger)
{
    forget_snapshot(ledger);
    ledger->count = 0;
    ledger->in_mpi = 0;
    ledger->epoch++;
}

void lull_wait_ledger_free(struct wait_ledger *ledger)
{
    forget_snapshot(ledger);
    free(ledger->entries);
    *ledger = (struct wait_ledger){0};
}

/* ---- moments ------------------------------------------------------------------------------- */

struct wait_moment lull_wait_moment_take(struct wait_ledger *ledger)
{
    if (!ledger->current) {
        const size_t bytes = ledger->count * sizeof *ledger->entries;
        struct wait_snapshot *snapshot = malloc(sizeof *snapshot + bytes);
        if (!snapshot)
            return (struct wait_moment){0};
        *snapshot = (struct wait_snapshot){1, ledger->epoch, ledger->count};
        if (bytes)
            memcpy(snapshot->entries, ledger->entries, bytes);
        ledger->current = snapshot;
    }
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
    if (moment->snapshot && --moment->snapshot->references == 0)
        free(moment->snapshot);
    moment->snapshot = NULL;
}

void lull_wait_moment_move(struct wait_moment *place, struct wait_moment moment)
{
    lull_wait_moment_drop(place);
    *place = moment;
}

/* ---- division ------------------------------------------------------------------------------ */

/* What a process did between two meetings. */
struct span {
    const struct wait_entry *entries, *before;
    uint32_t count, n_before;
    uint32_t at, at_before; /* where a walk in the order of keys is */
    int64_t in_mpi;
};

static struct span span_of(const struct wait_entry *entries, uint32_t count, uint32_t epoch,
                           int64_t in_mpi, const struct wait_moment *since)
{
    struct span span = {.entries = entries, .count = count, .in_mpi = in_mpi};
    if (since->snapshot && since->snapshot->epoch == epoch) {
        span.before = since->snapshot->entries;
        span.n_before = since->snapshot->count;
        span.in_mpi -= since->in_mpi;
    }
    return span;
}

static int64_t time_until(const struct wait_entry *entries, uint32_t count, uint64_t key)
{
    const uint32_t at = find_entry(entries, 0, count, key);
    return at < count && entries[at].key == key ? entries[at].ns : 0;
}

/* How long it was in a place of a process: LULL_WAIT_OWN: itself; else it waited for that. */
static int64_t time_in(const struct span *span, uint32_t process, uint32_t region)
{
    const uint64_t key = lull_wait_key(process, region);
    if (key == lull_wait_key(LULL_WAIT_OWN, WAIT_IN_MPI))
        return span->in_mpi;
    const int64_t until = time_until(span->entries, span->count, key);
    return until > 0 ? until - time_until(span->before, span->n_before, key) : 0;
}

static inline int64_t walk_to(const struct wait_entry *entries, uint32_t count, uint32_t *at,
                              uint64_t key)
{
    uint32_t i = *at;
    while (i < count && entries[i].key < key)
        i++;
    *at = i;
    return i < count && entries[i].key == key ? entries[i].ns : 0;
}

/* The same for places that are asked for in the order of keys. */
static inline int64_t next_time_in(struct span *span, uint64_t key)
{
    const int64_t until = walk_to(span->entries, span->count, &span->at, key);
    return until > 0 ? until - walk_to(span->before, span->n_before, &span->at_before, key) : 0;
}

static int64_t above_zero(int64_t ns)
{
    return ns > 0 ? ns : 0;
}

/* How much longer the late one was in a place itself. */
static int64_t own_excess(const struct span *late, const struct span *other, uint32_t region)
{
    return time_in(late, LULL_WAIT_OWN, region) - time_in(other, LULL_WAIT_OWN, region);
}

/* What both waited for, what the other one did as well, and what it waited for of the late one,
 * kept both of them. How long the late one and the other one were there: `ns` and `kept`. */
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

/* The product of two times of less than 2 s fits into 64 bits. */
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

/* What rounding leaves goes to the largest fractions, the first of equal ones. */
void lull_wait_share_out(int64_t wait, int64_t sum, struct wait_excess *parts, uint32_t count)
{
    int64_t fractions[LULL_WAIT_LEDGER + 2], left = wait;
    for (uint32_t i = 0; i < count; i++) {
        divide_part(wait, sum, parts[i].excess, &parts[i].ns, &fractions[i]);
        left -= parts[i].ns;
    }
    for (; left > 0; left--) {
        uint32_t most = 0;
        int64_t largest = fractions[0];
        for (uint32_t i = 1; i < count; i++)
            if (fractions[i] > largest)
                largest = fractions[most = i];
        parts[most].ns++;
        fractions[most] = -1;
    }
}

uint32_t lull_wait_divide(const struct wait_between *between, int64_t wait, uint64_t rest,
                          struct wait_excess *ret)
{
    static const uint64_t in_mpi = (uint64_t)LULL_WAIT_OWN << 32 | WAIT_IN_MPI;
    const struct wait_snapshot *late = between->at.snapshot;
    const struct wait_ledger *ledger = between->ledger;
    struct span lates =
        span_of(late->entries, late->count, late->epoch, between->at.in_mpi, &between->late_since);
    struct span others = span_of(ledger->entries, ledger->count, ledger->epoch, ledger->in_mpi,
                                 &between->other_since);
    uint32_t count = 0;
    int64_t sum = 0;
    for (uint32_t i = 0; i <= late->count; i++) {
        const bool mpi = i == late->count;
        const uint64_t key = mpi ? in_mpi : late->entries[i].key;
        const int64_t ns = mpi ? lates.in_mpi : next_time_in(&lates, key);
        const int64_t kept = ns <= 0 ? 0 : mpi ? others.in_mpi : next_time_in(&others, key);
        const int64_t excess = ns > 0 ? excess_of(between, &lates, &others, key, ns, kept) : 0;
        if (excess <= 0)
            continue;
        ret[count++] =
            (struct wait_excess){key, mpi ? LULL_NONE : late->entries[i].call, excess, 0};
        sum += excess;
    }
    if (sum < wait) {
        ret[count++] = (struct wait_excess){rest, LULL_NONE, wait - sum, 0};
        sum = wait;
    }
    lull_wait_share_out(wait, sum, ret, count);
    return count;
}
