/* MPI_THREAD_MULTIPLE: two threads at a time, and receives that another thread waits for.
 *
 *= ranks 2
 *= replays
 *= * calls pthread_create x1
 *= * calls pthread_join x1
 *= 0 calls MPI_Barrier x1
 *= 0 barrier in 2 root -1 sent 0 received 0 x1
 *= 1 calls MPI_Barrier x1
 *= 1 barrier in 2 root -1 sent 0 received 0 x1
 *= 0 calls MPI_Irecv x2
 *= 0 calls MPI_Wait x1
 *= 0 receives 1 tag 1 bytes 4 in 2 x1
 *= 0.1 calls MPI_Send x100
 *= 0.1 calls MPI_Recv x100
 *= 0.1 calls MPI_Wait x1
 *= 0.1 sends 1 tag 5 bytes 12 in 2 x100
 *= 0.1 receives 1 tag 5 bytes 12 in 2 x100
 *= 0.1 receives 1 tag 2 bytes 8 in 2 x1
 *= 1 calls MPI_Send x2
 *= 1 sends 0 tag 1 bytes 4 in 2 x1
 *= 1 sends 0 tag 2 bytes 8 in 2 x1
 *= 1.1 calls MPI_Send x100
 *= 1.1 calls MPI_Recv x100
 *= 1.1 sends 0 tag 5 bytes 12 in 2 x100
 *= 1.1 receives 0 tag 5 bytes 12 in 2 x100
 */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>

static int rank, in[2][4];
static MPI_Request requests[2];

static void *exchange(void *nothing)
{
    int data[3] = {0};
    for (int i = 0; i < 100; i++) {
        if (rank == 0)
            MPI_Send(data, 3, MPI_INT, 1, 5, MPI_COMM_WORLD);
        MPI_Recv(data, 3, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(data, 3, MPI_INT, 0, 5, MPI_COMM_WORLD);
    }
    if (rank == 0)
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    return nothing;
}

int main(int argc, char **argv)
{
    int provided, data[4] = {0};
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE)
        return 77;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        for (int i = 0; i < 2; i++)
            MPI_Irecv(in[i], 4, MPI_INT, 1, 1 + i, MPI_COMM_WORLD, &requests[i]);
    pthread_create(&thread, NULL, exchange, NULL);
    if (rank == 1)
        for (int i = 0; i < 2; i++)
            MPI_Send(data, 1 + i, MPI_INT, 0, 1 + i, MPI_COMM_WORLD);
    else
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
