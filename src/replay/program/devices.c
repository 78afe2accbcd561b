/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/program/devices.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/sorted.h"
#include "stats/quantile.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* ==== what is known of a process ============================================================== */

#define NOT_SUBMITTED INT64_MIN
/* An operation begins late if it takes more than so many usual latencies. */
#define LATE_LEAST 3.0

/* An operation while those of its process are looked at. */
struct device_operation {
    int64_t begin, end; /* on its stream, behind the one before */
    int64_t submitted;  /* when the call began that did it; NOT_SUBMITTED: not known */
    int64_t needed;     /* the latest submission without which it does not end */
    int64_t met; /* when the last kernel had come, in exchanges, without which it does not end */
    int64_t lag, after; /* behind the end of the one before; behind all that it needs */
    int64_t latency;
    uint64_t number, region;
    uint32_t stream; /* location */
    uint32_t order;  /* on its stream */
    uint32_t before; /* the operation before it on its stream; LULL_NONE: it is the first */
    uint32_t first;  /* of the operations of the same submission, which have one number */
    uint32_t same;   /* of `first`: how many they are */
    /* Of `first`: the first operation of its sequence, itself if its own call submits it; LULL_NONE: nobody has looked. */
    uint32_t leader;
    uint32_t joined; /* of a leader: how many operations its call would submit beside its own */
    int64_t call_ns; /* of `first`: how long the call takes that submits it */
    uint32_t waiters;
    uint32_t first_depend, n_depends;
    const struct lull_exchange_kernel *part; /* in exchanges; NULL: in none */
    uint8_t kind;                            /* enum lull_operation_kind */
};

struct device_number {
    uint64_t number;
    uint32_t index;
};

/* An operation waits for the end of another one. */
struct device_dependence {
    uint32_t operation, other;
};

struct device_submitted {
    uint64_t number;
    int64_t time;
};

/* What a thread that is apart submits. */
struct device_foreign {
    int64_t time;
    uint32_t sync;
};

/* What is known of a process while its lists are made. */
struct device_scene {
    const struct lull_trace *trace;
    const struct lull_device_log *log;
    const struct lull_process *process;
    const struct lull_exchanges *exchanges;
    int64_t shift;                       /* of the process's clock */
    struct device_operation *operations; /* [n_operations], by begin */
    struct device_number *numbers;       /* [n_operations], by number, then by index */
    struct device_submitted *submits;    /* [n_submits], by number */
    struct device_dependence *depends;   /* [n_depends], by operation */
    /* Operations by stream, those of location l of the process at [groups[l], groups[l + 1]). */
    uint32_t *grouped, *groups;
    double *times; /* [n_operations] */
    struct device_foreign *foreign;
    const bool *meets; /* [n_locations] */
    size_t n_operations, n_submits, n_depends, n_foreign;
    size_t operations_capacity, submits_capacity, depends_capacity, foreign_capacity;
    bool repeats; /* a sequence comes again */
};

struct device_lists {
    /* Of a stream, for each operation: what it is (see write_operation), its SYNC, begin, length, region, lag, after,
     * waiters; of an exchange its index and how long it waits for the last rank; where it was submitted also the begin
     * behind the submission, the SYNC of that and how many wait there, and the same of the submission of its sequence; and
     * the SYNCs of those that it depends on. Of a thread, for each
     * submission: how many operations wait for it; if any, their SYNC and latency, and how many wait for it if it submits a
     * sequence; 0: it is part of one, and there follows how long its call takes. */
    struct lull_varints calls;
    /* Of a thread, for each wait: how many wait for the operation; if any, its SYNC and its end. */
    struct lull_varints waits;
    /* Of a master, what threads that are apart submit: how many operations wait for it, its SYNC, its anchor, the
     * latency from there on, and how many wait for it if it submits a sequence. */
    struct lull_varints apart;
    int64_t kernel_ns;
    bool needed;
    bool copies, others; /* whether a stream has such operations */
};

struct lull_replay_devices {
    const struct lull_trace *trace;
    struct lull_exchanges exchanges;
    bool repeats;
    struct device_lists locations[]; /* [n_locations] */
};

/* ---- gathering ------------------------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_operation_begin(const void *a, const void *b)
{
    const struct device_operation *x = a, *y = b;
    if (x->stream == y->stream)
        return compare_numbers(x->order, y->order);
    return x->begin != y->begin ? (x->begin < y->begin ? -1 : 1)
                                : compare_numbers(x->stream, y->stream);
}

static int by_operation_number(const void *a, const void *b)
{
    const struct device_number *x = a, *y = b;
    return x->number != y->number ? compare_numbers(x->number, y->number)
                                  : compare_numbers(x->index, y->index);
}

static int by_submitted(const void *a, const void *b)
{
    const struct device_submitted *x = a, *y = b;
    return x->number != y->number ? compare_numbers(x->number, y->number)
                                  : (x->time > y->time) - (x->time < y->time);
}

static int by_dependent(const void *a, const void *b)
{
    const struct device_dependence *x = a, *y = b;
    return x->operation != y->operation ? compare_numbers(x->operation, y->operation)
                                        : compare_numbers(x->other, y->other);
}

/* An operation begins behind the end of the one before on its stream, also where the two overlap. */
static bool gather_operations(struct device_scene *scene, uint32_t location)
{
    struct lull_device_run run = lull_device_run_open(scene->log, location);
    int64_t until = 0;
    for (uint32_t order = 0; lull_device_run_next(&run); order++) {
        if (scene->n_operations >= LULL_NONE - 1 ||
            !lull_array_reserve(&scene->operations, &scene->operations_capacity,
                                scene->n_operations + 1, sizeof *scene->operations))
            return false;
        struct device_operation *of = &scene->operations[scene->n_operations++];
        *of = (struct device_operation){.begin = run.begin > until ? run.begin : until,
                                        .submitted = NOT_SUBMITTED,
                                        .needed = NOT_SUBMITTED,
                                        .met = INT64_MIN,
                                        .number = run.number,
                                        .region = run.region,
                                        .stream = location,
                                        .order = order,
                                        .leader = LULL_NONE,
                                        .part = lull_exchange_of(scene->exchanges, location, order),
                                        .kind = run.kind};
        if (of->part && of->part->known)
            of->met = of->part->came - scene->shift;
        of->end = run.end > of->begin ? run.end : of->begin;
        until = of->end;
    }
    return true;
}

static bool gather_submits(struct device_scene *scene, uint32_t location)
{
    struct lull_device_submit submit = lull_device_submit_open(scene->log, location);
    while (lull_device_submit_next(&submit)) {
        if (!lull_array_reserve(&scene->submits, &scene->submits_capacity, scene->n_submits + 1,
                                sizeof *scene->submits))
            return false;
        scene->submits[scene->n_submits++] = (struct device_submitted){submit.number, submit.time};
    }
    return true;
}

