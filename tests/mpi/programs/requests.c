/* Requests: every way to wait and to test, out of order, more than fit into one record, cancelled,
 * freed, and with nobody.
 *
 *= ranks 2
 *= 0 calls MPI_Irecv x306
 *= 0 calls MPI_Waitall x3
 *= 0 calls MPI_Waitany x2
 *= 0 calls MPI_Waitsome any
 *= 0 calls MPI_Wait x2
 *= 0 calls MPI_Test any
 *= 0 calls MPI_Testall any
 *= 0 calls MPI_Testany any
 *= 0 calls MPI_Cancel x1
 *= 0 calls MPI_Isend x2
 *= 0 calls MPI_Barrier x1
 *= 0 calls MPI_Request_free x1
 *= 0 cancels x1
 *= 0 barrier in 2 root -1 sent 0 received 0 x1
 *= 0 receives 1 tag 0 bytes 4 in 2 x100
 *= 0 receives 1 tag 1 bytes 8 in 2 x100
 *= 0 receives 1 tag 2 bytes 4 in 2 x100
 *= 0 receives 1 tag 10 bytes 4 in 2 x1
 *= 0 receives 1 tag 11 bytes 4 in 2 x1
 *= 0 receives 1 tag 12 bytes 4 in 2 x1
 *= 0 receives 1 tag 13 bytes 4 in 2 x1
 *= 0 receives -2 tag 14 bytes 0 in 2 x1
 *= 0 sends 1 tag 20 bytes 8 in 2 x1
 *= 0 sends -2 tag 21 bytes 8 in 2 x1
 *= 1 calls MPI_Isend x200
 *= 1 calls MPI_Issend x50
 *= 1 calls MPI_Send x4
 *= 1 calls MPI_Ibsend x25
 *= 1 calls MPI_Irsend x25
 *= 1 calls MPI_Buffer_attach x1
 *= 1 calls MPI_Buffer_detach x1
 *= 1 calls MPI_Barrier x1
 *= 1 calls MPI_Testsome any
 *= 1 calls MPI_Waitall x2
 *= 1 calls MPI_Recv x1
 *= 1 barrier in 2 root -1 sent 0 received 0 x1
 *= 1 sends 0 tag 0 bytes 4 in 2 x100
 *= 1 sends 0 tag 1 bytes 8 in 2 x100
 *= 1 sends 0 tag 2 bytes 4 in 2 x100
 *= 1 sends 0 tag 10 bytes 4 in 2 x1
 *= 1 sends 0 tag 11 bytes 4 in 2 x1
 *= 1 sends 0 tag 12 bytes 4 in 2 x1
 *= 1 sends 0 tag 13 bytes 4 in 2 x1
 *= 1 receives 0 tag 20 bytes 8 in 2 x1
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MANY = 100 };

static int in[3 * MANY][4], out[3 * MANY];
static MPI_Request requests[3 * MANY];

static void receive(void)
{
    int flag = 0, index, done = 0, more, indices[MANY];
    MPI_Request odd[8];
    /* as posted; smaller than posted; from anybody, in the other order */
    for (int i = 0; i < MANY; i++) {
        MPI_Irecv(in[i], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[i]);
        MPI_Irecv(in[MANY + i], 4, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[MANY + i]);
        MPI_Irecv(in[2 * MANY + i], 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD,
                  &requests[2 * MANY + 99 - i]);
    }
    MPI_Irecv(&index, 1, MPI_INT, 1, 99, MPI_COMM_WORLD, &odd[6]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    MPI_Waitall(MANY, requests + MANY, MPI_STATUSES_IGNORE);
    while (done < MANY) {
        MPI_Waitsome(MANY, requests + 2 * MANY, &more, indices, MPI_STATUSES_IGNORE);
        done += more;
    }
    for (int i = 0; i < 4; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, 10 + i, MPI_COMM_WORLD, &odd[i]);
    MPI_Irecv(&in[5], 1, MPI_INT, MPI_PROC_NULL, 14, MPI_COMM_WORLD, &odd[4]);
    while (!flag)
        MPI_Test(&odd[0], &flag, MPI_STATUS_IGNORE);
    for (flag = 0; !flag;)
        MPI_Testany(1, &odd[1], &index, &flag, MPI_STATUS_IGNORE);
    for (flag = 0; !flag;)
        MPI_Testall(1, &odd[2], &flag, MPI_STATUSES_IGNORE);
    MPI_Waitany(1, &odd[3], &index, MPI_STATUS_IGNORE);
    MPI_Waitany(1, &odd[4], &index, MPI_STATUS_IGNORE);
    MPI_Cancel(&odd[6]);
    MPI_Wait(&odd[6], MPI_STATUS_IGNORE);
    MPI_Isend(out, 2, MPI_INT, 1, 20, MPI_COMM_WORLD, &odd[0]);
    MPI_Request_free(&odd[0]);
    MPI_Isend(out, 2, MPI_INT, MPI_PROC_NULL, 21, MPI_COMM_WORLD, &odd[0]);
    MPI_Wait(&odd[0], MPI_STATUS_IGNORE);
    MPI_Waitall(8 - 8, odd, MPI_STATUSES_IGNORE);
}

static void send(void)
{
    static char buffer[100000];
    void *detached;
    int size, done = 0, more, indices[MANY];
    MPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MANY; i++) {
        MPI_Isend(&out[i], 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(&out[i], 2, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[MANY + i]);
    }
    for (int i = 0; i < 50; i++)
        MPI_Issend(&out[i], 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[2 * MANY + i]);
    for (int i = 50; i < 75; i++)
        MPI_Ibsend(&out[i], 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[2 * MANY + i]);
    for (int i = 75; i < 100; i++)
        MPI_Irsend(&out[i], 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[2 * MANY + i]);
    while (done < MANY) {
        MPI_Testsome(MANY, requests, &more, indices, MPI_STATUSES_IGNORE);
        done += more;
    }
    MPI_Waitall(MANY, requests + MANY, MPI_STATUSES_IGNORE);
    MPI_Waitall(MANY, requests + 2 * MANY, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++)
        MPI_Send(out, 1, MPI_INT, 0, 10 + i, MPI_COMM_WORLD);
    MPI_Recv(out, 2, MPI_INT, 0, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&detached, &size);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        receive();
    else
        send();
    MPI_Finalize();
    return 0;
}
