/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/patience.h"

#include "base/clock.h"
#include "record/proc_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST_OTHERS_SECONDS = 10 };

static int64_t time_of_others(void)
{
    return lull_clock_read(CLOCK_PROCESS_CPUTIME_ID) - lull_clock_read(CLOCK_THREAD_CPUTIME_ID);
}

struct rec_patience rec_patience_of(unsigned seconds)
{
    return (struct rec_patience){.left = seconds * (1000000000 / REC_PATIENCE_NS),
                                 .others = time_of_others()};
}

/* Whether a thread runs, waits for a core, or for a disk. */
static bool can_run(uint32_t thread)
{
    char text[64]; /* "12 (name) S ...", where a name has 15 bytes at most */
    if (!rec_read_proc(thread, "stat", text, sizeof text))
        return false;
    const char *state = strrchr(text, ')');
    return state && (strncmp(state, ") R", 3) == 0 || strncmp(state, ") D", 3) == 0);
}

/* One of an entry of a folder, as the system hands it over. */
struct folder_entry {
    uint64_t inode, next;
    uint16_t size;
    unsigned char type;
    char name[];
};

static bool can_one_run(const char *entries, long size)
{
    const struct folder_entry *entry;
    for (long at = 0; at < size; at += entry->size) {
        entry = (const struct folder_entry *)(const void *)(entries + at);
        const uint32_t thread = (uint32_t)strtoul(entry->name, NULL, 10);
        if (thread != 0 && thread != (uint32_t)gettid() && can_run(thread))
            return true;
    }
    return false;
}

/* By the system's call, because opendir takes memory of the program's heap. */
static bool can_others_run(void)
{
    _Alignas(8) char entries[1024];
    bool found = false;
    long size;
    const int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (folder >= 0 && !found &&
           (size = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0)
        found = can_one_run(entries, size);
    if (folder >= 0)
        close(folder);
    return found;
}

bool rec_patience_lasts(struct rec_patience *patience)
{
    const int64_t most = INT64_C(1000000000) * MOST_OTHERS_SECONDS;
    if (patience->left > 0 && (time_of_others() - patience->others > most || !can_others_run()))
        patience->left--;
    return patience->left > 0;
}

static struct timespec next_look(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += REC_PATIENCE_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return until;
}

bool rec_patience_lock(pthread_mutex_t *lock)
{
    struct rec_patience patience = rec_patience_of(1);
    do {
        const struct timespec until = next_look();
        if (pthread_mutex_timedlock(lock, &until) == 0)
            return true;
    } while (rec_patience_lasts(&patience));
    return false;
}
