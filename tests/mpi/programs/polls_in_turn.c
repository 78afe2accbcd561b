/* Queries of several functions in turn that find nothing, as progress loops make them: a record
 * stands for many of each, and all are counted. A group of six records of 32 bytes lasts up to 100 us,
 * and ends before a query that would make it longer: 12 of them, or fewer, in any 100 us. 140,000 records
 * would be 4,480,000 bytes.
 *
 *= ranks 2
 *= bytes 400000 + 3840000/s
 *= * calls MPI_Iprobe x20000
 *= * calls MPI_Improbe x10000
 *= * calls MPI_Test x10000
 *= * calls MPI_Testall x10000
 *= * calls MPI_Testany x10000
 *= * calls MPI_Testsome x10000
 *= * calls MPI_Barrier x2
 *= * barrier in 2 root -1 sent 0 received 0 x2
 *= * calls MPI_Irecv x2
 *= * calls MPI_Send x2
 *= * calls MPI_Waitall x1
 *= 0 sends 1 tag 1 bytes 4 in 2 x2
 *= 1 sends 0 tag 1 bytes 4 in 2 x2
 *= 0 receives 1 tag 1 bytes 4 in 2 x2
 *= 1 receives 0 tag 1 bytes 4 in 2 x2
 */
#include <mpi.h>

int is_impatient = 1; /* nobody waits in the loop (patient.c) */

int main(int argc, char **argv)
{
    int rank, flag, which, some[2], data[2] = {0}, sent = 1;
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&data[i], 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 10000; i++) {
        MPI_Iprobe(1 - rank, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
        MPI_Test(&requests[i % 2], &flag, MPI_STATUS_IGNORE);
        MPI_Testany(2, requests, &which, &flag, MPI_STATUS_IGNORE);
        MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Testsome(2, requests, &which, some, MPI_STATUSES_IGNORE);
        MPI_Improbe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    }
    is_impatient = 0;
    MPI_Barrier(MPI_COMM_WORLD); /* nobody sends before all have asked */
    for (int i = 0; i < 2; i++)
        MPI_Send(&sent, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
