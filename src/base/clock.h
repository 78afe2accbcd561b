/* The clock of the recorder, inline and without state of its own: raw ticks where the processor
 * has a counter that the kernel itself trusts, else nanoseconds of CLOCK_MONOTONIC.
 *
 * Reading the time stamp counter takes 9.5 ns on the machine where this was measured, clock_gettime
 * 22 ns. The counter is used only where it is constant, does not stop in sleep states, and is the
 * kernel's clock source at the moment: the kernel has then checked that it runs alike on all
 * processors, and a guest of a hypervisor that offers a clock of its own in its place (kvm-clock,
 * hyperv) keeps to that. */
#ifndef LULL_BASE_CLOCK_H
#define LULL_BASE_CLOCK_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

/* On 64-bit ARM the counter is that of the generic timer, which all processors of a machine have in
 * common and which neither stops nor changes its rate (Arm ARM, D11.1). */
#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__)
#define LULL_CLOCK_HAS_TSC 1
#else
#define LULL_CLOCK_HAS_TSC 0
#endif

static inline int64_t lull_clock_read(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The present in ticks; `tsc` is what lull_clock_tsc_is_safe() said. */
static inline uint64_t lull_clock_now(bool tsc)
{
#if defined(__aarch64__)
    uint64_t ticks;
    if (__builtin_expect(tsc, 1)) {
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#elif LULL_CLOCK_HAS_TSC
    if (__builtin_expect(tsc, 1))
        return __builtin_ia32_rdtsc();
#endif
    (void)tsc;
    return (uint64_t)lull_clock_read(CLOCK_MONOTONIC);
}

/* Whether the first `size` bytes of a file contain a word. Neither allocates nor uses stdio: this
 * runs before main in other people's programs. */
static inline bool lull_clock_file_has(const char *path, const char *word)
{
    char text[8192];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t size = 0;
    for (ssize_t got;
         size < sizeof text - 1 && (got = read(fd, text + size, sizeof text - 1 - size)) > 0;)
        size += (size_t)got;
    close(fd);
    text[size] = '\0';
    return strstr(text, word) != NULL;
}

static inline bool lull_clock_source_is(const char *line)
{
    return lull_clock_file_has("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                               line);
}

/* Whether the processor says that its counter is constant and does not stop (CPUID 80000007H, EDX
 * bit 8; Intel SDM volume 3, "Invariant TSC"). Linux takes constant_tsc and nonstop_tsc of
 * /proc/cpuinfo from there. Asking the processor took 7 us in a virtual machine, reading the file
 * twice 47 us. */
static inline bool lull_clock_tsc_is_invariant(void)
{
#if defined(__x86_64__) || defined(__i386__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
#else
    return false;
#endif
}

static inline bool lull_clock_tsc_is_safe(void)
{
#if defined(__aarch64__)
    return lull_clock_source_is("arch_sys_counter\n");
#else
    return lull_clock_tsc_is_invariant() && lull_clock_source_is("tsc\n");
#endif
}

/* Ticks and CLOCK_MONOTONIC of one moment, with a bound of the error of their pairing. */
struct lull_clock_point {
    uint64_t ticks;
    int64_t ns;
    uint64_t error_ticks;
};

static inline struct lull_clock_point lull_clock_pair(bool tsc)
{
    struct lull_clock_point best = {0, 0, UINT64_MAX};
    if (!tsc) {
        best.ns = lull_clock_read(CLOCK_MONOTONIC);
        best.ticks = (uint64_t)best.ns;
        best.error_ticks = 0;
        return best;
    }
    for (int i = 0; i < 16; i++) { /* of 16 pairings the one that took least is kept */
        uint64_t before = lull_clock_now(tsc);
        int64_t ns = lull_clock_read(CLOCK_MONOTONIC);
        uint64_t after = lull_clock_now(tsc);
        if ((after - before) / 2 < best.error_ticks)
            best =
                (struct lull_clock_point){before + (after - before) / 2, ns, (after - before) / 2};
    }
    return best;
}

#endif
