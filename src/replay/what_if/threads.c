/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads: executions of parallel regions become shorter by what their threads lose in them
 * (what_if.h). */
#include "activity/pass.h"
#include "base/array.h"
#include "replay/what_if/what_if.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ==== shortenings ============================================================================= */

/* Shortenings: how much shorter the executions of one process would be if its threads lost less.
 *
 * The threads of an execution come to barriers. Between two barriers each thread is busy from when
 * it leaves the first until it comes to the second, and the thread that comes last decides how long
 * this part of the execution takes. From the fork to its own begin a thread is busy with
 * scheduling. If threads do not wait for locks, or scheduling takes no time, each thread comes
 * earlier by the time that it lost so. If threads are balanced, each computes for the mean time of
 * all of them, and what else it does takes as long as before. The execution is shorter by the time
 * by which the last thread comes earlier to each barrier, added up. Where threads come to different
 * numbers of barriers (tasks, sections that not all of them pass), the whole execution counts as
 * one part, and the time in barriers is left out.
 *
 * Threads of a process are read at different speeds, so what they do is kept until all of them have
 * been read to the end of the execution. Memory: 8 bytes for each execution, and what is kept. */

/* What is supposed of a parallel region: the share that is gone of each loss, by enum
 * lull_threads_change; 0: nothing is supposed of it. */
struct threads_changes {
    double shares[LULL_THREADS_CHANGES];
};

struct lull_shortenings;

/* The kinds of steps that shortenings are found from. */
#define SHORTENINGS_WANT                                                  \
    (LULL_STEP_MASK(LULL_STEP_SPAN) | LULL_STEP_MASK(LULL_STEP_STRETCH) | \
     LULL_STEP_MASK(LULL_STEP_FORK) | LULL_STEP_MASK(LULL_STEP_JOIN) |    \
     LULL_STEP_MASK(LULL_STEP_END))

/* What a thread does until it comes to a barrier, or to its end of the parallel region. Times in ns
 * of the run. */
struct piece {
    int64_t begin, arrival;         /* when it begins, and when the thread comes to the barrier */
    int64_t end;                    /* when the thread leaves the barrier */
    int64_t useful, lock, schedule; /* time in user code, waiting for locks, and scheduling */
    bool last;                      /* no barrier follows */
};

struct team_thread {
    struct piece *pieces; /* [first, count) belong to executions that are not settled */
    size_t first, count, capacity;
    struct piece open; /* the piece that goes on */
    bool inside;       /* in a parallel region */
    int64_t known;     /* ns: all steps that end until then have been read */
};

/* An execution of which not all threads have been read to the end. */
struct execution {
    int64_t fork, join; /* ns; join is INT64_MAX while it goes on */
    int64_t bursts;     /* ns of the master's time that a replay can shorten */
    uint32_t region;    /* the parallel region */
    bool counts;        /* its fork lies in the part of the run that is read */
};

struct lull_shortenings {
    pthread_mutex_t lock;
    uint32_t n_threads, n_regions;
    const struct threads_changes *changes;
    struct execution *waiting; /* [first, count): executions that are not settled, in order */
    size_t first, count, capacity;
    double *left; /* [n_left]: the share of its bursts that each settled execution keeps */
    size_t n_left, left_capacity;
    struct team_thread threads[];
};

/* Thread 0 is the master. `changes[n_regions + 1]` says what is supposed of each parallel region,
 * the last element of those without a region of the trace; borrowed. Returns NULL if there is no
 * memory. */
static struct lull_shortenings *shortenings_create(uint32_t n_threads, uint32_t n_regions,
                                                   const struct threads_changes *changes)
{
    struct lull_shortenings *s = calloc(1, sizeof *s + n_threads * sizeof *s->threads);
    if (!s)
        return NULL;
    pthread_mutex_init(&s->lock, NULL);
    s->n_threads = n_threads;
    s->n_regions = n_regions;
    s->changes = changes;
    return s;
}

static void shortenings_destroy(struct lull_shortenings *s)
{
    if (!s)
        return;
    for (uint32_t t = 0; t < s->n_threads; t++)
        free(s->threads[t].pieces);
    pthread_mutex_destroy(&s->lock);
    free(s->waiting);
    free(s->left);
    free(s);
}

/* After all steps: the share that is left of an execution's bursts; 1 for an execution that was not
 * seen. */
static double shortenings_left(const struct lull_shortenings *s, uint32_t execution)
{
    return execution < s->n_left ? s->left[execution] : 1;
}

/* ---- parts of an execution ----------------------------------------------------------------- */

