/* Replays in which kernels of NCCL wait for each other (match/exchange.h, replay/program/devices.h), of drawn programs of 1
 * to 4 processes that compute, launch kernels and exchanges of two communicators of up to 4 ranks, of which a process may have two, and
 * wait for streams. Exchanges are operations of all ranks, such with a root, and messages from rank to rank. A slow reference
 * looks at the drawn program again and again until nothing is left to be known. As measured, each operation begins and
 * ends when it did; with faster kernels, with exchanges that take no time, and on a network, when the reference says so. */
#include "base/arena.h"
#include "diagnose/rule.h"
#include "replay/program/devices.h"
#include "replay/replay.h"
#include "sim/engine/engine.h"
#include "study/compare.h"
#include "study/replay/replay_study.h"
#include "study/report_study.h"
#include "support/branches.h"
#include "support/folder.h"
#include "support/memory_trace.h"
#include "support/seed.h"
#include "support/test.h"
#include "trace/convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 4, STREAMS = 2, COMMS = 2, RANKS_EACH = 2, RANKS = 4 };
enum { LOCATIONS = 1 + STREAMS + COMMS * RANKS_EACH };
enum { ROUNDS = 40, MOST_OPERATIONS = 400, MOST_ACTIONS = 160 };
enum {
    LAUNCHES = 3,
    RETURNS = 4,
    LATENCY = 7
}; /* ns: a call that submits; one that has waited; of a launch */
enum { MESSAGE_LATENCY = 5, MESSAGE_BYTES_PER_NS = 4 }; /* of the network */

enum region {
    LAUNCH,
    WAIT,
    KERNEL,
    TELLS,
    EXCHANGE,
    ALLREDUCE,
    ALLGATHER,
    REDUCE_SCATTER,
    ALLTOALL,
    BROADCAST,
    REDUCE,
    SEND,
    RECV,
    REGIONS
};
#define MESSAGES SEND /* an exchange of Sends and Recvs */

enum {
    MEETS,
    LATE,
    PAIR,
    ALONE,
    SEVERAL,
    UNTOLD,
    ROOTED,
    ROOT_LATE,
    SENT,
    SENT_LATE,
    SENT_BY_NETWORK,
    ROOTED_BY_NETWORK,
    IN_ONE_PROCESS,
    BETWEEN,
    NOT_SIZED,
    FASTER,
    FREE_SHORTER,
    OF_THREE,
    OF_FOUR,
    BRANCHES
};
static struct branch branches[BRANCHES] = {
    [MEETS] = {.what = "kernels of several ranks make an exchange", .least = 300},
    [LATE] = {.what = "a rank waits for another one for longer than the exchange takes then",
              .least = 300},
    [PAIR] = {.what = "an exchange has two ranks", .least = 100},
    [ALONE] = {.what = "a communicator has one rank", .least = 150},
    [SEVERAL] = {.what = "a kernel carries out two operations", .least = 400},
    [UNTOLD] = {.what = "of a rank it is not told which kernel it is", .least = 300},
    [ROOTED] = {.what = "an operation has a root", .least = 400},
    [ROOT_LATE] = {.what = "ranks wait for a root, or a root for ranks", .least = 300},
    [SENT] = {.what = "ranks send messages", .least = 400},
    [SENT_LATE] = {.what = "a rank waits for a message", .least = 300},
    [SENT_BY_NETWORK] = {.what = "the network says how long a message takes", .least = 200},
    [ROOTED_BY_NETWORK] = {.what = "the network says how long an operation with a root takes",
                           .least = 100},
    [IN_ONE_PROCESS] = {.what = "two ranks of an exchange are in one process", .least = 200},
    [BETWEEN] = {.what = "another launch is between a kernel and its operation", .least = 200},
    [NOT_SIZED] = {.what = "the bytes of an exchange are not told", .least = 300},
    [FASTER] = {.what = "with other kernels an exchange meets at another time", .least = 400},
    [FREE_SHORTER] = {.what = "the run is shorter where exchanges take no time", .least = 100},
    [OF_THREE] = {.what = "the network says how long an exchange of three takes", .least = 100},
    [OF_FOUR] = {.what = "the network says how long an exchange of four takes", .least = 50},
};

struct operation {
    uint32_t process, stream, before; /* before: on its stream; LULL_NONE: it is the first */
    uint32_t exchange, rank;          /* exchange LULL_NONE: it is a kernel */
    int64_t length; /* of a kernel; of an exchange: behind the begin of its last rank */
    int64_t submitted, begin, end; /* as measured */
};

/* A part of each rank. */
struct exchange {
    uint32_t comm, n, root;
    uint32_t operations[RANKS]; /* LULL_NONE: the rank takes no part */
    uint8_t told;               /* region of its operation */
    bool twice;                 /* two operations */
    uint64_t bytes;
    uint32_t untold;                /* rank that does not tell it; LULL_NONE: all do */
    uint8_t messages[RANKS][RANKS]; /* from the first rank to the second one, of `bytes` each */
    bool carried[RANKS]; /* the rank tells its operation, and which kernel carries it out */
    bool known[RANKS];   /* it is known for which others the rank's kernel waits */
    bool sized[RANKS];   /* and the network says how long that takes */
    bool joint_network;  /* as one operation of all ranks */
};

struct action {
    int64_t computes;
    uint32_t submits; /* an operation, or LULL_NONE: it waits for `awaits` */
    uint32_t awaits;  /* an operation, or LULL_NONE: for an empty stream */
    uint32_t stream;
    uint32_t between; /* a kernel that is launched before the exchange is told, or LULL_NONE */
    int64_t begin, end;
};

struct drawn {
    struct lull_trace *trace;
    uint32_t n_processes, members[COMMS]; /* ranks of a communicator */
    uint32_t owners[COMMS][RANKS];        /* their processes */
    struct operation operations[MOST_OPERATIONS];
    struct exchange exchanges[ROUNDS];
    struct action actions[PROCESSES][MOST_ACTIONS];
    uint32_t n_operations, n_exchanges, n_actions[PROCESSES];
    uint32_t last[PROCESSES][STREAMS];
    int64_t ends[PROCESSES]; /* of the threads */
    bool nonsense;           /* waits end at once */
};

struct times {
    int64_t submitted, begin, end; /* -1: not known so far */
};

struct supposed {
    double kernel;
    uint8_t exchanges; /* enum lull_exchange_cost */
    bool drawing;      /* every exchange is one, known or not */
};

