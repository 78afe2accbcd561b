/* One process of each node, its lowest rank, measures for all on it. They form a binomial tree with
 * rank 0 at its root: each asks its parent for the time, again and again; the answer of the fastest
 * round trip was given in the middle of it, with half its length as the bound of the error. So
 * the time it takes grows with the logarithm of the number of nodes, and so does the error. */
#include "record/mpi/clocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ROUNDS = 32, TAG = 1 };
/* Clocks that are kept by a time server are slewed by at most this (adjtimex(2): 500 ppm). */
#define MOST_DRIFT 500e-6

static struct {
    MPI_Comm comm;
    bool on;
    int leader;                   /* rank that measures for this node */
    int *leaders, n_leaders, own; /* own: place of this process among them, -1: it is none */
    int *others, n_others;        /* of this node, where this process leads it */
} all;

/* ---- nodes ------------------------------------------------------------------------------------
 */

uint64_t rec_mpi_node(void)
{
    char text[64] = "";
    struct stat space = {0};
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file) {
        if (!fgets(text, sizeof text, file))
            text[0] = '\0';
        fclose(file);
    }
    if (stat("/proc/self/ns/time", &space) != 0)
        space.st_ino = 0;
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ space.st_ino;
    for (const char *c = text; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    return rec_process.skewed ? hash + 1 + rec_process.rank : hash;
}

struct member {
    uint64_t node;
    int rank;
};

static int by_node(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_number(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* Who leads each node; false when there is one, or no memory. */
static bool find_leaders(const uint64_t *nodes, int size, int rank)
{
    bool several = false;
    for (int r = 1; r < size; r++)
        several |= nodes[r] != nodes[0];
    if (!several)
        return false;
    struct member *members = malloc(sizeof *members * (size_t)size);
    all.leaders = malloc(sizeof *all.leaders * (size_t)size);
    all.others = malloc(sizeof *all.others * (size_t)size);
    bool good = members && all.leaders && all.others;
    for (int r = 0; good && r < size; r++)
        members[r] = (struct member){nodes[r], r};
    if (good)
        qsort(members, (size_t)size, sizeof *members, by_node);
    for (int i = 0, leader = 0; good && i < size; i++) {
        if (i == 0 || members[i].node != members[i - 1].node) {
            leader = members[i].rank;
            all.leaders[all.n_leaders++] = leader;
        } else if (leader == rank) {
            all.others[all.n_others++] = members[i].rank;
        }
        if (members[i].rank == rank)
            all.leader = leader;
    }
    free(members);
    all.own = -1;
    if (good)
        qsort(all.leaders, (size_t)all.n_leaders, sizeof *all.leaders, by_number);
    for (int i = 0; good && i < all.n_leaders; i++)
        if (all.leaders[i] == rank)
            all.own = i;
    return good;
}

/* ---- measuring --------------------------------------------------------------------------------
 */

struct offset {
    int64_t at;      /* ns of this clock */
    int64_t to_root; /* to be added to have that of rank 0 */
    double error;    /* ns */
};

static bool receive(void *what, size_t size, int from)
{
    return PMPI_Recv(what, (int)size, MPI_BYTE, from, TAG, all.comm, MPI_STATUS_IGNORE) ==
           MPI_SUCCESS;
}

static bool send(const void *what, size_t size, int to)
{
    return PMPI_Send(what, (int)size, MPI_BYTE, to, TAG, all.comm) == MPI_SUCCESS;
}

static bool ask(int parent, struct offset *mine)
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
    struct offset parents;
    if (!receive(&parents, sizeof parents, parent))
        return false;
    /* The parent has measured a little earlier. */
    mine->error +=
        parents.error + MOST_DRIFT * (double)llabs(mine->at + mine->to_root - parents.at);
    mine->to_root += parents.to_root;
    return true;
}

static bool answer(int child, const struct offset *mine)
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
static bool measure_nodes(struct offset *mine)
{
    int step = 1;
    while (step < all.n_leaders)
        step *= 2;
    for (bool good = true; (step /= 2) > 0;) {
        if (all.own % (2 * step) == step)
            good = ask(all.leaders[all.own - step], mine);
        else if (all.own % (2 * step) == 0 && all.own + step < all.n_leaders)
            good = answer(all.leaders[all.own + step], mine);
        if (!good)
            return false;
    }
    return true;
}

static void measure(void)
{
    struct offset mine = {.at = rec_node_clock()};
    bool good = true;
    if (all.own >= 0) {
        good = measure_nodes(&mine);
        for (int i = 0; good && i < all.n_others; i++)
            good = send(&mine, sizeof mine, all.others[i]);
    } else {
        good = receive(&mine, sizeof mine, all.leader);
    }
    if (good)
        rec_define_offset(mine.at, mine.to_root, mine.error);
}

/* ---- begin and end ----------------------------------------------------------------------------
 */

void rec_mpi_clocks_begin(MPI_Comm world, const uint64_t *nodes, int size, int rank)
{
    if (!find_leaders(nodes, size, rank) || PMPI_Comm_dup(world, &all.comm) != MPI_SUCCESS)
        return;
    PMPI_Comm_set_errhandler(all.comm, MPI_ERRORS_RETURN);
    all.on = true;
    measure();
}

void rec_mpi_clocks_end(void)
{
    if (!all.on)
        return;
    all.on = false;
    measure();
    PMPI_Comm_free(&all.comm);
}
