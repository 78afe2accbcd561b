/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorder: what all its parts share. Threads and the process with their states, the settings,
 * appending records to a thread's tape, and stepping aside. docs/record-reference.md describes the
 * recorder as a whole.
 *
 * The recorder is loaded into the measured program by LD_PRELOAD (or found by an OpenMP runtime as
 * a tool). Environment variables, which `lull record` sets, tell it what to do:
 *
 *  - LULL_RECORD_DIR: folder of the run; unset: nothing is recorded
 *  - LULL_RECORD_BYTES: size budget of events per process in bytes; unset: 1 GiB
 *  - LULL_RECORD_LAST: 1: keep the newest events within that budget, not the first ones
 *  - LULL_RECORD_PROFILE: 1: keep running sums only, no events
 *  - LULL_RECORD_COUNTERS: names of hardware counters, or none (counters/counters.h)
 *  - LULL_RECORD_FOLLOW: "1": record also the programs that this one executes; "program": hand the
 *    recorder on until a program with a runtime of MPI or OpenMP comes, and record that one
 *  - LULL_RECORD_QUIET: 1: say nothing at the end
 *  - LULL_RECORD_PROCESS: number of this process, for launchers that lull does not know
 *  - LULL_RECORD_APPLICATION, LULL_RECORD_FIRST: for a process that another one has spawned: its
 *    application, and the process number of its rank 0 (record/mpi/spawned.h)
 *  - LULL_RECORD_SKEW: for tests, "NS:PPM": every process is a node of its own, whose clock is NS
 *    and PPM parts in a million ahead of that of the rank before it
 *  - LULL_RECORD_CLOCK_FILES: for tests: a folder with files that say of the clocks what else the
 *    system says (rec_clock_look), and in a file "jump" by how many ns they go apart
 *  - LULL_RECORD_LOOKS: for tests: the members of a communicator are not looked up where that
 *    takes more comparisons than this number (record/mpi/comms.c)
 *  - LULL_RECORD_INJECT: a file that says how the program is to be disturbed (record/inject.h)
 *  - LULL_RECORD_CALLPATH: how many places a call has, its own and those of callers; unset: 3 of
 *    a call of MPI, 1 of others (record/site/site.h)
 *  - LULL_RECORD_FILTER: path of a file that says which functions are recorded (filter/filter.h)
 *  - LULL_RECORD_START, LULL_RECORD_DURATION: in ns: recording starts that long after the program
 *    and lasts that long (record/thread/pause.h)
 *  - LULL_RECORD_SIGNALS: "on" or "off": whether recording is on at first, before a signal switches
 *    it off or on; unset: signals switch nothing
 *  - LULL_RECORD_ITERATIONS: "FIRST:LAST" or "NAME:FIRST:LAST": which iterations are recorded
 *  - LULL_RECORD_THROTTLE: "CALLS:NS": a function is left out after that many calls whose mean is
 *    below NS; or "none"; unset: 100000:1000 (record/function.h)
 *  - LULL_RECORD_WAITS: ns: waits for locks are recorded from that length on; or "none"; unset:
 *    1000 (record/thread/locks.h)
 *  - LULL_RECORD_SAMPLE: how often threads are asked which code they are in (sample/sample.h); off:
 *    never
 *  - LULL_RECORD_STORE: "node": record into the file of the node (tape/container.h), which other
 *    processes share; "process": into a file of this process, while others may use the file of the
 *    node; unset: every process has a file of its own
 *  - LULL_RECORD_FILES: 1: record also the C library's calls for files (record/file/file.h)
 *  - LULL_RECORD_REGION_MEMORY: 1: note the most memory that the process had in each marked region
 *    (record/region_memory.h)
 *  - LULL_RECORD_DEVICE: "full" or unset: what devices do is recorded; "summary": sums of it;
 *    "off": nothing of it (device/device.h)
 *  - LULL_RECORD_ABOUT: what this process has to say of itself: "KEY=VALUE" in lines, with "%" and
 *    newlines as "%25" and "%0A" (record/about.h)
 *
 * The user may set LULL_CLOCK: "tsc" or "system": the clock that is read (record/clock.h).
 *
 * Rules for everything in this folder: never print, abort, take a lock or allocate inside a call of
 * the program, except where a thread, a definition or a chunk begins, and there only after stepping
 * aside (below); whatever fails switches recording off and lets the program go on; the program may
 * die at any instruction. */
