/* Programs that a recorder's samples could harm. Each prints what does not depend on times, so that it can be
 * compared with what it prints alone.
 *
 *     unharmed WAY [N]
 *
 * `deny COMMAND...` forbids perf_event_open(2), as containers do, and executes the command; `paranoid COMMAND...` does
 * so as a kernel with perf_event_paranoid 3; 77: the system has no filters.
 * `traced COMMAND...` executes it under ptrace(2), as a debugger does.
 * `nobody COMMAND...` does so as a user without privileges, and without locked memory. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Thread_local volatile unsigned sink;

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Processor time of the thread, in which samples are taken. */
static void spin(double seconds)
{
    const double begin = now(CLOCK_THREAD_CPUTIME_ID);
    while (now(CLOCK_THREAD_CPUTIME_ID) - begin < seconds)
        for (unsigned i = 0; i < 10000; i++)
            sink += i;
}

static pthread_barrier_t all_there;
static bool wait_for_all;

static void *thread(void *number)
{
    spin(0.001);
    if (wait_for_all)
        pthread_barrier_wait(&all_there);
    return (void *)((uintptr_t)number * 3);
}

/* `n` threads at a time; what they return is added up. */
static unsigned long add_threads(unsigned n)
{
    pthread_t *threads = calloc(n, sizeof *threads);
    pthread_attr_t small;
    unsigned long sum = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN + 16384);
    for (uintptr_t i = 0; i < n; i++)
        if (pthread_create(&threads[i], &small, thread, (void *)i) != 0)
            return 0;
    for (unsigned i = 0; i < n; i++) {
        void *got;
        pthread_join(threads[i], &got);
        sum += (uintptr_t)got;
    }
    free(threads);
    return sum;
}

static int run_threads(unsigned n)
{
    printf("%lu\n", add_threads(n));
    return 0;
}

/* All of them at a time. */
static int run_crowd(unsigned n)
{
    pthread_barrier_init(&all_there, NULL, n);
    wait_for_all = true;
    return run_threads(n);
}

/* Closes all descriptors but the standard ones, again and again; a file that is opened has number 3. */
static int run_closefrom(unsigned n)
{
    (void)n;
    for (unsigned i = 0; i < 50; i++) {
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
        const int fd = open("/dev/null", O_RDONLY);
        if (fd != 3)
            printf("%d\n", fd);
        add_threads(2);
        spin(0.01);
        char byte;
        if (read(fd, &byte, 1) != 0)
            printf("not /dev/null any more\n");
    }
    return 3;
}

/* Few descriptors, and all of them used by the program: none is missing. */
static int run_descriptors(unsigned n)
{
    const struct rlimit few = {24, 24};
    unsigned opened = 0;
    setrlimit(RLIMIT_NOFILE, &few);
    printf("%lu\n", add_threads(40));
    while (open("/dev/null", O_RDONLY) >= 0)
        opened++;
    printf("%s\n", strerror(errno));
    printf("%lu\n", add_threads(40));
    spin(0.1);
    if (n > 0)
        printf("opened %u\n", opened);
    return 0;
}

static volatile sig_atomic_t signals;

static void count(int signal)
{
    (void)signal;
    signals++;
}

/* The program's own profile: a timer of the process and one of its own. */
static int run_sigprof(unsigned n)
{
    (void)n;
    const struct sigaction action = {.sa_handler = count};
    const struct itimerval each = {{0, 1000}, {0, 1000}};
    struct sigaction before, after;
    struct itimerval timer;
    getitimer(ITIMER_PROF, &timer);
    sigaction(SIGPROF, &action, &before);
    printf("%d %ld\n", before.sa_handler == SIG_DFL, (long)timer.it_value.tv_usec);
    setitimer(ITIMER_PROF, &each, NULL);
    while (signals < 50)
        spin(0.001);
    sigaction(SIGPROF, NULL, &after);
    printf("%d\n", after.sa_handler == count);
    return 0;
}

