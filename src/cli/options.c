#include "cli/options.h"

#include "base/suggest.h"
#include "cli/command.h"
#include "cli/message.h"

#include <stdio.h>
#include <string.h>

enum { MOST_CANDIDATES = 64, MOST_THREADS = 1024 };

static const char *similar_option(const struct poptOption *options, const char *typed)
{
    const char *names[MOST_CANDIDATES];
    size_t count = 0;
    for (; count < MOST_CANDIDATES && options[count].longName; count++)
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

/* "additive, multiplicative or all" */
static void join(const char *const *words, char *text, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; words[i]; i++) {
        const char *joint = i == 0 ? "" : words[i + 1] ? ", " : " or ";
        int added = snprintf(text + length, size - length, "%s%s", joint, words[i]);
        length += added > 0 && (size_t)added < size - length ? (size_t)added : 0;
    }
}

int lull_option_word(const char *name, const char *value, const char *const *words,
                     unsigned *ret_number)
{
    *ret_number = 0;
    for (unsigned i = 0; value && words[i]; i++)
        if (strcmp(value, words[i]) == 0)
            *ret_number = i + 1;
    if (!value || *ret_number)
        return LULL_EXIT_OK;
    char expected[256] = "";
    join(words, expected, sizeof expected);
    return lull_cli_usage("--%s is '%s', expected %s", name, value, expected);
}

int lull_option_threads(int threads)
{
    if (threads < 0 || threads > MOST_THREADS)
        return lull_cli_usage("--threads is %d, expected 1 to %d", threads, MOST_THREADS);
    return LULL_EXIT_OK;
}

int lull_option_application(int application)
{
    if (application < 1)
        return lull_cli_usage("--application is %d, expected 1 or more", application);
    return LULL_EXIT_OK;
}
