/* fixes RUN [WORKERS]: reads a run and replays twelve fixes of it side by side, and all of them
 * that fit together as the last. Prints the seconds of each part. */
#include "study/replay/fixes.h"
#include "sim/spec.h"
#include "study/runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FIXES = 13 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Some ranks cut, all of them, balance, noise, a factor for all and the ideal network. */
static void suppose(struct lull_what_if_options *what_ifs, struct lull_fix *fixes,
                    const struct lull_network *ideal, uint32_t ranks)
{
    for (uint32_t i = 0; i < FIXES; i++) {
        what_ifs[i].n_cuts = i < 8 || i == FIXES - 1;
        what_ifs[i].cuts[0].rank = i < 8 ? i % ranks : LULL_NONE;
        fixes[i].what_if = &what_ifs[i];
    }
    what_ifs[8].n_cuts = 1;
    what_ifs[8].cuts[0].rank = LULL_NONE;
    what_ifs[9].balance = what_ifs[12].balance = true;
    what_ifs[10].no_noise = what_ifs[12].no_noise = true;
    fixes[11].network = ideal;
}

static lull_status measure(const char *path, unsigned workers, struct lull_arena *arena,
                           struct lull_error *err)
{
    static struct lull_what_if_options what_ifs[FIXES];
    struct lull_fix fixes[FIXES] = {0};
    struct lull_notices notices = {.arena = arena};
    struct lull_runs runs;
    const struct lull_runs_options wanted = {.workers = workers};
    struct lull_network ideal;
    int64_t runtimes[FIXES], replayed;
    const double begin = now();
    lull_status status = lull_runs_load(&path, 1, &wanted, &notices, arena, &runs, err);
    const double loaded = now();
    struct lull_spec *spec;
    if (status == LULL_OK)
        status = lull_spec_parse("ideal", arena, &spec, err);
    if (status == LULL_OK)
        status = lull_replay_read_network(spec, runs.runs[0].trace, 0, arena, &ideal, err);
    if (status == LULL_OK) {
        suppose(what_ifs, fixes, &ideal, runs.runs[0].processes);
        status = lull_fixes_replay(&runs.runs[0], fixes, FIXES, runtimes, &replayed, err);
    }
    lull_runs_close(&runs);
    if (status != LULL_OK)
        return status;
    printf("metrics %.3f s, fixes %.3f s, together %.3f s\n", loaded - begin, now() - loaded,
           now() - begin);
    printf("replayed %.6f s, with fixes", 1e-9 * (double)replayed);
    for (int i = 0; i < FIXES; i++)
        printf(" %.6f", 1e-9 * (double)runtimes[i]);
    printf("\n");
    return LULL_OK;
}

int main(int argc, char **argv)
{
    struct lull_error err = {""};
    if (argc < 2) {
        fprintf(stderr, "usage: fixes RUN [WORKERS]\n");
        return 2;
    }
    struct lull_arena *arena = lull_arena_create(NULL);
    lull_status status = measure(argv[1], argc > 2 ? (unsigned)atoi(argv[2]) : 0, arena, &err);
    lull_arena_destroy(arena);
    if (status != LULL_OK)
        fprintf(stderr, "fixes: %s\n", err.text);
    return status == LULL_OK ? 0 : 1;
}
