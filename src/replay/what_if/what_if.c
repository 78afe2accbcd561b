#include "replay/what_if/what_if.h"

#include "base/array.h"
#include "base/hash.h"
#include "replay/program/bursts.h"
#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 64, BALANCED = LULL_WHAT_IF_REGIONS + 1 };

enum stage { LEARN_NOISE, LEARN_BALANCE, APPLY };

/* The bursts at one place: a sample that is thinned out, then its median. */
struct place {
    uint32_t count, step, seen;
    double median;
    double times[SAMPLES];
};

/* The places of one stream. */
struct places {
    struct lull_hash numbers; /* of a struct key */
    struct place **items;
    size_t count, capacity;
};

struct key {
    uint32_t region, ordinal;
};

/* Of one stream, by phase. */
struct work {
    int64_t *ns;
    size_t count, capacity;
    uint32_t phase; /* that of the last burst ... */
    int64_t before; /* ... what it computed in it so far, as measured ... */
    int64_t after;  /* ... and balanced */
};

struct lull_what_if {
    const struct lull_trace *trace;
    struct lull_arena *arena;
    const struct lull_what_if_options *wanted;
    enum stage stage;
    uint8_t *marks;
    double factors[BALANCED + 1]; /* by mark; 0 is 1 */
    bool in_balance[BALANCED + 1];
    struct places *places; /* [n_streams] */
    struct work *works;    /* [n_streams] */
    uint32_t n_streams;
    double *mean; /* [phases] */
    size_t n_phases;
    struct lull_bursts *bursts; /* of the pass in which it takes part; NULL: in none */
    bool no_memory;
};

/* ---- places -------------------------------------------------------------------------------- */

static struct place *find_place(const struct places *places, const struct lull_replay_burst *burst)
{
    const struct key key = {burst->region, burst->ordinal};
    const uint64_t *number = lull_hash_find(&places->numbers, &key, sizeof key);
    return number ? places->items[*number] : NULL;
}

static struct place *add_place(struct places *places, const struct lull_replay_burst *burst)
{
    const struct key key = {burst->region, burst->ordinal};
    struct place *place = calloc(1, sizeof *place);
    if (!place ||
        !lull_array_reserve(&places->items, &places->capacity, places->count + 1,
                            sizeof(struct place *)) ||
        !lull_hash_add(&places->numbers, &key, sizeof key, places->count, NULL)) {
        free(place);
        return NULL;
    }
    place->step = 1;
    places->items[places->count++] = place;
    return place;
}

static bool learn_place(struct lull_what_if *w, const struct lull_replay_burst *burst)
{
    struct places *places = &w->places[burst->stream];
    struct place *p = find_place(places, burst);
    if (!p)
        p = add_place(places, burst);
    if (!p)
        return false;
    if (p->seen++ % p->step != 0)
        return true;
    if (p->count == SAMPLES) {
        for (uint32_t i = 0; i < SAMPLES / 2; i++)
            p->times[i] = p->times[2 * i];
        p->count = SAMPLES / 2;
        p->step *= 2;
    }
    p->times[p->count++] = (double)burst->ns;
    return true;
}

static void find_medians(struct lull_what_if *w)
{
    for (uint32_t s = 0; s < w->n_streams; s++)
        for (size_t i = 0; i < w->places[s].count; i++) {
            struct place *p = w->places[s].items[i];
            lull_sort(p->times, p->count);
            p->median = lull_median(p->times, p->count);
        }
}

static int64_t without_noise(const struct lull_what_if *w, const struct lull_replay_burst *burst,
                             int64_t ns)
{
    const struct place *p = find_place(&w->places[burst->stream], burst);
    return p && p->median < (double)ns ? llround(p->median) : ns;
}

/* ---- balance ------------------------------------------------------------------------------- */

