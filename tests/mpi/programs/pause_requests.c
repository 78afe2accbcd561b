/* Requests that are open while the program pauses measurement: what was posted before and completes
 * in between is complete, what is posted in between is not there, and neither is taken for one of
 * those that come later, for which the library uses the same handles.
 *
 *= ranks 2
 *= * measure off x2
 *= * measure on x2
 *= * calls MPI_Irecv x4
 *= * calls MPI_Isend x4
 *= * calls MPI_Waitall x1
 *= * calls MPI_Wait x3
 *= * calls MPI_Waitany x1
 *= * calls MPI_Recv_init x1
 *= * calls MPI_Send_init x1
 *= * calls MPI_Startall x1
 *= * calls MPI_Request_free x2
 *= 0 sends 1 tag 1 bytes 4 in 2 x1
 *= 0 sends 1 tag 2 bytes 8 in 2 x1
 *= 0 sends 1 tag 4 bytes 16 in 2 x1
 *= 0 sends 1 tag 5 bytes 20 in 2 x1
 *= 0 sends 1 tag 6 bytes 24 in 2 x1
 *= 0 receives 1 tag 1 bytes 4 in 2 x1
 *= 0 receives 1 tag 2 bytes 8 in 2 x1
 *= 0 receives 1 tag 4 bytes 16 in 2 x1
 *= 0 receives 1 tag 5 bytes 20 in 2 x1
 *= 0 receives 1 tag 6 bytes 24 in 2 x1
 *= 1 sends 0 tag 1 bytes 4 in 2 x1
 *= 1 sends 0 tag 2 bytes 8 in 2 x1
 *= 1 sends 0 tag 4 bytes 16 in 2 x1
 *= 1 sends 0 tag 5 bytes 20 in 2 x1
 *= 1 sends 0 tag 6 bytes 24 in 2 x1
 *= 1 receives 0 tag 1 bytes 4 in 2 x1
 *= 1 receives 0 tag 2 bytes 8 in 2 x1
 *= 1 receives 0 tag 4 bytes 16 in 2 x1
 *= 1 receives 0 tag 5 bytes 20 in 2 x1
 *= 1 receives 0 tag 6 bytes 24 in 2 x1
 */
#include <mpi.h>

static int other, in[16], out[16];

/* Messages of `tag` ints are told apart by their size as well. */
static void post(int tag, MPI_Request *pair)
{
    MPI_Irecv(in, 16, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &pair[0]);
    MPI_Isend(out, tag, MPI_INT, other, tag, MPI_COMM_WORLD, &pair[1]);
}

static void wait_apart(MPI_Request *pair)
{
    int index, flag = 0;
    MPI_Waitany(1, pair, &index, MPI_STATUS_IGNORE);
    while (!flag)
        MPI_Test(&pair[1], &flag, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Request a[2], b[2], c[2], p[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    MPI_Recv_init(in, 16, MPI_INT, other, 6, MPI_COMM_WORLD, &p[0]);
    MPI_Send_init(out, 6, MPI_INT, other, 6, MPI_COMM_WORLD, &p[1]);
    MPI_Startall(2, p);
    post(1, a);
    post(2, b);
    MPI_Pcontrol(0);
    MPI_Waitall(2, a, MPI_STATUSES_IGNORE);
    wait_apart(b);
    MPI_Wait(&p[0], MPI_STATUS_IGNORE);
    post(3, c);
    MPI_Pcontrol(1);
    post(4, a); /* the handles of `a` and `b`, or their like */
    MPI_Waitall(2, a, MPI_STATUSES_IGNORE);
    MPI_Wait(&c[0], MPI_STATUS_IGNORE);
    MPI_Wait(&c[1], MPI_STATUS_IGNORE);
    MPI_Pcontrol(0);
    MPI_Wait(&p[1], MPI_STATUS_IGNORE);
    MPI_Pcontrol(1);
    post(5, b);
    MPI_Request_free(&p[0]);
    MPI_Request_free(&p[1]);
    MPI_Wait(&b[0], MPI_STATUS_IGNORE);
    MPI_Waitany(1, &b[1], &rank, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
