/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of messages, transfers and queries that are not on the hot path of wrap.h. */
#include "record/core.h"
#include "record/file/file.h"
#include "record/mpi/comms.h"
#include "record/mpi/requests.h"
#include "record/mpi/wrap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

/* ==== opening requests ======================================================================== */

void rec_request_open(struct rec_thread *self, MPI_Request handle, unsigned kind,
                      struct rec_posted posted)
{
    uint32_t number = self->next_request++;
    self->n_open++;
    if (REC_UNLIKELY(handle == MPI_REQUEST_NULL))
        return;
    struct rec_requests *requests = rec_requests_lock(self);
    struct rec_request *request = requests ? rec_request_append(requests, handle) : NULL;
    if (REC_LIKELY(request != NULL)) {
        request->posted = posted;
        request->number = number;
        request->owner = self->number;
        request->kind = (uint8_t)(kind & ~REC_EXCHANGE);
        request->persistent = false;
        request->active = true;
        request->exchange = kind & REC_EXCHANGE;
    }
    rec_requests_unlock(requests);
}

void rec_mpi_put_message(struct rec_thread *self, unsigned what, unsigned mode, uint64_t time,
                         uint32_t comm, int32_t peer, int32_t tag, uint64_t bytes, uint64_t request)
{
    rec_reserve_behind(self, 3);
    union lull_tape_slot *slot = self->at;
    slot[0].record.time = time;
    slot[0].record.head = lull_tape_head(LULL_TAPE_MESSAGE, 2, comm);
    slot[0].record.value = what;
    slot[1].u64[0] = bytes;
    slot[1].u64[1] = request;
    slot[2].i32[0] = peer;
    slot[2].i32[1] = tag;
    slot[2].u64[1] = mode;
    rec_commit(self, 3);
}

static void put_collective(struct rec_thread *self, uint64_t time, const struct rec_request *what)
{
    rec_reserve_behind(self, 3);
    union lull_tape_slot *slot = self->at;
    slot[0].record.time = time;
    slot[0].record.head = lull_tape_head(LULL_TAPE_COLLECTIVE, 2, rec_posted_comm(&what->posted));
    slot[0].record.value = what->op;
    slot[1].u64[0] = rec_posted_bytes(&what->posted);
    slot[1].u64[1] = what->received;
    slot[2].u64[0] = LULL_TAPE_NEXT_REQUEST;
    slot[2].i32[2] = rec_posted_peer(&what->posted);
    slot[2].i32[3] = 0;
    rec_commit(self, 3);
}

/* The receiving half is the request; the send is taken as complete when it is posted. */
void rec_mpi_isendrecv(struct rec_mpi_call *call, uint64_t bytes, int dest, int tag, uint64_t room,
                       int source, int rtag, MPI_Comm comm, const MPI_Request *request)
{
    uint64_t end = rec_now();
    const struct rec_mpi_comm *info = rec_mpi_comm_of(comm);
    rec_mpi_post(call, LULL_TAPE_CALL_IRECV | REC_EXCHANGE, room, source, rtag, end, info, request);
    rec_mpi_put_message(call->self, LULL_TAPE_MESSAGE_SEND, 0, call->begin, info->id,
                        rec_mpi_peer(dest), rec_mpi_tag(tag), bytes, UINT64_MAX);
}

static void open_persistent(struct rec_thread *self, const struct rec_request *what,
                            MPI_Request handle)
{
    if (handle == MPI_REQUEST_NULL)
        return;
    struct rec_requests *requests = rec_requests_lock(self);
    struct rec_request *request = requests ? rec_request_append(requests, handle) : NULL;
    if (request)
        *request = *what;
    rec_requests_unlock(requests);
}

void rec_mpi_persistent(struct rec_mpi_call *call, unsigned kind, unsigned mode, uint64_t bytes,
                        int peer, int tag, MPI_Comm comm, const MPI_Request *request)
{
    rec_mpi_followed_call(call);
    const struct rec_request what = {.kind = (uint8_t)kind,
                                     .posted = rec_posted_of(rec_mpi_peer(peer), rec_mpi_tag(tag),
                                                             rec_mpi_comm_of(comm)->id, bytes),
                                     .op = (uint8_t)mode,
                                     .persistent = true};
    open_persistent(call->self, &what, *request);
}

