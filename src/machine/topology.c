/* SPDX-License-Identifier: BSD-3-Clause */
/* The host by hwloc. First the whole system is loaded, because the number of cores that share a
 * cache counts also those that this process may not use. Then the topology is restricted to what
 * the process may use. */
#include "machine/topology.h"

#include "lull_features.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ==== what the processor says of itself ======================================================= */

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

/* The data and unified caches as cpuid describes them (leaf 4 of Intel, 0x8000001d of AMD), levels
 * ascending; shared_cores is left at 0. Returns how many, 0 on other processors. */
static size_t processor_caches(struct lull_machine_cache *caches, size_t most)
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

/* The name of the hypervisor, "KVM" for example; NULL on bare metal or where it is unknown. */
static const char *hypervisor_name(struct lull_arena *arena)
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

static size_t processor_caches(struct lull_machine_cache *caches, size_t most)
{
    (void)caches;
    (void)most;
    return 0;
}

static const char *hypervisor_name(struct lull_arena *arena)
{
    (void)arena;
    return NULL;
}

#endif

/* ==== topology ================================================================================ */

#if LULL_HAVE_HWLOC

#include <errno.h>
#include <hwloc.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LEVELS = 8 };

/* ---- caches ---------------------------------------------------------------------------------- */

static uint32_t cores_in(hwloc_topology_t handle, hwloc_const_cpuset_t set)
{
    int count = hwloc_get_nbobjs_inside_cpuset_by_type(handle, set, HWLOC_OBJ_CORE);
    return count > 0 ? (uint32_t)count : 0;
}

static enum lull_known inclusive(hwloc_obj_t cache)
{
    const char *text = hwloc_obj_get_info_by_name(cache, "Inclusive");
    if (!text)
        return LULL_UNKNOWN;
    return strcmp(text, "1") == 0 ? LULL_YES : LULL_NO;
}

static void gather_caches(struct lull_topology *topology, hwloc_topology_t handle,
                          struct lull_arena *arena)
{
    static const hwloc_obj_type_t types[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE,
                                             HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE};
    topology->caches = lull_arena_zero(arena, MOST_LEVELS, sizeof *topology->caches);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        hwloc_obj_t first = hwloc_get_obj_by_type(handle, types[i], 0);
        if (!first || first->attr->cache.size == 0)
            continue;
        const struct hwloc_cache_attr_s *attributes = &first->attr->cache;
        topology->caches[topology->n_caches++] = (struct lull_machine_cache){
            .level = attributes->depth,
            .kind = attributes->type == HWLOC_OBJ_CACHE_DATA ? "data" : "unified",
            .bytes = attributes->size,
            .ways = attributes->associativity > 0 ? (uint32_t)attributes->associativity : 0,
            .line_bytes = attributes->linesize,
            .instances = (uint32_t)hwloc_get_nbobjs_by_type(handle, types[i]),
            .shared_cores = cores_in(handle, first->cpuset),
            .inclusive = inclusive(first),
            .source = "hwloc"};
    }
}

/* Fills in sizes that the system hides or does not know from the processor itself. This works for
 * the running system only. */
static void complete_caches(struct lull_topology *topology)
{
    struct lull_machine_cache own[MOST_LEVELS];
    size_t count = processor_caches(own, MOST_LEVELS);
    if (topology->n_caches == 0) {
        memcpy(topology->caches, own, count * sizeof *own);
        topology->n_caches = count;
        return;
    }
    for (size_t i = 0; i < topology->n_caches; i++) {
        struct lull_machine_cache *cache = &topology->caches[i];
        for (size_t k = 0; k < count; k++)
            if (own[k].level == cache->level && own[k].bytes == cache->bytes &&
                cache->inclusive == LULL_UNKNOWN)
                cache->inclusive = own[k].inclusive;
    }
}

/* ---- cores ----------------------------------------------------------------------------------- */

/* The index of an object that holds a core; 0 where there is none of that type. */
static uint32_t index_of(hwloc_obj_t object)
{
    return object ? object->logical_index : 0;
}

