/* The simulator against models that others have published: the speed of idle waves on a silent
 * system, the halo-swap model with its numbers, and what noise costs. Programs are written as GOAL
 * text here. */
#include "sim/engine/engine.h"
#include "sim/goal/goal.h"
#include "sim/noise/noise.h"
#include "sim/pattern/pattern.h"
#include "support/seed.h"
#include "support/test.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- programs -------------------------------------------------------------------------------- */

enum { MOST_DISTANCES = 8, MOST_OPEN = 64 };

struct writer {
    char *text;
    size_t used, room;
    unsigned label;                     /* last one of the rank */
    unsigned open[MOST_OPEN], n_open;   /* of the phase that was closed last */
    unsigned newer[MOST_OPEN], n_newer; /* of the phase being written */
};

static void __attribute__((format(printf, 2, 3))) say(struct writer *w, const char *format, ...)
{
    va_list args;
    if (w->room - w->used < 128) {
        w->room = 2 * w->room + 4096;
        w->text = realloc(w->text, w->room);
        assert_non_null(w->text);
    }
    va_start(args, format);
    w->used += (size_t)vsnprintf(w->text + w->used, 128, format, args);
    va_end(args);
}

/* An operation was written that belongs to the phase: it waits for all of the last one. */
static void of_phase(struct writer *w)
{
    for (unsigned i = 0; i < w->n_open; i++)
        say(w, "l%u requires l%u\n", w->label, w->open[i]);
    w->newer[w->n_newer++] = w->label;
}

/* The next phase waits for this one (Waitall). */
static void end_phase(struct writer *w)
{
    if (w->n_newer == 0)
        return;
    memcpy(w->open, w->newer, w->n_newer * sizeof *w->newer);
    w->n_open = w->n_newer;
    w->n_newer = 0;
}

static void begin_rank(struct writer *w, unsigned rank)
{
    say(w, "rank %u {\n", rank);
    w->label = w->n_open = w->n_newer = 0;
}

static void compute(struct writer *w, int64_t ns)
{
    say(w, "l%u: calc %lld\n", ++w->label, (long long)ns);
    of_phase(w);
    end_phase(w);
}

static void send_to(struct writer *w, unsigned rank, unsigned bytes, unsigned tag)
{
    say(w, "l%u: send %ub to %u tag %u\n", ++w->label, bytes, rank, tag);
    of_phase(w);
}

static void receive(struct writer *w, unsigned rank, unsigned bytes, unsigned tag)
{
    say(w, "l%u: recv %ub from %u tag %u\n", ++w->label, bytes, rank, tag);
    of_phase(w);
}

static void simulate_noisy(const struct writer *w, const struct lull_network *network,
                           const struct lull_noise *noise, struct lull_arena *arena,
                           struct lull_sim_result *ret_result)
{
    struct lull_program *program = NULL;
    struct lull_error err = {""};
    const struct lull_sim_options options = {.network = network, .noise = noise, .seed = 12};
    fail_if(lull_goal_parse("model", w->text, w->used, &program, &err) != LULL_OK ||
                lull_simulate(program, &options, arena, ret_result, NULL, &err) != LULL_OK,
            "%s", err.text);
    lull_program_close(program);
}

static void simulate(const struct writer *w, const struct lull_network *network,
                     struct lull_arena *arena, struct lull_sim_result *ret_result)
{
    simulate_noisy(w, network, NULL, arena, ret_result);
}

static void set_number(struct lull_network *network, const char *name, double value)
{
    uint32_t parameter = lull_network_parameter(network->class, name);
    assert_true(parameter < network->class->n_parameters);
    lull_network_set(network, parameter, LULL_LEVELS, value);
}

/* ---- idle waves ------------------------------------------------------------------------------ */

enum grouping { ONE_FOR_ALL, PER_DIRECTION, PER_DISTANCE, EACH };

struct chain {
    unsigned distances[MOST_DISTANCES], n_distances;
    enum grouping grouping;
    unsigned ranks, iterations;
};

static const int64_t work = 1000000, delay = 1000000000;

