/* SPDX-License-Identifier: BSD-3-Clause */
/* In which code of its program a run computed: the analysis of its samples, and tables of functions,
 * lines and loops. */
#ifndef LULL_STUDY_RUN_CODE_H
#define LULL_STUDY_RUN_CODE_H

#include "metrics/code_table.h"
#include "study/run.h"

/* The analysis of where in the code useful time was spent. Its options are lull_code_options. The result
 * lives in the arena of the pass; it is NULL on members of a team other than the first. */
extern const struct lull_analysis lull_code_analysis;
struct lull_code_options {
    bool loops;    /* find the loops of the places, too */
    uint32_t bins; /* of time, as for lull_code_create */
};
struct lull_code_state {
    const struct lull_code_options *options;
    struct lull_code_collector *collector;
    struct lull_code_times *code;
};

/* What the analysis has found of a run; NULL: nothing of useful time, and *ret_absent says why, and how
 * it would be known. The run has been asked for the analysis. */
const struct lull_code_times *lull_run_code(const struct lull_run *run, struct lull_arena *arena,
                                            const char **ret_absent);

/* The table of a run for which lull_run_code has something. Its calls have waits where these were asked
 * for. Fails with LULL_ERR_MEMORY. */
lull_status lull_run_code_table(const struct lull_run *run, enum lull_code_level level,
                                struct lull_arena *arena, struct lull_code_table *ret_table,
                                struct lull_error *err);

/* ==== listing ================================================================================= */

/* The source of the functions in which a run computed most, and of those from which it called MPI and OpenMP,
 * line by line with the time of each. */

struct lull_listed_line {
    uint32_t number;
    const char *text;                /* NULL: the source was not found, or not asked for */
    const struct lull_code_row *row; /* NULL: the line has no time */
};

struct lull_listed_function {
    const struct lull_code_row *row;      /* of `functions` */
    const struct lull_listed_line *lines; /* those with time and, where there is text, their
                                             neighbours; ascending */
    uint32_t n_lines;
    const char *absent; /* why there is no text; NULL: there is, or none was asked for */
    bool newer;         /* the source is newer than the program */
};

#define LULL_LISTED_LEAST 0.01 /* of the useful time of all threads */
enum { LULL_LISTED_FUNCTIONS = 8, LULL_LISTED_LINES = 48 /* of a function, at most */ };

struct lull_code_listing {
    struct lull_code_table functions;
    struct lull_listed_function
        listed[LULL_LISTED_FUNCTIONS]; /* those whose lines are known, and whose useful time, or
                                          time in calls, is LULL_LISTED_LEAST or more; in the order
                                          of `functions` */
    uint32_t n_listed;
};

/* Fails as lull_run_code_table does. */
lull_status lull_run_code_listing(const struct lull_run *run, bool source, struct lull_arena *arena,
                                  struct lull_code_listing *ret_listing, struct lull_error *err);

#endif