void rec_mpi_persistent_collective(struct rec_mpi_call *call, uint64_t end,
                                   const struct rec_mpi_comm *comm, int root, uint64_t sent,
                                   uint64_t received, const MPI_Request *request, unsigned op)
{
    if (!rec_mpi_is_paused(call))
        rec_put_call(call->self, call->region, call->begin, end - call->begin);
    const struct rec_request what = {
        .kind = LULL_TAPE_CALL_ICOLLECTIVE,
        .posted = rec_posted_of(root < 0 ? REC_ANY : root, 0, rec_mpi_persistent_comm(comm), sent),
        .received = received,
        .op = (uint8_t)op,
        .persistent = true};
    open_persistent(call->self, &what, *request);
}

/* Starts a persistent request, which gets the next number of the thread that starts it. The caller
 * has made room for the record: no chunk may begin between the number and the record, because a
 * chunk of a ring begins with the number of the next request, which must be that of the record
 * behind it. */
static void start_one(struct rec_mpi_call *call, uint64_t time, MPI_Request handle)
{
    struct rec_thread *self = call->self;
    struct rec_request started = {.kind = 0};
    struct rec_requests *requests = rec_requests_lock(self);
    struct rec_request *request = rec_request_find(&requests, handle);
    if (request && request->persistent) {
        request->number = self->next_request++;
        self->n_open++;
        request->owner = self->number;
        request->active = true;
        started = *request;
    }
    rec_requests_unlock(requests);
    if (started.kind == LULL_TAPE_CALL_ICOLLECTIVE)
        put_collective(self, time, &started);
    else if (started.kind != 0)
        rec_mpi_put_message(self,
                            started.kind == LULL_TAPE_CALL_ISEND ? LULL_TAPE_MESSAGE_SEND
                                                                 : LULL_TAPE_MESSAGE_RECV_POST,
                            started.op, time, rec_posted_comm(&started.posted),
                            rec_posted_peer(&started.posted), rec_posted_tag(&started.posted),
                            rec_posted_bytes(&started.posted), LULL_TAPE_NEXT_REQUEST);
}

void rec_mpi_start(struct rec_mpi_call *call, int n, const MPI_Request *requests)
{
    rec_mpi_call(call);
    struct rec_thread *self = call->self;
    const uint64_t end = *self->until, flushed = self->flushed;
    for (int i = 0; i < n; i++) {
        rec_reserve_behind(self, 3);
        /* All times in a chunk of a ring are behind those of the chunks before it. */
        const bool begins = rec_process.keeps_last && self->flushed != flushed;
        start_one(call, begins ? end : call->begin, requests[i]);
    }
}

/* ==== messages and queries ==================================================================== */

/* Polls that follow each other within POLL_GAP_NS, for no longer than POLL_SPAN_NS in all, become
 * one record for each function, at most MOST_POLLED of them. Their time in MPI is exact, its place
 * within that span is not. */
enum { POLL_GAP_NS = 10000, POLL_SPAN_NS = 100000, MOST_POLLED = LULL_TAPE_MOST_POLLED };

/* While the record is made visible, self->shapes has no call of this shape: a signal handler may
 * leave this function by a jump, and then no later call must be written as one like a record that
 * was never written. */
void rec_mpi_close_new(struct rec_thread *self, uint32_t head, uint32_t number, uint64_t begin,
                       uint64_t end, const uint64_t *words)
{
    const unsigned extra = lull_tape_extra_of(head);
    const uint64_t duration = end - begin;
    struct lull_tape_shape *shape = &self->shapes[number];
    union lull_tape_slot *slot = self->at;
    slot->record.time = begin;
    slot->record.head = head;
    shape->head = 0;
    memcpy(slot + 1, words, extra * sizeof *slot);
    memcpy(shape->words, words, extra * sizeof *slot);
    atomic_signal_fence(memory_order_seq_cst);
    rec_commit(self, lull_tape_set_duration(slot, extra, duration));
    atomic_signal_fence(memory_order_seq_cst);
    shape->head = head;
    rec_add_sum(self, lull_tape_id_of(head), 1, duration, end);
    self->inside += duration;
}

