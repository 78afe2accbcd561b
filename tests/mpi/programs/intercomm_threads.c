/* Intercommunicators that several threads make at once, with one tag and the same members: what the
 * threads have apart is the communicator of their side, and that in which the leaders talk. In each
 * one another number of messages is sent, so that those which are taken for each other do not
 *match.
 *
 *= ranks 3
 *= * calls pthread_create x4
 *= * calls pthread_join x4
 *= * calls MPI_Comm_split x1
 *= * calls MPI_Comm_dup x8
 *= * create in 3 root -1 sent 0 received 0 x5
 *= 0 create in 2 root -1 sent 0 received 0 x4
 *= 1 create in 2 root -1 sent 0 received 0 x4
 *= 2 create in 1 root -1 sent 0 received 0 x4
 *= 0.1 calls MPI_Intercomm_create x10
 *= 0.1 calls MPI_Comm_dup x10
 *= 0.1 calls MPI_Comm_free x20
 *= 0.1 create in 2 root -1 sent 0 received 0 x20
 *= 0.1 free in 2 root -1 sent 0 received 0 x20
 *= 0.1 calls MPI_Send x20
 *= 0.1 sends 2 tag 1 bytes 4 in 2 x10
 *= 0.1 sends 2 tag 2 bytes 4 in 2 x10
 *= 1.1 calls MPI_Intercomm_create x10
 *= 1.1 calls MPI_Comm_dup x10
 *= 1.1 calls MPI_Comm_free x20
 *= 1.1 create in 2 root -1 sent 0 received 0 x20
 *= 1.1 free in 2 root -1 sent 0 received 0 x20
 *= 1.1 calls MPI_Send x20
 *= 1.1 sends 2 tag 1 bytes 4 in 2 x10
 *= 1.1 sends 2 tag 2 bytes 4 in 2 x10
 *= 2.1 calls MPI_Intercomm_create x10
 *= 2.1 calls MPI_Comm_dup x10
 *= 2.1 calls MPI_Comm_free x20
 *= 2.1 create in 1 root -1 sent 0 received 0 x20
 *= 2.1 free in 1 root -1 sent 0 received 0 x20
 *= 2.1 calls MPI_Recv x40
 *= 2.1 receives 0 tag 1 bytes 4 in 1 x10
 *= 2.1 receives 0 tag 2 bytes 4 in 1 x10
 *= 2.1 receives 1 tag 1 bytes 4 in 1 x10
 *= 2.1 receives 1 tag 2 bytes 4 in 1 x10
 *= 0.2 calls MPI_Intercomm_create x10
 *= 0.2 calls MPI_Comm_dup x10
 *= 0.2 calls MPI_Comm_free x20
 *= 0.2 create in 2 root -1 sent 0 received 0 x20
 *= 0.2 free in 2 root -1 sent 0 received 0 x20
 *= 0.2 calls MPI_Send x30
 *= 0.2 sends 2 tag 1 bytes 4 in 2 x20
 *= 0.2 sends 2 tag 2 bytes 4 in 2 x10
 *= 1.2 calls MPI_Intercomm_create x10
 *= 1.2 calls MPI_Comm_dup x10
 *= 1.2 calls MPI_Comm_free x20
 *= 1.2 create in 2 root -1 sent 0 received 0 x20
 *= 1.2 free in 2 root -1 sent 0 received 0 x20
 *= 1.2 calls MPI_Send x30
 *= 1.2 sends 2 tag 1 bytes 4 in 2 x20
 *= 1.2 sends 2 tag 2 bytes 4 in 2 x10
 *= 2.2 calls MPI_Intercomm_create x10
 *= 2.2 calls MPI_Comm_dup x10
 *= 2.2 calls MPI_Comm_free x20
 *= 2.2 create in 1 root -1 sent 0 received 0 x20
 *= 2.2 free in 1 root -1 sent 0 received 0 x20
 *= 2.2 calls MPI_Recv x60
 *= 2.2 receives 0 tag 1 bytes 4 in 1 x20
 *= 2.2 receives 0 tag 2 bytes 4 in 1 x10
 *= 2.2 receives 1 tag 1 bytes 4 in 1 x20
 *= 2.2 receives 1 tag 2 bytes 4 in 1 x10
 *= 0.3 calls MPI_Intercomm_create x10
 *= 0.3 calls MPI_Comm_dup x10
 *= 0.3 calls MPI_Comm_free x20
 *= 0.3 create in 2 root -1 sent 0 received 0 x20
 *= 0.3 free in 2 root -1 sent 0 received 0 x20
 *= 0.3 calls MPI_Send x40
 *= 0.3 sends 2 tag 1 bytes 4 in 2 x30
 *= 0.3 sends 2 tag 2 bytes 4 in 2 x10
 *= 1.3 calls MPI_Intercomm_create x10
 *= 1.3 calls MPI_Comm_dup x10
 *= 1.3 calls MPI_Comm_free x20
 *= 1.3 create in 2 root -1 sent 0 received 0 x20
 *= 1.3 free in 2 root -1 sent 0 received 0 x20
 *= 1.3 calls MPI_Send x40
 *= 1.3 sends 2 tag 1 bytes 4 in 2 x30
 *= 1.3 sends 2 tag 2 bytes 4 in 2 x10
 *= 2.3 calls MPI_Intercomm_create x10
 *= 2.3 calls MPI_Comm_dup x10
 *= 2.3 calls MPI_Comm_free x20
 *= 2.3 create in 1 root -1 sent 0 received 0 x20
 *= 2.3 free in 1 root -1 sent 0 received 0 x20
 *= 2.3 calls MPI_Recv x80
 *= 2.3 receives 0 tag 1 bytes 4 in 1 x30
 *= 2.3 receives 0 tag 2 bytes 4 in 1 x10
 *= 2.3 receives 1 tag 1 bytes 4 in 1 x30
 *= 2.3 receives 1 tag 2 bytes 4 in 1 x10
 *= 0.4 calls MPI_Intercomm_create x10
 *= 0.4 calls MPI_Comm_dup x10
 *= 0.4 calls MPI_Comm_free x20
 *= 0.4 create in 2 root -1 sent 0 received 0 x20
 *= 0.4 free in 2 root -1 sent 0 received 0 x20
 *= 0.4 calls MPI_Send x50
 *= 0.4 sends 2 tag 1 bytes 4 in 2 x40
 *= 0.4 sends 2 tag 2 bytes 4 in 2 x10
 *= 1.4 calls MPI_Intercomm_create x10
 *= 1.4 calls MPI_Comm_dup x10
 *= 1.4 calls MPI_Comm_free x20
 *= 1.4 create in 2 root -1 sent 0 received 0 x20
 *= 1.4 free in 2 root -1 sent 0 received 0 x20
 *= 1.4 calls MPI_Send x50
 *= 1.4 sends 2 tag 1 bytes 4 in 2 x40
 *= 1.4 sends 2 tag 2 bytes 4 in 2 x10
 *= 2.4 calls MPI_Intercomm_create x10
 *= 2.4 calls MPI_Comm_dup x10
 *= 2.4 calls MPI_Comm_free x20
 *= 2.4 create in 1 root -1 sent 0 received 0 x20
 *= 2.4 free in 1 root -1 sent 0 received 0 x20
 *= 2.4 calls MPI_Recv x100
 *= 2.4 receives 0 tag 1 bytes 4 in 1 x40
 *= 2.4 receives 0 tag 2 bytes 4 in 1 x10
 *= 2.4 receives 1 tag 1 bytes 4 in 1 x40
 *= 2.4 receives 1 tag 2 bytes 4 in 1 x10
 *= replays
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 10 };

static int rank;
static MPI_Comm sides[THREADS], worlds[THREADS];
static atomic_int begun;  /* one after the other, so that they are numbered like this */
static atomic_int copied; /* copies that have been made */

