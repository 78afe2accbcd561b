/* Communicators: which processes they hold, and how all of them call the same one the same. */
#ifndef LULL_RECORD_MPI_COMMS_H
#define LULL_RECORD_MPI_COMMS_H

#include "record/mpi/wrap.h"

/* After MPI_Init, collectively: exchanges the process numbers. False: nothing can be recorded. */
bool rec_mpi_begin_world(MPI_Comm world);

/* Of all processes in the world. */
uint32_t rec_mpi_highest_number(void);
/* What the members of a communicator call its next spawn alike, counted at each; 0: they do not. */
uint64_t rec_mpi_spawn_key(const struct rec_mpi_comm *comm);
/* The processes of a window: size and all members alone. */
const struct rec_mpi_comm *rec_mpi_look_at_window(MPI_Win window);
/* Process numbers of all members by rank, or of its own group; to be freed. NULL: there is no
 * memory. */
uint32_t *rec_mpi_list_members(MPI_Comm comm, int size);
/* One that is no communicator of MPI: `members` are process numbers that are kept, of which ours is
 * the one at `rank`; made once by each of them. The world, if there is no memory. */
const struct rec_mpi_comm *rec_mpi_add_members(const uint32_t *members, int size, int rank);
/* Where a persistent collective matches: all of one communicator are made in the same order, and
 * started in any. */
uint32_t rec_mpi_persistent_comm(const struct rec_mpi_comm *comm);
#if defined(MPI_SESSION_NULL)
/* Without MPI_Init: the processes are known that the launcher has numbered, and nobody is asked. */
void rec_mpi_find_processes(MPI_Session session);
#endif
/* Rank r of the other group of `inter` is process first + r, below first + count. */
void rec_mpi_add_spawned(MPI_Comm inter, uint32_t first, uint32_t count);

#endif
