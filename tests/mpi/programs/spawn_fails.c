/* A spawn that fails, because the program is here and not in the folder that it is to be started
 * in, ends as it does alone: with Open MPI the launcher ends the whole job.
 *
 *= ranks 1
 *= only openmpi
 *= alone
 *= 0 calls MPI_Finalize x0
 *= 0 enters MPI_Comm_spawn x1
 *= quirk: regions were open when the recording ended; closed at the end x1
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Comm inter;
    MPI_Info info;
    MPI_Init(&argc, &argv);
    MPI_Info_create(&info);
    MPI_Info_set(info, "wdir", "/");
    int status = MPI_Comm_spawn("./program", MPI_ARGV_NULL, 1, info, 0, MPI_COMM_SELF, &inter,
                                MPI_ERRCODES_IGNORE);
    printf("returned %d\n", status);
    MPI_Finalize();
    return 0;
}
