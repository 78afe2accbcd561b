/* MPI_THREAD_MULTIPLE: four threads of each rank at a time, each with requests, waits for any of
 * them, and collectives on a communicator of its own.
 *
 *= ranks 2
 *= replays
 *= * calls pthread_create x4
 *= * calls pthread_join x4
 *= 0.1 calls pthread_barrier_wait x2
 *= 0.2 calls pthread_barrier_wait x2
 *= 0.3 calls pthread_barrier_wait x2
 *= 0.4 calls pthread_barrier_wait x2
 *= 1.1 calls pthread_barrier_wait x2
 *= 1.2 calls pthread_barrier_wait x2
 *= 1.3 calls pthread_barrier_wait x2
 *= 1.4 calls pthread_barrier_wait x2
 *= * calls MPI_Comm_dup x4
 *= * calls MPI_Comm_free x4
 *= * create in 2 root -1 sent 0 received 0 x4
 *= * free in 2 root -1 sent 0 received 0 x4
 *= 0.1 calls MPI_Irecv x150
 *= 0.1 calls MPI_Isend x150
 *= 0.1 calls MPI_Waitany x50
 *= 0.1 calls MPI_Waitsome any
 *= 0.1 calls MPI_Allreduce x50
 *= 0.1 allreduce in 2 root -1 sent 8 received 8 x50
 *= 0.1 sends 1 tag 0 bytes 4 in 2 x50
 *= 0.1 receives 1 tag 0 bytes 4 in 2 x50
 *= 0.1 sends 1 tag 1 bytes 8 in 2 x50
 *= 0.1 receives 1 tag 1 bytes 8 in 2 x50
 *= 0.1 sends 1 tag 2 bytes 12 in 2 x50
 *= 0.1 receives 1 tag 2 bytes 12 in 2 x50
 *= 0.2 calls MPI_Irecv x150
 *= 0.2 calls MPI_Isend x150
 *= 0.2 calls MPI_Waitany x50
 *= 0.2 calls MPI_Waitsome any
 *= 0.2 calls MPI_Allreduce x50
 *= 0.2 allreduce in 2 root -1 sent 8 received 8 x50
 *= 0.2 sends 1 tag 0 bytes 4 in 2 x50
 *= 0.2 receives 1 tag 0 bytes 4 in 2 x50
 *= 0.2 sends 1 tag 1 bytes 8 in 2 x50
 *= 0.2 receives 1 tag 1 bytes 8 in 2 x50
 *= 0.2 sends 1 tag 2 bytes 12 in 2 x50
 *= 0.2 receives 1 tag 2 bytes 12 in 2 x50
 *= 0.3 calls MPI_Irecv x150
 *= 0.3 calls MPI_Isend x150
 *= 0.3 calls MPI_Waitany x50
 *= 0.3 calls MPI_Waitsome any
 *= 0.3 calls MPI_Allreduce x50
 *= 0.3 allreduce in 2 root -1 sent 8 received 8 x50
 *= 0.3 sends 1 tag 0 bytes 4 in 2 x50
 *= 0.3 receives 1 tag 0 bytes 4 in 2 x50
 *= 0.3 sends 1 tag 1 bytes 8 in 2 x50
 *= 0.3 receives 1 tag 1 bytes 8 in 2 x50
 *= 0.3 sends 1 tag 2 bytes 12 in 2 x50
 *= 0.3 receives 1 tag 2 bytes 12 in 2 x50
 *= 0.4 calls MPI_Irecv x150
 *= 0.4 calls MPI_Isend x150
 *= 0.4 calls MPI_Waitany x50
 *= 0.4 calls MPI_Waitsome any
 *= 0.4 calls MPI_Allreduce x50
 *= 0.4 allreduce in 2 root -1 sent 8 received 8 x50
 *= 0.4 sends 1 tag 0 bytes 4 in 2 x50
 *= 0.4 receives 1 tag 0 bytes 4 in 2 x50
 *= 0.4 sends 1 tag 1 bytes 8 in 2 x50
 *= 0.4 receives 1 tag 1 bytes 8 in 2 x50
 *= 0.4 sends 1 tag 2 bytes 12 in 2 x50
 *= 0.4 receives 1 tag 2 bytes 12 in 2 x50
 *= 1.1 calls MPI_Irecv x150
 *= 1.1 calls MPI_Isend x150
 *= 1.1 calls MPI_Waitany x50
 *= 1.1 calls MPI_Waitsome any
 *= 1.1 calls MPI_Allreduce x50
 *= 1.1 allreduce in 2 root -1 sent 8 received 8 x50
 *= 1.1 sends 0 tag 0 bytes 4 in 2 x50
 *= 1.1 receives 0 tag 0 bytes 4 in 2 x50
 *= 1.1 sends 0 tag 1 bytes 8 in 2 x50
 *= 1.1 receives 0 tag 1 bytes 8 in 2 x50
 *= 1.1 sends 0 tag 2 bytes 12 in 2 x50
 *= 1.1 receives 0 tag 2 bytes 12 in 2 x50
 *= 1.2 calls MPI_Irecv x150
 *= 1.2 calls MPI_Isend x150
 *= 1.2 calls MPI_Waitany x50
 *= 1.2 calls MPI_Waitsome any
 *= 1.2 calls MPI_Allreduce x50
 *= 1.2 allreduce in 2 root -1 sent 8 received 8 x50
 *= 1.2 sends 0 tag 0 bytes 4 in 2 x50
 *= 1.2 receives 0 tag 0 bytes 4 in 2 x50
 *= 1.2 sends 0 tag 1 bytes 8 in 2 x50
 *= 1.2 receives 0 tag 1 bytes 8 in 2 x50
 *= 1.2 sends 0 tag 2 bytes 12 in 2 x50
 *= 1.2 receives 0 tag 2 bytes 12 in 2 x50
 *= 1.3 calls MPI_Irecv x150
 *= 1.3 calls MPI_Isend x150
 *= 1.3 calls MPI_Waitany x50
 *= 1.3 calls MPI_Waitsome any
 *= 1.3 calls MPI_Allreduce x50
 *= 1.3 allreduce in 2 root -1 sent 8 received 8 x50
 *= 1.3 sends 0 tag 0 bytes 4 in 2 x50
 *= 1.3 receives 0 tag 0 bytes 4 in 2 x50
 *= 1.3 sends 0 tag 1 bytes 8 in 2 x50
 *= 1.3 receives 0 tag 1 bytes 8 in 2 x50
 *= 1.3 sends 0 tag 2 bytes 12 in 2 x50
 *= 1.3 receives 0 tag 2 bytes 12 in 2 x50
 *= 1.4 calls MPI_Irecv x150
 *= 1.4 calls MPI_Isend x150
 *= 1.4 calls MPI_Waitany x50
 *= 1.4 calls MPI_Waitsome any
 *= 1.4 calls MPI_Allreduce x50
 *= 1.4 allreduce in 2 root -1 sent 8 received 8 x50
 *= 1.4 sends 0 tag 0 bytes 4 in 2 x50
 *= 1.4 receives 0 tag 0 bytes 4 in 2 x50
 *= 1.4 sends 0 tag 1 bytes 8 in 2 x50
 *= 1.4 receives 0 tag 1 bytes 8 in 2 x50
 *= 1.4 sends 0 tag 2 bytes 12 in 2 x50
 *= 1.4 receives 0 tag 2 bytes 12 in 2 x50
 */
