/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/node.h"

#include "base/fnv.h"
#include "record/core.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What LULL_RECORD_SKEW pretends: at `from` (ns of CLOCK_MONOTONIC) the clock was `ns` ahead, and
 * it gains `rate` ns in each ns. */
static struct {
    bool on;
    uint32_t rank;
    int64_t ns, from;
    double rate;
} skew;
static uint64_t key;

static void start_skew(void)
{
    const char *text = getenv("LULL_RECORD_SKEW");
    long long ns;
    double ppm;
    if (!text || sscanf(text, "%lld:%lf", &ns, &ppm) != 2)
        return;
    skew.on = true;
    skew.rank = rec_process.rank;
    skew.from = lull_clock_read(CLOCK_MONOTONIC);
    skew.ns = ns * skew.rank;
    skew.rate = ppm * 1e-6 * skew.rank;
}

/* A hash of what tells one CLOCK_MONOTONIC from another: the boot of the kernel, and the time
 * namespace, each of which has a clock of its own. */
static uint64_t find_key(void)
{
    char text[64] = "";
    struct stat space = {0};
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        ssize_t length = read(file, text, sizeof text - 1);
        text[length > 0 ? length : 0] = '\0';
        close(file);
    }
    if (stat("/proc/self/ns/time", &space) != 0)
        space.st_ino = 0;
    uint64_t hash = lull_fnv(LULL_FNV_BEGIN ^ space.st_ino, text, strlen(text));
    hash += skew.on ? 1 + skew.rank : 0;
    return hash != 0 ? hash : 1;
}

void rec_node_start(void)
{
    start_skew();
    key = find_key();
}

uint64_t rec_node_key(void)
{
    return key;
}

int64_t rec_node_clock_of(int64_t monotonic)
{
    if (REC_LIKELY(!skew.on))
        return monotonic;
    return monotonic + skew.ns + (int64_t)((double)(monotonic - skew.from) * skew.rate);
}

int64_t rec_node_clock(void)
{
    return rec_node_clock_of(lull_clock_read(CLOCK_MONOTONIC));
}
