/* SPDX-License-Identifier: BSD-3-Clause */
/* The host as this process may use it: the cores, caches and memory domains in its CPU set.
 *
 * What the system hides stays unknown (0 or NULL) and is never guessed. Sizes of caches come from
 * hwloc, or where hwloc has none from the processor itself (cpuid); `source` of the cache says
 * which. */
#ifndef LULL_MACHINE_TOPOLOGY_H
#define LULL_MACHINE_TOPOLOGY_H

#include "machine/machine.h"

struct lull_topology_core {
    uint32_t cpu;     /* the system's number of the core's first hardware thread that may be used:
                         lull_topology_pin pins to it */
    uint32_t threads; /* hardware threads of this core that may be used */
    uint32_t package, numa, cache; /* indices from 0 of its socket, memory domain and last-level
                                      cache */
};

struct lull_topology {
    struct lull_topology_core *cores; /* in an order that fills a domain before the next */
    size_t n_cores;                   /* >= 1 */
    uint32_t n_packages, n_numa, n_last_level;
    struct lull_machine_cache *caches;
    size_t n_caches; /* 0: the system hides them all */
    struct lull_machine_numa *numa;
    size_t count_numa; /* 0: the system knows no domains */
    uint64_t memory_bytes;
    bool restricted; /* the CPU set leaves out cores that the system has */
    void *handle;    /* of hwloc */
};

/* Reads the topology of the running system. Fails with LULL_ERR_UNSUPPORTED in a build without
 * hwloc. Release it with lull_topology_close; the arrays live in the arena. */
lull_status lull_topology_open(struct lull_arena *arena, struct lull_topology **ret_topology,
                               struct lull_error *err);
/* Makes the topology of another system, for tests, from a description such as "pack:2 numa:1 l3:1
 * core:4 pu:2" or an XML file of lstopo. Threads cannot be pinned by it. */
lull_status lull_topology_open_fake(const char *description, struct lull_arena *arena,
                                    struct lull_topology **ret_topology, struct lull_error *err);
void lull_topology_close(struct lull_topology *topology); /* NULL is allowed */

/* Pins the calling thread to one hardware thread of a core. */
lull_status lull_topology_pin(const struct lull_topology *topology, size_t core,
                              struct lull_error *err);

/* Fills host, cpu, memory, caches and NUMA domains of a machine, and kernel, governor and turbo of
 * its provenance. What cannot be read stays NULL. */
void lull_machine_describe_host(struct lull_machine *machine, const struct lull_topology *topology,
                                struct lull_arena *arena);

#endif
