#include "replay/collective_costs.h"

#include "base/collective.h"
#include "base/hash.h"
#include "replay/sample.h"

#include <stdlib.h>

enum { ENTERED, LEFT };
enum { ENOUGH = 8 };

struct process {
    int64_t call_began;
    struct lull_hash numbers; /* by communicator: operations so far */
};

struct lull_collective_costs {
    const struct lull_trace *trace;
    unsigned workers;
    struct lull_sample **samples; /* [workers] */
    struct process *processes;    /* [n_processes] */
};

/* What a sampled member says beside its times, in the place of bytes. */
struct member {
    uint64_t bytes;
    uint32_t comm;
    uint8_t op;
    bool is_root;
};

enum { BYTES = 32, COMM = 24, OP = 7 }; /* bits */

static uint64_t pack(const struct member *member)
{
    uint64_t most = (UINT64_C(1) << BYTES) - 1;
    uint64_t packed = member->bytes < most ? member->bytes : most;
    packed = packed << COMM | member->comm;
    packed = packed << OP | member->op;
    return packed << 1 | member->is_root;
}

static struct member unpack(uint64_t packed)
{
    struct member member = {.is_root = packed & 1};
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

static bool take_operation(struct lull_collective_costs *costs, unsigned worker, uint32_t process,
                           const struct lull_step *step)
{
    const struct lull_trace *trace = costs->trace;
    if (step->comm >= trace->n_comms || step->comm >= UINT32_C(1) << COMM ||
        trace->comms[step->comm].remote != LULL_NONE || trace->comms[step->comm].size < 2 ||
        step->collective.request != LULL_NO_REQUEST)
        return true;
    uint32_t comm = lull_comm_canonical(trace, step->comm);
    struct process *of = &costs->processes[process];
    uint64_t *number = lull_hash_add(&of->numbers, &comm, sizeof comm, 0, NULL);
    if (!number)
        return false;
    uint64_t hash = lull_sample_mix(lull_sample_mix(0, comm), (*number)++);
    uint64_t sent = step->collective.sent, received = step->collective.received;
    const struct member member = {.bytes = sent > received ? sent : received,
                                  .comm = comm,
                                  .op = step->op,
                                  .is_root = step->collective.root == (int32_t)process};
    const struct lull_sampled sampled = {
        .hash = hash * UINT64_C(0xc2b2ae3d27d4eb4f),
        .bytes = pack(&member),
        .times = {[ENTERED] = of->call_began, [LEFT] = step->time}};
    return !is_logarithmic(step->op) || lull_sample_add(&costs->samples[worker], &sampled);
}

static lull_status take_steps(void *context, unsigned worker, const struct lull_steps *steps,
                              struct lull_error *err)
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
            fits = take_operation(costs, worker, process, step);
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
                                  .steps = take_steps};
}

/* ---- the delay ----------------------------------------------------------------------------- */

struct sum {
    double ns;
    uint64_t messages; /* one after the other */
    uint32_t operations;
};

static uint32_t rounds(uint32_t size)
{
    uint32_t count = 0;
    while (UINT32_C(1) << count < size && count < 31)
        count++;
    return count;
}

/* When the operation could begin, and when it was over, for those that needed others; false: that
 * is not known. */
static bool find_span(const struct lull_sampled *members, uint32_t size, uint8_t op,
                      int64_t *ret_begin, int64_t *ret_end)
{
    enum lull_collective_needs needs = lull_collective_needs(op);
    bool has_root = needs == LULL_NEEDS_ALL;
    int64_t begin = INT64_MIN, end = INT64_MIN;
    for (uint32_t i = 0; i < size; i++) {
        const struct member member = unpack(members[i].bytes);
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

static void compare(const struct lull_sampled *members, uint32_t size, const struct member *of,
                    double latency, double bandwidth, struct sum *sum)
{
    int64_t begin, end;
    uint32_t count = rounds(size);
    if (!find_span(members, size, of->op, &begin, &end) || end < begin)
        return;
    sum->ns += (double)(end - begin) - count * (latency + 1e9 * (double)of->bytes / bandwidth);
    sum->messages += count;
    sum->operations++;
}

lull_status lull_collective_costs_delay(struct lull_collective_costs *costs, double latency,
                                        double bandwidth, double *ret_delay, struct lull_error *err)
{
    struct lull_sample *all = NULL;
    struct sum sum = {0};
    for (unsigned w = 0; w < costs->workers; w++)
        if (!lull_sample_join(&all, costs->samples[w])) {
            free(all);
            return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                             costs->trace->path);
        }
    if (all)
        lull_sample_settle(all);
    for (uint32_t i = 0, end; all && i < all->count; i = end) {
        const struct member member = unpack(all->items[i].bytes);
        for (end = i; end < all->count && all->items[end].hash == all->items[i].hash;)
            end++;
        if (end - i == costs->trace->comms[member.comm].size)
            compare(&all->items[i], end - i, &member, latency, bandwidth, &sum);
    }
    free(all);
    *ret_delay = sum.operations >= ENOUGH && sum.ns > 0 ? sum.ns / (double)sum.messages : 0;
    return LULL_OK;
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
