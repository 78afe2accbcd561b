#include "cli/options/options.h"

#include "base/text/suggest.h"
#include "cli/command.h"
#include "cli/message.h"

#include <string.h>

enum { MOST_CANDIDATES = 64 };

static const char *similar_option(const struct poptOption *options, const char *typed)
{
    const char *names[MOST_CANDIDATES];
    size_t count = 0;
    for (; count < MOST_CANDIDATES && options[count].longName; count++)
        names[count] = options[count].longName;
    return lull_suggest(typed + strspn(typed, "-"), names, count);
}

/* A mistake that popt has found. */
static int tell_mistake(poptContext context, const struct poptOption *options, int code)
{
    const char *typed = poptBadOption(context, POPT_BADOPTION_NOALIAS);
    const char *meant = NULL;
    switch (code) {
    case POPT_ERROR_BADOPT:
        if (strncmp(typed, "--", 2) == 0)
            meant = similar_option(options, typed);
        if (meant)
            return lull_cli_usage("unknown option '%s', did you mean '--%s'?", typed, meant);
        return lull_cli_usage("unknown option '%s'", typed);
    case POPT_ERROR_NOARG:
        return lull_cli_usage("option '%s' needs a value", typed);
    case POPT_ERROR_BADNUMBER:
    case POPT_ERROR_OVERFLOW:
        return lull_cli_usage("'%s' is wrong, expected a whole number", typed);
    default:
        return lull_cli_usage("option '%s': %s", typed, poptStrerror(code));
    }
}

/* The limits of whole numbers that many commands take. */
static const struct limits {
    int id, least, most;
    const char *expected;
} all_limits[] = {
    {LULL_OPTION_THREADS, 0, 1024, "1 to 1024"},
    {LULL_OPTION_APPLICATION, 1, INT32_MAX, "1 or more"},
    {LULL_OPTION_DIGITS, 0, 15, "1 to 15"},
};

static int check_limits(const struct poptOption *options, int id)
{
    const struct limits *limits = all_limits;
    while (limits->id != id)
        limits++;
    while (options->val != id)
        options++;
    int value = *(const int *)options->arg;
    if (value < limits->least || value > limits->most)
        return lull_cli_usage("--%s is %d, expected %s", options->longName, value,
                              limits->expected);
    return LULL_EXIT_OK;
}

int lull_read_options(poptContext context, const struct poptOption *options, bool *ret_help)
{
    int code, status = LULL_EXIT_OK;
    *ret_help = false;
    while (status == LULL_EXIT_OK && (code = poptGetNextOpt(context)) > 0)
        if (code == LULL_OPTION_HELP) {
            *ret_help = true;
            return status;
        } else {
            status = check_limits(options, code);
        }
    return status == LULL_EXIT_OK && code < -1 ? tell_mistake(context, options, code) : status;
}

static bool was_said(const struct poptOption *option)
{
    return option->argInfo == POPT_ARG_NONE ? *(const int *)option->arg != 0
                                            : *(const void *const *)option->arg != NULL;
}

const char *lull_option_said(const struct poptOption *options, const char *const *names)
{
    for (; *names; names++) {
        const struct poptOption *option = options;
        while (strcmp(option->longName, *names) != 0)
            option++;
        if (was_said(option))
            return *names;
    }
    return NULL;
}

const char *const *lull_operands(poptContext context, uint32_t *ret_count)
{
    static const char *const none[] = {NULL};
    const char *const *operands = (const char *const *)poptGetArgs(context);
    operands = operands ? operands : none;
    *ret_count = 0;
    while (operands[*ret_count])
        ++*ret_count;
    return operands;
}
