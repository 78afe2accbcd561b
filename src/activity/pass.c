/* SPDX-License-Identifier: BSD-3-Clause */
/* A pass: a scan whose visitor feeds an interpreter per location. */
#include "activity/pass.h"

#include "activity/interpreter.h"
#include "base/array.h"
#include "base/parallel.h"

#include <stdlib.h>

/* ==== cursor ================================================================================== */

/* A cursor on events with an interpreter behind it, whose steps gather in an array. It grows to the
 * number of steps that one block of events makes. */

struct lull_step_cursor {
    struct lull_reading reading;
    struct lull_pass_options options;
    struct lull_interpretation *shared;
    struct lull_interpreter *interpreter;
    struct lull_cursor *events;
    struct lull_emitter emitter; /* without consumers: it keeps the steps */
    bool ended;
};

lull_status lull_step_cursor_open(const struct lull_trace *trace, uint32_t location, uint64_t wants,
                                  const struct lull_pass_options *options,
                                  struct lull_step_cursor **ret_cursor, struct lull_error *err)
{
    struct lull_step_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a cursor", trace->path);
    if (options)
        cursor->options = *options;
    cursor->reading = *lull_reading_of(cursor->options.reading);
    cursor->options.reading = &cursor->reading;
    if (!lull_array_reserve(&cursor->emitter.steps, &cursor->emitter.capacity,
                            2 * (size_t)lull_cursor_block(trace), sizeof(struct lull_step))) {
        free(cursor);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a cursor", trace->path);
    }
    const struct lull_consumer wish = {.wants = wants};
    lull_status status =
        lull_interpretation_create(trace, &cursor->options, &wish, 1, &cursor->shared, err);
    if (status == LULL_OK)
        status = lull_interpreter_create(cursor->shared, location, &cursor->interpreter, err);
    if (status == LULL_OK)
        status =
            lull_cursor_open(trace, location, cursor->shared->event_mask, &cursor->events, err);
    if (status != LULL_OK) {
        lull_step_cursor_close(cursor);
        return status;
    }
    *ret_cursor = cursor;
    return LULL_OK;
}

lull_status lull_step_cursor_next(struct lull_step_cursor *cursor, struct lull_steps *ret_steps,
                                  struct lull_error *err)
{
    cursor->emitter.count = 0;
    cursor->emitter.err = err;
    while (cursor->emitter.count == 0 && !cursor->ended) {
        struct lull_block block;
        lull_status status = lull_cursor_next(cursor->events, &block, err);
        if (status != LULL_OK)
            return status;
        cursor->ended = block.count == 0;
        status = cursor->ended ? lull_interpreter_end(cursor->interpreter, &cursor->emitter, err)
                               : lull_interpreter_block(cursor->interpreter, block.events,
                                                        block.count, &cursor->emitter, err);
        if (status != LULL_OK)
            return status;
    }
    *ret_steps = (struct lull_steps){.location = cursor->interpreter->location,
                                     .count = (uint32_t)cursor->emitter.count,
                                     .steps = cursor->emitter.steps,
                                     .ledger = &cursor->interpreter->ledger,
                                     .channels = cursor->interpreter->channels};
    return LULL_OK;
}

void lull_step_cursor_close(struct lull_step_cursor *cursor)
{
    if (!cursor)
        return;
    lull_cursor_close(cursor->events);
    lull_interpreter_destroy(cursor->interpreter);
    lull_interpretation_destroy(cursor->shared);
    free(cursor->emitter.steps);
    free(cursor);
}

/* ==== pass ==================================================================================== */

struct lull_pass {
    const struct lull_trace *trace; /* of the tally */
    struct lull_quirk_tally tally;  /* of quirks that interpreters find */
    const struct lull_consumer *consumers;
    uint32_t n_consumers;
    struct lull_pass_options options;
    struct lull_interpretation *shared;
    struct lull_interpreter **interpreters; /* [n_locations]; NULL: not begun, or not selected */
    struct lull_emitter **emitters;         /* [workers] */
    unsigned workers;
};

