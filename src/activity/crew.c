/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps of a thread become CREWs. All threads of an OpenMP team meet at the end of its parallel
 * region. Some tracers (Extrae for libgomp) do not tell that barrier. Then the last span of
 * scheduling, fork and join is the master's wait for the others, and nothing is told of the others
 * between the end of their part and the next region. */
#include "activity/interpreter.h"

#include <stdlib.h>

enum { CREW_LOCKS = 8 }; /* locks that a thread has at once and that are followed; more are not */

struct crew_reading {
    bool in_barrier;
    bool joins;
    bool meets;   /* this region has an implicit barrier that is told */
    bool at_end;  /* it has come to the end of a region, and the next one has not begun */
    int64_t left; /* when it left the barrier whose spans have not been read to their end; 0: it has
                      not left */
    uint32_t user; /* region of the user */
    struct {
        uint64_t lock;
        int64_t began;
        uint32_t times; /* how often it was taken and not given back; 0: this item is free */
    } held[CREW_LOCKS];
    uint64_t acquired;   /* the lock that it took last ... */
    int64_t acquired_at; /* ... and when */
    struct {
        int64_t begin, end;
        uint32_t place;
    } scheduling; /* a span of scheduling that lasted up to now, end 0: none. If the region ends next,
                     it was a wait */
};

struct crew_reading *lull_crew_reading_create(void)
{
    struct crew_reading *thread = calloc(1, sizeof *thread);
    if (thread)
        thread->user = LULL_NONE;
    return thread;
}

/* ==== regions ================================================================================= */

/* A lock is known by its number, where the trace has one, or else by its kind. */
enum crew_lock { CREW_NO_LOCK, CREW_CRITICAL, CREW_ORDERED, CREW_UNKNOWN, CREW_NUMBERED };

static inline uint64_t numbered_lock(uint64_t number)
{
    return number * CREW_NUMBERED + CREW_NUMBERED;
}

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

bool lull_crew_locks_in(const struct lull_region *region)
{
    return held_in(region) != CREW_NO_LOCK;
}

bool lull_crew_meets_in(const struct lull_region *region)
{
    return is_barrier(region) || lull_crew_locks_in(region);
}

/* ==== spans =================================================================================== */

/* Good until the next one. */
static struct lull_step *put_crew(struct lull_interpreter *it, uint8_t op, int64_t began,
                                  int64_t time, uint32_t region)
{
    struct lull_step *step = lull_emit(it, LULL_STEP_CREW, time, 0);
    step->op = op;
    step->region = region;
    step->crew.began = began;
    step->crew.number = 0;
    const bool arrives = op == LULL_CREW_ARRIVE || op == LULL_CREW_ARRIVE_AT_END;
    step->crew.call = arrives ? it->parallel_region : LULL_NONE;
    return step;
}

static void leave_barrier(struct lull_interpreter *it, struct crew_reading *thread)
{
    put_crew(it, LULL_CREW_LEAVE, 0, thread->left, LULL_NONE);
    thread->in_barrier = false;
    thread->left = 0;
}

static void wait_in_barrier(struct lull_interpreter *it, struct crew_reading *thread,
                            const struct lull_step *step)
{
    const int64_t end = step->span.end;
    int64_t begin = step->time;
    if (thread->in_barrier && thread->left > 0 && thread->left <= end) {
        if (thread->left > begin)
            put_crew(it, LULL_CREW_SYNC, begin, thread->left, step->region);
        begin = thread->left;
        leave_barrier(it, thread);
    }
    if (begin == end)
        return;
    if (!thread->in_barrier)
        put_crew(it, LULL_CREW_ARRIVE, 0, begin, step->region);
    thread->in_barrier = true;
    put_crew(it, LULL_CREW_SYNC, begin, end, step->region);
}

/* ---- ends of parallel regions whose barrier is not told ------------------------------------ */

static void end_scheduling(struct lull_interpreter *it, struct crew_reading *thread)
{
    if (thread->scheduling.end > 0)
        put_crew(it, LULL_CREW_WORK, thread->scheduling.begin, thread->scheduling.end,
                 thread->scheduling.place)
            ->activity = LULL_OMP_SCHEDULE;
    thread->scheduling.end = 0;
}