#include <mpi.h>
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 50, MESSAGES = 3 };

static MPI_Comm comms[THREADS];
static int rank, numbers[THREADS];
static pthread_barrier_t all_here;

static void *work(void *argument)
{
    int number = *(int *)argument, in[MESSAGES][8], out[8] = {0}, which, done, more;
    int indices[2 * MESSAGES];
    MPI_Comm comm = comms[number];
    /* so that no thread takes the location of one that has ended */
    pthread_barrier_wait(&all_here);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request r[2 * MESSAGES];
        for (int i = 0; i < MESSAGES; i++)
            MPI_Irecv(in[i], 8, MPI_INT, MPI_ANY_SOURCE, i, comm, &r[i]);
        for (int i = 0; i < MESSAGES; i++)
            MPI_Isend(out, 1 + i, MPI_INT, 1 - rank, i, comm, &r[MESSAGES + i]);
        MPI_Waitany(2 * MESSAGES, r, &which, MPI_STATUS_IGNORE);
        for (done = 1; done < 2 * MESSAGES; done += more)
            MPI_Waitsome(2 * MESSAGES, r, &more, indices, MPI_STATUSES_IGNORE);
        MPI_Allreduce(out, in[0], 2, MPI_INT, MPI_MAX, comm);
    }
    pthread_barrier_wait(&all_here);
    return argument;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE)
        return 77;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_barrier_init(&all_here, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    return 0;
}
