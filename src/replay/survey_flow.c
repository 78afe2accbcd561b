/* What members of a team have surveyed, each of its processes, comes to the first. */
#include "replay/survey_state.h"

#include <stdlib.h>
#include <string.h>

/* What is known of a thread, where anything is. */
struct fact {
    uint32_t location;
    bool meets;
    struct lull_survey_requests requests;
};

static bool put_facts(const struct lull_survey *survey, struct lull_flow *flow)
{
    const struct fact last = {.location = LULL_NONE};
    bool good = true;
    for (uint32_t l = 0; good && l < survey->trace->n_locations; l++) {
        const struct lull_survey_requests *requests = &survey->requests[l];
        const struct fact fact = {l, survey->meets[l], *requests};
        if (fact.meets || requests->posted || requests->received || requests->cancelled)
            good = lull_flow_put(flow, &fact, sizeof fact);
    }
    return good && lull_flow_put(flow, &last, sizeof last);
}

static bool get_facts(struct lull_survey *survey, struct lull_flow *flow)
{
    struct fact fact = {.location = 0};
    while (lull_flow_get(flow, &fact, sizeof fact) && fact.location < survey->trace->n_locations) {
        survey->meets[fact.location] = fact.meets;
        survey->requests[fact.location] = fact.requests;
    }
    return fact.location == LULL_NONE;
}

static bool put_passages(const struct lull_survey *survey, struct lull_flow *flow)
{
    const uint32_t last = LULL_NONE;
    bool good = true;
    for (uint32_t p = 0; good && p < survey->trace->n_processes; p++) {
        const struct lull_passages *passages = &survey->passages[p];
        if (passages->count > 0)
            good = lull_flow_put(flow, &p, sizeof p) &&
                   lull_flow_put_items(flow, passages->items, passages->count,
                                       sizeof *passages->items);
    }
    return good && lull_flow_put(flow, &last, sizeof last);
}

static bool get_passages(struct lull_survey *survey, struct lull_flow *flow)
{
    uint32_t p = 0;
    while (lull_flow_get(flow, &p, sizeof p) && p < survey->trace->n_processes) {
        struct lull_passages *passages = &survey->passages[p];
        size_t count;
        free(passages->items);
        passages->items = lull_flow_get_items(flow, sizeof *passages->items, &count);
        passages->count = (uint32_t)count;
        if (!passages->items)
            return false;
    }
    return p == LULL_NONE;
}

static bool put_roots(const struct lull_survey *survey, struct lull_flow *flow)
{
    const uint32_t last = LULL_NONE;
    bool good = true;
    for (uint32_t c = 0; good && c < survey->trace->n_comms; c++) {
        const struct lull_survey_roots *roots = &survey->roots[c];
        if (roots->count > 0)
            good =
                lull_flow_put(flow, &c, sizeof c) &&
                lull_flow_put_items(flow, roots->processes, roots->count, sizeof *roots->processes);
    }
    return good && lull_flow_put(flow, &last, sizeof last);
}

static bool get_roots(struct lull_survey *survey, struct lull_flow *flow)
{
    uint32_t c = 0;
    while (lull_flow_get(flow, &c, sizeof c) && c < survey->trace->n_comms) {
        size_t count;
        uint32_t *processes = lull_flow_get_items(flow, sizeof *processes, &count);
        bool good = processes != NULL;
        for (size_t i = 0; good && i < count; i++)
            good = processes[i] == LULL_NONE ||
                   lull_survey_put_root(&survey->roots[c], i, processes[i]);
        free(processes);
        if (!good)
            return false;
    }
    return c == LULL_NONE;
}

struct told_life {
    struct lull_survey_life_key key;
    uint64_t what;
};

static bool put_lives(const struct lull_survey *survey, struct lull_flow *flow)
{
    const uint64_t count = survey->lives.count;
    bool good = lull_flow_put(flow, &count, sizeof count);
    for (size_t i = 0; good && i < count; i++) {
        struct told_life life = {.what = survey->lives.entries[i].value};
        memcpy(&life.key, lull_hash_key(&survey->lives, i), sizeof life.key);
        good = lull_flow_put(flow, &life, sizeof life);
    }
    return good;
}

static bool get_lives(struct lull_survey *survey, struct lull_flow *flow)
{
    uint64_t count;
    bool good = lull_flow_get(flow, &count, sizeof count);
    for (uint64_t i = 0; good && i < count; i++) {
        struct told_life life;
        good = lull_flow_get(flow, &life, sizeof life) &&
               lull_hash_add(&survey->lives, &life.key, sizeof life.key, life.what, NULL);
    }
    return good;
}

bool lull_survey_put(const struct lull_survey *survey, struct lull_flow *flow)
{
    const bool completes[2] = {lull_survey_completes_receives(survey),
                               lull_survey_completes_sends(survey)};
    return lull_flow_put(flow, completes, sizeof completes) && put_facts(survey, flow) &&
           put_passages(survey, flow) && put_roots(survey, flow) && put_lives(survey, flow) &&
           lull_barriers_put(&survey->barriers, flow) && lull_polls_put(survey->polls, flow);
}

bool lull_survey_get(struct lull_survey *survey, struct lull_flow *flow)
{
    bool completes[2];
    if (!lull_flow_get(flow, completes, sizeof completes))
        return false;
    if (completes[0])
        atomic_store(&survey->completes_receives, true);
    if (completes[1])
        atomic_store(&survey->completes_sends, true);
    return get_facts(survey, flow) && get_passages(survey, flow) && get_roots(survey, flow) &&
           get_lives(survey, flow) && lull_barriers_get(&survey->barriers, flow) &&
           lull_polls_get(survey->polls, flow);
}