static uint32_t below(struct lull_random *random, uint32_t n)
{
    return (uint32_t)lull_random_below(random, n);
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- the reference --------------------------------------------------------------------------- */

/* The messages of an exchange of three or four ranks, of less than 2 KiB, by the algorithms of docs/simulate.md. A rank sends
 * those of a round when it has those of the rounds before; `halves`: their bytes, in halves of what is told of the exchange. */
struct message {
    uint8_t round, from, to, halves;
};
enum { LARGEST = 4, MOST_MESSAGES = 12 };
static const struct message messages[REGIONS][LARGEST + 1][MOST_MESSAGES] = {
    /* recursive doubling; of three ranks rank 0 first gives its vector to rank 1, from which it has the sum at the end */
    [ALLREDUCE] = {[3] = {{0, 0, 1, 2}, {1, 1, 2, 2}, {1, 2, 1, 2}, {2, 1, 0, 2}},
                   [4] = {{0, 0, 1, 2},
                          {0, 1, 0, 2},
                          {0, 2, 3, 2},
                          {0, 3, 2, 2},
                          {1, 0, 2, 2},
                          {1, 2, 0, 2},
                          {1, 1, 3, 2},
                          {1, 3, 1, 2}}},
    /* Bruck; recursive doubling, with one block and then two */
    [ALLGATHER] =
        {[3] = {{0, 0, 2, 2}, {0, 1, 0, 2}, {0, 2, 1, 2}, {1, 0, 1, 2}, {1, 1, 2, 2}, {1, 2, 0, 2}},
         [4] = {{0, 0, 1, 2},
                {0, 1, 0, 2},
                {0, 2, 3, 2},
                {0, 3, 2, 2},
                {1, 0, 2, 4},
                {1, 2, 0, 4},
                {1, 1, 3, 4},
                {1, 3, 1, 4}}},
    /* recursive halving, of three blocks among ranks 1 and 2; of four blocks */
    [REDUCE_SCATTER] = {[3] = {{0, 0, 1, 6}, {1, 1, 2, 3}, {1, 2, 1, 3}, {2, 1, 0, 2}},
                        [4] = {{0, 0, 2, 4},
                               {0, 2, 0, 4},
                               {0, 1, 3, 4},
                               {0, 3, 1, 4},
                               {1, 0, 1, 2},
                               {1, 1, 0, 2},
                               {1, 2, 3, 2},
                               {1, 3, 2, 2}}},
    /* binomial trees; ranks count from the root */
    [BROADCAST] =
        {[3] = {{0, 0, 2, 2}, {1, 0, 1, 2}}, [4] = {{0, 0, 2, 2}, {1, 0, 1, 2}, {1, 2, 3, 2}}},
    [REDUCE] =
        {[3] = {{0, 1, 0, 2}, {1, 2, 0, 2}}, [4] = {{0, 1, 0, 2}, {0, 3, 2, 2}, {1, 2, 0, 2}}},
    /* each to each at once */
    [ALLTOALL] = {
        [3] = {{0, 0, 1, 2}, {0, 0, 2, 2}, {0, 1, 0, 2}, {0, 1, 2, 2}, {0, 2, 0, 2}, {0, 2, 1, 2}},
        [4] = {{0, 0, 1, 2},
               {0, 0, 2, 2},
               {0, 0, 3, 2},
               {0, 1, 0, 2},
               {0, 1, 2, 2},
               {0, 1, 3, 2},
               {0, 2, 0, 2},
               {0, 2, 1, 2},
               {0, 2, 3, 2},
               {0, 3, 0, 2},
               {0, 3, 1, 2},
               {0, 3, 2, 2}}}};

static bool has_root(const struct exchange *exchange)
{
    return exchange->told == BROADCAST || exchange->told == REDUCE;
}

static int64_t end_of_messages(const struct times *times, const struct exchange *exchange,
                               int64_t bytes, uint32_t rank)
{
    const struct message *all = messages[exchange->told][exchange->n];
    const uint32_t n = exchange->n, root = has_root(exchange) ? exchange->root : 0;
    int64_t at[LARGEST], next[LARGEST];
    for (uint32_t m = 0; m < n; m++)
        at[m] = next[m] = times[exchange->operations[(root + m) % n]].begin;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned m = 0; m < MOST_MESSAGES && all[m].halves > 0; m++)
            if (all[m].round == round)
                next[all[m].to] =
                    most(next[all[m].to], at[all[m].from] + MESSAGE_LATENCY +
                                              all[m].halves * bytes / 2 / MESSAGE_BYTES_PER_NS);
        memcpy(at, next, sizeof at);
    }
    return at[(rank + n - root) % n];
}

/* Whether a rank needs data of another one. */
static bool needs(const struct exchange *exchange, uint32_t rank, uint32_t other)
{
    if (rank == other || exchange->operations[other] == LULL_NONE)
        return false;
    if (exchange->told == BROADCAST)
        return other == exchange->root;
    if (exchange->told == REDUCE)
        return rank == exchange->root;
    return exchange->told != MESSAGES || exchange->messages[other][rank] > 0;
}

static int64_t message_ns(int64_t bytes)
{
    return MESSAGE_LATENCY + bytes / MESSAGE_BYTES_PER_NS;
}

/* When a rank's part in an exchange ends; -1: not all have begun that it waits for. */
static int64_t end_of_part(const struct drawn *drawn, const struct supposed *supposed,
                           const struct times *times, uint32_t i)
{
    const struct operation *of = &drawn->operations[i];
    const struct exchange *exchange = &drawn->exchanges[of->exchange];
    const int64_t bytes = (int64_t)exchange->bytes * (exchange->twice ? 2 : 1);
    const bool by_network =
        supposed->exchanges == LULL_EXCHANGES_BY_NETWORK && exchange->sized[of->rank];
    const bool joint = by_network && exchange->joint_network;
    int64_t last = times[i].begin, other = 0;
    if (!exchange->known[of->rank] && !supposed->drawing)
        return times[i].begin + of->end - of->begin;
    for (uint32_t m = 0; m < exchange->n; m++) {
        if (m == of->rank || (!joint && !needs(exchange, of->rank, m)))
            continue;
        const int64_t begin = times[exchange->operations[m]].begin;
        if (begin < 0)
            return -1;
        other = begin;
        last =
            most(last, by_network && !joint ? begin + message_ns((int64_t)exchange->bytes) : begin);
    }
    if (supposed->exchanges == LULL_EXCHANGES_FREE || (by_network && exchange->n == 1))
        return last;
    if (!by_network)
        return last + of->length;
    if (!joint)
        return last;
    if (exchange->n > 2)
        return end_of_messages(times, exchange, bytes, of->rank);
    /* Of two ranks one message comes from each that the other one needs. */
    return needs(exchange, of->rank, !of->rank) ? most(times[i].begin, other + message_ns(bytes))
                                                : times[i].begin;
}

static bool advance_operation(const struct drawn *drawn, const struct supposed *supposed,
                              struct times *times, uint32_t i)
{
    const struct operation *of = &drawn->operations[i];
    struct times *own = &times[i];
    const int64_t before = of->before == LULL_NONE ? 0 : times[of->before].end;
    if (own->end >= 0 || own->submitted < 0 || before < 0)
        return false;
    const bool new = own->begin < 0;
    own->begin = most(own->submitted + LATENCY, before);
    own->end = of->exchange == LULL_NONE
                   ? own->begin + llround(supposed->kernel * (double)of->length)
                   : end_of_part(drawn, supposed, times, i);
    return new || own->end >= 0;
}

