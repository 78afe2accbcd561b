/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/loaded.h"

#include "bench/memory/memory.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

enum { INSTANCE_LINE_BYTES = 64, INSTANCE_HUGE_BYTES = 2 << 20 };

typedef void kernel_code(const long *sizes, void *const *arrays, void *const *scalars);

struct instance { /* of one thread */
    char *memory;
    void **arrays, **scalars;
    double *values; /* scalars' memory */
};

struct timed {
    const struct lull_loaded *loaded;
    kernel_code *code;
    struct instance *instances;
    uint64_t bytes; /* of an instance's arrays */
};

static void fill(const struct lull_loaded_array *array, char *memory)
{
    for (uint64_t i = 0; i < array->bytes / array->element; i++) {
        char *at = memory + i * array->element;
        int64_t value = array->sample ? array->sample[i % array->n_sample] : 1;
        if (array->floating && array->element == sizeof(double))
            memcpy(at, &(double){0.5}, sizeof(double));
        else if (array->floating && array->element == sizeof(float))
            memcpy(at, &(float){0.5F}, sizeof(float));
        else if (!array->floating)
            memcpy(at, &value, array->element); /* little endian */
    }
}

/* Fills the arrays on the thread that will use them, which so lie in its own memory domain. */
static void prepare_instance(void *context, unsigned thread)
{
    const struct timed *timed = context;
    const struct lull_loaded *loaded = timed->loaded;
    struct instance *instance = &timed->instances[thread];
    for (size_t a = 0; a < loaded->n_arrays; a++)
        fill(&loaded->arrays[a], instance->arrays[a]);
    for (size_t i = 0; i < loaded->n_scalars; i++) {
        if (loaded->scalar_bytes[i] == sizeof(float))
            memcpy(&instance->values[2 * i], &(float){0.9999999F}, sizeof(float));
        else
            instance->values[2 * i] = 0.9999999;
        instance->scalars[i] = &instance->values[2 * i];
    }
    timed->code(loaded->sizes, instance->arrays, instance->scalars);
}

/* Returns 0, but so that the processor does not know it before it has all scalars: it has to wait
 * for them. */
static size_t wait_for(const struct timed *timed, const struct instance *instance)
{
    static const volatile uint64_t no_bits = 0;
    uint64_t mask = no_bits, all = 0;
    for (size_t i = 0; i < timed->loaded->n_scalars; i++) {
        uint64_t bits;
        memcpy(&bits, &instance->values[2 * i], sizeof bits);
        all |= bits & mask;
    }
    return all;
}

static void run_instance(void *context, unsigned thread, uint64_t repetitions)
{
    const struct timed *timed = context;
    const struct instance *instance = &timed->instances[thread];
    size_t nothing = 0;
    for (uint64_t i = 0; i < repetitions; i++) {
        if (timed->loaded->sums)
            nothing = wait_for(timed, instance);
        timed->code(timed->loaded->sizes, instance->arrays + nothing, instance->scalars);
    }
}

static uint64_t round_bytes_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static bool make_instance(const struct timed *timed, struct instance *instance)
{
    const struct lull_loaded *loaded = timed->loaded;
    uint64_t used = 0;
    instance->arrays = calloc(loaded->n_arrays + 1, sizeof *instance->arrays);
    instance->scalars = calloc(loaded->n_scalars + 1, sizeof *instance->scalars);
    instance->values = calloc(2 * loaded->n_scalars + 2, sizeof *instance->values);
    void *memory = mmap(NULL, timed->bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    instance->memory = memory;
    madvise(memory, timed->bytes, MADV_HUGEPAGE);
    char *first = (char *)round_bytes_up((uintptr_t)instance->memory, INSTANCE_HUGE_BYTES);
    for (size_t a = 0; instance->arrays && a < loaded->n_arrays; a++) {
        instance->arrays[a] = first + used;
        used += round_bytes_up(loaded->arrays[a].bytes, INSTANCE_LINE_BYTES);
    }
    return instance->arrays && instance->scalars && instance->values;
}

static void free_instances(struct timed *timed)
{
    for (unsigned t = 0; timed->instances && t < timed->loaded->threads; t++) {
        struct instance *instance = &timed->instances[t];
        if (instance->memory)
            munmap(instance->memory, timed->bytes);
        free(instance->arrays);
        free(instance->scalars);
        free(instance->values);
    }
    free(timed->instances);
}

static lull_status check_memory(struct timed *timed, struct lull_error *err)
{
    const struct lull_loaded *loaded = timed->loaded;
    uint64_t had = lull_bench_memory_free();
    timed->bytes = 2 * INSTANCE_HUGE_BYTES;
    for (size_t a = 0; a < loaded->n_arrays; a++)
        timed->bytes += round_bytes_up(loaded->arrays[a].bytes, INSTANCE_LINE_BYTES);
    if (had && timed->bytes > had / loaded->threads)
        return lull_fail(err, LULL_ERR_MEMORY,
                         "the arrays take %.1f GB for each of %u cores, and %.1f GB are free",
                         (double)timed->bytes / 1e9, loaded->threads, (double)had / 1e9);
    timed->instances = calloc(loaded->threads, sizeof *timed->instances);
    for (unsigned t = 0; timed->instances && t < loaded->threads; t++)
        if (!make_instance(timed, &timed->instances[t]))
            return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for the arrays");
    return timed->instances ? LULL_OK : lull_fail(err, LULL_ERR_MEMORY, "not enough memory");
}

static lull_status time_code(struct timed *timed, struct lull_round *ret_round,
                             struct lull_error *err)
{
    const struct lull_loaded *loaded = timed->loaded;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_topology *topology = NULL;
    const struct lull_timing timing = {.body = run_instance,
                                       .prepare = prepare_instance,
                                       .context = timed,
                                       .threads = loaded->threads,
                                       .seconds = loaded->seconds,
                                       .quantile = loaded->quantile,
                                       .clock = true};
    lull_status status = lull_topology_open(arena, &topology, err);
    if (status == LULL_OK && loaded->threads > topology->n_cores)
        status = lull_fail(err, LULL_ERR_RANGE, "%u cores are wanted, and %zu are here",
                           loaded->threads, topology->n_cores);
    if (status == LULL_OK)
        status = lull_time_blocks(topology, &timing, ret_round, err);
    lull_topology_close(topology);
    lull_arena_destroy(arena);
    return status;
}

/* Many a site mounts /tmp so that nothing there can be executed: what the loader says of that names no cause. */
static lull_status fail_to_load(const char *path, struct lull_error *err)
{
    struct statvfs files;
    if (statvfs(path, &files) == 0 && (files.f_flag & ST_NOEXEC))
        return lull_fail(err, LULL_ERR_IO,
                         "%s: nothing can be executed there, as its file system is mounted noexec; "
                         "TMPDIR names another folder",
                         path);
    return lull_fail(err, LULL_ERR_IO, "%s", dlerror());
}

lull_status lull_loaded_time(const struct lull_loaded *loaded, struct lull_round *ret_round,
                             struct lull_error *err)
{
    struct timed timed = {.loaded = loaded};
    void *library = dlopen(loaded->path, RTLD_NOW | RTLD_LOCAL);
    void *code = library ? dlsym(library, "lull_kernel") : NULL;
    if (!code) {
        lull_status status = fail_to_load(loaded->path, err);
        if (library)
            dlclose(library);
        return status;
    }
    memcpy(&timed.code, &code, sizeof code);
    lull_status status = check_memory(&timed, err);
    if (status == LULL_OK)
        status = time_code(&timed, ret_round, err);
    free_instances(&timed);
    dlclose(library);
    return status;
}
