#include "wait/ledger.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { LEFT_FREE = 2 }; /* of a ledger's room, for what is elsewhere */

/* By all but the call. */
static int compare_places(const struct lull_wait_place *a, const struct lull_wait_place *b)
{
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->region != b->region)
        return a->region < b->region ? -1 : 1;
    return (a->in_mpi > b->in_mpi) - (a->in_mpi < b->in_mpi);
}

/* Where a place is, or belongs. */
static uint32_t find_entry(const struct wait_entry *entries, uint32_t count,
                           const struct lull_wait_place *place, bool *ret_there)
{
    uint32_t low = 0, high = count;
    *ret_there = false;
    while (low < high && !*ret_there) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = compare_places(&entries[middle].place, place);
        *ret_there = order == 0;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return high;
}

/* ---- ledgers ------------------------------------------------------------------------------- */

/* What stands for places that there was no room for; there are two of these at most. */
static bool is_elsewhere(const struct lull_wait_place *place)
{
    return place->region == LULL_WAIT_ELSEWHERE &&
           (place->process == LULL_WAIT_OWN || place->process == LULL_WAIT_ELSEWHERE);
}

static struct lull_wait_place elsewhere_of(const struct lull_wait_place *place)
{
    const bool own = place->process == LULL_WAIT_OWN;
    return (struct lull_wait_place){own ? LULL_WAIT_OWN : LULL_WAIT_ELSEWHERE, LULL_WAIT_ELSEWHERE,
                                    LULL_NONE, 0, LULL_NONE};
}

/* Takes out the entry with least time, which is to become part of what is elsewhere. */
static int64_t remove_least(struct wait_ledger *ledger, struct lull_wait_place *ret_elsewhere)
{
    uint32_t least = LULL_NONE;
    for (uint32_t i = 0; i < ledger->count; i++) {
        const struct wait_entry *entry = &ledger->entries[i];
        if (!is_elsewhere(&entry->place) &&
            (least == LULL_NONE || entry->ns < ledger->entries[least].ns))
            least = i;
    }
    const struct wait_entry removed = ledger->entries[least];
    *ret_elsewhere = elsewhere_of(&removed.place);
    memmove(&ledger->entries[least], &ledger->entries[least + 1],
            (ledger->count - least - 1) * sizeof removed);
    ledger->count--;
    return removed.ns;
}

static bool insert_entry(struct wait_ledger *ledger, uint32_t at,
                         const struct lull_wait_place *place, int64_t ns)
{
    size_t capacity = ledger->capacity;
    if (!lull_array_reserve(&ledger->entries, &capacity, ledger->count + (size_t)1,
                            sizeof *ledger->entries))
        return false;
    ledger->capacity = (uint32_t)capacity;
    memmove(&ledger->entries[at + 1], &ledger->entries[at],
            (ledger->count - at) * sizeof *ledger->entries);
    ledger->entries[at] = (struct wait_entry){*place, ns};
    ledger->count++;
    ledger->last = at;
    return true;
}

bool lull_wait_ledger_add(struct wait_ledger *ledger, const struct lull_wait_place *place,
                          int64_t ns)
{
    if (ns <= 0)
        return true;
    lull_wait_snapshot_move(&ledger->current, NULL);
    bool there = ledger->last < ledger->count &&
                 compare_places(&ledger->entries[ledger->last].place, place) == 0;
    uint32_t at = ledger->last;
    if (!there)
        at = find_entry(ledger->entries, ledger->count, place, &there);
    if (there) {
        ledger->entries[at].ns += ns;
        ledger->entries[at].place.call = place->call;
        ledger->last = at;
        return true;
    }
    while (!is_elsewhere(place) && ledger->count >= LULL_WAIT_LEDGER - LEFT_FREE) {
        struct lull_wait_place elsewhere;
        const int64_t removed = remove_least(ledger, &elsewhere);
        if (!lull_wait_ledger_add(ledger, &elsewhere, removed))
            return false;
    }
    at = find_entry(ledger->entries, ledger->count, place, &there);
    return insert_entry(ledger, at, place, ns);
}

void lull_wait_ledger_begin_anew(struct wait_ledger *ledger)
{
    lull_wait_snapshot_move(&ledger->current, NULL);
    ledger->count = 0;
    ledger->epoch++;
}

void lull_wait_ledger_free(struct wait_ledger *ledger)
{
    lull_wait_snapshot_drop(ledger->current);
    free(ledger->entries);
    *ledger = (struct wait_ledger){0};
}

/* ---- snapshots ----------------------------------------------------------------------------- */

struct wait_snapshot *lull_wait_snapshot_take(struct wait_ledger *ledger)
{
    if (!ledger->current) {
        const size_t bytes = ledger->count * sizeof *ledger->entries;
        struct wait_snapshot *snapshot = malloc(sizeof *snapshot + bytes);
        if (!snapshot)
            return NULL;
        *snapshot = (struct wait_snapshot){1, ledger->epoch, ledger->count};
        if (bytes)
            memcpy(snapshot->entries, ledger->entries, bytes);
        ledger->current = snapshot;
    }
    return lull_wait_snapshot_keep(ledger->current);
}

