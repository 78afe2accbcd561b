/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that take at least a given time: what the wrappers do around the functions of MPI when
 * the program is disturbed on purpose (record/inject.h, docs/record-reference.md).
 *
 * A message may not be seen by its receiver before latency + bytes / bandwidth have passed since it
 * was sent. Before it is sent, its moment is left where the receiver finds it (record/inject.h).
 * Messages of one channel (communicator, source, target, tag) do not overtake each other, so that
 * the n-th one received is the n-th one sent. A call that has received a message returns when the
 * message's time is over; a test or probe that finds it earlier says that there is none. The sender
 * is never held back. Collective operations have a section in disturb.c.
 *
 * The wrapper of each such function has a second form, which only a program that is disturbed comes
 * to (generate.py): it calls the recording wrapper with a function of this header in place of the
 * library's. */
#ifndef LULL_RECORD_MPI_DISTURB_H
#define LULL_RECORD_MPI_DISTURB_H

#include "record/inject.h"
#include "record/mpi/wrap.h"

#include <stdbool.h>
#include <stdint.h>

/* ==== calls and messages ====================================================================== */

/* When the call began in which this thread is, in ns of CLOCK_MONOTONIC: messages that the call
 * sends are sent at that moment. */
extern __thread int64_t rec_disturb_moment __attribute__((tls_model("initial-exec")));
/* The library's function that belongs to the call in which this thread is; the function in its
 * place takes it from here. */
extern __thread void (*rec_disturb_next)(void) __attribute__((tls_model("initial-exec")));

/* A call of that function begins, which ends a computation: passes the time of noise and delays,
 * and sets rec_disturb_moment. False: MPI itself makes the call; only the moment is set. */
bool rec_disturb_come(unsigned function);
/* Enters a call of the program's; rec_disturb_leave ends it. False: messages are not held back, or
 * MPI itself makes the call, and it goes on as if nothing were injected. */
bool rec_disturb_enter(const void *frame);
void rec_disturb_leave(void);

/* ---- messages -------------------------------------------------------------------------------- */

/* A message is sent: leaves its moment, and returns its key; 0: it has none. */
uint64_t rec_disturb_send(MPI_Comm comm, int dest, int tag);
/* Behind the library's function, with what that returned. */
void rec_disturb_sent(uint64_t key, MPI_Comm comm, int dest, int tag, int result);
/* A blocking receive is over: returns when the message may be seen. */
void rec_disturb_received(MPI_Comm comm, const MPI_Status *status, int result);
/* These note what was posted, or made to be started later, under a request. */
void rec_disturb_post_receive(MPI_Comm comm, int source, int tag, MPI_Request request);
void rec_disturb_init_send(MPI_Comm comm, int dest, int tag, MPI_Request request);
void rec_disturb_init_receive(MPI_Comm comm, int source, int tag, MPI_Request request);

/* ---- collective operations ------------------------------------------------------------------- */

struct rec_disturbed_operation {
    const struct rec_mpi_comm *comm;
    uint64_t key; /* of this operation; 0: it is left alone */
    uint8_t op;   /* enum lull_tape_op */
    int root;
    uint64_t bytes; /* the larger of what this rank sends and receives */
};

/* The next operation of the communicator begins, which is the n-th one at all its ranks. */
void rec_disturb_join(struct rec_disturbed_operation *operation, MPI_Comm comm);
/* A persistent operation is made; rec_disturb_restart tells each start of it. */
void rec_disturb_make(struct rec_disturbed_operation *operation, MPI_Comm comm);
void rec_disturb_restart(struct rec_disturbed_operation *operation);
/* When the operation may be seen to be complete at this rank, in ns of CLOCK_MONOTONIC; INT64_MIN:
 * at once. `over`: the call that completes it is over, and the operation is counted. */
int64_t rec_disturb_due(const struct rec_disturbed_operation *operation, bool over);
/* The operation was a blocking one: returns when it may be seen to be complete. */
void rec_disturb_joined(const struct rec_disturbed_operation *operation);
/* The operation has that request. */
void rec_disturb_post_operation(const struct rec_disturbed_operation *operation, bool persistent,
                                MPI_Request request);

/* ---- in place of the library's functions ----------------------------------------------------- */

int rec_disturb_start(MPI_Request *request);
int rec_disturb_startall(int n, MPI_Request *requests);
int rec_disturb_wait(MPI_Request *request, MPI_Status *status);
int rec_disturb_waitall(int n, MPI_Request *requests, MPI_Status *statuses);
int rec_disturb_waitany(int n, MPI_Request *requests, int *which, MPI_Status *status);
int rec_disturb_waitsome(int n, MPI_Request *requests, int *done, int *which, MPI_Status *statuses);
int rec_disturb_test(MPI_Request *request, int *flag, MPI_Status *status);
int rec_disturb_testall(int n, MPI_Request *requests, int *flag, MPI_Status *statuses);
int rec_disturb_testany(int n, MPI_Request *requests, int *which, int *flag, MPI_Status *status);
int rec_disturb_testsome(int n, MPI_Request *requests, int *done, int *which, MPI_Status *statuses);
int rec_disturb_request_free(MPI_Request *request);
int rec_disturb_get_status(MPI_Request request, int *flag, MPI_Status *status);
int rec_disturb_probe(int source, int tag, MPI_Comm comm, MPI_Status *status);
int rec_disturb_iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status);
int rec_disturb_mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message,
                       MPI_Status *status);
int rec_disturb_improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                        MPI_Status *status);

/* MPI_Init is over: disturbing begins. */
void rec_disturb_begin(void);

/* ==== holding back ============================================================================ */

/* Internal to the folder. */

/* Returns at the moment `due` (ns of CLOCK_MONOTONIC; INT64_MIN: at once); MPI makes progress
 * meanwhile. */
void rec_disturb_hold(int64_t due);
bool rec_disturb_is_early(int64_t due);

#endif
