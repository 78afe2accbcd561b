/* Waits, tests and probes: in place of the library's functions. A wait returns when what it waits
 * for may be seen. What a test or a probe finds too early stays hidden: it is asked for by
 * MPI_Request_get_status and MPI_Iprobe, which leave it where it is. */
#include "record/inject/mpi/disturb.h"

#include "record/inject/mpi/hold.h"
#include "record/inject/mpi/requests.h"

#include <string.h>
#include <sys/mman.h>

#define NEXT(function) ((__typeof__(&PMPI_##function))rec_disturb_next)

/* ---- several requests at a time ---------------------------------------------------------------
 */

enum { HERE = 32 };

/* The handles as they were before the call, which of them the library was not shown, and statuses
 * where the program has none. */
struct requests {
    int n, n_hidden;
    MPI_Request *handles;
    MPI_Status *statuses;
    bool *hidden;
    size_t mapped; /* bytes; 0: the arrays here */
    MPI_Request own_handles[HERE];
    MPI_Status own_statuses[HERE];
    bool own_hidden[HERE];
};

/* False: there is no memory. */
static bool take_requests(struct requests *all, int n, const MPI_Request *requests)
{
    all->n = requests && n > 0 ? n : 0;
    all->n_hidden = 0;
    all->handles = all->own_handles;
    all->statuses = all->own_statuses;
    all->hidden = all->own_hidden;
    all->mapped = 0;
    if (all->n > HERE) {
        const size_t each = sizeof *all->handles + sizeof *all->statuses + sizeof *all->hidden;
        const size_t size = (size_t)n * each;
        void *space = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (space == MAP_FAILED)
            return false;
        all->mapped = size;
        all->statuses = space;
        all->handles = (MPI_Request *)(void *)(all->statuses + n);
        all->hidden = (bool *)(all->handles + n);
    }
    if (all->n > 0)
        memcpy(all->handles, requests, (size_t)all->n * sizeof *requests);
    memset(all->hidden, 0, (size_t)all->n * sizeof *all->hidden);
    return true;
}

/* False: the call goes on undisturbed. `frame`: that of the function which asks. */
static bool enter_with(struct requests *all, int n, const MPI_Request *requests, const void *frame)
{
    if (!rec_disturb_enter(frame))
        return false;
    if (take_requests(all, n, requests))
        return true;
    rec_disturb_leave();
    return false;
}

static void leave_with(struct requests *all)
{
    if (all->mapped)
        munmap(all->statuses, all->mapped);
    rec_disturb_leave();
}

