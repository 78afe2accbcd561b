/* A program of which a part is recorded, in several ways; prints what must be found.
 *
 *     window numbers        iterations 3 to 5 of 10
 *     window visits         visits 3 and 4 of a region, with what is in them and between them
 *     window all|none|late [wait]   what comes while the recorder's thread sleeps for an hour, or
 *                           with `wait` when it has done what it was made for
 *     window signals [off]  signals switch recording on and off */
#include <dirent.h>
#include <lull/lull.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile double sum;

static void mark(const char *name, int times)
{
    for (int i = 0; i < times; i++) {
        lull_begin(name);
        sum += i;
        lull_end(name);
    }
}

static int numbers(void)
{
    mark("before", 1);
    for (int i = 0; i < 10; i++) {
        lull_iteration(i);
        mark("step", 2);
    }
    lull_pause(); /* the iterations that come are wanted by the user, and not by the program */
    lull_iteration(4);
    mark("paused", 1);
    lull_resume();
    mark("step", 1);
    lull_iteration(11);
    mark("behind", 1);
    puts("expect 0 before\nexpect 7 step\nexpect 0 paused\nexpect 0 behind\nprocesses 1");
    return 0;
}

static int visits(void)
{
    mark("before", 1);
    for (int i = 0; i < 8; i++) {
        lull_begin("a:solve");
        mark("part", 2);
        mark("a:solve", 1); /* inside of itself it is no other visit */
        lull_end("a:solve");
        mark("between", 1);
    }
    puts("expect 0 before\nexpect 4 a:solve\nexpect 4 part\nexpect 1 between\nprocesses 1");
    return 0;
}

/* ---- the recorder's thread ------------------------------------------------------------------ */

/* Another thread of this process, by its number; 0: there is none. */
static long other_thread(void)
{
    DIR *tasks = opendir("/proc/self/task");
    long found = 0;
    for (struct dirent *task; tasks && (task = readdir(tasks));)
        if (atol(task->d_name) > 0 && atol(task->d_name) != getpid())
            found = atol(task->d_name);
    if (tasks)
        closedir(tasks);
    return found;
}

/* How often it has gone to sleep; -1: it is awake. */
static long sleeps(long thread)
{
    char path[64], line[256];
    long count = -1;
    int asleep = 0;
    snprintf(path, sizeof path, "/proc/self/task/%ld/status", thread);
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status)) {
        asleep |= strncmp(line, "State:\tS", 8) == 0;
        sscanf(line, "voluntary_ctxt_switches: %ld", &count);
    }
    if (status)
        fclose(status);
    return asleep ? count : -1;
}

static void rest(void)
{
    const struct timespec moment = {0, 1000000};
    nanosleep(&moment, NULL);
}

static int when_it_is_gone(const char *mode, int waits)
{
    while (waits && other_thread() != 0)
        rest();
    mark("mark", 5);
    printf("expect %d mark\nprocesses 1\n", strcmp(mode, "none") == 0 ? 0 : 5);
    if (strcmp(mode, "late") == 0)
        puts("paused 0.05 0");
    return 0;
}

/* Comes back when the recorder's thread has heard of it and sleeps again. */
static void switch_by(int signal)
{
    const long thread = other_thread();
    struct sigaction action;
    sigaction(signal, NULL, &action);
    if (action.sa_handler == SIG_DFL) /* there is no recorder */
        return;
    long before;
    while ((before = sleeps(thread)) < 0)
        rest();
    raise(signal);
    while (sleeps(thread) <= before)
        rest();
}

static int signals(int off)
{
    mark("first", 3);
    switch_by(SIGUSR2);
    mark("off", 3);
    switch_by(SIGUSR2);
    mark("off", 3);
    switch_by(SIGUSR1);
    mark("on", 3);
    switch_by(SIGUSR2);
    mark("off", 3);
    switch_by(SIGUSR1);
    mark("on", 3);
    printf("expect %d first\nexpect 0 off\nexpect 6 on\nprocesses 1\n", off ? 0 : 3);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "numbers") == 0)
        return numbers();
    if (strcmp(mode, "visits") == 0)
        return visits();
    if (strcmp(mode, "signals") == 0)
        return signals(argc > 2);
    return when_it_is_gone(mode, argc > 2);
}
