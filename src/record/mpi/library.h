/* The MPI library of the program: which one it is, and its functions and handles. It may be behind
 * us in the order of the linker, or have come with a plug-in that keeps it to itself, as Python's
 * modules do; or there is none. So nothing of it is bound by name: all is looked up when the
 * program calls MPI for the first time. */
#ifndef LULL_RECORD_MPI_LIBRARY_H
#define LULL_RECORD_MPI_LIBRARY_H

#include "record/mpi/abi.h"

#include <stdbool.h>

/* What the recorder itself calls. */
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

/* Complete once a wrapper has called rec_mpi_real; what the library lacks fails. */
extern struct rec_mpi_library rec_mpi;

/* The function of the next library, for a wrapper's first call. */
void (*rec_mpi_real(const char *name))(void);

/* Whether the library has the binary interface that we were built for; says once why not. */
bool rec_mpi_fits(void);

#endif
