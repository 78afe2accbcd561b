/* Translation of events: messages, collectives, one-sided transfers, input and output. */
#include "trace/format/otf2/read/events.h"
#include "trace/format/otf2/read/totals.h"

/* ---- communicators and ranks ----------------------------------------------------------------- */

static uint32_t comm_index(const struct otf2_stream *stream, OTF2_CommRef comm)
{
    uint32_t index = lull_otf2_find(&stream->archive->comms, comm);
    if (index == LULL_NONE)
        lull_otf2_add_quirk(
            stream,
            "an event names a communicator that is not defined; its ranks are taken as those "
            "of the world",
            "communicator", comm);
    return index;
}

static int32_t process_in_world(const struct otf2_stream *stream, uint32_t rank)
{
    return rank < stream->trace->n_processes ? (int32_t)rank : LULL_PROC_NULL;
}

/* The group that ranks of a communicator refer to: between groups, the one that this process is
 * not in. */
static const struct lull_comm *rank_group(const struct otf2_stream *stream, uint32_t index)
{
    const struct lull_comm *comm = &stream->trace->comms[index];
    if (comm->remote == LULL_NONE)
        return comm;
    return lull_comm_rank(comm, stream->process) == LULL_NONE ? comm
                                                              : &stream->trace->comms[comm->remote];
}

static int32_t process_of_rank(const struct otf2_stream *stream, uint32_t index, uint32_t rank)
{
    if (index == LULL_NONE)
        return process_in_world(stream, rank);
    if (stream->archive->self_comms[index])
        return (int32_t)stream->process;
    const struct lull_comm *comm = rank_group(stream, index);
    uint32_t process =
        comm->paradigm == LULL_PARADIGM_OPENMP ? LULL_NONE : lull_comm_member(comm, rank);
    if (process != LULL_NONE)
        return (int32_t)process;
    lull_otf2_add_quirk(
        stream,
        "an event names a rank that its communicator does not have; taken as a rank of the "
        "world",
        "rank", rank);
    return process_in_world(stream, rank);
}

/* MPI_PROC_NULL and MPI_ANY_SOURCE are -1 to -3, depending on the MPI library. */
enum { NEGATIVE_RANKS = 3 };

static int32_t peer_process(const struct otf2_stream *stream, uint32_t index, uint32_t rank)
{
    if (rank > UINT32_MAX - NEGATIVE_RANKS)
        return LULL_PROC_NULL;
    return process_of_rank(stream, index, rank);
}

static int32_t root_process(const struct otf2_stream *stream, uint32_t index, uint32_t root)
{
    if (root == OTF2_COLLECTIVE_ROOT_SELF)
        return (int32_t)stream->process;
    if (root == OTF2_COLLECTIVE_ROOT_NONE || root == OTF2_COLLECTIVE_ROOT_THIS_GROUP)
        return LULL_ANY;
    return process_of_rank(stream, index, root);
}

/* ---- point-to-point -------------------------------------------------------------------------- */

/* What a message record says, as OTF2 has it. */
struct message {
    uint32_t rank;
    OTF2_CommRef comm;
    uint32_t tag;
    uint64_t bytes;
    uint64_t request;
};

static OTF2_CallbackCode add_message_event(struct otf2_stream *stream, OTF2_TimeStamp time,
                                           uint8_t kind, const struct message *message)
{
    uint32_t comm = comm_index(stream, message->comm);
    struct lull_event *event = lull_otf2_add(stream, time, kind, comm);
    event->message.bytes = message->bytes;
    event->message.request = message->request;
    event->message.peer = peer_process(stream, comm, message->rank);
    event->message.tag = (int32_t)message->tag;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_send(COMMON, uint32_t receiver, OTF2_CommRef comm, uint32_t tag,
                                 uint64_t bytes)
{
    IGNORE_COMMON;
    const struct message message = {receiver, comm, tag, bytes, LULL_NO_REQUEST};
    return add_message_event(user, time, LULL_EVENT_SEND, &message);
}

static OTF2_CallbackCode on_isend(COMMON, uint32_t receiver, OTF2_CommRef comm, uint32_t tag,
                                  uint64_t bytes, uint64_t request)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    const struct message message = {receiver, comm, tag, bytes, request};
    stream->sends_posted++;
    return add_message_event(stream, time, LULL_EVENT_SEND, &message);
}

