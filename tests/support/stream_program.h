/* Programs of streams made by hand, operation by operation. */
#ifndef LULL_TESTS_STREAM_PROGRAM_H
#define LULL_TESTS_STREAM_PROGRAM_H

#include "sim/engine/engine.h"

/* One stream per rank with `first_stream` NULL, else as in struct lull_program. Group 0 is all
 * ranks; `batch` operations are handed out at a time at most (they end behind blocking ones). */
struct lull_program *stream_program(uint32_t n_ranks, const uint32_t *first_stream, uint32_t batch);
void stream_program_add(struct lull_program *program, uint32_t stream, struct lull_op op);

struct lull_op op_compute(int64_t ns);
struct lull_op op_send(uint32_t peer, uint32_t tag, uint64_t bytes, uint32_t request);
struct lull_op op_receive(uint32_t peer, uint32_t tag, uint32_t request);
struct lull_op op_wait(uint32_t request);
struct lull_op op_wait_all(void);
/* enum lull_collective; root LULL_OP_ANY: none; request LULL_OP_NO_REQUEST: blocks */
struct lull_op op_collective(unsigned operation, uint32_t root, uint64_t bytes, uint32_t request);
struct lull_op op_sync(uint32_t number, uint32_t n_streams);
/* One part of a sync to which `arrive` streams come and for which `wait` wait: enum lull_sync_part
 */
struct lull_op op_sync_part(unsigned part, uint32_t number, uint32_t arrive, uint32_t wait);
struct lull_op op_mark(uint64_t iteration);

/* Runs it; fails the test on an error. The result lives in `arena`. */
struct lull_sim_result simulate(struct lull_program *program, const struct lull_network *network,
                                struct lull_arena *arena);

/* A network by name with parameters by name: "hockney", "latency", 1000.0, ..., NULL. */
struct lull_network network_of(const char *name, ...);

#endif
