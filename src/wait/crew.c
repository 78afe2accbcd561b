#include "wait/crew.h"

#include "base/array.h"
#include "wait/stream.h"

#include <stdlib.h>

enum crew_note_kind {
    CREW_WORK,       /* since `began`; region of the user, or WAIT_IN_MPI */
    CREW_REST,       /* the same, in a wait for what is not known */
    CREW_FORK,       /* it joins in a parallel region */
    CREW_ARRIVE,     /* at a barrier; region; number 1: at an end, as below */
    CREW_SYNC,       /* in the barrier, or in a join, from `began` */
    CREW_AT_END,     /* at the end of a parallel region, whose barrier is not told, from `began` */
    CREW_HELD,       /* it had a lock from `began` on; region of the user; lock */
    CREW_LOCK_BEGIN, /* it waits for a lock */
    CREW_CREATE,     /* number: of a thread that it makes */
    CREW_LIFE_BEGIN, /* number: of the thread itself */
    CREW_LIFE_END,
    CREW_JOIN_BEGIN, /* number: of the thread that it waits for */
    /* What ends a wait comes after what others did at the same time. */
    CREW_LEAVE,    /* the barrier */
    CREW_LOCK_END, /* `began`; lock; region of the user */
    CREW_JOIN_END,
    CREW_END
};

/* What a lock is known by: its number, where the trace has one, or its kind. */
enum crew_lock { CREW_NO_LOCK, CREW_CRITICAL, CREW_ORDERED, CREW_UNKNOWN, CREW_NUMBERED };

static inline uint64_t wait_lock(uint64_t number)
{
    return number * CREW_NUMBERED + CREW_NUMBERED;
}

/* A step makes at most CREW_NOTES_OF_STEP notes. */
enum { CREW_NOTES_OF_STEP = 8 };

/* ==== steps become notes ====================================================================== */

/* ---- regions ------------------------------------------------------------------------------- */

static bool is_barrier(const struct lull_region *region)
{
    return region->activity == LULL_OMP_SYNC &&
           (region->role == LULL_ROLE_BARRIER || region->role == LULL_ROLE_IMPLICIT_BARRIER);
}

static uint8_t held_in(const struct lull_region *region)
{
    if (region->paradigm != LULL_PARADIGM_OPENMP)
        return CREW_NO_LOCK;
    return region->role == LULL_ROLE_CRITICAL_BODY  ? CREW_CRITICAL
           : region->role == LULL_ROLE_ORDERED_BODY ? CREW_ORDERED
                                                    : CREW_NO_LOCK;
}

static uint8_t lock_of(const struct lull_region *region)
{
    return region->role == LULL_ROLE_CRITICAL  ? CREW_CRITICAL
           : region->role == LULL_ROLE_ORDERED ? CREW_ORDERED
                                               : CREW_UNKNOWN;
}

bool lull_wait_crew_wants_visits(const struct lull_region *region)
{
    return is_barrier(region) || held_in(region) != CREW_NO_LOCK;
}

/* ---- spans --------------------------------------------------------------------------------- */

struct writing {
    struct crew_note *notes;
    size_t count;
};

static void put_crew_note(struct writing *out, uint8_t kind, int64_t began, int64_t time,
                          uint32_t region)
{
    out->notes[out->count++] =
        (struct crew_note){.kind = kind, .began = began, .time = time, .region = region};
}

static void leave_barrier(struct writing *out, struct crew_reading *reading)
{
    put_crew_note(out, CREW_LEAVE, 0, reading->left, LULL_NONE);
    reading->in_barrier = false;
    reading->left = 0;
}

static void wait_in_barrier(struct writing *out, struct crew_reading *reading,
                            const struct lull_step *step)
{
    const int64_t end = step->span.end;
    int64_t begin = step->time;
    if (reading->in_barrier && reading->left > 0 && reading->left <= end) {
        if (reading->left > begin)
            put_crew_note(out, CREW_SYNC, begin, reading->left, step->region);
        begin = reading->left;
        leave_barrier(out, reading);
    }
    if (begin == end)
        return;
    if (!reading->in_barrier)
        put_crew_note(out, CREW_ARRIVE, 0, begin, step->region);
    reading->in_barrier = true;
    put_crew_note(out, CREW_SYNC, begin, end, step->region);
}