/* Some threads on their way to the same barrier. Times in ns. */
struct part {
    const struct threads_changes *changes;
    int64_t longest; /* the longest time that a thread is busy */
    /* sum: of the useful times of all threads; most: the longest time that a thread would be busy
     * beside its useful time */
    double sum, most;
    uint32_t threads;
    double changed; /* the longest time that a thread would be busy, unless they are balanced */
};

/* Adds a thread's piece, of which only what lies behind `from` counts. */
static void add_piece(struct part *part, const struct piece *piece, int64_t from)
{
    const int64_t begin = piece->begin > from ? piece->begin : from;
    const int64_t busy = piece->arrival > begin ? piece->arrival - begin : 0;
    const double *shares = part->changes->shares;
    const double changed = (double)busy - shares[LULL_THREADS_NO_LOCKS] * (double)piece->lock -
                           shares[LULL_THREADS_NO_SCHEDULING] * (double)piece->schedule;
    const double beside = changed - (double)piece->useful;
    part->longest = busy > part->longest ? busy : part->longest;
    part->most = part->threads == 0 || beside > part->most ? beside : part->most;
    part->changed = changed > part->changed ? changed : part->changed;
    part->sum += (double)piece->useful;
    part->threads++;
}

/* How much earlier the last thread would come, in ns. */
static double shorter_by(const struct part *part)
{
    const double share = part->changes->shares[LULL_THREADS_BALANCED];
    if (part->threads == 0)
        return 0;
    const double balanced = part->sum / part->threads + part->most;
    const double changed = (1 - share) * part->changed + share * balanced;
    return (double)part->longest > changed ? (double)part->longest - changed : 0;
}

/* ---- an execution -------------------------------------------------------------------------- */

static const struct piece *piece_at(const struct team_thread *thread, size_t index)
{
    return &thread->pieces[thread->first + index];
}

/* How many of a thread's next pieces belong to an execution: those that end in it, and one that
 * goes on beyond it. */
static size_t pieces_in(const struct team_thread *thread, const struct execution *execution)
{
    size_t n = 0;
    while (thread->first + n < thread->count && piece_at(thread, n)->begin < execution->join &&
           (n == 0 || piece_at(thread, n - 1)->end <= execution->join))
        n++;
    return n;
}

/* Leaves out a thread's pieces that are over when the execution begins. */
static void drop_early(struct team_thread *thread, const struct execution *execution)
{
    while (thread->first < thread->count && piece_at(thread, 0)->arrival <= execution->fork &&
           (piece_at(thread, 0)->last || piece_at(thread, 0)->arrival < execution->fork))
        thread->first++;
}

/* How many of so many pieces end with a barrier. */
static size_t barriers_in(const struct team_thread *thread, size_t pieces)
{
    return pieces > 0 && piece_at(thread, pieces - 1)->last ? pieces - 1 : pieces;
}

/* The first piece of a thread, lengthened back to the fork: the time until the thread begins is
 * scheduling. */
static struct piece from_fork(const struct piece *piece, const struct execution *execution)
{
    struct piece whole = *piece;
    if (whole.begin > execution->fork) {
        whole.schedule += whole.begin - execution->fork;
        whole.begin = execution->fork;
    }
    if (whole.arrival > execution->join)
        whole.arrival = execution->join;
    return whole;
}

/* How much shorter an execution is, in ns, taken from barrier to barrier. `pieces[n_threads]` says
 * how many pieces each thread has. Behind the last barrier only the master's scheduling counts. */
static double shorter_by_parts(const struct lull_shortenings *s, const struct execution *execution,
                               const size_t *pieces, size_t barriers,
                               const struct threads_changes *changes)
{
    double sum = 0;
    for (size_t k = 0; k < barriers; k++) {
        struct part part = {.changes = changes};
        for (uint32_t t = 0; t < s->n_threads; t++) {
            if (pieces[t] == 0)
                continue;
            const struct piece *own = piece_at(&s->threads[t], k);
            const struct piece piece = k == 0 ? from_fork(own, execution) : *own;
            add_piece(&part, &piece, execution->fork);
        }
        sum += shorter_by(&part);
    }
    if (pieces[0] > barriers)
        sum += changes->shares[LULL_THREADS_NO_SCHEDULING] *
               (double)piece_at(&s->threads[0], barriers)->schedule;
    return sum;
}

/* How much shorter an execution is, in ns, if all of it is taken as one part without the time in
 * barriers. */
