/* Running sums against a model that gives each span of time to the region on top. */
#include "record/core.h"
#include "record/store/sums.h"

#include "support/record/recorded.h"
#include "support/seed.h"
#include "support/test.h"

#include "stats/random.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

/* As many events as fit into one chunk: writing a full one takes time of its own. */
enum { REGIONS = 600, DEEPEST = 100, STEPS = 1500, OTHER = 1000 };

static struct {
    uint64_t visits, ticks;
} model[REGIONS][2];
static struct {
    uint32_t region, parallel;
} stack[DEEPEST];
static unsigned depth;
static uint64_t seen; /* up to here, time is given away */

/* Time belongs to the innermost region, or to the last of those whose time is known apart. */
static void give_until(uint64_t now)
{
    unsigned known = depth < REC_MOST_FRAMES ? depth : REC_MOST_FRAMES;
    if (known > 0)
        model[stack[known - 1].region][stack[known - 1].parallel].ticks += now - seen;
    seen = now;
}

static void enter(struct rec_thread *self, uint32_t region, bool parallel)
{
    uint64_t now = rec_now();
    give_until(now);
    rec_put_enter(self, region, now);
    model[region][self->parallel].visits++;
    stack[depth].region = region;
    stack[depth++].parallel = self->parallel;
    self->parallel |= parallel;
}

static void leave(struct rec_thread *self)
{
    uint64_t now = rec_now();
    give_until(now);
    self->parallel = stack[--depth].parallel;
    rec_put_leave(self, stack[depth].region, now);
}

static void call(struct rec_thread *self, uint32_t region)
{
    uint64_t begin = rec_now(), end = rec_now();
    give_until(begin);
    rec_put_call(self, region, begin, end - begin);
    model[region][self->parallel].visits++;
    model[region][self->parallel].ticks += end - begin;
    seen = end;
}

static void compare(struct rec_thread *self)
{
    uint64_t now = rec_now(), all = 0;
    give_until(now);
    rec_sums_until(self, now);
    for (uint32_t region = 0; region < REGIONS; region++)
        for (uint32_t parallel = 0; parallel < 2; parallel++) {
            const struct lull_tape_sum *sum = rec_sum_of(self, region, parallel);
            assert_non_null(sum);
            assert_int_equal(sum->visits, model[region][parallel].visits);
            assert_int_equal(sum->ticks, model[region][parallel].ticks);
            all += sum->ticks;
        }
    assert_int_equal(self->sums_file.header->end, now);
    assert_true(all <= now - self->sums_file.header->begin);
}

static void test_random_nests(void **state)
{
    (void)state;
    struct rec_thread *self = rec_current();
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    for (unsigned i = 0; i < STEPS; i++) {
        unsigned what = (unsigned)lull_random_below(&random, 100);
        uint32_t region = (uint32_t)lull_random_below(&random, REGIONS);
        if (what < 50 && depth < DEEPEST)
            enter(self, region, what < 5);
        else if (what < 85 && depth > 0)
            leave(self);
        else
            call(self, region);
        if (what == 99)
            compare(self);
    }
    while (depth > 0)
        leave(self);
    compare(self);
    assert_int_equal(self->n_frames, 0);
}

static pthread_barrier_t turn;
static struct lull_tape_sum known[2];
static bool has_beyond[2];

/* Calls of a region and of one that is far behind: too far for thread 0, on a full disk for the
 * other one, whose turn it is then. Both live meanwhile, so that each has sums of its own. */
static void call_beyond(unsigned number)
{
    const uint32_t far = number == 0 ? LULL_TAPE_MOST_IDS - 1 : 20000;
    struct rec_thread *self = rec_current();
    uint64_t now = rec_now();
    if (number == 1)
        pthread_barrier_wait(&turn);
    rec_put_call(self, OTHER, now, 0);
    recorded_refuse_space(number == 1);
    rec_put_call(self, far, now, 0);
    recorded_refuse_space(false);
    rec_put_call(self, far, now, 0);
    rec_put_call(self, OTHER, now, 5);
    memcpy(&known[number], rec_sum_of(self, OTHER, 0), sizeof known[number]);
    has_beyond[number] = rec_sum_of(self, far, 0) != NULL;
    if (number == 0)
        pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
}

/* A region for whose sums there is no place has none from then on; all others keep theirs. */
static void test_no_place(void **state)
{
    (void)state;
    pthread_barrier_init(&turn, NULL, 2);
    recorded_threads(2, call_beyond);
    for (unsigned number = 0; number < 2; number++) {
        assert_false(has_beyond[number]);
        assert_int_equal(known[number].visits, 2);
        assert_int_equal(known[number].ticks, 5);
    }
}

static int tests(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_random_nests),
        cmocka_unit_test(test_no_place),
    };
    return run_cases(all, NULL, NULL);
}

TEST_GROUP(test_sums)
{
    return recorded_main(tests);
}