/* The first of the operations with a number, in `numbers`; NULL: there is none. */
static const struct device_number *find_number(const struct device_scene *scene, uint64_t number)
{
    const size_t from =
        lull_sorted_first_u64(scene->numbers, scene->n_operations, sizeof *scene->numbers,
                              offsetof(struct device_number, number), number);
    return number > 0 && from < scene->n_operations && scene->numbers[from].number == number
               ? &scene->numbers[from]
               : NULL;
}

static bool has_number(const struct device_scene *scene, const struct device_number *at,
                       uint64_t number)
{
    return at && at < scene->numbers + scene->n_operations && at->number == number;
}

/* The operation with a number that ends last; LULL_NONE: there is none. */
static uint32_t last_of_number(const struct device_scene *scene, uint64_t number)
{
    uint32_t last = LULL_NONE;
    for (const struct device_number *at = find_number(scene, number); has_number(scene, at, number);
         at++)
        if (last == LULL_NONE || scene->operations[at->index].end > scene->operations[last].end)
            last = at->index;
    return last;
}

/* Whether the order of a stream says that one operation comes behind the other, also where copies overlap. */
static bool are_in_order(const struct device_operation *a, const struct device_operation *b)
{
    return a->stream == b->stream &&
           (a->kind == LULL_OPERATION_COPY) == (b->kind == LULL_OPERATION_COPY);
}

/* The operations of a graph have one number. What depends on it depends on the one that ends last. */
static bool gather_depends(struct device_scene *scene, uint32_t location)
{
    struct lull_device_depend depend = lull_device_depend_open(scene->log, location);
    while (lull_device_depend_next(&depend)) {
        const struct device_number *of = find_number(scene, depend.number);
        const uint32_t on = of ? last_of_number(scene, depend.other) : LULL_NONE;
        for (; on != LULL_NONE && has_number(scene, of, depend.number); of++) {
            if (on >= of->index ||
                are_in_order(&scene->operations[of->index], &scene->operations[on]))
                continue;
            if (!lull_array_reserve(&scene->depends, &scene->depends_capacity, scene->n_depends + 1,
                                    sizeof *scene->depends))
                return false;
            scene->depends[scene->n_depends++] = (struct device_dependence){of->index, on};
        }
    }
    return true;
}

static void group_operations(struct device_scene *scene)
{
    const uint32_t first = scene->process->first_location;
    for (size_t i = 0; i < scene->n_operations; i++)
        scene->groups[scene->operations[i].stream - first + 1] = scene->operations[i].order + 1;
    for (uint32_t l = 0; l < scene->process->n_locations; l++)
        scene->groups[l + 1] += scene->groups[l];
    for (uint32_t i = 0; i < scene->n_operations; i++) {
        struct device_operation *of = &scene->operations[i];
        uint32_t *at = &scene->grouped[scene->groups[of->stream - first] + of->order];
        *at = i;
        of->before = of->order > 0 ? at[-1] : LULL_NONE;
    }
}

/* Joins operations with their submissions, and with those of the same one. */
static void join_submits(struct device_scene *scene)
{
    size_t at = 0;
    for (size_t n = 0; n < scene->n_operations; n++) {
        struct device_operation *of = &scene->operations[scene->numbers[n].index];
        const bool again = n > 0 && of->number > 0 && scene->numbers[n - 1].number == of->number;
        of->first =
            again ? scene->operations[scene->numbers[n - 1].index].first : scene->numbers[n].index;
        scene->operations[of->first].same++;
        while (at < scene->n_submits && scene->submits[at].number < of->number)
            at++;
        if (of->number > 0 && at < scene->n_submits && scene->submits[at].number == of->number)
            of->submitted = scene->submits[at].time;
    }
}

static bool gather_process(struct device_scene *scene, uint32_t application)
{
    const struct lull_process *process = scene->process;
    const uint32_t end = process->first_location + process->n_locations;
    for (uint32_t l = process->first_location; l < end; l++)
        if (!(lull_is_of_device(scene->trace, l, application) ? gather_operations(scene, l)
                                                              : gather_submits(scene, l)))
            return false;
    if (scene->n_operations == 0)
        return true;
    scene->numbers = malloc(scene->n_operations * sizeof *scene->numbers);
    scene->times = malloc(scene->n_operations * sizeof *scene->times);
    scene->grouped = malloc(scene->n_operations * sizeof *scene->grouped);
    scene->groups = calloc(process->n_locations + (size_t)1, sizeof *scene->groups);
    if (!scene->numbers || !scene->times || !scene->grouped || !scene->groups)
        return false;
    qsort(scene->operations, scene->n_operations, sizeof *scene->operations, by_operation_begin);
    for (uint32_t i = 0; i < scene->n_operations; i++)
        scene->numbers[i] = (struct device_number){scene->operations[i].number, i};
    qsort(scene->numbers, scene->n_operations, sizeof *scene->numbers, by_operation_number);
    if (scene->n_submits > 0)
        qsort(scene->submits, scene->n_submits, sizeof *scene->submits, by_submitted);
    join_submits(scene);
    group_operations(scene);
    for (uint32_t l = process->first_location; l < end; l++)
        if (!lull_is_of_device(scene->trace, l, application) && !gather_depends(scene, l))
            return false;
    if (scene->n_depends > 0)
        qsort(scene->depends, scene->n_depends, sizeof *scene->depends, by_dependent);
    return true;
}

/* ---- what was decisive ----------------------------------------------------------------------- */

static int64_t end_before(const struct device_scene *scene, const struct device_operation *of)
{
    return of->before == LULL_NONE ? 0 : scene->operations[of->before].end;
}

/* Where the dependences of the next operation are, and where they go: some are left out. */
struct device_depends_at {
    size_t from, to;
};

/* When the last of the others has ended that an operation depends on; those that end behind its begin are not among them.
 * Sets also what it needs. A dependence on what could not end before the operation began is left out. */
static int64_t end_of_depends(struct device_scene *scene, uint32_t index,
                              struct device_depends_at *at)
{
    struct device_operation *of = &scene->operations[index];
    int64_t end = 0;
    of->first_depend = (uint32_t)at->to;
    of->n_depends = 0;
    for (; at->from < scene->n_depends && scene->depends[at->from].operation == index; at->from++) {
        const struct device_operation *other = &scene->operations[scene->depends[at->from].other];
        if (other->met >= of->begin)
            continue;
        scene->depends[at->to++] = scene->depends[at->from];
        end = other->end > end ? other->end : end;
        of->needed = other->needed > of->needed ? other->needed : of->needed;
        of->met = other->met > of->met ? other->met : of->met;
        of->n_depends++;
    }
    return end < of->begin ? end : of->begin;
}

/* The lower quartile: some wait for what nobody tells, and these are the longest. */
static double usual_of(struct device_scene *scene, size_t count, double otherwise)
{
    if (count == 0)
        return otherwise;
    lull_sort(scene->times, count);
    return lull_quantile(scene->times, count, 0.25);
}

