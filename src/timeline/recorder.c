/* SPDX-License-Identifier: BSD-3-Clause */
/* Single steps: all of them while they fit, and those around the longest wait of each leaf. */
#include "timeline/builder.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum {
    RINGS = 1 << 20, /* steps of all rings */
    LEAST_RING = 8,
    MOST_RING = 64,
    MOST_WAITS =
        sizeof((struct lull_timeline_recorder *)0)->waits / sizeof(struct lull_timeline_place)
};

bool lull_timeline_recording_create(struct lull_timeline_recording *recording, uint32_t n_leaves,
                                    uint64_t most)
{
    recording->n_leaves = n_leaves;
    recording->most = most;
    recording->ring_size = MOST_RING;
    while (recording->ring_size > LEAST_RING && n_leaves > RINGS / recording->ring_size)
        recording->ring_size /= 2;
    recording->recorders = calloc(n_leaves + (size_t)1, sizeof *recording->recorders);
    return recording->recorders != NULL;
}

void lull_timeline_recording_release(struct lull_timeline_recording *recording)
{
    for (uint32_t l = 0; recording->recorders && l < recording->n_leaves; l++) {
        free(recording->recorders[l].all);
        free(recording->recorders[l].ring);
        free(recording->recorders[l].around);
    }
    free(recording->recorders);
    recording->recorders = NULL;
}

/* ---- waits --------------------------------------------------------------------------------- */

static bool is_wait(unsigned activity)
{
    return activity == LULL_MPI_P2P || activity == LULL_MPI_COLLECTIVE ||
           activity == LULL_MPI_ONE_SIDED || activity == LULL_OMP_SYNC || activity == LULL_OMP_LOCK;
}

static int64_t length_of(const struct lull_timeline_place *place)
{
    return place->end - place->begin;
}

/* The longest waits of a leaf; of equal ones the earlier. Whether it is the longest of all. */
static bool take_wait(struct lull_timeline_recorder *recorder,
                      const struct lull_timeline_place *place)
{
    uint32_t at = recorder->n_waits;
    while (at > 0 && length_of(&recorder->waits[at - 1]) < length_of(place))
        at--;
    lull_array_insert(recorder->waits, &recorder->n_waits, MOST_WAITS, at, place, sizeof *place);
    return at == 0;
}

/* ---- what is kept -------------------------------------------------------------------------- */

/* The last steps, and as many as are still to come. The oldest one of a full ring only says when
 * the next one began. */
static void keep_around(const struct lull_timeline_recording *recording,
                        struct lull_timeline_recorder *recorder)
{
    const uint64_t size = recording->ring_size, n = recorder->n_ring;
    const bool full = n > size;
    const uint64_t first = full ? n - size + 1 : 0;
    recorder->n_around = 0;
    recorder->around_began =
        full ? recorder->ring[(first - 1) & (size - 1)].end : recorder->all_began;
    for (uint64_t i = first; i < n; i++)
        recorder->around[recorder->n_around++] = recorder->ring[i & (size - 1)];
    recorder->behind = recording->ring_size;
}

static bool make_rings(const struct lull_timeline_recording *recording,
                       struct lull_timeline_recorder *recorder)
{
    if (!recorder->ring)
        recorder->ring = malloc(recording->ring_size * sizeof *recorder->ring);
    if (!recorder->around)
        recorder->around = malloc(2 * (size_t)recording->ring_size * sizeof *recorder->around);
    return recorder->ring && recorder->around;
}

static void give_up_all(struct lull_timeline_recorder *recorder)
{
    free(recorder->all);
    recorder->all = NULL;
    recorder->n_all = recorder->all_capacity = 0;
}

static bool keep_in_all(struct lull_timeline_recording *recording,
                        struct lull_timeline_recorder *recorder)
{
    if (atomic_load_explicit(&recording->over, memory_order_relaxed)) {
        if (recorder->all)
            give_up_all(recorder);
        return true;
    }
    if (!lull_array_reserve(&recorder->all, &recorder->all_capacity, recorder->n_all + 1,
                            sizeof *recorder->all))
        return false;
    recorder->all[recorder->n_all++] = recorder->now;
    return true;
}

