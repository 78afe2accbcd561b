/* Workers. */
#include "base/parallel.h"
#include "support/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static unsigned allowed_processors(void)
{
    cpu_set_t cpus;
    assert_int_equal(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    return (unsigned)CPU_COUNT(&cpus);
}

static void test_worker_count(void **state)
{
    (void)state;
    static const char *const ignored[] = {"",    "0",  "-1",  "1025",
                                          "two", "3 ", "0x2", "99999999999999999999"};
    unsigned allowed = allowed_processors();
    unsetenv("LULL_THREADS");
    assert_int_equal(lull_worker_count(), allowed);
    setenv("LULL_THREADS", "7", 1);
    assert_int_equal(lull_worker_count(), 7);
    setenv("LULL_THREADS", "1", 1);
    assert_int_equal(lull_worker_count(), 1);
    setenv("LULL_THREADS", "1024", 1);
    assert_int_equal(lull_worker_count(), 1024);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
        setenv("LULL_THREADS", ignored[i], 1);
        assert_int_equal(lull_worker_count(), allowed);
    }
    unsetenv("LULL_THREADS");
}

static void test_affinity(void **state)
{
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &before)) {
            CPU_SET(cpu, &one);
            break;
        }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(lull_worker_count(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

struct counts {
    atomic_uint calls[2048];
    pthread_t caller;
    atomic_bool wrong_thread;
};

static void count(void *context, unsigned worker)
{
    struct counts *counts = context;
    counts->calls[worker]++;
    if ((worker == 0) != (bool)pthread_equal(pthread_self(), counts->caller))
        counts->wrong_thread = true;
}

static void test_every_worker_runs_once(void **state)
{
    (void)state;
    static const unsigned numbers[] = {1, 2, 3, 8, 64};
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
        struct counts *counts = calloc(1, sizeof *counts);
        assert_non_null(counts);
        counts->caller = pthread_self();
        lull_parallel_run(numbers[n], count, counts);
        for (unsigned w = 0; w < 2048; w++)
            assert_int_equal(counts->calls[w], w < numbers[n]);
        assert_false(counts->wrong_thread);
        free(counts);
    }
}

/* None asked for: the caller works. */
static void test_no_workers(void **state)
{
    (void)state;
    struct counts *counts = calloc(1, sizeof *counts);
    assert_non_null(counts);
    counts->caller = pthread_self();
    lull_parallel_run(0, count, counts);
    assert_int_equal(counts->calls[0], 1);
    free(counts);
}

TEST_GROUP(test_parallel)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worker_count),
        cmocka_unit_test(test_affinity),
        cmocka_unit_test(test_every_worker_runs_once),
        cmocka_unit_test(test_no_workers),
    };
    return run_cases(tests, NULL, NULL);
}