static MPI_Status *statuses_of(struct requests *all, MPI_Status *statuses)
{
    return statuses == MPI_STATUSES_IGNORE ? all->statuses : statuses;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* All of them have completed, or with an error those whose status says so. */
static int64_t due_of_all(const struct requests *all, const MPI_Status *statuses, int result)
{
    int64_t due = INT64_MIN;
    for (int i = 0; i < all->n; i++)
        if (result == MPI_SUCCESS || statuses[i].MPI_ERROR != MPI_ERR_PENDING)
            due = later(due, rec_disturbed_due(all->handles[i], &statuses[i], true));
    return due;
}

static int64_t due_of_some(const struct requests *all, int n, const int *which,
                           const MPI_Status *statuses)
{
    int64_t due = INT64_MIN;
    for (int i = 0; n != MPI_UNDEFINED && i < n; i++)
        if (which[i] >= 0 && which[i] < all->n)
            due = later(due, rec_disturbed_due(all->handles[which[i]], &statuses[i], true));
    return due;
}

/* After an error that is told of one alone: those are over that the library has taken away. */
static void forget_gone(const struct requests *all, const MPI_Request *requests,
                        const MPI_Status *status)
{
    for (int i = 0; i < all->n; i++)
        if (requests[i] != all->handles[i])
            rec_disturbed_due(all->handles[i], status, true);
}

static bool tells_each(int result)
{
    return result == MPI_SUCCESS || result == MPI_ERR_IN_STATUS;
}

/* Complete, but too early to be seen. */
static bool is_hidden(MPI_Request handle)
{
    struct rec_disturbed_request request;
    MPI_Status status;
    int complete = 0;
    return rec_disturbed_find(handle, &request) && request.active &&
           request.kind != REC_POSTED_SEND &&
           rec_mpi.Request_get_status(handle, &complete, &status) == MPI_SUCCESS && complete &&
           rec_disturb_is_early(rec_disturbed_due(handle, &status, false));
}

/* ---- waits ------------------------------------------------------------------------------------
 */

int rec_disturb_wait(MPI_Request *request, MPI_Status *status)
{
    __typeof__(&PMPI_Wait) real = NEXT(Wait);
    if (!request || !rec_disturb_enter(REC_FRAME))
        return real(request, status);
    const MPI_Request handle = *request;
    MPI_Status own, *seen = rec_mpi_seen_by(status, &own);
    const int result = real(request, seen);
    if (result == MPI_SUCCESS || *request != handle)
        rec_disturb_hold(rec_disturbed_due(handle, seen, true));
    rec_disturb_leave();
    return result;
}

int rec_disturb_waitall(int n, MPI_Request *requests, MPI_Status *statuses)
{
    __typeof__(&PMPI_Waitall) real = NEXT(Waitall);
    struct requests all;
    if (!enter_with(&all, n, requests, REC_FRAME))
        return real(n, requests, statuses);
    MPI_Status *seen = statuses_of(&all, statuses);
    const int result = real(n, requests, seen);
    if (tells_each(result))
        rec_disturb_hold(due_of_all(&all, seen, result));
    leave_with(&all);
    return result;
}

int rec_disturb_waitany(int n, MPI_Request *requests, int *which, MPI_Status *status)
{
    __typeof__(&PMPI_Waitany) real = NEXT(Waitany);
    struct requests all;
    MPI_Status own, *seen = rec_mpi_seen_by(status, &own);
    if (!enter_with(&all, n, requests, REC_FRAME))
        return real(n, requests, which, status);
    const int result = real(n, requests, which, seen);
    if (result != MPI_SUCCESS)
        forget_gone(&all, requests, seen);
    else if (*which >= 0 && *which < all.n)
        rec_disturb_hold(rec_disturbed_due(all.handles[*which], seen, true));
    leave_with(&all);
    return result;
}

int rec_disturb_waitsome(int n, MPI_Request *requests, int *done, int *which, MPI_Status *statuses)
{
    __typeof__(&PMPI_Waitsome) real = NEXT(Waitsome);
    struct requests all;
    if (!enter_with(&all, n, requests, REC_FRAME))
        return real(n, requests, done, which, statuses);
    MPI_Status *seen = statuses_of(&all, statuses);
    const int result = real(n, requests, done, which, seen);
    if (tells_each(result))
        rec_disturb_hold(due_of_some(&all, *done, which, seen));
    leave_with(&all);
    return result;
}

/* ---- tests ------------------------------------------------------------------------------------
 */

int rec_disturb_test(MPI_Request *request, int *flag, MPI_Status *status)
{
    __typeof__(&PMPI_Test) real = NEXT(Test);
    int result = MPI_SUCCESS;
    if (!request || !rec_disturb_enter(REC_FRAME))
        return real(request, flag, status);
    const MPI_Request handle = *request;
    MPI_Status own, *seen = rec_mpi_seen_by(status, &own);
    if (is_hidden(handle)) {
        *flag = 0;
    } else {
        result = real(request, flag, seen);
        if (result == MPI_SUCCESS && *flag)
            rec_disturb_hold(rec_disturbed_due(handle, seen, true));
    }
    rec_disturb_leave();
    return result;
}

static bool any_is_hidden(const struct requests *all)
{
    for (int i = 0; i < all->n; i++)
        if (is_hidden(all->handles[i]))
            return true;
    return false;
}

int rec_disturb_testall(int n, MPI_Request *requests, int *flag, MPI_Status *statuses)
{
    __typeof__(&PMPI_Testall) real = NEXT(Testall);
    struct requests all;
    int result = MPI_SUCCESS;
    if (!enter_with(&all, n, requests, REC_FRAME))
        return real(n, requests, flag, statuses);
    MPI_Status *seen = statuses_of(&all, statuses);
    if (any_is_hidden(&all)) {
        *flag = 0;
    } else {
        result = real(n, requests, flag, seen);
        if (tells_each(result) && (*flag || result != MPI_SUCCESS))
            rec_disturb_hold(due_of_all(&all, seen, result));
    }
    leave_with(&all);
    return result;
}

/* Takes what is hidden out of the list for the time of the call. */
static void hide(struct requests *all, MPI_Request *requests)
{
    for (int i = 0; i < all->n; i++) {
        all->hidden[i] = is_hidden(all->handles[i]);
        if (all->hidden[i])
            requests[i] = MPI_REQUEST_NULL;
        all->n_hidden += all->hidden[i];
    }
}

/* All others are what the library has made of them, also after an error. */
static void show_again(const struct requests *all, MPI_Request *requests)
{
    for (int i = 0; i < all->n; i++)
        if (all->hidden[i])
            requests[i] = all->handles[i];
}

int rec_disturb_testany(int n, MPI_Request *requests, int *which, int *flag, MPI_Status *status)
{
    __typeof__(&PMPI_Testany) real = NEXT(Testany);
    struct requests all;
    MPI_Status own, *seen = rec_mpi_seen_by(status, &own);
    if (!enter_with(&all, n, requests, REC_FRAME))
        return real(n, requests, which, flag, status);
    hide(&all, requests);
    const int result = real(n, requests, which, flag, seen);
    show_again(&all, requests);
    if (result != MPI_SUCCESS)
        forget_gone(&all, requests, seen);
    const bool one = result == MPI_SUCCESS && *flag && *which >= 0 && *which < all.n;
    if (all.n_hidden > 0 && result == MPI_SUCCESS && !one)
        *flag = 0;
    if (one)
        rec_disturb_hold(rec_disturbed_due(all.handles[*which], seen, true));
    leave_with(&all);
    return result;
}

int rec_disturb_testsome(int n, MPI_Request *requests, int *done, int *which, MPI_Status *statuses)
{
    __typeof__(&PMPI_Testsome) real = NEXT(Testsome);
    struct requests all;
    if (!enter_with(&all, n, requests, REC_FRAME))
        return real(n, requests, done, which, statuses);
    MPI_Status *seen = statuses_of(&all, statuses);
    hide(&all, requests);
    const int result = real(n, requests, done, which, seen);
    show_again(&all, requests);
    const int some = tells_each(result) && *done != MPI_UNDEFINED ? *done : 0;
    if (all.n_hidden > 0 && result == MPI_SUCCESS && *done == MPI_UNDEFINED)
        *done = 0;
    rec_disturb_hold(due_of_some(&all, some, which, seen));
    leave_with(&all);
    return result;
}

int rec_disturb_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    __typeof__(&PMPI_Request_get_status) real = NEXT(Request_get_status);
    if (!rec_disturb_enter(REC_FRAME))
        return real(request, flag, status);
    const int result = real(request, flag, status);
    if (result == MPI_SUCCESS && *flag && is_hidden(request)) /* in this order: it may come now */
        *flag = 0;
    rec_disturb_leave();
    return result;
}