/* Counted in batches, because all workers count together. */
enum { BATCH = 256 };

static void count_steps(struct lull_timeline_recording *recording, uint64_t n)
{
    if (atomic_fetch_add_explicit(&recording->count, n, memory_order_relaxed) + n > recording->most)
        atomic_store_explicit(&recording->over, true, memory_order_relaxed);
}

/* The step that went on has ended. */
static bool close_step(struct lull_timeline_recording *recording, uint32_t leaf)
{
    struct lull_timeline_recorder *recorder = &recording->recorders[leaf];
    const struct lull_timeline_step *now = &recorder->now;
    if (!recorder->open)
        return true;
    if (!recorder->ring && !make_rings(recording, recorder))
        return false;
    recorder->open = false;
    if (++recorder->count % BATCH == 0)
        count_steps(recording, BATCH);
    if (!keep_in_all(recording, recorder))
        return false;
    if (recorder->behind > 0) {
        recorder->around[recorder->n_around++] = *now;
        recorder->behind--;
    }
    recorder->ring[recorder->n_ring++ & (recording->ring_size - 1)] = *now;
    const struct lull_timeline_place place = {recorder->began, now->end, leaf, now->region,
                                              now->activity};
    if (is_wait(now->activity) && take_wait(recorder, &place))
        keep_around(recording, recorder);
    return true;
}

bool lull_timeline_record(struct lull_timeline_recording *recording, uint32_t leaf,
                          const struct lull_timeline_step *step, int64_t began)
{
    struct lull_timeline_recorder *recorder = &recording->recorders[leaf];
    if (recorder->open && recorder->now.activity == step->activity &&
        recorder->now.region == step->region) {
        recorder->now.end = step->end;
        return true;
    }
    if (!close_step(recording, leaf))
        return false;
    if (recorder->count == 0)
        recorder->all_began = began;
    recorder->now = *step;
    recorder->began = began;
    recorder->open = true;
    return true;
}

/* Of a leaf that has ended no more is kept than is shown: there may be 10^5 of them. */
static void release_rings(struct lull_timeline_recorder *recorder)
{
    free(recorder->ring);
    recorder->ring = NULL;
    if (recorder->n_around == 0) {
        free(recorder->around);
        recorder->around = NULL;
        return;
    }
    void *smaller = realloc(recorder->around, recorder->n_around * sizeof *recorder->around);
    if (smaller)
        recorder->around = smaller;
}

bool lull_timeline_record_end(struct lull_timeline_recording *recording, uint32_t leaf)
{
    const bool good = close_step(recording, leaf);
    count_steps(recording, recording->recorders[leaf].count % BATCH);
    release_rings(&recording->recorders[leaf]);
    return good;
}

/* ---- from member to member ----------------------------------------------------------------- */

/* Of a recorder what is left when its leaf has ended. */
struct left {
    uint64_t count;
    int64_t began; /* of its first step, or of those around its longest wait */
    uint32_t n_waits;
};

bool lull_timeline_record_put(const struct lull_timeline_recording *recording, uint32_t leaf,
                              bool all_steps, struct lull_flow *flow)
{
    const struct lull_timeline_recorder *recorder = &recording->recorders[leaf];
    const struct left left = {recorder->count,
                              all_steps ? recorder->all_began : recorder->around_began,
                              recorder->n_waits};
    return lull_flow_put(flow, &left, sizeof left) &&
           lull_flow_put(flow, recorder->waits, left.n_waits * sizeof *recorder->waits) &&
           lull_flow_put_items(flow, all_steps ? recorder->all : recorder->around,
                               all_steps ? recorder->n_all : recorder->n_around,
                               sizeof *recorder->all);
}