/* Sends by `distance` in one direction, and the receive of the same shift; open ends. */
static void shift(struct writer *w, const struct chain *chain, unsigned rank, unsigned distance,
                  bool up)
{
    unsigned lower = rank >= distance ? rank - distance : UINT32_MAX;
    unsigned upper = rank + distance < chain->ranks ? rank + distance : UINT32_MAX;
    unsigned to = up ? upper : lower, from = up ? lower : upper;
    if (from != UINT32_MAX)
        receive(w, from, 64, 2 * distance + up);
    if (to != UINT32_MAX)
        send_to(w, to, 64, 2 * distance + up);
}

static void exchange(struct writer *w, const struct chain *chain, unsigned rank)
{
    if (chain->grouping == PER_DIRECTION) {
        for (int up = 1; up >= 0; up--) {
            for (unsigned i = 0; i < chain->n_distances; i++)
                shift(w, chain, rank, chain->distances[i], up);
            end_phase(w);
        }
        return;
    }
    for (unsigned i = 0; i < chain->n_distances; i++)
        for (int up = 1; up >= 0; up--) {
            shift(w, chain, rank, chain->distances[i], up);
            if (chain->grouping == EACH || (chain->grouping == PER_DISTANCE && !up))
                end_phase(w);
        }
    end_phase(w);
}

static void write_chain(struct writer *w, const struct chain *chain, unsigned late)
{
    say(w, "num_ranks %u\n", chain->ranks);
    for (unsigned r = 0; r < chain->ranks; r++) {
        begin_rank(w, r);
        for (unsigned i = 0; i < chain->iterations; i++) {
            compute(w, work + (r == late && i == 0 ? delay : 0));
            exchange(w, chain, r);
        }
        say(w, "}\n");
    }
}

struct reach {
    unsigned up, down;
    int64_t runtime;
};

/* How far the delay of the rank in the middle has come at the end. */
static struct reach reach_of(const struct chain *chain, const struct lull_network *network)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_sim_result result;
    struct writer w = {0};
    unsigned middle = chain->ranks / 2;
    struct reach reach = {0};
    write_chain(&w, chain, middle);
    simulate(&w, network, arena, &result);
    for (unsigned r = 0; r < chain->ranks; r++) {
        if (result.ranks[r].end < delay)
            continue;
        if (r > middle && r - middle > reach.up)
            reach.up = r - middle;
        if (r < middle && middle - r > reach.down)
            reach.down = middle - r;
    }
    reach.runtime = result.runtime;
    assert_true(reach.up < chain->ranks - 1 - middle && reach.down < middle);
    free(w.text);
    lull_arena_destroy(arena);
    return reach;
}

static void check_speed(struct chain *chain, const struct lull_network *network, bool rendezvous,
                        unsigned kappa)
{
    enum { FEW = 5, MANY = 9 };
    chain->ranks = 2 * kappa * MANY + 40;
    chain->iterations = FEW;
    struct reach few = reach_of(chain, network);
    chain->iterations = MANY;
    struct reach many = reach_of(chain, network);
    fail_if(many.up - few.up != kappa * (MANY - FEW) ||
                many.down - few.down != kappa * (MANY - FEW),
            "%s, %s, grouping %d, %u distances up to %u: from %u to %u up, %u to %u down in "
            "%d iterations, expected %u each",
            network->class->name, rendezvous ? "rendezvous" : "eager", (int)chain->grouping,
            chain->n_distances, chain->distances[chain->n_distances - 1], few.up, many.up, few.down,
            many.down, MANY - FEW, kappa);
}

/* Source: A. Afzal, G. Hager, G. Wellein, "Analytic modeling of idle waves in parallel programs",
 * ISC 2021, with the sum over the phases of an iteration of the largest offset reached. */
static unsigned kappa_of(const struct chain *chain, bool rendezvous)
{
    unsigned n = chain->n_distances, longest = chain->distances[n - 1], sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum += chain->distances[i];
    switch (chain->grouping) {
    case ONE_FOR_ALL:
        return longest;
    case PER_DIRECTION:
        return rendezvous ? 2 * longest : longest;
    case PER_DISTANCE:
        return sum;
    case EACH:
        return rendezvous ? 2 * sum : sum;
    }
    return 0;
}

