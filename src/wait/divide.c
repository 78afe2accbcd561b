/* How a wait is divided among what the late one did more of. Most entries of ledgers have not changed
 * since the two met: those that have are listed first, and nothing else is looked at. */
#include "wait/ledger.h"

/* What a process did between two meetings. */
struct span {
    const struct wait_entry *entries, *before; /* as of a ledger: an end behind them */
    uint32_t count, n_before;
    uint32_t since; /* entries of a later clock have changed */
    bool anew;      /* ... or all have */
    int64_t in_mpi;
};

static struct span span_of(const struct wait_entry *entries, uint32_t count, uint32_t epoch,
                           uint64_t clock, int64_t in_mpi, const struct wait_moment *since)
{
    static const struct wait_entry nothing = {.key = UINT64_MAX};
    const struct wait_snapshot *before = since->snapshot;
    if (!before || before->epoch != epoch)
        return (struct span){
            .entries = entries, .before = &nothing, .count = count, .anew = true, .in_mpi = in_mpi};
    return (struct span){.entries = entries,
                         .before = before->entries,
                         .count = count,
                         .n_before = before->count,
                         .since = (uint32_t)before->clock,
                         .anew = clock - before->clock > INT32_MAX,
                         .in_mpi = in_mpi - since->in_mpi};
}

static bool has_changed(const struct span *span, const struct wait_entry *entry)
{
    return span->anew || (int32_t)(entry->clock - span->since) > 0;
}

static int64_t time_until(const struct wait_entry *entries, uint32_t count, uint64_t key)
{
    const uint32_t at = lull_wait_find_entry(entries, 0, count, key);
    return entries[at].key == key ? entries[at].ns : 0;
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

/* What an entry had before; asked for in the order of keys, from *place on. If none has come or gone
 * in front of it, it is where it was. */
static inline int64_t time_before(const struct span *span, uint32_t *place, uint32_t at,
                                  uint64_t key)
{
    const struct wait_entry *before = span->before;
    uint32_t i = *place;
    if (at <= span->n_before && before[at].key == key)
        i = at;
    while (before[i].key < key)
        i++;
    *place = i;
    return before[i].key == key ? before[i].ns : 0;
}

/* The places in which the late one was longer, with that as their excess so far. */
static uint32_t list_gains(const struct span *late, struct wait_excess *ret)
{
    uint8_t changed[LULL_WAIT_LEDGER];
    uint32_t n_changed = 0, n = 0, place = 0;
    for (uint32_t i = 0; i < late->count; i++) {
        changed[n_changed] = (uint8_t)i;
        n_changed += has_changed(late, &late->entries[i]);
    }
    for (uint32_t i = 0; i < n_changed; i++) {
        const struct wait_entry *entry = &late->entries[changed[i]];
        const int64_t gain = entry->ns - time_before(late, &place, changed[i], entry->key);
        ret[n].key = entry->key;
        ret[n].call = entry->call;
        ret[n].excess = gain;
        n += gain > 0;
    }
    return n;
}

/* How long the other one was in the same places, as their ns, and where its ledger has them. */
static void list_kept(const struct span *other, struct wait_excess *gains, uint32_t count)
{
    const struct wait_entry *entry = other->entries;
    uint32_t place = 0;
    for (struct wait_excess *gain = gains; gain < gains + count; gain++) {
        while (entry->key < gain->key)
            entry++;
        gain->ns = 0;
        gain->at = LULL_NONE;
        if (entry->key != gain->key || entry->ns == 0)
            continue;
        gain->at = (uint32_t)(entry - other->entries);
        if (has_changed(other, entry))
            gain->ns = entry->ns - time_before(other, &place, gain->at, gain->key);
    }
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

struct fraction {
    int64_t of;
    uint32_t part;
};

/* The largest first, and of equal ones the first; there are few. */
static void insert_fraction(struct fraction *fractions, uint32_t count, int64_t of)
{
    uint32_t at = count;
    for (; at > 0 && fractions[at - 1].of < of; at--)
        fractions[at] = fractions[at - 1];
    fractions[at] = (struct fraction){of, count};
}

/* What rounding leaves, less than one ns for each part, goes to the largest fractions. */
void lull_wait_share_out(int64_t wait, int64_t sum, struct wait_excess *parts, uint32_t count)
{
    struct fraction fractions[LULL_WAIT_LEDGER + 2];
    int64_t left = wait;
    for (uint32_t i = 0; i < count; i++) {
        int64_t fraction;
        divide_part(wait, sum, parts[i].excess, &parts[i].ns, &fraction);
        insert_fraction(fractions, i, fraction);
        left -= parts[i].ns;
    }
    for (uint32_t i = 0; i < left; i++)
        parts[fractions[i].part].ns++;
}

uint32_t lull_wait_divide(const struct wait_between *between, int64_t wait, uint64_t rest,
                          struct wait_excess *ret)
{
    static const uint64_t in_mpi = (uint64_t)LULL_WAIT_OWN << 32 | WAIT_IN_MPI;
    const struct wait_snapshot *at = between->at.snapshot;
    const struct wait_ledger *ledger = between->ledger;
    const struct span late = span_of(at->entries, at->count, at->epoch, at->clock,
                                     between->at.in_mpi, &between->late_since);
    const struct span other =
        span_of(lull_wait_ledger_entries(ledger), ledger->count, ledger->epoch, ledger->clock,
                ledger->in_mpi, &between->other_since);
    uint32_t n = list_gains(&late, ret), count = 0;
    int64_t sum = 0;
    list_kept(&other, ret, n);
    if (late.in_mpi > 0)
        ret[n++] = (struct wait_excess){in_mpi, LULL_NONE, LULL_NONE, late.in_mpi, other.in_mpi};
    for (uint32_t i = 0; i < n; i++) {
        const int64_t excess =
            excess_of(between, &late, &other, ret[i].key, ret[i].excess, ret[i].ns);
        if (excess <= 0)
            continue;
        ret[count] = ret[i];
        ret[count++].excess = excess;
        sum += excess;
    }
    if (sum < wait) {
        ret[count++] = (struct wait_excess){rest, LULL_NONE, LULL_NONE, wait - sum, 0};
        sum = wait;
    }
    lull_wait_share_out(wait, sum, ret, count);
    return count;
}
