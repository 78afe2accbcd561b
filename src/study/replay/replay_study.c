/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/replay/replay_study.h"

#include "base/sorted.h"
#include "replay/measured_network.h"
#include "replay/program/devices.h"
#include "replay/shared_replay.h"
#include "replay/warp.h"
#include "sim/disturbance.h"
#include "sim/network/machine.h"
#include "study/compare.h"
#include "study/replay/replayed_run.h"
#include "study/runs.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ==== a prediction against a measured run ===================================================== */

double lull_against_error(const int64_t sides[LULL_AGAINST_SIDES])
{
    if (sides[LULL_MEASURED] <= 0)
        return (double)NAN;
    return (double)sides[LULL_PREDICTED] / (double)sides[LULL_MEASURED] - 1;
}

/* Reads the measured run. The caller calls against_close, also after a failure. */
static lull_status against_load(const char *path, const struct lull_runs_options *options,
                                struct lull_notices *notices, struct lull_arena *arena,
                                struct lull_against *ret_against, struct lull_error *err)
{
    struct lull_runs_options wanted = *options;
    wanted.no_replay = true;
    *ret_against = (struct lull_against){0};
    lull_status status = lull_runs_load(&path, 1, &wanted, notices, arena, &ret_against->runs, err);
    if (status != LULL_OK)
        return status;
    const struct lull_run *run = &ret_against->runs.runs[0];
    if (!run->trace)
        return lull_fail(err, LULL_ERR_RANGE, "%s: is a saved profile, expected a trace", path);
    ret_against->disturbance = run->trace->disturbed;
    return LULL_OK;
}

static void against_close(struct lull_against *against)
{
    lull_runs_close(&against->runs);
}

/* Reads, from the measured run, how it was disturbed on purpose; *ret_disturbance NULL: it was
 * not. */
