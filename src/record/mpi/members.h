/* Which processes are in groups: their process numbers, by those of the worlds that are known.
 *
 * A library may compare each member with all processes of a world, one by one (Open MPI does), and
 * numbers take memory. So of a communicator that was made of another one only the first member is
 * looked up, but for who lists the members of a small one. */
#ifndef LULL_RECORD_MPI_MEMBERS_H
#define LULL_RECORD_MPI_MEMBERS_H

#include "record/mpi/wrap.h"

/* A member whose process number is not known. */
#define REC_UNKNOWN_MEMBER UINT32_MAX

/* The processes of `group`, of which there are `size`, have these numbers, which are kept. */
bool rec_members_add(MPI_Group group, int size, const struct rec_mpi_group *numbers);
/* Whether there is one. */
bool rec_members_known(void);
/* The number of this process among its world's. */
void rec_members_set_own(uint32_t number);
uint32_t rec_members_own(void);

/* Whether it takes little to look up, keep and list a group of that size: at most 2^20 comparisons,
 * and so 4 KiB for members of one world. */
bool rec_members_are_few(int size);
/* Of rank 0. */
uint32_t rec_members_first(MPI_Group group);
/* Numbers by rank, to be freed; NULL: there is no memory. */
uint32_t *rec_members_list(MPI_Group group, int size);
/* Describes a group by numbers that the caller owns, and goes on to. */
struct rec_mpi_group rec_members_group(const uint32_t *numbers, int size);

#endif
