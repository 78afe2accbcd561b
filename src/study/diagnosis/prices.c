#include "study/diagnosis/prices.h"

#include "study/replay/fixes.h"

#include <stdlib.h>

/* Why no replay is made of this run; NULL: it can be. */
static const char *why_not(const struct lull_run *run, const struct lull_diagnosis_options *options,
                           struct lull_arena *arena)
{
    if (options->no_prices)
        return "Replays were switched off.";
    const char *absent = lull_fixes_absent(run);
    if (absent)
        return lull_arena_printf(arena, "The run cannot be replayed: %s.", absent);
    if (run->ideal && run->ideal->steps > LULL_REPLAY_CHECK_MOST)
        return lull_arena_printf(arena,
                                 "Runs with more than %d steps are not replayed: lull replay does, "
                                 "with the options that each finding names.",
                                 LULL_REPLAY_CHECK_MOST);
    return NULL;
}

/* The first ones that can be replayed. */
static uint32_t choose(struct lull_diagnosis *diagnosis, struct lull_finding **chosen)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < diagnosis->count; i++) {
        struct lull_finding *finding = &diagnosis->findings[i];
        if (!finding->gain.absent || !finding->fix)
            continue;
        if (n == LULL_DIAGNOSIS_REPLAYS)
            finding->gain.absent = "It is not among those that may save most, which were replayed.";
        else
            chosen[n++] = finding;
    }
    return n;
}

/* A replay on the measured network differs from the run; what it says is as far away as that. */
static struct lull_finding_gain gain_of(int64_t runtime, int64_t replayed, int64_t fixed)
{
    const int64_t error = llabs((long long)(replayed - runtime));
    const int64_t saved = replayed - fixed;
    struct lull_finding_gain gain = {.ns = saved > 0 ? saved : 0};
    gain.low_ns = gain.ns > error ? gain.ns - error : 0;
    gain.high_ns = gain.ns + error < runtime ? gain.ns + error : runtime;
    gain.factor = fixed > 0 ? (double)replayed / (double)fixed : 1;
    gain.too_small = gain.ns <= error;
    return gain;
}

/* All cuts and changes at once. */
static bool add_all(struct lull_what_if_options *all, const struct lull_what_if_options *fix)
{
    if (all->n_cuts + fix->n_cuts > LULL_WHAT_IF_CUTS ||
        all->n_threads + fix->n_threads > LULL_WHAT_IF_THREADS ||
        (all->balance && fix->balance && all->balanced != fix->balanced))
        return false;
    if (all->n_regions + fix->n_regions > LULL_WHAT_IF_REGIONS)
        return false;
    for (uint32_t i = 0; i < fix->n_regions; i++) {
        all->factors[all->n_regions] = fix->factors[i];
        all->regions[all->n_regions++] = fix->regions[i];
    }
    all->eager |= fix->eager;
    all->no_noise |= fix->no_noise;
    if (fix->balance) {
        all->balance = true;
        all->balanced = fix->balanced;
    }
    for (uint32_t i = 0; i < fix->n_cuts; i++)
        all->cuts[all->n_cuts++] = fix->cuts[i];
    for (uint32_t i = 0; i < fix->n_threads; i++)
        all->threads[all->n_threads++] = fix->threads[i];
    return true;
}

/* Replays those that were chosen, and all at once where that can be. A sentence: why that failed,
 * in the arena; NULL: it did not. */
static const char *replay_chosen(const struct lull_run *run,
                                 const struct lull_diagnosis_options *options,
                                 struct lull_finding *const *chosen, uint32_t n,
                                 struct lull_diagnosis *diagnosis, struct lull_arena *arena)
{
    struct lull_fix fixes[LULL_DIAGNOSIS_REPLAYS + 1];
    int64_t runtimes[LULL_DIAGNOSIS_REPLAYS + 1], replayed;
    const int64_t measured = run->breakdown->runtime_ns;
    const struct lull_fixes_options wanted = {.application = options->application,
                                              .workers = options->workers};
    struct lull_what_if_options *all = lull_arena_zero(arena, 1, sizeof *all);
    struct lull_error why;
    bool together = n > 1;
    all->application = options->application;
    for (uint32_t i = 0; i < n; i++) {
        fixes[i] = (struct lull_fix){.what_if = chosen[i]->fix};
        together = together && add_all(all, chosen[i]->fix);
    }
    fixes[n] = (struct lull_fix){.what_if = all};
    if (lull_fixes_replay(run, &wanted, fixes, n + together, runtimes, &replayed, &why) != LULL_OK)
        return lull_arena_printf(arena, "The replay failed: %s.", why.text);
    for (uint32_t i = 0; i < n; i++)
        chosen[i]->gain = gain_of(measured, replayed, runtimes[i]);
    if (together)
        diagnosis->together = gain_of(measured, replayed, runtimes[n]);
    return NULL;
}

/* Nobody is sent to a command that fails. */
static void leave_out_replays(struct lull_diagnosis *diagnosis)
{
    for (uint32_t i = 0; i < diagnosis->count; i++)
        if (diagnosis->findings[i].fix)
            diagnosis->findings[i].next = NULL;
}

void lull_diagnosis_price(const struct lull_run *run, const struct lull_diagnosis_options *options,
                          struct lull_diagnosis *diagnosis, struct lull_arena *arena)
{
    struct lull_finding *chosen[LULL_DIAGNOSIS_REPLAYS];
    const uint32_t n = choose(diagnosis, chosen);
    diagnosis->priced = why_not(run, options, arena);
    if (lull_fixes_absent(run) && !(run->ideal && run->ideal->incomplete))
        leave_out_replays(diagnosis);
    if (n > 0 && !diagnosis->priced)
        diagnosis->priced = replay_chosen(run, options, chosen, n, diagnosis, arena);
    for (uint32_t i = 0; i < n && diagnosis->priced; i++)
        chosen[i]->gain.absent = diagnosis->priced;
}
