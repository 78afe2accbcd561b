/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/mpi/disturb.h"

#include "base/mix.h"
#include "record/inject.h"
#include "record/mpi/wrap.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

enum posted_kind { POSTED_RECEIVE, POSTED_SEND, POSTED_OPERATION };

struct disturbed_request {
    uint8_t kind; /* enum posted_kind */
    bool persistent, active;
    /* Of a receive: whether it is known to take message number `number` of its channel, counted
     * from 0. */
    bool numbered;
    uint32_t sender;
    uint64_t channel, number;
    const struct rec_mpi_comm *comm;
    int peer, tag;
    struct rec_disturbed_operation operation;
    uint64_t handle;
    uint32_t next; /* the next one with the same hash, in the order of posting */
};

/* ==== channels ================================================================================ */

/* A channel has the messages that are matched in the order of sending: those with the same
 * communicator, source, target and tag. Messages of a channel are counted at both ends. */

struct channel_counter {
    uint64_t key; /* 0: free */
    uint64_t count;
};

enum { FIRST_COUNTERS = 4096 }; /* a power of two */

/* Protects the counters of channels, and the requests below. */
static pthread_mutex_t channel_lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
    struct channel_counter *counters;
    size_t mask, used;
} channel_counters;

/* A hash of two numbers that is never 0 or 1. */
static uint64_t channel_mix(uint64_t a, uint64_t b)
{
    const uint64_t mixed = lull_scatter(lull_scatter(a) + b);
    return mixed > 1 ? mixed : mixed + 2;
}

/* A number for the communicator that is the same at all of its members; 0: there is none. A
 * communicator of this process alone has no key, and needs none that others know. */
static uint64_t channel_comm(const struct rec_mpi_comm *comm)
{
    if (comm->key != 0)
        return comm->key;
    return comm->size == 1 && !comm->inter ? channel_mix(comm->id, 1) : 0;
}

static bool number_of(const struct rec_mpi_group *group, int n, int rank, uint32_t *ret_number)
{
    if (rank < 0 || rank >= n || rec_mpi_number_of(group, rank) == UINT32_MAX)
        return false;
    *ret_number = rec_mpi_number_of(group, rank);
    return true;
}

/* The channel from rank `peer` (of the remote group in an intercommunicator) to this process, or
 * with `sends` from this process to that rank; 0: the peer's process is not known. *ret_source:
 * process number of the sender. */
static uint64_t channel_of(const struct rec_mpi_comm *comm, int peer, int tag, bool sends,
                           uint32_t *ret_source)
{
    uint32_t here, there;
    const uint64_t key = channel_comm(comm);
    if (key == 0 || !number_of(&comm->local, comm->size, comm->rank, &here) ||
        !number_of(comm->inter ? &comm->remote : &comm->local, comm->peers, peer, &there))
        return 0;
    *ret_source = sends ? here : there;
    const uint64_t ends = (uint64_t)*ret_source << 32 | (sends ? there : here);
    return channel_mix(channel_mix(key, ends), (uint64_t)(uint32_t)tag);
}

static struct channel_counter *find_counter(struct channel_counter *counters, size_t mask,
                                            uint64_t key)
{
    size_t at = key & mask;
    while (counters[at].key != 0 && counters[at].key != key)
        at = (at + 1) & mask;
    return &counters[at];
}

