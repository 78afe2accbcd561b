#include "record/inject/mpi/disturb.h"

#include "record/inject/moments.h"
#include "record/inject/mpi/channels.h"
#include "record/inject/mpi/hold.h"
#include "record/inject/mpi/requests.h"

#include <limits.h>
#include <string.h>

__thread int64_t rec_disturb_moment __attribute__((tls_model("initial-exec")));
__thread void (*rec_disturb_next)(void) __attribute__((tls_model("initial-exec")));

/* Frame of the call that this thread is in; 0: none. */
static __thread uintptr_t inside __attribute__((tls_model("initial-exec")));

/* A call from higher up in the stack, which grows downwards, was not made by the one that we think
 * we are in: that one was left by longjmp. */
bool rec_disturb_enter(const void *frame)
{
    if (!rec_injected_network.on || (inside != 0 && (uintptr_t)frame < inside))
        return false;
    inside = (uintptr_t)frame;
    return true;
}

void rec_disturb_leave(void)
{
    inside = 0;
}

/* Whose calls begin iterations; none: marks do. */
static unsigned iterations = UINT_MAX;

void rec_disturb_begin(void)
{
    const char *function = rec_inject_iterations();
    for (unsigned i = 0; function && i < rec_mpi_n_functions; i++)
        if (strcmp(rec_mpi_names[i], function) == 0)
            iterations = i;
    rec_inject_begin((uint32_t)rec_mpi_world.rank);
}

bool rec_disturb_come(unsigned function)
{
    const bool own = !rec_is_inside(rec_current());
    rec_disturb_moment = own ? rec_inject_come(function == iterations) : rec_inject_now();
    return own;
}

/* MPI's own progress: a message that others wait for may be under way from here. */
static void make_progress(void)
{
    int flag;
    rec_mpi.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

void rec_disturb_hold(int64_t due)
{
    if (due > INT64_MIN)
        rec_inject_hold(due, make_progress);
}

bool rec_disturb_is_early(int64_t due)
{
    return due > INT64_MIN && rec_inject_now() < due;
}

/* ---- sends and blocking calls ----------------------------------------------------------------
 */

static uint64_t send_on(const struct rec_mpi_comm *comm, int dest, int tag)
{
    uint32_t source;
    if (dest == MPI_PROC_NULL)
        return 0;
    const uint64_t channel = rec_channel_of(comm, dest, tag, true, &source);
    if (channel == 0)
        return 0;
    pthread_mutex_lock(&rec_channel_lock);
    uint64_t *count = rec_channel_count(rec_channel_mix(channel, 2));
    const uint64_t key = count ? rec_channel_mix(channel, (*count)++) : 0;
    if (key)
        rec_moment_send(key, rec_disturb_moment);
    pthread_mutex_unlock(&rec_channel_lock);
    return key;
}

uint64_t rec_disturb_send(MPI_Comm comm, int dest, int tag)
{
    return send_on(rec_mpi_comm_of(comm), dest, tag);
}

/* What the library refuses is not sent, and not counted. */
void rec_disturb_sent(uint64_t key, MPI_Comm comm, int dest, int tag, int result)
{
    uint32_t source;
    if (key == 0 || REC_LIKELY(result == MPI_SUCCESS))
        return;
    rec_moment_withdraw(key);
    const uint64_t channel = rec_channel_of(rec_mpi_comm_of(comm), dest, tag, true, &source);
    pthread_mutex_lock(&rec_channel_lock);
    uint64_t *count = rec_channel_count(rec_channel_mix(channel, 2));
    if (count && *count > 0)
        --*count;
    pthread_mutex_unlock(&rec_channel_lock);
}

void rec_disturb_received(MPI_Comm comm, const MPI_Status *status, int result)
{
    if (result == MPI_SUCCESS || rec_mpi_was_truncated(result))
        rec_disturb_hold(rec_disturbed_message_due(comm, status, true));
}

void rec_disturb_joined(const struct rec_disturbed_operation *operation)
{
    rec_disturb_hold(rec_disturb_due(operation, true));
}

/* ---- persistent requests ----------------------------------------------------------------------
 */

static void start_request(MPI_Request handle)
{
    struct rec_disturbed_request request;
    if (rec_disturbed_start(handle, &request) && request.kind == REC_POSTED_SEND)
        send_on(request.comm, request.peer, request.tag);
}

int rec_disturb_start(MPI_Request *request)
{
    __typeof__(&PMPI_Start) real = (__typeof__(real))rec_disturb_next;
    if (rec_disturb_enter(REC_FRAME)) {
        if (request)
            start_request(*request);
        rec_disturb_leave();
    }
    return real(request);
}

int rec_disturb_startall(int n, MPI_Request *requests)
{
    __typeof__(&PMPI_Startall) real = (__typeof__(real))rec_disturb_next;
    if (rec_disturb_enter(REC_FRAME)) {
        for (int i = 0; requests && i < n; i++)
            start_request(requests[i]);
        rec_disturb_leave();
    }
    return real(n, requests);
}

int rec_disturb_request_free(MPI_Request *request)
{
    __typeof__(&PMPI_Request_free) real = (__typeof__(real))rec_disturb_next;
    if (request && rec_disturb_enter(REC_FRAME)) {
        rec_disturbed_give_up(*request);
        rec_disturb_leave();
    }
    return real(request);
}
