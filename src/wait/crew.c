/* SPDX-License-Identifier: BSD-3-Clause */
#include "wait/crew.h"

#include "base/array.h"
#include "wait/stream.h"

#include <stdlib.h>

/* ==== what threads wait for =================================================================== */

/* The place of the time in which a late thread did nothing more than the others, as far as is
 * known, and only came late. */
static uint64_t nowhere(void)
{
    return lull_wait_key(LULL_WAIT_OWN, LULL_NONE);
}

static void add_time(struct wait_crew *crew, struct crew_thread *thread, uint64_t key,
                     uint32_t call, int64_t ns)
{
    crew->no_memory |= !lull_wait_ledger_add(&thread->ledger, key, call, ns);
}

static struct wait_moment take_moment(struct wait_crew *crew, struct crew_thread *thread)
{
    const struct wait_moment moment = lull_wait_moment_take(&thread->ledger);
    crew->no_memory |= !moment.snapshot;
    return moment;
}

/* ---- charges ------------------------------------------------------------------------------- */

/* A wait of a thread: who waits, for whom, from when on, how long, and in what kind of wait. */
struct thread_wait {
    uint32_t thread, late, call;
    uint32_t parallel; /* as in struct lull_wait_charge */
    int64_t begin, ns;
    uint8_t kind;
};

static void charge_parts(struct lull_waits *waits, struct wait_crew *crew,
                         const struct thread_wait *wait, const struct wait_part *parts,
                         uint32_t count)
{
    const struct wait_charged charged = {.location = crew->first_location + wait->thread,
                                         .begin = wait->begin,
                                         .wait = wait->ns,
                                         .late = crew->first_location + wait->late,
                                         .call = wait->call,
                                         .parallel = wait->parallel,
                                         .kind = wait->kind};
    crew->threads[wait->thread].sums.waited_ns[wait->kind] += wait->ns;
    pthread_mutex_lock(&waits->lock);
    crew->no_memory |= !lull_wait_charge_parts(waits, &charged, parts, count);
    pthread_mutex_unlock(&waits->lock);
}

static void charge_between(struct lull_waits *waits, struct wait_crew *crew,
                           const struct thread_wait *wait, struct wait_moment late,
                           struct wait_moment since)
{
    const struct wait_between between = {.late = crew->first_location + wait->late,
                                         .other = crew->first_location + wait->thread,
                                         .at = late,
                                         .ledger = &crew->threads[wait->thread].ledger,
                                         .other_since = since};
    struct wait_part parts[LULL_WAIT_LEDGER + 2];
    const uint32_t n = lull_wait_divide(&between, wait->ns, nowhere(), parts);
    charge_parts(waits, crew, wait, parts, n);
}

/* ---- barriers ------------------------------------------------------------------------------ */

static void arrive(struct wait_crew *crew, uint32_t t, const struct lull_step *step)
{
    struct crew_thread *thread = &crew->threads[t];
    if (!crew->open)
        crew->open = calloc(1, sizeof *crew->open);
    struct crew_meeting *meeting = crew->open;
    if (!meeting || thread->meeting) {
        crew->no_memory |= !meeting;
        return;
    }
    if (meeting->references == 0 || step->time > meeting->last_time) {
        lull_wait_moment_move(&meeting->late, take_moment(crew, thread));
        meeting->last_time = step->time;
        meeting->last = t;
        meeting->region = step->region;
        meeting->parallel = step->crew.call;
    }
    meeting->members++;
    meeting->references++;
    thread->meeting = meeting;
    thread->at_end = step->op == LULL_CREW_ARRIVE_AT_END;
    thread->began = thread->stamp = step->time;
    thread->settled = thread->pending = 0;
}

/* If another thread has arrived since the thread's pending time was last looked at, all of that
 * time was before the arrival, and so a wait. */
static void settle_pending_wait(struct crew_thread *thread)
{
    if (thread->meeting->last_time <= thread->stamp)
        return;
    thread->settled += thread->pending;
    thread->pending = 0;
    thread->stamp = thread->meeting->last_time;
}

/* The part of a step's span that lies before `time`. */
static int64_t part_before(int64_t time, const struct lull_step *step)
{
    const int64_t until = time < step->time ? time : step->time;
    return until > step->crew.began ? until - step->crew.began : 0;
}

/* A thread leaves a barrier. All threads met when the last one came, so a thread that takes long to
 * leave is late from then on. */
