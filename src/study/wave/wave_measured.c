/* Waves in a recorded run: one reading for the waves and the network, then replays. */
#include "study/wave/wave_study.h"

#include "metrics/windows.h"
#include "replay/eager_limit.h"
#include "replay/measured_network.h"
#include "replay/replay.h"
#include "study/analyse.h"
#include "study/division.h"
#include "study/replay/measured.h"

#include <math.h>
#include <string.h>

struct session {
    const struct lull_wave_run_options *wanted;
    struct lull_wave_run *run;
    struct lull_measured measured;
    struct lull_network network;
    struct lull_notices *notices;
    struct lull_arena *arena;
};

/* ---- reading ----------------------------------------------------------------------------------
 */

static lull_status add_collector(struct session *session, const struct lull_trace *trace,
                                 struct lull_consumer *ret_consumer, struct lull_error *err)
{
    struct lull_wave_collector **collector = &session->run->measured.collector;
    lull_status status = lull_wave_collector_create(trace, session->wanted->application,
                                                    session->wanted->marker, collector, err);
    if (status == LULL_OK)
        *ret_consumer = lull_wave_collector_consumer(*collector);
    return status;
}

static lull_status join_pass(void *context, struct lull_joint_pass *joint, struct lull_error *err)
{
    struct session *session = context;
    lull_status status =
        lull_measured_join(&session->measured, session->wanted->application, joint, err);
    if (status == LULL_OK)
        status = add_collector(session, joint->trace, &joint->consumers[joint->n_consumers++], err);
    return status;
}

/* The pass of a member, over what it reads of the run. */
static lull_status pass_alone(struct session *session, struct lull_error *err)
{
    const struct lull_trace *trace = session->run->alone;
    struct lull_consumer consumers[2];
    struct lull_eager_evidence **evidence = &session->measured.evidence;
    const struct lull_pass_options options = {.application = session->wanted->application,
                                              .range = lull_pass_range(session->run->division),
                                              .masters_only = true};
    lull_status status = add_collector(session, trace, &consumers[0], err);
    if (status == LULL_OK)
        status =
            lull_eager_evidence_create(trace, lull_pass_workers(trace, &options), evidence, err);
    if (status != LULL_OK)
        return status;
    consumers[1] = lull_eager_evidence_consumer(*evidence);
    return lull_pass_run(trace, &options, consumers, 2, err);
}

/* All that the members have read comes to the first. */
static lull_status gather(struct session *session, struct lull_error *err)
{
    struct lull_team *team = session->wanted->team;
    lull_status status =
        lull_wave_collector_gather(session->run->measured.collector, session->run->division, err);
    return status == LULL_OK ? lull_measured_gather(&session->measured, team, err) : status;
}

/* Waves and eager limit alone. */
static lull_status read_alone(struct session *session, const char *path, struct lull_error *err)
{
    struct lull_wave_run *run = session->run;
    struct lull_team *team = session->wanted->team;
    lull_status status = lull_division_open(team, path, &run->alone, err);
    if (status == LULL_OK)
        status = lull_division_of_run(team, run->alone, session->wanted->application,
                                      session->arena, &run->division, err);
    if (status == LULL_OK)
        status = lull_team_agree(team, pass_alone(session, err), err);
    if (status == LULL_OK)
        status = gather(session, err);
    if (status == LULL_OK)
        status = lull_division_gather_quirks(run->division, run->alone, err);
    if (run->alone)
        lull_notices_add_quirks(session->notices, run->alone, path);
    return status;
}

/* Of the network all that matters is what is eager. */
static lull_status find_eager_limits(struct session *session, struct lull_error *err)
{
    lull_status status = LULL_OK;
    lull_network_init(&session->network, lull_network_find("hockney"));
    uint32_t eager = lull_network_parameter(session->network.class, "eager");
    for (unsigned between = 0; between < 2 && status == LULL_OK; between++) {
        struct lull_eager_findings findings;
        status = lull_eager_evidence_weigh(session->measured.evidence, between, &findings, err);
        double limit =
            status != LULL_OK ? 0 : lull_eager_limit(&findings, session->network.values[0][eager]);
        for (unsigned level = between ? LULL_LEVEL_SWITCH : 0;
             status == LULL_OK && level < (between ? LULL_LEVELS : LULL_LEVEL_SWITCH); level++)
            lull_network_set(&session->network, eager, level, limit);
    }
    if (status == LULL_OK)
        lull_replay_placement(session->run->alone, session->wanted->application, session->arena,
                              &session->network.placement);
    return status;
}