static bool grow_counters(void)
{
    const size_t capacity =
        channel_counters.counters ? 2 * (channel_counters.mask + 1) : FIRST_COUNTERS;
    struct channel_counter *larger = mmap(NULL, capacity * sizeof *larger, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (larger == MAP_FAILED)
        return false;
    for (size_t i = 0; channel_counters.counters && i <= channel_counters.mask; i++)
        if (channel_counters.counters[i].key != 0)
            *find_counter(larger, capacity - 1, channel_counters.counters[i].key) =
                channel_counters.counters[i];
    if (channel_counters.counters)
        munmap(channel_counters.counters,
               (channel_counters.mask + 1) * sizeof *channel_counters.counters);
    channel_counters.counters = larger;
    channel_counters.mask = capacity - 1;
    return true;
}

/* The counter of a key, 0 at first. With the lock held, and valid until the next call. NULL: there
 * is no memory. */
static uint64_t *channel_count(uint64_t key)
{
    if ((!channel_counters.counters || 2 * channel_counters.used > channel_counters.mask) &&
        !grow_counters())
        return NULL;
    struct channel_counter *counter =
        find_counter(channel_counters.counters, channel_counters.mask, key);
    if (counter->key == 0) {
        counter->key = key;
        channel_counters.used++;
    }
    return &counter->count;
}

/* ==== calls =================================================================================== */

__thread int64_t rec_disturb_moment __attribute__((tls_model("initial-exec")));
__thread void (*rec_disturb_next)(void) __attribute__((tls_model("initial-exec")));

/* Stack frame of the call in which this thread is; 0: in none. */
static __thread uintptr_t inside __attribute__((tls_model("initial-exec")));

/* A call from a frame at a higher address than `inside` was not made by the call noted there,
 * because the stack grows downwards: that call was left by longjmp. */
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

/* The function whose calls begin iterations; UINT_MAX: the program marks them. */
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

/* Lets MPI make progress: a message from here for which others wait may be under way. */
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

/* ---- sends and blocking calls ---------------------------------------------------------------- */

static uint64_t send_on(const struct rec_mpi_comm *comm, int dest, int tag)
{
    uint32_t source;
    if (dest == MPI_PROC_NULL)
        return 0;
    const uint64_t channel = channel_of(comm, dest, tag, true, &source);
    if (channel == 0)
        return 0;
    pthread_mutex_lock(&channel_lock);
    uint64_t *count = channel_count(channel_mix(channel, 2));
    const uint64_t key = count ? channel_mix(channel, (*count)++) : 0;
    if (key)
        rec_moment_send(key, rec_disturb_moment);
    pthread_mutex_unlock(&channel_lock);
    return key;
}

uint64_t rec_disturb_send(MPI_Comm comm, int dest, int tag)
{
    return send_on(rec_mpi_comm_of(comm), dest, tag);
}

/* A message that the library has refused was not sent: its moment is withdrawn and it is not
 * counted. */
void rec_disturb_sent(uint64_t key, MPI_Comm comm, int dest, int tag, int result)
{
    uint32_t source;
    if (key == 0 || REC_LIKELY(result == MPI_SUCCESS))
        return;
    rec_moment_withdraw(key);
    const uint64_t channel = channel_of(rec_mpi_comm_of(comm), dest, tag, true, &source);
    pthread_mutex_lock(&channel_lock);
    uint64_t *count = channel_count(channel_mix(channel, 2));
    if (count && *count > 0)
        --*count;
    pthread_mutex_unlock(&channel_lock);
}

static bool disturbed_start(MPI_Request handle, struct disturbed_request *ret_request);
static void disturbed_give_up(MPI_Request handle);
static int64_t disturbed_message_due(MPI_Comm comm, const MPI_Status *status, bool over);

void rec_disturb_received(MPI_Comm comm, const MPI_Status *status, int result)
{
    if (result == MPI_SUCCESS || rec_mpi_was_truncated(result))
        rec_disturb_hold(disturbed_message_due(comm, status, true));
}

void rec_disturb_joined(const struct rec_disturbed_operation *operation)
{
    rec_disturb_hold(rec_disturb_due(operation, true));
}

/* ---- persistent requests --------------------------------------------------------------------- */

static void start_request(MPI_Request handle)
{
    struct disturbed_request request;
    if (disturbed_start(handle, &request) && request.kind == POSTED_SEND)
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
        disturbed_give_up(*request);
        rec_disturb_leave();
    }
    return real(request);
}

/* ==== collective operations =================================================================== */

