/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/excerpt.h"

#include "base/array.h"
#include "base/collective.h"
#include "base/mix.h"
#include "replay/program/items.h"
#include "stats/special.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LEVEL = 31, LEAST_STEPS = 64 }; /* LEAST_STEPS: that a process may keep */

/* An epoch that one process keeps. */
struct kept_epoch {
    uint32_t epoch;
    size_t first;        /* of its steps */
    int64_t begin, end;  /* when this process left the epoch before, and this one; measured, ns */
    int64_t kept_before; /* the kept time at its begin */
    /* A sum of hashes, in which a message that is sent and one that is received cancel. */
    uint64_t channels;
    /* A request goes over one of its borders, or it needs what is counted over the whole run. */
    bool crossed;
};

/* What is kept of the master of a process. */
struct strip {
    struct lull_step *steps;
    size_t count, capacity;
    struct kept_epoch *epochs;
    size_t n_epochs, epochs_capacity;
    uint64_t seen;  /* steps, kept or not */
    uint64_t open;  /* a sum of hashes, in which the begin and the end of a request cancel */
    uint32_t epoch; /* the present one */
    int64_t left;   /* when this process left the epoch before; measured, ns */
    unsigned level;
    bool draws;         /* the present epoch is kept so far; it is the last of `epochs` */
    bool in_call, ends; /* the operation that ends the epoch is over, but not yet its call */
};

struct lull_excerpt {
    const struct lull_trace *trace;
    uint32_t application, n_processes;
    uint64_t most_steps;
    size_t most_of_strip;
    struct strip *strips; /* [n_processes of the trace] */
    atomic_bool no_memory;
    bool usable;
};

/* ==== drawing ================================================================================= */

/* Whether an epoch is one of those of a level: in each of the pairs of strata that it was in on its
 * way up, the hash of the pair has taken its side. */
static bool is_drawn(uint32_t epoch, unsigned level)
{
    if (epoch == 0)
        return true;
    const uint32_t index = epoch - 1;
    for (unsigned up = 1; up <= level; up++) {
        const uint64_t pair = (uint64_t)up << 32 | (up > 31 ? 0 : index >> up);
        if ((lull_scatter(pair) & 1) != (index >> (up - 1) & 1))
            return false;
    }
    return true;
}

/* Leaves the epochs of a level. */
static void thin_out(struct strip *strip, unsigned level)
{
    size_t n = 0, steps = 0;
    strip->level = level;
    for (size_t i = 0; i < strip->n_epochs; i++) {
        struct kept_epoch *epoch = &strip->epochs[i];
        const size_t end = i + 1 < strip->n_epochs ? strip->epochs[i + 1].first : strip->count,
                     count = end - epoch->first;
        if (!is_drawn(epoch->epoch, level))
            continue;
        memmove(&strip->steps[steps], &strip->steps[epoch->first], count * sizeof *strip->steps);
        epoch->first = steps;
        steps += count;
        strip->epochs[n++] = *epoch;
    }
    strip->n_epochs = n;
    strip->count = steps;
    strip->draws = strip->draws && is_drawn(strip->epoch, level);
}

/* ==== the pass ================================================================================ */

static bool begin_epoch(struct strip *strip, const struct lull_step *last)
{
    strip->draws = is_drawn(strip->epoch, strip->level);
    strip->open = 0;
    if (!strip->draws)
        return true;
    if (!lull_array_reserve(&strip->epochs, &strip->epochs_capacity, strip->n_epochs + 1,
                            sizeof *strip->epochs)) {
        strip->draws = false;
        return false;
    }
    strip->epochs[strip->n_epochs++] = (struct kept_epoch){.epoch = strip->epoch,
                                                           .first = strip->count,
                                                           .begin = last ? last->time : 0,
                                                           .end = INT64_MAX,
                                                           .kept_before = last ? last->kept_ns : 0};
    return true;
}

static bool end_epoch(struct strip *strip, const struct lull_step *last)
{
    if (strip->draws) {
        struct kept_epoch *epoch = &strip->epochs[strip->n_epochs - 1];
        epoch->end = last->time;
        epoch->crossed |= strip->open != 0;
    }
    strip->ends = false;
    strip->left = last->time;
    strip->epoch++;
    return begin_epoch(strip, last);
}

static uint64_t hash_of_channel(const struct lull_excerpt *excerpt, uint32_t source,
                                uint32_t target, const struct lull_step *step)
{
    const uint32_t comm = step->comm < excerpt->trace->n_comms
                              ? lull_comm_canonical(excerpt->trace, step->comm)
                              : step->comm;
    const uint64_t hash = lull_mix(lull_mix(0, (uint64_t)source << 32 | target), comm);
    return lull_scatter(lull_mix(hash, (uint32_t)step->message.tag));
}

