/* A 2-D halo exchange of plain MPI: what SimGrid's SMPI simulates beside lull.
 *
 *     halo NX NY ITERATIONS BYTES COMPUTE_NS */
#include <mpi.h>
#ifdef SMPI
#include <smpi/smpi.h>
#endif

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int numbers[5] = {8, 8, 20, 1024, 20000}, rank, size, count = 0, neighbours[4];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 1; i < argc && i < 6; i++)
        numbers[i - 1] = atoi(argv[i]);
    int nx = numbers[0], ny = numbers[1], x = rank % nx, y = rank / nx, bytes = numbers[3];
    if (nx * ny != size)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (x > 0)
        neighbours[count++] = rank - 1;
    if (x + 1 < nx)
        neighbours[count++] = rank + 1;
    if (y > 0)
        neighbours[count++] = rank - nx;
    if (y + 1 < ny)
        neighbours[count++] = rank + nx;
    char *buffer = calloc(8, (size_t)bytes);
    for (int i = 0; i < numbers[2]; i++) {
        MPI_Request requests[8];
#ifdef SMPI
        smpi_execute_benched(numbers[4] * 1e-9);
#endif
        for (int n = 0; n < count; n++)
            MPI_Irecv(buffer + (size_t)n * (size_t)bytes, bytes, MPI_BYTE, neighbours[n], 0,
                      MPI_COMM_WORLD, &requests[n]);
        for (int n = 0; n < count; n++)
            MPI_Isend(buffer + (size_t)(4 + n) * (size_t)bytes, bytes, MPI_BYTE, neighbours[n], 0,
                      MPI_COMM_WORLD, &requests[count + n]);
        MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE);
    }
    if (rank == 0)
        printf("%.9f\n", MPI_Wtime());
    free(buffer);
    MPI_Finalize();
    return 0;
}
