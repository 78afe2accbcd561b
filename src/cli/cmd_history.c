#include "cli/command.h"

extern const struct lull_command lull_cmd_history_add, lull_cmd_history_show;

static const struct lull_command *const history_parts[] = {&lull_cmd_history_add,
                                                           &lull_cmd_history_show, NULL};

const struct lull_command lull_cmd_history = {
    .name = "history",
    .summary = "keep what runs took, and see when that changed",
    .operands = "PART [OPTION...] FILE [RUN...]",
    .parts = history_parts,
};