/* The program's own timers: of its real time, and of a thread's processor time. */
static int run_timers(unsigned n)
{
    (void)n;
    const struct sigaction action = {.sa_handler = count};
    const struct itimerspec each = {{0, 2000000}, {0, 2000000}};
    const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID};
    struct sigaction after;
    sigaction(SIGRTMAX, &action, NULL);
    for (unsigned i = 0; i < 2; i++) {
        struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMAX};
        timer_t timer;
        if (timer_create(clocks[i], &event, &timer) != 0 ||
            timer_settime(timer, 0, &each, NULL) != 0)
            return 1;
        for (const int before = signals; signals < before + 50;)
            spin(0.001);
        timer_delete(timer);
    }
    sigaction(SIGRTMAX, NULL, &after);
    printf("%d\n", after.sa_handler == count);
    return 0;
}

static void *send_signals(void *to)
{
    for (unsigned i = 0; i < 20; i++) {
        const struct timespec little = {.tv_nsec = 1000000};
        nanosleep(&little, NULL);
        pthread_kill(*(pthread_t *)to, SIGUSR1);
    }
    return NULL;
}

/* A thread that takes signals by waiting for all of them. */
static int run_sigwait(unsigned n)
{
    (void)n;
    sigset_t all;
    pthread_t self = pthread_self(), sender;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pthread_create(&sender, NULL, send_signals, &self);
    int signal;
    spin(0.05);
    sigwait(&all, &signal);
    if (signal != SIGUSR1)
        printf("signal %d\n", signal);
    pthread_join(sender, NULL);
    printf("done\n");
    return 0;
}

static volatile uintptr_t lowest, highest;

static void look_at_stack(int signal)
{
    char here[64];
    (void)signal;
    signals += (uintptr_t)here >= lowest && (uintptr_t)here < highest;
}

/* Spins for n ms of processor time; 0: 100. */
static int run_altstack(unsigned n)
{
    enum { SIZE = 16384 };
    static char stack[SIZE];
    const stack_t other = {.ss_sp = stack, .ss_size = SIZE};
    const struct sigaction action = {.sa_handler = look_at_stack, .sa_flags = SA_ONSTACK};
    lowest = (uintptr_t)stack;
    highest = lowest + SIZE;
    sigaltstack(&other, NULL);
    sigaction(SIGUSR1, &action, NULL);
    for (unsigned i = 0; i < (n ? n : 100); i++) {
        spin(0.001);
        raise(SIGUSR1);
    }
    printf("%d\n", (int)signals);
    return 0;
}

static int run_forks(unsigned n)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++) {
        const pid_t child = fork();
        int status;
        if (child == 0) {
            spin(0.002);
            add_threads(2);
            _exit((int)(i % 100));
        }
        spin(0.002);
        waitpid(child, &status, 0);
        sum += WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 1000;
    }
    printf("%u\n", sum);
    return 0;
}