/* ---- probes -----------------------------------------------------------------------------------
 */

int rec_disturb_probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    __typeof__(&PMPI_Probe) real = NEXT(Probe);
    if (!rec_disturb_enter(REC_FRAME))
        return real(source, tag, comm, status);
    MPI_Status own, *seen = rec_mpi_seen_by(status, &own);
    const int result = real(source, tag, comm, seen);
    if (result == MPI_SUCCESS)
        rec_disturb_hold(rec_disturbed_message_due(comm, seen, false));
    rec_disturb_leave();
    return result;
}

int rec_disturb_iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    __typeof__(&PMPI_Iprobe) real = NEXT(Iprobe);
    if (!rec_disturb_enter(REC_FRAME))
        return real(source, tag, comm, flag, status);
    MPI_Status own, *seen = rec_mpi_seen_by(status, &own);
    const int result = real(source, tag, comm, flag, seen);
    if (result == MPI_SUCCESS && *flag &&
        rec_disturb_is_early(rec_disturbed_message_due(comm, seen, false)))
        *flag = 0;
    rec_disturb_leave();
    return result;
}

int rec_disturb_mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    __typeof__(&PMPI_Mprobe) real = NEXT(Mprobe);
    if (!rec_disturb_enter(REC_FRAME))
        return real(source, tag, comm, message, status);
    MPI_Status own, *seen = rec_mpi_seen_by(status, &own);
    const int result = real(source, tag, comm, message, seen);
    if (result == MPI_SUCCESS)
        rec_disturb_hold(rec_disturbed_message_due(comm, seen, true));
    rec_disturb_leave();
    return result;
}

/* A matched probe that finds a message takes it away: so it is looked for first. */
int rec_disturb_improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                        MPI_Status *status)
{
    __typeof__(&PMPI_Improbe) real = NEXT(Improbe);
    MPI_Status own, *seen = rec_mpi_seen_by(status, &own), there;
    if (!rec_disturb_enter(REC_FRAME))
        return real(source, tag, comm, flag, message, status);
    int result = rec_mpi.Iprobe(source, tag, comm, flag, &there);
    if (result == MPI_SUCCESS && *flag &&
        rec_disturb_is_early(rec_disturbed_message_due(comm, &there, false)))
        *flag = 0;
    if (result == MPI_SUCCESS && *flag) {
        result = real(source, tag, comm, flag, message, seen);
        if (result == MPI_SUCCESS && *flag)
            rec_disturb_hold(rec_disturbed_message_due(comm, seen, true));
    }
    rec_disturb_leave();
    return result;
}
