/* sealed HOW BY: a program that computes, restricts its system calls, and computes on.
 *
 * HOW: kill (a filter that kills where anything but what the program needs is called), refuse (the same
 * with an error), all (one that kills and is for all threads, while the program's only one goes on for
 * 1.5 s), strict (SECCOMP_MODE_STRICT), ask (only whether the system has filters). BY: prctl, syscall,
 * instruction (none of the two functions). OpenMP's threads work before, and but for strict after it.
 * Its status is 42. */
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
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 2000 };

/* What libgomp and the C library call once all threads are there, and what this program calls. */
static const unsigned allowed[] = {SYS_write,      SYS_futex,  SYS_sched_yield, SYS_exit,
                                   SYS_exit_group, SYS_munmap, SYS_madvise,     SYS_clock_gettime};

/* -1: not on this processor. */
static long seccomp_by_instruction(unsigned long flags, const void *program)
{
#if defined(__x86_64__)
    long result = SYS_seccomp;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(SECCOMP_SET_MODE_FILTER), "S"(flags), "d"(program)
                     : "rcx", "r11", "memory");
    return result;
#else
    (void)flags;
    (void)program;
    return -1;
#endif
}

static int install(const char *how, const char *by)
{
    enum { N = sizeof allowed / sizeof *allowed };
    const int by_prctl = strcmp(by, "prctl") == 0, all = strcmp(how, "all") == 0;
    const unsigned long flags = all ? SECCOMP_FILTER_FLAG_TSYNC : 0;
    struct sock_filter code[2 + 2 * N] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned n = 1;
    for (unsigned i = 0; i < N; i++) {
        if (all &&
            (allowed[i] == SYS_exit || allowed[i] == SYS_munmap || allowed[i] == SYS_madvise))
            continue; /* what a thread calls that ends */
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, strcmp(how, "refuse") != 0
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
    if (strcmp(by, "instruction") == 0)
        return seccomp_by_instruction(flags, &program) == 0;
    return (by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
                     : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program)) == 0;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
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
    const int all = strcmp(words[1], "all") == 0;
    const int threads = all || strcmp(words[1], "strict") == 0 ? 1 : 2;
    const double before = work(threads);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !install(words[1], words[2])) {
        say("not installed\n");
        return 77;
    }
    if (strcmp(words[1], "strict") == 0) { /* not even a futex is allowed */
        say("same\n");
        syscall(SYS_exit, 42);
    }
    for (const double begin = seconds(); all && seconds() < begin + 1.5;)
        continue;
    say(work(threads) == before ? "same\n" : "differs\n");
    exit(42);
}
