/* SPDX-License-Identifier: BSD-3-Clause */
/* LLVM's OpenMP runtime and its relatives tell a tool what happens (OMPT, OpenMP 5.0).
 *
 * As found with libomp 14: the end of a barrier has NULL for `parallel` when the barrier was the
 * one at the end of a parallel region. A worker is told of that end, and of the end of its implicit
 * task, only when it is needed again or when the runtime shuts down; rec_omp_settle finds the true
 * time. A region of one thread has no barrier. */
#include "record/omp/ompt.h"

#include "record/core.h"
#include "record/life_cycle.h"
#include "record/omp/gomp.h"
#include "record/omp/team.h"

#include <stdint.h>

enum { OMPT_THREAD_WORKER = 2 };

enum { OMPT_TASK_INITIAL = 1, OMPT_TASK_EXPLICIT = 4 };

enum { OMPT_PARALLEL_LEAGUE = 0x40000000 };

enum ompt_work {
    OMPT_WORK_LOOP = 1,
    OMPT_WORK_SECTIONS,
    OMPT_WORK_SINGLE_EXECUTOR,
    OMPT_WORK_SINGLE_OTHER,
    OMPT_WORK_WORKSHARE,
    OMPT_WORK_DISTRIBUTE,
    OMPT_WORK_TASKLOOP,
    OMPT_WORK_SCOPE,
    OMPT_WORK_LOOP_STATIC = 10,
    OMPT_WORK_LOOP_OTHER = 13
};

enum ompt_status {
    OMPT_TASK_COMPLETE = 1,
    OMPT_TASK_YIELD,
    OMPT_TASK_CANCEL,
    OMPT_TASK_DETACH,
    OMPT_TASK_SWITCH = 7
};

enum ompt_mutex {
    OMPT_MUTEX_LOCK = 1,
    OMPT_MUTEX_TEST_LOCK,
    OMPT_MUTEX_NEST_LOCK,
    OMPT_MUTEX_TEST_NEST_LOCK,
    OMPT_MUTEX_CRITICAL,
    OMPT_MUTEX_ATOMIC,
    OMPT_MUTEX_ORDERED
};

/* ==== locks =================================================================================== */

/* Waiting for locks, critical sections and the like, and the code inside of critical and ordered
 * sections. */

/* Locks that are only tested are left to the functions in gomp.c, because nothing is told when the
 * lock cannot be had. */
static const struct {
    enum rec_omp_region wait, body; /* REC_OMP_REGIONS: none */
} mutexes[] = {
    [OMPT_MUTEX_LOCK] = {REC_OMP_SET_LOCK, REC_OMP_REGIONS},
    [OMPT_MUTEX_TEST_LOCK] = {REC_OMP_REGIONS, REC_OMP_REGIONS},
    [OMPT_MUTEX_NEST_LOCK] = {REC_OMP_SET_NEST_LOCK, REC_OMP_REGIONS},
    [OMPT_MUTEX_TEST_NEST_LOCK] = {REC_OMP_REGIONS, REC_OMP_REGIONS},
    [OMPT_MUTEX_CRITICAL] = {REC_OMP_CRITICAL, REC_OMP_CRITICAL_BODY},
    [OMPT_MUTEX_ATOMIC] = {REC_OMP_ATOMIC, REC_OMP_REGIONS},
    [OMPT_MUTEX_ORDERED] = {REC_OMP_ORDERED, REC_OMP_ORDERED_BODY},
};

static bool is_known(int kind)
{
    struct rec_thread *self = rec_current();
    return kind > 0 && (size_t)kind < sizeof mutexes / sizeof *mutexes &&
           !(self->omp && rec_omp_of(self)->tests_lock);
}

static void ompt_mutex_acquire(int kind, unsigned hint, unsigned implementation, uint64_t lock,
                               const void *code)
{
    (void)hint, (void)implementation, (void)lock;
    if (!is_known(kind) || mutexes[kind].wait == REC_OMP_REGIONS)
        return;
    struct rec_thread *self = rec_omp_self();
    if (!self) {
        rec_omp_skip();
        return;
    }
    const void *from = rec_omp_called_from(rec_omp_of(self), code);
    uint32_t region = rec_omp_at(mutexes[kind].wait, from);
    rec_omp_push(self->omp, region);
    rec_omp_open(self, region);
    rec_omp_of(self)->sets_nest = kind == OMPT_MUTEX_NEST_LOCK ? region : 0;
}

