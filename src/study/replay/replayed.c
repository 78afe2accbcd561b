#include "study/replay/replayed.h"

#include "metrics/windows.h"
#include "replay/measured_network.h"
#include "replay/shared/shared.h"
#include "sim/engine/engine.h"
#include "sim/setup.h"

/* What is simulated, and what is told of it. */
static lull_status prepare(const struct lull_trace *trace, const struct lull_replay_wish *wish,
                           struct lull_replayed *replayed, struct lull_sim_options *ret_options,
                           struct lull_error *err)
{
    *ret_options = (struct lull_sim_options){.network = wish->network, .workers = wish->workers};
    if (wish->follow)
        return wish->follow(wish->follower, replayed->program, &ret_options->sink, err);
    if (!wish->run)
        return LULL_OK;
    replayed->warp = lull_warp_create(replayed->program, trace);
    if (!replayed->warp)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for the simulated run",
                         trace->path);
    ret_options->sink = lull_warp_sink(replayed->warp);
    return LULL_OK;
}

static void take_result(int64_t runtime, uint64_t messages, struct lull_replayed *replayed)
{
    replayed->runtime = runtime;
    replayed->messages = messages;
    if (replayed->warp)
        replayed->trace = lull_warp_trace(replayed->warp, runtime);
}

void lull_replayed_close(struct lull_replayed *replayed)
{
    lull_trace_close(replayed->trace);
    lull_warp_destroy(replayed->warp);
    lull_program_close(replayed->program);
    *replayed = (struct lull_replayed){0};
}

static lull_status open_program(const struct lull_trace *trace, const struct lull_replay_wish *wish,
                                struct lull_process_range range, struct lull_replayed *replayed,
                                struct lull_error *err)
{
    struct lull_replay_options options = {.application = wish->application,
                                          .callers = wish->callers,
                                          .survey = wish->survey,
                                          .pieces = wish->run,
                                          .keep_calls = wish->keep_calls,
                                          .windows = wish->windows,
                                          .range = range,
                                          .network = wish->network,
                                          .disturbance = wish->disturbance,
                                          .length = wish->length,
                                          .context = wish->context};
    lull_status status = LULL_OK;
    if (wish->what_if) {
        lull_what_if_rewind(wish->what_if);
        status = lull_what_if_conclude(wish->what_if, &options, err);
    }
    return status == LULL_OK ? lull_replay_open(trace, &options, &replayed->program, err) : status;
}

static lull_status make_alone(const struct lull_trace *trace, const struct lull_replay_wish *wish,
                              struct lull_arena *arena, struct lull_replayed *replayed,
                              struct lull_error *err)
{
    struct lull_sim_options options;
    struct lull_sim_result result;
    lull_status status =
        open_program(trace, wish, (struct lull_process_range){0, 0}, replayed, err);
    if (status == LULL_OK)
        status = prepare(trace, wish, replayed, &options, err);
    if (status == LULL_OK)
        status = lull_simulate(replayed->program, &options, arena, &result, NULL, err);
    if (status == LULL_OK)
        take_result(result.runtime, result.n_messages, replayed);
    return status;
}

static lull_status make_shared(const struct lull_trace *trace, const struct lull_replay_wish *wish,
                               struct lull_arena *arena, struct lull_replayed *replayed,
                               struct lull_error *err)
{
    struct lull_sim_options options;
    struct lull_shared_result result;
    const struct lull_process_range range = lull_pass_range(wish->division);
    /* Agreed on, as the first may wait for a member that has failed. */
    lull_status status =
        lull_team_agree(wish->division->team, lull_cursors_prepare(trace, range, err), err);
    if (status != LULL_OK)
        return status;
    status = open_program(trace, wish, range, replayed, err);
    if (status == LULL_OK)
        status = prepare(trace, wish, replayed, &options, err);
    const struct lull_shared shared = {wish->division, replayed->program, &options};
    status = lull_shared_simulate(&shared, status, arena, &result, err);
    if (status != LULL_OK)
        return status;
    if (result.alone) {
        lull_replayed_close(replayed);
        return LULL_OK;
    }
    take_result(result.runtime, result.n_messages, replayed);
    replayed->shared = true;
    return LULL_OK;
}

lull_status lull_replayed_make(const struct lull_trace *trace, const struct lull_replay_wish *wish,
                               struct lull_arena *arena, struct lull_replayed *ret_replayed,
                               struct lull_error *err)
{
    struct lull_replayed replayed = {0};
    lull_status status = wish->division ? make_shared(trace, wish, arena, &replayed, err)
                                        : make_alone(trace, wish, arena, &replayed, err);
    if (status != LULL_OK) {
        lull_replayed_close(&replayed);
        return status;
    }
    *ret_replayed = replayed;
    return LULL_OK;
}

/* ---- networks ------------------------------------------------------------------------------ */

uint8_t lull_replay_kept_on(const struct lull_network *network)
{
    if (network->class->waits_as_needed)
        return LULL_KEEP_NONE;
    return network->class->occupies ? LULL_KEEP_OTHERS : LULL_KEEP_ALL;
}

lull_status lull_replay_read_network(struct lull_spec *spec, const struct lull_trace *trace,
                                     uint32_t application, struct lull_arena *arena,
                                     struct lull_network *ret_network, struct lull_error *err)
{
    struct lull_network network;
    lull_status status = lull_network_read(spec, NULL, 1, arena, &network, err);
    if (status != LULL_OK)
        return status;
    if (trace)
        lull_replay_placement(trace, application, arena, &network.placement);
    status = lull_network_check(&network, network.placement.n_ranks, err);
    if (status == LULL_OK)
        *ret_network = network;
    return status;
}
