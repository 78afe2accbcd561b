/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/collective_costs.h"

#include "base/collective.h"
#include "base/hash.h"
#include "base/mix.h"
#include "replay/sample.h"
#include "sim/collective/collective.h"

#include <stdlib.h>

enum { ENTERED, LEFT };
enum { ENOUGH_OPERATIONS = 8 };

struct process_costs {
    int64_t call_began;
    struct lull_hash numbers; /* by communicator: operations so far */
    uint32_t comm;            /* the communicator of the last operation */
    uint64_t *number;         /* its place in `numbers`; NULL: there was no operation */
};

struct lull_collective_costs {
    const struct lull_trace *trace;
    unsigned workers;
    struct lull_sample **samples;    /* [workers] */
    struct process_costs *processes; /* [n_processes] */
};

/* What is kept of a sampled member beside its times; packed into lull_sampled.bytes. */
struct sampled_member {
    uint64_t bytes;
    uint32_t comm;
    uint8_t op;
    bool is_root;
};

enum { BYTES = 32, COMM = 24, OP = 7 }; /* bits */

static uint64_t pack(const struct sampled_member *member)
{
    uint64_t most = (UINT64_C(1) << BYTES) - 1;
    uint64_t packed = member->bytes < most ? member->bytes : most;
    packed = packed << COMM | member->comm;
    packed = packed << OP | member->op;
    return packed << 1 | member->is_root;
}

static struct sampled_member unpack(uint64_t packed)
{
    struct sampled_member member = {.is_root = packed & 1};
    member.op = (packed >>= 1) & ((1 << OP) - 1);
    member.comm = (packed >>= OP) & ((1 << COMM) - 1);
    member.bytes = packed >> COMM;
    return member;
}

/* ---- steps --------------------------------------------------------------------------------- */

static bool is_logarithmic(uint8_t op)
{
    return op == LULL_COLLECTIVE_BARRIER || op == LULL_COLLECTIVE_BCAST ||
           op == LULL_COLLECTIVE_REDUCE || op == LULL_COLLECTIVE_ALLREDUCE;
}

/* Operations of all whose messages depend on the algorithm. */
static bool is_of_blocks(uint8_t op)
{
    return op == LULL_COLLECTIVE_ALLGATHER || op == LULL_COLLECTIVE_ALLGATHERV ||
           op == LULL_COLLECTIVE_ALLTOALL || op == LULL_COLLECTIVE_ALLTOALLV ||
           op == LULL_COLLECTIVE_ALLTOALLW || op == LULL_COLLECTIVE_REDUCE_SCATTER ||
           op == LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK;
}

/* Whether who waits for whom shows if an operation goes along a tree, or straight from or to the
 * root. */
static bool is_rooted(uint8_t op)
{
    return op == LULL_COLLECTIVE_BCAST || op == LULL_COLLECTIVE_REDUCE ||
           op == LULL_COLLECTIVE_GATHER || op == LULL_COLLECTIVE_SCATTER;
}

static bool sample_operation(struct lull_collective_costs *costs, unsigned worker, uint32_t process,
                             const struct lull_step *step)
{
    const struct lull_trace *trace = costs->trace;
    if (step->comm >= trace->n_comms || step->comm >= UINT32_C(1) << COMM ||
        trace->comms[step->comm].remote != LULL_NONE || trace->comms[step->comm].size < 2 ||
        step->collective.request != LULL_NO_REQUEST)
        return true;
    uint32_t comm = lull_comm_canonical(trace, step->comm);
    struct process_costs *of = &costs->processes[process];
    if (!of->number || of->comm != comm) {
        of->comm = comm;
        of->number = lull_hash_add(&of->numbers, &comm, sizeof comm, 0, NULL);
        if (!of->number)
            return false;
    }
    uint64_t hash = lull_sample_hash(lull_mix(lull_mix(0, comm), (*of->number)++));
    if (!(is_logarithmic(step->op) || is_rooted(step->op) || is_of_blocks(step->op)) ||
        !lull_sample_takes(costs->samples[worker], hash))
        return true;
    uint64_t sent = step->collective.sent, received = step->collective.received;
    const struct sampled_member member = {.bytes = sent > received ? sent : received,
                                          .comm = comm,
                                          .op = step->op,
                                          .is_root = step->collective.root == (int32_t)process};
    const struct lull_sample_item sampled = {
        .hash = hash,
        .bytes = pack(&member),
        .times = {[ENTERED] = of->call_began, [LEFT] = step->time},
        .process = process};
    return lull_sample_add(&costs->samples[worker], &sampled);
}

