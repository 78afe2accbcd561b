#include "record/thread/cores.h"

#include "base/fnv.h"
#include "record/node.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PERIOD_NS INT64_C(50000000)

enum { OWN_THREAD = 0 };

/* A file of a thread in /proc; false: the system does not have it. */
static bool read_text(uint32_t thread, const char *name, char *text, size_t size)
{
    char path[64] = "/proc/thread-self/";
    if (thread == OWN_THREAD)
        strcat(path, name);
    else
        snprintf(path, sizeof path, "/proc/self/task/%u/%s", thread, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* The number behind a word, in lines like "nr_migrations  :  12". */
static uint64_t number_behind(const char *text, const char *word)
{
    const char *found = strstr(text, word);
    const char *colon = found ? strchr(found, ':') : NULL;
    return colon ? strtoull(colon + 1, NULL, 10) : 0;
}

/* Fills *cores without a file where the calling thread has never left its core since it came there:
 * reading a file takes longer than all else that is done for a short life. How long the thread
 * waited for its first core is not known then, and lies before all that is recorded of it. */
static bool look_at_once(struct lull_tape_cores *cores)
{
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0 || usage.ru_nvcsw > 0 || usage.ru_nivcsw > 0)
        return false;
    cores->on = (uint64_t)lull_clock_read(CLOCK_THREAD_CPUTIME_ID);
    return true;
}

/* The scheduler's numbers since the thread began, which is OWN_THREAD or has that number of the
 * system: ns with a core, and ns in which it could have run. */
static struct lull_tape_cores look_at_cores(uint32_t thread)
{
    char text[4096], *rest;
    struct lull_tape_cores cores = {0};
    if (thread == OWN_THREAD && look_at_once(&cores))
        return cores;
    if (read_text(thread, "schedstat", text, sizeof text)) {
        cores.on = strtoull(text, &rest, 10);
        cores.off = strtoull(rest, NULL, 10);
    }
    if (read_text(thread, "status", text, sizeof text))
        cores.preempted = number_behind(text, "nonvoluntary_ctxt_switches");
    if (read_text(thread, "sched", text, sizeof text))
        cores.migrated = number_behind(text, "nr_migrations");
    return cores;
}

static_assert(sizeof(cpu_set_t) == sizeof(uint64_t[LULL_TAPE_CORE_WORDS]), "sets of cores");

/* The cores that a thread may use are nearly always those of the thread before. */
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
    pthread_mutex_lock(&lock);
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
    pthread_mutex_unlock(&lock);
}

void rec_cores_begin(struct rec_thread *self)
{
    struct lull_tape_cores *total = &self->header->cores;
    self->thread_id = (uint32_t)gettid();
    self->cores_before = (struct lull_tape_cores){0};
    if (self->made_as == 0) /* else the numbers are 0: its life begins here */
        self->cores_before = look_at_cores(OWN_THREAD);
    /* What earlier threads of this location had stays in the sum. */
    self->cores_before.on -= total->on;
    self->cores_before.off -= total->off;
    self->cores_before.preempted -= total->preempted;
    self->cores_before.migrated -= total->migrated;
    self->cores_read = rec_node_clock();
    look_at_allowed(self->header);
}

static void add_up_cores(struct rec_thread *self, uint32_t thread)
{
    const struct lull_tape_cores now = look_at_cores(thread), *before = &self->cores_before;
    struct lull_tape_cores *total = &self->header->cores;
    if (now.on == 0)
        return;
    total->on = now.on - before->on;
    total->off = now.off - before->off;
    total->preempted = now.preempted - before->preempted;
    total->migrated = now.migrated - before->migrated;
}

void rec_cores_end(struct rec_thread *self)
{
    add_up_cores(self, OWN_THREAD);
}

void rec_cores_end_of(struct rec_thread *other)
{
    add_up_cores(other, other->thread_id);
}

void rec_cores_read(struct rec_thread *self)
{
    int64_t now = rec_node_clock();
    if (now - self->cores_read < PERIOD_NS)
        return;
    self->cores_read = now;
    rec_cores_end(self);
}

/* Two calls of the system, 0.2 us each: the processor time of getrusage is only as new as the last
 * tick of the kernel's clock. */
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