static void speed_of_idle_waves(void **state)
{
    (void)state;
    static const struct chain topologies[] = {
        {{1}, 1, ONE_FOR_ALL, 0, 0},       {{1, 2}, 2, ONE_FOR_ALL, 0, 0},
        {{1, 2, 3}, 3, ONE_FOR_ALL, 0, 0}, {{1, 2, 3, 4, 5, 6}, 6, ONE_FOR_ALL, 0, 0},
        {{1, 3}, 2, ONE_FOR_ALL, 0, 0},    {{1, 6}, 2, ONE_FOR_ALL, 0, 0},
    };
    struct lull_network hockney, loggops;
    lull_network_init(&hockney, lull_network_find("hockney"));
    lull_network_init(&loggops, lull_network_find("loggops"));
    set_number(&hockney, "latency", 1000);
    set_number(&loggops, "L", 1000);
    set_number(&loggops, "o", 10);
    set_number(&loggops, "g", 0);
    set_number(&loggops, "G", 0);
    unsigned count = 0;
    for (size_t t = 0; t < sizeof topologies / sizeof *topologies; t++)
        for (enum grouping grouping = ONE_FOR_ALL; grouping <= EACH; grouping++)
            for (int rendezvous = 0; rendezvous < 2; rendezvous++) {
                if (!lull_test_picks(t + grouping + (unsigned)rendezvous, 3))
                    continue;
                struct chain chain = topologies[t];
                chain.grouping = grouping;
                set_number(&hockney, "eager", rendezvous ? 0 : 1e6);
                set_number(&loggops, "S", rendezvous ? 0 : 1e6);
                unsigned kappa = kappa_of(&chain, rendezvous);
                check_speed(&chain, &hockney, rendezvous, kappa);
                check_speed(&chain, &loggops, rendezvous, kappa);
                count++;
            }
    assert_int_equal(count, lull_test_rounds(48) == 48 ? 48 : 16);
}

/* A delay makes the run longer by itself, once, however far it comes. */
static void delay_is_added_once(void **state)
{
    (void)state;
    struct lull_network network;
    struct chain chain = {{1, 3}, 2, EACH, 60, 12};
    lull_network_init(&network, lull_network_find("hockney"));
    for (int rendezvous = 0; rendezvous < 2; rendezvous++) {
        int64_t runtime[2];
        set_number(&network, "eager", rendezvous ? 0 : 1e6);
        for (unsigned late = 0; late < 2; late++) {
            struct lull_arena *arena = lull_arena_create(NULL);
            struct lull_sim_result result;
            struct writer w = {0};
            write_chain(&w, &chain, late ? 20 : UINT32_MAX);
            simulate(&w, &network, arena, &result);
            runtime[late] = result.runtime;
            for (unsigned r = 0; r < chain.ranks && late; r++)
                assert_true(result.ranks[r].end >= delay + work);
            free(w.text);
            lull_arena_destroy(arena);
        }
        assert_int_equal(runtime[1] - runtime[0], delay);
    }
}

/* ---- noise ----------------------------------------------------------------------------------- */

/* Every rank passes something on to the next one in a ring. */
static void pass_on(struct writer *w, unsigned rank, unsigned ranks)
{
    send_to(w, (rank + 1) % ranks, 8, 0);
    receive(w, (rank + ranks - 1) % ranks, 8, 0);
    end_phase(w);
}

/* Nobody leaves before all have come. */
static void barrier(struct writer *w, unsigned rank, unsigned ranks)
{
    for (unsigned distance = 1; distance < ranks; distance *= 2) {
        send_to(w, (rank + distance) % ranks, 8, distance);
        receive(w, (rank + ranks - distance) % ranks, 8, distance);
        end_phase(w);
    }
}

