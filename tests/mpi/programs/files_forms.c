/* MPI-IO with individual and shared file pointers, collective, split and non-blocking.
 *
 *= ranks 2
 *= * calls MPI_File_open x1
 *= * calls MPI_File_set_view x1
 *= * calls MPI_File_preallocate x1
 *= * calls MPI_File_seek x2
 *= * calls MPI_File_set_size x1
 *= * calls MPI_Barrier x2
 *= * barrier in 2 root -1 sent 0 received 0 x2
 *= * calls MPI_File_write x1
 *= * calls MPI_File_write_all x1
 *= * calls MPI_File_write_at_all x1
 *= * calls MPI_File_write_shared x1
 *= * calls MPI_File_write_ordered x1
 *= * calls MPI_File_iwrite x1
 *= * calls MPI_File_iwrite_at x1
 *= * calls MPI_File_iwrite_shared x1
 *= * calls MPI_File_write_all_begin x1
 *= * calls MPI_File_write_all_end x1
 *= * calls MPI_File_write_at_all_begin x1
 *= * calls MPI_File_write_at_all_end x1
 *= * calls MPI_File_read x1
 *= * calls MPI_File_read_all x1
 *= * calls MPI_File_read_ordered x1
 *= * calls MPI_File_read_shared x1
 *= * calls MPI_File_seek_shared x1
 *= * calls MPI_File_iread x1
 *= * calls MPI_File_read_all_begin x1
 *= * calls MPI_File_read_all_end x1
 *= * calls MPI_File_close x1
 *= * calls MPI_Waitall x1
 *= * calls MPI_Wait x1
 *= * io open bytes 0 x1
 *= * io write bytes 4 x1
 *= * io write bytes 8 x1
 *= * io write bytes 12 x1
 *= * io write bytes 16 x1
 *= * io write bytes 20 x1
 *= * io write bytes 24 x1
 *= * io write bytes 28 x1
 *= * io write bytes 32 x1
 *= * io write bytes 36 x1
 *= * io write bytes 40 x1
 *= * io read bytes 4 x1
 *= * io read bytes 8 x1
 *= * io read bytes 12 x1
 *= * io read bytes 16 x1
 *= * io read bytes 20 x1
 *= * io read bytes 24 x1
 *= * io close bytes 0 x1
 */
#include <mpi.h>
#include <stdlib.h>

static int data[100];

static void write_all_forms(MPI_File file, MPI_Offset mine)
{
    MPI_Request r[3];
    MPI_Status *none = MPI_STATUS_IGNORE;
    MPI_File_write(file, data, 1, MPI_INT, none);
    MPI_File_write_all(file, data, 2, MPI_INT, none);
    MPI_File_write_at_all(file, mine, data, 3, MPI_INT, none);
    MPI_File_write_shared(file, data, 4, MPI_INT, none);
    MPI_File_write_ordered(file, data, 5, MPI_INT, none);
    MPI_File_iwrite(file, data, 6, MPI_INT, &r[0]);
    MPI_File_iwrite_at(file, mine, data, 7, MPI_INT, &r[1]);
    MPI_File_iwrite_shared(file, data, 8, MPI_INT, &r[2]);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    MPI_File_write_all_begin(file, data, 9, MPI_INT);
    MPI_File_write_all_end(file, data, none);
    MPI_File_write_at_all_begin(file, mine, data, 10, MPI_INT);
    MPI_File_write_at_all_end(file, data, none);
}

/* The file is large enough for all of it. */
static void read_all_forms(MPI_File file)
{
    MPI_Request request;
    MPI_Status *none = MPI_STATUS_IGNORE;
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_read(file, data, 1, MPI_INT, none);
    MPI_File_read_all(file, data, 2, MPI_INT, none);
    MPI_File_read_shared(file, data, 3, MPI_INT, none);
    MPI_File_read_ordered(file, data, 4, MPI_INT, none);
    MPI_File_iread(file, data, 5, MPI_INT, &request);
    MPI_Wait(&request, none);
    MPI_File_read_all_begin(file, data, 6, MPI_INT);
    MPI_File_read_all_end(file, data, none);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File_open(MPI_COMM_WORLD, getenv("LULL_TEST_FILE"),
                  MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_preallocate(file, 4000);
    MPI_File_set_size(file, 4000);
    MPI_File_seek(file, 400 * rank, MPI_SEEK_SET);
    MPI_Barrier(MPI_COMM_WORLD);
    write_all_forms(file, 200 + 400 * rank);
    MPI_Barrier(MPI_COMM_WORLD);
    read_all_forms(file);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
