/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of the analysis of waits: how long each location waited, for what kind of event, and
 * which places made others wait. wait/wait.h says how that is found. */
#ifndef LULL_WAIT_RESULT_H
#define LULL_WAIT_RESULT_H

#include <stdbool.h>
#include <stdint.h>

enum lull_wait_kind {
    /* of processes, in calls of MPI */
    LULL_WAIT_LATE_SENDER,
    LULL_WAIT_WRONG_ORDER,
    LULL_WAIT_LATE_RECEIVER,
    LULL_WAIT_BARRIER,
    LULL_WAIT_N_TO_N,
    LULL_WAIT_EARLY_REDUCE,
    LULL_WAIT_LATE_BROADCAST,
    LULL_WAIT_EARLY_SCAN,
    LULL_WAIT_FINALIZE,
    LULL_WAIT_MPI_KINDS,
    /* of threads for others of their process */
    LULL_WAIT_THREAD_BARRIER = LULL_WAIT_MPI_KINDS,
    LULL_WAIT_LOCK,
    LULL_WAIT_THREAD_JOIN,
    LULL_WAIT_KINDS
};
const char *lull_wait_kind_name(unsigned kind); /* "late sender" */

enum {
    LULL_WAIT_LEDGER = 64,
    LULL_WAIT_HELD = 4, /* per process: waits for senders whose kind may still change */
    /* Bytes. MPI libraries with their default settings send messages up to this size without
     * waiting for the receive: the smallest limit of a transport that was found is that of Open
     * MPI's shared memory (btl_sm_eager_limit, btl_vader_eager_limit). */
    LULL_WAIT_EAGER = 4096
};

/* As a process or region: it stands for several that a ledger had no room for. */
#define LULL_WAIT_ELSEWHERE (UINT32_MAX - 1)

/* What kept a thread in a call that waits for a device, at a moment (wait/device_wait.h has the rules). */
enum lull_device_cause {
    LULL_DEVICE_CAUSE_RAN,        /* an operation ran */
    LULL_DEVICE_CAUSE_LAUNCH,     /* an operation that needed nothing any more had not begun */
    LULL_DEVICE_CAUSE_HOST,       /* the thread that submits an operation was in code of the user */
    LULL_DEVICE_CAUSE_OTHER_RANK, /* that thread waited in MPI for another process */
    LULL_DEVICE_CAUSE_MPI,        /* that thread was in MPI otherwise */
    LULL_DEVICE_CAUSE_RUNTIME,    /* that thread was in another call of the runtime of devices */
    LULL_DEVICE_CAUSE_RETURN,     /* what was waited for had ended */
    LULL_DEVICE_CAUSE_NOT_KNOWN,
    LULL_DEVICE_CAUSES
};
const char *lull_device_cause_name(unsigned cause); /* "launch" */

/* What made others wait: time of a process in a region of the user, or in MPI itself. */
struct lull_wait_place {
    uint32_t process; /* or LULL_WAIT_ELSEWHERE */
    uint32_t region;  /* the innermost region of the user; LULL_NONE: the time was in none, or in
                         MPI */
    uint32_t call;    /* the region of the call that ended the wait of the others: the send, or the
                         collective operation; LULL_NONE: it ended outside of calls */
    uint32_t in_mpi;  /* 1: the time went into MPI, and was no wait for others there */
    uint32_t thread;  /* the location, if threads waited for each other or each thread is followed;
                         else LULL_NONE */
};

struct lull_wait_charge {
    struct lull_wait_place place;
    uint8_t kind;      /* enum lull_wait_kind of the waits */
    int64_t ns;        /* how long others waited because of the place, the sum over all of them */
    int64_t passed_ns; /* the part of `ns` in waits for other processes, which this place had kept
                          waiting */
    uint64_t waits;    /* how many waits have a part in this charge */
    /* For waits of threads at a barrier: the outermost OpenMP parallel region that `longest` was
     * in; else LULL_NONE. */
    uint32_t parallel;
    struct {
        uint32_t location; /* the location that waited */
        int64_t begin, ns; /* of the whole wait, with what is outside of the windows */
    } longest;             /* the longest wait with a part in this charge; of several, the first */
};

/* Where the time of a location went that it spent in calls of MPI, and in waits for other threads
 * of its process, as far as that time is inside the windows. */
