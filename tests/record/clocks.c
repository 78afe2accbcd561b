/* clocks FOLDER [dies]: a ring of messages for clocks.py. Writes for each send and receive
 * CLOCK_REALTIME before and after, which all processes of this machine share in any name space,
 * into FOLDER/times.RANK. With "dies" the processes end without MPI_Finalize. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 200 };

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void pass(int to, int from, long long *times)
{
    int sent = 1, received;
    times[0] = now();
    MPI_Send(&sent, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    times[1] = times[2] = now();
    MPI_Recv(&received, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    times[3] = now();
}

int main(int argc, char **argv)
{
    static long long times[ROUNDS][4];
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < ROUNDS; i++) {
        pass((rank + 1) % size, (rank + size - 1) % size, times[i]);
        usleep(2000);
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/times.%d", argv[1], rank);
    FILE *file = fopen(path, "w");
    for (int i = 0; file && i < ROUNDS; i++)
        fprintf(file, "MPI_Send %lld %lld\nMPI_Recv %lld %lld\n", times[i][0], times[i][1],
                times[i][2], times[i][3]);
    if (!file || fclose(file) != 0)
        return 1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 2)
        _exit(0);
    MPI_Finalize();
    return 0;
}
