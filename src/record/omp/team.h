/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes what a thread does in OpenMP constructs onto its tape. The recorder learns it in two ways,
 * for which these functions are the same: by libgomp's entry points (gomp.c) and by the tools
 * interface of other runtimes (ompt.c).
 *
 * A construct in which the thread may wait is opened, and becomes a record CALL when it is closed.
 * When something begins inside of the construct (a task that runs in a barrier), it is unfolded
 * into ENTER and LEAVE. So the common case is one record.
 *
 * A worker does not learn when a parallel region ends: it arrives at the barrier at the region's
 * end and is seen again in the next region. The master keeps the ends of its last regions in a
 * ring. A worker looks there when it comes back, or when the program ends, and writes how long it
 * has waited. */
#ifndef LULL_RECORD_OMP_TEAM_H
#define LULL_RECORD_OMP_TEAM_H

#include "record/core.h"
#include "record/site/site.h"

#include <stdint.h>

/* ==== order of threads ======================================================================== */

/* For the thread sanitizer alone; without it these two do nothing. They tell the sanitizer that one
 * thread goes on after another thread has come to some place, because a runtime that is itself not
 * under the sanitizer has made the first one wait. `object` is an address that both threads know;
 * NULL: nothing is told. */

#if defined(__SANITIZE_THREAD__)
void __tsan_acquire(void *address);
void __tsan_release(void *address);

static inline void REC_COMES_BEFORE(const void *object)
{
    if (object)
        __tsan_release((void *)(uintptr_t)object);
}

static inline void REC_COMES_AFTER(const void *object)
{
    if (object)
        __tsan_acquire((void *)(uintptr_t)object);
}
#else
#define REC_COMES_BEFORE(object) ((void)(object))
#define REC_COMES_AFTER(object)  ((void)(object))
#endif

/* ==== constructs ============================================================================== */

/* Kinds of constructs. Each construct in the program is a region of its own, by its place there. */
enum rec_omp_region {
    REC_OMP_FORK,
    REC_OMP_IMPLICIT_BARRIER,
    REC_OMP_BARRIER,
    REC_OMP_CRITICAL,
    REC_OMP_CRITICAL_BODY,
    REC_OMP_ATOMIC,
    REC_OMP_ORDERED,
    REC_OMP_ORDERED_BODY,
    REC_OMP_FOR,
    REC_OMP_NEXT_CHUNK,
    REC_OMP_SECTIONS,
    REC_OMP_NEXT_SECTION,
    REC_OMP_SINGLE,
    REC_OMP_SINGLE_WAIT,
    REC_OMP_MASKED,
    REC_OMP_WORKSHARE,
    REC_OMP_DISTRIBUTE,
    REC_OMP_REDUCTION,
    REC_OMP_TASK_CREATE,
    REC_OMP_TASKLOOP,
    REC_OMP_TASKLOOP_NOGROUP,
    REC_OMP_TASK_WAIT,
    REC_OMP_TASKGROUP,
    REC_OMP_TASK_YIELD,
    REC_OMP_TEAMS,
    REC_OMP_SET_LOCK,
    REC_OMP_TEST_LOCK,
    REC_OMP_UNSET_LOCK,
    REC_OMP_SET_NEST_LOCK,
    REC_OMP_TEST_NEST_LOCK,
    REC_OMP_UNSET_NEST_LOCK,
    REC_OMP_REGIONS
};

/* Regions that are told apart by the function that the compiler has made of them. */
enum rec_omp_outlined { REC_OMP_PARALLEL, REC_OMP_LEAGUE, REC_OMP_TASK, REC_OMP_OUTLINED };

#define REC_OMP_ENDS  256    /* last regions of a master whose ends are kept; a power of two */
#define REC_OMP_KNOWN 16     /* codes that a thread finds quickly; a power of two */
#define REC_OMP_FORKS 16     /* nested parallel regions that are recorded under ompt.c */
#define REC_OMP_TASKS 256    /* nested tasks that are told apart */
#define REC_OMP_DEPTH 256    /* nested constructs that are kept on a thread */
#define REC_OMP_SITES 0x4000 /* number of the first construct in call sites */