static void leave(struct lull_waits *waits, struct wait_crew *crew, uint32_t t, int64_t time)
{
    struct crew_thread *thread = &crew->threads[t];
    struct crew_meeting *meeting = thread->meeting;
    if (!meeting)
        return;
    settle_pending_wait(thread);
    if (crew->open == meeting)
        crew->open = NULL;
    const struct thread_wait wait = {.thread = t,
                                     .late = meeting->last,
                                     .call = meeting->region,
                                     .parallel = meeting->parallel,
                                     .begin = thread->began,
                                     .ns = thread->settled,
                                     .kind = LULL_WAIT_THREAD_BARRIER};
    const bool waited = wait.ns > 0 && meeting->last != t;
    if (waited)
        charge_between(waits, crew, &wait, meeting->late, (struct wait_moment){0});
    if (thread->at_end) {
        thread->sums.threads_ns += waited ? wait.ns : 0;
        thread->sums.threads_ends_ns += waited ? wait.ns : 0;
    } else {
        thread->sums.threads_rest_ns += thread->pending + (waited ? 0 : wait.ns);
    }
    if (meeting->members > 1) {
        lull_wait_ledger_begin_anew(&thread->ledger);
        add_time(crew, thread, lull_wait_key(LULL_WAIT_OWN, meeting->region), LULL_NONE,
                 time - meeting->last_time);
    }
    thread->meeting = NULL;
    if (--meeting->references == 0) {
        lull_wait_moment_drop(&meeting->late);
        free(meeting);
    }
}

/* ---- locks --------------------------------------------------------------------------------- */

static void note_hold(struct wait_crew *crew, uint32_t t, const struct lull_step *step)
{
    if (crew->n_lock_waiters == 0)
        return;
    if (!lull_array_reserve(&crew->holds, &crew->hold_capacity, crew->n_holds + 1,
                            sizeof *crew->holds)) {
        crew->no_memory = true;
        return;
    }
    crew->holds[crew->n_holds++] = (struct crew_hold){.began = step->crew.began,
                                                      .ended = step->time,
                                                      .thread = t,
                                                      .region = step->region,
                                                      .call = step->crew.call,
                                                      .lock = step->crew.number};
}

/* The last hold of a lock by another thread that ended no later than `time`. NULL: there is none
 * that ended after `begin`. Holds are in the order of their ends. */
static const struct crew_hold *last_hold(const struct wait_crew *crew, uint32_t t, uint64_t lock,
                                         int64_t begin, int64_t time)
{
    for (size_t i = crew->n_holds; i-- > 0 && crew->holds[i].ended > begin;) {
        const struct crew_hold *hold = &crew->holds[i];
        if (hold->thread != t && hold->lock == lock && hold->began < time && hold->ended <= time)
            return hold;
    }
    return NULL;
}

/* Forgets the holds that ended before the first of the present waits for locks began. */
static void forget_holds(struct wait_crew *crew)
{
    enum { FEW = 64 };
    int64_t first = INT64_MAX;
    if (crew->n_lock_waiters == 0)
        crew->n_holds = 0;
    if (crew->n_holds < FEW)
        return;
    for (uint32_t t = 0; t < crew->n_threads; t++)
        if (crew->threads[t].waits_for_lock && crew->threads[t].lock_began < first)
            first = crew->threads[t].lock_began;
    size_t kept = 0;
    for (size_t i = 0; i < crew->n_holds; i++)
        if (crew->holds[i].ended > first)
            crew->holds[kept++] = crew->holds[i];
    crew->n_holds = kept;
}

static void end_lock(struct lull_waits *waits, struct wait_crew *crew, uint32_t t,
                     const struct lull_step *step)
{
    struct crew_thread *thread = &crew->threads[t];
    const struct crew_hold *hold;
    int64_t until = step->time, left = step->time - step->crew.began;
    while ((hold = last_hold(crew, t, step->crew.number, step->crew.began, until)) != NULL) {
        const int64_t from = hold->began > step->crew.began ? hold->began : step->crew.began;
        const struct thread_wait wait = {.thread = t,
                                         .late = hold->thread,
                                         .call = hold->call,
                                         .parallel = LULL_NONE,
                                         .begin = step->crew.began,
                                         .ns = hold->ended - from,
                                         .kind = LULL_WAIT_LOCK};
        const struct wait_part part = {lull_wait_key(LULL_WAIT_OWN, hold->region), LULL_NONE,
                                       LULL_NONE, wait.ns};
        charge_parts(waits, crew, &wait, &part, 1);
        add_time(crew, thread, lull_wait_key(crew->first_location + hold->thread, hold->region),
                 hold->call, wait.ns);
        left -= wait.ns;
        until = from;
    }
    add_time(crew, thread, lull_wait_key(LULL_WAIT_OWN, step->region), LULL_NONE, left);
    thread->sums.threads_ns += step->time - step->crew.began;
    thread->sums.threads_rest_ns += left;
    thread->waits_for_lock = false;
    crew->n_lock_waiters--;
    forget_holds(crew);
}