static int64_t min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The latency that is usual where the submission came last. */
static double usual_latency(struct device_scene *scene)
{
    double shortest = INFINITY;
    struct device_depends_at at = {0, 0};
    size_t n = 0;
    for (uint32_t i = 0; i < scene->n_operations; i++) {
        struct device_operation *of = &scene->operations[i];
        const int64_t others = max_ns(end_before(scene, of), end_of_depends(scene, i, &at));
        if (of->before != LULL_NONE) {
            of->needed = max_ns(of->needed, scene->operations[of->before].needed);
            of->met = max_ns(of->met, scene->operations[of->before].met);
        }
        of->needed = max_ns(of->needed, of->submitted);
        if (of->submitted == NOT_SUBMITTED || of->submitted > of->begin)
            continue;
        shortest = fmin(shortest, (double)(of->begin - of->submitted));
        if (of->submitted >= others)
            scene->times[n++] = (double)(of->begin - of->submitted);
    }
    scene->n_depends = at.to;
    return usual_of(scene, n, isinf(shortest) ? 0 : shortest);
}

/* Finds latency, lag and after of an operation whose submission was decisive; of those of one submission the first decides
 * the latency. */
static void decide_by_submission(struct device_scene *scene, uint32_t index, double lag)
{
    struct device_operation *of = &scene->operations[index];
    struct device_operation *first = &scene->operations[of->first];
    const int64_t delay = max_ns(of->begin - of->submitted, 0),
                  idle = of->begin - end_before(scene, of);
    if (of->first == index)
        of->latency = delay;
    of->after = max_ns(delay - first->latency, 0);
    of->lag = of->before == LULL_NONE ? 0 : max_ns(min_ns((int64_t)lag, idle - of->after), 0);
}

static void decide_by_others(struct device_scene *scene, uint32_t index, int64_t depends,
                             double latency, double lag)
{
    struct device_operation *of = &scene->operations[index];
    const int64_t before = end_before(scene, of), others = max_ns(before, depends);
    if (depends > before) {
        of->after = of->begin - depends;
        of->lag = min_ns((int64_t)lag, depends - before);
    } else {
        of->lag = of->begin - before;
    }
    if (of->first == index && of->submitted != NOT_SUBMITTED)
        of->latency = max_ns(
            min_ns((int64_t)latency, (depends > before ? others : of->begin) - of->submitted), 0);
}

/* ---- dependences that nobody tells ----------------------------------------------------------- */

struct device_ending {
    int64_t end;
    uint32_t index;
};

static int by_ending(const void *a, const void *b)
{
    const struct device_ending *x = a, *y = b;
    return x->end != y->end ? (x->end < y->end ? -1 : 1) : compare_numbers(x->index, y->index);
}

/* Some tracers do not tell which operation waits for one of another stream. One that begins long after its submission,
 * although its stream is free, is taken to depend on the operation of another stream that had ended last by then, if that
 * was since. */
static bool suppose_depends(struct device_scene *scene, double latency)
{
    struct device_ending *endings = malloc(scene->n_operations * sizeof *endings);
    uint32_t last = LULL_NONE,
             other = LULL_NONE; /* that ended last, and the last one of another stream */
    size_t at = 0;
    bool good = true;
    if (!endings)
        return false;
    for (uint32_t i = 0; i < scene->n_operations; i++)
        endings[i] = (struct device_ending){scene->operations[i].end, i};
    qsort(endings, scene->n_operations, sizeof *endings, by_ending);
    for (uint32_t i = 0; good && i < scene->n_operations; i++) {
        const struct device_operation *of = &scene->operations[i];
        for (; at < scene->n_operations && endings[at].end <= of->begin; at++) {
            const uint32_t ended = endings[at].index;
            if (last != LULL_NONE &&
                scene->operations[last].stream != scene->operations[ended].stream)
                other = last;
            last = ended;
        }
        const uint32_t on =
            last != LULL_NONE && scene->operations[last].stream == of->stream ? other : last;
        const int64_t since = max_ns(of->submitted, end_before(scene, of));
        if (on == LULL_NONE || on >= i || of->submitted == NOT_SUBMITTED ||
            (double)(of->begin - since) <= LATE_LEAST * latency ||
            scene->operations[on].end <= since)
            continue;
        good = lull_array_reserve(&scene->depends, &scene->depends_capacity, scene->n_depends + 1,
                                  sizeof *scene->depends);
        if (good)
            scene->depends[scene->n_depends++] = (struct device_dependence){i, on};
    }
    free(endings);
    return good;
}

static bool decide_operations(struct device_scene *scene)
{
    double latency = usual_latency(scene), lag = 0;
    size_t n = 0;
    if (scene->n_depends == 0) {
        if (!suppose_depends(scene, latency))
            return false;
        latency = usual_latency(scene);
    }
    for (int found = 0; found < 2; found++) {
        for (uint32_t i = 0; i < scene->n_operations; i++) {
            struct device_operation *of = &scene->operations[i];
            int64_t depends = 0;
            for (uint32_t d = 0; d < of->n_depends; d++)
                depends = max_ns(depends,
                                 scene->operations[scene->depends[of->first_depend + d].other].end);
            depends = min_ns(depends, of->begin);
            const int64_t before = end_before(scene, of);
            const bool by_submission =
                of->submitted != NOT_SUBMITTED &&
                (double)of->submitted + latency >= fmax((double)before + lag, (double)depends);
            if (!found && !by_submission && before >= depends)
                scene->times[n++] = (double)(of->begin - before);
            if (found && by_submission)
                decide_by_submission(scene, i, lag);
            else if (found)
                decide_by_others(scene, i, depends, latency, lag);
        }
        if (!found)
            lag = usual_of(scene, n, 0);
    }
    return true;
}

/* ---- sequences ------------------------------------------------------------------------------- */

/* What tells submissions apart. */
struct device_part {
    uint32_t region, stream, same;
};

/* What a thread has submitted since it waited last. */
struct device_sequence {
    struct lull_hash known;    /* sequences that it has submitted */
    struct device_part *parts; /* [n] */
    uint32_t *firsts;          /* [n]: the first operation of each submission */
    /* [n]: the longest border of parts[0 .. i], which is a beginning of these parts that is also their end, and not
     * all of them. Example: A B A B A has the border A B A, of length 3. */
    uint32_t *borders;
    size_t n, parts_capacity, firsts_capacity, borders_capacity;
};

static bool is_same_part(const struct device_part *a, const struct device_part *b)
{
    return a->region == b->region && a->stream == b->stream && a->same == b->same;
}

/* How many parts come again and again, two at least (prefix function of Knuth, Morris and Pratt); all, if none do. */
static size_t find_period(struct device_sequence *sequence)
{
    const struct device_part *parts = sequence->parts;
    uint32_t *borders = sequence->borders, border = 0;
    borders[0] = 0;
    for (size_t i = 1; i < sequence->n; i++) {
        while (border > 0 && !is_same_part(&parts[i], &parts[border]))
            border = borders[border - 1];
        border += is_same_part(&parts[i], &parts[border]);
        borders[i] = border;
    }
    const size_t period = sequence->n - border;
    return period >= 2 && 2 * period <= sequence->n ? period : sequence->n;
}

