#include "record/mpi/requests.h"

#include "record/core.h"
#include "record/keep.h"

#include <sys/mman.h>

enum {
    FIRST_REQUESTS = 1024
}; /* a power of two; of handles, and of requests behind the first of a handle */

/* The requests of one handle. Most handles belong to one request, which is in the same cache
 * line. */
struct queue {
    _Alignas(64) uint64_t key; /* 0: free */
    uint32_t count;            /* of requests; 0: empty */
    uint32_t last;             /* place in the pool of the last one behind the first */
    struct rec_request first;  /* its `next` is the place of the second one in the pool */
};

struct rec_requests {
    _Alignas(64) struct queue *queues; /* NULL: the thread has opened none */
    size_t mask, used;
    struct rec_request *pool; /* number 0 is not used */
    uint32_t n_pool, most;    /* places that were ever used; places that there are */
    uint32_t spare;           /* first of the list of free ones, 0: none */
    bool locked;              /* atomic */
    struct rec_request taken;
    struct rec_requests *older;
};

static struct rec_requests *newest_requests; /* atomic; of all threads, the newest first */
static bool are_shared;                      /* several threads may call MPI at a time */

void rec_requests_begin(bool shared)
{
    are_shared |= shared;
}

static inline void lock_requests(struct rec_requests *requests)
{
    if (REC_UNLIKELY(are_shared))
        while (__atomic_test_and_set(&requests->locked, __ATOMIC_ACQUIRE)) {
        }
}

static REC_COLD struct rec_requests *make_requests(struct rec_thread *self)
{
    const struct rec_aside aside = rec_step_aside();
    const uintptr_t space = (uintptr_t)rec_keep(sizeof(struct rec_requests) + 64);
    struct rec_requests *fresh = space ? (void *)((space + 63) & ~(uintptr_t)63) : NULL;
    if (fresh) {
        fresh->older = __atomic_load_n(&newest_requests, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&newest_requests, &fresh->older, fresh, false,
                                            __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        }
        self->requests = fresh;
    }
    rec_step_back(&aside);
    return fresh;
}

struct rec_requests *rec_requests_lock(struct rec_thread *self)
{
    struct rec_requests *requests = self->requests;
    if (REC_UNLIKELY(!requests) && !(requests = make_requests(self)))
        return NULL;
    lock_requests(requests);
    return requests;
}

void rec_requests_unlock(struct rec_requests *requests)
{
    if (REC_UNLIKELY(are_shared) && requests)
        __atomic_clear(&requests->locked, __ATOMIC_RELEASE);
}

/* ---- the table ------------------------------------------------------------------------------- */

static inline uint64_t request_key(MPI_Request handle)
{
    return (uint64_t)(uintptr_t)handle;
}

static void *map_request_pages(size_t size)
{
    void *got = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return got == MAP_FAILED ? NULL : got;
}

static inline struct queue *slot_of(struct queue *queues, size_t mask, uint64_t key)
{
    size_t i = rec_map_hash(key);
    while (queues[i & mask].key != 0 && queues[i & mask].key != key)
        i++;
    return &queues[i & mask];
}

static bool grow_requests(struct rec_requests *all)
{
    size_t capacity = all->queues ? (all->mask + 1) * 2 : FIRST_REQUESTS;
    struct queue *queues = map_request_pages(capacity * sizeof *queues);
    if (!queues)
        return false;
    for (size_t i = 0; all->queues && i <= all->mask; i++)
        if (all->queues[i].key != 0)
            *slot_of(queues, capacity - 1, all->queues[i].key) = all->queues[i];
    if (all->queues)
        munmap(all->queues, (all->mask + 1) * sizeof *queues);
    all->queues = queues;
    all->mask = capacity - 1;
    return true;
}

/* Doubles the pool. Address space is not reserved ahead: some systems give out no more than they
 * have memory. */