static bool advance_thread(const struct drawn *drawn, struct times *times, uint32_t p, uint32_t *at,
                           int64_t *now)
{
    if (*at == drawn->n_actions[p])
        return false;
    const struct action *action = &drawn->actions[p][*at];
    if (action->submits != LULL_NONE) {
        *now += action->computes;
        times[action->submits].submitted = *now;
        *now += LAUNCHES;
        if (action->between != LULL_NONE) {
            times[action->between].submitted = *now;
            *now += LAUNCHES;
        }
    } else {
        const int64_t awaited = action->awaits == LULL_NONE ? 0 : times[action->awaits].end;
        if (awaited < 0)
            return false;
        *now = most(*now + action->computes, awaited) + RETURNS;
    }
    ++*at;
    return true;
}

/* Returns when all is over; `duration`: of the measured run; 0: this is the measured run. */
static int64_t evaluate(const struct drawn *drawn, const struct supposed *supposed,
                        int64_t duration, struct times *times, int64_t *ends)
{
    uint32_t at[PROCESSES] = {0};
    int64_t now[PROCESSES] = {0}, end = 0;
    for (uint32_t i = 0; i < drawn->n_operations; i++)
        times[i] = (struct times){-1, -1, -1};
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < drawn->n_operations; i++)
            more |= advance_operation(drawn, supposed, times, i);
        for (uint32_t p = 0; p < drawn->n_processes; p++)
            more |= advance_thread(drawn, times, p, &at[p], &now[p]);
    }
    for (uint32_t p = 0; p < drawn->n_processes; p++) {
        assert_int_equal(at[p], drawn->n_actions[p]);
        end = most(end, now[p] + (duration > 0 ? duration - drawn->ends[p] : 0));
        ends[p] = now[p];
    }
    for (uint32_t i = 0; i < drawn->n_operations; i++)
        end = most(end, times[i].end);
    return end;
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* Two ranks of a process have a stream each, as they wait for each other. */
static uint32_t stream_of_rank(struct lull_random *random, const struct drawn *drawn, uint32_t comm,
                               uint32_t rank)
{
    const uint32_t *owners = drawn->owners[comm], n = drawn->members[comm];
    if (rank > 0 && owners[rank] == owners[rank - 1])
        return 1;
    return rank + 1 < n && owners[rank] == owners[rank + 1] ? 0 : below(random, STREAMS);
}

static uint32_t draw_operation(struct lull_random *random, struct drawn *drawn, uint32_t p,
                               uint32_t stream, uint32_t exchange)
{
    const uint32_t i = drawn->n_operations++;
    drawn->operations[i] = (struct operation){.process = p,
                                              .stream = stream,
                                              .before = drawn->last[p][stream],
                                              .exchange = exchange,
                                              .rank = LULL_NONE,
                                              .length = 1 + below(random, 40)};
    drawn->last[p][stream] = i;
    return i;
}

static struct action *draw_action(struct lull_random *random, struct drawn *drawn, uint32_t p)
{
    struct action *action = &drawn->actions[p][drawn->n_actions[p]++];
    *action = (struct action){.computes = below(random, 2) ? below(random, 90) : 0,
                              .submits = LULL_NONE,
                              .awaits = LULL_NONE,
                              .between = LULL_NONE};
    return action;
}

/* Each rank sends to some others, and perhaps to itself. */
static void draw_messages(struct lull_random *random, struct exchange *exchange)
{
    for (uint32_t a = 0; a < exchange->n; a++)
        for (uint32_t b = 0; b < exchange->n; b++)
            if (below(random, a == b ? 8 : 2) == 0)
                exchange->messages[a][b] = (uint8_t)(1 + below(random, 2));
    exchange->untold = LULL_NONE;
    exchange->twice = false;
}

static bool takes_part(const struct exchange *exchange, uint32_t rank)
{
    bool part = exchange->told != MESSAGES;
    for (uint32_t m = 0; m < exchange->n; m++)
        part |= exchange->messages[rank][m] > 0 || exchange->messages[m][rank] > 0;
    return part;
}

static void draw_part(struct lull_random *random, struct drawn *drawn, uint32_t index,
                      uint32_t rank)
{
    struct exchange *exchange = &drawn->exchanges[index];
    const uint32_t p = drawn->owners[exchange->comm][rank];
    struct action *action = draw_action(random, drawn, p);
    exchange->operations[rank] = action->submits = draw_operation(
        random, drawn, p, stream_of_rank(random, drawn, exchange->comm, rank), index);
    drawn->operations[action->submits].rank = rank;
    exchange->carried[rank] = rank != exchange->untold;
    if (below(random, 20) == 0) {
        action->between = draw_operation(random, drawn, p, below(random, STREAMS), LULL_NONE);
        exchange->carried[rank] = false;
        branch_reach(&branches[BETWEEN], true);
    }
}

/* What is told says of which ranks' kernels it is known for whom they wait. */
static void find_known(const struct drawn *drawn, struct exchange *exchange)
{
    const uint32_t n = exchange->n, *owners = drawn->owners[exchange->comm];
    bool all = true;
    for (uint32_t m = 0; m < n; m++)
        all &= exchange->carried[m] || exchange->operations[m] == LULL_NONE;
    for (uint32_t m = 0; m < n; m++) {
        const bool joint = exchange->told != MESSAGES && !has_root(exchange);
        bool known = exchange->carried[m] && (!joint || all), shares = false;
        for (uint32_t o = 0; o < n; o++) {
            known &= joint || !needs(exchange, m, o) || exchange->carried[o];
            if (exchange->told == REDUCE && m == exchange->root)
                known &= all;
            shares |= exchange->carried[m] && exchange->carried[o] && owners[m] == owners[o] &&
                      (needs(exchange, m, o) || needs(exchange, o, m));
        }
        exchange->known[m] = known;
        exchange->sized[m] = known && exchange->bytes > 0 && exchange->told == MESSAGES && !shares;
    }
}

/* Behind the drawing: where all ranks are known and each had begun before one ended, the network may say how long that takes. */
static void find_joint(const struct drawn *drawn, struct exchange *exchange)
{
    bool joint = exchange->told != MESSAGES && exchange->bytes > 0;
    int64_t begun = 0, ended = INT64_MAX;
    for (uint32_t m = 0; m < exchange->n && joint; m++) {
        const struct operation *of = &drawn->operations[exchange->operations[m]];
        joint =
            exchange->known[m] && exchange->carried[m] &&
            (m == 0 || drawn->owners[exchange->comm][m] != drawn->owners[exchange->comm][m - 1]);
        begun = most(begun, of->begin);
        ended = of->end < ended ? of->end : ended;
    }
    exchange->joint_network = joint && begun < ended;
    for (uint32_t m = 0; m < exchange->n && exchange->joint_network; m++)
        exchange->sized[m] = true;
}