/* The call that submits the first of these submits the others as well. */
static void join_sequence(struct device_scene *scene, const uint32_t *firsts, size_t n)
{
    struct device_operation *leader = &scene->operations[firsts[0]];
    for (size_t i = 1; i < n; i++) {
        scene->operations[firsts[i]].leader = firsts[0];
        leader->joined += scene->operations[firsts[i]].same;
    }
    scene->repeats = true;
}

static bool end_sequence(struct device_scene *scene, struct device_sequence *sequence)
{
    const size_t period = sequence->n > 1 ? find_period(sequence) : 2;
    bool is_new = true;
    for (size_t from = 0; from + period <= sequence->n; from += period) {
        if (!lull_hash_add(&sequence->known, &sequence->parts[from],
                           period * sizeof *sequence->parts, 0, &is_new))
            return false;
        if (!is_new)
            join_sequence(scene, &sequence->firsts[from], period);
    }
    sequence->n = 0;
    return true;
}

static bool add_to_sequence(const struct device_scene *scene, struct device_sequence *sequence,
                            uint32_t first)
{
    const struct device_operation *of = &scene->operations[first];
    const size_t n = sequence->n + 1;
    if (!lull_array_reserve(&sequence->parts, &sequence->parts_capacity, n,
                            sizeof *sequence->parts) ||
        !lull_array_reserve(&sequence->firsts, &sequence->firsts_capacity, n,
                            sizeof *sequence->firsts) ||
        !lull_array_reserve(&sequence->borders, &sequence->borders_capacity, n,
                            sizeof *sequence->borders))
        return false;
    sequence->parts[sequence->n] = (struct device_part){(uint32_t)of->region, of->stream, of->same};
    sequence->firsts[sequence->n++] = first;
    return true;
}

/* The first operation of a submission; NULL: it is not known. */
static struct device_operation *find_submitted(const struct device_scene *scene,
                                               const struct lull_device_submit *submit)
{
    const struct device_number *at = find_number(scene, submit->number);
    struct device_operation *of = at ? &scene->operations[at->index] : NULL;
    return of && of->submitted == submit->time ? of : NULL;
}

static bool gather_sequences(struct device_scene *scene, uint32_t location)
{
    struct lull_device_submit submit = lull_device_submit_open(scene->log, location);
    struct lull_device_wait wait = lull_device_wait_open(scene->log, location);
    struct lull_device_piece piece = lull_device_piece_open(scene->log, location);
    struct device_sequence sequence = {0};
    struct device_operation *of = NULL;
    bool good = true, more = lull_device_wait_next(&wait);
    while (good && lull_device_submit_next(&submit)) {
        bool waits = false;
        for (; more && wait.time < submit.time; more = lull_device_wait_next(&wait))
            waits = true;
        while (piece.end <= submit.time && lull_device_piece_next(&piece))
            waits |= piece.place == LULL_PLACE_MPI;
        if (of) /* the call before is over at the latest */
            of->call_ns = min_ns(of->call_ns, submit.time - of->submitted);
        of = find_submitted(scene, &submit);
        of = of && of->leader == LULL_NONE ? of : NULL;
        if (waits)
            good = end_sequence(scene, &sequence);
        if (!of)
            continue;
        const int64_t end = piece.place == LULL_PLACE_RUNTIME ? piece.end : submit.time;
        of->call_ns = max_ns((more ? min_ns(end, wait.time) : end) - submit.time, 0);
        of->leader = (uint32_t)(of - scene->operations);
        good = good && add_to_sequence(scene, &sequence, of->leader);
    }
    good = good && end_sequence(scene, &sequence);
    lull_hash_free(&sequence.known);
    free(sequence.parts);
    free(sequence.firsts);
    free(sequence.borders);
    return good;
}

/* The operation whose call submits one where sequences are submitted at once. */
static uint32_t leader_of(const struct device_scene *scene, const struct device_operation *of)
{
    const uint32_t leader = scene->operations[of->first].leader;
    return leader == LULL_NONE ? of->first : leader;
}

/* How many operations the call that submits an operation submits then; 0: another call does. */
static uint32_t together_of(const struct device_scene *scene, uint32_t first)
{
    const struct device_operation *of = &scene->operations[first];
    return leader_of(scene, of) == first ? of->same + of->joined : 0;
}

/* ---- lists ----------------------------------------------------------------------------------- */

enum { MOST_NUMBERS = 16 };

/* The operation that a wait is for: of all that a stream had the last one that was submitted by then. */
static uint32_t find_awaited(const struct device_scene *scene, const struct lull_device_wait *wait)
{
    if (wait->number > 0)
        return last_of_number(scene, wait->number);
    if (wait->stream < scene->process->first_location ||
        wait->stream - scene->process->first_location >= scene->process->n_locations)
        return LULL_NONE;
    const uint32_t *groups = &scene->groups[wait->stream - scene->process->first_location];
    struct lull_bisection at = {.begin = groups[0], .end = groups[1]};
    while (lull_bisect(&at))
        at.in_front = scene->operations[scene->grouped[at.middle]].submitted < wait->time;
    return at.begin > groups[0] ? scene->grouped[at.begin - 1] : LULL_NONE;
}

/* Whether nothing tells what a thread waits for itself. */
static bool is_apart(const struct device_scene *scene, uint32_t location)
{
    const struct lull_trace *trace = scene->trace;
    struct lull_device_piece piece = lull_device_piece_open(scene->log, location);
    if (location == scene->process->first_location || scene->meets[location])
        return false;
    for (uint32_t r = 0;
         trace->locations[location].role == LULL_THREAD_WORKER && r < trace->n_regions; r++)
        if (trace->regions[r].parallel)
            return false;
    while (lull_device_piece_next(&piece))
        if (piece.place == LULL_PLACE_MPI)
            return false;
    return true;
}

static bool add_foreign(struct device_scene *scene, int64_t time, uint32_t sync)
{
    if (!lull_array_reserve(&scene->foreign, &scene->foreign_capacity, scene->n_foreign + 1,
                            sizeof *scene->foreign))
        return false;
    scene->foreign[scene->n_foreign++] = (struct device_foreign){time, sync};
    return true;
}

static int by_foreign_time(const void *a, const void *b)
{
    const struct device_foreign *x = a, *y = b;
    return x->time != y->time ? (x->time < y->time ? -1 : 1) : compare_numbers(x->sync, y->sync);
}

/* Whether a piece of the master's time goes on with the state of the one before: it waits in another call alone. */
static bool goes_on(const struct lull_device_piece *before, const struct lull_device_piece *piece)
{
    return before->end == piece->begin && before->place == piece->place &&
           before->waits_for == piece->waits_for && before->stream == piece->stream;
}

