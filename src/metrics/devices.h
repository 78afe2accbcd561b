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
 * devices. A stream of which nothing is known is a device of its own.
 *
 * What a device waited for (enum lull_device_loss): example. A device has ended a kernel at 10, and its next one runs from
 * 50 on. The thread that submits it was in MPI until 30, computed until 45, and was in the launching call from then on:
 * 20 are lost to MPI, 15 to the host and 5 to the launch.
 *
 * Memory: some 5 bytes for each operation of a device, and for each piece of a thread's time in which it stays in MPI,
 * in the runtime, or outside; and, for one process at a time, 24 for each operation. Where operations are to be told, some 3 bytes
 * more for each, and 16 for each when their lengths and delays are sorted. */
#ifndef LULL_METRICS_DEVICES_H
#define LULL_METRICS_DEVICES_H

#include "metrics/breakdown.h"

struct lull_devices;

/* *ret_devices is NULL where the application has no device streams; all functions allow that. `operations`: the result
 * tells operations one by one. */
lull_status lull_devices_create(const struct lull_trace *trace, uint32_t application,
                                bool operations, struct lull_devices **ret_devices,
                                struct lull_error *err);
void lull_devices_destroy(struct lull_devices *devices);

/* The kinds of steps that are wanted. */
#define LULL_DEVICES_WANT                                                 \
    (LULL_STEP_MASK(LULL_STEP_PHASE) | LULL_STEP_MASK(LULL_STEP_SUBMIT) | \
     LULL_STEP_MASK(LULL_STEP_DEPEND))

/* A step of these kinds of a location, in their order. Locations may be told by several threads, each by one at a time. */
lull_status lull_devices_take(struct lull_devices *devices, uint32_t location,
                              const struct lull_step *step, struct lull_error *err);

/* What was taken of a location, from one member of a team to another, which has taken nothing of it. */
bool lull_devices_put(struct lull_devices *devices, uint32_t location, struct lull_flow *flow);
bool lull_devices_get(struct lull_devices *devices, uint32_t location, struct lull_flow *flow);

/* Fills the devices of a breakdown that has the threads of the application in the order of the trace, with their
 * times. `devices` is NULL where no events were read: then the times of streams are all that is known. */
lull_status lull_devices_fill(struct lull_devices *devices, const struct lull_trace *trace,
                              uint32_t application, struct lull_arena *arena,
                              struct lull_breakdown *breakdown, struct lull_error *err);

#endif
