/* Messages and collective operations, as many as systems.py knows: ring MESSAGES BYTES REDUCTIONS BARRIERS.
 * Rank 0 prints what all ranks together have done. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void pass_on(char *sent, char *received, int bytes)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Request request;
    MPI_Irecv(received, bytes, MPI_CHAR, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &request);
    MPI_Send(sent, bytes, MPI_CHAR, (rank + 1) % size, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    const int messages = atoi(argv[1]), bytes = atoi(argv[2]);
    const int reductions = atoi(argv[3]), barriers = atoi(argv[4]);
    char *sent = calloc(1, (size_t)bytes), *received = calloc(1, (size_t)bytes);
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < messages; i++)
        pass_on(sent, received, bytes);
    for (int i = 0; i < reductions; i++) {
        double mine = 1, sum;
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    for (int i = 0; i < barriers; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("sent %d %lld\nallreduce %d\nbarrier %d\n", size * messages,
               (long long)size * messages * bytes, size * reductions, size * barriers);
    MPI_Finalize();
    free(sent);
    free(received);
    return 0;
}
