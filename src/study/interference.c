#include "study/interference.h"

#include <stdlib.h>
#include <string.h>

/* ==== disturbed on purpose ==================================================================== */

const char *lull_disturbed_describe(const struct lull_trace *trace, struct lull_arena *arena)
{
    if (!trace->disturbed)
        return NULL;
    char *specs = lull_arena_strdup(arena, trace->disturbed);
    for (char *end; (end = strchr(specs, '\n'));)
        *end = ' ';
    const char *text = lull_arena_printf(arena, "disturbed on purpose: %s (seed %llu)", specs,
                                         (unsigned long long)trace->disturbed_seed);
    if (trace->not_held > 0)
        text = lull_arena_printf(
            arena,
            "%s; %llu of %llu messages could not be held back, because it is not known when "
            "they were sent",
            text, (unsigned long long)trace->not_held,
            (unsigned long long)(trace->held + trace->not_held));
    return text;
}

/* ==== cores =================================================================================== */

#define NOTABLE 0.05 /* the share of the time without a core from which on a thread is told of */

/* Threads of one node that may use the same cores. */
struct group {
    uint32_t node, allowed;
    uint64_t which;
    /* Cores on average: `wanted`, used or waited for; `waited`, those of them that the threads did
     * not have. */
    double wanted, waited;
};

static double share_of(const struct lull_trace *trace, uint64_t ns)
{
    return (double)ns / (double)trace->duration;
}

static struct group *group_of(const struct lull_trace *trace, const struct lull_location *location,
                              struct group *groups, uint32_t *n)
{
    const struct lull_cores *cores = &location->cores;
    uint32_t node = trace->processes[location->process].node;
    for (uint32_t i = 0; i < *n; i++)
        if (groups[i].node == node && groups[i].which == cores->which)
            return &groups[i];
    groups[*n] = (struct group){.node = node, .allowed = cores->allowed, .which = cores->which};
    return &groups[(*n)++];
}

/* The cores of a node that threads of the run may use. */
struct node_cores {
    uint32_t node, there;
    uint64_t set[LULL_CORE_WORDS]; /* bits of the cores, of those threads whose cores are known */
    uint32_t others; /* cores that the other threads may use, added up over their groups */
};

static struct node_cores *node_of(uint32_t node, struct node_cores *nodes, uint32_t *n)
{
    for (uint32_t i = 0; i < *n; i++)
        if (nodes[i].node == node)
            return &nodes[i];
    nodes[*n] = (struct node_cores){.node = node};
    return &nodes[(*n)++];
}

/* The cores of a node that threads may use. Threads whose cores are not known are taken to use
 * other cores than the rest, as far as the node has more. */
static uint32_t count_cores(const struct node_cores *node)
{
    uint32_t told = 0;
    for (uint32_t w = 0; w < LULL_CORE_WORDS; w++)
        told += (uint32_t)__builtin_popcountll(node->set[w]);
    uint32_t more = node->there > told ? node->there - told : 0;
    return told + (node->others < more ? node->others : more);
}

uint32_t lull_cores_of(const struct lull_trace *trace, struct lull_arena *arena)
{
    struct group *groups = lull_arena_zero(arena, trace->n_locations, sizeof *groups);
    struct node_cores *nodes =
        lull_arena_zero(arena, trace->n_nodes + (size_t)1, sizeof *nodes); /* + 1: without a name */
    uint32_t n_groups = 0, n_nodes = 0, count = 0;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct lull_location *location = &trace->locations[l];
        const struct lull_cores *cores = &location->cores;
        uint32_t known = n_groups;
        if (cores->allowed == 0)
            continue;
        struct node_cores *node =
            node_of(trace->processes[location->process].node, nodes, &n_nodes);
        node->there = cores->there > node->there ? cores->there : node->there;
        for (uint32_t w = 0; cores->set && w < LULL_CORE_WORDS; w++)
            node->set[w] |= cores->set[w];
        if (!cores->set)
            group_of(trace, location, groups, &n_groups);
        node->others += n_groups > known ? cores->allowed : 0;
    }
    for (uint32_t i = 0; i < n_nodes; i++)
        count += count_cores(&nodes[i]);
    return count;
}

/* The share of the time without a core that is due to the run's own threads: where they want more
 * cores than there are, some must wait, whatever else the machine does. */
static double own_share(const struct lull_trace *trace, struct lull_arena *arena)
{
    struct group *groups = lull_arena_zero(arena, trace->n_locations, sizeof *groups);
    uint32_t n = 0;
    double own = 0, all = 0;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct lull_cores *cores = &trace->locations[l].cores;
        if (cores->on == 0)
            continue;
        struct group *group = group_of(trace, &trace->locations[l], groups, &n);
        group->wanted += share_of(trace, cores->on) + share_of(trace, cores->off);
        group->waited += share_of(trace, cores->off);
    }
    for (uint32_t i = 0; i < n; i++) {
        double excess = groups[i].wanted - groups[i].allowed;
        own += excess < 0 ? 0 : excess < groups[i].waited ? excess : groups[i].waited;
        all += groups[i].waited;
    }
    return all > 0 ? own / all : 0;
}

/* The thread that had no core for the longest time, and in *ret_number how many threads lacked one
 * for a notable time. NULL: there is none. */
static const struct lull_location *find_worst(const struct lull_trace *trace, uint32_t *ret_number)
{
    const struct lull_location *worst = NULL;
    uint32_t n = 0;
    for (uint32_t l = 0; l < trace->n_locations && trace->duration > 0; l++) {
        const struct lull_location *location = &trace->locations[l];
        if (location->cores.on == 0 || share_of(trace, location->cores.off) <= NOTABLE)
            continue;
        n++;
        if (!worst || location->cores.off > worst->cores.off)
            worst = location;
    }
    *ret_number = n;
    return worst;
}

const char *lull_cores_excuse(const struct lull_trace *trace, bool shorter,
                              struct lull_arena *arena)
{
    uint32_t n;
    const struct lull_location *worst = shorter ? find_worst(trace, &n) : NULL;
    return worst
               ? lull_arena_printf(arena,
                                   " Threads had no core for up to %.0f %% of the time: who waited "
                                   "for them waited for that, and no network explains it.",
                                   100 * share_of(trace, worst->cores.off))
               : "";
}

const char *lull_cores_describe(const struct lull_trace *trace, struct lull_arena *arena)
{
    uint32_t n;
    const struct lull_location *worst = find_worst(trace, &n);
    if (!worst)
        return NULL;
    bool own = own_share(trace, arena) > 0.5;
    return lull_arena_printf(
        arena,
        "%u of %u threads had no core for more than 5 %% of the time although they could have run,"
        " '%s' for %.0f %% (preempted %llu times, moved to another core %llu times), because %s",
        n, trace->n_locations, worst->name, 100 * share_of(trace, worst->cores.off),
        (unsigned long long)worst->cores.preempted, (unsigned long long)worst->cores.migrated,
        own ? "the run has more threads than cores: waiting is not the program's alone"
            : "other programs had the cores: times tell of the machine rather than of the program");
}
