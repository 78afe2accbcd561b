/* MPI-IO: bytes that were moved, also where the program does not look at its status.
 *
 *= ranks 2
 *= * calls MPI_File_open x1
 *= * calls MPI_File_write_at x1
 *= * calls MPI_File_sync x1
 *= * calls MPI_Barrier x1
 *= * calls MPI_File_read_at x1
 *= * calls MPI_File_read_at_all x1
 *= * calls MPI_File_iread_at x1
 *= * calls MPI_Wait x1
 *= * calls MPI_File_close x1
 *= * barrier in 2 root -1 sent 0 received 0 x1
 *= * io open bytes 0 x1
 *= * io write bytes 400 x1
 *= 0 io read bytes 800 x1
 *= 1 io read bytes 400 x1
 *= * io read bytes 40 x2
 *= * io close bytes 0 x1
 */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, data[200] = {0};
    MPI_File file;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *name = getenv("LULL_TEST_FILE");
    MPI_File_open(MPI_COMM_WORLD, name ? name : "lull-test-file",
                  MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_write_at(file, 400 * rank, data, 100, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    /* asks for more than rank 1 finds behind its begin */
    MPI_File_read_at(file, 400 * rank, data, 200, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file, 0, data, 10, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_iread_at(file, 0, data, 10, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