static double shorter_by_whole(const struct lull_shortenings *s, const struct execution *execution,
                               const size_t *pieces, const struct threads_changes *changes)
{
    struct part part = {.changes = changes};
    for (uint32_t t = 0; t < s->n_threads; t++) {
        if (pieces[t] == 0)
            continue;
        struct piece whole = from_fork(piece_at(&s->threads[t], 0), execution);
        for (size_t i = 1; i < pieces[t]; i++) {
            const struct piece *piece = piece_at(&s->threads[t], i);
            const int64_t to = piece->arrival < execution->join ? piece->arrival : execution->join;
            whole.arrival += to > piece->begin ? to - piece->begin : 0;
            whole.useful += piece->useful;
            whole.lock += piece->lock;
            whole.schedule += piece->schedule;
        }
        add_piece(&part, &whole, execution->fork);
    }
    return shorter_by(&part);
}

static bool changes_any(const struct threads_changes *changes)
{
    bool any = false;
    for (unsigned change = 0; change < LULL_THREADS_CHANGES; change++)
        any |= changes->shares[change] > 0;
    return any;
}

/* Finds what is left of an execution, and drops its pieces. `pieces[n_threads]` is scratch. False:
 * no memory. */
static bool settle(struct lull_shortenings *s, const struct execution *execution, size_t *pieces)
{
    const uint32_t region = execution->region < s->n_regions ? execution->region : s->n_regions;
    const struct threads_changes *changes = &s->changes[region];
    size_t barriers = 0;
    bool alike = true;
    double shorter = 0;
    for (uint32_t t = 0; t < s->n_threads; t++) {
        drop_early(&s->threads[t], execution);
        pieces[t] = pieces_in(&s->threads[t], execution);
        const size_t own = barriers_in(&s->threads[t], pieces[t]);
        if (t == 0)
            barriers = own;
        alike &= pieces[t] == 0 || own == barriers;
    }
    if (changes_any(changes) && execution->counts && execution->bursts > 0)
        shorter = alike && barriers > 0 ? shorter_by_parts(s, execution, pieces, barriers, changes)
                                        : shorter_by_whole(s, execution, pieces, changes);
    for (uint32_t t = 0; t < s->n_threads; t++)
        s->threads[t].first += pieces[t];
    if (!lull_array_reserve(&s->left, &s->left_capacity, s->n_left + 1, sizeof *s->left))
        return false;
    shorter = shorter < (double)execution->bursts ? shorter : (double)execution->bursts;
    s->left[s->n_left++] = shorter > 0 ? 1 - shorter / (double)execution->bursts : 1;
    return true;
}

/* Settles the executions to whose end all threads have been read. */
static bool settle_known(struct lull_shortenings *s)
{
    int64_t known = INT64_MAX;
    for (uint32_t t = 0; t < s->n_threads; t++)
        known = s->threads[t].known < known ? s->threads[t].known : known;
    if (s->first == s->count || s->waiting[s->first].join > known)
        return true;
    size_t *pieces = malloc(s->n_threads * sizeof *pieces);
    bool fits = pieces != NULL;
    while (fits && s->first < s->count && s->waiting[s->first].join <= known)
        fits = settle(s, &s->waiting[s->first++], pieces);
    free(pieces);
    return fits;
}

/* ---- steps --------------------------------------------------------------------------------- */

/* Room for one more item behind [first, count); moves these to the front if that frees more than
 * half of the array, else grows. */
static bool make_room(void *array, size_t *first, size_t *count, size_t *capacity, size_t size)
{
    unsigned char **bytes = array;
    if (*count == *capacity && *first > *capacity / 2) {
        memmove(*bytes, *bytes + *first * size, (*count - *first) * size);
        *count -= *first;
        *first = 0;
    }
    return lull_array_reserve(array, capacity, *count + 1, size);
}

static bool end_piece(struct team_thread *thread, int64_t arrival, int64_t end, bool last)
{
    if (!make_room(&thread->pieces, &thread->first, &thread->count, &thread->capacity,
                   sizeof *thread->pieces))
        return false;
    thread->open.arrival = arrival;
    thread->open.end = end;
    thread->open.last = last;
    thread->pieces[thread->count++] = thread->open;
    thread->open = (struct piece){.begin = end};
    return true;
}

/* A barrier whose time comes in two spans without a break (in one region, then in another) is one
 * barrier. */
static bool pass_barrier(struct team_thread *thread, const struct lull_step *span)
{
    struct piece *before =
        thread->count > thread->first ? &thread->pieces[thread->count - 1] : NULL;
    if (before && !before->last && before->end == span->time && thread->open.begin == span->time) {
        before->end = thread->open.begin = span->span.end;
        return true;
    }
    return end_piece(thread, span->time, span->span.end, false);
}

