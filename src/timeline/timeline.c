/* The consumer: what each span and message of a pass goes to. */
#include "timeline/builder.h"

#include <stdlib.h>

static lull_status no_memory(const struct lull_timeline_builder *builder, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a timeline of %u locations",
                     builder->timeline.trace->path, builder->timeline.n_leaves);
}

/* ---- the axis ------------------------------------------------------------------------------ */

static void set_axis(struct lull_timeline *timeline, const struct lull_windows *windows)
{
    timeline->begin = 0;
    timeline->end = timeline->trace->duration;
    if (!windows)
        return;
    int64_t begin = INT64_MAX, end = 0;
    for (uint32_t p = 0; p < windows->n_processes; p++) {
        const uint32_t n = windows->counts[p];
        if (n == 0)
            continue;
        begin = windows->intervals[p][0].begin < begin ? windows->intervals[p][0].begin : begin;
        end = windows->intervals[p][n - 1].end > end ? windows->intervals[p][n - 1].end : end;
    }
    timeline->begin = begin < end ? begin : 0;
    timeline->end = begin < end ? end : 0;
}

/* ---- steps --------------------------------------------------------------------------------- */

static bool take_span(struct lull_timeline_builder *builder, uint32_t leaf,
                      const struct lull_step *span, uint64_t *activities)
{
    const struct lull_timeline *timeline = &builder->timeline;
    const int64_t begin = span->time > timeline->begin ? span->time : timeline->begin;
    const int64_t end = span->span.end < timeline->end ? span->span.end : timeline->end;
    if (builder->mail.posts[leaf].n_arrivals > 0)
        lull_timeline_mail_span(&builder->mail, leaf, span);
    if (begin >= end)
        return true;
    *activities |= UINT64_C(1) << span->activity;
    const struct lull_timeline_step step = {end, span->region, span->activity};
    if (span->activity == LULL_USEFUL &&
        !lull_timeline_tally_useful(&builder->tally, leaf, begin, end))
        return false;
    return lull_timeline_grid_add(timeline->grid, leaf, span->activity, begin, end) &&
           lull_timeline_record(&builder->recording, leaf, &step, begin);
}

static bool take_end(struct lull_timeline_builder *builder, uint32_t leaf,
                     const struct lull_channels *channels)
{
    return lull_timeline_grid_end(builder->timeline.grid, leaf) &&
           lull_timeline_record_end(&builder->recording, leaf) &&
           lull_timeline_mail_end(&builder->mail, leaf, channels);
}

static lull_status take_steps(void *context, unsigned worker, const struct lull_steps *steps,
                              struct lull_error *err)
{
    struct lull_timeline_builder *builder = context;
    const uint32_t leaf = builder->layout.leaf_of[steps->location];
    uint64_t activities = 0;
    bool good = true;
    if (leaf == LULL_NONE)
        return LULL_OK;
    for (uint32_t i = 0; i < steps->count && good; i++) {
        const struct lull_step *step = &steps->steps[i];
        switch (step->kind) {
        case LULL_STEP_SPAN:
            good = take_span(builder, leaf, step, &activities);
            break;
        case LULL_STEP_SEND:
        case LULL_STEP_RECV:
            good = lull_timeline_mail_message(&builder->mail, worker, leaf, step);
            break;
        case LULL_STEP_READING:
            good = lull_timeline_tally_add(&builder->tally, &builder->timeline, leaf, step);
            break;
        case LULL_STEP_END:
            good = take_end(builder, leaf, steps->channels);
            break;
        default:
            break;
        }
    }
    if (activities & ~atomic_load_explicit(&builder->activities, memory_order_relaxed))
        atomic_fetch_or_explicit(&builder->activities, activities, memory_order_relaxed);
    return good ? LULL_OK : no_memory(builder, err);
}

/* ---- from begin to end --------------------------------------------------------------------- */

static bool make_room(struct lull_timeline_builder *builder,
                      const struct lull_timeline_options *options, unsigned workers)
{
    struct lull_timeline *timeline = &builder->timeline;
    builder->mail.timeline = timeline;
    builder->mail.layout = &builder->layout;
    builder->mail.windows = options->windows;
    builder->mail.most = options->most_messages;
    return lull_timeline_grid_create(timeline, &builder->layout) &&
           lull_timeline_tally_create(&builder->tally, timeline) &&
           lull_timeline_recording_create(&builder->recording, timeline->n_leaves,
                                          options->most_steps) &&
           lull_timeline_mail_create(&builder->mail, workers);
}

lull_status lull_timeline_create(const struct lull_trace *trace,
                                 const struct lull_timeline_options *options, unsigned workers,
                                 struct lull_timeline_builder **ret_builder, struct lull_error *err)
{
    struct lull_timeline_builder *builder = calloc(1, sizeof *builder);
    if (!builder)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a timeline", trace->path);
    builder->arena = lull_arena_create(NULL);
    builder->timeline.trace = trace;
    builder->timeline.fine = options->fine ? options->fine : LULL_TIMELINE_FINEST;
    set_axis(&builder->timeline, options->windows);
    lull_timeline_lay_out(&builder->timeline, options->application, builder->arena,
                          &builder->layout);
    lull_status status = LULL_OK;
    if (builder->timeline.n_leaves == 0)
        status = lull_fail(err, LULL_ERR_RANGE, "%s: there is no process of application %u",
                           trace->path, options->application);
    else if (!make_room(builder, options, workers))
        status = no_memory(builder, err);
    if (status != LULL_OK) {
        lull_timeline_destroy(builder);
        return status;
    }
    *ret_builder = builder;
    return LULL_OK;
}

struct lull_consumer lull_timeline_consumer(struct lull_timeline_builder *builder)
{
    return (struct lull_consumer){
        .context = builder,
        .wants = LULL_STEP_MASK(LULL_STEP_SPAN) | LULL_STEP_MASK(LULL_STEP_SEND) |
                 LULL_STEP_MASK(LULL_STEP_RECV) | LULL_STEP_MASK(LULL_STEP_READING) |
                 LULL_STEP_MASK(LULL_STEP_END),
        .steps = take_steps};
}

lull_status lull_timeline_conclude(struct lull_timeline_builder *builder,
                                   const struct lull_timeline **ret_timeline,
                                   struct lull_error *err)
{
    struct lull_timeline *timeline = &builder->timeline;
    timeline->activities = atomic_load(&builder->activities);
    lull_timeline_grid_conclude(timeline->grid);
    lull_status status =
        lull_timeline_record_conclude(&builder->recording, timeline, builder->arena, err);
    if (status == LULL_OK)
        status = lull_timeline_mail_conclude(&builder->mail, timeline, builder->arena, err);
    if (status == LULL_OK)
        *ret_timeline = timeline;
    return status;
}

void lull_timeline_destroy(struct lull_timeline_builder *builder)
{
    if (!builder)
        return;
    lull_timeline_grid_destroy(builder->timeline.grid);
    lull_timeline_tally_release(&builder->tally);
    lull_timeline_recording_release(&builder->recording);
    lull_timeline_mail_release(&builder->mail);
    lull_arena_destroy(builder->arena);
    free(builder);
}
