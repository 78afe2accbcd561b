#include "study/joint_pass.h"

#include "study/division.h"

/* What belongs to a joint pass while it goes on. */
struct parts {
    struct lull_collector *collector;
    struct lull_ideal *ideal;
};

static void add_consumer(struct lull_joint_pass *joint, struct lull_consumer consumer)
{
    joint->consumers[joint->n_consumers++] = consumer;
}

static lull_status add_breakdown(struct lull_joint_pass *joint,
                                 const struct lull_breakdown_options *options, struct parts *parts,
                                 struct lull_error *err)
{
    lull_status status =
        lull_collector_create(joint->trace, options, joint->workers, &parts->collector, err);
    if (status != LULL_OK)
        return status;
    lull_collector_prepare(parts->collector, &joint->pass);
    add_consumer(joint, lull_collector_consumer(parts->collector));
    return LULL_OK;
}

static lull_status add_ideal(struct lull_joint_pass *joint, struct parts *parts,
                             struct lull_error *err)
{
    if (!joint->wants_ideal)
        return LULL_OK;
    lull_status status =
        lull_ideal_create(joint->trace, &joint->ideal, joint->workers, &parts->ideal, err);
    if (status == LULL_OK)
        lull_ideal_consumer(parts->ideal, &joint->consumers[joint->n_consumers++]);
    return status;
}

/* Where something was presumed of the run that is not so, it is read once more. */
static lull_status conclude_ideal(const struct lull_joint_pass *joint, const struct parts *parts,
                                  struct lull_arena *arena, struct lull_ideal_result *ideal,
                                  struct lull_error *err)
{
    struct lull_ideal_options options = joint->ideal;
    bool again;
    lull_status status = lull_ideal_look_back(parts->ideal, &options, &again, err);
    if (status != LULL_OK)
        return status;
    if (!again)
        return lull_ideal_conclude(parts->ideal, arena, ideal, err);
    options.workers = joint->pass.workers;
    options.progress = joint->pass.progress;
    options.progress_context = joint->pass.progress_context;
    return lull_ideal_runtime(joint->trace, &options, arena, ideal, err);
}

static lull_status conclude_parts(const struct lull_joint_pass *joint, const struct parts *parts,
                                  struct lull_arena *arena, struct lull_breakdown **ret_breakdown,
                                  struct lull_ideal_result **ret_ideal, struct lull_error *err)
{
    struct lull_ideal_result *ideal = NULL;
    lull_status status = lull_collector_gather(parts->collector, err);
    *ret_breakdown = NULL;
    if (status == LULL_OK && joint->is_first)
        status = lull_collector_result(parts->collector, arena, ret_breakdown, err);
    if (status == LULL_OK && parts->ideal) {
        ideal = lull_arena_zero(arena, 1, sizeof *ideal);
        status = conclude_ideal(joint, parts, arena, ideal, err);
    }
    if (status == LULL_OK)
        *ret_ideal = ideal;
    return status;
}

lull_status lull_joint_pass_run(const struct lull_trace *trace,
                                const struct lull_breakdown_options *options,
                                const struct lull_ideal_options *ideal,
                                const struct lull_companion *companion, struct lull_arena *arena,
                                struct lull_breakdown **ret_breakdown,
                                struct lull_ideal_result **ret_ideal, struct lull_error *err)
{
    struct lull_team *team = options->division ? options->division->team : NULL;
    struct lull_joint_pass joint = {.trace = trace,
                                    .pass = {.workers = options->workers,
                                             .application = options->application,
                                             .range = lull_pass_range(options->division),
                                             .progress = options->progress,
                                             .progress_context = options->progress_context},
                                    .wants_ideal = ideal != NULL,
                                    .is_first = lull_team_is_first(team)};
    struct parts parts = {0};
    if (ideal)
        joint.ideal = *ideal;
    joint.ideal.application = options->application;
    joint.ideal.range = joint.pass.range;
    joint.ideal.division = options->division;
    joint.workers = lull_pass_workers(trace, &joint.pass);
    lull_status status = add_breakdown(&joint, options, &parts, err);
    if (status == LULL_OK && companion)
        status = companion->join(companion->context, &joint, err);
    joint.ideal.presumes_masters = !joint.ideal.message; /* who would see messages twice */
    if (status == LULL_OK)
        status = add_ideal(&joint, &parts, err);
    if (status == LULL_OK)
        status = lull_pass_run(trace, &joint.pass, joint.consumers, joint.n_consumers, err);
    status = lull_team_agree(team, status, err);
    if (status == LULL_OK)
        status = conclude_parts(&joint, &parts, arena, ret_breakdown, ret_ideal, err);
    lull_ideal_destroy(parts.ideal);
    lull_collector_destroy(parts.collector);
    if (status == LULL_OK)
        status = lull_division_gather_quirks(options->division, trace, err);
    return status;
}
