/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/setup.h"

#include "base/text.h"
#include "sim/collective/collective.h"

#include <string.h>

enum { BLOCK, CYCLIC, MAP, PLACEMENTS, MOST_CORES = 1 << 28 };

const struct lull_placement_kind lull_placement_kinds[] = {
    [BLOCK] = {"block", "cores-per-node, cores-per-socket, nodes-per-switch"},
    [CYCLIC] = {"cyclic", "nodes, cores-per-node, cores-per-socket, nodes-per-switch"},
    [MAP] = {"map", "cores, cores-per-node, cores-per-socket, nodes-per-switch"},
    [PLACEMENTS] = {NULL, NULL},
};

/* ---- placement ------------------------------------------------------------------------------- */

static lull_status read_levels(struct lull_spec *spec, struct lull_placement *placement,
                               struct lull_error *err)
{
    const struct {
        const char *key;
        uint64_t fallback, least;
        uint32_t *value;
    } levels[] = {
        {"cores-per-node", 1, 1, &placement->cores_per_node},
        {"cores-per-socket", 0, 0, &placement->cores_per_socket},
        {"nodes-per-switch", 0, 0, &placement->nodes_per_switch},
    };
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        uint64_t value;
        lull_status status = lull_spec_count(spec, levels[i].key, levels[i].fallback,
                                             levels[i].least, MOST_CORES, &value, err);
        if (status != LULL_OK)
            return status;
        *levels[i].value = (uint32_t)value;
    }
    return LULL_OK;
}

static lull_status read_cyclic(struct lull_spec *spec, uint32_t n_ranks, struct lull_arena *arena,
                               struct lull_placement *placement, struct lull_error *err)
{
    uint64_t nodes, per_node = placement->cores_per_node;
    lull_status status = lull_spec_count(spec, "nodes", (n_ranks + per_node - 1) / per_node, 1,
                                         MOST_CORES, &nodes, err);
    if (status != LULL_OK)
        return status;
    if (nodes * per_node < n_ranks)
        return lull_fail(err, LULL_ERR_RANGE,
                         "cyclic: %llu nodes of %llu cores are too few for %u ranks",
                         (unsigned long long)nodes, (unsigned long long)per_node, n_ranks);
    uint32_t *map = lull_arena_alloc(arena, n_ranks * sizeof *map);
    for (uint32_t r = 0; r < n_ranks; r++)
        map[r] = (uint32_t)(r % nodes * per_node + r / nodes);
    placement->map = map;
    return LULL_OK;
}

static lull_status read_map(struct lull_spec *spec, uint32_t n_ranks,
                            struct lull_placement *placement, struct lull_error *err)
{
    uint32_t count;
    lull_status status = lull_spec_list(spec, "cores", 0, MOST_CORES, &placement->map, &count, err);
    if (status == LULL_OK && count != n_ranks)
        return lull_fail(err, LULL_ERR_RANGE, "map: cores lists %u cores for %u ranks", count,
                         n_ranks);
    return status;
}

lull_status lull_placement_read(struct lull_spec *spec, uint32_t n_ranks, struct lull_arena *arena,
                                struct lull_placement *ret_placement, struct lull_error *err)
{
    const char *names[PLACEMENTS + 1] = {NULL};
    unsigned kind = 0;
    for (unsigned p = 0; p < PLACEMENTS; p++)
        names[p] = lull_placement_kinds[p].name;
    while (kind < PLACEMENTS && strcmp(names[kind], lull_spec_name(spec)) != 0)
        kind++;
    if (kind == PLACEMENTS)
        return lull_spec_unknown_name(spec, "placement", names, err);
    struct lull_placement placement = {.n_ranks = n_ranks};
    lull_status status = read_levels(spec, &placement, err);
    if (status == LULL_OK && kind == CYCLIC)
        status = read_cyclic(spec, n_ranks, arena, &placement, err);
    if (status == LULL_OK && kind == MAP)
        status = read_map(spec, n_ranks, &placement, err);
    if (status == LULL_OK)
        status = lull_spec_finish(spec, err);
    if (status == LULL_OK)
        *ret_placement = placement;
    return status;
}

/* ---- network --------------------------------------------------------------------------------- */

static lull_status find_network_class(const struct lull_spec *spec,
                                      const struct lull_network_class **ret_class,
                                      struct lull_error *err)
{
    const char *names[64] = {NULL};
    for (unsigned i = 0; i < 63 && lull_networks[i]; i++)
        names[i] = lull_networks[i]->name;
    *ret_class = lull_network_find(lull_spec_name(spec));
    return *ret_class ? LULL_OK : lull_spec_unknown_name(spec, "network", names, err);
}