/* ---- lives --------------------------------------------------------------------------------- */

static struct crew_life *find_life(struct wait_crew *crew, uint64_t number)
{
    for (size_t i = crew->n_lives; i-- > 0;)
        if (crew->lives[i].number == number)
            return &crew->lives[i];
    return NULL;
}

static void create_life(struct wait_crew *crew, uint32_t t, uint64_t number)
{
    if (!lull_array_reserve(&crew->lives, &crew->life_capacity, crew->n_lives + 1,
                            sizeof *crew->lives)) {
        crew->no_memory = true;
        return;
    }
    crew->lives[crew->n_lives++] = (struct crew_life){
        .number = number, .made = take_moment(crew, &crew->threads[t]), .ended = -1};
}

static void end_life(struct wait_crew *crew, uint32_t t, const struct lull_step *step)
{
    struct crew_life *life = find_life(crew, step->crew.number);
    if (!life)
        return;
    life->ended = step->time;
    life->thread = t;
    lull_wait_moment_move(&life->late, take_moment(crew, &crew->threads[t]));
}

static void begin_join(struct wait_crew *crew, uint32_t t, const struct lull_step *step)
{
    struct crew_thread *thread = &crew->threads[t];
    thread->joins = true;
    thread->joined = step->crew.number;
    thread->began = step->time;
    thread->settled = thread->pending = 0;
}

static void end_join(struct lull_waits *waits, struct wait_crew *crew, uint32_t t)
{
    struct crew_thread *thread = &crew->threads[t];
    struct crew_life *life = find_life(crew, thread->joined);
    const bool known = life && life->ended >= 0 && thread->settled > 0 && life->thread != t;
    const struct thread_wait wait = {.thread = t,
                                     .late = known ? life->thread : 0,
                                     .call = LULL_NONE,
                                     .parallel = LULL_NONE,
                                     .begin = thread->began,
                                     .ns = thread->settled,
                                     .kind = LULL_WAIT_THREAD_JOIN};
    thread->joins = false;
    thread->sums.threads_rest_ns += thread->pending + (known ? 0 : thread->settled);
    if (known) {
        charge_between(waits, crew, &wait, life->late, life->made);
        add_time(crew, thread, nowhere(), LULL_NONE, wait.ns);
    }
    if (life) {
        lull_wait_moment_drop(&life->made);
        lull_wait_moment_drop(&life->late);
        *life = crew->lives[--crew->n_lives];
    }
}

/* ---- steps --------------------------------------------------------------------------------- */

/* Spends time at the end of a parallel region whose barrier is not told: the part before the last
 * known arrival counts as a wait. */
static void spend_at_end(struct crew_thread *thread, const struct lull_step *step)
{
    if (!thread->meeting)
        return;
    settle_pending_wait(thread);
    const int64_t before = part_before(thread->meeting->last_time, step);
    thread->settled += before;
    thread->pending += step->time - step->crew.began - before;
}

/* Spends time in a barrier, where the part before the last known arrival counts as a wait, or in a
 * join, where the part before the end of the other thread counts, or all if that thread has not
 * ended. */
static void spend_waiting(struct wait_crew *crew, struct crew_thread *thread,
                          const struct lull_step *step)
{
    const int64_t ns = step->time - step->crew.began;
    int64_t before = 0;
    thread->sums.threads_ns += ns;
    if (thread->joins) {
        const struct crew_life *life = find_life(crew, thread->joined);
        before = life && life->ended >= 0 ? part_before(life->ended, step) : ns;
    } else if (thread->meeting) {
        settle_pending_wait(thread);
        before = part_before(thread->meeting->last_time, step);
    } else {
        thread->sums.threads_rest_ns += ns;
        return;
    }
    thread->settled += before;
    thread->pending += ns - before;
}

/* A thread joins in a parallel region. If it begins later than the first thread, it has lost that
 * time somewhere in the runtime. */
