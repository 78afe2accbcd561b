/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/report.h"

#include "record/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { READS = 256 };

/* Where the program's errors (stderr) went at the start: the program may since have closed that
 * descriptor, and opened a file of its own in its place. */
static struct stat errors;
static bool has_errors;
static uint64_t reported_visits, bytes, stored, flushing; /* `stored` counts the bytes of full
                                                             chunks, `flushing` the ticks of writing
                                                             them */
static uint32_t n_threads_reported;
static uint64_t began;   /* when this process began to be recorded */
static uint64_t charged; /* atomic; ns that others have taken for the recorder's sake */

void rec_report_begin(void)
{
    began = rec_now();
    const char *quiet = getenv("LULL_RECORD_QUIET");
    has_errors = !(quiet && strcmp(quiet, "1") == 0) && fstat(2, &errors) == 0;
}

void rec_report_add(const struct rec_thread *self)
{
    n_threads_reported++;
    if (!self)
        return;
    for (size_t i = 0; self->sums && i < 2 * (size_t)self->n_sums; i++)
        reported_visits +=
            ((const struct lull_tape_sum *)(const void *)(self->sums + i * self->sum_size))->visits;
    bytes += self->flushed + (uint64_t)(self->at - self->tail) * sizeof *self->at;
    stored += self->flushed;
    flushing += self->flushing;
}

void rec_report_charge(double ns)
{
    __atomic_add_fetch(&charged, (uint64_t)ns, __ATOMIC_RELAXED);
}

/* What recording cost. For each visit two readings of the clock are taken, whose time is measured
 * here; the processor does nearly all other work of a visit while it reads. The time for writing
 * full chunks was measured while it passed. Runtimes say themselves what they have taken. */
static double cost_us(void)
{
    uint64_t begin = rec_now(), end = begin;
    for (int i = 0; i < READS; i++)
        end = rec_now();
    double reading = (double)(end - begin) / READS;
    return ((double)reported_visits * 2 * reading + (double)flushing) * rec_process.ns_per_tick *
               1e-3 +
           (double)__atomic_load_n(&charged, __ATOMIC_RELAXED) * 1e-3;
}

static const char *format_time(double us, char *text, size_t size)
{
    if (us < 999.5)
        snprintf(text, size, "%.0f us", us < 1 ? 1 : us);
    else if (us < 999.5e3)
        snprintf(text, size, "%.3g ms", us * 1e-3);
    else
        snprintf(text, size, us < 999.5e6 ? "%.3g s" : "%.0f s", us * 1e-6);
    return text;
}

static bool may_speak(void)
{
    struct stat now;
    return has_errors && rec_process.rank == 0 && rec_process.number == 0 && fstat(2, &now) == 0 &&
           now.st_dev == errors.st_dev && now.st_ino == errors.st_ino;
}

void rec_report_say(const char *format, ...)
{
    char text[512];
    va_list arguments;
    if (!may_speak())
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    dprintf(2, "lull record: %s\n", text);
}

void rec_report_refused(const char *run)
{
    rec_report_say("%s: cannot be written: %s; the program runs without recording", run,
                   strerror(errno));
}

/* Which events are missing; "": none that is known. */
static const char *what_is_missing(char *text, size_t size)
{
    const int reason = __atomic_load_n(&rec_process.full, __ATOMIC_RELAXED);
    *text = '\0';
    if (reason != 0)
        snprintf(text, size, ", and no later ones: the file cannot be written any more (%s)",
                 strerror(reason));
    else if (rec_process.keeps_last && stored > rec_process.budget)
        snprintf(text, size, ", of which the newest are kept");
    return text;
}

void rec_report(void)
{
    if (!may_speak())
        return;
    const char *drift = rec_clock_drift_text();
    if (drift)
        rec_report_say(
            "%s: times in the run may be wrong by as much; LULL_CLOCK=system records with "
            "the system's clock",
            drift);
    char missing[128];
    char length_text[32], cost[32];
    const uint32_t ranks = rec_process.ranks ? rec_process.ranks : 1;
    const double us = (double)(rec_now() - began) * rec_process.ns_per_tick * 1e-3;
    const char *end = strrchr(rec_process.folder, '/');
    int length = end ? (int)(end - rec_process.folder) : 0;
    const char *quote = strchr(rec_process.folder, ' ') ? "'" : "";
    dprintf(
        2,
        "lull record: %u rank%s x %u thread%s, %s: rank 0 has %llu events, %.1f MiB%s; recording "
        "them took about %s. Next: lull report %s%.*s%s\n",
        ranks, ranks == 1 ? "" : "s", n_threads_reported, n_threads_reported == 1 ? "" : "s",
        format_time(us, length_text, sizeof length_text), (unsigned long long)reported_visits,
        (double)bytes / 1048576, what_is_missing(missing, sizeof missing),
        format_time(cost_us(), cost, sizeof cost), quote, length, rec_process.folder, quote);
}
