#include "cli/command.h"

static const struct lull_command *const parts[] = {NULL};

const struct lull_command lull_cmd_model = {
    .name = "model",
    .summary = "predict performance from first principles",
    .operands = "PART [OPTION...] OPERAND...",
    .parts = parts,
};