static void ompt_mutex_acquired(int kind, uint64_t lock, const void *code)
{
    (void)lock;
    if (!is_known(kind) || mutexes[kind].wait == REC_OMP_REGIONS)
        return;
    uint32_t region;
    struct rec_thread *self = rec_omp_ending(rec_omp_ids[mutexes[kind].wait], &region);
    uint64_t now = self ? rec_omp_close(self, region) : 0;
    if (mutexes[kind].body == REC_OMP_REGIONS)
        return;
    if (self && !self->paused)
        rec_omp_enter(self, rec_omp_at(mutexes[kind].body, code), now);
    else
        rec_omp_skip();
}

static void ompt_mutex_released(int kind, uint64_t lock, const void *code)
{
    (void)lock, (void)code;
    if (is_known(kind) && mutexes[kind].body != REC_OMP_REGIONS)
        rec_omp_leave(mutexes[kind].body, 0);
}

/* The thread takes a nested lock that it already has. The runtime does not say whether the lock was
 * set or tested; only a set one has an open call. */
static void ompt_nest_lock(int endpoint, uint64_t lock, const void *code)
{
    (void)lock, (void)code;
    struct rec_thread *self = rec_current();
    const struct rec_omp *omp = self->omp;
    if (endpoint != OMPT_BEGIN || !omp || omp->open == 0 || omp->open != omp->sets_nest)
        return;
    uint32_t region;
    if (rec_omp_ending(omp->open, &region))
        rec_omp_close(self, region);
}

/* ==== the tools interface ===================================================================== */

/* Atomic: a runtime has taken the recorder's callbacks. */
static bool ompt_tells;

REC_EXPORT struct ompt_tool *ompt_start_tool(unsigned version, const char *runtime);

/* ---- the values of tasks --------------------------------------------------------------------- */

/* The value of an explicit task is its region and a bit, that of an implicit task a pointer to its
 * fork. */

static uint64_t mark_of(uint32_t region)
{
    return (uint64_t)region << 1 | 1;
}

static bool is_explicit(const union ompt_data *task)
{
    return task && (task->value & 1);
}

static uint32_t region_of_task(const union ompt_data *task)
{
    return (uint32_t)(task->value >> 1);
}

static const struct rec_fork *fork_of(const union ompt_data *task)
{
    return task && !is_explicit(task) ? task->ptr : NULL;
}

/* Whether this is the innermost region that the thread has begun. */
static bool is_last_fork(const struct rec_omp *omp, const struct rec_fork *fork)
{
    return omp->n_forks > 0 && fork == &omp->forks[omp->n_forks - 1].fork;
}

/* ---- the tasks that a thread runs, one inside of the other ----------------------------------- */

static void push_task(struct rec_omp *omp, const union ompt_data *task)
{
    if (omp->n_tasks < REC_OMP_TASKS)
        omp->tasks[omp->n_tasks] = task;
    omp->n_tasks++;
}

/* The thread begins its part of a region. A worker that begins a part runs nothing else: what is
 * left from the region before is dropped, because the runtime tells the end of that part with
 * another address, by which it cannot be found. */
static void push_implicit(struct rec_omp *omp, const struct rec_fork *fork,
                          const union ompt_data *task)
{
    if (fork->ends != omp->ring)
        omp->n_tasks = 0;
    push_task(omp, task);
}

/* How many tasks have begun inside of this task and not ended; UINT32_MAX: this task does not run
 * on the thread. */
static uint32_t tasks_inside(const struct rec_omp *omp, const union ompt_data *task)
{
    for (uint32_t i = omp->n_tasks < REC_OMP_TASKS ? omp->n_tasks : REC_OMP_TASKS; i-- > 0;)
        if (omp->tasks[i] == task)
            return omp->n_tasks - 1 - i;
    return UINT32_MAX;
}

/* A place inside of the call instruction: the runtime tells where its caller goes on after the
 * call. */
static const void *place_of_code(const void *code)
{
    return code ? (const char *)code - 1 : NULL;
}

/* ---- threads and parallel regions ------------------------------------------------------------ */

static void on_thread_begin(int type, union ompt_data *data)
{
    (void)data;
    if (type == OMPT_THREAD_WORKER)
        rec_omp_thread_begin();
}

/* Notes that a region begins which is not recorded, inside of the last one that is. */
static REC_COLD void hide_fork(void)
{
    struct rec_omp *omp = rec_current()->omp;
    if (omp)
        omp->hidden[omp->n_forks]++;
}

