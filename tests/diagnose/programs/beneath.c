/* A library between the recorder and MPI: it reads the clock when a call of the planted programs
 * comes to it and when the call leaves it. The recorder notes a call's begin before it goes on to
 * this library, and its end afterwards; so the program's own clock says between which moments the
 * recorder did that. The library has to stand before MPI's on the program's link line. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern double beneath_entered, beneath_left; /* of the program, in s */

static double read_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* MPI's own function behind this library's. */
static void find_next(void *next, size_t size, const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    if (!symbol)
        abort();
    memcpy(next, &symbol, size);
}

#define BENEATH(name, parameters, arguments)      \
    int name parameters                           \
    {                                             \
        static int(*next) parameters;             \
        if (!next)                                \
            find_next(&next, sizeof next, #name); \
        beneath_entered = read_clock();           \
        const int result = next arguments;        \
        beneath_left = read_clock();              \
        return result;                            \
    }

BENEATH(MPI_Send, (const void *from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),
        (from, count, type, to, tag, comm))
BENEATH(MPI_Ssend, (const void *from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),
        (from, count, type, to, tag, comm))
BENEATH(MPI_Recv,
        (void *into, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
         MPI_Status *status),
        (into, count, type, from, tag, comm, status))
BENEATH(MPI_Barrier, (MPI_Comm comm), (comm))
BENEATH(MPI_Bcast, (void *data, int count, MPI_Datatype type, int root, MPI_Comm comm),
        (data, count, type, root, comm))
BENEATH(MPI_Reduce,
        (const void *from, void *into, int count, MPI_Datatype type, MPI_Op op, int root,
         MPI_Comm comm),
        (from, into, count, type, op, root, comm))
BENEATH(MPI_Allreduce,
        (const void *from, void *into, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
        (from, into, count, type, op, comm))
BENEATH(MPI_Scan,
        (const void *from, void *into, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
        (from, into, count, type, op, comm))
BENEATH(MPI_Gather,
        (const void *from, int count, MPI_Datatype type, void *into, int into_count,
         MPI_Datatype into_type, int root, MPI_Comm comm),
        (from, count, type, into, into_count, into_type, root, comm))
BENEATH(MPI_Gatherv,
        (const void *from, int count, MPI_Datatype type, void *into, const int *into_counts,
         const int *places, MPI_Datatype into_type, int root, MPI_Comm comm),
        (from, count, type, into, into_counts, places, into_type, root, comm))
BENEATH(MPI_Scatter,
        (const void *from, int count, MPI_Datatype type, void *into, int into_count,
         MPI_Datatype into_type, int root, MPI_Comm comm),
        (from, count, type, into, into_count, into_type, root, comm))
BENEATH(MPI_Scatterv,
        (const void *from, const int *counts, const int *places, MPI_Datatype type, void *into,
         int into_count, MPI_Datatype into_type, int root, MPI_Comm comm),
        (from, counts, places, type, into, into_count, into_type, root, comm))
BENEATH(MPI_Alltoall,
        (const void *from, int count, MPI_Datatype type, void *into, int into_count,
         MPI_Datatype into_type, MPI_Comm comm),
        (from, count, type, into, into_count, into_type, comm))
