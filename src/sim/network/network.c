/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/network/network.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

extern const struct lull_network_class lull_network_loggops, lull_network_loggops_compat,
    lull_network_hockney, lull_network_ranges, lull_network_dimemas, lull_network_ideal;

const struct lull_network_class *const lull_networks[] = {
    &lull_network_loggops,
    &lull_network_loggops_compat,
    &lull_network_hockney,
    &lull_network_ranges,
    &lull_network_dimemas,
    &lull_network_ideal,
    NULL,
};

static const char *const level_names[] = {"core", "socket", "node", "switch", "cluster"};

const struct lull_network_class *lull_network_find(const char *name)
{
    for (const struct lull_network_class *const *class = lull_networks; *class; class ++)
        if (strcmp((*class)->name, name) == 0)
            return *class;
    return NULL;
}

const char *lull_network_names(char *text, size_t size)
{
    size_t at = 0;
    text[0] = '\0';
    for (const struct lull_network_class *const *class = lull_networks; *class; class ++) {
        int n = snprintf(text + at, size - at, "%s%s", at ? ", " : "", (*class)->name);
        if (n < 0 || (size_t)n >= size - at)
            break;
        at += (size_t)n;
    }
    return text;
}

uint32_t lull_network_parameter(const struct lull_network_class *class, const char *name)
{
    uint32_t i = 0;
    while (i < class->n_parameters && strcmp(class->parameters[i].name, name) != 0)
        i++;
    return i;
}

void lull_network_init(struct lull_network *network, const struct lull_network_class *class)
{
    *network = (struct lull_network){.class = class, .cpu_speed = 1};
    network->collectives = class->collectives;
    network->placement.cores_per_node = 1;
    for (uint32_t i = 0; i < class->n_parameters; i++)
        lull_network_set(network, i, LULL_LEVELS, class->parameters[i].value);
}

void lull_network_set(struct lull_network *network, uint32_t parameter, enum lull_level level,
                      double value)
{
    for (unsigned i = 0; i < LULL_LEVELS; i++)
        if (level == LULL_LEVELS || level == (enum lull_level)i)
            network->values[i][parameter] = value;
}

static lull_status check_placement(const struct lull_placement *placement, uint32_t n_ranks,
                                   struct lull_error *err)
{
    uint32_t socket = placement->cores_per_socket, node = placement->cores_per_node;
    if (socket && node && node % socket != 0)
        return lull_fail(err, LULL_ERR_RANGE,
                         "placement: %u cores per node are not a multiple of %u cores per socket",
                         node, socket);
    if (placement->nodes_per_switch && !node)
        return lull_fail(err, LULL_ERR_RANGE,
                         "placement: nodes per switch need the number of cores per node");
    if (placement->map && placement->n_ranks < n_ranks)
        return lull_fail(err, LULL_ERR_RANGE, "placement: has %u ranks, the program %u",
                         placement->n_ranks, n_ranks);
    return LULL_OK;
}

lull_status lull_network_check(const struct lull_network *network, uint32_t n_ranks,
                               struct lull_error *err)
{
    const struct lull_network_class *class = network->class;
    for (uint32_t i = 0; i < class->n_parameters; i++) {
        const struct lull_parameter *parameter = &class->parameters[i];
        for (unsigned level = 0; level < (parameter->per_level ? LULL_LEVELS : 1); level++) {
            double value = network->values[level][i];
            if (value >= parameter->least && value <= parameter->most)
                continue;
            return lull_fail(err, LULL_ERR_RANGE, "network %s: %s%s%s=%g is not between %g and %g",
                             class->name, parameter->per_level ? level_names[level] : "",
                             parameter->per_level ? "." : "", parameter->name, value,
                             parameter->least, parameter->most);
        }
    }
    if (!(network->cpu_speed >= 1e-6 && network->cpu_speed <= 1e6))
        return lull_fail(err, LULL_ERR_RANGE, "network %s: processor speed %g is absurd",
                         class->name, network->cpu_speed);
    if (network->collectives == LULL_COLLECTIVES_CLOSED && !class->collective)
        return lull_fail(err, LULL_ERR_RANGE,
                         "network %s: has no closed forms of collective operations", class->name);
    lull_status status = check_placement(&network->placement, n_ranks, err);
    if (status == LULL_OK && class->check)
        status = class->check(network, err);
    return status;
}

static uint32_t core_of(const struct lull_placement *placement, uint32_t rank)
{
    return placement->map ? placement->map[rank] : rank;
}

enum lull_level lull_placement_level(const struct lull_placement *placement, uint32_t a, uint32_t b)
{
    a = core_of(placement, a);
    b = core_of(placement, b);
    if (a == b)
        return LULL_LEVEL_CORE;
    uint32_t socket = placement->cores_per_socket, node = placement->cores_per_node;
    if (socket && a / socket == b / socket)
        return LULL_LEVEL_SOCKET;
    if (!node || a / node == b / node)
        return LULL_LEVEL_NODE;
    uint32_t per_switch = placement->nodes_per_switch;
    if (per_switch && a / node / per_switch == b / node / per_switch)
        return LULL_LEVEL_SWITCH;
    return LULL_LEVEL_CLUSTER;
}

uint32_t lull_placement_node(const struct lull_placement *placement, uint32_t rank)
{
    return placement->cores_per_node ? core_of(placement, rank) / placement->cores_per_node : 0;
}

enum lull_level lull_placement_widest(const struct lull_placement *placement,
                                      const struct lull_group *group)
{
    enum lull_level widest = LULL_LEVEL_CORE;
    uint32_t first = group->ranks ? group->ranks[0] : group->first;
    for (uint32_t i = 1; i < group->size && widest < LULL_LEVEL_CLUSTER; i++) {
        uint32_t rank = group->ranks ? group->ranks[i] : group->first + i;
        enum lull_level level = lull_placement_level(placement, first, rank);
        widest = level > widest ? level : widest;
    }
    return widest;
}
