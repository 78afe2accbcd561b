#include "study/history/condition.h"

#include "base/text.h"
#include "base/text/suggest.h"
#include "study/history/history.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* A copy without blanks at either end. */
static char *trim(const char *begin, const char *end, struct lull_arena *arena)
{
    while (begin < end && isspace((unsigned char)*begin))
        begin++;
    while (end > begin && isspace((unsigned char)end[-1]))
        end--;
    return lull_arena_strndup(arena, begin, (size_t)(end - begin));
}

lull_status lull_condition_metric(const char *metric, struct lull_arena *arena,
                                  struct lull_error *err)
{
    if (strncmp(metric, "region:", 7) == 0 && metric[7])
        return LULL_OK;
    size_t quantities = 0, count;
    while (lull_history_quantities[quantities])
        quantities++;
    count = quantities + (size_t)lull_metric_count;
    const char **names = lull_arena_zero(arena, count, sizeof(*names));
    for (size_t i = 0; i < count; i++) {
        names[i] =
            i < quantities ? lull_history_quantities[i] : lull_metric_defs[i - quantities].id;
        if (strcmp(names[i], metric) == 0)
            return LULL_OK;
    }
    const char *meant = lull_suggest(metric, names, count);
    if (meant)
        return lull_fail(err, LULL_ERR_RANGE, "unknown metric '%s', did you mean '%s'?", metric,
                         meant);
    return lull_fail(err, LULL_ERR_RANGE,
                     "unknown metric '%s', expected runtime, core_time, useful_time, instructions, "
                     "cycles, region:NAME or one that "
                     "'lull metrics --format json' names",
                     metric);
}

static bool read_number(const char *text, double *ret_value)
{
    return lull_parse_real(text, ret_value) == LULL_OK;
}

/* "baseline", "1.05 * baseline", "baseline * 1.05". */
static bool read_product(const char *text, struct lull_arena *arena, double *ret_factor)
{
    static const char word[] = "baseline";
    const char *star = strchr(text, '*');
    *ret_factor = 1;
    if (!star)
        return strcmp(text, word) == 0;
    const char *left = trim(text, star, arena);
    const char *right = trim(star + 1, text + strlen(text), arena);
    const char *number = strcmp(left, word) == 0 ? right : strcmp(right, word) == 0 ? left : NULL;
    return number && read_number(number, ret_factor) && *ret_factor > 0;
}

/* Where what is behind the product begins: a sign that follows neither the begin, an operator nor
 * the e of a number. */
static const char *find_sign(const char *text)
{
    const char *word = strstr(text, "baseline");
    const char *star = strchr(text, '*');
    const char *from = star && star > word ? star + 1 : word;
    while (isspace((unsigned char)*from))
        from++;
    for (const char *at = from + 1; *at; at++)
        if ((*at == '+' || *at == '-') && at[-1] != 'e' && at[-1] != 'E')
            return at;
    return NULL;
}

static bool read_limit(const char *text, struct lull_arena *arena, struct lull_condition *condition)
{
    condition->factor = condition->offset = 0;
    condition->relative = strstr(text, "baseline") != NULL;
    if (!condition->relative)
        return read_number(text, &condition->offset);
    const char *sign = find_sign(text), *end = text + strlen(text);
    if (sign) {
        if (!read_number(trim(sign + 1, end, arena), &condition->offset))
            return false;
        condition->offset *= *sign == '-' ? -1 : 1;
        end = sign;
    }
    return read_product(trim(text, end, arena), arena, &condition->factor);
}

/* The last one: names of regions may hold others. */
static const char *find_comparison(const char *text)
{
    const char *found = NULL;
    for (const char *at = text; *at; at++)
        if (*at == '<' || *at == '>')
            found = at;
    return found;
}

lull_status lull_condition_read(const char *text, struct lull_arena *arena,
                                struct lull_condition *ret_condition, struct lull_error *err)
{
    const char *sign = find_comparison(text);
    if (!sign)
        return lull_fail(err, LULL_ERR_RANGE,
                         "'%s' compares nothing, expected one as 'runtime > 1.05 * baseline'",
                         text);
    struct lull_condition condition = {.text = lull_arena_strdup(arena, text),
                                       .metric = trim(text, sign, arena),
                                       .above = *sign == '>'};
    const char *rest = sign + 1 + (sign[1] == '=');
    const char *limit = trim(rest, rest + strlen(rest), arena);
    if (!read_limit(limit, arena, &condition))
        return lull_fail(err, LULL_ERR_RANGE,
                         "'%s' is no limit, expected a number, 'baseline' or '1.05 * baseline'",
                         limit);
    lull_status status = lull_condition_metric(condition.metric, arena, err);
    if (status == LULL_OK)
        *ret_condition = condition;
    return status;
}

lull_status lull_conditions_read(const char *const *texts, bool has_baseline,
                                 struct lull_arena *arena,
                                 const struct lull_condition **ret_conditions, uint32_t *ret_count,
                                 struct lull_error *err)
{
    uint32_t count = 0;
    while (texts && texts[count])
        count++;
    struct lull_condition *conditions = lull_arena_zero(arena, count + 1, sizeof *conditions);
    for (uint32_t i = 0; i < count; i++) {
        lull_status status = lull_condition_read(texts[i], arena, &conditions[i], err);
        if (status != LULL_OK)
            return lull_fail_prefix(err, status, "--fail-if");
        if (conditions[i].relative && !has_baseline)
            return lull_fail(err, LULL_ERR_RANGE,
                             "--fail-if: '%s' needs a baseline, which --against FILE tells",
                             texts[i]);
    }
    *ret_conditions = conditions;
    *ret_count = count;
    return count ? LULL_OK
                 : lull_fail(err, LULL_ERR_RANGE,
                             "expected at least one --fail-if, as 'runtime > 1.05 * baseline'");
}

lull_status lull_condition_metrics(const char *text, struct lull_arena *arena,
                                   const char ***ret_metrics, size_t *ret_count,
                                   struct lull_error *err)
{
    lull_status status = LULL_OK;
    *ret_metrics = lull_split(text, ",", arena, ret_count);
    for (size_t i = 0; status == LULL_OK && i < *ret_count; i++)
        status = lull_condition_metric((*ret_metrics)[i], arena, err);
    return status;
}