/* When the parallel region with number `generation` of a master ended (struct rec_fork). */
struct rec_omp_end {
    uint64_t generation, time;
};

/* A parallel region that a thread has begun; lives as long as the region. The workers read the
 * first 40 bytes, which stand in one cache line with other data that they read anyway. Nothing in
 * here changes while the region runs: each change would fetch that line from the workers' cores. */
struct rec_fork {
    uint64_t begin;            /* when the master asked for it */
    uint64_t previous;         /* when the master's last region ended */
    uint64_t generation;       /* number of the region at its master, counted from 1 */
    struct rec_omp_end *ends;  /* the master's ring; the thread to which this ring belongs is the
                                  master */
    uint32_t region;           /* 0: it is not recorded, and only `master` is valid */
    uint32_t barrier;          /* region of the wait at its end, with the place of its code */
    struct rec_thread *master; /* NULL: it is not recorded */
    uint32_t around;           /* `parallel` of the master before it began */
};

/* A parallel region, found by its code. */
struct rec_omp_known {
    const void *code;
    uint32_t region, barrier;
};

/* What the recorder keeps for a thread beside its tape; made at the thread's first construct, and
 * kept with its location for good. The members that each parallel region needs come first. Times
 * are in ticks. */
struct rec_omp {
    uint32_t open;   /* region of the construct that is open at the end of the tape; 0: none */
    uint32_t unseen; /* region of the barrier at a region's end to which the thread has come in a
                        pause; 0: there is none */
    uint64_t opened; /* when that construct was opened */
    uint64_t last;   /* when the last region ended */
    const struct rec_omp_end *ends;
    uint64_t generation;
    uint32_t region, barrier;
    uint32_t around;
    bool waits; /* atomic: the thread is in the barrier at the end of another thread's region, which
                   `ends` to `around` describe */
    bool ended_alone;      /* the end of a region of one thread is on the tape, and the runtime is
                              going to tell it next (ompt.c) */
    bool tests_lock;       /* the thread is in a function that tests a lock; the runtime tells this
                              as setting the lock */
    uint64_t forked;       /* how many regions this thread has asked for as a master */
    uint64_t begun;        /* `forked` at the last region whose code it has begun */
    uint64_t joined;       /* when the last of its regions ended, ticks */
    uint32_t n_forks;      /* how many of `forks` the runtime points to (ompt.c) */
    uint32_t arrived;      /* a bit for each of `forks`: the master waits for the others */
    uint32_t alone;        /* a bit for each of `forks`: it has one thread */
    uint32_t leagues;      /* a bit for each of `forks`: it is a league of teams */
    uint32_t n_leagues;    /* leagues in which this thread leads a team (ompt.c) */
    uint32_t n_constructs; /* that have begun and whose end comes in another call of the recorder */
    uint32_t n_tasks;      /* that run on this thread, one inside of the other */
    uint32_t request;      /* region of the request for a chunk that is open (ompt.c); 0: none */
    uint32_t sets_nest;    /* region of the wait for a nested lock (ompt.c); 0: none */
    const void *called_from; /* the program's place that the next construct has of which the runtime
                                tells, where the runtime does not always know it; else NULL */
    uint32_t hidden[REC_OMP_FORKS + 1]; /* hidden[i]: unrecorded regions inside of i recorded
                                           ones */
    struct rec_omp_known known[REC_OMP_KNOWN];
    uint32_t constructs[REC_OMP_DEPTH]; /* region of each; 0: it was not recorded */
    const void *places[REC_OMP_DEPTH];  /* the code that began the loop or sections; NULL: not
                                           known */
    bool cancellable[REC_OMP_DEPTH];    /* the runtime may not tell the end of it (ompt.c) */
    const void *tasks[REC_OMP_TASKS];
    struct {
        _Alignas(64) struct rec_fork fork;
    } forks[REC_OMP_FORKS]; /* each has a cache line of its own */
    struct rec_omp_end ring[REC_OMP_ENDS];
};

extern uint32_t rec_omp_ids[REC_OMP_REGIONS];