lull_status lull_pass_begin(void *context, unsigned worker, uint32_t location,
                            struct lull_error *err)
{
    (void)worker;
    struct lull_pass *pass = context;
    return lull_interpreter_create(pass->shared, location, &pass->interpreters[location], err);
}

static struct lull_emitter *emitter_of(struct lull_pass *pass, unsigned worker,
                                       struct lull_error *err)
{
    struct lull_emitter *emitter = pass->emitters[worker];
    emitter->err = err;
    return emitter;
}

lull_status lull_pass_block(void *context, unsigned worker, const struct lull_block *block,
                            struct lull_error *err)
{
    struct lull_pass *pass = context;
    return lull_interpreter_block(pass->interpreters[block->location], block->events, block->count,
                                  emitter_of(pass, worker, err), err);
}

lull_status lull_pass_end(void *context, unsigned worker, uint32_t location, struct lull_error *err)
{
    struct lull_pass *pass = context;
    lull_status status =
        lull_interpreter_end(pass->interpreters[location], emitter_of(pass, worker, err), err);
    lull_interpreter_destroy(pass->interpreters[location]);
    pass->interpreters[location] = NULL;
    return status;
}

/* ---- what consumers say of the order ------------------------------------------------------- */

static bool is_welcome(void *context, unsigned worker, uint32_t location)
{
    const struct lull_pass *pass = context;
    for (uint32_t i = 0; i < pass->n_consumers; i++) {
        const struct lull_consumer *consumer = &pass->consumers[i];
        if (consumer->welcome && !consumer->welcome(consumer->context, worker, location))
            return false;
    }
    return true;
}

static lull_status rest(void *context, unsigned worker, struct lull_error *err)
{
    const struct lull_pass *pass = context;
    lull_status status = LULL_OK;
    for (uint32_t i = 0; i < pass->n_consumers && status == LULL_OK; i++)
        if (pass->consumers[i].rest)
            status = pass->consumers[i].rest(pass->consumers[i].context, worker, err);
    return status;
}

static lull_status finish(void *context, unsigned worker, struct lull_error *err)
{
    const struct lull_pass *pass = context;
    lull_status status = LULL_OK;
    for (uint32_t i = 0; i < pass->n_consumers && status == LULL_OK; i++)
        if (pass->consumers[i].finish)
            status = pass->consumers[i].finish(pass->consumers[i].context, worker, err);
    return status;
}

static void stop(void *context)
{
    const struct lull_pass *pass = context;
    for (uint32_t i = 0; i < pass->n_consumers; i++)
        if (pass->consumers[i].stop)
            pass->consumers[i].stop(pass->consumers[i].context);
}

/* ---- the pass ------------------------------------------------------------------------------ */

static struct lull_scan_options scan_options(const struct lull_pass_options *options, uint64_t mask)
{
    const struct lull_reading *reading = lull_reading_of(options->reading);
    return (struct lull_scan_options){.mask = mask,
                                      .workers = reading->workers,
                                      .application = reading->application,
                                      .range = reading->range,
                                      .masters_only = options->masters_only,
                                      .progress = reading->progress,
                                      .progress_context = reading->progress_context};
}

unsigned lull_pass_workers(const struct lull_trace *trace, const struct lull_pass_options *options)
{
    const struct lull_scan_options scan = scan_options(options, LULL_MASK_TIME);
    return lull_scan_workers(trace, &scan);
}

unsigned lull_pass_worker_of(const struct lull_trace *trace, struct lull_process_range range,
                             unsigned workers, uint32_t process)
{
    return lull_scan_worker_of(trace, range, workers, process);
}

static lull_status read_all(struct lull_pass *pass, struct lull_error *err)
{
    const struct lull_scan_options scan = scan_options(&pass->options, pass->shared->event_mask);
    const struct lull_visitor visitor = {
        .context = pass, .begin = lull_pass_begin, .block = lull_pass_block, .end = lull_pass_end};
    const struct lull_abreast abreast = {
        .visitor = visitor, .welcome = is_welcome, .rest = rest, .finish = finish, .stop = stop};
    for (uint32_t i = 0; i < pass->n_consumers; i++)
        if (pass->consumers[i].abreast)
            return lull_scan_abreast(pass->trace, &scan, &abreast, err);
    return lull_scan(pass->trace, &scan, &visitor, err);
}

