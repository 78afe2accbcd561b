/* Records of what opens requests, and the requests. */
#include "record/mpi/comms.h"
#include "record/mpi/requests.h"

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

/* The number becomes one of the thread that starts it. There is room for the record: what a chunk
 * of a ring says of the next number must be right for the records in front of it. */
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
        /* A chunk of a ring begins when all has ended that stands before it. */
        const bool begins = rec_process.keeps_last && self->flushed != flushed;
        start_one(call, begins ? end : call->begin, requests[i]);
    }
}
