/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/network/machine.h"

#include "machine/noise_trace.h"
#include "sim/noise/noise.h"

#include <math.h>
#include <string.h>

enum { SOCKET, NODE, REMOTE, MEASURED_LEVELS };
static const char *const measured_level_names[MEASURED_LEVELS] = {"socket", "node", "remote"};
static const char *const between[MEASURED_LEVELS] = {
    "between cores of a socket", "between the sockets of a node", "between nodes"};

/* The measured level from which each level of the network is taken. */
static const int source_of[LULL_LEVELS] = {[LULL_LEVEL_CORE] = SOCKET,
                                           [LULL_LEVEL_SOCKET] = SOCKET,
                                           [LULL_LEVEL_NODE] = NODE,
                                           [LULL_LEVEL_SWITCH] = REMOTE,
                                           [LULL_LEVEL_CLUSTER] = REMOTE};

/* ---- parameters by name ---------------------------------------------------------------------- */

/* A value of a measured level in the units of the simulator: ns, bytes, bytes/s. NAN: not measured.
 */
typedef double value_function(const struct lull_network_level *level);

static double small_latency(const struct lull_network_level *level)
{
    return level->n_ranges ? level->ranges[0].latency.value * 1e9 : NAN;
}

static double small_bandwidth(const struct lull_network_level *level)
{
    return level->n_ranges ? level->ranges[0].bandwidth.value : NAN;
}

static double eager_limit(const struct lull_network_level *level)
{
    return level->has_eager_limit ? (double)level->eager_limit : NAN;
}

static double latency(const struct lull_network_level *level)
{
    return level->latency.value * 1e9;
}

static double overhead(const struct lull_network_level *level)
{
    return level->overhead.value * 1e9;
}

static double gap(const struct lull_network_level *level)
{
    return level->gap.value * 1e9;
}

static double gap_per_byte(const struct lull_network_level *level)
{
    return level->gap_per_byte.value * 1e9;
}

static double nothing(const struct lull_network_level *level)
{
    (void)level;
    return 0;
}

struct source {
    const char *class, *parameter;
    value_function *value;
    bool optional; /* it need not be measured: the class has a default */
};

static const struct source sources[] = {
    {"ranges", "latency", small_latency, false}, {"ranges", "bandwidth", small_bandwidth, false},
    {"ranges", "eager", eager_limit, true},      {"loggops", "L", latency, false},
    {"loggops", "o", overhead, false},           {"loggops", "g", gap, false},
    {"loggops", "G", gap_per_byte, false},       {"loggops", "O", nothing, false},
    {"loggops", "S", eager_limit, true},
};
enum { SOURCES = sizeof sources / sizeof *sources };

/* Whether a source is for a class. Those of loggops are for loggops-compat, too. */
static bool is_for(const struct source *source, const struct lull_network_class *class)
{
    if (strcmp(source->class, "loggops") == 0 && strcmp(class->name, "loggops-compat") == 0)
        return true;
    return strcmp(source->class, class->name) == 0;
}

/* All ranges of a level, in the units of the simulator. */
static const struct lull_network_range_cost *
take_level_ranges(const struct lull_network_level *level, struct lull_arena *arena)
{
    struct lull_network_range_cost *ranges =
        lull_arena_zero(arena, level->n_ranges + 1, sizeof *ranges);
    for (size_t i = 0; i < level->n_ranges; i++)
        ranges[i] = (struct lull_network_range_cost){
            .to = i + 1 < level->n_ranges ? level->ranges[i].to : UINT64_MAX,
            .latency = level->ranges[i].latency.value * 1e9,
            .bandwidth = level->ranges[i].bandwidth.value,
            .copy = (double)INFINITY};
    return ranges;
}

/* ---- levels ---------------------------------------------------------------------------------- */

static bool has_all(const struct lull_network_level *level, const struct lull_network_class *class)
{
    for (size_t i = 0; i < SOURCES; i++)
        if (is_for(&sources[i], class) && !sources[i].optional && isnan(sources[i].value(level)))
            return false;
    return true;
}

/* Finds the machine's levels that have what the class needs, and NULL for the others. Returns how
 * many it found. */
static size_t find_levels(const struct lull_machine *machine,
                          const struct lull_network_class *class,
                          const struct lull_network_level *found[MEASURED_LEVELS])
{
    size_t count = 0;
    for (int i = 0; i < MEASURED_LEVELS; i++) {
        found[i] = lull_machine_network(machine, measured_level_names[i]);
        if (found[i] && !has_all(found[i], class))
            found[i] = NULL;
        count += found[i] != NULL;
    }
    return count;
}

/* The measured level that is taken for `wanted`: this level itself, else the next nearer one, else
 * the next wider one. */
static int stand_in(const struct lull_network_level *const found[MEASURED_LEVELS], int wanted)
{
    int level = wanted;
    while (level >= 0 && !found[level])
        level--;
    if (level >= 0)
        return level;
    for (level = wanted; !found[level]; level++)
        ;
    return level;
}

/* ---- the network ----------------------------------------------------------------------------- */

