/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/run_code.h"

#include <stdlib.h>
#include <string.h>

/* ==== the analysis ============================================================================ */

static lull_status code_create(void *state, const void *options, struct lull_joint_pass *joint,
                               struct lull_error *err)
{
    struct lull_code_state *code = state;
    code->options = options;
    lull_status status = lull_code_create(joint->trace, joint->reading, joint->workers,
                                          code->options->bins, &code->collector, err);
    if (status == LULL_OK)
        lull_joint_pass_add(joint, lull_code_consumer(code->collector));
    return status;
}

static void code_release(void *state)
{
    struct lull_code_state *code = state;
    lull_code_destroy(code->collector);
    code->collector = NULL;
}

static lull_status code_gather(void *state, const struct lull_joint_pass *joint,
                               struct lull_error *err)
{
    const struct lull_code_state *code = state;
    (void)joint;
    return lull_code_gather(code->collector, err);
}

static lull_status code_conclude(void *state, const struct lull_joint_pass *joint,
                                 struct lull_error *err)
{
    struct lull_code_state *code = state;
    lull_status status = LULL_OK;
    if (joint->is_first) {
        code->code = lull_arena_zero(joint->arena, 1, sizeof *code->code);
        status = lull_code_conclude(code->collector, code->options->loops, joint->workers,
                                    joint->arena, code->code, err);
    }
    code_release(code);
    return lull_team_agree(lull_division_team(joint->reading->division), status, err);
}

const struct lull_analysis lull_code_analysis = {.size = sizeof(struct lull_code_state),
                                                 .create = code_create,
                                                 .gather = code_gather,
                                                 .conclude = code_conclude,
                                                 .release = code_release};

/* ==== tables ================================================================================== */

static const char *why_no_code(const struct lull_run *run, const struct lull_code_times *code,
                               struct lull_arena *arena)
{
    struct lull_sampling sampling;
    struct lull_error err;
    if (!run->trace)
        return "a saved profile holds none";
    if (!code)
        return "they need events, and there are sums only";
    if (code->useful_samples > 0)
        return NULL;
    if (code->samples > 0)
        return "none was taken in useful time of the part that is looked at";
    if (run->trace->n_locations > 0 &&
        lull_trace_read_sampling(run->trace, 0, &sampling, &err) == LULL_OK &&
        sampling.way == LULL_SAMPLES_REFUSED)
        return lull_arena_printf(arena, "the system has refused them (%s)",
                                 strerror((int)sampling.refused));
    return LULL_HOW_TO_SAMPLE;
}

const struct lull_code_times *lull_run_code(const struct lull_run *run, struct lull_arena *arena,
                                            const char **ret_absent)
{
    const struct lull_code_state *state = lull_run_state(run, &lull_code_analysis);
    const struct lull_code_times *code = state ? state->code : NULL;
    *ret_absent = why_no_code(run, code, arena);
    return *ret_absent ? NULL : code;
}

/* [n_regions]: how long calls of each region waited for other processes; NULL: it is not known. */
static const int64_t *waits_by_region(const struct lull_run *run, struct lull_arena *arena)
{
    const struct lull_wait_result *waits = run->waits;
    if (!waits || waits->absent)
        return NULL;
    int64_t *waited = lull_arena_zero(arena, run->trace->n_regions + (size_t)1, sizeof *waited);
    for (uint32_t i = 0; i < waits->n_calls; i++)
        waited[waits->calls[i].region] = waits->calls[i].waited_ns;
    return waited;
}

lull_status lull_run_code_table(const struct lull_run *run, enum lull_code_level level,
                                struct lull_arena *arena, struct lull_code_table *ret_table,
                                struct lull_error *err)
{
    const struct lull_code_state *state = lull_run_state(run, &lull_code_analysis);
    return lull_code_table_make(state->code, run->trace, run->reading, run->breakdown,
                                waits_by_region(run, arena), level, arena, ret_table, err);
}
