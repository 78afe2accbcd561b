/* SPDX-License-Identifier: BSD-3-Clause */
/* What holds for all of MPI in the program: regions of its functions, its data types, when it
 * begins, and whether the program wants to be measured (MPI_Pcontrol). */
#include "record/mpi/comms.h"
#include "record/mpi/disturb.h"
#include "record/mpi/wrap.h"
#include "record/store/definitions.h"
#include "record/thread/pause.h"

#include <pthread.h>
#include <stdarg.h>

static pthread_mutex_t types_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_map types; /* handle -> 2 * size + 1 of a named type, NOT_NAMED of others */
enum { NOT_NAMED = 2 };

/* ---- functions ------------------------------------------------------------------------------- */

static uint32_t *place_of_function(unsigned which)
{
    return which < REC_SHMEM ? &rec_mpi_regions[which] : &rec_shmem_regions[which - REC_SHMEM];
}

static uint32_t define_mpi_function(unsigned which)
{
    if (!rec_mpi_fits())
        return 0;
    const char *name =
        which < REC_SHMEM ? rec_mpi_names[which] : rec_shmem_names[which - REC_SHMEM];
    const struct rec_region region = {
        .paradigm = LULL_TAPE_PARADIGM_MPI, .role = LULL_TAPE_ROLE_FUNCTION, .name = name};
    return rec_define_region_once(place_of_function(which), &region);
}

/* The gate is shut meanwhile: what is called on the way is not recorded. */
uint32_t rec_mpi_region_of(struct rec_thread *self, unsigned which, const void *from,
                           const void *frame)
{
    rec_gate_shut(self);
    uint32_t region = __atomic_load_n(place_of_function(which), __ATOMIC_ACQUIRE);
    if (region == 0)
        region = define_mpi_function(which);
    if (region != 0)
        region = rec_site_region(self, region, which, from, frame);
    rec_gate_open(self);
    return region;
}

/* ---- data types ------------------------------------------------------------------------------ */

static uint64_t ask_size(MPI_Datatype type)
{
    MPI_Count size = 0;
    if (rec_mpi.Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
        return 0;
    return (uint64_t)size;
}

__thread struct rec_mpi_type rec_mpi_last_type;

/* Sizes of named types are kept. Those of others are not, because their handles may come back for a
 * different type. */
uint64_t rec_mpi_find_type_size(MPI_Datatype type)
{
    uintptr_t known = rec_map_get(&types, (uintptr_t)type);
    if (REC_LIKELY(known & 1)) {
        rec_mpi_last_type = (struct rec_mpi_type){(uintptr_t)type, known >> 1};
        return known >> 1;
    }
    if (type == MPI_DATATYPE_NULL)
        return 0;
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

/* ---- begin and pause ------------------------------------------------------------------------- */

void rec_mpi_init(struct rec_mpi_call *call, int provided)
{
    rec_requests_begin(provided == MPI_THREAD_MULTIPLE);
    if (!rec_mpi_begin_world(MPI_COMM_WORLD))
        /* Without the world, nothing that follows could be understood. */
        rec_gate_set(call->self, rec_gate_of(call->self) | REC_GATE_CLOSED);
    rec_define_clock(10000000);
    if (REC_UNLIKELY(rec_process.disturbs))
        rec_disturb_begin();
    rec_mpi_followed_call(call);
    call->self->header->main_begin = rec_mpi_is_paused(call) ? rec_now() : *call->self->until;
}

void rec_mpi_begin_finalize(struct rec_mpi_call *call)
{
    call->self->header->main_end = call->begin;
    rec_mpi_end_world();
}

#if defined(MPI_SESSION_NULL)
/* A session does not tell how many threads are going to call MPI; so several may. */
void rec_mpi_begin_session(struct rec_mpi_call *call, MPI_Session session)
{
    rec_requests_begin(true);
    rec_mpi_find_processes(session);
    rec_define_clock(10000000);
    rec_mpi_followed_call(call);
}
#endif

typedef int control_function(const int, ...);

/* Other tools listen to MPI_Pcontrol, too, and may have arguments of their own behind the level. As
 * many words and floating-point numbers are passed on as fit into registers. Where the program gave
 * fewer, this reads what a register happens to hold, and nobody looks at it. */
static int control(control_function **found, const char *name, int level, va_list arguments)
{
    enum { WORDS = 5, NUMBERS = 8 };
    void *w[WORDS];
    double n[NUMBERS];
    va_list numbers;
    va_copy(numbers, arguments);
    for (int i = 0; i < WORDS; i++)
        w[i] = va_arg(arguments, void *);
    for (int i = 0; i < NUMBERS; i++)
        n[i] = va_arg(numbers, double);
    va_end(numbers);
    control_function *next = __atomic_load_n(found, __ATOMIC_ACQUIRE);
    if (!next) {
        next = (control_function *)rec_mpi_real(name);
        __atomic_store_n(found, next, __ATOMIC_RELEASE);
    }
    if (level == 0)
        rec_pause();
    else
        rec_resume();
    return next(level, w[0], w[1], w[2], w[3], w[4], n[0], n[1], n[2], n[3], n[4], n[5], n[6],
                n[7]);
}

REC_EXPORT int PMPI_Pcontrol(const int level, ...)
{
    static control_function *found; /* atomic */
    va_list arguments;
    va_start(arguments, level);
    int result = control(&found, "PMPI_Pcontrol", level, arguments);
    va_end(arguments);
    return result;
}

REC_EXPORT int MPI_Pcontrol(const int level, ...)
{
    static control_function *found; /* atomic */
    va_list arguments;
    va_start(arguments, level);
    int result = control(&found, "MPI_Pcontrol", level, arguments);
    va_end(arguments);
    return result;
}
