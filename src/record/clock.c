/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

/* ==== what is said of the counter ============================================================= */

static const char *const no_guests[] = {NULL};
/* drivers/clocksource/hyperv_timer.c, arch/x86/kernel/kvmclock.c and arch/x86/xen/time.c of
 * Linux */
static const char *const tsc_guests[] = {"kvm-clock", "hyperv_clocksource_tsc_page",
                                         "hyperv_clocksource_msr", "xen", NULL};

const struct rec_clock_counter rec_clock_tsc = {"time stamp counter", "tsc", tsc_guests};
/* All processors of a machine have the generic timer in common; it neither stops nor changes its
 * rate (Arm ARM, D11.1). A hypervisor shifts it for its guests, and offers no clock in its place. */
const struct rec_clock_counter rec_clock_generic_timer = {"counter of the generic timer",
                                                          "arch_sys_counter", no_guests};

static const struct rec_clock_counter *own_counter(void)
{
#if defined(__aarch64__)
    return &rec_clock_generic_timer;
#elif LULL_CLOCK_HAS_TSC
    return &rec_clock_tsc;
#else
    return NULL;
#endif
}

/* Reads the beginning of a file; where `folder` is not NULL, of the one with the same name there.
 * Neither allocates nor uses stdio: this runs before main in other people's programs. */
static void read_beginning(const char *folder, const char *path, char *text, size_t size)
{
    char other[1024];
    size_t length = 0;
    if (folder) {
        snprintf(other, sizeof other, "%s%s", folder, strrchr(path, '/'));
        path = other;
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got;
         fd >= 0 && length < size - 1 && (got = read(fd, text + length, size - 1 - length)) > 0;)
        length += (size_t)got;
    if (fd >= 0)
        close(fd);
    text[length] = '\0';
}

static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += length)
        if ((at == text || strchr(" \t\n:", at[-1])) && strchr(" \t\n", at[length]))
            return true;
    return false;
}

static bool is_guest(const struct rec_clock_counter *counter, const char *source)
{
    for (const char *const *guest = counter->guests; *guest; guest++)
        if (strcmp(*guest, source) == 0)
            return true;
    return false;
}

/* CPUID 80000007H, EDX bit 8; Linux takes constant_tsc and nonstop_tsc from there. Asking the
 * processor took 7 us in a virtual machine, reading /proc/cpuinfo 25 us. */
static bool processor_is_invariant(void)
{
#if defined(__x86_64__) || defined(__i386__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
#else
    return true;
#endif
}

/* Whether the hypervisor is KVM and leaves KVM_FEATURE_CLOCKSOURCE_STABLE_BIT out. Where KVM also
 * shows the CPUID leaves of another hypervisor, its own leaves stand behind them, by up to
 * 0xff00. */
static bool kvm_is_unstable(void)
{
#if defined(__x86_64__) || defined(__i386__)
    unsigned a, b, c, d;
    for (unsigned leaf = 0x40000000; leaf < 0x40010000; leaf += 0x100) {
        unsigned name[3];
        __cpuid(leaf, a, name[0], name[1], name[2]);
        if (memcmp(name, "KVMKVMKVM\0\0\0", sizeof name) != 0)
            continue;
        __cpuid(leaf + 1, a, b, c, d);
        (void)b, (void)c, (void)d;
        return !(a >> 24 & 1);
    }
#endif
    return false;
}

void rec_clock_look(const struct rec_clock_counter *counter, const char *folder,
                    struct rec_clock_facts *ret_facts)
{
    char text[8192];
    *ret_facts = (struct rec_clock_facts){.invariant = true};
    read_beginning(folder, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                   ret_facts->current, sizeof ret_facts->current);
    ret_facts->current[strcspn(ret_facts->current, "\n")] = '\0';
    if (counter == &rec_clock_generic_timer)
        return;
    if (!folder)
        ret_facts->invariant = processor_is_invariant();
    if (!folder && !is_guest(counter, ret_facts->current))
        return;
    read_beginning(folder, "/sys/devices/system/clocksource/clocksource0/available_clocksource",
                   ret_facts->available, sizeof ret_facts->available);
    read_beginning(folder, "/proc/cpuinfo", text, sizeof text);
    if (folder)
        ret_facts->invariant = has_word(text, "constant_tsc") && has_word(text, "nonstop_tsc");
    ret_facts->rate_known = has_word(text, "tsc_known_freq") || has_word(text, "tsc_reliable");
    if (folder)
        read_beginning(folder, "/kvm", text, sizeof text);
    ret_facts->unstable = folder ? *text && !has_word(text, "stable") : kvm_is_unstable();
}

