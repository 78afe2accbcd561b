/* SPDX-License-Identifier: BSD-3-Clause */
/* Event records of OTF2: which of them mean something to lull, how their fields lie in a file, and
 * the callbacks that translate them. Internal to the OTF2 format.
 *
 * A callback has the signature that libotf2 demands. There are two ways of reading: libotf2 calls
 * the callbacks itself, or our own decoder (otf2_stream.c) does. */
#ifndef LULL_TRACE_FORMAT_OTF2_OTF2_EVENTS_H
#define LULL_TRACE_FORMAT_OTF2_OTF2_EVENTS_H

#include <otf2/otf2.h>
#include <stdbool.h>
#include <stdint.h>

/* X(type byte, kind, fields, arguments of the callback). Fields as they lie in the file:
 *   1: a byte; 4, 8: a byte with a length, and a number of that many bytes, at most 4 or 8;
 *   t: a time of 8 bytes; v: the number, types and values of a metric;
 *   R, C, M, P, S, W, G, X, H: the id of a region, communicator, metric, parameter, string, window,
 *   group, calling context or I/O handle, which the location's own definitions may translate.
 * The arguments are the fields (A2: two of them), or are special to the kind. */
#define LULL_OTF2_RECORDS(X)                       \
    X(0x0a, BufferFlush, "t", A1)                  \
    X(0x0b, MeasurementOnOff, "1", A1)             \
    X(0x0c, Enter, "R", A1)                        \
    X(0x0d, Leave, "R", A1)                        \
    X(0x0e, MpiSend, "4C48", A4)                   \
    X(0x0f, MpiIsend, "4C488", A5)                 \
    X(0x10, MpiIsendComplete, "8", A1)             \
    X(0x11, MpiIrecvRequest, "8", A1)              \
    X(0x12, MpiRecv, "4C48", A4)                   \
    X(0x13, MpiIrecv, "4C488", A5)                 \
    X(0x14, MpiRequestTest, "8", A1)               \
    X(0x15, MpiRequestCancelled, "8", A1)          \
    X(0x16, MpiCollectiveBegin, "", A0)            \
    X(0x17, MpiCollectiveEnd, "1C488", A5)         \
    X(0x18, OmpFork, "4", A1)                      \
    X(0x19, OmpJoin, "", A0)                       \
    X(0x1a, OmpAcquireLock, "44", A2)              \
    X(0x1b, OmpReleaseLock, "44", A2)              \
    X(0x1c, OmpTaskCreate, "8", A1)                \
    X(0x1d, OmpTaskSwitch, "8", A1)                \
    X(0x1e, OmpTaskComplete, "8", A1)              \
    X(0x1f, Metric, "Mv", METRICS)                 \
    X(0x20, ParameterString, "PS", A2)             \
    X(0x21, ParameterInt, "P8", A2)                \
    X(0x22, ParameterUnsignedInt, "P8", A2)        \
    X(0x25, RmaCollectiveBegin, "", A0)            \
    X(0x26, RmaCollectiveEnd, "14W488", A6)        \
    X(0x27, RmaGroupSync, "4WG", A3)               \
    X(0x29, RmaAcquireLock, "W481", A4)            \
    X(0x2b, RmaReleaseLock, "W48", A3)             \
    X(0x2c, RmaSync, "W41", A3)                    \
    X(0x2d, RmaWaitChange, "W", A1)                \
    X(0x2e, RmaPut, "W488", A4)                    \
    X(0x2f, RmaGet, "W488", A4)                    \
    X(0x30, RmaAtomic, "W41888", A6)               \
    X(0x31, RmaOpCompleteBlocking, "W8", A2)       \
    X(0x32, RmaOpCompleteNonBlocking, "W8", A2)    \
    X(0x35, ThreadFork, "14", A2)                  \
    X(0x36, ThreadJoin, "1", A1)                   \
    X(0x37, ThreadTeamBegin, "C", A1)              \
    X(0x38, ThreadTeamEnd, "C", A1)                \
    X(0x39, ThreadAcquireLock, "144", A3)          \
    X(0x3a, ThreadReleaseLock, "144", A3)          \
    X(0x3b, ThreadTaskCreate, "C44", A3)           \
    X(0x3c, ThreadTaskSwitch, "C44", A3)           \
    X(0x3d, ThreadTaskComplete, "C44", A3)         \
    X(0x3f, ThreadBegin, "C8", A2)                 \
    X(0x41, ThreadEnd, "C8", A2)                   \
    X(0x42, CallingContextEnter, "X4", A2)         \
    X(0x43, CallingContextLeave, "X", A1)          \
    X(0x45, IoCreateHandle, "H144", A4)            \
    X(0x46, IoDestroyHandle, "H", A1)              \
    X(0x48, IoSeek, "H818", A4)                    \
    X(0x4b, IoOperationBegin, "H1488", A5)         \
    X(0x4e, IoOperationComplete, "H88", A3)        \
    X(0x53, ProgramBegin, "S", PROGRAM)            \
    X(0x54, ProgramEnd, "8", A1)                   \
    X(0x55, NonBlockingCollectiveRequest, "8", A1) \
    X(0x56, NonBlockingCollectiveComplete, "1C4888", A6)

/* The callbacks; NULL: the kind is not wanted, and its records are skipped fast. */
struct lull_otf2_callbacks {
#define FIELD(type, kind, fields, arguments) OTF2_EvtReaderCallback_##kind kind;
    LULL_OTF2_RECORDS(FIELD)
#undef FIELD
};

/* Sets the callbacks that the mask (kinds of our events) needs, those of `copies` on device streams,
 * and no others: records without a callback are skipped fast. */
void lull_otf2_set_callbacks(struct lull_otf2_callbacks *callbacks, uint64_t mask, bool copies);

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