static void reach_exchange(const struct drawn *drawn, const struct exchange *exchange)
{
    const bool all = exchange->told != MESSAGES && !has_root(exchange);
    const bool known = all && exchange->known[0], sized = known && exchange->bytes > 0;
    const uint32_t *owners = drawn->owners[exchange->comm];
    branch_reach(&branches[MEETS], known && exchange->n > 1);
    branch_reach(&branches[PAIR], known && exchange->n == 2);
    branch_reach(&branches[OF_THREE], sized && exchange->n == 3 && owners[0] != owners[1]);
    branch_reach(&branches[OF_FOUR], sized && exchange->n == 4 && owners[0] != owners[1]);
    branch_reach(&branches[ALONE], known && exchange->n == 1);
    branch_reach(&branches[SEVERAL], known && exchange->twice);
    branch_reach(&branches[UNTOLD], exchange->untold != LULL_NONE);
    branch_reach(&branches[ROOTED], has_root(exchange));
    branch_reach(&branches[SENT], exchange->told == MESSAGES && takes_part(exchange, 0));
    branch_reach(&branches[IN_ONE_PROCESS], known && exchange->n > 1 && owners[0] == owners[1]);
    branch_reach(&branches[NOT_SIZED], known && exchange->bytes == 0);
}

static void draw_exchange(struct lull_random *random, struct drawn *drawn)
{
    const uint32_t index = drawn->n_exchanges++, comm = below(random, COMMS);
    struct exchange *exchange = &drawn->exchanges[index];
    *exchange = (struct exchange){.comm = comm,
                                  .n = drawn->members[comm],
                                  .told = (uint8_t)(ALLREDUCE + below(random, 7)),
                                  .twice = below(random, 4) == 0,
                                  .bytes = below(random, 5) ? 8 * (1 + below(random, 20)) : 0,
                                  .untold = LULL_NONE};
    exchange->root = below(random, exchange->n);
    if (below(random, 8) == 0)
        exchange->untold = below(random, exchange->n);
    if (exchange->told == MESSAGES)
        draw_messages(random, exchange);
    for (uint32_t m = 0; m < exchange->n; m++) {
        exchange->operations[m] = LULL_NONE;
        if (takes_part(exchange, m))
            draw_part(random, drawn, index, m);
    }
    find_known(drawn, exchange);
    reach_exchange(drawn, exchange);
}

static void draw_actions(struct lull_random *random, struct drawn *drawn)
{
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t what = below(random, 6), p = below(random, drawn->n_processes);
        if (what < 3) {
            draw_exchange(random, drawn);
        } else if (what < 5) {
            struct action *action = draw_action(random, drawn, p);
            action->submits = draw_operation(random, drawn, p, below(random, STREAMS), LULL_NONE);
        } else {
            struct action *action = draw_action(random, drawn, p);
            action->stream = below(random, STREAMS);
            action->awaits = drawn->last[p][action->stream];
        }
    }
}

static void draw_program(struct lull_random *random, struct drawn *drawn)
{
    drawn->n_processes = below(random, 2) ? PROCESSES : 1 + below(random, PROCESSES);
    for (uint32_t c = 0; c < COMMS; c++) {
        const uint32_t each = below(random, 3) ? 1 : RANKS_EACH, room = drawn->n_processes * each,
                       largest = room < RANKS ? room : RANKS;
        const uint32_t wished = (const uint32_t[]){1, 1, 2, 3, 3, 4, 4, 4}[below(random, 8)];
        drawn->members[c] = wished < largest ? wished : largest;
        for (uint32_t m = 0; m < drawn->members[c]; m++)
            drawn->owners[c][m] = m / each;
    }
    memset(drawn->last, 0xff, sizeof drawn->last);
    draw_actions(random, drawn);
}

/* ---- the trace ------------------------------------------------------------------------------- */

static void define_regions(struct lull_trace *trace)
{
    static const struct lull_region regions[REGIONS] = {
        [LAUNCH] = {"cudaLaunchKernel", .activity = LULL_DEVICE},
        [WAIT] = {"cudaStreamSynchronize", .role = LULL_ROLE_BARRIER, .activity = LULL_DEVICE},
        [KERNEL] = {"kernel", .role = LULL_ROLE_KERNEL, .activity = LULL_USEFUL},
        [TELLS] = {"ncclAllReduce", .activity = LULL_DEVICE},
        [EXCHANGE] = {"ncclDevKernel_AllReduce", .role = LULL_ROLE_KERNEL, .activity = LULL_USEFUL},
        [ALLREDUCE] = {"ncclAllReduce RING LL", .role = LULL_ROLE_DATA_TRANSFER},
        [ALLGATHER] = {"ncclAllGather RING LL", .role = LULL_ROLE_DATA_TRANSFER},
        [REDUCE_SCATTER] = {"ncclReduceScatter RING LL", .role = LULL_ROLE_DATA_TRANSFER},
        [ALLTOALL] = {"ncclAlltoAll RING LL", .role = LULL_ROLE_DATA_TRANSFER},
        [BROADCAST] = {"ncclBroadcast RING LL", .role = LULL_ROLE_DATA_TRANSFER},
        [REDUCE] = {"ncclReduce RING LL", .role = LULL_ROLE_DATA_TRANSFER},
        [SEND] = {"ncclSend", .role = LULL_ROLE_DATA_TRANSFER},
        [RECV] = {"ncclRecv", .role = LULL_ROLE_DATA_TRANSFER}};
    trace->n_regions = REGIONS;
    trace->regions = lull_arena_zero(trace->arena, REGIONS, sizeof *trace->regions);
    for (uint32_t r = 0; r < REGIONS; r++) {
        trace->regions[r] = regions[r];
        trace->regions[r].file = trace->regions[r].site = "";
        trace->regions[r].paradigm = LULL_PARADIGM_DEVICE;
        trace->regions[r].whole = LULL_NONE;
        if (r >= ALLREDUCE)
            trace->regions[r].activity = LULL_DEVICE;
    }
}

/* The stream of a rank on its communicator. */
static uint32_t location_of_rank(const struct drawn *drawn, uint32_t comm, uint32_t rank)
{
    const uint32_t p = drawn->owners[comm][rank];
    const bool second = rank > 0 && drawn->owners[comm][rank - 1] == p;
    return p * LOCATIONS + 1 + STREAMS + comm * RANKS_EACH + second;
}

/* Each process has a device; behind these are the communicators. */
static void define(struct drawn *drawn)
{
    struct lull_trace *trace = drawn->trace = memory_trace_create();
    struct lull_arena *arena = trace->arena;
    define_regions(trace);
    trace->n_applications = 1;
    trace->n_devices = PROCESSES + COMMS;
    trace->devices = lull_arena_zero(arena, trace->n_devices, sizeof *trace->devices);
    for (uint32_t d = 0; d < PROCESSES; d++)
        trace->devices[d] =
            (struct lull_device){"GPU", "CUDA", lull_arena_printf(arena, "pci:%u", d), LULL_NONE};
    for (uint32_t c = 0; c < COMMS; c++)
        trace->devices[PROCESSES + c] = (struct lull_device){
            lull_arena_printf(arena, "communicator %u of %u ranks", c, drawn->members[c]), "NCCL",
            lull_arena_printf(arena, "nccl:%u", c), LULL_NONE};
    trace->n_processes = drawn->n_processes;
    trace->processes = lull_arena_zero(arena, PROCESSES, sizeof *trace->processes);
    trace->locations = lull_arena_zero(arena, PROCESSES * LOCATIONS, sizeof *trace->locations);
    for (uint32_t p = 0; p < drawn->n_processes; p++) {
        trace->processes[p] = (struct lull_process){.name = "process",
                                                    .rank = p,
                                                    .node = LULL_NONE,
                                                    .first_location = trace->n_locations,
                                                    .n_threads = 1,
                                                    .n_locations = LOCATIONS};
        for (uint32_t i = 0; i < LOCATIONS; i++) {
            struct lull_location *location = &trace->locations[trace->n_locations++];
            *location =
                (struct lull_location){.name = "location",
                                       .process = p,
                                       .number = i > 0 ? i - 1 : 0,
                                       .source_id = p * LOCATIONS + i,
                                       .kind = i > 0 ? LULL_LOCATION_DEVICE : LULL_LOCATION_THREAD,
                                       .role = LULL_THREAD_MASTER};
            if (i == 0)
                continue;
            location->stream = lull_arena_zero(arena, 1, sizeof *location->stream);
            location->stream->device =
                i <= STREAMS ? p : PROCESSES + (i - 1 - STREAMS) / RANKS_EACH;
        }
    }
    for (uint32_t c = 0; c < COMMS; c++)
        for (uint32_t m = 0; m < drawn->members[c]; m++)
            trace->locations[location_of_rank(drawn, c, m)].name =
                lull_arena_printf(arena, "rank %u", m);
}

