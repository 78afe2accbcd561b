#include "record/thread/waits.h"

#include "record/caller.h"
#include "record/function/function.h"
#include "record/keep.h"
#include "record/omp/team.h"
#include "record/site/site.h"
#include "record/thread/left.h"

/* ---- records ----------------------------------------------------------------------------------
 */

static const struct rec_meeting no_meeting;

static uint32_t region_of_wait(struct rec_wait_function *function)
{
    uint32_t known = __atomic_load_n(&function->region, __ATOMIC_ACQUIRE);
    if (REC_LIKELY(known != 0))
        return known;
    const struct rec_region region = {.paradigm = function->files ? LULL_TAPE_PARADIGM_IO
                                                                  : LULL_TAPE_PARADIGM_PTHREAD,
                                      .role = function->role,
                                      .name = function->name};
    return rec_define_region_once(&function->region, &region);
}

bool rec_wait_begin(struct rec_wait *wait, struct rec_wait_function *function)
{
    struct rec_thread *self = rec_process.on ? rec_current() : &rec_nobody;
    wait->self = self;
    wait->recorded = rec_admits(self);
    if (!wait->recorded && (!self->paused || rec_is_inside(self)))
        return false;
    if (!wait->recorded) {
        wait->begin = rec_now();
        return true;
    }
    wait->region = region_of_wait(function);
    if (self->omp) /* a construct may be open on whose account threads are made */
        rec_omp_unfold(self);
    rec_gate_shut(self); /* what a signal's handler does meanwhile would come before it */
    wait->begin = rec_open_call(self, wait->region);
    return true;
}

/* The end of the thread's life is where it is already: the call is on the tape before what belongs
 * to it. */
static void put_meeting(struct rec_thread *self, unsigned what, uint64_t time,
                        const struct rec_meeting *meeting)
{
    rec_reserve_behind(self, 2);
    self->at[0].record.time = time;
    self->at[0].record.head = lull_tape_head(LULL_TAPE_NUMBER, 1, LULL_TAPE_NO_ID);
    self->at[0].record.value = what;
    self->at[1].u64[0] = meeting->number;
    self->at[1].u32[2] = meeting->location;
    self->at[1].u32[3] = meeting->threads;
    rec_commit(self, 2);
}

/* Of a thread that was paused when the call began: no record that follows is from before. */
static void put_alone(struct rec_thread *self, unsigned what, uint64_t time,
                      const struct rec_meeting *meeting)
{
    if (self->paused)
        rec_sums_pause(self, time);
    else
        *self->until = time;
    put_meeting(self, what, time, meeting);
}

/* The program has paused or resumed meanwhile: the call is a region then in which a pause may lie.
 */
static void end_over_pause(struct rec_wait *wait, const struct rec_meeting *meeting)
{
    struct rec_thread *self = wait->self;
    const bool met = meeting->number != 0;
    rec_put_enter(self, wait->region, wait->begin);
    if (met)
        put_meeting(self, LULL_TAPE_NUMBER_THREAD_WAIT_BEGIN, wait->begin, meeting);
    rec_pause_note(self);
    const uint64_t end = rec_now();
    rec_leave(self, wait->region, end);
    if (met)
        put_meeting(self, LULL_TAPE_NUMBER_THREAD_WAIT_END, end, meeting);
}

static void end_at_once(struct rec_wait *wait, const struct rec_meeting *meeting)
{
    struct rec_thread *self = wait->self;
    const uint64_t end = rec_now();
    rec_put_call(self, wait->region, wait->begin, end - wait->begin);
    if (meeting->number != 0) {
        put_meeting(self, LULL_TAPE_NUMBER_THREAD_WAIT_BEGIN, wait->begin, meeting);
        put_meeting(self, LULL_TAPE_NUMBER_THREAD_WAIT_END, end, meeting);
    }
    rec_count_call(self, wait->region, end);
}

void rec_wait_end(struct rec_wait *wait, const struct rec_meeting *meeting)
{
    struct rec_thread *self = wait->self;
    const bool met = meeting->number != 0;
    if (!wait->recorded) {
        const bool goes_on = rec_admits(self) || self->paused;
        const uint64_t end = rec_now();
        if (met && goes_on && rec_process.on) {
            put_alone(self, LULL_TAPE_NUMBER_THREAD_WAIT_BEGIN, end, meeting);
            put_alone(self, LULL_TAPE_NUMBER_THREAD_WAIT_END, end, meeting);
        }
        return;
    }
    const uint64_t gate = __atomic_load_n(&rec_process.gate, __ATOMIC_RELAXED);
    if (rec_gate_of(self) != gate + REC_GATE_CALL && rec_process.on)
        end_over_pause(wait, meeting);
    else
        end_at_once(wait, meeting);
    rec_gate_open(self);
}

/* The thread may live already: its begin must not be before this. */
void rec_wait_end_made(struct rec_wait *wait, uint64_t number)
{
    struct rec_thread *self = wait->self;
    const struct rec_meeting made = {.number = number};
    if (!wait->recorded) {
        if (number != 0 && rec_process.on)
            put_alone(self, LULL_TAPE_NUMBER_THREAD_CREATE, wait->begin, &made);
        return;
    }
    const uint64_t end = rec_now();
    rec_put_call(self, wait->region, wait->begin, end - wait->begin);
    if (number != 0)
        put_meeting(self, LULL_TAPE_NUMBER_THREAD_CREATE, wait->begin, &made);
    rec_count_call(self, wait->region, end);
    rec_gate_open(self);
}

