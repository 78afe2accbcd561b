/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull model`: the commands that predict performance, each of which is a file in cli/model/. */
#include "cli/command.h"

extern const struct lull_command lull_cmd_model_kernel, lull_cmd_model_spmv, lull_cmd_model_solver,
    lull_cmd_model_program;

static const struct lull_command *const model_parts[] = {
    &lull_cmd_model_kernel, &lull_cmd_model_spmv, &lull_cmd_model_solver, &lull_cmd_model_program,
    NULL};

const struct lull_command lull_cmd_model = {
    .name = "model",
    .summary = "predict performance from first principles",
    .operands = "PART [OPTION...] OPERAND...",
    .parts = model_parts,
};
