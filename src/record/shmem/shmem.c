/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/shmem/shmem.h"

#include "record/keep.h"
#include "record/mpi/comms.h"
#include "record/mpi/nodes.h"

#include <pthread.h>

/* Whether shmem_init has begun MPI, so that shmem_finalize ends it; the program may have begun MPI
 * itself. */
static bool began_world;

/* ---- calls ----------------------------------------------------------------------------------- */

bool rec_shmem_begin(struct rec_mpi_call *call, unsigned function, const void *from,
                     const void *frame)
{
    if (!rec_mpi_begin(call, function, from, frame))
        return false;
    call->begin = rec_open_call(call->self, call->region);
    return true;
}

bool rec_shmem_begin_followed(struct rec_mpi_call *call, unsigned function, const void *from,
                              const void *frame)
{
    if (!rec_mpi_begin_followed(call, function, from, frame))
        return false;
    call->begin = rec_open_call(call->self, call->region);
    return true;
}

void rec_shmem_transfer(struct rec_mpi_call *call, enum rec_rma op, uint64_t bytes, int pe)
{
    rec_mpi_call(call);
    rec_mpi_put_rma(call, op, bytes, pe, &rec_mpi_world);
}

/* ---- begin and end --------------------------------------------------------------------------- */

void rec_shmem_beginning(void)
{
    if (rec_mpi_world.id == 0)
        rec_mpi_nodes_claim();
}

void rec_shmem_begun(struct rec_mpi_call *call, int provided)
{
    if (rec_mpi_world.id != 0) {
        rec_mpi_followed_call(call);
        return;
    }
    began_world = true;
    rec_mpi_init(call, provided);
}

void rec_shmem_end(void)
{
    if (began_world)
        rec_mpi_end_world();
}

void rec_shmem_end_call(struct rec_mpi_call *call)
{
    if (began_world)
        rec_mpi_begin_finalize(call);
}

/* ---- active sets ----------------------------------------------------------------------------- */

static pthread_mutex_t shmem_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_map sets; /* first, log_stride and size of an active set -> rec_mpi_comm */

static const struct rec_mpi_comm *make_set(uintptr_t key, int first, int log_stride, int size)
{
    uint32_t *members = rec_keep((size_t)size * sizeof *members);
    if (!members)
        return &rec_mpi_world;
    for (int i = 0; i < size; i++) {
        const int pe = first + i * (1 << log_stride);
        members[i] = rec_mpi_world.local.first + (uint32_t)pe;
    }
    const struct rec_mpi_comm *set =
        rec_mpi_add_members(members, size, (rec_mpi_world.rank - first) >> log_stride);
    rec_map_put(&sets, key, (uintptr_t)set);
    return set;
}

const struct rec_mpi_comm *rec_shmem_set(int first, int log_stride, int size)
{
    if ((first == 0 && log_stride == 0 && size == rec_mpi_world.size) || size < 1 ||
        rec_mpi_world.size == 0)
        return &rec_mpi_world;
    const uintptr_t key =
        (uintptr_t)((uint64_t)first << 32 | (uint64_t)log_stride << 26 | (uint64_t)size) + 1;
    const struct rec_mpi_comm *set = (const struct rec_mpi_comm *)rec_map_get(&sets, key);
    if (REC_LIKELY(set != NULL))
        return set;
    pthread_mutex_lock(&shmem_lock);
    set = (const struct rec_mpi_comm *)rec_map_get(&sets, key);
    if (!set)
        set = make_set(key, first, log_stride, size);
    pthread_mutex_unlock(&shmem_lock);
    return set;
}
