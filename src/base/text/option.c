#include "base/text/option.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

lull_status lull_option_size(const char *name, const char *text, uint64_t least,
                             const char *expected, uint64_t *value, struct lull_error *err)
{
    uint64_t bytes;
    if (!text)
        return LULL_OK;
    if (lull_parse_size(text, &bytes, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--%s", name);
    if (bytes < least)
        return lull_fail(err, LULL_ERR_RANGE, "--%s is '%s', expected %s", name, text, expected);
    *value = bytes;
    return LULL_OK;
}

lull_status lull_option_time(const char *name, const char *text, int64_t least,
                             const char *expected, int64_t *value, struct lull_error *err)
{
    int64_t ns;
    if (!text)
        return LULL_OK;
    if (lull_parse_time(text, 1, &ns, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--%s", name);
    if (ns < least)
        return lull_fail(err, LULL_ERR_RANGE, "--%s is '%s', expected %s", name, text, expected);
    *value = ns;
    return LULL_OK;
}