/* What threads apart submit goes to the master, with when its state began in which that was. */
static bool write_foreign(struct device_scene *scene, struct lull_replay_devices *devices)
{
    const uint32_t master = scene->process->first_location;
    struct lull_varints *list = &devices->locations[master].apart;
    struct lull_device_piece piece = lull_device_piece_open(scene->log, master);
    uint64_t sync = 0;
    int64_t anchor = 0, since = 0;
    if (scene->n_foreign > 0)
        qsort(scene->foreign, scene->n_foreign, sizeof *scene->foreign, by_foreign_time);
    for (size_t i = 0; i < scene->n_foreign; i++) {
        const struct device_foreign *foreign = &scene->foreign[i];
        const struct device_operation *of = &scene->operations[foreign->sync];
        while (piece.end <= foreign->time) {
            const struct lull_device_piece before = piece;
            if (!lull_device_piece_next(&piece))
                break;
            if (!goes_on(&before, &piece))
                since = piece.begin;
        }
        const int64_t begin = min_ns(since, foreign->time);
        if (!lull_varints_reserve(list, MOST_NUMBERS))
            return false;
        lull_varints_put(list, of->same);
        lull_varints_put_near(list, foreign->sync, sync);
        lull_varints_put_near(list, (uint64_t)begin, (uint64_t)anchor);
        lull_varints_put(list, (uint64_t)(foreign->time - begin + of->latency));
        lull_varints_put(list, together_of(scene, foreign->sync));
        sync = foreign->sync;
        anchor = begin;
        devices->locations[master].needed = true;
    }
    return true;
}

/* When a wait of a thread ends that begins at `time`; `piece` is read up to there. */
static int64_t end_of_wait(struct lull_device_piece *piece, int64_t time)
{
    while (piece->end <= time && lull_device_piece_next(piece))
        ;
    return piece->end > time && piece->place == LULL_PLACE_RUNTIME ? piece->end : time;
}

static bool write_waits(struct device_scene *scene, struct lull_replay_devices *devices,
                        uint32_t location, bool count)
{
    struct lull_varints *list = &devices->locations[location].waits;
    struct lull_device_wait wait = lull_device_wait_open(scene->log, location);
    struct lull_device_piece piece = lull_device_piece_open(scene->log, location);
    uint64_t sync = 0;
    int64_t end = 0;
    if (is_apart(scene, location))
        return true;
    while (lull_device_wait_next(&wait)) {
        const uint32_t index = find_awaited(scene, &wait);
        struct device_operation *of = index == LULL_NONE ? NULL : &scene->operations[index];
        const int64_t until = end_of_wait(&piece, wait.time);
        of = of && of->needed != NOT_SUBMITTED && of->needed <= wait.time && of->met < until
                 ? of
                 : NULL;
        if (count) {
            if (of)
                of->waiters++;
            continue;
        }
        if (!lull_varints_reserve(list, MOST_NUMBERS))
            return false;
        lull_varints_put(list, of ? of->waiters : 0);
        if (!of)
            continue;
        lull_varints_put_near(list, index, sync);
        lull_varints_put_near(list, (uint64_t)of->end, (uint64_t)end);
        sync = index;
        end = of->end;
        devices->locations[location].needed = true;
    }
    return true;
}

static bool write_submits(struct device_scene *scene, struct lull_replay_devices *devices,
                          uint32_t location)
{
    const bool apart = is_apart(scene, location);
    struct lull_varints *list = &devices->locations[location].calls;
    struct lull_device_submit submit = lull_device_submit_open(scene->log, location);
    uint64_t sync = 0;
    while (lull_device_submit_next(&submit)) {
        const struct device_operation *of = find_submitted(scene, &submit);
        const uint32_t first = of ? (uint32_t)(of - scene->operations) : LULL_NONE;
        if (!lull_varints_reserve(list, MOST_NUMBERS))
            return false;
        if (apart && of && !add_foreign(scene, submit.time, first))
            return false;
        if (apart)
            continue;
        lull_varints_put(list, of ? of->same : 0);
        if (!of)
            continue;
        const uint32_t together = together_of(scene, first);
        lull_varints_put_near(list, first, sync);
        lull_varints_put(list, (uint64_t)of->latency);
        lull_varints_put(list, together);
        if (together == 0)
            lull_varints_put(list, (uint64_t)of->call_ns);
        sync = first;
        devices->locations[location].needed = true;
    }
    return true;
}

/* What the first number of an operation says: its kind, whether it was submitted, whether it takes part in exchanges, and how
 * many it depends on. */
#define HEAD(kind, submitted, exchanges, depends) \
    ((uint64_t)(depends)*16 + (uint64_t)(exchanges)*8 + (uint64_t)(submitted)*4 + (uint64_t)(kind))

static bool write_operation(const struct device_scene *scene, struct lull_replay_devices *devices,
                            uint32_t index, struct device_operation *last)
{
    const struct device_operation *of = &scene->operations[index];
    struct lull_varints *list = &devices->locations[of->stream].calls;
    const bool submitted = of->submitted != NOT_SUBMITTED;
    if (!lull_varints_reserve(list, MOST_NUMBERS + 2 * (size_t)of->n_depends))
        return false;
    devices->locations[of->stream].needed = true;
    lull_varints_put(list, HEAD(of->kind, submitted, of->part != NULL, of->n_depends));
    lull_varints_put_near(list, index, last->number);
    lull_varints_put(list, (uint64_t)(of->begin - last->end));
    lull_varints_put(list, (uint64_t)(of->end - of->begin));
    lull_varints_put_near(list, of->region, last->region);
    lull_varints_put(list, (uint64_t)of->lag);
    lull_varints_put(list, (uint64_t)of->after);
    lull_varints_put(list, of->waiters);
    if (of->part) {
        lull_varints_put(list, (uint64_t)(of->part - scene->exchanges->kernels));
        lull_varints_put(list, (uint64_t)(of->part->met - scene->shift - of->begin));
    }
    if (submitted) {
        lull_varints_put_near(list, (uint64_t)of->begin, (uint64_t)of->submitted);
        lull_varints_put_near(list, of->first, index);
        lull_varints_put(list, scene->operations[of->first].same);
        const uint32_t leader = leader_of(scene, of);
        lull_varints_put_near(list, leader, of->first);
        lull_varints_put(list, together_of(scene, leader));
    }
    for (uint32_t d = 0; d < of->n_depends; d++) {
        const uint32_t other = scene->depends[of->first_depend + d].other;
        lull_varints_put(list, index - other);
        lull_varints_put(list, scene->operations[other].waiters);
    }
    if (of->kind == LULL_OPERATION_KERNEL)
        devices->locations[of->stream].kernel_ns += of->end - of->begin;
    if (of->kind == LULL_OPERATION_COPY)
        devices->locations[of->stream].copies = true;
    else
        devices->locations[of->stream].others = true;
    last->number = index;
    last->end = of->end;
    last->region = of->region;
    return true;
}

static bool write_stream(const struct device_scene *scene, struct lull_replay_devices *devices,
                         uint32_t location)
{
    const uint32_t *groups = &scene->groups[location - scene->process->first_location];
    struct device_operation last = {0};
    for (uint32_t i = groups[0]; i < groups[1]; i++)
        if (!write_operation(scene, devices, scene->grouped[i], &last))
            return false;
    return true;
}

