/* Signals come while the main thread waits for another one, and have a handler. */
#include <pthread.h>
#include <signal.h>
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

APART static void behind(void)
{
    signals++;
}

static void *in_thread(void *argument)
{
    while (signals < 100) {
    }
    return argument;
}

int main(void)
{
    struct sigaction action;
    sigset_t alarms;
    pthread_t thread;
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    sigaction(SIGALRM, &action, NULL);
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    const int failed = pthread_create(&thread, NULL, in_thread, NULL);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    if (!failed)
        pthread_join(thread, NULL);
    setitimer(ITIMER_REAL, &never, NULL);
    behind();
    return failed;
}
