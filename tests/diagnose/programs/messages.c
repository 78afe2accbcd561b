/* Defects of messages between two ranks: rank 0 exchanges one with each of the others. */
#include "ranks.h"

enum { LARGE = 1 << 17, SMALL = 64 };

static char buffer[LARGE];

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

/* Ranks 0 and 1, and 2 and 3, by turns: one sends a small message and another one, and then has as
 * much to do as the other, who takes both when it has done that. All work as long as each other. */
static void exchange(double late, int bytes)
{
    const int peer = rank ^ 1;
    if ((rank ^ iteration) & 1) {
        READ_CALL("MPI_Send", -1, MPI_Send(buffer, 8, MPI_CHAR, peer, 0, MPI_COMM_WORLD));
        READ_CALL("MPI_Send", peer, MPI_Send(buffer, bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD));
        spend("solve", clock_now() + late);
        return;
    }
    spend("solve", clock_now() + late);
    READ_CALL("MPI_Recv", -1,
              MPI_Recv(buffer, 8, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    READ_CALL("MPI_Recv", peer,
              MPI_Recv(buffer, bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* The second is beyond any eager limit, and waits for its receive. */
static void eager_limit(double late)
{
    exchange(late, LARGE);
}

/* It is not, and the sender goes on at once. */
static void below_limit(double late)
{
    exchange(late, SMALL);
}

static const struct property properties[] = {{"late_sender", 0, 3, late_sender},
                                             {"late_receiver", 0, 3, late_receiver},
                                             {"wrong_order", RANKS, 3, wrong_order},
                                             {"right_order", RANKS, 3, right_order},
                                             {"eager_limit", RANKS, 2, eager_limit},
                                             {"below_limit", RANKS, 2, below_limit},
                                             {NULL, 0, 0, NULL}};

int main(int argc, char **argv)
{
    return run_phases(argc, argv, properties);
}
