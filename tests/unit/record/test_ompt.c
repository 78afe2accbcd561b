/* LLVM's OpenMP runtime, played by this test: what it tells its tool, and in which memory. */
#include "record/omp/ompt.h"
#include "record/omp/team.h"

#include "support/record/recorded.h"
#include "support/test.h"

#include <sched.h>
#include <search.h>
#include <stddef.h>
#include <string.h>

struct ompt_tool *ompt_start_tool(unsigned version, const char *runtime);

typedef void on_parallel_begin(union ompt_data *, const void *, union ompt_data *, unsigned, int,
                               const void *);
typedef void on_parallel_end(union ompt_data *, union ompt_data *, int, const void *);
typedef void on_implicit_task(int, union ompt_data *, union ompt_data *, unsigned, unsigned, int);
typedef void on_sync_region(int, int, union ompt_data *, union ompt_data *, const void *);

static on_parallel_begin *parallel_begin;
static on_parallel_end *parallel_end;
static on_implicit_task *implicit_task;
static on_sync_region *sync_region;

static int set_callback(int event, ompt_interface callback)
{
    if (event == OMPT_PARALLEL_BEGIN)
        parallel_begin = (on_parallel_begin *)callback;
    if (event == OMPT_PARALLEL_END)
        parallel_end = (on_parallel_end *)callback;
    if (event == OMPT_IMPLICIT_TASK)
        implicit_task = (on_implicit_task *)callback;
    if (event == OMPT_SYNC_REGION)
        sync_region = (on_sync_region *)callback;
    return 1;
}

static ompt_interface look_up(const char *name)
{
    assert_string_equal(name, "ompt_set_callback");
    return (ompt_interface)set_callback;
}

static int start_tool(void **state)
{
    (void)state;
    struct ompt_tool *tool = ompt_start_tool(201811, "a test");
    return tool && tool->initialize(look_up, 0, &tool->data) ? 0 : -1;
}

static const void *code_of(unsigned which)
{
    return (const char *)(uintptr_t)hcreate + 16 * which;
}

/* What a team has in memory that the runtime gives to the next one. */
struct team {
    union ompt_data parallel, task;
};

static void begin_region(struct team *team, unsigned which)
{
    union ompt_data parallel = {0}, task = {0};
    parallel_begin(&task, NULL, &parallel, 1, 0, code_of(which));
    *team = (struct team){.parallel = parallel};
    implicit_task(OMPT_BEGIN, &team->parallel, &team->task, 1, 0, 2);
}

/* Up to where the team is given back. */
static void leave_region(struct team *team)
{
    sync_region(OMPT_SYNC_BARRIER_IMPLICIT, OMPT_BEGIN, &team->parallel, &team->task, NULL);
    sync_region(OMPT_SYNC_BARRIER_IMPLICIT, OMPT_END, NULL, &team->task, NULL);
    implicit_task(OMPT_END, NULL, &team->task, 1, 0, 2);
}

static void end_region(struct team *team)
{
    union ompt_data task = {0};
    parallel_end(&team->parallel, &task, 0, NULL);
}

/* ---- a team that another thread has by the time ------------------------------------------------
 *
 * A master gives its team back before it tells that the region has ended, and tells it with the
 * data that stand in the team then: those of a region that another master has begun meanwhile. */

enum { FIRST, SECOND, THREADS };

static unsigned stage; /* atomic; not a lock or a barrier of the system's, which may be recorded */
static struct team shared;
static uint32_t open_then[THREADS], open_after[THREADS];
static uint64_t records_of_second;

static void go_on_to(unsigned next)
{
    __atomic_store_n(&stage, next, __ATOMIC_RELEASE);
}

static void wait_for(unsigned next)
{
    while (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) < next)
        sched_yield();
}

static void run_first(struct rec_thread *self)
{
    begin_region(&shared, FIRST);
    leave_region(&shared);
    go_on_to(1);
    wait_for(2);
    end_region(&shared);
    open_then[FIRST] = self->n_frames;
    go_on_to(3);
}

static void run_second(struct rec_thread *self)
{
    wait_for(1);
    begin_region(&shared, SECOND);
    const union lull_tape_slot *at = self->at;
    go_on_to(2);
    wait_for(3);
    records_of_second = (uint64_t)(self->at - at);
    open_then[SECOND] = self->n_frames;
    leave_region(&shared);
    end_region(&shared);
}

static void run_master(unsigned number)
{
    struct rec_thread *self = rec_omp_self();
    if (number == FIRST)
        run_first(self);
    else
        run_second(self);
    open_after[number] = self->n_frames;
}

static void test_team_of_another(void **state)
{
    (void)state;
    recorded_threads(THREADS, run_master);
    assert_int_equal(open_then[FIRST], 0);
    assert_int_equal(open_then[SECOND], 1);
    assert_int_equal(records_of_second, 0);
    assert_int_equal(open_after[FIRST], 0);
    assert_int_equal(open_after[SECOND], 0);
}

/* ---- more regions, one in the other, than are recorded ----------------------------------------
 */

enum { DEEP = REC_OMP_FORKS + 3 };

static void check_deep(bool known)
{
    struct rec_thread *self = rec_omp_self();
    struct team teams[DEEP];
    const uint32_t before = self->n_frames;
    for (unsigned i = 0; i < DEEP; i++)
        begin_region(&teams[i], i);
    assert_int_equal(self->n_frames, before + REC_OMP_FORKS);
    for (unsigned i = DEEP; i-- > 0;) {
        leave_region(&teams[i]);
        if (!known)
            teams[i].parallel.ptr = NULL; /* of a region of another thread that is not recorded */
        end_region(&teams[i]);
        assert_int_equal(self->n_frames, before + (i < REC_OMP_FORKS ? i : REC_OMP_FORKS));
    }
}

static void test_deep(void **state)
{
    (void)state;
    check_deep(true);
    check_deep(false);
}

static int tests(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_team_of_another),
        cmocka_unit_test(test_deep),
    };
    return run_cases(all, start_tool, NULL);
}

TEST_GROUP(test_ompt)
{
    return recorded_main(tests);
}
