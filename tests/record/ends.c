/* ends HOW: an MPI program that ends in another way than by MPI_Finalize and return. Every rank
 * makes CALLS barriers first; rank 1 (or 0, if it is alone) then does HOW. Prints what must be
 * found in the run. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS = 5000 }; /* more than a chunk holds */

/* Long enough to be killed; a launcher that is killed itself may leave this process behind. */
static void wait_for_signal(void)
{
    for (int seconds = 0; seconds < 120; seconds++)
        sleep(1);
    _exit(6);
}

static void start_children(void)
{
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            execlp("true", "true", (char *)NULL);
            _exit(9);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status != 0)
            exit(8);
    }
    pid_t child = fork();
    if (child == 0)
        exit(5); /* runs the handlers of the parent's exit */
    int status;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 5 ||
        system("test -z \"$LD_PRELOAD$LULL_RECORD_DIR\"") != 0)
        exit(7);
}

static void end(const char *how)
{
    if (strcmp(how, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    else if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    else if (strcmp(how, "term") == 0)
        raise(SIGTERM);
    else if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    else if (strcmp(how, "exit") == 0)
        exit(4);
    else if (strcmp(how, "_exit") == 0)
        _exit(4);
    else if (strcmp(how, "wait") == 0)
        wait_for_signal();
    else if (strcmp(how, "fork") == 0)
        start_children();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "return";
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < CALLS; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("atleast %d MPI_Barrier\nprocesses %d\nexpect %d MPI_Init\nready\n", CALLS * size,
               size, size);
        fflush(stdout);
    }
    if (size == 1 || rank == 1) {
        if (size > 1) /* so that rank 0's lines are out before it is killed */
            usleep(200000);
        end(how);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