static lull_status take_steps_for_costs(void *context, unsigned worker,
                                        const struct lull_steps *steps, struct lull_error *err)
{
    struct lull_collective_costs *costs = context;
    const uint32_t process = costs->trace->locations[steps->location].process;
    bool fits = true;
    if (costs->trace->processes[process].first_location != steps->location)
        return LULL_OK;
    for (uint32_t i = 0; fits && i < steps->count; i++) {
        const struct lull_step *step = &steps->steps[i];
        if (step->kind == LULL_STEP_CALL_BEGIN)
            costs->processes[process].call_began = step->time;
        else if (step->kind == LULL_STEP_COLLECTIVE_END)
            fits = sample_operation(costs, worker, process, step);
    }
    return fits ? LULL_OK
                : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                            costs->trace->path);
}

struct lull_consumer lull_collective_costs_consumer(struct lull_collective_costs *costs)
{
    return (struct lull_consumer){.context = costs,
                                  .wants = LULL_STEP_MASK(LULL_STEP_CALL_BEGIN) |
                                           LULL_STEP_MASK(LULL_STEP_COLLECTIVE_END),
                                  .steps = take_steps_for_costs};
}

bool lull_collective_costs_put(const struct lull_collective_costs *costs, struct lull_flow *flow)
{
    bool good = lull_flow_put(flow, &costs->workers, sizeof costs->workers);
    for (unsigned w = 0; good && w < costs->workers; w++)
        good = lull_sample_put(costs->samples[w], flow);
    return good;
}

bool lull_collective_costs_get(struct lull_collective_costs *costs, struct lull_flow *flow)
{
    unsigned workers;
    bool good = lull_flow_get(flow, &workers, sizeof workers);
    for (unsigned w = 0; good && w < workers; w++)
        good = lull_sample_get(&costs->samples[0], flow);
    return good;
}

/* ---- trees --------------------------------------------------------------------------------- */

enum { LATE = 10 }; /* latencies that a process must be late for the wait to be seen */

/* How often a process waited, or went on without, for a late process that would be between it and
 * the root's data, or its own part of the data, if the operation were a binomial tree. */
struct tree_evidence {
    uint32_t waited, went_on;
};

/* When the last process came that is below a place in the tree; or (last_above) above the place and
 * below the root. Places are counted from the root; the parent of a place is its number without the
 * lowest bit (sim/collective/collective.c). */
static int64_t last_below(const int64_t *entered, uint32_t size, uint32_t place)
{
    const uint32_t end = place + (place & -place);
    int64_t last = INT64_MIN;
    for (uint32_t i = place + 1; i < end && i < size; i++)
        last = entered[i] > last ? entered[i] : last;
    return last;
}

static int64_t last_above(const int64_t *entered, uint32_t place)
{
    int64_t last = INT64_MIN;
    for (uint32_t i = place & (place - 1); i > 0; i &= i - 1)
        last = entered[i] > last ? entered[i] : last;
    return last;
}

/* Puts the times of the members in the order of their places; false: the members, or the root, are
 * not known. */
static bool arrange(const struct lull_trace *trace, const struct lull_sample_item *members,
                    const struct sampled_member *of, int64_t *entered, int64_t *left)
{
    const struct lull_comm *comm = &trace->comms[of->comm];
    uint32_t root = LULL_NONE;
    for (uint32_t i = 0; i < comm->size; i++) {
        const struct sampled_member member = unpack(members[i].bytes);
        if (member.op != of->op)
            return false;
        if (member.is_root)
            root = lull_comm_rank(comm, members[i].process);
    }
    for (uint32_t i = 0; root != LULL_NONE && i < comm->size; i++) {
        const uint32_t rank = lull_comm_rank(comm, members[i].process);
        if (rank == LULL_NONE)
            return false;
        const uint32_t place = (rank + comm->size - root) % comm->size;
        entered[place] = members[i].times[ENTERED];
        left[place] = members[i].times[LEFT];
    }
    return root != LULL_NONE;
}