/* What exponential noise of mean 1 adds to an iteration on the average. */
static double added_by_noise(unsigned ranks, unsigned iterations,
                             void (*meet)(struct writer *w, unsigned rank, unsigned ranks))
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_noise_spec spec = lull_noise_spec_empty(lull_noise_find("exponential"));
    const struct lull_noise *noise = NULL;
    struct lull_sim_result result;
    struct lull_network network;
    struct writer w = {0};
    const double mean = 1000;
    spec.values[0] = mean;
    assert_int_equal(lull_noise_create(&spec, arena, &noise, NULL), LULL_OK);
    lull_network_init(&network, lull_network_find("ideal"));
    say(&w, "num_ranks %u\n", ranks);
    for (unsigned r = 0; r < ranks; r++) {
        begin_rank(&w, r);
        for (unsigned i = 0; i < iterations; i++) {
            compute(&w, 5000);
            meet(&w, r, ranks);
        }
        say(&w, "}\n");
    }
    simulate_noisy(&w, &network, noise, arena, &result);
    double added = ((double)result.runtime / iterations - 5000) / mean;
    free(w.text);
    lull_arena_destroy(arena);
    return added;
}

/* Next neighbours in one direction are last-passage percolation with exponential weights: paths
 * that stay or go on with each iteration, (sqrt(1/2) + sqrt(1/2))^2 = 2 means per iteration on the
 * best of them (H. Rost, 1981); a ring of n adds one part in 2 n. Behind a barrier it is the mean
 * of the largest of n draws, 1 + 1/2 + ... + 1/n. */
static void cost_of_noise(void **state)
{
    (void)state;
    double ring = added_by_noise(100, 1500, pass_on), largest = 0;
    fail_if(fabs(ring - 2) > 0.06, "ring: %.4f means, expected 2", ring);
    for (unsigned i = 1; i <= 64; i++)
        largest += 1.0 / i;
    /* deviation of the largest draw is below 1.29: four standard errors */
    double behind = added_by_noise(64, 500, barrier);
    fail_if(fabs(behind - largest) > 4 * 1.29 / sqrt(500), "barrier: %.4f means, expected %.4f",
            behind, largest);
}

/* ---- halo swap ------------------------------------------------------------------------------- */

enum { SIDE = 1000, INTERVAL = 100 }; /* L, D */

/* Halo along one axis of a periodic grid: up, then down, each waited for. */
static void swap_axis(struct writer *w, unsigned rank, unsigned stride, unsigned extent,
                      unsigned bytes)
{
    unsigned at = rank / stride % extent;
    unsigned upper = rank - at * stride + (at + 1) % extent * stride;
    unsigned lower = rank - at * stride + (at + extent - 1) % extent * stride;
    send_to(w, upper, bytes, 1);
    receive(w, lower, bytes, 1);
    end_phase(w);
    send_to(w, lower, bytes, 2);
    receive(w, upper, bytes, 2);
    end_phase(w);
}

/* Sum of an empty vector by a binomial tree to rank 0, and back down. */
static void reduce(struct writer *w, unsigned rank, unsigned ranks)
{
    unsigned level = 1;
    for (; level < ranks && !(rank & level); level *= 2) {
        receive(w, rank + level, 0, 3);
        end_phase(w);
    }
    if (rank) {
        send_to(w, rank - level, 0, 3);
        receive(w, rank - level, 0, 4);
        end_phase(w);
    }
    for (level /= 2; level; level /= 2)
        send_to(w, rank + level, 0, 4);
    end_phase(w);
}

/* INTERVAL iterations with a halo, and at the end the convergence check. The n-th computation takes
 * whole ns so that the sum is right. */
static void write_swap(struct writer *w, unsigned ranks, unsigned dimensions)
{
    double pixels = (double)SIDE * SIDE / ranks, flops = 1e8;
    unsigned root = (unsigned)lround(sqrt(ranks));
    say(w, "num_ranks %u\n", ranks);
    for (unsigned r = 0; r < ranks; r++) {
        double done = 0, next = 0;
        begin_rank(w, r);
        for (unsigned i = 0; i < INTERVAL; i++) {
            next += 5 * pixels / flops * 1e9;
            compute(w, (int64_t)(next - done));
            done += (int64_t)(next - done);
            if (dimensions == 1) {
                swap_axis(w, r, 1, ranks, 8 * SIDE);
            } else {
                swap_axis(w, r, 1, root, 8 * SIDE / root);
                swap_axis(w, r, root, root, 8 * SIDE / root);
            }
        }
        compute(w, (int64_t)(3 * pixels / flops * 1e9));
        reduce(w, r, ranks);
        say(w, "}\n");
    }
}