/* The leaders of teams are treated as the threads of a region (the league). libomp begins one more
 * region for each leader, of one thread and without a place in the program: that region is left
 * out. */
static void on_parallel_begin(union ompt_data *task, const void *frame, union ompt_data *parallel,
                              unsigned threads, int flags, const void *code)
{
    (void)task, (void)frame, (void)threads;
    parallel->ptr = NULL;
    struct rec_thread *self = rec_omp_self();
    if (!self || rec_omp_of(self)->n_forks >= REC_OMP_FORKS ||
        (!code && rec_omp_of(self)->n_leagues > 0)) {
        hide_fork();
        return;
    }
    struct rec_omp *omp = rec_omp_of(self);
    struct rec_fork *fork = &omp->forks[omp->n_forks].fork;
    const bool league = flags & OMPT_PARALLEL_LEAGUE;
    const uint32_t bit = 1U << omp->n_forks++;
    omp->hidden[omp->n_forks] = 0;
    omp->arrived &= ~bit;
    omp->alone &= ~bit;
    omp->leagues &= ~bit;
    if (REC_UNLIKELY(league))
        omp->leagues |= bit;
    rec_omp_fork(self, fork, league ? REC_OMP_LEAGUE : REC_OMP_PARALLEL, place_of_code(code));
    parallel->ptr = fork;
    REC_COMES_BEFORE(fork);
}

/* Which region ends must be known without `parallel`: the thread has given its team back by now,
 * and `parallel` may already belong to a region that another thread has begun with that team. */
static void on_parallel_end(union ompt_data *parallel, union ompt_data *task, int flags,
                            const void *code)
{
    (void)task, (void)flags, (void)code;
    struct rec_thread *self = rec_current();
    struct rec_omp *omp = self->omp;
    REC_COMES_AFTER(parallel);
    REC_COMES_AFTER(&rec_omp_tasks_ended);
    if (!omp)
        return;
    if (omp->ended_alone) {
        omp->ended_alone = false;
    } else if (omp->hidden[omp->n_forks] > 0 && !is_last_fork(omp, parallel->ptr)) {
        omp->hidden[omp->n_forks]--;
    } else if (omp->n_forks > 0) {
        omp->n_forks--;
        rec_omp_join(self, &omp->forks[omp->n_forks].fork);
    }
}

/* The league that this thread has begun last, when that is the last region it has begun. */
static struct rec_fork *last_league(void)
{
    struct rec_omp *omp = rec_current()->omp;
    if (!omp || omp->n_forks == 0 || !(omp->leagues & 1U << (omp->n_forks - 1)))
        return NULL;
    return &omp->forks[omp->n_forks - 1].fork;
}

/* Begins the part of a thread in a league or region that the runtime has not named: with one team
 * the leader is not told which league it is in, and in a pause the recorder does not record the
 * part, but must know of it. */
static REC_COLD void begin_unseen(struct rec_thread *self, struct rec_fork *fork,
                                  union ompt_data *task, bool initial)
{
    if (!fork && initial)
        fork = last_league();
    if (!fork && self)
        rec_omp_settle(self, 0);
    if (!fork || (!self && fork->master != rec_current()))
        return;
    task->ptr = fork;
    if (self)
        rec_omp_begin(self, fork);
    push_implicit(rec_current()->omp, fork, task);
}

static void begin_implicit(union ompt_data *parallel, union ompt_data *task, bool initial,
                           bool alone)
{
    struct rec_thread *self = rec_omp_self();
    struct rec_fork *fork = parallel ? parallel->ptr : NULL;
    REC_COMES_AFTER(fork);
    task->ptr = fork;
    if (REC_LIKELY(fork && self)) {
        rec_omp_begin(self, fork);
        push_implicit(self->omp, fork, task);
        if (alone && !initial && is_last_fork(self->omp, fork))
            rec_omp_of(self)->alone |= 1U << (rec_omp_of(self)->n_forks - 1);
        return;
    }
    task->ptr = NULL;
    begin_unseen(self, fork, task, initial);
}

/* Ends a region of one thread, of which the runtime tells the end next. */
static void end_alone(struct rec_thread *self, const struct rec_fork *fork)
{
    struct rec_omp *omp = rec_omp_of(self);
    omp->n_forks--;
    omp->ended_alone = true;
    rec_omp_end_alone(self, fork);
}

