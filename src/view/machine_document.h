/* SPDX-License-Identifier: BSD-3-Clause */
/* The documents and the charts of `lull bench`. */
#ifndef LULL_VIEW_MACHINE_DOCUMENT_H
#define LULL_VIEW_MACHINE_DOCUMENT_H

#include "machine/machine.h"
#include "report/chart.h"
#include "report/document.h"

/* The benchmarks there are: "lull-bench-list/1". */
struct lull_document *lull_bench_list(struct lull_arena *arena);

/* What a machine file holds: "lull-bench/1". */
struct lull_document *lull_bench_document(const struct lull_machine *machine,
                                          struct lull_arena *arena);

/* The numbers in which two machines differ, and how many others there are: "lull-bench-compare/1".
 * Where both machines keep what each visit gave, numbers differ by a rank test of these, with
 * Holm's correction for the number of tests; others differ if their intervals do not meet, or,
 * where one has no interval, if their values are more than 1 % apart. */
struct lull_document *lull_bench_comparison(const struct lull_machine *a, const char *a_name,
                                            const struct lull_machine *b, const char *b_name,
                                            struct lull_arena *arena);

/* Writes the charts of a machine, each as NAME.svg, into a folder, which is made where it is
 * missing: bandwidth over the working set and over cores, message times with their fits, noise. */
lull_status lull_machine_charts_save(const char *folder, const struct lull_machine *machine,
                                     struct lull_arena *arena, struct lull_error *err);

#endif
