/* many_calls CALLS: as many calls of MPI in all ranks together, each rank with itself, so that
 * ranks may be many more than cores. Says how many must be found in the run, and fails where the
 * memory of the process grows after the first tenth. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PER_ROUND = 5, MOST_GROWTH_KB = 64 /* what a chunk of the tape takes */ };

/* Memory of its own that is resident, in KiB: without what is mapped from files. */
static long own_memory(void)
{
    char line[256];
    long kb = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "RssAnon:", 8) == 0)
            kb = strtol(line + 8, NULL, 10);
    if (file)
        fclose(file);
    return kb;
}

static void communicate(long rounds)
{
    double out = 1, in;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    for (long i = 0; i < rounds; i++) {
        MPI_Irecv(&in, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &requests[0]);
        MPI_Isend(&out, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &requests[1]);
        MPI_Waitall(2, requests, statuses);
        MPI_Sendrecv(&out, 1, MPI_DOUBLE, 0, 0, &in, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_SELF);
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long rounds = strtol(argv[1], NULL, 10) / PER_ROUND / size;
    communicate(rounds / 10);
    long before = own_memory();
    communicate(rounds - rounds / 10);
    long growth = own_memory() - before;
    static const char *const calls[PER_ROUND] = {"MPI_Irecv", "MPI_Isend", "MPI_Waitall",
                                                 "MPI_Sendrecv", "MPI_Barrier"};
    for (int i = 0; rank == 0 && i < PER_ROUND; i++)
        printf("expect %ld %s\n", rounds * size, calls[i]);
    if (rank == 0)
        printf("processes %d\nexpect %d MPI_Finalize\n", size, size);
    MPI_Finalize();
    if (before > 0 && growth <= MOST_GROWTH_KB)
        return 0;
    fprintf(stderr, "rank %d: %ld KiB more than %ld after the first tenth\n", rank, growth, before);
    return 1;
}
