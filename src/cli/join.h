/* Where mpirun has started several of lull with the same command. */
#ifndef LULL_CLI_JOIN_H
#define LULL_CLI_JOIN_H

#include "cli/command.h"

#include <stdbool.h>

/* Before options are read: mutes all but the first. */
void lull_cli_look_at_launcher(const struct lull_command *command, struct lull_cli_call *call);
/* Sets call->team. Returns an exit status, and has told mistakes. */
int lull_cli_join(const struct lull_command *command, struct lull_cli_call *call);
/* Whether this process has nothing to do but to part, as the first of the team does all, who says
 * so. */
bool lull_cli_leaves_work_to_one(const struct lull_cli_call *call);
/* The first says that it does a part of the work alone: of `what` ("replaying", "diff"). */
void lull_cli_tell_unshared(const struct lull_cli_call *call, const char *what);
/* All have done their work, this one with that exit status. Returns the one to end with. */
int lull_cli_part(struct lull_cli_call *call, int status);

#endif
