/* The kinds that are wanted, one after the other: each learns from bursts as those before make
 * them.
 */
#include "replay/what_if/what_if.h"

#include "replay/program/bursts.h"
#include "replay/what_if/kind.h"

#include <stdlib.h>

/* In the order in which they apply. */
static const struct lull_what_if_kind *const kinds[] = {
    &lull_kind_threads, &lull_kind_serial, &lull_kind_noise,
    &lull_kind_factors, &lull_kind_cuts,   &lull_kind_balance,
};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct lull_what_if {
    struct lull_arena *arena;
    struct lull_what_if_scene scene;
    struct lull_treatments *treatments;
    const struct lull_what_if_kind *kinds[KINDS]; /* that are wanted ... */
    void *states[KINDS];                          /* ... and what they know */
    unsigned n;
    unsigned stage;             /* the kind that learns next; n: all have learned */
    bool rides;                 /* it takes part in a pass of others */
    struct lull_bursts *bursts; /* of a pass; NULL: of none */
    bool no_memory;
    unsigned workers; /* of its own passes */
};

lull_status lull_what_if_no_memory(const struct lull_trace *trace, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
}

static lull_status no_memory_for_what_if(const struct lull_what_if *w, struct lull_error *err)
{
    return lull_what_if_no_memory(w->scene.trace, err);
}

/* ---- a burst ------------------------------------------------------------------------------- */

/* As the first `n` kinds make it. */
static int64_t changed(const struct lull_what_if *w, const struct lull_replay_burst *burst,
                       unsigned n)
{
    int64_t ns = burst->ns;
    for (unsigned i = 0; i < n; i++)
        ns = w->kinds[i]->apply(w->states[i], burst, ns);
    return ns;
}

static bool learn_burst(void *context, const struct lull_replay_burst *burst)
{
    struct lull_what_if *w = context;
    if (burst->fixed)
        return true;
    return w->kinds[w->stage]->learn(w->states[w->stage], burst, changed(w, burst, w->stage));
}

static int64_t find_length(void *context, const struct lull_replay_burst *burst)
{
    struct lull_what_if *w = context;
    if (w->stage == w->n)
        return burst->fixed ? burst->ns : changed(w, burst, w->n);
    w->no_memory |= !learn_burst(w, burst);
    return burst->ns;
}

void lull_what_if_rewind(struct lull_what_if *w)
{
    for (unsigned i = 0; i < w->n; i++)
        if (w->kinds[i]->rewind)
            w->kinds[i]->rewind(w->states[i]);
}

/* ---- learning ------------------------------------------------------------------------------ */

static bool learns_anything(const struct lull_what_if_kind *kind)
{
    return kind->learn || kind->consumer;
}

static void begin_stage(struct lull_what_if *w)
{
    while (w->stage < w->n && !learns_anything(w->kinds[w->stage]))
        w->stage++;
    lull_what_if_rewind(w);
}

/* `status`: of what this member has read for it. */
static lull_status end_stage(struct lull_what_if *w, lull_status status, struct lull_error *err)
{
    const struct lull_what_if_kind *kind = w->kinds[w->stage];
    lull_bursts_destroy(w->bursts);
    w->bursts = NULL;
    if (status == LULL_OK && kind->conclude)
        status = kind->conclude(w->states[w->stage], err);
    status = lull_team_agree(w->scene.part.team, status, err);
    if (status != LULL_OK)
        return status;
    w->stage++;
    begin_stage(w);
    return LULL_OK;
}

/* Reads the whole program, whose streams are not those of the masters alone, or do not begin when
 * they do. */
static lull_status read_program(const struct lull_what_if *w,
                                const struct lull_replay_options *options, struct lull_error *err)
{
    struct lull_program *program;
    struct lull_op ops[64];
    uint32_t count;
    lull_status status = lull_replay_open(w->scene.trace, options, &program, err);
    if (status != LULL_OK)
        return status;
    for (uint32_t s = 0; s < program->n_streams && status == LULL_OK; s++) {
        count = lull_in_range(options->range, lull_replay_process(program, s));
        while (status == LULL_OK && count > 0)
            status = program->class->next(program, s, ops, 64, &count, err);
    }
    lull_program_close(program);
    return status == LULL_OK && w->no_memory ? no_memory_for_what_if(w, err) : status;
}

lull_status lull_what_if_consumer(struct lull_what_if *w, struct lull_consumer *ret_consumer,
                                  struct lull_error *err)
{
    const struct lull_what_if_kind *kind = w->kinds[w->stage];
    const struct lull_bursts_options options = {.application = w->scene.wanted->application,
                                                .pieces = true,
                                                .take = learn_burst,
                                                .context = w};
    w->rides = true;
    if (kind->consumer) {
        *ret_consumer = kind->consumer(w->states[w->stage]);
        return LULL_OK;
    }
    lull_status status = lull_bursts_create(w->scene.trace, &options, &w->bursts, err);
    if (status == LULL_OK)
        *ret_consumer = lull_bursts_consumer(w->bursts);
    return status;
}

