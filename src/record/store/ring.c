#include "record/store/ring.h"

#include "record/core.h"
#include "record/keep.h"
#include "record/report.h"

struct ring_place {
    struct rec_extent extent; /* its size is 0: it has none yet */
    bool written;             /* once at least: the disk has room for it */
    bool taken;               /* atomic: a thread writes there */
};

static struct ring_place *ring_places;
static uint64_t n_places; /* atomic: fewer than the budget has, once the disk is full */
static uint64_t turn;     /* atomic: how often a place was taken */

void rec_ring_start(void)
{
    if (!rec_process.keeps_last)
        return;
    const uint64_t wanted = rec_process.budget / LULL_TAPE_CHUNK;
    n_places = wanted > 0 ? wanted : 1;
    rec_process.budget = n_places * LULL_TAPE_CHUNK;
    ring_places = rec_keep(n_places * sizeof *ring_places);
    rec_process.keeps_last = ring_places != NULL;
    if (!ring_places)
        rec_report_say("no memory for a ring: the first events are kept, not the last ones");
}

/* The one whose turn it is. Another thread may be writing there still, if all others have written
 * so much meanwhile that it is its turn again: then the next one. NULL: they are all being written.
 */
static struct ring_place *take_ring_place(void)
{
    const uint64_t n = __atomic_load_n(&n_places, __ATOMIC_RELAXED);
    for (uint64_t i = 0; i < n; i++) {
        struct ring_place *place = &ring_places[__atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED) % n];
        if (!__atomic_test_and_set(&place->taken, __ATOMIC_ACQUIRE))
            return place;
    }
    return NULL;
}

static bool write_ring_chunk(struct ring_place *place, const void *chunk, uint32_t location,
                             uint32_t number)
{
    if (place->extent.size == 0 && !rec_container_reserve(LULL_TAPE_CHUNK, &place->extent))
        return false;
    rec_container_vacate(&place->extent);
    if (!rec_container_write(chunk, LULL_TAPE_CHUNK, place->extent.offset))
        return false;
    rec_container_enter_chunk(&place->extent, location, number);
    place->written = true;
    return true;
}

/* A chunk for which no place is free is not kept; nor is then, for whoever reads, what came before
 * it in its location. */
bool rec_ring_store(const void *chunk, uint32_t location, uint32_t number)
{
    for (;;) {
        struct ring_place *place = take_ring_place();
        if (!place)
            return true;
        const bool good = write_ring_chunk(place, chunk, location, number),
                   written = place->written;
        __atomic_clear(&place->taken, __ATOMIC_RELEASE);
        if (good || written || place == ring_places)
            return good;
        /* The disk is full: the places before this one are all that there are. */
        __atomic_store_n(&n_places, (uint64_t)(place - ring_places), __ATOMIC_RELAXED);
    }
}
