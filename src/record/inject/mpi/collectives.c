/* Collective operations: no rank goes on before those that it waits for have come, and the rounds
 * of messages have passed in which their data get to it. The rounds are those of the algorithms
 * that a simulation takes by itself (sim/collective/collective.c); a round is one message on the
 * injected network. Nobody sends anything for that: each process leaves the moment at which it
 * begins its part where the others find it. */
#include "record/inject/mpi/disturb.h"

#include "record/inject/moments.h"
#include "record/inject/mpi/channels.h"

/* What is counted of a communicator. */
enum { OPERATIONS = 5, PERSISTENT = 7 };

/* ---- which one it is --------------------------------------------------------------------------
 */

static uint64_t next_of(uint64_t comm, unsigned what)
{
    const uint64_t key = rec_channel_mix(comm, what);
    pthread_mutex_lock(&rec_channel_lock);
    uint64_t *count = rec_channel_count(key);
    const uint64_t number = count ? (*count)++ : UINT64_MAX;
    pthread_mutex_unlock(&rec_channel_lock);
    return number == UINT64_MAX ? 0 : rec_channel_mix(key, number);
}

static uint64_t begin_operation(struct rec_disturbed_operation *operation, MPI_Comm comm,
                                unsigned what)
{
    const struct rec_mpi_comm *info = rec_mpi_comm_of(comm);
    *operation = (struct rec_disturbed_operation){.comm = info};
    const bool held = rec_injected_network.on && !info->inter && info->size > 1;
    const uint64_t key = held ? rec_channel_comm(info) : 0;
    return key ? next_of(key, what) : 0;
}

void rec_disturb_join(struct rec_disturbed_operation *operation, MPI_Comm comm)
{
    operation->key = begin_operation(operation, comm, OPERATIONS);
    if (operation->key)
        rec_moment_join(operation->key, rec_disturb_moment);
}

void rec_disturb_make(struct rec_disturbed_operation *operation, MPI_Comm comm)
{
    operation->key = begin_operation(operation, comm, PERSISTENT);
}

void rec_disturb_restart(struct rec_disturbed_operation *operation)
{
    operation->key = rec_channel_mix(operation->key, 1);
    rec_moment_join(operation->key, rec_disturb_moment);
}

/* ---- how long it takes ------------------------------------------------------------------------
 */

static int log2_up(unsigned n)
{
    return n > 1 ? 32 - __builtin_clz(n - 1) : 0;
}

struct operation_cost {
    double rounds, bytes;
};

/* Whole messages in a tree, or halves and quarters of them there and back. */
static struct operation_cost in_tree(double depth, double rounds, double bytes, double share,
                                     bool whole)
{
    if (whole)
        return (struct operation_cost){depth, depth * bytes};
    return (struct operation_cost){2 * rounds, 2 * share * bytes};
}

static struct operation_cost exchange(double ranks, double rounds, double bytes, bool any_algorithm)
{
    const double block = bytes / ranks;
    if (any_algorithm && ranks >= 8 && block <= 256)
        return (struct operation_cost){rounds, rounds * bytes / 2};
    if (any_algorithm && block > 32768)
        return (struct operation_cost){ranks - 1, (ranks - 1) * block};
    return (struct operation_cost){1, block};
}

/* Of an operation on `ranks` ranks, for the one that is `place` places behind the root (its rank
 * where there is none), from when the last one that it waits for has come. */
static struct operation_cost cost_of(const struct rec_disturbed_operation *operation,
                                     unsigned ranks, unsigned place)
{
    const double n = (double)operation->bytes, rounds = log2_up(ranks);
    const double share = (ranks - 1.0) / ranks, hops = __builtin_popcount(place);
    switch (operation->op) {
    case LULL_TAPE_OP_BARRIER:
        return (struct operation_cost){rounds, 0};
    case LULL_TAPE_OP_BCAST:
        return in_tree(hops, rounds, n, share, n < 12288 || ranks < 8);
    case LULL_TAPE_OP_REDUCE:
    case LULL_TAPE_OP_ALLREDUCE:
        return in_tree(rounds, rounds, n, share, n <= 2048);
    case LULL_TAPE_OP_SCATTER:
        return (struct operation_cost){hops, n};
    case LULL_TAPE_OP_SCATTERV:
        return (struct operation_cost){1, n};
    case LULL_TAPE_OP_GATHERV:
        return (struct operation_cost){1, n / ranks};
    case LULL_TAPE_OP_ALLTOALL:
        return exchange(ranks, rounds, n, true);
    case LULL_TAPE_OP_ALLTOALLV:
    case LULL_TAPE_OP_ALLTOALLW:
        return exchange(ranks, rounds, n, false);
    case LULL_TAPE_OP_SCAN:
    case LULL_TAPE_OP_EXSCAN:
        return in_tree(log2_up(place + 1), rounds, n, share, true);
    default: /* gather, allgather, allgatherv, reduce_scatter, reduce_scatter_block */
        return (struct operation_cost){rounds, share * n};
    }
}

/* The ranks whose data this one needs; none: it goes on at once. */
static bool needs(const struct rec_disturbed_operation *operation, int *ret_first, int *ret_end)
{
    const struct rec_mpi_comm *comm = operation->comm;
    const int rank = comm->rank, root = operation->root;
    *ret_first = 0;
    *ret_end = comm->size;
    switch (operation->op) {
    case LULL_TAPE_OP_BCAST:
    case LULL_TAPE_OP_SCATTER:
    case LULL_TAPE_OP_SCATTERV:
        *ret_first = root;
        *ret_end = root + 1;
        return rank != root;
    case LULL_TAPE_OP_REDUCE:
    case LULL_TAPE_OP_GATHER:
    case LULL_TAPE_OP_GATHERV:
        return rank == root;
    case LULL_TAPE_OP_SCAN:
    case LULL_TAPE_OP_EXSCAN:
        *ret_end = rank + 1;
        return rank > 0;
    case LULL_TAPE_OP_NEIGHBOUR:
        return false;
    default:
        return true;
    }
}

/* Those that are not known are taken as early. */
static bool last_begin(const struct rec_disturbed_operation *operation, int first, int end,
                       int64_t *ret_last)
{
    const struct rec_mpi_comm *comm = operation->comm;
    bool all = true;
    *ret_last = INT64_MIN;
    for (int r = first; r < end; r++) {
        int64_t began;
        const uint32_t member = rec_mpi_number_of(&comm->local, r);
        const bool known =
            member != UINT32_MAX && rec_moment_of_part(member, operation->key, &began);
        if (known && began > *ret_last)
            *ret_last = began;
        all &= known;
    }
    return all;
}

int64_t rec_disturb_due(const struct rec_disturbed_operation *operation, bool over)
{
    const struct rec_mpi_comm *comm = operation->comm;
    int first, end;
    int64_t last;
    if (operation->key == 0 || !needs(operation, &first, &end))
        return INT64_MIN;
    const bool known = last_begin(operation, first, end, &last);
    if (over)
        rec_inject_count(known);
    if (last == INT64_MIN)
        return last;
    const bool rooted = operation->root >= 0;
    const int place =
        rooted ? (comm->rank - operation->root + comm->size) % comm->size : comm->rank;
    const struct operation_cost cost = cost_of(operation, (unsigned)comm->size, (unsigned)place);
    return last + (int64_t)(cost.rounds * rec_injected_network.latency +
                            cost.bytes * rec_injected_network.ns_per_byte + 0.5);
}
