/* Ten times a collective and a message around the ring, with what the arguments ask for:
 *
 *     pause R      rank R asks not to be measured before it finalizes
 *
 * Prints its rank and a sum that is known. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a launcher says under names that nobody knows, here because the MPI is not its own. */
static void reveal(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK",
                                        "PMI_RANK", "PMI_SIZE"};
    char hidden[64];
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(hidden, sizeof hidden, "HIDDEN_%s", names[i]);
        if (getenv(hidden))
            setenv(names[i], getenv(hidden), 1);
    }
}

int main(int argc, char **argv)
{
    reveal();
    int rank, size, pausing = argc > 2 && strcmp(argv[1], "pause") == 0 ? atoi(argv[2]) : -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int sum = 0, left = 0;
    for (int i = 0; i < 10; i++) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 3, &left, 1, MPI_INT,
                     (rank + size - 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == pausing)
        MPI_Pcontrol(0);
    printf("rank %d of %d: %d %d\n", rank, size, sum, left);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
