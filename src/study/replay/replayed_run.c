/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/replay/replayed_run.h"

#include "base/collective.h"
#include "metrics/windows.h"
#include "replay/collective_costs.h"
#include "replay/excerpt.h"
#include "replay/measured_network.h"
#include "replay/program/devices.h"
#include "replay/shared_replay.h"
#include "sim/engine/engine.h"
#include "sim/setup.h"
#include "study/circumstances.h"
#include "team/team.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ==== the replay ============================================================================== */

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
    struct lull_reading reading = *wish->reading;
    reading.range = range;
    struct lull_replay_options options = {.reading = &reading,
                                          .devices = wish->devices,
                                          .callers = wish->callers,
                                          .excerpt = wish->excerpt,
                                          .survey = wish->survey,
                                          .pieces = wish->run,
                                          .keep_calls = wish->keep_calls,
                                          .exchanges = wish->exchanges,
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

/* ---- networks -------------------------------------------------------------------------------- */

uint8_t lull_replay_kept_on(const struct lull_network *network)
{
    if (network->class->waits_as_needed)
        return LULL_KEEP_NONE;
    return network->class->occupies ? LULL_KEEP_OTHERS : LULL_KEEP_ALL;
}

uint8_t lull_replay_exchanges_on(const struct lull_network *network)
{
    return network->class->waits_as_needed ? LULL_EXCHANGES_FREE : LULL_EXCHANGES_BY_NETWORK;
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

/* ==== from the first member to all ============================================================ */

/* ---- the survey ------------------------------------------------------------------------------ */

static bool put_survey(void *context, struct lull_flow *flow)
{
    return lull_survey_put(context, flow);
}

static bool get_survey(void *context, uint32_t member, struct lull_flow *flow)
{
    (void)member;
    return lull_survey_get(context, flow);
}

lull_status lull_measured_survey_to_all(struct lull_measured *measured,
                                        const struct lull_trace *trace, uint32_t application,
                                        struct lull_team *team, struct lull_error *err)
{
    lull_status status = LULL_OK;
    if (!lull_team_is_first(team)) { /* what it knew itself comes back with the rest */
        lull_survey_destroy(measured->survey);
        measured->survey = NULL;
        status = lull_survey_create(trace, application, &measured->survey, err);
    }
    if (status != LULL_OK)
        return lull_team_agree(team, status, err);
    const struct lull_freight freight = {put_survey, get_survey, measured->survey,
                                         "what a replay has to know"};
    status = lull_team_spread(team, &freight, err);
    if (status == LULL_OK && !lull_team_is_first(team))
        status = lull_survey_conclude(measured->survey, err);
    return lull_team_agree(team, status, err);
}

/* ---- the network ----------------------------------------------------------------------------- */

/* The text and the arrays are followed by what they point to. */
struct facts {
    struct lull_network *network;
    const bool **callers;
    uint32_t n_locations;
    struct lull_arena *arena;
};

static bool put_facts(void *context, struct lull_flow *flow)
{
    const struct facts *facts = context;
    const struct lull_network *network = facts->network;
    bool good = lull_flow_put(flow, network, sizeof *network) &&
                lull_flow_put_text(flow, network->class->name) &&
                lull_flow_put_text(flow, network->algorithms);
    for (unsigned level = 0; level < LULL_LEVELS && good; level++)
        good = lull_flow_put_items(flow, network->ranges[level], network->n_ranges[level],
                                   sizeof *network->ranges[level]);
    return good && lull_flow_put_items(flow, *facts->callers,
                                       *facts->callers ? facts->n_locations : 0, sizeof(bool));
}

/* An array in the arena; NULL where it has no elements, too: *ret_good tells. */
static void *get_array(struct lull_flow *flow, struct lull_arena *arena, size_t size,
                       bool *ret_good)
{
    size_t count;
    void *items = lull_flow_get_items(flow, size, &count);
    void *kept = items && count > 0 ? lull_arena_zero(arena, count, size) : NULL;
    if (kept)
        memcpy(kept, items, count * size);
    *ret_good = items;
    free(items);
    return kept;
}

static bool get_facts(void *context, uint32_t member, struct lull_flow *flow)
{
    struct facts *facts = context;
    struct lull_network *network = facts->network;
    const char *class;
    (void)member;
    if (!lull_flow_get(flow, network, sizeof *network) ||
        !lull_flow_get_text(flow, facts->arena, &class))
        return false;
    network->class = class ? lull_network_find(class) : NULL;
    if (!network->class)
        return false;
    bool good = lull_flow_get_text(flow, facts->arena, &network->algorithms);
    for (unsigned level = 0; level < LULL_LEVELS && good; level++)
        network->ranges[level] =
            get_array(flow, facts->arena, sizeof *network->ranges[level], &good);
    if (good)
        *facts->callers = get_array(flow, facts->arena, sizeof(bool), &good);
    return good;
}

lull_status lull_measured_network_to_all(const struct lull_trace *trace, uint32_t application,
                                         struct lull_team *team, struct lull_arena *arena,
                                         struct lull_network *network, const bool **callers,
                                         struct lull_error *err)
{
    struct facts facts = {network, callers, trace->n_locations, arena};
    const struct lull_freight freight = {put_facts, get_facts, &facts, "a network"};
    lull_status status = lull_team_spread(team, &freight, err);
    if (status == LULL_OK && !lull_team_is_first(team))
        lull_replay_placement(trace, application, arena, &network->placement);
    return status;
}

/* ==== the measured run ======================================================================== */

/* ---- while the run is read ------------------------------------------------------------------- */

/* One of the analyses that find it. All of them get nothing more once the pass has had more
 * operations than `most`. */
struct lull_measured_part {
    struct lull_consumer consumer;
    struct lull_measured_pass *pass;
};

enum { MEASURED_PARTS = 4 };

struct lull_measured_pass {
    struct lull_measured_part parts[MEASURED_PARTS];
    uint32_t n_parts;
    uint64_t most;        /* operations of a pass of which all is collected */
    _Atomic uint64_t had; /* operations so far */
    struct lull_network_samples *samples;
};

static bool has_too_many(const struct lull_measured_pass *pass)
{
    return atomic_load_explicit(&pass->had, memory_order_relaxed) > pass->most;
}

/* The kinds of steps that are operations (struct lull_ideal_result). */
#define MEASURED_OPERATIONS                                            \
    (LULL_STEP_MASK(LULL_STEP_SEND) | LULL_STEP_MASK(LULL_STEP_RECV) | \
     LULL_STEP_MASK(LULL_STEP_COLLECTIVE_END))

static uint64_t count_operations(const struct lull_steps *steps)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < steps->count; i++)
        count += MEASURED_OPERATIONS >> steps->steps[i].kind & 1;
    return count;
}