/* The master goes on at once; the others wait until there is work again. */
static void end_parallel(struct lull_interpreter *it, struct crew_reading *thread,
                         const struct lull_step *step)
{
    if (thread->meets)
        return;
    if (thread->left > 0)
        leave_barrier(it, thread);
    const bool waited = thread->scheduling.end == step->time;
    const int64_t came = waited ? thread->scheduling.begin : step->time;
    thread->scheduling.end = 0;
    put_crew(it, LULL_CREW_ARRIVE_AT_END, 0, came, step->region);
    if (waited)
        put_crew(it, LULL_CREW_AT_END, came, step->time, step->region);
    if (it->master)
        put_crew(it, LULL_CREW_LEAVE, 0, step->time, LULL_NONE);
    else
        thread->at_end = true;
}

static void leave_end(struct lull_interpreter *it, struct crew_reading *thread, int64_t time)
{
    if (thread->at_end)
        put_crew(it, LULL_CREW_LEAVE, 0, time, LULL_NONE);
    thread->at_end = false;
}

/* Whether a span is one of those above. */
static bool take_span_at_end(struct lull_interpreter *it, struct crew_reading *thread,
                             const struct lull_step *step, uint32_t place)
{
    const bool nothing = step->activity == LULL_IDLE || step->activity == LULL_OTHER;
    const bool unseen = step->activity >= LULL_ACTIVITIES; /* outside of windows, or paused */
    end_scheduling(it, thread);
    if (thread->at_end && (nothing || unseen)) {
        if (nothing)
            put_crew(it, LULL_CREW_AT_END, step->time, step->span.end, step->region);
        return true;
    }
    leave_end(it, thread, step->time);
    if (step->activity != LULL_OMP_SCHEDULE)
        return false;
    thread->scheduling.begin = step->time;
    thread->scheduling.end = step->span.end;
    thread->scheduling.place = place;
    return true;
}

/* ---- all spans ----------------------------------------------------------------------------- */

/* Time in tasks while in a barrier is work as well. */
static void take_span(struct lull_interpreter *it, struct crew_reading *thread,
                      const struct lull_step *step)
{
    static const struct lull_region nowhere;
    const struct lull_region *region =
        step->region != LULL_NONE ? &it->shared->trace->regions[step->region] : &nowhere;
    const uint32_t place = step->span.user != LULL_NONE ? step->span.user : step->region;
    const int64_t begin = step->time, end = step->span.end;
    const bool syncs = step->activity == LULL_OMP_SYNC;
    if (thread->left > 0 && begin >= thread->left)
        leave_barrier(it, thread);
    thread->user = step->span.user;
    if (take_span_at_end(it, thread, step, place))
        return;
    if (syncs && thread->joins)
        put_crew(it, LULL_CREW_SYNC, begin, end, step->region);
    else if (syncs && is_barrier(region))
        wait_in_barrier(it, thread, step);
    else if (step->activity == LULL_OMP_LOCK) {
        put_crew(it, LULL_CREW_LOCK_BEGIN, 0, begin, LULL_NONE);
        put_crew(it, LULL_CREW_LOCK_END, begin, end, place)->crew.number =
            thread->acquired_at > begin ? thread->acquired : lock_of(region);
    } else {
        put_crew(it, syncs ? LULL_CREW_REST : LULL_CREW_WORK, begin, end, place)->activity =
            step->activity;
    }
}

void lull_crew_visit(struct lull_interpreter *it, const struct frame *frame)
{
    struct crew_reading *thread = it->crew;
    const struct lull_region *region = &it->shared->trace->regions[frame->region];
    const int64_t end = it->ledger.now;
    if (held_in(region) != CREW_NO_LOCK) {
        end_scheduling(it, thread);
        struct lull_step *step = put_crew(it, LULL_CREW_HELD, frame->time, end,
                                          thread->user == LULL_NONE ? frame->region : thread->user);
        step->crew.number = held_in(region);
        step->crew.call = frame->region;
    } else if (is_barrier(region) && end > frame->time && !thread->joins) {
        thread->meets |= region->role == LULL_ROLE_IMPLICIT_BARRIER;
        if (!thread->in_barrier)
            put_crew(it, LULL_CREW_ARRIVE, 0, frame->time, frame->region);
        thread->in_barrier = true;
        thread->left = end;
    }
}

