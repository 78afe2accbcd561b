/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine/processor.h"

#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

static bool find_cache_leaf(unsigned *ret_leaf)
{
    unsigned a, b, c, d;
    if ((unsigned)__get_cpuid_max(0, NULL) >= 4) {
        __cpuid_count(4, 0, a, b, c, d);
        if (a & 0x1f) {
            *ret_leaf = 4;
            return true;
        }
    }
    if ((unsigned)__get_cpuid_max(0x80000000, NULL) >= 0x8000001d) {
        __cpuid_count(0x8000001d, 0, a, b, c, d);
        if (a & 0x1f) {
            *ret_leaf = 0x8000001d;
            return true;
        }
    }
    return false;
}

size_t lull_processor_caches(struct lull_machine_cache *caches, size_t most)
{
    unsigned leaf;
    size_t count = 0;
    if (!find_cache_leaf(&leaf))
        return 0;
    for (unsigned i = 0; i < 16 && count < most; i++) {
        unsigned a, b, c, d;
        __cpuid_count(leaf, i, a, b, c, d);
        unsigned type = a & 0x1f; /* 1 data, 2 instructions, 3 unified */
        if (type == 0)
            break;
        if (type == 2)
            continue;
        unsigned ways = (b >> 22) + 1, partitions = (b >> 12 & 0x3ff) + 1, line = (b & 0xfff) + 1;
        caches[count++] =
            (struct lull_machine_cache){.level = a >> 5 & 7,
                                        .kind = type == 1 ? "data" : "unified",
                                        .bytes = (uint64_t)ways * partitions * line * (c + 1ul),
                                        .ways = ways,
                                        .line_bytes = line,
                                        .inclusive = d & 2 ? LULL_YES : LULL_NO,
                                        .source = "cpuid"};
    }
    return count;
}

const char *lull_processor_hypervisor(struct lull_arena *arena)
{
    static const struct {
        const char *signature, *name;
    } known[] = {{"KVMKVMKVM", "KVM"},         {"Microsoft Hv", "Hyper-V"},
                 {"VMwareVMware", "VMware"},   {"XenVMMXenVMM", "Xen"},
                 {"TCGTCGTCGTCG", "QEMU TCG"}, {"bhyve bhyve ", "bhyve"},
                 {" lrpepyh  vr", "Parallels"}};
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 31))
        return NULL;
    char signature[13] = "";
    __cpuid(0x40000000, a, b, c, d);
    memcpy(signature, &b, 4);
    memcpy(signature + 4, &c, 4);
    memcpy(signature + 8, &d, 4);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(signature, known[i].signature, strlen(known[i].signature)) == 0)
            return known[i].name;
    for (char *at = signature; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    return *signature ? lull_arena_strdup(arena, signature) : "unknown";
}

#else

size_t lull_processor_caches(struct lull_machine_cache *caches, size_t most)
{
    (void)caches;
    (void)most;
    return 0;
}

const char *lull_processor_hypervisor(struct lull_arena *arena)
{
    (void)arena;
    return NULL;
}

#endif
