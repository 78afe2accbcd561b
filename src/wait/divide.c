/* How a wait is divided among what the late one did more of. Most entries of ledgers have not
 * changed since the two met: those that have are listed first, and nothing else is looked at. */
#include "wait/ledger.h"

/* Entries at two meetings. */
struct change {
    const struct wait_entry *entries, *before; /* as of a ledger: an end behind them */
    uint32_t count, n_before;
    uint32_t since; /* entries of a later clock have changed */
    bool anew;      /* ... or all have */
};

/* What a process did between them. */
struct span {
    struct change own, others;
    int64_t in_mpi;
};

static const struct wait_entry nothing = {.key = UINT64_MAX};

/* From `since` on, or, if that was in another epoch, from the begin of its own. */
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
        .own = {.entries = lull_wait_entries(&ledger->own), .count = ledger->own.count},
        .others = {.entries = lull_wait_entries(&ledger->others), .count = ledger->others.count},
        .in_mpi = ledger->in_mpi};
    begin_at(&span, ledger->clock, ledger->epoch, since);
    return span;
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
    const struct change *change = process == LULL_WAIT_OWN ? &span->own : &span->others;
    const int64_t until = time_until(change->entries, change->count, key);
    return until > 0 ? until - time_until(change->before, change->n_before, key) : 0;
}

/* What an entry had before; asked for in the order of keys, from *place on. If none has come or
 * gone in front of it, it is where it was. */
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

/* Where the entries that have changed are, in their order. */
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

/* The places in which the late one was longer, and how much. */
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

/* How long the other one was in the same places, as their ns, and where its ledger has them. */
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

enum { CLASSES = 16 };

/* One ns to each of the largest fractions of a class, the first of equal ones. */
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

/* What rounding leaves, less than one ns for each part, goes to the largest fractions, all of which
 * are less than `sum`. Classes by their size tell most of them apart. */
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

/* Divides a wait in proportion to excesses, whose sum is `sum` >= wait > 0. */
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
