#include "record/mpi/keys.h"

#include "record/mpi/members.h"

static struct rec_map counts; /* hash of what is made -> how many there were */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

static uint64_t mix_members(uint64_t hash, const struct rec_mpi_group *group, int size)
{
    hash = mix(hash, (uint64_t)size);
    for (int r = 0; r < size; r++)
        hash = mix(hash, rec_mpi_number_of(group, r));
    return hash;
}

static uint64_t count(uint64_t base)
{
    uintptr_t number = rec_map_get(&counts, (uintptr_t)(base | 1)) + 1;
    rec_map_put(&counts, (uintptr_t)(base | 1), number);
    return mix(base, number) | 1;
}

static bool all_known(const struct rec_mpi_group *group, int size)
{
    for (int r = 0; r < size; r++)
        if (rec_mpi_number_of(group, r) == REC_UNKNOWN_MEMBER)
            return false;
    return true;
}

uint64_t rec_key_of_world(uint32_t first, int size)
{
    return mix(mix(0x776f726c64, first), (uint64_t)size) | 1;
}

uint64_t rec_key_of_child(uint64_t making, uint32_t first)
{
    return making && first != REC_UNKNOWN_MEMBER ? mix(making, first) | 1 : 0;
}

uint64_t rec_key_of_members(const struct rec_mpi_comm *info, uint64_t parent, int tag)
{
    if (!all_known(&info->local, info->size) ||
        (info->inter && !all_known(&info->remote, info->peers)))
        return 0;
    uint64_t base = mix(0x6c756c6c, (uint64_t)(int64_t)tag);
    if (info->inter) { /* the two sides come from different parents, and see each other swapped */
        bool first = info->local.first < info->remote.first;
        base = mix_members(base, first ? &info->local : &info->remote,
                           first ? info->size : info->peers);
        base = mix_members(base, first ? &info->remote : &info->local,
                           first ? info->peers : info->size);
    } else {
        base = mix_members(mix(base, parent), &info->local, info->size);
    }
    return count(base);
}

uint64_t rec_key_of_group(uint64_t key, uint32_t first)
{
    return key ? mix(key, first) | 1 : 0;
}

uint64_t rec_key_next(uint64_t key, enum rec_key_use use)
{
    return key ? count(mix(key, (uint64_t)use)) : 0;
}

/* MPI_COMM_SELF has no key: its only member tells it from others. */
uint64_t rec_key_of_halves(const struct rec_mpi_comm *local, int tag)
{
    uint64_t base = mix(0x68616c66, local->key);
    if (local->key == 0 && (local->size < 1 || !all_known(&local->local, local->size)))
        return 0;
    if (local->key == 0)
        base = mix_members(base, &local->local, local->size);
    return mix(base, (uint64_t)(int64_t)tag) | 1;
}

uint64_t rec_key_of_links(const struct rec_mpi_comm *peer, int rank, int tag)
{
    if (peer->key == 0 || peer->inter || rank < 0 || rank >= peer->size)
        return 0;
    const uint64_t own = (uint64_t)peer->rank, other = (uint64_t)rank;
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
