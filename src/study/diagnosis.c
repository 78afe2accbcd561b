/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/diagnosis.h"

#include "diagnose/diagnose.h"
#include "machine/machine.h"
#include "replay/program/devices.h"
#include "sim/spec.h"
#include "study/model/hot_loops.h"
#include "study/notices.h"
#include "study/replay/fixes.h"
#include "study/runs.h"

#include <limits.h>
#include <stdlib.h>

/* At most so many findings get a price: the first ones, which may be worth most. */
enum { DIAGNOSIS_REPLAYS = 12 };

/* ==== prices ================================================================================== */

/* Why this run is not replayed, as a sentence; NULL: it can be. */
static const char *why_not(const struct lull_run *run, const struct lull_diagnosis_options *options,
                           struct lull_arena *arena)
{
    if (options->no_prices)
        return "Replays were switched off.";
    const char *absent = lull_fixes_absent(run);
    if (absent)
        return lull_arena_printf(arena, "The run cannot be replayed: %s.", absent);
    if (run->ideal && run->ideal->operations > LULL_REPLAY_CHECK_MOST)
        return lull_arena_printf(
            arena,
            "Runs with more than %d operations are not replayed: lull replay does, "
            "with the options that each finding names.",
            LULL_REPLAY_CHECK_MOST);
    return NULL;
}

/* Chooses the first findings that can be replayed, up to DIAGNOSIS_REPLAYS, and tells the others
 * why they have no price. Returns how many were chosen. */
static uint32_t choose(struct lull_diagnosis *diagnosis, struct lull_finding **chosen)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < diagnosis->count; i++) {
        struct lull_finding *finding = &diagnosis->findings[i];
        if (!finding->gain.absent || !finding->fix)
            continue;
        if (n == DIAGNOSIS_REPLAYS)
            finding->gain.absent = "It is not among those that may save most, which were replayed.";
        else
            chosen[n++] = finding;
    }
    return n;
}

/* What a fix saves: the replay without it minus the replay with it, and no more than `bound`, which a fix
 * of more than the finding may exceed. That replay without it differs
 * from the measured runtime; this difference is the error of the price, either way. */
static struct lull_finding_gain gain_of(int64_t runtime, int64_t replayed, int64_t fixed,
                                        int64_t bound)
{
    const int64_t error = llabs((long long)(replayed - runtime));
    fixed = replayed - fixed > bound ? replayed - bound : fixed;
    const int64_t saved = replayed - fixed;
    struct lull_finding_gain gain = {.ns = saved > 0 ? saved : 0};
    gain.low_ns = gain.ns > error ? gain.ns - error : 0;
    gain.high_ns = gain.ns + error < runtime ? gain.ns + error : runtime;
    gain.factor = fixed > 0 ? (double)replayed / (double)fixed : 1;
    gain.too_small = gain.ns <= error;
    return gain;
}

/* Adds the cuts and changes of `fix` to those of `all`. False: they do not fit, or contradict each
 * other. */
static bool add_all(struct lull_what_if_options *all, const struct lull_what_if_options *fix)
{
    if (all->n_cuts + fix->n_cuts > LULL_WHAT_IF_CUTS ||
        all->n_threads + fix->n_threads > LULL_WHAT_IF_THREADS ||
        (all->balance && fix->balance && all->balanced != fix->balanced))
        return false;
    if (all->n_regions + fix->n_regions > LULL_WHAT_IF_REGIONS)
        return false;
    for (uint32_t i = 0; i < fix->n_regions; i++) {
        all->factors[all->n_regions] = fix->factors[i];
        all->regions[all->n_regions++] = fix->regions[i];
    }
    all->devices.no_latency |= fix->devices.no_latency;
    all->devices.ahead |= fix->devices.ahead;
    all->devices.no_copies |= fix->devices.no_copies;
    all->devices.overlap |= fix->devices.overlap;
    all->devices.graphs_if_any |= fix->devices.graphs_if_any;
    all->devices.balance |= fix->devices.balance;
    all->devices.free_exchanges |= fix->devices.free_exchanges;
    all->eager |= fix->eager;
    all->no_noise |= fix->no_noise;
    if (fix->balance) {
        all->balance = true;
        all->balanced = fix->balanced;
        all->balance_share = fix->balance_share;
    }
    for (uint32_t i = 0; i < fix->n_cuts; i++)
        all->cuts[all->n_cuts++] = fix->cuts[i];
    for (uint32_t i = 0; i < fix->n_threads; i++)
        all->threads[all->n_threads++] = fix->threads[i];
    return true;
}

