#include "record/inject/mpi/requests.h"

#include "record/inject/moments.h"
#include "record/inject/mpi/channels.h"

#include <sys/mman.h>

enum { FIRST_POSTED = 1024, BUCKETS = 4096 }; /* powers of two */

static struct {
    struct rec_disturbed_request *pool; /* number 0 is not used */
    uint32_t n, most, spare;
    uint32_t buckets[BUCKETS];
    uint32_t unnumbered; /* open receives of which it is not known which message they take */
} posted_requests;

/* ---- the table, with the lock held ------------------------------------------------------------
 */

static uint32_t *bucket_of(uint64_t handle)
{
    return &posted_requests.buckets[rec_channel_mix(handle, 0) & (BUCKETS - 1)];
}

static bool grow_posted(void)
{
    const size_t size = posted_requests.most * sizeof *posted_requests.pool;
    void *larger = posted_requests.pool
                       ? mremap(posted_requests.pool, size, 2 * size, MREMAP_MAYMOVE)
                       : mmap(NULL, FIRST_POSTED * sizeof *posted_requests.pool,
                              PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (larger == MAP_FAILED)
        return false;
    posted_requests.most = posted_requests.pool ? 2 * posted_requests.most : FIRST_POSTED;
    posted_requests.pool = larger;
    return true;
}

/* 0: there is no memory. */
static uint32_t new_request(void)
{
    const uint32_t fresh = posted_requests.spare;
    if (fresh != 0) {
        posted_requests.spare = posted_requests.pool[fresh].next;
        return fresh;
    }
    if (posted_requests.n + 1 >= posted_requests.most && !grow_posted())
        return 0;
    return ++posted_requests.n;
}

/* The first of that handle, an active one if there is; NULL: none. */
static struct rec_disturbed_request *find_posted(MPI_Request handle)
{
    const uint64_t key = (uint64_t)(uintptr_t)handle;
    struct rec_disturbed_request *idle = NULL;
    for (uint32_t at = *bucket_of(key); at != 0; at = posted_requests.pool[at].next) {
        struct rec_disturbed_request *request = &posted_requests.pool[at];
        if (request->handle == key && request->active)
            return request;
        if (request->handle == key && !idle)
            idle = request;
    }
    return idle;
}

static void remove_request(const struct rec_disturbed_request *request)
{
    const uint32_t number = (uint32_t)(request - posted_requests.pool);
    uint32_t *place = bucket_of(request->handle);
    while (*place != number)
        place = &posted_requests.pool[*place].next;
    *place = request->next;
    posted_requests.pool[number].next = posted_requests.spare;
    posted_requests.spare = number;
}

/* ---- messages of a channel, with the lock held ------------------------------------------------
 */

/* How many messages of the channel have receives. */
static uint64_t *received_of(uint64_t channel)
{
    return rec_channel_count(rec_channel_mix(channel, 3));
}

static bool takes_any(const struct rec_disturbed_request *request)
{
    return request->peer == MPI_ANY_SOURCE || request->tag == MPI_ANY_TAG;
}

static bool number(struct rec_disturbed_request *request)
{
    request->channel =
        rec_channel_of(request->comm, request->peer, request->tag, false, &request->sender);
    uint64_t *count = request->channel ? received_of(request->channel) : NULL;
    if (count)
        request->number = (*count)++;
    return count != NULL;
}

/* A receive that names source and tag takes the next message of its channel that no receive before
 * it takes. Behind one that may take it, too, that is known only when both are complete. */
static void post(struct rec_disturbed_request *request)
{
    if (request->kind != REC_POSTED_RECEIVE)
        return;
    request->numbered = posted_requests.unnumbered == 0 && !takes_any(request) && number(request);
    posted_requests.unnumbered += !request->numbered;
}

/* Receives behind it take one message earlier. */
static void withdraw(const struct rec_disturbed_request *request)
{
    uint64_t *count = request->numbered ? received_of(request->channel) : NULL;
    for (uint32_t at = 1; count && at <= posted_requests.n; at++) {
        struct rec_disturbed_request *other = &posted_requests.pool[at];
        if (other->active && other->numbered && other->channel == request->channel &&
            other->number > request->number)
            other->number--;
    }
    if (count)
        --*count;
}

static int64_t due_after(int64_t sent, const MPI_Status *status)
{
    return sent +
           (int64_t)(rec_injected_network.latency +
                     rec_injected_network.ns_per_byte * (double)rec_mpi_status_bytes(status) + 0.5);
}

static int64_t due_of_message(uint64_t channel, uint64_t number, uint32_t sender,
                              const MPI_Status *status, bool over)
{
    int64_t sent;
    const bool known = channel != 0 &&
                       rec_moment_of_message(sender, rec_channel_mix(channel, number), over, &sent);
    if (over)
        rec_inject_count(known);
    return known ? due_after(sent, status) : INT64_MIN;
}

/* The next message of the channel that the status tells. */
static int64_t due_of_next(const struct rec_mpi_comm *comm, const MPI_Status *status, bool over)
{
    uint32_t sender = 0;
    if (status->MPI_SOURCE < 0)
        return INT64_MIN;
    const uint64_t channel =
        rec_channel_of(comm, status->MPI_SOURCE, status->MPI_TAG, false, &sender);
    uint64_t *count = channel ? received_of(channel) : NULL;
    const uint64_t number = count ? *count : 0;
    if (count && over)
        ++*count;
    return due_of_message(count ? channel : 0, number, sender, status, over);
}

/* ---- requests ---------------------------------------------------------------------------------
 */

void rec_disturbed_add(MPI_Request handle, const struct rec_disturbed_request *what)
{
    if (handle == MPI_REQUEST_NULL)
        return;
    pthread_mutex_lock(&rec_channel_lock);
    const uint32_t number = new_request();
    if (number != 0) {
        struct rec_disturbed_request *request = &posted_requests.pool[number];
        *request = *what;
        request->handle = (uint64_t)(uintptr_t)handle;
        uint32_t *last = bucket_of(request->handle);
        while (*last != 0)
            last = &posted_requests.pool[*last].next;
        *last = number;
        if (request->active)
            post(request);
    }
    pthread_mutex_unlock(&rec_channel_lock);
}

bool rec_disturbed_find(MPI_Request handle, struct rec_disturbed_request *ret_request)
{
    if (handle == MPI_REQUEST_NULL)
        return false;
    pthread_mutex_lock(&rec_channel_lock);
    const struct rec_disturbed_request *request = find_posted(handle);
    if (request)
        *ret_request = *request;
    pthread_mutex_unlock(&rec_channel_lock);
    return request != NULL;
}

bool rec_disturbed_start(MPI_Request handle, struct rec_disturbed_request *ret_request)
{
    if (handle == MPI_REQUEST_NULL)
        return false;
    pthread_mutex_lock(&rec_channel_lock);
    struct rec_disturbed_request *request = find_posted(handle);
    const bool starts = request && request->persistent && !request->active;
    if (starts) {
        request->active = true;
        post(request);
        if (request->kind == REC_POSTED_OPERATION)
            rec_disturb_restart(&request->operation);
        *ret_request = *request;
    }
    pthread_mutex_unlock(&rec_channel_lock);
    return starts;
}

static int64_t due_of(const struct rec_disturbed_request *request, const MPI_Status *status,
                      bool over)
{
    switch (request->kind) {
    case REC_POSTED_OPERATION:
        return rec_disturb_due(&request->operation, over);
    case REC_POSTED_RECEIVE:
        return request->numbered ? due_of_message(request->channel, request->number,
                                                  request->sender, status, over)
                                 : due_of_next(request->comm, status, over);
    default:
        return INT64_MIN;
    }
}

static int64_t complete_posted(struct rec_disturbed_request *request, const MPI_Status *status,
                               bool over)
{
    int64_t due = INT64_MIN;
    const bool receives = request->kind == REC_POSTED_RECEIVE;
    if (!request->active)
        return due;
    const bool cancelled = receives && rec_mpi_status_cancelled(status);
    if (!cancelled)
        due = due_of(request, status, over);
    if (!over)
        return due;
    if (cancelled)
        withdraw(request);
    posted_requests.unnumbered -= receives && !request->numbered;
    request->active = false;
    if (!request->persistent)
        remove_request(request);
    return due;
}

int64_t rec_disturbed_due(MPI_Request handle, const MPI_Status *status, bool over)
{
    int64_t due = INT64_MIN;
    if (handle == MPI_REQUEST_NULL)
        return due;
    pthread_mutex_lock(&rec_channel_lock);
    struct rec_disturbed_request *request = find_posted(handle);
    if (request)
        due = complete_posted(request, status, over);
    pthread_mutex_unlock(&rec_channel_lock);
    return due;
}

/* A receive still takes its message; of one that names no channel nobody knows which. */
void rec_disturbed_give_up(MPI_Request handle)
{
    if (handle == MPI_REQUEST_NULL)
        return;
    pthread_mutex_lock(&rec_channel_lock);
    struct rec_disturbed_request *request = find_posted(handle);
    if (request) {
        posted_requests.unnumbered -=
            request->active && request->kind == REC_POSTED_RECEIVE && !request->numbered;
        request->active = false;
        remove_request(request);
    }
    pthread_mutex_unlock(&rec_channel_lock);
}

int64_t rec_disturbed_message_due(MPI_Comm comm, const MPI_Status *status, bool over)
{
    const struct rec_mpi_comm *info = rec_mpi_comm_of(comm);
    pthread_mutex_lock(&rec_channel_lock);
    const int64_t due = due_of_next(info, status, over);
    pthread_mutex_unlock(&rec_channel_lock);
    return due;
}

/* ---- posting ----------------------------------------------------------------------------------
 */

static void add_message(unsigned kind, bool persistent, MPI_Comm comm, int peer, int tag,
                        MPI_Request handle)
{
    if (peer == MPI_PROC_NULL || !rec_injected_network.on)
        return;
    const struct rec_disturbed_request what = {.kind = (uint8_t)kind,
                                               .persistent = persistent,
                                               .active = !persistent,
                                               .comm = rec_mpi_comm_of(comm),
                                               .peer = peer,
                                               .tag = tag};
    rec_disturbed_add(handle, &what);
}

void rec_disturb_post_receive(MPI_Comm comm, int source, int tag, MPI_Request request)
{
    add_message(REC_POSTED_RECEIVE, false, comm, source, tag, request);
}

void rec_disturb_init_receive(MPI_Comm comm, int source, int tag, MPI_Request request)
{
    add_message(REC_POSTED_RECEIVE, true, comm, source, tag, request);
}

void rec_disturb_init_send(MPI_Comm comm, int dest, int tag, MPI_Request request)
{
    add_message(REC_POSTED_SEND, true, comm, dest, tag, request);
}

void rec_disturb_post_operation(const struct rec_disturbed_operation *operation, bool persistent,
                                MPI_Request request)
{
    const struct rec_disturbed_request what = {.kind = REC_POSTED_OPERATION,
                                               .persistent = persistent,
                                               .active = !persistent,
                                               .operation = *operation};
    if (operation->key != 0)
        rec_disturbed_add(request, &what);
}