static void add_span(struct drawn *drawn, uint32_t location, int64_t time, uint32_t region,
                     int64_t ns)
{
    const struct lull_event event = memory_span(time, LULL_EVENT_CALL, region, ns);
    memory_trace_add(drawn->trace, location, &event);
}

static void add_reference(struct drawn *drawn, uint32_t location, unsigned kind, int64_t time,
                          uint64_t number, uint32_t of, uint64_t bytes, uint64_t sequence)
{
    struct lull_event event = memory_event(time, kind, LULL_NONE);
    event.operation.number = number;
    event.operation.location = of;
    event.operation.bytes = bytes;
    event.operation.peer = LULL_ANY;
    event.operation.sequence = sequence;
    memory_trace_add(drawn->trace, location, &event);
}

static void tell_submission(struct drawn *drawn, uint32_t p, int64_t time, uint32_t i)
{
    const uint32_t first = p * LOCATIONS;
    add_span(drawn, first, time, LAUNCH, LAUNCHES);
    add_reference(drawn, first, LULL_EVENT_SUBMIT, time, 1 + i,
                  first + 1 + drawn->operations[i].stream, 0, LULL_NO_SEQUENCE);
    /* On the other stream of the process it may have run at any time. */
    for (uint32_t o = i; drawn->nonsense && o-- > 0;)
        if (drawn->operations[o].process == p &&
            drawn->operations[o].stream != drawn->operations[i].stream) {
            add_reference(drawn, first, LULL_EVENT_DEPEND, time, 1 + i, LULL_NONE, 1 + o,
                          LULL_NO_SEQUENCE);
            break;
        }
}

/* The thread tells an operation as a moment; when the communicator's stream had it matters to nobody. `told`: how many its
 * process has told. */
static void tell_operation(struct drawn *drawn, uint32_t stream, int64_t time, uint8_t region,
                           uint64_t bytes, uint64_t sequence, int32_t peer, uint64_t *told)
{
    const uint32_t first = stream / LOCATIONS * LOCATIONS;
    struct lull_event event = memory_event((int64_t)++ * told, LULL_EVENT_OPERATION, LULL_NONE);
    event.operation.number = MOST_OPERATIONS + *told;
    event.operation.location = first;
    event.operation.bytes = bytes;
    event.operation.sequence = sequence;
    event.operation.peer = peer;
    add_reference(drawn, first, LULL_EVENT_SUBMIT, time, event.operation.number, stream, 0,
                  LULL_NO_SEQUENCE);
    add_span(drawn, stream, event.time, region, 1);
    memory_trace_add(drawn->trace, stream, &event);
}

/* `sequences`: how many of each function a rank of a communicator had. */
static void tell_exchange(struct drawn *drawn, uint32_t rank, int64_t time,
                          const struct exchange *exchange, uint64_t (*sequences)[RANKS][REGIONS],
                          uint64_t *told)
{
    const uint32_t stream = location_of_rank(drawn, exchange->comm, rank);
    const int32_t root = has_root(exchange) ? (int32_t)exchange->root : LULL_ANY;
    for (int i = 0; i < (exchange->twice ? 2 : 1) && exchange->told != MESSAGES; i++) {
        const uint64_t sequence = sequences[exchange->comm][rank][exchange->told]++;
        if (exchange->untold != rank)
            tell_operation(drawn, stream, time, exchange->told, exchange->bytes, sequence, root,
                           told);
    }
    for (uint32_t m = 0; m < exchange->n && exchange->untold != rank; m++) {
        for (int i = 0; i < exchange->messages[rank][m]; i++)
            tell_operation(drawn, stream, time, SEND, exchange->bytes, LULL_NO_SEQUENCE, (int32_t)m,
                           told);
        for (int i = 0; i < exchange->messages[m][rank]; i++)
            tell_operation(drawn, stream, time, RECV, exchange->bytes, LULL_NO_SEQUENCE, (int32_t)m,
                           told);
    }
}

static void tell_process(struct drawn *drawn, uint32_t p)
{
    const uint32_t first = p * LOCATIONS;
    uint64_t sequences[COMMS][RANKS][REGIONS] = {{{0}}}, told = 0;
    int64_t now = 0;
    for (uint32_t a = 0; a < drawn->n_actions[p]; a++) {
        const struct action *action = &drawn->actions[p][a];
        const struct operation *of =
            action->submits == LULL_NONE ? NULL : &drawn->operations[action->submits];
        now += action->computes;
        if (!of) {
            const int64_t ended =
                action->awaits == LULL_NONE ? 0 : drawn->operations[action->awaits].end;
            const int64_t end = drawn->nonsense ? now : most(now, ended);
            add_span(drawn, first, now, WAIT, end + RETURNS - now);
            add_reference(drawn, first, LULL_EVENT_DEVICE_WAIT, now, 0, first + 1 + action->stream,
                          0, LULL_NO_SEQUENCE);
            now = end + RETURNS;
            continue;
        }
        tell_submission(drawn, p, now, action->submits);
        now += LAUNCHES;
        if (action->between != LULL_NONE) {
            tell_submission(drawn, p, now, action->between);
            now += LAUNCHES;
        }
        if (of->exchange != LULL_NONE)
            tell_exchange(drawn, of->rank, now, &drawn->exchanges[of->exchange], sequences, &told);
    }
    if (!drawn->nonsense)
        assert_int_equal(now, drawn->ends[p]);
    for (uint32_t i = 0; i < drawn->n_operations; i++) {
        const struct operation *of = &drawn->operations[i];
        if (of->process != p)
            continue;
        add_span(drawn, first + 1 + of->stream, of->begin,
                 of->exchange == LULL_NONE ? KERNEL : EXCHANGE, of->end - of->begin);
        add_reference(drawn, first + 1 + of->stream, LULL_EVENT_OPERATION, of->begin, 1 + i, first,
                      0, LULL_NO_SEQUENCE);
    }
}

