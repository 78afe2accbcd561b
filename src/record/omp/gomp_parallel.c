/* Parallel regions: the runtime is given a function of ours, which each thread of the team runs
 * around the one that the compiler has outlined. */
#include "record/omp/gomp.h"

#define NO_CONSTRUCT REC_OMP_REGIONS

/* What the runtime gets in place of the program's block of arguments. It lives on the stack of
 * the master, who leaves only when all threads have run the code. */
struct parallel {
    _Alignas(
        64) void *first_word; /* of the program's block: GOMP_parallel_reductions looks there */
    rec_body *body;
    void *data;
    struct rec_fork fork;
};

/* A region that is not recorded runs in a function of ours, too: so each of its threads begins to
 * live there, and leaves out the end of the construct as it leaves out its beginning. */
static REC_COLD void run_unseen(const struct parallel *parallel, enum rec_omp_region construct)
{
    if (construct != NO_CONSTRUCT)
        rec_omp_skip();
    rec_gomp_run(parallel->body, parallel->data);
    const struct rec_fork *fork = &parallel->fork;
    if (fork->master == rec_self_or_null) /* paused since the fork */
        rec_omp_arrive(fork->master, fork, fork->barrier);
    REC_COMES_BEFORE(parallel);
}

/* What a region is combined with begins in the place of its code. */
REC_INLINE void enter_construct(struct rec_thread *self, const struct parallel *parallel,
                                enum rec_omp_region construct)
{
    const void *place = rec_omp_place_of(rec_gomp_place(parallel->body));
    if (construct != NO_CONSTRUCT)
        rec_omp_enter_shared(self, construct, place);
}

/* `construct`: what the region is combined with, or NO_CONSTRUCT. */
REC_INLINE void run_with(const struct parallel *parallel, enum rec_omp_region construct)
{
    REC_COMES_AFTER(parallel);
    if (REC_UNLIKELY(!rec_self_or_null))
        rec_omp_thread_begin();
    const struct rec_fork *fork = &parallel->fork;
    struct rec_thread *self = fork->region != 0 ? rec_omp_self() : NULL;
    if (REC_UNLIKELY(!self)) {
        run_unseen(parallel, construct);
        return;
    }
    rec_omp_begin(self, fork);
    enter_construct(self, parallel, construct);
    rec_gomp_run(parallel->body, parallel->data);
    rec_omp_arrive(self, fork, fork->barrier);
    REC_COMES_BEFORE(parallel);
}

static void run(void *parallel)
{
    run_with(parallel, NO_CONSTRUCT);
}

static void run_loop(void *parallel)
{
    run_with(parallel, REC_OMP_FOR);
}

static void run_sections(void *parallel)
{
    run_with(parallel, REC_OMP_SECTIONS);
}

/* `self` NULL: it is not recorded. */
static void begin_region(struct parallel *parallel, struct rec_thread *self, rec_body *body,
                         void *data)
{
    parallel->body = body;
    parallel->data = data;
    parallel->fork.region = 0;
    parallel->fork.master = NULL;
    if (REC_LIKELY(self != NULL))
        rec_omp_fork(self, &parallel->fork, REC_OMP_PARALLEL, rec_gomp_place(body));
    REC_COMES_BEFORE(parallel);
}

static void end_region(const struct parallel *parallel)
{
    REC_COMES_AFTER(parallel);
    REC_COMES_AFTER(&rec_omp_tasks_ended);
    if (REC_LIKELY(parallel->fork.master != NULL))
        rec_omp_join(parallel->fork.master, &parallel->fork);
}

/* `name` is called with the arguments after `data` as they came. */
#define PARALLEL(runner, name, ...)                                      \
    do {                                                                 \
        const struct rec_gomp *gomp = rec_gomp_at(rec_gomp_place(body)); \
        struct rec_thread *self = rec_gomp_self(gomp);                   \
        struct parallel parallel;                                        \
        begin_region(&parallel, self, body, data);                       \
        gomp->name(runner, &parallel, __VA_ARGS__);                      \
        end_region(&parallel);                                           \
    } while (0)

void GOMP_parallel(rec_body *body, void *data, unsigned threads, unsigned flags)
{
    PARALLEL(run, GOMP_parallel, threads, flags);
}

void GOMP_parallel_sections(rec_body *body, void *data, unsigned threads, unsigned count,
                            unsigned flags)
{
    PARALLEL(run_sections, GOMP_parallel_sections, threads, count, flags);
}

