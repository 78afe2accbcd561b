/* SPDX-License-Identifier: BSD-3-Clause */
/* Events: the one form in which every format's content reaches the rest of lull.
 *
 * An event belongs to a location and has a time in ns since the origin of its trace. The meaning
 * of `op`, `id` and the union depends on the kind; the table below is the contract. Everything
 * named by `id` is an index into the arrays of the lull_trace. Processes are named by their index
 * in trace->processes, whatever the file uses (ranks in communicators, task numbers). */
#ifndef LULL_TRACE_EVENT_H
#define LULL_TRACE_EVENT_H

#include "base/collective.h"

#include <stdint.h>

enum lull_event_kind {
    /* kind            id           op / union                                                 */
    LULL_EVENT_ENTER, /* region                                                                 */
    LULL_EVENT_LEAVE, /* region                                                                 */
    LULL_EVENT_CALL,  /* region; duration: the region is entered at `time` and left at `time +
                         duration`, and no ENTER, LEAVE or CALL lies between. op: LULL_SEVERAL
                         if the event stands for `calls` calls, whose time it has all together;
                         0: for one                                                             */
    LULL_EVENT_STATE, /* state; duration: Paraver's partition of a thread's time                */

    LULL_EVENT_SEND,      /* communicator; message: posted. request = LULL_NO_REQUEST: blocking.
                             op: enum lull_send_mode; LULL_SEND_STANDARD where the region says it */
    LULL_EVENT_SEND_DONE, /* -; message.request: a non-blocking send is complete                 */
    LULL_EVENT_RECV_POST, /* communicator or LULL_NONE; message: a receive is posted; peer and
                             tag may be LULL_ANY, bytes is the size of the buffer or 0           */
    LULL_EVENT_RECV,      /* communicator; message: complete, with the matched source and size   */
    LULL_EVENT_REQUEST_TEST,      /* -; message.request: tested, not complete                    */
    LULL_EVENT_REQUEST_CANCELLED, /* -; message.request                                          */
    LULL_EVENT_REQUEST_FREED,     /* -; message.request: the program gave up the request of a
                                     receive, which may still complete without a RECV            */

    LULL_EVENT_COLLECTIVE_BEGIN, /* communicator or LULL_NONE (not known before the end);
                                    op: lull_collective or LULL_COLLECTIVE_UNKNOWN. For a
                                    non-blocking operation: it is posted; collective.request     */
    LULL_EVENT_COLLECTIVE_END,   /* communicator; op; collective: sent, received, root, request  */

    LULL_EVENT_RMA, /* window or LULL_NONE; op: lull_rma; transfer: bytes, target process    */
    LULL_EVENT_IO,  /* file or LULL_NONE; op: lull_io; transfer: bytes                       */

    LULL_EVENT_FORK,       /* -; number: threads asked for                                       */
    LULL_EVENT_JOIN,       /* -                                                                  */
    LULL_EVENT_TEAM_BEGIN, /* communicator of the team or LULL_NONE                              */
    LULL_EVENT_TEAM_END,   /* the same                                                           */
    LULL_EVENT_THREAD_BEGIN,  /* -; number: the thread, as in its THREAD_CREATE, or 0 where that is
                                 not known. The thread's life begins                             */
    LULL_EVENT_THREAD_END,    /* -; the same number                                              */
    LULL_EVENT_THREAD_CREATE, /* -; number: the thread that this one makes; above 0, and unique in
                                 their process                                                   */
    LULL_EVENT_THREAD_WAIT_BEGIN, /* -; op: enum lull_thread_wait; meeting                       */
    LULL_EVENT_THREAD_WAIT_END,   /* the same                                                    */

    LULL_EVENT_TASK_CREATE,   /* -; number: the task                                             */
    LULL_EVENT_TASK_SWITCH,   /* -; number: the task that runs from now on                       */
    LULL_EVENT_TASK_COMPLETE, /* -; number: the task                                             */
    LULL_EVENT_LOCK_ACQUIRE,  /* -; number: the lock                                             */
    LULL_EVENT_LOCK_RELEASE,  /* -; number: the lock                                             */

