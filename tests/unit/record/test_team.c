/* Parallel regions as an OpenMP runtime of this test's own runs them: a team that waits between
 * regions, whose threads do not learn when one ends. */
#include "record/omp/team.h"
#include "record/thread/pause.h"

#include "support/record/recorded.h"
#include "support/seed.h"
#include "support/test.h"

#include "stats/random.h"

#include <pthread.h>
#include <search.h>
#include <stddef.h>
#include <string.h>

enum { TEAM = 4, FORKS = 900, CODES = 3, IN_A_REGION = 1000 };

/* A barrier as a runtime has it, which is not recorded as the system's one is. */
struct barrier {
    pthread_mutex_t lock;
    pthread_cond_t all_here;
    unsigned here, turn;
};
#define BARRIER                                                   \
    {                                                             \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 \
    }
static struct barrier begin = BARRIER, arrived = BARRIER;
static struct rec_fork fork_of_all; /* written by the master between `arrived` and `begin` */
static bool over, paused;
static uint32_t regions[CODES];
static uint64_t expected[CODES];
static struct found {
    uint64_t visits[CODES], forks, barriers, calls;
    uint64_t inside;         /* ticks in regions, and whatever is in them */
} before[TEAM], found[TEAM]; /* a location may have been another thread's before */
static uint32_t open_regions[TEAM];

static void wait_for_all(struct barrier *barrier)
{
    pthread_mutex_lock(&barrier->lock);
    unsigned turn = barrier->turn;
    if (++barrier->here == TEAM) {
        barrier->here = 0;
        barrier->turn++;
        pthread_cond_broadcast(&barrier->all_here);
    }
    while (turn == barrier->turn)
        pthread_cond_wait(&barrier->all_here, &barrier->lock);
    pthread_mutex_unlock(&barrier->lock);
}

static const void *code_of(unsigned which)
{
    return (const char *)(uintptr_t)hcreate + 16 * which;
}

static void run(struct rec_thread *self)
{
    if (fork_of_all.master && rec_omp_self()) {
        rec_omp_begin(self, &fork_of_all);
        rec_call(self, IN_A_REGION, rec_open_call(self, IN_A_REGION), 1);
        rec_omp_arrive(self, &fork_of_all, fork_of_all.barrier);
    }
}

static uint64_t visits_of(struct rec_thread *self, uint32_t region, uint64_t *inside)
{
    uint64_t visits = 0;
    for (uint32_t parallel = 0; parallel < 2; parallel++) {
        const struct lull_tape_sum *sum = rec_sum_of(self, region, parallel);
        visits += sum->visits;
        *inside += sum->ticks;
    }
    return visits;
}

static void look_at(struct rec_thread *self, struct found *now)
{
    rec_omp_settle(self, 0);
    *now = (struct found){.inside = self->sums_file.header->flushing[1]};
    for (unsigned which = 0; which < CODES; which++) {
        const void *place = rec_omp_place_of(code_of(which));
        const uint32_t barrier = rec_omp_at(REC_OMP_IMPLICIT_BARRIER, place);
        now->visits[which] = visits_of(self, regions[which], &now->inside);
        now->barriers += visits_of(self, barrier, &now->inside);
    }
    now->forks = visits_of(self, rec_omp_ids[REC_OMP_FORK], &now->inside);
    now->calls = visits_of(self, IN_A_REGION, &now->inside);
}

/* Without `pauses` every region is of the same length for all. */
static void lead(struct rec_thread *self, struct lull_random *random, bool pauses)
{
    for (unsigned i = 0; i < FORKS; i++) {
        unsigned which = (unsigned)lull_random_below(random, CODES);
        if (pauses && lull_random_below(random, 4) == 0) {
            if (paused)
                rec_resume();
            else
                rec_pause();
            paused = !paused;
        }
        fork_of_all.master = NULL;
        if (rec_omp_self())
            rec_omp_fork(self, &fork_of_all, REC_OMP_PARALLEL, code_of(which));
        expected[which] += !paused;
        wait_for_all(&begin);
        run(self);
        wait_for_all(&arrived);
        if (fork_of_all.master)
            rec_omp_join(self, &fork_of_all);
    }
    if (paused)
        rec_resume();
    paused = false;
}

static bool with_pauses;

static void join_team(unsigned number)
{
    struct rec_thread *self = rec_omp_self();
    look_at(self, &before[number]);
    wait_for_all(&arrived);
    if (number == 0) {
        struct lull_random random;
        lull_random_seed(&random, lull_test_seed());
        lead(self, &random, with_pauses);
        over = true;
        wait_for_all(&begin);
    } else {
        for (wait_for_all(&begin); !over; wait_for_all(&begin)) {
            run(self);
            wait_for_all(&arrived);
        }
    }
    look_at(self, &found[number]);
    open_regions[number] = self->n_frames;
}

static void check_team(bool pauses)
{
    uint64_t all = 0;
    with_pauses = pauses;
    over = false;
    memset(expected, 0, sizeof expected);
    rec_omp_self();
    for (unsigned which = 0; which < CODES; which++)
        regions[which] = rec_omp_outlined(REC_OMP_PARALLEL, code_of(which));
    recorded_threads(TEAM, join_team);
    for (unsigned which = 0; which < CODES; which++)
        all += expected[which];
    for (unsigned number = 0; number < TEAM; number++) {
        const struct found *now = &found[number], *then = &before[number];
        for (unsigned which = 0; which < CODES; which++)
            assert_int_equal(now->visits[which] - then->visits[which], expected[which]);
        assert_int_equal(now->forks - then->forks, all);
        assert_int_equal(now->barriers - then->barriers, all);
        assert_int_equal(now->calls - then->calls, all);
        assert_int_equal(open_regions[number], 0);
        if (!pauses)
            assert_int_equal(now->inside - then->inside, found[0].inside - before[0].inside);
    }
}

static void test_team(void **state)
{
    (void)state;
    check_team(false);
}

static void test_team_that_pauses(void **state)
{
    (void)state;
    check_team(true);
}

enum { MANY = 9000 }; /* more than the table of codes holds */
static uint32_t outlined[TEAM][MANY];

static void ask_for_all(unsigned number)
{
    for (unsigned i = 0; i < MANY; i++) {
        unsigned which = (i + number * MANY / TEAM) % MANY;
        outlined[number][which] = rec_omp_outlined(REC_OMP_TASK, code_of(which));
    }
}

/* The threads agree on the region of each, also of those for which there is no place. */
static void test_many_codes(void **state)
{
    (void)state;
    recorded_threads(TEAM, ask_for_all);
    for (unsigned which = 0; which < MANY; which++) {
        assert_int_not_equal(outlined[0][which], 0);
        for (unsigned number = 1; number < TEAM; number++)
            assert_int_equal(outlined[number][which], outlined[0][which]);
    }
}

static int tests(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_team),
        cmocka_unit_test(test_team_that_pauses),
        cmocka_unit_test(test_many_codes),
    };
    return run_cases(all, NULL, NULL);
}

TEST_GROUP(test_team)
{
    return recorded_main(tests);
}
