/* The two families of MPI libraries, by the binary interface that a program was compiled for. */
#ifndef LULL_RECORD_MPI_ABI_H
#define LULL_RECORD_MPI_ABI_H

#include <mpi.h>
#include <stdint.h>

#if defined(OPEN_MPI)

/* Predefined handles are addresses of the library's variables. This object is also loaded into
 * programs without MPI, in which they do not exist. */
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_comm_self
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_mpi_byte
#pragma weak ompi_mpi_datatype_null
#pragma weak ompi_mpi_info_null
#pragma weak ompi_mpi_errors_return
#pragma weak ompi_request_null
#pragma weak ompi_message_no_proc

/* First words of what PMPI_Get_library_version says. */
#define REC_MPI_LIBRARIES \
    {                     \
        "Open MPI"        \
    }
#define REC_MPI_FILES  \
    {                  \
        "libmpi.so.40" \
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

#define REC_MPI_LIBRARIES                                                   \
    {                                                                       \
        "MPICH", "Intel(R) MPI", "MVAPICH", "CRAY MPICH", "ParaStation MPI" \
    }
#define REC_MPI_FILES                    \
    {                                    \
        "libmpich.so.12", "libmpi.so.12" \
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
