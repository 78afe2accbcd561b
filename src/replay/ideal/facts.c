#include "replay/ideal/facts.h"
#include "replay/ideal/epochs.h"

#include <string.h>

static bool complaint_is_earlier(const struct complaint *a, const struct complaint *b)
{
    return a->measured != b->measured ? a->measured < b->measured : a->process < b->process;
}

/* Who waits for a message says more than who waits for somebody who waits for a message. */
static bool tells_better(const struct lull_blocked *a, const struct lull_blocked *b)
{
    return a->blocked != b->blocked ? a->blocked < b->blocked : a->stopped_at < b->stopped_at;
}

void lull_facts_add(struct lull_facts *to, const struct lull_facts *more)
{
    to->messages += more->messages;
    to->collectives += more->collectives;
    to->unmatched_sends += more->unmatched_sends;
    to->steps += more->steps;
    if (more->runtime > to->runtime)
        to->runtime = more->runtime;
    if (more->lost_ns > to->lost_ns) {
        to->lost_ns = more->lost_ns;
        to->lost = more->lost;
    }
    if (more->complaint.kind != NO_COMPLAINT &&
        (to->complaint.kind == NO_COMPLAINT ||
         complaint_is_earlier(&more->complaint, &to->complaint)))
        to->complaint = more->complaint;
    if (more->blocked.any && (!to->blocked.any || tells_better(&more->blocked, &to->blocked)))
        to->blocked = more->blocked;
}

static struct lull_team *team_of(const struct lull_ideal *ideal)
{
    return ideal->options->division ? ideal->options->division->team : NULL;
}

lull_status lull_facts_recorded(const struct lull_ideal *ideal, bool ret_recorded[FORMS_OF_CALLS],
                                struct lull_error *err)
{
    int64_t recorded[FORMS_OF_CALLS] = {0};
    for (uint32_t l = 0; l < ideal->trace->n_locations; l++)
        for (int call = 0; ideal->streams[l] && call < FORMS_OF_CALLS; call++)
            recorded[call] |= ideal->streams[l]->reading.recorded[call];
    lull_status status = lull_team_max_to_all(team_of(ideal), recorded, FORMS_OF_CALLS, err);
    for (int call = 0; call < FORMS_OF_CALLS; call++)
        ret_recorded[call] = recorded[call] != 0;
    return status;
}

lull_status lull_ideal_look_back(struct lull_ideal *ideal, struct lull_ideal_options *options,
                                 bool *ret_again, struct lull_error *err)
{
    int64_t others = lull_ideal_others_call(ideal);
    bool no_epochs = false;
    lull_status status = lull_team_max_to_all(team_of(ideal), &others, 1, err);
    if (status == LULL_OK && !others)
        status = lull_epochs_look_back(ideal, &no_epochs, err);
    *ret_again = others || no_epochs;
    options->presumes_masters &= !others;
    options->without_epochs |= no_epochs;
    return status;
}

static lull_status take_facts(void *context, uint32_t member, const void *bytes, size_t size,
                              struct lull_error *err)
{
    struct lull_facts facts;
    if (size != sizeof facts)
        return lull_fail(err, LULL_ERR_FORMAT, "rank %u is another lull", member);
    memcpy(&facts, bytes, sizeof facts);
    if (member > 0)
        lull_facts_add(context, &facts);
    return LULL_OK;
}

lull_status lull_facts_gather(const struct lull_ideal *ideal, struct lull_facts *facts,
                              struct lull_error *err)
{
    const struct lull_facts own = *facts;
    return lull_team_collect(team_of(ideal), &own, sizeof own, take_facts, facts, err);
}
