/* check_run [--cut] [--clock] RUN < EXPECTED: whether a run holds what its program says. Lines of
 * EXPECTED:
 *
 *     expect VISITS REGION      visits of all regions of that name (what follows " @" is left out)
 *     atleast VISITS REGION     so many or more
 *     threads N                 locations
 *     processes N
 *     lasts NS REGION           the region's own time is at least that: the program has slept or
 *                               used a core for as long in it, so that no load can make it shorter
 *     paused LEAST N            thread N of process 0 was paused for so many seconds at least, as
 *                               the program slept for as long between its pausing and resuming
 *
 * What others can change who use the machine, is looked at with --clock alone:
 *
 *     unpaused MOST N           thread N was paused for so many seconds at most
 *     balance SHARE TOLERANCE   load balance of the parallel regions as lull metrics gives it
 *     waited NS REGION          the region's own time is at least that
 *
 *     open 1                       regions may be open when the recording ends
 *     torn 1                       a thread was busy then: its last call may lack in events or sums
 *
 * Other lines are the program's own output. Prints what differs; the status is 1 then, and when the
 * run has oddities, unless it is known to be cut off. A run that holds all events and sums must say
 * the same by both. */
#include "metrics/breakdown.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct lull_breakdown *run;
static bool may_be_open, may_be_torn, with_clock;

static bool is_named(const char *region, const char *name)
{
    size_t length = strlen(name);
    return strncmp(region, name, length) == 0 &&
           (region[length] == '\0' || strncmp(region + length, " @", 2) == 0);
}

static double visits_of(const char *name)
{
    uint64_t visits = 0;
    for (uint32_t i = 0; i < run->n_regions; i++)
        if (is_named(run->regions[i].name, name))
            visits += run->regions[i].visits;
    return (double)visits;
}

static int64_t own_ns_of(const char *name)
{
    int64_t ns = 0;
    for (uint32_t i = 0; i < run->n_regions; i++)
        if (is_named(run->regions[i].name, name))
            ns += run->regions[i].exclusive_ns;
    return ns;
}

/* Average over largest useful time of a thread, in parallel regions: from the same sums that the
 * metrics are made of. */
static double balance(void)
{
    int64_t useful = 0, longest = 0;
    for (uint32_t i = 0; i < run->n_parallels; i++) {
        useful += run->parallels[i].useful_ns;
        longest += run->parallels[i].max_useful_ns;
    }
    return (double)useful / (double)longest / run->n_threads;
}

static double paused(const char *number)
{
    for (uint32_t t = 0; t < run->n_threads; t++)
        if (run->threads[t].process == 0 && run->threads[t].number == (uint32_t)atoi(number))
            return (double)run->threads[t].disabled_ns * 1e-9;
    return -1;
}

static bool differs(const char *word, double number, const char *name)
{
    double is;
    bool good;
    if (!with_clock && (strcmp(word, "unpaused") == 0 || strcmp(word, "balance") == 0 ||
                        strcmp(word, "waited") == 0))
        return false;
    if (strcmp(word, "expect") == 0) {
        is = visits_of(name);
        good = is == number;
    } else if (strcmp(word, "atleast") == 0) {
        is = visits_of(name);
        good = is >= number;
    } else if (strcmp(word, "threads") == 0) {
        is = run->n_threads;
        good = is == number;
    } else if (strcmp(word, "processes") == 0) {
        is = run->n_processes;
        good = is == number;
    } else if (strcmp(word, "balance") == 0) {
        is = balance();
        good = fabs(is - number) <= atof(name);
    } else if (strcmp(word, "paused") == 0) {
        is = paused(name);
        good = is >= number;
    } else if (strcmp(word, "unpaused") == 0) {
        is = paused(name);
        good = is >= 0 && is <= number;
    } else if (strcmp(word, "lasts") == 0 || strcmp(word, "waited") == 0) {
        is = (double)own_ns_of(name);
        good = is >= number;
    } else if (strcmp(word, "open") == 0) {
        may_be_open = true;
        return false;
    } else if (strcmp(word, "torn") == 0) {
        may_be_torn = true;
        return false;
    } else {
        return false;
    }
    if (!good)
        printf("%s %g %s: is %g\n", word, number, name, is);
    return !good;
}

/* ---- events against sums --------------------------------------------------------------------- */

static uint64_t all_visits(const struct lull_breakdown *breakdown)
{
    uint64_t visits = 0;
    for (uint32_t i = 0; i < breakdown->n_regions; i++)
        visits += breakdown->regions[i].visits;
    return visits;
}

/* Events convert every time to ns, sums one length: each visit has two times that are rounded by
 * less than 1 ns. The clock's first points are a fifth of a millisecond apart, which bounds the
 * error of its rate there by 1e-3; what follows is a straight line to the last point. */
static bool same_time(const char *what, const struct lull_thread_breakdown *thread, int64_t events,
                      int64_t sums, double tolerance)
{
    if (fabs((double)(events - sums)) <= tolerance)
        return true;
    printf("thread %u of process %u: %s: %lld ns by events, %lld by sums\n", thread->number,
           thread->process, what, (long long)events, (long long)sums);
    return false;
}

static unsigned differing_thread(const struct lull_thread_breakdown *events,
                                 const struct lull_thread_breakdown *sums, double tolerance)
{
    unsigned wrong =
        !same_time("disabled", events, events->disabled_ns, sums->disabled_ns, tolerance);
    for (unsigned a = 0; a < LULL_ACTIVITIES; a++)
        for (unsigned inside = 0; inside < 2; inside++)
            wrong += !same_time(lull_activity_id(a), events, events->times.ns[a][inside],
                                sums->times.ns[a][inside], tolerance);
    return wrong;
}

