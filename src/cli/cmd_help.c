#include "cli/command.h"
#include "cli/help.h"
#include "cli/message.h"

static int run(poptContext context)
{
    const char *name = poptGetArg(context);
    if (!name) {
        lull_help_overview(stdout);
        return LULL_EXIT_OK;
    }
    if (poptPeekArg(context))
        return lull_cli_usage("expected one command, got also '%s'", poptPeekArg(context));
    const struct lull_command *command = lull_command_find(name);
    if (!command)
        return lull_unknown_command(name);
    lull_help_command(command, stdout);
    return LULL_EXIT_OK;
}

const struct lull_command lull_cmd_help = {
    .name = "help",
    .summary = "explain lull or one of its commands",
    .operands = "[COMMAND]",
    .run = run,
};
