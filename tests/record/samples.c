/* Threads that are sampled for some time:
 *
 *     samples MS [killed | waits]     marked regions for MS ms, also by a second thread; then the end, by itself or
 *                                     by SIGKILL, or a wait for that
 *     samples still                   two threads that never enter the recorder, and wait for the end */
#include <lull/lull.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long length;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

static void *mark(void *argument)
{
    for (const double end = now() + (double)length; now() < end;) {
        lull_begin("inner");
        usleep(200);
        lull_end("inner");
    }
    return argument;
}

static void *rest(void *argument)
{
    for (;;)
        pause();
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    length = argc > 1 ? atol(argv[1]) : 0;
    if (argc > 1 && strcmp(argv[1], "still") == 0) {
        pthread_create(&thread, NULL, rest, NULL);
        rest(NULL);
    }
    pthread_create(&thread, NULL, mark, NULL);
    mark(NULL);
    pthread_join(thread, NULL);
    if (argc > 2 && strcmp(argv[2], "killed") == 0)
        raise(SIGKILL);
    if (argc > 2 && strcmp(argv[2], "waits") == 0)
        rest(NULL);
    return 0;
}