static bool learn_work(struct lull_what_if *w, const struct lull_replay_burst *burst, int64_t ns)
{
    struct work *work = &w->works[burst->stream];
    if (!lull_array_reserve(&work->ns, &work->capacity, burst->phase + (size_t)1, sizeof *work->ns))
        return false;
    for (; work->count <= burst->phase; work->count++)
        work->ns[work->count] = 0;
    work->ns[burst->phase] += ns;
    return true;
}

static bool find_means(struct lull_what_if *w)
{
    for (uint32_t s = 0; s < w->n_streams; s++)
        w->n_phases = w->works[s].count > w->n_phases ? w->works[s].count : w->n_phases;
    w->mean = calloc(w->n_phases + 1, sizeof *w->mean);
    if (!w->mean)
        return false;
    for (size_t phase = 0; phase < w->n_phases; phase++) {
        double sum = 0;
        uint32_t working = 0;
        for (uint32_t s = 0; s < w->n_streams; s++)
            if (phase < w->works[s].count && w->works[s].ns[phase] > 0) {
                sum += (double)w->works[s].ns[phase];
                working++;
            }
        w->mean[phase] = working ? sum / working : 0;
    }
    return true;
}

/* Rounds the sums of a phase, not each burst, so that the total of a phase is the mean. */
static int64_t balanced(struct lull_what_if *w, const struct lull_replay_burst *burst, int64_t ns)
{
    struct work *work = &w->works[burst->stream];
    if (burst->phase >= work->count || work->ns[burst->phase] <= 0)
        return ns;
    if (burst->phase != work->phase) {
        work->phase = burst->phase;
        work->before = work->after = 0;
    }
    work->before += ns;
    int64_t after =
        llround((double)work->before * w->mean[burst->phase] / (double)work->ns[burst->phase]);
    int64_t length = after - work->after;
    work->after = after;
    return length > 0 ? length : 0;
}

/* ---- a burst ------------------------------------------------------------------------------- */

/* Without noise and with the factor of its region. */
static int64_t changed(const struct lull_what_if *w, const struct lull_replay_burst *burst)
{
    int64_t ns = burst->ns;
    if (w->wanted->no_noise)
        ns = without_noise(w, burst, ns);
    return burst->mark ? llround((double)ns * w->factors[burst->mark]) : ns;
}

static bool learn_burst(void *context, const struct lull_replay_burst *burst)
{
    struct lull_what_if *w = context;
    if (burst->fixed)
        return true;
    if (w->stage == LEARN_NOISE)
        return learn_place(w, burst);
    return !w->in_balance[burst->mark] || learn_work(w, burst, changed(w, burst));
}

static int64_t find_length(void *context, const struct lull_replay_burst *burst)
{
    struct lull_what_if *w = context;
    if (w->stage != APPLY) {
        w->no_memory |= !learn_burst(w, burst);
        return burst->ns;
    }
    if (burst->fixed)
        return burst->ns;
    int64_t ns = changed(w, burst);
    return w->wanted->balance && w->in_balance[burst->mark] ? balanced(w, burst, ns) : ns;
}

/* ---- regions ------------------------------------------------------------------------------- */

static lull_status mark_region(const struct lull_trace *trace, struct lull_what_if *w,
                               const char *name, uint8_t mark, struct lull_error *err)
{
    bool found = false;
    for (uint32_t i = 0; i < trace->n_regions; i++) {
        if (strcmp(trace->regions[i].name, name) != 0)
            continue;
        found = true;
        if (!w->marks[i])
            w->marks[i] = mark;
        else
            w->in_balance[w->marks[i]] |= mark == BALANCED;
    }
    return found ? LULL_OK
                 : lull_fail(err, LULL_ERR_RANGE, "%s: has no region '%s'", trace->path, name);
}