#ifndef LULL_RECORD_CORE_H
#define LULL_RECORD_CORE_H

#include "base/clock.h"
#include "tape/layout.h"
#include "tape/records.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ==== threads and the process ================================================================= */

#define REC_EXPORT      __attribute__((visibility("default")))
#define REC_INLINE      static inline __attribute__((always_inline))
#define REC_COLD        __attribute__((cold, noinline))
#define REC_LIKELY(x)   __builtin_expect(!!(x), 1)
#define REC_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define REC_PAGE        4096
#define REC_TEXT_(x)    #x
#define REC_TEXT(x)     REC_TEXT_(x)
/* Enough slots for one record of any size together with the readings of counters that stand around
 * it and around its neighbours. */
#define REC_MOST_SLOTS  (1 + LULL_TAPE_MOST_EXTRA + 4 * REC_COUNTS_SLOTS)
#define REC_MOST_FRAMES 64 /* nested regions whose own time is known apart */

enum {
    REC_MOST_CALLPATH = 32, /* callers of a call */
    REC_MOST_COUNTERS = LULL_TAPE_MOST_COUNTERS,
    REC_COUNTS_SLOTS = 1 + (REC_MOST_COUNTERS + 1) / 2 /* of a reading on the tape */
};

/* A region that a thread is in. `begin` is when it was entered; `inside` counts the ticks that the
 * thread had spent by then in other regions within the region around this one. */
struct rec_frame {
    uint64_t begin, inside;
    uint32_t region, parallel;
};

/* A part of the file of the process (store/container.h). */
struct rec_extent {
    uint64_t offset;
    size_t size;
    uint32_t number;
};

/* Parts of the mapping of a thread's sums: the first is a page, and each further one is at least as
 * large as all before, up to 4 MiB. */
enum { REC_SUMS_PARTS = 12 };

/* The sums of a thread by region (store/sums.h). */
struct rec_sums {
    struct lull_tape_sums_header *header;
    size_t size, reserved;          /* bytes that are mapped, and bytes of address space that are
                                       reserved for them */
    bool full;                      /* there is no room for more, and none is asked for again */
    uint32_t n_parts;               /* parts that are mapped, one behind the other */
    uint32_t parts[REC_SUMS_PARTS]; /* bytes of each; written before it is counted */
};

/* The counters of one thread. A back-end (counters/counters.h) uses the handles and pages as it
 * needs them. */
struct rec_counting {
    uint64_t last[REC_MOST_COUNTERS]; /* the previous reading */
    int handles[REC_MOST_COUNTERS];
    void *pages[REC_MOST_COUNTERS];
};

/* What a device stream is called, behind the name of its process, and what it belongs to. */
struct rec_stream_about {
    char name[87]; /* with it and "rank 0 " in front a location's name is not too long */
    struct lull_tape_stream what;
};

/* One thread of the program, or a device stream, to which device/device.c alone writes. Everything
 * that the hot path touches is in the first cache lines. */
struct rec_thread {
    union lull_tape_slot
        *at; /* where the next record goes: in the tail, or in a private chunk nobody reads */
    union lull_tape_slot *end; /* of the chunk */
    uint64_t bias;             /* committed = (uintptr_t)at + bias */
    uint64_t *committed;       /* in the mapped header, or `nowhere` */
    uint64_t gate;             /* atomic; equal to the gate of the process: what begins is recorded;
                              otherwise see enum rec_gate */
    uint32_t parallel;         /* 1 inside an OpenMP parallel region: which sum is added to */
    uint32_t n_sums;           /* regions that have sums so far */
    unsigned char *sums;       /* by region id, two each: outside and inside of parallel regions */
    uint64_t *until;       /* in the mapped sums: the end of the thread's life so far, in ticks */
    uint32_t sum_size;     /* bytes of one sum */
    uint32_t next_request; /* number of the next MPI request that this thread opens */
    uint32_t n_open;       /* of the requests that it has opened: how many are not complete */
    uintptr_t frame, from; /* stack and return address of the MPI call that is being recorded; 0:
                              there is none */
    uint64_t inside;       /* ticks in regions within the current frame */
    uint64_t in_calls;     /* ticks that were not the program's own: in calls, in pauses, in writing
                              chunks, and between regions where the thread is the runtime's */
    uint64_t look_at;      /* ticks: when the system's numbers are read next (thread/cores.c) */
    uint32_t n_frames;     /* regions that it is in, also those beyond REC_MOST_FRAMES */
    uint32_t n_counters;   /* 0: none are read */
    bool storing;          /* events are kept; false: at the budget, after an error, in a profile */
    bool paused;           /* a pause holds, as far as the thread has taken note of it */
    bool rests;            /* the thread of this location has ended, and no other lives here yet */
    bool begun;            /* atomic: a thread lives here, and its tape says so */
    uint64_t paused_at;    /* up to when the sums contain the pause */
    uint64_t pause_from;   /* when the last pause began of which the thread has taken note */
    uint64_t ended;        /* ticks of all pauses of the process that had ended when the thread
                              last took note of one */
    uint32_t number;       /* of the location in the process */
    const struct rec_stream_about *stream; /* NULL: this is a thread, no device stream */
    uint8_t role;                          /* enum rec_role */
    uint64_t made_as; /* number of the thread that lives here (thread/waits.h); 0: none */
    struct rec_frame frames[REC_MOST_FRAMES];
    struct rec_counting counting;

