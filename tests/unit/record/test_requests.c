/* The table of open requests against queues that are searched from end to end. */
#include "record/mpi/requests.h"

#include "support/record/recorded.h"
#include "support/seed.h"
#include "support/test.h"

#include "stats/random.h"

#include <stddef.h>
#include <string.h>

void rec_requests_begin(bool shared);

enum { HANDLES = 40, OWNERS = 4, MOST = 4000, STEPS = 20000 };

static struct rec_thread threads[OWNERS] = {
    {.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};

static MPI_Request handle_of(unsigned number)
{
    return (MPI_Request)(uintptr_t)(0x1000 + 64 * number);
}

static bool append(unsigned handle, unsigned owner, unsigned number, bool persistent)
{
    struct rec_requests *requests = rec_requests_lock(&threads[owner]);
    struct rec_request *request = rec_request_append(requests, handle_of(handle));
    if (request) {
        request->number = number;
        request->owner = owner;
        request->persistent = persistent;
        request->active = true;
    }
    rec_requests_unlock(requests);
    return request != NULL;
}

static struct rec_request *find_request(unsigned handle, unsigned owner)
{
    struct rec_requests *requests = rec_requests_lock(&threads[owner]);
    struct rec_request *found = rec_request_find(&requests, handle_of(handle));
    rec_requests_unlock(requests);
    return found;
}

/* NULL: there is none, or it was not active. */
static const struct rec_request *take_request(unsigned handle, unsigned owner, bool gone)
{
    struct rec_requests *requests = rec_requests_lock(&threads[owner]);
    struct rec_request *found = rec_request_find(&requests, handle_of(handle));
    const struct rec_request *taken = found ? rec_request_take(requests, found, gone) : NULL;
    rec_requests_unlock(requests);
    return taken;
}

/* ---- at random --------------------------------------------------------------------------------
 */

static struct model {
    unsigned handle, owner, number;
    bool persistent, active;
} model[MOST];
static unsigned n_model, n_opened;

/* The first one of that owner under the handle; else of the newest other that has one, which is the
 * first here: see make_owners. */
static unsigned find(unsigned handle, unsigned owner)
{
    for (unsigned turn = 0; turn <= OWNERS; turn++)
        for (unsigned i = 0; i < n_model; i++)
            if (model[i].handle == handle && model[i].owner == (turn == 0 ? owner : turn - 1))
                return i;
    return MOST;
}

static void open_one(struct lull_random *random)
{
    struct model *opened = &model[n_model++];
    *opened = (struct model){(unsigned)lull_random_below(random, HANDLES),
                             (unsigned)lull_random_below(random, OWNERS), n_opened++,
                             lull_random_below(random, 4) == 0, true};
    assert_true(append(opened->handle, opened->owner, opened->number, opened->persistent));
}

static void complete_one(struct lull_random *random)
{
    unsigned handle = (unsigned)lull_random_below(random, HANDLES),
             owner = (unsigned)lull_random_below(random, OWNERS), at = find(handle, owner);
    bool gone = lull_random_below(random, 8) == 0;
    if (at == MOST) {
        assert_null(find_request(handle, owner));
        return;
    }
    assert_non_null(find_request(handle, owner));
    const struct rec_request *taken = take_request(handle, owner, gone);
    if (model[at].active) {
        assert_non_null(taken);
        assert_int_equal(taken->number, model[at].number);
    } else {
        assert_null(taken);
    }
    model[at].active = false;
    if (!model[at].persistent || gone) {
        memmove(&model[at], &model[at + 1], (n_model - at - 1) * sizeof *model);
        n_model--;
    }
}

static void make_owners(void)
{
    for (unsigned owner = OWNERS; owner-- > 0;)
        rec_requests_unlock(rec_requests_lock(&threads[owner]));
}

static void test_like_queues(void **state)
{
    (void)state;
    make_owners();
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    unsigned steps = lull_test_rounds(STEPS);
    for (unsigned i = 0; i < steps; i++) {
        unsigned more = i < steps / 2 ? 6 : 3; /* of ten: it fills, and empties */
        if (n_model < MOST && lull_random_below(&random, 10) < more)
            open_one(&random);
        else
            complete_one(&random);
    }
    while (n_model > 0)
        complete_one(&random);
    for (unsigned handle = 0; handle < HANDLES; handle++)
        assert_null(find_request(handle, 0));
    struct rec_requests *own = rec_requests_lock(&threads[0]);
    assert_null(rec_request_find(&own, MPI_REQUEST_NULL));
    rec_requests_unlock(own);
}

/* ---- many, and no memory ----------------------------------------------------------------------
 */

/* Handles of their own, so that the table grows, and one that all have; little memory at a time is
 * enough, as where a system commits no more than it has. */
static void test_many(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    recorded_refuse_memory(8 << 20);
    for (unsigned i = 0; i < MANY; i++)
        assert_true(append(1000 + i, 1, i, false) && append(0, 1, i, false));
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(take_request(1000 + i, 1, false)->number, i);
        assert_int_equal(take_request(0, 1, false)->number, i);
    }
    assert_null(find_request(0, 1));
    recorded_refuse_memory(SIZE_MAX);
}

static void test_no_memory(void **state)
{
    (void)state;
    unsigned n = 0, of_one = 0;
    recorded_refuse_memory(0);
    while (append(0, 0, of_one, false))
        of_one++;
    while (append(100000 + n, 0, n, false))
        n++;
    assert_true(n > 0 && of_one > 0);
    recorded_refuse_memory(SIZE_MAX);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(find_request(100000 + i, 0)->number, i);
    assert_true(append(200000, 0, 0, false));
}

/* ---- threads ----------------------------------------------------------------------------------
 */

enum { THREADS = 4, EACH = 5000 };
static unsigned completed[THREADS]; /* by owner; with its requests locked */

static void post_and_complete(unsigned number)
{
    for (unsigned i = 0; i < lull_test_rounds(EACH); i++) {
        append(300000 + i % 50, number, i, false);
        struct rec_requests *requests =
            rec_requests_lock(&threads[i % 3 ? number : (number + 1) % THREADS]);
        struct rec_request *found = rec_request_find(&requests, handle_of(300000 + i % 50));
        const struct rec_request *taken = found ? rec_request_take(requests, found, false) : NULL;
        if (taken)
            completed[taken->owner]++;
        rec_requests_unlock(requests);
    }
}

/* What one thread opens, another one may complete: each is completed once. */
static void test_threads(void **state)
{
    (void)state;
    rec_requests_begin(true);
    recorded_threads(THREADS, post_and_complete);
    unsigned sum = 0;
    for (unsigned owner = 0; owner < THREADS; owner++)
        sum += completed[owner];
    assert_int_equal(sum, THREADS * lull_test_rounds(EACH));
}

TEST_GROUP(test_requests)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_queues),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_threads),
    };
    return run_cases(tests, NULL, NULL);
}
