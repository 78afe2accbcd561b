#include "trace/scan/push.h"

#include "base/parallel.h"
#include "trace/format.h"
#include "trace/format/sink.h"
#include "trace/scan/lane.h"
#include "trace/scan/relayed.h"
#include "trace/shared.h"

#include <stdlib.h>

struct lull_sink {
    const struct lull_trace *trace;
    const struct lull_scan_options *options;
    const struct lull_visitor *visitor;
    struct lull_relayed *relayed; /* NULL: nobody else has locations */
    struct lull_nesting *nesting; /* per location */
    bool *begun;
    struct lull_event_buffer scratch;
    double progress; /* reported last */
};

static lull_status visit(const struct lull_visitor *visitor, unsigned worker, uint32_t location,
                         const struct lull_event *events, uint32_t count, struct lull_error *err)
{
    if (count == 0)
        return LULL_OK;
    struct lull_block block = {.location = location, .count = count, .events = events};
    return visitor->block(visitor->context, worker, &block, err);
}

static lull_status sink_begin(struct lull_sink *sink, uint32_t location, struct lull_error *err)
{
    if (sink->begun[location])
        return LULL_OK;
    sink->begun[location] = true;
    if (!sink->visitor->begin)
        return LULL_OK;
    return sink->visitor->begin(sink->visitor->context, 0, location, err);
}

/* A block of a location of this process. */
static lull_status take_sink_block(void *context, const struct lull_block *block,
                                   struct lull_error *err)
{
    struct lull_sink *sink = context;
    const uint32_t location = block->location;
    const struct lull_event *events = block->events;
    uint32_t count = block->count;
    lull_status status = sink_begin(sink, location, err);
    if (status == LULL_OK)
        status = lull_nesting_repair(&sink->nesting[location], sink->trace, location, &events,
                                     &count, &sink->scratch, err);
    if (status == LULL_OK)
        status = visit(sink->visitor, 0, location, events, count, err);
    return status;
}

lull_status lull_sink_block(struct lull_sink *sink, uint32_t location,
                            const struct lull_event *events, uint32_t count, struct lull_error *err)
{
    const struct lull_block block = {.location = location, .count = count, .events = events};
    if (count == 0)
        return LULL_OK;
    if (lull_lane_is_wanted(sink->trace, sink->options, location))
        return take_sink_block(sink, &block, err);
    if (sink->relayed && lull_lane_is_selected(sink->trace, sink->options, location))
        return lull_relayed_put(sink->relayed, sink->trace->locations[location].process, &block,
                                err);
    return LULL_OK;
}

void lull_sink_progress(struct lull_sink *sink, double share)
{
    if (!sink->options->progress || !(share > sink->progress))
        return;
    sink->progress = share < 1 ? share : 1;
    sink->options->progress(sink->options->progress_context, sink->progress);
}

unsigned lull_sink_workers(const struct lull_sink *sink)
{
    return sink->options->workers ? sink->options->workers : lull_worker_count();
}

static lull_status sink_end(struct lull_sink *sink, uint32_t location, struct lull_error *err)
{
    const struct lull_event *events;
    uint32_t count;
    lull_status status = sink_begin(sink, location, err);
    if (status == LULL_OK)
        status = lull_nesting_close_all(&sink->nesting[location], sink->trace, location, &events,
                                        &count, &sink->scratch, err);
    if (status == LULL_OK)
        status = visit(sink->visitor, 0, location, events, count, err);
    if (status == LULL_OK && sink->visitor->end)
        status = sink->visitor->end(sink->visitor->context, 0, location, err);
    return status;
}

/* The sequence, as it is read here, or by the first of several. */
static lull_status walk(struct lull_sink *sink, const struct lull_relay *relay, uint64_t mask,
                        struct lull_error *err)
{
    const struct lull_trace *trace = sink->trace;
    if (relay && relay->index > 0)
        return lull_relayed_get_all(relay, take_sink_block, sink, err);
    if (relay && !(sink->relayed = lull_relayed_create(relay)))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    lull_status status = trace->format->reader->drive(trace, lull_nesting_mask(mask),
                                                      sink->options->unordered, sink, err);
    if (status == LULL_OK && relay)
        status = lull_relayed_end(sink->relayed, err);
    lull_relayed_destroy(sink->relayed);
    return status;
}

lull_status lull_push_scan(const struct lull_trace *trace, const struct lull_scan_options *options,
                           uint64_t mask, const struct lull_visitor *visitor,
                           struct lull_error *err)
{
    const struct lull_relay *relay = options->range.end > 0 ? trace->shared->relay : NULL;
    struct lull_sink sink = {.trace = trace, .options = options, .visitor = visitor};
    if (relay)
        relay->begin(relay->context);
    sink.nesting = calloc(trace->n_locations, sizeof *sink.nesting);
    sink.begun = calloc(trace->n_locations, sizeof *sink.begun);
    lull_status status = LULL_OK;
    if (!sink.nesting || !sink.begun) {
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for %u locations", trace->path,
                           trace->n_locations);
    } else {
        for (uint32_t l = 0; l < trace->n_locations; l++)
            lull_nesting_begin(&sink.nesting[l], mask, options->unordered);
        status = walk(&sink, relay, mask, err);
        for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++)
            if (lull_lane_is_wanted(trace, options, l))
                status = sink_end(&sink, l, err);
        for (uint32_t l = 0; l < trace->n_locations; l++)
            lull_nesting_end(&sink.nesting[l]);
    }
    if (relay)
        relay->end(relay->context);
    free(sink.scratch.events);
    free(sink.begun);
    free(sink.nesting);
    return status;
}