static void end_implicit(union ompt_data *task)
{
    const struct rec_fork *fork = fork_of(task);
    struct rec_thread *self = rec_current();
    if (!fork || !self->omp)
        return;
    /* A worker's fork may be gone by now. What the worker must know of it, it has kept, and puts on
     * its tape when it begins the next region. */
    struct rec_omp *omp = rec_omp_of(self);
    uint32_t inside = tasks_inside(omp, task);
    if (inside < UINT32_MAX)
        omp->n_tasks -= inside + 1;
    if (!is_last_fork(omp, fork) || omp->arrived & 1U << (omp->n_forks - 1) || !rec_goes_on(self))
        return;
    if (omp->alone & 1U << (omp->n_forks - 1) && !self->paused && self->n_counters == 0)
        end_alone(self, fork);
    else
        rec_omp_wait(self, fork->barrier);
}

static void count_league(int endpoint)
{
    struct rec_omp *omp = rec_current()->omp;
    if (omp && endpoint == OMPT_BEGIN)
        omp->n_leagues++;
    else if (omp && omp->n_leagues > 0)
        omp->n_leagues--;
}

/* An initial task is that of a team's leader, or of the program, which belongs to no region. */
static void on_implicit_task(int endpoint, union ompt_data *parallel, union ompt_data *task,
                             unsigned threads, unsigned number, int flags)
{
    (void)number;
    if (endpoint == OMPT_BEGIN)
        begin_implicit(parallel, task, flags & OMPT_TASK_INITIAL, threads == 1);
    if (flags & OMPT_TASK_INITIAL && fork_of(task))
        count_league(endpoint);
    if (endpoint == OMPT_END)
        end_implicit(task);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static const enum rec_omp_region sync_regions[] = {
    [OMPT_SYNC_BARRIER] = REC_OMP_BARRIER,
    [OMPT_SYNC_BARRIER_IMPLICIT] = REC_OMP_IMPLICIT_BARRIER,
    [OMPT_SYNC_BARRIER_EXPLICIT] = REC_OMP_BARRIER,
    [OMPT_SYNC_BARRIER_IMPLEMENTATION] = REC_OMP_IMPLICIT_BARRIER,
    [OMPT_SYNC_TASKWAIT] = REC_OMP_TASK_WAIT,
    [OMPT_SYNC_TASKGROUP] = REC_OMP_TASKGROUP,
    [OMPT_SYNC_REDUCTION] = REC_OMP_REDUCTION,
    [OMPT_SYNC_BARRIER_WORKSHARE] = REC_OMP_IMPLICIT_BARRIER,
    [OMPT_SYNC_BARRIER_PARALLEL] = REC_OMP_IMPLICIT_BARRIER,
    [OMPT_SYNC_BARRIER_TEAMS] = REC_OMP_IMPLICIT_BARRIER,
};

/* Loops and sections that were cancelled are not told to end. */
static void leave_work(struct rec_thread *self)
{
    struct rec_omp *omp = rec_omp_of(self);
    while (omp->n_constructs > 0 && omp->n_constructs <= REC_OMP_DEPTH &&
           omp->cancellable[omp->n_constructs - 1])
        rec_leave(self, omp->constructs[--omp->n_constructs], rec_omp_now(self));
}

/* Whether a barrier may be the one at the end of a region. Whether it is that one is known only
 * when the barrier ends. */
static bool may_be_last(int kind)
{
    const unsigned kinds = 1U << OMPT_SYNC_BARRIER_IMPLICIT | 1U << OMPT_SYNC_BARRIER_WORKSHARE |
                           1U << OMPT_SYNC_BARRIER_PARALLEL | 1U << OMPT_SYNC_BARRIER_TEAMS;
    return kind >= 0 && kind < 32 && (kinds >> kind & 1);
}

/* Called in place of begin_sync where nothing is recorded. The end of a region that is on the tape
 * is noted all the same. */
static REC_COLD void skip_sync(const struct rec_fork *fork)
{
    struct rec_thread *self = rec_current();
    rec_omp_skip();
    if (fork && self->omp)
        rec_omp_arrive(self, fork, fork->barrier);
}

/* The runtime knows the place of a barrier at the end of a region on its master alone. */
static uint32_t barrier_at(struct rec_omp *omp, enum rec_omp_region construct,
                           const struct rec_fork *fork, const void *told)
{
    const void *code = rec_omp_called_from(omp, told);
    return !code && fork ? fork->barrier : rec_omp_at(construct, code);
}

/* A barrier or another wait begins. `fork`: the region that may end with it; NULL: none. */
static void begin_sync(enum rec_omp_region construct, const struct rec_fork *fork, const void *code)
{
    struct rec_thread *self = rec_omp_self();
    if (!self) {
        skip_sync(fork);
        return;
    }
    if (construct == REC_OMP_IMPLICIT_BARRIER)
        leave_work(self);
    const uint32_t region = barrier_at(self->omp, construct, fork, code);
    rec_omp_push(self->omp, region);
    if (fork)
        rec_omp_arrive(self, fork, region);
    else
        rec_omp_open(self, region);
}

/* A wait ends. It need not be the end of a worker's region: a task that runs in the barrier at the
 * region's end may have barriers of its own and wait for other tasks, and after these the worker
 * goes on waiting. */
static void end_sync(enum rec_omp_region construct, const struct rec_fork *fork)
{
    uint32_t region;
    struct rec_thread *self = rec_omp_ending(rec_omp_ids[construct], &region);
    struct rec_omp *omp = fork ? rec_current()->omp : NULL;
    if (omp && fork->ends != omp->ring)
        __atomic_store_n(&omp->waits, false, __ATOMIC_RELAXED);
    if (REC_LIKELY(self != NULL))
        rec_omp_close(self, region);
    else if (omp)
        omp->unseen = 0;
}

/* The barrier at the end of a region is over. The runtime tells this to a worker when the worker is
 * needed again, as a rule by the same master, who has put the next fork in the same place: that is
 * fetched into the cache. Or the runtime tells it late, when it shuts down. By then the process may
 * be about to end, so that nothing may be written on the worker's tape here, not even pauses. */
static void end_last_sync(const union ompt_data *task)
{
    struct rec_omp *omp = rec_current()->omp;
    if (!omp || rec_omp_pop(omp, rec_omp_ids[REC_OMP_IMPLICIT_BARRIER]) == 0)
        return;
    if (is_last_fork(omp, fork_of(task)))
        omp->arrived |= 1U << (omp->n_forks - 1);
    else
        __builtin_prefetch(fork_of(task));
}

static void change_sync(int kind, int endpoint, const union ompt_data *parallel,
                        const union ompt_data *task, const void *code)
{
    bool known = kind > 0 && (size_t)kind < sizeof sync_regions / sizeof *sync_regions;
    enum rec_omp_region region = known ? sync_regions[kind] : REC_OMP_BARRIER;
    bool is_last =
        region == REC_OMP_IMPLICIT_BARRIER && (!parallel || kind == OMPT_SYNC_BARRIER_PARALLEL);
    const struct rec_fork *fork = NULL;
    if (may_be_last(kind)) {
        fork = fork_of(task);
        if (REC_UNLIKELY(!fork) && endpoint == OMPT_BEGIN) {
            skip_sync(NULL); /* the region is not on the tape: its end would come too late */
            return;
        }
    }
    if (endpoint == OMPT_BEGIN)
        begin_sync(region, fork, code);
    else if (is_last)
        end_last_sync(task);
    else
        end_sync(region, fork);
}

static void on_sync_region(int kind, int endpoint, union ompt_data *parallel, union ompt_data *task,
                           const void *code)
{
    change_sync(kind, endpoint, parallel, task, code);
    if (endpoint == OMPT_BEGIN)
        REC_COMES_BEFORE(parallel);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* The runtime tells when a task is made, but not how long that takes. */
static void on_task_create(union ompt_data *parent, const void *frame, union ompt_data *task,
                           int flags, int depends, const void *code)
{
    (void)parent, (void)frame, (void)depends;
    if (!(flags & OMPT_TASK_EXPLICIT))
        return;
    REC_COMES_AFTER(task); /* the memory may have been another task's before */
    task->value = mark_of(rec_omp_outlined(REC_OMP_TASK, place_of_code(code)));
    REC_COMES_BEFORE(task);
    struct rec_thread *self = rec_omp_self();
    if (!self)
        return;
    rec_omp_unfold(self);
    const uint32_t region = rec_omp_at(REC_OMP_TASK_CREATE, code);
    rec_put_call(self, region, rec_omp_now(self), 0);
}

static void begin_task(const union ompt_data *task)
{
    struct rec_thread *self = rec_omp_self();
    if (self) {
        rec_omp_push(self->omp, region_of_task(task));
        rec_omp_task_begin(self, region_of_task(task));
    } else {
        rec_omp_skip();
    }
    self = rec_current();
    if (self->omp)
        push_task(self->omp, task);
}

static void end_task(const union ompt_data *task)
{
    struct rec_thread *self = rec_current();
    if (self->omp && rec_omp_of(self)->n_tasks > 0)
        rec_omp_of(self)->n_tasks--;
    uint32_t region;
    self = rec_omp_ending(region_of_task(task), &region);
    if (self)
        rec_omp_task_end(self, region);
}

/* A thread runs tasks one inside of the other. A task to which the thread turns begins, unless it
 * runs already on the thread: then the task from which the thread comes has ended, or goes on on
 * another thread (an untied task, of which a part has ended). */
static void on_task_schedule(union ompt_data *prior, int status, union ompt_data *next)
{
    REC_COMES_AFTER(next);
    struct rec_thread *self = rec_current();
    bool ended =
        status == OMPT_TASK_COMPLETE || status == OMPT_TASK_CANCEL || status == OMPT_TASK_DETACH;
    bool turns = status == OMPT_TASK_SWITCH || status == OMPT_TASK_YIELD;
    bool goes_back = turns && self->omp && next && tasks_inside(self->omp, next) < UINT32_MAX;
    if ((ended || goes_back) && is_explicit(prior))
        end_task(prior);
    else if (turns && is_explicit(next))
        begin_task(next);
    REC_COMES_BEFORE(prior);
    if (ended)
        REC_COMES_BEFORE(&rec_omp_tasks_ended);
}

/* ---- start ----------------------------------------------------------------------------------- */

static void on_work(int type, int endpoint, union ompt_data *parallel, union ompt_data *task,
                    uint64_t count, const void *code);

static int initialize(ompt_lookup *lookup, int device, union ompt_data *data)
{
    static const struct {
        enum ompt_event event;
        ompt_interface callback;
    } callbacks[] = {
        {OMPT_THREAD_BEGIN, (ompt_interface)on_thread_begin},
        {OMPT_PARALLEL_BEGIN, (ompt_interface)on_parallel_begin},
        {OMPT_PARALLEL_END, (ompt_interface)on_parallel_end},
        {OMPT_IMPLICIT_TASK, (ompt_interface)on_implicit_task},
        {OMPT_SYNC_REGION, (ompt_interface)on_sync_region},
        {OMPT_WORK, (ompt_interface)on_work},
        {OMPT_TASK_CREATE, (ompt_interface)on_task_create},
        {OMPT_TASK_SCHEDULE, (ompt_interface)on_task_schedule},
        {OMPT_MUTEX_ACQUIRE, (ompt_interface)ompt_mutex_acquire},
        {OMPT_MUTEX_ACQUIRED, (ompt_interface)ompt_mutex_acquired},
        {OMPT_MUTEX_RELEASED, (ompt_interface)ompt_mutex_released},
        {OMPT_NEST_LOCK, (ompt_interface)ompt_nest_lock},
    };
    (void)device, (void)data;
    ompt_set_callback *set = (ompt_set_callback *)lookup("ompt_set_callback");
    if (!set)
        return 0;
    rec_omp_start();
    for (size_t i = 0; i < sizeof callbacks / sizeof *callbacks; i++)
        set((int)callbacks[i].event, callbacks[i].callback);
    rec_target_start(set);
    __atomic_store_n(&ompt_tells, true, __ATOMIC_RELAXED);
    return 1;
}

/* The recorder sees the end of the process by itself. */
static void finalize(union ompt_data *data)
{
    (void)data;
}

struct ompt_tool *ompt_start_tool(unsigned version, const char *runtime)
{
    static struct ompt_tool tool = {initialize, finalize, {0}};
    (void)version, (void)runtime;
    rec_start();
    return rec_process.on ? &tool : NULL;
}

/* ==== entry points of LLVM's runtime ========================================================== */

/* Functions that LLVM's compilers call, interposed where the tools interface does not tell enough.
 * Of barriers, and of loops whose chunks are handed out while they run, the interface tells begin
 * and end, but not always the place. Of requests for chunks, which are recorded as calls, it tells
 * nothing. */

/* The calling thread if the runtime tells of its loops through the tools interface, else NULL. */
static inline struct rec_thread *self_in(const struct rec_gomp *gomp)
{
    const bool tells = __atomic_load_n(&ompt_tells, __ATOMIC_RELAXED);
    return REC_LIKELY(!gomp->is_ours && tells) ? rec_omp_self() : NULL;
}

/* The next construct of which the runtime tells has this place, whatever place the runtime gives
 * it. Only the next one: constructs in tasks that run in a barrier have places of their own. */
static inline void tell_place(const struct rec_gomp *gomp, const void *from)
{
    struct rec_thread *self = self_in(gomp);
    if (REC_LIKELY(self != NULL))
        rec_omp_of(self)->called_from = from;
}

static struct rec_call begin_request(const struct rec_gomp *gomp)
{
    const struct rec_call made = rec_gomp_open_request(self_in(gomp), REC_OMP_NEXT_CHUNK);
    if (made.self)
        rec_omp_of(made.self)->request = made.region;
    return made;
}

/* Ends the request for a chunk that is open: it is over, or was the last one of a loop that ends
 * now. Returns the present; 0: no recorded request is open. */
static uint64_t ompt_end_request(struct rec_thread *self)
{
    struct rec_omp *omp = self->omp;
    const uint32_t region = omp ? omp->request : 0;
    if (region == 0)
        return 0;
    omp->request = 0;
    return rec_omp_close(self, region);
}

static void end_request(const struct rec_call *made)
{
    if (REC_LIKELY(made->self != NULL))
        ompt_end_request(made->self);
}

#define LOOP(s, type, step_type)                                                                \
    void __kmpc_dispatch_init_##s REC_KMPC_INIT_ARGS(type, step_type)                           \
    {                                                                                           \
        REC_GOMP;                                                                               \
        tell_place(gomp, REC_CALLER);                                                           \
        gomp->__kmpc_dispatch_init_##s(place, thread, schedule, begin_, end, step, chunk);      \
        tell_place(gomp, NULL);                                                                 \
    }                                                                                           \
    int __kmpc_dispatch_next_##s REC_KMPC_NEXT_ARGS(type, step_type)                            \
    {                                                                                           \
        REC_GOMP;                                                                               \
        const struct rec_call made = begin_request(gomp);                                       \
        const int result = gomp->__kmpc_dispatch_next_##s(place, thread, last, from, to, step); \
        end_request(&made);                                                                     \
        return result;                                                                          \
    }

REC_KMPC_COUNTERS(LOOP)

void __kmpc_barrier(void *place, int32_t thread)
{
    REC_GOMP;
    tell_place(gomp, REC_CALLER);
    gomp->__kmpc_barrier(place, thread);
    tell_place(gomp, NULL);
}

/* ==== shared work ============================================================================= */

/* Loops, sections and the like, as LLVM's runtime tells them. */

static enum rec_omp_region work_region(int type)
{
    switch (type) {
    case OMPT_WORK_SECTIONS:
        return REC_OMP_SECTIONS;
    case OMPT_WORK_SINGLE_EXECUTOR:
    case OMPT_WORK_SINGLE_OTHER:
        return REC_OMP_SINGLE;
    case OMPT_WORK_WORKSHARE:
    case OMPT_WORK_SCOPE:
        return REC_OMP_WORKSHARE;
    case OMPT_WORK_DISTRIBUTE:
        return REC_OMP_DISTRIBUTE;
    case OMPT_WORK_TASKLOOP:
        return REC_OMP_TASKLOOP_NOGROUP;
    default: /* later versions tell the schedules apart */
        return REC_OMP_FOR;
    }
}

static void on_work(int type, int endpoint, union ompt_data *parallel, union ompt_data *task,
                    uint64_t count, const void *code)
{
    (void)parallel, (void)task, (void)count;
    const enum rec_omp_region construct = work_region(type);
    struct rec_thread *self = endpoint == OMPT_BEGIN ? rec_omp_self() : NULL;
    if (endpoint == OMPT_END) {
        rec_omp_leave(construct, ompt_end_request(rec_current()));
        return;
    }
    if (!self) {
        rec_omp_skip();
        return;
    }
    struct rec_omp *omp = rec_omp_of(self);
    rec_omp_enter_shared(self, construct, rec_omp_called_from(omp, code));
    if (omp->n_constructs <= REC_OMP_DEPTH)
        omp->cancellable[omp->n_constructs - 1] =
            construct == REC_OMP_FOR || construct == REC_OMP_SECTIONS;
}
