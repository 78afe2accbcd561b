#include "cli/unknown.h"

#include "base/suggest.h"
#include "cli/command.h"
#include "cli/message.h"

#include <string.h>

#define CANDIDATES 64

int lull_unknown_command(const char *name)
{
    const char *names[CANDIDATES];
    size_t count = 0;
    for (; count < CANDIDATES && lull_commands[count]; count++)
        names[count] = lull_commands[count]->name;
    const char *meant = lull_suggest(name, names, count);
    lull_cli_set_command(NULL);
    if (meant)
        return lull_cli_usage("unknown command '%s', did you mean '%s'?", name, meant);
    return lull_cli_usage("unknown command '%s'", name);
}

static const char *similar_option(const struct poptOption *options, const char *typed)
{
    const char *names[CANDIDATES];
    size_t count = 0;
    for (; count < CANDIDATES && options[count].longName; count++)
        names[count] = options[count].longName;
    return lull_suggest(typed + strspn(typed, "-"), names, count);
}

int lull_bad_option(poptContext context, const struct poptOption *options, int code)
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
