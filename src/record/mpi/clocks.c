/* The processes that speak for their nodes form a binomial tree: each asks its parent for the time,
 * again and again; the answer of the fastest round trip was given in the middle of it, with half
 * its length as the bound of the error. So the time it takes grows with the logarithm of the number
 * of nodes, and so does the error. */
#include "record/mpi/clocks.h"

#include "record/mpi/nodes.h"
#include "record/node.h"

#include <stdlib.h>

enum { ROUNDS = 32, CLOCK_TAG = 1 };
/* Clocks that are kept by a time server are slewed by at most this (adjtimex(2): 500 ppm). */
#define MOST_DRIFT 500e-6

/* A communicator of the measuring processes alone, and our place in it. */
static struct {
    MPI_Comm comm;
    bool on;
    int n, own;
} clock_tree;

/* ---- measuring --------------------------------------------------------------------------------
 */

struct clock_offset {
    int64_t at;      /* ns of this clock */
    int64_t to_root; /* to be added to have that of rank 0 */
    double error;    /* ns */
};

static bool receive(void *what, size_t size, int from)
{
    return rec_mpi.Recv(what, (int)size, MPI_BYTE, from, CLOCK_TAG, clock_tree.comm,
                        MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

static bool send(const void *what, size_t size, int to)
{
    return rec_mpi.Send(what, (int)size, MPI_BYTE, to, CLOCK_TAG, clock_tree.comm) == MPI_SUCCESS;
}

static bool ask_parent_clock(int parent, struct clock_offset *mine)
{
    int64_t fastest = INT64_MAX;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t theirs, before = rec_node_clock();
        if (!send(&before, sizeof before, parent) || !receive(&theirs, sizeof theirs, parent))
            return false;
        int64_t trip = rec_node_clock() - before;
        if (trip >= fastest)
            continue;
        fastest = trip;
        mine->at = before + trip / 2;
        mine->to_root = theirs - mine->at;
        mine->error = (double)trip / 2 + 1;
    }
    struct clock_offset parents;
    if (!receive(&parents, sizeof parents, parent))
        return false;
    /* The parent has measured a little earlier. */
    mine->error +=
        parents.error + MOST_DRIFT * (double)llabs(mine->at + mine->to_root - parents.at);
    mine->to_root += parents.to_root;
    return true;
}

static bool answer(int child, const struct clock_offset *mine)
{
    for (int i = 0; i < ROUNDS; i++) {
        int64_t theirs, now;
        if (!receive(&theirs, sizeof theirs, child))
            return false;
        now = rec_node_clock();
        if (!send(&now, sizeof now, child))
            return false;
    }
    return send(mine, sizeof *mine, child);
}

/* Whoever has its offset gives the time to those below: the largest subtree first. */
static bool measure_nodes(struct clock_offset *mine)
{
    int step = 1;
    while (step < clock_tree.n)
        step *= 2;
    for (bool good = true; (step /= 2) > 0;) {
        if (clock_tree.own % (2 * step) == step)
            good = ask_parent_clock(clock_tree.own - step, mine);
        else if (clock_tree.own % (2 * step) == 0 && clock_tree.own + step < clock_tree.n)
            good = answer(clock_tree.own + step, mine);
        if (!good)
            return false;
    }
    return true;
}

static void measure(void)
{
    struct clock_offset mine = {.at = rec_node_clock()};
    if (measure_nodes(&mine))
        rec_define_offset(mine.at, mine.to_root, mine.error);
}

/* ---- begin and end ----------------------------------------------------------------------------
 */

/* Collective over those who have agreed, and nobody else. */
static bool make_comm(MPI_Comm world, int n, const int *ranks)
{
    MPI_Group group, chosen;
    if (rec_mpi.Comm_group(world, &group) != MPI_SUCCESS)
        return false;
    bool good = rec_mpi.Group_incl(group, n, ranks, &chosen) == MPI_SUCCESS;
    rec_mpi.Group_free(&group);
    if (!good)
        return false;
    good = rec_mpi.Comm_create_group(world, chosen, CLOCK_TAG, &clock_tree.comm) == MPI_SUCCESS;
    rec_mpi.Group_free(&chosen);
    return good;
}

void rec_mpi_clocks_begin(MPI_Comm world, int size, int rank)
{
    int *ranks;
    int n = rec_mpi_nodes_agree(rank, size, &ranks);
    if (n == 0)
        return;
    clock_tree.on = make_comm(world, n, ranks);
    clock_tree.n = n;
    for (int i = 0; i < n; i++)
        if (ranks[i] == rank)
            clock_tree.own = i;
    free(ranks);
    if (!clock_tree.on)
        return;
    rec_mpi.Comm_set_errhandler(clock_tree.comm, MPI_ERRORS_RETURN);
    measure();
}

void rec_mpi_clocks_end(void)
{
    if (!clock_tree.on)
        return;
    clock_tree.on = false;
    measure();
    rec_mpi.Comm_free(&clock_tree.comm);
}
