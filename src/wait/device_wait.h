/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for devices, and of devices: what kept threads in calls that wait for operations of devices, and what kept devices
 * that ran nothing from running their next operation. Internal to the room.
 *
 * A call waits until an operation ends, of several the last one. A device waits until its next operation begins, of several
 * that begin at once the one on the first of its streams. At each moment of the wait the operation
 *
 *   has ended       then the call returns;
 *   runs            then that is the cause. Where it is a kernel of NCCL, and one of another rank for which it waits
 *                   (match/exchange.h) has not begun, the cause is what keeps the last of these kernels;
 *   is not begun    and needs something: the operations before it, which are the one before it on its stream and those that
 *                   its submission names, and its submission. Of these the one that comes last is what it waits for:
 *                   - an operation: the cause is what keeps that one;
 *                   - its submission: the cause is what the thread does that submits it. Where that thread waits in MPI for
 *                     another rank, this rank is told, and where it waits for a device itself, the cause is what keeps that
 *                     operation;
 *                   - nothing any more: the launch takes time.
 *
 * So each ns of a wait has one cause. Example: rank 0 waits in cudaStreamSynchronize from 10 to 100 for an AllReduce that it
 * launched at 5, and which runs from 20 to 90. Rank 1 launches its part at 65 and runs it from 70 on; until 60 its thread
 * waits in MPI_Recv for rank 2, and then it computes. Rank 0 waits 10 ns for its own launch, 40 ns for rank 1 in MPI because
 * of rank 2, 5 ns for what rank 1 computes and 5 ns for its launch; then the exchange runs for 20 ns, and in 10 ns the call
 * returns.
 *
 * What the run does not tell is told as not known. From operation to operation of other ranks and threads, at most
 * WAIT_MOST_HOPS are followed at a moment, so that an untrue run, in which each waits for another, has an end.
 *
 * Memory: that of the log of devices (match/device_log.h), some 2 bytes for each change of a thread's region and 24 for
 * each of its waits in MPI while the run is read; behind that some 80 bytes for each operation of a device, and 16 for each
 * call that waits. */
#ifndef LULL_WAIT_DEVICE_WAIT_H
#define LULL_WAIT_DEVICE_WAIT_H

#include "activity/reading.h"
#include "team/team.h"
#include "wait/wait_result.h"

enum { WAIT_MOST_HOPS = 64 };

struct wait_devices;

/* The reading must outlive the result. *ret_devices is NULL where the application has no device streams; the functions below
 * but lull_wait_devices_conclude allow that. */
lull_status lull_wait_devices_create(const struct lull_trace *trace,
                                     const struct lull_reading *reading,
                                     struct wait_devices **ret_devices, struct lull_error *err);
void lull_wait_devices_destroy(struct wait_devices *devices);

/* The kinds of steps that are taken. */
uint64_t lull_wait_devices_wants(const struct wait_devices *devices);
/* The next steps of a location. */
lull_status lull_wait_devices_take(struct wait_devices *devices, const struct lull_steps *steps,
                                   struct lull_error *err);
/* A location waits in MPI for a process; the waits of a location come in their order. False: no memory. */
bool lull_wait_devices_note(struct wait_devices *devices, uint32_t location, int64_t begin,
                            int64_t until, uint32_t process);

/* What was taken of a location, from one member of a team to another. */
bool lull_wait_devices_put(struct wait_devices *devices, uint32_t location, struct lull_flow *flow);
bool lull_wait_devices_get(struct wait_devices *devices, uint32_t location, struct lull_flow *flow);

/* When all is taken, of all locations: fills the charges of devices in the result, and device_ns of the locations. */
lull_status lull_wait_devices_conclude(struct wait_devices *devices, struct lull_arena *arena,
                                       struct lull_wait_result *result,
                                       struct lull_wait_location *locations,
                                       struct lull_error *err);

#endif
