/* The MPI library of the program, and what is true of the whole of it: its data
 * types, when it begins, and whether the program wants to be measured. */
#include "record/mpi/comms.h"
#include "record/mpi/wrap.h"

#include <pthread.h>

static pthread_mutex_t types_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_map types; /* handle -> 2 * size + 1 of a named type, NOT_NAMED of others */
enum { NOT_NAMED = 2 };

/* ---- functions --------------------------------------------------------------------------------
 */

static uint32_t define(unsigned which)
{
    if (!rec_mpi_fits())
        return 0;
    const struct rec_region region = {.paradigm = LULL_TAPE_PARADIGM_MPI,
                                      .role = LULL_TAPE_ROLE_FUNCTION,
                                      .name = rec_mpi_names[which]};
    return rec_define_region_once(&rec_mpi_regions[which], &region);
}

/* What is called on the way is not recorded. */
uint32_t rec_mpi_region_of(struct rec_thread *self, unsigned which, const void *from,
                           const void *frame)
{
    self->depth++;
    uint32_t region = __atomic_load_n(&rec_mpi_regions[which], __ATOMIC_ACQUIRE);
    if (region == 0)
        region = define(which);
    if (region != 0)
        region = rec_site_region(self, region, which, from, frame);
    self->depth--;
    return region;
}

/* ---- data types -------------------------------------------------------------------------------
 */

static uint64_t ask_size(MPI_Datatype type)
{
    MPI_Count size = 0;
    if (rec_mpi.Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
        return 0;
    return (uint64_t)size;
}

/* Sizes of named types are kept; the handle of another may come back as a different type. */
uint64_t rec_mpi_type_size(MPI_Datatype type)
{
    uintptr_t known = rec_map_get(&types, (uintptr_t)type);
    if (REC_LIKELY(known & 1))
        return known >> 1;
    uint64_t size = ask_size(type);
    int integers, addresses, inner, combiner;
    if (known == 0 &&
        rec_mpi.Type_get_envelope(type, &integers, &addresses, &inner, &combiner) == MPI_SUCCESS) {
        pthread_mutex_lock(&types_lock);
        rec_map_put(&types, (uintptr_t)type,
                    combiner == MPI_COMBINER_NAMED ? (uintptr_t)(size * 2 + 1) : NOT_NAMED);
        pthread_mutex_unlock(&types_lock);
    }
    return size;
}

/* ---- begin and pause --------------------------------------------------------------------------
 */

void rec_mpi_init(struct rec_mpi_call *call, int result, int provided)
{
    if (result == MPI_SUCCESS) {
        rec_requests_begin(provided == MPI_THREAD_MULTIPLE);
        if (!rec_mpi_begin_world(MPI_COMM_WORLD))
            call->self->depth += REC_PAUSED; /* nothing that follows could be understood */
        rec_define_clock(10000000);
    }
    rec_mpi_call(call);
}

REC_EXPORT int PMPI_Pcontrol(const int level, ...)
{
    struct rec_thread *self = rec_current();
    if (level == 0)
        rec_pause(self);
    else
        rec_resume(self);
    return MPI_SUCCESS;
}
REC_ALIAS(MPI_Pcontrol)
