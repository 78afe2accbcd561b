/* The runs of a report: what `lull metrics` knows of them and, from the same reading, their
 * timelines. */
#ifndef LULL_STUDY_REPORT_STUDY_H
#define LULL_STUDY_REPORT_STUDY_H

#include "study/diagnosis.h"
#include "study/joint_pass.h"
#include "study/runs.h"
#include "timeline/timeline.h"
#include "wave/field.h"

/* ==== iterations ============================================================================== */

/* The iterations of ranks: how long each took and how long it waited, where they can be found. */

struct lull_iterations;

/* ==== report study ============================================================================ */

/* A row whose time differs from that of its peers. */
struct lull_report_difference {
    uint32_t row;      /* of the timeline */
    int64_t useful_ns; /* mean of its locations */
    int64_t median_ns; /* of all rows of its kind */
};

enum { LULL_REPORT_DIFFERENCES = 5 };
/* A row is told as different from this share of the time on, by which its useful time is away from
 * the median of its peers: less is what noise makes of any run. */
#define LULL_REPORT_DIFFERS_LEAST 0.05

struct lull_report_run {
    const struct lull_timeline *timeline; /* NULL: none ... */
    const char *absent;                   /* ... because */
    struct lull_timeline_builder *builder;
    struct lull_iterations *iterations;  /* NULL: none */
    const struct lull_wave_field *field; /* of them; NULL: none ... */
    const char *no_field;                /* ... because */
    struct lull_diagnosis_evidence evidence;
    struct lull_diagnosis diagnosis; /* after lull_report_diagnose */
    /* Processes where there are several, else threads; those that differ most first. */
    struct lull_report_difference differences[LULL_REPORT_DIFFERENCES];
    uint32_t n_differences;
    const char *peers; /* what was compared: "rank", "thread"; NULL: nothing could be */
};

/* Of runs of more threads a report follows no waits and has no runtime on an ideal network, unless
 * that is asked for: both together take up to 40 KB of each thread, which is 0.8 GB here. */
enum { LULL_REPORT_MOST_ABREAST = 20000 };

struct lull_report_options {
    struct lull_runs_options runs; /* its companion is the report's own */
    unsigned fine;                 /* as in lull_timeline_options ... */
    uint64_t most_steps, most_messages;
    bool no_prices;                     /* findings without replays */
    const struct lull_machine *machine; /* that the runs ran on, for findings; NULL: not known */
};

struct lull_report {
    struct lull_runs runs;
    struct lull_report_run *of; /* [n_of], in the order of the runs */
    uint32_t n_of;              /* all; 0 on others of a team than the first */
};

/* How much of each run is kept for a page of so many bytes: the usual 16 MB hold 10^6 steps and
 * 2 x 10^5 messages, and rows of level 11. */
void lull_report_budget(uint64_t bytes, struct lull_report_options *options);

/* Reads the runs, a team together: the first has the report. Saved profiles and sums have no
 * timeline. Ends with lull_report_close in either
 * case. */
lull_status lull_report_load(const char *const *paths, uint32_t count,
                             const struct lull_report_options *options,
                             struct lull_notices *notices, struct lull_arena *arena,
                             struct lull_report *ret_report, struct lull_error *err);
/* What each run loses its time by, and what fixing that would bring. The runs are compared
 * (study/compare.h). Not with a region. By all members of a team, of which the first has read the
 * diagnosis then. Fails only where a member has gone. */
lull_status lull_report_diagnose(struct lull_report *report,
                                 const struct lull_report_options *options,
                                 struct lull_arena *arena, struct lull_error *err);
void lull_report_close(struct lull_report *report);

#endif