void rec_mpi_sendrecv(struct rec_mpi_call *call, uint64_t bytes, int dest, int tag, MPI_Comm comm,
                      const MPI_Status *status, uint64_t received)
{
    const uint64_t end = rec_now();
    const uint32_t id = rec_mpi_comm_of(comm)->id,
                   head = lull_tape_head(LULL_TAPE_CALL_SENDRECV, 2, call->region);
    const struct rec_posted sent = rec_posted_of(rec_mpi_peer(dest), rec_mpi_tag(tag), id, bytes);
    const struct rec_posted got =
        rec_posted_of(rec_mpi_peer(status->MPI_SOURCE), rec_mpi_tag(status->MPI_TAG), id, received);
    const uint32_t number =
        lull_tape_shape_of(head, sent.peer_tag + got.peer_tag, sent.bytes_comm + got.bytes_comm);
    const struct lull_tape_shape *shape = &call->self->shapes[number];
    if (REC_LIKELY(shape->head == head && shape->words[0] == sent.peer_tag &&
                   shape->words[1] == sent.bytes_comm && shape->words[2] == got.peer_tag &&
                   shape->words[3] == got.bytes_comm && end - call->begin < LULL_TAPE_OPEN)) {
        rec_mpi_close_like(call->self, call->region, number, call->begin, end);
        return;
    }
    const uint64_t words[] = {sent.peer_tag, sent.bytes_comm, got.peer_tag, got.bytes_comm};
    rec_mpi_close_new(call->self, head, number, call->begin, end, words);
}

/* The number of the function's record among the records of the last queries. n_polls: the function
 * has none yet; MOST_POLLED: the query does not go on from the last ones, because something else
 * stands behind their records, or because it comes too late. */
static uint32_t find_polled(const struct rec_thread *self, const struct rec_mpi_call *call,
                            uint64_t end)
{
    const union lull_tape_slot *polls = self->polls;
    const double ticks_per_ns = 1 / rec_process.ns_per_tick;
    if (!polls || polls + 2 * (size_t)self->n_polls != self->at ||
        (double)(call->begin - self->poll_end) >= POLL_GAP_NS * ticks_per_ns ||
        (double)(end - polls->record.time) >= POLL_SPAN_NS * ticks_per_ns)
        return MOST_POLLED;
    uint32_t i = 0;
    while (i < self->n_polls && lull_tape_id_of(polls[2 * i].record.head) != call->region)
        i++;
    return i;
}

/* Adds a query to record `i`. The records of other functions behind that one are moved back by the
 * same time, the last one first, so that times are in order also for a reader that reads
 * meanwhile. */
static void add_polled(const struct rec_thread *self, uint32_t i, uint64_t duration)
{
    for (uint32_t later = self->n_polls; --later > i;) {
        uint64_t *time = &self->polls[2 * later].record.time;
        __atomic_store_n(time, *time + duration, __ATOMIC_RELEASE);
    }
    uint64_t *words = self->polls[2 * i + 1].u64;
    __atomic_store_n(&words[0], words[0] + duration, __ATOMIC_RELEASE);
    words[1]++;
}

/* The record of a function's first query begins where the time of the other queries ends. */
static uint64_t begin_of_polled(const struct rec_thread *self)
{
    const union lull_tape_slot *last = self->polls + 2 * (size_t)(self->n_polls - 1);
    return last[0].record.time + last[1].u64[0];
}

