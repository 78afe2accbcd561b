/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/model/solver_study.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

enum { MOST_SOLVER_CORES = 65536 };

/* ---- texts ---------------------------------------------------------------------------------- */

/* Splits "NAME=REST" and returns REST; NULL: the text is not of that form. */
static const char *split_parameter(const char *text, struct lull_arena *arena,
                                   const char **ret_name)
{
    const char *sign = strchr(text, '=');
    if (!sign || sign == text)
        return NULL;
    *ret_name = lull_arena_strndup(arena, text, (size_t)(sign - text));
    return sign + 1;
}

static lull_status read_parameter_values(const char *const *texts, struct lull_arena *arena,
                                         struct lull_solver_wish *wish, struct lull_error *err)
{
    size_t count = 0;
    while (texts && texts[count])
        count++;
    struct lull_solver_parameter *values = lull_arena_zero(arena, count + 1, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        const char *number = split_parameter(texts[i], arena, &values[i].name);
        if (!number || lull_parse_real(number, &values[i].value) != LULL_OK)
            return lull_fail(err, LULL_ERR_RANGE, "--define: '%s', expected NAME=NUMBER", texts[i]);
    }
    wish->values = values;
    wish->n_values = count;
    return LULL_OK;
}

static lull_status read_solver_sweep(const char *text, struct lull_arena *arena,
                                     struct lull_solver_wish *wish, struct lull_error *err)
{
    const char *rest = text ? split_parameter(text, arena, &wish->swept) : NULL;
    size_t count;
    if (!text)
        return LULL_OK;
    if (!rest)
        return lull_fail(err, LULL_ERR_RANGE, "--sweep: '%s', expected NAME=V1,V2,...", text);
    const char **pieces = lull_split(rest, ",", arena, &count);
    double *values = lull_arena_zero(arena, count, sizeof *values);
    for (size_t i = 0; i < count; i++)
        if (lull_parse_real(pieces[i], &values[i]) != LULL_OK)
            return lull_fail(err, LULL_ERR_RANGE, "--sweep: '%s', expected numbers with commas",
                             text);
    wish->sweep = values;
    wish->n_sweep = count;
    return LULL_OK;
}

static lull_status read_solver_options(const struct lull_solver_texts *texts,
                                       struct lull_solver_options *ret_options,
                                       struct lull_error *err)
{
    static const char *const compilers[] = {"gcc", "clang", NULL};
    unsigned compiler;
    double ns = NAN;
    lull_status status = lull_option_word("compiler", texts->compiler, compilers, &compiler, err);
    if (status != LULL_OK)
        return status;
    if (texts->cores < 0 || texts->cores > MOST_SOLVER_CORES)
        return lull_fail(err, LULL_ERR_RANGE, "--cores is %d, expected 1 to %d", texts->cores,
                         MOST_SOLVER_CORES);
    if (texts->barrier && lull_parse_time_real(texts->barrier, 1, &ns, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--barrier");
    if (ns < 0)
        return lull_fail(err, LULL_ERR_RANGE, "--barrier is below 0");
    *ret_options = (struct lull_solver_options){.cores = (unsigned)texts->cores,
                                                .compiler = compilers[compiler ? compiler - 1 : 0],
                                                .barrier = ns * 1e-9};
    return LULL_OK;
}

lull_status lull_solver_wish_read(const struct lull_solver_texts *texts, struct lull_arena *arena,
                                  struct lull_solver_wish *wish, struct lull_error *err)
{
    lull_status status = read_parameter_values(texts->values, arena, wish, err);
    if (status == LULL_OK)
        status = read_solver_sweep(texts->sweep, arena, wish, err);
    return status == LULL_OK ? read_solver_options(texts, &wish->options, err) : status;
}

/* ---- predictions ---------------------------------------------------------------------------- */

/* Predicts with some values of the user's parameters. The description is read anew for them,
 * because its kernels may depend on them. */
static lull_status predict_solver(const struct lull_solver_wish *wish,
                                  const struct lull_machine *machine,
                                  const struct lull_solver_parameter *values, size_t n_values,
                                  struct lull_arena *arena,
                                  struct lull_solver_prediction *ret_prediction,
                                  struct lull_error *err)
{
    struct lull_solver *solver = lull_arena_zero(arena, 1, sizeof *solver);
    lull_status status =
        lull_solver_read(wish->path, machine, values, n_values, arena, solver, err);
    if (status != LULL_OK)
        return status;
    status = lull_solver_predict(solver, machine, &wish->options, arena, ret_prediction, err);
    return status == LULL_OK ? status : lull_fail_prefix(err, status, "%s", wish->machine_path);
}

static lull_status predict_sweep(const struct lull_solver_wish *wish,
                                 const struct lull_machine *machine, struct lull_arena *arena,
                                 struct lull_solver_study *study, struct lull_error *err)
{
    struct lull_solver_sweep_point *points =
        lull_arena_zero(arena, wish->n_sweep + 1, sizeof *points);
    struct lull_solver_parameter *values =
        lull_arena_zero(arena, wish->n_values + 1, sizeof *values);
    for (size_t v = 0; v < wish->n_values; v++)
        values[v] = wish->values[v];
    lull_status status = LULL_OK;
    for (size_t i = 0; status == LULL_OK && i < wish->n_sweep; i++) {
        points[i].value = wish->sweep[i];
        values[wish->n_values] =
            (struct lull_solver_parameter){.name = wish->swept, .value = wish->sweep[i]};
        status = predict_solver(wish, machine, values, wish->n_values + 1, arena,
                                &points[i].prediction, err);
    }
    study->swept = wish->swept;
    study->sweep = points;
    study->n_sweep = wish->n_sweep;
    return status;
}

lull_status lull_solver_study_make(const struct lull_solver_wish *wish,
                                   struct lull_notices *notices, struct lull_arena *arena,
                                   struct lull_solver_study *ret_study, struct lull_error *err)
{
    struct lull_solver_prediction *prediction = lull_arena_zero(arena, 1, sizeof *prediction);
    struct lull_machine *machine;
    struct lull_solver_study study = {.prediction = prediction};
    lull_status status = lull_machine_read(wish->machine_path, arena, &machine, err);
    if (status == LULL_OK)
        status =
            predict_solver(wish, machine, wish->values, wish->n_values, arena, prediction, err);
    if (status == LULL_OK)
        status = predict_sweep(wish, machine, arena, &study, err);
    if (status != LULL_OK)
        return status;
    if (!prediction->sync_known)
        lull_notices_add(notices, LULL_NOTICE_WARNING,
                         "%s: does not say what barriers and parallel regions cost, they count "
                         "nothing; --barrier sets it",
                         wish->machine_path);
    study.machine = machine;
    study.machine_name = machine->name ? machine->name : wish->machine_path;
    *ret_study = study;
    return LULL_OK;
}
