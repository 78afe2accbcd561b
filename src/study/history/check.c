#include "study/history/check.h"

#include "study/history/confirm.h"

static void judge_runs(const struct lull_check_wish *wish, struct lull_check_study *study,
                       struct lull_arena *arena)
{
    lull_gate_judge(wish->conditions, wish->n_conditions, study->runs, study->n_runs,
                    &study->history, &wish->gate, arena, &study->gate);
}

static lull_status confirm(const struct lull_check_wish *wish, struct lull_check_study *study,
                           struct lull_notices *notices, struct lull_arena *arena,
                           struct lull_error *err)
{
    struct lull_history_entry *all, *again;
    const uint32_t before = study->n_runs;
    lull_status status = lull_confirm_run(wish->confirm, before, &wish->runs, &wish->about, notices,
                                          arena, &again, &study->n_confirming, err);
    if (status == LULL_OK)
        status = lull_history_check(&study->history, again, study->n_confirming, wish->runs.force,
                                    notices, err);
    if (status != LULL_OK)
        return lull_fail_prefix(err, status, "--confirm");
    study->n_runs = before + study->n_confirming;
    all = lull_arena_zero(arena, study->n_runs, sizeof(*all));
    for (uint32_t i = 0; i < study->n_runs; i++)
        all[i] = i < before ? study->runs[i] : again[i - before];
    study->runs = all;
    judge_runs(wish, study, arena);
    return LULL_OK;
}

lull_status lull_check_make(const char *const *paths, uint32_t count,
                            const struct lull_check_wish *wish, struct lull_notices *notices,
                            struct lull_arena *arena, struct lull_check_study *ret_study,
                            struct lull_error *err)
{
    struct lull_history_entry *runs;
    *ret_study = (struct lull_check_study){0};
    lull_status status = lull_history_measure(paths, count, &wish->runs, &wish->about, notices,
                                              arena, &runs, &ret_study->n_runs, err);
    if (status == LULL_OK)
        status = lull_history_read_series(wish->against, &runs->key, wish->about.commit, arena,
                                          &ret_study->history, err);
    if (status == LULL_OK) {
        lull_history_follow_edit(ret_study->history.entries, ret_study->history.count, &runs[0],
                                 notices);
        status = lull_history_check(&ret_study->history, runs, ret_study->n_runs, wish->runs.force,
                                    notices, err);
    }
    if (status != LULL_OK)
        return status;
    ret_study->runs = runs;
    judge_runs(wish, ret_study, arena);
    return wish->confirm && ret_study->gate.verdict == LULL_GATE_FAIL
               ? confirm(wish, ret_study, notices, arena, err)
               : LULL_OK;
}
