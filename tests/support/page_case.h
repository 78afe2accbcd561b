/* Documents as the page shows them, made up: a ring of ranks of which one is late. */
#ifndef LULL_TESTS_SUPPORT_PAGE_CASE_H
#define LULL_TESTS_SUPPORT_PAGE_CASE_H

#include "report/model.h"

struct page_run {
    const char *title;
    uint32_t nodes, ranks_per_node, threads, iterations;
    uint32_t late_rank;
    int64_t work_ns;      /* of an iteration; the late rank takes 1.9 times as long */
    bool steps, messages; /* kept */
    const char *region;   /* name of the function that computes */
};

/* A timeline of the run. Without steps its cells are those of iterations that are all alike. */
const struct lull_picture_timeline *page_case_timeline(struct lull_arena *arena,
                                                       const struct page_run *run);

/* A document with a tree in two schemes, tables, charts, a matrix per run and the runs' timelines.
 */
struct lull_document *page_case_document(struct lull_arena *arena, const struct page_run *runs,
                                         size_t n_runs);

#endif