static bool write_lists(struct device_scene *scene, struct lull_replay_devices *devices,
                        uint32_t application)
{
    const uint32_t first = scene->process->first_location,
                   end = first + scene->process->n_locations;
    bool good = true;
    for (size_t d = 0; d < scene->n_depends; d++)
        scene->operations[scene->depends[d].other].waiters++;
    for (uint32_t l = first; good && l < end; l++)
        good = lull_is_of_device(scene->trace, l, application) || gather_sequences(scene, l);
    devices->repeats |= scene->repeats;
    for (uint32_t l = first; good && l < end; l++)
        good = write_waits(scene, devices, l, true);
    for (uint32_t l = first; good && l < end; l++)
        good = write_waits(scene, devices, l, false) &&
               (lull_is_of_device(scene->trace, l, application) ? write_stream(scene, devices, l)
                                                                : write_submits(scene, devices, l));
    return good && write_foreign(scene, devices);
}

static bool conclude_process(struct lull_replay_devices *devices, uint32_t process,
                             uint32_t application, const struct lull_device_log *log,
                             const bool *meets, int64_t shift)
{
    struct device_scene scene = {.trace = devices->trace,
                                 .log = log,
                                 .meets = meets,
                                 .exchanges = &devices->exchanges,
                                 .shift = shift,
                                 .process = &devices->trace->processes[process]};
    bool good = gather_process(&scene, application);
    if (good && scene.n_operations > 0 && scene.n_submits > 0) {
        good = decide_operations(&scene) && write_lists(&scene, devices, application);
    }
    free(scene.operations);
    free(scene.numbers);
    free(scene.submits);
    free(scene.depends);
    free(scene.grouped);
    free(scene.groups);
    free(scene.times);
    free(scene.foreign);
    return good;
}

lull_status lull_replay_devices_make(const struct lull_trace *trace, uint32_t application,
                                     const struct lull_device_log *log, const bool *meets,
                                     const int64_t *shifts,
                                     struct lull_replay_devices **ret_devices,
                                     struct lull_error *err)
{
    struct lull_replay_devices *devices =
        calloc(1, sizeof *devices + (trace->n_locations + (size_t)1) * sizeof *devices->locations);
    bool good = devices;
    if (devices) {
        devices->trace = trace;
        good = lull_exchanges_find(trace, application, log, shifts, &devices->exchanges, err) ==
               LULL_OK;
    }
    for (uint32_t p = 0; good && p < trace->n_processes; p++)
        good = !lull_device_log_uses(log, p) ||
               conclude_process(devices, p, application, log, meets, shifts ? shifts[p] : 0);
    if (!good) {
        lull_replay_devices_destroy(devices);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    }
    *ret_devices = devices;
    return LULL_OK;
}

void lull_replay_devices_destroy(struct lull_replay_devices *devices)
{
    if (!devices)
        return;
    for (uint32_t l = 0; l < devices->trace->n_locations; l++) {
        free(devices->locations[l].calls.bytes);
        free(devices->locations[l].waits.bytes);
        free(devices->locations[l].apart.bytes);
    }
    lull_exchanges_free(&devices->exchanges);
    free(devices);
}

const struct lull_exchanges *
lull_replay_devices_exchanges(const struct lull_replay_devices *devices)
{
    return &devices->exchanges;
}

bool lull_replay_devices_need(const struct lull_replay_devices *devices, uint32_t location)
{
    return devices->locations[location].needed;
}

int64_t lull_replay_devices_kernel_ns(const struct lull_replay_devices *devices, uint32_t location)
{
    return devices->locations[location].kernel_ns;
}

bool lull_replay_devices_repeat(const struct lull_replay_devices *devices)
{
    return devices->repeats;
}

bool lull_replay_devices_mixes(const struct lull_replay_devices *devices, uint32_t location)
{
    return devices->locations[location].copies && devices->locations[location].others;
}

/* ==== threads ================================================================================= */

static void read_apart(struct lull_device_caller *caller)
{
    caller->has_next = lull_varints_more(&caller->apart);
    if (!caller->has_next)
        return;
    caller->next.waiting = (uint32_t)lull_varints_get(&caller->apart);
    caller->next.sync = (uint32_t)lull_varints_get_near(&caller->apart, caller->next.sync);
    caller->anchor = (int64_t)lull_varints_get_near(&caller->apart, (uint64_t)caller->anchor);
    caller->next.latency = (int64_t)lull_varints_get(&caller->apart);
    caller->next.together = (uint32_t)lull_varints_get(&caller->apart);
}

struct lull_device_caller lull_device_caller_open(const struct lull_replay_devices *devices,
                                                  uint32_t location)
{
    struct lull_device_caller caller = {
        .submits = lull_varints_read(&devices->locations[location].calls),
        .waits = lull_varints_read(&devices->locations[location].waits),
        .apart = lull_varints_read(&devices->locations[location].apart)};
    read_apart(&caller);
    return caller;
}

bool lull_device_caller_submits_apart(struct lull_device_caller *caller, int64_t time,
                                      struct lull_device_submission *ret_submission)
{
    if (!caller->has_next || caller->anchor > time)
        return false;
    *ret_submission = caller->next;
    read_apart(caller);
    return true;
}

bool lull_device_caller_submits(struct lull_device_caller *caller,
                                struct lull_device_submission *ret_submission)
{
    const uint32_t waiting =
        lull_varints_more(&caller->submits) ? (uint32_t)lull_varints_get(&caller->submits) : 0;
    if (waiting == 0)
        return false;
    caller->submitted = lull_varints_get_near(&caller->submits, caller->submitted);
    *ret_submission =
        (struct lull_device_submission){.sync = (uint32_t)caller->submitted,
                                        .waiting = waiting,
                                        .latency = (int64_t)lull_varints_get(&caller->submits)};
    ret_submission->together = (uint32_t)lull_varints_get(&caller->submits);
    if (ret_submission->together == 0)
        ret_submission->call_ns = (int64_t)lull_varints_get(&caller->submits);
    return true;
}

uint32_t lull_device_waiting(const struct lull_device_submission *submission,
                             const struct lull_device_change *change)
{
    if (change && change->ahead)
        return 0;
    return change && change->graphs ? submission->together : submission->waiting;
}

bool lull_device_caller_waits(struct lull_device_caller *caller,
                              struct lull_device_awaited *ret_awaited)
{
    const uint32_t waiting =
        lull_varints_more(&caller->waits) ? (uint32_t)lull_varints_get(&caller->waits) : 0;
    if (waiting == 0)
        return false;
    caller->awaited = lull_varints_get_near(&caller->waits, caller->awaited);
    caller->end = (int64_t)lull_varints_get_near(&caller->waits, (uint64_t)caller->end);
    *ret_awaited = (struct lull_device_awaited){
        .sync = (uint32_t)caller->awaited, .waiting = waiting, .end = caller->end};
    return true;
}

/* Kinds of SYNCs; see also stream.c. TURN: the other track of a stream has come to an operation that waits for both. */
enum { SUBMITTED = UINT32_MAX - 2, COMPLETED = UINT32_MAX - 3, TURN = UINT32_MAX - 4 };

