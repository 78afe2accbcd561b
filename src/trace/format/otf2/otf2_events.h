/* The callbacks that translate OTF2's event records. Internal to the OTF2 format. */
#ifndef LULL_TRACE_FORMAT_OTF2_OTF2_EVENTS_H
#define LULL_TRACE_FORMAT_OTF2_OTF2_EVENTS_H

#include "trace/format/otf2/otf2.h"
#include "trace/format/otf2/otf2_stream.h"

#include <stdint.h>

/* Sets the callbacks that the mask (kinds of our events) needs, and no others: records without a
 * callback are skipped fast. */
void lull_otf2_set_callbacks(struct lull_otf2_callbacks *callbacks, uint64_t mask);

/* Turns the bytes of a collective operation, as Score-P counts them, into those of this process.
 *
 * Score-P counts what an operation would move between all ranks if each sent to each: an allreduce
 * of 4 bytes on 10 ranks says 40 sent and 40 received. Our events say what is in the buffers of
 * this process. Source: Score-P, src/adapters/mpi/scorep_mpi_coll.inc.c, whose tests have examples.
 *
 * `op` is an enum lull_collective, `rank` the number of this process among `ranks`. A total that
 * `ranks` does not divide comes from a call with MPI_IN_PLACE, for which Score-P counts one rank
 * less. A total that fits neither stays as it is. */
void lull_otf2_bytes_of_one(uint8_t op, uint32_t ranks, uint32_t rank, uint64_t *sent,
                            uint64_t *received);

#endif
