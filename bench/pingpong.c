/* pingpong ROUNDS [BYTES]: a message there and back between ranks 0 and 1, again and again. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int rounds = argc > 1 ? atoi(argv[1]) : 1000, bytes = argc > 2 ? atoi(argv[2]) : 8;
    char *content = calloc(1, (size_t)bytes + 1);
    if (!content)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < rounds && rank < 2; i++) {
        if (rank == 0)
            MPI_Send(content, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(content, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(content, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%.3f us one way\n", 5e5 * (MPI_Wtime() - begin) / rounds);
    free(content);
    MPI_Finalize();
    return 0;
}
