#include "base/process.h"

#include "base/output_file.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

void lull_limits_raise_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

/* A thread of its own waits for the signals: in it any function may be called, as it may not in a
 * handler. */
static void *wait_for_signal(void *argument)
{
    const sigset_t *signals = argument;
    int number;
    if (sigwait(signals, &number) != 0)
        return NULL;
    lull_output_discard_pending();
    signal(number, SIG_DFL);
    sigset_t this_one;
    sigemptyset(&this_one);
    sigaddset(&this_one, number);
    raise(number); /* is delivered when it is no longer blocked */
    pthread_sigmask(SIG_UNBLOCK, &this_one, NULL);
    return NULL;
}

void lull_interrupt_clean_up(void)
{
    static sigset_t signals;
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction old;
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaddset(&signals, numbers[i]);
    }
    pthread_t waiter;
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    if (pthread_create(&waiter, NULL, wait_for_signal, &signals) == 0)
        pthread_detach(waiter);
    else
        pthread_sigmask(SIG_SETMASK, &before, NULL);
}
