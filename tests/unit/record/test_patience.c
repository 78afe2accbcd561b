/* How long is waited for other threads: while one of them can run, and for the time that was said where none can. */
#include "record/patience.h"

#include "support/test.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

enum { SECONDS = 2, LOOKS = 20, MANY = 100 };

struct other {
    int to[2], from[2]; /* pipes */
    bool over;          /* atomic */
};

/* It has begun, and waits until it is told to go on; then it computes until it is over. */
static void *be_other(void *argument)
{
    struct other *other = argument;
    char byte = 0;
    if (write(other->from[1], &byte, 1) != 1 || read(other->to[0], &byte, 1) != 1)
        return NULL;
    if (write(other->from[1], &byte, 1) != 1)
        return NULL;
    while (!__atomic_load_n(&other->over, __ATOMIC_ACQUIRE))
        continue;
    return NULL;
}

static unsigned count_looks(unsigned most)
{
    struct rec_patience patience = rec_patience_of(SECONDS);
    unsigned looks = 1;
    while (looks < most && rec_patience_lasts(&patience))
        looks++;
    return looks;
}

static void test_alone(void **state)
{
    (void)state;
    assert_int_equal(count_looks(MANY), LOOKS);
}

/* A thread is seen to sleep some time after it has said that it is about to. */
static void wait_for_sleep(void)
{
    while (count_looks(LOOKS + 1) > LOOKS)
        usleep(1000);
}

static void test_other_thread(void **state)
{
    (void)state;
    struct other other = {.over = false};
    pthread_t thread;
    char byte = 0;
    assert_int_equal(pipe(other.to), 0);
    assert_int_equal(pipe(other.from), 0);
    assert_int_equal(pthread_create(&thread, NULL, be_other, &other), 0);
    assert_int_equal(read(other.from[0], &byte, 1), 1);
    wait_for_sleep();
    assert_int_equal(count_looks(MANY), LOOKS);
    assert_int_equal(write(other.to[1], &byte, 1), 1);
    assert_int_equal(read(other.from[0], &byte, 1), 1);
    assert_int_equal(count_looks(MANY), MANY);
    __atomic_store_n(&other.over, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    assert_int_equal(count_looks(MANY), LOOKS);
    for (unsigned i = 0; i < 2; i++) {
        close(other.to[i]);
        close(other.from[i]);
    }
}

/* Others that compute for longer than ten seconds do something else: no time of theirs counts any more. */
static void test_others_compute(void **state)
{
    (void)state;
    struct other other = {.over = false};
    pthread_t thread;
    char byte = 0;
    assert_int_equal(pipe(other.to), 0);
    assert_int_equal(pipe(other.from), 0);
    assert_int_equal(write(other.to[1], &byte, 1), 1);
    assert_int_equal(pthread_create(&thread, NULL, be_other, &other), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(read(other.from[0], &byte, 1), 1);
    struct rec_patience patience = rec_patience_of(SECONDS);
    assert_true(rec_patience_lasts(&patience));
    assert_int_equal(patience.left, LOOKS);
    patience.others -= INT64_C(11000000000);
    assert_true(rec_patience_lasts(&patience));
    assert_int_equal(patience.left, LOOKS - 1);
    __atomic_store_n(&other.over, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
}

static void test_lock(void **state)
{
    (void)state;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    assert_true(rec_patience_lock(&lock));
    assert_false(rec_patience_lock(&lock));
    pthread_mutex_unlock(&lock);
}

TEST_GROUP(test_patience)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone), cmocka_unit_test(test_other_thread),
        cmocka_unit_test(test_others_compute), cmocka_unit_test(test_lock)};
    return run_cases(tests, NULL, NULL);
}