/* Defines the regions above; safe to call again. */
void rec_omp_start(void);
/* Id of the region of a parallel region, league or task with that code address. */
uint32_t rec_omp_outlined(enum rec_omp_outlined kind, const void *code);

/* As rec_omp_at, for a place that is not in the table yet. */
uint32_t rec_omp_new_site(enum rec_omp_region construct, const void *from);

/* Region of a construct whose call returns to `from`; NULL: it is not known where it returns to. */
static inline uint32_t rec_omp_at(enum rec_omp_region construct, const void *from)
{
    uint32_t region =
        (uint32_t)rec_map_get(&rec_sites, rec_site_key(from, REC_OMP_SITES + construct));
    return REC_LIKELY(region != 0) ? region : rec_omp_new_site(construct, from);
}

struct rec_omp *rec_omp_make(struct rec_thread *self);

/* The calling thread if its constructs are to be recorded now, else NULL. */
static inline struct rec_thread *rec_omp_self(void)
{
    struct rec_thread *self = rec_current();
    if (REC_UNLIKELY(!rec_admits(self)) || REC_UNLIKELY(!self->omp && !rec_omp_make(self)))
        return NULL;
    return self;
}

static inline struct rec_omp *rec_omp_of(struct rec_thread *self)
{
    return self->omp;
}

/* Makes room on the tape for a record, and returns the present time for it. */
static inline uint64_t rec_omp_now(struct rec_thread *self)
{
    rec_reserve(self, REC_MOST_SLOTS);
    return rec_now();
}

/* Something begins inside of the construct that is open: writes the construct's ENTER. */
static inline void rec_omp_unfold(struct rec_thread *self)
{
    struct rec_omp *omp = rec_omp_of(self);
    if (REC_LIKELY(omp->open == 0))
        return;
    rec_put_enter(self, omp->open, omp->opened);
    omp->open = 0;
}

static inline void rec_omp_open(struct rec_thread *self, uint32_t region)
{
    struct rec_omp *omp = rec_omp_of(self);
    rec_omp_unfold(self);
    omp->opened = rec_open_call(self, region);
    omp->open = region;
}

REC_INLINE void rec_omp_close_at(struct rec_thread *self, uint32_t region, uint64_t now)
{
    struct rec_omp *omp = rec_omp_of(self);
    if (REC_LIKELY(omp->open != 0)) {
        rec_call(self, omp->open, omp->opened, now > omp->opened ? now - omp->opened : 0);
        omp->open = 0;
    } else if (omp->unseen) {
        omp->unseen = 0;
    } else {
        rec_leave(self, region, now);
    }
}

REC_INLINE uint64_t rec_omp_close(struct rec_thread *self, uint32_t region)
{
    uint64_t now = rec_now();
    rec_omp_close_at(self, region, now);
    return now;
}

/* The place of the program at which a construct begins; `told` is what the runtime says of it. */
static inline const void *rec_omp_called_from(struct rec_omp *omp, const void *told)
{
    const void *from = omp->called_from;
    omp->called_from = NULL;
    return from ? from : told;
}

/* The three functions below are for constructs that begin and end in different calls of the
 * runtime: the program may pause or resume recording in between. */
static inline void rec_omp_push(struct rec_omp *omp, uint32_t region)
{
    uint32_t at = omp->n_constructs++;
    if (REC_LIKELY(at < REC_OMP_DEPTH)) {
        omp->constructs[at] = region;
        omp->places[at] = NULL;
        omp->cancellable[at] = false;
    }
}

/* The region of the construct that ends; `otherwise` where constructs are nested too deep to be
 * known; 0: its begin was not recorded. */
static inline uint32_t rec_omp_pop(struct rec_omp *omp, uint32_t otherwise)
{
    if (omp->n_constructs == 0)
        return 0;
    uint32_t at = --omp->n_constructs;
    return REC_LIKELY(at < REC_OMP_DEPTH) ? omp->constructs[at] : otherwise;
}

static inline void rec_omp_enter(struct rec_thread *self, uint32_t region, uint64_t now)
{
    rec_omp_unfold(self);
    rec_omp_push(self->omp, region);
    rec_enter(self, region, now);
}