/* A query that found nothing is added to the queries before it, if nothing else lies between. */
void rec_mpi_poll(struct rec_mpi_call *call, int found)
{
    if (rec_mpi_is_paused(call))
        return;
    uint64_t end = rec_now(), duration = end - call->begin;
    struct rec_thread *self = call->self;
    if (found) {
        rec_put_call(self, call->region, call->begin, duration);
        return;
    }
    const uint32_t i = find_polled(self, call, end);
    if (i < self->n_polls) {
        add_polled(self, i, duration);
    } else {
        if (i >= MOST_POLLED) {
            self->polls = self->at;
            self->n_polls = 0;
        }
        union lull_tape_slot *fresh = self->at;
        fresh[0].record.time = self->n_polls > 0 ? begin_of_polled(self) : call->begin;
        fresh[0].record.head = lull_tape_head(LULL_TAPE_CALL, 1, call->region);
        fresh[0].record.value = 0;
        fresh[1].u64[0] = duration;
        fresh[1].u64[1] = 0;
        self->n_polls++;
        rec_commit(self, 2);
    }
    self->poll_end = end;
    rec_add_sum(self, call->region, 1, duration, end);
    self->inside += duration;
}

/* ---- matched probes -------------------------------------------------------------------------- */

static struct rec_map handle_comms; /* messages and windows: to the rec_mpi_comm they belong to */
static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER;

static void remember_handle(uintptr_t handle, const struct rec_mpi_comm *comm)
{
    if (rec_map_get(&handle_comms, handle) == (uintptr_t)comm)
        return;
    pthread_mutex_lock(&handles_lock);
    rec_map_put(&handle_comms, handle, (uintptr_t)comm);
    pthread_mutex_unlock(&handles_lock);
}

static const struct rec_mpi_comm *comm_behind(uintptr_t handle)
{
    const struct rec_mpi_comm *comm =
        (const struct rec_mpi_comm *)rec_map_get(&handle_comms, handle);
    return comm ? comm : &rec_mpi_world;
}

void rec_mpi_mprobe(struct rec_mpi_call *call, int found, MPI_Comm comm, const MPI_Message *message)
{
    rec_mpi_poll(call, found);
    if (found && *message != MPI_MESSAGE_NO_PROC)
        remember_handle((uintptr_t)*message, rec_mpi_comm_of(comm));
}

const struct rec_mpi_comm *rec_mpi_comm_of_message(const MPI_Message *message)
{
    return message ? comm_behind((uintptr_t)*message) : &rec_mpi_world;
}

void rec_mpi_imrecv(struct rec_mpi_call *call, uint64_t bytes, const struct rec_mpi_comm *comm,
                    const MPI_Request *request)
{
    rec_mpi_post(call, LULL_TAPE_CALL_IRECV, bytes, MPI_ANY_SOURCE, MPI_ANY_TAG, rec_now(), comm,
                 request);
}

/* ---- one-sided and files --------------------------------------------------------------------- */

void rec_mpi_new_window(struct rec_mpi_call *call, MPI_Comm comm, const MPI_Win *window)
{
    const struct rec_mpi_comm *info = rec_mpi_comm_of(comm);
    remember_handle((uintptr_t)*window, info);
    if (!rec_mpi_is_paused(call))
        rec_mpi_collective(call, rec_now(), info, REC_NO_ROOT, 0, 0);
}

/* The window itself is asked for its processes where it was made while nothing was recorded, or
 * where not all members of its communicator are known. */
static const struct rec_mpi_comm *comm_of_window(MPI_Win window)
{
    const struct rec_mpi_comm *comm =
        (const struct rec_mpi_comm *)rec_map_get(&handle_comms, (uintptr_t)window);
    if (REC_LIKELY(comm != NULL && (comm->local.row || comm->local.numbers)))
        return comm;
    comm = rec_mpi_look_at_window(window);
    remember_handle((uintptr_t)window, comm);
    return comm;
}

/* Targets are process numbers, which also a reader without the window's communicator knows. */
void rec_mpi_put_rma(struct rec_mpi_call *call, enum rec_rma op, uint64_t bytes, int target,
                     const struct rec_mpi_comm *comm)
{
    int32_t process = rec_mpi_peer(target);
    if (process >= 0 && process < comm->size)
        process = (int32_t)rec_mpi_number_of(&comm->local, process);
    rec_put_transfer(call->self, call->begin, (uint32_t)op | UINT32_C(1) << 31, LULL_TAPE_NO_ID,
                     bytes, process);
}

