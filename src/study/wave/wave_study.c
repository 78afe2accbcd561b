/* SPDX-License-Identifier: BSD-3-Clause */
/* The prediction of waves, which patterns and recorded runs share, and waves of recorded runs. */
#include "study/wave/wave_study.h"

#include "metrics/windows.h"
#include "replay/measured_network.h"
#include "replay/replay.h"
#include "study/joint_pass.h"
#include "study/replay/replayed_run.h"
#include "study/runs.h"

#include <math.h>
#include <string.h>

/* ==== the prediction ========================================================================== */

void lull_wave_scene_close(struct lull_wave_scene *scene)
{
    lull_wave_collector_destroy(scene->collector);
    scene->collector = NULL;
    scene->field = NULL;
}

lull_status lull_wave_prediction_make(const struct lull_wave_graph *graph, uint32_t rank,
                                      int32_t iteration, double length, double comm_and_work,
                                      double cycle, struct lull_arena *arena,
                                      struct lull_wave_prediction *ret_prediction,
                                      struct lull_error *err)
{
    struct lull_wave_path path;
    lull_status status = lull_wave_predict(graph, rank, iteration, arena, &path, err);
    if (status != LULL_OK)
        return status;
    struct lull_wave_prediction predicted = {.rank = rank,
                                             .iteration = iteration,
                                             .length = length,
                                             .kappa_up = graph->kappa_up,
                                             .kappa_down = graph->kappa_down};
    int64_t far_up, far_down;
    predicted.up = lull_wave_speed(graph, rank, iteration, &path, true, &far_up);
    predicted.down = lull_wave_speed(graph, rank, iteration, &path, false, &far_down);
    predicted.up_per_second = predicted.up.value / comm_and_work * 1e9;
    predicted.down_per_second = predicted.down.value / comm_and_work * 1e9;
    predicted.up_most = (double)graph->n_ranks - 1 - rank;
    predicted.down_most = rank;
    double kappa = fmax(graph->kappa_up, graph->kappa_down);
    predicted.decay = fmax(0, cycle - comm_and_work) / kappa;
    if (predicted.decay < 1e-6 * cycle)
        predicted.decay = 0; /* a difference from rounding */
    predicted.survival = predicted.decay > 0 ? length / predicted.decay : INFINITY;
    *ret_prediction = predicted;
    return LULL_OK;
}

/* ==== waves of a recorded run ================================================================= */

/* A recorded run is read once, for its waves and for the network that its messages show. Replays
 * follow. */

struct wave_session {
    const struct lull_wave_run_options *wanted;
    struct lull_wave_run *run;
    struct lull_measured measured;
    struct lull_network network;
    const bool *callers; /* study/runs.h */
    bool together;       /* all members of the team replay; else the first does */
    struct lull_notices *notices;
    struct lull_arena *arena;
};

/* ---- reading --------------------------------------------------------------------------------- */

/* The collector of a run's waves; its options are lull_wave_run_options. */
struct waves_state {
    struct lull_wave_collector *collector;
};

static lull_status waves_create(void *state, const void *options, struct lull_joint_pass *joint,
                                struct lull_error *err)
{
    struct waves_state *waves = state;
    const struct lull_wave_run_options *wanted = options;
    lull_status status = lull_wave_collector_create(joint->trace, joint->reading->application,
                                                    wanted->marker, &waves->collector, err);
    if (status == LULL_OK)
        lull_joint_pass_add(joint, lull_wave_collector_consumer(waves->collector));
    return status;
}

static void waves_release(void *state)
{
    const struct waves_state *waves = state;
    lull_wave_collector_destroy(waves->collector);
}

static const struct lull_analysis waves_analysis = {
    .size = sizeof(struct waves_state), .create = waves_create, .release = waves_release};

