/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's description, as files of Linux and uname(2) tell it. A member that cannot be read stays
 * NULL. */
#include "machine/topology.h"

#include "machine/processor.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

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
    machine->host.hypervisor = lull_processor_hypervisor(arena);
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
