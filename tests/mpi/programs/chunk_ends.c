/* Calls that complete or start many requests at once, so many that full chunks of the tape end
 * everywhere in what one call leaves behind: times must not run backwards there.
 *
 *= ranks 2
 *= * calls MPI_Irecv x12000
 *= * calls MPI_Isend x12000
 *= * calls MPI_Recv_init x40
 *= * calls MPI_Send_init x40
 *= * calls MPI_Startall x300
 *= * calls MPI_Waitall x900
 *= * calls MPI_Request_free x80
 *= 0 sends 1 tag 1 bytes 4 in 2 x12000
 *= 0 sends 1 tag 2 bytes 8 in 2 x12000
 *= 0 receives 1 tag 1 bytes 4 in 2 x12000
 *= 0 receives 1 tag 2 bytes 8 in 2 x12000
 *= 1 sends 0 tag 1 bytes 4 in 2 x12000
 *= 1 sends 0 tag 2 bytes 8 in 2 x12000
 *= 1 receives 0 tag 1 bytes 4 in 2 x12000
 *= 1 receives 0 tag 2 bytes 8 in 2 x12000
 */
#include <mpi.h>

enum { ROUNDS = 300, MANY = 40 };

static int in[16], out[2];

int main(int argc, char **argv)
{
    int rank;
    MPI_Request posted[2 * MANY], kept[2 * MANY];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < MANY; i++) {
        MPI_Recv_init(in, 16, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD, &kept[i]);
        MPI_Send_init(out, 2, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD, &kept[MANY + i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < MANY; i++)
            MPI_Irecv(in, 16, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &posted[i]);
        for (int i = 0; i < MANY; i++)
            MPI_Isend(out, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &posted[MANY + i]);
        MPI_Waitall(MANY, posted, MPI_STATUSES_IGNORE);
        MPI_Waitall(MANY, posted + MANY, MPI_STATUSES_IGNORE);
        MPI_Startall(2 * MANY, kept);
        MPI_Waitall(2 * MANY, kept, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 2 * MANY; i++)
        MPI_Request_free(&kept[i]);
    MPI_Finalize();
    return 0;
}
