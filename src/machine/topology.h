/* The host as this process may use it: cores, caches, memory domains, in the process's CPU set.
 *
 * What the system hides is unknown (0 or NULL), never guessed: sizes of caches come from hwloc,
 * where it has none from the processor itself (cpuid), and the source is noted. */
#ifndef LULL_MACHINE_TOPOLOGY_H
#define LULL_MACHINE_TOPOLOGY_H

#include "machine/machine.h"

struct lull_topology_core {
    uint32_t cpu;     /* system number of the hardware thread to pin to: the core's first usable */
    uint32_t threads; /* hardware threads of this core that may be used */
    uint32_t package, numa, cache; /* indices from 0: socket, memory domain, last-level cache */
};

struct lull_topology {
    struct lull_topology_core *cores; /* in an order that fills a domain before the next */
    size_t n_cores;                   /* >= 1 */
    uint32_t n_packages, n_numa, n_last_level;
    struct lull_machine_cache *caches;
    size_t n_caches; /* 0: all hidden */
    struct lull_machine_numa *numa;
    size_t count_numa; /* 0: the system knows no domains */
    uint64_t memory_bytes;
    bool restricted; /* the CPU set leaves out cores that the system has */
    void *handle;    /* of the library */
};

/* The running system. Fails with LULL_ERR_UNSUPPORTED in a build without hwloc. Freed with
 * lull_topology_close; arrays live in the arena. */
lull_status lull_topology_open(struct lull_arena *arena, struct lull_topology **ret_topology,
                               struct lull_error *err);
/* Another one, for tests: a description as "pack:2 numa:1 l3:1 core:4 pu:2", or the name of an XML
 * file of lstopo. Threads cannot be pinned by it. */
lull_status lull_topology_open_fake(const char *description, struct lull_arena *arena,
                                    struct lull_topology **ret_topology, struct lull_error *err);
void lull_topology_close(struct lull_topology *topology); /* NULL is allowed */

/* Pins the calling thread to one hardware thread of a core. */
lull_status lull_topology_pin(const struct lull_topology *topology, size_t core,
                              struct lull_error *err);

/* Fills host, cpu, memory, caches and NUMA domains of a machine, and of its provenance what the
 * system says of itself: kernel, governor, turbo. What cannot be read stays NULL. */
void lull_machine_describe_host(struct lull_machine *machine, const struct lull_topology *topology,
                                struct lull_arena *arena);

#endif