/* A rank goes on when those ranks for which it waits have come to the operation, and the rounds of
 * messages have passed that bring it their data. The rounds are those of the algorithms that a
 * simulation chooses by itself (sim/collective/collective.c); a round is one message on the
 * injected network. No process sends anything for this: each leaves the moment at which it begins
 * its part where the others find it (record/inject.h). */

/* What is counted for a communicator: each number makes a counter of its own. */
enum { OPERATIONS = 5, PERSISTENT = 7 };

/* ---- which one it is ------------------------------------------------------------------------- */

static uint64_t next_of(uint64_t comm, unsigned what)
{
    const uint64_t key = channel_mix(comm, what);
    pthread_mutex_lock(&channel_lock);
    uint64_t *count = channel_count(key);
    const uint64_t number = count ? (*count)++ : UINT64_MAX;
    pthread_mutex_unlock(&channel_lock);
    return number == UINT64_MAX ? 0 : channel_mix(key, number);
}

static uint64_t begin_operation(struct rec_disturbed_operation *operation, MPI_Comm comm,
                                unsigned what)
{
    const struct rec_mpi_comm *info = rec_mpi_comm_of(comm);
    *operation = (struct rec_disturbed_operation){.comm = info};
    const bool held = rec_injected_network.on && !info->inter && info->size > 1;
    const uint64_t key = held ? channel_comm(info) : 0;
    return key ? next_of(key, what) : 0;
}

void rec_disturb_join(struct rec_disturbed_operation *operation, MPI_Comm comm)
{
    operation->key = begin_operation(operation, comm, OPERATIONS);
    if (operation->key)
        rec_moment_join(operation->key, rec_disturb_moment);
}

void rec_disturb_make(struct rec_disturbed_operation *operation, MPI_Comm comm)
{
    operation->key = begin_operation(operation, comm, PERSISTENT);
}

void rec_disturb_restart(struct rec_disturbed_operation *operation)
{
    operation->key = channel_mix(operation->key, 1);
    rec_moment_join(operation->key, rec_disturb_moment);
}

/* ---- how long it takes ----------------------------------------------------------------------- */

static int log2_up(unsigned n)
{
    return n > 1 ? 32 - __builtin_clz(n - 1) : 0;
}

struct operation_cost {
    double rounds, bytes;
};

/* The cost of an operation in a tree: of `depth` whole messages one after the other, or, for large
 * data, of parts that become smaller from round to round and come together again in as many. */
static struct operation_cost in_tree(double depth, double rounds, double bytes, double share,
                                     bool whole)
{
    if (whole)
        return (struct operation_cost){depth, depth * bytes};
    return (struct operation_cost){2 * rounds, 2 * share * bytes};
}

/* The cost of an alltoall and its like: in rounds for small blocks (Bruck), in pairs for large
 * ones, else all at once. */
static struct operation_cost exchange(double ranks, double rounds, double bytes, bool any_algorithm)
{
    const double block = bytes / ranks;
    if (any_algorithm && ranks >= 8 && block <= 256)
        return (struct operation_cost){rounds, rounds * bytes / 2};
    if (any_algorithm && block > 32768)
        return (struct operation_cost){ranks - 1, (ranks - 1) * block};
    return (struct operation_cost){1, block};
}

/* The cost of an operation on `ranks` ranks, for the rank that is `place` places behind the root
 * (its own rank where there is no root), counted from when the last rank for which it waits has
 * come. */
