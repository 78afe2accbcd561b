/* Requests that are open: a map from the handle that the program holds to what was posted under it.
 *
 * MPI libraries give one handle to several requests that are complete from the beginning (small
 * sends, MPI_PROC_NULL), so each handle has a queue. Which of its requests a call completes is not
 * known and does not matter: the one that was posted first is taken. Each thread has queues of its
 * own, for two reasons: a request number belongs to the thread that opened the request, and threads
 * that call MPI at the same time need not wait for each other. */
#ifndef LULL_RECORD_MPI_REQUESTS_H
#define LULL_RECORD_MPI_REQUESTS_H

#include "record/mpi/wrap.h"

struct rec_request {
    struct rec_posted posted;
    uint64_t received; /* bytes that a persistent collective receives */
    uint32_t number;   /* the request's number at `owner` */
    uint32_t owner;    /* thread that opened it */
    uint32_t next;     /* in its queue, or in the list of free ones */
    uint8_t kind;      /* LULL_TAPE_CALL_ISEND, _IRECV, _ICOLLECTIVE */
    uint8_t op;        /* of a persistent collective its operation, of a persistent send its mode */
    bool persistent, active;
    bool exchange; /* receiving half of an exchange; see rec_mpi_isendrecv */
};

/* The requests that a thread has opened; stays when the thread ends. */
struct rec_requests;

/* Locks and unlocks the requests of the calling thread; what the functions below return may be used
 * in between. NULL: there is no memory, and no request is found. Nothing is locked where threads do
 * not call MPI at the same time. */
struct rec_requests *rec_requests_lock(struct rec_thread *self);
void rec_requests_unlock(struct rec_requests *requests);

/* A new request at the end of the queue of a handle, for the caller to fill in; NULL: there is no
 * memory. */
struct rec_request *rec_request_append(struct rec_requests *requests, MPI_Request handle);

/* The first request in the queue of a handle: among `requests`, else among those of another thread,
 * which are locked then in their place. NULL: no request was recorded under this handle. */
struct rec_request *rec_request_find(struct rec_requests **requests, MPI_Request handle);

/* Completes the request that rec_request_find returned, and returns what it was; NULL if it was not
 * active. A persistent request stays, unless `gone`. */
const struct rec_request *rec_request_take(struct rec_requests *requests, struct rec_request *first,
                                           bool gone);

/* Writes a message that has no call of its own, posted or received at `time` (records.c). `mode`:
 * enum lull_tape_mode. */
void rec_mpi_put_message(struct rec_thread *self, unsigned what, unsigned mode, uint64_t time,
                         uint32_t comm, int32_t peer, int32_t tag, uint64_t bytes,
                         uint64_t request);

#endif