struct wait_snapshot *lull_wait_snapshot_keep(struct wait_snapshot *snapshot)
{
    if (snapshot)
        snapshot->references++;
    return snapshot;
}

void lull_wait_snapshot_drop(struct wait_snapshot *snapshot)
{
    if (snapshot && --snapshot->references == 0)
        free(snapshot);
}

void lull_wait_snapshot_move(struct wait_snapshot **place, struct wait_snapshot *snapshot)
{
    lull_wait_snapshot_drop(*place);
    *place = snapshot;
}

/* ---- division ------------------------------------------------------------------------------ */

/* What a process did between two meetings. */
struct span {
    const struct wait_entry *entries, *before;
    uint32_t count, n_before;
};

static struct span span_of(const struct wait_entry *entries, uint32_t count, uint32_t epoch,
                           const struct wait_snapshot *since)
{
    struct span span = {.entries = entries, .count = count};
    if (since && since->epoch == epoch) {
        span.before = since->entries;
        span.n_before = since->count;
    }
    return span;
}

static int64_t time_until(const struct wait_entry *entries, uint32_t count,
                          const struct lull_wait_place *place)
{
    bool there;
    const uint32_t at = find_entry(entries, count, place, &there);
    return there ? entries[at].ns : 0;
}

/* How long it was in a place of a process: LULL_WAIT_OWN: itself; else it waited for that. */
static int64_t time_in(const struct span *span, uint32_t process,
                       const struct lull_wait_place *place)
{
    const struct lull_wait_place wanted = {process, place->region, LULL_NONE, place->in_mpi,
                                           LULL_NONE};
    const int64_t until = time_until(span->entries, span->count, &wanted);
    return until > 0 ? until - time_until(span->before, span->n_before, &wanted) : 0;
}

static int64_t above_zero(int64_t ns)
{
    return ns > 0 ? ns : 0;
}

/* How much longer the late one was in a place itself. */
static int64_t own_excess(const struct span *late, const struct span *other,
                          const struct lull_wait_place *place)
{
    return time_in(late, LULL_WAIT_OWN, place) - time_in(other, LULL_WAIT_OWN, place);
}

/* What both waited for, what the other one did as well, and what it waited for of the late one,
 * kept both of them. `ns`: how long the late one was there. */
static int64_t excess_of(const struct wait_between *between, const struct span *late,
                         const struct span *other, const struct lull_wait_place *place, int64_t ns)
{
    if (place->process == LULL_WAIT_OWN) {
        const int64_t own = ns - time_in(other, LULL_WAIT_OWN, place);
        return own > 0 ? own - time_in(other, between->late, place) : 0;
    }
    int64_t kept = time_in(other, place->process, place);
    if (place->process == between->late && kept > 0)
        kept = above_zero(kept - above_zero(own_excess(late, other, place)));
    if (place->process == between->other)
        kept += above_zero(-own_excess(late, other, place));
    return ns - kept;
}

/* What rounding leaves goes to the largest fractions, the first of equal ones. */
void lull_wait_share_out(int64_t wait, int64_t sum, struct wait_excess *parts, uint32_t count)
{
    int64_t fractions[LULL_WAIT_LEDGER + 1], left = wait;
    for (uint32_t i = 0; i < count; i++) {
        const __int128 product = (__int128)wait * parts[i].excess;
        parts[i].ns = (int64_t)(product / sum);
        fractions[i] = (int64_t)(product % sum);
        left -= parts[i].ns;
    }
    for (; left > 0; left--) {
        uint32_t most = 0;
        for (uint32_t i = 1; i < count; i++)
            if (fractions[i] > fractions[most])
                most = i;
        parts[most].ns++;
        fractions[most] = -1;
    }
}

uint32_t lull_wait_divide(const struct wait_between *between, int64_t wait, struct wait_excess *ret)
{
    const struct wait_snapshot *late = between->at;
    const struct wait_ledger *ledger = between->ledger;
    const struct span lates = span_of(late->entries, late->count, late->epoch, between->late_since);
    const struct span others =
        span_of(ledger->entries, ledger->count, ledger->epoch, between->other_since);
    uint32_t count = 0;
    int64_t sum = 0;
    for (uint32_t i = 0; i < late->count; i++) {
        const struct lull_wait_place *place = &late->entries[i].place;
        const int64_t ns = late->entries[i].ns - time_until(lates.before, lates.n_before, place);
        const int64_t excess = ns > 0 ? excess_of(between, &lates, &others, place, ns) : 0;
        if (excess <= 0)
            continue;
        ret[count++] = (struct wait_excess){*place, excess, 0};
        sum += excess;
    }
    if (sum < wait) {
        ret[count++] = (struct wait_excess){
            {LULL_WAIT_OWN, LULL_NONE, LULL_NONE, 1, LULL_NONE}, wait - sum, 0};
        sum = wait;
    }
    lull_wait_share_out(wait, sum, ret, count);
    return count;
}
