/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/simulated.h"

#include "base/clock.h"
#include "base/parallel.h"
#include "replay/sim_tape.h"
#include "sim/network/machine.h"
#include "sim/pattern/pattern.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

lull_status lull_simulate_specs_read(const char *const texts[LULL_SIMULATE_SPECS],
                                     struct lull_arena *arena, const struct lull_sweep **ret_sweep,
                                     struct lull_error *err)
{
    static const char *const options[LULL_SIMULATE_SPECS] = {"pattern", "network", "noise",
                                                             "placement", "memory"};
    const struct lull_spec **specs = lull_arena_zero(arena, LULL_SIMULATE_SPECS, sizeof *specs);
    for (unsigned s = 0; s < LULL_SIMULATE_SPECS; s++) {
        struct lull_spec *spec = NULL;
        lull_status status = texts[s] ? lull_spec_parse(texts[s], arena, &spec, err) : LULL_OK;
        if (status == LULL_ERR_RANGE)
            return lull_fail_prefix(err, status, "--%s", options[s]);
        if (status != LULL_OK)
            return status;
        specs[s] = spec;
    }
    return lull_sweep_make(specs, LULL_SIMULATE_SPECS, arena, ret_sweep, err);
}

static lull_status check_delayed_ranks(const struct lull_simulate_inputs *inputs, uint32_t n_ranks,
                                       struct lull_error *err)
{
    for (uint32_t d = 0; d < inputs->n_delays; d++)
        if (inputs->delays[d].rank >= n_ranks)
            return lull_fail(err, LULL_ERR_RANGE, "--delay: rank %u of %u ranks",
                             inputs->delays[d].rank, n_ranks);
    return LULL_OK;
}

/* Takes the network that the user typed, else the one that the machine file has. */
static lull_status take_network(const struct lull_simulate_inputs *inputs,
                                struct lull_spec *const *specs, struct lull_simulate_point *point,
                                struct lull_network *network)
{
    uint32_t n_ranks = point->program->n_ranks;
    struct lull_spec *placement = specs[LULL_SIMULATE_PLACEMENT];
    if (specs[LULL_SIMULATE_NETWORK])
        return lull_network_read(specs[LULL_SIMULATE_NETWORK], placement, n_ranks, point->arena,
                                 network, &point->err);
    lull_status status = lull_network_from_machine(inputs->machine, NULL, n_ranks, point->arena,
                                                   network, &point->note, &point->err);
    if (status != LULL_OK) {
        point->usage = false;
        return lull_fail_prefix(&point->err, status, "%s", inputs->machine_path);
    }
    point->texts[LULL_SIMULATE_NETWORK] =
        lull_arena_printf(point->arena, "%s: %s", inputs->machine_path, network->class->name);
    if (placement) {
        status =
            lull_placement_read(placement, n_ranks, point->arena, &network->placement, &point->err);
        point->note = NULL;
    }
    return status == LULL_OK ? lull_network_check(network, n_ranks, &point->err) : status;
}

static lull_status take_noise(const struct lull_simulate_inputs *inputs, struct lull_spec *spec,
                              struct lull_simulate_point *point, const struct lull_noise **noise)
{
    if (spec)
        return lull_noise_read(spec, point->program->n_ranks, point->arena, noise, &point->err);
    if (!inputs->machine)
        return LULL_OK;
    lull_status status = lull_noise_from_machine(inputs->machine, point->arena, noise, &point->err);
    if (status != LULL_OK) {
        point->usage = false;
        return lull_fail_prefix(&point->err, status, "%s", inputs->machine_path);
    }
    if (*noise)
        point->texts[LULL_SIMULATE_NOISE] =
            lull_arena_printf(point->arena, "%s: recorded", inputs->machine_path);
    return LULL_OK;
}

lull_status lull_simulate_prepare(const struct lull_simulate_inputs *inputs, uint64_t number,
                                  struct lull_simulate_point *point,
                                  struct lull_simulate_setup *setup)
{
    point->usage = true;
    struct lull_spec *specs[LULL_SIMULATE_SPECS];
    lull_status status = LULL_OK;
    for (unsigned s = 0; s < LULL_SIMULATE_SPECS; s++) {
        specs[s] = lull_sweep_spec(inputs->sweep, number, s, point->arena);
        point->texts[s] = specs[s] ? lull_spec_text(specs[s]) : NULL;
    }
    point->program = inputs->goal;
    if (specs[LULL_SIMULATE_PATTERN])
        status = lull_pattern_open(specs[LULL_SIMULATE_PATTERN], &point->program, &point->err);
    if (status != LULL_OK)
        return status;
    uint32_t n_ranks = point->program->n_ranks;
    if (n_ranks == 0) {
        point->usage = false;
        return lull_fail(&point->err, LULL_ERR_FORMAT, "%s: has no ranks", point->program->name);
    }
    status = take_network(inputs, specs, point, &setup->network);
    if (status == LULL_OK)
        status = take_noise(inputs, specs[LULL_SIMULATE_NOISE], point, &setup->noise);
    if (status == LULL_OK && specs[LULL_SIMULATE_MEMORY])
        status = lull_memory_read(specs[LULL_SIMULATE_MEMORY], inputs->machine, point->arena,
                                  &setup->memory, &point->err);
    return status == LULL_OK ? check_delayed_ranks(inputs, n_ranks, &point->err) : status;
}