    unsigned char *space; /* header, tail and sums (store/buffer.h) */
    size_t space_size;
    union lull_tape_slot *tail; /* the chunk that `at` walks through */
    size_t tail_size;           /* bytes of the tail that are mapped */
    struct lull_tape_header *header;
    struct rec_sums sums_file;
    uint64_t flushed;             /* bytes of full chunks, as the tape tells */
    uint64_t flushing;            /* ticks spent in writing full chunks */
    uint64_t untold_from, untold; /* the part of `flushing` that the tape does not tell yet: when it
                                     began, and its ticks */
    uint64_t head;                /* offset of the thread's header in the file */
    uint64_t first;               /* ticks of the first record of the first full chunk */
    uint64_t newest[2];       /* offsets in the file of the last full chunk and of the one before */
    uint64_t written;         /* bytes of full chunks that are written: more than `flushed` until
                                 the tape tells them, too */
    struct rec_extent chunks; /* where the next full chunks go */
    struct rec_extent tail_first; /* the first page of the tail */
    struct rec_extent tail_rest;  /* the tail behind its first page */
    uint64_t nowhere;             /* the committed length where nobody reads the records */
    bool closed;                  /* its files are complete */
    union lull_tape_slot *polls; /* for record/mpi/records.c: records of the last queries that found
                                    nothing, one for each function */
    uint64_t poll_end;           /* when the last of these queries ended */
    uint32_t n_polls;            /* how many records they have */
    void *scratch;               /* of a call that completes many requests (mpi/records.c) */
    size_t scratch_size;
    uint32_t thread_id;                  /* the system's number of the thread */
    struct lull_tape_cores cores_before; /* for record/thread/cores.c: what the system told when
                                            this location's sums were 0 */
    struct lull_tape_usage usage_before; /* the same */
    uint64_t in_calls_before;            /* `in_calls` when the system was asked last */
    uintptr_t stack_begin, stack_end;    /* for record/site; 0: not yet known */
    void *omp;                           /* struct rec_omp of record/omp/team.h, or NULL */
    uint64_t last_operation; /* for record/device: the number of the operation that it has submitted
                                last, and how far the numbers go that it may give */
    uint64_t operations_end;
    void *functions;                    /* what record/function.c keeps for the thread, or NULL */
    struct rec_requests *requests;      /* see record/mpi/requests.h */
    struct rec_sampler *sampler;        /* see record/sample/sample.h; NULL: there is none */
    struct rec_thread *next, *previous; /* all threads of the process */
    struct rec_thread *next_resting;
    struct lull_tape_shape
        shapes[LULL_TAPE_SHAPES]; /* for record/mpi; the last member: many threads need none */
};

/* The low bits of a thread's gate. Above them is the epoch of the process's pauses
 * (thread/pause.c), a multiple of REC_GATE_EPOCH, and the gate of the process has nothing else. So
 * one comparison of the two gates tells that the thread is outside of all recorded calls and has
 * taken note of every pause. */
enum rec_gate {
    REC_GATE_CALL = 1, /* for each recorded call that it is in */
    REC_GATE_PAUSED = 64,
    REC_GATE_CLOSED = 128, /* never recorded again */
    REC_GATE_EPOCH = 256,
    REC_GATE_INSIDE = REC_GATE_EPOCH - 1 - REC_GATE_PAUSED
};

