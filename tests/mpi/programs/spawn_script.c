/* Processes that are not recorded themselves, because they are spawned by a script: what is
 * exchanged with them has no partner, and the rest is all there. On an ideal network nobody waits for
 * them.
 *
 *= replays
 *= ranks 2
 *= quirk: a communicator has members that were not recorded ('spawn of ./script': 2 of 2) x1
 *= * calls MPI_Comm_spawn x1
 *= * calls MPI_Intercomm_merge x1
 *= * calls MPI_Comm_disconnect x1
 *= * calls MPI_Comm_free x1
 *= 0 calls MPI_Send x2
 *= 0 sends -2 tag 5 bytes 4 in 2 x1
 *= 0 sends -2 tag 6 bytes 4 in 2 x1
 *= 1 calls MPI_Recv x1
 *= 1 receives -2 tag 7 bytes 4 in 2 x1
 *= * calls MPI_Barrier x3
 *= * barrier in 2 root -1 sent 0 received 0 x3
 *= * calls MPI_Reduce x1
 *= 0 reduce in 2 root -1 sent 0 received 4 x1
 *= 1 reduce in 2 root -1 sent 0 received 0 x1
 *= * create in 2 root -1 sent 0 received 0 x2
 *= * free in 2 root -1 sent 0 received 0 x2
 */
#include <mpi.h>
#include <stdio.h>
#include <sys/stat.h>

static void write_script(const char *program)
{
    FILE *script = fopen("script", "w");
    fprintf(script, "#!/bin/sh\nexec '%s'\n", program);
    fclose(script);
    chmod("script", 0755);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, inter, all;
    int rank, sum, value = 7;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    inter = parent;
    if (parent == MPI_COMM_NULL) {
        if (rank == 0)
            write_script(argv[0]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        if (MPI_Comm_spawn("./script", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                           MPI_ERRCODES_IGNORE) != MPI_SUCCESS)
            MPI_Abort(MPI_COMM_WORLD, 77);
        if (rank == 0)
            MPI_Send(&value, 1, MPI_INT, 1, 5, inter);
    } else if (rank == 1) {
        MPI_Recv(&value, 1, MPI_INT, 0, 5, inter, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, 1, 7, inter);
    }
    if (parent == MPI_COMM_NULL && rank == 1)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, inter, MPI_STATUS_IGNORE);
    MPI_Barrier(inter);
    MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM,
               parent != MPI_COMM_NULL ? 0
               : rank == 0             ? MPI_ROOT
                                       : MPI_PROC_NULL,
               inter);
    MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &all);
    MPI_Comm_rank(all, &rank);
    if (rank == 0)
        MPI_Send(&value, 1, MPI_INT, 3, 6, all);
    if (rank == 3)
        MPI_Recv(&value, 1, MPI_INT, 0, 6, all, MPI_STATUS_IGNORE);
    MPI_Barrier(all);
    MPI_Comm_disconnect(&inter);
    MPI_Comm_free(&all);
    MPI_Finalize();
    return 0;
}
