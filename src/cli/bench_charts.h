/* The charts of a machine: bandwidth over the working set and over cores, message times with their
 * fits, noise. */
#ifndef LULL_CLI_BENCH_CHARTS_H
#define LULL_CLI_BENCH_CHARTS_H

#include "machine/machine.h"

/* Writes one SVG file per chart that the machine has numbers for into `folder`, which is made where
 * it is missing; files of the same names are replaced. Returns an exit status; failure has been
 * told. */
int lull_bench_charts(const struct lull_machine *machine, const char *folder,
                      struct lull_arena *arena);

#endif
