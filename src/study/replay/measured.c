#include "study/replay/measured.h"

#include "base/collective.h"
#include "replay/collective_costs.h"
#include "replay/eager_limit.h"
#include "replay/measured_network.h"
#include "study/analyse.h"
#include "study/cores.h"
#include "study/replay/to_all.h"

#include <math.h>

lull_status lull_measured_join(struct lull_measured *measured, uint32_t application,
                               struct lull_joint_pass *joint, struct lull_error *err)
{
    lull_status status = lull_survey_create(joint->trace, application, &measured->survey, err);
    if (status == LULL_OK)
        status = lull_network_samples_create(joint->trace, joint->workers, &measured->samples, err);
    if (status == LULL_OK)
        status = lull_eager_evidence_create(joint->trace, joint->workers, &measured->evidence, err);
    if (status == LULL_OK)
        status =
            lull_collective_costs_create(joint->trace, joint->workers, &measured->collectives, err);
    if (status != LULL_OK)
        return status;
    joint->consumers[joint->n_consumers++] = lull_collective_costs_consumer(measured->collectives);
    joint->consumers[joint->n_consumers++] = lull_survey_consumer(measured->survey);
    joint->consumers[joint->n_consumers++] = lull_eager_evidence_consumer(measured->evidence);
    joint->wants_ideal = true;
    joint->ideal.message = lull_network_samples_take;
    joint->ideal.message_context = measured->samples;
    return LULL_OK;
}

void lull_measured_release(struct lull_measured *measured)
{
    lull_collective_costs_destroy(measured->collectives);
    lull_eager_evidence_destroy(measured->evidence);
    lull_network_samples_destroy(measured->samples);
    lull_survey_destroy(measured->survey);
    *measured = (struct lull_measured){0};
}

static bool put_measured(void *context, struct lull_flow *flow)
{
    const struct lull_measured *measured = context;
    return (!measured->survey || lull_survey_put(measured->survey, flow)) &&
           (!measured->samples || lull_network_samples_put(measured->samples, flow)) &&
           (!measured->evidence || lull_eager_evidence_put(measured->evidence, flow)) &&
           (!measured->collectives || lull_collective_costs_put(measured->collectives, flow));
}

static bool get_measured(void *context, uint32_t member, struct lull_flow *flow)
{
    struct lull_measured *measured = context;
    (void)member;
    return (!measured->survey || lull_survey_get(measured->survey, flow)) &&
           (!measured->samples || lull_network_samples_get(measured->samples, flow)) &&
           (!measured->evidence || lull_eager_evidence_get(measured->evidence, flow)) &&
           (!measured->collectives || lull_collective_costs_get(measured->collectives, flow));
}

lull_status lull_measured_gather(struct lull_measured *measured, struct lull_team *team,
                                 struct lull_error *err)
{
    const struct lull_freight freight = {put_measured, get_measured, measured,
                                         "what a replay has to know"};
    return lull_team_bring(team, &freight, err);
}

/* Of operations that do not follow a tree; NULL: what is not said goes by size. */
static const char *algorithms_of(const struct lull_collective_facts *facts,
                                 struct lull_arena *arena)
{
    const char *text = NULL;
    for (unsigned op = 0; op < LULL_COLLECTIVES; op++)
        if (facts->direct[op])
            text = lull_arena_printf(arena, "%s%s%s:linear", text ? text : "", text ? "+" : "",
                                     lull_collective_name(op));
    return text;
}

