/* Moments of messages that other processes have written: looked for in a file of the run's. */
#include "record/core.h"
#include "record/inject.h"

#include "support/record/recorded.h"
#include "support/test.h"
#include "tape/inject.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/stat.h>

static bool came_back;

/* The file of that process is looked for by functions at which a thread can be cancelled, with
 * locks that nobody would give back. */
static void *look_when_cancelled(void *argument)
{
    static int64_t
        ns; /* AddressSanitizer of clang forgets its marks of a cancelled stack's frames */
    rec_current();
    pthread_cancel(pthread_self());
    rec_moment_of_message(77, 123456789, true, &ns);
    came_back = true;
    pthread_testcancel();
    return argument;
}

static void test_cancelled(void **state)
{
    (void)state;
    pthread_t thread;
    void *result;
    mkdir(recorded_path("../" LULL_TAPE_INJECT_NAME), 0777);
    assert_true(rec_moments_begin(0));
    assert_int_equal(pthread_create(&thread, NULL, look_when_cancelled, NULL), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_true(came_back);
    rec_moments_end();
}

static int tests(void)
{
    const struct CMUnitTest all[] = {cmocka_unit_test(test_cancelled)};
    return run_cases(all, NULL, NULL);
}

TEST_GROUP(test_moments)
{
    return recorded_main(tests);
}
