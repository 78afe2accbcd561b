/* The charts of a machine: bandwidth over the working set and over cores, message times with their
 * fits, noise. */
#ifndef LULL_VIEW_MACHINE_MACHINE_CHARTS_H
#define LULL_VIEW_MACHINE_MACHINE_CHARTS_H

#include "machine/machine.h"
#include "report/chart.h"

struct lull_machine_chart {
    const char *name; /* "memory-cores" */
    const struct lull_chart *chart;
};

enum { LULL_MACHINE_CHARTS = 4 };

/* Draws the charts that the machine has numbers for; they live in `arena`. Returns how many. */
size_t lull_machine_charts(const struct lull_machine *machine, struct lull_arena *arena,
                           struct lull_machine_chart ret_charts[LULL_MACHINE_CHARTS]);
/* Writes each of them as NAME.svg into a folder, which is made where it is missing. */
lull_status lull_machine_charts_save(const char *folder, const struct lull_machine *machine,
                                     struct lull_arena *arena, struct lull_error *err);

#endif
