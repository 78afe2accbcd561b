/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/mpi/requests.h"

#include "record/core.h"
#include "record/keep.h"

#include <sys/mman.h>

enum {
    FIRST_REQUESTS = 1024
}; /* a power of two; of handles, and of requests behind the first of a handle */

static struct rec_requests *newest_requests; /* atomic; of all threads, the newest first */
bool rec_requests_are_shared;

void rec_requests_begin(bool shared)
{
    rec_requests_are_shared |= shared;
}

static inline void lock_requests(struct rec_requests *requests)
{
    if (rec_requests_are_shared)
        while (__atomic_test_and_set(&requests->locked, __ATOMIC_ACQUIRE)) {
        }
}

struct rec_requests *rec_requests_make(struct rec_thread *self)
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

/* ---- the table ------------------------------------------------------------------------------- */

static void *map_request_pages(size_t size)
{
    void *got = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return got == MAP_FAILED ? NULL : got;
}

bool rec_requests_grow(struct rec_requests *all)
{
    size_t capacity = all->queues ? (all->mask + 1) * 2 : FIRST_REQUESTS;
    struct rec_request_queue *queues = map_request_pages(capacity * sizeof *queues);
    if (!queues)
        return false;
    for (size_t i = 0; all->queues && i <= all->mask; i++)
        if (all->queues[i].key != 0)
            *rec_request_slot(queues, capacity - 1, all->queues[i].key) = all->queues[i];
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

struct rec_request *rec_request_append_behind(struct rec_requests *all,
                                              struct rec_request_queue *queue)
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

/* Looks at the requests of all other threads. All are locked, in one order, so that no request can
 * move from a thread that was not looked at to one that was. */
struct rec_request *rec_request_find_elsewhere(struct rec_requests **requests, MPI_Request handle)
{
    struct rec_requests *first = __atomic_load_n(&newest_requests, __ATOMIC_ACQUIRE), *at;
    struct rec_request *found = NULL;
    rec_requests_unlock(*requests);
    *requests = NULL;
    for (at = first; at; at = at->older)
        lock_requests(at);
    for (at = first; at && !found; at = at->older)
        if ((found = rec_request_find_own(at, handle)))
            *requests = at;
    for (at = first; at; at = at->older)
        if (at != *requests)
            rec_requests_unlock(at);
    return found;
}

void rec_request_drop_first(struct rec_requests *all, struct rec_request_queue *queue)
{
    const uint32_t node = queue->first.next;
    queue->count--;
    queue->first = all->pool[node];
    all->pool[node].next = all->spare;
    all->spare = node;
}