static OTF2_CallbackCode on_recv(COMMON, uint32_t sender, OTF2_CommRef comm, uint32_t tag,
                                 uint64_t bytes)
{
    IGNORE_COMMON;
    const struct message message = {sender, comm, tag, bytes, LULL_NO_REQUEST};
    return add_message_event(user, time, LULL_EVENT_RECV, &message);
}

static OTF2_CallbackCode on_irecv(COMMON, uint32_t sender, OTF2_CommRef comm, uint32_t tag,
                                  uint64_t bytes, uint64_t request)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    const struct message message = {sender, comm, tag, bytes, request};
    stream->receives_completed++;
    return add_message_event(stream, time, LULL_EVENT_RECV, &message);
}

static OTF2_CallbackCode add_request(struct otf2_stream *stream, OTF2_TimeStamp time, uint8_t kind,
                                     uint64_t request)
{
    struct lull_event *event = lull_otf2_add(stream, time, kind, LULL_NONE);
    event->message.bytes = 0;
    event->message.request = request;
    event->message.peer = LULL_ANY;
    event->message.tag = LULL_ANY;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_isend_complete(COMMON, uint64_t request)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    stream->sends_completed++;
    return add_request(stream, time, LULL_EVENT_SEND_DONE, request);
}

static OTF2_CallbackCode on_irecv_request(COMMON, uint64_t request)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    stream->receives_posted++;
    return add_request(stream, time, LULL_EVENT_RECV_POST, request);
}

static OTF2_CallbackCode on_request_test(COMMON, uint64_t request)
{
    IGNORE_COMMON;
    return add_request(user, time, LULL_EVENT_REQUEST_TEST, request);
}

static OTF2_CallbackCode on_request_cancelled(COMMON, uint64_t request)
{
    IGNORE_COMMON;
    return add_request(user, time, LULL_EVENT_REQUEST_CANCELLED, request);
}

/* ---- collectives ----------------------------------------------------------------------------- */

static OTF2_CallbackCode add_collective_begin(struct otf2_stream *stream, OTF2_TimeStamp time,
                                              uint64_t request)
{
    struct lull_event *event = lull_otf2_add(stream, time, LULL_EVENT_COLLECTIVE_BEGIN, LULL_NONE);
    event->op = LULL_COLLECTIVE_UNKNOWN;
    event->collective.sent = 0;
    event->collective.received = 0;
    event->collective.request = request;
    event->collective.root = LULL_ANY;
    event->collective.reserved = 0;
    stream->collectives_begun++;
    return OTF2_CALLBACK_SUCCESS;
}

/* What an end record says, as OTF2 has it, but for the communicator. */
struct collective {
    OTF2_CollectiveOp op;
    uint32_t root;
    uint64_t sent, received;
    uint64_t request;
};

static void take_own_bytes(const struct otf2_stream *stream, uint32_t comm,
                           struct lull_event *event)
{
    const struct lull_comm *group = rank_group(stream, comm);
    uint32_t rank = 0;
    if (group->paradigm == LULL_PARADIGM_OPENMP || stream->archive->self_comms[comm])
        return;
    if (event->op == LULL_COLLECTIVE_SCAN || event->op == LULL_COLLECTIVE_EXSCAN)
        rank = lull_comm_rank(group, stream->process);
    lull_otf2_bytes_of_one(event->op, group->size, rank, &event->collective.sent,
                           &event->collective.received);
}

