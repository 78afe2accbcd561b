/* SPDX-License-Identifier: BSD-3-Clause */
/* What the threads of a run submitted to devices, what the devices did with it, and what the threads waited for: kept
 * from one reading of the run until all of it is known, because what belongs together comes apart. Example: a thread
 * launches a kernel, operation 7 of its process, at 10, and waits for it from 20 to 95; a stream runs operation 7 from 30
 * to 90. The first comes with the steps of the thread, the second with those of the stream.
 *
 * Each location has lists of small numbers (base/varint.h): a number near the one before it takes a byte or two. Memory:
 * some 5 bytes for each operation of a device, and 3 more where its name is kept; 3 for each submission, dependence and
 * wait; 2 for each piece of a thread's time in which it stays at one place. */
#ifndef LULL_MATCH_DEVICE_LOG_H
#define LULL_MATCH_DEVICE_LOG_H

#include "activity/step.h"
#include "base/varint.h"
#include "team/team.h"

/* What a device stream ran. */
enum lull_operation_kind {
    LULL_OPERATION_KERNEL,
    LULL_OPERATION_COPY,
    LULL_OPERATION_EXCHANGE, /* a kernel by which NCCL moves data */
    LULL_OPERATION_KINDS
};

/* Where a thread is: in user code, OpenMP, input and output; in MPI; in the runtime of devices; the recorder was off;
 * outside of the windows. */
enum lull_device_place {
    LULL_PLACE_HOST,
    LULL_PLACE_MPI,
    LULL_PLACE_RUNTIME,
    LULL_PLACE_UNKNOWN,
    LULL_PLACE_OUTSIDE,
    LULL_PLACES
};

/* What a log keeps beside operations, submissions and dependences. */
enum {
    LULL_DEVICE_LOG_PLACES = 1, /* where threads are */
    LULL_DEVICE_LOG_NAMES = 2,  /* of operations: region, call and bytes */
    LULL_DEVICE_LOG_WAITS = 4   /* of threads */
};

struct lull_device_log;

/* *ret_log is NULL where the application has no device streams; lull_device_log_destroy, _put and _get allow that. */
lull_status lull_device_log_create(const struct lull_trace *trace, uint32_t application,
                                   unsigned keeps, struct lull_device_log **ret_log,
                                   struct lull_error *err);
void lull_device_log_destroy(struct lull_device_log *log);

/* The kinds of steps that a log takes; with LULL_DEVICE_LOG_WAITS also those of DEVICE_WAIT. */
#define LULL_DEVICE_LOG_WANTS                                             \
    (LULL_STEP_MASK(LULL_STEP_PHASE) | LULL_STEP_MASK(LULL_STEP_SUBMIT) | \
     LULL_STEP_MASK(LULL_STEP_DEPEND))

/* A step of these kinds of a location, in their order. Locations may be told by several threads, each by one at a time. */
lull_status lull_device_log_take(struct lull_device_log *log, uint32_t location,
                                 const struct lull_step *step, struct lull_error *err);
/* After the last step of a thread. False: no memory. */
bool lull_device_log_end(struct lull_device_log *log, uint32_t location);

/* Whether nothing was taken of a location. */
bool lull_device_log_is_empty(const struct lull_device_log *log, uint32_t location);

/* What was taken of a location, from one member of a team to another, which has taken nothing of it. */
bool lull_device_log_put(struct lull_device_log *log, uint32_t location, struct lull_flow *flow);
bool lull_device_log_get(struct lull_device_log *log, uint32_t location, struct lull_flow *flow);

/* Whether a location is a stream of a device. Communicators are no devices: their operations are kernels of streams of a
 * device. */
bool lull_is_of_device(const struct lull_trace *trace, uint32_t location, uint32_t application);
/* Whether a location has the operations of a communicator. */
bool lull_is_of_communicator(const struct lull_trace *trace, uint32_t location,
                             uint32_t application);
/* Whether a region of a device stream is a copy or a fill. */
bool lull_is_copy(const struct lull_region *region);
/* A text that is the same for streams of one device alone, and means something to people. metrics/devices.h says how it is
 * known. */
const char *lull_device_identify(const struct lull_trace *trace, uint32_t location,
                                 struct lull_arena *arena);
/* Whether the process has streams of devices. */
bool lull_device_log_uses(const struct lull_device_log *log, uint32_t process);

/* ==== reading a log =========================================================================== */

/* Each of these structs is one item of a location's list. Open it, and then ask for the next one until there is none. */

/* An operation of a stream. */
struct lull_device_run {
    struct lull_varint_reader reader;
    int64_t begin, end;
    uint64_t number; /* of the operation; 0: not known */
    uint64_t region, call,
        bytes; /* with LULL_DEVICE_LOG_NAMES; region: n_regions: it has none; call: that of the call
                                     that submitted it plus 1; 0: not known */
    uint32_t location;
    uint32_t sequence; /* of a communicator's operation, as in the PHASE; LULL_NONE: none */
    int32_t peer;      /* likewise; below 0: none */
    uint8_t kind;      /* enum lull_operation_kind */
    bool again;        /* it is another piece of the operation before, which windows have cut */
    bool named, numbered;
};
struct lull_device_run lull_device_run_open(const struct lull_device_log *log, uint32_t location);
bool lull_device_run_next(struct lull_device_run *run);

/* A thread submits an operation. */
struct lull_device_submit {
    struct lull_varint_reader reader;
    uint64_t number;
    int64_t time; /* the call begins that does it */
};
struct lull_device_submit lull_device_submit_open(const struct lull_device_log *log,
                                                  uint32_t location);
bool lull_device_submit_next(struct lull_device_submit *submit);

/* An operation waits for another one. */
struct lull_device_depend {
    struct lull_varint_reader reader;
    uint64_t number, other;
};
struct lull_device_depend lull_device_depend_open(const struct lull_device_log *log,
                                                  uint32_t location);
bool lull_device_depend_next(struct lull_device_depend *depend);

/* A thread begins to wait for an operation, or for all that were submitted to a stream. */
struct lull_device_wait {
    struct lull_varint_reader reader;
    int64_t time;
    uint64_t number; /* 0: all of `stream` */
    uint32_t stream; /* a location, or LULL_NONE */
};
struct lull_device_wait lull_device_wait_open(const struct lull_device_log *log, uint32_t location);
bool lull_device_wait_next(struct lull_device_wait *wait);

/* A piece of a thread's time. */
struct lull_device_piece {
    struct lull_varint_reader reader;
    int64_t begin, end;
    uint64_t waits_for; /* number of an operation; 0: none */
    uint32_t stream;    /* it waits for all operations of that location; LULL_NONE: of none */
    uint32_t call;      /* region of the call that waits; LULL_NONE: none, or it is not known */
    uint8_t place;      /* enum lull_device_place */
};
struct lull_device_piece lull_device_piece_open(const struct lull_device_log *log,
                                                uint32_t location);
bool lull_device_piece_next(struct lull_device_piece *piece);

#endif
