/* What is told of waits: how long each location waited, for what kind of thing, and which places made
 * others wait. wait/wait.h says how that is found. */
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
    LULL_WAIT_HELD = 4, /* waits for senders whose kind may still change, of each process */
    /* Bytes. Every MPI library as it is installed sends messages up to this size without waiting
     * for their receive: the smallest limit of a transport that was found is that of Open MPI's
     * shared memory (btl_sm_eager_limit, btl_vader_eager_limit). */
    LULL_WAIT_EAGER = 4096
};

/* A process or region that stands for several which a ledger had no room for. */
#define LULL_WAIT_ELSEWHERE (UINT32_MAX - 1)

/* What made others wait: a process spent time in a region of the user, or in MPI itself. */
struct lull_wait_place {
    uint32_t process; /* or LULL_WAIT_ELSEWHERE */
    uint32_t region;  /* innermost of the user; LULL_NONE: in none, or in MPI */
    uint32_t call;    /* region of the call by which the others' wait ended: the send, or the
                         collective operation; LULL_NONE: outside of calls */
    uint32_t in_mpi;  /* 1: the time went into MPI, without waiting for others there */
    uint32_t thread;  /* location, if threads waited for each other or each thread is followed; else
                         LULL_NONE */
};

struct lull_wait_charge {
    struct lull_wait_place place;
    uint8_t kind;      /* of the waits: enum lull_wait_kind */
    int64_t ns;        /* that others waited because of the place, the sum over all of them */
    int64_t passed_ns; /* the part of `ns` of waits for somebody else, whom this place had kept */
    uint64_t waits;    /* how many waits have a part in it */
    uint32_t
        parallel; /* of waits of threads at a barrier: the outermost OpenMP parallel region that
                          the longest of them was in; else LULL_NONE */
    struct {
        uint32_t location; /* that waited */
        int64_t begin, ns; /* of the whole wait, also what is outside of windows */
    } longest;             /* the longest wait with a part in it, the first of several */
};

/* Where the time of a location in calls of MPI, and in waits for other threads of its process,
 * went, as far as it is inside the windows. */
struct lull_wait_location {
    int64_t mpi_ns; /* in calls of MPI: the sum of the waits in MPI, transfer_ns and unmatched_ns */
    int64_t waited_ns[LULL_WAIT_KINDS];
    int64_t transfer_ns;
    int64_t
        unmatched_ns;   /* in calls that wait for something unknown: MPI_Init, MPI_Probe, one-sided
                             operations, or records are missing */
    int64_t tail_ns;    /* from its last operation of MPI to the begin of MPI_Finalize; not cut to
                           windows; 0: not known */
    int64_t threads_ns; /* in barriers and joins of threads and for locks: the sum of the waits of
                             threads and threads_rest_ns */
    int64_t threads_ends_ns; /* the part of threads_ns at ends of parallel regions whose barrier the
                                trace does not tell; the breakdown has it elsewhere */
    int64_t threads_rest_ns; /* nobody was waited for any more, or it is not known who was */
};

/* Calls of one region of MPI, of all processes. */
struct lull_wait_call {
    uint32_t region;
    uint64_t calls;      /* that lie inside the windows, or a part of them */
    uint64_t bytes;      /* that each process had in them: of receives and collective operations, of
                            the latter the larger of what it sent and received */
    int64_t transfer_ns; /* as in struct lull_wait_location */
};

struct lull_wait_result {
    const char *absent;                     /* why there is none; NULL: there is one */
    bool needs_each_thread;                 /* there is none because options.each_thread was not
                                               set */
    const struct lull_wait_charge *charges; /* most ns first */
    uint32_t n_charges;
    const struct lull_wait_call *calls; /* by region; calls with operations */
    uint32_t n_calls;
    const struct lull_wait_location *locations; /* [n_locations] of the trace; or absent */
    int64_t waited_ns;                          /* of all locations: the sum of the charges */
    uint64_t messages, collectives;             /* messages received; operations, counted once
                                                       for each process in them */
    uint64_t unmatched_sends,
        unmatched_operations; /* sends without receive; receives and collective
                                                       operations whose others never came */
};

#endif
