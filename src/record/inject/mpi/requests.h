/* What is under way that has a time to take: receives, persistent messages, collective operations
 * with a request. Internal to the folder. */
#ifndef LULL_RECORD_INJECT_MPI_REQUESTS_H
#define LULL_RECORD_INJECT_MPI_REQUESTS_H

#include "record/inject/mpi/disturb.h"

enum rec_posted_kind { REC_POSTED_RECEIVE, REC_POSTED_SEND, REC_POSTED_OPERATION };

struct rec_disturbed_request {
    uint8_t kind; /* enum rec_posted_kind */
    bool persistent, active;
    /* RECEIVE: which message of its channel it takes is known: the `number`-th. */
    bool numbered;
    uint32_t sender;
    uint64_t channel, number;
    const struct rec_mpi_comm *comm;
    int peer, tag;
    struct rec_disturbed_operation operation;
    uint64_t handle;
    uint32_t next; /* of those with the same hash, in the order of posting */
};

/* Of the handle: active ones first, in the order in which they were posted. The functions that
 * change something keep the table consistent for other threads. */
void rec_disturbed_add(MPI_Request handle, const struct rec_disturbed_request *what);
bool rec_disturbed_find(MPI_Request handle, struct rec_disturbed_request *ret_request);
/* Starts a persistent one; *ret_request is what it is then. */
bool rec_disturbed_start(MPI_Request handle, struct rec_disturbed_request *ret_request);

/* ns of CLOCK_MONOTONIC at which what has completed with that status may be seen; INT64_MIN: at
 * once. `status`: of a receive. `over`: the call that completes it is over. */
int64_t rec_disturbed_due(MPI_Request handle, const MPI_Status *status, bool over);
/* Nobody waits for it any more, and it is not known when it completes. */
void rec_disturbed_give_up(MPI_Request handle);

/* The same of a message that a call on the communicator has received, or only seen (`over` false).
 */
int64_t rec_disturbed_message_due(MPI_Comm comm, const MPI_Status *status, bool over);

#endif
