/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages to stderr, always one line that begins with the name of the command, and the status that
 * lull exits with. */
#ifndef LULL_CLI_MESSAGE_H
#define LULL_CLI_MESSAGE_H

#include "base/arena.h"
#include "base/error.h"
#include "study/notices.h"

#include <stdbool.h>

enum { LULL_EXIT_OK = 0, LULL_EXIT_FAILURE = 1, LULL_EXIT_USAGE = 2 };

/* From now on lines begin with "lull NAME: "; NULL: "lull: ". */
void lull_cli_set_command(const char *name);

/* "lull metrics: <message>"; returns LULL_EXIT_FAILURE. */
int lull_cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "lull metrics: <message> (see 'lull metrics --help')"; returns LULL_EXIT_USAGE. */
int lull_cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "lull metrics: warning: <message>". */
void lull_cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From now on this process tells nothing, because the first of the processes of lull tells the
 * same, except for what ends this process alone. */
void lull_cli_mute(void);
bool lull_cli_is_muted(void);

/* The warnings among the notices, a line for each. */
/* Of three warnings or more of a sort, as of runs that were recorded alike, the first stands for all. */
void lull_cli_warn_all(const struct lull_notices *notices);

/* Ends the program with a line and LULL_EXIT_FAILURE, because memory has run out. */
void lull_cli_out_of_memory(void);
/* An arena that calls lull_cli_out_of_memory. */
struct lull_arena *lull_cli_arena(void);

#endif
