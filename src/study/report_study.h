/* SPDX-License-Identifier: BSD-3-Clause */
/* A study for a report: what `lull metrics` knows of runs and, from the same reading of each run,
 * its timeline, its iterations and the evidence for its diagnosis. */
#ifndef LULL_STUDY_REPORT_STUDY_H
#define LULL_STUDY_REPORT_STUDY_H

#include "study/diagnosis.h"
#include "study/joint_pass.h"
#include "study/model/hot_loops.h"
#include "study/runs.h"
#include "timeline/timeline.h"
#include "wave/field.h"

/* A row of the timeline whose useful time differs from that of its peers. */
struct lull_report_difference {
    uint32_t row;      /* index in the timeline */
    int64_t useful_ns; /* mean of the row's locations */
    int64_t median_ns; /* of all rows of its kind */
};

enum { LULL_REPORT_DIFFERENCES = 5 }; /* the most rows that are told */
/* A row is told as different if its useful time differs from the median of its peers by at least
 * this share of the run's time. Noise makes smaller differences in any run. */
#define LULL_REPORT_DIFFERS_LEAST 0.05

struct lull_report_run {
    const struct lull_timeline *timeline; /* NULL: there is none */
    const char *absent;                   /* why there is no timeline */
    const struct lull_wave_field *field;  /* of the iterations; NULL: there is none */
    const char *no_field;                 /* why there is no field */
    struct lull_diagnosis diagnosis;      /* after lull_report_diagnose */
    const struct lull_hot_loops *hot; /* likewise; NULL: there is no machine file, or no trace */
    /* The rows of processes where there are several, else of threads, that differ from their peers;
     * those that differ most come first. */
    struct lull_report_difference differences[LULL_REPORT_DIFFERENCES];
    uint32_t n_differences;
    const char *peers; /* what was compared: "rank", "thread"; NULL: nothing could be */
};

/* How many bins of time samples are told by. */
enum { LULL_REPORT_BINS = 64 };

/* For runs with more threads than this a report follows no waits and finds no runtime on an ideal
 * network, unless the user asks for it: both together take up to 40 KB of memory for each thread,
 * which makes 0.8 GB for so many. */
enum { LULL_REPORT_MOST_ABREAST = 20000 };

struct lull_report_options {
    struct lull_runs_options runs; /* without `asked` */
    unsigned fine;                 /* this and the next two: as in lull_timeline_options */
    uint64_t most_steps, most_messages;
    bool no_prices;                     /* findings without replays */
    const struct lull_machine *machine; /* on which the runs ran, for findings; NULL: not known */
    bool hot_loops;                     /* find the loops of the code: set on all members of a team
                                           where there is a machine file */
    struct lull_hot_wish hot;           /* where there is a machine */
};

struct lull_report {
    struct lull_runs runs;
    struct lull_report_run *of; /* [n_of], in the order of the runs */
    uint32_t n_of;              /* number of runs; 0 on members of a team other than the first */
};

/* Sets how much of each run is kept for a page of so many bytes: the usual 16 MB hold 10^6 steps
 * and 2 x 10^5 messages, and rows of level 11. */
void lull_report_budget(uint64_t bytes, struct lull_report_options *options);

/* Reads the runs. The members of a team read them together, and the first has the report. Saved
 * profiles and runs that have only sums get no timeline. Ends with lull_report_close, whether it
 * fails or not. */
lull_status lull_report_load(const char *const *paths, uint32_t count,
                             const struct lull_report_options *options,
                             struct lull_notices *notices, struct lull_arena *arena,
                             struct lull_report *ret_report, struct lull_error *err);
/* Finds what each run loses its time by, and what fixing that would gain. The runs have been
 * compared before (study/compare.h). Not with a region. All members of a team call it, and the
 * first has the diagnoses then. Fails only where a member has gone. */
lull_status lull_report_diagnose(struct lull_report *report,
                                 const struct lull_report_options *options,
                                 struct lull_arena *arena, struct lull_error *err);
void lull_report_close(struct lull_report *report);

#endif
