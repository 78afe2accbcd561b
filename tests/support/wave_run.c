#include "support/wave_run.h"

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

static struct lull_spec *parse(struct wave_run *run, const char *text)
{
    struct lull_error err;
    struct lull_spec *spec = NULL;
    must(lull_spec_parse(text, run->arena, &spec, &err), &err, text);
    return spec;
}

static uint32_t read_delays(const char *text, struct lull_delay *delays)
{
    struct lull_error err;
    char copy[512];
    uint32_t count = 0;
    snprintf(copy, sizeof copy, "%s", text ? text : "");
    for (char *word = strtok(copy, " "); word && count < MOST_DELAYS; word = strtok(NULL, " "))
        must(lull_delay_read(word, &delays[count++], &err), &err, word);
    return count;
}

void wave_run_find(struct wave_run *run, const struct lull_wave_options *options)
{
    struct lull_error err;
    struct lull_wave_outliers outliers;
    must(lull_wave_outliers_find(run->field, options->least, run->arena, &outliers, &err), &err,
         "outliers");
    must(lull_waves_find(run->field, run->graph, &outliers, options, run->arena, &run->waves, &err),
         &err, "waves");
}

void wave_run_make(const struct wave_wish *wish, struct wave_run *run)
{
    struct lull_error err;
    struct lull_delay delays[MOST_DELAYS];
    *run = (struct wave_run){.arena = lull_arena_create(NULL), .program = wish->program};
    if (!run->program)
        must(lull_pattern_open(parse(run, wish->pattern), &run->program, &err), &err,
             wish->pattern);
    const char *network = wish->network ? wish->network : "hockney:latency=1us,bandwidth=10GB/s";
    must(lull_network_read(parse(run, network), NULL, run->program->n_ranks, run->arena,
                           &run->network, &err),
         &err, network);
    struct lull_sim_options options = {
        .network = &run->network, .delays = delays, .seed = wish->seed, .workers = 1};
    if (wish->noise)
        must(lull_noise_read(parse(run, wish->noise), run->program->n_ranks, run->arena,
                             &options.noise, &err),
             &err, wish->noise);
    options.n_delays = read_delays(wish->delays, delays);
    must(lull_wave_collector_of_simulation(run->program->n_ranks, &run->collector, &err), &err,
         wish->pattern);
    options.sink = lull_wave_collector_sink(run->collector);
    must(lull_simulate(run->program, &options, run->arena, &run->result, NULL, &err), &err,
         wish->pattern);
    must(lull_wave_collector_conclude(run->collector, &run->field, &err), &err, wish->pattern);
    must(lull_wave_graph_make(run->field, &run->network, run->arena, &run->graph, &err), &err,
         wish->pattern);
    const struct lull_wave_options wanted = {.least = wish->least};
    wave_run_find(run, &wanted);
}

void wave_run_free(struct wave_run *run)
{
    lull_wave_collector_destroy(run->collector);
    lull_program_close(run->program);
    lull_arena_destroy(run->arena);
}
