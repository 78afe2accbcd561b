#include "record/mpi/keys.h"

static struct rec_map counts; /* hash of a kind of communicator -> how many there were */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

static uint64_t mix_members(uint64_t hash, const uint32_t *members, int size)
{
    hash = mix(hash, (uint64_t)size);
    for (int r = 0; r < size; r++)
        hash = mix(hash, members[r]);
    return hash;
}

static uint64_t count(uint64_t base)
{
    uintptr_t number = rec_map_get(&counts, (uintptr_t)(base | 1)) + 1;
    rec_map_put(&counts, (uintptr_t)(base | 1), number);
    return mix(base, number) | 1;
}

static bool all_known(const uint32_t *members, int size)
{
    for (int r = 0; r < size; r++)
        if (members[r] == REC_UNKNOWN_MEMBER)
            return false;
    return true;
}

uint64_t rec_key_make(const struct rec_mpi_comm *info, const struct rec_mpi_comm *parent, int tag)
{
    if (!all_known(info->members, info->size) ||
        (info->inter && !all_known(info->remote, info->peers)))
        return 0;
    uint64_t base = mix(0x6c756c6c, (uint64_t)(int64_t)tag);
    if (info->inter) { /* the two sides come from different parents, and see each other swapped */
        bool first = info->members[0] < info->remote[0];
        base = mix_members(base, first ? info->members : info->remote,
                           first ? info->size : info->peers);
        base = mix_members(base, first ? info->remote : info->members,
                           first ? info->peers : info->size);
    } else {
        base = mix_members(mix(base, parent ? parent->key : 0), info->members, info->size);
    }
    return count(base);
}

uint64_t rec_key_of_group(uint64_t key, const uint32_t *members)
{
    return key ? mix(key, members[0]) | 1 : 0;
}

uint64_t rec_key_next(uint64_t key, enum rec_key_use use)
{
    return key ? count(mix(key, (uint64_t)use)) : 0;
}

/* MPI_COMM_SELF has no key: its only member tells it from others. */
uint64_t rec_key_of_halves(const struct rec_mpi_comm *local, int tag)
{
    if (!local->members || !all_known(local->members, local->size))
        return 0;
    return mix(mix_members(mix(0x68616c66, local->key), local->members, local->size),
               (uint64_t)(int64_t)tag) |
           1;
}

uint64_t rec_key_of_links(const struct rec_mpi_comm *peer, int rank, int tag)
{
    if (peer->key == 0 || !peer->members || rank < 0 || rank >= peer->size)
        return 0;
    const uint32_t own = peer->members[peer->rank], other = peer->members[rank];
    uint64_t base = mix(mix(peer->key, 0x6c696e6b), (uint64_t)(int64_t)tag);
    base = mix(base, own < other ? own : other);
    return mix(base, own < other ? other : own) | 1;
}

int rec_mpi_tag_of_name(const char *name)
{
    uint64_t hash = 0;
    for (; *name; name++)
        hash = mix(hash, (unsigned char)*name);
    return (int)(hash >> 33);
}
