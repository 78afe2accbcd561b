/* A PMPI tool as there are many, for tests: counts the calls of MPI by function and the bytes that
 * they send, and writes them at MPI_Finalize to $LULL_TEST_COUNTS.RANK. The functions themselves
 * are made by chain.py from mpi.h: each is a `counted` call of its PMPI_ name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PERSISTENT = 1000 };

struct counted {
    const char *name;
    uint64_t calls, bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread unsigned depth;
static struct {
    MPI_Request request;
    uint64_t bytes;
} persistent[MOST_PERSISTENT];

static void add(struct counted *function, uint64_t calls, uint64_t bytes)
{
    __atomic_fetch_add(&function->calls, calls, __ATOMIC_RELAXED);
    __atomic_fetch_add(&function->bytes, bytes, __ATOMIC_RELAXED);
}

static uint64_t bytes_of(int64_t count, MPI_Datatype type, int dest)
{
    int size = 0;
    if (dest == MPI_PROC_NULL || count == 0 || PMPI_Type_size(type, &size) != MPI_SUCCESS)
        return 0;
    return (uint64_t)count * (uint64_t)size;
}

/* What a persistent request sends each time; handles of freed ones come back. */
static void keep(MPI_Request request, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    int free = 0;
    while (free < MOST_PERSISTENT - 1 && persistent[free].request != request &&
           persistent[free].bytes != 0)
        free++;
    persistent[free].request = request;
    persistent[free].bytes = bytes;
    pthread_mutex_unlock(&lock);
}

static uint64_t kept(MPI_Request request)
{
    uint64_t bytes = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST_PERSISTENT; i++)
        if (persistent[i].request == request)
            bytes = persistent[i].bytes;
    pthread_mutex_unlock(&lock);
    return bytes;
}

static void write_counts(const struct counted *all, size_t n)
{
    char path[4096];
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s.%d", getenv("LULL_TEST_COUNTS"), rank);
    FILE *file = fopen(path, "w");
    for (size_t i = 0; file && i < n; i++)
        if (all[i].calls > 0)
            fprintf(file, "%s %llu %llu\n", all[i].name, (unsigned long long)all[i].calls,
                    (unsigned long long)all[i].bytes);
    if (file)
        fclose(file);
}

/* Two arguments behind the level, as tools have them that take names of phases. */
static void listen(int level, va_list arguments)
{
    char path[4096];
    if (level != 7)
        return;
    const char *name = va_arg(arguments, const char *);
    double number = va_arg(arguments, double);
    snprintf(path, sizeof path, "%s.phase", getenv("LULL_TEST_COUNTS"));
    FILE *file = fopen(path, "a");
    if (file)
        fprintf(file, "%s %g\n", name, number);
    if (file)
        fclose(file);
}
