/* A kernel compiled and run on this machine. */
#ifndef LULL_CLI_MODEL_KERNEL_RUN_H
#define LULL_CLI_MODEL_KERNEL_RUN_H

#include "cli/model/kernel_options.h"
#include "view/kernel/kernel_document.h"

lull_status lull_kernel_run_here(const struct lull_kernel_wish *wish, struct lull_arena *arena,
                                 struct lull_kernel_measured *ret_measured, struct lull_error *err);

#endif