static struct lull_op device_sync(enum lull_sync_part part, uint32_t kind, uint32_t number,
                                  uint32_t waiting)
{
    return (struct lull_op){.kind = LULL_OP_SYNC,
                            .collective = (uint8_t)part,
                            .region = LULL_OP_NO_REGION,
                            .peer = 1,
                            .tag = number,
                            .comm = kind,
                            .request = LULL_OP_NO_REQUEST,
                            .bytes = waiting};
}

struct lull_op lull_device_submitted(enum lull_sync_part part, uint32_t number, uint32_t waiting,
                                     int64_t delay)
{
    struct lull_op sync = device_sync(part, SUBMITTED, number, waiting);
    sync.delay = delay;
    return sync;
}

/* Both tracks of a stream arrive; a stream with one track arrives for both. */
static uint32_t arrivals_of(const struct lull_device_change *change)
{
    return change && change->overlap ? 2 : 1;
}

struct lull_op lull_device_completed(enum lull_sync_part part, uint32_t number, uint32_t waiting,
                                     const struct lull_device_change *change)
{
    struct lull_op sync = device_sync(part, COMPLETED, number, waiting);
    sync.peer = arrivals_of(change);
    return sync;
}

/* ==== streams ================================================================================= */

/* What an operation does, in this order. */
enum device_stage {
    STAGE_READS,
    STAGE_TAKES_TURN,
    STAGE_LAGS,
    STAGE_AWAITS_SUBMISSION,
    STAGE_AWAITS_OTHERS,
    STAGE_COMES_AFTER,
    STAGE_SENDS,
    STAGE_RUNS,
    STAGE_EXCHANGES,
    STAGE_RECEIVES,
    STAGE_TRANSFERS,
    STAGE_ENDS
};

struct lull_device_stream {
    struct lull_device_stream_options options;
    const struct lull_exchanges *exchanges;
    const struct lull_location *locations;
    uint32_t n_regions;
    struct lull_varint_reader reader;
    uint8_t stage, kind;
    bool submitted, left_out;
    const struct lull_exchange_kernel *part; /* of the operation in exchanges; NULL: in none */
    int64_t met;        /* measured: when the last of those began that it waits for */
    uint32_t next_link; /* of those that it sends, or receives */
    bool own;           /* the operation is on this track */
    uint32_t arrivals;  /* that its completion still needs of this track */
    uint64_t index, region, depends;
    uint32_t first, same, waiters, location;
    int64_t before, begin, end; /* measured; `before`: the end of the operation before */
    int64_t lag, after;
};

struct lull_device_stream *lull_device_stream_open(const struct lull_replay_devices *devices,
                                                   uint32_t location,
                                                   const struct lull_device_stream_options *options)
{
    struct lull_device_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->options = *options;
    stream->exchanges = &devices->exchanges;
    stream->locations = devices->trace->locations;
    stream->n_regions = devices->trace->n_regions;
    stream->location = location;
    stream->reader = lull_varints_read(&devices->locations[location].calls);
    return stream;
}

void lull_device_stream_close(struct lull_device_stream *stream)
{
    free(stream);
}

static void read_operation(struct lull_device_stream *s)
{
    const uint64_t head = lull_varints_get(&s->reader);
    s->kind = head % 4;
    s->submitted = head & 4;
    s->depends = head / 16;
    s->index = lull_varints_get_near(&s->reader, s->index);
    s->before = s->end;
    s->begin = s->end + (int64_t)lull_varints_get(&s->reader);
    s->end = s->begin + (int64_t)lull_varints_get(&s->reader);
    s->region = lull_varints_get_near(&s->reader, s->region);
    s->lag = (int64_t)lull_varints_get(&s->reader);
    s->after = (int64_t)lull_varints_get(&s->reader);
    s->waiters = (uint32_t)lull_varints_get(&s->reader);
    s->part = head & 8 ? &s->exchanges->kernels[lull_varints_get(&s->reader)] : NULL;
    s->met = s->part ? s->begin + (int64_t)lull_varints_get(&s->reader) : s->begin;
    s->next_link = 0;
    s->left_out = false;
    s->own = s->options.track == LULL_TRACK_ALL ||
             (s->options.track == LULL_TRACK_COPIES) == (s->kind == LULL_OPERATION_COPY);
    s->arrivals = s->waiters == 0                      ? 0
                  : s->options.track == LULL_TRACK_ALL ? arrivals_of(s->options.change)
                                                       : 1;
    if (!s->submitted)
        return;
    const int64_t submitted = s->begin - (int64_t)lull_unzigzag(lull_varints_get(&s->reader));
    s->first = (uint32_t)lull_varints_get_near(&s->reader, s->index);
    s->same = (uint32_t)lull_varints_get(&s->reader);
    const uint32_t leader = (uint32_t)lull_varints_get_near(&s->reader, s->first),
                   together = (uint32_t)lull_varints_get(&s->reader);
    if (s->options.change && s->options.change->graphs) {
        s->first = leader;
        s->same = together;
    }
    s->left_out = submitted >= s->options.ends_at;
}

/* How much of a piece of measured time lies in the window. */
static int64_t part_of(const struct lull_device_stream *s, int64_t begin, int64_t end)
{
    const struct lull_interval window = s->options.window;
    return max_ns(min_ns(end, window.end) - max_ns(begin, window.begin), 0);
}

/* The kernel's time, or the copy's, where something is supposed of it. */
static int64_t changed_length(const struct lull_device_stream *s, int64_t ns)
{
    const struct lull_device_change *change = s->options.change;
    double factor = 1;
    if (!change)
        return ns;
    if (s->kind == LULL_OPERATION_COPY)
        factor = change->copies;
    else if (s->kind == LULL_OPERATION_KERNEL)
        factor = (change->streams ? change->streams[s->location] : 1) *
                 (change->kernels && s->region < s->n_regions ? change->kernels[s->region] : 1);
    return factor == 1 ? ns : llround((double)ns * factor);
}

/* A COMPUTE that was measured from `begin` to `end`. */
static bool take_time(const struct lull_device_stream *s, int64_t ns, int64_t begin, int64_t end,
                      bool runs, struct lull_op *ret_op)
{
    const uint64_t length = (uint64_t)(end - begin);
    *ret_op = (struct lull_op){.kind = LULL_OP_COMPUTE,
                               .flags = LULL_OP_NOT_SCALED,
                               .region = runs && s->region < s->n_regions ? (uint32_t)s->region
                                                                          : LULL_OP_NO_REGION,
                               .tag = (uint32_t)(length >> 32),
                               .comm = (uint32_t)length,
                               .request = LULL_OP_NO_REQUEST,
                               .duration = ns,
                               .measured = begin};
    return true;
}

static bool asks_network(const struct lull_device_stream *s)
{
    return s->options.exchanges == LULL_EXCHANGES_BY_NETWORK;
}

/* The joint exchange of the operation, if ranks wait for each other there: those with a root are for networks alone. NULL: there is
 * none. */
static const struct lull_joint_exchange *joint_of(const struct lull_device_stream *s)
{
    const struct lull_joint_exchange *of =
        s->part && s->part->exchange != LULL_NONE ? &s->exchanges->items[s->part->exchange] : NULL;
    return of && (of->root == LULL_NONE || asks_network(s)) ? of : NULL;
}