/* Only the thread itself changes its gate, with one exception: where the process ends, the last
 * thread notes pauses on the tapes of all threads. So a gate is read and written as a whole. A
 * running thread may then undo what the last one has written, which does no harm, because the gate
 * of the process differs from every thread's by then. */
static inline uint64_t rec_gate_of(const struct rec_thread *self)
{
    return __atomic_load_n(&self->gate, __ATOMIC_RELAXED);
}

static inline void rec_gate_set(struct rec_thread *self, uint64_t gate)
{
    __atomic_store_n(&self->gate, gate, __ATOMIC_RELAXED);
}

static inline bool rec_is_inside(const struct rec_thread *self)
{
    return rec_gate_of(self) & REC_GATE_INSIDE;
}

/* A recorded call begins and ends. */
static inline void rec_gate_shut(struct rec_thread *self)
{
    rec_gate_set(self, rec_gate_of(self) + REC_GATE_CALL);
}

static inline void rec_gate_open(struct rec_thread *self)
{
    rec_gate_set(self, rec_gate_of(self) - REC_GATE_CALL);
}

/* What this thread records into: a thread, or rec_nobody whose gate is closed. NULL until asked. */
extern __thread struct rec_thread *rec_self_or_null __attribute__((tls_model("initial-exec")));
extern struct rec_thread rec_nobody;

/* Settings and state of the process. A member changes after the start only where its comment says
 * so. The struct has a page of its own that is all zero in a child, however the child was
 * forked. */
struct rec_process {
    _Alignas(REC_PAGE) uint64_t gate; /* atomic; see enum rec_gate. 0: nothing is recorded */
    _Atomic bool on;                  /* changes to false at the end and in a forked child */
    bool tsc;                         /* the clock is the processor's counter (record/clock.h) */
    bool disturbs;                    /* the program is disturbed on purpose (record/inject.h) */
    double ns_per_tick;               /* roughly, as measured at the start */
    bool sealed;          /* recording has ended for good, and the recorder must not call the system
                             any more (record/seccomp.c) */
    int full;             /* atomic; errno of the first write that failed, 0: none did */
    bool profile;         /* sums only, no events */
    bool keeps_last;      /* the oldest events give way to the newest (record/store/buffer.h) */
    uint32_t callpath;    /* places that a call has where the user asks for that, else 0 */
    uint32_t number;      /* process number: p in the names of its files */
    uint32_t first;       /* process number that communicators have for the world's rank 0 */
    uint32_t ranks;       /* of MPI_COMM_WORLD; 0: not known */
    uint32_t rank;        /* in MPI_COMM_WORLD; before MPI_Init what the launcher says */
    uint32_t application; /* 0, or which of the worlds that were spawned (record/mpi/spawned.h) */
    uint64_t budget;      /* bytes of events */
    uint64_t used;        /* atomic; bytes of the budget that are taken */
    pid_t owner;          /* the process that writes the files */
    uint64_t *status;     /* where the exit status is written once recording has ended (about.h) */
    char folder[3072];    /* RUN/<p / 1000> */
};
extern struct rec_process rec_process __attribute__((visibility("hidden")));

/* The values are those of enum lull_thread_role, which readers of the run have. */
enum rec_role { REC_ROLE_UNKNOWN, REC_ROLE_MASTER, REC_ROLE_WORKER, REC_ROLE_FREE };

/* "rank 3"; in the first world that was spawned "spawn 1 rank 3". */
void rec_process_name(char *name, size_t size);

static inline uint64_t rec_now(void)
{
    return lull_clock_now(rec_process.tsc);
}

/* ---- settings -------------------------------------------------------------------------------- */

/* What environment variables tell the recorder; the head of this file has their list. */

/* False: it is not set, or no number. */
bool rec_setting_number(const char *name, uint64_t *ret_value);
/* Fills rec_process with those settings for which it has a member. False: this process was spawned,
 * and the processes that spawned it expect it under a number that follows from its rank, but no
 * launcher has told the rank. */
bool rec_read_settings(void);

/* ---- rare cases ------------------------------------------------------------------------------ */

/* What the inline functions below call in rare cases. This header calls nothing else of the files
 * that include it. */

