/* What the files of callbacks share: events.c (regions, metrics, the tracer itself),
 * messages.c (messages, collectives, RMA, I/O) and threads.c (threads, tasks, locks).
 * Internal to the OTF2 format. */
#ifndef LULL_TRACE_FORMAT_OTF2_OTF2_EVENTS_H
#define LULL_TRACE_FORMAT_OTF2_OTF2_EVENTS_H

#include "trace/format/otf2/otf2.h"
#include "trace/format/otf2/otf2_stream.h"

#include <stdint.h>

/* ==== events ================================================================================== */

/* Set the callbacks that the mask needs, and no others: what has none is skipped fast. */
void lull_otf2_set_callbacks(struct lull_otf2_callbacks *callbacks, uint64_t mask);

/* ==== totals ================================================================================== */

/* Bytes of collective operations as Score-P counts them; internal to the OTF2 format.
 *
 * Score-P counts what an operation would move between all ranks if each sent to each: an allreduce
 * of 4 bytes on 10 ranks says 40 sent and 40 received. Events say what is in this process's
 * buffers. Source: Score-P, src/adapters/mpi/scorep_mpi_coll.inc.c, whose tests have examples. */

/* From totals to this process's bytes, for an operation (enum lull_collective) on so many ranks,
 * of which this is number `rank`. A call with MPI_IN_PLACE, which counts one rank less, is told by
 * a total that the number of ranks does not divide; what fits neither stays as it is. */
void lull_otf2_bytes_of_one(uint8_t op, uint32_t ranks, uint32_t rank, uint64_t *sent,
                            uint64_t *received);

#endif