static lull_status take_part(void *context, unsigned worker, const struct lull_steps *steps,
                             struct lull_error *err)
{
    const struct lull_measured_part *part = context;
    struct lull_measured_pass *pass = part->pass;
    if (part == pass->parts)
        atomic_fetch_add_explicit(&pass->had, count_operations(steps), memory_order_relaxed);
    return has_too_many(pass) ? LULL_OK
                              : part->consumer.steps(part->consumer.context, worker, steps, err);
}

static void take_ideal_message(void *context, unsigned worker,
                               const struct lull_ideal_message *message)
{
    const struct lull_measured_pass *pass = context;
    if (!has_too_many(pass))
        lull_network_samples_take(pass->samples, worker, message);
}

static void forget_ideal_messages(void *context)
{
    const struct lull_measured_pass *pass = context;
    lull_network_samples_clear(pass->samples);
}

static void add_measured_part(struct lull_joint_pass *joint, struct lull_measured_pass *pass,
                              struct lull_consumer consumer)
{
    struct lull_measured_part *part = &pass->parts[pass->n_parts++];
    *part = (struct lull_measured_part){consumer, pass};
    consumer.context = part;
    consumer.steps = take_part;
    consumer.wants |=
        part == pass->parts ? MEASURED_OPERATIONS : 0; /* the first part counts them */
    lull_joint_pass_add(joint, consumer);
}

