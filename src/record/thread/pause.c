/* SPDX-License-Identifier: BSD-3-Clause */
/* Pauses hold for all threads of the process. Each begin and each end of a pause begins an epoch. A
 * thread takes note of the newest epoch when something that is recorded begins or ends on it, and
 * then writes onto its tape when the pause began and ended. Where a thread has missed several
 * pauses, one pause of their total length goes onto its tape. */
#include "record/thread/pause.h"

#include "record/counters/counters.h"
#include "record/omp/team.h"
#include "record/patience.h"
#include "record/report.h"
#include "record/sample/sample.h"
#include "record/store/buffer.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ==== pauses ================================================================================== */

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
    rec_lock(&pause_lock);
    struct epoch copy = latest_epoch;
    rec_unlock(&pause_lock);
    return copy;
}

/* The first gate differs from 0, the gate of a process that records nothing. */
void rec_pause_start(void)
{
    latest_epoch.gate = 2 * REC_GATE_EPOCH;
    __atomic_store_n(&rec_process.gate, latest_epoch.gate, __ATOMIC_RELEASE);
}

/* The pause lasts as long as one of the reasons holds. */
enum pause_reason {
    PAUSE_PROGRAM = 1, /* the program asks for it */
    PAUSE_TIME = 2,    /* this and the following: it is not the part that the user wants */
    PAUSE_SIGNAL = 4,
    PAUSE_ITERATION = 8
};

static void (*pause_ends)(void); /* atomic */

void rec_pause_watch(void (*ends)(void))
{
    __atomic_store_n(&pause_ends, ends, __ATOMIC_RELEASE);
}

static void change(enum pause_reason reason, bool holds)
{
    static unsigned reasons; /* that hold */
    void (*ends)(void) = holds ? NULL : __atomic_load_n(&pause_ends, __ATOMIC_ACQUIRE);
    if (ends)
        ends();
    const struct rec_aside aside = rec_step_aside();
    rec_lock(&pause_lock);
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
        /* The thread that ends the process sets the gate to 0 for good, without this lock. So a
         * gate that has changed meanwhile stays as it is. */
        __atomic_compare_exchange_n(&rec_process.gate, &old, latest_epoch.gate, false,
                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    }
    rec_unlock(&pause_lock);
    rec_step_back(&aside);
    if (ends) /* another thread may have seen the pause after the first time */
        ends();
}

static void pause_for(enum pause_reason reason, bool pause)
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
    pause_for(PAUSE_PROGRAM, true);
}

bool rec_is_pause(void)
{
    return is_pause(__atomic_load_n(&rec_process.gate, __ATOMIC_ACQUIRE));
}

void rec_resume(void)
{
    rec_current();
    pause_for(PAUSE_PROGRAM, false);
}

/* ---- threads --------------------------------------------------------------------------------- */

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
    /* `others` are the ticks of all pauses that have ended since the thread last took note, without
     * the newest pause. On the tape they become the length of the pause of which the thread knew;
     * if it knew of none, the newest pause begins so much earlier. */
    uint64_t others = epoch.ended - self->ended - (goes_on ? 0 : epoch.on - epoch.off);
    if (knew && others > 0)
        end_pause(self, self->pause_from + others);
    if (!self->paused && (goes_on || epoch.on > rec_last_time(self)))
        begin_pause(self, epoch.off - (knew ? 0 : others));
    if (self->paused && !goes_on)
        end_pause(self, epoch.on);
    set_gate(self, &epoch);
}

void rec_pause_note_before(struct rec_thread *self, uint64_t time)
{
    const uint64_t gate = __atomic_load_n(&rec_process.gate, __ATOMIC_ACQUIRE);
    if (rec_gate_of(self) / REC_GATE_EPOCH == gate / REC_GATE_EPOCH)
        return;
    const struct epoch epoch = newest_epoch();
    if (!is_pause(epoch.gate) && epoch.on <= time)
        rec_pause_note(self);
}

