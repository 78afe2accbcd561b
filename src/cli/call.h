/* One call of a command: what it gets, and what it has to tell. */
#ifndef LULL_CLI_CALL_H
#define LULL_CLI_CALL_H

#include "base/arena.h"
#include "base/error.h"
#include "cli/progress.h"
#include "study/notices.h"
#include "team/division.h"
#include "trace/trace.h"

#include <stdint.h>

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

#endif