static lull_status measured_create(void *state, const void *options, struct lull_joint_pass *joint,
                                   struct lull_error *err)
{
    struct lull_measured *measured = state;
    const struct lull_measured_options *wanted = options;
    struct lull_measured_pass *pass = lull_arena_zero(joint->arena, 1, sizeof *pass);
    lull_status status =
        lull_survey_create(joint->trace, joint->reading->application, &measured->survey, err);
    if (status == LULL_OK)
        status = lull_network_samples_create(joint->trace, joint->workers, &measured->samples, err);
    if (status == LULL_OK)
        status = lull_eager_evidence_create(joint->trace, joint->workers, &measured->evidence, err);
    if (status == LULL_OK)
        status =
            lull_collective_costs_create(joint->trace, joint->workers, &measured->collectives, err);
    if (status == LULL_OK && wanted && wanted->excerpt_steps)
        status = lull_excerpt_create(joint->trace, joint->reading->application,
                                     wanted->excerpt_steps, &measured->excerpt, err);
    if (status != LULL_OK)
        return status;
    pass->most = wanted && wanted->most_operations ? wanted->most_operations : UINT64_MAX;
    pass->samples = measured->samples;
    measured->pass = pass;
    add_measured_part(joint, pass, lull_collective_costs_consumer(measured->collectives));
    add_measured_part(joint, pass, lull_survey_consumer(measured->survey));
    add_measured_part(joint, pass, lull_eager_evidence_consumer(measured->evidence));
    if (measured->excerpt)
        add_measured_part(joint, pass, lull_excerpt_consumer(measured->excerpt));
    lull_joint_pass_add_messages(
        joint, (struct lull_message_taker){take_ideal_message, forget_ideal_messages, pass});
    return LULL_OK;
}

void lull_measured_release(struct lull_measured *measured)
{
    lull_excerpt_destroy(measured->excerpt);
    lull_collective_costs_destroy(measured->collectives);
    lull_eager_evidence_destroy(measured->evidence);
    lull_network_samples_destroy(measured->samples);
    lull_survey_destroy(measured->survey);
    *measured = (struct lull_measured){0};
}

static bool put_measured(void *context, struct lull_flow *flow)
{
    const struct lull_measured *measured = context;
    return lull_flow_put(flow, &measured->incomplete, sizeof measured->incomplete) &&
           (!measured->survey || lull_survey_put(measured->survey, flow)) &&
           (!measured->samples || lull_network_samples_put(measured->samples, flow)) &&
           (!measured->evidence || lull_eager_evidence_put(measured->evidence, flow)) &&
           (!measured->collectives || lull_collective_costs_put(measured->collectives, flow));
}

static bool get_measured(void *context, uint32_t member, struct lull_flow *flow)
{
    struct lull_measured *measured = context;
    bool incomplete;
    (void)member;
    if (!lull_flow_get(flow, &incomplete, sizeof incomplete))
        return false;
    measured->incomplete |= incomplete;
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

static lull_status measured_gather(void *state, const struct lull_joint_pass *joint,
                                   struct lull_error *err)
{
    struct lull_measured *measured = state;
    measured->incomplete = has_too_many(measured->pass);
    return lull_measured_gather(state, lull_division_team(joint->reading->division), err);
}

static void measured_release(void *state)
{
    lull_measured_release(state);
}

const struct lull_analysis lull_measured_analysis = {.size = sizeof(struct lull_measured),
                                                     .needs_ideal = true,
                                                     .create = measured_create,
                                                     .gather = measured_gather,
                                                     .release = measured_release};

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
    lull_status status = lull_survey_conclude(measured->survey, err);
    if (status == LULL_OK)
        status = lull_network_samples_fit(measured->samples, measured->evidence, application, arena,
                                          ret_network, err);
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
                                           const struct lull_run *run,
                                           const struct lull_network *network, const bool *callers)
{
    return (struct lull_replay_wish){.reading = run->reading,
                                     .devices = true,
                                     .callers = callers,
                                     .network = network,
                                     .survey = measured->survey,
                                     .keep_calls = LULL_KEEP_ALL};
}

