/* Pauses hold for all threads of the process.
 *
 *     pause_threads long     one thread computes over a thousand pauses and one sleeps: all three
 *                            are paused for the same time
 *     pause_threads turns    one thread marks regions between pauses and in them, in turn with
 * main; others are born in a pause and outlive it
 *
 * Prints what must be found. */
#include <lull/lull.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PAUSES = 1000, MARKS = 10, BORN = 5 };

static pthread_barrier_t barrier, begun;
static _Atomic int stop;
static _Thread_local double sum;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void mark(const char *name)
{
    for (int i = 0; i < MARKS; i++) {
        lull_begin(name);
        sum += i;
        lull_end(name);
    }
}

static void *compute(void *argument)
{
    lull_begin("compute");
    pthread_barrier_wait(&begun);
    while (!stop)
        sum += 1;
    lull_end("compute");
    return argument;
}

static void *wait_long(void *argument)
{
    lull_begin("sleep");
    pthread_barrier_wait(&barrier); /* before the pauses */
    pthread_barrier_wait(&barrier); /* behind them */
    lull_end("sleep");
    return argument;
}

/* In turn with main. */
static void *mark_all(void *argument)
{
    for (int step = 0; step < 4; step++) {
        pthread_barrier_wait(&barrier);
        mark(step % 2 == 0 ? "hidden" : "shown");
        pthread_barrier_wait(&barrier);
    }
    pthread_barrier_wait(&barrier);
    lull_resume(); /* what main has paused */
    return argument;
}

static void *born(void *argument)
{
    mark("hidden");
    pthread_barrier_wait(argument);
    pthread_barrier_wait(argument); /* main has resumed */
    mark("shown");
    return NULL;
}

static void take_turns(void)
{
    pthread_t marking;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&marking, NULL, mark_all, NULL);
    for (int step = 0; step < 4; step++) {
        if (step % 2 == 0)
            lull_pause();
        else
            lull_resume();
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
    }
    lull_pause();
    pthread_barrier_wait(&barrier);
    pthread_join(marking, NULL);
    mark("shown");
}

static void bear(void)
{
    pthread_barrier_t alive;
    pthread_t threads[BORN];
    pthread_barrier_init(&alive, NULL, BORN + 1);
    lull_pause();
    for (int i = 0; i < BORN; i++)
        pthread_create(&threads[i], NULL, born, &alive);
    pthread_barrier_wait(&alive);
    lull_resume();
    pthread_barrier_wait(&alive);
    for (int i = 0; i < BORN; i++)
        pthread_join(threads[i], NULL);
}

static void pause_often(void)
{
    pthread_t computing, sleeping;
    double least = 0, most = 0;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_barrier_init(&begun, NULL, 2);
    pthread_create(&computing, NULL, compute, NULL);
    pthread_barrier_wait(&begun);
    pthread_create(&sleeping, NULL, wait_long, NULL);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < PAUSES; i++) {
        double before = now();
        lull_pause();
        double after = now();
        usleep(20);
        least += now() - after;
        lull_resume();
        most += now() - before;
    }
    pthread_barrier_wait(&barrier);
    stop = 1;
    pthread_join(computing, NULL);
    pthread_join(sleeping, NULL);
    for (int thread = 0; thread < 3; thread++)
        printf("paused %.9f %d\nunpaused %.9f %d\n", least, thread, most, thread);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "long") == 0) {
        pause_often();
        printf("expect 1 compute\nexpect 1 sleep\nthreads 3\n");
    } else {
        take_turns();
        bear();
        printf("expect %d shown\nexpect 0 hidden\n", MARKS * (2 + 1 + BORN));
        printf("threads %d\n", 1 + BORN); /* one of them has the place of the first */
    }
    return sum < 0;
}