/* A pass of its own. */
static lull_status read_steps(struct lull_what_if *w, const struct lull_replay_options *replay,
                              struct lull_error *err)
{
    const struct lull_pass_options options = {.application = w->scene.wanted->application,
                                              .range = w->scene.part.range,
                                              .masters_only = !lull_what_if_needs_all(w),
                                              .workers = w->workers,
                                              .marks = w->treatments->marks,
                                              .windows = replay->windows};
    struct lull_consumer consumer;
    lull_status status = lull_what_if_consumer(w, &consumer, err);
    return status == LULL_OK ? lull_pass_run(w->scene.trace, &options, &consumer, 1, err) : status;
}

/* Whether the streams of the replay are those of the masters, and begin when they do. */
static bool are_masters(const struct lull_what_if *w, const struct lull_replay_options *options)
{
    bool masters = !options->callers;
    for (uint32_t p = 0; masters && p < w->scene.trace->n_processes; p++)
        masters = lull_survey_shift(options->survey, p) == 0;
    for (uint32_t l = 0; masters && l < w->scene.trace->n_locations; l++)
        masters = !lull_survey_meets(options->survey, l);
    return masters;
}

/* What was learned in a pass of others is of no use for streams that are others. */
static lull_status end_ride(struct lull_what_if *w, bool masters, struct lull_error *err)
{
    const struct lull_what_if_kind *kind = w->kinds[w->stage];
    const bool useful = masters || kind->consumer;
    w->rides = false;
    if (useful)
        return end_stage(w, LULL_OK, err);
    lull_bursts_destroy(w->bursts);
    w->bursts = NULL;
    kind->forget(w->states[w->stage]);
    lull_what_if_rewind(w);
    return LULL_OK;
}

static lull_status learn_all_kinds(struct lull_what_if *w,
                                   const struct lull_replay_options *options,
                                   struct lull_error *err)
{
    const bool masters = are_masters(w, options);
    lull_status status = w->rides ? end_ride(w, masters, err) : LULL_OK;
    while (w->stage < w->n && status == LULL_OK) {
        const bool steps = masters || w->kinds[w->stage]->consumer;
        status = steps ? read_steps(w, options, err) : read_program(w, options, err);
        status = end_stage(w, status, err);
    }
    return status;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static lull_status create_kinds(struct lull_what_if *w, struct lull_error *err)
{
    for (unsigned i = 0; i < KINDS; i++) {
        if (!kinds[i]->is_wanted(w->scene.wanted))
            continue;
        w->kinds[w->n] = kinds[i];
        w->states[w->n] = kinds[i]->create(&w->scene);
        if (!w->states[w->n])
            return no_memory_for_what_if(w, err);
        w->n++;
    }
    begin_stage(w);
    return LULL_OK;
}

lull_status lull_what_if_create(const struct lull_trace *trace,
                                const struct lull_what_if_options *wanted,
                                const struct lull_what_if_part *part,
                                struct lull_what_if **ret_what_if, struct lull_error *err)
{
    lull_status status = lull_what_if_check(trace, wanted, err);
    if (status != LULL_OK)
        return status;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_what_if *w = lull_arena_zero(arena, 1, sizeof *w);
    w->arena = arena;
    status = lull_treatments_find(trace, wanted, arena, &w->treatments, err);
    w->scene = (struct lull_what_if_scene){.trace = trace,
                                           .wanted = wanted,
                                           .treatments = w->treatments,
                                           .n_streams = trace->n_locations,
                                           .part = part ? *part : (struct lull_what_if_part){0}};
    if (status == LULL_OK)
        status = create_kinds(w, err);
    if (status == LULL_OK)
        *ret_what_if = w;
    else
        lull_what_if_destroy(w);
    return status;
}

const uint8_t *lull_what_if_marks(const struct lull_what_if *w)
{
    return w->treatments->marks;
}

bool lull_what_if_learns(const struct lull_what_if *w)
{
    return w->stage < w->n;
}

bool lull_what_if_needs_all(const struct lull_what_if *w)
{
    return w->stage < w->n && w->kinds[w->stage]->consumer;
}

lull_status lull_what_if_conclude(struct lull_what_if *w, struct lull_replay_options *options,
                                  struct lull_error *err)
{
    struct lull_survey *survey = NULL;
    options->pieces = true; /* what is found must not depend on what else is wanted */
    options->marks = w->treatments->marks;
    options->length = find_length;
    options->context = w;
    options->eager_sends = w->scene.wanted->eager;
    struct lull_replay_options read = *options;
    lull_status status = LULL_OK;
    if (lull_what_if_learns(w) && !options->survey) {
        status = lull_survey_take(w->scene.trace, options->application, options->callers != NULL,
                                  &survey, err);
        read.survey = survey;
    }
    if (status == LULL_OK && lull_what_if_learns(w))
        status = learn_all_kinds(w, &read, err);
    lull_survey_destroy(survey);
    return status;
}

void lull_what_if_limit(struct lull_what_if *w, unsigned workers)
{
    w->workers = workers;
}

void lull_what_if_destroy(struct lull_what_if *w)
{
    if (!w)
        return;
    lull_bursts_destroy(w->bursts);
    for (unsigned i = 0; i < w->n; i++)
        w->kinds[i]->destroy(w->states[i]);
    lull_arena_destroy(w->arena);
}