/* ==== what the replays of a run share ========================================================= */

struct lull_replay_base *lull_replay_base_create(struct lull_arena *arena)
{
    struct lull_replay_base *base = lull_arena_zero(arena, 1, sizeof *base);
    base->arena = arena;
    return base;
}

void lull_replay_base_release(struct lull_replay_base *base)
{
    if (!base)
        return;
    lull_measured_release(&base->measured);
    base->known = false;
}

/* Moves what an analysis has found. */
static void take_measured(struct lull_measured *found, struct lull_replay_base *base)
{
    base->measured = *found;
    *found = (struct lull_measured){0};
}

/* Reads the run for that alone. */
static lull_status read_again(const struct lull_run *run, const struct lull_reading *reading,
                              struct lull_replay_base *base, struct lull_error *err)
{
    const struct lull_ideal_options ideal = lull_ideal_options_of(reading);
    struct lull_asked asked[] = {{.analysis = &lull_measured_analysis},
                                 {.analysis = &lull_ideal_analysis, .options = &ideal}};
    lull_status status = lull_joint_pass_run(run->trace, reading, asked,
                                             sizeof asked / sizeof *asked, base->arena, err);
    if (status == LULL_OK)
        take_measured(asked[0].state, base);
    lull_asked_release(asked, sizeof asked / sizeof *asked);
    return status;
}

static lull_status read_base(const struct lull_run *run, const struct lull_reading *reading,
                             struct lull_replay_base *base, struct lull_error *err)
{
    struct lull_team *team = lull_division_team(reading->division);
    struct lull_measured *found = lull_run_state(run, &lull_measured_analysis);
    int64_t is_found = found && found->survey && !found->incomplete; /* as the first member knows */
    lull_status status = lull_team_broadcast(team, &is_found, sizeof is_found, err);
    if (status != LULL_OK)
        return status;
    if (is_found) {
        take_measured(found, base);
        return LULL_OK;
    }
    /* A replay needs the events location by location; where they have to be copied for that, what is
     * read before it is read from the copy. */
    status = lull_team_agree(team, lull_cursors_prepare(run->trace, reading->range, err), err);
    return status == LULL_OK ? read_again(run, reading, base, err) : status;
}

lull_status lull_replay_base_fill(const struct lull_run *run, struct lull_error *err)
{
    struct lull_replay_base *base = run->replay_base;
    const struct lull_division *division = lull_run_division(run);
    const struct lull_reading reading = {.application = run->reading->application,
                                         .windows = run->reading->windows,
                                         .division = division,
                                         .range = lull_pass_range(division),
                                         .workers = run->reading->workers};
    struct lull_team *team = lull_division_team(division);
    const bool is_first = lull_team_is_first(team);
    if (base->known)
        return LULL_OK;
    lull_status status = read_base(run, &reading, base, err);
    if (status == LULL_OK)
        status = lull_measured_survey_to_all(&base->measured, run->trace, reading.application, team,
                                             err);
    if (status == LULL_OK && is_first)
        status = lull_measured_conclude(&base->measured, reading.application, base->arena,
                                        &base->network, err);
    if (status == LULL_OK && is_first)
        base->callers = lull_run_callers(run, base->arena);
    status = lull_team_agree(team, status, err);
    if (status == LULL_OK)
        status = lull_measured_network_to_all(run->trace, reading.application, team, base->arena,
                                              &base->network, &base->callers, err);
    if (status == LULL_OK)
        base->known = true;
    else
        lull_replay_base_release(base);
    return status;
}

/* ---- the check ------------------------------------------------------------------------------- */

