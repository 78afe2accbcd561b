/* sealed HOW BY: a program that computes, restricts its system calls, and computes on.
 *
 * HOW: kill (a filter that kills where anything but what the program needs is called), refuse (the same
 * with an error), strict (SECCOMP_MODE_STRICT), ask (only whether the system has filters). BY: prctl,
 * syscall. OpenMP's threads work before, and but for strict after it. Its status is 42. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <omp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 2000 };

/* What libgomp and the C library call once all threads are there, and what this program calls. */
static const unsigned allowed[] = {SYS_write,      SYS_futex,  SYS_sched_yield, SYS_exit,
                                   SYS_exit_group, SYS_munmap, SYS_madvise};

static int install(const char *how, int by_prctl)
{
    enum { N = sizeof allowed / sizeof *allowed };
    struct sock_filter code[2 + 2 * N] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned n = 1;
    for (unsigned i = 0; i < N; i++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, strcmp(how, "kill") == 0
                                                                  ? SECCOMP_RET_KILL_PROCESS
                                                                  : SECCOMP_RET_ERRNO | EPERM);
    struct sock_fprog program = {.len = (unsigned short)n, .filter = code};
    if (strcmp(how, "ask") == 0)
        return by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == -1 && errno == EFAULT
                        : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) == -1 &&
                              errno == EFAULT;
    if (strcmp(how, "strict") == 0)
        return (by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)
                         : syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL)) == 0;
    return (by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
                     : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)) == 0;
}

static double work(int threads)
{
    double sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel for num_threads(threads) reduction(+ : sum)
        for (int i = 0; i < 8; i++)
            sum += i;
    }
    return sum;
}

static void say(const char *text)
{
    if (write(1, text, strlen(text)) < 0)
        _exit(1);
}

int main(int count, char **words)
{
    if (count < 3)
        return 1;
    /* In strict mode a process ends when its only thread does. */
    const int threads = strcmp(words[1], "strict") == 0 ? 1 : 2;
    const double before = work(threads);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        !install(words[1], strcmp(words[2], "prctl") == 0)) {
        say("not installed\n");
        return 77;
    }
    if (strcmp(words[1], "strict") == 0) { /* not even a futex is allowed */
        say("same\n");
        syscall(SYS_exit, 42);
    }
    say(work(threads) == before ? "same\n" : "differs\n");
    exit(42);
}