static bool take_span(struct team_thread *thread, const struct lull_step *span)
{
    const int64_t length = span->span.end - span->time;
    thread->known = span->span.end - 1; /* steps of the same time may follow */
    if (!span->parallel || !thread->inside)
        return true;
    switch (span->activity) {
    case LULL_OMP_SYNC:
        return pass_barrier(thread, span);
    case LULL_OMP_LOCK:
        thread->open.lock += length;
        return true;
    case LULL_OMP_SCHEDULE:
        thread->open.schedule += length;
        return true;
    case LULL_USEFUL:
        thread->open.useful += length;
        return true;
    default:
        return true;
    }
}

static bool open_execution(struct lull_shortenings *s, const struct lull_step *fork)
{
    if (!make_room(&s->waiting, &s->first, &s->count, &s->capacity, sizeof *s->waiting))
        return false;
    s->waiting[s->count++] =
        (struct execution){.fork = fork->time, .join = INT64_MAX, .counts = fork->forked.inside};
    return true;
}

static void close_execution(struct lull_shortenings *s, const struct lull_step *join)
{
    s->waiting[s->count - 1].join = join->time;
    s->waiting[s->count - 1].region = join->region;
}

static bool take_thread_step(struct lull_shortenings *s, uint32_t number,
                             const struct lull_step *step)
{
    struct team_thread *thread = &s->threads[number];
    const bool master = number == 0;
    switch (step->kind) {
    case LULL_STEP_SPAN:
        return take_span(thread, step);
    case LULL_STEP_STRETCH:
        if (master && thread->inside &&
            (step->op == LULL_STRETCH_BURST || step->op == LULL_STRETCH_DEVICE))
            s->waiting[s->count - 1].bursts += step->span.end - step->time;
        return true;
    case LULL_STEP_FORK:
        thread->inside = true;
        thread->open = (struct piece){.begin = step->time};
        return !master || open_execution(s, step);
    case LULL_STEP_JOIN:
        thread->inside = false;
        if (master)
            close_execution(s, step);
        return end_piece(thread, step->time, step->time, true);
    case LULL_STEP_END:
        thread->known = INT64_MAX;
        return true;
    default:
        return true;
    }
}

/* Takes the next steps of a thread, with their ledger; may be called for several threads at the
 * same time. False: no memory. */
static bool shortenings_take(struct lull_shortenings *s, uint32_t thread,
                             const struct lull_steps *steps)
{
    bool fits = true;
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < steps->count && fits; i++)
        fits = take_thread_step(s, thread, &steps->steps[i]);
    /* A span is told when it ends, so what lies before `now` may still be untold; but outside
     * parallel regions no span matters. */
    if (!s->threads[thread].inside && s->threads[thread].known < steps->ledger->now)
        s->threads[thread].known = steps->ledger->now;
    fits = fits && settle_known(s);
    pthread_mutex_unlock(&s->lock);
    return fits;
}

/* ==== threads ================================================================================= */

/* How far a stream has come. */
struct stream_place {
    uint32_t execution;           /* in which its last burst lay */
    struct lull_stretched bursts; /* those of this execution so far */
};

struct threads {
    const struct lull_trace *trace;
    uint32_t application, n_streams;
    struct threads_changes *changes; /* [n_regions + 1] */
    uint32_t *numbers; /* [n_locations]: its number among the OpenMP threads of its process;
                                 LULL_NONE: it is not one of them */
    struct lull_shortenings *
        *shortenings;             /* [n_processes]; NULL: nothing is known of the process */
    struct stream_place places[]; /* [n_streams] */
};

static bool is_of_executions(const struct lull_what_if_threads *threads)
{
    return threads->change != LULL_THREADS_NO_SERIAL;
}

static bool are_threads_wanted(const struct lull_what_if_options *wanted)
{
    bool any = false;
    for (uint32_t i = 0; i < wanted->n_threads; i++)
        any |= is_of_executions(&wanted->threads[i]);
    return any;
}

static void destroy_threads(void *state)
{
    struct threads *threads = state;
    for (uint32_t p = 0; threads->shortenings && p < threads->trace->n_processes; p++)
        shortenings_destroy(threads->shortenings[p]);
    free(threads->shortenings);
    free(threads->numbers);
    free(threads->changes);
    free(threads);
}

