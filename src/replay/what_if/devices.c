/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/what_if/devices.h"

#include "base/hash.h"
#include "base/text.h"
#include "replay/program/devices.h"

#include <stdlib.h>
#include <string.h>

bool lull_what_if_devices_supposes(const struct lull_what_if_devices *devices)
{
    return devices->n_kernels > 0 || devices->speed > 0 || devices->no_latency || devices->ahead ||
           devices->no_copies || devices->overlap || devices->graphs || devices->graphs_if_any ||
           devices->balance || devices->free_exchanges;
}

lull_status lull_what_if_kernels_read(char *const *texts, struct lull_arena *arena,
                                      struct lull_what_if_devices *devices, struct lull_error *err)
{
    for (; texts && *texts; texts++) {
        const char *sign = strrchr(*texts, '*');
        char *end = NULL;
        const double factor = sign ? strtod(sign + 1, &end) : -1;
        if (!sign || sign == *texts || end == sign + 1 || *end != '\0' ||
            !(factor >= 0 && factor <= 1e6))
            return lull_fail(err, LULL_ERR_RANGE,
                             "--kernel is '%s', expected NAME*FACTOR with a factor of 0 or more",
                             *texts);
        if (devices->n_kernels == LULL_WHAT_IF_KERNELS)
            return lull_fail(err, LULL_ERR_RANGE, "--kernel is given more than %d times",
                             LULL_WHAT_IF_KERNELS);
        devices->kernels[devices->n_kernels] =
            lull_arena_strndup(arena, *texts, (size_t)(sign - *texts));
        devices->factors[devices->n_kernels++] = factor;
    }
    return LULL_OK;
}

bool lull_what_if_devices_put(const struct lull_what_if_devices *devices, struct lull_flow *flow)
{
    bool good = true;
    for (uint32_t i = 0; good && i < devices->n_kernels; i++)
        good = lull_flow_put_text(flow, devices->kernels[i]);
    return good;
}

bool lull_what_if_devices_get(struct lull_what_if_devices *devices, struct lull_arena *arena,
                              struct lull_flow *flow)
{
    bool good = true;
    for (uint32_t i = 0; good && i < devices->n_kernels; i++)
        good = lull_flow_get_text(flow, arena, &devices->kernels[i]);
    return good;
}

/* ---- whether it is there --------------------------------------------------------------------- */

static lull_status check_kernel(const struct lull_trace *trace, const char *name,
                                struct lull_error *err)
{
    const char **names = calloc((size_t)trace->n_regions + 1, sizeof(const char *));
    bool found = false;
    for (uint32_t r = 0; names && !found && r < trace->n_regions; r++) {
        const struct lull_region *region = &trace->regions[r];
        if (lull_activity_on(region, LULL_LOCATION_DEVICE) != LULL_USEFUL)
            continue;
        found = strcmp(region->name, name) == 0;
        names[r] = region->name;
    }
    const char *meant = found || !names ? NULL : lull_suggest(name, names, trace->n_regions);
    free(names);
    if (found)
        return LULL_OK;
    return meant ? lull_fail(err, LULL_ERR_RANGE, "%s: has no kernel '%s'; did you mean '%s'?",
                             trace->path, name, meant)
                 : lull_fail(err, LULL_ERR_RANGE, "%s: has no kernel '%s'", trace->path, name);
}

lull_status lull_what_if_devices_check(const struct lull_trace *trace, uint32_t application,
                                       const struct lull_what_if_devices *devices,
                                       struct lull_error *err)
{
    bool any = false;
    if (!lull_what_if_devices_supposes(devices))
        return LULL_OK;
    for (uint32_t l = 0; !any && l < trace->n_locations; l++)
        any = lull_is_of_device(trace, l, application);
    if (!any)
        return lull_fail(err, LULL_ERR_RANGE, "%s: has no devices", trace->path);
    lull_status status = LULL_OK;
    for (uint32_t i = 0; status == LULL_OK && i < devices->n_kernels; i++)
        status = check_kernel(trace, devices->kernels[i], err);
    return status;
}