static void fork_team(struct wait_crew *crew, uint32_t t, int64_t time)
{
    struct crew_thread *thread = &crew->threads[t];
    lull_wait_ledger_begin_anew(&thread->ledger);
    if (t == 0)
        crew->forked = time;
    else
        add_time(crew, thread, nowhere(), LULL_NONE, time - crew->forked);
}

static void spend(struct wait_crew *crew, struct crew_thread *thread, const struct lull_step *step)
{
    const int64_t ns = step->time - step->crew.began;
    if (lull_wait_is_mpi(step->activity))
        thread->ledger.in_mpi += ns;
    else
        add_time(crew, thread, lull_wait_key(LULL_WAIT_OWN, step->region), LULL_NONE, ns);
    if (step->op == LULL_CREW_REST) {
        thread->sums.threads_ns += ns;
        thread->sums.threads_rest_ns += ns;
    }
}

/* Takes the step of thread `t` that is the next in the order of time. */
static void take_crew_step(struct lull_waits *waits, struct wait_crew *crew, uint32_t t,
                           const struct lull_step *step)
{
    struct crew_thread *thread = &crew->threads[t];
    switch ((enum lull_crew_kind)step->op) {
    case LULL_CREW_WORK:
    case LULL_CREW_REST:
        spend(crew, thread, step);
        break;
    case LULL_CREW_FORK:
        fork_team(crew, t, step->time);
        break;
    case LULL_CREW_ARRIVE:
    case LULL_CREW_ARRIVE_AT_END:
        arrive(crew, t, step);
        break;
    case LULL_CREW_SYNC:
        spend_waiting(crew, thread, step);
        break;
    case LULL_CREW_AT_END:
        spend_at_end(thread, step);
        break;
    case LULL_CREW_HELD:
        note_hold(crew, t, step);
        break;
    case LULL_CREW_LOCK_BEGIN:
        thread->waits_for_lock = true;
        thread->lock_began = step->time;
        crew->n_lock_waiters++;
        break;
    case LULL_CREW_CREATE:
        create_life(crew, t, step->crew.number);
        break;
    case LULL_CREW_LIFE_BEGIN:
        lull_wait_ledger_begin_anew(&thread->ledger);
        break;
    case LULL_CREW_LIFE_END:
        end_life(crew, t, step);
        break;
    case LULL_CREW_JOIN_BEGIN:
        begin_join(crew, t, step);
        break;
    case LULL_CREW_LEAVE:
        leave(waits, crew, t, step->time);
        break;
    case LULL_CREW_LOCK_END:
        end_lock(waits, crew, t, step);
        break;
    case LULL_CREW_JOIN_END:
        end_join(waits, crew, t);
        break;
    }
}

/* ==== the crew ================================================================================ */

struct wait_crew *lull_wait_crew_create(const struct lull_trace *trace, uint32_t process)
{
    const struct lull_process *of = &trace->processes[process];
    struct wait_crew *crew = calloc(1, sizeof *crew);
    if (!crew)
        return NULL;
    crew->process = process;
    crew->first_location = of->first_location;
    crew->n_threads = of->n_threads;
    crew->threads = calloc(of->n_threads, sizeof *crew->threads);
    crew->heap = calloc(of->n_threads, sizeof *crew->heap);
    pthread_mutex_init(&crew->lock, NULL);
    if (!crew->threads || !crew->heap) {
        lull_wait_crew_destroy(crew);
        return NULL;
    }
    for (uint32_t t = 0; t < crew->n_threads; t++) /* of no thread a step is known */
        crew->heap[t] = crew->threads[t].place = t;
    return crew;
}

static void free_thread(struct crew_thread *thread)
{
    if (thread->meeting && --thread->meeting->references == 0) {
        lull_wait_moment_drop(&thread->meeting->late);
        free(thread->meeting);
    }
    lull_wait_ledger_free(&thread->ledger);
    lull_ring_free(&thread->steps);
}

void lull_wait_crew_destroy(struct wait_crew *crew)
{
    if (!crew)
        return;
    for (uint32_t t = 0; crew->threads && t < crew->n_threads; t++)
        free_thread(&crew->threads[t]);
    for (size_t i = 0; i < crew->n_lives; i++) {
        lull_wait_moment_drop(&crew->lives[i].made);
        lull_wait_moment_drop(&crew->lives[i].late);
    }
    free(crew->threads);
    free(crew->heap);
    free(crew->lives);
    free(crew->holds);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}