/* The root of some operations is known to the root alone, and found by counting all operations. */
static bool needs_count(const struct lull_step *step)
{
    const enum lull_collective_needs needs = lull_collective_needs(step->op);
    return (needs == LULL_NEEDS_ROOT || needs == LULL_ROOT_NEEDS_ALL) && step->collective.root < 0;
}

static uint64_t hash_of_request(uint64_t request)
{
    return request == LULL_NO_REQUEST ? 0 : lull_scatter(request);
}

/* Follows what would go over the border of an epoch that is kept. */
static void follow(const struct lull_excerpt *excerpt, uint32_t process, struct strip *strip,
                   const struct lull_step *step)
{
    struct kept_epoch *epoch = &strip->epochs[strip->n_epochs - 1];
    switch (step->kind) {
    case LULL_STEP_SEND:
        strip->open += hash_of_request(step->message.request);
        if (step->message.peer >= 0)
            epoch->channels +=
                hash_of_channel(excerpt, process, (uint32_t)step->message.peer, step);
        break;
    case LULL_STEP_RECV:
        strip->open -= hash_of_request(step->message.request);
        if (step->message.peer >= 0)
            epoch->channels -=
                hash_of_channel(excerpt, (uint32_t)step->message.peer, process, step);
        break;
    case LULL_STEP_RECV_POST:
        strip->open += hash_of_request(step->message.request);
        break;
    case LULL_STEP_SEND_DONE:
        strip->open -= hash_of_request(step->message.request);
        break;
    case LULL_STEP_COLLECTIVE_BEGIN:
        strip->open += hash_of_request(step->collective.request);
        break;
    case LULL_STEP_COLLECTIVE_END:
        strip->open -= hash_of_request(step->collective.request);
        epoch->crossed |= needs_count(step);
        break;
    case LULL_STEP_CANCEL:
    case LULL_STEP_FREE:
        epoch->crossed = true;
        break;
    default:
        break;
    }
}

static bool keep_step(const struct lull_excerpt *excerpt, uint32_t process, struct strip *strip,
                      const struct lull_step *step)
{
    while (strip->draws && strip->count >= excerpt->most_of_strip && strip->level < MOST_LEVEL)
        thin_out(strip, strip->level + 1);
    if (!strip->draws || strip->count >= excerpt->most_of_strip)
        return true;
    if (!lull_array_reserve(&strip->steps, &strip->capacity, strip->count + 1,
                            sizeof *strip->steps))
        return false;
    strip->steps[strip->count++] = *step;
    follow(excerpt, process, strip, step);
    return true;
}

#define STEPS_OF_EXCERPT \
    ((LULL_STEPS_OF_MPI & ~LULL_STEP_MASK(LULL_STEP_TEST)) | LULL_STEP_MASK(LULL_STEP_END))

/* Among these are those with which an epoch ends. */
#define STEPS_OF_BORDERS                                                         \
    (LULL_STEP_MASK(LULL_STEP_CALL_BEGIN) | LULL_STEP_MASK(LULL_STEP_CALL_END) | \
     LULL_STEP_MASK(LULL_STEP_COLLECTIVE_END))

static inline bool take_step_of_strip(const struct lull_excerpt *excerpt, uint32_t process,
                                      struct strip *strip, const struct lull_step *step)
{
    const uint64_t kind = LULL_STEP_MASK(step->kind);
    if (!(kind & STEPS_OF_EXCERPT))
        return true;
    strip->seen++;
    if (strip->draws && !keep_step(excerpt, process, strip, step))
        return false;
    if (!(kind & STEPS_OF_BORDERS))
        return true;
    if (step->kind == LULL_STEP_CALL_BEGIN)
        strip->in_call = true;
    else if (step->kind == LULL_STEP_CALL_END)
        strip->in_call = false;
    else if (step->kind == LULL_STEP_COLLECTIVE_END)
        strip->ends |= lull_is_epoch(excerpt->trace, step, excerpt->n_processes);
    return !strip->ends || strip->in_call || end_epoch(strip, step);
}

