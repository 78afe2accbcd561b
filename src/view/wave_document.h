/* SPDX-License-Identifier: BSD-3-Clause */
/* The documents and the charts of `lull wave`. */
#ifndef LULL_VIEW_WAVE_DOCUMENT_H
#define LULL_VIEW_WAVE_DOCUMENT_H

#include "report/chart.h"
#include "report/document.h"
#include "study/wave/wave_study.h"

/* ---- documents ------------------------------------------------------------------------------ */

/* One point: prediction and simulation side by side. */
struct lull_document *lull_wave_case_document(const struct lull_wave_inputs *inputs,
                                              const struct lull_wave_case *result,
                                              struct lull_arena *arena);
/* A sweep: one row per point. */
struct lull_document *lull_wave_sweep_document(const struct lull_wave_inputs *inputs,
                                               const struct lull_wave_case *cases,
                                               struct lull_arena *arena);
/* A recorded run: prediction, replay and measurement side by side. */
struct lull_document *lull_wave_run_document(const char *path, const struct lull_wave_run *run,
                                             const struct lull_notices *notices,
                                             struct lull_arena *arena);

/* ---- charts --------------------------------------------------------------------------------- */

/* Ranks over time around the waves: who waits, who is late, and the fitted fronts. Its size does
 * not depend on the number of ranks. */
const struct lull_chart *lull_wave_chart(const struct lull_wave_scene *scene,
                                         struct lull_arena *arena);
/* How long ranks were idle over their distance from the delayed one, with the predicted decay. */
const struct lull_chart *lull_wave_amplitude_chart(const struct lull_wave_scene *scene,
                                                   const struct lull_wave_prediction *predicted,
                                                   struct lull_arena *arena);

#endif
