/* Requests: from the handle that the program holds to the number under which its opening was
 * recorded.
 *
 * MPI libraries give one handle to several requests that are complete from the beginning (small
 * sends, MPI_PROC_NULL), so each handle has a queue. Which of them a call completes is then not
 * known, and does not matter: the one that was posted first. A number belongs to the thread that
 * opened the request; where another one completes a receive, it records the message by itself. */
#include "record/mpi/wrap.h"

#include <string.h>
#include <sys/mman.h>

/* Address space for requests that are open at one time; pages come when they are used. */
#define MOST_REQUESTS (UINT32_C(1) << 24)

struct queue {
    uintptr_t key;        /* 0: free */
    uint32_t first, last; /* in the pool; 0: empty */
};

static struct {
    struct rec_request *pool; /* number 0 is not used */
    uint32_t n_pool, spare;   /* spare: first of the list of free ones, 0: none */
    struct queue *queues;
    size_t mask, used;
    bool shared; /* several threads at a time */
    bool locked;
} all;

void rec_requests_begin(bool shared)
{
    all.shared = shared;
}

static inline void lock(void)
{
    if (all.shared)
        while (__atomic_test_and_set(&all.locked, __ATOMIC_ACQUIRE)) {
        }
}

static inline void unlock(void)
{
    if (all.shared)
        __atomic_clear(&all.locked, __ATOMIC_RELEASE);
}

/* ---- the table --------------------------------------------------------------------------------
 */

static void *pages(size_t size)
{
    void *got = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return got == MAP_FAILED ? NULL : got;
}

static inline struct queue *slot_of(struct queue *queues, size_t mask, uintptr_t key)
{
    size_t i = rec_map_hash(key);
    while (queues[i & mask].key != 0 && queues[i & mask].key != key)
        i++;
    return &queues[i & mask];
}

static bool grow(void)
{
    size_t capacity = all.queues ? (all.mask + 1) * 2 : 1024;
    struct queue *queues = pages(capacity * sizeof *queues);
    if (!queues)
        return false;
    for (size_t i = 0; all.queues && i <= all.mask; i++)
        if (all.queues[i].key != 0)
            *slot_of(queues, capacity - 1, all.queues[i].key) = all.queues[i];
    if (all.queues)
        munmap(all.queues, (all.mask + 1) * sizeof *queues);
    all.queues = queues;
    all.mask = capacity - 1;
    return true;
}

static uint32_t new_node(void)
{
    uint32_t node = all.spare;
    if (node != 0) {
        all.spare = all.pool[node].next;
        return node;
    }
    if (!all.pool)
        all.pool = pages(MOST_REQUESTS * sizeof *all.pool);
    if (!all.pool || all.n_pool + 1 >= MOST_REQUESTS)
        return 0;
    return ++all.n_pool;
}

/* A new request at the end of the queue of a handle, to be filled in; NULL: there is no memory. */
static struct rec_request *append(uintptr_t key)
{
    if (REC_UNLIKELY(all.used * 2 >= all.mask) && !grow())
        return NULL;
    struct queue *queue = slot_of(all.queues, all.mask, key);
    uint32_t node = new_node();
    if (REC_UNLIKELY(node == 0))
        return NULL;
    if (REC_UNLIKELY(queue->key == 0)) {
        queue->key = key;
        all.used++;
    }
    if (queue->first == 0)
        queue->first = node;
    else
        all.pool[queue->last].next = node;
    queue->last = node;
    return &all.pool[node];
}

/* NULL: not one that was recorded. */
static struct queue *find(MPI_Request handle)
{
    if (handle == MPI_REQUEST_NULL || !all.queues)
        return NULL;
    struct queue *queue = slot_of(all.queues, all.mask, (uintptr_t)handle);
    return queue->first != 0 ? queue : NULL;
}

static void remove_first(struct queue *queue)
{
    uint32_t node = queue->first;
    queue->first = all.pool[node].next;
    all.pool[node].next = all.spare;
    all.spare = node;
}

/* With the lock held: the request at the head of the queue is complete. What it was can be read as
 * long as the lock is held. A persistent one stays, unless `gone`; NULL if it was not active. */
static const struct rec_request *take(struct queue *queue, bool gone)
{
    struct rec_request *request = &all.pool[queue->first];
    bool active = request->active;
    request->active = false;
    if (!request->persistent || gone)
        remove_first(queue);
    return active ? request : NULL;
}

void rec_request_open(struct rec_thread *self, MPI_Request handle, const struct rec_request *what)
{
    uint32_t number = self->next_request++;
    self->n_open++;
    if (handle == MPI_REQUEST_NULL)
        return;
    lock();
    struct rec_request *request = append((uintptr_t)handle);
    if (REC_LIKELY(request != NULL)) {
        *request = *what;
        request->next = 0;
        request->number = number;
        request->owner = self->number;
    }
    unlock();
}

/* ---- records of opening -----------------------------------------------------------------------
 */