/* ---- what is replayed ------------------------------------------------------------------------ */

/* The fixes that all members of a team replay: those of the findings that were chosen and, if these
 * fit together, all of them at once as the last item. */
struct suppositions {
    uint32_t n;
    const struct lull_what_if_options *items[DIAGNOSIS_REPLAYS + 1];
    bool ideal_network[DIAGNOSIS_REPLAYS + 1]; /* not the measured one */
    struct lull_arena *arena;
};

static void suppose_findings(struct lull_finding *const *chosen, uint32_t n, uint32_t application,
                             struct suppositions *suppositions)
{
    struct lull_what_if_options *all = lull_arena_zero(suppositions->arena, 1, sizeof *all);
    bool together = n > 1;
    all->application = application;
    for (uint32_t i = 0; i < n; i++) {
        suppositions->items[i] = chosen[i]->fix;
        suppositions->ideal_network[i] = chosen[i]->ideal_network;
        suppositions->ideal_network[n] |= chosen[i]->ideal_network;
        together = together && add_all(all, chosen[i]->fix);
    }
    suppositions->items[n] = all;
    suppositions->n = n + together;
}

static bool put_suppositions(void *context, struct lull_flow *flow)
{
    const struct suppositions *suppositions = context;
    bool good =
        lull_flow_put(flow, &suppositions->n, sizeof suppositions->n) &&
        lull_flow_put(flow, suppositions->ideal_network, sizeof suppositions->ideal_network);
    for (uint32_t i = 0; i < suppositions->n && good; i++)
        good = lull_what_if_put(suppositions->items[i], flow);
    return good;
}

static bool get_suppositions(void *context, uint32_t member, struct lull_flow *flow)
{
    struct suppositions *suppositions = context;
    bool good =
        lull_flow_get(flow, &suppositions->n, sizeof suppositions->n) &&
        lull_flow_get(flow, suppositions->ideal_network, sizeof suppositions->ideal_network);
    (void)member;
    for (uint32_t i = 0; good && i < suppositions->n; i++) {
        struct lull_what_if_options *item = lull_arena_zero(suppositions->arena, 1, sizeof *item);
        good = lull_what_if_get(item, suppositions->arena, flow);
        suppositions->items[i] = item;
    }
    return good;
}

/* ---- prices ---------------------------------------------------------------------------------- */

/* Takes the command with a replay out of each finding, because it would fail on this run. */
static void leave_out_replays(struct lull_diagnosis *diagnosis)
{
    for (uint32_t i = 0; i < diagnosis->count; i++)
        if (diagnosis->findings[i].fix)
            diagnosis->findings[i].next = NULL;
}

/* Finds, on the first member, what is to be replayed, which may be nothing. Returns how many
 * findings were chosen. */
static uint32_t choose_fixes(const struct lull_run *run,
                             const struct lull_diagnosis_options *options,
                             struct lull_diagnosis *diagnosis, struct lull_finding **chosen,
                             struct suppositions *suppositions)
{
    const uint32_t n = choose(diagnosis, chosen);
    diagnosis->priced = why_not(run, options, suppositions->arena);
    if (lull_fixes_absent(run) && !(run->ideal && run->ideal->incomplete))
        leave_out_replays(diagnosis);
    if (n > 0 && !diagnosis->priced)
        suppose_findings(chosen, n, run->reading->application, suppositions);
    return n;
}

