#include "study/diagnosis/diagnosis.h"

#include <limits.h>

/* ---- while the run is read ----------------------------------------------------------------- */

lull_status lull_diagnosis_join(struct lull_diagnosis_evidence *evidence,
                                struct lull_joint_pass *joint, struct lull_error *err)
{
    lull_status status = lull_work_create(joint->trace, joint->workers, &evidence->work, err);
    if (status != LULL_OK)
        return status;
    joint->consumers[joint->n_consumers++] = lull_work_consumer(evidence->work);
    if (!joint->wants_ideal || joint->ideal.message)
        return LULL_OK;
    status = lull_messages_create(joint->trace, joint->workers, &evidence->messages, err);
    if (status == LULL_OK) {
        joint->ideal.message = lull_messages_take;
        joint->ideal.message_context = evidence->messages;
    }
    return status;
}

static bool put_evidence(void *context, struct lull_flow *flow)
{
    const struct lull_diagnosis_evidence *evidence = context;
    return lull_work_put(evidence->work, flow) &&
           (!evidence->messages || lull_messages_put(evidence->messages, flow));
}

static bool get_evidence(void *context, uint32_t member, struct lull_flow *flow)
{
    struct lull_diagnosis_evidence *evidence = context;
    (void)member;
    return lull_work_get(evidence->work, flow) &&
           (!evidence->messages || lull_messages_get(evidence->messages, flow));
}

lull_status lull_diagnosis_gather(struct lull_diagnosis_evidence *evidence, struct lull_team *team,
                                  struct lull_error *err)
{
    const struct lull_freight freight = {put_evidence, get_evidence, evidence,
                                         "the evidence of a diagnosis"};
    return lull_team_bring(team, &freight, err);
}

void lull_diagnosis_release(struct lull_diagnosis_evidence *evidence)
{
    lull_work_destroy(evidence->work);
    lull_messages_destroy(evidence->messages);
    *evidence = (struct lull_diagnosis_evidence){0};
}

/* ---- the evidence -------------------------------------------------------------------------- */

/* Waves of a field; none where they cannot be found. */
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

/* By its kernel that is measured for most numbers of cores. */
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
        for (uint32_t i = 0; i < n / 2; i++) { /* the most cores came first */
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

static uint32_t cores_of(const struct lull_run *run)
{
    return run->threads ? run->threads : 1;
}

void lull_diagnosis_make(const struct lull_run *run, const struct lull_run *reference,
                         enum lull_scaling scaling, const struct lull_diagnosis_evidence *collected,
                         const struct lull_wave_field *field,
                         const struct lull_diagnosis_options *options, struct lull_arena *arena,
                         struct lull_diagnosis *ret_diagnosis)
{
    struct lull_evidence evidence = {.path = run->path,
                                     .trace = run->trace,
                                     .application = options->application,
                                     .breakdown = run->breakdown,
                                     .input = run->input,
                                     .waits = run->waits,
                                     .values = run->values,
                                     .scaling = scaling,
                                     .memory = memory_of(options->machine, arena)};
    struct lull_diagnosis diagnosis = {.cores = cores_of(run),
                                       .together = {.absent = "Fewer than two have a price."}};
    if (collected->work) {
        struct lull_work *work = lull_arena_zero(arena, 1, sizeof *work);
        lull_work_conclude(collected->work, arena, work);
        evidence.work = work;
    }
    if (collected->messages)
        evidence.messages = lull_messages_conclude(collected->messages, arena);
    find_waves(field, arena, &evidence);
    if (reference && reference != run) {
        evidence.reference = reference->breakdown;
        evidence.reference_name = reference->name;
    }
    diagnosis.count = lull_diagnose(&evidence, arena, &diagnosis.findings);
    *ret_diagnosis = diagnosis;
}
