/* Records of what completes requests. Slots are collected behind self->at, for which rec_open_call
 * has made room.
 *
 * While the program has paused us, a call is not recorded, but it completes requests from before:
 * that is a record by itself. */
#include "record/mpi/requests.h"

#include <string.h>

struct completions {
    struct rec_mpi_call *call;
    uint64_t end;
    unsigned slots; /* behind the record */
    bool first;     /* the record is the call itself, still to be closed */
};

/* One slot is kept for the duration of a long call. */
enum { MOST_SLOTS = LULL_TAPE_MOST_EXTRA - 1 };

/* Whether the one slot says what the record says without it: all that was open is complete. */
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

/* LARGE puts the size into a slot more, whose last word must not look like the one of a range. */
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

/* By another thread than the one that opened it: the message alone, after the call. */
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

/* Some libraries (MPICH 4.0) leave the status of an exchange empty: then it does not fit. */
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

/* A receive that failed has taken as much as there was room for of a message that was too long, or
 * nothing; a send that failed did not reach anybody. */
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
    if (REC_UNLIKELY(paused)) /* no record that follows is from before */
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

MPI_Status *rec_mpi_waits(struct rec_mpi_waited *waited, struct rec_thread *self, int n,
                          const MPI_Request *requests, MPI_Status *statuses)
{
    waited->n = n > 0 && requests ? n : 0;
    MPI_Request *copy = waited->own_requests;
    MPI_Status *own = waited->own_statuses;
    if (n > REC_WAITED_HERE) {
        copy = rec_thread_scratch(self, (size_t)n * (sizeof *copy + sizeof *own));
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

/* ---- after an error ---------------------------------------------------------------------------
 */

bool rec_mpi_was_truncated(int error)
{
    int class = MPI_SUCCESS;
    return rec_mpi.Error_class(error, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE;
}

/* With a status for each, that says which are still pending. Otherwise those are complete whose
 * handles are gone, and a persistent one that has taken a message. */
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

/* ---- given up ---------------------------------------------------------------------------------
 */

/* Nobody will hear of its completion: a send counts as complete, a receive goes on. */
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
