/* check_run RUN < EXPECTED: whether a run holds what its program says. Lines of EXPECTED:
 *
 *     expect VISITS REGION        visits of all regions of that name (what follows " @" is left
 * out) threads N                   locations processes N above SHARE REGION          the region's
 * own time is more than that share of all threads' time below SHARE REGION
 *
 * Other lines are the program's own output. Prints what differs; the status is 1 then. */
#include "metrics/breakdown.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct lull_breakdown *run;

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

static double share_of(const char *name)
{
    int64_t ns = 0, all = 0;
    for (uint32_t i = 0; i < run->n_regions; i++)
        if (is_named(run->regions[i].name, name))
            ns += run->regions[i].exclusive_ns;
    for (uint32_t t = 0; t < run->n_threads; t++)
        all += run->duration_ns;
    return (double)ns / (double)all;
}

static bool differs(const char *word, double number, const char *name)
{
    double is;
    bool good;
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
    } else if (strcmp(word, "above") == 0) {
        is = share_of(name);
        good = is > number;
    } else if (strcmp(word, "below") == 0) {
        is = share_of(name);
        good = is < number;
    } else {
        return false;
    }
    if (!good)
        printf("%s %g %s: is %g\n", word, number, name, is);
    return !good;
}

int main(int argc, char **argv)
{
    struct lull_error err;
    struct lull_trace *trace;
    struct lull_breakdown *breakdown;
    if (argc != 2)
        return 2;
    struct lull_arena *arena = lull_arena_create(NULL);
    const struct lull_breakdown_options options = {.regions = true};
    if (lull_trace_open(argv[1], &trace, &err) != LULL_OK ||
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
    struct lull_quirk *quirks;
    uint32_t n_quirks = lull_trace_quirks(trace, arena, &quirks);
    for (uint32_t i = 0; i < n_quirks; i++)
        printf("oddity: %s (%s)\n", quirks[i].kind, quirks[i].first);
    printf("%u checked, %u differ, %u oddities\n", checked, wrong, n_quirks);
    lull_trace_close(trace);
    lull_arena_destroy(arena);
    return checked == 0 || wrong > 0 || n_quirks > 0;
}