static lull_status read_for_replay(struct session *session, const char *path,
                                   struct lull_error *err)
{
    const struct lull_companion companion = {join_pass, session};
    struct lull_runs *runs = &session->run->runs;
    const struct lull_runs_options options = {.application = session->wanted->application,
                                              .force = session->wanted->force,
                                              .team = session->wanted->team,
                                              .progress = session->wanted->progress,
                                              .companion = &companion};
    lull_status status =
        lull_runs_load(&path, 1, &options, session->notices, session->arena, runs, err);
    session->run->division = status == LULL_OK ? runs->runs[0].division : NULL;
    if (status == LULL_OK && session->run->measured.collector) /* where events were read */
        status = gather(session, err);
    return status;
}

/* Whether it can be replayed, and on which network. */
static lull_status prepare_replays(struct session *session, const char *path,
                                   struct lull_error *err)
{
    const struct lull_run *run = &session->run->runs.runs[0];
    if (!run->trace || run->breakdown->from_sums || run->trace->events != LULL_EVENTS_ALL)
        return lull_fail(err, LULL_ERR_RANGE, "%s: does not have the events of the whole run",
                         path);
    session->run->replays = !run->ideal->absent || run->ideal->incomplete;
    if (!session->run->replays)
        lull_notices_add(session->notices, LULL_NOTICE_WARNING,
                         "%s: cannot be replayed, so that nobody knows what a wave cost: %s: %s",
                         path, run->ideal->absent, run->ideal->detail);
    return lull_measured_conclude(&session->measured, session->wanted->application, session->arena,
                                  &session->network, err);
}

const struct lull_trace *lull_wave_run_trace(const struct lull_wave_run *run)
{
    return run->alone ? run->alone : run->runs.runs[0].trace;
}

/* ---- replays ----------------------------------------------------------------------------------
 */

/* A delay that is taken out of the run. */
struct removal {
    uint32_t stream;
    int64_t from, to, left; /* ns */
};

static int64_t without_delay(void *context, const struct lull_replay_burst *burst)
{
    struct removal *removal = context;
    if (burst->stream != removal->stream || burst->fixed || burst->end <= removal->from ||
        burst->begin >= removal->to || removal->left <= 0)
        return burst->ns;
    int64_t cut = burst->ns < removal->left ? burst->ns : removal->left;
    removal->left -= cut;
    return burst->ns - cut;
}

/* `removal` and `scene` may be NULL. */
static lull_status replay(const struct session *session, struct removal *removal,
                          struct lull_wave_scene *scene, int64_t *ret_runtime,
                          struct lull_error *err)
{
    const struct lull_run *run = &session->run->runs.runs[0];
    struct lull_replay_options options = {
        .application = session->wanted->application,
        .callers = lull_run_callers(run, session->wanted->application, session->arena),
        .keep_calls = LULL_KEEP_ALL,
        .windows = run->windows,
        .network = &session->network,
        .survey = session->measured.survey,
        .length = removal ? without_delay : NULL,
        .context = removal};
    struct lull_program *program;
    struct lull_sim_result result;
    lull_status status = lull_replay_open(run->trace, &options, &program, err);
    if (status != LULL_OK)
        return status;
    struct lull_sim_options simulation = {.network = &session->network};
    if (scene && program->n_streams == program->n_ranks) {
        status = lull_wave_collector_of_simulation(program->n_ranks, &scene->collector, err);
        simulation.sink = lull_wave_collector_sink(scene->collector);
    }
    if (status == LULL_OK)
        status = lull_simulate(program, &simulation, session->arena, &result, NULL, err);
    if (status == LULL_OK)
        *ret_runtime = result.runtime;
    lull_program_close(program);
    return status;
}

static lull_status look_for_waves(const struct session *session, struct lull_wave_scene *scene,
                                  struct lull_error *err)
{
    lull_status status = lull_wave_collector_conclude(scene->collector, &scene->field, err);
    if (status == LULL_OK)
        status = lull_wave_graph_make(scene->field, &session->network, session->arena,
                                      &scene->graph, err);
    if (status == LULL_OK)
        status = lull_waves_find(scene->field, scene->graph, &session->wanted->options,
                                 session->arena, &scene->waves, err);
    return status;
}