/* Replays the suppositions: ret_runtimes[n] with each of them, *ret_replayed with none. Returns
 * NULL, or a sentence in the arena that says why the replays failed. */
static const char *replay_suppositions(const struct lull_run *run,
                                       const struct suppositions *suppositions,
                                       int64_t *ret_runtimes, int64_t *ret_replayed)
{
    struct lull_fix fixes[DIAGNOSIS_REPLAYS + 1];
    struct lull_error why;
    struct lull_network ideal = {0};
    struct lull_spec *spec;
    lull_status status = lull_spec_parse("ideal", suppositions->arena, &spec, &why);
    if (status == LULL_OK)
        status = lull_replay_read_network(spec, run->trace, run->reading->application,
                                          suppositions->arena, &ideal, &why);
    for (uint32_t i = 0; i < suppositions->n; i++)
        fixes[i] = (struct lull_fix){.what_if = suppositions->items[i],
                                     .network = suppositions->ideal_network[i] ? &ideal : NULL};
    if (status == LULL_OK)
        status = lull_fixes_replay(run, fixes, suppositions->n, ret_runtimes, ret_replayed, &why);
    return status == LULL_OK
               ? NULL
               : lull_arena_printf(suppositions->arena, "The replay failed: %s.", why.text);
}

/* Why a replay with a fix tells nothing; NULL: it does. */
static const char *why_untold(const struct lull_run *run, const struct lull_what_if_options *fix)
{
    const struct lull_replay_devices *devices =
        lull_survey_devices(run->replay_base->measured.survey);
    return fix->devices.free_exchanges &&
                   (!devices || lull_replay_devices_exchanges(devices)->count == 0)
               ? "The run does not tell which kernels of NCCL belong together."
               : NULL;
}

lull_status lull_diagnosis_price(const struct lull_run *run,
                                 const struct lull_diagnosis_options *options,
                                 struct lull_diagnosis *diagnosis, struct lull_arena *arena,
                                 struct lull_error *err)
{
    const struct lull_division *division = lull_run_division(run);
    struct lull_team *team = lull_division_team(division);
    struct lull_finding *chosen[DIAGNOSIS_REPLAYS];
    int64_t runtimes[DIAGNOSIS_REPLAYS + 1] = {0}, replayed = 0;
    struct suppositions suppositions = {.arena = arena};
    const struct lull_freight freight = {put_suppositions, get_suppositions, &suppositions,
                                         "what is to be replayed"};
    const char *failed = NULL;
    uint32_t n = 0;
    if (!division && !diagnosis)
        return LULL_OK; /* the first member replays alone */
    if (diagnosis)
        n = choose_fixes(run, options, diagnosis, chosen, &suppositions);
    lull_status status = lull_team_spread(team, &freight, err);
    if (status == LULL_OK && suppositions.n > 0)
        failed = replay_suppositions(run, &suppositions, runtimes, &replayed);
    status = lull_team_agree(team, status, err);
    if (status != LULL_OK || !diagnosis)
        return status;
    diagnosis->priced = failed ? failed : diagnosis->priced;
    for (uint32_t i = 0; i < n; i++) {
        const char *absent =
            diagnosis->priced ? diagnosis->priced : why_untold(run, chosen[i]->fix);
        if (absent)
            chosen[i]->gain.absent = absent;
        else
            chosen[i]->gain =
                gain_of(run->breakdown->runtime_ns, replayed, runtimes[i], chosen[i]->bound_ns);
    }
    if (suppositions.n > n && !failed)
        diagnosis->together = gain_of(run->breakdown->runtime_ns, replayed, runtimes[n], INT64_MAX);
    lull_findings_sort(diagnosis->findings, diagnosis->count, diagnosis->cores);
    return LULL_OK;
}

