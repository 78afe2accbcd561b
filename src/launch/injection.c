#include "launch/injection.h"

#include "tape/inject.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Amounts of noise that a process has for its computations before they come again: 512 KiB. */
enum { DRAWS = 65536 };

struct injection {
    bool has_network;
    double latency, ns_per_byte;
    uint64_t seed;
    const struct lull_tape_delay *delays;
    uint32_t n_delays;
    const int64_t *draws; /* noise of this process: tape/inject.h */
    uint32_t n_draws;
    double per;
    const struct lull_tape_detour *detours;
    uint32_t n_detours;
    int64_t period, phase;
    const char *iterations; /* a function whose calls begin them; NULL: marks do */
    const char *text;       /* what the user wrote */
};

/* ---- as numbers ------------------------------------------------------------------------------ */

static void take_delays(const struct lull_disturbance *disturbance, struct injection *injection,
                        struct lull_arena *arena)
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
                       struct injection *injection, struct lull_arena *arena)
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

/* ---- the file -------------------------------------------------------------------------------- */

static lull_status refuse(const char *path, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_IO, "%s: cannot be written: %s", path, strerror(errno));
}

static bool put(FILE *file, const void *what, size_t size, size_t count)
{
    return count == 0 || fwrite(what, size, count, file) == count;
}

static bool put_all(FILE *file, const struct injection *injection, uint32_t rank)
{
    const char *name = injection->iterations ? injection->iterations : "";
    struct lull_tape_inject header = {.version = LULL_TAPE_VERSION,
                                      .byte_order = LULL_TAPE_BYTE_ORDER,
                                      .rank = rank,
                                      .latency = injection->has_network ? injection->latency : -1,
                                      .ns_per_byte =
                                          injection->has_network ? injection->ns_per_byte : 0,
                                      .n_delays = injection->n_delays,
                                      .n_draws = injection->n_draws,
                                      .n_detours = injection->n_detours,
                                      .name_size = (uint32_t)strlen(name) + 1,
                                      .text_size = (uint32_t)strlen(injection->text) + 1,
                                      .per = injection->per,
                                      .period = injection->period,
                                      .phase = injection->phase,
                                      .seed = injection->seed};
    memcpy(header.magic, LULL_TAPE_INJECT_MAGIC, sizeof header.magic);
    header.size = (uint32_t)(sizeof header + header.n_delays * sizeof *injection->delays +
                             header.n_draws * sizeof *injection->draws +
                             header.n_detours * sizeof *injection->detours + header.name_size +
                             header.text_size);
    return put(file, &header, sizeof header, 1) &&
           put(file, injection->delays, sizeof *injection->delays, header.n_delays) &&
           put(file, injection->draws, sizeof *injection->draws, header.n_draws) &&
           put(file, injection->detours, sizeof *injection->detours, header.n_detours) &&
           put(file, name, 1, header.name_size) && put(file, injection->text, 1, header.text_size);
}

lull_status lull_injection_write(const struct lull_disturbance *disturbance,
                                 const struct lull_recording *recording, struct lull_arena *arena,
                                 struct lull_error *err)
{
    unsetenv("LULL_RECORD_INJECT");
    if (!disturbance || !recording->library)
        return LULL_OK;
    struct injection injection = {.has_network = disturbance->has_network,
                                  .latency = disturbance->latency,
                                  .ns_per_byte =
                                      disturbance->has_network ? 1e9 / disturbance->bandwidth : 0,
                                  .seed = disturbance->seed,
                                  .iterations = disturbance->iterations,
                                  .text = disturbance->text};
    take_delays(disturbance, &injection, arena);
    take_noise(disturbance, recording->job.rank, &injection, arena);
    const char *folder = lull_arena_printf(arena, "%s/" LULL_TAPE_INJECT_NAME, recording->run);
    const char *path =
        lull_arena_printf(arena, "%s/%u." LULL_TAPE_INJECT_SETTINGS, folder, recording->job.rank);
    const char *fresh = lull_arena_printf(arena, "%s.%ld", path, (long)getpid());
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return refuse(folder, err);
    FILE *file = fopen(fresh, "wbe");
    if (!file)
        return refuse(fresh, err);
    bool good = put_all(file, &injection, recording->job.rank);
    good &= fclose(file) == 0;
    if (!good || rename(fresh, path) != 0) {
        lull_status status = refuse(fresh, err);
        unlink(fresh);
        return status;
    }
    setenv("LULL_RECORD_INJECT", path, 1);
    return LULL_OK;
}