/* Reads this member's share of the run. */
static lull_status pass_alone(struct wave_session *session, struct lull_error *err)
{
    const struct lull_trace *trace = session->run->alone;
    struct lull_consumer consumers[2];
    struct lull_eager_evidence **evidence = &session->measured.evidence;
    const struct lull_reading reading = {.application = session->wanted->application,
                                         .division = session->run->division,
                                         .range = lull_pass_range(session->run->division)};
    const struct lull_pass_options options = {.reading = &reading, .masters_only = true};
    struct lull_wave_collector **collector = &session->run->measured.collector;
    lull_status status = lull_wave_collector_create(trace, reading.application,
                                                    session->wanted->marker, collector, err);
    if (status == LULL_OK)
        status =
            lull_eager_evidence_create(trace, lull_pass_workers(trace, &options), evidence, err);
    if (status != LULL_OK)
        return status;
    consumers[0] = lull_wave_collector_consumer(*collector);
    consumers[1] = lull_eager_evidence_consumer(*evidence);
    return lull_pass_run(trace, &options, consumers, 2, err);
}

/* Finds what is unusual in the iterations of a scene. Members that share the iterations do it
 * together, and the first has the result. */
static lull_status survey(const struct wave_session *session, struct lull_wave_scene *scene,
                          struct lull_error *err)
{
    lull_status status = lull_wave_collector_conclude(scene->collector, &scene->field, err);
    return status == LULL_OK ? lull_wave_outliers_find(scene->field, session->wanted->options.least,
                                                       session->arena, &scene->waves.outliers, err)
                             : status;
}

/* Gives what the members have read of the waves to the first. */
static lull_status gather_collected(struct wave_session *session, struct lull_error *err)
{
    struct lull_wave_scene *measured = &session->run->measured;
    lull_wave_collector_share_processes(measured->collector, session->run->division);
    lull_status status = survey(session, measured, err);
    return session->run->division ? lull_team_agree(session->wanted->team, status, err) : status;
}

/* Reads the run for its waves and the network's eager limits only, without replays. */
static lull_status read_alone(struct wave_session *session, const char *path,
                              struct lull_error *err)
{
    struct lull_wave_run *run = session->run;
    struct lull_team *team = session->wanted->team;
    struct lull_division *division = NULL;
    lull_status status = lull_division_open(team, path, &run->alone, err);
    if (status == LULL_OK)
        status = lull_division_of_run(team, run->alone, session->wanted->application,
                                      session->arena, &division, err);
    run->division = division;
    if (status == LULL_OK)
        status = lull_team_agree(team, pass_alone(session, err), err);
    if (status == LULL_OK)
        status = gather_collected(session, err);
    if (status == LULL_OK)
        status = lull_measured_gather(&session->measured, team, err);
    if (status == LULL_OK)
        status = lull_division_gather_quirks(run->division, run->alone, err);
    if (run->alone)
        lull_notices_add_quirks(session->notices, run->alone, path);
    return status;
}

/* Finds the eager limits. Of the network nothing else matters here. */
static lull_status find_eager_limits(struct wave_session *session, struct lull_error *err)
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

/* Moves what the analyses have found from the run into the session. */
static void take_states(struct wave_session *session, const struct lull_run *run)
{
    struct lull_measured *measured = lull_run_state(run, &lull_measured_analysis);
    struct waves_state *waves = lull_run_state(run, &waves_analysis);
    if (measured) {
        session->measured = *measured;
        *measured = (struct lull_measured){0};
    }
    if (waves) {
        session->run->measured.collector = waves->collector;
        waves->collector = NULL;
    }
}

static lull_status read_for_replay(struct wave_session *session, const char *path,
                                   struct lull_error *err)
{
    const struct lull_asked asked[] = {{.analysis = &lull_measured_analysis},
                                       {.analysis = &waves_analysis, .options = session->wanted}};
    struct lull_runs *runs = &session->run->runs;
    const struct lull_runs_options options = {.application = session->wanted->application,
                                              .force = session->wanted->force,
                                              .team = session->wanted->team,
                                              .progress = session->wanted->progress,
                                              .asked = asked,
                                              .n_asked = sizeof asked / sizeof *asked};
    lull_status status =
        lull_runs_load(&path, 1, &options, session->notices, session->arena, runs, err);
    if (status != LULL_OK)
        return status;
    session->run->division = lull_reading_of(runs->runs[0].reading)->division;
    take_states(session, &runs->runs[0]);
    return session->run->measured.collector ? gather_collected(session, err) : LULL_OK;
}