static int run_vforks(unsigned n)
{
    volatile unsigned sum = 0;
    for (volatile unsigned i = 0; i < n; i++) {
        int status;
        spin(0.001);
        const pid_t child = vfork();
        if (child == 0) {
            execlp("true", "true", (char *)NULL);
            _exit(9);
        }
        waitpid(child, &status, 0);
        sum = sum + (WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    printf("%u\n", sum);
    return 0;
}

static int write_end;

static void *write_slowly(void *argument)
{
    for (unsigned i = 0; i < 100; i++) {
        spin(0.002);
        if (write(write_end, "x", 1) != 1)
            break;
    }
    close(write_end);
    return argument;
}

/* Calls that take an interruption for a failure. */
static int run_reads(unsigned n)
{
    (void)n;
    int ends[2];
    pthread_t writer;
    char byte;
    unsigned bytes = 0;
    if (pipe(ends) != 0)
        return 1;
    write_end = ends[1];
    pthread_create(&writer, NULL, write_slowly, NULL);
    for (ssize_t got; (got = read(ends[0], &byte, 1)) != 0; bytes++)
        if (got < 0) {
            printf("%s\n", strerror(errno));
            return 1;
        }
    pthread_join(writer, NULL);
    const struct timespec little = {.tv_nsec = 30000000};
    for (unsigned i = 0; i < 10; i++) {
        spin(0.01);
        if (nanosleep(&little, NULL) != 0)
            printf("%s\n", strerror(errno));
    }
    printf("%u\n", bytes);
    return 0;
}

static const char *own_path;

static int run_exec(unsigned n)
{
    char next[16];
    spin(0.05);
    if (n == 0) {
        printf("the last one\n");
        return 5;
    }
    snprintf(next, sizeof next, "%u", n - 1);
    execl(own_path, own_path, "exec", next, (char *)NULL);
    return 1;
}

/* A traced child, and its parent, which tells what stopped it. */
static int run_ptrace(unsigned n)
{
    (void)n;
    const pid_t child = fork();
    int status;
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(77);
        for (unsigned i = 0; i < 20; i++) {
            spin(0.002);
            raise(SIGUSR2);
        }
        _exit(4);
    }
    unsigned stops = 0;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        stops++;
        spin(0.002);
        ptrace(PTRACE_CONT, child, NULL, NULL);
    }
    printf("%u stops, status %d\n", stops, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}

/* The system allows this to a program with one thread alone. */
static int run_unshare(unsigned n)
{
    (void)n;
    spin(0.05);
    printf("%s\n", unshare(CLONE_NEWUSER) == 0 ? "done" : strerror(errno));
    return 0;
}

#define KILL(number)                                     \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

/* From some moment on calls of the system that a recorder may make are deadly, in all threads. */
static int run_seal(unsigned n)
{
    (void)n;
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        KILL(SYS_perf_event_open),
        KILL(SYS_mmap),
        KILL(SYS_munmap),
        KILL(SYS_openat),
        KILL(SYS_futex),
        KILL(SYS_nanosleep),
        KILL(SYS_clock_nanosleep),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
    printf("%lu\n", add_threads(4));
    fflush(stdout);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0)
        return 77;
    spin(0.3);
    _exit(6);
}

/* A program that ends itself in a way that nobody can see coming. */
static int run_abort(unsigned n)
{
    (void)n;
    printf("goes\n");
    fflush(stdout);
    add_threads(3);
    abort();
}

static int deny(int reason, char **command)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)reason),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0)
        return 77;
    execvp(command[0], command);
    return 1;
}

/* Hands on each signal that stops the command; its end is that of this program. */
static int trace(char **command)
{
    const pid_t child = fork();
    int status;
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
            execvp(command[0], command);
        _exit(77);
    }
    /* SIGTRAP: another program was executed */
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status))
        ptrace(PTRACE_CONT, child, NULL, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int become_nobody(char **command)
{
    enum { NOBODY = 65534 };
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_MEMLOCK, &none);
    if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        return 77;
    execvp(command[0], command);
    return 1;
}

/* The recorder asks for the files that are loaded where it meets a new place of a call. There a signal arrives, whose
 * handler computes, so that there are samples in code whose file is still to be asked for, and ends the program. */
static unsigned ends_inside; /* at which of the next questions; 0: at none */

static void end_by_signal(int signal)
{
    (void)signal;
    spin(0.3);
    exit(5);
}

static int (*pass_on)(struct dl_phdr_info *info, size_t size, void *context);

static int look_and_end(struct dl_phdr_info *info, size_t size, void *context)
{
    if (ends_inside > 0) {
        ends_inside = 0;
        raise(SIGUSR1);
    }
    return pass_on(info, size, context);
}