struct lull_wait_location {
    int64_t mpi_ns; /* in calls of MPI: the sum of the waits in MPI, transfer_ns and unmatched_ns */
    int64_t waited_ns[LULL_WAIT_KINDS];
    int64_t transfer_ns;
    /* In calls for which it is not known what they wait for: MPI_Init, MPI_Probe, one-sided
     * operations, or calls of which records are missing. */
    int64_t unmatched_ns;
    /* From the end of the last call with an operation to the begin of MPI_Finalize, not cut to the
     * windows; 0: not known. */
    int64_t tail_ns;
    /* In barriers and joins of threads and for locks: the sum of the waits of threads and
     * threads_rest_ns. */
    int64_t threads_ns;
    /* The part of threads_ns at ends of parallel regions whose barrier the trace does not tell. The
     * breakdown counts this part elsewhere. */
    int64_t threads_ends_ns;
    /* The part of threads_ns in which nobody was waited for any more, or it is unknown who was. */
    int64_t threads_rest_ns;
    /* Of a thread: in calls that wait for devices, by what kept it there. Of a stream: in front of its operations, while their
     * device ran nothing, by what kept these. Zeros, where that was not asked for. */
    int64_t device_ns[LULL_DEVICE_CAUSES];
};

/* How long something was kept: threads in calls that wait for devices, or devices that ran nothing before their next
 * operation. By what waited, and by what kept it. */
struct lull_device_charge {
    uint32_t of_device; /* 0: threads waited; 1: devices did */
    uint32_t call;      /* of a thread: region of the call that waits; LULL_NONE: not known */
    uint32_t
        awaited; /* region of the operation that the call waits for, or that the device runs next; LULL_NONE: not known */
    uint32_t cause; /* enum lull_device_cause */
    /* Region of the operation that the cause keeps, or that runs: the last one on the way from the wait to its
     * cause; LULL_NONE: not known. */
    uint32_t operation;
    uint32_t stream; /* location that runs that operation; LULL_NONE: not known */
    uint32_t submit; /* region of the call that submits it; LULL_NONE: not known */
    uint32_t thread; /* location that does so; LULL_NONE: not known */
    /* Where that thread was, if that is the cause: the innermost region of the user, or the call of MPI or of
     * the runtime; else LULL_NONE. */
    uint32_t region;
    uint32_t other; /* OTHER_RANK: the process that the thread waited for; else LULL_NONE */
    int64_t ns;     /* inside the windows */
    uint64_t waits; /* how many waits have a part in it */
    struct {
        uint32_t
            location; /* the thread that waited, or the stream with the device's next operation */
        int64_t begin, ns; /* of the whole wait, as far as it is inside a window */
    } longest;             /* the longest wait with a part in it; of several, the first */
};

/* The calls of one region of MPI, of all processes. */
struct lull_wait_call {
    uint32_t region;
    uint64_t calls; /* calls that are at least partly inside the windows */
    /* Bytes of receives and collective operations in these calls, summed over the processes; of a
     * collective operation, the larger of what the process sent and what it received. */
    uint64_t bytes;
    int64_t transfer_ns; /* as in struct lull_wait_location */
    int64_t waited_ns;   /* the rest of these calls: waits for other processes */
};

struct lull_wait_result {
    const char *absent; /* why there is no result; NULL: there is one */
    /* There is no result because options.each_thread was not set. */
    bool needs_each_thread;
    const struct lull_wait_charge *charges; /* those with most ns first */
    uint32_t n_charges;
    const struct lull_wait_call *calls; /* in the order of regions; only calls with operations */
    uint32_t n_calls;
    /* Of devices, where they were asked for: those with most ns first. The sum of their ns is that of
     * device_ns of all locations. */
    const struct lull_device_charge *device_charges;
    uint32_t n_device_charges;
    const struct lull_wait_location
        *locations; /* [n_locations] of the trace; NULL where there is no result */
    /* Of all locations; also the sum of the charges. */
    int64_t waited_ns;
    /* `messages` counts messages that were received, `collectives` counts a collective operation
     * once for each process that takes part. */
    uint64_t messages, collectives;
    /* Sends without a receive; and receives and collective operations whose other processes never
     * came. */
    uint64_t unmatched_sends, unmatched_operations;
};

#endif
