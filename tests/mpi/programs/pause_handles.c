/* What is made while recording is paused is known afterwards: MPI itself, whose world is made in a
 * pause, communicators, windows and persistent requests. What is freed in a pause is forgotten,
 *also where the library gives its handle to something else.
 *
 *= ranks 4
 *= * calls MPI_Init x0
 *= * measure off x8
 *= * measure on x8
 *= 0 calls MPI_Send x8
 *= 2 calls MPI_Send x8
 *= 1 calls MPI_Recv x8
 *= 3 calls MPI_Recv x8
 *= * calls MPI_Barrier x17
 *= * barrier in 2 root -1 sent 0 received 0 x8
 *= * barrier in 4 root -1 sent 0 received 0 x9
 *= * calls MPI_Comm_free x7
 *= * free in 2 root -1 sent 0 received 0 x7
 *= 0 sends 1 tag 7 bytes 4 in 2 x8
 *= 1 receives 0 tag 7 bytes 4 in 2 x8
 *= 2 sends 3 tag 7 bytes 4 in 2 x8
 *= 3 receives 2 tag 7 bytes 4 in 2 x8
 *= * calls MPI_Put x1
 *= * calls MPI_Win_fence x2
 *= * calls MPI_Win_free x1
 *= 0 rma put to 1 bytes 4 x1
 *= 1 rma put to 0 bytes 4 x1
 *= 2 rma put to 3 bytes 4 x1
 *= 3 rma put to 2 bytes 4 x1
 *= * calls MPI_Startall x1
 *= * calls MPI_Irecv x1
 *= * calls MPI_Isend x1
 *= * calls MPI_Waitall x2
 *= 0 sends 1 tag 8 bytes 8 in 2 x1
 *= 0 receives 1 tag 8 bytes 8 in 2 x1
 *= 1 sends 0 tag 8 bytes 8 in 2 x1
 *= 1 receives 0 tag 8 bytes 8 in 2 x1
 *= 2 sends 3 tag 8 bytes 8 in 2 x1
 *= 2 receives 3 tag 8 bytes 8 in 2 x1
 *= 3 sends 2 tag 8 bytes 8 in 2 x1
 *= 3 receives 2 tag 8 bytes 8 in 2 x1
 *= 0 sends 1 tag 9 bytes 8 in 4 x1
 *= 0 receives 1 tag 9 bytes 8 in 4 x1
 *= 1 sends 0 tag 9 bytes 8 in 4 x1
 *= 1 receives 0 tag 9 bytes 8 in 4 x1
 *= 2 sends 3 tag 9 bytes 8 in 4 x1
 *= 2 receives 3 tag 9 bytes 8 in 4 x1
 *= 3 sends 2 tag 9 bytes 8 in 4 x1
 *= 3 receives 2 tag 9 bytes 8 in 4 x1
 */
#include <lull/lull.h>
#include <mpi.h>

static int rank;

static void use(MPI_Comm half)
{
    int at, value = 0;
    MPI_Comm_rank(half, &at);
    if (at == 0)
        MPI_Send(&value, 1, MPI_INT, 1, 7, half);
    else
        MPI_Recv(&value, 1, MPI_INT, 0, 7, half, MPI_STATUS_IGNORE);
    MPI_Barrier(half);
}

/* Halves with one handle after the other: those from before the first pause have other members. */
static void communicators(void)
{
    MPI_Comm half, kept;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&half);
    MPI_Pcontrol(1);
    for (int i = 0; i < 3; i++) {
        MPI_Pcontrol(0);
        MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
        MPI_Comm_dup(half, &kept);
        MPI_Pcontrol(1);
        use(half);
        MPI_Barrier(MPI_COMM_WORLD);
        use(kept);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Comm_free(&half);
        MPI_Comm_free(&kept);
    }
    MPI_Pcontrol(0);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
    MPI_Pcontrol(1);
    use(half);
    use(half);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&half);
}

static void window(void)
{
    int shown[4] = {0}, value = rank;
    MPI_Win made;
    MPI_Pcontrol(0);
    MPI_Win_create(shown, sizeof shown, sizeof *shown, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
    MPI_Pcontrol(1);
    MPI_Win_fence(0, made);
    MPI_Put(&value, 1, MPI_INT, rank ^ 1, 0, 1, MPI_INT, made);
    MPI_Win_fence(0, made);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&made);
}

/* Requests that are made in a pause are started outside; others are made before and freed in it. */
static void requests(void)
{
    int in[2], out[2] = {rank, rank};
    MPI_Comm half;
    MPI_Request pair[2];
    MPI_Pcontrol(0);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
    MPI_Recv_init(in, 2, MPI_INT, MPI_ANY_SOURCE, 8, half, &pair[0]);
    MPI_Send_init(out, 2, MPI_INT, (rank & 1) ^ 1, 8, half, &pair[1]);
    MPI_Pcontrol(1);
    MPI_Startall(2, pair);
    MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
    MPI_Pcontrol(0);
    MPI_Request_free(&pair[0]);
    MPI_Request_free(&pair[1]);
    MPI_Pcontrol(1);
    MPI_Irecv(in, 2, MPI_INT, rank ^ 1, 9, MPI_COMM_WORLD, &pair[0]);
    MPI_Isend(out, 2, MPI_INT, rank ^ 1, 9, MPI_COMM_WORLD, &pair[1]);
    MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    lull_pause(); /* MPI_Pcontrol may not be called yet */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    communicators();
    window();
    requests();
    MPI_Finalize();
    return 0;
}
