#include "cli/replay_runs.h"

#include "base/text.h"
#include "sim/engine.h"
#include "sim/replay_network.h"
#include "sim/spec.h"

#include <math.h>

static lull_status simulate(const struct lull_trace *trace, const struct lull_replay_wish *wish,
                            struct lull_arena *arena, struct lull_replayed *replayed,
                            struct lull_error *err)
{
    struct lull_sim_result result;
    if (wish->run && !(replayed->warp = lull_warp_create(replayed->program, trace)))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for the simulated run",
                         trace->path);
    struct lull_sim_options options = {.network = wish->network,
                                       .sink = wish->run ? lull_warp_sink(replayed->warp) : NULL};
    lull_status status = lull_simulate(replayed->program, &options, arena, &result, NULL, err);
    if (status != LULL_OK)
        return status;
    replayed->runtime = result.runtime;
    replayed->messages = result.n_messages;
    if (wish->run)
        replayed->trace = lull_warp_trace(replayed->warp, result.runtime);
    return LULL_OK;
}

void lull_replayed_close(struct lull_replayed *replayed)
{
    lull_trace_close(replayed->trace);
    lull_warp_destroy(replayed->warp);
    lull_program_close(replayed->program);
    *replayed = (struct lull_replayed){0};
}

lull_status lull_replayed_make(const struct lull_trace *trace, const struct lull_replay_wish *wish,
                               struct lull_arena *arena, struct lull_replayed *ret_replayed,
                               struct lull_error *err)
{
    struct lull_replayed replayed = {0};
    struct lull_what_if *what_if = NULL;
    struct lull_replay_options options = {
        .application = wish->application, .pieces = wish->run, .keep_calls = wish->keep_calls};
    lull_status status = LULL_OK;
    if (wish->what_if)
        status = lull_what_if_create(trace, wish->what_if, &options, &what_if, err);
    if (status == LULL_OK)
        status = lull_replay_open(trace, &options, &replayed.program, err);
    if (what_if)
        lull_what_if_rewind(what_if);
    if (status == LULL_OK)
        status = simulate(trace, wish, arena, &replayed, err);
    lull_what_if_destroy(what_if);
    if (status != LULL_OK) {
        lull_replayed_close(&replayed);
        return status;
    }
    *ret_replayed = replayed;
    return LULL_OK;
}

/* ---- networks ------------------------------------------------------------------------------ */

static const char *const level_names[LULL_LEVELS] = {"core", "socket", "node", "switch", "cluster"};

static lull_status read_parameter(struct lull_spec *spec, struct lull_network *network, uint32_t at,
                                  struct lull_error *err)
{
    const struct lull_parameter *parameter = &network->class->parameters[at];
    double value;
    lull_status status = lull_spec_number(spec, parameter, &value, err);
    if (status != LULL_OK)
        return status;
    lull_network_set(network, at, LULL_LEVELS, value);
    for (int level = 0; level < LULL_LEVELS && parameter->per_level; level++) {
        double own = value;
        status = lull_spec_level_number(spec, level_names[level], parameter, &own, err);
        if (status != LULL_OK)
            return status;
        lull_network_set(network, at, (enum lull_level)level, own);
    }
    return LULL_OK;
}

static lull_status find_class(struct lull_spec *spec, const struct lull_network_class **ret_class,
                              struct lull_arena *arena, struct lull_error *err)
{
    uint32_t count = 0;
    *ret_class = lull_network_find(lull_spec_name(spec));
    if (*ret_class)
        return LULL_OK;
    while (lull_networks[count])
        count++;
    const char **names = lull_arena_zero(arena, count + (size_t)1, sizeof(const char *));
    for (uint32_t i = 0; i < count; i++)
        names[i] = lull_networks[i]->name;
    return lull_spec_unknown_name(spec, "network", names, err);
}

/* On the ideal network nobody waits for more than the data that he needs. */
static const char rooted[] = "bcast:linear+scatter:linear+scatterv:linear+reduce:linear+"
                             "gather:linear+gatherv:linear+scan:linear+exscan:linear";

lull_status lull_replay_read_network(struct lull_spec *spec, const struct lull_trace *trace,
                                     uint32_t application, struct lull_arena *arena,
                                     struct lull_network *ret_network, struct lull_error *err)
{
    static const char *const modes[] = {"algorithm", "closed", NULL};
    const struct lull_network_class *class;
    struct lull_network network;
    lull_status status = find_class(spec, &class, arena, err);
    if (status != LULL_OK)
        return status;
    lull_network_init(&network, class);
    for (uint32_t i = 0; i < class->n_parameters && status == LULL_OK; i++)
        status = read_parameter(spec, &network, i, err);
    bool ideal = class == lull_network_find("ideal");
    unsigned mode = ideal ? LULL_COLLECTIVES_ALGORITHM : (unsigned)network.collectives;
    if (status == LULL_OK)
        status = lull_spec_choice(spec, "collectives", modes, mode, &mode, err);
    if (status == LULL_OK && mode == LULL_COLLECTIVES_CLOSED && !class->collective)
        status =
            lull_fail(err, LULL_ERR_RANGE, "%s: has no closed forms of collectives", class->name);
    network.collectives = (enum lull_collective_mode)mode;
    network.algorithms = lull_spec_string(spec, "algorithms", ideal ? rooted : network.algorithms);
    if (status == LULL_OK)
        status = lull_spec_finish(spec, err);
    lull_replay_placement(trace, application, arena, &network.placement);
    if (status == LULL_OK)
        status = lull_network_check(&network, network.placement.n_ranks, err);
    if (status == LULL_OK)
        *ret_network = network;
    return status;
}

static const char *rate(double bandwidth, struct lull_arena *arena)
{
    char text[32];
    if (isinf(bandwidth))
        return "without limit";
    if (bandwidth >= 1e9)
        return lull_arena_printf(arena, "%.3g GB/s", bandwidth * 1e-9);
    snprintf(text, sizeof text, "%.3g MB/s", bandwidth * 1e-6);
    return lull_arena_strdup(arena, text);
}

const char *lull_replay_describe(const struct lull_network *network, struct lull_arena *arena)
{
    char latency[32], far[32];
    const double *in = network->values[LULL_LEVEL_NODE];
    const double *between = network->values[LULL_LEVEL_CLUSTER];
    lull_format_time(llround(in[0]), latency, sizeof latency);
    lull_format_time(llround(between[0]), far, sizeof far);
    if (in[0] == between[0] && in[1] == between[1])
        return lull_arena_printf(arena, "latency %s, bandwidth %s", latency, rate(in[1], arena));
    return lull_arena_printf(arena, "inside nodes latency %s, bandwidth %s; between nodes %s, %s",
                             latency, rate(in[1], arena), far, rate(between[1], arena));
}