void rec_mpi_rma(struct rec_mpi_call *call, enum rec_rma op, uint64_t bytes, int target,
                 MPI_Win window)
{
    rec_mpi_call(call);
    rec_mpi_put_rma(call, op, bytes, target, comm_of_window(window));
}

/* ==== completing requests ===================================================================== */

/* Records of calls that complete requests. Their slots are collected behind self->at, where
 * rec_open_call has made room.
 *
 * In a pause a call is not recorded, but it may complete requests from before the pause: each of
 * these completions is a record by itself. */

struct completions {
    struct rec_mpi_call *call;
    uint64_t end;
    unsigned slots; /* behind the record */
    bool first;     /* the record is the call itself, still to be closed */
};

/* One slot is kept for the duration of a long call. */
enum { MOST_SLOTS = LULL_TAPE_MOST_EXTRA - 1 };

/* Whether the only slot says what the record without slots says as well: all requests that were
 * open are complete, as they were posted. */
static bool is_all(const struct completions *done)
{
    const struct rec_thread *self = done->call->self;
    const uint32_t *fields = self->at[1].u32;
    return done->slots == 1 && self->n_open == 0 && fields[3] == 0 &&
           fields[0] + fields[1] == self->next_request;
}

static void close_record(struct completions *done)
{
    struct rec_mpi_call *call = done->call;
    union lull_tape_slot *slot = call->self->at;
    if (done->first) {
        done->first = false;
        slot->record.time = call->begin;
        unsigned kind = done->slots ? LULL_TAPE_CALL_WAIT : LULL_TAPE_CALL;
        if (is_all(done))
            done->slots = 0;
        slot->record.head = lull_tape_head(kind, done->slots, call->region);
        rec_mpi_close(call, done->slots, done->end);
    } else if (done->slots > 0) {
        slot->record.time = done->end;
        slot->record.head = lull_tape_head(LULL_TAPE_COMPLETE, done->slots, LULL_TAPE_NO_ID);
        slot->record.value = 0;
        rec_commit(call->self, 1 + done->slots);
    }
    done->slots = 0;
}

static union lull_tape_slot *next_slots(struct completions *done, unsigned slots)
{
    if (done->slots + slots > MOST_SLOTS) {
        close_record(done);
        rec_reserve_behind(done->call->self, REC_MOST_SLOTS);
    }
    union lull_tape_slot *slot = done->call->self->at + 1 + done->slots;
    done->slots += slots;
    return slot;
}

static void put_slot(struct completions *done, uint32_t number, int32_t b, int32_t c, uint32_t d)
{
    union lull_tape_slot *slot = next_slots(done, 1);
    slot->u32[0] = number;
    slot->i32[1] = b;
    slot->i32[2] = c;
    slot->u32[3] = d;
}

static void add_as_posted(struct completions *done, uint32_t number)
{
    union lull_tape_slot *last = done->call->self->at + done->slots;
    if (done->slots > 0 && last->u32[3] == 0 && last->u32[0] + last->u32[1] == number)
        last->u32[1]++;
    else
        put_slot(done, number, 1, 0, 0);
}

/* A size from LULL_TAPE_LARGE on is put into one more slot, whose last word must not look like the
 * last word of a range (add_as_posted). */
static void add_matched(struct completions *done, uint32_t number, int32_t source, int32_t tag,
                        uint64_t bytes)
{
    if (bytes < LULL_TAPE_LARGE) {
        put_slot(done, number, source, tag, LULL_TAPE_MATCHED | (uint32_t)bytes);
        return;
    }
    union lull_tape_slot *slot = next_slots(done, 2);
    slot[0].u32[0] = number;
    slot[0].i32[1] = source;
    slot[0].i32[2] = tag;
    slot[0].u32[3] = LULL_TAPE_MATCHED | LULL_TAPE_LARGE;
    slot[1].u64[0] = bytes;
    slot[1].u64[1] = UINT64_MAX;
}

