#include "replay/measured_network.h"

#include "replay/eager_limit.h"
#include "replay/sample.h"
#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>

enum { SIZES = 65, ENOUGH = 8 };
enum { IN_NODE, BETWEEN_NODES, REACHES };
enum { WAITED_FOR, ALL, SETS }; /* messages that their receiver waited for, and all of them */

/* What one worker has seen. */
struct tally {
    struct lull_sample *of[REACHES][SETS][SIZES];
    bool no_memory;
};

struct lull_network_samples {
    const struct lull_trace *trace;
    unsigned workers;
    struct tally *tallies;
};

/* ---- samples ------------------------------------------------------------------------------- */

static uint64_t hash_message(const struct lull_ideal_message *message)
{
    uint64_t hash = lull_sample_mix(0, (uint64_t)message->source << 32 | message->target);
    hash = lull_sample_mix(hash, (uint64_t)message->sent);
    hash = lull_sample_mix(hash, (uint64_t)message->called);
    hash = lull_sample_mix(hash, (uint64_t)message->received);
    return lull_sample_mix(hash, message->bytes) * UINT64_C(0xc2b2ae3d27d4eb4f);
}

void lull_network_samples_take(void *context, unsigned worker,
                               const struct lull_ideal_message *message)
{
    const struct lull_network_samples *samples = context;
    struct tally *tally = &samples->tallies[worker];
    const struct lull_process *processes = samples->trace->processes;
    uint32_t a = processes[message->source].node, b = processes[message->target].node;
    bool waited = message->called <= message->sent;
    int64_t from = waited ? message->sent : message->called;
    unsigned size = message->bytes ? 64 - (unsigned)__builtin_clzll(message->bytes) : 0;
    const struct lull_sampled timing = {.hash = hash_message(message),
                                        .bytes = message->bytes,
                                        .times = {message->received - from}};
    if (message->received < from) /* clocks */
        return;
    for (int set = waited ? WAITED_FOR : ALL; set < SETS; set++)
        tally->no_memory |=
            !lull_sample_add(&tally->of[a == b ? IN_NODE : BETWEEN_NODES][set][size], &timing);
}

/* Those of all workers go to the first. */
static void add_tally(struct tally *sum, const struct tally *part)
{
    for (int reach = 0; reach < REACHES; reach++)
        for (int set = 0; set < SETS; set++)
            for (int size = 0; size < SIZES; size++)
                sum->no_memory |= part->no_memory || !lull_sample_join(&sum->of[reach][set][size],
                                                                       part->of[reach][set][size]);
}

lull_status lull_network_samples_create(const struct lull_trace *trace, unsigned workers,
                                        struct lull_network_samples **ret_samples,
                                        struct lull_error *err)
{
    struct lull_network_samples *samples = calloc(1, sizeof *samples);
    struct tally *tallies = calloc(workers, sizeof *tallies);
    if (!samples || !tallies) {
        free(samples);
        free(tallies);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    }
    *samples =
        (struct lull_network_samples){.trace = trace, .workers = workers, .tallies = tallies};
    *ret_samples = samples;
    return LULL_OK;
}

void lull_network_samples_destroy(struct lull_network_samples *samples)
{
    if (!samples)
        return;
    for (unsigned w = 0; w < samples->workers; w++)
        for (int reach = 0; reach < REACHES; reach++)
            for (int set = 0; set < SETS; set++)
                for (int size = 0; size < SIZES; size++)
                    free(samples->tallies[w].of[reach][set][size]);
    free(samples->tallies);
    free(samples);
}

/* ---- the fit ------------------------------------------------------------------------------- */

struct line {
    double latency, bandwidth; /* ns; bytes/s */
    bool known;
};

static void add_size(struct lull_sample *sample, double *ret_time, double *ret_bytes)
{
    double times[LULL_SAMPLE], bytes = 0;
    lull_sample_settle(sample);
    for (uint32_t i = 0; i < sample->count; i++) {
        times[i] = (double)sample->items[i].times[0];
        bytes += (double)sample->items[i].bytes;
    }
    lull_sort(times, sample->count);
    *ret_time = lull_quantile(times, sample->count, LULL_NETWORK_QUANTILE);
    *ret_bytes = bytes / sample->count;
}