/* Source: D. Henty, "Performance modelling", EPCC (halo swap with 100 MFlop/s, 5 us, 400 MB/s, 1000
 * x 1000 pixels, a check every 100 iterations): microseconds per iteration. */
static const struct {
    unsigned ranks;
    double one, two;
} published[] = {{4, 12625.2, 12635.2},
                 {16, 3194.150, 3184.150},
                 {64, 836.538, 816.538},
                 {256, 247.284, 222.284}};

/* Half a unit of the last digit printed, and half a nanosecond to which a computation is rounded.
 */
static void check_swap(unsigned row, unsigned dimensions, double got, double want)
{
    fail_if(fabs(got - want) > 0.001, "%u ranks, %u-D: %.4f us, published %.4f us",
            published[row].ranks, dimensions, got, want);
}

static void init_swap(struct lull_network *network)
{
    lull_network_init(network, lull_network_find("hockney"));
    set_number(network, "latency", 5000);
    set_number(network, "bandwidth", 400e6);
    network->algorithms = "allreduce:binomial";
}

static void halo_swap_model(void **state)
{
    (void)state;
    struct lull_network network;
    init_swap(&network);
    for (unsigned i = 0; i < sizeof published / sizeof *published; i++)
        for (unsigned dimensions = 1; dimensions <= 2; dimensions++) {
            if (!lull_test_picks(i + dimensions, 2))
                continue;
            struct lull_arena *arena = lull_arena_create(NULL);
            struct lull_sim_result result;
            struct writer w = {0};
            write_swap(&w, published[i].ranks, dimensions);
            simulate(&w, &network, arena, &result);
            check_swap(i, dimensions, (double)result.runtime / INTERVAL / 1000,
                       dimensions == 1 ? published[i].one : published[i].two);
            free(w.text);
            lull_arena_destroy(arena);
        }
}

/* As a pattern, which has an allreduce but no computation of its own for the check. */
static void halo_swap_pattern(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof published / sizeof *published; i++)
        for (unsigned dimensions = 1; dimensions <= 2; dimensions++) {
            if (!lull_test_picks(i + dimensions, 2))
                continue;
            unsigned ranks = published[i].ranks, root = (unsigned)lround(sqrt(ranks));
            double pixels = (double)SIDE * SIDE / ranks, check = 3 * pixels / 1e8 * 1e6 / INTERVAL;
            struct lull_arena *arena = lull_arena_create(NULL);
            struct lull_program *program = NULL;
            struct lull_sim_result result;
            struct lull_network network;
            struct lull_error err = {""};
            struct lull_spec *spec = NULL;
            const struct lull_sim_options options = {.network = &network};
            const char *shape = dimensions == 1
                                    ? lull_arena_printf(arena, "chain:ranks=%u", ranks)
                                    : lull_arena_printf(arena, "grid:ranks=%ux%u", root, root);
            const char *text = lull_arena_printf(
                arena,
                "%s,boundary=periodic,wait=direction,exec=%.1fns,bytes=%u,iterations=%d,"
                "collective=allreduce,every=%d,collective-bytes=0",
                shape, 5 * pixels / 1e8 * 1e9, 8 * SIDE / (dimensions == 1 ? 1 : root), INTERVAL,
                INTERVAL);
            init_swap(&network);
            fail_if(lull_spec_parse(text, arena, &spec, &err) != LULL_OK ||
                        lull_pattern_open(spec, &program, &err) != LULL_OK ||
                        lull_simulate(program, &options, arena, &result, NULL, &err) != LULL_OK,
                    "%s", err.text);
            check_swap(i, dimensions, (double)result.runtime / INTERVAL / 1000 + check,
                       dimensions == 1 ? published[i].one : published[i].two);
            lull_program_close(program);
            lull_arena_destroy(arena);
        }
}

TEST_GROUP(test_simulated_models)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speed_of_idle_waves), cmocka_unit_test(delay_is_added_once),
        cmocka_unit_test(cost_of_noise),       cmocka_unit_test(halo_swap_model),
        cmocka_unit_test(halo_swap_pattern),
    };
    return run_cases(tests, NULL, NULL);
}