bool lull_timeline_record_get(struct lull_timeline_recording *recording, uint32_t leaf,
                              bool all_steps, struct lull_flow *flow)
{
    struct lull_timeline_recorder *recorder = &recording->recorders[leaf];
    struct left left;
    size_t n;
    if (!lull_flow_get(flow, &left, sizeof left) || left.n_waits > MOST_WAITS ||
        !lull_flow_get(flow, recorder->waits, left.n_waits * sizeof *recorder->waits))
        return false;
    struct lull_timeline_step *steps = lull_flow_get_items(flow, sizeof *steps, &n);
    recorder->count = left.count;
    recorder->n_waits = left.n_waits;
    if (all_steps) {
        recorder->all = steps;
        recorder->n_all = n;
        recorder->all_began = left.began;
    } else {
        recorder->around = steps;
        recorder->n_around = (uint32_t)n;
        recorder->around_began = left.began;
    }
    return steps != NULL;
}

/* ---- behind the pass ----------------------------------------------------------------------- */

/* The longest first; of equal ones the earlier leaf, then the earlier time. */
static int compare_waits(const void *a, const void *b)
{
    const struct lull_timeline_place *x = a, *y = b;
    if (length_of(x) != length_of(y))
        return length_of(x) > length_of(y) ? -1 : 1;
    if (x->leaf != y->leaf)
        return x->leaf < y->leaf ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void set_piece(struct lull_timeline *timeline, uint32_t leaf, int64_t begin,
                      const struct lull_timeline_step *steps, size_t count,
                      struct lull_arena *arena)
{
    if (count == 0)
        return;
    timeline->leaves[leaf].n_pieces = 1;
    timeline->leaves[leaf].pieces =
        lull_arena_zero(arena, 1, sizeof *timeline->leaves[leaf].pieces);
    timeline->leaves[leaf].pieces[0] = (struct lull_timeline_piece){begin, steps, count};
}

/* Pieces around the longest waits, one for each leaf, as long as they fit. */
static void set_pieces(const struct lull_timeline_recording *recording,
                       struct lull_timeline *timeline, const struct lull_timeline_place *waits,
                       size_t n_waits, struct lull_arena *arena)
{
    uint64_t steps = 0;
    for (size_t w = 0; w < n_waits; w++) {
        const uint32_t leaf = waits[w].leaf;
        const struct lull_timeline_recorder *recorder = &recording->recorders[leaf];
        if (timeline->leaves[leaf].n_pieces > 0)
            continue;
        steps += recorder->n_around;
        if (steps > recording->most)
            return;
        set_piece(timeline, leaf, recorder->around_began, recorder->around, recorder->n_around,
                  arena);
    }
}

lull_status lull_timeline_record_conclude(struct lull_timeline_recording *recording,
                                          struct lull_timeline *timeline, struct lull_arena *arena,
                                          struct lull_error *err)
{
    size_t n_waits = 0;
    for (uint32_t l = 0; l < recording->n_leaves; l++) {
        timeline->n_steps += recording->recorders[l].count;
        n_waits += recording->recorders[l].n_waits;
    }
    struct lull_timeline_place *waits = malloc((n_waits + 1) * sizeof *waits);
    if (!waits)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for its longest waits",
                         timeline->trace->path);
    n_waits = 0;
    for (uint32_t l = 0; l < recording->n_leaves; l++)
        for (uint32_t w = 0; w < recording->recorders[l].n_waits; w++)
            waits[n_waits++] = recording->recorders[l].waits[w];
    qsort(waits, n_waits, sizeof *waits, compare_waits);
    timeline->n_places = n_waits < LULL_TIMELINE_PLACES ? (uint32_t)n_waits : LULL_TIMELINE_PLACES;
    memcpy(timeline->places, waits, timeline->n_places * sizeof *waits);
    timeline->all_steps = timeline->n_steps <= recording->most;
    for (uint32_t l = 0; timeline->all_steps && l < recording->n_leaves; l++) {
        const struct lull_timeline_recorder *recorder = &recording->recorders[l];
        set_piece(timeline, l, recorder->all_began, recorder->all, recorder->n_all, arena);
    }
    if (!timeline->all_steps)
        set_pieces(recording, timeline, waits, n_waits, arena);
    free(waits);
    return LULL_OK;
}