static void put_message(struct rec_thread *self, unsigned what, uint64_t time, uint32_t comm,
                        int32_t peer, int32_t tag, uint64_t bytes, uint64_t request)
{
    rec_reserve(self, 3);
    union lull_tape_slot *slot = self->at;
    slot[0].record.time = time;
    slot[0].record.head = lull_tape_head(LULL_TAPE_MESSAGE, 2, comm);
    slot[0].record.value = what;
    slot[1].u64[0] = bytes;
    slot[1].u64[1] = request;
    slot[2].i32[0] = peer;
    slot[2].i32[1] = tag;
    slot[2].u64[1] = 0;
    rec_commit(self, 3);
}

static void put_collective(struct rec_thread *self, uint64_t time, const struct rec_request *what)
{
    rec_reserve(self, 3);
    union lull_tape_slot *slot = self->at;
    slot[0].record.time = time;
    slot[0].record.head = lull_tape_head(LULL_TAPE_COLLECTIVE, 2, what->comm);
    slot[0].record.value = what->op;
    slot[1].u64[0] = what->bytes;
    slot[1].u64[1] = what->received;
    slot[2].u64[0] = LULL_TAPE_NEXT_REQUEST;
    slot[2].i32[2] = what->peer;
    slot[2].i32[3] = 0;
    rec_commit(self, 3);
}

/* The receiving half is the request; the send is taken as complete when it is posted. */
void rec_mpi_isendrecv(struct rec_mpi_call *call, int result, uint64_t bytes, int dest, int tag,
                       uint64_t room, int source, int rtag, MPI_Comm comm,
                       const MPI_Request *request)
{
    uint64_t end = rec_now();
    const struct rec_mpi_comm *info = rec_mpi_comm_of(comm);
    rec_mpi_post(call, result, LULL_TAPE_CALL_IRECV, room, source, rtag, end, info, request);
    if (result == MPI_SUCCESS)
        put_message(call->self, LULL_TAPE_MESSAGE_SEND, call->begin, info->id, rec_mpi_peer(dest),
                    rec_mpi_tag(tag), bytes, UINT64_MAX);
}

static void open_persistent(struct rec_mpi_call *call, int result, const struct rec_request *what,
                            MPI_Request handle)
{
    if (result != MPI_SUCCESS || handle == MPI_REQUEST_NULL)
        return;
    (void)call;
    lock();
    struct rec_request *request = append((uintptr_t)handle);
    if (request)
        *request = *what;
    unlock();
}

void rec_mpi_persistent(struct rec_mpi_call *call, int result, unsigned kind, uint64_t bytes,
                        int peer, int tag, MPI_Comm comm, const MPI_Request *request)
{
    rec_mpi_call(call);
    const struct rec_request what = {.kind = (uint8_t)kind,
                                     .comm = rec_mpi_comm_of(comm)->id,
                                     .peer = rec_mpi_peer(peer),
                                     .tag = rec_mpi_tag(tag),
                                     .bytes = bytes,
                                     .persistent = true};
    open_persistent(call, result, &what, *request);
}

void rec_mpi_persistent_collective(struct rec_mpi_call *call, uint64_t end, int result,
                                   const struct rec_mpi_comm *comm, int root, uint64_t sent,
                                   uint64_t received, const MPI_Request *request, unsigned op)
{
    rec_call(call->self, call->region, call->begin, end - call->begin);
    const struct rec_request what = {.kind = LULL_TAPE_CALL_ICOLLECTIVE,
                                     .comm = comm->id,
                                     .peer = root < 0 ? REC_ANY : root,
                                     .bytes = sent,
                                     .received = received,
                                     .op = (uint8_t)op,
                                     .persistent = true};
    open_persistent(call, result, &what, *request);
}

static void start_one(struct rec_mpi_call *call, MPI_Request handle)
{
    struct rec_thread *self = call->self;
    struct rec_request request = {.kind = 0};
    lock();
    struct queue *queue = find(handle);
    if (queue && all.pool[queue->first].persistent) {
        struct rec_request *found = &all.pool[queue->first];
        found->number = self->next_request++;
        self->n_open++;
        found->owner = self->number;
        found->active = true;
        request = *found;
    }
    unlock();
    if (request.kind == LULL_TAPE_CALL_ICOLLECTIVE)
        put_collective(self, call->begin, &request);
    else if (request.kind != 0)
        put_message(self,
                    request.kind == LULL_TAPE_CALL_ISEND ? LULL_TAPE_MESSAGE_SEND
                                                         : LULL_TAPE_MESSAGE_RECV_POST,
                    call->begin, request.comm, request.peer, request.tag, request.bytes,
                    LULL_TAPE_NEXT_REQUEST);
}

void rec_mpi_start(struct rec_mpi_call *call, int result, int n, const MPI_Request *requests)
{
    rec_mpi_call(call);
    for (int i = 0; result == MPI_SUCCESS && i < n; i++)
        start_one(call, requests[i]);
}

