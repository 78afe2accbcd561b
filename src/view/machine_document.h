/* The documents of `lull bench`. */
#ifndef LULL_VIEW_MACHINE_DOCUMENT_H
#define LULL_VIEW_MACHINE_DOCUMENT_H

#include "machine/machine.h"
#include "report/chart.h"
#include "report/document.h"

/* ==== machine document ======================================================================== */

/* The benchmarks there are: "lull-bench-list/1". */
struct lull_document *lull_bench_list(struct lull_arena *arena);

/* What a machine file holds: "lull-bench/1". */
struct lull_document *lull_bench_document(const struct lull_machine *machine,
                                          struct lull_arena *arena);

/* Numbers of two machines whose intervals do not meet, and how many do: "lull-bench-compare/1".
 * Numbers without an interval on one side differ when their values do by more than 1 %. */
struct lull_document *lull_bench_comparison(const struct lull_machine *a, const char *a_name,
                                            const struct lull_machine *b, const char *b_name,
                                            struct lull_arena *arena);

/* ==== machine charts ========================================================================== */

/* The charts of a machine: bandwidth over the working set and over cores, message times with their
 * fits, noise. */

/* Writes each of them as NAME.svg into a folder, which is made where it is missing. */
lull_status lull_machine_charts_save(const char *folder, const struct lull_machine *machine,
                                     struct lull_arena *arena, struct lull_error *err);

#endif
