/* SPDX-License-Identifier: BSD-3-Clause */
/* What a command does where mpirun has started several processes of lull with the same command
 * (enum lull_under_mpirun): they join to a team, and part at the end. */
#ifndef LULL_CLI_JOIN_H
#define LULL_CLI_JOIN_H

#include "cli/command.h"

#include <stdbool.h>

/* Before options are read: mutes all processes but the first. */
void lull_cli_look_at_launcher(const struct lull_command *command, struct lull_cli_call *call);
/* Makes the team and sets call->team. Returns an exit status; a mistake has been told. */
int lull_cli_join(const struct lull_command *command, struct lull_cli_call *call);
/* Whether this process has no work and only has to part, because the first of the team does all of
 * it. The first one says so. */
bool lull_cli_leaves_work_to_one(const struct lull_cli_call *call);
/* The first process tells that it does a part of the work alone; `what` names that part
 * ("replaying", "diff"). */
void lull_cli_tell_unshared(const struct lull_cli_call *call, const char *what);
/* Waits until all have done their work; `status` is the exit status of this process. Returns the
 * one to end with. */
int lull_cli_part(struct lull_cli_call *call, int status);

#endif
