/* Defects at collective operations, and one that hides behind an operation. */
#include "ranks.h"

static char one[MOST_BYTES], all[RANKS * MOST_BYTES];
static int counts[RANKS] = {8, 8, 8, 8}, places[RANKS] = {0, 8, 16, 24};
static double sum;
static const MPI_Comm world = MPI_COMM_WORLD;

static void reduce(double late)
{
    double own = late;
    READ_CALL("MPI_Reduce", -1, MPI_Reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, world));
}

static void gather(double late)
{
    (void)late;
    READ_CALL("MPI_Gather", -1, MPI_Gather(one, 8, MPI_CHAR, all, 8, MPI_CHAR, 0, world));
}

static void gatherv(double late)
{
    (void)late;
    READ_CALL("MPI_Gatherv", -1,
              MPI_Gatherv(one, 8, MPI_CHAR, all, counts, places, MPI_CHAR, 0, world));
}

static void broadcast(double late)
{
    (void)late;
    READ_CALL("MPI_Bcast", -1, MPI_Bcast(one, 8, MPI_CHAR, 0, world));
}

static void scatter(double late)
{
    (void)late;
    READ_CALL("MPI_Scatter", -1, MPI_Scatter(all, 8, MPI_CHAR, one, 8, MPI_CHAR, 0, world));
}

static void scatterv(double late)
{
    (void)late;
    READ_CALL("MPI_Scatterv", -1,
              MPI_Scatterv(all, counts, places, MPI_CHAR, one, 8, MPI_CHAR, 0, world));
}

static void scan(double late)
{
    double own = late;
    READ_CALL("MPI_Scan", -1, MPI_Scan(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, world));
}

static void barrier(double late)
{
    (void)late;
    READ_CALL("MPI_Barrier", -1, MPI_Barrier(world));
}

static void alltoall(double late)
{
    (void)late;
    READ_CALL("MPI_Alltoall", -1, MPI_Alltoall(all, 8, MPI_CHAR, all + 32, 8, MPI_CHAR, world));
}

/* Rank 3 is late for rank 2, which is late for all others. */
static void hidden(double late)
{
    double own = late;
    if (rank == 3)
        READ_CALL("MPI_Send", 2, MPI_Send(one, 8, MPI_CHAR, 2, 0, world));
    if (rank == 2)
        READ_CALL("MPI_Recv", 3, MPI_Recv(one, 8, MPI_CHAR, 3, 0, world, MPI_STATUS_IGNORE));
    READ_CALL("MPI_Allreduce", -1, MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, world));
}

/* With ranks 0, 1, 2, 3 late by 0 to 3 units, the others lose 3 + 2 + 1 units. */
static const struct property properties[] = {
    {"early_reduce", 2, 1, reduce},     {"early_gather", 2, 1, gather},
    {"early_gatherv", 2, 1, gatherv},   {"late_broadcast", 0, 3, broadcast},
    {"late_scatter", 0, 3, scatter},    {"late_scatterv", 0, 3, scatterv},
    {"early_scan", 0, 3, scan},         {"barrier", 2, 3, barrier},
    {"barrier_linear", -1, 6, barrier}, {"n_to_n", 1, 3, alltoall},
    {"hidden", 3, 3, hidden},           {NULL, 0, 0, NULL}};

int main(int argc, char **argv)
{
    return run_phases(argc, argv, properties);
}