/* What cannot be replayed is told, and the rest stands. */
static void replay_all(struct session *session, double *costs)
{
    struct lull_wave_run *run = session->run;
    struct lull_error err;
    int64_t runtime, without;
    lull_status status = replay(session, NULL, &run->replayed, &runtime, &err);
    if (status == LULL_OK && run->replayed.collector)
        status = look_for_waves(session, &run->replayed, &err);
    run->replayed.runtime = run->replay_runtime = status == LULL_OK ? runtime : 0;
    for (uint32_t w = 0; w < run->measured.waves.count && status == LULL_OK; w++) {
        const struct lull_wave *wave = &run->measured.waves.waves[w];
        if (wave->within_call)
            continue; /* a replay has no time within calls but what messages take */
        struct removal removal = {wave->rank, wave->begin,
                                  run->measured.field->rows[wave->rank].cells[wave->iteration].end,
                                  wave->length};
        status = replay(session, &removal, NULL, &without, &err);
        if (status == LULL_OK)
            costs[w] = (double)(runtime - without);
    }
    if (status != LULL_OK)
        lull_notices_add(session->notices, LULL_NOTICE_WARNING, "not replayed: %s", err.text);
}

/* ---- all ------------------------------------------------------------------------------------- */

static lull_status predict_all(const struct session *session, struct lull_error *err)
{
    struct lull_wave_run *run = session->run;
    const struct lull_waves *waves = &run->measured.waves;
    const struct lull_wave_usual *usual = &waves->usual;
    struct lull_wave_prediction *predictions =
        lull_arena_zero(session->arena, waves->count + 1, sizeof *predictions);
    for (uint32_t w = 0; w < waves->count || w == 0; w++) {
        const struct lull_wave *wave = &waves->waves[w];
        bool some = waves->count > 0; /* else the speed that a wave from the middle would have */
        lull_status status = lull_wave_prediction_make(
            run->measured.graph, some ? wave->rank : run->measured.graph->n_ranks / 2,
            some ? wave->iteration : 0, some ? (double)wave->length : NAN,
            usual->work + usual->comm, usual->cycle, session->arena, &predictions[w], err);
        if (status != LULL_OK)
            return status;
    }
    run->predicted = predictions;
    return LULL_OK;
}

static void check_clocks(const struct session *session, const char *path)
{
    const struct lull_wave_run *run = session->run;
    double error = run->measured.field->clock_error;
    for (uint32_t p = 0;
         session->measured.survey && p < lull_wave_run_trace(session->run)->n_processes; p++)
        error = fmax(error, (double)lull_survey_shift(session->measured.survey, p));
    for (uint32_t w = 0; w < run->measured.waves.count; w++)
        if (error > (double)run->measured.waves.waves[w].length) {
            lull_notices_add(session->notices, LULL_NOTICE_WARNING,
                             "%s: the clocks of its ranks disagree by up to %.3g ms, which is "
                             "longer than a wave: speeds in ranks per second are not to be relied "
                             "on",
                             path, error / 1e6);
            return;
        }
}

static lull_status study(struct session *session, const char *path, struct lull_error *err)
{
    struct lull_wave_run *run = session->run;
    const bool alone = session->wanted->no_replay;
    lull_status status =
        alone ? read_alone(session, path, err) : read_for_replay(session, path, err);
    if (status != LULL_OK || !lull_team_is_first(session->wanted->team))
        return status; /* the first goes on */
    status = alone ? find_eager_limits(session, err) : prepare_replays(session, path, err);
    if (status == LULL_OK)
        status = look_for_waves(session, &run->measured, err);
    if (status == LULL_OK)
        status = predict_all(session, err);
    if (status != LULL_OK)
        return status;
    run->measured.name = "measured";
    run->replayed.name = "replayed";
    run->measured.runtime = lull_wave_run_trace(session->run)->duration;
    double *costs = lull_arena_zero(session->arena, run->measured.waves.count + 1, sizeof *costs);
    for (uint32_t w = 0; w < run->measured.waves.count; w++)
        costs[w] = NAN;
    run->costs = costs;
    check_clocks(session, path);
    if (session->run->replays)
        replay_all(session, costs);
    return LULL_OK;
}

lull_status lull_wave_run_make(const char *path, const struct lull_wave_run_options *options,
                               struct lull_notices *notices, struct lull_arena *arena,
                               struct lull_wave_run *ret_run, struct lull_error *err)
{
    struct session session = {
        .wanted = options, .run = ret_run, .notices = notices, .arena = arena};
    *ret_run = (struct lull_wave_run){0};
    lull_status status = study(&session, path, err);
    lull_measured_release(&session.measured);
    return status;
}

void lull_wave_run_close(struct lull_wave_run *run)
{
    lull_wave_scene_close(&run->measured);
    lull_wave_scene_close(&run->replayed);
    lull_runs_close(&run->runs);
    lull_trace_close(run->alone);
    run->alone = NULL;
}