static OTF2_CallbackCode add_collective_end(struct otf2_stream *stream, OTF2_TimeStamp time,
                                            uint32_t comm, const struct collective *collective)
{
    struct lull_event *event = lull_otf2_add(stream, time, LULL_EVENT_COLLECTIVE_END, comm);
    event->op = lull_otf2_collective_from(collective->op);
    event->collective.sent = collective->sent;
    event->collective.received = collective->received;
    if (stream->archive->totals && comm != LULL_NONE)
        take_own_bytes(stream, comm, event);
    event->collective.request = collective->request;
    event->collective.root = root_process(stream, comm, collective->root);
    event->collective.reserved = 0;
    stream->collectives_ended++;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_collective_begin(COMMON)
{
    IGNORE_COMMON;
    return add_collective_begin(user, time, LULL_NO_REQUEST);
}

static OTF2_CallbackCode on_collective_request(COMMON, uint64_t request)
{
    IGNORE_COMMON;
    return add_collective_begin(user, time, request);
}

static OTF2_CallbackCode on_collective_end(COMMON, OTF2_CollectiveOp op, OTF2_CommRef comm,
                                           uint32_t root, uint64_t sent, uint64_t received)
{
    IGNORE_COMMON;
    const struct collective collective = {op, root, sent, received, LULL_NO_REQUEST};
    return add_collective_end(user, time, comm_index(user, comm), &collective);
}

static OTF2_CallbackCode on_collective_complete(COMMON, OTF2_CollectiveOp op, OTF2_CommRef comm,
                                                uint32_t root, uint64_t sent, uint64_t received,
                                                uint64_t request)
{
    IGNORE_COMMON;
    const struct collective collective = {op, root, sent, received, request};
    return add_collective_end(user, time, comm_index(user, comm), &collective);
}

/* ---- one-sided ------------------------------------------------------------------------------- */

static uint32_t window_comm(const struct otf2_stream *stream, uint32_t window)
{
    return window == LULL_NONE ? LULL_NONE : stream->archive->window_comms[window];
}

static OTF2_CallbackCode on_rma_collective_end(COMMON, OTF2_CollectiveOp op,
                                               OTF2_RmaSyncLevel level, OTF2_RmaWinRef window,
                                               uint32_t root, uint64_t sent, uint64_t received)
{
    IGNORE_COMMON;
    (void)level;
    struct otf2_stream *stream = user;
    const struct collective collective = {op, root, sent, received, LULL_NO_REQUEST};
    uint32_t comm = window_comm(stream, lull_otf2_find(&stream->archive->windows, window));
    return add_collective_end(stream, time, comm, &collective);
}

static OTF2_CallbackCode add_rma(struct otf2_stream *stream, OTF2_TimeStamp time, uint8_t op,
                                 OTF2_RmaWinRef window, uint32_t remote, uint64_t bytes)
{
    uint32_t index = lull_otf2_find(&stream->archive->windows, window);
    struct lull_event *event = lull_otf2_add(stream, time, LULL_EVENT_RMA, index);
    event->op = op;
    event->transfer.bytes = bytes;
    event->transfer.reserved = 0;
    event->transfer.target = remote == OTF2_UNDEFINED_UINT32
                                 ? LULL_ANY
                                 : peer_process(stream, window_comm(stream, index), remote);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_put(COMMON, OTF2_RmaWinRef window, uint32_t remote, uint64_t bytes,
                                uint64_t matching_id)
{
    IGNORE_COMMON;
    (void)matching_id;
    return add_rma(user, time, LULL_RMA_PUT, window, remote, bytes);
}

static OTF2_CallbackCode on_get(COMMON, OTF2_RmaWinRef window, uint32_t remote, uint64_t bytes,
                                uint64_t matching_id)
{
    IGNORE_COMMON;
    (void)matching_id;
    return add_rma(user, time, LULL_RMA_GET, window, remote, bytes);
}

static OTF2_CallbackCode on_atomic(COMMON, OTF2_RmaWinRef window, uint32_t remote,
                                   OTF2_RmaAtomicType type, uint64_t sent, uint64_t received,
                                   uint64_t matching_id)
{
    IGNORE_COMMON;
    (void)type;
    (void)matching_id;
    return add_rma(user, time, LULL_RMA_ATOMIC, window, remote, sent + received);
}

static OTF2_CallbackCode on_rma_sync(COMMON, OTF2_RmaWinRef window, uint32_t remote,
                                     OTF2_RmaSyncType type)
{
    IGNORE_COMMON;
    (void)type;
    return add_rma(user, time, LULL_RMA_SYNC, window, remote, 0);
}

static OTF2_CallbackCode on_group_sync(COMMON, OTF2_RmaSyncLevel level, OTF2_RmaWinRef window,
                                       OTF2_GroupRef group)
{
    IGNORE_COMMON;
    (void)level;
    (void)group;
    return add_rma(user, time, LULL_RMA_SYNC, window, OTF2_UNDEFINED_UINT32, 0);
}

static OTF2_CallbackCode on_rma_lock(COMMON, OTF2_RmaWinRef window, uint32_t remote,
                                     uint64_t lock_id, OTF2_LockType type)
{
    IGNORE_COMMON;
    (void)lock_id;
    (void)type;
    return add_rma(user, time, LULL_RMA_SYNC, window, remote, 0);
}

static OTF2_CallbackCode on_rma_unlock(COMMON, OTF2_RmaWinRef window, uint32_t remote,
                                       uint64_t lock_id)
{
    IGNORE_COMMON;
    (void)lock_id;
    return add_rma(user, time, LULL_RMA_SYNC, window, remote, 0);
}

static OTF2_CallbackCode on_wait_change(COMMON, OTF2_RmaWinRef window)
{
    IGNORE_COMMON;
    return add_rma(user, time, LULL_RMA_SYNC, window, OTF2_UNDEFINED_UINT32, 0);
}

/* ---- input and output ------------------------------------------------------------------------ */

static OTF2_CallbackCode add_io(struct otf2_stream *stream, OTF2_TimeStamp time, uint8_t op,
                                uint64_t bytes)
{
    struct lull_event *event = lull_otf2_add(stream, time, LULL_EVENT_IO, LULL_NONE);
    event->op = op;
    event->transfer.bytes = bytes;
    event->transfer.reserved = 0;
    event->transfer.target = LULL_ANY;
    return OTF2_CALLBACK_SUCCESS;
}

/* The beginning knows the operation, the end how many bytes were moved: an event stands for both,
 * at the end. */
static OTF2_CallbackCode on_io_begin(COMMON, OTF2_IoHandleRef handle, OTF2_IoOperationMode mode,
                                     OTF2_IoOperationFlag flags, uint64_t bytes,
                                     uint64_t matching_id)
{
    IGNORE_COMMON;
    (void)time;
    (void)flags;
    (void)bytes;
    struct otf2_stream *stream = user;
    uint8_t op = mode == OTF2_IO_OPERATION_MODE_READ    ? LULL_IO_READ
                 : mode == OTF2_IO_OPERATION_MODE_WRITE ? LULL_IO_WRITE
                                                        : LULL_IO_OTHER;
    stream->io[stream->n_io++ % LULL_OTF2_PENDING_IO] =
        (struct lull_otf2_pending_io){matching_id, handle, op};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_io_complete(COMMON, OTF2_IoHandleRef handle, uint64_t bytes,
                                        uint64_t matching_id)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    unsigned kept = stream->n_io < LULL_OTF2_PENDING_IO ? stream->n_io : LULL_OTF2_PENDING_IO;
    uint8_t op = LULL_IO_OTHER;
    for (unsigned back = 1; back <= kept; back++) { /* most recent first */
        const struct lull_otf2_pending_io *begun =
            &stream->io[(stream->n_io - back) % LULL_OTF2_PENDING_IO];
        if (begun->matching_id != matching_id || begun->handle != handle)
            continue;
        op = begun->op;
        break;
    }
    return add_io(stream, time, op, bytes);
}

static OTF2_CallbackCode on_io_open(COMMON, OTF2_IoHandleRef handle, OTF2_IoAccessMode mode,
                                    OTF2_IoCreationFlag creation, OTF2_IoStatusFlag status)
{
    IGNORE_COMMON;
    (void)handle;
    (void)mode;
    (void)creation;
    (void)status;
    return add_io(user, time, LULL_IO_OPEN, 0);
}

static OTF2_CallbackCode on_io_close(COMMON, OTF2_IoHandleRef handle)
{
    IGNORE_COMMON;
    (void)handle;
    return add_io(user, time, LULL_IO_CLOSE, 0);
}

static OTF2_CallbackCode on_io_seek(COMMON, OTF2_IoHandleRef handle, int64_t requested,
                                    OTF2_IoSeekOption whence, uint64_t result)
{
    IGNORE_COMMON;
    (void)handle;
    (void)requested;
    (void)whence;
    (void)result;
    return add_io(user, time, LULL_IO_OTHER, 0);
}

/* ---- registration ---------------------------------------------------------------------------- */

void lull_otf2_set_messages(struct lull_otf2_callbacks *callbacks, uint64_t mask)
{
    if (mask & LULL_MASK(LULL_EVENT_SEND)) {
        SET(MpiSend, on_send);
        SET(MpiIsend, on_isend);
    }
    if (mask & LULL_MASK(LULL_EVENT_SEND_DONE))
        SET(MpiIsendComplete, on_isend_complete);
    if (mask & LULL_MASK(LULL_EVENT_RECV_POST))
        SET(MpiIrecvRequest, on_irecv_request);
    if (mask & LULL_MASK(LULL_EVENT_RECV)) {
        SET(MpiRecv, on_recv);
        SET(MpiIrecv, on_irecv);
    }
    if (mask & LULL_MASK(LULL_EVENT_REQUEST_TEST))
        SET(MpiRequestTest, on_request_test);
    if (mask & LULL_MASK(LULL_EVENT_REQUEST_CANCELLED))
        SET(MpiRequestCancelled, on_request_cancelled);
}

void lull_otf2_set_collectives(struct lull_otf2_callbacks *callbacks, uint64_t mask)
{
    if (mask & LULL_MASK(LULL_EVENT_COLLECTIVE_BEGIN)) {
        SET(MpiCollectiveBegin, on_collective_begin);
        SET(RmaCollectiveBegin, on_collective_begin);
        SET(NonBlockingCollectiveRequest, on_collective_request);
    }
    if (mask & LULL_MASK(LULL_EVENT_COLLECTIVE_END)) {
        SET(MpiCollectiveEnd, on_collective_end);
        SET(RmaCollectiveEnd, on_rma_collective_end);
        SET(NonBlockingCollectiveComplete, on_collective_complete);
    }
}

void lull_otf2_set_transfers(struct lull_otf2_callbacks *callbacks, uint64_t mask)
{
    if (mask & LULL_MASK(LULL_EVENT_RMA)) {
        SET(RmaPut, on_put);
        SET(RmaGet, on_get);
        SET(RmaAtomic, on_atomic);
        SET(RmaSync, on_rma_sync);
        SET(RmaGroupSync, on_group_sync);
        SET(RmaAcquireLock, on_rma_lock);
        SET(RmaReleaseLock, on_rma_unlock);
        SET(RmaWaitChange, on_wait_change);
    }
    if (mask & LULL_MASK(LULL_EVENT_IO)) {
        SET(IoOperationBegin, on_io_begin);
        SET(IoOperationComplete, on_io_complete);
        SET(IoCreateHandle, on_io_open);
        SET(IoDestroyHandle, on_io_close);
        SET(IoSeek, on_io_seek);
    }
}