/* ---- records of completion --------------------------------------------------------------------
 *
 * Slots are collected behind self->at, for which rec_open_call has made room. */

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
        rec_reserve(done->call->self, REC_MOST_SLOTS);
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
    put_message(done->call->self, LULL_TAPE_MESSAGE_RECV, done->end, request->comm, source, tag,
                bytes, UINT64_MAX);
    rec_reserve(done->call->self, REC_MOST_SLOTS);
}

static void add_request(struct completions *done, const struct rec_request *request,
                        const MPI_Status *status)
{
    bool foreign = request->owner != done->call->self->number;
    done->call->self->n_open -= !foreign;
    if (request->kind != LULL_TAPE_CALL_ICOLLECTIVE && rec_mpi_status_cancelled(status)) {
        if (!foreign)
            put_slot(done, request->number, 0, 0, LULL_TAPE_CANCELLED);
        return;
    }
    if (request->kind != LULL_TAPE_CALL_IRECV || request->peer == REC_NOBODY) {
        if (!foreign)
            add_as_posted(done, request->number);
        return;
    }
    int32_t source = rec_mpi_peer(status->MPI_SOURCE), tag = rec_mpi_tag(status->MPI_TAG);
    uint64_t bytes = rec_mpi_status_bytes(status);
    if (foreign)
        add_foreign(done, request, source, tag, bytes);
    else if (source == request->peer && tag == request->tag && bytes == request->bytes)
        add_as_posted(done, request->number);
    else
        add_matched(done, request->number, source, tag, bytes);
}

static void add(struct completions *done, MPI_Request handle, const MPI_Status *status)
{
    lock();
    struct queue *queue = find(handle);
    const struct rec_request *request = queue ? take(queue, false) : NULL;
    if (request)
        add_request(done, request, status);
    unlock();
}

static struct completions begin_completions(struct rec_mpi_call *call)
{
    return (struct completions){.call = call, .end = rec_now(), .first = true};
}

void rec_mpi_wait(struct rec_mpi_call *call, int result, int complete, MPI_Request waited,
                  const MPI_Status *status)
{
    if (result == MPI_SUCCESS && !complete) {
        rec_mpi_poll(call, result, false);
        return;
    }
    struct completions done = begin_completions(call);
    if (result == MPI_SUCCESS)
        add(&done, waited, status);
    close_record(&done);
}

MPI_Status *rec_mpi_waits(struct rec_mpi_waited *waited, struct rec_thread *self, int n,
                          const MPI_Request *requests, MPI_Status *statuses)
{
    waited->n = n > 0 ? n : 0;
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
    if (n > 0)
        memcpy(copy, requests, (size_t)n * sizeof *copy);
    waited->requests = copy;
    return statuses == MPI_STATUSES_IGNORE ? own : statuses;
}

void rec_mpi_waitall(struct rec_mpi_call *call, int result, int complete,
                     const struct rec_mpi_waited *waited, const MPI_Status *statuses)
{
    if (result == MPI_SUCCESS && !complete) {
        rec_mpi_poll(call, result, false);
        return;
    }
    struct completions done = begin_completions(call);
    for (int i = 0; result == MPI_SUCCESS && i < waited->n; i++)
        add(&done, waited->requests[i], &statuses[i]);
    close_record(&done);
}

void rec_mpi_waitany(struct rec_mpi_call *call, int result, int complete, int which,
                     const struct rec_mpi_waited *waited, const MPI_Status *status)
{
    bool one = complete && which >= 0 && which < waited->n;
    rec_mpi_wait(call, result, complete, one ? waited->requests[which] : MPI_REQUEST_NULL, status);
}

void rec_mpi_waitsome(struct rec_mpi_call *call, int result, int n, const int *which,
                      const struct rec_mpi_waited *waited, const MPI_Status *statuses)
{
    if (result == MPI_SUCCESS && n == 0) {
        rec_mpi_poll(call, result, false);
        return;
    }
    struct completions done = begin_completions(call);
    for (int i = 0; result == MPI_SUCCESS && n != MPI_UNDEFINED && i < n; i++)
        if (which[i] >= 0 && which[i] < waited->n)
            add(&done, waited->requests[which[i]], &statuses[i]);
    close_record(&done);
}

/* Nobody will hear of its completion: a send counts as complete, a receive as withdrawn. */
void rec_mpi_request_free(struct rec_mpi_call *call, int result, MPI_Request handle)
{
    struct completions done = begin_completions(call);
    lock();
    struct queue *queue = result == MPI_SUCCESS ? find(handle) : NULL;
    const struct rec_request *request = queue ? take(queue, true) : NULL;
    if (request && request->owner == call->self->number) {
        call->self->n_open--;
        if (request->kind == LULL_TAPE_CALL_IRECV)
            put_slot(&done, request->number, 0, 0, LULL_TAPE_CANCELLED);
        else
            add_as_posted(&done, request->number);
    }
    unlock();
    close_record(&done);
}
