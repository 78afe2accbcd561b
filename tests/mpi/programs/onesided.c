/* One-sided communication in fence, lock and general active target epochs.
 *
 *= ranks 2
 *= * calls MPI_Win_create x1
 *= * calls MPI_Win_fence x2
 *= * calls MPI_Win_free x1
 *= 0 calls MPI_Win_lock x1
 *= 0 calls MPI_Win_unlock x1
 *= 0 calls MPI_Win_flush x1
 *= 0 calls MPI_Put x1
 *= 0 calls MPI_Rput x1
 *= 0 calls MPI_Wait x1
 *= 0 calls MPI_Get x1
 *= 0 calls MPI_Accumulate x1
 *= 0 calls MPI_Fetch_and_op x1
 *= 0 calls MPI_Compare_and_swap x1
 *= 0 rma put to 1 bytes 40 x1
 *= 0 rma put to 1 bytes 8 x1
 *= 0 rma get to 1 bytes 80 x1
 *= 0 rma atomic to 1 bytes 12 x1
 *= 0 rma atomic to 1 bytes 4 x2
 *= * create in 2 root -1 sent 0 received 0 x1
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, memory[100] = {0}, data[100] = {0}, zero = 0;
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    if (rank == 0) {
        MPI_Put(data, 10, MPI_INT, 1, 0, 10, MPI_INT, window);
        MPI_Get(data + 20, 10, MPI_DOUBLE, 1, 20, 10, MPI_DOUBLE, window);
        MPI_Accumulate(data, 3, MPI_INT, 1, 50, 3, MPI_INT, MPI_SUM, window);
    }
    MPI_Win_fence(0, window);
    if (rank == 0) {
        MPI_Request request;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
        MPI_Rput(data, 2, MPI_INT, 1, 0, 2, MPI_INT, window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Fetch_and_op(&zero, data, MPI_INT, 1, 0, MPI_SUM, window);
        MPI_Win_flush(1, window);
        MPI_Compare_and_swap(&zero, &zero, data, MPI_INT, 1, 0, window);
        MPI_Win_unlock(1, window);
    }
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
