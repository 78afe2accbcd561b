#include "cli/options/options.h"

#include "base/text.h"
#include "base/text/suggest.h"
#include "cli/command.h"
#include "cli/message.h"

#include <inttypes.h>
#include <stdio.h>
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

int lull_one_operand(poptContext context, const char *what, const char **ret_operand)
{
    *ret_operand = poptGetArg(context);
    return poptPeekArg(context)
               ? lull_cli_usage("expected one %s, got also '%s'", what, poptPeekArg(context))
               : LULL_EXIT_OK;
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

lull_status lull_option_word(const char *name, const char *value, const char *const *words,
                             unsigned *ret_number, struct lull_error *err)
{
    *ret_number = 0;
    for (unsigned i = 0; value && words[i]; i++)
        if (strcmp(value, words[i]) == 0)
            *ret_number = i + 1;
    if (!value || *ret_number)
        return LULL_OK;
    char expected[256] = "";
    join(words, expected, sizeof expected);
    return lull_fail(err, LULL_ERR_RANGE, "--%s is '%s', expected %s", name, value, expected);
}

lull_status lull_option_number(const char *name, const char *text, uint64_t least, uint64_t most,
                               uint64_t *value, struct lull_error *err)
{
    uint64_t number;
    if (!text)
        return LULL_OK;
    if (lull_parse_u64(text, strlen(text), &number) != LULL_OK || number < least || number > most)
        return most == UINT64_MAX ? lull_fail(err, LULL_ERR_RANGE,
                                              "--%s is '%s', expected a whole number", name, text)
                                  : lull_fail(err, LULL_ERR_RANGE,
                                              "--%s is '%s', expected %" PRIu64 " to %" PRIu64,
                                              name, text, least, most);
    *value = number;
    return LULL_OK;
}

lull_status lull_option_real(const char *name, const char *text, double least, double *value,
                             struct lull_error *err)
{
    double number;
    if (!text)
        return LULL_OK;
    if (lull_parse_real(text, &number) != LULL_OK || number < least)
        return lull_fail(err, LULL_ERR_RANGE, "--%s is '%s', expected a number from %g up", name,
                         text, least);
    *value = number;
    return LULL_OK;
}

lull_status lull_option_percent(const char *name, const char *text, double least, double most,
                                double *value, struct lull_error *err)
{
    double percent;
    if (!text)
        return LULL_OK;
    if (lull_parse_real(text, &percent) != LULL_OK || percent < least || percent > most)
        return lull_fail(err, LULL_ERR_RANGE, "--%s is '%s', expected %g to %g percent", name, text,
                         least, most);
    *value = percent / 100;
    return LULL_OK;
}
