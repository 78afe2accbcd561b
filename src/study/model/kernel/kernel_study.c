#include "study/model/kernel/kernel_study.h"

const struct lull_roofline *lull_kernel_all_cores(const struct lull_kernel_wish *wish,
                                                  const struct lull_kernel_prediction *prediction,
                                                  struct lull_arena *arena)
{
    struct lull_kernel_options all = wish->options;
    struct lull_kernel_prediction *other = lull_arena_alloc(arena, sizeof *other);
    struct lull_kernel_incores incores = lull_kernel_no_incores(wish->kernel, arena);
    incores.loops[prediction->kernel->body] = &prediction->incore;
    for (size_t l = 0; l < prediction->n_loops; l++)
        incores.loops[prediction->loops[l].kernel->body] = &prediction->loops[l].incore;
    all.cores = (unsigned)prediction->n_points;
    all.simulate = false;
    all.traffic = LULL_TRAFFIC_CONDITIONS;
    if (all.cores <= wish->options.cores ||
        lull_kernel_predict(wish->kernel, wish->machine, &wish->source, &all, &incores, arena,
                            other, NULL) != LULL_OK)
        return NULL;
    return &other->roofline;
}

static lull_status predict_one(const struct lull_kernel_wish *wish, size_t number,
                               struct lull_kernel_incores *incores, struct lull_kernel_study *study,
                               struct lull_arena *arena, struct lull_error *err)
{
    lull_status status =
        lull_kernel_predict(wish->kernel, wish->machine, &wish->source, &wish->options, incores,
                            arena, &study->predictions[number], err);
    if (status == LULL_OK && study->measured)
        status = lull_kernel_run_here(wish, &study->predictions[number], arena,
                                      &study->measured[number], err);
    return status;
}

static lull_status predict_value(const struct lull_kernel_wish *wish, size_t number,
                                 struct lull_kernel_incores *incores,
                                 struct lull_kernel_study *study, struct lull_arena *arena,
                                 struct lull_error *err)
{
    struct lull_kernel_wish one = *wish;
    one.kernel = lull_arena_alloc(arena, sizeof *one.kernel);
    *one.kernel = *wish->kernel; /* each prediction keeps its own sizes */
    lull_kernel_resize(one.kernel, wish->sweep, wish->values[number]);
    lull_status status = lull_kernel_check(one.kernel, err);
    if (status == LULL_OK)
        status = predict_one(&one, number, incores, study, arena, err);
    return status == LULL_OK
               ? status
               : lull_fail_prefix(err, status, "%s=%.0f", wish->sweep, wish->values[number]);
}

lull_status lull_kernel_study_make(const struct lull_kernel_wish *wish, bool run,
                                   struct lull_arena *arena, struct lull_kernel_study *ret_study,
                                   struct lull_error *err)
{
    struct lull_kernel_study study = {.count = wish->sweep ? wish->n_values : 1};
    study.predictions = lull_arena_zero(arena, study.count, sizeof *study.predictions);
    struct lull_kernel_incores incores = lull_kernel_no_incores(wish->kernel, arena);
    if (run)
        study.measured = lull_arena_zero(arena, study.count, sizeof *study.measured);
    lull_status status = LULL_OK;
    for (size_t i = 0; status == LULL_OK && i < study.count; i++)
        status = wish->sweep ? predict_value(wish, i, &incores, &study, arena, err)
                             : predict_one(wish, i, &incores, &study, arena, err);
    *ret_study = study;
    return status;
}