/* The stream's part in a joint exchange. Where no cost is known, the ranks wait for each other alone. */
static struct lull_op exchange_op(const struct lull_device_stream *s,
                                  const struct lull_joint_exchange *of)
{
    const bool sized = asks_network(s) && of->sized;
    const uint64_t all = of->bytes * of->n;
    const bool gathers = of->op == LULL_COLLECTIVE_ALLGATHER,
               scatters = of->op == LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK,
               both = of->op == LULL_COLLECTIVE_ALLTOALL;
    return (struct lull_op){.kind = LULL_OP_COLLECTIVE,
                            .flags = sized ? 0 : LULL_OP_MEETING,
                            .collective = of->op,
                            .region = LULL_OP_NO_REGION,
                            .peer =
                                of->root == LULL_NONE ? LULL_OP_ANY : s->options.ranks[of->root],
                            .tag = sized ? 0 : s->part->position + 1,
                            .comm = s->options.first_circle + of->circle,
                            .request = LULL_OP_NO_REQUEST,
                            .bytes = scatters || both ? all : of->bytes,
                            .received = gathers || both ? all : of->bytes};
}

/* A kernel begins, for which another one waits: a collective operation of the two, in which nobody waits for the other one. On a network
 * it is a broadcast. */
static struct lull_op link_op(const struct lull_device_stream *s,
                              const struct lull_exchange_link *link, bool sends)
{
    const bool sized = asks_network(s) && link->sized;
    const uint32_t from = s->exchanges->kernels[link->from].location;
    return (struct lull_op){
        .kind = LULL_OP_COLLECTIVE,
        .flags = (uint8_t)((sized ? 0 : LULL_OP_MEETING) | (sends ? LULL_OP_BUFFERED : 0)),
        .collective = LULL_COLLECTIVE_BCAST,
        .region = LULL_OP_NO_REGION,
        .peer = s->options.ranks[s->locations[from].process],
        .tag = sized   ? 0
               : sends ? 1
                       : 2,
        .comm = s->options.first_circle + link->circle,
        .request = LULL_OP_NO_REQUEST,
        .bytes = link->bytes,
        .received = link->bytes};
}

/* The next link from or to the operation; false: there is none. */
static bool next_link(struct lull_device_stream *s, bool sends, struct lull_op *ret_op)
{
    const struct lull_exchange_kernel *part = s->part;
    const uint32_t n = !part ? 0 : sends ? part->n_sent : part->n_received;
    const struct lull_joint_exchange *joint = joint_of(s);
    if (!s->own || s->next_link >= n || (joint && joint->root != LULL_NONE)) {
        s->next_link = 0;
        return false;
    }
    const uint32_t *links = sends ? s->exchanges->sent + part->first_sent
                                  : s->exchanges->received + part->first_received;
    *ret_op = link_op(s, &s->exchanges->links[links[s->next_link++]], sends);
    return true;
}

/* Whether the operation waits for other ranks, as far as that is known. */
static bool is_exchange(const struct lull_device_stream *s)
{
    return s->part && s->part->known;
}

/* How long the operation takes once all that it waits for have begun, and the network has taken its time; of one that takes part in no
 * exchange all of it. */
static int64_t rest_of(const struct lull_device_stream *s)
{
    const bool measured = !is_exchange(s) || s->options.exchanges == LULL_EXCHANGES_AS_MEASURED ||
                          (asks_network(s) && !s->part->sized);
    const int64_t from = is_exchange(s) ? s->met : s->begin;
    return s->left_out || !measured ? 0 : part_of(s, from, s->end);
}

bool lull_device_stream_next(struct lull_device_stream *s, struct lull_op *ret_op)
{
    for (;;) {
        const uint8_t stage = s->stage;
        s->stage++;
        switch (stage) {
        case STAGE_READS:
            if (s->options.shift > 0) {
                const int64_t shift = s->options.shift;
                s->options.shift = 0;
                s->stage = STAGE_READS;
                return take_time(s, shift, 0, 0, false, ret_op);
            }
            if (!lull_varints_more(&s->reader))
                return false;
            read_operation(s);
            break;
        case STAGE_TAKES_TURN:
            if (s->submitted || s->options.track == LULL_TRACK_ALL)
                break;
            *ret_op = device_sync(s->own ? LULL_SYNC_WAITS : LULL_SYNC_ARRIVES, TURN,
                                  (uint32_t)s->index, 1);
            return true;
        case STAGE_LAGS: {
            const int64_t lag = part_of(s, s->before, s->before + s->lag);
            if (lag > 0 && s->own && !s->left_out)
                return take_time(s, lag, s->before, s->before + s->lag, false, ret_op);
            break;
        }
        case STAGE_AWAITS_SUBMISSION:
            if (!s->own || !s->submitted || s->left_out ||
                (s->options.change && s->options.change->ahead))
                break;
            *ret_op = lull_device_submitted(LULL_SYNC_WAITS, s->first, s->same, 0);
            return true;
        case STAGE_AWAITS_OTHERS:
            if (s->depends == 0)
                break;
            s->depends--;
            s->stage = STAGE_AWAITS_OTHERS;
            const uint64_t other = s->index - lull_varints_get(&s->reader);
            const uint32_t waiting = (uint32_t)lull_varints_get(&s->reader);
            if (!s->own)
                break;
            *ret_op =
                lull_device_completed(LULL_SYNC_WAITS, (uint32_t)other, waiting, s->options.change);
            return true;
        case STAGE_COMES_AFTER: {
            const int64_t after = part_of(s, s->begin - s->after, s->begin);
            if (after > 0 && s->own && !s->left_out)
                return take_time(s, after, s->begin - s->after, s->begin, false, ret_op);
            break;
        }
        case STAGE_SENDS:
            if (!next_link(s, true, ret_op))
                break;
            s->stage = STAGE_SENDS;
            return true;
        case STAGE_RUNS: /* the begin of an exchange; all of another operation */
            if (!s->own)
                break;
            if (is_exchange(s))
                return take_time(s, 0, s->begin, s->begin, true, ret_op);
            return take_time(s, changed_length(s, rest_of(s)), s->begin, s->end, true, ret_op);
        case STAGE_EXCHANGES:
            if (!s->own || !joint_of(s))
                break;
            *ret_op = exchange_op(s, joint_of(s));
            return true;
        case STAGE_RECEIVES:
            if (!next_link(s, false, ret_op))
                break;
            s->stage = STAGE_RECEIVES;
            return true;
        case STAGE_TRANSFERS:
            if (!s->own || !is_exchange(s))
                break;
            return take_time(s, rest_of(s), s->met, s->end, true, ret_op);
        default:
            s->stage = s->arrivals > 0 ? STAGE_ENDS : STAGE_READS;
            if (s->arrivals == 0)
                break;
            s->arrivals--;
            *ret_op = lull_device_completed(LULL_SYNC_ARRIVES, (uint32_t)s->index, s->waiters,
                                            s->options.change);
            return true;
        }
    }
}
