/* Patterns: programs of one rule for all ranks, computed on the fly (class "pattern").
 *
 * All are bulk-synchronous. An iteration begins with a MARK and a COMPUTE (region "compute"), then
 * messages are exchanged in one phase or several, and every so many iterations a collective
 * operation follows. In a phase all receives are posted, then all sends, then all are waited for:
 * MPI_Irecv, MPI_Isend, MPI_Waitall. Memory: 8 bytes per rank.
 *
 * chain and grid: a rank exchanges messages with those `distances` away, in every dimension. Phases
 * are, by `wait`: all messages together, those of one direction (of one dimension) together, those
 * of one distance together, or each by itself; they follow each other by distance, then dimension,
 * then direction (upwards first). A chain sends upwards first, a grid downwards; the first
 * dimension of a grid is that in which neighbours have successive ranks. With an open boundary
 * there is nobody beyond the ends, with a periodic one the other end follows. */
#ifndef LULL_SIM_PATTERN_PATTERN_H
#define LULL_SIM_PATTERN_PATTERN_H

#include "sim/program.h"
#include "sim/spec.h"

/* What may be said of a pattern, for people. */
struct lull_pattern_key {
    const char *key, *fallback, *about;
};

struct lull_pattern_class {
    const char *name, *summary;
    const struct lull_pattern_key *keys; /* key NULL at the end */
};

/* name NULL at the end. */
extern const struct lull_pattern_class lull_patterns[];

/* Fails with LULL_ERR_RANGE, in one line, on anything that the spec should not say. */
lull_status lull_pattern_open(struct lull_spec *spec, struct lull_program **ret_program,
                              struct lull_error *err);

/* Of a program that is a pattern: after how many iterations its operations are the same ones again.
 */
uint32_t lull_pattern_period(const struct lull_program *program);

#endif
