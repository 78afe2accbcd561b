/* SPDX-License-Identifier: BSD-3-Clause */
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

/* The requests of one handle. Most handles belong to one request, which is in the same cache
 * line. */
struct rec_request_queue {
    _Alignas(64) uint64_t key; /* 0: free */
    uint32_t count;            /* of requests; 0: empty */
    uint32_t last;             /* place in the pool of the last one behind the first */
    struct rec_request first;  /* its `next` is the place of the second one in the pool */
};

/* The requests that a thread has opened; stays when the thread ends. */
struct rec_requests {
    _Alignas(64) struct rec_request_queue *queues; /* NULL: the thread has opened none */
    size_t mask, used;
    struct rec_request *pool; /* number 0 is not used */
    uint32_t n_pool, most;    /* places that were ever used; places that there are */
    uint32_t spare;           /* first of the list of free ones, 0: none */
    bool locked;              /* atomic */
    struct rec_request taken;
    struct rec_requests *older;
};

/* Several threads may call MPI at a time. */
extern bool rec_requests_are_shared __attribute__((visibility("hidden")));

/* What the functions below call in rare cases (requests.c). */
REC_COLD struct rec_requests *rec_requests_make(struct rec_thread *self);
REC_COLD bool rec_requests_grow(struct rec_requests *requests);
struct rec_request *rec_request_append_behind(struct rec_requests *requests,
                                              struct rec_request_queue *queue);
REC_COLD struct rec_request *rec_request_find_elsewhere(struct rec_requests **requests,
                                                        MPI_Request handle);
void rec_request_drop_first(struct rec_requests *requests, struct rec_request_queue *queue);

/* Locks and unlocks the requests of the calling thread; what the functions below return may be used
 * in between. NULL: there is no memory, and no request is found. Nothing is locked where threads do
 * not call MPI at the same time. */
REC_INLINE struct rec_requests *rec_requests_lock(struct rec_thread *self)
{
    struct rec_requests *requests = self->requests;
    if (REC_UNLIKELY(!requests) && !(requests = rec_requests_make(self)))
        return NULL;
    if (REC_UNLIKELY(rec_requests_are_shared))
        while (__atomic_test_and_set(&requests->locked, __ATOMIC_ACQUIRE)) {
        }
    return requests;
}

REC_INLINE void rec_requests_unlock(struct rec_requests *requests)
{
    if (REC_UNLIKELY(rec_requests_are_shared) && requests)
        __atomic_clear(&requests->locked, __ATOMIC_RELEASE);
}

/* The queue of a handle, or the free place for it. */
REC_INLINE struct rec_request_queue *rec_request_slot(struct rec_request_queue *queues, size_t mask,
                                                      uint64_t key)
{
    size_t i = rec_map_hash(key) & mask;
    while (REC_UNLIKELY(queues[i].key != key && queues[i].key != 0))
        i = (i + 1) & mask;
    return &queues[i];
}

REC_INLINE uint64_t rec_request_key(MPI_Request handle)
{
    return (uint64_t)(uintptr_t)handle;
}

/* A new request at the end of the queue of a handle, for the caller to fill in; NULL: there is no
 * memory. */
REC_INLINE struct rec_request *rec_request_append(struct rec_requests *requests, MPI_Request handle)
{
    if (REC_UNLIKELY(requests->used * 2 >= requests->mask) && !rec_requests_grow(requests))
        return NULL;
    const uint64_t key = rec_request_key(handle);
    struct rec_request_queue *queue = rec_request_slot(requests->queues, requests->mask, key);
    if (REC_UNLIKELY(queue->key == 0)) {
        queue->key = key;
        requests->used++;
    }
    if (REC_UNLIKELY(queue->count > 0))
        return rec_request_append_behind(requests, queue);
    queue->count = 1;
    return &queue->first;
}

/* The first request in the queue of a handle among `requests`; NULL: there is none. */
REC_INLINE struct rec_request *rec_request_find_own(struct rec_requests *requests,
                                                    MPI_Request handle)
{
    if (REC_UNLIKELY(!requests->queues))
        return NULL;
    struct rec_request_queue *queue =
        rec_request_slot(requests->queues, requests->mask, rec_request_key(handle));
    return queue->count > 0 ? &queue->first : NULL;
}

/* The first request in the queue of a handle: among `requests`, else among those of another thread,
 * which are locked then in their place. NULL: no request was recorded under this handle. */
REC_INLINE struct rec_request *rec_request_find(struct rec_requests **requests, MPI_Request handle)
{
    if (handle == MPI_REQUEST_NULL || !*requests)
        return NULL;
    struct rec_request *found = rec_request_find_own(*requests, handle);
    return REC_LIKELY(found != NULL) ? found : rec_request_find_elsewhere(requests, handle);
}

/* Completes the request that rec_request_find returned, and returns what it was; NULL if it was not
 * active. A persistent request stays, unless `gone`. A request that is removed stays readable until
 * another one takes its place. */
REC_INLINE const struct rec_request *rec_request_take(struct rec_requests *requests,
                                                      struct rec_request *first, bool gone)
{
    struct rec_request_queue *queue =
        (struct rec_request_queue *)((char *)first - offsetof(struct rec_request_queue, first));
    const struct rec_request *taken = first;
    const bool active = first->active;
    first->active = false;
    if (REC_UNLIKELY(first->persistent) && !gone)
        return active ? taken : NULL;
    if (REC_UNLIKELY(queue->count > 1)) {
        requests->taken = *first;
        taken = &requests->taken;
        rec_request_drop_first(requests, queue);
    } else {
        queue->count = 0;
    }
    return active ? taken : NULL;
}

/* Writes a message that has no call of its own, posted or received at `time` (records.c). `mode`:
 * enum lull_tape_mode. */
void rec_mpi_put_message(struct rec_thread *self, unsigned what, unsigned mode, uint64_t time,
                         uint32_t comm, int32_t peer, int32_t tag, uint64_t bytes,
                         uint64_t request);

#endif
