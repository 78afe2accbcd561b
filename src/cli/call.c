#include "cli/call.h"

#include "cli/command.h"
#include "cli/message.h"
#include "trace/scan.h"

int lull_cli_read(const struct lull_cli_call *call, lull_status status)
{
    if (status == LULL_OK)
        return LULL_EXIT_OK;
    return status == LULL_ERR_RANGE ? lull_cli_usage("%s", call->err.text)
                                    : lull_cli_fail("%s", call->err.text);
}

int lull_cli_done(const struct lull_cli_call *call, lull_status status)
{
    lull_cli_warn_all(&call->notices);
    return status == LULL_OK ? LULL_EXIT_OK : lull_cli_fail("%s", call->err.text);
}

void lull_cli_tell_division(const struct lull_cli_call *call, const struct lull_division *division,
                            const struct lull_trace *trace)
{
    const uint32_t idle = lull_division_idle(division), members = lull_team_size(call->team);
    if (idle > 0)
        lull_cli_warn("%s: has %u %s, so that %u of the %u of lull have nothing to do", trace->path,
                      trace->n_processes, trace->n_processes == 1 ? "process" : "processes", idle,
                      members);
    if (lull_division_divides(division) && lull_trace_is_sequence(trace))
        lull_cli_warn("%s: is read by the first process of lull for the others, as its events are "
                      "one sequence (lull convert makes a tape of it, which all can read)",
                      trace->path);
}

int lull_cli_operand(const struct lull_cli_call *call, const char *what, const char **ret_operand)
{
    *ret_operand = call->operands[0];
    return call->n_operands > 1
               ? lull_cli_usage("expected one %s, got also '%s'", what, call->operands[1])
               : LULL_EXIT_OK;
}
