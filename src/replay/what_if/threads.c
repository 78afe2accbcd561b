/* Threads: executions of parallel regions without what threads lose in them. */
#include "replay/what_if/kind.h"
#include "replay/what_if/shortenings.h"

#include <stdlib.h>

/* Where a stream is. */
struct stream_place {
    uint32_t execution;
    struct lull_stretched bursts; /* of it */
};

struct threads {
    const struct lull_trace *trace;
    uint32_t application, n_streams;
    lull_threads_changes *changes; /* [n_regions + 1] */
    uint32_t *numbers;             /* [n_locations]: among the threads of OpenMP of its process;
                                      LULL_NONE: it is none */
    struct lull_shortenings **shortenings; /* [n_processes] */
    struct stream_place places[];          /* [n_streams] */
};

static bool is_of_executions(const struct lull_what_if_threads *threads)
{
    return threads->change != LULL_THREADS_NO_SERIAL;
}

static bool are_threads_wanted(const struct lull_what_if_options *wanted)
{
    bool any = false;
    for (uint32_t i = 0; i < wanted->n_threads; i++)
        any |= is_of_executions(&wanted->threads[i]);
    return any;
}

static void destroy_threads(void *state)
{
    struct threads *threads = state;
    for (uint32_t p = 0; threads->shortenings && p < threads->trace->n_processes; p++)
        lull_shortenings_destroy(threads->shortenings[p]);
    free(threads->shortenings);
    free(threads->numbers);
    free(threads->changes);
    free(threads);
}

static void find_changes(struct threads *threads, const struct lull_what_if_options *wanted)
{
    const struct lull_trace *trace = threads->trace;
    for (uint32_t i = 0; i < wanted->n_threads; i++) {
        const char *name = wanted->threads[i].region;
        const lull_threads_changes bit = (lull_threads_changes)(1 << wanted->threads[i].change);
        if (!is_of_executions(&wanted->threads[i]))
            continue;
        for (uint32_t r = 0; r <= trace->n_regions; r++)
            if (!name || (r < trace->n_regions && lull_region_is_named(name, &trace->regions[r])))
                threads->changes[r] |= bit;
    }
}

/* Those that the program makes itself are not of OpenMP. */
static bool number_threads(struct threads *threads, uint32_t p)
{
    const struct lull_trace *trace = threads->trace;
    const struct lull_process *process = &trace->processes[p];
    uint32_t n = 0;
    for (uint32_t i = 0; i < process->n_locations; i++) {
        const uint32_t l = process->first_location + i;
        const struct lull_location *location = &trace->locations[l];
        const bool computes =
            location->kind == LULL_LOCATION_THREAD && location->role != LULL_THREAD_FREE;
        threads->numbers[l] =
            computes && process->application == threads->application ? n++ : LULL_NONE;
    }
    if (n == 0)
        return true;
    threads->shortenings[p] = lull_shortenings_create(n, trace->n_regions, threads->changes);
    return threads->shortenings[p] != NULL;
}

static void *create_threads(const struct lull_what_if_scene *scene)
{
    const struct lull_trace *trace = scene->trace;
    struct threads *threads =
        calloc(1, sizeof *threads + scene->n_streams * sizeof *threads->places);
    if (!threads)
        return NULL;
    threads->trace = trace;
    threads->application = scene->wanted->application;
    threads->n_streams = scene->n_streams;
    threads->changes = calloc(trace->n_regions + (size_t)1, sizeof *threads->changes);
    threads->numbers = calloc(trace->n_locations + (size_t)1, sizeof *threads->numbers);
    threads->shortenings =
        calloc(trace->n_processes + (size_t)1, sizeof(struct lull_shortenings *));
    bool fits = threads->changes && threads->numbers && threads->shortenings;
    for (uint32_t p = 0; fits && p < trace->n_processes; p++)
        fits = !lull_in_range(scene->part.range, p) || number_threads(threads, p);
    if (!fits) {
        destroy_threads(threads);
        return NULL;
    }
    find_changes(threads, scene->wanted);
    return threads;
}

/* ---- learning ------------------------------------------------------------------------------ */

static lull_status take_steps_for_threads(void *context, unsigned worker,
                                          const struct lull_steps *steps, struct lull_error *err)
{
    (void)worker;
    const struct threads *threads = context;
    const uint32_t number = threads->numbers[steps->location];
    if (number == LULL_NONE)
        return LULL_OK;
    const uint32_t process = threads->trace->locations[steps->location].process;
    return lull_shortenings_take(threads->shortenings[process], number, steps)
               ? LULL_OK
               : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                           threads->trace->path);
}

/* The ledger is wanted for the sake of blocks without steps: how far a thread has been read. */
static struct lull_consumer consumer(void *state)
{
    return (struct lull_consumer){.context = state,
                                  .wants = LULL_SHORTENINGS_WANT,
                                  .wants_ledger = true,
                                  .steps = take_steps_for_threads};
}

/* ---- a burst ------------------------------------------------------------------------------- */

static int64_t apply_threads(void *state, const struct lull_replay_burst *burst, int64_t ns)
{
    struct threads *threads = state;
    struct stream_place *place = &threads->places[burst->stream];
    if (burst->execution == LULL_NONE)
        return ns;
    if (place->execution != burst->execution) {
        place->execution = burst->execution;
        place->bursts = (struct lull_stretched){0};
    }
    const uint32_t process = threads->trace->locations[burst->location].process;
    const double left = lull_shortenings_left(threads->shortenings[process], burst->execution);
    return left < 1 ? lull_stretch_on(&place->bursts, ns, left, 1) : ns;
}

static void rewind_places(void *state)
{
    struct threads *threads = state;
    for (uint32_t s = 0; s < threads->n_streams; s++)
        threads->places[s] = (struct stream_place){0};
}

const struct lull_what_if_kind lull_kind_threads = {.is_wanted = are_threads_wanted,
                                                    .create = create_threads,
                                                    .destroy = destroy_threads,
                                                    .consumer = consumer,
                                                    .apply = apply_threads,
                                                    .rewind = rewind_places};