/* ---- what changes ---------------------------------------------------------------------------- */

static double *all_ones(struct lull_arena *arena, size_t n)
{
    double *factors = lull_arena_zero(arena, n + 1, sizeof *factors);
    for (size_t i = 0; i < n; i++)
        factors[i] = 1;
    return factors;
}

/* The text that tells the device of a stream from others, which may be told once by each process. */
static const char *device_of(const struct lull_trace *trace, uint32_t location,
                             struct lull_arena *arena)
{
    const struct lull_stream *stream = trace->locations[location].stream;
    const struct lull_device *device = stream ? &trace->devices[stream->device] : NULL;
    if (!device)
        return lull_arena_printf(arena, "%u", location);
    return *device->key ? lull_arena_printf(arena, "%u %s", device->node, device->key)
                        : lull_arena_printf(arena, "of %u", stream->device);
}

/* The factors by which the kernels of each device take as long in all as on average. */
static const double *balance(const struct lull_trace *trace,
                             const struct lull_replay_devices *devices, struct lull_arena *arena)
{
    double *factors = all_ones(arena, trace->n_locations);
    double *sums = lull_arena_zero(arena, trace->n_locations + (size_t)1, sizeof *sums);
    uint64_t *index_of = lull_arena_zero(arena, trace->n_locations + (size_t)1, sizeof *index_of);
    struct lull_hash known = {0};
    double all = 0;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const double ns = (double)lull_replay_devices_kernel_ns(devices, l);
        if (ns == 0)
            continue;
        const char *id = device_of(trace, l, arena);
        const uint64_t *index = lull_hash_add(&known, id, strlen(id), known.count, NULL);
        if (!index)
            break;
        index_of[l] = *index;
        sums[*index] += ns;
        all += ns;
    }
    for (uint32_t l = 0; l < trace->n_locations; l++)
        if (lull_replay_devices_kernel_ns(devices, l) > 0 && known.count > 0)
            factors[l] = all / (double)known.count / sums[index_of[l]];
    lull_hash_free(&known);
    return factors;
}

lull_status lull_what_if_devices_change(const struct lull_trace *trace,
                                        const struct lull_what_if_devices *devices,
                                        const struct lull_survey *survey, struct lull_arena *arena,
                                        const struct lull_device_change **ret_change,
                                        struct lull_error *err)
{
    const struct lull_replay_devices *known = lull_survey_devices(survey);
    struct lull_device_change *change = lull_arena_zero(arena, 1, sizeof *change);
    bool any = false;
    *ret_change = NULL;
    if (!lull_what_if_devices_supposes(devices))
        return LULL_OK;
    for (uint32_t l = 0; known && l < trace->n_locations; l++)
        any |= lull_replay_devices_need(known, l);
    if (!any)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: does not tell what was submitted to its devices when, so that "
                         "nothing can be supposed of them",
                         trace->path);
    if (devices->graphs && !lull_replay_devices_repeat(known))
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: no thread submits the same operations again, so that no graph would "
                         "submit them",
                         trace->path);
    const double speed = devices->speed > 0 ? 1 / devices->speed : 1;
    double *kernels = all_ones(arena, trace->n_regions);
    for (uint32_t r = 0; r < trace->n_regions; r++) {
        kernels[r] = speed;
        for (uint32_t i = 0; i < devices->n_kernels; i++)
            if (strcmp(trace->regions[r].name, devices->kernels[i]) == 0)
                kernels[r] = speed * devices->factors[i];
    }
    *change = (struct lull_device_change){.kernels = kernels,
                                          .streams = devices->balance ? balance(trace, known, arena)
                                                                      : NULL,
                                          .copies = devices->no_copies ? 0 : 1,
                                          .no_latency = devices->no_latency,
                                          .ahead = devices->ahead,
                                          .overlap = devices->overlap,
                                          .graphs = devices->graphs || devices->graphs_if_any};
    *ret_change = change;
    return LULL_OK;
}
