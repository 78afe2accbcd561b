/* The document and the chart of `lull model solver`. */
#ifndef LULL_VIEW_SOLVER_SOLVER_DOCUMENT_H
#define LULL_VIEW_SOLVER_SOLVER_DOCUMENT_H

#include "model/solver/solver.h"
#include "report/chart.h"
#include "report/document.h"

/* One value of the parameter that a sweep goes over. */
struct lull_solver_sweep_point {
    double value;
    struct lull_solver_prediction prediction;
};

struct lull_solver_view {
    const struct lull_machine *machine;
    const char *machine_name;
    const struct lull_solver_prediction *prediction;
    const char *swept; /* parameter; NULL: no sweep */
    const struct lull_solver_sweep_point *sweep;
    size_t n_sweep;
};

/* "lull-model-solver/1". */
struct lull_document *lull_solver_document(const struct lull_solver_view *view,
                                           struct lull_arena *arena);
/* Without a sweep iterations per second over cores, naive and with the latency penalty; with one
 * the share of barriers and regions on all cores over the parameter. */
const struct lull_chart *lull_solver_chart(const struct lull_solver_view *view,
                                           struct lull_arena *arena);

#endif
