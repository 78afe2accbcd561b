/* What both studies of waves share. */
#include "study/wave/wave_study.h"

#include <math.h>

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
        predicted.decay = 0; /* rounding */
    predicted.survival = predicted.decay > 0 ? length / predicted.decay : INFINITY;
    *ret_prediction = predicted;
    return LULL_OK;
}