/* ---- ends of parallel regions whose barrier is not told ------------------------------------ */

static void arrive_at_end(struct writing *out, int64_t time, uint32_t region)
{
    put_crew_note(out, CREW_ARRIVE, 0, time, region);
    out->notes[out->count - 1].number = 1;
}

static void end_scheduling(struct writing *out, struct crew_reading *reading)
{
    if (reading->scheduling.time > 0)
        out->notes[out->count++] = reading->scheduling;
    reading->scheduling.time = 0;
}

/* The master goes on at once; the others wait until there is work again. */
static void end_region(struct writing *out, struct crew_reading *reading,
                       const struct lull_step *step, bool is_master)
{
    const struct crew_note waited = reading->scheduling;
    if (reading->meets)
        return;
    if (reading->left > 0)
        leave_barrier(out, reading);
    reading->scheduling.time = 0;
    if (waited.time == step->time) {
        arrive_at_end(out, waited.began, step->region);
        put_crew_note(out, CREW_AT_END, waited.began, waited.time, step->region);
    } else {
        arrive_at_end(out, step->time, step->region);
    }
    if (is_master)
        put_crew_note(out, CREW_LEAVE, 0, step->time, LULL_NONE);
    else
        reading->at_end = true;
}

static void leave_end(struct writing *out, struct crew_reading *reading, int64_t time)
{
    if (reading->at_end)
        put_crew_note(out, CREW_LEAVE, 0, time, LULL_NONE);
    reading->at_end = false;
}

/* Whether a span is one of those above. */
static bool take_span_at_end(struct writing *out, struct crew_reading *reading,
                             const struct lull_step *step, uint32_t place)
{
    const bool nothing = step->activity == LULL_IDLE || step->activity == LULL_OTHER;
    const bool unseen = step->activity >= LULL_ACTIVITIES; /* outside of windows, or paused */
    end_scheduling(out, reading);
    if (reading->at_end && (nothing || unseen)) {
        if (nothing)
            put_crew_note(out, CREW_AT_END, step->time, step->span.end, step->region);
        return true;
    }
    leave_end(out, reading, step->time);
    if (step->activity != LULL_OMP_SCHEDULE)
        return false;
    reading->scheduling = (struct crew_note){
        .kind = CREW_WORK, .began = step->time, .time = step->span.end, .region = place};
    return true;
}

/* ---- all spans ----------------------------------------------------------------------------- */

/* Where a program has no regions of its own, constructs say where it was. */
static uint32_t place_of_span(const struct lull_step *step)
{
    return step->span.user != LULL_NONE ? step->span.user : step->region;
}

/* Time in tasks while in a barrier is work as well. */
static void take_span(const struct lull_trace *trace, struct writing *out,
                      struct crew_reading *reading, const struct lull_step *step)
{
    static const struct lull_region nowhere;
    const struct lull_region *region =
        step->region < trace->n_regions ? &trace->regions[step->region] : &nowhere;
    const int64_t begin = step->time, end = step->span.end;
    if (reading->left > 0 && begin >= reading->left)
        leave_barrier(out, reading);
    if (begin >= end)
        return;
    reading->user = step->span.user;
    if (take_span_at_end(out, reading, step, place_of_span(step)))
        return;
    if (step->activity == LULL_OMP_SYNC && reading->joins)
        put_crew_note(out, CREW_SYNC, begin, end, step->region);
    else if (step->activity == LULL_OMP_SYNC && is_barrier(region))
        wait_in_barrier(out, reading, step);
    else if (step->activity == LULL_OMP_LOCK) {
        put_crew_note(out, CREW_LOCK_BEGIN, 0, begin, LULL_NONE);
        put_crew_note(out, CREW_LOCK_END, begin, end, place_of_span(step));
        out->notes[out->count - 1].lock =
            reading->acquired_at > begin ? reading->acquired : lock_of(region);
    } else {
        const bool in_mpi = step->activity >= LULL_MPI_P2P && step->activity <= LULL_MPI_OTHER;
        put_crew_note(out, step->activity == LULL_OMP_SYNC ? CREW_REST : CREW_WORK, begin, end,
                      in_mpi ? WAIT_IN_MPI : place_of_span(step));
    }
}