#define PARALLEL_CHUNKED(s)                                                                   \
    void GOMP_parallel_loop_##s REC_PARALLEL_CHUNKED_ARGS                                     \
    {                                                                                         \
        PARALLEL(run_loop, GOMP_parallel_loop_##s, threads, begin_, end, step, chunk, flags); \
    }
#define PARALLEL_BY_RUNTIME(s)                                                         \
    void GOMP_parallel_loop_##s REC_PARALLEL_RUNTIME_ARGS                              \
    {                                                                                  \
        PARALLEL(run_loop, GOMP_parallel_loop_##s, threads, begin_, end, step, flags); \
    }
REC_GOMP_PARALLEL_CHUNKED(PARALLEL_CHUNKED)
REC_GOMP_PARALLEL_BY_RUNTIME(PARALLEL_BY_RUNTIME)

unsigned GOMP_parallel_reductions(rec_body *body, void *data, unsigned threads, unsigned flags)
{
    const struct rec_gomp *gomp = rec_gomp_at(rec_gomp_place(body));
    struct rec_thread *self = rec_gomp_self(gomp);
    struct parallel parallel = {.first_word = *(void **)data};
    begin_region(&parallel, self, body, data);
    unsigned result = gomp->GOMP_parallel_reductions(run, &parallel, threads, flags);
    end_region(&parallel);
    return result;
}

/* ---- begin and end in two calls, as gcc did before 4.9 ----------------------------------------
 */

/* The master runs the code by itself in between. */
static __thread struct {
    unsigned depth;
    struct parallel parallels[8];
    bool recorded[8];
} old;

static struct parallel *old_begin(const struct rec_gomp *gomp, rec_body *body, void *data)
{
    struct rec_thread *self = rec_gomp_self(gomp);
    unsigned at = old.depth++;
    if (at >= 8)
        return NULL;
    old.recorded[at] = self != NULL;
    if (!self)
        return NULL;
    begin_region(&old.parallels[at], self, body, data);
    return &old.parallels[at];
}

static void old_begun(const struct parallel *parallel, enum rec_omp_region construct)
{
    struct rec_thread *self = parallel->fork.master;
    rec_omp_begin(self, &parallel->fork);
    enter_construct(self, parallel, construct);
}

#define OLD_PARALLEL(construct, runner, name, ...)                       \
    do {                                                                 \
        const struct rec_gomp *gomp = rec_gomp_at(rec_gomp_place(body)); \
        struct parallel *parallel = old_begin(gomp, body, data);         \
        if (!parallel) {                                                 \
            if ((construct) != NO_CONSTRUCT)                             \
                rec_omp_skip();                                          \
            gomp->name(body, data, __VA_ARGS__);                         \
            return;                                                      \
        }                                                                \
        gomp->name(runner, parallel, __VA_ARGS__);                       \
        old_begun(parallel, construct);                                  \
    } while (0)

void GOMP_parallel_start(rec_body *body, void *data, unsigned threads)
{
    OLD_PARALLEL(NO_CONSTRUCT, run, GOMP_parallel_start, threads);
}

void GOMP_parallel_sections_start(rec_body *body, void *data, unsigned threads, unsigned count)
{
    OLD_PARALLEL(REC_OMP_SECTIONS, run_sections, GOMP_parallel_sections_start, threads, count);
}

#define OLD_CHUNKED(s)                                                                            \
    void GOMP_parallel_loop_##s##_start REC_OLD_PARALLEL_CHUNKED_ARGS                             \
    {                                                                                             \
        OLD_PARALLEL(REC_OMP_FOR, run_loop, GOMP_parallel_loop_##s##_start, threads, begin_, end, \
                     step, chunk);                                                                \
    }
REC_GOMP_OLD_PARALLEL_CHUNKED(OLD_CHUNKED)

void GOMP_parallel_loop_runtime_start REC_OLD_PARALLEL_RUNTIME_ARGS
{
    OLD_PARALLEL(REC_OMP_FOR, run_loop, GOMP_parallel_loop_runtime_start, threads, begin_, end,
                 step);
}

void GOMP_parallel_end(void)
{
    REC_GOMP;
    unsigned at = old.depth > 0 ? --old.depth : 8;
    if (at >= 8 || !old.recorded[at]) {
        gomp->GOMP_parallel_end();
        return;
    }
    struct rec_fork *fork = &old.parallels[at].fork;
    rec_omp_arrive(fork->master, fork, fork->barrier);
    gomp->GOMP_parallel_end();
    REC_COMES_AFTER(&old.parallels[at]);
    REC_COMES_AFTER(&rec_omp_tasks_ended);
    rec_omp_join(fork->master, fork);
}

/* ---- teams on the host ----------------------------------------------------------------------- */

void GOMP_teams_reg(rec_body *body, void *data, unsigned teams, unsigned limit, unsigned flags)
{
    const struct rec_gomp *gomp = rec_gomp_at(rec_gomp_place(body));
    struct rec_thread *self = rec_gomp_self(gomp);
    if (self)
        rec_omp_enter(self, rec_omp_at(REC_OMP_TEAMS, REC_CALLER), rec_omp_now(self));
    else
        rec_omp_skip();
    gomp->GOMP_teams_reg(body, data, teams, limit, flags);
    rec_omp_leave(REC_OMP_TEAMS, 0);
}
