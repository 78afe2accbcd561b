#include "wait/ledger.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { LEFT_FREE = 2 }; /* of a ledger's room, for what is elsewhere */

/* Behind the last entry. */
static const struct wait_entry no_entry = {.key = UINT64_MAX};

/* Where a place is, or belongs. */
uint32_t lull_wait_find_entry(const struct wait_entry *entries, uint32_t low, uint32_t high,
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
            (ledger->count - least) * sizeof removed);
    ledger->count--;
    return removed;
}

static bool insert_entry(struct wait_ledger *ledger, uint32_t at, const struct wait_entry *entry)
{
    size_t capacity = ledger->capacity;
    if (!lull_array_reserve(&ledger->entries, &capacity, ledger->count + (size_t)2,
                            sizeof *ledger->entries))
        return false;
    if (ledger->capacity == 0)
        ledger->entries[0] = no_entry;
    ledger->capacity = (uint32_t)capacity;
    memmove(&ledger->entries[at + 1], &ledger->entries[at],
            (ledger->count - at + 1) * sizeof *ledger->entries);
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
        return lull_wait_find_entry(ledger->entries, 0, count, key);
    for (uint32_t at = last; at < count && at < last + 3; at++)
        if (ledger->entries[at].key >= key)
            return at;
    return lull_wait_find_entry(ledger->entries, last, count, key);
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
        ledger->entries[at].clock = (uint32_t)ledger->clock;
        ledger->last = at;
        return true;
    }
    while (!is_elsewhere(key) && ledger->count >= LULL_WAIT_LEDGER - LEFT_FREE) {
        const struct wait_entry removed = remove_least(ledger);
        if (!lull_wait_ledger_add(ledger, elsewhere_of(removed.key), LULL_NONE, removed.ns))
            return false;
    }
    at = lull_wait_find_entry(ledger->entries, 0, ledger->count, key);
    const struct wait_entry entry = {.key = key, .ns = ns, .call = call, .clock = (uint32_t)ledger->clock};
    ledger->last = at;
    return insert_entry(ledger, at, &entry);
}

const struct wait_entry *lull_wait_ledger_entries(const struct wait_ledger *ledger)
{
    return ledger->entries ? ledger->entries : &no_entry;
}

bool lull_wait_ledger_add_part(struct wait_ledger *ledger, const struct wait_excess *part)
{
    const uint32_t at = part->at;
    if (at >= ledger->count || ledger->entries[at].key != part->key || part->ns <= 0)
        return lull_wait_ledger_add(ledger, part->key, part->call, part->ns);
    if (ledger->current)
        forget_snapshot(ledger);
    ledger->entries[at].ns += part->ns;
    ledger->entries[at].call = part->call;
    ledger->entries[at].clock = (uint32_t)ledger->clock;
    return true;
}

void lull_wait_ledger_begin_anew(struct wait_ledger *ledger)
{
    forget_snapshot(ledger);
    ledger->count = 0;
    if (ledger->entries)
        ledger->entries[0] = no_entry;
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
        const size_t bytes = (ledger->count + (size_t)1) * sizeof *ledger->entries;
        struct wait_snapshot *snapshot = malloc(sizeof *snapshot + bytes);
        if (!snapshot)
            return (struct wait_moment){0};
        *snapshot = (struct wait_snapshot){1, ledger->epoch, ledger->count, ledger->clock++};
        memcpy(snapshot->entries, lull_wait_ledger_entries(ledger), bytes);
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
