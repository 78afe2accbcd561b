#include "replay/measured_network.h"

#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>

enum { SIZES = 65, SAMPLES = 2048, ENOUGH = 8 };
enum { IN_NODE, BETWEEN_NODES, REACHES };

/* Times of messages of about one size: of every `step`-th one, in a ring that is thinned out. */
struct sample {
    double times[SAMPLES];
    uint32_t count;
    uint64_t step, seen;
    double bytes; /* sum over those kept */
};

/* [0]: the receiver waited for it; [1]: all */
struct samples {
    const struct lull_trace *trace;
    struct sample *of[REACHES][2][SIZES];
    bool no_memory;
};

static void add_time(struct sample *sample, double time, double bytes)
{
    if (sample->seen++ % sample->step != 0)
        return;
    if (sample->count == SAMPLES) { /* every second one is enough from now on */
        for (uint32_t i = 0; i < SAMPLES / 2; i++)
            sample->times[i] = sample->times[2 * i];
        sample->count = SAMPLES / 2;
        sample->bytes /= 2;
        sample->step *= 2;
    }
    sample->times[sample->count++] = time;
    sample->bytes += bytes;
}

static void take_message(void *context, unsigned worker, const struct lull_ideal_message *message)
{
    (void)worker; /* there is one, so that the samples do not depend on their number */
    struct samples *samples = context;
    const struct lull_process *processes = samples->trace->processes;
    uint32_t a = processes[message->source].node, b = processes[message->target].node;
    bool waited = message->called <= message->sent;
    int64_t from = waited ? message->sent : message->called;
    unsigned size = message->bytes ? 64 - (unsigned)__builtin_clzll(message->bytes) : 0;
    if (message->received < from) /* clocks */
        return;
    for (int which = waited ? 0 : 1; which < 2; which++) {
        struct sample **sample = &samples->of[a == b ? IN_NODE : BETWEEN_NODES][which][size];
        if (!*sample) {
            *sample = calloc(1, sizeof **sample);
            if (!*sample) {
                samples->no_memory = true;
                return;
            }
            (*sample)->step = 1;
        }
        add_time(*sample, (double)(message->received - from), (double)message->bytes);
    }
}

struct line {
    double latency, bandwidth; /* ns; bytes/s */
    bool known;
};

/* Through the smallest and the largest size. */
static struct line fit(struct sample *const *of)
{
    struct line line = {0, (double)INFINITY, false};
    double bytes[2] = {0, 0}, times[2] = {0, 0};
    for (int size = 0; size < SIZES; size++) {
        struct sample *sample = of[size];
        if (!sample || sample->count < ENOUGH)
            continue;
        lull_sort(sample->times, sample->count);
        double time = lull_quantile(sample->times, sample->count, LULL_NETWORK_QUANTILE);
        int end = line.known;
        bytes[end] = sample->bytes / sample->count;
        times[end] = time;
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

static struct line fit_reach(struct samples *samples, int reach)
{
    struct line line = fit(samples->of[reach][0]);
    return line.known ? line : fit(samples->of[reach][1]);
}

static void free_samples(struct samples *samples)
{
    for (int reach = 0; reach < REACHES; reach++)
        for (int which = 0; which < 2; which++)
            for (int size = 0; size < SIZES; size++)
                free(samples->of[reach][which][size]);
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

lull_status lull_replay_network(const struct lull_trace *trace, uint32_t application,
                                struct lull_arena *arena, struct lull_network *ret_network,
                                struct lull_ideal_result *ret_ideal, struct lull_error *err)
{
    struct samples samples = {.trace = trace};
    struct lull_ideal_options options = {.application = application,
                                         .workers = 1,
                                         .message = take_message,
                                         .message_context = &samples};
    lull_status status = lull_ideal_runtime(trace, &options, arena, ret_ideal, err);
    if (status == LULL_OK && samples.no_memory)
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    struct line in = fit_reach(&samples, IN_NODE), between = fit_reach(&samples, BETWEEN_NODES);
    free_samples(&samples);
    if (status != LULL_OK)
        return status;
    if (!in.known)
        in = between;
    if (!between.known)
        between = in;
    lull_network_init(ret_network, lull_network_find("hockney"));
    lull_replay_placement(trace, application, arena, &ret_network->placement);
    for (int level = 0; level < LULL_LEVELS; level++)
        set_line(ret_network, (enum lull_level)level, level <= LULL_LEVEL_NODE ? in : between);
    return LULL_OK;
}