/* Through the smallest and the largest size. */
static struct line fit_sizes(struct lull_sample *const *of)
{
    struct line line = {0, (double)INFINITY, false};
    double bytes[2] = {0, 0}, times[2] = {0, 0};
    for (int size = 0; size < SIZES; size++) {
        if (!of[size] || of[size]->count < ENOUGH)
            continue;
        add_size(of[size], &times[line.known], &bytes[line.known]);
        line.known = true;
    }
    if (!line.known)
        return line;
    line.latency = times[0];
    if (bytes[1] > 4 * bytes[0] && times[1] > times[0]) {
        line.bandwidth = 1e9 * (bytes[1] - bytes[0]) / (times[1] - times[0]);
        line.latency = fmax(0, times[0] - 1e9 * bytes[0] / line.bandwidth);
    }
    return line;
}

static struct line fit_reach(struct tally *tally, int reach)
{
    struct line line = fit_sizes(tally->of[reach][WAITED_FOR]);
    return line.known ? line : fit_sizes(tally->of[reach][ALL]);
}

static void set_line(struct lull_network *network, enum lull_level level, struct line line)
{
    uint32_t latency = lull_network_parameter(network->class, "latency");
    uint32_t bandwidth = lull_network_parameter(network->class, "bandwidth");
    lull_network_set(network, latency, level, line.latency);
    lull_network_set(network, bandwidth, level, fmax(1, line.bandwidth));
}

/* Each node gets as many cores as the fullest has ranks; the ranks of a node take its cores in
 * turn. */
void lull_replay_placement(const struct lull_trace *trace, uint32_t application,
                           struct lull_arena *arena, struct lull_placement *ret_placement)
{
    uint32_t *used = lull_arena_zero(arena, trace->n_nodes + (size_t)1, sizeof *used);
    uint32_t *node = lull_arena_zero(arena, trace->n_processes + (size_t)1, sizeof *node);
    uint32_t *map = lull_arena_zero(arena, trace->n_processes + (size_t)1, sizeof *map);
    uint32_t n = 0, most = 1;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct lull_process *process = &trace->processes[p];
        if (process->application != application || !process->n_threads)
            continue;
        node[n] = process->node == LULL_NONE ? trace->n_nodes : process->node;
        map[n] = used[node[n]]++;
        most = used[node[n]] > most ? used[node[n]] : most;
        n++;
    }
    for (uint32_t r = 0; r < n; r++)
        map[r] += node[r] * most;
    *ret_placement = (struct lull_placement){.cores_per_node = most, .n_ranks = n, .map = map};
}

/* All levels, then those beyond a node. */
static lull_status set_eager_limits(struct lull_network *network,
                                    struct lull_eager_evidence *evidence, struct lull_error *err)
{
    uint32_t eager = lull_network_parameter(network->class, "eager");
    for (int between = 0; between < 2; between++) {
        double limit, usual = network->class->parameters[eager].value;
        lull_status status = lull_eager_evidence_limit(evidence, between, usual, &limit, err);
        if (status != LULL_OK)
            return status;
        for (int level = between ? LULL_LEVEL_NODE + 1 : 0; level < LULL_LEVELS; level++)
            lull_network_set(network, eager, (enum lull_level)level, limit);
    }
    return LULL_OK;
}

lull_status lull_network_samples_fit(struct lull_network_samples *samples,
                                     struct lull_eager_evidence *evidence, uint32_t application,
                                     struct lull_arena *arena, struct lull_network *ret_network,
                                     struct lull_error *err)
{
    struct tally *tally = &samples->tallies[0];
    for (unsigned w = 1; w < samples->workers; w++)
        add_tally(tally, &samples->tallies[w]);
    if (tally->no_memory)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                         samples->trace->path);
    struct line in = fit_reach(tally, IN_NODE), between = fit_reach(tally, BETWEEN_NODES);
    if (!in.known)
        in = between;
    if (!between.known)
        between = in;
    lull_network_init(ret_network, lull_network_find("hockney"));
    lull_replay_placement(samples->trace, application, arena, &ret_network->placement);
    for (int level = 0; level < LULL_LEVELS; level++)
        set_line(ret_network, (enum lull_level)level, level <= LULL_LEVEL_NODE ? in : between);
    return evidence ? set_eager_limits(ret_network, evidence, err) : LULL_OK;
}
