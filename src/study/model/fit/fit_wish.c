#include "study/model/fit/fit_wish.h"

#include "base/text.h"
#include "base/text/option.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct lull_fit_y lull_fit_y_read(const char *text)
{
    if (!text || strcmp(text, "runtime") == 0)
        return (struct lull_fit_y){LULL_FIT_RUNTIME, "runtime"};
    if (strncmp(text, "region:", 7) == 0)
        return (struct lull_fit_y){LULL_FIT_REGION, text + 7};
    if (strncmp(text, "metric:", 7) == 0)
        return (struct lull_fit_y){LULL_FIT_METRIC, text + 7};
    return (struct lull_fit_y){LULL_FIT_COLUMN, text};
}

/* In the order of lull_fit_laws, each once; NULL for "all" and NULL. */
static lull_status read_laws(const char *text, struct lull_arena *arena,
                             const struct lull_fit_law *const **ret_laws, struct lull_error *err)
{
    size_t count, found = 0;
    const char **names = lull_split(text, ",", arena, &count);
    *ret_laws = NULL;
    if (!count || (count == 1 && strcmp(names[0], "all") == 0))
        return LULL_OK;
    const struct lull_fit_law **laws = lull_arena_zero(arena, count + 1, sizeof *laws);
    for (size_t i = 0; i < count; i++)
        if (!lull_fit_law_find(names[i]))
            return lull_fail(err, LULL_ERR_RANGE, "there is no '%s'; --list names the laws",
                             names[i]);
    for (size_t l = 0; lull_fit_laws[l]; l++) /* in their order, once */
        for (size_t i = 0; i < count; i++)
            if (lull_fit_law_find(names[i]) == lull_fit_laws[l]) {
                laws[found++] = lull_fit_laws[l];
                break;
            }
    *ret_laws = laws;
    return LULL_OK;
}

/* A number above 0 that ends where `end` says. */
static bool is_number(const char *text, const char *end, double *ret_value)
{
    char *stop;
    *ret_value = strtod(text, &stop);
    return stop == end && stop != text && *ret_value > 0 && isfinite(*ret_value);
}

static lull_status read_fit_sizes(const char *text, struct lull_arena *arena,
                                  const double **ret_sizes, size_t *ret_count,
                                  struct lull_error *err)
{
    const char **pieces = lull_split(text, ",", arena, ret_count);
    double *sizes = lull_arena_zero(arena, *ret_count + 1, sizeof *sizes);
    for (size_t i = 0; i < *ret_count; i++)
        if (!is_number(pieces[i], pieces[i] + strlen(pieces[i]), &sizes[i]))
            return lull_fail(err, LULL_ERR_RANGE, "'%s', expected a number above 0", pieces[i]);
    *ret_sizes = text ? sizes : NULL;
    return LULL_OK;
}

static lull_status read_words(const struct lull_fit_texts *texts, struct lull_fit_wish *wish,
                              struct lull_fit_options *options, struct lull_error *err)
{
    static const char *const kinds[] = {"time", "throughput", "efficiency", "quantity", NULL};
    static const char *const errors[] = {"relative", "absolute", NULL};
    static const char *const parts[] = {"region", NULL};
    unsigned kind, error, part;
    lull_status status = lull_option_word("kind", texts->kind, kinds, &kind, err);
    if (status == LULL_OK)
        status = lull_option_word("errors", texts->errors, errors, &error, err);
    if (status == LULL_OK)
        status = lull_option_word("by", texts->by, parts, &part, err);
    if (status != LULL_OK)
        return status;
    wish->has_kind = kind > 0;
    wish->kind = (enum lull_fit_kind)(kind ? kind - 1 : 0);
    wish->by_region = part > 0;
    options->errors = (enum lull_fit_errors)error;
    return LULL_OK;
}

lull_status lull_fit_wish_read(const struct lull_fit_texts *texts, struct lull_arena *arena,
                               struct lull_fit_wish *ret_wish, struct lull_fit_options *ret_options,
                               struct lull_error *err)
{
    *ret_wish = (struct lull_fit_wish){.y = lull_fit_y_read(texts->y), .column = texts->y};
    *ret_options = (struct lull_fit_options){0};
    ret_wish->x = lull_split(texts->x, ",", arena, &ret_wish->n_x);
    if (read_laws(texts->laws, arena, &ret_options->laws, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--law");
    lull_status status = read_words(texts, ret_wish, ret_options, err);
    if (status == LULL_OK)
        status = lull_option_percent("confidence", texts->confidence, 50, 99.99,
                                     &ret_options->confidence, err);
    if (status == LULL_OK &&
        read_fit_sizes(texts->sizes, arena, &ret_wish->sizes, &ret_wish->n_sizes, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--sizes");
    return status;
}

lull_status lull_fit_places_read(const char *text, size_t n_params, struct lull_arena *arena,
                                 const double (**ret_places)[LULL_FIT_PARAMETERS],
                                 size_t *ret_count, struct lull_error *err)
{
    const char **pieces = lull_split(text, ",", arena, ret_count);
    double(*places)[LULL_FIT_PARAMETERS] = lull_arena_zero(arena, *ret_count + 1, sizeof *places);
    for (size_t i = 0; i < *ret_count; i++) {
        const char *rest = pieces[i];
        for (size_t p = 0; p < n_params; p++) {
            const char *end = rest + strcspn(rest, ":");
            bool last = p + 1 == n_params;
            if (!is_number(rest, end, &places[i][p]) || (*end == '\0') != last)
                return lull_fail(err, LULL_ERR_RANGE, "'%s', expected %zu number%s above 0%s",
                                 pieces[i], n_params, n_params == 1 ? "" : "s",
                                 n_params == 1 ? "" : " with colons between them");
            rest = end + !last;
        }
    }
    *ret_places = (const double(*)[LULL_FIT_PARAMETERS])places;
    return LULL_OK;
}