    LULL_EVENT_SUBMIT, /* -; operation: number, stream. The call before submitted the operation
                               to the stream                                                     */
    LULL_EVENT_DEPEND, /* -; operation: number, other. The operation waits for the other one; 0:
                               for all that were submitted to its stream before                  */
    LULL_EVENT_DEVICE_WAIT, /* -; operation: number, stream. The call before waited for the end of
                               the operation; 0: of all that the stream had                      */
    LULL_EVENT_OPERATION, /* region of the call that submitted it, or LULL_NONE; operation: number,
                               bytes, thread. On a device stream: the CALL before is this
                               operation                                                         */

    LULL_EVENT_COUNTERS,    /* -; readings: each value counts what has happened since this
                               location's previous reading of that counter                       */
    LULL_EVENT_FLUSH,       /* -; duration: the tracer wrote its buffer                          */
    LULL_EVENT_MEASURE_OFF, /* -: nothing is recorded until the next MEASURE_ON                  */
    LULL_EVENT_MEASURE_ON,  /* -                                                                 */
    LULL_EVENT_MARKER,      /* marker; number: its value                                         */
    LULL_EVENT_SAMPLE,      /* object (lull_trace.objects) or LULL_NONE: no file holds the code;
                               sample: in which code the thread was                              */

    LULL_EVENT_KINDS
};

/* Sets of kinds, for scans that need only some of them: bit k stands for kind k. */
#define LULL_MASK(kind) (UINT64_C(1) << (kind))
#define LULL_MASK_ALL   (LULL_MASK(LULL_EVENT_KINDS) - 1)
/* The kinds that tell how a thread spends its time; enough for a breakdown. */
#define LULL_MASK_TIME                                                                        \
    (LULL_MASK(LULL_EVENT_ENTER) | LULL_MASK(LULL_EVENT_LEAVE) | LULL_MASK(LULL_EVENT_CALL) | \
     LULL_MASK(LULL_EVENT_STATE) | LULL_MASK(LULL_EVENT_TEAM_BEGIN) |                         \
     LULL_MASK(LULL_EVENT_TEAM_END) | LULL_MASK(LULL_EVENT_THREAD_BEGIN) |                    \
     LULL_MASK(LULL_EVENT_THREAD_END) | LULL_MASK(LULL_EVENT_COUNTERS) |                      \
     LULL_MASK(LULL_EVENT_FLUSH) | LULL_MASK(LULL_EVENT_MEASURE_OFF) |                        \
     LULL_MASK(LULL_EVENT_MEASURE_ON))
/* Point-to-point messages; formats in which these are not in time order must sort them. */
#define LULL_MASK_MESSAGES                                                          \
    (LULL_MASK(LULL_EVENT_SEND) | LULL_MASK(LULL_EVENT_SEND_DONE) |                 \
     LULL_MASK(LULL_EVENT_RECV_POST) | LULL_MASK(LULL_EVENT_RECV) |                 \
     LULL_MASK(LULL_EVENT_REQUEST_TEST) | LULL_MASK(LULL_EVENT_REQUEST_CANCELLED) | \
     LULL_MASK(LULL_EVENT_REQUEST_FREED))

/* What threads submit to devices and wait for there, and which operations of devices are which. */
#define LULL_MASK_DEVICES                                          \
    (LULL_MASK(LULL_EVENT_SUBMIT) | LULL_MASK(LULL_EVENT_DEPEND) | \
     LULL_MASK(LULL_EVENT_DEVICE_WAIT) | LULL_MASK(LULL_EVENT_OPERATION))

#define LULL_NONE        UINT32_MAX /* no index */
#define LULL_ANY         (-1)       /* wildcard source or tag */
#define LULL_PROC_NULL   (-2)       /* MPI_PROC_NULL as a peer */
#define LULL_NO_REQUEST  UINT64_MAX
#define LULL_NO_SEQUENCE UINT64_MAX

