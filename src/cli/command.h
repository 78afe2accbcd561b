/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands: one constant struct per file, listed in main.c. Here is what all of them use: progress
 * on the terminal, the call of a command, and its struct.
 *
 * A command reads its options, calls a function of a room, tells what the room has to tell, and
 * hands a document to lull_output_write. Only this room prints and exits. CONTRIBUTING.md says how
 * to add a command. */
#ifndef LULL_CLI_COMMAND_H
#define LULL_CLI_COMMAND_H

#include "base/arena.h"
#include "base/error.h"
#include "cli/message.h"
#include "cli/output.h"
#include "study/notices.h"
#include "study/runs.h"
#include "team/division.h"
#include "trace/trace.h"

#include <popt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* ==== progress ================================================================================ */

/* Progress of long work: a line on stderr when that is a terminal and the work takes more than a
 * second. The line goes when the work is done. */

struct lull_progress {
    const char *what; /* borrowed */
    bool shown;
    bool terminal;
    int64_t begin_ns, next_ns;
};

/* As the rooms below want their callbacks: `context` is a struct lull_progress. */
void lull_progress_begin(void *context, const char *what);
void lull_progress_update(void *context, double share);
void lull_progress_end(void *context);

/* The same three as a study wants them. */
struct lull_study_progress lull_progress_of_study(struct lull_progress *progress);

/* ==== call of a command ======================================================================= */

struct lull_cli_call {
    const char *const *operands; /* NULL at the end */
    uint32_t n_operands;
    struct lull_arena *arena;            /* results live there, until the command has ended */
    struct lull_notices notices;         /* what the rooms had to tell; they live in `arena` */
    struct lull_study_progress progress; /* as studies want it; it leads to `line` */
    struct lull_progress line;
    struct lull_error err;  /* why the last failed function failed */
    struct lull_team *team; /* where several processes work as one; NULL: this one works alone */
};

/* The exit status after options and operands were read with that status; LULL_ERR_RANGE is wrong
 * usage. If they were not understood, call->err has been told. */
int lull_cli_read(const struct lull_cli_call *call, lull_status status);
/* The exit status after the work, with its warnings told, and call->err if it failed. */
int lull_cli_done(const struct lull_cli_call *call, lull_status status);

/* Tells which members of the team have nothing to do with a run, or that one of them reads it for
 * all, and why. */
void lull_cli_tell_division(const struct lull_cli_call *call, const struct lull_division *division,
                            const struct lull_trace *trace);

/* The only operand, NULL where there is none; `what` names it in messages. Returns an exit status;
 * a mistake has been told. */
int lull_cli_operand(const struct lull_cli_call *call, const char *what, const char **ret_operand);

/* ==== the struct of a command ================================================================= */

/* Stands for a "--" between operands; nobody has a file of this name. */
#define LULL_DIVIDER "\x1f--"

/* What the processes do where mpirun has started several of lull with the same command. */
enum lull_under_mpirun {
    LULL_FIRST_DOES_ALL, /* the first process works and says that the work might be shared; the
                            others wait for its end */
    LULL_WORK_OF_ONE,    /* the same, but there is nothing to share and to say */
    LULL_WORKS_AS_TEAM,  /* they share the work of one */
    LULL_EACH_BY_ITSELF,
    LULL_REFUSES /* the command fails: it starts programs, or measures the machine that the others
                    keep busy */
};

struct lull_command {
    const char *name;                 /* "metrics"; a part has the name of its command in front:
                                         "model kernel" */
    const char *summary;              /* one line, lower case */
    const char *operands;             /* "RUN..." */
    const char *details;              /* what --help says below the options; may be NULL */
    const struct poptOption *options; /* without the common ones; may be NULL */
    /* Where the result goes; these options have been checked when `run` is called. NULL for a
     * command whose result is no document. */
    const struct lull_output_settings *output;
    /* The options have been read when this is called. Returns an exit status. */
    int (*run)(struct lull_cli_call *call);
    uint8_t under_mpirun; /* enum lull_under_mpirun */
    /* The operands are another program's command line: options end at the first of them, and
     * signals stay as they were. */
    bool launches;
    bool hidden; /* for programs: no list has it */
    /* The operands are two groups: a "--" among them is left there as LULL_DIVIDER. */
    bool divides;
    /* The commands of which this one consists, NULL at the end: the next word chooses among them,
     * and the command has no options and no `run` of its own. NULL for most. */
    const struct lull_command *const *parts;
};

/* All commands, NULL at the end. */
extern const struct lull_command *const lull_commands[];
/* Finds a command among `commands`; NULL if unknown. A part is found by its last word. */
const struct lull_command *lull_command_find(const struct lull_command *const *commands,
                                             const char *word);
/* Tells that there is no such command, and which one may be meant. Returns LULL_EXIT_USAGE. */
int lull_unknown_command(const struct lull_command *const *commands, const char *word);

/* ==== help ==================================================================================== */

/* The help texts of lull, made from the tables of commands and options. */
void lull_help_overview(FILE *out);
void lull_help_command(const struct lull_command *command, FILE *out);

#endif