static void look_for_tree(const struct lull_trace *trace, const struct lull_sample_item *members,
                          const struct sampled_member *of, double latency, int64_t *times,
                          struct tree_evidence *evidence)
{
    const uint32_t size = trace->comms[of->comm].size;
    const bool up = lull_collective_needs(of->op) == LULL_ROOT_NEEDS_ALL;
    int64_t *entered = times, *left = times + size;
    if (!is_rooted(of->op) || !arrange(trace, members, of, entered, left))
        return;
    for (uint32_t place = 1; place < size; place++) {
        const int64_t ready = !up && entered[0] > entered[place] ? entered[0] : entered[place];
        const int64_t last = up ? last_below(entered, size, place) : last_above(entered, place);
        if (last <= ready || (double)(last - ready) < LATE * latency)
            continue;
        if (left[place] < ready + (last - ready) / 2)
            evidence->went_on++;
        else
            evidence->waited++;
    }
}

/* ---- the delay ----------------------------------------------------------------------------- */

struct cost_sum {
    double ns;
    uint64_t messages; /* that go one after the other */
    uint32_t operations;
};

static uint32_t rounds(uint32_t size)
{
    uint32_t count = 0;
    while (UINT32_C(1) << count < size && count < 31)
        count++;
    return count;
}

/* When the operation could begin, and when it was over for the members that needed others. False:
 * that is not known. */
static bool find_span(const struct lull_sample_item *members, uint32_t size, uint8_t op,
                      int64_t *ret_begin, int64_t *ret_end)
{
    enum lull_collective_needs needs = lull_collective_needs(op);
    bool has_root = needs == LULL_NEEDS_ALL;
    int64_t begin = INT64_MIN, end = INT64_MIN;
    for (uint32_t i = 0; i < size; i++) {
        const struct sampled_member member = unpack(members[i].bytes);
        bool is_root = member.is_root;
        if (member.op != op)
            return false;
        bool waits = needs == LULL_NEEDS_ALL || is_root == (needs == LULL_ROOT_NEEDS_ALL);
        has_root |= is_root;
        if (members[i].times[ENTERED] > begin)
            begin = members[i].times[ENTERED];
        if (waits && members[i].times[LEFT] > end)
            end = members[i].times[LEFT];
    }
    *ret_begin = begin;
    *ret_end = end;
    return has_root;
}

/* The messages of an operation that go one after the other: how many, and their bytes together. */
struct message_row {
    uint32_t count;
    double bytes;
};

/* The row of the first member, by the algorithm that goes with the size; all members have the same
 * in these operations where their number is a power of two, and nearly the same else. */
static struct message_row row_of_blocks(uint8_t op, uint32_t size, uint64_t bytes)
{
    static const struct lull_network usual;
    const struct lull_collective_call call = {.operation = op,
                                              .algorithm =
                                                  lull_collective_choose(&usual, op, size, bytes),
                                              .size = size,
                                              .sent = bytes,
                                              .received = bytes};
    struct message_row row = {0, 0};
    uint32_t n;
    for (uint32_t step = 0; (n = lull_collective_step(&call, step)) != LULL_COLLECTIVE_OVER;
         step++) {
        uint64_t most = 0;
        for (uint32_t i = 0; i < n; i++) {
            struct lull_collective_transfer transfer;
            lull_collective_transfer(&call, step, i, &transfer);
            if (transfer.send && transfer.bytes > most)
                most = transfer.bytes;
        }
        row.count += n > 0;
        row.bytes += (double)most;
    }
    return row;
}

static struct message_row row_of(const struct sampled_member *of, uint32_t size, bool direct)
{
    if (is_of_blocks(of->op))
        return row_of_blocks(of->op, size, of->bytes);
    const uint32_t count = direct ? 1 : rounds(size);
    return (struct message_row){count, (double)count * (double)of->bytes};
}

static void compare_members(const struct lull_sample_item *members, uint32_t size,
                            const struct sampled_member *of, double latency, double bandwidth,
                            bool direct, struct cost_sum *sum)
{
    int64_t begin, end;
    if (!find_span(members, size, of->op, &begin, &end) || end < begin)
        return;
    const struct message_row row = row_of(of, size, direct);
    sum->ns += (double)(end - begin) - row.count * latency - 1e9 * row.bytes / bandwidth;
    sum->messages += row.count;
    sum->operations++;
}

/* ---- the whole sample ------------------------------------------------------------------------ */