/* Finds whether the run can be replayed, and on which network. */
static lull_status prepare_wave_replays(struct wave_session *session, const char *path,
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

/* ---- replays --------------------------------------------------------------------------------- */

/* A delay to be taken out of the run. */
struct removal {
    uint32_t stream;
    struct delay {
        int64_t from, to, length, left; /* ns; `left` is what has not been taken out yet */
    } delays[LULL_WAVE_DELAYED_MOST];   /* in iterations one behind the other */
    uint32_t n_delays;
    /* Where the last computation began. If one begins earlier, the program runs again, and all of
     * the delay is to be taken out. */
    int64_t seen;
};

static int64_t without_delay(void *context, const struct lull_replay_burst *burst)
{
    struct removal *removal = context;
    if (burst->stream != removal->stream)
        return burst->ns;
    int64_t ns = burst->ns;
    for (unsigned d = 0; d < removal->n_delays; d++) {
        struct delay *delay = &removal->delays[d];
        if (burst->begin < removal->seen)
            delay->left = delay->length;
        if (burst->fixed || burst->end <= delay->from || burst->begin >= delay->to)
            continue;
        const int64_t cut = ns < delay->left ? ns : delay->left;
        delay->left -= cut;
        ns -= cut;
    }
    removal->seen = burst->begin;
    return ns;
}

/* Makes a replay: by all members as long as they can make replays together, then by the first
 * alone. *ret_status is the status of a replay that the first has made alone. Fails where a member
 * has gone. */
static lull_status replay_together(struct wave_session *session, struct lull_replay_wish *wish,
                                   int64_t *ret_runtime, lull_status *ret_status,
                                   struct lull_error *err)
{
    const struct lull_run *run = &session->run->runs.runs[0];
    struct lull_replayed replayed = {0};
    lull_status status = LULL_OK;
    *ret_status = LULL_OK;
    if (session->together) {
        wish->division = session->run->division;
        status = lull_replayed_make(run->trace, wish, session->arena, &replayed, err);
        session->together = replayed.shared;
        wish->division = NULL;
    }
    if (status == LULL_OK && !session->together && lull_team_is_first(session->wanted->team))
        *ret_status = lull_replayed_make(run->trace, wish, session->arena, &replayed, err);
    *ret_runtime = replayed.runtime;
    lull_replayed_close(&replayed);
    return status;
}

static struct lull_replay_wish wish_of(const struct wave_session *session)
{
    struct lull_replay_wish wish = lull_measured_wish(
        &session->measured, &session->run->runs.runs[0], &session->network, session->callers);
    wish.devices = false; /* waves are those of ranks with one stream each */
    return wish;
}

/* Collects the simulated iterations of a replay in which each rank has one stream. */
struct follower {
    const struct wave_session *session;
    struct lull_wave_scene *scene;
    uint32_t first, end; /* the ranks that this member simulates, of several */
};

static lull_status follow(void *context, const struct lull_program *program,
                          const struct lull_sim_sink **ret_sink, struct lull_error *err)
{
    struct follower *follower = context;
    struct lull_wave_scene *scene = follower->scene;
    const struct lull_division *division = follower->session->run->division;
    lull_wave_collector_destroy(scene->collector); /* of an earlier replay that failed */
    scene->collector = NULL;
    *ret_sink = NULL;
    if (program->n_streams != program->n_ranks)
        return LULL_OK;
    if (division) {
        const uint32_t *cuts = &division->cuts[lull_team_index(division->team)];
        follower->first = lull_replay_ranks_before(program, cuts[0]);
        follower->end = lull_replay_ranks_before(program, cuts[1]);
    }
    lull_status status =
        lull_wave_collector_of_simulation(program->n_ranks, &scene->collector, err);
    if (status == LULL_OK)
        *ret_sink = lull_wave_collector_sink(scene->collector);
    return status;
}

/* Replays the run as it was measured, and finds what is unusual in its iterations. */
static lull_status replay_scene(struct wave_session *session, struct lull_wave_scene *scene,
                                int64_t *ret_runtime, lull_status *ret_status,
                                struct lull_error *err)
{
    struct follower follower = {session, scene, 0, 0};
    struct lull_replay_wish wish = wish_of(session);
    wish.follow = follow;
    wish.follower = &follower;
    lull_status status = replay_together(session, &wish, ret_runtime, ret_status, err);
    if (status != LULL_OK || *ret_status != LULL_OK || !scene->collector)
        return status;
    if (!session->together && !lull_team_is_first(session->wanted->team))
        return status;
    if (session->together)
        lull_wave_collector_share(scene->collector, session->wanted->team, follower.first,
                                  follower.end);
    status = survey(session, scene, err);
    /* LULL_ERR_FORMAT says that nothing was found, which is the same on all members. */
    if (session->together && status != LULL_ERR_FORMAT)
        return status;
    *ret_status = status;
    return LULL_OK;
}

static lull_status find_measured_waves(const struct wave_session *session,
                                       struct lull_wave_scene *scene, struct lull_error *err)
{
    lull_status status =
        lull_wave_graph_make(scene->field, &session->network, session->arena, &scene->graph, err);
    if (status == LULL_OK)
        status = lull_waves_find(scene->field, scene->graph, &scene->waves.outliers,
                                 &session->wanted->options, session->arena, &scene->waves, err);
    return status;
}

/* Draws the raster of a scene whose iterations were found. Members that share the iterations do it
 * together. */
static lull_status draw(const struct wave_session *session, struct lull_wave_scene *scene,
                        struct lull_error *err)
{
    return scene->field ? lull_wave_raster_make(scene->field, scene->graph ? &scene->waves : NULL,
                                                scene->runtime, session->arena, &scene->raster, err)
                        : LULL_OK;
}

/* The next wave, from the wave `from` on, whose cost a replay without its delay can tell; the
 * number of waves: there is none. A delay within a call cannot be taken out, because a replay has
 * no time inside of calls but that of the messages. */
static uint32_t next_wave(const struct wave_session *session, uint32_t from)
{
    const struct lull_waves *waves = &session->run->measured.waves;
    while (from < waves->count && waves->waves[from].within_call)
        from++;
    return from;
}

static struct removal removal_of(const struct wave_session *session, uint32_t wave)
{
    const struct lull_waves *waves = &session->run->measured.waves;
    const struct lull_wave *of = &waves->waves[wave];
    struct removal removal = {.stream = of->rank, .seen = INT64_MIN};
    removal.n_delays = of->n_delayed; /* 0: it was delayed within a call */
    for (unsigned d = 0; d < of->n_delayed; d++) {
        const struct lull_wave_outlier *at =
            lull_wave_outlier_of(&waves->outliers, of->rank, (uint32_t)of->iteration + d);
        removal.delays[d] = (struct delay){at->begin, at->end, at->delay, at->delay};
    }
    return removal;
}

/* Replays the run without the delay of each wave. The first member says which delay is next, and
 * the others take part until it says that there is none. */
static lull_status replay_waves(struct wave_session *session, int64_t runtime,
                                lull_status *ret_status, struct lull_error *err)
{
    struct lull_team *team = session->wanted->team;
    const bool first = lull_team_is_first(team);
    lull_status status = LULL_OK;
    for (uint32_t w = 0; status == LULL_OK; w++) {
        struct {
            struct removal removal;
            int64_t some;
        } next = {0};
        int64_t without;
        w = first ? next_wave(session, w) : w;
        next.some = first && *ret_status == LULL_OK && w < session->run->measured.waves.count;
        if (next.some)
            next.removal = removal_of(session, w);
        if (session->together)
            status = lull_team_broadcast(team, &next, sizeof next, err);
        if (status != LULL_OK || !next.some)
            return status;
        struct lull_replay_wish wish = wish_of(session);
        wish.length = without_delay;
        wish.context = &next.removal;
        status = replay_together(session, &wish, &without, ret_status, err);
        if (first && status == LULL_OK && *ret_status == LULL_OK)
            session->run->costs[w] = (double)(runtime - without);
        if (!first && !session->together)
            break;
    }
    return status;
}

/* Makes all replays. Where one fails, a warning says so, and the results so far stand. */
static lull_status replay_all_scenes(struct wave_session *session, struct lull_error *err)
{
    struct lull_wave_run *run = session->run;
    int64_t runtime = 0;
    lull_status status = LULL_OK; /* of replays that the first member makes alone */
    lull_status together = replay_scene(session, &run->replayed, &runtime, &status, err);
    if (together != LULL_OK)
        return together;
    if (status == LULL_OK && lull_team_is_first(session->wanted->team) && run->replayed.field)
        status = find_measured_waves(session, &run->replayed, err);
    run->replayed.runtime = run->replay_runtime = status == LULL_OK ? runtime : 0;
    together = draw(session, &run->replayed, err);
    if (together == LULL_OK)
        together = replay_waves(session, runtime, &status, err);
    run->shared = session->together;
    if (together == LULL_OK && status != LULL_OK)
        lull_notices_add(session->notices, LULL_NOTICE_WARNING, "not replayed: %s", err->text);
    return together;
}

/* ---- all ------------------------------------------------------------------------------------- */

static lull_status predict_all(const struct wave_session *session, struct lull_error *err)
{
    struct lull_wave_run *run = session->run;
    const struct lull_waves *waves = &run->measured.waves;
    const struct lull_wave_usual *usual = &waves->outliers.usual;
    struct lull_wave_prediction *predictions =
        lull_arena_zero(session->arena, waves->count + 1, sizeof *predictions);
    for (uint32_t w = 0; w < waves->count || w == 0; w++) {
        const struct lull_wave *wave = &waves->waves[w];
        /* Without waves the speed is found that a wave from the middle would have. */
        bool some = waves->count > 0;
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

static void check_clocks(const struct wave_session *session, const char *path)
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

/* Finds the waves that were measured, and predicts how they travel. */
static lull_status find_measured(struct wave_session *session, const char *path,
                                 struct lull_error *err)
{
    struct lull_wave_run *run = session->run;
    lull_status status = session->wanted->no_replay ? find_eager_limits(session, err)
                                                    : prepare_wave_replays(session, path, err);
    if (status == LULL_OK)
        status = find_measured_waves(session, &run->measured, err);
    if (status == LULL_OK)
        status = predict_all(session, err);
    if (status != LULL_OK)
        return status;
    run->measured.name = "measured";
    run->replayed.name = "replayed";
    run->measured.runtime = lull_wave_run_trace(session->run)->duration;
    run->costs = lull_arena_zero(session->arena, run->measured.waves.count + 1, sizeof *run->costs);
    for (uint32_t w = 0; w < run->measured.waves.count; w++)
        run->costs[w] = NAN;
    check_clocks(session, path);
    if (run->replays)
        session->callers = lull_run_callers(&run->runs.runs[0], session->arena);
    return LULL_OK;
}

/* The first member tells the others whether there are replays, and what they need. */
static lull_status tell_all(struct wave_session *session, struct lull_error *err)
{
    struct lull_team *team = session->wanted->team;
    int64_t replays = session->run->replays;
    lull_status status = lull_team_broadcast(team, &replays, sizeof replays, err);
    session->together = replays;
    if (status != LULL_OK || !replays)
        return status;
    return lull_measured_network_to_all(session->run->runs.runs[0].trace,
                                        session->wanted->application, team, session->arena,
                                        &session->network, &session->callers, err);
}

static lull_status study(struct wave_session *session, const char *path, struct lull_error *err)
{
    const bool first = lull_team_is_first(session->wanted->team);
    lull_status status = session->wanted->no_replay ? read_alone(session, path, err)
                                                    : read_for_replay(session, path, err);
    if (status != LULL_OK)
        return status;
    session->together = session->measured.survey && lull_division_divides(session->run->division);
    if (session->together)
        status =
            lull_measured_survey_to_all(&session->measured, session->run->runs.runs[0].trace,
                                        session->wanted->application, session->wanted->team, err);
    if (status == LULL_OK && first)
        status = find_measured(session, path, err);
    if (session->run->division)
        status = lull_team_agree(session->wanted->team, status, err);
    if (status == LULL_OK)
        status = draw(session, &session->run->measured, err);
    if (status == LULL_OK && session->together)
        status = tell_all(session, err);
    if (status != LULL_OK || !(first ? session->run->replays : session->together))
        return status; /* the first member has its results already */
    return replay_all_scenes(session, err);
}

lull_status lull_wave_run_make(const char *path, const struct lull_wave_run_options *options,
                               struct lull_notices *notices, struct lull_arena *arena,
                               struct lull_wave_run *ret_run, struct lull_error *err)
{
    struct wave_session session = {
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
