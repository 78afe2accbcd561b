/* The parts of the document of `lull report`. Internal to view. */
#ifndef LULL_VIEW_REPORT_REPORT_PARTS_H
#define LULL_VIEW_REPORT_REPORT_PARTS_H

#include "report/document.h"
#include "report/pictures.h"
#include "view/report/report_document.h"

/* How far the numbers of each run may be believed. */
void lull_report_add_trust(struct lull_document *document, const struct lull_runs *runs,
                           struct lull_arena *arena);

/* "rank 3", "rank 3 thread 1", the name of a node, "node01 and 3 more". In `arena`. */
const char *lull_report_row_name(const struct lull_timeline *timeline, uint32_t row,
                                 struct lull_arena *arena);
/* "lull report run.lull --window", to which FROM:TO in seconds is to be added. */
const char *lull_report_command(const struct lull_run *run, const struct lull_report_wish *wish,
                                struct lull_arena *arena);

void lull_report_add_timeline(struct lull_document *document, const struct lull_run *run,
                              const struct lull_report_run *of, const struct lull_report_wish *wish,
                              struct lull_arena *arena);

/* How even the work of a run is: over rows and time, and over threads. */
void lull_report_add_load(struct lull_document *document, const struct lull_run *run,
                          const struct lull_report_run *of, struct lull_arena *arena);

/* Communication, message sizes and iterations of a run. */
void lull_report_add_traffic(struct lull_document *document, const struct lull_run *run,
                             const struct lull_report_run *of, struct lull_arena *arena);
void lull_report_add_iterations(struct lull_document *document, const struct lull_run *run,
                                const struct lull_report_run *of, struct lull_arena *arena);

/* How several runs scale that have different numbers of threads: speedup, efficiencies, and the
 * core time that is lost. */
void lull_report_add_charts(struct lull_document *document, const struct lull_runs *runs,
                            struct lull_arena *arena);

/* What the runs lose their time by. The timelines are in the document already, in the order of the
 * runs. */
void lull_report_add_findings(struct lull_document *document, const struct lull_report *report,
                              struct lull_arena *arena);

/* Who differs, who waited longest, and what to do next. */
void lull_report_add_remarks(struct lull_document *document, const struct lull_report *report,
                             const struct lull_report_wish *wish, struct lull_arena *arena);

#endif