static lull_status mark_regions(const struct lull_trace *trace, struct lull_what_if *w,
                                struct lull_error *err)
{
    const struct lull_what_if_options *wanted = w->wanted;
    w->marks = lull_arena_try(w->arena, trace->n_regions + (size_t)1, 1);
    if (!w->marks)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    for (int mark = 0; mark <= BALANCED; mark++) {
        w->factors[mark] = 1;
        w->in_balance[mark] = !wanted->balanced;
    }
    w->in_balance[BALANCED] = true;
    for (uint32_t i = 0; i < wanted->n_regions; i++) {
        w->factors[i + 1] = wanted->factors[i];
        lull_status status = mark_region(trace, w, wanted->regions[i], (uint8_t)(i + 1), err);
        if (status != LULL_OK)
            return status;
    }
    return wanted->balanced ? mark_region(trace, w, wanted->balanced, BALANCED, err) : LULL_OK;
}

/* ---- learning ------------------------------------------------------------------------------ */

/* Reads the whole program, whose streams are not those of the masters alone, or do not begin when
 * they do. */
static lull_status read_program(const struct lull_what_if *w,
                                const struct lull_replay_options *options, struct lull_error *err)
{
    struct lull_program *program;
    struct lull_op ops[64];
    uint32_t count = 1;
    lull_status status = lull_replay_open(w->trace, options, &program, err);
    if (status != LULL_OK)
        return status;
    for (uint32_t s = 0; s < program->n_streams && status == LULL_OK; s++)
        do
            status = program->class->next(program, s, ops, 64, &count, err);
        while (status == LULL_OK && count > 0);
    lull_program_close(program);
    if (status == LULL_OK && w->no_memory)
        status =
            lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", w->trace->path);
    return status;
}

static void end_stage(struct lull_what_if *w)
{
    lull_bursts_destroy(w->bursts);
    w->bursts = NULL;
    if (w->stage == LEARN_NOISE)
        find_medians(w);
    else if (!find_means(w))
        w->no_memory = true;
    w->stage = w->stage == LEARN_NOISE && w->wanted->balance ? LEARN_BALANCE : APPLY;
}

static lull_status begin_pass(struct lull_what_if *w, struct lull_error *err)
{
    const struct lull_bursts_options options = {
        .application = w->wanted->application, .pieces = true, .take = learn_burst, .context = w};
    return lull_bursts_create(w->trace, &options, &w->bursts, err);
}

/* The masters, in a pass of its own. */
static lull_status read_masters(struct lull_what_if *w, const struct lull_replay_options *replay,
                                struct lull_error *err)
{
    const struct lull_pass_options options = {.application = w->wanted->application,
                                              .masters_only = true,
                                              .marks = w->marks,
                                              .windows = replay->windows};
    lull_status status = begin_pass(w, err);
    if (status != LULL_OK)
        return status;
    const struct lull_consumer consumer = lull_bursts_consumer(w->bursts);
    return lull_pass_run(w->trace, &options, &consumer, 1, err);
}

/* What a pass has learned is of no use for streams that are others. */
static void forget(struct lull_what_if *w)
{
    for (uint32_t s = 0; s < w->n_streams; s++) {
        for (size_t i = 0; i < w->places[s].count; i++)
            free(w->places[s].items[i]);
        free(w->places[s].items);
        lull_hash_free(&w->places[s].numbers);
        free(w->works[s].ns);
        w->places[s] = (struct places){0};
        w->works[s] = (struct work){0};
    }
}

static lull_status learn(struct lull_what_if *w, const struct lull_replay_options *options,
                         struct lull_error *err)
{
    bool masters = !options->callers;
    for (uint32_t p = 0; masters && p < w->trace->n_processes; p++)
        masters = lull_survey_shift(options->survey, p) == 0;
    for (uint32_t l = 0; masters && l < w->trace->n_locations; l++)
        masters = !lull_survey_meets(options->survey, l);
    if (w->bursts && masters)
        end_stage(w);
    else if (w->bursts)
        forget(w);
    while (w->stage != APPLY && !w->no_memory) {
        lull_status status =
            masters ? read_masters(w, options, err) : read_program(w, options, err);
        if (status != LULL_OK)
            return status;
        end_stage(w);
    }
    if (w->no_memory)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                         w->trace->path);
    return LULL_OK;
}

