/* Steps pulled: a cursor on events with an interpreter behind it, whose steps gather in an array
 * that grows to what a block of events makes. */
#include "activity/interpreter.h"
#include "base/array.h"

#include <stdlib.h>

struct lull_step_cursor {
    struct lull_pass_options options;
    struct lull_interpretation *shared;
    struct lull_interpreter *interpreter;
    struct lull_cursor *events;
    struct lull_emitter emitter; /* without consumers: it keeps the steps */
    bool ended;
};

lull_status lull_step_cursor_open(const struct lull_trace *trace, uint32_t location, uint32_t wants,
                                  const struct lull_pass_options *options,
                                  struct lull_step_cursor **ret_cursor, struct lull_error *err)
{
    struct lull_step_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a cursor", trace->path);
    if (options)
        cursor->options = *options;
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
