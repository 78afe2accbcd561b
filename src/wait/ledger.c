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

/* The entry with least time, the first of several; NULL: there is none but what is elsewhere. */
static struct wait_entry *find_least(const struct wait_places *places, struct wait_entry *least)
{
    for (uint32_t i = 0; i < places->count; i++)
        if (!is_elsewhere(places->entries[i].key) && (!least || places->entries[i].ns < least->ns))
            least = &places->entries[i];
    return least;
}

/* Takes it out, to become part of what is elsewhere. */
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

static void forget_snapshot(struct wait_ledger *ledger, bool others)
{
    drop_snapshot(ledger->current);
    ledger->current = NULL;
    if (!others)
        return;
    drop_shared(ledger->current_others);
    ledger->current_others = NULL;
}

/* Parts of a wait come in the order of keys: the next one is behind the last. */
static uint32_t place_of_key(const struct wait_places *places, uint64_t key)
{
    const uint32_t count = places->count, last = places->last;
    if (last >= count || places->entries[last].key > key)
        return lull_wait_find_entry(places->entries, 0, count, key);
    for (uint32_t at = last; at < count && at < last + 3; at++)
        if (places->entries[at].key >= key)
            return at;
    return lull_wait_find_entry(places->entries, last, count, key);
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
    at = lull_wait_find_entry(places->entries, 0, places->count, key);
    const struct wait_entry entry = {
        .key = key, .ns = ns, .call = call, .clock = (uint32_t)ledger->clock};
    places->last = at;
    return insert_entry(places, at, &entry);
}

const struct wait_entry *lull_wait_entries(const struct wait_places *places)
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
        memcpy(shared->entries, lull_wait_entries(&ledger->others), bytes);
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
    memcpy(snapshot->own, lull_wait_entries(&ledger->own), bytes);
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
