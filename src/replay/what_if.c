#include "replay/what_if.h"

#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 64, BALANCED = LULL_WHAT_IF_REGIONS + 1 };

enum stage { LEARN_NOISE, LEARN_BALANCE, APPLY };

/* The bursts at one place: a sample that is thinned out, then its median. */
struct place {
    uint32_t stream, region, ordinal;
    uint32_t count, step, seen;
    double median;
    double times[SAMPLES];
};

/* Of one process, by phase. */
struct work {
    int64_t *ns;
    uint32_t count, capacity;
    uint32_t phase; /* that of the last burst ... */
    int64_t before; /* ... what it computed in it so far, as measured ... */
    int64_t after;  /* ... and balanced */
};

struct lull_what_if {
    struct lull_arena *arena;
    const struct lull_what_if_options *wanted;
    enum stage stage;
    uint8_t *marks;
    double factors[BALANCED + 1]; /* by mark; 0 is 1 */
    bool in_balance[BALANCED + 1];
    struct place **places; /* hash table */
    size_t n_places, room;
    struct work *works; /* [n_streams] */
    uint32_t n_streams;
    double *mean; /* [phases] */
    uint32_t n_phases;
    bool no_memory;
};

/* ---- places -------------------------------------------------------------------------------- */

static size_t slot_of(const struct lull_what_if *w, const struct lull_replay_burst *burst)
{
    uint64_t h = ((uint64_t)burst->stream << 32 | burst->region) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ (h >> 29) ^ burst->ordinal) * UINT64_C(0xc2b2ae3d27d4eb4f);
    size_t at = (size_t)(h >> 20) & (w->room - 1);
    while (w->places[at] &&
           (w->places[at]->stream != burst->stream || w->places[at]->region != burst->region ||
            w->places[at]->ordinal != burst->ordinal))
        at = (at + 1) & (w->room - 1);
    return at;
}

static bool grow_places(struct lull_what_if *w)
{
    struct place **old = w->places;
    size_t room = w->room;
    w->room = room ? 2 * room : 1024;
    w->places = calloc(w->room, sizeof(struct place *));
    if (!w->places) {
        w->places = old;
        w->room = room;
        return false;
    }
    for (size_t i = 0; i < room; i++)
        if (old[i]) {
            struct lull_replay_burst burst = {
                .stream = old[i]->stream, .region = old[i]->region, .ordinal = old[i]->ordinal};
            w->places[slot_of(w, &burst)] = old[i];
        }
    free(old);
    return true;
}

static void learn_place(struct lull_what_if *w, const struct lull_replay_burst *burst)
{
    if (2 * w->n_places >= w->room && !grow_places(w)) {
        w->no_memory = true;
        return;
    }
    struct place **place = &w->places[slot_of(w, burst)];
    if (!*place) {
        *place = calloc(1, sizeof **place);
        if (!*place) {
            w->no_memory = true;
            return;
        }
        **place = (struct place){
            .stream = burst->stream, .region = burst->region, .ordinal = burst->ordinal, .step = 1};
        w->n_places++;
    }
    struct place *p = *place;
    if (p->seen++ % p->step != 0)
        return;
    if (p->count == SAMPLES) {
        for (uint32_t i = 0; i < SAMPLES / 2; i++)
            p->times[i] = p->times[2 * i];
        p->count = SAMPLES / 2;
        p->step *= 2;
    }
    p->times[p->count++] = (double)burst->ns;
}

static void find_medians(struct lull_what_if *w)
{
    for (size_t i = 0; i < w->room; i++) {
        struct place *p = w->places[i];
        if (!p)
            continue;
        lull_sort(p->times, p->count);
        p->median = lull_median(p->times, p->count);
    }
}

static int64_t without_noise(const struct lull_what_if *w, const struct lull_replay_burst *burst,
                             int64_t ns)
{
    const struct place *p = w->room ? w->places[slot_of(w, burst)] : NULL;
    return p && p->median < (double)ns ? llround(p->median) : ns;
}

/* ---- balance ------------------------------------------------------------------------------- */

