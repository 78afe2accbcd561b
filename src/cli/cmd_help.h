/* SPDX-License-Identifier: BSD-3-Clause */
/* The help texts of lull, made from the tables of commands and options. */
#ifndef LULL_CLI_CMD_HELP_H
#define LULL_CLI_CMD_HELP_H

#include "cli/command.h"

#include <stdio.h>

void lull_help_overview(FILE *out);
void lull_help_command(const struct lull_command *command, FILE *out);

#endif
