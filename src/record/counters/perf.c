/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of the kernel's perf_event. Hardware counters count what the program itself does, not
 * what the kernel does for it. The counters of a thread form a group, so that they count at the
 * same time. */
#include "record/counters/counters.h"
#include "record/counters/perf_page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    uint32_t type;
    uint64_t code;
} known[] = {
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    {"bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
};

static int open_counter(const struct rec_counter *counter, int leader)
{
    struct perf_event_attr attributes = {
        .type = (uint32_t)counter->type,
        .size = sizeof attributes,
        .config = counter->code,
        .exclude_kernel = counter->type != PERF_TYPE_SOFTWARE,
        .exclude_hv = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

static const char *why_not(int reason)
{
    static char text[128];
    switch (reason) {
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
        return "this machine does not have it (virtual machines often do not)";
    case ENOSYS:
        return "the kernel has no perf_event";
    case EACCES:
    case EPERM:
        return "not allowed: see /proc/sys/kernel/perf_event_paranoid, and what the container "
               "permits";
    default:
        snprintf(text, sizeof text, "perf_event: %s", strerror(reason));
        return text;
    }
}

/* A name of the table, or rHHHH: the processor's own code in hexadecimal. */
static bool look_up_event(const char *name, struct rec_counter *ret_counter)
{
    char *end;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) == 0) {
            ret_counter->type = known[i].type;
            ret_counter->code = known[i].code;
            return true;
        }
    }
    if (name[0] != 'r' || !strchr("0123456789abcdefABCDEF", name[1]) || name[1] == '\0')
        return false;
    ret_counter->type = PERF_TYPE_RAW;
    ret_counter->code = strtoull(name + 1, &end, 16);
    return *end == '\0';
}

static const char *find_perf(const char *name, struct rec_counter *ret_counter)
{
    if (!look_up_event(name, ret_counter))
        return "no such name";
    int fd = open_counter(ret_counter, -1);
    if (fd < 0)
        return why_not(errno);
    close(fd);
    return NULL;
}

static void end_perf(struct rec_counting *counting, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (counting->pages[i])
            munmap(counting->pages[i], (size_t)sysconf(_SC_PAGESIZE));
        if (counting->handles[i] >= 0)
            close(counting->handles[i]);
        counting->pages[i] = NULL;
        counting->handles[i] = -1;
    }
}

static bool begin_perf(struct rec_counting *counting, const struct rec_counter *counters,
                       unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        counting->handles[i] = open_counter(&counters[i], i == 0 ? -1 : counting->handles[0]);
        if (counting->handles[i] < 0) /* no room in the group */
            counting->handles[i] = open_counter(&counters[i], -1);
        counting->pages[i] = NULL;
        if (counting->handles[i] < 0) {
            end_perf(counting, i);
            return false;
        }
        void *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED,
                          counting->handles[i], 0);
        counting->pages[i] = page == MAP_FAILED ? NULL : page;
    }
    return true;
}

static uint64_t read_register(uint32_t index)
{
#if defined __x86_64__
    return __builtin_ia32_rdpmc((int)index);
#else
    (void)index;
    return 0;
#endif
}

static uint64_t read_clock(void)
{
#if defined __x86_64__
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

/* Reads a counter without a system call, on processors that have an instruction for it. */
static bool read_here(const void *page, struct rec_perf_reading *ret_reading)
{
#if defined __x86_64__
    return page && rec_perf_read_page(page, read_register, read_clock, ret_reading);
#else
    (void)page, (void)ret_reading, (void)read_register, (void)read_clock;
    return false;
#endif
}

static void read_perf(struct rec_counting *counting, const struct rec_counter *counters, unsigned n,
                      uint64_t now, uint64_t *values)
{
    (void)counters, (void)now;
    for (unsigned i = 0; i < n; i++) {
        struct rec_perf_reading reading;
        if (!read_here(counting->pages[i], &reading) &&
            read(counting->handles[i], &reading, sizeof reading) != (ssize_t)sizeof reading)
            values[i] = counting->last[i];
        else
            values[i] = rec_perf_scaled(&reading);
    }
}

const struct rec_counter_backend rec_counters_perf = {
    .name = "perf", .find = find_perf, .begin = begin_perf, .read = read_perf, .end = end_perf};
