/* One rank of the library of mock_mpi.c: MPI_Init, a duplicate and a split of the world. Says how
 * many ns of processor time that took, how many KiB of memory were touched, and how many ranks were
 * looked up. */
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

extern long mock_looked_up;

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Touched for the first time, whether or not it is given back: what /proc says of resident memory
 * is counted in heaps of 64 pages. */
static long touched(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(int argc, char **argv)
{
    MPI_Comm copy, part;
    const long before = touched();
    const long long begin = now();
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &part);
    const long long end = now();
    printf("%lld %ld %ld\n", end - begin, touched() - before, mock_looked_up);
    MPI_Finalize();
    return 0;
}