static hwloc_obj_t last_level_above(hwloc_topology_t handle, hwloc_obj_t core)
{
    hwloc_obj_t found = NULL;
    for (hwloc_obj_t up = core; up; up = up->parent)
        if (hwloc_obj_type_is_dcache(up->type))
            found = up;
    return found ? found : hwloc_get_ancestor_obj_by_type(handle, HWLOC_OBJ_PACKAGE, core);
}

static hwloc_obj_t numa_of(hwloc_topology_t handle, hwloc_obj_t core)
{
    hwloc_obj_t node = NULL;
    while ((node = hwloc_get_next_obj_by_type(handle, HWLOC_OBJ_NUMANODE, node)) != NULL)
        if (hwloc_bitmap_isincluded(core->cpuset, node->cpuset))
            return node;
    return NULL;
}

static void gather_cores(struct lull_topology *topology, hwloc_topology_t handle,
                         struct lull_arena *arena)
{
    /* Where the system does not tell cores from hardware threads, each of these is a core. */
    hwloc_obj_type_t type =
        hwloc_get_nbobjs_by_type(handle, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    int count = hwloc_get_nbobjs_by_type(handle, type);
    topology->cores =
        lull_arena_zero(arena, count > 0 ? (size_t)count : 1, sizeof *topology->cores);
    for (int i = 0; i < count; i++) {
        hwloc_obj_t core = hwloc_get_obj_by_type(handle, type, (unsigned)i);
        int threads = hwloc_bitmap_weight(core->cpuset);
        hwloc_obj_t last = last_level_above(handle, core);
        if (threads <= 0)
            continue;
        struct lull_topology_core *to = &topology->cores[topology->n_cores++];
        to->cpu = (uint32_t)hwloc_bitmap_first(core->cpuset);
        to->threads = (uint32_t)threads;
        to->package = index_of(hwloc_get_ancestor_obj_by_type(handle, HWLOC_OBJ_PACKAGE, core));
        to->numa = index_of(numa_of(handle, core));
        to->cache = last && last->type != HWLOC_OBJ_PACKAGE ? last->logical_index : to->package;
        topology->n_packages =
            to->package + 1 > topology->n_packages ? to->package + 1 : topology->n_packages;
        topology->n_last_level =
            to->cache + 1 > topology->n_last_level ? to->cache + 1 : topology->n_last_level;
    }
}

static void gather_numa(struct lull_topology *topology, hwloc_topology_t handle,
                        struct lull_arena *arena)
{
    int count = hwloc_get_nbobjs_by_type(handle, HWLOC_OBJ_NUMANODE);
    topology->n_numa = count > 0 ? (uint32_t)count : 1;
    topology->count_numa = count > 0 ? (size_t)count : 0;
    topology->numa = lull_arena_zero(arena, topology->n_numa, sizeof *topology->numa);
    for (int i = 0; i < count; i++) {
        hwloc_obj_t node = hwloc_get_obj_by_type(handle, HWLOC_OBJ_NUMANODE, (unsigned)i);
        topology->numa[i] = (struct lull_machine_numa){.os_index = node->os_index,
                                                       .bytes = node->attr->numanode.local_memory,
                                                       .cores = cores_in(handle, node->cpuset)};
        topology->memory_bytes += node->attr->numanode.local_memory;
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Restricts the topology to the processors that the control group allows and the process is bound
 * to. */
static bool restrict_to_usable(struct lull_topology *topology, hwloc_topology_t handle)
{
    hwloc_bitmap_t usable = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(handle));
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();
    if (!usable || !bound)
        return false;
    if (hwloc_topology_is_thissystem(handle) &&
        hwloc_get_cpubind(handle, bound, HWLOC_CPUBIND_PROCESS) == 0 &&
        hwloc_bitmap_intersects(bound, usable))
        hwloc_bitmap_and(usable, usable, bound);
    topology->restricted =
        !hwloc_bitmap_isequal(usable, hwloc_topology_get_topology_cpuset(handle));
    bool done = !topology->restricted || hwloc_topology_restrict(handle, usable, 0) == 0;
    hwloc_bitmap_free(usable);
    hwloc_bitmap_free(bound);
    return done;
}

static lull_status open_with(hwloc_topology_t handle, struct lull_arena *arena,
                             struct lull_topology **ret_topology, struct lull_error *err)
{
    struct lull_topology *topology = lull_arena_zero(arena, 1, sizeof *topology);
    topology->handle = handle;
    hwloc_topology_set_flags(handle, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (hwloc_topology_load(handle) != 0) {
        hwloc_topology_destroy(handle);
        return lull_fail(err, LULL_ERR_IO, "the topology of this machine cannot be read");
    }
    gather_caches(topology, handle, arena);
    if (hwloc_topology_is_thissystem(handle))
        complete_caches(topology);
    if (restrict_to_usable(topology, handle))
        gather_cores(topology, handle, arena);
    gather_numa(topology, handle, arena);
    if (hwloc_topology_is_thissystem(handle) && sysconf(_SC_PHYS_PAGES) > 0)
        topology->memory_bytes =
            (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (topology->n_cores == 0) {
        hwloc_topology_destroy(handle);
        return lull_fail(err, LULL_ERR_RANGE, "there is no core that may be used");
    }
    *ret_topology = topology;
    return LULL_OK;
}

lull_status lull_topology_open(struct lull_arena *arena, struct lull_topology **ret_topology,
                               struct lull_error *err)
{
    hwloc_topology_t handle;
    if (hwloc_topology_init(&handle) != 0)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory");
    return open_with(handle, arena, ret_topology, err);
}

lull_status lull_topology_open_fake(const char *description, struct lull_arena *arena,
                                    struct lull_topology **ret_topology, struct lull_error *err)
{
    hwloc_topology_t handle;
    if (hwloc_topology_init(&handle) != 0)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory");
    size_t length = strlen(description);
    bool is_xml = length > 4 && strcmp(description + length - 4, ".xml") == 0;
    int status = is_xml ? hwloc_topology_set_xml(handle, description)
                        : hwloc_topology_set_synthetic(handle, description);
    if (status != 0) {
        hwloc_topology_destroy(handle);
        return lull_fail(err, LULL_ERR_FORMAT, "'%s' does not describe a topology", description);
    }
    return open_with(handle, arena, ret_topology, err);
}

void lull_topology_close(struct lull_topology *topology)
{
    if (topology)
        hwloc_topology_destroy(topology->handle);
}

lull_status lull_topology_pin(const struct lull_topology *topology, size_t core,
                              struct lull_error *err)
{
    hwloc_topology_t handle = topology->handle;
    if (!hwloc_topology_is_thissystem(handle))
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "this is not the topology of the running system");
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (!set)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory");
    hwloc_bitmap_only(set, topology->cores[core].cpu);
    int status = hwloc_set_cpubind(handle, set, HWLOC_CPUBIND_THREAD);
    int reason = errno;
    hwloc_bitmap_free(set);
    errno = reason;
    return status == 0 ? LULL_OK
                       : lull_fail_errno(err, "cannot pin a thread to processor %u",
                                         topology->cores[core].cpu);
}

#else

static lull_status not_built(struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_UNSUPPORTED,
                     "this lull was built without hwloc, which it needs to measure a machine");
}

lull_status lull_topology_open(struct lull_arena *arena, struct lull_topology **ret_topology,
                               struct lull_error *err)
{
    (void)arena;
    (void)ret_topology;
    return not_built(err);
}

lull_status lull_topology_open_fake(const char *description, struct lull_arena *arena,
                                    struct lull_topology **ret_topology, struct lull_error *err)
{
    (void)description;
    return lull_topology_open(arena, ret_topology, err);
}

void lull_topology_close(struct lull_topology *topology)
{
    (void)topology;
}

lull_status lull_topology_pin(const struct lull_topology *topology, size_t core,
                              struct lull_error *err)
{
    (void)topology;
    (void)core;
    return not_built(err);
}

#endif

/* ==== the host's description ================================================================== */

/* The host's description, as files of Linux and uname(2) tell it. A member that cannot be read stays
 * NULL. */

/* A file's first line; NULL where it cannot be read or is empty. */
static const char *read_line(const char *path, struct lull_arena *arena)
{
    char text[256];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    if (got <= 0)
        return NULL;
    text[got] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return *text ? lull_arena_strdup(arena, text) : NULL;
}

/* The value of "key : value" in /proc/cpuinfo, of the first processor. */
static const char *cpu_info(const char *key, struct lull_arena *arena)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char *line = NULL;
    size_t size = 0, length = strlen(key);
    const char *value = NULL;
    while (file && !value && getline(&line, &size, file) > 0) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, key, length) != 0 || !colon || !strchr("\t :", line[length]))
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        value = lull_arena_strndup(arena, colon, strcspn(colon, "\n"));
    }
    free(line);
    if (file)
        fclose(file);
    return value && *value ? value : NULL;
}

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* Notes the instruction sets that decide how fast a kernel can be; the other flags are left out. */
static void describe_isa(struct lull_machine_cpu *cpu, struct lull_arena *arena)
{
    static const char *const wanted[] = {
        "sse2",     "sse4_2",      "avx",      "avx2",  "fma", "avx512f", "avx512bw",
        "avx512vl", "avx512_fp16", "amx_tile", "asimd", "sve", "sve2"};
    enum { WANTED = sizeof wanted / sizeof *wanted };
    const char *flags = cpu_info("flags", arena);
    if (!flags)
        flags = cpu_info("Features", arena);
    cpu->isa = lull_arena_zero(arena, WANTED, sizeof *cpu->isa);
    for (size_t i = 0; flags && i < WANTED; i++)
        if (has_word(flags, wanted[i]))
            cpu->isa[cpu->n_isa++] = wanted[i];
}

