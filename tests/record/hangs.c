/* Programs that hang, for `lull top`: which rank is in which call follows from the word that they are given.
 * They end when they are killed. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank, other;

static void wait_for_message(int tag)
{
    int value;
    MPI_Recv(&value, 1, MPI_INT, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send_and_wait(int tag)
{
    MPI_Ssend(&rank, 1, MPI_INT, other, tag, MPI_COMM_WORLD);
}

static void meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    for (int i = 0; i < 100; i++)
        meet();
    if (strcmp(what, "receives") == 0) /* each waits for what the other would send later */
        wait_for_message(1);
    else if (strcmp(what, "sends") == 0) /* each waits until the other receives */
        send_and_wait(1);
    else if (strcmp(what, "tag") == 0 && rank == 0) /* nobody receives this tag */
        send_and_wait(1);
    else if (strcmp(what, "tag") == 0)
        wait_for_message(2);
    else if (strcmp(what, "order") == 0 &&
             rank == 0) /* one is at the barrier, the other before it */
        meet();
    else if (strcmp(what, "order") == 0)
        wait_for_message(3);
    else if (strcmp(what, "stopped") == 0 && rank == 1)
        raise(SIGSTOP);
    else if (strcmp(what, "computes") == 0 && rank == 1) /* for longer than anybody waits */
        for (;;)
            sleep(1);
    meet();
    MPI_Finalize();
    return 0;
}