static struct operation_cost cost_of(const struct rec_disturbed_operation *operation,
                                     unsigned ranks, unsigned place)
{
    const double n = (double)operation->bytes, rounds = log2_up(ranks);
    const double share = (ranks - 1.0) / ranks, hops = __builtin_popcount(place);
    switch (operation->op) {
    case LULL_TAPE_OP_BARRIER:
        return (struct operation_cost){rounds, 0};
    case LULL_TAPE_OP_BCAST:
        return in_tree(hops, rounds, n, share, n < 12288 || ranks < 8);
    case LULL_TAPE_OP_REDUCE:
    case LULL_TAPE_OP_ALLREDUCE:
        return in_tree(rounds, rounds, n, share, n <= 2048);
    case LULL_TAPE_OP_SCATTER:
        return (struct operation_cost){hops, n};
    case LULL_TAPE_OP_SCATTERV:
        return (struct operation_cost){1, n};
    case LULL_TAPE_OP_GATHERV:
        return (struct operation_cost){1, n / ranks};
    case LULL_TAPE_OP_ALLTOALL:
        return exchange(ranks, rounds, n, true);
    case LULL_TAPE_OP_ALLTOALLV:
    case LULL_TAPE_OP_ALLTOALLW:
        return exchange(ranks, rounds, n, false);
    case LULL_TAPE_OP_SCAN:
    case LULL_TAPE_OP_EXSCAN:
        return in_tree(log2_up(place + 1), rounds, n, share, true);
    default: /* gather, allgather, allgatherv, reduce_scatter, reduce_scatter_block */
        return (struct operation_cost){rounds, share * n};
    }
}

/* The ranks whose data this rank needs; false: it needs none and goes on at once. */
static bool needs(const struct rec_disturbed_operation *operation, int *ret_first, int *ret_end)
{
    const struct rec_mpi_comm *comm = operation->comm;
    const int rank = comm->rank, root = operation->root;
    *ret_first = 0;
    *ret_end = comm->size;
    switch (operation->op) {
    case LULL_TAPE_OP_BCAST:
    case LULL_TAPE_OP_SCATTER:
    case LULL_TAPE_OP_SCATTERV:
        *ret_first = root;
        *ret_end = root + 1;
        return rank != root;
    case LULL_TAPE_OP_REDUCE:
    case LULL_TAPE_OP_GATHER:
    case LULL_TAPE_OP_GATHERV:
        return rank == root;
    case LULL_TAPE_OP_SCAN:
    case LULL_TAPE_OP_EXSCAN:
        *ret_end = rank + 1;
        return rank > 0;
    case LULL_TAPE_OP_NEIGHBOUR:
        return false;
    default:
        return true;
    }
}

/* When the last of the ranks first .. end - 1 began, of those of which it is known; INT64_MIN: of
 * none. False: it is not known of all. */
static bool last_begin(const struct rec_disturbed_operation *operation, int first, int end,
                       int64_t *ret_last)
{
    const struct rec_mpi_comm *comm = operation->comm;
    bool all = true;
    *ret_last = INT64_MIN;
    for (int r = first; r < end; r++) {
        int64_t began;
        const uint32_t member = rec_mpi_number_of(&comm->local, r);
        const bool known =
            member != UINT32_MAX && rec_moment_of_part(member, operation->key, &began);
        if (known && began > *ret_last)
            *ret_last = began;
        all &= known;
    }
    return all;
}

int64_t rec_disturb_due(const struct rec_disturbed_operation *operation, bool over)
{
    const struct rec_mpi_comm *comm = operation->comm;
    int first, end;
    int64_t last;
    if (operation->key == 0 || !needs(operation, &first, &end))
        return INT64_MIN;
    const bool known = last_begin(operation, first, end, &last);
    if (over)
        rec_inject_count(known);
    if (last == INT64_MIN)
        return last;
    const bool rooted = operation->root >= 0;
    const int place =
        rooted ? (comm->rank - operation->root + comm->size) % comm->size : comm->rank;
    const struct operation_cost cost = cost_of(operation, (unsigned)comm->size, (unsigned)place);
    return last + (int64_t)(cost.rounds * rec_injected_network.latency +
                            cost.bytes * rec_injected_network.ns_per_byte + 0.5);
}

/* ==== requests ================================================================================ */

/* Operations under a request that may be held back: receives, and collective operations. Persistent
 * sends are here, too, because each start of one sends a message. */

