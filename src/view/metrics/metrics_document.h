/* SPDX-License-Identifier: BSD-3-Clause */
/* The document of `lull metrics`: efficiencies of runs side by side, and what stands behind them.
 */
#ifndef LULL_VIEW_METRICS_METRICS_DOCUMENT_H
#define LULL_VIEW_METRICS_METRICS_DOCUMENT_H

#include "study/notices.h"
#include "view/metrics/metrics_tables.h"

/* A kind of parts of a run, as regions, call sites, processes, threads, files, functions, lines, loops,
 * or those who made others wait. `add` adds one table per run with a row for each of its parts. */
struct lull_metrics_part {
    const char *name;  /* "region" */
    bool regions;      /* the runs have to be broken down by region */
    bool operations;   /* and by operation of devices */
    bool files;        /* the runs need what was done with files */
    bool waits;        /* the runs need who made others wait */
    bool device_waits; /* ... and what kept threads in calls that wait for devices */
    const struct lull_code_options *code; /* the runs need where in the code useful time was spent;
                                             NULL: they do not */
    void (*add)(struct lull_document *document, const struct lull_runs *runs,
                struct lull_arena *arena);
};

const struct lull_metrics_part *lull_metrics_part_find(const char *name); /* NULL if unknown */

struct lull_metrics_wish {
    enum lull_scheme_choice scheme;
    bool nag; /* the multiplicative scheme of hybrid runs in the variant of the Numerical Algorithms
                 Group */
    bool raw, counters;                   /* tables of times, of all counters */
    const struct lull_metrics_part *part; /* NULL: none */
    bool reference_named;                 /* the user has named the reference */
    const char *region, *window;          /* as the user typed them; NULL: the whole run */
};

/* "lull-metrics/1". The runs have their values. Runs, wish and notices outlive the document. Its
 * JSON also holds the profiles of the runs. */
struct lull_document *lull_metrics_document(const struct lull_runs *runs,
                                            const struct lull_metrics_wish *wish,
                                            const struct lull_notices *notices,
                                            struct lull_arena *arena);

#endif
