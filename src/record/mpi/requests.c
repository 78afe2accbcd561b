#include "record/mpi/requests.h"

#include <sys/mman.h>

enum { FIRST = 1024 }; /* a power of two: handles, and requests behind others */

/* One cache line: most handles belong to one request. */
struct queue {
    _Alignas(64) uint64_t key; /* 0: free */
    uint32_t count;            /* of requests; 0: empty */
    uint32_t last;             /* of those behind the first, in the pool */
    struct rec_request first;  /* `next`: the second, in the pool */
};

static struct {
    struct queue *queues;
    size_t mask, used;
    struct rec_request *pool; /* number 0 is not used */
    uint32_t n_pool, most;    /* used; there is room for */
    uint32_t spare;           /* first of the list of free ones, 0: none */
    uint32_t owners;          /* threads that have opened requests have numbers below this */
    struct rec_request taken;
    bool locked;
} all;
bool rec_requests_are_shared; /* several threads at a time */

void rec_requests_begin(bool shared)
{
    rec_requests_are_shared |= shared;
}

void rec_requests_lock_shared(void)
{
    while (__atomic_test_and_set(&all.locked, __ATOMIC_ACQUIRE)) {
    }
}

void rec_requests_unlock_shared(void)
{
    __atomic_clear(&all.locked, __ATOMIC_RELEASE);
}

/* ---- the table --------------------------------------------------------------------------------
 */

/* Handles are numbers of 32 bits, or addresses, of which the upper 16 bits are alike. */
static inline uint64_t key_of(MPI_Request handle, uint32_t owner)
{
    return (uint64_t)(uintptr_t)handle ^ (uint64_t)owner << 48;
}

static void *pages(size_t size)
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

static bool grow(void)
{
    size_t capacity = all.queues ? (all.mask + 1) * 2 : FIRST;
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

/* No more than is needed: a system may commit no more memory than it has. */
static bool grow_pool(void)
{
    const size_t size = all.most * sizeof *all.pool;
    if (all.most > UINT32_MAX / 2)
        return false;
    void *larger = all.pool ? mremap(all.pool, size, 2 * size, MREMAP_MAYMOVE)
                            : pages(FIRST * sizeof *all.pool);
    if (!larger || larger == MAP_FAILED)
        return false;
    all.most = all.pool ? 2 * all.most : FIRST;
    all.pool = larger;
    return true;
}

static uint32_t new_node(void)
{
    uint32_t node = all.spare;
    if (node != 0) {
        all.spare = all.pool[node].next;
        return node;
    }
    if (all.n_pool + 1 >= all.most && !grow_pool())
        return 0;
    return ++all.n_pool;
}

static struct rec_request *append_behind(struct queue *queue)
{
    uint32_t node = new_node();
    if (node == 0)
        return NULL;
    if (queue->count == 1)
        queue->first.next = node;
    else
        all.pool[queue->last].next = node;
    queue->last = node;
    queue->count++;
    return &all.pool[node];
}

struct rec_request *rec_request_append(MPI_Request handle, uint32_t owner)
{
    if (REC_UNLIKELY(all.used * 2 >= all.mask) && !grow())
        return NULL;
    uint64_t key = key_of(handle, owner);
    struct queue *queue = slot_of(all.queues, all.mask, key);
    if (REC_UNLIKELY(queue->key == 0)) {
        queue->key = key;
        all.used++;
        if (owner >= all.owners)
            all.owners = owner + 1;
    }
    if (REC_UNLIKELY(queue->count > 0))
        return append_behind(queue);
    queue->count = 1;
    return &queue->first;
}

static struct rec_request *find_of(MPI_Request handle, uint32_t owner)
{
    struct queue *queue = slot_of(all.queues, all.mask, key_of(handle, owner));
    return queue->count > 0 ? &queue->first : NULL;
}

struct rec_request *rec_request_find(MPI_Request handle, uint32_t owner)
{
    if (handle == MPI_REQUEST_NULL || !all.queues)
        return NULL;
    struct rec_request *found = find_of(handle, owner);
    for (uint32_t other = 0; REC_UNLIKELY(!found) && other < all.owners; other++)
        found = find_of(handle, other);
    return found;
}

static void remove_first(struct queue *queue)
{
    uint32_t node = queue->first.next;
    if (REC_LIKELY(--queue->count == 0))
        return;
    queue->first = all.pool[node];
    all.pool[node].next = all.spare;
    all.spare = node;
}

/* What is removed is still there when nothing takes its place. */
const struct rec_request *rec_request_take(struct rec_request *first, bool gone)
{
    struct queue *queue = (struct queue *)((char *)first - offsetof(struct queue, first));
    const struct rec_request *taken = first;
    bool active = first->active;
    first->active = false;
    if (!first->persistent || gone) {
        if (REC_UNLIKELY(queue->count > 1)) {
            all.taken = *first;
            taken = &all.taken;
        }
        remove_first(queue);
    }
    return active ? taken : NULL;
}