/* ---- the order ----------------------------------------------------------------------------- */

static const struct lull_step *first_step(const struct crew_thread *thread)
{
    return thread->steps.count ? lull_ring_at(&thread->steps, sizeof(struct lull_step), 0) : NULL;
}

/* The order of steps. Of several at the same time, those that end a wait come last. */
static bool comes_before(const struct lull_step *a, const struct lull_step *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    return (a->op >= LULL_CREW_LEAVE) < (b->op >= LULL_CREW_LEAVE);
}

/* Whether the step `a` of the thread `t` comes before the step `b` of the thread `u`: of several that
 * are equally early, that of the lowest thread comes first. */
static bool is_earlier(const struct lull_step *a, uint32_t t, const struct lull_step *b, uint32_t u)
{
    return comes_before(a, b) || (t < u && !comes_before(b, a));
}

/* Threads are in a heap by whose turn it is: first those of which no step is known, though they have not ended, as
 * all others wait for them; then those with steps, by their first one; last those that are over. */
static bool is_ahead(const struct wait_crew *crew, uint32_t t, uint32_t u)
{
    const struct crew_thread *one = &crew->threads[t], *other = &crew->threads[u];
    const struct lull_step *a = first_step(one), *b = first_step(other);
    if (a && b)
        return is_earlier(a, t, b, u);
    const int turn = a ? 1 : one->ended ? 2 : 0, turn_of_other = b ? 1 : other->ended ? 2 : 0;
    return turn != turn_of_other ? turn < turn_of_other : t < u;
}

/* It is the turn of the thread at a place of the heap later than it was, or of the first thread at another
 * time: moves it down the heap. */
static void put_off_thread(struct wait_crew *crew, uint32_t at)
{
    const uint32_t t = crew->heap[at];
    for (uint32_t child; (child = 2 * at + 1) < crew->n_threads; at = child) {
        child +=
            child + 1 < crew->n_threads && is_ahead(crew, crew->heap[child + 1], crew->heap[child]);
        if (!is_ahead(crew, crew->heap[child], t))
            break;
        crew->heap[at] = crew->heap[child];
        crew->threads[crew->heap[at]].place = at;
    }
    crew->heap[at] = t;
    crew->threads[t].place = at;
}

/* The thread whose turn it would be without the first one: in a heap it is one of the two children of the first.
 * LULL_NONE: there is one thread only. */
static uint32_t find_second_thread(const struct wait_crew *crew)
{
    if (crew->n_threads < 2)
        return LULL_NONE;
    return crew->n_threads > 2 && is_ahead(crew, crew->heap[2], crew->heap[1]) ? crew->heap[2]
                                                                               : crew->heap[1];
}

/* Takes the steps of the earliest thread up to where another thread is the earliest. False: no step is left,
 * or a thread that has not ended has none yet. */
static bool take_earliest_steps(struct lull_waits *waits, struct wait_crew *crew)
{
    const uint32_t first = crew->heap[0], second = find_second_thread(crew);
    struct crew_thread *thread = &crew->threads[first];
    const struct lull_step *other = second != LULL_NONE ? first_step(&crew->threads[second]) : NULL;
    if (thread->steps.count == 0)
        return false;
    do {
        const struct lull_step step = *first_step(thread);
        lull_ring_pop(&thread->steps);
        take_crew_step(waits, crew, first, &step);
    } while (!crew->no_memory && thread->steps.count > 0 &&
             (!other || is_earlier(first_step(thread), first, other, second)));
    put_off_thread(crew, 0);
    return true;
}

bool lull_wait_crew_take(struct lull_waits *waits, struct wait_crew *crew,
                         const struct lull_steps *steps)
{
    struct crew_thread *thread = &crew->threads[steps->location - crew->first_location];
    pthread_mutex_lock(&crew->lock);
    for (uint32_t i = 0; i < steps->count && !crew->no_memory; i++) {
        thread->ended |= steps->steps[i].kind == LULL_STEP_END;
        if (steps->steps[i].kind != LULL_STEP_CREW)
            continue;
        struct lull_step *pushed = lull_ring_push(&thread->steps, sizeof *pushed);
        crew->no_memory |= !pushed;
        if (pushed)
            *pushed = steps->steps[i];
    }
    put_off_thread(crew, thread->place);
    while (!crew->no_memory && take_earliest_steps(waits, crew))
        ;
    const bool good = !crew->no_memory;
    pthread_mutex_unlock(&crew->lock);
    return good;
}