/* life_cycle.c: makes the calling thread a location, and starts the recorder if need be; does
 * nothing when the thread is a location. Writes THREAD_BEGIN. */
struct rec_thread *rec_thread_begin(enum rec_role role);
/* The same for a thread that the program makes itself, which it numbers (thread/waits.h). */
struct rec_thread *rec_thread_begin_made(uint64_t number);

/* life_cycle.c: makes a device stream a location; `about` stays. The caller has stepped aside. NULL:
 * it cannot be recorded. It ends with the process; until then only device/device.c writes to it. */
struct rec_thread *rec_stream_begin(const struct rec_stream_about *about);

/* thread/pause.c: whether something is recorded that begins now, on a thread whose gate differs
 * from the gate of the process. Takes note of pauses first. */
REC_COLD bool rec_notice(struct rec_thread *self);

/* store/buffer.c: these go on to a fresh chunk where the present one is full; see rec_reserve and
 * rec_reserve_behind. */
REC_COLD void rec_flush(struct rec_thread *self);
REC_COLD void rec_flush_behind(struct rec_thread *self, unsigned slots);

/* store/sums.c: makes room for a region's sums; false when there is none to be had. */
bool rec_sums_grow(struct rec_thread *self, uint32_t region);
/* Adds the time until `now` to the pause of a thread that is paused. */
void rec_sums_pause(struct rec_thread *self, uint64_t now);

/* thread/cores.c: reads what the system tells of the thread, and keeps its samples; called when
 * `look_at` has come. */
REC_COLD void rec_cores_read(struct rec_thread *self);

/* counters/counters.c: what was counted since the previous reading belongs to `region`, or for
 * rec_counters_read_here to the region in which the thread was. Nothing happens in a pause. */
void rec_counters_read(struct rec_thread *self, uint32_t region, uint64_t now);
void rec_counters_read_here(struct rec_thread *self, uint64_t now);
/* As rec_open_call where counters are read: their record comes first. */
uint64_t rec_open_counted_call(struct rec_thread *self, uint32_t region);

/* ---- who is recorded ------------------------------------------------------------------------- */

/* The calling thread; rec_nobody when nothing is recorded. Never NULL. */
static inline struct rec_thread *rec_current(void)
{
    struct rec_thread *self = rec_self_or_null;
    return REC_LIKELY(self != NULL) ? self : rec_thread_begin(REC_ROLE_UNKNOWN);
}

/* Whether something is recorded that begins now. */
static inline bool rec_admits(struct rec_thread *self)
{
    return REC_LIKELY(rec_gate_of(self) == __atomic_load_n(&rec_process.gate, __ATOMIC_RELAXED)) ||
           rec_notice(self);
}

/* Whether the end of something is recorded whose begin is on the tape because code of the program
 * ran inside of it: the end is recorded in a pause as well, but not in a forked child. */
static inline bool rec_goes_on(struct rec_thread *self)
{
    return rec_admits(self) || REC_LIKELY(rec_process.on);
}

/* ==== appending =============================================================================== */

/* Makes sure that `slots`, REC_MOST_SLOTS at most, fit at self->at. The caller takes the time of
 * its record after this call: a full chunk may be written here, which leaves a record of how long
 * that took. */
static inline void rec_reserve(struct rec_thread *self, unsigned slots)
{
    if (REC_UNLIKELY(self->end - self->at < (ptrdiff_t)slots))
        rec_flush(self);
}

/* The same for records whose time is already taken: the record of how long a full chunk took to
 * write comes behind them, at the next rec_reserve. */
static inline void rec_reserve_behind(struct rec_thread *self, unsigned slots)
{
    if (REC_UNLIKELY(self->end - self->at < (ptrdiff_t)slots))
        rec_flush_behind(self, slots);
}

/* The earliest time that the thread's next record may have. */
static inline uint64_t rec_last_time(const struct rec_thread *self)
{
    uint64_t last = *self->until;
    if (self->n_frames > 0 && self->n_frames <= REC_MOST_FRAMES &&
        self->frames[self->n_frames - 1].begin > last)
        last = self->frames[self->n_frames - 1].begin;
    return last;
}

/* The `slots` at self->at are complete: readers may see them. */
static inline void rec_commit(struct rec_thread *self, unsigned slots)
{
    self->at += slots;
    __atomic_store_n(self->committed, (uint64_t)(uintptr_t)self->at + self->bias, __ATOMIC_RELEASE);
}

