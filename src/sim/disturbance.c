/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/disturbance.h"

#include "sim/setup.h"
#include "sim/spec.h"

#include <math.h>
#include <string.h>

#define MOST_DISTURBED_RANKS (UINT32_C(1) << 28)

struct lull_disturbance lull_disturbance_none(struct lull_arena *arena, uint64_t seed)
{
    return (struct lull_disturbance){.arena = arena, .seed = seed, .text = ""};
}

/* ---- one of each kind ------------------------------------------------------------------------ */

/* Nobody is held back by a message that it sends, and all ranks are on one node: of the network's
 * other parameters nothing can be injected. */
static lull_status add_network(struct lull_disturbance *disturbance, struct lull_spec *spec,
                               struct lull_error *err)
{
    const struct lull_network_class *class = lull_network_find("hockney");
    const struct lull_parameter *parameters = class->parameters;
    if (disturbance->has_network)
        return lull_fail(err, LULL_ERR_RANGE, "'%s': there is a network already",
                         lull_spec_text(spec));
    double latency, bandwidth;
    lull_status status = lull_spec_number(
        spec, &parameters[lull_network_parameter(class, "latency")], &latency, err);
    if (status == LULL_OK)
        status = lull_spec_number(spec, &parameters[lull_network_parameter(class, "bandwidth")],
                                  &bandwidth, err);
    if (status == LULL_OK)
        status = lull_spec_finish(spec, err);
    if (status != LULL_OK)
        return status;
    disturbance->has_network = true;
    disturbance->latency = latency;
    disturbance->bandwidth = bandwidth;
    return LULL_OK;
}

static lull_status add_noise(struct lull_disturbance *disturbance, struct lull_spec *spec,
                             struct lull_error *err)
{
    if (disturbance->noise)
        return lull_fail(err, LULL_ERR_RANGE, "'%s': there is a noise already",
                         lull_spec_text(spec));
    return lull_noise_read(spec, MOST_DISTURBED_RANKS, disturbance->arena, &disturbance->noise,
                           err);
}

static lull_status add_iterations(struct lull_disturbance *disturbance, struct lull_spec *spec,
                                  struct lull_error *err)
{
    const char *call = lull_spec_string(spec, "call", "");
    lull_status status = lull_spec_finish(spec, err);
    if (status != LULL_OK)
        return status;
    if (strncmp(call, "MPI_", 4) != 0)
        return lull_fail(err, LULL_ERR_RANGE,
                         "iteration: call is '%s', expected a function as in call=MPI_Allreduce",
                         call);
    disturbance->iterations = call;
    return LULL_OK;
}

static lull_status add_delay(struct lull_disturbance *disturbance, const char *text,
                             struct lull_error *err)
{
    struct lull_delay delay;
    lull_status status = lull_delay_read(text, &delay, err);
    if (status != LULL_OK)
        return status;
    disturbance->delays =
        lull_arena_grow(disturbance->arena, disturbance->delays, &disturbance->delays_capacity,
                        disturbance->n_delays + (size_t)1, sizeof *disturbance->delays);
    disturbance->delays[disturbance->n_delays++] = delay;
    return LULL_OK;
}

/* ---- any ------------------------------------------------------------------------------------- */

static lull_status add_named_spec(struct lull_disturbance *disturbance, const char *text,
                                  struct lull_error *err)
{
    struct lull_spec *spec;
    lull_status status = lull_spec_parse(text, disturbance->arena, &spec, err);
    if (status != LULL_OK)
        return status;
    const char *name = lull_spec_name(spec);
    if (strcmp(name, "iteration") == 0)
        return add_iterations(disturbance, spec, err);
    if (strcmp(name, "hockney") == 0)
        return add_network(disturbance, spec, err);
    if (lull_network_find(name))
        return lull_fail(err, LULL_ERR_RANGE,
                         "'%s' cannot be injected: of the networks, hockney can", name);
    if (lull_noise_find(name))
        return add_noise(disturbance, spec, err);
    return lull_fail(err, LULL_ERR_RANGE,
                     "'%s' is nothing to be injected, expected hockney:latency=..., a noise such "
                     "as exponential:mean=50us, a delay as 5@i12:30us, or iteration:call=...",
                     text);
}