static void finish_drawing(struct drawn *drawn, int64_t duration, const struct times *times)
{
    for (uint32_t i = 0; i < drawn->n_operations; i++) {
        drawn->operations[i].begin = times[i].begin;
        drawn->operations[i].end = times[i].end;
    }
    for (uint32_t e = 0; e < drawn->n_exchanges; e++)
        find_joint(drawn, &drawn->exchanges[e]);
    define(drawn);
    drawn->trace->duration = duration;
    for (uint32_t p = 0; p < drawn->n_processes; p++)
        tell_process(drawn, p);
}

static void draw(struct lull_random *random, struct drawn *drawn)
{
    const struct supposed measured = {.kernel = 1, .drawing = true};
    struct times times[MOST_OPERATIONS];
    draw_program(random, drawn);
    finish_drawing(drawn, evaluate(drawn, &measured, 0, times, drawn->ends), times);
    for (uint32_t i = 0; i < drawn->n_operations; i++) {
        const struct operation *of = &drawn->operations[i];
        if (of->exchange == LULL_NONE)
            continue;
        const struct exchange *exchange = &drawn->exchanges[of->exchange];
        const bool late = of->end - of->begin > 2 * of->length, known = exchange->known[of->rank];
        branch_reach(&branches[LATE], late);
        branch_reach(&branches[ROOT_LATE], late && known && has_root(exchange));
        branch_reach(&branches[SENT_LATE], late && known && exchange->told == MESSAGES);
        branch_reach(&branches[SENT_BY_NETWORK],
                     exchange->sized[of->rank] && exchange->told == MESSAGES);
        branch_reach(&branches[ROOTED_BY_NETWORK],
                     exchange->joint_network && has_root(exchange) && exchange->n > 1);
    }
}

/* ---- replays --------------------------------------------------------------------------------- */

struct seen {
    const struct lull_program *program;
    struct drawn *drawn;
    struct times times[MOST_OPERATIONS];
    uint32_t next[PROCESSES * LOCATIONS]; /* where to look for the next operation of a stream */
};

/* An exchange that is known has a begin, and behind its meeting the rest. */
static lull_status see(void *context, uint32_t stream, const struct lull_op *op, int64_t begin,
                       int64_t end, int64_t noise, int64_t delay, struct lull_error *err)
{
    struct seen *seen = context;
    const uint32_t location = lull_replay_location(seen->program, stream);
    const struct drawn *drawn = seen->drawn;
    (void)noise, (void)delay, (void)err;
    if (drawn->trace->locations[location].kind != LULL_LOCATION_DEVICE ||
        op->region == LULL_OP_NO_REGION)
        return LULL_OK;
    uint32_t *i = &seen->next[location];
    while (*i < drawn->n_operations &&
           drawn->operations[*i].process * LOCATIONS + 1 + drawn->operations[*i].stream != location)
        ++*i;
    assert_true(*i < drawn->n_operations);
    const struct operation *of = &drawn->operations[*i];
    struct times *times = &seen->times[*i];
    const bool parts = of->exchange != LULL_NONE && drawn->exchanges[of->exchange].known[of->rank];
    if (times->submitted == 0) {
        assert_int_equal(op->measured, of->begin);
        times->begin = begin;
        times->submitted = 1; /* its begin was seen */
        if (parts)
            return LULL_OK;
    }
    times->end = end;
    ++*i;
    return LULL_OK;
}

static void make_network(struct lull_network *network, bool ideal)
{
    lull_network_init(network, lull_network_find(ideal ? "ideal" : "hockney"));
    if (ideal)
        return;
    lull_network_set(network, lull_network_parameter(network->class, "latency"), LULL_LEVELS,
                     MESSAGE_LATENCY);
    lull_network_set(network, lull_network_parameter(network->class, "bandwidth"), LULL_LEVELS,
                     1e9 * MESSAGE_BYTES_PER_NS);
}

/* Where no network costs anything, it may be any: the result is the same. */
static void check(struct drawn *drawn, const struct supposed *supposed, bool ideal,
                  struct lull_arena *arena)
{
    double kernels[REGIONS];
    for (uint32_t r = 0; r < REGIONS; r++)
        kernels[r] = r == KERNEL ? supposed->kernel : 1;
    const struct lull_device_change change = {.kernels = kernels, .copies = 1};
    const struct lull_replay_options options = {.devices = true,
                                                .keep_calls = LULL_KEEP_ALL,
                                                .change = &change,
                                                .exchanges = supposed->exchanges};
    struct times expected[MOST_OPERATIONS];
    int64_t ends[PROCESSES];
    struct lull_program *program;
    struct lull_network network;
    struct lull_sim_result result, again;
    struct lull_error err;
    struct seen seen = {.drawn = drawn};
    const struct lull_sim_sink sink = {.context = &seen, .compute = see};
    make_network(&network, ideal);
    fail_if(lull_replay_open(drawn->trace, &options, &program, &err) != LULL_OK, "%s", err.text);
    seen.program = program;
    const struct lull_sim_options wanted = {.network = &network, .sink = &sink};
    fail_if(lull_simulate(program, &wanted, arena, &result, NULL, &err) != LULL_OK, "%s", err.text);
    const int64_t runtime = evaluate(drawn, supposed, drawn->trace->duration, expected, ends);
    for (uint32_t i = 0; i < drawn->n_operations; i++)
        fail_if(seen.times[i].begin != expected[i].begin || seen.times[i].end != expected[i].end,
                "operation %u (exchange %d): %lld to %lld, expected %lld to %lld", i,
                (int)drawn->operations[i].exchange, (long long)seen.times[i].begin,
                (long long)seen.times[i].end, (long long)expected[i].begin,
                (long long)expected[i].end);
    assert_int_equal(result.runtime, runtime);
    lull_program_close(program);
    /* Without somebody who looks, events are handled in any order. */
    fail_if(lull_replay_open(drawn->trace, &options, &program, &err) != LULL_OK, "%s", err.text);
    const struct lull_sim_options alone = {.network = &network};
    fail_if(lull_simulate(program, &alone, arena, &again, NULL, &err) != LULL_OK, "%s", err.text);
    assert_int_equal(again.runtime, runtime);
    lull_program_close(program);
    branch_reach(&branches[FREE_SHORTER], supposed->exchanges == LULL_EXCHANGES_FREE &&
                                              supposed->kernel == 1 &&
                                              runtime < drawn->trace->duration);
    for (uint32_t i = 0; i < drawn->n_operations; i++)
        branch_reach(&branches[FASTER], supposed->exchanges == LULL_EXCHANGES_AS_MEASURED &&
                                            drawn->operations[i].exchange != LULL_NONE &&
                                            expected[i].end != drawn->operations[i].end);
}