/* ==== the diagnosis =========================================================================== */

/* ---- while the run is read ------------------------------------------------------------------- */

struct evidence_state {
    struct lull_work_collector *work;
    struct lull_messages_collector *messages;
};

static lull_status evidence_create(void *state, const void *options, struct lull_joint_pass *joint,
                                   struct lull_error *err)
{
    struct evidence_state *evidence = state;
    (void)options;
    lull_status status = lull_work_create(joint->trace, joint->workers, &evidence->work, err);
    if (status != LULL_OK)
        return status;
    lull_joint_pass_add(joint, lull_work_consumer(evidence->work));
    if (!joint->has_messages)
        return LULL_OK;
    status = lull_messages_create(joint->trace, joint->workers, &evidence->messages, err);
    if (status == LULL_OK)
        lull_joint_pass_add_messages(joint,
                                     (struct lull_message_taker){.message = lull_messages_take,
                                                                 .context = evidence->messages});
    return status;
}

static bool put_evidence(void *context, struct lull_flow *flow)
{
    const struct evidence_state *evidence = context;
    return lull_work_put(evidence->work, flow) &&
           (!evidence->messages || lull_messages_put(evidence->messages, flow));
}

static bool get_evidence(void *context, uint32_t member, struct lull_flow *flow)
{
    struct evidence_state *evidence = context;
    (void)member;
    return lull_work_get(evidence->work, flow) &&
           (!evidence->messages || lull_messages_get(evidence->messages, flow));
}

static lull_status evidence_gather(void *state, const struct lull_joint_pass *joint,
                                   struct lull_error *err)
{
    const struct lull_freight freight = {put_evidence, get_evidence, state,
                                         "the evidence of a diagnosis"};
    return joint->reading->division ? lull_team_bring(joint->reading->division->team, &freight, err)
                                    : LULL_OK;
}

static void evidence_release(void *state)
{
    const struct evidence_state *evidence = state;
    lull_work_destroy(evidence->work);
    lull_messages_destroy(evidence->messages);
}

const struct lull_analysis lull_evidence_analysis = {.size = sizeof(struct evidence_state),
                                                     .create = evidence_create,
                                                     .gather = evidence_gather,
                                                     .release = evidence_release};

/* ---- the evidence ---------------------------------------------------------------------------- */

/* Adds the waves of a field to the evidence; adds nothing where they cannot be found. */
static void find_waves(const struct lull_wave_field *field, struct lull_arena *arena,
                       struct lull_evidence *evidence)
{
    static const struct lull_wave_options usual = {0};
    const struct lull_wave_graph *graph;
    struct lull_waves *waves = lull_arena_zero(arena, 1, sizeof *waves);
    struct lull_wave_outliers outliers;
    struct lull_error ignored;
    if (!field || lull_wave_graph_make(field, NULL, arena, &graph, &ignored) != LULL_OK ||
        lull_wave_outliers_find(field, usual.least, arena, &outliers, &ignored) != LULL_OK ||
        lull_waves_find(field, graph, &outliers, &usual, arena, waves, &ignored) != LULL_OK)
        return;
    evidence->field = field;
    evidence->graph = graph;
    evidence->waves = waves;
}

/* How memory bandwidth grows with the cores, from the kernel that was measured on the most numbers
 * of cores; NULL: no kernel was. */