lull_status lull_measured_conclude(struct lull_measured *measured, uint32_t application,
                                   struct lull_arena *arena, struct lull_network *ret_network,
                                   struct lull_error *err)
{
    lull_survey_conclude(measured->survey);
    lull_status status = lull_network_samples_fit(measured->samples, measured->evidence,
                                                  application, arena, ret_network, err);
    if (status != LULL_OK)
        return status;
    const double *values = ret_network->values[LULL_LEVEL_CLUSTER];
    struct lull_collective_facts facts;
    status = lull_collective_costs_conclude(
        measured->collectives, values[lull_network_parameter(ret_network->class, "latency")],
        values[lull_network_parameter(ret_network->class, "bandwidth")], &facts, err);
    if (status != LULL_OK)
        return status;
    ret_network->collective_delay = facts.delay;
    ret_network->algorithms = algorithms_of(&facts, arena);
    return LULL_OK;
}

struct lull_replay_wish lull_measured_wish(const struct lull_measured *measured,
                                           const struct lull_run *run, uint32_t application,
                                           const struct lull_network *network, const bool *callers)
{
    return (struct lull_replay_wish){.application = application,
                                     .callers = callers,
                                     .network = network,
                                     .survey = measured->survey,
                                     .keep_calls = LULL_KEEP_ALL,
                                     .windows = run->windows};
}

/* ---- reading once more ----------------------------------------------------------------------- */

/* Who takes part in the pass. */
struct measured_rider {
    struct lull_measured *measured;
    uint32_t application;
};

static lull_status join_pass_to_measure(void *context, struct lull_joint_pass *joint,
                                        struct lull_error *err)
{
    const struct measured_rider *rider = context;
    return lull_measured_join(rider->measured, rider->application, joint, err);
}

static lull_status read_pass(const struct lull_run *run, const struct lull_runs_options *options,
                             const struct lull_division *division, struct lull_arena *arena,
                             struct lull_measured *measured, struct lull_error *err)
{
    const struct lull_breakdown_options wanted = {.windows = run->windows,
                                                  .application = options->application,
                                                  .main_part = run->main_part,
                                                  .workers = options->workers,
                                                  .division = division};
    struct measured_rider rider = {measured, options->application};
    const struct lull_companion companion = {join_pass_to_measure, &rider};
    struct lull_ideal_options ideal = {.has_span = run->windows != NULL};
    struct lull_breakdown *breakdown;
    struct lull_ideal_result *result;
    if (run->windows && run->windows->counts[0] > 0) {
        ideal.from = run->windows->intervals[0][0].begin;
        ideal.to = run->windows->intervals[0][0].end;
    }
    return lull_joint_pass_run(run->trace, &wanted, &ideal, &companion, arena, &breakdown, &result,
                               err);
}

lull_status lull_measured_read(const struct lull_run *run, const struct lull_runs_options *options,
                               const struct lull_division *division, struct lull_arena *arena,
                               struct lull_measured *ret_measured, struct lull_network *ret_network,
                               const bool **ret_callers, struct lull_error *err)
{
    struct lull_team *team = division ? division->team : NULL;
    const uint32_t application = options->application;
    const bool is_first = lull_team_is_first(team);
    *ret_measured = (struct lull_measured){0};
    *ret_callers = NULL;
    lull_status status = read_pass(run, options, division, arena, ret_measured, err);
    if (status == LULL_OK)
        status = lull_measured_gather(ret_measured, team, err);
    if (status == LULL_OK)
        status = lull_measured_survey_to_all(ret_measured, run->trace, application, team, err);
    if (status == LULL_OK && is_first)
        status = lull_measured_conclude(ret_measured, application, arena, ret_network, err);
    if (status == LULL_OK && is_first)
        *ret_callers = lull_run_callers(run, application, arena);
    status = lull_team_agree(team, status, err);
    return status == LULL_OK ? lull_measured_network_to_all(run->trace, application, team, arena,
                                                            ret_network, ret_callers, err)
                             : status;
}

/* ---- the check ----------------------------------------------------------------------------- */

