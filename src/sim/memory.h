/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: how ranks that compute at the same time share its bandwidth.
 *
 * Computations that wait for memory are the slower the more ranks of a memory domain compute at
 * once. A rank that is idle leaves its share to the others, so that they are faster: a simulation
 * with a memory gives every computation the pace that its domain has at each moment. Noise and
 * delays take no bandwidth. */
#ifndef LULL_SIM_MEMORY_H
#define LULL_SIM_MEMORY_H

#include "machine/machine.h"
#include "sim/spec.h"

struct lull_memory {
    uint32_t ranks; /* of a domain, at least 1: rank r belongs to domain r / ranks */
    /* [ranks + 1]: how fast each of n computations at once is, in parts of that in a full domain:
     * pace[ranks] == 1; above 0, pace[0] is not used. The duration of a computation is its time in
     * a full domain. */
    const double *pace;
};

/* A memory from what the user says:
 *     saturation:ranks=10,cores=4    each rank alone has 1/4 of the bandwidth of the domain of ten:
 *                                    it grows with the ranks up to four
 *     machine:kernel=triad,ranks=10  the bandwidths memory.triad.1 ... memory.triad.10 of the
 *                                    machine file, straight lines between those it has; ranks: by
 *                                    default the cores of its memory domain
 * `machine` may be NULL. The memory lives in `arena`. Fails with LULL_ERR_RANGE, also where the
 * machine file lacks the bandwidth of one rank or of all. */
lull_status lull_memory_read(struct lull_spec *spec, const struct lull_machine *machine,
                             struct lull_arena *arena, const struct lull_memory **ret_memory,
                             struct lull_error *err);

/* Names of memories with their keys, for people; name NULL at the end. */
struct lull_memory_kind {
    const char *name, *keys;
};
extern const struct lull_memory_kind lull_memory_kinds[];

#endif