/* ---- all of it ----------------------------------------------------------------------------- */

lull_status lull_what_if_create(const struct lull_trace *trace,
                                const struct lull_what_if_options *wanted,
                                struct lull_what_if **ret_what_if, struct lull_error *err)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_what_if *w = lull_arena_zero(arena, 1, sizeof *w);
    w->trace = trace;
    w->arena = arena;
    w->wanted = wanted;
    w->stage = wanted->no_noise ? LEARN_NOISE : wanted->balance ? LEARN_BALANCE : APPLY;
    w->places = calloc(trace->n_locations + (size_t)1, sizeof *w->places);
    w->works = calloc(trace->n_locations + (size_t)1, sizeof *w->works);
    lull_status status =
        w->places && w->works
            ? mark_regions(trace, w, err)
            : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    if (status == LULL_OK)
        w->n_streams = trace->n_locations;
    else
        lull_what_if_destroy(w);
    if (status == LULL_OK)
        *ret_what_if = w;
    return status;
}

const uint8_t *lull_what_if_marks(const struct lull_what_if *w)
{
    return w->marks;
}

bool lull_what_if_learns(const struct lull_what_if *w)
{
    return w->stage != APPLY;
}

lull_status lull_what_if_consumer(struct lull_what_if *w, struct lull_consumer *ret_consumer,
                                  struct lull_error *err)
{
    lull_status status = begin_pass(w, err);
    if (status == LULL_OK)
        *ret_consumer = lull_bursts_consumer(w->bursts);
    return status;
}

lull_status lull_what_if_conclude(struct lull_what_if *w, struct lull_replay_options *options,
                                  struct lull_error *err)
{
    struct lull_survey *survey = NULL;
    options->pieces = true; /* what is found must not depend on what else is wanted */
    struct lull_replay_options read = *options;
    lull_status status = LULL_OK;
    options->marks = read.marks = w->marks;
    options->length = read.length = find_length;
    options->context = read.context = w;
    if (w->stage != APPLY && !options->survey) {
        status = lull_survey_take(w->trace, options->application, options->callers != NULL, &survey,
                                  err);
        read.survey = survey;
    }
    if (status == LULL_OK && w->stage != APPLY)
        status = learn(w, &read, err);
    lull_survey_destroy(survey);
    return status;
}

void lull_what_if_rewind(struct lull_what_if *w)
{
    for (uint32_t s = 0; s < w->n_streams; s++)
        w->works[s].phase = 0, w->works[s].before = w->works[s].after = 0;
}

void lull_what_if_destroy(struct lull_what_if *w)
{
    if (!w)
        return;
    if (w->n_streams)
        forget(w);
    lull_bursts_destroy(w->bursts);
    free(w->places);
    free(w->works);
    free(w->mean);
    lull_arena_destroy(w->arena);
}

/* ---- what was typed -------------------------------------------------------------------------- */

bool lull_factor_read(const char *text, double *ret_factor)
{
    char *end;
    *ret_factor = strtod(text, &end);
    return end != text && *end == '\0' && *ret_factor > 0 && *ret_factor <= 1e6;
}

lull_status lull_what_if_regions_read(char *const *texts, struct lull_arena *arena,
                                      struct lull_what_if_options *options, struct lull_error *err)
{
    for (; texts && *texts; texts++) {
        const char *sign = strrchr(*texts, '=');
        double factor;
        if (!sign || sign == *texts || !lull_factor_read(sign + 1, &factor))
            return lull_fail(err, LULL_ERR_RANGE,
                             "'%s', expected NAME=FACTOR with a factor above 0", *texts);
        if (options->n_regions == LULL_WHAT_IF_REGIONS)
            return lull_fail(err, LULL_ERR_RANGE, "given more than %d times", LULL_WHAT_IF_REGIONS);
        options->regions[options->n_regions] =
            lull_arena_strndup(arena, *texts, (size_t)(sign - *texts));
        options->factors[options->n_regions++] = factor;
    }
    return LULL_OK;
}