static bool grow_pool(struct rec_requests *all)
{
    const size_t size = all->most * sizeof *all->pool;
    if (all->most > UINT32_MAX / 2)
        return false;
    void *larger = all->pool ? mremap(all->pool, size, 2 * size, MREMAP_MAYMOVE)
                             : map_request_pages(FIRST_REQUESTS * sizeof *all->pool);
    if (!larger || larger == MAP_FAILED)
        return false;
    all->most = all->pool ? 2 * all->most : FIRST_REQUESTS;
    all->pool = larger;
    return true;
}

static uint32_t new_node(struct rec_requests *all)
{
    uint32_t node = all->spare;
    if (node != 0) {
        all->spare = all->pool[node].next;
        return node;
    }
    if (all->n_pool + 1 >= all->most && !grow_pool(all))
        return 0;
    return ++all->n_pool;
}

static struct rec_request *append_behind(struct rec_requests *all, struct queue *queue)
{
    uint32_t node = new_node(all);
    if (node == 0)
        return NULL;
    if (queue->count == 1)
        queue->first.next = node;
    else
        all->pool[queue->last].next = node;
    queue->last = node;
    queue->count++;
    return &all->pool[node];
}

struct rec_request *rec_request_append(struct rec_requests *all, MPI_Request handle)
{
    if (REC_UNLIKELY(all->used * 2 >= all->mask) && !grow_requests(all))
        return NULL;
    uint64_t key = request_key(handle);
    struct queue *queue = slot_of(all->queues, all->mask, key);
    if (REC_UNLIKELY(queue->key == 0)) {
        queue->key = key;
        all->used++;
    }
    if (REC_UNLIKELY(queue->count > 0))
        return append_behind(all, queue);
    queue->count = 1;
    return &queue->first;
}

static inline struct rec_request *find_of(struct rec_requests *all, MPI_Request handle)
{
    if (REC_UNLIKELY(!all->queues))
        return NULL;
    struct queue *queue = slot_of(all->queues, all->mask, request_key(handle));
    return queue->count > 0 ? &queue->first : NULL;
}

/* Looks at the requests of all other threads. All are locked, in one order, so that no request can
 * move from a thread that was not looked at to one that was. */
static REC_COLD struct rec_request *find_elsewhere(struct rec_requests **requests,
                                                   MPI_Request handle)
{
    struct rec_requests *first = __atomic_load_n(&newest_requests, __ATOMIC_ACQUIRE), *at;
    struct rec_request *found = NULL;
    rec_requests_unlock(*requests);
    *requests = NULL;
    for (at = first; at; at = at->older)
        lock_requests(at);
    for (at = first; at && !found; at = at->older)
        if ((found = find_of(at, handle)))
            *requests = at;
    for (at = first; at; at = at->older)
        if (at != *requests)
            rec_requests_unlock(at);
    return found;
}

struct rec_request *rec_request_find(struct rec_requests **requests, MPI_Request handle)
{
    if (handle == MPI_REQUEST_NULL || !*requests)
        return NULL;
    struct rec_request *found = find_of(*requests, handle);
    return REC_LIKELY(found != NULL) ? found : find_elsewhere(requests, handle);
}

static void remove_first(struct rec_requests *all, struct queue *queue)
{
    uint32_t node = queue->first.next;
    if (REC_LIKELY(--queue->count == 0))
        return;
    queue->first = all->pool[node];
    all->pool[node].next = all->spare;
    all->spare = node;
}

/* A request that is removed stays readable until another one takes its place. */
const struct rec_request *rec_request_take(struct rec_requests *all, struct rec_request *first,
                                           bool gone)
{
    struct queue *queue = (struct queue *)((char *)first - offsetof(struct queue, first));
    const struct rec_request *taken = first;
    bool active = first->active;
    first->active = false;
    if (!first->persistent || gone) {
        if (REC_UNLIKELY(queue->count > 1)) {
            all->taken = *first;
            taken = &all->taken;
        }
        remove_first(all, queue);
    }
    return active ? taken : NULL;
}
