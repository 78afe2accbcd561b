/* Which process writes a tape, and whether it is still there. */
#include "support/test.h"
#include "tape/life.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that does nothing, and what it says of itself. */
static pid_t child;
static struct lull_tape_life life;

static void *do_nothing(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* `leave`: its first thread ends, and another one goes on. */
static void begin_child(bool leave)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pthread_t thread;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!lull_tape_own_life(&life) || write(ends[1], &life, sizeof life) < 0)
            _exit(1);
        if (leave && pthread_create(&thread, NULL, do_nothing, NULL) == 0)
            pthread_exit(NULL);
        do_nothing(NULL);
    }
    assert_int_equal(read(ends[0], &life, sizeof life), sizeof life);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(life.pid, child);
}

static enum lull_tape_living look(const struct lull_tape_life *of)
{
    struct lull_tape_watch watch;
    lull_tape_watch_begin(&watch, of);
    const enum lull_tape_living living = watch.living;
    lull_tape_watch_end(&watch);
    return living;
}

static void test_end(void **state)
{
    (void)state;
    struct lull_tape_watch watch;
    siginfo_t info;
    begin_child(false);
    lull_tape_watch_begin(&watch, &life);
    assert_int_equal(watch.living, LULL_TAPE_ALIVE);
    assert_int_equal(lull_tape_watch_look(&watch), LULL_TAPE_ALIVE);
    kill(child, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0); /* a zombie */
    assert_int_equal(lull_tape_watch_look(&watch), LULL_TAPE_OVER);
    assert_int_equal(look(&life), LULL_TAPE_OVER);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(lull_tape_watch_look(&watch), LULL_TAPE_OVER);
    assert_int_equal(look(&life), LULL_TAPE_OVER);
    lull_tape_watch_end(&watch);
}

static void test_stopped(void **state)
{
    (void)state;
    begin_child(false);
    assert_false(lull_tape_is_stopped(&life));
    kill(child, SIGSTOP);
    assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
    assert_true(lull_tape_is_stopped(&life));
    assert_int_equal(look(&life), LULL_TAPE_ALIVE);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(lull_tape_is_stopped(&life));
}

/* The system shows its first thread as a zombie then. */
static void test_first_thread_ends(void **state)
{
    (void)state;
    begin_child(true);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(look(&life), LULL_TAPE_ALIVE);
        usleep(1000);
    }
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(look(&life), LULL_TAPE_OVER);
}

static void test_others(void **state)
{
    (void)state;
    struct lull_tape_life own, other;
    assert_true(lull_tape_own_life(&own));
    assert_int_equal(own.pid, getpid());
    assert_int_equal(look(&own), LULL_TAPE_ALIVE);
    assert_true(lull_tape_is_of_node(&own));
    other = own;
    other.start++; /* the number has gone to another process */
    assert_int_equal(look(&other), LULL_TAPE_OVER);
    other = own;
    other.node++;
    assert_int_equal(look(&other), LULL_TAPE_ELSEWHERE);
    assert_false(lull_tape_is_of_node(&other));
    other = own;
    other.space++;
    assert_int_equal(look(&other), LULL_TAPE_ELSEWHERE);
    other = (struct lull_tape_life){0};
    assert_int_equal(look(&other), LULL_TAPE_ELSEWHERE);
}

TEST_GROUP(test_life)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_end), cmocka_unit_test(test_stopped),
                                       cmocka_unit_test(test_first_thread_ends),
                                       cmocka_unit_test(test_others)};
    return run_cases(tests, NULL, NULL);
}
