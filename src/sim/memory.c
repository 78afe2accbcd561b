/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SATURATION, MACHINE, MEMORY_KINDS, MOST_MEMORY_RANKS = 4096, NAME_BYTES = 128 };

const struct lull_memory_kind lull_memory_kinds[] = {
    [SATURATION] = {"saturation", "ranks, cores"},
    [MACHINE] = {"machine", "kernel, ranks"},
    [MEMORY_KINDS] = {NULL, NULL},
};

/* From the bandwidth of 1 to n ranks together, [ranks + 1]. */
static const struct lull_memory *make_memory(uint32_t ranks, const double *bandwidth,
                                             struct lull_arena *arena)
{
    struct lull_memory *memory = lull_arena_zero(arena, 1, sizeof *memory);
    double *pace = lull_arena_zero(arena, ranks + (size_t)1, sizeof *pace);
    for (uint32_t n = 1; n <= ranks; n++)
        pace[n] = bandwidth[n] * ranks / (bandwidth[ranks] * n);
    memory->ranks = ranks;
    memory->pace = pace;
    return memory;
}

static lull_status read_saturation(struct lull_spec *spec, struct lull_arena *arena,
                                   const struct lull_memory **ret_memory, struct lull_error *err)
{
    uint64_t ranks, cores;
    lull_status status = lull_spec_count(spec, "ranks", 8, 1, MOST_MEMORY_RANKS, &ranks, err);
    if (status == LULL_OK)
        status = lull_spec_count(spec, "cores", ranks < 2 ? 1 : ranks / 2, 1, ranks, &cores, err);
    if (status == LULL_OK)
        status = lull_spec_finish(spec, err);
    if (status != LULL_OK)
        return status;
    double *bandwidth = lull_arena_zero(arena, ranks + (size_t)1, sizeof *bandwidth);
    for (uint64_t n = 1; n <= ranks; n++)
        bandwidth[n] = (double)(n < cores ? n : cores);
    *ret_memory = make_memory((uint32_t)ranks, bandwidth, arena);
    return LULL_OK;
}

/* 0: not measured. */
static double bandwidth_of(const struct lull_machine *machine, const char *kernel, uint32_t ranks)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "memory.%s.%u", kernel, ranks);
    const struct lull_number *number = lull_machine_find(machine, name);
    return number && number->value > 0 ? number->value : 0;
}

static lull_status read_machine(struct lull_spec *spec, const struct lull_machine *machine,
                                struct lull_arena *arena, const struct lull_memory **ret_memory,
                                struct lull_error *err)
{
    const char *kernel = lull_spec_string(spec, "kernel", "triad");
    uint64_t ranks = 0, cores = machine ? machine->cpu.cores_per_numa_domain : 0;
    if (cores == 0 && machine)
        cores = machine->cpu.cores;
    lull_status status =
        lull_spec_count(spec, "ranks", cores ? cores : 1, 1, MOST_MEMORY_RANKS, &ranks, err);
    if (status == LULL_OK)
        status = lull_spec_finish(spec, err);
    if (status == LULL_OK && !machine)
        return lull_fail(err, LULL_ERR_RANGE,
                         "machine: needs a machine file (--machine) with bandwidths");
    if (status != LULL_OK)
        return status;
    double *bandwidth = lull_arena_zero(arena, ranks + (size_t)1, sizeof *bandwidth);
    uint32_t before = 1;
    for (uint32_t n = 1; n <= ranks; n++) {
        bandwidth[n] = bandwidth_of(machine, kernel, n);
        if (!(bandwidth[n] > 0) && (n == 1 || n == ranks))
            return lull_fail(err, LULL_ERR_RANGE,
                             "machine: the machine file has no bandwidth memory.%s.%u: `lull bench "
                             "bandwidth` measures it",
                             kernel, n);
        if (!(bandwidth[n] > 0))
            continue;
        for (uint32_t m = before + 1; m < n; m++)
            bandwidth[m] = bandwidth[before] +
                           (bandwidth[n] - bandwidth[before]) * (m - before) / (n - before);
        before = n;
    }
    *ret_memory = make_memory((uint32_t)ranks, bandwidth, arena);
    return LULL_OK;
}

lull_status lull_memory_read(struct lull_spec *spec, const struct lull_machine *machine,
                             struct lull_arena *arena, const struct lull_memory **ret_memory,
                             struct lull_error *err)
{
    const char *names[MEMORY_KINDS + 1] = {NULL};
    for (unsigned k = 0; k < MEMORY_KINDS; k++)
        names[k] = lull_memory_kinds[k].name;
    if (strcmp(lull_spec_name(spec), names[SATURATION]) == 0)
        return read_saturation(spec, arena, ret_memory, err);
    if (strcmp(lull_spec_name(spec), names[MACHINE]) == 0)
        return read_machine(spec, machine, arena, ret_memory, err);
    return lull_spec_unknown_name(spec, "memory", names, err);
}
