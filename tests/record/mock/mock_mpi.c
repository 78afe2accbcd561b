/* An MPI library of one process that claims to be rank MOCK_RANK of MOCK_SIZE: as much of one as
 * the recorder asks at the beginning and when communicators are duplicated and split, with the
 * binary interface of MPICH. Nobody is waited for. To find a process in a group it compares all of
 * them one by one, as Open MPI does. Compiled with MPICH's mpi.h, linked without MPICH. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALL, SELF, HALF, KINDS };
enum { GROUPS = 0x48000100, COMMS = 0x44000100, MOST = 64 };

long mock_looked_up; /* ranks */
static int rank, size, n_comms;
static int kinds[MOST];
static char **processes;

__attribute__((constructor)) static void begin(void)
{
    rank = atoi(getenv("MOCK_RANK"));
    size = atoi(getenv("MOCK_SIZE"));
    processes = malloc((size_t)size * sizeof *processes);
    if (!processes)
        abort();
    for (int p = 0; p < size; p++)
        processes[p] = (char *)processes + p;
}

static int kind_of(int handle)
{
    if (handle == MPI_COMM_WORLD || handle == GROUPS + ALL)
        return ALL;
    if (handle == MPI_COMM_SELF || handle == GROUPS + SELF)
        return SELF;
    return handle >= GROUPS ? handle - GROUPS : kinds[handle - COMMS];
}

static int size_of(int kind)
{
    return kind == ALL ? size : kind == SELF ? 1 : (size + 1 - rank % 2) / 2;
}

static int process_of(int kind, int member)
{
    return kind == ALL ? member : kind == SELF ? rank : 2 * member + rank % 2;
}

static int rank_in(int kind)
{
    return kind == ALL ? rank : kind == SELF ? 0 : rank / 2;
}

static int make(int kind, MPI_Comm *fresh)
{
    kinds[n_comms] = kind;
    *fresh = COMMS + n_comms++;
    return MPI_SUCCESS;
}

static int find(int kind, const char *process)
{
    for (int r = 0; r < size_of(kind); r++)
        if (processes[process_of(kind, r)] == process)
            return r;
    return MPI_UNDEFINED;
}

#define MOCK(result, name, ...)                                           \
    result MPI_##name(__VA_ARGS__) __attribute__((alias("PMPI_" #name))); \
    result PMPI_##name(__VA_ARGS__)

MOCK(int, Init, int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return MPI_SUCCESS;
}

MOCK(int, Finalize, void)
{
    return MPI_SUCCESS;
}

MOCK(int, Get_library_version, char *text, int *length)
{
    *length = sprintf(text, "MPICH Version: mock");
    return MPI_SUCCESS;
}

MOCK(int, Comm_size, MPI_Comm comm, int *ret)
{
    *ret = size_of(kind_of(comm));
    return MPI_SUCCESS;
}

MOCK(int, Comm_rank, MPI_Comm comm, int *ret)
{
    *ret = rank_in(kind_of(comm));
    return MPI_SUCCESS;
}

MOCK(int, Comm_group, MPI_Comm comm, MPI_Group *group)
{
    *group = GROUPS + kind_of(comm);
    return MPI_SUCCESS;
}

MOCK(int, Group_free, MPI_Group *group)
{
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

MOCK(int, Group_size, MPI_Group group, int *ret)
{
    *ret = size_of(kind_of(group));
    return MPI_SUCCESS;
}

MOCK(int, Group_translate_ranks, MPI_Group from, int n, const int ranks[], MPI_Group to,
     int found[])
{
    mock_looked_up += n;
    for (int i = 0; i < n; i++)
        found[i] = find(kind_of(to), processes[process_of(kind_of(from), ranks[i])]);
    return MPI_SUCCESS;
}

MOCK(int, Comm_test_inter, MPI_Comm comm, int *flag)
{
    (void)comm;
    *flag = 0;
    return MPI_SUCCESS;
}

MOCK(int, Topo_test, MPI_Comm comm, int *status)
{
    (void)comm;
    *status = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

MOCK(int, Comm_get_name, MPI_Comm comm, char *name, int *length)
{
    (void)comm;
    *name = '\0';
    *length = 0;
    return MPI_SUCCESS;
}

MOCK(int, Comm_get_parent, MPI_Comm *parent)
{
    *parent = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

MOCK(int, Comm_dup, MPI_Comm comm, MPI_Comm *fresh)
{
    return make(kind_of(comm), fresh);
}

/* Of the world, by whether ranks are even. */
MOCK(int, Comm_split, MPI_Comm comm, int colour, int key, MPI_Comm *fresh)
{
    (void)comm;
    (void)colour;
    (void)key;
    return make(HALF, fresh);
}
