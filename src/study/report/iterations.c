#include "study/report/iterations.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct lull_iterations {
    struct lull_wave_collector *collector;
    struct lull_consumer inner;
    const struct lull_trace *trace;
    uint8_t *calls_of; /* [n_regions]: enum lull_call */
    atomic_uint_fast64_t calls;
};

lull_status lull_iterations_create(const struct lull_trace *trace, uint32_t application,
                                   struct lull_iterations **ret_iterations, struct lull_error *err)
{
    struct lull_iterations *iterations = calloc(1, sizeof *iterations);
    if (!iterations)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for its iterations",
                         trace->path);
    iterations->trace = trace;
    iterations->calls_of = malloc(trace->n_regions + (size_t)1);
    lull_status status =
        lull_wave_collector_create(trace, application, NULL, &iterations->collector, err);
    if (status == LULL_OK && !iterations->calls_of)
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for its iterations",
                           trace->path);
    if (status != LULL_OK) {
        lull_iterations_destroy(iterations);
        return status;
    }
    for (uint32_t r = 0; r < trace->n_regions; r++)
        iterations->calls_of[r] = (uint8_t)lull_call_of_region(&trace->regions[r]);
    iterations->inner = lull_wave_collector_consumer(iterations->collector);
    *ret_iterations = iterations;
    return LULL_OK;
}

static bool gave_up(const struct lull_iterations *iterations)
{
    return atomic_load_explicit(&iterations->calls, memory_order_relaxed) > LULL_ITERATIONS_MOST;
}

/* A span in MPI is a call that ends: calls themselves are not asked for, because a pass tells them
 * in short for others. One that takes no time at all is none. */
static bool as_call(const struct lull_iterations *iterations, const struct lull_step *span,
                    struct lull_step *call)
{
    if ((span->activity != LULL_MPI_P2P && span->activity != LULL_MPI_COLLECTIVE) ||
        span->region == LULL_NONE)
        return false;
    *call = *span;
    call->kind = LULL_STEP_CALL_END;
    call->op = iterations->calls_of[span->region];
    call->call_began = span->time;
    call->time = span->span.end;
    return true;
}

enum { BATCH = 64 };

static lull_status pass_on(void *context, unsigned worker, const struct lull_steps *steps,
                           struct lull_error *err)
{
    struct lull_iterations *iterations = context;
    struct lull_step batch[BATCH];
    struct lull_steps told = *steps;
    lull_status status = LULL_OK;
    uint64_t calls = 0;
    const uint32_t process = iterations->trace->locations[steps->location].process;
    if (gave_up(iterations) ||
        iterations->trace->processes[process].first_location != steps->location)
        return LULL_OK;
    told.steps = batch;
    told.count = 0;
    for (uint32_t i = 0; i < steps->count && status == LULL_OK; i++) {
        const struct lull_step *step = &steps->steps[i];
        if (step->kind == LULL_STEP_SPAN)
            told.count += as_call(iterations, step, &batch[told.count]);
        else if (iterations->inner.wants >> step->kind & 1)
            batch[told.count++] = *step;
        else
            continue;
        calls += step->kind == LULL_STEP_SPAN;
        if (told.count < BATCH)
            continue;
        status = iterations->inner.steps(iterations->inner.context, worker, &told, err);
        told.count = 0;
    }
    atomic_fetch_add_explicit(&iterations->calls, calls, memory_order_relaxed);
    return status == LULL_OK && told.count > 0
               ? iterations->inner.steps(iterations->inner.context, worker, &told, err)
               : status;
}

struct lull_consumer lull_iterations_consumer(struct lull_iterations *iterations)
{
    return (struct lull_consumer){
        .context = iterations,
        .wants = LULL_STEP_MASK(LULL_STEP_SPAN) | LULL_STEP_MASK(LULL_STEP_SEND) |
                 LULL_STEP_MASK(LULL_STEP_RECV) | LULL_STEP_MASK(LULL_STEP_END),
        .steps = pass_on};
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
    free(iterations->calls_of);
    free(iterations);
}
