/* What the documents of one prediction and of a sweep say alike. Internal to this folder. */
#ifndef LULL_VIEW_KERNEL_KERNEL_FACTS_H
#define LULL_VIEW_KERNEL_KERNEL_FACTS_H

#include "model/kernel/predict.h"
#include "report/document.h"

/* What a nest of several innermost loops is. */
#define LULL_KERNEL_SUM_NOTE                                                                  \
    "The nest is the sum of its innermost loops, each predicted on its own: what one leaves " \
    "in the caches for the next counts in the simulation, not in the layer conditions."

/* "flop/s", or "it/s" of a kernel without floating-point operations. */
const char *lull_kernel_rate_unit(const struct lull_kernel_prediction *prediction);
/* What a machine is called, by its file, its host or its processor. */
const char *lull_kernel_machine_text(const struct lull_machine *machine);
/* {2 || 4 | 6.7 | 10 | 16.9} */
const char *lull_kernel_tuple_text(const struct lull_kernel_prediction *prediction,
                                   struct lull_arena *arena);
/* {7 ] 7 ] 14 ] 32.4}: with the data in the first cache, the second, ... */
const char *lull_kernel_ladder_text(const struct lull_kernel_prediction *prediction,
                                    struct lull_arena *arena);
/* "bandwidth of L2" */
const char *lull_kernel_bottleneck_text(const struct lull_roofline *roofline,
                                        struct lull_arena *arena);
/* "Loop 2, line 7" */
const char *lull_kernel_loop_text(const struct lull_kernel_prediction *loop,
                                  struct lull_arena *arena);
/* A table of the innermost loops of a nest; none where there is only one. */
void lull_kernel_add_loops(struct lull_document *document,
                           const struct lull_kernel_prediction *nest, struct lull_arena *arena);
/* Where the in-core times come from. */
void lull_kernel_add_compiler(struct lull_document *document, const struct lull_incore *incore,
                              struct lull_arena *arena);
/* The same, and what they stand on. */
void lull_kernel_add_in_core(struct lull_document *document, const struct lull_incore *incore,
                             struct lull_arena *arena);
/* Vectors that cross from one cache line to the next, where there are any. */
void lull_kernel_add_crossing(struct lull_document *document, const struct lull_crossing *crossing,
                              struct lull_arena *arena);

#endif
