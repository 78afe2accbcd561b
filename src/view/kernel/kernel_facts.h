/* What the documents of one prediction and of a sweep say alike. Internal to this folder. */
#ifndef LULL_VIEW_KERNEL_KERNEL_FACTS_H
#define LULL_VIEW_KERNEL_KERNEL_FACTS_H

#include "model/kernel/predict.h"
#include "report/document.h"

/* "flop/s", or "it/s" of a kernel without floating-point operations. */
const char *lull_kernel_rate_unit(const struct lull_kernel_prediction *prediction);
/* What a machine is called, by its file, its host or its processor. */
const char *lull_kernel_machine_text(const struct lull_machine *machine);
/* Where the in-core times come from, and what they stand on. */
void lull_kernel_add_in_core(struct lull_document *document, const struct lull_incore *incore,
                             struct lull_arena *arena);

#endif
