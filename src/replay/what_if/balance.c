/* SPDX-License-Identifier: BSD-3-Clause */
/* Balanced: in each epoch each process that computes does so for the mean time of those that do. */
#include "base/array.h"
#include "replay/what_if/what_if.h"
#include "team/team.h"

#include <stdlib.h>

/* What a stream computed, by epoch, and how far apply_balance has come in it. */
struct work {
    int64_t *ns; /* [count]: what it computed in each epoch */
    size_t count, capacity;
    uint32_t phase;               /* the epoch of the last burst that was applied */
    struct lull_stretched bursts; /* those that were applied in this epoch */
};

struct balance {
    const struct lull_trace *trace;
    const struct lull_treatments *treatments;
    struct lull_team *team;
    double *mean; /* [epochs]: ns for each stream that computes in the epoch */
    double share; /* of the way to the mean */
    uint32_t n_streams;
    struct work works[];
};

static bool is_balance_wanted(const struct lull_what_if_options *wanted)
{
    return wanted->balance;
}

static void *create_balance(const struct lull_what_if_scene *scene)
{
    struct balance *balance = calloc(1, sizeof *balance + scene->n_streams * sizeof(struct work));
    if (!balance)
        return NULL;
    balance->trace = scene->trace;
    balance->treatments = scene->treatments;
    balance->team = scene->part.team;
    balance->share = lull_share_of(scene->wanted->balance_share);
    balance->n_streams = scene->n_streams;
    return balance;
}

static void forget_balance(void *state)
{
    struct balance *balance = state;
    for (uint32_t s = 0; s < balance->n_streams; s++) {
        free(balance->works[s].ns);
        balance->works[s] = (struct work){0};
    }
}

static void destroy_balance(void *state)
{
    struct balance *balance = state;
    forget_balance(balance);
    free(balance->mean);
    free(balance);
}

static bool learn_balance(void *state, const struct lull_replay_burst *burst, int64_t ns)
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

/* What all streams computed in an epoch, and how many of them computed anything. */
struct epoch_sum {
    struct lull_wide_sum ns;
    int64_t working;
};
static_assert(sizeof(struct epoch_sum) == 3 * sizeof(int64_t), "summed as integers");

static void add_work(const struct work *work, struct epoch_sum *sums)
{
    for (size_t phase = 0; phase < work->count; phase++) {
        if (work->ns[phase] <= 0)
            continue;
        lull_wide_sum_add(&sums[phase].ns, work->ns[phase]);
        sums[phase].working++;
    }
}

static lull_status find_means(struct balance *balance, struct epoch_sum *sums, size_t phases,
                              struct lull_error *err)
{
    for (uint32_t s = 0; s < balance->n_streams; s++)
        add_work(&balance->works[s], sums);
    lull_status status =
        lull_team_sum(balance->team, (int64_t *)sums, phases * sizeof *sums / sizeof(int64_t), err);
    for (size_t phase = 0; phase < phases; phase++)
        if (sums[phase].working > 0)
            balance->mean[phase] =
                lull_wide_sum_value(&sums[phase].ns) / (double)sums[phase].working;
    return status == LULL_OK ? lull_team_broadcast(balance->team, balance->mean,
                                                   phases * sizeof *balance->mean, err)
                             : status;
}

static lull_status conclude_balance(void *state, struct lull_error *err)
{
    struct balance *balance = state;
    int64_t phases = 0;
    for (uint32_t s = 0; s < balance->n_streams; s++)
        phases =
            (int64_t)balance->works[s].count > phases ? (int64_t)balance->works[s].count : phases;
    lull_status status = lull_team_max_to_all(balance->team, &phases, 1, err);
    if (status != LULL_OK)
        return status;
    struct epoch_sum *sums = calloc((size_t)phases + 1, sizeof *sums);
    balance->mean = calloc((size_t)phases + 1, sizeof *balance->mean);
    status = sums && balance->mean ? find_means(balance, sums, (size_t)phases, err)
                                   : lull_what_if_no_memory(balance->trace, err);
    free(sums);
    return status;
}

static int64_t apply_balance(void *state, const struct lull_replay_burst *burst, int64_t ns)
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
    const double own = (double)work->ns[burst->phase];
    return lull_stretch_on(
        &work->bursts, ns,
        (1 - balance->share) * own + balance->share * balance->mean[burst->phase], own);
}

static void rewind_works(void *state)
{
    struct balance *balance = state;
    for (uint32_t s = 0; s < balance->n_streams; s++) {
        balance->works[s].phase = 0;
        balance->works[s].bursts = (struct lull_stretched){0};
    }
}

const struct lull_what_if_kind lull_kind_balance = {.is_wanted = is_balance_wanted,
                                                    .create = create_balance,
                                                    .destroy = destroy_balance,
                                                    .learn = learn_balance,
                                                    .conclude = conclude_balance,
                                                    .forget = forget_balance,
                                                    .apply = apply_balance,
                                                    .rewind = rewind_works};
