#include "record/inject/inject.h"

#include "record/core.h"
#include "record/inject/computation.h"
#include "record/inject/moments.h"
#include "record/report.h"
#include "tape/inject.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct rec_injected_network rec_injected_network;

static struct {
    const struct lull_tape_inject *settings; /* NULL: nothing is injected */
    const char *function, *text;
    uint64_t known, unknown; /* atomic: messages */
} injection;

/* ---- settings ---------------------------------------------------------------------------------
 */

static bool fits(const struct lull_tape_inject *settings, size_t size)
{
    if (size < sizeof *settings || memcmp(settings->magic, LULL_TAPE_INJECT_MAGIC, 8) != 0 ||
        settings->version != LULL_TAPE_VERSION || settings->byte_order != LULL_TAPE_BYTE_ORDER ||
        settings->size != size || settings->name_size == 0 || settings->text_size == 0)
        return false;
    return sizeof *settings + (uint64_t)settings->n_delays * sizeof(struct lull_tape_delay) +
               (uint64_t)settings->n_draws * sizeof(int64_t) +
               (uint64_t)settings->n_detours * sizeof(struct lull_tape_detour) +
               settings->name_size + settings->text_size ==
           size;
}

static const struct lull_tape_inject *map_settings(const char *path)
{
    struct stat info;
    void *mapping = MAP_FAILED;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_size > 0)
        mapping = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    if (mapping == MAP_FAILED)
        return NULL;
    if (fits(mapping, (size_t)info.st_size))
        return mapping;
    munmap(mapping, (size_t)info.st_size);
    return NULL;
}

static void take_settings(const struct lull_tape_inject *settings)
{
    const struct lull_tape_delay *delays = (const void *)(settings + 1);
    const int64_t *draws = (const void *)(delays + settings->n_delays);
    const struct lull_tape_detour *detours = (const void *)(draws + settings->n_draws);
    const char *texts = (const char *)(detours + settings->n_detours);
    injection.settings = settings;
    injection.function = texts;
    injection.text = texts + settings->name_size;
    rec_computation_start(settings, delays, draws, detours);
    rec_injected_network.latency = settings->latency;
    rec_injected_network.ns_per_byte = settings->ns_per_byte;
}

void rec_inject_start(const char *path)
{
    if (!path || !*path)
        return;
    const struct lull_tape_inject *settings = map_settings(path);
    if (!settings) {
        rec_report_say("%s: cannot be read; nothing is injected", path);
        return;
    }
    take_settings(settings);
    rec_define_disturbance(settings->seed, injection.text);
    rec_process.disturbs = true;
}

const char *rec_inject_iterations(void)
{
    return injection.function && *injection.function ? injection.function : NULL;
}

/* ---- begin and end ----------------------------------------------------------------------------
 */

void rec_inject_begin(uint32_t rank)
{
    const struct lull_tape_inject *settings = injection.settings;
    if (!settings)
        return;
    rec_computation_begin(rank);
    if (settings->latency >= 0)
        rec_injected_network.on = rec_moments_begin(rec_process.first + rank);
    if (settings->latency >= 0 && !rec_injected_network.on)
        rec_report_say("no messages are held back: the folder of the run cannot be written");
}

void rec_inject_count(bool known)
{
    __atomic_fetch_add(known ? &injection.known : &injection.unknown, 1, __ATOMIC_RELAXED);
}

void rec_inject_end(void)
{
    if (!injection.settings)
        return;
    rec_define_held(__atomic_load_n(&injection.known, __ATOMIC_RELAXED),
                    __atomic_load_n(&injection.unknown, __ATOMIC_RELAXED));
    rec_moments_end();
}
