/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns: programs in which all ranks follow one rule (class "pattern"). Their operations are
 * made while the program runs. Memory: 8 bytes per rank.
 *
 * All patterns are bulk-synchronous. An iteration begins with a MARK and a COMPUTE (region
 * "compute"), then messages are exchanged in one phase or several, and every so many iterations a
 * collective operation follows. In a phase all receives are posted, then all sends are started,
 * then all of them are waited for: MPI_Irecv, MPI_Isend, MPI_Waitall.
 *
 * In a chain or a grid a rank exchanges messages with the ranks that are one of `distances` away,
 * in every dimension. The key `wait` says which messages make a phase: all messages, those of one
 * direction in one dimension, those of one distance, or each message by itself. Phases are in the
 * order of distance, then dimension, then direction, upwards first. Of the two sends of a distance
 * a chain starts that upwards first, a grid that downwards. In the first dimension of a grid
 * neighbours have successive ranks. With an open boundary no rank is beyond the ends; with a
 * periodic one the rank at the other end follows. */
#ifndef LULL_SIM_PATTERN_PATTERN_H
#define LULL_SIM_PATTERN_PATTERN_H

#include "sim/program.h"
#include "sim/spec.h"

/* A key that the spec of a pattern may have, with the value that it has by default, as texts for
 * people. */
struct lull_pattern_key {
    const char *key, *fallback, *about;
};

struct lull_pattern_class {
    const char *name, *summary;
    const struct lull_pattern_key *keys; /* key NULL at the end */
};

/* name NULL at the end. */
extern const struct lull_pattern_class lull_patterns[];

/* Makes the program of a spec. Fails with LULL_ERR_RANGE on anything that the spec should not say.
 */
lull_status lull_pattern_open(struct lull_spec *spec, struct lull_program **ret_program,
                              struct lull_error *err);

/* After how many iterations the operations of a program repeat, which must be a pattern. */
uint32_t lull_pattern_period(const struct lull_program *program);

#endif