static void take_visit(const struct lull_trace *trace, struct writing *out,
                       struct crew_reading *reading, const struct lull_step *step)
{
    const struct lull_region *region = &trace->regions[step->region];
    const int64_t end = step->visit.end;
    if (held_in(region) != CREW_NO_LOCK) {
        end_scheduling(out, reading);
        put_crew_note(out, CREW_HELD, step->time, end,
                      reading->user == LULL_NONE ? step->region : reading->user);
        out->notes[out->count - 1].lock = held_in(region);
        out->notes[out->count - 1].number = step->region;
    } else if (is_barrier(region) && end > step->time && !reading->joins) {
        reading->meets |= region->role == LULL_ROLE_IMPLICIT_BARRIER;
        if (!reading->in_barrier)
            put_crew_note(out, CREW_ARRIVE, 0, step->time, step->region);
        reading->in_barrier = true;
        reading->left = end;
    }
}

/* ---- locks that have numbers --------------------------------------------------------------- */

/* Where a lock is that the thread has, or a free place; CREW_LOCKS: neither. */
static uint32_t place_of_lock(const struct crew_reading *reading, uint64_t lock)
{
    uint32_t free_place = CREW_LOCKS;
    for (uint32_t i = 0; i < CREW_LOCKS; i++) {
        if (reading->held[i].times > 0 && reading->held[i].lock == lock)
            return i;
        if (reading->held[i].times == 0 && free_place == CREW_LOCKS)
            free_place = i;
    }
    return free_place;
}

static void acquire_lock(struct crew_reading *reading, const struct lull_step *step)
{
    const uint64_t lock = wait_lock(step->number);
    const uint32_t place = place_of_lock(reading, lock);
    reading->acquired = lock;
    reading->acquired_at = step->time;
    if (place == CREW_LOCKS)
        return;
    if (reading->held[place].times++ == 0) {
        reading->held[place].lock = lock;
        reading->held[place].began = step->time;
    }
}

static void release_lock(struct writing *out, struct crew_reading *reading,
                         const struct lull_step *step)
{
    const uint64_t lock = wait_lock(step->number);
    const uint32_t place = place_of_lock(reading, lock);
    if (place == CREW_LOCKS || reading->held[place].times == 0 || --reading->held[place].times > 0)
        return;
    end_scheduling(out, reading);
    put_crew_note(out, CREW_HELD, reading->held[place].began, step->time, reading->user);
    out->notes[out->count - 1].lock = lock;
    out->notes[out->count - 1].number = LULL_NONE;
}

/* ---- steps --------------------------------------------------------------------------------- */

static void take_wait(struct writing *out, struct crew_reading *reading,
                      const struct lull_step *step, bool begins)
{
    if (step->op != LULL_THREAD_WAIT_JOIN)
        return;
    put_crew_note(out, begins ? CREW_JOIN_BEGIN : CREW_JOIN_END, 0, step->time, LULL_NONE);
    out->notes[out->count - 1].number = step->meeting.number;
    reading->joins = begins;
}