/* When each stream of a replay has come to the end of each epoch of an excerpt. */
struct epoch_ends {
    const struct lull_excerpt *excerpt;
    struct lull_arena *arena;
    int64_t *times; /* [streams][n], ns */
    uint32_t n, n_streams;
    struct lull_sim_sink sink;
};

static lull_status note_epoch_end(void *context, uint32_t stream, const struct lull_op *op,
                                  int64_t time, struct lull_error *err)
{
    const struct epoch_ends *ends = context;
    (void)err;
    if (op->kind == LULL_OP_MARK && op->bytes < ends->n)
        ends->times[(size_t)stream * ends->n + op->bytes] = time;
    return LULL_OK;
}

static lull_status follow_epoch_ends(void *context, const struct lull_program *program,
                                     const struct lull_sim_sink **ret_sink, struct lull_error *err)
{
    struct epoch_ends *ends = context;
    uint32_t all;
    (void)err;
    ends->n = lull_excerpt_epochs(ends->excerpt, &all);
    ends->n_streams = program->n_streams;
    ends->times =
        lull_arena_zero(ends->arena, (size_t)ends->n_streams * ends->n, sizeof *ends->times);
    ends->sink =
        (struct lull_sim_sink){.context = ends, .start = note_epoch_end, .any_order = true};
    *ret_sink = &ends->sink;
    return LULL_OK;
}

/* Leaves in the times of the first stream when all streams have come. */
static void find_last_ends(struct epoch_ends *ends)
{
    for (uint32_t s = 1; s < ends->n_streams; s++)
        for (uint32_t e = 0; e < ends->n; e++)
            if (ends->times[(size_t)s * ends->n + e] > ends->times[e])
                ends->times[e] = ends->times[(size_t)s * ends->n + e];
}

/* Whether the masters alone make up the replay, by clocks that agree, and without pauses or a window
 * before which much of the run takes no time. `part`: of the run. */
static bool suits_excerpt(const struct lull_run *run, const struct lull_interval *part)
{
    const struct lull_replay_base *base = run->replay_base;
    const struct lull_survey *survey = base->measured.survey;
    bool agree = part->end - part->begin == run->breakdown->runtime_ns &&
                 (!run->reading->windows || run->main_part);
    for (uint32_t p = 0; p < run->trace->n_processes; p++)
        agree &= lull_survey_shift(survey, p) == 0;
    return agree && !base->callers && !lull_makes_threads(run->trace) &&
           !lull_survey_devices(survey);
}

/* Replays the excerpt, if there is one that suffices; else *ret_runtime is 0, also where it could not
 * be replayed. */
static void replay_excerpt(const struct lull_run *run, struct lull_arena *arena,
                           int64_t *ret_runtime, int64_t *ret_error)
{
    struct lull_replay_base *base = run->replay_base;
    struct lull_excerpt *excerpt = base->measured.excerpt;
    const struct lull_ideal_options reading = lull_ideal_options_of(run->reading);
    const struct lull_interval part = {reading.has_span ? reading.from : 0,
                                       reading.has_span ? reading.to : run->trace->duration};
    struct epoch_ends ends = {.excerpt = excerpt, .arena = arena};
    struct lull_replayed replayed;
    struct lull_error err;
    *ret_runtime = 0;
    if (!excerpt || !suits_excerpt(run, &part) || !lull_excerpt_conclude(excerpt))
        return;
    struct lull_replay_wish wish =
        lull_measured_wish(&base->measured, run, &base->network, base->callers);
    wish.excerpt = excerpt;
    wish.workers = 1;
    wish.follow = follow_epoch_ends;
    wish.follower = &ends;
    if (lull_replayed_make(run->trace, &wish, arena, &replayed, &err) != LULL_OK)
        return;
    lull_replayed_close(&replayed);
    find_last_ends(&ends);
    lull_excerpt_estimate(excerpt, ends.times, &part, ret_runtime, ret_error);
    if ((double)*ret_error > LULL_REPLAY_EXCERPT_MOST * (double)run->breakdown->runtime_ns)
        *ret_runtime = 0;
}