/* Writes the call that begins now behind what is committed, where a reader finds it if the program
 * dies or hangs in the call; returns the time. There is room for a record of any size behind it. */
REC_INLINE uint64_t rec_open_call(struct rec_thread *self, uint32_t region)
{
    rec_reserve(self, REC_MOST_SLOTS);
    if (REC_UNLIKELY(self->n_counters > 0))
        return rec_open_counted_call(self, region);
    union lull_tape_slot *slot = self->at;
    slot->record.head = lull_tape_head(LULL_TAPE_CALL, 0, region);
    slot->record.value = LULL_TAPE_OPEN;
    uint64_t now = rec_now();
    slot->record.time = now;
    return now;
}

/* The sum of a region that has one. */
REC_INLINE struct lull_tape_sum *rec_place_of_sum(const struct rec_thread *self, uint32_t region,
                                                  uint32_t parallel)
{
    return (struct lull_tape_sum *)(void *)(self->sums +
                                            (size_t)(region * 2 + parallel) * self->sum_size);
}

/* The sum of a region, made where it is missing. NULL: there is no room for it. */
static inline struct lull_tape_sum *rec_sum_of(struct rec_thread *self, uint32_t region,
                                               uint32_t parallel)
{
    if (REC_UNLIKELY(region >= self->n_sums) && !rec_sums_grow(self, region))
        return NULL;
    return rec_place_of_sum(self, region, parallel);
}

/* Adds visits that end now, and their ticks, to the sum of their region. `visits` is 0 for a region
 * whose visit was counted when it was entered. The end of the thread's life is moved to `now`
 * first, so that the life is never shorter than the sums in it. */
REC_INLINE void rec_add_sum(struct rec_thread *self, uint32_t region, unsigned visits,
                            uint64_t ticks, uint64_t now)
{
    *self->until = now;
    if (visits > 0)
        self->in_calls += ticks;
    if (REC_UNLIKELY(now >= self->look_at))
        rec_cores_read(self);
    if (REC_UNLIKELY(region >= self->n_sums) && !rec_sums_grow(self, region))
        return;
    struct lull_tape_sum *sum = rec_place_of_sum(self, region, self->parallel);
    sum->visits += visits;
    __atomic_store_n(&sum->ticks, sum->ticks + ticks, __ATOMIC_RELEASE);
}

/* The functions rec_put_* read no counters: the caller has just read them, or the record has
 * another time than the present. */

/* A call without regions inside and without a message, from `begin` on. */
static inline void rec_put_call(struct rec_thread *self, uint32_t region, uint64_t begin,
                                uint64_t duration)
{
    rec_reserve_behind(self, 2);
    rec_commit(self, lull_tape_put_call(self->at, begin, region, duration));
    rec_add_sum(self, region, 1, duration, begin + duration);
    self->inside += duration;
}

/* Gives the call's region what was counted from rec_open_call to `end`. */
static inline void rec_count_call(struct rec_thread *self, uint32_t region, uint64_t end)
{
    if (REC_UNLIKELY(self->n_counters > 0))
        rec_counters_read(self, region, end);
}

static inline void rec_call(struct rec_thread *self, uint32_t region, uint64_t begin,
                            uint64_t duration)
{
    rec_put_call(self, region, begin, duration);
    rec_count_call(self, region, begin + duration);
}

/* A region that may hold others. */
static inline void rec_put_enter(struct rec_thread *self, uint32_t region, uint64_t now)
{
    rec_reserve_behind(self, 1);
    self->at->record.time = now;
    self->at->record.head = lull_tape_head(LULL_TAPE_ENTER, 0, region);
    self->at->record.value = 0;
    rec_commit(self, 1);
    struct lull_tape_sum *sum = rec_sum_of(self, region, self->parallel);
    if (REC_LIKELY(sum != NULL))
        sum->visits++;
    if (REC_LIKELY(self->n_frames < REC_MOST_FRAMES)) {
        self->frames[self->n_frames] =
            (struct rec_frame){now, self->inside, region, self->parallel};
        self->inside = 0;
    } else {
        *self->until = now;
    }
    self->n_frames++;
}

static inline void rec_enter(struct rec_thread *self, uint32_t region, uint64_t now)
{
    if (REC_UNLIKELY(self->n_counters > 0))
        rec_counters_read_here(self, now);
    rec_put_enter(self, region, now);
}