static size_t wait_crew_notes_of_step(const struct lull_trace *trace, struct crew_reading *reading,
                                      const struct lull_step *step, bool is_master,
                                      struct crew_note *notes)
{
    struct writing out = {notes, 0};
    uint8_t kind = CREW_END;
    switch (step->kind) {
    case LULL_STEP_SPAN:
        take_span(trace, &out, reading, step);
        return out.count;
    case LULL_STEP_VISIT:
        take_visit(trace, &out, reading, step);
        return out.count;
    case LULL_STEP_THREAD_WAIT_BEGIN:
    case LULL_STEP_THREAD_WAIT_END:
        take_wait(&out, reading, step, step->kind == LULL_STEP_THREAD_WAIT_BEGIN);
        return out.count;
    case LULL_STEP_LOCK_ACQUIRE:
        acquire_lock(reading, step);
        return 0;
    case LULL_STEP_LOCK_RELEASE:
        release_lock(&out, reading, step);
        return out.count;
    case LULL_STEP_JOIN:
        end_region(&out, reading, step, is_master);
        return out.count;
    case LULL_STEP_FORK:
        end_scheduling(&out, reading);
        leave_end(&out, reading, step->time);
        reading->meets = false;
        kind = CREW_FORK;
        break;
    case LULL_STEP_THREAD_CREATE:
        kind = CREW_CREATE;
        break;
    case LULL_STEP_THREAD_BEGIN:
        kind = CREW_LIFE_BEGIN;
        break;
    case LULL_STEP_THREAD_END:
        kind = CREW_LIFE_END;
        break;
    case LULL_STEP_END:
        if (reading->left > 0)
            leave_barrier(&out, reading);
        end_scheduling(&out, reading);
        leave_end(&out, reading, step->time);
        break;
    default:
        return 0;
    }
    put_crew_note(&out, kind, 0, step->time, LULL_NONE);
    notes[out.count - 1].number = kind == CREW_FORK || kind == CREW_END ? 0 : step->number;
    return out.count;
}

/* ==== what threads wait for =================================================================== */

/* The place of the time for which a late thread did nothing more than the others, as far as is
 * known: it only came late. */
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