static void find_changes(struct threads *threads, const struct lull_what_if_options *wanted)
{
    const struct lull_trace *trace = threads->trace;
    for (uint32_t i = 0; i < wanted->n_threads; i++) {
        const char *name = wanted->threads[i].region;
        const double share = lull_share_of(wanted->threads[i].share);
        if (!is_of_executions(&wanted->threads[i]))
            continue;
        for (uint32_t r = 0; r <= trace->n_regions; r++)
            if (!name || (r < trace->n_regions && lull_region_is_named(name, &trace->regions[r])))
                threads->changes[r].shares[wanted->threads[i].change] =
                    fmax(share, threads->changes[r].shares[wanted->threads[i].change]);
    }
}

/* Numbers the OpenMP threads of a process, which are all but those that the program makes itself.
 * False: no memory. */
static bool number_threads(struct threads *threads, uint32_t p)
{
    const struct lull_trace *trace = threads->trace;
    const struct lull_process *process = &trace->processes[p];
    uint32_t n = 0;
    for (uint32_t i = 0; i < process->n_locations; i++) {
        const uint32_t l = process->first_location + i;
        const struct lull_location *location = &trace->locations[l];
        const bool computes =
            location->kind == LULL_LOCATION_THREAD && location->role != LULL_THREAD_FREE;
        threads->numbers[l] =
            computes && process->application == threads->application ? n++ : LULL_NONE;
    }
    if (n == 0)
        return true;
    threads->shortenings[p] = shortenings_create(n, trace->n_regions, threads->changes);
    return threads->shortenings[p] != NULL;
}

static void *create_threads(const struct lull_what_if_scene *scene)
{
    const struct lull_trace *trace = scene->trace;
    struct threads *threads =
        calloc(1, sizeof *threads + scene->n_streams * sizeof *threads->places);
    if (!threads)
        return NULL;
    threads->trace = trace;
    threads->application = scene->wanted->application;
    threads->n_streams = scene->n_streams;
    threads->changes = calloc(trace->n_regions + (size_t)1, sizeof *threads->changes);
    threads->numbers = calloc(trace->n_locations + (size_t)1, sizeof *threads->numbers);
    threads->shortenings =
        calloc(trace->n_processes + (size_t)1, sizeof(struct lull_shortenings *));
    bool fits = threads->changes && threads->numbers && threads->shortenings;
    for (uint32_t p = 0; fits && p < trace->n_processes; p++)
        fits = !lull_in_range(scene->part.range, p) || number_threads(threads, p);
    if (!fits) {
        destroy_threads(threads);
        return NULL;
    }
    find_changes(threads, scene->wanted);
    return threads;
}

/* ---- learning ------------------------------------------------------------------------------ */

static lull_status take_steps_for_threads(void *context, unsigned worker,
                                          const struct lull_steps *steps, struct lull_error *err)
{
    (void)worker;
    const struct threads *threads = context;
    const uint32_t number = threads->numbers[steps->location];
    if (number == LULL_NONE)
        return LULL_OK;
    const uint32_t process = threads->trace->locations[steps->location].process;
    return shortenings_take(threads->shortenings[process], number, steps)
               ? LULL_OK
               : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                           threads->trace->path);
}

/* The ledger is wanted because it also comes with blocks without steps, and tells then how far a
 * thread has been read. */
static struct lull_consumer consumer(void *state)
{
    return (struct lull_consumer){.context = state,
                                  .wants = SHORTENINGS_WANT,
                                  .wants_ledger = true,
                                  .steps = take_steps_for_threads};
}

/* ---- a burst ------------------------------------------------------------------------------- */

static int64_t apply_threads(void *state, const struct lull_replay_burst *burst, int64_t ns)
{
    struct threads *threads = state;
    struct stream_place *place = &threads->places[burst->stream];
    if (burst->execution == LULL_NONE)
        return ns;
    if (place->execution != burst->execution) {
        place->execution = burst->execution;
        place->bursts = (struct lull_stretched){0};
    }
    const uint32_t process = threads->trace->locations[burst->location].process;
    const double left = shortenings_left(threads->shortenings[process], burst->execution);
    return left < 1 ? lull_stretch_on(&place->bursts, ns, left, 1) : ns;
}

static void rewind_places(void *state)
{
    struct threads *threads = state;
    for (uint32_t s = 0; s < threads->n_streams; s++)
        threads->places[s] = (struct stream_place){0};
}

const struct lull_what_if_kind lull_kind_threads = {.is_wanted = are_threads_wanted,
                                                    .create = create_threads,
                                                    .destroy = destroy_threads,
                                                    .consumer = consumer,
                                                    .apply = apply_threads,
                                                    .rewind = rewind_places};
