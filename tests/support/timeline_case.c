#include "support/timeline_case.h"
#include "support/test.h"

#include <stdlib.h>

static lull_status take_spans(void *context, unsigned worker, const struct lull_steps *steps,
                              struct lull_error *err)
{
    (void)worker, (void)err;
    struct timeline_case *made = context;
    struct timeline_spans *spans = &made->spans[steps->location];
    for (uint32_t i = 0; i < steps->count; i++) {
        if (steps->steps[i].kind != LULL_STEP_SPAN)
            continue;
        if (spans->count == spans->capacity) {
            spans->capacity = 2 * spans->capacity + 8;
            spans->steps = realloc(spans->steps, spans->capacity * sizeof *spans->steps);
            assert_non_null(spans->steps);
        }
        spans->steps[spans->count++] = steps->steps[i];
    }
    return LULL_OK;
}

void timeline_case_make(const struct lull_trace *trace, const struct lull_timeline_options *options,
                        unsigned workers, struct timeline_case *ret_case)
{
    struct lull_error err = {""};
    *ret_case = (struct timeline_case){.n_locations = trace->n_locations};
    ret_case->spans = calloc(trace->n_locations + (size_t)1, sizeof *ret_case->spans);
    assert_non_null(ret_case->spans);
    struct lull_reading reading = *lull_reading_of(options->reading);
    struct lull_pass_options pass = {.reading = &reading};
    const struct lull_breakdown_options wanted = {.reading = &reading, .source = LULL_FROM_EVENTS};
    struct lull_collector *collector;
    reading.workers = workers;
    const unsigned most = lull_pass_workers(trace, &pass);
    assert_int_equal(lull_collector_create(trace, &wanted, most, &collector, &err), LULL_OK);
    assert_int_equal(lull_timeline_create(trace, options, most, &ret_case->builder, &err), LULL_OK);
    lull_collector_prepare(collector, &pass);
    const struct lull_consumer spans = {
        .context = ret_case, .wants = LULL_STEP_MASK(LULL_STEP_SPAN), .steps = take_spans};
    const struct lull_consumer together[] = {lull_collector_consumer(collector),
                                             lull_timeline_consumer(ret_case->builder), spans};
    assert_int_equal(lull_pass_run(trace, &pass, together, 3, &err), LULL_OK);
    assert_int_equal(lull_collector_result(collector, trace->arena, &ret_case->breakdown, &err),
                     LULL_OK);
    lull_collector_destroy(collector);
    assert_int_equal(lull_timeline_conclude(ret_case->builder, &ret_case->timeline, &err), LULL_OK);
}

void timeline_case_free(struct timeline_case *made)
{
    for (uint32_t l = 0; l < made->n_locations; l++)
        free(made->spans[l].steps);
    free(made->spans);
    lull_timeline_destroy(made->builder);
}

void timeline_case_raster(const struct timeline_case *made, uint32_t location, int64_t from,
                          int64_t to, int64_t *ns)
{
    const struct timeline_spans *spans = &made->spans[location];
    for (size_t i = 0; i < spans->count; i++) {
        const struct lull_step *span = &spans->steps[i];
        const int64_t begin = span->time > from ? span->time : from;
        const int64_t end = span->span.end < to ? span->span.end : to;
        if (begin < end)
            ns[span->activity] += end - begin;
    }
}
