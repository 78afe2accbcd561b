/* SPDX-License-Identifier: BSD-3-Clause */
/* The source of the functions in which a run computed most, and of those from which it called MPI and OpenMP,
 * line by line with the time of each. */
#ifndef LULL_STUDY_CODE_LISTING_H
#define LULL_STUDY_CODE_LISTING_H

#include "study/run_code.h"

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
