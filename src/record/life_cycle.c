/* SPDX-License-Identifier: BSD-3-Clause */
/* Process and threads: when recording begins and ends. */
#include "record/life_cycle.h"

#include "record/about.h"
#include "record/clock.h"
#include "record/core.h"
#include "record/counters/counters.h"
#include "record/device/device.h"
#include "record/file/file.h"
#include "record/function.h"
#include "record/inject.h"
#include "record/memory.h"
#include "record/node.h"
#include "record/omp/team.h"
#include "record/patience.h"
#include "record/region_memory.h"
#include "record/report.h"
#include "record/sample/sample.h"
#include "record/store/buffer.h"
#include "record/store/definitions.h"
#include "record/store/sums.h"
#include "record/thread/cores.h"
#include "record/thread/fork.h"
#include "record/thread/locks.h"
#include "record/thread/pause.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_thread *living_threads; /* locations whose tapes are open */
static struct rec_thread *resting;        /* those of them whose threads have ended; new threads
                                             take them */
static uint32_t n_threads_ever, n_streams_ever;
static pthread_key_t thread_key;
static bool started;

/* ---- process --------------------------------------------------------------------------------- */

/* Measures the rate of the clock by two points a fifth of a millisecond apart, so that also the run
 * of a program that dies in its first moments has a rate. Its error is below 1e-4, as long as each
 * point is good to 10 ns, until a later point comes. `first` was taken before the recorder made its
 * files, so that there is little left to wait. */
static void start_clock(const struct lull_clock_point *first)
{
    struct lull_clock_point second;
    do
        second = lull_clock_pair(rec_process.tsc);
    while (second.ns - first->ns < 200000);
    rec_process.ns_per_tick =
        (double)(second.ns - first->ns) / (double)(second.ticks - first->ticks);
}

static uint64_t end_current(void);

static void end_of_thread(void *thread)
{
    (void)thread;
    if (rec_process.on)
        end_current();
}

/* Nothing is to be recorded in a forked child. The kernel fills the page of rec_process with zeros
 * there, which say that. For a child of fork(), begin_child of thread/fork.c also does the rest; of
 * a child that was made by the bare system call no function of the recorder is told. Kernels before
 * Linux 4.14 do not fill the page: there begin_child alone switches recording off. */
