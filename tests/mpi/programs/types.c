/* Bytes of derived types: contiguous, with gaps, of several parts, larger than an int can say; and
 * of types that come and go, so that the library uses their handles again.
 *
 *= ranks 2
 *= 0 calls MPI_Send x307
 *= 0 sends 1 tag 1 bytes 120 in 2 x1
 *= 0 sends 1 tag 2 bytes 48 in 2 x1
 *= 0 sends 1 tag 3 bytes 36 in 2 x1
 *= 0 sends 1 tag 4 bytes 24 in 2 x1
 *= 0 sends 1 tag 5 bytes 16 in 2 x1
 *= 0 sends 1 tag 8 bytes 40 in 2 x1
 *= 0 sends -2 tag 6 bytes 12884901888 in 2 x1
 *= 0 sends 1 tag 7 bytes 4 in 2 x100
 *= 0 sends 1 tag 7 bytes 12 in 2 x100
 *= 0 sends 1 tag 7 bytes 24 in 2 x100
 *= 1 calls MPI_Recv x306
 *= 1 receives 0 tag 1 bytes 120 in 2 x1
 *= 1 receives 0 tag 2 bytes 48 in 2 x1
 *= 1 receives 0 tag 3 bytes 36 in 2 x1
 *= 1 receives 0 tag 4 bytes 24 in 2 x1
 *= 1 receives 0 tag 5 bytes 16 in 2 x1
 *= 1 receives 0 tag 8 bytes 40 in 2 x1
 *= 1 receives 0 tag 7 bytes 4 in 2 x100
 *= 1 receives 0 tag 7 bytes 12 in 2 x100
 *= 1 receives 0 tag 7 bytes 24 in 2 x100
 *= * calls MPI_Bcast x1
 *= 0 bcast in 2 root 0 sent 120 received 0 x1
 *= 1 bcast in 2 root 0 sent 0 received 120 x1
 */
#include <mpi.h>

static int rank, data[200];

static void pass(MPI_Datatype type, int count, int tag)
{
    if (rank == 0)
        MPI_Send(data, count, type, 1, tag, MPI_COMM_WORLD);
    else
        MPI_Recv(data, count, type, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void pass_and_free(MPI_Datatype *type, int count, int tag)
{
    MPI_Type_commit(type);
    pass(*type, count, tag);
    MPI_Type_free(type);
}

static void pass_blocks(void)
{
    const int lengths[2] = {1, 2}, blocks[2] = {4, 5};
    const MPI_Aint places[2] = {0, 24};
    const MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE};
    MPI_Datatype type, resized;
    MPI_Type_indexed(2, blocks, blocks, MPI_INT, &type);
    pass_and_free(&type, 1, 3);
    MPI_Type_create_struct(2, lengths, places, parts, &type); /* 4 + 2 x 8 bytes in 64 */
    MPI_Type_create_resized(type, 0, 64, &resized);
    pass_and_free(&resized, 2, 8);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    MPI_Datatype type, large;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_contiguous(10, MPI_INT, &type);
    MPI_Type_commit(&type);
    pass(type, 3, 1);
    MPI_Bcast(data, 3, type, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    MPI_Type_vector(3, 2, 5, MPI_DOUBLE, &type);
    pass_and_free(&type, 1, 2);
    pass_blocks();
    pass(MPI_DOUBLE_INT, 2, 4); /* 8 + 4 bytes each, whatever gaps a struct has */
    pass(MPI_2INT, 2, 5);
    MPI_Type_contiguous(1 << 30, MPI_INT, &large);
    MPI_Type_commit(&large);
    if (rank == 0)
        MPI_Send(data, 3, large, MPI_PROC_NULL, 6, MPI_COMM_WORLD);
    MPI_Type_free(&large);
    for (int i = 0; i < 300; i++) {
        static const int ints[3] = {1, 3, 6};
        MPI_Type_contiguous(ints[i % 3], MPI_INT, &type);
        pass_and_free(&type, 1, 7);
    }
    MPI_Finalize();
    return 0;
}
