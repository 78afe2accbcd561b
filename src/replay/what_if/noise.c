/* SPDX-License-Identifier: BSD-3-Clause */
/* Without noise: no burst is longer than the median of the bursts at its place (what_if.h). */
#include "base/array.h"
#include "base/hash.h"
#include "replay/what_if/what_if.h"
#include "stats/quantile.h"

#include <stdlib.h>

enum { NOISE_SAMPLES = 64 };

/* The bursts at one place: every step-th of them is kept in `times`. When this sample is full,
 * every second time is dropped and the step doubled. */
struct noise_place {
    uint32_t count, step, seen;  /* how many times are kept; the step; how many bursts there were */
    double median;               /* ns; set when all bursts are known */
    double times[NOISE_SAMPLES]; /* [count]: ns */
};

/* The places of one stream. */
struct places {
    struct lull_hash numbers; /* of a struct noise_key: the index of its item */
    struct noise_place **items;
    size_t count, capacity;
};

struct noise_key {
    uint32_t region, ordinal;
};

struct noise {
    uint32_t n_streams;
    struct places streams[];
};

static bool is_no_noise_wanted(const struct lull_what_if_options *wanted)
{
    return wanted->no_noise;
}

static void *create_noise(const struct lull_what_if_scene *scene)
{
    struct noise *noise = calloc(1, sizeof *noise + scene->n_streams * sizeof *noise->streams);
    if (noise)
        noise->n_streams = scene->n_streams;
    return noise;
}

static void forget_noise(void *state)
{
    struct noise *noise = state;
    for (uint32_t s = 0; s < noise->n_streams; s++) {
        struct places *places = &noise->streams[s];
        for (size_t i = 0; i < places->count; i++)
            free(places->items[i]);
        free(places->items);
        lull_hash_free(&places->numbers);
        *places = (struct places){0};
    }
}

static void destroy_noise(void *state)
{
    forget_noise(state);
    free(state);
}

static struct noise_place *find_noise_place(const struct places *places,
                                            const struct lull_replay_burst *burst)
{
    const struct noise_key key = {burst->region, burst->ordinal};
    const uint64_t *number = lull_hash_find(&places->numbers, &key, sizeof key);
    return number ? places->items[*number] : NULL;
}

static struct noise_place *add_place(struct places *places, const struct lull_replay_burst *burst)
{
    const struct noise_key key = {burst->region, burst->ordinal};
    struct noise_place *place = calloc(1, sizeof *place);
    if (!place ||
        !lull_array_reserve(&places->items, &places->capacity, places->count + 1,
                            sizeof(struct noise_place *)) ||
        !lull_hash_add(&places->numbers, &key, sizeof key, places->count, NULL)) {
        free(place);
        return NULL;
    }
    place->step = 1;
    places->items[places->count++] = place;
    return place;
}

static bool learn_noise(void *state, const struct lull_replay_burst *burst, int64_t ns)
{
    struct noise *noise = state;
    struct places *places = &noise->streams[burst->stream];
    struct noise_place *p = find_noise_place(places, burst);
    if (!p)
        p = add_place(places, burst);
    if (!p)
        return false;
    if (p->seen++ % p->step != 0)
        return true;
    if (p->count == NOISE_SAMPLES) {
        for (uint32_t i = 0; i < NOISE_SAMPLES / 2; i++)
            p->times[i] = p->times[2 * i];
        p->count = NOISE_SAMPLES / 2;
        p->step *= 2;
    }
    p->times[p->count++] = (double)ns;
    return true;
}

static lull_status conclude_noise(void *state, struct lull_error *err)
{
    (void)err;
    struct noise *noise = state;
    for (uint32_t s = 0; s < noise->n_streams; s++)
        for (size_t i = 0; i < noise->streams[s].count; i++) {
            struct noise_place *p = noise->streams[s].items[i];
            lull_sort(p->times, p->count);
            p->median = lull_median(p->times, p->count);
        }
    return LULL_OK;
}

static int64_t apply_noise(void *state, const struct lull_replay_burst *burst, int64_t ns)
{
    const struct noise *noise = state;
    const struct noise_place *p = find_noise_place(&noise->streams[burst->stream], burst);
    return p && p->median < (double)ns ? llround(p->median) : ns;
}

const struct lull_what_if_kind lull_kind_noise = {.is_wanted = is_no_noise_wanted,
                                                  .create = create_noise,
                                                  .destroy = destroy_noise,
                                                  .learn = learn_noise,
                                                  .conclude = conclude_noise,
                                                  .forget = forget_noise,
                                                  .apply = apply_noise};