static void test_exchanges(void **state)
{
    (void)state;
    static const double factors[] = {0, 0.5, 3};
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    const unsigned rounds = lull_test_rounds(300);
    for (unsigned i = 0; i < rounds; i++) {
        struct drawn *drawn = calloc(1, sizeof *drawn);
        struct lull_arena *arena = lull_arena_create(NULL);
        assert_non_null(drawn);
        draw(&random, drawn);
        const struct supposed measured = {.kernel = 1},
                              other = {.kernel = factors[below(&random, 3)]},
                              free_of_cost = {.kernel = other.kernel,
                                              .exchanges = LULL_EXCHANGES_FREE},
                              network = {.kernel = other.kernel,
                                         .exchanges = LULL_EXCHANGES_BY_NETWORK},
                              only_free = {.kernel = 1, .exchanges = LULL_EXCHANGES_FREE};
        check(drawn, &measured, below(&random, 2), arena);
        check(drawn, &other, below(&random, 2), arena);
        check(drawn, &free_of_cost, below(&random, 2), arena);
        check(drawn, &only_free, true, arena);
        check(drawn, &network, false, arena);
        lull_trace_close(drawn->trace);
        lull_arena_destroy(arena);
        free(drawn);
        branches_next(branches, BRANCHES);
    }
    branches_assert(branches, BRANCHES, rounds);
}

/* Each process does what it does in another order. */
static void shuffle(struct lull_random *random, struct drawn *drawn)
{
    for (uint32_t p = 0; p < drawn->n_processes; p++)
        for (uint32_t a = 1; a < drawn->n_actions[p]; a++) {
            const uint32_t other = below(random, a + 1);
            const struct action action = drawn->actions[p][a];
            drawn->actions[p][a] = drawn->actions[p][other];
            drawn->actions[p][other] = action;
        }
}

/* Ranks exchange in different orders, streams run their operations at any time, and threads wait for nothing: the replay
 * ends all the same. */
static void test_nonsense_exchanges(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    const unsigned rounds = lull_test_rounds(300);
    struct branch some = {.what = "there are exchanges all the same", .least = 150};
    for (unsigned i = 0; i < rounds; i++) {
        struct drawn *drawn = calloc(1, sizeof *drawn);
        struct lull_arena *arena = lull_arena_create(NULL);
        struct times times[MOST_OPERATIONS];
        int64_t now[PROCESSES][STREAMS] = {{0}}, end = 0;
        assert_non_null(drawn);
        draw_program(&random, drawn);
        drawn->nonsense = true;
        if (below(&random, 4))
            shuffle(&random, drawn);
        for (uint32_t o = 0; o < drawn->n_operations; o++) {
            int64_t *at = &now[drawn->operations[o].process][drawn->operations[o].stream];
            times[o].begin = *at + below(&random, 100);
            *at = times[o].end = times[o].begin + 1 + below(&random, 200);
            end = most(end, *at);
        }
        finish_drawing(drawn, most(end, 10000), times);
        const struct lull_replay_options options = {.devices = true,
                                                    .exchanges = (uint8_t)below(&random, 3)};
        struct lull_survey *survey;
        struct lull_program *program;
        struct lull_network network;
        struct lull_sim_result result;
        struct lull_error err;
        make_network(&network, below(&random, 2));
        fail_if(lull_survey_take(drawn->trace, 0, false, &survey, &err) != LULL_OK, "%s", err.text);
        branch_reach(&some, lull_replay_devices_exchanges(lull_survey_devices(survey))->count > 0);
        lull_survey_destroy(survey);
        fail_if(lull_replay_open(drawn->trace, &options, &program, &err) != LULL_OK, "%s",
                err.text);
        const struct lull_sim_options alone = {.network = &network};
        fail_if(lull_simulate(program, &alone, arena, &result, NULL, &err) != LULL_OK, "%s",
                err.text);
        lull_program_close(program);
        lull_trace_close(drawn->trace);
        lull_arena_destroy(arena);
        free(drawn);
        branches_next(&some, 1);
    }
    branches_assert(&some, 1, rounds);
}

/* Rank 0 runs the second exchange while the first one runs, on which it depends as the run says; rank 1 runs them the other
 * way round. The dependence cannot be true. */
static void test_untrue_dependence(void **state)
{
    (void)state;
    static const struct times times[] = {
        {0, 105, 160}, {0, 100, 200}, {0, 110, 190}, {0, 170, 220}};
    struct drawn *drawn = calloc(1, sizeof *drawn);
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_program *program;
    struct lull_network network;
    struct lull_sim_result result;
    struct lull_error err;
    assert_non_null(drawn);
    drawn->n_processes = drawn->members[0] = drawn->members[1] = 2;
    drawn->owners[0][1] = drawn->owners[1][1] = 1;
    drawn->nonsense = true;
    drawn->n_operations = 4;
    drawn->operations[0] = (struct operation){.process = 1, .stream = 0, .exchange = 1, .rank = 1};
    drawn->operations[1] = (struct operation){.process = 0, .stream = 0, .exchange = 0};
    drawn->operations[2] = (struct operation){.process = 0, .stream = 1, .exchange = 1};
    drawn->operations[3] = (struct operation){.process = 1, .stream = 0, .exchange = 0, .rank = 1};
    drawn->n_exchanges = 2;
    drawn->exchanges[0] = (struct exchange){.n = 2, .told = ALLREDUCE, .untold = LULL_NONE};
    drawn->exchanges[1] = (struct exchange){.n = 2, .told = ALLGATHER, .untold = LULL_NONE};
    for (uint32_t p = 0; p < 2; p++) {
        static const uint32_t submits[2][2] = {{1, 2}, {0, 3}};
        drawn->n_actions[p] = 2;
        for (uint32_t a = 0; a < 2; a++)
            drawn->actions[p][a] = (struct action){.submits = submits[p][a], .between = LULL_NONE};
    }
    finish_drawing(drawn, 300, times);
    const struct lull_replay_options options = {.devices = true};
    make_network(&network, true);
    fail_if(lull_replay_open(drawn->trace, &options, &program, &err) != LULL_OK, "%s", err.text);
    assert_int_equal(program->n_groups, 1 + 2); /* two circles */
    const struct lull_sim_options alone = {.network = &network};
    fail_if(lull_simulate(program, &alone, arena, &result, NULL, &err) != LULL_OK, "%s", err.text);
    assert_int_equal(result.runtime, 300);
    lull_program_close(program);
    lull_trace_close(drawn->trace);
    lull_arena_destroy(arena);
    free(drawn);
}

/* Rank 0 sends to rank 1, twice; what it tells of that, rank 1 receives. How many kernels are known, and have links, if rank `untold` does
 * not tell its part in the first message? */
static void check_messages(uint32_t untold, size_t known, size_t links)
{
    static const struct times times[] = {
        {0, 100, 200}, {0, 110, 200}, {0, 300, 400}, {0, 310, 400}};
    struct drawn *drawn = calloc(1, sizeof *drawn);
    struct lull_survey *survey;
    struct lull_error err;
    assert_non_null(drawn);
    drawn->n_processes = drawn->members[0] = drawn->members[1] = 2;
    drawn->owners[0][1] = drawn->owners[1][1] = 1;
    drawn->nonsense = true;
    drawn->n_operations = 4;
    drawn->n_exchanges = 2;
    for (uint32_t e = 0; e < 2; e++) {
        drawn->exchanges[e] = (struct exchange){
            .n = 2, .told = MESSAGES, .untold = e == 0 ? untold : LULL_NONE, .messages = {{0, 1}}};
        for (uint32_t p = 0; p < 2; p++) {
            drawn->operations[2 * e + p] =
                (struct operation){.process = p, .exchange = e, .rank = p};
            drawn->exchanges[e].operations[p] = 2 * e + p;
            drawn->actions[p][drawn->n_actions[p]++] =
                (struct action){.submits = 2 * e + p, .between = LULL_NONE};
        }
    }
    finish_drawing(drawn, 500, times);
    fail_if(lull_survey_take(drawn->trace, 0, false, &survey, &err) != LULL_OK, "%s", err.text);
    const struct lull_exchanges *exchanges =
        lull_replay_devices_exchanges(lull_survey_devices(survey));
    assert_int_equal(exchanges->n_known, known);
    assert_int_equal(exchanges->n_links, links);
    assert_int_equal(exchanges->n_all, 4);
    lull_survey_destroy(survey);
    lull_trace_close(drawn->trace);
    free(drawn);
}

