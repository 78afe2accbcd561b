#include "support/replay_case.h"

#include "replay/sim_tape.h"
#include "sim/noise/noise.h"
#include "sim/pattern/pattern.h"
#include "sim/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DELAYS = 16 };

static void must(lull_status status, const struct lull_error *err, const char *what)
{
    if (status == LULL_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, err->text);
    exit(1);
}

static struct lull_spec *parse(const char *text, struct lull_arena *arena)
{
    struct lull_error err;
    struct lull_spec *spec = NULL;
    must(lull_spec_parse(text, arena, &spec, &err), &err, text);
    return spec;
}

static uint32_t read_delays(const char *text, struct lull_delay *delays)
{
    struct lull_error err;
    char copy[256];
    uint32_t count = 0;
    snprintf(copy, sizeof copy, "%s", text ? text : "");
    for (char *word = strtok(copy, " "); word && count < MOST_DELAYS; word = strtok(NULL, " "))
        must(lull_delay_read(word, &delays[count++], &err), &err, word);
    return count;
}

int64_t replay_case_simulate(const struct replay_case_wish *wish, const char *path)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_error err;
    struct lull_program *program;
    struct lull_network network;
    struct lull_sim_tape *tape = NULL;
    struct lull_sim_result result;
    struct lull_delay delays[MOST_DELAYS];
    must(lull_pattern_open(parse(wish->pattern, arena), &program, &err), &err, wish->pattern);
    must(lull_network_read(parse(REPLAY_CASE_NETWORK, arena), NULL, program->n_ranks, arena,
                           &network, &err),
         &err, REPLAY_CASE_NETWORK);
    struct lull_sim_options options = {
        .network = &network, .delays = delays, .seed = wish->seed, .workers = 1};
    if (wish->noise)
        must(lull_noise_read(parse(wish->noise, arena), program->n_ranks, arena, &options.noise,
                             &err),
             &err, wish->noise);
    options.n_delays = read_delays(wish->delays, delays);
    if (path)
        must(lull_sim_tape_open(program, NULL, path, true, &tape, &err), &err, path);
    options.sink = tape ? lull_sim_tape_sink(tape) : NULL;
    must(lull_simulate(program, &options, arena, &result, NULL, &err), &err, wish->pattern);
    if (tape)
        must(lull_sim_tape_close(tape, &result, &err), &err, path);
    const int64_t runtime = result.runtime;
    lull_program_close(program);
    lull_arena_destroy(arena);
    return runtime;
}

void replay_case_open(struct replay_case *replay, const char *path)
{
    struct lull_error err;
    const struct lull_runs_options options = {.workers = 1};
    *replay = (struct replay_case){.arena = lull_arena_create(NULL)};
    replay->notices.arena = replay->arena;
    must(lull_runs_load(&path, 1, &options, &replay->notices, replay->arena, &replay->runs, &err),
         &err, path);
    must(lull_replay_read_network(parse(REPLAY_CASE_NETWORK, replay->arena),
                                  replay->runs.runs[0].trace, 0, replay->arena, &replay->network,
                                  &err),
         &err, path);
}

void replay_case_close(struct replay_case *replay)
{
    lull_runs_close(&replay->runs);
    lull_arena_destroy(replay->arena);
}

int64_t replay_case_fixes(const struct replay_case *replay,
                          const struct lull_what_if_options *what_ifs, uint32_t n, bool exact,
                          unsigned workers, int64_t *ret_runtimes)
{
    struct lull_error err;
    int64_t replayed;
    struct lull_fix *fixes = calloc(n + (size_t)1, sizeof *fixes);
    replay->runs.runs[0].reading->workers = workers;
    for (uint32_t i = 0; fixes && i < n; i++)
        fixes[i] = (struct lull_fix){&what_ifs[i], exact ? &replay->network : NULL};
    if (!fixes)
        exit(1);
    must(lull_fixes_replay(&replay->runs.runs[0], fixes, n, ret_runtimes, &replayed, &err), &err,
         "fixes");
    free(fixes);
    return replayed;
}

int64_t replay_case_fix(const struct replay_case *replay,
                        const struct lull_what_if_options *what_if)
{
    int64_t runtime;
    replay_case_fixes(replay, what_if, 1, true, 1, &runtime);
    return runtime;
}
