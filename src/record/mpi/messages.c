/* Records of messages, transfers and queries that are not on the hot path of wrap.h. */
#include "record/mpi/comms.h"

#include <pthread.h>

/* Polls that follow each other within this many ns, and for so long, become one record: their time
 * in MPI is exact, its place within that span is not. */
enum { POLL_GAP_NS = 10000, POLL_SPAN_NS = 100000 };

void rec_mpi_sendrecv(struct rec_mpi_call *call, uint64_t bytes, int dest, int tag, MPI_Comm comm,
                      const MPI_Status *status, uint64_t received)
{
    uint64_t end = rec_now();
    union lull_tape_slot *slot = call->self->at;
    uint64_t comm_bits = (uint64_t)rec_mpi_comm_of(comm)->id << 40;
    lull_tape_put_message_call(slot, LULL_TAPE_CALL_SENDRECV, call->begin, call->region, 0,
                               rec_mpi_peer(dest), rec_mpi_tag(tag), rec_mpi_comm_of(comm)->id,
                               bytes);
    slot[0].record.head = lull_tape_head(LULL_TAPE_CALL_SENDRECV, 2, call->region);
    slot[2].i32[0] = rec_mpi_peer(status->MPI_SOURCE);
    slot[2].i32[1] = rec_mpi_tag(status->MPI_TAG);
    slot[2].u64[1] = (received & LULL_TAPE_BYTES_MASK) | comm_bits;
    rec_mpi_close(call, 2, end);
}

/* A query that found nothing is added to the ones before it, where nothing else lies between. */
void rec_mpi_poll(struct rec_mpi_call *call, int found)
{
    if (rec_mpi_is_paused(call))
        return;
    uint64_t end = rec_now(), duration = end - call->begin;
    struct rec_thread *self = call->self;
    const double ticks_per_ns = 1 / rec_process.ns_per_tick;
    union lull_tape_slot *last = self->poll;
    if (found) {
        rec_put_call(self, call->region, call->begin, duration);
        return;
    }
    if (last && last + 2 == self->at && self->poll_region == call->region &&
        (double)(call->begin - self->poll_end) < POLL_GAP_NS * ticks_per_ns &&
        (double)(end - last->record.time) < POLL_SPAN_NS * ticks_per_ns) {
        last[1].u64[0] += duration;
        last[1].u64[1]++;
    } else {
        last = self->at;
        last[0].record.time = call->begin;
        last[0].record.head = lull_tape_head(LULL_TAPE_CALL, 1, call->region);
        last[0].record.value = 0;
        last[1].u64[0] = duration;
        last[1].u64[1] = 0;
        rec_commit(self, 2);
        self->poll = last;
        self->poll_region = call->region;
    }
    self->poll_end = end;
    rec_add_sum(self, call->region, 1, duration, end);
    self->inside += duration;
}

/* ---- matched probes ---------------------------------------------------------------------------
 */

static struct rec_map handles; /* messages and windows: to the rec_mpi_comm they belong to */
static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER;

static void remember(uintptr_t handle, const struct rec_mpi_comm *comm)
{
    if (rec_map_get(&handles, handle) == (uintptr_t)comm)
        return;
    pthread_mutex_lock(&handles_lock);
    rec_map_put(&handles, handle, (uintptr_t)comm);
    pthread_mutex_unlock(&handles_lock);
}

static const struct rec_mpi_comm *comm_behind(uintptr_t handle)
{
    const struct rec_mpi_comm *comm = (const struct rec_mpi_comm *)rec_map_get(&handles, handle);
    return comm ? comm : &rec_mpi_world;
}

void rec_mpi_mprobe(struct rec_mpi_call *call, int found, MPI_Comm comm, const MPI_Message *message)
{
    rec_mpi_poll(call, found);
    if (found && *message != MPI_MESSAGE_NO_PROC)
        remember((uintptr_t)*message, rec_mpi_comm_of(comm));
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
    remember((uintptr_t)*window, info);
    if (!rec_mpi_is_paused(call))
        rec_mpi_collective(call, rec_now(), info, REC_NO_ROOT, 0, 0);
}

/* A window that was made while nothing was recorded tells its processes itself. */
static const struct rec_mpi_comm *comm_of_window(MPI_Win window)
{
    const struct rec_mpi_comm *comm =
        (const struct rec_mpi_comm *)rec_map_get(&handles, (uintptr_t)window);
    if (REC_LIKELY(comm != NULL))
        return comm;
    comm = rec_mpi_look_at_window(window);
    remember((uintptr_t)window, comm);
    return comm;
}

/* Targets are process numbers, which also a reader without the window's communicator knows. */
void rec_mpi_rma(struct rec_mpi_call *call, enum rec_rma op, uint64_t bytes, int target,
                 MPI_Win window)
{
    rec_mpi_call(call);
    const struct rec_mpi_comm *comm = comm_of_window(window);
    int32_t process = rec_mpi_peer(target);
    if (process >= 0 && process < comm->size && comm->members)
        process = (int32_t)comm->members[process];
    rec_put_transfer(call->self, call->begin, (uint32_t)op | UINT32_C(1) << 31, LULL_TAPE_NO_ID,
                     bytes, process);
}