/* ---- calls from places ------------------------------------------------------------------------
 */

/* What is called on the way is not recorded. */
static REC_COLD uint32_t new_place(struct rec_thread *self, struct rec_wait_function *function,
                                   const struct rec_wait_place *place)
{
    rec_gate_shut(self);
    const uint32_t region =
        rec_site_region(self, region_of_wait(function), place->site, place->from, place->frame);
    rec_gate_open(self);
    return region;
}

bool rec_wait_begin_at(struct rec_wait *wait, struct rec_wait_function *function,
                       const struct rec_wait_place *place)
{
    struct rec_thread *self = rec_self_or_null;
    if (!self || rec_is_runtime(place->from))
        return false;
    if (REC_UNLIKELY(!rec_admits(self)) &&
        !(rec_forget_left(self, (uintptr_t)place->frame) && rec_admits(self)))
        return false;
    if (REC_UNLIKELY(rec_functions_are_busy(self, (uintptr_t)place->frame)))
        return false;
    wait->self = self;
    wait->recorded = true;
    wait->region = (uint32_t)rec_map_get(&rec_sites, rec_site_key(place->from, place->site));
    if (REC_UNLIKELY(wait->region == 0))
        wait->region = new_place(self, function, place);
    rec_gate_shut(self);
    if (self->omp)
        rec_omp_unfold(self);
    self->frame = (uintptr_t)place->frame;
    self->from = (uintptr_t)place->from;
    wait->begin = rec_open_call(self, wait->region);
    return true;
}

uint64_t rec_wait_end_at(struct rec_wait *wait, uint64_t end)
{
    struct rec_thread *self = wait->self;
    const uint64_t gate = __atomic_load_n(&rec_process.gate, __ATOMIC_RELAXED);
    if (REC_UNLIKELY(rec_gate_of(self) != gate + REC_GATE_CALL) && rec_process.on) {
        end_over_pause(wait, &no_meeting);
        return rec_last_time(self);
    }
    rec_put_call(self, wait->region, wait->begin, end - wait->begin);
    rec_count_call(self, wait->region, end);
    return wait->begin;
}

void rec_wait_drop(struct rec_wait *wait)
{
    wait->self->at->record.head = 0;
}

void rec_wait_leave(struct rec_wait *wait)
{
    wait->self->frame = 0;
    rec_gate_open(wait->self);
}

/* ---- threads ----------------------------------------------------------------------------------
 */

static pthread_mutex_t waits_lock = PTHREAD_MUTEX_INITIALIZER;
/* What the library calls a thread -> the newest one that it has called so: its number, and in the
 * lower half its location. */
static struct rec_map thread_numbers;
static uint32_t newest_number; /* atomic */

uint64_t rec_thread_number(void)
{
    return __atomic_add_fetch(&newest_number, 1, __ATOMIC_RELAXED);
}

uint64_t rec_thread_newest(void)
{
    return __atomic_load_n(&newest_number, __ATOMIC_RELAXED);
}

void rec_thread_is(uint64_t number, uint32_t location)
{
    pthread_mutex_lock(&waits_lock);
    rec_map_put(&thread_numbers, (uintptr_t)pthread_self(), number << 32 | location);
    pthread_mutex_unlock(&waits_lock);
}

struct rec_meeting rec_meeting_of(pthread_t thread, uint64_t newest_before)
{
    const uint64_t known = rec_map_get(&thread_numbers, (uintptr_t)thread);
    struct rec_meeting meeting = {.number = known >> 32, .location = (uint32_t)known};
    if (meeting.number > newest_before)
        meeting.number = 0;
    return meeting;
}

/* ---- barriers ---------------------------------------------------------------------------------
 */

struct barrier {
    uint32_t threads; /* 0: it is none any more */
    uint32_t number;  /* of those that were made in this process */
    uint64_t come;    /* atomic: how many have come so far */
};
static struct rec_map barriers; /* address -> struct barrier, which stays */

void rec_barrier_is(const void *address, uint32_t count)
{
    static uint32_t numbers;
    pthread_mutex_lock(&waits_lock);
    struct barrier *barrier = (struct barrier *)rec_map_get(&barriers, (uintptr_t)address);
    if (!barrier && count > 0) {
        barrier = rec_keep(sizeof *barrier);
        if (barrier)
            rec_map_put(&barriers, (uintptr_t)address, (uintptr_t)barrier);
    }
    if (barrier)
        *barrier = (struct barrier){.threads = count, .number = count > 0 ? ++numbers : 0};
    pthread_mutex_unlock(&waits_lock);
}

struct rec_meeting rec_barrier_come(const void *address)
{
    struct barrier *barrier = (struct barrier *)rec_map_get(&barriers, (uintptr_t)address);
    struct rec_meeting meeting = {.location = LULL_TAPE_NO_LOCATION};
    if (!barrier || barrier->threads == 0 || !rec_process.on)
        return meeting;
    const uint64_t before = __atomic_fetch_add(&barrier->come, 1, __ATOMIC_RELAXED);
    meeting.number = (uint64_t)barrier->number << 32 | (uint32_t)(before / barrier->threads);
    meeting.threads = barrier->threads;
    return meeting;
}
