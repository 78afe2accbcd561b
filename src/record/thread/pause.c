/* Pauses that the program asks for, or the user: they hold for all threads of the process. Each
 * pause and each resumption begins an epoch; a thread takes note of it when something begins or
 * ends on it that is recorded, and writes onto its tape when the pause began and ended. Where it
 * has missed several, they become one of the same length in all. */
#include "record/aside.h"
#include "record/omp/team.h"

#include <pthread.h>

static pthread_mutex_t pause_lock = PTHREAD_MUTEX_INITIALIZER;
static struct epoch {
    uint64_t gate;    /* of the process */
    uint64_t off, on; /* when the last pause began and ended */
    uint64_t ended;   /* ticks of all pauses that have ended */
} latest_epoch;

static bool is_pause(uint64_t gate)
{
    return gate / REC_GATE_EPOCH % 2 == 1;
}

static struct epoch newest_epoch(void)
{
    pthread_mutex_lock(&pause_lock);
    struct epoch copy = latest_epoch;
    pthread_mutex_unlock(&pause_lock);
    return copy;
}

/* The first gate differs from 0, which is that of a process that records nothing. */
void rec_pause_start(void)
{
    latest_epoch.gate = 2 * REC_GATE_EPOCH;
    __atomic_store_n(&rec_process.gate, latest_epoch.gate, __ATOMIC_RELEASE);
}

static void change(enum rec_pause_reason reason, bool holds)
{
    static unsigned reasons; /* that hold */
    const struct rec_aside aside = rec_step_aside();
    pthread_mutex_lock(&pause_lock);
    reasons = holds ? reasons | reason : reasons & ~(unsigned)reason;
    const bool pause = reasons != 0;
    if (rec_process.on && is_pause(latest_epoch.gate) != pause) {
        const uint64_t now = rec_now();
        uint64_t old = latest_epoch.gate;
        latest_epoch.gate += REC_GATE_EPOCH;
        if (pause) {
            latest_epoch.off = now;
        } else {
            latest_epoch.on = now;
            latest_epoch.ended += now - latest_epoch.off;
        }
        /* At the end another thread, which does not wait for the lock, closes the gate for good. */
        __atomic_compare_exchange_n(&rec_process.gate, &old, latest_epoch.gate, false,
                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&pause_lock);
    rec_step_back(&aside);
}

void rec_pause_for(enum rec_pause_reason reason, bool pause)
{
    if (!rec_process.on)
        return;
    change(reason, pause);
    if (rec_self_or_null)
        rec_notice(rec_self_or_null);
}

void rec_pause(void)
{
    rec_current();
    rec_pause_for(REC_PAUSE_PROGRAM, true);
}

void rec_resume(void)
{
    rec_current();
    rec_pause_for(REC_PAUSE_PROGRAM, false);
}

/* ---- threads ----------------------------------------------------------------------------------
 */

static uint64_t not_before_last(const struct rec_thread *self, uint64_t time)
{
    uint64_t last = rec_last_time(self);
    return time > last ? time : last;
}

static void begin_pause(struct rec_thread *self, uint64_t time)
{
    rec_omp_before_pause(self, not_before_last(self, time));
    time = not_before_last(self, time);
    if (self->n_counters > 0)
        rec_counters_read_here(self, time);
    rec_number(self, LULL_TAPE_NUMBER_MEASURE_OFF, LULL_TAPE_NO_ID, 0, time);
    self->paused = true;
    self->paused_at = time;
}

static void end_pause(struct rec_thread *self, uint64_t time)
{
    time = not_before_last(self, time);
    rec_omp_before_resume(self, time);
    rec_sums_pause(self, time);
    if (self->n_counters > 0)
        rec_counters_skip(self, time);
    self->paused = false;
    rec_number(self, LULL_TAPE_NUMBER_MEASURE_ON, LULL_TAPE_NO_ID, 0, time);
}

static void set_gate(struct rec_thread *self, const struct epoch *epoch)
{
    rec_gate_set(self, (rec_gate_of(self) & REC_GATE_INSIDE) | epoch->gate |
                           (is_pause(epoch->gate) ? (uint64_t)REC_GATE_PAUSED : 0));
    self->pause_from = epoch->off;
    self->ended = epoch->ended;
}

void rec_pause_note(struct rec_thread *self)
{
    const struct epoch epoch = newest_epoch();
    if (rec_gate_of(self) / REC_GATE_EPOCH == epoch.gate / REC_GATE_EPOCH)
        return;
    const bool goes_on = is_pause(epoch.gate), knew = self->paused;
    /* Of all pauses that have ended since, but for the last one: they come right before that, or
     * make the one longer of which the thread knew. */
    uint64_t others = epoch.ended - self->ended - (goes_on ? 0 : epoch.on - epoch.off);
    if (knew && others > 0)
        end_pause(self, self->pause_from + others);
    if (!self->paused && (goes_on || epoch.on > rec_last_time(self)))
        begin_pause(self, epoch.off - (knew ? 0 : others));
    if (self->paused && !goes_on)
        end_pause(self, epoch.on);
    set_gate(self, &epoch);
}

bool rec_notice(struct rec_thread *self)
{
    if (rec_is_inside(self))
        return false;
    if (!rec_process.on) { /* at the end, or in a child */
        rec_leave_to_parent();
        rec_self_or_null = &rec_nobody;
        return false;
    }
    const struct rec_aside aside = rec_step_aside();
    rec_pause_note(self);
    rec_step_back(&aside);
    return !self->paused;
}

void rec_pause_enter(struct rec_thread *self, uint64_t now)
{
    const struct epoch epoch = newest_epoch();
    rec_gate_set(self, 0);
    set_gate(self, &epoch);
    if (is_pause(epoch.gate))
        begin_pause(self, now);
}

void rec_pause_leave(struct rec_thread *self, uint64_t now)
{
    if (self->paused)
        end_pause(self, now);
}