/* Replays the run by all members of the division together, or where they cannot, by the first. */
static lull_status replay_divided(const struct lull_run *run, const struct lull_division *division,
                                  struct lull_arena *arena, int64_t *ret_runtime,
                                  struct lull_error *err)
{
    const struct lull_replay_base *base = run->replay_base;
    struct lull_replayed replayed = {0};
    struct lull_replay_wish wish =
        lull_measured_wish(&base->measured, run, &base->network, base->callers);
    wish.division = division;
    lull_status status = lull_replayed_make(run->trace, &wish, arena, &replayed, err);
    wish.division = NULL;
    if (status == LULL_OK && division && !replayed.shared && lull_team_is_first(division->team))
        status = lull_replayed_make(run->trace, &wish, arena, &replayed, err);
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

double lull_replay_uncertainty(const struct lull_breakdown *breakdown)
{
    return (double)breakdown->replayed_error_ns / (double)breakdown->runtime_ns;
}

static void tell_difference(const struct lull_run *run, struct lull_notices *notices)
{
    double difference = lull_replay_difference(run->breakdown);
    if (fabs(difference) > LULL_REPLAY_MISSES_MOST)
        lull_notices_add(
            notices, LULL_NOTICE_INFO,
            "Replayed on the network that its messages show, %s takes %.1f %% %s time "
            "than measured%s: its transfer and serialisation are uncertain by as much.%s",
            run->name, 100 * fabs(difference), difference < 0 ? "less" : "more",
            run->breakdown->replayed_error_ns > 0
                ? lull_arena_printf(notices->arena, " (+- %.1f %%, as an excerpt was replayed)",
                                    100 * lull_replay_uncertainty(run->breakdown))
                : "",
            lull_cores_excuse(run->trace, difference < 0, notices->arena));
}

/* Whether a replay is wanted: the ideal network would save more than LULL_REPLAY_MISSES_MOST, and
 * the run does not have too many operations. */
static bool is_wanted(const struct lull_run *run, uint64_t most_operations,
                      struct lull_notices *notices)
{
    const struct lull_breakdown *breakdown = run->breakdown;
    const double saved = (double)(breakdown->runtime_ns - breakdown->ideal_runtime_ns);
    if (breakdown->ideal_runtime_ns <= 0 || !run->ideal ||
        saved <= LULL_REPLAY_MISSES_MOST * (double)breakdown->runtime_ns)
        return false;
    if (run->ideal->operations <= most_operations)
        return true;
    lull_notices_add(notices, LULL_NOTICE_INFO,
                     "How far the transfer and serialisation of %s can be believed is told by "
                     "lull replay; a run of %.3g operations is not replayed here.",
                     run->name, (double)run->ideal->operations);
    return false;
}

lull_status lull_measured_check(struct lull_run *run, bool is_first, uint64_t most_operations,
                                struct lull_notices *notices, struct lull_arena *arena,
                                struct lull_error *err)
{
    const struct lull_division *division = lull_run_division(run);
    struct lull_team *team = lull_division_team(division);
    int64_t wanted = is_first && is_wanted(run, most_operations, notices), runtime = 0, error = 0;
    lull_status status = lull_team_broadcast(team, &wanted, sizeof wanted, err);
    if (status != LULL_OK || !wanted)
        return status;
    status = lull_replay_base_fill(run, err);
    if (status == LULL_OK && !division)
        replay_excerpt(run, arena, &runtime, &error);
    const bool whole = runtime == 0;
    if (status == LULL_OK && whole)
        status = replay_divided(run, division, arena, &runtime, err);
    if (!is_first) /* whom the first tells whether to go on */
        return lull_team_agree(team, LULL_OK, err);
    if (status == LULL_OK) {
        run->breakdown->replayed_runtime_ns = runtime;
        run->breakdown->replayed_error_ns = whole ? 0 : error;
        run->replay_base->runtime = whole ? runtime : 0;
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
