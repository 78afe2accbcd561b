/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI library of the program: which one it is, and its functions and handles. The library may
 * stand behind the recorder in the order of the linker, or have come with a plug-in that keeps it
 * to itself, as Python's modules do, or there is none. So nothing of it is bound by name: all is
 * looked up when the program calls MPI for the first time. */
#ifndef LULL_RECORD_MPI_LIBRARY_H
#define LULL_RECORD_MPI_LIBRARY_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* ==== families ================================================================================ */

/* The two families of MPI libraries, by the binary interface that a program was compiled for. */

#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>) /* functions that are not, or not yet, in the
                                                       standard */
#include <mpi-ext.h>
#endif

#if defined(OPEN_MPI)

/* Predefined handles are addresses of the library's variables, which are looked up as its functions
 * are. */
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
/* What PMPI_Get_library_version says in each library that has this binary interface. */
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

/* ==== functions =============================================================================== */

/* The functions that the recorder itself calls. */
#define REC_MPI_USED(X)           \
    X(Cartdim_get)                \
    X(Comm_create_group)          \
    X(Comm_free)                  \
    X(Comm_get_name)              \
    X(Comm_get_parent)            \
    X(Comm_group)                 \
    X(Comm_rank)                  \
    X(Comm_remote_group)          \
    X(Comm_remote_size)           \
    X(Comm_set_errhandler)        \
    X(Comm_size)                  \
    X(Comm_test_inter)            \
    X(Dist_graph_neighbors_count) \
    X(Error_class)                \
    X(Get_library_version)        \
    X(Graph_neighbors_count)      \
    X(Group_free)                 \
    X(Group_incl)                 \
    X(Group_rank)                 \
    X(Group_size)                 \
    X(Group_translate_ranks)      \
    X(Info_get)                   \
    X(Iprobe)                     \
    X(Recv)                       \
    X(Request_get_status)         \
    X(Send)                       \
    X(Topo_test)                  \
    X(Type_get_envelope)          \
    X(Type_size_x)                \
    X(Win_get_group)              \
    REC_MPI_USED_OF_SESSIONS(X)

#if defined(MPI_SESSION_NULL)
#define REC_MPI_USED_OF_SESSIONS(X) X(Group_from_session_pset)
#else
#define REC_MPI_USED_OF_SESSIONS(X)
#endif

struct rec_mpi_library {
#define REC_X(name) __typeof__(&PMPI_##name) name;
    REC_MPI_USED(REC_X)
#undef REC_X
};

/* Complete once a wrapper has called rec_mpi_real. A function that the library lacks returns an
 * error. */
extern struct rec_mpi_library rec_mpi;

/* The function of that name in the MPI library; a wrapper asks for it at its first call. */
void (*rec_mpi_real(const char *name))(void);

/* Whether the library has the binary interface that the recorder was built for; if not, says why,
 * once. */
bool rec_mpi_fits(void);

#endif
