/* Simulates a program and tells how long that took.
 *
 *     bench_simulate NETWORK FILE.goal [path] [THREADS]
 *     bench_simulate NETWORK PATTERN:KEY=VALUE,... [path] [THREADS]
 *
 * prints: events (sends, receives, computations, messages), seconds of processor time to read the
 * program and to simulate it, the simulated runtime in ns, and seconds of wall time to simulate it;
 * with `path` the longest path is found, too. One thread when nothing is said. */
#include "sim/engine/engine.h"
#include "sim/goal/goal.h"
#include "sim/pattern/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static lull_status open_program(const char *name, struct lull_arena *arena,
                                struct lull_program **ret_program, struct lull_error *err)
{
    struct lull_spec *spec;
    if (access(name, R_OK) == 0)
        return lull_goal_open(name, ret_program, err);
    lull_status status = lull_spec_parse(name, arena, &spec, err);
    return status == LULL_OK ? lull_pattern_open(spec, ret_program, err) : status;
}

int main(int argc, char **argv)
{
    struct lull_program *program;
    struct lull_sim_result result;
    struct lull_error err = {"usage: bench_simulate NETWORK FILE.goal|PATTERN [path] [THREADS]"};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_network network;
    const struct lull_network_class *class = argc >= 3 ? lull_network_find(argv[1]) : NULL;
    struct lull_sim_options options = {.network = &network, .workers = 1};
    for (int i = 3; i < argc; i++) {
        options.path |= strcmp(argv[i], "path") == 0;
        if (strcmp(argv[i], "path") != 0)
            options.workers = (unsigned)strtoul(argv[i], NULL, 10);
    }
    double begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (!class || open_program(argv[2], arena, &program, &err) != LULL_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    double read = seconds(CLOCK_PROCESS_CPUTIME_ID);
    double wall = seconds(CLOCK_MONOTONIC);
    lull_network_init(&network, class);
    network.algorithms = "barrier:dissemination+reduce:binomial+alltoall:linear";
    if (lull_simulate(program, &options, arena, &result, NULL, &err) != LULL_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    double end = seconds(CLOCK_PROCESS_CPUTIME_ID);
    printf("%llu %.6f %.6f %lld %.6f\n",
           (unsigned long long)(result.n_sends + result.n_receives + result.n_computes +
                                result.n_messages),
           read - begin, end - read, (long long)result.runtime, seconds(CLOCK_MONOTONIC) - wall);
    lull_arena_destroy(arena);
    lull_program_close(program);
    return 0;
}
