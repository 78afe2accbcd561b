/* Two processes spawn two more of the same program, which are in the same run: messages both ways
 * between the two groups, among all four of them, and in pairs of one of each; and collectives.
 *
 *= ranks 2
 *= spawns 1 2
 *= * calls MPI_Comm_spawn x1
 *= * calls MPI_Intercomm_merge x1
 *= 1/* calls MPI_Intercomm_merge x1
 *= * create in 2 root -1 sent 0 received 0 x2
 *= 1/* create in 2 root -1 sent 0 received 0 x1
 *= * calls MPI_Comm_split x1
 *= 1/* calls MPI_Comm_split x1
 *= * create in 4 root -1 sent 0 received 0 x1
 *= 1/* create in 4 root -1 sent 0 received 0 x1
 *= * calls MPI_Comm_free x2
 *= 1/* calls MPI_Comm_free x2
 *= * calls MPI_Comm_disconnect x1
 *= 1/* calls MPI_Comm_disconnect x1
 *= * free in 2 root -1 sent 0 received 0 x2
 *= 1/* free in 2 root -1 sent 0 received 0 x2
 *= * free in 4 root -1 sent 0 received 0 x1
 *= 1/* free in 4 root -1 sent 0 received 0 x1
 *= * calls MPI_Bcast x1
 *= 1/* calls MPI_Bcast x1
 *= 0 bcast in 2 root -1 sent 40 received 0 x1
 *= 1 bcast in 2 root -1 sent 0 received 0 x1
 *= 1/* bcast in 2 root 0 sent 0 received 40 x1
 *= * calls MPI_Barrier x1
 *= 1/* calls MPI_Barrier x1
 *= * barrier in 4 root -1 sent 0 received 0 x1
 *= 1/* barrier in 4 root -1 sent 0 received 0 x1
 *= 0 calls MPI_Send x3
 *= 1 calls MPI_Send x1
 *= 1/* calls MPI_Send x2
 *= 0 calls MPI_Recv x2
 *= 1 calls MPI_Recv x2
 *= 1/0 calls MPI_Recv x1
 *= 1/1 calls MPI_Recv x3
 *= 0 sends 1/1 tag 5 bytes 4 in 2 x1
 *= 1/1 receives 0 tag 5 bytes 4 in 2 x1
 *= 1/0 sends 1 tag 6 bytes 8 in 2 x1
 *= 1 receives 1/0 tag 6 bytes 8 in 2 x1
 *= 0 sends 1/1 tag 7 bytes 12 in 4 x1
 *= 1/1 receives 0 tag 7 bytes 12 in 4 x1
 *= 1/1 sends 0 tag 8 bytes 16 in 4 x1
 *= 0 receives 1/1 tag 8 bytes 16 in 4 x1
 *= 0 sends 1/0 tag 9 bytes 20 in 2 x1
 *= 1/0 receives 0 tag 9 bytes 20 in 2 x1
 *= 1 sends 1/1 tag 9 bytes 20 in 2 x1
 *= 1/1 receives 1 tag 9 bytes 20 in 2 x1
 *= 1/0 sends 0 tag 9 bytes 24 in 2 x1
 *= 0 receives 1/0 tag 9 bytes 24 in 2 x1
 *= 1/1 sends 1 tag 9 bytes 24 in 2 x1
 *= 1 receives 1/1 tag 9 bytes 24 in 2 x1
 */
#include <mpi.h>

static int values[10];

static void send(int n, int to, int tag, MPI_Comm comm)
{
    MPI_Send(values, n, MPI_INT, to, tag, comm);
}

static void receive(int from, int tag, MPI_Comm comm)
{
    MPI_Recv(values, 10, MPI_INT, from, tag, comm, MPI_STATUS_IGNORE);
}

static void between_groups(MPI_Comm inter, int child, int rank)
{
    if (!child && rank == 0)
        send(1, 1, 5, inter);
    if (child && rank == 1)
        receive(0, 5, inter);
    if (child && rank == 0)
        send(2, 1, 6, inter);
    if (!child && rank == 1)
        receive(MPI_ANY_SOURCE, 6, inter);
    MPI_Bcast(values, 10, MPI_INT, child ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
}

static void among_all(MPI_Comm all)
{
    int rank;
    MPI_Comm pair;
    MPI_Comm_rank(all, &rank);
    if (rank == 0) {
        send(3, 3, 7, all);
        receive(3, 8, all);
    } else if (rank == 3) {
        receive(0, 7, all);
        send(4, 0, 8, all);
    }
    MPI_Barrier(all);
    MPI_Comm_split(all, rank % 2, rank, &pair);
    if (rank < 2) {
        send(5, 1, 9, pair);
        receive(1, 9, pair);
    } else {
        receive(0, 9, pair);
        send(6, 0, 9, pair);
    }
    MPI_Comm_free(&pair);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, inter, all;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    inter = parent;
    if (parent == MPI_COMM_NULL) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        if (MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                           MPI_ERRCODES_IGNORE) != MPI_SUCCESS)
            MPI_Abort(MPI_COMM_WORLD, 77);
    }
    between_groups(inter, parent != MPI_COMM_NULL, rank);
    MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &all);
    among_all(all);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
    MPI_Finalize();
    return 0;
}