static void destroy_emitter(struct lull_emitter *emitter)
{
    if (!emitter)
        return;
    free(emitter->steps);
    free(emitter->parallel_ns);
    free(emitter);
}

static struct lull_emitter *create_emitter(const struct lull_pass *pass, unsigned worker)
{
    struct lull_emitter *emitter = lull_alloc_apart(sizeof *emitter);
    if (!emitter)
        return NULL;
    *emitter = (struct lull_emitter){.consumers = pass->consumers,
                                     .n_consumers = pass->n_consumers,
                                     .worker = worker,
                                     .capacity = LULL_EMITTER_STEPS};
    emitter->steps = lull_alloc_apart(LULL_EMITTER_STEPS * sizeof(struct lull_step));
    if (pass->shared->wants_ledger)
        emitter->parallel_ns = lull_alloc_apart(LULL_EMITTER_STEPS * sizeof *emitter->parallel_ns);
    if (emitter->steps && (emitter->parallel_ns || !pass->shared->wants_ledger))
        return emitter;
    destroy_emitter(emitter);
    return NULL;
}

static bool make_room(struct lull_pass *pass)
{
    pass->interpreters =
        calloc(pass->trace->n_locations + (size_t)1, sizeof(struct lull_interpreter *));
    pass->emitters = calloc(pass->workers, sizeof(struct lull_emitter *));
    for (unsigned w = 0; pass->emitters && w < pass->workers; w++)
        if (!(pass->emitters[w] = create_emitter(pass, w)))
            return false;
    return pass->interpreters && pass->emitters;
}

lull_status lull_pass_create(const struct lull_trace *trace,
                             const struct lull_pass_options *options, unsigned workers,
                             const struct lull_consumer *consumers, uint32_t n_consumers,
                             struct lull_pass **ret_pass, struct lull_error *err)
{
    struct lull_pass *pass = calloc(1, sizeof *pass);
    if (!pass)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a pass", trace->path);
    lull_quirk_tally_begin(&pass->tally, trace);
    pass->trace = &pass->tally.trace;
    pass->options = *options;
    pass->options.reading = lull_reading_of(options->reading);
    pass->consumers = consumers;
    pass->n_consumers = n_consumers;
    pass->workers = workers;
    lull_status status = lull_interpretation_create(pass->trace, &pass->options, consumers,
                                                    n_consumers, &pass->shared, err);
    if (status == LULL_OK && !make_room(pass))
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for %u locations",
                           trace->path, trace->n_locations);
    if (status != LULL_OK) {
        lull_pass_destroy(pass);
        return status;
    }
    *ret_pass = pass;
    return LULL_OK;
}

void lull_pass_destroy(struct lull_pass *pass)
{
    if (!pass)
        return;
    for (uint32_t l = 0; pass->interpreters && l < pass->trace->n_locations; l++)
        lull_interpreter_destroy(pass->interpreters[l]);
    for (unsigned w = 0; pass->emitters && w < pass->workers; w++)
        destroy_emitter(pass->emitters[w]);
    free(pass->interpreters);
    free(pass->emitters);
    lull_interpretation_destroy(pass->shared);
    free(pass);
}

lull_status lull_pass_run(const struct lull_trace *trace, const struct lull_pass_options *options,
                          const struct lull_consumer *consumers, uint32_t n_consumers,
                          struct lull_error *err)
{
    struct lull_pass *pass;
    lull_status status = lull_pass_create(trace, options, lull_pass_workers(trace, options),
                                          consumers, n_consumers, &pass, err);
    if (status != LULL_OK)
        return status;
    status = read_all(pass, err);
    lull_pass_destroy(pass);
    return status;
}
