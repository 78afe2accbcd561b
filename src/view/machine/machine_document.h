/* The documents of `lull bench`. */
#ifndef LULL_VIEW_MACHINE_MACHINE_DOCUMENT_H
#define LULL_VIEW_MACHINE_MACHINE_DOCUMENT_H

#include "machine/machine.h"
#include "report/document.h"

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

#endif
