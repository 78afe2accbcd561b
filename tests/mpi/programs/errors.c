/* Errors that the program handles: what failed is a call and nothing else, and nothing is asked of
 * the library that the program did not ask itself.
 *
 *= alone
 *= 0 calls MPI_Allreduce x1
 *= 0 calls MPI_Send x9
 *= 0 sends 1 tag 1 bytes 40 in 2 x4
 *= 0 sends 1 tag 2 bytes 4 in 2 x4
 *= 1 calls MPI_Allreduce x1
 *= 1 calls MPI_Send x1
 *= * calls MPI_Isend x1
 *= * calls MPI_Bcast x1
 *= * calls MPI_Ibarrier x1
 *= 1 calls MPI_Recv x2
 *= 1 calls MPI_Irecv x6
 *= 1 calls MPI_Wait x2
 *= 1 calls MPI_Waitall x4
 *= 1 receives 0 tag 1 bytes 4 in 2 x4
 *= 1 receives 0 tag 2 bytes 4 in 2 x4
 *= 0 calls MPI_Wait x1
 *= 0 calls MPI_Test x1
 *= 0 calls MPI_Waitall x1
 *= 0 calls MPI_Waitany x1
 *= 0 calls MPI_Testsome x1
 *= 0 calls MPI_Comm_dup x1
 *= 0 calls MPI_Irecv x1
 *= 0 calls MPI_Improbe x1
 *= 0 calls MPI_Request_free x1
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int handled;

static void handle(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    handled++;
}

/* `class` 0: any. */
static void check(int error, int class)
{
    int is;
    MPI_Error_class(error, &is);
    if (error != MPI_SUCCESS && (class == 0 || is == class))
        return;
    fprintf(stderr, "error of class %d, expected %d\n", is, class);
    exit(1);
}

/* Data types and roots that there are not. */
static void wrong_arguments(MPI_Comm comm)
{
    int x = 0, y;
    MPI_Request request;
    check(MPI_Allreduce(&x, &y, 1, MPI_DATATYPE_NULL, MPI_SUM, comm), 0);
    check(MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, comm), 0);
    check(MPI_Isend(&x, 1, MPI_DATATYPE_NULL, 0, 0, comm, &request), 0);
    check(MPI_Bcast(&x, 1, MPI_INT, 77, comm), 0);
    check(MPI_Ibarrier(MPI_COMM_NULL, &request), 0);
    printf("handled %d\n", handled);
}

/* Messages for which there is not enough room are received all the same. */
static void too_long(int rank)
{
    int data[10] = {0};
    MPI_Request requests[2];
    MPI_Status statuses[2];
    if (rank == 0) {
        for (int i = 0; i < 4; i++) {
            MPI_Send(data, 10, MPI_INT, 1, 1, MPI_COMM_WORLD);
            MPI_Send(data, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
        }
        return;
    }
    check(MPI_Recv(data, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, statuses), MPI_ERR_TRUNCATE);
    MPI_Recv(data, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++) {
        MPI_Irecv(data, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(data, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[1]);
        check(MPI_Waitall(2, requests, i ? statuses : MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS);
        /* Some libraries leave the other one open, and say so. */
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Irecv(data, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[0]);
    check(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    MPI_Irecv(data, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
}

/* Results that the program has no place for. */
static void no_place(MPI_Comm comm)
{
    int x = 0, flag, index, done;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Wait(NULL, MPI_STATUS_IGNORE);
    MPI_Test(&request, NULL, MPI_STATUS_IGNORE);
    MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE);
    MPI_Waitany(1, NULL, &index, MPI_STATUS_IGNORE);
    MPI_Testsome(1, NULL, &done, NULL, MPI_STATUSES_IGNORE);
    MPI_Comm_dup(comm, NULL);
    MPI_Irecv(&x, 1, MPI_INT, 0, 0, comm, NULL);
    MPI_Improbe(0, 0, comm, &flag, NULL, MPI_STATUS_IGNORE);
    MPI_Request_free(NULL);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    wrong_arguments(MPI_COMM_WORLD);
    too_long(rank);
    if (rank == 0)
        no_place(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
