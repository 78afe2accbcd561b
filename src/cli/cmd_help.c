#include "cli/command.h"
#include "cli/help.h"
#include "cli/message.h"

static int run_help(struct lull_cli_call *call)
{
    const char *const *word = call->operands;
    if (!*word) {
        lull_help_overview(stdout);
        return LULL_EXIT_OK;
    }
    const struct lull_command *const *commands = lull_commands, *command = NULL;
    for (; *word && commands; word++) {
        command = lull_command_find(commands, *word);
        if (!command)
            return lull_unknown_command(commands, *word);
        commands = command->parts;
    }
    if (*word)
        return lull_cli_usage("expected one command, got also '%s'", *word);
    lull_help_command(command, stdout);
    return LULL_EXIT_OK;
}

const struct lull_command lull_cmd_help = {
    .name = "help",
    .summary = "explain lull or one of its commands",
    .operands = "[COMMAND [PART]]",
    .under_mpirun = LULL_EACH_BY_ITSELF,
    .run = run_help,
};