/* ==== locks that have numbers ================================================================= */

/* Where a lock is that the thread has, or a free place; CREW_LOCKS: neither. */
static uint32_t place_of_lock(const struct crew_reading *thread, uint64_t lock)
{
    uint32_t free_place = CREW_LOCKS;
    for (uint32_t i = 0; i < CREW_LOCKS; i++) {
        if (thread->held[i].times > 0 && thread->held[i].lock == lock)
            return i;
        if (thread->held[i].times == 0 && free_place == CREW_LOCKS)
            free_place = i;
    }
    return free_place;
}

static void acquire_lock(struct crew_reading *thread, const struct lull_step *step)
{
    const uint64_t lock = numbered_lock(step->number);
    const uint32_t place = place_of_lock(thread, lock);
    thread->acquired = lock;
    thread->acquired_at = step->time;
    if (place == CREW_LOCKS)
        return;
    if (thread->held[place].times++ == 0) {
        thread->held[place].lock = lock;
        thread->held[place].began = step->time;
    }
}

static void release_lock(struct lull_interpreter *it, struct crew_reading *thread,
                         const struct lull_step *step)
{
    const uint64_t lock = numbered_lock(step->number);
    const uint32_t place = place_of_lock(thread, lock);
    if (place == CREW_LOCKS || thread->held[place].times == 0 || --thread->held[place].times > 0)
        return;
    end_scheduling(it, thread);
    put_crew(it, LULL_CREW_HELD, thread->held[place].began, step->time, thread->user)->crew.number =
        lock;
}

/* ==== all steps =============================================================================== */

static void put_life(struct lull_interpreter *it, uint8_t op, const struct lull_step *step)
{
    put_crew(it, op, 0, step->time, LULL_NONE)->crew.number = step->number;
}

static void take_wait(struct lull_interpreter *it, struct crew_reading *thread,
                      const struct lull_step *step)
{
    if (step->op != LULL_THREAD_WAIT_JOIN)
        return;
    thread->joins = step->kind == LULL_STEP_THREAD_WAIT_BEGIN;
    put_crew(it, thread->joins ? LULL_CREW_JOIN_BEGIN : LULL_CREW_JOIN_END, 0, step->time,
             LULL_NONE)
        ->crew.number = step->meeting.number;
}

void lull_crew_step(struct lull_interpreter *it, struct lull_step step)
{
    struct crew_reading *thread = it->crew;
    switch (step.kind) {
    case LULL_STEP_SPAN:
        take_span(it, thread, &step);
        break;
    case LULL_STEP_THREAD_WAIT_BEGIN:
    case LULL_STEP_THREAD_WAIT_END:
        take_wait(it, thread, &step);
        break;
    case LULL_STEP_LOCK_ACQUIRE:
        acquire_lock(thread, &step);
        break;
    case LULL_STEP_LOCK_RELEASE:
        release_lock(it, thread, &step);
        break;
    case LULL_STEP_JOIN:
        end_parallel(it, thread, &step);
        break;
    case LULL_STEP_FORK:
        end_scheduling(it, thread);
        leave_end(it, thread, step.time);
        thread->meets = false;
        put_crew(it, LULL_CREW_FORK, 0, step.time, LULL_NONE);
        break;
    case LULL_STEP_THREAD_CREATE:
        put_life(it, LULL_CREW_CREATE, &step);
        break;
    case LULL_STEP_THREAD_BEGIN:
        put_life(it, LULL_CREW_LIFE_BEGIN, &step);
        break;
    case LULL_STEP_THREAD_END:
        put_life(it, LULL_CREW_LIFE_END, &step);
        break;
    case LULL_STEP_END:
        if (thread->left > 0)
            leave_barrier(it, thread);
        end_scheduling(it, thread);
        leave_end(it, thread, step.time);
        break;
    default:
        break;
    }
}
