/* Balanced: in each epoch each process that computes does so for the mean time of all. */
#include "base/array.h"
#include "replay/what_if/kind.h"

#include <stdlib.h>

/* What a stream computed, by epoch, and where it is. */
struct work {
    int64_t *ns;
    size_t count, capacity;
    uint32_t phase; /* that of the last burst */
    struct lull_stretched bursts;
};

struct balance {
    const struct lull_treatments *treatments;
    double *mean; /* [epochs] */
    uint32_t n_streams;
    struct work works[];
};

static bool is_wanted(const struct lull_what_if_options *wanted)
{
    return wanted->balance;
}

static void *create(const struct lull_what_if_scene *scene)
{
    struct balance *balance = calloc(1, sizeof *balance + scene->n_streams * sizeof(struct work));
    if (!balance)
        return NULL;
    balance->treatments = scene->treatments;
    balance->n_streams = scene->n_streams;
    return balance;
}

static void forget(void *state)
{
    struct balance *balance = state;
    for (uint32_t s = 0; s < balance->n_streams; s++) {
        free(balance->works[s].ns);
        balance->works[s] = (struct work){0};
    }
}

static void destroy(void *state)
{
    struct balance *balance = state;
    forget(balance);
    free(balance->mean);
    free(balance);
}

static bool learn(void *state, const struct lull_replay_burst *burst, int64_t ns)
{
    struct balance *balance = state;
    struct work *work = &balance->works[burst->stream];
    if (!balance->treatments->treatments[burst->mark].balanced)
        return true;
    if (!lull_array_reserve(&work->ns, &work->capacity, burst->phase + (size_t)1, sizeof *work->ns))
        return false;
    for (; work->count <= burst->phase; work->count++)
        work->ns[work->count] = 0;
    work->ns[burst->phase] += ns;
    return true;
}

static bool conclude(void *state)
{
    struct balance *balance = state;
    size_t phases = 0;
    for (uint32_t s = 0; s < balance->n_streams; s++)
        phases = balance->works[s].count > phases ? balance->works[s].count : phases;
    balance->mean = calloc(phases + 1, sizeof *balance->mean);
    if (!balance->mean)
        return false;
    for (size_t phase = 0; phase < phases; phase++) {
        double sum = 0;
        uint32_t working = 0;
        for (uint32_t s = 0; s < balance->n_streams; s++) {
            const struct work *work = &balance->works[s];
            if (phase < work->count && work->ns[phase] > 0) {
                sum += (double)work->ns[phase];
                working++;
            }
        }
        balance->mean[phase] = working ? sum / working : 0;
    }
    return true;
}

static int64_t apply(void *state, const struct lull_replay_burst *burst, int64_t ns)
{
    struct balance *balance = state;
    struct work *work = &balance->works[burst->stream];
    if (!balance->treatments->treatments[burst->mark].balanced || burst->phase >= work->count ||
        work->ns[burst->phase] <= 0)
        return ns;
    if (burst->phase != work->phase) {
        work->phase = burst->phase;
        work->bursts = (struct lull_stretched){0};
    }
    return lull_stretch_on(&work->bursts, ns, balance->mean[burst->phase],
                           (double)work->ns[burst->phase]);
}

static void rewind_works(void *state)
{
    struct balance *balance = state;
    for (uint32_t s = 0; s < balance->n_streams; s++) {
        balance->works[s].phase = 0;
        balance->works[s].bursts = (struct lull_stretched){0};
    }
}

const struct lull_what_if_kind lull_kind_balance = {.is_wanted = is_wanted,
                                                    .create = create,
                                                    .destroy = destroy,
                                                    .learn = learn,
                                                    .conclude = conclude,
                                                    .forget = forget,
                                                    .apply = apply,
                                                    .rewind = rewind_works};