/* Puts ranks on the machine's cores, node after node. */
static void place_on_cores(const struct lull_machine *machine, uint32_t n_ranks,
                           struct lull_placement *placement)
{
    const struct lull_machine_cpu *cpu = &machine->cpu;
    uint32_t cores = cpu->cores ? cpu->cores : 1;
    uint32_t packages = cpu->packages ? cpu->packages : 1;
    *placement = (struct lull_placement){.cores_per_node = cores, .n_ranks = n_ranks};
    if (cores % packages == 0)
        placement->cores_per_socket = cores / packages;
}

static lull_status take_level(const struct lull_network_level *level, enum lull_level network_level,
                              struct lull_network *network, struct lull_error *err)
{
    for (size_t i = 0; i < SOURCES; i++) {
        if (!is_for(&sources[i], network->class))
            continue;
        uint32_t index = lull_network_parameter(network->class, sources[i].parameter);
        const struct lull_parameter *parameter = &network->class->parameters[index];
        double value = sources[i].value(level);
        if (isnan(value))
            continue;
        if (!(value >= parameter->least && value <= parameter->most))
            return lull_fail(
                err, LULL_ERR_RANGE, "network '%s' of the machine: %s is %g, expected %g to %g",
                level->name, parameter->name, value, parameter->least, parameter->most);
        lull_network_set(network, index, network_level, value);
    }
    return LULL_OK;
}

static const char *
describe_unmeasured(const struct lull_network *network, const struct lull_machine *machine,
                    const struct lull_network_level *const found[MEASURED_LEVELS],
                    struct lull_arena *arena)
{
    const struct lull_placement *placement = &network->placement;
    if (placement->n_ranks > placement->cores_per_node && !found[REMOTE])
        return lull_arena_printf(arena,
                                 "%u ranks need more than the machine's %u cores, but messages %s "
                                 "were not measured: they cost as those %s",
                                 placement->n_ranks, placement->cores_per_node, between[REMOTE],
                                 between[stand_in(found, REMOTE)]);
    if (machine->cpu.packages > 1 && placement->n_ranks > placement->cores_per_socket &&
        !found[NODE])
        return lull_arena_printf(arena, "messages %s were not measured: they cost as those %s",
                                 between[NODE], between[stand_in(found, NODE)]);
    return NULL;
}

static const struct lull_network_class *choose_class(const struct lull_machine *machine)
{
    const struct lull_network_level *found[MEASURED_LEVELS];
    const struct lull_network_class *loggops = lull_network_find("loggops");
    return find_levels(machine, loggops, found) ? loggops : lull_network_find("ranges");
}

lull_status lull_network_from_machine(const struct lull_machine *machine, const char *class_name,
                                      uint32_t n_ranks, struct lull_arena *arena,
                                      struct lull_network *ret_network, const char **ret_note,
                                      struct lull_error *err)
{
    char names[256];
    const struct lull_network_class *class =
        class_name ? lull_network_find(class_name) : choose_class(machine);
    if (!class)
        return lull_fail(err, LULL_ERR_RANGE, "there is no network '%s', expected one of %s",
                         class_name, lull_network_names(names, sizeof names));
    const struct lull_network_level *found[MEASURED_LEVELS];
    if (machine->n_network == 0)
        return lull_fail(err, LULL_ERR_RANGE, "the machine file has no network");
    if (find_levels(machine, class, found) == 0)
        return lull_fail(err, LULL_ERR_RANGE, "the machine file has no parameters of network '%s'",
                         class->name);
    struct lull_network network;
    lull_network_init(&network, class);
    place_on_cores(machine, n_ranks, &network.placement);
    const struct lull_network_range_cost *ranges[MEASURED_LEVELS] = {NULL};
    for (int i = 0; i < MEASURED_LEVELS && class == lull_network_find("ranges"); i++)
        ranges[i] = found[i] ? take_level_ranges(found[i], arena) : NULL;
    for (int i = 0; i < LULL_LEVELS; i++) {
        int source = stand_in(found, source_of[i]);
        lull_status status = take_level(found[source], (enum lull_level)i, &network, err);
        if (status != LULL_OK)
            return status;
        network.ranges[i] = ranges[source];
        network.n_ranges[i] = ranges[source] ? (uint32_t)found[source]->n_ranges : 0;
    }
    *ret_note = describe_unmeasured(&network, machine, found, arena);
    *ret_network = network;
    return LULL_OK;
}

lull_status lull_noise_from_machine(const struct lull_machine *machine, struct lull_arena *arena,
                                    const struct lull_noise **ret_noise, struct lull_error *err)
{
    struct lull_noise_trace trace;
    if (machine->n_noise == 0) {
        *ret_noise = NULL;
        return LULL_OK;
    }
    lull_status status = lull_noise_trace_of(machine, arena, &trace, err);
    if (status != LULL_OK)
        return status;
    struct lull_recorded_detour *detours =
        lull_arena_alloc(arena, (trace.count + 1) * sizeof *detours);
    struct lull_noise_recording recording = {trace.duration, 0, trace.count, detours};
    for (size_t i = 0; i < trace.count; i++) {
        detours[i] = (struct lull_recorded_detour){trace.detours[i].begin, trace.detours[i].length,
                                                   recording.lost};
        recording.lost += trace.detours[i].length;
    }
    struct lull_noise_spec spec = lull_noise_spec_empty(lull_noise_find("recorded"));
    spec.recording = &recording;
    return lull_noise_create(&spec, arena, ret_noise, err);
}