static lull_status against_disturbance(const struct lull_against *against, struct lull_arena *arena,
                                       const struct lull_disturbance **ret_disturbance,
                                       struct lull_error *err)
{
    const struct lull_run *run = &against->runs.runs[0];
    *ret_disturbance = NULL;
    if (!against->disturbance)
        return LULL_OK;
    struct lull_disturbance *disturbance = lull_arena_alloc(arena, sizeof *disturbance);
    *disturbance = lull_disturbance_none(arena, run->trace->disturbed_seed);
    lull_status status = lull_disturbance_add_lines(disturbance, against->disturbance, err);
    if (status != LULL_OK)
        return lull_fail_prefix(err, status, "%s: what it was disturbed with", run->path);
    *ret_disturbance = disturbance;
    return LULL_OK;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* The share of time that the masters among some threads spend in MPI. */
static double mpi_share(const struct lull_thread_breakdown *threads, uint32_t n_threads)
{
    int64_t mpi = 0, all = 0;
    for (uint32_t t = 0; t < n_threads; t++) {
        const struct lull_thread_breakdown *thread = &threads[t];
        if (!thread->master)
            continue;
        for (unsigned a = 0; a < LULL_ACTIVITIES; a++) {
            const int64_t ns = thread->times.ns[a][0] + thread->times.ns[a][1];
            all += ns;
            mpi += a >= LULL_MPI_P2P && a <= LULL_MPI_OTHER ? ns : 0;
        }
    }
    return all > 0 ? (double)mpi / (double)all : (double)NAN;
}

static double share_of_process(const struct lull_breakdown *breakdown, uint32_t process)
{
    const struct lull_process_breakdown *of = &breakdown->processes[process];
    return mpi_share(breakdown->threads + of->first_thread, of->n_threads);
}

/* The process of a rank; LULL_NONE: there is none. Processes are sorted by application and rank. */
static uint32_t process_of(const struct lull_trace *trace, uint32_t application, uint32_t rank)
{
    struct lull_bisection at = {.end = trace->n_processes};
    while (lull_bisect(&at)) {
        const struct lull_process *process = &trace->processes[at.middle];
        at.in_front = process->application < application ||
                      (process->application == application && process->rank < rank);
    }
    if (at.begin == trace->n_processes)
        return LULL_NONE;
    const struct lull_process *found = &trace->processes[at.begin];
    return found->application == application && found->rank == rank && found->n_threads > 0
               ? (uint32_t)at.begin
               : LULL_NONE;
}

/* The time of a process from MPI_Init to MPI_Finalize, in times of `warp` if there is one; `whole`
 * if it is not known. */
static int64_t time_of_process(const struct lull_trace *trace, uint32_t process,
                               const struct lull_warp *warp, int64_t whole)
{
    if (!trace->has_main || process == LULL_NONE)
        return whole;
    const struct lull_process *of = &trace->processes[process];
    if (of->main_end <= of->main_begin)
        return whole;
    if (!warp)
        return of->main_end - of->main_begin;
    return lull_warp_time(warp, process, of->main_end) -
           lull_warp_time(warp, process, of->main_begin);
}

/* Compares the two runs. Times of the predicted one are changed by `warp`, which was made from the
 * trace `origin`. Fails with LULL_ERR_RANGE if the runs do not have the same ranks. */
static lull_status against_compare(struct lull_against *against, const struct lull_run *predicted,
                                   const struct lull_warp *warp, const struct lull_trace *origin,
                                   uint32_t application, struct lull_arena *arena,
                                   struct lull_error *err)
{
    const struct lull_run *sides[] = {predicted, &against->runs.runs[0]};
    const struct lull_run *measured = sides[LULL_MEASURED];
    const uint32_t n = measured->breakdown->n_processes;
    if (predicted->breakdown->n_processes != n)
        return lull_fail(err, LULL_ERR_RANGE, "%s: has %u processes, expected %u as %s has",
                         measured->path, n, predicted->breakdown->n_processes, predicted->path);
    against->n_processes = n;
    against->processes = lull_arena_zero(arena, n, sizeof *against->processes);
    for (unsigned side = 0; side < LULL_AGAINST_SIDES; side++) {
        const struct lull_breakdown *breakdown = sides[side]->breakdown;
        against->runtime[side] = breakdown->runtime_ns;
        against->mpi_share[side] = mpi_share(breakdown->threads, breakdown->n_threads);
    }
    for (uint32_t p = 0; p < n; p++) {
        const uint32_t rank = measured->breakdown->processes[p].rank;
        if (predicted->breakdown->processes[p].rank != rank)
            return lull_fail(err, LULL_ERR_RANGE, "%s: has rank %u where %s has rank %u",
                             measured->path, rank, predicted->path,
                             predicted->breakdown->processes[p].rank);
        against->processes[p] = (struct lull_against_process){
            .rank = rank,
            .time = {time_of_process(origin, process_of(origin, application, rank), warp,
                                     against->runtime[LULL_PREDICTED]),
                     time_of_process(measured->trace,
                                     process_of(measured->trace, application, rank), NULL,
                                     against->runtime[LULL_MEASURED])},
            .mpi_share = {share_of_process(predicted->breakdown, p),
                          share_of_process(measured->breakdown, p)}};
    }
    return LULL_OK;
}

/* ==== the supposition ========================================================================= */

static lull_status check_networks(const struct lull_sweep *networks, struct lull_arena *arena,
                                  struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (uint64_t p = 0; status == LULL_OK && p < networks->n_points; p++) {
        struct lull_network network;
        status = lull_replay_read_network(lull_sweep_spec(networks, p, 0, arena), NULL, 0, arena,
                                          &network, err);
    }
    return status;
}

lull_status lull_replay_networks_read(const char *text, struct lull_arena *arena,
                                      const struct lull_sweep **ret_networks,
                                      struct lull_error *err)
{
    const struct lull_spec **specs = lull_arena_zero(arena, 1, sizeof *specs);
    struct lull_spec *spec = NULL;
    lull_status status = lull_spec_parse(text, arena, &spec, err);
    specs[0] = spec;
    if (status == LULL_OK)
        status = lull_sweep_make(specs, 1, arena, ret_networks, err);
    return status == LULL_OK ? check_networks(*ret_networks, arena, err) : status;
}

/* Reads the machine file, and checks that it has a network before a trace is read. */
static lull_status read_machine(const char *path, struct lull_arena *arena,
                                const struct lull_machine **ret_machine, struct lull_error *err)
{
    struct lull_machine *machine;
    struct lull_network network;
    const char *note;
    lull_status status = lull_machine_read(path, arena, &machine, err);
    if (status != LULL_OK)
        return status;
    *ret_machine = machine;
    return lull_network_from_machine(machine, NULL, 1, arena, &network, &note, err) == LULL_OK
               ? LULL_OK
               : lull_fail_prefix(err, LULL_ERR_FORMAT, "%s", path);
}

static lull_status read_network(const struct lull_supposition_texts *texts,
                                struct lull_arena *arena, struct lull_supposition *supposition,
                                struct lull_error *err)
{
    if (texts->machine && texts->network)
        return lull_fail(err, LULL_ERR_RANGE, "--network and --machine exclude each other");
    if (texts->machine)
        return read_machine(texts->machine, arena, &supposition->machine, err);
    if (texts->network &&
        lull_replay_networks_read(texts->network, arena, &supposition->networks, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--network");
    return LULL_OK;
}

/* ---- in words -------------------------------------------------------------------------------- */

static uint32_t add_words(const char **words, uint32_t n, const char *option, const char *value)
{
    if (!value)
        return n;
    words[n] = option;
    words[n + 1] = value;
    return n + 2;
}

static const char *const *spell(const struct lull_supposition_texts *texts,
                                const struct lull_what_if_options *what_if,
                                struct lull_arena *arena)
{
    enum { SINGLE = 4 }; /* options that are not repeated */
    const char **of_what_if;
    const uint32_t n_of_what_if = lull_what_if_spell(what_if, arena, &of_what_if);
    uint32_t n_injected = 0, n = 0;
    while (texts->inject && texts->inject[n_injected])
        n_injected++;
    const size_t most = n_of_what_if + 2 * ((size_t)n_injected + SINGLE);
    const char **words = lull_arena_zero(arena, most + 1, sizeof *words);
    n = add_words(words, n, "--network", texts->network);
    n = add_words(words, n, "--machine", texts->machine);
    n = add_words(words, n, "--cpu-speed", texts->cpu_speed);
    for (uint32_t i = 0; i < n_of_what_if; i++)
        words[n++] = of_what_if[i];
    for (uint32_t i = 0; i < n_injected; i++)
        n = add_words(words, n, "--inject", texts->inject[i]);
    add_words(words, n, "--seed", n_injected ? texts->seed : NULL);
    return words;
}

lull_status lull_supposition_read(const struct lull_supposition_texts *texts,
                                  struct lull_arena *arena, struct lull_supposition *supposition,
                                  struct lull_error *err)
{
    struct lull_what_if_options *what_if = &supposition->what_if;
    if (texts->cpu_speed && !lull_factor_read(texts->cpu_speed, &supposition->cpu_speed))
        return lull_fail(err, LULL_ERR_RANGE, "--cpu-speed is '%s', expected a number above 0",
                         texts->cpu_speed);
    lull_status status = lull_what_if_regions_read(texts->regions, arena, what_if, err);
    if (status == LULL_OK)
        status = lull_what_if_cuts_read(texts->medians, arena, what_if, err);
    if (status == LULL_OK)
        status = read_network(texts, arena, supposition, err);
    if (status != LULL_OK)
        return status;
    supposition->words = spell(texts, what_if, arena);
    if (supposition->disturbance && supposition->disturbance->has_network &&
        (supposition->networks || supposition->machine))
        return lull_fail(err, LULL_ERR_RANGE,
                         "--inject with a network, and --network or --machine, exclude each other");
    if (supposition->against && supposition->has_window)
        return lull_fail(err, LULL_ERR_RANGE,
                         "--against compares whole runs: --window cannot be used with it");
    if (supposition->against && supposition->networks && supposition->networks->n_points > 1)
        return lull_fail(err, LULL_ERR_RANGE,
                         "--against compares one prediction, not those of a sweep");
    return LULL_OK;
}

/* ==== the study =============================================================================== */

/* What the steps of the study share. */
struct replay_session {
    const struct lull_supposition *supposition;
    struct lull_replay_study *study;
    struct lull_runs_options wanted;
    struct lull_measured *measured; /* NULL: no events were read */
    struct lull_what_if *what_if;   /* NULL: computations stay as they are */
    bool learns_part;               /* `what_if` knows of this member's processes only */
    const struct lull_disturbance *disturbance; /* NULL: none */
    const bool *callers;                        /* study/runs.h */
    /* All members of the team replay; else the first member does, and the others have no more to
     * do. */
    bool together;
    struct lull_notices *notices;
    struct lull_arena *arena;
};

static const struct lull_trace *measured_trace(const struct replay_session *session)
{
    return session->study->runs.runs[0].trace;
}

/* ---- the measured run ------------------------------------------------------------------------ */

static bool sweeps(const struct lull_supposition *supposition)
{
    return supposition->networks && supposition->networks->n_points > 1;
}

/* The state of the analysis that finds what a what-if has to know of the run. */
struct what_if_state {
    struct lull_what_if *what_if;
};

static lull_status what_if_create(void *state, const void *options, struct lull_joint_pass *joint,
                                  struct lull_error *err)
{
    struct what_if_state *learning = state;
    const struct lull_division *division = joint->reading->division;
    const struct lull_what_if_part part = {lull_division_team(division), joint->reading->range};
    struct lull_consumer consumer;
    lull_status status = lull_what_if_create(joint->trace, options, &part, &learning->what_if, err);
    if (status != LULL_OK || !lull_what_if_learns(learning->what_if))
        return status;
    joint->pass.marks = lull_what_if_marks(learning->what_if);
    status = lull_what_if_consumer(learning->what_if, &consumer, err);
    if (status == LULL_OK)
        lull_joint_pass_add(joint, consumer);
    return status;
}

static void what_if_release(void *state)
{
    const struct what_if_state *learning = state;
    lull_what_if_destroy(learning->what_if);
}

static const struct lull_analysis what_if_analysis = {
    .size = sizeof(struct what_if_state), .create = what_if_create, .release = what_if_release};

/* Reads the measured run. What later replays need is found in the same pass as the breakdown. */
static lull_status load_measured(struct replay_session *session, const char *path,
                                 struct lull_error *err)
{
    struct lull_runs *runs = &session->study->runs;
    const struct lull_what_if_options *what_if = &session->supposition->what_if;
    const struct lull_asked asked[] = {{.analysis = &lull_measured_analysis},
                                       {.analysis = &what_if_analysis, .options = what_if}};
    struct lull_runs_options wanted = session->wanted;
    wanted.asked = asked;
    wanted.n_asked = lull_what_if_supposes(what_if) ? 2 : 1;
    wanted.team = session->supposition->team;
    lull_status status =
        lull_runs_load(&path, 1, &wanted, session->notices, session->arena, runs, err);
    const struct lull_run *run = runs->count > 0 ? &runs->runs[0] : NULL;
    struct what_if_state *learned = run ? lull_run_state(run, &what_if_analysis) : NULL;
    if (learned) {
        session->what_if = learned->what_if;
        session->learns_part = run->reading->division != NULL;
        learned->what_if = NULL;
    }
    session->measured = run ? lull_run_state(run, &lull_measured_analysis) : NULL;
    return status;
}

static void count_exchanges(struct replay_session *session)
{
    const struct lull_replay_devices *devices = lull_survey_devices(session->measured->survey);
    const struct lull_exchanges *exchanges =
        devices ? lull_replay_devices_exchanges(devices) : NULL;
    if (exchanges)
        session->study->exchanges = (struct lull_known_exchanges){
            exchanges->n_all, exchanges->n_known, exchanges->n_sized, false};
}

/* Checks that the run can be replayed, and finds the network that its messages show. */
static lull_status prepare_network(struct replay_session *session, const char *path,
                                   struct lull_error *err)
{
    struct lull_run *run = &session->study->runs.runs[0];
    if (!run->trace)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: is a saved profile, expected a trace with its events", path);
    if (run->breakdown->from_sums || run->trace->events != LULL_EVENTS_ALL)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: cannot be replayed: it does not have the events of the whole run",
                         path);
    if (run->ideal->absent && !run->ideal->incomplete)
        return lull_fail(err, LULL_ERR_RANGE, "%s: cannot be replayed: %s: %s", path,
                         run->ideal->absent, run->ideal->detail);
    if (run->ideal->absent)
        lull_notices_add(session->notices, LULL_NOTICE_WARNING,
                         "%s: %s: %s; the replay goes on as if it were nothing", path,
                         run->ideal->absent, run->ideal->detail);
    run->name = "measured";
    const lull_status status =
        lull_measured_conclude(session->measured, session->wanted.application, session->arena,
                               &session->study->measured, err);
    if (status == LULL_OK)
        count_exchanges(session);
    return status;
}

/* Gives the replayed run the counters of the measured one: what threads count does not depend on
 * how long they wait. The replay's own events would not do: where a call takes no time, they do not
 * tell what was counted inside of it. */
static lull_status take_counters(struct lull_run *run, const struct lull_run *measured,
                                 struct lull_arena *arena, struct lull_error *err)
{
    struct lull_breakdown *to = run->breakdown;
    const struct lull_breakdown *from = measured->breakdown;
    assert(to->n_processes == from->n_processes && to->n_counters == from->n_counters);
    for (uint32_t p = 0; p < to->n_processes; p++) {
        const struct lull_process_breakdown *of = &from->processes[p];
        /* Behind them may be streams of copies (replay/warp.h), which count nothing. */
        assert(to->processes[p].n_threads >= of->n_threads);
        for (uint32_t t = 0; t < of->n_threads; t++)
            to->threads[to->processes[p].first_thread + t].counters =
                from->threads[of->first_thread + t].counters;
    }
    return lull_pop_from_breakdown(to, true, arena, &run->input, err);
}

/* Adds the run of a replay, as one more column. */
static lull_status add_run_of_replay(struct replay_session *session, const char *name,
                                     struct lull_replayed *replayed, struct lull_error *err)
{
    struct lull_runs *runs = &session->study->runs;
    struct lull_run *run = lull_runs_add(runs, runs->runs[0].path, session->arena);
    struct lull_runs_options wanted = session->wanted;
    run->name = name;
    run->trace = replayed->trace;
    const struct lull_division *division =
        replayed->shared ? runs->runs[0].reading->division : NULL;
    wanted.team = replayed->shared ? session->supposition->team : NULL;
    wanted.whole |= wanted.has_window; /* what was outside takes no time in the replay */
    wanted.has_window = false;
    replayed->trace = NULL; /* lull_runs_close closes it */
    lull_status status =
        lull_run_analyse(run, division, &wanted, session->notices, session->arena, err);
    if (status != LULL_OK || !lull_team_is_first(wanted.team))
        return status;
    return take_counters(run, &runs->runs[0], session->arena, err);
}

/* Learns again what the what-if needs, of all processes. It is needed where this member replays
 * alone: so far the what-if knows of this member's processes only. */
static lull_status learn_alone(struct replay_session *session, struct lull_replay_wish *wish,
                               struct lull_error *err)
{
    lull_what_if_destroy(session->what_if);
    session->what_if = NULL;
    session->learns_part = false;
    lull_status status = lull_what_if_create(
        measured_trace(session), &session->supposition->what_if, NULL, &session->what_if, err);
    wish->what_if = session->what_if;
    return status;
}

/* Makes a replay. Where the first member makes it alone, does nothing on the others. */
static lull_status make_replay(struct replay_session *session, struct lull_replay_wish *wish,
                               struct lull_replayed *ret_replayed, struct lull_error *err)
{
    lull_status status = LULL_OK;
    *ret_replayed = (struct lull_replayed){0};
    session->together = session->together && lull_shared_may_be(wish->network);
    if (session->together) {
        wish->division = session->study->runs.runs[0].reading->division;
        status =
            lull_replayed_make(measured_trace(session), wish, session->arena, ret_replayed, err);
        session->together = ret_replayed->shared;
        wish->division = NULL;
    }
    if (session->together || status != LULL_OK || !lull_team_is_first(session->supposition->team))
        return status;
    session->study->unshared = true;
    if (wish->what_if && session->learns_part)
        status = learn_alone(session, wish, err);
    return status == LULL_OK ? lull_replayed_make(measured_trace(session), wish, session->arena,
                                                  ret_replayed, err)
                             : status;
}

static lull_status replay_measured(struct replay_session *session, struct lull_error *err)
{
    struct lull_replay_study *study = session->study;
    struct lull_replay_wish wish = lull_measured_wish(session->measured, &study->runs.runs[0],
                                                      &study->measured, session->callers);
    wish.run = true;
    lull_status status = make_replay(session, &wish, &study->replayed, err);
    return status == LULL_OK && study->replayed.trace
               ? add_run_of_replay(session, "replayed", &study->replayed, err)
               : status;
}

/* ---- what if --------------------------------------------------------------------------------- */

static bool supposes_anything(const struct lull_supposition *supposition)
{
    return lull_what_if_supposes(&supposition->what_if) || supposition->networks ||
           supposition->machine || supposition->cpu_speed > 0 || supposition->disturbance;
}

/* Takes the machine's network, with the ranks on the nodes that the trace has. */
static lull_status take_machine_network(struct replay_session *session,
                                        struct lull_network *network, struct lull_error *err)
{
    struct lull_placement placement;
    const char *note;
    lull_replay_placement(measured_trace(session), session->wanted.application, session->arena,
                          &placement);
    lull_status status =
        lull_network_from_machine(session->supposition->machine, NULL, placement.n_ranks,
                                  session->arena, network, &note, err);
    if (status != LULL_OK)
        return status;
    network->placement = placement;
    if (note)
        lull_notices_add(session->notices, LULL_NOTICE_INFO, "%s.", note);
    return LULL_OK;
}

static lull_status take_injected(struct replay_session *session, struct lull_network *network,
                                 struct lull_error *err)
{
    struct lull_spec *spec;
    lull_status status =
        lull_spec_parse(lull_disturbance_network(session->disturbance), session->arena, &spec, err);
    if (status != LULL_OK)
        return status;
    return lull_replay_read_network(spec, measured_trace(session), session->wanted.application,
                                    session->arena, network, err);
}

static lull_status choose_network(struct replay_session *session, uint64_t point,
                                  struct lull_network *network, struct lull_error *err)
{
    const struct lull_supposition *supposition = session->supposition;
    lull_status status = LULL_OK;
    *network = session->study->measured;
    if (supposition->networks)
        status = lull_replay_read_network(
            lull_sweep_spec(supposition->networks, point, 0, session->arena),
            measured_trace(session), session->wanted.application, session->arena, network, err);
    if (supposition->machine)
        status = take_machine_network(session, network, err);
    if (session->disturbance && lull_disturbance_network(session->disturbance))
        status = take_injected(session, network, err);
    if (status == LULL_OK && supposition->cpu_speed > 0)
        network->cpu_speed *= supposition->cpu_speed;
    return status;
}

/* Finds, on the first member, the first delay that no computation got; NULL: all were given. `team`
 * is the team whose members have simulated together. */
static lull_status find_missed(const struct replay_session *session,
                               const struct lull_program *program, struct lull_team *team,
                               const struct lull_delay **ret_missed, struct lull_error *err)
{
    const struct lull_disturbance *disturbance = session->disturbance;
    const uint32_t n = disturbance ? disturbance->n_delays : 0;
    int64_t *have_come = lull_arena_zero(session->arena, n + (size_t)1, sizeof *have_come);
    for (uint32_t i = 0; i < n; i++)
        have_come[i] = lull_replay_was_delayed(program, i);
    lull_status status = lull_team_max(team, have_come, n, err);
    *ret_missed = NULL;
    for (uint32_t i = 0; i < n && !*ret_missed && lull_team_is_first(team); i++)
        *ret_missed = have_come[i] ? NULL : &disturbance->delays[i];
    return status;
}

/* Whether iterations that delays refer to can be told: by a function, or by marks of the program. */
static bool has_iterations(const struct replay_session *session)
{
    const struct lull_trace *trace = session->study->runs.runs[0].trace;
    if (session->disturbance->iterations)
        return true;
    for (uint32_t m = 0; m < trace->n_markers; m++)
        if (strcmp(trace->markers[m].name, "iteration") == 0)
            return true;
    return false;
}

/* Fails as lull_delay_missed does; where no delay of an iteration can come, it says why. */
static lull_status tell_missed(const struct replay_session *session,
                               const struct lull_delay *missed, struct lull_error *err)
{
    if (missed->at_iteration && !has_iterations(session))
        return lull_fail(err, LULL_ERR_RANGE,
                         "delay of rank %u: the run has no marks of iterations (lull_iteration); "
                         "with --inject iteration:call=MPI_Allreduce calls of that function begin "
                         "them",
                         missed->rank);
    return lull_delay_missed(missed, err);
}

/* Checks that each delay was given to a computation. If not, it is an error if the user typed the
 * delay, and a warning if it is from the run to compare with. */
static lull_status check_replayed_delays(struct replay_session *session,
                                         const struct lull_replayed *replayed,
                                         struct lull_error *err)
{
    struct lull_team *team = replayed->shared ? session->supposition->team : NULL;
    const char *name = replayed->program->name;
    const struct lull_delay *missed;
    struct lull_error why;
    lull_status status = find_missed(session, replayed->program, team, &missed, err);
    const lull_status late =
        status == LULL_OK && missed ? tell_missed(session, missed, &why) : LULL_OK;
    if (late != LULL_OK && session->supposition->disturbance)
        status = lull_fail(err, late, "%s: %s", name, why.text);
    else if (late != LULL_OK)
        lull_notices_add(session->notices, LULL_NOTICE_WARNING, "%s: %s; the replay is without it",
                         name, why.text);
    return lull_team_agree(team, status, err);
}

static bool supposes_network(const struct replay_session *session)
{
    return session->supposition->networks || session->supposition->machine ||
           (session->disturbance && lull_disturbance_network(session->disturbance));
}

static lull_status replay_supposition(struct replay_session *session,
                                      const struct lull_network *network, bool run,
                                      struct lull_replayed *ret_replayed, struct lull_error *err)
{
    struct lull_replay_wish wish = lull_measured_wish(
        session->measured, &session->study->runs.runs[0], network, session->callers);
    wish.keep_calls = lull_replay_kept_on(network);
    if (supposes_network(session))
        wish.exchanges = lull_replay_exchanges_on(network);
    session->study->exchanges.by_network |= wish.exchanges == LULL_EXCHANGES_BY_NETWORK;
    wish.what_if = session->what_if;
    wish.disturbance = session->disturbance;
    wish.run = run;
    lull_status status = make_replay(session, &wish, ret_replayed, err);
    if (status != LULL_OK || !ret_replayed->program)
        return status;
    status = check_replayed_delays(session, ret_replayed, err);
    if (status != LULL_OK)
        lull_replayed_close(ret_replayed);
    return status;
}

static lull_status sweep(struct replay_session *session, struct lull_error *err)
{
    const struct lull_sweep *networks = session->supposition->networks;
    struct lull_supposed_point *points =
        lull_arena_zero(session->arena, networks->n_points, sizeof *points);
    for (uint64_t p = 0; p < networks->n_points; p++) {
        struct lull_network network;
        struct lull_replayed replayed;
        lull_status status = choose_network(session, p, &network, err);
        if (status == LULL_OK)
            status = replay_supposition(session, &network, false, &replayed, err);
        if (status != LULL_OK)
            return status;
        points[p] = (struct lull_supposed_point){network.class->name, replayed.runtime};
        lull_replayed_close(&replayed);
    }
    session->study->sweep = networks;
    session->study->points = points;
    return LULL_OK;
}

static lull_status what_if(struct replay_session *session, struct lull_error *err)
{
    const struct lull_supposition *supposition = session->supposition;
    struct lull_replayed *supposed = &session->study->supposed;
    if (!supposes_anything(supposition) && !session->disturbance)
        return LULL_OK;
    if (sweeps(supposition))
        return sweep(session, err);
    struct lull_network network;
    lull_status status = choose_network(session, 0, &network, err);
    if (status == LULL_OK)
        status = replay_supposition(session, &network, true, supposed, err);
    return status == LULL_OK && supposed->trace
               ? add_run_of_replay(session, "what if", supposed, err)
               : status;
}

/* ---- against a measured run ------------------------------------------------------------------ */

/* Reads the run to compare with. If the user supposes nothing, takes from it how it was
 * disturbed. */
static lull_status load_against(struct replay_session *session, struct lull_error *err)
{
    const struct lull_supposition *supposition = session->supposition;
    session->disturbance = supposition->disturbance;
    if (!lull_team_is_first(supposition->team))
        return LULL_OK;
    if (session->disturbance) {
        const struct lull_run *run = &session->study->runs.runs[0];
        lull_status status =
            lull_disturbance_check(session->disturbance, run->breakdown->n_processes, err);
        if (status != LULL_OK)
            return lull_fail_prefix(err, status, "%s", run->path);
    }
    if (!supposition->against)
        return LULL_OK;
    struct lull_against *against = lull_arena_alloc(session->arena, sizeof *against);
    session->study->against = against;
    lull_status status = against_load(supposition->against, &session->wanted, session->notices,
                                      session->arena, against, err);
    if (status != LULL_OK || supposes_anything(supposition))
        return status;
    return against_disturbance(against, session->arena, &session->disturbance, err);
}

static lull_status compare_against(struct replay_session *session, struct lull_error *err)
{
    struct lull_replay_study *study = session->study;
    const struct lull_replayed *last = study->runs.count > 2 ? &study->supposed : &study->replayed;
    if (!study->against)
        return LULL_OK;
    return against_compare(study->against, &study->runs.runs[study->runs.count - 1], last->warp,
                           measured_trace(session), session->wanted.application, session->arena,
                           err);
}

/* Whether all members of a team may take part in the replays: they have read the run together, and
 * only the numbers of the simulated run are wanted. */
static bool may_be_together(const struct replay_session *session)
{
    const struct lull_supposition *supposition = session->supposition;
    return lull_run_division(&session->study->runs.runs[0]) && session->measured &&
           !supposition->whole_run && !supposition->against;
}

/* Finds what replays need: on the first member, and if all members replay together, on all. */
static lull_status prepare_all(struct replay_session *session, const char *path,
                               struct lull_error *err)
{
    struct lull_team *team = session->supposition->team;
    const struct lull_run *run = &session->study->runs.runs[0];
    const uint32_t application = session->wanted.application;
    lull_status status = LULL_OK;
    session->together = may_be_together(session);
    if (session->together)
        status = lull_measured_survey_to_all(session->measured, run->trace, application, team, err);
    if (status == LULL_OK && lull_team_is_first(team))
        status = prepare_network(session, path, err);
    if (status == LULL_OK && lull_team_is_first(team))
        session->callers = lull_run_callers(run, session->arena);
    if (!session->together)
        return status;
    status = lull_team_agree(team, status, err);
    if (status == LULL_OK)
        status = lull_measured_network_to_all(run->trace, application, team, session->arena,
                                              &session->study->measured, &session->callers, err);
    return status;
}

static lull_status replay_all_suppositions(struct replay_session *session, const char *path,
                                           struct lull_error *err)
{
    const bool is_first = lull_team_is_first(session->supposition->team);
    lull_status status = prepare_all(session, path, err);
    if (!session->together && !is_first)
        return status; /* the other members are not needed any more */
    if (status == LULL_OK)
        status = load_against(session, err);
    if (session->together)
        status = lull_team_agree(session->supposition->team, status, err);
    if (status == LULL_OK)
        status = replay_measured(session, err);
    if (status == LULL_OK)
        status = what_if(session, err);
    if (status != LULL_OK || !is_first)
        return status;
    status = compare_against(session, err);
    return status == LULL_OK ? lull_study_compute(&session->study->runs, session->arena, err)
                             : status;
}

lull_status lull_replay_study_make(const char *path, const struct lull_supposition *supposition,
                                   const struct lull_study_progress *progress,
                                   struct lull_notices *notices, struct lull_arena *arena,
                                   struct lull_replay_study *ret_study, struct lull_error *err)
{
    struct replay_session session = {.supposition = supposition,
                                     .study = ret_study,
                                     .wanted = {.application = supposition->application,
                                                .force = supposition->force,
                                                .whole = supposition->whole,
                                                .has_window = supposition->has_window,
                                                .from = supposition->from,
                                                .to = supposition->to,
                                                .raw_names = supposition->raw_names,
                                                .progress = progress},
                                     .notices = notices,
                                     .arena = arena};
    *ret_study = (struct lull_replay_study){.words = supposition->words};
    lull_status status = load_measured(&session, path, err);
    if (status == LULL_OK)
        status = replay_all_suppositions(&session, path, err);
    lull_what_if_destroy(session.what_if);
    return status;
}

void lull_replay_study_close(struct lull_replay_study *study)
{
    lull_replayed_close(&study->replayed);
    lull_replayed_close(&study->supposed);
    lull_runs_close(&study->runs);
    if (study->against)
        against_close(study->against);
}