/* ==== the decision ============================================================================ */

enum rec_clock_verdict rec_clock_judge(const struct rec_clock_counter *counter,
                                       const struct rec_clock_facts *facts,
                                       enum rec_clock_wish wish, char *why, size_t size)
{
    const struct {
        bool fails;
        const char *why;
    } promises[] = {
        {!facts->invariant, "the hypervisor does not say that the counter is constant and never "
                            "stops (constant_tsc, nonstop_tsc)"},
        {!facts->rate_known, "the hypervisor does not tell the counter's rate or vouch for it "
                             "(tsc_known_freq, tsc_reliable)"},
        {counter && !has_word(facts->available, counter->source),
         "the kernel does not offer the counter as another source"},
        {facts->unstable, "the hypervisor does not say that the counters of all cores are alike"}};
    if (!counter || wish != REC_CLOCK_ANY) {
        snprintf(why, size, "%s", counter ? "LULL_CLOCK asks for it" : "lull knows no other here");
        return counter && wish == REC_CLOCK_TSC ? REC_CLOCK_READ_COUNTER : REC_CLOCK_READ_SYSTEM;
    }
    if (!is_guest(counter, facts->current)) {
        const bool own = strcmp(facts->current, counter->source) == 0;
        if (own && !facts->invariant)
            snprintf(why, size,
                     "the processor does not say that it is constant and never stops, although the "
                     "kernel's clock source is %s",
                     facts->current);
        else
            snprintf(why, size, "the kernel's clock source is %s",
                     *facts->current ? facts->current : "not known");
        return own && facts->invariant ? REC_CLOCK_READ_COUNTER : REC_CLOCK_READ_SYSTEM;
    }
    for (size_t i = 0; i < sizeof promises / sizeof *promises; i++) {
        if (!promises[i].fails)
            continue;
        snprintf(why, size, "the kernel's clock source is %s, and %s", facts->current,
                 promises[i].why);
        return REC_CLOCK_READ_SYSTEM;
    }
    snprintf(why, size,
             "the kernel's clock source is %s, but the hypervisor declares the counter stable",
             facts->current);
    return REC_CLOCK_COMPARE;
}

/* ==== comparing =============================================================================== */

/* The ns in a tick, on the line through two points; 0: there is no such line. */
static double rate_between(const struct lull_clock_point *a, const struct lull_clock_point *b)
{
    if (b->ns <= a->ns || (int64_t)(b->ticks - a->ticks) <= 0)
        return 0;
    return (double)(b->ns - a->ns) / (double)(b->ticks - a->ticks);
}