static const struct lull_memory_curve *memory_of(const struct lull_machine *machine,
                                                 struct lull_arena *arena)
{
    static const char *const kernels[] = {"memory.load", "memory.copy", "memory.triad"};
    struct lull_memory_curve *best = NULL;
    for (size_t k = 0; machine && k < sizeof kernels / sizeof *kernels; k++) {
        struct lull_memory_point *points =
            lull_arena_zero(arena, machine->numbers.count + 1, sizeof *points);
        uint32_t n = 0;
        unsigned cores = UINT_MAX;
        const struct lull_number *number;
        while (cores > 0 &&
               (number = lull_machine_find_threads(machine, kernels[k], cores, &cores))) {
            if (number->value > 0)
                points[n++] = (struct lull_memory_point){cores, number->value};
            cores--;
        }
        for (uint32_t i = 0; i < n / 2; i++) { /* turns them round: the most cores came first */
            const struct lull_memory_point point = points[i];
            points[i] = points[n - 1 - i];
            points[n - 1 - i] = point;
        }
        if (n > (best ? best->count : 0)) {
            best = lull_arena_zero(arena, 1, sizeof *best);
            *best = (struct lull_memory_curve){points, n};
        }
    }
    return best;
}

/* The loops of which it is known how near they are to what a machine allows. */
static void tell_loops(const struct lull_hot_loops *hot, struct lull_arena *arena,
                       struct lull_evidence *evidence)
{
    struct lull_evidence_loop *loops = lull_arena_zero(arena, LULL_HOT_LOOPS, sizeof *loops);
    uint32_t n = 0;
    for (uint32_t i = 0; hot && i < hot->n_loops; i++) {
        const struct lull_hot_loop *loop = &hot->loops[i];
        if (!loop->why && loop->share > 0) /* false where it is not known */
            loops[n++] = (struct lull_evidence_loop){
                .name = loop->row->label,
                .function = loop->row->function,
                .file = loop->row->file,
                .line = loop->row->first,
                .useful_ns = loop->row->useful_ns,
                .of_useful = loop->row->share,
                .of_limit = loop->share,
                .of_limit_most = loop->share * loop->row->share / loop->row->low,
                .measured = loop->measured,
                .allowed = loop->allowed,
                .limit = loop->limit,
                .compilation = loop->compilation,
                .other_machine = hot->other != NULL};
    }
    evidence->loops = loops;
    evidence->n_loops = n;
}

static uint32_t cores_of(const struct lull_run *run)
{
    return run->threads ? run->threads : 1;
}

/* NULL: the run was not read. */
static const struct lull_work *work_of_run(const struct lull_run *run, struct lull_arena *arena)
{
    const struct evidence_state *collected = lull_run_state(run, &lull_evidence_analysis);
    struct lull_work *work = collected ? lull_arena_zero(arena, 1, sizeof *work) : NULL;
    if (collected)
        lull_work_conclude(collected->work, arena, work);
    return work;
}

void lull_diagnosis_make(const struct lull_run *run, const struct lull_run *reference,
                         enum lull_scaling scaling, const struct lull_wave_field *field,
                         const struct lull_diagnosis_options *options, struct lull_arena *arena,
                         struct lull_diagnosis *ret_diagnosis)
{
    const struct evidence_state *collected = lull_run_state(run, &lull_evidence_analysis);
    struct lull_evidence evidence = {.path = run->path,
                                     .trace = run->trace,
                                     .reading = run->reading,
                                     .breakdown = run->breakdown,
                                     .input = run->input,
                                     .waits = run->waits,
                                     .values = run->values,
                                     .scaling = scaling,
                                     .memory = memory_of(options->machine, arena)};
    struct lull_diagnosis diagnosis = {.cores = cores_of(run),
                                       .together = {.absent = "Fewer than two have a price."}};
    evidence.work = work_of_run(run, arena);
    tell_loops(options->hot, arena, &evidence);
    if (collected && collected->messages)
        evidence.messages = lull_messages_conclude(collected->messages, arena);
    find_waves(field, arena, &evidence);
    if (reference && reference != run) {
        evidence.reference = reference->breakdown;
        evidence.reference_name = reference->name;
        evidence.reference_work = work_of_run(reference, arena);
    }
    diagnosis.count = lull_diagnose(&evidence, arena, &diagnosis.findings);
    *ret_diagnosis = diagnosis;
}
