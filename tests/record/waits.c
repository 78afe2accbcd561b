/* Threads that the program makes, how it waits for them, and barriers. What waits.h of the checker
 * must find: a wait in the region "join N" is for the thread that was in the region "body N".
 *
 *     waits pthread | c | np      by pthread_join, C's threads, or the functions that may give up
 *     waits paused                threads are made and joined in a pause
 *     waits barriers              two barriers, one of which is made again at its place
 *     waits detached              threads that nobody joins end first: their handles are used again
 */
#define _GNU_SOURCE
#include <errno.h>
#include <lull/lull.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 5, ROUNDS = 40 };

static void in_region(const char *what, long number)
{
    char name[32];
    snprintf(name, sizeof name, "%s %ld", what, number);
    lull_begin(name);
}

static void *body(void *argument)
{
    in_region("body", (long)argument);
    usleep(200);
    lull_end("");
    return NULL;
}

static int body_c(void *argument)
{
    body(argument);
    return 7;
}

static pthread_t make_for(void *(*work)(void *), long number)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, (void *)number) != 0)
        exit(3);
    return thread;
}

static pthread_t make(long number)
{
    return make_for(body, number);
}

static void join(pthread_t thread, long number)
{
    in_region("join", number);
    if (pthread_join(thread, NULL) != 0)
        exit(3);
    lull_end("");
}

static void by_pthreads(void)
{
    pthread_t threads[THREADS];
    for (long round = 0; round < ROUNDS; round++) {
        for (long i = 0; i < THREADS; i++)
            threads[i] = make(round * THREADS + i);
        for (long i = THREADS; i-- > 0;) /* another order than that in which they were made */
            join(threads[i], round * THREADS + i);
    }
    printf("waits %d joined\n", ROUNDS * THREADS);
}

static void by_c(void)
{
    thrd_t thread;
    int result = 0;
    for (long i = 0; i < ROUNDS; i++) {
        if (thrd_create(&thread, body_c, (void *)i) != thrd_success)
            exit(3);
        in_region("join", i);
        if (thrd_join(thread, &result) != thrd_success || result != 7)
            exit(3);
        lull_end("");
    }
    printf("waits %d joined\n", ROUNDS);
}

static _Atomic int given_up;

static void *outlast_a_try(void *argument)
{
    while (!given_up)
        usleep(50);
    return body(argument);
}

/* What gives up has not waited for anybody. */
static void by_np(void)
{
    struct timespec past = {0, 0}, future;
    for (long i = 0; i < ROUNDS; i += 3) {
        pthread_t thread = make(i);
        clock_gettime(CLOCK_REALTIME, &future);
        future.tv_sec += 1000;
        in_region("join", i);
        while (pthread_tryjoin_np(thread, NULL) == EBUSY)
            usleep(50);
        lull_end("");
        given_up = 0;
        thread = make_for(outlast_a_try, i + 1);
        in_region("join", i + 1);
        if (pthread_timedjoin_np(thread, NULL, &past) != ETIMEDOUT)
            exit(3);
        given_up = 1;
        if (pthread_timedjoin_np(thread, NULL, &future) != 0)
            exit(3);
        lull_end("");
        thread = make(i + 2);
        in_region("join", i + 2);
        if (pthread_clockjoin_np(thread, NULL, CLOCK_REALTIME, &future) != 0)
            exit(3);
        lull_end("");
    }
    printf("waits %d joined\n", (ROUNDS + 2) / 3 * 3);
}

static volatile int resumed;

static void *outlive(void *argument)
{
    while (!resumed)
        usleep(100);
    return body(argument);
}

/* Regions are not seen in a pause, the waits are; one thread outlives it. */
static void in_pause(void)
{
    pthread_t threads[THREADS], last;
    lull_pause();
    for (long i = 0; i < THREADS; i++)
        threads[i] = make(1000 + i);
    for (long i = 0; i < THREADS; i++)
        join(threads[i], 1000 + i);
    last = make_for(outlive, 0);
    lull_resume();
    resumed = 1;
    join(last, 0);
    printf("waits %d joined\n", THREADS + 1);
}

static pthread_barrier_t barrier, other;

static void *meet(void *argument)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&barrier);
        if (i % 2 == 0)
            pthread_barrier_wait(&other);
    }
    return argument;
}

static void at_barriers(void)
{
    pthread_t threads[THREADS];
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    for (int again = 0; again < 2; again++) {
        const long meeting = again == 0 ? THREADS : 3;
        pthread_barrier_init(&barrier, NULL, (unsigned)meeting);
        pthread_barrier_init(&other, again == 0 ? NULL : &shared, (unsigned)meeting);
        for (long i = 1; i < meeting; i++)
            if (pthread_create(&threads[i], NULL, meet, NULL) != 0)
                exit(3);
        meet(NULL);
        for (long i = 1; i < meeting; i++)
            pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&barrier);
        pthread_barrier_destroy(&other);
    }
    /* The one that other processes may come to is not told. */
    printf("meetings %d of 5\nmeetings %d of 3\n", ROUNDS + ROUNDS / 2, ROUNDS);
    printf("waits %d joined\n", THREADS - 1 + 2);
}

static void beside_detached(void)
{
    pthread_attr_t detached;
    pthread_t thread;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (long i = 0; i < ROUNDS; i++) {
        if (pthread_create(&thread, &detached, body, (void *)(1000 + i)) != 0)
            exit(3);
        usleep(600);
        join(make(i), i);
    }
    printf("waits %d joined\n", ROUNDS);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } forms[] = {{"pthread", by_pthreads},
                 {"c", by_c},
                 {"np", by_np},
                 {"paused", in_pause},
                 {"barriers", at_barriers},
                 {"detached", beside_detached}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (argc == 2 && strcmp(argv[1], forms[i].name) == 0) {
            forms[i].run();
            return 0;
        }
    return 2;
}
