/* ends HOW: an MPI program that ends in another way than by MPI_Finalize and return. Every rank
 * makes CALLS barriers by itself first; rank 1 (or 0, if it is alone) then does HOW: by itself, or
 *
 *     in-HOW          inside of MPI_Bcast, whose error handler does it
 *     signal-HOW      inside of MPI_Recv, which never ends: the handler of a signal does it
 *
 * Prints what must be found in the run. ends.f90 has the same by the functions at the end of this.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CALLS = 5000, /* more than a chunk holds */
    ENDS_CPU_US = 50000
};

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

/* ---- inside of a call -------------------------------------------------------------------------
 */

static char inside[32]; /* what is done there */

static void handle_error(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    end(inside);
}

static void handle_signal(int number)
{
    (void)number;
    end(inside);
}

/* Makes ready for it; 1: MPI_Bcast with a wrong root is to follow, 2: MPI_Recv from oneself, in which
 * the process asks for its message again and again until it has used ENDS_CPU_US of a core, however
 * long it has to wait for that; 0: it has been done. */
int ends_begin(const char *how)
{
    MPI_Errhandler handler;
    const char *dash = strchr(how, '-');
    snprintf(inside, sizeof inside, "%s", dash ? dash + 1 : how);
    if (strncmp(how, "in-", 3) == 0) {
        MPI_Comm_create_errhandler(handle_error, &handler);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
        return 1;
    }
    if (strncmp(how, "signal-", 7) == 0) {
        const struct itimerval later = {.it_value = {.tv_usec = ENDS_CPU_US}};
        signal(SIGPROF, handle_signal);
        setitimer(ITIMER_PROF, &later, NULL);
        return 2;
    }
    end(how);
    return 0;
}

int ends_calls(void)
{
    return CALLS;
}

#ifndef ENDS_FORTRAN

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "return";
    int rank, size, data = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < CALLS; i++)
        MPI_Barrier(MPI_COMM_SELF);
    MPI_Barrier(MPI_COMM_WORLD); /* behind it, all have come back from those above */
    if (rank == 0) {
        printf("atleast %d MPI_Barrier\nprocesses %d\nexpect %d MPI_Init\nready\n", CALLS * size,
               size, size);
        fflush(stdout);
    }
    if (size == 1 || rank == 1) {
        int next = ends_begin(how);
        if (next == 1)
            MPI_Bcast(&data, 1, MPI_INT, 77, MPI_COMM_WORLD);
        if (next == 2)
            MPI_Recv(&data, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

#endif
