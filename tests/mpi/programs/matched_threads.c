/* Threads that probe and receive, two in a communicator of two ranks and two in one of three: the
 * handle of a message that was received may belong to another thread at once.
 *
 *= ranks 3
 *= replays
 *= * calls pthread_create x4
 *= * calls pthread_join x4
 *= 0.1 calls pthread_barrier_wait x1
 *= 0.2 calls pthread_barrier_wait x1
 *= 0.3 calls pthread_barrier_wait x1
 *= 0.4 calls pthread_barrier_wait x1
 *= 1.1 calls pthread_barrier_wait x1
 *= 1.2 calls pthread_barrier_wait x1
 *= 1.3 calls pthread_barrier_wait x1
 *= 1.4 calls pthread_barrier_wait x1
 *= 2.1 calls pthread_barrier_wait x1
 *= 2.2 calls pthread_barrier_wait x1
 *= 2.3 calls pthread_barrier_wait x1
 *= 2.4 calls pthread_barrier_wait x1
 *= * calls MPI_Comm_split x2
 *= * calls MPI_Comm_dup x2
 *= * create in 3 root -1 sent 0 received 0 x4
 *= 0.1 calls MPI_Send x2000
 *= 0.1 sends 1 tag 0 bytes 4 in 2 x2000
 *= 1.1 calls MPI_Mprobe x2000
 *= 1.1 calls MPI_Mrecv x2000
 *= 1.1 receives 0 tag 0 bytes 4 in 2 x2000
 *= 0.2 calls MPI_Send x2000
 *= 0.2 sends 1 tag 0 bytes 4 in 2 x2000
 *= 1.2 calls MPI_Mprobe x2000
 *= 1.2 calls MPI_Mrecv x2000
 *= 1.2 receives 0 tag 0 bytes 4 in 2 x2000
 *= 0.3 calls MPI_Send x2000
 *= 0.3 sends 1 tag 0 bytes 4 in 3 x2000
 *= 1.3 calls MPI_Mprobe x2000
 *= 1.3 calls MPI_Mrecv x2000
 *= 1.3 receives 0 tag 0 bytes 4 in 3 x2000
 *= 0.4 calls MPI_Send x2000
 *= 0.4 sends 1 tag 0 bytes 4 in 3 x2000
 *= 1.4 calls MPI_Mprobe x2000
 *= 1.4 calls MPI_Mrecv x2000
 *= 1.4 receives 0 tag 0 bytes 4 in 3 x2000
 */
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

enum { THREADS = 4, MESSAGES = 2000 };

static int rank;
/* All begin before one ends, in their order, so that each has a number of its own. */
static sem_t begun;
static pthread_barrier_t all;
static MPI_Comm comms[THREADS];

static void *exchange(void *comm)
{
    int data = 0;
    MPI_Message message;
    sem_post(&begun);
    pthread_barrier_wait(&all);
    for (int i = 0; rank < 2 && i < MESSAGES; i++) {
        if (rank == 0) {
            MPI_Send(&data, 1, MPI_INT, 1, 0, *(MPI_Comm *)comm);
            continue;
        }
        MPI_Mprobe(0, 0, *(MPI_Comm *)comm, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(&data, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return 77;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sem_init(&begun, 0, 0);
    pthread_barrier_init(&all, NULL, THREADS);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &comms[i]);
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[2 + i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, exchange, &comms[i]);
        sem_wait(&begun);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    MPI_Finalize();
    return 0;
}
