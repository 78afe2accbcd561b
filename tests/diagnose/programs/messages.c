/* Defects of messages between two ranks: rank 0 exchanges one with each of the others. */
#include "ranks.h"

static char buffer[MOST_BYTES];

static void late_sender(double late)
{
    (void)late;
    if (rank > 0) {
        READ_CALL("MPI_Recv", 0,
                  MPI_Recv(buffer, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        return;
    }
    for (int to = 1; to < RANKS; to++)
        READ_CALL("MPI_Send", to, MPI_Send(buffer, 8, MPI_CHAR, to, 0, MPI_COMM_WORLD));
}

static void late_receiver(double late)
{
    (void)late;
    if (rank > 0) {
        READ_CALL("MPI_Ssend", 0, MPI_Ssend(buffer, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD));
        return;
    }
    for (int from = 1; from < RANKS; from++)
        READ_CALL("MPI_Recv", from,
                  MPI_Recv(buffer, 8, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void send_part(int part)
{
    for (int to = 1; to < RANKS; to++)
        READ_CALL("MPI_Send", to, MPI_Send(buffer, 8, MPI_CHAR, to, part, MPI_COMM_WORLD));
}

/* Part 0 is as much work as part 1 is late, and a little more. */
static void take_part(int part, double late)
{
    READ_CALL(part == 0 ? "take_0" : "take_1", 0,
              MPI_Recv(buffer, 8, MPI_CHAR, 0, part, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    spend("consume", clock_now() + work / 2 + (part == 0 ? late : 0));
}

/* Rank 0 sends part 0 and, when it has made it, part 1. The others come when part 0 is there. All
 * work as long as each other. */
static void two_parts(double late, int first)
{
    if (rank > 0) {
        spend("consume", clock_now() + work / 2);
        take_part(first, late);
        take_part(1 - first, late);
        return;
    }
    send_part(0);
    spend("solve", clock_now() + work / 2 + late);
    send_part(1);
    spend("solve", clock_now() + work + late);
}

/* Who takes part 1 first waits for it, and has part 0, which is there, still to do. */
static void wrong_order(double late)
{
    two_parts(late, 1);
}

/* Part 1 is there when part 0 is done. */
static void right_order(double late)
{
    two_parts(late, 0);
}

static const struct property properties[] = {{"late_sender", 0, 3, late_sender},
                                             {"late_receiver", 0, 3, late_receiver},
                                             {"wrong_order", RANKS, 3, wrong_order},
                                             {"right_order", RANKS, 3, right_order},
                                             {NULL, 0, 0, NULL}};

int main(int argc, char **argv)
{
    return run_phases(argc, argv, properties);
}
