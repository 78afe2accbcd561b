#include "cli/injection.h"

#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "launch/injection.h"

#include <stdlib.h>

/* Amounts of noise that a process has for its computations before they come again: 512 KiB. */
enum { DRAWS = 65536 };

int lull_cli_read_injection(char *const *specs, const char *seed, struct lull_arena *arena,
                            const struct lull_disturbance **ret_disturbance)
{
    struct lull_error err;
    uint64_t number = 1;
    *ret_disturbance = NULL;
    if (lull_option_number("seed", seed, 0, UINT64_MAX, &number, &err) != LULL_OK)
        return lull_cli_usage("%s", err.text);
    if (seed && !specs)
        return lull_cli_usage("--seed is for the noise of --inject");
    if (!specs)
        return LULL_EXIT_OK;
    struct lull_disturbance *disturbance = lull_arena_alloc(arena, sizeof *disturbance);
    *disturbance = lull_disturbance_none(arena, number);
    for (; *specs; specs++)
        if (lull_disturbance_add(disturbance, *specs, &err) != LULL_OK)
            return lull_cli_usage("--inject: %s", err.text);
    *ret_disturbance = disturbance;
    return LULL_EXIT_OK;
}

static void take_delays(const struct lull_disturbance *disturbance,
                        struct lull_injection *injection, struct lull_arena *arena)
{
    struct lull_tape_delay *delays =
        lull_arena_zero(arena, disturbance->n_delays + (size_t)1, sizeof *delays);
    for (uint32_t i = 0; i < disturbance->n_delays; i++) {
        const struct lull_delay *delay = &disturbance->delays[i];
        delays[i] =
            (struct lull_tape_delay){delay->rank, delay->at_iteration, delay->when, delay->length};
    }
    injection->delays = delays;
    injection->n_delays = disturbance->n_delays;
}

static void take_noise(const struct lull_disturbance *disturbance, uint32_t rank,
                       struct lull_injection *injection, struct lull_arena *arena)
{
    struct lull_noise_numbers noise;
    if (!lull_disturbance_noise(disturbance, rank, DRAWS, &noise))
        return;
    const uint32_t n = (uint32_t)noise.detours.count;
    struct lull_tape_detour *detours = lull_arena_zero(arena, n + (size_t)1, sizeof *detours);
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_recorded_detour *detour = &noise.detours.detours[i];
        detours[i] = (struct lull_tape_detour){detour->begin, detour->length, detour->before};
    }
    injection->draws = noise.draws;
    injection->n_draws = noise.n_draws;
    injection->per = noise.per;
    injection->detours = detours;
    injection->n_detours = n;
    injection->period = noise.detours.duration;
    injection->phase = noise.phase;
}

void lull_cli_inject(const struct lull_disturbance *disturbance,
                     const struct lull_recording *recording, struct lull_arena *arena)
{
    struct lull_error err;
    unsetenv("LULL_RECORD_INJECT");
    if (!disturbance || !recording->library)
        return;
    struct lull_injection injection = {
        .has_network = disturbance->has_network,
        .latency = disturbance->latency,
        .ns_per_byte = disturbance->has_network ? 1e9 / disturbance->bandwidth : 0,
        .seed = disturbance->seed,
        .iterations = disturbance->iterations,
        .text = disturbance->text};
    take_delays(disturbance, &injection, arena);
    take_noise(disturbance, recording->job.rank, &injection, arena);
    if (lull_injection_write(&injection, recording, arena, &err) != LULL_OK &&
        recording->job.rank == 0)
        lull_cli_warn("%s; nothing is injected", err.text);
}
