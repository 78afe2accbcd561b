/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of what-ifs that need not learn from the run: the time in regions is multiplied by a
 * factor, and the time of serial parts is divided by the number of threads. */
#include "replay/what_if/what_if.h"

#include <stdlib.h>

/* A state that is a copy of the scene. */
static void *copy_scene(const struct lull_what_if_scene *scene)
{
    struct lull_what_if_scene *copy = malloc(sizeof *copy);
    if (copy)
        *copy = *scene;
    return copy;
}

/* ---- regions ------------------------------------------------------------------------------- */

static bool are_factors_wanted(const struct lull_what_if_options *wanted)
{
    return wanted->n_regions > 0;
}

static int64_t apply_factor(void *state, const struct lull_replay_burst *burst, int64_t ns)
{
    const struct lull_what_if_scene *scene = state;
    return burst->mark ? llround((double)ns * scene->treatments->treatments[burst->mark].factor)
                       : ns;
}

const struct lull_what_if_kind lull_kind_factors = {
    .is_wanted = are_factors_wanted, .create = copy_scene, .destroy = free, .apply = apply_factor};

/* ---- serial parts -------------------------------------------------------------------------- */

struct serial {
    const struct lull_treatments *treatments;
    uint32_t threads[]; /* [n_locations]: of a master, how many threads its process has for
                           computing; 0 for all others */
};

static bool is_serial_wanted(const struct lull_what_if_options *wanted)
{
    bool any = false;
    for (uint32_t i = 0; i < wanted->n_threads; i++)
        any |= wanted->threads[i].change == LULL_THREADS_NO_SERIAL;
    return any;
}

/* Threads that the program makes itself are not counted: they compute beside the master already. */
static void *create_serial(const struct lull_what_if_scene *scene)
{
    const struct lull_trace *trace = scene->trace;
    struct serial *serial =
        calloc(1, sizeof *serial + (trace->n_locations + (size_t)1) * sizeof *serial->threads);
    if (!serial)
        return NULL;
    serial->treatments = scene->treatments;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct lull_process *process = &trace->processes[p];
        const uint32_t first = process->first_location;
        for (uint32_t l = first; process->n_threads && l < first + process->n_locations; l++)
            serial->threads[first] += trace->locations[l].kind == LULL_LOCATION_THREAD &&
                                      trace->locations[l].role != LULL_THREAD_FREE;
    }
    return serial;
}

static int64_t apply_serial(void *state, const struct lull_replay_burst *burst, int64_t ns)
{
    const struct serial *serial = state;
    const uint32_t threads = serial->threads[burst->location];
    const double share = serial->treatments->treatments[burst->mark].serial;
    if (threads < 2 || burst->execution != LULL_NONE || !(share > 0))
        return ns;
    return llround((1 - share) * (double)ns + share * (double)ns / threads);
}

const struct lull_what_if_kind lull_kind_serial = {
    .is_wanted = is_serial_wanted, .create = create_serial, .destroy = free, .apply = apply_serial};
