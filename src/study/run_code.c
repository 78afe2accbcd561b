/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/run_code.h"

#include "binary/source.h"

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

/* ==== listing ================================================================================= */

/* Lines around one with time are shown, too: one on each side, or all of a function that is short. */
enum { SHORT_FUNCTION = 32, AROUND = 1 };

static int by_number(const void *a, const void *b)
{
    const struct lull_listed_line *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static bool is_line_of(const struct lull_code_row *line, const struct lull_code_row *function)
{
    return line->line > 0 && strcmp(line->function, function->function) == 0 &&
           strcmp(line->file, function->file) == 0;
}

/* The lines of a function that have time, the ones with the most useful time, in the order of the
 * source. Rows come with the most useful time first. */
static uint32_t take_lines(const struct lull_code_table *lines,
                           const struct lull_code_row *function, struct lull_listed_line *taken)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < lines->n_rows && n < LULL_LISTED_LINES / 2; i++)
        if (is_line_of(&lines->rows[i], function))
            taken[n++] =
                (struct lull_listed_line){.number = lines->rows[i].line, .row = &lines->rows[i]};
    qsort(taken, n, sizeof *taken, by_number);
    return n;
}

/* Puts the neighbours of lines between them. */
static uint32_t add_neighbours(const struct lull_listed_line *taken, uint32_t n,
                               struct lull_listed_line *all)
{
    const uint32_t span = taken[n - 1].number - taken[0].number + 1;
    uint32_t count = 0, next = taken[0].number > AROUND ? taken[0].number - AROUND : 1;
    for (uint32_t i = 0; i < n; i++) {
        if (span > SHORT_FUNCTION && next + AROUND < taken[i].number)
            next = taken[i].number - AROUND;
        for (; next < taken[i].number && count < LULL_LISTED_LINES; next++)
            all[count++] = (struct lull_listed_line){.number = next};
        if (count < LULL_LISTED_LINES)
            all[count++] = taken[i];
        next = taken[i].number + 1;
        const uint32_t until = i + 1 < n ? taken[i + 1].number : UINT32_MAX;
        for (uint32_t k = 0; k < AROUND && next < until && count < LULL_LISTED_LINES; k++)
            all[count++] = (struct lull_listed_line){.number = next++};
    }
    return count;
}

/* False: it is not there. */
static bool find_source(const struct lull_run *run, struct lull_listed_function *listed,
                        struct lull_listed_line *lines, struct lull_arena *arena)
{
    const struct lull_code_row *row = listed->row;
    const struct lull_source_search search = {.binary = row->object < run->trace->n_objects
                                                            ? run->trace->objects[row->object].path
                                                            : NULL};
    struct lull_source_text source;
    struct lull_error err;
    if (lull_source_read(row->file, lines[0].number, lines[listed->n_lines - 1].number, &search,
                         arena, &source, &err) != LULL_OK) {
        listed->absent = lull_arena_strdup(arena, err.text);
        return false;
    }
    listed->newer = source.newer;
    for (uint32_t i = 0; i < listed->n_lines; i++)
        if (lines[i].number - source.first < source.count)
            lines[i].text = source.lines[lines[i].number - source.first];
    return true;
}

/* Whether a function computes so much, or so much is waited and done in calls from there. */
static bool is_worth_listing(const struct lull_code_table *functions,
                             const struct lull_code_row *row)
{
    return *row->file &&
           (double)(row->useful_ns > row->mpi_ns + row->openmp_ns ? row->useful_ns
                                                                  : row->mpi_ns + row->openmp_ns) >=
               LULL_LISTED_LEAST * (double)functions->useful_ns;
}

static bool list_function(const struct lull_run *run, const struct lull_code_table *lines,
                          const struct lull_code_row *row, bool source, struct lull_arena *arena,
                          struct lull_listed_function *ret_listed)
{
    struct lull_listed_line taken[LULL_LISTED_LINES];
    const uint32_t n = take_lines(lines, row, taken);
    if (n == 0)
        return false;
    struct lull_listed_line *all = lull_arena_zero(arena, LULL_LISTED_LINES, sizeof *all);
    *ret_listed = (struct lull_listed_function){.row = row, .lines = all};
    ret_listed->n_lines = add_neighbours(taken, n, all);
    if (!source || !find_source(run, ret_listed, all, arena)) {
        memcpy(all, taken, n * sizeof *all); /* without text neighbours tell nothing */
        ret_listed->n_lines = n;
    }
    return true;
}

lull_status lull_run_code_listing(const struct lull_run *run, bool source, struct lull_arena *arena,
                                  struct lull_code_listing *ret_listing, struct lull_error *err)
{
    struct lull_code_table lines;
    *ret_listing = (struct lull_code_listing){.n_listed = 0};
    lull_status status =
        lull_run_code_table(run, LULL_CODE_BY_FUNCTION, arena, &ret_listing->functions, err);
    if (status == LULL_OK)
        status = lull_run_code_table(run, LULL_CODE_BY_LINE, arena, &lines, err);
    for (uint32_t i = 0; status == LULL_OK && i < ret_listing->functions.n_rows &&
                         ret_listing->n_listed < LULL_LISTED_FUNCTIONS;
         i++) {
        const struct lull_code_row *row = &ret_listing->functions.rows[i];
        if (is_worth_listing(&ret_listing->functions, row) &&
            list_function(run, &lines, row, source, arena,
                          &ret_listing->listed[ret_listing->n_listed]))
            ret_listing->n_listed++;
    }
    return status;
}
