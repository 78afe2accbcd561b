/* SPDX-License-Identifier: BSD-3-Clause */
/* What was checked, in the forms of programs that watch over the development of others. Texts are
 * data and may hold anything. */
#ifndef LULL_REPORT_CHECKS_H
#define LULL_REPORT_CHECKS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum lull_check_status { LULL_CHECK_PASSED, LULL_CHECK_FAILED, LULL_CHECK_OPEN };

struct lull_check {
    const char *name; /* "runtime > 1.05 * baseline" */
    enum lull_check_status status;
    const char *message; /* a sentence */
    const char *file;    /* source file that the failure belongs to; "": not known */
    uint32_t line;
};

struct lull_check_value {
    const char *name; /* letters, digits and underscores */
    double value;
};

struct lull_check_label {
    const char *name, *value;
};

struct lull_checks {
    const char *suite; /* "heat, 2 x 1" */
    enum lull_check_status status;
    const struct lull_check *checks;
    size_t count;
    const struct lull_check_value *values; /* what was measured */
    size_t n_values;
    const struct lull_check_label *labels; /* of the values */
    size_t n_labels;
    const char *const *remarks; /* sentences; NULL at the end */
};

struct lull_checks_form {
    const char *name;
    /* Errors of the stream stay in ferror(). */
    void (*write)(const struct lull_checks *checks, FILE *out);
};

/* JUnit's XML; Markdown; workflow commands that GitHub shows beside the source; OpenMetrics, which
 * GitLab shows in merge requests; a badge as SVG. */
extern const struct lull_checks_form lull_checks_junit, lull_checks_markdown, lull_checks_github,
    lull_checks_gitlab, lull_checks_badge;

/* Writes a file, as lull_file_write does (base/output_file.h). */
lull_status lull_checks_save(const char *path, const struct lull_checks_form *form,
                             const struct lull_checks *checks, struct lull_error *err);

#endif
