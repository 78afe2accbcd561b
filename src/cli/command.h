/* Commands: one constant struct per file, listed in main.c.
 *
 * A command reads its options, calls a function of a room, tells what the room has to tell, and
 * hands a document to lull_output_write. Only this room prints and exits. CONTRIBUTING.md says how
 * to add one. */
#ifndef LULL_CLI_COMMAND_H
#define LULL_CLI_COMMAND_H

#include "base/arena.h"
#include "base/error.h"
#include "cli/output.h"
#include "study/notices.h"
#include "study/runs.h"
#include "team/division.h"
#include "trace/trace.h"

#include <popt.h>
#include <stdbool.h>
#include <stdint.h>

/* ==== progress ================================================================================ */

/* Progress of long work: a line on stderr when that is a terminal and the work takes more than a
 * second; gone when the work is done. */

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

/* ==== call ==================================================================================== */

/* One call of a command: what it gets, and what it has to tell. */

struct lull_cli_call {
    const char *const *operands; /* NULL at the end */
    uint32_t n_operands;
    struct lull_arena *arena;            /* results live there, until the command has ended */
    struct lull_notices notices;         /* of the rooms that are called; they live in `arena` */
    struct lull_study_progress progress; /* for studies; for the others it is `line` */
    struct lull_progress line;
    struct lull_error err;  /* of what failed last */
    struct lull_team *team; /* of a command that works as one; NULL: alone */
};

/* The exit status after options and operands were read, of which LULL_ERR_RANGE is wrong usage.
 * Tells call->err where they were not understood. */
int lull_cli_read(const struct lull_cli_call *call, lull_status status);
/* The exit status after the work: tells warnings, and call->err where it failed. */
int lull_cli_done(const struct lull_cli_call *call, lull_status status);

/* Says who of the team has nothing to do with a run, and where one reads it for all, and why. */
void lull_cli_tell_division(const struct lull_cli_call *call, const struct lull_division *division,
                            const struct lull_trace *trace);

/* The only operand, NULL where there is none; `what` it may be. Returns an exit status and has told
 * mistakes. */
int lull_cli_operand(const struct lull_cli_call *call, const char *what, const char **ret_operand);

/* ==== command ================================================================================= */

enum { LULL_EXIT_OK = 0, LULL_EXIT_FAILURE = 1, LULL_EXIT_USAGE = 2 };

/* No name of a file that anybody has. */
#define LULL_DIVIDER "\x1f--"

/* What several processes do that mpirun has started with the same command. */
enum lull_under_mpirun {
    LULL_FIRST_DOES_ALL, /* and says so, as it might be shared; the others wait for its end */
    LULL_WORK_OF_ONE,    /* likewise, but there is nothing to share */
    LULL_WORKS_AS_TEAM,  /* the work of one */
    LULL_EACH_BY_ITSELF,
    LULL_REFUSES /* it starts programs, or measures the machine that the others keep busy */
};

struct lull_command {
    const char *name;                 /* "metrics"; of a part with its command: "model kernel" */
    const char *summary;              /* one line, lower case */
    const char *operands;             /* "RUN..." */
    const char *details;              /* what --help says below the options; may be NULL */
    const struct poptOption *options; /* without the common ones; may be NULL */
    /* Where its result goes: what these options say is right when `run` is called. NULL for a
     * command whose result is no document. */
    const struct lull_output_settings *output;
    /* The options have been read when this is called. Returns an exit status. */
    int (*run)(struct lull_cli_call *call);
    uint8_t under_mpirun; /* enum lull_under_mpirun */
    /* The operands are another program's command line: options end at the first of them, and
     * signals stay as they were. */
    bool launches;
    /* The operands are two groups: a "--" among them is left there as LULL_DIVIDER. */
    bool divides;
    /* The commands that this one consists of, NULL at the end: the next word chooses among them,
     * and the command has no options and no `run` of its own. NULL for most. */
    const struct lull_command *const *parts;
};

/* NULL at the end. */
extern const struct lull_command *const lull_commands[];
/* Among `commands`; NULL if unknown. A part is found by its last word. */
const struct lull_command *lull_command_find(const struct lull_command *const *commands,
                                             const char *word);
/* Tells that there is no such command, with the one that may be meant. Returns LULL_EXIT_USAGE. */
int lull_unknown_command(const struct lull_command *const *commands, const char *word);

#endif
