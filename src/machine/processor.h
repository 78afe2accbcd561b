/* SPDX-License-Identifier: BSD-3-Clause */
/* What the processor says of itself by cpuid; internal to the machine room. */
#ifndef LULL_MACHINE_PROCESSOR_H
#define LULL_MACHINE_PROCESSOR_H

#include "machine/machine.h"

/* The data and unified caches as cpuid describes them (leaf 4 of Intel, 0x8000001d of AMD), levels
 * ascending; shared_cores is left at 0. Returns how many, 0 on other processors. */
size_t lull_processor_caches(struct lull_machine_cache *caches, size_t most);

/* The name of the hypervisor, "KVM" for example; NULL on bare metal or where it is unknown. */
const char *lull_processor_hypervisor(struct lull_arena *arena);

#endif