/* The request was opened by another thread: writes the message alone, after the call. */
static void add_foreign(struct completions *done, const struct rec_request *request, int32_t source,
                        int32_t tag, uint64_t bytes)
{
    if (request->kind != LULL_TAPE_CALL_IRECV)
        return;
    close_record(done);
    rec_mpi_put_message(done->call->self, LULL_TAPE_MESSAGE_RECV, 0, done->end,
                        rec_posted_comm(&request->posted), source, tag, bytes, UINT64_MAX);
    rec_reserve_behind(done->call->self, REC_MOST_SLOTS);
}

/* Whether a status fits the request: some libraries (MPICH 4.0) leave the status of an exchange
 * empty. */
static bool is_credible(const struct rec_request *request, const struct rec_posted *matched)
{
    int32_t source = rec_posted_peer(&request->posted), tag = rec_posted_tag(&request->posted);
    return !request->exchange || ((source == REC_ANY || source == rec_posted_peer(matched)) &&
                                  (tag == REC_ANY || tag == rec_posted_tag(matched)));
}

REC_INLINE void add_match(struct completions *done, const struct rec_request *request, bool foreign,
                          const struct rec_posted *matched)
{
    const struct rec_posted *posted = &request->posted;
    int32_t source = rec_posted_peer(matched), tag = rec_posted_tag(matched);
    if (REC_UNLIKELY(foreign))
        add_foreign(done, request, source, tag, rec_posted_bytes(matched));
    else if (matched->peer_tag == posted->peer_tag && matched->bytes_comm == posted->bytes_comm)
        add_as_posted(done, request->number);
    else
        add_matched(done, request->number, source, tag, rec_posted_bytes(matched));
}

static struct rec_posted matched_of(const struct rec_request *request, const MPI_Status *status,
                                    uint64_t bytes)
{
    return rec_posted_of(rec_mpi_peer(status->MPI_SOURCE), rec_mpi_tag(status->MPI_TAG),
                         rec_posted_comm(&request->posted), bytes);
}

REC_INLINE void add_receive(struct completions *done, const struct rec_request *request,
                            bool foreign, const MPI_Status *status)
{
    struct rec_posted matched = matched_of(request, status, rec_mpi_status_bytes(status));
    add_match(done, request, foreign,
              REC_LIKELY(is_credible(request, &matched)) ? &matched : &request->posted);
}

REC_INLINE void add_request(struct completions *done, const struct rec_request *request,
                            const MPI_Status *status)
{
    bool foreign = request->owner != done->call->self->number;
    done->call->self->n_open -= !foreign;
    if (request->kind != LULL_TAPE_CALL_ICOLLECTIVE && !request->exchange &&
        rec_mpi_status_cancelled(status)) {
        if (!foreign)
            put_slot(done, request->number, 0, 0, LULL_TAPE_CANCELLED);
    } else if (request->kind == LULL_TAPE_CALL_IRECV &&
               rec_posted_peer(&request->posted) != REC_NOBODY) {
        add_receive(done, request, foreign, status);
    } else if (!foreign) {
        add_as_posted(done, request->number);
    }
}

/* A receive that failed has either taken the part of a too long message for which there was room,
 * or nothing. A send that failed did not reach anybody. */
static __attribute__((noinline)) void add_failed_request(struct completions *done,
                                                         const struct rec_request *request,
                                                         const MPI_Status *status, int error)
{
    bool foreign = request->owner != done->call->self->number;
    bool received = request->kind == LULL_TAPE_CALL_IRECV && rec_mpi_was_truncated(error);
    if (request->kind == LULL_TAPE_CALL_ICOLLECTIVE) {
        add_request(done, request, status);
        return;
    }
    done->call->self->n_open -= !foreign;
    struct rec_posted matched = matched_of(request, status, rec_posted_bytes(&request->posted));
    if (received)
        add_match(done, request, foreign, &matched);
    else if (!foreign)
        put_slot(done, request->number, 0, 0, LULL_TAPE_CANCELLED);
}

