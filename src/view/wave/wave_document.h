/* The documents of `lull wave`. */
#ifndef LULL_VIEW_WAVE_WAVE_DOCUMENT_H
#define LULL_VIEW_WAVE_WAVE_DOCUMENT_H

#include "report/document.h"
#include "study/wave/wave_study.h"

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

#endif