static void test_unequal_messages(void **state)
{
    (void)state;
    check_messages(LULL_NONE, 4, 2);
    check_messages(0, 1, 0); /* which of the receives is for the send that is told, nobody knows */
    check_messages(1, 2, 0); /* both sends are known, and wait for nobody */
}

/* ---- what a diagnosis and lull replay say ---------------------------------------------------- */

enum { ITERATIONS = 30, COMPUTES = 40000, UNEVEN = 2000 };

/* Two ranks compute on their devices, by turns one of them for longer, exchange, and wait; `transfer` ns are behind the
 * begin of the last rank. */
static struct drawn *plant(int64_t transfer)
{
    const struct supposed measured = {.kernel = 1, .drawing = true};
    struct times times[MOST_OPERATIONS];
    struct drawn *drawn = calloc(1, sizeof *drawn);
    assert_non_null(drawn);
    drawn->n_processes = drawn->members[0] = drawn->members[1] = 2;
    drawn->owners[0][1] = drawn->owners[1][1] = 1;
    memset(drawn->last, 0xff, sizeof drawn->last);
    for (uint32_t i = 0; i < ITERATIONS; i++) {
        struct exchange *exchange = &drawn->exchanges[drawn->n_exchanges++];
        *exchange = (struct exchange){.n = 2,
                                      .told = ALLREDUCE,
                                      .bytes = 1 << 16,
                                      .untold = LULL_NONE,
                                      .known = {true, true}};
        for (uint32_t p = 0; p < 2; p++)
            for (uint32_t a = 0; a < 3; a++) {
                struct action *action = &drawn->actions[p][drawn->n_actions[p]++];
                const uint32_t o = drawn->n_operations;
                *action = (struct action){
                    .submits = a < 2 ? o : LULL_NONE, .awaits = o - 1, .between = LULL_NONE};
                if (a == 2)
                    continue;
                drawn->operations[drawn->n_operations++] =
                    (struct operation){.process = p,
                                       .before = drawn->last[p][0],
                                       .exchange = a == 0 ? LULL_NONE : drawn->n_exchanges - 1,
                                       .rank = p,
                                       .length = a == 1       ? transfer
                                                 : i % 2 == p ? COMPUTES + UNEVEN
                                                              : COMPUTES};
                drawn->last[p][0] = o;
                exchange->operations[p] = o;
            }
    }
    finish_drawing(drawn, evaluate(drawn, &measured, 0, times, drawn->ends), times);
    return drawn;
}

static void write_planted(int64_t transfer, const char *path, int64_t *ret_runtime)
{
    struct drawn *drawn = plant(transfer);
    struct lull_error err;
    fail_if(lull_convert(drawn->trace, path, lull_format_find("tape"), true, NULL, NULL, &err) !=
                LULL_OK,
            "%s", err.text);
    *ret_runtime = drawn->trace->duration;
    lull_trace_close(drawn->trace);
    free(drawn);
}

/* What lull replay says with a network. */
static int64_t replay_on(const char *path, const char *network)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_supposition supposition = {.words = NULL};
    struct lull_notices notices = {.arena = arena};
    struct lull_replay_study study;
    struct lull_error err;
    fail_if(lull_replay_networks_read(network, arena, &supposition.networks, &err) != LULL_OK, "%s",
            err.text);
    fail_if(lull_replay_study_make(path, &supposition, NULL, &notices, arena, &study, &err) !=
                LULL_OK,
            "%s", err.text);
    assert_int_equal(study.exchanges.all, 2 * ITERATIONS);
    assert_int_equal(study.exchanges.known, 2 * ITERATIONS);
    assert_int_equal(study.exchanges.sized, 2 * ITERATIONS);
    const int64_t runtime = study.runs.runs[2].breakdown->runtime_ns;
    lull_replay_study_close(&study);
    lull_arena_destroy(arena);
    return runtime;
}

/* What the finding of exposed communication saves; it is the first. */
static int64_t price_of(const char *path)
{
    static const struct lull_comparison_wish nothing;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_report_options options = {.runs = {.operations = true}};
    struct lull_notices notices = {.arena = arena};
    struct lull_report report;
    struct lull_error err;
    fail_if(lull_report_load(&path, 1, &options, &notices, arena, &report, &err) != LULL_OK, "%s",
            err.text);
    fail_if(lull_study_compare_loaded(&report.runs, &nothing, &notices, arena, &err) != LULL_OK ||
                lull_report_diagnose(&report, &options, arena, &err) != LULL_OK,
            "%s", err.text);
    const struct lull_diagnosis *diagnosis = &report.of[0].diagnosis;
    assert_true(diagnosis->count > 0);
    assert_string_equal(diagnosis->findings[0].rule->id, "device_exchange");
    assert_null(diagnosis->findings[0].gain.absent);
    const int64_t ns = diagnosis->findings[0].gain.ns;
    lull_report_close(&report);
    lull_arena_destroy(arena);
    return ns;
}

/* Exchanges take 5 or 20 % of the run behind the begin of their last rank: the price of that is the schedule without, and so
 * is the replay on an ideal network. */
static void test_planted(void **state)
{
    (void)state;
    static const int percents[] = {5, 20};
    int64_t without, with, replayed;
    folder_make();
    write_planted(1, folder_path("without"), &without);
    for (int i = 0; i < 2; i++) {
        const char *path = folder_path("planted");
        write_planted((COMPUTES + UNEVEN) * percents[i] / (100 - percents[i]), path, &with);
        replayed = replay_on(path, "ideal");
        assert_in_range(replayed, without - ITERATIONS, without);
        assert_in_range(price_of(path), with - without, with - replayed);
        /* In one message, or two halves one after the other. */
        const int64_t bytes_ns = ITERATIONS * (INT64_C(1) << 16);
        assert_in_range(replay_on(path, "hockney:latency=5us,bandwidth=1GB/s"),
                        replayed + bytes_ns + ITERATIONS * (5000 - UNEVEN),
                        replayed + bytes_ns + ITERATIONS * (2 * 5000 + UNEVEN));
    }
    folder_remove();
}

TEST_GROUP(test_exchange_replay)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchanges), cmocka_unit_test(test_nonsense_exchanges),
        cmocka_unit_test(test_untrue_dependence), cmocka_unit_test(test_unequal_messages),
        cmocka_unit_test(test_planted)};
    return run_cases(tests, NULL, NULL);
}
