/* The forms with large counts, also with counts that no int holds: those move no data, because the
 * partner is nobody or the root alone.
 *
 *= ranks 2
 *= 0 calls MPI_Send_c x2
 *= 0 calls MPI_Isend_c x1
 *= 0 calls MPI_Send_init_c x1
 *= 0 calls MPI_Start x1
 *= 0 calls MPI_Request_free x1
 *= 0 sends 1 tag 1 bytes 40 in 2 x1
 *= 0 sends -2 tag 1 bytes 5000000000 in 2 x1
 *= 0 sends 1 tag 2 bytes 80 in 2 x1
 *= 0 sends 1 tag 3 bytes 12 in 2 x1
 *= 1 calls MPI_Recv_c x2
 *= 1 calls MPI_Irecv_c x1
 *= 1 receives 0 tag 1 bytes 40 in 2 x1
 *= 1 receives 0 tag 2 bytes 80 in 2 x1
 *= 1 receives 0 tag 3 bytes 12 in 2 x1
 *= * calls MPI_Sendrecv_c x1
 *= 0 sends 1 tag 5 bytes 24 in 2 x1
 *= 0 receives 1 tag 5 bytes 24 in 2 x1
 *= 1 sends 0 tag 5 bytes 24 in 2 x1
 *= 1 receives 0 tag 5 bytes 24 in 2 x1
 *= * calls MPI_Bcast_c x1
 *= 0 bcast in 1 root 0 sent 3000000000 received 0 x1
 *= 1 bcast in 1 root 1 sent 3000000000 received 0 x1
 *= * calls MPI_Allreduce_c x1
 *= * allreduce in 2 root -1 sent 32 received 32 x1
 *= * calls MPI_Gatherv_c x1
 *= 0 gatherv in 2 root 0 sent 4 received 12 x1
 *= 1 gatherv in 2 root 0 sent 8 received 0 x1
 *= * calls MPI_Alltoallv_c x1
 *= 0 alltoallv in 2 root -1 sent 12 received 8 x1
 *= 1 alltoallv in 2 root -1 sent 12 received 16 x1
 *= * calls MPI_Alltoallw_c x1
 *= * alltoallw in 2 root -1 sent 24 received 24 x1
 *= * calls MPI_Ialltoall_c x1
 *= * alltoall in 2 root -1 sent 8 received 8 x1
 *= 0 calls MPI_Wait x3
 *= 1 calls MPI_Wait x2
 *= * calls MPI_Win_create_c x1
 *= * create in 2 root -1 sent 0 received 0 x1
 *= * calls MPI_Win_fence x2
 *= * calls MPI_Win_free x1
 *= 0 calls MPI_Put_c x1
 *= 0 calls MPI_Accumulate_c x1
 *= 0 rma put to 1 bytes 8 x1
 *= 0 rma atomic to 1 bytes 12 x1
 *= * calls MPI_File_open x1
 *= * calls MPI_File_write_at_c x1
 *= * calls MPI_File_close x1
 *= * io open bytes 0 x1
 *= * io write bytes 40 x1
 *= * io close bytes 0 x1
 */
#include <mpi.h>
#include <stdlib.h>

#if MPI_VERSION >= 4

static int rank, data[400];

static void messages(void)
{
    MPI_Comm all = MPI_COMM_WORLD;
    MPI_Request request;
    int other = 1 - rank;
    if (rank == 0) {
        MPI_Send_c(data, 10, MPI_INT, 1, 1, all);
        MPI_Send_c(data, 5000000000, MPI_CHAR, MPI_PROC_NULL, 1, all);
        MPI_Isend_c(data, 10, MPI_DOUBLE, 1, 2, all, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Send_init_c(data, 3, MPI_INT, 1, 3, all, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    } else {
        MPI_Recv_c(data, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, all, MPI_STATUS_IGNORE);
        MPI_Irecv_c(data, 20, MPI_DOUBLE, 0, 2, all, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Recv_c(data, 3, MPI_INT, 0, 3, all, MPI_STATUS_IGNORE);
    }
    MPI_Sendrecv_c(data, 6, MPI_INT, other, 5, data + 50, 50, MPI_INT, other, 5, all,
                   MPI_STATUS_IGNORE);
}

static void collectives(void)
{
    MPI_Comm all = MPI_COMM_WORLD;
    MPI_Request request;
    const MPI_Count counts[2] = {1, 2}, mine[2] = {rank + 1, rank + 1};
    const MPI_Aint places[2] = {0, 10}, bytes[2] = {0, 40};
    const MPI_Datatype types[2] = {MPI_DOUBLE, MPI_DOUBLE};
    MPI_Bcast_c(data, 3000000000, MPI_CHAR, 0, MPI_COMM_SELF);
    MPI_Allreduce_c(data, data + 100, 4, MPI_DOUBLE, MPI_SUM, all);
    MPI_Gatherv_c(data, rank + 1, MPI_INT, data + 100, counts, places, MPI_INT, 0, all);
    MPI_Alltoallv_c(data, counts, places, MPI_INT, data + 100, mine, places, MPI_INT, all);
    /* one double to itself, two to the other */
    const MPI_Count doubles[2] = {rank == 0 ? 1 : 2, rank == 0 ? 2 : 1};
    MPI_Alltoallw_c(data, doubles, bytes, types, data + 100, doubles, bytes, types, all);
    MPI_Ialltoall_c(data, 1, MPI_INT, data + 100, 1, MPI_INT, all, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void memory_and_files(void)
{
    static int memory[100];
    MPI_Win window;
    MPI_File file;
    MPI_Win_create_c(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    if (rank == 0) {
        MPI_Put_c(data, 2, MPI_INT, 1, 0, 2, MPI_INT, window);
        MPI_Accumulate_c(data, 3, MPI_INT, 1, 50, 3, MPI_INT, MPI_SUM, window);
    }
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    MPI_File_open(MPI_COMM_WORLD, getenv("LULL_TEST_FILE"),
                  MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_write_at_c(file, 40 * rank, data, 10, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    messages();
    collectives();
    memory_and_files();
    MPI_Finalize();
    return 0;
}

#else

int main(void)
{
    return 77;
}

#endif
