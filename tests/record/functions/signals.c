/* A handler of a signal that comes at any moment, and is instrumented, too. */
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#define APART __attribute__((noinline))
static volatile long sum, signals;

APART static void in_handler(void)
{
    signals++;
}

static void handle(int signal)
{
    (void)signal;
    in_handler();
}

APART static void tick(void)
{
    sum++;
}

int main(void)
{
    struct sigaction action;
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 100000; i++)
        tick();
    setitimer(ITIMER_REAL, &never, NULL);
    return signals == 0;
}
