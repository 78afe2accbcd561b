/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/thread/cores.h"

#include "base/fnv.h"
#include "record/memory.h"
#include "record/proc_file.h"
#include "record/sample/sample.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The least time between two looks at what the system tells, in ns. A look takes a few us. */
#define PERIOD_NS 50e6

static uint64_t look_period(void)
{
    return (uint64_t)(PERIOD_NS / rec_process.ns_per_tick);
}

/* What the system tells of a thread since it began. */
struct core_look {
    struct lull_tape_cores cores;
    struct lull_tape_usage usage;
    bool knows_moves; /* `cores.migrated` is known */
    bool knows_usage; /* `usage` is known */
};

static uint64_t ns_of_timeval(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

/* What getrusage(2) tells, which the calling thread alone can ask. */
static bool look_at_usage(struct core_look *look)
{
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return false;
    look->usage = (struct lull_tape_usage){.user = ns_of_timeval(usage.ru_utime),
                                           .system = ns_of_timeval(usage.ru_stime),
                                           .minor = (uint64_t)usage.ru_minflt,
                                           .major = (uint64_t)usage.ru_majflt,
                                           .voluntary = (uint64_t)usage.ru_nvcsw};
    look->knows_usage = true;
    look->cores.preempted = (uint64_t)usage.ru_nivcsw;
    return true;
}

/* The same of another thread, from files, with times in units of 10 ms. The thread's name, in
 * brackets, may hold blanks. */
static void read_usage(uint32_t thread, char *text, size_t size, struct core_look *look)
{
    struct rec_proc_number switches[] = {{.word = "nonvoluntary_ctxt_switches"},
                                         {.word = "voluntary_ctxt_switches"}};
    if (rec_read_proc_numbers(thread, "status", switches, 2)) {
        look->cores.preempted = switches[0].value;
        look->usage.voluntary = switches[1].value;
    }
    rec_read_proc(thread, "stat", text, size);
    const char *fields = strrchr(text, ')');
    unsigned long minor, major, user, system;
    const long rate = sysconf(_SC_CLK_TCK);
    if (!fields || rate <= 0 ||
        sscanf(fields + 1, " %*c %*d %*d %*d %*d %*d %*u %lu %*u %lu %*u %lu %lu", &minor, &major,
               &user, &system) != 4)
        return;
    look->knows_usage = true;
    look->usage.minor = minor;
    look->usage.major = major;
    look->usage.user = user * (1000000000 / (uint64_t)rate);
    look->usage.system = system * (1000000000 / (uint64_t)rate);
}

/* Of a calling thread that has never given up its core no file is read: that takes longer than all
 * else that is done for a short life. How long the thread waited for its first core is not known
 * then; that wait lies before all that is recorded of the thread. `moves`: also how often the
 * thread went on with another core, which takes the longest to read. */
static struct core_look look_at_thread_cores(uint32_t thread, bool moves)
{
    char text[512], *rest;
    struct rec_proc_number moved = {.word = "se.nr_migrations"};
    struct core_look look = {.knows_moves = moves};
    if (thread != REC_OWN_THREAD) {
        read_usage(thread, text, sizeof text, &look);
    } else if (look_at_usage(&look) && look.usage.voluntary == 0 && look.cores.preempted == 0) {
        look.cores.on = (uint64_t)lull_clock_read(CLOCK_THREAD_CPUTIME_ID);
        return look;
    }
    if (rec_read_proc(thread, "schedstat", text, sizeof text)) {
        look.cores.on = strtoull(text, &rest, 10);
        look.cores.off = strtoull(rest, NULL, 10);
    }
    if (moves && rec_read_proc_numbers(thread, "sched", &moved, 1))
        look.cores.migrated = moved.value;
    return look;
}

static_assert(sizeof(cpu_set_t) == sizeof(uint64_t[LULL_TAPE_CORE_WORDS]), "sets of cores");

/* Notes the cores that the thread may use. They are nearly always those of the thread that was
 * looked at before, so its count and hash are kept. */
static void look_at_allowed(struct lull_tape_header *header)
{
    struct lull_tape_cores *total = &header->cores;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static cpu_set_t last;
    static uint64_t which;
    static uint32_t allowed, there;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return;
    rec_lock(&lock);
    if (there == 0)
        there = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    if (allowed == 0 || memcmp(&set, &last, sizeof set) != 0) {
        last = set;
        allowed = (uint32_t)CPU_COUNT(&set);
        which = lull_fnv(LULL_FNV_BEGIN, &set, sizeof set);
    }
    total->allowed = allowed;
    total->there = there;
    total->which = which;
    memcpy(header->core_set, &last, sizeof header->core_set);
    rec_unlock(&lock);
}

/* The sums go on from what earlier threads of this location had. */
void rec_cores_begin(struct rec_thread *self)
{
    const struct lull_tape_cores *cores = &self->header->cores;
    const struct lull_tape_usage *usage = &self->header->usage;
    struct core_look before = {0};
    self->thread_id = (uint32_t)gettid();
    if (self->made_as == 0) /* a thread that the program makes begins here: all numbers are 0 */
        before = look_at_thread_cores(REC_OWN_THREAD, true);
    self->cores_before = before.cores;
    self->cores_before.on -= cores->on;
    self->cores_before.off -= cores->off;
    self->cores_before.preempted -= cores->preempted;
    self->cores_before.migrated -= cores->migrated;
    self->usage_before = before.usage;
    self->usage_before.user -= usage->user;
    self->usage_before.system -= usage->system;
    self->usage_before.minor -= usage->minor;
    self->usage_before.major -= usage->major;
    self->usage_before.voluntary -= usage->voluntary;
    self->in_calls_before = self->in_calls;
    self->look_at = rec_now() + look_period();
    look_at_allowed(self->header);
}

static void keep_cores(struct rec_thread *self, const struct core_look *look)
{
    const struct lull_tape_cores *now = &look->cores, *before = &self->cores_before;
    struct lull_tape_cores *total = &self->header->cores;
    if (now->on == 0)
        return;
    total->on = now->on - before->on;
    total->off = now->off - before->off;
    total->preempted = now->preempted - before->preempted;
    if (look->knows_moves)
        total->migrated = now->migrated - before->migrated;
}

/* Counts are exact. Times that were read from a file are rounded down: they may be less than what
 * is known already, and are left out then. Of the kernel's time since the last look, no more than
 * the time in calls was spent in calls; the rest was spent outside of them. */
static void keep_usage(struct rec_thread *self, const struct lull_tape_usage *now)
{
    const struct lull_tape_usage *before = &self->usage_before;
    struct lull_tape_usage *total = &self->header->usage;
    total->minor = now->minor - before->minor;
    total->major = now->major - before->major;
    total->voluntary = now->voluntary - before->voluntary;
    const int64_t user = (int64_t)(now->user - before->user);
    const int64_t system = (int64_t)(now->system - before->system);
    if (user < (int64_t)total->user || system < (int64_t)total->system)
        return;
    const double in_calls =
        (double)(self->in_calls - self->in_calls_before) * rec_process.ns_per_tick;
    const double outside = (double)(system - (int64_t)total->system) - in_calls;
    self->in_calls_before = self->in_calls;
    total->user = (uint64_t)user;
    total->system = (uint64_t)system;
    total->outside += outside > 0 ? (uint64_t)outside : 0;
}

static void look_now(struct rec_thread *self, uint32_t thread, bool moves)
{
    const struct core_look look = look_at_thread_cores(thread, moves);
    keep_cores(self, &look);
    if (look.knows_usage)
        keep_usage(self, &look.usage);
}

void rec_cores_end(struct rec_thread *self)
{
    look_now(self, REC_OWN_THREAD, true);
}

void rec_cores_end_of(struct rec_thread *other)
{
    look_now(other, other->thread_id, true);
}

void rec_cores_read(struct rec_thread *self)
{
    if (!rec_process.on) /* the program may have restricted its system calls (seccomp.c) */
        return;
    const struct rec_aside aside = rec_step_aside();
    self->look_at = rec_now() + look_period();
    look_now(self, REC_OWN_THREAD, false);
    rec_memory_read();
    rec_sample_keep(self);
    rec_step_back(&aside);
}

/* This makes two system calls, which take 0.3 and 0.5 us (medians of 2000 on a virtual machine).
 * getrusage alone would not do: its processor time is only as new as the last tick of the kernel's
 * clock. */
struct rec_core_use rec_core_use_now(void)
{
    struct timespec on;
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0 || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &on) != 0)
        return (struct rec_core_use){.on = -1};
    return (struct rec_core_use){(int64_t)on.tv_sec * 1000000000 + on.tv_nsec, usage.ru_nvcsw};
}

uint64_t rec_core_ticks_since(const struct rec_core_use *before, uint64_t ticks)
{
    const struct rec_core_use now = rec_core_use_now();
    if (before->on < 0 || now.on < before->on || now.waits != before->waits)
        return ticks;
    const uint64_t on = (uint64_t)((double)(now.on - before->on) / rec_process.ns_per_tick);
    return on < ticks ? on : ticks;
}