REC_INLINE void add_completion(struct completions *done, MPI_Request handle,
                               const MPI_Status *status, int error)
{
    struct rec_requests *requests = rec_requests_lock(done->call->self);
    struct rec_request *first = rec_request_find(&requests, handle);
    const struct rec_request *request = first ? rec_request_take(requests, first, false) : NULL;
    if (request && REC_LIKELY(error == MPI_SUCCESS))
        add_request(done, request, status);
    else if (request)
        add_failed_request(done, request, status, error);
    rec_requests_unlock(requests);
}

static struct completions begin_completions(struct rec_mpi_call *call)
{
    const bool paused = rec_mpi_is_paused(call);
    const uint64_t end = rec_now();
    if (REC_UNLIKELY(paused)) /* the records that follow have the time `end` */
        rec_sums_pause(call->self, end);
    return (struct completions){.call = call, .end = end, .first = !paused};
}

void rec_mpi_wait(struct rec_mpi_call *call, int complete, MPI_Request waited,
                  const MPI_Status *status)
{
    if (!complete) {
        rec_mpi_poll(call, false);
        return;
    }
    struct completions done = begin_completions(call);
    add_completion(&done, waited, status, MPI_SUCCESS);
    close_record(&done);
}

/* Memory of at least `size` bytes that belongs to the thread; the next call may move it and does
 * not keep its content. NULL when there is none. */
static void *take_scratch(struct rec_thread *self, size_t size)
{
    if (size <= self->scratch_size)
        return self->scratch;
    size_t larger = size * 2;
    void *got = mmap(NULL, larger, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED)
        return NULL;
    if (self->scratch)
        munmap(self->scratch, self->scratch_size);
    self->scratch = got;
    self->scratch_size = larger;
    return got;
}

MPI_Status *rec_mpi_waits(struct rec_mpi_waited *waited, struct rec_thread *self, int n,
                          const MPI_Request *requests, MPI_Status *statuses)
{
    waited->n = n > 0 && requests ? n : 0;
    MPI_Request *copy = waited->own_requests;
    MPI_Status *own = waited->own_statuses;
    if (n > REC_WAITED_HERE) {
        copy = take_scratch(self, (size_t)n * (sizeof *copy + sizeof *own));
        if (!copy) {
            waited->n = 0;
            return statuses;
        }
        own = (MPI_Status *)(void *)(copy + n);
    }
    if (n > 0 && requests)
        memcpy(copy, requests, (size_t)n * sizeof *copy);
    waited->requests = copy;
    return statuses == MPI_STATUSES_IGNORE ? own : statuses;
}

void rec_mpi_waitall(struct rec_mpi_call *call, int complete, const struct rec_mpi_waited *waited,
                     const MPI_Status *statuses)
{
    if (!complete) {
        rec_mpi_poll(call, false);
        return;
    }
    struct completions done = begin_completions(call);
    for (int i = 0; i < waited->n; i++)
        add_completion(&done, waited->requests[i], &statuses[i], MPI_SUCCESS);
    close_record(&done);
}

void rec_mpi_waitany(struct rec_mpi_call *call, int complete, int which,
                     const struct rec_mpi_waited *waited, const MPI_Status *status)
{
    bool one = complete && which >= 0 && which < waited->n;
    rec_mpi_wait(call, complete, one ? waited->requests[which] : MPI_REQUEST_NULL, status);
}

static void add_some(struct completions *done, int n, const int *which,
                     const struct rec_mpi_waited *waited, const MPI_Status *statuses, bool failed)
{
    for (int i = 0; n != MPI_UNDEFINED && i < n; i++)
        if (which[i] >= 0 && which[i] < waited->n)
            add_completion(done, waited->requests[which[i]], &statuses[i],
                           failed ? statuses[i].MPI_ERROR : MPI_SUCCESS);
}

void rec_mpi_waitsome(struct rec_mpi_call *call, int n, const int *which,
                      const struct rec_mpi_waited *waited, const MPI_Status *statuses)
{
    if (n == 0) {
        rec_mpi_poll(call, false);
        return;
    }
    struct completions done = begin_completions(call);
    add_some(&done, n, which, waited, statuses, false);
    close_record(&done);
}

/* ---- after an error -------------------------------------------------------------------------- */