/* Enters a loop or sections that the code at `from` begins. The requests for chunks get the same
 * place, because compilers give the calls for them other lines. */
static inline void rec_omp_enter_shared(struct rec_thread *self, enum rec_omp_region construct,
                                        const void *from)
{
    struct rec_omp *omp = rec_omp_of(self);
    rec_omp_enter(self, rec_omp_at(construct, from), rec_omp_now(self));
    if (REC_LIKELY(omp->n_constructs <= REC_OMP_DEPTH))
        omp->places[omp->n_constructs - 1] = from;
}

/* Region of a request in the innermost construct. */
static inline uint32_t rec_omp_request_in(const struct rec_omp *omp, enum rec_omp_region request)
{
    const uint32_t n = omp->n_constructs;
    return rec_omp_at(request, n > 0 && n <= REC_OMP_DEPTH ? omp->places[n - 1] : NULL);
}

/* In place of rec_omp_enter, when the construct is not recorded. */
static inline void rec_omp_skip(void)
{
    struct rec_thread *self = rec_current();
    if (self->omp)
        rec_omp_push(self->omp, 0);
}

/* The calling thread, if the begin of the construct that ends now was recorded, else NULL. The
 * region of the construct goes to *ret_region. */
static inline struct rec_thread *rec_omp_ending(uint32_t otherwise, uint32_t *ret_region)
{
    struct rec_thread *self = rec_current();
    *ret_region = self->omp ? rec_omp_pop(self->omp, otherwise) : 0;
    return *ret_region != 0 && rec_goes_on(self) ? self : NULL;
}

/* Leaves a construct that was entered or skipped; `now` 0: at present. */
static inline void rec_omp_leave(enum rec_omp_region region, uint64_t now)
{
    uint32_t entered;
    struct rec_thread *self = rec_omp_ending(rec_omp_ids[region], &entered);
    if (self)
        rec_leave(self, entered, now ? now : rec_omp_now(self));
}

/* ---- parallel regions ------------------------------------------------------------------------ */

/* The return address that a call at the beginning of that code would have. */
static inline const void *rec_omp_place_of(const void *code)
{
    return code ? (const char *)code + 1 : NULL;
}

/* As rec_omp_known, where the thread's table does not have the code. */
struct rec_omp_known rec_omp_learn(struct rec_omp *omp, enum rec_omp_outlined kind,
                                   const void *code);

#define REC_OMP_KNOWN_AT(code) (((uintptr_t)(code) >> 4) % REC_OMP_KNOWN)

/* The regions of a parallel region or league with that code; NULL: the code is not known. */
static inline struct rec_omp_known rec_omp_known(struct rec_omp *omp, enum rec_omp_outlined kind,
                                                 const void *code)
{
    const struct rec_omp_known *known = &omp->known[REC_OMP_KNOWN_AT(code)];
    if (REC_LIKELY(known->code == code && code && kind == REC_OMP_PARALLEL))
        return *known;
    return rec_omp_learn(omp, kind, code);
}

/* The master asks for a region. */
static inline void rec_omp_fork(struct rec_thread *self, struct rec_fork *fork,
                                enum rec_omp_outlined kind, const void *code)
{
    struct rec_omp *omp = rec_omp_of(self);
    rec_omp_unfold(self);
    const struct rec_omp_known known = rec_omp_known(omp, kind, code);
    fork->master = self;
    fork->region = known.region;
    fork->barrier = known.barrier;
    fork->ends = omp->ring;
    fork->generation = ++omp->forked;
    fork->around = self->parallel;
    fork->previous = omp->joined;
    fork->begin = rec_omp_now(self);
    self->parallel = 1;
    rec_enter(self, fork->region, fork->begin);
}

/* The calling thread is new and the runtime's. */
void rec_omp_thread_begin(void);

/* Opens the barrier at the end of a region. In a pause it is only noted (`unseen`), until the
 * barrier or the pause ends. */
