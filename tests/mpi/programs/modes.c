/* Persistent sends say their mode when they are started, as there is no function that does. A
 * receive that is given up takes its message all the same, and nobody hears of it.
 *
 *= ranks 2
 *= replays
 *= * calls MPI_Barrier x2
 *= * barrier in 2 root -1 sent 0 received 0 x2
 *= 0 calls MPI_Buffer_attach x1
 *= 0 calls MPI_Buffer_detach x1
 *= 0 calls MPI_Send_init x1
 *= 0 calls MPI_Bsend_init x1
 *= 0 calls MPI_Ssend_init x1
 *= 0 calls MPI_Rsend_init x1
 *= 0 calls MPI_Startall x3
 *= 0 calls MPI_Waitall x3
 *= 0 calls MPI_Start x1
 *= 0 calls MPI_Wait x1
 *= 0 calls MPI_Request_free x4
 *= 0 calls MPI_Bsend x1
 *= 0 calls MPI_Send x1
 *= 0 sends 1 tag 1 bytes 4 in 2 x3
 *= 0 sends 1 tag 2 bytes 4 in 2 buffered x4
 *= 0 sends 1 tag 3 bytes 4 in 2 synchronous x3
 *= 0 sends 1 tag 4 bytes 4 in 2 x3
 *= 0 sends 1 tag 2 bytes 4 in 2 x1
 *= 0 sends 1 tag 9 bytes 4 in 2 x1
 *= 1 calls MPI_Irecv x13
 *= 1 calls MPI_Waitall x3
 *= 1 calls MPI_Request_free x1
 *= 1 calls MPI_Recv x2
 *= 1 receives 0 tag 1 bytes 4 in 2 x3
 *= 1 receives 0 tag 2 bytes 4 in 2 x5
 *= 1 receives 0 tag 3 bytes 4 in 2 x3
 *= 1 receives 0 tag 4 bytes 4 in 2 x3
 *= 1 gives up a receive x1
 */
#include <mpi.h>

enum { KINDS = 4, ROUNDS = 3 };

static void send(void)
{
    static char buffer[10 * (sizeof(int) + MPI_BSEND_OVERHEAD)];
    static int out[KINDS];
    MPI_Request kept[KINDS];
    void *detached;
    int size;
    MPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Send_init(&out[0], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &kept[0]);
    MPI_Bsend_init(&out[1], 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &kept[1]);
    MPI_Ssend_init(&out[2], 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &kept[2]);
    MPI_Rsend_init(&out[3], 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &kept[3]);
    MPI_Barrier(MPI_COMM_WORLD); /* all receives are posted */
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Startall(KINDS, kept);
        MPI_Waitall(KINDS, kept, MPI_STATUSES_IGNORE);
    }
    MPI_Start(&kept[1]);
    MPI_Wait(&kept[1], MPI_STATUS_IGNORE);
    MPI_Bsend(&out[1], 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    MPI_Send(&out[0], 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
    for (int i = 0; i < KINDS; i++)
        MPI_Request_free(&kept[i]);
    MPI_Buffer_detach(&detached, &size);
}

static void receive(void)
{
    static int in[KINDS * ROUNDS + 1];
    MPI_Request requests[KINDS * ROUNDS], given_up;
    for (int i = 0; i < KINDS * ROUNDS; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, 0, 1 + i % KINDS, MPI_COMM_WORLD, &requests[i]);
    MPI_Irecv(&in[KINDS * ROUNDS], 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &given_up);
    MPI_Request_free(&given_up);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ROUNDS; i++)
        MPI_Waitall(KINDS, &requests[KINDS * i], MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; i++)
        MPI_Recv(&in[0], 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        send();
    else
        receive();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
