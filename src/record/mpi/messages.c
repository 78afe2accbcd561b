/* Records of messages, transfers and queries that are not on the hot path of wrap.h. */
#include "record/mpi/comms.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Polls that follow each other within this many ns, and for so long, become one record for each
 * function, and of these as many as here: their time in MPI is exact, its place within that span is
 * not. */
enum { POLL_GAP_NS = 10000, POLL_SPAN_NS = 100000, MOST_POLLED = 8 };

/* While the record is made visible there is no call of its shape: whoever leaves in between, by a
 * signal's handler, leaves nothing that the record might not be like. */
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

/* The record of that function among those of the last queries, with nothing behind them; its number
 * is `n_polls` where there is none yet, and MOST_POLLED where the query does not belong to them. */
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

/* Adds a query to record `i`. Records of other functions stand behind it, which begin later by as
 * much: the last one first, so that times are in order also for whoever reads meanwhile. */
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

/* The time of a function's first query among them begins where that of the others ends. */
static uint64_t begin_of_polled(const struct rec_thread *self)
{
    const union lull_tape_slot *last = self->polls + 2 * (size_t)(self->n_polls - 1);
    return last[0].record.time + last[1].u64[0];
}

/* A query that found nothing is added to the ones before it, where nothing else lies between. */
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

/* ---- one-sided and files ----------------------------------------------------------------------
 */

void rec_mpi_new_window(struct rec_mpi_call *call, MPI_Comm comm, const MPI_Win *window)
{
    const struct rec_mpi_comm *info = rec_mpi_comm_of(comm);
    remember_handle((uintptr_t)*window, info);
    if (!rec_mpi_is_paused(call))
        rec_mpi_collective(call, rec_now(), info, REC_NO_ROOT, 0, 0);
}

/* A window that was made while nothing was recorded, or of whose communicator not all members are
 * known, tells its processes itself. */
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