static void talk(MPI_Comm comm, int count, int tag)
{
    int value = 0;
    for (int i = 0; i < count; i++) {
        if (rank < 2)
            MPI_Send(&value, 1, MPI_INT, 0, tag, comm);
        for (int from = 0; rank == 2 && from < 2; from++)
            MPI_Recv(&value, 1, MPI_INT, from, tag, comm, MPI_STATUS_IGNORE);
    }
}

static void *work(void *argument)
{
    const long t = (long)argument;
    begun++;
    while (begun < THREADS)
        usleep(100);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Comm both, copy;
        MPI_Intercomm_create(sides[t], 0, worlds[t], rank < 2 ? 2 : 0, 5, &both);
        /* By turns: Open MPI 4.1.4 sometimes hangs (1 of 60 runs, without lull) where several
         * threads copy intercommunicators at once. */
        while (copied < i * THREADS + (int)t)
            usleep(100);
        MPI_Comm_dup(both, &copy);
        copied++;
        talk(both, (int)t + 1, 1);
        talk(copy, 1, 2);
        MPI_Comm_free(&copy);
        MPI_Comm_free(&both);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Comm side;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        puts("no MPI_THREAD_MULTIPLE");
        MPI_Abort(MPI_COMM_WORLD, 77);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 2, rank, &side);
    for (int t = 0; t < THREADS; t++) {
        MPI_Comm_dup(side, &sides[t]);
        MPI_Comm_dup(MPI_COMM_WORLD, &worlds[t]);
    }
    for (long t = 0; t < THREADS; t++) {
        if (pthread_create(&threads[t], NULL, work, (void *)t) != 0)
            abort();
        while (begun <= t)
            usleep(100);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    MPI_Finalize();
    return 0;
}
