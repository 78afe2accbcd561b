/* Rank 1 of two spawns three by one call for two programs, by itself; then both spawn one; and of
 * the three, the last one spawns one that sends it something. Each world follows those before it.
 *
 *= ranks 2
 *= may crash SIGSEGV: prterun of Open MPI 5.0 does not survive MPI_Comm_spawn_multiple
 *= spawns 1 3
 *= spawns 2 1
 *= spawns 3 1
 *= 1 calls MPI_Comm_spawn_multiple x1
 *= 1 create in 1 root -1 sent 0 received 0 x1
 *= 1/2 calls MPI_Comm_spawn x1
 *= 1/2 create in 1 root -1 sent 0 received 0 x1
 *= * calls MPI_Comm_spawn x1
 *= * create in 2 root -1 sent 0 received 0 x1
 *= * calls MPI_Barrier x1
 *= * barrier in 2 root -1 sent 0 received 0 x1
 *= 1/* calls MPI_Send x1
 *= 2/0 calls MPI_Send x1
 *= 3/0 calls MPI_Send x1
 *= 1 calls MPI_Recv x4
 *= 1/2 calls MPI_Recv x1
 *= 1/0 sends 1 tag 1 bytes 4 in 3 x1
 *= 1 receives 1/0 tag 1 bytes 4 in 1 x1
 *= 1/1 sends 1 tag 1 bytes 8 in 3 x1
 *= 1 receives 1/1 tag 1 bytes 8 in 1 x1
 *= 1/2 sends 1 tag 1 bytes 12 in 3 x1
 *= 1 receives 1/2 tag 1 bytes 12 in 1 x1
 *= 2/0 sends 1/2 tag 1 bytes 4 in 1 x1
 *= 1/2 receives 2/0 tag 1 bytes 4 in 1 x1
 *= 3/0 sends 1 tag 1 bytes 4 in 1 x1
 *= 1 receives 3/0 tag 1 bytes 4 in 2 x1
 *= 1 calls MPI_Comm_disconnect x2
 *= 1 free in 1 root -1 sent 0 received 0 x1
 *= 1 free in 2 root -1 sent 0 received 0 x1
 *= 0 calls MPI_Comm_disconnect x1
 *= 0 free in 2 root -1 sent 0 received 0 x1
 *= 1/* calls MPI_Comm_disconnect x1
 *= 1/2 calls MPI_Comm_disconnect x2
 *= 1/* free in 3 root -1 sent 0 received 0 x1
 *= 1/2 free in 1 root -1 sent 0 received 0 x1
 *= 2/0 calls MPI_Comm_disconnect x1
 *= 2/0 free in 1 root -1 sent 0 received 0 x1
 *= 3/0 calls MPI_Comm_disconnect x1
 *= 3/0 free in 1 root -1 sent 0 received 0 x1
 */
#include <mpi.h>
#include <string.h>

static int values[10];

static void receive(int n, MPI_Comm from)
{
    while (n-- > 0)
        MPI_Recv(values, 10, MPI_INT, MPI_ANY_SOURCE, 1, from, MPI_STATUS_IGNORE);
}

static void spawn_one(char *program, char *word, int root, MPI_Comm comm, int hears)
{
    char *arguments[] = {word, NULL};
    MPI_Comm inter;
    MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, root, comm, &inter, MPI_ERRCODES_IGNORE);
    receive(hears, inter);
    MPI_Comm_disconnect(&inter);
}

static void be_child(char *program, const char *word, int rank, MPI_Comm parent)
{
    if (strcmp(word, "last") == 0)
        spawn_one(program, "leaf", 0, MPI_COMM_SELF, 1);
    MPI_Send(values, rank + 1, MPI_INT, strcmp(word, "of-two") == 0, 1, parent);
    MPI_Comm_disconnect(&parent);
}

static void be_parent(char *program)
{
    char *programs[] = {program, program}, *last[] = {"last", NULL}, *none[] = {NULL};
    char **arguments[] = {none, last};
    int sizes[] = {2, 1};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm inter;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (MPI_Comm_spawn_multiple(2, programs, arguments, sizes, infos, 0, MPI_COMM_SELF, &inter,
                                MPI_ERRCODES_IGNORE) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 77);
    receive(3, inter);
    MPI_Comm_disconnect(&inter);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        be_child(argv[0], argc > 1 ? argv[1] : "", rank, parent);
    } else {
        /* Where MPI cannot spawn, rank 0 may see first that rank 1 is gone. */
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        if (rank == 1)
            be_parent(argv[0]);
        if (MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS)
            MPI_Abort(MPI_COMM_WORLD, 77);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        spawn_one(argv[0], "of-two", 1, MPI_COMM_WORLD, rank == 1);
    }
    MPI_Finalize();
    return 0;
}
