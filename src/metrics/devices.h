/* SPDX-License-Identifier: BSD-3-Clause */
/* When the devices of a run were busy, and what they waited for, from the PHASEs, SUBMITs and DEPENDs (activity/step.h)
 * of processes that use devices. Internal to the room.
 *
 * The streams of a device run at the same time. So the time of a device is neither the sum nor the mean of its
 * streams' times, but the length of the union of their operations. Example: stream 1 runs kernels from 0 to 10 and
 * from 20 to 30, stream 2 runs one from 5 to 25. Each stream computes for 20, and their device for 30.
 *
 * Which streams are of one device, the tracer tells (struct lull_stream), also where processes share it. Otherwise
 * the names of streams do, as Score-P ("CUDA[0:7]" is stream 7 of device 0) and Extrae ("CUDA-D1.S2-host") form them;
 * these numbers mean something within a process only, so that streams of several processes are taken to be of several
 * devices. Extrae may also name the first digits of the device's UUID ("GPU_a2f80454.1"), which is the same for all
 * processes. A stream of which nothing is known is a device of its own.
 *
 * What a device waited for (enum lull_device_loss): example. A device has ended a kernel at 10, and its next one runs from
 * 50 on. The thread that submits it was in MPI until 30, computed until 45, and was in the launching call from then on:
 * 20 are lost to MPI, 15 to the host and 5 to the launch.
 *
 * Memory: that of the log of the devices, and, for one process at a time, 24 bytes for each operation. Where operations are
 * to be told, 16 for each when their lengths and delays are sorted. */
#ifndef LULL_METRICS_DEVICES_H
#define LULL_METRICS_DEVICES_H

#include "match/device_log.h"
#include "metrics/breakdown.h"

/* Fills the devices of a breakdown that has the threads of the application in the order of the trace, with their times.
 * `log` has all of the run, and where threads are; NULL: no events were read, so that the times of streams are all that is
 * known. `operations`: tells operations one by one, for which the log must have their names. */
lull_status lull_devices_fill(struct lull_device_log *log, bool operations,
                              const struct lull_trace *trace, uint32_t application,
                              struct lull_arena *arena, struct lull_breakdown *breakdown,
                              struct lull_error *err);

#endif