static lull_status simulate_point(const struct lull_simulate_inputs *inputs,
                                  const struct lull_simulate_setup *setup, unsigned workers,
                                  struct lull_simulate_point *point)
{
    struct lull_sim_tape *tape = NULL;
    if (inputs->tape) {
        const bool placed = point->texts[LULL_SIMULATE_PLACEMENT] != NULL;
        lull_status status =
            lull_sim_tape_open(point->program, placed ? &setup->network.placement : NULL,
                               inputs->tape, false, &tape, &point->err);
        if (status != LULL_OK)
            return status;
    }
    struct lull_sim_options options = {.network = &setup->network,
                                       .noise = setup->noise,
                                       .memory = setup->memory,
                                       .delays = inputs->delays,
                                       .n_delays = inputs->n_delays,
                                       .seed = inputs->seed,
                                       .path = inputs->path,
                                       .workers = workers,
                                       .sink = tape ? lull_sim_tape_sink(tape) : NULL};
    int64_t begin = lull_clock_read(CLOCK_MONOTONIC);
    lull_status status = lull_simulate(point->program, &options, point->arena, &point->result,
                                       &point->problems, &point->err);
    point->seconds = (double)(lull_clock_read(CLOCK_MONOTONIC) - begin) / 1e9;
    if (tape) {
        bool done = status == LULL_OK;
        lull_status closed =
            lull_sim_tape_close(tape, done ? &point->result : NULL, done ? &point->err : NULL);
        status = done ? closed : status;
    }
    return status;
}

/* Keeps when each rank ends, in memory that outlives the simulation's arena. */
static void keep_ends(struct lull_simulate_point *point)
{
    const struct lull_sim_result *result = &point->result;
    point->ends = malloc((result->n_ranks + (size_t)1) * sizeof *point->ends);
    if (!point->ends) {
        point->status = lull_fail(&point->err, LULL_ERR_MEMORY, "simulation: not enough memory");
        return;
    }
    for (uint32_t r = 0; r < result->n_ranks; r++)
        point->ends[r] = result->ranks[r].end;
}

static void release_point(const struct lull_simulate_inputs *inputs,
                          struct lull_simulate_point *point)
{
    if (point->program != inputs->goal)
        lull_program_close(point->program);
    if (point->arena)
        lull_arena_destroy(point->arena);
    point->program = NULL;
    point->arena = NULL;
    memset(point->texts, 0, sizeof point->texts);
    point->note = NULL;
    point->result.ranks = NULL;
    point->result.path_compute = NULL;
}

struct simulation_work {
    const struct lull_simulate_inputs *inputs;
    struct lull_simulate_point *points;
    unsigned workers_each; /* threads of one simulation */
    atomic_ullong next;
};

static void run_points(void *context, unsigned worker)
{
    struct simulation_work *work = context;
    (void)worker;
    for (;;) {
        uint64_t number = atomic_fetch_add(&work->next, 1);
        if (number >= work->inputs->sweep->n_points)
            return;
        struct lull_simulate_point *point = &work->points[number];
        struct lull_simulate_setup setup = {.noise = NULL};
        point->arena = lull_arena_create(work->inputs->out_of_memory);
        point->status = lull_simulate_prepare(work->inputs, number, point, &setup);
        point->usage = point->usage && point->status == LULL_ERR_RANGE;
        if (point->status != LULL_OK)
            continue;
        point->status = simulate_point(work->inputs, &setup, work->workers_each, point);
        if (point->status == LULL_OK)
            keep_ends(point);
        if (point->status == LULL_OK && work->inputs->sweep->n_axes > 0)
            release_point(work->inputs, point);
    }
}

void lull_simulate_run(const struct lull_simulate_inputs *inputs,
                       struct lull_simulate_point *points, unsigned workers)
{
    uint64_t n_points = inputs->sweep->n_points;
    workers = workers ? workers : lull_worker_count();
    struct simulation_work work = {inputs, points,
                                   n_points < workers ? workers / (unsigned)n_points : 1, 0};
    atomic_init(&work.next, 0);
    if (workers > n_points)
        workers = (unsigned)n_points;
    lull_parallel_run(workers, run_points, &work);
}

void lull_simulate_release(const struct lull_simulate_inputs *inputs,
                           struct lull_simulate_point *points)
{
    for (uint64_t p = 0; p < inputs->sweep->n_points; p++) {
        release_point(inputs, &points[p]);
        free(points[p].ends);
    }
    lull_program_close(inputs->goal);
}

uint64_t lull_simulate_events(const struct lull_sim_result *result)
{
    return result->n_sends + result->n_receives + result->n_computes + result->n_messages;
}
