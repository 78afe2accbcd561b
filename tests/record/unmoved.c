/* unmoved: prints what the program sees of itself that the recorder's look at the cores must not
 * change: the cores that it may run on, its threads, whether the C library knows it to have one
 * thread, its blocked and pending signals, and whether it has a child, or had one that took a
 * noticeable time. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <sys/wait.h>

int main(void)
{
    cpu_set_t cores;
    sigset_t blocked;
    struct rusage children;
    int threads = 0;
    sched_getaffinity(0, sizeof cores, &cores);
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &cores))
            printf("core %d\n", core);
    DIR *folder = opendir("/proc/self/task");
    while (folder && readdir(folder))
        threads++;
    printf("threads %d, single %d\n", threads, __libc_single_threaded);
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    for (int number = 1; number < 32; number++)
        if (sigismember(&blocked, number) == 1)
            printf("blocked %d\n", number);
    getrusage(RUSAGE_CHILDREN, &children);
    const long us = (children.ru_utime.tv_sec + children.ru_stime.tv_sec) * 1000000L +
                    children.ru_utime.tv_usec + children.ru_stime.tv_usec;
    printf("children of 50 ms: %d\n", us >= 50000);
    sigpending(&blocked);
    printf("pending SIGCHLD: %d\n", sigismember(&blocked, SIGCHLD));
    printf("child %d\n", waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD);
    return 0;
}