/* By how many ns the counter is ahead of a line through `from`. */
static double ahead_of(const struct lull_clock_point *from, double ns_per_tick,
                       const struct lull_clock_point *point)
{
    return (double)(int64_t)(point->ticks - from->ticks) * ns_per_tick -
           (double)(point->ns - from->ns);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

bool rec_clock_fit(const struct rec_clock_reading *readings, size_t count, size_t *ret_worst,
                   double *ret_apart)
{
    const struct lull_clock_point *first = &readings[0].point, *last = &readings[count - 1].point;
    const double rate = rate_between(first, last);
    bool good = rate > 0;
    *ret_worst = 0;
    *ret_apart = 0;
    for (size_t i = 1; rate > 0 && i + 1 < count; i++) {
        const struct lull_clock_point *point = &readings[i].point;
        const double apart = fabs(ahead_of(first, rate, point));
        /* The error of the line is largest at the line's ends. The 2 ns are those of rounding. */
        const double allowed =
            (double)(point->error_ticks + larger(first->error_ticks, last->error_ticks)) * rate + 2;
        good = good && apart <= allowed;
        if (apart <= *ret_apart)
            continue;
        *ret_worst = i;
        *ret_apart = apart;
    }
    return good;
}

double rec_clock_follow(struct rec_clock_track *track, const struct lull_clock_point *point)
{
    const double rate = rate_between(&track->first, &track->last);
    double apart = 0;
    if (track->count == 2 && rate > 0) {
        const double since = (double)(point->ns - track->last.ns),
                     length = (double)(track->last.ns - track->first.ns),
                     ends = (double)(track->first.error_ticks + track->last.error_ticks) * rate + 2,
                     here = (double)(point->error_ticks + track->last.error_ticks) * rate + 2,
                     allowed = here + since * (ends / length + 10e-6);
        apart = ahead_of(&track->last, rate, point);
        if (fabs(apart) <= allowed)
            apart = 0;
    }
    if (apart != 0 || track->count == 0)
        *track = (struct rec_clock_track){*point, *point, 1};
    else
        *track = (struct rec_clock_track){track->first, *point, 2};
    return apart;
}

/* ==== on each core ============================================================================ */

enum { MOST_CORES = 8192, CORE_WORD = 8 * sizeof(unsigned long) };

/* What the helper is asked, and what it answers. */
struct comparison {
    unsigned long cores[MOST_CORES / CORE_WORD]; /* that the process may run on */
    size_t count;                                /* of the readings */
    bool good;                                   /* all cores were read */
    struct rec_clock_reading readings[MOST_CORES + 1];
};

static bool move_to_core(uint32_t core)
{
    unsigned long alone[MOST_CORES / CORE_WORD] = {0};
    alone[core / CORE_WORD] = 1UL << core % CORE_WORD;
    return syscall(SYS_sched_setaffinity, 0, sizeof alone, alone) == 0;
}

static bool read_on_core(struct comparison *comparison, uint32_t core)
{
    if (!move_to_core(core))
        return false;
    comparison->readings[comparison->count++] =
        (struct rec_clock_reading){lull_clock_pair(true), core};
    return true;
}

/* Reads both clocks on one core after the other, and then on the first one again. */
static void visit_cores(struct comparison *comparison)
{
    bool good = true;
    for (uint32_t core = 0; good && core < MOST_CORES; core++)
        if (comparison->cores[core / CORE_WORD] >> core % CORE_WORD & 1)
            good = read_on_core(comparison, core);
    comparison->good =
        good && comparison->count > 0 && read_on_core(comparison, comparison->readings[0].core);
}

/* Waits for the end of a process. It is given a second: a core may belong to a thread that never lets
 * it go. Then it is killed, on any core that the caller may have. */
static void wait_for_helper(pid_t helper, const struct comparison *comparison)
{
    static const struct timespec pause = {.tv_nsec = 50000};
    const int64_t end = lull_clock_read(CLOCK_MONOTONIC) + 1000000000;
    int status;
    long ended = 0;
    while (ended == 0 && lull_clock_read(CLOCK_MONOTONIC) < end) {
        nanosleep(&pause, NULL);
        ended = syscall(SYS_wait4, helper, &status, WNOHANG, NULL);
    }
    if (ended != 0)
        return;
    kill(helper, SIGKILL);
    syscall(SYS_sched_setaffinity, helper, sizeof comparison->cores, comparison->cores);
    while (syscall(SYS_wait4, helper, &status, 0, NULL) < 0 && errno == EINTR) {
        /* a signal of the program's was handled */
    }
}

/* Lets a forked process visit the cores. The program's own threads stay where they are and keep their
 * set of cores, and a program with one thread still is one. The process is forked by the system's
 * call, because fork() runs what the program's libraries have asked for; the program does not get the
 * signal of its end. */
static bool visit_by_helper(struct comparison *comparison)
{
    static const struct timespec now;
    sigset_t of_child, before, pending;
    sigemptyset(&of_child);
    sigaddset(&of_child, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &of_child, &before);
    sigpending(&pending);
    const pid_t helper = (pid_t)syscall(SYS_clone, (unsigned long)SIGCHLD, 0, 0, 0, 0);
    if (helper == 0) {
        visit_cores(comparison);
        syscall(SYS_exit_group, 0);
    }
    if (helper > 0)
        wait_for_helper(helper, comparison);
    if (helper > 0 && !sigismember(&pending, SIGCHLD))
        sigtimedwait(&of_child, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return helper > 0;
}

/* Compares the counter with CLOCK_MONOTONIC on each core that the process may run on. Where they
 * disagree, or cannot be compared, `why` is told that. */
static bool agrees_on_cores(char *why, size_t size)
{
    struct comparison *comparison = mmap(NULL, sizeof *comparison, PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t worst = 0;
    double apart = 0;
    if (comparison == MAP_FAILED) {
        snprintf(why, size, "there is no memory to compare it with the system's clock");
        return false;
    }
    const bool good =
        syscall(SYS_sched_getaffinity, 0, sizeof comparison->cores, comparison->cores) > 0 &&
        visit_by_helper(comparison) && comparison->good;
    const bool fits =
        good && rec_clock_fit(comparison->readings, comparison->count, &worst, &apart);
    if (!good)
        snprintf(why, size, "it could not be compared with the system's clock on all cores");
    else if (!fits)
        snprintf(why, size, "on core %u it is %.0f ns apart from the system's clock",
                 comparison->readings[worst].core, apart);
    munmap(comparison, sizeof *comparison);
    return fits;
}

/* ==== the process's clock ===================================================================== */

static struct {
    bool counter; /* is read */
    char text[384], drift[160];
    struct rec_clock_track track;
    uint64_t checks; /* so far */
    int64_t begin;   /* ns of CLOCK_MONOTONIC_RAW at the first check */
    int64_t jump;    /* for tests: by how many ns that clock is ahead from the third check on */
} own_clock;

static enum rec_clock_wish own_wish(void)
{
    const char *wish = getenv("LULL_CLOCK");
    if (wish && strcmp(wish, "tsc") == 0)
        return REC_CLOCK_TSC;
    return wish && strcmp(wish, "system") == 0 ? REC_CLOCK_SYSTEM : REC_CLOCK_ANY;
}

bool rec_clock_choose(void)
{
    const struct rec_clock_counter *counter = own_counter();
    const char *folder = getenv("LULL_RECORD_CLOCK_FILES");
    struct rec_clock_facts facts = {.current = ""};
    const enum rec_clock_wish wish = own_wish();
    char why[320], jump[32] = "";
    if (counter && wish == REC_CLOCK_ANY)
        rec_clock_look(counter, folder, &facts);
    const enum rec_clock_verdict verdict = rec_clock_judge(counter, &facts, wish, why, sizeof why);
    own_clock.counter = verdict == REC_CLOCK_READ_COUNTER ||
                        (verdict == REC_CLOCK_COMPARE && agrees_on_cores(why, sizeof why));
    if (counter && own_clock.counter)
        snprintf(own_clock.text, sizeof own_clock.text, "%s: %s", counter->name, why);
    else
        snprintf(own_clock.text, sizeof own_clock.text, "CLOCK_MONOTONIC%s%s: %s",
                 counter ? ", not the " : "", counter ? counter->name : "", why);
    if (folder)
        read_beginning(folder, "/jump", jump, sizeof jump);
    own_clock.jump = strtoll(jump, NULL, 10);
    return own_clock.counter;
}

const char *rec_clock_text(void)
{
    return own_clock.text;
}

double rec_clock_check(void)
{
    if (!own_clock.counter)
        return 0;
    struct lull_clock_point point = lull_clock_pair_with(CLOCK_MONOTONIC_RAW);
    const int64_t last = own_clock.track.last.ns;
    if (own_clock.checks == 0)
        own_clock.begin = point.ns;
    if (own_clock.checks++ > 1)
        point.ns += own_clock.jump;
    const double apart = rec_clock_follow(&own_clock.track, &point);
    if (apart != 0 && !*own_clock.drift)
        snprintf(own_clock.drift, sizeof own_clock.drift,
                 "the counter %s %.3g us against CLOCK_MONOTONIC_RAW between %.4g s and %.4g s",
                 apart > 0 ? "gained" : "lost", fabs(apart) * 1e-3,
                 (double)(last - own_clock.begin) * 1e-9,
                 (double)(point.ns - own_clock.begin) * 1e-9);
    return fabs(apart);
}

const char *rec_clock_drift_text(void)
{
    return *own_clock.drift ? own_clock.drift : NULL;
}
