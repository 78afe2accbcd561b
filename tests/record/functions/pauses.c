/* A signal may come while the program switches recording off and on, and has a handler. */
#include <lull/lull.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#define APART __attribute__((noinline))
static volatile long signals;

APART static void in_handler(void)
{
    signals++;
}

static void handle(int signal)
{
    (void)signal;
    in_handler();
}

int main(void)
{
    struct sigaction action;
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (signals < 2000) {
        lull_pause();
        lull_resume();
    }
    setitimer(ITIMER_REAL, &never, NULL);
    puts("all signals have come");
    return 0;
}