lull_status lull_disturbance_add(struct lull_disturbance *disturbance, const char *text,
                                 struct lull_error *err)
{
    const char *at = strchr(text, '@'), *colon = strchr(text, ':');
    lull_status status = at && colon && at < colon ? add_delay(disturbance, text, err)
                                                   : add_named_spec(disturbance, text, err);
    if (status == LULL_OK)
        disturbance->text = lull_arena_printf(disturbance->arena, "%s%s%s", disturbance->text,
                                              *disturbance->text ? "\n" : "", text);
    return status;
}

lull_status lull_disturbance_add_lines(struct lull_disturbance *disturbance, const char *lines,
                                       struct lull_error *err)
{
    lull_status status = LULL_OK;
    while (*lines && status == LULL_OK) {
        const size_t length = strcspn(lines, "\n");
        status = lull_disturbance_add(disturbance,
                                      lull_arena_strndup(disturbance->arena, lines, length), err);
        lines += length + (lines[length] != '\0');
    }
    return status;
}

lull_status lull_disturbance_read(char *const *texts, uint64_t seed, struct lull_arena *arena,
                                  const struct lull_disturbance **ret_disturbance,
                                  struct lull_error *err)
{
    lull_status status = LULL_OK;
    *ret_disturbance = NULL;
    if (!texts)
        return status;
    struct lull_disturbance *disturbance = lull_arena_alloc(arena, sizeof *disturbance);
    *disturbance = lull_disturbance_none(arena, seed);
    for (; *texts && status == LULL_OK; texts++)
        status = lull_disturbance_add(disturbance, *texts, err);
    *ret_disturbance = disturbance;
    return status;
}

lull_status lull_disturbance_check(const struct lull_disturbance *disturbance, uint32_t n_ranks,
                                   struct lull_error *err)
{
    for (uint32_t i = 0; i < disturbance->n_delays; i++)
        if (disturbance->delays[i].rank >= n_ranks)
            return lull_fail(err, LULL_ERR_RANGE, "delay of rank %u: the run has %u ranks",
                             disturbance->delays[i].rank, n_ranks);
    if (disturbance->noise && !lull_noise_is_for(disturbance->noise, n_ranks))
        return lull_fail(err, LULL_ERR_RANGE, "noise of other ranks: the run has %u ranks",
                         n_ranks);
    return LULL_OK;
}

/* ---- as numbers ------------------------------------------------------------------------------ */

bool lull_disturbance_noise(const struct lull_disturbance *disturbance, uint32_t rank, uint32_t n,
                            struct lull_noise_numbers *ret_numbers)
{
    const struct lull_noise *noise = disturbance->noise;
    struct lull_noise_numbers numbers = {.per = 0};
    if (!noise || !lull_noise_has(noise, rank))
        return false;
    if (lull_noise_detours(noise, disturbance->seed, rank, disturbance->arena, &numbers.detours,
                           &numbers.phase)) {
        *ret_numbers = numbers;
        return true;
    }
    struct lull_noise_rank state = {0};
    numbers.per = lull_noise_per(noise);
    const int64_t duration = numbers.per > 0 ? llround(numbers.per) : 1;
    numbers.draws = lull_arena_alloc(disturbance->arena, n * sizeof *numbers.draws);
    for (; numbers.n_draws < n; numbers.n_draws++)
        numbers.draws[numbers.n_draws] =
            lull_noise_extend(noise, disturbance->seed, rank, &state, 0, duration);
    *ret_numbers = numbers;
    return true;
}

const char *lull_disturbance_network(const struct lull_disturbance *disturbance)
{
    if (!disturbance->has_network)
        return NULL;
    if (isinf(disturbance->bandwidth))
        return lull_arena_printf(disturbance->arena,
                                 "hockney:latency=%.17gns,bandwidth=inf,eager=inf",
                                 disturbance->latency);
    return lull_arena_printf(disturbance->arena,
                             "hockney:latency=%.17gns,bandwidth=%.17g,eager=inf",
                             disturbance->latency, disturbance->bandwidth);
}