enum { FIRST_POSTED = 1024, BUCKETS = 4096 }; /* powers of two */

static struct {
    struct disturbed_request *pool; /* number 0 is not used */
    /* Requests that were ever used, requests for which there is room, and the first of the list of
     * free ones (0: none). */
    uint32_t n, most, spare;
    uint32_t buckets[BUCKETS];
    uint32_t unnumbered; /* active receives that are not `numbered` */
} posted_requests;

/* ---- the table, with the lock held ----------------------------------------------------------- */

static uint32_t *bucket_of(uint64_t handle)
{
    return &posted_requests.buckets[channel_mix(handle, 0) & (BUCKETS - 1)];
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

/* The first active request of that handle, or else the first that is not active; NULL: none. */
static struct disturbed_request *find_posted(MPI_Request handle)
{
    const uint64_t key = (uint64_t)(uintptr_t)handle;
    struct disturbed_request *idle = NULL;
    for (uint32_t at = *bucket_of(key); at != 0; at = posted_requests.pool[at].next) {
        struct disturbed_request *request = &posted_requests.pool[at];
        if (request->handle == key && request->active)
            return request;
        if (request->handle == key && !idle)
            idle = request;
    }
    return idle;
}

static void remove_request(const struct disturbed_request *request)
{
    const uint32_t number = (uint32_t)(request - posted_requests.pool);
    uint32_t *place = bucket_of(request->handle);
    while (*place != number)
        place = &posted_requests.pool[*place].next;
    *place = request->next;
    posted_requests.pool[number].next = posted_requests.spare;
    posted_requests.spare = number;
}

/* ---- messages of a channel, with the lock held ----------------------------------------------- */

/* The counter of messages of the channel for which there are receives. */
static uint64_t *received_of(uint64_t channel)
{
    return channel_count(channel_mix(channel, 3));
}

static bool takes_any(const struct disturbed_request *request)
{
    return request->peer == MPI_ANY_SOURCE || request->tag == MPI_ANY_TAG;
}

/* Gives a receive the next message of its channel; false: the channel is not known. */
static bool number(struct disturbed_request *request)
{
    request->channel =
        channel_of(request->comm, request->peer, request->tag, false, &request->sender);
    uint64_t *count = request->channel ? received_of(request->channel) : NULL;
    if (count)
        request->number = (*count)++;
    return count != NULL;
}

/* A receive that names source and tag takes the next message of its channel that no earlier receive
 * takes. While an earlier receive is active that takes any message, it is not known which message
 * this is, until the receive is complete. */
static void post(struct disturbed_request *request)
{
    if (request->kind != POSTED_RECEIVE)
        return;
    request->numbered = posted_requests.unnumbered == 0 && !takes_any(request) && number(request);
    posted_requests.unnumbered += !request->numbered;
}

/* The request takes no message after all: receives of its channel behind it take one message
 * earlier. */
static void withdraw(const struct disturbed_request *request)
{
    uint64_t *count = request->numbered ? received_of(request->channel) : NULL;
    for (uint32_t at = 1; count && at <= posted_requests.n; at++) {
        struct disturbed_request *other = &posted_requests.pool[at];
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
    const bool known =
        channel != 0 && rec_moment_of_message(sender, channel_mix(channel, number), over, &sent);
    if (over)
        rec_inject_count(known);
    return known ? due_after(sent, status) : INT64_MIN;
}

/* When the next message may be seen of the channel to which the message of this status belongs. */
static int64_t due_of_next(const struct rec_mpi_comm *comm, const MPI_Status *status, bool over)
{
    uint32_t sender = 0;
    if (status->MPI_SOURCE < 0)
        return INT64_MIN;
    const uint64_t channel = channel_of(comm, status->MPI_SOURCE, status->MPI_TAG, false, &sender);
    uint64_t *count = channel ? received_of(channel) : NULL;
    const uint64_t number = count ? *count : 0;
    if (count && over)
        ++*count;
    return due_of_message(count ? channel : 0, number, sender, status, over);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Adds a request behind the others of its handle. */
static void disturbed_add(MPI_Request handle, const struct disturbed_request *what)
{
    if (handle == MPI_REQUEST_NULL)
        return;
    pthread_mutex_lock(&channel_lock);
    const uint32_t number = new_request();
    if (number != 0) {
        struct disturbed_request *request = &posted_requests.pool[number];
        *request = *what;
        request->handle = (uint64_t)(uintptr_t)handle;
        uint32_t *last = bucket_of(request->handle);
        while (*last != 0)
            last = &posted_requests.pool[*last].next;
        *last = number;
        if (request->active)
            post(request);
    }
    pthread_mutex_unlock(&channel_lock);
}

static bool disturbed_find(MPI_Request handle, struct disturbed_request *ret_request)
{
    if (handle == MPI_REQUEST_NULL)
        return false;
    pthread_mutex_lock(&channel_lock);
    const struct disturbed_request *request = find_posted(handle);
    if (request)
        *ret_request = *request;
    pthread_mutex_unlock(&channel_lock);
    return request != NULL;
}

/* Starts a persistent request and copies it to *ret_request; false: it is none, or is active. */
static bool disturbed_start(MPI_Request handle, struct disturbed_request *ret_request)
{
    if (handle == MPI_REQUEST_NULL)
        return false;
    pthread_mutex_lock(&channel_lock);
    struct disturbed_request *request = find_posted(handle);
    const bool starts = request && request->persistent && !request->active;
    if (starts) {
        request->active = true;
        post(request);
        if (request->kind == POSTED_OPERATION)
            rec_disturb_restart(&request->operation);
        *ret_request = *request;
    }
    pthread_mutex_unlock(&channel_lock);
    return starts;
}

static int64_t due_of(const struct disturbed_request *request, const MPI_Status *status, bool over)
{
    switch (request->kind) {
    case POSTED_OPERATION:
        return rec_disturb_due(&request->operation, over);
    case POSTED_RECEIVE:
        return request->numbered ? due_of_message(request->channel, request->number,
                                                  request->sender, status, over)
                                 : due_of_next(request->comm, status, over);
    default:
        return INT64_MIN;
    }
}

static int64_t complete_posted(struct disturbed_request *request, const MPI_Status *status,
                               bool over)
{
    int64_t due = INT64_MIN;
    const bool receives = request->kind == POSTED_RECEIVE;
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

/* When a request that has completed may be seen to be complete, in ns of CLOCK_MONOTONIC;
 * INT64_MIN: at once. `status` counts for a receive. `over`: the program has completed the request;
 * without, it is only looked at and stays as it is. */
static int64_t disturbed_due(MPI_Request handle, const MPI_Status *status, bool over)
{
    int64_t due = INT64_MIN;
    if (handle == MPI_REQUEST_NULL)
        return due;
    pthread_mutex_lock(&channel_lock);
    struct disturbed_request *request = find_posted(handle);
    if (request)
        due = complete_posted(request, status, over);
    pthread_mutex_unlock(&channel_lock);
    return due;
}

/* The program frees the request: nobody waits for it any more, and it is not known when it
 * completes. A freed receive still takes its message, so that the counter of its channel is not
 * changed. A receive that is not numbered takes a message that nobody knows. */
static void disturbed_give_up(MPI_Request handle)
{
    if (handle == MPI_REQUEST_NULL)
        return;
    pthread_mutex_lock(&channel_lock);
    struct disturbed_request *request = find_posted(handle);
    if (request) {
        posted_requests.unnumbered -=
            request->active && request->kind == POSTED_RECEIVE && !request->numbered;
        request->active = false;
        remove_request(request);
    }
    pthread_mutex_unlock(&channel_lock);
}

/* When a message may be seen that a call on the communicator has received, or with `over` false has
 * only found. */
static int64_t disturbed_message_due(MPI_Comm comm, const MPI_Status *status, bool over)
{
    const struct rec_mpi_comm *info = rec_mpi_comm_of(comm);
    pthread_mutex_lock(&channel_lock);
    const int64_t due = due_of_next(info, status, over);
    pthread_mutex_unlock(&channel_lock);
    return due;
}

/* ---- posting --------------------------------------------------------------------------------- */

static void add_message(unsigned kind, bool persistent, MPI_Comm comm, int peer, int tag,
                        MPI_Request handle)
{
    if (peer == MPI_PROC_NULL || !rec_injected_network.on)
        return;
    const struct disturbed_request what = {.kind = (uint8_t)kind,
                                           .persistent = persistent,
                                           .active = !persistent,
                                           .comm = rec_mpi_comm_of(comm),
                                           .peer = peer,
                                           .tag = tag};
    disturbed_add(handle, &what);
}

void rec_disturb_post_receive(MPI_Comm comm, int source, int tag, MPI_Request request)
{
    add_message(POSTED_RECEIVE, false, comm, source, tag, request);
}

void rec_disturb_init_receive(MPI_Comm comm, int source, int tag, MPI_Request request)
{
    add_message(POSTED_RECEIVE, true, comm, source, tag, request);
}

void rec_disturb_init_send(MPI_Comm comm, int dest, int tag, MPI_Request request)
{
    add_message(POSTED_SEND, true, comm, dest, tag, request);
}

void rec_disturb_post_operation(const struct rec_disturbed_operation *operation, bool persistent,
                                MPI_Request request)
{
    const struct disturbed_request what = {.kind = POSTED_OPERATION,
                                           .persistent = persistent,
                                           .active = !persistent,
                                           .operation = *operation};
    if (operation->key != 0)
        disturbed_add(request, &what);
}

/* ==== waits =================================================================================== */

/* Waits, tests and probes in place of the library's functions. A wait returns when that for which
 * it waits may be seen. A test or a probe does not tell what it finds too early: it first looks by
 * MPI_Request_get_status or MPI_Iprobe, which leave a request or message where it is. */

#define NEXT(function) ((__typeof__(&PMPI_##function))rec_disturb_next)

/* ---- several requests at a time -------------------------------------------------------------- */

enum { HERE = 32 };

/* The handles of a call as they were before it, which of them were hidden from the library, and
 * room for statuses where the program wants none. */
struct requests {
    int n, n_hidden;
    MPI_Request *handles;
    MPI_Status *statuses;
    bool *hidden;
    size_t mapped; /* bytes of memory for more handles; 0: the arrays in here suffice */
    MPI_Request own_handles[HERE];
    MPI_Status own_statuses[HERE];
    bool own_hidden[HERE];
};

/* Copies the handles; false: there is no memory. */
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

/* Enters a call with these handles; false: the call goes on undisturbed. `frame` is that of the
 * function in place of the library's. */
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

/* When all requests may be seen that the call has completed: each of them, or after an error those
 * whose status does not say that they are pending. */
static int64_t due_of_all(const struct requests *all, const MPI_Status *statuses, int result)
{
    int64_t due = INT64_MIN;
    for (int i = 0; i < all->n; i++)
        if (result == MPI_SUCCESS || statuses[i].MPI_ERROR != MPI_ERR_PENDING)
            due = later(due, disturbed_due(all->handles[i], &statuses[i], true));
    return due;
}

static int64_t due_of_some(const struct requests *all, int n, const int *which,
                           const MPI_Status *statuses)
{
    int64_t due = INT64_MIN;
    for (int i = 0; n != MPI_UNDEFINED && i < n; i++)
        if (which[i] >= 0 && which[i] < all->n)
            due = later(due, disturbed_due(all->handles[which[i]], &statuses[i], true));
    return due;
}

/* After an error of a call that completes one request: forgets those requests that are gone. */
static void forget_gone(const struct requests *all, const MPI_Request *requests,
                        const MPI_Status *status)
{
    for (int i = 0; i < all->n; i++)
        if (requests[i] != all->handles[i])
            disturbed_due(all->handles[i], status, true);
}

static bool tells_each(int result)
{
    return result == MPI_SUCCESS || result == MPI_ERR_IN_STATUS;
}

/* Whether the request is complete, but too early to be seen. */
static bool is_hidden(MPI_Request handle)
{
    struct disturbed_request request;
    MPI_Status status;
    int complete = 0;
    return disturbed_find(handle, &request) && request.active && request.kind != POSTED_SEND &&
           rec_mpi.Request_get_status(handle, &complete, &status) == MPI_SUCCESS && complete &&
           rec_disturb_is_early(disturbed_due(handle, &status, false));
}

/* ---- waits ----------------------------------------------------------------------------------- */

int rec_disturb_wait(MPI_Request *request, MPI_Status *status)
{
    __typeof__(&PMPI_Wait) real = NEXT(Wait);
    if (!request || !rec_disturb_enter(REC_FRAME))
        return real(request, status);
    const MPI_Request handle = *request;
    MPI_Status own, *seen = rec_mpi_seen_by(status, &own);
    const int result = real(request, seen);
    if (result == MPI_SUCCESS || *request != handle)
        rec_disturb_hold(disturbed_due(handle, seen, true));
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
        rec_disturb_hold(disturbed_due(all.handles[*which], seen, true));
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

/* ---- tests ----------------------------------------------------------------------------------- */

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
            rec_disturb_hold(disturbed_due(handle, seen, true));
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

/* Takes hidden requests out of the program's list for the time of the call. */
static void hide(struct requests *all, MPI_Request *requests)
{
    for (int i = 0; i < all->n; i++) {
        all->hidden[i] = is_hidden(all->handles[i]);
        if (all->hidden[i])
            requests[i] = MPI_REQUEST_NULL;
        all->n_hidden += all->hidden[i];
    }
}

/* Puts the hidden requests back; all others are what the library has made of them, also after an
 * error. */
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
        rec_disturb_hold(disturbed_due(all.handles[*which], seen, true));
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
    if (result == MPI_SUCCESS && *flag && is_hidden(request)) /* asked last, because the request's
                                                                 time may come in between */
        *flag = 0;
    rec_disturb_leave();
    return result;
}

/* ---- probes ---------------------------------------------------------------------------------- */

int rec_disturb_probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    __typeof__(&PMPI_Probe) real = NEXT(Probe);
    if (!rec_disturb_enter(REC_FRAME))
        return real(source, tag, comm, status);
    MPI_Status own, *seen = rec_mpi_seen_by(status, &own);
    const int result = real(source, tag, comm, seen);
    if (result == MPI_SUCCESS)
        rec_disturb_hold(disturbed_message_due(comm, seen, false));
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
        rec_disturb_is_early(disturbed_message_due(comm, seen, false)))
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
        rec_disturb_hold(disturbed_message_due(comm, seen, true));
    rec_disturb_leave();
    return result;
}

/* A matched probe takes a message away when it finds one, so the message is looked for first. */
int rec_disturb_improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                        MPI_Status *status)
{
    __typeof__(&PMPI_Improbe) real = NEXT(Improbe);
    MPI_Status own, *seen = rec_mpi_seen_by(status, &own), there;
    if (!rec_disturb_enter(REC_FRAME))
        return real(source, tag, comm, flag, message, status);
    int result = rec_mpi.Iprobe(source, tag, comm, flag, &there);
    if (result == MPI_SUCCESS && *flag &&
        rec_disturb_is_early(disturbed_message_due(comm, &there, false)))
        *flag = 0;
    if (result == MPI_SUCCESS && *flag) {
        result = real(source, tag, comm, flag, message, seen);
        if (result == MPI_SUCCESS && *flag)
            rec_disturb_hold(disturbed_message_due(comm, seen, true));
    }
    rec_disturb_leave();
    return result;
}
