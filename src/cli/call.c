#include "cli/call.h"

#include "cli/command.h"
#include "cli/message.h"

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

int lull_cli_operand(const struct lull_cli_call *call, const char *what, const char **ret_operand)
{
    *ret_operand = call->operands[0];
    return call->n_operands > 1
               ? lull_cli_usage("expected one %s, got also '%s'", what, call->operands[1])
               : LULL_EXIT_OK;
}
