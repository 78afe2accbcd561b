/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of `lull metrics`, of which `lull report` and `lull replay` use some, too: runs side by side
 * (metrics_tables.c), and for each run its parts (part_tables.c), the places in code that its samples show
 * (code_tables.c), waits (wait_tables.c) and devices (device_tables.c). */
#ifndef LULL_VIEW_METRICS_METRICS_TABLES_H
#define LULL_VIEW_METRICS_METRICS_TABLES_H

#include "report/document.h"
#include "study/runs.h"
#include "trace/resources.h"

/* The scheme that the user wants efficiencies to be split by. */
enum lull_scheme_choice {
    LULL_CHOICE_USUAL, /* multiplicative for runs with one thread per process, else additive */
    LULL_CHOICE_ADDITIVE,
    LULL_CHOICE_MULTIPLICATIVE,
    LULL_CHOICE_ALL
};

/* A table with one column per run, headed by its name, nodes and shape. */
struct lull_table *lull_table_of_runs(struct lull_document *document, const char *id,
                                      const char *title, const char *corner,
                                      const struct lull_runs *runs, struct lull_arena *arena);

/* Whether any run is hybrid (lull_pop_is_hybrid), and whether any has devices. */
bool lull_runs_are_hybrid(const struct lull_runs *runs);
bool lull_runs_have_devices(const struct lull_runs *runs);

/* Whether a choice means the additive scheme; LULL_CHOICE_ALL counts as LULL_CHOICE_USUAL. */
bool lull_choice_is_additive(enum lull_scheme_choice choice, bool hybrid);
enum lull_scheme lull_scheme_of(bool additive, bool hybrid);

/* The tree of a scheme below the common rows, with one column per run. */
void lull_table_of_scheme(struct lull_document *document, const struct lull_runs *runs,
                          enum lull_scheme scheme, struct lull_arena *arena);

/* Times and counters behind the efficiencies, and where the time of all threads went. */
void lull_table_of_times(struct lull_document *document, const struct lull_runs *runs,
                         struct lull_arena *arena);
void lull_table_of_activities(struct lull_document *document, const struct lull_runs *runs,
                              struct lull_arena *arena);

/* All counters, summed over the useful time of all threads. */
void lull_table_of_counters(struct lull_document *document, const struct lull_runs *runs,
                            struct lull_arena *arena);

/* A table of the parts of one run, with the id "WHAT:RUN" and the title "TITLE of RUN"; `corner` heads the column of
 * their names. */
struct lull_table *lull_table_of_parts(struct lull_document *document, const char *what,
                                       const char *title, const char *corner,
                                       const struct lull_run *run, struct lull_arena *arena);

/* The length of the windows of all threads of a run together, in ns, to which shares of its time refer; 1 where
 * that is 0. */
double lull_time_of_threads(const struct lull_breakdown *breakdown);

/* What the processes of a breakdown had of memory. */
struct lull_memory_sum lull_memory_of_breakdown(const struct lull_breakdown *breakdown,
                                                struct lull_arena *arena);

/* One table per run, with one row per region (and a second one of the OpenMP parallel regions),
 * call site, process or thread. */
void lull_tables_by_region(struct lull_document *document, const struct lull_runs *runs,
                           struct lull_arena *arena);
void lull_tables_by_callsite(struct lull_document *document, const struct lull_runs *runs,
                             struct lull_arena *arena);
void lull_tables_by_process(struct lull_document *document, const struct lull_runs *runs,
                            struct lull_arena *arena);
void lull_tables_by_thread(struct lull_document *document, const struct lull_runs *runs,
                           struct lull_arena *arena);

/* One table per run with a row for each function, line of the source or loop in which useful time was
 * spent, or from which MPI or OpenMP was called. */
void lull_tables_by_function(struct lull_document *document, const struct lull_runs *runs,
                             struct lull_arena *arena);
void lull_tables_by_line(struct lull_document *document, const struct lull_runs *runs,
                         struct lull_arena *arena);
void lull_tables_by_loop(struct lull_document *document, const struct lull_runs *runs,
                         struct lull_arena *arena);

/* One table per run with a row for each file. */
void lull_tables_by_file(struct lull_document *document, const struct lull_runs *runs,
                         struct lull_arena *arena);

/* One table per run with a row for each device: how long it was busy, and what it lost the rest of the time to. */
void lull_tables_by_device(struct lull_document *document, const struct lull_runs *runs,
                           struct lull_arena *arena);

/* One table per run with a row for each name of kernels, each kind of copy, each stream; and a note where a run does
 * not tell operations. */
void lull_tables_by_kernel(struct lull_document *document, const struct lull_runs *runs,
                           struct lull_arena *arena);
void lull_tables_by_copy(struct lull_document *document, const struct lull_runs *runs,
                         struct lull_arena *arena);
void lull_tables_by_stream(struct lull_document *document, const struct lull_runs *runs,
                           struct lull_arena *arena);

/* Two tables per run: who made others wait, and where the time of each process in MPI went. */
void lull_tables_by_wait(struct lull_document *document, const struct lull_runs *runs,
                         struct lull_arena *arena);

/* One table per run whose waits were looked for and that has any: who made others wait. */
void lull_tables_of_charges(struct lull_document *document, const struct lull_runs *runs,
                            struct lull_arena *arena);

/* A note that follows the lowest efficiencies of the largest run down the tree. */
void lull_note_of_loss(struct lull_document *document, const struct lull_runs *runs,
                       enum lull_scheme scheme, struct lull_arena *arena);

#endif
