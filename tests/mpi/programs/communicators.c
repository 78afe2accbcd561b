/* Messages in communicators of every origin: ranks there are not those of the world. The sizes of
 * the messages name the communicator: the two sides must agree.
 *
 *= ranks 4
 *= * calls MPI_Comm_dup x2
 *= * calls MPI_Comm_split x1
 *= * calls MPI_Comm_create x1
 *= 1 calls MPI_Comm_create_group x1
 *= 3 calls MPI_Comm_create_group x1
 *= * calls MPI_Intercomm_create x1
 *= * calls MPI_Intercomm_merge x1
 *= * calls MPI_Comm_free x7
 *= 0 calls MPI_Comm_free x6
 *= 2 calls MPI_Comm_free x6
 *= * create in 4 root -1 sent 0 received 0 x4
 *= * create in 2 root -1 sent 0 received 0 x3
 *= 0 create in 2 root -1 sent 0 received 0 x2
 *= 2 create in 2 root -1 sent 0 received 0 x2
 *= * free in 4 root -1 sent 0 received 0 x4
 *= * free in 2 root -1 sent 0 received 0 x3
 *= 0 free in 2 root -1 sent 0 received 0 x2
 *= 2 free in 2 root -1 sent 0 received 0 x2
 *= 0 calls MPI_Send x5
 *= 0 sends 1 tag 0 bytes 4 in 4 x1
 *= 0 sends 1 tag 0 bytes 8 in 4 x1
 *= 0 sends 2 tag 0 bytes 12 in 2 x1
 *= 0 sends 1 tag 0 bytes 24 in 2 x1
 *= 0 sends 2 tag 0 bytes 28 in 4 x1
 *= 1 calls MPI_Recv x3
 *= 1 calls MPI_Send x1
 *= 1 receives 0 tag 0 bytes 4 in 4 x1
 *= 1 receives 0 tag 0 bytes 8 in 4 x1
 *= 1 receives 0 tag 0 bytes 24 in 2 x1
 *= 1 sends 3 tag 0 bytes 20 in 2 x1
 *= 2 calls MPI_Recv x2
 *= 2 receives 0 tag 0 bytes 12 in 2 x1
 *= 2 receives 0 tag 0 bytes 28 in 4 x1
 *= 3 calls MPI_Recv x1
 *= 3 receives 1 tag 0 bytes 20 in 2 x1
 */
#include <mpi.h>

static int data[100];

static void pass(int ints, int from, int to, MPI_Comm comm)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    if (rank == from)
        MPI_Send(data, ints, MPI_INT, to, 0, comm);
    if (rank == to)
        MPI_Recv(data, 100, MPI_INT, from, 0, comm, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Comm all = MPI_COMM_WORLD, copy, second, half, odd = MPI_COMM_NULL, turned, sides, merged;
    MPI_Group group, part;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_dup(all, &copy);
    pass(1, 0, 1, copy);
    MPI_Comm_dup(copy, &second);
    pass(2, 0, 1, second);
    MPI_Comm_split(all, rank % 2, rank, &half); /* 0 2 and 1 3 */
    if (rank % 2 == 0)
        pass(3, 0, 1, half);
    int order[4] = {3, 2, 1, 0}, odds[2] = {1, 3};
    MPI_Comm_group(all, &group);
    MPI_Group_incl(group, 4, order, &part);
    MPI_Comm_create(all, part, &turned);
    MPI_Group_free(&part);
    MPI_Group_incl(group, 2, odds, &part);
    if (rank % 2 == 1) {
        MPI_Comm_create_group(all, part, 7, &odd);
        pass(5, 0, 1, odd);
    }
    MPI_Intercomm_create(half, 0, all, 1 - rank % 2, 8, &sides);
    /* rank 0 of each side: world 0 to world 1 */
    if (rank == 0)
        MPI_Send(data, 6, MPI_INT, 0, 0, sides);
    if (rank == 1)
        MPI_Recv(data, 100, MPI_INT, 0, 0, sides, MPI_STATUS_IGNORE);
    MPI_Intercomm_merge(sides, rank % 2, &merged); /* 0 2 1 3 */
    pass(7, 0, 1, merged);
    MPI_Group_free(&part);
    MPI_Group_free(&group);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&sides);
    MPI_Comm_free(&turned);
    MPI_Comm_free(&half);
    MPI_Comm_free(&second);
    MPI_Comm_free(&copy);
    if (odd != MPI_COMM_NULL)
        MPI_Comm_free(&odd);
    MPI_Finalize();
    return 0;
}
