#include "replay/measured_network.h"

#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>

enum { SIZES = 65, SAMPLES = 2048, ENOUGH = 8 };
enum { IN_NODE, BETWEEN_NODES, REACHES };
enum { WAITED_FOR, ALL, SETS }; /* messages that their receiver waited for, and all of them */

/* A message of a sample: what it took from when it could be received. */
struct timing {
    uint64_t hash;
    int64_t ns;
    uint64_t bytes;
};

/* Up to SAMPLES messages of about one size: those with the smallest hashes, so that they are the
 * same whatever the order in which messages come. */
struct sample {
    struct timing items[2 * SAMPLES];
    uint32_t count;
    uint64_t most; /* those with larger hashes are out */
};

/* What one worker has seen. */
struct tally {
    struct sample *of[REACHES][SETS][SIZES];
    bool no_memory;
};

struct lull_network_samples {
    const struct lull_trace *trace;
    unsigned workers;
    struct tally *tallies;
};

/* ---- samples ------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t hash_message(const struct lull_ideal_message *message)
{
    uint64_t hash = mix(0, (uint64_t)message->source << 32 | message->target);
    hash = mix(hash, (uint64_t)message->sent);
    hash = mix(hash, (uint64_t)message->called);
    hash = mix(hash, (uint64_t)message->received);
    return mix(hash, message->bytes) * UINT64_C(0xc2b2ae3d27d4eb4f);
}

static int compare_timings(const void *a, const void *b)
{
    const struct timing *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static void thin_out(struct sample *sample)
{
    qsort(sample->items, sample->count, sizeof *sample->items, compare_timings);
    if (sample->count > SAMPLES) {
        sample->count = SAMPLES;
        sample->most = sample->items[SAMPLES - 1].hash;
    }
}

static void add_timing(struct sample *sample, const struct timing *timing)
{
    if (timing->hash > sample->most)
        return;
    if (sample->count == 2 * SAMPLES)
        thin_out(sample);
    sample->items[sample->count++] = *timing;
}

static struct sample *sample_for(struct sample **sample)
{
    if (!*sample && (*sample = malloc(sizeof **sample)) != NULL) {
        (*sample)->count = 0;
        (*sample)->most = UINT64_MAX;
    }
    return *sample;
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
    const struct timing timing = {hash_message(message), message->received - from, message->bytes};
    if (message->received < from) /* clocks */
        return;
    for (int set = waited ? WAITED_FOR : ALL; set < SETS; set++) {
        struct sample *sample = sample_for(&tally->of[a == b ? IN_NODE : BETWEEN_NODES][set][size]);
        if (sample)
            add_timing(sample, &timing);
        else
            tally->no_memory = true;
    }
}

/* Those of all workers go to the first. */
static void add_tally(struct tally *sum, const struct tally *part)
{
    for (int reach = 0; reach < REACHES; reach++)
        for (int set = 0; set < SETS; set++)
            for (int size = 0; size < SIZES; size++) {
                const struct sample *from = part->of[reach][set][size];
                struct sample *to = from ? sample_for(&sum->of[reach][set][size]) : NULL;
                for (uint32_t i = 0; to && i < from->count; i++)
                    add_timing(to, &from->items[i]);
                sum->no_memory |= part->no_memory || (from && !to);
            }
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

static void add_size(struct sample *sample, double *ret_time, double *ret_bytes)
{
    double times[SAMPLES], bytes = 0;
    thin_out(sample);
    for (uint32_t i = 0; i < sample->count; i++) {
        times[i] = (double)sample->items[i].ns;
        bytes += (double)sample->items[i].bytes;
    }
    lull_sort(times, sample->count);
    *ret_time = lull_quantile(times, sample->count, LULL_NETWORK_QUANTILE);
    *ret_bytes = bytes / sample->count;
}

/* Through the smallest and the largest size. */
static struct line fit_sizes(struct sample *const *of)
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

lull_status lull_network_samples_fit(struct lull_network_samples *samples, uint32_t application,
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
    return LULL_OK;
}