void rec_leave_to_parent(void)
{
    if (rec_process.sealed) {
        rec_self_or_null = &rec_nobody;
        return;
    }
    if (rec_process.owner != 0 &&
        getpid() == rec_process.owner) /* the owner is 0 in a child whose rec_process was wiped */
        return;
    rec_process.on = false;
    rec_process.status = NULL;
    __atomic_store_n(&rec_process.gate, 0, __ATOMIC_RELAXED);
    if (rec_self_or_null && rec_self_or_null != &rec_nobody)
        rec_buffer_detach(rec_self_or_null);
    rec_self_or_null = &rec_nobody;
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

/* ==== the part that the user wants ============================================================ */

enum { MOST_ITERATION_NAME = 256 };

static struct {
    int64_t start, length;          /* ns; 0: at once, and up to the end */
    bool signals, off;              /* off: recording begins when a signal says so */
    char name[MOST_ITERATION_NAME]; /* of the region whose visits count; "": marked iterations do */
    long first, last;
} wanted_part;

bool rec_window_has_iterations;

/* ---- settings -------------------------------------------------------------------------------- */

static int64_t ns_of(const char *name)
{
    const char *text = getenv(name);
    const long long ns = text ? strtoll(text, NULL, 10) : 0;
    return ns > 0 ? ns : 0;
}

/* "FIRST:LAST", or with the name of a region and a colon in front, which may have colons itself. */
static void take_iterations(const char *text)
{
    const char *middle = strrchr(text, ':'), *name = middle;
    if (!middle)
        return;
    while (name > text && name[-1] != ':')
        name--;
    const size_t length = name > text ? (size_t)(name - text) - 1 : 0;
    if (length >= sizeof wanted_part.name ||
        sscanf(name, "%ld:%ld", &wanted_part.first, &wanted_part.last) != 2)
        return;
    memcpy(wanted_part.name, text, length);
    rec_window_has_iterations = true;
}

void rec_window_prepare(void)
{
    const char *signals = getenv("LULL_RECORD_SIGNALS");
    const char *iterations = getenv("LULL_RECORD_ITERATIONS");
    wanted_part.start = ns_of("LULL_RECORD_START");
    wanted_part.length = ns_of("LULL_RECORD_DURATION");
    wanted_part.signals = signals != NULL;
    wanted_part.off = signals && strcmp(signals, "off") == 0;
    if (iterations)
        take_iterations(iterations);
}

void rec_window_start(void)
{
    if (wanted_part.start > 0)
        pause_for(PAUSE_TIME, true);
    if (wanted_part.off)
        pause_for(PAUSE_SIGNAL, true);
    if (rec_window_has_iterations)
        pause_for(PAUSE_ITERATION, true);
}

/* ---- time and signals ------------------------------------------------------------------------ */

static sem_t wake;
static bool is_off;        /* atomic: what the last signal wanted */
static bool watch_is_over; /* atomic */
static bool is_watched;    /* there is a watching thread, or has been one */
static pid_t watcher;      /* atomic; its number in the system; 0: it has not begun */

static void handle_signal(int signal)
{
    const int reason = errno;
    if (__atomic_load_n(&watch_is_over, __ATOMIC_ACQUIRE))
        return;
    __atomic_store_n(&is_off, signal == SIGUSR2, __ATOMIC_RELEASE);
    sem_post(&wake);
    errno = reason;
}

static struct timespec after(struct timespec time, int64_t ns)
{
    time.tv_sec += (time_t)(ns / 1000000000);
    time.tv_nsec += (long)(ns % 1000000000);
    if (time.tv_nsec >= 1000000000) {
        time.tv_sec++;
        time.tv_nsec -= 1000000000;
    }
    return time;
}

static bool is_earlier(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec < other->tv_sec ||
           (one->tv_sec == other->tv_sec && one->tv_nsec < other->tv_nsec);
}

/* Pauses and resumes as signals want it, and keeps samples, until the moment `until`; NULL: for ever.
 * False: the watch is over. */
static bool wait_until(const struct timespec *until)
{
    for (;;) {
        struct timespec turn;
        const bool turns = rec_sample_next_turn(&turn) && (!until || is_earlier(&turn, until));
        const struct timespec *next = turns ? &turn : until;
        const int failed = next ? sem_clockwait(&wake, CLOCK_MONOTONIC, next) : sem_wait(&wake);
        if (__atomic_load_n(&watch_is_over, __ATOMIC_ACQUIRE))
            return false;
        if (failed == 0)
            pause_for(PAUSE_SIGNAL, __atomic_load_n(&is_off, __ATOMIC_ACQUIRE));
        else if (errno != EINTR && !turns)
            return true;
        else if (errno != EINTR)
            rec_sample_turn();
    }
}

static void *watch(void *argument)
{
    const struct timespec *begin = argument;
    rec_self_or_null = &rec_nobody;
    __atomic_store_n(&watcher, gettid(), __ATOMIC_RELEASE);
    const struct timespec start = after(*begin, wanted_part.start);
    if (wanted_part.start > 0) {
        if (!wait_until(&start))
            return NULL;
        pause_for(PAUSE_TIME, false);
    }
    if (wanted_part.length > 0) {
        const struct timespec end = after(start, wanted_part.length);
        if (!wait_until(&end))
            return NULL;
        pause_for(PAUSE_TIME, true); /* for good */
        rec_sample_stop();
        return NULL;
    }
    struct timespec turn;
    if (wanted_part.signals || rec_sample_next_turn(&turn))
        wait_until(NULL);
    return NULL;
}

/* Starts the watching thread, which blocks all signals, so that none of the program's comes to
 * it. */
static bool start_watch(struct timespec *begin)
{
    enum { STACK = 64 << 10 };
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    is_watched = pthread_create(&thread, &attributes, watch, begin) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return is_watched;
}

static bool watcher_runs(void)
{
    const pid_t thread = __atomic_load_n(&watcher, __ATOMIC_ACQUIRE);
    return thread == 0 || syscall(SYS_tgkill, getpid(), thread, 0) == 0;
}

/* The system is asked whether the watching thread is there. The thread is detached and cannot be
 * joined: of a thread that can be joined, and is not at the end, a thread sanitizer would
 * complain. */
void rec_window_unwatch(void)
{
    enum { TURNS = 1000 };
    static const struct timespec turn = {.tv_nsec = REC_PATIENCE_NS / TURNS};
    struct rec_patience patience = rec_patience_of(1);
    if (!is_watched)
        return;
    __atomic_store_n(&watch_is_over, true, __ATOMIC_RELEASE);
    sem_post(&wake);
    do {
        for (unsigned i = 0; i < TURNS && watcher_runs(); i++)
            nanosleep(&turn, NULL);
    } while (watcher_runs() && rec_patience_lasts(&patience));
}

/* A program with one thread stays one: the C library takes other ways where there are several, and the
 * system forbids some calls then (unshare(2)). */
void rec_window_watch(bool alone)
{
    static struct timespec begin;
    static bool begun; /* atomic */
    struct timespec turn;
    const bool wanted = wanted_part.start > 0 || wanted_part.length > 0 || wanted_part.signals;
    if ((!wanted && (alone || !rec_sample_next_turn(&turn))) ||
        __atomic_test_and_set(&begun, __ATOMIC_RELAXED))
        return;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    is_off = wanted_part.off;
    const bool watched = sem_init(&wake, 0, 0) == 0 && start_watch(&begin);
    if (!watched && wanted) {
        rec_report_say("cannot make a thread: all of the program is recorded");
        pause_for(PAUSE_TIME, false);
        pause_for(PAUSE_SIGNAL, false);
        return;
    }
    const struct sigaction action = {.sa_handler = handle_signal, .sa_flags = SA_RESTART};
    if (wanted_part.signals) {
        sigaction(SIGUSR1, &action, NULL);
        sigaction(SIGUSR2, &action, NULL);
    }
}

/* ---- iterations ------------------------------------------------------------------------------ */

static struct rec_thread *counting; /* atomic: the thread whose visits count: the first that came to
                                       the named region */
static long iteration_visits;       /* visits of the region on that thread so far */
static unsigned nested;             /* marked regions that are open there, from the visit on */

void rec_window_iteration(long number)
{
    if (!*wanted_part.name)
        pause_for(PAUSE_ITERATION, number < wanted_part.first || number > wanted_part.last);
}

static bool is_named(const char *name)
{
    return *wanted_part.name && name && strcmp(name, wanted_part.name) == 0;
}

void rec_window_begin(const char *name)
{
    struct rec_thread *self = rec_current(), *known = __atomic_load_n(&counting, __ATOMIC_ACQUIRE);
    const bool named = is_named(name);
    if (!known && named &&
        __atomic_compare_exchange_n(&counting, &known, self, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        known = self;
    if (known != self || (nested == 0 && !named))
        return;
    if (nested++ == 0 && ++iteration_visits == wanted_part.first)
        pause_for(PAUSE_ITERATION, false);
}

void rec_window_end(void)
{
    if (__atomic_load_n(&counting, __ATOMIC_ACQUIRE) != rec_current() || nested == 0)
        return;
    if (--nested == 0 && iteration_visits == wanted_part.last)
        pause_for(PAUSE_ITERATION, true);
}
