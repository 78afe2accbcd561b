/* The steps of a thread become notes. */
#include "wait/crew.h"

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
    const uint64_t lock = lull_wait_lock(step->number);
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
    const uint64_t lock = lull_wait_lock(step->number);
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

size_t lull_wait_crew_notes_of_step(const struct lull_trace *trace, struct crew_reading *reading,
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
