#include "cli/command.h"

extern const struct lull_command lull_cmd_model_spmv, lull_cmd_model_solver;

static const struct lull_command *const parts[] = {&lull_cmd_model_spmv, &lull_cmd_model_solver,
                                                   NULL};

const struct lull_command lull_cmd_model = {
    .name = "model",
    .summary = "predict performance from first principles",
    .operands = "PART [OPTION...] OPERAND...",
    .parts = parts,
};