/* Who waits, from when on, how long, and for what. */
struct thread_wait {
    uint32_t thread, late, call;
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

static void arrive(struct wait_crew *crew, uint32_t t, const struct crew_note *note)
{
    struct crew_thread *thread = &crew->threads[t];
    if (!crew->open)
        crew->open = calloc(1, sizeof *crew->open);
    struct crew_meeting *meeting = crew->open;
    if (!meeting || thread->meeting) {
        crew->no_memory |= !meeting;
        return;
    }
    if (meeting->references == 0 || note->time > meeting->last_time) {
        lull_wait_moment_move(&meeting->late, take_moment(crew, thread));
        meeting->last_time = note->time;
        meeting->last = t;
        meeting->region = note->region;
    }
    meeting->members++;
    meeting->references++;
    thread->meeting = meeting;
    thread->at_end = note->number == 1;
    thread->began = thread->stamp = note->time;
    thread->settled = thread->pending = 0;
}

/* If another thread has arrived since, all time before that arrival was a wait. */
static void settle_pending_wait(struct crew_thread *thread)
{
    if (thread->meeting->last_time <= thread->stamp)
        return;
    thread->settled += thread->pending;
    thread->pending = 0;
    thread->stamp = thread->meeting->last_time;
}

static int64_t part_before(int64_t time, const struct crew_note *note)
{
    const int64_t until = time < note->time ? time : note->time;
    return until > note->began ? until - note->began : 0;
}

/* A thread leaves a barrier. All threads met when the last one came, so one that takes long to
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

static void note_hold(struct wait_crew *crew, uint32_t t, const struct crew_note *note)
{
    if (crew->n_lock_waiters == 0)
        return;
    if (!lull_array_reserve(&crew->holds, &crew->hold_capacity, crew->n_holds + 1,
                            sizeof *crew->holds)) {
        crew->no_memory = true;
        return;
    }
    crew->holds[crew->n_holds++] = (struct crew_hold){.began = note->began,
                                                      .ended = note->time,
                                                      .thread = t,
                                                      .region = note->region,
                                                      .call = (uint32_t)note->number,
                                                      .lock = note->lock};
}

/* The last hold of a lock by another thread before `time`; NULL: nobody had it after `begin`. Holds
 * are in the order of their ends. */
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

/* Forgets the holds that ended before the waits of all threads that wait now began. */
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
                     const struct crew_note *note)
{
    struct crew_thread *thread = &crew->threads[t];
    const struct crew_hold *hold;
    int64_t until = note->time, left = note->time - note->began;
    while ((hold = last_hold(crew, t, note->lock, note->began, until)) != NULL) {
        const int64_t from = hold->began > note->began ? hold->began : note->began;
        const struct thread_wait wait = {.thread = t,
                                         .late = hold->thread,
                                         .call = hold->call,
                                         .begin = note->began,
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
    add_time(crew, thread, lull_wait_key(LULL_WAIT_OWN, note->region), LULL_NONE, left);
    thread->sums.threads_ns += note->time - note->began;
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

static void end_life(struct wait_crew *crew, uint32_t t, const struct crew_note *note)
{
    struct crew_life *life = find_life(crew, note->number);
    if (!life)
        return;
    life->ended = note->time;
    life->thread = t;
    lull_wait_moment_move(&life->late, take_moment(crew, &crew->threads[t]));
}

static void begin_join(struct wait_crew *crew, uint32_t t, const struct crew_note *note)
{
    struct crew_thread *thread = &crew->threads[t];
    thread->joins = true;
    thread->joined = note->number;
    thread->began = note->time;
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

/* ---- notes --------------------------------------------------------------------------------- */

/* Time at an end whose barrier is not told: once the last arrival is known, the part before it
 * counts as a wait. */
static void spend_at_end(struct crew_thread *thread, const struct crew_note *note)
{
    if (!thread->meeting)
        return;
    settle_pending_wait(thread);
    const int64_t before = part_before(thread->meeting->last_time, note);
    thread->settled += before;
    thread->pending += note->time - note->began - before;
}

/* In a barrier, or in a join: until the thread has ended, if it has. */
static void spend_waiting(struct wait_crew *crew, struct crew_thread *thread,
                          const struct crew_note *note)
{
    const int64_t ns = note->time - note->began;
    int64_t before = 0;
    thread->sums.threads_ns += ns;
    if (thread->joins) {
        const struct crew_life *life = find_life(crew, thread->joined);
        before = life && life->ended >= 0 ? part_before(life->ended, note) : ns;
    } else if (thread->meeting) {
        settle_pending_wait(thread);
        before = part_before(thread->meeting->last_time, note);
    } else {
        thread->sums.threads_rest_ns += ns;
        return;
    }
    thread->settled += before;
    thread->pending += ns - before;
}

/* Whoever begins later than the others has lost that time somewhere in the runtime. */
static void fork_team(struct wait_crew *crew, uint32_t t, int64_t time)
{
    struct crew_thread *thread = &crew->threads[t];
    lull_wait_ledger_begin_anew(&thread->ledger);
    if (t == 0)
        crew->forked = time;
    else
        add_time(crew, thread, nowhere(), LULL_NONE, time - crew->forked);
}

static void spend(struct wait_crew *crew, struct crew_thread *thread, const struct crew_note *note)
{
    const int64_t ns = note->time - note->began;
    if (note->region == WAIT_IN_MPI)
        thread->ledger.in_mpi += ns;
    else
        add_time(crew, thread, lull_wait_key(LULL_WAIT_OWN, note->region), LULL_NONE, ns);
    if (note->kind == CREW_REST) {
        thread->sums.threads_ns += ns;
        thread->sums.threads_rest_ns += ns;
    }
}

/* Takes a note of thread `t`, whose turn it is. */
static void wait_crew_note(struct lull_waits *waits, struct wait_crew *crew, uint32_t t,
                           const struct crew_note *note)
{
    struct crew_thread *thread = &crew->threads[t];
    switch ((enum crew_note_kind)note->kind) {
    case CREW_WORK:
    case CREW_REST:
        spend(crew, thread, note);
        break;
    case CREW_FORK:
        fork_team(crew, t, note->time);
        break;
    case CREW_ARRIVE:
        arrive(crew, t, note);
        break;
    case CREW_SYNC:
        spend_waiting(crew, thread, note);
        break;
    case CREW_AT_END:
        spend_at_end(thread, note);
        break;
    case CREW_HELD:
        note_hold(crew, t, note);
        break;
    case CREW_LOCK_BEGIN:
        thread->waits_for_lock = true;
        thread->lock_began = note->time;
        crew->n_lock_waiters++;
        break;
    case CREW_CREATE:
        create_life(crew, t, note->number);
        break;
    case CREW_LIFE_BEGIN:
        lull_wait_ledger_begin_anew(&thread->ledger);
        break;
    case CREW_LIFE_END:
        end_life(crew, t, note);
        break;
    case CREW_JOIN_BEGIN:
        begin_join(crew, t, note);
        break;
    case CREW_LEAVE:
        leave(waits, crew, t, note->time);
        break;
    case CREW_LOCK_END:
        end_lock(waits, crew, t, note);
        break;
    case CREW_JOIN_END:
        end_join(waits, crew, t);
        break;
    case CREW_END:
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
    pthread_mutex_init(&crew->lock, NULL);
    if (!crew->threads) {
        lull_wait_crew_destroy(crew);
        return NULL;
    }
    for (uint32_t t = 0; t < crew->n_threads; t++)
        crew->threads[t].reading.user = LULL_NONE;
    return crew;
}

static void free_thread(struct crew_thread *thread)
{
    if (thread->meeting && --thread->meeting->references == 0) {
        lull_wait_moment_drop(&thread->meeting->late);
        free(thread->meeting);
    }
    lull_wait_ledger_free(&thread->ledger);
    lull_ring_free(&thread->notes);
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
    free(crew->lives);
    free(crew->holds);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}

/* ---- the order ----------------------------------------------------------------------------- */

static const struct crew_note *first_note(const struct crew_thread *thread)
{
    return thread->notes.count ? lull_ring_at(&thread->notes, sizeof(struct crew_note), 0) : NULL;
}

static bool comes_before(const struct crew_note *a, const struct crew_note *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    return (a->kind >= CREW_LEAVE) < (b->kind >= CREW_LEAVE);
}

/* The thread with the earliest note, of several the lowest. LULL_NONE: some thread that has not
 * ended has no note yet. */
static uint32_t find_earliest_thread(const struct wait_crew *crew)
{
    uint32_t first = LULL_NONE;
    for (uint32_t t = 0; t < crew->n_threads; t++) {
        const struct crew_note *note = first_note(&crew->threads[t]);
        if (!note && !crew->threads[t].ended)
            return LULL_NONE;
        if (note && (first == LULL_NONE || comes_before(note, first_note(&crew->threads[first]))))
            first = t;
    }
    return first;
}

static void take_notes(struct lull_waits *waits, struct wait_crew *crew)
{
    for (uint32_t t; !crew->no_memory && (t = find_earliest_thread(crew)) != LULL_NONE;) {
        const struct crew_note note = *first_note(&crew->threads[t]);
        lull_ring_pop(&crew->threads[t].notes);
        wait_crew_note(waits, crew, t, &note);
    }
}

bool lull_wait_crew_take(struct lull_waits *waits, struct wait_crew *crew,
                         const struct lull_steps *steps)
{
    const bool is_master = steps->location == crew->first_location;
    struct crew_thread *thread = &crew->threads[steps->location - crew->first_location];
    pthread_mutex_lock(&crew->lock);
    for (uint32_t i = 0; i < steps->count && !crew->no_memory; i++) {
        struct crew_note notes[CREW_NOTES_OF_STEP];
        const size_t n = wait_crew_notes_of_step(waits->trace, &thread->reading, &steps->steps[i],
                                                 is_master, notes);
        for (size_t k = 0; k < n; k++) {
            struct crew_note *pushed = lull_ring_push(&thread->notes, sizeof *pushed);
            crew->no_memory |= !pushed;
            if (pushed)
                *pushed = notes[k];
        }
        thread->ended |= steps->steps[i].kind == LULL_STEP_END;
    }
    take_notes(waits, crew);
    const bool good = !crew->no_memory;
    pthread_mutex_unlock(&crew->lock);
    return good;
}