bool rec_mpi_was_truncated(int error)
{
    int class = MPI_SUCCESS;
    return rec_mpi.Error_class(error, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE;
}

/* With a status for each request, the statuses say which requests are still pending. Without, those
 * are complete whose handles have changed; of a single persistent request, whose handle stays, a
 * message that was too long tells it. */
void rec_mpi_wait_failed(struct rec_mpi_call *call, int error, int n, const MPI_Request *waited,
                         const MPI_Request *after, const MPI_Status *statuses, bool each)
{
    struct completions done = begin_completions(call);
    bool told = each && error == MPI_ERR_IN_STATUS;
    for (int i = 0; after && i < n; i++) {
        int its_error = told ? statuses[i].MPI_ERROR : error;
        bool complete = told ? its_error != MPI_ERR_PENDING
                             : waited[i] != after[i] || (n == 1 && rec_mpi_was_truncated(error));
        if (complete)
            add_completion(&done, waited[i], &statuses[each ? i : 0], its_error);
    }
    close_record(&done);
}

void rec_mpi_waitsome_failed(struct rec_mpi_call *call, int error, const int *n, const int *which,
                             const struct rec_mpi_waited *waited, const MPI_Status *statuses)
{
    struct completions done = begin_completions(call);
    if (error == MPI_ERR_IN_STATUS)
        add_some(&done, *n, which, waited, statuses, true);
    close_record(&done);
}

/* ---- given up -------------------------------------------------------------------------------- */

/* The program frees a request and will not learn when it is complete: a send counts as complete
 * now, a receive goes on (LULL_TAPE_FREED). */
void rec_mpi_request_free(struct rec_mpi_call *call, MPI_Request handle)
{
    struct completions done = begin_completions(call);
    struct rec_requests *requests = rec_requests_lock(call->self);
    struct rec_request *first = rec_request_find(&requests, handle);
    const struct rec_request *request = first ? rec_request_take(requests, first, true) : NULL;
    if (request && request->owner == call->self->number) {
        call->self->n_open--;
        if (request->kind == LULL_TAPE_CALL_IRECV)
            put_slot(&done, request->number, 0, 0, LULL_TAPE_FREED);
        else
            add_as_posted(&done, request->number);
    }
    rec_requests_unlock(requests);
    close_record(&done);
}

/* ==== files of MPI ============================================================================ */

/* Which file a handle of MPI stands for. A file that was opened while nothing was recorded is not
 * known. */

static struct rec_map handle_files; /* -> id */
static pthread_mutex_t mpi_files_lock = PTHREAD_MUTEX_INITIALIZER;

static void remember_file(MPI_File file, uint32_t id)
{
    const struct rec_aside aside = rec_step_aside();
    pthread_mutex_lock(&mpi_files_lock);
    rec_map_put(&handle_files, (uintptr_t)file, id);
    pthread_mutex_unlock(&mpi_files_lock);
    rec_step_back(&aside);
}

void rec_mpi_io_open(struct rec_mpi_call *call, const char *path, MPI_File file)
{
    rec_mpi_call(call);
    const uint32_t id = rec_file_of_path(path);
    remember_file(file, id);
    rec_file_put(call->self, call->begin, LULL_TAPE_IO_OPEN, id, 0);
}

void rec_mpi_io(struct rec_mpi_call *call, enum rec_io op, MPI_File file, uint64_t bytes)
{
    rec_mpi_call(call);
    rec_file_put(call->self, call->begin, (unsigned)op,
                 (uint32_t)rec_map_get(&handle_files, (uintptr_t)file), bytes);
}

uint32_t rec_mpi_io_forget(const MPI_File *file)
{
    const uint32_t id = file ? (uint32_t)rec_map_get(&handle_files, (uintptr_t)*file) : 0;
    if (id != 0)
        remember_file(*file, 0);
    return id;
}

void rec_mpi_io_close(struct rec_mpi_call *call, uint32_t file)
{
    rec_mpi_call(call);
    rec_file_put(call->self, call->begin, LULL_TAPE_IO_CLOSE, file, 0);
}