static void keep_from_children(void)
{
    if (sysconf(_SC_PAGESIZE) != REC_PAGE ||
        mmap(&rec_process, sizeof rec_process, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        return;
    madvise(&rec_process, sizeof rec_process, MADV_WIPEONFORK);
}

/* This is no part of rec_start, because every thread calls rec_start, also a thread with the
 * smallest stack that the system allows, and this function needs more stack. */
__attribute__((noinline)) static void start_once(void)
{
    started = true;
    rec_self_or_null = &rec_nobody; /* whatever is called from here on passes through */
    const char *run = getenv("LULL_RECORD_DIR");
    if (!run || !*run || pthread_key_create(&thread_key, end_of_thread) != 0)
        return;
    keep_from_children();
    rec_process.tsc = rec_clock_choose();
    const struct lull_clock_point first = lull_clock_pair(rec_process.tsc);
    rec_process.owner = getpid();
    const bool placed = rec_read_settings();
    const char *counters = getenv("LULL_RECORD_COUNTERS");
    rec_functions_prepare();
    const char *injected = getenv("LULL_RECORD_INJECT"), *store = getenv("LULL_RECORD_STORE"),
               *about = getenv("LULL_RECORD_ABOUT");
    rec_window_prepare();
    rec_sample_prepare();
    rec_locks_prepare();
    rec_files_prepare();
    rec_region_memory_prepare();
    rec_device_prepare();
    rec_node_start();
    if (!rec_prepare_children() || !placed) /* takes our settings out of the environment */
        return;
    rec_report_begin();
    if (!rec_definitions_begin(run, store)) {
        rec_report_refused(run);
        return;
    }
    start_clock(&first);
    rec_define_run();
    rec_define_clock(0);
    rec_define_process();
    rec_define_life();
    rec_about_start(about);
    rec_define_property(LULL_TAPE_PROPERTY_CLOCK, rec_clock_text());
    rec_counters_start(counters);
    rec_sample_start();
    rec_functions_start();
    rec_locks_start();
    rec_files_start();
    rec_ring_start();
    rec_process.on = true;
    rec_pause_start();
    rec_window_start();
    rec_self_or_null = NULL;
    if (rec_thread_begin(REC_ROLE_MASTER) == &rec_nobody) {
        rec_process.on = false;
        rec_definitions_drop();
        rec_report_refused(run);
        return;
    }
    rec_define_clock(0);
    rec_memory_begin();
    rec_region_memory_begin();
    rec_inject_start(injected);
    rec_window_watch(true);
}

void rec_start(void)
{
    if (!started)
        start_once();
}

__attribute__((constructor)) static void start_recorder(void)
{
    rec_start();
}

/* Ends a call or construct that is open at the end of the thread: its time so far goes to the sums,
 * and its record stays open, as where a program is killed. False: none is open, or the open one has
 * only just begun and has no time yet. */
static bool end_open_call(struct rec_thread *self, uint64_t now)
{
    if (self->at >= self->end)
        return false;
    const struct lull_tape_record open = self->at->record;
    if (self->paused || lull_tape_kind_of(open.head) != LULL_TAPE_CALL ||
        open.value != LULL_TAPE_OPEN || open.time > now || open.time < rec_last_time(self))
        return false;
    rec_add_sum(self, lull_tape_id_of(open.head), 1, now - open.time, now);
    self->inside += now - open.time;
    return true;
}

/* The call that the program leaves for good, by exit() or by ending a thread. */
static bool ends_in_call(struct rec_thread *self, uint64_t now)
{
    return rec_is_inside(self) && end_open_call(self, now);
}

/* False: whoever has the lock does not give it back. A program may call exit() in a signal handler while its
 * thread has the lock, or another one that is needed: then the tapes stay as where a program is killed. */
static bool lock_at_end(void)
{
    if (rec_locks_held > 0)
        return false;
    rec_locks_held++;
    atomic_signal_fence(memory_order_seq_cst);
    const bool good = rec_patience_lock(&threads_lock);
    rec_locks_held -= !good;
    return good;
}

/* Writes the end of the life of a thread that still runs when the process ends, outside of all
 * regions, constructs and calls: the time up to `now` is the program's. For a worker nothing is
 * written, because that time is the runtime's. */
static void end_life(struct rec_thread *thread, uint64_t now)
{
    if (thread->role != REC_ROLE_WORKER && thread->n_frames == 0 && !thread->paused)
        rec_number(thread, LULL_TAPE_NUMBER_THREAD_END, LULL_TAPE_NO_ID, thread->made_as, now);
}

/* Concludes the tape of a thread that still runs at the end of the process. A tape that ends in the
 * middle of a record stays as it is; a call that the thread makes during a pause is not
 * recorded. */
static void conclude_running(struct rec_thread *taken, uint64_t now)
{
    const bool inside = rec_is_inside(taken) && !taken->paused;
    taken->n_counters = 0;       /* only that thread can read its counters */
    taken->look_at = UINT64_MAX; /* rec_cores_end_of reads what the system tells, afterwards */
    if (!inside)
        rec_pause_note(taken);
    rec_omp_settle(taken, now);
    const struct rec_omp *omp = rec_omp_of(taken);
    const bool in_construct = !inside && omp && omp->open != 0;
    if ((inside || in_construct) && !end_open_call(taken, now) && inside)
        return;
    rec_sums_until(taken, now);
    if (inside || in_construct)
        return;
    rec_pause_leave(taken, now);
    end_life(taken, now);
}

static void end_running(struct rec_thread *thread, uint64_t now)
{
    static struct rec_thread taken; /* too large for a stack */
    rec_functions_count(thread);
    if (!rec_taken_from(thread, &taken)) {
        rec_report_add(NULL);
        return;
    }
    conclude_running(&taken, now < *taken.until ? *taken.until : now);
    rec_cores_end_of(&taken);
    rec_report_add(&taken);
    rec_buffer_end(&taken);
}

static void end_resting(struct rec_thread *thread, uint64_t now)
{
    rec_omp_settle(thread, now);
    rec_functions_count(thread);
    rec_report_add(thread);
    rec_buffer_end(thread);
}

/* Concludes the tape of a device stream, which may have had no operation. Where a thread may still
 * write to it, it stays as where the program is killed. */
static void end_stream(struct rec_thread *stream, uint64_t now)
{
    struct lull_tape_sums_header *sums = stream->sums_file.header;
    if (!rec_device_is_still())
        return;
    const bool unused = sums->begin == 0;
    sums->begin = unused ? now : sums->begin;
    rec_pause_note(stream);
    if (unused || !stream->stream->what.summary) /* whose life ends with its last operation */
        rec_sums_until(stream, now);
    rec_pause_leave(stream, now);
    rec_buffer_end(stream);
}

/* Closes the tapes of all threads. `now` is when the calling thread has ended; the run ends at the
 * same time, unless the tape of another thread goes further. */
static void end_all(uint64_t now)
{
    if (!lock_at_end())
        return;
    rec_sample_stop();
    for (struct rec_thread *thread = living_threads; thread; thread = thread->next)
        now = rec_taken_until(thread) > now ? rec_taken_until(thread) : now;
    for (struct rec_thread *thread = living_threads; thread; thread = thread->next)
        (thread->stream ? end_stream : thread->rests ? end_resting : end_running)(thread, now);
    rec_functions_stop();
    rec_define_clock(0);
    rec_inject_end();
    rec_memory_end();
    rec_about_end();
    rec_report();
    rec_unlock(&threads_lock);
}

void rec_stop(void)
{
    if (!rec_process.on)
        return;
    rec_device_stop();
    rec_process.on = false;
    __atomic_store_n(&rec_process.gate, 0, __ATOMIC_RELAXED);
    const uint64_t end = end_current();
    const struct rec_aside aside = rec_step_aside();
    end_all(end > 0 ? end : rec_now());
    rec_step_back(&aside);
}

__attribute__((destructor)) static void stop(void)
{
    rec_stop();
}

void rec_set_rank(uint32_t rank)
{
    if (!rec_process.on || rank == rec_process.rank)
        return;
    rec_process.rank = rank;
    rec_define_process();
    const struct rec_aside aside = rec_step_aside();
    rec_lock(&threads_lock);
    for (struct rec_thread *thread = living_threads; thread; thread = thread->next)
        rec_buffer_name(thread);
    rec_unlock(&threads_lock);
    rec_step_back(&aside);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Takes the location of a thread that has ended. So a program that creates threads again and again,
 * as nested teams do, has as many locations as it has threads at a time. */
static struct rec_thread *take_resting(enum rec_role role)
{
    rec_lock(&threads_lock);
    struct rec_thread **place = &resting;
    while (*place && (*place)->role != role)
        place = &(*place)->next_resting;
    struct rec_thread *found = rec_process.on ? *place : NULL; /* at the end tapes are closed */
    if (found)
        *place = found->next_resting;
    if (found)
        found->rests = false;
    rec_unlock(&threads_lock);
    return found;
}

/* Asks for all pages at once. Where that cannot be had, they come one by one, when first used. */
static void populate(void *memory, size_t size)
{
#ifdef MADV_POPULATE_WRITE
    madvise(memory, size, MADV_POPULATE_WRITE);
#else
    (void)memory;
    (void)size;
#endif
}

/* Makes a location: a thread with that role, or with `stream` a device stream, which may be made by the
 * thread that ends the process. */
static struct rec_thread *make_location(enum rec_role role, const struct rec_stream_about *stream)
{
    /* Not malloc: the program may have replaced it, and this may be a signal handler's thread. */
    struct rec_thread *self =
        mmap(NULL, sizeof *self, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (self == MAP_FAILED)
        return NULL;
    populate(self, offsetof(struct rec_thread, shapes));
    self->role = (uint8_t)role;
    self->stream = stream;
    /* Locations come here one after the other, and a number is used up only when the location's tape
     * is there: numbers have no gaps, not even after a crash. */
    const bool locked = !stream || lock_at_end();
    if (!stream)
        rec_lock(&threads_lock);
    uint32_t *number = stream ? &n_streams_ever : &n_threads_ever;
    self->number = *number + (stream ? LULL_TAPE_FIRST_STREAM : 0);
    const bool good = locked && rec_process.on && rec_buffer_begin(self);
    if (good) {
        ++*number;
        self->next = living_threads;
        if (living_threads)
            living_threads->previous = self;
        living_threads = self;
    }
    if (locked)
        rec_unlock(&threads_lock);
    if (good)
        return self;
    munmap(self, sizeof *self);
    return NULL;
}

static struct rec_thread *make_thread(enum rec_role role)
{
    struct rec_thread *rested = take_resting(role);
    return rested ? rested : make_location(role, NULL);
}

/* No thread lives on a stream: it has no counters, samples or cores. */
struct rec_thread *rec_stream_begin(const struct rec_stream_about *about)
{
    struct rec_thread *self = make_location(REC_ROLE_UNKNOWN, about);
    if (!self)
        return NULL;
    self->look_at = UINT64_MAX;
    const uint64_t now = rec_now();
    rec_pause_enter(self, now);
    if (self->paused) /* else its life begins with its first operation */
        self->sums_file.header->begin = now;
    return self;
}

/* The calling thread has this location from now on. */
static void make_ready(struct rec_thread *self, uint64_t number)
{
    pthread_setspecific(thread_key, self);
    self->made_as = number;
    rec_cores_begin(self);
    self->stack_begin = self->stack_end = 0; /* the location may have been another thread's */
    rec_reserve(self, REC_MOST_SLOTS);
    uint64_t now = rec_now();
    rec_sums_from(self, now);
    rec_number(self, LULL_TAPE_NUMBER_THREAD_BEGIN, LULL_TAPE_NO_ID, number, now);
    rec_counters_begin(self, now);
    rec_pause_enter(self, now);
    rec_sample_begin(self);
    if (self->number > 0)
        rec_window_watch(false);
    __atomic_store_n(&self->begun, true, __ATOMIC_RELEASE);
}

static struct rec_thread *begin_thread(enum rec_role role, uint64_t number)
{
    rec_start();
    if (rec_self_or_null)
        return rec_self_or_null;
    struct rec_aside aside = rec_step_aside();
    aside.self = rec_process.on ? make_thread(role) : NULL;
    if (aside.self) {
        make_ready(aside.self, number);
    } else {
        aside.self = &rec_nobody;
        aside.reason = role == REC_ROLE_MASTER ? errno : aside.reason; /* for start_once */
    }
    rec_step_back(&aside);
    return aside.self;
}

struct rec_thread *rec_thread_begin(enum rec_role role)
{
    return begin_thread(role, 0);
}

struct rec_thread *rec_thread_begin_made(uint64_t number)
{
    return begin_thread(REC_ROLE_FREE, number);
}

/* Leaves all regions that a thread is in when it ends; none, where they are more than
 * REC_MOST_FRAMES. */
static void leave_all(struct rec_thread *self, uint64_t now)
{
    rec_omp_forget(self);
    while (self->n_frames > 0 && self->n_frames <= REC_MOST_FRAMES) {
        const struct rec_frame *top = &self->frames[self->n_frames - 1];
        self->parallel = top->parallel;
        rec_put_leave(self, top->region, now);
    }
}

/* Writes onto the thread's tape what is open at its end; returns when that is, in ticks. */
static uint64_t conclude(struct rec_thread *self)
{
    rec_sample_end(self);
    if (!rec_is_inside(self))
        rec_pause_note(self);
    rec_reserve(self, REC_MOST_SLOTS);
    uint64_t now = rec_now();
    rec_omp_settle(self, now);
    bool open = ends_in_call(self, now);
    rec_pause_leave(self, now);
    if (self->n_counters > 0 && !open)
        rec_counters_read_here(self, now);
    rec_counters_end(self);
    if (!open) {
        leave_all(self, now);
        rec_number(self, LULL_TAPE_NUMBER_THREAD_END, LULL_TAPE_NO_ID, self->made_as, now);
    }
    rec_functions_end(self);
    rec_cores_end(self);
    rec_sums_until(self, now);
    return now;
}

/* With the lock held: whether another thread may have this location. */
static bool can_rest(const struct rec_thread *self)
{
    return rec_process.on && self->role != REC_ROLE_MASTER && self->n_frames == 0 &&
           !rec_is_inside(self);
}

static void take_out(struct rec_thread *self)
{
    if (self->previous)
        self->previous->next = self->next;
    else
        living_threads = self->next;
    if (self->next)
        self->next->previous = self->previous;
}

/* Ends a location. The lock is held all the time, because another thread may end the process
 * meanwhile and close the tapes of all threads. Returns when the thread has ended, in ticks; 0: its
 * tape was closed before. */
static uint64_t end_thread(struct rec_thread *self)
{
    rec_lock(&threads_lock);
    if (self->closed) {
        rec_unlock(&threads_lock);
        return 0;
    }
    const uint64_t end = conclude(self);
    const bool rests = can_rest(self);
    if (rests) {
        self->rests = true;
        self->begun = false;
        self->next_resting = resting;
        resting = self;
    } else {
        take_out(self);
        rec_report_add(self);
        rec_buffer_end(self);
    }
    rec_unlock(&threads_lock);
    if (rests)
        return end;
    rec_functions_free(self);
    if (self->scratch)
        munmap(self->scratch, self->scratch_size);
    munmap(self, sizeof *self);
    return end;
}

/* Ends the calling thread's location; happens by itself when the thread ends. */
static uint64_t end_current(void)
{
    struct rec_thread *self = rec_self_or_null;
    if (!self || self == &rec_nobody)
        return 0;
    struct rec_aside aside = rec_step_aside();
    const uint64_t end = end_thread(self);
    aside.self = &rec_nobody;
    rec_step_back(&aside);
    return end;
}