enum lull_rma { LULL_RMA_PUT, LULL_RMA_GET, LULL_RMA_ATOMIC, LULL_RMA_SYNC, LULL_RMA_OPS };
/* A send with LULL_SEND_STANDARD may be of another mode all the same, if its call is one of
 * MPI_Ssend, MPI_Bsend and their like. */
enum lull_send_mode {
    LULL_SEND_STANDARD,
    LULL_SEND_BUFFERED,
    LULL_SEND_SYNCHRONOUS,
    LULL_SEND_MODES
};
/* What a thread waits for: JOIN, the end of another thread; BARRIER, the arrival of all others. */
enum lull_thread_wait { LULL_THREAD_WAIT_JOIN, LULL_THREAD_WAIT_BARRIER, LULL_THREAD_WAITS };
enum lull_io {
    LULL_IO_READ,
    LULL_IO_WRITE,
    LULL_IO_OPEN,
    LULL_IO_CLOSE,
    LULL_IO_OTHER,
    LULL_IO_OPS
};

/* The op of a CALL that stands for several calls: a recorder may write one record for queries (such
 * as MPI_Test) that follow each other and find nothing. */
enum { LULL_SEVERAL = 1 };

struct lull_counter_reading {
    uint64_t value; /* modulo 2^64: counters of real traces may hold garbage that wraps */
    uint32_t counter;
    uint32_t reserved;
};

struct lull_event {
    int64_t time; /* ns since the trace's origin */
    uint8_t kind; /* enum lull_event_kind */
    uint8_t op;
    uint16_t reserved;
    uint32_t id;
    union {
        struct {
            int64_t duration; /* ns, >= 0 */
            uint64_t calls;   /* of a CALL with LULL_SEVERAL, > 1; undefined otherwise */
        };
        uint64_t number;
        struct {
            uint64_t number;   /* JOIN: that of the THREAD_END which ends the wait; BARRIER: that of
                                the meeting, the same for all its threads, unique in the process */
            uint32_t location; /* JOIN: index of the thread's location, or LULL_NONE */
            uint32_t threads;  /* BARRIER: how many meet */
        } meeting;
        struct {
            uint64_t bytes;
            uint64_t request; /* unique among this location's open requests */
            int32_t peer;     /* process index, LULL_ANY or LULL_PROC_NULL */
            int32_t tag;
        } message;
        struct {
            uint64_t sent, received; /* bytes of this process */
            uint64_t request;        /* LULL_NO_REQUEST: blocking */
            int32_t root;            /* process index, or LULL_ANY where there is none */
            uint32_t reserved;
        } collective;
        struct {
            uint64_t bytes;
            uint64_t reserved;
            int32_t target; /* process index or LULL_ANY */
        } transfer;
        struct {
            uint64_t number; /* of an operation of a device: unique in its process, above 0 */
            union {
                uint64_t bytes; /* that it moved */
                uint64_t other; /* number of another one */
            };
            uint64_t sequence; /* of an exchange between devices: the operation at another rank that
                                  has the same number, region, and key of its device belongs to it;
                                  LULL_NO_SEQUENCE: none */
            uint32_t
                location; /* index of its stream, or of the thread that submitted it; LULL_NONE:
                                  not known */
            int32_t peer; /* of an exchange: rank at the other end, or root; below 0: none */
        } operation;
        struct {
            uint64_t offset; /* in the object, as the object file counts addresses */
            uint64_t weight; /* ns of processor time that it stands for */
            uint64_t number; /* for lull_trace_read_detail */
        } sample;
        struct {
            const struct lull_counter_reading *values; /* valid as long as the block */
            uint32_t count;
        } readings;
    };
};

/* How many calls a CALL stands for. */
static inline uint64_t lull_calls_of(const struct lull_event *call)
{
    return call->op == LULL_SEVERAL ? call->calls : 1;
}

/* Names as users read them: "enter", "send", "collective end". */
const char *lull_event_kind_name(unsigned kind);

/* Events of one location, in their order. */
struct lull_block {
    uint32_t location;
    uint32_t count;
    const struct lull_event *events;
};

#endif