/* Finds the members of the operation that begins at item `from` of the sample; *ret_end: the item
 * behind its last one. False: not all members are in the sample. */
static bool next_operation(const struct lull_collective_costs *costs,
                           const struct lull_sample *sample, uint32_t from, uint32_t *ret_end,
                           struct sampled_member *ret_first)
{
    uint32_t end = from;
    while (end < sample->count && sample->items[end].hash == sample->items[from].hash)
        end++;
    *ret_end = end;
    *ret_first = unpack(sample->items[from].bytes);
    return end - from == costs->trace->comms[ret_first->comm].size;
}

static void find_direct(const struct lull_collective_costs *costs, const struct lull_sample *sample,
                        double latency, int64_t *times, struct lull_collective_facts *facts)
{
    struct tree_evidence evidence[LULL_COLLECTIVES] = {{0}};
    struct sampled_member first;
    for (uint32_t i = 0, end; i < sample->count; i = end)
        if (next_operation(costs, sample, i, &end, &first))
            look_for_tree(costs->trace, &sample->items[i], &first, latency, times,
                          &evidence[first.op]);
    for (unsigned op = 0; op < LULL_COLLECTIVES; op++)
        facts->direct[op] = evidence[op].went_on >= ENOUGH_OPERATIONS &&
                            evidence[op].went_on >= 9 * (uint64_t)evidence[op].waited;
}

static void find_delay(const struct lull_collective_costs *costs, const struct lull_sample *sample,
                       double latency, double bandwidth, struct lull_collective_facts *facts)
{
    struct cost_sum sums[2] = {{0}}; /* of logarithmic operations, and of those of blocks */
    struct sampled_member first;
    for (uint32_t i = 0, end; i < sample->count; i = end)
        if (next_operation(costs, sample, i, &end, &first) &&
            (is_logarithmic(first.op) || is_of_blocks(first.op)))
            compare_members(&sample->items[i], end - i, &first, latency, bandwidth,
                            facts->direct[first.op], &sums[is_of_blocks(first.op)]);
    const struct cost_sum *sum = &sums[sums[0].operations < ENOUGH_OPERATIONS];
    facts->delay =
        sum->operations >= ENOUGH_OPERATIONS && sum->ns > 0 ? sum->ns / (double)sum->messages : 0;
}

lull_status lull_collective_costs_conclude(struct lull_collective_costs *costs, double latency,
                                           double bandwidth,
                                           struct lull_collective_facts *ret_facts,
                                           struct lull_error *err)
{
    struct lull_sample *all = NULL;
    int64_t *times = malloc(2 * LULL_SAMPLE * sizeof *times);
    bool fits = times != NULL;
    *ret_facts = (struct lull_collective_facts){0};
    for (unsigned w = 0; fits && w < costs->workers; w++)
        fits = lull_sample_join(&all, costs->samples[w]);
    if (fits && all) {
        lull_sample_settle(all);
        find_direct(costs, all, latency, times, ret_facts);
        find_delay(costs, all, latency, bandwidth, ret_facts);
    }
    free(all);
    free(times);
    return fits ? LULL_OK
                : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                            costs->trace->path);
}

/* ---- life ---------------------------------------------------------------------------------- */

lull_status lull_collective_costs_create(const struct lull_trace *trace, unsigned workers,
                                         struct lull_collective_costs **ret_costs,
                                         struct lull_error *err)
{
    struct lull_collective_costs *costs = calloc(1, sizeof *costs);
    if (costs) {
        costs->trace = trace;
        costs->workers = workers;
        costs->samples = calloc(workers, sizeof(struct lull_sample *));
        costs->processes = calloc(trace->n_processes + (size_t)1, sizeof *costs->processes);
    }
    if (!costs || !costs->samples || !costs->processes) {
        lull_collective_costs_destroy(costs);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    }
    *ret_costs = costs;
    return LULL_OK;
}

void lull_collective_costs_destroy(struct lull_collective_costs *costs)
{
    if (!costs)
        return;
    for (unsigned w = 0; costs->samples && w < costs->workers; w++)
        free(costs->samples[w]);
    for (uint32_t p = 0; costs->processes && p < costs->trace->n_processes; p++)
        lull_hash_free(&costs->processes[p].numbers);
    free(costs->samples);
    free(costs->processes);
    free(costs);
}