/* What was counted in a call that took less than 1 ns is, by events, that of the time before it. */
static unsigned differing_counters(const struct lull_breakdown *breakdown,
                                   const struct lull_thread_breakdown *events,
                                   const struct lull_thread_breakdown *sums)
{
    unsigned wrong = 0;
    for (uint32_t c = 0; c < breakdown->n_counters; c++) {
        double all = 0;
        for (unsigned a = 0; a < LULL_ACTIVITIES; a++)
            all += (double)sums->counters[c * LULL_ACTIVITIES + a];
        for (unsigned a = 0; a < LULL_ACTIVITIES; a++) {
            double by_events = (double)events->counters[c * LULL_ACTIVITIES + a];
            double by_sums = (double)sums->counters[c * LULL_ACTIVITIES + a];
            if (fabs(by_events - by_sums) <= 1e-3 * all + 1000)
                continue;
            printf("thread %u of process %u: %s in %s: %.0f by events, %.0f by sums\n",
                   events->number, events->process, breakdown->counters[c].name,
                   lull_activity_id(a), by_events, by_sums);
            wrong++;
        }
    }
    return wrong;
}

static const struct lull_region_breakdown *find_region(const struct lull_breakdown *breakdown,
                                                       const struct lull_region_breakdown *like)
{
    for (uint32_t i = 0; i < breakdown->n_regions; i++)
        if (strcmp(breakdown->regions[i].name, like->name) == 0 &&
            strcmp(breakdown->regions[i].site, like->site) == 0)
            return &breakdown->regions[i];
    return NULL;
}

/* One CALL may stand for several tests of a request: there events have fewer visits. */
static unsigned differing_regions(const struct lull_breakdown *events,
                                  const struct lull_breakdown *sums)
{
    unsigned wrong = 0;
    for (uint32_t i = 0; i < events->n_regions; i++) {
        const struct lull_region_breakdown *region = &events->regions[i];
        const struct lull_region_breakdown *sum = find_region(sums, region);
        bool polls = strstr(region->name, "MPI_Test") || strstr(region->name, "probe");
        if (sum && (sum->visits == region->visits || (polls && sum->visits > region->visits)))
            continue;
        printf("%s: %llu visits by events, %llu by sums\n", region->name,
               (unsigned long long)region->visits, (unsigned long long)(sum ? sum->visits : 0));
        wrong++;
    }
    return wrong + (sums->n_regions != events->n_regions);
}

static unsigned compare_sums(const struct lull_trace *trace, const struct lull_breakdown *events,
                             struct lull_arena *arena)
{
    struct lull_error err;
    struct lull_breakdown *sums;
    const struct lull_breakdown_options options = {.regions = true, .source = LULL_FROM_SUMS};
    if (lull_breakdown_compute(trace, &options, arena, &sums, &err) != LULL_OK) {
        printf("%s\n", err.text);
        return 1;
    }
    if (may_be_torn)
        return 0;
    unsigned wrong = differing_regions(events, sums);
    double tolerance = 2.0 * (double)all_visits(events) + 1000;
    for (uint32_t t = 0; t < events->n_threads; t++) {
        wrong += differing_thread(&events->threads[t], &sums->threads[t], tolerance);
        wrong += differing_counters(events, &events->threads[t], &sums->threads[t]);
    }
    return wrong;
}

int main(int argc, char **argv)
{
    struct lull_error err;
    struct lull_trace *trace;
    struct lull_breakdown *breakdown;
    bool cut = argc > 2 && strcmp(argv[1], "--cut") == 0;
    with_clock = argc > 2 && strcmp(argv[1 + cut], "--clock") == 0;
    if (argc != 2 + cut + with_clock)
        return 2;
    const char *path = argv[argc - 1];
    struct lull_arena *arena = lull_arena_create(NULL);
    const struct lull_breakdown_options options = {.regions = true};
    if (lull_trace_open(path, &trace, &err) != LULL_OK ||
        lull_breakdown_compute(trace, &options, arena, &breakdown, &err) != LULL_OK) {
        printf("%s\n", err.text);
        return 1;
    }
    run = breakdown;
    unsigned checked = 0, wrong = 0;
    char line[512], word[32], name[256];
    while (fgets(line, sizeof line, stdin)) {
        double number;
        *name = '\0';
        if (sscanf(line, "%31s %lf %255[^\n]", word, &number, name) < 2)
            continue;
        checked++;
        wrong += differs(word, number, name);
    }
    if (trace->has_sums && trace->events == LULL_EVENTS_ALL && !cut)
        wrong += compare_sums(trace, breakdown, arena);
    struct lull_quirk *quirks;
    uint32_t n_quirks = lull_trace_quirks(trace, arena, &quirks);
    unsigned odd = 0;
    for (uint32_t i = 0; i < n_quirks; i++) {
        printf("oddity: %s (%s)\n", quirks[i].kind, quirks[i].first);
        odd += !may_be_open || !strstr(quirks[i].kind, "were open when the recording ended");
    }
    printf("%u checked, %u differ, %u oddities\n", checked, wrong, odd);
    lull_trace_close(trace);
    lull_arena_destroy(arena);
    return checked == 0 || wrong > 0 || (odd > 0 && !cut);
}