/* `parallel` of the thread must be what it was at rec_enter. */
static inline void rec_put_leave(struct rec_thread *self, uint32_t region, uint64_t now)
{
    rec_reserve_behind(self, 1);
    self->at->record.time = now;
    self->at->record.head = lull_tape_head(LULL_TAPE_LEAVE, 0, region);
    self->at->record.value = 0;
    rec_commit(self, 1);
    if (self->n_frames == 0)
        return;
    if (REC_UNLIKELY(self->paused))
        rec_sums_pause(self, now);
    if (REC_LIKELY(--self->n_frames < REC_MOST_FRAMES)) {
        uint64_t total = now - self->frames[self->n_frames].begin;
        rec_add_sum(self, region, 0, total - self->inside, now);
        self->inside = self->frames[self->n_frames].inside + total;
    }
}

static inline void rec_leave(struct rec_thread *self, uint32_t region, uint64_t now)
{
    if (REC_UNLIKELY(self->n_counters > 0))
        rec_counters_read_here(self, now);
    rec_put_leave(self, region, now);
}

/* LULL_TAPE_NUMBER: `what` is an enum lull_tape_number, `id` that of a communicator or marker, or
 * LULL_TAPE_NO_ID. */
static inline void rec_number(struct rec_thread *self, unsigned what, uint32_t id, uint64_t number,
                              uint64_t now)
{
    rec_reserve_behind(self, 2);
    self->at[0].record.time = now;
    self->at[0].record.head = lull_tape_head(LULL_TAPE_NUMBER, 1, id);
    self->at[0].record.value = what;
    self->at[1].u64[0] = number;
    self->at[1].u64[1] = 0;
    rec_commit(self, 2);
    *self->until = now;
}

/* LULL_TAPE_TRANSFER, behind the call that moves the bytes: `op` as in the record; `id` of a file,
 * or LULL_TAPE_NO_ID; `target` a process number, or LULL_TAPE_ANY. */
static inline void rec_put_transfer(struct rec_thread *self, uint64_t time, uint32_t op,
                                    uint32_t id, uint64_t bytes, int32_t target)
{
    rec_reserve_behind(self, 2);
    self->at[0].record.time = time;
    self->at[0].record.head = lull_tape_head(LULL_TAPE_TRANSFER, 1, id);
    self->at[0].record.value = op;
    self->at[1].u64[0] = bytes;
    self->at[1].i32[2] = target;
    self->at[1].i32[3] = 0;
    rec_commit(self, 2);
}

/* ==== aside =================================================================================== */

/* How many mutexes that are needed to end the tapes the calling thread has, or is about to take. In a signal
 * handler: those of the code that it has interrupted, which will not give them back if the handler calls
 * exit(). */
extern __thread unsigned rec_locks_held __attribute__((tls_model("initial-exec")));

static inline void rec_lock(pthread_mutex_t *lock)
{
    rec_locks_held++;
    atomic_signal_fence(memory_order_seq_cst);
    pthread_mutex_lock(lock);
}

static inline void rec_unlock(pthread_mutex_t *lock)
{
    pthread_mutex_unlock(lock);
    atomic_signal_fence(memory_order_seq_cst);
    rec_locks_held--;
}

/* Where the recorder has to take a lock, open a file or ask the loader, its thread steps aside.
 * Nothing that the recorder calls from there is recorded. Neither is what a signal handler of the
 * program does that interrupts the recorder there: to record it could mean to wait for ever for a
 * lock that the interrupted recorder holds. The thread cannot be cancelled meanwhile, because the
 * program does not expect a cancellation here, and gets back its errno. Stepping aside may be
 * nested. */

struct rec_aside {
    struct rec_thread *self;
    int reason, cancel; /* errno; whether the thread can be cancelled */
};

static inline struct rec_aside rec_step_aside(void)
{
    struct rec_aside aside = {.self = rec_self_or_null, .reason = errno};
    rec_self_or_null = &rec_nobody;
    atomic_signal_fence(memory_order_seq_cst);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &aside.cancel);
    return aside;
}

static inline void rec_step_back(const struct rec_aside *aside)
{
    pthread_setcancelstate(aside->cancel, NULL);
    atomic_signal_fence(memory_order_seq_cst);
    rec_self_or_null = aside->self;
    errno = aside->reason;
}

#endif
