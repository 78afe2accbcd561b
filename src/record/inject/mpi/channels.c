#include "record/inject/mpi/channels.h"

#include <sys/mman.h>

struct channel_counter {
    uint64_t key; /* 0: free */
    uint64_t count;
};

enum { FIRST_COUNTERS = 4096 }; /* a power of two */

pthread_mutex_t rec_channel_lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
    struct channel_counter *counters;
    size_t mask, used;
} channel_counters;

/* The finaliser of splitmix64. */
static uint64_t scatter(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t rec_channel_mix(uint64_t a, uint64_t b)
{
    const uint64_t mixed = scatter(scatter(a) + b);
    return mixed > 1 ? mixed : mixed + 2;
}

/* One of this process alone has no key that others know, and needs none. */
uint64_t rec_channel_comm(const struct rec_mpi_comm *comm)
{
    if (comm->key != 0)
        return comm->key;
    return comm->size == 1 && !comm->inter ? rec_channel_mix(comm->id, 1) : 0;
}

static bool number_of(const struct rec_mpi_group *group, int n, int rank, uint32_t *ret_number)
{
    if (rank < 0 || rank >= n || rec_mpi_number_of(group, rank) == UINT32_MAX)
        return false;
    *ret_number = rec_mpi_number_of(group, rank);
    return true;
}

uint64_t rec_channel_of(const struct rec_mpi_comm *comm, int peer, int tag, bool sends,
                        uint32_t *ret_source)
{
    uint32_t here, there;
    const uint64_t key = rec_channel_comm(comm);
    if (key == 0 || !number_of(&comm->local, comm->size, comm->rank, &here) ||
        !number_of(comm->inter ? &comm->remote : &comm->local, comm->peers, peer, &there))
        return 0;
    *ret_source = sends ? here : there;
    const uint64_t ends = (uint64_t)*ret_source << 32 | (sends ? there : here);
    return rec_channel_mix(rec_channel_mix(key, ends), (uint64_t)(uint32_t)tag);
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

uint64_t *rec_channel_count(uint64_t key)
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