static lull_status read_parameter(struct lull_spec *spec, uint32_t index,
                                  struct lull_network *network, struct lull_error *err)
{
    static const char *const levels[LULL_LEVELS] = {"core", "socket", "node", "switch", "cluster"};
    const struct lull_parameter *parameter = &network->class->parameters[index];
    double value;
    lull_status status = lull_spec_number(spec, parameter, &value, err);
    if (status != LULL_OK)
        return status;
    lull_network_set(network, index, LULL_LEVELS, value);
    for (int level = 0; level < LULL_LEVELS && parameter->per_level; level++) {
        double special = value;
        status = lull_spec_level_number(spec, levels[level], parameter, &special, err);
        if (status != LULL_OK)
            return status;
        if (special < value || special > value)
            lull_network_set(network, index, (enum lull_level)level, special);
    }
    return LULL_OK;
}

static lull_status read_collectives(struct lull_spec *spec, struct lull_network *network,
                                    struct lull_error *err)
{
    static const char *const modes[] = {"algorithm", "closed", NULL};
    unsigned mode;
    lull_status status =
        lull_spec_choice(spec, "collectives", modes, network->collectives, &mode, err);
    if (status != LULL_OK)
        return status;
    if (mode == LULL_COLLECTIVES_CLOSED && !network->class->collective)
        return lull_fail(err, LULL_ERR_RANGE, "%s: has no closed forms of collective operations",
                         lull_spec_name(spec));
    network->collectives = (enum lull_collective_mode)mode;
    network->algorithms = lull_spec_string(spec, "algorithms", NULL);
    if (network->algorithms) {
        status = lull_collective_check(network->algorithms, err);
        if (status != LULL_OK)
            return lull_fail_prefix(err, status, "%s", lull_spec_name(spec));
    }
    return LULL_OK;
}

lull_status lull_network_read(struct lull_spec *spec, struct lull_spec *placement, uint32_t n_ranks,
                              struct lull_arena *arena, struct lull_network *ret_network,
                              struct lull_error *err)
{
    static const struct lull_parameter speed = {
        "cpu-speed", "how much faster this machine computes", LULL_FACTOR, 1, 1e-3, 1e3, false};
    const struct lull_network_class *class;
    struct lull_network network;
    lull_status status = find_network_class(spec, &class, err);
    if (status != LULL_OK)
        return status;
    lull_network_init(&network, class);
    for (uint32_t i = 0; status == LULL_OK && i < class->n_parameters; i++)
        status = read_parameter(spec, i, &network, err);
    if (status == LULL_OK)
        status = lull_spec_number(spec, &speed, &network.cpu_speed, err);
    if (status == LULL_OK)
        status = read_collectives(spec, &network, err);
    if (status == LULL_OK)
        status = lull_spec_finish(spec, err);
    if (status == LULL_OK && placement)
        status = lull_placement_read(placement, n_ranks, arena, &network.placement, err);
    if (status == LULL_OK)
        status = lull_network_check(&network, n_ranks, err);
    if (status == LULL_OK)
        *ret_network = network;
    return status;
}

/* ---- delays ---------------------------------------------------------------------------------- */

/* "500us" or "i12". */
static bool parse_when(char *text, struct lull_delay *delay)
{
    uint64_t iteration;
    if (*text != 'i')
        return lull_parse_time(text, 1, &delay->when, NULL) == LULL_OK && delay->when >= 0;
    if (lull_parse_u64(text + 1, strlen(text + 1), &iteration) != LULL_OK || iteration > INT64_MAX)
        return false;
    delay->at_iteration = true;
    delay->when = (int64_t)iteration;
    return true;
}

lull_status lull_delay_read(const char *text, struct lull_delay *ret_delay, struct lull_error *err)
{
    char copy[128];
    struct lull_delay delay = {0};
    uint64_t rank;
    size_t length = strlen(text);
    memcpy(copy, text, length < sizeof copy ? length + 1 : 0);
    char *at = length < sizeof copy ? strchr(copy, '@') : NULL;
    char *colon = at ? strchr(at, ':') : NULL;
    if (colon) {
        *at = *colon = '\0';
        if (lull_parse_u64(copy, strlen(copy), &rank) == LULL_OK && rank < UINT32_MAX &&
            parse_when(at + 1, &delay) &&
            lull_parse_time(colon + 1, 1, &delay.length, NULL) == LULL_OK && delay.length >= 0) {
            delay.rank = (uint32_t)rank;
            *ret_delay = delay;
            return LULL_OK;
        }
    }
    return lull_fail(err, LULL_ERR_RANGE,
                     "'%s' is no delay, expected RANK@WHEN:LENGTH as in 5@2ms:30us, or 5@i12:30us "
                     "for iteration 12",
                     text);
}

lull_status lull_delays_read(char *const *texts, struct lull_arena *arena,
                             const struct lull_delay **ret_delays, uint32_t *ret_count,
                             struct lull_error *err)
{
    uint32_t count = 0;
    while (texts && texts[count])
        count++;
    struct lull_delay *delays = lull_arena_zero(arena, count + (size_t)1, sizeof *delays);
    for (uint32_t d = 0; d < count; d++) {
        lull_status status = lull_delay_read(texts[d], &delays[d], err);
        if (status != LULL_OK)
            return status;
    }
    *ret_delays = delays;
    *ret_count = count;
    return LULL_OK;
}
