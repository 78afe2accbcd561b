/* The two families of MPI libraries, by the binary interface that a program was compiled for. */
#ifndef LULL_RECORD_MPI_ABI_H
#define LULL_RECORD_MPI_ABI_H

#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>) /* what is not, or not yet, in the standard */
#include <mpi-ext.h>
#endif
#include <stdint.h>

#if defined(OPEN_MPI)

/* Predefined handles are addresses of the library's variables, which are looked up like its
 * functions (record/mpi/library.h). */
#define REC_MPI_HANDLES(X)    \
    X(ompi_mpi_comm_world)    \
    X(ompi_mpi_comm_self)     \
    X(ompi_mpi_comm_null)     \
    X(ompi_mpi_byte)          \
    X(ompi_mpi_datatype_null) \
    X(ompi_mpi_info_null)     \
    X(ompi_mpi_errors_return) \
    X(ompi_request_null)      \
    X(ompi_message_no_proc)

struct rec_mpi_handles {
#define REC_X(name) void *name;
    REC_MPI_HANDLES(REC_X)
#undef REC_X
};
extern struct rec_mpi_handles rec_mpi_handles;

#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, name) ((type)rec_mpi_handles.name)

#define REC_MPI_FAMILY "Open MPI"
/* What PMPI_Get_library_version says of each that has this binary interface. */
#define REC_MPI_LIBRARIES                                    \
    {                                                        \
        "Open MPI", "OpenMPI", "Spectrum MPI", "FUJITSU MPI" \
    }

static inline uint64_t rec_mpi_status_bytes(const MPI_Status *status)
{
    return status->_ucount;
}

static inline int rec_mpi_status_cancelled(const MPI_Status *status)
{
    return status->_cancelled;
}

#elif defined(MPICH)

#define REC_MPI_FAMILY "MPICH"
#define REC_MPI_LIBRARIES                                     \
    {                                                         \
        "MPICH", "Intel(R) MPI", "MVAPICH", "ParaStation MPI" \
    }

static inline uint64_t rec_mpi_status_bytes(const MPI_Status *status)
{
    return (uint64_t)(unsigned)status->count_lo |
           (uint64_t)((unsigned)status->count_hi_and_cancelled >> 1) << 32;
}

static inline int rec_mpi_status_cancelled(const MPI_Status *status)
{
    return status->count_hi_and_cancelled & 1;
}

#else
#error "an MPI library that is neither of Open MPI nor of the MPICH family"
#endif

#endif
