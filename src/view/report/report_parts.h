/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the document of `lull report`. Internal to view. */
#ifndef LULL_VIEW_REPORT_REPORT_PARTS_H
#define LULL_VIEW_REPORT_REPORT_PARTS_H

#include "report/document.h"
#include "report/pictures.h"
#include "study/report_study.h"

struct lull_report_wish; /* view/report/report_document.h */

/* "rank 3", "rank 3 thread 1", the name of a node, "node01 and 3 more". In `arena`. */
const char *lull_report_row_name(const struct lull_timeline *timeline, uint32_t row,
                                 struct lull_arena *arena);
/* The first row of the timeline that shows a location, else a node, else a process (the first of these
 * three that is not LULL_NONE); 0, the first row of all: none does. */
uint32_t lull_report_row_of(const struct lull_timeline *timeline, uint32_t location, uint32_t node,
                            uint32_t process);
/* "lull report run.lull --window", to which FROM:TO in seconds is to be added. */
const char *lull_report_command(const struct lull_run *run, const struct lull_report_wish *wish,
                                struct lull_arena *arena);

void lull_report_add_timeline(struct lull_document *document, const struct lull_run *run,
                              const struct lull_report_run *of, const struct lull_report_wish *wish,
                              struct lull_arena *arena);

/* How much memory the processes of each node had over time; nothing where their recorder did not learn it. */
void lull_report_add_memory(struct lull_document *document, const struct lull_run *run,
                            const struct lull_report_run *of, struct lull_arena *arena);

/* The same as a table of five moments, and in JSON, of all runs of the report, which outlives the document. */
void lull_report_add_memory_table(struct lull_document *document, const struct lull_run *run,
                                  const struct lull_report_run *of, struct lull_arena *arena);
void lull_report_attach_memory(struct lull_document *document, const struct lull_report *report,
                               struct lull_arena *arena);

/* How even the work of a run is: over rows and time, and over threads. */
void lull_report_add_load(struct lull_document *document, const struct lull_run *run,
                          const struct lull_report_run *of, struct lull_arena *arena);

/* The functions in which run `number` with samples computed, their source, and heat maps over ranks and time. */
void lull_report_add_code(struct lull_document *document, const struct lull_report *report,
                          uint32_t number, const struct lull_report_wish *wish,
                          struct lull_arena *arena);

/* Communication, message sizes and iterations of a run. */
void lull_report_add_traffic(struct lull_document *document, const struct lull_run *run,
                             const struct lull_report_run *of, struct lull_arena *arena);
void lull_report_add_iterations(struct lull_document *document, const struct lull_run *run,
                                const struct lull_report_run *of, struct lull_arena *arena);

#endif