static void describe_cpu(struct lull_machine_cpu *cpu, const struct lull_topology *topology,
                         struct lull_arena *arena)
{
    cpu->model = cpu_info("model name", arena);
    cpu->vendor = cpu_info("vendor_id", arena);
    describe_isa(cpu, arena);
    cpu->packages = topology->n_packages;
    cpu->numa_domains = topology->n_numa;
    cpu->cores = (uint32_t)topology->n_cores;
    for (size_t i = 0; i < topology->n_cores; i++) {
        cpu->threads += topology->cores[i].threads;
        if (topology->cores[i].threads > cpu->threads_per_core)
            cpu->threads_per_core = topology->cores[i].threads;
        uint32_t in_domain = 0;
        for (size_t k = 0; k < topology->n_cores; k++)
            in_domain += topology->cores[k].numa == topology->cores[i].numa;
        if (in_domain > cpu->cores_per_numa_domain)
            cpu->cores_per_numa_domain = in_domain;
    }
}

static void describe_speed(struct lull_machine_provenance *provenance, uint32_t cpu,
                           struct lull_arena *arena)
{
    provenance->governor = read_line(
        lull_arena_printf(arena, "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_governor", cpu),
        arena);
    const char *boost = read_line("/sys/devices/system/cpu/cpufreq/boost", arena);
    const char *no_turbo = read_line("/sys/devices/system/cpu/intel_pstate/no_turbo", arena);
    if (no_turbo)
        provenance->turbo = *no_turbo == '0' ? "on" : "off";
    else if (boost)
        provenance->turbo = *boost == '1' ? "on" : "off";
}

void lull_machine_describe_host(struct lull_machine *machine, const struct lull_topology *topology,
                                struct lull_arena *arena)
{
    struct utsname names;
    if (uname(&names) == 0) {
        machine->host.name = lull_arena_strdup(arena, names.nodename);
        machine->cpu.architecture = lull_arena_strdup(arena, names.machine);
        machine->provenance.kernel =
            lull_arena_printf(arena, "%s %s", names.sysname, names.release);
    }
    machine->host.system = cpu_info("Hardware", arena);
    const char *product = read_line("/sys/class/dmi/id/product_name", arena);
    if (product)
        machine->host.system = product;
    machine->host.hypervisor = hypervisor_name(arena);
    describe_cpu(&machine->cpu, topology, arena);
    describe_speed(&machine->provenance, topology->cores[0].cpu, arena);
    machine->memory_bytes = topology->memory_bytes;
    machine->caches = topology->caches;
    machine->n_caches = topology->n_caches;
    machine->numa = topology->numa;
    machine->n_numa = topology->count_numa;
}

bool lull_machine_is_here(const struct lull_machine *machine)
{
    char name[256] = "";
    return machine->host.name && gethostname(name, sizeof name - 1) == 0 &&
           strcmp(name, machine->host.name) == 0;
}