static void learn_work(struct lull_what_if *w, const struct lull_replay_burst *burst, int64_t ns)
{
    struct work *work = &w->works[burst->stream];
    if (burst->phase >= work->capacity) {
        uint32_t capacity = work->capacity ? work->capacity : 64;
        while (capacity <= burst->phase)
            capacity *= 2;
        int64_t *larger = realloc(work->ns, capacity * sizeof *larger);
        if (!larger) {
            w->no_memory = true;
            return;
        }
        work->ns = larger;
        work->capacity = capacity;
    }
    for (; work->count <= burst->phase; work->count++)
        work->ns[work->count] = 0;
    work->ns[burst->phase] += ns;
}

static bool find_means(struct lull_what_if *w)
{
    for (uint32_t s = 0; s < w->n_streams; s++)
        w->n_phases = w->works[s].count > w->n_phases ? w->works[s].count : w->n_phases;
    w->mean = calloc(w->n_phases + (size_t)1, sizeof *w->mean);
    if (!w->mean)
        return false;
    for (uint32_t phase = 0; phase < w->n_phases; phase++) {
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

/* ---- all of it ----------------------------------------------------------------------------- */

static int64_t length(void *context, const struct lull_replay_burst *burst)
{
    struct lull_what_if *w = context;
    int64_t ns = burst->ns;
    if (burst->fixed)
        return ns;
    if (w->stage == LEARN_NOISE) {
        learn_place(w, burst);
        return ns;
    }
    if (w->wanted->no_noise)
        ns = without_noise(w, burst, ns);
    if (burst->mark)
        ns = llround((double)ns * w->factors[burst->mark]);
    if (!w->wanted->balance || !w->in_balance[burst->mark])
        return ns;
    if (w->stage == LEARN_BALANCE) {
        learn_work(w, burst, ns);
        return ns;
    }
    return balanced(w, burst, ns);
}

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
    w->marks = lull_arena_zero(w->arena, trace->n_regions + (size_t)1, 1);
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

/* Reads the whole program for what `length` learns. */
static lull_status read_all(const struct lull_trace *trace, struct lull_what_if *w,
                            const struct lull_replay_options *options, enum stage stage,
                            struct lull_error *err)
{
    struct lull_program *program;
    struct lull_op ops[64];
    uint32_t count = 1;
    w->stage = stage;
    lull_status status = lull_replay_open(trace, options, &program, err);
    if (status != LULL_OK)
        return status;
    for (uint32_t s = 0; s < program->n_streams && status == LULL_OK; s++)
        do
            status = program->class->next(program, s, ops, 64, &count, err);
        while (status == LULL_OK && count > 0);
    lull_program_close(program);
    if (status == LULL_OK && w->no_memory)
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    return status;
}

static lull_status learn(const struct lull_trace *trace, struct lull_what_if *w,
                         const struct lull_replay_options *options, struct lull_error *err)
{
    lull_status status = LULL_OK;
    if (w->wanted->no_noise) {
        status = read_all(trace, w, options, LEARN_NOISE, err);
        if (status == LULL_OK)
            find_medians(w);
    }
    if (w->wanted->balance && status == LULL_OK) {
        w->n_streams = trace->n_locations;
        w->works = calloc(w->n_streams + (size_t)1, sizeof *w->works);
        if (!w->works)
            return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                             trace->path);
        status = read_all(trace, w, options, LEARN_BALANCE, err);
        if (status == LULL_OK && !find_means(w))
            status =
                lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    }
    w->stage = APPLY;
    return status;
}

lull_status lull_what_if_create(const struct lull_trace *trace,
                                const struct lull_what_if_options *wanted,
                                struct lull_replay_options *options,
                                struct lull_what_if **ret_what_if, struct lull_error *err)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_what_if *w = lull_arena_zero(arena, 1, sizeof *w);
    w->arena = arena;
    w->wanted = wanted;
    lull_status status = mark_regions(trace, w, err);
    options->marks = w->marks;
    options->length = length;
    options->context = w;
    if (status == LULL_OK)
        status = learn(trace, w, options, err);
    if (status != LULL_OK) {
        lull_what_if_destroy(w);
        return status;
    }
    *ret_what_if = w;
    return LULL_OK;
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
    for (size_t i = 0; i < w->room; i++)
        free(w->places[i]);
    free(w->places);
    for (uint32_t s = 0; s < w->n_streams; s++)
        free(w->works[s].ns);
    free(w->works);
    free(w->mean);
    lull_arena_destroy(w->arena);
}