static lull_status take_steps_for_excerpt(void *context, unsigned worker,
                                          const struct lull_steps *steps, struct lull_error *err)
{
    struct lull_excerpt *excerpt = context;
    const struct lull_trace *trace = excerpt->trace;
    const uint32_t process = trace->locations[steps->location].process;
    struct strip *strip = &excerpt->strips[process];
    bool fits = true;
    (void)worker;
    (void)err;
    if (trace->processes[process].first_location != steps->location ||
        trace->processes[process].application != excerpt->application)
        return LULL_OK;
    if (strip->n_epochs == 0) /* epoch 0 is always one of them */
        fits = begin_epoch(strip, NULL);
    for (uint32_t i = 0; i < steps->count && fits; i++)
        fits = take_step_of_strip(excerpt, process, strip, &steps->steps[i]);
    if (!fits) /* the excerpt is not usable then */
        atomic_store(&excerpt->no_memory, true);
    return LULL_OK;
}

struct lull_consumer lull_excerpt_consumer(struct lull_excerpt *excerpt)
{
    return (struct lull_consumer){
        .context = excerpt, .wants = STEPS_OF_EXCERPT, .steps = take_steps_for_excerpt};
}

/* ==== what was drawn ========================================================================== */

static bool has_strip(const struct lull_excerpt *excerpt, uint32_t process)
{
    const struct lull_process *p = &excerpt->trace->processes[process];
    return p->application == excerpt->application && p->n_threads > 0;
}

/* The strip of the first process; NULL: there is none. */
static const struct strip *first_strip(const struct lull_excerpt *excerpt)
{
    for (uint32_t p = 0; p < excerpt->trace->n_processes; p++)
        if (has_strip(excerpt, p))
            return &excerpt->strips[p];
    return NULL;
}

/* Brings all strips to one level, without the epoch that was open at the end of the run. */
static void level_strips(struct lull_excerpt *excerpt, uint64_t *ret_seen)
{
    unsigned level = 0;
    *ret_seen = 0;
    for (uint32_t p = 0; p < excerpt->trace->n_processes; p++) {
        *ret_seen += excerpt->strips[p].seen;
        level = excerpt->strips[p].level > level ? excerpt->strips[p].level : level;
    }
    for (uint32_t p = 0; p < excerpt->trace->n_processes; p++) {
        struct strip *strip = &excerpt->strips[p];
        if (strip->level < level)
            thin_out(strip, level);
        if (strip->n_epochs > 0 && strip->epochs[strip->n_epochs - 1].end == INT64_MAX)
            strip->count = strip->epochs[--strip->n_epochs].first;
    }
}

/* Whether the strips have the same epochs, whose messages and requests stay within them. */
static bool are_apart(const struct lull_excerpt *excerpt)
{
    const struct strip *first = first_strip(excerpt);
    for (uint32_t p = 0; p < excerpt->trace->n_processes; p++)
        if (has_strip(excerpt, p) && (excerpt->strips[p].n_epochs != first->n_epochs ||
                                      excerpt->strips[p].epoch != first->epoch))
            return false;
    for (size_t e = 0; e < first->n_epochs; e++) {
        uint64_t channels = 0;
        for (uint32_t p = 0; p < excerpt->trace->n_processes; p++) {
            if (!has_strip(excerpt, p))
                continue;
            const struct kept_epoch *epoch = &excerpt->strips[p].epochs[e];
            channels += epoch->channels;
            if (epoch->crossed)
                return false;
        }
        if (channels != 0)
            return false;
    }
    return true;
}

/* Lets the kept time go on from epoch to epoch. */
static void join_epochs(struct strip *strip)
{
    int64_t kept = 0;
    for (size_t e = 0; e < strip->n_epochs; e++) {
        const size_t end = e + 1 < strip->n_epochs ? strip->epochs[e + 1].first : strip->count;
        const int64_t skipped = strip->epochs[e].kept_before - kept;
        for (size_t i = strip->epochs[e].first; i < end; i++)
            strip->steps[i].kept_ns -= skipped;
        if (end > strip->epochs[e].first)
            kept = strip->steps[end - 1].kept_ns;
    }
}

bool lull_excerpt_conclude(struct lull_excerpt *excerpt)
{
    uint64_t seen;
    level_strips(excerpt, &seen);
    const struct strip *first = first_strip(excerpt);
    excerpt->usable = !atomic_load(&excerpt->no_memory) && first && seen > excerpt->most_steps &&
                      first->n_epochs >= LULL_EXCERPT_LEAST && are_apart(excerpt);
    for (uint32_t p = 0; p < excerpt->trace->n_processes && excerpt->usable; p++)
        join_epochs(&excerpt->strips[p]);
    return excerpt->usable;
}

uint32_t lull_excerpt_epochs(const struct lull_excerpt *excerpt, uint32_t *ret_all)
{
    const struct strip *first = first_strip(excerpt);
    *ret_all = first->epoch;
    return (uint32_t)first->n_epochs;
}