/* By all of a division together, or where they cannot, by the first. */
static lull_status replay_divided(const struct lull_run *run,
                                  const struct lull_runs_options *options,
                                  const struct lull_division *division, struct lull_arena *arena,
                                  int64_t *ret_runtime, struct lull_error *err)
{
    struct lull_measured measured = {0};
    struct lull_network network;
    struct lull_replayed replayed = {0};
    const bool *callers;
    lull_status status =
        lull_measured_read(run, options, division, arena, &measured, &network, &callers, err);
    if (status == LULL_OK) {
        struct lull_replay_wish wish =
            lull_measured_wish(&measured, run, options->application, &network, callers);
        wish.division = division;
        status = lull_replayed_make(run->trace, &wish, arena, &replayed, err);
        wish.division = NULL;
        if (status == LULL_OK && division && !replayed.shared && lull_team_is_first(division->team))
            status = lull_replayed_make(run->trace, &wish, arena, &replayed, err);
    }
    lull_measured_release(&measured);
    *ret_runtime = replayed.runtime;
    lull_replayed_close(&replayed);
    return status;
}

double lull_replay_difference(const struct lull_breakdown *breakdown)
{
    if (breakdown->replayed_runtime_ns <= 0)
        return (double)NAN;
    return (double)breakdown->replayed_runtime_ns / (double)breakdown->runtime_ns - 1;
}

static void tell_difference(const struct lull_run *run, struct lull_notices *notices)
{
    double difference = lull_replay_difference(run->breakdown);
    if (fabs(difference) > LULL_REPLAY_MISSES_MOST)
        lull_notices_add(
            notices, LULL_NOTICE_INFO,
            "Replayed on the network that its messages show, %s takes %.1f %% %s time "
            "than measured: its transfer and serialisation are uncertain by as much.%s",
            run->name, 100 * fabs(difference), difference < 0 ? "less" : "more",
            lull_cores_excuse(run->trace, difference < 0, notices->arena));
}

/* Whether it says more than what the ideal network would save. */
static bool is_wanted(const struct lull_run *run, const struct lull_runs_options *options,
                      struct lull_notices *notices)
{
    const struct lull_breakdown *breakdown = run->breakdown;
    const double saved = (double)(breakdown->runtime_ns - breakdown->ideal_runtime_ns);
    if (breakdown->ideal_runtime_ns <= 0 || !run->ideal ||
        saved <= LULL_REPLAY_MISSES_MOST * (double)breakdown->runtime_ns)
        return false;
    if (run->ideal->steps <= options->check)
        return true;
    lull_notices_add(notices, LULL_NOTICE_INFO,
                     "How far the transfer and serialisation of %s can be believed is told by "
                     "lull replay; a run of %.3g calls is not replayed here.",
                     run->name, (double)run->ideal->steps);
    return false;
}

lull_status lull_measured_check(struct lull_run *run, const struct lull_runs_options *options,
                                struct lull_notices *notices, struct lull_arena *arena,
                                struct lull_error *err)
{
    const bool is_first = lull_team_is_first(options->team);
    const struct lull_division *division =
        lull_division_divides(run->division) ? run->division : NULL;
    struct lull_team *team = division ? division->team : NULL;
    int64_t wanted = is_first && is_wanted(run, options, notices), runtime;
    lull_status status = lull_team_broadcast(team, &wanted, sizeof wanted, err);
    if (status != LULL_OK || !wanted)
        return status;
    status = replay_divided(run, options, division, arena, &runtime, err);
    if (!is_first) /* whom the first tells whether to go on */
        return lull_team_agree(team, LULL_OK, err);
    if (status == LULL_OK) {
        run->breakdown->replayed_runtime_ns = runtime;
        tell_difference(run, notices);
    } else if (status != LULL_ERR_IO && status != LULL_ERR_CANCELLED) {
        lull_notices_add(notices, LULL_NOTICE_INFO,
                         "No replay of %s can be had, so that nothing shows how far its transfer "
                         "and serialisation can be believed: %s.",
                         run->name, err->text);
        status = LULL_OK;
    }
    return lull_team_agree(team, status, err);
}