/* In front of the C library's. */
int dl_iterate_phdr(int (*look)(struct dl_phdr_info *info, size_t size, void *context),
                    void *context)
{
    int (*next)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    void *symbol = dlsym(RTLD_NEXT, "dl_iterate_phdr");
    memcpy(&next, &symbol, sizeof next);
    if (ends_inside != 1) {
        ends_inside -= ends_inside > 0;
        return next(look, context);
    }
    pass_on = look;
    return next(look_and_end, context);
}

/* The recorder maps a part of its file, or makes room for it, with its locks. Where it does so for the n-th time, the
 * signal arrives. */
static unsigned ends_mapping;

static bool is_recorder(const void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) != 0 && info.dli_fname && strstr(info.dli_fname, "liblull-record");
}

/* In front of the C library's. */
void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    if (__atomic_load_n(&ends_mapping, __ATOMIC_RELAXED) > 0 &&
        is_recorder(__builtin_return_address(0)) &&
        __atomic_sub_fetch(&ends_mapping, 1, __ATOMIC_RELAXED) == 0)
        raise(SIGUSR1);
    return (void *)syscall(SYS_mmap, at, size, protection, flags, file, offset);
}

static void *wait_a_little(void *unused)
{
    usleep(1000);
    return unused;
}

static int run_exit_mapping(unsigned n)
{
    pthread_t thread;
    signal(SIGUSR1, end_by_signal);
    ends_mapping = n;
    for (unsigned i = 0; i < 40; i++) /* for each the recorder maps a tape */
        if (pthread_create(&thread, NULL, wait_a_little, NULL) == 0 && i % 8 == 7)
            pthread_join(thread, NULL);
    exit(5); /* alone nobody maps */
}

/* The same while a thread's own tape grows: it is marked until then. */
static int run_exit_marked(unsigned n)
{
    int (*push)(const char *name), (*pop)(void);
    void *symbols[] = {dlsym(RTLD_DEFAULT, "nvtxRangePushA"), dlsym(RTLD_DEFAULT, "nvtxRangePop")};
    memcpy(&push, &symbols[0], sizeof push);
    memcpy(&pop, &symbols[1], sizeof pop);
    signal(SIGUSR1, end_by_signal);
    ends_mapping = n;
    for (unsigned i = 0; push && pop && i < 1000000; i++) { /* alone nobody marks */
        push("part");
        pop();
    }
    exit(5);
}

static int run_exit_inside(unsigned n)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    signal(SIGUSR1, end_by_signal);
    ends_inside = n;
    pthread_mutex_timedlock(&lock, &until); /* the place of a call that is new */
    exit(5);                                /* alone nobody asks */
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(unsigned n);
    } ways[] = {{"threads", run_threads},
                {"crowd", run_crowd},
                {"closefrom", run_closefrom},
                {"descriptors", run_descriptors},
                {"sigprof", run_sigprof},
                {"altstack", run_altstack},
                {"timers", run_timers},
                {"sigwait", run_sigwait},
                {"forks", run_forks},
                {"vforks", run_vforks},
                {"reads", run_reads},
                {"exec", run_exec},
                {"seal", run_seal},
                {"ptrace", run_ptrace},
                {"unshare", run_unshare},
                {"abort", run_abort},
                {"exit-inside", run_exit_inside},
                {"exit-mapping", run_exit_mapping},
                {"exit-marked", run_exit_marked}};
    own_path = argv[0];
    if (argc > 2 && strcmp(argv[1], "deny") == 0)
        return deny(EPERM, argv + 2);
    if (argc > 2 && strcmp(argv[1], "paranoid") == 0)
        return deny(EACCES, argv + 2);
    if (argc > 2 && strcmp(argv[1], "traced") == 0)
        return trace(argv + 2);
    if (argc > 2 && strcmp(argv[1], "nobody") == 0)
        return become_nobody(argv + 2);
    for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
        if (strcmp(argv[1], ways[i].name) == 0)
            return ways[i].run(argc > 2 ? (unsigned)atoi(argv[2]) : 0);
    return 2;
}