const struct lull_step *lull_excerpt_steps(const struct lull_excerpt *excerpt, uint32_t process,
                                           size_t *ret_count)
{
    *ret_count = excerpt->strips[process].count;
    return excerpt->strips[process].steps;
}

/* ==== estimate ================================================================================ */

/* When all processes have left an epoch, or the one before it; measured. */
static int64_t last_to_leave(const struct lull_excerpt *excerpt, size_t epoch, bool before)
{
    int64_t last = INT64_MIN;
    for (uint32_t p = 0; p < excerpt->trace->n_processes; p++) {
        if (!has_strip(excerpt, p))
            continue;
        const struct kept_epoch *kept = &excerpt->strips[p].epochs[epoch];
        const int64_t time = before ? kept->begin : kept->end;
        last = time > last ? time : last;
    }
    return last;
}

/* When all processes have left the last epoch of the run. */
static int64_t last_of_all(const struct lull_excerpt *excerpt)
{
    int64_t last = INT64_MIN;
    for (uint32_t p = 0; p < excerpt->trace->n_processes; p++)
        if (has_strip(excerpt, p) && excerpt->strips[p].left > last)
            last = excerpt->strips[p].left;
    return last;
}

/* Of epoch `e` of the drawn ones, from 1 on: its length when measured and replayed, ns. */
static void lengths_of(const struct lull_excerpt *excerpt, const int64_t *ends, size_t e,
                       double *ret_measured, double *ret_replayed)
{
    *ret_measured = (double)(last_to_leave(excerpt, e, false) - last_to_leave(excerpt, e, true));
    *ret_replayed = (double)(ends[e] - ends[e - 1]);
}

void lull_excerpt_estimate(const struct lull_excerpt *excerpt, const int64_t *ends,
                           const struct lull_interval *part, int64_t *ret_replayed,
                           int64_t *ret_error)
{
    uint32_t all;
    const uint32_t n = lull_excerpt_epochs(excerpt, &all);
    double measured, replayed, sums[2] = {0, 0}, squares = 0;
    for (uint32_t e = 1; e < n; e++) {
        lengths_of(excerpt, ends, e, &measured, &replayed);
        sums[0] += measured;
        sums[1] += replayed;
    }
    const double ratio = sums[0] > 0 ? sums[1] / sums[0] : 1;
    for (uint32_t e = 1; e < n; e++) {
        lengths_of(excerpt, ends, e, &measured, &replayed);
        squares += (replayed - ratio * measured) * (replayed - ratio * measured);
    }
    /* Behind the last epoch the replay takes as long as the run; were that not so, it would be about
     * as much longer as in the epochs. The variance has no correction for the share that was drawn:
     * the same epoch takes another time behind another one, as processes come to it apart. */
    const int64_t last = last_of_all(excerpt), tail = part->end - last;
    const double drawn = n - 1.0, epochs = (double)(last - last_to_leave(excerpt, 0, false));
    const double deviation = sums[0] > 0 ? sqrt(squares * drawn / (drawn - 1)) / sums[0] : 0;
    *ret_replayed = ends[0] + llround(ratio * epochs) + tail;
    *ret_error = 1 + llround(lull_student_quantile(0.975, drawn - 1) * deviation * epochs +
                             fabs((ratio - 1) * (double)tail));
}

/* ==== life ==================================================================================== */

lull_status lull_excerpt_create(const struct lull_trace *trace, uint32_t application,
                                uint64_t most_steps, struct lull_excerpt **ret_excerpt,
                                struct lull_error *err)
{
    struct lull_excerpt *excerpt = calloc(1, sizeof *excerpt);
    if (excerpt)
        excerpt->strips = calloc(trace->n_processes + (size_t)1, sizeof *excerpt->strips);
    if (!excerpt || !excerpt->strips) {
        free(excerpt);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    }
    excerpt->trace = trace;
    excerpt->application = application;
    excerpt->n_processes = lull_count_processes(trace, application);
    excerpt->most_steps = most_steps;
    excerpt->most_of_strip =
        (size_t)(most_steps / (excerpt->n_processes ? excerpt->n_processes : 1));
    if (excerpt->most_of_strip < LEAST_STEPS)
        excerpt->most_of_strip = LEAST_STEPS;
    atomic_init(&excerpt->no_memory, false);
    *ret_excerpt = excerpt;
    return LULL_OK;
}

void lull_excerpt_destroy(struct lull_excerpt *excerpt)
{
    if (!excerpt)
        return;
    for (uint32_t p = 0; p < excerpt->trace->n_processes; p++) {
        free(excerpt->strips[p].steps);
        free(excerpt->strips[p].epochs);
    }
    free(excerpt->strips);
    free(excerpt);
}