static inline void rec_omp_wait(struct rec_thread *self, uint32_t barrier)
{
    if (REC_LIKELY(!self->paused))
        rec_omp_open(self, barrier);
    else
        rec_omp_of(self)->unseen = barrier;
}

/* A thread begins the code of a region (rec_omp_begin), and has ended it (rec_omp_arrive).
 * `barrier` is the region of the wait that may be the one at the region's end. The master calls the
 * two between rec_omp_fork and rec_omp_join. */
void rec_omp_begin(struct rec_thread *self, const struct rec_fork *fork);
static inline void rec_omp_arrive(struct rec_thread *self, const struct rec_fork *fork,
                                  uint32_t barrier)
{
    struct rec_omp *omp = rec_omp_of(self);
    if (!rec_goes_on(self))
        return;
    rec_omp_wait(self, barrier);
    if (fork->ends == omp->ring)
        return;
    omp->ends = fork->ends;
    omp->generation = fork->generation;
    omp->region = fork->region;
    omp->barrier = barrier;
    __atomic_store_n(&omp->waits, true, __ATOMIC_RELEASE);
}

/* Whether the runtime is making a team for a region that this thread has asked for. */
static inline bool rec_omp_is_forking(struct rec_thread *self)
{
    const struct rec_omp *omp = rec_omp_of(self);
    return omp && omp->begun != omp->forked;
}

/* The master goes on behind the region. */
static inline void rec_omp_join(struct rec_thread *self, const struct rec_fork *fork)
{
    if (!rec_goes_on(self))
        return;
    uint64_t now = rec_omp_close(self, fork->barrier);
    struct rec_omp *omp = rec_omp_of(self);
    struct rec_omp_end *end = &omp->ring[fork->generation % REC_OMP_ENDS];
    omp->joined = now;
    omp->begun = omp->forked;
    /* A worker that reads the new time must not take it for that of the old generation. */
    __atomic_store_n(&end->generation, UINT64_MAX, __ATOMIC_RELAXED);
    __atomic_store_n(&end->time, now, __ATOMIC_RELEASE);
    __atomic_store_n(&end->generation, fork->generation, __ATOMIC_RELEASE);
    rec_put_leave(self, fork->region, now);
    self->parallel = fork->around;
}

/* The only thread of a region has ended the region's code, and so the region: it waits for nobody.
 * This is called in place of rec_omp_arrive and rec_omp_join, and reads the clock once. No worker
 * will ask when the region ended. */
static inline void rec_omp_end_alone(struct rec_thread *self, const struct rec_fork *fork)
{
    rec_omp_unfold(self);
    const uint64_t now = rec_omp_now(self);
    rec_put_call(self, fork->barrier, now, 0);
    rec_put_leave(self, fork->region, now);
    self->parallel = fork->around;
}

/* A worker that waits at the end of a region has left it by `now` (0: by the present): writes how
 * long it waited. Another thread may call this when the program ends. */
void rec_omp_settle(struct rec_thread *self, uint64_t now);

/* The thread ends: the next one that has this location is in no construct. */
void rec_omp_forget(struct rec_thread *self);

/* Called before a pause of the thread begins or ends at `time`. The wait of a worker between
 * regions is ended (rec_omp_settle). A construct that is open when the pause begins is unfolded, so
 * that the pause lies inside of it; a barrier to which the thread has come in the pause is open
 * from the pause's end on. */
void rec_omp_before_pause(struct rec_thread *self, uint64_t time);
void rec_omp_before_resume(struct rec_thread *self, uint64_t time);

/* An object for REC_COMES_BEFORE: a parallel region ends after all tasks in it, which threads run
 * also in the barrier at its end, after they have come to the barrier. */
extern char rec_omp_tasks_ended;

/* The code of a task begins to run, and has ended. */
static inline void rec_omp_task_begin(struct rec_thread *self, uint32_t region)
{
    rec_omp_unfold(self);
    rec_enter(self, region, rec_omp_now(self));
}

static inline void rec_omp_task_end(struct rec_thread *self, uint32_t region)
{
    if (rec_goes_on(self))
        rec_leave(self, region, rec_omp_now(self));
}

#endif
