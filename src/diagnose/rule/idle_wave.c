/* SPDX-License-Identifier: BSD-3-Clause */
/* A delay of one process that went from process to process along messages.
 * Evidence: waves (wave/wave.h) and charges of waits. Formula: what others waited for the process
 * and region that began it. Silent: below 8 iterations, where a collective operation ended it at
 * once, where the process was late often, and where there is noise. */
#include "diagnose/rule/imbalance.h"
#include "diagnose/rules.h"

enum { ITERATIONS_LEAST = 8 };

/* Messages that the wave went along, one after the other: with one it went nowhere. */
enum { HOPS_LEAST = 2 };

/* How many waits, for each process that it reached, a wave may explain: more of them are there
 * because the process was late often. */
enum { WAITS_OF_EACH = 4 };

/* How long the processes were idle that the wave reached. */
static int64_t idle_of(const struct lull_evidence *evidence, const struct lull_wave *wave)
{
    int64_t ns = 0;
    for (uint32_t rank = 0; rank < evidence->field->n_ranks; rank++)
        if (wave->path.arrivals[rank] >= 0 && rank != wave->rank)
            ns += lull_wave_idle_at_arrival(evidence->waves, wave, rank);
    return ns;
}

static int64_t distance_of(const struct lull_wave *wave)
{
    return wave->up.distance > wave->down.distance ? wave->up.distance : wave->down.distance;
}

/* Over how many messages, one after the other, the wave went. */
static uint32_t hops_of(const struct lull_evidence *evidence, const struct lull_wave *wave)
{
    struct lull_arena *scratch = lull_arena_create(NULL);
    uint32_t *hops = lull_arena_zero(scratch, evidence->graph->n_ranks + (size_t)1, sizeof *hops);
    uint32_t most = 0;
    struct lull_error ignored;
    if (lull_wave_hops(evidence->graph, wave->rank, hops, &ignored) == LULL_OK)
        for (uint32_t rank = 0; rank < evidence->graph->n_ranks; rank++)
            if (wave->path.arrivals[rank] >= 0 && hops[rank] != UINT32_MAX && hops[rank] > most)
                most = hops[rank];
    lull_arena_destroy(scratch);
    return most;
}

/* The suspect of a process that is charged with at least as much as the wave made idle, and with
 * not much more: then the wave is what it is charged with. */
static struct lull_suspect *find_suspect(struct lull_case *c, uint32_t process, int64_t idle,
                                         uint64_t most_waits, struct lull_suspicion **ret_suspicion)
{
    struct lull_suspect *found = NULL;
    for (uint32_t s = 0; s < c->n_suspicions; s++)
        for (uint32_t i = 0; i < c->suspicions[s].count; i++) {
            struct lull_suspect *suspect = &c->suspects[c->suspicions[s].first + i];
            if (suspect->process != process || 2 * idle < suspect->ns ||
                suspect->waits > most_waits || (found && found->ns >= suspect->ns) ||
                suspect->ns == 0 || suspect->at_end)
                continue;
            found = suspect;
            *ret_suspicion = &c->suspicions[s];
        }
    return found;
}

static void tell_idle_wave(struct lull_case *c, const struct lull_wave *wave, uint32_t process,
                           const struct lull_suspect *suspect)
{
    struct lull_finding *finding = lull_case_add(c, suspect->ns);
    lull_finding_set_process(c, finding, process);
    lull_finding_set_region(c, finding, suspect->region, suspect->most->place.call);
    finding->place.begin = wave->begin;
    finding->place.end = wave->begin + wave->length;
    finding->bound_ns = wave->length;
    lull_finding_add_fact(finding, "delay", "the delay", LULL_FACT_TIME, (double)wave->length);
    lull_finding_add_fact(finding, "ranks", "ranks that were idle", LULL_FACT_COUNT, wave->n_ranks);
    lull_finding_add_fact(finding, "distance", "how far it went, in ranks", LULL_FACT_COUNT,
                          (double)distance_of(wave));
    finding->sentence = lull_arena_printf(
        c->arena,
        "A delay of %s on rank %u %s went through %u other ranks, up to %lld away: they wait %s.",
        lull_case_time(c, wave->length), finding->place.rank,
        lull_case_where(c, suspect->region, suspect->most->place.call), wave->n_ranks,
        (long long)distance_of(wave), lull_case_time(c, suspect->ns));
    finding->cause = "It happened once: what delayed it is not in the trace.";
    lull_finding_cut(c, finding, suspect, 1);
}

static void find_idle_wave(struct lull_case *c)
{
    const struct lull_evidence *evidence = c->evidence;
    if (c->noisy || !evidence->waves || !evidence->field || !evidence->trace ||
        evidence->field->n_iterations < ITERATIONS_LEAST)
        return;
    for (uint32_t w = 0; w < evidence->waves->count; w++) {
        const struct lull_wave *wave = &evidence->waves->waves[w];
        const uint32_t process = lull_evidence_process_of_rank(evidence, wave->rank);
        struct lull_suspicion *suspicion = NULL;
        const int64_t idle = idle_of(evidence, wave);
        if (wave->n_ranks < 2 || process == LULL_NONE || 2 * idle < c->least_ns)
            continue; /* there is nobody else, or no suspect of as much that is told */
        if (hops_of(evidence, wave) < HOPS_LEAST)
            continue; /* a collective operation ended it at once */
        struct lull_suspect *suspect =
            find_suspect(c, process, idle, (uint64_t)WAITS_OF_EACH * wave->n_ranks, &suspicion);
        if (!suspect || suspect->ns < c->least_ns)
            continue;
        tell_idle_wave(c, wave, process, suspect);
        lull_suspect_explain(suspicion, suspect);
        lull_suspicion_divide(c, suspicion);
    }
}

const struct lull_rule lull_rule_idle_wave = {
    "idle_wave", "idle wave", "a delay that went from process to process along messages",
    find_idle_wave};
