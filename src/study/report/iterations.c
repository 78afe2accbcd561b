#include "study/report/iterations.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct lull_iterations {
    struct lull_wave_collector *collector;
    struct lull_consumer inner;
    uint8_t counted; /* enum lull_step_kind */
    const struct lull_trace *trace;
    atomic_uint_fast64_t steps; /* of masters, so far: spans, or ends of calls */
};

lull_status lull_iterations_create(const struct lull_trace *trace, uint32_t application,
                                   bool calls_in_full, struct lull_iterations **ret_iterations,
                                   struct lull_error *err)
{
    struct lull_iterations *iterations = calloc(1, sizeof *iterations);
    if (!iterations)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for its iterations",
                         trace->path);
    iterations->trace = trace;
    iterations->counted = calls_in_full ? LULL_STEP_CALL_END : LULL_STEP_SPAN;
    lull_status status =
        lull_wave_collector_create(trace, application, NULL, &iterations->collector, err);
    if (status == LULL_OK && calls_in_full)
        iterations->inner = lull_wave_collector_consumer(iterations->collector);
    else if (status == LULL_OK)
        status =
            lull_wave_collector_consumer_of_spans(iterations->collector, &iterations->inner, err);
    if (status != LULL_OK) {
        lull_iterations_destroy(iterations);
        return status;
    }
    *ret_iterations = iterations;
    return LULL_OK;
}

static bool gave_up(const struct lull_iterations *iterations)
{
    return atomic_load_explicit(&iterations->steps, memory_order_relaxed) > LULL_ITERATIONS_MOST;
}

static lull_status pass_on(void *context, unsigned worker, const struct lull_steps *steps,
                           struct lull_error *err)
{
    struct lull_iterations *iterations = context;
    const uint32_t process = iterations->trace->locations[steps->location].process;
    uint64_t seen = 0;
    if (gave_up(iterations) ||
        iterations->trace->processes[process].first_location != steps->location)
        return LULL_OK;
    for (uint32_t i = 0; i < steps->count; i++)
        seen += steps->steps[i].kind == iterations->counted;
    atomic_fetch_add_explicit(&iterations->steps, seen, memory_order_relaxed);
    return iterations->inner.steps(iterations->inner.context, worker, steps, err);
}

struct lull_consumer lull_iterations_consumer(struct lull_iterations *iterations)
{
    return (struct lull_consumer){
        .context = iterations, .wants = iterations->inner.wants, .steps = pass_on};
}

/* Whether to give up depends on the steps of all members. */
lull_status lull_iterations_gather(struct lull_iterations *iterations,
                                   const struct lull_division *division, struct lull_error *err)
{
    if (!division)
        return LULL_OK;
    int64_t steps = (int64_t)atomic_load(&iterations->steps);
    lull_status status = lull_team_sum_to_all(division->team, &steps, 1, err);
    status = lull_team_agree(division->team, status, err);
    if (status != LULL_OK)
        return status;
    atomic_store(&iterations->steps, (uint64_t)steps);
    if (gave_up(iterations))
        return LULL_OK;
    lull_wave_collector_share_processes(iterations->collector, division);
    return lull_wave_collector_gather(iterations->collector, err);
}

const struct lull_wave_field *lull_iterations_conclude(struct lull_iterations *iterations,
                                                       struct lull_arena *arena,
                                                       const char **ret_absent)
{
    const struct lull_wave_field *field;
    struct lull_error err = {""};
    if (gave_up(iterations)) {
        *ret_absent = lull_arena_printf(
            arena, "Iterations are looked for in runs whose masters have up to %llu steps.",
            (unsigned long long)LULL_ITERATIONS_MOST);
        return NULL;
    }
    if (lull_wave_collector_conclude(iterations->collector, &field, &err) == LULL_OK)
        return field;
    const char *text = err.text;
    const size_t length = strlen(iterations->trace->path);
    if (strncmp(text, iterations->trace->path, length) == 0 && strncmp(text + length, ": ", 2) == 0)
        text += length + 2;
    *ret_absent = lull_arena_printf(arena, "No iterations were found: the run %s.", text);
    return NULL;
}

void lull_iterations_destroy(struct lull_iterations *iterations)
{
    if (!iterations)
        return;
    lull_wave_collector_destroy(iterations->collector);
    free(iterations);
}
